/* The base: for each direction and slot its pieces, by range of nodes.
 *
 * Pieces are replaced one at a time by the one merge that may run; so are the two levels of arrays above
 * them when they grow. Readers are pinned and follow pointers. */
#ifndef LIC_GRAPH_BASE_H
#define LIC_GRAPH_BASE_H

#include "graph/epoch.h"
#include "graph/piece.h"

typedef enum lic_direction {
    LIC_FORWARD, /* resource -> subjects */
    LIC_REVERSE  /* subject -> resources */
} lic_direction;

typedef struct lic_ranges {
    uint32_t             count;
    _Atomic(lic_piece *) pieces[]; /* of nodes [i * LIC_PIECE_NODES, ...); NULL: no edges */
} lic_ranges;

typedef struct lic_directory {
    uint32_t              count;
    _Atomic(lic_ranges *) slots[];
} lic_directory;

typedef struct lic_base {
    _Atomic(lic_directory *) directions[2];
    lic_attributes          *attributes; /* held by the pieces that name them */
} lic_base;

/* What has no edges. */
extern const lic_base lic_base_nothing;

/* The piece that the node is in. NULL: it has no edges. */
static inline const lic_piece *lic_base_piece(const lic_base *base, lic_direction direction, lic_slot slot,
                                              uint32_t range)
{
    const lic_directory *directory = atomic_load(&base->directions[direction]);
    const lic_ranges    *ranges;

    if (directory == NULL || slot >= directory->count)
        return NULL;
    ranges = atomic_load(&directory->slots[slot]);
    return ranges == NULL || range >= ranges->count ? NULL : atomic_load(&ranges->pieces[range]);
}

/* Puts a new piece, made from the old one and the sorted changes, in the old one's place. The merge's.
 * false: out of memory, nothing changed. */
bool lic_base_change(lic_base *base, lic_epochs *epochs, lic_direction direction, uint32_t range,
                     const lic_piece_place *place, const lic_piece_change *changes, size_t count);
/* Bytes of the largest piece. The merge's. */
size_t lic_base_largest_piece(const lic_base *base);

/* NULL: out of memory. The attributes, whose memory it takes, must outlive it. */
lic_base *lic_base_new(lic_attributes *attributes);
void      lic_base_free(lic_base *base); /* NULL is fine */

#endif
