/* The store in Postgres: the application's own database is the truth, a replica in memory follows it. */
#ifndef LIC_DATASTORE_POSTGRES_POSTGRES_H
#define LIC_DATASTORE_POSTGRES_POSTGRES_H

#include "datastore/datastore.h"

/* Does it look like a connection string of Postgres? (One that is wrong is told by opening it.) */
bool lic_postgres_uri_is(licet_str uri);

/* Opens no connection yet. options: checked. What the host has must outlive the store. INVALID_ARGUMENT (config),
 * OUT_OF_MEMORY; UNSUPPORTED where licet was built without Postgres. */
licet_status lic_postgres_store_new(const lic_store_host *host, licet_str uri, const licet_options *options,
                                    lic_store **store, licet_error **error);

/* licet_migrate() and licet_doctor(), over a connection of their own: the texts are appended. options: checked. */
licet_status lic_postgres_migrate(lic_memory *memory, licet_str uri, const licet_options *options, bool dry_run,
                                  lic_text *sql, licet_error **error);
licet_status lic_postgres_examine(lic_memory *memory, licet_str uri, const licet_options *options, lic_text *json,
                                  licet_error **error);

#endif
