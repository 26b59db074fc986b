/* Few keys by insertion; many by their bytes, from the lowest on, each pass keeping the order of the one before. Passes
 * over a byte that all keys share are left out: mostly half of them. */
#include "sort.h"

#include <string.h>

#define FEW 48

enum { BYTES = 8, VALUES = 256 };

static void sort_few(uint64_t *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint64_t key = keys[i];
        size_t         at  = i;

        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Where the keys with each value of the byte begin. false: all have the same value. */
static bool count_byte(const uint64_t *keys, size_t count, unsigned shift, size_t begins[VALUES])
{
    size_t sum = 0;

    memset(begins, 0, VALUES * sizeof *begins);
    for (size_t i = 0; i < count; i++)
        begins[keys[i] >> shift & 0xff]++;
    if (begins[keys[0] >> shift & 0xff] == count)
        return false;
    for (size_t value = 0; value < VALUES; value++) {
        const size_t next = sum + begins[value];

        begins[value] = sum;
        sum           = next;
    }
    return true;
}

bool lic_sort_keys(lic_arena *arena, uint64_t *keys, size_t count)
{
    size_t    begins[VALUES];
    uint64_t *from = keys;
    uint64_t *to;

    if (count <= FEW) {
        sort_few(keys, count);
        return true;
    }
    to = lic_arena_alloc(arena, count * sizeof *to); /* no more than are there */
    if (to == NULL)
        return false;
    for (unsigned shift = 0; shift < 8 * BYTES; shift += 8) {
        uint64_t *other = from;

        if (!count_byte(from, count, shift, begins))
            continue;
        for (size_t i = 0; i < count; i++)
            to[begins[from[i] >> shift & 0xff]++] = from[i];
        from = to;
        to   = other;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof *keys);
    return true;
}
