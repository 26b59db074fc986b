/* The one source of memory: the caller's allocator, counted to the byte against a limit.
 *
 * A lic_memory outlives everything made from it. Sizes are given back on free, so no block carries a
 * header and `used` is exact. Safe from any number of threads as far as the hooks are. */
#ifndef LIC_BASE_MEMORY_H
#define LIC_BASE_MEMORY_H

#include <stdatomic.h>

#include "licet.h"

/* For buffers of one call: filling them with zeros, as our builds do with all variables, would cost more than a
 * check. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define LIC_UNINITIALIZED __attribute__((uninitialized))
#endif
#endif
#ifndef LIC_UNINITIALIZED
#define LIC_UNINITIALIZED
#endif

typedef struct lic_memory {
    licet_allocator  hooks;      /* all set */
    _Atomic size_t   used;       /* bytes, exact */
    size_t           limit;      /* bytes; SIZE_MAX: none */
    _Atomic uint32_t references; /* of lic_memory_new; 0: lives in somebody else's struct */
} lic_memory;

/* A counted lic_memory, made from its own hooks (and counted in its own `used`): for things that may outlive
 * the engine they came from. NULL: out of memory. The last release frees it; nothing may be left in it. */
lic_memory *lic_memory_new(const licet_allocator *hooks, size_t limit_bytes);
void        lic_memory_retain(lic_memory *memory);
void        lic_memory_release(lic_memory *memory); /* NULL is fine */

/* Hooks that are NULL become malloc, realloc and free. */
void lic_memory_init(lic_memory *memory, const licet_allocator *hooks, size_t limit_bytes);

/* NULL when the hook fails or the limit would be passed. Contents are not set. size 0 gives NULL. */
void *lic_alloc(lic_memory *memory, size_t size);
/* The same, filled with zeros. */
void *lic_alloc_zero(lic_memory *memory, size_t size);
/* count * size, checked for overflow; zeroed. */
void *lic_alloc_array(lic_memory *memory, size_t count, size_t size);
/* On failure the old block stays as it was. */
void *lic_resize(lic_memory *memory, void *pointer, size_t old_size, size_t new_size);
/* pointer may be NULL. size is what was asked for. */
void lic_free(lic_memory *memory, void *pointer, size_t size);

/* Grows a vector so that it holds at least `need` items: *items, *capacity are updated, new room is not
 * set. Doubles, so appending is amortised O(1). false: out of memory, nothing changed. */
bool lic_grow(lic_memory *memory, void **items, size_t *capacity, size_t need, size_t item_size);

/* Checked sizes: false on overflow. */
static inline bool lic_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}
static inline bool lic_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* What a list grows to that holds `capacity` and needs `need` items: doubled, 8 at least. False: no size_t holds it. */
static inline bool lic_grown_size(size_t capacity, size_t need, size_t item_size, size_t *wanted, size_t *size_bytes)
{
    *wanted = capacity < 8 ? 8 : capacity;
    while (*wanted < need)
        if (!lic_size_mul(*wanted, 2, wanted))
            return false;
    return lic_size_mul(*wanted, item_size, size_bytes);
}

#endif
