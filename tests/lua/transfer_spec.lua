local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local function count(engine)
    return assert(engine:stats()).relationships
end

-- The relationships document:d1 to dN, one a call.
local function generator(n)
    local i = 0

    return function()
        i = i + 1
        return i <= n and ("document:d%d#owner@user:ana"):format(i) or nil
    end
end

describe("an import", function()
    local engine

    before_each(function()
        engine = assert(licet.open())
        assert(engine:write_schema(world.SCHEMA))
    end)

    after_each(function()
        engine:close()
    end)

    it("creates a list of relationships in one transaction", function()
        local done = assert(engine:import_relationships(world.RELATIONSHIPS))

        assert.equal(4, done.count)
        assert.is_true(engine:allowed("document:plan", "view", "user:bo",
            { consistency = licet.at_exactly(done.token) }))
        assert.equal(4, count(engine))
        assert.equal(0, assert(engine:import_relationships {}).count)
    end)

    it("takes tables, and an iterator of any number", function()
        assert.equal(1, assert(engine:import_relationships {
            { resource_type = "document", resource_id = "x", relation = "owner", subject_type = "user",
                subject_id = "ana" },
        }).count)
        assert.equal(2500, assert(engine:import_relationships(generator(2500))).count)
        assert.equal(2501, count(engine))
        assert.is_true(engine:allowed("document:d2500", "edit", "user:ana"))
    end)

    it("takes what another engine exports", function()
        local other = world.open()

        assert.equal(4, assert(engine:import_relationships(assert(other:export_relationships()))).count)
        assert.is_true(engine:allowed("document:plan", "view", "user:bo"))
        other:close()
    end)

    it("tells how many it has taken after each batch", function()
        local told = {}
        local function progress(n)
            told[#told + 1] = n
        end

        assert(engine:import_relationships(generator(25), { batch_size = 10, progress = progress }))
        assert.same({ 10, 20, 25 }, told)
        told = {}
        assert.equal("already_exists", world.failure(engine:import_relationships(generator(25),
            { batch_size = 10, progress = progress })).code)
        told = {}
        assert(engine:import_relationships({ "document:x#owner@user:bo", "document:y#owner@user:bo" },
            { batch_size = 1, progress = progress }))
        assert.same({ 1, 2 }, told)
        told = {}
        assert(engine:import_relationships({}, { progress = progress }))
        assert.same({}, told)
    end)

    it("goes on where an import of its name was", function()
        local told = {}
        local function broken(n)
            local next_one = generator(n)

            return function()
                return next_one() or error("broken")
            end
        end
        local options = { batch_size = 10, resume = "users", progress = function(n) told[#told + 1] = n end }

        assert.same({ count = 0, is_known = false, is_finished = false }, assert(engine:import_status "users"))
        assert.is_false(pcall(engine.import_relationships, engine, broken(25), options))
        assert.same({ 10, 20 }, told)
        assert.equal(20, count(engine))
        assert.same({ count = 20, is_known = true, is_finished = false }, assert(engine:import_status "users"))
        told = {}
        local done = assert(engine:import_relationships(generator(35), options))

        assert.equal(35, done.count)
        assert.same({ 20, 30, 35 }, told)
        assert.equal(35, count(engine))
        assert.is_true(engine:allowed("document:d35", "view", "user:ana",
            { consistency = licet.at_exactly(done.token) }))
        assert.equal(35, assert(engine:import_relationships(generator(35), { resume = "users" })).count)
        assert.same({ count = 35, is_known = true, is_finished = true }, assert(engine:import_status "users"))
    end)

    it("is refused under the name of another until that is forgotten", function()
        assert(engine:import_relationships(generator(20), { resume = "users", batch_size = 7 }))
        for _, others in ipairs { world.RELATIONSHIPS, generator(21), generator(3) } do
            local err = world.failure(engine:import_relationships(others, { resume = "users" }))

            assert.equal("precondition_failed", err.code)
            assert.equal("IMPORT_DIFFERS", err.reason)
        end
        assert.equal(20, count(engine))
        assert.is_true(engine:forget_import "users")
        assert.is_false(engine:forget_import "users")
        assert.equal(4, assert(engine:import_relationships(world.RELATIONSHIPS, { resume = "users" })).count)
        assert.equal("invalid_argument", world.failure(engine:import_relationships({}, { resume = "" })).code)
        assert.is_truthy(world.raised(engine.import_relationships, engine, {}, { resume = 5 }):find("resume", 1, true))
    end)

    it("shows nothing before it is whole", function()
        assert(engine:import_relationships(generator(30), {
            batch_size = 10,
            progress = function()
                assert.equal(0, count(engine))
                assert.is_false(engine:allowed("document:d1", "view", "user:ana"))
            end,
        }))
        assert.equal(30, count(engine))
    end)

    -- Of an import that does not come to its end only the ids stay, which the engine has seen: the second one like it
    -- must leave no byte, and not wait for the collector with it.
    local function leaves_nothing(import)
        import()
        local before = assert(engine:stats()).memory_bytes

        collectgarbage("stop")
        import()
        collectgarbage("restart")
        assert.equal(before, assert(engine:stats()).memory_bytes)
        assert.equal(0, count(engine))
    end

    it("leaves nothing behind when progress raises", function()
        local reason = {}

        leaves_nothing(function()
            local ok, err = pcall(engine.import_relationships, engine, generator(5000), {
                progress = function(n)
                    if n == 3000 then
                        error(reason)
                    end
                end,
            })
            assert.is_false(ok)
            assert.equal(reason, err)
        end)
        assert.equal(5000, assert(engine:import_relationships(generator(5000))).count)
    end)

    it("leaves nothing behind when the iterator raises, or gives nil and a reason", function()
        local reason = {}
        local function broken(break_off)
            local next_one, n = generator(5000), 0

            return function()
                n = n + 1
                if n == 2500 then
                    return break_off()
                end
                return next_one()
            end
        end

        leaves_nothing(function()
            local ok, err = pcall(engine.import_relationships, engine, broken(function() error(reason) end))

            assert.is_false(ok)
            assert.equal(reason, err)
        end)
        leaves_nothing(function()
            local done, err = engine:import_relationships(broken(function() return nil, reason end))

            assert.is_nil(done)
            assert.equal(reason, err)
        end)
    end)

    it("is refused as a whole for one relationship", function()
        for text, code in pairs {
            ["document:x #owner@user:ana"] = "invalid_argument",
            ["document:x#colour@user:ana"] = "not_found",
            ["document:d1#owner@user:ana"] = "already_exists",
        } do
            local next_one, last = generator(1500), text

            assert.equal(code, world.failure(engine:import_relationships(function()
                local one = next_one()
                if not one then
                    one, last = last, nil
                end
                return one
            end)).code)
            assert.equal(0, count(engine))
        end
    end)

    it("raises for what is no relationship, and gives everything back at once", function()
        leaves_nothing(function()
            local next_one = generator(2999)

            assert.equal("bad argument #1 to 'import_relationships' (item 3000: relationship (string or table) " ..
                "expected, got boolean)", world.raised(function()
                return (engine:import_relationships(function() return next_one() or true end))
            end))
        end)
        local function refused(words, ...)
            assert.is_truthy(world.raised(engine.import_relationships, engine, ...):find(words, 1, true))
        end
        refused("list or iterator of relationships expected, got nil")
        refused("list or iterator of relationships expected, got string", "document:x#owner@user:ana")
        refused("holes", { nil, "document:x#owner@user:ana" })
        refused("item 2: resource_id: string expected", { "document:x#owner@user:ana", { resource_id = 1 } })
        refused("item 1: no field 'colour'", { { colour = "red" } })
        refused("progress: function expected, got number", {}, { progress = 1 })
        refused("batch_size: positive whole number expected", {}, { batch_size = 0 })
        refused("no field 'size'", {}, { size = 1 })
        assert.equal(0, count(engine))
    end)

    it("ends when its engine is closed meanwhile", function()
        local other = world.open()

        assert.equal("closed", world.failure(other:import_relationships(generator(2000), {
            progress = function() other:close() end,
        })).code)
    end)

    it("can not be done when the schema was replaced meanwhile", function()
        assert.equal("precondition_failed", world.failure(engine:import_relationships(generator(2000), {
            progress = function() assert(engine:write_schema(world.SCHEMA .. "\ndefinition planet {}\n")) end,
        })).code)
        assert.equal(0, count(engine))
    end)
end)

describe("an export", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    local function texts(...)
        local seen = {}

        for relationship in assert(...) do
            seen[#seen + 1] = tostring(relationship)
        end
        table.sort(seen)
        return seen
    end

    it("gives all relationships, or those of a filter", function()
        assert.same({
            "document:memo#viewer@user:*",
            "document:plan#owner@user:ana",
            "document:plan#viewer@group:staff#member",
            "group:staff#member@user:bo",
        }, texts(engine:export_relationships()))
        assert.same({ "group:staff#member@user:bo" }, texts(engine:export_relationships { resource_type = "group" }))
        assert.same({}, texts(engine:export_relationships { resource_type = "planet" }))
    end)

    it("stays at one revision, and goes on from a cursor", function()
        local stream = assert(engine:export_relationships { consistency = licet.FULL })
        local seen = { tostring(stream:next()), tostring(stream:next()) }
        local cursor = stream.cursor

        assert.equal("licet.RelationshipStream (open)", tostring(stream))
        stream:close()
        assert(engine:delete_relationships { resource_type = "document" })
        for relationship in assert(engine:export_relationships { cursor = cursor, consistency = licet.FULL }) do
            seen[#seen + 1] = tostring(relationship)
        end
        table.sort(seen)
        assert.equal(4, #seen)
        assert.equal("document:memo#viewer@user:*", seen[1])
        assert.equal("group:staff#member@user:bo", seen[4])
        assert.equal("invalid_token", world.failure(engine:export_relationships
            { cursor = cursor, resource_type = "group" }).code)
    end)

    it("raises for what is no filter", function()
        assert.is_truthy(world.raised(engine.export_relationships, engine, "x"):find("table expected", 1, true))
        assert.is_truthy(world.raised(engine.export_relationships, engine, { limit = 1 })
            :find("no field 'limit'", 1, true))
    end)
end)
