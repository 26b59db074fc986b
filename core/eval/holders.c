#include "eval/holders.h"

/* What one set says of one subject. */
typedef struct saying {
    lic_verdict verdict;
    lic_truth   others;
    lic_truth   granted;
    lic_truth   excluded;
} saying;

static lic_truth least(lic_truth a, lic_truth b)
{
    return a < b ? a : b;
}

static lic_truth greatest(lic_truth a, lic_truth b)
{
    return a > b ? a : b;
}

static lic_truth negated(lic_truth a)
{
    return (lic_truth)(LIC_TRUE - a);
}

/* By the wildcard. */
static lic_truth wild(const saying *s)
{
    return least(s->others, negated(s->excluded));
}

/* An operation on one subject; of the result the verdict is done already. */
typedef void combine(const saying *a, const saying *b, saying *out);

/* Excluded from a union is who is excluded where it would be held, and not granted by name. */
static void combine_or(const saying *a, const saying *b, saying *out)
{
    out->granted = greatest(a->granted, b->granted);
    if (a->excluded == LIC_FALSE && b->excluded == LIC_FALSE)
        return;
    out->excluded = least(negated(wild(a)), negated(wild(b)));
    out->excluded = least(out->excluded, negated(out->granted));
}

static void combine_and(const saying *a, const saying *b, saying *out)
{
    out->granted  = greatest(least(a->granted, greatest(b->granted, wild(b))), least(b->granted, wild(a)));
    out->excluded = greatest(a->excluded, b->excluded);
}

/* A subject of a's wildcard that b's wildcard leaves out is granted by name. */
static void combine_minus(const saying *a, const saying *b, saying *out)
{
    const lic_truth spared = b->others == LIC_FALSE ? LIC_FALSE : least(wild(a), b->excluded);

    out->granted  = least(greatest(least(a->granted, negated(wild(b))), spared), negated(b->granted));
    out->excluded = greatest(a->excluded, b->granted);
}

typedef struct operation {
    lic_verdict (*verdict)(lic_verdicts *v, lic_verdict a, lic_verdict b);
    combine *combine;
} operation;

static const operation operation_or    = { lic_verdict_or, combine_or };
static const operation operation_and   = { lic_verdict_and, combine_and };
static const operation operation_minus = { lic_verdict_minus, combine_minus };

/* holder is NULL for a subject that the set does not name. */
static saying said_of(const lic_holders *set, const lic_holder *holder)
{
    const lic_truth others = lic_verdict_truth(set->others);

    if (holder == NULL)
        return (saying){ set->others, others, LIC_FALSE, LIC_FALSE };
    return (saying){ holder->verdict, others, (lic_truth)holder->granted, (lic_truth)holder->excluded };
}

/* Adds the subject unless the result says of it what it says of all others. */
static void add(lic_verdicts *v, const operation *op, const lic_holders *a, const lic_holders *b, const lic_holder *x,
                const lic_holder *y, lic_holder *named, lic_holders *out)
{
    const saying left  = said_of(a, x);
    const saying right = said_of(b, y);
    saying       both  = { op->verdict(v, left.verdict, right.verdict), LIC_FALSE, LIC_FALSE, LIC_FALSE };

    if (both.verdict == LIC_VERDICT_NO && out->others == LIC_VERDICT_NO)
        return;
    op->combine(&left, &right, &both);
    if (out->others == LIC_VERDICT_NO)
        both.excluded = LIC_FALSE; /* there is nothing to be taken out of */
    if (both.verdict == out->others && both.granted == LIC_FALSE && both.excluded == LIC_FALSE)
        return;
    named[out->count++] =
        (lic_holder){ x == NULL ? y->node : x->node, both.verdict, (uint8_t)both.granted, (uint8_t)both.excluded };
}

/* Subjects that only one set names are nobody where the other's others have nothing to give. */
static bool needs(const operation *op, const lic_holders *a, const lic_holders *b, bool of_a)
{
    if (op == &operation_and)
        return (of_a ? b : a)->others != LIC_VERDICT_NO;
    return op == &operation_or || of_a || a->others != LIC_VERDICT_NO;
}

static bool operate(lic_verdicts *v, lic_arena *arena, const operation *op, const lic_holders *a, const lic_holders *b,
                    lic_holders *out)
{
    const bool   of_a  = needs(op, a, b, true);
    const bool   of_b  = needs(op, a, b, false);
    const size_t most  = of_a && of_b          ? a->count + b->count
                         : of_a                ? a->count
                         : of_b                ? b->count
                         : a->count < b->count ? a->count
                                               : b->count;
    lic_holder  *named = lic_arena_alloc(arena, most * sizeof *named); /* both counts are of arrays that exist */
    lic_holders  made  = { op->verdict(v, a->others, b->others), named, 0 };
    size_t       i     = 0;
    size_t       j     = 0;

    if (named == NULL)
        return false;
    while ((i < a->count || j < b->count) && v->failure == LIC_FAILURE_NONE) {
        const uint64_t left  = i < a->count ? a->named[i].node : UINT64_MAX;
        const uint64_t right = j < b->count ? b->named[j].node : UINT64_MAX;

        if (left == right || (left < right ? of_a : of_b))
            add(v, op, a, b, left <= right ? &a->named[i] : NULL, right <= left ? &b->named[j] : NULL, named, &made);
        i += left <= right;
        j += right <= left;
    }
    *out = made;
    return v->failure == LIC_FAILURE_NONE;
}

bool lic_holders_or(lic_verdicts *v, lic_arena *arena, const lic_holders *a, const lic_holders *b, lic_holders *out)
{
    if (lic_holders_is_empty(a) || lic_holders_is_empty(b)) {
        *out = lic_holders_is_empty(a) ? *b : *a;
        return true;
    }
    return operate(v, arena, &operation_or, a, b, out);
}

bool lic_holders_and(lic_verdicts *v, lic_arena *arena, const lic_holders *a, const lic_holders *b, lic_holders *out)
{
    return operate(v, arena, &operation_and, a, b, out);
}

bool lic_holders_minus(lic_verdicts *v, lic_arena *arena, const lic_holders *a, const lic_holders *b, lic_holders *out)
{
    if (lic_holders_is_empty(b)) {
        *out = *a;
        return true;
    }
    return operate(v, arena, &operation_minus, a, b, out);
}

bool lic_holders_under(lic_verdicts *v, lic_arena *arena, const lic_holders *a, lic_verdict verdict, lic_holders *out)
{
    const lic_holders all = { verdict, NULL, 0 };

    if (verdict == LIC_VERDICT_YES) {
        *out = *a;
        return true;
    }
    return operate(v, arena, &operation_and, a, &all, out);
}
