/* Blocks of doubling size, newest first, each used from its start. Nothing is given back singly. */
#include "arena.h"

#include <string.h>

#define ARENA_FIRST_BLOCK ((size_t)4096)
/* Past this a block stops doubling: the unused half of the last one would count against memory_limit. */
#define ARENA_LARGEST_BLOCK ((size_t)1 << 20)

struct lic_arena_block {
    /* Aligned, so that what follows the header is too. */
    _Alignas(16) lic_arena_block *older;
    size_t size; /* bytes, with this header */
};

void lic_arena_init(lic_arena *arena, lic_memory *memory)
{
    *arena = (lic_arena){ .memory = memory, .block_size = ARENA_FIRST_BLOCK };
}

void lic_arena_init_with(lic_arena *arena, lic_memory *memory, void *buffer, size_t size)
{
    size_t padding = (size_t)(-(uintptr_t)buffer & 15);

    lic_arena_init(arena, memory);
    if (buffer == NULL || size < padding)
        return;
    arena->next = (char *)buffer + padding;
    arena->end  = (char *)buffer + size;
}

void lic_arena_free(lic_arena *arena)
{
    lic_arena_block *block = arena->blocks;

    while (block != NULL) {
        lic_arena_block *older = block->older;

        lic_free(arena->memory, block, block->size);
        block = older;
    }
    lic_arena_init(arena, arena->memory);
}

void *lic_arena_alloc_block(lic_arena *arena, size_t size)
{
    lic_arena_block *block;
    size_t           block_size;
    char            *start;

    if (!lic_size_add(size, sizeof(lic_arena_block), &block_size))
        return NULL;
    if (block_size < arena->block_size)
        block_size = arena->block_size;
    block = lic_alloc(arena->memory, block_size);
    if (block == NULL)
        return NULL;
    *block        = (lic_arena_block){ .older = arena->blocks, .size = block_size };
    arena->blocks = block;
    if (arena->block_size < ARENA_LARGEST_BLOCK)
        arena->block_size *= 2;

    /* Go on in the block with more room left: a large object must not cost the rest of a fresh block. */
    start = (char *)(block + 1);
    if (block_size - sizeof(lic_arena_block) - size >= (size_t)(arena->end - arena->next)) {
        arena->next = start + size;
        arena->end  = (char *)block + block_size;
    }
    return start;
}

void *lic_arena_alloc_array(lic_arena *arena, size_t count, size_t size)
{
    size_t total;
    void  *result;

    if (!lic_size_mul(count, size, &total))
        return NULL;
    result = lic_arena_alloc(arena, total);
    return result == NULL ? NULL : memset(result, 0, total);
}

licet_str lic_arena_str(lic_arena *arena, licet_str text)
{
    char *copy;

    if (text.data == NULL)
        return text;
    copy = lic_arena_alloc(arena, text.size);
    if (copy == NULL)
        return (licet_str){ NULL, 0 };
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    return (licet_str){ copy, text.size };
}

bool lic_arena_grow(lic_arena *arena, void **items, size_t *capacity, size_t need, size_t item_size)
{
    size_t wanted;
    size_t size;
    void  *grown;

    if (need <= *capacity)
        return true;
    if (!lic_grown_size(*capacity, need, item_size, &wanted, &size))
        return false;
    grown = lic_arena_alloc(arena, size);
    if (grown == NULL)
        return false;
    if (*capacity > 0)
        memcpy(grown, *items, *capacity * item_size);
    *items    = grown;
    *capacity = wanted;
    return true;
}
