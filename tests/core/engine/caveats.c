/* What caveats make of checks, and that no order of evaluation shows: api.md 4.6, 4.8, caveats.md 4 to 6 and 15. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ask_world.h"
#include "engine/engine.h"
#include "failing_memory.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* ------------------------------------------------------------- one caveat */

typedef struct tiny_case {
    const char *parameters;
    const char *body;
    const char *context;
    const char *answer;
} tiny_case;

static void check_tiny(const tiny_case *c)
{
    engine_world w;
    char         schema[512];

    snprintf(schema, sizeof schema,
             "caveat tiny(%s) { %s }\ndefinition user {}\ndefinition doc { relation see: user with tiny\n}\n",
             c->parameters, c->body);
    world_open(&w, NULL, schema, "doc:d#see@user:u[tiny]");
    if (strcmp(world_ask(&w, "doc:d#see@user:u", c->context), c->answer) != 0)
        fail_msg("%s with %s: %s", c->body, c->context, w.text);
    world_close(&w);
}

static void a_caveat_is_true_false_or_conditional(void **state)
{
#define XY "x int, y int"
#define BOTH "x > 5 && y > 5"
    static const tiny_case cases[] = {
        { XY, BOTH, "{}", "if x, y" },
        { XY, BOTH, NULL, "if x, y" },
        { XY, BOTH, "{\"x\":1}", "no" },
        { XY, BOTH, "{\"y\":1}", "no" },
        { XY, BOTH, "{\"x\":9}", "if y" },
        { XY, BOTH, "{\"x\":9,\"y\":\"9\"}", "yes" },
        { XY, BOTH, "{\"x\":9.5,\"y\":9}", TYPE_ERROR },
        { XY, BOTH, "{\"x\":null,\"y\":1}", TYPE_ERROR },
        { XY, BOTH, "{\"x\":9,\"y\":9,\"zz\":1}", "yes" },
        { XY, "x > 5 || 1/y == 1", "{\"y\":0}", "if x" },
        { XY, "x > 5 || 1/y == 1", "{\"x\":1,\"y\":0}", EVAL_ERROR },
        { XY, "x > 5 || 1/y == 1", "{\"x\":9,\"y\":0}", "yes" },
        { XY, "1/y + x > 0", "{\"y\":0}", EVAL_ERROR },
        { "m map<int>", "m[\"a\"] == 1", "{\"m\":{}}", EVAL_ERROR },
        { "m map<int>", "m[\"a\"] == 1", "{}", "if m" },
        { "m map<int>", "has(m.a) && m.a == 1", "{\"m\":{}}", "no" },
        { "v any", "v == 1", "{\"v\":1}", "yes" },
        { "v any", "v + 1 == 2", "{\"v\":1}", EVAL_ERROR },
        { "v any", "v == 1", "{\"v\":\"1\"}", "no" },
        { "u uint", "u > 1", "{\"u\":2}", "yes" },
        { "d duration", "d > duration(\"1h\")", "{\"d\":\"90m\"}", "yes" },
        { "t timestamp", "t < timestamp(\"2026-01-01T00:00:00Z\")", "{\"t\":\"2025-12-31T23:00:00-05:00\"}", "no" },
        { "ip ipaddress", "ip.in_cidr(\"10.0.0.0/8\")", "{\"ip\":\"::ffff:10.1.2.3\"}", "yes" },
        { "ip ipaddress", "ip.in_cidr(\"10.0.0.0\")", "{\"ip\":\"10.1.2.3\"}", EVAL_ERROR },
        { "a map<any>, b map<any>", "a.isSubtreeOf(b)",
          "{\"a\":{\"k\":{\"n\":1}},\"b\":{\"k\":{\"n\":1,\"o\":2},\"z\":0}}", "yes" },
        { "b bytes", "b == b\"ab\"", "{\"b\":\"YWI=\"}", "yes" },
        { "b bytes", "b == b\"ab\"", "{\"b\":\"YWI\"}", TYPE_ERROR },
        { "l list<int>, x int", "l.exists(e, e > x)", "{\"l\":[]}", "no" },
        { "l list<int>, x int", "l.exists(e, e > x)", "{\"l\":[1]}", "if x" },
        { "l list<int>, x int", "l.exists(e, e > x)", "{\"x\":0}", "if l" },
        { "x int", "x > 1 && x < 10", "{}", "if x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        check_tiny(&cases[i]);
}

static void a_parameter_of_its_type_takes_whole_numbers_alone(void **state)
{
    static const tiny_case cases[] = {
        { "x int", "x == 9007199254740991", "{\"x\":9007199254740991}", "yes" },
        { "x int", "x == 9007199254740993", "{\"x\":\"9007199254740993\"}", "yes" },
        { "x int", "x == -3", "{\"x\":-3.0}", "yes" },
        { "x int", "x == 0", "{\"x\":-0.0}", "yes" },
        { "x int", "x == 9223372036854775807", "{\"x\":1e300}", "yes" }, /* as SpiceDB: the largest there is */
        { "x int", "x == 1", "{\"x\":true}", TYPE_ERROR },
        { "x bool", "x", "{\"x\":1}", TYPE_ERROR },
        { "x string", "x == \"1\"", "{\"x\":1}", TYPE_ERROR },
        { "x double", "x == 0.5", "{\"x\":0.5}", "yes" },
        { "x double", "x == 0.5", "{\"x\":\"0.5\"}", "yes" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        check_tiny(&cases[i]);
}

static void what_is_stored_with_a_relationship_wins_key_by_key_and_before_it_is_converted(void **state)
{
    static const expectation rows[] = {
        { "doc:d#see@user:min", "{\"start\":1,\"hour\":4}", "no" },
        { "doc:d#see@user:min", "{\"start\":\"no number\",\"hour\":7}", "yes" },
        { "doc:d#see@user:min", "{\"start\":1,\"hour\":\"abc\"}", TYPE_ERROR },
        { "doc:d#see@user:min", "{\"start\":1}", "if hour" },
        { "doc:d#see@user:all", NULL, "yes" },
        { "doc:d#see@user:all", "{\"hour\":0,\"start\":9}", "yes" },
        { "doc:d#see@user:map", "{\"m\":{\"b\":2},\"k\":\"b\"}", "no" }, /* replaced, not merged */
        { "doc:d#see@user:map", "{\"m\":{\"b\":2},\"k\":\"a\"}", "yes" },
    };

    (void)state;
    CHECK_ROWS(HOURS "definition doc { relation see: user with from | user with named\n}\n",
               "doc:d#see@user:min[from:{\"start\":5}]\ndoc:d#see@user:all[from:{\"start\":5,\"hour\":6}]\n"
               "doc:d#see@user:map[named:{\"m\":{\"a\":1}}]",
               rows);
}

static void an_error_says_which_caveat_failed_and_why(void **state)
{
    engine_world        w;
    licet_result        result  = LICET_RESULT_INIT;
    licet_check_request request = question_of("doc:d#see@user:u", "{\"divisor\":0}");

    (void)state;
    world_open(&w, NULL, HOURS "definition doc { relation see: user with broken\n}\n", "doc:d#see@user:u[broken]");
    w.status = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_EVAL, "CAVEAT_EVALUATION_ERROR",
                 "evaluation error for caveat broken: division by zero");
    request.context = text_of("{\"divisor\":\"x\"}");
    w.status        = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "CAVEAT_PARAMETER_TYPE_ERROR",
                 "type error for parameters for caveat `broken`: could not convert context parameter \"divisor\": for "
                 "int: a value of type int is required, but found the string \"x\"");
    world_close(&w);
}

static void a_caveat_that_costs_too_much_is_an_error(void **state)
{
    engine_world w;
    char         context[4096] = "{\"l\":[0";

    (void)state;
    for (size_t i = 0; i < 340; i++)
        strcat(context, ",0");
    strcat(context, "]}");
    world_open(&w, NULL,
               "caveat slow(l list<int>) { l.all(a, l.all(b, l.all(c, a + b + c == 0))) }\ndefinition user {}\n"
               "definition doc { relation see: user with slow\n relation free: user\n permission any = see + free\n}\n",
               "doc:d#see@user:u[slow]\ndoc:d#free@user:v\ndoc:d#see@user:v[slow]");
    assert_string_equal(world_ask(&w, "doc:d#see@user:u", context), "failed limit");
    assert_string_equal(world_ask(&w, "doc:d#any@user:v", context), "yes");
    world_close(&w);
}

/* ---------------------------------------------------------------- combining */

static void operators_combine_three_values(void **state)
{
    /* viewer and editor and banned of each user: n no, y yes, a if grade > 1, b if hour >= 9 */
    static const expectation rows[] = {
        { "doc:d#minus@user:y_y_y", NULL, "no" },
        { "doc:d#minus@user:y_n_a", NULL, "if grade" },
        { "doc:d#minus@user:y_n_a", "{\"grade\":2}", "no" },
        { "doc:d#minus@user:y_n_a", "{\"grade\":1}", "yes" },
        { "doc:d#either@user:a_y_n", NULL, "yes" },
        { "doc:d#either@user:a_b_n", NULL, "if grade, hour" },
        { "doc:d#either@user:a_b_n", "{\"grade\":1}", "if hour" },
        { "doc:d#either@user:a_b_n", "{\"grade\":2}", "yes" },
        { "doc:d#either@user:a_b_n", "{\"grade\":1,\"hour\":1}", "no" },
        { "doc:d#both@user:a_b_n", NULL, "if grade, hour" },
        { "doc:d#both@user:a_b_n", "{\"grade\":1}", "no" },
        { "doc:d#both@user:a_b_n", "{\"grade\":2}", "if hour" },
        { "doc:d#both@user:a_b_n", "{\"grade\":2,\"hour\":9}", "yes" },
        { "doc:d#both@user:a_y_n", NULL, "if grade" },
        { "doc:d#both@user:n_y_n", NULL, "no" },
        { "doc:d#contrary@user:n_a_a", NULL, "if grade" }, /* nothing is simplified */
        { "doc:d#contrary@user:n_a_b", "{\"grade\":2}", "if hour" },
        { "doc:d#contrary@user:n_a_b", "{\"grade\":2,\"hour\":1}", "yes" },
        { "doc:d#contrary@user:n_a_b", "{\"grade\":2,\"hour\":9}", "no" },
        { "doc:d#contrary@user:n_a_b", "{\"grade\":1}", "no" },
    };

    (void)state;
    CHECK_ROWS(WARD,
               "doc:d#viewer@user:y_y_y\ndoc:d#editor@user:y_y_y\ndoc:d#banned@user:y_y_y\n"
               "doc:d#viewer@user:y_n_a\ndoc:d#banned@user:y_n_a[level]\n"
               "doc:d#viewer@user:a_y_n[level]\ndoc:d#editor@user:a_y_n\n"
               "doc:d#viewer@user:a_b_n[level]\ndoc:d#editor@user:a_b_n[from:{\"start\":9}]\n"
               "doc:d#editor@user:n_y_n\n"
               "doc:d#editor@user:n_a_a[level]\ndoc:d#banned@user:n_a_a[level]\n"
               "doc:d#editor@user:n_a_b[level]\ndoc:d#banned@user:n_a_b[from:{\"start\":9}]",
               rows);
}

static void what_decides_beats_an_error_on_whichever_side_it_stands(void **state)
{
    static const expectation rows[] = {
        { "doc:d#left@user:u", "{\"divisor\":0,\"grade\":2}", "yes" },
        { "doc:d#right@user:u", "{\"divisor\":0,\"grade\":2}", "yes" },
        { "doc:d#left@user:u", "{\"divisor\":0,\"grade\":1}", EVAL_ERROR },
        { "doc:d#right@user:u", "{\"divisor\":0,\"grade\":1}", EVAL_ERROR },
        { "doc:d#left@user:u", "{\"divisor\":0}", EVAL_ERROR }, /* an error is no answer, and "if" would be one */
        { "doc:d#right@user:u", "{\"divisor\":0}", EVAL_ERROR },
        { "doc:d#and_left@user:u", "{\"divisor\":0,\"grade\":1}", "no" },
        { "doc:d#and_right@user:u", "{\"divisor\":0,\"grade\":1}", "no" },
        { "doc:d#and_left@user:u", "{\"divisor\":0,\"grade\":2}", EVAL_ERROR },
        { "doc:d#and_right@user:u", "{\"divisor\":0}", EVAL_ERROR },
        { "doc:d#base_fails@user:u", "{\"divisor\":0,\"grade\":1}", EVAL_ERROR },
        { "doc:d#base_fails@user:u", "{\"divisor\":0,\"grade\":2}", "no" },
        { "doc:d#ban_fails@user:u", "{\"divisor\":0,\"grade\":1}", "no" },
        { "doc:d#ban_fails@user:u", "{\"divisor\":0,\"grade\":2}", EVAL_ERROR },
        { "doc:d#ban_fails@user:u", "{\"divisor\":0}", EVAL_ERROR },
        { "doc:d#left@user:u", "{\"divisor\":\"x\",\"grade\":1}", TYPE_ERROR },
        { "doc:d#left@user:u", "{\"divisor\":\"x\",\"grade\":2}", "yes" },
        { "doc:d#left@user:u", "{\"grade\":1}", "if divisor" },
        { "doc:d#never@user:u", "{\"divisor\":0}", "no" }, /* not evaluated at all */
    };

    (void)state;
    CHECK_ROWS(HOURS "definition doc {\n relation bad: user with broken\n relation good: user with level\n"
                     " relation nobody: user\n"
                     " permission left = bad + good\n permission right = good + bad\n"
                     " permission and_left = bad & good\n permission and_right = good & bad\n"
                     " permission base_fails = bad - good\n permission ban_fails = good - bad\n"
                     " permission never = bad & nobody\n}\n",
               "doc:d#bad@user:u[broken]\ndoc:d#good@user:u[level]", rows);
}

static void usersets_wildcards_and_arrows_carry_the_caveats_of_their_rows(void **state)
{
    static const expectation rows[] = {
        { "doc:day#viewer@user:kim", "{\"hour\":9}", "yes" }, /* through either group */
        { "doc:day#viewer@user:kim", "{\"hour\":6}", "no" },
        { "doc:day#viewer@user:kim", NULL, "if hour" },
        { "doc:day#viewer@user:lee", "{\"hour\":9}", "if grade" }, /* a caveat behind a caveat */
        { "doc:day#viewer@user:lee", "{\"hour\":6}", "no" },
        { "doc:day#viewer@user:lee", "{\"hour\":9,\"grade\":2}", "yes" },
        { "doc:day#viewer@group:day#member", "{\"hour\":9}", "yes" },
        { "doc:day#viewer@group:day#member", NULL, "if hour" },
        { "doc:day#viewer@group:day", NULL, "no" },
        { "doc:open#viewer@user:anybody", NULL, "if hour" },
        { "doc:open#viewer@user:anybody", "{\"hour\":8}", "yes" },
        { "doc:open#viewer@user:ana", "{\"hour\":7}", "if grade" }, /* by her own row or by the wildcard */
        { "doc:open#viewer@user:ana", "{\"hour\":7,\"grade\":3}", "yes" },
        { "doc:open#viewer@user:ana", "{\"hour\":8}", "yes" },
        { "doc:below#above@user:ana", "{\"hour\":5}", "if grade" },
        { "doc:below#above@user:ana", "{\"hour\":4,\"grade\":2}", "no" }, /* the arrow's row: start 5 */
        { "doc:below#above@user:ana", NULL, "if grade, hour" },
    };

    (void)state;
    CHECK_ROWS(
        WARD,
        "doc:day#viewer@group:day#member[from:{\"start\":7}]\ndoc:day#viewer@group:late#member[from:{\"start\":15}]\n"
        "group:day#member@user:kim\ngroup:late#member@user:kim\ngroup:day#member@user:lee[level]\n"
        "doc:open#viewer@user:*[from:{\"start\":8}]\ndoc:open#viewer@user:ana[level]\n"
        "doc:below#parent@doc:open[from:{\"start\":5}]",
        rows);
}

/* SpiceDB's fault of two caveated usersets on one relation, where one condition was lost. */
static void two_caveated_usersets_of_one_relation_both_count(void **state)
{
    static const expectation rows[] = {
        { "ward:5#treat@nurse:kim", "{\"now_hour\":16}", "yes" },
        { "ward:5#treat@nurse:kim", "{\"now_hour\":8}", "yes" },
        { "ward:5#treat@nurse:kim", "{\"now_hour\":3}", "no" },
        { "ward:5#treat@nurse:kim", NULL, "if now_hour" },
    };

    (void)state;
    CHECK_ROWS("caveat on_shift(now_hour int, start int, stop int) { now_hour >= start && now_hour < stop }\n"
               "definition nurse {}\ndefinition rota { relation duty: nurse\n}\n"
               "definition ward { relation rota: rota#duty with on_shift\n permission treat = rota\n}\n",
               "ward:5#rota@rota:day#duty[on_shift:{\"start\":7,\"stop\":15}]\n"
               "ward:5#rota@rota:late#duty[on_shift:{\"start\":15,\"stop\":23}]\n"
               "rota:day#duty@nurse:kim\nrota:late#duty@nurse:kim",
               rows);
}

/* A relation that allows one userset in several shapes reads its rows once. */
static void a_userset_counts_in_each_shape_that_a_relation_allows_it(void **state)
{
    static const expectation rows[] = {
        { "doc:plain#see@user:u", NULL, "yes" },   { "doc:one#see@user:u", NULL, "if grade" },
        { "doc:two#see@user:u", NULL, "if hour" }, { "doc:gone#see@user:u", NULL, "no" },
        { "doc:late#see@user:u", NULL, "yes" },
    };

    (void)state;
    CHECK_ROWS("use expiration\n" HOURS "definition group { relation member: user\n}\n"
               "definition doc { relation see: group#member with level | group#member with expiration | group#member "
               "| group#member with from\n}\n",
               "group:g#member@user:u\ndoc:plain#see@group:g#member\ndoc:one#see@group:g#member[level]\n"
               "doc:two#see@group:g#member[from]\ndoc:gone#see@group:g#member[expiration:2000-01-01T00:00:00Z]\n"
               "doc:late#see@group:g#member[expiration:2999-01-01T00:00:00Z]",
               rows);
}

static void all_demands_the_caveats_of_all_rows(void **state)
{
    static const expectation rows[] = {
        { "task:none#approved@person:both", NULL, "no" },
        { "task:one#approved@person:both", NULL, "yes" },
        { "task:two#approved@person:both", NULL, "yes" },
        { "task:two#approved@person:only_a", NULL, "no" },
        { "task:late#approved@person:both", NULL, "if hour" },
        { "task:late#approved@person:both", "{\"hour\":1}", "no" }, /* not one fewer to satisfy */
        { "task:late#approved@person:both", "{\"hour\":9}", "yes" },
        { "task:late#approved@person:only_a", NULL, "no" },
        { "task:gone#approved@person:both", NULL, "yes" },
        { "task:gone#approved@person:only_a", NULL, "yes" }, /* an expired row is not waited for */
        { "task:all_gone#approved@person:both", NULL, "no" },
        { "task:shy#approved@person:both", NULL, "if hour" },
    };

    (void)state;
    CHECK_ROWS("use expiration\ncaveat late(hour int) { hour > 8 }\ndefinition person {}\n"
               "definition club { relation member: person | person with late\n}\n"
               "definition task { relation approver: club | club with late | club with expiration\n"
               " permission approved = approver.all(member)\n}\n",
               "club:a#member@person:both\nclub:b#member@person:both\nclub:a#member@person:only_a\n"
               "club:s#member@person:both[late]\n"
               "task:one#approver@club:a\ntask:two#approver@club:a\ntask:two#approver@club:b\n"
               "task:late#approver@club:a\ntask:late#approver@club:b[late]\n"
               "task:gone#approver@club:a\ntask:gone#approver@club:b[expiration:2000-01-01T00:00:00Z]\n"
               "task:all_gone#approver@club:b[expiration:2000-01-01T00:00:00Z]\n"
               "task:shy#approver@club:a\ntask:shy#approver@club:s",
               rows);
}

/* Evaluating this caveat takes memory, and so can be counted. The last group's makes it the only one that is true. */
static size_t calls_of_a_check(size_t groups, const char *stored)
{
    failing_memory memory = fail_never();
    engine_world   w;
    char           lines[128];
    size_t         before;

    world_open(&w, &memory.options,
               "caveat many(n int, least int) { [n, n + 1].size() == 2 && n >= least }\ndefinition user {}\n"
               "definition group { relation member: user with many\n}\n"
               "definition doc { relation see: group#member\n permission view = see\n}\n",
               NULL);
    for (size_t i = 0; i < groups; i++) {
        snprintf(lines, sizeof lines, "doc:d#see@group:g%zu#member\ngroup:g%zu#member@user:u[many%s]", i, i, stored);
        world_touch(&w, lines);
    }
    before = memory.counts->calls;
    assert_string_equal(world_ask(&w, "doc:d#view@user:u", "{\"n\":1,\"least\":2}"), "no");
    before = memory.counts->calls - before;
    world_touch(&w, "group:g0#member@user:u[many:{\"least\":0}]");
    assert_string_equal(world_ask(&w, "doc:d#view@user:u", "{\"n\":1,\"least\":2}"), "yes");
    world_close(&w);
    return before;
}

static void a_caveat_is_evaluated_once_however_many_relationships_have_it_with_one_context(void **state)
{
    static const char *const stored[] = { "", ":{\"least\":5}" };

    (void)state;
    for (size_t i = 0; i < COUNT(stored); i++)
        assert_in_range(calls_of_a_check(40, stored[i]), 1, calls_of_a_check(2, stored[i]) + 20);
}

static void missing_names_are_sorted_and_come_once(void **state)
{
    static const expectation rows[] = {
        { "doc:d#any@user:u", NULL, "if a, b, z" },
        { "doc:d#any@user:u", "{\"a\":0}", "if b, z" },
        { "doc:d#any@user:u", "{\"z\":0}", "if a, b" },
        { "doc:d#any@user:u", "{\"a\":0,\"b\":0,\"z\":0}", "no" },
    };

    (void)state;
    CHECK_ROWS("caveat first(z int, a int) { z > 0 || a > 0 }\ncaveat second(a int, b int) { a > 0 || b > 0 }\n"
               "definition user {}\ndefinition doc { relation one: user with first\n relation two: user with second\n"
               " permission any = one + two\n}\n",
               "doc:d#one@user:u[first]\ndoc:d#two@user:u[second]", rows);
}

/* ------------------------------------------------------------------- cycles */

static void a_cycle_under_caveats_adds_nothing(void **state)
{
    static const expectation rows[] = {
        { "group:a#member@user:nobody", NULL, "no" },
        { "group:a#member@user:nobody", "{\"hour\":9}", "no" },
        { "group:a#member@user:p", "{\"hour\":9}", "yes" },
        { "group:a#member@user:p", "{\"hour\":1}", "no" },
        { "group:b#member@user:p", NULL, "yes" },
        { "group:a#member@user:q", "{\"hour\":9}", "if grade" },
        { "group:a#member@user:q", "{\"hour\":1,\"grade\":2}", "no" },
        { "group:a#member@user:q", "{\"hour\":9,\"grade\":2}", "yes" },
        { "group:c#member@user:q", NULL, "if grade, hour" },
        { "group:long0#member@user:nobody", NULL, "no" },
        { "group:long0#member@user:r", NULL, "if hour" },
    };
    char lines[4096] = "group:a#member@group:b#member[from:{\"start\":8}]\ngroup:b#member@group:a#member\n"
                       "group:b#member@user:p\ngroup:b#member@user:q[level]\ngroup:c#member@group:a#member\n"
                       "group:a#member@group:c#member\n";

    (void)state;
    /* So long that going round it once takes many rounds. */
    for (size_t i = 0; i < 40; i++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
                 "group:long%zu#member@group:long%zu#member[from:{\"start\":8}]\n", i, (i + 1) % 40);
    strcat(lines, "group:long20#member@user:r");
    CHECK_ROWS(WARD, lines, rows);
}

static void a_cycle_through_an_exclusion_has_no_answer_only_where_its_caveat_holds(void **state)
{
    static const expectation rows[] = {
        { "club:c#inside@user:u", "{\"grade\":1}", "yes" },
        { "club:c#inside@user:u", "{\"grade\":2}", "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "club:c#inside@user:u", NULL, "if grade" },
    };

    (void)state;
    CHECK_ROWS(HOURS "definition club { relation all: user\n relation out: club#inside with level\n"
                     " permission inside = all - out\n}\n",
               "club:c#all@user:u\nclub:c#out@club:c#inside[level]", rows);
}

static void in_a_cycle_too_what_decides_beats_an_error(void **state)
{
    static const expectation rows[] = {
        { "group:a#member@user:u", "{\"divisor\":0,\"grade\":2}", "yes" },
        { "group:a#member@user:u", "{\"divisor\":0,\"grade\":1}", EVAL_ERROR },
        { "group:a#member@user:u", "{\"divisor\":0}", EVAL_ERROR },
        { "group:a#member@user:u", "{\"divisor\":1,\"grade\":1}", "yes" },
        { "group:a#member@user:nobody", "{\"divisor\":0}", "no" },
    };

    (void)state;
    CHECK_ROWS(HOURS
               "definition group { relation member: user with level | user with broken | group#member with broken "
               "| group#member\n}\n",
               "group:a#member@group:b#member[broken]\ngroup:b#member@group:a#member\n"
               "group:b#member@user:u[broken]\ngroup:a#member@user:u[level]",
               rows);
}

#define CLUB                                                             \
    HOURS                                                                \
    "definition club { relation all: user\n relation out: club#inside\n" \
    " relation maybe: user with level\n permission inside = all - out\n" \
    " permission either = inside + maybe\n permission both = either & maybe\n}\n"
#define CLUB_LINES "club:c#all@user:u\nclub:c#out@club:c#inside\nclub:c#maybe@user:u[level]"

static void a_condition_beside_what_has_no_answer_is_an_error_where_nothing_decides(void **state)
{
    static const expectation rows[] = {
        { "club:c#either@user:u", NULL, "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "club:c#both@user:u", NULL, "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "club:c#both@user:u", "{\"grade\":1}", "no" },
        { "club:c#both@user:u", "{\"grade\":2}", "yes" },
    };

    (void)state;
    CHECK_ROWS(CLUB, CLUB_LINES, rows);
}

/* For a max_depth of 4. */
#define TOO_DEEP                                                                                          \
    HOURS                                                                                                 \
    "definition doc { relation parent: doc\n relation viewer: user with level\n"                          \
    " permission far = parent->far\n permission either = far + viewer\n permission both = far & viewer\n" \
    " permission less = viewer - far\n permission rest = far - viewer\n}\n"
#define TOO_DEEP_LINES \
    "doc:a#parent@doc:b\ndoc:b#parent@doc:c\ndoc:c#parent@doc:d\ndoc:d#parent@doc:e\ndoc:a#viewer@user:u[level]"

static void a_caveat_decides_also_beside_a_branch_that_is_too_deep(void **state)
{
    static const expectation rows[] = {
        { "doc:a#either@user:u", NULL, "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "doc:a#either@user:u", "{\"grade\":1}", "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "doc:a#either@user:u", "{\"grade\":2}", "yes" },
        { "doc:a#both@user:u", NULL, "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "doc:a#both@user:u", "{\"grade\":2}", "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "doc:a#both@user:u", "{\"grade\":1}", "no" },
        { "doc:a#less@user:u", "{\"grade\":2}", "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "doc:a#less@user:u", "{\"grade\":1}", "no" },
        { "doc:a#rest@user:u", "{\"grade\":2}", "failed MAXIMUM_DEPTH_EXCEEDED" },
    };
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;

    (void)state;
    options.max_depth = 4;
    world_open(&w, &options, TOO_DEEP, TOO_DEEP_LINES);
    world_expect(&w, rows, COUNT(rows));
    world_close(&w);
}

/* -------------------------------------------------------------------- order */

#define PARTS 4

/* A permission over four relations in some order, with an operator between each two. */
static void write_order(char *schema, size_t size, const size_t *order, char operator)
{
    snprintf(
        schema, size,
        "caveat eab(a int, b int) { a > 0 || b > 0 }\ncaveat bad(d int) { 1 / d == 1 }\ncaveat ccc(c int) { c > 0 }\n"
        "definition user {}\ndefinition doc {\n relation rel0: user with eab\n relation rel1: user with bad\n"
        " relation rel2: user with ccc\n relation rel3: user with eab\n permission any = rel%zu %c rel%zu %c rel%zu %c "
        "rel%zu\n}\n",
        order[0], operator, order[1], operator, order[2], operator, order[3]);
}

static void ask_in_order(const size_t *order, char operator, const char * context, char *answer)
{
    char         schema[1024];
    engine_world w;

    write_order(schema, sizeof schema, order, operator);
    world_open(
        &w, NULL, schema,
        "doc:d#rel0@user:u[eab]\ndoc:d#rel1@user:u[bad]\ndoc:d#rel2@user:u[ccc]\ndoc:d#rel3@user:u[eab:{\"a\":0}]");
    strcpy(answer, world_ask(&w, "doc:d#any@user:u", context));
    world_close(&w);
}

static bool next_order(size_t *order)
{
    size_t i = PARTS - 1;
    size_t j = PARTS - 1;
    size_t swap;

    while (i > 0 && order[i - 1] > order[i])
        i--;
    if (i == 0)
        return false;
    while (order[j] < order[i - 1])
        j--;
    swap         = order[i - 1];
    order[i - 1] = order[j];
    order[j]     = swap;
    for (j = PARTS - 1; i < j; i++, j--) {
        swap     = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    return true;
}

static void the_order_of_operands_does_not_change_the_answer(void **state)
{
    static const char *const contexts[] = { "{}",
                                            "{\"d\":0}",
                                            "{\"d\":1}",
                                            "{\"d\":0,\"c\":1}",
                                            "{\"d\":0,\"c\":0}",
                                            "{\"d\":0,\"a\":1}",
                                            "{\"d\":0,\"a\":0,\"b\":0}",
                                            "{\"d\":2,\"a\":0,\"b\":0}",
                                            "{\"d\":2,\"c\":0}" };

    (void)state;
    for (size_t i = 0; i < COUNT(contexts); i++)
        for (size_t o = 0; o < 2; o++) {
            size_t order[PARTS] = { 0, 1, 2, 3 };
            char   first[128];
            char   other[128];

            ask_in_order(order, "+&"[o], contexts[i], first);
            while (next_order(order)) {
                ask_in_order(order, "+&"[o], contexts[i], other);
                if (strcmp(first, other) != 0)
                    fail_msg("%s: %s and %s", contexts[i], first, other);
            }
        }
}

/* ------------------------------------------------------------------- memory */

/* Each question until it needs no more allocations. */
static void survive(engine_world *w, const failing_memory *memory, const expectation *cases, size_t count)
{
    const size_t live = memory->counts->live_blocks;

    for (size_t i = 0; i < count; i++) {
        bool failed = true;

        for (size_t n = 0; failed; n++) {
            fail_next(memory, n);
            failed = strcmp(world_ask(w, cases[i].question, cases[i].context), "failed nomem") == 0;
            if (!failed)
                assert_string_equal(w->text, cases[i].answer);
            assert_int_equal(memory->counts->live_blocks, live);
        }
        fail_next(memory, SIZE_MAX / 2);
    }
}

static void a_check_beside_what_has_no_answer_survives_every_failed_allocation(void **state)
{
    static const expectation clubs[] = {
        { "club:c#both@user:u", NULL, "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "club:c#both@user:u", "{\"grade\":2}", "yes" },
    };
    static const expectation deep[] = {
        { "doc:a#either@user:u", NULL, "failed MAXIMUM_DEPTH_EXCEEDED" },
        { "doc:a#either@user:u", "{\"grade\":2}", "yes" },
    };
    failing_memory memory = fail_never();
    engine_world   w;

    (void)state;
    world_open(&w, &memory.options, CLUB, CLUB_LINES);
    survive(&w, &memory, clubs, COUNT(clubs));
    world_close(&w);
    memory.options.max_depth = 4;
    world_open(&w, &memory.options, TOO_DEEP, TOO_DEEP_LINES);
    survive(&w, &memory, deep, COUNT(deep));
    world_close(&w);
}

static void a_check_with_caveats_survives_every_failed_allocation(void **state)
{
    static const expectation cases[] = {
        { "doc:d#minus@user:u", NULL, "if grade, hour" },
        { "doc:d#minus@user:u", "{\"hour\":9}", "if grade" },
        { "doc:d#both@user:u", "{\"hour\":9,\"divisor\":\"0x\"}", TYPE_ERROR },
        { "group:a#member@user:u", NULL, "if grade, hour" },
        { "group:a#member@user:u", "{\"hour\":9,\"grade\":3}", "yes" },
    };
    engine_world   w;
    failing_memory memory = fail_never();

    (void)state;
    world_open(&w, &memory.options, WARD, WARD_LINES);
    survive(&w, &memory, cases, COUNT(cases));
    world_close(&w);
}

/* ----------------------------------------------------- unions and no unions */

#define SHAPES(exclusion)                                                                         \
    "use expiration\n"                                                                            \
    "caveat grown(age int) {\n age >= 18\n}\n"                                                    \
    "definition user {}\n"                                                                        \
    "definition group {\n relation member: user | user with grown | group#member with grown\n}\n" \
    "definition team {\n relation member: user | team#member\n}\n"                                \
    "definition folder {\n"                                                                       \
    " relation parent: folder | folder with grown\n"                                              \
    " relation viewer: user | user:* with grown | group#member | group#member with expiration\n"  \
    " relation owner: user with grown\n relation reader: user | team#member\n"                    \
    " permission view = viewer + owner + reader + parent->view" exclusion "\n}\n"

static uint64_t random_state;

static uint32_t random_below(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random_state >> 33) % below);
}

/* Relationships of these shapes. "?" stands for a number. */
static const char *random_row(char *text)
{
    static const char *const forms[] = {
        "folder:f?#viewer@user:u?",
        "folder:f?#viewer@user:*[grown]",
        "folder:f?#viewer@group:g?#member",
        "folder:f?#viewer@group:g?#member[expiration:2000-01-01T00:00:00Z]",
        "folder:f?#viewer@group:g?#member[expiration:2100-01-01T00:00:00Z]",
        "folder:f?#parent@folder:f?",
        "folder:f?#parent@folder:f?[grown]",
        "folder:f?#owner@user:u?[grown]",
        "folder:f?#owner@user:u?[grown:{\"age\":20}]",
        "folder:f?#reader@user:u?",
        "folder:f?#reader@team:t?#member",
        "team:t?#member@user:u?",
        "team:t?#member@team:t?#member",
        "group:g?#member@user:u?",
        "group:g?#member@user:u?[grown:{\"age\":2}]",
        "group:g?#member@group:g?#member[grown]",
    };

    strcpy(text, forms[random_below(COUNT(forms))]);
    for (char *mark = strchr(text, '?'); mark != NULL; mark = strchr(mark, '?'))
        *mark = (char)('0' + random_below(6));
    return text;
}

/* The permission is a union, which is searched, or by an exclusion of nobody something else, which is not. */
static void expect_the_same(engine_world *unions, engine_world *mixed)
{
    static const char *const contexts[] = { NULL, "{\"age\":18}", "{\"age\":17}" };
    char                     question[64];
    char                     said[64];

    for (unsigned i = 0; i < 6 * 6 * COUNT(contexts); i++) {
        const char *context = contexts[i / 36];

        snprintf(question, sizeof question, "folder:f%u#view@user:u%u", i % 6, i / 6 % 6);
        snprintf(said, sizeof said, "%s", world_ask(unions, question, context));
        if (strcmp(world_ask(mixed, question, context), said) != 0)
            fail_msg("%s with %s: %s instead of %s", question, context, said, mixed->text);
    }
}

static void a_union_gives_what_the_same_gives_that_is_none(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        engine_world unions;
        engine_world mixed;
        char         row[128];

        random_state = seed;
        world_open(&unions, NULL, SHAPES(""), NULL);
        world_open(&mixed, NULL, SHAPES(" - nil"), NULL);
        for (unsigned i = 0; i < 40; i++) {
            world_touch(&unions, random_row(row));
            world_touch(&mixed, row);
            if (i % 10 == 5)
                assert_true(lic_graph_merge_all(unions.engine->graph));
            if (i % 5 == 0)
                expect_the_same(&unions, &mixed);
        }
        world_close(&unions);
        world_close(&mixed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caveat_is_true_false_or_conditional),
        cmocka_unit_test(a_parameter_of_its_type_takes_whole_numbers_alone),
        cmocka_unit_test(what_is_stored_with_a_relationship_wins_key_by_key_and_before_it_is_converted),
        cmocka_unit_test(an_error_says_which_caveat_failed_and_why),
        cmocka_unit_test(a_caveat_that_costs_too_much_is_an_error),
        cmocka_unit_test(operators_combine_three_values),
        cmocka_unit_test(what_decides_beats_an_error_on_whichever_side_it_stands),
        cmocka_unit_test(usersets_wildcards_and_arrows_carry_the_caveats_of_their_rows),
        cmocka_unit_test(two_caveated_usersets_of_one_relation_both_count),
        cmocka_unit_test(a_userset_counts_in_each_shape_that_a_relation_allows_it),
        cmocka_unit_test(all_demands_the_caveats_of_all_rows),
        cmocka_unit_test(a_caveat_is_evaluated_once_however_many_relationships_have_it_with_one_context),
        cmocka_unit_test(missing_names_are_sorted_and_come_once),
        cmocka_unit_test(a_cycle_under_caveats_adds_nothing),
        cmocka_unit_test(a_cycle_through_an_exclusion_has_no_answer_only_where_its_caveat_holds),
        cmocka_unit_test(in_a_cycle_too_what_decides_beats_an_error),
        cmocka_unit_test(a_condition_beside_what_has_no_answer_is_an_error_where_nothing_decides),
        cmocka_unit_test(a_caveat_decides_also_beside_a_branch_that_is_too_deep),
        cmocka_unit_test(the_order_of_operands_does_not_change_the_answer),
        cmocka_unit_test(a_check_with_caveats_survives_every_failed_allocation),
        cmocka_unit_test(a_check_beside_what_has_no_answer_survives_every_failed_allocation),
        cmocka_unit_test(a_union_gives_what_the_same_gives_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
