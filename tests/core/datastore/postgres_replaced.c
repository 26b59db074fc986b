/* core/datastore/postgres: what an engine does when the database under it is another one, or no longer
 * has what was deleted. Through the public functions, on the server that LICET_TEST_POSTGRES names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"

#define LONG_MS UINT64_C(20000)

#define PLAIN                        \
    "definition user {}\n"           \
    "definition document {\n"        \
    "    relation viewer: user\n"    \
    "    relation banned: user\n"    \
    "    permission view = viewer\n" \
    "}\n"
#define WITH_BAN                              \
    "definition user {}\n"                    \
    "definition document {\n"                 \
    "    relation viewer: user\n"             \
    "    relation banned: user\n"             \
    "    permission view = viewer - banned\n" \
    "}\n"
#define LINES "document:d#viewer@user:ana\ndocument:d#banned@user:ana"

typedef struct database {
    PGconn       *connection;
    char          schema[40];
    licet_options options;
} database;

static const char *server(void)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");

    if (conninfo != NULL && conninfo[0] != '\0')
        return conninfo;
    print_message("LICET_TEST_POSTGRES names no server: skipped\n");
    skip();
    return NULL;
}

/* {schema} is where the tables are. */
static void run(const database *d, const char *sql)
{
    char        text[1024] = "";
    const char *place;
    PGresult   *result;

    while ((place = strstr(sql, "{schema}")) != NULL) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s%s", (int)(place - sql), sql, d->schema);
        sql = place + strlen("{schema}");
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s", sql);
    result = PQexec(d->connection, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", text, PQresultErrorMessage(result));
    PQclear(result);
}

static void migrate(const database *d)
{
    licet_error *error = NULL;

    if (licet_migrate(text_of(server()), &d->options, false, NULL, &error) != LICET_OK)
        fail_msg("%.*s", (int)licet_error_message(error).size, licet_error_message(error).data);
}

static void begin(database *d, licet_mode mode)
{
    static int number;

    *d            = (database){ .options = LICET_OPTIONS_INIT };
    d->connection = PQconnectdb(server());
    assert_int_equal(PQstatus(d->connection), CONNECTION_OK);
    snprintf(d->schema, sizeof d->schema, "licet_replaced_%d_%d", (int)getpid(), ++number);
    d->options.postgres_schema  = text_of(d->schema);
    d->options.mode             = mode;
    d->options.poll_interval_ms = 20;
    run(d, "SET client_min_messages = warning");
    run(d, "SET licet.writer = '{schema}'");
    migrate(d);
}

static void end(database *d)
{
    run(d, "DROP SCHEMA {schema} CASCADE");
    PQfinish(d->connection);
}

static void open_engine(const database *d, engine_world *w)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(licet_open(text_of(server()), &d->options, &w->engine, &w->error), LICET_OK);
}

static void write_all(engine_world *w, const char *schema)
{
    world_schema(w, schema);
    world_done(w);
    world_touch(w, LINES);
    world_done(w);
}

static licet_status check_fully(engine_world *w, const char *resource, licet_permissionship *answer)
{
    licet_check_request request = check_of(resource, "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;
    licet_status        status;

    request.consistency.freshness = LICET_FULLY_CONSISTENT;
    status                        = licet_check(w->engine, &request, &result, &error);
    *answer                       = result.permissionship;
    licet_result_clear(&result);
    licet_error_free(error);
    return status;
}

/* The first answer that is none for want of a database. */
static licet_permissionship answer_fully(engine_world *w, const char *resource)
{
    const uint64_t       until = lic_monotonic_ms() + LONG_MS;
    licet_permissionship answer;
    licet_status         status;

    while ((status = check_fully(w, resource, &answer)) != LICET_OK && lic_monotonic_ms() < until)
        usleep(10000);
    assert_int_equal(status, LICET_OK);
    return answer;
}

static licet_stats stats_of(engine_world *w)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(w->engine, &stats, &w->error), LICET_OK);
    return stats;
}

/* Versions of both schemas have the same number. */
static void judge_replaced(licet_mode mode)
{
    engine_world first;
    engine_world second;
    database     d;

    begin(&d, mode);
    open_engine(&d, &first);
    write_all(&first, PLAIN);
    assert_int_equal(answer_fully(&first, "document:d"), LICET_HAS_PERMISSION);
    run(&d, "DROP SCHEMA {schema} CASCADE");
    migrate(&d);
    open_engine(&d, &second);
    write_all(&second, WITH_BAN);
    assert_int_equal(answer_fully(&first, "document:d"), LICET_NO_PERMISSION);
    assert_int_equal(answer_fully(&first, "document:d"), LICET_NO_PERMISSION);
    world_close(&first);
    world_close(&second);
    end(&d);
}

static void a_schema_is_never_that_of_the_database_before(void **state)
{
    (void)state;
    judge_replaced(LICET_MODE_PREFETCH);
    judge_replaced(LICET_MODE_FOLLOW);
}

/* The engine is not told: it asks the database for itself once a minute. What it knows is of version 1 there; now version 1
 * is another schema. */
static void judge_write_after_a_replacement(licet_mode mode)
{
    engine_world w;
    database     d;

    begin(&d, mode);
    d.options.poll_interval_ms = 60000;
    open_engine(&d, &w);
    world_schema(&w, PLAIN);
    world_done(&w);
    world_touch(&w, "document:d#viewer@user:ana");
    world_done(&w);
    run(&d, "SELECT {schema}._repair()");
    run(&d, "UPDATE {schema}.zed SET text = E'definition user {}\\ndefinition document {\\nrelation viewer: user\\n}'");
    world_touch(&w, "document:e#banned@user:ana");
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `banned` not found under definition `document`");
    world_touch(&w, "document:e#viewer@user:ana");
    world_done(&w);
    world_close(&w);
    end(&d);
}

static void a_write_is_judged_by_a_schema_of_the_database_that_takes_it(void **state)
{
    (void)state;
    judge_write_after_a_replacement(LICET_MODE_PREFETCH);
    judge_write_after_a_replacement(LICET_MODE_FOLLOW);
}

/* The horizon of garbage collection has passed what the graph shows. */
static void many_relationships_are_loaded_anew(void **state)
{
    engine_world w;
    database     d;

    (void)state;
    begin(&d, LICET_MODE_FOLLOW);
    open_engine(&d, &w);
    write_all(&w, PLAIN);
    run(&d, "INSERT INTO {schema}.rel (rt, ri, rr, st, si) "
            "SELECT 'document', 'd' || i, 'viewer', 'user', 'ana' FROM generate_series(1, 3000) i");
    assert_int_equal(answer_fully(&w, "document:d3000"), LICET_HAS_PERMISSION);
    for (uint64_t loads = stats_of(&w).loads; stats_of(&w).loads == loads;) {
        run(&d, "SELECT pg_current_xact_id()");
        run(&d, "UPDATE {schema}.meta SET gc_horizon = pg_current_xact_id()");
        assert_int_equal(answer_fully(&w, "document:d3000"), LICET_HAS_PERMISSION);
    }
    run(&d, "UPDATE {schema}.rel SET deleted_xid = pg_current_xact_id() WHERE ri = 'd3000'");
    assert_int_equal(answer_fully(&w, "document:d3000"), LICET_NO_PERMISSION);
    world_close(&w);
    end(&d);
}

/* Nor is it taken for one that has been met already, when none has been. */
static void a_row_without_names_is_no_relationship(void **state)
{
    licet_permissionship answer;
    engine_world         w;
    database             d;

    (void)state;
    begin(&d, LICET_MODE_FOLLOW);
    open_engine(&d, &w);
    world_schema(&w, PLAIN);
    world_done(&w);
    world_close(&w);
    run(&d, "INSERT INTO {schema}.rel (rt, ri, rr, st, si, sr) VALUES ('', 'd', '', '', 'ana', '')");
    open_engine(&d, &w);
    while ((w.status = check_fully(&w, "document:d", &answer)) == LICET_DEADLINE_EXCEEDED)
        usleep(10000);
    assert_int_equal(w.status, LICET_UNAVAILABLE);
    assert_int_equal(answer, LICET_NO_PERMISSION);
    world_close(&w);
    end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_is_never_that_of_the_database_before),
        cmocka_unit_test(a_write_is_judged_by_a_schema_of_the_database_that_takes_it),
        cmocka_unit_test(a_row_without_names_is_no_relationship),
        cmocka_unit_test(many_relationships_are_loaded_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
