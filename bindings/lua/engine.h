/* licet.Engine: schema and relationships, and the answers about them. */
#ifndef LICET_LUA_ENGINE_H
#define LICET_LUA_ENGINE_H

#include "clock.h"
#include "log.h"
#include "module.h"

/* One holder of an engine. Whoever holds one of the core's things that hold an engine has one as well: the core asks
 * the clock, and writes to the log, as long as the engine is there. */
typedef struct engine_box {
    licet_engine *engine; /* NULL before it is opened and once it is closed */
    manual_clock *clock;  /* one holder of it, or NULL: the system's */
    engine_log   *log;    /* the same, or NULL: nobody is told */
    bool          strict; /* as it was opened: then contexts are read so */
} engine_box;

/* Makes an empty keeper one more holder; ends one, also an empty one, after what it kept the engine for. Neither
 * allocates. */
void engine_keep(engine_box *keeper, const engine_box *engine);
void engine_let_go(engine_box *keeper);

void engine_register(lua_State *L);

/* The box of an engine, whose handle may be NULL by now or become so whenever Lua runs. Hands on what the engine has to
 * say, so it comes first in a method. */
engine_box *engine_from_lua(lua_State *L, int arg);

/* open(uri, options) -> engine | nil, err */
int engine_open(lua_State *L);

#endif
