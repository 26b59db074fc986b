/* Values that come from outside into the types that parameters are declared with (caveats.md 3). */
#ifndef LIC_CAVEAT_CONVERT_H
#define LIC_CAVEAT_CONVERT_H

#include "base/error.h"
#include "caveat/type.h"
#include "caveat/value.h"

/* What `value` becomes as a parameter `name` of this type. Besides what JSON has (NULL, BOOL, DOUBLE, STRING, LIST, MAP
 * with STRING keys) it may be or contain what bindings make of their own types: INT and UINT for numbers, BYTES, DURATION,
 * TIMESTAMP, IPADDRESS, which their types and `any` take.
 *
 * strict: what SpiceDB is lax about is refused: numbers that would be clamped or rounded, infinities, binary exponents,
 * lax times, years before 1, zones of addresses. INVALID_ARGUMENT (kind value; reason CAVEAT_PARAMETER_TYPE_ERROR),
 * OUT_OF_MEMORY. The result shares what it can with `value`. */
licet_status lic_cel_convert_parameter(lic_arena *arena, lic_str name, const lic_caveat_type *type,
                                       const lic_cel_value *value, bool strict, lic_cel_value *result,
                                       licet_error **error);

#endif
