/* Linear probing; at most three quarters full, so a probe for a missing key ends soon. Nothing is ever
 * removed, so there are no tombstones. */
#include "map.h"

#include "hash.h"

#define MAP_FIRST_CAPACITY ((size_t)16)

void lic_map_init(lic_map *map, lic_memory *memory, uint64_t random_key)
{
    *map = (lic_map){ .memory = memory, .key = random_key };
}

void lic_map_free(lic_map *map)
{
    lic_free(map->memory, map->entries, map->capacity * sizeof *map->entries);
    lic_map_init(map, map->memory, map->key);
}

/* The entry of key, or the free one where it would go. capacity > 0. The lower half of the hash picks the
 * place, the upper half is kept, so that unequal keys are rarely compared. */
static lic_map_entry *map_probe(const lic_map *map, lic_str key, uint64_t hash)
{
    size_t mask = map->capacity - 1;

    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        lic_map_entry *entry = &map->entries[i];

        if (entry->key.data == NULL)
            return entry;
        if (entry->hash == (uint32_t)(hash >> 32) && lic_str_equal(entry->key, key))
            return entry;
    }
}

uint32_t lic_map_find(const lic_map *map, lic_str key)
{
    const lic_map_entry *entry;

    if (map->capacity == 0)
        return LIC_MAP_NONE;
    entry = map_probe(map, key, lic_hash_str(key, map->key));
    return entry->key.data == NULL ? LIC_MAP_NONE : entry->value;
}

/* Hashes again rather than keep 64 bits per entry: growing is rare, an entry is read often. */
static bool map_make_room(lic_map *map)
{
    lic_map bigger = *map;

    if (map->count < map->capacity / 4 * 3)
        return true;
    if (map->capacity == 0)
        bigger.capacity = MAP_FIRST_CAPACITY;
    else if (!lic_size_mul(map->capacity, 2, &bigger.capacity))
        return false;
    bigger.entries = lic_alloc_array(map->memory, bigger.capacity, sizeof *bigger.entries);
    if (bigger.entries == NULL)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const lic_map_entry *entry = &map->entries[i];

        if (entry->key.data != NULL)
            *map_probe(&bigger, entry->key, lic_hash_str(entry->key, map->key)) = *entry;
    }
    lic_free(map->memory, map->entries, map->capacity * sizeof *map->entries);
    *map = bigger;
    return true;
}

/* The entry of key, made with `value` when there was none. NULL: out of memory. */
static lic_map_entry *map_get(lic_map *map, lic_str key, uint32_t value)
{
    uint64_t       hash  = lic_hash_str(key, map->key);
    lic_map_entry *entry = map->capacity == 0 ? NULL : map_probe(map, key, hash);

    if (entry != NULL && entry->key.data != NULL)
        return entry;
    if (!map_make_room(map))
        return NULL;
    entry  = map_probe(map, key, hash);
    *entry = (lic_map_entry){ .key = key, .hash = (uint32_t)(hash >> 32), .value = value };
    map->count++;
    return entry;
}

bool lic_map_add(lic_map *map, lic_str key, uint32_t value, uint32_t *found)
{
    const lic_map_entry *entry = map_get(map, key, value);

    if (entry == NULL)
        return false;
    *found = entry->value;
    return true;
}

bool lic_map_set(lic_map *map, lic_str key, uint32_t value)
{
    lic_map_entry *entry = map_get(map, key, value);

    if (entry == NULL)
        return false;
    entry->value = value;
    return true;
}
