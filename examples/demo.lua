-- A walk through licet from Lua: a schema, relationships, a yes, a no, many checks at once.
-- Run it with `make demo`, or: eval "$(make env)" && lua5.4 examples/demo.lua
local licet = require "licet"

local SCHEMA = [[
definition user {}

definition team {
    relation member: user | team#member
}

definition folder {
    relation viewer: user | team#member
    permission view = viewer
}

definition document {
    relation parent: folder
    relation owner: user
    relation banned: user
    permission edit = owner
    permission view = (edit + parent->view) - banned
}
]]

local RELATIONSHIPS = {
    "team:platform#member@user:bo",
    "team:engineering#member@team:platform#member",
    "folder:handbook#viewer@team:engineering#member",
    "document:readme#parent@folder:handbook",
    "document:readme#owner@user:ada",
    "document:plan#owner@user:cy",
    "document:notes#parent@folder:handbook",
    "document:notes#banned@user:bo",
}

local function heading(text)
    print()
    print(text)
    print(("-"):rep(#text))
end

-- Only `true` grants: a denial is false, and a check that failed is nil with the error.
local function ask(engine, resource, permission, subject, why)
    local allowed, err = engine:allowed(resource, permission, subject)

    if allowed == nil then
        error(err)
    end
    print(("  %-8s %s %s %s"):format(allowed and "allowed" or "denied", subject, permission, resource))
    print("           " .. why)
end

print("licet from " .. (jit and jit.version or _VERSION))
local engine = assert(licet.open("memory:"))

heading "The schema: who may do what, in general"
io.write(SCHEMA)
assert(engine:write_schema(SCHEMA))

heading "The relationships: who is what, in particular"
for _, relationship in ipairs(RELATIONSHIPS) do
    assert(engine:touch(relationship))
    print("  " .. relationship)
end

heading "Single checks"
ask(engine, "document:readme", "edit", "user:ada", "ada owns it")
ask(engine, "document:readme", "view", "user:bo", "through platform, engineering and the folder")
ask(engine, "document:readme", "edit", "user:bo", "only the owner edits")
ask(engine, "document:notes", "view", "user:bo", "the folder would let bo in, but bo is banned")

heading "Many checks at once, all at one revision"
local items = {}
for _, id in ipairs { "readme", "plan", "notes" } do
    items[#items + 1] = { "document:" .. id, "view", "user:bo" }
    items[#items + 1] = { "document:" .. id, "view", "user:cy" }
end
for i, result in ipairs(assert(engine:check_bulk(items))) do
    print(("  %-8s %s view %s"):format(result.allowed and "allowed" or "denied", items[i][3], items[i][1]))
end

heading "What was revoked is gone at once"
assert(engine:delete("team:platform#member@user:bo"))
ask(engine, "document:readme", "view", "user:bo", "bo has left platform")

engine:close()
