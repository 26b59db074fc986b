/* Opening, closing, consistency. */
#include "engine/engine.h"

#include "base/clock.h"
#include "datastore/memory/memory.h"
#include "engine/registry.h"

licet_status lic_fail_record(licet_error **error, const char *name)
{
    return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "%s is NULL or of an unknown size", name);
}

/* ---------------------------------------------------------------- options */

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

licet_status lic_options_check(licet_options *o, licet_error **error)
{
    licet_status status;

    LIC_TRY(allocator_check(&o->allocator, error));
    LIC_TRY(option_check("memory_limit_bytes", &o->memory_limit_bytes, 256 * MIB, MIB, MIB << 20, error));
    LIC_TRY(option32_check("max_depth", &o->max_depth, 50, 1, 1000, error));
    LIC_TRY(option_check("max_steps", &o->max_steps, 1000000, 1000, 1000000000, error));
    LIC_TRY(option32_check("check_timeout_ms", &o->check_timeout_ms, 250, 1, 600000, error));
    LIC_TRY(option_check("history_window_ms", &o->history_window_ms, 24 * HOUR_MS, 1, 30 * 24 * HOUR_MS, error));
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
    const lic_store_methods *methods = engine->store->methods;
    uint64_t                 revision;
    licet_status             status;

    methods->begin(engine->store, &revision);
    status = methods->apply(engine->store, NULL, 0, &revision, error);
    methods->end(engine->store);
    return status;
}

static licet_status engine_fill(licet_engine *engine, const licet_options *options, licet_error **error)
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
    engine->store = lic_memory_store_new(engine->memory, engine->graph, engine->names);
    if (engine->store == NULL)
        return lic_fail_memory(error);
    if (!lic_identity_init(&engine->identity))
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the system gives no random numbers");
    status = add_empty_schema(engine, error);
    return status == LICET_OK ? begin_history(engine, error) : status;
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
    if (!lic_str_given(uri) || !lic_str_equal(uri, LIC_STR("memory:")))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "expected the URI \"memory:\", the one store of this version");
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
    status = engine_fill(made, &checked, error);
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

int64_t lic_engine_now(licet_engine *engine)
{
    int64_t latest = atomic_load_explicit(&engine->latest_ns, memory_order_relaxed);
    int64_t now;

    if (engine->clock.now != NULL)
        return engine->clock.now(engine->clock.context);
    now = lic_wall_ns();
    while (now > latest && !atomic_compare_exchange_weak_explicit(&engine->latest_ns, &latest, now,
                                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return now > latest ? now : latest;
}

int64_t lic_engine_now_of(void *engine)
{
    return lic_engine_now(engine);
}

/* ------------------------------------------------------------ consistency */

licet_status lic_engine_pin_at(const licet_engine *engine, uint64_t revision, lic_snapshot *snapshot,
                               licet_error **error)
{
    switch (lic_snapshot_pin_at(engine->graph, revision, snapshot)) {
    case LIC_PIN_OK:
        return LICET_OK;
    case LIC_PIN_EXPIRED:
        return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                        "the revision has left the retained history");
    case LIC_PIN_FUTURE:
        break;
    }
    return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the token names a revision that the store has not reached");
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

licet_status lic_engine_pin(const licet_engine *engine, const licet_consistency *consistency, lic_snapshot *snapshot,
                            licet_error **error)
{
    uint64_t     revision;
    licet_status status;

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
        return status == LICET_OK ? lic_engine_pin_at(engine, revision, snapshot, error) : status;
    }
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                    "consistency: %d is none of the four kinds", (int)consistency->freshness);
}
