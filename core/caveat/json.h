/* The context of a caveat: a JSON text (RFC 8259) as values. */
#ifndef LIC_CAVEAT_JSON_H
#define LIC_CAVEAT_JSON_H

#include "base/error.h"
#include "caveat/value.h"

#define LIC_CEL_MAX_JSON_NESTING 64 /* threat-model.md 3 */
#define LIC_CEL_MAX_JSON_KEYS 1024  /* of one object */

/* One document with an object at the top becomes a MAP with STRING keys. Numbers are doubles and must be in their range;
 * texts are in the arena, and a NUL in them is a character like another. Of repeated keys the last wins; strict: they are
 * an error. INVALID_ARGUMENT (kind syntax, encoding, value) with the place, LIMIT_EXCEEDED, OUT_OF_MEMORY. */
licet_status lic_cel_json_read(lic_arena *arena, lic_str text, bool strict, lic_cel_value *object, licet_error **error);

/* The same of something else than a caveat's context: what it is, for messages. */
licet_status lic_cel_json_read_as(lic_arena *arena, const char *what, lic_str text, bool strict, lic_cel_value *object,
                                  licet_error **error);

#endif
