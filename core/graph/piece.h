/* A piece of the base: the sorted lists of 4,096 nodes of one slot, in one direction. Immutable, one block, no
 * pointers inside:
 *
 *   words   which nodes have edges, with the rank of each word's first
 *   keys    the far ends of all lists, one after another, each list sorted
 *   starts  of each list, and the end of the last; left out when every list has one key
 *   hash    positions of the keys of long lists, so that membership is one probe (forward only)
 *   marks   which keys have attributes, with the rank of each word's first; left out, like the next, when none has
 *   numbers the attributes, in the order of the keys; at the very end */
#ifndef LIC_GRAPH_PIECE_H
#define LIC_GRAPH_PIECE_H

#include "base/hash.h"
#include "base/memory.h"
#include "graph/attributes.h"

#define LIC_PIECE_BITS 12
#define LIC_PIECE_NODES (1u << LIC_PIECE_BITS)
/* Two lines of keys: looking through them is no slower than a probe of the hash. */
#define LIC_PIECE_SHORT 16u

/* Eight bytes, so that one load brings both. */
typedef struct lic_piece_word {
    uint32_t bits;
    uint32_t rank; /* bits set before this word */
} lic_piece_word;

#define LIC_WORD_BITS 32u

typedef struct lic_piece {
    size_t         size; /* bytes of the block */
    uint32_t       lists;
    uint32_t       edges;
    uint32_t       hash_capacity;
    uint32_t       attributed; /* keys with an attribute */
    lic_piece_word words[LIC_PIECE_NODES / LIC_WORD_BITS];
    uint64_t       keys[];
} lic_piece;

/* Multipliers that nobody outside knows. */
typedef struct lic_edge_seed {
    uint64_t resource;
    uint64_t subject;
} lic_edge_seed;

static inline uint64_t lic_edge_hash(const lic_edge_seed *seed, uint64_t resource_key, uint64_t subject_key)
{
    return lic_hash_u64(resource_key * seed->resource + subject_key * seed->subject);
}

static inline const uint32_t *lic_piece_starts(const lic_piece *piece)
{
    return (const uint32_t *)(piece->keys + piece->edges);
}

/* Bits that are set. Baseline x86-64 has no instruction for it, and the compiler's own way is a call of a function that
 * looks bytes up in a table: 8 % of a check. */
static inline uint32_t lic_bit_count(uint32_t x)
{
    x -= x >> 1 & UINT32_C(0x55555555);
    x = (x & UINT32_C(0x33333333)) + (x >> 2 & UINT32_C(0x33333333));
    x = (x + (x >> 4)) & UINT32_C(0x0f0f0f0f);
    return x * UINT32_C(0x01010101) >> 24;
}

/* Is the word's bit of this place in the piece set? */
static inline bool lic_word_has(lic_piece_word word, uint32_t place)
{
    return word.bits >> (place % LIC_WORD_BITS) & 1;
}

/* Bits set before it in the piece. */
static inline uint32_t lic_word_rank(lic_piece_word word, uint32_t place)
{
    return word.rank + lic_bit_count(word.bits & ((UINT32_C(1) << (place % LIC_WORD_BITS)) - 1));
}

/* The node's keys are keys[*from .. *to). false: none. */
static inline bool lic_piece_list(const lic_piece *piece, uint32_t node, uint32_t *from, uint32_t *to)
{
    const lic_piece_word word = piece->words[(node & (LIC_PIECE_NODES - 1)) / LIC_WORD_BITS];
    uint32_t             list;

    if (!lic_word_has(word, node))
        return false;
    list = lic_word_rank(word, node);
    if (piece->edges == piece->lists) {
        *from = list;
        *to   = list + 1;
    } else {
        *from = lic_piece_starts(piece)[list];
        *to   = lic_piece_starts(piece)[list + 1];
    }
    return true;
}

static inline uint32_t lic_piece_mark_words(uint32_t edges)
{
    return edges / LIC_WORD_BITS + (edges % LIC_WORD_BITS != 0);
}

/* As many as are attributed. */
static inline const uint32_t *lic_piece_numbers(const lic_piece *piece)
{
    return (const uint32_t *)((const char *)piece + piece->size) - piece->attributed;
}

/* Of pieces with attributes. */
static inline const lic_piece_word *lic_piece_marks(const lic_piece *piece)
{
    return (const lic_piece_word *)(const void *)lic_piece_numbers(piece) - lic_piece_mark_words(piece->edges);
}

/* Attributed keys before the position, which is one of a key. Of pieces with attributes. */
static inline uint32_t lic_piece_rank(const lic_piece *piece, uint32_t position)
{
    return lic_word_rank(lic_piece_marks(piece)[position / LIC_WORD_BITS], position);
}

/* The attribute of the key at the position. */
static inline uint32_t lic_piece_attribute(const lic_piece *piece, uint32_t position)
{
    if (piece->attributed == 0 || !lic_word_has(lic_piece_marks(piece)[position / LIC_WORD_BITS], position))
        return LIC_NO_ATTRIBUTE;
    return lic_piece_numbers(piece)[lic_piece_rank(piece, position)];
}

/* Has any of the keys in [from, to) an attribute? There is at least one. */
static inline bool lic_piece_any_attribute(const lic_piece *piece, uint32_t from, uint32_t to)
{
    return piece->attributed > 0 && (lic_piece_rank(piece, from) != lic_piece_rank(piece, to - 1) ||
                                     lic_piece_attribute(piece, to - 1) != LIC_NO_ATTRIBUTE);
}

/* The position of the key in keys[from, to), which are of a long list; LIC_NONE: it is not there. */
uint32_t lic_piece_probe(const lic_piece *piece, uint32_t from, uint32_t to, uint64_t key, uint64_t hash);

/* The same in any list, which is that of the origin. For pieces built with the seed. */
static inline uint32_t lic_piece_position(const lic_piece *piece, uint32_t from, uint32_t to, uint64_t origin,
                                          uint64_t key, const lic_edge_seed *seed)
{
    if (to - from > LIC_PIECE_SHORT)
        return lic_piece_probe(piece, from, to, key, lic_edge_hash(seed, origin, key));
    while (from < to && piece->keys[from] < key)
        from++;
    return from < to && piece->keys[from] == key ? from : LIC_NONE;
}

/* The state of the edge in its piece; NULL: it has none. */
static inline lic_edge_state lic_piece_state(const lic_piece *piece, uint64_t origin, uint64_t key,
                                             const lic_edge_seed *seed)
{
    uint32_t from;
    uint32_t to;
    uint32_t position;

    if (piece == NULL || !lic_piece_list(piece, (uint32_t)origin, &from, &to))
        return LIC_ABSENT;
    position = lic_piece_position(piece, from, to, origin, key, seed);
    return position == LIC_NONE ? LIC_ABSENT : lic_piece_attribute(piece, position);
}

/* The first position in keys[from, to) whose key is at least `key`; to: none. */
uint32_t lic_piece_lower_bound(const lic_piece *piece, uint32_t from, uint32_t to, uint64_t key);

/* A key that a list shall have, and with which attribute, or shall not. */
typedef struct lic_piece_change {
    uint32_t       node;
    lic_edge_state state;
    uint64_t       key;
} lic_piece_change;

/* By node, then key. Without recursion or memory. */
void lic_piece_sort(lic_piece_change *changes, size_t count);

typedef struct lic_piece_place {
    lic_slot             slot;
    uint32_t             first_node;
    const lic_edge_seed *seed; /* NULL: no hash */
} lic_piece_place;

/* A piece like `old` (NULL: nothing), with the changes, which are sorted, made: a key already as it shall be
 * is fine. *piece is NULL when nothing is left. Attributes are numbers here; who holds them is the caller's business.
 * false: out of memory. */
bool lic_piece_build(lic_memory *memory, const lic_piece_place *place, const lic_piece *old,
                     const lic_piece_change *changes, size_t count, lic_piece **piece);
void lic_piece_free(lic_memory *memory, lic_piece *piece); /* NULL is fine */

#endif
