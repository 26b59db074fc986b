/* A graph to test: its memory, counted and made to fail at will, its names, and short ways to write to it. */
#ifndef LICET_TESTS_GRAPH_WORLD_H
#define LICET_TESTS_GRAPH_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

#include "failing_memory.h"

typedef struct world {
    failing_memory source;
    lic_memory     memory;
    lic_names     *names;
    lic_graph     *graph;
    size_t         before; /* bytes used when the graph was not yet made */
} world;

static inline lic_edge edge(lic_slot resource_slot, uint32_t resource, lic_slot subject_slot, uint32_t subject)
{
    return (lic_edge){ .resource = { resource_slot, resource }, .subject = { subject_slot, subject } };
}

static inline lic_change put(lic_edge e, bool present)
{
    return (lic_change){ .edge = e, .present = present };
}

static inline lic_change set(lic_edge e)
{
    return put(e, true);
}

static inline lic_change unset(lic_edge e)
{
    return put(e, false);
}

static inline lic_change set_with(lic_edge e, uint32_t attribute)
{
    return (lic_change){ .edge = e, .present = true, .attribute = attribute };
}

static inline void world_open(world *w, lic_graph_options options)
{
    memset(w, 0, sizeof *w);
    w->source = fail_never();
    lic_memory_init(&w->memory, &w->source.allocator, SIZE_MAX);
    w->names = lic_names_new(&w->memory);
    assert_non_null(w->names);
    w->before = atomic_load(&w->memory.used);
    w->graph  = lic_graph_new(&w->memory, w->names, &options);
    assert_non_null(w->graph);
}

/* Ends everything and finds every byte given back. */
static inline void world_close(world *w)
{
    lic_graph_free(w->graph);
    assert_int_equal(atomic_load(&w->memory.used), w->before);
    lic_names_free(w->names);
    assert_int_equal(w->source.counts->live_blocks, 0);
    assert_int_equal(w->source.counts->live_bytes, 0);
}

static inline uint64_t write_all(lic_graph *graph, const lic_change *changes, size_t count)
{
    uint64_t revision = 0;

    lic_graph_lock(graph);
    assert_true(lic_graph_apply(graph, changes, count, &revision));
    lic_graph_unlock(graph);
    return revision;
}

static inline uint64_t write_one(lic_graph *graph, lic_change change)
{
    return write_all(graph, &change, 1);
}

/* The same for a graph in which nothing ever was. */
static inline uint64_t fill_all(lic_graph *graph, const lic_change *changes, size_t count)
{
    uint64_t revision = 0;

    lic_graph_lock(graph);
    assert_true(lic_graph_fill(graph, changes, count, &revision));
    lic_graph_unlock(graph);
    return revision;
}

static inline bool has(const lic_snapshot *snapshot, lic_edge e)
{
    return lic_snapshot_has(snapshot, e.resource, e.subject);
}

/* At head. */
static inline bool has_now(const lic_graph *graph, lic_edge e)
{
    lic_snapshot snapshot;
    bool         found;

    lic_snapshot_pin(graph, &snapshot);
    found = has(&snapshot, e);
    lic_snapshot_unpin(&snapshot);
    return found;
}

/* A new attribute of that caveat number, its context the number as text. LIC_NO_ATTRIBUTE: out of memory. */
static inline uint32_t make_attribute(lic_graph *graph, uint32_t caveat)
{
    char          text[12];
    lic_attribute content = { .expires_at_s = caveat * 100, .expires_at_ns = 5, .caveat = caveat };
    uint32_t      attribute;

    content.context = (lic_str){ text, (size_t)snprintf(text, sizeof text, "%u", caveat) };
    lic_graph_lock(graph);
    attribute = lic_graph_attribute_new(graph, &content);
    lic_graph_unlock(graph);
    return attribute;
}

#define ABSENT UINT32_MAX

/* The caveat number of the attribute, which is whole; 0: no attribute; ABSENT: not one that make_attribute() made. */
static inline uint32_t caveat_of(const lic_graph *graph, uint32_t attribute)
{
    const lic_attribute *content = lic_graph_attribute(graph, attribute);
    char                 text[12];
    lic_str              context;

    if (content == NULL)
        return 0;
    context = (lic_str){ text, (size_t)snprintf(text, sizeof text, "%u", content->caveat) };
    return lic_str_equal(content->context, context) && content->expires_at_s == content->caveat * 100 &&
                   content->expires_at_ns == 5
               ? content->caveat
               : ABSENT;
}

/* The same of an edge; ABSENT: it is not there. */
static inline uint32_t caveat_at(const lic_snapshot *snapshot, lic_edge e)
{
    uint32_t attribute = 1;
    bool     found     = lic_snapshot_find(snapshot, e.resource, e.subject, &attribute);

    if (found != lic_snapshot_has(snapshot, e.resource, e.subject) || (!found && attribute != LIC_NO_ATTRIBUTE))
        return ABSENT - 1;
    return found ? caveat_of(snapshot->graph, attribute) : ABSENT;
}

static inline uint32_t caveat_now(const lic_graph *graph, lic_edge e)
{
    lic_snapshot snapshot;
    uint32_t     caveat;

    lic_snapshot_pin(graph, &snapshot);
    caveat = caveat_at(&snapshot, e);
    lic_snapshot_unpin(&snapshot);
    return caveat;
}

static inline lic_graph_sizes sizes_of(const lic_graph *graph)
{
    lic_graph_sizes sizes;

    lic_graph_measure(graph, &sizes);
    return sizes;
}

/* What the walk still gives, up to `capacity` ends; the number of all. */
static inline size_t walk_all(lic_walk *walk, lic_ref *ends, size_t capacity)
{
    size_t  count = 0;
    lic_ref end;

    while (lic_walk_next(walk, &end)) {
        if (count < capacity)
            ends[count] = end;
        count++;
    }
    return count;
}

static inline size_t count_subjects(const lic_snapshot *snapshot, lic_ref resource)
{
    lic_walk walk;

    lic_walk_subjects(snapshot, resource, &walk);
    return walk_all(&walk, NULL, 0);
}

static inline size_t count_resources(const lic_snapshot *snapshot, lic_ref subject)
{
    lic_walk walk;

    lic_walk_resources(snapshot, subject, &walk);
    return walk_all(&walk, NULL, 0);
}

/* Numbers that look random and are the same in every run. */
static inline uint32_t next_random(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

#endif
