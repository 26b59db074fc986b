/* Numbers for names. Everything is linear in the AST but the arrows' targets, whose number is the true size
 * of what the arrows mean. */
#include "schema/resolve.h"

#include "base/hash.h"

void lic_expr_walk_init(lic_expr_walk *walk, lic_memory *memory)
{
    *walk = (lic_expr_walk){ .memory = memory };
}

void lic_expr_walk_free(lic_expr_walk *walk)
{
    lic_free(walk->memory, walk->stack, walk->capacity * sizeof *walk->stack);
    lic_expr_walk_init(walk, walk->memory);
}

static bool walk_reserve(lic_expr_walk *walk, size_t count)
{
    void *stack = walk->stack;

    if (!lic_grow(walk->memory, &stack, &walk->capacity, walk->depth + count, sizeof *walk->stack))
        walk->failed = true;
    walk->stack = stack;
    return !walk->failed;
}

void lic_expr_walk_start(lic_expr_walk *walk, const lic_ast_expr *root)
{
    walk->depth = 0;
    if (walk_reserve(walk, 1))
        walk->stack[walk->depth++].expr = root;
}

const lic_ast_expr *lic_expr_walk_next(lic_expr_walk *walk)
{
    const lic_ast_expr *expr;

    if (walk->failed || walk->depth == 0)
        return NULL;
    expr = walk->stack[--walk->depth].expr;
    if (!walk_reserve(walk, expr->child_count))
        return NULL;
    for (size_t i = expr->child_count; i > 0; i--)
        walk->stack[walk->depth++].expr = expr->children[i - 1];
    return expr;
}

/* Counts, so that every array is made once. */
static bool count_items(lic_resolved *r)
{
    size_t members = 0, types = 0;

    for (size_t i = 0; i < r->ast->item_count; i++) {
        const lic_ast_definition *definition = r->ast->items[i].definition;

        if (definition == NULL)
            continue;
        members += definition->member_count;
        for (size_t m = 0; m < definition->member_count; m++)
            types += definition->members[m].type_count;
    }
    r->definitions   = lic_new_items(r->arena, r->ast->definition_count, const lic_ast_definition *);
    r->first_members = lic_new_items(r->arena, r->ast->definition_count + 1, uint32_t);
    r->member_names  = lic_new_items(r->arena, r->ast->definition_count, lic_map);
    r->members       = lic_new_items(r->arena, members, lic_member);
    r->caveats       = lic_new_items(r->arena, r->ast->caveat_count, const lic_ast_caveat *);
    r->types         = lic_new_items(r->arena, types, lic_type_ref);
    return r->definitions != NULL && r->first_members != NULL && r->member_names != NULL && r->members != NULL &&
           r->caveats != NULL && r->types != NULL;
}

static bool number_members(lic_resolved *r, uint32_t d)
{
    const lic_ast_definition *definition = r->definitions[d];
    uint32_t                  found;

    lic_map_init(&r->member_names[d], r->arena->memory, r->names.key);
    for (size_t i = 0; i < definition->member_count; i++) {
        const lic_ast_member *ast    = &definition->members[i];
        uint32_t              number = r->member_count++;
        lic_member           *member = &r->members[number];

        *member = (lic_member){ .ast = ast, .definition = d, .first_type = r->type_count };
        r->type_count += (uint32_t)ast->type_count;
        if (!lic_map_add(&r->names, ast->name, r->name_count, &member->name) ||
            !lic_map_add(&r->member_names[d], ast->name, number, &found))
            return false;
        if (member->name == r->name_count)
            r->name_count++;
    }
    r->first_members[d + 1] = r->member_count;
    return true;
}

static bool number_items(lic_resolved *r)
{
    uint32_t found;

    for (size_t i = 0; i < r->ast->item_count; i++) {
        const lic_ast_item *item = &r->ast->items[i];

        if (item->caveat != NULL) {
            r->caveats[r->caveat_count] = item->caveat;
            if (!lic_map_add(&r->caveat_names, item->caveat->name, r->caveat_count++, &found))
                return false;
            continue;
        }
        r->definitions[r->definition_count] = item->definition;
        if (!lic_map_add(&r->definition_names, item->definition->name, r->definition_count++, &found) ||
            !number_members(r, r->definition_count - 1))
            return false;
    }
    return true;
}

static lic_type_ref resolve_type(const lic_resolved *r, const lic_ast_type *type)
{
    lic_type_ref ref = { LIC_NO_DEFINITION, LIC_NO_REL, LIC_NO_CAVEAT };

    ref.definition = lic_map_find(&r->definition_names, type->type);
    if (ref.definition != LIC_NO_DEFINITION && lic_str_given(type->relation))
        ref.member = lic_resolved_member(r, ref.definition, type->relation);
    if (lic_str_given(type->caveat))
        ref.caveat = lic_map_find(&r->caveat_names, type->caveat);
    return ref;
}

static void resolve_types(lic_resolved *r)
{
    for (uint32_t m = 0; m < r->member_count; m++) {
        const lic_member *member = &r->members[m];

        for (size_t i = 0; i < member->ast->type_count; i++)
            r->types[member->first_type + i] = resolve_type(r, &member->ast->types[i]);
    }
}

/* Who bears each name: a counting sort, so bearers come by definition. */
static bool list_bearers(lic_resolved *r)
{
    uint32_t *next;

    r->first_bearers = lic_new_items(r->arena, (size_t)r->name_count + 1, uint32_t);
    r->bearers       = lic_new_items(r->arena, r->member_count, lic_rel);
    next             = lic_new_items(r->arena, (size_t)r->name_count + 1, uint32_t);
    if (r->first_bearers == NULL || r->bearers == NULL || next == NULL)
        return false;
    for (uint32_t m = 0; m < r->member_count; m++)
        r->first_bearers[r->members[m].name + 1]++;
    for (uint32_t n = 0; n < r->name_count; n++)
        next[n + 1] = r->first_bearers[n + 1] += r->first_bearers[n];
    for (uint32_t m = 0; m < r->member_count; m++)
        r->bearers[next[r->members[m].name]++] = m;
    return true;
}

static bool count_expressions(lic_resolved *r, size_t *arrow_count)
{
    const lic_ast_expr *expr;
    lic_expr_walk       walk;
    bool                failed;

    lic_expr_walk_init(&walk, r->arena->memory);
    *arrow_count = 0;
    for (uint32_t m = 0; m < r->member_count && !walk.failed; m++) {
        if (r->members[m].ast->expr == NULL)
            continue;
        lic_expr_walk_start(&walk, r->members[m].ast->expr);
        while ((expr = lic_expr_walk_next(&walk)) != NULL) {
            r->expr_count++;
            *arrow_count += lic_is_arrow(expr);
        }
    }
    failed = walk.failed;
    lic_expr_walk_free(&walk);
    return !failed;
}

static lic_str arrow_key(const lic_arrow *arrow)
{
    return (lic_str){ (const char *)arrow, 2 * sizeof(uint32_t) };
}

static bool add_arrow(lic_resolved *r, uint32_t definition, const lic_ast_expr *expr)
{
    lic_rel    tupleset = lic_resolved_member(r, definition, expr->name);
    uint32_t   name     = lic_map_find(&r->names, expr->target);
    lic_arrow *arrow    = &r->arrows[r->arrow_count];
    uint32_t   found;

    if (tupleset == LIC_NO_REL || r->members[tupleset].ast->expr != NULL || name == LIC_MAP_NONE)
        return true;
    *arrow = (lic_arrow){ .tupleset = tupleset, .name = name };
    if (!lic_map_add(&r->arrow_keys, arrow_key(arrow), r->arrow_count, &found))
        return false;
    r->arrow_count += found == r->arrow_count;
    return true;
}

static bool add_arrows(lic_resolved *r)
{
    const lic_ast_expr *expr;
    lic_expr_walk       walk;
    bool                added = true;

    lic_expr_walk_init(&walk, r->arena->memory);
    for (uint32_t m = 0; m < r->member_count && added && !walk.failed; m++) {
        if (r->members[m].ast->expr == NULL)
            continue;
        lic_expr_walk_start(&walk, r->members[m].ast->expr);
        while (added && (expr = lic_expr_walk_next(&walk)) != NULL)
            if (lic_is_arrow(expr))
                added = add_arrow(r, r->members[m].definition, expr);
    }
    added = added && !walk.failed;
    lic_expr_walk_free(&walk);
    return added;
}

/* Marks, or unmarks, the types of a relation. */
static void mark_types(const lic_resolved *r, bool *marks, lic_rel relation, bool mark)
{
    const lic_member *member = &r->members[relation];

    for (size_t i = 0; i < member->ast->type_count; i++) {
        uint32_t definition = r->types[member->first_type + i].definition;

        if (definition != LIC_NO_DEFINITION)
            marks[definition] = mark;
    }
}

/* The arrow's targets: bearers of its name whose definition the tupleset allows. Goes through the bearers
 * rather than the types, for they come sorted and without doubles. targets == NULL: only counts. */
static uint32_t list_targets(const lic_resolved *r, const lic_arrow *arrow, const bool *marks, lic_rel *targets)
{
    uint32_t count = 0;

    for (uint32_t b = r->first_bearers[arrow->name]; b < r->first_bearers[arrow->name + 1]; b++) {
        lic_rel bearer = r->bearers[b];

        if (!marks[r->members[bearer].definition])
            continue;
        if (targets != NULL)
            targets[count] = bearer;
        count++;
    }
    return count;
}

/* Arrows over one tupleset mostly stand together, so its marks are kept until another one comes. */
static void target_pass(lic_resolved *r, bool *marks)
{
    lic_rel marked = LIC_NO_REL;

    for (uint32_t a = 0; a < r->arrow_count; a++) {
        lic_arrow *arrow = &r->arrows[a];

        if (arrow->tupleset != marked) {
            if (marked != LIC_NO_REL)
                mark_types(r, marks, marked, false);
            mark_types(r, marks, marked = arrow->tupleset, true);
        }
        if (r->targets == NULL) {
            arrow->first_target = (uint32_t)r->target_count;
            arrow->target_count = list_targets(r, arrow, marks, NULL);
            r->target_count += arrow->target_count;
        } else {
            list_targets(r, arrow, marks, r->targets + arrow->first_target);
        }
    }
    if (marked != LIC_NO_REL)
        mark_types(r, marks, marked, false);
}

static bool resolve_arrows(lic_resolved *r)
{
    bool  *marks = lic_new_items(r->arena, r->definition_count, bool);
    size_t written;

    if (marks == NULL || !count_expressions(r, &written))
        return false;
    r->arrows = lic_new_items(r->arena, written + 1, lic_arrow); /* one to try in */
    if (r->arrows == NULL || !add_arrows(r))
        return false;
    target_pass(r, marks);
    r->targets = r->target_count > UINT32_MAX ? NULL : lic_new_items(r->arena, r->target_count, lic_rel);
    if (r->targets == NULL)
        return false;
    target_pass(r, marks);
    return true;
}

bool lic_resolve(lic_arena *arena, const lic_ast *ast, lic_resolved *resolved)
{
    uint64_t key = lic_random_key();

    *resolved = (lic_resolved){ .arena = arena, .ast = ast };
    lic_map_init(&resolved->definition_names, arena->memory, key);
    lic_map_init(&resolved->caveat_names, arena->memory, key);
    lic_map_init(&resolved->names, arena->memory, key);
    lic_map_init(&resolved->arrow_keys, arena->memory, key);
    if (!count_items(resolved) || !number_items(resolved) || !list_bearers(resolved))
        return false;
    resolve_types(resolved);
    return resolve_arrows(resolved);
}

void lic_resolved_free(lic_resolved *resolved)
{
    for (uint32_t d = 0; d < resolved->definition_count; d++)
        if (resolved->member_names[d].memory != NULL)
            lic_map_free(&resolved->member_names[d]);
    lic_map_free(&resolved->definition_names);
    lic_map_free(&resolved->caveat_names);
    lic_map_free(&resolved->names);
    lic_map_free(&resolved->arrow_keys);
}

lic_rel lic_resolved_member(const lic_resolved *resolved, uint32_t definition, lic_str name)
{
    return lic_map_find(&resolved->member_names[definition], name);
}

uint32_t lic_resolved_arrow(const lic_resolved *resolved, lic_rel tupleset, lic_str target)
{
    lic_arrow arrow = { .tupleset = tupleset, .name = lic_map_find(&resolved->names, target) };

    return tupleset == LIC_NO_REL ? UINT32_MAX : lic_map_find(&resolved->arrow_keys, arrow_key(&arrow));
}
