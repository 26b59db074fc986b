/* core/datastore/postgres: forks of a process whose engine follows a database. Through the public functions, on the server
 * that LICET_TEST_POSTGRES names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
#include "pg_database.h"
#include "sanitizers.h"

#define SCHEMA                                \
    "definition user {}\n"                    \
    "definition document {\n"                 \
    "    relation viewer: user\n"             \
    "    relation banned: user\n"             \
    "    permission view = viewer - banned\n" \
    "}\n"
#define MANY "60000"
#define LONG_MS 60000u

static void begin(pg_database *d, engine_world *w, licet_mode mode)
{
    if (UNDER_TSAN)
        skip();
    pg_database_begin(d);
    pg_database_migrate(d);
    pg_database_write_freely(d);
    d->options.mode = mode;
    pg_database_open(d, w);
    world_schema(w, SCHEMA);
    world_done(w);
}

static licet_status check_fully(licet_engine *engine, const char *resource, licet_permissionship *answer)
{
    licet_check_request request = check_of(resource, "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;
    licet_status        status;

    request.consistency.freshness = LICET_FULLY_CONSISTENT;
    status                        = licet_check(engine, &request, &result, NULL);
    *answer                       = result.permissionship;
    licet_result_clear(&result);
    return status;
}

static int wait_for(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t processor_ms(void)
{
    struct timespec spent;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent), 0);
    return (uint64_t)spent.tv_sec * 1000 + (uint64_t)spent.tv_nsec / 1000000;
}

/* What ends the waits of one is nothing that the other's have to look at over and over. */
static void an_engine_that_a_child_has_closed_waits_at_rest_in_its_parent(void **state)
{
    licet_permissionship answer;
    engine_world         w;
    pg_database          d;
    uint64_t             spent;
    pid_t                child;

    (void)state;
    begin(&d, &w, LICET_MODE_FOLLOW);
    world_close(&w);
    d.options.wait_timeout_ms = 3000;
    pg_database_open(&d, &w);
    assert_int_equal(licet_await_ready(w.engine, LONG_MS, NULL), LICET_OK);
    assert_int_equal(check_fully(w.engine, "document:d", &answer), LICET_OK);
    child = fork();
    if (child == 0) {
        licet_engine_release(w.engine);
        _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
    pg_ask(&d, "SELECT pg_current_xact_id()"); /* so that a catch-up has to look at the tables */
    pg_ask(&d, "BEGIN; LOCK TABLE meta");
    spent = processor_ms();
    assert_int_equal(check_fully(w.engine, "document:d", &answer), LICET_DEADLINE_EXCEEDED);
    assert_true(processor_ms() - spent < 500);
    pg_ask(&d, "ROLLBACK");
    world_close(&w);
    pg_database_end(&d);
}

static uint64_t loads_of(licet_engine *engine)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(engine, &stats, NULL), LICET_OK);
    return stats.loads;
}

/* 0: all is as it should be. */
static int judge_child(licet_engine *engine)
{
    licet_stats          stats = LICET_STATS_INIT;
    licet_permissionship last;
    licet_permissionship none;

    if (licet_await_ready(engine, LONG_MS, NULL) != LICET_OK ||
        check_fully(engine, "document:d" MANY, &last) != LICET_OK ||
        check_fully(engine, "document:d1", &none) != LICET_OK || licet_engine_stats(engine, &stats, NULL) != LICET_OK)
        return 1;
    if (last != LICET_HAS_PERMISSION || none != LICET_NO_PERMISSION)
        return 2;
    licet_engine_release(engine);
    return stats.mode == LICET_MODE_FOLLOW ? 0 : 3;
}

/* Opens, until it is in the middle of the load: now and then that is over before we come to look. */
static void open_loading(const pg_database *d, engine_world *w)
{
    enum { ATTEMPTS = 50 };

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        pg_database_open(d, w);
        if (licet_await_ready(w->engine, 1, NULL) == LICET_DEADLINE_EXCEEDED)
            return;
        world_close(w);
    }
    fail_msg("no load takes a while");
}

/* Forks at moments that lie all over the load. */
static void a_child_that_was_made_in_the_middle_of_a_load_loads_for_itself(void **state)
{
    engine_world w;
    pg_database  d;
    int          children = 0;

    (void)state;
    begin(&d, &w, LICET_MODE_AUTO);
    pg_ask(&d, "INSERT INTO rel (rt, ri, rr, st, si) "
               "SELECT 'document', 'd' || i, 'viewer', 'user', 'ana' FROM generate_series(1, " MANY ") i");
    world_touch(&w, "document:d1#banned@user:ana");
    world_done(&w);
    world_close(&w);
    for (uint32_t pause_us = 4000; children < 12; children++, pause_us *= 2) {
        pid_t child;

        open_loading(&d, &w);
        usleep(pause_us);
        child = fork();
        if (child == 0)
            _exit(judge_child(w.engine));
        assert_int_equal(wait_for(child), 0);
        if (loads_of(w.engine) > 0)
            children = 12;
        world_close(&w);
    }
    pg_database_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_was_made_in_the_middle_of_a_load_loads_for_itself),
        cmocka_unit_test(an_engine_that_a_child_has_closed_waits_at_rest_in_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
