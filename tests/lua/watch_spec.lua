local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("a watch", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    local function told(changes)
        local seen = {}

        for change in changes do
            seen[#seen + 1] = change.operation ..
                (change.relationship and " " .. tostring(change.relationship) or "")
        end
        return seen
    end

    -- Of one write: in no order that means anything.
    local function sorted(changes)
        local seen = told(changes)

        table.sort(seen)
        return seen
    end

    it("tells what is written and deleted, one change for each relationship", function()
        local changes = assert(engine:watch())

        assert.same({}, told(changes))
        assert(engine:touch("document:a#owner@user:ana", "document:b#owner@user:ana"))
        assert.same({ "touch document:a#owner@user:ana", "touch document:b#owner@user:ana" }, sorted(changes))
        assert(engine:delete("document:a#owner@user:ana"))
        assert(engine:create("document:c#owner@user:ana"))
        assert.same({ "delete document:a#owner@user:ana", "touch document:c#owner@user:ana" }, told(changes))
        assert.same({}, told(changes))
        assert.equal("licet.ChangeStream (open)", tostring(changes))
    end)

    it("goes on after a token, and after the last change that was dealt with", function()
        local before = assert(engine:touch("document:a#owner@user:ana"))
        local first = assert(engine:touch("document:b#owner@user:ana", "document:c#owner@user:ana"))
        local second = assert(engine:touch("document:d#owner@user:ana"))
        local changes = assert(engine:watch { since = before })

        assert.equal(before, changes.token)
        local change = changes:next()
        assert.equal("touch", change.operation)
        assert.equal(first, change.written_at)
        assert.equal(before, change.token)
        assert.equal(before, changes.token)
        assert.equal(3, #told(assert(engine:watch { since = change.token })))
        change = changes:next()
        assert.equal(first, change.written_at)
        assert.equal(first, change.token)
        assert.equal(first, changes.token)
        assert.same({ "touch document:d#owner@user:ana" }, told(assert(engine:watch { since = change.token })))
        change = changes:next()
        assert.equal(second, change.token)
        assert.equal(second, change.written_at)
        assert.equal(0, select("#", changes:next()))
        assert.equal(second, changes.token)
    end)

    it("may be of some types or filters only", function()
        local since = assert(engine:touch("document:a#owner@user:ana"))

        assert(engine:touch("document:b#owner@user:ana", "document:b#viewer@user:bo", "group:g#member@user:bo"))
        assert.same({ "touch group:g#member@user:bo" },
            told(assert(engine:watch { since = since, resource_types = { "group" } })))
        assert.same({ "touch document:b#viewer@user:bo", "touch group:g#member@user:bo" },
            sorted(assert(engine:watch {
                since = since,
                filters = { { resource_type = "group" }, { resource_type = "document", relation = "viewer" } },
            })))
        assert.equal("invalid_argument", world.failure(engine:watch {
            resource_types = { "group" },
            filters = { { resource_type = "group" } },
        }).code)
        assert.equal("not_found", world.failure(engine:watch { filters = { { resource_type = "planet" } } }).code)
        assert.equal("invalid_token", world.failure(engine:watch { since = "x" }).code)
    end)

    it("tells of the schema and of checkpoints when it is asked to", function()
        local since = assert(engine:touch("document:a#owner@user:ana"))
        local written = assert(engine:write_schema(world.SCHEMA .. "\ndefinition planet {}\n"))

        assert.same({}, told(assert(engine:watch { since = since })))
        local changes = assert(engine:watch { since = since, schema = true })
        local change = changes:next()
        assert.equal("schema", change.operation)
        assert.is_nil(change.relationship)
        assert.equal(written, change.token)
        assert.equal(written, change.written_at)
        assert.is_nil(changes:next())
        assert(engine:touch("document:b#owner@user:ana"))
        assert.same({ "schema", "checkpoint", "touch document:b#owner@user:ana", "checkpoint" },
            told(assert(engine:watch { since = since, schema = true, checkpoints = true })))
        for checkpoint in assert(engine:watch { since = written, checkpoints = true }) do
            assert.equal(checkpoint.operation == "checkpoint", checkpoint.token == checkpoint.written_at)
        end
    end)

    it("tells the metadata of a write", function()
        local metadata = { who = "ana", times = 3, tags = { "a", "b" }, nothing = licet.null }
        local since = assert(engine:touch("document:a#owner@user:ana"))

        assert(engine:write({ licet.touch("document:b#owner@user:ana") }, nil, { metadata = metadata }))
        assert(engine:delete_relationships { resource_type = "document", resource_id = "b", metadata = '{"why": 1}' })
        assert(engine:touch("document:c#owner@user:ana"))
        local changes = assert(engine:watch { since = since })
        assert.same(metadata, changes:next().metadata)
        assert.same({ why = 1 }, changes:next().metadata)
        assert.is_nil(changes:next().metadata)
        for text, code in pairs {
            ["{"] = "invalid_argument",
            ["[]"] = "invalid_argument",
        } do
            assert.equal(code, world.failure(engine:write({ licet.touch("document:d#owner@user:ana") }, nil,
                { metadata = text })).code)
        end
    end)

    it("waits for the time that it was given, and no longer", function()
        local changes = assert(engine:watch { timeout = 1 })
        local before = os.time()

        assert.equal(0, select("#", changes:next()))
        local waited = os.time() - before
        assert.is_true(waited >= 1 and waited < 30, waited)
        assert(engine:touch("document:a#owner@user:ana"))
        assert.equal("touch", changes:next().operation)
    end)

    it("ends with its engine, and when it is closed", function()
        local changes = assert(engine:watch())
        local other = assert(engine:watch())

        other:close()
        assert.equal("licet.ChangeStream (closed)", tostring(other))
        assert.equal("closed", world.failure(other:next()).code)
        assert.is_nil(other.token)
        engine:close()
        assert.equal("closed", world.failure(changes:next()).code)
        local ok, err = pcall(changes)
        assert.is_false(ok)
        assert.equal("closed", err.code)
    end)

    it("keeps its engine when nobody else does", function()
        local changes

        do
            local lonely = world.open()
            local since = assert(lonely:touch("document:a#owner@user:ana"))
            assert(lonely:touch("document:b#owner@user:ana"))
            changes = assert(lonely:watch { since = since })
        end
        collectgarbage()
        collectgarbage()
        assert.same({ "touch document:b#owner@user:ana" }, told(changes))
    end)

    it("whose place has left the history is an error", function()
        local short = assert(licet.open("memory:", { history_window_ms = 1 }))
        local deadline = os.clock() + 10
        local changes, err

        assert(short:write_schema(world.SCHEMA))
        local since = assert(short:touch("document:a#owner@user:ana"))
        repeat
            assert(short:touch("document:b#owner@user:ana"))
            assert(short:delete("document:b#owner@user:ana"))
            changes, err = short:watch { since = since }
        until not changes or os.clock() > deadline
        assert.is_nil(changes)
        assert.equal("revision_expired", err.code)
        short:close()
    end)
end)
