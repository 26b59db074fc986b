/* core/graph: history apart from the delta. Readers of the head find what was merged in the base; readers of an older
 * revision get from the past, the delta and the base what was true then. */
#include "world.h"

#include "base/arena.h"
#include "base/clock.h"

enum { USER, MEMBER, OWNER, VIEWER }; /* slots */

#define UNIT_NODES 8u

/* Edges of the unit: OWNER 0..7 -> USER 0..7. A state is a caveat of make_attribute(), 0 or ABSENT. */
static lic_edge unit_edge(uint32_t resource, uint32_t subject)
{
    return edge(OWNER, resource, USER, subject);
}

/* What was written: by revision, all states. */
typedef struct unit {
    world    w;
    uint32_t states[64][UNIT_NODES][UNIT_NODES];
    uint64_t head;
} unit;

static void unit_open(unit *u, lic_graph_options options)
{
    memset(u->states, 0xff, sizeof u->states);
    u->head            = 0;
    options.no_threads = true;
    world_open(&u->w, options);
}

static void unit_write(unit *u, uint32_t resource, uint32_t subject, uint32_t caveat)
{
    lic_change change =
        caveat == ABSENT ? unset(unit_edge(resource, subject))
                         : set_with(unit_edge(resource, subject), caveat == 0 ? 0 : make_attribute(u->w.graph, caveat));

    memcpy(u->states[u->head + 1], u->states[u->head], sizeof u->states[0]);
    u->head++;
    u->states[u->head][resource][subject] = caveat;
    assert_int_equal(write_one(u->w.graph, change), u->head);
}

static void unit_merge(unit *u)
{
    assert_true(lic_graph_merge(u->w.graph));
}

/* The walk gives the ends of the slot whose states are there, each once. */
static void check_walk(lic_walk *walk, lic_slot slot, const uint32_t *expected)
{
    uint32_t seen[UNIT_NODES];
    lic_ref  end;

    memset(seen, 0xff, sizeof seen);
    while (lic_walk_next(walk, &end)) {
        assert_int_equal(end.slot, slot);
        assert_in_range(end.node, 0, UNIT_NODES - 1);
        assert_int_equal(seen[end.node], ABSENT);
        seen[end.node] = caveat_of(walk->snapshot->graph, walk->attribute);
    }
    assert_memory_equal(seen, expected, sizeof seen);
}

static void check_walks(const lic_snapshot *snapshot, uint32_t node, const uint32_t *subjects,
                        const uint32_t *resources)
{
    lic_walk walk;

    lic_walk_subjects(snapshot, (lic_ref){ OWNER, node }, &walk);
    for (uint32_t i = 0; i < UNIT_NODES; i++) {
        uint32_t attribute;

        assert_int_equal(lic_walk_has(&walk, (lic_ref){ USER, i }, &attribute), subjects[i] != ABSENT);
        assert_int_equal(caveat_of(snapshot->graph, attribute), subjects[i] == ABSENT ? 0 : subjects[i]);
    }
    check_walk(&walk, USER, subjects);
    lic_walk_subjects(snapshot, (lic_ref){ OWNER, node }, &walk);
    lic_walk_narrow(&walk, USER);
    check_walk(&walk, USER, subjects);
    lic_walk_subjects_in(snapshot, (lic_ref){ OWNER, node }, USER, &walk);
    check_walk(&walk, USER, subjects);
    lic_walk_resources(snapshot, (lic_ref){ USER, node }, &walk);
    check_walk(&walk, OWNER, resources);
    lic_walk_resources_in(snapshot, (lic_ref){ USER, node }, OWNER, &walk);
    check_walk(&walk, OWNER, resources);
    lic_walk_resources_in(snapshot, (lic_ref){ USER, node }, VIEWER, &walk);
    assert_int_equal(walk_all(&walk, NULL, 0), 0);
}

static void check_scan(unit *u, const lic_snapshot *snapshot)
{
    lic_arena arena;
    lic_scan *scan;
    lic_edge  e;
    bool      found;

    lic_arena_init(&arena, &u->w.memory);
    scan = lic_snapshot_scan(snapshot, &arena, OWNER, NULL);
    assert_non_null(scan);
    for (uint32_t i = 0; i < UNIT_NODES * UNIT_NODES; i++) {
        uint32_t caveat = u->states[snapshot->revision][i / UNIT_NODES][i % UNIT_NODES];

        if (caveat == ABSENT)
            continue;
        assert_true(lic_scan_next(scan, &e, &found));
        assert_true(found);
        assert_int_equal(e.resource.node * UNIT_NODES + e.subject.node, i);
        assert_int_equal(caveat_of(snapshot->graph, lic_scan_attribute(scan)), caveat);
    }
    assert_true(lic_scan_next(scan, &e, &found));
    assert_false(found);
    lic_arena_free(&arena);
}

/* The snapshot says what was true at its revision, in every way it can be asked. */
static void unit_check_snapshot(unit *u, const lic_snapshot *snapshot)
{
    for (uint32_t node = 0; node < UNIT_NODES; node++) {
        uint32_t resources[UNIT_NODES];

        for (uint32_t i = 0; i < UNIT_NODES; i++) {
            resources[i] = u->states[snapshot->revision][i][node];
            assert_int_equal(caveat_at(snapshot, unit_edge(i, node)), resources[i]);
        }
        check_walks(snapshot, node, u->states[snapshot->revision][node], resources);
    }
    check_scan(u, snapshot);
}

/* Every revision from the oldest on is readable, and none before. */
static void unit_check(unit *u, uint64_t oldest)
{
    lic_snapshot snapshot;

    assert_int_equal(lic_graph_oldest(u->w.graph), oldest);
    for (uint64_t revision = 0; revision <= u->head; revision++) {
        lic_pin pin = lic_snapshot_pin_at(u->w.graph, revision, &snapshot);

        assert_int_equal(pin, revision < oldest ? LIC_PIN_EXPIRED : LIC_PIN_OK);
        if (pin != LIC_PIN_OK)
            continue;
        unit_check_snapshot(u, &snapshot);
        lic_snapshot_unpin(&snapshot);
    }
}

/* ------------------------------------------------------------- who decides */

static bool glance_touched(const lic_snapshot *snapshot, uint32_t resource)
{
    return lic_snapshot_glance(snapshot, (lic_ref){ OWNER, resource }).touched;
}

static void readers_of_the_head_find_what_was_merged_in_the_base_alone(void **state)
{
    lic_snapshot snapshot;
    lic_glance   glance;
    unit         u;

    (void)state;
    unit_open(&u, (lic_graph_options){ 0 });
    for (uint32_t i = 0; i < 5; i++)
        unit_write(&u, 1, i, 0);
    unit_write(&u, 1, 2, ABSENT);
    unit_merge(&u);
    assert_int_equal(sizes_of(u.w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(u.w.graph).history_changes, 6);
    lic_snapshot_pin(u.w.graph, &snapshot);
    assert_null(snapshot.past);
    glance = lic_snapshot_glance(&snapshot, (lic_ref){ OWNER, 1 });
    assert_false(glance.touched);
    assert_int_equal(glance.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(glance.keys[i], lic_ref_key((lic_ref){ USER, i < 2 ? i : i + 1 }));
    lic_snapshot_unpin(&snapshot);
    unit_check(&u, 0);
    world_close(&u.w);
}

static void a_revision_older_than_the_bases_asks_the_past(void **state)
{
    lic_snapshot snapshot;
    unit         u;

    (void)state;
    unit_open(&u, (lic_graph_options){ 0 });
    unit_write(&u, 1, 1, 0);
    unit_write(&u, 2, 1, 0);
    unit_merge(&u);
    for (uint64_t revision = 0; revision <= 2; revision++) {
        assert_int_equal(lic_snapshot_pin_at(u.w.graph, revision, &snapshot), LIC_PIN_OK);
        assert_int_equal(snapshot.past != NULL, revision < 2);
        assert_int_equal(glance_touched(&snapshot, 1), revision < 2);
        assert_false(glance_touched(&snapshot, 3));
        lic_snapshot_unpin(&snapshot);
    }
    unit_write(&u, 1, 1, ABSENT); /* the head is beyond the base now: the delta alone, without the past */
    assert_int_equal(lic_snapshot_pin_at(u.w.graph, 2, &snapshot), LIC_PIN_OK);
    assert_null(snapshot.past);
    assert_true(glance_touched(&snapshot, 1));
    lic_snapshot_unpin(&snapshot);
    unit_check(&u, 0);
    world_close(&u.w);
}

/* An edge for each way to have records: in neither, in the past, in the delta, in both, and each with all orders of
 * coming and going, so that every revision asks for something else. */
static void the_older_of_past_and_delta_that_has_a_record_decides(void **state)
{
    unit u;

    (void)state;
    unit_open(&u, (lic_graph_options){ .min_history_changes = 12 });
    for (uint32_t i = 0; i < 8; i += 2)
        for (uint32_t resource = 0; resource < 2; resource++)
            unit_write(&u, resource, i, 0);
    assert_true(lic_graph_merge_all(u.w.graph));
    unit_check(&u, 8);
    unit_write(&u, 0, 0, ABSENT); /* past alone, was there */
    unit_write(&u, 0, 1, 0);      /* past alone, was not */
    unit_write(&u, 0, 2, ABSENT); /* both */
    unit_write(&u, 0, 3, 0);
    unit_write(&u, 1, 0, ABSENT);
    unit_write(&u, 1, 0, 0); /* and back before the merge */
    unit_check(&u, 8);
    unit_merge(&u);
    unit_check(&u, 8);
    unit_write(&u, 0, 2, 0);
    unit_write(&u, 0, 3, ABSENT);
    unit_write(&u, 0, 4, ABSENT); /* delta alone, was there */
    unit_write(&u, 0, 5, 0);      /* delta alone, was not */
    unit_write(&u, 1, 0, ABSENT);
    unit_write(&u, 5, 5, 0); /* an origin that only the delta knows */
    unit_check(&u, 8);
    unit_merge(&u);
    unit_check(&u, 8);
    unit_write(&u, 0, 2, ABSENT);
    unit_merge(&u);
    unit_check(&u, 9);
    world_close(&u.w);
}

static void attributes_are_as_they_were_through_merges(void **state)
{
    static const uint32_t caveats[] = { 0, 3, 4, ABSENT, 5, 0, ABSENT, 6, 3, 4, 0, ABSENT };
    unit                  u;

    (void)state;
    for (uint32_t every = 1; every <= 5; every++) {
        unit_open(&u, (lic_graph_options){ 0 });
        for (uint32_t i = 0; i < 12; i++) {
            unit_write(&u, 1, 1, caveats[i]);
            unit_write(&u, i % 4, 2, caveats[11 - i]);
            if (i % every == 0)
                unit_merge(&u);
            unit_check(&u, 0);
        }
        assert_true(lic_graph_merge_all(u.w.graph));
        assert_true(lic_graph_merge_all(u.w.graph));
        unit_check(&u, 24);
        assert_int_equal(sizes_of(u.w.graph).attributes, 2); /* of 1->2 and 3->2: see the table */
        world_close(&u.w);
    }
}

static void revisions_without_changes_are_kept_too(void **state)
{
    lic_snapshot snapshot;
    unit         u;

    (void)state;
    unit_open(&u, (lic_graph_options){ 0 });
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write_all(u.w.graph, NULL, 0), ++u.head);
        memcpy(u.states[u.head], u.states[u.head - 1], sizeof u.states[0]);
    }
    unit_merge(&u); /* nothing to merge, nothing given up */
    assert_int_equal(sizes_of(u.w.graph).merges, 0);
    unit_check(&u, 0);
    unit_write(&u, 1, 1, 0);
    unit_merge(&u);
    unit_check(&u, 0);
    assert_int_equal(lic_snapshot_pin_at(u.w.graph, 2, &snapshot), LIC_PIN_OK);
    assert_non_null(snapshot.past);
    lic_snapshot_unpin(&snapshot);
    assert_true(lic_graph_merge_all(u.w.graph));
    unit_check(&u, 4);
    world_close(&u.w);
}

/* ---------------------------------------------------------------- readers */

/* One that pinned before the first merge, one that pinned an old revision after it, and one at the head: all three see
 * the same before, while and after the next merge replaces the base under them. */
static void readers_of_old_revisions_see_the_same_across_two_merges(void **state)
{
    lic_snapshot before;
    lic_snapshot below;
    lic_snapshot head;
    unit         u;

    (void)state;
    unit_open(&u, (lic_graph_options){ 0 });
    for (uint32_t i = 0; i < 6; i++)
        unit_write(&u, i % 3, i, i % 2);
    assert_int_equal(lic_snapshot_pin_at(u.w.graph, 4, &before), LIC_PIN_OK);
    assert_null(before.past);
    unit_merge(&u);
    unit_check_snapshot(&u, &before);
    lic_snapshot_unpin(&before);

    assert_int_equal(lic_snapshot_pin_at(u.w.graph, 3, &below), LIC_PIN_OK);
    assert_non_null(below.past);
    lic_snapshot_pin(u.w.graph, &head);
    for (uint32_t i = 0; i < 6; i++) {
        unit_write(&u, i % 3, i, i % 2 == 0 ? ABSENT : 7);
        unit_write(&u, 7, i, 0);
        unit_check_snapshot(&u, &below);
        unit_check_snapshot(&u, &head);
    }
    unit_merge(&u);
    unit_check_snapshot(&u, &below);
    unit_check_snapshot(&u, &head);
    for (uint32_t i = 0; i < 6; i++)
        unit_write(&u, i % 3, i, 0);
    unit_check_snapshot(&u, &below);
    unit_check_snapshot(&u, &head);
    unit_check(&u, 0);
    assert_int_equal(sizes_of(u.w.graph).merges, 2);
    lic_snapshot_unpin(&below);
    lic_snapshot_unpin(&head);
    unit_merge(&u);
    unit_check(&u, 0);
    world_close(&u.w);
}

/* A walk in the past goes on over what is written behind its back. */
static void a_walk_in_the_past_is_not_disturbed_by_writes(void **state)
{
    lic_snapshot snapshot;
    lic_walk     walk;
    lic_ref      end;
    uint64_t     seen = 0;
    world        w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    for (uint32_t i = 0; i < 20; i++) {
        write_one(w.graph, set(edge(OWNER, 1, i % 2 == 0 ? USER : MEMBER, i)));
        if (i == 4)
            assert_true(lic_graph_merge_all(w.graph));
    }
    assert_true(lic_graph_merge(w.graph));
    write_one(w.graph, set(edge(OWNER, 1, USER, 50)));
    assert_int_equal(lic_snapshot_pin_at(w.graph, 15, &snapshot), LIC_PIN_OK);
    lic_walk_subjects(&snapshot, (lic_ref){ OWNER, 1 }, &walk);
    for (uint32_t i = 0; lic_walk_next(&walk, &end); i++) {
        assert_int_equal(seen >> end.node & 1, 0);
        seen |= UINT64_C(1) << end.node;
        write_one(w.graph, unset(edge(OWNER, 1, (19 - i) % 2 == 0 ? USER : MEMBER, 19 - i)));
        write_one(w.graph, set(edge(OWNER, 1, VIEWER, 20 + i)));
    }
    assert_int_equal(seen, 0x7fff);
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

static void a_walk_of_one_slot_goes_from_the_past_to_the_delta_of_that_slot(void **state)
{
    lic_snapshot snapshot;
    lic_walk     walk;
    lic_ref      ends[4];
    world        w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    write_all(w.graph, (lic_change[]){ set(edge(OWNER, 1, MEMBER, 7)), set(edge(OWNER, 1, USER, 7)) }, 2);
    assert_true(lic_graph_merge_all(w.graph));
    write_all(w.graph, (lic_change[]){ set(edge(OWNER, 1, MEMBER, 1)), set(edge(OWNER, 1, USER, 1)) }, 2);
    write_all(w.graph, (lic_change[]){ set(edge(OWNER, 1, MEMBER, 2)), set(edge(OWNER, 1, USER, 2)) }, 2);
    assert_true(lic_graph_merge(w.graph));
    write_all(w.graph, (lic_change[]){ unset(edge(OWNER, 1, MEMBER, 7)), unset(edge(OWNER, 1, USER, 7)) }, 2);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 2, &snapshot), LIC_PIN_OK);
    lic_walk_subjects_in(&snapshot, (lic_ref){ OWNER, 1 }, MEMBER, &walk);
    assert_int_equal(walk_all(&walk, ends, 4), 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ends[i].slot, MEMBER);
        assert_int_equal(ends[i].node, i == 0 ? 1 : 7);
    }
    assert_int_equal(count_subjects(&snapshot, (lic_ref){ OWNER, 1 }), 4);
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

static void a_scan_of_the_past_goes_on_after_any_edge(void **state)
{
    lic_arena    arena;
    lic_snapshot snapshot;
    lic_edge     e;
    bool         found;
    world        w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    for (uint32_t i = 0; i < 30; i++) {
        write_one(w.graph, set(edge(OWNER, i * 1000, USER, 1)));
        if (i == 9 || i == 19)
            assert_true(i == 9 ? lic_graph_merge_all(w.graph) : lic_graph_merge(w.graph));
    }
    assert_int_equal(lic_snapshot_pin_at(w.graph, 15, &snapshot), LIC_PIN_OK);
    for (uint32_t i = 0; i < 20; i++) {
        lic_edge  after = edge(OWNER, i * 1000, USER, 1);
        lic_scan *scan;

        lic_arena_init(&arena, &w.memory);
        scan = lic_snapshot_scan(&snapshot, &arena, OWNER, &after);
        for (uint32_t next = i + 1; next < 15; next++) {
            assert_true(lic_scan_next(scan, &e, &found));
            assert_true(found);
            assert_int_equal(e.resource.node, next * 1000);
        }
        assert_true(lic_scan_next(scan, &e, &found));
        assert_false(found);
        lic_arena_free(&arena);
    }
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

/* ------------------------------------------------------- giving history up */

static void merging_all_gives_the_past_up_even_when_nothing_came_since(void **state)
{
    size_t bytes;
    unit   u;

    (void)state;
    unit_open(&u, (lic_graph_options){ 0 });
    for (uint32_t i = 0; i < 40; i++)
        unit_write(&u, i % 8, i / 8, 0);
    unit_merge(&u);
    unit_check(&u, 0);
    bytes = sizes_of(u.w.graph).graph_bytes;
    assert_true(lic_graph_merge_all(u.w.graph));
    unit_check(&u, 40);
    assert_int_equal(sizes_of(u.w.graph).history_changes, 0);
    assert_in_range(sizes_of(u.w.graph).graph_bytes, 1, bytes - 40 * sizeof(uint64_t));
    assert_int_equal(sizes_of(u.w.graph).merges, 2);
    assert_true(lic_graph_merge_all(u.w.graph));
    assert_int_equal(sizes_of(u.w.graph).merges, 2); /* there is nothing left to do */
    world_close(&u.w);
}

static void a_merge_shortens_the_past_when_the_window_has_ended(void **state)
{
    enum { WINDOW_MS = 4000 }; /* on a busy machine, too, longer than what is done in it */
    lic_snapshot snapshot;
    unit         u;

    (void)state;
    unit_open(&u, (lic_graph_options){ .history_window_ms = WINDOW_MS });
    for (uint32_t i = 0; i < 10; i++)
        unit_write(&u, 1, i % 8, i < 8 ? 0 : ABSENT);
    unit_merge(&u);
    assert_int_equal(lic_snapshot_pin_at(u.w.graph, 5, &snapshot), LIC_PIN_OK);
    assert_int_equal(sizes_of(u.w.graph).history_changes, 10);
    lic_sleep_us((WINDOW_MS + 50) * 1000);
    unit_check_snapshot(&u, &snapshot); /* who has it, has it */
    lic_snapshot_unpin(&snapshot);
    unit_check(&u, 10);
    unit_merge(&u);
    assert_int_equal(sizes_of(u.w.graph).history_changes, 0);
    unit_check(&u, 10);
    world_close(&u.w);
}

/* So much memory is left that a merge is possible, and not so much that it could keep anything. */
static void a_merge_that_has_no_room_for_the_past_gives_history_up(void **state)
{
    world w;

    (void)state;
    for (size_t room = 0; room < 2; room++) {
        world_open(&w, (lic_graph_options){ .no_threads = true, .merge_changes = 10000 });
        for (uint32_t i = 0; i < 1000; i++)
            write_one(w.graph, set(edge(OWNER, i, USER, 1)));
        w.memory.limit = atomic_load(&w.memory.used) + (room == 0 ? 400000 : 4000000);
        assert_true(lic_graph_merge(w.graph));
        w.memory.limit = SIZE_MAX;
        assert_int_equal(sizes_of(w.graph).delta_changes, 0);
        assert_int_equal(sizes_of(w.graph).history_changes, room == 0 ? 0 : 1000);
        assert_int_equal(lic_graph_oldest(w.graph), room == 0 ? 1000 : 0);
        assert_int_equal(sizes_of(w.graph).edges, 1000);
        world_close(&w);
    }
}

static bool try_write(lic_graph *graph, lic_change change)
{
    uint64_t revision;
    bool     made;

    lic_graph_lock(graph);
    made = lic_graph_apply(graph, &change, 1, &revision);
    lic_graph_unlock(graph);
    return made;
}

/* With an empty log there is nothing to merge: the past itself must go, and go without a merge. */
static void a_write_that_has_no_room_takes_the_pasts(void **state)
{
    lic_snapshot snapshot;
    size_t       past_bytes;
    world        w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true, .merge_changes = 4000 });
    for (uint32_t i = 0; i < 4000; i++)
        write_one(w.graph, i % 2 == 0 ? set(edge(OWNER, 1, USER, 1)) : unset(edge(OWNER, 1, USER, 1)));
    assert_int_equal(sizes_of(w.graph).delta_changes, 0);
    assert_int_equal(sizes_of(w.graph).history_changes, 4000);
    past_bytes     = atomic_load(&w.memory.used);
    w.memory.limit = past_bytes + 10000; /* a write needs room to be merged: a 16th of the limit, and a little */
    assert_true(try_write(w.graph, set(edge(OWNER, 1, USER, 1))));
    assert_int_equal(sizes_of(w.graph).history_changes, 0);
    assert_int_equal(sizes_of(w.graph).merges, 1);
    assert_int_equal(lic_graph_oldest(w.graph), 4000);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 3999, &snapshot), LIC_PIN_EXPIRED);
    assert_in_range(atomic_load(&w.memory.used), 1, past_bytes - 4000 * 16);
    assert_true(has_now(w.graph, edge(OWNER, 1, USER, 1)));
    w.memory.limit = SIZE_MAX;
    assert_true(lic_graph_merge(w.graph)); /* history begins again, and not before it was given up */
    assert_int_equal(lic_graph_oldest(w.graph), 4000);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 3999, &snapshot), LIC_PIN_EXPIRED);
    assert_int_equal(lic_snapshot_pin_at(w.graph, 4000, &snapshot), LIC_PIN_OK);
    assert_false(has(&snapshot, edge(OWNER, 1, USER, 1)));
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

/* A reader of the past keeps it for the time that a write waits; then the write fails and nothing is lost. */
static void a_reader_of_the_past_keeps_it_while_a_write_takes_its_memory(void **state)
{
    lic_snapshot snapshot;
    world        w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true, .merge_changes = 4000 });
    for (uint32_t i = 0; i < 4000; i++)
        write_one(w.graph, i % 2 == 0 ? set(edge(OWNER, 1, USER, 1)) : unset(edge(OWNER, 1, USER, 1)));
    assert_int_equal(lic_snapshot_pin_at(w.graph, 3999, &snapshot), LIC_PIN_OK);
    w.memory.limit = atomic_load(&w.memory.used) + 10000;
    assert_false(try_write(w.graph, set(edge(OWNER, 1, USER, 1))));
    assert_true(has(&snapshot, edge(OWNER, 1, USER, 1)));
    assert_int_equal(count_subjects(&snapshot, (lic_ref){ OWNER, 1 }), 1);
    assert_false(has_now(w.graph, edge(OWNER, 1, USER, 1)));
    lic_snapshot_unpin(&snapshot);
    assert_true(try_write(w.graph, set(edge(OWNER, 1, USER, 1))));
    assert_int_equal(lic_graph_oldest(w.graph), 4000);
    world_close(&w);
}

static void a_full_graph_with_history_can_be_emptied_again(void **state)
{
    static const size_t limits[] = { 300000, 700000, 2000000 };
    world               w;

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        uint32_t written = 0;

        world_open(&w, (lic_graph_options){ .no_threads = true });
        w.memory.limit = w.before + limits[i];
        while (try_write(w.graph, set(edge(OWNER, written, USER, written % 100))))
            written++;
        assert_true(written > 1000);
        for (uint32_t j = 0; j < written; j++)
            assert_true(try_write(w.graph, unset(edge(OWNER, j, USER, j % 100))));
        assert_int_equal(sizes_of(w.graph).edges, 0);
        assert_true(try_write(w.graph, set(edge(OWNER, 1, USER, 1))));
        world_close(&w);
    }
}

/* ------------------------------------------------------- failing allocations */

/* A unit with a base, a past and a delta, all of which the next merge needs. */
static void prepare(unit *u)
{
    unit_open(u, (lic_graph_options){ .min_history_changes = 20 });
    for (uint32_t i = 0; i < 24; i++) {
        unit_write(u, i % 5, i % 8, i % 3);
        if (i == 9 || i == 17)
            unit_merge(u);
    }
    unit_check(u, 0);
}

/* One merge with the allocations [n, n + failing) failing. false: none failed. */
static bool merge_survives(size_t n, size_t failing, uint32_t *given_up)
{
    unit     u;
    bool     merged;
    bool     failed;
    uint64_t oldest = 0;

    prepare(&u);
    u.w.source.counts->fail_first = u.w.source.counts->calls + n;
    u.w.source.counts->fail_end   = failing == SIZE_MAX ? SIZE_MAX : u.w.source.counts->fail_first + failing;
    merged                        = lic_graph_merge(u.w.graph);
    failed                        = u.w.source.counts->failures > 0;
    u.w.source.counts->fail_first = SIZE_MAX;
    if (merged && sizes_of(u.w.graph).history_changes == 0) {
        oldest = u.head; /* the merge was worth more than history */
        ++*given_up;
    } else if (merged) {
        oldest = 4;
    }
    assert_int_equal(sizes_of(u.w.graph).merges, merged ? 3 : 2);
    assert_int_equal(sizes_of(u.w.graph).delta_changes, merged ? 0 : 6);
    assert_true(merged || failed);
    unit_check(&u, oldest);
    unit_write(&u, 7, 7, 0);
    unit_merge(&u);
    unit_check(&u, oldest < 5 ? 5 : oldest);
    world_close(&u.w);
    return failed;
}

static void a_merge_with_any_failed_allocation_loses_history_at_most(void **state)
{
    uint32_t given_up = 0;
    size_t   n        = 0;

    (void)state;
    while (merge_survives(n, 1, &given_up))
        n++;
    assert_int_equal(n, 13); /* two pieces and what they need: 3, the delta: 1, its past: 9 */
    assert_int_equal(given_up, 9);
    given_up = 0;
    for (n = 0; merge_survives(n, SIZE_MAX, &given_up);)
        n++;
    assert_int_equal(n, 13);
    assert_int_equal(given_up, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_of_the_head_find_what_was_merged_in_the_base_alone),
        cmocka_unit_test(a_revision_older_than_the_bases_asks_the_past),
        cmocka_unit_test(the_older_of_past_and_delta_that_has_a_record_decides),
        cmocka_unit_test(attributes_are_as_they_were_through_merges),
        cmocka_unit_test(revisions_without_changes_are_kept_too),
        cmocka_unit_test(readers_of_old_revisions_see_the_same_across_two_merges),
        cmocka_unit_test(a_walk_in_the_past_is_not_disturbed_by_writes),
        cmocka_unit_test(a_walk_of_one_slot_goes_from_the_past_to_the_delta_of_that_slot),
        cmocka_unit_test(a_scan_of_the_past_goes_on_after_any_edge),
        cmocka_unit_test(merging_all_gives_the_past_up_even_when_nothing_came_since),
        cmocka_unit_test(a_merge_shortens_the_past_when_the_window_has_ended),
        cmocka_unit_test(a_merge_that_has_no_room_for_the_past_gives_history_up),
        cmocka_unit_test(a_write_that_has_no_room_takes_the_pasts),
        cmocka_unit_test(a_reader_of_the_past_keeps_it_while_a_write_takes_its_memory),
        cmocka_unit_test(a_full_graph_with_history_can_be_emptied_again),
        cmocka_unit_test(a_merge_with_any_failed_allocation_loses_history_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
