local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local SCHEMA = [[
use expiration

definition user {}

definition document {
    relation viewer: user with expiration
    permission view = viewer
}
]]

-- 2030-01-01T00:00:00Z
local START = 1893456000

local function open(clock)
    local engine = assert(licet.open("memory:", { clock = clock }))

    assert(engine:write_schema(SCHEMA))
    assert(engine:touch("document:plan#viewer@user:ana[expiration:2030-01-01T00:01:00Z]"))
    return engine
end

describe("a clock that is set by hand", function()
    it("is what relationships expire by", function()
        local clock = licet.testing.manual_clock(START)
        local engine = open(clock)

        assert.equal(START, clock:now())
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        clock:advance(59.5)
        assert.equal(START + 59.5, clock:now())
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        clock:advance(0.5)
        assert.is_false(engine:allowed("document:plan", "view", "user:ana"))
        for _ in assert(engine:lookup_resources("document", "view", "user:ana")) do
            error("expired")
        end
        clock:set(START)
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        engine:close()
    end)

    it("lives as long as anything that asks it", function()
        local stream, result, tree

        do
            local engine = open(licet.testing.manual_clock(START))
            local _

            stream = assert(engine:lookup_resources("document", "view", "user:ana"))
            tree = assert(engine:expand("document:plan", "view"))
            _, result = engine:check("document:plan", "view", "user:ana")
        end
        collectgarbage()
        collectgarbage()
        assert.equal("plan", (stream:next()))
        assert.is_nil(stream:next())
        assert.is_true(result.allowed)
        assert.is_string(result.token)
        assert.equal("leaf", tree.children[1].operation)
        stream, result, tree = nil, nil, nil
        collectgarbage()
        collectgarbage()
    end)

    it("serves any number of engines", function()
        local clock = licet.testing.manual_clock(START)
        local one, other = open(clock), open(clock)

        one:close()
        clock:advance(60)
        assert.is_false(other:allowed("document:plan", "view", "user:ana"))
        other:close()
        clock:advance(-60)
        assert.equal(START, clock:now())
    end)

    it("is a number of seconds, and nothing else is a clock", function()
        local clock = licet.testing.manual_clock(START)

        for _, seconds in ipairs { 1e10, -1e10, 1 / 0, 0 / 0 } do
            assert.equal("bad argument #1 to 'manual_clock' (out of range)",
                world.raised(function() return (licet.testing.manual_clock(seconds)) end))
            assert.equal("bad argument #1 to 'set' (out of range)", world.raised(function() clock:set(seconds) end))
        end
        assert.equal("bad argument #1 to 'set' (number expected, got string)",
            world.raised(function() clock:set("1") end))
        clock:set(9e9)
        assert.equal("bad argument #1 to 'advance' (out of range)", world.raised(function() clock:advance(9e9) end))
        assert.equal(9e9, clock:now())
        for _, value in ipairs { 1, "now", function() end, {} } do
            assert.is_truthy(world.raised(licet.open, "memory:", { clock = value })
                :find("clock: licet.testing.manual_clock() expected, got " .. type(value), 1, true))
        end
    end)
end)
