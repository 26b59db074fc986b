/* All goals within the depth limit, their rules laid out flat, and the least fixpoint over them.
 *
 * Goals are found breadth first, so each is met first on its shortest way; those as far away as the limit are unknown.
 * A goal's rule is a few steps for a stack machine: operands push a value, operators take theirs.
 *
 * Exclusion makes the rules contrary: a larger subtrahend makes a smaller result. The alternating fixpoint (Van
 * Gelder, Ross and Schlipf 1991) copes. Subtrahends are read from a fixed set, so that the rest has a least fixpoint: read
 * from what is certain they give what is possible, and from what is possible, what is certain. That goes on until
 * nothing changes. What then is possible but not certain hangs on a cycle through an exclusion, or on an unknown goal.
 *
 * Conditions take part: under each way they may turn out, the rounds below are those of the plain fixpoint, which has
 * come to rest after one round for each goal. */
#include "cycles.h"

#include "base/hash.h"

typedef enum step_kind {
    STEP_VALUE,   /* push `value` */
    STEP_UNKNOWN, /* push yes or no, whichever way nothing rests on */
    STEP_GOAL,    /* push the value of goal number `operand` */
    STEP_OR,      /* replace the topmost `operand` values by one; none: no */
    STEP_AND,
    STEP_MINUS
} step_kind;

typedef struct step {
    uint8_t        kind;
    bool           contrary; /* inside an odd number of subtrahends */
    uint32_t       operand;
    lic_membership value;
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

typedef struct system {
    lic_eval       *eval;
    lic_arena       scratch; /* all below */
    node           *nodes;
    size_t          node_count;
    size_t          node_capacity;
    step           *steps;
    size_t          step_count;
    size_t          step_capacity;
    uint32_t       *numbers; /* hash table: node number + 1, 0: free */
    size_t          number_capacity;
    open_operator  *open;
    size_t          open_capacity;
    lic_membership *stack; /* of the machine: as many as the longest rule has steps */
    size_t          longest;
    bool            has_contrary; /* some subtrahend is a goal or unknown */
    bool            has_unknown;
    lic_failure     failure;
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

static bool add_step(system *s, step_kind kind, bool contrary, uint32_t operand, lic_membership value)
{
    void *steps = s->steps;

    if (!lic_arena_grow(&s->scratch, &steps, &s->step_capacity, s->step_count + 1, sizeof(step)))
        return failed(s, LIC_FAILURE_MEMORY);
    s->steps                  = steps;
    s->steps[s->step_count++] = (step){ (uint8_t)kind, contrary, operand, value };
    s->has_contrary |= contrary && (kind == STEP_GOAL || kind == STEP_UNKNOWN);
    s->has_unknown |= kind == STEP_UNKNOWN;
    return true;
}

static bool add_value(system *s, lic_membership value)
{
    return add_step(s, STEP_VALUE, false, 0, value);
}

static bool add_operator(system *s, step_kind kind, uint32_t operands)
{
    return add_step(s, kind, false, operands, LIC_MEMBERSHIP_NO);
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
        return add_step(s, STEP_UNKNOWN, contrary, 0, LIC_MEMBERSHIP_NO);
    goal.relation = lic_goal_named(s->eval, relation, goal.relation);
    relation      = &s->eval->program->relations[goal.relation];
    if (lic_goal_is_leaf(relation))
        return add_value(
            s, lic_goal_direct(s->eval, lic_goal_ways_in(s->eval, relation), (lic_ref){ relation->slot, goal.node }));
    return add_node(s, goal, distance + 1, &number) && add_step(s, STEP_GOAL, contrary, number, LIC_MEMBERSHIP_NO);
}

static bool lay_relation(system *s, lic_goal goal, uint32_t distance)
{
    const lic_program  *program  = s->eval->program;
    const lic_relation *relation = &program->relations[goal.relation];
    const lic_ways_in   ways     = lic_goal_ways_in(s->eval, relation);
    const lic_ref       resource = { relation->slot, goal.node };
    lic_membership      direct   = lic_goal_direct(s->eval, ways, resource);
    uint32_t            operands = 1;
    lic_walk            walk;
    lic_ref             row;

    if (!add_value(s, direct))
        return false;
    if (direct.value == LIC_YES)
        return true;
    for (uint32_t i = ways.first; i < ways.end; i++) {
        const lic_allowed *allowed = &program->allowed[i];
        const lic_rel      userset = lic_allowed_userset(program, allowed);

        if (userset == LIC_NO_REL)
            continue;
        lic_walk_subjects_in(s->eval->snapshot, resource, allowed->slot, &walk);
        for (; lic_walk_next(&walk, &row); operands++)
            if (!add_goal(s, (lic_goal){ userset, row.node }, distance, false))
                return false;
    }
    return add_operator(s, STEP_OR, operands);
}

static bool lay_arrow(system *s, const lic_op *arrow, uint32_t object, uint32_t distance, bool contrary)
{
    const lic_program *program  = s->eval->program;
    uint32_t           operands = 0;
    lic_walk           walk;
    lic_ref            row;

    lic_walk_subjects(s->eval->snapshot, (lic_ref){ program->relations[arrow->relation].slot, object }, &walk);
    while (lic_walk_next(&walk, &row)) {
        bool          counts;
        const lic_rel target = lic_goal_target(program, arrow, row.slot, &counts);

        if (!counts)
            continue;
        operands++;
        if (target == LIC_NO_REL ? !add_value(s, LIC_MEMBERSHIP_NO)
                                 : !add_goal(s, (lic_goal){ target, row.node }, distance, contrary))
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
    s->stack = lic_new_array(&s->scratch, s->longest, lic_membership);
    return s->stack != NULL || failed(s, LIC_FAILURE_MEMORY);
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

static bool unlike(lic_membership a, lic_membership b)
{
    return a.value != b.value || !lic_condition_equal(a.condition, b.condition);
}

static lic_membership operand_value(const step *at, const lic_membership *own, const lic_membership *other,
                                    bool optimistic)
{
    if (at->kind == STEP_VALUE)
        return at->value;
    if (at->kind == STEP_GOAL)
        return (at->contrary ? other : own)[at->operand];
    return optimistic != at->contrary ? LIC_MEMBERSHIP_YES : LIC_MEMBERSHIP_NO;
}

/* An operator's value of its operands. */
static lic_membership joined(lic_arena *arena, const step *at, const lic_membership *operands)
{
    lic_membership value = at->operand == 0 ? LIC_MEMBERSHIP_NO : operands[0];

    for (uint32_t i = 1; i < at->operand; i++)
        value = at->kind == STEP_OR    ? lic_membership_or(arena, value, operands[i])
                : at->kind == STEP_AND ? lic_membership_and(arena, value, operands[i])
                                       : lic_membership_minus(arena, value, operands[i]);
    return value;
}

/* One application of a goal's rule. */
static lic_membership apply(system *s, size_t number, const lic_membership *own, const lic_membership *other,
                            bool optimistic)
{
    lic_membership *top = s->stack;

    for (size_t i = s->nodes[number].first; i < end_of_steps(s, number); i++) {
        const step *at = &s->steps[i];

        if (at->kind == STEP_OR || at->kind == STEP_AND || at->kind == STEP_MINUS) {
            top -= at->operand;
            *top = joined(s->eval->arena, at, top);
            top++;
        } else {
            *top++ = operand_value(at, own, other, optimistic);
        }
    }
    return s->stack[0];
}

/* The least set closed under the rules, goals inside subtrahends read from `other`. */
static bool close_under_rules(system *s, lic_membership *own, const lic_membership *other, bool optimistic)
{
    bool changed = true;

    for (size_t i = 0; i < s->node_count; i++)
        own[i] = LIC_MEMBERSHIP_NO;
    /* The farthest first: most goals rest on farther ones. */
    for (size_t round = 0; changed && round <= s->node_count; round++) {
        changed = false;
        for (size_t i = s->node_count; i-- > 0;) {
            const lic_failure    failure = lic_goal_steps(s->eval, end_of_steps(s, i) - s->nodes[i].first);
            const lic_membership value   = apply(s, i, own, other, optimistic);

            if (failure != LIC_FAILURE_NONE || value.value == LIC_FAILED)
                return failed(s, failure != LIC_FAILURE_NONE ? failure : value.failure);
            changed |= unlike(value, own[i]);
            own[i] = value;
        }
    }
    return true;
}

static bool alike(const system *s, const lic_membership *a, const lic_membership *b)
{
    for (size_t i = 0; i < s->node_count; i++)
        if (unlike(a[i], b[i]))
            return false;
    return true;
}

static lic_membership solve(system *s)
{
    lic_membership *certain  = lic_new_array(&s->scratch, s->node_count, lic_membership);
    lic_membership *possible = lic_new_array(&s->scratch, s->node_count, lic_membership);
    lic_membership *next     = lic_new_array(&s->scratch, s->node_count, lic_membership);

    if (certain == NULL || possible == NULL || next == NULL) {
        failed(s, LIC_FAILURE_MEMORY);
        return LIC_MEMBERSHIP_NO;
    }
    if (!s->has_contrary && !s->has_unknown) {
        close_under_rules(s, certain, possible, false);
        return certain[0];
    }
    for (size_t round = 0; round <= s->node_count; round++) {
        lic_membership *known = certain;

        if (!close_under_rules(s, possible, certain, true) || !close_under_rules(s, next, possible, false))
            return LIC_MEMBERSHIP_NO;
        certain = next;
        next    = known;
        if (alike(s, certain, known))
            break;
    }
    return unlike(certain[0], possible[0]) ? LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH) : certain[0];
}

lic_membership lic_eval_fixpoint(lic_eval *eval, lic_goal root)
{
    system         s     = { .eval = eval };
    lic_membership value = LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH);

    root.relation = lic_goal_named(eval, &eval->program->relations[root.relation], root.relation);
    lic_arena_init(&s.scratch, eval->arena->memory);
    if (lay_out(&s, root) && has_cycle(&s))
        value = solve(&s);
    lic_arena_free(&s.scratch);
    return s.failure != LIC_FAILURE_NONE ? LIC_MEMBERSHIP_FAILED(s.failure) : value;
}
