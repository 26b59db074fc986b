local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("a write", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("takes a relationship as text or as a table, one, several or a list of them", function()
        local parsed = assert(licet.Relationship.parse("document:a#owner@user:ana"))
        local fields = {
            resource_type = "document",
            resource_id = "b",
            relation = "viewer",
            subject_type = "group",
            subject_id = "staff",
            subject_relation = "member",
        }

        assert.is_string(engine:touch(parsed))
        assert.is_string(engine:touch(fields))
        assert.is_string(engine:touch("document:c#owner@user:ana", parsed, fields))
        assert.is_string(engine:touch { "document:d#owner@user:ana", parsed, fields })
        assert.is_string(engine:touch {})
        assert.is_true(engine:allowed("document:a", "view", "user:ana"))
        assert.is_true(engine:allowed("document:b", "view", "user:bo"))
        assert.is_true(engine:allowed("document:c", "view", "user:ana"))
        assert.is_true(engine:allowed("document:d", "view", "user:ana"))
        assert.is_string(engine:delete { parsed, "document:c#owner@user:ana" })
        assert.is_false(engine:allowed("document:a", "view", "user:ana"))
        assert.is_false(engine:allowed("document:c", "view", "user:ana"))
        assert.is_true(engine:allowed("document:d", "view", "user:ana"))
    end)

    it("creates only what is not there", function()
        assert.is_string(engine:create("document:a#owner@user:ana"))
        local err = world.failure(engine:create("document:b#owner@user:ana", "document:a#owner@user:ana"))
        assert.equal("already_exists", err.code)
        assert.equal("conflict", err.kind)
        assert.equal("ATTEMPT_TO_RECREATE_RELATIONSHIP", err.reason)
        assert.is_false(engine:allowed("document:b", "view", "user:ana"))
        assert.is_string(engine:touch("document:a#owner@user:ana"))
        assert.is_string(engine:delete("document:never#owner@user:ana"))
    end)

    it("mixes operations, all or none", function()
        assert.is_string(engine:write {
            licet.create("document:a#owner@user:ana"),
            licet.touch("document:plan#viewer@user:cy"),
            licet.delete("document:plan#owner@user:ana"),
        })
        assert.same({ "plan" }, assert(engine:filter("document", { "a", "plan" }, "view", "user:cy")))
        assert.same({ "a" }, assert(engine:filter("document", { "a", "plan" }, "view", "user:ana")))

        assert.equal("already_exists", world.failure(engine:write {
            licet.delete("document:plan#viewer@user:cy"),
            licet.create("document:a#owner@user:ana"),
        }).code)
        assert.is_true(engine:allowed("document:plan", "view", "user:cy"))
    end)

    it("happens only when its preconditions hold", function()
        local owned = { resource_type = "document", resource_id = "plan", relation = "owner" }
        local change = { licet.touch("document:plan#viewer@user:cy") }

        local err = world.failure(engine:write(change, { licet.must_match(owned), licet.must_not_match(owned) }))
        assert.equal("precondition_failed", err.code)
        assert.is_false(engine:allowed("document:plan", "view", "user:cy"))
        assert.is_string(engine:write(change, { licet.must_match(owned) }))
        assert.is_true(engine:allowed("document:plan", "view", "user:cy"))
        assert.equal("precondition_failed", world.failure(engine:write(change, {
            licet.must_match { resource_type = "document", resource_id = "none" },
        })).code)
        assert.equal("invalid_argument", world.failure(engine:write(change, { licet.must_match {} })).code)
        assert.is_string(engine:write(change, {}))
    end)

    it("says what is wrong and where", function()
        local err = world.failure(engine:touch("document:a#owner@user:ana", "document:a #owner@user:ana"))
        assert.equal("invalid_argument", err.code)
        assert.equal("syntax", err.kind)
        assert.equal(11, err.column)

        err = world.failure(engine:touch("document:a#sibling@user:ana"))
        assert.equal("not_found", err.code)
        assert.equal("name", err.kind)
        assert.equal("UNKNOWN_RELATION_OR_PERMISSION", err.reason)
        assert.is_nil(err.line)

        err = world.failure(engine:touch("document:a#owner@group:staff#member"))
        assert.equal("invalid_argument", err.code)
        assert.equal("type", err.kind)

        err = world.failure(engine:touch("document:a#owner@user:ana\0"))
        assert.equal("invalid_argument", err.code)
        assert.equal(26, err.column)

        err = world.failure(engine:touch { { resource_type = "document" } })
        assert.equal("invalid_argument", err.code)
    end)

    it("takes 1,000 relationships and no more", function()
        local list = {}

        for i = 1, 1000 do
            list[i] = "document:d" .. i .. "#owner@user:ana"
        end
        assert.is_string(engine:create(list))
        assert.is_true(engine:allowed("document:d1000", "view", "user:ana"))
        list[1001] = "document:d1001#owner@user:ana"
        assert.equal("limit_exceeded", world.failure(engine:touch(list)).code)
    end)
end)

describe("deleting by filter", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("deletes what matches", function()
        local deletion = assert(engine:delete_relationships { resource_type = "document", resource_id = "plan" })
        assert.equal(2, deletion.deleted_count)
        assert.is_false(deletion.partial)
        assert.is_string(deletion.token)
        assert.same({ "document:memo#viewer@user:*" }, world.texts(engine, { resource_type = "document" }))
    end)

    it("stops at a limit only when it may", function()
        assert.is_nil((engine:delete_relationships { resource_type = "document", limit = 2 }))
        assert.equal(3, #world.texts(engine, { resource_type = "document" }))
        local deletion = assert(engine:delete_relationships {
            resource_type = "document",
            limit = 2,
            allow_partial = true,
        })
        assert.equal(2, deletion.deleted_count)
        assert.is_true(deletion.partial)
        assert.equal(1, #world.texts(engine, { resource_type = "document" }))
    end)

    it("happens only when its preconditions hold", function()
        assert.equal("precondition_failed", world.failure(engine:delete_relationships {
            resource_type = "document",
            preconditions = { licet.must_match { resource_type = "group", resource_id = "none" } },
        }).code)
        assert.equal(3, #world.texts(engine, { resource_type = "document" }))
        assert.equal(3, assert(engine:delete_relationships {
            resource_type = "document",
            preconditions = { licet.must_match { resource_type = "group", resource_id = "staff" } },
        }).deleted_count)
    end)

    it("refuses an empty filter", function()
        local err = world.failure(engine:delete_relationships {})
        assert.equal("invalid_argument", err.code)
        assert.equal("INVALID_FILTER", err.reason)
        assert.equal(4, engine:stats().relationships)
    end)
end)
