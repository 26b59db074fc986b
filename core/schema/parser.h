/* Text to AST: lexer, grammar, imports, partials, name patterns, caveats' expressions (schema.md 2 to 9, errors C1 to
 * C19). Reports the first error only, with line and column. */
#ifndef LIC_SCHEMA_PARSER_H
#define LIC_SCHEMA_PARSER_H

#include "base/arena.h"
#include "schema/ast.h"

typedef struct lic_parse_options {
    lic_str folder; /* where imports read from; not given: imports are refused */
    bool    strict; /* threat-model.md 4: NUL, marks of direction and escaped surrogates are errors */
} lic_parse_options;

/* *ast lives in the arena, and so does a copy of the text. */
licet_status lic_parse(lic_arena *arena, lic_str text, const lic_parse_options *options, lic_ast **ast,
                       licet_error **error);

/* What a definition may be called: its prefixes may be one character longer than lic_is_type_name lets them. */
bool lic_is_definition_name(lic_str name);

/* Patterns of schema.md 7 and api.md 1, also used for requests and relationships. Whole texts.
 * type:     ([a-z][a-z0-9_]{1,61}[a-z0-9]/)*[a-z][a-z0-9_]{1,62}[a-z0-9], at most 128 bytes
 * relation: [a-z][a-z0-9_]{1,62}[a-z0-9], at most 64 bytes
 * id:       [A-Za-z0-9/_|=+-]{1,1024}; "*" is not one */
bool lic_is_type_name(lic_str name);
bool lic_is_relation_name(lic_str name);
bool lic_is_object_id(lic_str id);

#endif
