/* A request's part of the graph, fetched over a connection of the pool; and the schema, for stores that do not follow. */
#include "base/clock.h"
#include "datastore/memory/memory.h"
#include "datastore/postgres/fetch_rows.h"
#include "datastore/postgres/migration.h"
#include "datastore/postgres/prefetch.h"
#include "datastore/postgres/rows.h"
#include "datastore/postgres/standing.h"
#include "datastore/postgres/state.h"

#define MOST_ROWS 1000000u /* as the steps that one check may take */
#define MOST_TURNS 4       /* schemas are not replaced more often than that while a request waits */

static licet_status fail_turning(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the schema is being replaced all the time");
}

/* ---------------------------------------------------------- which database it is */

static licet_status fail_standby(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the server is a standby: its primary has to be asked");
}

static licet_status fail_other(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database is being replaced by another one, or has another past than before");
}

/* Of a store that does not follow: another database than before, or another past of it. Tokens and notes say nothing any
 * more, and the schema that is known is of the other: numbers of versions begin anew with each. */
static void forget_database(lic_pg_store *store)
{
    lic_pg_follower *f = &store->follower;
    licet_schema    *old;

    lic_mutex_lock(&store->schema_lock);
    lic_mutex_lock(&f->lock);
    f->standing.is_identified  = false;
    old                        = (licet_schema *)f->standing.schema;
    f->standing.schema         = NULL;
    f->standing.schema_version = 0;
    lic_mutex_unlock(&f->lock);
    lic_mutex_unlock(&store->schema_lock);
    licet_schema_release(old);
    lic_pg_marks_clear(&store->marks);
}

/* Is it still the database that is known? */
static bool is_known(lic_pg_store *store, const lic_pg_identity *identity)
{
    lic_pg_identity known;

    return lic_pg_follow_identity(store, &known) && known.timeline == identity->timeline &&
           memcmp(known.mark, identity->mark, sizeof known.mark) == 0;
}

/* The database that is known, if the link leads to it. */
static licet_status identity_of(lic_pg_store *store, const lic_pg_link *link, lic_pg_identity *identity,
                                licet_error **error)
{
    if (lic_pg_follow_identity(store, identity) && identity->timeline == lic_pg_link_server(link)->timeline)
        return LICET_OK;
    return fail_other(error);
}

licet_status lic_pg_meet(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    lic_pg_follower     *f      = &store->follower;
    const lic_pg_server *server = lic_pg_link_server(link);
    lic_pg_identity      known;
    lic_pg_store_facts   facts;
    licet_status         status;

    if (server->is_standby)
        return fail_standby(error);
    if (lic_pg_follow_identity(store, &known)) {
        if (known.timeline == server->timeline)
            return LICET_OK;
        if (!lic_pg_fetches_all(store))
            return fail_other(error);
        forget_database(store);
    }
    status = lic_pg_check_store(link, store->host.memory, store->settings.schema, wait, &facts, error);
    if (status != LICET_OK)
        return status;
    lic_mutex_lock(&f->lock);
    if (!f->standing.is_identified) {
        f->standing.identity      = facts.identity;
        f->standing.server        = *server;
        f->standing.is_identified = true;
    }
    lic_mutex_unlock(&f->lock);
    return LICET_OK;
}

/* ------------------------------------------------------------------- schemas */

licet_schema *lic_pg_known_schema(lic_pg_store *store, uint64_t *version)
{
    lic_pg_follower *f = &store->follower;
    licet_schema    *schema;

    lic_mutex_lock(&f->lock);
    schema   = (licet_schema *)f->standing.schema;
    *version = f->standing.schema_version;
    licet_schema_retain(schema);
    lic_mutex_unlock(&f->lock);
    return schema;
}

/* Puts it in force in a replica that has nothing else, if its database still is the one that is known. Takes *schema.
 * Versions only grow. */
static licet_status install(lic_pg_store *store, const lic_pg_identity *identity, licet_schema **schema,
                            uint64_t version, licet_error **error)
{
    lic_pg_follower *f    = &store->follower;
    const lic_str    none = { NULL, 0 };
    licet_schema    *kept = *schema;
    licet_schema    *old  = NULL;
    uint64_t         revision;
    licet_status     status = LICET_OK;

    licet_schema_retain(kept);
    lic_mutex_lock(&store->schema_lock);
    if (is_known(store, identity) && (f->standing.schema == NULL || f->standing.schema_version < version)) {
        status = lic_memory_follow(store->replica, schema, none, NULL, 0, &revision, error);
        if (status == LICET_OK) {
            lic_mutex_lock(&f->lock);
            old                        = (licet_schema *)f->standing.schema;
            f->standing.schema         = kept;
            f->standing.schema_version = version;
            kept                       = NULL;
            lic_mutex_unlock(&f->lock);
        }
    }
    lic_mutex_unlock(&store->schema_lock);
    licet_schema_release(kept);
    licet_schema_release(old);
    return status;
}

/* The schema of a version in the link's database, the caller's: known, or read. One that is newer than what is known is
 * in force from here on, unless a follower sees to that. */
static licet_status schema_of(lic_pg_store *store, lic_pg_link *link, const lic_pg_identity *identity, uint64_t version,
                              lic_pg_wait wait, licet_schema **schema, licet_error **error)
{
    licet_schema *made = NULL;
    uint64_t      known;
    licet_status  status;

    *schema = lic_pg_known_schema(store, &known);
    if (*schema != NULL && known == version && is_known(store, identity))
        return LICET_OK;
    licet_schema_release(*schema);
    *schema = NULL;
    status  = lic_pg_read_schema(store, link, version, wait, schema, error);
    if (status != LICET_OK || !lic_pg_fetches_all(store))
        return status;
    made = *schema;
    licet_schema_retain(made);
    status = install(store, identity, &made, version, error);
    licet_schema_release(made);
    if (status != LICET_OK) {
        licet_schema_release(*schema);
        *schema = NULL;
    }
    return status;
}

/* In *identity the database's mark. */
static licet_status read_version(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, lic_pg_identity *identity,
                                 uint64_t *version, licet_error **error)
{
    PGresult       *result = NULL;
    lic_pg_identity known;
    lic_str         mark;
    int64_t         clock_us;
    int64_t         number;
    const int64_t   asked_ns = lic_boot_ns();
    licet_status    status = lic_pg_run(link, &store->statements->items[LIC_PG_BEGIN_LOAD], NULL, wait, &result, error);

    if (status != LICET_OK)
        return status;
    if (PQntuples(result) == 1 && lic_pg_get_time_us(result, 0, 1, &clock_us) &&
        lic_pg_get_bytes(result, 0, 2, &mark) && mark.size == LIC_PG_MARK_BYTES &&
        lic_pg_get_i64(result, 0, 4, &number)) {
        lic_pg_set_clock(store, asked_ns, clock_us);
        *version = (uint64_t)number;
        memcpy(identity->mark, mark.data, mark.size);
        if (lic_pg_follow_identity(store, &known) && memcmp(known.mark, mark.data, mark.size) != 0)
            forget_database(store);
    } else
        status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                          "the database's answer is not what was asked for");
    PQclear(result);
    return status;
}

licet_status lic_pg_learn_schema_by(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    lic_pg_identity identity = { .timeline = lic_pg_link_server(link)->timeline };
    licet_schema   *schema   = NULL;
    uint64_t        version  = 0;
    licet_status    status;

    LIC_TRY(lic_pg_meet(store, link, wait, error));
    LIC_TRY(read_version(store, link, wait, &identity, &version, error));
    LIC_TRY(lic_pg_meet(store, link, wait, error));
    LIC_TRY(schema_of(store, link, &identity, version, wait, &schema, error));
    if (!is_known(store, &identity))
        status = fail_other(error);
done:
    licet_schema_release(schema);
    return status;
}

licet_status lic_pg_learn_schema(lic_pg_store *store, uint64_t until_ms, licet_error **error)
{
    const lic_pg_wait wait = lic_pg_store_wait(store, until_ms);
    lic_pg_link      *link = NULL;
    licet_status      status;

    LIC_TRY(lic_pg_pool_take(store->pool, wait, &link, error));
    LIC_TRY(lic_pg_learn_schema_by(store, link, wait, error));
done:
    lic_pg_pool_give(store->pool, link);
    return status;
}

/* ------------------------------------------------------------------- fetching */

static void set_clock(lic_pg_store *store, lic_instant now)
{
    int64_t ns;

    if (!__builtin_mul_overflow(now.seconds, INT64_C(1000000000), &ns) &&
        !__builtin_add_overflow(ns, (int64_t)now.nanoseconds, &ns))
        atomic_store_explicit(&store->base.clock_offset_ns, ns - lic_boot_ns(), memory_order_relaxed);
}

licet_status lic_pg_pin_graph(lic_pg_store *store, const lic_pg_prefetched *fetched, const licet_schema *schema,
                              lic_snapshot *snapshot, licet_error **error)
{
    lic_fetched *made = lic_fetched_new(store->host.memory, fetched->graph, schema);
    uint64_t     note = made == NULL ? 0 : lic_pg_marks_note(&store->marks, &fetched->snapshot);

    if (note != 0)
        lic_fetched_pin(made, note, snapshot);
    lic_fetched_release(made);
    return note != 0 ? LICET_OK : lic_fail_memory(error);
}

lic_pg_wanted lic_pg_wanted_of(const lic_pg_store *store, const lic_need *need, const lic_pg_snapshot *at)
{
    return (lic_pg_wanted){ .host      = &store->host,
                            .fetches   = store->fetches,
                            .need      = need,
                            .limits    = store->host.limits,
                            .most_rows = MOST_ROWS,
                            .at        = at };
}

licet_status lic_pg_fetch_part(const lic_pg_store *store, lic_pg_link *link, const lic_pg_wanted *wanted,
                               lic_pg_wait wait, lic_arena *arena, lic_pg_prefetched *fetched, licet_error **error)
{
    return wanted->need->kind == LIC_NEED_ROWS
               ? lic_pg_fetch_rows(link, store->settings.schema, wanted, wait, arena, fetched, error)
               : lic_pg_prefetch(link, wanted, wait, arena, fetched, error);
}

/* Under the schema that is given, and another one as long as the database says so. Takes *schema, may put another one
 * there. */
static licet_status fetch(lic_pg_store *store, lic_pg_link *link, const lic_pg_identity *identity,
                          lic_pg_wanted *wanted, licet_schema **schema, lic_pg_wait wait, lic_arena *arena,
                          lic_pg_prefetched *fetched, licet_error **error)
{
    lic_pg_identity of     = *identity;
    licet_status    status = LICET_OK;

    fetched->graph = NULL;
    for (int i = 0; i < MOST_TURNS && status == LICET_OK && fetched->graph == NULL; i++) {
        wanted->program = (*schema)->program;
        status          = lic_pg_fetch_part(store, link, wanted, wait, arena, fetched, error);
        if (status == LICET_OK && fetched->graph == NULL) {
            licet_schema_release(*schema);
            memcpy(of.mark, fetched->mark, sizeof of.mark);
            status                 = schema_of(store, link, &of, fetched->schema_version, wait, schema, error);
            wanted->schema_version = fetched->schema_version;
        }
    }
    return status == LICET_OK && fetched->graph == NULL ? fail_turning(error) : status;
}

/* Is what came of the database that the schema and tokens are of? */
static licet_status same_database(lic_pg_store *store, const lic_pg_identity *identity,
                                  const lic_pg_prefetched *fetched, uint64_t since_ms, licet_error **error)
{
    if (is_known(store, identity) && memcmp(identity->mark, fetched->mark, sizeof fetched->mark) == 0) {
        lic_pg_standby_saw(store, identity, &fetched->current, since_ms);
        return LICET_OK;
    }
    if (lic_pg_fetches_all(store))
        forget_database(store);
    return fail_other(error);
}

licet_status lic_pg_fetch(lic_pg_store *store, const lic_need *need, const lic_pg_snapshot *at, uint64_t until_ms,
                          lic_arena *arena, lic_pg_snapshot *current, lic_snapshot *snapshot, licet_error **error)
{
    const lic_pg_wait wait    = lic_pg_store_wait(store, until_ms);
    lic_pg_link      *link    = NULL;
    licet_schema     *schema  = NULL;
    lic_pg_prefetched fetched = { .graph = NULL };
    lic_pg_wanted     wanted  = lic_pg_wanted_of(store, need, at);
    lic_pg_identity   identity;
    uint64_t          asked_ms;
    licet_status      status;

    atomic_fetch_add_explicit(&store->prefetches, 1, memory_order_relaxed);
    LIC_TRY(lic_pg_pool_take(store->pool, wait, &link, error));
    LIC_TRY(lic_pg_meet(store, link, wait, error));
    LIC_TRY(identity_of(store, link, &identity, error));
    schema = lic_pg_known_schema(store, &wanted.schema_version);
    if (schema == NULL)
        LIC_TRY(schema_of(store, link, &identity, 0, wait, &schema, error));
    asked_ms = lic_monotonic_ms();
    LIC_TRY(fetch(store, link, &identity, &wanted, &schema, wait, arena, &fetched, error));
    LIC_TRY(same_database(store, &identity, &fetched, asked_ms, error));
    if (lic_pg_fetches_all(store))
        set_clock(store, fetched.now);
    if (current != NULL)
        *current = fetched.current;
    status        = lic_pg_pin_graph(store, &fetched, schema, snapshot, error);
    fetched.graph = NULL;
done:
    lic_graph_free(fetched.graph);
    licet_schema_release(schema);
    lic_pg_pool_give(store->pool, link);
    return status;
}
