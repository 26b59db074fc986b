/* licet.Engine: schema and relationships, and the answers about them. */
#ifndef LICET_LUA_ENGINE_H
#define LICET_LUA_ENGINE_H

#include "module.h"

typedef struct engine_box {
    licet_engine *engine; /* one holder of it; NULL before it is opened and once it is closed */
    bool          strict; /* as it was opened: then contexts are read so */
} engine_box;

void engine_register(lua_State *L);

/* The box of an engine, whose handle may be NULL by now or become so whenever Lua runs. */
engine_box *engine_from_lua(lua_State *L, int arg);

/* open(uri, options) -> engine | nil, err */
int engine_open(lua_State *L);

#endif
