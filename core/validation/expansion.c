/* Goals and rules are laid out as for a lookup (eval/layout.h), for subjects of every slot; each goal's set is folded
 * once, after those of all that it leads to. */
#include "validation/expansion.h"

#include "base/sort.h"
#include "eval/layout.h"

/* Of one expansion, in milliseconds: what takes longer is too much. */
#define TIMEOUT_MS 600000u

/* On the stack that folds a rule: the set of the steps [first, the next one's first). */
typedef struct operand {
    size_t          first;
    lic_subject_set set;
} operand;

typedef struct expansion {
    lic_eval         eval;
    lic_arena       *arena;
    lic_layout       layout;
    lic_subject_set *sets; /* by goal */
    operand         *stack;
    size_t           height;
    size_t           capacity;
    lic_failure      failure;
} expansion;

static bool failed(expansion *x, lic_failure failure)
{
    x->failure = failure;
    return false;
}

/* --------------------------------------------------------------------- rows */

/* A member that stands on `parent`. attribute: of its row; LIC_NO_ATTRIBUTE: without condition. */
static bool make_member(expansion *x, lic_ref ref, const lic_ref *parent, uint32_t attribute, lic_subject *member)
{
    *member = (lic_subject){ .ref = ref, .parents = parent, .parent_count = 1 };
    if (attribute != LIC_NO_ATTRIBUTE)
        member->condition = lic_condition_leaf(x->arena, attribute);
    return attribute == LIC_NO_ATTRIBUTE || member->condition != NULL;
}

/* A row that is there: its subject's key, and where its attribute is found again. */
static bool read_keys(expansion *x, lic_goal goal, uint64_t **keys, size_t *count)
{
    const lic_relation *relation = &x->eval.program->relations[goal.relation];
    void               *grown    = NULL;
    size_t              capacity = 0;
    lic_walk            walk;
    lic_ref             row;

    *count = 0;
    lic_walk_subjects(x->eval.snapshot, (lic_ref){ relation->slot, goal.node }, &walk);
    while (lic_walk_next(&walk, &row)) {
        uint32_t          attribute = walk.attribute;
        const lic_failure failure   = lic_goal_steps(&x->eval, 1);

        if (failure != LIC_FAILURE_NONE)
            return failed(x, failure);
        if (!lic_goal_holds_row(&x->eval, relation, row, &attribute))
            continue;
        if (!lic_arena_grow(x->arena, &grown, &capacity, *count + 1, sizeof **keys))
            return failed(x, LIC_FAILURE_MEMORY);
        *keys               = grown;
        (*keys)[(*count)++] = lic_ref_key(row);
    }
    return lic_sort_keys(x->arena, *keys, *count) || failed(x, LIC_FAILURE_MEMORY);
}

static bool read_rows(expansion *x, lic_goal goal, lic_subject_set *set)
{
    const lic_relation *relation = &x->eval.program->relations[goal.relation];
    lic_ref            *parent   = lic_new(x->arena, lic_ref);
    uint64_t           *keys     = NULL;
    lic_subject        *members;
    uint32_t            attribute;
    size_t              count;

    if (!read_keys(x, goal, &keys, &count))
        return false;
    members = lic_new_array(x->arena, count, lic_subject);
    if (parent == NULL || members == NULL)
        return failed(x, LIC_FAILURE_MEMORY);
    *parent = (lic_ref){ relation->slot, goal.node };
    for (size_t i = 0; i < count; i++) {
        const lic_ref row = { (lic_slot)(keys[i] >> 32), (uint32_t)keys[i] };

        lic_snapshot_find(x->eval.snapshot, *parent, row, &attribute);
        lic_goal_holds_row(&x->eval, relation, row, &attribute);
        if (!make_member(x, row, parent, attribute, &members[i]))
            return failed(x, LIC_FAILURE_MEMORY);
    }
    *set = (lic_subject_set){ members, count };
    return true;
}

/* `self`: the object, as it stands in its own permission. */
static bool read_object(expansion *x, lic_goal goal, lic_subject_set *set)
{
    const lic_relation *relation = &x->eval.program->relations[goal.relation];
    const lic_ref       object   = { x->eval.program->definitions[relation->definition].ellipsis, goal.node };
    lic_subject        *member   = lic_new(x->arena, lic_subject);
    lic_ref            *parent   = lic_new(x->arena, lic_ref);

    if (member == NULL || parent == NULL)
        return failed(x, LIC_FAILURE_MEMORY);
    *parent = (lic_ref){ relation->slot, goal.node };
    *set    = (lic_subject_set){ member, 1 };
    return make_member(x, object, parent, LIC_NO_ATTRIBUTE, member);
}

/* --------------------------------------------------------------------- rules */

/* The operands are those on the stack that begin at the operator's first step or later. */
static bool operate(expansion *x, lic_step_kind kind, size_t first, lic_subject_set *set)
{
    size_t begin = x->height;

    while (begin > 0 && x->stack[begin - 1].first >= first)
        begin--;
    *set = x->stack[begin].set;
    for (size_t i = begin + 1; i < x->height; i++) {
        const lic_subject_set *next = &x->stack[i].set;
        const bool             done = kind == LIC_STEP_OR    ? lic_subject_set_union(x->arena, set, next, set)
                                      : kind == LIC_STEP_AND ? lic_subject_set_intersect(x->arena, set, next, set)
                                                             : lic_subject_set_subtract(x->arena, set, next, set);

        if (!done)
            return failed(x, LIC_FAILURE_MEMORY);
    }
    x->height = begin;
    return true;
}

static bool find_set(expansion *x, const lic_step *step, size_t number, lic_subject_set *set)
{
    *set = (lic_subject_set){ NULL, 0 };
    switch ((lic_step_kind)step->kind) {
    case LIC_STEP_ROWS:
        return read_rows(x, step->subject, set);
    case LIC_STEP_OBJECT:
        return read_object(x, step->subject, set);
    case LIC_STEP_GOAL:
        *set = x->sets[step->goal];
        return true;
    case LIC_STEP_OR:
    case LIC_STEP_AND:
    case LIC_STEP_MINUS:
        return operate(x, (lic_step_kind)step->kind, number + 1 - step->span, set);
    case LIC_STEP_NOBODY:
    case LIC_STEP_TOO_DEEP:
        break;
    }
    return true;
}

/* Under the caveat of the row that leads to the step. */
static bool put_under(expansion *x, uint32_t attribute, lic_subject_set *set)
{
    const lic_subject_set whole = *set;
    const lic_condition  *condition;

    if (attribute == LIC_NO_ATTRIBUTE)
        return true;
    condition = lic_condition_leaf(x->arena, attribute);
    return (condition != NULL && lic_subject_set_under(x->arena, &whole, condition, set)) ||
           failed(x, LIC_FAILURE_MEMORY);
}

static bool fold_goal(expansion *x, uint32_t number)
{
    const lic_laid_goal *goal = &x->layout.goals[number];

    x->height = 0;
    for (size_t i = goal->first; i < goal->end; i++) {
        const lic_step *step  = &x->layout.steps[i];
        void           *stack = x->stack;
        lic_subject_set set;

        if (!find_set(x, step, i, &set) || !put_under(x, step->attribute, &set))
            return false;
        if (!lic_arena_grow(x->arena, &stack, &x->capacity, x->height + 1, sizeof *x->stack))
            return failed(x, LIC_FAILURE_MEMORY);
        x->stack              = stack;
        x->stack[x->height++] = (operand){ i + 1 - step->span, set };
    }
    x->sets[number] = x->stack[0].set;
    return true;
}

static bool fold_all(expansion *x)
{
    x->sets = lic_new_array(x->arena, x->layout.goal_count, lic_subject_set);
    if (x->sets == NULL)
        return failed(x, LIC_FAILURE_MEMORY);
    for (size_t i = 0; i < x->layout.ordered; i++)
        if (!fold_goal(x, x->layout.order[i]))
            return false;
    return true;
}

/* ----------------------------------------------------------------- interface */

static licet_status fail(const expansion *x, licet_error **error)
{
    if (x->failure == LIC_FAILURE_DEPTH)
        return lic_fail_reason(
            error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", LIC_NOWHERE,
            "the expansion goes deeper than %u objects and names; the relationships may form a cycle",
            x->eval.limits.max_depth);
    if (x->failure == LIC_FAILURE_MEMORY)
        return lic_fail_memory(error);
    return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                    "the expansion visits too many relationships");
}

static bool is_too_deep(const lic_layout *layout)
{
    return layout->is_too_deep || layout->has_cycles || layout->goals[0].height > layout->eval->limits.max_depth;
}

licet_status lic_expand_subjects(lic_arena *arena, const lic_program *program, const lic_snapshot *snapshot,
                                 lic_instant now, lic_rel relation, uint32_t node, uint32_t max_depth,
                                 uint64_t max_rows, lic_subject_set *found, licet_error **error)
{
    const lic_eval_limits limits = { max_depth, max_rows, TIMEOUT_MS };
    lic_moment            moment = { .is_read = true, .seconds = now.seconds, .nanoseconds = now.nanoseconds };
    expansion             x      = { .arena = arena };

    *found = (lic_subject_set){ NULL, 0 };
    lic_eval_init(&x.eval, program, snapshot, arena, &limits);
    lic_goal_reset_steps(&x.eval);
    x.eval.subject.slot = LIC_NO_SLOT;
    x.eval.moment       = &moment;
    x.failure           = lic_layout_make(&x.layout, &x.eval, arena, (lic_goal){ relation, node });
    if (x.failure == LIC_FAILURE_NONE && is_too_deep(&x.layout))
        x.failure = LIC_FAILURE_DEPTH;
    if (x.failure != LIC_FAILURE_NONE || !fold_all(&x))
        return fail(&x, error);
    *found = x.sets[0];
    return LICET_OK;
}
