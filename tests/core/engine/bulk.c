/* core/engine/bulk.c: many checks at one revision (api.md 6). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/question.h"
#include "engine_world.h"

static const licet_consistency NOW = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };

static void open_world(engine_world *w)
{
    world_open(w, NULL, WORLD_SCHEMA,
               "document:d1#viewer@user:ana\n"
               "document:d2#viewer@user:*\n"
               "document:d2#banned@user:mal\n"
               "document:d3#viewer@group:eng#member\n"
               "group:eng#member@user:bob");
}

/* A writer may give an id its number between two questions of one bulk, or between the two ends of one question. */
static void an_id_that_becomes_known_meanwhile_is_still_itself(void **state)
{
    static const struct {
        const char *resource;
        bool        same; /* as the subject */
    } cases[]                       = { { "group:new", true }, { "group:other", false }, { "group:eng", false } };
    const licet_check_request first = check_of("group:eng", "member", "group:new#member");
    engine_world              w;
    lic_snapshot              before;
    lic_question              question;
    lic_known                 known;

    (void)state;
    open_world(&w);
    lic_snapshot_pin(w.engine->graph, &before);
    lic_known_begin(&known);
    assert_true(lic_question_find(lic_engine_program(w.engine, &before), &before, &first, &known, &question));
    assert_int_equal(question.subject.node, LIC_NO_NODE);
    world_touch(&w, "group:new#member@user:ana\ngroup:other#member@user:ana");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const licet_check_request next = check_of(cases[i].resource, "member", "group:new#member");

        assert_true(lic_question_find(lic_engine_program(w.engine, &before), &before, &next, &known, &question));
        assert_int_equal(question.node == question.subject.node, cases[i].same);
    }
    lic_snapshot_unpin(&before);
    world_close(&w);
}

static void results_stand_in_request_order_whatever_the_grouping(void **state)
{
    static const struct {
        const char *resource;
        const char *subject;
        bool        allowed;
    } cases[] = {
        { "document:d1", "user:ana", true },        { "document:d1", "user:bob", false },
        { "document:d3", "user:bob", true },        { "document:d1", "user:ana", true }, /* twins of the first two */
        { "document:d1", "user:bob", false },       { "document:d2", "user:mal", false },
        { "document:d2", "user:new", true },        { "document:d9", "user:new", false },
        { "document:d2", "user:newer", true },      { "document:d1", "user:newer", false },
        { "document:*", "user:ana", false },        { "document:d3", "group:eng#member", true },
        { "document:d3", "group:eng", false },      { "document:d2", "user:ana", true },
        { "document:q", "document:q", false },      { "document:q", "document:r", false },
        { "document:q", "document:q#view", true },  { "document:q", "document:r#view", false },
        { "document:*", "document:q#view", false },
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    licet_check_request requests[COUNT];
    licet_result        results[COUNT];
    engine_world        w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < COUNT; i++) {
        requests[i]               = check_of(cases[i].resource, "view", cases[i].subject);
        results[i]                = (licet_result)LICET_RESULT_INIT;
        results[i].permissionship = LICET_HAS_PERMISSION;
    }
    w.status = licet_check_bulk(w.engine, requests, COUNT, NOW, results, &w.error);
    world_done(&w);
    for (size_t i = 0; i < COUNT; i++) {
        if (licet_result_allowed(&results[i]) != cases[i].allowed)
            fail_msg("%s %s", cases[i].resource, cases[i].subject);
        assert_int_equal(results[i].status, LICET_OK);
        assert_int_equal(results[i].revision, results[COUNT - 1].revision);
        licet_result_clear(&results[i]);
    }
    world_close(&w);
}

static void an_items_error_stays_with_the_item(void **state)
{
    licet_check_request requests[6] = {
        check_of("document:d1", "view", "user:ana"),   check_of("nosuch:d1", "view", "user:ana"),
        check_of("document:d1", "nosuch", "user:ana"), check_of("document:d1", "view", "user:*"),
        check_of("document:*", "view", "user:ana"),    check_of("document:d2", "view", "user:ana"),
    };
    licet_result results[6] = { LICET_RESULT_INIT, LICET_RESULT_INIT, LICET_RESULT_INIT,
                                LICET_RESULT_INIT, LICET_RESULT_INIT, LICET_RESULT_INIT };
    engine_world w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < 6; i++)
        results[i].permissionship = LICET_HAS_PERMISSION;
    w.status = licet_check_bulk(w.engine, requests, 6, NOW, results, &w.error);
    world_done(&w);
    assert_true(licet_result_allowed(&results[0]));
    assert_int_equal(results[1].status, LICET_NOT_FOUND);
    error_is(results[1].error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
             "object definition `nosuch` not found");
    assert_int_equal(results[2].status, LICET_NOT_FOUND);
    error_is(results[2].error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
             "relation/permission `nosuch` not found under definition `document`");
    assert_int_equal(results[3].status, LICET_INVALID_ARGUMENT);
    error_is(results[3].error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "WILDCARD_NOT_ALLOWED",
             "subject: a check can not be about the wildcard");
    assert_int_equal(results[4].status, LICET_OK);
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(results[i].permissionship, LICET_NO_PERMISSION);
    assert_true(licet_result_allowed(&results[5]));
    world_close(&w);
}

static void equal_items_fail_alike(void **state)
{
    licet_options       options     = LICET_OPTIONS_INIT;
    licet_check_request requests[3] = { check_of("group:a00", "member", "user:deep"),
                                        check_of("group:c00", "member", "user:deep"),
                                        check_of("group:a00", "member", "user:deep") };
    licet_result        results[3]  = { LICET_RESULT_INIT, LICET_RESULT_INIT, LICET_RESULT_INIT };
    engine_world        w;

    (void)state;
    options.max_depth = 3;
    world_open(&w, &options, WORLD_SCHEMA,
               "group:a00#member@group:b00#member\n"
               "group:b00#member@group:c00#member\n"
               "group:c00#member@group:d00#member\n"
               "group:d00#member@user:deep");
    w.status = licet_check_bulk(w.engine, requests, 3, NOW, results, &w.error);
    world_done(&w);
    for (size_t i = 0; i < 3; i += 2) {
        assert_int_equal(results[i].status, LICET_LIMIT_EXCEEDED);
        assert_int_equal(licet_error_status(results[i].error), LICET_LIMIT_EXCEEDED);
        assert_false(licet_result_allowed(&results[i]));
    }
    assert_ptr_not_equal(results[0].error, results[2].error);
    assert_true(licet_result_allowed(&results[1]));
    for (size_t i = 0; i < 3; i++)
        licet_result_clear(&results[i]);
    world_close(&w);
}

static void a_bad_shape_fails_the_whole_request(void **state)
{
    licet_check_request requests[3] = { check_of("document:d1", "view", "user:ana"),
                                        check_of("nosuch:d1", "view", "user:ana"),
                                        check_of("document:d1", "view", "user:a b") };
    licet_result        results[3]  = { LICET_RESULT_INIT, LICET_RESULT_INIT, LICET_RESULT_INIT };
    engine_world        w;

    (void)state;
    open_world(&w);
    w.status = licet_check_bulk(w.engine, requests, 3, NOW, results, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                 "item 3: subject id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 2 is another: \"a b\"");
    for (size_t i = 0; i < 3; i++) {
        assert_false(licet_result_allowed(&results[i]));
        assert_null(results[i].error);
    }
    world_close(&w);
}

static void a_bulk_check_holds_at_most_10000_items(void **state)
{
    licet_check_request *requests = calloc(10001, sizeof *requests);
    licet_result        *results  = calloc(10001, sizeof *results);
    char(*subjects)[16]           = calloc(10001, sizeof *subjects);
    engine_world w;

    (void)state;
    open_world(&w);
    for (unsigned i = 0; i < 10001; i++) {
        snprintf(subjects[i], sizeof subjects[i], "user:u%u", i % 4000);
        requests[i]               = check_of(i % 3 == 0 ? "document:d1" : "document:d2", "view", subjects[i]);
        results[i]                = (licet_result)LICET_RESULT_INIT;
        results[i].permissionship = LICET_HAS_PERMISSION;
    }
    w.status = licet_check_bulk(w.engine, requests, 10000, NOW, results, &w.error);
    world_done(&w);
    for (size_t i = 0; i < 10000; i++)
        assert_true(licet_result_allowed(&results[i]) == (i % 3 != 0));
    w.status = licet_check_bulk(w.engine, requests, 10001, NOW, results, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
                 "10001 items are more than the 10000 of one bulk check");
    for (size_t i = 0; i < 10001; i++)
        assert_false(licet_result_allowed(&results[i]));
    free(requests);
    free(results);
    free(subjects);
    world_close(&w);
}

static void no_items_are_no_error(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    assert_int_equal(licet_check_bulk(w.engine, NULL, 0, NOW, NULL, NULL), LICET_OK);
    world_close(&w);
}

static void the_requests_consistency_holds_for_all_items(void **state)
{
    licet_check_request requests[2] = { check_of("document:d1", "view", "user:ana"),
                                        check_of("document:d1", "view", "user:bob") };
    licet_result        results[2]  = { LICET_RESULT_INIT, LICET_RESULT_INIT };
    licet_consistency   then;
    licet_token         before;
    engine_world        w;

    (void)state;
    open_world(&w);
    before = w.token;
    then   = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(before.text), false };
    world_delete(&w, "document:d1#viewer@user:ana");
    world_done(&w);
    world_touch(&w, "document:d1#viewer@user:bob");
    world_done(&w);
    requests[0].consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, LICET_STR("not looked at"), false };
    w.status                = licet_check_bulk(w.engine, requests, 2, then, results, &w.error);
    world_done(&w);
    assert_true(licet_result_allowed(&results[0]));
    assert_false(licet_result_allowed(&results[1]));
    w.status = licet_check_bulk(w.engine, requests, 2, NOW, results, &w.error);
    world_done(&w);
    assert_false(licet_result_allowed(&results[0]));
    assert_true(licet_result_allowed(&results[1]));
    w.status =
        licet_check_bulk(w.engine, requests, 2, (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, LICET_STR("x"), false },
                         results, &w.error);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is damaged, or was not made by licet");
    assert_false(licet_result_allowed(&results[1]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_that_becomes_known_meanwhile_is_still_itself),
        cmocka_unit_test(results_stand_in_request_order_whatever_the_grouping),
        cmocka_unit_test(an_items_error_stays_with_the_item),
        cmocka_unit_test(equal_items_fail_alike),
        cmocka_unit_test(a_bad_shape_fails_the_whole_request),
        cmocka_unit_test(a_bulk_check_holds_at_most_10000_items),
        cmocka_unit_test(no_items_are_no_error),
        cmocka_unit_test(the_requests_consistency_holds_for_all_items),
    };

    return cmocka_run_group_tests_name("engine/bulk", tests, NULL, NULL);
}
