local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

-- Asserts that f raises, with these words in its message.
local function raises(words, f, ...)
    assert.is_truthy(world.raised(f, ...):find(words, 1, true))
end

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
        raises("string expected, got nil", engine.allowed, engine, nil, "view", "user:ana")
        raises("string expected, got number", engine.allowed, engine, "document:plan", 42, "user:ana")
        raises("string expected, got no value", engine.allowed, engine, "document:plan", "view")
        raises("string expected, got table", engine.check, engine, "document:plan", "view", {})
        raises("string expected, got boolean", engine.check, engine, "document:plan", "view", true)
        local proxy = setmetatable({}, { __tostring = function() return "document:plan" end })
        raises("string expected, got table", engine.allowed, engine, proxy, "view", "user:ana")
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
        raises("string expected", licet.at_least)
        raises("string expected", licet.at_exactly, 1)
    end)

    it("raises in lists with holes, with other keys, and for nil among several", function()
        local relationship = "document:x#owner@user:ana"

        raises("value expected", engine.touch, engine)
        raises("relationship expected, got nil", engine.touch, engine, nil)
        raises("relationship expected, got nil", engine.touch, engine, relationship, nil)
        raises("relationship expected, got nil", engine.touch, engine, nil, relationship)
        raises("relationship", engine.touch, engine, 42)
        raises("holes", engine.touch, engine, { nil, relationship })
        raises("holes", engine.touch, engine, { relationship, nil, relationship })
        raises("other keys", engine.touch, engine, { relationship, n = 1 })
        raises("item 2: no field of type number", engine.touch, engine, { relationship, { "x" } })
        raises("no field of type number", engine.touch, engine, { relationship }, relationship)
        raises("resource_type: string expected", engine.touch, engine, { resource_type = 1 })
        raises("no field 'resource'", engine.touch, engine, { resource = "document:x" })
        assert.is_false(engine:allowed("document:x", "view", "user:ana"))
    end)

    it("raises in updates and preconditions", function()
        local update = licet.touch("document:x#owner@user:ana")

        raises("table expected", engine.write, engine)
        raises("item 1: licet.create", engine.write, engine, { "document:x#owner@user:ana" })
        raises("item 2: licet.create", engine.write, engine, { update, { "drop", "x" } })
        raises("item 1", engine.write, engine, { { "touch" } })
        raises("holes", engine.write, engine, { nil, update })
        raises("item 1", engine.write, engine, { update }, licet.must_match { resource_type = "document" })
        raises("no field 'colour'", engine.write, engine, { update }, { licet.must_match { colour = "red" } })
        raises("list of preconditions expected", engine.write, engine, { update }, "x")
        raises("relationship expected, got nil", licet.create)
        raises("table expected, got string", licet.must_match, "document")
        assert.is_false(engine:allowed("document:x", "view", "user:ana"))
    end)

    it("raises in the items of a bulk check and the ids of a filter", function()
        local item = { "document:plan", "view", "user:ana" }

        raises("table expected", engine.check_bulk, engine)
        raises("item 2: table expected, got string", engine.check_bulk, engine, { item, "x" })
        raises("item 2: subject: string expected, got nil", engine.check_bulk, engine,
            { item, { "document:plan", "view" } })
        raises("item 1", engine.check_bulk, engine, { { "a", "b", "c", {}, "e" } })
        raises("item 1: context: table expected, got number", engine.check_bulk, engine, { { "a", "b", "c", 5 } })
        raises("holes", engine.check_bulk, engine, { item, nil, item })
        raises("table expected, got string", engine.filter, engine, "document", "plan", "view", "user:ana")
        raises("item 2: string expected, got number", engine.filter, engine,
            "document", { "plan", 1 }, "view", "user:ana")
    end)

    it("raises in lookups, permissions, trees and watches", function()
        raises("string expected, got nil", engine.lookup_resources, engine, "document", "view")
        raises("limit: positive whole number expected", engine.lookup_resources, engine, "document", "view",
            "user:ana", { limit = 0 })
        raises("no field 'wildcards'", engine.lookup_resources, engine, "document", "view", "user:ana",
            { wildcards = true })
        raises("context.age: function", engine.lookup_resources, engine, "document", "view", "user:ana",
            { context = { age = print } })
        raises("wildcards: boolean expected, got number", engine.lookup_subjects, engine, "document:plan", "view",
            "user", { wildcards = 1 })
        raises("string expected, got nil", engine.lookup_resource_ids, engine, "document", "view")
        raises("no field 'wildcards'", engine.lookup_subject_ids, engine, "document:plan", "view", "user",
            { wildcards = false })
        raises("permissions: list of strings expected, got string", engine.permissions, engine, "document:plan",
            "user:ana", { permissions = "view" })
        raises("item 2: permissions: string expected, got number", engine.permissions, engine, "document:plan",
            "user:ana", { permissions = { "view", 2 } })
        raises("no field 'context'", engine.expand, engine, "document:plan", "view", { context = {} })
        raises("string expected, got table", engine.explain, engine, "document:plan", "view", {})
        raises("table expected, got string", engine.watch, engine, "x")
        raises("since: string expected, got number", engine.watch, engine, { since = 1 })
        raises("timeout: number expected, got string", engine.watch, engine, { timeout = "1" })
        raises("timeout: seconds from 0 on expected", engine.watch, engine, { timeout = -1 })
        raises("timeout: seconds from 0 on expected", engine.watch, engine, { timeout = 0 / 0 })
        raises("item 1: resource_types: string expected", engine.watch, engine, { resource_types = { 1 } })
        raises("item 1: no field 'colour'", engine.watch, engine, { filters = { { colour = "red" } } })
        raises("schema: boolean expected, got string", engine.watch, engine, { schema = "yes" })
        raises("string expected, got table", engine.schema_impact, engine, {})
    end)

    it("raises for metadata that are no JSON", function()
        local update = licet.touch("document:x#owner@user:ana")

        raises("metadata.f: function", engine.write, engine, { update }, nil, { metadata = { f = print } })
        raises("metadata: table expected, got number", engine.write, engine, { update }, nil, { metadata = 1 })
        raises("no field 'meta'", engine.write, engine, { update }, nil, { meta = {} })
        raises("metadata.f: function", engine.delete_relationships, engine,
            { resource_type = "document", metadata = { f = print } })
    end)

    it("raises for counts that are no positive whole numbers", function()
        for _, limit in ipairs { 0, -1, 1.5, 0 / 0, -1 / 0 } do
            raises("limit: positive whole number expected", engine.read_relationships, engine,
                { resource_type = "document", limit = limit })
            raises("max_depth: positive whole number expected", licet.open, "memory:", { max_depth = limit })
        end
        raises("max_depth: number expected, got string", licet.open, "memory:", { max_depth = "5" })
        assert.equal("limit_exceeded",
            world.failure(engine:read_relationships { resource_type = "document", limit = 1 / 0 }).code)
        assert.equal("invalid_argument", world.failure(licet.open("memory:", { max_steps = 2 ^ 53 })).code)
        raises("allow_partial: boolean expected, got number", engine.delete_relationships, engine,
            { resource_type = "x", allow_partial = 1 })
    end)

    it("raises for a self that is no engine", function()
        local _, result = engine:check("document:plan", "view", "user:ana")

        raises("licet.Engine expected", engine.allowed, nil, "document:plan", "view", "user:ana")
        raises("licet.Engine expected", engine.allowed, {}, "document:plan", "view", "user:ana")
        raises("licet.Engine expected", engine.allowed, result, "document:plan", "view", "user:ana")
        raises("licet.Engine expected", engine.close, io.stdout)
        local stream = assert(engine:lookup_resources("document", "view", "user:ana"))
        local tree = assert(engine:expand("document:plan", "view"))
        raises("licet.Stream expected", stream.next, engine)
        raises("licet.Stream expected, got nil", stream.next, nil)
        raises("licet.Stream expected, got table", stream.next, {})
        raises("licet.Stream expected, got no value", stream.next)
        raises("licet.Stream expected", stream.close, tree)
        raises("licet.Tree expected", tree.to_json, stream)
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
        for _, uri in ipairs { "", "memory", "sqlite:x", "memory:\0", "postgresql://user:secret@host/db?secret=1" } do
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
        for _, name in ipairs {
            "relationships", "objects", "memory_bytes", "memory_limit_bytes", "graph_bytes", "id_bytes",
            "delta_changes", "merges", "revision", "oldest_revision",
        } do
            assert.equal("number", type(stats[name]), name)
            assert.equal(0, stats[name] % 1, name)
        end
        assert.is_true(stats.memory_bytes > 0 and stats.memory_bytes < stats.memory_limit_bytes)
        engine:close()
    end)
end)
