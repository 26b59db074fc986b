/* Opening, closing, consistency. */
#include "engine/engine.h"

#include "datastore/memory/memory.h"
#include "engine/database.h"
#include "engine/registry.h"

licet_status lic_fail_record(licet_error **error, const char *name)
{
    return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "%s is NULL or of an unknown size", name);
}

/* ---------------------------------------------------------------- options */

#define MEMORY_URI LIC_STR("memory:")
#define MIB (UINT64_C(1) << 20)
#define HOUR_MS UINT64_C(3600000)

/* Puts the default in place of 0. */
static licet_status option_check(const char *name, uint64_t *value, uint64_t normal, uint64_t floor, uint64_t ceiling,
                                 licet_error **error)
{
    if (*value == 0)
        *value = normal;
    if (*value >= floor && *value <= ceiling)
        return LICET_OK;
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                    "option %s: expected %llu to %llu, not %llu", name, (unsigned long long)floor,
                    (unsigned long long)ceiling, (unsigned long long)*value);
}

static licet_status option32_check(const char *name, uint32_t *value, uint32_t normal, uint32_t floor, uint32_t ceiling,
                                   licet_error **error)
{
    uint64_t     wide   = *value;
    licet_status status = option_check(name, &wide, normal, floor, ceiling, error);

    *value = (uint32_t)wide;
    return status;
}

static licet_status allocator_check(const licet_allocator *allocator, licet_error **error)
{
    bool none = allocator->alloc == NULL && allocator->resize == NULL && allocator->free == NULL;
    bool all  = allocator->alloc != NULL && allocator->resize != NULL && allocator->free != NULL;

    if (none || all)
        return LICET_OK;
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                    "option allocator: all three functions or none of them must be given");
}

static licet_status mode_check(licet_mode mode, licet_error **error)
{
    if (mode == LICET_MODE_AUTO || mode == LICET_MODE_FOLLOW || mode == LICET_MODE_PREFETCH)
        return LICET_OK;
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                    "option mode: %d is none of auto, follow and prefetch", (int)mode);
}

licet_status lic_options_check(licet_options *o, licet_error **error)
{
    licet_status status;

    LIC_TRY(allocator_check(&o->allocator, error));
    LIC_TRY(option_check("memory_limit_bytes", &o->memory_limit_bytes, 256 * MIB, MIB, MIB << 20, error));
    LIC_TRY(option32_check("max_depth", &o->max_depth, 50, 1, 1000, error));
    LIC_TRY(option_check("max_steps", &o->max_steps, 1000000, 1000, 1000000000, error));
    LIC_TRY(option32_check("check_timeout_ms", &o->check_timeout_ms, 250, 1, 600000, error));
    LIC_TRY(option_check("history_window_ms", &o->history_window_ms, 24 * HOUR_MS, 1, 30 * 24 * HOUR_MS, error));
    LIC_TRY(option32_check("poll_interval_ms", &o->poll_interval_ms, 100, 10, 60000, error));
    LIC_TRY(option32_check("max_staleness_ms", &o->max_staleness_ms, 5000, 100, 600000, error));
    LIC_TRY(option32_check("wait_timeout_ms", &o->wait_timeout_ms, 2000, 10, 600000, error));
    LIC_TRY(option32_check("write_timeout_ms", &o->write_timeout_ms, 5000, 10, 600000, error));
    LIC_TRY(option32_check("max_connections", &o->max_connections, 4, 1, 64, error));
    LIC_TRY(option_check("gc_window_ms", &o->gc_window_ms, 24 * HOUR_MS, 1000, 30 * 24 * HOUR_MS, error));
    LIC_TRY(mode_check(o->mode, error));
done:
    return status;
}

/* ------------------------------------------------------------------- open */

/* Frees what is there of an engine: nobody uses it any more. It stays registered until then, closed or not, because
 * a fork must find its graph still. */
static void engine_free(licet_engine *engine)
{
    lic_memory *memory = engine->memory;

    lic_registry_remove(engine);
    engine->tag = 0;
    if (engine->store != NULL)
        engine->store->methods->free(engine->store);
    lic_graph_free(engine->graph);
    lic_schemas_free(&engine->schemas);
    lic_feed_free(&engine->feed);
    lic_names_free(engine->names);
    lic_free(memory, engine, sizeof *engine);
    lic_memory_release(memory);
}

/* The schema before any was written: it knows no definition. */
static licet_status add_empty_schema(licet_engine *engine, licet_error **error)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_status         status;

    request.text = LIC_STR("");
    status       = lic_schema_new(engine->memory, engine->names, &request, &schema, error);
    if (status == LICET_OK && !lic_schemas_add(&engine->schemas, 0, &schema))
        status = lic_fail_memory(error);
    licet_schema_release(schema);
    return status;
}

/* Revision 1 is the empty store: 0 is left to say that there is no revision. */
static licet_status begin_history(licet_engine *engine, licet_error **error)
{
    uint64_t revision;
    bool     done;

    lic_graph_lock(engine->graph);
    done = lic_graph_apply(engine->graph, NULL, 0, &revision);
    lic_graph_unlock(engine->graph);
    return done ? LICET_OK : lic_fail_memory(error);
}

static void tell_feed(void *engine)
{
    lic_feed_tell(&((licet_engine *)engine)->feed);
}

static licet_status open_store(licet_engine *engine, licet_str uri, const licet_options *options, licet_error **error)
{
    const lic_store_host host = { .memory    = engine->memory,
                                  .names     = engine->names,
                                  .graph     = engine->graph,
                                  .schemas   = &engine->schemas,
                                  .strict    = engine->strict,
                                  .limits    = &engine->limits,
                                  .committed = tell_feed,
                                  .context   = engine,
                                  .log       = options->log };

    if (lic_str_equal(uri, MEMORY_URI)) {
        engine->store = lic_memory_store_new(&host);
        return engine->store != NULL ? LICET_OK : lic_fail_memory(error);
    }
    return lic_database_open(&host, uri, options, &engine->store, error);
}

static licet_status engine_fill(licet_engine *engine, licet_str uri, const licet_options *options, licet_error **error)
{
    const lic_graph_options graph_options = { .history_window_ms = options->history_window_ms,
                                              .release_payload   = lic_attribute_release_payload };
    licet_status            status;

    engine->limits = (lic_eval_limits){ options->max_depth, options->max_steps, options->check_timeout_ms };
    engine->strict = options->strict;
    engine->clock  = options->clock;
    if (!lic_feed_init(&engine->feed))
        return lic_fail_memory(error);
    engine->names = lic_names_new(engine->memory);
    if (engine->names == NULL)
        return lic_fail_memory(error);
    engine->graph = lic_graph_new(engine->memory, engine->names, &graph_options);
    if (engine->graph == NULL)
        return lic_fail_memory(error);
    if (!lic_identity_init(&engine->identity))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the system gives no random numbers");
    LIC_TRY(add_empty_schema(engine, error));
    LIC_TRY(begin_history(engine, error));
    LIC_TRY(open_store(engine, uri, options, error));
done:
    return status;
}

/* A URI may hold a password, so none is ever repeated in a message. */
licet_status licet_open(licet_str uri, const licet_options *options, licet_engine **engine, licet_error **error)
{
    licet_options checked = LICET_OPTIONS_INIT;
    lic_memory   *memory;
    licet_engine *made;
    licet_status  status;

    lic_error_begin(error);
    if (engine == NULL)
        return lic_fail_record(error, "engine");
    *engine = NULL;
    if (options != NULL && !LIC_RECORD_KNOWN(options))
        return lic_fail_record(error, "options");
    if (options != NULL)
        checked = *options;
    if (!lic_str_given(uri) || (!lic_str_equal(uri, MEMORY_URI) && !lic_database_is(uri)))
        return lic_fail(
            error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
            "expected the URI \"memory:\", or one of Postgres (\"postgresql://...\", \"host=... dbname=...\")");
    status = lic_options_check(&checked, error);
    if (status != LICET_OK)
        return status;
    memory = lic_memory_new(&checked.allocator, (size_t)checked.memory_limit_bytes);
    if (memory == NULL)
        return lic_fail_memory(error);
    made = lic_alloc_zero(memory, sizeof *made);
    if (made == NULL) {
        lic_memory_release(memory);
        return lic_fail_memory(error);
    }
    made->memory = memory;
    made->tag    = LIC_ENGINE_TAG;
    atomic_init(&made->references, 1);
    lic_schemas_init(&made->schemas, memory);
    status = engine_fill(made, uri, &checked, error);
    if (status == LICET_OK && !lic_registry_add(made))
        status = lic_fail_memory(error);
    if (status == LICET_OK)
        *engine = made;
    else
        engine_free(made);
    return status;
}

/* ------------------------------------------------------------------ close */

void licet_close(licet_engine *engine)
{
    if (!lic_engine_is(engine))
        return;
    if (engine->store->methods->stop != NULL)
        engine->store->methods->stop(engine->store);
    lic_gate_close(&engine->gate);
    lic_feed_wake(&engine->feed);
    lic_graph_await_readers(engine->graph);
    lic_graph_stop(engine->graph);
}

void licet_engine_retain(licet_engine *engine)
{
    if (lic_engine_is(engine))
        atomic_fetch_add_explicit(&engine->references, 1, memory_order_relaxed);
}

void licet_engine_release(licet_engine *engine)
{
    if (!lic_engine_is(engine) || atomic_fetch_sub_explicit(&engine->references, 1, memory_order_acq_rel) != 1)
        return;
    licet_close(engine);
    engine_free(engine);
}

licet_status lic_engine_refuse(const licet_engine *engine, licet_error **error)
{
    if (!lic_engine_is(engine))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "engine is NULL or not an engine");
    return lic_fail(error, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "the engine is closed");
}

licet_status lic_engine_enter(licet_engine *engine, lic_call *call, licet_error **error)
{
    call->lane = lic_engine_is(engine) ? lic_gate_enter(&engine->gate) : NULL;
    return call->lane != NULL ? LICET_OK : lic_engine_refuse(engine, error);
}

/* ------------------------------------------------------------------- clock */

/* A store's clock goes on by the monotonic one: the host's may be set meanwhile. */
static int64_t store_now(const lic_store *store)
{
    const int64_t offset = atomic_load_explicit(&store->clock_offset_ns, memory_order_relaxed);

    if (offset == LIC_STORE_CLOCK_NOT_KNOWN)
        return LIC_NO_TIME;
    return offset == LIC_STORE_HOST_CLOCK ? lic_wall_ns() : lic_boot_ns() + offset;
}

int64_t lic_engine_now(licet_engine *engine)
{
    int64_t latest = atomic_load_explicit(&engine->latest_ns, memory_order_relaxed);
    int64_t now;

    if (engine->clock.now != NULL) {
        now = engine->clock.now(engine->clock.context);
        return now == LIC_NO_TIME ? now + 1 : now; /* whoever gives us a clock knows the time */
    }
    now = store_now(engine->store);
    if (now == LIC_NO_TIME)
        return now;
    while (now > latest && !atomic_compare_exchange_weak_explicit(&engine->latest_ns, &latest, now,
                                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return now > latest ? now : latest;
}

int64_t lic_engine_now_of(void *engine)
{
    return lic_engine_now(engine);
}

static licet_status fail_time(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's clock is not known: what expires can not be judged");
}

licet_status lic_engine_instant(licet_engine *engine, lic_instant *now, licet_error **error)
{
    const int64_t ns = lic_engine_now(engine);

    *now = lic_instant_of(ns);
    return ns == LIC_NO_TIME ? fail_time(error) : LICET_OK;
}

licet_status lic_engine_end_moment(const lic_moment *moment, licet_status status, licet_error **error)
{
    return status == LICET_OK && moment->is_lost ? fail_time(error) : status;
}

/* ------------------------------------------------------------ consistency */

licet_status lic_engine_pin_at(const licet_engine *engine, uint64_t revision, const lic_need *need,
                               lic_snapshot *snapshot, licet_error **error)
{
    if (engine->store->methods->pin_at != NULL)
        return engine->store->methods->pin_at(engine->store, revision, need, snapshot, error);
    return lic_revision_pin(engine->graph, revision, snapshot, error);
}

/* The head is at least as fresh as any token of this store: checked all the same. */
static licet_status pin_at_least(const licet_engine *engine, uint64_t revision, lic_snapshot *snapshot,
                                 licet_error **error)
{
    lic_snapshot_pin(engine->graph, snapshot);
    if (snapshot->revision >= revision)
        return LICET_OK;
    lic_snapshot_unpin(snapshot);
    return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the token names a revision that the store has not reached");
}

licet_status lic_engine_pin(const licet_engine *engine, const licet_consistency *consistency, const lic_need *need,
                            lic_snapshot *snapshot, licet_error **error)
{
    uint64_t     revision;
    licet_status status;

    if (engine->store->methods->pin != NULL)
        return engine->store->methods->pin(engine->store, consistency, need, snapshot, error);
    switch (consistency->freshness) {
    case LICET_MINIMIZE_LATENCY:
    case LICET_FULLY_CONSISTENT:
        lic_snapshot_pin(engine->graph, snapshot);
        return LICET_OK;
    case LICET_AT_LEAST_AS_FRESH:
        status = lic_token_read(&engine->identity, consistency->token, &revision, error);
        return status == LICET_OK ? pin_at_least(engine, revision, snapshot, error) : status;
    case LICET_AT_EXACT_SNAPSHOT:
        status = lic_token_read(&engine->identity, consistency->token, &revision, error);
        return status == LICET_OK ? lic_engine_pin_at(engine, revision, need, snapshot, error) : status;
    }
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                    "consistency: %d is none of the four kinds", (int)consistency->freshness);
}

licet_status lic_engine_pin_newest(const licet_engine *engine, lic_snapshot *snapshot, licet_error **error)
{
    const licet_consistency newest  = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    const lic_need          nothing = { .kind = LIC_NEED_NOTHING };

    return lic_engine_pin(engine, &newest, &nothing, snapshot, error);
}

void lic_engine_token(const licet_engine *engine, uint64_t revision, licet_token *token)
{
    if (engine->store->methods->token != NULL)
        engine->store->methods->token(engine->store, revision, token);
    else
        lic_token_make(&engine->identity, revision, token);
}

void lic_engine_exact_token(const licet_engine *engine, uint64_t revision, licet_token *token)
{
    if (engine->store->methods->exact_token != NULL)
        engine->store->methods->exact_token(engine->store, revision, token);
    else
        lic_engine_token(engine, revision, token);
}

void lic_engine_outcome_token(const licet_engine *engine, const lic_store_outcome *outcome, licet_token *token)
{
    if (engine->store->methods->token != NULL)
        *token = outcome->token;
    else
        lic_engine_token(engine, outcome->revision, token);
}

licet_status licet_await_ready(licet_engine *engine, uint32_t timeout_ms, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    if (engine->store->methods->await != NULL)
        status = engine->store->methods->await(engine->store, lic_monotonic_ms() + timeout_ms, error);
    lic_engine_leave(&call);
    return status;
}

licet_status licet_collect_garbage(licet_engine *engine, uint64_t *removed, licet_error **error)
{
    uint64_t     count = 0;
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (removed != NULL)
        *removed = 0;
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    if (engine->store->methods->collect != NULL)
        status = engine->store->methods->collect(engine->store, &count, error);
    if (status == LICET_OK && removed != NULL)
        *removed = count;
    lic_engine_leave(&call);
    return status;
}
