/* Relationships themselves, by a filter: for reads, exports and what a new schema would do, which fetch a graph of them; and
 * for who asks whether there is one at all.
 *
 * Rows are told in the order of their names, so two fetches of one need at one snapshot give graphs of the same numbers, and
 * a place in one is a place in the other. */
#ifndef LIC_DATASTORE_POSTGRES_FETCH_ROWS_H
#define LIC_DATASTORE_POSTGRES_FETCH_ROWS_H

#include "datastore/postgres/prefetch.h"

/* As lic_pg_prefetch(), of a need of the kind LIC_NEED_ROWS. schema: the name that our tables are under, checked. */
licet_status lic_pg_fetch_rows(lic_pg_link *link, lic_str schema, const lic_pg_wanted *wanted, lic_pg_wait wait,
                               lic_arena *arena, lic_pg_prefetched *fetched, licet_error **error);

/* At most `most` of those that match and have not expired (now NULL: they too), as the link's transaction sees them. Ids
 * and attributes live in the arena; of edges only the slots say something. program: of the schema in force, by which rows
 * are judged. Errors as above. */
licet_status lic_pg_read_rows(lic_pg_link *link, lic_str schema, const lic_store_host *host, const lic_program *program,
                              const lic_filter *filter, const lic_instant *now, size_t most, lic_pg_wait wait,
                              lic_arena *arena, lic_rows *rows, licet_error **error);

#endif
