/* core/graph with many threads: readers see whole transactions, whatever the writer and the merges do meanwhile. For
 * the thread sanitizer above all. */
#include "world.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"

enum { USER, OWNER, LEFT, RIGHT }; /* slots */

#define READERS 8
#define COUPLES 40u
#define RUN_MS 1500
#define MOST_MS 60000 /* on a machine with much other work, until there were merges and reads */
#define MERGES 3u
#define READS 10
#define CAVEATS 4u

/* Each transaction keeps: document i has exactly one owner, ana or bo; and 0 is in LEFT or RIGHT with i, never in
 * both. So every snapshot has COUPLES edges of each kind. The two edges have the same caveat, or none. */
#define ANA 1u
#define BO 2u

typedef struct stage {
    world            w;
    atomic_bool      stop;
    _Atomic uint32_t reads;
    _Atomic uint32_t errors; /* cmocka's checks are for the main thread */
    _Atomic uint32_t interned;
} stage;

static void expect(stage *s, bool claim)
{
    if (!claim)
        atomic_fetch_add(&s->errors, 1);
}

static uint32_t node_of(uint32_t couple)
{
    return couple * 1000; /* ten ranges */
}

static uint32_t caveat_of_owner(const lic_snapshot *snapshot, uint32_t node)
{
    lic_walk walk;
    lic_ref  end;

    lic_walk_subjects(snapshot, (lic_ref){ OWNER, node }, &walk);
    return lic_walk_next(&walk, &end) ? caveat_of(snapshot->graph, walk.attribute) : ABSENT;
}

static uint32_t caveat_of_side(const lic_snapshot *snapshot, uint32_t node)
{
    uint32_t left = caveat_at(snapshot, edge(LEFT, 0, USER, node));

    return left == ABSENT ? caveat_at(snapshot, edge(RIGHT, 0, USER, node)) : left;
}

static void read_couples(stage *s, const lic_snapshot *snapshot, uint64_t *random)
{
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t node = node_of(next_random(random, COUPLES));

        expect(s, has(snapshot, edge(OWNER, node, USER, ANA)) != has(snapshot, edge(OWNER, node, USER, BO)));
        expect(s, has(snapshot, edge(LEFT, 0, USER, node)) != has(snapshot, edge(RIGHT, 0, USER, node)));
        expect(s, count_subjects(snapshot, (lic_ref){ OWNER, node }) == 1);
        expect(s, caveat_of_owner(snapshot, node) == caveat_of_side(snapshot, node));
        expect(s, caveat_of_owner(snapshot, node) < CAVEATS);
    }
}

static void read_walks(stage *s, const lic_snapshot *snapshot)
{
    size_t left  = count_subjects(snapshot, (lic_ref){ LEFT, 0 });
    size_t right = count_subjects(snapshot, (lic_ref){ RIGHT, 0 });
    size_t ana   = count_resources(snapshot, (lic_ref){ USER, ANA });
    size_t bo    = count_resources(snapshot, (lic_ref){ USER, BO });

    expect(s, left + right == COUPLES);
    expect(s, ana + bo == COUPLES);
}

static void read_scan(stage *s, const lic_snapshot *snapshot)
{
    lic_arena arena;
    lic_scan *scan;
    lic_edge  e;
    size_t    count = 0;
    bool      found = true;

    lic_arena_init(&arena, &s->w.memory);
    scan = lic_snapshot_scan(snapshot, &arena, OWNER, NULL);
    while (scan != NULL && lic_scan_next(scan, &e, &found) && found) {
        expect(s, e.resource.node == node_of((uint32_t)count));
        count++;
    }
    expect(s, count == COUPLES);
    lic_arena_free(&arena);
}

static void read_nodes(stage *s)
{
    uint32_t interned = atomic_load(&s->interned);
    char     text[16];
    lic_str  id = { text, (size_t)snprintf(text, sizeof text, "id%u", interned) };

    if (interned == 0)
        return;
    expect(s, lic_graph_find_node(s->w.graph, 0, id) == interned);
    expect(s, lic_str_equal(lic_graph_node_id(s->w.graph, 0, interned), id));
}

/* One snapshot, at head or a little before, read in every way. */
static void read_once(stage *s, uint64_t *random)
{
    lic_snapshot snapshot;
    uint64_t     head     = lic_graph_head(s->w.graph);
    uint64_t     revision = head - next_random(random, 20);

    if (next_random(random, 2) == 0 || head < 20 ||
        lic_snapshot_pin_at(s->w.graph, revision, &snapshot) != LIC_PIN_OK) {
        lic_snapshot_pin(s->w.graph, &snapshot);
        expect(s, snapshot.revision >= head);
    }
    read_couples(s, &snapshot, random);
    read_walks(s, &snapshot);
    read_scan(s, &snapshot);
    lic_snapshot_unpin(&snapshot);
    read_nodes(s);
    atomic_fetch_add(&s->reads, 1);
}

static void reader(void *argument)
{
    stage   *s      = argument;
    uint64_t random = lic_thread_number();

    while (!atomic_load(&s->stop))
        read_once(s, &random);
}

/* Both edges of a couple change sides, or stay and change their caveat. */
static void move_couple(lic_graph *graph, lic_change *changes, uint32_t couple, bool to_ana, uint32_t caveat)
{
    uint32_t node = node_of(couple);

    changes[0] = put(edge(OWNER, node, USER, ANA), to_ana);
    changes[1] = put(edge(OWNER, node, USER, BO), !to_ana);
    changes[2] = put(edge(LEFT, 0, USER, node), to_ana);
    changes[3] = put(edge(RIGHT, 0, USER, node), !to_ana);
    for (int i = 0; i < 4 && caveat > 0; i++)
        if (changes[i].present)
            changes[i].attribute = make_attribute(graph, caveat);
}

static void write_first(stage *s)
{
    lic_change changes[4 * COUPLES];

    for (uint32_t i = 0; i < COUPLES; i++)
        move_couple(s->w.graph, &changes[4 * i], i, true, 0);
    write_all(s->w.graph, changes, 4 * COUPLES);
}

static void write_once(stage *s, uint64_t *random)
{
    lic_change changes[4 * 3];
    uint32_t   first = next_random(random, COUPLES);
    uint32_t   count = 1 + next_random(random, 3);
    uint32_t   next  = atomic_load(&s->interned) + 1;
    char       text[16];

    for (uint32_t i = 0; i < count; i++)
        move_couple(s->w.graph, &changes[(size_t)4 * i], (first + i) % COUPLES, next_random(random, 2) == 0,
                    next_random(random, CAVEATS));
    write_all(s->w.graph, changes, (size_t)4 * count);
    lic_graph_lock(s->w.graph);
    assert_int_equal(
        lic_graph_intern_node(s->w.graph, 0, (lic_str){ text, (size_t)snprintf(text, sizeof text, "id%u", next) }),
        next);
    lic_graph_unlock(s->w.graph);
    atomic_store(&s->interned, next);
}

static void play(lic_graph_options options, bool merging)
{
    stage     s = { 0 };
    pthread_t threads[READERS];
    uint64_t  random = 7;
    uint64_t  start  = lic_monotonic_ms();
    uint64_t  merges = 0;
    uint64_t  passed = 0;

    world_open(&s.w, options);
    write_first(&s);
    for (int i = 0; i < READERS; i++)
        assert_true(lic_thread_start(&threads[i], "reader", reader, &s));
    for (uint32_t i = 0; passed < RUN_MS || ((merges < MERGES || s.reads <= READS) && passed < MOST_MS); i++) {
        write_once(&s, &random);
        if (merging && i % 64 == 0)
            assert_true(i % 128 == 0 ? lic_graph_merge(s.w.graph) : lic_graph_merge_all(s.w.graph));
        merges = sizes_of(s.w.graph).merges;
        passed = lic_monotonic_ms() - start;
    }
    atomic_store(&s.stop, true);
    for (int i = 0; i < READERS; i++)
        lic_thread_join(threads[i]);
    world_close(&s.w);
    assert_int_equal(atomic_load(&s.errors), 0);
    assert_true(atomic_load(&s.reads) > READS);
    assert_true(merges >= MERGES);
}

static void readers_see_whole_transactions_while_threads_merge(void **state)
{
    (void)state;
    play((lic_graph_options){ .min_history_changes = 64, .merge_changes = 32 }, false);
}

static void readers_see_whole_transactions_while_the_writer_merges(void **state)
{
    (void)state;
    play((lic_graph_options){ .min_history_changes = 64, .merge_changes = 32, .no_threads = true }, false);
}

static void readers_see_whole_transactions_while_everybody_merges(void **state)
{
    (void)state;
    play((lic_graph_options){ .min_history_changes = 16, .merge_changes = 16 }, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_transactions_while_threads_merge),
        cmocka_unit_test(readers_see_whole_transactions_while_the_writer_merges),
        cmocka_unit_test(readers_see_whole_transactions_while_everybody_merges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
