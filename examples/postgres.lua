-- An engine on Postgres, as a worker that must not wait uses it.
local licet = require "licet"

local DATABASE = os.getenv("DATABASE_URL")

assert(licet.migrate(DATABASE))

local engine = assert(licet.open(DATABASE, {
    log = function(level, line)
        print(level .. ": " .. line)
    end,
}))

assert(engine:await_ready(30))
assert(engine:write_schema [[
definition user {}

definition document {
    relation owner: user
    permission edit = owner
}
]])
local token = assert(engine:touch("document:plan#owner@user:ada"))

-- From memory, or not at all.
local function allowed(user, consistency)
    local answer, err = engine:allowed("document:plan", "edit", user, { consistency = consistency, may_block = false })

    if answer == nil and err.reason == "WOULD_BLOCK" then
        return "ask again where waiting is fine"
    end
    return answer
end

print("ada:", allowed("user:ada", licet.at_least(token)))
print("bo:", allowed("user:bo", licet.at_least(token)))
print("with all that was committed:", allowed("user:ada", licet.FULL))
print("graph:", engine:stats().mode, engine:stats().relationships)
engine:close()
