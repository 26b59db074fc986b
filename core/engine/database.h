/* Stores in databases, which licet may have been built without. */
#ifndef LIC_ENGINE_DATABASE_H
#define LIC_ENGINE_DATABASE_H

#include "engine/engine.h"

/* Does the URI look like one of a database? (One that is wrong is told by opening it.) */
bool lic_database_is(licet_str uri);

/* Connects to nothing yet. INVALID_ARGUMENT (config), OUT_OF_MEMORY, UNSUPPORTED. */
licet_status lic_database_open(const lic_store_host *host, licet_str uri, const licet_options *options,
                               lic_store **store, licet_error **error);

#endif
