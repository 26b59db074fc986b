/* The graph's own struct, for the files of this folder. */
#ifndef LIC_GRAPH_STATE_H
#define LIC_GRAPH_STATE_H

#include "graph/attributes.h"
#include "graph/base.h"
#include "graph/delta.h"
#include "graph/graph.h"
#include "graph/history.h"
#include "graph/nodes.h"

/* What is known of a resource slot; there is one for every slot below the highest that was written. */
typedef struct lic_slot_state {
    _Atomic uint32_t ranges; /* its edges' resources lie below range number `ranges` */
} lic_slot_state;

typedef enum lic_merge_stage {
    LIC_MERGE_IDLE,
    LIC_MERGE_WORKING,
    LIC_MERGE_READY, /* pieces are in place, the next delta lacks only the newest changes: who has the lock ends it */
    LIC_MERGE_SWAPPED,
    LIC_MERGE_FAILED
} lic_merge_stage;

typedef struct lic_merge {
    _Atomic int stage; /* a lic_merge_stage. Leaves IDLE under the write lock */
    lic_delta  *from;
    lic_delta  *next;
    uint32_t    cut;        /* entries of from's log that go into the base */
    uint32_t    copied;     /* entries of from's log that the base or `next` have */
    uint64_t    settled;    /* the revision that the base will be at */
    uint64_t    horizon;    /* the oldest that can still be read then */
    uint64_t    grace;      /* epoch of the last swap: its readers must have gone before a piece is replaced */
    uint32_t    not_before; /* after a failure: no new attempt until the log is this long */

    _Atomic size_t largest_piece; /* bytes, after the last merge: what rewriting it takes */

    bool      joinable; /* `thread` ran the last merge and was not joined */
    pthread_t thread;
} lic_merge;

struct lic_graph {
    /* What readers load; it changes rarely. */
    _Atomic(lic_delta *) delta;
    lic_base            *base; /* owned; another one only while no merge runs */
    lic_edge_seed        seed;
    lic_epochs           epochs;
    lic_attributes       attributes;

    /* What the writer changes. */
    _Alignas(128) _Atomic uint64_t head;
    _Atomic uint64_t horizon;
    _Atomic uint64_t edges;
    _Atomic uint64_t merges;
    _Atomic bool     closing;
    lic_chunks       slots; /* lic_slot_state */
    lic_nodes        nodes;
    lic_history      history;
    size_t           min_history_changes; /* 0: by the number of edges */
    size_t           merge_changes;       /* 0: by the number of edges */
    bool             no_threads;
    bool             had_edges; /* ever */
    lic_mutex        lock;      /* the write lock */
    lic_merge        merge;
    void            *block;  /* what was allocated, not yet aligned */
    lic_memory      *owner;  /* whose memory it is */
    lic_memory       memory; /* the same, counting what is the graph's */
};

#endif
