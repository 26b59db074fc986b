/* Who is inside: calls in progress, counted so that close can wait for them.
 *
 * One counter would be written by every check of every thread (70 ns and more where two threads share it), so there
 * is one per group of threads, each on a cache line of its own. Entering is an add and a look at `closed`; both
 * are sequentially consistent, so either the closer sees the caller's count or the caller sees that it is closed. */
#ifndef LIC_ENGINE_GATE_H
#define LIC_ENGINE_GATE_H

#include <stdatomic.h>

#include "base/thread.h"

#define LIC_GATE_LANES 64u /* a power of two */

typedef struct lic_gate_lane {
    _Atomic uint64_t inside;
    char             padding[64 - sizeof(uint64_t)];
} lic_gate_lane;

typedef struct lic_gate {
    _Atomic bool  closed;
    char          padding[63];
    lic_gate_lane lanes[LIC_GATE_LANES];
} lic_gate;

/* The lane that was entered, or NULL when the gate is closed. */
static inline lic_gate_lane *lic_gate_enter(lic_gate *gate)
{
    lic_gate_lane *lane = &gate->lanes[lic_thread_number() & (LIC_GATE_LANES - 1)];

    atomic_fetch_add(&lane->inside, 1);
    if (!atomic_load(&gate->closed))
        return lane;
    atomic_fetch_sub_explicit(&lane->inside, 1, memory_order_release);
    return NULL;
}

/* For who does not enter, but can be seen in another way by who closes, and is seen before asking this. */
static inline bool lic_gate_is_closed(const lic_gate *gate)
{
    return atomic_load(&gate->closed);
}

static inline void lic_gate_leave(lic_gate_lane *lane)
{
    atomic_fetch_sub_explicit(&lane->inside, 1, memory_order_release);
}

/* Lets nobody in any more and waits until everybody is out. Again: returns when they are, too. */
void lic_gate_close(lic_gate *gate);

/* In the child of a fork: the other threads, and so those inside, are gone. */
void lic_gate_empty(lic_gate *gate);

#endif
