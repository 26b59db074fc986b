/* Scans: range by range, the base's edges merged with those that past and delta know, which are sorted first. For each
 * range the piece is loaded before the records, as in a walk; a record of a later revision says the same as the
 * piece. */
#include "state.h"

struct lic_scan {
    const lic_snapshot *snapshot;
    lic_arena          *arena;
    lic_slot            slot;
    uint32_t            range; /* the next one */
    uint32_t            range_count;
    uint32_t            after_node; /* where to start; nothing before it comes */
    uint64_t            after_key;
    const lic_piece    *piece;
    uint32_t            node; /* in the piece, whose keys are those in [next, end) */
    uint32_t            next;
    uint32_t            end;
    lic_piece_change   *known; /* what past and delta know in this range, sorted */
    size_t              capacity;
    size_t              known_next;
    size_t              known_count;
    uint32_t            attribute; /* of the edge that came last */
};

static bool is_before(uint32_t node, uint64_t key, uint32_t other_node, uint64_t other_key)
{
    return node != other_node ? node < other_node : key < other_key;
}

static bool add_known(lic_scan *scan, const lic_delta *delta, const lic_record *record)
{
    lic_piece_change change = {
        .node  = (uint32_t)record->ends[LIC_FORWARD],
        .key   = record->ends[LIC_REVERSE],
        .state = lic_delta_state(delta, record, scan->snapshot->revision),
    };

    if (is_before(change.node, change.key, scan->after_node, scan->after_key))
        return true;
    if (!lic_arena_grow(scan->arena, (void **)&scan->known, &scan->capacity, scan->known_count + 1,
                        sizeof *scan->known))
        return false;
    scan->known[scan->known_count++] = change;
    return true;
}

/* What the delta knows in the range and `older` (NULL: none) doesn't. */
static bool add_range(lic_scan *scan, const lic_delta *delta, const lic_delta *older, uint32_t range)
{
    uint32_t found = lic_delta_find_range(delta, LIC_FORWARD, scan->slot, range);
    uint32_t at    = LIC_NONE;

    if (found != LIC_NONE)
        at = atomic_load_explicit(&lic_delta_range(delta, found)->records, memory_order_acquire);
    for (; at != LIC_NONE; at = lic_delta_record(delta, at)->next_in_range[LIC_FORWARD]) {
        const lic_record *record = lic_delta_record(delta, at);

        if (older != NULL && lic_delta_knows(older, record->ends[LIC_FORWARD], record->ends[LIC_REVERSE]))
            continue;
        if (!add_known(scan, delta, record))
            return false;
    }
    return true;
}

static bool collect_known(lic_scan *scan, uint32_t range)
{
    const lic_snapshot *snapshot = scan->snapshot;

    scan->known_next  = 0;
    scan->known_count = 0;
    if ((snapshot->past != NULL && !add_range(scan, snapshot->past, NULL, range)) ||
        !add_range(scan, snapshot->delta, snapshot->past, range))
        return false;
    lic_piece_sort(scan->known, scan->known_count);
    return true;
}

/* The keys of the node, without those before the start. */
static void enter_node(lic_scan *scan, uint32_t node)
{
    scan->node = node;
    scan->next = 0;
    scan->end  = 0;
    if (lic_piece_list(scan->piece, node, &scan->next, &scan->end) && node == scan->after_node)
        scan->next = lic_piece_lower_bound(scan->piece, scan->next, scan->end, scan->after_key);
}

static bool enter_range(lic_scan *scan)
{
    uint32_t range = scan->range++;
    uint32_t first = range << LIC_PIECE_BITS;

    scan->piece = lic_base_piece(scan->snapshot->base, LIC_FORWARD, scan->slot, range);
    scan->node  = first;
    scan->next  = 0;
    scan->end   = 0;
    if (scan->piece != NULL)
        enter_node(scan, first < scan->after_node ? scan->after_node : first);
    return collect_known(scan, range);
}

/* Is there a next edge of the base in this range? It is keys[next] of node. */
static bool base_has_next(lic_scan *scan)
{
    if (scan->piece == NULL)
        return false;
    while (scan->next == scan->end && (scan->node & (LIC_PIECE_NODES - 1)) != LIC_PIECE_NODES - 1)
        enter_node(scan, scan->node + 1);
    return scan->next < scan->end;
}

/* The next edge of this range. Where the base has one that is known otherwise, that decides. */
static bool next_in_range(lic_scan *scan, uint32_t *node, uint64_t *key)
{
    for (;;) {
        bool                    based  = base_has_next(scan);
        bool                    known  = scan->known_next < scan->known_count;
        const lic_piece_change *change = known ? &scan->known[scan->known_next] : NULL;

        if (!based && !known)
            return false;
        if (!known || (based && is_before(scan->node, scan->piece->keys[scan->next], change->node, change->key))) {
            *node           = scan->node;
            *key            = scan->piece->keys[scan->next];
            scan->attribute = lic_piece_attribute(scan->piece, scan->next++);
            return true;
        }
        if (based && scan->node == change->node && scan->piece->keys[scan->next] == change->key)
            scan->next++;
        scan->known_next++;
        if (change->state != LIC_ABSENT) {
            *node           = change->node;
            *key            = change->key;
            scan->attribute = change->state;
            return true;
        }
    }
}

static uint32_t range_count(const lic_graph *graph, lic_slot slot)
{
    const lic_slot_state *state = lic_chunks_find(&graph->slots, slot, sizeof *state);

    return state == NULL ? 0 : atomic_load_explicit(&state->ranges, memory_order_acquire);
}

lic_scan *lic_snapshot_scan(const lic_snapshot *snapshot, lic_arena *arena, lic_slot resource_slot,
                            const lic_edge *after)
{
    lic_scan *scan = lic_new(arena, lic_scan);

    if (scan == NULL)
        return NULL;
    scan->snapshot    = snapshot;
    scan->arena       = arena;
    scan->slot        = resource_slot;
    scan->range_count = range_count(snapshot->graph, resource_slot);
    if (after != NULL) {
        uint64_t key = lic_ref_key(after->subject);

        scan->after_node = after->resource.node + (key == UINT64_MAX);
        scan->after_key  = key + 1;
        scan->range      = scan->after_node >> LIC_PIECE_BITS;
        if (scan->after_node < after->resource.node)
            scan->range = scan->range_count; /* after the last edge that could be */
    }
    return scan;
}

bool lic_scan_next(lic_scan *scan, lic_edge *edge, bool *found)
{
    uint32_t node;
    uint64_t key;

    *found = false;
    while (!next_in_range(scan, &node, &key)) {
        if (scan->range >= scan->range_count)
            return true;
        if (!enter_range(scan))
            return false;
    }
    *edge  = (lic_edge){ .resource = { scan->slot, node }, .subject = { (lic_slot)(key >> 32), (uint32_t)key } };
    *found = true;
    return true;
}

uint32_t lic_scan_attribute(const lic_scan *scan)
{
    return scan->attribute;
}
