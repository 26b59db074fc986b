/* One parameter of each type, and their values from a JSON object: for the entries that evaluate. */
#ifndef LICET_TESTS_FUZZ_VALUES_H
#define LICET_TESTS_FUZZ_VALUES_H

#include "caveat/cel.h"
#include "caveat/context.h"

#define PARAMETERS 12
#define ALL_PARAMETERS ((UINT64_C(1) << PARAMETERS) - 1)

extern const lic_cel_parameter fuzz_parameters[PARAMETERS];
extern const char *const       fuzz_type_names[PARAMETERS]; /* as a schema has them */

/* values[i]: what the object gives to parameter i, or UNKNOWN. *given, *refused: those that have one; those whose value
 * is none of their type. */
void values_of(lic_arena *arena, const lic_context_values *object, bool strict, lic_cel_value *values, uint64_t *given,
               uint64_t *refused);

#endif
