/* A caveat of the AST as CEL is to see it. */
#ifndef LIC_SCHEMA_EXPRESSION_H
#define LIC_SCHEMA_EXPRESSION_H

#include "caveat/cel.h"
#include "schema/ast.h"
#include "schema/limits.h"

/* The source lives as long as the AST and the parameters, which it fills in. */
lic_cel_source lic_expression_source(const lic_ast_caveat *caveat, lic_cel_parameter parameters[LIC_MAX_PARAMETERS]);

#endif
