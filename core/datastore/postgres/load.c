#include "datastore/postgres/load.h"

#include <stdio.h>

#include "datastore/memory/memory.h"
#include "datastore/postgres/rows.h"

#define PROGRESS_ROWS UINT64_C(1000000)

typedef struct loading {
    lic_pg_store     *store;
    lic_arena         arena; /* of one row */
    lic_pg_reader     reader;
    lic_store_import *import;
    uint64_t          rows;
} loading;

static void tell_progress(const loading *l, const char *what)
{
    char line[96];
    int  size =
        snprintf(line, sizeof line, "%s %llu relationships from the database", what, (unsigned long long)l->rows);

    lic_pg_log(l->store, LICET_LOG_INFO, (lic_str){ line, (size_t)size });
}

static licet_status add_row(loading *l, const char *bytes, size_t size, licet_error **error)
{
    lic_pg_fields    fields;
    lic_store_change change = { .operation = LICET_TOUCH };
    bool             skip;
    licet_status     status;

    if (!lic_pg_fields_of_copy(bytes, size, &fields))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the database's answer is not what was asked for");
    status = lic_pg_row_touch(&l->reader, &fields, &change, &skip, error);
    if (status == LICET_OK && !skip)
        status = l->store->replica->methods->import_add(l->store->replica, l->import, &change, 1, error);
    lic_store_changes_end(&change, 1);
    if (lic_str_given(fields.items[7]) || lic_str_given(fields.items[8]))
        lic_arena_free(&l->arena);
    if (++l->rows % PROGRESS_ROWS == 0)
        tell_progress(l, "loading:");
    return status;
}

static bool take_row(void *context, const char *row, size_t size, licet_status *status, licet_error **error)
{
    *status = add_row(context, row, size, error);
    return *status == LICET_OK;
}

/* All that was read becomes all there is. */
static licet_status replace_all(loading *l, const lic_pg_begin *begin, licet_schema **schema, licet_error **error)
{
    lic_pg_store   *store = l->store;
    lic_arena       arena;
    lic_pg_snapshot snapshot;
    uint64_t        revision;
    licet_status    status;

    lic_arena_init(&arena, store->host.memory);
    LIC_TRY(lic_pg_snapshot_receive(&arena, begin->wire, &snapshot, error));
    LIC_TRY(lic_pg_marks_reserve(&store->marks, lic_graph_head(store->host.graph), &snapshot, error));
    LIC_TRY(lic_memory_replace_all(store->replica, l->import, schema, &revision, error));
    lic_pg_marks_add(&store->marks, revision);
done:
    lic_arena_free(&arena);
    return status;
}

licet_status lic_pg_load_rows(lic_pg_store *store, lic_pg_link *link, const lic_pg_begin *begin, lic_instant now,
                              lic_pg_wait wait, licet_error **error)
{
    loading       l      = { .store = store };
    licet_schema *schema = NULL;
    licet_status  status;

    lic_arena_init(&l.arena, store->host.memory);
    LIC_TRY(lic_pg_read_schema(store, link, begin->version, wait, &schema, error));
    l.reader = (lic_pg_reader){ &store->host, schema->program, now, &l.arena };
    LIC_TRY(store->replica->methods->import_begin(store->replica, &l.import, error));
    LIC_TRY(lic_pg_copy_out(link, store->statements->load_rows, wait, take_row, &l, error));
    LIC_TRY(replace_all(&l, begin, &schema, error));
    tell_progress(&l, "loaded");
done:
    store->replica->methods->import_end(store->replica, l.import);
    licet_schema_release(schema);
    lic_arena_free(&l.arena);
    return status;
}
