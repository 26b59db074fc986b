local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local function lines(text)
    return (text:gsub("\n*$", ""))
end

describe("expand", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("gives a permission as a tree of its operators over what is stored", function()
        local tree = assert(engine:expand("document:plan", "view"))

        assert.same({
            operation = "union",
            resource = "document:plan",
            relation = "view",
            subjects = {},
            children = {
                {
                    operation = "leaf",
                    resource = "document:plan",
                    relation = "viewer",
                    subjects = { "group:staff#member" },
                    children = {},
                },
                {
                    operation = "union",
                    resource = "document:plan",
                    relation = "edit",
                    subjects = {},
                    children = {
                        {
                            operation = "leaf",
                            resource = "document:plan",
                            relation = "owner",
                            subjects = { "user:ana" },
                            children = {},
                        },
                    },
                },
            },
        }, tree.root)
        assert.equal("union", tree.operation)
        assert.equal("view", tree.relation)
        assert.equal(tree.root.children, tree.children)
        assert.is_nil(tree.colour)
        assert.is_nil(tree[1])
    end)

    it("can be printed, and is JSON when it is asked for", function()
        local tree = assert(engine:expand("document:plan", "view", { consistency = licet.FULL }))

        assert.equal("union document:plan#view\n" ..
            "  leaf document:plan#viewer: group:staff#member\n" ..
            "  union document:plan#edit\n" ..
            "    leaf document:plan#owner: user:ana", lines(tostring(tree)))
        assert.equal('{"operation": "union", "resource": "document:plan", "relation": "view", "children": ' ..
            '[{"operation": "leaf", "resource": "document:plan", "relation": "viewer", "subjects": ' ..
            '["group:staff#member"]}, {"operation": "union", "resource": "document:plan", "relation": "edit", ' ..
            '"children": [{"operation": "leaf", "resource": "document:plan", "relation": "owner", "subjects": ' ..
            '["user:ana"]}]}]}', lines(tree:to_json()))
        assert.is_string(tree.token)
        assert.is_true(engine:allowed("document:plan", "view", "user:ana",
            { consistency = licet.at_exactly(tree.token) }))
    end)

    it("fails for what can not be asked", function()
        assert.equal("not_found", world.failure(engine:expand("document:plan", "sign")).code)
        assert.equal("invalid_argument", world.failure(engine:expand("plan", "view")).code)
    end)

    it("lives on when its engine is closed", function()
        local tree = assert(engine:expand("document:memo", "viewer"))

        engine:close()
        assert.same({ "user:*" }, tree.subjects)
        assert.equal("leaf document:memo#viewer: user:*", lines(tostring(tree)))
        engine = world.open()
    end)

    it("has no depth that is too deep for Lua", function()
        local deep = assert(licet.open("memory:", { max_depth = 1000 }))
        local list, depth = {}, 0

        assert(deep:write_schema [[
definition user {}

definition folder {
    relation parent: folder
    relation reader: user
    permission read = reader + parent->read
}
]])
        for i = 1, 400 do
            list[i] = ("folder:%d#parent@folder:%d"):format(i, i + 1)
        end
        assert(deep:touch(list))
        assert(deep:touch("folder:401#reader@user:ana"))
        local node = assert(deep:expand("folder:1", "read"))
        while node do
            depth = depth + 1
            node = node.children[#node.children]
        end
        assert.is_true(depth > 400)
        node, depth = assert(deep:explain("folder:1", "read", "user:ana")), 0
        assert.is_true(node.allowed)
        while node do
            depth = depth + 1
            node = node.children[#node.children]
        end
        assert.is_true(depth > 400)
        deep:close()
    end)
end)

describe("explain", function()
    local SCHEMA = [[
caveat grown(age int, least int) {
    age >= least
}

definition user {}

definition document {
    relation viewer: user | user with grown
    relation banned: user
    permission view = viewer - banned
}
]]
    local engine

    before_each(function()
        engine = assert(licet.open())
        assert(engine:write_schema(SCHEMA))
        assert(engine:touch('document:plan#viewer@user:ana[grown:{"least":18}]', "document:plan#viewer@user:bo"))
    end)

    after_each(function()
        engine:close()
    end)

    it("tells the whole way of a grant, with its caveats and their values", function()
        local trace = assert(engine:explain("document:plan", "view", "user:ana", { context = { age = 20 } }))
        local relation = trace.children[1]
        local row = relation.children[1]

        assert.is_true(trace.allowed)
        assert.equal("has_permission", trace.permissionship)
        assert.equal("document:plan", trace.resource)
        assert.equal("view", trace.permission)
        assert.equal("exclusion", trace.reason)
        assert.is_true(trace.is_permission)
        assert.is_nil(trace.error)
        assert.is_false(trace.is_cut)
        assert.equal(2, #trace.children)
        assert.equal("viewer", relation.permission)
        assert.equal("relation", relation.reason)
        assert.is_false(relation.is_permission)
        assert.equal("relationship", row.reason)
        assert.equal('document:plan#viewer@user:ana[grown:{"least":18}]', tostring(row.relationship))
        assert.equal("ana", row.relationship.subject_id)
        assert.equal("grown", row.caveat_name)
        assert.equal("age >= least", row.caveat_expression)
        assert.same({ age = 20, least = 18 }, row.caveat_context)
        assert.same({}, row.missing_context)
        assert.is_false(trace.children[2].allowed)
        assert.is_string(trace.token)
    end)

    it("names what is missing, and says what was tried for a denial", function()
        local trace = assert(engine:explain("document:plan", "view", "user:ana"))

        assert.is_false(trace.allowed)
        assert.equal("conditional", trace.permissionship)
        assert.same({ "age" }, trace.children[1].children[1].missing_context)
        trace = assert(engine:explain("document:plan", "view", "user:cy"))
        assert.is_false(trace.allowed)
        assert.equal("no_permission", trace.permissionship)
        assert.equal("denied document:plan#view (exclusion)", tostring(trace):match("^[^\n]+"))
    end)

    it("can be printed, and is JSON when it is asked for", function()
        local trace = assert(engine:explain("document:plan", "view", "user:bo"))

        assert.equal("allowed document:plan#view (exclusion)\n" ..
            "  allowed document:plan#viewer (relation)\n" ..
            "    allowed document:plan#viewer (relationship) by document:plan#viewer@user:bo\n" ..
            "  denied document:plan#banned (relation)", lines(tostring(trace)))
        assert.equal('{"resource": "document:plan", "permission": "view", "is_permission": true, ' ..
            '"result": "allowed", "reason": "exclusion", ', trace:to_json():sub(1, 120):match("^.-\"exclusion\", "))
    end)

    it("decides as a check does", function()
        for _, subject in ipairs { "user:ana", "user:bo", "user:cy" } do
            for _, context in ipairs { {}, { age = 17 }, { age = 18 } } do
                local options = { context = context }
                local _, result = engine:check("document:plan", "view", subject, options)

                assert.equal(result.permissionship,
                    assert(engine:explain("document:plan", "view", subject, options)).permissionship)
            end
        end
    end)

    it("says how far it came when a caveat has no value", function()
        local err = world.failure(engine:explain("document:plan", "view", "user:ana", { context = { age = "old" } }))

        assert.equal("invalid_argument", err.code)
        assert.equal("CAVEAT_PARAMETER_TYPE_ERROR", err.reason)
        assert.equal("document:plan", err.trace.resource)
        assert.equal("invalid_argument", err.trace.error)
        assert.is_false(err.trace.allowed)
        assert.is_nil(world.failure(engine:explain("document:plan", "sign", "user:ana")).trace)
    end)
end)
