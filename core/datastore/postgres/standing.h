/* What the graph shows of the database, and how it comes to show more: the initial load, and one catch-up after another.
 * All of it is done by one at a time, who has the follower's link. */
#ifndef LIC_DATASTORE_POSTGRES_STANDING_H
#define LIC_DATASTORE_POSTGRES_STANDING_H

#include "datastore/postgres/state.h"

/* Prepares a new link: looks whether the database is fit, and either goes on from where the graph stands, if that is
 * comparable, or loads everything. */
licet_status lic_pg_stand(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error);

/* Asks whether anything was committed since. */
licet_status lic_pg_ask(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error);
/* Takes the answer, asks what it was if need be, and applies that. DEADLINE_EXCEEDED and CLOSED may leave the link busy:
 * somebody else may go on with this. *too_much: everything is to be loaded anew, the status is OK. */
licet_status lic_pg_take_answer(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, bool *too_much,
                                licet_error **error);

/* The database's clock, as it was in the middle of a round trip that began at asked_ns (lic_boot_ns()). */
void lic_pg_set_clock(lic_pg_store *store, int64_t asked_ns, int64_t clock_us);
/* By the same; 1970 while it is not known: then nothing has expired. */
lic_instant lic_pg_now(const lic_pg_store *store);

void lic_pg_standing_free(lic_pg_store *store);

#endif
