/* Who needs whom among the members of a schema, and what follows from it: strongly connected components, and
 * which types can be reached. No recursion; linear in the edges. */
#ifndef LIC_SCHEMA_EDGES_H
#define LIC_SCHEMA_EDGES_H

#include "schema/resolve.h"

typedef enum lic_edge_set {
    LIC_EDGES_ALL,     /* names, arrows' targets, subject relations */
    LIC_EDGES_NAMES,   /* names in permissions only: same object */
    LIC_EDGES_USERSETS /* subject relations only */
} lic_edge_set;

/* Nodes are the members, then (of LIC_EDGES_ALL) the arrows, so that arrows written often share their targets.
 * Successors of node n are to[first[n] .. first[n + 1]). Unknown names have no edge. */
typedef struct lic_edges {
    uint32_t  node_count;
    uint32_t *first;
    uint32_t *to;
    /* component[n]: numbered so that an edge never leads to a greater number than it starts from. order: the
     * nodes by component, smallest first. */
    uint32_t *component;
    uint32_t *order;
    uint32_t  component_count;
} lic_edges;

/* Lives in the arena. false: out of memory. */
bool lic_edges_find(lic_arena *arena, const lic_resolved *resolved, lic_edge_set set, lic_edges *edges);

/* Whether a node lies on a cycle, if only on one with itself. */
bool lic_edges_cyclic(const lic_edges *edges, uint32_t node);

/* For each component the types with the numbers 64 * word .. + 63 that can be reached, as bits.
 * terminal: only types that are allowed as an object or wildcard (SpiceDB's "terminal types", for annotations).
 * Otherwise every type that a subject found on the way can have, identity and `self` included. */
void lic_reach_column(const lic_resolved *resolved, const lic_edges *edges, bool terminal, uint32_t word,
                      uint64_t *columns);

#endif
