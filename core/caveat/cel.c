/* The stages of compiling, one after the other; each leaves its work in one scratch arena. */
#include "caveat/cel.h"

#include "caveat/checker.h"
#include "caveat/compiler.h"
#include "caveat/parser.h"
#include "caveat/unparse.h"

/* SpiceDB declares types as variables of the expression, next to the parameters, so no parameter may be called like
 * one. (In the newest cel-go the parameter wins.) */
static bool is_type_name(lic_str name)
{
    static const lic_str types[] = {
        LICET_STR_INIT("bool"), LICET_STR_INIT("bytes"), LICET_STR_INIT("double"),    LICET_STR_INIT("int"),
        LICET_STR_INIT("list"), LICET_STR_INIT("map"),   LICET_STR_INIT("null_type"), LICET_STR_INIT("string"),
        LICET_STR_INIT("type"), LICET_STR_INIT("uint"),
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (lic_str_equal(name, types[i]))
            return true;
    }
    return false;
}

static licet_status declare(lic_arena *arena, const lic_cel_parameter *parameter, lic_cel_variable *variable,
                            licet_error **error)
{
    bool memory_failed = false;

    if (is_type_name(parameter->name))
        return lic_fail(error, LICET_SCHEMA_ERROR, LICET_KIND_NAME, LIC_NOWHERE,
                        "a parameter can not be called %Q: that is the name of a type", &parameter->name);
    variable->name = parameter->name;
    if (parameter->type != NULL) {
        variable->type = lic_cel_type_of(arena, parameter->type);
        return variable->type == NULL ? lic_fail_memory(error) : LICET_OK;
    }
    if (lic_cel_type_parse(arena, parameter->spelling, &variable->type, &memory_failed))
        return LICET_OK;
    return memory_failed ? lic_fail_memory(error)
                         : lic_fail(error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, LIC_NOWHERE, "there is no type %Q",
                                    &parameter->spelling);
}

static licet_status declare_all(lic_arena *arena, const lic_cel_source *source, lic_cel_variable **variables,
                                licet_error **error)
{
    licet_status status = LICET_OK;

    if (source->parameter_count > LIC_CEL_MAX_PARAMETERS)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "a caveat has %zu parameters; at most %d are allowed", source->parameter_count,
                        LIC_CEL_MAX_PARAMETERS);
    *variables = lic_new_array(arena, source->parameter_count, lic_cel_variable);
    if (*variables == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < source->parameter_count && status == LICET_OK; i++)
        status = declare(arena, &source->parameters[i], &(*variables)[i], error);
    return status;
}

static licet_status refuse_result(lic_arena *arena, const lic_cel_type *type, licet_error **error)
{
    lic_text     text;
    licet_status status;

    lic_text_init(&text, arena->memory);
    lic_cel_type_print(type, &text);
    status = text.failed
                 ? lic_fail_memory(error)
                 : lic_fail(error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, (lic_position){ 1, 1 },
                            "a caveat must result in a bool, and this one results in %.*s", (int)text.size, text.data);
    lic_text_free(&text);
    return status;
}

/* What lic_cel_compile and lic_cel_format share: a checked tree in the arena. */
static licet_status check_source(lic_arena *arena, const lic_cel_source *source, lic_cel_variable **variables,
                                 lic_cel_node **root, licet_error **error)
{
    const lic_cel_type *type;
    licet_status        status;

    LIC_TRY(declare_all(arena, source, variables, error));
    LIC_TRY(lic_cel_parse(arena, source->text, root, error));
    LIC_TRY(lic_cel_check(arena, source->text, *root, *variables, source->parameter_count, &type, error));
    if (source->must_be_bool && type->kind != LIC_CEL_TYPE_BOOL)
        status = refuse_result(arena, type, error);
done:
    return status;
}

licet_status lic_cel_compile(lic_memory *memory, const lic_cel_source *source, lic_cel **cel, uint64_t *used,
                             licet_error **error)
{
    lic_arena         arena;
    lic_cel_node     *root;
    lic_cel_variable *variables = NULL;
    uint64_t          found;
    licet_status      status;

    if (cel != NULL)
        *cel = NULL;
    if (used != NULL)
        *used = 0;
    lic_arena_init(&arena, memory);
    LIC_TRY(check_source(&arena, source, &variables, &root, error));
    if (!lic_cel_find_used(&arena, root, variables, source->parameter_count, &found) ||
        (cel != NULL && !lic_cel_emit(memory, &arena, root, source->parameter_count, cel)))
        status = lic_fail_memory(error);
    else if (used != NULL)
        *used = found;
done:
    lic_arena_free(&arena);
    return status;
}

licet_status lic_cel_format(lic_memory *memory, const lic_cel_source *source, lic_text *out, licet_error **error)
{
    lic_arena         arena;
    lic_cel_node     *root;
    lic_cel_variable *variables = NULL;
    licet_status      status;

    lic_arena_init(&arena, memory);
    LIC_TRY(check_source(&arena, source, &variables, &root, error));
    if (!lic_cel_unparse(&arena, root, out))
        status = lic_fail_memory(error);
done:
    lic_arena_free(&arena);
    return status;
}
