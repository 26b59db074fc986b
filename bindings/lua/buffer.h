/* Text that the core made, in a box until Lua has its own copy. Never seen by Lua code. */
#ifndef LICET_LUA_BUFFER_H
#define LICET_LUA_BUFFER_H

#include "module.h"

void buffer_register(lua_State *L);

/* Pushes an empty buffer. */
licet_buffer *buffer_new(lua_State *L);

/* Pushes the text and gives the core's copy back. */
void buffer_push_text(lua_State *L, licet_buffer *buffer);

#endif
