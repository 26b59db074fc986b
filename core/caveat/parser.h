/* From text to tree (ast.h). */
#ifndef LIC_CAVEAT_PARSER_H
#define LIC_CAVEAT_PARSER_H

#include "base/error.h"
#include "caveat/ast.h"

/* Everything in the arena, which is the caller's to free, also after a failure. SCHEMA_ERROR (kind syntax, encoding,
 * type), LIMIT_EXCEEDED (more than LIC_CEL_MAX_BYTES, LIC_CEL_MAX_NESTING, LIC_CEL_MAX_NODES), OUT_OF_MEMORY. */
licet_status lic_cel_parse(lic_arena *arena, lic_str text, lic_cel_node **root, licet_error **error);

#endif
