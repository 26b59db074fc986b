/* What a link is made of, for the files that make one up: open.c, link.c, copy.c, failure.c. */
#ifndef LIC_DATASTORE_POSTGRES_LINK_STATE_H
#define LIC_DATASTORE_POSTGRES_LINK_STATE_H

#include "datastore/postgres/link.h"

typedef enum lic_pg_activity {
    LIC_PG_AT_REST,
    LIC_PG_ASKED, /* an answer is outstanding */
    LIC_PG_COPYING_IN
} lic_pg_activity;

struct lic_pg_link {
    lic_memory      *memory;
    PGconn          *connection; /* NULL: lost */
    int              descriptor; /* a copy, since a child of a fork must not ask libpq; -1: none */
    lic_pg_activity  activity;
    PGresult        *answer;          /* of what was asked, as far as it has come: an error, else the last result */
    bool             has_rolled_back; /* a transaction, in what was asked */
    _Atomic uint64_t round_trips;     /* told to others meanwhile */
    size_t           unflushed_bytes; /* about; of a COPY */
    size_t           prepared_count;
    const char      *prepared[LIC_PG_STATEMENTS_MAX]; /* names */
    lic_pg_server    server;
    lic_pg_failure   failure;
};

/* Closes the socket without a word. */
void lic_pg_link_lose(lic_pg_link *link);
/* What a wait that did not end well means. */
licet_status lic_pg_wait_failed(lic_pg_waited waited, licet_error **error);
/* The link is lost; libpq's words are not for people: they can hold parts of the connection string. */
licet_status lic_pg_link_broken(lic_pg_link *link, const char *what, licet_error **error);

/* Notes why, loses the link where the server ended it, and says what the error means. */
licet_status lic_pg_result_failed(lic_pg_link *link, const PGresult *result, licet_error **error);

/* Before anything is asked: lost, or busy? */
licet_status lic_pg_link_begin(lic_pg_link *link, licet_error **error);
/* Sends all that libpq still holds. Failures lose the link. */
licet_status lic_pg_link_flush(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error);
/* Waits for what the server has to say next; nothing is lost when that takes too long. */
licet_status lic_pg_link_await(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error);
/* The result of what was asked, when all of it has come: one, or the last of many. What is no success is a failure by
 * lic_pg_result_failed(), after which the link is at rest. */
licet_status lic_pg_link_receive(lic_pg_link *link, lic_pg_waiting *waiting, bool many, PGresult **result,
                                 licet_error **error);
/* A statement without a name, its results in binary; nothing is kept of it on the server. */
licet_status lic_pg_link_query(lic_pg_link *link, const char *sql, int count, const char *const *texts,
                               lic_pg_waiting *waiting, PGresult **result, licet_error **error);

/* Behind a pooler: is it still the server that was described when the link was made? Else the link is lost. */
licet_status lic_pg_link_recognise(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error);

#endif
