/* Our tables and functions in a database: made, brought up to date, and looked at before they are used. */
#ifndef LIC_DATASTORE_POSTGRES_MIGRATION_H
#define LIC_DATASTORE_POSTGRES_MIGRATION_H

#include "datastore/postgres/link.h"
#include "datastore/postgres/token.h"

/* Brings the tables and functions in the schema to the newest version, each step in a transaction of its own; nothing
 * where there is nothing to do. Several processes may do so at once: each step is taken by one of them. Appends to *sql,
 * which may be NULL, what was run, or with dry_run what would be: for psql, too. schema: checked.
 *
 * UNSUPPORTED for tables of a newer licet, else what lic_pg_run() fails with. A step that fails leaves nothing behind. */
licet_status lic_pg_migrate(lic_pg_link *link, lic_memory *memory, lic_str schema, bool dry_run, lic_pg_wait wait,
                            lic_text *sql, licet_error **error);

/* What a store is, of one statement. */
typedef struct lic_pg_store_facts {
    lic_pg_identity identity;
    uint64_t        schema_version; /* of the schema in force; 0: none */
    uint64_t        gc_horizon;
} lic_pg_store_facts;

/* Is it fit to be used? UNSUPPORTED where no licet has migrated, or not this one; UNAVAILABLE where it was restored into
 * another cluster (the message names the repair), or where policies, rules or triggers of others may keep rows from us. */
licet_status lic_pg_check_store(lic_pg_link *link, lic_memory *memory, lic_str schema, lic_pg_wait wait,
                                lic_pg_store_facts *facts, licet_error **error);

#endif
