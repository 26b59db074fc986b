/* Time, from the clocks of POSIX, and one of Linux. */
#include "clock.h"

#include <time.h>

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now = { 0, 0 };

    clock_gettime(clock, &now); /* can not fail for these clocks */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t lic_monotonic_ms(void)
{
    return (uint64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

uint64_t lic_boot_ms(void)
{
    return (uint64_t)(lic_boot_ns() / 1000000);
}

int64_t lic_boot_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME);
}

int64_t lic_wall_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}
