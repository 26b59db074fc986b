/* The engine: where schema and relationships meet. It picks the revision that a request's consistency asks for, pins
 * it, finds the schema of that revision and calls the evaluator. Defines the public functions of checks, writes, reads
 * and statistics; each begins with lic_engine_enter() and ends with lic_engine_leave(), but for checks at the head,
 * whose pinned snapshot does as much (check.c).
 *
 * Law: graph, names and store are there as long as the engine's memory is, also when it is closed; what close ends is
 * that anybody may use them. */
#ifndef LIC_ENGINE_ENGINE_H
#define LIC_ENGINE_ENGINE_H

#include "base/clock.h"
#include "datastore/datastore.h"
#include "engine/feed.h"
#include "engine/gate.h"
#include "engine/token.h"
#include "eval/eval.h"

#define LIC_ENGINE_TAG UINT64_C(0x6c69636574656e67) /* "liceteng" */
#define LIC_MAX_UPDATES 1000
#define LIC_MAX_PRECONDITIONS 1000
#define LIC_MAX_PAGE 1000
#define LIC_MAX_BULK 10000

struct licet_engine {
    uint64_t         tag;
    _Atomic uint32_t references;
    lic_memory      *memory; /* held */
    lic_names       *names;
    lic_graph       *graph;
    lic_store       *store;
    lic_schemas      schemas;
    lic_eval_limits  limits;
    bool             strict;    /* licet_options.strict */
    licet_clock      clock;     /* now NULL: the system's */
    _Atomic int64_t  latest_ns; /* the latest time that the system's clock has shown */
    lic_identity     identity;
    licet_engine    *previous; /* in the registry */
    licet_engine    *next;
    bool             registered;
    lic_feed         feed; /* who waits for commits */
    lic_gate         gate;
};

/* A call in progress. */
typedef struct lic_call {
    lic_gate_lane *lane;
} lic_call;

static inline bool lic_engine_is(const licet_engine *engine)
{
    return engine != NULL && engine->tag == LIC_ENGINE_TAG;
}

/* Says why nobody may use it: MISUSE for NULL and for what is not an engine, else CLOSED. */
licet_status lic_engine_refuse(const licet_engine *engine, licet_error **error);

/* MISUSE for NULL and for what is not an engine, CLOSED for a closed one. */
licet_status lic_engine_enter(licet_engine *engine, lic_call *call, licet_error **error);

static inline void lic_engine_leave(lic_call *call)
{
    lic_gate_leave(call->lane);
}

/* Inside a call. Pins the revision that the consistency asks for, of a graph that shows at least what is needed:
 * INVALID_TOKEN, REVISION_EXPIRED, INVALID_ARGUMENT; UNAVAILABLE, DEADLINE_EXCEEDED, LIMIT_EXCEEDED where a database has
 * to be asked. */
licet_status lic_engine_pin(const licet_engine *engine, const licet_consistency *consistency, const lic_need *need,
                            lic_snapshot *snapshot, licet_error **error);

/* Is the graph's head what the consistency asks for, without a word to the store? */
static inline bool lic_engine_head_suffices(const licet_engine *engine, const licet_consistency *consistency)
{
    const uint64_t until = atomic_load_explicit(&engine->store->fresh_until_ms, memory_order_relaxed);

    if (until == LIC_STORE_ALWAYS)
        return consistency->freshness == LICET_MINIMIZE_LATENCY || consistency->freshness == LICET_FULLY_CONSISTENT;
    return consistency->freshness == LICET_MINIMIZE_LATENCY && lic_boot_ms() < until;
}

/* The head, for what goes by the schema in force: as fresh as no consistency asks for less. UNAVAILABLE. */
licet_status lic_engine_pin_newest(const licet_engine *engine, lic_snapshot *snapshot, licet_error **error);

/* The token that names a revision. Empty: it can't be told any more. */
void lic_engine_token(const licet_engine *engine, uint64_t revision, licet_token *token);
/* The same, but empty rather than that of a later revision. */
void lic_engine_exact_token(const licet_engine *engine, uint64_t revision, licet_token *token);
/* Of what a write did. */
void lic_engine_outcome_token(const licet_engine *engine, const lic_store_outcome *outcome, licet_token *token);

/* The same for an exact revision. */
licet_status lic_engine_pin_at(const licet_engine *engine, uint64_t revision, const lic_need *need,
                               lic_snapshot *snapshot, licet_error **error);
/* Ends either. */
static inline void lic_engine_unpin(lic_snapshot *snapshot)
{
    lic_fetched_unpin(snapshot);
}

/* The schema of a pinned snapshot, and its program. */
static inline const licet_schema *lic_engine_schema(const licet_engine *engine, const lic_snapshot *snapshot)
{
    const lic_fetched *fetched = snapshot->owner;

    return fetched != NULL ? fetched->schema : lic_schemas_at(&engine->schemas, snapshot->revision);
}

static inline const lic_program *lic_engine_program(const licet_engine *engine, const lic_snapshot *snapshot)
{
    return lic_engine_schema(engine, snapshot)->program;
}

/* Nanoseconds since 1970: what expirations are judged by, asked once per request. The system's clock may be put back;
 * to us it then stands still, so what has expired stays so. LIC_NO_TIME: the store has a clock that is not known. */
int64_t lic_engine_now(licet_engine *engine);

/* For what can't be judged without it: UNAVAILABLE then. */
licet_status lic_engine_instant(licet_engine *engine, lic_instant *now, licet_error **error);

int64_t lic_engine_now_of(void *engine); /* the same, as a lic_moment wants it */

/* Begins the one time of a request. The clock is the only thing of an engine that who reads may change. */
static inline void lic_engine_begin_moment(const licet_engine *engine, lic_moment *moment)
{
    moment->now     = lic_engine_now_of;
    moment->source  = (void *)engine;
    moment->is_read = false;
    moment->is_lost = false;
}

/* Of a request that has its answer: the status, or UNAVAILABLE if that hangs on a time which is not known. */
licet_status lic_engine_end_moment(const lic_moment *moment, licet_status status, licet_error **error);

/* Puts defaults in place of 0: INVALID_ARGUMENT (kind config). */
licet_status lic_options_check(licet_options *options, licet_error **error);

/* For records from outside: MISUSE, saying which one is NULL or of a size that this version does not know. */
licet_status lic_fail_record(licet_error **error, const char *name);
/* A record is known when its size is that of the one version there has been. */
#define LIC_RECORD_KNOWN(record) ((record) != NULL && (record)->size == sizeof *(record))

/* Every public function's first act: no error yet. */
static inline void lic_error_begin(licet_error **error)
{
    if (error != NULL)
        *error = NULL;
}

#endif
