/* Who may still be looking: reader slots, and memory that waits for readers to go.
 *
 * A reader stores the current epoch in a slot of its own and clears it when done. Retiring a thing takes it out
 * of sight first, then advances the epoch: readers of later epochs can not have seen it, so it is freed
 * once no slot holds the epoch of its retirement or an older one.
 *
 * Law: a reader stores its slot first and loads shared pointers after; a writer replaces pointers first and reads
 * slots after. All four are sequentially consistent, so one of the two always sees the other. */
#ifndef LIC_GRAPH_EPOCH_H
#define LIC_GRAPH_EPOCH_H

#include "base/memory.h"
#include "base/thread.h"

#define LIC_READER_SLOTS 128u

/* Two lines: processors fetch lines in pairs. */
typedef struct lic_reader_slot {
    _Alignas(128) _Atomic uint64_t epoch; /* 0: free */
} lic_reader_slot;

typedef struct lic_retired {
    uint64_t epoch;
    void (*release)(void *context, void *thing);
    void *context;
    void *thing;
} lic_retired;

typedef struct lic_epochs {
    lic_reader_slot *slots;
    _Atomic uint64_t now;     /* 1, 2, ... */
    _Atomic uint32_t crowded; /* readers that found no slot: while there are any, nothing is freed */
    lic_memory      *memory;
    void            *slots_block; /* what was allocated: slots, not yet aligned */
    lic_mutex        lock;        /* of what follows: the waiting things, oldest first */
    lic_retired     *queue;
    size_t           capacity;
    size_t           first;
    size_t           count;
    size_t           reserved;
} lic_epochs;

bool lic_epochs_init(lic_epochs *epochs, lic_memory *memory); /* false: out of memory */
/* Releases everything that waits. No reader may be left. */
void lic_epochs_free(lic_epochs *epochs);

/* When the thread's own slot is taken. */
uint32_t lic_epoch_enter_elsewhere(lic_epochs *epochs, uint64_t now);

/* Returns the slot that is held, or LIC_READER_SLOTS. */
static inline uint32_t lic_epoch_enter(lic_epochs *epochs)
{
    uint64_t now  = atomic_load(&epochs->now);
    uint32_t own  = lic_thread_number() % LIC_READER_SLOTS;
    uint64_t free = 0;

    if (atomic_compare_exchange_strong(&epochs->slots[own].epoch, &free, now))
        return own;
    return lic_epoch_enter_elsewhere(epochs, now);
}

static inline void lic_epoch_leave(lic_epochs *epochs, uint32_t slot)
{
    if (slot < LIC_READER_SLOTS)
        atomic_store_explicit(&epochs->slots[slot].epoch, 0, memory_order_release);
    else
        atomic_fetch_sub(&epochs->crowded, 1);
}

/* Advances the epoch; returns the one before, which readers of what was just replaced may have. */
static inline uint64_t lic_epoch_advance(lic_epochs *epochs)
{
    return atomic_fetch_add(&epochs->now, 1);
}

/* Have all readers of this epoch and older ones gone? */
bool lic_epoch_passed(lic_epochs *epochs, uint64_t epoch);

/* Room to retire one thing, taken up by lic_epoch_retire or given back by lic_epoch_unreserve. false: out of memory. */
bool lic_epoch_reserve(lic_epochs *epochs);
void lic_epoch_unreserve(lic_epochs *epochs);
/* The thing is out of sight already. Returns the epoch whose readers it waits for. Any thread. */
uint64_t lic_epoch_retire(lic_epochs *epochs, void (*release)(void *context, void *thing), void *context, void *thing);
/* Releases what nobody can see any more. Any thread. */
void lic_epoch_reclaim(lic_epochs *epochs);

/* After fork(), in the child: no readers. Gives back the lock, which the forking thread took before. */
void lic_epochs_forget_readers(lic_epochs *epochs);

#endif
