/* The method of licet.Engine that follows what is committed. */
#ifndef LICET_LUA_WATCH_H
#define LICET_LUA_WATCH_H

#include "module.h"

int engine_watch(lua_State *L);

#endif
