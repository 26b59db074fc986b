/* licet.Schema: a checked schema. Immutable, shared with the engine it came from, usable after that is closed. Nothing
 * but the finalizer empties the box, so views of it live as long as the userdata is on the stack. */
#include "schema.h"

#include <string.h>

#include "buffer.h"
#include "convert.h"
#include "error.h"

static const type schema_type = { "licet.Schema" };

schema_box *schema_new(lua_State *L)
{
    return box_new(L, sizeof(schema_box), &schema_type);
}

static licet_schema *schema_from_lua(lua_State *L)
{
    const schema_box *box = box_check(L, 1, &schema_type);

    return box->schema;
}

/* parse_schema(text, {folder = ..., strict = ...}) -> schema | nil, err */
int schema_parse(lua_State *L)
{
    static const field   fields[] = { { "folder", FIELD_STRING, offsetof(licet_schema_request, folder) },
                                      { "strict", FIELD_BOOLEAN, offsetof(licet_schema_request, strict) } };
    licet_schema_request request  = LICET_SCHEMA_REQUEST_INIT;
    licet_error         *error    = NULL;
    licet_status         status;
    schema_box          *box;

    lua_settop(L, 2);
    request.text = str_from_lua(L, 1);
    box          = schema_new(L);
    options_read(L, 2, fields, sizeof fields / sizeof *fields, &request);
    status = licet_schema_parse(&request, NULL, &box->schema, &error);
    return status == LICET_OK ? 1 : push_error(L, status, error);
}

/* schema:format() -> text | nil, err */
static int schema_format(lua_State *L)
{
    licet_schema *schema = schema_from_lua(L);
    licet_buffer *buffer = buffer_new(L);
    licet_error  *error  = NULL;
    licet_status  status;

    status = licet_schema_format(schema, buffer, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    buffer_push_text(L, buffer);
    return 1;
}

static void lint_push(lua_State *L, const licet_lint *lint)
{
    lua_createtable(L, 0, 4);
    lua_pushlstring(L, lint->name.data, lint->name.size);
    lua_setfield(L, -2, "name");
    lua_pushlstring(L, lint->message.data, lint->message.size);
    lua_setfield(L, -2, "message");
    lua_pushinteger(L, (lua_Integer)lint->line);
    lua_setfield(L, -2, "line");
    lua_pushinteger(L, (lua_Integer)lint->column);
    lua_setfield(L, -2, "column");
}

/* schema:lint() -> list of {name, message, line, column} */
static int schema_lint(lua_State *L)
{
    licet_schema *schema = schema_from_lua(L);
    licet_lint    lint   = LICET_LINT_INIT;

    lua_newtable(L);
    for (size_t i = 0; licet_schema_lint(schema, i, &lint); i++) {
        lint_push(L, &lint);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

static void push_definitions(lua_State *L, const licet_schema *schema)
{
    size_t    count = licet_schema_definition_count(schema);
    licet_str name;

    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        name = licet_schema_definition(schema, i);
        lua_pushlstring(L, name.data, name.size);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static void push_text(lua_State *L, const licet_schema *schema)
{
    licet_str text = licet_schema_text(schema);

    lua_pushlstring(L, text.data == NULL ? "" : text.data, text.size);
}

static int schema_index(lua_State *L)
{
    const licet_schema *schema = schema_from_lua(L);
    const char         *name   = lua_tostring(L, 2);

    if (name == NULL)
        return 0;
    if (strcmp(name, "text") == 0)
        push_text(L, schema);
    else if (strcmp(name, "definitions") == 0)
        push_definitions(L, schema);
    else if (strcmp(name, "format") == 0)
        lua_pushcfunction(L, schema_format);
    else if (strcmp(name, "lint") == 0)
        lua_pushcfunction(L, schema_lint);
    else
        return 0;
    return 1;
}

static int schema_tostring(lua_State *L)
{
    push_text(L, schema_from_lua(L));
    return 1;
}

static int schema_gc(lua_State *L)
{
    schema_box   *box    = box_check(L, 1, &schema_type);
    licet_schema *schema = box->schema;

    box->schema = NULL;
    licet_schema_release(schema);
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__index", schema_index },
    { "__tostring", schema_tostring },
    { "__gc", schema_gc },
    { NULL, NULL },
};

void schema_register(lua_State *L)
{
    type_register(L, &schema_type, metamethods, NULL);
}
