/* Writes of relationships: one statement each, which is a transaction of its own. And the collection of what is no
 * longer needed. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "datastore/postgres/commit.h"
#include "datastore/postgres/request.h"

#define NUMBER_BYTES 24      /* of a number as text, with its NUL */
#define COLLECT_BATCH "2000" /* rows of one transaction */

/* ------------------------------------------------------------ what failed */

/* "document:a#viewer@user:b". The server quotes it from the request, so it is one of ours. */
static licet_status fail_exists(const lic_pg_store *store, const char *detail, licet_error **error)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    const lic_str      text         = { detail, strlen(detail) };
    licet_status       status       = licet_relationship_parse(text, &relationship, error);

    return status == LICET_OK ? lic_fail_exists(store->host.memory, &relationship, error) : status;
}

/* "2 must_match" */
static licet_status fail_expectation(const char *detail, licet_error **error)
{
    char               *kind;
    const unsigned long number = strtoul(detail, &kind, 10);

    return lic_fail_expectation(number > 0 ? number - 1 : 0, strcmp(kind, " must_match") == 0, error);
}

/* Says in the words of all stores what the server refused; what it doesn't know, it leaves. */
static licet_status translate(const lic_pg_store *store, const lic_pg_failure *failure, uint64_t limit,
                              licet_status status, licet_error **error)
{
    licet_error *said = NULL;

    if (strcmp(failure->sqlstate, "LZ001") == 0)
        status = fail_exists(store, failure->detail, &said);
    else if (strcmp(failure->sqlstate, "LZ002") == 0)
        status = fail_expectation(failure->detail, &said);
    else if (strcmp(failure->sqlstate, "LZ006") == 0)
        status = lic_fail_too_many(limit, &said);
    else
        return status;
    if (error == NULL) {
        licet_error_free(said);
        return status;
    }
    licet_error_free(*error);
    *error = said;
    return status;
}

/* Another schema is in force, as far as the graph knows or the server says. */
static licet_status become_stale(lic_pg_store *store, uint64_t until_ms, lic_store_outcome *outcome,
                                 licet_error **error)
{
    const licet_status status = lic_pg_catch_up(store, until_ms, error);

    outcome->is_stale = status == LICET_OK;
    return status;
}

/* ------------------------------------------------------------ writing */

/* Of one statement. */
typedef struct writing {
    const lic_pg_store     *store;
    lic_pg_statement_number statement;
    lic_text                request;
    lic_text                now; /* of DELETE */
    lic_pg_basis            basis;
    uint64_t                limit;
} writing;

static licet_status run_statement(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                                  PGresult **result, licet_error **error)
{
    const writing         *w            = context;
    const lic_pg_parameter parameters[] = {
        { .data = w->request.data }, LIC_PG_BASIS(&w->basis), { .data = request }, { .data = w->now.data }
    };

    return lic_pg_run(link, &w->store->statements->items[w->statement], parameters, wait, result, error);
}

static void writing_free(writing *w)
{
    lic_text_free(&w->request);
    lic_text_free(&w->now);
}

/* Its request is printed. `deleted` counts. */
static licet_status commit_statement(lic_pg_store *store, writing *w, const licet_schema *schema,
                                     lic_store_outcome *outcome, licet_error **error)
{
    lic_pg_commit commit  = lic_pg_commit_of(store, run_statement, w);
    licet_error  *problem = NULL;
    licet_status  status;

    *outcome = (lic_store_outcome){ .revision = 0 };
    lic_text_add_char(&w->request, '\0');
    if (w->request.failed || w->now.failed)
        return lic_fail_memory(error);
    if (!lic_pg_basis_of(store, schema, &w->basis))
        return become_stale(store, commit.until_ms, outcome, error);
    status = lic_pg_commit_now(&commit, &problem);
    if (status == LICET_OK) {
        lic_pg_commit_show(&commit, commit.deleted, outcome);
        return LICET_OK;
    }
    if (strcmp(commit.failure.sqlstate, "LZ003") == 0) {
        licet_error_free(problem);
        return become_stale(store, commit.until_ms, outcome, error);
    }
    status = translate(store, &commit.failure, w->limit, status, &problem);
    if (error != NULL)
        *error = problem;
    else
        licet_error_free(problem);
    return status;
}

static writing writing_of(lic_pg_store *store, lic_pg_statement_number statement)
{
    writing w = { .store = store, .statement = statement };

    lic_text_init(&w.request, store->host.memory);
    lic_text_init(&w.now, store->host.memory);
    return w;
}

licet_status lic_pg_apply(lic_store *base, const lic_store_write *write, lic_store_change *changes, size_t count,
                          lic_store_outcome *outcome, licet_error **error)
{
    lic_pg_store *store = lic_pg_store_of(base);
    writing       w     = writing_of(store, LIC_PG_WRITE);
    licet_status  status;

    lic_pg_request_write(&w.request, store->host.names, write, changes, count);
    status = commit_statement(store, &w, write->schema, outcome, error);
    writing_free(&w);
    return status;
}

/* Down to the microsecond: the server would round. Nothing: its own clock counts. */
static void print_now(const lic_store_write *write, lic_text *out)
{
    lic_instant now = write->now;

    if (!write->is_timed)
        return;
    now.nanoseconds -= now.nanoseconds % 1000;
    lic_instant_print(now, out);
    lic_text_add_char(out, '\0');
}

licet_status lic_pg_erase(lic_store *base, const lic_store_write *write, const lic_store_erasure *erasure,
                          lic_store_outcome *outcome, licet_error **error)
{
    lic_pg_store *store = lic_pg_store_of(base);
    writing       w     = writing_of(store, LIC_PG_DELETE);
    licet_status  status;

    w.limit = erasure->limit;
    lic_pg_request_erase(&w.request, write, erasure);
    print_now(write, &w.now);
    status = commit_statement(store, &w, write->schema, outcome, error);
    writing_free(&w);
    return status;
}

/* ------------------------------------------------------------ collecting */

static licet_status collect_batch(lic_pg_store *store, lic_pg_link *link, const char *window, uint64_t *removed,
                                  bool *is_done, licet_error **error)
{
    const lic_pg_wait      wait         = lic_pg_store_wait(store, lic_monotonic_ms() + store->limits.write_timeout_ms);
    const lic_pg_parameter parameters[] = { { .data = window }, { .data = COLLECT_BATCH } };
    PGresult              *result       = NULL;
    int64_t                gone         = 0;
    licet_status           status;

    LIC_TRY(lic_pg_run(link, &store->statements->items[LIC_PG_COLLECT], parameters, wait, &result, error));
    *is_done = true;
    (void)lic_pg_get_i64(result, 0, 0, &gone);
    (void)lic_pg_get_bool(result, 0, 1, is_done);
    *removed += (uint64_t)gone;
done:
    PQclear(result);
    return status;
}

licet_status lic_pg_collect_batch(lic_pg_store *store, uint64_t *removed, bool *is_done, licet_error **error)
{
    const lic_pg_wait wait = lic_pg_store_wait(store, lic_monotonic_ms() + store->limits.write_timeout_ms);
    char              window[NUMBER_BYTES + sizeof " milliseconds"];
    lic_pg_link      *link = NULL;
    licet_status      status;

    snprintf(window, sizeof window, "%llu milliseconds", (unsigned long long)store->limits.gc_window_ms);
    LIC_TRY(lic_pg_pool_take(store->pool, wait, &link, error));
    LIC_TRY(collect_batch(store, link, window, removed, is_done, error));
done:
    lic_pg_pool_give(store->pool, link);
    return status;
}

/* Each batch is a transaction with a deadline of its own; what broken connections leave undone is collected another
 * time. */
licet_status lic_pg_collect(lic_store *base, uint64_t *removed, licet_error **error)
{
    bool         is_done = false;
    licet_status status  = LICET_OK;

    *removed = 0;
    while (status == LICET_OK && !is_done)
        status = lic_pg_collect_batch(lic_pg_store_of(base), removed, &is_done, error);
    return status;
}
