/* AST back to canonical text (schema.md 14), items in the AST's order. */
#ifndef LIC_SCHEMA_FORMAT_H
#define LIC_SCHEMA_FORMAT_H

#include "schema/ast.h"

/* A failed append is remembered in `out`. */
void lic_format(const lic_ast *ast, lic_text *out);

#endif
