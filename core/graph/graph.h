/* The relationship graph in native memory: integers only, no schema.
 *
 * A relationship is an edge: resource (slot, node) -> subject (slot, node). A slot is a number of lic_names, a
 * node the number of an object id within its type; node 0 of every type is the wildcard "*". The few edges that
 * hold only under a condition or for a time have the number of an attribute, which says so; the graph keeps
 * attributes and looks into none: an edge that has expired is still there, hiding it is the reader's business.
 *
 *   base    immutable pieces, one per (direction, slot, range of nodes): pointer-free sorted arrays. Forward:
 *           resource -> subjects; reverse: subject -> resources. Membership is one probe whatever the fan-out.
 *   delta   the changes since, versioned: every touched edge is one record with a short list of
 *           (revision, state), oldest of which is its state in the base. Records are found by edge, by
 *           resource and by subject.
 *   past    another delta, of the changes before: the base has them, and only who reads a revision older than
 *           the base's asks it. So history, of which there may be much, costs readers of the head nothing.
 *   attributes   a table, to the side of all: a version or a piece that names an attribute holds it.
 *
 * The edges that an empty graph is filled with at once are in the base only: of their history one number is kept, the
 * revision before which there was nothing.
 *
 * Law: of past and delta, the older one that has a record of an edge decides on it, at every revision that can be
 * read; where none has, the base does. (Between a revision and the base's, what has no record in the past did not
 * change; before its first change in the delta it was as that says.) So a merge may put new pieces in place one by
 * one, in any order, while readers run: for an edge whose piece differs there is still a record in the delta. Only when
 * all pieces are in place does a new delta without the merged records follow, with a past that has them, and only when
 * every reader of the old two has gone may the next merge begin.
 *
 * Readers pin a snapshot: one store to a slot of their own, no memory that another thread writes. They
 * never wait and never make anyone wait but the freeing of old memory. One writer at a time applies whole
 * transactions: a new revision becomes visible by one store, after all its records are in place.
 *
 * Revisions count 1, 2, 3, ... History: past revisions can be read exactly while they are inside the
 * window; but a merge gives up what lies further back than the last few thousand changes, and all of it where memory
 * is short. */
#ifndef LIC_GRAPH_GRAPH_H
#define LIC_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/names.h"
#include "base/thread.h"

#define LIC_WILDCARD_NODE 0u
#define LIC_NO_NODE UINT32_MAX /* an id that occurs nowhere */
/* Another id that occurs nowhere: equal to nothing stored, nor to LIC_NO_NODE. */
#define LIC_OTHER_NODE (UINT32_MAX - 1)

/* One end of an edge. */
typedef struct lic_ref {
    lic_slot slot;
    uint32_t node;
} lic_ref;

typedef struct lic_edge {
    lic_ref resource;
    lic_ref subject;
} lic_edge;

static inline bool lic_ref_equal(lic_ref a, lic_ref b)
{
    return a.slot == b.slot && a.node == b.node;
}

/* Slot in the upper half: the order of everything sorted in the graph. */
static inline uint64_t lic_ref_key(lic_ref ref)
{
    return (uint64_t)ref.slot << 32 | ref.node;
}

typedef struct lic_graph lic_graph;

typedef struct lic_graph_options {
    uint64_t history_window_ms; /* how long past revisions stay readable, at most; 0: 24 h */
    /* Inside the window, a merge never gives up more recent changes than these, memory permitting. 0: 4,096, or
     * a sixteenth of the edges where that is more. */
    size_t min_history_changes;
    /* So many changes make a merge due. 0: 256, or a 32nd of the edges where that is more. */
    size_t merge_changes;
    bool   no_threads; /* tests: merge in the writing call, if no reader from before the last merge is left */
    /* Ends the payload of an attribute that nobody can see any more. May be NULL. On any thread, under the write lock
     * or not: it must not call the graph. */
    void (*release_payload)(void *context, void *payload);
    void *payload_context;
} lic_graph_options;

/* names must outlive the graph and be written only under the write lock. options may be NULL. NULL: out of memory. */
lic_graph *lic_graph_new(lic_memory *memory, const lic_names *names, const lic_graph_options *options);
/* Waits for a merge in progress. No reader may be left. NULL is fine. */
void lic_graph_free(lic_graph *graph);
/* Waits for a merge in progress, which ends early, and begins no other. For closing: no writer, no reader; twice is
 * fine. */
void lic_graph_stop(lic_graph *graph);

/* ------------------------------------------------------------- object ids */

/* Any thread. LIC_NO_NODE: never seen. "*" is LIC_WILDCARD_NODE. */
uint32_t lic_graph_find_node(const lic_graph *graph, lic_type type, lic_str id);
/* Under the write lock; at most 1,024 bytes. LIC_NO_NODE: out of memory. */
uint32_t lic_graph_intern_node(lic_graph *graph, lic_type type, lic_str id);
/* Under the write lock. Forgets all ids, if no edge was ever applied: they were interned for changes that are not made after
 * all, and nobody was told one. Best effort where memory is short. */
void lic_graph_forget_nodes(lic_graph *graph);
/* Under the write lock: all nodes of the type's are below, from 1 on (0 is the wildcard). */
uint32_t lic_graph_node_end(const lic_graph *graph, lic_type type);
/* Any thread, for nodes it got from a snapshot, or that are below lic_graph_node_end(). Lives as long as the graph. */
lic_str lic_graph_node_id(const lic_graph *graph, lic_type type, uint32_t node);

/* -------------------------------------------------------------- attributes */

#define LIC_NO_ATTRIBUTE 0u
#define LIC_NEVER_EXPIRES INT64_MAX

/* What an edge may have beside its ends. Immutable. */
typedef struct lic_attribute {
    int64_t  expires_at_s;  /* since 1970; LIC_NEVER_EXPIRES. Not one number of nanoseconds: that ends in 2262 */
    uint32_t expires_at_ns; /* and so many nanoseconds, below 1,000,000,000 */
    uint32_t caveat;        /* the owner's number of the caveat */
    lic_str  context;       /* bytes as the owner stores them */
    void    *payload;       /* the owner's; ended by release_payload */
} lic_attribute;

/* Expired means that the time is not after now. */
static inline bool lic_attribute_expired(const lic_attribute *attribute, int64_t now_s, uint32_t now_ns)
{
    return attribute->expires_at_s < now_s || (attribute->expires_at_s == now_s && attribute->expires_at_ns <= now_ns);
}

/* The same in all but the payload? */
static inline bool lic_attribute_equal(const lic_attribute *a, const lic_attribute *b)
{
    return a->expires_at_s == b->expires_at_s && a->expires_at_ns == b->expires_at_ns && a->caveat == b->caveat &&
           lic_str_equal(a->context, b->context);
}

/* The attribute of a number that came from a pinned snapshot, until it is unpinned; or of one that the caller holds.
 * NULL for LIC_NO_ATTRIBUTE. Any thread, no lock. */
const lic_attribute *lic_graph_attribute(const lic_graph *graph, uint32_t attribute);

/* Under the write lock. A new number, held once by the caller. The context is copied; the payload changes
 * owners. Numbers are given again when nobody holds them. LIC_NO_ATTRIBUTE: out of memory, the payload stays the
 * caller's. */
uint32_t lic_graph_attribute_new(lic_graph *graph, const lic_attribute *content);
/* Holds it once more: several edges may share one attribute. For who may call lic_graph_attribute. */
void lic_graph_attribute_retain(lic_graph *graph, uint32_t attribute);
/* Lets go of what new() or retain() gave and apply() did not take. LIC_NO_ATTRIBUTE is fine. Any thread. */
void lic_graph_attribute_release(lic_graph *graph, uint32_t attribute);

/* ---------------------------------------------------------------- reading */

typedef struct lic_delta lic_delta;
typedef struct lic_base  lic_base;

/* What a reader sees: everything committed up to `revision`, and nothing later. Lives on the reader's stack;
 * must not outlive the pin. Hold it for one request, never across a wait. */
typedef struct lic_snapshot {
    const lic_graph *graph;
    const lic_delta *delta;
    const lic_delta *past; /* NULL: the revision is the base's or a later one */
    const lic_base  *base; /* that the delta is about */
    uint64_t         revision;
    uint32_t         reader; /* the slot that is pinned */
    void *owner; /* of who made the graph for this request alone; NULL: nobody did. The graph looks not at it */
} lic_snapshot;

typedef enum lic_pin {
    LIC_PIN_OK,
    LIC_PIN_EXPIRED, /* older than the retained history */
    LIC_PIN_FUTURE   /* not reached yet */
} lic_pin;

/* Pins the head. Never fails, never blocks. */
void lic_snapshot_pin(const lic_graph *graph, lic_snapshot *snapshot);
/* Pins a past revision. Nothing is pinned unless LIC_PIN_OK. */
lic_pin lic_snapshot_pin_at(const lic_graph *graph, uint64_t revision, lic_snapshot *snapshot);
void    lic_snapshot_unpin(lic_snapshot *snapshot);
/* Waits until no snapshot is pinned. For closing: whoever still pins one lets go of it at once. */
void lic_graph_await_readers(lic_graph *graph);

/* lic_graph_find_node for who has a snapshot: cheaper, it needs no pin of its own. */
uint32_t lic_snapshot_find_node(const lic_snapshot *snapshot, lic_type type, lic_str id);

/* Is the edge there? One probe. Unknown nodes are fine: no. */
bool lic_snapshot_has(const lic_snapshot *snapshot, lic_ref resource, lic_ref subject);
/* The same, with the edge's attribute; LIC_NO_ATTRIBUTE when it has none or is not there. */
bool lic_snapshot_find(const lic_snapshot *snapshot, lic_ref resource, lic_ref subject, uint32_t *attribute);

/* The far ends of the edges at one end: those of the base in order of lic_ref_key, then those that past and delta
 * know, slot by slot, in no particular order. Each edge comes exactly once. A walk is plain memory and needs no
 * end. */
typedef struct lic_walk {
    const lic_snapshot *snapshot;
    uint64_t            origin; /* as a key */
    const void         *piece;  /* of the base: its remaining keys */
    uint32_t            next;
    uint32_t            end;
    uint32_t            record;    /* of past or delta: the next one of the origin's records */
    uint32_t            group;     /* the first of its records that have the same far slot */
    uint32_t            limit;     /* later records of the delta are of later revisions */
    uint32_t            attribute; /* of the edge that came last */
    bool                reverse;
    bool                one_slot;   /* only the far ends of one slot */
    bool                touched;    /* the origin has records: base keys must be held against them */
    bool                attributed; /* the piece has attributes */
    bool                plain;      /* neither: its keys are the far ends, and that is all */
    bool                in_past;    /* record is one of the past's */
} lic_walk;

/* All subjects of a resource / only those of one slot (`group:...#member` among a million users: found by
 * binary search, not by looking at all). */
void lic_walk_subjects(const lic_snapshot *snapshot, lic_ref resource, lic_walk *walk);
void lic_walk_subjects_in(const lic_snapshot *snapshot, lic_ref resource, lic_slot subject_slot, lic_walk *walk);
/* All resources of a subject / only those of one slot. */
void lic_walk_resources(const lic_snapshot *snapshot, lic_ref subject, lic_walk *walk);
void lic_walk_resources_in(const lic_snapshot *snapshot, lic_ref subject, lic_slot resource_slot, lic_walk *walk);
/* false: no more. */
bool lic_walk_next(lic_walk *walk, lic_ref *end);

/* For walks over all subjects that have not gone on yet, so that one look at a resource is enough: does it lead to
 * this subject? Yields the edge's attribute as lic_snapshot_find does. / Only the subjects of one slot from here on. */
bool lic_walk_has(const lic_walk *walk, lic_ref subject, uint32_t *attribute);
void lic_walk_narrow(lic_walk *walk, lic_slot subject_slot);

/* For walks over one slot that have not gone on yet. `walk` keeps what comes in order, `rest` gets what does not; */
void lic_walk_split(lic_walk *walk, lic_walk *rest);
/* and one that was split leaves out what lies before `from`, a far end of that slot. */
void lic_walk_seek(lic_walk *walk, lic_ref from);

/* The subjects of a resource, for who wants to look at them all at once. Two words, so that it comes in registers. */
typedef struct lic_glance {
    const uint64_t *keys; /* sorted */
    uint32_t        count;
    uint32_t        touched; /* not 0: keys is not all, or more than all, or some have attributes: walk them */
} lic_glance;

lic_glance lic_snapshot_glance(const lic_snapshot *snapshot, lic_ref resource);

/* Edges of a resource slot in order of (resource node, subject key): the same order at every revision, so
 * a position in it is good for a cursor. */
typedef struct lic_scan lic_scan;

/* Starts after `after` (NULL: at the start). Lives in the arena; the snapshot must stay pinned. NULL: out of memory. */
lic_scan *lic_snapshot_scan(const lic_snapshot *snapshot, lic_arena *arena, lic_slot resource_slot,
                            const lic_edge *after);
/* *found is false at the end. false: out of memory. */
bool lic_scan_next(lic_scan *scan, lic_edge *edge, bool *found);
/* The attribute of the edge that came last. */
uint32_t lic_scan_attribute(const lic_scan *scan);

/* ---------------------------------------------------------------- writing */

typedef struct lic_change {
    lic_edge edge;
    bool     present;   /* the edge's state after the transaction */
    uint32_t attribute; /* its attribute, held by the caller; of absent edges LIC_NO_ATTRIBUTE */
} lic_change;

/* The write lock: one writer. Checks that a write rests on are made under it. Not recursive. */
void lic_graph_lock(lic_graph *graph);
void lic_graph_unlock(lic_graph *graph);

/* Under the lock. Applies all changes as one transaction or, out of memory, none. Edges are distinct; a change
 * that changes nothing is fine. A present edge may change its attribute alone; an equal one changes nothing. The
 * caller's hold of each attribute is taken, unless it fails. No changes still make a revision. *revision is the new
 * head. May start a merge. */
bool lic_graph_apply(lic_graph *graph, const lic_change *changes, size_t count, uint64_t *revision);

/* Under the lock. The same for a graph that nothing was ever written to, and for changes that only add edges, many at
 * once: quicker, and in less memory. It takes no history either: as long as what came since is kept, an older revision
 * is known to be empty, and this one's changes are the edges that it has. false: there is something in the graph, an
 * edge comes twice, something is absent, or memory is short; nothing was changed, and lic_graph_apply() does it, or says
 * no. */
bool lic_graph_fill(lic_graph *graph, const lic_change *changes, size_t count, uint64_t *revision);

/* Under the lock. For a graph with edges, after lic_graph_apply() found no memory for changes that only add edges which
 * are not there, and gave up all history for it: makes a new base of the old one's edges and these. That takes 100 bytes
 * for each of both, in place of 256 for each change. false: memory is too short for that too, an edge is there twice, or
 * a reader keeps the graph from being merged; nothing was changed. */
bool lic_graph_refill(lic_graph *graph, const lic_change *changes, size_t count, uint64_t *revision);

/* The newest and the oldest revision that can be read. Any thread. */
uint64_t lic_graph_head(const lic_graph *graph);
uint64_t lic_graph_oldest(const lic_graph *graph);

/* Frees something of the owner's that readers may still look at: release(context, thing) is called when every
 * reader that pinned before this call has gone. Under the lock. false: out of memory, nothing was scheduled. */
bool lic_graph_retire(lic_graph *graph, void (*release)(void *context, void *thing), void *context, void *thing);

/* Merges all changes, now, in this thread, and keeps the history that window and min_history_changes demand; waits for
 * a merge in progress, and for readers that pinned before the last one ended: the caller itself must hold no snapshot.
 * For tests, benchmarks and idle time. Not under the lock. false: out of memory, the graph is as it was. */
bool lic_graph_merge(lic_graph *graph);
/* The same, giving up all history: afterwards only the head can be read. */
bool lic_graph_merge_all(lic_graph *graph);

/* ------------------------------------------------------------- fork, sizes */

/* Around fork(), on the forking thread: before() takes the write lock, parent() and child() give it back. The child
 * keeps the graph as of the fork; readers and a merge of threads that it does not have are forgotten, their memory
 * leaked once at most. It merges in the writing call from then on. */
void lic_graph_before_fork(lic_graph *graph);
void lic_graph_after_fork_parent(lic_graph *graph);
void lic_graph_after_fork_child(lic_graph *graph);

typedef struct lic_graph_sizes {
    uint64_t edges;           /* at head */
    uint64_t nodes;           /* ids seen, without wildcards */
    uint64_t id_bytes;        /* memory for the id strings themselves */
    uint64_t graph_bytes;     /* all other memory of the graph */
    uint64_t delta_changes;   /* not merged yet */
    uint64_t history_changes; /* merged, and kept for older revisions */
    uint64_t merges;
    uint64_t attributes; /* in use; their memory is among graph_bytes */
} lic_graph_sizes;

void lic_graph_measure(const lic_graph *graph, lic_graph_sizes *sizes);

#endif
