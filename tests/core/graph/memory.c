/* core/graph without memory: every allocation fails, once and from there on, and nothing is lost or half done. */
#include "world.h"

#include "base/arena.h"

enum { USER, MEMBER, OWNER }; /* slots */

#define STEPS 60u

#define STEP_CHANGES 8u

static lic_edge step_edge(uint32_t step, uint32_t i)
{
    return edge(OWNER, step * 300 + i, i % 2 == 0 ? USER : MEMBER, step % 9);
}

/* The caveat of the step's edge when it is written, and when the next step has been made. 0: none; ABSENT: gone. */
static uint32_t caveat_first(uint32_t step, uint32_t i)
{
    return i % 3 == 0 ? step + 1 : 0;
}

static uint32_t caveat_later(uint32_t step, uint32_t i)
{
    static const uint32_t later[] = { ABSENT, 1000, 0, 0, 0 };

    return later[i] == 1000 ? 1000 + step : later[i];
}

static lic_change step_change(lic_graph *graph, lic_edge e, uint32_t caveat, bool *made)
{
    uint32_t attribute = caveat == 0 || caveat == ABSENT ? LIC_NO_ATTRIBUTE : make_attribute(graph, caveat);

    if (attribute == LIC_NO_ATTRIBUTE && caveat != 0 && caveat != ABSENT)
        *made = false;
    return caveat == ABSENT ? unset(e) : set_with(e, attribute);
}

/* What step number `step` writes: five edges of its own, and changes of those of the step before: one goes, one gets
 * an attribute, one loses it. false: no memory for attributes. */
static bool step_changes(lic_graph *graph, uint32_t step, lic_change *changes, size_t *count)
{
    bool made = true;

    *count = 0;
    for (uint32_t i = 0; i < 5; i++)
        changes[(*count)++] = step_change(graph, step_edge(step, i), caveat_first(step, i), &made);
    for (uint32_t i = 0; i < 5 && step > 0; i++)
        if (caveat_later(step - 1, i) != caveat_first(step - 1, i))
            changes[(*count)++] = step_change(graph, step_edge(step - 1, i), caveat_later(step - 1, i), &made);
    return made;
}

/* false: no memory, and nothing has happened. */
static bool make_step(lic_graph *graph, uint32_t step)
{
    lic_change changes[STEP_CHANGES];
    size_t     count;
    uint64_t   revision = 0;
    bool       made     = step_changes(graph, step, changes, &count);

    lic_graph_lock(graph);
    made = made && lic_graph_apply(graph, changes, count, &revision);
    lic_graph_unlock(graph);
    for (size_t i = 0; i < count && !made; i++)
        lic_graph_attribute_release(graph, changes[i].attribute);
    assert_int_equal(revision, made ? step + 1 : 0);
    return made;
}

/* After `steps` steps: all their edges and no others. */
static void check_steps(const lic_graph *graph, uint32_t steps)
{
    lic_snapshot snapshot;

    lic_snapshot_pin(graph, &snapshot);
    assert_int_equal(snapshot.revision, steps);
    for (uint32_t step = 0; step <= steps; step++)
        for (uint32_t i = 0; i < 5; i++) {
            lic_edge e      = step_edge(step, i);
            uint32_t caveat = step + 1 == steps ? caveat_first(step, i) : caveat_later(step, i);

            if (step >= steps)
                caveat = ABSENT;
            assert_int_equal(caveat_at(&snapshot, e), caveat);
            assert_int_equal(count_subjects(&snapshot, e.resource), caveat != ABSENT);
        }
    lic_snapshot_unpin(&snapshot);
    assert_int_equal(sizes_of(graph).edges, steps == 0 ? 0 : steps * 4 + 1);
}

/* Writes until it fails or is done; returns the steps that were made. Merges from time to time, which may fail. */
static uint32_t write_steps(lic_graph *graph)
{
    for (uint32_t step = 0; step < STEPS; step++) {
        if (!make_step(graph, step))
            return step;
        if (step % 20 == 11)
            lic_graph_merge(graph);
        if (step % 20 == 19)
            lic_graph_merge_all(graph);
    }
    return STEPS;
}

/* One run with the allocations [n, end) after the graph was made failing. false: none failed. */
static bool survives(size_t n, size_t end, bool threads)
{
    world    w;
    uint32_t steps;
    bool     failed;

    world_open(&w, (lic_graph_options){ .min_history_changes = 30, .merge_changes = 50, .no_threads = !threads });
    w.source.counts->fail_end   = end == SIZE_MAX ? end : w.source.counts->calls + end;
    w.source.counts->fail_first = w.source.counts->calls + n;
    steps                       = write_steps(w.graph);
    failed                      = w.source.counts->failures > 0;
    check_steps(w.graph, steps);
    w.source.counts->fail_first = SIZE_MAX;

    /* Usable afterwards: the rest can be written, and merged. */
    for (; steps < STEPS; steps++)
        assert_true(make_step(w.graph, steps));
    check_steps(w.graph, STEPS);
    assert_true(lic_graph_merge_all(w.graph));
    check_steps(w.graph, STEPS);
    /* One for every step, and one more of the last one's. What a failed merge left waits for the next. */
    assert_int_equal(sizes_of(w.graph).attributes, STEPS + 1);
    world_close(&w);
    return failed;
}

static void one_failed_allocation_at_any_point_does_no_harm(void **state)
{
    size_t n = 0;

    (void)state;
    while (survives(n, n + 1, false))
        n++;
    assert_in_range(n, 100, 10000);
}

static void no_more_memory_from_any_point_on_does_no_harm(void **state)
{
    size_t n = 0;

    (void)state;
    while (survives(n, SIZE_MAX, false))
        n++;
    assert_in_range(n, 100, 10000);
}

/* Where the merge's thread stands differs from run to run; the graph must not care. */
static void merges_in_threads_may_fail_too(void **state)
{
    (void)state;
    for (size_t n = 0; n < 400; n += 9) {
        survives(n, n + 1, true);
        survives(n, SIZE_MAX, true);
    }
}

static void a_graph_that_can_not_be_made_leaves_nothing(void **state)
{
    lic_graph *graph = NULL;
    size_t     n     = 0;

    (void)state;
    for (; graph == NULL; n++) {
        failing_memory source = fail_after(n);
        lic_memory     memory;

        lic_memory_init(&memory, &source.allocator, SIZE_MAX);
        graph = lic_graph_new(&memory, NULL, NULL);
        if (graph != NULL)
            assert_int_equal(source.counts->failures, 0);
        else
            assert_int_equal(source.counts->live_blocks, 0);
        lic_graph_free(graph);
        assert_int_equal(source.counts->live_blocks, 0);
    }
    assert_int_equal(n, 5);
}

/* History is worth less than a write: at the limit it goes first. */
static void a_write_at_the_memory_limit_gives_up_history(void **state)
{
    world    w;
    uint32_t written = 0;
    uint64_t revision;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    w.memory.limit = w.before + 600000;
    lic_graph_lock(w.graph);
    for (;; written++) {
        lic_change change = set(edge(OWNER, written, USER, written % 1000));

        if (!lic_graph_apply(w.graph, &change, 1, &revision))
            break;
    }
    lic_graph_unlock(w.graph);
    assert_true(sizes_of(w.graph).merges > 1);
    assert_true(lic_graph_oldest(w.graph) > 1);
    assert_in_range(written, 12000, 40000); /* in the delta there would be room for 5,000 */
    assert_int_equal(sizes_of(w.graph).edges, written);
    for (uint32_t i = 0; i < written; i++)
        assert_true(has_now(w.graph, edge(OWNER, i, USER, i % 1000)));
    assert_false(has_now(w.graph, edge(OWNER, written, USER, written % 1000)));
    world_close(&w);
}

static void scans_report_that_memory_is_short(void **state)
{
    failing_memory none = fail_from(0);
    failing_memory one  = fail_from(1);
    lic_memory     memory;
    lic_arena      arena;
    lic_snapshot   snapshot;
    lic_scan      *scan;
    lic_edge       e;
    bool           found = true;
    world          w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    for (uint32_t i = 0; i < 1000; i++)
        write_one(w.graph, set(edge(OWNER, i, USER, 1)));
    lic_snapshot_pin(w.graph, &snapshot);
    lic_memory_init(&memory, &none.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_null(lic_snapshot_scan(&snapshot, &arena, OWNER, NULL));
    lic_arena_free(&arena);
    lic_memory_init(&memory, &one.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    scan = lic_snapshot_scan(&snapshot, &arena, OWNER, NULL);
    assert_non_null(scan);
    assert_false(lic_scan_next(scan, &e, &found));
    assert_false(found);
    lic_arena_free(&arena);
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

static void a_thing_that_can_not_be_retired_stays_the_owners(void **state)
{
    world w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    w.source.counts->fail_first = 0;
    lic_graph_lock(w.graph);
    assert_false(lic_graph_retire(w.graph, NULL, NULL, NULL));
    lic_graph_unlock(w.graph);
    w.source.counts->fail_first = SIZE_MAX;
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failed_allocation_at_any_point_does_no_harm),
        cmocka_unit_test(no_more_memory_from_any_point_on_does_no_harm),
        cmocka_unit_test(merges_in_threads_may_fail_too),
        cmocka_unit_test(a_graph_that_can_not_be_made_leaves_nothing),
        cmocka_unit_test(a_write_at_the_memory_limit_gives_up_history),
        cmocka_unit_test(scans_report_that_memory_is_short),
        cmocka_unit_test(a_thing_that_can_not_be_retired_stays_the_owners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
