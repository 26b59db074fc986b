/* An arena: memory that is given back all at once. For one request or one call.
 *
 * Blocks come from a lic_memory and double in size. The first block may be the caller's own (a buffer
 * on the stack), so that small work allocates nothing. One thread at a time. */
#ifndef LIC_BASE_ARENA_H
#define LIC_BASE_ARENA_H

#include "memory.h"

typedef struct lic_arena_block lic_arena_block;

typedef struct lic_arena {
    lic_memory      *memory;
    char            *next; /* first free byte of the current block */
    char            *end;
    lic_arena_block *blocks;     /* newest first; not the caller's buffer */
    size_t           block_size; /* of the next block, bytes */
} lic_arena;

void lic_arena_init(lic_arena *arena, lic_memory *memory);
/* buffer stays the caller's and must outlive the arena. */
void lic_arena_init_with(lic_arena *arena, lic_memory *memory, void *buffer, size_t size);
/* Frees everything; the arena can be used again (without the caller's buffer). May run twice. */
void lic_arena_free(lic_arena *arena);

/* Slow path of lic_arena_alloc. */
void *lic_arena_alloc_block(lic_arena *arena, size_t size);

/* Aligned for any type; contents not set. NULL: out of memory, and nothing else: 0 bytes are room too. */
static inline void *lic_arena_alloc(lic_arena *arena, size_t size)
{
    size_t rounded;

    if (size > SIZE_MAX - 16)
        return NULL;
    rounded = (size + (size == 0) + 15) & ~(size_t)15;
    if (rounded <= (size_t)(arena->end - arena->next)) {
        void *result = arena->next;

        arena->next += rounded;
        return result;
    }
    return lic_arena_alloc_block(arena, rounded);
}

/* Zeroed; count * size is checked. */
void *lic_arena_alloc_array(lic_arena *arena, size_t count, size_t size);

#define lic_new(arena, type) ((type *)lic_arena_alloc_array((arena), 1, sizeof(type)))
#define lic_new_array(arena, count, type) ((type *)lic_arena_alloc_array((arena), (count), sizeof(type)))

/* A copy that lives as long as the arena. data == NULL: out of memory (never for a non-NULL empty text). */
licet_str lic_arena_str(lic_arena *arena, licet_str text);

/* Grows an array inside the arena (the old one is left behind). false: out of memory, nothing changed. */
bool lic_arena_grow(lic_arena *arena, void **items, size_t *capacity, size_t need, size_t item_size);

#endif
