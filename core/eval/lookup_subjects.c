/* The sets of goals are put together by a stack of units, each an operator or the union of all that a step leads to
 * through unions alone. A union reads its goals' rows into one list, so that members are handled once however deep
 * they lie, and a goal is met once however many ways, or cycles, lead to it. Intersections and exclusions, and goals
 * behind a caveat that stays open, are units of their own and remembered. A unit that is met inside itself means a
 * cycle that does not run through unions alone. */
#include "eval/lookup_subjects.h"

#include "base/sort.h"
#include "eval/holders.h"
#include "eval/layout.h"

/* A direct subject that was read: its node, and its verdict in the lower half. */
typedef uint64_t member;

static uint32_t node_of(member m)
{
    return (uint32_t)(m >> 32);
}

static lic_verdict verdict_of(member m)
{
    return (lic_verdict)m;
}

/* What a frame still has to put together. */
typedef struct unit {
    uint32_t    step;
    lic_verdict under;
} unit;

typedef struct frame {
    uint32_t    step;
    uint8_t     kind;       /* LIC_STEP_AND, _MINUS; of all others a union */
    bool        is_started; /* AND, MINUS: `set` is that of the first operand */
    lic_holders set;
    size_t      first_unit; /* in units */
    size_t      next_unit;
    size_t      first_set; /* in sets */
} frame;

typedef struct lookup {
    lic_eval           *eval;
    lic_eval_limits     check_limits;
    lic_arena           scratch; /* all below */
    lic_layout          layout;
    lic_verdicts        verdicts; /* but for its map */
    const lic_holders **known;    /* by step; &in_progress: on the stack */
    uint32_t           *marks;    /* by goal: the walk that was there */
    uint32_t            walk_number;
    uint32_t           *steps; /* the walk's agenda */
    size_t              step_count;
    size_t              step_capacity;
    member             *members; /* of the walk */
    size_t              member_count;
    size_t              member_capacity;
    bool                is_sorted; /* strictly */
    bool                lists_all; /* also those whose rows give nothing */
    lic_verdict         others;    /* of the walk: by wildcards */
    frame              *frames;
    size_t              frame_count;
    size_t              frame_capacity;
    unit               *units;
    size_t              unit_count;
    size_t              unit_capacity;
    lic_holders        *sets;
    size_t              set_count;
    size_t              set_capacity;
    uint64_t            handled; /* members of sets, since the clock was looked at */
    lic_holders         result;
    bool                needs_certainty; /* sets say too little where a row counts on a condition, or not at all */
    bool                needs_checks;
    lic_failure         failure;
} lookup;

/* In `known`, for a unit that is on the stack. Nobody looks into it. */
static const lic_holders in_progress;

static bool failed(lookup *l, lic_failure failure)
{
    if (l->failure == LIC_FAILURE_NONE)
        l->failure = failure;
    return false;
}

/* ------------------------------------------------------------ growing lists */

static bool push_step(lookup *l, uint32_t step)
{
    void *steps = l->steps;

    if (!lic_arena_grow(&l->scratch, &steps, &l->step_capacity, l->step_count + 1, sizeof *l->steps))
        return failed(l, LIC_FAILURE_MEMORY);
    l->steps                  = steps;
    l->steps[l->step_count++] = step;
    return true;
}

static bool push_unit(lookup *l, uint32_t step, lic_verdict under)
{
    void *units = l->units;

    if (!lic_arena_grow(&l->scratch, &units, &l->unit_capacity, l->unit_count + 1, sizeof *l->units))
        return failed(l, LIC_FAILURE_MEMORY);
    l->units                  = units;
    l->units[l->unit_count++] = (unit){ step, under };
    return true;
}

static bool push_set(lookup *l, lic_holders set)
{
    void *sets = l->sets;

    if (lic_holders_is_empty(&set))
        return true;
    if (!lic_arena_grow(&l->scratch, &sets, &l->set_capacity, l->set_count + 1, sizeof *l->sets))
        return failed(l, LIC_FAILURE_MEMORY);
    l->sets                 = sets;
    l->sets[l->set_count++] = set;
    return true;
}

static bool add_member(lookup *l, uint32_t node, lic_verdict verdict)
{
    void *members = l->members;

    if (verdict == LIC_VERDICT_NO && !l->lists_all)
        return true;
    if (l->member_count == l->member_capacity &&
        !lic_arena_grow(&l->scratch, &members, &l->member_capacity, l->member_count + 1, sizeof *l->members))
        return failed(l, LIC_FAILURE_MEMORY);
    l->members = members;
    l->is_sorted &= l->member_count == 0 || node_of(l->members[l->member_count - 1]) < node;
    l->members[l->member_count++] = (uint64_t)node << 32 | verdict;
    return true;
}

/* --------------------------------------------------------------------- rows */

/* What its caveat makes of a row that is there. */
static bool judge_attribute(lookup *l, uint32_t attribute, lic_verdict *verdict)
{
    const lic_failure failure = lic_verdict_of_row(&l->verdicts, attribute, verdict);

    l->needs_checks |= l->needs_certainty && *verdict != LIC_VERDICT_YES;
    return failure == LIC_FAILURE_NONE || failed(l, failure);
}

/* What a row is worth: no, if it does not count. */
static bool judge_row(lookup *l, const lic_relation *relation, lic_ref row, uint32_t attribute, lic_verdict *verdict)
{
    lic_failure failure = lic_goal_steps(l->eval, 1);

    *verdict = LIC_VERDICT_NO;
    if (failure != LIC_FAILURE_NONE)
        return failed(l, failure);
    if (attribute == LIC_NO_ATTRIBUTE && relation->is_bare) {
        *verdict = LIC_VERDICT_YES;
        return true;
    }
    return !lic_goal_holds_row(l->eval, relation, row, &attribute) || judge_attribute(l, attribute, verdict);
}

static bool read_plain_rows(lookup *l, const lic_relation *relation, lic_ref resource, lic_verdict under)
{
    lic_walk    walk;
    lic_ref     row;
    lic_verdict verdict;

    lic_walk_subjects_in(l->eval->snapshot, resource, l->eval->subject.slot, &walk);
    while (lic_walk_next(&walk, &row)) {
        if (row.node == LIC_WILDCARD_NODE)
            continue;
        if (!judge_row(l, relation, row, walk.attribute, &verdict) ||
            !add_member(l, row.node, lic_verdict_and(&l->verdicts, under, verdict)))
            return false;
    }
    return true;
}

static bool read_rows(lookup *l, lic_goal goal, lic_verdict under)
{
    const lic_relation *relation = &l->eval->program->relations[goal.relation];
    const lic_ways_in   ways     = lic_goal_ways_in(l->eval, relation);
    const lic_ref       resource = { relation->slot, goal.node };
    uint32_t            attribute;
    lic_verdict         verdict;

    if (ways.plain && !read_plain_rows(l, relation, resource, under))
        return false;
    if (!ways.wildcard || !lic_snapshot_find(l->eval->snapshot, resource, l->eval->everyone, &attribute))
        return true;
    if (!judge_row(l, relation, l->eval->everyone, attribute, &verdict))
        return false;
    l->others = lic_verdict_or(&l->verdicts, l->others, lic_verdict_and(&l->verdicts, under, verdict));
    return true;
}

/* --------------------------------------------------------------------- walks */

static uint32_t whole_of(const lookup *l, uint32_t goal)
{
    return l->layout.goals[goal].end - 1;
}

/* Goes to a goal, unless the walk was there. Where an earlier walk was, later ones are to find a set: the goal becomes
 * a unit. Not on a cycle: there a unit would meet itself. */
static bool visit_goal(lookup *l, const lic_step *step, lic_verdict under)
{
    const uint32_t     whole = whole_of(l, step->goal);
    const lic_holders *known = l->known[whole];
    const uint32_t     mark  = l->marks[step->goal];

    if (under != LIC_VERDICT_YES)
        return push_unit(l, whole, under);
    if (mark == l->walk_number)
        return true;
    l->marks[step->goal] = l->walk_number;
    if (mark != 0 && known == NULL && !l->layout.goals[step->goal].on_cycle)
        return push_unit(l, whole, under);
    return known != NULL && known != &in_progress ? push_set(l, *known) : push_step(l, whole);
}

/* The last operand first: operands end where the next one begins. */
static bool visit_operands(lookup *l, uint32_t step)
{
    const lic_step *steps = l->layout.steps;
    const uint32_t  first = step + 1 - steps[step].span;

    for (uint32_t end = step; end > first; end -= steps[end - 1].span)
        if (!push_step(l, end - 1))
            return false;
    return true;
}

static bool visit(lookup *l, uint32_t number)
{
    const lic_step *step = &l->layout.steps[number];
    lic_verdict     under;

    if (!judge_attribute(l, step->attribute, &under))
        return false;
    if (under == LIC_VERDICT_NO)
        return true;
    switch ((lic_step_kind)step->kind) {
    case LIC_STEP_ROWS:
        return read_rows(l, step->subject, under);
    case LIC_STEP_OBJECT:
        return add_member(l, step->subject.node, under);
    case LIC_STEP_GOAL:
        return visit_goal(l, step, under);
    case LIC_STEP_OR:
        return visit_operands(l, number);
    case LIC_STEP_AND:
    case LIC_STEP_MINUS:
        return push_unit(l, number, LIC_VERDICT_YES);
    case LIC_STEP_NOBODY:
    case LIC_STEP_TOO_DEEP:
        break;
    }
    return true;
}

static bool sort_members(lookup *l)
{
    return l->is_sorted || lic_sort_keys(&l->scratch, l->members, l->member_count) || failed(l, LIC_FAILURE_MEMORY);
}

/* The members that were read, as a set. */
static bool push_members(lookup *l)
{
    lic_holder *named = lic_arena_alloc(&l->scratch, l->member_count * sizeof *named); /* no more than are there */
    size_t      count = 0;

    if (named == NULL)
        return failed(l, LIC_FAILURE_MEMORY);
    if (!sort_members(l))
        return false;
    for (size_t i = 0; i < l->member_count;) {
        const uint32_t node    = node_of(l->members[i]);
        lic_verdict    verdict = LIC_VERDICT_NO;

        for (; i < l->member_count && node_of(l->members[i]) == node; i++)
            verdict = lic_verdict_or(&l->verdicts, verdict, verdict_of(l->members[i]));
        named[count++] = (lic_holder){ node, lic_verdict_or(&l->verdicts, verdict, l->others),
                                       (uint8_t)lic_verdict_truth(verdict), LIC_FALSE };
    }
    return push_set(l, (lic_holders){ l->others, named, count });
}

/* All that a step leads to through unions: its rows become a set, the rest become units. */
static bool walk_union(lookup *l, uint32_t step)
{
    l->walk_number++;
    l->step_count   = 0;
    l->member_count = 0;
    l->is_sorted    = true;
    l->others       = LIC_VERDICT_NO;
    if (!push_step(l, step))
        return false;
    while (l->step_count > 0)
        if (!visit(l, l->steps[--l->step_count]))
            return false;
    return (l->member_count == 0 && l->others == LIC_VERDICT_NO) || push_members(l);
}

/* -------------------------------------------------------------------- frames */

/* In their order: the base of an exclusion comes first. */
static bool push_operands(lookup *l, uint32_t step)
{
    const lic_step *steps = l->layout.steps;
    const uint32_t  first = step + 1 - steps[step].span;
    const size_t    from  = l->unit_count;

    for (uint32_t end = step; end > first; end -= steps[end - 1].span)
        if (!push_unit(l, end - 1, LIC_VERDICT_YES))
            return false;
    for (size_t i = from, j = l->unit_count; i + 1 < j; i++, j--) {
        const unit other = l->units[i];

        l->units[i]     = l->units[j - 1];
        l->units[j - 1] = other;
    }
    return true;
}

static bool push_frame(lookup *l, uint32_t step)
{
    const lic_step_kind kind   = (lic_step_kind)l->layout.steps[step].kind;
    void               *frames = l->frames;

    if (!lic_arena_grow(&l->scratch, &frames, &l->frame_capacity, l->frame_count + 1, sizeof *l->frames))
        return failed(l, LIC_FAILURE_MEMORY);
    l->frames                   = frames;
    l->frames[l->frame_count++] = (frame){ .step       = step,
                                           .kind       = (uint8_t)kind,
                                           .first_unit = l->unit_count,
                                           .next_unit  = l->unit_count,
                                           .first_set  = l->set_count };
    l->known[step]              = &in_progress;
    return kind == LIC_STEP_AND || kind == LIC_STEP_MINUS ? push_operands(l, step) : walk_union(l, step);
}

/* Sets that are put together take time, too, though no steps. */
static bool work(lookup *l, const lic_holders *a, const lic_holders *b)
{
    lic_failure failure = LIC_FAILURE_NONE;

    l->handled += a->count + b->count;
    if (l->handled >= LIC_STEPS_PER_CLOCK) {
        l->handled = 0;
        failure    = lic_goal_look_at_clock(l->eval);
    }
    return failure == LIC_FAILURE_NONE || failed(l, failure);
}

/* Gives a set to the frame on top, under the condition of the unit that it waits for. */
static bool deliver(lookup *l, const lic_holders *set)
{
    frame      *f = l->frame_count == 0 ? NULL : &l->frames[l->frame_count - 1];
    lic_holders got;
    const unit *waiting;
    bool        made;

    if (f == NULL) {
        l->result = *set;
        return true;
    }
    waiting = &l->units[f->next_unit - 1];
    if (!work(l, &f->set, set))
        return false;
    if (!lic_holders_under(&l->verdicts, &l->scratch, set, waiting->under, &got))
        return failed(l, LIC_FAILURE_MEMORY);
    if (f->kind != LIC_STEP_AND && f->kind != LIC_STEP_MINUS)
        return push_set(l, got);
    made = !f->is_started || (f->kind == LIC_STEP_AND ? lic_holders_and : lic_holders_minus)(&l->verdicts, &l->scratch,
                                                                                             &f->set, &got, &got);
    f->set        = got;
    f->is_started = true;
    return made || failed(l, LIC_FAILURE_MEMORY);
}

/* The unit's set, from memory or by a frame of its own. */
static bool begin_unit(lookup *l, uint32_t number)
{
    const lic_step *step = &l->layout.steps[number];

    if (step->kind == LIC_STEP_GOAL && step->attribute == LIC_NO_ATTRIBUTE)
        number = whole_of(l, step->goal);
    if (l->known[number] == NULL)
        return push_frame(l, number);
    l->needs_checks |= l->known[number] == &in_progress;
    return deliver(l, l->known[number]);
}

/* By halves, so that many small sets cost no more than one large one. */
static bool unite_sets(lookup *l, size_t first, lic_holders *out)
{
    *out = (lic_holders){ LIC_VERDICT_NO, NULL, 0 };
    while (l->set_count - first > 1) {
        const size_t count = l->set_count - first;
        lic_holders *sets  = l->sets + first;

        for (size_t i = 0; i < count / 2; i++) {
            if (!work(l, &sets[2 * i], &sets[2 * i + 1]))
                return false;
            if (!lic_holders_or(&l->verdicts, &l->scratch, &sets[2 * i], &sets[2 * i + 1], &sets[i]))
                return failed(l, LIC_FAILURE_MEMORY);
        }
        if (count % 2 != 0)
            sets[count / 2] = sets[count - 1];
        l->set_count = first + (count + 1) / 2;
    }
    if (l->set_count > first)
        *out = l->sets[first];
    l->set_count = first;
    return true;
}

static bool finish_frame(lookup *l)
{
    const frame  f   = l->frames[l->frame_count - 1];
    lic_holders *set = lic_new(&l->scratch, lic_holders);

    if (set == NULL)
        return failed(l, LIC_FAILURE_MEMORY);
    *set = f.set;
    if (f.kind != LIC_STEP_AND && f.kind != LIC_STEP_MINUS && !unite_sets(l, f.first_set, set))
        return false;
    l->known[f.step] = set;
    l->unit_count    = f.first_unit;
    l->frame_count--;
    return deliver(l, set);
}

/* Nobody is left for the operands that follow. In the order of rows they are looked at all the same where there are
 * cycles: whether a set meets itself decides how the answer is told, and what comes first must not. The order is another
 * after each write and merge, also between two pages. */
static bool is_decided(const lookup *l, const frame *f)
{
    return f->is_started && lic_holders_is_empty(&f->set) &&
           !(l->layout.has_cycles && l->layout.steps[f->step].of_rows);
}

static bool put_together(lookup *l)
{
    if (!push_frame(l, whole_of(l, 0)))
        return false;
    while (l->frame_count > 0 && !l->needs_checks) {
        frame      *f       = &l->frames[l->frame_count - 1];
        const bool  is_last = f->next_unit == l->unit_count || is_decided(l, f);
        lic_failure failure = lic_goal_steps(l->eval, 1);

        if (failure != LIC_FAILURE_NONE)
            return failed(l, failure);
        if (is_last ? !finish_frame(l) : !begin_unit(l, l->units[f->next_unit++].step))
            return false;
        if (l->verdicts.failure != LIC_FAILURE_NONE)
            return failed(l, l->verdicts.failure);
    }
    return true;
}

/* -------------------------------------------------------------------- checks */

/* The subjects that are named anywhere, in the list of members. All others are alike. */
static bool list_candidates(lookup *l)
{
    const lic_eval *eval = l->eval;

    l->member_count = 0;
    l->is_sorted    = true;
    l->lists_all    = true; /* before the context is looked at, a check may fail on them */
    for (size_t i = 0; i < l->layout.step_count; i++) {
        const lic_step     *step = &l->layout.steps[i];
        const lic_relation *relation;
        bool                is_named;

        if (step->kind == LIC_STEP_ROWS && !read_rows(l, step->subject, LIC_VERDICT_YES))
            return false;
        if (step->kind != LIC_STEP_OBJECT && step->kind != LIC_STEP_TOO_DEEP)
            continue;
        relation = &eval->program->relations[step->subject.relation];
        is_named = step->kind == LIC_STEP_OBJECT || relation->slot == eval->subject.slot;
        if (is_named && !add_member(l, step->subject.node, LIC_VERDICT_YES))
            return false;
    }
    return sort_members(l);
}

/* A check of one subject, with the limits of one. */
static licet_status check(lookup *l, lic_goal goal, uint32_t node, lic_verdict *verdict, licet_error **error)
{
    lic_eval      *eval    = l->eval;
    lic_missing    missing = { NULL, 0 };
    lic_value      value;
    lic_membership answer;
    lic_arena      arena;
    lic_eval       asker;
    licet_status   status;

    lic_arena_init(&arena, l->scratch.memory);
    lic_eval_init(&asker, eval->program, eval->snapshot, &arena, &l->check_limits);
    asker.moment   = eval->moment;
    asker.context  = eval->context;
    asker.outcomes = eval->outcomes;
    asker.strict   = eval->strict;
    lic_eval_subject(&asker, eval->subject_definition, (lic_ref){ eval->subject.slot, node });
    *verdict = LIC_VERDICT_NO;
    status   = lic_eval_check(&asker, goal.relation, goal.node, &answer, error);
    value    = answer.value;
    if (status == LICET_OK && value == LIC_IF)
        status = lic_condition_decide(&asker, answer.condition, &value, &missing, error);
    if (status == LICET_OK && value != LIC_NO)
        *verdict = value == LIC_YES ? LIC_VERDICT_YES : lic_verdict_open(&l->verdicts, missing);
    if (status == LICET_OK && l->verdicts.failure != LIC_FAILURE_NONE)
        status = lic_fail_memory(error);
    lic_arena_free(&arena);
    return status;
}

/* What there was to say of a subject by name can't be told from a check: whoever has no less than all others is listed
 * by name. */
static lic_holder holder_of(uint32_t node, lic_verdict verdict, lic_verdict others)
{
    const lic_truth truth   = lic_verdict_truth(verdict);
    const bool      is_less = truth < lic_verdict_truth(others);

    return (lic_holder){ node, verdict, (uint8_t)(is_less ? LIC_FALSE : truth),
                         (uint8_t)(is_less ? LIC_TRUE - truth : LIC_FALSE) };
}

static licet_status check_candidates(lookup *l, lic_goal goal, lic_holder *named, licet_error **error)
{
    licet_status status = LICET_OK;
    lic_failure  failure;

    for (size_t i = 0; i < l->member_count && status == LICET_OK; i++) {
        const uint32_t node = node_of(l->members[i]);
        lic_verdict    verdict;

        if (i > 0 && node_of(l->members[i - 1]) == node)
            continue;
        failure = lic_goal_look_at_clock(l->eval);
        if (failure != LIC_FAILURE_NONE)
            return lic_eval_fail(l->eval, failure, error);
        status                   = check(l, goal, node, &verdict, error);
        named[l->result.count++] = holder_of(node, verdict, l->result.others);
    }
    return status;
}

/* Every subject by itself. All that are named nowhere first: where the depth does not suffice, it mostly fails. */
static licet_status check_all(lookup *l, lic_goal goal, licet_error **error)
{
    const uint32_t nobody = goal.node == LIC_NO_NODE ? LIC_OTHER_NODE : LIC_NO_NODE;
    lic_holder    *named;
    licet_status   status;

    l->result         = (lic_holders){ LIC_VERDICT_NO, NULL, 0 };
    l->eval->outcomes = l->eval->outcomes == NULL ? lic_outcomes_new(l->eval->arena) : l->eval->outcomes;
    if (l->eval->outcomes == NULL)
        return lic_fail_memory(error);
    status = check(l, goal, nobody, &l->result.others, error);
    if (status != LICET_OK)
        return status;
    if (!list_candidates(l))
        return lic_eval_fail(l->eval, l->failure, error);
    named           = lic_new_array(&l->scratch, l->member_count, lic_holder);
    l->result.named = named;
    return named == NULL ? lic_fail_memory(error) : check_candidates(l, goal, named, error);
}

/* ------------------------------------------------------------------- answers */

/* missing[0] is that of who is in for certain, whose verdict is LIC_VERDICT_YES. */
static lic_looked_up looked_up(uint32_t node, lic_verdict verdict)
{
    return (lic_looked_up){ node, verdict - LIC_VERDICT_YES };
}

/* Names what an open verdict misses, once. */
static licet_status name_missing(lookup *l, lic_verdict verdict, lic_arena *arena, lic_lookup_answer *answer,
                                 licet_error **error)
{
    lic_missing_names *names;
    lic_missing        missing;
    licet_status       status;

    if (lic_verdict_truth(verdict) != LIC_OPEN)
        return LICET_OK;
    names = &answer->missing[verdict - LIC_VERDICT_YES];
    if (names->count > 0)
        return LICET_OK;
    status = lic_verdict_missing(&l->verdicts, arena, verdict, &missing, error);
    *names = (lic_missing_names){ missing.names, missing.count };
    return status;
}

static void list_subject(const lic_lookup_page *page, uint32_t node, lic_verdict verdict, lic_lookup_answer *answer)
{
    if (page->without_conditional && verdict != LIC_VERDICT_YES)
        return;
    if (node >= page->from && answer->count < page->limit)
        answer->subjects[answer->count++] = looked_up(node, verdict);
}

/* By name, as an exclusion, or as neither: then all others stand for it. One that is as open as all others, but for
 * other reasons, is told apart by name. One that is open by name and taken out of all others is both, as in SpiceDB:
 * the wildcard must not stand for it. */
static void list_holder(const lic_lookup_page *page, const lic_holder *holder, lic_verdict others,
                        lic_lookup_answer *answer)
{
    const bool is_granted =
        holder->granted != LIC_FALSE || (holder->verdict != LIC_VERDICT_NO && holder->excluded == LIC_FALSE);

    if (is_granted && (holder->granted != LIC_FALSE || holder->verdict != others))
        list_subject(page, holder->node, holder->verdict, answer);
    if (holder->excluded != LIC_FALSE && holder->verdict != LIC_VERDICT_YES && others != LIC_VERDICT_NO)
        answer->exclusions[answer->exclusion_count++] =
            looked_up(holder->node, holder->excluded == LIC_TRUE ? LIC_VERDICT_YES : holder->verdict);
}

/* Room for all that may be listed. */
static bool make_room(const lookup *l, const lic_lookup_page *page, lic_arena *arena, lic_lookup_answer *answer)
{
    const size_t most       = l->result.count + 1;
    const size_t exclusions = l->result.others == LIC_VERDICT_NO ? 0 : l->result.count;

    answer->missing_count = l->verdicts.set_count + 1;
    answer->subjects      = lic_new_array(arena, page->limit < most ? (size_t)page->limit : most, lic_looked_up);
    answer->exclusions    = lic_new_array(arena, exclusions, lic_looked_up);
    answer->missing       = lic_new_array(arena, answer->missing_count, lic_missing_names);
    return answer->subjects != NULL && answer->exclusions != NULL && answer->missing != NULL;
}

static licet_status make_answer(lookup *l, const lic_lookup_page *page, lic_arena *arena, lic_lookup_answer *answer,
                                licet_error **error)
{
    const lic_holders *result = &l->result;
    licet_status       status;

    if (!make_room(l, page, arena, answer))
        return lic_fail_memory(error);
    status = name_missing(l, result->others, arena, answer, error);
    if (result->others != LIC_VERDICT_NO && !page->without_wildcard)
        list_subject(page, LIC_WILDCARD_NODE, result->others, answer);
    for (size_t i = 0; i < result->count && status == LICET_OK; i++) {
        list_holder(page, &result->named[i], result->others, answer);
        status = name_missing(l, result->named[i].verdict, arena, answer, error);
    }
    if (answer->count == 0 || answer->subjects[0].node != LIC_WILDCARD_NODE)
        answer->exclusion_count = 0;
    return status;
}

/* ----------------------------------------------------------------- interface */

static licet_status fail(const lookup *l, licet_error **error)
{
    if (l->failure == LIC_FAILURE_STEPS)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "max_steps exceeded: the lookup visits more than %llu edges",
                        (unsigned long long)l->eval->limits.max_steps);
    if (l->failure == LIC_FAILURE_DEADLINE)
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "the lookup took longer than %u ms", l->eval->limits.timeout_ms);
    return lic_eval_fail(l->eval, l->failure, error);
}

/* By sets, if they say all. */
static bool look_up(lookup *l, lic_goal goal)
{
    const lic_failure failure = lic_layout_make(&l->layout, l->eval, &l->scratch, goal);

    if (failure != LIC_FAILURE_NONE)
        return failed(l, failure);
    l->needs_certainty = !lic_layout_fits(&l->layout);
    l->needs_checks    = !lic_layout_fits_certain_rows(&l->layout);
    if (l->needs_checks)
        return true;
    l->known = lic_new_array(&l->scratch, l->layout.step_count, const lic_holders *);
    l->marks = lic_new_array(&l->scratch, l->layout.goal_count, uint32_t);
    if (l->known == NULL || l->marks == NULL)
        return failed(l, LIC_FAILURE_MEMORY);
    return put_together(l);
}

licet_status lic_lookup_subjects(lic_eval *eval, lic_rel relation, uint32_t node, uint32_t timeout_ms,
                                 const lic_lookup_page *page, lic_arena *arena, lic_lookup_answer *answer,
                                 licet_error **error)
{
    lookup         l    = { .eval = eval, .check_limits = eval->limits };
    const lic_goal goal = { relation, node };
    licet_status   status;

    *answer                 = (lic_lookup_answer){ .count = 0 };
    eval->limits.timeout_ms = timeout_ms;
    lic_goal_reset_steps(eval);
    lic_arena_init(&l.scratch, eval->arena->memory);
    lic_verdicts_init(&l.verdicts, eval, &l.scratch);
    if (!look_up(&l, goal))
        status = fail(&l, error);
    else
        status = l.needs_checks ? check_all(&l, goal, error) : LICET_OK;
    if (status == LICET_OK)
        status = make_answer(&l, page, arena, answer, error);
    if (status != LICET_OK)
        *answer = (lic_lookup_answer){ .count = 0 };
    lic_verdicts_free(&l.verdicts);
    lic_arena_free(&l.scratch);
    return status;
}
