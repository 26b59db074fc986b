/* core/caveat/number.c: numbers as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>

#include "caveat/number.h"

static lic_str str(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

static void doubles_print_as_go_prints_them(void **state)
{
    static const struct {
        double      value;
        const char *printed;
        const char *plain;
    } cases[] = {
        { 0, "0", "0" },
        { -0.0, "-0", "-0" },
        { 1, "1", "1" },
        { -1.5, "-1.5", "-1.5" },
        { 0.1, "0.1", "0.1" },
        { 100000, "100000", "100000" },
        { 123456, "123456", "123456" },
        { 1e6, "1e+06", "1000000" },
        { 1234567, "1.234567e+06", "1234567" },
        { 123456789.5, "1.234567895e+08", "123456789.5" },
        { 0.0001, "0.0001", "0.0001" },
        { 0.00001, "1e-05", "0.00001" },
        { 0.1 + 0.2, "0.30000000000000004", "0.30000000000000004" },
    };
    char out[LIC_CEL_DOUBLE_SIZE + 1];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        out[lic_cel_double_print(cases[i].value, out)] = '\0';
        assert_string_equal(out, cases[i].printed);
        out[lic_cel_double_print_plain(cases[i].value, out)] = '\0';
        assert_string_equal(out, cases[i].plain);
    }
    out[lic_cel_double_print(1.7976931348623157e308, out)] = '\0';
    assert_string_equal(out, "1.7976931348623157e+308");
    out[lic_cel_double_print(-4.9406564584124654e-324, out)] = '\0';
    assert_string_equal(out, "-5e-324");
    out[lic_cel_double_print((double)INFINITY, out)] = '\0';
    assert_string_equal(out, "+Inf");
    out[lic_cel_double_print(-(double)INFINITY, out)] = '\0';
    assert_string_equal(out, "-Inf");
    out[lic_cel_double_print((double)NAN, out)] = '\0';
    assert_string_equal(out, "NaN");
}

static void doubles_are_read_as_go_reads_them(void **state)
{
    static const struct {
        const char *text;
        double      value;
    } good[] = {
        { "1", 1 },
        { "+1", 1 },
        { "-1.5e3", -1500 },
        { "1.", 1 },
        { ".5", 0.5 },
        { "1_23.50_0_0e+1_2", 1.235e14 },
        { "0_1", 1 },
        { "0x1p-2", 0.25 },
        { "0x_1p2", 4 },
        { "0X.8P0", 0.5 },
        { "0x1_0p1_0", 16384 },
        { "infinity", (double)INFINITY },
        { "-Inf", -(double)INFINITY },
        { "1e-400", 0 },
    };
    static const char *const bad[] = {
        "",   ".",    "-",    " 1",   "1 ",  "1e",    "1e+",    "e1",   "0x1",  "0x",  "1p3", "1__2",    "_1",
        "1_", "1_e5", "1e_5", "1e5_", "0b1", "1e400", "-1e400", "+nan", "0x_A", "1,5", "in",  "infinit", "--1",
    };
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(lic_cel_double_read(str(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(lic_cel_double_read(str(bad[i]), &value));
    assert_true(lic_cel_double_read(LIC_STR("nan"), &value));
    assert_true(isnan(value));
    assert_false(lic_cel_double_read((lic_str){ "1\0", 2 }, &value));
}

static void integers_end_at_their_limits(void **state)
{
    static const char *const bad_ints[]  = { "",
                                             "-",
                                             "+",
                                             "1x",
                                             " 1",
                                             "1.0",
                                             "0x1",
                                             "9223372036854775808",
                                             "-9223372036854775809",
                                             "1_0",
                                             "99999999999999999999999" };
    static const char *const bad_uints[] = { "", "-1", "+1", "18446744073709551616", "1 ", "184467440737095516150" };
    int64_t                  integer;
    uint64_t                 uinteger;

    (void)state;
    assert_true(lic_cel_int_read(LIC_STR("9223372036854775807"), &integer));
    assert_int_equal(integer, INT64_MAX);
    assert_true(lic_cel_int_read(LIC_STR("-9223372036854775808"), &integer));
    assert_int_equal(integer, INT64_MIN);
    assert_true(lic_cel_int_read(LIC_STR("+007"), &integer));
    assert_int_equal(integer, 7);
    assert_true(lic_cel_uint_read(LIC_STR("18446744073709551615"), &uinteger));
    assert_true(uinteger == UINT64_MAX);
    for (size_t i = 0; i < sizeof bad_ints / sizeof bad_ints[0]; i++)
        assert_false(lic_cel_int_read(str(bad_ints[i]), &integer));
    for (size_t i = 0; i < sizeof bad_uints / sizeof bad_uints[0]; i++)
        assert_false(lic_cel_uint_read(str(bad_uints[i]), &uinteger));
}

/* As math/big's ParseFloat with 64 bits gave them. */
static void numbers_in_strings_are_spicedb_s_floats(void **state)
{
    static const struct {
        const char *text;
        bool        integral;
        int64_t     integer;
        double      number;
    } good[] = {
        { "42", true, 42, 42 },
        { "42.", true, 42, 42 },
        { "+42.0", true, 42, 42 },
        { "4.2e1", true, 42, 42 },
        { "4200E-2", true, 42, 42 },
        { "1p3", true, 8, 8 },
        { "1P-1", false, 0, 0.5 },
        { ".5", false, 0, 0.5 },
        { "-0", true, 0, 0 },
        { "42.0000000000000000000000001", true, 42, 42 },
        { "42.00000000000001", false, 0, 42.00000000000001 },
        { "9223372036854775807", true, INT64_MAX, 9223372036854775807.0 },
        { "-9223372036854775808", true, INT64_MIN, -9223372036854775808.0 },
        { "9223372036854775806", true, INT64_MAX - 1, 9223372036854775806.0 },
        { "9223372036854775808", true, INT64_MAX, 9223372036854775808.0 },
        { "-9223372036854775809", true, INT64_MIN, -9223372036854775808.0 },
        { "18446744073709551615", true, INT64_MAX, 18446744073709551615.0 },
        { "1e400", true, INT64_MAX, (double)INFINITY },
        { "-1e400", true, INT64_MIN, -(double)INFINITY },
        { "1e-6000", false, 0, 0 },
        { "0e99999999999", true, 0, 0 },
        { "Inf", false, 0, (double)INFINITY },
        { "-inf", false, 0, -(double)INFINITY },
    };
    static const char *const bad[] = { "",      ".",   "-",   " 42",          "42 ",          "0x10",
                                       "1_000", "1e",  "e5",  "INF",          "NaN",          "nan",
                                       "1e+",   "4 2", "++1", "1e2147483647", "1p2147483648", "Infinity" };
    lic_memory               memory;
    lic_arena                arena;
    lic_cel_decimal          d;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(lic_cel_decimal_read(&arena, str(good[i].text), &d), LIC_CEL_READ_OK);
        assert_int_equal(d.integral, good[i].integral);
        assert_true(!d.integral || d.integer == good[i].integer);
        assert_true(d.number == good[i].number);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(lic_cel_decimal_read(&arena, str(bad[i]), &d), LIC_CEL_READ_INVALID);
    lic_arena_free(&arena);
}

static void strictness_learns_what_was_lost(void **state)
{
    lic_memory      memory;
    lic_arena       arena;
    lic_cel_decimal d;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    lic_cel_decimal_read(&arena, LIC_STR("42.0000000000000000000000001"), &d);
    assert_true(d.fraction);
    lic_cel_decimal_read(&arena, LIC_STR("42000e-3"), &d);
    assert_false(d.fraction);
    lic_cel_decimal_read(&arena, LIC_STR("42001e-3"), &d);
    assert_true(d.fraction);
    lic_cel_decimal_read(&arena, LIC_STR("0.042e3"), &d);
    assert_false(d.fraction);
    lic_cel_decimal_read(&arena, LIC_STR("1p3"), &d);
    assert_true(d.binary);
    lic_cel_decimal_read(&arena, LIC_STR("9223372036854775808"), &d);
    assert_false(d.in_range);
    lic_cel_decimal_of((double)NAN, &d);
    assert_false(d.integral);
    lic_cel_decimal_of(0x1p63, &d);
    assert_false(d.in_range);
    lic_cel_decimal_of(-0x1p63, &d);
    assert_true(d.in_range);
    assert_int_equal(d.integer, INT64_MIN);
    lic_arena_free(&arena);
}

/* With a decimal comma, where the machine has such a locale. */
static void the_locale_plays_no_part(void **state)
{
    char   out[LIC_CEL_DOUBLE_SIZE + 1];
    double value;

    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        setlocale(LC_ALL, "");
    out[lic_cel_double_print(0.5, out)] = '\0';
    assert_string_equal(out, "0.5");
    assert_true(lic_cel_double_read(LIC_STR("0.5"), &value));
    assert_true(value == 0.5);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_print_as_go_prints_them), cmocka_unit_test(doubles_are_read_as_go_reads_them),
        cmocka_unit_test(integers_end_at_their_limits),    cmocka_unit_test(numbers_in_strings_are_spicedb_s_floats),
        cmocka_unit_test(strictness_learns_what_was_lost), cmocka_unit_test(the_locale_plays_no_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
