/* What a new schema takes away is looked for in the store: definitions, relations (as resource and as part of a
 * subject), allowed types; of caveats, parameters. What it adds is free. */
#include "datastore/schema_change.h"

#include "datastore/relationship.h"

typedef struct change {
    lic_store          *store;
    const lic_snapshot *snapshot;
    lic_instant         now;
    const lic_names    *names;
    const lic_program  *old;
    const lic_program *new;
    lic_memory   *memory;
    licet_error **error;
} change;

static licet_status fail_caveat(const change *c, const char *what, lic_str parameter, lic_str caveat)
{
    return lic_fail_reason(c->error, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR", LIC_NOWHERE,
                           "cannot %s `%.*s` on caveat `%.*s`", what, LIC_STR_ARG(parameter), LIC_STR_ARG(caveat));
}

static const lic_caveat_parameter *find_parameter(const lic_caveat *caveat, lic_str name)
{
    for (size_t i = 0; i < caveat->parameter_count; i++) {
        if (lic_str_equal(caveat->parameters[i].name, name))
            return &caveat->parameters[i];
    }
    return NULL;
}

static bool same_type(const lic_caveat_type *a, const lic_caveat_type *b)
{
    while (a != NULL && b != NULL && a->kind == b->kind) {
        a = a->argument;
        b = b->argument;
    }
    return a == NULL && b == NULL;
}

static licet_status caveat_change(const change *c, const lic_caveat *old, const lic_caveat *new)
{
    for (size_t i = 0; i < old->parameter_count; i++) {
        const lic_caveat_parameter *parameter = find_parameter(new, old->parameters[i].name);

        if (parameter == NULL)
            return fail_caveat(c, "remove parameter", old->parameters[i].name, old->name);
        if (!same_type(parameter->type, old->parameters[i].type))
            return fail_caveat(c, "change the type of parameter", old->parameters[i].name, old->name);
    }
    return LICET_OK;
}

static licet_status caveat_changes(const change *c)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < c->new->caveat_count &&status == LICET_OK; i++) {
        uint32_t old = lic_program_caveat(c->old, c->new->caveats[i].name);

        if (old != LIC_NO_CAVEAT)
            status = caveat_change(c, &c->old->caveats[old], &c->new->caveats[i]);
    }
    return status;
}

static lic_filter everything(void)
{
    return (lic_filter){ .resource_type = LIC_NO_TYPE,
                         .resource_slot = LIC_NO_SLOT,
                         .subject_type  = LIC_NO_TYPE,
                         .subject_slot  = LIC_NO_SLOT };
}

/* Fails with "`what`: REL" if any relationship matches. `what` is text of ours. */
static licet_status refuse_if_any(const change *c, const lic_filter *filter, const lic_text *what)
{
    lic_arena          arena;
    lic_rows           rows;
    lic_text           text;
    licet_relationship relationship;
    licet_status       status;

    lic_arena_init(&arena, c->memory);
    lic_text_init(&text, c->memory);
    LIC_TRY(c->store->methods->read(c->store, c->snapshot, filter, c->now, NULL, 1, &arena, &rows, c->error));
    if (rows.count == 0)
        goto done;
    lic_row_relationship(c->names, &rows.items[0], &relationship);
    LIC_TRY(lic_relationship_print(&relationship, &text, c->error));
    if (text.failed || what->failed) {
        status = lic_fail_memory(c->error);
        goto done;
    }
    status = lic_fail_reason(c->error, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR", LIC_NOWHERE,
                             "cannot %.*s: %.*s", LIC_STR_ARG(*what), LIC_STR_ARG(text));
done:
    lic_text_free(&text);
    lic_arena_free(&arena);
    return status;
}

/* "delete relation `r` in object definition `d`" and the like. */
static void describe(lic_text *what, const char *verb, size_t size, lic_str name, lic_str definition)
{
    lic_text_add(what, (lic_str){ verb, size });
    lic_text_add(what, name);
    lic_text_add_literal(what, "` in object definition `");
    lic_text_add(what, definition);
    lic_text_add_char(what, '`');
}

/* Only relations that allow it as a subject can hold one: the others need not be read. */
static licet_status refuse_if_subject(const change *c, lic_slot subject, const lic_text *what)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < c->old->relation_count && status == LICET_OK; i++) {
        const lic_relation *relation = &c->old->relations[i];
        lic_filter          filter   = everything();
        bool                holds    = false;

        for (uint32_t j = 0; j < relation->allowed_count && !relation->is_permission; j++)
            holds = holds || c->old->allowed[relation->first_allowed + j].slot == subject;
        if (!holds)
            continue;
        filter.resource_slot = relation->slot;
        filter.subject_slot  = subject;
        status               = refuse_if_any(c, &filter, what);
    }
    return status;
}

static licet_status relation_removed(const change *c, const lic_relation *relation)
{
    lic_str      definition = c->old->definitions[relation->definition].name;
    lic_filter   filter     = everything();
    lic_text     what;
    licet_status status;
    size_t       size;

    lic_text_init(&what, c->memory);
    describe(&what, "delete relation `", 17, relation->name, definition);
    size = what.size;
    lic_text_add_literal(&what, ", as at least one relationship exists under it");
    filter.resource_slot = relation->slot;
    LIC_TRY(refuse_if_any(c, &filter, &what));
    what.size = size;
    lic_text_add_literal(&what, ", as at least one relationship references it as part of a subject");
    LIC_TRY(refuse_if_subject(c, relation->slot, &what));
done:
    lic_text_free(&what);
    return status;
}

/* By printed form, in which every part of a type shows. */
static bool still_allowed(const change *c, const lic_relation *relation, lic_str form, bool *failed)
{
    bool     found = false;
    lic_text other;

    lic_text_init(&other, c->memory);
    for (uint32_t i = 0; i < relation->allowed_count && !found; i++) {
        other.size = 0;
        lic_allowed_print(c->new, &c->new->allowed[relation->first_allowed + i], &other);
        found = !other.failed && lic_str_equal(lic_text_str(&other), form);
    }
    *failed = other.failed;
    lic_text_free(&other);
    return found;
}

static licet_status type_removed(const change *c, const lic_relation *relation, const lic_allowed *allowed,
                                 lic_str form)
{
    lic_filter   filter = everything();
    lic_text     what;
    licet_status status;

    lic_text_init(&what, c->memory);
    lic_text_add_literal(&what, "remove allowed type `");
    lic_text_add(&what, form);
    describe(&what, "` from relation `", 17, relation->name, c->old->definitions[relation->definition].name);
    lic_text_add_literal(&what, ", as a relationship exists with it");
    filter.resource_slot = relation->slot;
    filter.subject_slot  = allowed->slot;
    filter.one_form      = true;
    filter.expires       = allowed->expiration;
    filter.caveat = allowed->caveat == LIC_NO_CAVEAT ? LIC_NO_CAVEAT_NAME : c->old->caveat_numbers[allowed->caveat];
    if (allowed->wildcard) {
        filter.subject_type = lic_names_type_of(c->names, allowed->slot);
        filter.subject_id   = LIC_STR("*");
    }
    status = refuse_if_any(c, &filter, &what);
    lic_text_free(&what);
    return status;
}

static licet_status allowed_change(const change *c, const lic_relation *old, const lic_relation *new)
{
    licet_status status = LICET_OK;
    lic_text     form;

    lic_text_init(&form, c->memory);
    for (uint32_t i = 0; i < old->allowed_count && status == LICET_OK; i++) {
        const lic_allowed *allowed = &c->old->allowed[old->first_allowed + i];
        bool               failed;
        bool               kept;

        form.size = 0;
        lic_allowed_print(c->old, allowed, &form);
        kept = still_allowed(c, new, lic_text_str(&form), &failed);
        if (failed || form.failed)
            status = lic_fail_memory(c->error);
        else if (!kept)
            status = type_removed(c, old, allowed, lic_text_str(&form));
    }
    lic_text_free(&form);
    return status;
}

static licet_status definition_change(const change *c, const lic_definition *old, uint32_t new)
{
    licet_status status = LICET_OK;

    for (uint32_t i = 0; i < old->relation_count && status == LICET_OK; i++) {
        const lic_relation *relation = &c->old->relations[old->first_relation + i];
        lic_rel             now      = lic_program_relation(c->new, new, relation->name);

        if (relation->is_permission)
            continue;
        if (now == LIC_NO_REL || c->new->relations[now].is_permission)
            status = relation_removed(c, relation);
        else
            status = allowed_change(c, relation, &c->new->relations[now]);
    }
    return status;
}

static licet_status definition_removed(const change *c, const lic_definition *old)
{
    lic_filter   filter = everything();
    lic_text     what;
    licet_status status;

    lic_text_init(&what, c->memory);
    lic_text_add_literal(&what, "delete object definition `");
    lic_text_add(&what, old->name);
    lic_text_add_literal(&what, "`, as at least one relationship exists under it");
    filter.resource_type = old->type;
    status               = refuse_if_any(c, &filter, &what);
    lic_text_free(&what);
    return status;
}

licet_status lic_schema_change_check(lic_store *store, const lic_snapshot *snapshot, lic_instant now,
                                     const lic_names *names, const lic_program *old, const lic_program *new,
                                     licet_error **error)
{
    change       c      = { store, snapshot, now, names, old, new, old->memory, error };
    licet_status status = caveat_changes(&c);

    for (uint32_t i = 0; i < new->definition_count &&status == LICET_OK; i++) {
        uint32_t before = lic_program_definition(old, new->definitions[i].name);

        if (before != LIC_NO_DEFINITION)
            status = definition_change(&c, &old->definitions[before], i);
    }
    for (uint32_t i = 0; i < old->definition_count && status == LICET_OK; i++) {
        if (lic_program_definition(new, old->definitions[i].name) == LIC_NO_DEFINITION)
            status = definition_removed(&c, &old->definitions[i]);
    }
    return status;
}
