/* The writing side of the base. */
#include "base.h"

const lic_base lic_base_nothing = { { NULL, NULL }, NULL };

static size_t ranges_size(size_t count)
{
    return sizeof(lic_ranges) + count * sizeof(lic_piece *);
}

static size_t directory_size(size_t count)
{
    return sizeof(lic_directory) + count * sizeof(lic_ranges *);
}

static void release_ranges(void *memory, void *thing)
{
    lic_free(memory, thing, ranges_size(((lic_ranges *)thing)->count));
}

static void release_directory(void *memory, void *thing)
{
    lic_free(memory, thing, directory_size(((lic_directory *)thing)->count));
}

static void free_piece(lic_attributes *attributes, lic_piece *piece)
{
    if (piece == NULL)
        return;
    for (uint32_t i = 0; i < piece->attributed; i++)
        lic_attributes_release(attributes, lic_piece_numbers(piece)[i]);
    lic_piece_free(attributes->memory, piece);
}

static void release_piece(void *attributes, void *thing)
{
    free_piece(attributes, thing);
}

static uint32_t grown(uint32_t count, uint32_t index)
{
    uint64_t wanted = (uint64_t)count + count / 2;

    if (wanted <= index)
        wanted = (uint64_t)index + 1;
    return wanted < UINT32_MAX ? (uint32_t)wanted : UINT32_MAX;
}

/* A directory in which the slot has a place. NULL: out of memory. */
static lic_directory *reserve_slot(lic_base *base, lic_epochs *epochs, lic_direction direction, lic_slot slot)
{
    lic_memory    *memory = base->attributes->memory;
    lic_directory *old    = atomic_load(&base->directions[direction]);
    lic_directory *directory;
    uint32_t       count = old == NULL ? 0 : old->count;

    if (slot < count || slot == LIC_NO_SLOT)
        return slot == LIC_NO_SLOT ? NULL : old;
    if (!lic_epoch_reserve(epochs))
        return NULL;
    directory = lic_alloc_zero(memory, directory_size(grown(count, slot)));
    if (directory == NULL) {
        lic_epoch_unreserve(epochs);
        return NULL;
    }
    directory->count = grown(count, slot);
    for (uint32_t i = 0; i < count; i++)
        atomic_init(&directory->slots[i], atomic_load_explicit(&old->slots[i], memory_order_relaxed));
    atomic_store(&base->directions[direction], directory);
    if (old == NULL)
        lic_epoch_unreserve(epochs);
    else
        lic_epoch_retire(epochs, release_directory, memory, old);
    return directory;
}

/* The same for the slot's array of pieces. */
static lic_ranges *reserve_range(lic_directory *directory, lic_memory *memory, lic_epochs *epochs, lic_slot slot,
                                 uint32_t range)
{
    lic_ranges *old = atomic_load(&directory->slots[slot]);
    lic_ranges *ranges;
    uint32_t    count = old == NULL ? 0 : old->count;

    if (range < count)
        return old;
    if (!lic_epoch_reserve(epochs))
        return NULL;
    ranges = lic_alloc_zero(memory, ranges_size(grown(count, range)));
    if (ranges == NULL) {
        lic_epoch_unreserve(epochs);
        return NULL;
    }
    ranges->count = grown(count, range);
    for (uint32_t i = 0; i < count; i++)
        atomic_init(&ranges->pieces[i], atomic_load_explicit(&old->pieces[i], memory_order_relaxed));
    atomic_store(&directory->slots[slot], ranges);
    if (old == NULL)
        lic_epoch_unreserve(epochs);
    else
        lic_epoch_retire(epochs, release_ranges, memory, old);
    return ranges;
}

/* They came from the old piece or from the delta, which hold them until this one does. */
static void hold_attributes(lic_attributes *attributes, const lic_piece *piece)
{
    uint32_t count = piece == NULL ? 0 : piece->attributed;

    for (uint32_t i = 0; i < count; i++)
        lic_attributes_retain(attributes, lic_piece_numbers(piece)[i]);
}

bool lic_base_change(lic_base *base, lic_epochs *epochs, lic_direction direction, uint32_t range,
                     const lic_piece_place *place, const lic_piece_change *changes, size_t count)
{
    lic_memory    *memory    = base->attributes->memory;
    lic_directory *directory = reserve_slot(base, epochs, direction, place->slot);
    lic_ranges    *ranges;
    lic_piece     *old;
    lic_piece     *piece;

    if (directory == NULL)
        return false;
    ranges = reserve_range(directory, memory, epochs, place->slot, range);
    if (ranges == NULL || !lic_epoch_reserve(epochs))
        return false;
    old = atomic_load(&ranges->pieces[range]);
    if (!lic_piece_build(memory, place, old, changes, count, &piece)) {
        lic_epoch_unreserve(epochs);
        return false;
    }
    hold_attributes(base->attributes, piece);
    atomic_store(&ranges->pieces[range], piece);
    if (old == NULL)
        lic_epoch_unreserve(epochs);
    else
        lic_epoch_retire(epochs, release_piece, base->attributes, old);
    return true;
}

static size_t largest_of_ranges(const lic_ranges *ranges)
{
    size_t largest = 0;

    for (uint32_t i = 0; ranges != NULL && i < ranges->count; i++) {
        const lic_piece *piece = atomic_load_explicit(&ranges->pieces[i], memory_order_relaxed);

        if (piece != NULL && piece->size > largest)
            largest = piece->size;
    }
    return largest;
}

size_t lic_base_largest_piece(const lic_base *base)
{
    size_t largest = 0;

    for (int direction = LIC_FORWARD; direction <= LIC_REVERSE; direction++) {
        const lic_directory *directory = atomic_load_explicit(&base->directions[direction], memory_order_relaxed);

        for (uint32_t i = 0; directory != NULL && i < directory->count; i++) {
            size_t size = largest_of_ranges(atomic_load_explicit(&directory->slots[i], memory_order_relaxed));

            largest = size > largest ? size : largest;
        }
    }
    return largest;
}

static void free_ranges(lic_ranges *ranges, lic_attributes *attributes)
{
    if (ranges == NULL)
        return;
    for (uint32_t i = 0; i < ranges->count; i++)
        free_piece(attributes, atomic_load_explicit(&ranges->pieces[i], memory_order_relaxed));
    release_ranges(attributes->memory, ranges);
}

lic_base *lic_base_new(lic_attributes *attributes)
{
    lic_base *base = lic_alloc_zero(attributes->memory, sizeof *base);

    if (base != NULL)
        base->attributes = attributes;
    return base;
}

static void free_directories(lic_base *base)
{
    for (int direction = LIC_FORWARD; direction <= LIC_REVERSE; direction++) {
        lic_directory *directory = atomic_load_explicit(&base->directions[direction], memory_order_relaxed);

        if (directory == NULL)
            continue;
        for (uint32_t i = 0; i < directory->count; i++)
            free_ranges(atomic_load_explicit(&directory->slots[i], memory_order_relaxed), base->attributes);
        release_directory(base->attributes->memory, directory);
    }
}

void lic_base_free(lic_base *base)
{
    if (base == NULL)
        return;
    free_directories(base);
    lic_free(base->attributes->memory, base, sizeof *base);
}
