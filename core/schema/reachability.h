/* Evaluation backwards: from which relations and permissions can a target be reached, and how? For lookups, which begin
 * at the subject. Made for one target and one subject's type; its size is that of what can be reached, not the schema's.
 *
 * A goal is a relation or permission of an object. An entry leads from all goals of one relation to goals of another: by
 * a name on the same object, or by the rows whose subject is the goal (a userset) or the goal's object (an arrow). Who is
 * in the target is in some goal that leads there, all the way from a row of the subject's, its identity or a `self`. Of an
 * intersection only the first operand leads on, since its members are in each; of an exclusion only the base does. */
#ifndef LIC_SCHEMA_REACHABILITY_H
#define LIC_SCHEMA_REACHABILITY_H

#include "schema/program.h"

#define LIC_NO_ENTRY UINT32_MAX

typedef struct lic_entry {
    uint32_t to;   /* index in relations */
    lic_rel  rows; /* whose rows lead there; LIC_NO_REL: it is a name on the same object */
    lic_slot slot; /* of the rows' subjects */
    uint32_t cost; /* of depth, 0 or 1 (api.md 4.9); rows: 1 */
    bool     bare; /* rows without an attribute count */
    bool     open; /* being in the one does not mean being in the other: an operator or .all() lies between */
    uint32_t next; /* the next entry of the same origin */
} lic_entry;

/* How `self` stands in a permission. */
typedef enum lic_self { LIC_SELF_NONE, LIC_SELF_DECIDES, LIC_SELF_OPEN } lic_self;

typedef struct lic_reachable {
    lic_rel  relation;
    lic_self self;
    uint32_t first_entry;
    /* Leads to the target by names alone, so the object is an answer already, and to no other object. */
    bool     is_final;
    uint32_t depth; /* final: from it to the target at least; UINT32_MAX: only by entries that are open */
} lic_reachable;

typedef struct lic_reachability {
    lic_reachable *relations; /* the target first; none at all: no such subject reaches it */
    size_t         count;
    lic_entry     *entries;
    size_t         entry_count;
    uint32_t      *numbers; /* by lic_rel: its index in relations, plus 1 */
} lic_reachability;

/* subject: the definition of its type. All lives in the arena. false: out of memory. */
bool lic_reachability_find(lic_arena *arena, const lic_program *program, lic_rel target, uint32_t subject,
                           lic_reachability *found);

#endif
