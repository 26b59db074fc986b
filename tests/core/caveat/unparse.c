/* core/caveat/unparse.c: expressions as SpiceDB prints them, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "caveat/unparse.h"
#include "cel_world.h"
#include "failing_memory.h"

typedef struct text_case {
    lic_str     text;
    const char *expected;
} text_case;

#define ASSERT_ALL(function, cases)                              \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) \
    assert_string_equal(function((cases)[i].text), (cases)[i].expected)

static void literals_have_one_spelling(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("'a\"\\\\'"), "\"a\\\"\\\\\"" },
        { LICET_STR_INIT("'\\a\\b\\t\\n\\v\\f\\r\\x00\\x7f'"), "\"\\a\\b\\t\\n\\v\\f\\r\\x00\\x7f\"" },
        { LICET_STR_INIT("'\\u00e9\\u200b\\U000e0001\\U0001f600'"), "\"\xc3\xa9\\u200b\\U000e0001\xf0\x9f\x98\x80\"" },
        { LICET_STR_INIT("b'a\\xff'"), "b\"\\141\\377\"" },
        { LICET_STR_INIT("0x1F"), "31" },
        { LICET_STR_INIT("-9223372036854775808"), "-9223372036854775808" },
        { LICET_STR_INIT("5U"), "5u" },
        { LICET_STR_INIT("[1.0, .5, 1e6, 100000.0, 0.0001, 0.00001, 5e-324, -0.0]"),
          "[1.0, 0.5, 1e+06, 100000.0, 0.0001, 1e-05, 5e-324, -0.0]" },
        { LICET_STR_INIT("[true, false, null]"), "[true, false, null]" },
    };

    (void)state;
    ASSERT_ALL(cel_printed, cases);
}

static void only_needed_parentheses_and_cel_gos_own_are_printed(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("((x))"), "x" },
        { LICET_STR_INIT("(x + (x * x))"), "x + x * x" },
        { LICET_STR_INIT("b && (b && b)"), "b && b && b" },
        { LICET_STR_INIT("(x + x).foo == 1 || (l + l)[0] == 1"),
          "1:8 type: type int does not support field selection" },
        { LICET_STR_INIT("(l + l)[0]"), "(l + l)[0]" },
        { LICET_STR_INIT("(s + s).size()"), "(s + s).size()" },
        { LICET_STR_INIT("(b ? s : s).size()"), "(b ? s : s).size()" },
        { LICET_STR_INIT("x == 1 ? x : 2"), "(x == 1) ? x : 2" },
        { LICET_STR_INIT("b ? l[0] : size(s)"), "b ? (l[0]) : size(s)" },
        { LICET_STR_INIT("!(x in l)"), "!(x in l)" },
        { LICET_STR_INIT("!b"), "!b" },
        { LICET_STR_INIT("-(l[0])"), "-(l[0])" },
        { LICET_STR_INIT("o.optMap(v, v).value()"), "(o.optMap(v, v)).value()" },
        { LICET_STR_INIT("l.map(e, o.optMap(v, v).value())"), "l.map(e, o.optMap(v, v).value())" },
    };

    (void)state;
    ASSERT_ALL(cel_printed, cases);
}

/* cel-go prints --x, -d.foo and !-d, which read back as something else. */
static void parentheses_behind_signs_are_kept(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("-(-x)"), "-(-x)" },     { LICET_STR_INIT("(-d).foo"), "(-d).foo" },
        { LICET_STR_INIT("(-d)[0]"), "(-d)[0]" }, { LICET_STR_INIT("!(-d)"), "!(-d)" },
        { LICET_STR_INIT("-(1)"), "-1" },         { LICET_STR_INIT("-(-1)"), "-(-1)" },
    };

    (void)state;
    ASSERT_ALL(cel_printed, cases);
}

static void macros_are_printed_as_calls(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("has( m.a )&&l.all(e,e>0)"), "has(m.a) && l.all(e, e > 0)" },
        { LICET_STR_INIT("l.map(e, e>0, e*2).filter(e,e!=1).exists_one(e,e==4)"),
          "l.map(e, e > 0, e * 2).filter(e, e != 1).exists_one(e, e == 4)" },
        { LICET_STR_INIT("m.?a.b[?0]"), "m.?a.b[?0]" },
        { LICET_STR_INIT("{?'a':m.?b,'c':[?o,1]}"), "{?\"a\": m.?b, \"c\": [?o, 1]}" },
        { LICET_STR_INIT("optional . of(1)"), "optional.of(1)" },
        { LICET_STR_INIT(".size(.s)"), "size(s)" },
        { LICET_STR_INIT("l.all(x, .x == x)"), "l.all(x, .x == x)" },
        { LICET_STR_INIT("google . protobuf.Timestamp"), "google.protobuf.Timestamp" },
    };

    (void)state;
    ASSERT_ALL(cel_printed, cases);
}

static void long_logic_breaks_lines_behind_its_operators(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT(
              "s == 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' || s == 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' || s == 'c' "
              "|| s == 'd'"),
          "s == \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" || s == \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\" ||\n"
          "s == \"c\" || s == \"d\"" },
    };

    (void)state;
    ASSERT_ALL(cel_printed, cases);
}

static void what_is_printed_reads_back_as_the_same_code(void **state)
{
    static const lic_str texts[] = {
        LICET_STR_INIT("b ? -(-x) : (-x + 2) * 3 - (4 - 5)"),
        LICET_STR_INIT("b && (b || !b) && !(x in l) || b == (b == b)"),
        LICET_STR_INIT("l.map(e, e > 0, {string(e): [?o.optMap(v, v + e)]}).exists(e, has(e.a) || e.?b.hasValue())"),
        LICET_STR_INIT("'\\x00\\U000e0001\\'\"' + r'\\d' == s && b'\\xff' == y && 1e300 == f && -0.0 == f"),
        LICET_STR_INIT("l.all(x, .x == x) && type(x) == int && (b ? s : string(x)).size() == 3"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char code[8192];
        char printed[8192];

        snprintf(code, sizeof code, "%s", cel_code(texts[i]));
        snprintf(printed, sizeof printed, "%s", cel_printed(texts[i]));
        assert_string_equal(cel_code((lic_str){ printed, strlen(printed) }), code);
        assert_string_equal(cel_printed((lic_str){ printed, strlen(printed) }), printed);
    }
}

static void printing_survives_every_failed_allocation(void **state)
{
    lic_cel_source source = cel_source(LIC_STR("l.map(e, {'a': [?o, e + 1]}).exists(e, has(e.a) && b || !b)"), true);
    licet_status   status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        lic_memory     counted;
        lic_text       text;

        lic_memory_init(&counted, &memory.allocator, SIZE_MAX);
        lic_text_init(&text, &counted);
        status = lic_cel_format(&counted, &source, &text, NULL);
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        lic_text_free(&text);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_have_one_spelling),
        cmocka_unit_test(only_needed_parentheses_and_cel_gos_own_are_printed),
        cmocka_unit_test(parentheses_behind_signs_are_kept),
        cmocka_unit_test(macros_are_printed_as_calls),
        cmocka_unit_test(long_logic_breaks_lines_behind_its_operators),
        cmocka_unit_test(what_is_printed_reads_back_as_the_same_code),
        cmocka_unit_test(printing_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
