/* What can be said of a subject under a request's context: no, yes, or open, and then what it is that is missing.
 *
 * A verdict is a number. Those of open ones stand for sets of what is missing, each set having one number: so verdicts
 * are equal when they say the same, and cost nothing to copy. The conditions they come from are judged first
 * (conditions.h), which is why no expression is needed: what is true or false has decided already, and of an operator
 * that stays open all open operands are missing. */
#ifndef LIC_EVAL_VERDICTS_H
#define LIC_EVAL_VERDICTS_H

#include "eval/conditions.h"

typedef uint32_t lic_verdict;

#define LIC_VERDICT_NO 0u /* zero is a denial */
#define LIC_VERDICT_YES 1u

static inline lic_truth lic_verdict_truth(lic_verdict verdict)
{
    return verdict == LIC_VERDICT_NO ? LIC_FALSE : verdict == LIC_VERDICT_YES ? LIC_TRUE : LIC_OPEN;
}

typedef struct lic_verdicts {
    lic_eval               *eval;  /* whose program, snapshot and context they are about */
    lic_arena              *arena; /* all below but the map */
    lic_map                 known_names;
    lic_str                *names; /* of parameters, distinct */
    size_t                  name_count;
    size_t                  name_capacity;
    uint32_t               *failed; /* attributes whose caveats could not be evaluated */
    size_t                  failed_count;
    size_t                  failed_capacity;
    uint32_t               *items; /* of all sets */
    size_t                  item_count;
    size_t                  item_capacity;
    struct lic_missing_set *sets;
    size_t                  set_count;
    size_t                  set_capacity;
    uint32_t               *set_table; /* set number + 1; 0: free */
    size_t                  set_table_capacity;
    struct lic_row_verdict *rows; /* by attribute */
    size_t                  row_count;
    size_t                  row_capacity;
    lic_failure             failure; /* once memory has run out all verdicts are worthless */
} lic_verdicts;

/* The evaluator and the arena must outlive it. Ends with lic_verdicts_free(), whatever happened. */
void lic_verdicts_init(lic_verdicts *v, lic_eval *eval, lic_arena *arena);
void lic_verdicts_free(lic_verdicts *v);

/* Of a row with this attribute (LIC_NO_ATTRIBUTE: yes). A caveat that fails is open; what is missing is its failure.
 * LIC_FAILURE_NONE, _DEADLINE or _MEMORY. */
lic_failure lic_verdict_of_row(lic_verdicts *v, uint32_t attribute, lic_verdict *verdict);
/* Open, with these names. */
lic_verdict lic_verdict_open(lic_verdicts *v, lic_missing missing);

lic_verdict lic_verdict_or(lic_verdicts *v, lic_verdict a, lic_verdict b);
lic_verdict lic_verdict_and(lic_verdicts *v, lic_verdict a, lic_verdict b);
lic_verdict lic_verdict_minus(lic_verdicts *v, lic_verdict a, lic_verdict b);

/* Copies of the names that an open verdict misses, sorted, in the arena; or the error of a caveat of which it hangs. */
licet_status lic_verdict_missing(lic_verdicts *v, lic_arena *arena, lic_verdict verdict, lic_missing *missing,
                                 licet_error **error);

#endif
