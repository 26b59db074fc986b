/* Lookup of subjects: who of one slot is in a relation or permission of an object?
 *
 * Law: what is said of each subject is what lic_eval_check() and lic_condition_decide() say (three_valued.h), those
 * included that occur nowhere, for which the wildcard stands. Where one of these checks fails, so does the lookup.
 *
 * Two ways lead there. Mostly the goals that the question leads to are laid out (layout.h) and their sets (holders.h)
 * put together, once each. A cycle is no obstacle as long as it runs through unions: all goals on it hold the same.
 * Where it does not, or where the depth may not suffice, a set says too little; there every subject in reach is
 * checked by itself, in rare data and at a price. */
#ifndef LIC_EVAL_LOOKUP_SUBJECTS_H
#define LIC_EVAL_LOOKUP_SUBJECTS_H

#include "eval/eval.h"

/* Which part of the answer is wanted. */
typedef struct lic_lookup_page {
    uint64_t from;  /* nodes from here on; 0 is the wildcard */
    uint64_t limit; /* subjects, at most */
    bool     without_wildcard;
    bool     without_conditional; /* only subjects for certain */
} lic_lookup_page;

/* A subject, or an exclusion from the wildcard. */
typedef struct lic_looked_up {
    uint32_t node;
    uint32_t missing; /* 0: for certain; else index in the answer's lists */
} lic_looked_up;

/* Names of parameters, sorted, distinct. */
typedef struct lic_missing_names {
    const lic_str *names;
    size_t         count;
} lic_missing_names;

typedef struct lic_lookup_answer {
    lic_looked_up     *subjects; /* sorted by node: the wildcard first */
    size_t             count;
    lic_looked_up     *exclusions; /* of the wildcard, if it is among the subjects; sorted by node */
    size_t             exclusion_count;
    lic_missing_names *missing; /* missing[0] is empty */
    size_t             missing_count;
} lic_lookup_answer;

/* The work is that of the whole answer, whichever part is wanted. eval: its subject's slot is the one that is asked
 * about; its node does not matter. Its limits are those of a check; timeout_ms is that of the whole. The answer lives
 * in the arena and views nothing else. LIMIT_EXCEEDED, DEADLINE_EXCEEDED, INVALID_ARGUMENT and NOT_FOUND of caveats,
 * OUT_OF_MEMORY: then the answer is empty. */
licet_status lic_lookup_subjects(lic_eval *eval, lic_rel relation, uint32_t node, uint32_t timeout_ms,
                                 const lic_lookup_page *page, lic_arena *arena, lic_lookup_answer *answer,
                                 licet_error **error);

#endif
