/* Sorting our own numbers. qsort(3) may take memory of its own, which nobody counts. */
#ifndef LIC_BASE_SORT_H
#define LIC_BASE_SORT_H

#include "base/arena.h"

/* In ascending order. Room for as many keys again is taken from the arena, unless they are few. false: out of memory,
 * nothing changed. */
bool lic_sort_keys(lic_arena *arena, uint64_t *keys, size_t count);

#endif
