local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("a check", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("is true for a definite yes and false for a no", function()
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        assert.is_true(engine:allowed("document:plan", "view", "user:bo"))
        assert.is_true(engine:allowed("document:plan", "view", "group:staff#member"))
        assert.is_true(engine:allowed("document:memo", "view", "user:nobody"))
        assert.is_false(engine:allowed("document:plan", "view", "user:cy"))
        assert.is_false(engine:allowed("document:plan", "edit", "user:bo"))
        assert.is_false(engine:allowed("document:unheard-of", "view", "user:ana"))
    end)

    it("gives one value when there is an answer, and nil and the error when there is none", function()
        assert.equal(1, select("#", engine:allowed("document:plan", "view", "user:ana")))
        local err = world.failure(engine:allowed("document:plan", "sign", "user:ana"))
        assert.equal("not_found", err.code)
    end)

    it("says more when asked with check()", function()
        local ok, result = engine:check("document:plan", "view", "user:ana")
        assert.is_true(ok)
        assert.is_true(result.allowed)
        assert.equal(licet.Permissionship.HAS_PERMISSION, result.permissionship)
        assert.equal("has_permission", result.permissionship)
        assert.same({}, result.missing_context)
        assert.is_nil(result.error)
        assert.is_string(result.token)
        assert.equal("licet.Result (has_permission)", tostring(result))

        ok, result = engine:check("document:plan", "view", "user:cy")
        assert.is_false(ok)
        assert.is_false(result.allowed)
        assert.equal(licet.Permissionship.NO_PERMISSION, result.permissionship)
        assert.equal("no_permission", result.permissionship)
        assert.is_string(result.token)
        assert.equal("licet.Result (no_permission)", tostring(result))

        assert.equal("not_found", world.failure(engine:check("document:plan", "sign", "user:ana")).code)
    end)

    it("gives a result that can not be changed", function()
        local _, result = engine:check("document:plan", "view", "user:cy")
        assert.is_false(pcall(function() result.allowed = true end))
        assert.is_false(result.allowed)
        assert.is_nil(result.colour)
        assert.is_nil(result[1])
    end)

    it("sees what was written before it, and at a token what was there then", function()
        local before = assert(engine:touch("document:plan#viewer@user:cy"))
        local after = assert(engine:delete("document:plan#viewer@user:cy"))

        assert.is_false(engine:allowed("document:plan", "view", "user:cy"))
        assert.is_false(engine:allowed("document:plan", "view", "user:cy", { consistency = licet.FULL }))
        assert.is_false(engine:allowed("document:plan", "view", "user:cy", { consistency = licet.MINIMIZE_LATENCY }))
        assert.is_false(engine:allowed("document:plan", "view", "user:cy", { consistency = licet.at_least(after) }))
        assert.is_false(engine:allowed("document:plan", "view", "user:cy", { consistency = licet.at_least(before) }))
        assert.is_true(engine:allowed("document:plan", "view", "user:cy", { consistency = licet.at_exactly(before) }))
        assert.is_false(engine:allowed("document:plan", "view", "user:cy", { consistency = licet.at_exactly(after) }))

        local ok, result = engine:check("document:plan", "view", "user:cy", { consistency = licet.at_exactly(before) })
        assert.is_true(ok)
        assert.is_true(engine:allowed("document:plan", "view", "user:cy",
            { consistency = licet.at_exactly(result.token) }))
    end)

    it("refuses tokens that are damaged or come from elsewhere", function()
        local other = world.open()
        local foreign = assert(other:touch("document:x#owner@user:ana"))
        other:close()
        local token = assert(engine:touch("document:x#owner@user:ana"))

        for _, bad in ipairs { "", "x", foreign, token .. "x", token:sub(1, -2), token .. "\0" } do
            for _, consistency in ipairs { licet.at_least(bad), licet.at_exactly(bad) } do
                local err = world.failure(
                    engine:allowed("document:plan", "view", "user:ana", { consistency = consistency }))
                assert.equal("invalid_token", err.code)
                assert.equal("token", err.kind)
            end
        end
    end)

    it("keeps a NUL as part of the text, and refuses it", function()
        for _, question in ipairs {
            { "document:plan\0", "view", "user:ana" },
            { "document:plan", "view\0", "user:ana" },
            { "document:plan", "view", "user:ana\0b" },
            { "document:\0plan", "view", "user:ana" },
        } do
            local err = world.failure(engine:allowed(question[1], question[2], question[3]))
            assert.is_true(err.code == "invalid_argument" or err.code == "not_found", err.code)
            assert.is_nil(err.message:find("%z"))
        end
    end)

    it("runs in coroutines", function()
        local answers = {}
        local ask = coroutine.wrap(function()
            for _, subject in ipairs { "user:ana", "user:cy", "user:bo" } do
                coroutine.yield(engine:allowed("document:plan", "view", subject))
            end
        end)

        for i = 1, 3 do
            answers[i] = ask()
        end
        assert.same({ true, false, true }, answers)
    end)
end)

describe("a bulk check", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("answers each item in its place", function()
        local results = assert(engine:check_bulk {
            { "document:plan", "view", "user:ana" },
            { "document:plan", "edit", "user:bo" },
            { "document:plan", "view", "user:bo" },
            { "document:memo", "view", "user:cy" },
        })
        local allowed = {}

        for i, result in ipairs(results) do
            allowed[i] = result.allowed
            assert.equal(results[1].token, result.token)
        end
        assert.same({ true, false, true, true }, allowed)
        assert.same({}, assert(engine:check_bulk {}))
    end)

    it("leaves an item's error with the item, which is then a denial", function()
        local results = assert(engine:check_bulk {
            { "document:plan", "view", "user:ana" },
            { "document:plan", "sign", "user:ana" },
            { "document:plan", "view", "user:bo" },
        })

        assert.is_true(results[1].allowed)
        assert.is_nil(results[1].error)
        assert.is_false(results[2].allowed)
        assert.equal("no_permission", results[2].permissionship)
        assert.equal("not_found", results[2].error.code)
        assert.equal("UNKNOWN_RELATION_OR_PERMISSION", results[2].error.reason)
        assert.is_nil(results[2].token)
        assert.equal("licet.Result (not_found)", tostring(results[2]))
        assert.is_true(results[3].allowed)
    end)

    it("fails as a whole for an item without a shape, and for too many", function()
        local items = { { "document:plan", "view", "user:ana" }, { "document", "view", "user:ana" } }
        local err = world.failure(engine:check_bulk(items))
        assert.equal("invalid_argument", err.code)
        assert.equal("value", err.kind)
        assert.is_truthy(err.message:find("item 2", 1, true))

        for i = 1, 10001 do
            items[i] = items[1]
        end
        assert.equal("limit_exceeded", world.failure(engine:check_bulk(items)).code)
    end)

    it("answers at the revision of a token", function()
        local before = assert(engine:touch("document:plan#viewer@user:cy"))
        local item = { "document:plan", "view", "user:cy" }

        assert(engine:delete("document:plan#viewer@user:cy"))
        assert.is_false(assert(engine:check_bulk({ item }))[1].allowed)
        assert.is_true(assert(engine:check_bulk({ item }, { consistency = licet.at_exactly(before) }))[1].allowed)
        assert.equal("invalid_token",
            world.failure(engine:check_bulk({ item }, { consistency = licet.at_least "x" })).code)
    end)
end)

describe("a filter", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    it("gives the ids that are allowed, in their order", function()
        assert.same({ "memo", "plan" },
            assert(engine:filter("document", { "memo", "x", "plan", "y" }, "view", "user:bo")))
        assert.same({ "memo", "memo" },
            assert(engine:filter("document", { "memo", "plan", "memo" }, "view", "user:cy")))
        assert.same({}, assert(engine:filter("document", { "plan" }, "edit", "user:bo")))
        assert.same({}, assert(engine:filter("document", {}, "view", "user:bo")))
        assert.same({ "plan" }, assert(engine:filter("document", { "plan" }, "view", "user:bo",
            { consistency = licet.FULL })))
    end)

    it("fails when one of them can not be answered", function()
        assert.equal("not_found", world.failure(engine:filter("document", { "plan" }, "sign", "user:bo")).code)
        assert.equal("invalid_argument",
            world.failure(engine:filter("document", { "plan", "a b" }, "view", "user:bo")).code)
        assert.equal("invalid_argument",
            world.failure(engine:filter("document", { "plan", "" }, "view", "user:bo")).code)
        assert.equal("invalid_argument",
            world.failure(engine:filter("document", { "plan\0" }, "view", "user:bo")).code)
    end)
end)
