local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("reading relationships", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("gives what a filter selects, in a generic for", function()
        local seen = {}

        for relationship in assert(engine:read_relationships { resource_type = "group" }) do
            seen[#seen + 1] = relationship
        end
        assert.equal(1, #seen)
        assert.equal("group", seen[1].resource_type)
        assert.equal("staff", seen[1].resource_id)
        assert.equal("member", seen[1].relation)
        assert.equal("user", seen[1].subject_type)
        assert.equal("bo", seen[1].subject_id)
        assert.is_nil(seen[1].subject_relation)
        assert.equal("group:staff", seen[1].resource)
        assert.equal("user:bo", seen[1].subject)
        assert.equal("group:staff#member@user:bo", tostring(seen[1]))
    end)

    it("matches every field that is given", function()
        assert.same({ "document:plan#viewer@group:staff#member" },
            world.texts(engine, { resource_type = "document", subject_type = "group", subject_relation = "member" }))
        assert.same({}, world.texts(engine,
            { resource_type = "document", subject_type = "group", subject_relation = "" }))
        assert.same({ "document:memo#viewer@user:*" },
            world.texts(engine, { resource_type = "document", resource_id_prefix = "me" }))
        assert.same({ "document:memo#viewer@user:*" },
            world.texts(engine, { resource_type = "document", subject_type = "user", subject_id = "*" }))
        assert.same({}, world.texts(engine, { resource_type = "document", resource_id_prefix = "_e" }))
    end)

    it("goes on from a cursor", function()
        local options = { resource_type = "document", limit = 2 }
        local stream = assert(engine:read_relationships(options))
        local seen = {}

        assert.is_nil(stream.cursor)
        for relationship in stream do
            seen[#seen + 1] = tostring(relationship)
        end
        assert.equal(2, #seen)
        options.cursor = stream.cursor
        assert.is_string(options.cursor)
        for relationship in assert(engine:read_relationships(options)) do
            seen[#seen + 1] = tostring(relationship)
        end
        table.sort(seen)
        assert.same({
            "document:memo#viewer@user:*",
            "document:plan#owner@user:ana",
            "document:plan#viewer@group:staff#member",
        }, seen)

        options.resource_id = "plan"
        assert.equal("invalid_token", world.failure(engine:read_relationships(options)).code)
        options = { resource_type = "document", cursor = "x" }
        assert.equal("invalid_token", world.failure(engine:read_relationships(options)).code)
    end)

    it("stays at its revision while others write", function()
        local stream = assert(engine:read_relationships { resource_type = "document" })
        local token = stream.token
        local count = 0

        assert.is_string(token)
        assert(engine:delete_relationships { resource_type = "document" })
        for _ in stream do
            count = count + 1
        end
        assert.equal(3, count)
        assert.equal(0, #world.texts(engine, { resource_type = "document" }))
        assert.equal(3, #world.texts(engine, { resource_type = "document", consistency = licet.at_exactly(token) }))
    end)

    it("can be done by hand, and says that it has ended for ever", function()
        local stream = assert(engine:read_relationships { resource_type = "group" })

        assert.equal("group:staff#member@user:bo", tostring(stream:next()))
        assert.equal(0, select("#", stream:next()))
        assert.equal(0, select("#", stream:next()))
        assert.equal("licet.RelationshipStream (open)", tostring(stream))
        stream:close()
        stream:close()
        assert.equal("licet.RelationshipStream (closed)", tostring(stream))
        assert.equal("closed", world.failure(stream:next()).code)
        assert.is_nil(stream.cursor)
        assert.is_nil(stream.token)
    end)

    it("fails at the start for a filter that can not be used", function()
        assert.equal("invalid_argument", world.failure(engine:read_relationships {}).code)
        assert.equal("not_found", world.failure(engine:read_relationships { resource_type = "planet" }).code)
        assert.equal("limit_exceeded",
            world.failure(engine:read_relationships { resource_type = "document", limit = 1001 }).code)
    end)
end)
