/* core/base/error.c: errors, their messages and their positions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

/* Errors come from malloc and not from a licet_allocator, so this file builds the one it tests with a malloc of
 * its own, which can fail. */
static bool error_malloc_fails;

static void *error_malloc(size_t size)
{
    return error_malloc_fails ? NULL : malloc(size);
}

#define malloc(size) error_malloc(size)
#include "../../../core/base/error.c" /* NOLINT(bugprone-suspicious-include) */
#undef malloc

#define assert_str_equal(actual, expected)         \
    do {                                           \
        licet_str actual_ = (actual);              \
        char      text_[2048];                     \
        assert_true(actual_.size < sizeof text_);  \
        memcpy(text_, actual_.data, actual_.size); \
        text_[actual_.size] = '\0';                \
        assert_string_equal(text_, expected);      \
    } while (0)

static licet_error *quoted(lic_str text)
{
    licet_error *error = NULL;

    assert_int_equal(lic_fail(&error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "%Q", &text),
                     LICET_INVALID_ARGUMENT);
    return error;
}

static void assert_quoted(lic_str text, const char *expected)
{
    licet_error *error = quoted(text);

    assert_str_equal(licet_error_message(error), expected);
    licet_error_free(error);
}

static void an_error_says_what_it_was_made_with(void **state)
{
    lic_str      name  = LIC_STR("wiever");
    licet_error *error = NULL;

    (void)state;
    assert_int_equal(lic_fail_reason(&error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                                     (lic_position){ 3, 14 }, "no relation %Q in definition %Q", &name,
                                     &LIC_STR("document")),
                     LICET_NOT_FOUND);
    assert_int_equal(licet_error_status(error), LICET_NOT_FOUND);
    assert_int_equal(licet_error_kind(error), LICET_KIND_NAME);
    assert_int_equal(licet_error_line(error), 3);
    assert_int_equal(licet_error_column(error), 14);
    assert_str_equal(licet_error_reason(error), "UNKNOWN_RELATION_OR_PERMISSION");
    assert_str_equal(licet_error_message(error), "no relation \"wiever\" in definition \"document\"");
    licet_error_free(error);
}

static void an_error_without_reason_or_place_has_empty_ones(void **state)
{
    licet_error *error = NULL;

    (void)state;
    assert_int_equal(lic_fail(&error, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "the engine is closed"),
                     LICET_CLOSED);
    assert_non_null(licet_error_reason(error).data);
    assert_int_equal(licet_error_reason(error).size, 0);
    assert_int_equal(licet_error_line(error), 0);
    assert_int_equal(licet_error_column(error), 0);
    licet_error_free(error);
}

static void no_error_reads_as_ok(void **state)
{
    (void)state;
    assert_int_equal(licet_error_status(NULL), LICET_OK);
    assert_int_equal(licet_error_kind(NULL), LICET_KIND_NONE);
    assert_int_equal(licet_error_message(NULL).size, 0);
    assert_int_equal(licet_error_reason(NULL).size, 0);
    assert_int_equal(licet_error_line(NULL), 0);
    assert_int_equal(licet_error_column(NULL), 0);
    licet_error_free(NULL);
    assert_null(lic_error_copy(NULL));
    lic_error_move(NULL, 1, 1);
    lic_error_place(NULL, (lic_position){ 1, 1 });
}

static void every_conversion_is_written_as_printf_would(void **state)
{
    licet_error *error = NULL;

    (void)state;
    lic_fail(&error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "%s|%.*s|%d|%d|%d|%u|%zu|%llu|%c|%%|%s|", "text",
             LIC_STR_ARG(LIC_STR("view")), 0, INT32_MIN, 42, UINT32_MAX, SIZE_MAX, 18446744073709551615ULL, 'x', "");
    assert_str_equal(licet_error_message(error),
                     "text|view|0|-2147483648|42|4294967295|18446744073709551615|18446744073709551615|x|%||");
    licet_error_free(error);
}

static void quoted_input_can_not_break_the_line_or_hide(void **state)
{
    (void)state;
    assert_quoted(LIC_STR("plain"), "\"plain\"");
    assert_quoted(LIC_STR(""), "\"\"");
    assert_quoted((lic_str){ NULL, 0 }, "\"\"");
    assert_quoted(LIC_STR("a\"b\\c"), "\"a\\\"b\\\\c\"");
    assert_quoted(LIC_STR("a\nb\rc\td"), "\"a\\nb\\rc\\td\"");
    assert_quoted(LIC_STR("\0\x01\x1b[31m\x7f"), "\"\\x00\\x01\\x1b[31m\\x7f\"");
    assert_quoted(LIC_STR("\xc2\x80\xc2\x9f\xc2\xa0"), "\"\\u0080\\u009f\xc2\xa0\"");
    assert_quoted(LIC_STR("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f"), "\"\\u202e\\u2066\\u061c\\u200f\"");
    assert_quoted(LIC_STR("\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf"), "\"\\u2028\\u2029\\ufeff\"");
    assert_quoted(LIC_STR("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
}

static void broken_utf_8_is_shown_byte_by_byte(void **state)
{
    (void)state;
    assert_quoted(LIC_STR("\xff"), "\"\\xff\"");
    assert_quoted(LIC_STR("a\xc3"), "\"a\\xc3\"");
    assert_quoted(LIC_STR("\xed\xa0\x80z"), "\"\\xed\\xa0\\x80z\"");
    assert_quoted(LIC_STR("\xc0\x80"), "\"\\xc0\\x80\"");
}

#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void quoted_input_is_cut_at_64_bytes_between_characters(void **state)
{
    (void)state;
    assert_quoted(LIC_STR(SIXTY "abcd"), "\"" SIXTY "abcd\"");
    assert_quoted(LIC_STR(SIXTY "abcde"), "\"" SIXTY "abcd\"...");
    assert_quoted(LIC_STR(SIXTY "ab\xc3\xa4"), "\"" SIXTY "ab\xc3\xa4\"");
    assert_quoted(LIC_STR(SIXTY "abc\xc3\xa4"), "\"" SIXTY "abc\"...");
    assert_quoted(LIC_STR(SIXTY "a\xf0\x9f\x98\x80"), "\"" SIXTY "a\"...");
    assert_quoted(LIC_STR(SIXTY "abc\xff\xff"), "\"" SIXTY "abc\\xff\"...");
}

static void other_texts_are_escaped_too(void **state)
{
    licet_error *error = NULL;

    (void)state;
    lic_fail(&error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE, "said: %s, %.*s, %c", "it's \"so\"\n", 2,
             "\xff!", '\x80');
    assert_str_equal(licet_error_message(error), "said: it's \"so\"\\n, \\xff!, \\x80");
    licet_error_free(error);
}

static void a_message_is_cut_at_1024_bytes_between_characters(void **state)
{
    char         text[2000];
    licet_error *error = NULL;

    (void)state;
    memset(text, 'x', sizeof text);
    lic_fail(&error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "%.*s", 2000, text);
    assert_int_equal(licet_error_message(error).size, 1024);
    licet_error_free(error);

    /* A euro sign of three bytes does not fit into the last two; nothing that follows may fill the hole. */
    error      = NULL;
    text[1022] = '\xe2';
    text[1023] = '\x82';
    text[1024] = '\xac';
    lic_fail(&error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "%.*s%c%d", 2000, text, 'y', 1);
    assert_int_equal(licet_error_message(error).size, 1022);
    assert_int_equal(lic_utf8_check(licet_error_message(error)), 1022);
    licet_error_free(error);

    /* No size of a text is negative; a text of 2 GiB and more has one in a "%.*s". */
    error = NULL;
    lic_fail(&error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "<%.*s>", -1, text);
    assert_str_equal(licet_error_message(error), "<>");
    licet_error_free(error);

    error = NULL;
    memset(text, '\n', sizeof text);
    lic_fail(&error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "-%.*s", 2000, text);
    assert_int_equal(licet_error_message(error).size, 1023);
    licet_error_free(error);
}

static void nobody_listening_is_fine(void **state)
{
    (void)state;
    assert_int_equal(lic_fail(NULL, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "%d", 1), LICET_CLOSED);
    assert_int_equal(lic_fail_reason(NULL, LICET_NOT_FOUND, LICET_KIND_NAME, "X", LIC_NOWHERE, "x"), LICET_NOT_FOUND);
    assert_int_equal(lic_fail_memory(NULL), LICET_OUT_OF_MEMORY);
}

static void the_first_error_stays(void **state)
{
    licet_error *error = NULL;
    licet_error *first;

    (void)state;
    lic_fail(&error, LICET_NOT_FOUND, LICET_KIND_NAME, LIC_NOWHERE, "first");
    first = error;
    assert_int_equal(lic_fail(&error, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "second"), LICET_CLOSED);
    assert_int_equal(lic_fail_memory(&error), LICET_OUT_OF_MEMORY);
    assert_ptr_equal(error, first);
    assert_str_equal(licet_error_message(error), "first");
    licet_error_free(error);
}

static void assert_out_of_memory(licet_error *error)
{
    assert_int_equal(licet_error_status(error), LICET_OUT_OF_MEMORY);
    assert_int_equal(licet_error_kind(error), LICET_KIND_NOMEM);
    assert_str_equal(licet_error_message(error), "out of memory");
    assert_str_equal(licet_error_reason(error), "");
    assert_int_equal(licet_error_line(error), 0);
}

static void being_out_of_memory_needs_no_memory(void **state)
{
    licet_error *error = NULL;
    licet_error *copy;

    (void)state;
    error_malloc_fails = true;
    assert_int_equal(lic_fail_memory(&error), LICET_OUT_OF_MEMORY);
    assert_out_of_memory(error);
    copy = lic_error_copy(error);
    assert_out_of_memory(copy);
    lic_error_move(error, 1, 1);
    lic_error_place(error, (lic_position){ 1, 1 });
    assert_out_of_memory(error);
    licet_error_free(error);
    licet_error_free(copy);
    error_malloc_fails = false;
}

static void an_error_without_memory_becomes_out_of_memory(void **state)
{
    licet_error *error = NULL;

    (void)state;
    error_malloc_fails = true;
    assert_int_equal(lic_fail(&error, LICET_NOT_FOUND, LICET_KIND_NAME, LIC_NOWHERE, "no relation"),
                     LICET_OUT_OF_MEMORY);
    assert_out_of_memory(error);
    error = NULL;
    assert_int_equal(lic_fail_reason(&error, LICET_NOT_FOUND, LICET_KIND_NAME, "X", LIC_NOWHERE, "no relation"),
                     LICET_OUT_OF_MEMORY);
    assert_out_of_memory(error);
    error_malloc_fails = false;
}

static void a_copy_is_an_error_of_its_own(void **state)
{
    licet_error *error = NULL;
    licet_error *copy;

    (void)state;
    lic_fail_reason(&error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", (lic_position){ 2, 5 },
                    "no definition \"team\"");
    copy = lic_error_copy(error);
    assert_ptr_not_equal(copy, error);
    licet_error_free(error);
    assert_int_equal(licet_error_status(copy), LICET_NOT_FOUND);
    assert_int_equal(licet_error_kind(copy), LICET_KIND_NAME);
    assert_str_equal(licet_error_reason(copy), "UNKNOWN_DEFINITION");
    assert_str_equal(licet_error_message(copy), "no definition \"team\"");
    assert_int_equal(licet_error_line(copy), 2);
    assert_int_equal(licet_error_column(copy), 5);
    error_malloc_fails = true;
    assert_out_of_memory(lic_error_copy(copy));
    error_malloc_fails = false;
    licet_error_free(copy);
}

static void an_error_moves_with_the_text_it_is_about(void **state)
{
    licet_error *error = NULL;

    (void)state;
    lic_fail(&error, LICET_SCHEMA_ERROR, LICET_KIND_SYNTAX, (lic_position){ 2, 5 }, "expected a name");
    lic_error_move(error, 10, 4);
    assert_int_equal(licet_error_line(error), 12);
    assert_int_equal(licet_error_column(error), 9);
    lic_error_place(error, (lic_position){ 1, 2 });
    assert_int_equal(licet_error_line(error), 1);
    assert_int_equal(licet_error_column(error), 2);
    lic_error_place(error, LIC_NOWHERE);
    lic_error_move(error, 10, 4);
    assert_int_equal(licet_error_line(error), 0);
    assert_int_equal(licet_error_column(error), 0);
    licet_error_free(error);
}

static void positions_count_lines_and_code_points_from_one(void **state)
{
    static const struct {
        lic_str      text;
        size_t       offset;
        lic_position expected;
    } cases[] = {
        { LICET_STR_INIT(""), 0, { 1, 1 } },          { { NULL, 0 }, 0, { 1, 1 } },
        { LICET_STR_INIT("abc"), 2, { 1, 3 } },       { LICET_STR_INIT("abc"), 3, { 1, 4 } },
        { LICET_STR_INIT("abc"), 99, { 1, 4 } },      { LICET_STR_INIT("a\nb"), 1, { 1, 2 } },
        { LICET_STR_INIT("a\nb"), 2, { 2, 1 } },      { LICET_STR_INIT("a\n\nb"), 2, { 2, 1 } },
        { LICET_STR_INIT("a\r\nbc"), 4, { 2, 2 } },   { LICET_STR_INIT("\xc3\xa4\xe2\x82\xacx"), 5, { 1, 3 } },
        { LICET_STR_INIT("\xff\xffx"), 2, { 1, 3 } }, { LICET_STR_INIT("a\n"), 2, { 2, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lic_position position = lic_position_of(cases[i].text, cases[i].offset);

        assert_int_equal(position.line, cases[i].expected.line);
        assert_int_equal(position.column, cases[i].expected.column);
    }
}

/* The name of a status is its constant's, in small letters. */
static void every_status_has_its_name_and_text(void **state)
{
    static const struct {
        licet_status status;
        const char  *constant;
        const char  *text;
    } cases[] = {
#define CASE(name, number, text) { LICET_##name, #name, text },
        LICET_STATUS_LIST(CASE)
#undef CASE
    };

    (void)state;
    assert_int_equal(sizeof cases / sizeof cases[0], 15);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = licet_status_name(cases[i].status);

        assert_int_equal(strlen(name), strlen(cases[i].constant));
        for (size_t j = 0; name[j] != '\0'; j++)
            assert_int_equal(name[j], cases[i].constant[j] == '_' ? '_' : cases[i].constant[j] + ('a' - 'A'));
        assert_string_equal(licet_status_text(cases[i].status), cases[i].text);
    }
    assert_string_equal(licet_status_name((licet_status)99), "unknown");
    assert_string_equal(licet_status_text((licet_status)99), "unknown");
}

static void every_kind_has_its_name(void **state)
{
    (void)state;
#define CHECK(name, number, text) assert_string_equal(licet_kind_name(LICET_KIND_##name), text);
    LICET_KIND_LIST(CHECK)
#undef CHECK
    assert_string_equal(licet_kind_name((licet_kind)99), "unknown");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_says_what_it_was_made_with),
        cmocka_unit_test(an_error_without_reason_or_place_has_empty_ones),
        cmocka_unit_test(no_error_reads_as_ok),
        cmocka_unit_test(every_conversion_is_written_as_printf_would),
        cmocka_unit_test(quoted_input_can_not_break_the_line_or_hide),
        cmocka_unit_test(broken_utf_8_is_shown_byte_by_byte),
        cmocka_unit_test(quoted_input_is_cut_at_64_bytes_between_characters),
        cmocka_unit_test(other_texts_are_escaped_too),
        cmocka_unit_test(a_message_is_cut_at_1024_bytes_between_characters),
        cmocka_unit_test(nobody_listening_is_fine),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(being_out_of_memory_needs_no_memory),
        cmocka_unit_test(an_error_without_memory_becomes_out_of_memory),
        cmocka_unit_test(a_copy_is_an_error_of_its_own),
        cmocka_unit_test(an_error_moves_with_the_text_it_is_about),
        cmocka_unit_test(positions_count_lines_and_code_points_from_one),
        cmocka_unit_test(every_status_has_its_name_and_text),
        cmocka_unit_test(every_kind_has_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
