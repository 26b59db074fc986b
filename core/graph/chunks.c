/* The writer's half of the array that grows without moving. */
#include "chunks.h"

static size_t chunk_items(uint32_t chunk)
{
    return chunk == 0 ? (size_t)1 << LIC_CHUNKS_FIRST_BITS : (size_t)1 << ((chunk - 1) / 4 + LIC_CHUNKS_FIRST_BITS - 2);
}

bool lic_chunks_reserve(lic_chunks *array, lic_memory *memory, uint32_t from, uint32_t to, size_t item_size)
{
    uint32_t offset;
    uint32_t last;

    if (from >= to)
        return true;
    last = lic_chunk_of(to - 1, &offset);
    for (uint32_t i = lic_chunk_of(from, &offset); i <= last; i++) {
        void *items;

        if (atomic_load_explicit(&array->chunks[i], memory_order_relaxed) != NULL)
            continue;
        items = lic_alloc_array(memory, chunk_items(i), item_size);
        if (items == NULL)
            return false;
        atomic_store_explicit(&array->chunks[i], items, memory_order_release);
    }
    return true;
}

size_t lic_chunks_missing(const lic_chunks *array, uint32_t index, size_t item_size)
{
    uint32_t offset;
    uint32_t chunk = lic_chunk_of(index, &offset);

    return atomic_load_explicit(&array->chunks[chunk], memory_order_relaxed) == NULL ? chunk_items(chunk) * item_size
                                                                                     : 0;
}

void lic_chunks_free(lic_chunks *array, lic_memory *memory, size_t item_size)
{
    for (uint32_t i = 0; i < LIC_CHUNKS_COUNT; i++)
        lic_free(memory, atomic_load_explicit(&array->chunks[i], memory_order_relaxed), chunk_items(i) * item_size);
}
