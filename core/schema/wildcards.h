/* Which relations may hold everybody: SpiceDB's search with its cache, which decides what is accepted, and the
 * true answer, which only lints use (schema.md 12 and 18). */
#ifndef LIC_SCHEMA_WILDCARDS_H
#define LIC_SCHEMA_WILDCARDS_H

#include "schema/edges.h"

/* SpiceDB's search. It remembers results by relation name alone, so that one clean `member` clears the `member` of
 * every other definition. Accepting what SpiceDB accepts means making the same slip: in particular the order of
 * searches is part of the result. */
typedef struct lic_wildcard_search {
    const lic_resolved    *resolved;
    bool                  *clean; /* per name */
    bool                  *seen;  /* per member. Never reset: what was seen in an earlier search is clean by name */
    struct wildcard_frame *stack;
} lic_wildcard_search;

/* The relation that allows a wildcard and was found from another one. */
typedef struct lic_wildcard_finding {
    lic_rel             relation; /* LIC_NO_REL: none was found */
    const lic_ast_type *type;
} lic_wildcard_finding;

bool lic_wildcard_search_init(lic_wildcard_search *search, lic_arena *arena, const lic_resolved *resolved);
lic_wildcard_finding lic_wildcard_find(lic_wildcard_search *search, lic_rel relation);

/* wild[m]: the relation m allows a wildcard, or a subject relation that does so in turn. NULL: out of memory. */
bool *lic_find_wildcards(lic_arena *arena, const lic_resolved *resolved);

#endif
