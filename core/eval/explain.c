/* Steps are told breadth first, so that the children of each stand side by side. */
#include "eval/explain.h"

#include "base/hash.h"
#include "eval/goal.h"

/* A person reads no more. */
#define MAX_STEPS 4096u
/* Questions put to the evaluator, and the time for all of them, as a multiple of that for one. */
#define MAX_QUESTIONS 65536u
#define PATIENCE 8u

typedef struct explanation {
    lic_eval *eval;
    lic_step *steps;
    size_t    count;
    size_t    capacity;
    uint32_t *seen; /* hash table of the steps that are told in full; UINT32_MAX: free */
    uint32_t  max_depth;
    uint32_t  questions;
    uint64_t  deadline_ms;
    bool      no_memory;
} explanation;

/* An operator whose operands are being looked at. */
typedef struct pending {
    uint32_t       op;
    uint32_t       next;
    lic_membership found;
} pending;

#define SEEN_CAPACITY (2 * MAX_STEPS)

static const lic_relation *relation_of(const explanation *x, lic_rel relation)
{
    return &x->eval->program->relations[relation];
}

static bool is_exhausted(const explanation *x)
{
    return x->no_memory || x->count >= MAX_STEPS || x->questions >= MAX_QUESTIONS ||
           lic_monotonic_ms() > x->deadline_ms;
}

/* --------------------------------------------------------------- questions */

static lic_failure failure_of(licet_status status)
{
    if (status == LICET_OUT_OF_MEMORY)
        return LIC_FAILURE_MEMORY;
    return status == LICET_DEADLINE_EXCEEDED ? LIC_FAILURE_DEADLINE : LIC_FAILURE_DEPTH;
}

/* What the evaluator says of a goal at this distance. */
static lic_membership ask(explanation *x, lic_goal goal, uint32_t distance)
{
    lic_membership answer;
    licet_status   status;

    x->questions++;
    if (lic_goal_is_subject(x->eval, relation_of(x, goal.relation), goal.node))
        return LIC_MEMBERSHIP_YES;
    if (distance >= x->max_depth)
        return LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH);
    x->eval->limits.max_depth = x->max_depth - distance;
    status                    = lic_eval_check(x->eval, goal.relation, goal.node, &answer, NULL);
    x->eval->limits.max_depth = x->max_depth;
    return status == LICET_OK ? answer : LIC_MEMBERSHIP_FAILED(failure_of(status));
}

/* What stands behind a row with this attribute. */
static lic_membership behind_row(explanation *x, uint32_t attribute, lic_membership membership)
{
    return attribute == LIC_NO_ATTRIBUTE
               ? membership
               : lic_membership_and(x->eval->arena, lic_goal_caveated(x->eval, attribute), membership);
}

/* One more name costs a step, unless the name that asks is an alias (api.md 4.9). */
static uint32_t distance_beyond(const explanation *x, lic_rel asking, uint32_t distance)
{
    return distance + (lic_goal_named(x->eval, relation_of(x, asking), asking) == asking);
}

/* A row of an arrow that counts. */
typedef struct arrow_row {
    lic_ref  row;
    lic_goal goal; /* relation LIC_NO_REL: its object has no such name */
    uint32_t attribute;
} arrow_row;

static bool next_arrow_row(const explanation *x, const lic_op *arrow, lic_walk *walk, arrow_row *next)
{
    const lic_relation *tupleset = relation_of(x, arrow->relation);

    while (lic_walk_next(walk, &next->row)) {
        bool counts;
        bool bare;

        next->goal.relation = lic_goal_target(x->eval->program, arrow, next->row.slot, &counts, &bare);
        next->goal.node     = next->row.node;
        next->attribute     = walk->attribute;
        if (counts && lic_goal_row_counts(x->eval, tupleset, bare, next->row, &next->attribute))
            return true;
    }
    return false;
}

static lic_membership arrow_row_membership(explanation *x, const arrow_row *row, uint32_t distance)
{
    if (row->goal.relation == LIC_NO_REL)
        return LIC_MEMBERSHIP_NO;
    return behind_row(x, row->attribute, ask(x, row->goal, distance + 1));
}

static lic_membership arrow_membership(explanation *x, const lic_op *arrow, uint32_t node, uint32_t distance)
{
    const bool     all   = arrow->kind == LIC_OP_ARROW_ALL;
    lic_membership found = LIC_MEMBERSHIP_NO;
    bool           empty = true;
    arrow_row      row;
    lic_walk       walk;

    lic_walk_subjects(x->eval->snapshot, (lic_ref){ relation_of(x, arrow->relation)->slot, node }, &walk);
    while (!is_exhausted(x) && next_arrow_row(x, arrow, &walk, &row)) {
        lic_membership next = arrow_row_membership(x, &row, distance);

        if (!empty)
            next =
                all ? lic_membership_and(x->eval->arena, found, next) : lic_membership_or(x->eval->arena, found, next);
        found = next;
        empty = false;
        if (found.value == (all ? LIC_NO : LIC_YES))
            break;
    }
    return found;
}

static bool is_nested(lic_op_kind kind)
{
    return kind == LIC_OP_UNION || kind == LIC_OP_INTERSECTION || kind == LIC_OP_EXCLUSION;
}

/* Of an operand that is no operator over others. */
static lic_membership operand_membership(explanation *x, const lic_op *op, lic_goal asking, uint32_t distance)
{
    switch (op->kind) {
    case LIC_OP_NAME:
        return ask(x, (lic_goal){ op->relation, asking.node }, distance_beyond(x, asking.relation, distance));
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return arrow_membership(x, op, asking.node, distance);
    case LIC_OP_SELF:
        return lic_goal_self(x->eval, asking);
    default:
        return LIC_MEMBERSHIP_NO;
    }
}

static void join(explanation *x, pending *top, lic_membership operand)
{
    lic_arena *arena = x->eval->arena;

    if (top->next == 1)
        top->found = operand;
    else if (x->eval->program->ops[top->op].kind == LIC_OP_UNION)
        top->found = lic_membership_or(arena, top->found, operand);
    else if (x->eval->program->ops[top->op].kind == LIC_OP_INTERSECTION)
        top->found = lic_membership_and(arena, top->found, operand);
    else
        top->found = lic_membership_minus(arena, top->found, operand);
}

typedef struct op_stack {
    pending *items;
    size_t   capacity;
    size_t   depth;
} op_stack;

static bool push_op(explanation *x, op_stack *stack, uint32_t op)
{
    if (!lic_arena_grow(x->eval->arena, (void **)&stack->items, &stack->capacity, stack->depth + 1,
                        sizeof *stack->items))
        return false;
    stack->items[stack->depth++] = (pending){ op, 0, LIC_MEMBERSHIP_NO };
    return true;
}

/* Of any operand; operators inside operators wait on a stack. */
static lic_membership op_membership(explanation *x, uint32_t root, lic_goal asking, uint32_t distance)
{
    const lic_program *program = x->eval->program;
    op_stack           stack   = { NULL, 0, 0 };
    bool               pushed;

    if (!is_nested(program->ops[root].kind))
        return operand_membership(x, &program->ops[root], asking, distance);
    pushed = push_op(x, &stack, root);
    while (pushed) {
        pending      *top = &stack.items[stack.depth - 1];
        const lic_op *op  = &program->ops[top->op];
        uint32_t      child;

        if (top->next == op->count) {
            if (--stack.depth == 0)
                return top->found;
            join(x, &stack.items[stack.depth - 1], top->found);
            continue;
        }
        child = program->children[op->first + top->next++];
        if (is_nested(program->ops[child].kind))
            pushed = push_op(x, &stack, child);
        else
            join(x, top, operand_membership(x, &program->ops[child], asking, distance));
    }
    return LIC_MEMBERSHIP_FAILED(LIC_FAILURE_MEMORY);
}

/* ------------------------------------------------------------------- steps */

static void decide(explanation *x, lic_step *step, lic_membership membership, licet_error **error)
{
    step->value = LIC_NO;
    switch (membership.value) {
    case LIC_FAILED:
        step->status = lic_eval_fail(x->eval, membership.failure, error);
        break;
    case LIC_IF:
        step->status = lic_condition_decide(x->eval, membership.condition, &step->value, &step->missing, error);
        break;
    default:
        step->value = membership.value;
    }
}

/* NULL: the trace is at its end. */
static lic_step *add_step(explanation *x, uint32_t parent, const lic_step *step)
{
    lic_step *added;

    if (!is_exhausted(x) &&
        !lic_arena_grow(x->eval->arena, (void **)&x->steps, &x->capacity, x->count + 1, sizeof *x->steps))
        x->no_memory = true;
    if (is_exhausted(x)) {
        x->steps[parent].is_cut = true;
        return NULL;
    }
    added         = &x->steps[x->count++];
    *added        = *step;
    added->parent = parent;
    x->steps[parent].count++;
    return added;
}

static void add_answered(explanation *x, uint32_t parent, const lic_step *step, lic_membership membership)
{
    lic_step *added = add_step(x, parent, step);

    if (added != NULL)
        decide(x, added, membership, NULL);
}

static lic_step_kind kind_of_op(lic_op_kind kind)
{
    static const lic_step_kind kinds[] = {
        [LIC_OP_NAME]         = LIC_STEP_UNION,
        [LIC_OP_UNION]        = LIC_STEP_UNION,
        [LIC_OP_INTERSECTION] = LIC_STEP_INTERSECTION,
        [LIC_OP_EXCLUSION]    = LIC_STEP_EXCLUSION,
        [LIC_OP_ARROW_ANY]    = LIC_STEP_ARROW_ANY,
        [LIC_OP_ARROW_ALL]    = LIC_STEP_ARROW_ALL,
        [LIC_OP_NIL]          = LIC_STEP_NIL,
        [LIC_OP_SELF]         = LIC_STEP_SELF,
    };

    return kinds[kind];
}

static lic_step goal_step(lic_goal goal, uint32_t distance)
{
    return (lic_step){ .relation = goal.relation, .node = goal.node, .distance = distance };
}

static void add_goal(explanation *x, uint32_t parent, lic_goal goal, uint32_t distance)
{
    const lic_step step = goal_step(goal, distance);

    add_answered(x, parent, &step, ask(x, goal, distance));
}

static void add_operand(explanation *x, uint32_t parent, uint32_t op, lic_goal asking, uint32_t distance)
{
    const lic_op *operand = &x->eval->program->ops[op];
    lic_step      step    = goal_step(asking, distance);

    if (operand->kind == LIC_OP_NAME) {
        add_goal(x, parent, (lic_goal){ operand->relation, asking.node },
                 distance_beyond(x, asking.relation, distance));
        return;
    }
    step.kind        = kind_of_op(operand->kind);
    step.is_operator = true;
    step.op          = op;
    add_answered(x, parent, &step, op_membership(x, op, asking, distance));
}

static void add_operands(explanation *x, uint32_t parent, uint32_t op, lic_goal asking, uint32_t distance)
{
    const lic_program *program = x->eval->program;
    const lic_op      *root    = &program->ops[op];

    if (!is_nested(root->kind)) {
        add_operand(x, parent, op, asking, distance);
        return;
    }
    for (uint32_t i = 0; i < root->count && !x->steps[parent].is_cut; i++)
        add_operand(x, parent, program->children[root->first + i], asking, distance);
}

static void add_arrow_rows(explanation *x, uint32_t parent, const lic_op *arrow, lic_goal asking, uint32_t distance)
{
    const lic_ref tupleset = { relation_of(x, arrow->relation)->slot, asking.node };
    arrow_row     row;
    lic_walk      walk;

    lic_walk_subjects(x->eval->snapshot, tupleset, &walk);
    while (!x->steps[parent].is_cut && next_arrow_row(x, arrow, &walk, &row)) {
        lic_step step = goal_step(row.goal, distance + 1);

        if (row.goal.relation == LIC_NO_REL) { /* told of the asking permission: the object has none */
            step             = goal_step(asking, distance);
            step.kind        = LIC_STEP_NIL;
            step.is_operator = true;
        }
        step.has_row   = true;
        step.row       = (lic_edge){ tupleset, row.row };
        step.attribute = row.attribute;
        add_answered(x, parent, &step, arrow_row_membership(x, &row, distance));
    }
}

/* ------------------------------------------------------------------- rows */

static void add_row(explanation *x, uint32_t parent, lic_goal asking, lic_ref subject, lic_step_kind kind)
{
    const lic_relation *relation = relation_of(x, asking.relation);
    lic_step            step     = goal_step(asking, x->steps[parent].distance);

    step.kind        = kind;
    step.is_operator = true;
    step.has_row     = true;
    step.row         = (lic_edge){ { relation->slot, asking.node }, subject };
    if (lic_snapshot_find(x->eval->snapshot, step.row.resource, subject, &step.attribute) &&
        lic_goal_holds_row(x->eval, relation, subject, &step.attribute))
        add_answered(x, parent, &step, behind_row(x, step.attribute, LIC_MEMBERSHIP_YES));
}

static void add_usersets(explanation *x, uint32_t parent, lic_goal asking, const lic_allowed *allowed)
{
    const lic_relation *relation = relation_of(x, asking.relation);
    const lic_ref       resource = { relation->slot, asking.node };
    const uint32_t      distance = x->steps[parent].distance + 1;
    lic_walk            walk;
    lic_ref             row;

    lic_walk_subjects_in(x->eval->snapshot, resource, allowed->slot, &walk);
    while (!x->steps[parent].is_cut && lic_walk_next(&walk, &row)) {
        const lic_goal goal      = { allowed->userset, row.node };
        lic_step       step      = goal_step(goal, distance);
        uint32_t       attribute = walk.attribute;

        if (!lic_goal_row_counts(x->eval, relation, allowed->bare, row, &attribute))
            continue;
        step.has_row   = true;
        step.row       = (lic_edge){ resource, row };
        step.attribute = attribute;
        add_answered(x, parent, &step, behind_row(x, attribute, ask(x, goal, distance)));
    }
}

static void add_rows(explanation *x, uint32_t parent, lic_goal asking)
{
    const lic_relation *relation = relation_of(x, asking.relation);
    const lic_ways_in   ways     = lic_goal_ways_in(x->eval, relation);

    if (ways.plain)
        add_row(x, parent, asking, x->eval->subject, LIC_STEP_ROW);
    if (ways.wildcard)
        add_row(x, parent, asking, x->eval->everyone, LIC_STEP_WILDCARD);
    for (uint32_t i = ways.first; i < ways.end && !x->steps[parent].is_cut; i++)
        if (x->eval->program->allowed[i].userset != LIC_NO_REL)
            add_usersets(x, parent, asking, &x->eval->program->allowed[i]);
}

/* ---------------------------------------------------------------- the whole */

static bool is_above(const explanation *x, uint32_t index)
{
    const lic_step *step = &x->steps[index];

    for (uint32_t at = index; at != 0;) {
        at = x->steps[at].parent;
        if (!x->steps[at].is_operator && x->steps[at].relation == step->relation && x->steps[at].node == step->node)
            return true;
    }
    return false;
}

/* Is the goal told by an earlier step? If not, it is from now on. */
static bool is_seen(explanation *x, uint32_t index)
{
    const lic_step *step = &x->steps[index];
    size_t          at   = (size_t)lic_hash_u64((uint64_t)step->relation << 32 | step->node) & (SEEN_CAPACITY - 1);

    for (; x->seen[at] != UINT32_MAX; at = (at + 1) & (SEEN_CAPACITY - 1)) {
        const lic_step *other = &x->steps[x->seen[at]];

        if (other->relation == step->relation && other->node == step->node)
            return true;
    }
    x->seen[at] = index;
    return false;
}

/* A union that holds is told by what makes it hold; one that may hold, by what may. */
static void prune(explanation *x, uint32_t index)
{
    lic_step *parent = &x->steps[index];
    lic_step *kept   = x->steps + parent->first;
    uint32_t  count  = 0;

    if (parent->status != LICET_OK || parent->value == LIC_NO || parent->kind == LIC_STEP_INTERSECTION ||
        parent->kind == LIC_STEP_EXCLUSION || parent->kind == LIC_STEP_ARROW_ALL)
        return;
    for (uint32_t i = 0; i < parent->count && (parent->value != LIC_YES || count == 0); i++)
        if (kept[i].status == LICET_OK && kept[i].value == parent->value)
            kept[count++] = kept[i];
    if (count == 0)
        return; /* several conditions make it hold together */
    parent->count = count;
    x->count      = parent->first + count;
}

static void expand_goal(explanation *x, uint32_t index)
{
    lic_step      *step = &x->steps[index];
    const lic_goal goal = { step->relation, step->node };
    const uint32_t op   = relation_of(x, goal.relation)->op;

    if (lic_goal_is_subject(x->eval, relation_of(x, goal.relation), goal.node)) {
        step->kind = LIC_STEP_IDENTITY;
    } else if (is_above(x, index)) {
        step->kind = LIC_STEP_CYCLE;
    } else if (is_seen(x, index)) {
        step->kind = LIC_STEP_SEEN;
    } else if (!relation_of(x, goal.relation)->is_permission) {
        step->kind = LIC_STEP_RELATION;
        add_rows(x, index, goal);
    } else {
        step->kind =
            is_nested(x->eval->program->ops[op].kind) ? kind_of_op(x->eval->program->ops[op].kind) : LIC_STEP_UNION;
        add_operands(x, index, op, goal, step->distance);
    }
}

static void expand(explanation *x, uint32_t index)
{
    const lic_step step = x->steps[index];
    const lic_goal goal = { step.relation, step.node };

    x->steps[index].first = (uint32_t)x->count;
    if (!step.is_operator)
        expand_goal(x, index);
    else if (step.kind == LIC_STEP_ARROW_ANY || step.kind == LIC_STEP_ARROW_ALL)
        add_arrow_rows(x, index, &x->eval->program->ops[step.op], goal, step.distance);
    else if (step.kind == LIC_STEP_UNION || step.kind == LIC_STEP_INTERSECTION || step.kind == LIC_STEP_EXCLUSION)
        add_operands(x, index, step.op, goal, step.distance);
    prune(x, index);
}

/* The first step is the check itself. */
static bool begin(explanation *x, lic_goal goal, licet_error **error)
{
    lic_membership answer;
    licet_status   status;

    x->seen = lic_new_array(x->eval->arena, SEEN_CAPACITY, uint32_t);
    if (x->seen == NULL || !lic_arena_grow(x->eval->arena, (void **)&x->steps, &x->capacity, 1, sizeof *x->steps))
        return false;
    memset(x->seen, 0xff, SEEN_CAPACITY * sizeof *x->seen);
    x->steps[0] = goal_step(goal, 0);
    x->count    = 1;
    status      = lic_eval_check(x->eval, goal.relation, goal.node, &answer, error);
    if (status == LICET_OK)
        decide(x, &x->steps[0], answer, error);
    else
        x->steps[0].status = status;
    return x->steps[0].status != LICET_OUT_OF_MEMORY;
}

licet_status lic_explain(lic_eval *eval, lic_rel relation, uint32_t node, lic_steps *steps, licet_error **error)
{
    const uint64_t patience = (uint64_t)eval->limits.timeout_ms * PATIENCE;
    explanation    x        = { .eval = eval, .max_depth = eval->limits.max_depth };
    licet_status   status;

    *steps        = (lic_steps){ NULL, 0 };
    x.deadline_ms = lic_monotonic_ms() + patience;
    if (!begin(&x, (lic_goal){ relation, node }, error))
        return lic_fail_memory(error);
    status = x.steps[0].status;
    for (uint32_t i = 0; i < x.count; i++)
        expand(&x, i);
    if (x.no_memory) {
        if (error != NULL)
            licet_error_free(*error), *error = NULL;
        return lic_fail_memory(error);
    }
    *steps = (lic_steps){ x.steps, x.count };
    return status;
}
