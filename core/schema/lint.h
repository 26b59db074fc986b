/* Advice about a valid schema (schema.md 13 and 18). Never changes what is accepted. */
#ifndef LIC_SCHEMA_LINT_H
#define LIC_SCHEMA_LINT_H

#include "base/arena.h"
#include "schema/ast.h"

/* In order of position. Lives in the arena. false: out of memory. */
bool lic_lint(lic_arena *arena, const lic_ast *ast, licet_lint **lints, size_t *count);

#endif
