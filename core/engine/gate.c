/* The slow side of the gate. */
#include "engine/gate.h"

#define WAIT_US 50 /* a check takes less; a call that writes takes a few of these */

void lic_gate_close(lic_gate *gate)
{
    atomic_store(&gate->closed, true);
    for (uint32_t i = 0; i < LIC_GATE_LANES; i++) {
        while (atomic_load(&gate->lanes[i].inside) != 0)
            lic_sleep_us(WAIT_US);
    }
}

void lic_gate_empty(lic_gate *gate)
{
    for (uint32_t i = 0; i < LIC_GATE_LANES; i++)
        atomic_store_explicit(&gate->lanes[i].inside, 0, memory_order_relaxed);
}
