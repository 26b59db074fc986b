/* How an answer comes about: licet.Tree, what a permission consists of, and licet.Trace, how a check was decided. */
#ifndef LICET_LUA_TREE_H
#define LICET_LUA_TREE_H

#include "module.h"

void tree_register(lua_State *L);

int engine_expand(lua_State *L);
int engine_explain(lua_State *L);

#endif
