/* What a new schema takes away is looked for in the store: definitions, relations (as resource and as part of a
 * subject), allowed types; of caveats, parameters. What it adds is free. */
#include "datastore/schema_change.h"

#include "datastore/relationship.h"

typedef struct change {
    lic_arena         *arena; /* of the refusals */
    const lic_names   *names;
    const lic_program *before;
    const lic_program *after;
    lic_refusals      *refusals;
} change;

static lic_filter everything(void)
{
    return (lic_filter){ .resource_type = LIC_NO_TYPE,
                         .resource_slot = LIC_NO_SLOT,
                         .subject_type  = LIC_NO_TYPE,
                         .subject_slot  = LIC_NO_SLOT };
}

/* All functions that add say false where memory ran out. The text is ended. */
static bool add(const change *c, bool is_always, const lic_filter *filter, lic_text *text)
{
    lic_refusals *all = c->refusals;
    lic_refusal   refusal;

    refusal = (lic_refusal){ .is_always = is_always, .filter = *filter };
    if (!text->failed)
        refusal.change = lic_arena_str(c->arena, lic_text_str(text));
    lic_text_free(text);
    if (!lic_str_given(refusal.change) ||
        !lic_arena_grow(c->arena, (void **)&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return false;
    all->items[all->count++] = refusal;
    return true;
}

static lic_text new_text(const change *c)
{
    lic_text text;

    lic_text_init(&text, c->arena->memory);
    return text;
}

/* -------------------------------------------------------------------- caveats */

static bool add_parameter(const change *c, const char *what, size_t size, lic_str parameter, lic_str caveat)
{
    const lic_filter filter = everything();
    lic_text         text   = new_text(c);

    lic_text_add(&text, (lic_str){ what, size });
    lic_text_add(&text, parameter);
    lic_text_add_literal(&text, "` on caveat `");
    lic_text_add(&text, caveat);
    lic_text_add_char(&text, '`');
    return add(c, true, &filter, &text);
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

static bool caveat_change(const change *c, const lic_caveat *before, const lic_caveat *after)
{
    bool ok = true;

    for (size_t i = 0; i < before->parameter_count && ok; i++) {
        const lic_caveat_parameter *parameter = find_parameter(after, before->parameters[i].name);

        if (parameter == NULL)
            ok = add_parameter(c, "remove parameter `", 18, before->parameters[i].name, before->name);
        else if (!same_type(parameter->type, before->parameters[i].type))
            ok = add_parameter(c, "change the type of parameter `", 30, before->parameters[i].name, before->name);
    }
    return ok;
}

static bool caveat_changes(const change *c)
{
    bool ok = true;

    for (size_t i = 0; i < c->after->caveat_count && ok; i++) {
        const uint32_t before = lic_program_caveat(c->before, c->after->caveats[i].name);

        if (before != LIC_NO_CAVEAT)
            ok = caveat_change(c, &c->before->caveats[before], &c->after->caveats[i]);
    }
    return ok;
}

/* ---------------------------------------------------- definitions and relations */

/* "delete relation `r` in object definition `d`" and the like. */
static void describe(lic_text *what, const char *verb, size_t size, lic_str name, lic_str definition)
{
    lic_text_add(what, (lic_str){ verb, size });
    lic_text_add(what, name);
    lic_text_add_literal(what, "` in object definition `");
    lic_text_add(what, definition);
    lic_text_add_char(what, '`');
}

static lic_text describe_removal(const change *c, const lic_relation *relation)
{
    lic_text text = new_text(c);

    describe(&text, "delete relation `", 17, relation->name, c->before->definitions[relation->definition].name);
    return text;
}

static bool may_hold(const change *c, const lic_relation *relation, lic_slot subject)
{
    for (uint32_t j = 0; j < relation->allowed_count && !relation->is_permission; j++) {
        if (c->before->allowed[relation->first_allowed + j].slot == subject)
            return true;
    }
    return false;
}

/* Only relations that allow it as a subject can hold one: the others need not be read. */
static bool removed_as_subject(const change *c, const lic_relation *removed)
{
    bool ok = true;

    for (size_t i = 0; i < c->before->relation_count && ok; i++) {
        const lic_relation *relation = &c->before->relations[i];
        lic_filter          filter   = everything();
        lic_text            text;

        if (!may_hold(c, relation, removed->slot))
            continue;
        text = describe_removal(c, removed);
        lic_text_add_literal(&text, ", as at least one relationship references it as part of a subject");
        filter.resource_slot = relation->slot;
        filter.subject_slot  = removed->slot;
        ok                   = add(c, false, &filter, &text);
    }
    return ok;
}

static bool relation_removed(const change *c, const lic_relation *relation)
{
    lic_filter filter = everything();
    lic_text   text   = describe_removal(c, relation);

    lic_text_add_literal(&text, ", as at least one relationship exists under it");
    filter.resource_slot = relation->slot;
    return add(c, false, &filter, &text) && removed_as_subject(c, relation);
}

/* By printed form, in which every part of a type shows. */
static bool still_allowed(const change *c, const lic_relation *relation, lic_str form, bool *failed)
{
    bool     found = false;
    lic_text other = new_text(c);

    for (uint32_t i = 0; i < relation->allowed_count && !found; i++) {
        other.size = 0;
        lic_allowed_print(c->after, &c->after->allowed[relation->first_allowed + i], &other);
        found = !other.failed && lic_str_equal(lic_text_str(&other), form);
    }
    *failed = other.failed;
    lic_text_free(&other);
    return found;
}

static bool type_removed(const change *c, const lic_relation *relation, const lic_allowed *allowed, lic_str form)
{
    lic_filter filter = everything();
    lic_text   text   = new_text(c);

    lic_text_add_literal(&text, "remove allowed type `");
    lic_text_add(&text, form);
    describe(&text, "` from relation `", 17, relation->name, c->before->definitions[relation->definition].name);
    lic_text_add_literal(&text, ", as a relationship exists with it");
    filter.resource_slot = relation->slot;
    filter.subject_slot  = allowed->slot;
    filter.one_form      = true;
    filter.expires       = allowed->expiration;
    filter.caveat = allowed->caveat == LIC_NO_CAVEAT ? LIC_NO_CAVEAT_NAME : c->before->caveat_numbers[allowed->caveat];
    if (allowed->wildcard) {
        filter.subject_type = lic_names_type_of(c->names, allowed->slot);
        filter.subject_id   = LIC_STR("*");
    }
    return add(c, false, &filter, &text);
}

static bool allowed_change(const change *c, const lic_relation *before, const lic_relation *after)
{
    bool     ok   = true;
    lic_text form = new_text(c);

    for (uint32_t i = 0; i < before->allowed_count && ok; i++) {
        const lic_allowed *allowed = &c->before->allowed[before->first_allowed + i];
        bool               failed;
        bool               kept;

        form.size = 0;
        lic_allowed_print(c->before, allowed, &form);
        kept = still_allowed(c, after, lic_text_str(&form), &failed);
        ok   = !failed && !form.failed && (kept || type_removed(c, before, allowed, lic_text_str(&form)));
    }
    lic_text_free(&form);
    return ok;
}

static bool definition_change(const change *c, const lic_definition *before, uint32_t after)
{
    bool ok = true;

    for (uint32_t i = 0; i < before->relation_count && ok; i++) {
        const lic_relation *relation = &c->before->relations[before->first_relation + i];
        const lic_rel       now      = lic_program_relation(c->after, after, relation->name);

        if (relation->is_permission)
            continue;
        if (now == LIC_NO_REL || c->after->relations[now].is_permission)
            ok = relation_removed(c, relation);
        else
            ok = allowed_change(c, relation, &c->after->relations[now]);
    }
    return ok;
}

static bool definition_removed(const change *c, const lic_definition *before)
{
    lic_filter filter = everything();
    lic_text   text   = new_text(c);

    lic_text_add_literal(&text, "delete object definition `");
    lic_text_add(&text, before->name);
    lic_text_add_literal(&text, "`, as at least one relationship exists under it");
    filter.resource_type = before->type;
    return add(c, false, &filter, &text);
}

static bool definition_changes(const change *c)
{
    bool ok = true;

    for (uint32_t i = 0; i < c->after->definition_count && ok; i++) {
        const uint32_t before = lic_program_definition(c->before, c->after->definitions[i].name);

        if (before != LIC_NO_DEFINITION)
            ok = definition_change(c, &c->before->definitions[before], i);
    }
    for (uint32_t i = 0; i < c->before->definition_count && ok; i++) {
        if (lic_program_definition(c->after, c->before->definitions[i].name) == LIC_NO_DEFINITION)
            ok = definition_removed(c, &c->before->definitions[i]);
    }
    return ok;
}

/* ------------------------------------------------------------------ interface */

licet_status lic_schema_refusals(lic_arena *arena, const lic_names *names, const lic_program *before,
                                 const lic_program *after, lic_refusals *refusals, licet_error **error)
{
    const change c = { arena, names, before, after, refusals };

    *refusals = (lic_refusals){ .count = 0 };
    return caveat_changes(&c) && definition_changes(&c) ? LICET_OK : lic_fail_memory(error);
}

licet_status lic_refusal_print(const lic_refusal *refusal, const licet_relationship *row, lic_text *out,
                               licet_error **error)
{
    licet_status status = LICET_OK;

    lic_text_add_literal(out, "cannot ");
    lic_text_add(out, refusal->change);
    if (row != NULL) {
        lic_text_add_literal(out, ": ");
        status = lic_relationship_print(row, out, error);
    }
    return status == LICET_OK && out->failed ? lic_fail_memory(error) : status;
}

static licet_status fail(const lic_refusal *refusal, const licet_relationship *row, lic_memory *memory,
                         licet_error **error)
{
    lic_text     text;
    licet_status status;

    lic_text_init(&text, memory);
    status = lic_refusal_print(refusal, row, &text, error);
    if (status == LICET_OK)
        status = lic_fail_reason(error, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR", LIC_NOWHERE,
                                 "%.*s", LIC_STR_ARG(text));
    lic_text_free(&text);
    return status;
}

/* Fails if the refusal is one that what is stored brings about. */
static licet_status refuse(lic_store *store, const lic_snapshot *snapshot, lic_instant now, const lic_names *names,
                           const lic_refusal *refusal, lic_memory *memory, licet_error **error)
{
    lic_arena          arena;
    lic_rows           rows;
    licet_relationship row;
    licet_status       status;

    if (refusal->is_always)
        return fail(refusal, NULL, memory, error);
    lic_arena_init(&arena, memory);
    status = store->methods->read(store, snapshot, &refusal->filter, now, NULL, 1, &arena, &rows, error);
    if (status == LICET_OK && rows.count > 0) {
        lic_row_relationship(names, &rows.items[0], &row);
        status = fail(refusal, &row, memory, error);
    }
    lic_arena_free(&arena);
    return status;
}

licet_status lic_schema_change_check(lic_store *store, const lic_snapshot *snapshot, lic_instant now,
                                     const lic_names *names, const lic_program *before, const lic_program *after,
                                     licet_error **error)
{
    lic_memory  *memory = before->memory;
    lic_arena    arena;
    lic_refusals refusals;
    licet_status status;

    lic_arena_init(&arena, memory);
    status = lic_schema_refusals(&arena, names, before, after, &refusals, error);
    for (size_t i = 0; i < refusals.count && status == LICET_OK; i++)
        status = refuse(store, snapshot, now, names, &refusals.items[i], memory, error);
    lic_arena_free(&arena);
    return status;
}
