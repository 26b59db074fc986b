/* Evaluation: an expression, a line end, a context as JSON. Whatever compiles runs within its budget, twice with the
 * same answer; a parameter more can make an unknown answer known, but never change a known one. */
#include <stdlib.h>

#include "caveat/cel.h"
#include "caveat/convert.h"
#include "caveat/json.h"

#define PARAMETERS 12

static const lic_caveat_type any     = { LIC_CAVEAT_ANY, NULL };
static const lic_caveat_type integer = { LIC_CAVEAT_INT, NULL };
static const lic_caveat_type types[] = {
    { LIC_CAVEAT_INT, NULL },       { LIC_CAVEAT_UINT, NULL },     { LIC_CAVEAT_DOUBLE, NULL },
    { LIC_CAVEAT_STRING, NULL },    { LIC_CAVEAT_BOOL, NULL },     { LIC_CAVEAT_BYTES, NULL },
    { LIC_CAVEAT_TIMESTAMP, NULL }, { LIC_CAVEAT_DURATION, NULL }, { LIC_CAVEAT_IPADDRESS, NULL },
    { LIC_CAVEAT_ANY, NULL },       { LIC_CAVEAT_LIST, &integer }, { LIC_CAVEAT_MAP, &any },
};
static const char        names[PARAMETERS + 1] = "xnfsbytuidlm";
static lic_cel_parameter parameters[PARAMETERS];

static void bind(lic_arena *arena, const lic_cel_map *object, lic_cel_value *values)
{
    for (size_t i = 0; i < object->count; i++) {
        for (size_t p = 0; p < PARAMETERS; p++) {
            lic_cel_value value;

            if (lic_str_equal(object->entries[i].key.text, parameters[p].name) &&
                lic_cel_convert_parameter(arena, parameters[p].name, parameters[p].type, &object->entries[i].value,
                                          false, &value, NULL) == LICET_OK)
                values[p] = value;
        }
    }
}

/* The kind of the result; UNKNOWN + 16: the budget ran out. *boolean: of a bool. */
static unsigned evaluate(const lic_cel *cel, const lic_cel_value *values, lic_memory *memory, bool *boolean)
{
    lic_cel_budget budget = { 20000, 1 << 18 };
    lic_arena      arena;
    lic_cel_value  result;
    const char    *limit;
    bool           ran;

    lic_arena_init(&arena, memory);
    ran      = lic_cel_evaluate(cel, values, &arena, &budget, &result, &limit);
    *boolean = ran && result.kind == LIC_CEL_BOOL && result.boolean;
    if (!ran && limit == NULL)
        abort();
    lic_arena_free(&arena);
    return ran ? (unsigned)result.kind : LIC_CEL_UNKNOWN + 16u;
}

static void run(lic_memory *memory, lic_arena *arena, const lic_cel *cel, lic_str context)
{
    lic_cel_value unknown[PARAMETERS];
    lic_cel_value values[PARAMETERS];
    lic_cel_value object;
    bool          without;
    bool          with;
    bool          again;
    unsigned      kind_without;
    unsigned      kind_with;

    for (size_t i = 0; i < PARAMETERS; i++)
        unknown[i] = values[i] = (lic_cel_value){ .kind = LIC_CEL_UNKNOWN };
    if (lic_cel_json_read(arena, context, false, &object, NULL) == LICET_OK)
        bind(arena, object.map, values);
    kind_without = evaluate(cel, unknown, memory, &without);
    kind_with    = evaluate(cel, values, memory, &with);
    if (evaluate(cel, values, memory, &again) != kind_with || again != with)
        abort();
    if (kind_without == LIC_CEL_BOOL && kind_with == LIC_CEL_BOOL && with != without)
        abort();
}

static void name_parameters(void)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        parameters[i].name = (lic_str){ names + i, 1 };
        parameters[i].type = &types[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str        text   = { (const char *)data, size };
    size_t         end    = lic_str_find(text, '\n');
    lic_cel_source source = { .text            = lic_str_slice(text, 0, end),
                              .parameters      = parameters,
                              .parameter_count = PARAMETERS };
    lic_memory     memory;
    lic_arena      arena;
    lic_cel       *cel;

    name_parameters();
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    if (lic_cel_compile(&memory, &source, &cel, NULL, NULL) == LICET_OK)
        run(&memory, &arena, cel, end < size ? lic_str_slice(text, end + 1, size) : LIC_STR("{}"));
    lic_cel_free(cel);
    lic_arena_free(&arena);
    if (memory.used != 0)
        abort();
    return 0;
}
