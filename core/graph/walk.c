/* Walks: first what the base has and no delta knows of, then what the past knows, for readers who have one, then what
 * the delta knows and the past doesn't.
 *
 * The piece is loaded first, then the number of the delta's records, then the records. So whatever differs in the
 * piece from the snapshot has a record below the limit, or one in the past; and a record at or above it is of a later
 * revision, its edge at the snapshot's revision as the piece says. */
#include "state.h"

/* The piece's keys of the origin, or those of one slot among them. */
static inline void start_base(lic_walk *walk, uint32_t node, lic_slot far_slot)
{
    const lic_piece *piece = walk->piece;
    uint64_t         low   = (uint64_t)far_slot << 32;
    uint32_t         from  = 0;
    uint32_t         to    = 0;

    if (piece != NULL && lic_piece_list(piece, node, &from, &to) && walk->one_slot) {
        from = lic_piece_lower_bound(piece, from, to, low);
        to   = lic_piece_lower_bound(piece, from, to, low + (UINT64_C(1) << 32));
    }
    walk->next       = from;
    walk->end        = to;
    walk->attributed = piece != NULL && piece->attributed > 0;
}

/* Goes to the first of the origin's records in the delta, or of those of one slot. */
static void enter_delta(lic_walk *walk, const lic_delta *delta, lic_slot far_slot)
{
    walk->group = lic_delta_origin(delta, walk->reverse ? LIC_REVERSE : LIC_FORWARD, walk->origin);
    while (walk->one_slot && walk->group != LIC_NONE) {
        const lic_record *first = lic_delta_record(delta, walk->group);

        if (first->ends[!walk->reverse] >> 32 == far_slot)
            break;
        walk->group = first->next_group[walk->reverse];
    }
    walk->record = walk->group;
}

/* Apart, as all of the past: few read it. */
static __attribute__((noinline)) void enter_past(lic_walk *walk, lic_slot far_slot)
{
    enter_delta(walk, walk->snapshot->past, far_slot);
    walk->in_past = walk->group != LIC_NONE;
    if (!walk->in_past)
        enter_delta(walk, walk->snapshot->delta, far_slot);
}

/* Inlined, so that each kind of walk has its own: most of a check's rows are looked for where there are none. */
static inline __attribute__((always_inline)) void walk_start(const lic_snapshot *snapshot, lic_ref origin, bool reverse,
                                                             bool one_slot, lic_slot far_slot, lic_walk *walk)
{
    walk->snapshot  = snapshot;
    walk->origin    = lic_ref_key(origin);
    walk->reverse   = reverse;
    walk->one_slot  = one_slot;
    walk->attribute = LIC_NO_ATTRIBUTE;
    walk->piece =
        lic_base_piece(snapshot->base, reverse ? LIC_REVERSE : LIC_FORWARD, origin.slot, origin.node >> LIC_PIECE_BITS);
    walk->limit   = atomic_load_explicit(&snapshot->delta->record_count, memory_order_acquire);
    walk->group   = LIC_NONE;
    walk->record  = LIC_NONE;
    walk->in_past = false;
    start_base(walk, origin.node, far_slot);
    if (snapshot->past != NULL)
        enter_past(walk, far_slot);
    else if (lic_delta_may_touch(snapshot->delta, reverse ? LIC_REVERSE : LIC_FORWARD, walk->origin))
        enter_delta(walk, snapshot->delta, far_slot);
    walk->touched = walk->group != LIC_NONE;
    walk->plain   = !walk->touched && !walk->attributed;
}

void lic_walk_subjects(const lic_snapshot *snapshot, lic_ref resource, lic_walk *walk)
{
    walk_start(snapshot, resource, false, false, 0, walk);
}

void lic_walk_subjects_in(const lic_snapshot *snapshot, lic_ref resource, lic_slot subject_slot, lic_walk *walk)
{
    walk_start(snapshot, resource, false, true, subject_slot, walk);
}

void lic_walk_resources(const lic_snapshot *snapshot, lic_ref subject, lic_walk *walk)
{
    walk_start(snapshot, subject, true, false, 0, walk);
}

void lic_walk_resources_in(const lic_snapshot *snapshot, lic_ref subject, lic_slot resource_slot, lic_walk *walk)
{
    walk_start(snapshot, subject, true, true, resource_slot, walk);
}

/* Does the past speak for the edge to this far end? */
static bool past_decides(const lic_walk *walk, uint64_t key)
{
    const lic_delta *past = walk->snapshot->past;

    return past != NULL &&
           lic_delta_knows(past, walk->reverse ? key : walk->origin, walk->reverse ? walk->origin : key);
}

/* Does the deltas' part of the walk? */
static bool deltas_decide(const lic_walk *walk, uint64_t key)
{
    uint64_t resource = walk->reverse ? key : walk->origin;
    uint64_t subject  = walk->reverse ? walk->origin : key;
    uint32_t record   = lic_delta_find(walk->snapshot->delta, resource, subject,
                                       lic_edge_hash(&walk->snapshot->graph->seed, resource, subject));

    return record < walk->limit || past_decides(walk, key);
}

/* Goes to the record behind `record`, which is the delta's. */
static void walk_advance(lic_walk *walk, const lic_delta *delta, const lic_record *record)
{
    walk->record = atomic_load_explicit(&record->next[walk->reverse], memory_order_acquire);
    if (walk->record == LIC_NONE && !walk->one_slot) {
        walk->group  = lic_delta_record(delta, walk->group)->next_group[walk->reverse];
        walk->record = walk->group;
    }
    if (walk->record == LIC_NONE && walk->in_past) {
        walk->in_past = false;
        enter_delta(walk, walk->snapshot->delta, (lic_slot)(record->ends[!walk->reverse] >> 32));
    }
}

/* The state of the edge that the walk's next record is of, as far as that record decides; goes behind it. */
static lic_edge_state next_state(lic_walk *walk, uint64_t *key)
{
    const lic_snapshot *snapshot = walk->snapshot;
    const lic_delta    *delta    = walk->in_past ? snapshot->past : snapshot->delta;
    const lic_record   *record   = lic_delta_record(delta, walk->record);
    bool                decides;

    *key    = record->ends[!walk->reverse];
    decides = walk->in_past || (walk->record < walk->limit && !past_decides(walk, *key));
    walk_advance(walk, delta, record);
    return decides ? lic_delta_state(delta, record, snapshot->revision) : LIC_ABSENT;
}

static lic_ref ref_of(uint64_t key)
{
    return (lic_ref){ (lic_slot)(key >> 32), (uint32_t)key };
}

bool lic_walk_next(lic_walk *walk, lic_ref *end)
{
    const lic_piece *piece = walk->piece;
    uint64_t         key;

    while (walk->next < walk->end) {
        key  = piece->keys[walk->next++];
        *end = ref_of(key);
        if (walk->plain)
            return true;
        if (walk->touched && deltas_decide(walk, key))
            continue;
        if (walk->attributed)
            walk->attribute = lic_piece_attribute(piece, walk->next - 1);
        return true;
    }
    while (walk->record != LIC_NONE) {
        lic_edge_state state = next_state(walk, &key);

        if (state != LIC_ABSENT) {
            walk->attribute = state;
            *end            = ref_of(key);
            return true;
        }
    }
    return false;
}

bool lic_walk_has(const lic_walk *walk, lic_ref subject, uint32_t *attribute)
{
    uint32_t position;

    if (walk->touched)
        return lic_snapshot_find(walk->snapshot, ref_of(walk->origin), subject, attribute);
    position   = lic_piece_position(walk->piece, walk->next, walk->end, walk->origin, lic_ref_key(subject),
                                    &walk->snapshot->graph->seed);
    *attribute = LIC_NO_ATTRIBUTE;
    if (position != LIC_NONE && walk->attributed)
        *attribute = lic_piece_attribute(walk->piece, position);
    return position != LIC_NONE;
}

void lic_walk_narrow(lic_walk *walk, lic_slot subject_slot)
{
    uint64_t low = (uint64_t)subject_slot << 32;

    if (walk->touched) {
        lic_walk_subjects_in(walk->snapshot, ref_of(walk->origin), subject_slot, walk);
        return;
    }
    walk->one_slot = true;
    walk->next     = lic_piece_lower_bound(walk->piece, walk->next, walk->end, low);
    walk->end      = lic_piece_lower_bound(walk->piece, walk->next, walk->end, low + (UINT64_C(1) << 32));
}

/* Whether the keys have to be walked, for the few rows of which that is not plain. Apart, and last. */
static __attribute__((noinline)) lic_glance look_closer(lic_glance glance, const lic_piece *piece,
                                                        const lic_snapshot *snapshot, lic_ref resource)
{
    const uint64_t origin = lic_ref_key(resource);

    if (glance.count > 0) {
        uint32_t from = (uint32_t)(glance.keys - piece->keys);

        glance.touched = lic_piece_any_attribute(piece, from, from + glance.count);
    }
    glance.touched |= lic_delta_origin(snapshot->delta, LIC_FORWARD, origin) != LIC_NONE;
    if (snapshot->past != NULL)
        glance.touched |= lic_delta_origin(snapshot->past, LIC_FORWARD, origin) != LIC_NONE;
    return glance;
}

/* In the order of walk_start: the piece, then the delta. */
lic_glance lic_snapshot_glance(const lic_snapshot *snapshot, lic_ref resource)
{
    const lic_piece *piece =
        lic_base_piece(snapshot->base, LIC_FORWARD, resource.slot, resource.node >> LIC_PIECE_BITS);
    lic_glance glance     = { NULL, 0, 0 };
    uint32_t   attributed = 0;
    uint32_t   from;
    uint32_t   to;

    if (piece != NULL && lic_piece_list(piece, resource.node, &from, &to)) {
        glance.keys  = piece->keys + from;
        glance.count = to - from;
        attributed   = piece->attributed;
    }
    if (attributed > 0 || snapshot->past != NULL ||
        lic_delta_may_touch(snapshot->delta, LIC_FORWARD, lic_ref_key(resource)))
        return look_closer(glance, piece, snapshot, resource);
    return glance;
}
