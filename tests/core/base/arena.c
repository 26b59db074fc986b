/* core/base/arena.c: memory that is given back all at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"

#include <string.h>

#include "failing_memory.h"

static bool aligned(const void *pointer)
{
    return ((uintptr_t)pointer & 15) == 0;
}

static void objects_are_aligned_and_do_not_overlap(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_arena      arena;
    unsigned char *blocks[300];

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < 300; i++) {
        blocks[i] = lic_arena_alloc(&arena, i);
        assert_non_null(blocks[i]);
        assert_true(aligned(blocks[i]));
        memset(blocks[i], (int)(i & 255), i);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(blocks[i][j], i & 255);
    lic_arena_free(&arena);
    assert_int_equal(source.counts->live_blocks, 0);
    assert_int_equal(atomic_load(&memory.used), 0);
}

static void blocks_double_so_few_are_asked_for(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_arena      arena;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (int i = 0; i < 1000; i++)
        assert_non_null(lic_arena_alloc(&arena, 100));
    /* 112,000 bytes: 4 + 8 + 16 + 32 + 64 KiB hold them. */
    assert_int_equal(source.counts->calls, 5);
    assert_int_equal(source.counts->live_bytes, 126976);
    lic_arena_free(&arena);
}

static void small_work_in_the_callers_buffer_allocates_nothing(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_arena      arena;
    char           buffer[1024];

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    /* One past: the arena has to align the start itself. */
    lic_arena_init_with(&arena, &memory, buffer + 1, sizeof buffer - 1);
    for (int i = 0; i < 10; i++) {
        char *object = lic_arena_alloc(&arena, 50);

        assert_true(aligned(object));
        assert_true(object > buffer && object + 64 <= buffer + sizeof buffer);
    }
    assert_int_equal(source.counts->calls, 0);
    assert_non_null(lic_arena_alloc(&arena, 1000));
    assert_int_equal(source.counts->calls, 1);
    lic_arena_free(&arena);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void a_buffer_too_small_to_align_is_left_alone(void **state)
{
    lic_memory memory;
    lic_arena  arena;
    char       buffer[32];

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init_with(&arena, &memory, buffer + 1, 0);
    assert_non_null(lic_arena_alloc(&arena, 1));
    lic_arena_free(&arena);
    lic_arena_init_with(&arena, &memory, NULL, 0);
    assert_non_null(lic_arena_alloc(&arena, 1));
    lic_arena_free(&arena);
}

static void a_large_object_does_not_cost_the_rest_of_a_block(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_arena      arena;
    char          *first;
    char          *second;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    first = lic_arena_alloc(&arena, 16);
    assert_non_null(lic_arena_alloc(&arena, 1 << 20));
    second = lic_arena_alloc(&arena, 16);
    assert_ptr_equal(second, first + 16);
    assert_int_equal(source.counts->calls, 2);
    lic_arena_free(&arena);
}

static void an_arena_can_be_used_again_after_it_was_freed(void **state)
{
    lic_memory memory;
    lic_arena  arena;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    lic_arena_free(&arena);
    assert_non_null(lic_new(&arena, int));
    lic_arena_free(&arena);
    lic_arena_free(&arena);
    assert_non_null(lic_new(&arena, int));
    lic_arena_free(&arena);
    assert_int_equal(atomic_load(&memory.used), 0);
}

static void arrays_are_zeroed_and_their_size_is_checked(void **state)
{
    lic_memory memory;
    lic_arena  arena;
    char       buffer[256];
    uint64_t  *numbers;

    (void)state;
    memset(buffer, 0x55, sizeof buffer);
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init_with(&arena, &memory, buffer, sizeof buffer);
    numbers = lic_new_array(&arena, 10, uint64_t);
    for (int i = 0; i < 10; i++)
        assert_int_equal(numbers[i], 0);
    assert_non_null(lic_arena_alloc_array(&arena, 0, 8));
    assert_null(lic_arena_alloc_array(&arena, SIZE_MAX / 2, 3));
    assert_null(lic_arena_alloc(&arena, SIZE_MAX));
    assert_null(lic_arena_alloc(&arena, SIZE_MAX - 16));
    lic_arena_free(&arena);
}

static void a_copied_text_is_another_text_with_the_same_bytes(void **state)
{
    static const char text[] = "a\0b";
    lic_memory        memory;
    lic_arena         arena;
    licet_str         copy;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    copy = lic_arena_str(&arena, (licet_str){ text, 3 });
    assert_ptr_not_equal(copy.data, text);
    assert_int_equal(copy.size, 3);
    assert_memory_equal(copy.data, text, 3);
    copy = lic_arena_str(&arena, (licet_str){ text, 0 });
    assert_non_null(copy.data);
    assert_int_equal(copy.size, 0);
    copy = lic_arena_str(&arena, (licet_str){ NULL, 0 });
    assert_null(copy.data);
    lic_arena_free(&arena);
}

static void an_array_in_an_arena_grows_and_keeps_its_items(void **state)
{
    lic_memory memory;
    lic_arena  arena;
    uint16_t  *items    = NULL;
    size_t     capacity = 0;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (uint16_t i = 0; i < 500; i++) {
        void *block = items;

        assert_true(lic_arena_grow(&arena, &block, &capacity, (size_t)i + 1, sizeof *items));
        items    = block;
        items[i] = i;
    }
    assert_int_equal(capacity, 512);
    for (uint16_t i = 0; i < 500; i++)
        assert_int_equal(items[i], i);
    lic_arena_free(&arena);
}

static void an_arena_without_memory_says_so_and_stays_usable(void **state)
{
    failing_memory source = fail_after(1);
    lic_memory     memory;
    lic_arena      arena;
    void          *items    = NULL;
    size_t         capacity = 0;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_true(lic_arena_grow(&arena, &items, &capacity, 8, 8));
    assert_false(lic_arena_grow(&arena, &items, &capacity, 4096, 8));
    assert_false(lic_arena_grow(&arena, &items, &capacity, SIZE_MAX, 1));
    assert_false(lic_arena_grow(&arena, &items, &capacity, SIZE_MAX / 4, 8));
    assert_int_equal(capacity, 8);
    assert_true(lic_arena_grow(&arena, &items, &capacity, 4096, 8));
    assert_int_equal(capacity, 4096);
    lic_arena_free(&arena);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void every_kind_of_allocation_reports_a_failure(void **state)
{
    failing_memory source = fail_from(0);
    lic_memory     memory;
    lic_arena      arena;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_null(lic_arena_alloc(&arena, 1));
    assert_null(lic_arena_alloc(&arena, 0));
    assert_null(lic_new(&arena, int));
    assert_null(lic_arena_str(&arena, (licet_str)LICET_STR_INIT("text")).data);
    assert_null(lic_arena_str(&arena, (licet_str)LICET_STR_INIT("")).data);
    lic_arena_free(&arena);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_aligned_and_do_not_overlap),
        cmocka_unit_test(blocks_double_so_few_are_asked_for),
        cmocka_unit_test(small_work_in_the_callers_buffer_allocates_nothing),
        cmocka_unit_test(a_buffer_too_small_to_align_is_left_alone),
        cmocka_unit_test(a_large_object_does_not_cost_the_rest_of_a_block),
        cmocka_unit_test(an_arena_can_be_used_again_after_it_was_freed),
        cmocka_unit_test(arrays_are_zeroed_and_their_size_is_checked),
        cmocka_unit_test(a_copied_text_is_another_text_with_the_same_bytes),
        cmocka_unit_test(an_array_in_an_arena_grows_and_keeps_its_items),
        cmocka_unit_test(an_arena_without_memory_says_so_and_stays_usable),
        cmocka_unit_test(every_kind_of_allocation_reports_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
