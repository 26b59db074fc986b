#include "measured_memory.h"

#include <stdlib.h>

static void grew(measured_memory *memory, size_t bytes)
{
    size_t live = atomic_fetch_add(&memory->live_bytes, bytes) + bytes;
    size_t peak = atomic_load(&memory->peak_bytes);

    while (live > peak && !atomic_compare_exchange_weak(&memory->peak_bytes, &peak, live))
        continue;
}

static void *measured_alloc(void *context, size_t size)
{
    void *pointer = malloc(size);

    if (pointer != NULL)
        grew(context, size);
    return pointer;
}

static void *measured_resize(void *context, void *pointer, size_t old_size, size_t new_size)
{
    measured_memory *memory  = context;
    void            *resized = realloc(pointer, new_size);

    if (resized != NULL) {
        grew(memory, new_size); /* both may be there while one is copied to the other */
        atomic_fetch_sub(&memory->live_bytes, old_size);
    }
    return resized;
}

static void measured_free(void *context, void *pointer, size_t size)
{
    measured_memory *memory = context;

    if (pointer != NULL)
        atomic_fetch_sub(&memory->live_bytes, size);
    free(pointer);
}

licet_options measured_options(measured_memory *memory)
{
    licet_options options = LICET_OPTIONS_INIT;

    *memory           = (measured_memory){ 0, 0 };
    options.allocator = (licet_allocator){ measured_alloc, measured_resize, measured_free, memory };
    return options;
}
