/* The methods of licet.Engine that give relationships back. */
#ifndef LICET_LUA_READ_H
#define LICET_LUA_READ_H

#include "module.h"

int engine_read_relationships(lua_State *L);
int engine_export_relationships(lua_State *L);

#endif
