/* core/graph/chunks.c: the array that grows without moving. */
#include "world.h"

#include "graph/chunks.h"

static void every_index_has_a_place_of_its_own(void **state)
{
    uint32_t expected_chunk  = 0;
    uint32_t expected_offset = 0;
    uint32_t last_chunk      = 0;
    uint32_t offset;

    (void)state;
    for (uint32_t i = 0; i < 300000; i++) {
        uint32_t chunk = lic_chunk_of(i, &offset);

        if (chunk != last_chunk) {
            expected_chunk++;
            expected_offset = 0;
            last_chunk      = chunk;
        }
        assert_int_equal(chunk, expected_chunk);
        assert_int_equal(offset, expected_offset++);
    }
    assert_true(lic_chunk_of(UINT32_MAX, &offset) == LIC_CHUNKS_COUNT - 1);
}

static void items_stay_where_they_are_while_it_grows(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_chunks     array = { .chunks = { NULL } };
    uint32_t      *first;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    assert_null(lic_chunks_find(&array, 0, sizeof *first));
    assert_true(lic_chunks_reserve(&array, &memory, 0, 1, sizeof *first));
    first = lic_chunks_at(&array, 0, sizeof *first);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(lic_chunks_reserve(&array, &memory, i, i + 1, sizeof *first));
        *(uint32_t *)lic_chunks_at(&array, i, sizeof *first) = i * 3;
    }
    assert_ptr_equal(lic_chunks_at(&array, 0, sizeof *first), first);
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(*(uint32_t *)lic_chunks_at(&array, i, sizeof *first), i * 3);
    /* At most a fifth unused. */
    assert_in_range(atomic_load(&memory.used), 5000 * sizeof *first, 6250 * sizeof *first);
    lic_chunks_free(&array, &memory, sizeof *first);
    assert_int_equal(atomic_load(&memory.used), 0);
}

static void a_far_item_needs_no_room_before_it(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_chunks     array = { .chunks = { NULL } };

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    assert_true(lic_chunks_reserve(&array, &memory, 1000, 1001, 1));
    assert_int_equal(source.counts->live_blocks, 1);
    assert_non_null(lic_chunks_find(&array, 1000, 1));
    assert_null(lic_chunks_find(&array, 0, 1));
    lic_chunks_free(&array, &memory, 1);
    assert_int_equal(source.counts->live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_has_a_place_of_its_own),
        cmocka_unit_test(items_stay_where_they_are_while_it_grows),
        cmocka_unit_test(a_far_item_needs_no_room_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
