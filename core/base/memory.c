/* The caller's allocator behind a counter. The count is taken before the hook is asked and given back when
 * the hook fails, so that no number of threads together can pass the limit. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void *default_alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *default_resize(void *context, void *pointer, size_t old_size, size_t new_size)
{
    (void)context;
    (void)old_size;
    return realloc(pointer, new_size);
}

static void default_free(void *context, void *pointer, size_t size)
{
    (void)context;
    (void)size;
    free(pointer);
}

void lic_memory_init(lic_memory *memory, const licet_allocator *hooks, size_t limit_bytes)
{
    static const licet_allocator defaults = { default_alloc, default_resize, default_free, NULL };
    bool given = hooks != NULL && hooks->alloc != NULL && hooks->resize != NULL && hooks->free != NULL;

    memory->hooks = given ? *hooks : defaults;
    atomic_init(&memory->used, 0);
    memory->limit = limit_bytes;
    atomic_init(&memory->references, 0);
}

lic_memory *lic_memory_new(const licet_allocator *hooks, size_t limit_bytes)
{
    lic_memory  first; /* what the lic_memory itself comes from */
    lic_memory *memory;

    lic_memory_init(&first, hooks, limit_bytes);
    memory = lic_alloc(&first, sizeof *memory);
    if (memory == NULL)
        return NULL;
    lic_memory_init(memory, &first.hooks, limit_bytes);
    atomic_init(&memory->used, sizeof *memory);
    atomic_init(&memory->references, 1);
    return memory;
}

/* One that lives in somebody else's struct isn't counted: it has no references, and that never changes. */
static bool memory_is_counted(lic_memory *memory)
{
    return memory != NULL && atomic_load_explicit(&memory->references, memory_order_relaxed) != 0;
}

void lic_memory_retain(lic_memory *memory)
{
    if (memory_is_counted(memory))
        atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
}

void lic_memory_release(lic_memory *memory)
{
    licet_allocator hooks;

    if (!memory_is_counted(memory) || atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) != 1)
        return;
    hooks = memory->hooks;
    hooks.free(hooks.context, memory, sizeof *memory);
}

/* Compare-and-swap rather than add-and-look: a request that is refused never shows in `used`, so it
 * can't make another thread's small request fail. */
static bool memory_reserve(lic_memory *memory, size_t size)
{
    size_t used = atomic_load_explicit(&memory->used, memory_order_relaxed);
    size_t sum;

    do {
        if (!lic_size_add(used, size, &sum) || sum > memory->limit)
            return false;
    } while (
        !atomic_compare_exchange_weak_explicit(&memory->used, &used, sum, memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void memory_return(lic_memory *memory, size_t size)
{
    atomic_fetch_sub_explicit(&memory->used, size, memory_order_relaxed);
}

void *lic_alloc(lic_memory *memory, size_t size)
{
    void *result;

    if (size == 0 || !memory_reserve(memory, size))
        return NULL;
    result = memory->hooks.alloc(memory->hooks.context, size);
    if (result == NULL)
        memory_return(memory, size);
    return result;
}

void *lic_alloc_zero(lic_memory *memory, size_t size)
{
    void *result = lic_alloc(memory, size);

    return result == NULL ? NULL : memset(result, 0, size);
}

void *lic_alloc_array(lic_memory *memory, size_t count, size_t size)
{
    size_t total;

    return lic_size_mul(count, size, &total) ? lic_alloc_zero(memory, total) : NULL;
}

void *lic_resize(lic_memory *memory, void *pointer, size_t old_size, size_t new_size)
{
    void *result;

    if (pointer == NULL)
        return lic_alloc(memory, new_size);
    if (new_size == 0 || (new_size > old_size && !memory_reserve(memory, new_size - old_size)))
        return NULL;
    result = memory->hooks.resize(memory->hooks.context, pointer, old_size, new_size);
    if (result == NULL && new_size > old_size)
        memory_return(memory, new_size - old_size);
    if (result != NULL && new_size < old_size)
        memory_return(memory, old_size - new_size);
    return result;
}

void lic_free(lic_memory *memory, void *pointer, size_t size)
{
    if (pointer == NULL)
        return;
    memory->hooks.free(memory->hooks.context, pointer, size);
    memory_return(memory, size);
}

bool lic_grow(lic_memory *memory, void **items, size_t *capacity, size_t need, size_t item_size)
{
    size_t wanted;
    size_t size;
    void  *grown;

    if (need <= *capacity)
        return true;
    if (!lic_grown_size(*capacity, need, item_size, &wanted, &size))
        return false;
    grown = lic_resize(memory, *items, *capacity * item_size, size);
    if (grown == NULL)
        return false;
    *items    = grown;
    *capacity = wanted;
    return true;
}
