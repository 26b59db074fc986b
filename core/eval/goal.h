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

/* Is a row with this attribute there? One that fits no shape of its relation is not: writes see to it that there is
 * none, but not every row comes from a write. If it has no caveat, the attribute says no more: it becomes
 * LIC_NO_ATTRIBUTE. */
bool lic_goal_holds_row(const lic_eval *eval, const lic_relation *relation, lic_ref row, uint32_t *attribute);
/* The same of any row. bare: a shape of its slot is. */
static inline bool lic_goal_row_counts(const lic_eval *eval, const lic_relation *relation, bool bare, lic_ref row,
                                       uint32_t *attribute)
{
    return *attribute == LIC_NO_ATTRIBUTE ? bare : lic_goal_holds_row(eval, relation, row, attribute);
}

/* The membership that a row gives whose attribute has a caveat. */
lic_membership lic_goal_caveated(lic_eval *eval, uint32_t attribute);

/* Which rows of a relation a subject may be found by. Only shapes that the schema allows count. */
typedef struct lic_ways_in {
    bool     plain;    /* a row that holds the subject itself */
    bool     wildcard; /* a row that holds all of the subject's type (also the usersets of the type) */
    bool     bare;     /* all rows that there may be have neither caveat nor expiration */
    uint32_t first;    /* the allowed types that bring in usersets are some of allowed[first .. end) */
    uint32_t end;
} lic_ways_in;

static inline lic_ways_in lic_goal_ways_in(const lic_eval *eval, const lic_relation *relation)
{
    const uint32_t     end     = relation->first_allowed + relation->allowed_count;
    const lic_allowed *allowed = eval->program->allowed;
    lic_ways_in        ways    = { false, false, relation->is_bare, relation->first_userset, end };

    for (uint32_t i = relation->first_allowed; i < end; i++) {
        if (allowed[i].wildcard)
            ways.wildcard |= allowed[i].definition == eval->subject_definition;
        else
            ways.plain |= allowed[i].slot == eval->subject.slot;
    }
    return ways;
}

typedef enum lic_direct {
    LIC_DIRECT_NO,
    LIC_DIRECT_YES,
    LIC_DIRECT_ATTRIBUTED /* there is a row with an attribute, or among rows that should have one */
} lic_direct;

/* By a row with this attribute. */
static inline lic_direct lic_goal_direct_by(lic_ways_in ways, uint32_t attribute)
{
    return attribute == LIC_NO_ATTRIBUTE && ways.bare ? LIC_DIRECT_YES : LIC_DIRECT_ATTRIBUTED;
}

/* Are there rows of the subject itself or of its type's wildcard? Most have no attribute, and then the first decides. */
static inline lic_direct lic_goal_find_direct(const lic_eval *eval, lic_ways_in ways, lic_ref resource)
{
    uint32_t attribute;

    if ((!ways.plain || !lic_snapshot_find(eval->snapshot, resource, eval->subject, &attribute)) &&
        (!ways.wildcard || !lic_snapshot_find(eval->snapshot, resource, eval->everyone, &attribute)))
        return LIC_DIRECT_NO;
    return lic_goal_direct_by(ways, attribute);
}

/* The same among a resource's rows that are at hand. */
static inline lic_direct lic_goal_find_direct_of(const lic_eval *eval, lic_ways_in ways, const lic_walk *rows)
{
    uint32_t attribute;

    if ((!ways.plain || !lic_walk_has(rows, eval->subject, &attribute)) &&
        (!ways.wildcard || !lic_walk_has(rows, eval->everyone, &attribute)))
        return LIC_DIRECT_NO;
    return lic_goal_direct_by(ways, attribute);
}

/* What these rows give, whatever they have. */
lic_membership lic_goal_direct(lic_eval *eval, const lic_relation *relation, lic_ways_in ways, uint32_t node);

/* Certainly no more rows? Without a look at the graph; it may be no more rows all the same. */
static inline bool lic_goal_rows_ended(const lic_walk *walk)
{
    return walk->next == walk->end && !walk->touched;
}

/* A row of an arrow's tupleset leads to this relation of the row's object; its subject relation is ignored.
 * *counts is false for rows of a slot that the schema does not allow: they are not there. */
lic_rel lic_goal_target(const lic_program *program, const lic_op *arrow, lic_slot subject_slot, bool *counts,
                        bool *bare);

/* Begins to count, for a new question. */
static inline void lic_goal_reset_steps(lic_eval *eval)
{
    eval->steps       = 0;
    eval->deadline_ms = 0;
    eval->work        = 0;
    eval->next_look   = eval->limits.max_steps < LIC_STEPS_PER_CLOCK ? eval->limits.max_steps : LIC_STEPS_PER_CLOCK;
}

/* LIC_FAILURE_NONE, or what ran out. */
lic_failure lic_goal_look(lic_eval *eval);
/* Of these the time alone. */
lic_failure lic_goal_look_at_clock(lic_eval *eval);
/* Says which limit it was. Not for LIC_FAILURE_NONE. */
licet_status lic_eval_fail(const lic_eval *eval, lic_failure failure, licet_error **error);

/* So many more edges. */
static inline lic_failure lic_goal_steps(lic_eval *eval, uint64_t edges)
{
    eval->steps += edges;
    return eval->steps <= eval->next_look ? LIC_FAILURE_NONE : lic_goal_look(eval);
}

#endif
