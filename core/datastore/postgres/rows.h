/* Rows of the table of relationships, as the server sends them in binary, become changes of the replica. Judged like
 * input from outside: a row that is not what our functions would have stored is an error, never left out. (One that has
 * expired is: a schema may take away what only such a row needs.) */
#ifndef LIC_DATASTORE_POSTGRES_ROWS_H
#define LIC_DATASTORE_POSTGRES_ROWS_H

#include "datastore/datastore.h"
#include "datastore/postgres/link.h"

/* The columns that every query for rows begins with, in this order. */
#define LIC_PG_ROW_COLUMNS "rt, ri, rr, st, si, sr, caveat, context::text, expires_at, expires_ns"
#define LIC_PG_ROW_FIELDS 10

typedef struct lic_pg_fields {
    lic_str items[LIC_PG_ROW_FIELDS]; /* not given: null */
} lic_pg_fields;

/* The names of rows that were read, and what they came to: most rows have the same as one before them. */
typedef struct lic_pg_shape {
    lic_str   names[4]; /* rt, rr, st, sr: the program's own. Not given: none yet */
    lic_typed typed;    /* of rows without attributes; a wildcard is another shape */
} lic_pg_shape;

#define LIC_PG_SHAPES 64

/* What rows are read for. */
typedef struct lic_pg_reader {
    const lic_store_host *host;
    const lic_program    *program; /* of the schema in force with them */
    lic_instant           now;
    lic_arena            *arena;  /* for contexts and times */
    lic_pg_shape         *shapes; /* LIC_PG_SHAPES of them, of this program; NULL: nothing is remembered */
} lic_pg_reader;

/* Of a row of COPY's binary form: exactly the columns. false: it is something else. */
bool lic_pg_fields_of_copy(const char *row, size_t size, lic_pg_fields *fields);
/* Of a result's row, whose columns begin there. false: a wrong format. */
bool lic_pg_fields_of_result(const PGresult *result, int row, int column, lic_pg_fields *fields);
/* Is there a row at all, or are all fields null, as a LEFT JOIN makes them? */
bool lic_pg_fields_given(const lic_pg_fields *fields);

/* A TOUCH of the row; *skip: it has expired and does not fit the schema. Views the fields; lic_store_changes_end() ends the
 * change. UNAVAILABLE for a row that is wrong, OUT_OF_MEMORY. */
licet_status lic_pg_row_touch(const lic_pg_reader *reader, const lic_pg_fields *fields, lic_store_change *change,
                              bool *skip, licet_error **error);
/* A DELETE of it, whatever the schema says. Not under the graph's write lock, which it takes. */
licet_status lic_pg_row_delete(const lic_pg_reader *reader, const lic_pg_fields *fields, lic_store_change *change,
                               licet_error **error);

/* The same, with the attribute that it had. Its context and expiration live in the reader's arena. */
licet_status lic_pg_row_was(const lic_pg_reader *reader, const lic_pg_fields *fields, lic_store_change *change,
                            licet_error **error);

/* Appends the six names, so that no two keys give one text. */
void lic_pg_fields_key(const lic_pg_fields *fields, lic_text *key);

/* Microseconds since 1970 of a timestamptz on the wire. false: infinite, or not eight bytes. */
bool lic_pg_time_us(lic_str bytes, int64_t *time_us);

#endif
