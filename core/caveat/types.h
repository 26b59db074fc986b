/* The types of CEL expressions: what the checker works with. A caveat parameter's type (type.h) is one spelling of
 * them.
 *
 * Immutable; in an arena or static. `size` counts the nodes of a type written out: types share their parts, so a few
 * nested maps could stand for more nodes than there is memory. */
#ifndef LIC_CAVEAT_TYPES_H
#define LIC_CAVEAT_TYPES_H

#include "caveat/type.h"

#define LIC_CEL_MAX_TYPE_SIZE 4096 /* nodes */

/* Name, spelling in messages; for those without parameters. */
#define LIC_CEL_SIMPLE_TYPE_LIST(X) \
    X(ERROR, "!error!")             \
    X(DYN, "dyn")                   \
    X(NULL, "null")                 \
    X(BOOL, "bool")                 \
    X(INT, "int")                   \
    X(UINT, "uint")                 \
    X(DOUBLE, "double")             \
    X(STRING, "string")             \
    X(BYTES, "bytes")               \
    X(DURATION, "duration")         \
    X(TIMESTAMP, "timestamp")       \
    X(IPADDRESS, "IPAddress")

typedef enum lic_cel_type_kind {
#define LIC_CEL_TYPE_ENUM(name, spelling) LIC_CEL_TYPE_##name,
    LIC_CEL_SIMPLE_TYPE_LIST(LIC_CEL_TYPE_ENUM)
#undef LIC_CEL_TYPE_ENUM
        LIC_CEL_TYPE_LIST, /* of parameters[0] */
    LIC_CEL_TYPE_MAP,      /* from parameters[0] to parameters[1] */
    LIC_CEL_TYPE_OPTIONAL, /* of parameters[0] */
    LIC_CEL_TYPE_TYPE,     /* the type of types; of parameters[0], or nothing known about it */
    LIC_CEL_TYPE_VARIABLE  /* still to be found out */
} lic_cel_type_kind;

typedef struct lic_cel_type {
    lic_cel_type_kind          kind;
    bool                       open;     /* a variable is in it */
    uint8_t                    count;    /* of parameters */
    uint32_t                   variable; /* number of a VARIABLE */
    uint32_t                   size;     /* nodes; at most LIC_CEL_MAX_TYPE_SIZE */
    const struct lic_cel_type *parameters[2];
} lic_cel_type;

/* The one of a kind without parameters (also "type" of nothing known). */
const lic_cel_type *lic_cel_type_simple(lic_cel_type_kind kind);

/* LIST, MAP, OPTIONAL, TYPE. *too_large (may be NULL when it can't be) and NULL: past LIC_CEL_MAX_TYPE_SIZE; NULL:
 * out of memory. */
const lic_cel_type *lic_cel_type_new(lic_arena *arena, lic_cel_type_kind kind, const lic_cel_type *first,
                                     const lic_cel_type *second, bool *too_large);
const lic_cel_type *lic_cel_type_variable(lic_arena *arena, uint32_t number);

/* As the checker sees a caveat parameter: SpiceDB checks uint as int, and maps have string keys. NULL: out of memory. */
const lic_cel_type *lic_cel_type_of(lic_arena *arena, const lic_caveat_type *type);

/* "map(string, list(dyn))", for types that no caveat parameter has. false and *out == NULL: no type is spelled like
 * this, or it is too large; false and *memory_failed: out of memory. */
bool lic_cel_type_parse(lic_arena *arena, lic_str spelling, const lic_cel_type **out, bool *memory_failed);

/* Appends "map(string, dyn)"; types with very many parts are cut with "...". */
void lic_cel_type_print(const lic_cel_type *type, lic_text *out);

#endif
