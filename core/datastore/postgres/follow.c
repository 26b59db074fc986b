/* Who asks, who waits, and the thread that does both when nobody else does. */
#include "datastore/postgres/follow.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "datastore/postgres/standing.h"

#define CONNECT_MS 10000u /* for a connection and what is looked at first */
#define FIRST_PAUSE_MS 50u
#define LAST_PAUSE_MS 5000u
#define FOREVER_MS UINT64_C(3600000)
#define COLLECT_MS UINT64_C(150000) /* and at random as much as that more, so that processes spread */
#define COLLECT_MORE_MS UINT64_C(60000)

static void wake(lic_pg_follower *f)
{
    if (f->waiting > 0)
        lic_waiters_wake(&f->changed);
}

bool lic_pg_follower_init(lic_pg_follower *follower)
{
    if (!lic_mutex_init(&follower->lock))
        return false;
    if (lic_waiters_init(&follower->changed)) {
        if (lic_waiters_init(&follower->work)) {
            follower->made = true;
            return true;
        }
        lic_waiters_destroy(&follower->changed);
    }
    lic_mutex_destroy(&follower->lock);
    return false;
}

void lic_pg_follower_free(lic_pg_store *store)
{
    lic_pg_follower *f = &store->follower;

    if (!f->made)
        return;
    lic_pg_link_close(f->link);
    licet_error_free(f->problem);
    lic_pg_standing_free(store);
    lic_waiters_destroy(&f->work);
    lic_waiters_destroy(&f->changed);
    lic_mutex_destroy(&f->lock);
    f->made = false;
}

/* -------------------------------------------------------------- under the lock */

static void set_problem(lic_pg_follower *f, licet_error *problem)
{
    licet_error_free(f->problem);
    f->problem = problem;
}

static bool is_hopeless(const licet_error *problem)
{
    const licet_status status = licet_error_status(problem);

    return status == LICET_INVALID_ARGUMENT || status == LICET_OUT_OF_MEMORY || status == LICET_UNSUPPORTED;
}

/* The link is no good any more, or what came over it was not: the thread starts again. Takes the problem. What does not
 * fit into memory is fetched from now on, if that is left to us: trying again and again would take memory and the
 * database's time from those requests. */
static void fall_back(lic_pg_store *store, licet_error *problem)
{
    lic_pg_follower *f = &store->follower;

    if (store->mode == LICET_MODE_AUTO && licet_error_status(problem) == LICET_OUT_OF_MEMORY)
        atomic_store_explicit(&store->is_too_large, true, memory_order_relaxed);
    set_problem(f, problem);
    f->phase = is_hopeless(problem) ? LIC_PG_BROKEN : LIC_PG_CONNECTING;
    lic_waiters_wake(&f->work);
    wake(f);
}

/* What the query sent then confirmed. */
static void confirm(lic_pg_store *store, uint64_t number)
{
    lic_pg_follower *f = &store->follower;

    f->applied = number;
    set_problem(f, NULL);
    atomic_store_explicit(&store->base.fresh_until_ms, f->sent_boot_ms + store->limits.max_staleness_ms,
                          memory_order_release);
}

/* ----------------------------------------------------------------- one catch-up */

static bool is_busy(const lic_pg_link *link)
{
    return !lic_pg_link_lost(link) && !lic_pg_link_is_idle(link);
}

/* The end of who had the query in flight. Under the lock. A copy of *error stays as the problem. */
static void finish(lic_pg_store *store, licet_status status, bool too_much, licet_error *const *error)
{
    lic_pg_follower *f = &store->follower;

    if ((status == LICET_DEADLINE_EXCEEDED || status == LICET_CLOSED) && is_busy(f->link)) {
        f->orphaned = true;
        lic_waiters_wake(&f->work);
        return;
    }
    f->in_flight = false;
    f->orphaned  = false;
    f->catch_ups++;
    if (status == LICET_OK && !too_much)
        confirm(store, f->begun);
    else if (status == LICET_OK) {
        f->standing.is_loaded = false;
        fall_back(store, NULL);
    } else
        fall_back(store, lic_error_copy(*error));
    wake(f);
}

/* Sends a query and waits for its answer; the lock is let go of meanwhile. Others are told why it failed, too, even if
 * the caller doesn't want to know. need: NULL, or may have something to do in that time. */
static licet_status ask_and_take(lic_pg_store *store, const lic_need *need, uint64_t until_ms, licet_error **error)
{
    lic_pg_follower  *f        = &store->follower;
    const lic_pg_wait wait     = lic_pg_store_wait(store, until_ms);
    licet_error      *problem  = NULL;
    bool              too_much = false;
    licet_status      status;

    f->in_flight = true;
    f->begun++;
    f->sent_ms      = lic_monotonic_ms();
    f->sent_boot_ms = lic_boot_ms();
    lic_mutex_unlock(&f->lock);
    status = lic_pg_ask(store, f->link, wait, &problem);
    if (status == LICET_OK && need != NULL && need->meanwhile != NULL)
        need->meanwhile(need->context);
    if (status == LICET_OK)
        status = lic_pg_take_answer(store, f->link, wait, &too_much, &problem);
    lic_mutex_lock(&f->lock);
    finish(store, status, too_much, &problem);
    if (error != NULL && *error == NULL)
        *error = problem;
    else
        licet_error_free(problem);
    return status;
}

/* -------------------------------------------------------------------- callers */

static licet_status fail_closed(licet_error **error)
{
    return lic_fail(error, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "the engine is closed");
}

/* Under the lock. */
static licet_status fail_not_following(const lic_pg_follower *f, licet_error **error)
{
    if (f->problem != NULL) {
        if (error != NULL && *error == NULL)
            *error = lic_error_copy(f->problem);
        return licet_error_status(f->problem);
    }
    if (f->phase == LIC_PG_FOLLOWING)
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "the database did not answer in time");
    return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                    f->standing.is_loaded ? "not connected to the database yet"
                                          : "the relationships are still being loaded from the database");
}

static void thread_main(void *store);

licet_status lic_pg_follow_begin(lic_pg_store *store, licet_error **error)
{
    lic_pg_follower *f      = &store->follower;
    licet_status     status = LICET_OK;

    lic_mutex_lock(&f->lock);
    if (!f->has_thread && !f->stopping) {
        f->phase      = LIC_PG_CONNECTING;
        f->has_thread = lic_thread_start(&f->thread, "licet-follow", thread_main, store);
        if (!f->has_thread)
            status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                              "no thread can be had to follow the database");
    }
    lic_mutex_unlock(&f->lock);
    return status;
}

/* Under the lock. Until something has changed, or false: it is over, with the status. */
static bool wait_for_change(lic_pg_store *store, uint64_t until_ms, licet_status *status, licet_error **error)
{
    lic_pg_follower *f = &store->follower;

    if (f->stopping)
        *status = fail_closed(error);
    else if (f->phase == LIC_PG_BROKEN || lic_monotonic_ms() >= until_ms)
        *status = fail_not_following(f, error);
    else {
        f->waiting++;
        lic_waiters_wait(&f->changed, &f->lock, until_ms);
        f->waiting--;
        return true;
    }
    return false;
}

/* Under the lock. Until a query with this number or a higher one was applied. */
static licet_status await_number(lic_pg_store *store, uint64_t number, const lic_need *need, uint64_t until_ms,
                                 licet_error **error)
{
    lic_pg_follower *f      = &store->follower;
    licet_status     status = LICET_OK;
    bool             shares = f->in_flight;

    while (f->applied < number) {
        if (f->phase == LIC_PG_FOLLOWING && !f->in_flight && !f->stopping) {
            shares = false;
            status = ask_and_take(store, need, until_ms, error);
            need   = NULL;
            if (status != LICET_OK && f->phase != LIC_PG_CONNECTING)
                return status;
            if (status != LICET_OK && error != NULL) {
                licet_error_free(*error);
                *error = NULL;
            }
        } else if (!wait_for_change(store, until_ms, &status, error))
            return status;
    }
    f->shared += shares;
    return LICET_OK;
}

/* Of a store that has fallen back to fetching meanwhile nothing but the schema has to be known. */
static licet_status or_learn(lic_pg_store *store, licet_status status, uint64_t until_ms, licet_error **error)
{
    if (status == LICET_OK || !lic_pg_fetches_all(store))
        return status;
    lic_error_forget(error);
    return lic_pg_learn_schema(store, until_ms, error);
}

licet_status lic_pg_catch_up(lic_pg_store *store, uint64_t until_ms, licet_error **error)
{
    return lic_pg_catch_up_with(store, NULL, until_ms, error);
}

licet_status lic_pg_catch_up_with(lic_pg_store *store, const lic_need *need, uint64_t until_ms, licet_error **error)
{
    lic_pg_follower *f = &store->follower;
    licet_status     status;

    if (lic_pg_fetches_all(store))
        return lic_pg_learn_schema(store, until_ms, error);
    status = lic_pg_follow_begin(store, error);

    if (status != LICET_OK)
        return status;
    lic_mutex_lock(&f->lock);
    status = await_number(store, f->begun + 1, need, until_ms, error);
    lic_mutex_unlock(&f->lock);
    return or_learn(store, status, until_ms, error);
}

static bool is_fresh(const lic_pg_store *store)
{
    return lic_boot_ms() < atomic_load_explicit(&store->base.fresh_until_ms, memory_order_acquire);
}

licet_status lic_pg_await_fresh(lic_pg_store *store, uint64_t until_ms, licet_error **error)
{
    lic_pg_follower *f = &store->follower;
    licet_status     status;

    if (lic_pg_fetches_all(store))
        return lic_pg_learn_schema(store, until_ms, error);
    status = lic_pg_follow_begin(store, error);

    if (status != LICET_OK)
        return status;
    lic_mutex_lock(&f->lock);
    while (status == LICET_OK && !is_fresh(store))
        status = await_number(store, f->applied + 1, NULL, until_ms, error);
    lic_mutex_unlock(&f->lock);
    return or_learn(store, status, until_ms, error);
}

bool lic_pg_basis_of(lic_pg_store *store, const licet_schema *schema, lic_pg_basis *basis)
{
    lic_pg_follower *f = &store->follower;
    uint64_t         version;
    bool             known;

    lic_mutex_lock(&f->lock);
    known           = f->standing.schema == schema && f->standing.is_identified;
    version         = f->standing.schema_version;
    basis->identity = f->standing.identity;
    lic_mutex_unlock(&f->lock);
    snprintf(basis->version, sizeof basis->version, "%llu", (unsigned long long)version);
    snprintf(basis->timeline, sizeof basis->timeline, "%08X", (unsigned)basis->identity.timeline);
    return known;
}

bool lic_pg_follow_identity(lic_pg_store *store, lic_pg_identity *identity)
{
    lic_pg_follower *f = &store->follower;
    bool             known;

    lic_mutex_lock(&f->lock);
    known     = f->standing.is_identified;
    *identity = f->standing.identity;
    lic_mutex_unlock(&f->lock);
    return known;
}

bool lic_pg_follow_is_server(lic_pg_store *store, const lic_pg_server *server)
{
    lic_pg_follower *f = &store->follower;
    bool             same;

    lic_mutex_lock(&f->lock);
    same = f->standing.is_identified && f->standing.server.timeline == server->timeline &&
           f->standing.server.started_at_us == server->started_at_us &&
           f->standing.server.crashed_at_us == server->crashed_at_us;
    lic_mutex_unlock(&f->lock);
    return same;
}

/* ----------------------------------------------------------------- the thread */

/* Not under the lock. A load takes its time: the child of a fork has to know the link meanwhile. */
static licet_status connect(lic_pg_store *store, licet_error **error)
{
    const lic_pg_wait wait = lic_pg_store_wait(store, lic_monotonic_ms() + CONNECT_MS);
    lic_pg_follower  *f    = &store->follower;
    lic_pg_link      *link = NULL;
    licet_status status = lic_pg_link_open(store->host.memory, store->conninfo, &store->settings, wait, &link, error);

    if (status != LICET_OK)
        return status;
    lic_mutex_lock(&f->lock);
    f->link = link;
    lic_mutex_unlock(&f->lock);
    return lic_pg_stand(store, link, lic_pg_store_wait(store, lic_monotonic_ms() + FOREVER_MS), error);
}

/* Under the lock, which is let go of. Nobody else uses the link while the phase is another than following. */
static bool start_again(lic_pg_store *store)
{
    lic_pg_follower *f     = &store->follower;
    lic_pg_link     *old   = f->link;
    licet_error     *error = NULL;
    licet_status     status;

    f->link = NULL;
    if (old != NULL) {
        f->past_round_trips += lic_pg_link_round_trips(old);
        f->reconnects++;
    }
    f->sent_ms = lic_monotonic_ms();
    lic_mutex_unlock(&f->lock);
    lic_pg_link_close(old);
    status = connect(store, &error);
    lic_mutex_lock(&f->lock);
    if (status == LICET_OK) {
        f->phase = LIC_PG_FOLLOWING;
        set_problem(f, NULL);
        wake(f);
        return true;
    }
    lic_pg_link_close(f->link);
    f->link = NULL;
    fall_back(store, error);
    return false;
}

/* Changes that take too long would do so again, being more and more: a load takes the time that it needs. */
static licet_status take_orphan(lic_pg_store *store, licet_error **error)
{
    lic_pg_follower *f        = &store->follower;
    const uint64_t   until_ms = f->sent_ms + store->limits.max_staleness_ms;
    bool             too_much = false;
    licet_status     status;

    f->orphaned = false;
    lic_mutex_unlock(&f->lock);
    status = lic_pg_take_answer(store, f->link, lic_pg_store_wait(store, until_ms), &too_much, error);
    if (status != LICET_OK && is_busy(f->link)) {
        status = LICET_UNAVAILABLE; /* nobody waits longer for this one */
        if (f->asking == LIC_PG_ASKING_CHANGES)
            f->standing.is_loaded = false;
    }
    lic_mutex_lock(&f->lock);
    finish(store, status, too_much, error);
    return status;
}

/* Under the lock, which is let go of. In small parts, so that following does not wait; of all processes one at a time. */
static void collect(lic_pg_store *store)
{
    lic_pg_follower *f       = &store->follower;
    uint64_t         removed = 0;
    bool             is_done = true;

    if (f->collect_ms != 0) {
        lic_mutex_unlock(&f->lock);
        if (lic_pg_collect_batch(store, &removed, &is_done, NULL) != LICET_OK)
            is_done = true;
        lic_mutex_lock(&f->lock);
    }
    f->collect_ms = lic_monotonic_ms() + (is_done ? COLLECT_MS + lic_random_key() % COLLECT_MORE_MS : 0);
}

/* Under the lock. */
static void follow_on(lic_pg_store *store)
{
    lic_pg_follower *f     = &store->follower;
    const uint64_t   due   = f->sent_ms + store->limits.poll_interval_ms;
    licet_error     *error = NULL;

    if (f->orphaned)
        (void)take_orphan(store, &error);
    else if (!f->in_flight && lic_monotonic_ms() >= due)
        (void)ask_and_take(store, NULL, lic_monotonic_ms() + store->limits.max_staleness_ms, &error);
    else if (!f->in_flight && lic_monotonic_ms() >= f->collect_ms)
        collect(store);
    else
        lic_waiters_wait(&f->work, &f->lock, f->in_flight ? lic_monotonic_ms() + store->limits.poll_interval_ms : due);
    licet_error_free(error);
}

static uint64_t longer(uint64_t pause_ms)
{
    return pause_ms * 2 < LAST_PAUSE_MS ? pause_ms * 2 : LAST_PAUSE_MS;
}

/* Under the lock. Until the end, or until there is nothing to follow any more. */
static void follow(lic_pg_store *store)
{
    lic_pg_follower *f        = &store->follower;
    uint64_t         pause_ms = FIRST_PAUSE_MS;
    uint64_t         due_ms   = 0;

    while (!f->stopping && !lic_pg_fetches_all(store)) {
        if (f->phase == LIC_PG_FOLLOWING || f->in_flight)
            follow_on(store);
        else if (lic_monotonic_ms() < due_ms)
            lic_waiters_wait(&f->work, &f->lock, due_ms);
        else {
            pause_ms = start_again(store) ? FIRST_PAUSE_MS : longer(pause_ms);
            due_ms   = lic_monotonic_ms() + pause_ms;
        }
    }
}

/* Under the lock, which is let go of. Who watches looks again, and finds that nothing more will be told. */
static void give_up_following(lic_pg_store *store)
{
    lic_pg_follower *f    = &store->follower;
    lic_pg_link     *link = f->link;

    f->link = NULL;
    if (link != NULL)
        f->past_round_trips += lic_pg_link_round_trips(link);
    lic_mutex_unlock(&f->lock);
    lic_pg_link_close(link);
    lic_pg_log(store, LICET_LOG_WARNING,
               LIC_STR("the relationships do not fit into memory_limit_bytes: from now on each request fetches what it "
                       "needs"));
    if (store->host.committed != NULL)
        store->host.committed(store->host.context);
    lic_mutex_lock(&f->lock);
}

static void thread_main(void *argument)
{
    lic_pg_store    *store = argument;
    lic_pg_follower *f     = &store->follower;

    lic_mutex_lock(&f->lock);
    follow(store);
    if (!f->stopping)
        give_up_following(store);
    while (!f->stopping) {
        if (lic_monotonic_ms() >= f->collect_ms)
            collect(store);
        else
            lic_waiters_wait(&f->work, &f->lock, f->collect_ms);
    }
    lic_mutex_unlock(&f->lock);
}

/* --------------------------------------------------------------- ends and forks */

void lic_pg_follow_stop(lic_pg_store *store)
{
    lic_pg_follower *f = &store->follower;
    bool             join;

    lic_mutex_lock(&f->lock);
    f->stopping   = true;
    join          = f->has_thread;
    f->has_thread = false;
    lic_waiters_wake(&f->work);
    lic_waiters_wake(&f->changed);
    lic_mutex_unlock(&f->lock);
    if (join)
        lic_thread_join(f->thread);
}

void lic_pg_follow_before_fork(lic_pg_store *store)
{
    lic_mutex_lock(&store->follower.lock);
}

void lic_pg_follow_after_fork_parent(lic_pg_store *store)
{
    lic_mutex_unlock(&store->follower.lock);
}

/* The graph and how old it is stay; the connection and the thread are the parent's. A catch-up that was in flight may have
 * been at work on the standing, and so may the thread, unless it follows: then everything is loaded anew. */
void lic_pg_follow_after_fork_child(lic_pg_store *store)
{
    lic_pg_follower *f = &store->follower;

    /* Its memory may be in the middle of a change: leaked, once. */
    if (f->in_flight || f->phase == LIC_PG_CONNECTING || f->phase == LIC_PG_BROKEN) {
        f->standing.is_loaded = false;
        lic_arena_init(&f->standing.arena, store->host.memory);
    }
    if (f->link != NULL)
        lic_pg_link_abandon(f->link);
    f->link       = NULL;
    f->has_thread = false;
    f->in_flight  = false;
    f->orphaned   = false;
    f->waiting    = 0;
    f->phase      = f->stopping ? f->phase : LIC_PG_ASLEEP;
    set_problem(f, NULL);
    lic_mutex_unlock(&f->lock);
    (void)(lic_waiters_init(&f->changed) && lic_waiters_init(&f->work)); /* anew: those who waited are gone */
}
