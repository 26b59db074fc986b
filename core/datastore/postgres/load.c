#include "datastore/postgres/load.h"

#include <stdio.h>

#include "base/clock.h"
#include "datastore/memory/memory.h"
#include "datastore/postgres/rows.h"

#define QUIET_MS 30000u /* then the server has stopped; another may take its place */
#define PROGRESS_ROWS UINT64_C(1000000)

/* Rows are put aside, and then done one after another: their lock is taken, and what they need is fetched into the
 * caches, once for many. */
#define BATCH_ROWS 256
#define BATCH_BYTES ((size_t)64 << 10)

typedef struct loading {
    lic_pg_store     *store;
    lic_arena         arena; /* of one batch */
    lic_pg_reader     reader;
    lic_store_import *import;
    uint64_t          rows;
    lic_text          bytes; /* of the batch */
    size_t            ends[BATCH_ROWS];
    size_t            count;
    lic_store_change  changes[BATCH_ROWS];
    lic_pg_shape      shapes[LIC_PG_SHAPES];
} loading;

static void tell_progress(const loading *l, const char *what)
{
    char line[96];
    int  size =
        snprintf(line, sizeof line, "%s %llu relationships from the database", what, (unsigned long long)l->rows);

    lic_pg_log(l->store, LICET_LOG_INFO, (lic_str){ line, (size_t)size });
}

/* The change of one row, if it makes any. */
static licet_status read_row(loading *l, lic_str row, size_t *changes, licet_error **error)
{
    lic_pg_fields fields;
    bool          skip;
    licet_status  status;

    if (!lic_pg_fields_of_copy(row.data, row.size, &fields))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the database's answer is not what was asked for");
    status = lic_pg_row_touch(&l->reader, &fields, &l->changes[*changes], &skip, error);
    *changes += status == LICET_OK && !skip;
    return status;
}

static licet_status end_batch(loading *l, licet_error **error)
{
    const lic_str all     = lic_text_str(&l->bytes);
    size_t        changes = 0;
    licet_status  status  = l->bytes.failed ? lic_fail_memory(error) : LICET_OK;

    for (size_t i = 0, from = 0; i < l->count && status == LICET_OK; from = l->ends[i++])
        status = read_row(l, lic_str_slice(all, from, l->ends[i]), &changes, error);
    if (status == LICET_OK && !lic_memory_gather(l->store->replica, l->import, l->changes, changes))
        status = lic_fail_memory(error);
    lic_store_changes_end(l->changes, changes);
    lic_arena_free(&l->arena);
    l->bytes.size = 0;
    l->count      = 0;
    return status;
}

static bool take_row(void *context, const char *row, size_t size, licet_status *status, licet_error **error)
{
    loading *l = context;
    bool     full;

    lic_text_add(&l->bytes, (lic_str){ row, size });
    l->ends[l->count++] = l->bytes.size;
    full                = l->count == BATCH_ROWS || l->bytes.size >= BATCH_BYTES || l->bytes.failed;
    *status             = full ? end_batch(l, error) : LICET_OK;
    if (++l->rows % PROGRESS_ROWS == 0)
        tell_progress(l, "loading:");
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
    LIC_TRY(lic_memory_replace_all(store->replica, l->import, l->reader.now, schema, &revision, error));
    lic_pg_marks_add(&store->marks, revision);
    LIC_TRY(lic_pg_marks_reserve(&store->marks, revision, &snapshot, error));
    LIC_TRY(lic_memory_forget_expired(store->replica, l->import, &revision, error));
    if (revision != 0)
        lic_pg_marks_add(&store->marks, revision);
done:
    lic_arena_free(&arena);
    return status;
}

static licet_status load_rows(loading *l, lic_pg_link *link, const lic_pg_begin *begin, lic_instant now,
                              lic_pg_wait wait, licet_error **error)
{
    lic_pg_store *store  = l->store;
    licet_schema *schema = NULL;
    licet_status  status;

    LIC_TRY(lic_pg_read_schema(store, link, begin->version, lic_pg_store_wait(store, lic_monotonic_ms() + QUIET_MS),
                               &schema, error));
    l->reader = (lic_pg_reader){ &store->host, schema->program, now, &l->arena, l->shapes };
    LIC_TRY(store->replica->methods->import_begin(store->replica, NULL, &l->import, error));
    LIC_TRY(lic_pg_copy_out(link, store->statements->load_rows, wait, QUIET_MS, take_row, l, error));
    LIC_TRY(end_batch(l, error));
    LIC_TRY(replace_all(l, begin, &schema, error));
    tell_progress(l, "loaded");
done:
    store->replica->methods->import_end(store->replica, l->import);
    if (status != LICET_OK) {
        lic_graph_lock(store->host.graph);
        lic_graph_forget_nodes(store->host.graph); /* of a first load that fails nothing stays */
        lic_graph_unlock(store->host.graph);
    }
    licet_schema_release(schema);
    return status;
}

licet_status lic_pg_load_rows(lic_pg_store *store, lic_pg_link *link, const lic_pg_begin *begin, lic_instant now,
                              lic_pg_wait wait, licet_error **error)
{
    loading     *l = lic_alloc_zero(store->host.memory, sizeof *l);
    licet_status status;

    if (l == NULL)
        return lic_fail_memory(error);
    l->store = store;
    lic_arena_init(&l->arena, store->host.memory);
    lic_text_init(&l->bytes, store->host.memory);
    status = load_rows(l, link, begin, now, wait, error);
    lic_text_free(&l->bytes);
    lic_arena_free(&l->arena);
    lic_free(store->host.memory, l, sizeof *l);
    return status;
}
