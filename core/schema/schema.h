/* A schema as callers hold it: text, AST, program and lints under one count. Defines licet_schema. */
#ifndef LIC_SCHEMA_SCHEMA_H
#define LIC_SCHEMA_SCHEMA_H

#include "schema/ast.h"
#include "schema/program.h"

struct licet_schema {
    _Atomic uint32_t references;
    lic_memory      *memory; /* held: one reference of it */
    lic_arena        arena;  /* text and AST */
    lic_ast         *ast;
    lic_str          text; /* as given */
    lic_program     *program;
    licet_lint      *lints; /* views into the arena */
    size_t           lint_count;
};

/* Parse, check, compile, lint. Compiles against `names`; NULL: names of its own, given back before it returns
 * (such a program can be looked at, not run). Takes one reference of memory for the schema's life. */
licet_status lic_schema_new(lic_memory *memory, lic_names *names, const licet_schema_request *request,
                            licet_schema **schema, licet_error **error);

#endif
