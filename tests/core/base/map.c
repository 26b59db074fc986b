/* core/base/map.c: text to number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"

#include <stdio.h>

#include "base/hash.h"
#include "failing_memory.h"

#define KEYS 5000

typedef struct keys {
    char text[KEYS][16];
} keys;

static lic_str key_at(keys *k, size_t i)
{
    return (lic_str){ k->text[i], strlen(k->text[i]) };
}

static keys *make_keys(void)
{
    static keys made;

    for (int i = 0; i < KEYS; i++)
        snprintf(made.text[i], sizeof made.text[i], "key%d", i);
    return &made;
}

static void a_map_finds_what_was_added_and_nothing_else(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_map        map;
    uint32_t       found = 99;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_map_init(&map, &memory, 42);
    assert_int_equal(lic_map_find(&map, LIC_STR("a")), LIC_MAP_NONE);
    assert_true(lic_map_add(&map, LIC_STR("a"), 1, &found));
    assert_int_equal(found, 1);
    assert_true(lic_map_add(&map, LIC_STR(""), 2, &found));
    assert_true(lic_map_add(&map, LIC_STR("a\0b"), 3, &found));
    assert_int_equal(lic_map_find(&map, LIC_STR("a")), 1);
    assert_int_equal(lic_map_find(&map, LIC_STR("")), 2);
    assert_int_equal(lic_map_find(&map, LIC_STR("a\0b")), 3);
    assert_int_equal(lic_map_find(&map, LIC_STR("b")), LIC_MAP_NONE);
    assert_int_equal(map.count, 3);
    lic_map_free(&map);
    lic_map_free(&map);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void adding_keeps_the_old_value_and_setting_replaces_it(void **state)
{
    lic_memory memory;
    lic_map    map;
    uint32_t   found = 99;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_map_init(&map, &memory, 42);
    assert_true(lic_map_add(&map, LIC_STR("a"), 1, &found));
    assert_true(lic_map_add(&map, LIC_STR("a"), 2, &found));
    assert_int_equal(found, 1);
    assert_true(lic_map_set(&map, LIC_STR("a"), 3));
    assert_int_equal(lic_map_find(&map, LIC_STR("a")), 3);
    assert_true(lic_map_set(&map, LIC_STR("b"), 4));
    assert_int_equal(lic_map_find(&map, LIC_STR("b")), 4);
    assert_int_equal(map.count, 2);
    lic_map_free(&map);
}

static void a_map_keeps_everything_while_it_grows(void **state)
{
    failing_memory source = fail_never();
    keys          *k      = make_keys();
    lic_memory     memory;
    lic_map        map;
    uint32_t       found;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_map_init(&map, &memory, lic_random_key());
    for (uint32_t i = 0; i < KEYS; i++) {
        assert_true(lic_map_add(&map, key_at(k, i), i, &found));
        assert_int_equal(found, i);
    }
    assert_int_equal(map.count, KEYS);
    assert_int_equal(map.capacity, 8192);
    for (uint32_t i = 0; i < KEYS; i++)
        assert_int_equal(lic_map_find(&map, key_at(k, i)), i);
    assert_int_equal(lic_map_find(&map, LIC_STR("key5000")), LIC_MAP_NONE);
    lic_map_free(&map);
    assert_int_equal(source.counts->live_blocks, 0);
}

/* Keys whose hashes all begin a probe at the last entry of a map of 16. */
static void keys_that_collide_are_kept_apart(void **state)
{
    const uint64_t hash_key = 42;
    keys          *k        = make_keys();
    lic_memory     memory;
    lic_map        map;
    size_t         chosen[10];
    size_t         count = 0;
    uint32_t       found;

    (void)state;
    for (size_t i = 0; count < 10 && i < KEYS; i++)
        if ((lic_hash_str(key_at(k, i), hash_key) & 15) == 15)
            chosen[count++] = i;
    assert_int_equal(count, 10);
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_map_init(&map, &memory, hash_key);
    for (size_t i = 0; i < 9; i++)
        assert_true(lic_map_add(&map, key_at(k, chosen[i]), (uint32_t)i, &found));
    assert_int_equal(map.capacity, 16);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(lic_map_find(&map, key_at(k, chosen[i])), i);
    assert_int_equal(lic_map_find(&map, key_at(k, chosen[9])), LIC_MAP_NONE);
    lic_map_free(&map);
}

static void a_map_survives_every_failed_allocation(void **state)
{
    keys  *k        = make_keys();
    size_t failures = 1;

    (void)state;
    for (size_t n = 0; failures > 0; n++) {
        failing_memory source = fail_after(n);
        lic_memory     memory;
        lic_map        map;

        lic_memory_init(&memory, &source.allocator, SIZE_MAX);
        lic_map_init(&map, &memory, 42);
        for (uint32_t i = 0; i < 1000; i++) {
            uint32_t found = LIC_MAP_NONE;

            if (!lic_map_add(&map, key_at(k, i), i, &found)) {
                assert_int_equal(lic_map_find(&map, key_at(k, i)), LIC_MAP_NONE);
                assert_int_equal(map.count, i);
                assert_true(lic_map_set(&map, key_at(k, i), i));
            }
        }
        for (uint32_t i = 0; i < 1000; i++)
            assert_int_equal(lic_map_find(&map, key_at(k, i)), i);
        failures = source.counts->failures;
        lic_map_free(&map);
        assert_int_equal(source.counts->live_blocks, 0);
        assert_true(n <= 8);
    }
}

static void setting_without_memory_changes_nothing(void **state)
{
    failing_memory source = fail_from(0);
    lic_memory     memory;
    lic_map        map;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_map_init(&map, &memory, 42);
    assert_false(lic_map_set(&map, LIC_STR("a"), 1));
    assert_int_equal(lic_map_find(&map, LIC_STR("a")), LIC_MAP_NONE);
    lic_map_free(&map);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_finds_what_was_added_and_nothing_else),
        cmocka_unit_test(adding_keeps_the_old_value_and_setting_replaces_it),
        cmocka_unit_test(a_map_keeps_everything_while_it_grows),
        cmocka_unit_test(keys_that_collide_are_kept_apart),
        cmocka_unit_test(a_map_survives_every_failed_allocation),
        cmocka_unit_test(setting_without_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
