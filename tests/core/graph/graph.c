/* core/graph: what the graph promises, in small worlds. */
#include "world.h"

#include "base/clock.h"

enum { USER, MEMBER, OWNER, VIEWER }; /* slots */

static const lic_graph_options no_threads = { .no_threads = true };

static void an_empty_graph_is_at_revision_zero(void **state)
{
    world        w;
    lic_snapshot snapshot;
    lic_walk     walk;
    lic_ref      end;

    (void)state;
    world_open(&w, no_threads);
    assert_int_equal(lic_graph_head(w.graph), 0);
    assert_int_equal(lic_graph_oldest(w.graph), 0);
    lic_snapshot_pin(w.graph, &snapshot);
    assert_int_equal(snapshot.revision, 0);
    assert_false(has(&snapshot, edge(OWNER, 1, USER, 1)));
    lic_walk_subjects(&snapshot, (lic_ref){ OWNER, 1 }, &walk);
    assert_false(lic_walk_next(&walk, &end));
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

static void ids_that_occur_nowhere_are_in_no_edge(void **state)
{
    static const uint32_t nowhere[] = { LIC_NO_NODE, LIC_OTHER_NODE, 5000 };
    world                 w;

    (void)state;
    world_open(&w, no_threads);
    for (int merged = 0; merged < 2; merged++) {
        write_one(w.graph, set(edge(OWNER, 1, USER, 1)));
        for (size_t i = 0; i < 3; i++) {
            lic_snapshot snapshot;

            lic_snapshot_pin(w.graph, &snapshot);
            assert_false(has(&snapshot, edge(OWNER, nowhere[i], USER, 1)));
            assert_false(has(&snapshot, edge(OWNER, 1, USER, nowhere[i])));
            assert_false(has(&snapshot, edge(LIC_NO_SLOT, 1, USER, 1)));
            assert_false(has(&snapshot, edge(OWNER, 1, LIC_NO_SLOT, 1)));
            assert_int_equal(count_subjects(&snapshot, (lic_ref){ OWNER, nowhere[i] }), 0);
            assert_int_equal(count_resources(&snapshot, (lic_ref){ USER, nowhere[i] }), 0);
            assert_int_equal(count_resources(&snapshot, (lic_ref){ LIC_NO_SLOT, 1 }), 0);
            lic_snapshot_unpin(&snapshot);
        }
        assert_true(lic_graph_merge_all(w.graph));
    }
    world_close(&w);
}

static void a_snapshot_sees_its_revision_and_nothing_later(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    const lic_edge f = edge(OWNER, 2, USER, 1);
    world          w;
    lic_snapshot   before;
    lic_snapshot   between;

    (void)state;
    world_open(&w, no_threads);
    lic_snapshot_pin(w.graph, &before);
    assert_int_equal(write_one(w.graph, set(e)), 1);
    lic_snapshot_pin(w.graph, &between);
    assert_int_equal(write_all(w.graph, (lic_change[]){ unset(e), set(f) }, 2), 2);
    assert_false(has(&before, e));
    assert_false(has(&before, f));
    assert_int_equal(count_resources(&before, (lic_ref){ USER, 1 }), 0);
    assert_true(has(&between, e));
    assert_false(has(&between, f));
    assert_int_equal(count_resources(&between, (lic_ref){ USER, 1 }), 1);
    assert_false(has_now(w.graph, e));
    assert_true(has_now(w.graph, f));
    lic_snapshot_unpin(&before);
    lic_snapshot_unpin(&between);
    world_close(&w);
}

static void a_snapshot_stays_as_it_is_while_the_base_changes_under_it(void **state)
{
    const lic_edge kept    = edge(OWNER, 1, USER, 1);
    const lic_edge removed = edge(OWNER, 1, USER, 2);
    const lic_edge added   = edge(OWNER, 1, USER, 3);
    world          w;
    lic_snapshot   snapshot;
    lic_ref        ends[3];
    lic_walk       walk;

    (void)state;
    world_open(&w, no_threads);
    write_all(w.graph, (lic_change[]){ set(kept), set(removed) }, 2);
    assert_true(lic_graph_merge_all(w.graph));
    lic_snapshot_pin(w.graph, &snapshot);
    write_all(w.graph, (lic_change[]){ unset(removed), set(added) }, 2);
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_true(has(&snapshot, kept));
    assert_true(has(&snapshot, removed));
    assert_false(has(&snapshot, added));
    lic_walk_subjects(&snapshot, kept.resource, &walk);
    assert_int_equal(walk_all(&walk, ends, 3), 2);
    assert_int_equal(ends[0].node, 1);
    assert_int_equal(ends[1].node, 2);
    lic_snapshot_unpin(&snapshot);
    assert_false(has_now(w.graph, removed));
    assert_true(has_now(w.graph, added));
    world_close(&w);
}

static void a_walk_is_not_disturbed_by_writes_behind_and_before_it(void **state)
{
    world        w;
    lic_snapshot snapshot;
    lic_walk     walk;
    lic_ref      end;
    uint64_t     seen = 0;

    (void)state;
    for (int based = 0; based < 3; based++) {
        world_open(&w, no_threads);
        for (uint32_t i = 0; i < 20; i++) {
            write_one(w.graph, set(edge(OWNER, 1, USER, i)));
            if (based == 1 && i == 10)
                assert_true(lic_graph_merge_all(w.graph));
        }
        if (based == 2)
            assert_true(lic_graph_merge_all(w.graph));
        lic_snapshot_pin(w.graph, &snapshot);
        lic_walk_subjects(&snapshot, (lic_ref){ OWNER, 1 }, &walk);
        seen = 0;
        for (uint32_t i = 0; lic_walk_next(&walk, &end); i++) {
            assert_int_equal(seen >> end.node & 1, 0);
            seen |= UINT64_C(1) << end.node;
            write_one(w.graph, unset(edge(OWNER, 1, USER, 19 - i)));
            write_one(w.graph, set(edge(OWNER, 1, USER, 20 + i)));
        }
        assert_int_equal(seen, 0xfffff);
        lic_snapshot_unpin(&snapshot);
        world_close(&w);
    }
}

static void a_walk_of_one_slot_gives_only_that_slot(void **state)
{
    world        w;
    lic_snapshot snapshot;
    lic_walk     walk;
    lic_ref      ends[4];

    (void)state;
    world_open(&w, no_threads);
    for (uint32_t i = 0; i < 100; i++)
        write_one(w.graph, set(edge(VIEWER, 1, USER, i)));
    write_all(w.graph, (lic_change[]){ set(edge(VIEWER, 1, MEMBER, 8)), set(edge(VIEWER, 1, OWNER, 0)) }, 2);
    for (int merged = 0; merged < 3; merged++) {
        lic_snapshot_pin(w.graph, &snapshot);
        lic_walk_subjects_in(&snapshot, (lic_ref){ VIEWER, 1 }, MEMBER, &walk);
        assert_int_equal(walk_all(&walk, ends, 4), (size_t)(merged == 2 ? 2 : 1));
        assert_int_equal(ends[0].slot, MEMBER);
        assert_int_equal(ends[0].node, 8);
        lic_walk_subjects_in(&snapshot, (lic_ref){ VIEWER, 1 }, VIEWER, &walk);
        assert_int_equal(walk_all(&walk, ends, 4), 0);
        lic_walk_subjects_in(&snapshot, (lic_ref){ VIEWER, 1 }, LIC_NO_SLOT, &walk);
        assert_int_equal(walk_all(&walk, ends, 4), 0);
        lic_walk_subjects(&snapshot, (lic_ref){ VIEWER, 1 }, &walk);
        assert_int_equal(walk_all(&walk, ends, 4), (size_t)(merged == 2 ? 103 : 102));
        lic_walk_resources_in(&snapshot, (lic_ref){ MEMBER, 8 }, VIEWER, &walk);
        assert_int_equal(walk_all(&walk, ends, 4), 1);
        lic_walk_resources_in(&snapshot, (lic_ref){ MEMBER, 8 }, OWNER, &walk);
        assert_int_equal(walk_all(&walk, ends, 4), 0);
        lic_snapshot_unpin(&snapshot);
        if (merged == 0)
            assert_true(lic_graph_merge_all(w.graph));
        else if (merged == 1)
            write_one(w.graph, set(edge(VIEWER, 1, MEMBER, 9)));
    }
    world_close(&w);
}

static void changes_that_change_nothing_make_a_revision_only(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    world          w;

    (void)state;
    world_open(&w, no_threads);
    assert_int_equal(write_all(w.graph, NULL, 0), 1);
    assert_int_equal(write_one(w.graph, unset(e)), 2);
    assert_int_equal(write_one(w.graph, set(e)), 3);
    assert_int_equal(write_one(w.graph, set(e)), 4);
    assert_int_equal(sizes_of(w.graph).delta_changes, 1);
    assert_int_equal(sizes_of(w.graph).edges, 1);
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(write_one(w.graph, set(e)), 5);
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(lic_graph_oldest(w.graph), 4);
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(lic_graph_oldest(w.graph), 5);
    world_close(&w);
}

static void edges_are_counted(void **state)
{
    world w;

    (void)state;
    world_open(&w, no_threads);
    for (uint32_t i = 0; i < 5; i++)
        write_all(w.graph, (lic_change[]){ set(edge(OWNER, i, USER, 1)), set(edge(VIEWER, i, USER, 1)) }, 2);
    assert_true(lic_graph_merge_all(w.graph));
    write_all(w.graph, (lic_change[]){ unset(edge(OWNER, 3, USER, 1)), unset(edge(OWNER, 9, USER, 1)) }, 2);
    assert_int_equal(sizes_of(w.graph).edges, 9);
    world_close(&w);
}

static lic_pin pin_state(const lic_graph *graph, uint64_t revision)
{
    lic_snapshot snapshot;
    lic_pin      pin = lic_snapshot_pin_at(graph, revision, &snapshot);

    if (pin == LIC_PIN_OK) {
        assert_int_equal(snapshot.revision, revision);
        lic_snapshot_unpin(&snapshot);
    }
    return pin;
}

static void past_revisions_are_readable_until_a_merge_gives_them_up(void **state)
{
    world w;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 10, .merge_changes = 20, .no_threads = true });
    for (uint32_t i = 1; i <= 19; i++)
        write_one(w.graph, set(edge(OWNER, 1, USER, i)));
    assert_int_equal(pin_state(w.graph, 0), LIC_PIN_OK);
    assert_int_equal(pin_state(w.graph, 19), LIC_PIN_OK);
    assert_int_equal(pin_state(w.graph, 20), LIC_PIN_FUTURE);
    assert_int_equal(sizes_of(w.graph).merges, 0);
    write_one(w.graph, set(edge(OWNER, 1, USER, 20)));
    assert_int_equal(sizes_of(w.graph).merges, 1);
    assert_int_equal(lic_graph_oldest(w.graph), 10);
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(w.graph).history_changes, 10);
    assert_int_equal(pin_state(w.graph, 9), LIC_PIN_EXPIRED);
    for (uint64_t revision = 10; revision <= 20; revision++) {
        lic_snapshot snapshot;

        assert_int_equal(lic_snapshot_pin_at(w.graph, revision, &snapshot), LIC_PIN_OK);
        assert_int_equal(count_subjects(&snapshot, (lic_ref){ OWNER, 1 }), revision);
        lic_snapshot_unpin(&snapshot);
    }
    world_close(&w);
}

static void a_merge_does_not_cut_a_transaction(void **state)
{
    lic_change changes[15];
    world      w;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 10, .no_threads = true });
    for (uint32_t i = 0; i < 15; i++)
        changes[i] = set(edge(OWNER, 1, USER, i));
    write_one(w.graph, set(edge(VIEWER, 1, USER, 1)));
    write_all(w.graph, changes, 15);
    assert_true(lic_graph_merge(w.graph));
    assert_int_equal(lic_graph_oldest(w.graph), 1);
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(w.graph).history_changes, 15);
    for (uint32_t i = 0; i < 9; i++)
        write_one(w.graph, set(edge(VIEWER, 2, USER, i)));
    assert_true(lic_graph_merge(w.graph));
    assert_int_equal(lic_graph_oldest(w.graph), 1);
    assert_int_equal(sizes_of(w.graph).history_changes, 24);
    write_one(w.graph, set(edge(VIEWER, 2, USER, 9)));
    assert_true(lic_graph_merge(w.graph));
    assert_int_equal(lic_graph_oldest(w.graph), 2);
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(w.graph).history_changes, 10);
    world_close(&w);
}

static void the_window_ends_history_whatever_is_kept(void **state)
{
    world        w;
    lic_snapshot snapshot;

    (void)state;
    world_open(&w, (lic_graph_options){ .history_window_ms = 5, .no_threads = true });
    write_one(w.graph, set(edge(OWNER, 1, USER, 1)));
    lic_snapshot_pin(w.graph, &snapshot);
    write_one(w.graph, set(edge(OWNER, 1, USER, 2)));
    write_one(w.graph, set(edge(OWNER, 1, USER, 3)));
    lic_sleep_us(20000);
    assert_int_equal(lic_graph_oldest(w.graph), 3);
    assert_int_equal(pin_state(w.graph, 2), LIC_PIN_EXPIRED);
    assert_int_equal(pin_state(w.graph, 3), LIC_PIN_OK);
    assert_int_equal(count_subjects(&snapshot, (lic_ref){ OWNER, 1 }), 1); /* who has it, has it */
    lic_snapshot_unpin(&snapshot);
    assert_true(lic_graph_merge(w.graph));
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(w.graph).history_changes, 0);
    lic_snapshot_pin(w.graph, &snapshot);
    assert_int_equal(count_subjects(&snapshot, (lic_ref){ OWNER, 1 }), 3);
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

static void toggling_one_edge_for_ever_stays_small(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    world          w;
    uint64_t       bytes = 0;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 100, .merge_changes = 100, .no_threads = true });
    for (uint32_t i = 0; i < 20000; i++) {
        lic_graph_sizes sizes;

        write_one(w.graph, i % 2 == 0 ? set(e) : unset(e));
        sizes = sizes_of(w.graph);
        assert_int_equal(sizes.delta_changes, (i + 1) % 100);
        assert_int_equal(sizes.history_changes, i < 99 ? 0 : 100);
        if (i == 1000)
            bytes = sizes.graph_bytes;
        if (i > 1000)
            assert_in_range(sizes.graph_bytes, 1, bytes * 2);
    }
    assert_false(has_now(w.graph, e));
    world_close(&w);
}

static void a_removed_edge_can_come_back(void **state)
{
    const lic_edge e = edge(OWNER, 1, USER, 1);
    world          w;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 3, .no_threads = true });
    for (uint32_t i = 0; i < 200; i++) {
        write_all(w.graph, (lic_change[]){ i % 2 == 0 ? set(e) : unset(e), set(edge(OWNER, 2, USER, i)) }, 2);
        assert_int_equal(has_now(w.graph, e), i % 2 == 0);
        if (i % 7 == 0)
            assert_true(lic_graph_merge_all(w.graph));
        assert_int_equal(has_now(w.graph, e), i % 2 == 0);
    }
    world_close(&w);
}

static void a_merge_waits_for_readers_of_before_the_last_one(void **state)
{
    world        w;
    lic_snapshot old;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 5, .merge_changes = 10, .no_threads = true });
    write_one(w.graph, set(edge(OWNER, 1, USER, 0)));
    lic_snapshot_pin(w.graph, &old);
    for (uint32_t i = 1; i < 100; i++)
        write_one(w.graph, set(edge(OWNER, 1, USER, i)));
    assert_int_equal(sizes_of(w.graph).merges, 1);
    assert_int_equal(sizes_of(w.graph).delta_changes, 90);
    assert_int_equal(count_subjects(&old, (lic_ref){ OWNER, 1 }), 1);
    lic_snapshot_unpin(&old);
    write_one(w.graph, set(edge(OWNER, 1, USER, 100)));
    assert_int_equal(sizes_of(w.graph).merges, 2);
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(w.graph).history_changes, 5);
    world_close(&w);
}

static void more_snapshots_than_slots_can_be_pinned_at_once(void **state)
{
    world        w;
    lic_snapshot snapshots[300];

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 5, .merge_changes = 10, .no_threads = true });
    for (uint32_t i = 0; i < 300; i++) {
        lic_snapshot_pin(w.graph, &snapshots[i]);
        write_one(w.graph, set(edge(OWNER, 1, USER, i)));
    }
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(count_subjects(&snapshots[i], (lic_ref){ OWNER, 1 }), i);
    for (uint32_t i = 0; i < 300; i++)
        lic_snapshot_unpin(&snapshots[i]);
    assert_true(lic_graph_merge_all(w.graph));
    lic_snapshot_pin(w.graph, &snapshots[0]);
    assert_int_equal(count_subjects(&snapshots[0], (lic_ref){ OWNER, 1 }), 300);
    lic_snapshot_unpin(&snapshots[0]);
    world_close(&w);
}

static void release_flag(void *context, void *thing)
{
    (void)context;
    *(bool *)thing = true;
}

static void an_owners_thing_is_released_when_its_readers_have_gone(void **state)
{
    world        w;
    lic_snapshot snapshot;
    bool         first  = false;
    bool         second = false;
    bool         third  = false;

    (void)state;
    world_open(&w, no_threads);
    lic_graph_lock(w.graph);
    assert_true(lic_graph_retire(w.graph, release_flag, NULL, &first));
    assert_true(first);
    lic_snapshot_pin(w.graph, &snapshot);
    assert_true(lic_graph_retire(w.graph, release_flag, NULL, &second));
    assert_false(second);
    lic_snapshot_unpin(&snapshot);
    lic_graph_unlock(w.graph);
    write_all(w.graph, NULL, 0);
    assert_true(second);
    lic_snapshot_pin(w.graph, &snapshot);
    lic_graph_lock(w.graph);
    assert_true(lic_graph_retire(w.graph, release_flag, NULL, &third));
    lic_graph_unlock(w.graph);
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
    assert_true(third);
}

static void every_byte_is_measured(void **state)
{
    world w;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 50, .merge_changes = 30, .no_threads = true });
    for (uint32_t i = 0; i < 1000; i++) {
        char            id[8] = { 'n', (char)('0' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10) };
        lic_graph_sizes sizes;

        lic_graph_lock(w.graph);
        assert_int_equal(lic_graph_intern_node(w.graph, 0, (lic_str){ id, 4 }), i + 1);
        lic_graph_unlock(w.graph);
        write_one(w.graph, set(edge(OWNER, i % 100 * 100, USER, i + 1)));
        sizes = sizes_of(w.graph);
        assert_int_equal(sizes.id_bytes + sizes.graph_bytes, atomic_load(&w.memory.used) - w.before);
        assert_int_equal(sizes.edges, i + 1);
        assert_int_equal(sizes.nodes, i + 1);
    }
    world_close(&w);
}

static void a_graph_starts_and_joins_its_merges(void **state)
{
    world w;

    (void)state;
    world_open(&w, (lic_graph_options){ .min_history_changes = 100, .merge_changes = 100 });
    for (uint32_t i = 0; i < 5000; i++)
        write_one(w.graph, set(edge(OWNER, i, USER, i % 7)));
    assert_true(lic_graph_merge(w.graph));
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_true(sizes_of(w.graph).merges >= 1);
    for (uint32_t i = 0; i < 5000; i++)
        assert_true(has_now(w.graph, edge(OWNER, i, USER, i % 7)));
    write_all(w.graph, NULL, 0);
    world_close(&w);
}

static void a_merge_is_due_after_256_changes_and_4096_are_kept(void **state)
{
    world w;

    (void)state;
    world_open(&w, no_threads);
    for (uint32_t i = 0; i < 8000; i++) {
        lic_graph_sizes sizes;

        write_one(w.graph, i < 4000 ? set(edge(OWNER, i, USER, 1)) : unset(edge(OWNER, i - 4000, USER, 1)));
        sizes = sizes_of(w.graph);
        assert_int_equal(sizes.merges, (i + 1) / 256);
        assert_int_equal(sizes.delta_changes, (i + 1) % 256);
        assert_int_equal(sizes.history_changes, (i + 1) / 256 < 16 ? (i + 1) / 256 * 256 : 4096);
    }
    assert_int_equal(lic_graph_oldest(w.graph), 31 * 256 - 4096);
    world_close(&w);
}

static void write_thousand(lic_graph *graph, uint32_t number)
{
    lic_change changes[1000];

    for (uint32_t i = 0; i < 1000; i++)
        changes[i] = set(edge(OWNER, number * 1000 + i, USER, i));
    write_all(graph, changes, 1000);
}

/* 100,000 edges: a 32nd are 3,125 changes, a 16th 6,250; and transactions stay whole. */
static void both_grow_with_the_graph(void **state)
{
    lic_graph_sizes before;
    lic_graph_sizes after;
    world           w;

    (void)state;
    world_open(&w, no_threads);
    for (uint32_t i = 0; i < 100; i++)
        write_thousand(w.graph, i);
    assert_true(lic_graph_merge(w.graph));
    before = sizes_of(w.graph);
    assert_int_equal(before.history_changes, 7000);
    for (uint32_t i = 100; i < 103; i++)
        write_thousand(w.graph, i);
    assert_int_equal(sizes_of(w.graph).merges, before.merges);
    assert_int_equal(sizes_of(w.graph).delta_changes, 3000);
    write_thousand(w.graph, 103);
    after = sizes_of(w.graph);
    assert_int_equal(after.merges, before.merges + 1);
    assert_int_equal(after.delta_changes, 0);
    assert_int_equal(after.history_changes, 7000);
    assert_int_equal(lic_graph_oldest(w.graph), 104 - 7);
    world_close(&w);
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    lic_graph_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_graph_is_at_revision_zero),
        cmocka_unit_test(ids_that_occur_nowhere_are_in_no_edge),
        cmocka_unit_test(a_snapshot_sees_its_revision_and_nothing_later),
        cmocka_unit_test(a_snapshot_stays_as_it_is_while_the_base_changes_under_it),
        cmocka_unit_test(a_walk_is_not_disturbed_by_writes_behind_and_before_it),
        cmocka_unit_test(a_walk_of_one_slot_gives_only_that_slot),
        cmocka_unit_test(changes_that_change_nothing_make_a_revision_only),
        cmocka_unit_test(edges_are_counted),
        cmocka_unit_test(past_revisions_are_readable_until_a_merge_gives_them_up),
        cmocka_unit_test(a_merge_does_not_cut_a_transaction),
        cmocka_unit_test(the_window_ends_history_whatever_is_kept),
        cmocka_unit_test(toggling_one_edge_for_ever_stays_small),
        cmocka_unit_test(a_removed_edge_can_come_back),
        cmocka_unit_test(a_merge_waits_for_readers_of_before_the_last_one),
        cmocka_unit_test(more_snapshots_than_slots_can_be_pinned_at_once),
        cmocka_unit_test(an_owners_thing_is_released_when_its_readers_have_gone),
        cmocka_unit_test(every_byte_is_measured),
        cmocka_unit_test(a_graph_starts_and_joins_its_merges),
        cmocka_unit_test(a_merge_is_due_after_256_changes_and_4096_are_kept),
        cmocka_unit_test(both_grow_with_the_graph),
        cmocka_unit_test(freeing_nothing_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
