/* core/caveat/parser.c, macros.c: what is refused and where, how operators bind, how deep an expression may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "caveat/parser.h"
#include "cel_world.h"
#include "failing_memory.h"

typedef struct text_case {
    lic_str     text;
    const char *expected;
} text_case;

#define ASSERT_ALL(function, cases)                              \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) \
    assert_string_equal(function((cases)[i].text), (cases)[i].expected)

static void operators_bind_as_in_cel(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("1+2*3-4"), "1 + 2 * 3 - 4" },
        { LICET_STR_INIT("(1+2)*3"), "(1 + 2) * 3" },
        { LICET_STR_INIT("1-(2-3)"), "1 - (2 - 3)" },
        { LICET_STR_INIT("b||b&&b"), "b || b && b" },
        { LICET_STR_INIT("(b||b)&&b"), "(b || b) && b" },
        { LICET_STR_INIT("x<1==b"), "x < 1 == b" },
        { LICET_STR_INIT("b==(x<1)"), "b == (x < 1)" },
        { LICET_STR_INIT("!b==b"), "!b == b" },
        { LICET_STR_INIT("-x*x"), "-x * x" },
        { LICET_STR_INIT("b?1:b?2:3"), "b ? 1 : (b ? 2 : 3)" },
        { LICET_STR_INIT("{b?1:2:3}"), "{b ? 1 : 2: 3}" },
        { LICET_STR_INIT("!!!b"), "!b" },
        { LICET_STR_INIT("--x"), "x" },
        { LICET_STR_INIT("-1-1"), "-1 - 1" },
        { LICET_STR_INIT("- 1"), "-1" },
        { LICET_STR_INIT("[1,].size()"), "[1].size()" },
        { LICET_STR_INIT("[,]"), "[]" },
        { LICET_STR_INIT("{,}"), "{}" },
        { LICET_STR_INIT("m.for.while"), "m.for.while" },
    };

    (void)state;
    ASSERT_ALL(cel_printed, cases);
}

static void mistakes_are_told_with_their_place(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT(""), "1:1 syntax: the expression ends where an expression was expected" },
        { LICET_STR_INIT("x =="), "1:5 syntax: the expression ends where an expression was expected" },
        { LICET_STR_INIT("x == == 1"), "1:6 syntax: found \"==\" where an expression was expected" },
        { LICET_STR_INIT("(x"), "1:3 syntax: the expression ends where \")\" was expected" },
        { LICET_STR_INIT("x)"), "1:2 syntax: found \")\" where the end of the expression was expected" },
        { LICET_STR_INIT("[1 2]"), "1:4 syntax: found \"2\" where an operator was expected" },
        { LICET_STR_INIT("[1)"), "1:3 syntax: found \")\" where \"]\" was expected" },
        { LICET_STR_INIT("{1}"), "1:3 syntax: found \"}\" where \":\" was expected" },
        { LICET_STR_INIT("{1: 2, 3}"), "1:9 syntax: found \"}\" where \":\" was expected" },
        { LICET_STR_INIT("size(1,)"), "1:8 syntax: found \")\" where an expression was expected" },
        { LICET_STR_INIT("b ? 1"), "1:6 syntax: the expression ends where \":\" was expected" },
        { LICET_STR_INIT("b ? b ? 1 : 2 : 3"), "1:7 syntax: found \"?\" where \":\" was expected" },
        { LICET_STR_INIT("s.1"), "1:2 syntax: found \".1\" where an operator was expected" },
        { LICET_STR_INIT("s.in"), "1:3 syntax: found \"in\" where the name of a field was expected" },
        { LICET_STR_INIT("s ==\n  'a\xc3\xa9' 'b'"), "2:8 syntax: found \"'b'\" where an operator was expected" },
        { LICET_STR_INIT("-!b"), "1:2 syntax: found \"!\" where an expression was expected" },
        { LICET_STR_INIT("for"), "1:1 syntax: \"for\" is a reserved word" },
        { LICET_STR_INIT("while(1)"), "1:1 syntax: \"while\" is a reserved word" },
        { LICET_STR_INIT("in"), "1:1 syntax: found \"in\" where an expression was expected" },
        { LICET_STR_INIT("9223372036854775808"),
          "1:1 syntax: \"9223372036854775808\" does not fit into an int (64 bits)" },
        { LICET_STR_INIT("1 + -9223372036854775809"),
          "1:5 syntax: \"9223372036854775809\" does not fit into an int (64 bits)" },
        { LICET_STR_INIT("18446744073709551616u"),
          "1:1 syntax: \"18446744073709551616u\" does not fit into a uint (64 bits)" },
        { LICET_STR_INIT("1e400"), "1:1 syntax: \"1e400\" does not fit into a double" },
        { LICET_STR_INIT("'a\\q'"), "1:3 syntax: no such escape in a string" },
        { LICET_STR_INIT("'\\U00110000'"), "1:1 syntax: the escape is not a Unicode code point" },
        { LICET_STR_INIT("'a"), "1:1 syntax: the string is not closed" },
        { LICET_STR_INIT("x = 1"), "1:3 syntax: one \"=\" means nothing here; \"==\" compares" },
        { LICET_STR_INIT("m.`a`"), "1:3 syntax: names in backticks are not supported" },
        { LICET_STR_INIT("x /* c */"), "1:4 syntax: found \"*\" where an expression was expected" },
        { LICET_STR_INIT("\xff"), "0:0 encoding: the expression is not valid UTF-8" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void macros_want_a_plain_variable_and_a_field(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("l.all(m.y, b)"),
          "1:8 syntax: the first argument must be a plain name: that of the variable" },
        { LICET_STR_INIT("l.map(1, 2)"), "1:7 syntax: the first argument must be a plain name: that of the variable" },
        { LICET_STR_INIT("o.optMap(.e, 2)"),
          "1:11 syntax: the first argument must be a plain name: that of the variable" },
        { LICET_STR_INIT("l.exists(__result__, b)"), "1:10 syntax: a variable can not be called \"__result__\"" },
        { LICET_STR_INIT("has(m)"), "1:5 syntax: has() wants a field, as in has(a.b)" },
        { LICET_STR_INIT("has(m.?a)"), "1:6 syntax: has() wants a field, as in has(a.b)" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

static void messages_are_refused_by_name(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("google.protobuf.Int32Value{value: 1} == 1"),
          "1:27 type: licet does not support messages of protobuf: \"google.protobuf.Int32Value\"" },
        { LICET_STR_INIT("google.protobuf.Any == type"),
          "1:16 type: licet does not support messages of protobuf: \"google.protobuf.Any\"" },
        { LICET_STR_INIT("Foo{}"), "1:4 type: there is no message type \"Foo\"" },
        { LICET_STR_INIT("size(s){}"), "1:8 syntax: found \"{\" where an operator was expected" },
    };

    (void)state;
    ASSERT_ALL(cel_type, cases);
}

/* count times `open`, the middle, count times `close`. */
static licet_kind nested(const char *open, const char *middle, const char *close, size_t count)
{
    lic_memory    memory;
    lic_arena     arena;
    lic_text      text;
    lic_cel_node *root;
    licet_error  *error = NULL;
    licet_kind    kind;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    lic_text_init(&text, &memory);
    for (size_t i = 0; i < count; i++)
        lic_text_add(&text, (lic_str){ open, strlen(open) });
    lic_text_add(&text, (lic_str){ middle, strlen(middle) });
    for (size_t i = 0; i < count; i++)
        lic_text_add(&text, (lic_str){ close, strlen(close) });
    lic_cel_parse(&arena, lic_text_str(&text), &root, &error);
    kind = licet_error_kind(error);
    licet_error_free(error);
    lic_text_free(&text);
    lic_arena_free(&arena);
    return kind;
}

/* most: the most levels; cel-go's number, found out by trying. */
static void nesting_ends_where_spicedb_ends_it(void **state)
{
    static const struct {
        const char *open, *middle, *close;
        size_t      most;
    } cases[] = {
        { "(", "x", ")", 249 },
        { "[", "", "]", 250 },
        { "[", "x", "]", 249 },
        { "{1: ", "x", "}", 249 },
        { "dyn(", "x", ")", 249 },
        { "d[", "x", "]", 249 },
        { "x + (", "x", ")", 124 },
        { "x + x * (", "x", ")", 83 },
        { "d == (", "d", ")", 124 },
        { "b ? x : ", "x", "", 249 },
        { "!(", "b", ")", 249 },
        { "", "d", ".a", 249 },
        { "", "x", " + x", 249 },
        { "", "d", "[0]", 249 },
        { "l.all(e, ", "b", ")", 124 },
        { "l.map(e, ", "x", ")", 83 },
        { "l.map(e, b, ", "x", ")", 62 },
        { "", "l", ".map(e, e)", 247 },
        { "", "l", ".filter(e, b)", 246 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(nested(cases[i].open, cases[i].middle, cases[i].close, cases[i].most), LICET_KIND_NONE);
        assert_int_equal(nested(cases[i].open, cases[i].middle, cases[i].close, cases[i].most + 1), LICET_KIND_LIMIT);
        assert_int_equal(nested(cases[i].open, cases[i].middle, cases[i].close, 6000), LICET_KIND_LIMIT);
    }
}

static void chains_of_logic_and_signs_have_no_depth(void **state)
{
    (void)state;
    assert_int_equal(nested("", "b", " && b", 10000), LICET_KIND_NONE);
    assert_int_equal(nested("", "b", " || b", 10000), LICET_KIND_NONE);
    assert_int_equal(nested("!", "b", "", 90000), LICET_KIND_NONE);
    assert_int_equal(nested("-", "x", "", 90000), LICET_KIND_NONE);
}

static void text_past_100_000_bytes_is_refused(void **state)
{
    (void)state;
    assert_int_equal(nested("!", "b", "", 99999), LICET_KIND_NONE);
    assert_int_equal(nested("!", "b", "", 100000), LICET_KIND_LIMIT);
    assert_int_equal(nested(" ", "b", " ", 100000), LICET_KIND_NONE);
}

static void parsing_survives_every_failed_allocation(void **state)
{
    const lic_str text =
        LIC_STR("l.map(e, b, {'a\\n': [?o.optMap(v, v + 1)], ?'b': m.?a}).exists(e, has(e.a) && b || !b ? "
                "x == -1 : s.size() < 3)");
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        lic_memory     counted;
        lic_arena      arena;
        lic_cel_node  *root;

        lic_memory_init(&counted, &memory.allocator, SIZE_MAX);
        lic_arena_init(&arena, &counted);
        status = lic_cel_parse(&arena, text, &root, NULL);
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        lic_arena_free(&arena);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_cel),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(macros_want_a_plain_variable_and_a_field),
        cmocka_unit_test(messages_are_refused_by_name),
        cmocka_unit_test(nesting_ends_where_spicedb_ends_it),
        cmocka_unit_test(chains_of_logic_and_signs_have_no_depth),
        cmocka_unit_test(text_past_100_000_bytes_is_refused),
        cmocka_unit_test(parsing_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
