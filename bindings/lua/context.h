/* Contexts of caveats: Lua tables as JSON text, which is what the core reads. */
#ifndef LICET_LUA_CONTEXT_H
#define LICET_LUA_CONTEXT_H

#include "convert.h"
#include "module.h"

void context_register(lua_State *L);

/* Pushes the text of the context at `index`, an absolute one: a table, or a string that is JSON already. Raises what no
 * context can hold, with its place, which begins with `name`. Allocates. */
void context_push(const reader *r, int index, const char *name);

/* Pushes the text of {context = ...}, or {metadata = ...}, in the options at `arg`, or nil. */
void context_push_option(lua_State *L, int arg, const char *name);

/* A view of what one of the two pushed; "not given" for nil. */
licet_str context_view(lua_State *L, int index);

/* A context that is read once, for any number of checks. */
typedef struct context_box {
    licet_context *context; /* owned; NULL: none */
} context_box;

/* Pushes an empty box. */
context_box *context_new(lua_State *L);

/* Marks the table on top of the stack as an array. */
void context_mark_array(lua_State *L);

/* array(table) -> table, which a context holds as an array, also when it is empty */
int context_array(lua_State *L);

/* context_text(context) -> its JSON text */
int context_text(lua_State *L);

/* null, into the table on top of the stack. */
void context_set_constants(lua_State *L);

#endif
