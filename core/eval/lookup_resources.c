/* Plans: goals that hold the subject, nearest first (each becomes certain by its shortest way), then those that nobody is
 * certain of. Pages: a heap of sorted sources, each entered behind the last answer.
 *
 * Goals are looked at once. Only one that was a candidate is looked at again when it turns out to be certain, and then
 * so are those behind it: lists may come twice that way, which costs a look at the same rows and no answer. */
#include "eval/lookup_resources.h"

#include "base/hash.h"
#include "eval/goal.h"
#include "schema/reachability.h"

/* Most plans and pages fit on the stack. */
#define SCRATCH_BYTES 8192

/* So much work of checks before what they leave behind is given back. */
#define STEPS_TO_KEEP ((uint64_t)1 << 16)

/* A page that has answers ends when it has taken so long; the clock is read once in so many checks. */
#define PAGE_MS 100u
#define CHECKS_PER_CLOCK 16u

/* What the searches for plans and pages count: rows; what checks leave behind; time. */
typedef struct budget {
    lic_eval *eval;
    uint64_t  steps;
    uint64_t  next_look; /* past so many, the limit and the clock are looked at */
    uint64_t  kept;      /* steps of checks since that was given back */
    uint32_t  checks;
    uint64_t  start_ms; /* 0: the clock was not read yet */
    uint64_t  elapsed_ms;
} budget;

/* Steps are counted anew, time is not. */
static void count_steps_anew(budget *b)
{
    const uint64_t max_steps = b->eval->limits.max_steps;

    b->steps     = 0;
    b->next_look = max_steps < LIC_STEPS_PER_CLOCK ? max_steps : LIC_STEPS_PER_CLOCK;
}

static void budget_begin(budget *b, lic_eval *eval)
{
    *b = (budget){ .eval = eval };
    count_steps_anew(b);
}

static lic_failure look_at_clock(budget *b)
{
    const uint64_t now = lic_monotonic_ms();

    if (b->start_ms == 0)
        b->start_ms = now;
    b->elapsed_ms = now - b->start_ms;
    return b->elapsed_ms > LIC_LOOKUP_TIMEOUT_MS ? LIC_FAILURE_DEADLINE : LIC_FAILURE_NONE;
}

static lic_failure look(budget *b)
{
    const uint64_t max_steps = b->eval->limits.max_steps;

    if (b->steps > max_steps)
        return LIC_FAILURE_STEPS;
    b->next_look = max_steps - b->steps < LIC_STEPS_PER_CLOCK ? max_steps : b->steps + LIC_STEPS_PER_CLOCK;
    return look_at_clock(b);
}

static inline lic_failure step(budget *b)
{
    return ++b->steps <= b->next_look ? LIC_FAILURE_NONE : look(b);
}

/* So much more was left behind in the evaluator's arena. All of it is given back now and then: what was remembered will
 * be found again. */
static void keep(budget *b, uint64_t steps)
{
    lic_eval *eval = b->eval;

    b->kept += steps;
    if (b->kept <= STEPS_TO_KEEP)
        return;
    lic_arena_free(eval->arena);
    eval->memo           = NULL;
    eval->goals          = 0;
    eval->met_caveat     = false;
    eval->frames         = NULL;
    eval->frame_capacity = 0;
    eval->outcomes       = NULL;
    b->kept              = 0;
}

/* After a check, when nothing of it is needed any more. */
static lic_failure clear_up(budget *b)
{
    keep(b, b->eval->steps + 1);
    return ++b->checks % CHECKS_PER_CLOCK == 0 ? look_at_clock(b) : LIC_FAILURE_NONE;
}

static licet_status fail(const lic_eval *eval, lic_failure failure, licet_error **error)
{
    if (failure == LIC_FAILURE_STEPS)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "max_steps exceeded: the lookup visits more than %llu edges before its next answer",
                        (unsigned long long)eval->limits.max_steps);
    if (failure == LIC_FAILURE_DEADLINE)
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "the lookup found no answer for %u ms", LIC_LOOKUP_TIMEOUT_MS);
    return lic_fail_memory(error);
}

/* What a row of this subject is worth. */
typedef enum worth { WORTH_NOTHING, WORTH_A_CHECK, WORTH_ALL } worth;

/* So many steps are as much to keep as what a caveat came to. */
#define STEPS_OF_CAVEAT 8u

static lic_failure judge_caveat(budget *b, uint32_t attribute, worth *result)
{
    const lic_condition leaf = { LIC_CONDITION_LEAF, attribute, 0, NULL, NULL };
    lic_truth           truth;
    lic_failure         failure;

    lic_goal_reset_steps(b->eval);
    failure = lic_condition_truth(b->eval, &leaf, &truth);
    *result = truth == LIC_FALSE ? WORTH_NOTHING : truth == LIC_TRUE ? WORTH_ALL : WORTH_A_CHECK;
    keep(b, STEPS_OF_CAVEAT);
    return failure;
}

static inline lic_failure judge_row(budget *b, lic_rel rows, bool bare, lic_ref subject, uint32_t attribute,
                                    worth *result)
{
    *result = WORTH_NOTHING;
    if (!lic_goal_row_counts(b->eval, &b->eval->program->relations[rows], bare, subject, &attribute))
        return LIC_FAILURE_NONE;
    *result = WORTH_ALL;
    return attribute == LIC_NO_ATTRIBUTE ? LIC_FAILURE_NONE : judge_caveat(b, attribute, result);
}

/* ------------------------------------------------------------ numbers in order */

/* Sorted by the whole number, with room for as many. Least bits first; bytes in which all are alike cost one look. */
static void sort_bytes(uint64_t *items, uint64_t *room, size_t count)
{
    uint64_t *from = items;
    uint64_t *to   = room;

    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t counts[256] = { 0 };
        size_t at          = 0;

        for (size_t i = 0; i < count; i++)
            counts[from[i] >> shift & 255]++;
        if (counts[from[0] >> shift & 255] == count)
            continue;
        for (size_t i = 0; i < 256; i++) {
            const size_t next = at + counts[i];

            counts[i] = at;
            at        = next;
        }
        for (size_t i = 0; i < count; i++)
            to[counts[from[i] >> shift & 255]++] = from[i];
        to   = from;
        from = from == items ? room : items;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

#define FEW_NUMBERS ((size_t)48)

static bool sort_numbers(lic_arena *scratch, uint64_t *items, size_t count)
{
    uint64_t *room;

    if (count > FEW_NUMBERS) {
        room = lic_new_array(scratch, count, uint64_t);
        if (room != NULL)
            sort_bytes(items, room, count);
        return room != NULL;
    }
    for (size_t i = 1; i < count; i++) {
        const uint64_t item = items[i];
        size_t         at   = i;

        for (; at > 0 && items[at - 1] > item; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
    return true;
}

typedef struct numbers {
    uint64_t *items;
    size_t    count;
    size_t    capacity;
} numbers;

static lic_failure add_number(lic_arena *scratch, numbers *to, uint32_t node, bool certain)
{
    void *items = to->items;

    if (!lic_arena_grow(scratch, &items, &to->capacity, to->count + 1, sizeof *to->items))
        return LIC_FAILURE_MEMORY;
    to->items              = items;
    to->items[to->count++] = (uint64_t)node * 2 + (certain ? 0 : 1);
    return LIC_FAILURE_NONE;
}

/* --------------------------------------------------------------------- plans */

#define NONE UINT32_MAX

/* Instead of a depth, of goals that nobody is certain of: */
#define DROPPED UINT32_MAX         /* nobody is there */
#define PENDING (UINT32_MAX - 1)   /* to be looked at when nothing certain is left to be */
#define CANDIDATE (UINT32_MAX - 2) /* was looked at */

typedef struct found_goal {
    lic_goal goal;
    uint32_t number; /* of its relation, among the reachable ones */
    uint32_t depth;  /* that suffices to find the subject there */
    uint32_t next;   /* of those with the same depth to be looked at */
    bool     open;   /* it lies behind an operator: ask before going on */
} found_goal;

typedef struct planner {
    lic_eval          *eval;
    lic_arena          scratch; /* all below */
    lic_reachability   reach;
    found_goal        *goals;
    size_t             goal_count;
    size_t             goal_capacity;
    uint32_t          *table; /* hash: goal number + 1; 0: free */
    size_t             table_capacity;
    uint32_t          *by_depth; /* certain goals to be looked at: the first of each depth; NONE */
    uint32_t           nearest;  /* no such goal is nearer */
    uint32_t          *pending;
    size_t             pending_count;
    size_t             pending_capacity;
    lic_resource_list *lists;
    size_t             list_count;
    size_t             list_capacity;
    numbers            singles;
    budget             budget;
} planner;

static uint32_t *table_place(const planner *p, lic_goal goal)
{
    const size_t mask = p->table_capacity - 1;
    size_t       at   = (size_t)lic_hash_u64((uint64_t)goal.relation << 32 | goal.node) & mask;

    while (p->table[at] != 0) {
        const lic_goal other = p->goals[p->table[at] - 1].goal;

        if (other.relation == goal.relation && other.node == goal.node)
            break;
        at = (at + 1) & mask;
    }
    return &p->table[at];
}

static bool grow_table(planner *p)
{
    p->table_capacity = p->table_capacity == 0 ? 64 : p->table_capacity * 2;
    p->table          = lic_new_array(&p->scratch, p->table_capacity, uint32_t);
    if (p->table == NULL)
        return false;
    for (size_t i = 0; i < p->goal_count; i++)
        *table_place(p, p->goals[i].goal) = (uint32_t)i + 1;
    return true;
}

/* The goal's number, new (and then DROPPED until somebody says more) or known; NONE: out of memory. */
static uint32_t goal_number(planner *p, uint32_t number, uint32_t node)
{
    const lic_goal goal  = { p->reach.relations[number].relation, node };
    void          *goals = p->goals;
    uint32_t      *place;

    if (p->goal_count >= p->table_capacity / 2 && !grow_table(p))
        return NONE;
    place = table_place(p, goal);
    if (*place != 0)
        return *place - 1;
    if (p->goal_count >= NONE - 1 ||
        !lic_arena_grow(&p->scratch, &goals, &p->goal_capacity, p->goal_count + 1, sizeof *p->goals))
        return NONE;
    p->goals                  = goals;
    p->goals[p->goal_count++] = (found_goal){ goal, number, DROPPED, NONE, false };
    *place                    = (uint32_t)p->goal_count;
    return *place - 1;
}

/* A certain one waits among its like. Of two depths the first stays: mostly it is the lesser. */
static void set_depth(planner *p, uint32_t goal, uint32_t depth)
{
    p->goals[goal].depth = depth;
    p->goals[goal].next  = p->by_depth[depth];
    p->by_depth[depth]   = goal;
    if (depth < p->nearest)
        p->nearest = depth;
}

static lic_failure set_pending(planner *p, uint32_t goal, bool open)
{
    void *pending = p->pending;

    if (!lic_arena_grow(&p->scratch, &pending, &p->pending_capacity, p->pending_count + 1, sizeof *p->pending))
        return LIC_FAILURE_MEMORY;
    p->pending                     = pending;
    p->pending[p->pending_count++] = goal;
    p->goals[goal].depth           = PENDING;
    p->goals[goal].open            = open;
    return LIC_FAILURE_NONE;
}

/* A goal that leads to others was reached. depth: CANDIDATE, or what suffices; too much makes a candidate as well. */
static lic_failure reach_goal(planner *p, uint32_t number, uint32_t node, uint32_t depth, bool open)
{
    const size_t   known   = p->goal_count;
    const uint32_t goal    = goal_number(p, number, node);
    const bool     certain = !open && depth <= p->eval->limits.max_depth;
    found_goal    *at;

    if (goal == NONE)
        return LIC_FAILURE_MEMORY;
    at = &p->goals[goal];
    if (goal == known && !certain)
        return set_pending(p, goal, open);
    if (certain && (goal == known || at->depth == PENDING || at->depth == CANDIDATE))
        set_depth(p, goal, depth);
    else if (at->depth == PENDING)
        at->open |= open;
    return LIC_FAILURE_NONE;
}

/* Is an answer certain that is found at a final relation with so much depth? */
static bool is_certain(const planner *p, uint32_t number, uint32_t depth, bool open)
{
    const uint32_t max_depth = p->eval->limits.max_depth;
    const uint32_t more      = p->reach.relations[number].depth;

    return !open && depth <= max_depth && more <= max_depth - depth;
}

/* The subject may be in this relation of the object. */
static lic_failure reach_object(planner *p, uint32_t number, uint32_t node, uint32_t depth, bool open)
{
    if (p->reach.relations[number].is_final)
        return add_number(&p->scratch, &p->singles, node, is_certain(p, number, depth, open));
    return reach_goal(p, number, node, depth, open);
}

static lic_failure add_list(planner *p, const lic_resource_list *list)
{
    void *lists = p->lists;

    if (!lic_arena_grow(&p->scratch, &lists, &p->list_capacity, p->list_count + 1, sizeof *p->lists))
        return LIC_FAILURE_MEMORY;
    p->lists                  = lists;
    p->lists[p->list_count++] = *list;
    return LIC_FAILURE_NONE;
}

/* It may be in that of the resources of these rows; depth: there. */
static lic_failure reach_rows(planner *p, const lic_entry *entry, lic_ref subject, uint32_t depth)
{
    lic_failure failure = step(&p->budget);
    worth       worth;
    lic_walk    walk;
    lic_ref     resource;

    lic_walk_resources_in(p->eval->snapshot, subject, p->eval->program->relations[entry->rows].slot, &walk);
    if (lic_goal_rows_ended(&walk) || failure != LIC_FAILURE_NONE)
        return failure;
    if (p->reach.relations[entry->to].is_final)
        return add_list(
            p, &(lic_resource_list){ subject, entry->rows, entry->bare, is_certain(p, entry->to, depth, entry->open) });
    while (failure == LIC_FAILURE_NONE && lic_walk_next(&walk, &resource)) {
        failure = step(&p->budget);
        if (failure == LIC_FAILURE_NONE)
            failure = judge_row(&p->budget, entry->rows, entry->bare, subject, walk.attribute, &worth);
        if (failure == LIC_FAILURE_NONE && worth != WORTH_NOTHING)
            failure = reach_goal(p, entry->to, resource.node, worth == WORTH_ALL ? depth : CANDIDATE, entry->open);
    }
    return failure;
}

/* What a goal that holds the subject leads to. depth: its own, or CANDIDATE. */
static lic_failure follow(planner *p, uint32_t goal, uint32_t depth)
{
    const found_goal from    = p->goals[goal]; /* goals move */
    lic_failure      failure = LIC_FAILURE_NONE;
    uint32_t         e       = p->reach.relations[from.number].first_entry;

    for (; e != LIC_NO_ENTRY && failure == LIC_FAILURE_NONE; e = p->reach.entries[e].next) {
        const lic_entry *entry = &p->reach.entries[e];
        const uint32_t   there = depth == CANDIDATE ? CANDIDATE : depth + entry->cost;

        if (entry->rows == LIC_NO_REL)
            failure = reach_object(p, entry->to, from.goal.node, there, entry->open);
        else if (from.goal.node < LIC_OTHER_NODE)
            failure = reach_rows(p, entry, (lic_ref){ entry->slot, from.goal.node }, there);
    }
    return failure;
}

/* ---------------------------------------------------- where the subject begins */

/* Rows of the subject itself or of its type's wildcard, in a relation that allows them. */
static lic_failure begin_rows(planner *p, uint32_t number, lic_ref subject, bool wildcard)
{
    const lic_program  *program  = p->eval->program;
    const lic_rel       relation = p->reach.relations[number].relation;
    const lic_relation *r        = &program->relations[relation];
    lic_entry           entry    = { number, relation, subject.slot, 1, false, false, LIC_NO_ENTRY };
    bool                allowed  = false;

    for (uint32_t i = r->first_allowed; i < r->first_allowed + r->allowed_count; i++)
        if (program->allowed[i].slot == subject.slot && program->allowed[i].wildcard == wildcard) {
            allowed = true;
            entry.bare |= program->allowed[i].bare;
        }
    return allowed && subject.node < LIC_OTHER_NODE ? reach_rows(p, &entry, subject, 1) : LIC_FAILURE_NONE;
}

static lic_failure begin_at(planner *p, uint32_t number)
{
    const lic_eval      *eval    = p->eval;
    const lic_reachable *at      = &p->reach.relations[number];
    const lic_relation  *r       = &eval->program->relations[at->relation];
    lic_failure          failure = LIC_FAILURE_NONE;

    if (r->slot == eval->subject.slot) /* identity */
        failure = reach_object(p, number, eval->subject.node, 0, false);
    if (failure == LIC_FAILURE_NONE && at->self != LIC_SELF_NONE && r->definition == eval->subject_definition &&
        eval->subject.slot == eval->everyone.slot)
        failure = reach_object(p, number, eval->subject.node, 1, at->self == LIC_SELF_OPEN);
    if (failure == LIC_FAILURE_NONE && !r->is_permission)
        failure = begin_rows(p, number, eval->subject, false);
    if (failure == LIC_FAILURE_NONE && !r->is_permission)
        failure = begin_rows(p, number, eval->everyone, true);
    return failure;
}

/* ------------------------------------------------------------------ candidates */

/* Asks about a goal with half of the depth, so that a yes leaves some for the way from here to the target. */
static lic_failure ask(planner *p, lic_goal goal, lic_membership *answer)
{
    lic_eval      *eval      = p->eval;
    const uint32_t max_depth = eval->limits.max_depth;
    licet_status   status;

    eval->limits.max_depth = max_depth / 2;
    status                 = lic_eval_check(eval, goal.relation, goal.node, answer, NULL);
    eval->limits.max_depth = max_depth;
    if (status != LICET_OK)
        *answer = LIC_MEMBERSHIP_FAILED(status == LICET_OUT_OF_MEMORY ? LIC_FAILURE_MEMORY : LIC_FAILURE_DEPTH);
    return status == LICET_OUT_OF_MEMORY ? LIC_FAILURE_MEMORY : LIC_FAILURE_NONE;
}

/* What an answer comes to under the context. OPEN: no more than that it may be a yes. */
static lic_failure judge_answer(lic_eval *eval, const lic_membership *answer, lic_truth *truth)
{
    *truth = answer->value == LIC_YES ? LIC_TRUE : answer->value == LIC_NO ? LIC_FALSE : LIC_OPEN;
    return answer->value == LIC_IF ? lic_condition_truth(eval, answer->condition, truth) : LIC_FAILURE_NONE;
}

/* A goal that nobody has become certain of. */
static lic_failure look_at_pending(planner *p, uint32_t goal)
{
    const found_goal at      = p->goals[goal];
    lic_membership   answer  = LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH);
    lic_failure      failure = step(&p->budget);
    lic_truth        truth   = LIC_OPEN;

    if (failure == LIC_FAILURE_NONE && at.open && p->eval->limits.max_depth > 1)
        failure = ask(p, at.goal, &answer);
    if (failure == LIC_FAILURE_NONE)
        failure = judge_answer(p->eval, &answer, &truth);
    if (failure == LIC_FAILURE_NONE)
        failure = clear_up(&p->budget);
    if (failure != LIC_FAILURE_NONE)
        return failure;
    p->goals[goal].depth = truth == LIC_FALSE ? DROPPED : CANDIDATE;
    if (truth == LIC_TRUE)
        set_depth(p, goal, p->eval->limits.max_depth / 2);
    return truth == LIC_OPEN ? follow(p, goal, CANDIDATE) : LIC_FAILURE_NONE;
}

/* --------------------------------------------------------------- all of a plan */

/* The next certain goal, nearest first; NONE: there is none. */
static uint32_t take_nearest(planner *p)
{
    uint32_t goal;

    while (p->nearest <= p->eval->limits.max_depth && p->by_depth[p->nearest] == NONE)
        p->nearest++;
    if (p->nearest > p->eval->limits.max_depth)
        return NONE;
    goal                    = p->by_depth[p->nearest];
    p->by_depth[p->nearest] = p->goals[goal].next;
    return goal;
}

static lic_failure find_goals(planner *p)
{
    lic_failure failure = LIC_FAILURE_NONE;
    size_t      next    = 0;

    for (uint32_t i = 0; i < p->reach.count && failure == LIC_FAILURE_NONE; i++)
        failure = begin_at(p, i);
    while (failure == LIC_FAILURE_NONE) {
        const uint32_t goal = take_nearest(p);

        if (goal != NONE)
            failure = follow(p, goal, p->goals[goal].depth);
        else if (next == p->pending_count)
            break;
        else if (p->goals[p->pending[next]].depth == PENDING)
            failure = look_at_pending(p, p->pending[next++]);
        else
            next++;
    }
    return failure;
}

/* Of a target that leads to other objects: its goals are the answers. */
static lic_failure add_targets(planner *p)
{
    lic_failure failure = LIC_FAILURE_NONE;

    if (p->reach.count == 0 || p->reach.relations[0].is_final)
        return failure;
    for (size_t i = 0; i < p->goal_count && failure == LIC_FAILURE_NONE; i++)
        if (p->goals[i].number == 0 && p->goals[i].depth != DROPPED)
            failure = add_number(&p->scratch, &p->singles, p->goals[i].goal.node, p->goals[i].depth != CANDIDATE);
    return failure;
}

static size_t without_repeated(uint64_t *items, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept == 0 || items[kept - 1] >> 1 != items[i] >> 1)
            items[kept++] = items[i];
    return kept;
}

static bool copy_items(lic_arena *keep, const void *items, size_t count, size_t size, const void **copy)
{
    void *room = lic_arena_alloc_array(keep, count, size);

    if (room != NULL && count > 0)
        memcpy(room, items, count * size);
    *copy = room;
    return room != NULL;
}

static lic_failure keep_plan(planner *p, lic_arena *keep, lic_resource_plan *plan)
{
    const void *lists;
    const void *singles;

    if (!sort_numbers(&p->scratch, p->singles.items, p->singles.count))
        return LIC_FAILURE_MEMORY;
    p->singles.count = without_repeated(p->singles.items, p->singles.count);
    if (!copy_items(keep, p->lists, p->list_count, sizeof *p->lists, &lists) ||
        !copy_items(keep, p->singles.items, p->singles.count, sizeof(uint64_t), &singles))
        return LIC_FAILURE_MEMORY;
    *plan = (lic_resource_plan){ lists, p->list_count, singles, p->singles.count };
    return LIC_FAILURE_NONE;
}

static lic_failure make_plan(planner *p, lic_rel target, lic_arena *keep, lic_resource_plan *plan)
{
    lic_eval      *eval   = p->eval;
    const uint32_t depths = eval->limits.max_depth + 1;
    lic_failure    failure;

    p->by_depth = lic_arena_alloc(&p->scratch, depths * sizeof *p->by_depth);
    if (p->by_depth == NULL ||
        !lic_reachability_find(&p->scratch, eval->program, target, eval->subject_definition, &p->reach))
        return LIC_FAILURE_MEMORY;
    memset(p->by_depth, 0xff, depths * sizeof *p->by_depth);
    p->nearest = depths;
    budget_begin(&p->budget, eval);
    failure = find_goals(p);
    if (failure == LIC_FAILURE_NONE)
        failure = add_targets(p);
    return failure == LIC_FAILURE_NONE ? keep_plan(p, keep, plan) : failure;
}

licet_status lic_resources_plan(lic_eval *eval, lic_rel target, lic_arena *keep, lic_resource_plan *plan,
                                licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    planner                p = { .eval = eval };
    lic_failure            failure;

    *plan = (lic_resource_plan){ NULL, 0, NULL, 0 };
    lic_arena_init_with(&p.scratch, eval->arena->memory, scratch, sizeof scratch);
    failure = make_plan(&p, target, keep, plan);
    lic_arena_free(&p.scratch);
    return failure == LIC_FAILURE_NONE ? LICET_OK : fail(eval, failure, error);
}

/* --------------------------------------------------------------------- pages */

/* Where candidates come from, in order: rows, or numbers. */
typedef struct source {
    const lic_resource_list *list;
    const uint64_t          *next; /* instead of a list */
    const uint64_t          *end;
    uint32_t                 node; /* at hand */
    bool                     certain;
    lic_walk                 walk;
} source;

typedef struct pager {
    lic_eval  *eval;
    lic_rel    target;
    lic_arena  scratch; /* all below */
    uint64_t   from;
    source    *sources;
    size_t     source_count;
    uint64_t  *heap; /* node at hand << 32 | index of the source; the least first */
    size_t     heap_count;
    numbers    loose; /* of rows that come in no order */
    budget     budget;
    lic_arena *arena; /* the page's */
    size_t     capacity;
} pager;

static lic_failure advance_numbers(pager *g, source *s, bool *found)
{
    *found = s->next < s->end;
    if (!*found)
        return LIC_FAILURE_NONE;
    s->node    = (uint32_t)(*s->next >> 1);
    s->certain = (*s->next++ & 1) == 0;
    return step(&g->budget);
}

/* Goes to the source's next number. *found is false at the end. */
static lic_failure advance(pager *g, source *s, bool *found)
{
    lic_failure failure = LIC_FAILURE_NONE;
    worth       worth   = WORTH_NOTHING;
    lic_ref     resource;

    *found = false;
    if (s->list == NULL)
        return advance_numbers(g, s, found);
    while (failure == LIC_FAILURE_NONE && worth == WORTH_NOTHING && lic_walk_next(&s->walk, &resource)) {
        failure = step(&g->budget);
        if (failure == LIC_FAILURE_NONE)
            failure = judge_row(&g->budget, s->list->rows, s->list->bare, s->list->subject, s->walk.attribute, &worth);
    }
    if (failure != LIC_FAILURE_NONE || worth == WORTH_NOTHING)
        return failure;
    s->node    = resource.node;
    s->certain = s->list->certain && worth == WORTH_ALL;
    *found     = true;
    return LIC_FAILURE_NONE;
}

/* Those of a list's rows that come in no order. They are no steps, since they are all read before the first answer, and
 * how many they are depends on merges. */
static lic_failure read_loose(pager *g, const lic_resource_list *list, lic_walk *rest)
{
    lic_failure failure = LIC_FAILURE_NONE;
    uint32_t    count   = 0;
    worth       worth;
    lic_ref     resource;

    while (failure == LIC_FAILURE_NONE && lic_walk_next(rest, &resource)) {
        if (++count % LIC_STEPS_PER_CLOCK == 0)
            failure = look_at_clock(&g->budget);
        if (resource.node < g->from || failure != LIC_FAILURE_NONE)
            continue;
        failure = judge_row(&g->budget, list->rows, list->bare, list->subject, rest->attribute, &worth);
        if (failure == LIC_FAILURE_NONE && worth != WORTH_NOTHING)
            failure = add_number(&g->scratch, &g->loose, resource.node, list->certain && worth == WORTH_ALL);
    }
    return failure;
}

/* ---- the heap */

static void sink(pager *g, size_t at)
{
    const uint64_t item = g->heap[at];

    for (size_t child = 2 * at + 1; child < g->heap_count; child = 2 * at + 1) {
        if (child + 1 < g->heap_count && g->heap[child + 1] < g->heap[child])
            child++;
        if (item <= g->heap[child])
            break;
        g->heap[at] = g->heap[child];
        at          = child;
    }
    g->heap[at] = item;
}

/* Puts in the source's first number, if it has one. In no order yet. */
static lic_failure add_source(pager *g, source *s)
{
    bool              found;
    const lic_failure failure = advance(g, s, &found);

    if (found)
        g->heap[g->heap_count++] = (uint64_t)s->node << 32 | (uint64_t)(s - g->sources);
    return failure;
}

static lic_failure open_list(pager *g, const lic_resource_list *list)
{
    source        *s    = &g->sources[g->source_count++];
    const lic_slot slot = g->eval->program->relations[list->rows].slot;
    lic_walk       rest;
    lic_failure    failure = LIC_FAILURE_NONE;

    s->list = list;
    lic_walk_resources_in(g->eval->snapshot, list->subject, slot, &s->walk);
    if (s->walk.touched) {
        lic_walk_split(&s->walk, &rest);
        failure = read_loose(g, list, &rest);
    }
    if (g->from > 0)
        lic_walk_seek(&s->walk, (lic_ref){ slot, (uint32_t)g->from });
    return failure == LIC_FAILURE_NONE ? add_source(g, s) : failure;
}

static lic_failure open_numbers(pager *g, const uint64_t *items, size_t count)
{
    source *s   = &g->sources[g->source_count++];
    size_t  low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (items[middle] >> 1 < g->from)
            low = middle + 1;
        else
            high = middle;
    }
    s->list = NULL;
    s->next = items + low;
    s->end  = items + count;
    return add_source(g, s);
}

static lic_failure open_sources(pager *g, const lic_resource_plan *plan)
{
    lic_failure failure = LIC_FAILURE_NONE;

    g->sources = lic_arena_alloc(&g->scratch, (plan->list_count + 2) * sizeof *g->sources);
    g->heap    = lic_arena_alloc(&g->scratch, (plan->list_count + 2) * sizeof *g->heap);
    if (g->sources == NULL || g->heap == NULL)
        return LIC_FAILURE_MEMORY;
    for (size_t i = 0; i < plan->list_count && failure == LIC_FAILURE_NONE; i++)
        failure = open_list(g, &plan->lists[i]);
    if (failure == LIC_FAILURE_NONE && plan->single_count > 0)
        failure = open_numbers(g, plan->singles, plan->single_count);
    if (failure == LIC_FAILURE_NONE && g->loose.count > 0)
        failure = sort_numbers(&g->scratch, g->loose.items, g->loose.count)
                      ? open_numbers(g, g->loose.items, g->loose.count)
                      : LIC_FAILURE_MEMORY;
    for (size_t i = g->heap_count / 2; i-- > 0;)
        sink(g, i);
    return failure;
}

/* The least number at hand, from all sources that have it. */
static lic_failure take_least(pager *g, uint32_t *node, bool *certain)
{
    const uint64_t least = g->heap[0] >> 32;

    *node    = (uint32_t)least;
    *certain = false;
    while (g->heap_count > 0 && g->heap[0] >> 32 == least) {
        source     *s = &g->sources[(uint32_t)g->heap[0]];
        bool        found;
        lic_failure failure;

        *certain |= s->certain;
        failure = advance(g, s, &found);
        if (failure != LIC_FAILURE_NONE)
            return failure;
        if (found)
            g->heap[0] = (uint64_t)s->node << 32 | (uint32_t)g->heap[0];
        else
            g->heap[0] = g->heap[--g->heap_count];
        sink(g, 0);
    }
    return LIC_FAILURE_NONE;
}

/* ---- answers */

static bool copy_names(lic_arena *arena, lic_missing *missing)
{
    lic_str *names = lic_new_array(arena, missing->count, lic_str);

    for (size_t i = 0; i < missing->count && names != NULL; i++) {
        names[i] = lic_arena_str(arena, missing->names[i]);
        if (names[i].data == NULL)
            return false;
    }
    missing->names = names;
    return names != NULL;
}

static licet_status add_answer(pager *g, lic_resource_page *page, lic_resource_answer answer, licet_error **error)
{
    void *answers = page->answers;

    if (!lic_arena_grow(g->arena, &answers, &g->capacity, page->count + 1, sizeof answer) ||
        (answer.conditional && !copy_names(g->arena, &answer.missing)))
        return lic_fail_memory(error);
    page->answers                = answers;
    page->answers[page->count++] = answer;
    count_steps_anew(&g->budget);
    return LICET_OK;
}

/* The check that decides about a candidate. */
static licet_status check(pager *g, uint32_t node, lic_value *value, lic_missing *missing, licet_error **error)
{
    lic_eval      *eval   = g->eval;
    lic_membership answer = LIC_MEMBERSHIP_NO;
    licet_status   status = lic_eval_check(eval, g->target, node, &answer, error);

    *value = answer.value;
    if (status == LICET_OK && answer.value == LIC_IF)
        status = lic_condition_decide(eval, answer.condition, value, missing, error);
    return status;
}

static licet_status decide(pager *g, uint32_t node, lic_resource_page *page, licet_error **error)
{
    lic_missing  missing = { NULL, 0 };
    lic_value    value;
    licet_status status = check(g, node, &value, &missing, error);
    lic_failure  failure;

    if (status == LICET_OK && value != LIC_NO)
        status = add_answer(g, page, (lic_resource_answer){ node, value == LIC_IF, missing }, error);
    if (status != LICET_OK)
        return status;
    failure = clear_up(&g->budget);
    return failure == LIC_FAILURE_NONE ? LICET_OK : fail(g->eval, failure, error);
}

static bool is_full(const pager *g, const lic_resource_page *page, size_t wanted)
{
    return page->count == wanted || (page->count > 0 && g->budget.elapsed_ms > PAGE_MS);
}

static licet_status fill(pager *g, size_t wanted, lic_resource_page *page, licet_error **error)
{
    licet_status status = LICET_OK;

    while (status == LICET_OK && g->heap_count > 0 && !is_full(g, page, wanted)) {
        uint32_t          node;
        bool              certain;
        const lic_failure failure = take_least(g, &node, &certain);

        if (failure != LIC_FAILURE_NONE)
            status = fail(g->eval, failure, error);
        else if (certain)
            status = add_answer(g, page, (lic_resource_answer){ node, false, { NULL, 0 } }, error);
        else
            status = decide(g, node, page, error);
    }
    page->is_last = g->heap_count == 0;
    return status;
}

/* What was found before a failure is told first: the failure will be met again. */
static licet_status or_failure(licet_status status, licet_error *cause, lic_resource_page *page, licet_error **error)
{
    const bool told = status == LICET_OK || (page->count > 0 && status != LICET_OUT_OF_MEMORY);

    page->is_last = page->is_last && status == LICET_OK;
    if (told || error == NULL)
        licet_error_free(cause);
    else
        *error = cause;
    return told ? LICET_OK : status;
}

licet_status lic_resources_page(lic_eval *eval, lic_rel target, const lic_resource_plan *plan, uint64_t from,
                                size_t wanted, lic_arena *arena, lic_resource_page *page, licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    pager                  g     = { .eval = eval, .target = target, .from = from, .arena = arena };
    licet_error           *cause = NULL;
    lic_failure            failure;
    licet_status           status;

    *page = (lic_resource_page){ NULL, 0, true };
    if (from > UINT32_MAX)
        return LICET_OK;
    lic_arena_init_with(&g.scratch, eval->arena->memory, scratch, sizeof scratch);
    budget_begin(&g.budget, eval);
    failure = open_sources(&g, plan);
    status  = failure == LIC_FAILURE_NONE ? fill(&g, wanted, page, &cause) : fail(eval, failure, &cause);
    lic_arena_free(&g.scratch);
    return or_failure(status, cause, page, error);
}
