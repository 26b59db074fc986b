/* XXH3 for tables, SipHash for seals, getrandom for keys. */
#include "hash.h"

#include <errno.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "clock.h"

bool lic_random_bytes(void *out, size_t size)
{
    char  *next = out;
    size_t left = size;

    while (left > 0) {
        ssize_t got = getrandom(next, left, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        left -= (size_t)got;
    }
    return true;
}

uint64_t lic_random_key(void)
{
    uint64_t key;

    if (!lic_random_bytes(&key, sizeof key))
        key = lic_hash_u64((uint64_t)lic_wall_ns() ^ (uint64_t)(uintptr_t)&key);
    return key;
}

uint64_t lic_hash_str(lic_str s, uint64_t key)
{
    return XXH3_64bits_withSeed(s.data, s.size, key);
}

/* SipHash: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF"; the 128-bit variant of its
 * reference implementation. */
typedef struct sip_state {
    uint64_t v0, v1, v2, v3;
} sip_state;

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t load_little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t result = 0;

    for (size_t i = 0; i < count; i++)
        result |= (uint64_t)bytes[i] << (8 * i);
    return result;
}

static void store_little_endian(uint8_t *bytes, uint64_t x)
{
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(x >> (8 * i));
}

static void sip_rounds(sip_state *s, int count)
{
    while (count-- > 0) {
        s->v0 += s->v1;
        s->v1 = rotate_left(s->v1, 13) ^ s->v0;
        s->v0 = rotate_left(s->v0, 32);
        s->v2 += s->v3;
        s->v3 = rotate_left(s->v3, 16) ^ s->v2;
        s->v0 += s->v3;
        s->v3 = rotate_left(s->v3, 21) ^ s->v0;
        s->v2 += s->v1;
        s->v1 = rotate_left(s->v1, 17) ^ s->v2;
        s->v2 = rotate_left(s->v2, 32);
    }
}

static void sip_absorb(sip_state *s, uint64_t word)
{
    s->v3 ^= word;
    sip_rounds(s, 2);
    s->v0 ^= word;
}

void lic_seal(const uint8_t key[16], lic_str message, uint8_t out[16])
{
    const uint8_t *bytes = (const uint8_t *)message.data;
    size_t         whole = message.size & ~(size_t)7;
    uint64_t       k0    = load_little_endian(key, 8);
    uint64_t       k1    = load_little_endian(key + 8, 8);
    sip_state      s     = { k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                             k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) };

    for (size_t i = 0; i < whole; i += 8)
        sip_absorb(&s, load_little_endian(bytes + i, 8));
    sip_absorb(&s, (uint64_t)message.size << 56 |
                       (message.size == whole ? 0 : load_little_endian(bytes + whole, message.size - whole)));
    s.v2 ^= 0xee;
    sip_rounds(&s, 4);
    store_little_endian(out, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
    s.v1 ^= 0xdd;
    sip_rounds(&s, 4);
    store_little_endian(out + 8, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
}

bool lic_seal_equal(const uint8_t a[16], const uint8_t b[16])
{
    uint8_t difference = 0;

    for (size_t i = 0; i < 16; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}
