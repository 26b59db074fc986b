/* One connection to Postgres. libpq, non-blocking: every wait is a poll(2) of ours with a deadline and a bell.
 *
 * Past a deadline the link is lost: its socket is closed, nothing is cancelled politely. A link belongs to one
 * thread at a time. Results are libpq's and freed with PQclear(). */
#ifndef LIC_DATASTORE_POSTGRES_LINK_H
#define LIC_DATASTORE_POSTGRES_LINK_H

#include <libpq-fe.h>

#include "datastore/postgres/bell.h"
#include "datastore/postgres/conninfo.h"

/* What a connection is asked to be. */
typedef struct lic_pg_settings {
    lic_str  schema;               /* of our tables: checked, [a-z_][a-z0-9_]{0,62} */
    uint32_t statement_timeout_ms; /* the server's own, beside our deadlines, and of its locks; 0: none */
    bool     read_only;            /* else as the server's operator has it, who may have stopped all writing */
    bool     generic_plans; /* for links whose statements all have one sensible plan: planned once, not each time */
    /* For links whose statements look for few rows by an index: whole tables are not read where there is one. Else a plan
     * that was made while a table was small stays until it is analysed, and reads the table for every look. */
    bool by_index;
} lic_pg_settings;

typedef struct lic_pg_parameter {
    const char *data;   /* binary or text (that ends in NUL), as `format` says; NULL: null */
    int         size;   /* of binary */
    int         format; /* 0 text, 1 binary */
} lic_pg_parameter;

#define LIC_PG_PARAMETERS_MAX 32
#define LIC_PG_STATEMENTS_MAX 64 /* prepared on one link; further ones run unprepared */

/* Why the last call on a link failed, for a program. */
typedef struct lic_pg_failure {
    char sqlstate[6];  /* "": none, the failure is ours or the network's */
    char detail[3072]; /* the server's DETAIL, of errors that our own SQL functions raise (class LZ) and of 23505 */
} lic_pg_failure;

/* Serialization failure or deadlock: nothing was done, and the same transaction may go through next time. */
bool lic_pg_failure_retryable(const lic_pg_failure *failure);

typedef struct lic_pg_link lic_pg_link;

/* What the server says of itself at the beginning of a link, in one query. */
typedef struct lic_pg_server {
    int      version;       /* 150018 */
    uint32_t timeline;      /* 0 on a standby */
    int64_t  started_at_us; /* pg_postmaster_start_time(), microseconds since 1970 */
    /* When the server began to count, which it does anew after it lost a process, without a new start: transactions that
     * were not flushed are undone then, and their ids are handed out again. */
    int64_t  crashed_at_us;
    bool     is_standby;
    bool     is_encrypted; /* TLS */
    bool     is_verified;  /* and the server's name was checked */
    bool     is_pooled;    /* a pooler in transaction mode is between us: no state may be kept on the link */
    uint64_t system;       /* pg_control_system().system_identifier, a hint; 0 where it can't be read */
} lic_pg_server;

/* Blocks (names may be looked up, a password file be read): on threads of the store only. Sets the session up:
 * search_path to pg_catalog, the schema and pg_temp, statement_timeout, lock_timeout,
 * idle_in_transaction_session_timeout, client_encoding UTF8, TimeZone UTC, DateStyle ISO, standard_conforming_strings
 * on, synchronous_commit on, jit off, row_security off (rows that a policy would hide are an error),
 * default_transaction_isolation read committed. Not on a pooled link, where they would reach the sessions of others:
 * there names need their schema.
 * UNAVAILABLE, DEADLINE_EXCEEDED, CLOSED (the bell), OUT_OF_MEMORY; INVALID_ARGUMENT (config) for what no retry will
 * mend: user, password, database, a server older than 15, no TLS where it is required. */
licet_status lic_pg_link_open(lic_memory *memory, const lic_pg_conninfo *conninfo, const lic_pg_settings *settings,
                              lic_pg_wait wait, lic_pg_link **link, licet_error **error);
/* Says goodbye without waiting. NULL is fine. */
void lic_pg_link_close(lic_pg_link *link);
/* In the child of a fork: closes the descriptor raw and leaks libpq's part, since a goodbye would end the parent's
 * connection. */
void lic_pg_link_abandon(lic_pg_link *link);

/* Is it of no use any more? Whether what was sent to it last took place is then unknown. */
bool                  lic_pg_link_lost(const lic_pg_link *link);
const lic_pg_server  *lic_pg_link_server(const lic_pg_link *link);
const lic_pg_failure *lic_pg_link_failure(const lic_pg_link *link);
uint64_t              lic_pg_link_round_trips(const lic_pg_link *link);
/* Neither lost nor busy nor in a transaction: may be given to somebody else. Asks nobody. */
bool lic_pg_link_is_idle(const lic_pg_link *link);
/* Has a NOTIFY come in since the last time? Reads what has arrived while the link is at rest, and waits for nothing. */
bool lic_pg_link_was_notified(lic_pg_link *link);
/* What to poll(2) for while the link is busy; -1: lost. */
int lic_pg_link_descriptor(const lic_pg_link *link);

/* A statement: its text (ends in NUL, the schema's name is in it) must live as long as any link. `name` distinguishes
 * it; results come in binary. One without a name is never prepared, and its text need only live through the call. */
typedef struct lic_pg_statement {
    const char *name; /* NULL: none */
    const char *sql;
    int         parameter_count;
    const Oid  *parameter_types; /* NULL: the server finds out */
} lic_pg_statement;

/* Runs it and takes its one result, which has rows or is a command's. Prepared when it is first used on the link
 * (then that costs a round trip more); never on a pooled link, where each answer is followed by the question who gave
 * it: another server than the link began with loses it. Allocates nothing of ours.
 *
 * Fails with UNAVAILABLE (lost, or the server refuses for now), DEADLINE_EXCEEDED or CLOSED (the bell; the link is
 * lost then), OUT_OF_MEMORY; MISUSE for a link that is busy. What an error of the server becomes, and the link with
 * it:
 *
 *   40001, 40P01           UNAVAILABLE; lic_pg_failure_retryable()
 *   57014, 55P03           DEADLINE_EXCEEDED: statement_timeout, lock_timeout
 *   42P01, 42883, 42703, 42704, 3F000
 *                          UNAVAILABLE: not migrated, and says so
 *   42501, 25006, 53100, 53200, 53300, 57P01 to 57P05, 08xxx and all that is not named here
 *                          UNAVAILABLE
 *   0A000, 26000, 42P05    UNAVAILABLE: what was prepared is there no more. The first loses the link, after the others
 *                          it runs its statements unprepared
 *   XXxxx                  UNAVAILABLE, and the link is lost: what the session holds may be of tables that are gone
 *   LZ001 to LZ008, LZ010  ALREADY_EXISTS, PRECONDITION_FAILED, UNAVAILABLE, INVALID_ARGUMENT, NOT_FOUND,
 *                          LIMIT_EXCEEDED, LIMIT_EXCEEDED, MISUSE, PRECONDITION_FAILED, with the function's own
 *                          words: callers who know more say it better with lic_pg_link_failure()
 *   anything FATAL         as above, and the link is lost */
licet_status lic_pg_run(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                        lic_pg_wait wait, PGresult **result, licet_error **error);

/* The same in halves, so that somebody else may wait for the answer. Between them the link is busy. */
licet_status lic_pg_send(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                         lic_pg_wait wait, licet_error **error);
/* DEADLINE_EXCEEDED and CLOSED leave the link busy, not lost: it may be received again, or closed. */
licet_status lic_pg_receive(lic_pg_link *link, lic_pg_wait wait, PGresult **result, licet_error **error);

/* A text without parameters or results (BEGIN, COMMIT, several at once; rows are thrown away). A COMMIT that the server
 * made a ROLLBACK of is UNAVAILABLE. */
licet_status lic_pg_command(lic_pg_link *link, const char *sql, lic_pg_wait wait, licet_error **error);

/* COPY ... TO STDOUT (FORMAT binary): piece by piece, each a whole row in Postgres' binary form as the wire has it,
 * if the server is one (the 19 bytes of the header are taken away and checked; what is inside is for take to check).
 * take: false ends it with the status that it left in *status. A server that says nothing for quiet_ms has stopped, and is
 * not waited for until the deadline: DEADLINE_EXCEEDED. Whatever fails but the server's own error, the link
 * is lost. */
typedef bool (*lic_pg_take)(void *context, const char *row, size_t size, licet_status *status, licet_error **error);
licet_status lic_pg_copy_out(lic_pg_link *link, const char *sql, lic_pg_wait wait, uint32_t quiet_ms, lic_pg_take take,
                             void *context, licet_error **error);

/* COPY ... FROM STDIN (FORMAT binary): begin, any number of puts (header and trailer are added, rows may be cut
 * anywhere), end. *count: rows. What the server finds wrong is said at the end; other failures lose the link.
 * Closing it in between undoes everything. */
licet_status lic_pg_copy_in(lic_pg_link *link, const char *sql, lic_pg_wait wait, licet_error **error);
licet_status lic_pg_copy_put(lic_pg_link *link, lic_str bytes, lic_pg_wait wait, licet_error **error);
licet_status lic_pg_copy_end(lic_pg_link *link, lic_pg_wait wait, uint64_t *count, licet_error **error);

/* Fields of a binary result, checked: false for NULL, a row or column that is not there, a wrong size or type, a
 * text that is not UTF-8. Numbers are big-endian on the wire. */
bool lic_pg_get_text(const PGresult *result, int row, int column, lic_str *text);   /* text, name, json */
bool lic_pg_get_bytes(const PGresult *result, int row, int column, lic_str *bytes); /* any type as it is sent */
bool lic_pg_get_i64(const PGresult *result, int row, int column, int64_t *number);  /* int8, xid8 */
bool lic_pg_get_i32(const PGresult *result, int row, int column, int32_t *number);
bool lic_pg_get_bool(const PGresult *result, int row, int column, bool *value);
bool lic_pg_get_time_us(const PGresult *result, int row, int column, int64_t *time_us); /* timestamptz; since 1970 */

#endif
