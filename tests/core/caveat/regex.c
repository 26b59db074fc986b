/* core/caveat/regex.c and re2.cc: the border to RE2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "caveat/regex.h"
#include "failing_memory.h"

static lic_str repeated(char *buffer, size_t size, char c)
{
    memset(buffer, c, size);
    return (lic_str){ buffer, size };
}

static bool matches(lic_str pattern, lic_str input)
{
    struct lic_regex *regex;
    lic_memory        memory;
    const char       *why;
    bool              found;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_true(lic_regex_new(&memory, pattern, &regex, &why));
    assert_true(lic_regex_search(regex, input, &found));
    lic_regex_free(regex);
    assert_int_equal(memory.used, 0);
    return found;
}

static void assert_refused(lic_str pattern, const char *expected)
{
    struct lic_regex *regex;
    lic_memory        memory;
    const char       *why;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_false(lic_regex_new(&memory, pattern, &regex, &why));
    assert_null(regex);
    assert_string_equal(why, expected);
    assert_int_equal(memory.used, 0);
}

static void a_pattern_is_found_anywhere(void **state)
{
    (void)state;
    assert_true(matches(LIC_STR("b+"), LIC_STR("abbc")));
    assert_false(matches(LIC_STR("^b+"), LIC_STR("abbc")));
    assert_true(matches(LIC_STR(""), LIC_STR("")));
    assert_true(matches(LIC_STR("^..$"), LIC_STR("\xc3\xa4\xc3\xb6")));
    assert_false(matches(LIC_STR("^admin$"), LIC_STR("admin\n")));
    assert_false(matches(LIC_STR("^admin$"), (lic_str){ "admin\0", 6 }));
    assert_true(matches((lic_str){ "a\0b", 3 }, (lic_str){ "xa\0b", 4 }));
    assert_true(matches(LIC_STR("(?i)ADMIN"), LIC_STR("admin")));
}

static void what_go_does_not_know_is_refused(void **state)
{
    (void)state;
    assert_refused(LIC_STR("("), "error parsing regexp");
    assert_refused(LIC_STR("[z-a]"), "error parsing regexp");
    assert_refused(LIC_STR("(a)\\1"), "error parsing regexp");
    assert_refused(LIC_STR("(?=a)a"), "error parsing regexp");
    assert_refused(LIC_STR("a{1001}"), "error parsing regexp");
    assert_refused(LIC_STR("\xff"), "error parsing regexp");
    assert_refused(LIC_STR("a\\C"), "error parsing regexp: invalid escape sequence: `\\C`");
    assert_true(matches(LIC_STR("\\\\C"), LIC_STR("\\C")));
}

static void patterns_and_inputs_end_at_their_limits(void **state)
{
    static char       large[64 * 1024 + 1];
    struct lic_regex *regex;
    lic_memory        memory;
    const char       *why;
    bool              found = true;

    (void)state;
    assert_true(matches(repeated(large, 1024, 'a'), repeated(large + 2000, 1024, 'a')));
    assert_refused(repeated(large, 1025, 'a'), "the regular expression is longer than 1024 bytes");
    assert_refused(LIC_STR("((a{100}){100}){100}"), "error parsing regexp");
    assert_refused(LIC_STR("(([^a]{10}){10}){10}(\\pL{10}){10}"), "the regular expression is too large");
    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_true(lic_regex_new(&memory, LIC_STR("b"), &regex, &why));
    assert_true(lic_regex_search(regex, repeated(large, 64 * 1024, 'a'), &found));
    assert_false(found);
    assert_false(lic_regex_search(regex, repeated(large, 64 * 1024 + 1, 'a'), &found));
    lic_regex_free(regex);
    lic_regex_free(NULL);
}

static void hostile_patterns_take_no_time(void **state)
{
    static char large[4001];

    (void)state;
    repeated(large, 4000, 'a');
    large[4000] = '!';
    assert_false(matches(LIC_STR("^(a+)+$"), (lic_str){ large, 4001 }));
    assert_false(matches(LIC_STR("^(a|aa)+$"), (lic_str){ large, 4001 }));
    assert_false(matches(LIC_STR("^(.*)*(.*)*(.*)*(.*)*x$"), (lic_str){ large, 4001 }));
}

static void no_memory_is_told_apart(void **state)
{
    failing_memory    failing = fail_after(0);
    struct lic_regex *regex;
    lic_memory        memory;
    const char       *why;

    (void)state;
    lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
    assert_false(lic_regex_new(&memory, LIC_STR("a"), &regex, &why));
    assert_ptr_equal(why, LIC_REGEX_NO_MEMORY);
    assert_null(regex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_found_anywhere),
        cmocka_unit_test(what_go_does_not_know_is_refused),
        cmocka_unit_test(patterns_and_inputs_end_at_their_limits),
        cmocka_unit_test(hostile_patterns_take_no_time),
        cmocka_unit_test(no_memory_is_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
