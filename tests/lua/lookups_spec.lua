local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local SCHEMA = [[
caveat grown(age int, least int) {
    age >= least
}

definition user {}

definition group {
    relation member: user | group#member
}

definition document {
    relation owner: user
    relation viewer: user | user:* | user with grown | group#member
    relation banned: user | user with grown
    permission edit = owner
    permission view = (viewer + edit) - banned
}
]]

local RELATIONSHIPS = {
    "document:plan#owner@user:ana",
    "document:plan#viewer@group:staff#member",
    'document:plan#viewer@user:cy[grown:{"least":18}]',
    "document:memo#viewer@user:*",
    "document:memo#banned@user:cy",
    'document:memo#banned@user:di[grown:{"least":65}]',
    "document:note#viewer@user:bo",
    "group:staff#member@user:bo",
}

local function open()
    local engine = assert(licet.open())

    assert(engine:write_schema(SCHEMA))
    assert(engine:touch(RELATIONSHIPS))
    return engine
end

-- The ids of a lookup, sorted, and what was said of each.
local function drain(...)
    local ids, answers = {}, {}

    for id, answer in assert(...) do
        ids[#ids + 1] = id
        answers[id] = answer
    end
    table.sort(ids)
    return ids, answers
end

describe("lookups", function()
    local engine

    before_each(function()
        engine = open()
    end)

    after_each(function()
        engine:close()
    end)

    describe("of resources", function()
        it("give each resource that a check allows, or allows under a condition", function()
            local ids, answers = drain(engine:lookup_resources("document", "view", "user:cy"))

            assert.same({ "plan" }, ids)
            assert.same({
                resource_id = "plan",
                allowed = false,
                permissionship = "conditional",
                missing_context = { "age" },
            }, answers.plan)
            ids, answers = drain(engine:lookup_resources("document", "view", "user:bo"))
            assert.same({ "memo", "note", "plan" }, ids)
            assert.same({
                resource_id = "note",
                allowed = true,
                permissionship = "has_permission",
                missing_context = {},
            }, answers.note)
            assert.same({}, (drain(engine:lookup_resources("document", "edit", "user:bo"))))
            assert.same({ "plan" }, (drain(engine:lookup_resources("document", "view", "group:staff#member"))))
        end)

        it("take a context", function()
            for age, permissionship in pairs { [18] = "has_permission", [17] = false } do
                local _, answers = drain(engine:lookup_resources("document", "view", "user:cy",
                    { context = { age = age } }))

                assert.equal(permissionship, answers.plan and answers.plan.permissionship or false)
            end
        end)

        it("go on from a cursor, and give each resource once", function()
            local options, seen, pages = { limit = 2 }, {}, 0

            repeat
                local stream = assert(engine:lookup_resources("document", "view", "user:bo", options))
                local count = 0

                assert.equal(options.cursor, stream.cursor)
                for id in stream do
                    count = count + 1
                    seen[#seen + 1] = id
                end
                pages = pages + 1
                options.cursor = stream.cursor
            until count == 0
            table.sort(seen)
            assert.same({ "memo", "note", "plan" }, seen)
            assert.equal(3, pages)
            assert.equal("invalid_token",
                world.failure(engine:lookup_resources("document", "view", "user:cy", options)).code)
        end)

        it("stay at their revision while others write", function()
            local stream = assert(engine:lookup_resources("document", "view", "user:bo"))
            local token = stream.token

            assert(engine:delete_relationships { resource_type = "document" })
            assert.same({ "memo", "note", "plan" }, (drain(stream)))
            assert.same({}, (drain(engine:lookup_resources("document", "view", "user:bo"))))
            assert.same({ "memo", "note", "plan" }, (drain(engine:lookup_resources("document", "view", "user:bo",
                { consistency = licet.at_exactly(token) }))))
        end)

        it("can be done by hand", function()
            local stream = assert(engine:lookup_resources("document", "edit", "user:ana"))

            assert.equal("licet.ResourceStream (open)", tostring(stream))
            local id, answer = stream:next()
            assert.equal("plan", id)
            assert.equal("plan", answer.resource_id)
            assert.equal(0, select("#", stream:next()))
            assert.equal(0, select("#", stream:next()))
            stream:close()
            assert.equal("licet.ResourceStream (closed)", tostring(stream))
            assert.equal("closed", world.failure(stream:next()).code)
        end)

        it("fail at the start for what can not be asked", function()
            assert.equal("not_found", world.failure(engine:lookup_resources("planet", "view", "user:bo")).code)
            assert.equal("not_found", world.failure(engine:lookup_resources("document", "sign", "user:bo")).code)
            assert.equal("invalid_argument", world.failure(engine:lookup_resources("document", "view", "bo")).code)
            assert.equal("limit_exceeded", world.failure(engine:lookup_resources("document", "view", "user:bo",
                { limit = 1001 })).code)
            assert.equal("invalid_argument", world.failure(engine:lookup_resources("document", "view", "user:bo",
                { context = "{" })).code)
        end)
    end)

    describe("of subjects", function()
        it("give each subject once, with what a check says of it", function()
            local ids, answers = drain(engine:lookup_subjects("document:plan", "view", "user"))

            assert.same({ "ana", "bo", "cy" }, ids)
            assert.same({
                subject_id = "ana",
                allowed = true,
                permissionship = "has_permission",
                missing_context = {},
                excluded = {},
            }, answers.ana)
            assert.same({
                subject_id = "cy",
                allowed = false,
                permissionship = "conditional",
                missing_context = { "age" },
                excluded = {},
            }, answers.cy)
            assert.same({}, (drain(engine:lookup_subjects("document:nowhere", "view", "user"))))
        end)

        it("give the wildcard with those that it does not stand for", function()
            local ids, answers = drain(engine:lookup_subjects("document:memo", "view", "user"))

            assert.equal("*", ids[1])
            local excluded = answers["*"].excluded
            table.sort(excluded, function(a, b) return a.subject_id < b.subject_id end)
            assert.same({
                { subject_id = "cy", permissionship = "has_permission", missing_context = {} },
                { subject_id = "di", permissionship = "conditional", missing_context = { "age" } },
            }, excluded)
            assert.is_true(answers["*"].allowed)
            for _, id in ipairs((drain(engine:lookup_subjects("document:memo", "view", "user",
                { wildcards = false })))) do
                assert.are_not.equal("*", id)
            end
        end)

        it("give usersets when they are asked for", function()
            assert.same({ "staff" }, (drain(engine:lookup_subjects("document:plan", "view", "group",
                { subject_relation = "member" }))))
            assert.same({}, (drain(engine:lookup_subjects("document:plan", "view", "group"))))
        end)

        it("take a context, a limit and a cursor", function()
            local _, answers = drain(engine:lookup_subjects("document:plan", "view", "user",
                { context = { age = 18 } }))
            local options, seen = { limit = 1 }, {}

            assert.is_true(answers.cy.allowed)
            repeat
                local stream = assert(engine:lookup_subjects("document:plan", "view", "user", options))
                local id = stream:next()

                seen[#seen + 1] = id
                options.cursor = stream.cursor
            until not id
            table.sort(seen)
            assert.same({ "ana", "bo", "cy" }, seen)
        end)

        it("fail at the start for what can not be asked", function()
            assert.equal("not_found", world.failure(engine:lookup_subjects("document:plan", "sign", "user")).code)
            assert.equal("not_found", world.failure(engine:lookup_subjects("document:plan", "view", "planet")).code)
            assert.equal("invalid_argument", world.failure(engine:lookup_subjects("plan", "view", "user")).code)
        end)
    end)

    describe("of permissions", function()
        it("give the names in the order of the schema, and under each its result", function()
            local permissions = assert(engine:permissions("document:plan", "user:cy"))

            assert.equal(2, #permissions)
            assert.equal("edit", permissions[1])
            assert.equal("view", permissions[2])
            assert.is_false(permissions.edit.allowed)
            assert.equal("no_permission", permissions.edit.permissionship)
            assert.is_false(permissions.view.allowed)
            assert.equal("conditional", permissions.view.permissionship)
            assert.same({ "age" }, permissions.view.missing_context)
            assert.are_not.equal(permissions.view.missing_context, permissions.view.missing_context)
            assert.is_string(permissions.view.token)
            assert.equal(permissions.edit.token, permissions.view.token)
            assert.is_nil(permissions.sign)
            assert.equal("licet.Result (conditional)", tostring(permissions.view))
        end)

        it("can be chosen, also relations, in any order", function()
            local permissions = assert(engine:permissions("document:plan", "user:ana",
                { permissions = { "view", "owner" }, consistency = licet.FULL }))

            assert.equal(2, #permissions)
            assert.equal("view", permissions[1])
            assert.equal("owner", permissions[2])
            assert.is_true(permissions.view.allowed)
            assert.is_true(permissions.owner.allowed)
            assert.is_nil(permissions.edit)
            assert.same({}, assert(engine:permissions("document:plan", "user:ana", { permissions = {} })))
        end)

        it("take a context", function()
            assert.is_true(assert(engine:permissions("document:plan", "user:cy",
                { context = { age = 18 } })).view.allowed)
        end)

        it("keep an error with the permission that has it", function()
            local permissions = assert(engine:permissions("document:plan", "user:cy",
                { permissions = { "view", "edit" }, context = { age = "old" } }))

            assert.is_false(permissions.view.allowed)
            assert.equal("invalid_argument", permissions.view.error.code)
            assert.is_nil(permissions.edit.error)
        end)

        it("fail for what can not be asked", function()
            assert.equal("not_found", world.failure(engine:permissions("planet:plan", "user:ana")).code)
            assert.equal("invalid_argument", world.failure(engine:permissions("plan", "user:ana")).code)
        end)
    end)

    describe("of ids alone", function()
        local function collect(...)
            local ids = {}

            for id, nothing in assert(...) do
                assert.is_nil(nothing)
                ids[#ids + 1] = id
            end
            table.sort(ids)
            return ids
        end

        it("give what is allowed for certain, and nothing that depends on a context", function()
            assert.same({ "memo", "note", "plan" },
                collect(engine:lookup_resource_ids("document", "view", "user:bo")))
            assert.same({}, collect(engine:lookup_resource_ids("document", "view", "user:cy")))
            assert.same({ "plan" }, collect(engine:lookup_resource_ids("document", "view", "user:cy",
                { context = { age = 18 }, consistency = licet.FULL })))
            assert.same({ "ana", "bo" }, collect(engine:lookup_subject_ids("document:plan", "view", "user")))
            assert.same({ "ana", "bo", "cy" }, collect(engine:lookup_subject_ids("document:plan", "view", "user",
                { context = { age = 18 } })))
            assert.same({ "staff" }, collect(engine:lookup_subject_ids("document:plan", "view", "group",
                { subject_relation = "member" })))
        end)

        it("give no wildcard, but who is granted beside it by name", function()
            assert.same({}, collect(engine:lookup_subject_ids("document:memo", "view", "user")))
            assert(engine:touch { "document:memo#viewer@user:bo", "document:memo#viewer@user:cy",
                "document:memo#viewer@user:di" })
            assert.same({ "bo" }, collect(engine:lookup_subject_ids("document:memo", "view", "user")))
        end)

        it("come in full pages, though conditional answers stand between them", function()
            local long = ("x"):rep(1024)
            local expected = { long }

            for i = 1, 40 do
                assert(engine:touch(("document:c%d#viewer@user:ed[grown]"):format(i)))
                assert(engine:touch(("document:d%02d#viewer@user:ed"):format(i)))
                expected[i + 1] = ("d%02d"):format(i)
            end
            expected[#expected + 1] = "memo"
            assert(engine:touch("document:" .. long .. "#viewer@user:ed"))
            table.sort(expected)
            for limit = 1, 43 do
                local options, seen, token, count = { limit = limit }, {}, nil, nil

                repeat
                    local stream = assert(engine:lookup_resource_ids("document", "view", "user:ed", options))

                    count = 0
                    for id in stream do
                        count = count + 1
                        seen[#seen + 1] = id
                    end
                    assert.equal(token or stream.token, stream.token)
                    options.cursor, token = stream.cursor, stream.token
                until count < limit
                table.sort(seen)
                assert.same(expected, seen)
            end
        end)

        it("have cursors of their own", function()
            local stream = assert(engine:lookup_resource_ids("document", "view", "user:bo", { limit = 1 }))

            assert.is_nil(stream.cursor)
            assert.is_string(stream:next())
            assert.equal("invalid_token", world.failure(engine:lookup_resources("document", "view", "user:bo",
                { limit = 1, cursor = stream.cursor })).code)
        end)

        it("can be done by hand", function()
            local stream = assert(engine:lookup_resource_ids("document", "edit", "user:ana"))

            assert.equal("licet.ResourceIdStream (open)", tostring(stream))
            assert.equal(1, select("#", stream:next()))
            assert.equal(0, select("#", stream:next()))
            stream:close()
            assert.equal("closed", world.failure(stream:next()).code)
            assert.equal("licet.SubjectIdStream (open)",
                tostring(assert(engine:lookup_subject_ids("document:plan", "view", "user"))))
        end)

        it("fail as the others do", function()
            assert.equal("not_found", world.failure(engine:lookup_resource_ids("document", "sign", "user:bo")).code)
            assert.equal("not_found", world.failure(engine:lookup_subject_ids("document:plan", "sign", "user")).code)
            assert.equal("limit_exceeded", world.failure(engine:lookup_subject_ids("document:plan", "view", "user",
                { limit = 1001 })).code)
        end)
    end)

    it("are what filter does with a list of ids, in its order and as often", function()
        assert.same({ "note", "plan", "note" }, assert(engine:filter("document",
            { "note", "other", "plan", "note" }, "view", "user:bo")))
        assert.same({}, assert(engine:filter("document", { "plan" }, "view", "user:cy")))
        assert.same({ "plan" }, assert(engine:filter("document", { "plan" }, "view", "user:cy",
            { context = { age = 18 } })))
        assert.same({}, assert(engine:filter("document", {}, "view", "user:bo")))
        assert.equal("not_found", world.failure(engine:filter("document", { "plan" }, "sign", "user:bo")).code)
    end)
end)
