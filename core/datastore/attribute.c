/* A context is kept twice: as the text that is read back, and as the values that caveats are given. */
#include "datastore/attribute.h"

#include "caveat/convert.h"
#include "datastore/context.h"

static size_t field_bytes(size_t size)
{
    size_t varint = 1;

    for (size_t rest = size; rest >= 128; rest >>= 7)
        varint++;
    return 1 + varint + size;
}

/* SpiceDB: of the message ContextualizedCaveat. */
static licet_status size_check(const char *field, lic_str name, const lic_context *context, licet_error **error)
{
    size_t size = field_bytes(name.size) + field_bytes(context->wire_bytes);

    if (size <= LIC_MAX_CONTEXT_BYTES)
        return LICET_OK;
    return lic_fail_reason(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAX_RELATIONSHIP_CONTEXT_SIZE", LIC_NOWHERE,
                           "%s: caveat and context are %zu bytes, more than the %d allowed", field, size,
                           LIC_MAX_CONTEXT_BYTES);
}

static licet_status keep_text(lic_arena *arena, const lic_context *context, lic_attribute *attribute,
                              licet_error **error)
{
    lic_text text;

    lic_text_init(&text, arena->memory);
    if (lic_context_print_values(&context->values, &text))
        attribute->context = lic_arena_str(arena, lic_text_str(&text));
    lic_text_free(&text);
    return lic_str_given(attribute->context) ? LICET_OK : lic_fail_memory(error);
}

static licet_status read_context(lic_arena *arena, const char *field, const licet_relationship *relationship,
                                 bool strict, lic_attribute *attribute, licet_error **error)
{
    lic_context *context;
    licet_status status;

    LIC_TRY(lic_context_new(arena->memory, relationship->caveat_context, strict, &context, error));
    attribute->payload = context;
    LIC_TRY(size_check(field, relationship->caveat_name, context, error));
    if (context->values.count > 0)
        LIC_TRY(keep_text(arena, context, attribute, error));
    else
        lic_attribute_end(attribute);
done:
    if (status != LICET_OK)
        lic_attribute_end(attribute);
    return status;
}

/* Callers have looked at the shape; but were a time unreadable after all, the relationship must not live for ever. */
static licet_status read_expiration(const char *field, lic_str text, lic_attribute *attribute, licet_error **error)
{
    lic_instant instant;

    if (!lic_instant_parse(text, &instant))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s%sexpected a time like 2030-01-02T03:04:05Z, not %Q", field, field[0] == '\0' ? "" : ": ",
                        &text);
    attribute->expires_at_s  = instant.seconds;
    attribute->expires_at_ns = instant.nanoseconds;
    return LICET_OK;
}

licet_status lic_attribute_read(lic_arena *arena, const char *field, const licet_relationship *relationship,
                                bool strict, lic_attribute *attribute, licet_error **error)
{
    licet_status status = LICET_OK;

    *attribute = (lic_attribute){ .expires_at_s = LIC_NEVER_EXPIRES, .caveat = LIC_NO_CAVEAT_NAME };
    if (lic_str_given(relationship->expiration))
        status = read_expiration(field, relationship->expiration, attribute, error);
    if (status == LICET_OK && lic_str_given(relationship->caveat_context))
        status = read_context(arena, field, relationship, strict, attribute, error);
    return status;
}

static const lic_caveat_parameter *find_parameter(const lic_caveat *caveat, lic_str name)
{
    for (size_t i = 0; i < caveat->parameter_count; i++) {
        if (lic_str_equal(caveat->parameters[i].name, name))
            return &caveat->parameters[i];
    }
    return NULL;
}

static licet_status value_check(lic_arena *arena, const lic_caveat *caveat, const lic_cel_entry *entry, bool strict,
                                licet_error **error)
{
    const lic_caveat_parameter *parameter = find_parameter(caveat, entry->key.text);
    lic_cel_value               value;

    if (parameter == NULL)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_NAME, LIC_NOWHERE,
                        "unknown parameter %Q: caveat `%.*s` has none of this name", &entry->key.text,
                        LIC_STR_ARG(caveat->name));
    return lic_cel_convert_parameter(arena, parameter->name, parameter->type, &entry->value, strict, &value, error);
}

licet_status lic_attribute_type(const lic_program *program, const licet_relationship *relationship, bool strict,
                                lic_attribute *attribute, licet_error **error)
{
    const lic_context *context = lic_attribute_context(attribute);
    licet_status       status  = LICET_OK;
    uint32_t           caveat;
    lic_arena          arena;

    if (!lic_str_given(relationship->caveat_name))
        return LICET_OK;
    caveat = lic_program_caveat(program, relationship->caveat_name);
    if (caveat == LIC_NO_CAVEAT) /* no number: stored, the relationship would be one without a caveat */
        return lic_fail_reason(error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_CAVEAT", LIC_NOWHERE,
                               "caveat with name %Q not found", &relationship->caveat_name);
    attribute->caveat = program->caveat_numbers[caveat];
    if (context == NULL)
        return LICET_OK;
    lic_arena_init(&arena, context->memory);
    for (size_t i = 0; i < context->values.count && status == LICET_OK; i++)
        status = value_check(&arena, &program->caveats[caveat], &context->values.entries[i], strict, error);
    lic_arena_free(&arena);
    return status;
}

void lic_attribute_end(lic_attribute *attribute)
{
    lic_context_free(attribute->payload);
    attribute->payload = NULL;
}

void lic_attribute_release_payload(void *context, void *payload)
{
    (void)context;
    lic_context_free(payload);
}
