#!/bin/sh
# Prints the shell lines that make this tree's licet findable: eval "$(make env)"
root=$(cd "$(dirname "$0")/.." && pwd)

# For the shell that reads it: whatever the path holds.
quote() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }

quoted=$(quote "$root")
printf 'export PATH=%s/.venv/bin:"$PATH"\n' "$quoted"
printf 'export LUA_PATH=%s"/lua/?.lua;"%s"/lua/?/init.lua;${LUA_PATH:-;}"\n' "$quoted" "$quoted"
# Lua 5.4 prefers the variable with its version; LuaJIT knows only the other.
printf 'export LUA_CPATH=%s"/build/luajit/?.so;${LUA_CPATH:-;}"' "$quoted"
printf ' LUA_CPATH_5_4=%s"/build/lua5.4/?.so;${LUA_CPATH_5_4:-;}"\n' "$quoted"
printf 'export PKG_CONFIG_PATH=%s/build/release/pkgconfig"${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"\n' "$quoted"
