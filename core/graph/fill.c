/* Filling a graph: all its edges at once, straight into a new base. They are sorted into ranges, then within each, which
 * is a fraction of what as many changes of the delta, and their merge, take in time and memory. */
#include "base/clock.h"
#include "merge.h"

/* Bytes that an edge takes at most in the pieces of both directions, and beside them in a list that is sorted. */
#define PIECES_BYTES 48u
#define LIST_BYTES sizeof(lic_piece_change)
#define FEW 256u /* are sorted faster by comparing */
/* So many edges are worth a thread: each direction has one then. */
#define MANY 50000u

/* One direction's edges, by range of nodes. */
typedef struct sorter {
    lic_graph        *graph;
    lic_base         *base; /* to be filled */
    const lic_change *changes;
    size_t            count;
    lic_direction     direction;
    size_t            slot_count;
    size_t           *firsts; /* by slot: its first range among all; and the end of the last */
    size_t           *ends;   /* by range: the end of its edges; before that, how many there are */
    lic_piece_change *items;  /* range after range */
    lic_piece_change *room;   /* for as many as the largest range has */
    size_t            largest;
    bool              done;
} sorter;

static lic_ref near_end(const sorter *s, const lic_change *change)
{
    return s->direction == LIC_FORWARD ? change->edge.resource : change->edge.subject;
}

static lic_ref far_end(const sorter *s, const lic_change *change)
{
    return s->direction == LIC_FORWARD ? change->edge.subject : change->edge.resource;
}

static size_t range_of(const sorter *s, lic_ref end)
{
    return s->firsts[end.slot] + (end.node >> LIC_PIECE_BITS);
}

static size_t range_count(const sorter *s)
{
    return s->firsts[s->slot_count];
}

/* ------------------------------------------------------------------- ranges */

static bool count_slots(sorter *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const lic_ref end = near_end(s, &s->changes[i]);

        if (end.slot == LIC_NO_SLOT || far_end(s, &s->changes[i]).slot == LIC_NO_SLOT)
            return false;
        s->slot_count = end.slot >= s->slot_count ? (size_t)end.slot + 1 : s->slot_count;
    }
    return true;
}

/* First how many ranges a slot has, then where they begin. */
static void place_ranges(sorter *s)
{
    size_t before = 0;

    for (size_t i = 0; i < s->count; i++) {
        const lic_ref end  = near_end(s, &s->changes[i]);
        const size_t  need = (size_t)(end.node >> LIC_PIECE_BITS) + 1;

        s->firsts[end.slot] = need > s->firsts[end.slot] ? need : s->firsts[end.slot];
    }
    for (size_t slot = 0; slot <= s->slot_count; slot++) {
        const size_t here = s->firsts[slot];

        s->firsts[slot] = before;
        before += here;
    }
}

/* ends[] are where the next edge of a range goes; once all are placed, they are what they are called. */
static void place_edges(sorter *s)
{
    size_t before = 0;

    for (size_t i = 0; i < s->count; i++)
        s->ends[range_of(s, near_end(s, &s->changes[i]))]++;
    for (size_t range = 0; range < range_count(s); range++) {
        const size_t here = s->ends[range];

        s->largest     = here > s->largest ? here : s->largest;
        s->ends[range] = before;
        before += here;
    }
    for (size_t i = 0; i < s->count; i++) {
        const lic_ref end = near_end(s, &s->changes[i]);

        s->items[s->ends[range_of(s, end)]++] =
            (lic_piece_change){ end.node, s->changes[i].attribute, lic_ref_key(far_end(s, &s->changes[i])) };
    }
}

/* ------------------------------------------------------------- in each range */

static bool is_before(const lic_piece_change *a, const lic_piece_change *b)
{
    return a->node != b->node ? a->node < b->node : a->key < b->key;
}

static bool is_sorted(const lic_piece_change *items, size_t count)
{
    size_t i = 1;

    while (i < count && is_before(&items[i - 1], &items[i]))
        i++;
    return i >= count;
}

/* By node alone, in the order they are in. */
static void sort_nodes(const sorter *s, lic_piece_change *items, size_t count)
{
    uint32_t starts[LIC_PIECE_NODES + 1] = { 0 };

    for (size_t i = 0; i < count; i++)
        starts[(items[i].node & (LIC_PIECE_NODES - 1)) + 1]++;
    for (size_t node = 0; node < LIC_PIECE_NODES; node++)
        starts[node + 1] += starts[node];
    for (size_t i = 0; i < count; i++)
        s->room[starts[items[i].node & (LIC_PIECE_NODES - 1)]++] = items[i];
    memcpy(items, s->room, count * sizeof *items);
}

static void sort_keys(lic_piece_change *items, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && items[to].node == items[from].node;)
            to++;
        if (!is_sorted(items + from, to - from))
            lic_piece_sort(items + from, to - from);
    }
}

/* false: an edge is there twice. */
static bool sort_range(const sorter *s, lic_piece_change *items, size_t count)
{
    if (is_sorted(items, count))
        return true;
    if (count < FEW) {
        lic_piece_sort(items, count);
    } else {
        sort_nodes(s, items, count);
        sort_keys(items, count);
    }
    return is_sorted(items, count);
}

static bool fill_slot(const sorter *s, lic_slot slot)
{
    const size_t first = s->firsts[slot];

    for (size_t range = first; range < s->firsts[slot + 1]; range++) {
        const size_t          from  = range == 0 ? 0 : s->ends[range - 1];
        const size_t          count = s->ends[range] - from;
        const lic_piece_place place = { .slot       = slot,
                                        .first_node = (uint32_t)(range - first) << LIC_PIECE_BITS,
                                        .seed       = s->direction == LIC_FORWARD ? &s->graph->seed : NULL };

        if (count == 0)
            continue;
        if (!sort_range(s, s->items + from, count) ||
            !lic_base_change(s->base, &s->graph->epochs, s->direction, (uint32_t)(range - first), &place,
                             s->items + from, count))
            return false;
    }
    return true;
}

/* Scans are to find the slots' resources. */
static bool note_slots(const sorter *s)
{
    lic_graph *graph = s->graph;

    for (lic_slot slot = 0; slot < s->slot_count; slot++) {
        const uint32_t  ranges = (uint32_t)(s->firsts[slot + 1] - s->firsts[slot]);
        lic_slot_state *state;

        if (ranges == 0)
            continue;
        if (!lic_chunks_reserve(&graph->slots, &graph->memory, slot, slot + 1, sizeof *state))
            return false;
        state = lic_chunks_find(&graph->slots, slot, sizeof *state);
        if (atomic_load_explicit(&state->ranges, memory_order_relaxed) < ranges)
            atomic_store_explicit(&state->ranges, ranges, memory_order_release);
    }
    return true;
}

static bool fill_ranges(sorter *s)
{
    lic_memory *memory = &s->graph->memory;
    bool        done   = true;

    s->room = lic_alloc_array(memory, s->largest, sizeof *s->room);
    if (s->room == NULL)
        return false;
    for (lic_slot slot = 0; slot < s->slot_count && done; slot++)
        done = fill_slot(s, slot);
    lic_free(memory, s->room, s->largest * sizeof *s->room);
    return done && (s->direction == LIC_REVERSE || note_slots(s));
}

static bool sort_and_fill(sorter *s)
{
    lic_memory *memory = &s->graph->memory;
    bool        done   = false;

    place_ranges(s);
    s->ends  = lic_alloc_array(memory, range_count(s), sizeof *s->ends);
    s->items = lic_alloc_array(memory, s->count, sizeof *s->items);
    if (s->ends != NULL && s->items != NULL) {
        place_edges(s);
        done = fill_ranges(s);
    }
    lic_free(memory, s->ends, range_count(s) * sizeof *s->ends);
    lic_free(memory, s->items, s->count * sizeof *s->items);
    return done;
}

/* The two directions have nothing in common but memory, epochs and attributes, which any thread may use. */
static void fill_direction(void *argument)
{
    sorter     *s      = argument;
    lic_memory *memory = &s->graph->memory;

    if (!count_slots(s))
        return;
    s->firsts = lic_alloc_zero(memory, (s->slot_count + 1) * sizeof *s->firsts);
    if (s->firsts != NULL)
        s->done = sort_and_fill(s);
    lic_free(memory, s->firsts, (s->slot_count + 1) * sizeof *s->firsts);
}

static bool leaves_room(const lic_graph *graph, size_t count, size_t lists)
{
    const size_t each = PIECES_BYTES + lists * LIST_BYTES;

    return count < SIZE_MAX / each && lic_merge_leaves_room(graph, 0, count * each, true);
}

/* *slots: those of resources are below. */
static bool fill_base(lic_graph *graph, lic_base *base, const lic_change *changes, size_t count, lic_slot *slots)
{
    sorter    forward = { graph, base, changes, count, .direction = LIC_FORWARD };
    sorter    reverse = { graph, base, changes, count, .direction = LIC_REVERSE };
    bool      apart   = count >= MANY && !graph->no_threads && leaves_room(graph, count, 2);
    pthread_t thread;

    apart = apart && lic_thread_start(&thread, "licet fill", fill_direction, &reverse);
    fill_direction(&forward);
    if (apart)
        lic_thread_join(thread);
    else if (forward.done)
        fill_direction(&reverse);
    *slots = (lic_slot)forward.slot_count;
    return forward.done && reverse.done;
}

/* -------------------------------------------------------------------- the whole */

/* What takes the place of the graph's, and nobody has seen yet. */
typedef struct filling {
    lic_base  *base;
    lic_delta *delta; /* about it */
    lic_slot   slots;
} filling;

static void end_filling(lic_graph *graph, filling *f)
{
    lic_base_free(f->base);
    lic_delta_free(f->delta);
    lic_epoch_unreserve(&graph->epochs);
    lic_epoch_unreserve(&graph->epochs);
}

/* With room to retire what it takes the place of. */
static bool begin_filling(lic_graph *graph, filling *f)
{
    const uint64_t head = atomic_load_explicit(&graph->head, memory_order_relaxed);

    *f = (filling){ .base = NULL };
    if (!lic_epoch_reserve(&graph->epochs))
        return false;
    if (!lic_epoch_reserve(&graph->epochs)) {
        lic_epoch_unreserve(&graph->epochs);
        return false;
    }
    f->base  = lic_base_new(&graph->attributes);
    f->delta = lic_delta_new(&graph->attributes, &graph->epochs, &graph->seed, head + 1);
    if (f->base != NULL && f->delta != NULL)
        return true;
    end_filling(graph, f);
    return false;
}

static bool only_adds(const lic_change *changes, size_t count)
{
    size_t i = 0;

    while (i < count && changes[i].present)
        i++;
    return i == count && count > 0;
}

static void release_delta(void *context, void *thing)
{
    (void)context;
    lic_delta_free(thing);
}

static void release_base(void *context, void *thing)
{
    (void)context;
    lic_base_free(thing);
}

/* Everything is in place: what is seen from here on is the new base. Lets go of the changes' attributes. */
static void publish(lic_graph *graph, const filling *f, const lic_change *changes, size_t count)
{
    lic_delta *old_delta = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    lic_base  *old_base  = graph->base;
    uint64_t   head      = atomic_load_explicit(&graph->head, memory_order_relaxed);

    f->delta->base   = f->base;
    f->delta->shared = true;
    graph->base      = f->base;
    graph->had_edges = true;
    atomic_fetch_add_explicit(&graph->edges, count, memory_order_relaxed);
    atomic_store_explicit(&graph->merge.largest_piece, lic_base_largest_piece(f->base), memory_order_relaxed);
    lic_history_mark_superseded(&graph->history, head, lic_monotonic_ms());
    atomic_store(&graph->delta, f->delta);
    atomic_store(&graph->head, head + 1);
    atomic_store(&graph->horizon, atomic_load(&f->delta->horizon));
    lic_epoch_retire(&graph->epochs, release_base, NULL, old_base);
    graph->merge.grace = lic_epoch_retire(&graph->epochs, release_delta, NULL, old_delta);
    for (size_t i = 0; i < count; i++)
        lic_attributes_release(&graph->attributes, changes[i].attribute);
    lic_epoch_reclaim(&graph->epochs);
}

/* Has nothing ever been written that is still known? */
static bool is_untouched(const lic_graph *graph, const lic_delta *delta)
{
    return delta->base != graph->base && atomic_load(&graph->merge.stage) == LIC_MERGE_IDLE &&
           atomic_load_explicit(&delta->log_count, memory_order_relaxed) == 0;
}

bool lic_graph_fill(lic_graph *graph, const lic_change *changes, size_t count, uint64_t *revision)
{
    const lic_delta *delta = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    filling          f;

    if (!is_untouched(graph, delta) || !only_adds(changes, count) || !leaves_room(graph, count, 1) ||
        !begin_filling(graph, &f))
        return false;
    if (!fill_base(graph, f.base, changes, count, &f.slots)) {
        end_filling(graph, &f);
        return false;
    }
    *revision             = f.delta->settled;
    f.delta->filled       = f.delta->settled;
    f.delta->filled_slots = f.slots;
    atomic_init(&f.delta->horizon, atomic_load_explicit(&delta->horizon, memory_order_relaxed));
    publish(graph, &f, changes, count);
    return true;
}

/* -------------------------------------------------------------------- once more */

/* Has it all in the base, and nothing else? */
static bool is_settled(const lic_graph *graph, const lic_delta *delta)
{
    return delta->base == graph->base && atomic_load(&graph->merge.stage) == LIC_MERGE_IDLE &&
           atomic_load_explicit(&delta->log_count, memory_order_relaxed) == 0 && atomic_load(&delta->past) == NULL;
}

static bool append_slot(lic_graph *graph, const lic_snapshot *head, lic_slot slot, lic_change *all, size_t *count,
                        size_t most)
{
    lic_arena arena;
    lic_scan *scan;
    lic_edge  edge;
    bool      found = true;
    bool      done;

    lic_arena_init(&arena, &graph->memory);
    scan = lic_snapshot_scan(head, &arena, slot, NULL);
    done = scan != NULL;
    while (done && found) {
        done = lic_scan_next(scan, &edge, &found) && (!found || *count < most);
        if (done && found)
            all[(*count)++] = (lic_change){ edge, true, lic_scan_attribute(scan) };
    }
    lic_arena_free(&arena);
    return done;
}

/* What is there, behind the changes. */
static bool append_present(lic_graph *graph, lic_change *all, size_t count, size_t most)
{
    const lic_directory *directory = atomic_load(&graph->base->directions[LIC_FORWARD]);
    lic_snapshot         head;
    bool                 done = true;

    lic_snapshot_pin(graph, &head);
    for (lic_slot slot = 0; directory != NULL && slot < directory->count && done; slot++)
        done = append_slot(graph, &head, slot, all, &count, most);
    lic_snapshot_unpin(&head);
    return done && count == most;
}

static bool fill_with_all(lic_graph *graph, filling *f, const lic_change *changes, size_t count, size_t total)
{
    lic_change *all = lic_alloc_array(&graph->memory, total, sizeof *all);
    bool        done;

    if (all == NULL)
        return false;
    memcpy(all, changes, count * sizeof *all);
    done = append_present(graph, all, count, total) && fill_base(graph, f->base, all, total, &f->slots);
    lic_free(&graph->memory, all, total * sizeof *all);
    return done;
}

bool lic_graph_refill(lic_graph *graph, const lic_change *changes, size_t count, uint64_t *revision)
{
    const lic_delta *delta   = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    const size_t     present = (size_t)atomic_load_explicit(&graph->edges, memory_order_relaxed);
    filling          f;

    if (!is_settled(graph, delta) || !only_adds(changes, count) || count > SIZE_MAX - present ||
        !leaves_room(graph, present + count, 2) || !begin_filling(graph, &f))
        return false;
    if (!fill_with_all(graph, &f, changes, count, present + count)) {
        end_filling(graph, &f);
        return false;
    }
    *revision = f.delta->settled;
    publish(graph, &f, changes, count);
    return true;
}
