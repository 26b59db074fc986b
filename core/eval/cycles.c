/* All goals within the depth limit, their rules laid out flat, and the least fixpoint over them.
 *
 * Goals are found breadth first, so each is met first on its shortest way; those as far away as the limit are
 * unknown. A goal's rule is a few steps for a stack machine: operands push a value, operators take theirs.
 *
 * Exclusion makes the rules contrary: a larger subtrahend makes a smaller result. The alternating fixpoint (Van
 * Gelder, Ross and Schlipf 1991) copes. Subtrahends are read from a fixed set, so that the rest has a least fixpoint:
 * read from what is certain they give what is possible, and from what is possible, what is certain. That goes on
 * until nothing changes. What then is possible but not certain hangs on a cycle through an exclusion, or on an
 * unknown goal.
 *
 * Conditions are judged first, so that every value is false, open or true: the rules keep their order
 * (three_valued.h), and a goal rises twice at most. An earlier design carried conditions through the rounds; around a
 * cycle they grow with each, and whether anything has changed could not be seen. What stays open at the end is put
 * together again from the conditions that it hangs on: going round a cycle may bring in some that a way without it
 * would not. */
#include "cycles.h"

#include "base/hash.h"
#include "eval/conditions.h"

#define NONE UINT32_MAX

typedef enum step_kind {
    STEP_VALUE,   /* push `truth` */
    STEP_UNKNOWN, /* push true or false, whichever way nothing rests on */
    STEP_GOAL,    /* push the value of goal number `operand` */
    STEP_OR,      /* replace the topmost `operand` values by one; none: false */
    STEP_AND,
    STEP_MINUS
} step_kind;

typedef struct step {
    uint8_t              kind;
    bool                 contrary; /* inside an odd number of subtrahends */
    uint8_t              truth;    /* a lic_truth */
    uint32_t             operand;
    const lic_condition *condition; /* of STEP_VALUE; NULL: without */
} step;

typedef struct node {
    lic_goal goal;
    uint32_t distance; /* steps from the root: depth used up */
    uint32_t first;    /* its steps, up to those of the next node */
    uint32_t waiting;  /* goals that rest on it and are still there; for finding cycles */
} node;

/* An operator whose operands are being laid out. */
typedef struct open_operator {
    uint32_t op;
    uint32_t next;
    bool     contrary;
} open_operator;

/* On the machine's stack: a value; and, when it is open, a list of the steps of the rule that leave it so. */
typedef struct operand {
    lic_truth truth;
    uint32_t  first; /* step number */
    uint32_t  last;
} operand;

typedef struct system {
    lic_eval      *eval;
    lic_arena      scratch; /* all below */
    node          *nodes;
    size_t         node_count;
    size_t         node_capacity;
    step          *steps;
    size_t         step_count;
    size_t         step_capacity;
    uint32_t      *numbers; /* hash table: node number + 1, 0: free */
    size_t         number_capacity;
    open_operator *open;
    size_t         open_capacity;
    operand       *stack;     /* of the machine: as many as the longest rule has steps */
    uint32_t      *next_open; /* by step of a rule: the next one of its list */
    size_t         longest;
    bool           has_contrary; /* some subtrahend is a goal or unknown */
    bool           has_unknown;
    lic_failure    failure;
} system;

static bool failed(system *s, lic_failure failure)
{
    if (s->failure == LIC_FAILURE_NONE)
        s->failure = failure;
    return false;
}

/* ---------------------------------------------------------- laying out rules */

static uint32_t *number_of(const system *s, lic_goal goal)
{
    size_t mask = s->number_capacity - 1;
    size_t at   = (size_t)lic_hash_u64((uint64_t)goal.relation << 32 | goal.node) & mask;

    while (s->numbers[at] != 0) {
        const lic_goal other = s->nodes[s->numbers[at] - 1].goal;

        if (other.relation == goal.relation && other.node == goal.node)
            break;
        at = (at + 1) & mask;
    }
    return &s->numbers[at];
}

static bool grow_numbers(system *s)
{
    s->number_capacity = s->number_capacity == 0 ? 256 : s->number_capacity * 2;
    s->numbers         = lic_new_array(&s->scratch, s->number_capacity, uint32_t);
    if (s->numbers == NULL)
        return failed(s, LIC_FAILURE_MEMORY);
    for (size_t i = 0; i < s->node_count; i++)
        *number_of(s, s->nodes[i].goal) = (uint32_t)i + 1;
    return true;
}

/* The node of a goal, new or known. */
static bool add_node(system *s, lic_goal goal, uint32_t distance, uint32_t *number)
{
    uint32_t *found;
    void     *nodes = s->nodes;

    if (s->node_count >= s->number_capacity / 2 && !grow_numbers(s))
        return false;
    found = number_of(s, goal);
    if (*found == 0) {
        if (!lic_arena_grow(&s->scratch, &nodes, &s->node_capacity, s->node_count + 1, sizeof(node)))
            return failed(s, LIC_FAILURE_MEMORY);
        s->nodes                  = nodes;
        s->nodes[s->node_count++] = (node){ .goal = goal, .distance = distance };
        *found                    = (uint32_t)s->node_count;
    }
    *number = *found - 1;
    return true;
}

static bool add_step(system *s, step_kind kind, bool contrary, uint32_t operand)
{
    void *steps = s->steps;

    if (!lic_arena_grow(&s->scratch, &steps, &s->step_capacity, s->step_count + 1, sizeof(step)))
        return failed(s, LIC_FAILURE_MEMORY);
    s->steps                  = steps;
    s->steps[s->step_count++] = (step){ (uint8_t)kind, contrary, LIC_FALSE, operand, NULL };
    s->has_contrary |= contrary && (kind == STEP_GOAL || kind == STEP_UNKNOWN);
    s->has_unknown |= kind == STEP_UNKNOWN;
    return true;
}

static bool add_value(system *s, lic_membership value)
{
    if (value.value == LIC_FAILED)
        return failed(s, value.failure);
    if (!add_step(s, STEP_VALUE, false, 0))
        return false;
    s->steps[s->step_count - 1].truth     = value.value == LIC_YES ? LIC_TRUE : LIC_FALSE;
    s->steps[s->step_count - 1].condition = value.condition;
    return true;
}

static bool add_operator(system *s, step_kind kind, uint32_t operands)
{
    return add_step(s, kind, false, operands);
}

/* An operand that is another goal, one step away from one at `distance`. */
static bool add_goal(system *s, lic_goal goal, uint32_t distance, bool contrary)
{
    const lic_relation *relation = &s->eval->program->relations[goal.relation];
    const lic_failure   failure  = lic_goal_steps(s->eval, 1);
    uint32_t            number   = 0;

    if (failure != LIC_FAILURE_NONE)
        return failed(s, failure);
    if (lic_goal_is_subject(s->eval, relation, goal.node))
        return add_value(s, LIC_MEMBERSHIP_YES);
    if (distance + 1 >= s->eval->limits.max_depth)
        return add_step(s, STEP_UNKNOWN, contrary, 0);
    goal.relation = lic_goal_named(s->eval, relation, goal.relation);
    relation      = &s->eval->program->relations[goal.relation];
    if (lic_goal_is_leaf(relation))
        return add_value(s, lic_goal_direct(s->eval, relation, lic_goal_ways_in(s->eval, relation), goal.node));
    return add_node(s, goal, distance + 1, &number) && add_step(s, STEP_GOAL, contrary, number);
}

/* A row's operand: the goal that it leads to (none: nobody), under its caveat. */
static bool add_row(system *s, lic_goal goal, uint32_t attribute, uint32_t distance, bool contrary)
{
    if (attribute != LIC_NO_ATTRIBUTE && !add_value(s, lic_goal_caveated(s->eval, attribute)))
        return false;
    if (goal.relation == LIC_NO_REL ? !add_value(s, LIC_MEMBERSHIP_NO) : !add_goal(s, goal, distance, contrary))
        return false;
    return attribute == LIC_NO_ATTRIBUTE || add_operator(s, STEP_AND, 2);
}

/* A row that does not count costs a step all the same. */
static bool skip_row(system *s)
{
    const lic_failure failure = lic_goal_steps(s->eval, 1);

    return failure == LIC_FAILURE_NONE || failed(s, failure);
}

static bool lay_relation(system *s, lic_goal goal, uint32_t distance)
{
    const lic_program  *program  = s->eval->program;
    const lic_relation *relation = &program->relations[goal.relation];
    const lic_ways_in   ways     = lic_goal_ways_in(s->eval, relation);
    const lic_ref       resource = { relation->slot, goal.node };
    lic_membership      direct   = lic_goal_direct(s->eval, relation, ways, goal.node);
    uint32_t            operands = 1;
    uint32_t            attribute;
    lic_walk            walk;
    lic_ref             row;

    if (!add_value(s, direct))
        return false;
    if (direct.value == LIC_YES)
        return true;
    for (uint32_t i = ways.first; i < ways.end; i++) {
        const lic_allowed *allowed = &program->allowed[i];
        const lic_rel      userset = allowed->userset;

        if (userset == LIC_NO_REL)
            continue;
        lic_walk_subjects_in(s->eval->snapshot, resource, allowed->slot, &walk);
        while (lic_walk_next(&walk, &row)) {
            attribute = walk.attribute;
            if (!lic_goal_row_counts(s->eval, relation, allowed->bare, row, &attribute)) {
                if (!skip_row(s))
                    return false;
                continue;
            }
            operands++;
            if (!add_row(s, (lic_goal){ userset, row.node }, attribute, distance, false))
                return false;
        }
    }
    return add_operator(s, STEP_OR, operands);
}

static bool lay_arrow(system *s, const lic_op *arrow, uint32_t object, uint32_t distance, bool contrary)
{
    const lic_program  *program  = s->eval->program;
    const lic_relation *tupleset = &program->relations[arrow->relation];
    uint32_t            operands = 0;
    uint32_t            attribute;
    lic_walk            walk;
    lic_ref             row;

    lic_walk_subjects(s->eval->snapshot, (lic_ref){ tupleset->slot, object }, &walk);
    while (lic_walk_next(&walk, &row)) {
        bool          counts;
        bool          bare;
        const lic_rel target = lic_goal_target(program, arrow, row.slot, &counts, &bare);

        attribute = walk.attribute;
        if (!counts || !lic_goal_row_counts(s->eval, tupleset, bare, row, &attribute)) {
            if (!skip_row(s))
                return false;
            continue;
        }
        operands++;
        if (!add_row(s, (lic_goal){ target, row.node }, attribute, distance, contrary))
            return false;
    }
    return add_operator(s, arrow->kind == LIC_OP_ARROW_ALL && operands > 0 ? STEP_AND : STEP_OR, operands);
}

static bool open_op(system *s, size_t *count, uint32_t op, bool contrary)
{
    void *open = s->open;

    if (!lic_arena_grow(&s->scratch, &open, &s->open_capacity, *count + 1, sizeof(open_operator)))
        return failed(s, LIC_FAILURE_MEMORY);
    s->open             = open;
    s->open[(*count)++] = (open_operator){ op, 0, contrary };
    return true;
}

/* An operand without operands of its own. */
static bool lay_operand(system *s, const lic_op *op, lic_goal goal, uint32_t distance, bool contrary)
{
    switch (op->kind) {
    case LIC_OP_NAME:
        return add_goal(s, (lic_goal){ op->relation, goal.node }, distance, contrary);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return lay_arrow(s, op, goal.node, distance, contrary);
    case LIC_OP_SELF:
        return add_value(s, lic_goal_self(s->eval, goal));
    default:
        return add_value(s, LIC_MEMBERSHIP_NO);
    }
}

static bool lay_permission(system *s, lic_goal goal, uint32_t distance)
{
    static const uint8_t operators[] = {
        [LIC_OP_UNION] = STEP_OR, [LIC_OP_INTERSECTION] = STEP_AND, [LIC_OP_EXCLUSION] = STEP_MINUS
    };
    const lic_program *program = s->eval->program;
    size_t             count   = 0;

    if (!open_op(s, &count, program->relations[goal.relation].op, false))
        return false;
    while (count > 0) {
        open_operator *top = &s->open[count - 1];
        const lic_op  *op  = &program->ops[top->op];
        const bool     is_operator =
            op->kind == LIC_OP_UNION || op->kind == LIC_OP_INTERSECTION || op->kind == LIC_OP_EXCLUSION;

        if (is_operator && top->next < op->count) {
            const bool     flips = op->kind == LIC_OP_EXCLUSION && top->next == 1;
            const uint32_t child = program->children[op->first + top->next++];

            if (!open_op(s, &count, child, top->contrary != flips))
                return false;
            continue;
        }
        count--;
        if (is_operator ? !add_operator(s, (step_kind)operators[op->kind], op->count)
                        : !lay_operand(s, op, goal, distance, top->contrary))
            return false;
    }
    return true;
}

static bool lay_out(system *s, lic_goal root)
{
    uint32_t number;

    if (!add_node(s, root, 0, &number))
        return false;
    for (size_t i = 0; i < s->node_count; i++) {
        const lic_goal goal     = s->nodes[i].goal;
        const uint32_t distance = s->nodes[i].distance;
        const size_t   first    = s->step_count;

        s->nodes[i].first = (uint32_t)first;
        if (s->eval->program->relations[goal.relation].is_permission ? !lay_permission(s, goal, distance)
                                                                     : !lay_relation(s, goal, distance))
            return false;
        if (s->step_count - first > s->longest)
            s->longest = s->step_count - first;
    }
    s->stack     = lic_new_array(&s->scratch, s->longest, operand);
    s->next_open = lic_new_array(&s->scratch, s->longest, uint32_t);
    return (s->stack != NULL && s->next_open != NULL) || failed(s, LIC_FAILURE_MEMORY);
}

static size_t end_of_steps(const system *s, size_t i)
{
    return i + 1 < s->node_count ? s->nodes[i + 1].first : s->step_count;
}

/* ------------------------------------------------------------------ cycles */

/* Takes away goals that no other rests on, until none is left or only cycles are (and what they rest on). */
static bool has_cycle(system *s)
{
    uint32_t *queue = lic_new_array(&s->scratch, s->node_count, uint32_t);
    size_t    taken = 0;
    size_t    count = 0;

    if (queue == NULL)
        return failed(s, LIC_FAILURE_MEMORY);
    for (size_t i = 0; i < s->step_count; i++)
        if (s->steps[i].kind == STEP_GOAL)
            s->nodes[s->steps[i].operand].waiting++;
    if (s->nodes[0].waiting == 0)
        queue[count++] = 0;
    for (; taken < count; taken++)
        for (size_t i = s->nodes[queue[taken]].first; i < end_of_steps(s, queue[taken]); i++)
            if (s->steps[i].kind == STEP_GOAL && --s->nodes[s->steps[i].operand].waiting == 0)
                queue[count++] = s->steps[i].operand;
    return taken < s->node_count;
}

/* --------------------------------------------------------------- fixpoints */

/* Conditions come to what they are under the context. */
static bool judge_values(system *s)
{
    lic_failure failure = LIC_FAILURE_NONE;
    lic_truth   truth;

    for (size_t i = 0; i < s->step_count && failure == LIC_FAILURE_NONE; i++) {
        if (s->steps[i].condition == NULL)
            continue;
        failure           = lic_condition_truth(s->eval, s->steps[i].condition, &truth);
        s->steps[i].truth = (uint8_t)truth;
    }
    return failure == LIC_FAILURE_NONE || failed(s, failure);
}

static lic_truth operand_value(const step *at, const uint8_t *own, const uint8_t *other, bool optimistic)
{
    if (at->kind == STEP_VALUE)
        return (lic_truth)at->truth;
    if (at->kind == STEP_GOAL)
        return (lic_truth)(at->contrary ? other : own)[at->operand];
    return optimistic != at->contrary ? LIC_TRUE : LIC_FALSE;
}

/* a or b, a and b, a and not b. */
static lic_truth joined(step_kind kind, lic_truth a, lic_truth b)
{
    if (kind == STEP_MINUS)
        b = (lic_truth)(LIC_TRUE - b);
    return kind == STEP_OR ? (a > b ? a : b) : (a < b ? a : b);
}

/* An operator's value of its operands, which are at `operands`; and the lists of those that are open, joined, when it
 * is open too. */
static operand operate(const system *s, const step *at, const operand *operands)
{
    operand result = { LIC_FALSE, NONE, NONE };

    for (uint32_t i = 0; i < at->operand; i++)
        result.truth = i == 0 ? operands[0].truth : joined((step_kind)at->kind, result.truth, operands[i].truth);
    for (uint32_t i = 0; i < at->operand && result.truth == LIC_OPEN; i++) {
        if (operands[i].truth != LIC_OPEN)
            continue;
        if (result.first == NONE)
            result.first = operands[i].first;
        else
            s->next_open[result.last] = operands[i].first;
        result.last = operands[i].last;
    }
    return result;
}

/* One application of a goal's rule. Steps in lists are counted from the rule's first. */
static operand apply(const system *s, size_t number, const uint8_t *own, const uint8_t *other, bool optimistic)
{
    const size_t first = s->nodes[number].first;
    operand     *top   = s->stack;

    for (size_t i = first; i < end_of_steps(s, number); i++) {
        const step    *at = &s->steps[i];
        const uint32_t of = (uint32_t)(i - first);

        if (at->kind == STEP_OR || at->kind == STEP_AND || at->kind == STEP_MINUS) {
            top -= at->operand;
            *top = operate(s, at, top);
            top++;
        } else {
            s->next_open[of] = NONE;
            *top++           = (operand){ operand_value(at, own, other, optimistic), of, of };
        }
    }
    return s->stack[0];
}

/* The least set closed under the rules, goals inside subtrahends read from `other`. Every round lets some goal rise,
 * or is the last. */
static bool close_under_rules(system *s, uint8_t *own, const uint8_t *other, bool optimistic)
{
    bool changed = true;

    memset(own, LIC_FALSE, s->node_count);
    while (changed) {
        changed = false;
        /* The farthest first: most goals rest on farther ones. */
        for (size_t i = s->node_count; i-- > 0;) {
            const lic_failure failure = lic_goal_steps(s->eval, end_of_steps(s, i) - s->nodes[i].first);
            const lic_truth   truth   = apply(s, i, own, other, optimistic).truth;

            if (failure != LIC_FAILURE_NONE)
                return failed(s, failure);
            changed |= truth != own[i];
            own[i] = (uint8_t)truth;
        }
    }
    return true;
}

/* What is certain, and what is possible. */
typedef struct solution {
    uint8_t *certain;
    uint8_t *possible;
} solution;

/* What is certain only grows, what is possible only shrinks. */
static bool alternate(system *s, solution *found)
{
    uint8_t *next    = lic_new_array(&s->scratch, s->node_count, uint8_t);
    bool     changed = true;

    if (next == NULL)
        return failed(s, LIC_FAILURE_MEMORY);
    while (changed) {
        uint8_t *known = found->certain;

        if (!close_under_rules(s, found->possible, found->certain, true) ||
            !close_under_rules(s, next, found->possible, false))
            return false;
        changed        = memcmp(next, known, s->node_count) != 0;
        found->certain = next;
        next           = known;
    }
    return true;
}

static bool solve(system *s, solution *found)
{
    found->certain  = lic_new_array(&s->scratch, s->node_count, uint8_t);
    found->possible = lic_new_array(&s->scratch, s->node_count, uint8_t);
    if (found->certain == NULL || found->possible == NULL)
        return failed(s, LIC_FAILURE_MEMORY);
    if (s->has_contrary || s->has_unknown)
        return alternate(s, found);
    found->possible = found->certain;
    return close_under_rules(s, found->certain, found->possible, false);
}

/* ------------------------------------------------------- what hangs on unknowns */

/* As it is certain and as it is possible; in_doubt: it is not decided and hangs on what is not known. */
typedef struct both_ways {
    lic_truth certain;
    lic_truth possible;
    bool      in_doubt;
} both_ways;

static both_ways operand_both_ways(const step *at, const solution *found, const bool *in_doubt)
{
    both_ways value = { operand_value(at, found->certain, found->possible, false),
                        operand_value(at, found->possible, found->certain, true), false };

    value.in_doubt = value.certain != value.possible || (at->kind == STEP_GOAL && in_doubt[at->operand]);
    return value;
}

static both_ways operate_both_ways(const step *at, const both_ways *operands)
{
    both_ways result = { LIC_FALSE, LIC_FALSE, false };

    for (uint32_t i = 0; i < at->operand; i++) {
        const bool first = i == 0;

        result.certain = first ? operands[0].certain : joined((step_kind)at->kind, result.certain, operands[i].certain);
        result.possible =
            first ? operands[0].possible : joined((step_kind)at->kind, result.possible, operands[i].possible);
        result.in_doubt |= operands[i].in_doubt;
    }
    result.in_doubt &= result.certain != result.possible || result.certain == LIC_OPEN;
    return result;
}

static bool rule_is_in_doubt(const system *s, size_t number, const solution *found, const bool *in_doubt,
                             both_ways *stack)
{
    both_ways *top = stack;

    for (size_t i = s->nodes[number].first; i < end_of_steps(s, number); i++) {
        const step *at = &s->steps[i];

        if (at->kind == STEP_OR || at->kind == STEP_AND || at->kind == STEP_MINUS) {
            top -= at->operand;
            *top = operate_both_ways(at, top);
            top++;
        } else {
            *top++ = operand_both_ways(at, found, in_doubt);
        }
    }
    return stack[0].in_doubt;
}

/* Does the root, which is open, hang on anything that is not known? Then it is no "if": with a branch that failed,
 * what is not decided has failed (threat-model.md 2). */
static bool root_is_in_doubt(system *s, const solution *found)
{
    bool      *in_doubt = lic_new_array(&s->scratch, s->node_count, bool);
    both_ways *stack    = lic_new_array(&s->scratch, s->longest, both_ways);
    bool       changed  = s->has_contrary || s->has_unknown;

    if (in_doubt == NULL || stack == NULL)
        return !failed(s, LIC_FAILURE_MEMORY);
    while (changed) {
        changed = false;
        for (size_t i = s->node_count; i-- > 0;) {
            const lic_failure failure = lic_goal_steps(s->eval, end_of_steps(s, i) - s->nodes[i].first);

            if (failure != LIC_FAILURE_NONE)
                return !failed(s, failure);
            if (in_doubt[i] || !rule_is_in_doubt(s, i, found, in_doubt, stack))
                continue;
            in_doubt[i] = true;
            changed     = true;
        }
    }
    return in_doubt[0];
}

/* ------------------------------------------------------------ what stays open */

/* Goals whose values stay open, to be looked into: twice the number, one more for what is possible of it. */
typedef struct agenda {
    uint32_t            *goals;
    size_t               count;
    bool                *seen;
    const lic_condition *found; /* of all of them */
} agenda;

static bool look_into_step(system *s, const step *at, bool possible, agenda *a)
{
    uint32_t goal;

    if (at->kind == STEP_VALUE && a->found == NULL) {
        a->found = at->condition;
        return true;
    }
    if (at->kind == STEP_VALUE)
        return lic_condition_or(s->eval->arena, a->found, at->condition, &a->found) || failed(s, LIC_FAILURE_MEMORY);
    goal = at->operand * 2 + (possible != at->contrary);
    if (!a->seen[goal])
        a->goals[a->count++] = goal;
    a->seen[goal] = true;
    return true;
}

/* The conditions that the root's open value hangs on: any of them. Under this context all of them are open, and so is
 * any of them. */
static const lic_condition *open_conditions(system *s, const solution *found)
{
    agenda a = { lic_new_array(&s->scratch, 2 * s->node_count, uint32_t), 1,
                 lic_new_array(&s->scratch, 2 * s->node_count, bool), NULL };

    if (a.goals == NULL || a.seen == NULL) {
        failed(s, LIC_FAILURE_MEMORY);
        return NULL;
    }
    a.seen[0] = true; /* the root, as far as it is certain */
    for (size_t i = 0; i < a.count && s->failure == LIC_FAILURE_NONE; i++) {
        const uint32_t number   = a.goals[i] / 2;
        const bool     possible = a.goals[i] % 2 != 0;
        const step    *steps    = &s->steps[s->nodes[number].first];
        const operand  value    = possible ? apply(s, number, found->possible, found->certain, true)
                                           : apply(s, number, found->certain, found->possible, false);

        for (uint32_t at = value.truth == LIC_OPEN ? value.first : NONE; at != NONE; at = s->next_open[at])
            if (!look_into_step(s, &steps[at], possible, &a))
                break;
    }
    return a.found;
}

static lic_membership value_of_root(system *s, const solution *found)
{
    if (found->certain[0] != found->possible[0] || (found->certain[0] == LIC_OPEN && root_is_in_doubt(s, found)))
        return LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH);
    if (found->certain[0] == LIC_OPEN)
        return (lic_membership){ LIC_IF, LIC_FAILURE_NONE, open_conditions(s, found) };
    return found->certain[0] == LIC_TRUE ? LIC_MEMBERSHIP_YES : LIC_MEMBERSHIP_NO;
}

lic_membership lic_eval_fixpoint(lic_eval *eval, lic_goal root)
{
    system         s     = { .eval = eval };
    lic_membership value = LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH);
    solution       found;

    root.relation = lic_goal_named(eval, &eval->program->relations[root.relation], root.relation);
    lic_arena_init(&s.scratch, eval->arena->memory);
    if (lay_out(&s, root) && has_cycle(&s) && judge_values(&s) && solve(&s, &found))
        value = value_of_root(&s, &found);
    lic_arena_free(&s.scratch);
    return s.failure != LIC_FAILURE_NONE ? LIC_MEMBERSHIP_FAILED(s.failure) : value;
}
