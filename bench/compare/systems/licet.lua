-- Answers and times the requests of bench/compare from Lua: one engine that follows the database, and one caller, since Lua
-- has no threads. With "empty" for the URI, an extension call with three strings that does nothing: the floor of a check.
--
--     lua5.4 licet.lua FOLDER URI         needs the modules clock_lua and empty_lua, of bench/support
--
-- Obeys the commands of bench/caller.c, which describes them.
local folder, uri = arg[1], arg[2]

-- A loaded machine may keep a thread waiting for longer than the defaults allow.
local function open_engine()
  local licet = require "licet"
  local options = { mode = "follow", check_timeout_ms = 10000, wait_timeout_ms = 60000 }
  local engine = assert(licet.open(uri, options))
  assert(engine:await_ready(60))
  return engine, { consistency = licet.FULL }
end

-- What a request of each kind calls, by the first word of its line. At the default consistency no options are given.
local calls = {}

if uri == "empty" then
  local empty = require "empty_lua"
  calls.check = function(q) return empty(q[1], q[2], q[3]) end
else
  local engine, full = open_engine()
  local options

  function calls.choose(level) options = level == "full" and full or nil end

  function calls.check(q)
    local allowed, failure = engine:allowed(q[1], q[2], q[3], options)
    return allowed or failure and error(failure)
  end

  function calls.bulk(items)
    local results, allowed = assert(engine:check_bulk(items, options)), {}
    for i = 1, #results do
      local result = results[i]
      if result.error then
        error(result.error)
      end
      allowed[i] = result.allowed
    end
    return allowed
  end

  function calls.lookup(q)
    local found = {}
    for id in assert(engine:lookup_resource_ids(q[1], q[2], q[3], options)) do
      found[#found + 1] = id
    end
    return found
  end
end

dofile(arg[0]:match "^.*/" .. "driver.lua")(folder, calls)
