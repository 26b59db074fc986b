/* core/graph against a model: one set of edges per revision, and nothing clever.
 *
 * Thousands of random transactions, with merges at random points; snapshots of random revisions, some of them kept
 * while the graph goes on, are compared with the model's set in every way the graph can be read. */
#include "world.h"

#include "base/arena.h"

#define SLOTS 3u
#define NODES 14u
#define ENDS (SLOTS * NODES)
#define EDGES (ENDS * ENDS)
#define WORDS ((EDGES + 63) / 64)
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
    uint64_t (*sets)[WORDS]; /* by revision */
    uint32_t     *changes;   /* how many each revision made */
    uint64_t      head;
    held_snapshot held[HELD];
} model;

static lic_ref ref_of(uint32_t end)
{
    return (lic_ref){ end / NODES, numbers[end % NODES] };
}

static bool model_has(const model *m, uint64_t revision, uint32_t resource, uint32_t subject)
{
    uint32_t index = resource * ENDS + subject;

    return m->sets[revision][index / 64] >> (index % 64) & 1;
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

/* The walk gives exactly the far ends that `expected` says, each once, and those of the base in order. */
static void check_walk(lic_walk *walk, const bool *expected)
{
    bool    seen[ENDS] = { false };
    lic_ref end;

    while (lic_walk_next(walk, &end)) {
        uint32_t found = end_of(end);

        assert_false(seen[found]);
        seen[found] = true;
    }
    assert_memory_equal(seen, expected, sizeof seen);
}

static void check_walks(const model *m, const lic_snapshot *snapshot, uint32_t origin)
{
    bool     subjects[ENDS];
    bool     resources[ENDS];
    lic_walk walk;

    for (uint32_t i = 0; i < ENDS; i++) {
        subjects[i]  = model_has(m, snapshot->revision, origin, i);
        resources[i] = model_has(m, snapshot->revision, i, origin);
    }
    lic_walk_subjects(snapshot, ref_of(origin), &walk);
    check_walk(&walk, subjects);
    lic_walk_resources(snapshot, ref_of(origin), &walk);
    check_walk(&walk, resources);
    for (lic_slot slot = 0; slot < SLOTS; slot++) {
        bool of_slot[ENDS] = { false };

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
        if (!model_has(m, snapshot->revision, i / ENDS, i % ENDS))
            continue;
        assert_true(lic_scan_next(scan, &e, &found));
        assert_true(found);
        assert_true(lic_ref_equal(e.resource, ref_of(i / ENDS)));
        assert_true(lic_ref_equal(e.subject, ref_of(i % ENDS)));
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
        assert_int_equal(lic_snapshot_has(snapshot, ref_of(origin), ref_of(i)),
                         model_has(m, snapshot->revision, origin, i));
        assert_int_equal(lic_snapshot_has(snapshot, ref_of(i), ref_of(origin)),
                         model_has(m, snapshot->revision, i, origin));
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

/* ------------------------------------------------------------------ writing */

static void write_some(model *m)
{
    lic_change changes[40];
    uint32_t   count = next_random(&m->random, next_random(&m->random, 10) == 0 ? 40 : 4);
    uint64_t  *next  = m->sets[m->head + 1];
    uint32_t   first = next_random(&m->random, EDGES);

    memcpy(next, m->sets[m->head], sizeof m->sets[0]);
    for (uint32_t i = 0; i < count; i++) {
        /* A step that is prime to EDGES: no edge twice in one transaction. */
        uint32_t index   = (first + i * 1009) % EDGES;
        bool     present = next_random(&m->random, 2) == 0;

        changes[i] = (lic_change){ { ref_of(index / ENDS), ref_of(index % ENDS) }, present };
        m->changes[m->head + 1] += (next[index / 64] >> (index % 64) & 1) != present;
        next[index / 64] = (next[index / 64] & ~(UINT64_C(1) << (index % 64))) | (uint64_t)present << (index % 64);
    }
    m->head++;
    assert_int_equal(write_all(m->w.graph, changes, count), m->head);
}

/* One edge of a few, so that edges change often. */
static void toggle_some(model *m)
{
    uint32_t  index   = next_random(&m->random, 5) * 101;
    uint64_t *next    = m->sets[m->head + 1];
    bool      present = !model_has(m, m->head, index / ENDS, index % ENDS);

    memcpy(next, m->sets[m->head], sizeof m->sets[0]);
    next[index / 64] ^= UINT64_C(1) << (index % 64);
    m->changes[++m->head] = 1;
    assert_int_equal(write_one(m->w.graph, (lic_change){ { ref_of(index / ENDS), ref_of(index % ENDS) }, present }),
                     m->head);
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

    for (uint32_t i = 0; i < WORDS; i++)
        count += (uint64_t)__builtin_popcountll(m->sets[m->head][i]);
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

static void run(uint64_t seed, bool by_hand, bool threads)
{
    model m = { .random = seed };

    world_open(&m.w, (lic_graph_options){ .min_history_changes = KEPT_CHANGES, .no_threads = !threads });
    m.sets    = test_calloc(REVISIONS + 1, sizeof *m.sets);
    m.changes = test_calloc(REVISIONS + 1, sizeof *m.changes);
    while (m.head < REVISIONS) {
        uint32_t dice = next_random(&m.random, 20);

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
    }
    for (uint32_t i = 0; i < HELD; i++)
        if (m.held[i].held)
            lic_snapshot_unpin(&m.held[i].snapshot);
    assert_true(merges(&m) > 5);
    test_free(m.sets);
    test_free(m.changes);
    world_close(&m.w);
}

static void it_reads_like_a_set_per_revision_while_it_merges_by_itself(void **state)
{
    (void)state;
    run(1, false, false);
    run(2, false, false);
}

static void it_reads_like_a_set_per_revision_while_threads_merge_it(void **state)
{
    (void)state;
    run(3, false, true);
    run(4, false, true);
}

static void it_reads_like_a_set_per_revision_while_others_merge_it(void **state)
{
    (void)state;
    run(5, true, false);
    run(6, true, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reads_like_a_set_per_revision_while_it_merges_by_itself),
        cmocka_unit_test(it_reads_like_a_set_per_revision_while_threads_merge_it),
        cmocka_unit_test(it_reads_like_a_set_per_revision_while_others_merge_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
