/* A map from text to a 32-bit number. Open addressing, keyed hash. Keys are views: the caller keeps the
 * text alive. One thread at a time while it changes; any number of readers once it no longer does. */
#ifndef LIC_BASE_MAP_H
#define LIC_BASE_MAP_H

#include "str.h"

#define LIC_MAP_NONE UINT32_MAX

typedef struct lic_map_entry {
    lic_str  key;
    uint32_t hash; /* upper half of the hash */
    uint32_t value;
} lic_map_entry;

typedef struct lic_map {
    lic_memory    *memory;
    lic_map_entry *entries;  /* key.data == NULL: free */
    size_t         capacity; /* a power of two, or 0 */
    size_t         count;
    uint64_t       key;
} lic_map;

void lic_map_init(lic_map *map, lic_memory *memory, uint64_t random_key);
void lic_map_free(lic_map *map);

/* LIC_MAP_NONE when absent. The key must be given (data != NULL). */
uint32_t lic_map_find(const lic_map *map, lic_str key);

/* Adds key -> value unless the key is there; *found is the value now stored (the old or the new).
 * false: out of memory. */
bool lic_map_add(lic_map *map, lic_str key, uint32_t value, uint32_t *found);
/* Sets key -> value, replacing. false: out of memory. */
bool lic_map_set(lic_map *map, lic_str key, uint32_t value);

#endif
