/* JSON that the core made, as Lua values: jansson reads it, and a stack of our own goes through what it read. */
#include "json.h"

#include <jansson.h>
#include <string.h>

#include "context.h"

#define EXACT_MAX 9007199254740992.0 /* up to here doubles have no gaps */

static const type document_type = { "licet.Json" };

typedef struct json_box {
    json_t *document; /* owned; NULL until it is read */
} json_box;

/* An array or object of which some items are pushed. Its table stands on Lua's stack as deep as the frame. */
typedef struct frame {
    json_t *value;
    size_t  at;   /* of an array: the next item */
    void   *iter; /* of an object: the next member */
} frame;

static void push_number(lua_State *L, double number)
{
    if (number >= -EXACT_MAX && number <= EXACT_MAX && number == (double)(lua_Integer)number)
        lua_pushinteger(L, (lua_Integer)number);
    else
        lua_pushnumber(L, number);
}

/* Pushes a value, of an array or object an empty table. */
static void push_value(lua_State *L, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lua_createtable(L, 0, (int)json_object_size(value));
        break;
    case JSON_ARRAY:
        lua_createtable(L, (int)json_array_size(value), 0);
        context_mark_array(L);
        break;
    case JSON_STRING:
        lua_pushlstring(L, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        push_number(L, json_number_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        lua_pushboolean(L, json_is_true(value));
        break;
    case JSON_NULL:
        lua_pushlightuserdata(L, NULL);
        break;
    }
}

static frame frame_of(json_t *value)
{
    return (frame){ value, 0, json_object_iter(value) }; /* NULL where it is no object */
}

/* The next item of the frame, or NULL. Of an object its key is pushed. */
static json_t *next_item(lua_State *L, frame *f)
{
    json_t *item;

    if (json_is_array(f->value))
        return json_array_get(f->value, f->at++);
    if (f->iter == NULL)
        return NULL;
    lua_pushstring(L, json_object_iter_key(f->iter));
    item    = json_object_iter_value(f->iter);
    f->iter = json_object_iter_next(f->value, f->iter);
    return item;
}

/* Puts the value on top of the stack into the table below it, or below its key. */
static void store_item(lua_State *L, const frame *f)
{
    if (json_is_array(f->value))
        lua_rawseti(L, -2, (int)f->at);
    else
        lua_rawset(L, -3);
}

static bool is_container(const json_t *value)
{
    return json_is_array(value) || json_is_object(value);
}

/* Pushes the whole. `frames` has room for as many levels as jansson reads. */
static void push_document(lua_State *L, json_t *document, frame *frames)
{
    size_t  depth = 0;
    json_t *item;

    push_value(L, document);
    if (is_container(document))
        frames[depth++] = frame_of(document);
    while (depth > 0) {
        luaL_checkstack(L, 4, NULL);
        item = next_item(L, &frames[depth - 1]);
        if (item == NULL) {
            if (--depth > 0)
                store_item(L, &frames[depth - 1]);
            continue;
        }
        push_value(L, item);
        if (is_container(item))
            frames[depth++] = frame_of(item);
        else
            store_item(L, &frames[depth - 1]);
    }
}

static void json_free(json_box *box)
{
    json_t *document = box->document;

    box->document = NULL;
    json_decref(document);
}

void json_push(lua_State *L, licet_str text)
{
    int       top = lua_gettop(L);
    json_box *box;
    frame    *frames;

    luaL_checkstack(L, 6, NULL);
    box           = box_new(L, sizeof *box, &document_type);
    box->document = json_loadb(text.data == NULL ? "" : text.data, text.size,
                               JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    if (box->document == NULL) {
        lua_pushlstring(L, text.data == NULL ? "" : text.data, text.size);
    } else {
        frames = records_new(L, JSON_PARSER_MAX_DEPTH + 1, sizeof *frames);
        push_document(L, box->document, frames);
        json_free(box);
    }
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
}

static int json_gc(lua_State *L)
{
    json_free(box_check(L, 1, &document_type));
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", json_gc },
    { NULL, NULL },
};

void json_register(lua_State *L)
{
    type_register(L, &document_type, metamethods, NULL);
}
