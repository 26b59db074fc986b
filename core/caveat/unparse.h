/* From a tree back to text, as cel-go prints checked expressions (schema.md 14). */
#ifndef LIC_CAVEAT_UNPARSE_H
#define LIC_CAVEAT_UNPARSE_H

#include "caveat/ast.h"
#include "caveat/cel.h"

/* Appends the text; no errors but out->failed and, false, out of memory. The text parses to the same tree: where
 * cel-go forgets parentheses, as in -(-x), (-x).f or !(-x), they are kept. */
bool lic_cel_unparse(lic_arena *scratch, const lic_cel_node *root, lic_text *out);

/* Compiles the source as far as its tree and appends that. The errors of lic_cel_compile. */
licet_status lic_cel_format(lic_memory *memory, const lic_cel_source *source, lic_text *out, licet_error **error);

#endif
