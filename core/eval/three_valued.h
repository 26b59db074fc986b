/* The values an evaluation computes with: no, yes, "yes if", and failed.
 *
 * Law: a failed branch is unknown, never empty (threat-model.md 2). or: yes decides; and: no decides; minus: a
 * base that is no decides. Where nothing decides, a failure is the result. The tables do not depend on the order of
 * their operands, but for which of two failures is reported (the left one).
 *
 * A condition is an expression over caveated relationships; NULL means "without condition". Equal operands are
 * merged, nothing else is simplified (api.md 4.8). Conditions live in the request's arena. */
#ifndef LIC_EVAL_THREE_VALUED_H
#define LIC_EVAL_THREE_VALUED_H

#include "base/arena.h"
#include "base/error.h"

typedef enum lic_condition_kind {
    LIC_CONDITION_LEAF,
    LIC_CONDITION_AND,
    LIC_CONDITION_OR,
    LIC_CONDITION_NOT /* left only */
} lic_condition_kind;

typedef struct lic_condition {
    lic_condition_kind          kind;
    uint32_t                    leaf; /* number of a caveat instance; 0 where there are operands */
    uint32_t                    hash; /* of the whole condition: unequal hashes, unequal conditions */
    const struct lic_condition *left;
    const struct lic_condition *right;
} lic_condition;

typedef enum lic_value {
    LIC_NO = 0, /* zero is a denial */
    LIC_YES,
    LIC_IF,    /* condition holds */
    LIC_FAILED /* failure holds */
} lic_value;

typedef enum lic_failure {
    LIC_FAILURE_NONE = 0,
    LIC_FAILURE_DEPTH,
    LIC_FAILURE_STEPS,
    LIC_FAILURE_DEADLINE,
    LIC_FAILURE_MEMORY
} lic_failure;

typedef struct lic_membership {
    lic_value            value;
    lic_failure          failure;
    const lic_condition *condition;
} lic_membership;

#define LIC_MEMBERSHIP_NO ((lic_membership){ LIC_NO, LIC_FAILURE_NONE, NULL })
#define LIC_MEMBERSHIP_YES ((lic_membership){ LIC_YES, LIC_FAILURE_NONE, NULL })
#define LIC_MEMBERSHIP_FAILED(why) ((lic_membership){ LIC_FAILED, (why), NULL })

/* Out of memory gives LIC_FAILED with LIC_FAILURE_MEMORY. */
lic_membership lic_membership_or(lic_arena *arena, lic_membership a, lic_membership b);
lic_membership lic_membership_and(lic_arena *arena, lic_membership a, lic_membership b);
lic_membership lic_membership_minus(lic_arena *arena, lic_membership base, lic_membership subtrahend);

/* A condition of one caveat instance. NULL: out of memory. */
const lic_condition *lic_condition_leaf(lic_arena *arena, uint32_t leaf);

/* For the algebra of subject sets, where NULL is "without condition": AND with NULL is the other side; OR with
 * NULL is NULL. false: out of memory. */
bool lic_condition_and(lic_arena *arena, const lic_condition *a, const lic_condition *b, const lic_condition **out);
bool lic_condition_or(lic_arena *arena, const lic_condition *a, const lic_condition *b, const lic_condition **out);
bool lic_condition_not(lic_arena *arena, const lic_condition *a, const lic_condition **out); /* a is not NULL */
/* Written alike? Large conditions may be taken for different. */
bool lic_condition_equal(const lic_condition *a, const lic_condition *b);

#endif
