/* Compiling an expression over some parameters of every type, for tests of core/caveat.
 *
 *     x int, f double, s string, b bool, y bytes, t timestamp, u duration, ip ipaddress, d dyn, l list(int),
 *     m map(string, dyn), o optional(int), n uint
 *
 * What the functions return lives until the next call. */
#ifndef LICET_TESTS_CEL_WORLD_H
#define LICET_TESTS_CEL_WORLD_H

#include "caveat/cel.h"

#define CEL_WORLD_PARAMETERS 13

lic_cel_source cel_source(lic_str text, bool must_be_bool);

/* "bool", or "line:column kind: message" of the error. */
const char *cel_type(lic_str text);
/* As printed, or the error. */
const char *cel_printed(lic_str text);
/* One instruction after the other, "PARAMETER 0; CONSTANT 0; CALL _+_ 2", or the error. */
const char *cel_code(lic_str text);
/* "x s": the parameters that count as used. */
const char *cel_used(lic_str text);

#endif
