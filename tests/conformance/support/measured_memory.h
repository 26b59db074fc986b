/* An allocator that knows how much is in use, and how much was at most. */
#ifndef LICET_TESTS_MEASURED_MEMORY_H
#define LICET_TESTS_MEASURED_MEMORY_H

#include <stdatomic.h>

#include "licet.h"

typedef struct measured_memory {
    _Atomic size_t live_bytes;
    _Atomic size_t peak_bytes;
} measured_memory;

/* Options with this allocator. *memory must live as long as what is made with them. */
licet_options measured_options(measured_memory *memory);

#endif
