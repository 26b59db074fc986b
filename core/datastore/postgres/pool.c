/* The pool: a fixed number of places, each empty, opening, idle or lent. One thread fills them, one at a time, while
 * more callers wait than links are idle.
 *
 * An idle link that has something to read is closed and not asked what it is: nobody asked it anything, so it is the
 * server's goodbye, or settings that changed. */
#include "datastore/postgres/pool.h"

#include <assert.h>

#include "base/clock.h"
#include "base/hash.h"

#define ATTEMPT_MS 10000u /* where the connection string doesn't say */
#define PAUSE_FIRST_MS 50u
#define PAUSE_LAST_MS 5000u

typedef enum place_state { PLACE_EMPTY, PLACE_IDLE, PLACE_LENT } place_state;

typedef struct place {
    place_state  state;
    lic_pg_link *link;
    uint64_t     round_trips; /* of the link that have been counted */
    uint64_t     given_at;    /* number of the giving back: the last one is lent first */
} place;

struct lic_pg_pool {
    lic_memory            *memory;
    const lic_pg_conninfo *conninfo;
    const lic_pg_settings *settings;
    const lic_pg_bell     *bell;

    lic_mutex    lock;    /* of what follows */
    lic_waiters  changed; /* callers wait for this */
    lic_waiters  work;    /* the thread does */
    pthread_t    thread;
    bool         has_thread;
    bool         stopping;
    uint32_t     generation;
    uint32_t     waiting;  /* callers */
    uint64_t     begun;    /* attempts to connect */
    uint64_t     failed;   /* the last one of them that did; 0: none has */
    licet_error *problem;  /* why; held. NULL: the last attempt went well, or there was none */
    uint32_t     pause_ms; /* before the next attempt; 0: none */
    uint64_t     retry_at_ms;
    uint64_t     round_trips;
    uint64_t     gifts;
    uint32_t     most;
    place        places[];
};

/* ------------------------------------------------------------ places */

/* The index of one in this state, of idle ones that which was used last; most: there is none. */
static uint32_t find_place(const lic_pg_pool *pool, place_state state)
{
    uint32_t found = pool->most;

    for (uint32_t i = 0; i < pool->most; i++)
        if (pool->places[i].state == state &&
            (found == pool->most || pool->places[i].given_at > pool->places[found].given_at))
            found = i;
    return found;
}

static uint32_t count_places(const lic_pg_pool *pool, place_state state)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < pool->most; i++)
        count += pool->places[i].state == state;
    return count;
}

static void count_round_trips(lic_pg_pool *pool, place *p)
{
    const uint64_t now = lic_pg_link_round_trips(p->link);

    pool->round_trips += now - p->round_trips;
    p->round_trips = now;
}

/* Closing says goodbye, which doesn't wait: done under the lock. */
static void empty_place(place *p)
{
    lic_pg_link_close(p->link);
    *p = (place){ .state = PLACE_EMPTY };
}

/* Still connected, and nothing has come that nobody asked for? */
static bool is_usable(lic_pg_link *link)
{
    lic_pg_waiting look = { .wait = { 0, NULL } };

    return lic_pg_link_is_idle(link) && lic_pg_wait_for(&look, lic_pg_link_descriptor(link), false) == LIC_PG_TOO_LATE;
}

static lic_pg_link *lend(lic_pg_pool *pool)
{
    uint32_t i;

    while ((i = find_place(pool, PLACE_IDLE)) < pool->most) {
        place *p = &pool->places[i];

        if (is_usable(p->link)) {
            p->state = PLACE_LENT;
            return p->link;
        }
        empty_place(p);
    }
    return NULL;
}

/* ------------------------------------------------------------ the thread */

static bool needs_link(const lic_pg_pool *pool)
{
    return pool->waiting > count_places(pool, PLACE_IDLE) && find_place(pool, PLACE_EMPTY) < pool->most;
}

/* A quarter of it is chance, so that many processes don't come back at once. */
static void pause_longer(lic_pg_pool *pool)
{
    uint32_t pause = pool->pause_ms == 0 ? PAUSE_FIRST_MS : pool->pause_ms * 2;

    pool->pause_ms    = pause < PAUSE_LAST_MS ? pause : PAUSE_LAST_MS;
    pool->retry_at_ms = lic_monotonic_ms() + pool->pause_ms - lic_random_key() % (pool->pause_ms / 4);
}

/* Both under the lock. Takes the error. */
static void attempt_failed(lic_pg_pool *pool, licet_error *problem)
{
    licet_error_free(pool->problem);
    pool->problem = problem;
    pool->failed  = pool->begun;
    pause_longer(pool);
}

static void attempt_done(lic_pg_pool *pool, lic_pg_link *link)
{
    place *p = &pool->places[find_place(pool, PLACE_EMPTY)]; /* nobody but the thread fills one */

    *p = (place){ .state = PLACE_IDLE, .link = link, .given_at = ++pool->gifts };
    count_round_trips(pool, p);
    licet_error_free(pool->problem);
    pool->problem  = NULL;
    pool->pause_ms = 0;
}

/* The lock is let go of while names are looked up and the network is waited for. */
static void attempt(lic_pg_pool *pool)
{
    const uint32_t wanted_ms = lic_pg_conninfo_timeout_ms(pool->conninfo);
    lic_pg_link   *link      = NULL;
    licet_error   *problem   = NULL;
    lic_pg_wait    wait;
    licet_status   status;

    pool->begun++;
    lic_mutex_unlock(&pool->lock);
    wait   = (lic_pg_wait){ lic_monotonic_ms() + (wanted_ms != 0 ? wanted_ms : ATTEMPT_MS), pool->bell };
    status = lic_pg_link_open(pool->memory, pool->conninfo, pool->settings, wait, &link, &problem);
    lic_mutex_lock(&pool->lock);
    if (status == LICET_OK)
        attempt_done(pool, link);
    else
        attempt_failed(pool, problem);
    lic_waiters_wake(&pool->changed);
}

static void fill_places(void *argument)
{
    lic_pg_pool *pool = argument;

    lic_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        const uint64_t now = lic_monotonic_ms();

        if (!needs_link(pool))
            lic_waiters_wait(&pool->work, &pool->lock, now + 60000);
        else if (pool->pause_ms != 0 && now < pool->retry_at_ms)
            lic_waiters_wait(&pool->work, &pool->lock, pool->retry_at_ms);
        else
            attempt(pool);
    }
    lic_mutex_unlock(&pool->lock);
}

/* ------------------------------------------------------------ taking */

static licet_status fail_closed(licet_error **error)
{
    return lic_fail(error, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "the engine is closed");
}

static licet_status tell_problem(const lic_pg_pool *pool, licet_error **error)
{
    licet_error       *copy   = lic_error_copy(pool->problem);
    const licet_status status = licet_error_status(copy);

    if (error != NULL && *error == NULL)
        *error = copy;
    else
        licet_error_free(copy);
    return status;
}

static licet_status tell_late(const lic_pg_pool *pool, licet_error **error)
{
    if (pool->problem != NULL)
        return tell_problem(pool, error);
    if (count_places(pool, PLACE_LENT) == pool->most)
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "all %u connections to Postgres are in use", pool->most);
    return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                    "no connection to Postgres in time");
}

/* Has an attempt failed that tells the caller who came behind `begun` attempts why there is no link? One that no retry
 * will mend is told also by the attempt that was under way, and until the pause after it is over. */
static bool is_hopeless(const lic_pg_pool *pool, uint64_t begun)
{
    if (pool->problem == NULL)
        return false;
    if (licet_error_status(pool->problem) == LICET_INVALID_ARGUMENT)
        return pool->failed >= begun && (pool->failed > begun || lic_monotonic_ms() < pool->retry_at_ms);
    return pool->failed > begun;
}

/* The thread begins with the first who needs it. */
static licet_status ask_for_link(lic_pg_pool *pool, licet_error **error)
{
    if (!pool->has_thread)
        pool->has_thread = lic_thread_start(&pool->thread, "licet-pool", fill_places, pool);
    if (!pool->has_thread)
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE, "no thread could be started");
    lic_waiters_wake(&pool->work);
    return LICET_OK;
}

static licet_status wait_for_link(lic_pg_pool *pool, lic_pg_wait wait, lic_pg_link **link, licet_error **error)
{
    const uint64_t begun = pool->begun;

    while (!pool->stopping && (*link = lend(pool)) == NULL) {
        licet_status status;

        if (is_hopeless(pool, begun))
            return tell_problem(pool, error);
        if (lic_monotonic_ms() >= wait.until_ms)
            return tell_late(pool, error);
        status = ask_for_link(pool, error);
        if (status != LICET_OK)
            return status;
        lic_waiters_wait(&pool->changed, &pool->lock, wait.until_ms);
    }
    return pool->stopping ? fail_closed(error) : LICET_OK;
}

licet_status lic_pg_pool_take(lic_pg_pool *pool, lic_pg_wait wait, lic_pg_link **link, licet_error **error)
{
    licet_status status;

    *link = NULL;
    lic_mutex_lock(&pool->lock);
    pool->waiting++;
    status = wait_for_link(pool, wait, link, error);
    pool->waiting--;
    lic_mutex_unlock(&pool->lock);
    assert((status == LICET_OK) == (*link != NULL));
    return status;
}

/* A standby, or a server that has become one: the next link may find the one that takes writes, or that this does so
 * now. Links that only read may lead to one. */
static bool is_of_no_use(const lic_pg_pool *pool, const lic_pg_link *link)
{
    if (pool->settings->read_only)
        return false;
    return lic_pg_link_server(link)->is_standby || strcmp(lic_pg_link_failure(link)->sqlstate, "25006") == 0;
}

void lic_pg_pool_give(lic_pg_pool *pool, lic_pg_link *link)
{
    uint32_t i = 0;

    if (link == NULL)
        return;
    lic_mutex_lock(&pool->lock);
    while (pool->places[i].link != link)
        i++;
    count_round_trips(pool, &pool->places[i]);
    pool->places[i].state    = PLACE_IDLE;
    pool->places[i].given_at = ++pool->gifts;
    if (pool->stopping || !lic_pg_link_is_idle(link) || is_of_no_use(pool, link))
        empty_place(&pool->places[i]);
    if (pool->waiting > 0)
        lic_waiters_wake(&pool->changed);
    if (needs_link(pool)) /* not each time: it would take a processor from who works for us */
        lic_waiters_wake(&pool->work);
    lic_mutex_unlock(&pool->lock);
}

uint64_t lic_pg_pool_round_trips(lic_pg_pool *pool)
{
    uint64_t round_trips;

    lic_mutex_lock(&pool->lock);
    round_trips = pool->round_trips;
    lic_mutex_unlock(&pool->lock);
    return round_trips;
}

uint32_t lic_pg_pool_generation(lic_pg_pool *pool)
{
    uint32_t generation;

    lic_mutex_lock(&pool->lock);
    generation = pool->generation;
    lic_mutex_unlock(&pool->lock);
    return generation;
}

/* ------------------------------------------------------------ beginning and end */

static bool make_locks(lic_pg_pool *pool)
{
    if (!lic_mutex_init(&pool->lock))
        return false;
    if (!lic_waiters_init(&pool->changed)) {
        lic_mutex_destroy(&pool->lock);
        return false;
    }
    if (!lic_waiters_init(&pool->work)) {
        lic_waiters_destroy(&pool->changed);
        lic_mutex_destroy(&pool->lock);
        return false;
    }
    return true;
}

static size_t size_of(uint32_t most)
{
    return sizeof(lic_pg_pool) + most * sizeof(place);
}

lic_pg_pool *lic_pg_pool_new(lic_memory *memory, const lic_pg_conninfo *conninfo, const lic_pg_settings *settings,
                             uint32_t most, const lic_pg_bell *bell)
{
    lic_pg_pool *pool = lic_alloc_zero(memory, size_of(most));

    if (pool == NULL)
        return NULL;
    pool->memory   = memory;
    pool->conninfo = conninfo;
    pool->settings = settings;
    pool->bell     = bell;
    pool->most     = most;
    if (make_locks(pool))
        return pool;
    lic_free(memory, pool, size_of(most));
    return NULL;
}

void lic_pg_pool_stop(lic_pg_pool *pool)
{
    bool has_thread;

    lic_mutex_lock(&pool->lock);
    pool->stopping   = true;
    has_thread       = pool->has_thread;
    pool->has_thread = false;
    lic_waiters_wake(&pool->changed);
    lic_waiters_wake(&pool->work);
    lic_mutex_unlock(&pool->lock);
    if (has_thread)
        lic_thread_join(pool->thread);
    lic_mutex_lock(&pool->lock);
    for (uint32_t i = 0; i < pool->most; i++)
        if (pool->places[i].state == PLACE_IDLE)
            empty_place(&pool->places[i]);
    lic_mutex_unlock(&pool->lock);
}

void lic_pg_pool_free(lic_pg_pool *pool)
{
    if (pool == NULL)
        return;
    lic_pg_pool_stop(pool);
    licet_error_free(pool->problem);
    lic_waiters_destroy(&pool->work);
    lic_waiters_destroy(&pool->changed);
    lic_mutex_destroy(&pool->lock);
    lic_free(pool->memory, pool, size_of(pool->most));
}

/* ------------------------------------------------------------ forks */

void lic_pg_pool_before_fork(lic_pg_pool *pool)
{
    lic_mutex_lock(&pool->lock);
}

void lic_pg_pool_after_fork_parent(lic_pg_pool *pool)
{
    lic_mutex_unlock(&pool->lock);
}

/* Who waited or had a link lent is gone; the locks of those who waited can't be used again. If there is no memory for
 * new ones the pool is as good as closed. */
void lic_pg_pool_after_fork_child(lic_pg_pool *pool)
{
    for (uint32_t i = 0; i < pool->most; i++) {
        lic_pg_link_abandon(pool->places[i].link);
        pool->places[i] = (place){ .state = PLACE_EMPTY };
    }
    if (!make_locks(pool))
        pool->stopping = true;
    pool->has_thread = false;
    pool->waiting    = 0;
    pool->begun      = pool->failed;
    pool->pause_ms   = 0;
    pool->generation++;
}
