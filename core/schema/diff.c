/* What changed between two schemas (schema.md 16). Compared is what a schema means and what its formatter prints: moving a
 * text about, or writing a union in another nesting, is no change. */
#include "base/hash.h"
#include "base/map.h"
#include "schema/format.h"
#include "schema/report.h"
#include "schema/schema.h"

/* Two versions of one thing; either may be missing. */
typedef struct diff {
    licet_schema_report *report;
    lic_memory          *memory;
    licet_schema_entry   about; /* definition, name, caveat, parameter of what is compared */
    lic_text             before;
    lic_text             after;
    bool                 failed;
} diff;

static void add(diff *d, lic_str kind)
{
    licet_schema_entry entry = d->about;

    entry.kind   = kind;
    entry.before = lic_text_str(&d->before);
    entry.after  = lic_text_str(&d->after);
    d->failed |= d->before.failed || d->after.failed || !lic_schema_report_add(d->report, &entry);
    d->before.size = 0;
    d->after.size  = 0;
}

#define add_kind(d, literal) add((d), LIC_STR(literal))

static void add_if_different(diff *d, lic_str kind)
{
    if (lic_str_equal(lic_text_str(&d->before), lic_text_str(&d->after))) {
        d->before.size = 0;
        d->after.size  = 0;
    } else {
        add(d, kind);
    }
}

static void print_comments(const lic_str *comments, size_t count, lic_text *out)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            lic_text_add_char(out, '\n');
        lic_text_add(out, comments[i]);
    }
}

/* ------------------------------------------------------------- definitions */

static void print_types(const lic_ast_member *member, lic_text *out)
{
    for (size_t i = 0; i < member->type_count; i++) {
        if (i > 0)
            lic_text_add_literal(out, " | ");
        lic_format_type(&member->types[i], out);
    }
}

static void print_member(const lic_ast_member *member, lic_text *out)
{
    if (member->expr != NULL)
        lic_format_expr(member->expr, out);
    else
        print_types(member, out);
}

static bool type_equal(const lic_ast_type *a, const lic_ast_type *b)
{
    return lic_str_equal(a->type, b->type) && lic_str_equal(a->relation, b->relation) &&
           lic_str_equal(a->caveat, b->caveat) && a->wildcard == b->wildcard && a->expiration == b->expiration;
}

static bool allows(const lic_ast_member *relation, const lic_ast_type *type)
{
    for (size_t i = 0; i < relation->type_count; i++)
        if (type_equal(&relation->types[i], type))
            return true;
    return false;
}

static void compare_types(diff *d, const lic_ast_member *before, const lic_ast_member *after)
{
    for (size_t i = 0; i < before->type_count; i++)
        if (!allows(after, &before->types[i])) {
            lic_format_type(&before->types[i], &d->before);
            add_kind(d, "relation_subject_type_removed");
        }
    for (size_t i = 0; i < after->type_count; i++)
        if (!allows(before, &after->types[i])) {
            lic_format_type(&after->types[i], &d->after);
            add_kind(d, "relation_subject_type_added");
        }
}

static void compare_comments(diff *d, const lic_ast_member *before, const lic_ast_member *after)
{
    print_comments(before->comments, before->comment_count, &d->before);
    print_comments(after->comments, after->comment_count, &d->after);
    add_if_different(d, after->expr != NULL ? LIC_STR("permission_doc_comment_changed")
                                            : LIC_STR("relation_doc_comment_changed"));
}

static void remove_member(diff *d, const lic_ast_member *member)
{
    print_member(member, &d->before);
    add(d, member->expr != NULL ? LIC_STR("permission_removed") : LIC_STR("relation_removed"));
}

static void add_member(diff *d, const lic_ast_member *member)
{
    print_member(member, &d->after);
    add(d, member->expr != NULL ? LIC_STR("permission_added") : LIC_STR("relation_added"));
}

static void compare_members(diff *d, const lic_ast_member *before, const lic_ast_member *after)
{
    if ((before->expr == NULL) != (after->expr == NULL)) {
        remove_member(d, before);
        add_member(d, after);
        return;
    }
    compare_comments(d, before, after);
    if (after->expr == NULL) {
        compare_types(d, before, after);
        return;
    }
    print_member(before, &d->before);
    print_member(after, &d->after);
    add_if_different(d, LIC_STR("permission_expr_changed"));
}

static bool name_members(const lic_ast_definition *definition, lic_map *names)
{
    uint32_t found;

    for (uint32_t i = 0; i < definition->member_count; i++)
        if (!lic_map_add(names, definition->members[i].name, i, &found))
            return false;
    return true;
}

static void compare_named_members(diff *d, const lic_ast_definition *before, const lic_map *before_names,
                                  const lic_ast_definition *after, const lic_map *after_names)
{
    for (size_t i = 0; i < before->member_count; i++) {
        const uint32_t at = lic_map_find(after_names, before->members[i].name);

        d->about.name = before->members[i].name;
        if (at == LIC_MAP_NONE)
            remove_member(d, &before->members[i]);
        else
            compare_members(d, &before->members[i], &after->members[at]);
    }
    for (size_t i = 0; i < after->member_count; i++) {
        d->about.name = after->members[i].name;
        if (lic_map_find(before_names, after->members[i].name) == LIC_MAP_NONE)
            add_member(d, &after->members[i]);
    }
    d->about.name = (lic_str){ NULL, 0 };
}

static void compare_definitions(diff *d, const lic_ast_definition *before, const lic_ast_definition *after)
{
    lic_map before_names;
    lic_map after_names;

    print_comments(before->comments, before->comment_count, &d->before);
    print_comments(after->comments, after->comment_count, &d->after);
    add_if_different(d, LIC_STR("definition_doc_comment_changed"));
    lic_map_init(&before_names, d->memory, lic_random_key());
    lic_map_init(&after_names, d->memory, lic_random_key());
    if (name_members(before, &before_names) && name_members(after, &after_names))
        compare_named_members(d, before, &before_names, after, &after_names);
    else
        d->failed = true;
    lic_map_free(&before_names);
    lic_map_free(&after_names);
}

/* ----------------------------------------------------------------- caveats */

static const lic_ast_parameter *find_parameter(const lic_ast_caveat *caveat, lic_str name)
{
    for (size_t i = 0; i < caveat->parameter_count; i++)
        if (lic_str_equal(caveat->parameters[i].name, name))
            return &caveat->parameters[i];
    return NULL;
}

static void print_parameter(const lic_ast_parameter *parameter, lic_text *out)
{
    if (parameter != NULL)
        lic_caveat_type_print(parameter->type, out);
}

/* Either may be NULL. */
static void compare_parameter(diff *d, lic_str name, const lic_ast_parameter *before, const lic_ast_parameter *after)
{
    d->about.parameter = name;
    print_parameter(before, &d->before);
    print_parameter(after, &d->after);
    if (before == NULL)
        add_kind(d, "caveat_parameter_added");
    else if (after == NULL)
        add_kind(d, "caveat_parameter_removed");
    else
        add_if_different(d, LIC_STR("caveat_parameter_type_changed"));
    d->about.parameter = (lic_str){ NULL, 0 };
}

static void compare_caveats(diff *d, const lic_ast_caveat *before, const lic_ast_caveat *after)
{
    print_comments(before->comments, before->comment_count, &d->before);
    print_comments(after->comments, after->comment_count, &d->after);
    add_if_different(d, LIC_STR("caveat_doc_comment_changed"));
    for (size_t i = 0; i < before->parameter_count; i++)
        compare_parameter(d, before->parameters[i].name, &before->parameters[i],
                          find_parameter(after, before->parameters[i].name));
    for (size_t i = 0; i < after->parameter_count; i++)
        if (find_parameter(before, after->parameters[i].name) == NULL)
            compare_parameter(d, after->parameters[i].name, NULL, &after->parameters[i]);
    lic_format_expression(before, &d->before);
    lic_format_expression(after, &d->after);
    add_if_different(d, LIC_STR("caveat_expr_changed"));
}

/* ----------------------------------------------------------------- schemas */

/* Definitions and caveats share no names with each other, but each kind has names of its own. */
typedef struct named {
    lic_map definitions; /* name -> index of the item */
    lic_map caveats;
} named;

static bool name_items(const lic_ast *ast, named *names)
{
    uint32_t found;

    for (uint32_t i = 0; i < ast->item_count; i++) {
        const lic_ast_item *item  = &ast->items[i];
        const bool          added = item->definition != NULL
                                        ? lic_map_add(&names->definitions, item->definition->name, i, &found)
                                        : lic_map_add(&names->caveats, item->caveat->name, i, &found);

        if (!added)
            return false;
    }
    return true;
}

/* Items of the two schemas with one name; either may be NULL. some: one that is not. */
static void compare_items(diff *d, const lic_ast_item *some, const lic_ast_item *before, const lic_ast_item *after)
{
    if (some->definition != NULL)
        d->about.definition = some->definition->name;
    else
        d->about.caveat = some->caveat->name;
    if (before != NULL && after != NULL && some->definition != NULL)
        compare_definitions(d, before->definition, after->definition);
    else if (before != NULL && after != NULL)
        compare_caveats(d, before->caveat, after->caveat);
    else if (some->definition != NULL)
        add(d, before != NULL ? LIC_STR("definition_removed") : LIC_STR("definition_added"));
    else
        add(d, before != NULL ? LIC_STR("caveat_removed") : LIC_STR("caveat_added"));
    d->about = (licet_schema_entry)LICET_SCHEMA_ENTRY_INIT;
}

static const lic_ast_item *find_item(const lic_ast *ast, const named *names, const lic_ast_item *item)
{
    const uint32_t at = item->definition != NULL ? lic_map_find(&names->definitions, item->definition->name)
                                                 : lic_map_find(&names->caveats, item->caveat->name);

    return at == LIC_MAP_NONE ? NULL : &ast->items[at];
}

static void compare_named_items(diff *d, const lic_ast *before, const named *before_names, const lic_ast *after,
                                const named *after_names)
{
    for (size_t i = 0; i < before->item_count; i++)
        compare_items(d, &before->items[i], &before->items[i], find_item(after, after_names, &before->items[i]));
    for (size_t i = 0; i < after->item_count; i++)
        if (find_item(before, before_names, &after->items[i]) == NULL)
            compare_items(d, &after->items[i], NULL, &after->items[i]);
}

static void named_init(named *names, lic_memory *memory)
{
    lic_map_init(&names->definitions, memory, lic_random_key());
    lic_map_init(&names->caveats, memory, lic_random_key());
}

static void named_free(named *names)
{
    lic_map_free(&names->definitions);
    lic_map_free(&names->caveats);
}

static void compare_schemas(diff *d, const lic_ast *before, const lic_ast *after)
{
    named before_names;
    named after_names;

    named_init(&before_names, d->memory);
    named_init(&after_names, d->memory);
    if (name_items(before, &before_names) && name_items(after, &after_names))
        compare_named_items(d, before, &before_names, after, &after_names);
    else
        d->failed = true;
    named_free(&before_names);
    named_free(&after_names);
}

licet_status licet_schema_diff(const licet_schema *before, const licet_schema *after, licet_schema_report **report,
                               licet_error **error)
{
    diff d = { .about = LICET_SCHEMA_ENTRY_INIT };

    if (error != NULL)
        *error = NULL;
    if (report != NULL)
        *report = NULL;
    if (before == NULL || after == NULL || report == NULL)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no %s was given",
                        report == NULL ? "place for the report" : "schema");
    d.memory = before->memory;
    d.report = lic_schema_report_new(d.memory);
    if (d.report == NULL)
        return lic_fail_memory(error);
    lic_text_init(&d.before, d.memory);
    lic_text_init(&d.after, d.memory);
    compare_schemas(&d, before->ast, after->ast);
    lic_text_free(&d.before);
    lic_text_free(&d.after);
    if (d.failed) {
        licet_schema_report_release(d.report);
        return lic_fail_memory(error);
    }
    lic_schema_report_sort(d.report);
    *report = d.report;
    return LICET_OK;
}
