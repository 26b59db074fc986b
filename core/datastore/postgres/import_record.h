/* Records of imports that are committed piece by piece: sql/import.sql. */
#ifndef LIC_DATASTORE_POSTGRES_IMPORT_RECORD_H
#define LIC_DATASTORE_POSTGRES_IMPORT_RECORD_H

#include "datastore/postgres/state.h"

/* In the transaction of a piece, before its rows: nobody else changes the record until it ends. PRECONDITION_FAILED
 * where it is not as the piece has it. */
licet_status lic_pg_import_lock(const lic_pg_store *store, lic_pg_link *link, const lic_import_piece *piece,
                                lic_pg_wait wait, licet_error **error);
/* At the end of it: what LIC_PG_IMPORT does, and the record. basis: NULL for a piece without rows. */
licet_status lic_pg_import_note(const lic_pg_store *store, lic_pg_link *link, const lic_import_piece *piece,
                                const lic_pg_basis *basis, const char *request, lic_pg_wait wait, PGresult **result,
                                licet_error **error);

#endif
