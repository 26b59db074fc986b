/* The store in memory: the graph itself is the truth, and nothing outlives the process. Or it is a replica, and another
 * store, which has the truth elsewhere, lets it follow. */
#ifndef LIC_DATASTORE_MEMORY_MEMORY_H
#define LIC_DATASTORE_MEMORY_MEMORY_H

#include "datastore/datastore.h"

/* What the host has must outlive the store. NULL: out of memory. */
lic_store *lic_memory_store_new(const lic_store_host *host);

/* What a replica is to take over, as one revision: a schema, if any (taken, as replace_schema does), and changes that
 * were judged by the one in force then: TOUCH and DELETE, whatever is there already. Nobody is told. OUT_OF_MEMORY. */
licet_status lic_memory_follow(lic_store *store, licet_schema **schema, lic_str metadata, lic_store_change *changes,
                               size_t count, uint64_t *revision, licet_error **error);

/* Adds to an import that is to become all there is. Nobody looks whether an edge comes twice; if one does, the later one
 * counts. false: out of memory. */
bool lic_memory_gather(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count);

/* DELETEs of what had expired long before it was removed from where the truth is, as one revision, of which no watch is
 * told: an expiration is no change, and neither is that somebody clears away behind it. OUT_OF_MEMORY. */
licet_status lic_memory_forget(lic_store *store, lic_store_change *changes, size_t count, uint64_t *revision,
                               licet_error **error);

/* What was added to an import becomes all there is, with the schema (taken), as one revision; but what is not in it and
 * has expired stays, for lic_memory_forget_expired(). Nothing more can be added to the import. OUT_OF_MEMORY. */
licet_status lic_memory_replace_all(lic_store *store, lic_store_import *import, lic_instant now, licet_schema **schema,
                                    uint64_t *revision, licet_error **error);
/* After that: removes what stayed, as lic_memory_forget() does. Once; *revision is 0 when there was nothing. */
licet_status lic_memory_forget_expired(lic_store *store, lic_store_import *import, uint64_t *revision,
                                       licet_error **error);

#endif
