local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

-- Wrong types raise, as in Lua's own libraries. What has the right type and is not usable is nil and an error.
describe("an argument of the wrong type", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        engine:close()
    end)

    it("raises in a question, whose parts are strings and nothing that could become one", function()
        assert.is_truthy(world.raised(engine.allowed, engine, nil, "view", "user:ana"):find("string expected, got nil", 1, true))
        assert.is_truthy(world.raised(engine.allowed, engine, "document:plan", 42, "user:ana"):find("string expected, got number", 1, true))
        assert.is_truthy(world.raised(engine.allowed, engine, "document:plan", "view"):find("string expected, got no value", 1, true))
        assert.is_truthy(world.raised(engine.check, engine, "document:plan", "view", {}):find("string expected, got table", 1, true))
        assert.is_truthy(world.raised(engine.check, engine, "document:plan", "view", true):find("string expected, got boolean", 1, true))
        local proxy = setmetatable({}, { __tostring = function() return "document:plan" end })
        assert.is_truthy(world.raised(engine.allowed, engine, proxy, "view", "user:ana"):find("string expected, got table", 1, true))
    end)

    it("is named with its method and its number", function()
        assert.equal("bad argument #2 to 'allowed' (string expected, got number)",
            world.raised(function() return (engine:allowed("document:plan", 1, "user:ana")) end))
        assert.equal("bad argument #1 to 'touch' (item 2: resource_id: string expected, got boolean)",
            world.raised(function()
                return (engine:touch { "document:x#owner@user:ana", { resource_id = false } })
            end))
    end)

    it("raises in options, as a misspelt one does", function()
        local function ask(options)
            return world.raised(engine.allowed, engine, "document:plan", "view", "user:ana", options)
        end

        assert.is_truthy(ask("full"):find("table expected, got string", 1, true))
        assert.is_truthy(ask({ consistancy = licet.FULL }):find("no field 'consistancy'", 1, true))
        assert.is_truthy(ask({ licet.FULL }):find("no field of type number", 1, true))
        assert.is_truthy(ask({ consistency = 1 }):find("consistency: string expected, got number", 1, true))
        assert.is_truthy(ask({ consistency = "fresh" }):find("licet.FULL", 1, true))
        assert.is_truthy(ask({ consistency = "full\0" }):find("licet.FULL", 1, true))
        assert.is_truthy(world.raised(licet.at_least):find("string expected", 1, true))
        assert.is_truthy(world.raised(licet.at_exactly, 1):find("string expected", 1, true))
    end)

    it("raises in lists with holes, with other keys, and for nil among several", function()
        local relationship = "document:x#owner@user:ana"

        assert.is_truthy(world.raised(engine.touch, engine):find("value expected", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, nil):find("relationship expected, got nil", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, relationship, nil):find("relationship expected, got nil", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, nil, relationship):find("relationship expected, got nil", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, 42):find("relationship", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { nil, relationship }):find("holes", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { relationship, nil, relationship }):find("holes", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { relationship, n = 1 }):find("other keys", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { relationship, { "x" } }):find("item 2: no field of type number", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { relationship }, relationship):find("no field of type number", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { resource_type = 1 }):find("resource_type: string expected", 1, true))
        assert.is_truthy(world.raised(engine.touch, engine, { resource = "document:x" }):find("no field 'resource'", 1, true))
        assert.is_false(engine:allowed("document:x", "view", "user:ana"))
    end)

    it("raises in updates and preconditions", function()
        local update = licet.touch("document:x#owner@user:ana")

        assert.is_truthy(world.raised(engine.write, engine):find("table expected", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { "document:x#owner@user:ana" }):find("item 1: licet.create", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { update, { "drop", "x" } }):find("item 2: licet.create", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { { "touch" } }):find("item 1", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { nil, update }):find("holes", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { update }, licet.must_match { resource_type = "document" }):find("item 1", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { update }, { licet.must_match { colour = "red" } }):find("no field 'colour'", 1, true))
        assert.is_truthy(world.raised(engine.write, engine, { update }, "x"):find("list of preconditions expected", 1, true))
        assert.is_truthy(world.raised(licet.create):find("relationship expected, got nil", 1, true))
        assert.is_truthy(world.raised(licet.must_match, "document"):find("table expected, got string", 1, true))
        assert.is_false(engine:allowed("document:x", "view", "user:ana"))
    end)

    it("raises in the items of a bulk check and the ids of a filter", function()
        local item = { "document:plan", "view", "user:ana" }

        assert.is_truthy(world.raised(engine.check_bulk, engine):find("table expected", 1, true))
        assert.is_truthy(world.raised(engine.check_bulk, engine, { item, "x" }):find("item 2: table expected, got string", 1, true))
        assert.is_truthy(world.raised(engine.check_bulk, engine, { item, { "document:plan", "view" } }):find("item 2: subject: string expected, got nil", 1, true))
        assert.is_truthy(world.raised(engine.check_bulk, engine, { { "a", "b", "c", "d" } }):find("item 1", 1, true))
        assert.is_truthy(world.raised(engine.check_bulk, engine, { item, nil, item }):find("holes", 1, true))
        assert.is_truthy(world.raised(engine.filter, engine, "document", "plan", "view", "user:ana"):find("table expected, got string", 1, true))
        assert.is_truthy(world.raised(engine.filter, engine, "document", { "plan", 1 }, "view", "user:ana"):find("item 2: string expected, got number", 1, true))
    end)

    it("raises for counts that are no positive whole numbers", function()
        for _, limit in ipairs { 0, -1, 1.5, 0 / 0, -1 / 0 } do
            assert.is_truthy(world.raised(engine.read_relationships, engine, { resource_type = "document", limit = limit })
                :find("limit: positive whole number expected", 1, true))
            assert.is_truthy(world.raised(licet.open, "memory:", { max_depth = limit })
                :find("max_depth: positive whole number expected", 1, true))
        end
        assert.is_truthy(world.raised(licet.open, "memory:", { max_depth = "5" }):find("max_depth: number expected, got string", 1, true))
        assert.equal("limit_exceeded",
            world.failure(engine:read_relationships { resource_type = "document", limit = 1 / 0 }).code)
        assert.equal("invalid_argument", world.failure(licet.open("memory:", { max_steps = 2 ^ 53 })).code)
        assert.is_truthy(world.raised(engine.delete_relationships, engine, { resource_type = "x", allow_partial = 1 })
            :find("allow_partial: boolean expected, got number", 1, true))
    end)

    it("raises for a self that is no engine", function()
        local _, result = engine:check("document:plan", "view", "user:ana")

        assert.is_truthy(world.raised(engine.allowed, nil, "document:plan", "view", "user:ana"):find("licet.Engine expected", 1, true))
        assert.is_truthy(world.raised(engine.allowed, {}, "document:plan", "view", "user:ana"):find("licet.Engine expected", 1, true))
        assert.is_truthy(world.raised(engine.allowed, result, "document:plan", "view", "user:ana"):find("licet.Engine expected", 1, true))
        assert.is_truthy(world.raised(engine.close, io.stdout):find("licet.Engine expected", 1, true))
    end)

    it("runs no metamethod of a table that is read", function()
        local function trap()
            error("a metamethod ran")
        end
        local guard = { __index = trap, __len = trap, __pairs = trap, __ipairs = trap, __newindex = trap }
        local relationship = setmetatable({
            resource_type = "document",
            resource_id = "x",
            relation = "owner",
            subject_type = "user",
            subject_id = "ana",
        }, guard)

        assert.is_string(engine:touch(setmetatable({ relationship }, guard)))
        assert.is_true(assert(engine:check_bulk(setmetatable({
            setmetatable({ "document:x", "view", "user:ana" }, guard),
        }, guard)))[1].allowed)
        assert.is_true(engine:allowed("document:x", "view", "user:ana",
            setmetatable({ consistency = licet.FULL }, guard)))
    end)
end)

describe("opening", function()
    it("refuses stores and options that it does not have, with kind config", function()
        for _, uri in ipairs { "", "memory", "sqlite:x", "memory:\0", "postgresql://user:secret@host/db" } do
            local err = world.failure(licet.open(uri))
            assert.equal("invalid_argument", err.code)
            assert.equal("config", err.kind)
            assert.is_nil(tostring(err):find("secret", 1, true))
        end
        local err = world.failure(licet.open("memory:", { max_depth = 1001 }))
        assert.equal("invalid_argument", err.code)
        assert.equal("config", err.kind)
        assert.is_truthy(err.message:find("max_depth", 1, true))
    end)

    it("passes the options on", function()
        local engine = assert(licet.open(nil, {
            memory_limit_bytes = 1048576,
            max_depth = 2,
            max_steps = 1000,
            check_timeout_ms = 1000,
            history_window_ms = 60000,
        }))

        assert.equal(1048576, engine:stats().memory_limit_bytes)
        assert(engine:write_schema(world.SCHEMA))
        assert(engine:touch {
            "document:plan#viewer@group:a#member",
            "group:a#member@group:b#member",
            "group:b#member@group:c#member",
            "group:c#member@user:bo",
        })
        assert.equal("limit_exceeded", world.failure(engine:allowed("document:plan", "view", "user:bo")).code)
        engine:close()
    end)

    it("gives the version", function()
        assert.is_truthy(licet.version:match("^%d+%.%d+%.%d+$"))
    end)
end)

describe("statistics", function()
    it("are whole numbers", function()
        local engine = world.open()
        local stats = assert(engine:stats())

        assert.equal(4, stats.relationships)
        for _, name in ipairs { "relationships", "objects", "memory_bytes", "memory_limit_bytes", "graph_bytes", "id_bytes",
            "delta_changes", "merges", "revision", "oldest_revision" } do
            assert.equal("number", type(stats[name]), name)
            assert.equal(0, stats[name] % 1, name)
        end
        assert.is_true(stats.memory_bytes > 0 and stats.memory_bytes < stats.memory_limit_bytes)
        engine:close()
    end)
end)
