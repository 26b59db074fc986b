/* AST to checked AST: names, types, wildcards, annotations, alias cycles (schema.md 12, errors T1 to T13, A1).
 * Nothing is changed; the first error in schema.md's order is reported. */
#ifndef LIC_SCHEMA_CHECKER_H
#define LIC_SCHEMA_CHECKER_H

#include "base/arena.h"
#include "schema/ast.h"

/* allow_unused: skip T1, that every caveat uses its parameters. */
licet_status lic_check_types(lic_arena *scratch, const lic_ast *ast, bool allow_unused, licet_error **error);

#endif
