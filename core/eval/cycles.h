/* Checks on data with cycles: the least fixpoint over all goals nearer than the depth limit. */
#ifndef LIC_EVAL_CYCLES_H
#define LIC_EVAL_CYCLES_H

#include "eval/goal.h"

/* LIC_FAILED with LIC_FAILURE_DEPTH where the goals form no cycle: then the walk's own failure stands. */
lic_membership lic_eval_fixpoint(lic_eval *eval, lic_goal root);

#endif
