/* What comes of conditions: under a request's context each is true, false, or open.
 *
 * A leaf is the number of a relationship's attribute. Its caveat is evaluated over the request's values with those of
 * the relationship laid over them (caveats.md 4), and once for a request and a context, however often it is met and
 * however many relationships have the same.
 *
 * Law: a caveat that fails is as open as one that lacks values, until it turns out that nothing decides: what is true
 * decides an OR, what is false an AND, on whichever side it stands (threat-model.md 2). Only what stays open is
 * looked into: if a caveat in it has failed, that is the answer; else the names of the parameters that it lacks are.
 * So the answer does not depend on the order of evaluation, but for which of several errors is told: the leftmost, in
 * the order of schema and relationships. */
#ifndef LIC_EVAL_CONDITIONS_H
#define LIC_EVAL_CONDITIONS_H

#include "eval/eval.h"

/* AND is the least, OR the greatest, NOT the one on the other side. */
typedef enum lic_truth { LIC_FALSE = 0, LIC_OPEN = 1, LIC_TRUE = 2 } lic_truth;

/* Names of parameters, sorted, distinct; views into the program. */
typedef struct lic_missing {
    const lic_str *names;
    size_t         count;
} lic_missing;

/* For outcomes that outlive an evaluator: those of one context, program and snapshot. NULL: out of memory. */
lic_outcomes *lic_outcomes_new(lic_arena *arena);

/* Of a single caveat, by its attribute; for a caller who needs no other once one is true, and then it is not kept.
 * LIC_FAILURE_NONE, _DEADLINE or _MEMORY. */
lic_failure lic_caveat_truth(lic_eval *eval, uint32_t attribute, lic_truth *truth);

/* The same of a condition. */
lic_failure lic_condition_truth(lic_eval *eval, const lic_condition *condition, lic_truth *truth);

/* The end of a check whose answer is IF. *value: NO, YES, or IF with the names that are missing, which live in the
 * evaluator's arena. INVALID_ARGUMENT (reasons CAVEAT_PARAMETER_TYPE_ERROR, CAVEAT_EVALUATION_ERROR), LIMIT_EXCEEDED,
 * NOT_FOUND (UNKNOWN_CAVEAT), DEADLINE_EXCEEDED, OUT_OF_MEMORY: then *value is NO. */
licet_status lic_condition_decide(lic_eval *eval, const lic_condition *condition, lic_value *value,
                                  lic_missing *missing, licet_error **error);

#endif
