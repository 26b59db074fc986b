-- Checks from Lua over the benchmark's data, beside an empty extension call with three strings and beside the same checks
-- from C in the same run. Bound: the C time + 250 ns a call.
--
--     lua5.4 bench/check.lua [FOLDER [C_PROGRAM]]     build/bench-data and build/release/bench/check by default
local licet = require "licet"

local folder = arg[1] or "build/bench-data"
local program = arg[2] or "build/release/bench/check"
local seconds = tonumber(os.getenv "BENCH_TIME") or 1
local MARGIN_NS = 250
local clock = os.clock -- processor time: there is one thread and it never waits

local function empty_call()
  local path = os.tmpname()
  local module = jit and "luajit" or "lua5.4"
  local command = "cc -O2 -shared -fPIC $(pkg-config --cflags %s) bench/support/empty_lua.c -o %s"
  assert(os.execute(command:format(module, path)))
  return assert(package.loadlib(path, "luaopen_empty_lua"))()
end

local function lines_of(name)
  local found = {}
  for line in io.lines(folder .. "/" .. name) do
    found[#found + 1] = line
  end
  return found
end

local function questions_of(name)
  local found = {}
  for i, line in ipairs(lines_of(name)) do
    local resource, permission, subject, answer = line:match "^(%S+) (%S+) (%S+) (%S+)$"
    found[i] = { resource, permission, subject, expected = answer == "yes" }
  end
  return found
end

local function load_engine()
  local engine = assert(licet.open "memory:")
  assert(engine:write_schema(table.concat(lines_of "schema.zed", "\n")))
  local updates = {}
  for _, line in ipairs(lines_of "relationships.txt") do
    updates[#updates + 1] = licet.touch(line)
    if #updates == 1000 then
      assert(engine:write(updates))
      updates = {}
    end
  end
  assert(engine:write(updates))
  return engine
end

local function median(samples)
  table.sort(samples)
  return samples[math.ceil(#samples / 2)]
end

-- Median over batches of one call's time, in ns.
local function median_ns(call, questions)
  local samples, stop = {}, clock() + seconds
  while clock() < stop do
    local start = clock()
    for i = 1, #questions do
      local q = questions[i]
      call(q[1], q[2], q[3])
    end
    samples[#samples + 1] = (clock() - start) * 1e9 / #questions
  end
  return median(samples)
end

local function c_medians()
  local found = {}
  local out = assert(io.popen(program .. " " .. folder))
  for line in out:lines() do
    local name, ns = line:match "^  (%S+) +varied +([%d.]+)"
    if name then
      found[name] = tonumber(ns)
    end
  end
  out:close()
  return found
end

local from_c = c_medians()
local engine = load_engine()
local empty = empty_call()
print("checks from " .. (jit and jit.version or _VERSION))
for _, name in ipairs { "direct", "nested", "denied" } do
  local questions = questions_of(name .. ".txt")
  for _, q in ipairs(questions) do
    assert(engine:allowed(q[1], q[2], q[3]) == q.expected, name)
  end
  local floor = median_ns(empty, questions)
  local mine = median_ns(function(r, p, s) return engine:allowed(r, p, s) end, questions)
  local ours = from_c[name]
  print(("  %-8s varied   %8.1f ns; C %.1f ns; empty call %.1f ns; over C %.1f ns (bound %d)%s"):format(
    name, mine, ours, floor, mine - ours, MARGIN_NS, mine - ours <= MARGIN_NS and "" or "  MISSED"))
end
