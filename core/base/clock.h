/* Time. Monotonic for deadlines and windows, wall clock for what people see. */
#ifndef LIC_BASE_CLOCK_H
#define LIC_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since an arbitrary start; never runs backwards. */
uint64_t lic_monotonic_ms(void);
/* The same for how old something is: it goes on while the machine is suspended. Not for waiting. */
uint64_t lic_boot_ms(void);
int64_t  lic_boot_ns(void);
/* Nanoseconds since 1970, UTC. */
int64_t lic_wall_ns(void);

#endif
