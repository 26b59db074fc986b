-- The module compiled once more, with counting.h, for the Lua that runs. Returns this second licet, which shares
-- nothing with the first, and the functions of counting.c.
local lua = jit and "luajit" or "lua5.4"
local path = os.tmpname()

local function run(command)
    local pipe = assert(io.popen(command .. " 2>&1; echo status=$?"))
    local output = pipe:read("*a")
    pipe:close()
    assert(output:match("status=0\n$"), command .. "\n" .. output)
end

local cc = "cc -std=c11 -O1 -g -fPIC -Ibindings/lua -Itests/lua/support " ..
    "$(pkg-config --cflags " .. lua .. " | sed 's/-I/-isystem /g') $(pkg-config --cflags licet jansson) "

run(cc .. "-c tests/lua/support/counting.c -o '" .. path .. ".o'")
run(cc .. "-shared -include tests/lua/support/counting.h bindings/lua/*.c '" .. path .. ".o' -o '" .. path ..
    "' $(pkg-config --libs licet jansson)")

local core = assert(package.loadlib(path, "luaopen_licet_core"))
local counting = assert(package.loadlib(path, "luaopen_counting"))
os.remove(path)
os.remove(path .. ".o")

local first = package.loaded["licet.core"]
package.loaded["licet.core"] = core()
local licet = dofile "lua/licet/init.lua"
package.loaded["licet.core"] = first

return licet, counting()
