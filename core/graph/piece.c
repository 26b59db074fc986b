/* Building pieces and looking into them. Building runs twice over the lists: once to count, once to write. */
#include "piece.h"

#include <string.h>

uint32_t lic_piece_probe(const lic_piece *piece, uint32_t from, uint32_t to, uint64_t key, uint64_t hash)
{
    const uint32_t *positions = lic_piece_starts(piece) + piece->lists + 1;
    uint32_t        slot      = (uint32_t)((uint64_t)(uint32_t)hash * piece->hash_capacity >> 32);

    while (positions[slot] != 0) {
        uint32_t position = positions[slot] - 1;

        if (piece->keys[position] == key && position >= from && position < to)
            return position;
        slot = slot + 1 < piece->hash_capacity ? slot + 1 : 0;
    }
    return LIC_NONE;
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

/* A build: where it stands in the old piece's lists and in the changes, and what it has made so far. */
typedef struct builder {
    const lic_piece        *old;
    const lic_piece_change *change;
    const lic_piece_change *change_end;
    lic_piece              *out; /* NULL: only to count */
    uint64_t                edges;
    uint64_t                attributed;
} builder;

static bool node_is_old(const builder *b, uint32_t node)
{
    return b->old != NULL && lic_word_has(b->old->words[node / LIC_WORD_BITS], node);
}

static bool node_changes(const builder *b, uint32_t node)
{
    return b->change < b->change_end && (b->change->node & (LIC_PIECE_NODES - 1)) == node;
}

/* The next key's attribute. */
static void put_attribute(builder *b, uint64_t position, uint32_t attribute)
{
    if (b->out != NULL) {
        lic_piece_word *mark = (lic_piece_word *)lic_piece_marks(b->out) + position / LIC_WORD_BITS;

        mark->bits |= UINT32_C(1) << (position % LIC_WORD_BITS);
        ((uint32_t *)lic_piece_numbers(b->out))[b->attributed] = attribute;
    }
    b->attributed++;
}

/* The attributes of the old keys [from, to), from word to word of their marks. */
static void keep_attributes(builder *b, uint32_t from, uint32_t to)
{
    uint32_t rank = lic_piece_rank(b->old, from);

    for (uint32_t word = from / LIC_WORD_BITS; word <= (to - 1) / LIC_WORD_BITS; word++) {
        uint32_t bits = lic_piece_marks(b->old)[word].bits;

        if (word == from / LIC_WORD_BITS)
            bits &= UINT32_MAX << (from % LIC_WORD_BITS);
        for (; bits != 0; bits &= bits - 1) {
            uint32_t position = word * LIC_WORD_BITS + (uint32_t)__builtin_ctz(bits);

            if (position >= to)
                return;
            put_attribute(b, b->edges + (position - from), lic_piece_numbers(b->old)[rank++]);
        }
    }
}

/* The old keys [from, to). */
static void keep(builder *b, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    if (b->out != NULL)
        memcpy(b->out->keys + b->edges, b->old->keys + from, (to - from) * sizeof *b->old->keys);
    if (b->old->attributed > 0)
        keep_attributes(b, from, to);
    b->edges += to - from;
}

static void put(builder *b, const lic_piece_change *change)
{
    if (change->state == LIC_ABSENT)
        return;
    if (b->out != NULL)
        b->out->keys[b->edges] = change->key;
    if (change->state != LIC_NO_ATTRIBUTE)
        put_attribute(b, b->edges, change->state);
    b->edges++;
}

/* The node's new list; returns its length. Takes the node's changes. */
static uint64_t merge_list(builder *b, uint32_t node)
{
    uint64_t before = b->edges;
    uint32_t from   = 0;
    uint32_t to     = 0;

    if (node_is_old(b, node))
        lic_piece_list(b->old, node, &from, &to);
    while (node_changes(b, node)) {
        const lic_piece_change *change = b->change++;
        uint32_t                next   = from < to ? lic_piece_lower_bound(b->old, from, to, change->key) : from;

        keep(b, from, next);
        from = next < to && b->old->keys[next] == change->key ? next + 1 : next;
        put(b, change);
    }
    keep(b, from, to);
    return b->edges - before;
}

typedef struct piece_counts {
    uint64_t lists;
    uint64_t edges;
    uint64_t long_edges; /* in lists that get a hash */
    uint64_t attributed;
} piece_counts;

static piece_counts count_lists(builder b)
{
    piece_counts counts = { 0 };

    for (uint32_t node = 0; node < LIC_PIECE_NODES; node++) {
        uint64_t length = merge_list(&b, node);

        counts.lists += length > 0;
        counts.long_edges += length > LIC_PIECE_SHORT ? length : 0;
    }
    counts.edges      = b.edges;
    counts.attributed = b.attributed;
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
    uint32_t  lists  = 0;

    b.out = piece;
    for (uint32_t node = 0; node < LIC_PIECE_NODES; node++) {
        lic_piece_word *word  = &piece->words[node / LIC_WORD_BITS];
        uint32_t        start = (uint32_t)b.edges;

        if (node % LIC_WORD_BITS == 0)
            word->rank = lists;
        if (merge_list(&b, node) == 0)
            continue;
        word->bits |= UINT32_C(1) << (node % LIC_WORD_BITS);
        if (starts != NULL)
            starts[lists] = start;
        lists++;
    }
    if (starts != NULL)
        starts[lists] = piece->edges;
}

static void rank_marks(lic_piece *piece)
{
    lic_piece_word *marks = (lic_piece_word *)lic_piece_marks(piece);
    uint32_t        rank  = 0;

    for (uint32_t i = 0; i < lic_piece_mark_words(piece->edges); i++) {
        marks[i].rank = rank;
        rank += lic_bit_count(marks[i].bits);
    }
}

/* Marks and numbers, behind the rest of the piece. */
static bool add_attributes_size(const piece_counts *counts, size_t *size)
{
    size_t marks = lic_piece_mark_words((uint32_t)counts->edges) * sizeof(lic_piece_word);

    if (counts->attributed == 0)
        return true;
    return lic_size_add(*size, marks, size) && lic_size_add(*size, (size_t)counts->attributed * sizeof(uint32_t), size);
}

static bool piece_size(const piece_counts *counts, uint64_t hash_capacity, size_t *size)
{
    uint64_t starts = counts->edges == counts->lists ? 0 : counts->lists + 1;

    /* Positions are one more than an index and must fit 32 bits. */
    if (counts->edges >= UINT32_MAX || hash_capacity >= UINT32_MAX)
        return false;
    return lic_size_mul((size_t)counts->edges, sizeof(uint64_t), size) &&
           lic_size_add(*size, (size_t)(starts + hash_capacity) * sizeof(uint32_t), size) &&
           lic_size_add(*size, sizeof(lic_piece), size) && add_attributes_size(counts, size);
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
    created->attributed    = (uint32_t)counts.attributed;
    write_lists(created, b);
    if (created->attributed > 0)
        rank_marks(created);
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
