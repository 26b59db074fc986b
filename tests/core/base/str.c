/* core/base/str.c: views of text, the text that grows, and the public buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"

#include "failing_memory.h"

#define NOT_GIVEN ((lic_str){ NULL, 0 })

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void texts_compare_bytewise_and_shorter_first(void **state)
{
    static const struct {
        lic_str a, b;
        int     expected;
    } cases[] = {
        { LICET_STR_INIT("a"), LICET_STR_INIT("b"), -1 },
        { LICET_STR_INIT("b"), LICET_STR_INIT("a"), 1 },
        { LICET_STR_INIT("a"), LICET_STR_INIT("a"), 0 },
        { LICET_STR_INIT("a"), LICET_STR_INIT("ab"), -1 },
        { LICET_STR_INIT("ab"), LICET_STR_INIT("a"), 1 },
        { LICET_STR_INIT(""), LICET_STR_INIT("a"), -1 },
        { LICET_STR_INIT(""), { NULL, 0 }, 0 },
        { { NULL, 0 }, LICET_STR_INIT("a"), -1 },
        { LICET_STR_INIT("z"), LICET_STR_INIT("\xc3"), -1 },
        { LICET_STR_INIT("a\0b"), LICET_STR_INIT("a\0c"), -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sign(lic_str_compare(cases[i].a, cases[i].b)), cases[i].expected);
        assert_int_equal(lic_str_equal(cases[i].a, cases[i].b), cases[i].expected == 0);
    }
}

static void not_given_is_not_the_empty_text(void **state)
{
    (void)state;
    assert_false(lic_str_given(NOT_GIVEN));
    assert_true(lic_str_given(LIC_STR("")));
}

static void prefixes_and_suffixes_are_found(void **state)
{
    (void)state;
    assert_true(lic_str_starts_with(LIC_STR("memory:"), LIC_STR("memory")));
    assert_true(lic_str_starts_with(LIC_STR("memory"), LIC_STR("memory")));
    assert_false(lic_str_starts_with(LIC_STR("mem"), LIC_STR("memory")));
    assert_false(lic_str_starts_with(LIC_STR("xmemory"), LIC_STR("memory")));
    assert_true(lic_str_starts_with(LIC_STR("a"), LIC_STR("")));
    assert_true(lic_str_starts_with(NOT_GIVEN, NOT_GIVEN));
    assert_true(lic_str_ends_with(LIC_STR("file.zed"), LIC_STR(".zed")));
    assert_false(lic_str_ends_with(LIC_STR("zed"), LIC_STR(".zed")));
    assert_false(lic_str_ends_with(LIC_STR("file.zedx"), LIC_STR(".zed")));
    assert_true(lic_str_ends_with(LIC_STR("a"), LIC_STR("")));
    assert_true(lic_str_ends_with(NOT_GIVEN, NOT_GIVEN));
}

static void find_gives_the_first_place_or_the_end(void **state)
{
    (void)state;
    assert_int_equal(lic_str_find(LIC_STR("a:b:c"), ':'), 1);
    assert_int_equal(lic_str_find(LIC_STR("abc"), ':'), 3);
    assert_int_equal(lic_str_find(LIC_STR("a\0:"), ':'), 2);
    assert_int_equal(lic_str_find(NOT_GIVEN, ':'), 0);
}

static void trimming_takes_blanks_from_both_ends_only(void **state)
{
    static const struct {
        lic_str text, expected;
    } cases[] = {
        { LICET_STR_INIT(" \t\r\na b\n "), LICET_STR_INIT("a b") },
        { LICET_STR_INIT("ab"), LICET_STR_INIT("ab") },
        { LICET_STR_INIT(" \n "), LICET_STR_INIT("") },
        { LICET_STR_INIT("\va\v"), LICET_STR_INIT("\va\v") },
        { { NULL, 0 }, LICET_STR_INIT("") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(lic_str_equal(lic_str_trim(cases[i].text), cases[i].expected));
    assert_false(lic_str_given(lic_str_trim(NOT_GIVEN)));
}

static void write_sample(lic_text *text)
{
    lic_text_add_literal(text, "depth ");
    lic_text_add_u64(text, 0);
    lic_text_add_char(text, ',');
    lic_text_add_u64(text, UINT64_MAX);
    lic_text_add(text, NOT_GIVEN);
    for (int i = 0; i < 100; i++)
        lic_text_add_char(text, '.');
}

static const char sample[] =
    "depth 0,18446744073709551615"
    "....................................................................................................";

static void a_text_grows_by_appending(void **state)
{
    lic_memory memory;
    lic_text   text;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&text, &memory);
    write_sample(&text);
    assert_false(text.failed);
    assert_true(lic_str_equal(lic_text_str(&text), LIC_STR(sample)));
    lic_text_free(&text);
    lic_text_free(&text);
    assert_int_equal(atomic_load(&memory.used), 0);
}

static void a_json_string_escapes_what_it_must(void **state)
{
    lic_memory memory;
    lic_text   text;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&text, &memory);
    lic_text_add_json(&text, (lic_str){ "a\"b\\c\n\x01\0\xc3\xa9/", 11 });
    lic_text_add_json(&text, NOT_GIVEN);
    assert_true(lic_str_equal(lic_text_str(&text), LIC_STR("\"a\\\"b\\\\c\\n\\u0001\\u0000\xc3\xa9/\"\"\"")));
    lic_text_free(&text);
}

static void a_buffer_holds_exactly_the_text_and_is_cleared_twice(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_text       text;
    licet_buffer   buffer = LICET_BUFFER_INIT;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_text_init(&text, &memory);
    write_sample(&text);
    assert_true(lic_text_to_buffer(&text, &buffer));
    assert_int_equal(buffer.size, sizeof sample - 1);
    assert_memory_equal(buffer.data, sample, buffer.size);
    assert_int_equal(source.counts->live_bytes, buffer.size);
    assert_int_equal(atomic_load(&memory.used), 0);
    assert_null(text.data);
    assert_int_equal(text.size, 0);
    licet_buffer_clear(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(source.counts->live_blocks, 0);
    licet_buffer_clear(&buffer);
    licet_buffer_clear(NULL);
}

static void a_text_that_fits_its_block_is_moved_as_it_is(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_text       text;
    licet_buffer   buffer = LICET_BUFFER_INIT;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_text_init(&text, &memory);
    lic_text_add_literal(&text, "12345678");
    assert_true(lic_text_to_buffer(&text, &buffer));
    assert_int_equal(source.counts->calls, 1);
    licet_buffer_clear(&buffer);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void an_empty_text_gives_an_empty_buffer(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_text       text;
    licet_buffer   buffer = LICET_BUFFER_INIT;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_text_init(&text, &memory);
    assert_true(lic_text_to_buffer(&text, &buffer));
    assert_null(buffer.data);
    lic_text_add_char(&text, 'x');
    text.size = 0;
    assert_true(lic_text_to_buffer(&text, &buffer));
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(source.counts->live_blocks, 0);
    licet_buffer_clear(&buffer);
}

/* Fails the first allocation, then the second, and so on, once and then for good. */
static void a_text_survives_every_failed_allocation(void **state)
{
    bool made = false;

    (void)state;
    for (int for_good = 0; for_good < 2; for_good++) {
        made = false;
        for (size_t n = 0; !made; n++) {
            failing_memory source = for_good ? fail_from(n) : fail_after(n);
            lic_memory     memory;
            lic_text       text;
            licet_buffer   buffer = LICET_BUFFER_INIT;

            lic_memory_init(&memory, &source.allocator, SIZE_MAX);
            lic_text_init(&text, &memory);
            write_sample(&text);
            made = lic_text_to_buffer(&text, &buffer);
            assert_int_equal(made, source.counts->failures == 0);
            assert_int_equal(buffer.size, made ? sizeof sample - 1 : 0);
            licet_buffer_clear(&buffer);
            assert_int_equal(source.counts->live_blocks, 0);
            assert_int_equal(atomic_load(&memory.used), 0);
            assert_true(n < 20);
        }
    }
}

static void nothing_is_added_behind_a_failed_append(void **state)
{
    failing_memory source = fail_after(1);
    lic_memory     memory;
    lic_text       text;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_text_init(&text, &memory);
    lic_text_add_literal(&text, "12345");
    lic_text_add_literal(&text, "67890");
    assert_true(text.failed);
    lic_text_add_literal(&text, "!");
    assert_true(lic_str_equal(lic_text_str(&text), LIC_STR("12345")));
    lic_text_free(&text);
    assert_int_equal(source.counts->live_blocks, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_compare_bytewise_and_shorter_first),
        cmocka_unit_test(not_given_is_not_the_empty_text),
        cmocka_unit_test(prefixes_and_suffixes_are_found),
        cmocka_unit_test(find_gives_the_first_place_or_the_end),
        cmocka_unit_test(trimming_takes_blanks_from_both_ends_only),
        cmocka_unit_test(a_text_grows_by_appending),
        cmocka_unit_test(a_json_string_escapes_what_it_must),
        cmocka_unit_test(a_buffer_holds_exactly_the_text_and_is_cleared_twice),
        cmocka_unit_test(a_text_that_fits_its_block_is_moved_as_it_is),
        cmocka_unit_test(an_empty_text_gives_an_empty_buffer),
        cmocka_unit_test(a_text_survives_every_failed_allocation),
        cmocka_unit_test(nothing_is_added_behind_a_failed_append),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
