/* core/caveat/checker.c, unify.c, overloads.c, types.c: the type of an expression, or why it has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "caveat/checker.h"
#include "cel_world.h"
#include "failing_memory.h"

typedef struct text_case {
    lic_str     text;
    const char *expected;
} text_case;

#define ASSERT_ALL(function, cases)                              \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) \
    assert_string_equal(function((cases)[i].text), (cases)[i].expected)

static void types_follow_from_the_parts(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("null"), "null" },
        { LICET_STR_INIT("1 + 2"), "int" },
        { LICET_STR_INIT("1u * n"), "uint" },
        { LICET_STR_INIT("s + 'a'"), "string" },
        { LICET_STR_INIT("t - t"), "duration" },
        { LICET_STR_INIT("u + t"), "timestamp" },
        { LICET_STR_INIT("[]"), "list(dyn)" },
        { LICET_STR_INIT("[1, 2.0]"), "list(dyn)" },
        { LICET_STR_INIT("[[], [1]]"), "list(list(int))" },
        { LICET_STR_INIT("[d, 1]"), "list(dyn)" },
        { LICET_STR_INIT("[null, u]"), "list(duration)" },
        { LICET_STR_INIT("{'a': 1, 2: 'b'}"), "map(dyn, dyn)" },
        { LICET_STR_INIT("{'a': {}}"), "map(string, map(dyn, dyn))" },
        { LICET_STR_INIT("[][0] + 1"), "int" },
        { LICET_STR_INIT("m.a.b[0]"), "dyn" },
        { LICET_STR_INIT("d + 1"), "int" },
        { LICET_STR_INIT("d + d"), "dyn" },
        { LICET_STR_INIT("b ? 1 : d"), "dyn" },
        { LICET_STR_INIT("b ? [] : l"), "list(int)" },
        { LICET_STR_INIT("type(1)"), "type(int)" },
        { LICET_STR_INIT("google.protobuf.Timestamp"), "type" },
        { LICET_STR_INIT(".x"), "int" },
        { LICET_STR_INIT("size(s) + s.size()"), "int" },
        { LICET_STR_INIT("ip.in_cidr(s)"), "bool" },
        { LICET_STR_INIT("m.isSubtreeOf({'a': 1})"), "bool" },
        { LICET_STR_INIT("ip == null"), "bool" },
        { LICET_STR_INIT("t.getHours('UTC') + u.getHours()"), "int" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void macros_have_the_type_of_what_they_make(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("l.all(e, e > 0)"), "bool" },
        { LICET_STR_INIT("m.exists(k, k == 'a')"), "bool" },
        { LICET_STR_INIT("l.exists_one(e, e == 1)"), "bool" },
        { LICET_STR_INIT("l.map(e, string(e))"), "list(string)" },
        { LICET_STR_INIT("l.map(e, e > 0, [e])"), "list(list(int))" },
        { LICET_STR_INIT("m.filter(k, k != '')"), "list(string)" },
        { LICET_STR_INIT("d.filter(e, e)"), "list(dyn)" },
        { LICET_STR_INIT("[].map(e, e)"), "list(dyn)" },
        { LICET_STR_INIT("has(m.a) && has(d.a.b)"), "bool" },
        { LICET_STR_INIT("l.map(e, l.map(e, string(e)))"), "list(list(string))" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void optionals_wrap_and_unwrap(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("m.?a"), "optional_type(dyn)" },
        { LICET_STR_INIT("m.?a.b.c"), "optional_type(dyn)" },
        { LICET_STR_INIT("l[?0]"), "optional_type(int)" },
        { LICET_STR_INIT("l[?0].orValue(1)"), "int" },
        { LICET_STR_INIT("o.or(optional.none()).value()"), "int" },
        { LICET_STR_INIT("o.optMap(v, string(v))"), "optional_type(string)" },
        { LICET_STR_INIT("optional.of(o)"), "optional_type(optional_type(int))" },
        { LICET_STR_INIT("[?o, 1]"), "list(int)" },
        { LICET_STR_INIT("{?'a': o}"), "map(string, int)" },
        { LICET_STR_INIT("[?x]"), "1:3 type: expected type optional_type(int) but found int" },
        { LICET_STR_INIT("{?'a': x}"), "1:8 type: expected type optional_type(int) but found int" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void what_does_not_fit_is_told(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("1 == 1.0"), "1:3 type: found no matching overload for \"_==_\" applied to (int, double)" },
        { LICET_STR_INIT("1 + 1u"), "1:3 type: found no matching overload for \"_+_\" applied to (int, uint)" },
        { LICET_STR_INIT("ip == s"),
          "1:4 type: found no matching overload for \"_==_\" applied to (IPAddress, string)" },
        { LICET_STR_INIT("ip < ip"),
          "1:4 type: found no matching overload for \"_<_\" applied to (IPAddress, IPAddress)" },
        { LICET_STR_INIT("x == null"), "1:3 type: found no matching overload for \"_==_\" applied to (int, null)" },
        { LICET_STR_INIT("s.in_cidr('a')"),
          "1:10 type: found no matching overload for \"in_cidr\" applied to string.(string)" },
        { LICET_STR_INIT("size(1, 2)"), "1:5 type: found no matching overload for \"size\" applied to (int, int)" },
        { LICET_STR_INIT("true && 1"), "1:9 type: expected type bool but found int" },
        { LICET_STR_INIT("b ? 1 : 'a'"),
          "1:3 type: found no matching overload for \"_?_:_\" applied to (bool, int, string)" },
        { LICET_STR_INIT("l.all(e, e)"), "1:10 type: expected type bool but found int" },
        { LICET_STR_INIT("l.filter(e, e)"),
          "1:9 type: found no matching overload for \"_?_:_\" applied to (int, list(int), list(int))" },
        { LICET_STR_INIT("x.all(e, true)"), "1:1 type: type int can not be gone through: a list or a map can" },
        { LICET_STR_INIT("x.foo"), "1:2 type: type int does not support field selection" },
        { LICET_STR_INIT("nosuch == 1"),
          "1:1 name: undeclared reference to \"nosuch\": there is no parameter of this name" },
        { LICET_STR_INIT("nosuch(1)"),
          "1:7 name: undeclared reference to \"nosuch\": there is no function of this name" },
        { LICET_STR_INIT("l.existsOne(e, true)"),
          "1:12 name: undeclared reference to \"existsOne\": there is no function of this name" },
        { LICET_STR_INIT("l.map(e, 1) == e"),
          "1:16 name: undeclared reference to \"e\": there is no parameter of this name" },
        { LICET_STR_INIT("x.optMap(v, v)"), "1:9 type: found no matching overload for \"hasValue\" applied to int.()" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void of_several_errors_the_leftmost_is_told(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("q + w"), "1:1 name: undeclared reference to \"q\": there is no parameter of this name" },
        { LICET_STR_INIT("s.contains(q) == w.a"),
          "1:12 name: undeclared reference to \"q\": there is no parameter of this name" },
        { LICET_STR_INIT("x.contains(q)"),
          "1:11 type: found no matching overload for \"contains\" applied to int.(!error!)" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

/* cel-go's slip, on which schemas may rely. */
static void kinds_of_number_compare_once_a_macro_was_entered(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("1 < 2.0"), "1:3 type: found no matching overload for \"_<_\" applied to (int, double)" },
        { LICET_STR_INIT("l.all(e, e < 2.0)"), "bool" },
        { LICET_STR_INIT("l.all(e, e < 2) && 1 < 2.0"), "bool" },
        { LICET_STR_INIT("1 < 2.0 && l.all(e, e < 2)"),
          "1:3 type: found no matching overload for \"_<_\" applied to (int, double)" },
        { LICET_STR_INIT("l.all(e, e == 2.0)"),
          "1:12 type: found no matching overload for \"_==_\" applied to (int, double)" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void parameters_count_as_used_as_spicedb_counts_them(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("x == 1 || s == 'a'"), "x s" },
        { LICET_STR_INIT("{x: s} == {}"), "s" },
        { LICET_STR_INIT("{'a': x} == {}"), "x" },
        { LICET_STR_INIT("[1].all(x, x > 0)"), "x" },
        { LICET_STR_INIT("[1].all(x, true)"), "" },
        { LICET_STR_INIT("[1].filter(x, true) == []"), "x" },
        { LICET_STR_INIT("optional.of(1).optMap(x, 2).hasValue()"), "x" },
        { LICET_STR_INIT("[1].all(e, .x > 0)"), "x" },
        { LICET_STR_INIT("[1].all(x, .x > 0)"), "" },
        { LICET_STR_INIT("has(m.a.b)"), "m" },
    };

    (void)state;
    ASSERT_ALL(cel_used, cases);
}

/* Each map() doubles the type of what it makes. */
static void types_that_explode_are_refused(void **state)
{
    static char  text[4096];
    size_t       size = 1;
    const char  *told;
    const size_t step = sizeof ".map(e, {'a': {e: e}})" - 1;

    (void)state;
    text[0] = 'l';
    for (size_t i = 0; i < 60; i++, size += step)
        memcpy(text + size, ".map(e, {'a': {e: e}})", step);
    told = cel_type((lic_str){ text, size });
    assert_non_null(strstr(told, "limit: the types of the expression are too large to check"));
}

static void types_are_read_from_their_spelling(void **state)
{
    static const struct {
        lic_str spelling;
        bool    fine;
    } cases[] = {
        { LICET_STR_INIT("map(int,string)"), true },
        { LICET_STR_INIT("list(optional(list(dyn)))"), true },
        { LICET_STR_INIT("map(string, map(uint, null_type))"), true },
        { LICET_STR_INIT(""), false },
        { LICET_STR_INIT("list"), false },
        { LICET_STR_INIT("list(int"), false },
        { LICET_STR_INIT("list(int))"), false },
        { LICET_STR_INIT("list(int,int)"), false },
        { LICET_STR_INIT("map(int)"), false },
        { LICET_STR_INIT("int(int)"), false },
        { LICET_STR_INIT("nosuch"), false },
    };
    lic_memory memory;
    lic_arena  arena;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lic_cel_type *type;
        bool                failed;

        assert_int_equal(lic_cel_type_parse(&arena, cases[i].spelling, &type, &failed), cases[i].fine);
        assert_false(failed);
    }
    lic_arena_free(&arena);
}

static void parameters_of_caveats_have_their_cel_types(void **state)
{
    static const lic_caveat_type uint = { LIC_CAVEAT_UINT, NULL };
    static const lic_caveat_type list = { LIC_CAVEAT_LIST, &uint };
    static const lic_caveat_type map  = { LIC_CAVEAT_MAP, &list };
    lic_memory                   memory;
    lic_arena                    arena;
    lic_text                     text;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    lic_text_init(&text, &memory);
    lic_cel_type_print(lic_cel_type_of(&arena, &map), &text);
    assert_true(lic_str_equal(lic_text_str(&text), LIC_STR("map(string, list(int))")));
    lic_text_free(&text);
    lic_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_follow_from_the_parts),
        cmocka_unit_test(macros_have_the_type_of_what_they_make),
        cmocka_unit_test(optionals_wrap_and_unwrap),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(of_several_errors_the_leftmost_is_told),
        cmocka_unit_test(kinds_of_number_compare_once_a_macro_was_entered),
        cmocka_unit_test(parameters_count_as_used_as_spicedb_counts_them),
        cmocka_unit_test(types_that_explode_are_refused),
        cmocka_unit_test(types_are_read_from_their_spelling),
        cmocka_unit_test(parameters_of_caveats_have_their_cel_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
