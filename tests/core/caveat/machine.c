/* core/caveat/machine.c: code by hand, unknowns and errors, budgets, failing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "caveat/machine.h"
#include "cel_outcome.h"
#include "failing_memory.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static lic_cel_value integer(int64_t value)
{
    return (lic_cel_value){ .kind = LIC_CEL_INT, .integer = value };
}

/* x > 5 && y > 5, without the compiler. */
static lic_cel_value run_by_hand(lic_cel_value x, lic_cel_value y)
{
    static lic_cel_instruction instructions[] = {
        { LIC_CEL_OP_PARAMETER, 0, 0 },
        { LIC_CEL_OP_CONSTANT, 0, 0 },
        { LIC_CEL_OP_CALL, LIC_CEL_FN_GREATER, LIC_CEL_CALL(2) },
        { LIC_CEL_OP_JUMP_IF_FALSE, 8, 0 },
        { LIC_CEL_OP_PARAMETER, 1, 0 },
        { LIC_CEL_OP_CONSTANT, 0, 0 },
        { LIC_CEL_OP_CALL, LIC_CEL_FN_GREATER, LIC_CEL_CALL(2) },
        { LIC_CEL_OP_AND, 0, 0 },
    };
    lic_cel_value  constants[1] = { integer(5) };
    lic_cel_value  values[2]    = { x, y };
    lic_cel_code   code         = { instructions, COUNT(instructions), constants, 1, 3, 0, NULL };
    lic_cel_budget budget       = { 8, 0 };
    lic_memory     memory;
    lic_arena      arena;
    lic_cel_value  result;
    const char    *limit;

    lic_memory_init(&memory, NULL, 0);
    lic_arena_init(&arena, &memory);
    assert_true(lic_cel_run_code(&code, values, &arena, &budget, &result, &limit));
    assert_null(limit);
    return result;
}

static void code_by_hand_runs_without_memory(void **state)
{
    lic_cel_value unknown = { .kind = LIC_CEL_UNKNOWN };
    lic_cel_value result;

    (void)state;
    result = run_by_hand(integer(9), integer(9));
    assert_int_equal(result.kind, LIC_CEL_BOOL);
    assert_true(result.boolean);
    result = run_by_hand(integer(1), unknown);
    assert_int_equal(result.kind, LIC_CEL_BOOL);
    assert_false(result.boolean);
    result = run_by_hand(unknown, integer(1));
    assert_int_equal(result.kind, LIC_CEL_BOOL);
    assert_false(result.boolean);
    result = run_by_hand(integer(9), unknown);
    assert_int_equal(result.kind, LIC_CEL_UNKNOWN);
    assert_int_equal(result.unknown, 2);
    result = run_by_hand(unknown, unknown);
    assert_int_equal(result.kind, LIC_CEL_UNKNOWN);
    assert_int_equal(result.unknown, 3);
}

/* caveats.md 5 and 15. */
static void unknowns_and_errors_flow_as_in_spicedb(void **state)
{
    static const cel_case cases[] = {
        { "x int, y int", "x > 5 && y > 5", "{}", "missing: x y" },
        { "x int, y int", "x > 5 && y > 5", "{\"x\": 1}", "false" },
        { "x int, y int", "x > 5 && y > 5", "{\"y\": 1}", "false" },
        { "x int, y int", "x > 5 && y > 5", "{\"x\": 9}", "missing: y" },
        { "x int, y int", "x > 5 && y > 5", "{\"x\": 9, \"y\": \"9\"}", "true" },
        { "x int, y int", "x > 5 || 1 / y == 1", "{\"y\": 0}", "missing: x" },
        { "x int, y int", "x > 5 || 1 / y == 1", "{\"x\": 1, \"y\": 0}", "error: division by zero" },
        { "x int, y int", "x > 5 || 1 / y == 1", "{\"x\": 9, \"y\": 0}", "true" },
        { "x int, y int", "1 / y == 1 || x > 5", "{\"y\": 0}", "missing: x" },
        { "x int, y int", "1 / y == 1 || x > 5", "{\"x\": 9, \"y\": 0}", "true" },
        { "x int, y int", "1 / y + x > 0", "{\"y\": 0}", "error: division by zero" },
        { "x int, y int", "x + 1 / y > 0", "{\"y\": 0}", "missing: x" },
        { "x int, y int", "x + y > 0", "{}", "missing: x" },
        { "x int, y int", "[x, y] == [1, 2]", "{}", "missing: x" },
        { "x int, y int", "{x: y} == {1: 2}", "{}", "missing: x" },
        { "x bool, y int, z int", "x ? y : z", "{}", "missing: x" },
        { "x bool, y int, z int", "x ? y : z", "{\"x\": false}", "missing: z" },
        { "x any", "x ? 1 : 2", "{\"x\": 1}", "error: no such overload" },
        { "x any", "x && true", "{\"x\": 1}", "error: no such overload" },
        { "x any", "x || true", "{\"x\": 1}", "true" },
        { "x any", "x && false", "{\"x\": 1}", "false" },
        { "x int", "1 / 0 == 1 || 1 % 0 == 1", "{}", "error: division by zero" },
        { "m map<any>", "m.first.second", "{}", "missing: m" },
        { "m map<any>", "has(m.first)", "{}", "missing: m" },
        { "k list<list<int>>, x int, y int", "k[x][y] == 1", "{\"k\": [[1]]}", "missing: y" },
        { "k list<list<int>>, x int, y int", "k[x][y] == 1", "{}", "missing: k" },
        { "k list<list<int>>, x int, y int", "k[?x][y].hasValue()", "{\"k\": [[1]]}", "missing: y" },
        { "k list<list<int>>, x int", "k[x][0] == 1", "{\"k\": [[1]]}", "missing: x" },
        { "k list<list<int>>, x int", "k[x][1 / 0] == 1", "{\"k\": [[1]]}", "error: division by zero" },
        { "k list<list<int>>, x int", "k[x][1 / 0] == 1", "{\"x\": 0}", "error: division by zero" },
        { "k list<list<int>>, x int", "dyn(k[x])[1 / 0] == 1", "{\"k\": [[1]]}", "missing: x" },
        { "k list<list<int>>, x int", "[k[x]][0][1 / 0] == 1", "{\"k\": [[1]]}", "missing: x" },
        { "k list<list<int>>, x int", "(true ? k[x] : k[0])[1 / 0] == 1", "{\"k\": [[1]]}", "error: division by zero" },
        { "d any", "d[dyn(duration('1s'))] == 1", "{}", "error: invalid qualifier type" },
        { "k list<map<any>>, x int, y string", "k[x].a[y] == 1", "{\"k\": [{}]}", "missing: y" },
        { "k list<map<any>>, x int", "has(k[x].f)", "{\"k\": [{}]}", "missing: x" },
        { "x int, l list<int>", "l.exists(e, e > x)", "{\"l\": []}", "false" },
        { "x int, l list<int>", "l.exists(e, e > x)", "{\"l\": [1]}", "missing: x" },
        { "x int, l list<int>", "l.exists(e, e > x)", "{\"x\": 0}", "missing: l" },
        { "x int, l list<int>", "l.exists(e, e == 2 || e > x)", "{\"l\": [1, 2]}", "true" },
        { "x int, l list<int>", "l.all(e, e != 2 && e > x)", "{\"l\": [1, 2]}", "false" },
        { "x int, l list<int>", "l.all(e, 1 / e > x)", "{\"l\": [0, 1]}", "missing: x" },
        { "l list<int>", "l.exists(e, 1 / e == 1)", "{\"l\": [0, 1]}", "true" },
        { "l list<int>", "l.exists(e, 1 / e == 2)", "{\"l\": [0, 1]}", "error: division by zero" },
        { "l list<int>", "l.exists_one(e, 1 / e == 1)", "{\"l\": [0, 1]}", "error: division by zero" },
        { "l list<int>", "l.exists_one(e, e > 1)", "{\"l\": [1, 2, 3]}", "false" },
        { "l list<int>", "l.exists_one(e, e > 2)", "{\"l\": [1, 2, 3]}", "true" },
        { "l list<int>", "l.map(e, 6 / e)", "{\"l\": [1, 2]}", "[6, 3]" },
        { "l list<int>", "l.map(e, 6 / e)", "{\"l\": [1, 0]}", "error: division by zero" },
        { "l list<int>", "l.map(e, e > 1, e * 2)", "{\"l\": [1, 2, 3]}", "[4, 6]" },
        { "l list<int>, x int", "l.map(e, e > x, e)", "{\"l\": [1]}", "missing: x" },
        { "l list<int>", "l.filter(e, e % 2 == 1)", "{\"l\": [1, 2, 3]}", "[1, 3]" },
        { "m map<int>", "m.filter(k, m[k] > 1)", "{\"m\": {\"a\": 1, \"b\": 2}}", "[\"b\"]" },
        { "m map<int>", "m.all(k, m[k] > 0)", "{\"m\": {\"a\": 1, \"b\": 2}}", "true" },
        { "l list<int>", "l.map(a, l.map(b, a * b))", "{\"l\": [1, 2]}", "[[1, 2], [2, 4]]" },
        { "l list<int>", "l.exists(a, l.all(b, a >= b && [a].exists(c, c == a)))", "{\"l\": [1, 2]}", "true" },
        { "x bool, m map<any>", "x || m.isSubtreeOf({'a': 1}) || true", "{\"m\": {}}",
          "error: internal error: isSubtreeOf needs maps that were given as parameters" },
        { "x bool, m map<any>", "x || m.isSubtreeOf(m)", "{\"m\": {\"a\": [1]}}",
          "error: internal error: isSubtreeOf can not compare lists or bytes" },
        { "x any", "x.all(e, true)", "{\"x\": 5}", "error: only lists and maps can be gone through" },
        { "x int", "optional.of(x).optMap(v, v + 1)", "{}", "missing: x" },
        { "x int", "optional.of(1).optMap(v, v + x)", "{}", "missing: x" },
        { "x int", "optional.of(1).orValue(x)", "{}", "1" },
        { "x int", "optional.none().orValue(x)", "{}", "missing: x" },
        { "x any", "x.orValue(1)", "{\"x\": 1}", "error: no such overload" },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

/* What stands in the brackets then is not even an error. */
static void in_none_nothing_is_looked_for(void **state)
{
    static const cel_case cases[] = {
        { "x int", "optional.none()[?x] == optional.of(1)", "{}", "false" },
        { "x int", "optional.none()[x] == optional.of(1)", "{}", "false" },
        { "x int", "dyn(optional.none())[x] == optional.of(1)", "{}", "false" },
        { "x int", "[[1]][?5][?x] == optional.of(1)", "{}", "false" },
        { "x int", "[[1]][?5][x] == optional.of(1)", "{}", "false" },
        { "x int", "[[1]][?0][?x] == optional.of(1)", "{}", "missing: x" },
        { "x int", "[[1]][?x][?1 / 0] == optional.of(1)", "{\"x\": 5}", "false" },
        { "x int", "[[1]][?x][?1 / 0] == optional.of(1)", "{\"x\": 0}", "error: division by zero" },
        { "x int", "optional.none()[?dyn([x])] == optional.of(1)", "{\"x\": 1}", "false" },
        { "x int", "[optional.none()].exists(o, o[?x].hasValue())", "{}", "false" },
        { "x int, y int", "(y == 1 ? optional.none() : optional.of([1]))[?x].hasValue()", "{\"y\": 1}", "false" },
        { "x int, y int", "(y == 1 ? optional.none() : optional.of([1]))[?x].hasValue()", "{\"y\": 2}", "missing: x" },
        { "x int, m map<map<any>>", "m.?a[?string(x)].hasValue()", "{\"m\": {}}", "false" },
        { "x int, m map<map<any>>", "m.?a[?string(x)].hasValue()", "{\"m\": {\"a\": {}}}", "missing: x" },
        { "x int, m map<map<any>>", "m.?a[?string(x)].hasValue()", "{\"x\": 1}", "missing: m" },
        { "x int, m map<any>", "m.?a.?b[?string(1 / x)].hasValue()", "{\"m\": {}, \"x\": 0}", "false" },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

/* ".x" is always the parameter. So no expression can mean a variable of that name, and filter(), which makes its list of
 * what its first argument says, makes it of the parameter. */
static void a_variable_behind_a_dot_is_beyond_reach(void **state)
{
    static const cel_case cases[] = {
        { "x bool", "[1, 2].exists_one(.e, x)", "{\"x\": true}", "false" },
        { "x int", "[1, 2].all(.x, x == 7 && .x == 7)", "{\"x\": 7}", "true" },
        { "x int", "[1, 2].exists(.x, x == 1)", "{\"x\": 7}", "false" },
        { "x int", "[1, 2].map(.x, x)", "{\"x\": 7}", "[7, 7]" },
        { "x int", "[1, 2].map(.x, x > 0, .x)", "{}", "missing: x" },
        { "x int", "[1, 2].map(x, [5].map(.x, x)) == [[1], [2]] && .x == 7", "{\"x\": 7}", "true" },
        { "x int", "[1, 2].filter(.x, true)", "{\"x\": 7}", "[7, 7]" },
        { "x int", "[1, 2].filter(.x, x < 0)", "{\"x\": 7}", "[]" },
        { "x int", "[1, 2].filter(. x, true)", "{}", "missing: x" },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

/* {"l":[1,1,...]} */
static char *ones(size_t count)
{
    char  *text = malloc(count * 2 + 16);
    size_t at   = (size_t)sprintf(text, "{\"l\":[");

    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(text + at, "%s1", i == 0 ? "" : ",");
    sprintf(text + at, "]}");
    return text;
}

static void work_without_end_is_stopped(void **state)
{
    static const struct {
        const char *expression;
        size_t      items;
        const char *expected;
    } cases[] = {
        { "l.all(a, l.all(b, l.all(c, l.all(d, a + b + c + d > 0))))", 121, "limit: steps of one caveat evaluation" },
        { "l.map(a, l.map(b, l.map(c, l))).size() < 0", 300, "limit: memory of one caveat evaluation" },
        { "l.map(a, string(a)).exists(s, 'x'.matches(s + 'y'))", 200, "limit: steps of one caveat evaluation" },
        { "l.exists(a, timestamp(a).getHours('Europe/Berlin') == 25)", 3000, "false" },
        { "l.exists(a, l == [a])", 300, "false" },
        { "l.all(a, l == l)", 400, "limit: steps of one caveat evaluation" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *context = ones(cases[i].items);

        assert_cel("l list<int>", cases[i].expression, context, cases[i].expected);
        free(context);
    }
}

/* With one step less than it needs an evaluation says so, whatever it was about to do. */
static void every_step_is_counted(void **state)
{
    cel_question q = { .parameters = "l list<int>",
                       .expression = "[1, 2].map(a, a + 1) == l && 'ab'.startsWith('a') ? {'k': l}.k[0] == 2 : false",
                       .context    = "{\"l\": [2, 3]}" };
    char         out[CEL_OUTCOME_SIZE];
    lic_memory   memory;
    uint64_t     steps = 0;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    do {
        q.budget = (lic_cel_budget){ ++steps, 1 << 20 };
        cel_ask(&memory, &q, out);
        assert_true(strcmp(out, "true") == 0 || strcmp(out, "limit: steps of one caveat evaluation") == 0);
        assert_int_equal(memory.used, 0);
    } while (strcmp(out, "true") != 0);
    assert_in_range(steps, 20, 60);
}

static const cel_question allocating[] = {
    { .parameters = "l list<any>, m map<any>",
      .expression =
          "l.map(x, [x, x]) + [[m.k]] != [] && {'a': l, ?'b': optional.of(1)} != m && string(1.5) + 'x' != '' && "
          "optional.of(l).optMap(v, v + v).value() == l + l && 'abc'.matches(string(m.k)) == false && "
          "timestamp('2023-01-01T00:00:00Z').getHours('Europe/Berlin') == 1 && m.a.isSubtreeOf(m.a)",
      .context = "{\"l\": [1, \"a\", {\"x\": []}], \"m\": {\"k\": \"z\", \"a\": {\"b\": null}}}" },
    { .parameters = "i ipaddress, t timestamp, d duration, b bytes, n list<map<int>>",
      .expression = "i.in_cidr('10.0.0.0/8') && t + d > timestamp(0) && string(b) == 'ab' && n[0].a == 1 && "
                    "[1, 2, 3, 4, 5, 6, 7, 8, 9].filter(x, x > 1).size() == 8 && [[[[[1]]]]] == [[[[[1]]]]]",
      .context =
          "{\"i\": \"10.1.1.1\", \"t\": \"2023-01-01T00:00:00Z\", \"d\": \"1h\", \"b\": \"YWI=\", \"n\": [{\"a\": "
          "\"1\"}]}" },
    { .parameters = "x int", .expression = "{'a': 1}['very long key'] == x", .context = "{\"x\": null}" },
    { .parameters = "x map<int>",
      .expression = "x.nothing == 1 || 'a'.matches('(')",
      .context    = "{\"x\": {\"a\": 1}}" },
};

static void assert_survives(const cel_question *q, failing_memory (*failing_at)(size_t n))
{
    char       expected[CEL_OUTCOME_SIZE];
    char       out[CEL_OUTCOME_SIZE];
    lic_memory memory;
    size_t     n = 0;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    cel_ask(&memory, q, expected);
    do {
        failing_memory failing = failing_at(n++);

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        cel_ask(&memory, q, out);
        assert_int_equal(failing.counts->live_blocks, 0);
        assert_true(strcmp(out, "out of memory") == 0 || strcmp(out, expected) == 0);
        if (failing.counts->failures == 0)
            break;
    } while (n < 10000);
    assert_string_equal(out, expected);
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(allocating); i++) {
        assert_survives(&allocating[i], fail_after);
        assert_survives(&allocating[i], fail_from);
    }
}

static void every_byte_of_the_budget_is_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(allocating); i++) {
        cel_question q = allocating[i];
        char         out[CEL_OUTCOME_SIZE];
        char         expected[CEL_OUTCOME_SIZE];
        lic_memory   memory;

        lic_memory_init(&memory, NULL, SIZE_MAX);
        cel_ask(&memory, &q, expected);
        for (size_t bytes = 0; bytes < 20000; bytes += bytes < 1000 ? 8 : 200) {
            q.budget = (lic_cel_budget){ 100000, bytes };
            cel_ask(&memory, &q, out);
            if (strcmp(out, expected) == 0)
                break;
            assert_string_equal(out, "limit: memory of one caveat evaluation");
        }
        assert_string_equal(out, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_by_hand_runs_without_memory),
        cmocka_unit_test(unknowns_and_errors_flow_as_in_spicedb),
        cmocka_unit_test(in_none_nothing_is_looked_for),
        cmocka_unit_test(a_variable_behind_a_dot_is_beyond_reach),
        cmocka_unit_test(work_without_end_is_stopped),
        cmocka_unit_test(every_step_is_counted),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(every_byte_of_the_budget_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
