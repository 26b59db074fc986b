/* core/caveat/lexer.c, literal.c: tokens, and what literals are worth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "caveat/lexer.h"

static const char *const kind_names[] = {
#define KIND_NAME(name, called) #name,
    LIC_CEL_TOKEN_LIST(KIND_NAME)
#undef KIND_NAME
};

/* "IDENT PLUS END": all tokens up to the end or the first error. */
static const char *kinds_of(lic_str text, char *out, size_t size)
{
    lic_cel_token token = { 0 };
    size_t        used  = 0;

    do {
        int added;

        token = lic_cel_lex(text, token.offset + token.size);
        added = snprintf(out + used, size - used, "%s%s", used == 0 ? "" : " ", kind_names[token.kind]);
        assert_true(added > 0 && (size_t)added < size - used);
        used += (size_t)added;
    } while (token.kind != LIC_CEL_TOKEN_END && token.kind != LIC_CEL_TOKEN_BAD);
    return out;
}

typedef struct kinds_case {
    lic_str     text;
    const char *kinds;
} kinds_case;

static void assert_kinds(const kinds_case *cases, size_t count)
{
    char kinds[1024];

    for (size_t i = 0; i < count; i++)
        assert_string_equal(kinds_of(cases[i].text, kinds, sizeof kinds), cases[i].kinds);
}

#define ASSERT_KINDS(cases) assert_kinds((cases), sizeof(cases) / sizeof *(cases))

static void the_longest_token_wins(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT(""), "END" },
        { LICET_STR_INIT("== = "), "EQUAL BAD" },
        { LICET_STR_INIT("!=!<=<>=>&&||"), "NOT_EQUAL NOT LESS_EQUAL LESS GREATER_EQUAL GREATER AND OR END" },
        { LICET_STR_INIT("[]{}().,-?:+*/%"), "LEFT_BRACKET RIGHT_BRACKET LEFT_BRACE RIGHT_BRACE LEFT_PAREN RIGHT_PAREN "
                                             "DOT COMMA MINUS QUESTION COLON PLUS "
                                             "STAR SLASH PERCENT END" },
        { LICET_STR_INIT("in inx true falsey null _a A9"), "IN IDENT TRUE IDENT NULL IDENT IDENT END" },
        { LICET_STR_INIT("a // b\n\t\r\f c"), "IDENT IDENT END" },
        { LICET_STR_INIT("a & b"), "IDENT BAD" },
        { LICET_STR_INIT("`a`"), "BAD" },
        { LICET_STR_INIT("a\xc3\xa9"), "IDENT BAD" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void numbers_end_where_cel_says(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("0 12 0x1F 5u 5U 0xffu"), "INT INT INT UINT UINT UINT END" },
        { LICET_STR_INIT("1.5 .5 1e3 1E-3 1.5e+3"), "FLOAT FLOAT FLOAT FLOAT FLOAT END" },
        { LICET_STR_INIT("1."), "INT DOT END" },
        { LICET_STR_INIT("1.e3"), "INT DOT IDENT END" },
        { LICET_STR_INIT("1e 1e+"), "INT IDENT INT IDENT PLUS END" },
        { LICET_STR_INIT("0X1F 0x"), "INT IDENT INT IDENT END" },
        { LICET_STR_INIT("1.5u"), "FLOAT IDENT END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void strings_end_at_their_own_quote(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("'' \"\" '\"' \"'\""), "STRING STRING STRING STRING END" },
        { LICET_STR_INIT("'''a'b\n''' \"\"\"\"\"\""), "STRING STRING END" },
        { LICET_STR_INIT("r'\\' R\"\\d\" b'a' B\"a\" br'\\' bR''"), "STRING STRING BYTES BYTES BYTES BYTES END" },
        { LICET_STR_INIT("rb''"), "IDENT STRING END" },
        { LICET_STR_INIT("'a"), "BAD" },
        { LICET_STR_INIT("'a\n'"), "BAD" },
        { LICET_STR_INIT("'''a'"), "BAD" },
        { LICET_STR_INIT("'\\'"), "BAD" },
        { LICET_STR_INIT("'\\q'"), "BAD" },
        { LICET_STR_INIT("'\\400' "), "BAD" },
        { LICET_STR_INIT("'\\u12'"), "BAD" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void escapes_become_what_they_stand_for(void **state)
{
    static const struct {
        lic_str literal, value;
        bool    fine;
    } cases[] = {
        { LICET_STR_INIT("''"), LICET_STR_INIT(""), true },
        { LICET_STR_INIT("'a\\a\\b\\f\\n\\r\\t\\v'"), LICET_STR_INIT("a\a\b\f\n\r\t\v"), true },
        { LICET_STR_INIT("'\\\\\\?\\'\\\"\\`'"), LICET_STR_INIT("\\?'\"`"), true },
        { LICET_STR_INIT("'\\377\\xff\\XfF'"), LICET_STR_INIT("\xc3\xbf\xc3\xbf\xc3\xbf"), true },
        { LICET_STR_INIT("b'\\377\\xff\\101'"), LICET_STR_INIT("\xff\xff\x41"), true },
        { LICET_STR_INIT("'\\u20ac\\U0001f600'"), LICET_STR_INIT("\xe2\x82\xac\xf0\x9f\x98\x80"), true },
        { LICET_STR_INIT("r'\\u20ac\\'"), LICET_STR_INIT("\\u20ac\\"), true },
        { LICET_STR_INIT("'''a\r\nb\rc'''"), LICET_STR_INIT("a\nb\nc"), true },
        { LICET_STR_INIT("r'''\r\n'''"), LICET_STR_INIT("\n"), true },
        { LICET_STR_INIT("'\\ud800\\U0000dfff'"), LICET_STR_INIT("\xef\xbf\xbd\xef\xbf\xbd"), true },
        { LICET_STR_INIT("'\\U00110000'"), LICET_STR_INIT(""), false },
        { LICET_STR_INIT("b'\\u0041'"), LICET_STR_INIT(""), false },
    };
    lic_memory memory;
    lic_arena  arena;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lic_str     value;
        const char *why;

        assert_int_equal(lic_cel_read_string(&arena, cases[i].literal, &value, &why), cases[i].fine);
        if (cases[i].fine)
            assert_true(lic_str_equal(value, cases[i].value));
        else
            assert_non_null(why);
    }
    lic_arena_free(&arena);
}

static void integers_fit_or_are_refused(void **state)
{
    int64_t  integer;
    uint64_t uinteger;

    (void)state;
    assert_true(lic_cel_read_int(LIC_STR("9223372036854775807"), false, &integer));
    assert_int_equal(integer, INT64_MAX);
    assert_false(lic_cel_read_int(LIC_STR("9223372036854775808"), false, &integer));
    assert_true(lic_cel_read_int(LIC_STR("9223372036854775808"), true, &integer));
    assert_int_equal(integer, INT64_MIN);
    assert_false(lic_cel_read_int(LIC_STR("9223372036854775809"), true, &integer));
    assert_true(lic_cel_read_int(LIC_STR("0"), true, &integer));
    assert_int_equal(integer, 0);
    assert_true(lic_cel_read_int(LIC_STR("0x7fffFFFFffffffff"), false, &integer));
    assert_int_equal(integer, INT64_MAX);
    assert_true(lic_cel_read_uint(LIC_STR("18446744073709551615u"), &uinteger));
    assert_int_equal(uinteger, UINT64_MAX);
    assert_false(lic_cel_read_uint(LIC_STR("18446744073709551616u"), &uinteger));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_token_wins),         cmocka_unit_test(numbers_end_where_cel_says),
        cmocka_unit_test(strings_end_at_their_own_quote), cmocka_unit_test(escapes_become_what_they_stand_for),
        cmocka_unit_test(integers_fit_or_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
