/* The tables of three_valued.h, and the conditions they build.
 *
 * Equal operands are merged because a request that reaches one caveated relationship on several ways should
 * carry its condition once. That is a saving and not a rule: a condition means the same merged or not. So
 * comparing may give up on large conditions, and stays cheap where two of them share most of their parts. */
#include "three_valued.h"

#include "base/hash.h"

/* Pairs looked at before two conditions count as different. */
#define EQUAL_BUDGET 64

/* ------------------------------------------------------------- conditions */

static uint32_t hash_of(lic_condition_kind kind, uint32_t leaf, const lic_condition *left, const lic_condition *right)
{
    uint64_t hash = lic_hash_u64((uint64_t)kind << 32 | leaf);

    if (left != NULL)
        hash = lic_hash_u64(hash ^ left->hash);
    if (right != NULL)
        hash = lic_hash_u64(hash ^ (uint64_t)right->hash << 32);
    return (uint32_t)hash;
}

static bool condition_new(lic_arena *arena, lic_condition_kind kind, const lic_condition *left,
                          const lic_condition *right, const lic_condition **out)
{
    lic_condition *made = lic_arena_alloc(arena, sizeof *made);

    if (made == NULL)
        return false;
    *made = (lic_condition){ kind, 0, hash_of(kind, 0, left, right), left, right };
    *out  = made;
    return true;
}

const lic_condition *lic_condition_leaf(lic_arena *arena, uint32_t leaf)
{
    lic_condition *made = lic_arena_alloc(arena, sizeof *made);

    if (made != NULL)
        *made = (lic_condition){ LIC_CONDITION_LEAF, leaf, hash_of(LIC_CONDITION_LEAF, leaf, NULL, NULL), NULL, NULL };
    return made;
}

bool lic_condition_equal(const lic_condition *a, const lic_condition *b)
{
    const lic_condition *pairs[EQUAL_BUDGET + 2][2];
    size_t               count  = 1;
    size_t               budget = EQUAL_BUDGET;

    pairs[0][0] = a;
    pairs[0][1] = b;
    while (count > 0) {
        a = pairs[--count][0];
        b = pairs[count][1];
        if (a == b)
            continue;
        if (a == NULL || b == NULL || a->hash != b->hash || a->kind != b->kind || a->leaf != b->leaf || budget == 0)
            return false;
        budget--;
        pairs[count][0]   = a->left;
        pairs[count++][1] = b->left;
        pairs[count][0]   = a->right;
        pairs[count++][1] = b->right;
    }
    return true;
}

bool lic_condition_and(lic_arena *arena, const lic_condition *a, const lic_condition *b, const lic_condition **out)
{
    if (a == NULL || b == NULL || lic_condition_equal(a, b)) {
        *out = a == NULL ? b : a;
        return true;
    }
    return condition_new(arena, LIC_CONDITION_AND, a, b, out);
}

bool lic_condition_or(lic_arena *arena, const lic_condition *a, const lic_condition *b, const lic_condition **out)
{
    if (a == NULL || b == NULL || lic_condition_equal(a, b)) {
        *out = a == NULL || b == NULL ? NULL : a;
        return true;
    }
    return condition_new(arena, LIC_CONDITION_OR, a, b, out);
}

bool lic_condition_not(lic_arena *arena, const lic_condition *a, const lic_condition **out)
{
    return condition_new(arena, LIC_CONDITION_NOT, a, NULL, out);
}

/* ------------------------------------------------------------ memberships */

static lic_membership under(bool made, const lic_condition *condition)
{
    return made ? (lic_membership){ LIC_IF, LIC_FAILURE_NONE, condition } : LIC_MEMBERSHIP_FAILED(LIC_FAILURE_MEMORY);
}

lic_membership lic_membership_or(lic_arena *arena, lic_membership a, lic_membership b)
{
    const lic_condition *condition = NULL;
    bool                 made;

    if (a.value == LIC_YES || b.value == LIC_YES)
        return LIC_MEMBERSHIP_YES;
    if (a.value == LIC_FAILED || b.value == LIC_NO)
        return a;
    if (b.value == LIC_FAILED || a.value == LIC_NO)
        return b;
    made = lic_condition_or(arena, a.condition, b.condition, &condition);
    return under(made, condition);
}

lic_membership lic_membership_and(lic_arena *arena, lic_membership a, lic_membership b)
{
    const lic_condition *condition = NULL;
    bool                 made;

    if (a.value == LIC_NO || b.value == LIC_NO)
        return LIC_MEMBERSHIP_NO;
    if (a.value == LIC_FAILED || b.value == LIC_YES)
        return a;
    if (b.value == LIC_FAILED || a.value == LIC_YES)
        return b;
    made = lic_condition_and(arena, a.condition, b.condition, &condition);
    return under(made, condition);
}

lic_membership lic_membership_minus(lic_arena *arena, lic_membership base, lic_membership subtrahend)
{
    const lic_condition *condition = NULL;
    bool                 made;

    /* A subtrahend that is surely yes does not save a failed base (api.md 4.7). */
    if (base.value == LIC_NO || base.value == LIC_FAILED || subtrahend.value == LIC_NO)
        return base;
    if (subtrahend.value == LIC_YES)
        return LIC_MEMBERSHIP_NO;
    if (subtrahend.value == LIC_FAILED)
        return subtrahend;
    /* A base without condition has none: NULL, and AND with NULL is the other side. */
    made = lic_condition_not(arena, subtrahend.condition, &condition) &&
           lic_condition_and(arena, base.condition, condition, &condition);
    return under(made, condition);
}
