/* The values that caveats are given: a JSON object, read once.
 *
 * What stands at the top is sorted by key, so that parameters are found fast; all below is as it was written. */
#ifndef LIC_CAVEAT_CONTEXT_H
#define LIC_CAVEAT_CONTEXT_H

#include "base/error.h"
#include "caveat/value.h"

/* Distinct keys in order, with their values; count 0: none. */
typedef struct lic_context_values {
    const lic_cel_entry *entries;
    size_t               count;
} lic_context_values;

/* Reads a text as lic_cel_json_read() does; what is read lives in the arena. *wire_bytes (may be NULL): the size that
 * limits are about, of the same values as a protobuf Struct. */
licet_status lic_context_read(lic_arena *arena, lic_str text, bool strict, lic_context_values *values,
                              size_t *wire_bytes, licet_error **error);

/* NULL: there is no such key. */
const lic_cel_value *lic_context_find(const lic_context_values *values, lic_str key);

/* The same in one block of memory, for longer. Immutable, any number of threads. */
typedef struct lic_context {
    lic_memory        *memory; /* must outlive it */
    size_t             size;   /* of the block */
    size_t             wire_bytes;
    lic_context_values values;
} lic_context;

/* As lic_context_read(). */
licet_status lic_context_new(lic_memory *memory, lic_str text, bool strict, lic_context **context, licet_error **error);
void         lic_context_free(lic_context *context); /* NULL is fine */

#endif
