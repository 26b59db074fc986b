/* Forward: goals first, along the rules, and for each pair of relation and shape the goals that its rows lead to; then
 * states, since what a pair leads to must be known to all. Backward the same over schema/reachability.h, which has the
 * rules the other way round. */
#include "datastore/postgres/fetch_plan.h"

#include "datastore/object.h"
#include "schema/reachability.h"

#define NONE UINT32_MAX

/* -------------------------------------------------------------------- members */

/* A list of numbers, of which the order does not matter. */
typedef struct numbers {
    uint32_t *items;
    size_t    count;
    size_t    capacity;
} numbers;

static bool add_number(lic_arena *arena, numbers *to, uint32_t number)
{
    void *items = to->items;

    if (!lic_arena_grow(arena, &items, &to->capacity, to->count + 1, sizeof *to->items))
        return false;
    to->items              = items;
    to->items[to->count++] = number;
    return true;
}

static bool has_number(const numbers *in, uint32_t number)
{
    for (size_t i = 0; i < in->count; i++)
        if (in->items[i] == number)
            return true;
    return false;
}

/* Once each. For lists as short as a relation has shapes. */
static bool put_number(lic_arena *arena, numbers *to, uint32_t number)
{
    return has_number(to, number) || add_number(arena, to, number);
}

static bool same_numbers(const numbers *a, const numbers *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++)
        same = has_number(b, a->items[i]);
    return same;
}

/* Rows of one relation and one shape of subjects, and what they lead to. */
typedef struct pair {
    lic_rel  relation;
    lic_slot slot;
    uint32_t next;       /* of the same relation; NONE */
    bool     is_userset; /* whoever is in what it leads to is in the relation */
    numbers  leads_to;   /* forward: goals, as relations. Backward: numbers of the reachability */
    uint32_t state;      /* of leads_to; 0: not made yet */
} pair;

typedef struct pairs {
    pair     *items;
    size_t    count;
    size_t    capacity;
    uint32_t *first; /* by relation: the first of its pairs, plus 1 */
} pairs;

static pair *find_pair(const pairs *in, lic_rel relation, lic_slot slot)
{
    for (uint32_t i = in->first[relation]; i != 0; i = in->items[i - 1].next)
        if (in->items[i - 1].slot == slot)
            return &in->items[i - 1];
    return NULL;
}

/* New or known; NULL: out of memory. */
static pair *put_pair(lic_arena *arena, pairs *in, lic_rel relation, lic_slot slot)
{
    pair *known = find_pair(in, relation, slot);
    void *items = in->items;

    if (known != NULL)
        return known;
    if (!lic_arena_grow(arena, &items, &in->capacity, in->count + 1, sizeof *in->items))
        return NULL;
    in->items              = items;
    in->items[in->count++] = (pair){ .relation = relation, .slot = slot, .next = in->first[relation] };
    in->first[relation]    = (uint32_t)in->count;
    return &in->items[in->count - 1];
}

static bool add_probe(lic_arena *arena, lic_fetch_probes *to, lic_fetch_probe probe)
{
    void *items = to->items;

    if (!lic_arena_grow(arena, &items, &to->capacity, to->count + 1, sizeof *to->items))
        return false;
    to->items              = items;
    to->items[to->count++] = probe;
    return true;
}

static bool add_seed(lic_arena *arena, lic_fetch_seeds *to, uint32_t state, lic_str id, lic_str subject_id)
{
    void *items = to->items;

    if (!lic_arena_grow(arena, &items, &to->capacity, to->count + 1, sizeof *to->items))
        return false;
    to->items              = items;
    to->items[to->count++] = (lic_fetch_seed){ state, id, subject_id };
    return true;
}

/* States, each a set of numbers. What a state is about never changes. */
typedef struct states {
    numbers *sets;
    size_t   count;
    size_t   capacity;
    uint32_t before; /* so many states are others' */
} states;

/* New or known; 0: out of memory. The set is the state's from here on. */
static uint32_t state_of(lic_arena *arena, states *in, numbers set, bool is_new)
{
    void *sets = in->sets;

    for (size_t i = 0; i < in->count && !is_new; i++)
        if (same_numbers(&in->sets[i], &set))
            return in->before + (uint32_t)i + 1;
    if (!lic_arena_grow(arena, &sets, &in->capacity, in->count + 1, sizeof *in->sets))
        return 0;
    in->sets              = sets;
    in->sets[in->count++] = set;
    return in->before + (uint32_t)in->count;
}

/* ------------------------------------------------------------------- audiences */

typedef enum whom {
    WHOM_ONE,  /* is this subject in? */
    WHOM_SLOT, /* which of one shape are in? */
    WHOM_ROWS  /* which rows are there? Usersets are rows like others */
} whom;

typedef struct audience {
    whom     whom;
    uint32_t definition;
    lic_slot slot;
} audience;

/* An operand of a permission that asks for more than itself. */
typedef struct operand {
    lic_rel relation;
    bool    is_arrow; /* the relation is the tupleset */
} operand;

typedef struct goal {
    lic_rel relation;
    size_t  first_operand;
    size_t  operand_count;
} goal;

typedef struct planner {
    lic_arena         *arena;
    const lic_program *program;
    audience           audience;
    goal              *goals;
    size_t             goal_count;
    size_t             goal_capacity;
    uint32_t          *goal_of; /* by relation: index in goals, plus 1 */
    operand           *operands;
    size_t             operand_count;
    size_t             operand_capacity;
    pairs              pairs;
    states             states;
    uint32_t          *member_in;   /* by relation: the last state whose rows it gives members by */
    uint32_t          *tupleset_in; /* ... whose arrows it leads */
    numbers            ops;         /* still to be looked at */
    lic_fetch_probes  *probes;
} planner;

static bool planner_init(planner *p, lic_arena *arena, const lic_program *program, audience of, lic_fetch_plan *plan,
                         uint32_t states_before)
{
    const size_t count = program->relation_count;

    *p               = (planner){ .arena = arena, .program = program, .audience = of, .probes = &plan->probes };
    p->states.before = states_before;
    p->goal_of       = lic_new_array(arena, count, uint32_t);
    p->pairs.first   = lic_new_array(arena, count, uint32_t);
    p->member_in     = lic_new_array(arena, count, uint32_t);
    p->tupleset_in   = lic_new_array(arena, count, uint32_t);
    return p->goal_of != NULL && p->pairs.first != NULL && p->member_in != NULL && p->tupleset_in != NULL;
}

/* ----------------------------------------------------------------------- goals */

static bool add_goal(planner *p, lic_rel relation)
{
    void *goals = p->goals;

    if (p->goal_of[relation] != 0)
        return true;
    if (!lic_arena_grow(p->arena, &goals, &p->goal_capacity, p->goal_count + 1, sizeof *p->goals))
        return false;
    p->goals                  = goals;
    p->goals[p->goal_count++] = (goal){ .relation = relation };
    p->goal_of[relation]      = (uint32_t)p->goal_count;
    return true;
}

static bool leads_to(planner *p, pair *from, lic_rel relation)
{
    return put_number(p->arena, &from->leads_to, relation) && add_goal(p, relation);
}

static bool find_usersets(planner *p, lic_rel relation)
{
    const lic_relation *r = &p->program->relations[relation];

    for (uint32_t i = r->first_allowed; i < r->first_allowed + r->allowed_count; i++) {
        const lic_allowed *allowed = &p->program->allowed[i];
        pair              *from;

        if (allowed->userset == LIC_NO_REL)
            continue;
        from = put_pair(p->arena, &p->pairs, relation, allowed->slot);
        if (from == NULL || !leads_to(p, from, allowed->userset))
            return false;
        from->is_userset = true;
    }
    return true;
}

/* Rows whose subject has no such name lead nowhere, but are rows: .all() looks at them. */
static bool find_arrow(planner *p, const lic_op *op)
{
    const lic_relation *tupleset = &p->program->relations[op->relation];

    for (uint32_t i = tupleset->first_allowed; i < tupleset->first_allowed + tupleset->allowed_count; i++) {
        const lic_allowed *allowed = &p->program->allowed[i];
        lic_rel            target;
        pair              *from;

        if (allowed->wildcard)
            continue;
        target = lic_program_target(p->program, op, allowed->definition);
        from   = put_pair(p->arena, &p->pairs, op->relation, allowed->slot);
        if (from == NULL || (target != LIC_NO_REL && !leads_to(p, from, target)))
            return false;
    }
    return true;
}

static bool add_operand(planner *p, lic_rel relation, bool is_arrow)
{
    void *operands = p->operands;

    if (!lic_arena_grow(p->arena, &operands, &p->operand_capacity, p->operand_count + 1, sizeof *p->operands))
        return false;
    p->operands                     = operands;
    p->operands[p->operand_count++] = (operand){ relation, is_arrow };
    return true;
}

static bool find_op(planner *p, const lic_op *op)
{
    switch (op->kind) {
    case LIC_OP_NAME:
        return add_operand(p, op->relation, false) && add_goal(p, op->relation);
    case LIC_OP_UNION:
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        for (uint32_t i = 0; i < op->count; i++)
            if (!add_number(p->arena, &p->ops, p->program->children[op->first + i]))
                return false;
        return true;
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return add_operand(p, op->relation, true) && find_arrow(p, op);
    case LIC_OP_SELF:
    case LIC_OP_NIL:
        break;
    }
    return true;
}

static bool find_operands(planner *p, size_t number, uint32_t root)
{
    const size_t first = p->operand_count;

    if (!add_number(p->arena, &p->ops, root))
        return false;
    while (p->ops.count > 0)
        if (!find_op(p, &p->program->ops[p->ops.items[--p->ops.count]]))
            return false;
    p->goals[number].first_operand = first;
    p->goals[number].operand_count = p->operand_count - first;
    return true;
}

/* All goals that those added lead to. */
static bool find_goals(planner *p)
{
    for (size_t i = 0; i < p->goal_count; i++) {
        const lic_rel       relation = p->goals[i].relation;
        const lic_relation *r        = &p->program->relations[relation];

        if (r->is_permission ? !find_operands(p, i, r->op)
                             : p->audience.whom != WHOM_ROWS && !find_usersets(p, relation))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------------- states */

static uint32_t state_of_goals(planner *p, const numbers *goals)
{
    return goals->count == 0 ? LIC_FETCH_ENDS : state_of(p->arena, &p->states, *goals, false);
}

static uint32_t state_of_goal(planner *p, lic_rel relation)
{
    numbers goals = { NULL, 0, 0 };

    return add_number(p->arena, &goals, relation) ? state_of_goals(p, &goals) : 0;
}

static bool probe_for(planner *p, uint32_t state, uint32_t next, lic_rel relation, lic_slot slot, lic_fetch_mode mode)
{
    return add_probe(p->arena, p->probes, (lic_fetch_probe){ state, next, relation, slot, mode, false });
}

/* All rows of the pair. */
static bool probe_pair(planner *p, uint32_t state, pair *from)
{
    if (from->leads_to.count > 0 && from->state == 0) {
        from->state = state_of_goals(p, &from->leads_to);
        if (from->state == 0)
            return false;
    }
    return probe_for(p, state, from->state, from->relation, from->slot, LIC_FETCH_ALL);
}

/* Does the state look at all rows of this shape, because they lead on? */
static bool is_followed(const planner *p, uint32_t state, lic_rel relation, lic_slot slot)
{
    const pair *from = find_pair(&p->pairs, relation, slot);

    return from != NULL && (from->is_userset || p->tupleset_in[relation] == state);
}

static bool allows(const planner *p, lic_rel relation, lic_slot slot, bool wildcard)
{
    const lic_relation *r = &p->program->relations[relation];

    for (uint32_t i = r->first_allowed; i < r->first_allowed + r->allowed_count; i++)
        if (p->program->allowed[i].slot == slot && p->program->allowed[i].wildcard == wildcard)
            return true;
    return false;
}

/* Rows that end at their subjects, of those who are asked about. */
static bool probe_subjects(planner *p, uint32_t state, lic_rel relation)
{
    const lic_slot       slot     = p->audience.slot;
    const lic_slot       everyone = p->program->definitions[p->audience.definition].ellipsis;
    const lic_fetch_mode mode     = p->audience.whom == WHOM_ONE ? LIC_FETCH_SUBJECT : LIC_FETCH_ALL;
    bool                 all      = is_followed(p, state, relation, everyone);

    if (allows(p, relation, slot, false) && !is_followed(p, state, relation, slot)) {
        if (!probe_for(p, state, LIC_FETCH_ENDS, relation, slot, mode))
            return false;
        all |= slot == everyone && mode == LIC_FETCH_ALL;
    }
    return all || !allows(p, relation, everyone, true) ||
           probe_for(p, state, LIC_FETCH_ENDS, relation, everyone, LIC_FETCH_WILDCARD);
}

static bool is_first_of_slot(const planner *p, lic_rel relation, uint32_t index)
{
    for (uint32_t i = p->program->relations[relation].first_allowed; i < index; i++)
        if (p->program->allowed[i].slot == p->program->allowed[index].slot)
            return false;
    return true;
}

static bool probe_rows(planner *p, uint32_t state, lic_rel relation)
{
    const lic_relation *r = &p->program->relations[relation];

    for (uint32_t i = r->first_allowed; i < r->first_allowed + r->allowed_count; i++) {
        const lic_slot slot = p->program->allowed[i].slot;

        if (is_first_of_slot(p, relation, i) && !is_followed(p, state, relation, slot) &&
            !probe_for(p, state, LIC_FETCH_ENDS, relation, slot, LIC_FETCH_ALL))
            return false;
    }
    return true;
}

static bool probe_members(planner *p, uint32_t state, lic_rel relation)
{
    for (uint32_t i = p->pairs.first[relation]; i != 0; i = p->pairs.items[i - 1].next)
        if (p->pairs.items[i - 1].is_userset && p->tupleset_in[relation] != state &&
            !probe_pair(p, state, &p->pairs.items[i - 1]))
            return false;
    return p->audience.whom == WHOM_ROWS ? probe_rows(p, state, relation) : probe_subjects(p, state, relation);
}

static bool probe_tupleset(planner *p, uint32_t state, lic_rel relation)
{
    for (uint32_t i = p->pairs.first[relation]; i != 0; i = p->pairs.items[i - 1].next)
        if (!probe_pair(p, state, &p->pairs.items[i - 1]))
            return false;
    return true;
}

/* The state's goals, and those of the same object that they name. */
static bool close(planner *p, uint32_t state, numbers *closed)
{
    const numbers set = p->states.sets[state - p->states.before - 1];

    *closed = (numbers){ NULL, 0, 0 };
    for (size_t i = 0; i < set.count; i++) {
        p->member_in[set.items[i]] = state;
        if (!add_number(p->arena, closed, set.items[i]))
            return false;
    }
    for (size_t i = 0; i < closed->count; i++) {
        const goal *g = &p->goals[p->goal_of[closed->items[i]] - 1];

        for (size_t j = g->first_operand; j < g->first_operand + g->operand_count; j++) {
            const operand *o = &p->operands[j];

            if (o->is_arrow || p->member_in[o->relation] == state)
                continue;
            p->member_in[o->relation] = state;
            if (!add_number(p->arena, closed, o->relation))
                return false;
        }
    }
    return true;
}

static bool probe_arrows(planner *p, uint32_t state, const goal *g)
{
    for (size_t j = g->first_operand; j < g->first_operand + g->operand_count; j++) {
        const operand *o = &p->operands[j];

        if (!o->is_arrow || p->tupleset_in[o->relation] == state)
            continue;
        p->tupleset_in[o->relation] = state;
        if (!probe_tupleset(p, state, o->relation))
            return false;
    }
    return true;
}

static bool make_state(planner *p, uint32_t state)
{
    numbers closed;

    if (!close(p, state, &closed))
        return false;
    for (size_t i = 0; i < closed.count; i++)
        if (!probe_arrows(p, state, &p->goals[p->goal_of[closed.items[i]] - 1]))
            return false;
    for (size_t i = 0; i < closed.count; i++)
        if (!p->program->relations[closed.items[i]].is_permission && !probe_members(p, state, closed.items[i]))
            return false;
    return true;
}

/* Probes of all states, and of those that these lead to. */
static bool make_states(planner *p)
{
    for (size_t i = 0; i < p->states.count; i++)
        if (!make_state(p, p->states.before + (uint32_t)i + 1))
            return false;
    return true;
}

/* ------------------------------------------------------------ what decides */

/* Relations whose members are the goal's, by names and unions alone, nearer than the depth limit. */
static bool find_granting(planner *p, lic_rel root, uint32_t max_depth, numbers *granting)
{
    size_t   last  = 1; /* of this distance */
    uint32_t depth = 1;

    *granting = (numbers){ NULL, 0, 0 };
    if (!add_number(p->arena, granting, root))
        return false;
    for (size_t i = 0; i < granting->count && depth < max_depth; i++) {
        const lic_relation *r = &p->program->relations[granting->items[i]];

        if (r->is_permission && !add_number(p->arena, &p->ops, r->op))
            return false;
        while (p->ops.count > 0) {
            const lic_op *op = &p->program->ops[p->ops.items[--p->ops.count]];

            for (uint32_t c = 0; op->kind == LIC_OP_UNION && c < op->count; c++)
                if (!add_number(p->arena, &p->ops, p->program->children[op->first + c]))
                    return false;
            if (op->kind == LIC_OP_NAME && !put_number(p->arena, granting, op->relation))
                return false;
        }
        if (i + 1 == last) {
            last = granting->count;
            depth++;
        }
    }
    return true;
}

static bool is_bare(const planner *p, const lic_fetch_probe *probe)
{
    const lic_relation *r        = &p->program->relations[probe->relation];
    const bool          wildcard = probe->mode == LIC_FETCH_WILDCARD;

    for (uint32_t i = r->first_allowed; i < r->first_allowed + r->allowed_count; i++) {
        const lic_allowed *allowed = &p->program->allowed[i];

        if (allowed->slot == probe->slot && allowed->wildcard == wildcard && allowed->bare)
            return true;
    }
    return false;
}

static bool mark_deciding(planner *p, uint32_t state, lic_rel root, uint32_t max_depth, lic_fetch_plan *plan)
{
    numbers granting;

    if (!find_granting(p, root, max_depth, &granting))
        return false;
    for (size_t i = 0; i < plan->probes.count; i++) {
        lic_fetch_probe *probe = &plan->probes.items[i];

        if (probe->state != state || probe->mode == LIC_FETCH_ALL || !has_number(&granting, probe->relation))
            continue;
        probe->decides = is_bare(p, probe);
    }
    return true;
}

/* -------------------------------------------------------------------- questions */

/* One goal on one object for one subject. */
typedef struct question {
    lic_rel  relation;
    lic_str  id;
    audience audience;
    lic_str  subject_id;
} question;

typedef struct questions {
    question *items;
    size_t    count;
    size_t    capacity;
} questions;

static bool is_id(lic_str id)
{
    size_t i = 0;

    while (i < id.size && i <= LIC_MAX_ID_BYTES && lic_is_id_byte((unsigned char)id.data[i]))
        i++;
    return i == id.size && i > 0 && i <= LIC_MAX_ID_BYTES;
}

static bool find_relation(const lic_program *program, lic_str type, lic_str name, lic_rel *relation)
{
    const uint32_t definition = lic_program_definition(program, type);

    *relation = definition == LIC_NO_DEFINITION || !lic_str_given(name)
                    ? LIC_NO_REL
                    : lic_program_relation(program, definition, name);
    return *relation != LIC_NO_REL;
}

/* false: there is no such shape of subjects. */
static bool find_audience(const lic_program *program, lic_str type, lic_str relation, whom whom, audience *found)
{
    lic_rel number;

    found->whom       = whom;
    found->definition = lic_program_definition(program, type);
    if (found->definition == LIC_NO_DEFINITION)
        return false;
    found->slot = program->definitions[found->definition].ellipsis;
    if (!lic_str_given(relation))
        return true;
    number = lic_program_relation(program, found->definition, relation);
    if (number != LIC_NO_REL)
        found->slot = program->relations[number].slot;
    return number != LIC_NO_REL;
}

static bool find_subject(const lic_program *program, lic_str text, audience *found, lic_str *id)
{
    lic_object subject;

    if (!lic_subject_split(text, &subject) || !is_id(subject.id))
        return false;
    *id = subject.id;
    return find_audience(program, subject.type, subject.relation, WHOM_ONE, found);
}

static bool add_question(lic_arena *arena, questions *to, const question *q)
{
    void *items = to->items;

    if (!lic_arena_grow(arena, &items, &to->capacity, to->count + 1, sizeof *to->items))
        return false;
    to->items              = items;
    to->items[to->count++] = *q;
    return true;
}

/* Adds nothing for what can't be asked. */
static bool ask(lic_arena *arena, const lic_program *program, lic_str resource, lic_str name, question q, questions *to)
{
    lic_object object;

    if (!lic_object_split(resource, &object) || !is_id(object.id) ||
        !find_relation(program, object.type, name, &q.relation))
        return true;
    q.id = object.id;
    return add_question(arena, to, &q);
}

static bool ask_checks(lic_arena *arena, const lic_program *program, const lic_need *need, questions *to)
{
    question q        = { .relation = LIC_NO_REL };
    lic_str  text     = { NULL, 0 };
    bool     is_known = false;

    for (size_t i = 0; i < need->check_count; i++) {
        const licet_check_request *check = &need->checks[i];

        if (!lic_str_given(text) || !lic_str_equal(text, check->subject))
            is_known = find_subject(program, check->subject, &q.audience, &q.subject_id);
        text = check->subject;
        if (is_known && !ask(arena, program, check->resource, check->permission, q, to))
            return false;
    }
    return true;
}

static bool ask_permissions(lic_arena *arena, const lic_program *program, const lic_need *need, questions *to)
{
    question   q = { .relation = LIC_NO_REL };
    lic_object object;
    uint32_t   definition;

    if (!find_subject(program, need->subject, &q.audience, &q.subject_id) || !lic_object_split(need->resource, &object))
        return true;
    for (size_t i = 0; i < need->permission_count && need->permissions != NULL; i++)
        if (!ask(arena, program, need->resource, need->permissions[i], q, to))
            return false;
    definition = lic_program_definition(program, object.type);
    if (need->permissions != NULL || definition == LIC_NO_DEFINITION)
        return true;
    for (uint32_t i = 0; i < program->definitions[definition].relation_count; i++) {
        const lic_relation *r = &program->relations[program->definitions[definition].first_relation + i];

        if (r->is_permission && !ask(arena, program, need->resource, r->name, q, to))
            return false;
    }
    return true;
}

static bool ask_all(lic_arena *arena, const lic_program *program, const lic_need *need, questions *to)
{
    question q = { .audience = { .whom = WHOM_ROWS }, .subject_id = LIC_STR("") };

    switch (need->kind) {
    case LIC_NEED_CHECKS:
    case LIC_NEED_EXPLANATION:
        return ask_checks(arena, program, need, to);
    case LIC_NEED_PERMISSIONS:
        return ask_permissions(arena, program, need, to);
    case LIC_NEED_SUBJECTS:
        return !find_audience(program, need->subject_type, need->subject_relation, WHOM_SLOT, &q.audience) ||
               ask(arena, program, need->resource, need->permission, q, to);
    case LIC_NEED_EXPANSION:
        return ask(arena, program, need->resource, need->permission, q, to);
    case LIC_NEED_RESOURCES:
    case LIC_NEED_ROWS:
    case LIC_NEED_NOTHING:
        break;
    }
    return true;
}

static bool same_audience(const audience *a, const audience *b)
{
    return a->whom == b->whom && a->definition == b->definition && a->slot == b->slot;
}

/* Those of one audience; of a check also what decides. states: in all, so far. */
static bool plan_audience(lic_arena *arena, const lic_program *program, const questions *all, const audience *of,
                          uint32_t max_depth, uint32_t *state_count, lic_fetch_plan *plan)
{
    planner   p;
    uint32_t *roots = lic_new_array(arena, program->relation_count, uint32_t); /* by relation: its state */

    if (roots == NULL || !planner_init(&p, arena, program, *of, plan, *state_count))
        return false;
    for (size_t i = 0; i < all->count; i++)
        if (same_audience(&all->items[i].audience, of) && !add_goal(&p, all->items[i].relation))
            return false;
    if (!find_goals(&p))
        return false;
    for (size_t i = 0; i < all->count; i++) {
        const question *q = &all->items[i];

        if (!same_audience(&q->audience, of))
            continue;
        if (roots[q->relation] == 0)
            roots[q->relation] = state_of_goal(&p, q->relation);
        if (roots[q->relation] == 0 || !add_seed(arena, &plan->seeds, roots[q->relation], q->id, q->subject_id))
            return false;
    }
    if (!make_states(&p))
        return false;
    for (size_t i = 0; i < program->relation_count && max_depth > 0; i++)
        if (roots[i] != 0 && !mark_deciding(&p, roots[i], (lic_rel)i, max_depth, plan))
            return false;
    *state_count += (uint32_t)p.states.count;
    return true;
}

/* Questions about subjects of many shapes are rare, and those of one shape come together. */
static bool is_first_of_audience(const questions *all, size_t index)
{
    for (size_t i = index; i-- > 0;)
        if (same_audience(&all->items[i].audience, &all->items[index].audience))
            return false;
    return true;
}

static bool plan_forward(lic_arena *arena, const lic_program *program, const lic_need *need, uint32_t max_depth,
                         lic_fetch_plan *plan)
{
    const bool decides = need->kind == LIC_NEED_CHECKS || need->kind == LIC_NEED_PERMISSIONS;
    questions  all     = { NULL, 0, 0 };
    uint32_t   states  = 0;

    if (!ask_all(arena, program, need, &all))
        return false;
    for (size_t i = 0; i < all.count; i++) {
        if (!is_first_of_audience(&all, i))
            continue;
        plan->is_for_one = decides && i == 0;
        if (!plan_audience(arena, program, &all, &all.items[i].audience, decides ? max_depth : 0, &states, plan))
            return false;
    }
    return true;
}

/* -------------------------------------------------------------------- backwards */

typedef struct returner {
    lic_arena         *arena;
    const lic_program *program;
    audience           audience;
    lic_reachability   reach;
    pairs              pairs;
    states             states;
    bool              *is_asked; /* by number: goals there are put to the evaluator */
    lic_fetch_plan    *plan;
} returner;

static bool comes_to(returner *r, lic_rel rows, lic_slot slot, uint32_t number)
{
    pair *from = put_pair(r->arena, &r->pairs, rows, slot);

    return from != NULL && put_number(r->arena, &from->leads_to, number);
}

static bool allows_subject(const returner *r, lic_rel relation, lic_slot slot, bool wildcard)
{
    const lic_relation *at = &r->program->relations[relation];

    for (uint32_t i = at->first_allowed; i < at->first_allowed + at->allowed_count; i++)
        if (r->program->allowed[i].slot == slot && r->program->allowed[i].wildcard == wildcard)
            return true;
    return false;
}

static lic_slot everyone(const returner *r)
{
    return r->program->definitions[r->audience.definition].ellipsis;
}

/* Rows by entries, and of the subject and its type's wildcard. */
static bool find_ways(returner *r)
{
    for (uint32_t i = 0; i < r->reach.count; i++) {
        const lic_rel relation = r->reach.relations[i].relation;

        for (uint32_t e = r->reach.relations[i].first_entry; e != LIC_NO_ENTRY; e = r->reach.entries[e].next) {
            const lic_entry *entry = &r->reach.entries[e];

            r->is_asked[entry->to] |= entry->open;
            r->plan->confirms |= entry->open;
            if (entry->rows != LIC_NO_REL && !comes_to(r, entry->rows, entry->slot, entry->to))
                return false;
        }
        r->plan->confirms |= r->reach.relations[i].self == LIC_SELF_OPEN;
        r->is_asked[i] |= r->reach.relations[i].self == LIC_SELF_OPEN;
        if (r->program->relations[relation].is_permission)
            continue;
        if (allows_subject(r, relation, r->audience.slot, false) && !comes_to(r, relation, r->audience.slot, i))
            return false;
        if (allows_subject(r, relation, everyone(r), true) && !comes_to(r, relation, everyone(r), i))
            return false;
    }
    r->is_asked[0] = true;
    return true;
}

/* With all that they lead to on the same object. */
static bool close_by_names(returner *r, numbers *set)
{
    for (size_t i = 0; i < set->count; i++)
        for (uint32_t e = r->reach.relations[set->items[i]].first_entry; e != LIC_NO_ENTRY;
             e          = r->reach.entries[e].next)
            if (r->reach.entries[e].rows == LIC_NO_REL && !put_number(r->arena, set, r->reach.entries[e].to))
                return false;
    return true;
}

static bool probe_back(returner *r, uint32_t state, lic_rel rows, lic_slot slot)
{
    pair *from = find_pair(&r->pairs, rows, slot);

    if (from->state == 0) {
        numbers set = { NULL, 0, 0 };

        for (size_t i = 0; i < from->leads_to.count; i++)
            if (!put_number(r->arena, &set, from->leads_to.items[i]))
                return false;
        if (!close_by_names(r, &set))
            return false;
        from->state = state_of(r->arena, &r->states, set, false);
        if (from->state == 0)
            return false;
    }
    for (size_t i = r->plan->backward.count; i-- > 0 && r->plan->backward.items[i].state == state;)
        if (r->plan->backward.items[i].relation == rows && r->plan->backward.items[i].slot == slot)
            return true;
    return add_probe(r->arena, &r->plan->backward,
                     (lic_fetch_probe){ state, from->state, rows, slot, LIC_FETCH_ALL, false });
}

/* Rows of the subject, or of the wildcard. */
static bool probe_begin(returner *r, uint32_t state, lic_slot slot, bool wildcard)
{
    for (uint32_t i = 0; i < r->reach.count; i++) {
        const lic_rel relation = r->reach.relations[i].relation;

        if (!r->program->relations[relation].is_permission && allows_subject(r, relation, slot, wildcard) &&
            !probe_back(r, state, relation, slot))
            return false;
    }
    return true;
}

static bool probe_entries(returner *r, uint32_t state)
{
    const numbers set = r->states.sets[state - 1];

    for (size_t i = 0; i < set.count; i++)
        for (uint32_t e = r->reach.relations[set.items[i]].first_entry; e != LIC_NO_ENTRY; e = r->reach.entries[e].next)
            if (r->reach.entries[e].rows != LIC_NO_REL &&
                !probe_back(r, state, r->reach.entries[e].rows, r->reach.entries[e].slot))
                return false;
    return true;
}

/* What the subject is in by being it. */
static bool find_identities(returner *r, numbers *set)
{
    for (uint32_t i = 0; i < r->reach.count; i++) {
        const lic_relation *at = &r->program->relations[r->reach.relations[i].relation];
        const bool is_self = r->reach.relations[i].self != LIC_SELF_NONE && at->definition == r->audience.definition &&
                             r->audience.slot == everyone(r);

        if ((at->slot == r->audience.slot || is_self) && !put_number(r->arena, set, i))
            return false;
    }
    return close_by_names(r, set);
}

/* The subject's state and the wildcard's, which are like no others. */
static bool begin_back(returner *r)
{
    numbers  set  = { NULL, 0, 0 };
    numbers  none = { NULL, 0, 0 };
    uint32_t subject;
    uint32_t wildcard;

    if (!find_identities(r, &set))
        return false;
    subject  = state_of(r->arena, &r->states, set, true);
    wildcard = state_of(r->arena, &r->states, none, true);
    return subject != 0 && wildcard != 0 && probe_begin(r, subject, r->audience.slot, false) &&
           probe_entries(r, subject) && probe_begin(r, wildcard, everyone(r), true) &&
           add_seed(r->arena, &r->plan->starts, subject, r->plan->subject_id, LIC_STR("")) &&
           add_seed(r->arena, &r->plan->starts, wildcard, LIC_STR("*"), LIC_STR(""));
}

/* Goals that may be asked about on objects in the state. */
static bool asked_in(returner *r, uint32_t state, numbers *goals)
{
    const numbers set = r->states.sets[state - 1];

    *goals = (numbers){ NULL, 0, 0 };
    for (size_t i = 0; i < set.count; i++)
        if (r->is_asked[set.items[i]] && !add_number(r->arena, goals, r->reach.relations[set.items[i]].relation))
            return false;
    return true;
}

/* Checks of what was reached. */
static bool plan_crossings(returner *r)
{
    planner p;
    numbers goals;

    r->plan->crossings = lic_new_array(r->arena, r->states.count, lic_fetch_crossing);
    if (r->plan->crossings == NULL || !planner_init(&p, r->arena, r->program, r->audience, r->plan, 0))
        return false;
    for (uint32_t i = 0; i < r->reach.count; i++)
        if (r->is_asked[i] && !add_goal(&p, r->reach.relations[i].relation))
            return false;
    if (!find_goals(&p))
        return false;
    for (size_t i = 0; i < r->states.count; i++) {
        uint32_t to;

        if (!asked_in(r, (uint32_t)i + 1, &goals))
            return false;
        if (goals.count == 0)
            continue;
        to = state_of_goals(&p, &goals);
        if (to == 0)
            return false;
        r->plan->crossings[r->plan->crossing_count++] = (lic_fetch_crossing){ (uint32_t)i + 1, to };
    }
    return make_states(&p);
}

static bool plan_backward(lic_arena *arena, const lic_program *program, const lic_need *need, lic_fetch_plan *plan)
{
    returner r = { .arena = arena, .program = program, .plan = plan };

    if (!find_subject(program, need->subject, &r.audience, &plan->subject_id) ||
        !find_relation(program, need->resource_type, need->permission, &plan->target))
        return true;
    plan->subject_slot       = r.audience.slot;
    plan->subject_definition = r.audience.definition;
    if (!lic_reachability_find(arena, program, plan->target, r.audience.definition, &r.reach))
        return false;
    if (r.reach.count == 0)
        return true;
    r.pairs.first = lic_new_array(arena, program->relation_count, uint32_t);
    r.is_asked    = lic_new_array(arena, r.reach.count, bool);
    if (r.pairs.first == NULL || r.is_asked == NULL || !find_ways(&r) || !begin_back(&r))
        return false;
    for (size_t i = 2; i < r.states.count; i++)
        if (!probe_entries(&r, (uint32_t)i + 1))
            return false;
    return plan_crossings(&r);
}

bool lic_fetch_plan_make(lic_arena *arena, const lic_program *program, const lic_need *need, uint32_t max_depth,
                         lic_fetch_plan *plan)
{
    *plan = (lic_fetch_plan){ .target = LIC_NO_REL };
    return need->kind == LIC_NEED_RESOURCES ? plan_backward(arena, program, need, plan)
                                            : plan_forward(arena, program, need, max_depth, plan);
}
