/* licet.Stream: `for r in assert(engine:read_relationships{...}) do`, or stream:next() by hand.
 *
 * What the core hands out is valid until the next call on its stream. Copying it into Lua allocates, so a finalizer may
 * run, find the stream and call it. Hence the copy is made in a protected call, with the stream marked as busy: the
 * finalizer's call is refused, and the mark goes even if the copy fails. Most answers of lookups are one short text: that is
 * copied to the C stack first, which costs less than the protected call. */
#include "stream.h"

#include <string.h>

#include "error.h"

static const type stream_type = { "licet.Stream" };

/* Upvalues: of what calls push() the words, and behind them the function that copies and the type of streams; of __index
 * the methods. */
enum { COPY_ITEM = STREAM_WORD_END, STREAM_TYPE };
enum { METHOD_NEXT = 1, METHOD_CLOSE };

void *stream_new(lua_State *L, const stream_kind *kind)
{
    stream_box *box = box_new(L, kind->size, &stream_type);

    box->kind = kind;
    return box;
}

int stream_return(lua_State *L, int index, const engine_box *engine, licet_status status, licet_error *error)
{
    stream_box *box = lua_touserdata(L, index);

    if (status != LICET_OK)
        return push_error(L, status, error);
    engine_keep(&box->keeper, engine);
    lua_pushvalue(L, index);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, index);
    return 4;
}

static stream_box *stream_from_lua(lua_State *L)
{
    return box_check(L, 1, &stream_type);
}

static void stream_release(stream_box *box)
{
    licet_stream *stream = box->stream;

    box->stream = NULL;
    licet_stream_release(stream);
    engine_let_go(&box->keeper);
}

/* ----------------------------------------------------------------- what may be copied */

static int copy_item(lua_State *L)
{
    stream_box *box = lua_touserdata(L, 1);

    luaL_checkstack(L, 8, NULL);
    box->kind->push(L, box, box->current);
    return box->kind->values;
}

static int copy_cursor(lua_State *L)
{
    const stream_box *box    = lua_touserdata(L, 1);
    licet_str         cursor = licet_stream_cursor(box->stream);

    if (cursor.size == 0)
        lua_pushnil(L);
    else
        lua_pushlstring(L, cursor.data, cursor.size);
    return 1;
}

/* Expects a copying function and the box on the stack, and leaves there the so many values that the function returns.
 * `current` is not NULL. Raises what the copy raised. */
static int copy_protected(lua_State *L, stream_box *box, const stream_item *current, int values)
{
    int failed;

    box->current = current;
    failed       = lua_pcall(L, 1, values, 0);
    box->current = NULL;
    if (box->closing)
        stream_release(box);
    return failed != 0 ? lua_error(L) : values;
}

/* --------------------------------------------------------------------------- methods */

/* As stream_from_lua(), without a look into the registry. */
static stream_box *stream_quickly(lua_State *L)
{
    stream_box *box = lua_touserdata(L, 1);
    bool        ours;

    if (box == NULL || !lua_getmetatable(L, 1))
        return stream_from_lua(L);
    ours = lua_rawequal(L, -1, lua_upvalueindex(STREAM_TYPE));
    lua_settop(L, 1);
    return ours ? box : stream_from_lua(L);
}

/* stream:next() -> what the kind gives | nothing | nil, err. *failed tells the last two from the first. */
static int next_values(lua_State *L, bool *failed)
{
    stream_box  *box   = stream_quickly(L);
    licet_error *error = NULL;
    bool         found = false;
    licet_status status;

    UNINITIALIZED stream_item item;
    UNINITIALIZED char        room[STREAM_ROOM];

    *failed = true;
    if (box->current != NULL)
        return push_misuse(L, "the stream is in use");
    if (box->stream == NULL)
        return push_closed(L);
    *failed = false;
    if (box->ended)
        return 0;
    status = box->kind->next(box, &item, &found, &error);
    if (status != LICET_OK) {
        *failed = true;
        return push_error(L, status, error);
    }
    box->ended = !found && !box->kind->goes_on;
    if (!found)
        return 0;
    if (box->kind->detach != NULL && box->kind->detach(&item, room)) {
        box->kind->push(L, box, &item);
        return box->kind->values;
    }
    lua_pushvalue(L, lua_upvalueindex(COPY_ITEM));
    lua_pushvalue(L, 1);
    return copy_protected(L, box, &item, box->kind->values);
}

static int stream_next(lua_State *L)
{
    bool failed;

    return next_values(L, &failed);
}

/* In a generic for, nil would read as "that was all". So it raises, as the iterator of io.lines() does. */
static int stream_call(lua_State *L)
{
    bool failed;
    int  count = next_values(L, &failed);

    return failed ? lua_error(L) : count;
}

static int stream_close(lua_State *L)
{
    stream_box *box = stream_from_lua(L);

    if (box->current != NULL)
        box->closing = true;
    else
        stream_release(box);
    return 0;
}

static int push_cursor(lua_State *L, stream_box *box)
{
    static const stream_item none = { .relationship = LICET_RELATIONSHIP_INIT };

    lua_pushcfunction(L, copy_cursor);
    lua_pushvalue(L, 1);
    if (box->current != NULL || box->stream == NULL)
        return 0;
    return copy_protected(L, box, &none, 1);
}

static int push_token(lua_State *L, const stream_box *box)
{
    licet_token token = { { 0 } };

    if (box->stream == NULL)
        return 0;
    if (box->kind->token != NULL)
        token = *box->kind->token(box);
    else
        licet_stream_token(box->stream, &token);
    if (token.text[0] == '\0')
        return 0;
    lua_pushstring(L, token.text);
    return 1;
}

static int stream_index(lua_State *L)
{
    stream_box *box  = stream_from_lua(L);
    const char *name = lua_tostring(L, 2);

    if (name == NULL)
        return 0;
    if (strcmp(name, "next") == 0)
        lua_pushvalue(L, lua_upvalueindex(METHOD_NEXT));
    else if (strcmp(name, "close") == 0)
        lua_pushvalue(L, lua_upvalueindex(METHOD_CLOSE));
    else if (strcmp(name, "cursor") == 0)
        return push_cursor(L, box);
    else if (strcmp(name, "token") == 0)
        return push_token(L, box);
    else
        return 0;
    return 1;
}

static int stream_tostring(lua_State *L)
{
    const stream_box *box = stream_from_lua(L);

    lua_pushfstring(L, "%s (%s)", box->kind->name, box->stream == NULL ? "closed" : "open");
    return 1;
}

static const luaL_Reg metamethods[] = {
    { "__tostring", stream_tostring },
    { "__gc", stream_close },
    { "__close", stream_close },
    { NULL, NULL },
};

static void push_words(lua_State *L)
{
#define STREAM_WORD_PUSH(word) lua_pushliteral(L, #word);
    STREAM_WORD_LIST(STREAM_WORD_PUSH)
#undef STREAM_WORD_PUSH
}

/* Pushes a function that calls push(). */
static void push_asking(lua_State *L, lua_CFunction function)
{
    push_words(L);
    push_words(L);
    lua_pushcclosure(L, copy_item, STREAM_WORD_END - 1);
    type_push(L, &stream_type);
    lua_pushcclosure(L, function, STREAM_TYPE);
}

void stream_register(lua_State *L)
{
    type_register(L, &stream_type, metamethods, NULL);
    type_push(L, &stream_type);
    push_asking(L, stream_call);
    lua_setfield(L, -2, "__call");
    push_asking(L, stream_next);
    lua_pushcfunction(L, stream_close);
    lua_pushcclosure(L, stream_index, METHOD_CLOSE);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
