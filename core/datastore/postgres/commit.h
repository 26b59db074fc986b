/* A transaction that is committed once, or known not to be.
 *
 * An answer that doesn't come says nothing: the COMMIT may have been done, or may still be. So each transaction has a
 * random number that its row of tx holds, and who gets no answer asks for it on another link. Asking takes the number
 * if nobody has it, so that "not done" stays true (sql/outcome.sql). What can't be found out before the deadline is
 * told as such: UNAVAILABLE, reason MAY_HAVE_BEEN_APPLIED. A part of the time is kept for asking.
 *
 * What failed for another transaction's sake (40001, 40P01) or was not done because the connection broke is run again,
 * a few times, within the deadline. */
#ifndef LIC_DATASTORE_POSTGRES_COMMIT_H
#define LIC_DATASTORE_POSTGRES_COMMIT_H

#include "datastore/postgres/state.h"

#define LIC_PG_REQUEST_BYTES 37 /* of a uuid as text, with its NUL */

/* Runs the whole transaction with this number and waits for its end. *result: of WRITE, DELETE, WRITE_SCHEMA or IMPORT.
 * A failure may leave the link in the middle of the transaction, which ends with it. */
typedef licet_status (*lic_pg_run_transaction)(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                                               PGresult **result, licet_error **error);

typedef struct lic_pg_commit {
    lic_pg_store          *store;
    uint64_t               until_ms;
    lic_pg_run_transaction run;
    void                  *context;
    lic_pg_link           *link; /* taken already, in the middle of the transaction: it runs once. Given back */
    char                   request[LIC_PG_REQUEST_BYTES];

    /* What became of it. */
    uint64_t       schema_version;
    uint64_t       deleted;
    licet_token    token;   /* empty where it could not be made: that is no failure of what was committed */
    lic_pg_failure failure; /* of what failed and is known not to have been done; else empty */
} lic_pg_commit;

/* With the deadline of writes, from now. */
lic_pg_commit lic_pg_commit_of(lic_pg_store *store, lic_pg_run_transaction run, void *context);
/* Until when the transaction itself may take. */
uint64_t lic_pg_commit_run_until(const lic_pg_commit *commit);
/* A new number. UNAVAILABLE: the system has no random bytes. */
licet_status lic_pg_commit_number(lic_pg_commit *commit, licet_error **error);

/* What run fails with, UNAVAILABLE, DEADLINE_EXCEEDED, CLOSED, OUT_OF_MEMORY. OK: it has been committed. */
licet_status lic_pg_commit_now(lic_pg_commit *commit, licet_error **error);

/* After a success: the outcome, once the graph shows it if that doesn't take long. */
void lic_pg_commit_show(const lic_pg_commit *commit, uint64_t count, lic_store_outcome *outcome);

#endif
