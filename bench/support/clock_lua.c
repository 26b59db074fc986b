/* The time for benchmarks in Lua, whose own clocks count seconds, or the time of the processor alone. */
#include <lauxlib.h>
#include <lua.h>
#include <time.h>

/* Nanoseconds, monotonic. */
static int now(lua_State *L)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    lua_pushnumber(L, (lua_Number)time.tv_sec * 1e9 + (lua_Number)time.tv_nsec);
    return 1;
}

int luaopen_clock_lua(lua_State *L)
{
    lua_pushcfunction(L, now);
    return 1;
}
