/* licet.Result: the answer to one check.
 *
 * It keeps the core's record as it is and makes Lua values only when somebody asks for them: most callers want one bit.
 * The token needs the engine, so the result is one of its holders, whatever becomes of the engine's own box. */
#include "result.h"

#include <string.h>

#include "error.h"

static const type result_type = { "licet.Result" };

/* By licet_permissionship. */
static const char *const permissionships[] = { "no_permission", "has_permission", "conditional" };

result_box *result_new(lua_State *L)
{
    result_box *box = box_new(L, sizeof *box, &result_type);

    box->answer = (licet_result)LICET_RESULT_INIT;
    return box;
}

void result_fill(result_box *box, const engine_box *engine, licet_result *result)
{
    box->answer = *result;
    *result     = (licet_result)LICET_RESULT_INIT;
    engine_keep(&box->keeper, engine);
}

void result_push_copy(lua_State *L, const engine_box *engine, const licet_result *result)
{
    result_box *box = result_new(L);

    if (result->status != LICET_OK) {
        result_set_error(L, result->status, result->error);
        return;
    }
    if (result->missing_count > 0) {
        texts_push(L, result->missing, result->missing_count);
        lua_settable_of(L, -2);
        box->listed = true;
    }
    box->answer.revision       = result->revision;
    box->answer.permissionship = result->permissionship;
    engine_keep(&box->keeper, engine);
}

void result_set_error(lua_State *L, licet_status status, const licet_error *error)
{
    result_box *box = lua_touserdata(L, -1);

    error_push(L, status, error);
    lua_settable_of(L, -2);
    box->answer.status         = status;
    box->answer.permissionship = LICET_NO_PERMISSION;
}

static result_box *result_from_lua(lua_State *L)
{
    return box_check(L, 1, &result_type);
}

/* "no_permission" for whatever else a record might hold. */
static const char *name_of(licet_permissionship permissionship)
{
    unsigned number = (unsigned)permissionship;

    return permissionships[number < sizeof permissionships / sizeof *permissionships ? number : 0];
}

void permissionship_push(lua_State *L, licet_permissionship permissionship)
{
    lua_pushstring(L, name_of(permissionship));
}

void texts_push(lua_State *L, const licet_str *texts, size_t count)
{
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(L, texts[i].data, texts[i].size);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static void push_token(lua_State *L, const result_box *box)
{
    licet_token token = { { 0 } };

    licet_result_token(box->keeper.engine, &box->answer, &token);
    if (token.text[0] == '\0')
        lua_pushnil(L);
    else
        lua_pushstring(L, token.text);
}

/* A list of its own for everybody who asks. */
static void push_missing(lua_State *L, const result_box *box)
{
    if (!box->listed) {
        texts_push(L, box->answer.missing, box->answer.missing_count);
        return;
    }
    lua_newtable(L);
    lua_gettable_of(L, 1);
    for (int i = 1; i <= (int)lua_rawlen(L, -1); i++) {
        lua_rawgeti(L, -1, i);
        lua_rawseti(L, -3, i);
    }
    lua_pop(L, 1);
}

static int result_index(lua_State *L)
{
    const result_box *box  = result_from_lua(L);
    const char       *name = lua_tostring(L, 2);

    if (name == NULL)
        return 0;
    if (strcmp(name, "allowed") == 0)
        lua_pushboolean(L, licet_result_allowed(&box->answer));
    else if (strcmp(name, "permissionship") == 0)
        permissionship_push(L, box->answer.permissionship);
    else if (strcmp(name, "missing_context") == 0)
        push_missing(L, box);
    else if (strcmp(name, "token") == 0)
        push_token(L, box);
    else if (strcmp(name, "error") == 0 && box->answer.status != LICET_OK)
        lua_gettable_of(L, 1);
    else
        return 0;
    return 1;
}

static int result_tostring(lua_State *L)
{
    const result_box *box = result_from_lua(L);

    if (box->answer.status != LICET_OK)
        lua_pushfstring(L, "licet.Result (%s)", licet_status_name(box->answer.status));
    else
        lua_pushfstring(L, "licet.Result (%s)", name_of(box->answer.permissionship));
    return 1;
}

static int result_gc(lua_State *L)
{
    result_box *box = result_from_lua(L);

    licet_result_clear(&box->answer);
    engine_let_go(&box->keeper);
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__index", result_index },
    { "__tostring", result_tostring },
    { "__gc", result_gc },
    { NULL, NULL },
};

void result_register(lua_State *L)
{
    type_register(L, &result_type, metamethods, NULL);
}

void result_set_constants(lua_State *L)
{
    lua_newtable(L);
    lua_pushstring(L, permissionships[LICET_NO_PERMISSION]);
    lua_setfield(L, -2, "NO_PERMISSION");
    lua_pushstring(L, permissionships[LICET_HAS_PERMISSION]);
    lua_setfield(L, -2, "HAS_PERMISSION");
    lua_pushstring(L, permissionships[LICET_CONDITIONAL_PERMISSION]);
    lua_setfield(L, -2, "CONDITIONAL");
    lua_setfield(L, -2, "Permissionship");
}
