/* Rows of rel as COPY ... FROM STDIN (FORMAT binary) takes them, in the order of statements' import_rows. */
#ifndef LIC_DATASTORE_POSTGRES_COPY_ROWS_H
#define LIC_DATASTORE_POSTGRES_COPY_ROWS_H

#include "datastore/datastore.h"
#include "datastore/postgres/link.h"

/* Appends a change's row. */
void lic_pg_copy_row(lic_text *out, const lic_names *names, const lic_store_change *change);

/* Puts what has piled up, if it is much or `all` of it is to go, and empties the buffer. OUT_OF_MEMORY for a buffer
 * that has failed; else as lic_pg_copy_put(). */
licet_status lic_pg_copy_flush(lic_text *rows, bool all, lic_pg_link *link, lic_pg_wait wait, licet_error **error);

/* After a copy has failed: ALREADY_EXISTS, with the relationship's name, if it is for a row that is there already. Else
 * the status, with its error as it is. */
licet_status lic_pg_copy_failed(lic_memory *memory, const lic_pg_link *link, licet_status status, licet_error **error);

#endif
