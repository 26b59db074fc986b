/* Committing, and finding out whether it was done. */
#include "datastore/postgres/commit.h"

#include "base/clock.h"
#include "base/hash.h"

#define TRIES 4
#define PAUSE_MS 10u     /* at most, after the first try twice that; doubles */
#define ASK_PAUSE_MS 20u /* between two questions for the outcome */
#define ASK_MS 1000u     /* of the deadline are for them, at most, and at most a quarter */
#define SHOW_MS 500u     /* a write doesn't wait longer for the graph */
#define SNAPSHOT_ROOM 2048

typedef enum verdict { VERDICT_DONE, VERDICT_NOT_DONE, VERDICT_UNKNOWN, VERDICT_CLOSED } verdict;

enum { COLUMN_SNAPSHOT, COLUMN_XID, COLUMN_SCHEMA, COLUMN_DELETED };
enum { OUTCOME_SNAPSHOT, OUTCOME_XID, OUTCOME_DELETED };

lic_pg_commit lic_pg_commit_of(lic_pg_store *store, lic_pg_run_transaction run, void *context)
{
    return (lic_pg_commit){
        .store = store, .until_ms = lic_monotonic_ms() + store->limits.write_timeout_ms, .run = run, .context = context
    };
}

uint64_t lic_pg_commit_run_until(const lic_pg_commit *commit)
{
    const uint64_t quarter = commit->store->limits.write_timeout_ms / 4;

    return commit->until_ms - (quarter < ASK_MS ? quarter : ASK_MS);
}

/* A uuid of version 4. */
licet_status lic_pg_commit_number(lic_pg_commit *commit, licet_error **error)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t           bytes[16];
    char             *at = commit->request;

    if (!lic_random_bytes(bytes, sizeof bytes))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the system gives no random numbers");
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 0x0f];
    }
    *at = '\0';
    return LICET_OK;
}

/* ------------------------------------------------------------ answers */

/* The timeline is the one on which it was committed. */
static void make_token(lic_pg_commit *commit, const lic_pg_link *link, lic_str bytes, uint64_t xid)
{
    LIC_UNINITIALIZED char room[SNAPSHOT_ROOM];
    lic_pg_identity        identity;
    lic_pg_snapshot        snapshot;
    lic_arena              arena;

    lic_arena_init_with(&arena, commit->store->host.memory, room, sizeof room);
    if (lic_pg_follow_identity(commit->store, &identity) &&
        lic_pg_snapshot_receive(&arena, bytes, &snapshot, NULL) == LICET_OK &&
        lic_pg_snapshot_complete(&arena, &snapshot, xid, NULL) == LICET_OK) {
        if (lic_pg_link_server(link)->timeline != 0)
            identity.timeline = lic_pg_link_server(link)->timeline;
        if (!lic_pg_token_make(&identity, &snapshot, &commit->token))
            commit->token = (licet_token){ { 0 } };
        lic_pg_standby_saw(commit->store, &identity, &snapshot,
                           commit->until_ms - commit->store->limits.write_timeout_ms);
    }
    lic_arena_free(&arena);
}

static void read_number(const PGresult *result, int column, uint64_t *number)
{
    int64_t read;

    if (column < PQnfields(result) && lic_pg_get_i64(result, 0, column, &read))
        *number = (uint64_t)read;
}

/* Its row, of which all is known to be committed. What can't be read is left empty. */
static void read_done(lic_pg_commit *commit, const lic_pg_link *link, const PGresult *result, int deleted_column)
{
    lic_str  snapshot;
    uint64_t xid = 0;

    read_number(result, COLUMN_XID, &xid);
    read_number(result, deleted_column, &commit->deleted);
    if (lic_pg_get_bytes(result, 0, COLUMN_SNAPSHOT, &snapshot))
        make_token(commit, link, snapshot, xid);
}

/* ------------------------------------------------------------ finding out */

static verdict judge(lic_pg_commit *commit, const lic_pg_link *link, const PGresult *result)
{
    if (PQntuples(result) != 1 || PQnfields(result) != OUTCOME_DELETED + 1)
        return VERDICT_UNKNOWN;
    if (PQgetisnull(result, 0, OUTCOME_XID))
        return VERDICT_NOT_DONE;
    read_done(commit, link, result, OUTCOME_DELETED);
    return VERDICT_DONE;
}

static verdict ask(lic_pg_commit *commit, lic_pg_wait wait)
{
    const lic_pg_statement *outcome   = &commit->store->statements->items[LIC_PG_OUTCOME];
    const lic_pg_parameter  parameter = { .data = commit->request };
    lic_pg_link            *link      = NULL;
    PGresult               *result    = NULL;
    verdict                 found     = VERDICT_UNKNOWN;
    licet_status            status;

    status = lic_pg_pool_take(commit->store->pool, wait, &link, NULL);
    if (status == LICET_OK)
        status = lic_pg_run(link, outcome, &parameter, wait, &result, NULL);
    if (status == LICET_OK)
        found = judge(commit, link, result);
    else if (status == LICET_CLOSED)
        found = VERDICT_CLOSED;
    PQclear(result);
    lic_pg_pool_give(commit->store->pool, link);
    return found;
}

/* false: the bell was rung. */
static bool sleep_until(const lic_pg_store *store, uint64_t until_ms)
{
    lic_pg_waiting waiting = { .wait = lic_pg_store_wait(store, until_ms) };

    return lic_pg_wait_for(&waiting, -1, false) != LIC_PG_RUNG;
}

/* Until somebody who must know says so, or the time is over. */
static verdict find_out(lic_pg_commit *commit)
{
    const lic_pg_wait wait  = lic_pg_store_wait(commit->store, commit->until_ms);
    verdict           found = ask(commit, wait);

    while (found == VERDICT_UNKNOWN && lic_monotonic_ms() + ASK_PAUSE_MS < commit->until_ms)
        found = sleep_until(commit->store, lic_monotonic_ms() + ASK_PAUSE_MS) ? ask(commit, wait) : VERDICT_CLOSED;
    return found;
}

/* ------------------------------------------------------------ trying */

static licet_status fail_unknown(bool is_closed, licet_error **error)
{
    if (is_closed)
        return lic_fail_reason(error, LICET_CLOSED, LICET_KIND_MISUSE, "MAY_HAVE_BEEN_APPLIED", LIC_NOWHERE,
                               "the engine was closed while a write was under way: it may have been applied");
    return lic_fail_reason(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "MAY_HAVE_BEEN_APPLIED", LIC_NOWHERE,
                           "Postgres did not say in time whether the write was committed: it may have been applied");
}

static licet_status fail_not_done(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the connection to Postgres broke, or the write took too long: nothing was written");
}

static void forget_error(licet_error **error)
{
    if (error == NULL)
        return;
    licet_error_free(*error);
    *error = NULL;
}

/* Runs it on the link and gives that back. *is_lost: nobody has said how it ended. */
static licet_status run_on_link(lic_pg_commit *commit, lic_pg_wait wait, bool *is_lost, licet_error **error)
{
    PGresult    *result = NULL;
    licet_status status = commit->run(commit->context, commit->link, commit->request, wait, &result, error);

    *is_lost = status != LICET_OK && lic_pg_link_lost(commit->link);
    if (status == LICET_OK) {
        read_number(result, COLUMN_SCHEMA, &commit->schema_version);
        read_done(commit, commit->link, result, COLUMN_DELETED);
    } else if (!*is_lost)
        commit->failure = *lic_pg_link_failure(commit->link);
    PQclear(result);
    lic_pg_pool_give(commit->store->pool, commit->link);
    commit->link = NULL;
    return status;
}

static licet_status settle(verdict found, bool *again, licet_error **error)
{
    switch (found) {
    case VERDICT_DONE:
        return LICET_OK;
    case VERDICT_NOT_DONE:
        *again = true;
        return fail_not_done(error);
    case VERDICT_UNKNOWN:
    case VERDICT_CLOSED:
        break;
    }
    return fail_unknown(found == VERDICT_CLOSED, error);
}

/* *again: nothing was done, and it is worth another try. */
static licet_status try_once(lic_pg_commit *commit, bool *again, licet_error **error)
{
    const lic_pg_wait wait = lic_pg_store_wait(commit->store, lic_pg_commit_run_until(commit));
    bool              is_lost;
    licet_status      status;

    *again = false;
    if (commit->link == NULL) {
        LIC_TRY(lic_pg_commit_number(commit, error));
        LIC_TRY(lic_pg_pool_take(commit->store->pool, wait, &commit->link, error));
    }
    status = run_on_link(commit, wait, &is_lost, error);
    if (is_lost) {
        forget_error(error);
        return settle(status == LICET_CLOSED ? VERDICT_CLOSED : find_out(commit), again, error);
    }
    *again = status != LICET_OK && lic_pg_failure_retryable(&commit->failure);
done:
    return status;
}

static bool pause_after(const lic_pg_commit *commit, unsigned tries)
{
    const uint64_t until = lic_monotonic_ms() + 1 + lic_random_key() % (PAUSE_MS << tries);

    return until < lic_pg_commit_run_until(commit) && sleep_until(commit->store, until);
}

licet_status lic_pg_commit_now(lic_pg_commit *commit, licet_error **error)
{
    const unsigned most = commit->link != NULL ? 1 : TRIES;
    bool           again;
    licet_status   status = try_once(commit, &again, error);

    for (unsigned tries = 1; again && tries < most && pause_after(commit, tries); tries++) {
        forget_error(error);
        commit->failure.sqlstate[0] = '\0';
        status                      = try_once(commit, &again, error);
    }
    return status;
}

void lic_pg_commit_show(const lic_pg_commit *commit, uint64_t count, lic_store_outcome *outcome)
{
    const uint64_t soon = lic_monotonic_ms() + SHOW_MS;

    *outcome = (lic_store_outcome){ .count = count, .token = commit->token };
    if (lic_pg_catch_up(commit->store, soon < commit->until_ms ? soon : commit->until_ms, NULL) == LICET_OK)
        outcome->revision = lic_graph_head(commit->store->host.graph);
}
