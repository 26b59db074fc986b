/* licet.Schema: a checked schema. Immutable, shared with the engine it came from, usable after that is closed. Nothing
 * but the finalizer empties the box, so views of it live as long as the userdata is on the stack. */
#include "schema.h"

#include <string.h>

#include "buffer.h"
#include "convert.h"
#include "error.h"
#include "json.h"

static const type schema_type = { "licet.Schema" };
static const type report_type = { "licet.SchemaReport" };

/* Never seen by Lua code. */
typedef struct report_box {
    licet_schema_report *report; /* owned; NULL until it is filled */
} report_box;

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

/* ------------------------------------------------------- comparing and describing */

static void report_free(report_box *box)
{
    licet_schema_report *report = box->report;

    box->report = NULL;
    licet_schema_report_release(report);
}

static int report_gc(lua_State *L)
{
    report_free(box_check(L, 1, &report_type));
    return 0;
}

static void set_text(lua_State *L, const char *name, licet_str text)
{
    if (text.size == 0)
        return;
    lua_pushlstring(L, text.data, text.size);
    lua_setfield(L, -2, name);
}

/* Pushes a table of what the entry has. */
static void entry_push(lua_State *L, const licet_schema_entry *entry)
{
    lua_createtable(L, 0, 5);
    set_text(L, "kind", entry->kind);
    set_text(L, "definition", entry->definition);
    set_text(L, "name", entry->name);
    set_text(L, "caveat", entry->caveat);
    set_text(L, "parameter", entry->parameter);
    set_text(L, "before", entry->before);
    set_text(L, "after", entry->after);
}

/* What a method returns whose call has filled the box, or failed: a list of entries, or nil and the error. */
static int report_return(lua_State *L, report_box *box, licet_status status, licet_error *error)
{
    licet_schema_entry entry = LICET_SCHEMA_ENTRY_INIT;

    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_newtable(L);
    for (size_t i = 0; licet_schema_report_entry(box->report, i, &entry); i++) {
        entry_push(L, &entry);
        lua_rawseti(L, -2, (int)i + 1);
    }
    report_free(box);
    return 1;
}

/* schema:diff(other) -> list of {kind, definition, name, caveat, parameter, before, after} | nil, err */
static int schema_diff(lua_State *L)
{
    licet_schema     *before = schema_from_lua(L);
    const schema_box *after  = box_check(L, 2, &schema_type);
    report_box       *box    = box_new(L, sizeof *box, &report_type);
    licet_error      *error  = NULL;
    licet_status      status;

    status = licet_schema_diff(before, after->schema, &box->report, &error);
    return report_return(L, box, status, error);
}

/* schema:computable_permissions(definition, relation, prefix) -> list of {kind, definition, name} | nil, err */
static int schema_computable_permissions(lua_State *L)
{
    licet_schema *schema   = schema_from_lua(L);
    licet_str     names[3] = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    licet_error  *error    = NULL;
    licet_status  status;
    report_box   *box;

    lua_settop(L, 4);
    names[0] = str_from_lua(L, 2);
    for (int i = 1; i < 3; i++)
        if (!lua_isnil(L, 2 + i))
            names[i] = str_from_lua(L, 2 + i);
    box    = box_new(L, sizeof *box, &report_type);
    status = licet_schema_computable_permissions(schema, names[0], names[1], names[2], &box->report, &error);
    return report_return(L, box, status, error);
}

/* schema:dependent_relations(definition, permission) -> list of {kind, definition, name} | nil, err */
static int schema_dependent_relations(lua_State *L)
{
    licet_schema *schema     = schema_from_lua(L);
    licet_str     definition = str_from_lua(L, 2);
    licet_str     permission = str_from_lua(L, 3);
    report_box   *box        = box_new(L, sizeof *box, &report_type);
    licet_error  *error      = NULL;
    licet_status  status;

    status = licet_schema_dependent_relations(schema, definition, permission, &box->report, &error);
    return report_return(L, box, status, error);
}

static void reflection_filters_from_lua(reader *r, int index, licet_reflection_filter *filters, size_t count)
{
    static const field fields[] = {
        { "definition", FIELD_STRING, offsetof(licet_reflection_filter, definition) },
        { "caveat", FIELD_STRING, offsetof(licet_reflection_filter, caveat) },
        { "relation", FIELD_STRING, offsetof(licet_reflection_filter, relation) },
        { "permission", FIELD_STRING, offsetof(licet_reflection_filter, permission) },
    };

    for (size_t i = 0; i < count; i++) {
        r->item = i + 1;
        lua_rawgeti(r->L, index, (int)r->item);
        filters[i] = (licet_reflection_filter)LICET_REFLECTION_FILTER_INIT;
        if (!lua_istable(r->L, -1))
            refuse(r, -1, "table");
        record_read(r, lua_gettop(r->L), fields, COUNT_OF(fields), &filters[i]);
        lua_pop(r->L, 1);
    }
}

/* schema:reflect({{definition, caveat, relation, permission}, ...}) -> {definitions, caveats} | nil, err */
static int schema_reflect(lua_State *L)
{
    licet_schema            *schema = schema_from_lua(L);
    reader                   r      = READER_INIT(L, 2);
    size_t                   count  = 0;
    licet_error             *error  = NULL;
    licet_status             status;
    licet_reflection_filter *filters;
    licet_buffer            *buffer;

    lua_settop(L, 2);
    filters = list_records_new(&r, 2, "list of filters", sizeof *filters, &count);
    buffer  = buffer_new(L);
    reflection_filters_from_lua(&r, 2, filters, count);
    status = licet_schema_reflect(schema, filters, count, buffer, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    json_push(L, (licet_str){ buffer->data, buffer->size });
    licet_buffer_clear(buffer);
    return 1;
}

/* --------------------------------------------------------------------------- fields */

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
    else if (strcmp(name, "diff") == 0)
        lua_pushcfunction(L, schema_diff);
    else if (strcmp(name, "reflect") == 0)
        lua_pushcfunction(L, schema_reflect);
    else if (strcmp(name, "computable_permissions") == 0)
        lua_pushcfunction(L, schema_computable_permissions);
    else if (strcmp(name, "dependent_relations") == 0)
        lua_pushcfunction(L, schema_dependent_relations);
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

static const luaL_Reg report_metamethods[] = {
    { "__gc", report_gc },
    { NULL, NULL },
};

static const luaL_Reg metamethods[] = {
    { "__index", schema_index },
    { "__tostring", schema_tostring },
    { "__gc", schema_gc },
    { NULL, NULL },
};

void schema_register(lua_State *L)
{
    type_register(L, &schema_type, metamethods, NULL);
    type_register(L, &report_type, report_metamethods, NULL);
}
