/* core/base/thread.c: threads of our own and their locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/thread.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"

typedef struct observed {
    char     name[16];
    sigset_t blocked;
    uint32_t number;
    uint32_t number_again;
    size_t   stack_bytes;
} observed;

static void observe(void *argument)
{
    observed      *o = argument;
    pthread_attr_t attributes;

    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &o->stack_bytes);
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &o->blocked);
    o->number       = lic_thread_number();
    o->number_again = lic_thread_number();
    for (int i = 0; i < 60000 && strcmp(o->name, "licet-test") != 0; i++) {
        pthread_getname_np(pthread_self(), o->name, sizeof o->name);
        lic_sleep_us(1000);
    }
}

static void a_thread_has_its_name_and_blocks_all_signals(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE };
    observed         o         = { .name = "" };
    pthread_t        thread;
    sigset_t         before;
    sigset_t         after;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_true(lic_thread_start(&thread, "licet-test", observe, &o));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    lic_thread_join(thread);
    assert_string_equal(o.name, "licet-test");
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        assert_int_equal(sigismember(&o.blocked, signals[i]), 1);
        assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
    }
}

/* Neither a host with a stack limit of a few pages, nor one of gigabytes. */
static void a_threads_stack_does_not_depend_on_the_hosts_limit(void **state)
{
    struct rlimit before;
    observed      o[2];

    (void)state;
    memset(o, 0, sizeof o);
    assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
    for (rlim_t i = 0; i < 2; i++) {
        struct rlimit limit = { .rlim_cur = (rlim_t)(64 + i * 2048) << 10, .rlim_max = before.rlim_max };
        pthread_t     thread;

        assert_int_equal(setrlimit(RLIMIT_STACK, &limit), 0);
        assert_true(lic_thread_start(&thread, "licet-test", observe, &o[i]));
        lic_thread_join(thread);
    }
    assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
    assert_int_equal(o[0].stack_bytes, 1 << 20);
    assert_int_equal(o[1].stack_bytes, 1 << 20);
}

static void threads_have_numbers_of_their_own_that_stay(void **state)
{
    uint32_t mine = lic_thread_number();
    observed others[8];

    (void)state;
    memset(others, 0, sizeof others);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;

        assert_true(lic_thread_start(&thread, "licet-test", observe, &others[i]));
        lic_thread_join(thread);
        assert_int_equal(others[i].number, others[i].number_again);
        assert_int_not_equal(others[i].number, mine);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(others[i].number, others[j].number);
    }
    assert_int_equal(lic_thread_number(), mine);
}

typedef struct counter {
    lic_mutex mutex;
    int       count;
} counter;

static void count_up(void *argument)
{
    counter *c = argument;

    for (int i = 0; i < 10000; i++) {
        lic_mutex_lock(&c->mutex);
        c->count++;
        lic_mutex_unlock(&c->mutex);
    }
}

static void a_mutex_lets_one_thread_in(void **state)
{
    counter   c = { .count = 0 };
    pthread_t threads[3];

    (void)state;
    assert_true(lic_mutex_init(&c.mutex));
    for (int i = 0; i < 3; i++)
        assert_true(lic_thread_start(&threads[i], "licet-test", count_up, &c));
    for (int i = 0; i < 3; i++)
        lic_thread_join(threads[i]);
    lic_mutex_destroy(&c.mutex);
    assert_int_equal(c.count, 30000);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

static void sleeping_outlasts_a_signal(void **state)
{
    struct sigaction  action = { .sa_handler = on_alarm };
    timer_t           timer;
    struct itimerspec soon = { .it_value = { .tv_nsec = 5000000 } };
    uint64_t          before;

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
    before = lic_monotonic_ms();
    lic_sleep_us(50000);
    assert_true(lic_monotonic_ms() - before >= 49);
    timer_delete(timer);
}

typedef struct room {
    lic_mutex   lock;
    lic_waiters waiters;
    int         inside;
    bool        open;
} room;

static void wait_in_room(void *argument)
{
    room *r = argument;

    lic_mutex_lock(&r->lock);
    r->inside++;
    while (!r->open)
        lic_waiters_wait(&r->waiters, &r->lock, UINT64_MAX / 2);
    r->inside--;
    lic_mutex_unlock(&r->lock);
}

static void who_waits_is_woken_with_all_others(void **state)
{
    room      r = { .inside = 0 };
    pthread_t threads[3];
    bool      all = false;

    (void)state;
    assert_true(lic_mutex_init(&r.lock));
    assert_true(lic_waiters_init(&r.waiters));
    for (int i = 0; i < 3; i++)
        assert_true(lic_thread_start(&threads[i], "licet-test", wait_in_room, &r));
    while (!all) {
        lic_sleep_us(1000);
        lic_mutex_lock(&r.lock);
        all    = r.inside == 3;
        r.open = all;
        lic_waiters_wake(&r.waiters);
        lic_mutex_unlock(&r.lock);
    }
    for (int i = 0; i < 3; i++)
        lic_thread_join(threads[i]);
    assert_int_equal(r.inside, 0);
    lic_waiters_destroy(&r.waiters);
    lic_mutex_destroy(&r.lock);
}

static void who_is_not_woken_waits_until_the_time_has_come(void **state)
{
    room     r     = { .inside = 0 };
    uint64_t start = lic_monotonic_ms();

    (void)state;
    assert_true(lic_mutex_init(&r.lock));
    assert_true(lic_waiters_init(&r.waiters));
    lic_mutex_lock(&r.lock);
    while (lic_monotonic_ms() < start + 30)
        lic_waiters_wait(&r.waiters, &r.lock, start + 30);
    lic_waiters_wait(&r.waiters, &r.lock, start); /* long past: at once */
    lic_mutex_unlock(&r.lock);
    assert_in_range(lic_monotonic_ms() - start, 30, 30000);
    lic_waiters_destroy(&r.waiters);
    lic_mutex_destroy(&r.lock);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_its_name_and_blocks_all_signals),
        cmocka_unit_test(a_threads_stack_does_not_depend_on_the_hosts_limit),
        cmocka_unit_test(threads_have_numbers_of_their_own_that_stay),
        cmocka_unit_test(a_mutex_lets_one_thread_in),
        cmocka_unit_test(sleeping_outlasts_a_signal),
        cmocka_unit_test(who_waits_is_woken_with_all_others),
        cmocka_unit_test(who_is_not_woken_waits_until_the_time_has_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
