/* Bulk checks, for operations that are one. */
#ifndef LIC_ENGINE_BULK_H
#define LIC_ENGINE_BULK_H

#include "engine/engine.h"

/* Inside a call: licet_check_bulk() at the revision of a snapshot that the caller has pinned. */
licet_status lic_check_bulk_at(const licet_engine *engine, const lic_snapshot *snapshot,
                               const licet_check_request *requests, size_t count, licet_result *results,
                               licet_error **error);

#endif
