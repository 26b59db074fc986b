/* Breadth first from the target, along the rules of evaluation; each rule is noted where it would be followed
 * backwards. */
#include "schema/reachability.h"

/* An operand still to be looked at. */
typedef struct operand {
    uint32_t op;
    bool     open; /* an operator above it takes more than this one to decide */
} operand;

typedef struct finder {
    lic_arena         *arena;
    const lic_program *program;
    lic_reachability  *found;
    uint32_t           subject; /* definition */
    size_t             relation_capacity;
    size_t             entry_capacity;
    operand           *operands;
    size_t             operand_count;
    size_t             operand_capacity;
} finder;

/* The index of a relation, new or known. */
static bool number_of(finder *f, lic_rel relation, uint32_t *number)
{
    lic_reachability *r         = f->found;
    void             *relations = r->relations;

    if (r->numbers[relation] == 0) {
        if (!lic_arena_grow(f->arena, &relations, &f->relation_capacity, r->count + 1, sizeof *r->relations))
            return false;
        r->relations             = relations;
        r->relations[r->count++] = (lic_reachable){ relation, LIC_SELF_NONE, LIC_NO_ENTRY, false, UINT32_MAX };
        r->numbers[relation]     = (uint32_t)r->count;
    }
    *number = r->numbers[relation] - 1;
    return true;
}

/* An entry of the goals of this relation, unless the subject can't be found from there. */
static bool add_entry(finder *f, lic_rel from, lic_entry entry)
{
    lic_reachability *r       = f->found;
    void             *entries = r->entries;
    uint32_t          number;

    if (from == LIC_NO_REL || !lic_program_reaches(f->program, from, f->subject))
        return true;
    if (!number_of(f, from, &number) ||
        !lic_arena_grow(f->arena, &entries, &f->entry_capacity, r->entry_count + 1, sizeof *r->entries))
        return false;
    r->entries                       = entries;
    entry.next                       = r->relations[number].first_entry;
    r->relations[number].first_entry = (uint32_t)r->entry_count;
    r->entries[r->entry_count++]     = entry;
    return true;
}

/* Usersets in a relation's rows. Of the shapes that allow one, only one speaks. */
static bool find_usersets(finder *f, uint32_t number)
{
    const lic_rel       relation = f->found->relations[number].relation;
    const lic_relation *r        = &f->program->relations[relation];
    const lic_allowed  *allowed  = f->program->allowed + r->first_allowed;

    for (uint32_t i = 0; i < r->allowed_count; i++)
        if (!add_entry(f, allowed[i].userset,
                       (lic_entry){ number, relation, allowed[i].slot, 1, allowed[i].bare, false, LIC_NO_ENTRY }))
            return false;
    return true;
}

static bool is_first_of_slot(const lic_allowed *allowed, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (allowed[i].slot == allowed[index].slot && !allowed[i].wildcard)
            return false;
    return true;
}

static bool is_any_bare(const lic_allowed *allowed, uint32_t count, lic_slot slot)
{
    for (uint32_t i = 0; i < count; i++)
        if (allowed[i].slot == slot && !allowed[i].wildcard && allowed[i].bare)
            return true;
    return false;
}

/* The rows of an arrow's tupleset, by the slot of their subjects, whose relation is ignored (api.md 4.5). */
static bool find_arrow(finder *f, uint32_t number, const lic_op *op, bool open)
{
    const lic_relation *tupleset = &f->program->relations[op->relation];
    const lic_allowed  *allowed  = f->program->allowed + tupleset->first_allowed;

    for (uint32_t i = 0; i < tupleset->allowed_count; i++) {
        const lic_slot slot = allowed[i].slot;
        const bool     bare = is_any_bare(allowed, tupleset->allowed_count, slot);

        if (allowed[i].wildcard || !is_first_of_slot(allowed, i))
            continue;
        if (!add_entry(f, lic_program_target(f->program, op, allowed[i].definition),
                       (lic_entry){ number, op->relation, slot, 1, bare, open, LIC_NO_ENTRY }))
            return false;
    }
    return true;
}

static bool add_operand(finder *f, uint32_t op, bool open)
{
    void *operands = f->operands;

    if (!lic_arena_grow(f->arena, &operands, &f->operand_capacity, f->operand_count + 1, sizeof *f->operands))
        return false;
    f->operands                     = operands;
    f->operands[f->operand_count++] = (operand){ op, open };
    return true;
}

static void find_self(lic_reachable *reachable, bool open)
{
    if (reachable->self != LIC_SELF_DECIDES)
        reachable->self = open ? LIC_SELF_OPEN : LIC_SELF_DECIDES;
}

static bool find_name(finder *f, uint32_t number, lic_rel name, bool open)
{
    const lic_rel       permission = f->found->relations[number].relation;
    const lic_relation *r          = &f->program->relations[permission];
    const bool          is_alias   = r->alias_of != permission && r->definition != f->subject;

    return add_entry(f, name,
                     (lic_entry){ number, LIC_NO_REL, LIC_NO_SLOT, is_alias ? 0 : 1, false, open, LIC_NO_ENTRY });
}

static bool find_operand(finder *f, uint32_t number, operand at)
{
    const lic_program *p  = f->program;
    const lic_op      *op = &p->ops[at.op];

    switch (op->kind) {
    case LIC_OP_NAME:
        return find_name(f, number, op->relation, at.open);
    case LIC_OP_UNION:
        for (uint32_t i = 0; i < op->count; i++)
            if (!add_operand(f, p->children[op->first + i], at.open))
                return false;
        return true;
    case LIC_OP_INTERSECTION:
    case LIC_OP_EXCLUSION:
        return add_operand(f, p->children[op->first], true);
    case LIC_OP_ARROW_ANY:
    case LIC_OP_ARROW_ALL:
        return find_arrow(f, number, op, at.open || op->kind == LIC_OP_ARROW_ALL);
    case LIC_OP_SELF:
        find_self(&f->found->relations[number], at.open);
        break;
    case LIC_OP_NIL:
        break;
    }
    return true;
}

static bool find_operands(finder *f, uint32_t number)
{
    const lic_relation *permission = &f->program->relations[f->found->relations[number].relation];

    if (!add_operand(f, permission->op, false))
        return false;
    while (f->operand_count > 0) {
        const operand at = f->operands[--f->operand_count];

        if (!find_operand(f, number, at))
            return false;
    }
    return true;
}

/* Does it still lead to final ones alone, by names? */
static bool stays_final(const lic_reachability *r, const lic_reachable *at)
{
    bool final = at->is_final;

    for (uint32_t e = at->first_entry; final && e != LIC_NO_ENTRY; e = r->entries[e].next)
        final = r->entries[e].rows == LIC_NO_REL && r->relations[r->entries[e].to].is_final;
    return final;
}

/* The least depth by which it leads to the target, as far as is known. */
static uint32_t least_depth(const lic_reachability *r, const lic_reachable *at)
{
    uint32_t least = at->depth;

    for (uint32_t e = at->first_entry; at->is_final && e != LIC_NO_ENTRY; e = r->entries[e].next) {
        const lic_entry *entry = &r->entries[e];
        const uint32_t   depth = r->relations[entry->to].depth;

        if (!entry->open && depth != UINT32_MAX && depth + entry->cost < least)
            least = depth + entry->cost;
    }
    return least;
}

/* What can be taken from a relation goes on to those that lead there. So it takes rounds, until nothing changes; in turns
 * from either end, so that a long chain takes two, in whichever order it stands. */
static void find_final(lic_reachability *r)
{
    bool changed = true;

    for (size_t i = 0; i < r->count; i++)
        r->relations[i].is_final = true;
    for (bool backwards = false; changed; backwards = !backwards) {
        changed = false;
        for (size_t i = 0; i < r->count; i++) {
            lic_reachable *at = &r->relations[backwards ? r->count - 1 - i : i];

            if (at->is_final == stays_final(r, at))
                continue;
            at->is_final = false;
            changed      = true;
        }
    }
}

static void find_depths(lic_reachability *r)
{
    bool changed = true;

    r->relations[0].depth = 0;
    for (bool backwards = false; changed; backwards = !backwards) {
        changed = false;
        for (size_t i = 0; i < r->count; i++) {
            lic_reachable *at    = &r->relations[backwards ? r->count - 1 - i : i];
            const uint32_t depth = least_depth(r, at);

            changed |= depth != at->depth;
            at->depth = depth;
        }
    }
}

bool lic_reachability_find(lic_arena *arena, const lic_program *program, lic_rel target, uint32_t subject,
                           lic_reachability *found)
{
    finder   f = { .arena = arena, .program = program, .found = found, .subject = subject };
    uint32_t number;

    *found = (lic_reachability){ .numbers = NULL };
    if (!lic_program_reaches(program, target, subject))
        return true;
    found->numbers = lic_new_array(arena, program->relation_count, uint32_t);
    if (found->numbers == NULL || !number_of(&f, target, &number))
        return false;
    for (uint32_t i = 0; i < found->count; i++)
        if (program->relations[found->relations[i].relation].is_permission ? !find_operands(&f, i)
                                                                           : !find_usersets(&f, i))
            return false;
    find_final(found);
    find_depths(found);
    return true;
}
