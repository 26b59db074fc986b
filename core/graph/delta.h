/* A delta: changes of a stretch of revisions, in versions. A graph has two at most (graph.h): the live one, of what
 * came since the base, and that one's past, of what the base has already.
 *
 *   log      every change in order: revision, the record it belongs to. A merge folds the live one's.
 *   records  one per touched edge. Its first version is inside, later ones are chained in the log, newest first.
 *            Only changes that change something are logged. So without attributes an edge's state alternates, and
 *            its state before the delta is the opposite of its first version.
 *   transitions  to the side, by index in the log: of versions where attributes come in, the states around them
 *   edges    hash: edge -> record
 *   origins  hash, per direction: one end -> its records, grouped by the slot of the far end
 *   ranges   hash: direction, slot, range of nodes -> the records in it, for merges and scans
 *
 * One writer appends to the live one, readers run beside it. Records, log and ranges never move; a hash that is full
 * is replaced and retired. Law: what a transaction adds is linked before its revision is published, and a revision's
 * versions are later than every reader that pinned before; such a reader takes a record it didn't know for the base's
 * state. A past is complete before anyone sees it, and stays as it is.
 *
 * Of a graph that was filled at once (lic_graph_fill) no log has the edges that it was filled with. They are the changes
 * of the revision `filled`, and what the graph has then; before it, back to the horizon, it has none. */
#ifndef LIC_GRAPH_DELTA_H
#define LIC_GRAPH_DELTA_H

#include "graph/attributes.h"
#include "graph/base.h"
#include "graph/chunks.h"

/* A version: the revision, and in the lowest bits whether the edge is there from then on, and whether the states
 * before and after are in the log's transitions. */
#define LIC_VERSION_PRESENT UINT64_C(1)
#define LIC_VERSION_ATTRIBUTED UINT64_C(2)

static inline uint64_t lic_version_revision(uint64_t version)
{
    return version >> 2;
}

static inline bool lic_version_present(uint64_t version)
{
    return version & LIC_VERSION_PRESENT;
}

typedef struct lic_record {
    uint64_t         ends[2];       /* keys: resource, subject; by the direction that starts there */
    uint64_t         first;         /* its first version */
    uint32_t         first_entry;   /* whose index in the log this is */
    _Atomic uint32_t newest;        /* index in the log; LIC_NONE: there is only the first */
    _Atomic uint32_t next[2];       /* record of the same origin and far slot */
    uint32_t         next_group[2]; /* of the first of such a group: the first of the origin's next group */
    uint32_t         next_in_range[2];
} lic_record;

typedef struct lic_log_entry {
    uint64_t version;
    uint32_t record;
    uint32_t older; /* index in the log; LIC_NONE: the record's first is next */
} lic_log_entry;

/* Both attributes are held. */
typedef struct lic_transition {
    lic_edge_state before;
    lic_edge_state after;
} lic_transition;

typedef struct lic_range_entry {
    lic_slot         slot;
    uint32_t         range;
    lic_direction    direction;
    _Atomic uint32_t records; /* the newest; LIC_NONE: none yet */
} lic_range_entry;

/* Open addressing; upper half of a slot: hash, lower half: index + 1; 0: free.
 *
 * Before the slots lie four bits for each, of which an entry sets the one that its mark names. Most of what is looked
 * up is not there, and a bit tells so of six in seven: one load, from an array that is 16 times as dense. The mark is
 * the hash, but of origins something that is made faster. */
typedef struct lic_index {
    size_t            capacity; /* a power of two, at least 16 */
    _Atomic uint64_t *slots;
    _Atomic uint64_t  filter[];
} lic_index;

struct lic_delta {
    /* What every reader loads. */
    _Atomic uint64_t     head;    /* the newest revision it holds */
    _Atomic uint64_t     horizon; /* the oldest, with its past */
    _Atomic(lic_index *) edges;   /* NULL: no records */
    _Atomic(lic_index *) origins[2];
    const lic_base      *base; /* the live one's: what it holds the changes since */
    const lic_edge_seed *seed;
    _Atomic uint32_t     record_count;
    _Atomic uint32_t     log_count;
    _Atomic uint32_t     range_count;
    uint64_t             settled; /* where it begins: the base's revision */
    uint64_t             filled;  /* 0: the graph was not, or before the horizon; read with the past, if not settled */
    lic_slot             filled_slots; /* the slots of the resources that it was filled with are below */
    _Atomic(lic_delta *) past;         /* the changes in (horizon, settled]; owned. NULL: none can be read */
    uint32_t             origin_count[2];
    bool                 shared;     /* readers may see it: replaced hashes must wait for them */
    bool                 attributed; /* some version is */
    _Atomic(lic_index *) ranges;
    lic_memory          *memory;
    lic_epochs          *epochs;
    lic_attributes      *attributes;
    lic_chunks           records;
    lic_chunks           log;
    lic_chunks           transitions; /* as long as the log, but with gaps where there were no attributes yet */
    lic_chunks           range_entries;
};

static inline lic_record *lic_delta_record(const lic_delta *delta, uint32_t index)
{
    return lic_chunks_at(&delta->records, index, sizeof(lic_record));
}

static inline lic_log_entry *lic_delta_entry(const lic_delta *delta, uint32_t index)
{
    return lic_chunks_at(&delta->log, index, sizeof(lic_log_entry));
}

static inline lic_transition *lic_delta_transition(const lic_delta *delta, uint32_t index)
{
    return lic_chunks_at(&delta->transitions, index, sizeof(lic_transition));
}

static inline lic_range_entry *lic_delta_range(const lic_delta *delta, uint32_t index)
{
    return lic_chunks_at(&delta->range_entries, index, sizeof(lic_range_entry));
}

static inline bool lic_index_may_hold(const lic_index *index, uint32_t mark)
{
    size_t bit = mark & (4 * index->capacity - 1);

    return atomic_load_explicit(&index->filter[bit / 64], memory_order_relaxed) >> (bit % 64) & 1;
}

/* Slots of an index that may hold `hash`, one after another: *position is where to go on. LIC_NONE: no more. */
static inline uint32_t lic_index_next(const lic_index *index, uint32_t hash, size_t *position)
{
    size_t mask = index->capacity - 1;

    for (;;) {
        uint64_t slot = atomic_load_explicit(&index->slots[*position & mask], memory_order_acquire);

        if (slot == 0)
            return LIC_NONE;
        (*position)++;
        if (slot >> 32 == hash)
            return (uint32_t)slot - 1;
    }
}

/* The edge's record, or LIC_NONE. hash: lic_edge_hash. Pinned, or the writer. */
static inline uint32_t lic_delta_find(const lic_delta *delta, uint64_t resource_key, uint64_t subject_key,
                                      uint64_t hash)
{
    const lic_index *index    = atomic_load(&delta->edges);
    uint32_t         tag      = (uint32_t)(hash >> 32);
    size_t           position = tag;
    uint32_t         found;

    if (index == NULL || !lic_index_may_hold(index, tag))
        return LIC_NONE;
    while ((found = lic_index_next(index, tag, &position)) != LIC_NONE) {
        const lic_record *record = lic_delta_record(delta, found);

        if (record->ends[LIC_FORWARD] == resource_key && record->ends[LIC_REVERSE] == subject_key)
            break;
    }
    return found;
}

/* The state after a version that is at `index` of the log. */
static inline lic_edge_state lic_delta_after(const lic_delta *delta, uint32_t index, uint64_t version)
{
    if ((version & LIC_VERSION_ATTRIBUTED) != 0)
        return lic_delta_transition(delta, index)->after;
    return lic_version_present(version) ? LIC_NO_ATTRIBUTE : LIC_ABSENT;
}

/* The state before it. */
static inline lic_edge_state lic_delta_before(const lic_delta *delta, uint32_t index, uint64_t version)
{
    if ((version & LIC_VERSION_ATTRIBUTED) != 0)
        return lic_delta_transition(delta, index)->before;
    return lic_version_present(version) ? LIC_ABSENT : LIC_NO_ATTRIBUTE;
}

/* The state of the record's edge at the revision. */
static inline lic_edge_state lic_delta_state(const lic_delta *delta, const lic_record *record, uint64_t revision)
{
    uint32_t at = atomic_load_explicit(&record->newest, memory_order_acquire);

    for (; at != LIC_NONE; at = lic_delta_entry(delta, at)->older) {
        uint64_t version = lic_delta_entry(delta, at)->version;

        if (lic_version_revision(version) <= revision)
            return lic_delta_after(delta, at, version);
    }
    if (lic_version_revision(record->first) <= revision)
        return lic_delta_after(delta, record->first_entry, record->first);
    return lic_delta_before(delta, record->first_entry, record->first);
}

static inline uint32_t lic_origin_hash(const lic_delta *delta, lic_direction direction, uint64_t origin)
{
    return (uint32_t)(lic_edge_hash(delta->seed, origin, direction) >> 32);
}

/* Neighbours, which are often written together, get neighbouring bits. Who can foresee the bits that are set gains
 * nothing but a look at the hash. */
static inline uint32_t lic_origin_mark(uint64_t origin)
{
    return (uint32_t)origin + (uint32_t)(origin >> 32) * UINT32_C(0x9e3779b1);
}

/* Has the origin records? false is certain; true is a maybe. */
static inline bool lic_delta_may_touch(const lic_delta *delta, lic_direction direction, uint64_t origin)
{
    const lic_index *index = atomic_load(&delta->origins[direction]);

    return index != NULL && lic_index_may_hold(index, lic_origin_mark(origin));
}

/* The first record of the origin's newest group, or LIC_NONE. */
uint32_t lic_delta_origin(const lic_delta *delta, lic_direction direction, uint64_t origin);
/* The index of the range's entry, or LIC_NONE. */
uint32_t lic_delta_find_range(const lic_delta *delta, lic_direction direction, lic_slot slot, uint32_t range);

/* One that knows of no edge, for readers of what has none. */
extern const lic_delta lic_delta_nothing;

/* Has the edge a record? */
static inline bool lic_delta_knows(const lic_delta *delta, uint64_t resource_key, uint64_t subject_key)
{
    return lic_delta_find(delta, resource_key, subject_key, lic_edge_hash(delta->seed, resource_key, subject_key)) !=
           LIC_NONE;
}

/* One without changes, at the revision. NULL: out of memory. The attributes, whose memory it takes, the epochs and the
 * seed must outlive it. */
lic_delta *lic_delta_new(lic_attributes *attributes, lic_epochs *epochs, const lic_edge_seed *seed, uint64_t revision);
/* With its past. NULL is fine. */
void lic_delta_free(lic_delta *delta);

/* Writer. Room for `count` more changes, whatever edges they touch; the ranges of these edges come one by one.
 * false: out of memory, and what is there already does no harm. */
bool lic_delta_reserve(lic_delta *delta, size_t count);
bool lic_delta_reserve_ranges(lic_delta *delta, uint64_t resource_key, uint64_t subject_key);
/* An edge's change. before and after differ; their attributes are retained. */
typedef struct lic_delta_change {
    uint64_t       ends[2]; /* keys, as in a record */
    uint64_t       hash;    /* of the edge */
    uint64_t       revision;
    lic_edge_state before;
    lic_edge_state after;
} lic_delta_change;

/* Writer, with room reserved: logs the change. record: the edge's, or LIC_NONE to make one. The revision is
 * published by storing head. */
void lic_delta_append(lic_delta *delta, uint32_t record, const lic_delta_change *change);

#endif
