/* The initial load: schema and all living rows of one snapshot, streamed into the replica, which then shows them and
 * nothing else. */
#ifndef LIC_DATASTORE_POSTGRES_LOAD_H
#define LIC_DATASTORE_POSTGRES_LOAD_H

#include "datastore/postgres/state.h"

/* What the statement of that name says. Views of its result. */
typedef struct lic_pg_begin {
    lic_str  wire; /* the snapshot */
    lic_str  mark;
    lic_str  key;
    int64_t  horizon;
    uint64_t version; /* of the schema */
} lic_pg_begin;

/* Inside the transaction of that snapshot. Also notes the new revision's mark. */
licet_status lic_pg_load_rows(lic_pg_store *store, lic_pg_link *link, const lic_pg_begin *begin, lic_instant now,
                              lic_pg_wait wait, licet_error **error);

#endif
