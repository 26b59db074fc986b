/* Time. Monotonic for deadlines and windows, wall clock for what people see. */
#ifndef LIC_BASE_CLOCK_H
#define LIC_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since an arbitrary start; never runs backwards. */
uint64_t lic_monotonic_ms(void);
/* The same, at most 10 ms behind, in a fraction of the time. */
uint64_t lic_monotonic_coarse_ms(void);
/* The same in nanoseconds. */
int64_t lic_monotonic_ns(void);
/* Nanoseconds since 1970, UTC. */
int64_t lic_wall_ns(void);

#endif
