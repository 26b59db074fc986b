local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

-- Every call that takes a consistency, as something that can be compared.
local READS = {
    allowed = function(engine, options) return engine:allowed("document:plan", "view", "user:ana", options) end,
    check = function(engine, options) return (engine:check("document:plan", "view", "user:ana", options)) end,
    check_bulk = function(engine, options)
        return assert(engine:check_bulk({ { "document:plan", "view", "user:ana" } }, options))[1].allowed
    end,
    filter = function(engine, options)
        return table.concat(assert(engine:filter("document", { "plan" }, "view", "user:ana", options)), " ")
    end,
    permissions = function(engine, options)
        return table.concat(assert(engine:permissions("document:plan", "user:ana", options)), " ")
    end,
    lookup_resources = function(engine, options)
        return (assert(engine:lookup_resources("document", "owner", "user:ana", options)):next())
    end,
    lookup_subjects = function(engine, options)
        return (assert(engine:lookup_subjects("document:plan", "owner", "user", options)):next())
    end,
    lookup_resource_ids = function(engine, options)
        return (assert(engine:lookup_resource_ids("document", "owner", "user:ana", options)):next())
    end,
    lookup_subject_ids = function(engine, options)
        return (assert(engine:lookup_subject_ids("document:plan", "owner", "user", options)):next())
    end,
    expand = function(engine, options) return tostring(assert(engine:expand("document:plan", "view", options))) end,
    explain = function(engine, options)
        return tostring(assert(engine:explain("document:plan", "view", "user:ana", options)))
    end,
    read_relationships = function(engine, options)
        options = options or {}
        options.resource_type = "group"
        return table.concat(world.texts(engine, options), " ")
    end,
    export_relationships = function(engine, options)
        return tostring(assert(engine:export_relationships(options)):next())
    end,
    schema_impact = function(engine, options)
        return (assert(engine:schema_impact(world.SCHEMA .. "definition other {}\n", options)):next())
    end,
}

describe("a memory store", function()
    for name, read in pairs(READS) do
        it("answers " .. name .. " whether or not it may block", function()
            local engine = world.open()
            local expected = read(engine)

            assert.equal(expected, read(engine, { may_block = false }))
            assert.equal(expected, read(engine, { may_block = true, consistency = licet.FULL }))
            assert.equal(expected, read(engine, { consistency = licet.FULL, may_block = false }))
            engine:close()
        end)
    end

    it("is always ready and has no garbage", function()
        local engine = world.open()

        assert.is_true(engine:await_ready())
        assert.is_true(engine:await_ready(0))
        assert.is_true(engine:await_ready(2.5))
        assert.equal(0, engine:collect_garbage())
        engine:close()
    end)

    it("has none of the figures of a database", function()
        local engine = world.open()
        local stats = assert(engine:stats())

        assert.is_nil(stats.mode)
        assert.is_true(stats.is_ready)
        for _, name in ipairs { "is_connected", "is_encrypted", "is_verified" } do
            assert.is_false(stats[name], name)
        end
        for _, name in ipairs { "staleness_ms", "round_trips", "catch_ups", "shared_catch_ups", "loads", "reconnects",
            "prefetches" } do
            assert.equal(0, stats[name], name)
        end
        engine:close()
    end)

    it("has nothing to say", function()
        local engine = world.open { log = function() error("told") end }

        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        engine:close()
    end)
end)

describe("an option of the wrong type", function()
    local function message(options)
        return (world.raised(licet.open, "memory:", options):gsub("^bad argument #2 to '?[%w_.?]+'? ", ""))
    end

    it("raises", function()
        assert.equal([[(mode: "auto", "follow" or "prefetch" expected)]], message { mode = "fast" })
        assert.equal("(mode: string expected, got number)", message { mode = 1 })
        assert.equal("(postgres_schema: string expected, got boolean)", message { postgres_schema = true })
        assert.equal("(require_tls: boolean expected, got number)", message { require_tls = 1 })
        assert.equal("(max_connections: positive whole number expected)", message { max_connections = 0 })
        assert.equal("(log: function expected, got string)", message { log = "stderr" })
        local engine = world.open()
        for wrong, call in pairs {
            ["may_block: boolean expected, got number"] = function()
                return engine:allowed("document:plan", "view", "user:ana", { may_block = 1 })
            end,
            ["number expected, got string"] = function() return engine:await_ready("1") end,
            ["seconds from 0 on expected"] = function() return engine:await_ready(-1) end,
        } do
            assert.is_truthy(world.raised(call):find(wrong, 1, true), wrong)
        end
        engine:close()
    end)

    it("raises in what tends a database", function()
        assert.is_truthy(world.raised(licet.migrate):find("string expected, got no value", 1, true))
        assert.is_truthy(world.raised(licet.doctor, 5):find("string expected, got number", 1, true))
        assert.is_truthy(world.raised(licet.migrate, "host=db", { dry_run = 1 }):find("dry_run: boolean expected", 1, true))
        assert.is_truthy(world.raised(licet.doctor, "host=db", { dry_run = true }):find("no field 'dry_run'", 1, true))
    end)
end)

describe("a connection string", function()
    it("is in no error", function()
        for _, uri in ipairs {
            "postgresql://ana:hunter2@db/licet?nosuch=hunter2",
            "host=db password=hunter2 password=hunter2",
            "mongodb://ana:hunter2@db",
        } do
            for _, call in ipairs { licet.open, licet.migrate, licet.doctor } do
                local err = world.failure(call(uri))

                assert.equal("invalid_argument", err.code)
                assert.equal("config", err.kind)
                assert.is_nil(tostring(err):find("hunter2", 1, true))
            end
        end
    end)
end)
