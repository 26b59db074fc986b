/* Three ways to the edges that a filter selects:
 *
 *   probe  both ids are given: every pair of slots is one question to the graph;
 *   walk   one id is given: all edges at that end, from the forward or the reverse index;
 *   scan   no id is given: slot after slot of resources, in order.
 *
 * Walks come unordered (base and delta one after the other), so they are sorted here; and since only the first `most`
 * are wanted, never many more than that are kept. All three give the order of lic_edge_compare(), so a place in it is
 * good at every revision. */
#include "datastore/memory/select.h"

#include <stdlib.h>

/* Sorting begins when twice `most` and some are there: each edge is then sorted a constant number of times. */
#define SLACK 64

typedef struct selection {
    const lic_snapshot *snapshot;
    const lic_names    *names;
    const lic_filter   *filter;
    const lic_instant  *now;
    const lic_edge     *after;
    size_t              most;
    size_t              slot_count;
    lic_edges          *out;
    lic_edge            cut; /* when is_cut: no edge beyond is wanted */
    bool                is_cut;
} selection;

void lic_edges_free(lic_edges *edges)
{
    lic_free(edges->memory, edges->items, edges->capacity * sizeof *edges->items);
    edges->items    = NULL;
    edges->count    = 0;
    edges->capacity = 0;
}

static int compare(const void *a, const void *b)
{
    return lic_edge_compare(&((const lic_found_edge *)a)->edge, &((const lic_found_edge *)b)->edge);
}

/* Puts what is there in order and keeps the first `most`. */
static void prune(selection *s)
{
    if (s->out->count > 1)
        qsort(s->out->items, s->out->count, sizeof *s->out->items, compare);
    if (s->out->count < s->most)
        return;
    s->out->count = s->most;
    s->cut        = s->out->items[s->most - 1].edge;
    s->is_cut     = true;
}

static bool append(selection *s, const lic_edge *edge, uint32_t attribute)
{
    void *items = s->out->items;

    if (!lic_grow(s->out->memory, &items, &s->out->capacity, s->out->count + 1, sizeof *s->out->items))
        return false;
    s->out->items                  = items;
    s->out->items[s->out->count++] = (lic_found_edge){ *edge, attribute };
    return true;
}

/* Has it not expired, and has it the form that is asked for? */
static bool attribute_matches(const selection *s, uint32_t number)
{
    const lic_filter    *f = s->filter;
    const lic_attribute *attribute;

    if (number == LIC_NO_ATTRIBUTE)
        return !f->one_form || (f->caveat == LIC_NO_CAVEAT_NAME && !f->expires);
    attribute = lic_graph_attribute(s->snapshot->graph, number);
    if (s->now != NULL && lic_attribute_expired(attribute, s->now->seconds, s->now->nanoseconds))
        return false;
    return !f->one_form ||
           (f->caveat == attribute->caveat && f->expires == (attribute->expires_at_s != LIC_NEVER_EXPIRES));
}

/* An edge whose ends match, in any order. */
static bool add(selection *s, const lic_edge *edge, uint32_t attribute)
{
    if (!attribute_matches(s, attribute))
        return true;
    if (s->after != NULL && lic_edge_compare(edge, s->after) <= 0)
        return true;
    if (s->is_cut && lic_edge_compare(edge, &s->cut) > 0)
        return true;
    if (!append(s, edge, attribute))
        return false;
    if (s->most <= (SIZE_MAX - SLACK) / 2 && s->out->count >= 2 * s->most + SLACK)
        prune(s);
    return true;
}

static bool resource_slot_matches(const selection *s, lic_slot slot)
{
    const lic_filter *f = s->filter;

    if (f->resource_slot != LIC_NO_SLOT)
        return slot == f->resource_slot;
    if (f->resource_type != LIC_NO_TYPE && lic_names_type_of(s->names, slot) != f->resource_type)
        return false;
    return !lic_str_given(f->relation) || lic_str_equal(lic_names_relation_name(s->names, slot), f->relation);
}

static bool subject_slot_matches(const selection *s, lic_slot slot)
{
    if (s->filter->subject_slot != LIC_NO_SLOT)
        return slot == s->filter->subject_slot;
    return s->filter->subject_type == LIC_NO_TYPE || lic_names_type_of(s->names, slot) == s->filter->subject_type;
}

static bool prefix_matches(const selection *s, lic_ref resource)
{
    lic_type type = lic_names_type_of(s->names, resource.slot);

    return !lic_str_given(s->filter->resource_id_prefix) ||
           lic_str_starts_with(lic_graph_node_id(s->snapshot->graph, type, resource.node),
                               s->filter->resource_id_prefix);
}

/* The node of an id under a slot's type. */
static uint32_t node_of(const selection *s, lic_slot slot, lic_str id)
{
    return lic_snapshot_find_node(s->snapshot, lic_names_type_of(s->names, slot), id);
}

/* ------------------------------------------------------------------ probe */

static bool probe_resource(selection *s, lic_ref resource)
{
    for (lic_slot slot = 0; slot < s->slot_count; slot++) {
        lic_edge edge = { resource, { slot, LIC_NO_NODE } };
        uint32_t attribute;

        if (!subject_slot_matches(s, slot))
            continue;
        edge.subject.node = node_of(s, slot, s->filter->subject_id);
        if (edge.subject.node != LIC_NO_NODE &&
            lic_snapshot_find(s->snapshot, edge.resource, edge.subject, &attribute) && !add(s, &edge, attribute))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- walk */

static bool walk_resource(selection *s, lic_ref resource)
{
    lic_edge edge = { resource, { 0, 0 } };
    lic_walk walk;

    if (s->filter->subject_slot != LIC_NO_SLOT)
        lic_walk_subjects_in(s->snapshot, resource, s->filter->subject_slot, &walk);
    else
        lic_walk_subjects(s->snapshot, resource, &walk);
    while (lic_walk_next(&walk, &edge.subject)) {
        if (subject_slot_matches(s, edge.subject.slot) && !add(s, &edge, walk.attribute))
            return false;
    }
    return true;
}

static bool walk_subject(selection *s, lic_ref subject)
{
    lic_edge edge = { { 0, 0 }, subject };
    lic_walk walk;

    if (s->filter->resource_slot != LIC_NO_SLOT)
        lic_walk_resources_in(s->snapshot, subject, s->filter->resource_slot, &walk);
    else
        lic_walk_resources(s->snapshot, subject, &walk);
    while (lic_walk_next(&walk, &edge.resource)) {
        if (resource_slot_matches(s, edge.resource.slot) && prefix_matches(s, edge.resource) &&
            !add(s, &edge, walk.attribute))
            return false;
    }
    return true;
}

/* Every slot that may hold the id, with `visit`. */
static bool visit_ends(selection *s, lic_str id, bool (*matches)(const selection *, lic_slot),
                       bool (*visit)(selection *, lic_ref))
{
    for (lic_slot slot = 0; slot < s->slot_count; slot++) {
        lic_ref end = { slot, LIC_NO_NODE };

        if (!matches(s, slot))
            continue;
        end.node = node_of(s, slot, id);
        if (end.node != LIC_NO_NODE && !visit(s, end))
            return false;
    }
    prune(s);
    return true;
}

/* ------------------------------------------------------------------- scan */

static bool scan_slot(selection *s, lic_arena *arena, lic_slot slot)
{
    bool      resumes = s->after != NULL && s->after->resource.slot == slot;
    lic_scan *scan    = lic_snapshot_scan(s->snapshot, arena, slot, resumes ? s->after : NULL);
    lic_edge  edge;
    bool      found = true;

    if (scan == NULL)
        return false;
    while (s->out->count < s->most) {
        if (!lic_scan_next(scan, &edge, &found))
            return false;
        if (!found)
            break;
        if (subject_slot_matches(s, edge.subject.slot) && prefix_matches(s, edge.resource) &&
            attribute_matches(s, lic_scan_attribute(scan)) && !append(s, &edge, lic_scan_attribute(scan)))
            return false;
    }
    return true;
}

static bool scan(selection *s)
{
    lic_slot  first = s->after == NULL ? 0 : s->after->resource.slot;
    lic_arena arena;
    bool      good = true;

    for (lic_slot slot = first; slot < s->slot_count && good && s->out->count < s->most; slot++) {
        if (!resource_slot_matches(s, slot))
            continue;
        lic_arena_init(&arena, s->out->memory);
        good = scan_slot(s, &arena, slot);
        lic_arena_free(&arena);
    }
    return good;
}

bool lic_memory_select(const lic_snapshot *snapshot, const lic_names *names, const lic_filter *filter,
                       const lic_instant *now, const lic_edge *after, size_t most, lic_edges *out)
{
    selection s = { .snapshot   = snapshot,
                    .names      = names,
                    .filter     = filter,
                    .now        = now,
                    .after      = after,
                    .most       = most,
                    .slot_count = lic_names_slot_count(names),
                    .out        = out };

    if (lic_str_given(filter->resource_id))
        return visit_ends(&s, filter->resource_id, resource_slot_matches,
                          lic_str_given(filter->subject_id) ? probe_resource : walk_resource);
    if (lic_str_given(filter->subject_id))
        return visit_ends(&s, filter->subject_id, subject_slot_matches, walk_subject);
    return scan(&s);
}
