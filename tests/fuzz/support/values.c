#include "values.h"

#include "caveat/convert.h"

static const lic_caveat_type types[] = {
    { LIC_CAVEAT_ANY, NULL },       { LIC_CAVEAT_INT, NULL },       { LIC_CAVEAT_UINT, NULL },
    { LIC_CAVEAT_DOUBLE, NULL },    { LIC_CAVEAT_STRING, NULL },    { LIC_CAVEAT_BOOL, NULL },
    { LIC_CAVEAT_BYTES, NULL },     { LIC_CAVEAT_TIMESTAMP, NULL }, { LIC_CAVEAT_DURATION, NULL },
    { LIC_CAVEAT_IPADDRESS, NULL }, { LIC_CAVEAT_LIST, &types[1] }, { LIC_CAVEAT_MAP, &types[0] },
};

#define PARAMETER(name, type)               \
    {                                       \
        LICET_STR_INIT(name), &types[type], \
        {                                   \
            NULL, 0                         \
        }                                   \
    }

const lic_cel_parameter fuzz_parameters[PARAMETERS] = {
    PARAMETER("x", 1), PARAMETER("n", 2), PARAMETER("f", 3), PARAMETER("s", 4), PARAMETER("b", 5),  PARAMETER("y", 6),
    PARAMETER("t", 7), PARAMETER("u", 8), PARAMETER("i", 9), PARAMETER("d", 0), PARAMETER("l", 10), PARAMETER("m", 11),
};

const char *const fuzz_type_names[PARAMETERS] = {
    "int",       "uint",     "double",    "string", "bool",      "bytes",
    "timestamp", "duration", "ipaddress", "any",    "list<int>", "map<any>",
};

void values_of(lic_arena *arena, const lic_context_values *object, bool strict, lic_cel_value *values, uint64_t *given,
               uint64_t *refused)
{
    *given   = 0;
    *refused = 0;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const lic_cel_parameter *parameter = &fuzz_parameters[i];
        const lic_cel_value     *value     = lic_context_find(object, parameter->name);
        lic_cel_value            converted;

        values[i] = (lic_cel_value){ .kind = LIC_CEL_UNKNOWN };
        if (value == NULL)
            continue;
        if (lic_cel_convert_parameter(arena, parameter->name, parameter->type, value, strict, &converted, NULL) ==
            LICET_OK) {
            values[i] = converted;
            *given |= UINT64_C(1) << i;
        } else {
            *refused |= UINT64_C(1) << i;
        }
    }
}
