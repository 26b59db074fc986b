/* luaopen_licet_core, the one symbol that leaves the module. */
#include "module.h"

#include <string.h>

#include "buffer.h"
#include "bulk.h"
#include "clock.h"
#include "consistency.h"
#include "context.h"
#include "database.h"
#include "engine.h"
#include "error.h"
#include "import.h"
#include "json.h"
#include "log.h"
#include "relationship.h"
#include "report.h"
#include "result.h"
#include "schema.h"
#include "stream.h"
#include "tree.h"

void type_push(lua_State *L, const type *type)
{
    lua_pushlightuserdata(L, (void *)type);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

/* The same; makes it the first time. A module that is loaded again, because somebody emptied package.loaded, must go on
 * with the metatables of the boxes that are there. */
static void metatable_get(lua_State *L, const type *type)
{
    type_push(L, type);
    if (!lua_isnil(L, -1))
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushlightuserdata(L, (void *)type);
    lua_pushvalue(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

void type_register(lua_State *L, const type *type, const luaL_Reg *metamethods, const luaL_Reg *methods)
{
    metatable_get(L, type);
    luaL_setfuncs(L, metamethods, 0);
    if (methods != NULL) {
        lua_newtable(L);
        luaL_setfuncs(L, methods, 0);
        lua_setfield(L, -2, "__index");
    }
    lua_pushstring(L, type->name);
    lua_setfield(L, -2, "__name");
    /* getmetatable() gives the name: a finalizer is nothing to call by hand. */
    lua_pushstring(L, type->name);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void type_set(lua_State *L, const type *type)
{
    type_push(L, type);
    lua_setmetatable(L, -2);
}

void *box_new(lua_State *L, size_t size, const type *type)
{
    void *box = lua_newuserdata(L, size);

    memset(box, 0, size);
    type_set(L, type);
    return box;
}

void *box_at(lua_State *L, int index, const type *type)
{
    void *box = lua_touserdata(L, index);
    bool  ours;

    if (box == NULL || !lua_getmetatable(L, index))
        return NULL;
    type_push(L, type);
    ours = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return ours ? box : NULL;
}

void *box_check(lua_State *L, int arg, const type *type)
{
    void *box = box_at(L, arg, type);

    if (box == NULL)
        luaL_typeerror(L, arg, type->name);
    return box;
}

size_t size_add(lua_State *L, size_t a, size_t b)
{
    if (b > SIZE_MAX - a)
        luaL_error(L, "not enough memory");
    return a + b;
}

size_t size_multiply(lua_State *L, size_t a, size_t b)
{
    if (a != 0 && b > SIZE_MAX / a)
        luaL_error(L, "not enough memory");
    return a * b;
}

void *records_new(lua_State *L, size_t count, size_t size)
{
    return lua_newuserdata(L, size_multiply(L, count, size));
}

static const luaL_Reg functions[] = {
    { "open", engine_open },
    { "migrate", database_migrate },
    { "doctor", database_doctor },
    { "at_least", consistency_at_least },
    { "at_exactly", consistency_at_exactly },
    { "parse_schema", schema_parse },
    { "parse_relationship", relationship_parse },
    { "format_relationship", relationship_format },
    { "validate", report_validate },
    { "array", context_array },
    { "context_text", context_text },
    { "manual_clock", clock_manual },
    { "failure", error_failure },
    { NULL, NULL },
};

LICET_API int luaopen_licet_core(lua_State *L);

int luaopen_licet_core(lua_State *L)
{
    luaL_checkversion(L);
    buffer_register(L);
    bulk_register(L);
    clock_register(L);
    context_register(L);
    engine_register(L);
    error_register(L);
    import_register(L);
    json_register(L);
    log_register(L);
    relationship_register(L);
    report_register(L);
    result_register(L);
    schema_register(L);
    stream_register(L);
    tree_register(L);

    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    consistency_set_constants(L);
    context_set_constants(L);
    result_set_constants(L);
    lua_pushstring(L, licet_version());
    lua_setfield(L, -2, "version");
    return 1;
}
