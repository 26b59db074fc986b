local licet, counting = dofile "tests/lua/support/counting.lua"

local OUT_OF_MEMORY = 1
local UNAVAILABLE = 10
local CONDITIONAL = 2

local SCHEMA = [[
definition user {}

definition document {
    relation owner: user
    relation guest: user with grown
    relation public: user:*
    permission view = owner
    permission visit = guest
    permission watch = public - guest
}

caveat grown(age int) {
    age >= 18
}
]]

-- Long enough for its text to need room several times.
local CONTEXT = { age = 1, other = { 1, { ("x"):rep(900) }, licet.null, licet.array {} } }

local FILE = [[
schema: |-
  definition user {}

  definition document {
    relation owner: user
    permission view = owner
  }
relationships: |-
  document:plan#owner@user:ana
assertions:
  assertTrue:
    - document:plan#view@user:ana
    - document:plan#view@user:cy
]]

local function open()
    local engine = assert(licet.open())

    assert(engine:write_schema(SCHEMA))
    assert(engine:touch("document:plan#owner@user:ana", "document:memo#owner@user:ana"))
    assert(engine:touch("document:plan#guest@user:cy[grown]"))
    assert(engine:touch("document:open#public@user:*", "document:open#guest@user:bo[grown]"))
    return engine
end

-- Everything that the interface can do. None of them may say true for cy.
local OPERATIONS = {
    open = function() licet.open():close() end,
    open_and_forget = function() licet.open("memory:", { max_depth = 10 }) end,
    open_refused = function() assert(not licet.open("x")) end,
    write_schema = function(engine) engine:write_schema(SCHEMA) end,
    write_schema_refused = function(engine) assert(not engine:write_schema("definition")) end,
    read_schema = function(engine) return engine:read_schema():format(), engine:read_schema().text end,
    touch = function(engine)
        engine:touch("document:x#owner@user:ana", {
            resource_type = "document",
            resource_id = "y",
            relation = "owner",
            subject_type = "user",
            subject_id = "ana",
        })
    end,
    touch_refused = function(engine) assert(not engine:touch("document:x #owner@user:ana")) end,
    create_refused = function(engine) assert(not engine:create { "document:plan#owner@user:ana" }) end,
    write = function(engine)
        engine:write({ licet.touch("document:x#owner@user:ana"), licet.delete("document:y#owner@user:ana") },
            { licet.must_match { resource_type = "document", resource_id = "plan" } })
    end,
    delete_relationships = function(engine)
        engine:delete_relationships {
            resource_type = "document",
            resource_id = "x",
            preconditions = { licet.must_match { resource_type = "document" } },
        }
    end,
    allowed = function(engine) return engine:allowed("document:plan", "view", "user:cy") end,
    allowed_fully = function(engine)
        return engine:allowed("document:plan", "view", "user:cy", { consistency = licet.FULL })
    end,
    allowed_refused = function(engine) return (engine:allowed("document:plan", "sign", "user:cy")) end,
    allowed_in_context = function(engine)
        return (engine:allowed("document:plan", "visit", "user:cy", { context = CONTEXT }))
    end,
    context_refused = function(engine)
        assert(not engine:allowed("document:plan", "visit", "user:cy", { context = "{" }))
        assert(not engine:check_bulk({ { "document:plan", "visit", "user:cy" } }, { context = "{" }))
        assert(not engine:filter("document", { "plan" }, "visit", "user:cy", { context = "{" }))
    end,
    check_conditional = function(engine)
        local ok, result = engine:check("document:plan", "visit", "user:cy", { consistency = licet.FULL })
        return ok, result.missing_context
    end,
    check_bulk_in_contexts = function(engine)
        local results = engine:check_bulk({
            { "document:plan", "visit", "user:cy", CONTEXT },
            { "document:plan", "visit", "user:cy" },
            { "document:plan", "visit", "user:cy", {} },
        }, { context = CONTEXT })
        return results[1].allowed, results[2].allowed, results[3].missing_context
    end,
    filter_in_context = function(engine)
        return (next(engine:filter("document", { "plan" }, "visit", "user:cy", { context = CONTEXT })))
    end,
    check = function(engine)
        local ok, result = engine:check("document:plan", "view", "user:cy")
        return ok, result.allowed, result.token, tostring(result), result.missing_context
    end,
    check_bulk = function(engine)
        local results = engine:check_bulk {
            { "document:plan", "view", "user:cy" },
            { "document:plan", "sign", "user:cy" },
            { "document:plan", "view", "user:ana" },
        }
        return results[1].allowed, results[2].allowed, results[2].error.message
    end,
    check_bulk_refused = function(engine) assert(not engine:check_bulk { { "x", "y", "z" } }) end,
    filter = function(engine) return (next(engine:filter("document", { "plan", "memo" }, "view", "user:cy"))) end,
    filter_refused = function(engine) assert(not engine:filter("document", { "plan" }, "sign", "user:cy")) end,
    read_relationships = function(engine)
        local stream = engine:read_relationships { resource_type = "document", limit = 10 }
        local texts = {}
        for relationship in stream do
            texts[#texts + 1] = tostring(relationship)
        end
        return stream.cursor, stream.token, texts
    end,
    read_and_forget = function(engine)
        return tostring(engine:read_relationships({ resource_type = "document" }):next())
    end,
    read_refused = function(engine) assert(not engine:read_relationships {}) end,
    lookup_resources = function(engine)
        local stream = engine:lookup_resources("document", "view", "user:ana", { context = CONTEXT, limit = 10 })
        local ids = {}
        for id, resource in stream do
            ids[#ids + 1] = { id, resource }
        end
        return stream.cursor, stream.token, ids
    end,
    lookup_resources_conditional = function(engine)
        local _, resource = engine:lookup_resources("document", "visit", "user:cy"):next()
        return resource.allowed, resource.missing_context
    end,
    lookup_resource_ids = function(engine)
        local stream = engine:lookup_resource_ids("document", "view", "user:ana", { context = CONTEXT, limit = 10 })
        local ids = {}
        for id in stream do
            ids[#ids + 1] = id
        end
        return stream.cursor, ids
    end,
    lookup_subject_ids = function(engine)
        local names = {}
        for id in engine:lookup_subject_ids("document:plan", "view", "user", { context = CONTEXT }) do
            names[#names + 1] = id
        end
        return names
    end,
    lookup_resources_refused = function(engine)
        assert(not engine:lookup_resources("document", "sign", "user:cy"))
    end,
    lookup_subjects = function(engine)
        local names = {}
        for id, subject in engine:lookup_subjects("document:open", "watch", "user", { context = CONTEXT }) do
            names[#names + 1] = { id, subject.excluded }
        end
        return names
    end,
    lookup_subjects_refused = function(engine)
        assert(not engine:lookup_subjects("document:plan", "sign", "user"))
    end,
    permissions = function(engine)
        local permissions = engine:permissions("document:plan", "user:cy")
        return permissions.view.allowed, permissions.visit.missing_context, permissions.view.token
    end,
    permissions_with_an_error = function(engine)
        local permissions = engine:permissions("document:plan", "user:cy",
            { permissions = { "visit" }, context = '{"age": "old"}' })
        return permissions.visit.allowed, permissions.visit.error.message
    end,
    permissions_refused = function(engine) assert(not engine:permissions("plan", "user:cy")) end,
    expand = function(engine)
        local tree = engine:expand("document:plan", "view", { consistency = licet.FULL })
        return tostring(tree), tree:to_json(), tree.token, tree.children
    end,
    expand_refused = function(engine) assert(not engine:expand("document:plan", "sign")) end,
    explain = function(engine)
        local trace = engine:explain("document:plan", "visit", "user:cy", { context = { age = 1 } })
        return trace.allowed, tostring(trace), trace:to_json(), trace.token, trace.children
    end,
    explain_conditional = function(engine) return engine:explain("document:plan", "visit", "user:cy").allowed end,
    explain_half_way = function(engine)
        local trace, err = engine:explain("document:plan", "visit", "user:cy", { context = '{"age": "old"}' })
        return trace, err.trace.allowed, tostring(err.trace)
    end,
    explain_refused = function(engine) assert(not engine:explain("document:plan", "sign", "user:cy")) end,
    import_relationships = function(engine)
        assert(engine:delete_relationships { resource_type = "document", resource_id = "new" })
        local done = assert(engine:import_relationships({
            "document:new#owner@user:ana",
            { resource_type = "document", resource_id = "new", relation = "owner", subject_type = "user",
                subject_id = "bo" },
        }, { batch_size = 1, progress = function(n) return n end }))
        return done.count, done.token
    end,
    import_iterated = function(engine)
        assert(engine:delete_relationships { resource_type = "document", resource_id = "new" })
        local i = 0
        return assert(engine:import_relationships(function()
            i = i + 1
            return i < 4 and ("document:new#owner@user:u%d"):format(i) or nil
        end, { batch_size = 2 })).count
    end,
    import_resumed = function(engine)
        assert(engine:delete_relationships { resource_type = "document", resource_id = "new" })
        local known, err = engine:forget_import "users"
        assert(known ~= nil, err)
        local done = assert(engine:import_relationships({
            "document:new#owner@user:ana", "document:new#owner@user:bo", "document:new#owner@user:cy",
        }, { batch_size = 1, resume = "users", progress = function(n) return n end }))
        local status = assert(engine:import_status "users")

        return done.count, status.count, status.is_finished
    end,
    import_refused = function(engine)
        assert(not engine:import_relationships { "document:plan#owner@user:ana" })
        assert(not engine:import_relationships { "document:x #owner@user:ana" })
    end,
    import_raised = function(engine)
        assert(not pcall(engine.import_relationships, engine, { "document:a#owner@user:ana", 1 }))
        assert(not pcall(engine.import_relationships, engine, function() error("x") end))
    end,
    export_relationships = function(engine)
        local texts = {}
        for relationship in engine:export_relationships { resource_type = "document" } do
            texts[#texts + 1] = tostring(relationship)
        end
        return texts
    end,
    schema_impact = function(engine)
        local kinds = {}
        for impact in engine:schema_impact((SCHEMA:gsub("permission view = owner", "permission view = guest"))) do
            kinds[#kinds + 1] = { impact.kind, impact.before }
        end
        for impact in engine:schema_impact((SCHEMA:gsub("relation guest: user with grown", "relation guest: user"))) do
            kinds[#kinds + 1] = { impact.kind, tostring(impact.relationship) }
        end
        return kinds
    end,
    schema_impact_refused = function(engine) assert(not engine:schema_impact("definition")) end,
    schemas = function(engine)
        local schema = licet.Schema.parse(SCHEMA)
        return schema:diff(assert(licet.Schema.parse("definition user {}"))), schema:reflect(),
            schema:reflect { { definition = "doc" } }, schema:computable_permissions("document", "owner"),
            schema:dependent_relations("document", "view"), engine
    end,
    schemas_refused = function()
        local schema = licet.Schema.parse(SCHEMA)
        assert(not schema:computable_permissions("planet", "owner"))
        assert(not schema:dependent_relations("document", "owner"))
        assert(not schema:reflect { { relation = "x" } })
    end,
    logged = function()
        local engine = licet.open("memory:", { log = function() end, mode = "follow", postgres_schema = "licet" })
        assert(engine:await_ready(0))
        engine:close()
    end,
    databases_refused = function()
        assert(not licet.migrate("mongodb://db", { dry_run = true }))
        assert(not licet.doctor("mongodb://db"))
    end,
    clock = function()
        local clock = licet.testing.manual_clock(0)
        local engine = licet.open("memory:", { clock = clock })
        clock:advance(1)
        engine:close()
        return clock:now()
    end,
    watch = function(engine)
        local since = engine:touch("document:x#owner@user:ana")
        engine:write({ licet.touch("document:y#owner@user:ana"), licet.delete("document:x#owner@user:ana") }, nil,
            { metadata = { who = "ana", tags = { "a" }, none = licet.null } })
        local seen = {}
        for change in engine:watch { since = since, schema = true, checkpoints = true } do
            seen[#seen + 1] = { change.operation, tostring(change.relationship), change.metadata, change.token }
        end
        return seen
    end,
    watch_refused = function(engine)
        assert(not engine:watch { since = "x" })
        assert(not engine:watch { filters = { { resource_type = "planet" } } })
    end,
    stats = function(engine) return engine:stats().relationships, engine:collect_garbage() end,
    schema = function()
        local schema = licet.Schema.parse(SCHEMA)
        return schema:format(), schema:lint(), schema.definitions, tostring(schema)
    end,
    schema_refused = function() return tostring(select(2, licet.Schema.parse("definition"))) end,
    relationship = function()
        local relationship = licet.Relationship.parse("document:plan#owner@user:ana")
        return tostring(relationship), relationship == licet.Relationship.parse("document:plan#owner@user:cy")
    end,
    consistency = function() return licet.at_least("x"), licet.at_exactly("y") end,
    validate = function()
        local ok, report = licet.validate(FILE)
        return ok, report.failures
    end,
    validate_refused = function() assert(not licet.validate("schema: [\n")) end,
}

local function collect()
    collectgarbage()
    collectgarbage()
end

describe("when Lua has no memory left", function()
    local engine

    -- Compiled code of LuaJIT crashes when it gets no memory; only its interpreter knows what to do then.
    setup(function()
        if jit then
            jit.off()
            jit.flush()
        end
        engine = open()
    end)

    teardown(function()
        engine:close()
        if jit then
            jit.on()
        end
    end)

    for name, operation in pairs(OPERATIONS) do
        it("at any point of " .. name .. ", nothing leaks and nothing is allowed", function()
            local n, before = 0, nil
            local starved, done, answer

            -- Names and traces that the first run makes stay; the second begins where every later one does.
            operation(engine)
            collect()
            before = counting.live()
            repeat
                starved, done, answer = counting.run(n, operation, engine)
                assert(answer ~= true, "allowed")
                if not done and not starved then
                    error(answer)
                end
                answer = nil
                collect()
                assert.equal(before, counting.live())
                n = n + 1
            until not starved
            assert.is_true(n > 1 or name == "allowed", "it never asked for memory")
            assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
            assert.is_false(engine:allowed("document:plan", "view", "user:cy"))
        end)
    end
end)

describe("a plain check", function()
    it("asks Lua for no memory", function()
        local engine = open()
        local starved, done, answer = counting.run(0, engine.allowed, engine, "document:plan", "view", "user:ana")

        assert.is_false(starved)
        assert.is_true(done)
        assert.is_true(answer)
        engine:close()
    end)
end)

describe("what only the core can bring about", function()
    local engine

    before_each(function()
        engine = open()
    end)

    after_each(function()
        engine:close()
    end)

    it("is an answer that depends on context, which is not allowed", function()
        counting.answer_next(CONDITIONAL)
        assert.is_false(engine:allowed("document:plan", "view", "user:ana"))

        counting.answer_next(CONDITIONAL)
        local ok, result = engine:check("document:plan", "view", "user:ana")
        assert.is_false(ok)
        assert.is_false(result.allowed)
        assert.equal("conditional", result.permissionship)
        assert.equal(licet.Permissionship.CONDITIONAL, result.permissionship)
        assert.equal("licet.Result (conditional)", tostring(result))
        assert.is_string(result.token)

        counting.answer_next(CONDITIONAL)
        local results = assert(engine:check_bulk {
            { "document:plan", "view", "user:ana" },
            { "document:memo", "view", "user:ana" },
        })
        assert.is_false(results[1].allowed)
        assert.equal("conditional", results[1].permissionship)
        assert.is_true(results[2].allowed)

    end)

    it("is a failure without a text, which still has a code and a message", function()
        counting.fail_next(OUT_OF_MEMORY)
        local allowed, err = engine:allowed("document:plan", "view", "user:ana")
        assert.is_nil(allowed)
        assert.equal("out_of_memory", err.code)
        assert.equal("out of memory, or memory_limit reached", err.message)
    end)

    it("is a stream that fails half way, which raises in a loop and returns nil and the error by hand", function()
        local stream = assert(engine:read_relationships { resource_type = "document", relation = "owner" })
        local seen = 0
        local ok, err = pcall(function()
            for _ in stream do
                seen = seen + 1
                counting.fail_next(UNAVAILABLE)
            end
        end)

        assert.is_false(ok)
        assert.equal(1, seen)
        assert.equal("unavailable", err.code)
        counting.fail_next(UNAVAILABLE)
        local relationship
        relationship, err = stream:next()
        assert.is_nil(relationship)
        assert.equal("unavailable", err.code)
        assert.is_truthy(stream:next())
        assert.is_nil(stream:next())
    end)
end)

describe("two copies of the module in one state", function()
    it("do not take each other's engines for their own", function()
        local other = require "licet"
        local mine = open()
        local theirs = assert(other.open())

        for _, pair in ipairs { { mine, theirs }, { theirs, mine } } do
            local ok, message = pcall(pair[1].stats, pair[2])
            assert.is_false(ok)
            assert.is_truthy(message:find("licet.Engine expected", 1, true))
        end
        mine:close()
        theirs:close()
    end)
end)
