/* core/datastore/postgres: forks of a process whose engine follows a database. Through the public functions, on the server
 * that LICET_TEST_POSTGRES names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
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

typedef struct database {
    PGconn       *connection;
    char          schema[40];
    licet_options options;
} database;

static const char *server(void)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");

    if (UNDER_TSAN)
        skip();
    if (conninfo != NULL && conninfo[0] != '\0')
        return conninfo;
    print_message("LICET_TEST_POSTGRES names no server: skipped\n");
    skip();
    return NULL;
}

static void run(const database *d, const char *sql)
{
    PGresult *result = PQexec(d->connection, sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(result));
    PQclear(result);
}

static void begin(database *d, engine_world *w, licet_mode mode)
{
    static int   number;
    licet_error *error = NULL;
    char         sql[160];

    *d            = (database){ .options = LICET_OPTIONS_INIT };
    d->connection = PQconnectdb(server());
    assert_int_equal(PQstatus(d->connection), CONNECTION_OK);
    snprintf(d->schema, sizeof d->schema, "licet_forks_%d_%d", (int)getpid(), ++number);
    d->options.postgres_schema = text_of(d->schema);
    d->options.mode            = mode;
    snprintf(sql, sizeof sql, "SET client_min_messages = warning; SET licet.writer = '%s'; SET search_path = %s",
             d->schema, d->schema);
    run(d, sql);
    assert_int_equal(licet_migrate(text_of(server()), &d->options, false, NULL, &error), LICET_OK);
    memset(w, 0, sizeof *w);
    assert_int_equal(licet_open(text_of(server()), &d->options, &w->engine, &w->error), LICET_OK);
    world_schema(w, SCHEMA);
    world_done(w);
}

static void end(database *d)
{
    char sql[80];

    snprintf(sql, sizeof sql, "DROP SCHEMA %s CASCADE", d->schema);
    run(d, sql);
    PQfinish(d->connection);
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
    database             d;
    uint64_t             spent;
    pid_t                child;

    (void)state;
    begin(&d, &w, LICET_MODE_FOLLOW);
    assert_int_equal(check_fully(w.engine, "document:d", &answer), LICET_OK);
    child = fork();
    if (child == 0) {
        licet_engine_release(w.engine);
        _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
    run(&d, "SELECT pg_current_xact_id()"); /* so that a catch-up has to look at the tables */
    run(&d, "BEGIN; LOCK TABLE meta");
    spent = processor_ms();
    assert_int_equal(check_fully(w.engine, "document:d", &answer), LICET_DEADLINE_EXCEEDED);
    assert_true(processor_ms() - spent < 200);
    run(&d, "ROLLBACK");
    world_close(&w);
    end(&d);
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

/* Forks at moments that lie all over the load. */
static void a_child_that_was_made_in_the_middle_of_a_load_loads_for_itself(void **state)
{
    engine_world w;
    database     d;
    int          children = 0;

    (void)state;
    begin(&d, &w, LICET_MODE_AUTO);
    run(&d, "INSERT INTO rel (rt, ri, rr, st, si) "
            "SELECT 'document', 'd' || i, 'viewer', 'user', 'ana' FROM generate_series(1, " MANY ") i");
    world_touch(&w, "document:d1#banned@user:ana");
    world_done(&w);
    world_close(&w);
    for (uint32_t pause_us = 4000; children < 12; children++, pause_us *= 2) {
        pid_t child;

        memset(&w, 0, sizeof w);
        assert_int_equal(licet_open(text_of(server()), &d.options, &w.engine, &w.error), LICET_OK);
        assert_int_equal(licet_await_ready(w.engine, 1, NULL), LICET_DEADLINE_EXCEEDED);
        usleep(pause_us);
        child = fork();
        if (child == 0)
            _exit(judge_child(w.engine));
        assert_int_equal(wait_for(child), 0);
        if (loads_of(w.engine) > 0)
            children = 12;
        world_close(&w);
    }
    end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_that_was_made_in_the_middle_of_a_load_loads_for_itself),
        cmocka_unit_test(an_engine_that_a_child_has_closed_waits_at_rest_in_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
