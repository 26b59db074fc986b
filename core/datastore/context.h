/* The context of a caveat as text: a JSON object (RFC 8259), numbers as doubles. The one file that knows jansson. */
#ifndef LIC_DATASTORE_CONTEXT_H
#define LIC_DATASTORE_CONTEXT_H

#include "base/error.h"

#define LIC_MAX_CONTEXT_BYTES 25000 /* SpiceDB: name and context of a stored relationship together */
#define LIC_MAX_JSON_NESTING 64     /* threat-model.md 3 */
#define LIC_MAX_JSON_KEYS 1024      /* of one object */

/* Is the text one JSON object within the limits? INVALID_ARGUMENT (kind syntax) or LIMIT_EXCEEDED. Of repeated
 * keys the last wins. */
licet_status lic_context_check(lic_str text, licet_error **error);

/* Appends it as compact JSON with sorted keys; nothing at all for an object without keys. */
licet_status lic_context_print(lic_str text, lic_text *out, licet_error **error);

#endif
