/* core/base/memory.c: the counted allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"

#include <pthread.h>
#include <string.h>

#include "failing_memory.h"

static size_t used(lic_memory *memory)
{
    return atomic_load(&memory->used);
}

static void every_byte_is_counted_and_given_back(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    void          *a;
    void          *b;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    a = lic_alloc(&memory, 100);
    b = lic_alloc_array(&memory, 3, 7);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(used(&memory), 121);
    assert_int_equal(source.counts->live_bytes, 121);
    a = lic_resize(&memory, a, 100, 40);
    assert_int_equal(used(&memory), 61);
    a = lic_resize(&memory, a, 40, 400);
    assert_int_equal(used(&memory), 421);
    lic_free(&memory, a, 400);
    lic_free(&memory, b, 21);
    lic_free(&memory, NULL, 0);
    assert_int_equal(used(&memory), 0);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void a_counted_memory_is_counted_in_itself_and_ends_with_its_last_holder(void **state)
{
    failing_memory source = fail_never();
    lic_memory    *memory = lic_memory_new(&source.allocator, 1000);
    void          *block;

    (void)state;
    assert_non_null(memory);
    assert_int_equal(used(memory), sizeof *memory);
    assert_null(lic_alloc(memory, 1001 - sizeof *memory));
    block = lic_alloc(memory, 1000 - sizeof *memory);
    assert_non_null(block);
    lic_memory_retain(memory);
    lic_memory_release(memory);
    assert_int_equal(used(memory), 1000);
    lic_free(memory, block, 1000 - sizeof *memory);
    lic_memory_release(memory);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void a_counted_memory_needs_room_for_itself(void **state)
{
    failing_memory source = fail_after(0);

    (void)state;
    assert_null(lic_memory_new(&source.allocator, SIZE_MAX));
    assert_null(lic_memory_new(NULL, sizeof(lic_memory) - 1));
    assert_int_equal(source.counts->live_blocks, 0);
}

static void holders_of_a_memory_inside_something_else_do_not_end_it(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    lic_memory_retain(&memory);
    lic_memory_release(&memory);
    lic_memory_release(&memory);
    lic_memory_release(NULL);
    assert_int_equal(used(&memory), 0);
}

static void without_hooks_memory_comes_from_malloc(void **state)
{
    static const licet_allocator none = { NULL, NULL, NULL, NULL };
    lic_memory                   memory;

    (void)state;
    for (int given = 0; given < 2; given++) {
        char *block;

        lic_memory_init(&memory, given ? &none : NULL, SIZE_MAX);
        block = lic_alloc(&memory, 10);
        assert_non_null(block);
        memcpy(block, "012345678", 10);
        block = lic_resize(&memory, block, 10, 20);
        assert_string_equal(block, "012345678");
        lic_free(&memory, block, 20);
        assert_int_equal(used(&memory), 0);
    }
}

static void zeroed_memory_is_zero(void **state)
{
    static const char zeros[64];
    lic_memory        memory;
    char             *dirty;
    char             *clean;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    dirty = lic_alloc(&memory, sizeof zeros);
    memset(dirty, 0x55, sizeof zeros);
    lic_free(&memory, dirty, sizeof zeros);
    clean = lic_alloc_zero(&memory, sizeof zeros);
    assert_memory_equal(clean, zeros, sizeof zeros);
    lic_free(&memory, clean, sizeof zeros);
}

static void the_limit_is_reached_exactly_and_never_passed(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    void          *a;

    (void)state;
    lic_memory_init(&memory, &source.allocator, 100);
    assert_null(lic_alloc(&memory, 101));
    a = lic_alloc(&memory, 60);
    assert_null(lic_alloc(&memory, 41));
    assert_null(lic_resize(&memory, a, 60, 101));
    assert_int_equal(used(&memory), 60);
    assert_int_equal(source.counts->calls, 1);
    a = lic_resize(&memory, a, 60, 100);
    assert_non_null(a);
    assert_null(lic_alloc(&memory, 1));
    lic_free(&memory, a, 100);
}

static void impossible_sizes_give_null_and_count_nothing(void **state)
{
    lic_memory memory;
    char      *block;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    block = lic_alloc(&memory, 1);
    assert_null(lic_alloc(&memory, 0));
    assert_null(lic_alloc_zero(&memory, 0));
    assert_null(lic_alloc_array(&memory, SIZE_MAX / 2, 3));
    assert_null(lic_alloc_array(&memory, 0, 8));
    assert_null(lic_alloc(&memory, SIZE_MAX));
    assert_null(lic_resize(&memory, block, 1, 0));
    assert_int_equal(used(&memory), 1);
    lic_free(&memory, block, 1);
}

static void a_failing_hook_leaves_the_old_block_and_the_count(void **state)
{
    failing_memory source = fail_from(1);
    lic_memory     memory;
    char          *block;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    block = lic_alloc(&memory, 4);
    memcpy(block, "abc", 4);
    assert_null(lic_alloc(&memory, 5));
    assert_null(lic_resize(&memory, block, 4, 8));
    assert_null(lic_resize(&memory, block, 4, 2));
    assert_string_equal(block, "abc");
    assert_int_equal(used(&memory), 4);
    assert_int_equal(source.counts->failures, 3);
    lic_free(&memory, block, 4);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void resizing_nothing_allocates(void **state)
{
    lic_memory memory;
    void      *block;

    (void)state;
    lic_memory_init(&memory, NULL, 16);
    assert_null(lic_resize(&memory, NULL, 0, 17));
    block = lic_resize(&memory, NULL, 0, 16);
    assert_non_null(block);
    assert_int_equal(used(&memory), 16);
    lic_free(&memory, block, 16);
}

static void a_vector_grows_by_doubling_and_keeps_its_items(void **state)
{
    lic_memory memory;
    uint32_t  *items    = NULL;
    size_t     capacity = 0;
    size_t     moves    = 0;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = capacity;
        void  *block  = items;

        assert_true(lic_grow(&memory, &block, &capacity, i + 1, sizeof *items));
        items = block;
        moves += capacity != before;
        items[i] = i;
    }
    assert_int_equal(capacity, 1024);
    assert_int_equal(moves, 8);
    assert_int_equal(used(&memory), 4096);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    lic_free(&memory, items, capacity * sizeof *items);
}

static void a_vector_that_can_not_grow_is_unchanged(void **state)
{
    lic_memory memory;
    void      *items    = NULL;
    size_t     capacity = 0;

    (void)state;
    lic_memory_init(&memory, NULL, 64);
    assert_true(lic_grow(&memory, &items, &capacity, 8, 8));
    assert_false(lic_grow(&memory, &items, &capacity, 9, 8));
    assert_false(lic_grow(&memory, &items, &capacity, SIZE_MAX, 1));
    assert_false(lic_grow(&memory, &items, &capacity, SIZE_MAX / 4, 8));
    assert_int_equal(capacity, 8);
    assert_int_equal(used(&memory), 64);
    lic_free(&memory, items, 64);
}

static void checked_sizes_say_when_they_overflow(void **state)
{
    size_t result;

    (void)state;
    assert_true(lic_size_add(SIZE_MAX - 1, 1, &result));
    assert_int_equal(result, SIZE_MAX);
    assert_false(lic_size_add(SIZE_MAX, 1, &result));
    assert_true(lic_size_mul(SIZE_MAX / 2, 2, &result));
    assert_int_equal(result, SIZE_MAX - 1);
    assert_false(lic_size_mul(SIZE_MAX / 2 + 1, 2, &result));
}

#define THREADS 4
#define ROUNDS 2000

static void *take_and_give_back(void *argument)
{
    lic_memory *memory = argument;

    for (int i = 0; i < ROUNDS; i++) {
        void *block = lic_alloc(memory, 40);

        if (atomic_load(&memory->used) > 100)
            return memory; /* the limit was passed */
        lic_free(memory, block, 40);
    }
    return NULL;
}

static void threads_together_do_not_pass_the_limit(void **state)
{
    lic_memory memory;
    pthread_t  threads[THREADS];

    (void)state;
    lic_memory_init(&memory, NULL, 100);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give_back, &memory), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(used(&memory), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_counted_and_given_back),
        cmocka_unit_test(a_counted_memory_is_counted_in_itself_and_ends_with_its_last_holder),
        cmocka_unit_test(a_counted_memory_needs_room_for_itself),
        cmocka_unit_test(holders_of_a_memory_inside_something_else_do_not_end_it),
        cmocka_unit_test(without_hooks_memory_comes_from_malloc),
        cmocka_unit_test(zeroed_memory_is_zero),
        cmocka_unit_test(the_limit_is_reached_exactly_and_never_passed),
        cmocka_unit_test(impossible_sizes_give_null_and_count_nothing),
        cmocka_unit_test(a_failing_hook_leaves_the_old_block_and_the_count),
        cmocka_unit_test(resizing_nothing_allocates),
        cmocka_unit_test(a_vector_grows_by_doubling_and_keeps_its_items),
        cmocka_unit_test(a_vector_that_can_not_grow_is_unchanged),
        cmocka_unit_test(checked_sizes_say_when_they_overflow),
        cmocka_unit_test(threads_together_do_not_pass_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
