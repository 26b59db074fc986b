/* The methods of licet.Engine that take many relationships at once, and say how far that has come. */
#ifndef LICET_LUA_IMPORT_H
#define LICET_LUA_IMPORT_H

#include "module.h"

void import_register(lua_State *L);

int engine_import_relationships(lua_State *L);
int engine_import_status(lua_State *L);
int engine_forget_import(lua_State *L);

#endif
