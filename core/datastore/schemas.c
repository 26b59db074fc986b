/* A withdrawn entry stays at the head of the list, since a reader may be looking at it, with a revision that nobody
 * has; the next schema takes its place. */
#include "datastore/schemas.h"

#define NEVER UINT64_MAX

void lic_schemas_init(lic_schemas *schemas, lic_memory *memory)
{
    *schemas = (lic_schemas){ .memory = memory };
}

static void free_chain(lic_memory *memory, lic_schema_entry *entry)
{
    while (entry != NULL) {
        lic_schema_entry *older = atomic_load_explicit(&entry->older, memory_order_relaxed);

        licet_schema_release(entry->schema);
        lic_free(memory, entry, sizeof *entry);
        entry = older;
    }
}

void lic_schemas_free(lic_schemas *schemas)
{
    free_chain(schemas->memory, atomic_load_explicit(&schemas->newest, memory_order_relaxed));
    atomic_store_explicit(&schemas->newest, NULL, memory_order_relaxed);
}

uint64_t lic_schemas_next(const lic_schemas *schemas, uint64_t after, uint64_t through)
{
    const lic_schema_entry *entry = atomic_load_explicit(&schemas->newest, memory_order_acquire);
    uint64_t                next  = 0;

    for (; entry != NULL; entry = atomic_load_explicit(&entry->older, memory_order_acquire)) {
        uint64_t revision = atomic_load_explicit(&entry->revision, memory_order_acquire);

        if (revision <= after)
            break;
        if (revision <= through)
            next = revision;
    }
    return next;
}

static void entry_fill(lic_schema_entry *entry, uint64_t revision, licet_schema **schema)
{
    licet_schema_release(entry->schema);
    entry->schema = *schema;
    *schema       = NULL;
    atomic_store_explicit(&entry->revision, revision, memory_order_release);
}

bool lic_schemas_add(lic_schemas *schemas, uint64_t revision, licet_schema **schema)
{
    lic_schema_entry *newest = atomic_load_explicit(&schemas->newest, memory_order_relaxed);
    lic_schema_entry *entry;

    if (newest != NULL && atomic_load_explicit(&newest->revision, memory_order_relaxed) == NEVER) {
        entry_fill(newest, revision, schema);
        return true;
    }
    entry = lic_alloc_zero(schemas->memory, sizeof *entry);
    if (entry == NULL)
        return false;
    atomic_init(&entry->older, newest);
    entry_fill(entry, revision, schema);
    atomic_store_explicit(&schemas->newest, entry, memory_order_release);
    return true;
}

void lic_schemas_withdraw(lic_schemas *schemas)
{
    lic_schema_entry *newest = atomic_load_explicit(&schemas->newest, memory_order_relaxed);

    atomic_store_explicit(&newest->revision, NEVER, memory_order_release);
}

static void say_ready(void *schemas, void *thing)
{
    (void)thing;
    atomic_store_explicit(&((lic_schemas *)schemas)->cut_ready, true, memory_order_release);
}

/* Readers that pinned before may still be on their way to those behind the cut; later ones stop at it. */
static void cut_off(lic_schemas *schemas)
{
    lic_schema_entry *older;

    if (schemas->cut == NULL || !atomic_load_explicit(&schemas->cut_ready, memory_order_acquire))
        return;
    older = atomic_load_explicit(&schemas->cut->older, memory_order_relaxed);
    atomic_store_explicit(&schemas->cut->older, NULL, memory_order_relaxed);
    free_chain(schemas->memory, older);
    schemas->cut = NULL;
}

void lic_schemas_trim(lic_schemas *schemas, lic_graph *graph, uint64_t oldest)
{
    lic_schema_entry *entry = atomic_load_explicit(&schemas->newest, memory_order_relaxed);

    cut_off(schemas);
    if (schemas->cut != NULL)
        return;
    while (atomic_load_explicit(&entry->revision, memory_order_relaxed) > oldest)
        entry = atomic_load_explicit(&entry->older, memory_order_relaxed);
    if (atomic_load_explicit(&entry->older, memory_order_relaxed) == NULL)
        return;
    atomic_store_explicit(&schemas->cut_ready, false, memory_order_relaxed);
    if (lic_graph_retire(graph, say_ready, schemas, NULL))
        schemas->cut = entry;
}
