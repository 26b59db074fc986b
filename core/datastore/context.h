/* The context of a caveat as text: a JSON object (RFC 8259), numbers as doubles. */
#ifndef LIC_DATASTORE_CONTEXT_H
#define LIC_DATASTORE_CONTEXT_H

#include "caveat/context.h"

#define LIC_MAX_CONTEXT_BYTES 25000 /* SpiceDB: name and context of a stored relationship, as protobuf has them */

/* Is the text one JSON object within the limits? INVALID_ARGUMENT (kind syntax, encoding, value) or LIMIT_EXCEEDED,
 * with the place in the text. Of repeated keys the last wins; strict: they are an error. */
licet_status lic_context_check(lic_str text, bool strict, licet_error **error);

/* Appends it as compact JSON with sorted keys; nothing at all for an object without keys. */
licet_status lic_context_print(lic_str text, lic_text *out, licet_error **error);

/* The same of values: JSON's alone. false: out of memory. */
bool lic_context_print_values(const lic_context_values *values, lic_text *out);

#endif
