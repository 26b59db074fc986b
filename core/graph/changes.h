/* What revisions changed: the logs of a graph's deltas, read in order; and of the one that filled the graph, what it has
 * then. Nothing is kept for that beside them. */
#ifndef LIC_GRAPH_CHANGES_H
#define LIC_GRAPH_CHANGES_H

#include "graph/graph.h"

/* One edge that a revision changed. */
typedef struct lic_logged {
    lic_edge edge;
    bool     present;   /* it is there from then on */
    uint32_t attribute; /* the one it has; of an edge that went, the one it had */
} lic_logged;

/* The changes of one revision. Plain memory that needs no end, and can't be copied once it is begun. */
typedef struct lic_changes {
    const lic_delta *delta;
    uint64_t         revision;
    uint32_t         next; /* in the delta's log */
    uint32_t         end;
    /* Of the revision that filled the graph: */
    bool         filled;
    lic_snapshot then; /* that revision, under the caller's pin */
    lic_slot     slot; /* the next one */
    lic_scan    *scan; /* of the one before; NULL: it has ended */
} lic_changes;

/* The first revision behind `after`, up to `through` and to what the snapshot shows, that changed anything. false: none
 * has. What lies further back than the history reaches is not found: lic_changes_kept() tells. */
bool lic_changes_after(const lic_snapshot *snapshot, uint64_t after, uint64_t through, lic_changes *changes);

/* In the order in which they were made, but what filled the graph in the order of scans; each edge once. *found is false
 * at the end. The attribute can be looked at while the snapshot is pinned. Scratch, always the same: what reading needs
 * on the way. false: out of memory. */
bool lic_changes_next(lic_changes *changes, lic_arena *scratch, lic_logged *change, bool *found);

/* Is all still known that was changed behind the revision? Law: asked after lic_changes_after(), by the same
 * snapshot; history that is given up is first declared gone, then taken away. */
bool lic_changes_kept(const lic_snapshot *snapshot, uint64_t after);

#endif
