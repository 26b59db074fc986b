/* Types of every part of a tree, and what its names mean (caveats.md 8, cel-go's checker). */
#ifndef LIC_CAVEAT_CHECKER_H
#define LIC_CAVEAT_CHECKER_H

#include "base/error.h"
#include "caveat/ast.h"

typedef struct lic_cel_variable {
    lic_str             name;
    const lic_cel_type *type;
} lic_cel_variable;

/* Fills in the tree: types, functions, what names mean. Some calls become others (optional.of(x) loses its target).
 * Of several errors the one furthest to the left is told. *type: of the whole, without variables. SCHEMA_ERROR (kind
 * type, name), LIMIT_EXCEEDED, OUT_OF_MEMORY. */
licet_status lic_cel_check(lic_arena *arena, lic_str text, lic_cel_node *root, const lic_cel_variable *variables,
                           size_t variable_count, const lic_cel_type **type, licet_error **error);

/* Bit i: the checked tree names variable i somewhere, as SpiceDB counts it: keys of map literals don't count, variables
 * of macros that happen to have the same name do. false: out of memory. */
bool lic_cel_find_used(lic_arena *arena, const lic_cel_node *root, const lic_cel_variable *variables,
                       size_t variable_count, uint64_t *used);

#endif
