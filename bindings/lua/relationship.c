/* licet.Relationship: a table, because that is what Lua code reads and makes most easily. The engine takes any table
 * with these fields for one; those that come from here can be printed and compared besides. */
#include "relationship.h"

#include <string.h>

#include "buffer.h"
#include "convert.h"
#include "error.h"

static const type relationship_type = { "licet.Relationship" };

static void set_field(lua_State *L, const char *name, licet_str value)
{
    if (value.data == NULL)
        return;
    lua_pushlstring(L, value.data, value.size);
    lua_setfield(L, -2, name);
}

void relationship_push(lua_State *L, const licet_relationship *relationship)
{
    lua_createtable(L, 0, 6);
    set_field(L, "resource_type", relationship->resource_type);
    set_field(L, "resource_id", relationship->resource_id);
    set_field(L, "relation", relationship->relation);
    set_field(L, "subject_type", relationship->subject_type);
    set_field(L, "subject_id", relationship->subject_id);
    set_field(L, "subject_relation", relationship->subject_relation);
    set_field(L, "caveat_name", relationship->caveat_name);
    set_field(L, "caveat_context", relationship->caveat_context);
    set_field(L, "expiration", relationship->expiration);
    type_set(L, &relationship_type);
}

void relationship_push_text(lua_State *L, licet_str text)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_error       *error        = NULL;

    if (licet_relationship_parse(text, &relationship, &error) == LICET_OK) {
        relationship_push(L, &relationship);
        return;
    }
    licet_error_free(error);
    lua_pushlstring(L, text.data, text.size);
}

/* parse_relationship(text, {strict = ...}) -> relationship | nil, err */
int relationship_parse(lua_State *L)
{
    static const field fields[]     = { { "strict", FIELD_BOOLEAN, 0 } };
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_error       *error        = NULL;
    bool               strict       = false;
    licet_str          text;
    licet_status       status;

    lua_settop(L, 2);
    text = str_from_lua(L, 1);
    options_read(L, 2, fields, sizeof fields / sizeof *fields, &strict);
    status = strict ? licet_relationship_parse_strict(text, &relationship, &error)
                    : licet_relationship_parse(text, &relationship, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    relationship_push(L, &relationship); /* views of argument 1 */
    return 1;
}

/* The text of argument 1: text, or nil and the error. */
int relationship_format(lua_State *L)
{
    licet_relationship relationship;
    licet_buffer      *buffer;
    reader             r     = READER_INIT(L, 1);
    licet_error       *error = NULL;
    licet_status       status;

    luaL_checkany(L, 1);
    buffer = buffer_new(L);
    if (!relationship_from_lua(&r, 1, &relationship))
        return push_error(L, r.status, r.error);
    status = licet_relationship_format(&relationship, buffer, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    buffer_push_text(L, buffer);
    return 1;
}

/* ------------------------------------------------------------------- metamethods */

static int relationship_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (relationship_format(L) == 1)
        return 1;
    return lua_error(L); /* tostring() has no other way to say that there is no text for these fields */
}

static bool same(licet_str a, licet_str b)
{
    if (a.data == NULL || b.data == NULL)
        return a.data == b.data;
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static int relationship_eq(lua_State *L)
{
    licet_relationship a = LICET_RELATIONSHIP_INIT;
    licet_relationship b = LICET_RELATIONSHIP_INIT;
    reader             r = READER_INIT(L, 1);

    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    (void)relationship_from_lua(&r, 1, &a); /* a table is never refused by the core: it raises or is read */
    r.arg = 2;
    (void)relationship_from_lua(&r, 2, &b);
    lua_pushboolean(L, same(a.resource_type, b.resource_type) && same(a.resource_id, b.resource_id) &&
                           same(a.relation, b.relation) && same(a.subject_type, b.subject_type) &&
                           same(a.subject_id, b.subject_id) && same(a.subject_relation, b.subject_relation) &&
                           same(a.caveat_name, b.caveat_name) && same(a.caveat_context, b.caveat_context) &&
                           same(a.expiration, b.expiration));
    return 1;
}

/* Pushes a field of argument 1, or the empty text, with `mark` before it if there is one. */
static void push_part(lua_State *L, const char *mark, const char *name)
{
    lua_pushstring(L, name);
    lua_rawget(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
        lua_pushstring(L, mark);
        lua_insert(L, -2);
        lua_concat(L, 2);
    } else {
        lua_pop(L, 1);
        lua_pushliteral(L, "");
    }
}

/* resource and subject, as checks take them; the methods; nil for fields that are not set. */
static int relationship_index(lua_State *L)
{
    const char *name = lua_tostring(L, 2);

    luaL_checktype(L, 1, LUA_TTABLE);
    if (name == NULL)
        return 0;
    if (strcmp(name, "resource") == 0) {
        push_part(L, "", "resource_type");
        push_part(L, ":", "resource_id");
        lua_concat(L, 2);
    } else if (strcmp(name, "subject") == 0) {
        push_part(L, "", "subject_type");
        push_part(L, ":", "subject_id");
        push_part(L, "#", "subject_relation");
        lua_concat(L, 3);
    } else if (strcmp(name, "format") == 0) {
        lua_pushcfunction(L, relationship_format);
    } else {
        return 0;
    }
    return 1;
}

static const luaL_Reg metamethods[] = {
    { "__index", relationship_index },
    { "__eq", relationship_eq },
    { "__tostring", relationship_tostring },
    { NULL, NULL },
};

void relationship_register(lua_State *L)
{
    type_register(L, &relationship_type, metamethods, NULL);
}
