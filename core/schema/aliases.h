/* Permissions that are nothing but another name, and the cycles they may form (error A1). */
#ifndef LIC_SCHEMA_ALIASES_H
#define LIC_SCHEMA_ALIASES_H

#include "schema/edges.h"

/* alias_of[m]: what the alias m finally names; LIC_NO_REL when that is nothing (a cycle, or an unknown name); m itself
 * when it is no alias. One for each member, in the arena. NULL: out of memory. */
lic_rel *lic_find_aliases(lic_arena *arena, const lic_resolved *resolved);

/* A1. The message names every alias that has no end and lists each cycle's members in order, each with its
 * place; beside them, since the author is mending cycles, those that go through operators, which are legal. */
licet_status lic_check_aliases(lic_arena *arena, const lic_resolved *resolved, const lic_rel *alias_of,
                               licet_error **error);

/* Appends the shortest cycle through a node of a cycle, in order, as "aaa (3:5) -> bbb (4:5) -> aaa". edges: those of
 * LIC_EDGES_NAMES. false: out of memory. */
bool lic_add_cycle(lic_arena *arena, const lic_resolved *resolved, const lic_edges *edges, lic_rel start,
                   lic_text *out);

#endif
