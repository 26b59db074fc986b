/* Building pieces and looking into them. Building runs twice over the lists: once to count, once to write. */
#include "piece.h"

#include <string.h>

bool lic_piece_has(const lic_piece *piece, uint32_t node, uint64_t key, uint64_t hash)
{
    const uint32_t *positions;
    uint32_t        from;
    uint32_t        to;
    uint32_t        slot;

    if (!lic_piece_list(piece, node, &from, &to))
        return false;
    if (to - from <= LIC_PIECE_SHORT) {
        while (from < to && piece->keys[from] < key)
            from++;
        return from < to && piece->keys[from] == key;
    }
    positions = lic_piece_starts(piece) + piece->lists + 1;
    slot      = (uint32_t)((uint64_t)(uint32_t)hash * piece->hash_capacity >> 32);
    while (positions[slot] != 0) {
        uint32_t position = positions[slot] - 1;

        if (piece->keys[position] == key && position >= from && position < to)
            return true;
        slot = slot + 1 < piece->hash_capacity ? slot + 1 : 0;
    }
    return false;
}

uint32_t lic_piece_lower_bound(const lic_piece *piece, uint32_t from, uint32_t to, uint64_t key)
{
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;

        if (piece->keys[middle] < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool change_before(const lic_piece_change *a, const lic_piece_change *b)
{
    return a->node != b->node ? a->node < b->node : a->key < b->key;
}

/* Heapsort: lets changes[root] sink to its place in the heap of `count`. */
static void sink(lic_piece_change *changes, size_t root, size_t count)
{
    lic_piece_change moving = changes[root];
    size_t           child;

    while ((child = 2 * root + 1) < count) {
        if (child + 1 < count && change_before(&changes[child], &changes[child + 1]))
            child++;
        if (!change_before(&moving, &changes[child]))
            break;
        changes[root] = changes[child];
        root          = child;
    }
    changes[root] = moving;
}

void lic_piece_sort(lic_piece_change *changes, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(changes, i, count);
    for (size_t end = count; end-- > 1;) {
        lic_piece_change last = changes[end];

        changes[end] = changes[0];
        changes[0]   = last;
        sink(changes, 0, end);
    }
}

/* What a build reads: where it stands in the old lists' nodes and in the changes. */
typedef struct builder {
    const lic_piece        *old;
    const lic_piece_change *change;
    const lic_piece_change *change_end;
} builder;

static bool node_is_old(const builder *b, uint32_t node)
{
    return b->old != NULL && (b->old->words[node / 64].bits >> (node % 64) & 1) != 0;
}

static bool node_changes(const builder *b, uint32_t node)
{
    return b->change < b->change_end && (b->change->node & (LIC_PIECE_NODES - 1)) == node;
}

/* The node's new list; out == NULL: only its length. Takes the node's changes. */
static uint64_t merge_list(builder *b, uint32_t node, uint64_t *out)
{
    uint32_t from  = 0;
    uint32_t to    = 0;
    uint64_t count = 0;

    if (node_is_old(b, node))
        lic_piece_list(b->old, node, &from, &to);
    while (node_changes(b, node)) {
        const lic_piece_change *change = b->change++;
        uint32_t                next   = from < to ? lic_piece_lower_bound(b->old, from, to, change->key) : from;

        if (out != NULL && next > from)
            memcpy(out + count, b->old->keys + from, (next - from) * sizeof *out);
        count += next - from;
        from = next < to && b->old->keys[next] == change->key ? next + 1 : next;
        if (change->present && out != NULL)
            out[count] = change->key;
        count += change->present;
    }
    if (out != NULL && to > from)
        memcpy(out + count, b->old->keys + from, (to - from) * sizeof *out);
    return count + (to - from);
}

typedef struct piece_counts {
    uint64_t lists;
    uint64_t edges;
    uint64_t long_edges; /* in lists that get a hash */
} piece_counts;

static piece_counts count_lists(builder b)
{
    piece_counts counts = { 0, 0, 0 };

    for (uint32_t node = 0; node < LIC_PIECE_NODES; node++) {
        uint64_t length = merge_list(&b, node, NULL);

        counts.lists += length > 0;
        counts.edges += length;
        counts.long_edges += length > LIC_PIECE_SHORT ? length : 0;
    }
    return counts;
}

static void add_position(lic_piece *piece, uint32_t *positions, uint64_t hash, uint32_t position)
{
    uint32_t slot = (uint32_t)((uint64_t)(uint32_t)hash * piece->hash_capacity >> 32);

    while (positions[slot] != 0)
        slot = slot + 1 < piece->hash_capacity ? slot + 1 : 0;
    positions[slot] = position + 1;
}

static void hash_lists(lic_piece *piece, const lic_piece_place *place)
{
    uint32_t *positions = (uint32_t *)(piece->keys + piece->edges) + piece->lists + 1;
    uint32_t  from;
    uint32_t  to;

    for (uint32_t node = 0; node < LIC_PIECE_NODES; node++) {
        uint64_t origin = lic_ref_key((lic_ref){ place->slot, place->first_node + node });

        if (!lic_piece_list(piece, node, &from, &to) || to - from <= LIC_PIECE_SHORT)
            continue;
        for (uint32_t i = from; i < to; i++)
            add_position(piece, positions, lic_edge_hash(place->seed, origin, piece->keys[i]), i);
    }
}

static void write_lists(lic_piece *piece, builder b)
{
    uint32_t *starts = piece->edges == piece->lists ? NULL : (uint32_t *)(piece->keys + piece->edges);
    uint32_t  edges  = 0;
    uint32_t  lists  = 0;

    for (uint32_t node = 0; node < LIC_PIECE_NODES; node++) {
        lic_piece_word *word   = &piece->words[node / 64];
        uint32_t        length = (uint32_t)merge_list(&b, node, piece->keys + edges);

        if (node % 64 == 0)
            word->rank = lists;
        if (length == 0)
            continue;
        word->bits |= UINT64_C(1) << (node % 64);
        if (starts != NULL)
            starts[lists] = edges;
        lists++;
        edges += length;
    }
    if (starts != NULL)
        starts[lists] = edges;
}

static bool piece_size(const piece_counts *counts, uint64_t hash_capacity, size_t *size)
{
    uint64_t starts = counts->edges == counts->lists ? 0 : counts->lists + 1;

    /* Positions are one more than an index and must fit 32 bits. */
    if (counts->edges >= UINT32_MAX || hash_capacity >= UINT32_MAX)
        return false;
    return lic_size_mul((size_t)counts->edges, sizeof(uint64_t), size) &&
           lic_size_add(*size, (size_t)(starts + hash_capacity) * sizeof(uint32_t), size) &&
           lic_size_add(*size, sizeof(lic_piece), size);
}

bool lic_piece_build(lic_memory *memory, const lic_piece_place *place, const lic_piece *old,
                     const lic_piece_change *changes, size_t count, lic_piece **piece)
{
    builder      b       = { .old = old, .change = changes, .change_end = changes + count };
    piece_counts counts  = count_lists(b);
    uint64_t     hashed  = place->seed == NULL || counts.long_edges == 0 ? 0 : counts.long_edges * 3 / 2 + 1;
    size_t       size    = 0;
    lic_piece   *created = NULL;

    *piece = NULL;
    if (counts.edges == 0)
        return true;
    if (!piece_size(&counts, hashed, &size) || (created = lic_alloc_zero(memory, size)) == NULL)
        return false;
    created->size          = size;
    created->lists         = (uint32_t)counts.lists;
    created->edges         = (uint32_t)counts.edges;
    created->hash_capacity = (uint32_t)hashed;
    write_lists(created, b);
    if (hashed > 0)
        hash_lists(created, place);
    *piece = created;
    return true;
}

void lic_piece_free(lic_memory *memory, lic_piece *piece)
{
    if (piece != NULL)
        lic_free(memory, piece, piece->size);
}
