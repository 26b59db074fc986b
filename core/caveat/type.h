/* The types of caveat parameters: scalars, and lists and maps of them to any depth up to the limit. */
#ifndef LIC_CAVEAT_TYPE_H
#define LIC_CAVEAT_TYPE_H

#include "base/arena.h"
#include "base/str.h"

/* Name, spelling in a schema, number of type arguments. SpiceDB: scalars ignore arguments given to them. */
#define LIC_CAVEAT_TYPE_LIST(X)  \
    X(ANY, "any", 0)             \
    X(BOOL, "bool", 0)           \
    X(STRING, "string", 0)       \
    X(INT, "int", 0)             \
    X(UINT, "uint", 0)           \
    X(DOUBLE, "double", 0)       \
    X(BYTES, "bytes", 0)         \
    X(DURATION, "duration", 0)   \
    X(TIMESTAMP, "timestamp", 0) \
    X(IPADDRESS, "ipaddress", 0) \
    X(LIST, "list", 1)           \
    X(MAP, "map", 1)

typedef enum lic_caveat_type_kind {
#define LIC_CAVEAT_TYPE_ENUM(name, spelling, arguments) LIC_CAVEAT_##name,
    LIC_CAVEAT_TYPE_LIST(LIC_CAVEAT_TYPE_ENUM)
#undef LIC_CAVEAT_TYPE_ENUM
} lic_caveat_type_kind;

#define LIC_CAVEAT_MAX_TYPE_NESTING 32 /* threat-model.md 3 */

typedef struct lic_caveat_type {
    lic_caveat_type_kind          kind;
    const struct lic_caveat_type *argument; /* of list and map; NULL otherwise */
} lic_caveat_type;

/* false: no type is spelled like this. */
bool lic_caveat_type_find(lic_str spelling, lic_caveat_type_kind *kind, size_t *argument_count);
/* Appends "list<map<int>>". */
void lic_caveat_type_print(const lic_caveat_type *type, lic_text *out);

#endif
