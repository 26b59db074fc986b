/* core/datastore/postgres: what an engine does when the database under it is another one, or no longer
 * has what was deleted. Through the public functions, on the server that LICET_TEST_POSTGRES names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
#include "pg_database.h"

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

static void begin(pg_database *d, licet_mode mode)
{
    pg_database_begin(d);
    pg_database_migrate(d);
    pg_database_write_freely(d);
    d->options.mode             = mode;
    d->options.poll_interval_ms = 20;
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
    pg_database  d;

    begin(&d, mode);
    pg_database_open(&d, &first);
    write_all(&first, PLAIN);
    assert_int_equal(answer_fully(&first, "document:d"), LICET_HAS_PERMISSION);
    pg_ask(&d, "DROP SCHEMA {schema} CASCADE");
    pg_database_migrate(&d);
    pg_database_open(&d, &second);
    write_all(&second, WITH_BAN);
    assert_int_equal(answer_fully(&first, "document:d"), LICET_NO_PERMISSION);
    assert_int_equal(answer_fully(&first, "document:d"), LICET_NO_PERMISSION);
    world_close(&first);
    world_close(&second);
    pg_database_end(&d);
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
    pg_database  d;

    begin(&d, mode);
    d.options.poll_interval_ms = 60000;
    pg_database_open(&d, &w);
    world_schema(&w, PLAIN);
    world_done(&w);
    world_touch(&w, "document:d#viewer@user:ana");
    world_done(&w);
    pg_ask(&d, "SELECT {schema}._repair()");
    pg_ask(&d,
           "UPDATE {schema}.zed SET text = E'definition user {}\\ndefinition document {\\nrelation viewer: user\\n}'");
    world_touch(&w, "document:e#banned@user:ana");
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `banned` not found under definition `document`");
    world_touch(&w, "document:e#viewer@user:ana");
    world_done(&w);
    world_close(&w);
    pg_database_end(&d);
}

static void a_write_is_judged_by_a_schema_of_the_database_that_takes_it(void **state)
{
    (void)state;
    judge_write_after_a_replacement(LICET_MODE_PREFETCH);
    judge_write_after_a_replacement(LICET_MODE_FOLLOW);
}

static licet_status import_line(engine_world *w, licet_import *import, const char *line)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;

    assert_int_equal(licet_relationship_parse(text_of(line), &relationship, NULL), LICET_OK);
    w->status = licet_import_add(import, &relationship, 1, &w->error);
    return w->status;
}

/* The rows of an import were judged by version 1 of the database that was there. name: NULL for one that is committed as a
 * whole. */
static void judge_import_into_a_replacement(licet_mode mode, const char *name)
{
    licet_import *import = NULL;
    engine_world  w;
    pg_database   d;

    begin(&d, mode);
    d.options.poll_interval_ms = 60000;
    pg_database_open(&d, &w);
    world_schema(&w, PLAIN);
    world_done(&w);
    if (name == NULL)
        w.status = licet_import_begin(w.engine, &import, &w.error);
    else
        w.status = licet_import_resume(w.engine, text_of(name), &import, NULL, &w.error);
    world_done(&w);
    assert_int_equal(import_line(&w, import, "document:e#banned@user:ana"), LICET_OK);
    pg_ask(&d, "SELECT {schema}._repair()");
    w.status = licet_import_commit(import, NULL, NULL, &w.error);
    world_failed(&w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "",
                 "the schema was replaced while the import was under way: import again");
    licet_import_release(import);
    assert_string_equal(pg_ask(&d, "SELECT count(*) FROM {schema}.rel"), "0");
    world_close(&w);
    pg_database_end(&d);
}

static void an_import_is_judged_by_a_schema_of_the_database_that_takes_it(void **state)
{
    (void)state;
    judge_import_into_a_replacement(LICET_MODE_PREFETCH, NULL);
    judge_import_into_a_replacement(LICET_MODE_FOLLOW, NULL);
    judge_import_into_a_replacement(LICET_MODE_PREFETCH, "users");
    judge_import_into_a_replacement(LICET_MODE_FOLLOW, "users");
}

/* The horizon of garbage collection has passed what the graph shows. */
static void many_relationships_are_loaded_anew(void **state)
{
    engine_world w;
    pg_database  d;

    (void)state;
    begin(&d, LICET_MODE_FOLLOW);
    pg_database_open(&d, &w);
    write_all(&w, PLAIN);
    pg_ask(&d, "INSERT INTO {schema}.rel (rt, ri, rr, st, si) "
               "SELECT 'document', 'd' || i, 'viewer', 'user', 'ana' FROM generate_series(1, 3000) i");
    assert_int_equal(answer_fully(&w, "document:d3000"), LICET_HAS_PERMISSION);
    for (uint64_t loads = stats_of(&w).loads; stats_of(&w).loads == loads;) {
        pg_ask(&d, "SELECT pg_current_xact_id()");
        pg_ask(&d, "UPDATE {schema}.meta SET gc_horizon = pg_current_xact_id()");
        assert_int_equal(answer_fully(&w, "document:d3000"), LICET_HAS_PERMISSION);
    }
    pg_ask(&d, "UPDATE {schema}.rel SET deleted_xid = pg_current_xact_id() WHERE ri = 'd3000'");
    assert_int_equal(answer_fully(&w, "document:d3000"), LICET_NO_PERMISSION);
    world_close(&w);
    pg_database_end(&d);
}

/* Nor is it taken for one that has been met already, when none has been. */
static void a_row_without_names_is_no_relationship(void **state)
{
    licet_permissionship answer;
    engine_world         w;
    pg_database          d;

    (void)state;
    begin(&d, LICET_MODE_FOLLOW);
    pg_database_open(&d, &w);
    world_schema(&w, PLAIN);
    world_done(&w);
    world_close(&w);
    pg_ask(&d, "INSERT INTO {schema}.rel (rt, ri, rr, st, si, sr) VALUES ('', 'd', '', '', 'ana', '')");
    d.options.wait_timeout_ms = 2000; /* it tries again as long as somebody waits */
    pg_database_open(&d, &w);
    while ((w.status = check_fully(&w, "document:d", &answer)) == LICET_DEADLINE_EXCEEDED)
        usleep(10000);
    assert_int_equal(w.status, LICET_UNAVAILABLE);
    assert_int_equal(answer, LICET_NO_PERMISSION);
    world_close(&w);
    pg_database_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_is_never_that_of_the_database_before),
        cmocka_unit_test(a_write_is_judged_by_a_schema_of_the_database_that_takes_it),
        cmocka_unit_test(an_import_is_judged_by_a_schema_of_the_database_that_takes_it),
        cmocka_unit_test(a_row_without_names_is_no_relationship),
        cmocka_unit_test(many_relationships_are_loaded_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
