-- `luarocks make` in the root of the tree builds licet for the Lua that luarocks serves (5.4 or LuaJIT). Needs
-- cmake, pkg-config and the development files of jansson, libpq, libcrypto, libyaml, RE2 and xxhash.
rockspec_format = "3.0"
package = "licet"
version = "0.1.0-1"
source = { url = "git+file://." }
description = {
    summary = "Permission checks inside your own process",
    detailed = "Runs SpiceDB permission schemas over relationships kept in memory.",
    license = "Apache-2.0",
    labels = { "authorization", "permissions", "rebac", "zanzibar" },
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.1, < 5.5" }
build = {
    type = "command",
    build_command = "cmake -S . -B build/rock -DCMAKE_BUILD_TYPE=Release -DLICET_TESTS=OFF"
        .. " -DLICET_LUA_INCLUDE_DIR=$(LUA_INCDIR) && cmake --build build/rock --target licet_rock",
    install = {
        lib = { ["licet.core"] = "build/rock/rock/licet/core.so" },
        lua = { ["licet"] = "lua/licet/init.lua" },
    },
}
