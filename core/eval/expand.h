/* Expanding: a permission as the tree of its operators, down to the relations and the subjects stored under them
 * (api.md 9). Usersets are not followed and caveats not looked at; rows that a check would not see are not there. */
#ifndef LIC_EVAL_EXPAND_H
#define LIC_EVAL_EXPAND_H

#include "eval/eval.h"

typedef struct lic_tree_node {
    licet_tree_kind kind;
    lic_rel  relation; /* with `node` what it is said to expand: of an operator the permission that it stands in */
    uint32_t node;
    uint32_t parent;      /* of the root: itself */
    uint32_t first_child; /* children have greater numbers than their parents, and stand side by side */
    uint32_t child_count;
    size_t   first_subject; /* of a leaf */
    size_t   subject_count;
} lic_tree_node;

typedef struct lic_tree {
    lic_tree_node *nodes; /* the root first */
    size_t         count;
    size_t         capacity;
    lic_ref       *subjects; /* of a leaf: direct ones in order of their keys, then usersets likewise */
    size_t         subject_count;
    size_t         subject_capacity;
} lic_tree;

/* eval: its subject does not matter. timeout_ms is that of the whole. The tree lives in the arena; it is empty unless
 * all went well. LIMIT_EXCEEDED (of the depth, too: a cycle has no end), DEADLINE_EXCEEDED, OUT_OF_MEMORY. */
licet_status lic_expand(lic_eval *eval, lic_rel relation, uint32_t node, uint32_t timeout_ms, lic_arena *arena,
                        lic_tree *tree, licet_error **error);

#endif
