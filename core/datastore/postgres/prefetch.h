/* The part of the graph that one request can touch, fetched by one query (two, for some lookups) into a small graph of its
 * own. The ordinary evaluator gives the answers over it that it would give over the whole.
 *
 * Numbers of ids follow from the rows alone, in lookups in the order of the ids that are looked up: two fetches of one need
 * at one snapshot give graphs of the same numbers, so a place in one is a place in the other. */
#ifndef LIC_DATASTORE_POSTGRES_PREFETCH_H
#define LIC_DATASTORE_POSTGRES_PREFETCH_H

#include "datastore/datastore.h"
#include "datastore/need.h"
#include "datastore/postgres/fetch_sql.h"
#include "datastore/postgres/token.h"
#include "eval/eval.h"

/* What is to be fetched. */
typedef struct lic_pg_wanted {
    const lic_store_host  *host; /* memory, names */
    const lic_pg_fetches  *fetches;
    const lic_program     *program;        /* by which the need is understood and rows are judged */
    uint64_t               schema_version; /* that it was compiled of; 0: the empty one */
    const lic_need        *need;
    const lic_eval_limits *limits;    /* of the evaluation to come */
    size_t                 most_rows; /* more relationships than these are LIMIT_EXCEEDED; less than 2^31 */
    const lic_pg_snapshot *at;        /* NULL: the head */
} lic_pg_wanted;

typedef struct lic_pg_prefetched {
    /* At revision 1; the caller's, freed with lic_graph_free(). NULL, though all went well: another schema is in force,
     * the one of `schema_version`. Fetch again, by that. */
    lic_graph      *graph;
    lic_pg_snapshot snapshot; /* that the graph shows, in the arena */
    lic_pg_snapshot
                current; /* the server's own. Of a fetch at a snapshot that this does not dominate: wait, or refuse */
    uint64_t    schema_version;
    uint64_t    gc_horizon;
    lic_instant now; /* of the database's clock */
    uint8_t     mark[LIC_PG_MARK_BYTES];
    size_t      row_count;
} lic_pg_prefetched;

/* After a failure there is nothing to free. LIMIT_EXCEEDED (kind limit), REVISION_EXPIRED for a snapshot that garbage
 * collection has passed, UNAVAILABLE for rows that do not fit the schema (never a smaller graph), OUT_OF_MEMORY, and what
 * lic_pg_run() fails with. */
licet_status lic_pg_prefetch(lic_pg_link *link, const lic_pg_wanted *wanted, lic_pg_wait wait, lic_arena *arena,
                             lic_pg_prefetched *fetched, licet_error **error);

#endif
