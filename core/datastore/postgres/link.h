/* One connection to Postgres. libpq, non-blocking: every wait is a poll(2) of ours with a deadline and a bell.
 *
 * Past a deadline the link is lost: its socket is closed, nothing is cancelled politely. A link belongs to one thread at
 * a time. Results are libpq's and freed with PQclear(). */
#ifndef LIC_DATASTORE_POSTGRES_LINK_H
#define LIC_DATASTORE_POSTGRES_LINK_H

#include <libpq-fe.h>

#include "datastore/postgres/conninfo.h"

/* Ends waits of other threads. One for each store; rung when it closes. */
typedef struct lic_pg_bell {
    int          read_end; /* both non-blocking, close-on-exec; -1: none */
    int          write_end;
    _Atomic bool is_rung;
} lic_pg_bell;

bool lic_pg_bell_init(lic_pg_bell *bell); /* false: no descriptors left */
void lic_pg_bell_free(lic_pg_bell *bell);
void lic_pg_bell_ring(lic_pg_bell *bell); /* for good. Any thread */

/* How long a call may wait. */
typedef struct lic_pg_wait {
    uint64_t           until_ms; /* lic_monotonic_ms() */
    const lic_pg_bell *bell;     /* NULL: none */
} lic_pg_wait;

/* What a connection is asked to be. */
typedef struct lic_pg_settings {
    lic_str  schema;               /* of our tables: checked, [a-z_][a-z0-9_]{0,62} */
    uint32_t statement_timeout_ms; /* the server's own, beside our deadlines */
    bool     read_only;
} lic_pg_settings;

typedef struct lic_pg_parameter {
    const char *data; /* binary or text, as `format` says; NULL: null */
    int         size;
    int         format; /* 0 text, 1 binary */
} lic_pg_parameter;

/* Why the last call on a link failed, for a program. */
typedef struct lic_pg_failure {
    char sqlstate[6]; /* "": none, the failure is ours or the network's */
    char detail[1024]; /* the server's DETAIL, only of errors that our own SQL functions raise (class LZ); else "" */
} lic_pg_failure;

typedef struct lic_pg_link lic_pg_link;

/* What the server says of itself at the beginning of a link, in one query. */
typedef struct lic_pg_server {
    int      version;         /* 150018 */
    uint32_t timeline;        /* 0 on a standby */
    int64_t  started_at_us;   /* pg_postmaster_start_time(), microseconds since 1970 */
    bool     is_standby;
    bool     is_encrypted;    /* TLS */
    bool     is_verified;     /* and the server's name was checked */
    bool     is_pooled;       /* a pooler in transaction mode is between us: no state may be kept on the link */
    uint64_t system;          /* pg_control_system().system_identifier, a hint; 0 where it can't be read */
} lic_pg_server;

/* Blocks (names may be looked up): on threads of the store only. Sets the session up: search_path to the schema and
 * pg_catalog, statement_timeout, lock_timeout, idle_in_transaction_session_timeout, client_encoding UTF8, TimeZone UTC,
 * DateStyle ISO, standard_conforming_strings on, synchronous_commit on, jit off, default_transaction_isolation read
 * committed. UNAVAILABLE, DEADLINE_EXCEEDED, OUT_OF_MEMORY; INVALID_ARGUMENT (config) for what no retry will mend. */
licet_status lic_pg_link_open(lic_memory *memory, const lic_pg_conninfo *conninfo, const lic_pg_settings *settings,
                              lic_pg_wait wait, lic_pg_link **link, licet_error **error);
/* Says goodbye without waiting. NULL is fine. */
void lic_pg_link_close(lic_pg_link *link);
/* In the child of a fork: closes the descriptor raw and leaks libpq's part, since a goodbye would end the parent's
 * connection. */
void lic_pg_link_abandon(lic_pg_link *link);

/* Is it of no use any more? */
bool                  lic_pg_link_lost(const lic_pg_link *link);
const lic_pg_server  *lic_pg_link_server(const lic_pg_link *link);
const lic_pg_failure *lic_pg_link_failure(const lic_pg_link *link);
uint64_t              lic_pg_link_round_trips(const lic_pg_link *link);

/* A statement: its text (ends in NUL, the schema's name is in it) must live as long as any link. `name` distinguishes
 * it; results come in binary. */
typedef struct lic_pg_statement {
    const char *name;
    const char *sql;
    int         parameter_count;
    const Oid  *parameter_types; /* NULL: the server finds out */
} lic_pg_statement;

/* Runs it and takes its one result, which has rows or is a command's: UNAVAILABLE (lost, or the server refuses for now),
 * DEADLINE_EXCEEDED, or what the error of the server means: see link.c. Prepared when it is first used on the
 * link (then that costs a round trip more); never on a pooled link. */
licet_status lic_pg_run(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                        lic_pg_wait wait, PGresult **result, licet_error **error);

/* The same in halves, so that somebody else may wait for the answer. Between them the link is busy. */
licet_status lic_pg_send(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                         lic_pg_wait wait, licet_error **error);
/* DEADLINE_EXCEEDED leaves the link busy, not lost: it may be received again, or closed. */
licet_status lic_pg_receive(lic_pg_link *link, lic_pg_wait wait, PGresult **result, licet_error **error);

/* A text without parameters or results (BEGIN, COMMIT, several at once). */
licet_status lic_pg_command(lic_pg_link *link, const char *sql, lic_pg_wait wait, licet_error **error);

/* COPY ... TO STDOUT: piece by piece, each a whole row in Postgres' binary form as the wire has it (the 19 bytes of the
 * header are taken away and checked). take: false ends it with the status that it left in *status. */
typedef bool (*lic_pg_take)(void *context, const char *row, size_t size, licet_status *status, licet_error **error);
licet_status lic_pg_copy_out(lic_pg_link *link, const char *sql, lic_pg_wait wait, lic_pg_take take, void *context,
                             licet_error **error);

/* COPY ... FROM STDIN (FORMAT binary): begin, any number of puts (header and trailer are added), end. *count: rows. */
licet_status lic_pg_copy_in(lic_pg_link *link, const char *sql, lic_pg_wait wait, licet_error **error);
licet_status lic_pg_copy_put(lic_pg_link *link, lic_str bytes, lic_pg_wait wait, licet_error **error);
licet_status lic_pg_copy_end(lic_pg_link *link, lic_pg_wait wait, uint64_t *count, licet_error **error);

/* Fields of a binary result, checked: false for NULL, a wrong size or type. Numbers are big-endian on the wire. */
bool lic_pg_get_text(const PGresult *result, int row, int column, lic_str *text); /* also bytea, jsonb is not */
bool lic_pg_get_i64(const PGresult *result, int row, int column, int64_t *number); /* int8, xid8 */
bool lic_pg_get_i32(const PGresult *result, int row, int column, int32_t *number);
bool lic_pg_get_bool(const PGresult *result, int row, int column, bool *value);

#endif
