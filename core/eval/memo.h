/* What is known of goals, for one subject.
 *
 * With more depth an unknown value may become known and a known one never changes. So two numbers say all: a known
 * value holds from `need` on, and up to `tried` the goal is known to fail. Between the two nothing is known. */
#ifndef LIC_EVAL_MEMO_H
#define LIC_EVAL_MEMO_H

#include "eval/goal.h"

/* A goal's value and the depth it takes to find it: at any depth from there on it is the same. LIC_FAILED always
 * means that the depth ran out; whatever else can fail ends the whole check.
 *
 * Two words, packed by hand, because it is handed up for every operand: so it travels in registers. As a plain struct it
 * went through memory, in pieces of other sizes than it was read in, which costs a check more than half of its time. */
typedef struct lic_finding {
    const lic_condition *condition; /* of LIC_IF */
    uint64_t             word;      /* need << 8 | value */
} lic_finding;

/* Beside the values: nothing known yet. */
#define LIC_NOT_FOUND 4u

static inline lic_finding lic_finding_of(unsigned value, const lic_condition *condition, uint32_t need)
{
    return (lic_finding){ condition, (uint64_t)need << 8 | value };
}

static inline unsigned lic_finding_value(lic_finding finding)
{
    return (unsigned)(finding.word & 0xff);
}

static inline uint32_t lic_finding_need(lic_finding finding)
{
    return (uint32_t)(finding.word >> 8);
}

/* The same, found from one step away. */
static inline lic_finding lic_finding_beyond(lic_finding finding)
{
    return (lic_finding){ finding.condition, finding.word + 0x100 };
}

/* Goals looked at before a memo is made: most checks end sooner, and then it would cost more than it saves. */
#define LIC_GOALS_BEFORE_MEMO 24u

/* NULL: out of memory. */
lic_eval_memo *lic_eval_memo_new(lic_arena *arena);
/* What the goal gives with this much depth left; LIC_NOT_FOUND: not known. */
lic_finding lic_eval_memo_find(const lic_eval_memo *memo, lic_goal goal, uint32_t depth);
/* depth: what was left when the finding was made. false: out of memory. */
bool lic_eval_memo_add(lic_eval_memo *memo, lic_goal goal, uint32_t depth, lic_finding finding);

#endif
