/* Where all goals are unions, one that finds the subject decides the whole question, and a search that finds nobody and
 * meets no limit is a no. So there are no operands to join: only a list of places still to be looked at, nearest first.
 *
 * It gives up, and eval.c begins anew, wherever more than that would have to be known: near the depth limit, where a
 * goal may be the subject itself, at a row whose caveat the context leaves open, when the places are many. So a cycle
 * needs no thought: it is gone round until they are. Distances and needs are rounded up, which does no harm: a value
 * holds from a smaller depth on than is said.
 *
 * A question itself is searched under its context: a row whose caveat is true is there, one whose caveat is false is
 * not. What was found that way is not remembered, for the memo is good for every context. */
#include "search.h"

#include "eval/conditions.h"

/* Places looked at, and edges visited, before it gives up. */
#define MAX_PLACES 64u
#define MAX_STEPS 256u

/* A look at a place goes this far at most: to a name, to its usersets, to one of them that is nobody's. */
#define REACH 3u

/* Rows up to which a binary search is better than a probe of the graph's hash. */
#define FEW_ROWS 256u

/* As in eval.c: calls between these cost more than what they do. */
#define INLINE static inline __attribute__((always_inline))

typedef struct place {
    lic_goal goal;
    uint32_t distance; /* from the question */
    uint32_t from;     /* the place that led here */
    bool     ends;     /* was looked at, and nobody is there nor beyond */
} place;

typedef enum outcome { GOES_ON, FOUND, GIVES_UP } outcome;

/* Of a row. In this order: of two rows that lead to the same, the larger counts. */
typedef enum verdict { NOT_THERE, UNDECIDED, THERE } verdict;

typedef struct search {
    lic_eval *eval;
    uint32_t  depth;
    uint32_t  at; /* places[at] is being looked at */
    uint32_t  count;
    uint32_t  steps;
    uint32_t  need;   /* so far: of a no, that of all places; of a yes, that of the one found */
    bool      wary;   /* the subject is of the kind that a goal may be */
    bool      judges; /* caveats, and so finds what holds for this context alone */
    bool      judged; /* one at least */
    place     places[MAX_PLACES];
} search;

INLINE outcome add(search *s, lic_goal goal, uint32_t distance)
{
    lic_eval           *eval     = s->eval;
    const lic_relation *relation = &eval->program->relations[goal.relation];

    goal.relation = lic_goal_named(eval, relation, goal.relation);
    if (eval->memo != NULL) {
        const lic_finding known = lic_eval_memo_find(eval->memo, goal, s->depth - distance);
        const unsigned    value = lic_finding_value(known);
        const uint32_t    need  = distance + lic_finding_need(known);

        if (value == LIC_YES || (value == LIC_NO && need > s->need))
            s->need = need;
        if (value != LIC_NOT_FOUND)
            return value == LIC_NO ? GOES_ON : value == LIC_YES ? FOUND : GIVES_UP;
    }
    if (s->count == MAX_PLACES)
        return GIVES_UP;
    s->places[s->count++] = (place){ goal, distance, s->at, false };
    return GOES_ON;
}

/* One more row that leads to a goal. */
INLINE outcome follow(search *s, lic_rel relation, uint32_t node, uint32_t distance)
{
    if (++s->steps > MAX_STEPS)
        return GIVES_UP;
    return relation == LIC_NO_REL ? GOES_ON : add(s, (lic_goal){ relation, node }, distance);
}

INLINE bool is_empty(lic_glance rows)
{
    return rows.count == 0 && !rows.touched;
}

/* The first row that is not before the key. Without branches to foretell. */
INLINE uint32_t first_from(lic_glance rows, uint64_t key)
{
    const uint64_t *first = rows.keys;

    if (rows.count == 0)
        return 0;
    for (uint32_t count = rows.count; count > 1; count -= count / 2)
        first += first[count / 2 - 1] < key ? count / 2 : 0;
    return (uint32_t)(first - rows.keys) + (*first < key);
}

INLINE bool has(const search *s, lic_glance rows, lic_ref resource, lic_ref subject, uint32_t *attribute)
{
    const uint64_t key = lic_ref_key(subject);
    uint32_t       at;

    if (rows.touched || rows.count > FEW_ROWS)
        return lic_snapshot_find(s->eval->snapshot, resource, subject, attribute);
    *attribute = LIC_NO_ATTRIBUTE;
    at         = first_from(rows, key);
    return at < rows.count && rows.keys[at] == key;
}

/* A row that is not plain: it has an attribute, or lacks one that the schema may demand. */
static __attribute__((noinline)) verdict judge(search *s, const lic_relation *relation, lic_ref row, uint32_t attribute)
{
    lic_truth truth = LIC_OPEN;

    if (!lic_goal_holds_row(s->eval, relation, row, &attribute))
        return NOT_THERE;
    if (attribute == LIC_NO_ATTRIBUTE)
        return THERE;
    if (!s->judges || lic_caveat_truth(s->eval, attribute, &truth) != LIC_FAILURE_NONE)
        return UNDECIDED;
    s->judged = true;
    return truth == LIC_TRUE ? THERE : truth == LIC_FALSE ? NOT_THERE : UNDECIDED;
}

/* The same for a row of which more has to be known. */
INLINE outcome follow_if(search *s, verdict verdict, lic_rel relation, uint32_t node, uint32_t distance)
{
    return verdict == UNDECIDED ? GIVES_UP : follow(s, verdict == THERE ? relation : LIC_NO_REL, node, distance);
}

static __attribute__((noinline)) outcome follow_touched(search *s, const lic_relation *relation,
                                                        const lic_allowed *allowed, lic_ref resource, uint32_t distance)
{
    outcome  outcome = GOES_ON;
    lic_walk walk;
    lic_ref  row;

    lic_walk_subjects_in(s->eval->snapshot, resource, allowed->slot, &walk);
    while (outcome == GOES_ON && lic_walk_next(&walk, &row)) {
        const bool plain = allowed->bare && walk.attribute == LIC_NO_ATTRIBUTE;

        outcome =
            follow_if(s, plain ? THERE : judge(s, relation, row, walk.attribute), allowed->userset, row.node, distance);
    }
    return outcome;
}

INLINE outcome follow_usersets(search *s, const lic_relation *relation, lic_glance rows, lic_ref resource,
                               uint32_t distance)
{
    const lic_program *program = s->eval->program;
    const uint32_t     end     = relation->first_allowed + relation->allowed_count;
    outcome            outcome = GOES_ON;

    for (uint32_t i = relation->first_userset; outcome == GOES_ON && i < end; i++) {
        const lic_allowed *allowed = &program->allowed[i];
        const lic_slot     slot    = allowed->slot;
        const lic_rel      target  = allowed->userset;

        if (target == LIC_NO_REL || (lic_goal_is_leaf(&program->relations[target]) &&
                                     !lic_program_reaches(program, target, s->eval->subject_definition)))
            continue;
        if (rows.touched)
            outcome = follow_touched(s, relation, allowed, resource, distance);
        else
            for (uint32_t r = first_from(rows, (uint64_t)slot << 32);
                 outcome == GOES_ON && r < rows.count && rows.keys[r] >> 32 == slot; r++)
                outcome = follow(s, allowed->bare ? target : LIC_NO_REL, (uint32_t)rows.keys[r], distance);
    }
    return outcome;
}

/* The subject's rows in a relation, of which the first that there is may not be plain. */
static __attribute__((noinline)) verdict judge_direct(search *s, const lic_relation *relation, lic_ways_in ways,
                                                      lic_ref resource, lic_ref row, uint32_t attribute)
{
    const lic_ref everyone = s->eval->everyone;
    const verdict first    = judge(s, relation, row, attribute);
    verdict       second   = NOT_THERE;

    if (first != THERE && ways.wildcard && row.node != LIC_WILDCARD_NODE &&
        lic_snapshot_find(s->eval->snapshot, resource, everyone, &attribute))
        second = judge(s, relation, everyone, attribute);
    return first > second ? first : second;
}

/* Is the subject among the rows of a relation, or all of its type? */
INLINE verdict find_direct(search *s, const lic_relation *relation, lic_ways_in ways, lic_glance rows, lic_ref resource)
{
    lic_ref  row       = s->eval->subject;
    uint32_t attribute = LIC_NO_ATTRIBUTE;

    if (!ways.plain || !has(s, rows, resource, row, &attribute)) {
        row = s->eval->everyone;
        if (!ways.wildcard || !has(s, rows, resource, row, &attribute))
            return NOT_THERE;
    }
    if (attribute == LIC_NO_ATTRIBUTE && ways.bare)
        return THERE;
    return judge_direct(s, relation, ways, resource, row, attribute);
}

INLINE outcome found(search *s, const place *p)
{
    s->need = p->distance + REACH;
    return FOUND;
}

INLINE outcome look_at_relation(search *s, const lic_part *part, const place *p)
{
    static const lic_ways_in plain    = { true, false, true, 0, 0 };
    const lic_eval          *eval     = s->eval;
    const lic_relation      *relation = &eval->program->relations[part->relation];
    const lic_ref            resource = { part->slot, p->goal.node };
    const bool               leaf     = part->kind == LIC_PART_LEAF;
    lic_glance               rows;
    verdict                  direct;

    if (leaf && part->row_slot != eval->subject.slot && part->row_slot != LIC_NO_SLOT)
        return GOES_ON;
    rows = lic_snapshot_glance(eval->snapshot, resource);
    if (is_empty(rows))
        return GOES_ON;
    direct = find_direct(s, relation, part->row_slot == eval->subject.slot ? plain : lic_goal_ways_in(eval, relation),
                         rows, resource);
    if (direct != NOT_THERE)
        return direct == THERE ? found(s, p) : GIVES_UP;
    return leaf ? GOES_ON : follow_usersets(s, relation, rows, resource, p->distance + 2);
}

/* What a row of an arrow leads to. LIC_NO_REL: to nobody, also when only rows with an attribute count. */
INLINE lic_rel target_of(const search *s, const lic_part *part, lic_slot slot, bool *counts, bool *bare)
{
    *counts = true;
    *bare   = true;
    return slot == part->row_slot
               ? part->target
               : lic_goal_target(s->eval->program, &s->eval->program->ops[part->op], slot, counts, bare);
}

/* Apart, because few have to be walked. */
static __attribute__((noinline)) outcome follow_touched_arrow(search *s, const lic_part *part, lic_ref resource,
                                                              uint32_t distance)
{
    outcome  outcome = GOES_ON;
    lic_walk walk;
    lic_ref  row;
    bool     counts;
    bool     bare;

    lic_walk_subjects(s->eval->snapshot, resource, &walk);
    while (outcome == GOES_ON && lic_walk_next(&walk, &row)) {
        const lic_rel target = target_of(s, part, row.slot, &counts, &bare);
        verdict       there  = counts && bare ? THERE : NOT_THERE;

        if (counts && walk.attribute != LIC_NO_ATTRIBUTE)
            there = judge(s, &s->eval->program->relations[part->relation], row, walk.attribute);
        outcome = follow_if(s, there, target, row.node, distance);
    }
    return outcome;
}

INLINE outcome follow_arrow(search *s, const lic_part *part, const place *p)
{
    const lic_ref    resource = { part->slot, p->goal.node };
    const lic_glance rows     = lic_snapshot_glance(s->eval->snapshot, resource);
    outcome          outcome  = GOES_ON;
    bool             counts;
    bool             bare;

    if (rows.touched)
        return follow_touched_arrow(s, part, resource, p->distance + 1);
    for (uint32_t i = 0; outcome == GOES_ON && i < rows.count; i++) {
        const lic_rel target = target_of(s, part, (lic_slot)(rows.keys[i] >> 32), &counts, &bare);

        outcome = follow(s, counts && bare ? target : LIC_NO_REL, (uint32_t)rows.keys[i], p->distance + 1);
    }
    return outcome;
}

INLINE outcome look(search *s)
{
    place              *p        = &s->places[s->at];
    const lic_program  *program  = s->eval->program;
    const lic_relation *relation = &program->relations[p->goal.relation];
    const lic_part     *part     = program->parts + relation->first_part;
    const lic_part     *end      = part + relation->part_count;
    const uint32_t      count    = s->count;
    outcome             outcome  = GOES_ON;

    if (s->depth < p->distance + REACH || (s->wary && p->goal.node == s->eval->subject.node))
        return GIVES_UP;
    if (s->need < p->distance + REACH)
        s->need = p->distance + REACH;
    s->steps += relation->is_permission ? relation->part_count : 0;
    for (; outcome == GOES_ON && part < end; part++) {
        if (part->kind == LIC_PART_ARROW)
            outcome = follow_arrow(s, part, p);
        else if (part->kind == LIC_PART_NAME)
            outcome = add(s, (lic_goal){ part->relation, p->goal.node }, p->distance + 1);
        else
            outcome = look_at_relation(s, part, p);
    }
    p->ends = outcome == GOES_ON && s->count == count;
    return outcome;
}

/* ---------------------------------------------------------------- the memo */

static bool remember(const search *s, uint32_t index, unsigned value, uint32_t need)
{
    const place *p = &s->places[index];

    return lic_eval_memo_add(s->eval->memo, p->goal, s->depth - p->distance,
                             lic_finding_of(value, NULL, need - p->distance));
}

/* Nobody is at any place. */
static bool remember_no(const search *s, uint32_t first)
{
    for (uint32_t i = first; i < s->count; i++)
        if (!remember(s, i, LIC_NO, s->need))
            return false;
    return true;
}

/* The subject is at all the places on the way to where it was found, and not at those that led nowhere. no_need: what
 * these need, at most. */
static bool remember_yes(const search *s, uint32_t first, uint32_t no_need)
{
    for (uint32_t i = first; i < s->at; i++)
        if (s->places[i].ends && !remember(s, i, LIC_NO, no_need))
            return false;
    for (uint32_t i = s->at; i >= first; i = s->places[i].from) {
        if (!remember(s, i, LIC_YES, s->need))
            return false;
        if (i == 0)
            break;
    }
    return true;
}

static void begin(search *s, lic_eval *eval, uint32_t depth, bool again)
{
    s->eval   = eval;
    s->depth  = depth;
    s->at     = 0;
    s->count  = 0;
    s->steps  = 0;
    s->need   = 1;
    s->wary   = eval->subject.slot != eval->everyone.slot;
    s->judges = !again;
    s->judged = false;
    if (eval->memo == NULL && eval->goals > LIC_GOALS_BEFORE_MEMO)
        eval->memo = lic_eval_memo_new(eval->arena);
}

lic_finding lic_eval_search(lic_eval *eval, lic_goal goal, uint32_t depth, bool again)
{
    LIC_UNINITIALIZED search s;
    const uint64_t           steps   = eval->steps;
    const uint32_t           first   = again ? 0 : 1; /* of the places to be remembered */
    uint32_t                 no_need = 0;
    bool                     done;
    outcome                  outcome;

    begin(&s, eval, depth, again);
    outcome = add(&s, goal, 0);
    while (outcome == GOES_ON && s.at < s.count) {
        no_need = s.need;
        outcome = look(&s);
        s.at += outcome == GOES_ON;
    }
    eval->goals += s.count;
    done = outcome != GIVES_UP && lic_goal_steps(eval, s.steps) == LIC_FAILURE_NONE;
    if (done && eval->memo != NULL && s.count > 0 && !s.judged)
        done = outcome == FOUND ? remember_yes(&s, first, no_need) : remember_no(&s, first);
    if (done)
        return lic_finding_of(outcome == FOUND ? LIC_YES : LIC_NO, NULL, s.need);
    eval->steps = steps;
    return lic_finding_of(LIC_NOT_FOUND, NULL, 0);
}
