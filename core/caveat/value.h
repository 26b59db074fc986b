/* Values of CEL, as the evaluator computes with them. Small, copied freely; what they point to lives in the arena of
 * the evaluation, or in something that outlives it.
 *
 * Two kinds are no values of the language: UNKNOWN stands for everything that hangs on parameters without a value and
 * carries the set of them; ERROR carries why. Operators pass them on by the rules of caveats.md 5. */
#ifndef LIC_CAVEAT_VALUE_H
#define LIC_CAVEAT_VALUE_H

#include "base/arena.h"
#include "base/str.h"

typedef enum lic_cel_kind {
    LIC_CEL_NULL = 0,
    LIC_CEL_BOOL,
    LIC_CEL_INT,
    LIC_CEL_UINT,
    LIC_CEL_DOUBLE,
    LIC_CEL_STRING,
    LIC_CEL_BYTES,
    LIC_CEL_LIST,
    LIC_CEL_MAP,
    LIC_CEL_DURATION,
    LIC_CEL_TIMESTAMP,
    LIC_CEL_IPADDRESS,
    LIC_CEL_TYPE,
    LIC_CEL_OPTIONAL,
    LIC_CEL_UNKNOWN,
    LIC_CEL_ERROR
} lic_cel_kind;

/* Seconds since 1970 UTC and nanoseconds [0, 999999999]; years 1 to 9999, and a little more where a parameter was written
 * so (caveats.md 3). offset: seconds east of UTC that it was written with; only printing looks at it, as in SpiceDB. */
typedef struct lic_cel_timestamp {
    int64_t  seconds;
    uint32_t nanoseconds;
    int32_t  offset;
} lic_cel_timestamp;

/* An IPv4-mapped IPv6 address is stored as the IPv4 address. zone: of IPv6 only; not given: none. */
typedef struct lic_cel_ip {
    uint8_t bytes[16];
    uint8_t size; /* 4 or 16 */
    lic_str zone;
} lic_cel_ip;

/* Where an unknown stands in a chain of fields and indices, p.a[i].b: cel-go evaluates the keys of a whole chain, and an
 * unknown in the middle doesn't stop it. */
typedef enum lic_cel_chain {
    LIC_CEL_CHAIN_NONE, /* nowhere: it goes before what the keys behind it are */
    LIC_CEL_CHAIN_ROOT, /* the parameter that the chain begins with: errors of keys go before it */
    LIC_CEL_CHAIN_KEY   /* a key in it: errors and unknowns of later keys go before it */
} lic_cel_chain;

typedef struct lic_cel_value lic_cel_value;
typedef struct lic_cel_list  lic_cel_list;
typedef struct lic_cel_map   lic_cel_map;

struct lic_cel_value {
    lic_cel_kind kind;
    union {
        bool                 boolean;
        int64_t              integer;
        uint64_t             uinteger;
        double               number;
        lic_str              text; /* STRING, BYTES; the name of a TYPE */
        const lic_cel_list  *list;
        const lic_cel_map   *map;
        int64_t              duration; /* nanoseconds */
        lic_cel_timestamp    timestamp;
        const lic_cel_ip    *ip;
        const lic_cel_value *optional; /* NULL: none */
        struct {
            uint64_t      unknown; /* bit i: parameter i */
            lic_cel_chain chain;
        };
        const char *error; /* clean, NUL-terminated, in the arena or a literal */
    };
};

struct lic_cel_list {
    const lic_cel_value *items;
    size_t               count;
};

/* Entries in the order they were written, except that the later of two identical keys replaced the earlier. */
typedef struct lic_cel_entry {
    lic_cel_value key; /* BOOL, INT, UINT or STRING; from a literal also something else, which only equal keys find */
    lic_cel_value value;
} lic_cel_entry;

struct lic_cel_map {
    const lic_cel_entry *entries;
    size_t               count;
    bool                 given; /* a parameter's value or a part of one, not a literal: isSubtreeOf takes no other */
};

#endif
