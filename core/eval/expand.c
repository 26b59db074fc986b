/* Nodes are filled in order of their numbers, and a node's children are added when it is: so they stand side by side,
 * and a node that is not filled yet only needs to know what it is to be. */
#include "eval/expand.h"

#include "base/sort.h"
#include "eval/goal.h"

/* What a node is to be. */
typedef struct plan {
    lic_goal goal;  /* the object and name that it stands for, or that its operator stands in */
    uint32_t op;    /* in the program's ops, or OP_OF_GOAL: what the goal itself gives, or OP_NOTHING */
    uint32_t depth; /* left for the goal, itself included */
} plan;

#define OP_OF_GOAL UINT32_MAX
#define OP_NOTHING (UINT32_MAX - 1) /* a leaf without subjects */

typedef struct expansion {
    lic_eval   *eval;
    lic_arena  *arena;
    lic_arena   scratch; /* the plans */
    lic_tree    tree;
    plan       *plans; /* by node */
    size_t      plan_capacity;
    lic_failure failure;
} expansion;

static bool failed(expansion *x, lic_failure failure)
{
    x->failure = failure;
    return false;
}

static bool count_step(expansion *x)
{
    const lic_failure failure = lic_goal_steps(x->eval, 1);

    return failure == LIC_FAILURE_NONE || failed(x, failure);
}

/* -------------------------------------------------------------------- nodes */

static bool add_node(expansion *x, uint32_t parent, plan p)
{
    lic_tree *tree  = &x->tree;
    void     *nodes = tree->nodes;
    void     *plans = x->plans;

    if (tree->count == UINT32_MAX ||
        !lic_arena_grow(x->arena, &nodes, &tree->capacity, tree->count + 1, sizeof *tree->nodes))
        return failed(x, LIC_FAILURE_MEMORY);
    tree->nodes = nodes;
    if (!lic_arena_grow(&x->scratch, &plans, &x->plan_capacity, tree->count + 1, sizeof *x->plans))
        return failed(x, LIC_FAILURE_MEMORY);
    x->plans              = plans;
    x->plans[tree->count] = p;
    tree->nodes[tree->count] =
        (lic_tree_node){ .kind = LICET_TREE_LEAF, .relation = p.goal.relation, .node = p.goal.node, .parent = parent };
    tree->count++;
    return count_step(x);
}

static bool add_child(expansion *x, uint32_t parent, plan p)
{
    if (x->tree.nodes[parent].child_count++ == 0)
        x->tree.nodes[parent].first_child = (uint32_t)x->tree.count;
    return add_node(x, parent, p);
}

/* Is the goal above itself? */
static bool is_cycle(const expansion *x, uint32_t parent, lic_goal goal)
{
    for (;; parent = x->tree.nodes[parent].parent) {
        const plan *above = &x->plans[parent];

        if (above->op == OP_OF_GOAL && above->goal.relation == goal.relation && above->goal.node == goal.node)
            return true;
        if (parent == 0)
            return false;
    }
}

/* A step to another object or name costs one of the depth. A cycle costs it all: to go round would give the same error,
 * or, where ways fork, run out of steps before. */
static bool add_goal(expansion *x, uint32_t parent, lic_goal goal)
{
    const uint32_t depth = x->plans[parent].depth - 1;

    return depth == 0 || is_cycle(x, parent, goal) ? failed(x, LIC_FAILURE_DEPTH)
                                                   : add_child(x, parent, (plan){ goal, OP_OF_GOAL, depth });
}

/* An operand: a name is what it names, everything else an operator of the same permission. */
static bool add_operand(expansion *x, uint32_t parent, uint32_t op_index)
{
    const lic_op *op    = &x->eval->program->ops[op_index];
    const plan    above = x->plans[parent];

    if (op->kind == LIC_OP_NAME)
        return add_goal(x, parent, (lic_goal){ op->relation, above.goal.node });
    return add_child(x, parent, (plan){ above.goal, op_index, above.depth });
}

/* ------------------------------------------------------------------- leaves */

static bool add_subject(expansion *x, uint32_t leaf, lic_ref subject)
{
    lic_tree *tree     = &x->tree;
    void     *subjects = tree->subjects;

    if (tree->nodes[leaf].subject_count == 0)
        tree->nodes[leaf].first_subject = tree->subject_count;
    if (!lic_arena_grow(x->arena, &subjects, &tree->subject_capacity, tree->subject_count + 1, sizeof *tree->subjects))
        return failed(x, LIC_FAILURE_MEMORY);
    tree->subjects                        = subjects;
    tree->subjects[tree->subject_count++] = subject;
    tree->nodes[leaf].subject_count++;
    return true;
}

/* Those that a check would see. */
static bool read_rows(expansion *x, uint32_t leaf, lic_goal goal)
{
    const lic_relation *relation = &x->eval->program->relations[goal.relation];
    lic_walk            walk;
    lic_ref             row;

    lic_walk_subjects(x->eval->snapshot, (lic_ref){ relation->slot, goal.node }, &walk);
    while (lic_walk_next(&walk, &row)) {
        uint32_t attribute = walk.attribute;

        if (!count_step(x))
            return false;
        if (lic_goal_holds_row(x->eval, relation, row, &attribute) && !add_subject(x, leaf, row))
            return false;
    }
    return true;
}

static bool is_userset(const expansion *x, lic_ref subject)
{
    return lic_program_slot(x->eval->program, subject.slot).relation != LIC_NO_REL;
}

/* Sorted, usersets last. */
static bool sort_subjects(expansion *x, const lic_tree_node *leaf)
{
    lic_ref     *subjects = x->tree.subjects + leaf->first_subject;
    const size_t count    = leaf->subject_count;
    uint64_t    *keys;
    size_t       kept = 0;

    if (count < 2)
        return true;
    keys = lic_arena_alloc(&x->scratch, count * sizeof *keys); /* no more than are there */
    if (keys == NULL)
        return failed(x, LIC_FAILURE_MEMORY);
    for (size_t i = 0; i < count; i++)
        keys[i] = lic_ref_key(subjects[i]);
    if (!lic_sort_keys(&x->scratch, keys, count))
        return failed(x, LIC_FAILURE_MEMORY);
    for (int usersets = 0; usersets < 2; usersets++)
        for (size_t i = 0; i < count; i++) {
            const lic_ref subject = { (lic_slot)(keys[i] >> 32), (uint32_t)keys[i] };

            if (is_userset(x, subject) == (usersets != 0))
                subjects[kept++] = subject;
        }
    return true;
}

static bool fill_relation(expansion *x, uint32_t number, lic_goal goal)
{
    return read_rows(x, number, goal) && sort_subjects(x, &x->tree.nodes[number]);
}

/* ---------------------------------------------------------------- operators */

/* One child for each row, named or not: where the subject has no such name, an empty leaf of the permission asked. */
static bool fill_arrow(expansion *x, uint32_t number, const lic_op *arrow)
{
    const plan          p        = x->plans[number];
    const lic_relation *tupleset = &x->eval->program->relations[arrow->relation];
    lic_walk            walk;
    lic_ref             row;

    x->tree.nodes[number].kind = arrow->kind == LIC_OP_ARROW_ALL ? LICET_TREE_INTERSECTION : LICET_TREE_UNION;
    lic_walk_subjects(x->eval->snapshot, (lic_ref){ tupleset->slot, p.goal.node }, &walk);
    while (lic_walk_next(&walk, &row)) {
        uint32_t      attribute = walk.attribute;
        bool          counts;
        bool          bare;
        const lic_rel target = lic_goal_target(x->eval->program, arrow, row.slot, &counts, &bare);

        if (!count_step(x))
            return false;
        if (!counts || !lic_goal_row_counts(x->eval, tupleset, bare, row, &attribute))
            continue;
        if (target == LIC_NO_REL ? !add_child(x, number, (plan){ p.goal, OP_NOTHING, p.depth })
                                 : !add_goal(x, number, (lic_goal){ target, row.node }))
            return false;
    }
    return true;
}

static bool fill_operator(expansion *x, uint32_t number, const lic_op *op)
{
    x->tree.nodes[number].kind = op->kind == LIC_OP_UNION          ? LICET_TREE_UNION
                                 : op->kind == LIC_OP_INTERSECTION ? LICET_TREE_INTERSECTION
                                                                   : LICET_TREE_EXCLUSION;
    for (uint32_t i = 0; i < op->count; i++)
        if (!add_operand(x, number, x->eval->program->children[op->first + i]))
            return false;
    return true;
}

static bool fill_op(expansion *x, uint32_t number, uint32_t op_index)
{
    const lic_program *program = x->eval->program;
    const lic_op      *op      = &program->ops[op_index];
    const lic_goal     goal    = x->plans[number].goal;

    switch (op->kind) {
    case LIC_OP_UNION:
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        return fill_operator(x, number, op);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return fill_arrow(x, number, op);
    case LIC_OP_SELF:
        return add_subject(
            x, number,
            (lic_ref){ program->definitions[program->relations[goal.relation].definition].ellipsis, goal.node });
    case LIC_OP_NAME: /* never: it is what it names */
    case LIC_OP_NIL:
        break;
    }
    return true;
}

/* A permission that is a single operand is a union of it. */
static bool fill_goal(expansion *x, uint32_t number)
{
    const lic_program  *program  = x->eval->program;
    const lic_goal      goal     = x->plans[number].goal;
    const lic_relation *relation = &program->relations[goal.relation];
    lic_op_kind         kind;

    if (!relation->is_permission)
        return fill_relation(x, number, goal);
    kind = program->ops[relation->op].kind;
    if (kind == LIC_OP_UNION || kind == LIC_OP_INTERSECTION || kind == LIC_OP_EXCLUSION)
        return fill_op(x, number, relation->op);
    x->tree.nodes[number].kind = LICET_TREE_UNION;
    return add_operand(x, number, relation->op);
}

static bool fill(expansion *x, uint32_t number)
{
    const uint32_t op = x->plans[number].op;

    if (op == OP_NOTHING)
        return true;
    return op == OP_OF_GOAL ? fill_goal(x, number) : fill_op(x, number, op);
}

static licet_status fail(const expansion *x, licet_error **error)
{
    if (x->failure == LIC_FAILURE_STEPS)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "max_steps exceeded: the tree has more than %llu nodes and subjects",
                        (unsigned long long)x->eval->limits.max_steps);
    if (x->failure == LIC_FAILURE_DEADLINE)
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "expanding took longer than %u ms", x->eval->limits.timeout_ms);
    if (x->failure == LIC_FAILURE_DEPTH)
        return lic_fail_reason(
            error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", LIC_NOWHERE,
            "max_depth exceeded: the tree is deeper than %u objects and names, or goes round a cycle",
            x->eval->limits.max_depth);
    return lic_fail_memory(error);
}

licet_status lic_expand(lic_eval *eval, lic_rel relation, uint32_t node, uint32_t timeout_ms, lic_arena *arena,
                        lic_tree *tree, licet_error **error)
{
    expansion x = { .eval = eval, .arena = arena };
    bool      done;

    eval->limits.timeout_ms = timeout_ms;
    lic_goal_reset_steps(eval);
    lic_arena_init(&x.scratch, arena->memory);
    done = add_node(&x, 0, (plan){ { relation, node }, OP_OF_GOAL, eval->limits.max_depth });
    for (uint32_t i = 0; done && i < x.tree.count; i++)
        done = fill(&x, i);
    lic_arena_free(&x.scratch);
    *tree = done ? x.tree : (lic_tree){ .nodes = NULL };
    return done ? LICET_OK : fail(&x, error);
}
