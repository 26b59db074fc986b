/* core/graph/piece.c: pieces of the base. */
#include "world.h"

#include "graph/piece.h"

static const lic_edge_seed   seed  = { 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f };
static const lic_piece_place place = { .slot = 3, .first_node = 2 * LIC_PIECE_NODES, .seed = &seed };

#define HERE LIC_NO_ATTRIBUTE

typedef struct bench {
    failing_memory source;
    lic_memory     memory;
} bench;

static void bench_open(bench *b)
{
    b->source = fail_never();
    lic_memory_init(&b->memory, &b->source.allocator, SIZE_MAX);
}

/* A node of the place's range. */
static uint32_t node(uint32_t number)
{
    return place.first_node + number;
}

static bool piece_has(const lic_piece *piece, uint32_t number, uint64_t key)
{
    uint64_t origin = lic_ref_key((lic_ref){ place.slot, node(number) });

    return lic_piece_state(piece, origin, key, &seed) != LIC_ABSENT;
}

static lic_piece *build(bench *b, lic_piece *old, lic_piece_change *changes, size_t count)
{
    lic_piece *piece;

    lic_piece_sort(changes, count);
    assert_true(lic_piece_build(&b->memory, &place, old, changes, count, &piece));
    lic_piece_free(&b->memory, old);
    return piece;
}

static void single_edges_need_no_starts(void **state)
{
    bench            b;
    lic_piece_change changes[] = { { node(70), HERE, 5 }, { node(0), HERE, 9 }, { node(4095), HERE, 1 } };
    lic_piece       *piece;
    uint32_t         from;
    uint32_t         to;

    (void)state;
    bench_open(&b);
    piece = build(&b, NULL, changes, 3);
    assert_int_equal(piece->size, sizeof(lic_piece) + 3 * sizeof(uint64_t));
    assert_int_equal(atomic_load(&b.memory.used), piece->size);
    assert_true(piece_has(piece, 0, 9));
    assert_true(piece_has(piece, 70, 5));
    assert_true(piece_has(piece, 4095, 1));
    assert_false(piece_has(piece, 70, 9));
    assert_false(piece_has(piece, 1, 9));
    assert_true(lic_piece_list(piece, node(70), &from, &to));
    assert_int_equal(from, 1);
    assert_int_equal(to, 2);
    assert_false(lic_piece_list(piece, node(71), &from, &to));
    lic_piece_free(&b.memory, piece);
    assert_int_equal(b.source.counts->live_blocks, 0);
}

static void lists_of_every_length_find_their_keys_and_no_others(void **state)
{
    bench            b;
    lic_piece_change changes[64 * 65 / 2];
    lic_piece       *piece;
    size_t           count = 0;

    (void)state;
    bench_open(&b);
    for (uint32_t length = 1; length <= 64; length++)
        for (uint32_t i = 0; i < length; i++)
            changes[count++] = (lic_piece_change){ node(length * 60), HERE, (uint64_t)i * 2 + 1 };
    piece = build(&b, NULL, changes, count);
    for (uint32_t length = 1; length <= 64; length++) {
        uint32_t from = 0;
        uint32_t to   = 0;

        assert_true(lic_piece_list(piece, node(length * 60), &from, &to));
        assert_int_equal(to - from, length);
        for (uint32_t i = 0; i < length; i++) {
            assert_int_equal(piece->keys[from + i], i * 2 + 1);
            assert_true(piece_has(piece, length * 60, (uint64_t)i * 2 + 1));
            assert_false(piece_has(piece, length * 60, (uint64_t)i * 2));
        }
        assert_false(piece_has(piece, length * 60, (uint64_t)length * 2 + 1));
    }
    lic_piece_free(&b.memory, piece);
}

static void changes_are_made_whatever_was_there(void **state)
{
    bench            b;
    lic_piece_change first[]  = { { node(1), HERE, 10 }, { node(1), HERE, 20 }, { node(5), HERE, 1 } };
    lic_piece_change second[] = { { node(1), HERE, 10 },      { node(1), LIC_ABSENT, 20 }, { node(1), HERE, 15 },
                                  { node(5), LIC_ABSENT, 1 }, { node(5), LIC_ABSENT, 2 },  { node(9), LIC_ABSENT, 7 },
                                  { node(4), HERE, 100 } };
    lic_piece       *piece;

    (void)state;
    bench_open(&b);
    piece = build(&b, NULL, first, 3);
    for (int twice = 0; twice < 2; twice++) {
        piece = build(&b, piece, second, 7);
        assert_int_equal(piece->edges, 3);
        assert_int_equal(piece->lists, 2);
        assert_true(piece_has(piece, 1, 10));
        assert_true(piece_has(piece, 1, 15));
        assert_false(piece_has(piece, 1, 20));
        assert_true(piece_has(piece, 4, 100));
        assert_false(piece_has(piece, 5, 1));
        assert_false(piece_has(piece, 9, 7));
    }
    lic_piece_free(&b.memory, piece);
}

static uint32_t attribute_of(const lic_piece *piece, uint32_t number, uint64_t key)
{
    uint64_t origin = lic_ref_key((lic_ref){ place.slot, node(number) });

    return lic_piece_state(piece, origin, key, &seed);
}

static void attributes_cost_nothing_where_there_are_none(void **state)
{
    bench            b;
    lic_piece_change plain[]       = { { node(1), HERE, 10 }, { node(1), HERE, 20 }, { node(2), HERE, 5 } };
    lic_piece_change attributed[]  = { { node(1), 7, 20 } };
    lic_piece_change plain_again[] = { { node(1), HERE, 20 } };
    lic_piece       *piece;
    size_t           size = sizeof(lic_piece) + 3 * sizeof(uint64_t) + 3 * sizeof(uint32_t);

    (void)state;
    bench_open(&b);
    piece = build(&b, NULL, plain, 3);
    assert_int_equal(piece->size, size);
    assert_int_equal(attribute_of(piece, 1, 20), LIC_NO_ATTRIBUTE);
    piece = build(&b, piece, attributed, 1);
    assert_int_equal(piece->size, size + sizeof(lic_piece_word) + sizeof(uint32_t));
    assert_int_equal(attribute_of(piece, 1, 10), LIC_NO_ATTRIBUTE);
    assert_int_equal(attribute_of(piece, 1, 20), 7);
    assert_int_equal(attribute_of(piece, 2, 5), LIC_NO_ATTRIBUTE);
    assert_int_equal(attribute_of(piece, 2, 6), LIC_ABSENT);
    piece = build(&b, piece, plain_again, 1);
    assert_int_equal(piece->size, size);
    assert_int_equal(attribute_of(piece, 1, 20), LIC_NO_ATTRIBUTE);
    lic_piece_free(&b.memory, piece);
}

#define TABLE_NODES 40u
#define TABLE_KEYS 40u

/* Random changes over random changes: every key keeps its own attribute, wherever it moves in the piece. */
static void attributes_stay_with_their_keys(void **state)
{
    bench          b;
    lic_edge_state table[TABLE_NODES][TABLE_KEYS];
    lic_piece     *piece  = NULL;
    uint64_t       random = 3;

    (void)state;
    bench_open(&b);
    memset(table, 0xff, sizeof table);
    for (int round = 0; round < 300; round++) {
        lic_piece_change changes[TABLE_NODES];
        uint32_t         count = 1 + next_random(&random, TABLE_NODES);

        for (uint32_t i = 0; i < count; i++) { /* one change a node: no key twice */
            uint32_t       key       = next_random(&random, TABLE_KEYS);
            lic_edge_state states[3] = { LIC_ABSENT, HERE, 1 + next_random(&random, 1000) };
            lic_edge_state wanted    = states[next_random(&random, 3)];

            changes[i]    = (lic_piece_change){ node(i * 100), wanted, key };
            table[i][key] = wanted;
        }
        piece = build(&b, piece, changes, count);
        for (uint32_t i = 0; i < TABLE_NODES; i++)
            for (uint32_t key = 0; key < TABLE_KEYS; key++)
                assert_int_equal(piece == NULL ? LIC_ABSENT : attribute_of(piece, i * 100, key), table[i][key]);
    }
    assert_true(piece->edges > 512);
    assert_true(piece->attributed > 256);
    lic_piece_free(&b.memory, piece);
    assert_int_equal(b.source.counts->live_blocks, 0);
}

static void nothing_left_is_no_piece(void **state)
{
    bench            b;
    lic_piece_change first[]  = { { node(1), HERE, 10 } };
    lic_piece_change second[] = { { node(1), LIC_ABSENT, 10 } };
    lic_piece       *piece;

    (void)state;
    bench_open(&b);
    piece = build(&b, NULL, first, 1);
    assert_non_null(piece);
    piece = build(&b, piece, second, 1);
    assert_null(piece);
    assert_int_equal(b.source.counts->live_blocks, 0);
}

static void changes_are_sorted_by_node_then_key(void **state)
{
    lic_piece_change changes[500];
    uint64_t         random = 1;

    (void)state;
    for (size_t count = 0; count <= 500; count += 1 + count / 3) {
        for (size_t i = 0; i < count; i++)
            changes[i] = (lic_piece_change){ next_random(&random, 20), HERE, next_random(&random, 1000) };
        lic_piece_sort(changes, count);
        for (size_t i = 1; i < count; i++)
            assert_true(changes[i - 1].node < changes[i].node ||
                        (changes[i - 1].node == changes[i].node && changes[i - 1].key <= changes[i].key));
    }
}

static void a_failed_allocation_leaves_no_piece(void **state)
{
    bench            b;
    lic_piece_change changes[] = { { node(1), HERE, 10 } };
    lic_piece       *piece     = (lic_piece *)changes;

    (void)state;
    bench_open(&b);
    b.source.counts->fail_first = 0;
    assert_false(lic_piece_build(&b.memory, &place, NULL, changes, 1, &piece));
    assert_null(piece);
    assert_int_equal(b.source.counts->live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_edges_need_no_starts),
        cmocka_unit_test(lists_of_every_length_find_their_keys_and_no_others),
        cmocka_unit_test(changes_are_made_whatever_was_there),
        cmocka_unit_test(attributes_cost_nothing_where_there_are_none),
        cmocka_unit_test(attributes_stay_with_their_keys),
        cmocka_unit_test(nothing_left_is_no_piece),
        cmocka_unit_test(changes_are_sorted_by_node_then_key),
        cmocka_unit_test(a_failed_allocation_leaves_no_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
