local world = dofile "tests/lua/support/world.lua"

describe("the impact of a new schema", function()
    local engine

    before_each(function()
        engine = world.open()
    end)

    after_each(function()
        engine:close()
    end)

    local function consequences(...)
        local seen = {}

        for impact in assert(...) do
            seen[#seen + 1] = impact
        end
        return seen
    end

    local function changed(from, to)
        local text, count = world.SCHEMA:gsub(from, to, 1)

        assert.equal(1, count)
        return text
    end

    it("is nothing for the same one", function()
        assert.same({}, consequences(engine:schema_impact(world.SCHEMA)))
    end)

    it("is each decision that becomes less or more", function()
        local text = changed("permission view = viewer %+ edit", "permission view = viewer")

        assert.same({
            {
                kind = "lost",
                resource = "document:plan",
                permission = "view",
                subject = "user:ana",
                before = "has_permission",
                after = "no_permission",
            },
        }, consequences(engine:schema_impact(text)))
        text = changed("permission edit = owner", "permission edit = owner + viewer")
        local gained = {}
        for _, impact in ipairs(consequences(engine:schema_impact(text))) do
            assert.equal("gained", impact.kind)
            assert.equal("no_permission", impact.before)
            assert.equal("has_permission", impact.after)
            gained[#gained + 1] = impact.resource .. "#" .. impact.permission .. "@" .. impact.subject
        end
        table.sort(gained)
        assert.same({
            "document:memo#edit@user:*",
            "document:plan#edit@group:staff#member",
            "document:plan#edit@user:bo",
        }, gained)
    end)

    it("is each relationship that forbids it, and why", function()
        local refused = consequences(engine:schema_impact((changed("user | user:%* | group#member",
            "user | group#member"))))

        assert.equal(3, #refused)
        assert.equal("refused", refused[1].kind)
        assert.equal("document:memo#viewer@user:*", tostring(refused[1].relationship))
        assert.equal("cannot remove allowed type `user:*` from relation `viewer` in object definition `document`, " ..
            "as a relationship exists with it: document:memo#viewer@user:*", refused[1].message)
        assert.is_nil(refused[1].before)
        assert.is_nil(refused[1].resource)
        for i = 2, 3 do
            assert.equal("lost", refused[i].kind)
            assert.equal("document:memo", refused[i].resource)
            assert.equal("user:*", refused[i].subject)
            assert.is_nil(refused[i].relationship)
        end
    end)

    it("writes nothing, may be limited, and is closed like any stream", function()
        local text = changed("permission edit = owner", "permission edit = owner + viewer")

        assert.equal(1, #consequences(engine:schema_impact(text, { limit = 1 })))
        local stream = assert(engine:schema_impact(text))
        assert.equal("licet.ImpactStream (open)", tostring(stream))
        assert.equal("gained", stream:next().kind)
        stream:close()
        assert.equal("closed", world.failure(stream:next()).code)
        assert.equal(world.SCHEMA, assert(engine:read_schema()).text)
        assert.is_false(engine:allowed("document:plan", "edit", "user:bo"))
    end)

    it("fails for a text that is wrong by itself", function()
        local err = world.failure(engine:schema_impact("definition"))

        assert.equal("schema_error", err.code)
        assert.equal(1, err.line)
    end)
end)
