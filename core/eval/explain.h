/* Explain: what a check asks on its way, and what comes of each question.
 *
 * The trace is made by the evaluator's own answers: every object and name on the way is put to lic_eval_check() with
 * the depth that is left there, and its condition to lic_condition_decide(). So no step can say other than a check of
 * it would, and the first step is the check that is explained. Only operators inside a permission are put together
 * here, by the tables of three_valued.h.
 *
 * Told is the way of a grant: of a union that holds, one operand that makes it hold. Else all that was tried. What is
 * met again is told once. A trace has an end: what lies beyond is cut, and marked so; the answers stay right. */
#ifndef LIC_EVAL_EXPLAIN_H
#define LIC_EVAL_EXPLAIN_H

#include "eval/conditions.h"

typedef enum lic_step_kind {
    LIC_STEP_RELATION, /* an object's relation: its children are rows and what usersets lead to */
    LIC_STEP_UNION,    /* an object's permission, or an operator in one: its children are operands */
    LIC_STEP_INTERSECTION,
    LIC_STEP_EXCLUSION,
    LIC_STEP_ARROW_ANY, /* an operator: its children are what the rows of the left side lead to */
    LIC_STEP_ARROW_ALL,
    LIC_STEP_ROW,      /* a stored relationship with the subject itself */
    LIC_STEP_WILDCARD, /* or with all of its type */
    LIC_STEP_IDENTITY, /* the subject is what was asked for */
    LIC_STEP_SELF,
    LIC_STEP_NIL,
    LIC_STEP_CYCLE, /* stands on the way to itself */
    LIC_STEP_SEEN   /* is told elsewhere */
} lic_step_kind;

typedef struct lic_step {
    lic_step_kind kind;
    bool          is_operator; /* or a leaf, inside the permission that relation and node name */
    bool          has_row;     /* a stored relationship leads here */
    bool          is_cut;      /* has more children than are told */
    lic_rel       relation;
    uint32_t      node;
    uint32_t      op;       /* of an operator: index in ops */
    uint32_t      distance; /* from the first step */
    uint32_t      parent;
    lic_edge      row;
    uint32_t      attribute; /* of the row; LIC_NO_ATTRIBUTE: it has no caveat */
    licet_status  status;    /* LICET_OK, or why there is no answer */
    lic_value     value;     /* NO, YES or IF; of a row with a caveat it is the caveat's */
    lic_missing   missing;
    uint32_t      first; /* children: steps[first .. first + count) */
    uint32_t      count;
} lic_step;

/* Live in the evaluator's arena. */
typedef struct lic_steps {
    lic_step *items;
    size_t    count;
} lic_steps;

/* The subject is the evaluator's. Status and error are those of the check; steps are there whenever memory was. */
licet_status lic_explain(lic_eval *eval, lic_rel relation, uint32_t node, lic_steps *steps, licet_error **error);

#endif
