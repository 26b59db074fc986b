/* Errors: made once by the code that knows the cause, then only passed up. */
#ifndef LIC_BASE_ERROR_H
#define LIC_BASE_ERROR_H

#include "str.h"

/* A place in a text: 1-based line, and column in code points. {0, 0}: nowhere. */
typedef struct lic_position {
    uint32_t line;
    uint32_t column;
} lic_position;

#define LIC_NOWHERE ((lic_position){ 0, 0 })

/* Makes *error (when error is not NULL and *error is NULL) and returns status. The message is cut at 1,024
 * bytes. Only %s, %d, %u, %zu, %llu, %% and %.*s, %c are used. Input from outside goes through %Q, which
 * takes a lic_str by pointer, quotes it, escapes control characters, marks of direction and broken UTF-8,
 * and cuts it at 64 bytes. Never allocates more than the error itself, from malloc: an error outlives
 * the engine. When there is no memory for it, *error is the constant out-of-memory error, and so is the
 * returned status. */
licet_status lic_fail(licet_error **error, licet_status status, licet_kind kind, lic_position position,
                      const char *format, ...);

/* The same with SpiceDB's reason ("UNKNOWN_DEFINITION"; a literal). */
licet_status lic_fail_reason(licet_error **error, licet_status status, licet_kind kind, const char *reason,
                             lic_position position, const char *format, ...);

/* Sets *error to the constant out-of-memory error and returns LICET_OUT_OF_MEMORY. Needs no memory. */
licet_status lic_fail_memory(licet_error **error);

/* Moves an error's position: for a text that is a part of another. Nothing for errors without one. */
void lic_error_move(licet_error *error, uint32_t line_offset, uint32_t column_offset);
/* Replaces the position. */
void lic_error_place(licet_error *error, lic_position position);
/* What failed was done in another way: frees *error, which becomes NULL. Either may be NULL. */
void lic_error_forget(licet_error **error);
/* A copy for somebody else (bulk items that share one cause); the constant error is shared. */
licet_error *lic_error_copy(const licet_error *error);

/* Position of a byte offset in a text. O(offset). */
lic_position lic_position_of(lic_str text, size_t offset);

/* Needs a local `status` and a label `done`. */
#define LIC_TRY(call)                      \
    do {                                   \
        if ((status = (call)) != LICET_OK) \
            goto done;                     \
    } while (0)

#endif
