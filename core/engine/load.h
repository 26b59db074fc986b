/* Loading a whole world at once: a schema and its relationships into an engine that has neither, as one transaction.
 * For validation files. */
#ifndef LIC_ENGINE_LOAD_H
#define LIC_ENGINE_LOAD_H

#include "engine/engine.h"

#define LIC_LOAD_SCHEMA SIZE_MAX

/* Inside a call. All of it or nothing. On failure *culprit is the index of the relationship that is wrong, or
 * LIC_LOAD_SCHEMA. Relationships are distinct and have the right shape (lic_relationship_check). MISUSE when the engine
 * holds a schema or relationships. */
licet_status lic_engine_load(licet_engine *engine, const licet_schema_request *schema,
                             const licet_relationship *relationships, size_t count, size_t *culprit,
                             licet_error **error);

#endif
