/* The store itself: its beginning, its end, and forks. What a consistency asks for is in pin.c. */
#include "datastore/postgres/postgres.h"

#include "base/clock.h"
#include "datastore/memory/memory.h"
#include "datastore/postgres/state.h"

#define SERVER_MS_MORE 1000u /* the server gives up a little after we have */

static licet_status pg_await(lic_store *base, uint64_t until_ms, licet_error **error)
{
    return lic_pg_await_fresh(lic_pg_store_of(base), until_ms, error);
}

/* -------------------------------------------------------------------- reading */

/* The replica has all that is read through a snapshot. */
static licet_status pg_read(lic_store *base, const lic_snapshot *snapshot, const lic_filter *filter, lic_instant now,
                            const lic_edge *after, size_t most, lic_arena *arena, lic_rows *rows, licet_error **error)
{
    lic_store *replica = lic_pg_store_of(base)->replica;

    return replica->methods->read(replica, snapshot, filter, now, after, most, arena, rows, error);
}

static licet_status pg_changes(lic_store *base, const lic_snapshot *snapshot, uint64_t after, uint64_t through,
                               const lic_row_test *test, lic_arena *arena, lic_store_revision *changes,
                               licet_error **error)
{
    lic_pg_store *store   = lic_pg_store_of(base);
    lic_store    *replica = store->replica;

    /* The snapshot is pinned, so of what it shows this is known. */
    if (after < atomic_load_explicit(&store->past_begins, memory_order_acquire))
        return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                        "the database is another one than the watch began with, or was restored to another past: what "
                        "changed between them can not be told");
    return replica->methods->changes(replica, snapshot, after, through, test, arena, changes, error);
}

static bool pg_keeps(lic_store *base, const lic_snapshot *snapshot, uint64_t after)
{
    lic_store *replica = lic_pg_store_of(base)->replica;

    return replica->methods->keeps(replica, snapshot, after);
}

static licet_status pg_watchable(lic_store *base, licet_error **error)
{
    if (!lic_pg_fetches_all(lic_pg_store_of(base)))
        return LICET_OK;
    return lic_fail(
        error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE,
        "changes are told by an engine that follows the database: this one fetches what each request needs");
}

static void pg_measure(lic_store *base, licet_stats *stats)
{
    lic_pg_store    *store = lic_pg_store_of(base);
    lic_pg_follower *f     = &store->follower;
    const uint64_t   until = atomic_load_explicit(&base->fresh_until_ms, memory_order_acquire);
    const uint64_t   now   = lic_boot_ms();
    lic_pg_identity  identity;

    stats->mode       = lic_pg_fetches_all(store) ? LICET_MODE_PREFETCH : LICET_MODE_FOLLOW;
    stats->is_ready   = now < until || (stats->mode == LICET_MODE_PREFETCH && lic_pg_follow_identity(store, &identity));
    stats->prefetches = atomic_load_explicit(&store->prefetches, memory_order_relaxed);
    if (until != 0 && now + store->limits.max_staleness_ms > until)
        stats->staleness_ms = now + store->limits.max_staleness_ms - until;
    stats->round_trips = lic_pg_pool_round_trips(store->pool) + lic_pg_standby_round_trips(&store->standby);
    lic_mutex_lock(&f->lock);
    stats->is_connected = f->phase == LIC_PG_FOLLOWING && f->link != NULL;
    if (stats->is_connected) {
        stats->is_encrypted = lic_pg_link_server(f->link)->is_encrypted;
        stats->is_verified  = lic_pg_link_server(f->link)->is_verified;
        stats->round_trips += lic_pg_link_round_trips(f->link);
    }
    stats->round_trips += f->past_round_trips;
    stats->catch_ups        = f->catch_ups;
    stats->shared_catch_ups = f->shared;
    stats->loads            = f->loads;
    stats->reconnects       = f->reconnects;
    lic_mutex_unlock(&f->lock);
}

/* ----------------------------------------------------------------------- forks */

static void pg_before_fork(lic_store *base)
{
    lic_pg_store *store = lic_pg_store_of(base);

    lic_mutex_lock(&store->schema_lock);
    lic_pg_follow_before_fork(store);
    lic_pg_pool_before_fork(store->pool);
    lic_pg_standby_before_fork(&store->standby);
    lic_pg_marks_before_fork(&store->marks);
}

static void pg_after_fork_parent(lic_store *base)
{
    lic_pg_store *store = lic_pg_store_of(base);

    lic_pg_marks_after_fork_parent(&store->marks);
    lic_pg_standby_after_fork_parent(&store->standby);
    lic_pg_pool_after_fork_parent(store->pool);
    lic_pg_follow_after_fork_parent(store);
    lic_mutex_unlock(&store->schema_lock);
}

static void pg_after_fork_child(lic_store *base)
{
    lic_pg_store *store = lic_pg_store_of(base);

    lic_pg_bell_after_fork_child(&store->bell);
    lic_pg_marks_after_fork_child(&store->marks, lic_graph_head(store->host.graph));
    lic_pg_standby_after_fork_child(&store->standby);
    lic_pg_pool_after_fork_child(store->pool);
    lic_pg_follow_after_fork_child(store);
    lic_mutex_unlock(&store->schema_lock);
    store->replica->methods->after_fork_child(store->replica);
}

/* -------------------------------------------------------------- beginning, end */

static void pg_stop(lic_store *base)
{
    lic_pg_store *store = lic_pg_store_of(base);

    lic_pg_bell_ring(&store->bell);
    lic_pg_pool_stop(store->pool); /* first: the follower's thread may be waiting for a connection of it */
    lic_pg_follow_stop(store);
    lic_pg_standby_stop(&store->standby);
}

static void pg_free(lic_store *base)
{
    lic_pg_store *store  = lic_pg_store_of(base);
    lic_memory   *memory = store->host.memory;

    if (store->pool != NULL && store->follower.made)
        pg_stop(base);
    lic_pg_follower_free(store);
    lic_pg_standby_free(&store->standby);
    lic_pg_pool_free(store->pool);
    lic_pg_marks_free(&store->marks);
    if (store->replica != NULL)
        store->replica->methods->free(store->replica);
    if (store->has_schema_lock)
        lic_mutex_destroy(&store->schema_lock);
    lic_pg_conninfo_free(store->conninfo);
    lic_pg_bell_free(&store->bell);
    lic_arena_free(&store->arena);
    lic_free(memory, store, sizeof *store);
}

static const lic_store_methods methods = {
    .pin               = lic_pg_pin,
    .pin_at            = lic_pg_pin_at,
    .token             = lic_pg_token,
    .exact_token       = lic_pg_exact_token,
    .await             = pg_await,
    .apply             = lic_pg_apply,
    .erase             = lic_pg_erase,
    .replace_schema    = lic_pg_replace_schema,
    .load              = lic_pg_load,
    .read              = pg_read,
    .changes           = pg_changes,
    .pin_since         = lic_pg_pin_since,
    .difference        = lic_pg_difference,
    .watchable         = pg_watchable,
    .keeps             = pg_keeps,
    .import_begin      = lic_pg_import_begin,
    .import_add        = lic_pg_import_add,
    .import_commit     = lic_pg_import_commit,
    .import_end        = lic_pg_import_end,
    .import_open       = lic_pg_import_open,
    .import_find       = lic_pg_import_find,
    .import_forget     = lic_pg_import_forget,
    .collect           = lic_pg_collect,
    .measure           = pg_measure,
    .before_fork       = pg_before_fork,
    .after_fork_parent = pg_after_fork_parent,
    .after_fork_child  = pg_after_fork_child,
    .stop              = pg_stop,
    .free              = pg_free,
};

bool lic_postgres_uri_is(licet_str uri)
{
    return lic_pg_conninfo_is(uri);
}

/* What we have given up on must not go on waiting for a lock. */
static uint32_t server_timeout_ms(const licet_options *options)
{
    const uint32_t ours =
        options->write_timeout_ms > options->wait_timeout_ms ? options->write_timeout_ms : options->wait_timeout_ms;

    return ours + SERVER_MS_MORE;
}

static licet_status store_fill(lic_pg_store *store, licet_str uri, const licet_options *options, licet_error **error)
{
    lic_memory    *memory = store->host.memory;
    lic_str        schema;
    lic_store_host inside = store->host;
    licet_status   status;

    status = lic_pg_schema_option(options, &schema, error);
    if (status != LICET_OK)
        return status;
    status = lic_pg_conninfo_read(memory, uri, options->require_tls, &store->conninfo, error);
    if (status != LICET_OK)
        return status;
    inside.committed  = NULL; /* we tell, once we know what it is */
    store->replica    = lic_memory_store_new(&inside);
    store->limits     = (lic_pg_limits){ options->poll_interval_ms, options->max_staleness_ms, options->wait_timeout_ms,
                                         options->write_timeout_ms, options->gc_window_ms };
    store->mode       = options->mode;
    store->settings   = (lic_pg_settings){ .schema               = lic_arena_str(&store->arena, schema),
                                           .statement_timeout_ms = 0,
                                           .generic_plans        = true };
    store->statements = lic_pg_statements_new(&store->arena, schema);
    store->fetches    = lic_pg_fetches_new(&store->arena, schema);
    if (store->replica == NULL || !lic_str_given(store->settings.schema) || store->statements == NULL ||
        store->fetches == NULL)
        return lic_fail_memory(error);
    if (!lic_pg_bell_init(&store->bell))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the process has no descriptors left");
    store->has_schema_lock = lic_mutex_init(&store->schema_lock);
    if (!lic_pg_marks_init(&store->marks, memory) || !lic_pg_follower_init(&store->follower) || !store->has_schema_lock)
        return lic_fail_memory(error);
    store->pool_settings                      = store->settings;
    store->pool_settings.statement_timeout_ms = server_timeout_ms(options);
    store->pool_settings.by_index             = true;
    store->pool =
        lic_pg_pool_new(memory, store->conninfo, &store->pool_settings, options->max_connections, &store->bell);
    return store->pool != NULL ? lic_pg_standby_init(store, options, error) : lic_fail_memory(error);
}

licet_status lic_postgres_store_new(const lic_store_host *host, licet_str uri, const licet_options *options,
                                    lic_store **store, licet_error **error)
{
    lic_pg_store *made = lic_alloc_zero(host->memory, sizeof *made);
    licet_status  status;

    *store = NULL;
    if (made == NULL)
        return lic_fail_memory(error);
    made->base = (lic_store){ &methods, 0, LIC_STORE_CLOCK_NOT_KNOWN };
    made->host = *host;
    made->bell = (lic_pg_bell){ .read_end = -1, .write_end = -1 };
    lic_arena_init(&made->arena, host->memory);
    lic_arena_init(&made->follower.standing.arena, host->memory);
    status = store_fill(made, uri, options, error);
    if (status == LICET_OK)
        *store = &made->base;
    else
        pg_free(&made->base);
    return status;
}
