-- The small world that most tests ask about.
local licet = require "licet"

local world = {}

world.SCHEMA = [[
definition user {}

definition group {
    relation member: user | group#member
}

definition document {
    relation owner: user
    relation viewer: user | user:* | group#member
    permission edit = owner
    permission view = viewer + edit
}
]]

world.RELATIONSHIPS = {
    "document:plan#owner@user:ana",
    "document:plan#viewer@group:staff#member",
    "document:memo#viewer@user:*",
    "group:staff#member@user:bo",
}

--- An engine with that schema and those relationships.
function world.open(options)
    local engine = assert(licet.open("memory:", options))

    assert(engine:write_schema(world.SCHEMA))
    assert(engine:touch(world.RELATIONSHIPS))
    return engine
end

--- Calls that must fail: returns the error.
function world.failure(value, err, ...)
    assert(value == nil, "the call succeeded")
    assert(type(err) == "table" and type(err.code) == "string", "no error value")
    assert(select("#", ...) == 0, "more than two values")
    return err
end

--- Calls that must raise: returns the message, without a position.
function world.raised(f, ...)
    local ok, message = pcall(f, ...)

    assert(not ok, "the call did not raise")
    return (tostring(message):gsub("^[^\n]-:%d+: ", ""))
end

--- The texts of all relationships that a filter selects.
function world.texts(engine, options)
    local texts = {}

    for relationship in assert(engine:read_relationships(options)) do
        texts[#texts + 1] = tostring(relationship)
    end
    return texts
end

return world
