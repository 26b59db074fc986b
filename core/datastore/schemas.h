/* The schemas in force: a revision is judged by the schema that was written last before it.
 *
 * A list, newest first. Readers walk it without a lock, for a revision that they have pinned. Law: an entry is in the
 * list before its revision can be pinned, and leaves it only when no revision that can be pinned needs it and every
 * reader has gone who had pinned one that did. */
#ifndef LIC_DATASTORE_SCHEMAS_H
#define LIC_DATASTORE_SCHEMAS_H

#include "graph/graph.h"
#include "schema/schema.h"

typedef struct lic_schema_entry {
    _Atomic uint64_t                 revision; /* from which it is in force; UINT64_MAX: never */
    licet_schema                    *schema;   /* held. Set before revision is */
    struct lic_schema_entry *_Atomic older;
} lic_schema_entry;

typedef struct lic_schemas {
    lic_memory               *memory;
    lic_schema_entry *_Atomic newest;
    lic_schema_entry         *cut;       /* those behind it go when nobody can be on his way to them. NULL: none do */
    _Atomic bool              cut_ready; /* that is now */
} lic_schemas;

void lic_schemas_init(lic_schemas *schemas, lic_memory *memory);
void lic_schemas_free(lic_schemas *schemas); /* no reader may be left */

/* The schema of a pinned revision. There is one as soon as one was added for revision 0. */
static inline const licet_schema *lic_schemas_at(const lic_schemas *schemas, uint64_t revision)
{
    const lic_schema_entry *entry = atomic_load_explicit(&schemas->newest, memory_order_acquire);

    while (atomic_load_explicit(&entry->revision, memory_order_acquire) > revision)
        entry = atomic_load_explicit(&entry->older, memory_order_acquire);
    return entry->schema;
}

/* The first revision behind `after`, up to the pinned one `through`, from which another schema is in force; 0: none. What
 * was given up is not found: the graph's history ends later then than `after`. */
uint64_t lic_schemas_next(const lic_schemas *schemas, uint64_t after, uint64_t through);

/* The rest under the write lock. */

/* Makes the schema the one in force from a revision that is not yet visible. Takes *schema and leaves NULL. false:
 * out of memory, nothing changed. */
bool lic_schemas_add(lic_schemas *schemas, uint64_t revision, licet_schema **schema);
/* Takes the last one back: its revision did not come about. */
void lic_schemas_withdraw(lic_schemas *schemas);
/* Gives up those that no revision from `oldest` on needs, at the next call for which no reader is left that could be
 * looking for them. Without memory for that, later. */
void lic_schemas_trim(lic_schemas *schemas, lic_graph *graph, uint64_t oldest);

#endif
