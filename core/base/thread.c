/* Threads and locks of POSIX, with what we always want of them. */
#include "thread.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

bool lic_mutex_init(lic_mutex *mutex)
{
    return pthread_mutex_init(mutex, NULL) == 0;
}

void lic_mutex_destroy(lic_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}

void lic_mutex_lock(lic_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

void lic_mutex_unlock(lic_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

bool lic_waiters_init(lic_waiters *waiters)
{
    pthread_condattr_t attributes;
    bool               made;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 && pthread_cond_init(waiters, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

void lic_waiters_destroy(lic_waiters *waiters)
{
    pthread_cond_destroy(waiters);
}

void lic_waiters_wake(lic_waiters *waiters)
{
    pthread_cond_broadcast(waiters);
}

void lic_waiters_wait(lic_waiters *waiters, lic_mutex *mutex, uint64_t until_ms)
{
    const struct timespec until = { .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000 };

    pthread_cond_timedwait(waiters, mutex, &until);
}

/* Plenty for what our threads do, none of which goes deeper with the data; and the same wherever they run, since the
 * default is the host's limit for its main thread. */
#define STACK_BYTES ((size_t)1 << 20)

static bool create(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    bool           created;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    created = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
              pthread_create(thread, &attributes, body, argument) == 0;
    pthread_attr_destroy(&attributes);
    return created;
}

/* Lives on the starter's stack, until the new thread has taken its copy: starting needs no memory. */
typedef struct thread_start {
    void (*body)(void *argument);
    void *argument;
    sem_t taken;
} thread_start;

static void *thread_main(void *start_pointer)
{
    thread_start *start  = start_pointer;
    void (*body)(void *) = start->body;
    void *argument       = start->argument;

    sem_post(&start->taken);
    body(argument);
    return NULL;
}

bool lic_thread_start(pthread_t *thread, const char *name, void (*body)(void *), void *argument)
{
    thread_start start = { .body = body, .argument = argument };
    sigset_t     all;
    sigset_t     before;
    bool         started;

    if (sem_init(&start.taken, 0, 0) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a new thread begins with its maker's mask */
    started = create(thread, thread_main, &start);
    if (started) {
        pthread_setname_np(*thread, name);
        while (sem_wait(&start.taken) != 0 && errno == EINTR)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sem_destroy(&start.taken);
    return started;
}

void lic_thread_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

void lic_sleep_us(uint32_t microseconds)
{
    struct timespec left = { .tv_sec  = (time_t)(microseconds / 1000000),
                             .tv_nsec = (long)(microseconds % 1000000) * 1000 };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

uint32_t lic_thread_number(void)
{
    static atomic_uint            given;
    static _Thread_local uint32_t number; /* one more than the number; 0: not yet */

    while (number == 0)
        number = atomic_fetch_add_explicit(&given, 1, memory_order_relaxed) + 1;
    return number - 1;
}
