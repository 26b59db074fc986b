-- Caveats: access that depends on what is known when the question is asked.
local licet = require "licet"

local engine = assert(licet.open("memory:", { strict = true }))
assert(engine:write_schema [[
definition user {}

caveat on_duty(day string, days list<string>) {
    day in days
}

definition gate {
    relation keeper: user with on_duty
    permission open = keeper
}
]])
assert(engine:touch {
    resource_type = "gate",
    resource_id = "north",
    relation = "keeper",
    subject_type = "user",
    subject_id = "ana",
    caveat_name = "on_duty",
    caveat_context = licet.context_text { days = { "mon", "tue" } },
})

print("on Monday:", engine:allowed("gate:north", "open", "user:ana", { context = { day = "mon" } }))
print("on Sunday:", engine:allowed("gate:north", "open", "user:ana", { context = { day = "sun" } }))

local ok, result = engine:check("gate:north", "open", "user:ana")
print("who knows:", ok, result.permissionship, "missing " .. table.concat(result.missing_context, ", "))

for relationship in engine:read_relationships { resource_type = "gate" } do
    print(relationship)
end
