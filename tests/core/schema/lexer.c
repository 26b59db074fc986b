/* core/schema/lexer.c: tokens, the newline that ends a statement, flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "schema/lexer.h"

static const char *const kind_names[] = {
#define KIND_NAME(name, text) #name,
    LIC_TOKEN_LIST(KIND_NAME)
#undef KIND_NAME
};

/* "IDENTIFIER PLUS END": all tokens up to the end or the first error. */
static const char *kinds_of(lic_str text, char *out, size_t size)
{
    lic_lexer lexer;
    lic_token token;
    size_t    used = 0;

    lic_lexer_init(&lexer, text);
    do {
        int added;

        token = lic_lexer_next(&lexer);
        added = snprintf(out + used, size - used, "%s%s", used == 0 ? "" : " ", kind_names[token.kind]);
        assert_true(added > 0 && (size_t)added < size - used);
        used += (size_t)added;
    } while (token.kind != LIC_TOKEN_END && token.kind != LIC_TOKEN_ERROR);
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

static void punctuation_takes_the_longest_match(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("{}()[]"), "LEFT_BRACE RIGHT_BRACE LEFT_PAREN RIGHT_PAREN LEFT_BRACKET RIGHT_BRACKET END" },
        { LICET_STR_INIT("+-&/=:;#*,?!%<>|"),
          "PLUS MINUS AND SLASH EQUALS COLON SEMICOLON HASH STAR COMMA QUESTION NOT PERCENT LESS GREATER PIPE END" },
        { LICET_STR_INIT("->-=>"), "ARROW MINUS EQUALS GREATER END" },
        { LICET_STR_INIT("......"), "ELLIPSIS ELLIPSIS END" },
        { LICET_STR_INIT("....."), "ELLIPSIS PERIOD PERIOD END" },
        { LICET_STR_INIT(".."), "PERIOD PERIOD END" },
        { LICET_STR_INIT("||| &&&"), "OR_OR PIPE AND_AND AND END" },
        { LICET_STR_INIT("=== !== <== >=="),
          "EQUAL_EQUAL EQUALS NOT_EQUAL EQUALS LESS_EQUAL EQUALS GREATER_EQUAL EQUALS END" },
        { LICET_STR_INIT(""), "END" },
        { LICET_STR_INIT(" \t "), "END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void a_word_is_letters_digits_and_underscores_in_any_order(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("abc"), "IDENTIFIER END" },
        { LICET_STR_INIT("1abc"), "IDENTIFIER END" },
        { LICET_STR_INIT("_"), "IDENTIFIER END" },
        { LICET_STR_INIT("123"), "IDENTIFIER END" },
        { LICET_STR_INIT("1.5"), "IDENTIFIER PERIOD IDENTIFIER END" },
        { LICET_STR_INIT("a-b"), "IDENTIFIER MINUS IDENTIFIER END" },
        { LICET_STR_INIT("gr\xc3\xbc\xc3\x9f"), "IDENTIFIER END" }, /* letters beyond ASCII */
        { LICET_STR_INIT("a\xd9\xa3"), "IDENTIFIER END" },          /* U+0663, a decimal digit */
        { LICET_STR_INIT("a\xc2\xb2"), "IDENTIFIER ERROR" },        /* U+00B2, a digit but not a decimal one */
        { LICET_STR_INIT("a\xcc\x81"), "IDENTIFIER ERROR" },        /* U+0301, a mark */
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void only_six_words_are_always_keywords(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("definition caveat relation permission nil with"),
          "KEYWORD KEYWORD KEYWORD KEYWORD KEYWORD KEYWORD END" },
        { LICET_STR_INIT("Definition NIL withs definitions"), "IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("use any all self expiration and typechecking partial import"),
          "IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void strings_have_no_escapes(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("\"a\" 'b'"), "STRING STRING END" },
        { LICET_STR_INIT("\"\" ''"), "STRING STRING END" },
        { LICET_STR_INIT("\"a\\\"b"), "STRING IDENTIFIER END" }, /* "a\" and b */
        { LICET_STR_INIT("\"it's\" 'say \"x\"'"), "STRING STRING END" },
        { LICET_STR_INIT("\"\"\"a\n\"b\"\n\"\"\" c"), "STRING IDENTIFIER END" },
        { LICET_STR_INIT("'''a\n''' b \"\"\" c"), "STRING IDENTIFIER END" }, /* closed by three double quotes */
        { LICET_STR_INIT("'''a'''"), "ERROR" },
        { LICET_STR_INIT("\"@\\`\""), "STRING END" },
        { LICET_STR_INIT("\"a\nb\""), "ERROR" },
        { LICET_STR_INIT("'a\rb'"), "ERROR" },
        { LICET_STR_INIT("x \"a"), "IDENTIFIER ERROR" },
        { LICET_STR_INIT("\"\"\"a\"\""), "ERROR" },
        { LICET_STR_INIT("\"a\0b\""), "STRING END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void comments_do_not_nest_and_end_where_they_say(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("// a\n/* b\nc */ d"), "LINE_COMMENT NEWLINE BLOCK_COMMENT IDENTIFIER END" },
        { LICET_STR_INIT("// a\rb"), "LINE_COMMENT NEWLINE IDENTIFIER END" },
        { LICET_STR_INIT("/* a /* b */ c */"), "BLOCK_COMMENT IDENTIFIER STAR SLASH END" },
        { LICET_STR_INIT("/**/ /*/ */"), "BLOCK_COMMENT BLOCK_COMMENT END" },
        { LICET_STR_INIT("//"), "LINE_COMMENT END" },
        { LICET_STR_INIT("// a\0b\n"), "LINE_COMMENT NEWLINE END" },
        { LICET_STR_INIT("a /* b"), "IDENTIFIER ERROR" },
        { LICET_STR_INIT("a /*/"), "IDENTIFIER ERROR" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void other_characters_are_errors(void **state)
{
    static const lic_str texts[] = {
        LICET_STR_INIT("@"),
        LICET_STR_INIT("$"),
        LICET_STR_INIT("^"),
        LICET_STR_INIT("~"),
        LICET_STR_INIT("\\"),
        LICET_STR_INIT("`"),
        LICET_STR_INIT("\0"),
        LICET_STR_INIT("\f"),
        LICET_STR_INIT("\v"),
        LICET_STR_INIT("\x7f"),
        LICET_STR_INIT("\xc2\xa0"),     /* no-break space */
        LICET_STR_INIT("\xe2\x80\x8b"), /* zero-width space */
        LICET_STR_INIT("\xe2\x80\xa8"), /* line separator */
        LICET_STR_INIT("\xef\xbb\xbf"), /* byte order mark */
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        lic_lexer lexer;
        lic_token token;

        lic_lexer_init(&lexer, texts[i]);
        token = lic_lexer_next(&lexer);
        assert_int_equal(token.kind, LIC_TOKEN_ERROR);
        assert_int_equal(token.offset, 0);
        assert_int_equal(lexer.fault, LIC_LEXER_CHARACTER);
    }
}

static void a_newline_ends_a_statement_after_what_can_end_one(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("a\n"), "IDENTIFIER TERMINATOR END" },
        { LICET_STR_INIT("nil\n"), "KEYWORD TERMINATOR END" },
        { LICET_STR_INIT("}\n"), "RIGHT_BRACE TERMINATOR END" },
        { LICET_STR_INIT(")\n"), "RIGHT_PAREN TERMINATOR END" },
        { LICET_STR_INIT("*\n"), "STAR TERMINATOR END" },
        { LICET_STR_INIT("a // b\n"), "IDENTIFIER LINE_COMMENT TERMINATOR END" },
        { LICET_STR_INIT("a /* b\n */ \n"), "IDENTIFIER BLOCK_COMMENT TERMINATOR END" },
        { LICET_STR_INIT("a \t\n"), "IDENTIFIER TERMINATOR END" },
        { LICET_STR_INIT("a\n\n\n"), "IDENTIFIER TERMINATOR NEWLINE NEWLINE END" },
        { LICET_STR_INIT("a\r\n"), "IDENTIFIER TERMINATOR NEWLINE END" },
        { LICET_STR_INIT("\na"), "NEWLINE IDENTIFIER END" },
        { LICET_STR_INIT("...\n"), "ELLIPSIS NEWLINE END" },
        { LICET_STR_INIT(">\n]\n"), "GREATER NEWLINE RIGHT_BRACKET NEWLINE END" },
        { LICET_STR_INIT("'s'\n"), "STRING NEWLINE END" },
        { LICET_STR_INIT("+\n-\n&\n->\n|\n"), "PLUS NEWLINE MINUS NEWLINE AND NEWLINE ARROW NEWLINE PIPE NEWLINE END" },
        { LICET_STR_INIT("{\n(\n:\n=\n,\n#\n/\n;\n"),
          "LEFT_BRACE NEWLINE LEFT_PAREN NEWLINE COLON NEWLINE EQUALS NEWLINE COMMA NEWLINE HASH NEWLINE SLASH NEWLINE "
          "SEMICOLON NEWLINE END" },
        { LICET_STR_INIT("// b\n"), "LINE_COMMENT NEWLINE END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void a_flag_makes_keywords_from_its_own_name_on(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("self use self self"), "IDENTIFIER IDENTIFIER KEYWORD KEYWORD END" },
        { LICET_STR_INIT("use expiration expiration and"), "IDENTIFIER KEYWORD KEYWORD KEYWORD END" },
        { LICET_STR_INIT("use partial partial import and"), "IDENTIFIER KEYWORD KEYWORD IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("use import use typechecking import typechecking self"),
          "IDENTIFIER KEYWORD IDENTIFIER KEYWORD KEYWORD KEYWORD IDENTIFIER END" },
        { LICET_STR_INIT("use nosuch self"), "IDENTIFIER IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("use + ( self self"), "IDENTIFIER PLUS LEFT_PAREN KEYWORD KEYWORD END" },
        { LICET_STR_INIT("use use self self"), "IDENTIFIER IDENTIFIER IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("relation use: self self"), "KEYWORD IDENTIFIER COLON KEYWORD KEYWORD END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void no_flag_is_switched_on_behind_a_definition_or_a_caveat(void **state)
{
    static const kinds_case cases[] = {
        { LICET_STR_INIT("definition use self self"), "KEYWORD IDENTIFIER IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("caveat use self self"), "KEYWORD IDENTIFIER IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("use definition self self"), "IDENTIFIER KEYWORD IDENTIFIER IDENTIFIER END" },
        { LICET_STR_INIT("use self definition self"), "IDENTIFIER KEYWORD KEYWORD KEYWORD END" },
    };

    (void)state;
    ASSERT_KINDS(cases);
}

static void tokens_know_their_bytes(void **state)
{
    lic_lexer lexer;
    lic_token token;

    (void)state;
    lic_lexer_init(&lexer, LIC_STR(" gr\xc3\xbc\xc3\x9f->x"));
    token = lic_lexer_next(&lexer);
    assert_int_equal(token.offset, 1);
    assert_int_equal(token.size, 6);
    assert_true(lic_str_equal(lic_token_text(&lexer, token), LIC_STR("gr\xc3\xbc\xc3\x9f")));
    token = lic_lexer_next(&lexer);
    assert_int_equal(token.offset, 7);
    assert_int_equal(token.size, 2);
}

/* SpiceDB reads from a closed channel then, and gets tokens that are all zero. */
static void past_the_end_every_token_is_an_error_at_the_start(void **state)
{
    static const lic_str texts[] = { LICET_STR_INIT("ab"), LICET_STR_INIT("ab @ cd"), LICET_STR_INIT("ab 'cd") };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        lic_lexer lexer;

        lic_lexer_init(&lexer, texts[i]);
        lic_lexer_next(&lexer);
        lic_lexer_next(&lexer);
        for (size_t more = 0; more < 3; more++) {
            lic_token token = lic_lexer_next(&lexer);

            assert_int_equal(token.kind, LIC_TOKEN_ERROR);
            assert_int_equal(token.offset, 0);
            assert_int_equal(token.size, 0);
        }
    }
}

static void flags_are_found_by_name(void **state)
{
    (void)state;
    assert_int_equal(lic_flag_find(LIC_STR("expiration")), LIC_FLAG_EXPIRATION);
    assert_int_equal(lic_flag_find(LIC_STR("import")), LIC_FLAG_IMPORT);
    assert_int_equal(lic_flag_find(LIC_STR("partial")), LIC_FLAG_PARTIAL);
    assert_int_equal(lic_flag_find(LIC_STR("self")), LIC_FLAG_SELF);
    assert_int_equal(lic_flag_find(LIC_STR("typechecking")), LIC_FLAG_TYPECHECKING);
    assert_int_equal(lic_flag_find(LIC_STR("and")), LIC_FLAG_NONE);
    assert_int_equal(lic_flag_find(LIC_STR("deprecation")), LIC_FLAG_NONE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(punctuation_takes_the_longest_match),
        cmocka_unit_test(a_word_is_letters_digits_and_underscores_in_any_order),
        cmocka_unit_test(only_six_words_are_always_keywords),
        cmocka_unit_test(strings_have_no_escapes),
        cmocka_unit_test(comments_do_not_nest_and_end_where_they_say),
        cmocka_unit_test(other_characters_are_errors),
        cmocka_unit_test(a_newline_ends_a_statement_after_what_can_end_one),
        cmocka_unit_test(a_flag_makes_keywords_from_its_own_name_on),
        cmocka_unit_test(no_flag_is_switched_on_behind_a_definition_or_a_caveat),
        cmocka_unit_test(tokens_know_their_bytes),
        cmocka_unit_test(past_the_end_every_token_is_an_error_at_the_start),
        cmocka_unit_test(flags_are_found_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
