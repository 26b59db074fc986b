/* Names as small integers: the graph's vocabulary.
 *
 * A *type* is a number per type name. A *slot* is a number per pair (type, relation); the pair
 * (type, "...") is the object itself and every type has it. Programs are compiled against one lic_names and
 * the graph stores only its numbers, so a schema change never renumbers what is stored. A *caveat* is a number per
 * caveat name, likewise.
 *
 * Append-only. One writer at a time (the owner's write lock); numbers handed out stay valid for ever, and
 * any thread may ask for a number's name, as long as it got the number after it was published to it. */
#ifndef LIC_BASE_NAMES_H
#define LIC_BASE_NAMES_H

#include "str.h"

typedef uint32_t lic_type;
typedef uint32_t lic_slot;

#define LIC_NO_TYPE UINT32_MAX
#define LIC_NO_SLOT UINT32_MAX
#define LIC_NO_CAVEAT_NAME UINT32_MAX
#define LIC_ELLIPSIS LIC_STR("...")

typedef struct lic_names lic_names;

lic_names *lic_names_new(lic_memory *memory); /* NULL: out of memory */
void       lic_names_free(lic_names *names);

/* Writer. LIC_NO_TYPE / LIC_NO_SLOT: out of memory. A new type gets its "..." slot too. */
lic_type lic_names_type(lic_names *names, lic_str type);
lic_slot lic_names_slot(lic_names *names, lic_type type, lic_str relation);
uint32_t lic_names_caveat(lic_names *names, lic_str name); /* LIC_NO_CAVEAT_NAME: out of memory */

/* Any thread. Counts only ever grow. */
size_t   lic_names_slot_count(const lic_names *names);
lic_slot lic_names_ellipsis(const lic_names *names, lic_type type);
lic_type lic_names_type_of(const lic_names *names, lic_slot slot);
lic_str  lic_names_type_name(const lic_names *names, lic_type type);
lic_str  lic_names_relation_name(const lic_names *names, lic_slot slot);
size_t   lic_names_caveat_count(const lic_names *names);
lic_str  lic_names_caveat_name(const lic_names *names, uint32_t caveat);

#endif
