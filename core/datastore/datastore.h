/* What the engine needs of a store of relationships and schemas: memory/, where the graph itself is the truth, and
 * postgres/, where the database is and the graph follows it.
 *
 * The judging (shapes, names, types) is the engine's and the same for every store: it is done by the schema in force at
 * some moment, without a lock, and the store makes sure that the schema still is when the write happens. Reading goes
 * through a snapshot that the caller has pinned. */
#ifndef LIC_DATASTORE_DATASTORE_H
#define LIC_DATASTORE_DATASTORE_H

#include "base/arena.h"
#include "datastore/attribute.h"
#include "datastore/filter.h"
#include "datastore/need.h"
#include "datastore/progress.h"
#include "datastore/schemas.h"
#include "datastore/typing.h"
#include "eval/eval.h"

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
    const void    *context;
    const lic_str *types; /* resource types of all that pass; none: of any */
    size_t         type_count;
} lic_row_test;

/* What one revision changed. */
typedef struct lic_store_revision {
    uint64_t      revision; /* 0: none changed anything */
    licet_update *updates; /* LICET_TOUCH with what is stored now, LICET_DELETE with what was; each relationship once */
    size_t        count;   /* of those that pass; may be 0 */
    lic_str       metadata; /* not given: none */
} lic_store_revision;

/* A precondition. */
typedef struct lic_expectation {
    lic_filter   filter;
    licet_filter asked; /* the same, as the request has it */
    bool         must_match;
} lic_expectation;

/* What every write is about, beside its changes. */
typedef struct lic_store_write {
    const licet_schema    *schema; /* by which everything was judged. Held by the caller */
    const lic_expectation *expectations;
    size_t                 expectation_count;
    lic_str                metadata; /* not given: none. Kept as long as changes are, or drops what is older */
    bool                   is_timed; /* else the store's own time counts, which is not known here */
    lic_instant            now;      /* what has expired then matches no expectation */
} lic_store_write;

/* What became of a write. */
typedef struct lic_store_outcome {
    bool        is_stale; /* not done, status OK: another schema is in force. Judge again */
    uint64_t    revision; /* from which this process shows it; 0: later than it ever will under a number */
    uint64_t    count;    /* of what was deleted, or imported */
    licet_token token;    /* of stores that make their own */
} lic_store_outcome;

typedef struct lic_store_erasure {
    lic_filter   filter;
    licet_filter asked; /* the same, as the request has it */
    uint64_t     limit; /* 0: none. More than that many that have not expired are an error unless partial is allowed */
    bool         allow_partial;
} lic_store_erasure;

/* A piece of an import that is committed piece by piece, each its own transaction, which also brings the record of the
 * import from `before` to `after`. */
typedef struct lic_import_piece {
    lic_str      name;
    lic_progress before; /* as the record has it, or the piece fails (lic_fail_import_moved()) */
    lic_progress after;
    bool         is_last;
} lic_import_piece;

typedef struct lic_store_methods {
    /* Pins what the consistency asks for, waiting for it if need be: a snapshot of the graph, or of one that was fetched
     * and shows at least what the need says (snapshot->owner). NULL: the graph's head is always the truth, and a token
     * names a revision of the graph. */
    licet_status (*pin)(lic_store *store, const licet_consistency *consistency, const lic_need *need,
                        lic_snapshot *snapshot, licet_error **error);
    /* The same for a revision that was pinned before. NULL as above. */
    licet_status (*pin_at)(lic_store *store, uint64_t revision, const lic_need *need, lic_snapshot *snapshot,
                           licet_error **error);
    /* The token of a pinned or remembered revision; empty when it can't be told any more. NULL as above. */
    void (*token)(lic_store *store, uint64_t revision, licet_token *token);
    /* The same, but empty rather than that of a later revision: for who goes on after it. NULL: as token. */
    void (*exact_token)(lic_store *store, uint64_t revision, licet_token *token);
    /* Waits until a default request can be answered. NULL: at once. */
    licet_status (*await)(lic_store *store, uint64_t until_ms, licet_error **error);

    /* Applies all changes, or none and says why (PRECONDITION_FAILED, ALREADY_EXISTS, OUT_OF_MEMORY). No changes make a
     * revision too. May take payloads of attributes out of the changes. What has expired is still there. */
    licet_status (*apply)(lic_store *store, const lic_store_write *write, lic_store_change *changes, size_t count,
                          lic_store_outcome *outcome, licet_error **error);

    /* Deletes what matches, expired or not. */
    licet_status (*erase)(lic_store *store, const lic_store_write *write, const lic_store_erasure *erasure,
                          lic_store_outcome *outcome, licet_error **error);

    /* Puts a schema in force if what is stored allows it (SCHEMA_ERROR), and with it, in the same revision, the changes
     * of a load into an empty store (MISUSE for one that is not). Takes *schema and leaves NULL where it succeeds. */
    licet_status (*replace_schema)(lic_store *store, licet_schema **schema, lic_instant now, lic_store_outcome *outcome,
                                   licet_error **error);
    licet_status (*load)(lic_store *store, licet_schema **schema, lic_store_change *changes, size_t count,
                         licet_error **error);

    /* At most `most` rows that match and have not expired, the first ones behind `after` (NULL: the first of all). */
    licet_status (*read)(lic_store *store, const lic_snapshot *snapshot, const lic_filter *filter, lic_instant now,
                         const lic_edge *after, size_t most, lic_arena *arena, lic_rows *rows, licet_error **error);

    /* The first revision behind `after`, up to `through` and to the snapshot's, that changed anything. Updates and
     * metadata live in the arena, ids and names as those of rows do. */
    licet_status (*changes)(lic_store *store, const lic_snapshot *snapshot, uint64_t after, uint64_t through,
                            const lic_row_test *test, lic_arena *arena, lic_store_revision *changes,
                            licet_error **error);
    /* Pins the revision of the graph that a watch goes on from which was at the token: the token's own, or if not all that
     * was committed behind that is known here (*is_there false) a later one. NULL: it is always there. */
    licet_status (*pin_since)(lic_store *store, lic_str since, lic_snapshot *snapshot, bool *is_there,
                              licet_error **error);
    /* Then: the difference between the token and that revision, as if it had been made at once. In the arena, all of it.
     * REVISION_EXPIRED, LIMIT_EXCEEDED. NULL as above. */
    licet_status (*difference)(lic_store *store, lic_str since, const lic_snapshot *snapshot, const lic_row_test *test,
                               lic_arena *arena, lic_store_revision *difference, bool *schema_changed,
                               licet_error **error);
    /* Can changes be told at all? UNSUPPORTED where the graph does not follow what is committed. Asked before any of these
     * and again after a wait; any thread, also under a lock. NULL: always. */
    licet_status (*watchable)(lic_store *store, licet_error **error);
    /* Was everything behind `after` still known? Asked after it was read, of the same snapshot. */
    bool (*keeps)(lic_store *store, const lic_snapshot *snapshot, uint64_t after);

    /* An import: any number of changes, all CREATE, taken in parts and applied as one. piece: the caller's until the
     * import has ended, who sets what comes after before the commit; NULL: it is no piece of anything. */
    licet_status (*import_begin)(lic_store *store, const lic_import_piece *piece, lic_store_import **import,
                                 licet_error **error);
    /* May take payloads of attributes out of the changes. ALREADY_EXISTS for what is in the import twice, here or at the
     * commit. After a failure the import can only be ended. */
    licet_status (*import_add)(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count,
                               licet_error **error);
    /* Applies all of it, or none and says why, as apply does; a piece that is not the last need not be shown here yet.
     * schema: by which all were judged; NULL: there were none. */
    licet_status (*import_commit)(lic_store *store, lic_store_import *import, const licet_schema *schema,
                                  lic_store_outcome *outcome, licet_error **error);
    void (*import_end)(lic_store *store, lic_store_import *import); /* NULL is fine */

    /* The record of an import that is committed piece by piece: of a new one, if none has the name. Waits for a piece of
     * it that somebody else has begun. */
    licet_status (*import_open)(lic_store *store, lic_str name, lic_import_record *record, licet_error **error);
    /* The same as it is; *is_known false: there is none. */
    licet_status (*import_find)(lic_store *store, lic_str name, lic_import_record *record, bool *is_known,
                                licet_error **error);
    /* Forgets the record. *was_known false: there was none. */
    licet_status (*import_forget)(lic_store *store, lic_str name, bool *was_known, licet_error **error);

    /* Removes from where the truth is what no revision needs. NULL: nothing to do. */
    licet_status (*collect)(lic_store *store, uint64_t *removed, licet_error **error);
    /* Adds what it knows to statistics that the engine has begun. NULL: nothing. */
    void (*measure)(lic_store *store, licet_stats *stats);

    /* Around a fork, which is made under the graph's write lock. In the child other threads are gone, with what they
     * held. The first two may be NULL. */
    void (*before_fork)(lic_store *store);
    void (*after_fork_parent)(lic_store *store);
    void (*after_fork_child)(lic_store *store);

    /* Ends what waits, and threads; calls in progress and later ones answer CLOSED. Twice is fine. NULL: nothing waits. */
    void (*stop)(lic_store *store);
    void (*free)(lic_store *store);
} lic_store_methods;

struct lic_store {
    const lic_store_methods *methods;
    /* Until then (lic_boot_ms()) the graph's head is fresh enough for who does not ask for more. LIC_STORE_ALWAYS: the
     * head is the truth, whatever is asked for. */
    _Atomic uint64_t fresh_until_ms;
    /* The store's clock minus lic_boot_ns(), or one of the two below. */
    _Atomic int64_t clock_offset_ns;
};

#define LIC_STORE_ALWAYS UINT64_MAX
#define LIC_STORE_HOST_CLOCK INT64_MIN      /* it has none: the host's counts */
#define LIC_STORE_CLOCK_NOT_KNOWN INT64_MAX /* nobody has asked it, or its answers took too long to say anything */

/* A part of the relationships at some revision, that was fetched for one request, and the schema in force there. A
 * snapshot of its graph holds it (as owner), and so may streams. */
typedef struct lic_fetched {
    _Atomic uint32_t references;
    lic_memory      *memory;
    lic_graph       *graph;
    licet_schema    *schema; /* held */
} lic_fetched;

/* Takes the graph, also when it fails. NULL: out of memory. */
lic_fetched *lic_fetched_new(lic_memory *memory, lic_graph *graph, const licet_schema *schema);
void         lic_fetched_retain(lic_fetched *fetched);
void         lic_fetched_release(lic_fetched *fetched); /* NULL is fine */
/* Pins it, under the number that the store gave this revision. */
void lic_fetched_pin(lic_fetched *fetched, uint64_t revision, lic_snapshot *snapshot);
/* Unpins any snapshot, and lets go of what was fetched for it, if anything was. */
static inline void lic_fetched_unpin(lic_snapshot *snapshot)
{
    lic_fetched *fetched = snapshot->owner;

    lic_snapshot_unpin(snapshot);
    if (fetched != NULL)
        lic_fetched_release(fetched);
}

/* What the parts of an engine are to a store. */
typedef struct lic_store_host {
    lic_memory            *memory;
    lic_names             *names; /* written under the graph's write lock only */
    lic_graph             *graph;
    lic_schemas           *schemas;
    bool                   strict;
    const lic_eval_limits *limits;    /* of evaluations over what is stored */
    void (*committed)(void *context); /* the graph has a new revision. Not under a lock */
    void     *context;
    licet_log log;
} lic_store_host;

/* An edge's attribute as a row's, in the arena: the graph's may go when nobody is pinned. NULL: out of memory. */
const lic_row_attribute *lic_row_attribute_new(lic_arena *arena, const lic_attribute *attribute);

/* The row as a record. Views live as long as the row and the names. */
void lic_row_relationship(const lic_names *names, const lic_row *row, licet_relationship *relationship);

/* Does the filter select the row, whatever its attribute? */
bool lic_filter_selects(const lic_names *names, const lic_filter *filter, const lic_row *row);

/* What every store says of a relationship that is there already, of an expectation that does not hold (counted from 0),
 * of an erasure of too much, of a load into what is not empty. Memory for the text of the first. */
licet_status lic_fail_exists(lic_memory *memory, const licet_relationship *relationship, licet_error **error);
licet_status lic_fail_expectation(size_t index, bool must_match, licet_error **error);
licet_status lic_fail_too_many(uint64_t limit, licet_error **error);
licet_status lic_fail_not_empty(licet_error **error); /* of a load */
/* Of a piece: the import's record is not as the piece has it. */
licet_status lic_fail_import_moved(lic_str name, licet_error **error);

/* Pins a revision of a graph: REVISION_EXPIRED, INVALID_TOKEN for one that it has not reached. */
licet_status lic_revision_pin(const lic_graph *graph, uint64_t revision, lic_snapshot *snapshot, licet_error **error);

/* Order of rows: <0, 0, >0. */
int lic_edge_compare(const lic_edge *a, const lic_edge *b);

#endif
