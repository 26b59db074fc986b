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
 * Unknown names have no edge. */
typedef struct lic_edges {
    const lic_resolved *resolved;
    uint32_t            node_count;
    uint32_t           *first; /* member m: to[first[m] .. first[m + 1]); an arrow's are its targets */
    uint32_t           *to;
    /* component[n]: numbered so that an edge never leads to a greater number than it starts from. order: the
     * nodes by component, smallest first. */
    uint32_t *component;
    uint32_t *order;
    uint32_t  component_count;
} lic_edges;

/* Where the edges of a node lead. */
typedef struct lic_successors {
    const uint32_t *nodes;
    uint32_t        count;
} lic_successors;

static inline lic_successors lic_edges_of(const lic_edges *edges, uint32_t node)
{
    const lic_resolved *r = edges->resolved;
    const lic_arrow    *arrow;

    if (node < r->member_count)
        return (lic_successors){ edges->to + edges->first[node], edges->first[node + 1] - edges->first[node] };
    arrow = &r->arrows[node - r->member_count];
    return (lic_successors){ r->targets + arrow->first_target, arrow->target_count };
}

/* Lives in the arena; keeps views into resolved. false: out of memory. */
bool lic_edges_find(lic_arena *arena, const lic_resolved *resolved, lic_edge_set set, lic_edges *edges);

/* Whether a node lies on a cycle, if only on one with itself. */
bool lic_edges_cyclic(const lic_edges *edges, uint32_t node);

/* For each component the types with the numbers 64 * word .. + 63 that can be reached, as bits.
 * terminal: only types that are allowed as an object or wildcard (SpiceDB's "terminal types", for annotations).
 * Otherwise every type that a subject found on the way can have, identity and `self` included. */
void lic_reach_column(const lic_edges *edges, bool terminal, uint32_t word, uint64_t *columns);

#endif
