/* AST back to canonical text (schema.md 14), items in the AST's order. */
#ifndef LIC_SCHEMA_FORMAT_H
#define LIC_SCHEMA_FORMAT_H

#include "schema/ast.h"

/* A failed append is remembered in `out`. */
void lic_format(const lic_ast *ast, lic_text *out);

/* Parts of it, alike. */
void lic_format_type(const lic_ast_type *type, lic_text *out);
void lic_format_expr(const lic_ast_expr *expr, lic_text *out);
void lic_format_expression(const lic_ast_caveat *caveat, lic_text *out); /* of its body */

#endif
