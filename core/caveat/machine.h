/* The stack machine: runs the code of bytecode.h. lic_cel_evaluate() of cel.h is its front. */
#ifndef LIC_CAVEAT_MACHINE_H
#define LIC_CAVEAT_MACHINE_H

#include "caveat/cel.h"

/* As lic_cel_evaluate(). The code is trusted: it came from our compiler. */
bool lic_cel_run_code(const lic_cel_code *code, const lic_cel_value *values, lic_arena *arena, lic_cel_budget *budget,
                      lic_cel_value *result, const char **limit);

#endif
