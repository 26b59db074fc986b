/* Every SQL text that a store sends, with the name of its schema put in. */
#ifndef LIC_DATASTORE_POSTGRES_STATEMENTS_H
#define LIC_DATASTORE_POSTGRES_STATEMENTS_H

#include "base/arena.h"
#include "datastore/postgres/link.h"

/* Name, number of parameters, and in statements.c the text. A basis (lic_pg_basis) is three: version, store, timeline. */
#define LIC_PG_STATEMENT_LIST(X)                                                                    \
    X(PROBE, 0)       /* -> pg_current_snapshot(), clock_timestamp() */                             \
    X(CATCH_UP, 3)    /* xmax, xip, limit -> datastore.md E2 */                                     \
    X(DIFFERENCE, 4)  /* two snapshots, types, limit -> what the second shows and not the first */  \
    X(BEGIN_LOAD, 0)  /* -> snapshot, clock, store, key, horizon, schema version */                 \
    X(SCHEMA_TEXT, 1) /* version -> text */                                                         \
    X(WRITE, 5)       /* request, basis, request id -> snapshot, xid, schema version */             \
    X(DELETE, 6)      /* request, basis, request id, now -> ..., deleted */                         \
    X(LOCK_SCHEMA, 0)                                                                               \
    X(WRITE_SCHEMA, 5)  /* request, basis, request id -> snapshot, xid, schema version */           \
    X(IMPORT, 4)        /* basis, request id -> snapshot, xid, schema version */                    \
    X(IMPORT_OPEN, 1)   /* name -> count, digest, is finished */                                    \
    X(IMPORT_FIND, 1)   /* the same, or no row */                                                   \
    X(IMPORT_FORGET, 1) /* name -> was it there */                                                  \
    X(IMPORT_LOCK, 3)   /* name, count, digest: before the rows of a piece */                       \
    X(IMPORT_PIECE, 8)  /* basis or nulls, request id, name, count, digest, is last -> as IMPORT */ \
    X(OUTCOME, 1)       /* request id -> what became of a write whose connection broke */           \
    X(COLLECT, 2)       /* window, batch */

typedef enum lic_pg_statement_number {
#define LIC_PG_STATEMENT_ENUM(name, parameters) LIC_PG_##name,
    LIC_PG_STATEMENT_LIST(LIC_PG_STATEMENT_ENUM)
#undef LIC_PG_STATEMENT_ENUM
        LIC_PG_STATEMENT_COUNT
} lic_pg_statement_number;

typedef struct lic_pg_statements {
    lic_pg_statement items[LIC_PG_STATEMENT_COUNT];
    const char      *load_rows;    /* COPY of all that lives */
    const char      *import_begin; /* the transaction of an import: open to COPY, without the server's deadline */
    const char      *import_rows;  /* COPY into */
} lic_pg_statements;

/* Is it a name that may stand in SQL in quotes and in literals: [a-z_][a-z0-9_]{0,62}, and not Postgres' own? */
bool lic_pg_schema_name_is(lic_str name);

/* In the arena. NULL: out of memory. */
const lic_pg_statements *lic_pg_statements_new(lic_arena *arena, lic_str schema);
/* A text with each {schema} replaced, by the name in quotes where a '.' follows, NUL-terminated, in the arena. NULL: out of
 * memory. */
const char *lic_pg_statement_text(lic_arena *arena, const char *text, lic_str schema);

#endif
