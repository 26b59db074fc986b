/* A goal: "is the subject in this relation or permission of this object?", and what can be said about one without
 * looking at other goals. Shared by the evaluators of this folder. */
#ifndef LIC_EVAL_GOAL_H
#define LIC_EVAL_GOAL_H

#include "base/clock.h"
#include "eval/eval.h"

typedef struct lic_goal {
    lic_rel  relation;
    uint32_t node;
} lic_goal;

/* The clock is read once in so many steps. */
#define LIC_STEPS_PER_CLOCK 4096u

/* Identity (api.md 4.1). */
static inline bool lic_goal_is_subject(const lic_eval *eval, const lic_relation *relation, uint32_t node)
{
    return node == eval->subject.node && relation->slot == eval->subject.slot;
}

/* SpiceDB: an alias is replaced by what it names unless the subject's type is the resource's, for then one of the
 * names between may be the subject itself (internal/dispatch/graph, DispatchCheck). */
static inline lic_rel lic_goal_named(const lic_eval *eval, const lic_relation *relation, lic_rel number)
{
    return relation->is_permission && relation->definition != eval->subject_definition ? relation->alias_of : number;
}

/* `self` in the goal's permission: the resource itself, as a subject without relation. */
static inline lic_membership lic_goal_self(const lic_eval *eval, lic_goal goal)
{
    const bool is_self = eval->subject.slot == eval->everyone.slot && eval->subject.node == goal.node &&
                         eval->program->relations[goal.relation].definition == eval->subject_definition;

    return is_self ? LIC_MEMBERSHIP_YES : LIC_MEMBERSHIP_NO;
}

/* A relation without usersets: its own rows are all there is. */
static inline bool lic_goal_is_leaf(const lic_relation *relation)
{
    return !relation->is_permission && !relation->has_usersets;
}

/* The relation whose members this shape brings in; LIC_NO_REL: none, its rows are dead ends. */
static inline lic_rel lic_allowed_userset(const lic_program *program, const lic_allowed *allowed)
{
    return allowed->wildcard || !lic_allowed_admits_rows(allowed) ? LIC_NO_REL
                                                                  : lic_program_slot(program, allowed->slot).relation;
}

/* The membership that one stored row gives to its own subject. */
static inline lic_membership lic_goal_row(const lic_eval *eval, lic_ref resource, lic_ref subject)
{
    return lic_snapshot_has(eval->snapshot, resource, subject) ? LIC_MEMBERSHIP_YES : LIC_MEMBERSHIP_NO;
}

/* Which rows of a relation a subject may be found by. Only shapes that the schema allows count. */
typedef struct lic_ways_in {
    bool     plain;    /* a row that holds the subject itself */
    bool     wildcard; /* a row that holds all of the subject's type (also the usersets of the type) */
    uint32_t first;    /* the allowed types that bring in usersets are some of allowed[first .. end) */
    uint32_t end;
} lic_ways_in;

static inline lic_ways_in lic_goal_ways_in(const lic_eval *eval, const lic_relation *relation)
{
    const uint32_t end  = relation->first_allowed + relation->allowed_count;
    lic_ways_in    ways = { false, false, relation->first_userset, end };

    for (uint32_t i = relation->first_allowed; i < end; i++) {
        const lic_allowed *allowed = &eval->program->allowed[i];

        if (allowed->wildcard)
            ways.wildcard |= allowed->definition == eval->subject_definition && lic_allowed_admits_rows(allowed);
        else if (allowed->slot == eval->subject.slot)
            ways.plain |= lic_allowed_admits_rows(allowed);
    }
    return ways;
}

/* The same among a resource's rows that are at hand. */
static inline lic_membership lic_goal_row_of(const lic_walk *rows, lic_ref subject)
{
    return lic_walk_has(rows, subject) ? LIC_MEMBERSHIP_YES : LIC_MEMBERSHIP_NO;
}

/* lic_goal_direct from these rows. */
static inline lic_membership lic_goal_direct_of(const lic_eval *eval, lic_ways_in ways, const lic_walk *rows)
{
    lic_membership found = LIC_MEMBERSHIP_NO;

    if (ways.plain)
        found = lic_goal_row_of(rows, eval->subject);
    if (ways.wildcard && found.value == LIC_NO)
        found = lic_goal_row_of(rows, eval->everyone);
    else if (ways.wildcard && found.value != LIC_YES)
        found = lic_membership_or(eval->arena, found, lic_goal_row_of(rows, eval->everyone));
    return found;
}

/* What the rows of the subject itself and of its type's wildcard give. */
static inline lic_membership lic_goal_direct(const lic_eval *eval, lic_ways_in ways, lic_ref resource)
{
    lic_membership found = LIC_MEMBERSHIP_NO;

    if (ways.plain)
        found = lic_goal_row(eval, resource, eval->subject);
    if (ways.wildcard && found.value == LIC_NO)
        found = lic_goal_row(eval, resource, eval->everyone);
    else if (ways.wildcard && found.value != LIC_YES)
        found = lic_membership_or(eval->arena, found, lic_goal_row(eval, resource, eval->everyone));
    return found;
}

/* Certainly no more rows? Without a look at the graph; it may be no more rows all the same. */
static inline bool lic_goal_rows_ended(const lic_walk *walk)
{
    return walk->next == walk->end && !walk->touched;
}

/* A row of an arrow's tupleset leads to this relation of the row's object; its subject relation is ignored.
 * *counts is false for rows of a shape that the schema does not allow: they are not there. */
lic_rel lic_goal_target(const lic_program *program, const lic_op *arrow, lic_slot subject_slot, bool *counts);

/* Begins to count, for a new question. */
static inline void lic_goal_reset_steps(lic_eval *eval)
{
    eval->steps       = 0;
    eval->deadline_ms = 0;
    eval->next_look   = eval->limits.max_steps < LIC_STEPS_PER_CLOCK ? eval->limits.max_steps : LIC_STEPS_PER_CLOCK;
}

/* LIC_FAILURE_NONE, or what ran out. */
lic_failure lic_goal_look(lic_eval *eval);

/* So many more edges. */
static inline lic_failure lic_goal_steps(lic_eval *eval, uint64_t edges)
{
    eval->steps += edges;
    return eval->steps <= eval->next_look ? LIC_FAILURE_NONE : lic_goal_look(eval);
}

#endif
