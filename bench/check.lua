-- Checks and lookups from Lua over the benchmark's data, beside an empty extension call with three strings and beside the
-- same from C, which are run right before. Bound: the C time + 250 ns an answer.
--
--     lua5.4 bench/check.lua [FOLDER [C_PROGRAMS]]     build/bench-data and build/release/bench by default
local licet = require "licet"

local folder = arg[1] or "build/bench-data"
local programs = arg[2] or "build/release/bench"
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

-- Median of one call's time, in ns, each with one of the things; short calls several at a time, the clock counts whole
-- microseconds.
local function median_each_ns(call, things)
  local TOGETHER = 20
  local samples, stop, at = {}, clock() + seconds, 0
  while clock() < stop do
    local thing = things[at % #things + 1]
    at = at + 1
    local start = clock()
    for _ = 1, TOGETHER do
      call(thing)
    end
    samples[#samples + 1] = (clock() - start) * 1e9 / TOGETHER
  end
  return median(samples)
end

-- What a benchmark in C prints at the start of its lines, by a pattern of two: a name and its figure.
local function printed(name, pattern, found)
  local out = assert(io.popen(("%s/%s %s"):format(programs, name, folder)))
  for line in out:lines() do
    local what, figure = line:match(pattern)
    if what then
      found[what] = tonumber(figure)
    end
  end
  assert(out:close())
  return found
end

local function c_medians()
  local found = printed("check", "^  (%S+) +varied +([%d.]+)", {})
  found.lookup = printed("lookup", "^  (109) of 10,000, repeated +([%d.]+)", {})["109"] * 1000
  return found
end

local function tell(name, request, mine, ours, answers, more)
  local over = (mine - ours) / answers
  print(("  %-8s %-8s %8.1f ns; C %.1f ns%s; over C %.1f ns an answer (bound %d)%s"):format(
    name, request, mine, ours, more or "", over, MARGIN_NS, over <= MARGIN_NS and "" or "  MISSED"))
end

local from_c = c_medians()
local engine = load_engine()
local empty = empty_call()

local function compare_checks(name)
  local questions = questions_of(name .. ".txt")
  for _, q in ipairs(questions) do
    assert(engine:allowed(q[1], q[2], q[3]) == q.expected, name)
  end
  local floor = median_ns(empty, questions)
  local mine = median_ns(function(r, p, s) return engine:allowed(r, p, s) end, questions)
  tell(name, "varied", mine, from_c[name], 1, ("; empty call %.1f ns"):format(floor))
end

local function check_bulk(items)
  local results, allowed = assert(engine:check_bulk(items)), {}
  for i = 1, #results do
    allowed[i] = results[i].allowed
  end
  return allowed
end

local function compare_bulk()
  local groups = {}
  for i, question in ipairs(questions_of "bulk.txt") do
    local number = math.floor((i - 1) / 100) + 1
    groups[number] = groups[number] or {}
    table.insert(groups[number], question)
  end
  for _, group in ipairs(groups) do
    for i, allowed in ipairs(check_bulk(group)) do
      assert(allowed == group[i].expected, "bulk")
    end
  end
  tell("bulk-100", "varied", median_each_ns(check_bulk, groups), from_c["bulk-100"], 100)
end

local function look_up(user)
  local ids = {}
  for id in assert(engine:lookup_resource_ids("document", "view", user)) do
    ids[#ids + 1] = id
  end
  return ids
end

local function compare_lookups()
  local reader, count
  for i, line in ipairs(lines_of "lookup.txt") do
    local user, expected = line:match "^(%S+)", {}
    for id in line:gmatch " (%S+)" do
      expected[#expected + 1] = id
    end
    local found = look_up(user)
    table.sort(found)
    table.sort(expected)
    assert(table.concat(found, " ") == table.concat(expected, " "), user)
    if i == 1 then
      reader, count = user, #expected
    end
  end
  tell("lookup", "repeated", median_each_ns(look_up, { reader }), from_c.lookup, count)
end

print("checks and lookups from " .. (jit and jit.version or _VERSION))
for _, name in ipairs { "direct", "nested", "denied" } do
  compare_checks(name)
end
compare_bulk()
compare_lookups()
