/* Reader slots and the queue of retired things. */
#include "epoch.h"

#include <string.h>

#define RECLAIM_BATCH 32

bool lic_epochs_init(lic_epochs *epochs, lic_memory *memory)
{
    size_t size = (LIC_READER_SLOTS + 1) * sizeof(lic_reader_slot);
    char  *block;

    *epochs = (lic_epochs){ .memory = memory };
    atomic_init(&epochs->now, 1);
    block = lic_alloc_zero(memory, size);
    if (block == NULL)
        return false;
    if (!lic_mutex_init(&epochs->lock)) {
        lic_free(memory, block, size);
        return false;
    }
    epochs->slots_block = block;
    epochs->slots       = (lic_reader_slot *)(block + (-(uintptr_t)block & (sizeof(lic_reader_slot) - 1)));
    return true;
}

void lic_epochs_free(lic_epochs *epochs)
{
    for (size_t i = 0; i < epochs->count; i++) {
        lic_retired *retired = &epochs->queue[epochs->first + i];

        retired->release(retired->context, retired->thing);
    }
    lic_free(epochs->memory, epochs->queue, epochs->capacity * sizeof *epochs->queue);
    lic_free(epochs->memory, epochs->slots_block, (LIC_READER_SLOTS + 1) * sizeof(lic_reader_slot));
    lic_mutex_destroy(&epochs->lock);
}

uint32_t lic_epoch_enter_elsewhere(lic_epochs *epochs, uint64_t now)
{
    uint32_t own = lic_thread_number();

    for (uint32_t i = 1; i < LIC_READER_SLOTS; i++) {
        uint32_t slot = (own + i) % LIC_READER_SLOTS;
        uint64_t free = 0;

        if (atomic_load_explicit(&epochs->slots[slot].epoch, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&epochs->slots[slot].epoch, &free, now))
            return slot;
    }
    atomic_fetch_add(&epochs->crowded, 1);
    return LIC_READER_SLOTS;
}

/* The oldest epoch that a reader holds: 0 when that can not be known, UINT64_MAX when nobody reads. */
static uint64_t oldest_epoch(lic_epochs *epochs)
{
    uint64_t oldest = UINT64_MAX;

    if (atomic_load(&epochs->crowded) != 0)
        return 0;
    for (uint32_t i = 0; i < LIC_READER_SLOTS; i++) {
        uint64_t epoch = atomic_load(&epochs->slots[i].epoch);

        if (epoch != 0 && epoch < oldest)
            oldest = epoch;
    }
    return oldest;
}

bool lic_epoch_passed(lic_epochs *epochs, uint64_t epoch)
{
    return oldest_epoch(epochs) > epoch;
}

bool lic_epoch_reserve(lic_epochs *epochs)
{
    bool   room;
    size_t need;

    lic_mutex_lock(&epochs->lock);
    need = epochs->first + epochs->count + epochs->reserved + 1;
    if (need > epochs->capacity && epochs->first > epochs->capacity / 2) {
        memmove(epochs->queue, epochs->queue + epochs->first, epochs->count * sizeof *epochs->queue);
        need -= epochs->first;
        epochs->first = 0;
    }
    room = lic_grow(epochs->memory, (void **)&epochs->queue, &epochs->capacity, need, sizeof *epochs->queue);
    epochs->reserved += room;
    lic_mutex_unlock(&epochs->lock);
    return room;
}

void lic_epoch_unreserve(lic_epochs *epochs)
{
    lic_mutex_lock(&epochs->lock);
    epochs->reserved--;
    lic_mutex_unlock(&epochs->lock);
}

uint64_t lic_epoch_retire(lic_epochs *epochs, void (*release)(void *context, void *thing), void *context, void *thing)
{
    uint64_t epoch;

    lic_mutex_lock(&epochs->lock);
    epoch = lic_epoch_advance(epochs);
    epochs->queue[epochs->first + epochs->count] =
        (lic_retired){ .epoch = epoch, .release = release, .context = context, .thing = thing };
    epochs->count++;
    epochs->reserved--;
    lic_mutex_unlock(&epochs->lock);
    return epoch;
}

/* Moves up to RECLAIM_BATCH things that may go out of the queue: nothing is released under the lock. */
static size_t take_passed(lic_epochs *epochs, lic_retired *taken)
{
    size_t   count = 0;
    uint64_t oldest;

    lic_mutex_lock(&epochs->lock);
    oldest = epochs->count == 0 ? 0 : oldest_epoch(epochs);
    while (count < RECLAIM_BATCH && epochs->count > 0 && epochs->queue[epochs->first].epoch < oldest) {
        taken[count++] = epochs->queue[epochs->first++];
        epochs->count--;
    }
    if (epochs->count == 0)
        epochs->first = 0;
    lic_mutex_unlock(&epochs->lock);
    return count;
}

void lic_epoch_reclaim(lic_epochs *epochs)
{
    lic_retired taken[RECLAIM_BATCH];
    size_t      count;

    do {
        count = take_passed(epochs, taken);
        for (size_t i = 0; i < count; i++)
            taken[i].release(taken[i].context, taken[i].thing);
    } while (count == RECLAIM_BATCH);
}

void lic_epochs_forget_readers(lic_epochs *epochs)
{
    for (uint32_t i = 0; i < LIC_READER_SLOTS; i++)
        atomic_store(&epochs->slots[i].epoch, 0);
    atomic_store(&epochs->crowded, 0);
    epochs->reserved = 0;
    lic_mutex_unlock(&epochs->lock);
}
