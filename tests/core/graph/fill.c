/* core/graph: a graph that is filled at once is the one that the same changes make one after another. */
#include "world.h"

#include <stdlib.h>

#include "base/arena.h"

enum { USER, MEMBER, OWNER, VIEWER, SLOTS }; /* slots */

#define NODES 9000u /* in three ranges */
#define EDGES 4000u

static const lic_graph_options no_threads = { .no_threads = true };

static bool fill(lic_graph *graph, const lic_change *changes, size_t count)
{
    uint64_t before   = lic_graph_head(graph);
    uint64_t revision = 0;
    bool     filled;

    lic_graph_lock(graph);
    filled = lic_graph_fill(graph, changes, count, &revision);
    lic_graph_unlock(graph);
    assert_int_equal(revision, filled ? before + 1 : 0);
    assert_int_equal(lic_graph_head(graph), filled ? before + 1 : before);
    return filled;
}

static int compare_edges(const void *a, const void *b)
{
    const lic_change *x       = a;
    const lic_change *y       = b;
    const uint64_t    keys[4] = { lic_ref_key(x->edge.resource), lic_ref_key(y->edge.resource),
                                  lic_ref_key(x->edge.subject), lic_ref_key(y->edge.subject) };

    if (keys[0] != keys[1])
        return keys[0] < keys[1] ? -1 : 1;
    return (keys[2] > keys[3]) - (keys[2] < keys[3]);
}

/* Distinct edges in no order, among them lists of every length: resource number 5 has a thousand subjects. attribute is
 * a caveat's number, or none. */
static size_t make_edges(lic_change changes[EDGES], uint64_t seed)
{
    size_t count = 0;

    for (size_t i = 0; i < EDGES; i++) {
        const uint32_t resource = i % 4 == 0 ? 5 : next_random(&seed, i % 2 == 0 ? 40 : NODES);

        changes[i] = set_with(edge(i % 3 == 0 ? OWNER : VIEWER, resource, next_random(&seed, 2) ? USER : MEMBER,
                                   next_random(&seed, NODES)),
                              next_random(&seed, 10) == 0 ? next_random(&seed, 50) + 1 : 0);
    }
    qsort(changes, EDGES, sizeof *changes, compare_edges);
    for (size_t i = 0; i < EDGES; i++)
        if (i == 0 || compare_edges(&changes[i], &changes[count - 1]) != 0)
            changes[count++] = changes[i];
    for (size_t i = count; i-- > 1;) {
        const size_t     other = next_random(&seed, (uint32_t)i + 1);
        const lic_change moved = changes[i];

        changes[i]     = changes[other];
        changes[other] = moved;
    }
    return count;
}

/* The same, with attributes of the graph's own. */
static void give_attributes(lic_graph *graph, const lic_change *from, lic_change *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
        if (from[i].attribute != 0)
            to[i].attribute = make_attribute(graph, from[i].attribute);
    }
}

static void check_walk(lic_walk *walk, lic_walk *expected)
{
    static lic_ref ends[EDGES];
    static lic_ref expected_ends[EDGES];
    const size_t   count = walk_all(walk, ends, EDGES);

    assert_int_equal(walk_all(expected, expected_ends, EDGES), count);
    for (size_t i = 0; i < count; i++) { /* the other one's order is another */
        bool found = false;

        for (size_t j = 0; j < count && !found; j++)
            found = lic_ref_equal(ends[i], expected_ends[j]);
        assert_true(found);
    }
}

static size_t scan_all(lic_memory *memory, const lic_snapshot *snapshot, lic_slot slot)
{
    lic_arena arena;
    lic_scan *scan;
    lic_edge  e;
    size_t    count = 0;
    bool      found = true;

    lic_arena_init(&arena, memory);
    scan = lic_snapshot_scan(snapshot, &arena, slot, NULL);
    assert_non_null(scan);
    while (lic_scan_next(scan, &e, &found) && found) {
        assert_true(has(snapshot, e));
        count++;
    }
    assert_false(found);
    lic_arena_free(&arena);
    return count;
}

static void check_same(world *filled, world *expected, const lic_change *changes, size_t count)
{
    lic_snapshot a;
    lic_snapshot b;
    lic_walk     walk;
    lic_walk     other;

    assert_int_equal(sizes_of(filled->graph).edges, sizes_of(expected->graph).edges);
    lic_snapshot_pin(filled->graph, &a);
    lic_snapshot_pin(expected->graph, &b);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(caveat_at(&a, changes[i].edge), caveat_at(&b, changes[i].edge));
        lic_walk_subjects(&a, changes[i].edge.resource, &walk);
        lic_walk_subjects(&b, changes[i].edge.resource, &other);
        if (i % 50 == 0)
            check_walk(&walk, &other);
        lic_walk_resources(&a, changes[i].edge.subject, &walk);
        lic_walk_resources(&b, changes[i].edge.subject, &other);
        if (i % 7 == 0)
            check_walk(&walk, &other);
    }
    for (lic_slot slot = 0; slot < SLOTS; slot++)
        assert_int_equal(scan_all(&filled->memory, &a, slot), scan_all(&expected->memory, &b, slot));
    lic_snapshot_unpin(&a);
    lic_snapshot_unpin(&b);
}

static void it_is_the_graph_that_the_changes_make_one_after_another(void **state)
{
    static lic_change plain[EDGES];
    static lic_change changes[EDGES];

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        const size_t count = make_edges(plain, seed);
        world        w;
        world        other;

        world_open(&w, no_threads);
        world_open(&other, no_threads);
        give_attributes(w.graph, plain, changes, count);
        assert_true(fill(w.graph, changes, count));
        give_attributes(other.graph, plain, changes, count);
        write_all(other.graph, changes, count);
        check_same(&w, &other, plain, count);
        assert_int_equal(sizes_of(w.graph).delta_changes, 0);
        for (size_t i = 0; i < count; i += 3) { /* and lives on like it */
            write_one(w.graph, unset(plain[i].edge));
            write_one(other.graph, unset(plain[i].edge));
        }
        check_same(&w, &other, plain, count);
        assert_true(lic_graph_merge_all(w.graph));
        check_same(&w, &other, plain, count);
        world_close(&w);
        world_close(&other);
    }
}

static void who_pinned_it_empty_sees_it_empty(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    lic_change     change;
    world          w;
    lic_snapshot   before;
    lic_snapshot   again;

    (void)state;
    world_open(&w, no_threads);
    lic_snapshot_pin(w.graph, &before);
    change = set(e);
    assert_true(fill(w.graph, &change, 1));
    assert_false(has(&before, e));
    assert_int_equal(count_subjects(&before, e.resource), 0);
    assert_int_equal(count_resources(&before, e.subject), 0);
    assert_int_equal(scan_all(&w.memory, &before, OWNER), 0);
    lic_snapshot_unpin(&before);
    assert_true(has_now(w.graph, e));
    assert_int_equal(lic_graph_oldest(w.graph), 0);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 0, &again), LIC_PIN_OK);
    assert_false(has(&again, e));
    assert_int_equal(count_subjects(&again, e.resource), 0);
    assert_int_equal(count_resources(&again, e.subject), 0);
    assert_int_equal(lic_snapshot_glance(&again, e.resource).count, 0);
    assert_false(lic_snapshot_glance(&again, e.resource).touched);
    assert_int_equal(scan_all(&w.memory, &again, OWNER), 0);
    lic_snapshot_unpin(&again);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 1, &again), LIC_PIN_OK);
    assert_true(has(&again, e));
    lic_snapshot_unpin(&again);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 2, &again), LIC_PIN_FUTURE);
    world_close(&w);
}

/* Whatever memory there is: where it fills the graph, there is enough left to delete all of it again, one by one. */
static void what_fills_the_memory_can_be_deleted_again(void **state)
{
    enum { MEMBERS = 400, STEP = 4096, STEPS = 80 };
    static lic_change changes[MEMBERS];

    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        size_t filled = 0;

        for (size_t i = 0; i < STEPS; i++) {
            world  w;
            size_t before;

            world_open(&w, no_threads);
            before         = atomic_load(&w.memory.used);
            w.memory.limit = before + i * (sparse ? 4 : 1) * STEP;
            for (uint32_t j = 0; j < MEMBERS; j++) /* each in pieces of its own, or all in one */
                changes[j] = set(sparse ? edge(OWNER, j * 4096, USER, j * 4096) : edge(OWNER, 1, USER, j));
            if (fill(w.graph, changes, MEMBERS)) {
                filled++;
                for (size_t j = 0; j < MEMBERS; j++)
                    write_one(w.graph, unset(changes[j].edge));
                assert_int_equal(sizes_of(w.graph).edges, 0);
            } else {
                assert_int_equal(sizes_of(w.graph).edges, 0);
            }
            world_close(&w);
        }
        assert_in_range(filled, 10, STEPS - 5);
    }
}

static void its_history_takes_no_memory(void **state)
{
    static lic_change changes[EDGES];
    const size_t      count = make_edges(changes, 3);
    lic_graph_sizes   sizes;
    lic_graph_sizes   logged;
    world             w;
    world             other;

    (void)state;
    for (size_t i = 0; i < count; i++)
        changes[i].attribute = LIC_NO_ATTRIBUTE;
    world_open(&w, no_threads);
    world_open(&other, no_threads);
    fill_all(w.graph, changes, count);
    write_all(other.graph, changes, count);
    assert_true(lic_graph_merge(w.graph));
    assert_true(lic_graph_merge(other.graph));
    sizes  = sizes_of(w.graph);
    logged = sizes_of(other.graph);
    assert_int_equal(lic_graph_oldest(w.graph), 0);
    assert_int_equal(lic_graph_oldest(other.graph), 0);
    assert_int_equal(sizes.delta_changes + sizes.history_changes, 0);
    assert_int_equal(logged.delta_changes + logged.history_changes, count);
    assert_true(sizes.graph_bytes + 100 * count <= logged.graph_bytes);
    world_close(&w);
    world_close(&other);
}

static void it_refuses_what_apply_has_to_do(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    const lic_edge f = edge(OWNER, 2, USER, 1);
    lic_change     two[300];
    world          w;

    (void)state;
    world_open(&w, no_threads);
    assert_false(fill(w.graph, two, 0));
    assert_false(fill(w.graph, (lic_change[]){ set(e), unset(f) }, 2));
    assert_false(fill(w.graph, (lic_change[]){ set(e), set(f), set(e) }, 3));
    for (uint32_t i = 0; i < 300; i++)
        two[i] = set(edge(OWNER, 300 - i / 2, USER, 1));
    assert_false(fill(w.graph, two, 300));
    assert_false(fill(w.graph, (lic_change[]){ set(edge(OWNER, 1, LIC_NO_SLOT, 1)) }, 1));
    assert_false(fill(w.graph, (lic_change[]){ set(edge(LIC_NO_SLOT, 1, USER, 1)) }, 1));
    assert_false(has_now(w.graph, e));
    assert_true(fill(w.graph, (lic_change[]){ set(e) }, 1));
    assert_false(fill(w.graph, (lic_change[]){ set(f) }, 1));
    world_close(&w);
    world_open(&w, no_threads);
    write_one(w.graph, set(e));
    assert_false(fill(w.graph, (lic_change[]){ set(f) }, 1));
    write_one(w.graph, unset(e));
    assert_false(fill(w.graph, (lic_change[]){ set(f) }, 1));
    assert_true(lic_graph_merge_all(w.graph));
    assert_false(fill(w.graph, (lic_change[]){ set(f) }, 1));
    world_close(&w);
}

/* Enough for a thread of each direction. */
static void many_are_all_there(void **state)
{
    enum { MANY = 60000 };
    static const lic_graph_options threads = { .no_threads = false };
    static lic_change              changes[MANY];

    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        world w;

        world_open(&w, threads);
        for (uint32_t i = 0; i < MANY; i++)
            changes[i] = set_with(edge(OWNER, i % NODES, USER, i / NODES * 1000 + i % 1000),
                                  i % 100 == 0 ? make_attribute(w.graph, i + 1) : 0);
        if (twice) { /* one is */
            changes[MANY - 1] = set(changes[7].edge);
            assert_false(fill(w.graph, changes, MANY));
            assert_int_equal(sizes_of(w.graph).edges, 0);
            for (uint32_t i = 0; i < MANY; i++)
                lic_graph_attribute_release(w.graph, changes[i].attribute);
        } else {
            assert_true(fill(w.graph, changes, MANY));
            assert_int_equal(sizes_of(w.graph).edges, MANY);
            for (uint32_t i = 0; i < MANY; i++)
                assert_int_equal(caveat_now(w.graph, changes[i].edge), i % 100 == 0 ? i + 1 : 0);
        }
        world_close(&w);
    }
}

static void without_memory_nothing_has_happened(void **state)
{
    static lic_change plain[EDGES];
    static lic_change changes[EDGES];
    const size_t      count  = make_edges(plain, 9) / 8;
    bool              filled = false;
    size_t            failed = 0;

    (void)state;
    for (size_t n = 0; !filled; n++) {
        world w;

        world_open(&w, no_threads);
        give_attributes(w.graph, plain, changes, count);
        fail_next(&w.source, n);
        filled = fill(w.graph, changes, count);
        fail_next(&w.source, SIZE_MAX / 2);
        failed += !filled;
        if (!filled) {
            assert_false(has_now(w.graph, plain[0].edge));
            assert_int_equal(sizes_of(w.graph).edges, 0);
            write_all(w.graph, changes, count);
        }
        for (size_t i = 0; i < count; i++)
            assert_int_equal(caveat_now(w.graph, plain[i].edge), plain[i].attribute);
        assert_int_equal(sizes_of(w.graph).edges, count);
        world_close(&w);
    }
    assert_true(failed > 20);
}

/* ------------------------------------------------------------------ once more */

static bool refill(lic_graph *graph, const lic_change *changes, size_t count)
{
    uint64_t before   = lic_graph_head(graph);
    uint64_t revision = 0;
    bool     filled;

    lic_graph_lock(graph);
    filled = lic_graph_refill(graph, changes, count, &revision);
    lic_graph_unlock(graph);
    assert_int_equal(revision, filled ? before + 1 : 0);
    assert_int_equal(lic_graph_head(graph), filled ? before + 1 : before);
    return filled;
}

static void a_graph_with_edges_gets_more_at_once_like_by_changes(void **state)
{
    static lic_change plain[EDGES];
    static lic_change changes[EDGES];

    (void)state;
    for (uint64_t seed = 11; seed <= 15; seed++) {
        const size_t count = make_edges(plain, seed);
        const size_t part  = count / (seed - 9);
        lic_snapshot before;
        lic_snapshot again;
        world        w;
        world        other;

        world_open(&w, no_threads);
        world_open(&other, no_threads);
        give_attributes(other.graph, plain, changes, count);
        write_all(other.graph, changes, count);
        give_attributes(w.graph, plain, changes, count);
        write_all(w.graph, changes, part);
        assert_true(lic_graph_merge_all(w.graph));
        lic_snapshot_pin(w.graph, &before);
        assert_true(refill(w.graph, changes + part, count - part));
        for (size_t i = 0; i < count; i++)
            assert_int_equal(caveat_at(&before, plain[i].edge), i < part ? plain[i].attribute : ABSENT);
        lic_snapshot_unpin(&before);
        assert_int_equal(lic_graph_oldest(w.graph), 2);
        assert_int_equal(lic_snapshot_pin_at(w.graph, 1, &again), LIC_PIN_EXPIRED);
        check_same(&w, &other, plain, count);
        for (size_t i = 0; i < count; i += 3) { /* and lives on like it */
            write_one(w.graph, unset(plain[i].edge));
            write_one(other.graph, unset(plain[i].edge));
        }
        check_same(&w, &other, plain, count);
        assert_true(lic_graph_merge_all(w.graph));
        check_same(&w, &other, plain, count);
        world_close(&w);
        world_close(&other);
    }
}

static void more_at_once_is_refused_where_it_is_not_only_more(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    const lic_edge f = edge(OWNER, 2, USER, 1);
    world          w;

    (void)state;
    world_open(&w, no_threads);
    assert_false(refill(w.graph, (lic_change[]){ set(e) }, 1)); /* nothing is there */
    write_one(w.graph, set(e));
    assert_false(refill(w.graph, (lic_change[]){ set(f) }, 1)); /* not merged */
    assert_true(lic_graph_merge(w.graph));
    assert_false(refill(w.graph, (lic_change[]){ set(f) }, 1)); /* there is history */
    assert_true(lic_graph_merge_all(w.graph));
    assert_false(refill(w.graph, (lic_change[]){ set(e) }, 1)); /* it is there */
    assert_false(refill(w.graph, (lic_change[]){ unset(e) }, 1));
    assert_true(refill(w.graph, (lic_change[]){ set(f) }, 1));
    assert_true(has_now(w.graph, e));
    assert_true(has_now(w.graph, f));
    assert_int_equal(sizes_of(w.graph).edges, 2);
    world_close(&w);
}

static void without_memory_for_more_nothing_has_happened(void **state)
{
    static lic_change plain[EDGES];
    static lic_change changes[EDGES];
    const size_t      count  = make_edges(plain, 9) / 8;
    bool              filled = false;
    size_t            failed = 0;

    (void)state;
    for (size_t n = 0; !filled; n++) {
        world w;

        world_open(&w, no_threads);
        give_attributes(w.graph, plain, changes, count);
        write_all(w.graph, changes, count / 2);
        assert_true(lic_graph_merge_all(w.graph));
        fail_next(&w.source, n);
        filled = refill(w.graph, changes + count / 2, count - count / 2);
        fail_next(&w.source, SIZE_MAX / 2);
        failed += !filled;
        if (!filled) {
            assert_int_equal(sizes_of(w.graph).edges, count / 2);
            write_all(w.graph, changes + count / 2, count - count / 2);
        }
        for (size_t i = 0; i < count; i++)
            assert_int_equal(caveat_now(w.graph, plain[i].edge), plain[i].attribute);
        assert_int_equal(sizes_of(w.graph).edges, count);
        world_close(&w);
    }
    assert_true(failed > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_graph_that_the_changes_make_one_after_another),
        cmocka_unit_test(who_pinned_it_empty_sees_it_empty),
        cmocka_unit_test(what_fills_the_memory_can_be_deleted_again),
        cmocka_unit_test(its_history_takes_no_memory),
        cmocka_unit_test(it_refuses_what_apply_has_to_do),
        cmocka_unit_test(many_are_all_there),
        cmocka_unit_test(without_memory_nothing_has_happened),
        cmocka_unit_test(a_graph_with_edges_gets_more_at_once_like_by_changes),
        cmocka_unit_test(more_at_once_is_refused_where_it_is_not_only_more),
        cmocka_unit_test(without_memory_for_more_nothing_has_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
