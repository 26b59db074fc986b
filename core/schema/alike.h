/* Two programs of the same names, member by member (a member is a relation or permission): which are computed alike in
 * both, so that they mean the same whatever is stored?
 *
 * A member that is in one program only is not. Nor is one that is written in another way, or that leads to one that is
 * not, by name, arrow or userset. What is computed differently may still come to the same: that is not looked into. */
#ifndef LIC_SCHEMA_ALIKE_H
#define LIC_SCHEMA_ALIKE_H

#include "schema/program.h"

/* LIC_NO_REL: the program has no such member. */
typedef struct lic_member_pair {
    lic_rel before;
    lic_rel after;
} lic_member_pair;

/* A definition some of whose members are not alike. LIC_NO_DEFINITION: the program has no such definition. */
typedef struct lic_definition_pair {
    uint32_t               before;
    uint32_t               after;
    const lic_member_pair *members; /* that are not alike */
    size_t                 member_count;
} lic_definition_pair;

/* In the order of `after`, then what only `before` has in its order. */
typedef struct lic_unlike {
    lic_definition_pair *definitions;
    size_t               definition_count;
} lic_unlike;

/* Lives in the arena; scratch memory comes from there too. Linear in the programs. false: out of memory. */
bool lic_find_unlike(lic_arena *arena, const lic_program *before, const lic_program *after, lic_unlike *unlike);

#endif
