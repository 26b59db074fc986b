/* May this schema replace that one, given what is stored (schema.md 15)? */
#ifndef LIC_DATASTORE_SCHEMA_CHANGE_H
#define LIC_DATASTORE_SCHEMA_CHANGE_H

#include "datastore/datastore.h"

/* Under the store's write lock; the snapshot is of the head. SCHEMA_ERROR names the change and one relationship that
 * stands against it; one that has expired does not. */
licet_status lic_schema_change_check(lic_store *store, const lic_snapshot *snapshot, lic_instant now,
                                     const lic_names *names, const lic_program *old, const lic_program *new,
                                     licet_error **error);

#endif
