/* Bulk checks on Postgres at full consistency: they are answered while the database is asked whether anything has changed,
 * and once more if it has. Two engines: what one commits, the other has not heard of. Needs LICET_TEST_POSTGRES. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "pg_database.h"

#define COUNT 6

static const char SCHEMA[] = "caveat below(used int, quota int) {\n  used < quota\n}\n"
                             "definition user {}\n"
                             "definition document {\n"
                             "  relation viewer: user | user with below\n"
                             "  permission view = viewer\n"
                             "}\n";

typedef struct world {
    pg_database   tables;
    licet_engine *asking; /* follows so seldom that only its own queries tell it anything */
    licet_engine *writing;
} world;

static licet_engine *open_engine(const world *w, uint32_t poll_interval_ms)
{
    pg_database  tables = w->tables;
    engine_world opened;

    tables.options.mode             = LICET_MODE_FOLLOW;
    tables.options.poll_interval_ms = poll_interval_ms;
    tables.options.max_staleness_ms = 600000;
    pg_database_open(&tables, &opened);
    assert_int_equal(licet_await_ready(opened.engine, 20000, NULL), LICET_OK);
    return opened.engine;
}

static void world_begin(world *w)
{
    pg_database_begin(&w->tables);
    pg_database_migrate(&w->tables);
    w->writing = open_engine(w, 100);
    assert_int_equal(licet_write_schema(w->writing, text_of(SCHEMA), NULL, NULL), LICET_OK);
    w->asking = open_engine(w, 60000);
}

static void world_end(world *w)
{
    licet_engine_release(w->asking);
    licet_engine_release(w->writing);
    pg_database_end(&w->tables);
}

static void write_line(const world *w, licet_operation operation, const char *line)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { operation, LICET_RELATIONSHIP_INIT };

    assert_int_equal(licet_relationship_parse(text_of(line), &update.relationship, NULL), LICET_OK);
    request.updates      = &update;
    request.update_count = 1;
    assert_int_equal(licet_write(w->writing, &request, NULL, NULL), LICET_OK);
}

/* One letter for each answer: y, n, ? for one that depends, e for an item that failed. The items: documents one and two for
 * ana, two again, one with a context that allows, the same with one that does not, and of a permission that isn't one. */
static const char *ask(const world *w)
{
    static char             answers[COUNT + 1];
    static const char      *resources[COUNT] = { "document:one", "document:two", "document:two",
                                                 "document:one", "document:one", "document:one" };
    static const char      *contexts[COUNT]  = { NULL, NULL, NULL, "{\"used\":1}", "{\"used\":9}", NULL };
    const licet_consistency full             = { LICET_FULLY_CONSISTENT, { NULL, 0 }, false };
    licet_check_request     requests[COUNT];
    licet_result            results[COUNT];

    for (int i = 0; i < COUNT; i++) {
        requests[i]            = (licet_check_request)LICET_CHECK_REQUEST_INIT;
        requests[i].resource   = text_of(resources[i]);
        requests[i].permission = text_of(i == COUNT - 1 ? "steal" : "view");
        requests[i].subject    = text_of("user:ana");
        if (contexts[i] != NULL)
            requests[i].context = text_of(contexts[i]);
        results[i] = (licet_result)LICET_RESULT_INIT;
    }
    assert_int_equal(licet_check_bulk(w->asking, requests, COUNT, full, results, NULL), LICET_OK);
    for (int i = 0; i < COUNT; i++) {
        answers[i] = results[i].status != LICET_OK                               ? 'e'
                     : results[i].permissionship == LICET_HAS_PERMISSION         ? 'y'
                     : results[i].permissionship == LICET_CONDITIONAL_PERMISSION ? '?'
                                                                                 : 'n';
        assert_int_equal(results[i].missing_count, answers[i] == '?' ? 1 : 0);
        licet_result_clear(&results[i]);
    }
    return answers;
}

static uint64_t catch_ups(const world *w)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(w->asking, &stats, NULL), LICET_OK);
    return stats.catch_ups;
}

static void what_was_committed_before_the_call_is_in_all_its_answers(void **state)
{
    world    w;
    uint64_t before;

    (void)state;
    world_begin(&w);
    assert_string_equal(ask(&w), "nnnnne");
    before = catch_ups(&w);
    assert_string_equal(ask(&w), "nnnnne"); /* nothing has changed */
    assert_int_equal(catch_ups(&w), before + 1);
    write_line(&w, LICET_TOUCH, "document:two#viewer@user:ana");
    assert_string_equal(ask(&w), "nyynne");
    write_line(&w, LICET_TOUCH, "document:one#viewer@user:ana[below:{\"quota\":5}]");
    assert_string_equal(ask(&w), "?yyyne");
    assert_string_equal(ask(&w), "?yyyne");
    write_line(&w, LICET_TOUCH, "document:one#viewer@user:ana[below:{\"quota\":1}]");
    assert_string_equal(ask(&w), "?yynne");
    write_line(&w, LICET_TOUCH, "document:one#viewer@user:ana");
    assert_string_equal(ask(&w), "yyyyye");
    write_line(&w, LICET_DELETE, "document:two#viewer@user:ana");
    assert_string_equal(ask(&w), "ynnyye");
    write_line(&w, LICET_DELETE, "document:one#viewer@user:ana");
    assert_string_equal(ask(&w), "nnnnne");
    world_end(&w);
}

static void a_schema_that_comes_meanwhile_is_the_one_that_is_asked(void **state)
{
    static const char OTHER[] = "caveat below(quota int, used int) {\n  used > quota\n}\n"
                                "definition user {}\n"
                                "definition document {\n"
                                "  relation viewer: user | user with below\n"
                                "  permission view = viewer\n"
                                "  permission steal = viewer\n"
                                "}\n";
    world             w;

    (void)state;
    world_begin(&w);
    write_line(&w, LICET_TOUCH, "document:one#viewer@user:ana[below:{\"quota\":5}]");
    assert_string_equal(ask(&w), "?nnyne");
    assert_int_equal(licet_write_schema(w.writing, text_of(OTHER), NULL, NULL), LICET_OK);
    assert_string_equal(ask(&w), "?nnny?");
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed_before_the_call_is_in_all_its_answers),
        cmocka_unit_test(a_schema_that_comes_meanwhile_is_the_one_that_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
