/* One stack of frames; a frame combines the sets of its tasks, one after another. A task is an operator of the
 * schema, a goal (another object or name), or nothing. Finished goals are remembered with the number of steps
 * below them, so that a diamond is walked once and the depth is still that of the longest path. */
#include "validation/expansion.h"

#include <stdlib.h>

#include "base/hash.h"

typedef enum task_kind { TASK_NOTHING, TASK_OP, TASK_GOAL } task_kind;

typedef struct task {
    task_kind            kind;
    uint32_t             op;
    lic_rel              relation; /* of a goal */
    uint32_t             node;
    const lic_condition *condition; /* of the relationship that leads to the goal; NULL: none */
} task;

typedef bool combine(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b, lic_subject_set *out);

typedef struct frame {
    combine        *combine;
    task           *tasks;
    size_t          count;
    size_t          next;
    lic_subject_set set;     /* of the tasks so far */
    bool            started; /* set holds something to combine with */
    bool            is_goal; /* relation and node are a goal of its own; else they are those of the goal around it */
    lic_rel         relation;
    uint32_t        node;
    uint32_t        remaining;    /* steps that the goals among the tasks may still take */
    uint32_t        height;       /* steps below, so far */
    const lic_condition *pending; /* of the task in progress */
} frame;

typedef struct known {
    uint64_t        key; /* relation, node */
    lic_subject_set set;
    uint32_t        height; /* 0: the goal is on the stack */
    bool            used;
} known;

typedef struct expansion {
    lic_arena          *arena;
    const lic_program  *program;
    const lic_snapshot *snapshot;
    lic_instant         now;
    uint64_t            rows_left;
    uint32_t            max_depth;
    frame              *frames;
    size_t              depth;
    size_t              frame_capacity;
    known              *memo; /* open addressing */
    size_t              memo_count;
    size_t              memo_capacity;
    licet_error       **error;
} expansion;

/* ------------------------------------------------------------------------ memo */

static known *memo_slot(known *memo, size_t capacity, uint64_t key)
{
    size_t i = (size_t)lic_hash_u64(key) & (capacity - 1);

    while (memo[i].used && memo[i].key != key)
        i = (i + 1) & (capacity - 1);
    return &memo[i];
}

static bool memo_grow(expansion *x)
{
    size_t capacity = x->memo_capacity == 0 ? 64 : x->memo_capacity * 2;
    known *memo     = lic_new_array(x->arena, capacity, known);

    if (memo == NULL)
        return false;
    for (size_t i = 0; i < x->memo_capacity; i++)
        if (x->memo[i].used)
            *memo_slot(memo, capacity, x->memo[i].key) = x->memo[i];
    x->memo          = memo;
    x->memo_capacity = capacity;
    return true;
}

/* The goal's entry, made when absent. NULL: out of memory. */
static known *memo_get(expansion *x, lic_rel relation, uint32_t node)
{
    uint64_t key = (uint64_t)relation << 32 | node;
    known   *entry;

    if (x->memo_count * 2 >= x->memo_capacity && !memo_grow(x))
        return NULL;
    entry = memo_slot(x->memo, x->memo_capacity, key);
    if (!entry->used) {
        *entry = (known){ .key = key, .used = true };
        x->memo_count++;
    }
    return entry;
}

/* -------------------------------------------------------------------- failures */

static licet_status too_deep(expansion *x)
{
    return lic_fail_reason(x->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", LIC_NOWHERE,
                           "the expansion goes deeper than %u objects and names; the relationships may form a cycle",
                           x->max_depth);
}

static licet_status count_row(expansion *x)
{
    if (x->rows_left == 0)
        return lic_fail(x->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "the expansion visits too many relationships");
    x->rows_left--;
    return LICET_OK;
}

/* ------------------------------------------------------------------- the tasks */

static bool push_frame(expansion *x, frame f)
{
    if (!lic_arena_grow(x->arena, (void **)&x->frames, &x->frame_capacity, x->depth + 1, sizeof *x->frames))
        return false;
    x->frames[x->depth++] = f;
    return true;
}

static bool add_task(expansion *x, frame *f, size_t *capacity, task t)
{
    if (!lic_arena_grow(x->arena, (void **)&f->tasks, capacity, f->count + 1, sizeof *f->tasks))
        return false;
    f->tasks[f->count++] = t;
    return true;
}

/* Is the stored subject of a shape that the relation still allows? */
static bool is_allowed(const lic_program *program, const lic_relation *relation, lic_ref subject)
{
    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        const lic_allowed *allowed = &program->allowed[relation->first_allowed + i];

        if (allowed->slot == subject.slot && allowed->wildcard == (subject.node == LIC_WILDCARD_NODE))
            return true;
    }
    return false;
}

/* Is the row there, and under which condition? */
static licet_status read_row(expansion *x, const lic_walk *walk, bool *there, const lic_condition **condition)
{
    const lic_attribute *attribute = lic_graph_attribute(x->snapshot->graph, walk->attribute);

    *condition = NULL;
    *there     = attribute == NULL || !lic_attribute_expired(attribute, x->now.seconds, x->now.nanoseconds);
    if (!*there || attribute == NULL || attribute->caveat == LIC_NO_CAVEAT_NAME)
        return LICET_OK;
    *condition = lic_condition_leaf(x->arena, walk->attribute);
    return *condition == NULL ? lic_fail_memory(x->error) : LICET_OK;
}

/* A set of one member that stands on `parent`. */
static bool single_set(lic_arena *arena, lic_ref ref, lic_ref parent, const lic_condition *condition,
                       lic_subject_set *set)
{
    lic_subject *member  = lic_new(arena, lic_subject);
    lic_ref     *parents = lic_new(arena, lic_ref);

    if (member == NULL || parents == NULL)
        return false;
    *parents = parent;
    *member  = (lic_subject){ .ref = ref, .condition = condition, .parents = parents, .parent_count = 1 };
    *set     = (lic_subject_set){ member, 1 };
    return true;
}

static int compare_members(const void *a, const void *b)
{
    uint64_t x = lic_ref_key(((const lic_subject *)a)->ref);
    uint64_t y = lic_ref_key(((const lic_subject *)b)->ref);

    return x < y ? -1 : x > y;
}

/* The direct subjects of a relation are its set to begin with, its usersets the tasks. */
static licet_status open_relation(expansion *x, frame *f)
{
    const lic_relation *relation = &x->program->relations[f->relation];
    lic_ref             self     = { relation->slot, f->node };
    size_t              capacity = 0;
    size_t              room     = 0;
    lic_subject        *members  = NULL;
    size_t              count    = 0;
    lic_walk            walk;
    lic_ref             end;

    lic_walk_subjects(x->snapshot, self, &walk);
    while (lic_walk_next(&walk, &end)) {
        lic_slot_meaning     meaning = lic_program_slot(x->program, end.slot);
        licet_status         status  = count_row(x);
        const lic_condition *condition;
        lic_subject_set      one;
        bool                 there;

        if (status == LICET_OK)
            status = read_row(x, &walk, &there, &condition);
        if (status != LICET_OK)
            return status;
        if (!there || !is_allowed(x->program, relation, end))
            continue;
        if (!single_set(x->arena, end, self, condition, &one) ||
            !lic_arena_grow(x->arena, (void **)&members, &room, count + 1, sizeof *members))
            return lic_fail_memory(x->error);
        members[count++] = one.members[0];
        if (meaning.relation != LIC_NO_REL &&
            !add_task(x, f, &capacity, (task){ TASK_GOAL, 0, meaning.relation, end.node, condition }))
            return lic_fail_memory(x->error);
    }
    if (count > 0)
        qsort(members, count, sizeof *members, compare_members);
    f->set     = (lic_subject_set){ members, count };
    f->started = true;
    return LICET_OK;
}

/* One task for each row of the tupleset. */
static licet_status open_arrow(expansion *x, const lic_op *op, frame *f)
{
    const lic_relation *tupleset = &x->program->relations[op->relation];
    size_t              capacity = 0;
    lic_walk            walk;
    lic_ref             end;

    f->combine = op->kind == LIC_OP_ARROW_ALL ? lic_subject_set_intersect : lic_subject_set_union;
    lic_walk_subjects(x->snapshot, (lic_ref){ tupleset->slot, f->node }, &walk);
    while (lic_walk_next(&walk, &end)) {
        uint32_t             definition = lic_program_slot(x->program, end.slot).definition;
        licet_status         status     = count_row(x);
        const lic_condition *condition;
        lic_rel              target;
        bool                 there;

        if (status == LICET_OK)
            status = read_row(x, &walk, &there, &condition);
        if (status != LICET_OK)
            return status;
        if (!there || !is_allowed(x->program, tupleset, end))
            continue;
        target = lic_program_target(x->program, op, definition);
        if (!add_task(x, f, &capacity,
                      (task){ target == LIC_NO_REL ? TASK_NOTHING : TASK_GOAL, 0, target, end.node, condition }))
            return lic_fail_memory(x->error);
    }
    return LICET_OK;
}

static licet_status open_operator(expansion *x, const lic_op *op, frame *f)
{
    f->combine = op->kind == LIC_OP_UNION          ? lic_subject_set_union
                 : op->kind == LIC_OP_INTERSECTION ? lic_subject_set_intersect
                                                   : lic_subject_set_subtract;
    f->tasks   = lic_new_array(x->arena, op->count, task);
    if (f->tasks == NULL)
        return lic_fail_memory(x->error);
    for (uint32_t i = 0; i < op->count; i++)
        f->tasks[i] = (task){ TASK_OP, x->program->children[op->first + i], LIC_NO_REL, 0, NULL };
    f->count = op->count;
    return LICET_OK;
}

static licet_status open_self(expansion *x, frame *f)
{
    const lic_relation *relation = &x->program->relations[f->relation];
    lic_ref             object   = { x->program->definitions[relation->definition].ellipsis, f->node };

    f->started = true;
    if (!single_set(x->arena, object, (lic_ref){ relation->slot, f->node }, NULL, &f->set))
        return lic_fail_memory(x->error);
    return LICET_OK;
}

/* A flat switch over the operators of a permission. */
static licet_status start_op(expansion *x, frame around, uint32_t index)
{
    const lic_op *op     = &x->program->ops[index];
    frame         f      = { .combine   = lic_subject_set_union,
                             .relation  = around.relation,
                             .node      = around.node,
                             .remaining = around.remaining };
    licet_status  status = LICET_OK;

    switch (op->kind) {
    case LIC_OP_NIL:
        break;
    case LIC_OP_SELF:
        status = open_self(x, &f);
        break;
    case LIC_OP_NAME:
        f.tasks = lic_new(x->arena, task);
        if (f.tasks == NULL)
            return lic_fail_memory(x->error);
        f.tasks[0] = (task){ TASK_GOAL, 0, op->relation, around.node, NULL };
        f.count    = 1;
        break;
    case LIC_OP_UNION:
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        status = open_operator(x, op, &f);
        break;
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        status = open_arrow(x, op, &f);
        break;
    }
    if (status == LICET_OK && !push_frame(x, f))
        return lic_fail_memory(x->error);
    return status;
}

/* Gives a finished task's set to the frame on top. */
static licet_status deliver(expansion *x, const lic_subject_set *set, uint32_t height)
{
    frame          *f   = &x->frames[x->depth - 1];
    lic_subject_set got = *set;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what is delivered was somebody's task */
    if (height > f->height)
        f->height = height;
    if (f->pending != NULL && !lic_subject_set_under(x->arena, set, f->pending, &got))
        return lic_fail_memory(x->error);
    if (!f->started) {
        f->set     = got;
        f->started = true;
        return LICET_OK;
    }
    return f->combine(x->arena, &f->set, &got, &f->set) ? LICET_OK : lic_fail_memory(x->error);
}

/* A goal that may take `remaining` steps, its own included. */
static licet_status start_goal(expansion *x, lic_rel relation, uint32_t node, uint32_t remaining)
{
    known       *entry  = memo_get(x, relation, node);
    frame        f      = { .combine = lic_subject_set_union, .is_goal = true, .relation = relation, .node = node };
    licet_status status = LICET_OK;

    if (entry == NULL)
        return lic_fail_memory(x->error);
    if (entry->height > 0)
        return entry->height > remaining ? too_deep(x) : deliver(x, &entry->set, entry->height);
    if (remaining == 0)
        return too_deep(x);
    f.remaining = remaining - 1;
    if (!x->program->relations[relation].is_permission) {
        status = open_relation(x, &f);
    } else {
        f.tasks = lic_new(x->arena, task);
        if (f.tasks == NULL)
            return lic_fail_memory(x->error);
        f.tasks[0] = (task){ TASK_OP, x->program->relations[relation].op, LIC_NO_REL, 0, NULL };
        f.count    = 1;
    }
    if (status == LICET_OK && !push_frame(x, f))
        return lic_fail_memory(x->error);
    return status;
}

static licet_status finish_frame(expansion *x, lic_subject_set *found)
{
    frame f = x->frames[--x->depth];

    if (f.is_goal) {
        known *entry = memo_get(x, f.relation, f.node);

        if (entry == NULL)
            return lic_fail_memory(x->error);
        entry->set    = f.set;
        entry->height = ++f.height;
    }
    *found = f.set;
    return x->depth == 0 ? LICET_OK : deliver(x, &f.set, f.height);
}

static licet_status step(expansion *x, lic_subject_set *found)
{
    frame          *f       = &x->frames[x->depth - 1];
    lic_subject_set nothing = { NULL, 0 };
    task            t;

    if (f->next == f->count)
        return finish_frame(x, found);
    t          = f->tasks[f->next++];
    f->pending = t.condition;
    switch (t.kind) {
    case TASK_OP:
        return start_op(x, *f, t.op);
    case TASK_GOAL:
        return start_goal(x, t.relation, t.node, f->remaining);
    default:
        return deliver(x, &nothing, 0);
    }
}

licet_status lic_expand_subjects(lic_arena *arena, const lic_program *program, const lic_snapshot *snapshot,
                                 lic_instant now, lic_rel relation, uint32_t node, uint32_t max_depth,
                                 uint64_t max_rows, lic_subject_set *found, licet_error **error)
{
    expansion    x      = { .arena     = arena,
                            .program   = program,
                            .snapshot  = snapshot,
                            .now       = now,
                            .rows_left = max_rows,
                            .max_depth = max_depth,
                            .error     = error };
    licet_status status = start_goal(&x, relation, node, max_depth);

    *found = (lic_subject_set){ NULL, 0 };
    while (status == LICET_OK && x.depth > 0)
        status = step(&x, found);
    return status;
}
