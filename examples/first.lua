local licet = require "licet"

local engine = assert(licet.open("memory:"))
assert(engine:write_schema [[
definition user {}

definition folder {
    relation viewer: user
    permission view = viewer
}

definition document {
    relation parent: folder
    relation owner: user
    permission edit = owner
    permission view = edit + parent->view
}
]])
assert(engine:touch("document:readme#owner@user:ada"))
assert(engine:touch("document:readme#parent@folder:shared"))
assert(engine:touch("folder:shared#viewer@user:bo"))

print("ada may edit:", engine:allowed("document:readme", "edit", "user:ada"))
print("bo may view:", engine:allowed("document:readme", "view", "user:bo"))
print("bo may edit:", engine:allowed("document:readme", "edit", "user:bo"))

local allowed, err = engine:allowed("document:readme", "sign", "user:bo")
print("bo may sign:", allowed, err.code)
