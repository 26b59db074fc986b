/* core/graph/changes.c: the logs give every change back, whatever merges did in between. */
#include "world.h"

#include "graph/changes.h"

enum { USER, OWNER, EDITOR }; /* slots */

/* -------------------------------------------------------------------- a model */

#define MOST 4000u

/* Every change that was made, in order. */
typedef struct model {
    struct made {
        uint64_t revision;
        uint32_t node;
        uint32_t caveat; /* what it has, or had; 0: none */
        bool     present;
    } made[MOST];
    size_t   count;
    uint32_t state[64]; /* caveat of each edge; ABSENT */
    uint64_t head;
} model;

static lic_edge edge_of(uint32_t node)
{
    return edge(node % 2 == 0 ? OWNER : EDITOR, node * 700, USER, node % 5);
}

/* One transaction: up to four edges get or lose something, or stay as they are. */
static void write_random(world *w, model *m, uint64_t *random)
{
    lic_change changes[4];
    uint32_t   first = next_random(random, 60);
    uint32_t   count = next_random(random, 5);

    m->head++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t  caveat = next_random(random, 4); /* 0: none; 3: the edge goes */
        uint32_t *state  = &m->state[first + i];
        uint32_t  after  = caveat == 3 ? ABSENT : caveat;

        changes[i] = caveat == 3 ? unset(edge_of(first + i))
                                 : set_with(edge_of(first + i), caveat == 0 ? 0 : make_attribute(w->graph, caveat));
        if (after == *state)
            continue;
        assert_true(m->count < MOST);
        m->made[m->count++] = (struct made){ m->head, first + i, after == ABSENT ? *state : after, after != ABSENT };
        *state              = after;
    }
    assert_int_equal(write_all(w->graph, changes, count), m->head);
}

/* The edges that the graph is filled with are told in the order of scans: slot by slot. */
static void fill_some(world *w, model *m)
{
    lic_change changes[40];

    m->head++;
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t node   = i < 20 ? i * 2 : i * 2 - 39;
        uint32_t caveat = i % 3;

        changes[39 - i]     = set_with(edge_of(node), caveat == 0 ? 0 : make_attribute(w->graph, caveat));
        m->made[m->count++] = (struct made){ m->head, node, caveat, true };
        m->state[node]      = caveat;
    }
    assert_int_equal(fill_all(w->graph, changes, 40), m->head);
}

/* Index of the first that was made behind the revision. */
static size_t first_behind(const model *m, uint64_t after)
{
    size_t at = 0;

    while (at < m->count && m->made[at].revision <= after)
        at++;
    return at;
}

/* The revision's changes are those at `at` of the model; returns the index behind them. */
static size_t assert_revision(const world *w, const lic_snapshot *snapshot, const model *m, size_t at,
                              lic_changes changes)
{
    lic_arena  scratch;
    lic_logged change;
    bool       found;

    lic_arena_init(&scratch, (lic_memory *)&w->memory);
    assert_int_equal(changes.revision, m->made[at].revision);
    for (; at < m->count && m->made[at].revision == changes.revision; at++) {
        const struct made *made     = &m->made[at];
        lic_edge           expected = edge_of(made->node);

        assert_true(lic_changes_next(&changes, &scratch, &change, &found));
        assert_true(found);
        assert_true(lic_ref_equal(change.edge.resource, expected.resource));
        assert_true(lic_ref_equal(change.edge.subject, expected.subject));
        assert_int_equal(change.present, made->present);
        assert_int_equal(caveat_of(snapshot->graph, change.attribute), made->caveat);
    }
    assert_true(lic_changes_next(&changes, &scratch, &change, &found));
    assert_false(found);
    lic_arena_free(&scratch);
    return at;
}

/* From every revision that is kept on. Returns the oldest. */
static uint64_t assert_all(const world *w, const model *m)
{
    uint64_t     oldest = m->head;
    lic_snapshot snapshot;
    lic_changes  changes;

    lic_snapshot_pin(w->graph, &snapshot);
    for (uint64_t after = m->head + 1; after-- > 0;) {
        size_t at = first_behind(m, after);

        if (!lic_changes_kept(&snapshot, after))
            continue;
        assert_true(oldest == after || oldest == after + 1); /* all that are newer are kept too */
        oldest = after;
        assert_int_equal(lic_changes_after(&snapshot, after, UINT64_MAX, &changes), at < m->count);
        if (at < m->count)
            assert_revision(w, &snapshot, m, at, changes);
    }
    lic_snapshot_unpin(&snapshot);
    return oldest;
}

static void check_every_change(bool filled)
{
    static model m;
    uint64_t     random = 1;
    world        w;

    memset(&m, 0, sizeof m);
    for (size_t i = 0; i < 64; i++)
        m.state[i] = ABSENT;
    world_open(&w, (lic_graph_options){ .no_threads = true, .min_history_changes = 300, .merge_changes = 1000000 });
    if (filled)
        fill_some(&w, &m);
    for (uint32_t i = 0; i < 1000; i++) {
        write_random(&w, &m, &random);
        if (i % 97 == 96)
            assert_true(lic_graph_merge(w.graph));
        if (i % 50 == 49) {
            uint64_t oldest = assert_all(&w, &m);

            assert_int_equal(oldest, lic_graph_oldest(w.graph));
            assert_true(m.count - first_behind(&m, oldest) >= (m.count < 300 ? m.count : 300));
        }
    }
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(assert_all(&w, &m), m.head);
    world_close(&w);
}

static void every_change_is_found_in_order_until_history_is_given_up(void **state)
{
    (void)state;
    check_every_change(false);
}

static void the_edges_that_a_graph_is_filled_with_are_found_like_changes(void **state)
{
    (void)state;
    check_every_change(true);
}

static void only_what_the_snapshot_shows_and_was_asked_for_is_found(void **state)
{
    world        w;
    lic_snapshot old;
    lic_snapshot now;
    lic_changes  changes;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    write_one(w.graph, set(edge_of(1))); /* 1 */
    write_all(w.graph, NULL, 0);         /* 2 */
    lic_snapshot_pin(w.graph, &old);
    write_one(w.graph, set(edge_of(1))); /* 3: as it was */
    write_one(w.graph, set(edge_of(2))); /* 4 */
    lic_snapshot_pin(w.graph, &now);
    assert_false(lic_changes_after(&old, 1, UINT64_MAX, &changes));
    assert_false(lic_changes_after(&old, 2, UINT64_MAX, &changes));
    assert_false(lic_changes_after(&old, 7, UINT64_MAX, &changes));
    assert_true(lic_changes_after(&old, 0, UINT64_MAX, &changes));
    assert_int_equal(changes.revision, 1);
    assert_false(lic_changes_after(&now, 1, 3, &changes));
    assert_true(lic_changes_after(&now, 1, 4, &changes));
    assert_int_equal(changes.revision, 4);
    assert_false(lic_changes_after(&now, 4, 4, &changes));
    assert_false(lic_changes_after(&now, 4, 2, &changes));
    lic_snapshot_unpin(&now);
    lic_snapshot_unpin(&old);
    world_close(&w);
}

/* ---------------------------------------------------- beside a writer and merges */

#define REVISIONS 20000u

typedef struct stage {
    world        w;
    _Atomic bool done;
} stage;

/* Revision r changes edge r % 60: it is there in odd rounds. */
static void write_rounds(void *argument)
{
    stage *s = argument;

    for (uint32_t r = 1; r <= REVISIONS; r++)
        write_one(s->w.graph, put(edge_of(r % 60), r / 60 % 2 == 1));
    atomic_store(&s->done, true);
}

/* Those before 60 delete what never was. */
static uint64_t next_change(uint64_t after)
{
    return after < 59 ? 60 : after + 1;
}

static void assert_round(lic_changes *changes, uint64_t expected)
{
    lic_arena  unused = { .memory = NULL };
    bool       found;
    lic_logged change;
    lic_edge   e = edge_of((uint32_t)(expected % 60));

    assert_int_equal(changes->revision, expected);
    assert_true(lic_changes_next(changes, &unused, &change, &found));
    assert_true(found);
    assert_true(lic_ref_equal(change.edge.resource, e.resource) && lic_ref_equal(change.edge.subject, e.subject));
    assert_int_equal(change.present, expected / 60 % 2 == 1);
    assert_int_equal(change.attribute, LIC_NO_ATTRIBUTE);
    assert_true(lic_changes_next(changes, &unused, &change, &found));
    assert_false(found);
}

/* Reads on, as long as its place is kept; if it is not, begins again at the head. */
static void who_reads_beside_merges_misses_nothing_that_is_said_to_be_kept(void **state)
{
    stage        s;
    pthread_t    thread;
    lic_snapshot snapshot;
    uint64_t     place = 0;
    uint64_t     told  = 0;
    bool         done  = false;

    (void)state;
    memset(&s, 0, sizeof s);
    world_open(&s.w, (lic_graph_options){ .min_history_changes = 200, .merge_changes = 100 });
    assert_true(lic_thread_start(&thread, "licet-test", write_rounds, &s));
    while (!done) {
        lic_changes changes;
        bool        found;

        done = atomic_load(&s.done);
        lic_snapshot_pin(s.w.graph, &snapshot);
        found = lic_changes_after(&snapshot, place, UINT64_MAX, &changes);
        if (!lic_changes_kept(&snapshot, place)) {
            place = snapshot.revision;
        } else if (found) {
            assert_round(&changes, next_change(place));
            place = changes.revision;
            told++;
            done = false;
        } else {
            assert_true(snapshot.revision < next_change(place));
        }
        lic_snapshot_unpin(&snapshot);
    }
    lic_thread_join(thread);
    assert_int_equal(place, REVISIONS);
    assert_true(told > 0);
    assert_true(sizes_of(s.w.graph).merges > 0);
    world_close(&s.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_found_in_order_until_history_is_given_up),
        cmocka_unit_test(the_edges_that_a_graph_is_filled_with_are_found_like_changes),
        cmocka_unit_test(only_what_the_snapshot_shows_and_was_asked_for_is_found),
        cmocka_unit_test(who_reads_beside_merges_misses_nothing_that_is_said_to_be_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
