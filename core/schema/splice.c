/* Raw items to the AST: partials are filled in, names held against their patterns, in SpiceDB's order
 * (compiler/translator.go): all partials first, then definitions and caveats as they stand. */
#include "base/hash.h"
#include "base/map.h"
#include "schema/parse.h"

/* A partial's name: what it stands for, and who waits for it. */
typedef struct partial_name {
    lic_str         name;
    bool            known;
    lic_ast_member *members;
    size_t          member_count;
    struct partial *first_waiting;
    struct partial *last_waiting;
} partial_name;

typedef struct partial {
    const lic_raw_body *body;
    size_t              checked; /* entries held against the patterns so far */
    struct partial     *next;    /* waiting for the same name, or to be done next */
} partial;

typedef struct splicer {
    lic_parser   *p;
    lic_map       partial_map; /* name -> index in partials */
    partial_name *partials;    /* as many as there are references and partials at most */
    size_t        partial_count;
    size_t        partial_capacity;
    lic_map       item_map; /* names of definitions and caveats */
} splicer;

/* The table's row of a name; NULL: out of memory, reported. */
static partial_name *find_partial(splicer *s, lic_str name)
{
    uint32_t index;

    if (!lic_arena_grow(&s->p->scratch, (void **)&s->partials, &s->partial_capacity, s->partial_count + 1,
                        sizeof *s->partials) ||
        !lic_map_add(&s->partial_map, name, (uint32_t)s->partial_count, &index)) {
        lic_parser_memory_failed(s->p);
        return NULL;
    }
    if (index == s->partial_count)
        s->partials[s->partial_count++] = (partial_name){ .name = name };
    return &s->partials[index];
}

static bool fail_name(lic_parser *p, lic_place place, const char *what, const lic_str *name, const char *rule)
{
    return lic_parser_fail(p, LICET_KIND_VALUE, place, "%s %Q is not usable: %s", what, name, rule);
}

static const char relation_rule[] = "3 to 64 of a-z, 0-9 and \"_\", beginning with a letter, not ending in \"_\"";
static const char type_rule[]     = "each part has 3 to 64 of a-z, 0-9 and \"_\", begins with a letter, does not "
                                    "end in \"_\"; 128 bytes in all";

static bool check_relation(lic_parser *p, const lic_ast_member *relation)
{
    for (size_t i = 0; i < relation->type_count; i++) {
        const lic_ast_type *type = &relation->types[i];

        if (!lic_is_type_name(type->type))
            return fail_name(p, type->place, "the type", &type->type, type_rule);
        if (lic_str_given(type->relation) && !lic_is_relation_name(type->relation))
            return fail_name(p, type->place, "the subject relation", &type->relation, relation_rule);
    }
    if (!lic_is_relation_name(relation->name))
        return fail_name(p, relation->place, "the relation's name", &relation->name, relation_rule);
    return true;
}

/* SpiceDB: nested arrows first, then all names of the permission together, at the permission. */
static bool check_permission(lic_parser *p, const lic_raw_entry *entry)
{
    const lic_ast_member *permission = &entry->member;

    if (entry->nested_arrow)
        return lic_parser_fail(p, LICET_KIND_TYPE, entry->nested_place,
                               "arrows can not be chained; write the second step as a permission of the type that the "
                               "first one leads to");
    if (!lic_is_relation_name(permission->name))
        return fail_name(p, permission->place, "the permission's name", &permission->name, relation_rule);
    if (lic_str_given(entry->bad_name))
        return fail_name(p, permission->place, "in the permission, the name", &entry->bad_name, relation_rule);
    return true;
}

static bool check_entry(lic_parser *p, const lic_raw_entry *entry)
{
    return entry->member.expr != NULL ? check_permission(p, entry) : check_relation(p, &entry->member);
}

/* What an entry stands for: itself, or what the partial that it names consists of, which is known. */
static bool entry_members(splicer *s, const lic_raw_entry *entry, const lic_ast_member **members, size_t *count)
{
    const partial_name *source;

    if (!lic_str_given(entry->reference)) {
        *members = &entry->member;
        *count   = 1;
        return true;
    }
    source = find_partial(s, entry->reference);
    if (source == NULL)
        return false;
    *members = source->members;
    *count   = source->member_count;
    return true;
}

/* How many members a body has with its partials spliced in. */
static bool count_members(splicer *s, const lic_raw_body *body, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < body->entry_count; i++) {
        const lic_ast_member *source = NULL;
        size_t                count  = 0;

        if (!entry_members(s, &body->entries[i], &source, &count))
            return false;
        *total += count;
        if (*total > LIC_MAX_MEMBERS)
            return lic_parser_limit(s->p, body->entries[i].member.place, LIC_MAX_MEMBERS,
                                    "relations and permissions of one type");
    }
    return lic_parser_count_members(s->p, body->place, *total);
}

/* A body's members with its partials spliced in. */
static bool fill_in(splicer *s, const lic_raw_body *body, lic_ast_member **members, size_t *total)
{
    lic_ast_member *end;

    *members = NULL;
    if (!count_members(s, body, total))
        return false;
    if (*total == 0)
        return true;
    *members = lic_new_array(s->p->arena, *total, lic_ast_member);
    if (*members == NULL)
        return lic_parser_memory_failed(s->p);
    end = *members;
    for (size_t i = 0; i < body->entry_count; i++) {
        const lic_ast_member *source = NULL;
        size_t                count  = 0;

        if (!entry_members(s, &body->entries[i], &source, &count))
            return false;
        if (count > 0)
            memcpy(end, source, count * sizeof *source);
        end += count;
    }
    return true;
}

/* What waits for the name is to be done next, in the order in which it came. */
static partial *release_waiting(partial_name *name, partial *due)
{
    partial *first = name->first_waiting;

    if (first == NULL)
        return due;
    name->last_waiting->next = due;
    name->first_waiting      = NULL;
    name->last_waiting       = NULL;
    return first;
}

static void wait_for(partial_name *name, partial *waiting)
{
    waiting->next = NULL;
    if (name->first_waiting == NULL)
        name->first_waiting = waiting;
    else
        name->last_waiting->next = waiting;
    name->last_waiting = waiting;
}

/* Checks entries until the end, or until a reference that is not known yet: *missing. */
static bool check_partial(splicer *s, partial *partial, partial_name **missing)
{
    *missing = NULL;
    for (; partial->checked < partial->body->entry_count; partial->checked++) {
        const lic_raw_entry *entry = &partial->body->entries[partial->checked];

        if (lic_str_given(entry->reference)) {
            partial_name *name = find_partial(s, entry->reference);

            if (name == NULL)
                return false;
            if (!name->known) {
                *missing = name;
                return true;
            }
        } else if (!check_entry(s->p, entry)) {
            return false;
        }
    }
    return true;
}

/* SpiceDB: a later partial of the same name takes the place of the earlier one. */
static bool define_partial(splicer *s, const lic_raw_body *body, partial_name **result)
{
    lic_ast_member *members;
    size_t          count;
    partial_name   *name;

    if (!fill_in(s, body, &members, &count))
        return false;
    name = find_partial(s, body->name);
    if (name == NULL)
        return false;
    if (name->known && !s->p->ast->repeated_partial) {
        s->p->ast->repeated_partial       = true;
        s->p->ast->repeated_partial_place = body->place;
    }
    name->known        = true;
    name->members      = members;
    name->member_count = count;
    *result            = name;
    return true;
}

/* One partial, and then those that waited for it, and for those, and so on. */
static bool resolve_partial(splicer *s, const lic_raw_body *body)
{
    partial *due = lic_new(&s->p->scratch, partial);

    if (due == NULL)
        return lic_parser_memory_failed(s->p);
    due->body = body;
    while (due != NULL) {
        partial      *current = due;
        partial_name *name;

        due = due->next;
        if (!check_partial(s, current, &name))
            return false;
        if (name != NULL) {
            wait_for(name, current);
            continue;
        }
        if (!define_partial(s, current->body, &name))
            return false;
        due = release_waiting(name, due);
    }
    return true;
}

/* SpiceDB gives no position. */
static bool fail_unresolved(splicer *s)
{
    lic_text     names;
    licet_status status;
    lic_str      list;

    lic_text_init(&names, s->p->scratch.memory);
    for (size_t i = 0; i < s->partial_count; i++) {
        if (s->partials[i].first_waiting == NULL)
            continue;
        if (names.size > 0)
            lic_text_add_literal(&names, ", ");
        lic_text_add(&names, s->partials[i].name);
    }
    list   = lic_text_str(&names);
    status = names.failed ? lic_fail_memory(s->p->error)
                          : lic_fail(s->p->error, LICET_SCHEMA_ERROR, LICET_KIND_NAME, LIC_NOWHERE,
                                     "partials that are missing, or include each other in a circle: %Q", &list);
    lic_text_free(&names);
    s->p->status = status;
    return false;
}

static bool resolve_partials(splicer *s, const lic_raw_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].kind == LIC_RAW_PARTIAL && !resolve_partial(s, items[i].body))
            return false;
    for (size_t i = 0; i < s->partial_count; i++)
        if (s->partials[i].first_waiting != NULL)
            return fail_unresolved(s);
    return true;
}

static bool check_definition_entries(splicer *s, const lic_raw_body *body)
{
    for (size_t i = 0; i < body->entry_count; i++) {
        const lic_raw_entry *entry = &body->entries[i];

        if (lic_str_given(entry->reference)) {
            partial_name *name = find_partial(s, entry->reference);

            if (name == NULL)
                return false;
            if (!name->known)
                return lic_parser_fail(s->p, LICET_KIND_NAME, entry->member.place, "there is no partial %Q",
                                       &entry->reference);
        } else if (!check_entry(s->p, entry)) {
            return false;
        }
    }
    return true;
}

static bool splice_definition(splicer *s, const lic_raw_body *body, lic_ast_item *item)
{
    lic_ast_definition *definition = lic_new(s->p->arena, lic_ast_definition);

    if (definition == NULL)
        return lic_parser_memory_failed(s->p);
    if (!check_definition_entries(s, body))
        return false;
    if (!lic_is_definition_name(body->name))
        return fail_name(s->p, body->place, "the definition's name", &body->name, type_rule);
    definition->place         = body->place;
    definition->name          = body->name;
    definition->comments      = body->comments;
    definition->comment_count = body->comment_count;
    item->definition          = definition;
    s->p->ast->definition_count++;
    return fill_in(s, body, &definition->members, &definition->member_count);
}

static bool fail_parameter(lic_parser *p, const lic_str *caveat, const lic_raw_fault *fault)
{
    switch (fault->kind) {
    case LIC_PARAMETER_UNKNOWN_TYPE:
        return lic_parser_fail(p, LICET_KIND_TYPE, fault->place, "parameter %Q of caveat %Q: there is no type %Q",
                               &fault->parameter, caveat, &fault->type_name);
    case LIC_PARAMETER_ARGUMENTS:
        return lic_parser_fail(p, LICET_KIND_TYPE, fault->place,
                               "parameter %Q of caveat %Q: the type %Q takes 1 type in \"<>\", found %zu",
                               &fault->parameter, caveat, &fault->type_name, fault->found);
    case LIC_PARAMETER_REPEATED:
    case LIC_PARAMETER_SOUND:
        break;
    }
    return lic_parser_fail(p, LICET_KIND_NAME, fault->place, "caveat %Q has two parameters %Q", caveat,
                           &fault->parameter);
}

static bool splice_caveat(lic_parser *p, lic_raw_caveat *raw, lic_ast_item *item)
{
    lic_ast_caveat *caveat = lic_new(p->arena, lic_ast_caveat);

    if (caveat == NULL)
        return lic_parser_memory_failed(p);
    *caveat      = raw->caveat;
    item->caveat = caveat;
    p->ast->caveat_count++;
    if (caveat->parameter_count == 0)
        return lic_parser_fail(p, LICET_KIND_SYNTAX, caveat->place, "caveat %Q must have at least one parameter",
                               &caveat->name);
    if (raw->fault.kind != LIC_PARAMETER_SOUND)
        return fail_parameter(p, &caveat->name, &raw->fault);
    if (!lic_str_given(caveat->body))
        return lic_parser_fail(p, LICET_KIND_SYNTAX, caveat->place,
                               "caveat %Q is not finished: its expression is "
                               "missing",
                               &caveat->name);
    return lic_parser_check_expression(p, caveat) && (!p->strict || lic_parser_check_escapes(p, caveat));
}

/* Definitions and caveats share one set of names, and partials must differ from both. */
static bool check_unique(splicer *s, const lic_raw_item *item, lic_place place, lic_str name)
{
    const char *what    = item->kind == LIC_RAW_CAVEAT ? "caveat" : "definition";
    uint32_t    partial = lic_map_find(&s->partial_map, name);
    uint32_t    index   = (uint32_t)s->item_map.count;
    uint32_t    found;

    if (!lic_map_add(&s->item_map, name, index, &found))
        return lic_parser_memory_failed(s->p);
    if (found != index)
        return lic_parser_fail(s->p, LICET_KIND_NAME, place, "there is another definition or caveat called %Q", &name);
    if (partial != LIC_MAP_NONE && s->partials[partial].known)
        return lic_parser_fail(s->p, LICET_KIND_NAME, place, "the %s %Q has the name of a partial", what, &name);
    return true;
}

static bool splice_item(splicer *s, const lic_raw_item *raw, lic_ast_item *item)
{
    if (raw->kind == LIC_RAW_CAVEAT)
        return splice_caveat(s->p, raw->caveat, item) && check_unique(s, raw, item->caveat->place, item->caveat->name);
    return splice_definition(s, raw->body, item) &&
           check_unique(s, raw, item->definition->place, item->definition->name);
}

static bool splice_items(splicer *s, const lic_raw_item *items, size_t count)
{
    lic_ast *ast = s->p->ast;

    ast->items = lic_new_array(s->p->arena, count, lic_ast_item);
    if (ast->items == NULL && count > 0)
        return lic_parser_memory_failed(s->p);
    for (size_t i = 0; i < count; i++)
        if (items[i].kind != LIC_RAW_PARTIAL && !splice_item(s, &items[i], &ast->items[ast->item_count++]))
            return false;
    return true;
}

/* SpiceDB throws annotations away unless some file says `use typechecking`. */
static void drop_annotations(lic_ast *ast)
{
    for (size_t i = 0; i < ast->item_count; i++) {
        lic_ast_definition *definition = ast->items[i].definition;

        for (size_t j = 0; definition != NULL && j < definition->member_count; j++) {
            definition->members[j].annotated        = false;
            definition->members[j].annotations      = NULL;
            definition->members[j].annotation_count = 0;
        }
    }
}

bool lic_splice(lic_parser *p, const lic_raw_item *items, size_t count)
{
    splicer s = { .p = p };
    bool    done;

    lic_map_init(&s.partial_map, p->scratch.memory, lic_random_key());
    lic_map_init(&s.item_map, p->scratch.memory, lic_random_key());
    done = resolve_partials(&s, items, count) && splice_items(&s, items, count);
    if (done && !p->ast->typechecking)
        drop_annotations(p->ast);
    lic_map_free(&s.item_map);
    lic_map_free(&s.partial_map);
    return done;
}
