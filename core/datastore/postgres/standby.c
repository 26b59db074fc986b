#include "datastore/postgres/standby.h"

#include "base/clock.h"
#include "datastore/postgres/prefetch.h"
#include "datastore/postgres/state.h"

/* The primary has to be asked in time when the standby does not answer. */
#define ASK_MS 500u
/* One that did not answer, or not as a standby, is left alone for a while; one that is behind comes up soon. */
#define REST_MS 2000u
#define BEHIND_MS 20u

/* -------------------------------------------------------------- beginning, end */

static licet_status fail_option(licet_status status, licet_error *problem, licet_error **error)
{
    const licet_str message = licet_error_message(problem);

    if (status == LICET_OUT_OF_MEMORY)
        status = lic_fail_memory(error);
    else
        status = lic_fail(error, status, LICET_KIND_CONFIG, LIC_NOWHERE, "replica_uri: %.*s", LIC_STR_ARG(message));
    licet_error_free(problem);
    return status;
}

licet_status lic_pg_standby_init(lic_pg_store *store, const licet_options *options, licet_error **error)
{
    lic_pg_standby *standby = &store->standby;
    licet_error    *problem = NULL;
    licet_status    status;

    if (!lic_str_given(options->replica_uri))
        return LICET_OK;
    status = lic_pg_conninfo_read(store->host.memory, options->replica_uri, options->require_tls, &standby->conninfo,
                                  &problem);
    if (status != LICET_OK)
        return fail_option(status, problem, error);
    standby->settings           = store->pool_settings;
    standby->settings.read_only = true;
    standby->made               = lic_mutex_init(&standby->lock);
    if (standby->made)
        standby->pool = lic_pg_pool_new(store->host.memory, standby->conninfo, &standby->settings,
                                        options->max_connections, &store->bell);
    return standby->pool != NULL ? LICET_OK : lic_fail_memory(error);
}

void lic_pg_standby_stop(lic_pg_standby *standby)
{
    if (standby->pool != NULL)
        lic_pg_pool_stop(standby->pool);
}

void lic_pg_standby_free(lic_pg_standby *standby)
{
    lic_pg_pool_free(standby->pool);
    lic_pg_conninfo_free(standby->conninfo);
    if (standby->made)
        lic_mutex_destroy(&standby->lock);
    *standby = (lic_pg_standby){ .pool = NULL };
}

uint64_t lic_pg_standby_round_trips(lic_pg_standby *standby)
{
    return standby->pool != NULL ? lic_pg_pool_round_trips(standby->pool) : 0;
}

/* ----------------------------------------------------------------- the primary */

static bool is_same(const lic_pg_identity *a, const lic_pg_identity *b)
{
    return a->timeline == b->timeline && memcmp(a->mark, b->mark, sizeof a->mark) == 0;
}

/* Both grow for themselves: who has what the higher snapshot sees has also what the later one, which is lower, sees. */
void lic_pg_standby_saw(lic_pg_store *store, const lic_pg_identity *identity, const lic_pg_snapshot *snapshot,
                        uint64_t since_ms)
{
    lic_pg_standby *standby = &store->standby;

    if (standby->pool == NULL)
        return;
    lic_mutex_lock(&standby->lock);
    if (!is_same(&standby->identity, identity))
        standby->xmax = standby->seen_ms = 0;
    standby->identity = *identity;
    if (snapshot->xmax > standby->xmax)
        standby->xmax = snapshot->xmax;
    if (since_ms > standby->seen_ms)
        standby->seen_ms = since_ms;
    lic_mutex_unlock(&standby->lock);
}

/* *xmax: that it has to have come up to. false: the primary has to be asked. */
static bool may_ask(lic_pg_store *store, const lic_pg_snapshot *wanted, uint64_t *xmax, lic_pg_identity *identity)
{
    lic_pg_standby *standby = &store->standby;
    uint64_t        now;
    bool            may;

    if (standby->pool == NULL || !lic_pg_follow_identity(store, identity))
        return false;
    lic_mutex_lock(&standby->lock);
    now = lic_monotonic_ms();
    may = now >= standby->rest_until && standby->xmax != 0 && is_same(&standby->identity, identity) &&
          now - standby->seen_ms < store->limits.max_staleness_ms;
    *xmax = wanted != NULL ? wanted->xmax : standby->xmax;
    lic_mutex_unlock(&standby->lock);
    return may;
}

static void rest(lic_pg_standby *standby, uint64_t ms)
{
    lic_mutex_lock(&standby->lock);
    standby->rest_until = lic_monotonic_ms() + ms;
    lic_mutex_unlock(&standby->lock);
}

/* ----------------------------------------------------------------- the standby */

typedef struct asking {
    lic_pg_store     *store;
    lic_pg_link      *link;
    lic_pg_wanted     wanted;
    lic_pg_wait       wait;
    lic_arena        *arena;
    lic_pg_identity   identity; /* of the primary */
    uint64_t          xmax;     /* that it has to have come up to */
    lic_pg_snapshot   shown;    /* xmin:xmin: */
    lic_pg_prefetched fetched;
    bool              is_behind;
} asking;

/* A standby that has gone over to another timeline may go on telling the old one for a while; then it is the primary's
 * having been heard of that bounds what is not noticed. */
static const lic_pg_statement recovery = {
    "standby_recovery",
    "SELECT pg_catalog.pg_is_in_recovery(), greatest(c.timeline_id, r.min_recovery_end_timeline)::bigint "
    "FROM pg_catalog.pg_control_checkpoint() c, pg_catalog.pg_control_recovery() r",
    0, NULL
};

/* One that still is in recovery has been so all the time before. */
static bool is_standby_still(const asking *a)
{
    PGresult *result = NULL;
    bool      is_in_recovery;
    int64_t   timeline;
    bool      is;

    is = lic_pg_run(a->link, &recovery, NULL, a->wait, &result, NULL) == LICET_OK &&
         lic_pg_get_bool(result, 0, 0, &is_in_recovery) && is_in_recovery && lic_pg_get_i64(result, 0, 1, &timeline) &&
         timeline == (int64_t)a->identity.timeline;
    PQclear(result);
    return is;
}

/* Of another cluster, though a copy of the same store? The hint is not always there. */
static bool is_of_cluster(const asking *a)
{
    const uint64_t system = lic_pg_link_server(a->link)->system;
    uint64_t       primary;

    lic_mutex_lock(&a->store->follower.lock);
    primary = a->store->follower.standing.server.system;
    lic_mutex_unlock(&a->store->follower.lock);
    return system == 0 || primary == 0 || system == primary;
}

/* As of a snapshot, or of now. true: the graph is there, by the schema that is known, and the standby is not behind. */
static bool fetch_once(asking *a)
{
    lic_graph_free(a->fetched.graph);
    a->fetched.graph = NULL;
    if (lic_pg_fetch_part(a->store, a->link, &a->wanted, a->wait, a->arena, &a->fetched, NULL) != LICET_OK ||
        memcmp(a->fetched.mark, a->identity.mark, sizeof a->fetched.mark) != 0)
        return false;
    a->is_behind = a->fetched.current.xmin < a->xmax || a->fetched.graph == NULL;
    return !a->is_behind;
}

/* Where nothing runs between xmin and xmax, what there is now is what there is as of xmin. Else it is read again. */
static bool fetch_shown(asking *a)
{
    if (!fetch_once(a))
        return false;
    a->shown = (lic_pg_snapshot){ a->fetched.current.xmin, a->fetched.current.xmin, NULL, 0 };
    if (a->fetched.current.xmin == a->fetched.current.xmax)
        return true;
    a->wanted.at = &a->shown;
    return fetch_once(a);
}

/* Behind a pooler each statement may be answered by another server, but for those of one transaction. */
static bool fetch_certainly(asking *a)
{
    const bool is_pooled = lic_pg_link_server(a->link)->is_pooled;

    if (!is_of_cluster(a) || (is_pooled && lic_pg_command(a->link, "BEGIN READ ONLY", a->wait, NULL) != LICET_OK))
        return false;
    if (!fetch_shown(a) || !is_standby_still(a))
        return false;
    return !is_pooled || lic_pg_command(a->link, "COMMIT", a->wait, NULL) == LICET_OK;
}

static bool pin(asking *a, const licet_schema *schema, lic_snapshot *snapshot)
{
    const lic_pg_prefetched shown = { .graph = a->fetched.graph, .snapshot = a->shown };
    lic_pg_identity         now;

    a->fetched.graph = NULL;
    if (lic_pg_pin_graph(a->store, &shown, schema, snapshot, NULL) != LICET_OK)
        return false;
    if (lic_pg_follow_identity(a->store, &now) && is_same(&now, &a->identity))
        return true;
    lic_fetched_unpin(snapshot);
    return false;
}

/* The standby has a part of the time. */
static lic_pg_wait wait_for_it(const lic_pg_store *store, uint64_t until_ms)
{
    const uint64_t now  = lic_monotonic_ms();
    const uint64_t half = until_ms > now ? (until_ms - now) / 2 : 0;

    return lic_pg_store_wait(store, now + (half < ASK_MS ? half : ASK_MS));
}

bool lic_pg_standby_fetch(lic_pg_store *store, const lic_need *need, const lic_pg_snapshot *wanted, uint64_t until_ms,
                          lic_arena *arena, lic_snapshot *snapshot)
{
    lic_pg_standby *standby = &store->standby;
    licet_schema   *schema  = NULL;
    bool            is_done = false;
    asking          a       = { .store = store, .wanted = lic_pg_wanted_of(store, need, NULL), .arena = arena };

    if (!may_ask(store, wanted, &a.xmax, &a.identity) ||
        (schema = lic_pg_known_schema(store, &a.wanted.schema_version)) == NULL)
        return false;
    a.wanted.program = schema->program;
    a.wait           = wait_for_it(store, until_ms);
    if (lic_pg_pool_take(standby->pool, a.wait, &a.link, NULL) == LICET_OK)
        is_done = fetch_certainly(&a) && pin(&a, schema, snapshot);
    lic_graph_free(a.fetched.graph);
    lic_pg_pool_give(standby->pool, a.link);
    licet_schema_release(schema);
    if (is_done)
        atomic_fetch_add_explicit(&store->prefetches, 1, memory_order_relaxed);
    else
        rest(standby, a.is_behind ? BEHIND_MS : REST_MS);
    return is_done;
}

/* ----------------------------------------------------------------------- forks */

void lic_pg_standby_before_fork(lic_pg_standby *standby)
{
    if (standby->pool == NULL)
        return;
    lic_mutex_lock(&standby->lock);
    lic_pg_pool_before_fork(standby->pool);
}

void lic_pg_standby_after_fork_parent(lic_pg_standby *standby)
{
    if (standby->pool == NULL)
        return;
    lic_pg_pool_after_fork_parent(standby->pool);
    lic_mutex_unlock(&standby->lock);
}

void lic_pg_standby_after_fork_child(lic_pg_standby *standby)
{
    if (standby->pool == NULL)
        return;
    lic_pg_pool_after_fork_child(standby->pool);
    lic_mutex_unlock(&standby->lock);
}
