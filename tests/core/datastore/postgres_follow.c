/* core/datastore/postgres/follow.c: following where answers take long, and through a sleep of the machine. Through the public
 * functions, on the server that LICET_TEST_POSTGRES names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
#include "pg_database.h"

#define LONG_MS UINT64_C(300000) /* a load takes half a minute under the thread sanitizer on a busy machine */
#define HOUR_S 3600
#define MANY "190000" /* less than what is a load anyhow */

/* What the machine has slept, which only this clock shows. */
static _Atomic time_t slept_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (clock == CLOCK_BOOTTIME)
        now->tv_sec += atomic_load(&slept_s);
    return result;
}

/* The schema and one relationship are there. */
static void begin(pg_database *d)
{
    engine_world w;

    pg_database_begin(d);
    pg_database_migrate(d);
    pg_database_write_freely(d);
    d->options.mode = LICET_MODE_FOLLOW;
    pg_database_open(d, &w);
    world_schema(&w, "definition user {}\ndefinition document {\nrelation viewer: user\npermission view = viewer\n}\n");
    world_done(&w);
    world_touch(&w, "document:d#viewer@user:ana");
    world_done(&w);
    world_close(&w);
}

static licet_engine *open_engine(const pg_database *d)
{
    licet_engine *engine = NULL;

    assert_int_equal(licet_open(text_of(pg_server()), &d->options, &engine, NULL), LICET_OK);
    assert_int_equal(licet_await_ready(engine, LONG_MS, NULL), LICET_OK);
    return engine;
}

static licet_status check(licet_engine *engine, const char *resource, licet_permissionship *answer)
{
    licet_check_request request = check_of(resource, "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;
    licet_status        status  = licet_check(engine, &request, &result, NULL);

    *answer = result.permissionship;
    licet_result_clear(&result);
    return status;
}

/* How long it takes to load what is stored, in ms. */
static uint64_t load_ms(const pg_database *d)
{
    const uint64_t begun = lic_monotonic_ms();

    licet_engine_release(open_engine(d));
    return lic_monotonic_ms() - begun;
}

/* Nobody waits long enough for the changes, and next time there would be no fewer. How long is enough for a few and not
 * for many depends on the machine. */
static void changes_that_take_longer_than_the_graph_may_be_old_are_loaded(void **state)
{
    uint64_t             until;
    uint64_t             many_ms;
    licet_permissionship answer = LICET_NO_PERMISSION;
    licet_engine        *engine;
    pg_database          d;

    (void)state;
    begin(&d);
    pg_ask(&d, "INSERT INTO rel (rt, ri, rr, st, si) "
               "SELECT 'document', 'l' || i, 'viewer', 'user', 'ana' FROM generate_series(1, " MANY ") i");
    many_ms                    = load_ms(&d);
    d.options.poll_interval_ms = 10;
    d.options.max_staleness_ms = many_ms < 800 ? 100 : (uint32_t)(many_ms / 8);
    d.options.wait_timeout_ms  = 10;
    engine                     = open_engine(&d);
    pg_ask(&d, "INSERT INTO rel (rt, ri, rr, st, si) "
               "SELECT 'document', 'm' || i, 'viewer', 'user', 'ana' FROM generate_series(1, " MANY ") i");
    until = lic_monotonic_ms() + LONG_MS;
    while ((check(engine, "document:m" MANY, &answer) != LICET_OK || answer != LICET_HAS_PERMISSION) &&
           lic_monotonic_ms() < until)
        usleep(5000);
    assert_int_equal(answer, LICET_HAS_PERMISSION);
    licet_engine_release(engine);
    pg_database_end(&d);
}

static void what_the_machine_sleeps_through_makes_the_graph_older(void **state)
{
    licet_permissionship answer;
    licet_engine        *engine;
    pg_database          d;

    (void)state;
    begin(&d);
    d.options.max_staleness_ms = 60000;
    d.options.poll_interval_ms = 60000;
    d.options.wait_timeout_ms  = 200;
    engine                     = open_engine(&d);
    pg_ask(&d, "BEGIN; DELETE FROM rel; LOCK TABLE meta");
    assert_int_equal(check(engine, "document:d", &answer), LICET_OK);
    assert_int_equal(answer, LICET_HAS_PERMISSION);
    atomic_store(&slept_s, HOUR_S);
    pg_ask(&d, "COMMIT; BEGIN; LOCK TABLE meta");
    assert_int_equal(check(engine, "document:d", &answer), LICET_DEADLINE_EXCEEDED);
    assert_int_equal(answer, LICET_NO_PERMISSION);
    pg_ask(&d, "COMMIT");
    licet_engine_release(engine);
    pg_database_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_that_take_longer_than_the_graph_may_be_old_are_loaded),
        cmocka_unit_test(what_the_machine_sleeps_through_makes_the_graph_older),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
