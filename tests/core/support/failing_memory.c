#include "failing_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define RING_SIZE 64

/* In front of each block. Aligned, so that the block is too. */
typedef struct block_header {
    _Alignas(16) size_t size;
    size_t check; /* ~size while the block is alive */
} block_header;

/* Nobody is inside malloc when a test forks. The C library sees to that by itself, the sanitizers' allocators do not:
 * every twentieth child of a parent with other threads would wait for ever for a lock that one of them held. */
static pthread_mutex_t malloc_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_malloc(void)
{
    pthread_mutex_lock(&malloc_lock);
}

static void unlock_malloc(void)
{
    pthread_mutex_unlock(&malloc_lock);
}

/* Before anybody else: handlers that were registered later run earlier, so licet's own locks are taken before. */
__attribute__((constructor)) static void hold_malloc_around_forks(void)
{
    if (pthread_atfork(lock_malloc, unlock_malloc, unlock_malloc) != 0)
        abort();
}

static void *locked_resize(void *block, size_t size)
{
    void *resized;

    lock_malloc();
    resized = realloc(block, size); /* NULL: malloc */
    unlock_malloc();
    return resized;
}

static void locked_free(void *block)
{
    lock_malloc();
    free(block);
    unlock_malloc();
}

/* Not cmocka's fail(): this may run on any thread and below licet's locks. */
static void check_block(const block_header *header, size_t size)
{
    if (header->check == ~header->size && header->size == size)
        return;
    fprintf(stderr, "failing_memory: a block of %zu bytes was given back as %zu bytes\n", header->size, size);
    abort();
}

static bool must_fail(failing_memory_counts *counts)
{
    size_t call = atomic_fetch_add(&counts->calls, 1);

    if (call < counts->fail_first || call >= counts->fail_end)
        return false;
    atomic_fetch_add(&counts->failures, 1);
    return true;
}

static void *failing_alloc(void *context, size_t size)
{
    failing_memory_counts *counts = context;
    block_header          *header;

    if (must_fail(counts) || size > SIZE_MAX - sizeof *header)
        return NULL;
    header = locked_resize(NULL, sizeof *header + size);
    if (header == NULL)
        return NULL;
    *header = (block_header){ .size = size, .check = ~size };
    atomic_fetch_add(&counts->live_blocks, 1);
    atomic_fetch_add(&counts->live_bytes, size);
    return header + 1;
}

static void *failing_resize(void *context, void *pointer, size_t old_size, size_t new_size)
{
    failing_memory_counts *counts = context;
    block_header          *header = (block_header *)pointer - 1;
    block_header          *moved;

    check_block(header, old_size);
    if (must_fail(counts) || new_size > SIZE_MAX - sizeof *header)
        return NULL;
    moved = locked_resize(header, sizeof *header + new_size);
    if (moved == NULL)
        return NULL;
    *moved = (block_header){ .size = new_size, .check = ~new_size };
    atomic_fetch_add(&counts->live_bytes, new_size - old_size); /* wraps when it shrinks, and comes out right */
    return moved + 1;
}

static void failing_free(void *context, void *pointer, size_t size)
{
    failing_memory_counts *counts = context;
    block_header          *header = (block_header *)pointer - 1;

    check_block(header, size);
    header->check = 0;
    locked_free(header);
    atomic_fetch_sub(&counts->live_blocks, 1);
    atomic_fetch_sub(&counts->live_bytes, size);
}

static failing_memory fail_between(size_t first, size_t end)
{
    static failing_memory_counts ring[RING_SIZE];
    static atomic_size_t         made;
    failing_memory_counts       *counts = &ring[atomic_fetch_add(&made, 1) % RING_SIZE];
    failing_memory               memory = { .counts = counts, .options = LICET_OPTIONS_INIT };

    atomic_store(&counts->calls, 0);
    atomic_store(&counts->failures, 0);
    atomic_store(&counts->live_blocks, 0);
    atomic_store(&counts->live_bytes, 0);
    counts->fail_first       = first;
    counts->fail_end         = end;
    memory.allocator         = (licet_allocator){ failing_alloc, failing_resize, failing_free, counts };
    memory.options.allocator = memory.allocator;
    return memory;
}

failing_memory fail_after(size_t n)
{
    return fail_between(n, n + 1);
}

failing_memory fail_from(size_t n)
{
    return fail_between(n, SIZE_MAX);
}

failing_memory fail_never(void)
{
    return fail_between(SIZE_MAX, SIZE_MAX);
}

void fail_next(const failing_memory *memory, size_t n)
{
    memory->counts->fail_first = memory->counts->calls + n;
    memory->counts->fail_end   = memory->counts->fail_first + 1;
}
