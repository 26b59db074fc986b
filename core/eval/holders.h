/* Who of one slot holds something: a verdict on every subject there is, and on all those there could be.
 *
 * A set names some subjects, and says one thing of all others, which is not "no" where a wildcard is about. Operations
 * go subject by subject with the tables of three_valued.h, as a check of each would: so what a set says is what the
 * checks say. (subject_set.h, which is about several slots, unknown contexts and where subjects stand, keeps wildcards
 * and what is excluded from them apart.)
 *
 * Beside it each named subject has what only a listing needs to know: is it granted by name, and is it taken out of
 * what the wildcard grants? Of these the truth alone counts, and it follows validation-files.md 7. */
#ifndef LIC_EVAL_HOLDERS_H
#define LIC_EVAL_HOLDERS_H

#include "eval/verdicts.h"

/* Law: the verdict is true, open or false as  granted or (others and not excluded)  is. */
typedef struct lic_holder {
    uint32_t    node;
    lic_verdict verdict;
    uint8_t     granted;  /* a lic_truth: by name */
    uint8_t     excluded; /* a lic_truth: from what all others have */
} lic_holder;

/* Immutable once made, in an arena. */
typedef struct lic_holders {
    lic_verdict       others;
    const lic_holder *named; /* sorted by node, distinct */
    size_t            count;
} lic_holders;

static inline bool lic_holders_is_empty(const lic_holders *set)
{
    return set->others == LIC_VERDICT_NO && set->count == 0;
}

/* All give a new set in the arena, which may share parts with the old ones. false: out of memory. */
bool lic_holders_or(lic_verdicts *v, lic_arena *arena, const lic_holders *a, const lic_holders *b, lic_holders *out);
bool lic_holders_and(lic_verdicts *v, lic_arena *arena, const lic_holders *a, const lic_holders *b, lic_holders *out);
bool lic_holders_minus(lic_verdicts *v, lic_arena *arena, const lic_holders *a, const lic_holders *b, lic_holders *out);
/* Those of `a` as far as the verdict allows. */
bool lic_holders_under(lic_verdicts *v, lic_arena *arena, const lic_holders *a, lic_verdict verdict, lic_holders *out);

#endif
