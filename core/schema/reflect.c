/* Describing a schema as JSON (schema.md 17). SpiceDB's filters: a name in a filter is a prefix; definitions are given if
 * some filter names one, caveats likewise; a relation is left out if some filter names relations and none of those is
 * for its definition and name, and a permission likewise. Without any filter all is given. */
#include <stdlib.h>

#include "schema/format.h"
#include "schema/schema.h"

typedef struct reflection {
    const lic_ast                 *ast;
    const licet_reflection_filter *filters;
    size_t                         filter_count;
    lic_text                      *out;
} reflection;

/* Is the field given at all? Empty is not. */
static bool names(lic_str field)
{
    return field.size > 0;
}

static licet_status fail_filter(size_t index, const char *problem, licet_error **error)
{
    return lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER", LIC_NOWHERE,
                           "filter %zu: %s", index + 1, problem);
}

static licet_status filters_check(const licet_reflection_filter *filters, size_t count, licet_error **error)
{
    for (size_t i = 0; i < count; i++) {
        const licet_reflection_filter *f = &filters[i];

        if (f->size != sizeof *f)
            return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                            "a reflection filter of %zu bytes; this version of licet has %zu", f->size, sizeof *f);
        if (names(f->definition) && names(f->caveat))
            return fail_filter(i, "definition and caveat exclude each other", error);
        if ((names(f->relation) || names(f->permission)) && !names(f->definition))
            return fail_filter(i, "definition must be given with relation or permission", error);
        if (names(f->relation) && names(f->permission))
            return fail_filter(i, "relation and permission exclude each other", error);
    }
    return LICET_OK;
}

/* ----------------------------------------------------------------- filters */

static bool has_definition(const reflection *r, lic_str name)
{
    for (size_t i = 0; i < r->filter_count; i++)
        if (names(r->filters[i].definition) && lic_str_starts_with(name, r->filters[i].definition))
            return true;
    return r->filter_count == 0;
}

static bool has_caveat(const reflection *r, lic_str name)
{
    for (size_t i = 0; i < r->filter_count; i++)
        if (names(r->filters[i].caveat) && lic_str_starts_with(name, r->filters[i].caveat))
            return true;
    return r->filter_count == 0;
}

static bool has_member(const reflection *r, lic_str definition, const lic_ast_member *member)
{
    bool some = false;

    for (size_t i = 0; i < r->filter_count; i++) {
        const licet_reflection_filter *f     = &r->filters[i];
        const lic_str                  field = member->expr != NULL ? f->permission : f->relation;

        if (!names(field))
            continue;
        some = true;
        if (lic_str_starts_with(definition, f->definition) && lic_str_starts_with(member->name, field))
            return true;
    }
    return !some;
}

/* ---------------------------------------------------------------- printing */

static void begin_item(reflection *r, bool *first)
{
    if (!*first)
        lic_text_add_literal(r->out, ", ");
    *first = false;
}

static void print_field(reflection *r, lic_str name, lic_str value)
{
    lic_text_add(r->out, name);
    lic_text_add_json(r->out, value);
}

static void print_comments(reflection *r, const lic_str *comments, size_t count)
{
    lic_text joined;

    lic_text_init(&joined, r->out->memory);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            lic_text_add_char(&joined, '\n');
        lic_text_add(&joined, comments[i]);
    }
    print_field(r, LIC_STR(", \"comment\": "), lic_text_str(&joined));
    r->out->failed |= joined.failed;
    lic_text_free(&joined);
}

static void print_type(reflection *r, const lic_ast_type *type)
{
    print_field(r, LIC_STR("{\"definition\": "), type->type);
    if (type->wildcard)
        lic_text_add_literal(r->out, ", \"is_public_wildcard\": true");
    else if (lic_str_given(type->relation))
        print_field(r, LIC_STR(", \"relation\": "), type->relation);
    else
        lic_text_add_literal(r->out, ", \"is_terminal_subject\": true");
    if (lic_str_given(type->caveat))
        print_field(r, LIC_STR(", \"caveat\": "), type->caveat);
    if (type->expiration)
        lic_text_add_literal(r->out, ", \"expiration\": true");
    lic_text_add_char(r->out, '}');
}

static void print_member(reflection *r, const lic_ast_member *member)
{
    bool first = true;

    print_field(r, LIC_STR("{\"name\": "), member->name);
    print_comments(r, member->comments, member->comment_count);
    if (member->expr == NULL) {
        lic_text_add_literal(r->out, ", \"subject_types\": [");
        for (size_t i = 0; i < member->type_count; i++) {
            begin_item(r, &first);
            print_type(r, &member->types[i]);
        }
        lic_text_add_char(r->out, ']');
    }
    lic_text_add_char(r->out, '}');
}

static void print_members(reflection *r, const lic_ast_definition *definition, bool permissions)
{
    bool first = true;

    lic_text_add(r->out, permissions ? LIC_STR(", \"permissions\": [") : LIC_STR(", \"relations\": ["));
    for (size_t i = 0; i < definition->member_count; i++) {
        const lic_ast_member *member = &definition->members[i];

        if ((member->expr != NULL) != permissions || !has_member(r, definition->name, member))
            continue;
        begin_item(r, &first);
        print_member(r, member);
    }
    lic_text_add_char(r->out, ']');
}

static void print_definition(reflection *r, const lic_ast_definition *definition)
{
    print_field(r, LIC_STR("{\"name\": "), definition->name);
    print_comments(r, definition->comments, definition->comment_count);
    print_members(r, definition, false);
    print_members(r, definition, true);
    lic_text_add_char(r->out, '}');
}

static int compare_parameters(const void *a, const void *b)
{
    return lic_str_compare((*(const lic_ast_parameter *const *)a)->name, (*(const lic_ast_parameter *const *)b)->name);
}

static void print_parameters(reflection *r, const lic_ast_caveat *caveat)
{
    const lic_ast_parameter **sorted = lic_alloc_array(r->out->memory, caveat->parameter_count, sizeof *sorted);
    bool                      first  = true;

    if (sorted == NULL) {
        r->out->failed = true;
        return;
    }
    for (size_t i = 0; i < caveat->parameter_count; i++)
        sorted[i] = &caveat->parameters[i];
    qsort(sorted, caveat->parameter_count, sizeof *sorted, compare_parameters);
    lic_text_add_literal(r->out, ", \"parameters\": [");
    for (size_t i = 0; i < caveat->parameter_count; i++) {
        begin_item(r, &first);
        print_field(r, LIC_STR("{\"name\": "), sorted[i]->name);
        lic_text_add_literal(r->out, ", \"type\": \"");
        lic_caveat_type_print(sorted[i]->type, r->out);
        lic_text_add_literal(r->out, "\"}");
    }
    lic_text_add_char(r->out, ']');
    lic_free(r->out->memory, sorted, caveat->parameter_count * sizeof *sorted);
}

static void print_caveat(reflection *r, const lic_ast_caveat *caveat)
{
    lic_text expression;

    lic_text_init(&expression, r->out->memory);
    lic_format_expression(caveat, &expression);
    print_field(r, LIC_STR("{\"name\": "), caveat->name);
    print_comments(r, caveat->comments, caveat->comment_count);
    print_parameters(r, caveat);
    print_field(r, LIC_STR(", \"expression\": "), lic_text_str(&expression));
    lic_text_add_char(r->out, '}');
    r->out->failed |= expression.failed;
    lic_text_free(&expression);
}

/* ---------------------------------------------------------------- the whole */

static lic_str item_name(const lic_ast_item *item)
{
    return item->definition != NULL ? item->definition->name : item->caveat->name;
}

static int compare_items(const void *a, const void *b)
{
    return lic_str_compare(item_name(*(const lic_ast_item *const *)a), item_name(*(const lic_ast_item *const *)b));
}

static void print_items(reflection *r, const lic_ast_item *const *sorted, bool definitions)
{
    bool first = true;

    for (size_t i = 0; i < r->ast->item_count; i++) {
        const lic_ast_item *item = sorted[i];

        if ((item->definition != NULL) != definitions ||
            !(definitions ? has_definition : has_caveat)(r, item_name(item)))
            continue;
        begin_item(r, &first);
        if (definitions)
            print_definition(r, item->definition);
        else
            print_caveat(r, item->caveat);
    }
}

/* Sorted by name, as SpiceDB's storage lists them. */
static void print_schema(reflection *r)
{
    const size_t         count  = r->ast->item_count;
    const lic_ast_item **sorted = lic_alloc_array(r->out->memory, count, sizeof *sorted);

    if (sorted == NULL && count > 0) {
        r->out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = &r->ast->items[i];
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, compare_items);
    lic_text_add_literal(r->out, "{\"definitions\": [");
    print_items(r, sorted, true);
    lic_text_add_literal(r->out, "], \"caveats\": [");
    print_items(r, sorted, false);
    lic_text_add_literal(r->out, "]}");
    lic_free(r->out->memory, sorted, count * sizeof *sorted);
}

licet_status licet_schema_reflect(const licet_schema *schema, const licet_reflection_filter *filters,
                                  size_t filter_count, licet_buffer *json, licet_error **error)
{
    reflection   r = { .filters = filters, .filter_count = filter_count };
    lic_text     out;
    bool         done;
    licet_status status;

    if (error != NULL)
        *error = NULL;
    if (schema == NULL || json == NULL || json->size_of_record != sizeof *json || (filters == NULL && filter_count > 0))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "a schema, its filters and a buffer have to be given");
    status = filters_check(filters, filter_count, error);
    if (status != LICET_OK)
        return status;
    lic_text_init(&out, schema->memory);
    r.ast = schema->ast;
    r.out = &out;
    print_schema(&r);
    done = lic_text_to_buffer(&out, json);
    lic_text_free(&out);
    return done ? LICET_OK : lic_fail_memory(error);
}
