/* An allocator for tests: fails where it is told to, counts what is alive, and ends the program when a block
 * comes back with another size than it was asked for with. Safe from any number of threads.
 *
 *     for (size_t n = 0; status != LICET_OK; n++) {
 *         failing_memory memory = fail_after(n);
 *         ...
 *         status = licet_open(uri, &memory.options, &engine, NULL);
 *         ...
 *         assert_int_equal(memory.counts->live_blocks, 0);
 *     }
 *
 * The counts live in a ring of 64, so a failing_memory needs no ending, and can be used until 63 newer ones
 * were made. */
#ifndef LICET_TESTS_FAILING_MEMORY_H
#define LICET_TESTS_FAILING_MEMORY_H

#include <stdatomic.h>

#include "licet.h"

typedef struct failing_memory_counts {
    _Atomic size_t calls; /* of alloc and resize */
    _Atomic size_t failures;
    _Atomic size_t live_blocks;
    _Atomic size_t live_bytes;
    size_t         fail_first; /* the calls [fail_first, fail_end) fail; the first call is number 0 */
    size_t         fail_end;
} failing_memory_counts;

typedef struct failing_memory {
    failing_memory_counts *counts;
    licet_allocator        allocator;
    licet_options          options; /* LICET_OPTIONS_INIT with this allocator */
} failing_memory;

/* Allocation number n fails, once. 0 is the first. */
failing_memory fail_after(size_t n);
/* Allocation number n fails, and every one from there on. */
failing_memory fail_from(size_t n);
/* Allocation number n from now fails, once. SIZE_MAX / 2: none. */
void fail_next(const failing_memory *memory, size_t n);
/* None fails: only counts. */
failing_memory fail_never(void);

#endif
