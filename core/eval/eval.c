/* Check, depth first: a stack of frames, each an operator, the usersets of a relation, or an arrow.
 *
 * A goal that its own rows decide never becomes a frame. The others look at their operands one by one, and stop
 * at the first that decides. An operand that ran out of depth is an unknown, carried on by the tables of
 * three_valued.h; whoever lacks steps, time or memory, or stands on a goal again, ends the whole walk.
 *
 * Meeting a cycle hands the question to cycles.c. An earlier design assumed "no" where it cut a cycle and kept the
 * results under that assumption aside until it had proved right. It was right too, but needed to know of each result
 * which assumptions it rested on and whether an exclusion lay between, on every check, for data that few have. */
#include "eval.h"

#include "eval/cycles.h"
#include "eval/goal.h"
#include "eval/memo.h"

/* Goals that became frames before a memo is made: most checks end sooner, and then it would cost more than it saves. */
#define GOALS_BEFORE_MEMO 24u

typedef enum frame_kind { FRAME_OPERANDS, FRAME_USERSETS, FRAME_ARROW } frame_kind;
typedef enum frame_join { JOIN_OR, JOIN_AND, JOIN_MINUS } frame_join;

struct lic_eval_frame {
    lic_finding found;    /* from the operands so far; need counts from this frame's goal */
    lic_rel     relation; /* the goal that ends with this frame; LIC_NO_REL: it is a part of the one below */
    uint32_t    node;
    uint32_t    depth; /* left for the goal */
    uint8_t     kind;
    uint8_t     join;
    bool        empty; /* no operand was looked at yet */
    uint32_t    next;  /* FRAME_OPERANDS: the next operand. FRAME_USERSETS: the next allowed type */
    uint32_t    end;
    union {
        const uint32_t *operands; /* indices into ops */
        const lic_op   *arrow;
    };
    lic_walk walk;
    lic_slot row_slot; /* FRAME_ARROW: of the row before, and what rows of that slot mean */
    lic_rel  target;   /* FRAME_USERSETS: what is asked of the rows' subjects */
    bool     counts;
};

typedef lic_eval_frame frame;

/* One walk. */
typedef struct walk {
    lic_eval   *eval;
    size_t      count; /* frames in use */
    lic_failure stopped;
    bool        cycle; /* stopped, because a goal was met below itself */
} walk;

/* What one step of a frame brought. */
typedef enum progress { OPERAND_FOUND, OPERAND_BEGUN, OPERANDS_ENDED, WALK_STOPPED } progress;

static progress stop(walk *w, lic_failure failure)
{
    w->stopped = failure;
    return WALK_STOPPED;
}

/* ------------------------------------------------------------------ goals */

static bool is_in_progress(const walk *w, lic_goal goal)
{
    const frame *frames = w->eval->frames;

    for (size_t i = w->count; i-- > 0;)
        if (frames[i].node == goal.node && frames[i].relation == goal.relation)
            return true;
    return false;
}

/* A frame that is new on the stack; NULL: out of memory. Older pointers to frames are void afterwards. */
static frame *push(walk *w, frame_kind kind, frame_join join, lic_rel relation, uint32_t node, uint32_t depth)
{
    lic_eval *eval = w->eval;
    frame    *f;

    if (w->count == eval->frame_capacity) {
        void *frames = eval->frames;

        if (!lic_arena_grow(eval->arena, &frames, &eval->frame_capacity, w->count + 1, sizeof *f)) {
            stop(w, LIC_FAILURE_MEMORY);
            return NULL;
        }
        eval->frames = frames;
    }
    f           = &eval->frames[w->count++];
    f->found    = (lic_finding){ LIC_MEMBERSHIP_NO, 1 };
    f->relation = relation;
    f->node     = node;
    f->depth    = depth;
    f->kind     = (uint8_t)kind;
    f->join     = (uint8_t)join;
    f->empty    = true;
    return f;
}

static void push_operator(walk *w, uint32_t op_index, lic_rel relation, uint32_t node, uint32_t depth)
{
    const lic_program *program = w->eval->program;
    const lic_op      *op      = &program->ops[op_index];
    const frame_join   join    = op->kind == LIC_OP_INTERSECTION ? JOIN_AND
                                 : op->kind == LIC_OP_EXCLUSION  ? JOIN_MINUS
                                                                 : JOIN_OR;
    frame             *f       = push(w, FRAME_OPERANDS, join, relation, node, depth);

    if (f == NULL)
        return;
    f->next = 0;
    if (op->kind == LIC_OP_UNION || join != JOIN_OR) {
        f->operands = program->children + op->first;
        f->end      = op->count;
    } else { /* a permission that is a single operand */
        f->operands = &program->relations[relation].op;
        f->end      = 1;
    }
}

static void push_arrow(walk *w, const lic_op *op, uint32_t node, uint32_t depth)
{
    frame *f = push(w, FRAME_ARROW, op->kind == LIC_OP_ARROW_ALL ? JOIN_AND : JOIN_OR, LIC_NO_REL, node, depth);

    if (f == NULL)
        return;
    f->arrow    = op;
    f->row_slot = LIC_NO_SLOT;
    lic_walk_subjects(w->eval->snapshot, (lic_ref){ w->eval->program->relations[op->relation].slot, node }, &f->walk);
}

static void push_usersets(walk *w, const lic_relation *relation, lic_goal goal, uint32_t depth, lic_membership direct)
{
    frame *f = push(w, FRAME_USERSETS, JOIN_OR, goal.relation, goal.node, depth);

    if (f == NULL)
        return;
    f->found.value = direct;
    f->target      = LIC_NO_REL;
    f->next        = relation->first_allowed;
    f->end         = relation->first_allowed + relation->allowed_count;
}

/* Makes sure that there is a memo once the walk is large. */
static bool has_memo(walk *w)
{
    lic_eval *eval = w->eval;

    if (eval->memo == NULL && ++eval->goals > GOALS_BEFORE_MEMO) {
        eval->memo = lic_eval_memo_new(eval->arena);
        if (eval->memo == NULL)
            stop(w, LIC_FAILURE_MEMORY);
    }
    return eval->memo != NULL;
}

/* Begins a goal with so much depth left: it is decided at once, or becomes a frame. */
static progress begin_goal(walk *w, lic_goal goal, uint32_t depth, lic_finding *finding)
{
    const lic_relation *relation;
    lic_membership      direct = LIC_MEMBERSHIP_NO;

    if (lic_goal_is_subject(w->eval, goal)) {
        *finding = (lic_finding){ LIC_MEMBERSHIP_YES, 0 };
        return OPERAND_FOUND;
    }
    if (depth == 0) {
        *finding = (lic_finding){ LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH), 0 };
        return OPERAND_FOUND;
    }
    goal.relation = lic_goal_named(w->eval, goal.relation);
    relation      = &w->eval->program->relations[goal.relation];
    if (!relation->is_permission) {
        direct = lic_goal_direct(w->eval, relation, goal.node);
        if (direct.value == LIC_YES || !relation->has_usersets) {
            *finding = (lic_finding){ direct, 1 };
            return OPERAND_FOUND;
        }
    }
    if (has_memo(w) && lic_eval_memo_find(w->eval->memo, goal, depth, finding))
        return OPERAND_FOUND;
    w->cycle = is_in_progress(w, goal);
    if (w->cycle)
        return stop(w, LIC_FAILURE_DEPTH);
    if (relation->is_permission)
        push_operator(w, relation->op, goal.relation, goal.node, depth);
    else
        push_usersets(w, relation, goal, depth, direct);
    return w->stopped != LIC_FAILURE_NONE ? WALK_STOPPED : OPERAND_BEGUN;
}

/* ----------------------------------------------------------------- frames */

/* A step to another goal costs one of the depth. */
static progress step_to(walk *w, lic_goal goal, uint32_t depth, lic_finding *finding)
{
    const lic_failure failure = lic_goal_steps(w->eval, 1);
    progress          result;

    if (failure != LIC_FAILURE_NONE)
        return stop(w, failure);
    result = begin_goal(w, goal, depth - 1, finding);
    finding->need += result == OPERAND_FOUND;
    return result;
}

/* `self` in the permission that f is, or is a part of. */
static lic_membership self(const walk *w, const frame *f)
{
    const frame *whole = f;

    while (whole->relation == LIC_NO_REL)
        whole--;
    return lic_goal_self(w->eval, (lic_goal){ whole->relation, f->node });
}

static progress next_operand(walk *w, frame *f, lic_finding *finding)
{
    const lic_op *op;

    if (f->next == f->end)
        return OPERANDS_ENDED;
    op = &w->eval->program->ops[f->operands[f->next++]];
    switch (op->kind) {
    case LIC_OP_NAME:
        return step_to(w, (lic_goal){ op->relation, f->node }, f->depth, finding);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        push_arrow(w, op, f->node, f->depth);
        break;
    case LIC_OP_UNION:
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        push_operator(w, f->operands[f->next - 1], LIC_NO_REL, f->node, f->depth);
        break;
    case LIC_OP_NIL:
        *finding = (lic_finding){ LIC_MEMBERSHIP_NO, 1 };
        return OPERAND_FOUND;
    case LIC_OP_SELF:
        *finding = (lic_finding){ self(w, f), 1 };
        return OPERAND_FOUND;
    }
    return w->stopped != LIC_FAILURE_NONE ? WALK_STOPPED : OPERAND_BEGUN;
}

/* The members of the usersets in a relation, slot by slot. */
static progress next_userset(walk *w, frame *f, lic_finding *finding)
{
    const lic_program *program = w->eval->program;
    lic_ref            row;

    for (;;) {
        if (f->target != LIC_NO_REL && lic_walk_next(&f->walk, &row))
            return step_to(w, (lic_goal){ f->target, row.node }, f->depth, finding);
        if (f->next == f->end)
            return OPERANDS_ENDED;
        f->target = lic_allowed_userset(program, &program->allowed[f->next]);
        /* A leaf that holds nobody of the subject's type is not worth its rows. (Deeper ones are walked even
         * when they can't reach the type: they may fail for depth, and SpiceDB does.) */
        if (f->target != LIC_NO_REL && f->depth > 1 && lic_goal_is_leaf(&program->relations[f->target]) &&
            !lic_program_reaches(program, f->target, w->eval->subject_definition))
            f->target = LIC_NO_REL;
        if (f->target != LIC_NO_REL)
            lic_walk_subjects_in(w->eval->snapshot, (lic_ref){ program->relations[f->relation].slot, f->node },
                                 program->allowed[f->next].slot, &f->walk);
        f->next++;
    }
}

/* What the right side of an arrow gives on the subjects' objects. */
static progress next_target(walk *w, frame *f, lic_finding *finding)
{
    lic_ref row;

    do {
        if (!lic_walk_next(&f->walk, &row))
            return OPERANDS_ENDED;
        if (row.slot != f->row_slot) {
            f->row_slot = row.slot;
            f->target   = lic_goal_target(w->eval->program, f->arrow, row.slot, &f->counts);
        }
    } while (!f->counts);
    if (f->target != LIC_NO_REL)
        return step_to(w, (lic_goal){ f->target, row.node }, f->depth, finding);
    *finding   = (lic_finding){ LIC_MEMBERSHIP_NO, 1 };
    w->stopped = lic_goal_steps(w->eval, 1);
    return w->stopped != LIC_FAILURE_NONE ? WALK_STOPPED : OPERAND_FOUND;
}

static progress next(walk *w, frame *f, lic_finding *finding)
{
    switch ((frame_kind)f->kind) {
    case FRAME_OPERANDS:
        return next_operand(w, f, finding);
    case FRAME_USERSETS:
        return next_userset(w, f, finding);
    case FRAME_ARROW:
        return next_target(w, f, finding);
    }
    return OPERANDS_ENDED;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The depth that a joined value needs: that of the one operand which decided, else that of all. */
static uint32_t joined_need(const frame *f, lic_finding operand, lic_value deciding)
{
    if (operand.value.value == deciding)
        return operand.need;
    return larger(f->found.need, operand.need);
}

/* Joins an operand's finding; true: it decided, the rest can't change the result. */
static bool join(walk *w, frame *f, lic_finding operand)
{
    lic_arena   *arena   = w->eval->arena;
    lic_finding *found   = &f->found;
    bool         decided = false;

    switch ((frame_join)f->join) {
    case JOIN_OR:
        found->need  = joined_need(f, operand, LIC_YES);
        found->value = lic_membership_or(arena, found->value, operand.value);
        decided      = found->value.value == LIC_YES;
        break;
    case JOIN_AND:
        found->need  = joined_need(f, operand, LIC_NO);
        found->value = f->empty ? operand.value : lic_membership_and(arena, found->value, operand.value);
        f->empty     = false;
        decided      = found->value.value == LIC_NO;
        break;
    case JOIN_MINUS:
        found->need  = larger(found->need, operand.need);
        found->value = f->empty ? operand.value : lic_membership_minus(arena, found->value, operand.value);
        f->empty     = false;
        decided      = found->value.value == LIC_NO || found->value.value == LIC_FAILED;
        break;
    }
    if (found->value.failure == LIC_FAILURE_MEMORY)
        stop(w, LIC_FAILURE_MEMORY);
    return decided;
}

/* Ends the topmost frame and hands its finding to the one below, which may end by that, too. */
static void end_frames(walk *w, lic_finding *finding)
{
    frame *f;

    do {
        f        = &w->eval->frames[--w->count];
        *finding = f->found;
        if (f->relation != LIC_NO_REL) {
            const lic_goal goal = { f->relation, f->node };

            if (w->eval->memo != NULL && !lic_eval_memo_add(w->eval->memo, goal, f->depth, *finding)) {
                stop(w, LIC_FAILURE_MEMORY);
                return;
            }
            finding->need++;
        }
    } while (w->count > 0 && join(w, f - 1, *finding));
}

static lic_membership run(walk *w, lic_goal root)
{
    lic_finding finding;
    progress    step = begin_goal(w, root, w->eval->limits.max_depth, &finding);

    while (step != WALK_STOPPED && w->count > 0) {
        frame *f = &w->eval->frames[w->count - 1];

        step = next(w, f, &finding);
        if (step == OPERANDS_ENDED || (step == OPERAND_FOUND && join(w, f, finding)))
            end_frames(w, &finding);
        if (w->stopped != LIC_FAILURE_NONE)
            break;
    }
    return w->stopped != LIC_FAILURE_NONE ? LIC_MEMBERSHIP_FAILED(w->stopped) : finding.value;
}

/* -------------------------------------------------------------- interface */

lic_rel lic_goal_target(const lic_program *program, const lic_op *arrow, lic_slot subject_slot, bool *counts)
{
    const lic_relation *tupleset = &program->relations[arrow->relation];
    const lic_allowed  *allowed  = program->allowed + tupleset->first_allowed;

    *counts = false;
    for (uint32_t i = 0; i < tupleset->allowed_count; i++)
        if (allowed[i].slot == subject_slot && !allowed[i].wildcard && lic_allowed_admits_rows(&allowed[i])) {
            *counts = true;
            return lic_program_target(program, arrow, allowed[i].definition);
        }
    return LIC_NO_REL;
}

void lic_eval_init(lic_eval *eval, const lic_program *program, const lic_snapshot *snapshot, lic_arena *arena,
                   const lic_eval_limits *limits)
{
    *eval = (lic_eval){ .program = program, .snapshot = snapshot, .arena = arena, .limits = *limits };
}

void lic_eval_subject(lic_eval *eval, uint32_t definition, lic_ref subject)
{
    eval->subject_definition = definition;
    eval->subject            = subject;
    eval->everyone           = (lic_ref){ eval->program->definitions[definition].ellipsis, LIC_WILDCARD_NODE };
    eval->memo               = NULL;
    eval->goals              = 0;
}

static licet_status fail(const lic_eval *eval, lic_failure failure, licet_error **error)
{
    switch (failure) {
    case LIC_FAILURE_DEPTH:
        return lic_fail_reason(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", LIC_NOWHERE,
                               "max_depth exceeded: the answer lies more than %u objects and names away, or hangs on "
                               "a cycle through an exclusion",
                               eval->limits.max_depth);
    case LIC_FAILURE_STEPS:
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "max_steps exceeded: the check visits more than %llu edges",
                        (unsigned long long)eval->limits.max_steps);
    case LIC_FAILURE_DEADLINE:
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "the check took longer than %u ms", eval->limits.timeout_ms);
    case LIC_FAILURE_NONE:
    case LIC_FAILURE_MEMORY:
        break;
    }
    return lic_fail_memory(error);
}

licet_status lic_eval_check(lic_eval *eval, lic_rel relation, uint32_t node, lic_membership *answer,
                            licet_error **error)
{
    const lic_goal root = { relation, node };
    walk           w    = { .eval = eval };
    lic_membership found;

    *answer           = LIC_MEMBERSHIP_NO;
    eval->steps       = 0;
    eval->deadline_ms = 0;
    found             = run(&w, root);
    if (found.value == LIC_FAILED && found.failure == LIC_FAILURE_DEPTH)
        found = lic_eval_fixpoint(eval, root);
    if (found.value == LIC_FAILED)
        return fail(eval, found.failure, error);
    *answer = found;
    return LICET_OK;
}
