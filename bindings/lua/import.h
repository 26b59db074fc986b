/* The method of licet.Engine that takes many relationships at once. */
#ifndef LICET_LUA_IMPORT_H
#define LICET_LUA_IMPORT_H

#include "module.h"

void import_register(lua_State *L);

int engine_import_relationships(lua_State *L);

#endif
