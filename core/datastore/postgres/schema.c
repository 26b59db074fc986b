/* Schemas: judged against all that is stored, while nobody can write. In one transaction: the store's lock, a catch-up
 * (over the follower's link), the judging, the new schema, COMMIT.
 *
 * What is stored is read through the store's own method, of the graph's head, which is the truth while the lock is
 * held. Where the graph does not follow, it is read in the transaction itself: a second connection there may not be. */
#include <stdio.h>

#include "datastore/postgres/commit.h"
#include "datastore/postgres/copy_rows.h"
#include "datastore/postgres/fetch_rows.h"
#include "datastore/postgres/request.h"
#include "datastore/schema_change.h"

#define VERSION_BYTES 24
#define SCHEMA_COLUMN 2 /* of WRITE_SCHEMA's result */

typedef struct changing {
    lic_pg_store           *store;
    const licet_schema     *schema; /* the new one */
    lic_instant             now;
    lic_text                request;
    bool                    loads; /* into an empty store, with these, distinct */
    const lic_store_change *rows;
    size_t                  row_count;
} changing;

/* ------------------------------------------------------------ judging */

static const lic_instant before_all = { INT64_MIN, 0 }; /* when nothing had expired */

/* What the transaction sees, as a store that can only be read. */
typedef struct inside {
    lic_store          base;
    lic_pg_store      *store;
    lic_pg_link       *link;
    lic_pg_wait        wait;
    const lic_program *program; /* in force */
} inside;

static licet_status read_inside(lic_store *base, const lic_snapshot *snapshot, const lic_filter *filter,
                                lic_instant now, const lic_edge *after, size_t most, lic_arena *arena, lic_rows *rows,
                                licet_error **error)
{
    const inside *in      = (const inside *)base;
    const bool    expires = now.seconds != before_all.seconds;

    (void)snapshot;
    (void)after; /* only the first are ever asked for */
    return lic_pg_read_rows(in->link, in->store->settings.schema, &in->store->host, in->program, filter,
                            expires ? &now : NULL, most, in->wait, arena, rows, error);
}

static const lic_store_methods inside_methods = { .read = read_inside };

static licet_status require_empty(const changing *c, lic_store *stored, const lic_snapshot *head,
                                  const licet_schema *before, licet_error **error)
{
    static const lic_filter all = { .resource_type = LIC_NO_TYPE,
                                    .resource_slot = LIC_NO_SLOT,
                                    .subject_type  = LIC_NO_TYPE,
                                    .subject_slot  = LIC_NO_SLOT };
    lic_rows                rows;
    lic_arena               arena;
    licet_status            status;

    if (before->program->definition_count > 0)
        return lic_fail_not_empty(error);
    lic_arena_init(&arena, c->store->host.memory);
    status = stored->methods->read(stored, head, &all, before_all, NULL, 1, &arena, &rows, error);
    if (status == LICET_OK && rows.count > 0)
        status = lic_fail_not_empty(error);
    lic_arena_free(&arena);
    return status;
}

/* *basis: of the schema that is in force. */
static licet_status judge(const changing *c, lic_pg_link *link, lic_pg_wait wait, lic_pg_basis *basis,
                          licet_error **error)
{
    lic_pg_store       *store  = c->store;
    inside              in     = { { .methods = &inside_methods }, store, link, wait, NULL };
    lic_store          *stored = lic_pg_fetches_all(store) ? &in.base : &store->base;
    const licet_schema *before;
    lic_snapshot        head;
    licet_status        status;

    lic_snapshot_pin(store->host.graph, &head);
    before     = lic_schemas_at(store->host.schemas, head.revision);
    in.program = before->program;
    if (!lic_pg_basis_of(store, before, basis))
        status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                          "the schema in force is not known: nothing was written");
    else if (c->loads)
        status = require_empty(c, stored, &head, before, error);
    else
        status = lic_schema_change_check(stored, &head, c->now, store->host.names, before->program, c->schema->program,
                                         error);
    lic_snapshot_unpin(&head);
    return status;
}

/* Brings schema and, where it follows, graph up to what the transaction sees. */
static licet_status catch_up(const changing *c, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    return lic_pg_fetches_all(c->store) ? lic_pg_learn_schema_by(c->store, link, wait, error)
                                        : lic_pg_catch_up(c->store, wait.until_ms, error);
}

/* ------------------------------------------------------------ the transaction */

static licet_status run_and_forget(const changing *c, lic_pg_link *link, lic_pg_statement_number number,
                                   const lic_pg_parameter *parameters, lic_pg_wait wait, licet_error **error)
{
    PGresult    *result = NULL;
    licet_status status = lic_pg_run(link, &c->store->statements->items[number], parameters, wait, &result, error);

    PQclear(result);
    return status;
}

/* Under the new schema, of which the result is. */
static licet_status copy_rows(changing *c, lic_pg_link *link, const PGresult *result, lic_pg_wait wait,
                              licet_error **error)
{
    char             text[VERSION_BYTES];
    lic_pg_parameter parameters[] = { { .data = text }, { .data = NULL }, { .data = NULL }, { .data = NULL } };
    int64_t          version;
    uint64_t         count;
    lic_text         rows;
    licet_status     status;

    if (!lic_pg_get_i64(result, 0, SCHEMA_COLUMN, &version))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the database's answer is not what was asked for");
    snprintf(text, sizeof text, "%lld", (long long)version);
    lic_text_init(&rows, c->store->host.memory);
    LIC_TRY(run_and_forget(c, link, LIC_PG_IMPORT, parameters, wait, error));
    LIC_TRY(lic_pg_copy_in(link, c->store->statements->import_rows, wait, error));
    for (size_t i = 0; i < c->row_count && status == LICET_OK; i++) {
        lic_pg_copy_row(&rows, c->store->host.names, &c->rows[i]);
        status = lic_pg_copy_flush(&rows, false, link, wait, error);
    }
    if (status == LICET_OK)
        status = lic_pg_copy_flush(&rows, true, link, wait, error);
    if (status == LICET_OK)
        status = lic_pg_copy_end(link, wait, &count, error);
done:
    lic_text_free(&rows);
    return status;
}

static licet_status run_change(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                               PGresult **result, licet_error **error)
{
    changing        *c            = context;
    lic_pg_basis     basis        = { .version = "" };
    lic_pg_parameter parameters[] = { { .data = c->request.data }, LIC_PG_BASIS(&basis), { .data = request } };
    licet_status     status;

    LIC_TRY(
        lic_pg_command(link, "BEGIN ISOLATION LEVEL READ COMMITTED", wait, error)); /* what the lock waited for, too */
    LIC_TRY(run_and_forget(c, link, LIC_PG_LOCK_SCHEMA, NULL, wait, error));
    LIC_TRY(catch_up(c, link, wait, error));
    LIC_TRY(judge(c, link, wait, &basis, error));
    LIC_TRY(lic_pg_run(link, &c->store->statements->items[LIC_PG_WRITE_SCHEMA], parameters, wait, result, error));
    if (c->row_count > 0)
        LIC_TRY(copy_rows(c, link, *result, wait, error));
    LIC_TRY(lic_pg_command(link, "COMMIT", wait, error));
done:
    return status;
}

static licet_status check_text(lic_str text, licet_error **error)
{
    const char *nul = text.size == 0 ? NULL : memchr(text.data, '\0', text.size);

    return nul == NULL
               ? LICET_OK
               : lic_fail(error, LICET_SCHEMA_ERROR, LICET_KIND_ENCODING, LIC_NOWHERE,
                          "a NUL, at byte %zu of the schema: Postgres can not store it", (size_t)(nul - text.data));
}

/* Takes *schema where it succeeds: the graph gets one of its own, by the follower, as other processes do. */
static licet_status change(changing *c, licet_schema **schema, lic_store_outcome *outcome, licet_error **error)
{
    lic_pg_commit commit = lic_pg_commit_of(c->store, run_change, c);
    licet_status  status = check_text(c->schema->text, error);

    if (status != LICET_OK)
        return status;
    lic_text_init(&c->request, c->store->host.memory);
    lic_pg_request_schema(&c->request, c->schema);
    lic_text_add_char(&c->request, '\0');
    status = c->request.failed ? lic_fail_memory(error) : lic_pg_commit_now(&commit, error);
    lic_text_free(&c->request);
    if (status != LICET_OK)
        return status;
    lic_pg_commit_show(&commit, 0, outcome);
    licet_schema_release(*schema);
    *schema = NULL;
    return LICET_OK;
}

licet_status lic_pg_replace_schema(lic_store *base, licet_schema **schema, lic_instant now, lic_store_outcome *outcome,
                                   licet_error **error)
{
    changing c = { .store = lic_pg_store_of(base), .schema = *schema, .now = now };

    return change(&c, schema, outcome, error);
}

licet_status lic_pg_load(lic_store *base, licet_schema **schema, lic_store_change *changes, size_t count,
                         licet_error **error)
{
    lic_store_outcome outcome;
    changing          c = {
                 .store = lic_pg_store_of(base), .schema = *schema, .loads = true, .rows = changes, .row_count = count
    };

    return change(&c, schema, &outcome, error);
}
