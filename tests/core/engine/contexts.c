/* The time and the values that requests bring: expirations and contexts, of checks and of bulk checks. api.md 4.10,
 * caveats.md 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "ask_world.h"
#include "engine/engine.h"
#include "failing_memory.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* --------------------------------------------------------------- expiration */

#define SECOND INT64_C(1000000000)

typedef struct test_clock {
    int64_t now;
    int64_t step; /* that much later at every look */
    size_t  looks;
} test_clock;

static int64_t read_clock(void *context)
{
    test_clock *clock = context;

    clock->looks++;
    clock->now += clock->step;
    return clock->now;
}

static licet_options options_with(test_clock *clock)
{
    licet_options options = LICET_OPTIONS_INIT;

    options.clock = (licet_clock){ read_clock, clock };
    return options;
}

#define PASSES                                                                                            \
    "use expiration\ncaveat level(grade int) { grade > 1 }\ndefinition user {}\n"                         \
    "definition group { relation member: user | user with expiration | group#member with expiration\n}\n" \
    "definition doc {\n relation parent: doc with expiration\n"                                           \
    " relation viewer: user with expiration | user:* with expiration | user with level and expiration"    \
    " | group#member with expiration\n"                                                                   \
    " relation banned: user with expiration\n permission view = viewer - banned\n"                        \
    " permission above = parent->viewer\n permission all_above = parent.all(viewer)\n}\n"

static void a_relationship_is_there_until_it_expires(void **state)
{
    static const char *const questions[] = { "doc:direct#viewer@user:u", "doc:wild#viewer@user:u",
                                             "doc:group#viewer@user:u",  "doc:nested#viewer@user:u",
                                             "doc:below#above@user:u",   "doc:below#all_above@user:u" };
    test_clock               clock       = { 99 * SECOND, 0, 0 };
    licet_options            options     = options_with(&clock);
    engine_world             w;

    (void)state;
    world_open(&w, &options, PASSES,
               "doc:direct#viewer@user:u[expiration:1970-01-01T00:01:40Z]\n"
               "doc:wild#viewer@user:*[expiration:1970-01-01T00:01:40Z]\n"
               "doc:group#viewer@group:g#member[expiration:1970-01-01T00:01:40Z]\ngroup:g#member@user:u\n"
               "doc:nested#viewer@group:h#member[expiration:2999-01-01T00:00:00Z]\n"
               "group:h#member@user:u[expiration:1970-01-01T00:01:40Z]\n"
               "doc:below#parent@doc:up[expiration:1970-01-01T00:01:40Z]\n"
               "doc:up#viewer@user:u[expiration:2999-01-01T00:00:00Z]\n"
               "doc:ban#viewer@user:u[expiration:2999-01-01T00:00:00Z]\n"
               "doc:ban#banned@user:u[expiration:1970-01-01T00:01:40.5Z]\n"
               "doc:both#viewer@user:u[level][expiration:1970-01-01T00:01:40Z]");
    for (size_t i = 0; i < COUNT(questions); i++) {
        clock.now = 100 * SECOND - 1;
        assert_string_equal(world_ask(&w, questions[i], NULL), "yes");
        clock.now = 100 * SECOND; /* equality is expired */
        assert_string_equal(world_ask(&w, questions[i], NULL), "no");
    }
    assert_string_equal(world_ask(&w, "doc:ban#view@user:u", NULL), "no");
    assert_string_equal(world_ask(&w, "doc:both#view@user:u", NULL), "no");
    clock.now = 100 * SECOND - 1;
    assert_string_equal(world_ask(&w, "doc:both#view@user:u", NULL), "if grade");
    assert_string_equal(world_ask(&w, "doc:both#view@user:u", "{\"grade\":1}"), "no");
    clock.now = 100 * SECOND + SECOND / 2;
    assert_string_equal(world_ask(&w, "doc:ban#view@user:u", NULL), "yes");
    world_close(&w);
}

static void a_time_before_1970_and_one_after_2262_are_times(void **state)
{
    test_clock    clock   = { -5 * SECOND / 2, 0, 0 };
    licet_options options = options_with(&clock);
    engine_world  w;

    (void)state;
    world_open(
        &w, &options, PASSES,
        "doc:a#viewer@user:u[expiration:1969-12-31T23:59:57.6Z]\n" /* 2.4 s before 1970, 0.1 s after now */
        "doc:b#viewer@user:u[expiration:1969-12-31T23:59:57.5Z]\n"
        "doc:c#viewer@user:u[expiration:9999-12-31T23:59:59Z]\ndoc:d#viewer@user:u[expiration:0001-01-01T00:00:00Z]");
    assert_string_equal(world_ask(&w, "doc:a#view@user:u", NULL), "yes");
    assert_string_equal(world_ask(&w, "doc:b#view@user:u", NULL), "no");
    assert_string_equal(world_ask(&w, "doc:c#view@user:u", NULL), "yes");
    assert_string_equal(world_ask(&w, "doc:d#view@user:u", NULL), "no");
    world_close(&w);
}

static void an_old_snapshot_is_judged_by_the_time_of_the_check(void **state)
{
    test_clock          clock   = { 0, 0, 0 };
    licet_options       options = options_with(&clock);
    licet_check_request request = question_of("doc:d#view@user:u", NULL);
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;
    engine_world        w;
    licet_token         token;

    (void)state;
    world_open(&w, &options, PASSES, "doc:d#viewer@user:u[expiration:1970-01-01T00:01:40Z]");
    token = w.token;
    world_touch(&w, "doc:d#viewer@user:v[expiration:1970-01-01T00:01:40Z]");
    world_done(&w);
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, { token.text, strlen(token.text) }, false };
    assert_int_equal(licet_check(w.engine, &request, &result, &error), LICET_OK);
    assert_string_equal(world_say(&w, &result, error), "yes");
    clock.now = 100 * SECOND;
    assert_int_equal(licet_check(w.engine, &request, &result, &error), LICET_OK);
    assert_string_equal(world_say(&w, &result, error), "no");
    world_close(&w);
}

static void a_request_has_one_time_and_looks_at_the_clock_once(void **state)
{
    test_clock          clock   = { 0, 0, 0 };
    licet_options       options = options_with(&clock);
    licet_check_request requests[20];
    licet_result        results[20];
    licet_consistency   latency = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    engine_world        w;

    (void)state;
    world_open(&w, &options, PASSES,
               "doc:d#viewer@group:g#member[expiration:1970-01-01T00:00:05Z]\n"
               "group:g#member@user:u[expiration:1970-01-01T00:00:05Z]");
    clock = (test_clock){ 4 * SECOND - 1, SECOND, 0 }; /* the second look would be too late */
    assert_string_equal(world_ask(&w, "doc:d#view@user:u", NULL), "yes");
    assert_int_equal(clock.looks, 1);
    clock = (test_clock){ 4 * SECOND - 1, SECOND, 0 };
    for (size_t i = 0; i < COUNT(requests); i++) {
        requests[i] = question_of(i % 2 == 0 ? "doc:d#view@user:u" : "doc:d#viewer@user:u", i % 3 == 0 ? "{}" : NULL);
        results[i]  = (licet_result)LICET_RESULT_INIT;
    }
    assert_int_equal(licet_check_bulk(w.engine, requests, COUNT(requests), latency, results, NULL), LICET_OK);
    for (size_t i = 0; i < COUNT(requests); i++)
        assert_string_equal(world_say(&w, &results[i], NULL), "yes");
    assert_int_equal(clock.looks, 1);
    world_close(&w);
}

static void a_check_that_meets_no_expiration_needs_no_time(void **state)
{
    test_clock    clock   = { 0, 0, 0 };
    licet_options options = options_with(&clock);
    engine_world  w;

    (void)state;
    world_open(&w, &options, PASSES, "group:g#member@user:u");
    clock.looks = 0;
    assert_string_equal(world_ask(&w, "group:g#member@user:u", NULL), "yes");
    assert_int_equal(clock.looks, 0);
    world_close(&w);
}

static void rows_that_have_expired_cost_steps_too(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;
    char          lines[8192];

    (void)state;
    options.max_steps = 1000;
    world_open(&w, &options, PASSES, NULL);
    for (size_t i = 0; i < 18; i++) {
        lines[0] = '\0';
        for (size_t j = 0; j < 60; j++)
            snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
                     "doc:d#viewer@group:g%zu#member[expiration:2000-01-01T00:00:00Z]\n", 60 * i + j);
        world_touch(&w, lines);
        world_done(&w);
        assert_string_equal(world_ask(&w, "doc:d#view@user:u", NULL), i < 16 ? "no" : "failed limit");
    }
    world_close(&w);
}

/* --------------------------------------------------------- contexts of requests */

static void a_context_that_is_no_json_object_is_an_error_whatever_is_asked(void **state)
{
    static const expectation cases[] = {
        { "doc:d#see@user:u", "", "failed syntax" },
        { "doc:d#see@user:u", "[]", "failed syntax" },
        { "doc:d#see@user:u", "{\"x\":", "failed syntax" },
        { "doc:d#see@user:u", "{\"x\":\xff}", "failed encoding" },
        { "doc:d#see@user:u", "{} ", "yes" },
        { "doc:d#see@user:", "[]", "failed value" },      /* shapes first */
        { "doc:d#nosuch@user:u", "[]", "failed syntax" }, /* and names last */
        { "doc:d#nosuch@user:u", "{}", "failed UNKNOWN_RELATION_OR_PERMISSION" },
    };
    engine_world w;

    (void)state;
    world_open(&w, NULL, HOURS "definition doc { relation see: user\n}\n", "doc:d#see@user:u");
    for (size_t i = 0; i < COUNT(cases); i++)
        if (strcmp(world_ask(&w, cases[i].question, cases[i].context), cases[i].answer) != 0)
            fail_msg("%s: %s", cases[i].context, w.text);
    world_close(&w);
}

/* {"x":"aaa..."}: beside the letters 12 bytes in protobuf, as long as there are 128 and fewer than 16,384 of them. */
static void context_of_wire_bytes(char *text, size_t bytes)
{
    memcpy(text, "{\"x\":\"", 6);
    memset(text + 6, 'a', bytes - 12);
    strcpy(text + 6 + bytes - 12, "\"}");
}

static void a_context_has_at_most_4096_bytes_as_protobuf_has_it(void **state)
{
    char           text[5000];
    licet_context *context = NULL;
    licet_error   *error   = NULL;
    engine_world   w;

    (void)state;
    world_open(&w, NULL, HOURS "definition doc { relation see: user\n}\n", "doc:d#see@user:u");
    context_of_wire_bytes(text, 4096);
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", text), "yes");
    assert_int_equal(licet_context_parse(text_of(text), NULL, &context, NULL), LICET_OK);
    assert_string_equal(world_ask_prepared(&w, "doc:d#see@user:u", context), "yes");
    licet_context_release(context);
    context_of_wire_bytes(text, 4097);
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", text), "failed limit");
    assert_string_equal(world_ask(&w, "doc:d#nosuch@user:u", text), "failed limit"); /* before names */
    assert_int_equal(licet_context_parse(text_of(text), NULL, &context, &error), LICET_LIMIT_EXCEEDED);
    assert_null(context);
    error_is(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
             "request caveat context should have less than 4096 bytes but had 4097");
    world_close(&w);
}

static void two_contexts_and_what_is_no_context_are_misuse(void **state)
{
    engine_world        w;
    licet_context      *context    = NULL;
    uint64_t            foreign[8] = { 0 };
    licet_check_request request    = question_of("doc:d#see@user:u", "{}");
    licet_result        result     = LICET_RESULT_INIT;

    (void)state;
    world_open(&w, NULL, HOURS "definition doc { relation see: user\n}\n", "doc:d#see@user:u");
    assert_int_equal(licet_context_parse(LICET_STR("{}"), NULL, &context, NULL), LICET_OK);
    request.prepared_context = context;
    w.status                 = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "",
                 "context and prepared_context are given, and only one of them can count");
    request.context          = text_of(NULL);
    request.prepared_context = (const licet_context *)foreign;
    w.status                 = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "", "prepared_context is not a context");
    licet_context_release(context);
    licet_context_release(NULL);
    world_close(&w);
}

static void strict_refuses_what_spicedb_lets_pass(void **state)
{
    licet_options  options = LICET_OPTIONS_INIT;
    licet_context *context = NULL;
    engine_world   w;

    (void)state;
    options.strict = true;
    world_open(&w, &options,
               "caveat big(x int) { x > 5 }\ndefinition user {}\ndefinition doc { relation see: user with big\n}\n",
               "doc:d#see@user:u[big]");
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", "{\"x\":6}"), "yes");
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", "{\"x\":1e300}"), TYPE_ERROR);
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", "{\"x\":1,\"x\":6}"), "failed value");
    assert_int_equal(licet_context_parse(LICET_STR("{\"x\":1,\"x\":6}"), &options, &context, NULL),
                     LICET_INVALID_ARGUMENT);
    assert_null(context);
    world_close(&w);
    world_open(&w, NULL,
               "caveat big(x int) { x > 5 }\ndefinition user {}\ndefinition doc { relation see: user with big\n}\n",
               "doc:d#see@user:u[big]");
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", "{\"x\":1e300}"), "yes");
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", "{\"x\":1,\"x\":6}"), "yes");
    world_close(&w);
}

/* --------------------------------------------------------------------- bulk */

static void items_of_a_bulk_check_have_contexts_of_their_own(void **state)
{
    static const expectation items[] = {
        { "grid:1#view@user:u", "{\"x\":[[\"k\"],\"v\"]}", "yes" },
        { "grid:1#view@user:u", "{\"x\":[[\"k\",\"v\"]]}", "no" },
        { "grid:1#view@user:u", "{\"x\":[\"k\",[\"v\"]]}", "no" },
        { "grid:1#view@user:u", NULL, "if x" },
        { "grid:1#view@user:u", "{\"x\":[[[\"k\"],\"v\"]]}", "no" },
        { "grid:1#view@user:u", "{\"x\":[\"[k]\",\"v\"]}", "no" },
        { "grid:1#view@user:u", "{\"x\":1}", TYPE_ERROR },
        { "grid:1#view@user:u", "{\"x\":[[\"k\"],\"v\"]}", "yes" },
        { "grid:1#view@user:u", "{\"x\":1}", TYPE_ERROR },
        { "grid:1#view@user:u", NULL, "if x" },
        { "grid:1#view@user:u", "{}", "if x" },
        { "grid:1#view@user:v", "{\"x\":[]}", "no" },
        { "grid:1#nosuch@user:u", "{\"x\":[]}", "failed UNKNOWN_RELATION_OR_PERMISSION" },
        { "grid:1#see@user:u", "{\"x\":[[\"k\"],\"v\"]}", "yes" },
    };
    licet_check_request requests[COUNT(items) + 1];
    licet_result        results[COUNT(items) + 1];
    licet_consistency   latency = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    licet_context      *context = NULL;
    engine_world        w;

    (void)state;
    world_open(&w, NULL,
               "caveat cell(x list<any>) { x == [[\"k\"], \"v\"] }\ndefinition user {}\n"
               "definition grid { relation see: user with cell\n permission view = see\n}\n",
               "grid:1#see@user:u[cell]");
    for (size_t i = 0; i < COUNT(items); i++)
        requests[i] = question_of(items[i].question, items[i].context);
    assert_int_equal(licet_context_parse(LICET_STR("{\"x\":[[\"k\"],\"v\"]}"), NULL, &context, NULL), LICET_OK);
    requests[COUNT(items)]                  = question_of("grid:1#view@user:u", NULL);
    requests[COUNT(items)].prepared_context = context;
    for (size_t i = 0; i < COUNT(results); i++)
        results[i] = (licet_result)LICET_RESULT_INIT;
    assert_int_equal(licet_check_bulk(w.engine, requests, COUNT(requests), latency, results, NULL), LICET_OK);
    assert_string_equal(world_say(&w, &results[COUNT(items)], NULL), "yes");
    for (size_t i = 0; i < COUNT(items); i++)
        assert_string_equal(world_say(&w, &results[i], results[i].error), items[i].answer);
    licet_context_release(context);
    world_close(&w);
}

static void an_oversized_or_broken_context_of_any_item_fails_the_whole_request(void **state)
{
    char                text[5000];
    licet_check_request requests[3];
    licet_result        results[3];
    licet_consistency   latency = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    engine_world        w;

    (void)state;
    world_open(&w, NULL, HOURS "definition doc { relation see: user\n}\n", "doc:d#see@user:u");
    context_of_wire_bytes(text, 4097);
    for (size_t i = 0; i < 3; i++) {
        requests[i] = question_of("doc:d#see@user:u", i == 1 ? text : "{}");
        results[i]  = (licet_result)LICET_RESULT_INIT;
    }
    w.status = licet_check_bulk(w.engine, requests, 3, latency, results, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
                 "item 2: request caveat context should have less than 4096 bytes but had 4097");
    requests[1].context = text_of("{\"a\":}");
    w.status            = licet_check_bulk(w.engine, requests, 3, latency, results, &w.error);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_error_kind(w.error), LICET_KIND_SYNTAX);
    assert_memory_equal(licet_error_message(w.error).data, "item 2: ", 8);
    licet_error_free(w.error);
    w.error = NULL;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(results[i].permissionship, LICET_NO_PERMISSION);
    world_close(&w);
}

/* ---------------------------------------------------------- memory, threads */

static void a_bulk_check_with_contexts_survives_every_failed_allocation(void **state)
{
    static const char *const contexts[] = { NULL, "{}", "{\"hour\":9}", "{\"hour\":9}", "{\"hour\":3,\"grade\":2}" };
    licet_check_request      requests[2 * COUNT(contexts)];
    licet_result             results[2 * COUNT(contexts)];
    licet_consistency        latency = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    failing_memory           memory  = fail_never();
    licet_status             status  = LICET_OUT_OF_MEMORY;
    engine_world             w;
    size_t                   live;

    (void)state;
    world_open(&w, &memory.options, WARD, WARD_LINES);
    for (size_t i = 0; i < COUNT(requests); i++)
        requests[i] = question_of(i % 2 == 0 ? "doc:d#minus@user:u" : "doc:d#minus@user:v", contexts[i / 2]);
    live = memory.counts->live_blocks;
    for (size_t n = 0; status != LICET_OK; n++) {
        for (size_t i = 0; i < COUNT(results); i++)
            results[i] = (licet_result)LICET_RESULT_INIT;
        fail_next(&memory, n);
        status = licet_check_bulk(w.engine, requests, COUNT(requests), latency, results, NULL);
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        for (size_t i = 0; i < COUNT(results); i++) {
            if (status != LICET_OK)
                assert_int_equal(results[i].permissionship, LICET_NO_PERMISSION);
            licet_result_clear(&results[i]);
        }
        assert_int_equal(memory.counts->live_blocks, live);
    }
    fail_next(&memory, SIZE_MAX / 2);
    world_close(&w);
}

static void a_context_survives_every_failed_allocation(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory  = fail_after(n);
        licet_context *context = NULL;

        status = licet_context_parse(LICET_STR("{\"a\":[1,{\"b\":\"text\"},null],\"c\":{}}"), &memory.options, &context,
                                     NULL);
        assert_true((status == LICET_OK) == (context != NULL));
        licet_context_release(context);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

static void what_is_missing_outlives_the_engine(void **state)
{
    licet_check_request request = question_of("doc:d#minus@user:u", NULL);
    licet_result        result  = LICET_RESULT_INIT;
    engine_world        w;

    (void)state;
    world_open(&w, NULL, WARD, WARD_LINES);
    assert_int_equal(licet_check(w.engine, &request, &result, NULL), LICET_OK);
    world_close(&w);
    assert_int_equal(result.missing_count, 2);
    assert_memory_equal(result.missing[0].data, "grade", 5);
    assert_memory_equal(result.missing[1].data, "hour", 4);
    licet_result_clear(&result);
    assert_null(result.missing);
    licet_result_clear(&result);
}

typedef struct asker {
    pthread_t            thread;
    licet_engine        *engine;
    const licet_context *context;
    size_t               wrong;
} asker;

/* The writer replaces start 8 by start 5 and back: at hour 9 both hold. */
static void *ask_on(void *argument)
{
    asker              *a       = argument;
    licet_check_request request = question_of("doc:d#viewer@user:x", NULL);
    licet_result        result  = LICET_RESULT_INIT;

    for (size_t i = 0; i < 500; i++) {
        request.prepared_context = i % 2 == 0 ? a->context : NULL;
        if (licet_check(a->engine, &request, &result, NULL) != LICET_OK ||
            result.permissionship != (i % 2 == 0 ? LICET_HAS_PERMISSION : LICET_CONDITIONAL_PERMISSION) ||
            result.missing_count != i % 2)
            a->wrong++;
        licet_result_clear(&result);
    }
    return NULL;
}

static void threads_share_a_context_while_relationships_are_replaced(void **state)
{
    licet_context *context = NULL;
    asker          askers[3];
    engine_world   w;

    (void)state;
    world_open(&w, NULL, WARD, WARD_LINES);
    assert_int_equal(licet_context_parse(LICET_STR("{\"hour\":9}"), NULL, &context, NULL), LICET_OK);
    for (size_t i = 0; i < COUNT(askers); i++) {
        askers[i] = (asker){ .engine = w.engine, .context = context };
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]), 0);
    }
    for (size_t i = 0; i < 100; i++) {
        world_touch(&w,
                    i % 2 == 0 ? "doc:d#viewer@user:*[from:{\"start\":8}]" : "doc:d#viewer@user:*[from:{\"start\":5}]");
        world_done(&w);
    }
    for (size_t i = 0; i < COUNT(askers); i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].wrong, 0);
    }
    licet_context_release(context);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relationship_is_there_until_it_expires),
        cmocka_unit_test(a_time_before_1970_and_one_after_2262_are_times),
        cmocka_unit_test(an_old_snapshot_is_judged_by_the_time_of_the_check),
        cmocka_unit_test(a_request_has_one_time_and_looks_at_the_clock_once),
        cmocka_unit_test(a_check_that_meets_no_expiration_needs_no_time),
        cmocka_unit_test(rows_that_have_expired_cost_steps_too),
        cmocka_unit_test(a_context_that_is_no_json_object_is_an_error_whatever_is_asked),
        cmocka_unit_test(a_context_has_at_most_4096_bytes_as_protobuf_has_it),
        cmocka_unit_test(two_contexts_and_what_is_no_context_are_misuse),
        cmocka_unit_test(strict_refuses_what_spicedb_lets_pass),
        cmocka_unit_test(items_of_a_bulk_check_have_contexts_of_their_own),
        cmocka_unit_test(an_oversized_or_broken_context_of_any_item_fails_the_whole_request),
        cmocka_unit_test(a_bulk_check_with_contexts_survives_every_failed_allocation),
        cmocka_unit_test(a_context_survives_every_failed_allocation),
        cmocka_unit_test(what_is_missing_outlives_the_engine),
        cmocka_unit_test(threads_share_a_context_while_relationships_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
