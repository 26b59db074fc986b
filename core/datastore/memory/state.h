/* The store in memory as the files of this folder share it. */
#ifndef LIC_DATASTORE_MEMORY_STATE_H
#define LIC_DATASTORE_MEMORY_STATE_H

#include "datastore/datastore.h"
#include "datastore/memory/notes.h"

/* How far an import has come that is committed piece by piece. */
typedef struct lic_memory_record {
    char              name[LIC_MAX_IMPORT_NAME_BYTES];
    size_t            name_size;
    lic_import_record record;
} lic_memory_record;

typedef struct lic_memory_store {
    lic_store        base;
    lic_store_host   host;
    lic_memory      *memory; /* the host's; and so are the next two */
    lic_graph       *graph;
    const lic_names *names;
    lic_notes        notes;

    lic_memory_record *records; /* under the write lock, like all that is written */
    size_t             record_count;
    size_t             record_capacity;
} lic_memory_store;

/* The note of a revision that nobody is told of. (Metadata are JSON objects.) */
#define LIC_MEMORY_QUIET LIC_STR("-")

static inline lic_memory_store *lic_memory_store_of(lic_store *store)
{
    return (lic_memory_store *)store;
}

/* The write lock. Leaving it tells the host that there may be a new revision, unless that is NULL. */
void lic_memory_lock(lic_memory_store *m);
void lic_memory_unlock(lic_memory_store *m);
void lic_memory_tell(const lic_memory_store *m);

/* All under the write lock. */

/* The schema in force. */
const licet_schema *lic_memory_schema(const lic_memory_store *m);

/* The edge of a change, as far as its nodes are known. */
lic_edge lic_memory_find_edge(const lic_memory_store *m, const lic_store_change *change);
/* Makes its nodes known. false: out of memory. */
bool lic_memory_intern(const lic_memory_store *m, const lic_store_change *change, lic_edge *edge);
/* Of the revision that is about to be made; not given: nothing. */
licet_status lic_memory_annotate(lic_memory_store *m, lic_str note, licet_error **error);
/* lic_graph_apply(); but a graph that is short of memory gives up its history first, and metadata is part of that. */
bool lic_memory_change_graph(lic_memory_store *m, const lic_change *changes, size_t count, uint64_t *revision);
/* The number of the change's attribute, held once; the graph takes the payload. false: out of memory. */
bool lic_memory_attribute(const lic_memory_store *m, lic_store_change *change, uint32_t *number);
/* ALREADY_EXISTS, with the relationship's text. */
licet_status lic_memory_fail_exists(const lic_memory_store *m, lic_edge edge, licet_error **error);

/* Of a pinned snapshot of the graph. The row's ids are the graph's and live as long as it does; its attribute is the
 * arena's. false: out of memory. */
bool lic_memory_row(const lic_memory_store *m, const lic_graph *graph, const lic_edge *edge, uint32_t attribute,
                    lic_arena *arena, lic_row *row);

/* Of the store's methods. */
licet_status lic_memory_changes(lic_store *store, const lic_snapshot *snapshot, uint64_t after, uint64_t through,
                                const lic_row_test *test, lic_arena *arena, lic_store_revision *changes,
                                licet_error **error);
bool         lic_memory_keeps(lic_store *store, const lic_snapshot *snapshot, uint64_t after);
licet_status lic_memory_import_begin(lic_store *store, const lic_import_piece *piece, lic_store_import **import,
                                     licet_error **error);
licet_status lic_memory_import_add(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count,
                                   licet_error **error);
licet_status lic_memory_import_commit(lic_store *store, lic_store_import *import, const licet_schema *schema,
                                      lic_store_outcome *outcome, licet_error **error);
void         lic_memory_import_end(lic_store *store, lic_store_import *import);
licet_status lic_memory_import_open(lic_store *store, lic_str name, lic_import_record *record, licet_error **error);
licet_status lic_memory_import_find(lic_store *store, lic_str name, lic_import_record *record, bool *is_known,
                                    licet_error **error);
licet_status lic_memory_import_forget(lic_store *store, lic_str name, bool *was_known, licet_error **error);

/* Under the write lock: the record of that name; NULL: there is none. */
lic_memory_record *lic_memory_find_record(const lic_memory_store *m, lic_str name);

#endif
