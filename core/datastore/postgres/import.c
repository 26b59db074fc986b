/* Imports: one transaction on a link of its own, whose rows go by COPY as they come. The locks of a write and the look
 * at the schema come last, just before the COMMIT: rows that nobody sees yet are in nobody's way, and a schema may be
 * written meanwhile (then the import fails). What is there already, or is in the import twice, is told at the end too,
 * since nothing of an import is remembered here.
 *
 * A piece of an import is the same, but that its transaction begins with a lock on the import's record and ends with a
 * new one. */
#include <stdio.h>

#include "base/clock.h"
#include "datastore/postgres/commit.h"
#include "datastore/postgres/copy_rows.h"
#include "datastore/postgres/import_record.h"

struct lic_store_import {
    const lic_import_piece *piece; /* NULL: all of it */

    lic_pg_link *link;       /* in the middle of the COPY. NULL: nothing was added, or it is over */
    uint32_t     generation; /* of the pool when the link was taken */
    lic_text     rows;       /* encoded, not yet sent */
    uint64_t     count;
};

/* Each step has the deadline of a write; an import as a whole has none. */
static lic_pg_wait step(const lic_pg_store *store)
{
    return lic_pg_store_wait(store, lic_monotonic_ms() + store->limits.write_timeout_ms);
}

/* What is judged from here on is judged by the newest schema. A piece that comes after others is not kept until the graph
 * has those. */
licet_status lic_pg_import_begin(lic_store *base, const lic_import_piece *piece, lic_store_import **import,
                                 licet_error **error)
{
    lic_pg_store *store  = lic_pg_store_of(base);
    licet_status  status = LICET_OK;

    *import = NULL;
    if (piece == NULL)
        status = lic_pg_catch_up(store, step(store).until_ms, error);
    if (status != LICET_OK)
        return status;
    *import = lic_alloc_zero(store->host.memory, sizeof **import);
    if (*import == NULL)
        return lic_fail_memory(error);
    (*import)->piece = piece;
    lic_text_init(&(*import)->rows, store->host.memory);
    return LICET_OK;
}

static licet_status begin_transaction(lic_pg_store *store, lic_store_import *import, licet_error **error)
{
    licet_status status;

    LIC_TRY(lic_pg_pool_take(store->pool, step(store), &import->link, error));
    import->generation = lic_pg_pool_generation(store->pool);
    LIC_TRY(lic_pg_command(import->link, store->statements->import_begin, step(store), error));
    if (import->piece != NULL)
        LIC_TRY(lic_pg_import_lock(store, import->link, import->piece, step(store), error));
done:
    return status;
}

static licet_status begin_copy(lic_pg_store *store, lic_store_import *import, licet_error **error)
{
    licet_status status;

    LIC_TRY(begin_transaction(store, import, error));
    LIC_TRY(lic_pg_copy_in(import->link, store->statements->import_rows, step(store), error));
done:
    return status;
}

/* The child of a fork has the import but not its connection. */
static bool is_inherited(const lic_pg_store *store, const lic_store_import *import)
{
    return import->link != NULL && import->generation != lic_pg_pool_generation(store->pool);
}

static licet_status fail_inherited(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the import began in another process: nothing was written by this one");
}

licet_status lic_pg_import_add(lic_store *base, lic_store_import *import, lic_store_change *changes, size_t count,
                               licet_error **error)
{
    lic_pg_store *store  = lic_pg_store_of(base);
    licet_status  status = LICET_OK;

    if (is_inherited(store, import))
        return fail_inherited(error);
    if (import->link == NULL)
        status = begin_copy(store, import, error);
    for (size_t i = 0; i < count && status == LICET_OK; i++) {
        lic_pg_copy_row(&import->rows, store->host.names, &changes[i]);
        status = lic_pg_copy_flush(&import->rows, false, import->link, step(store), error);
    }
    import->count += count;
    return status;
}

/* ------------------------------------------------------------ committing */

/* Nothing was added: an empty write, by whatever schema is in force. */
static licet_status commit_nothing(lic_pg_store *store, lic_store_outcome *outcome, licet_error **error)
{
    lic_store_write write = { .schema = NULL };
    lic_snapshot    head;
    licet_schema   *schema;
    licet_status    status;

    lic_snapshot_pin(store->host.graph, &head);
    schema = (licet_schema *)lic_schemas_at(store->host.schemas, head.revision);
    licet_schema_retain(schema);
    lic_snapshot_unpin(&head);
    write.schema = schema;
    status       = lic_pg_apply(&store->base, &write, NULL, 0, outcome, error);
    licet_schema_release(schema);
    return status;
}

typedef struct ending {
    const lic_pg_store     *store;
    const lic_import_piece *piece; /* NULL: all of it */
    const lic_pg_basis     *basis; /* NULL: there are no rows */
} ending;

static licet_status note_whole(const ending *e, lic_pg_link *link, const char *request, lic_pg_wait wait,
                               PGresult **result, licet_error **error)
{
    const lic_pg_parameter parameters[] = { LIC_PG_BASIS(e->basis), { .data = request } };

    return lic_pg_run(link, &e->store->statements->items[LIC_PG_IMPORT], parameters, wait, result, error);
}

static licet_status run_ending(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                               PGresult **result, licet_error **error)
{
    const ending *e = context;
    licet_status  status;

    if (e->piece != NULL)
        LIC_TRY(lic_pg_import_note(e->store, link, e->piece, e->basis, request, wait, result, error));
    else
        LIC_TRY(note_whole(e, link, request, wait, result, error));
    LIC_TRY(lic_pg_command(link, "COMMIT", wait, error));
done:
    return status;
}

static licet_status end_copy(lic_pg_store *store, lic_store_import *import, licet_error **error)
{
    uint64_t     count;
    licet_status status;

    LIC_TRY(lic_pg_copy_flush(&import->rows, true, import->link, step(store), error));
    status = lic_pg_copy_end(import->link, step(store), &count, error);
    if (status != LICET_OK)
        status = lic_pg_copy_failed(store->host.memory, import->link, status, error);
done:
    return status;
}

/* A piece that is not the last doesn't wait for the graph: the next one is on its way. */
static void show(const lic_pg_commit *commit, const lic_store_import *import, lic_store_outcome *outcome)
{
    if (import->piece != NULL && !import->piece->is_last)
        *outcome = (lic_store_outcome){ .count = import->count, .token = commit->token };
    else
        lic_pg_commit_show(commit, import->count, outcome);
}

/* The commit takes the link and gives it back. */
static licet_status commit_rows(lic_pg_store *store, lic_store_import *import, const lic_pg_basis *basis,
                                lic_store_outcome *outcome, licet_error **error)
{
    ending        e = { store, import->piece, basis };
    lic_pg_commit commit;
    licet_status  status;

    if (import->count > 0)
        LIC_TRY(end_copy(store, import, error));
    commit = lic_pg_commit_of(store, run_ending, &e);
    LIC_TRY(lic_pg_commit_number(&commit, error));
    commit.link       = import->link;
    import->link      = NULL;
    status            = lic_pg_commit_now(&commit, error);
    outcome->is_stale = strcmp(commit.failure.sqlstate, "LZ003") == 0;
    if (outcome->is_stale) {
        lic_error_forget(error);
        return LICET_OK;
    }
    if (status == LICET_OK)
        show(&commit, import, outcome);
done:
    return status;
}

licet_status lic_pg_import_commit(lic_store *base, lic_store_import *import, const licet_schema *schema,
                                  lic_store_outcome *outcome, licet_error **error)
{
    lic_pg_store *store = lic_pg_store_of(base);
    lic_pg_basis  basis;
    licet_status  status = LICET_OK;

    *outcome = (lic_store_outcome){ .revision = 0 };
    if (import->count == 0 && import->piece == NULL)
        return commit_nothing(store, outcome, error);
    if (is_inherited(store, import))
        return fail_inherited(error);
    if (import->count > 0 && !lic_pg_basis_of(store, schema, &basis)) {
        outcome->is_stale = true;
        return LICET_OK;
    }
    if (import->link == NULL)
        status = begin_transaction(store, import, error);
    return status == LICET_OK ? commit_rows(store, import, import->count > 0 ? &basis : NULL, outcome, error) : status;
}

/* A transaction that is open still ends with its link, which the pool closes. */
void lic_pg_import_end(lic_store *base, lic_store_import *import)
{
    lic_pg_store *store = lic_pg_store_of(base);

    if (import == NULL)
        return;
    if (!is_inherited(store, import))
        lic_pg_pool_give(store->pool, import->link);
    lic_text_free(&import->rows);
    lic_free(store->host.memory, import, sizeof *import);
}
