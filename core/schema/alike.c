/* Members are compared as they are written, and who needs whom is noted on the way; what is unlike then spreads to
 * those that need it. */
#include "schema/alike.h"

/* Of two members of `after`: the second needs the first. */
typedef struct need {
    lic_rel needed;
    lic_rel by;
} need;

typedef struct op_pair {
    uint32_t before;
    uint32_t after;
} op_pair;

typedef struct comparison {
    lic_arena         *arena;
    const lic_program *before;
    const lic_program *after;
    lic_rel           *twins;   /* member of after -> member of before, or LIC_NO_REL */
    bool              *differs; /* by member of after */
    need              *needs;
    size_t             need_count;
    size_t             need_capacity;
    op_pair           *stack; /* room for all ops of before: each is pushed with at most one other */
    size_t             depth;
    lic_rel           *first; /* member: needed_by[first[m] .. first[m + 1]) */
    lic_rel           *needed_by;
    lic_rel           *queue;
    size_t             queued;
    bool               failed; /* out of memory */
} comparison;

/* --------------------------------------------------------------- as written */

static void note_need(comparison *c, lic_rel needed, lic_rel by)
{
    if (!lic_arena_grow(c->arena, (void **)&c->needs, &c->need_capacity, c->need_count + 1, sizeof *c->needs))
        c->failed = true;
    else
        c->needs[c->need_count++] = (need){ needed, by };
}

/* The same name of a definition of the same name. */
static bool same_member(const comparison *c, lic_rel before, lic_rel after)
{
    return c->twins[after] != LIC_NO_REL && c->twins[after] == before;
}

static bool same_type(const lic_caveat_type *a, const lic_caveat_type *b)
{
    while (a != NULL && b != NULL && a->kind == b->kind) {
        a = a->argument;
        b = b->argument;
    }
    return a == NULL && b == NULL;
}

static bool same_caveat(const comparison *c, uint32_t before, uint32_t after)
{
    const lic_caveat *a;
    const lic_caveat *b;

    if (before == LIC_NO_CAVEAT || after == LIC_NO_CAVEAT)
        return before == after;
    a = &c->before->caveats[before];
    b = &c->after->caveats[after];
    if (!lic_str_equal(a->name, b->name) || !lic_str_equal(a->body, b->body) ||
        a->parameter_count != b->parameter_count)
        return false;
    for (size_t i = 0; i < a->parameter_count; i++)
        if (!lic_str_equal(a->parameters[i].name, b->parameters[i].name) ||
            !same_type(a->parameters[i].type, b->parameters[i].type))
            return false;
    return true;
}

/* Slots are those of the names: equal numbers are equal names. */
static bool same_allowed(comparison *c, const lic_allowed *before, const lic_allowed *after, lic_rel by)
{
    if (before->slot != after->slot || before->wildcard != after->wildcard || before->expiration != after->expiration ||
        !same_caveat(c, before->caveat, after->caveat))
        return false;
    if (after->userset != LIC_NO_REL)
        note_need(c, after->userset, by);
    return true;
}

static bool same_relation(comparison *c, lic_rel before, lic_rel after)
{
    const lic_relation *a = &c->before->relations[before];
    const lic_relation *b = &c->after->relations[after];

    if (a->allowed_count != b->allowed_count)
        return false;
    for (uint32_t i = 0; i < a->allowed_count; i++)
        if (!same_allowed(c, &c->before->allowed[a->first_allowed + i], &c->after->allowed[b->first_allowed + i],
                          after))
            return false;
    return true;
}

static bool same_arrow(comparison *c, const lic_op *before, const lic_op *after, lic_rel by)
{
    if (!same_member(c, before->relation, after->relation) || before->count != after->count)
        return false;
    note_need(c, after->relation, by);
    for (uint32_t i = 0; i < after->count; i++) {
        const lic_rel target = c->after->targets[after->first + i].relation;

        if (!same_member(c, c->before->targets[before->first + i].relation, target))
            return false;
        note_need(c, target, by);
    }
    return true;
}

static bool push_children(comparison *c, const lic_op *before, const lic_op *after)
{
    if (before->count != after->count)
        return false;
    for (uint32_t i = 0; i < after->count; i++)
        c->stack[c->depth++] =
            (op_pair){ c->before->children[before->first + i], c->after->children[after->first + i] };
    return true;
}

/* But for their operands, which are pushed. */
static bool same_op(comparison *c, op_pair pair, lic_rel by)
{
    const lic_op *before = &c->before->ops[pair.before];
    const lic_op *after  = &c->after->ops[pair.after];

    if (before->kind != after->kind)
        return false;
    switch (after->kind) {
    case LIC_OP_NAME:
        note_need(c, after->relation, by);
        return same_member(c, before->relation, after->relation);
    case LIC_OP_UNION:
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        return push_children(c, before, after);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return same_arrow(c, before, after, by);
    case LIC_OP_NIL:
    case LIC_OP_SELF:
        return true;
    }
    return false;
}

static bool same_permission(comparison *c, lic_rel before, lic_rel after)
{
    bool same = true;

    c->depth    = 1;
    c->stack[0] = (op_pair){ c->before->relations[before].op, c->after->relations[after].op };
    while (same && c->depth > 0) {
        c->depth--;
        same = same_op(c, c->stack[c->depth], after);
    }
    return same;
}

static bool same_as_written(comparison *c, lic_rel before, lic_rel after)
{
    if (c->before->relations[before].is_permission != c->after->relations[after].is_permission)
        return false;
    return c->after->relations[after].is_permission ? same_permission(c, before, after)
                                                    : same_relation(c, before, after);
}

static void find_twins(comparison *c)
{
    for (lic_rel m = 0; m < c->after->relation_count; m++) {
        const lic_relation *relation = &c->after->relations[m];
        const uint32_t      d = lic_program_definition(c->before, c->after->definitions[relation->definition].name);

        c->twins[m] = d == LIC_NO_DEFINITION ? LIC_NO_REL : lic_program_relation(c->before, d, relation->name);
    }
}

/* ---------------------------------------------------------------- spreading */

static void enqueue(comparison *c, lic_rel member)
{
    c->differs[member]    = true;
    c->queue[c->queued++] = member;
}

static void compare_all(comparison *c)
{
    for (lic_rel m = 0; m < c->after->relation_count && !c->failed; m++)
        if (c->twins[m] == LIC_NO_REL || !same_as_written(c, c->twins[m], m))
            enqueue(c, m);
}

/* Needs, grouped by what is needed. */
static bool group_needs(comparison *c)
{
    const size_t count = c->after->relation_count;

    c->first     = lic_new_array(c->arena, count + 2, lic_rel);
    c->needed_by = lic_new_array(c->arena, c->need_count, lic_rel);
    if (c->first == NULL || c->needed_by == NULL)
        return false;
    for (size_t i = 0; i < c->need_count; i++)
        c->first[c->needs[i].needed + 2]++;
    for (size_t m = 2; m < count + 2; m++)
        c->first[m] += c->first[m - 1];
    for (size_t i = 0; i < c->need_count; i++)
        c->needed_by[c->first[c->needs[i].needed + 1]++] = c->needs[i].by;
    return true;
}

static void spread(comparison *c)
{
    for (size_t i = 0; i < c->queued; i++) {
        const lic_rel member = c->queue[i];

        for (lic_rel n = c->first[member]; n < c->first[member + 1]; n++)
            if (!c->differs[c->needed_by[n]])
                enqueue(c, c->needed_by[n]);
    }
}

/* -------------------------------------------------------------------- result */

/* Members of one definition, in room for all of both programs'. */
static size_t list_members(const comparison *c, uint32_t before, uint32_t after, lic_member_pair *members)
{
    const lic_definition *old   = before == LIC_NO_DEFINITION ? NULL : &c->before->definitions[before];
    const lic_definition *now   = after == LIC_NO_DEFINITION ? NULL : &c->after->definitions[after];
    size_t                count = 0;

    for (uint32_t i = 0; now != NULL && i < now->relation_count; i++)
        if (c->differs[now->first_relation + i])
            members[count++] = (lic_member_pair){ c->twins[now->first_relation + i], now->first_relation + i };
    for (uint32_t i = 0; old != NULL && i < old->relation_count; i++) {
        const lic_rel member = old->first_relation + i;

        if (lic_program_relation(c->after, after, c->before->relations[member].name) == LIC_NO_REL)
            members[count++] = (lic_member_pair){ member, LIC_NO_REL };
    }
    return count;
}

static void list_definition(const comparison *c, uint32_t before, uint32_t after, lic_member_pair **members,
                            lic_unlike *unlike)
{
    const size_t count = list_members(c, before, after, *members);

    if (count == 0)
        return;
    unlike->definitions[unlike->definition_count++] = (lic_definition_pair){ before, after, *members, count };
    *members += count;
}

static bool list(const comparison *c, lic_unlike *unlike)
{
    lic_member_pair *members =
        lic_new_array(c->arena, c->before->relation_count + c->after->relation_count, lic_member_pair);

    unlike->definitions =
        lic_new_array(c->arena, c->before->definition_count + c->after->definition_count, lic_definition_pair);
    if (members == NULL || unlike->definitions == NULL)
        return false;
    for (uint32_t d = 0; d < c->after->definition_count; d++)
        list_definition(c, lic_program_definition(c->before, c->after->definitions[d].name), d, &members, unlike);
    for (uint32_t d = 0; d < c->before->definition_count; d++)
        if (lic_program_definition(c->after, c->before->definitions[d].name) == LIC_NO_DEFINITION)
            list_definition(c, d, LIC_NO_DEFINITION, &members, unlike);
    return true;
}

bool lic_find_unlike(lic_arena *arena, const lic_program *before, const lic_program *after, lic_unlike *unlike)
{
    comparison c = { .arena = arena, .before = before, .after = after };

    *unlike   = (lic_unlike){ .definition_count = 0 };
    c.twins   = lic_new_array(arena, after->relation_count, lic_rel);
    c.differs = lic_new_array(arena, after->relation_count, bool);
    c.stack   = lic_new_array(arena, before->op_count + 1, op_pair);
    c.queue   = lic_new_array(arena, after->relation_count, lic_rel);
    if (c.twins == NULL || c.differs == NULL || c.stack == NULL || c.queue == NULL)
        return false;
    find_twins(&c);
    compare_all(&c);
    if (c.failed || !group_needs(&c))
        return false;
    spread(&c);
    return list(&c, unlike);
}
