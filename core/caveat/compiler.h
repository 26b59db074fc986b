/* From a checked tree to code, and what a compiled expression is to the evaluator. */
#ifndef LIC_CAVEAT_COMPILER_H
#define LIC_CAVEAT_COMPILER_H

#include "caveat/bytecode.h"

/* One block holds this record, the code and everything its constants point to; the patterns are RE2's. */
typedef struct lic_cel {
    lic_memory  *memory;
    size_t       size; /* of the block, bytes */
    lic_cel_code code;
    size_t       parameter_count;
} lic_cel;

struct lic_cel_node;

/* root: checked (checker.h). Everything in *cel is a copy. */
bool lic_cel_emit(lic_memory *memory, lic_arena *scratch, const struct lic_cel_node *root, size_t parameter_count,
                  lic_cel **cel);

#endif
