/* See sql/write.sql, sql/delete.sql and sql/schema.sql for who reads these. */
#include "datastore/postgres/request.h"

#include "caveat/type.h"

/* ,"key": or "key": behind a brace. */
static void add_key(lic_text *out, const char *key)
{
    if (out->size > 0 && !out->failed && out->data[out->size - 1] != '{')
        lic_text_add_char(out, ',');
    lic_text_add_char(out, '"');
    lic_text_add(out, (lic_str){ key, strlen(key) });
    lic_text_add_literal(out, "\":");
}

static void add_string(lic_text *out, const char *key, lic_str value)
{
    if (!lic_str_given(value))
        return;
    add_key(out, key);
    lic_text_add_json(out, value);
}

static void add_flag(lic_text *out, const char *key, bool value)
{
    add_key(out, key);
    lic_text_add(out, value ? LIC_STR("true") : LIC_STR("false"));
}

/* ------------------------------------------------------------ relationships */

static void add_filter(lic_text *out, const licet_filter *filter)
{
    lic_text_add_char(out, '{');
    add_string(out, "resource_type", filter->resource_type);
    add_string(out, "resource_id", filter->resource_id);
    add_string(out, "resource_id_prefix", filter->resource_id_prefix);
    add_string(out, "relation", filter->relation);
    add_string(out, "subject_type", filter->subject_type);
    add_string(out, "subject_id", filter->subject_id);
    add_string(out, "subject_relation", filter->subject_relation);
    lic_text_add_char(out, '}');
}

static void add_common(lic_text *out, const lic_store_write *write)
{
    add_key(out, "preconditions");
    lic_text_add_char(out, '[');
    for (size_t i = 0; i < write->expectation_count; i++) {
        lic_text_add(out, i == 0 ? LIC_STR("{") : LIC_STR(",{"));
        add_key(out, write->expectations[i].must_match ? "must_match" : "must_not_match");
        add_filter(out, &write->expectations[i].asked);
        lic_text_add_char(out, '}');
    }
    lic_text_add_char(out, ']');
    add_string(out, "metadata", write->metadata);
}

static void add_attribute(lic_text *out, const lic_names *names, const lic_attribute *attribute)
{
    if (attribute->caveat != LIC_NO_CAVEAT_NAME)
        add_string(out, "caveat_name", lic_names_caveat_name(names, attribute->caveat));
    if (attribute->context.size > 0)
        add_string(out, "caveat_context", attribute->context);
    if (attribute->expires_at_s == LIC_NEVER_EXPIRES)
        return;
    add_key(out, "expiration");
    lic_text_add_char(out, '"');
    lic_instant_print((lic_instant){ attribute->expires_at_s, attribute->expires_at_ns }, out);
    lic_text_add_char(out, '"');
}

static void add_relationship(lic_text *out, const lic_names *names, const lic_store_change *change)
{
    const lic_slot resource      = change->typed.resource;
    const lic_slot subject       = change->typed.subject;
    const lic_type resource_type = lic_names_type_of(names, resource);
    const lic_type subject_type  = lic_names_type_of(names, subject);

    lic_text_add_char(out, '{');
    add_string(out, "resource_type", lic_names_type_name(names, resource_type));
    add_string(out, "resource_id", change->resource_id);
    add_string(out, "relation", lic_names_relation_name(names, resource));
    add_string(out, "subject_type", lic_names_type_name(names, subject_type));
    add_string(out, "subject_id", change->subject_id);
    if (subject != lic_names_ellipsis(names, subject_type))
        add_string(out, "subject_relation", lic_names_relation_name(names, subject));
    if (change->operation != LICET_DELETE)
        add_attribute(out, names, &change->attribute);
    lic_text_add_char(out, '}');
}

static lic_str operation_name(licet_operation operation)
{
    switch (operation) {
    case LICET_CREATE:
        return LIC_STR("create");
    case LICET_TOUCH:
        return LIC_STR("touch");
    case LICET_DELETE:
        break;
    }
    return LIC_STR("delete");
}

void lic_pg_request_write(lic_text *out, const lic_names *names, const lic_store_write *write,
                          const lic_store_change *changes, size_t count)
{
    lic_text_add_literal(out, "{\"updates\":[");
    for (size_t i = 0; i < count && !out->failed; i++) {
        lic_text_add(out, i == 0 ? LIC_STR("{") : LIC_STR(",{"));
        add_string(out, "operation", operation_name(changes[i].operation));
        add_key(out, "relationship");
        add_relationship(out, names, &changes[i]);
        lic_text_add_char(out, '}');
    }
    lic_text_add_char(out, ']');
    add_common(out, write);
    lic_text_add_char(out, '}');
}

void lic_pg_request_erase(lic_text *out, const lic_store_write *write, const lic_store_erasure *erasure)
{
    lic_text_add_literal(out, "{\"filter\":");
    add_filter(out, &erasure->asked);
    add_key(out, "limit");
    lic_text_add_u64(out, erasure->limit);
    add_flag(out, "allow_partial", erasure->allow_partial);
    add_common(out, write);
    lic_text_add_char(out, '}');
}

/* ------------------------------------------------------------ schemas */

static void add_allowed(lic_text *out, const lic_program *program, const lic_allowed *allowed)
{
    const lic_definition  *definition = &program->definitions[allowed->definition];
    const lic_slot_meaning meaning    = lic_program_slot(program, allowed->slot);

    lic_text_add_char(out, '{');
    add_string(out, "type", definition->name);
    if (!allowed->wildcard && meaning.relation != LIC_NO_REL)
        add_string(out, "relation", program->relations[meaning.relation].name);
    add_flag(out, "wildcard", allowed->wildcard);
    if (allowed->caveat != LIC_NO_CAVEAT)
        add_string(out, "caveat", program->caveats[allowed->caveat].name);
    add_flag(out, "expiration", allowed->expiration);
    lic_text_add_char(out, '}');
}

static void add_relation(lic_text *out, const lic_program *program, const lic_relation *relation)
{
    lic_text_add_char(out, '{');
    add_string(out, "name", relation->name);
    add_key(out, "allowed");
    lic_text_add_char(out, '[');
    for (uint32_t i = 0; i < relation->allowed_count && !out->failed; i++) {
        if (i > 0)
            lic_text_add_char(out, ',');
        add_allowed(out, program, &program->allowed[relation->first_allowed + i]);
    }
    lic_text_add_literal(out, "]}");
}

/* Its relations as objects, or its permissions as names. */
static void add_relations(lic_text *out, const lic_program *program, const lic_definition *definition,
                          bool of_permissions)
{
    bool is_first = true;

    lic_text_add_char(out, '[');
    for (uint32_t i = 0; i < definition->relation_count && !out->failed; i++) {
        const lic_relation *relation = &program->relations[definition->first_relation + i];

        if (relation->is_permission != of_permissions)
            continue;
        if (!is_first)
            lic_text_add_char(out, ',');
        is_first = false;
        if (of_permissions)
            lic_text_add_json(out, relation->name);
        else
            add_relation(out, program, relation);
    }
    lic_text_add_char(out, ']');
}

static void add_definition(lic_text *out, const lic_program *program, const lic_definition *definition)
{
    lic_text_add_char(out, '{');
    add_string(out, "name", definition->name);
    add_key(out, "relations");
    add_relations(out, program, definition, false);
    add_key(out, "permissions");
    add_relations(out, program, definition, true);
    lic_text_add_char(out, '}');
}

static void add_type(lic_text *out, const lic_caveat_type *type)
{
    add_key(out, "type");
    lic_text_add_char(out, '"');
    lic_caveat_type_print(type, out); /* letters and angle brackets */
    lic_text_add_char(out, '"');
}

static void add_caveat(lic_text *out, const lic_caveat *caveat)
{
    lic_text_add_char(out, '{');
    add_string(out, "name", caveat->name);
    add_key(out, "parameters");
    lic_text_add_char(out, '[');
    for (size_t i = 0; i < caveat->parameter_count && !out->failed; i++) {
        lic_text_add(out, i == 0 ? LIC_STR("{") : LIC_STR(",{"));
        add_string(out, "name", caveat->parameters[i].name);
        add_type(out, caveat->parameters[i].type);
        lic_text_add_char(out, '}');
    }
    lic_text_add_literal(out, "]}");
}

void lic_pg_request_schema(lic_text *out, const licet_schema *schema)
{
    const lic_program *program = schema->program;

    lic_text_add_char(out, '{');
    add_string(out, "text", schema->text);
    add_key(out, "definitions");
    lic_text_add_char(out, '[');
    for (size_t i = 0; i < program->definition_count && !out->failed; i++) {
        if (i > 0)
            lic_text_add_char(out, ',');
        add_definition(out, program, &program->definitions[i]);
    }
    lic_text_add_char(out, ']');
    add_key(out, "caveats");
    lic_text_add_char(out, '[');
    for (size_t i = 0; i < program->caveat_count && !out->failed; i++) {
        if (i > 0)
            lic_text_add_char(out, ',');
        add_caveat(out, &program->caveats[i]);
    }
    lic_text_add_literal(out, "]}");
}
