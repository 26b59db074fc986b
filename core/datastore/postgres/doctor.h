/* Looks at a database as a careful operator would. */
#ifndef LIC_DATASTORE_POSTGRES_DOCTOR_H
#define LIC_DATASTORE_POSTGRES_DOCTOR_H

#include "datastore/postgres/link.h"

/* Appends {"ok": bool, "findings": [{"name", "level": "ok" | "warning" | "error", "message"}]}. What is found is no error;
 * a database that does not answer is. */
licet_status lic_pg_examine(lic_pg_link *link, lic_memory *memory, lic_str schema, uint64_t until_ms, lic_text *json,
                            licet_error **error);

#endif
