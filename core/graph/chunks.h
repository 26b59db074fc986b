/* An array that grows without moving: four chunks for every doubling, so that at most a fifth of it is
 * unused. One writer reserves; any thread reads what was published to it. Old chunks are never freed while the
 * array lives, so readers need no pin. */
#ifndef LIC_GRAPH_CHUNKS_H
#define LIC_GRAPH_CHUNKS_H

#include "base/memory.h"

#define LIC_NONE UINT32_MAX /* no index */

#define LIC_CHUNKS_FIRST_BITS 6
#define LIC_CHUNKS_COUNT ((32 - LIC_CHUNKS_FIRST_BITS) * 4 + 1)

typedef struct lic_chunks {
    _Atomic(void *) chunks[LIC_CHUNKS_COUNT]; /* NULL: not needed yet */
} lic_chunks;

/* Chunk 0 holds the first 64 items; after that the highest bit and the two below it say which. */
static inline uint32_t lic_chunk_of(uint32_t index, uint32_t *offset)
{
    uint32_t top;

    if (index >> LIC_CHUNKS_FIRST_BITS == 0) {
        *offset = index;
        return 0;
    }
    top     = 31 - (uint32_t)__builtin_clz(index);
    *offset = index & ((UINT32_C(1) << (top - 2)) - 1);
    return (top - LIC_CHUNKS_FIRST_BITS) * 4 + (index >> (top - 2) & 3) + 1;
}

/* The item, which must have been reserved. */
static inline void *lic_chunks_at(const lic_chunks *array, uint32_t index, size_t item_size)
{
    uint32_t offset;
    uint32_t chunk = lic_chunk_of(index, &offset);

    return (char *)atomic_load_explicit(&array->chunks[chunk], memory_order_acquire) + offset * item_size;
}

/* NULL when it was not reserved: for indexes that come from elsewhere. */
static inline void *lic_chunks_find(const lic_chunks *array, uint32_t index, size_t item_size)
{
    uint32_t offset;
    uint32_t chunk = lic_chunk_of(index, &offset);
    char    *items = atomic_load_explicit(&array->chunks[chunk], memory_order_acquire);

    return items == NULL ? NULL : items + offset * item_size;
}

/* Room for the items [from, to), zeroed where it is new. false: out of memory, what was added stays. */
bool lic_chunks_reserve(lic_chunks *array, lic_memory *memory, uint32_t from, uint32_t to, size_t item_size);
/* Bytes that making room for the item would take; 0: there is room. */
size_t lic_chunks_missing(const lic_chunks *array, uint32_t index, size_t item_size);
void   lic_chunks_free(lic_chunks *array, lic_memory *memory, size_t item_size);

#endif
