/* JSON that the core made, as Lua values. */
#ifndef LICET_LUA_JSON_H
#define LICET_LUA_JSON_H

#include "module.h"

void json_register(lua_State *L);

/* Pushes the values of a document whose text stays where it is: objects and arrays as tables, null as licet.null, an
 * array marked as licet.array() marks it, whole numbers as integers where Lua has such. What Lua's reader does not take
 * (a NUL in a key) is pushed as its text. */
void json_push(lua_State *L, licet_str text);

#endif
