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

typedef struct lic_memo_entry {
    uint64_t    key;   /* of the goal; 0: free */
    lic_finding found; /* its need is UINT32_MAX where no value is known */
    uint32_t    tried; /* fails up to this depth */
} lic_memo_entry;

struct lic_eval_memo {
    lic_arena      *arena;
    lic_memo_entry *entries;
    size_t          capacity; /* a power of two */
    size_t          count;
};

/* NULL: out of memory. */
lic_eval_memo *lic_eval_memo_new(lic_arena *arena);
/* Room for one more. false: out of memory. */
bool lic_eval_memo_grow(lic_eval_memo *memo);

/* Not 0: no relation has the number LIC_NO_REL. */
static inline uint64_t lic_eval_memo_key(lic_goal goal)
{
    return (uint64_t)(goal.relation + 1) << 32 | goal.node;
}

/* The key's entry: its own or a free one. */
static inline lic_memo_entry *lic_eval_memo_entry(const lic_eval_memo *memo, uint64_t key)
{
    const size_t mask = memo->capacity - 1;
    size_t       at   = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask; /* nobody outside chooses keys */

    while (memo->entries[at].key != 0 && memo->entries[at].key != key)
        at = (at + 1) & mask;
    return &memo->entries[at];
}

/* What the goal gives with this much depth left; LIC_NOT_FOUND: not known. */
static inline lic_finding lic_eval_memo_find(const lic_eval_memo *memo, lic_goal goal, uint32_t depth)
{
    const lic_memo_entry *entry = lic_eval_memo_entry(memo, lic_eval_memo_key(goal));

    if (entry->key != 0 && depth >= lic_finding_need(entry->found))
        return entry->found;
    return lic_finding_of(entry->key != 0 && depth <= entry->tried ? LIC_FAILED : LIC_NOT_FOUND, NULL, 0);
}

/* depth: what was left when the finding was made. false: out of memory. */
static inline bool lic_eval_memo_add(lic_eval_memo *memo, lic_goal goal, uint32_t depth, lic_finding finding)
{
    lic_memo_entry *entry;

    if (memo->count >= memo->capacity / 2 && !lic_eval_memo_grow(memo))
        return false;
    entry = lic_eval_memo_entry(memo, lic_eval_memo_key(goal));
    if (entry->key == 0) {
        entry->key   = lic_eval_memo_key(goal);
        entry->found = lic_finding_of(LIC_NO, NULL, UINT32_MAX);
        memo->count++;
    }
    if (lic_finding_value(finding) == LIC_FAILED) {
        if (depth > entry->tried)
            entry->tried = depth;
    } else if (lic_finding_need(finding) < lic_finding_need(entry->found)) {
        entry->found = finding;
    }
    return true;
}

#endif
