/* The values that a request brings for caveats: read from its text, or read before. */
#ifndef LIC_ENGINE_CONTEXT_H
#define LIC_ENGINE_CONTEXT_H

#include <stdatomic.h>

#include "caveat/context.h"

#define LIC_MAX_REQUEST_CONTEXT_BYTES 4096 /* SpiceDB: as protobuf has it */

#define LIC_CONTEXT_TAG UINT64_C(0x6c69636574637478) /* "licetctx" */

struct licet_context {
    uint64_t         tag;
    _Atomic uint32_t references;
    lic_memory      *memory; /* held */
    lic_context     *content;
};

/* Does the request bring any values, or say that it does? */
static inline bool lic_request_has_context(const licet_check_request *request)
{
    return lic_str_given(request->context) || request->prepared_context != NULL;
}

/* MISUSE for what is no context, and for two of them. */
licet_status lic_request_context_check(const licet_check_request *request, licet_error **error);

/* The values of a request that was checked; those of a text live in the arena. Their size is not judged yet: the
 * request's revision is found first (api.md 3). item: "item 3: " or "". */
licet_status lic_request_context_read(const char *item, const licet_check_request *request, bool strict,
                                      lic_arena *arena, lic_context_values *values, size_t *wire_bytes,
                                      licet_error **error);

/* LIMIT_EXCEEDED. */
licet_status lic_context_size_check(const char *item, size_t wire_bytes, licet_error **error);

#endif
