/* The checks of schema.md 12 in written order, so that which error is reported is no accident. (SpiceDB visits a
 * definition's relations in random order; any of its outcomes is right.) */
#include "schema/checker.h"

#include "schema/aliases.h"
#include "schema/wildcards.h"

typedef struct checker {
    lic_arena          *arena;
    const lic_ast      *ast;
    lic_resolved        names;
    lic_expr_walk       walk;
    lic_wildcard_search wildcards;
    lic_rel            *alias_of;
    uint32_t           *untold; /* per member: a type missing in its annotation; NULL when nothing is annotated */
    licet_error       **error;
} checker;

/* Fails at a place; the message names the file when it is an imported one. */
#define FAIL(c, place, kind, format, ...)                                                               \
    ((place).source == 0 ? lic_fail_reason((c)->error, LICET_SCHEMA_ERROR, (kind), "SCHEMA_TYPE_ERROR", \
                                           lic_ast_position((c)->ast, (place)), format, __VA_ARGS__)    \
                         : lic_fail_reason((c)->error, LICET_SCHEMA_ERROR, (kind), "SCHEMA_TYPE_ERROR", \
                                           lic_ast_position((c)->ast, (place)), "in %Q: " format,       \
                                           &(c)->ast->sources[(place).source].name, __VA_ARGS__))

static lic_str definition_name(const checker *c, uint32_t definition)
{
    return c->names.definitions[definition]->name;
}

static lic_str member_name(const checker *c, lic_rel member)
{
    return c->names.members[member].ast->name;
}

/* T2. */
static licet_status check_duplicates(checker *c, uint32_t definition)
{
    lic_str name = definition_name(c, definition);

    for (lic_rel m = c->names.first_members[definition]; m < c->names.first_members[definition + 1]; m++) {
        const lic_ast_member *member = c->names.members[m].ast;

        if (lic_resolved_member(&c->names, definition, member->name) != m)
            return FAIL(c, member->place, LICET_KIND_NAME,
                        "found duplicate relation/permission name `%.*s` under definition `%.*s`",
                        LIC_STR_ARG(member->name), LIC_STR_ARG(name));
    }
    return LICET_OK;
}

/* T3, T4, T8. */
static licet_status fail_unknown_member(checker *c, lic_place place, lic_str name, lic_str definition)
{
    if (lic_str_equal(name, LIC_STR("self")))
        return FAIL(
            c, place, LICET_KIND_NAME,
            "relation/permission `self` not found under definition `%.*s`; for the resource itself put `use self` "
            "at the top",
            LIC_STR_ARG(definition));
    return FAIL(c, place, LICET_KIND_NAME, "relation/permission `%.*s` not found under definition `%.*s`",
                LIC_STR_ARG(name), LIC_STR_ARG(definition));
}

/* T5. When the permission is a mere alias of a relation, that relation is what was meant. */
static licet_status fail_permission_left_of_arrow(checker *c, const lic_member *permission, const lic_ast_expr *arrow,
                                                  lic_rel left)
{
    lic_str definition = definition_name(c, permission->definition);
    lic_rel meant      = c->alias_of[left];

    if (meant == left || meant == LIC_NO_REL || c->names.members[meant].ast->expr != NULL)
        return FAIL(c, arrow->place, LICET_KIND_TYPE,
                    "under permission `%.*s` under definition `%.*s`: permissions cannot be used on the left hand side "
                    "of an arrow (found `%.*s`)",
                    LIC_STR_ARG(permission->ast->name), LIC_STR_ARG(definition), LIC_STR_ARG(arrow->name));
    return FAIL(c, arrow->place, LICET_KIND_TYPE,
                "under permission `%.*s` under definition `%.*s`: permissions cannot be used on the left hand side "
                "of an arrow (found `%.*s`; use the relation `%.*s` that it stands for)",
                LIC_STR_ARG(permission->ast->name), LIC_STR_ARG(definition), LIC_STR_ARG(arrow->name),
                LIC_STR_ARG(member_name(c, meant)));
}

/* T4 to T6. What stands right of the arrow isn't checked, as in SpiceDB: a type that lacks it contributes nobody. */
static licet_status check_arrow(checker *c, const lic_member *permission, const lic_ast_expr *arrow)
{
    lic_str              definition = definition_name(c, permission->definition);
    lic_rel              left       = lic_resolved_member(&c->names, permission->definition, arrow->name);
    lic_wildcard_finding found;

    if (left == LIC_NO_REL)
        return fail_unknown_member(c, arrow->place, arrow->name, definition);
    if (c->names.members[left].ast->expr != NULL)
        return fail_permission_left_of_arrow(c, permission, arrow, left);
    found = lic_wildcard_find(&c->wildcards, left);
    if (found.relation == LIC_NO_REL)
        return LICET_OK;
    return FAIL(c, arrow->place, LICET_KIND_TYPE,
                "for arrow under permission `%.*s`: relation `%.*s#%.*s` includes wildcard type `%.*s` via relation "
                "`%.*s#%.*s`: wildcard relations cannot be used on the left side of arrows",
                LIC_STR_ARG(permission->ast->name), LIC_STR_ARG(definition), LIC_STR_ARG(arrow->name),
                LIC_STR_ARG(found.type->type),
                LIC_STR_ARG(definition_name(c, c->names.members[found.relation].definition)),
                LIC_STR_ARG(member_name(c, found.relation)));
}

static licet_status check_operand(checker *c, const lic_member *permission, const lic_ast_expr *expr)
{
    if (lic_is_arrow(expr))
        return check_arrow(c, permission, expr);
    if (expr->kind == LIC_AST_NAME && lic_resolved_member(&c->names, permission->definition, expr->name) == LIC_NO_REL)
        return fail_unknown_member(c, expr->place, expr->name, definition_name(c, permission->definition));
    return LICET_OK;
}

/* The annotation as written, for a message. */
static void add_annotation(const lic_ast_member *permission, lic_text *out)
{
    for (size_t i = 0; i < permission->annotation_count; i++) {
        if (i > 0)
            lic_text_add_literal(out, ", ");
        lic_text_add(out, permission->annotations[i]);
    }
}

/* T12. */
static licet_status check_annotation(checker *c, lic_rel permission)
{
    const lic_member *member = &c->names.members[permission];
    licet_status      status;
    lic_text          set;

    if (c->untold == NULL || c->untold[permission] == LIC_NO_DEFINITION)
        return LICET_OK;
    lic_text_init(&set, c->arena->memory);
    add_annotation(member->ast, &set);
    if (set.failed)
        status = lic_fail_memory(c->error);
    else
        status = FAIL(c, member->ast->place, LICET_KIND_TYPE,
                      "incomplete type annotation on relation `%.*s` in definition `%.*s`: `%.*s` found as reachable "
                      "type, but not contained in provided set [%.*s]",
                      LIC_STR_ARG(member->ast->name), LIC_STR_ARG(definition_name(c, member->definition)),
                      LIC_STR_ARG(definition_name(c, c->untold[permission])), LIC_STR_ARG(set));
    lic_text_free(&set);
    return status;
}

static licet_status check_permission(checker *c, lic_rel permission)
{
    const lic_member   *member = &c->names.members[permission];
    const lic_ast_expr *expr;
    licet_status        status;

    lic_expr_walk_start(&c->walk, member->ast->expr);
    while ((expr = lic_expr_walk_next(&c->walk)) != NULL)
        if ((status = check_operand(c, member, expr)) != LICET_OK)
            return status;
    if (c->walk.failed)
        return lic_fail_memory(c->error);
    return check_annotation(c, permission);
}

/* T7, T8. */
static licet_status check_type_names(checker *c, const lic_member *relation, const lic_ast_type *type,
                                     const lic_type_ref *ref)
{
    if (ref->definition == LIC_NO_DEFINITION)
        return FAIL(c, type->place, LICET_KIND_NAME,
                    "could not lookup definition `%.*s` for relation `%.*s`: object definition `%.*s` not found",
                    LIC_STR_ARG(type->type), LIC_STR_ARG(relation->ast->name), LIC_STR_ARG(type->type));
    if (lic_str_given(type->relation) && ref->member == LIC_NO_REL)
        return fail_unknown_member(c, type->place, type->relation, type->type);
    return LICET_OK;
}

/* T9. SpiceDB doesn't search inside the relation's own definition. */
static licet_status check_transitive_wildcard(checker *c, const lic_member *relation, const lic_ast_type *type,
                                              const lic_type_ref *ref)
{
    lic_wildcard_finding found;

    if (ref->member == LIC_NO_REL || ref->definition == relation->definition)
        return LICET_OK;
    found = lic_wildcard_find(&c->wildcards, ref->member);
    if (found.relation == LIC_NO_REL)
        return LICET_OK;
    return FAIL(c, type->place, LICET_KIND_TYPE,
                "for relation `%.*s`: relation/permission `%.*s#%.*s` includes wildcard type `%.*s` via relation "
                "`%.*s#%.*s`: wildcard relations cannot be transitively included",
                LIC_STR_ARG(relation->ast->name), LIC_STR_ARG(type->type), LIC_STR_ARG(type->relation),
                LIC_STR_ARG(found.type->type),
                LIC_STR_ARG(definition_name(c, c->names.members[found.relation].definition)),
                LIC_STR_ARG(member_name(c, found.relation)));
}

/* T11. */
static licet_status check_type_caveat(checker *c, const lic_member *relation, const lic_ast_type *type,
                                      const lic_type_ref *ref)
{
    if (!lic_str_given(type->caveat) || ref->caveat != LIC_NO_CAVEAT)
        return LICET_OK;
    if (lic_str_equal(type->caveat, LIC_STR("expiration")))
        return FAIL(c, type->place, LICET_KIND_NAME,
                    "could not lookup caveat `expiration` for relation `%.*s`; for relationships that expire put `use "
                    "expiration` at the top",
                    LIC_STR_ARG(relation->ast->name));
    return FAIL(c, type->place, LICET_KIND_NAME,
                "could not lookup caveat %Q for relation `%.*s`: no caveat has this name", &type->caveat,
                LIC_STR_ARG(relation->ast->name));
}

/* SpiceDB compares the printed form; of names that are all known the numbers are the same and cheaper. */
typedef struct type_key {
    lic_type_ref ref;
    uint32_t     form; /* wildcard, expiration */
} type_key;

static const char *type_ending(const lic_ast_type *type)
{
    return type->wildcard ? ":*" : lic_str_given(type->relation) ? "#" : "";
}

/* T10. */
static licet_status fail_duplicate_type(checker *c, const lic_member *relation, const lic_ast_type *type)
{
    bool caveat = lic_str_given(type->caveat);

    return FAIL(c, type->place, LICET_KIND_TYPE,
                "found duplicate allowed subject type `%.*s%s%.*s%s%.*s%s` on relation `%.*s` under definition `%.*s`",
                LIC_STR_ARG(type->type), type_ending(type), LIC_STR_ARG(type->relation), caveat ? " with " : "",
                LIC_STR_ARG(type->caveat),
                !type->expiration ? ""
                : caveat          ? " and expiration"
                                  : " with expiration",
                LIC_STR_ARG(relation->ast->name), LIC_STR_ARG(definition_name(c, relation->definition)));
}

/* seen: the types before this one. */
static licet_status check_type(checker *c, const lic_member *relation, size_t index, lic_map *seen, type_key *keys)
{
    const lic_ast_type *type = &relation->ast->types[index];
    const lic_type_ref *ref  = &c->names.types[relation->first_type + index];
    type_key           *key  = &keys[index];
    uint32_t            found;
    licet_status        status;

    if ((status = check_type_names(c, relation, type, ref)) != LICET_OK)
        return status;
    key->ref  = *ref;
    key->form = (type->wildcard ? 1u : 0u) | (type->expiration ? 2u : 0u);
    if (!lic_map_add(seen, (lic_str){ (const char *)key, sizeof *key }, (uint32_t)index, &found))
        return lic_fail_memory(c->error);
    if (found != index)
        return fail_duplicate_type(c, relation, type);
    if ((status = check_transitive_wildcard(c, relation, type, ref)) != LICET_OK)
        return status;
    return check_type_caveat(c, relation, type, ref);
}

static licet_status check_relation(checker *c, const lic_member *relation)
{
    size_t       count  = relation->ast->type_count;
    licet_status status = LICET_OK;
    type_key    *keys   = lic_alloc_array(c->arena->memory, count, sizeof *keys);
    lic_map      seen;

    if (keys == NULL)
        return lic_fail_memory(c->error);
    lic_map_init(&seen, c->arena->memory, c->names.names.key);
    for (size_t i = 0; i < count && status == LICET_OK; i++)
        status = check_type(c, relation, i, &seen, keys);
    lic_map_free(&seen);
    lic_free(c->arena->memory, keys, count * sizeof *keys);
    return status;
}

static licet_status check_definition(checker *c, uint32_t definition)
{
    licet_status status = check_duplicates(c, definition);

    for (lic_rel m = c->names.first_members[definition];
         m < c->names.first_members[definition + 1] && status == LICET_OK; m++)
        status =
            c->names.members[m].ast->expr != NULL ? check_permission(c, m) : check_relation(c, &c->names.members[m]);
    return status;
}

/* T1. */
static licet_status check_caveat(checker *c, const lic_ast_caveat *caveat)
{
    for (size_t i = 0; i < caveat->parameter_count; i++) {
        if ((caveat->used >> i & 1) == 0)
            return FAIL(c, caveat->place, LICET_KIND_TYPE, "parameter %Q of caveat %Q is unused",
                        &caveat->parameters[i].name, &caveat->name);
    }
    return LICET_OK;
}

static bool is_annotated(const checker *c, lic_rel member)
{
    return c->names.members[member].ast->annotated;
}

/* The types of an annotation whose number lies in the word; names that are no type are fine and mean nothing. */
static uint64_t told_types(const checker *c, lic_rel permission, uint32_t word)
{
    const lic_ast_member *member = c->names.members[permission].ast;
    uint64_t              bits   = 0;

    for (size_t i = 0; i < member->annotation_count; i++) {
        uint32_t definition = lic_map_find(&c->names.definition_names, member->annotations[i]);

        if (definition != LIC_MAP_NONE && definition / 64 == word)
            bits |= UINT64_C(1) << (definition % 64);
    }
    return bits;
}

static void compare_annotations(checker *c, const lic_edges *edges, const uint64_t *columns, uint32_t word)
{
    for (lic_rel m = 0; m < c->names.member_count; m++) {
        uint64_t reached, untold;

        if (!is_annotated(c, m) || c->untold[m] != LIC_NO_DEFINITION)
            continue;
        reached = columns[edges->component[m]];
        untold  = reached == 0 ? 0 : reached & ~told_types(c, m, word);
        if (untold != 0)
            c->untold[m] = word * 64 + (uint32_t)__builtin_ctzll(untold);
    }
}

/* For T12: what each annotation leaves out, 64 types at a time, so that the table stays one column wide. */
static bool find_untold(checker *c)
{
    uint64_t *columns;
    lic_edges edges;
    lic_rel   first = 0;

    while (first < c->names.member_count && !is_annotated(c, first))
        first++;
    if (!c->ast->typechecking || first == c->names.member_count)
        return true;
    if (!lic_edges_find(c->arena, &c->names, LIC_EDGES_ALL, &edges))
        return false;
    columns   = lic_new_items(c->arena, edges.component_count, uint64_t);
    c->untold = lic_new_items(c->arena, c->names.member_count, uint32_t);
    if (columns == NULL || c->untold == NULL)
        return false;
    memset(c->untold, 0xff, c->names.member_count * sizeof *c->untold); /* LIC_NO_DEFINITION */
    for (uint32_t word = 0; word * 64 < c->names.definition_count; word++) {
        lic_reach_column(&edges, true, word, columns);
        compare_annotations(c, &edges, columns, word);
    }
    return true;
}

static licet_status checker_init(checker *c, lic_arena *scratch, const lic_ast *ast, licet_error **error)
{
    *c = (checker){ .arena = scratch, .ast = ast, .error = error };
    lic_expr_walk_init(&c->walk, scratch->memory);
    if (!lic_resolve(scratch, ast, &c->names) || !lic_wildcard_search_init(&c->wildcards, scratch, &c->names) ||
        (c->alias_of = lic_find_aliases(scratch, &c->names)) == NULL || !find_untold(c))
        return lic_fail_memory(error);
    return LICET_OK;
}

licet_status lic_check_types(lic_arena *scratch, const lic_ast *ast, bool allow_unused, licet_error **error)
{
    licet_status status;
    checker      c;

    LIC_TRY(checker_init(&c, scratch, ast, error));
    for (uint32_t i = 0; i < c.names.caveat_count && !allow_unused; i++)
        LIC_TRY(check_caveat(&c, c.names.caveats[i]));
    for (uint32_t d = 0; d < c.names.definition_count; d++)
        LIC_TRY(check_definition(&c, d));
    status = lic_check_aliases(scratch, &c.names, c.alias_of, error);
done:
    lic_expr_walk_free(&c.walk);
    lic_resolved_free(&c.names);
    return status;
}
