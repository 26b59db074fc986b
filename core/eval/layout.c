#include "eval/layout.h"

#include "base/hash.h"

/* An operator whose operands are being laid out. */
typedef struct lic_open_op {
    uint32_t op;
    uint32_t next;
    size_t   first; /* its first operand's first step */
} open_op;

static bool failed(lic_layout *l, lic_failure failure)
{
    if (l->failure == LIC_FAILURE_NONE)
        l->failure = failure;
    return false;
}

/* A row, whether it counts or not. */
static bool count_row(lic_layout *l)
{
    const lic_failure failure = lic_goal_steps(l->eval, 1);

    return failure == LIC_FAILURE_NONE || failed(l, failure);
}

/* ------------------------------------------------------------------- goals */

static uint32_t *number_of(const lic_layout *l, lic_goal goal)
{
    const size_t mask = l->number_capacity - 1;
    size_t       at   = (size_t)lic_hash_u64((uint64_t)goal.relation << 32 | goal.node) & mask;

    for (; l->numbers[at] != 0; at = (at + 1) & mask) {
        const lic_goal other = l->goals[l->numbers[at] - 1].goal;

        if (other.relation == goal.relation && other.node == goal.node)
            break;
    }
    return &l->numbers[at];
}

static bool grow_numbers(lic_layout *l)
{
    const size_t capacity = l->number_capacity == 0 ? 64 : l->number_capacity * 2;
    uint32_t    *numbers  = lic_new_array(l->arena, capacity, uint32_t);

    if (numbers == NULL)
        return failed(l, LIC_FAILURE_MEMORY);
    l->numbers         = numbers;
    l->number_capacity = capacity;
    for (size_t i = 0; i < l->goal_count; i++)
        *number_of(l, l->goals[i].goal) = (uint32_t)i + 1;
    return true;
}

/* The number of a goal, new or known. */
static bool add_laid_goal(lic_layout *l, lic_goal goal, uint32_t distance, uint32_t *number)
{
    void     *goals = l->goals;
    uint32_t *found;

    if (l->goal_count >= l->number_capacity / 2 && !grow_numbers(l))
        return false;
    found = number_of(l, goal);
    if (*found == 0) {
        if (!lic_arena_grow(l->arena, &goals, &l->goal_capacity, l->goal_count + 1, sizeof *l->goals))
            return failed(l, LIC_FAILURE_MEMORY);
        l->goals                  = goals;
        l->goals[l->goal_count++] = (lic_laid_goal){ .goal = goal, .distance = distance };
        *found                    = (uint32_t)l->goal_count;
    }
    *number = *found - 1;
    return true;
}

/* ------------------------------------------------------------------- steps */

static lic_step *add_step(lic_layout *l, lic_step_kind kind, uint32_t attribute)
{
    void *steps = l->steps;

    if (l->step_count == UINT32_MAX ||
        !lic_arena_grow(l->arena, &steps, &l->step_capacity, l->step_count + 1, sizeof *l->steps)) {
        failed(l, LIC_FAILURE_MEMORY);
        return NULL;
    }
    l->steps                  = steps;
    l->steps[l->step_count++] = (lic_step){ .kind = (uint8_t)kind, .span = 1, .attribute = attribute };
    return &l->steps[l->step_count - 1];
}

static bool add_subject_step(lic_layout *l, lic_step_kind kind, lic_goal subject, uint32_t attribute)
{
    lic_step *step = add_step(l, kind, attribute);

    if (step == NULL)
        return false;
    step->subject = subject;
    l->is_too_deep |= kind == LIC_STEP_TOO_DEEP;
    return true;
}

/* Over all steps from `first` on. */
static bool add_operator(lic_layout *l, lic_step_kind kind, size_t first)
{
    lic_step *step = add_step(l, kind, LIC_NO_ATTRIBUTE);

    if (step != NULL)
        step->span = (uint32_t)(l->step_count - first);
    return step != NULL;
}

/* An operator that may have one operand, or none. */
static bool end_operands(lic_layout *l, lic_step_kind kind, size_t first, size_t count)
{
    if (count == 0)
        return add_step(l, LIC_STEP_NOBODY, LIC_NO_ATTRIBUTE) != NULL;
    return count == 1 || add_operator(l, kind, first);
}

static bool holds_object(const lic_layout *l, const lic_relation *relation)
{
    return relation->slot == l->eval->subject.slot;
}

static bool is_about_every_slot(const lic_layout *l)
{
    return l->eval->subject.slot == LIC_NO_SLOT;
}

/* Rows of the relation that the subjects may be found by. *added: there may be any. */
static bool add_rows(lic_layout *l, lic_goal goal, uint32_t attribute, bool *added)
{
    const lic_ways_in ways = lic_goal_ways_in(l->eval, &l->eval->program->relations[goal.relation]);

    *added = ways.plain || ways.wildcard || is_about_every_slot(l);
    return !*added || add_subject_step(l, LIC_STEP_ROWS, goal, attribute);
}

/* A relation without usersets needs no goal of its own. */
static bool add_leaf(lic_layout *l, lic_goal goal, uint32_t attribute)
{
    bool added;

    l->has_leaf = true;
    return add_rows(l, goal, attribute, &added) && (added || add_step(l, LIC_STEP_NOBODY, LIC_NO_ATTRIBUTE) != NULL);
}

/* An alias is what it names. */
static lic_goal named(const lic_layout *l, lic_goal goal)
{
    if (!is_about_every_slot(l))
        goal.relation = lic_goal_named(l->eval, &l->eval->program->relations[goal.relation], goal.relation);
    return goal;
}

/* An operand that is another goal, one step away; none of this name: nobody. */
static bool add_goal(lic_layout *l, lic_goal goal, uint32_t attribute)
{
    const lic_relation *relation;
    lic_step           *step;
    uint32_t            number = 0;

    if (!count_row(l))
        return false;
    if (goal.relation == LIC_NO_REL)
        return add_step(l, LIC_STEP_NOBODY, LIC_NO_ATTRIBUTE) != NULL;
    if (l->depth + 1 >= l->eval->limits.max_depth)
        return add_subject_step(l, LIC_STEP_TOO_DEEP, goal, attribute);
    goal     = named(l, goal);
    relation = &l->eval->program->relations[goal.relation];
    if (lic_goal_is_leaf(relation) && !holds_object(l, relation))
        return add_leaf(l, goal, attribute);
    if (!add_laid_goal(l, goal, l->depth + 1, &number))
        return false;
    step = add_step(l, LIC_STEP_GOAL, attribute);
    if (step != NULL)
        step->goal = number;
    return step != NULL;
}

/* ------------------------------------------------------------------- rules */

static bool lay_usersets(lic_layout *l, lic_goal goal, const lic_allowed *allowed, size_t *count)
{
    const lic_relation *relation = &l->eval->program->relations[goal.relation];
    const lic_relation *target   = &l->eval->program->relations[allowed->userset];
    /* Leaves that hold nobody of the subject's type: one of them is as deep as all of them. */
    const bool is_idle = lic_goal_is_leaf(target) && l->depth + 1 < l->eval->limits.max_depth &&
                         !is_about_every_slot(l) &&
                         !lic_program_reaches(l->eval->program, allowed->userset, l->eval->subject_definition);
    lic_walk walk;
    lic_ref  row;

    lic_walk_subjects_in(l->eval->snapshot, (lic_ref){ relation->slot, goal.node }, allowed->slot, &walk);
    while (lic_walk_next(&walk, &row)) {
        uint32_t attribute = walk.attribute;

        if (!lic_goal_row_counts(l->eval, relation, allowed->bare, row, &attribute)) {
            if (!count_row(l))
                return false;
            continue;
        }
        if (is_idle) {
            l->has_leaf = true;
            return true;
        }
        if (!add_goal(l, (lic_goal){ allowed->userset, row.node }, attribute))
            return false;
        ++*count;
    }
    return true;
}

static bool lay_relation(lic_layout *l, lic_goal goal, size_t *count)
{
    const lic_program  *program  = l->eval->program;
    const lic_relation *relation = &program->relations[goal.relation];
    bool                added;

    if (!add_rows(l, goal, LIC_NO_ATTRIBUTE, &added))
        return false;
    *count = added;
    for (uint32_t i = relation->first_userset; i < relation->first_allowed + relation->allowed_count; i++)
        if (program->allowed[i].userset != LIC_NO_REL && !lay_usersets(l, goal, &program->allowed[i], count))
            return false;
    return true;
}

static bool lay_arrow(lic_layout *l, const lic_op *arrow, uint32_t object)
{
    const lic_relation *tupleset = &l->eval->program->relations[arrow->relation];
    const lic_step_kind kind     = arrow->kind == LIC_OP_ARROW_ALL ? LIC_STEP_AND : LIC_STEP_OR;
    const size_t        first    = l->step_count;
    size_t              count    = 0;
    lic_walk            walk;
    lic_ref             row;

    lic_walk_subjects(l->eval->snapshot, (lic_ref){ tupleset->slot, object }, &walk);
    while (lic_walk_next(&walk, &row)) {
        uint32_t      attribute = walk.attribute;
        bool          counts;
        bool          bare;
        const lic_rel target = lic_goal_target(l->eval->program, arrow, row.slot, &counts, &bare);

        if (!counts || !lic_goal_row_counts(l->eval, tupleset, bare, row, &attribute)) {
            if (!count_row(l))
                return false;
            continue;
        }
        if (!add_goal(l, (lic_goal){ target, row.node }, attribute))
            return false;
        count++;
    }
    if (!end_operands(l, kind, first, count))
        return false;
    l->steps[l->step_count - 1].of_rows = count > 1;
    return true;
}

static bool lay_self(lic_layout *l, lic_goal goal)
{
    const lic_eval *eval = l->eval;
    const bool      is   = eval->subject.slot == eval->everyone.slot &&
                    eval->program->relations[goal.relation].definition == eval->subject_definition;

    return is || is_about_every_slot(l) ? add_subject_step(l, LIC_STEP_OBJECT, goal, LIC_NO_ATTRIBUTE)
                                        : add_step(l, LIC_STEP_NOBODY, LIC_NO_ATTRIBUTE) != NULL;
}

/* An operand without operands of its own. */
static bool lay_operand(lic_layout *l, const lic_op *op, lic_goal goal)
{
    switch (op->kind) {
    case LIC_OP_NAME:
        return add_goal(l, (lic_goal){ op->relation, goal.node }, LIC_NO_ATTRIBUTE);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return lay_arrow(l, op, goal.node);
    case LIC_OP_SELF:
        return lay_self(l, goal);
    default:
        return add_step(l, LIC_STEP_NOBODY, LIC_NO_ATTRIBUTE) != NULL;
    }
}

static bool open_operator(lic_layout *l, uint32_t op)
{
    void *open = l->open;

    if (!lic_arena_grow(l->arena, &open, &l->open_capacity, l->open_count + 1, sizeof *l->open))
        return failed(l, LIC_FAILURE_MEMORY);
    l->open                  = open;
    l->open[l->open_count++] = (open_op){ op, 0, l->step_count };
    return true;
}

static bool lay_permission(lic_layout *l, lic_goal goal)
{
    static const uint8_t operators[] = {
        [LIC_OP_UNION] = LIC_STEP_OR, [LIC_OP_INTERSECTION] = LIC_STEP_AND, [LIC_OP_EXCLUSION] = LIC_STEP_MINUS
    };
    const lic_program *program = l->eval->program;

    l->open_count = 0;
    if (!open_operator(l, program->relations[goal.relation].op))
        return false;
    while (l->open_count > 0) {
        open_op      *top = &l->open[l->open_count - 1];
        const lic_op *op  = &program->ops[top->op];
        const bool    is_operator =
            op->kind == LIC_OP_UNION || op->kind == LIC_OP_INTERSECTION || op->kind == LIC_OP_EXCLUSION;

        if (is_operator && top->next < op->count) {
            if (!open_operator(l, program->children[op->first + top->next++]))
                return false;
            continue;
        }
        l->open_count--;
        if (is_operator ? !add_operator(l, (lic_step_kind)operators[op->kind], top->first) : !lay_operand(l, op, goal))
            return false;
    }
    return true;
}

/* A goal's rule; where the object may be its own subject by identity, that comes last. */
static bool lay_goal(lic_layout *l, size_t number)
{
    const lic_goal      goal     = l->goals[number].goal;
    const lic_relation *relation = &l->eval->program->relations[goal.relation];
    const size_t        first    = l->step_count;
    size_t              count    = 1;

    l->depth               = l->goals[number].distance;
    l->has_leaf            = false;
    l->goals[number].first = (uint32_t)first;
    if (relation->is_permission ? !lay_permission(l, goal) : !lay_relation(l, goal, &count))
        return false;
    if (holds_object(l, relation)) {
        if (!add_subject_step(l, LIC_STEP_OBJECT, goal, LIC_NO_ATTRIBUTE))
            return false;
        count++;
    }
    if (!end_operands(l, LIC_STEP_OR, first, count))
        return false;
    l->goals[number].end      = (uint32_t)l->step_count;
    l->goals[number].has_leaf = l->has_leaf;
    return true;
}

/* ------------------------------------------------------------------ heights */

/* Tarjan's search for strongly connected parts, with a path of its own. Parts are closed after all that they lead to,
 * so that their heights are known by then. */
typedef struct search {
    lic_layout *layout;
    uint32_t   *path; /* goals being looked at, each from the one before */
    size_t      path_length;
    uint32_t   *open; /* goals whose part is not closed, in order of their numbers */
    size_t      open_count;
    uint32_t    next_number;
} search;

static void enter_goal(search *s, uint32_t number)
{
    lic_laid_goal *goal = &s->layout->goals[number];

    goal->number              = ++s->next_number;
    goal->low                 = goal->number;
    goal->next                = goal->first;
    goal->below               = goal->has_leaf;
    s->path[s->path_length++] = number;
    s->open[s->open_count++]  = number;
}

/* From a goal that is looked at to another one. */
static void look_along(search *s, lic_laid_goal *from, uint32_t number)
{
    lic_laid_goal *to = &s->layout->goals[number];

    if (to->number == 0) {
        enter_goal(s, number);
    } else if (to->height == 0) {
        s->layout->has_cycles = true;
        from->on_cycle        = true; /* if only with itself; its part knows the rest */
        if (to->number < from->low)
            from->low = to->number;
    } else if (to->height > from->below) {
        from->below = to->height;
    }
}

/* Closes the part whose first goal this is. No way through it meets more goals than it has, and one more step goes on from
 * there: to what lies below, or, on a cycle, to where the way has been. */
static void close_part(search *s, const lic_laid_goal *first)
{
    size_t   size  = 1;
    uint32_t below = first->below;
    uint32_t height;
    bool     is_cycle;

    while (&s->layout->goals[s->open[s->open_count - size]] != first)
        size++;
    is_cycle = size > 1 || first->on_cycle;
    if (is_cycle && below == 0)
        below = 1;
    height = size < UINT32_MAX - below ? (uint32_t)size + below : UINT32_MAX;
    for (; size > 0; size--) {
        const uint32_t number = s->open[--s->open_count];

        s->layout->goals[number].on_cycle      = is_cycle;
        s->layout->goals[number].height        = height;
        s->layout->order[s->layout->ordered++] = number;
    }
}

/* Done with the goal at the end of the path. */
static void leave_goal(search *s, lic_laid_goal *goal)
{
    lic_laid_goal *from = NULL;

    s->path_length--;
    if (goal->low == goal->number)
        close_part(s, goal);
    if (s->path_length == 0)
        return;
    from = &s->layout->goals[s->path[s->path_length - 1]];
    if (goal->height == 0 && goal->low < from->low)
        from->low = goal->low;
    if (goal->height > from->below)
        from->below = goal->height;
    if (goal->height == 0 && goal->below > from->below)
        from->below = goal->below;
}

static bool measure(lic_layout *l)
{
    search s = { .layout = l,
                 .path   = lic_new_array(l->arena, l->goal_count, uint32_t),
                 .open   = lic_new_array(l->arena, l->goal_count, uint32_t) };

    l->order = lic_new_array(l->arena, l->goal_count, uint32_t);
    if (s.path == NULL || s.open == NULL || l->order == NULL)
        return failed(l, LIC_FAILURE_MEMORY);
    enter_goal(&s, 0);
    while (s.path_length > 0) {
        lic_laid_goal *goal = &l->goals[s.path[s.path_length - 1]];

        while (goal->next < goal->end && l->steps[goal->next].kind != LIC_STEP_GOAL)
            goal->next++;
        if (goal->next == goal->end)
            leave_goal(&s, goal);
        else
            look_along(&s, goal, l->steps[goal->next++].goal);
    }
    return true;
}

lic_failure lic_layout_make(lic_layout *layout, lic_eval *eval, lic_arena *arena, lic_goal root)
{
    uint32_t number;

    *layout = (lic_layout){ .eval = eval, .arena = arena };
    if (!add_laid_goal(layout, named(layout, root), 0, &number))
        return layout->failure;
    for (size_t i = 0; i < layout->goal_count; i++)
        if (!lay_goal(layout, i))
            return layout->failure;
    measure(layout);
    return layout->failure;
}
