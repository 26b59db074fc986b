local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local URI = os.getenv("LICET_TEST_POSTGRES")
local count = 0

-- The options of an engine with tables of its own. They stay: the name of a Postgres schema is never used twice.
local function tables(options)
    count = count + 1
    options = options or {}
    options.postgres_schema = ("lua_%s_%d_%d"):format(_VERSION:gsub("%W", ""):lower(), os.time(), count)
    assert(licet.migrate(URI, { postgres_schema = options.postgres_schema }))
    return options
end

local function open(options)
    local engine = assert(licet.open(URI, tables(options)))

    assert(engine:write_schema(world.SCHEMA))
    return engine, assert(engine:touch(world.RELATIONSHIPS))
end

describe("on Postgres", function()
    if not URI or URI == "" then
        pending("there is no Postgres; see LICET_TEST_POSTGRES")
        return
    end

    it("migrate says what it runs and runs it once", function()
        local options = { postgres_schema = "lua_migrated_" .. os.time() .. (jit and "_jit" or ""), dry_run = true }
        local planned = assert(licet.migrate(URI, options))

        assert.is_truthy(planned:find('CREATE TABLE "' .. options.postgres_schema .. '".rel', 1, true))
        options.dry_run = false
        assert.equal(planned, licet.migrate(URI, options))
        assert.equal("", licet.migrate(URI, options))
    end)

    it("doctor tells what it looked at", function()
        local options = tables()
        local report = assert(licet.doctor(URI, options))
        local levels, store = {}, nil

        for _, finding in ipairs(report.findings) do
            levels[finding.level] = true
            if finding.name == "store" then
                store = finding
            end
        end
        assert.equal("ok", store.level)
        assert.is_string(store.message)
        assert.equal(report.ok, not levels.error)
    end)

    for _, mode in ipairs { "follow", "prefetch" } do
        it("a token shows what it names, when the mode is " .. mode, function()
            local engine, token = open { mode = mode }
            local at_least = { consistency = licet.at_least(token) }

            assert.is_true(engine:allowed("document:plan", "view", "user:bo", at_least))
            assert.is_false(engine:allowed("document:plan", "edit", "user:bo", at_least))
            assert.is_true(engine:allowed("document:plan", "edit", "user:ana", { consistency = licet.FULL }))
            assert.equal(mode, engine:stats().mode)
            engine:close()
        end)
    end

    it("what may not block fails where it would", function()
        local engine, token = open { mode = "follow" }
        local full = { consistency = licet.FULL, may_block = false }
        local calls = {
            allowed = function(options) return engine:allowed("document:plan", "view", "user:ana", options) end,
            check = function(options) return engine:check("document:plan", "view", "user:ana", options) end,
            check_bulk = function(options)
                return engine:check_bulk({ { "document:plan", "view", "user:ana" } }, options)
            end,
            filter = function(options) return engine:filter("document", { "plan" }, "view", "user:ana", options) end,
            permissions = function(options) return engine:permissions("document:plan", "user:ana", options) end,
            lookup_resources = function(options)
                return engine:lookup_resources("document", "view", "user:ana", options)
            end,
            lookup_subjects = function(options)
                return engine:lookup_subjects("document:plan", "view", "user", options)
            end,
            expand = function(options) return engine:expand("document:plan", "view", options) end,
            explain = function(options) return engine:explain("document:plan", "view", "user:ana", options) end,
            export_relationships = function(options) return engine:export_relationships(options) end,
            schema_impact = function(options) return engine:schema_impact(world.SCHEMA, options) end,
        }

        for name, call in pairs(calls) do
            local err = world.failure(call(full))

            assert.equal("unavailable", err.code, name)
            assert.equal("WOULD_BLOCK", err.reason, name)
            assert.is_truthy(call { consistency = licet.at_least(token), may_block = false }, name)
        end
        engine:close()
    end)

    it("an engine is ready once its graph is loaded", function()
        local engine = assert(licet.open(URI, tables { mode = "follow" }))

        assert.is_false(engine:stats().is_ready)
        assert.is_true(engine:await_ready(20))
        local stats = engine:stats()
        assert.is_true(stats.is_ready)
        assert.is_true(stats.is_connected)
        assert.equal("follow", stats.mode)
        assert.equal(1, stats.loads)
        assert.equal(0, engine:collect_garbage())
        engine:close()
    end)

    it("a log is told at the next call, or when the engine is closed", function()
        local told = {}
        local options = tables { mode = "follow", log = function(level, line) told[#told + 1] = level .. ": " .. line end }
        local engine = assert(licet.open(URI, options))

        assert.is_true(engine:await_ready(20))
        assert.same({}, told)
        engine:stats()
        assert.same({ "info: loaded 0 relationships from the database" }, told)
        engine:close()

        options.log = function(level, line)
            told[#told + 1] = level .. ": " .. line
            error("no answer changes")
        end
        engine = assert(licet.open(URI, options))
        assert.is_true(engine:await_ready(20))
        engine:close()
        assert.equal("info: loaded 0 relationships from the database", told[2])
        assert.equal(2, #told)
    end)

    it("a log may use the engine, and close it", function()
        local engine
        local options = tables {
            mode = "follow",
            log = function()
                assert(engine:stats())
                engine:close()
            end,
        }

        engine = assert(licet.open(URI, options))
        assert.is_true(engine:await_ready(20))
        assert.equal("closed", world.failure(engine:allowed("document:plan", "view", "user:ana")).code)
        assert.equal("licet.Engine (closed)", tostring(engine))
    end)

    it("streams keep the log of an engine that nobody refers to", function()
        local stream

        do
            local engine = open { mode = "follow", log = function() end }
            stream = assert(engine:read_relationships { resource_type = "document", consistency = licet.FULL })
        end
        collectgarbage()
        collectgarbage()
        local number = 0
        for _ in stream do
            number = number + 1
        end
        assert.equal(3, number)
        stream:close()
    end)
end)
