#include "base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "failing_memory.h"

enum { MOST = 3000 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The same keys in order: each is as often in both, and none is before a lesser one. */
static void assert_sorts(size_t count, uint64_t mask, uint64_t seed)
{
    static uint64_t keys[MOST];
    lic_memory      memory;
    lic_arena       arena;
    uint64_t        sum   = 0;
    uint64_t        mixed = 0;

    lic_memory_init(&memory, &(licet_allocator){ 0, 0, 0, 0 }, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < count; i++) {
        keys[i] = next_random(&seed) & mask;
        sum += keys[i];
        mixed ^= keys[i] * UINT64_C(0x9e3779b97f4a7c15);
    }
    assert_true(lic_sort_keys(&arena, keys, count));
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || keys[i - 1] <= keys[i]);
        sum -= keys[i];
        mixed ^= keys[i] * UINT64_C(0x9e3779b97f4a7c15);
    }
    assert_true(sum == 0 && mixed == 0);
    lic_arena_free(&arena);
}

static void keys_come_in_order_whatever_they_are(void **state)
{
    static const uint64_t masks[] = { UINT64_MAX, 0, 1, 0xff, 0xff00ff, UINT64_C(0xffff0000ffff), UINT64_MAX << 40 };

    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        for (size_t count = 0; count <= MOST; count = count * 2 + 1)
            assert_sorts(count, masks[i], 88172645463325252u + count);
}

static void without_memory_nothing_changes(void **state)
{
    uint64_t       keys[64];
    failing_memory failing = fail_after(0);
    lic_memory     memory;
    lic_arena      arena;

    (void)state;
    for (size_t i = 0; i < 64; i++)
        keys[i] = 64 - i;
    lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_false(lic_sort_keys(&arena, keys, 64));
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(keys[i], 64 - i);
    lic_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_in_order_whatever_they_are),
        cmocka_unit_test(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
