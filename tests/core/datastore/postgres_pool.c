/* core/datastore/postgres/pool.c: who waits for a connection is told in time, and nobody is given one that is dead.
 *
 * Some of it needs the server that LICET_TEST_POSTGRES names, and is skipped where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
#include "pg_proxy.h"
#include "sanitizers.h"

#define SLACK_MS 8000 /* of a busy machine; an attempt to connect takes longer, where nobody answers */

typedef struct world {
    lic_memory       memory;
    lic_pg_conninfo *conninfo;
    lic_pg_settings  settings;
    lic_pg_bell      bell;
    lic_pg_pool     *pool;
} world;

static const lic_pg_statement backend = { "backend", "SELECT pg_backend_pid()", 0, NULL };

static void pool_open(world *w, const char *conninfo, uint32_t most)
{
    *w = (world){ .settings = { .schema = LICET_STR_INIT("licet") } };
    lic_memory_init(&w->memory, NULL, SIZE_MAX);
    assert_int_equal(lic_pg_conninfo_read(&w->memory, text_of(conninfo), false, &w->conninfo, NULL), LICET_OK);
    assert_true(lic_pg_bell_init(&w->bell));
    w->pool = lic_pg_pool_new(&w->memory, w->conninfo, &w->settings, most, &w->bell);
    assert_non_null(w->pool);
}

static void pool_open_on_server(world *w, uint32_t most)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");

    if (conninfo == NULL || conninfo[0] == '\0') {
        print_message("LICET_TEST_POSTGRES names no server: skipped\n");
        skip();
    }
    pool_open(w, conninfo, most);
}

static void pool_close(world *w)
{
    lic_pg_bell_ring(&w->bell);
    lic_pg_pool_stop(w->pool);
    lic_pg_pool_stop(w->pool);
    lic_pg_pool_free(w->pool);
    lic_pg_bell_free(&w->bell);
    lic_pg_conninfo_free(w->conninfo);
    assert_int_equal(w->memory.used, 0);
}

static lic_pg_wait within(const world *w, uint64_t ms)
{
    return (lic_pg_wait){ lic_monotonic_ms() + ms, &w->bell };
}

static lic_pg_link *take(const world *w)
{
    lic_pg_link *link  = NULL;
    licet_error *error = NULL;

    if (lic_pg_pool_take(w->pool, within(w, 60000), &link, &error) != LICET_OK)
        fail_msg("%.*s", (int)licet_error_message(error).size, licet_error_message(error).data);
    return link;
}

static int32_t pid_of(const world *w, lic_pg_link *link)
{
    PGresult *result = NULL;
    int32_t   pid    = 0;

    assert_int_equal(lic_pg_run(link, &backend, NULL, within(w, 60000), &result, NULL), LICET_OK);
    assert_true(lic_pg_get_i32(result, 0, 0, &pid));
    PQclear(result);
    return pid;
}

static void take_fails(const world *w, uint64_t ms, licet_status status, licet_kind kind, const char *message)
{
    lic_pg_link *link  = NULL;
    licet_error *error = NULL;

    assert_int_equal(lic_pg_pool_take(w->pool, within(w, ms), &link, &error), status);
    assert_null(link);
    if (message != NULL)
        error_is(error, status, kind, "", message);
    else {
        assert_int_equal(licet_error_kind(error), kind);
        licet_error_free(error);
    }
}

/* ------------------------------------------------------------ without a server */

static void who_waits_for_a_server_that_is_not_there_is_told_at_once(void **state)
{
    const uint64_t begun = lic_monotonic_ms();
    world          w;

    (void)state;
    pool_open(&w, "host=/nonexistent dbname=x user=x", 2);
    take_fails(&w, 60000, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, NULL);
    assert_true(lic_monotonic_ms() - begun < SLACK_MS);
    take_fails(&w, 60000, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, NULL); /* after a pause, of another attempt */
    assert_true(lic_monotonic_ms() - begun < 2 * SLACK_MS);
    for (int i = 0; i < 3; i++)
        take_fails(&w, 60000, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, NULL);
    assert_true(lic_monotonic_ms() - begun >= 38 + 75 + 150 + 300); /* the pauses double, but for a quarter */
    pool_close(&w);
}

static void at_a_deadline_inside_a_pause_the_last_failure_is_told(void **state)
{
    world w;

    (void)state;
    pool_open(&w, "host=/nonexistent dbname=x user=x", 2);
    for (int i = 0; i < 4; i++)
        take_fails(&w, 60000, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, NULL);
    take_fails(&w, 10, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, NULL);
    pool_close(&w);
}

static void a_server_that_says_nothing_keeps_nobody_beyond_his_deadline(void **state)
{
    uint64_t begun;
    pg_proxy proxy;
    char     conninfo[128];
    world    w;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_SILENCE, 0);
    snprintf(conninfo, sizeof conninfo, "host=%s port=5432 dbname=x user=x", proxy.folder);
    pool_open(&w, conninfo, 2);
    begun = lic_monotonic_ms();
    take_fails(&w, 100, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "no connection to Postgres in time");
    assert_true(lic_monotonic_ms() - begun >= 100 && lic_monotonic_ms() - begun < 100 + SLACK_MS);
    begun = lic_monotonic_ms();
    pool_close(&w); /* while it is still trying */
    assert_true(lic_monotonic_ms() - begun < SLACK_MS);
    pg_proxy_stop(&proxy);
}

static void wait_for_closed(void *argument)
{
    take_fails(argument, 60000, LICET_CLOSED, LICET_KIND_MISUSE, "the engine is closed");
}

static void stopping_ends_every_wait(void **state)
{
    pg_proxy  proxy;
    char      conninfo[128];
    pthread_t threads[3];
    world     w;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_SILENCE, 0);
    snprintf(conninfo, sizeof conninfo, "host=%s port=5432 dbname=x user=x", proxy.folder);
    pool_open(&w, conninfo, 1);
    for (size_t i = 0; i < 3; i++)
        assert_true(lic_thread_start(&threads[i], "waiter", wait_for_closed, &w));
    lic_sleep_us(50000);
    lic_pg_bell_ring(&w.bell);
    lic_pg_pool_stop(w.pool);
    for (size_t i = 0; i < 3; i++)
        lic_thread_join(threads[i]);
    wait_for_closed(&w);
    pool_close(&w);
    pg_proxy_stop(&proxy);
}

/* ------------------------------------------------------------ with one */

/* The server's connection string, to a database that is not there. */
static void name_no_database(char *text, size_t room)
{
    PQconninfoOption *options = PQconninfoParse(getenv("LICET_TEST_POSTGRES"), NULL);
    size_t            size    = 0;

    assert_non_null(options);
    for (PQconninfoOption *o = options; o->keyword != NULL; o++) {
        if (o->val != NULL && strcmp(o->keyword, "dbname") != 0)
            size += (size_t)snprintf(text + size, room - size, "%s='%s' ", o->keyword, o->val);
        assert_true(size < room);
    }
    snprintf(text + size, room - size, "dbname=licet_no_such_database");
    PQconninfoFree(options);
}

static void what_no_retry_mends_is_told_at_once_and_again(void **state)
{
    char     conninfo[1024];
    uint64_t begun;
    world    w;

    (void)state;
    pool_open_on_server(&w, 1);
    pool_close(&w);
    name_no_database(conninfo, sizeof conninfo);
    pool_open(&w, conninfo, 1);
    begun = lic_monotonic_ms();
    for (int i = 0; i < 13; i++) /* with pauses it would take half a minute */
        take_fails(&w, 60000, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, NULL);
    assert_true(lic_monotonic_ms() - begun < SLACK_MS);
    pool_close(&w);
}

static void a_link_that_was_given_back_is_taken_again(void **state)
{
    lic_pg_link *first;
    lic_pg_link *second;
    uint64_t     round_trips;
    world        w;

    (void)state;
    pool_open_on_server(&w, 4);
    first  = take(&w);
    second = take(&w);
    assert_ptr_not_equal(first, second);
    lic_pg_pool_give(w.pool, second);
    lic_pg_pool_give(w.pool, first);
    assert_ptr_equal(take(&w), first); /* the one that was used last */
    round_trips = lic_pg_pool_round_trips(w.pool);
    pid_of(&w, first);
    lic_pg_pool_give(w.pool, first);
    assert_int_equal(lic_pg_pool_round_trips(w.pool), round_trips + 2); /* prepared, and run */
    lic_pg_pool_give(w.pool, NULL);
    pool_close(&w);
}

typedef struct waiter {
    const world *world;
    lic_pg_link *link;
} waiter;

static void wait_for_link(void *argument)
{
    waiter *one = argument;

    one->link = take(one->world);
}

static void who_comes_when_all_are_in_use_waits_for_one(void **state)
{
    lic_pg_link *first;
    lic_pg_link *second;
    pthread_t    thread;
    world        w;
    waiter       one = { &w, NULL };

    (void)state;
    pool_open_on_server(&w, 2);
    first  = take(&w);
    second = take(&w);
    take_fails(&w, 50, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "all 2 connections to Postgres are in use");
    assert_true(lic_thread_start(&thread, "waiter", wait_for_link, &one));
    lic_sleep_us(20000);
    lic_pg_pool_give(w.pool, second);
    lic_thread_join(thread);
    assert_ptr_equal(one.link, second);
    lic_pg_pool_give(w.pool, one.link);
    lic_pg_pool_give(w.pool, first);
    pool_close(&w);
}

static void end_backend(const world *w, lic_pg_link *link, int32_t pid)
{
    char sql[80];

    snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 60000)", (int)pid);
    assert_int_equal(lic_pg_command(link, sql, within(w, 60000), NULL), LICET_OK);
}

static void a_link_that_the_server_closed_meanwhile_is_not_given(void **state)
{
    lic_pg_link *first;
    lic_pg_link *second;
    int32_t      dead;
    world        w;

    (void)state;
    pool_open_on_server(&w, 2);
    first  = take(&w);
    second = take(&w);
    dead   = pid_of(&w, second);
    lic_pg_pool_give(w.pool, second);
    end_backend(&w, first, dead);
    lic_sleep_us(20000); /* until its goodbye has come */
    second = take(&w);
    assert_int_not_equal(pid_of(&w, second), dead);
    lic_pg_pool_give(w.pool, first);
    lic_pg_pool_give(w.pool, second);
    pool_close(&w);
}

static void a_link_in_the_middle_of_something_is_closed_when_it_is_given_back(void **state)
{
    lic_pg_link *link;
    int32_t      pid;
    world        w;

    (void)state;
    pool_open_on_server(&w, 1);
    link = take(&w);
    pid  = pid_of(&w, link);
    assert_int_equal(lic_pg_command(link, "BEGIN", within(&w, 60000), NULL), LICET_OK);
    lic_pg_pool_give(w.pool, link);
    link = take(&w);
    assert_int_not_equal(pid_of(&w, link), pid);
    pid = pid_of(&w, link);
    assert_int_equal(lic_pg_command(link, "SET default_transaction_read_only = on", within(&w, 60000), NULL), LICET_OK);
    assert_int_equal(lic_pg_command(link, "CREATE TABLE licet_never (a int)", within(&w, 60000), NULL),
                     LICET_UNAVAILABLE);
    lic_pg_pool_give(w.pool, link); /* a server that takes no writes: the next may */
    link = take(&w);
    assert_int_not_equal(pid_of(&w, link), pid);
    lic_pg_pool_give(w.pool, link);
    pool_close(&w);
}

enum { USERS = 6, USES = 60 };

static void use(void *argument)
{
    const world *w = argument;

    for (int i = 0; i < USES; i++) {
        lic_pg_link  *link = take(w);
        const int32_t pid  = pid_of(w, link);

        assert_int_equal(pid_of(w, link), pid); /* nobody else's */
        if (i % 10 == 9)
            assert_int_equal(lic_pg_command(link, "BEGIN", within(w, 60000), NULL),
                             LICET_OK); /* so that it is closed */
        lic_pg_pool_give(w->pool, link);
    }
}

static void many_threads_share_few_links(void **state)
{
    pthread_t threads[USERS];
    world     w;

    (void)state;
    pool_open_on_server(&w, 2);
    for (size_t i = 0; i < USERS; i++)
        assert_true(lic_thread_start(&threads[i], "user", use, &w));
    for (size_t i = 0; i < USERS; i++)
        lic_thread_join(threads[i]);
    pool_close(&w);
}

static void a_child_has_links_of_its_own_and_leaves_its_parents_alone(void **state)
{
    lic_pg_link *idle;
    lic_pg_link *lent;
    int32_t      pid;
    pid_t        child;
    int          ended;
    world        w;

    (void)state;
    if (UNDER_TSAN)
        skip();
    pool_open_on_server(&w, 3);
    lent = take(&w);
    idle = take(&w);
    pid  = pid_of(&w, idle);
    lic_pg_pool_give(w.pool, idle);
    lic_pg_pool_before_fork(w.pool);
    child = fork();
    if (child == 0) {
        bool is_right;

        lic_pg_pool_after_fork_child(w.pool);
        idle     = take(&w);
        is_right = pid_of(&w, idle) != pid && lic_pg_pool_generation(w.pool) == 1;
        lic_pg_pool_give(w.pool, idle);
        lic_pg_bell_ring(&w.bell);
        lic_pg_pool_free(w.pool);
        _exit(is_right ? 0 : 1);
    }
    lic_pg_pool_after_fork_parent(w.pool);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_int_equal(lic_pg_pool_generation(w.pool), 0);
    assert_true(pid_of(&w, lent) != 0);
    idle = take(&w);
    assert_int_equal(pid_of(&w, idle), pid);
    lic_pg_pool_give(w.pool, idle);
    lic_pg_pool_give(w.pool, lent);
    pool_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_a_server_that_is_not_there_is_told_at_once),
        cmocka_unit_test(at_a_deadline_inside_a_pause_the_last_failure_is_told),
        cmocka_unit_test(a_server_that_says_nothing_keeps_nobody_beyond_his_deadline),
        cmocka_unit_test(stopping_ends_every_wait),
        cmocka_unit_test(what_no_retry_mends_is_told_at_once_and_again),
        cmocka_unit_test(a_link_that_was_given_back_is_taken_again),
        cmocka_unit_test(who_comes_when_all_are_in_use_waits_for_one),
        cmocka_unit_test(a_link_that_the_server_closed_meanwhile_is_not_given),
        cmocka_unit_test(a_link_in_the_middle_of_something_is_closed_when_it_is_given_back),
        cmocka_unit_test(many_threads_share_few_links),
        cmocka_unit_test(a_child_has_links_of_its_own_and_leaves_its_parents_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
