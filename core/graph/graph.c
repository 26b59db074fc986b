/* The graph as a whole: its life, its one writer, its size. */
#include "state.h"

#include "base/clock.h"
#include "base/hash.h"
#include "merge.h"

#define DEFAULT_WINDOW_MS (UINT64_C(24) * 60 * 60 * 1000)

/* ----------------------------------------------------------------- memory */

/* The graph's memory is its owner's, through a second counter that counts only the graph's. */
static void *owner_alloc(void *owner, size_t size)
{
    return lic_alloc(owner, size);
}

static void *owner_resize(void *owner, void *pointer, size_t old_size, size_t new_size)
{
    return lic_resize(owner, pointer, old_size, new_size);
}

static void owner_free(void *owner, void *pointer, size_t size)
{
    lic_free(owner, pointer, size);
}

/* ------------------------------------------------------------- birth, death */

/* Aligned as its type wants, which no allocator promises. */
#define BLOCK_SIZE (sizeof(lic_graph) + _Alignof(lic_graph))

static lic_graph *alloc_graph(lic_memory *memory)
{
    char      *block = lic_alloc_zero(memory, BLOCK_SIZE);
    lic_graph *graph;

    if (block == NULL)
        return NULL;
    graph        = (lic_graph *)(block + (-(uintptr_t)block & (_Alignof(lic_graph) - 1)));
    graph->block = block;
    graph->owner = memory;
    return graph;
}

static void init_plain_parts(lic_graph *graph, const lic_graph_options *options)
{
    const licet_allocator hooks  = { owner_alloc, owner_resize, owner_free, graph->owner };
    uint64_t              window = options == NULL ? 0 : options->history_window_ms;

    lic_memory_init(&graph->memory, &hooks, SIZE_MAX);
    graph->seed = (lic_edge_seed){ lic_random_key() | 1, lic_random_key() | 1 };
    lic_history_init(&graph->history, window > 0 ? window : DEFAULT_WINDOW_MS);
    lic_attributes_init(&graph->attributes, &graph->memory, options);
    if (options != NULL) {
        graph->min_history_changes = options->min_history_changes;
        graph->merge_changes       = options->merge_changes;
        graph->no_threads          = options->no_threads;
    }
}

lic_graph *lic_graph_new(lic_memory *memory, const lic_names *names, const lic_graph_options *options)
{
    lic_graph *graph = alloc_graph(memory);
    lic_delta *delta = NULL;

    (void)names; /* slots and types are numbers here: what they are called is nowhere needed */
    if (graph == NULL)
        return NULL;
    init_plain_parts(graph, options);
    if (!lic_epochs_init(&graph->epochs, &graph->memory))
        goto no_epochs;
    lic_nodes_init(&graph->nodes, &graph->memory, &graph->epochs);
    delta       = lic_delta_new(&graph->attributes, &graph->epochs, &graph->seed, 0);
    graph->base = lic_base_new(&graph->attributes);
    if (delta == NULL || graph->base == NULL || !lic_mutex_init(&graph->lock))
        goto no_delta;
    delta->shared = true;
    delta->base   = &lic_base_nothing; /* while the base is filled or merged into for the first time */
    atomic_init(&graph->delta, delta);
    return graph;
no_delta:
    lic_delta_free(delta);
    lic_base_free(graph->base);
    lic_epochs_free(&graph->epochs);
no_epochs:
    lic_free(memory, graph->block, BLOCK_SIZE);
    return NULL;
}

void lic_graph_stop(lic_graph *graph)
{
    lic_merge_end(graph);
}

void lic_graph_free(lic_graph *graph)
{
    if (graph == NULL)
        return;
    lic_merge_end(graph);
    lic_delta_free(atomic_load(&graph->delta));
    lic_base_free(graph->base);
    lic_nodes_free(&graph->nodes);
    lic_chunks_free(&graph->slots, &graph->memory, sizeof(lic_slot_state));
    lic_epochs_free(&graph->epochs);
    lic_attributes_free(&graph->attributes); /* after everything that held some */
    lic_mutex_destroy(&graph->lock);
    lic_free(graph->owner, graph->block, BLOCK_SIZE);
}

/* ---------------------------------------------------------------- writing */

void lic_graph_lock(lic_graph *graph)
{
    lic_mutex_lock(&graph->lock);
}

void lic_graph_unlock(lic_graph *graph)
{
    lic_mutex_unlock(&graph->lock);
}

/* An id is never given up, so none may come out of what is left for deletions: then refused writes would use it up. */
static uint32_t intern_with_room(lic_graph *graph, lic_type type, lic_str id)
{
    const size_t bytes = lic_nodes_bytes(&graph->nodes, type, id);

    return lic_merge_leaves_room(graph, 1, bytes, true) ? lic_nodes_intern(&graph->nodes, type, id) : LIC_NONE;
}

uint32_t lic_graph_intern_node(lic_graph *graph, lic_type type, lic_str id)
{
    uint32_t node = intern_with_room(graph, type, id);

    if (node != LIC_NONE)
        return node;
    lic_merge_for_memory(graph);
    return intern_with_room(graph, type, id);
}

void lic_graph_forget_nodes(lic_graph *graph)
{
    if (!graph->had_edges && lic_nodes_forget(&graph->nodes))
        lic_epoch_reclaim(&graph->epochs);
}

uint32_t lic_graph_node_end(const lic_graph *graph, lic_type type)
{
    return lic_nodes_end(&graph->nodes, type);
}

const lic_attribute *lic_graph_attribute(const lic_graph *graph, uint32_t attribute)
{
    return lic_edge_attributed(attribute) ? &lic_attributes_entry(&graph->attributes, attribute)->content : NULL;
}

/* Nor may attributes: their table, whose places are given again, but never up, grows by a fifth at once. */
static uint32_t attribute_with_room(lic_graph *graph, const lic_attribute *content)
{
    const size_t bytes = lic_attributes_bytes(&graph->attributes, content);

    return lic_merge_leaves_room(graph, 1, bytes, true) ? lic_attributes_new(&graph->attributes, content)
                                                        : LIC_NO_ATTRIBUTE;
}

uint32_t lic_graph_attribute_new(lic_graph *graph, const lic_attribute *content)
{
    uint32_t attribute = attribute_with_room(graph, content);

    if (attribute != LIC_NO_ATTRIBUTE)
        return attribute;
    lic_merge_for_memory(graph);
    return attribute_with_room(graph, content);
}

void lic_graph_attribute_retain(lic_graph *graph, uint32_t attribute)
{
    lic_attributes_retain(&graph->attributes, attribute);
}

void lic_graph_attribute_release(lic_graph *graph, uint32_t attribute)
{
    lic_attributes_release(&graph->attributes, attribute);
}

static lic_delta *current_delta(const lic_graph *graph)
{
    return atomic_load_explicit(&graph->delta, memory_order_relaxed);
}

static lic_slot_state *slot_state(const lic_graph *graph, lic_slot slot)
{
    return lic_chunks_find(&graph->slots, slot, sizeof(lic_slot_state));
}

/* Everything the changes may need, so that applying them can not fail. */
static bool reserve(lic_graph *graph, lic_delta *delta, const lic_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const lic_edge *edge = &changes[i].edge;

        if (edge->resource.slot == LIC_NO_SLOT || edge->subject.slot == LIC_NO_SLOT ||
            !lic_chunks_reserve(&graph->slots, &graph->memory, edge->resource.slot, edge->resource.slot + 1,
                                sizeof(lic_slot_state)) ||
            !lic_delta_reserve_ranges(delta, lic_ref_key(edge->resource), lic_ref_key(edge->subject)))
            return false;
    }
    return lic_delta_reserve(delta, count);
}

/* Revisions without changes need nothing. */
static bool leaves_room(const lic_graph *graph, const lic_change *changes, size_t count)
{
    bool adds = false;

    for (size_t i = 0; i < count && !adds; i++)
        adds = changes[i].present;
    return count == 0 || lic_merge_leaves_room(graph, count, 0, adds);
}

static void count_edge(lic_graph *graph, const lic_change *change)
{
    lic_slot_state *state = slot_state(graph, change->edge.resource.slot);
    uint32_t        range = change->edge.resource.node >> LIC_PIECE_BITS;
    uint64_t        by    = change->present ? 1 : UINT64_MAX; /* adding the largest number takes one away */

    graph->had_edges = true;
    atomic_fetch_add_explicit(&graph->edges, by, memory_order_relaxed);
    if (atomic_load_explicit(&state->ranges, memory_order_relaxed) <= range)
        atomic_store_explicit(&state->ranges, range + 1, memory_order_release);
}

/* The edge's state, for the writer, who sees his own transaction. */
static lic_edge_state state_now(const lic_graph *graph, const lic_delta *delta, uint32_t record, lic_ref resource,
                                uint64_t target)
{
    const lic_piece *piece;

    if (record != LIC_NONE)
        return lic_delta_state(delta, lic_delta_record(delta, record), UINT64_MAX);
    piece = lic_base_piece(delta->base, LIC_FORWARD, resource.slot, resource.node >> LIC_PIECE_BITS);
    return lic_piece_state(piece, lic_ref_key(resource), target, &graph->seed);
}

/* The caller's hold of the attribute ends here: the delta has its own. */
static void apply_change(lic_graph *graph, lic_delta *delta, const lic_change *change, uint64_t revision)
{
    uint64_t         source = lic_ref_key(change->edge.resource);
    uint64_t         target = lic_ref_key(change->edge.subject);
    uint64_t         hash   = lic_edge_hash(&graph->seed, source, target);
    uint32_t         record = lic_delta_find(delta, source, target, hash);
    lic_delta_change made   = { .ends = { source, target }, .hash = hash, .revision = revision };

    made.before = state_now(graph, delta, record, change->edge.resource, target);
    made.after  = change->present ? change->attribute : LIC_ABSENT;
    if (!lic_attributes_same(&graph->attributes, made.before, made.after)) {
        lic_delta_append(delta, record, &made);
        if ((made.before == LIC_ABSENT) == change->present)
            count_edge(graph, change);
    }
    lic_attributes_release(&graph->attributes, change->attribute);
}

static bool try_apply(lic_graph *graph, const lic_change *changes, size_t count)
{
    lic_delta *delta;
    uint64_t   head;
    uint32_t   reader;

    lic_merge_help(graph);
    delta = current_delta(graph);
    /* Asked twice: what is reserved stays with the delta, also when the write is given up. */
    if (!leaves_room(graph, changes, count) || !reserve(graph, delta, changes, count) ||
        !leaves_room(graph, changes, count))
        return false;
    head   = atomic_load_explicit(&graph->head, memory_order_relaxed);
    reader = lic_epoch_enter(&graph->epochs); /* a merge may replace the pieces that are looked at */
    for (size_t i = 0; i < count; i++)
        apply_change(graph, delta, &changes[i], head + 1);
    lic_epoch_leave(&graph->epochs, reader);
    lic_history_mark_superseded(&graph->history, head, lic_monotonic_ms());
    atomic_store(&delta->head, head + 1);
    atomic_store(&graph->head, head + 1);
    return true;
}

bool lic_graph_apply(lic_graph *graph, const lic_change *changes, size_t count, uint64_t *revision)
{
    if (!try_apply(graph, changes, count)) {
        lic_merge_for_memory(graph);
        if (!try_apply(graph, changes, count)) {
            lic_merge_for_memory(graph); /* what was reserved may be most of it */
            return false;
        }
    }
    *revision = atomic_load_explicit(&graph->head, memory_order_relaxed);
    lic_epoch_reclaim(&graph->epochs);
    lic_merge_start_due(graph);
    return true;
}

bool lic_graph_retire(lic_graph *graph, void (*release)(void *context, void *thing), void *context, void *thing)
{
    if (!lic_epoch_reserve(&graph->epochs))
        return false;
    lic_epoch_retire(&graph->epochs, release, context, thing);
    lic_epoch_reclaim(&graph->epochs);
    return true;
}

bool lic_graph_merge(lic_graph *graph)
{
    return lic_merge_now(graph, LIC_MERGE_KEEP);
}

bool lic_graph_merge_all(lic_graph *graph)
{
    return lic_merge_now(graph, LIC_MERGE_FORGET);
}

/* ------------------------------------------------------------------- fork */

void lic_graph_before_fork(lic_graph *graph)
{
    lic_mutex_lock(&graph->lock);
    lic_merge_join_ended(graph);
    lic_mutex_lock(&graph->epochs.lock);
}

void lic_graph_after_fork_parent(lic_graph *graph)
{
    lic_mutex_unlock(&graph->epochs.lock);
    lic_mutex_unlock(&graph->lock);
}

/* The merge's thread, if there was one, is not here, and neither are the readers. What it had put into the base is
 * right, since the delta decides over it; what it was making is lost. */
void lic_graph_after_fork_child(lic_graph *graph)
{
    lic_epochs_forget_readers(&graph->epochs);
    lic_merge_forget(graph);
    graph->no_threads = true;
    lic_mutex_unlock(&graph->lock);
}

/* ------------------------------------------------------------------ sizes */

uint64_t lic_graph_head(const lic_graph *graph)
{
    return atomic_load(&graph->head);
}

uint64_t lic_graph_oldest(const lic_graph *graph)
{
    uint64_t horizon = atomic_load(&graph->horizon);
    uint64_t window  = lic_history_oldest(&graph->history, lic_monotonic_ms());

    return window > horizon ? window : horizon;
}

/* Pinned. */
static uint32_t history_changes(const lic_delta *delta)
{
    const lic_delta *past = atomic_load(&delta->past);

    return past == NULL ? 0 : atomic_load_explicit(&past->log_count, memory_order_relaxed);
}

void lic_graph_measure(const lic_graph *graph, lic_graph_sizes *sizes)
{
    uint64_t     used = atomic_load_explicit(&graph->memory.used, memory_order_relaxed) + BLOCK_SIZE;
    lic_snapshot snapshot;

    lic_snapshot_pin(graph, &snapshot);
    *sizes = (lic_graph_sizes){
        .edges           = atomic_load_explicit(&graph->edges, memory_order_relaxed),
        .nodes           = atomic_load_explicit(&graph->nodes.count, memory_order_relaxed),
        .id_bytes        = atomic_load_explicit(&graph->nodes.id_bytes, memory_order_relaxed),
        .delta_changes   = atomic_load_explicit(&snapshot.delta->log_count, memory_order_relaxed),
        .history_changes = history_changes(snapshot.delta),
        .merges          = atomic_load_explicit(&graph->merges, memory_order_relaxed),
        .attributes      = atomic_load_explicit(&graph->attributes.used, memory_order_relaxed),
    };
    lic_snapshot_unpin(&snapshot);
    sizes->graph_bytes = used - sizes->id_bytes;
}
