/* What a consistency asks for: a revision of the graph that follows, waited for if need be, or a part that is fetched. */
#include "base/clock.h"
#include "datastore/postgres/state.h"

static licet_status fail_would_block(licet_error **error)
{
    return lic_fail_reason(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "WOULD_BLOCK", LIC_NOWHERE,
                           "the answer needs the database, and the call must not wait");
}

static licet_status fail_not_reached(licet_error **error)
{
    return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the token names a revision that the database has not reached");
}

static licet_status fail_other(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database is being replaced by another one, or has another past than before");
}

static bool is_fresh(const lic_pg_store *store)
{
    return lic_boot_ms() < atomic_load_explicit(&store->base.fresh_until_ms, memory_order_acquire);
}

/* Is the database still the one that a token was read or made by? */
static bool is_identity(lic_pg_store *store, const lic_pg_identity *identity)
{
    lic_pg_identity now;

    return lic_pg_follow_identity(store, &now) && now.timeline == identity->timeline &&
           memcmp(now.mark, identity->mark, sizeof now.mark) == 0;
}

/* --------------------------------------------------------------------- tokens */

/* One pin on its way. */
typedef struct pinning {
    lic_pg_store            *store;
    const licet_consistency *consistency;
    const lic_need          *need;
    uint64_t                 until_ms;
    lic_arena                arena;
    lic_pg_identity          identity; /* by which the token was read */
    lic_pg_snapshot          wanted;   /* what it names */
    bool                     exact;
    licet_error            **error;
} pinning;

/* What the database is now. */
static licet_status learn_identity(pinning *p)
{
    lic_pg_store *store = p->store;
    licet_status  status;

    if (p->consistency->no_wait)
        return fail_would_block(p->error);
    status = lic_pg_fetches_all(store) ? lic_pg_learn_schema(store, p->until_ms, p->error)
                                       : lic_pg_catch_up(store, p->until_ms, p->error);
    if (status == LICET_OK && !lic_pg_follow_identity(store, &p->identity))
        status = fail_other(p->error);
    return status;
}

/* A token can be read only when it is known what the database is. One that another process had of a server that took the
 * primary's place may come before anything else tells of that; so before such a one is refused, the server is asked. */
static licet_status read_token(pinning *p)
{
    const lic_str token  = p->consistency->token;
    licet_status  status = LICET_OK;

    if (!lic_pg_follow_identity(p->store, &p->identity) || lic_pg_token_is_foreign(&p->identity, token))
        status = learn_identity(p);
    if (status != LICET_OK)
        return status;
    return lic_pg_token_read(&p->identity, &p->arena, token, &p->wanted, &p->exact, p->error);
}

static licet_status require_exact(const pinning *p)
{
    if (p->exact)
        return LICET_OK;
    return lic_fail(p->error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the token is of a moment with too many open transactions: it says \"at least\" only");
}

typedef licet_status (*marks_tell)(lic_pg_marks *marks, uint64_t revision, lic_arena *arena, lic_pg_snapshot *snapshot,
                                   licet_error **error);

static void make_token(lic_pg_store *store, uint64_t revision, marks_tell tell, licet_token *token)
{
    lic_pg_identity identity;
    lic_pg_snapshot snapshot;
    lic_arena       arena;

    *token = (licet_token){ { 0 } };
    lic_arena_init(&arena, store->host.memory);
    if (lic_pg_follow_identity(store, &identity) &&
        tell(&store->marks, revision, &arena, &snapshot, NULL) == LICET_OK && is_identity(store, &identity))
        (void)lic_pg_token_make(&identity, &snapshot, token);
    lic_arena_free(&arena);
}

void lic_pg_token(lic_store *base, uint64_t revision, licet_token *token)
{
    make_token(lic_pg_store_of(base), revision, lic_pg_marks_snapshot, token);
}

void lic_pg_exact_token(lic_store *base, uint64_t revision, licet_token *token)
{
    make_token(lic_pg_store_of(base), revision, lic_pg_marks_exact, token);
}

/* ------------------------------------------------------------------ following */

/* After a catch-up that began later the graph shows all that any token of this database can name. */
static licet_status reach(const pinning *p)
{
    lic_pg_store *store = p->store;
    licet_status  status;

    if (lic_pg_marks_reach(&store->marks, &p->wanted))
        return LICET_OK;
    if (p->consistency->no_wait)
        return fail_would_block(p->error);
    status = lic_pg_catch_up(store, p->until_ms, p->error);
    if (status == LICET_OK && !lic_pg_marks_reach(&store->marks, &p->wanted))
        status = fail_not_reached(p->error);
    return status;
}

/* One that this process has never had is asked of the database. */
static licet_status pin_exactly(pinning *p, lic_snapshot *snapshot)
{
    lic_pg_store *store  = p->store;
    licet_status  status = require_exact(p);
    uint64_t      revision;

    if (status != LICET_OK)
        return status;
    if (lic_pg_marks_find(&store->marks, &p->wanted, &revision) &&
        lic_snapshot_pin_at(store->host.graph, revision, snapshot) == LIC_PIN_OK)
        return LICET_OK;
    if (p->consistency->no_wait)
        return fail_would_block(p->error);
    return lic_pg_fetch(store, p->need, &p->wanted, p->until_ms, &p->arena, NULL, snapshot, p->error);
}

static licet_status pin_token(pinning *p, lic_snapshot *snapshot)
{
    licet_status status;

    LIC_TRY(read_token(p));
    LIC_TRY(reach(p));
    if (p->consistency->freshness == LICET_AT_EXACT_SNAPSHOT)
        LIC_TRY(pin_exactly(p, snapshot));
    else
        lic_snapshot_pin(p->store->host.graph, snapshot);
    if (is_identity(p->store, &p->identity))
        return LICET_OK;
    lic_fetched_unpin(snapshot);
    status = fail_other(p->error);
done:
    return status;
}

/* The head, once it is what is asked for. */
static licet_status pin_head(const pinning *p, lic_snapshot *snapshot)
{
    const bool   full   = p->consistency->freshness == LICET_FULLY_CONSISTENT;
    licet_status status = LICET_OK;

    if (full || !is_fresh(p->store)) {
        if (p->consistency->no_wait)
            return fail_would_block(p->error);
        status = full ? lic_pg_catch_up_with(p->store, p->need, p->until_ms, p->error)
                      : lic_pg_await_fresh(p->store, p->until_ms, p->error);
    }
    if (status == LICET_OK)
        lic_snapshot_pin(p->store->host.graph, snapshot);
    return status;
}

/* -------------------------------------------------------------------- watching */

/* Is everything known here that was committed after it? */
static bool pin_known(const pinning *p, lic_snapshot *snapshot)
{
    lic_store *base = &p->store->base;
    uint64_t   revision;

    if (!lic_pg_marks_find(&p->store->marks, &p->wanted, &revision) ||
        lic_snapshot_pin_at(p->store->host.graph, revision, snapshot) != LIC_PIN_OK)
        return false;
    if (base->methods->keeps(base, snapshot, revision))
        return true;
    lic_snapshot_unpin(snapshot);
    return false;
}

/* The head is caught up with: by that the follower has met the server that others ask now. */
static licet_status pin_since(pinning *p, lic_snapshot *snapshot, bool *is_there)
{
    licet_status status;

    LIC_TRY(read_token(p));
    LIC_TRY(require_exact(p));
    LIC_TRY(reach(p));
    *is_there = pin_known(p, snapshot);
    if (!*is_there) {
        LIC_TRY(lic_pg_catch_up(p->store, p->until_ms, p->error));
        lic_snapshot_pin(p->store->host.graph, snapshot);
    }
    if (is_identity(p->store, &p->identity))
        return LICET_OK;
    lic_snapshot_unpin(snapshot);
    status = fail_other(p->error);
done:
    return status;
}

licet_status lic_pg_pin_since(lic_store *base, lic_str since, lic_snapshot *snapshot, bool *is_there,
                              licet_error **error)
{
    const licet_consistency exactly = { LICET_AT_EXACT_SNAPSHOT, since, false };
    lic_pg_store           *store   = lic_pg_store_of(base);
    pinning                 p       = { .store       = store,
                                        .consistency = &exactly,
                                        .until_ms    = lic_monotonic_ms() + store->limits.wait_timeout_ms,
                                        .error       = error };
    licet_status            status;

    lic_arena_init(&p.arena, store->host.memory);
    status = pin_since(&p, snapshot, is_there);
    lic_arena_free(&p.arena);
    return status;
}

/* ------------------------------------------------------------------- fetching */

/* Nothing but the schema in force is wanted. */
static licet_status pin_schema(const pinning *p, lic_snapshot *snapshot)
{
    licet_status status = lic_pg_learn_schema(p->store, p->until_ms, p->error);

    if (status == LICET_OK)
        lic_snapshot_pin(p->store->host.graph, snapshot);
    return status;
}

/* As of a snapshot, or of now, which is as fresh as can be; so all there is to see to is a token from the future. */
static licet_status fetch_there(pinning *p, const lic_pg_snapshot *at, bool has_token, lic_snapshot *snapshot)
{
    lic_pg_snapshot current;
    licet_status    status = lic_pg_fetch(p->store, p->need, at, p->until_ms, &p->arena, &current, snapshot, p->error);

    if (status != LICET_OK || !has_token || lic_pg_snapshot_dominates(&current, &p->wanted))
        return status;
    lic_fetched_unpin(snapshot);
    return fail_not_reached(p->error);
}

static licet_status pin_fetched(pinning *p, lic_snapshot *snapshot)
{
    const licet_freshness freshness = p->consistency->freshness;
    const bool            has_token = freshness == LICET_AT_LEAST_AS_FRESH || freshness == LICET_AT_EXACT_SNAPSHOT;
    licet_status          status;

    if (p->consistency->no_wait)
        return fail_would_block(p->error);
    if (has_token)
        LIC_TRY(read_token(p));
    if (freshness == LICET_AT_EXACT_SNAPSHOT) {
        LIC_TRY(require_exact(p));
        status = fetch_there(p, &p->wanted, true, snapshot);
    } else if (p->need->kind == LIC_NEED_NOTHING)
        status = pin_schema(p, snapshot);
    else if (freshness != LICET_FULLY_CONSISTENT &&
             lic_pg_standby_fetch(p->store, p->need, has_token ? &p->wanted : NULL, p->until_ms, &p->arena, snapshot))
        status = LICET_OK;
    else
        status = fetch_there(p, NULL, has_token, snapshot);
    if (status == LICET_OK && has_token && !is_identity(p->store, &p->identity)) {
        lic_fetched_unpin(snapshot);
        status = fail_other(p->error);
    }
done:
    return status;
}

/* ----------------------------------------------------------------------- both */

static licet_status pin_followed(pinning *p, lic_snapshot *snapshot)
{
    const licet_freshness freshness = p->consistency->freshness;

    return freshness == LICET_AT_LEAST_AS_FRESH || freshness == LICET_AT_EXACT_SNAPSHOT ? pin_token(p, snapshot)
                                                                                        : pin_head(p, snapshot);
}

/* A graph that turns out to be too large while somebody waits for it shows nothing: what was pinned of it does not count,
 * and no more does what was said. */
static licet_status pin_either(pinning *p, lic_snapshot *snapshot)
{
    licet_status status;

    if (!lic_pg_fetches_all(p->store)) {
        status = pin_followed(p, snapshot);
        if (!lic_pg_fetches_all(p->store))
            return status;
        if (status == LICET_OK)
            lic_fetched_unpin(snapshot);
        lic_error_forget(p->error);
    }
    return pin_fetched(p, snapshot);
}

static licet_status pin(pinning *p, lic_snapshot *snapshot)
{
    switch (p->consistency->freshness) {
    case LICET_MINIMIZE_LATENCY:
    case LICET_FULLY_CONSISTENT:
    case LICET_AT_LEAST_AS_FRESH:
    case LICET_AT_EXACT_SNAPSHOT:
        return pin_either(p, snapshot);
    }
    return lic_fail(p->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                    "consistency: %d is none of the four kinds", (int)p->consistency->freshness);
}

licet_status lic_pg_pin(lic_store *base, const licet_consistency *consistency, const lic_need *need,
                        lic_snapshot *snapshot, licet_error **error)
{
    lic_pg_store *store = lic_pg_store_of(base);
    pinning       p     = { .store       = store,
                            .consistency = consistency,
                            .need        = need,
                            .until_ms    = lic_monotonic_ms() + store->limits.wait_timeout_ms,
                            .error       = error };
    licet_status  status;

    lic_arena_init(&p.arena, store->host.memory);
    status = pin(&p, snapshot);
    lic_arena_free(&p.arena);
    return status;
}

/* What was fetched once is fetched again: numbers of nodes follow from the rows, so places in it are the same. */
licet_status lic_pg_pin_at(lic_store *base, uint64_t revision, const lic_need *need, lic_snapshot *snapshot,
                           licet_error **error)
{
    lic_pg_store   *store = lic_pg_store_of(base);
    lic_arena       arena;
    lic_pg_snapshot at;
    licet_status    status;

    if ((revision & LIC_PG_NOTED) == 0)
        return lic_revision_pin(store->host.graph, revision, snapshot, error);
    lic_arena_init(&arena, store->host.memory);
    status = lic_pg_marks_snapshot(&store->marks, revision, &arena, &at, error);
    if (status == LICET_OK)
        status = lic_pg_fetch(store, need, &at, lic_monotonic_ms() + store->limits.wait_timeout_ms, &arena, NULL,
                              snapshot, error);
    lic_arena_free(&arena);
    return status;
}
