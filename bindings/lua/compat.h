/* One source for Lua 5.4 and LuaJIT (Lua 5.1's interface with some of 5.2's): what differs between them, and between
 * compilers. */
#ifndef LICET_LUA_COMPAT_H
#define LICET_LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM < 502

#define lua_rawlen lua_objlen
#define luaL_typeerror luaL_typerror
#define luaL_checkversion(L) ((void)(L))

/* A table that lives as long as the userdata. LuaJIT calls it environment and gives every userdata one, so whether we
 * set ours has to be remembered elsewhere. */
#define lua_settable_of(L, index) ((void)lua_setfenv((L), (index)))
#define lua_gettable_of(L, index) (lua_getfenv((L), (index)))

#else

#define lua_settable_of(L, index) ((void)lua_setiuservalue((L), (index), 1))
#define lua_gettable_of(L, index) ((void)lua_getiuservalue((L), (index), 1))

#endif

/* For a local of some hundred bytes that is filled before it is read: the flags of a release fill all others with zeros. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define UNINITIALIZED __attribute__((uninitialized))
#endif
#endif
#ifndef UNINITIALIZED
#define UNINITIALIZED
#endif

#endif
