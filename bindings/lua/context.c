/* Contexts of caveats: Lua tables as JSON text.
 *
 * A table whose keys are 1 to n is an array, one whose keys are strings an object, and an empty one an object, unless
 * licet.array() made it an array. licet.null is null. Nothing is rounded on the way: a whole number that a double can not
 * hold is written as a string, from which the core reads every 64-bit integer exactly.
 *
 * Making text allocates, so it is done before anything else is taken from the arguments (module.h, rule 2). What a
 * finalizer does to a table meanwhile can make the text another or raise, and nothing worse. */
#include "context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CONTEXT_DEPTH 64                  /* tables in each other: as many as the core reads */
#define CONTEXT_BYTES ((size_t)512 << 10) /* of text: beyond every limit of the core's for the values in it */
#define CONTEXT_ROOM 256                  /* bytes that the text begins with */
#define EXACT_MAX 9007199254740992.0      /* up to here doubles have no gaps */
#define PATH_KEY_MAX 40                   /* bytes of a key that an error shows */
#define NUMBER_SIZE 40                    /* bytes of a printed number at most */

static const type array_type   = { "licet.Array" };
static const type context_type = { "licet.Context" };

/* ----------------------------------------------------------------------- writing */

/* A table of which some items are written. */
typedef struct frame {
    int    table; /* its place on the stack; above it, of an object, the last key */
    bool   is_array;
    size_t count; /* of an array's items */
    size_t at;    /* items begun */
} frame;

typedef struct writer {
    lua_State    *L;
    const reader *r;
    const char   *name; /* of the whole */
    int           box;  /* the place of the text: a userdata */
    char         *data;
    size_t        size;
    size_t        capacity;
    size_t        depth;
    frame         frames[CONTEXT_DEPTH];
} writer;

/* A key as an error shows it: its beginning, and nothing that could move a cursor. */
static void key_shown(lua_State *L, int index, char out[PATH_KEY_MAX + 1])
{
    size_t      size;
    const char *key   = lua_tolstring(L, index, &size);
    size_t      shown = size < PATH_KEY_MAX ? size : PATH_KEY_MAX;

    for (size_t i = 0; i < shown; i++)
        out[i] = key[i] >= 0x20 && key[i] < 0x7f ? key[i] : '?';
    out[shown] = '\0';
}

/* Pushes "context.hours[2]": where the value is that was about to be written. */
static const char *path_push(const writer *w)
{
    lua_State *L = w->L;
    char       key[PATH_KEY_MAX + 1];

    luaL_checkstack(L, 4, NULL);
    lua_pushstring(L, w->name);
    for (size_t i = 0; i < w->depth && w->frames[i].at > 0; i++) {
        const frame *f = &w->frames[i];

        if (f->is_array) {
            lua_pushfstring(L, "%s[%d]", lua_tostring(L, -1), (int)f->at);
        } else {
            key_shown(L, f->table + 1, key);
            lua_pushfstring(L, "%s.%s", lua_tostring(L, -1), key);
        }
        lua_remove(L, -2);
    }
    return lua_tostring(L, -1);
}

/* Raises "item 3: context.hours[2]: <why>". */
static void writer_refuse(const writer *w, const char *why)
{
    const char *path = path_push(w);

    if (w->r->item > 0)
        path = lua_pushfstring(w->L, "item %d: %s", (int)w->r->item, path);
    luaL_argerror(w->L, w->r->arg, lua_pushfstring(w->L, "%s: %s", path, why));
}

static void put(writer *w, const char *data, size_t size)
{
    size_t capacity = w->capacity;

    if (size > w->capacity - w->size) {
        if (size > CONTEXT_BYTES || w->size > CONTEXT_BYTES - size)
            writer_refuse(w, "too large");
        while (capacity < w->size + size)
            capacity *= 2;
        memcpy(lua_newuserdata(w->L, capacity), w->data, w->size);
        w->data     = lua_touserdata(w->L, -1);
        w->capacity = capacity;
        lua_replace(w->L, w->box);
    }
    if (size > 0)
        memcpy(w->data + w->size, data, size);
    w->size += size;
}

static void put_escape(writer *w, unsigned char c)
{
    static const char digits[]  = "0123456789abcdef";
    char              escape[6] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };

    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        put(w, escape, 2);
    } else {
        put(w, escape, sizeof escape);
    }
}

/* The string at `index`, whatever bytes are in it: the core says what is no text. */
static void write_string(writer *w, int index)
{
    size_t      size;
    const char *text  = lua_tolstring(w->L, index, &size);
    size_t      start = 0;

    put(w, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        put(w, text + start, i - start);
        put_escape(w, c);
        start = i + 1;
    }
    put(w, text + start, size - start);
    put(w, "\"", 1);
}

/* printf() writes the decimal point of whatever locale the program has set; JSON has but one. Returns the new size. */
static size_t plain_point(char *text, size_t size)
{
    size_t to = 0;

    for (size_t i = 0; i < size; i++) {
        bool is_ours = (text[i] >= '0' && text[i] <= '9') || strchr("+-e", text[i]) != NULL;

        if (is_ours)
            text[to++] = text[i];
        else if (to > 0 && text[to - 1] != '.')
            text[to++] = '.';
    }
    return to;
}

static void write_double(writer *w, double number)
{
    char text[NUMBER_SIZE];

    if (isnan(number))
        writer_refuse(w, "NaN is no number that a context can hold");
    if (isinf(number))
        writer_refuse(w, "infinity is no number that a context can hold");
    put(w, text, plain_point(text, (size_t)snprintf(text, sizeof text, "%.17g", number)));
}

static void write_number(writer *w)
{
#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(w->L, -1)) {
        lua_Integer number = lua_tointeger(w->L, -1);
        bool        exact  = number >= -(lua_Integer)EXACT_MAX && number <= (lua_Integer)EXACT_MAX;
        char        text[NUMBER_SIZE];

        put(w, text, (size_t)snprintf(text, sizeof text, exact ? "%lld" : "\"%lld\"", (long long)number));
        return;
    }
#endif
    write_double(w, lua_tonumber(w->L, -1));
}

/* ------------------------------------------------------------------------ tables */

static bool is_marked(lua_State *L, int index)
{
    bool marked = false;

    if (lua_getmetatable(L, index)) {
        lua_pushlightuserdata(L, (void *)&array_type);
        lua_rawget(L, LUA_REGISTRYINDEX);
        marked = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    return marked;
}

/* Whether the first key that comes is a number. */
static bool begins_with_number(lua_State *L, int index)
{
    bool is_number;

    lua_pushnil(L);
    if (lua_next(L, index) == 0)
        return false;
    is_number = lua_type(L, -2) == LUA_TNUMBER;
    lua_pop(L, 2);
    return is_number;
}

/* The number of items of an array: the keys 1 to n and no others. A hole would leave out what comes behind it. */
static size_t array_count(const writer *w, int index)
{
    lua_State *L     = w->L;
    size_t     count = 0;

    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TNUMBER)
            writer_refuse(w, "keys of several types make neither array nor object");
        count++;
    }
    if (count != lua_rawlen(L, index))
        writer_refuse(w, "an array with holes; licet.null may stand in them");
    return count;
}

/* The table on top of the stack stays there until its end. */
static void table_begin(writer *w)
{
    lua_State *L     = w->L;
    int        index = lua_gettop(L);
    frame     *f;

    for (size_t i = 0; i < w->depth; i++)
        if (lua_rawequal(L, w->frames[i].table, index))
            writer_refuse(w, "it contains itself");
    if (w->depth == CONTEXT_DEPTH)
        writer_refuse(w, "nested too deeply");
    luaL_checkstack(L, 8, "nested too deeply");
    f           = &w->frames[w->depth];
    f->table    = index;
    f->at       = 0;
    f->count    = 0;
    f->is_array = is_marked(L, index) || begins_with_number(L, index);
    if (f->is_array)
        f->count = array_count(w, index);
    else
        lua_pushnil(L); /* before the first key */
    w->depth++;
    put(w, f->is_array ? "[" : "{", 1);
}

static void table_end(writer *w)
{
    const frame *f = &w->frames[--w->depth];

    put(w, f->is_array ? "]" : "}", 1);
    lua_settop(w->L, f->table - 1);
}

/* The value on top of the stack; takes it away, unless it is a table. */
static void write_value(writer *w)
{
    lua_State *L = w->L;

    switch (lua_type(L, -1)) {
    case LUA_TTABLE:
        table_begin(w);
        return;
    case LUA_TSTRING:
        write_string(w, -1);
        break;
    case LUA_TNUMBER:
        write_number(w);
        break;
    case LUA_TBOOLEAN:
        put(w, lua_toboolean(L, -1) ? "true" : "false", lua_toboolean(L, -1) ? 4 : 5);
        break;
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, -1) == NULL) {
            put(w, "null", 4);
            break;
        }
        writer_refuse(w, luaL_typename(L, -1));
        break;
    case LUA_TNIL:
        writer_refuse(w, "an array with holes; licet.null may stand in them");
        break;
    default:
        writer_refuse(w, luaL_typename(L, -1));
    }
    lua_pop(L, 1);
}

/* The next item of the innermost table, or its end. */
static void write_next(writer *w)
{
    lua_State *L = w->L;
    frame     *f = &w->frames[w->depth - 1];

    if (f->is_array ? f->at == f->count : lua_next(L, f->table) == 0) {
        table_end(w);
        return;
    }
    if (f->at++ > 0)
        put(w, ",", 1);
    if (f->is_array) {
        lua_rawgeti(L, f->table, (int)f->at);
    } else {
        if (lua_type(L, -2) != LUA_TSTRING) {
            f->at = 0; /* such a key is no part of a path */
            writer_refuse(w, "keys of several types make neither array nor object");
        }
        write_string(w, -2);
        put(w, ":", 1);
    }
    write_value(w);
}

void context_push(const reader *r, int index, const char *name)
{
    lua_State *L     = r->L;
    reader     named = *r;
    writer     w;

    if (lua_type(L, index) == LUA_TSTRING) {
        lua_pushvalue(L, index);
        return;
    }
    named.field = name;
    if (!lua_istable(L, index))
        refuse(&named, index, "table");
    w.L     = L;
    w.r     = r;
    w.name  = name;
    w.depth = 0;
    luaL_checkstack(L, 8, NULL);
    w.data     = lua_newuserdata(L, CONTEXT_ROOM);
    w.box      = lua_gettop(L);
    w.size     = 0;
    w.capacity = CONTEXT_ROOM;
    lua_pushvalue(L, index);
    table_begin(&w);
    while (w.depth > 0)
        write_next(&w);
    lua_pushlstring(L, w.data, w.size);
    lua_replace(L, w.box);
}

/* ----------------------------------------------------------------------- entries */

void context_push_option(lua_State *L, int arg, const char *name)
{
    reader r     = READER_INIT(L, arg);
    int    index = option_push(L, arg, name);

    if (lua_isnil(L, index))
        return;
    context_push(&r, index, name);
    lua_remove(L, index);
}

licet_str context_view(lua_State *L, int index)
{
    licet_str text = { NULL, 0 };

    if (lua_type(L, index) == LUA_TSTRING)
        text.data = lua_tolstring(L, index, &text.size);
    return text;
}

context_box *context_new(lua_State *L)
{
    return box_new(L, sizeof(context_box), &context_type);
}

static int context_gc(lua_State *L)
{
    context_box   *box     = box_check(L, 1, &context_type);
    licet_context *context = box->context;

    box->context = NULL;
    licet_context_release(context);
    return 0;
}

void context_mark_array(lua_State *L)
{
    type_set(L, &array_type);
}

int context_array(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    context_mark_array(L);
    return 1;
}

int context_text(lua_State *L)
{
    reader r = READER_INIT(L, 1);

    luaL_checktype(L, 1, LUA_TTABLE);
    context_push(&r, 1, "context");
    return 1;
}

void context_set_constants(lua_State *L)
{
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
}

static const luaL_Reg metamethods[] = {
    { "__gc", context_gc },
    { NULL, NULL },
};

static const luaL_Reg no_metamethods[] = {
    { NULL, NULL },
};

void context_register(lua_State *L)
{
    type_register(L, &context_type, metamethods, NULL);
    type_register(L, &array_type, no_metamethods, NULL);
}
