/* The JSON border: any bytes are read or refused; what is read converts into every type or is refused, and a strict reader
 * takes nothing that a lax one does not. */
#include <stdlib.h>

#include "caveat/convert.h"
#include "caveat/json.h"

static const lic_caveat_type any       = { LIC_CAVEAT_ANY, NULL };
static const lic_caveat_type list      = { LIC_CAVEAT_LIST, &any };
static const lic_caveat_type map       = { LIC_CAVEAT_MAP, &list };
static const lic_caveat_type scalars[] = {
    { LIC_CAVEAT_ANY, NULL },       { LIC_CAVEAT_BOOL, NULL },     { LIC_CAVEAT_STRING, NULL },
    { LIC_CAVEAT_INT, NULL },       { LIC_CAVEAT_UINT, NULL },     { LIC_CAVEAT_DOUBLE, NULL },
    { LIC_CAVEAT_BYTES, NULL },     { LIC_CAVEAT_DURATION, NULL }, { LIC_CAVEAT_TIMESTAMP, NULL },
    { LIC_CAVEAT_IPADDRESS, NULL }, { LIC_CAVEAT_LIST, &any },     { LIC_CAVEAT_MAP, &any },
    { LIC_CAVEAT_MAP, &list },      { LIC_CAVEAT_LIST, &map },
};

static bool convert(lic_arena *arena, const lic_caveat_type *type, const lic_cel_value *value, bool strict)
{
    licet_error  *error = NULL;
    lic_cel_value result;
    bool taken = lic_cel_convert_parameter(arena, LIC_STR("p"), type, value, strict, &result, &error) == LICET_OK;

    if (taken != (error == NULL))
        abort();
    licet_error_free(error);
    return taken;
}

static void convert_all(lic_arena *arena, const lic_cel_map *object)
{
    for (size_t i = 0; i < object->count; i++) {
        for (size_t type = 0; type < sizeof scalars / sizeof scalars[0]; type++) {
            bool lax = convert(arena, &scalars[type], &object->entries[i].value, false);

            if (convert(arena, &scalars[type], &object->entries[i].value, true) && !lax)
                abort();
        }
    }
}

static bool read(lic_arena *arena, lic_str text, bool strict, lic_cel_value *object)
{
    licet_error *error = NULL;
    bool         taken = lic_cel_json_read(arena, text, strict, object, &error) == LICET_OK;

    if (taken != (error == NULL) || taken != (object->kind == LIC_CEL_MAP))
        abort();
    licet_error_free(error);
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str       text = { (const char *)data, size };
    lic_memory    memory;
    lic_arena     arena;
    lic_cel_value object;
    bool          strict;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    strict = read(&arena, text, true, &object);
    if (read(&arena, text, false, &object))
        convert_all(&arena, object.map);
    else if (strict)
        abort();
    lic_arena_free(&arena);
    if (memory.used != 0)
        abort();
    return 0;
}
