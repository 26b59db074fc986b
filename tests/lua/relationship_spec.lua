local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("a relationship", function()
    local TEXT = "document:readme#viewer@group:eng#member"

    it("is parsed into its fields and printed again", function()
        local relationship = assert(licet.Relationship.parse(TEXT))

        assert.equal("document", relationship.resource_type)
        assert.equal("readme", relationship.resource_id)
        assert.equal("viewer", relationship.relation)
        assert.equal("group", relationship.subject_type)
        assert.equal("eng", relationship.subject_id)
        assert.equal("member", relationship.subject_relation)
        assert.is_nil(relationship.caveat_name)
        assert.is_nil(relationship.expiration)
        assert.equal("document:readme", relationship.resource)
        assert.equal("group:eng#member", relationship.subject)
        assert.equal(TEXT, tostring(relationship))
        assert.equal(TEXT, assert(relationship:format()))
        assert.equal(TEXT, assert(licet.Relationship.format(relationship)))
    end)

    it("keeps a caveat with its context, and an expiration", function()
        local text = 'document:readme#viewer@user:ada[hours:{"from":9}][expiration:2030-01-02T03:04:05Z]'
        local relationship = assert(licet.Relationship.parse(text))

        assert.equal("hours", relationship.caveat_name)
        assert.equal('{"from":9}', relationship.caveat_context)
        assert.equal("2030-01-02T03:04:05Z", relationship.expiration)
        assert.equal(text, tostring(relationship))
    end)

    it("is equal to another of the same fields", function()
        local one = assert(licet.Relationship.parse(TEXT))
        local same = assert(licet.Relationship.parse(TEXT))
        local other = assert(licet.Relationship.parse("document:readme#viewer@group:eng"))

        assert.is_true(one == same)
        assert.is_false(one == other)
        assert.is_false(rawequal(one, same))
    end)

    it("is formatted from any table with its fields", function()
        assert.equal("document:a#owner@user:b", assert(licet.Relationship.format {
            resource_type = "document",
            resource_id = "a",
            relation = "owner",
            subject_type = "user",
            subject_id = "b",
        }))
        assert.equal("document:a#owner@user:b", assert(licet.Relationship.format("document:a#owner@user:b#...")))
    end)

    it("is refused with the column of what is wrong", function()
        local err = world.failure(licet.Relationship.parse("document:readme#viewer@user:"))
        assert.equal("invalid_argument", err.code)
        assert.equal("syntax", err.kind)
        assert.equal(1, err.line)
        assert.equal(29, err.column)
        assert.equal("line 1, column 29: " .. err.message, tostring(err))

        for _, text in ipairs { "", "\0", "document:readme", "document:a#b@c:d", TEXT .. "\0", " " .. TEXT } do
            assert.equal("invalid_argument", world.failure(licet.Relationship.parse(text)).code)
        end
    end)

    it("is refused for a key twice in the context only where strict was asked for", function()
        local text = 'document:readme#viewer@user:ada[cav:{"n":1,"n":2}]'
        assert.equal('{"n":1,"n":2}', assert(licet.Relationship.parse(text)).caveat_context)
        assert.equal('{"n":1,"n":2}', assert(licet.Relationship.parse(text, { strict = false })).caveat_context)
        local err = world.failure(licet.Relationship.parse(text, { strict = true }))
        assert.equal("invalid_argument", err.code)
        assert.equal("value", err.kind)
        assert.equal(50, err.column)
        assert.equal("the caveat context is no JSON object: a key stands twice in an object", err.message)
    end)

    it("can not be formatted with fields missing", function()
        assert.equal("invalid_argument", world.failure(licet.Relationship.format { resource_type = "document" }).code)
    end)
end)
