-- The commands of bench/caller.c, which describes them, for a program in Lua: reads requests, answers and times them. One
-- caller, since Lua has no threads.
--
--     dofile "driver.lua"(folder, calls)         needs the module clock_lua, of bench/support
--
-- `calls` are functions by the first word of a request's line: what an application does for each such request. With one that
-- is called `choose` they learn of the consistency.
local now = require "clock_lua"

local BATCHED_BELOW_NS, BATCH_NS, CALIBRATION_NS = 2000, 20000, 5000000

local folder, calls

local function words_of(line)
  local found = {}
  for word in line:gmatch "%S+" do
    found[#found + 1] = word
  end
  return found
end

local readers = {
  check = function(words) return { words[2], words[3], words[4] } end,
  lookup = function(words) return { words[2], words[3], words[4] } end,
  bulk = function(words)
    local items = {}
    for at = 3, #words, 3 do
      items[#items + 1] = { words[at], words[at + 1], words[at + 2] }
    end
    return items
  end,
}

local function text_of(answer)
  if type(answer) ~= "table" then
    return answer and "true" or "false"
  end
  local parts = {}
  for i = 1, #answer do
    parts[i] = type(answer[i]) == "string" and ('"%s"'):format(answer[i]) or tostring(answer[i])
  end
  return "[" .. table.concat(parts, ",") .. "]"
end

local function quantile(ordered, p)
  return ordered[math.floor((#ordered - 1) * p) + 1]
end

local requests, call

local function batches(batch, seconds, samples)
  local count, at, begin = #requests, 0, now()
  local stop, after = begin + seconds * 1e9, begin
  repeat
    local before = now()
    for _ = 1, batch do
      at = at < count and at + 1 or 1
      call(requests[at])
    end
    after = now()
    samples[#samples + 1] = (after - before) / batch
  until after >= stop
  return after - begin
end

local function batch_size()
  local samples = {}
  batches(8, CALIBRATION_NS / 1e9, samples)
  table.sort(samples)
  local ns = quantile(samples, 0.5)
  return ns >= BATCHED_BELOW_NS and 1 or math.max(1, math.floor(BATCH_NS / math.max(ns, 1)))
end

local commands = {}

function commands.requests(words)
  requests = {}
  for line in io.lines(folder .. "/" .. words[2]) do
    local parts = words_of(line)
    call = assert(calls[parts[1]], line)
    requests[#requests + 1] = readers[parts[1]](parts)
  end
  return ('{"requests": %d}'):format(#requests)
end

local function choose(level)
  if calls.choose then
    calls.choose(level)
  end
end

function commands.answer(words)
  choose(words[2])
  local parts = {}
  for i, request in ipairs(requests) do
    parts[i] = text_of(call(request))
  end
  return "[" .. table.concat(parts, ",") .. "]"
end

function commands.time(words)
  assert(words[3] == "1", "one caller")
  choose(words[2])
  local batch, samples = batch_size(), {}
  batches(batch, tonumber(words[4]), {})
  local took = batches(batch, tonumber(words[5]), samples)
  table.sort(samples)
  return ('{"median_ns": %.1f, "p99_ns": %.1f, "per_second": %.1f, "calls": %d, "batch": %d}'):format(
    quantile(samples, 0.5), quantile(samples, 0.99), #samples * batch / took * 1e9, #samples * batch, batch)
end

return function(of_folder, of_calls)
  folder, calls = of_folder, of_calls
  for line in io.lines() do
    local words = words_of(line)
    io.write(assert(commands[words[1]], line)(words), "\n")
    io.flush()
  end
end
