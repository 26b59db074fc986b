-- Answers and times the requests of bench/compare with lua-casbin.
--
--     luajit lua_casbin.lua FOLDER RELATIONSHIPS ("evaluated" or "kept")
--
-- Obeys the commands of bench/caller.c. The model is one graph of roles, as in casbin.py: lua-casbin asks its matcher for
-- every policy, whatever came of the ones before, and has no second kind of request, so that policies for documents would
-- each be looked at in every check.
local MODEL = [[
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.obj, r.sub)
]]

function print() end -- by which it logs, model and all, before it can be told not to

local Enforcer = require "src/main/Enforcer"
local class = arg[3] == "kept" and require "src/main/CachedEnforcer" or Enforcer
local enforcer = class:new(Enforcer:newModel("", MODEL))
enforcer:enableLog(false)

local policies = enforcer.model.model["g"]["g"].policy
for line in io.lines(arg[2]) do
  local resource, subject = line:match "^([^#]+)#[^@]+@([^#]+)"
  policies[#policies + 1] = { resource, subject }
end
enforcer:buildRoleLinks()

local calls = {}

function calls.check(q)
  return enforcer:enforce(q[3], q[1], q[2])
end

function calls.bulk(items)
  local allowed = {}
  for i = 1, #items do
    local q = items[i]
    allowed[i] = enforcer:enforce(q[3], q[1], q[2])
  end
  return allowed
end

dofile(arg[0]:match "^.*/" .. "driver.lua")(arg[1], calls)
