/* Check, depth first: a stack of frames, each an operator, the usersets of a relation, or an arrow.
 *
 * A goal that its own rows decide never becomes a frame. The others look at their operands one by one, and stop
 * at the first that decides. An operand that ran out of depth is an unknown, carried on by the tables of
 * three_valued.h; whoever lacks steps, time or memory, or stands on a goal again, ends the whole walk. A row with a
 * caveat is a frame of its own: an AND of the caveat and the goal behind it.
 *
 * Meeting a cycle hands the question to cycles.c. An earlier design assumed "no" where it cut a cycle and kept the
 * results under that assumption aside until it had proved right. It was right too, but needed to know of each result
 * which assumptions it rested on and whether an exclusion lay between, on every check, for data that few have. */
#include "eval.h"

#include "eval/conditions.h"
#include "eval/cycles.h"
#include "eval/goal.h"
#include "eval/memo.h"
#include "eval/search.h"

/* For what a check runs through for every goal: calls between these cost more than what they do. */
#define INLINE static inline __attribute__((always_inline))

#define NS_PER_S INT64_C(1000000000)

typedef enum frame_kind { FRAME_OPERANDS, FRAME_USERSETS, FRAME_ARROW, FRAME_CAVEATED } frame_kind;
typedef enum frame_join { JOIN_OR, JOIN_AND, JOIN_MINUS } frame_join;

/* A row of a relation, as the goal it leads to. */
typedef struct row {
    lic_goal goal;
    uint32_t attribute; /* its caveat; LIC_NO_ATTRIBUTE: none */
} row;

/* Node and depth lie apart: as neighbours they are read as one word, which has to wait for the two stores before it. */
struct lic_eval_frame {
    const lic_condition *condition; /* the finding from the operands so far: condition of LIC_IF, */
    uint32_t             value;     /* a lic_value, */
    uint32_t             need;      /* and its depth, counted from this frame's goal */
    uint32_t             node;
    uint32_t             next;  /* FRAME_OPERANDS: the next operand. FRAME_USERSETS: the next allowed type */
    uint32_t             depth; /* left for the goal */
    uint8_t              kind;
    uint8_t              join;
    bool                 empty;       /* no operand was looked at yet */
    uint8_t              ready_count; /* rows that were read ahead */
    lic_rel              relation; /* the goal that ends with this frame; LIC_NO_REL: it is a part of the one below */
    uint32_t             end;
    union {
        const uint32_t *operands; /* indices into ops */
        const lic_op   *arrow;
    };
    lic_walk walk;     /* over the rows of a relation */
    row      ready[2]; /* the rows read ahead */
    lic_rel  target;   /* what is asked of the subjects in the walk's rows; LIC_NO_REL: nothing */
    lic_slot row_slot; /* FRAME_ARROW: the slot that target and counts are about */
    bool     counts;
    bool     bare; /* rows without an attribute count */
};

typedef lic_eval_frame frame;

/* Frames there is room for at first: most checks need no more. */
#define FIRST_FRAMES ((size_t)16)

/* Frames in use before cycles are looked for. */
#define FRAMES_BEFORE_CYCLE ((size_t)8)

/* One walk. */
typedef struct walk {
    lic_eval           *eval;
    const lic_relation *relations; /* of the program */
    const lic_op       *ops;
    size_t              count; /* frames in use */
    bool                searched_in_vain;
    lic_failure         stopped;
} walk;

/* One step of a frame brings a finding, or instead of a value one of these. */
enum {
    OPERAND_BEGUN = LIC_NOT_FOUND, /* its own frame will tell */
    OPERANDS_ENDED,
    WALK_STOPPED
};

INLINE lic_finding no_finding(unsigned what)
{
    return lic_finding_of(what, NULL, 0);
}

static lic_finding stop(walk *w, lic_failure failure)
{
    w->stopped = failure;
    return no_finding(WALK_STOPPED);
}

/* ------------------------------------------------------------------ goals */

/* Is the goal being looked at below itself? Not asked while the stack is low: then a cycle is just gone round. */
INLINE bool is_in_progress(const walk *w, lic_goal goal)
{
    const frame *frames = w->eval->frames;

    if (w->count < FRAMES_BEFORE_CYCLE)
        return false;
    for (size_t i = w->count; i-- > 0;)
        if (frames[i].node == goal.node && frames[i].relation == goal.relation)
            return true;
    return false;
}

static bool make_room(walk *w)
{
    lic_eval    *eval   = w->eval;
    const size_t need   = w->count == 0 ? FIRST_FRAMES : w->count + 1;
    void        *frames = eval->frames;

    if (!lic_arena_grow(eval->arena, &frames, &eval->frame_capacity, need, sizeof(frame))) {
        stop(w, LIC_FAILURE_MEMORY);
        return false;
    }
    eval->frames = frames;
    return true;
}

/* Where the next frame goes; its contents are of no meaning. NULL: out of memory. Older pointers to frames are void
 * afterwards. */
INLINE frame *next_frame(walk *w)
{
    lic_eval *eval = w->eval;

    return w->count < eval->frame_capacity || make_room(w) ? &eval->frames[w->count] : NULL;
}

/* Makes a frame of it, on top of the stack but not on it yet: it goes on with w->count++, or is forgotten. */
INLINE void frame_init(frame *f, frame_kind kind, frame_join join, lic_goal goal, uint32_t depth)
{
    f->condition   = NULL;
    f->value       = LIC_NO;
    f->need        = 1;
    f->relation    = goal.relation;
    f->node        = goal.node;
    f->depth       = depth;
    f->kind        = (uint8_t)kind;
    f->join        = (uint8_t)join;
    f->empty       = true;
    f->ready_count = 0;
}

/* goal.relation is LIC_NO_REL for an operator inside a permission. */
INLINE lic_finding begin_operator(walk *w, uint32_t op_index, lic_goal goal, uint32_t depth)
{
    const lic_program *program = w->eval->program;
    const lic_op      *op      = &w->ops[op_index];
    const frame_join   join    = op->kind == LIC_OP_INTERSECTION ? JOIN_AND
                                 : op->kind == LIC_OP_EXCLUSION  ? JOIN_MINUS
                                                                 : JOIN_OR;
    frame             *f       = next_frame(w);

    if (f == NULL)
        return no_finding(WALK_STOPPED);
    frame_init(f, FRAME_OPERANDS, join, goal, depth);
    f->next = 0;
    if (op->kind == LIC_OP_UNION || join != JOIN_OR) {
        f->operands = program->children + op->first;
        f->end      = op->count;
    } else { /* a permission that is a single operand */
        f->operands = &w->relations[goal.relation].op;
        f->end      = 1;
    }
    w->count++;
    return no_finding(OPERAND_BEGUN);
}

/* ------------------------------------------------------------------- rows */

/* Goes on to the next allowed type of a relation that brings in members of usersets; false: there is none. whole: the
 * frame's walk is over all rows, untouched yet. */
static bool next_slot(const walk *w, frame *f, bool whole)
{
    const lic_program  *program  = w->eval->program;
    const lic_relation *relation = &w->relations[f->relation];

    while (f->next < f->end) {
        const lic_allowed *allowed = &program->allowed[f->next++];

        f->target = allowed->userset;
        if (f->target == LIC_NO_REL)
            continue;
        /* A leaf that holds nobody of the subject's type is not worth its rows. (Deeper ones are walked even
         * when they can't reach the type: they may fail for depth, and SpiceDB does.) With less depth it would fail. */
        if (f->depth > 1 && lic_goal_is_leaf(&program->relations[f->target]) &&
            !lic_program_reaches(program, f->target, w->eval->subject_definition)) {
            f->need = f->need < 2 ? 2 : f->need;
            continue;
        }
        if (whole)
            lic_walk_narrow(&f->walk, allowed->slot);
        else
            lic_walk_subjects_in(w->eval->snapshot, (lic_ref){ relation->slot, f->node }, allowed->slot, &f->walk);
        f->bare = allowed->bare;
        return true;
    }
    f->target = LIC_NO_REL;
    return false;
}

/* A row that does not count costs a step all the same. false: the walk is stopped. */
static __attribute__((noinline)) bool skip_row(walk *w)
{
    const lic_failure failure = lic_goal_steps(w->eval, 1);

    if (failure != LIC_FAILURE_NONE)
        stop(w, failure);
    return failure == LIC_FAILURE_NONE;
}

/* The next row of a relation's usersets. false: there is none, or the walk is stopped. */
INLINE bool read_userset(walk *w, frame *f, row *next)
{
    lic_ref subject;

    for (;;) {
        while (f->target == LIC_NO_REL || !lic_walk_next(&f->walk, &subject))
            if (!next_slot(w, f, false))
                return false;
        next->attribute = f->walk.attribute;
        if (lic_goal_row_counts(w->eval, &w->relations[f->relation], f->bare, subject, &next->attribute))
            break;
        if (!skip_row(w))
            return false;
    }
    next->goal = (lic_goal){ f->target, subject.node };
    return true;
}

/* The next row of an arrow's tupleset; its goal is without relation where the row's subject has no such name. false:
 * there is none, or the walk is stopped. */
INLINE bool read_target(walk *w, frame *f, row *next)
{
    lic_ref subject;

    for (;;) {
        if (!lic_walk_next(&f->walk, &subject))
            return false;
        next->attribute = f->walk.attribute;
        if (subject.slot != f->row_slot) {
            f->row_slot = subject.slot;
            f->target   = lic_goal_target(w->eval->program, f->arrow, subject.slot, &f->counts, &f->bare);
        }
        if (f->counts &&
            lic_goal_row_counts(w->eval, &w->relations[f->arrow->relation], f->bare, subject, &next->attribute))
            break;
        if (!skip_row(w))
            return false;
    }
    next->goal = (lic_goal){ f->target, subject.node };
    return true;
}

/* What a row that could not be read means, where without it the finding is this. */
INLINE lic_finding no_row(const walk *w, lic_finding otherwise)
{
    return w->stopped == LIC_FAILURE_NONE ? otherwise : no_finding(WALK_STOPPED);
}

static lic_finding make_memo(walk *w)
{
    w->eval->memo = lic_eval_memo_new(w->eval->arena);
    return w->eval->memo == NULL ? stop(w, LIC_FAILURE_MEMORY) : no_finding(LIC_NOT_FOUND);
}

/* What is remembered of a goal. Makes a memo once the walk is large. */
INLINE lic_finding remembered(walk *w, lic_goal goal, uint32_t depth)
{
    lic_eval *eval = w->eval;

    if (eval->memo != NULL)
        return lic_eval_memo_find(eval->memo, goal, depth);
    return ++eval->goals > LIC_GOALS_BEFORE_MEMO ? make_memo(w) : no_finding(LIC_NOT_FOUND);
}

/* The usersets of a relation whose own rows, over which the walk of the frame to be goes, gave `direct`. Apart, because
 * what it needs of the stack would be paid for by all the goals that don't come here. */
static __attribute__((noinline)) lic_finding begin_usersets(walk *w, lic_goal goal, uint32_t depth, lic_ways_in ways,
                                                            lic_membership direct)
{
    const lic_finding known = remembered(w, goal, depth);
    frame            *f     = &w->eval->frames[w->count];

    if (lic_finding_value(known) != LIC_NOT_FOUND)
        return known;
    frame_init(f, FRAME_USERSETS, JOIN_OR, goal, depth);
    f->value     = direct.value;
    f->condition = direct.condition;
    f->next      = ways.first;
    f->end       = ways.end;
    /* Mostly there is none, and no need for a frame. */
    if (!next_slot(w, f, true) || !read_userset(w, f, &f->ready[0]))
        return no_row(w, lic_finding_of(direct.value, direct.condition, f->need));
    f->ready_count = 1;
    if (is_in_progress(w, goal))
        return stop(w, LIC_FAILURE_DEPTH); /* a cycle */
    w->count++;
    return no_finding(OPERAND_BEGUN);
}

INLINE lic_finding begin_permission(walk *w, lic_goal goal, uint32_t depth)
{
    const lic_finding known = remembered(w, goal, depth);

    if (lic_finding_value(known) != LIC_NOT_FOUND)
        return known;
    if (is_in_progress(w, goal))
        return stop(w, LIC_FAILURE_DEPTH); /* a cycle */
    return begin_operator(w, w->relations[goal.relation].op, goal, depth);
}

/* A relation that holds the subject by a row with an attribute; if it brings in usersets, the walk of the frame to be goes
 * over its rows. Apart from the rest, which it would slow down. */
static __attribute__((noinline)) lic_finding begin_attributed(walk *w, lic_goal goal, uint32_t depth)
{
    const lic_relation  *relation = &w->relations[goal.relation];
    const lic_ways_in    ways     = lic_goal_ways_in(w->eval, relation);
    const lic_membership direct   = lic_goal_direct(w->eval, relation, ways, goal.node);

    if (direct.value == LIC_FAILED)
        return stop(w, direct.failure);
    if (direct.value != LIC_YES && ways.first != ways.end)
        return begin_usersets(w, goal, depth, ways, direct);
    return lic_finding_of(direct.value, direct.condition, 1);
}

/* A relation that brings in usersets. Most have no rows on most objects; that is seen at a glance. */
INLINE lic_finding begin_rows(walk *w, lic_goal goal, uint32_t depth, lic_ways_in ways)
{
    frame     *f = next_frame(w);
    lic_direct direct;

    if (f == NULL)
        return no_finding(WALK_STOPPED);
    lic_walk_subjects(w->eval->snapshot, (lic_ref){ w->relations[goal.relation].slot, goal.node }, &f->walk);
    if (lic_goal_rows_ended(&f->walk))
        return lic_finding_of(LIC_NO, NULL, 1);
    direct = lic_goal_find_direct_of(w->eval, ways, &f->walk);
    if (direct == LIC_DIRECT_ATTRIBUTED)
        return begin_attributed(w, goal, depth);
    if (direct == LIC_DIRECT_YES)
        return lic_finding_of(LIC_YES, NULL, 1);
    return begin_usersets(w, goal, depth, ways, LIC_MEMBERSHIP_NO);
}

/* By search.c. Whatever it could not tell once, it would mostly look at again for the goals below: so once is all. */
static lic_finding search(walk *w, lic_goal goal, uint32_t depth)
{
    const lic_finding finding = lic_eval_search(w->eval, goal, depth, true);

    w->searched_in_vain = lic_finding_value(finding) == LIC_NOT_FOUND;
    return finding;
}

/* Begins a goal with so much depth left: it is decided at once, or becomes a frame. */
static lic_finding begin_goal(walk *w, lic_goal goal, uint32_t depth)
{
    const lic_relation *relation = &w->relations[goal.relation];
    lic_ways_in         ways;
    lic_direct          direct;

    if (lic_goal_is_subject(w->eval, relation, goal.node))
        return lic_finding_of(LIC_YES, NULL, 0);
    if (depth == 0)
        return lic_finding_of(LIC_FAILED, NULL, 0);
    goal.relation = lic_goal_named(w->eval, relation, goal.relation);
    relation      = &w->relations[goal.relation];
    if (relation->is_union && !lic_goal_is_leaf(relation) && !w->searched_in_vain) {
        const lic_finding found = search(w, goal, depth);

        if (lic_finding_value(found) != LIC_NOT_FOUND)
            return found;
    }
    if (relation->is_permission)
        return begin_permission(w, goal, depth);
    ways = lic_goal_ways_in(w->eval, relation);
    if (ways.first != ways.end)
        return begin_rows(w, goal, depth, ways);
    direct = lic_goal_find_direct(w->eval, ways, (lic_ref){ relation->slot, goal.node });
    if (direct == LIC_DIRECT_ATTRIBUTED)
        return begin_attributed(w, goal, depth);
    return lic_finding_of(direct == LIC_DIRECT_YES ? LIC_YES : LIC_NO, NULL, 1);
}

/* A step to another goal costs one of the depth. A goal without relation holds nobody. */
INLINE lic_finding step_to(walk *w, lic_goal goal, uint32_t depth)
{
    const lic_failure failure = lic_goal_steps(w->eval, 1);

    if (failure != LIC_FAILURE_NONE)
        return stop(w, failure);
    if (goal.relation == LIC_NO_REL)
        return lic_finding_of(LIC_NO, NULL, 1);
    return lic_finding_beyond(begin_goal(w, goal, depth - 1));
}

/* A step that counts only if the row's caveat holds. */
static __attribute__((noinline)) lic_finding begin_caveated(walk *w, const row *from, uint32_t depth)
{
    const row            copy   = *from; /* frames may move */
    const lic_membership caveat = lic_goal_caveated(w->eval, copy.attribute);
    frame               *f      = next_frame(w);

    if (f == NULL)
        return no_finding(WALK_STOPPED);
    if (caveat.value == LIC_FAILED)
        return stop(w, caveat.failure);
    frame_init(f, FRAME_CAVEATED, JOIN_AND, (lic_goal){ LIC_NO_REL, copy.goal.node }, depth);
    f->value       = caveat.value;
    f->condition   = caveat.condition;
    f->empty       = false;
    f->ready[0]    = (row){ copy.goal, LIC_NO_ATTRIBUTE };
    f->ready_count = 1;
    w->count++;
    return no_finding(OPERAND_BEGUN);
}

INLINE lic_finding step_along(walk *w, const row *next, uint32_t depth)
{
    return next->attribute == LIC_NO_ATTRIBUTE ? step_to(w, next->goal, depth) : begin_caveated(w, next, depth);
}

INLINE lic_finding begin_arrow(walk *w, const lic_op *op, uint32_t node, uint32_t depth)
{
    const frame_join join = op->kind == LIC_OP_ARROW_ALL ? JOIN_AND : JOIN_OR;
    frame           *f    = next_frame(w);

    if (f == NULL)
        return no_finding(WALK_STOPPED);
    f->arrow    = op;
    f->row_slot = LIC_NO_SLOT;
    lic_walk_subjects(w->eval->snapshot, (lic_ref){ w->relations[op->relation].slot, node }, &f->walk);
    if (!read_target(w, f, &f->ready[1]))
        return no_row(w, lic_finding_of(LIC_NO, NULL, 1));
    /* Of a single row, any and all are what it gives. */
    if (lic_goal_rows_ended(&f->walk) || !read_target(w, f, &f->ready[0]))
        return w->stopped == LIC_FAILURE_NONE ? step_along(w, &f->ready[1], depth) : no_finding(WALK_STOPPED);
    frame_init(f, FRAME_ARROW, join, (lic_goal){ LIC_NO_REL, node }, depth);
    f->ready_count = 2;
    w->count++;
    return no_finding(OPERAND_BEGUN);
}

/* ----------------------------------------------------------------- frames */

/* `self` in the permission that f is, or is a part of. */
static lic_membership self(const walk *w, const frame *f)
{
    const frame *whole = f;

    while (whole->relation == LIC_NO_REL)
        whole--;
    return lic_goal_self(w->eval, (lic_goal){ whole->relation, f->node });
}

INLINE lic_finding next_operand(walk *w, frame *f)
{
    const lic_op *op;

    if (f->next == f->end)
        return no_finding(OPERANDS_ENDED);
    op = &w->ops[f->operands[f->next++]];
    switch (op->kind) {
    case LIC_OP_NAME:
        return step_to(w, (lic_goal){ op->relation, f->node }, f->depth);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return begin_arrow(w, op, f->node, f->depth);
    case LIC_OP_UNION:
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        return begin_operator(w, f->operands[f->next - 1], (lic_goal){ LIC_NO_REL, f->node }, f->depth);
    case LIC_OP_SELF:
        return lic_finding_of(self(w, f).value, NULL, 1);
    case LIC_OP_NIL:
        break;
    }
    return lic_finding_of(LIC_NO, NULL, 1);
}

INLINE lic_finding next_row(walk *w, frame *f)
{
    row next;

    if (f->ready_count > 0)
        next = f->ready[--f->ready_count];
    else if (f->kind == FRAME_CAVEATED ||
             !(f->kind == FRAME_USERSETS ? read_userset(w, f, &next) : read_target(w, f, &next)))
        return no_row(w, no_finding(OPERANDS_ENDED));
    return step_along(w, &next, f->depth);
}

static lic_membership membership_of(unsigned value, const lic_condition *condition)
{
    return (lic_membership){ (lic_value)value, value == LIC_FAILED ? LIC_FAILURE_DEPTH : LIC_FAILURE_NONE, condition };
}

/* By the tables of three_valued.h. */
static void join_values(walk *w, frame *f, lic_finding operand)
{
    lic_arena     *arena = w->eval->arena;
    lic_membership a     = membership_of(f->value, f->condition);
    lic_membership b     = membership_of(lic_finding_value(operand), operand.condition);
    lic_membership value = f->join == JOIN_OR    ? lic_membership_or(arena, a, b)
                           : f->join == JOIN_AND ? lic_membership_and(arena, a, b)
                                                 : lic_membership_minus(arena, a, b);

    f->value     = value.value;
    f->condition = value.condition;
    if (value.failure == LIC_FAILURE_MEMORY)
        stop(w, LIC_FAILURE_MEMORY);
}

/* Joins an operand's finding; true: it decided, the rest can't change the result. A value that one operand decides
 * needs that operand's depth, any other the depth of all. */
INLINE bool join(walk *w, frame *f, lic_finding operand)
{
    const unsigned value = lic_finding_value(operand);
    const uint32_t need  = lic_finding_need(operand);

    if (f->join == JOIN_OR ? value == LIC_YES : f->empty || (value == LIC_NO && f->join == JOIN_AND)) {
        f->empty     = false;
        f->value     = value;
        f->condition = operand.condition;
        f->need      = need;
        return f->join == JOIN_OR || value == LIC_NO || (value == LIC_FAILED && f->join == JOIN_MINUS);
    }
    if (need > f->need)
        f->need = need;
    if (value != (f->join == JOIN_AND ? LIC_YES : LIC_NO))
        join_values(w, f, operand);
    return false;
}

/* Ends the topmost frame and hands its finding to the one below, which may end by that, too. */
static lic_finding end_frames(walk *w)
{
    lic_finding finding;
    frame      *f;

    do {
        f       = &w->eval->frames[--w->count];
        finding = lic_finding_of(f->value, f->condition, f->need);
        if (f->relation != LIC_NO_REL) {
            const lic_goal goal = { f->relation, f->node };

            /* The question itself is seldom a part of the next one. */
            if (w->eval->memo != NULL && w->count > 0 && !lic_eval_memo_add(w->eval->memo, goal, f->depth, finding))
                return stop(w, LIC_FAILURE_MEMORY);
            finding = lic_finding_beyond(finding);
        }
    } while (w->count > 0 && join(w, f - 1, finding));
    return finding;
}

INLINE frame *top(const walk *w)
{
    return &w->eval->frames[w->count - 1];
}

static __attribute__((noinline)) lic_membership run(lic_eval *eval, lic_goal root, bool searched_in_vain)
{
    walk        w       = { eval, eval->program->relations, eval->program->ops, 0, searched_in_vain, LIC_FAILURE_NONE };
    lic_finding finding = begin_goal(&w, root, eval->limits.max_depth);

    while (w.count > 0 && w.stopped == LIC_FAILURE_NONE) {
        frame   *f = top(&w);
        unsigned value;

        finding = f->kind == FRAME_OPERANDS ? next_operand(&w, f) : next_row(&w, f);
        value   = lic_finding_value(finding);
        if (value == OPERANDS_ENDED || (value <= LIC_FAILED && join(&w, top(&w), finding))) /* it may have moved */
            finding = end_frames(&w);
    }
    if (w.stopped != LIC_FAILURE_NONE)
        return LIC_MEMBERSHIP_FAILED(w.stopped);
    return membership_of(lic_finding_value(finding), finding.condition);
}

/* -------------------------------------------------------------- interface */

lic_rel lic_goal_target(const lic_program *program, const lic_op *arrow, lic_slot subject_slot, bool *counts,
                        bool *bare)
{
    const lic_relation *tupleset = &program->relations[arrow->relation];
    const lic_allowed  *allowed  = program->allowed + tupleset->first_allowed;
    uint32_t            found    = LIC_NO_DEFINITION;

    *bare = false;
    for (uint32_t i = 0; i < tupleset->allowed_count && !*bare; i++)
        if (allowed[i].slot == subject_slot && !allowed[i].wildcard) {
            found = allowed[i].definition;
            *bare = allowed[i].bare;
        }
    *counts = found != LIC_NO_DEFINITION;
    return *counts ? lic_program_target(program, arrow, found) : LIC_NO_REL;
}

/* Does the schema allow such a row? content: NULL for one without an attribute. */
static bool fits(const lic_program *program, const lic_relation *relation, lic_ref row, const lic_attribute *content)
{
    const bool     expires = content != NULL && content->expires_at_s != LIC_NEVER_EXPIRES;
    const uint32_t caveat  = content == NULL ? LIC_NO_CAVEAT : lic_program_numbered_caveat(program, content->caveat);

    if (content != NULL && content->caveat != LIC_NO_CAVEAT_NAME && caveat == LIC_NO_CAVEAT)
        return false;
    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        const lic_allowed *allowed = &program->allowed[relation->first_allowed + i];

        if (allowed->slot == row.slot && allowed->wildcard == (row.node == LIC_WILDCARD_NODE) &&
            allowed->caveat == caveat && allowed->expiration == expires)
            return true;
    }
    return false;
}

static bool has_expired(const lic_eval *eval, const lic_attribute *attribute)
{
    lic_moment  own    = { .now = NULL };
    lic_moment *moment = eval->moment == NULL ? &own : eval->moment;

    if (attribute->expires_at_s == LIC_NEVER_EXPIRES)
        return false;
    if (!moment->is_read) {
        const int64_t now = moment->now == NULL ? lic_wall_ns() : moment->now(moment->source);

        moment->seconds     = now / NS_PER_S - (now % NS_PER_S < 0);
        moment->nanoseconds = (uint32_t)((now % NS_PER_S + NS_PER_S) % NS_PER_S);
        moment->is_read     = true;
        moment->is_lost     = now == LIC_NO_TIME;
    }
    return lic_attribute_expired(attribute, moment->seconds, moment->nanoseconds);
}

bool lic_goal_holds_row(const lic_eval *eval, const lic_relation *relation, lic_ref row, uint32_t *attribute)
{
    const lic_attribute *content = lic_graph_attribute(eval->snapshot->graph, *attribute);

    if (content != NULL && content->caveat == LIC_NO_CAVEAT_NAME)
        *attribute = LIC_NO_ATTRIBUTE;
    return fits(eval->program, relation, row, content) && (content == NULL || !has_expired(eval, content));
}

lic_membership lic_goal_caveated(lic_eval *eval, uint32_t attribute)
{
    const lic_condition *leaf    = lic_condition_leaf(eval->arena, attribute);
    lic_failure          failure = leaf == NULL ? LIC_FAILURE_MEMORY : LIC_FAILURE_NONE;
    lic_truth            truth   = LIC_OPEN;

    eval->met_caveat = true;
    if (failure == LIC_FAILURE_NONE && eval->judges)
        failure = lic_condition_truth(eval, leaf, &truth);
    if (failure != LIC_FAILURE_NONE)
        return LIC_MEMBERSHIP_FAILED(failure);
    if (truth != LIC_OPEN)
        return truth == LIC_TRUE ? LIC_MEMBERSHIP_YES : LIC_MEMBERSHIP_NO;
    return (lic_membership){ LIC_IF, LIC_FAILURE_NONE, leaf };
}

/* The membership that one stored row gives to its own subject. */
static lic_membership row_of(lic_eval *eval, const lic_relation *relation, uint32_t node, lic_ref subject)
{
    uint32_t attribute;

    if (!lic_snapshot_find(eval->snapshot, (lic_ref){ relation->slot, node }, subject, &attribute) ||
        !lic_goal_holds_row(eval, relation, subject, &attribute))
        return LIC_MEMBERSHIP_NO;
    return attribute == LIC_NO_ATTRIBUTE ? LIC_MEMBERSHIP_YES : lic_goal_caveated(eval, attribute);
}

lic_membership lic_goal_direct(lic_eval *eval, const lic_relation *relation, lic_ways_in ways, uint32_t node)
{
    lic_membership found = LIC_MEMBERSHIP_NO;

    if (ways.plain)
        found = row_of(eval, relation, node, eval->subject);
    return ways.wildcard ? lic_membership_or(eval->arena, found, row_of(eval, relation, node, eval->everyone)) : found;
}

lic_failure lic_goal_look(lic_eval *eval)
{
    const uint64_t left = eval->limits.max_steps - eval->steps;

    if (eval->steps > eval->limits.max_steps)
        return LIC_FAILURE_STEPS;
    eval->next_look = eval->steps + (left < LIC_STEPS_PER_CLOCK ? left : LIC_STEPS_PER_CLOCK);
    return lic_goal_look_at_clock(eval);
}

lic_failure lic_goal_look_at_clock(lic_eval *eval)
{
    if (eval->deadline_ms == 0)
        eval->deadline_ms = lic_monotonic_ms() + eval->limits.timeout_ms;
    return lic_monotonic_ms() > eval->deadline_ms ? LIC_FAILURE_DEADLINE : LIC_FAILURE_NONE;
}

void lic_eval_init(lic_eval *eval, const lic_program *program, const lic_snapshot *snapshot, lic_arena *arena,
                   const lic_eval_limits *limits)
{
    *eval = (lic_eval){ .program = program, .snapshot = snapshot, .arena = arena, .limits = *limits };
}

static void forget(lic_eval *eval)
{
    eval->memo       = NULL;
    eval->goals      = 0;
    eval->met_caveat = false;
}

void lic_eval_subject(lic_eval *eval, uint32_t definition, lic_ref subject)
{
    eval->subject_definition = definition;
    eval->subject            = subject;
    eval->everyone           = (lic_ref){ eval->program->definitions[definition].ellipsis, LIC_WILDCARD_NODE };
    forget(eval);
}

licet_status lic_eval_fail(const lic_eval *eval, lic_failure failure, licet_error **error)
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

static bool is_too_deep(lic_membership found)
{
    return found.value == LIC_FAILED && found.failure == LIC_FAILURE_DEPTH;
}

/* The walk once more. What it remembers is for this context alone. */
static lic_membership run_judging(lic_eval *eval, lic_goal root)
{
    lic_membership found;

    forget(eval);
    eval->judges = true;
    found        = run(eval, root, true);
    eval->judges = false;
    forget(eval);
    return found;
}

licet_status lic_eval_check(lic_eval *eval, lic_rel relation, uint32_t node, lic_membership *answer,
                            licet_error **error)
{
    const lic_goal root     = { relation, node };
    const bool     is_union = eval->program->relations[relation].is_union;
    lic_membership found;

    *answer = LIC_MEMBERSHIP_NO;
    lic_goal_reset_steps(eval);
    if (is_union) { /* most end here */
        const unsigned value = lic_finding_value(lic_eval_search(eval, root, eval->limits.max_depth, false));

        if (value != LIC_NOT_FOUND) {
            answer->value = (lic_value)value;
            return LICET_OK;
        }
    }
    found = run(eval, root, is_union);
    if (is_too_deep(found))
        found = lic_eval_fixpoint(eval, root);
    if (is_too_deep(found) && eval->met_caveat)
        found = run_judging(eval, root);
    if (found.value == LIC_FAILED)
        return lic_eval_fail(eval, found.failure, error);
    *answer = found;
    return LICET_OK;
}
