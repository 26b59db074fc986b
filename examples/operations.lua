-- What else can be asked: which, who, why.
local licet = require "licet"

local engine = assert(licet.open("memory:"))
assert(engine:write_schema [[
definition user {}

definition gate {
    relation keeper: user
    relation passer: user | user:*
    relation banned: user
    permission pass = (keeper + passer) - banned
}
]])
assert(engine:touch("gate:north#keeper@user:ana"))
assert(engine:touch("gate:south#passer@user:*"))
assert(engine:touch("gate:south#banned@user:mal"))

for id, found in engine:lookup_resources("gate", "pass", "user:ana") do
    print("ana passes " .. id, found.permissionship)
end
for id, found in engine:lookup_subjects("gate:south", "pass", "user") do
    local excluded = {}
    for i, subject in ipairs(found.excluded) do
        excluded[i] = subject.subject_id
    end
    print("who passes the south gate: " .. id, "but " .. table.concat(excluded, ", "))
end

io.write(tostring(assert(engine:explain("gate:south", "pass", "user:mal"))))
io.write(tostring(assert(engine:expand("gate:north", "pass"))))
