/* core/caveat/json.c and convert.c: contexts as parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "caveat/json.h"
#include "cel_outcome.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void numbers_and_strings_become_numbers(void **state)
{
    static const cel_case cases[] = {
        { "x int", "x", "{\"x\": 42}", "42" },
        { "x int", "x", "{\"x\": 42.0}", "42" },
        { "x int", "x", "{\"x\": \"42\"}", "42" },
        { "x int", "x", "{\"x\": \"42.0\"}", "42" },
        { "x int", "x", "{\"x\": \"4.2e1\"}", "42" },
        { "x int", "x", "{\"x\": \"9007199254740993\"}", "9007199254740993" },
        { "x int", "x", "{\"x\": 9007199254740993}", "9007199254740992" },
        { "x int", "x", "{\"x\": 1e300}", "9223372036854775807" },
        { "x int", "x", "{\"x\": -1e300}", "-9223372036854775808" },
        { "x int", "x", "{\"x\": \"-99999999999999999999\"}", "-9223372036854775808" },
        { "x uint", "x", "{\"x\": 42}", "42u" },
        { "x uint", "x", "{\"x\": \"18446744073709551615\"}", "9223372036854775807u" },
        { "x uint", "x", "{\"x\": -0.0}", "0u" },
        { "x double", "x", "{\"x\": 1}", "1.0" },
        { "x double", "x", "{\"x\": \"1.5\"}", "1.5" },
        { "x double", "x", "{\"x\": \"-Inf\"}", "-Inf.0" },
        { "x double", "x", "{\"x\": \"1e400\"}", "+Inf.0" },
        { "x any", "x", "{\"x\": 42}", "42.0" },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

static void what_does_not_fit_is_refused(void **state)
{
    static const cel_case cases[] = {
        { "x int", "x", "{\"x\": 42.1}",
          "context: could not convert context parameter \"x\": for int: a value of type int is required, but found a "
          "number that does not fit" },
        { "x int", "x", "{\"x\": \"42.1\"}",
          "context: could not convert context parameter \"x\": for int: a value of type int is required, but found the "
          "string \"42.1\"" },
        { "x int", "x", "{\"x\": null}",
          "context: could not convert context parameter \"x\": for int: a value of type int is required, but found "
          "null" },
        { "x list<uint>", "x", "{\"x\": [1, 2, -3]}",
          "context: could not convert context parameter \"x\": for list<uint>: at index 2: a value of type uint is "
          "required, but found a number that does not fit" },
        { "x map<list<int>>", "x", "{\"x\": {\"k\": [true]}}",
          "context: could not convert context parameter \"x\": for map<list<int>>: at key \"k\": at index 0: a value "
          "of type int is required, but found a bool" },
        { "x list<map<int>>", "x", "{\"x\": [{}, {\"a\": 1, \"b\\n\\\"\": 1.5}]}",
          "context: could not convert context parameter \"x\": for list<map<int>>: at index 1: at key \"b??\": a value "
          "of type int is required, but found a number that does not fit" },
        { "x map<map<int>>", "x",
          "{\"x\": {\"0123456789012345678901234567890123456789012345678901234567890123456\": 1}}",
          "context: could not convert context parameter \"x\": for map<map<int>>: at key "
          "\"0123456789012345678901234567890123456789012345678901234567890123\"...: a value of type map<int> is "
          "required, but found a number that does not fit" },
        { "x int", "x", "{\"x\": true}", "context: could not convert context parameter \"x\": ..." },
        { "x int", "x", "{\"x\": \"\"}", "context: ..." },
        { "x int", "x", "{\"x\": \" 42\"}", "context: ..." },
        { "x int", "x", "{\"x\": \"42\\u0000\"}", "context: ..." },
        { "x int", "x", "{\"x\": \"0x10\"}", "context: ..." },
        { "x int", "x", "{\"x\": \"Inf\"}", "context: ..." },
        { "x uint", "x", "{\"x\": -1}", "context: ..." },
        { "x double", "x", "{\"x\": \"NaN\"}", "context: ..." },
        { "x bool", "x", "{\"x\": \"true\"}", "context: ..." },
        { "x bool", "x", "{\"x\": 1}", "context: ..." },
        { "x string", "x", "{\"x\": 1}", "context: ..." },
        { "x bytes", "x", "{\"x\": 1}", "context: ..." },
        { "x duration", "x", "{\"x\": 1}", "context: ..." },
        { "x duration", "x", "{\"x\": \"1d\"}", "context: ..." },
        { "x timestamp", "x", "{\"x\": 1700000000}", "context: ..." },
        { "x timestamp", "x", "{\"x\": \"2023-02-30T00:00:00Z\"}", "context: ..." },
        { "x ipaddress", "x", "{\"x\": \"10.0.0.256\"}", "context: ..." },
        { "x list<int>", "x", "{\"x\": {}}", "context: ..." },
        { "x map<int>", "x", "{\"x\": []}", "context: ..." },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

static void bytes_are_base_64_with_padding(void **state)
{
    static const cel_case cases[] = {
        { "x bytes", "x", "{\"x\": \"\"}", "b\"\"" },
        { "x bytes", "x", "{\"x\": \"YQ==\"}", "b\"a\"" },
        { "x bytes", "x", "{\"x\": \"YWI=\"}", "b\"ab\"" },
        { "x bytes", "x", "{\"x\": \"YWJj\"}", "b\"abc\"" },
        { "x bytes", "x", "{\"x\": \"YW\\nJj\\r\\n\"}", "b\"abc\"" },
        { "x bytes", "x == b'\\xfb\\xff'", "{\"x\": \"+/8=\"}", "true" },
        { "x bytes", "x", "{\"x\": \"YWI\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"YQ=\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"YQ===\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"YWJj=\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"Y===\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"=\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"YQ==YQ==\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"_-8=\"}", "context: ..." },
        { "x bytes", "x", "{\"x\": \"%%%\"}", "context: ..." },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

static void other_types_are_read_from_strings(void **state)
{
    static const cel_case cases[] = {
        { "x duration", "x", "{\"x\": \"1h30m\"}", "5400s" },
        { "x timestamp", "x", "{\"x\": \"2023-01-01T1:02:03,5+02:00\"}", "2023-01-01T01:02:03.5+02:00" },
        { "x timestamp", "x.getHours()", "{\"x\": \"2023-01-01T01:02:03+02:00\"}", "23" },
        { "x ipaddress", "x.in_cidr('10.0.0.0/8')", "{\"x\": \"::ffff:10.1.2.3\"}", "true" },
        { "x any", "x", "{\"x\": [1, \"a\", null, {\"k\": true}]}", "[1.0, \"a\", null, {\"k\": true}]" },
        { "x list<map<list<int>>>", "x", "{\"x\": [{\"a\": [\"1\", 2]}, {}]}", "[{\"a\": [1, 2]}, {}]" },
        { "x list<any>", "x", "{\"x\": []}", "[]" },
        { "x map<uint>", "x", "{\"x\": {\"a\": 1, \"b\": \"2\"}}", "{\"a\": 1u, \"b\": 2u}" },
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
}

static void strictness_refuses_what_spicedb_is_lax_about(void **state)
{
    static const struct {
        const char *parameters;
        const char *context;
    } cases[] = {
        { "x int", "{\"x\": \"9223372036854775808\"}" },
        { "x int", "{\"x\": 9223372036854775808}" },
        { "x int", "{\"x\": \"-9223372036854775809\"}" },
        { "x int", "{\"x\": 1e30}" },
        { "x uint", "{\"x\": \"18446744073709551616\"}" },
        { "x int", "{\"x\": \"42.0000000000000000000000001\"}" },
        { "x double", "{\"x\": \"Inf\"}" },
        { "x double", "{\"x\": \"1e400\"}" },
        { "x int", "{\"x\": \"1p3\"}" },
        { "x double", "{\"x\": \"1p3\"}" },
        { "x timestamp", "{\"x\": \"2023-01-01T00:00:00,5Z\"}" },
        { "x timestamp", "{\"x\": \"2023-01-01T00:00:00+24:00\"}" },
        { "x timestamp", "{\"x\": \"2023-01-01T1:02:03Z\"}" },
        { "x timestamp", "{\"x\": \"0000-01-01T00:00:00Z\"}" },
        { "x ipaddress", "{\"x\": \"fe80::1%eth0\"}" },
        { "x int", "{\"x\": 1, \"x\": 2}" },
        { "x int", "{\"x\": 1, \"\\u0078\": 2}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_cel(cases[i].parameters, "x == x", cases[i].context, "true");
        assert_cel_strict(cases[i].parameters, "x == x", cases[i].context, "context: ...");
    }
    assert_cel_strict("x int", "x", "{\"x\": \"42.0\"}", "42");
    assert_cel_strict("x double", "x", "{\"x\": \"0.1\"}", "0.1");
    assert_cel_strict("x int", "x", "{\"x\": \"-9223372036854775808\"}", "-9223372036854775808");
}

static void json_is_read_as_rfc_8259_has_it(void **state)
{
    static const cel_case cases[] = {
        { "x any", "x", " {\t\"x\"\n:\r[ ] } ", "[]" },
        { "x any", "x", "{\"x\": [1, -0.5, 1e2, 1E-2, 0]}", "[1.0, -0.5, 100.0, 0.01, 0.0]" },
        { "x any", "x == '\\u00e4\\U0001F600\\n\"/'", "{\"x\": \"\\u00e4\\ud83d\\ude00\\n\\\"\\/\"}", "true" },
        { "x any", "x", "{\"x\": 1, \"x\": 2}", "2.0" },
        { "x any", "x.k", "{\"x\": {\"k\": 1, \"l\": 2, \"k\": 3}}", "3.0" },
        { "x any", "size(x)", "{\"x\": \"a\\u0000b\"}", "3" },
        { "x int", "x == 1", "{\"X\": 1, \"x \": 1, \"x\\u0000\": 1}", "missing: x" },
        { "x any", "x", "{\"x\": {}}", "{}" },
    };
    static const char *const bad[] = {
        "",
        " ",
        "null",
        "[1]",
        "\"x\"",
        "{\"x\":1",
        "{\"x\":1,}",
        "{'x':1}",
        "{x:1}",
        "{\"x\":01}",
        "{\"x\":+1}",
        "{\"x\":.5}",
        "{\"x\":1.}",
        "{\"x\":0x1}",
        "{\"x\":NaN}",
        "{\"x\":-Infinity}",
        "{\"x\":1e}",
        "{\"x\":-}",
        "{\"x\":1} {}",
        "{\"x\":1}x",
        "{\"x\":1/*c*/}",
        "{\"x\":\"\t\"}",
        "{\"x\":\"\\x41\"}",
        "{\"x\":\"\\u00\"}",
        "{\"x\":\"\\u00g0\"}",
        "{\"x\":tru}",
        "{\"x\":\"",
        "{\"x\":\"\\",
        "{\"x\"}",
        "{\"x\":}",
        "{,}",
        "{\"x\":[1,]}",
        "{\"x\":[1 2]}",
        "{\"x\":[}",
        "{\"x\":]}",
        "\xef\xbb\xbf{}",
        "{\"x\":\"\xff\"}",
        "{\"x\":\"\xc0\x80\"}",
        "{\"x\":\"\\ud800\"}",
        "{\"x\":\"\\ud800\\u0041\"}",
        "{\"x\":\"\\udc00\\ud800\"}",
        "{\"x\":1e400}",
        "{\"x\":-1e400}",
    };

    (void)state;
    assert_cel_cases(cases, COUNT(cases));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_cel("x any", "x", bad[i], "context: the caveat context is no JSON object: ...");
}

static void an_error_in_json_has_its_place_and_kind(void **state)
{
    static const struct {
        const char *text;
        licet_kind  kind;
        uint32_t    line;
        uint32_t    column;
        const char *message;
    } cases[] = {
        { "{\n \"x\": tru}", LICET_KIND_SYNTAX, 2, 7, "the caveat context is no JSON object: a value is missing" },
        { "{\"x\": 1e999}", LICET_KIND_VALUE, 1, 7, "the caveat context is no JSON object: a number is too large" },
        { "{\"x\": \"\xff\"}", LICET_KIND_ENCODING, 1, 8,
          "the caveat context is no JSON object: a byte that is not UTF-8" },
    };
    lic_memory    memory;
    lic_arena     arena;
    lic_cel_value value;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < COUNT(cases); i++) {
        licet_error *error = NULL;
        lic_str      text  = { cases[i].text, strlen(cases[i].text) };

        assert_int_equal(lic_cel_json_read(&arena, text, false, &value, &error), LICET_INVALID_ARGUMENT);
        assert_int_equal(licet_error_kind(error), cases[i].kind);
        assert_int_equal(licet_error_line(error), cases[i].line);
        assert_int_equal(licet_error_column(error), cases[i].column);
        assert_true(lic_str_equal(licet_error_message(error), (lic_str){ cases[i].message, strlen(cases[i].message) }));
        licet_error_free(error);
    }
    lic_arena_free(&arena);
}

/* "{"x":" then `open` so many times, a 1, and `close` so many times, "}". */
static char *nested(size_t count, const char *open, const char *close)
{
    size_t size = 16 + count * (strlen(open) + strlen(close));
    char  *text = malloc(size);
    size_t at   = (size_t)snprintf(text, size, "{\"x\":");

    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%s", open);
    at += (size_t)snprintf(text + at, size - at, "1");
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%s", close);
    snprintf(text + at, size - at, "}");
    return text;
}

static void nesting_ends_at_64_levels(void **state)
{
    static const char *const kinds[2][2] = { { "[", "]" }, { "{\"a\":", "}" } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *good = nested(63, kinds[i][0], kinds[i][1]);
        char *bad  = nested(64, kinds[i][0], kinds[i][1]);
        char *huge = nested(100000, kinds[i][0], kinds[i][1]);

        assert_cel("x any", "x == x", good, "true");
        assert_cel("x any", "x == x", bad, "context: the caveat context nests deeper than 64 levels");
        assert_cel("x any", "x == x", huge, "context: the caveat context nests deeper than 64 levels");
        free(good);
        free(bad);
        free(huge);
    }
}

/* {"x":{"k0":0,"k1":1,...}} */
static char *wide(size_t count)
{
    size_t size = 32 + count * 24;
    char  *text = malloc(size);
    size_t at   = (size_t)snprintf(text, size, "{\"x\":{");

    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%s\"k%zu\":%zu", i == 0 ? "" : ",", i, i);
    snprintf(text + at, size - at, "}}");
    return text;
}

static void objects_end_at_1024_keys(void **state)
{
    char *good = wide(1024);
    char *bad  = wide(1025);

    (void)state;
    assert_cel("x map<int>", "x.k1023", good, "1023");
    assert_cel("x map<int>", "size(x)", good, "1024");
    assert_cel("x map<int>", "x.k1023", bad, "context: an object in the caveat context has more than 1024 keys");
    free(good);
    free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_strings_become_numbers),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(bytes_are_base_64_with_padding),
        cmocka_unit_test(other_types_are_read_from_strings),
        cmocka_unit_test(strictness_refuses_what_spicedb_is_lax_about),
        cmocka_unit_test(json_is_read_as_rfc_8259_has_it),
        cmocka_unit_test(an_error_in_json_has_its_place_and_kind),
        cmocka_unit_test(nesting_ends_at_64_levels),
        cmocka_unit_test(objects_end_at_1024_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
