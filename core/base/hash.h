/* Hashing. Tables keyed by outside text use a key that is random per table owner, so that nobody
 * outside can aim at one bucket. */
#ifndef LIC_BASE_HASH_H
#define LIC_BASE_HASH_H

#include "str.h"

/* A random key: getrandom(2), or the clock and an address where that fails. */
uint64_t lic_random_key(void);
/* size random bytes; false when the system has none to give. */
bool lic_random_bytes(void *out, size_t size);

/* XXH3, 64 bits, seeded. */
uint64_t lic_hash_str(lic_str s, uint64_t key);

/* Mixes 64 bits (splitmix64's finisher): for keys that are our own numbers. */
static inline uint64_t lic_hash_u64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x;
}

/* SipHash-2-4 with 128 bits of output: the seal of tokens and cursors. key: 16 bytes. */
void lic_seal(const uint8_t key[16], lic_str message, uint8_t out[16]);
/* Are two seals the same? In a time that does not depend on where they differ. */
bool lic_seal_equal(const uint8_t a[16], const uint8_t b[16]);

#endif
