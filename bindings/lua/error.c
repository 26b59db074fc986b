/* Statuses to error values.
 *
 * What is in a licet_error is copied to the C stack and the error is freed before Lua sees any of it: the message has
 * at most 1,024 bytes, and the rest are numbers and constants. */
#include "error.h"

#include <string.h>

static const type error_type = { "licet.Error" };
#define MESSAGE_CAPACITY 1024

typedef struct record {
    const char *code;
    const char *kind;
    licet_str   reason; /* a constant */
    uint32_t    line;
    uint32_t    column;
    size_t      message_size;
    char        message[MESSAGE_CAPACITY];
} record;

static void record_set_message(record *r, licet_str text)
{
    r->message_size = text.size < MESSAGE_CAPACITY ? text.size : MESSAGE_CAPACITY;
    if (r->message_size > 0)
        memcpy(r->message, text.data, r->message_size);
}

static licet_str str_of(const char *text)
{
    return (licet_str){ text, strlen(text) };
}

static void record_init(record *r, licet_status status, licet_kind kind, licet_str message)
{
    r->code   = licet_status_name(status);
    r->kind   = licet_kind_name(kind);
    r->reason = (licet_str){ NULL, 0 };
    r->line   = 0;
    r->column = 0;
    record_set_message(r, message);
}

static void record_from_error(record *r, licet_status status, const licet_error *error)
{
    licet_str message = licet_error_message(error);

    if (message.size == 0) /* a core that could not even say so; the status still tells what happened */
        message = str_of(licet_status_text(status));
    record_init(r, status, licet_error_kind(error), message);
    r->reason = licet_error_reason(error);
    r->line   = licet_error_line(error);
    r->column = licet_error_column(error);
}

static void set_position(lua_State *L, const char *name, uint32_t position)
{
    if (position == 0)
        return;
    lua_pushinteger(L, (lua_Integer)position);
    lua_setfield(L, -2, name);
}

static void record_push(lua_State *L, const record *r)
{
    lua_createtable(L, 0, 6);
    lua_pushstring(L, r->code);
    lua_setfield(L, -2, "code");
    lua_pushstring(L, r->kind);
    lua_setfield(L, -2, "kind");
    lua_pushlstring(L, r->message, r->message_size);
    lua_setfield(L, -2, "message");
    set_position(L, "line", r->line);
    set_position(L, "column", r->column);
    if (r->reason.size > 0) {
        lua_pushlstring(L, r->reason.data, r->reason.size);
        lua_setfield(L, -2, "reason");
    }
    type_set(L, &error_type);
}

static int push_failure(lua_State *L, const record *r)
{
    lua_pushnil(L);
    record_push(L, r);
    return 2;
}

int push_error(lua_State *L, licet_status status, licet_error *error)
{
    record r;

    record_from_error(&r, status, error);
    licet_error_free(error);
    return push_failure(L, &r);
}

int push_closed(lua_State *L)
{
    record r;

    record_init(&r, LICET_CLOSED, LICET_KIND_MISUSE, str_of(licet_status_text(LICET_CLOSED)));
    return push_failure(L, &r);
}

int push_misuse(lua_State *L, const char *message)
{
    record r;

    record_init(&r, LICET_MISUSE, LICET_KIND_MISUSE, str_of(message));
    return push_failure(L, &r);
}

void error_push(lua_State *L, licet_status status, const licet_error *error)
{
    record r;

    record_from_error(&r, status, error);
    record_push(L, &r);
}

int error_failure(lua_State *L)
{
    record    r = { .code = luaL_checkstring(L, 1), .kind = luaL_checkstring(L, 2) };
    licet_str message;

    message.data = luaL_checklstring(L, 3, &message.size);
    record_set_message(&r, message);
    record_push(L, &r);
    return 1;
}

/* The field as a number of a text, or 0. */
static int position_at(lua_State *L, const char *name)
{
    int position;

    lua_pushstring(L, name);
    lua_rawget(L, 1);
    position = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return position;
}

/* The position, where there is one, and the message. */
static int error_tostring(lua_State *L)
{
    int line;
    int column;

    luaL_checktype(L, 1, LUA_TTABLE);
    line   = position_at(L, "line");
    column = position_at(L, "column");
    lua_pushliteral(L, "message");
    lua_rawget(L, 1);
    if (!lua_isstring(L, -1))
        lua_pushstring(L, error_type.name);
    if (line > 0 && column > 0)
        lua_pushfstring(L, "line %d, column %d: %s", line, column, lua_tostring(L, -1));
    else if (line > 0)
        lua_pushfstring(L, "line %d: %s", line, lua_tostring(L, -1));
    return 1;
}

static const luaL_Reg metamethods[] = {
    { "__tostring", error_tostring },
    { NULL, NULL },
};

void error_register(lua_State *L)
{
    type_register(L, &error_type, metamethods, NULL);
}
