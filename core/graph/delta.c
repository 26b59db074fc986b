/* The writing side of the delta. Everything that can fail is in the reserving functions. */
#include "delta.h"

#define FIRST_INDEX 64u
/* The log's indexes are 32 bits wide and the last of them means "none". */
#define MAX_CHANGES (UINT32_MAX - 1)

static const lic_edge_seed no_seed;

const lic_delta lic_delta_nothing = { .base = &lic_base_nothing, .seed = &no_seed };

lic_delta *lic_delta_new(lic_attributes *attributes, lic_epochs *epochs, const lic_edge_seed *seed, uint64_t revision)
{
    lic_delta *delta = lic_alloc_zero(attributes->memory, sizeof *delta);

    if (delta == NULL)
        return NULL;
    delta->memory     = attributes->memory;
    delta->epochs     = epochs;
    delta->attributes = attributes;
    delta->seed       = seed;
    delta->settled    = revision;
    atomic_init(&delta->head, revision);
    atomic_init(&delta->horizon, revision);
    return delta;
}

static size_t index_size(size_t capacity)
{
    return sizeof(lic_index) + (capacity / 16 + capacity) * sizeof(uint64_t);
}

static void index_free(void *memory, void *thing)
{
    lic_index *index = thing;

    if (index != NULL)
        lic_free(memory, index, index_size(index->capacity));
}

static void release_attributes(const lic_delta *delta)
{
    uint32_t count = atomic_load_explicit(&delta->log_count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        const lic_transition *transition;

        if ((lic_delta_entry(delta, i)->version & LIC_VERSION_ATTRIBUTED) == 0)
            continue;
        transition = lic_delta_transition(delta, i);
        lic_attributes_release(delta->attributes, transition->before);
        lic_attributes_release(delta->attributes, transition->after);
    }
}

/* A past has none. */
static void free_one(lic_delta *delta)
{
    if (delta == NULL)
        return;
    if (delta->attributed)
        release_attributes(delta);
    index_free(delta->memory, atomic_load_explicit(&delta->edges, memory_order_relaxed));
    index_free(delta->memory, atomic_load_explicit(&delta->origins[0], memory_order_relaxed));
    index_free(delta->memory, atomic_load_explicit(&delta->origins[1], memory_order_relaxed));
    index_free(delta->memory, atomic_load_explicit(&delta->ranges, memory_order_relaxed));
    lic_chunks_free(&delta->records, delta->memory, sizeof(lic_record));
    lic_chunks_free(&delta->log, delta->memory, sizeof(lic_log_entry));
    lic_chunks_free(&delta->transitions, delta->memory, sizeof(lic_transition));
    lic_chunks_free(&delta->range_entries, delta->memory, sizeof(lic_range_entry));
    lic_free(delta->memory, delta, sizeof *delta);
}

void lic_delta_free(lic_delta *delta)
{
    if (delta != NULL)
        free_one(atomic_load_explicit(&delta->past, memory_order_relaxed));
    free_one(delta);
}

/* Whoever must find the entry has seen something that was stored after it, so the bit needs no order of its own. */
static void filter_add(lic_index *index, uint32_t mark)
{
    size_t            bit  = mark & (4 * index->capacity - 1);
    _Atomic uint64_t *word = &index->filter[bit / 64];

    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) | UINT64_C(1) << (bit % 64),
                          memory_order_relaxed);
}

static void index_add(lic_index *index, uint32_t hash, uint32_t mark, uint32_t value)
{
    size_t mask = index->capacity - 1;
    size_t i    = hash & mask;

    filter_add(index, mark);
    while (atomic_load_explicit(&index->slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & mask;
    atomic_store_explicit(&index->slots[i], (uint64_t)hash << 32 | (value + 1), memory_order_release);
}

/* For a value that is there: the new one takes its slot by one store. */
static void index_replace(lic_index *index, uint32_t hash, uint32_t old, uint32_t value)
{
    size_t mask = index->capacity - 1;
    size_t i    = hash & mask;

    while (atomic_load_explicit(&index->slots[i], memory_order_relaxed) != ((uint64_t)hash << 32 | (old + 1)))
        i = (i + 1) & mask;
    atomic_store_explicit(&index->slots[i], (uint64_t)hash << 32 | (value + 1), memory_order_release);
}

/* The mark of a value that is in the index at the place. */
static uint32_t mark_of(const lic_delta *delta, const _Atomic(lic_index *) *place, uint32_t hash, uint32_t value)
{
    for (int direction = LIC_FORWARD; direction <= LIC_REVERSE; direction++)
        if (place == &delta->origins[direction])
            return lic_origin_mark(lic_delta_record(delta, value)->ends[direction]);
    return hash;
}

/* Room for `count` entries in all: at most five of eight slots are taken, so that a probe ends soon. */
static bool index_reserve(lic_delta *delta, _Atomic(lic_index *) *place, size_t count)
{
    lic_index *old      = atomic_load_explicit(place, memory_order_relaxed);
    size_t     before   = old == NULL ? 0 : old->capacity;
    size_t     capacity = before == 0 ? FIRST_INDEX : before;
    lic_index *index;

    while (count > capacity / 8 * 5)
        capacity *= 2;
    if (capacity == before)
        return true;
    if (!lic_epoch_reserve(delta->epochs))
        return false;
    index = lic_alloc_zero(delta->memory, index_size(capacity));
    if (index == NULL) {
        lic_epoch_unreserve(delta->epochs);
        return false;
    }
    index->capacity = capacity;
    index->slots    = index->filter + capacity / 16;
    for (size_t i = 0; i < before; i++) {
        uint64_t slot  = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        uint32_t hash  = (uint32_t)(slot >> 32);
        uint32_t value = (uint32_t)slot - 1;

        if (slot != 0)
            index_add(index, hash, mark_of(delta, place, hash, value), value);
    }
    atomic_store(place, index);
    if (old != NULL && delta->shared) {
        lic_epoch_retire(delta->epochs, index_free, delta->memory, old);
    } else {
        index_free(delta->memory, old);
        lic_epoch_unreserve(delta->epochs);
    }
    return true;
}

static uint32_t count_of(const _Atomic uint32_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* While the graph has had no attributes there is nothing to be said of them. */
static bool reserve_transitions(lic_delta *delta, uint32_t from, uint32_t to)
{
    return !lic_attributes_any(delta->attributes) ||
           lic_chunks_reserve(&delta->transitions, delta->memory, from, to, sizeof(lic_transition));
}

bool lic_delta_reserve(lic_delta *delta, size_t count)
{
    uint32_t records = count_of(&delta->record_count);
    uint32_t logged  = count_of(&delta->log_count);
    uint32_t more    = (uint32_t)count;

    if (count > MAX_CHANGES - logged) /* there are never more records than changes */
        return false;
    return count == 0 ||
           (lic_chunks_reserve(&delta->records, delta->memory, records, records + more, sizeof(lic_record)) &&
            lic_chunks_reserve(&delta->log, delta->memory, logged, logged + more, sizeof(lic_log_entry)) &&
            reserve_transitions(delta, logged, logged + more) &&
            index_reserve(delta, &delta->edges, (size_t)records + count) &&
            index_reserve(delta, &delta->origins[LIC_FORWARD], delta->origin_count[LIC_FORWARD] + count) &&
            index_reserve(delta, &delta->origins[LIC_REVERSE], delta->origin_count[LIC_REVERSE] + count));
}

static uint32_t range_hash(const lic_delta *delta, lic_direction direction, lic_slot slot, uint32_t range)
{
    return (uint32_t)(lic_edge_hash(delta->seed, (uint64_t)slot << 32 | range, direction) >> 32);
}

uint32_t lic_delta_find_range(const lic_delta *delta, lic_direction direction, lic_slot slot, uint32_t range)
{
    const lic_index *index    = atomic_load(&delta->ranges);
    uint32_t         hash     = range_hash(delta, direction, slot, range);
    size_t           position = hash;
    uint32_t         found;

    if (index == NULL)
        return LIC_NONE;
    while ((found = lic_index_next(index, hash, &position)) != LIC_NONE) {
        const lic_range_entry *entry = lic_delta_range(delta, found);

        if (entry->slot == slot && entry->range == range && entry->direction == direction)
            break;
    }
    return found;
}

static bool reserve_range(lic_delta *delta, lic_direction direction, uint64_t key)
{
    lic_slot         slot  = (lic_slot)(key >> 32);
    uint32_t         range = (uint32_t)key >> LIC_PIECE_BITS;
    uint32_t         count = count_of(&delta->range_count);
    uint32_t         hash;
    lic_range_entry *entry;

    if (lic_delta_find_range(delta, direction, slot, range) != LIC_NONE)
        return true;
    if (!lic_chunks_reserve(&delta->range_entries, delta->memory, count, count + 1, sizeof *entry) ||
        !index_reserve(delta, &delta->ranges, (size_t)count + 1))
        return false;
    entry            = lic_delta_range(delta, count);
    entry->slot      = slot;
    entry->range     = range;
    entry->direction = direction;
    atomic_init(&entry->records, LIC_NONE);
    hash = range_hash(delta, direction, slot, range);
    index_add(atomic_load_explicit(&delta->ranges, memory_order_relaxed), hash, hash, count);
    atomic_store_explicit(&delta->range_count, count + 1, memory_order_release);
    return true;
}

bool lic_delta_reserve_ranges(lic_delta *delta, uint64_t resource_key, uint64_t subject_key)
{
    return reserve_range(delta, LIC_FORWARD, resource_key) && reserve_range(delta, LIC_REVERSE, subject_key);
}

uint32_t lic_delta_origin(const lic_delta *delta, lic_direction direction, uint64_t origin)
{
    const lic_index *index = atomic_load(&delta->origins[direction]);
    uint32_t         hash;
    size_t           position;
    uint32_t         found;

    if (index == NULL)
        return LIC_NONE;
    hash     = lic_origin_hash(delta, direction, origin);
    position = hash;
    while ((found = lic_index_next(index, hash, &position)) != LIC_NONE)
        if (lic_delta_record(delta, found)->ends[direction] == origin)
            break;
    return found;
}

/* Links a record into its origin's groups: behind the first of its own group, or as a new group before the
 * others. Either way by one store, so that a reader finds every record that was there before. */
static void link_origin(lic_delta *delta, lic_direction direction, uint32_t index, lic_record *record)
{
    uint64_t   origin = record->ends[direction];
    uint64_t   far    = record->ends[!direction];
    uint32_t   newest = lic_delta_origin(delta, direction, origin);
    uint32_t   group  = newest;
    lic_index *hash   = atomic_load_explicit(&delta->origins[direction], memory_order_relaxed);

    while (group != LIC_NONE) {
        lic_record *first = lic_delta_record(delta, group);

        if (first->ends[!direction] >> 32 == far >> 32) {
            atomic_init(&record->next[direction], atomic_load_explicit(&first->next[direction], memory_order_relaxed));
            atomic_store_explicit(&first->next[direction], index, memory_order_release);
            return;
        }
        group = first->next_group[direction];
    }
    record->next_group[direction] = newest;
    atomic_init(&record->next[direction], LIC_NONE);
    if (newest == LIC_NONE) {
        index_add(hash, lic_origin_hash(delta, direction, origin), lic_origin_mark(origin), index);
        delta->origin_count[direction]++;
    } else {
        index_replace(hash, lic_origin_hash(delta, direction, origin), newest, index);
    }
}

static void link_range(lic_delta *delta, lic_direction direction, uint32_t index, lic_record *record)
{
    uint64_t key   = record->ends[direction];
    uint32_t found = lic_delta_find_range(delta, direction, (lic_slot)(key >> 32), (uint32_t)key >> LIC_PIECE_BITS);
    lic_range_entry *entry = lic_delta_range(delta, found);

    record->next_in_range[direction] = atomic_load_explicit(&entry->records, memory_order_relaxed);
    atomic_store_explicit(&entry->records, index, memory_order_release);
}

static uint32_t add_record(lic_delta *delta, const lic_delta_change *change, uint32_t entry, uint64_t version)
{
    uint32_t    index  = count_of(&delta->record_count);
    lic_record *record = lic_delta_record(delta, index);
    uint32_t    hash;

    record->ends[LIC_FORWARD] = change->ends[LIC_FORWARD];
    record->ends[LIC_REVERSE] = change->ends[LIC_REVERSE];
    record->first             = version;
    record->first_entry       = entry;
    atomic_init(&record->newest, LIC_NONE);
    link_range(delta, LIC_FORWARD, index, record);
    link_range(delta, LIC_REVERSE, index, record);
    link_origin(delta, LIC_FORWARD, index, record);
    link_origin(delta, LIC_REVERSE, index, record);
    hash = (uint32_t)(change->hash >> 32);
    index_add(atomic_load_explicit(&delta->edges, memory_order_relaxed), hash, hash, index);
    atomic_store_explicit(&delta->record_count, index + 1, memory_order_release);
    return index;
}

/* The change's version, with its transition written if there is one. */
static uint64_t make_version(lic_delta *delta, uint32_t entry, const lic_delta_change *change)
{
    uint64_t version = change->revision << 2 | (change->after == LIC_ABSENT ? 0 : LIC_VERSION_PRESENT);

    if (!lic_edge_attributed(change->before) && !lic_edge_attributed(change->after))
        return version;
    lic_attributes_retain(delta->attributes, change->before);
    lic_attributes_retain(delta->attributes, change->after);
    *lic_delta_transition(delta, entry) = (lic_transition){ change->before, change->after };
    delta->attributed                   = true;
    return version | LIC_VERSION_ATTRIBUTED;
}

void lic_delta_append(lic_delta *delta, uint32_t record, const lic_delta_change *change)
{
    uint32_t       at      = count_of(&delta->log_count);
    lic_log_entry *entry   = lic_delta_entry(delta, at);
    uint64_t       version = make_version(delta, at, change);

    if (record == LIC_NONE) {
        record = add_record(delta, change, at, version);
        *entry = (lic_log_entry){ .version = version, .record = record, .older = LIC_NONE };
    } else {
        _Atomic uint32_t *newest = &lic_delta_record(delta, record)->newest;

        *entry = (lic_log_entry){ .version = version,
                                  .record  = record,
                                  .older   = atomic_load_explicit(newest, memory_order_relaxed) };
        atomic_store_explicit(newest, at, memory_order_release);
    }
    atomic_store_explicit(&delta->log_count, at + 1, memory_order_release);
}
