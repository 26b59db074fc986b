/* What the engine needs of a store of relationships. One implementation so far: memory/.
 *
 * Writing goes begin, reads and changes, end: one writer at a time, and what is read in between is the head. The
 * judging (shapes, names, types, preconditions) is the engine's and the same for every store. Reading goes
 * through a snapshot that the caller has pinned. */
#ifndef LIC_DATASTORE_DATASTORE_H
#define LIC_DATASTORE_DATASTORE_H

#include "base/arena.h"
#include "datastore/attribute.h"
#include "datastore/filter.h"
#include "datastore/typing.h"
#include "graph/graph.h"

typedef struct lic_store        lic_store;
typedef struct lic_store_import lic_store_import; /* a store's own */

/* One change of a write. The relationship is typed; changes of one write have distinct identities. */
typedef struct lic_store_change {
    licet_operation operation;
    lic_typed       typed;
    lic_str         resource_id;
    lic_str         subject_id;
    lic_attribute   attribute; /* of a DELETE it says nothing */
} lic_store_change;

/* Frees the payloads that no store has taken. */
void lic_store_changes_end(lic_store_change *changes, size_t count);

/* What a row has beside its names. */
typedef struct lic_row_attribute {
    uint32_t caveat;     /* number of its name; LIC_NO_CAVEAT_NAME: none */
    lic_str  context;    /* compact JSON with sorted keys; not given: none */
    lic_str  expiration; /* RFC 3339, UTC; not given: never */
} lic_row_attribute;

/* One relationship that was read. Rows are ordered by their edges: resource first, then subject. */
typedef struct lic_row {
    lic_edge edge; /* its place in the order of a read; the numbers are the store's */
    lic_str  resource_id;
    lic_str  subject_id;

    const lic_row_attribute *attribute; /* NULL, as for most: none */
} lic_row;

/* Rows of one read. They live in the arena, their ids there or in the store: until the first of both ends. */
typedef struct lic_rows {
    lic_row *items;
    size_t   count;
} lic_rows;

/* Which rows are told. A row that is asked about has no attribute yet. */
typedef struct lic_row_test {
    bool (*passes)(const void *context, const lic_row *row);
    const void *context;
} lic_row_test;

/* What one revision changed. */
typedef struct lic_store_revision {
    uint64_t      revision; /* 0: none changed anything */
    licet_update *updates; /* LICET_TOUCH with what is stored now, LICET_DELETE with what was; each relationship once */
    size_t        count;   /* of those that pass; may be 0 */
    lic_str       metadata; /* not given: none */
} lic_store_revision;

typedef struct lic_store_methods {
    /* The write lock. `head` is the newest revision. */
    void (*begin)(lic_store *store, uint64_t *head);
    void (*end)(lic_store *store);

    /* Between begin and end, and there the last thing before apply or erase: what that commits has this metadata. It is
     * kept as long as changes are, or drops what is older. Copied. OUT_OF_MEMORY. */
    licet_status (*annotate)(lic_store *store, lic_str metadata, licet_error **error);

    /* Between begin and end: applies all changes, or none and says why (ALREADY_EXISTS, OUT_OF_MEMORY). No changes
     * make a revision too. Takes payloads of attributes out of the changes. What has expired is still there. */
    licet_status (*apply)(lic_store *store, lic_store_change *changes, size_t count, uint64_t *revision,
                          licet_error **error);

    /* Between begin and end: deletes what matches, expired or not. With a limit, more than that many that have not
     * expired are an error unless partial is allowed. *count is the number deleted. */
    licet_status (*erase)(lic_store *store, const lic_filter *filter, lic_instant now, uint64_t limit,
                          bool allow_partial, uint64_t *count, uint64_t *revision, licet_error **error);

    /* At most `most` rows that match and have not expired, the first ones behind `after` (NULL: the first of all). */
    licet_status (*read)(lic_store *store, const lic_snapshot *snapshot, const lic_filter *filter, lic_instant now,
                         const lic_edge *after, size_t most, lic_arena *arena, lic_rows *rows, licet_error **error);

    /* The first revision behind `after`, up to `through` and to the snapshot's, that changed anything. Updates and
     * metadata live in the arena, ids and names as those of rows do. */
    licet_status (*changes)(lic_store *store, const lic_snapshot *snapshot, uint64_t after, uint64_t through,
                            const lic_row_test *test, lic_arena *arena, lic_store_revision *changes,
                            licet_error **error);
    /* Was everything behind `after` still known? Asked after it was read, of the same snapshot. */
    bool (*keeps)(lic_store *store, const lic_snapshot *snapshot, uint64_t after);

    /* An import: any number of changes, all CREATE, taken in parts and applied as one. */
    licet_status (*import_begin)(lic_store *store, lic_store_import **import, licet_error **error);
    /* Between begin and end. Takes payloads of attributes out of the changes. ALREADY_EXISTS for what is in the
     * import twice. After a failure the import can only be ended. */
    licet_status (*import_add)(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count,
                               licet_error **error);
    /* Between begin and end: applies all of it, or none and says why, as apply does. */
    licet_status (*import_commit)(lic_store *store, lic_store_import *import, uint64_t *count, uint64_t *revision,
                                  licet_error **error);
    void (*import_end)(lic_store *store, lic_store_import *import); /* NULL is fine */

    /* In the child of a fork, which was made under the write lock: other threads are gone, with what they held. */
    void (*after_fork)(lic_store *store);

    void (*free)(lic_store *store);
} lic_store_methods;

struct lic_store {
    const lic_store_methods *methods;
};

/* An edge's attribute as a row's, in the arena: the graph's may go when nobody is pinned. NULL: out of memory. */
const lic_row_attribute *lic_row_attribute_new(lic_arena *arena, const lic_attribute *attribute);

/* The row as a record. Views live as long as the row and the names. */
void lic_row_relationship(const lic_names *names, const lic_row *row, licet_relationship *relationship);

/* Does the filter select the row, whatever its attribute? */
bool lic_filter_selects(const lic_names *names, const lic_filter *filter, const lic_row *row);

/* Order of rows: <0, 0, >0. */
int lic_edge_compare(const lic_edge *a, const lic_edge *b);

#endif
