/* Which functions CEL has in SpiceDB, and on which types (caveats.md 8, 9). Patterns are types with at most two
 * variables, A and B, that each use of an overload makes its own. */
#ifndef LIC_CAVEAT_OVERLOADS_H
#define LIC_CAVEAT_OVERLOADS_H

#include "caveat/bytecode.h"
#include "caveat/types.h"

typedef enum lic_cel_pattern {
    LIC_CEL_PATTERN_BOOL,
    LIC_CEL_PATTERN_INT,
    LIC_CEL_PATTERN_UINT,
    LIC_CEL_PATTERN_DOUBLE,
    LIC_CEL_PATTERN_STRING,
    LIC_CEL_PATTERN_BYTES,
    LIC_CEL_PATTERN_DURATION,
    LIC_CEL_PATTERN_TIMESTAMP,
    LIC_CEL_PATTERN_IPADDRESS,
    LIC_CEL_PATTERN_DYN,
    LIC_CEL_PATTERN_MAP_OF_ANY, /* map(string, dyn) */
    LIC_CEL_PATTERN_A,          /* from here on: with variables */
    LIC_CEL_PATTERN_B,
    LIC_CEL_PATTERN_LIST_A,
    LIC_CEL_PATTERN_MAP_AB,
    LIC_CEL_PATTERN_TYPE_A,
    LIC_CEL_PATTERN_OPTIONAL_A,
    LIC_CEL_PATTERN_OPTIONAL_B,
    LIC_CEL_PATTERN_OPTIONAL_LIST_A,
    LIC_CEL_PATTERN_OPTIONAL_MAP_AB,
    LIC_CEL_PATTERN_COUNT
} lic_cel_pattern;

#define LIC_CEL_MAX_ARGUMENTS 3

typedef struct lic_cel_overload {
    uint8_t function;
    bool    member;
    bool    mixed; /* compares two kinds of number: only where cel-go forgets to hide it (checker.c) */
    uint8_t count;
    uint8_t arguments[LIC_CEL_MAX_ARGUMENTS];
    uint8_t result;
} lic_cel_overload;

/* The overloads of a function, in the order in which they are tried. The conditional goes by LIC_CEL_FUNCTION_COUNT. */
const lic_cel_overload *lic_cel_overloads_of(lic_cel_function function, size_t *count);

/* LIC_CEL_FUNCTION_COUNT: nothing that can be called has this name. Operators have none. */
lic_cel_function lic_cel_function_find(lic_str name);
lic_str          lic_cel_function_name(lic_cel_function function);

#endif
