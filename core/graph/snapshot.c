/* Pinning, and the membership of an edge. */
#include "state.h"

#include "base/clock.h"

/* The slots are the readers' own; nothing else of a graph changes by reading it. */
static lic_epochs *epochs_of(const lic_graph *graph)
{
    return (lic_epochs *)&graph->epochs;
}

/* The head comes from the delta that was loaded, not from the graph: should another delta follow in between, this
 * one is still whole up to its own last revision. */
void lic_snapshot_pin(const lic_graph *graph, lic_snapshot *snapshot)
{
    snapshot->graph    = graph;
    snapshot->reader   = lic_epoch_enter(epochs_of(graph));
    snapshot->delta    = atomic_load(&graph->delta);
    snapshot->past     = NULL;
    snapshot->base     = snapshot->delta->base;
    snapshot->revision = atomic_load(&snapshot->delta->head);
    snapshot->owner    = NULL;
}

/* Asks the past too where the revision is older than the base's, and nothing where it is older than what the graph was
 * filled with. false: it was given up just now. */
static bool look_back(lic_snapshot *snapshot)
{
    if (snapshot->revision >= snapshot->delta->settled)
        return true;
    if (snapshot->revision < snapshot->delta->filled) {
        snapshot->delta = &lic_delta_nothing;
        snapshot->base  = &lic_base_nothing;
        return true;
    }
    snapshot->past = atomic_load(&snapshot->delta->past);
    return snapshot->past != NULL;
}

lic_pin lic_snapshot_pin_at(const lic_graph *graph, uint64_t revision, lic_snapshot *snapshot)
{
    uint64_t oldest;
    uint64_t head;

    lic_snapshot_pin(graph, snapshot);
    head   = snapshot->revision;
    oldest = atomic_load(&snapshot->delta->horizon);
    if (revision < head && revision >= oldest)
        oldest = lic_history_oldest(&graph->history, lic_monotonic_ms());
    snapshot->revision = revision;
    if (revision == head || (revision < head && revision >= oldest && look_back(snapshot)))
        return LIC_PIN_OK;
    lic_snapshot_unpin(snapshot);
    return revision > head ? LIC_PIN_FUTURE : LIC_PIN_EXPIRED;
}

void lic_snapshot_unpin(lic_snapshot *snapshot)
{
    lic_epoch_leave(epochs_of(snapshot->graph), snapshot->reader);
}

void lic_graph_await_readers(lic_graph *graph)
{
    while (!lic_epoch_passed(&graph->epochs, UINT64_MAX - 1))
        lic_sleep_us(50);
}

/* Where deltas must be asked. Apart because that is seldom: readers of the head of a graph at rest find all in the
 * base. */
static __attribute__((noinline)) lic_edge_state state_by_deltas(const lic_snapshot *snapshot, const lic_piece *piece,
                                                                uint64_t source, uint64_t target)
{
    const lic_edge_seed *seed   = &snapshot->graph->seed;
    uint64_t             hash   = lic_edge_hash(seed, source, target);
    const lic_delta     *delta  = snapshot->past;
    uint32_t             record = delta == NULL ? LIC_NONE : lic_delta_find(delta, source, target, hash);

    if (record == LIC_NONE) {
        delta  = snapshot->delta;
        record = lic_delta_find(delta, source, target, hash);
    }
    if (record != LIC_NONE)
        return lic_delta_state(delta, lic_delta_record(delta, record), snapshot->revision);
    return lic_piece_state(piece, source, target, seed);
}

/* The piece is loaded before the delta is asked: a piece that a later revision changed is in place only when the
 * delta has a record of the change. */
static inline lic_edge_state state_of(const lic_snapshot *snapshot, lic_ref resource, lic_ref subject)
{
    uint64_t         source = lic_ref_key(resource);
    uint64_t         target = lic_ref_key(subject);
    const lic_piece *piece =
        lic_base_piece(snapshot->base, LIC_FORWARD, resource.slot, resource.node >> LIC_PIECE_BITS);

    if (snapshot->past != NULL || lic_delta_may_touch(snapshot->delta, LIC_FORWARD, source))
        return state_by_deltas(snapshot, piece, source, target);
    return lic_piece_state(piece, source, target, &snapshot->graph->seed);
}

bool lic_snapshot_has(const lic_snapshot *snapshot, lic_ref resource, lic_ref subject)
{
    return state_of(snapshot, resource, subject) != LIC_ABSENT;
}

bool lic_snapshot_find(const lic_snapshot *snapshot, lic_ref resource, lic_ref subject, uint32_t *attribute)
{
    lic_edge_state state = state_of(snapshot, resource, subject);

    *attribute = state == LIC_ABSENT ? LIC_NO_ATTRIBUTE : state;
    return state != LIC_ABSENT;
}

uint32_t lic_snapshot_find_node(const lic_snapshot *snapshot, lic_type type, lic_str id)
{
    return lic_nodes_find(&snapshot->graph->nodes, type, id);
}

uint32_t lic_graph_find_node(const lic_graph *graph, lic_type type, lic_str id)
{
    uint32_t reader = lic_epoch_enter(epochs_of(graph));
    uint32_t node   = lic_nodes_find(&graph->nodes, type, id);

    lic_epoch_leave(epochs_of(graph), reader);
    return node;
}

lic_str lic_graph_node_id(const lic_graph *graph, lic_type type, uint32_t node)
{
    return lic_nodes_id(&graph->nodes, type, node);
}
