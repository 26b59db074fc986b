/* What is known of goals, for one subject.
 *
 * With more depth an unknown value may become known and a known one never changes. So two numbers say all: a known
 * value holds from `need` on, and up to `tried` the goal is known to fail. Between the two nothing is known. */
#ifndef LIC_EVAL_MEMO_H
#define LIC_EVAL_MEMO_H

#include "eval/goal.h"

/* A goal's value and the depth it takes to find it: at any depth from there on it is the same. */
typedef struct lic_finding {
    lic_membership value;
    uint32_t       need;
} lic_finding;

/* NULL: out of memory. */
lic_eval_memo *lic_eval_memo_new(lic_arena *arena);
/* Is it known what the goal gives with this much depth left? */
bool lic_eval_memo_find(const lic_eval_memo *memo, lic_goal goal, uint32_t depth, lic_finding *finding);
/* depth: what was left when the finding was made. false: out of memory. */
bool lic_eval_memo_add(lic_eval_memo *memo, lic_goal goal, uint32_t depth, lic_finding finding);

#endif
