/* The floor of checks and lookups from C: a walk of the benchmark's graph as one would write it by hand for its schema
 * alone (bench/data/generate.py), with no engine in it. It takes what licet takes, names as texts, and gives what licet
 * gives, yes or no, or the names of the documents; what it leaves out is everything that makes a library: other schemas,
 * changes, threads, consistency, limits, errors.
 *
 * Names become numbers by one hash table, FNV-1a over their bytes, and everything else is an array by number: a document's
 * owner and parent, lists of viewers, and a set of the pairs of group and member. That is what a careful programmer writes
 * first; it was not tuned any further. Loading stops at what the benchmark's data don't hold. */
#ifndef BENCH_SUPPORT_WALK_H
#define BENCH_SUPPORT_WALK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALK_NAMES = 1 << 15, WALK_PAIRS = 1 << 13, WALK_NESTING = 8 };
#define WALK_NONE UINT32_MAX

typedef struct walk_text {
    const char *data;
    size_t      size;
} walk_text;

/* Those of number n are items[starts[n]] to items[starts[n + 1] - 1]. */
typedef struct walk_lists {
    uint32_t *starts;
    uint32_t *items;
} walk_lists;

typedef struct walk_edge {
    uint32_t from, to;
} walk_edge;

typedef struct walk_edges {
    walk_edge *edges;
    size_t     count, room;
} walk_edges;

typedef struct walk_slot {
    const char *data;
    uint32_t    size;
    uint32_t    number;
} walk_slot;

typedef struct walk_graph {
    walk_slot *slots; /* WALK_NAMES, open addressing; no name: free */
    walk_text *names; /* by number; owned */
    uint32_t   count;
    uint32_t  *owner, *parent; /* by number, or WALK_NONE */
    uint64_t  *pairs;          /* WALK_PAIRS, open addressing: group and member; 0: free */
    walk_edges viewing, nesting, membership, owning, containing;
    walk_lists viewers;                                 /* of documents and folders: users and groups */
    walk_lists nested;                                  /* groups in a group */
    walk_lists viewed, groups, around, owned, contents; /* the same the other way around; contents of a folder */
    uint32_t  *stamps;                                  /* by number: the lookup that met it last */
    uint32_t   stamp;
    uint32_t  *stack; /* what a lookup has yet to look at; each number once */
} walk_graph;

/* ---------------------------------------------------------------------- names */

_Noreturn static inline void walk_stop(const char *what)
{
    fprintf(stderr, "bench: the walk: %s\n", what);
    exit(1);
}

static inline void *walk_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        walk_stop("no memory left");
    return memory;
}

static inline walk_slot *walk_slot_of(const walk_graph *w, walk_text name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t   at;

    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ (unsigned char)name.data[i]) * UINT64_C(0x100000001b3);
    for (at = hash & (WALK_NAMES - 1); w->slots[at].data != NULL; at = (at + 1) & (WALK_NAMES - 1))
        if (w->slots[at].size == name.size && memcmp(w->slots[at].data, name.data, name.size) == 0)
            break;
    return &w->slots[at];
}

/* WALK_NONE for a name that is not there. */
static inline uint32_t walk_number(const walk_graph *w, walk_text name)
{
    const walk_slot *slot = walk_slot_of(w, name);

    return slot->data != NULL ? slot->number : WALK_NONE;
}

/* A new number for a new name. */
static inline uint32_t walk_enter(walk_graph *w, walk_text name)
{
    walk_slot *slot = walk_slot_of(w, name);
    char      *copy;

    if (slot->data != NULL)
        return slot->number;
    if (w->count == WALK_NAMES / 2)
        walk_stop("too many names");
    copy = walk_alloc(name.size, 1);
    memcpy(copy, name.data, name.size);
    *slot               = (walk_slot){ copy, (uint32_t)name.size, w->count };
    w->names[w->count]  = (walk_text){ copy, name.size };
    w->owner[w->count]  = WALK_NONE;
    w->parent[w->count] = WALK_NONE;
    return w->count++;
}

/* -------------------------------------------------------------------- loading */

static inline void walk_connect(walk_edges *all, uint32_t from, uint32_t to)
{
    if (all->count == all->room) {
        all->room  = all->room > 0 ? 2 * all->room : 1024;
        all->edges = realloc(all->edges, all->room * sizeof *all->edges);
        if (all->edges == NULL)
            walk_stop("no memory left");
    }
    all->edges[all->count++] = (walk_edge){ from, to };
}

static inline uint64_t *walk_pair(const walk_graph *w, uint32_t group, uint32_t member)
{
    const uint64_t pair = (uint64_t)(group + 1) << 32 | member;
    size_t         at   = (size_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (WALK_PAIRS - 1);

    while (w->pairs[at] != 0 && w->pairs[at] != pair)
        at = (at + 1) & (WALK_PAIRS - 1);
    return &w->pairs[at];
}

static inline bool walk_is(walk_text text, const char *other)
{
    return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

static inline bool walk_is_group(const walk_graph *w, uint32_t number)
{
    return w->names[number].data[0] == 'g';
}

static inline void walk_set_one(uint32_t *place, uint32_t number)
{
    if (*place != WALK_NONE)
        walk_stop("two owners or parents");
    *place = number;
}

/* "resource#relation@subject", the subject perhaps with "#member". */
static inline void walk_add(walk_graph *w, walk_text row)
{
    const char *end  = row.data + row.size;
    const char *hash = memchr(row.data, '#', row.size);
    const char *at   = hash != NULL ? memchr(hash, '@', (size_t)(end - hash)) : NULL;
    const char *last = at != NULL ? memchr(at, '#', (size_t)(end - at)) : NULL;
    walk_text   relation;
    uint32_t    resource, subject;

    if (at == NULL)
        walk_stop("a row is none");
    relation = (walk_text){ hash + 1, (size_t)(at - hash - 1) };
    resource = walk_enter(w, (walk_text){ row.data, (size_t)(hash - row.data) });
    subject  = walk_enter(w, (walk_text){ at + 1, (size_t)((last != NULL ? last : end) - at - 1) });
    if (walk_is(relation, "member") && walk_is_group(w, subject)) {
        walk_connect(&w->nesting, resource, subject);
    } else if (walk_is(relation, "member")) {
        walk_connect(&w->membership, resource, subject);
        if (w->membership.count > WALK_PAIRS / 2)
            walk_stop("too many members");
        *walk_pair(w, resource, subject) = (uint64_t)(resource + 1) << 32 | subject;
    } else if (walk_is(relation, "viewer")) {
        walk_connect(&w->viewing, resource, subject);
    } else if (walk_is(relation, "parent")) {
        walk_set_one(&w->parent[resource], subject);
        walk_connect(&w->containing, subject, resource);
    } else if (walk_is(relation, "owner")) {
        walk_set_one(&w->owner[resource], subject);
        walk_connect(&w->owning, subject, resource);
    } else {
        walk_stop("a relation of another schema");
    }
}

/* back: from the second end of each edge to the first. */
static inline walk_lists walk_list(const walk_graph *w, const walk_edges *all, bool back)
{
    walk_lists lists = { walk_alloc(w->count + 1, sizeof(uint32_t)), walk_alloc(all->count + 1, sizeof(uint32_t)) };
    uint32_t  *next  = walk_alloc(w->count + 1, sizeof *next);

    for (size_t i = 0; i < all->count; i++)
        lists.starts[(back ? all->edges[i].to : all->edges[i].from) + 1]++;
    for (uint32_t n = 0; n < w->count; n++)
        lists.starts[n + 1] += lists.starts[n];
    memcpy(next, lists.starts, w->count * sizeof *next);
    for (size_t i = 0; i < all->count; i++) {
        const walk_edge edge = all->edges[i];

        lists.items[next[back ? edge.to : edge.from]++] = back ? edge.from : edge.to;
    }
    free(next);
    return lists;
}

static inline walk_graph walk_begin(void)
{
    walk_graph w = { .slots  = walk_alloc(WALK_NAMES, sizeof *w.slots),
                     .names  = walk_alloc(WALK_NAMES / 2, sizeof *w.names),
                     .owner  = walk_alloc(WALK_NAMES / 2, sizeof *w.owner),
                     .parent = walk_alloc(WALK_NAMES / 2, sizeof *w.parent),
                     .pairs  = walk_alloc(WALK_PAIRS, sizeof *w.pairs),
                     .stamps = walk_alloc(WALK_NAMES / 2, sizeof *w.stamps),
                     .stack  = walk_alloc(WALK_NAMES / 2, sizeof *w.stack) };

    return w;
}

/* When all rows have been added. */
static inline void walk_finish(walk_graph *w)
{
    w->viewers  = walk_list(w, &w->viewing, false);
    w->viewed   = walk_list(w, &w->viewing, true);
    w->nested   = walk_list(w, &w->nesting, false);
    w->around   = walk_list(w, &w->nesting, true);
    w->groups   = walk_list(w, &w->membership, true);
    w->owned    = walk_list(w, &w->owning, false);
    w->contents = walk_list(w, &w->containing, false);
}

static inline void walk_free(walk_graph *w)
{
    walk_edges *const edges[] = { &w->viewing, &w->nesting, &w->membership, &w->owning, &w->containing };
    walk_lists *const lists[] = {
        &w->viewers, &w->viewed, &w->nested, &w->around, &w->groups, &w->owned, &w->contents
    };
    void *const rest[] = { w->slots, w->names, w->owner, w->parent, w->pairs, w->stamps, w->stack };

    for (uint32_t n = 0; n < w->count; n++)
        free((char *)(uintptr_t)w->names[n].data);
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        free(edges[i]->edges);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        free(lists[i]->starts);
        free(lists[i]->items);
    }
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        free(rest[i]);
}

/* -------------------------------------------------------------------- walking */

static inline bool walk_in_group(const walk_graph *w, uint32_t group, uint32_t user, int nesting)
{
    if (*walk_pair(w, group, user) != 0)
        return true;
    for (uint32_t i = w->nested.starts[group]; nesting > 0 && i < w->nested.starts[group + 1]; i++)
        if (walk_in_group(w, w->nested.items[i], user, nesting - 1))
            return true;
    return false;
}

static inline bool walk_is_viewer(const walk_graph *w, uint32_t resource, uint32_t user)
{
    for (uint32_t i = w->viewers.starts[resource]; i < w->viewers.starts[resource + 1]; i++) {
        const uint32_t viewer = w->viewers.items[i];

        if (viewer == user || (walk_is_group(w, viewer) && walk_in_group(w, viewer, user, WALK_NESTING)))
            return true;
    }
    return false;
}

/* May the user view the document? */
static inline bool walk_check(const walk_graph *w, walk_text document, walk_text user)
{
    const uint32_t who  = walk_number(w, user);
    uint32_t       what = walk_number(w, document);

    if (who == WALK_NONE || what == WALK_NONE)
        return false;
    if (w->owner[what] == who)
        return true;
    for (; what != WALK_NONE; what = w->parent[what])
        if (walk_is_viewer(w, what, who))
            return true;
    return false;
}

static inline void walk_push(walk_graph *w, walk_lists lists, uint32_t of, uint32_t *depth)
{
    for (uint32_t i = lists.starts[of]; i < lists.starts[of + 1]; i++) {
        const uint32_t number = lists.items[i];

        if (w->stamps[number] != w->stamp) {
            w->stamps[number]    = w->stamp;
            w->stack[(*depth)++] = number;
        }
    }
}

/* The ids of the documents that the user may view, in no order. found has room for all documents. Returns how many. */
static inline size_t walk_lookup(walk_graph *w, walk_text user, walk_text *found)
{
    static const size_t prefix = sizeof "document:" - 1;
    const uint32_t      who    = walk_number(w, user);
    uint32_t            depth  = 0;
    size_t              count  = 0;

    if (who == WALK_NONE)
        return 0;
    w->stamp++;
    walk_push(w, w->owned, who, &depth);
    walk_push(w, w->viewed, who, &depth);
    walk_push(w, w->groups, who, &depth);
    while (depth > 0) {
        const uint32_t  number = w->stack[--depth];
        const walk_text name   = w->names[number];

        switch (name.data[0]) {
        case 'd':
            found[count++] = (walk_text){ name.data + prefix, name.size - prefix };
            break;
        case 'f':
            walk_push(w, w->contents, number, &depth);
            break;
        default: /* a group */
            walk_push(w, w->viewed, number, &depth);
            walk_push(w, w->around, number, &depth);
            break;
        }
    }
    return count;
}

#endif
