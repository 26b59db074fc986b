/* licet.Clock: a time that tests set, for open(uri, {clock = ...}).
 *
 * The core asks from any thread and as long as an engine is there, which streams and results keep alive when nothing
 * else does. So the time lives outside of Lua's memory, and has holders. */
#ifndef LICET_LUA_CLOCK_H
#define LICET_LUA_CLOCK_H

#include "module.h"

typedef struct manual_clock manual_clock;

void clock_register(lua_State *L);

/* One holder more and one fewer, of the thread that Lua runs in; NULL is fine. */
void clock_retain(manual_clock *clock);
void clock_release(manual_clock *clock);

/* A new holder of the clock in the options at `arg`, or NULL where none is given. Raises for what is no clock. */
manual_clock *clock_from_options(lua_State *L, int arg);

/* What the core asks; for NULL the system's. */
licet_clock clock_of(manual_clock *clock);

/* manual_clock(seconds) -> clock */
int clock_manual(lua_State *L);

#endif
