/* Imports: changes of the graph that wait for their commit, 24 bytes each, beside a hash that knows which edges they
 * are about. Ids are interned at once; those of an import that is given up stay known, and occur nowhere. The first one
 * fills the graph, which takes no history. */
#include "base/hash.h"
#include "datastore/memory/memory.h"
#include "datastore/memory/state.h"

#define FIRST_CAPACITY 1024u
#define FREE UINT32_MAX

struct lic_store_import {
    const lic_import_piece *piece; /* NULL: all of it */

    lic_change *changes; /* each holds its attribute */
    size_t      count;
    size_t      capacity;
    lic_change *expired; /* of what a replacement has left for lic_memory_forget_expired() */
    size_t      expired_count;
    size_t      expired_capacity;
    uint32_t   *numbers;         /* hash table of indexes in changes; FREE */
    size_t      number_capacity; /* a power of two, at least twice the count; 0: none is kept */
    uint64_t    key;
};

static size_t place_of(const lic_store_import *import, const lic_edge *edge)
{
    const uint64_t resource = lic_hash_u64(lic_ref_key(edge->resource) ^ import->key);

    return (size_t)lic_hash_u64(resource + lic_ref_key(edge->subject)) & (import->number_capacity - 1);
}

static bool edge_equal(const lic_edge *a, const lic_edge *b)
{
    return lic_ref_equal(a->resource, b->resource) && lic_ref_equal(a->subject, b->subject);
}

/* The place of the edge's number, or a free one. */
static uint32_t *find_place(const lic_store_import *import, const lic_edge *edge)
{
    size_t at = place_of(import, edge);

    while (import->numbers[at] != FREE && !edge_equal(&import->changes[import->numbers[at]].edge, edge))
        at = (at + 1) & (import->number_capacity - 1);
    return &import->numbers[at];
}

/* There may be many changes that the hash has none of yet. */
static bool grow_numbers(lic_store_import *import, lic_memory *memory)
{
    size_t    before = import->number_capacity;
    size_t    now    = before == 0 ? FIRST_CAPACITY : before;
    uint32_t *old    = import->numbers;
    uint32_t *numbers;

    while (now <= import->count * 2)
        now *= 2;
    numbers = lic_alloc_array(memory, now, sizeof *numbers);
    if (numbers == NULL)
        return false;
    memset(numbers, 0xff, now * sizeof *numbers);
    import->numbers         = numbers;
    import->number_capacity = now;
    for (uint32_t i = 0; i < import->count; i++)
        *find_place(import, &import->changes[i].edge) = i;
    lic_free(memory, old, before * sizeof *old);
    return true;
}

static bool make_room(lic_store_import *import, lic_memory *memory)
{
    return import->count < FREE / 2 &&
           lic_grow(memory, (void **)&import->changes, &import->capacity, import->count + 1, sizeof *import->changes);
}

static bool make_number_room(lic_store_import *import, lic_memory *memory)
{
    return import->count * 2 < import->number_capacity || grow_numbers(import, memory);
}

licet_status lic_memory_import_begin(lic_store *store, const lic_import_piece *piece, lic_store_import **import,
                                     licet_error **error)
{
    *import = lic_alloc_zero(lic_memory_store_of(store)->memory, sizeof **import);
    if (*import == NULL)
        return lic_fail_memory(error);
    (*import)->piece = piece;
    (*import)->key   = lic_random_key();
    return LICET_OK;
}

static licet_status add_one(const lic_memory_store *m, lic_store_import *import, lic_store_change *change,
                            licet_error **error)
{
    lic_edge  edge = lic_memory_find_edge(m, change);
    uint32_t *place;
    uint32_t  attribute;

    if (!make_room(import, m->memory) || !make_number_room(import, m->memory) || !lic_memory_intern(m, change, &edge))
        return lic_fail_memory(error);
    place = find_place(import, &edge);
    if (*place != FREE)
        return lic_memory_fail_exists(m, edge, error);
    if (!lic_memory_attribute(m, change, &attribute))
        return lic_fail_memory(error);
    *place                           = (uint32_t)import->count;
    import->changes[import->count++] = (lic_change){ .edge = edge, .present = true, .attribute = attribute };
    return LICET_OK;
}

licet_status lic_memory_import_add(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count,
                                   licet_error **error)
{
    lic_memory_store *m      = lic_memory_store_of(store);
    licet_status      status = LICET_OK;

    lic_memory_lock(m);
    for (size_t i = 0; i < count && status == LICET_OK; i++)
        status = add_one(m, import, &changes[i], error);
    lic_memory_unlock(m);
    return status;
}

static licet_status refuse_existing(const lic_memory_store *m, const lic_store_import *import, licet_error **error)
{
    licet_status status = LICET_OK;
    lic_snapshot head;

    lic_snapshot_pin(m->graph, &head);
    for (size_t i = 0; i < import->count && status == LICET_OK; i++) {
        const lic_edge *edge = &import->changes[i].edge;

        if (lic_snapshot_has(&head, edge->resource, edge->subject))
            status = lic_memory_fail_exists(m, *edge, error);
    }
    lic_snapshot_unpin(&head);
    return status;
}

/* *record: of the import that this is a piece of; NULL: of none. */
static licet_status find_record(const lic_memory_store *m, const lic_import_piece *piece, lic_memory_record **record,
                                licet_error **error)
{
    *record = NULL;
    if (piece == NULL)
        return LICET_OK;
    *record = lic_memory_find_record(m, piece->name);
    if (*record == NULL || (*record)->record.is_finished ||
        !lic_progress_equal(&(*record)->record.progress, &piece->before))
        return lic_fail_import_moved(piece->name, error);
    return LICET_OK;
}

static licet_status commit(lic_memory_store *m, lic_store_import *import, lic_store_outcome *outcome,
                           licet_error **error)
{
    lic_memory_record *record;
    licet_status       status = find_record(m, import->piece, &record, error);

    if (status == LICET_OK)
        status = refuse_existing(m, import, error);
    if (status != LICET_OK)
        return status;
    lic_free(m->memory, import->numbers, import->number_capacity * sizeof *import->numbers);
    import->numbers         = NULL; /* nothing more will be added */
    import->number_capacity = 0;
    if (!lic_graph_fill(m->graph, import->changes, import->count, &outcome->revision) &&
        !lic_memory_change_graph(m, import->changes, import->count, &outcome->revision) &&
        !lic_graph_refill(m->graph, import->changes, import->count, &outcome->revision))
        return lic_fail_memory(error);
    if (record != NULL)
        record->record = (lic_import_record){ import->piece->after, import->piece->is_last };
    outcome->count = import->count;
    import->count  = 0; /* the graph has taken the attributes */
    return LICET_OK;
}

licet_status lic_memory_import_commit(lic_store *store, lic_store_import *import, const licet_schema *schema,
                                      lic_store_outcome *outcome, licet_error **error)
{
    lic_memory_store *m      = lic_memory_store_of(store);
    licet_status      status = LICET_OK;

    lic_memory_lock(m);
    outcome->is_stale = schema != NULL && schema != lic_memory_schema(m);
    if (!outcome->is_stale)
        status = commit(m, import, outcome, error);
    lic_memory_unlock(m);
    lic_memory_tell(m);
    return status;
}

/* ------------------------------------------------------------- replacing all */

/* All are new to an empty graph, so nothing is looked for before it is made known. */
static bool gather_one(const lic_memory_store *m, lic_store_import *import, lic_store_change *change)
{
    lic_edge edge = { { change->typed.resource, LIC_NO_NODE }, { change->typed.subject, LIC_NO_NODE } };
    uint32_t attribute;

    if (!make_room(import, m->memory) || !lic_memory_intern(m, change, &edge) ||
        !lic_memory_attribute(m, change, &attribute))
        return false;
    import->changes[import->count++] = (lic_change){ .edge = edge, .present = true, .attribute = attribute };
    return true;
}

bool lic_memory_gather(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count)
{
    lic_memory_store *m    = lic_memory_store_of(store);
    bool              done = true;

    lic_memory_lock(m);
    for (size_t i = 0; i < count && done; i++)
        done = gather_one(m, import, &changes[i]);
    lic_memory_unlock(m);
    return done;
}

/* What goes, and who is told. */
typedef struct leaving {
    lic_memory_store *m;
    lic_store_import *import;
    lic_instant       now;
    lic_snapshot      head;
} leaving;

static bool has_expired(const leaving *l, uint32_t attribute)
{
    const lic_attribute *content = lic_graph_attribute(l->m->graph, attribute);

    return content != NULL && lic_attribute_expired(content, l->now.seconds, l->now.nanoseconds);
}

static bool append(lic_memory *memory, const lic_edge *edge, lic_change **changes, size_t *capacity, size_t *count)
{
    if (!lic_grow(memory, (void **)changes, capacity, *count + 1, sizeof **changes))
        return false;
    (*changes)[(*count)++] = (lic_change){ .edge = *edge, .present = false };
    return true;
}

static bool forget_edge(const leaving *l, const lic_edge *edge, uint32_t attribute)
{
    lic_store_import *import = l->import;

    if (*find_place(import, edge) != FREE)
        return true;
    if (has_expired(l, attribute))
        return append(l->m->memory, edge, &import->expired, &import->expired_capacity, &import->expired_count);
    return append(l->m->memory, edge, &import->changes, &import->capacity, &import->count);
}

static bool forget_slot(const leaving *l, lic_slot slot)
{
    lic_edge  edge;
    lic_arena arena;
    lic_scan *scan;
    bool      found = true;
    bool      done;

    lic_arena_init(&arena, l->m->memory);
    scan = lic_snapshot_scan(&l->head, &arena, slot, NULL);
    done = scan != NULL;
    while (done && found) {
        done = lic_scan_next(scan, &edge, &found);
        if (done && found)
            done = forget_edge(l, &edge, lic_scan_attribute(scan));
    }
    lic_arena_free(&arena);
    return done;
}

/* Appends, as absent, every edge that the import does not have. */
static bool forget_rest(lic_memory_store *m, lic_store_import *import, lic_instant now)
{
    leaving l    = { .m = m, .import = import, .now = now };
    bool    done = make_number_room(import, m->memory);

    lic_snapshot_pin(m->graph, &l.head);
    for (lic_slot slot = 0; slot < lic_names_slot_count(m->names) && done; slot++)
        done = forget_slot(&l, slot);
    lic_snapshot_unpin(&l.head);
    return done;
}

static bool put_all(lic_memory_store *m, lic_store_import *import, lic_instant now, uint64_t *revision)
{
    return lic_graph_fill(m->graph, import->changes, import->count, revision) ||
           (forget_rest(m, import, now) && lic_graph_apply(m->graph, import->changes, import->count, revision));
}

static licet_status replace_all(lic_memory_store *m, lic_store_import *import, lic_instant now, licet_schema **schema,
                                uint64_t *revision, licet_error **error)
{
    licet_schema *added = *schema;

    if (!lic_schemas_add(m->host.schemas, lic_graph_head(m->graph) + 1, &added))
        return lic_fail_memory(error);
    if (!put_all(m, import, now, revision)) {
        lic_schemas_withdraw(m->host.schemas);
        licet_schema_retain(*schema); /* the list has taken the caller's */
        return lic_fail_memory(error);
    }
    *schema       = NULL;
    import->count = 0; /* the graph has taken the attributes */
    lic_schemas_trim(m->host.schemas, m->graph, lic_graph_oldest(m->graph));
    return LICET_OK;
}

licet_status lic_memory_replace_all(lic_store *store, lic_store_import *import, lic_instant now, licet_schema **schema,
                                    uint64_t *revision, licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    licet_status      status;

    lic_memory_lock(m);
    status = replace_all(m, import, now, schema, revision, error);
    lic_memory_unlock(m);
    return status;
}

licet_status lic_memory_forget_expired(lic_store *store, lic_store_import *import, uint64_t *revision,
                                       licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    licet_status      status;

    *revision = 0;
    if (import->expired_count == 0)
        return LICET_OK;
    lic_memory_lock(m);
    status = lic_memory_annotate(m, LIC_MEMORY_QUIET, error);
    if (status == LICET_OK && !lic_graph_apply(m->graph, import->expired, import->expired_count, revision))
        status = lic_fail_memory(error);
    lic_memory_unlock(m);
    return status;
}

void lic_memory_import_end(lic_store *store, lic_store_import *import)
{
    lic_memory_store *m = lic_memory_store_of(store);

    if (import == NULL)
        return;
    for (size_t i = 0; i < import->count; i++)
        lic_graph_attribute_release(m->graph, import->changes[i].attribute);
    lic_free(m->memory, import->changes, import->capacity * sizeof *import->changes);
    lic_free(m->memory, import->expired, import->expired_capacity * sizeof *import->expired);
    lic_free(m->memory, import->numbers, import->number_capacity * sizeof *import->numbers);
    lic_free(m->memory, import, sizeof *import);
}
