/* All goals that a question leads to, with their rules laid out flat: for the subjects of one slot, all at once, or
 * for those of every slot. Who puts sets together from them does so without walking the graph's usersets and arrows.
 *
 * Goals are found breadth first, so each is met on its shortest way; those beyond the depth limit have no rule. A
 * goal's rule is a few steps in which the operands of an operator stand before it; rows that hold subjects themselves
 * are not read yet, only told where they are. cycles.c does the same for one subject, whose rules are values already.
 *
 * For one slot it is as a check of one of its subjects: an object may be its own subject by identity, and an alias is
 * no step. For every slot (an expansion) only what is stored counts, and `self`; and every name is a step. */
#ifndef LIC_EVAL_LAYOUT_H
#define LIC_EVAL_LAYOUT_H

#include "eval/goal.h"

typedef enum lic_step_kind {
    LIC_STEP_NOBODY,
    LIC_STEP_ROWS,     /* the direct subjects, and the wildcard, of a relation of an object */
    LIC_STEP_OBJECT,   /* the object itself: by identity, or by `self` */
    LIC_STEP_GOAL,     /* whoever goal number `goal` holds */
    LIC_STEP_TOO_DEEP, /* a goal beyond the limit */
    LIC_STEP_OR,       /* of the operands before it, which are `span - 1` steps */
    LIC_STEP_AND,
    LIC_STEP_MINUS /* two operands */
} lic_step_kind;

typedef struct lic_step {
    uint8_t  kind;
    bool     of_rows;   /* an arrow: its operands are in the order of rows, on which no answer may hang */
    uint32_t span;      /* steps, its operands' and its own */
    uint32_t attribute; /* of the row that leads to it: only as far as its caveat holds. LIC_NO_ATTRIBUTE: none */
    union {
        lic_goal subject; /* ROWS, OBJECT, TOO_DEEP: the relation and object */
        uint32_t goal;
    };
} lic_step;

typedef struct lic_laid_goal {
    lic_goal goal;
    uint32_t distance; /* steps from the root on the shortest way: depth used up */
    uint32_t height;   /* goals on any way from here on, at most, to where it ends or comes back to itself */
    uint32_t first;    /* of its steps */
    uint32_t end;      /* behind its last step, which is the rule's whole */
    bool     has_leaf; /* a goal that needs no place of its own is one step further */
    bool     on_cycle; /* some way leads from here to here */
    uint32_t number;   /* while heights are worked out */
    uint32_t low;
    uint32_t next;
    uint32_t below;
} lic_laid_goal;

typedef struct lic_layout {
    lic_eval           *eval;  /* its subject tells the slot, LIC_NO_SLOT: every one; its node does not matter */
    lic_arena          *arena; /* all below */
    lic_laid_goal      *goals; /* the root first */
    size_t              goal_count;
    size_t              goal_capacity;
    lic_step           *steps;
    size_t              step_count;
    size_t              step_capacity;
    uint32_t           *numbers; /* hash table: goal number + 1; 0: free */
    size_t              number_capacity;
    struct lic_open_op *open; /* operators being laid out */
    size_t              open_count;
    size_t              open_capacity;
    uint32_t            depth;    /* of the goal being laid out: its distance */
    bool                has_leaf; /* of the same */
    uint32_t           *order;    /* goals, each after all that it leads to, if there are no cycles */
    size_t              ordered;
    bool                has_cycles;
    bool                is_too_deep; /* some step is LIC_STEP_TOO_DEEP */
    lic_failure         failure;
} lic_layout;

/* Lays out all that the root leads to, edges counted as the evaluator's steps. LIC_FAILURE_NONE, or what ran out; never
 * _DEPTH. */
lic_failure lic_layout_make(lic_layout *layout, lic_eval *eval, lic_arena *arena, lic_goal root);

/* Does the depth suffice for checks of all subjects, wherever they go? */
static inline bool lic_layout_fits(const lic_layout *layout)
{
    return !layout->is_too_deep && layout->goals[0].height <= layout->eval->limits.max_depth;
}

/* The same where every row counts for certain. On cycles the ways' lengths are not asked of unions then: a check that
 * meets a cycle looks at all goals on their shortest ways, and one that does not has found its subject. By a row that
 * counts on a condition it has found no more than an "if" and goes on along the longer ways; and one that does not
 * count may have been the short way. */
static inline bool lic_layout_fits_certain_rows(const lic_layout *layout)
{
    const bool is_union = layout->eval->program->relations[layout->goals[0].goal.relation].is_union;

    return lic_layout_fits(layout) || (!layout->is_too_deep && layout->has_cycles && is_union);
}

#endif
