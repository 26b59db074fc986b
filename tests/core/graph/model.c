/* core/graph against a model: the states of all edges per revision, and nothing clever.
 *
 * Thousands of random transactions, with merges at random points; snapshots of random revisions, some of them kept
 * while the graph goes on, are compared with the model's states in every way the graph can be read. */
#include "world.h"

#include "base/arena.h"

#define SLOTS 3u
#define NODES 14u
#define ENDS (SLOTS * NODES)
#define EDGES (ENDS * ENDS)
#define CAVEATS 5u
#define NOT_THERE UINT8_MAX
#define NO_CAVEATS UINT64_MAX
#define REVISIONS 1200u
#define HELD 6u
#define KEPT_CHANGES 40u

/* Nodes of several ranges, and both ends of a range. */
static const uint32_t numbers[NODES] = { 0, 1, 2, 3, 63, 64, 65, 4094, 4095, 4096, 4097, 8191, 8192, 20000 };

typedef struct held_snapshot {
    bool         held;
    uint64_t     merges; /* that had ended when it was pinned */
    lic_snapshot snapshot;
} held_snapshot;

typedef struct model {
    world    w;
    uint64_t random;
    uint8_t (*states)[EDGES]; /* by revision: NOT_THERE, 0, or the number of a caveat */
    uint32_t     *changes;    /* how many each revision made */
    uint64_t      head;
    uint64_t      plain_until;         /* the first revision with caveats */
    uint32_t      shared[CAVEATS + 1]; /* an attribute of each caveat, held by us */
    held_snapshot held[HELD];
} model;

static lic_ref ref_of(uint32_t end)
{
    return (lic_ref){ end / NODES, numbers[end % NODES] };
}

static uint8_t state_in(const model *m, uint64_t revision, uint32_t resource, uint32_t subject)
{
    return m->states[revision][resource * ENDS + subject];
}

/* Which of the ends a reference is. */
static uint32_t end_of(lic_ref ref)
{
    uint32_t node = 0;

    while (node < NODES && numbers[node] != ref.node)
        node++;
    assert_in_range(node, 0, NODES - 1);
    assert_in_range(ref.slot, 0, SLOTS - 1);
    return ref.slot * NODES + node;
}

/* ------------------------------------------------------------------ reading */

/* The walk gives exactly the far ends that `expected` says, each once and with its attribute. */
static void check_walk(lic_walk *walk, const uint8_t *expected)
{
    uint8_t seen[ENDS];
    lic_ref end;

    memset(seen, NOT_THERE, sizeof seen);
    while (lic_walk_next(walk, &end)) {
        uint32_t found = end_of(end);

        assert_int_equal(seen[found], NOT_THERE);
        seen[found] = (uint8_t)caveat_of(walk->snapshot->graph, walk->attribute);
    }
    assert_memory_equal(seen, expected, sizeof seen);
}

/* What is seen at a glance, where that is all there is. */
static void check_glance(const lic_snapshot *snapshot, uint32_t origin, const uint8_t *expected)
{
    lic_glance glance = lic_snapshot_glance(snapshot, ref_of(origin));
    uint8_t    seen[ENDS];

    if (glance.touched)
        return;
    memset(seen, NOT_THERE, sizeof seen);
    for (uint32_t i = 0; i < glance.count; i++)
        seen[end_of((lic_ref){ (lic_slot)(glance.keys[i] >> 32), (uint32_t)glance.keys[i] })] = 0;
    assert_memory_equal(seen, expected, sizeof seen);
}

static void check_walks(const model *m, const lic_snapshot *snapshot, uint32_t origin)
{
    uint8_t  subjects[ENDS];
    uint8_t  resources[ENDS];
    lic_walk walk;

    for (uint32_t i = 0; i < ENDS; i++) {
        subjects[i]  = state_in(m, snapshot->revision, origin, i);
        resources[i] = state_in(m, snapshot->revision, i, origin);
    }
    check_glance(snapshot, origin, subjects);
    lic_walk_subjects(snapshot, ref_of(origin), &walk);
    check_walk(&walk, subjects);
    lic_walk_resources(snapshot, ref_of(origin), &walk);
    check_walk(&walk, resources);
    for (lic_slot slot = 0; slot < SLOTS; slot++) {
        uint8_t of_slot[ENDS];

        memset(of_slot, NOT_THERE, sizeof of_slot);
        memcpy(of_slot + slot * NODES, subjects + slot * NODES, NODES * sizeof *of_slot);
        lic_walk_subjects_in(snapshot, ref_of(origin), slot, &walk);
        check_walk(&walk, of_slot);
        memcpy(of_slot + slot * NODES, resources + slot * NODES, NODES * sizeof *of_slot);
        lic_walk_resources_in(snapshot, ref_of(origin), slot, &walk);
        check_walk(&walk, of_slot);
    }
}

/* All edges of the slot after the given one, in the order of the numbers, which is that of the ends. */
static void check_scan(const model *m, const lic_snapshot *snapshot, lic_slot slot, const lic_edge *after)
{
    lic_arena arena;
    lic_scan *scan;
    lic_edge  e;
    bool      found;
    uint32_t  start = slot * NODES * ENDS;

    if (after != NULL)
        start = end_of(after->resource) * ENDS + end_of(after->subject) + 1;
    lic_arena_init(&arena, (lic_memory *)&m->w.memory);
    scan = lic_snapshot_scan(snapshot, &arena, slot, after);
    assert_non_null(scan);
    for (uint32_t i = start; i < (slot + 1) * NODES * ENDS; i++) {
        uint8_t state = state_in(m, snapshot->revision, i / ENDS, i % ENDS);

        if (state == NOT_THERE)
            continue;
        assert_true(lic_scan_next(scan, &e, &found));
        assert_true(found);
        assert_true(lic_ref_equal(e.resource, ref_of(i / ENDS)));
        assert_true(lic_ref_equal(e.subject, ref_of(i % ENDS)));
        assert_int_equal(caveat_of(snapshot->graph, lic_scan_attribute(scan)), state);
    }
    assert_true(lic_scan_next(scan, &e, &found));
    assert_false(found);
    lic_arena_free(&arena);
}

static void check_snapshot(model *m, const lic_snapshot *snapshot)
{
    uint32_t origin = next_random(&m->random, ENDS);
    lic_slot slot   = next_random(&m->random, SLOTS);
    lic_edge after  = { .resource = { slot, numbers[next_random(&m->random, NODES)] },
                        .subject  = ref_of(next_random(&m->random, ENDS)) };

    for (uint32_t i = 0; i < ENDS; i++) {
        assert_int_equal((uint8_t)caveat_at(snapshot, (lic_edge){ ref_of(origin), ref_of(i) }),
                         state_in(m, snapshot->revision, origin, i));
        assert_int_equal((uint8_t)caveat_at(snapshot, (lic_edge){ ref_of(i), ref_of(origin) }),
                         state_in(m, snapshot->revision, i, origin));
    }
    check_walks(m, snapshot, origin);
    check_scan(m, snapshot, slot, NULL);
    check_scan(m, snapshot, slot, &after);
}

/* Changes made after the revision: these many are promised to be readable. */
static uint64_t changes_after(const model *m, uint64_t revision)
{
    uint64_t count = 0;

    for (uint64_t r = revision + 1; r <= m->head; r++)
        count += m->changes[r];
    return count;
}

static bool pin_some(model *m, lic_snapshot *snapshot)
{
    uint64_t oldest   = lic_graph_oldest(m->w.graph);
    uint64_t from     = oldest < 3 ? 0 : oldest - 3;
    uint64_t revision = from + next_random(&m->random, (uint32_t)(m->head - from) + 3);
    lic_pin  pin      = lic_snapshot_pin_at(m->w.graph, revision, snapshot);

    assert_int_equal(pin == LIC_PIN_FUTURE, revision > m->head);
    if (pin == LIC_PIN_OK)
        assert_true(revision >= oldest);
    if (pin == LIC_PIN_EXPIRED)
        assert_true(revision < lic_graph_oldest(m->w.graph)); /* a thread may have moved it in between */
    return pin == LIC_PIN_OK;
}

/* Every revision that is retained. */
static void check_all(model *m)
{
    lic_snapshot snapshot;
    uint32_t     readable = 0;

    for (uint64_t revision = lic_graph_oldest(m->w.graph); revision <= m->head; revision++)
        if (lic_snapshot_pin_at(m->w.graph, revision, &snapshot) == LIC_PIN_OK) {
            check_snapshot(m, &snapshot);
            lic_snapshot_unpin(&snapshot);
            readable++;
        }
    assert_true(readable > 0);
}

/* ------------------------------------------------------------------ writing */

/* One of our own for each caveat, from then on. */
static void share_some(model *m)
{
    for (uint32_t caveat = 1; caveat <= CAVEATS; caveat++)
        m->shared[caveat] = make_attribute(m->w.graph, caveat);
}

/* A new one or one that is shared: the model can't tell, and neither shall the graph. */
static uint32_t attribute_for(model *m, uint8_t state)
{
    if (state == NOT_THERE || state == 0)
        return LIC_NO_ATTRIBUTE;
    if (next_random(&m->random, 2) == 0)
        return make_attribute(m->w.graph, state);
    lic_graph_attribute_retain(m->w.graph, m->shared[state]);
    return m->shared[state];
}

static uint8_t some_state(model *m)
{
    if (next_random(&m->random, 2) == 0)
        return NOT_THERE;
    return m->head < m->plain_until ? 0 : (uint8_t)next_random(&m->random, CAVEATS + 1);
}

/* In the revision that is being written. */
static lic_change change_to(model *m, uint32_t index, uint8_t state)
{
    uint8_t *next = m->states[m->head + 1];

    m->changes[m->head + 1] += next[index] != state;
    next[index] = state;
    return (lic_change){ .edge      = { ref_of(index / ENDS), ref_of(index % ENDS) },
                         .present   = state != NOT_THERE,
                         .attribute = attribute_for(m, state) };
}

static void write_some(model *m)
{
    lic_change changes[40];
    uint32_t   count = next_random(&m->random, next_random(&m->random, 10) == 0 ? 40 : 4);
    uint32_t   first = next_random(&m->random, EDGES);

    memcpy(m->states[m->head + 1], m->states[m->head], sizeof m->states[0]);
    for (uint32_t i = 0; i < count; i++) /* a step that is prime to EDGES: no edge twice in one transaction */
        changes[i] = change_to(m, (first + i * 1009) % EDGES, some_state(m));
    m->head++;
    assert_int_equal(write_all(m->w.graph, changes, count), m->head);
}

/* All that it begins with at once, after some revisions without anything. That is no history, so it counts for none. */
static void fill_with_some(model *m)
{
    lic_change changes[300];
    uint64_t   empty = next_random(&m->random, 3);

    while (m->head < empty) {
        memset(m->states[m->head + 1], NOT_THERE, sizeof m->states[0]);
        m->head++;
        assert_int_equal(write_all(m->w.graph, NULL, 0), m->head);
    }
    memset(m->states[m->head + 1], NOT_THERE, sizeof m->states[0]);
    for (uint32_t i = 0; i < 300; i++)
        changes[i] = change_to(m, (i + 1) * 1009 % EDGES, (uint8_t)(m->plain_until == 0 ? i % (CAVEATS + 1) : 0));
    m->head++;
    m->changes[m->head] = 0;
    assert_int_equal(fill_all(m->w.graph, changes, 300), m->head);
}

/* One edge of a few, so that edges change often. */
static void toggle_some(model *m)
{
    uint32_t   index = next_random(&m->random, 5) * 101;
    uint8_t    old   = m->states[m->head][index];
    uint8_t    state = m->head >= m->plain_until ? some_state(m) : old == NOT_THERE ? 0 : NOT_THERE;
    lic_change change;

    memcpy(m->states[m->head + 1], m->states[m->head], sizeof m->states[0]);
    change = change_to(m, index, state);
    m->head++;
    assert_int_equal(write_one(m->w.graph, change), m->head);
}

static uint64_t merges(const model *m)
{
    return sizes_of(m->w.graph).merges;
}

/* A merge waits for readers of before the last one, and these are ours. */
static bool may_merge(const model *m)
{
    for (uint32_t i = 0; i < HELD; i++)
        if (m->held[i].held && m->held[i].merges != merges(m))
            return false;
    return true;
}

static void merge_some(model *m)
{
    bool all = next_random(&m->random, 4) == 0;

    if (!may_merge(m))
        return;
    assert_true(all ? lic_graph_merge_all(m->w.graph) : lic_graph_merge(m->w.graph));
    if (all)
        assert_int_equal(lic_graph_oldest(m->w.graph), m->head);
}

static void hold_or_let_go(model *m)
{
    held_snapshot *held = &m->held[next_random(&m->random, HELD)];

    if (held->held) {
        check_snapshot(m, &held->snapshot);
        lic_snapshot_unpin(&held->snapshot);
        held->held = false;
    } else {
        held->held   = pin_some(m, &held->snapshot);
        held->merges = merges(m);
    }
}

static uint64_t count_edges(const model *m)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < EDGES; i++)
        count += m->states[m->head][i] != NOT_THERE;
    return count;
}

static void check_some(model *m, bool kept, bool threads)
{
    lic_snapshot    snapshot;
    lic_graph_sizes sizes = sizes_of(m->w.graph);

    for (uint32_t i = 0; i < HELD; i++)
        if (m->held[i].held)
            check_snapshot(m, &m->held[i].snapshot);
    if (pin_some(m, &snapshot)) {
        check_snapshot(m, &snapshot);
        lic_snapshot_unpin(&snapshot);
    }
    lic_snapshot_pin(m->w.graph, &snapshot);
    assert_int_equal(snapshot.revision, m->head);
    check_snapshot(m, &snapshot);
    lic_snapshot_unpin(&snapshot);
    assert_int_equal(sizes.edges, count_edges(m));
    if (!threads)
        assert_int_equal(sizes.id_bytes + sizes.graph_bytes, atomic_load(&m->w.memory.used) - m->w.before);
    if (kept && lic_graph_oldest(m->w.graph) > 0)
        assert_true(changes_after(m, lic_graph_oldest(m->w.graph) - 1) >= KEPT_CHANGES);
}

/* An attribute is gone with the last edge that had it, as soon as no history shows it. The last pieces go when their
 * readers have gone, which the second merge finds out. */
static void check_attributes(model *m)
{
    for (uint32_t caveat = 1; caveat <= CAVEATS; caveat++)
        lic_graph_attribute_release(m->w.graph, m->shared[caveat]);
    for (uint32_t i = 0; i < EDGES; i++)
        write_one(m->w.graph, unset((lic_edge){ ref_of(i / ENDS), ref_of(i % ENDS) }));
    assert_true(lic_graph_merge_all(m->w.graph));
    assert_true(lic_graph_merge_all(m->w.graph));
    assert_int_equal(sizes_of(m->w.graph).attributes, 0);
}

static void run_from(bool filled, uint64_t seed, uint64_t plain_until, bool by_hand, bool threads)
{
    model             m       = { .random = seed, .plain_until = plain_until };
    lic_graph_options options = { .min_history_changes = KEPT_CHANGES, .no_threads = !threads };

    /* Merges that fold less than is kept, and more. */
    options.merge_changes = seed % 2 == 0 ? KEPT_CHANGES / 4 : KEPT_CHANGES * 2;
    world_open(&m.w, options);
    m.states  = test_calloc(REVISIONS + 1, sizeof *m.states);
    m.changes = test_calloc(REVISIONS + 1, sizeof *m.changes);
    memset(m.states[0], NOT_THERE, sizeof m.states[0]);
    if (filled && plain_until == 0)
        share_some(&m);
    if (filled)
        fill_with_some(&m);
    check_all(&m);
    while (m.head < REVISIONS) {
        uint32_t dice = next_random(&m.random, 20);

        if (m.head >= plain_until && m.shared[1] == LIC_NO_ATTRIBUTE)
            share_some(&m);
        if (dice < 9)
            write_some(&m);
        else if (dice < 14)
            toggle_some(&m);
        else if (dice < 16)
            hold_or_let_go(&m);
        else if (dice < 17 && by_hand)
            merge_some(&m);
        else if (dice < 19)
            check_some(&m, !by_hand, threads);
        else if (next_random(&m.random, 8) == 0)
            check_all(&m);
    }
    for (uint32_t i = 0; i < HELD; i++)
        if (m.held[i].held)
            lic_snapshot_unpin(&m.held[i].snapshot);
    assert_true(merges(&m) > 5);
    check_attributes(&m);
    test_free(m.states);
    test_free(m.changes);
    world_close(&m.w);
}

static void run(uint64_t seed, uint64_t plain_until, bool by_hand, bool threads)
{
    run_from(false, seed, plain_until, by_hand, threads);
}

static void it_reads_like_a_table_per_revision_while_it_merges_by_itself(void **state)
{
    (void)state;
    run(1, NO_CAVEATS, false, false);
    run(2, 0, false, false);
    run(11, 300, false, false);
}

static void it_reads_like_a_table_per_revision_while_threads_merge_it(void **state)
{
    (void)state;
    run(3, NO_CAVEATS, false, true);
    run(4, 0, false, true);
    run(13, 300, false, true);
}

static void it_reads_like_a_table_per_revision_while_others_merge_it(void **state)
{
    (void)state;
    run(5, NO_CAVEATS, true, false);
    run(6, 0, true, false);
    run(15, 300, true, false);
}

static void it_reads_so_too_when_it_was_filled_at_once(void **state)
{
    (void)state;
    run_from(true, 21, NO_CAVEATS, false, false);
    run_from(true, 22, 0, true, false);
    run_from(true, 23, 0, false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reads_like_a_table_per_revision_while_it_merges_by_itself),
        cmocka_unit_test(it_reads_like_a_table_per_revision_while_threads_merge_it),
        cmocka_unit_test(it_reads_like_a_table_per_revision_while_others_merge_it),
        cmocka_unit_test(it_reads_so_too_when_it_was_filled_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
