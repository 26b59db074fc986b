/* CEL as SpiceDB's caveats have it (caveats.md 8 and 9): text to code, code and values to a result. Knows nothing of
 * permissions.
 *
 * Compiling: lexer, parser, macro expansion, type checker over the declared parameters, code. Evaluating: a stack machine
 * with unknowns, under a budget. Neither recurses as deep as its input says. */
#ifndef LIC_CAVEAT_CEL_H
#define LIC_CAVEAT_CEL_H

#include "base/error.h"
#include "caveat/bytecode.h"
#include "caveat/type.h"

#define LIC_CEL_MAX_PARAMETERS 64
#define LIC_CEL_MAX_NESTING 250  /* SpiceDB: expression recursion limit */
#define LIC_CEL_MAX_BYTES 100000 /* SpiceDB: of an expression */
#define LIC_CEL_MAX_NODES 100000

typedef struct lic_cel_parameter {
    lic_str                name;
    const lic_caveat_type *type;
    lic_str                spelling; /* used when type is NULL: a CEL type that no caveat parameter has, as cases of the
                                        conformance suite bind: "uint", "null_type", "map(int, string)"; types.h */
} lic_cel_parameter;

typedef struct lic_cel_source {
    lic_str                  text;
    const lic_cel_parameter *parameters;
    size_t                   parameter_count;
    bool                     must_be_bool; /* a caveat: the result type must be exactly bool */
} lic_cel_source;

typedef struct lic_cel lic_cel; /* a compiled expression: immutable, any number of threads */

/* SCHEMA_ERROR (kind syntax, type, name, limit, ...) with line and column in the text; LIMIT_EXCEEDED. *used (may be
 * NULL): bit i set when parameter i is used, as SpiceDB counts it (schema.md 12). cel NULL: the source is only checked;
 * what passes fails afterwards for want of memory only. */
licet_status lic_cel_compile(lic_memory *memory, const lic_cel_source *source, lic_cel **cel, uint64_t *used,
                             licet_error **error);
void         lic_cel_free(lic_cel *cel); /* NULL is fine */

/* What one evaluation may use up (threat-model.md 3). */
typedef struct lic_cel_budget {
    uint64_t steps;        /* counted down; 100,000 */
    size_t   memory_bytes; /* counted down; 1 MiB */
} lic_cel_budget;

/* values[i]: parameter i, or UNKNOWN. Everything the result points to lives in the arena, in the values or in the
 * compiled expression. The result may be UNKNOWN or ERROR. false: the budget ran out, *limit says what of it in plain words; or, with *limit == NULL, out of
 * memory. */
bool lic_cel_evaluate(const lic_cel *cel, const lic_cel_value *values, lic_arena *arena, lic_cel_budget *budget,
                      lic_cel_value *result, const char **limit);

#endif
