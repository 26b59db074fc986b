local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local QUESTION = { "document:plan", "view", "user:ana" }

local AGES = [[
caveat grown(age int, least int) {
    age >= least
}

definition user {}

definition document {
    relation viewer: user with grown | user
    permission view = viewer
}
]]

-- One caveat with one parameter, on the one relationship there is.
local function only(type_name, condition, options)
    local engine = assert(licet.open("memory:", options))

    assert(engine:write_schema(([[
caveat only(v %s) { %s }
definition user {}
definition document {
    relation viewer: user with only
    permission view = viewer
}
]]):format(type_name, condition)))
    assert(engine:touch("document:plan#viewer@user:ana[only]"))
    return engine
end

local function ask(engine, context)
    return engine:allowed(QUESTION[1], QUESTION[2], QUESTION[3], { context = context })
end

describe("a context", function()
    local engine

    before_each(function()
        engine = assert(licet.open())
        assert(engine:write_schema(AGES))
        assert(engine:touch('document:plan#viewer@user:ana[grown:{"least":18}]', "document:plan#viewer@user:bo"))
    end)

    after_each(function()
        engine:close()
    end)

    it("decides what a caveat says", function()
        assert.is_true(ask(engine, { age = 18 }))
        assert.is_false(ask(engine, { age = 17 }))
        assert.is_true(ask(engine, { age = "18" }))
        assert.is_true(ask(engine, '{"age": 18}'))
    end)

    it("does not replace what is stored", function()
        assert.is_false(ask(engine, { age = 17, least = 1 }))
    end)

    it("that lacks a value makes the answer conditional, and names it", function()
        for _, context in ipairs { {}, "{}", { other = 1 } } do
            local ok, result = engine:check(QUESTION[1], QUESTION[2], QUESTION[3], { context = context })

            assert.is_false(ok)
            assert.is_false(result.allowed)
            assert.equal(licet.Permissionship.CONDITIONAL, result.permissionship)
            assert.same({ "age" }, result.missing_context)
            assert.equal("licet.Result (conditional)", tostring(result))
        end
        local ok, result = engine:check(QUESTION[1], QUESTION[2], QUESTION[3])

        assert.is_false(ok)
        assert.same({ "age" }, result.missing_context)
        assert.is_false(engine:allowed(QUESTION[1], QUESTION[2], QUESTION[3]))
    end)

    it("with a value that does not fit is an error and never an answer", function()
        for _, value in ipairs { "x", 18.5, true, licet.null, { 18 } } do
            local err = world.failure(ask(engine, { age = value }))

            assert.equal("type", err.kind)
            assert.equal("CAVEAT_PARAMETER_TYPE_ERROR", err.reason)
        end
        assert.equal("invalid_argument", world.failure(ask(engine, { 18 })).code)
        assert.equal("invalid_argument", world.failure(ask(engine, "")).code)
        assert.equal("invalid_argument", world.failure(ask(engine, { age = "\255" })).code)
    end)

    it("may belong to one item of a bulk, or to all that have none", function()
        local items = {
            QUESTION,
            { QUESTION[1], QUESTION[2], QUESTION[3], { age = 18 } },
            { QUESTION[1], QUESTION[2], QUESTION[3], '{"age": 1}' },
            { QUESTION[1], QUESTION[2], QUESTION[3], { age = "x" } },
        }
        local results = assert(engine:check_bulk(items))

        assert.same({ "age" }, results[1].missing_context)
        assert.is_true(results[2].allowed)
        assert.equal("no_permission", results[3].permissionship)
        assert.equal("CAVEAT_PARAMETER_TYPE_ERROR", results[4].error.reason)

        results = assert(engine:check_bulk(items, { context = { age = 20 } }))
        assert.is_true(results[1].allowed)
        assert.is_true(results[2].allowed)
        assert.is_false(results[3].allowed)
        assert.is_false(results[4].allowed)
        assert.equal("invalid_argument", world.failure(engine:check_bulk(items, { context = "{" })).code)
    end)

    it("holds for all ids of a filter", function()
        assert(engine:touch('document:memo#viewer@user:ana[grown:{"least":21}]'))
        local function filter(context)
            return engine:filter("document", { "plan", "memo" }, "view", "user:ana", { context = context })
        end

        assert.same({}, filter(nil))
        assert.same({ "plan" }, filter { age = 18 })
        assert.same({ "plan", "memo" }, filter { age = 21 })
        assert.equal("CAVEAT_PARAMETER_TYPE_ERROR", world.failure(filter { age = "x" }).reason)
        assert.equal("invalid_argument", world.failure(filter "[]").code)
    end)

    it("is refused with the argument and the place of what it can not hold", function()
        local cycle = {}
        local deep = {}

        cycle[1] = { again = cycle }
        for _ = 1, 70 do
            deep = { deep }
        end
        for message, context in pairs {
            ["context.a.b[2]: NaN is no number that a context can hold"] = { a = { b = { 0, 0 / 0 } } },
            ["context.a: infinity is no number that a context can hold"] = { a = -math.huge },
            ["context.f: function"] = { f = function() end },
            ["context.f[1]: userdata"] = { f = { io.stdout } },
            ["context.a[1].again: it contains itself"] = { a = cycle },
            ["context: keys of several types make neither array nor object"] = { "a", x = 1 },
            ["context.a: keys of several types make neither array nor object"] = { a = { [true] = 1 } },
            ["context.a: an array with holes; licet.null may stand in them"] = { a = { 1, nil, nil, 4 } },
            ["context.b: an array with holes; licet.null may stand in them"] = { b = { [2] = 1 } },
            ["context.c: an array with holes; licet.null may stand in them"] = { c = { [1.5] = 1 } },
            ["context.d: an array with holes; licet.null may stand in them"] = { d = licet.array { nil, 1 } },
            ["context.e: keys of several types make neither array nor object"] = { e = licet.array { x = 1 } },
            ["context.?k?: function"] = { ["\nk\27"] = print },
            ["context.l: too large"] = { l = ("x"):rep(600000) },
            ["context: table expected, got number"] = 5,
            [("context.n%s: nested too deeply"):format(("[1]"):rep(63))] = { n = deep },
        } do
            local raised = world.raised(ask, engine, context)

            assert.equal(("bad argument #4 to 'allowed' (%s)"):format(message), (raised:gsub("#5 to '[^']*'", "#4 to 'allowed'")
                :gsub("#4 to '[^']*'", "#4 to 'allowed'")))
            assert.is_true(ask(engine, { age = 18 }))
        end
        assert.matches(
            "item 2: context%.x: function",
            world.raised(engine.check_bulk, engine, { QUESTION, { "document:a", "view", "user:a", { x = print } } })
        )
        assert.matches(
            "item 1: table of resource, permission, subject and context expected",
            world.raised(engine.check_bulk, engine, { { "document:a", "view", "user:a", {}, {} } })
        )
    end)

    it("is read raw: metamethods play no part", function()
        local meddling = setmetatable({ age = 18 }, {
            __index = function() error "__index" end,
            __pairs = function() error "__pairs" end,
            __len = function() error "__len" end,
        })

        assert.is_true(ask(engine, meddling))
    end)
end)

describe("the text of a context", function()
    it("is JSON for the same values", function()
        assert.equal('{"a":"x\\u0000\\u000a\\"\\\\\195\169"}', licet.context_text { a = "x\0\n\"\\\195\169" })
        assert.equal('{"a":[1,-2.5,true,false,null]}', licet.context_text { a = { 1, -2.5, true, false, licet.null } })
        assert.equal('{"a":{"b":{"c":[]}}}', licet.context_text { a = { b = { c = licet.array {} } } })
        assert.equal('{"a":{}}', licet.context_text { a = {} })
        assert.equal("{}", licet.context_text {})
        assert.equal('{"a":[[1],[2]]}', licet.context_text { a = { { 1 }, { 2 } } })
    end)

    it("has every number exactly", function()
        for _, number in ipairs { 0.1, 1e300, -1 / 3, 2 ^ 53, 5e-324, 123456789012345 } do
            assert.equal(number, tonumber(licet.context_text({ a = number }):match '^{"a":(.*)}$'))
        end
        if math.type then
            assert.equal('{"a":9007199254740992}', licet.context_text { a = 9007199254740992 })
            assert.equal('{"a":"9007199254740993"}', licet.context_text { a = 9007199254740993 })
            assert.equal('{"a":"-9223372036854775808"}', licet.context_text { a = math.mininteger })
        end
    end)

    it("has the one decimal point of JSON, whatever the locale", function()
        local before = os.setlocale()

        for _, name in ipairs { "de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8" } do
            os.setlocale(name, "numeric")
        end
        local text = licet.context_text { a = 0.5 }

        os.setlocale(before)
        assert.equal('{"a":0.5}', text)
    end)

    it("is what a relationship stores", function()
        local engine = assert(licet.open())

        assert(engine:write_schema(AGES))
        assert(engine:touch {
            resource_type = "document",
            resource_id = "plan",
            relation = "viewer",
            subject_type = "user",
            subject_id = "ana",
            caveat_name = "grown",
            caveat_context = licet.context_text { least = 21 },
        })
        assert.is_true(ask(engine, { age = 21 }))
        assert.same({ 'document:plan#viewer@user:ana[grown:{"least":21}]' }, world.texts(engine, { resource_type = "document" }))
        engine:close()
    end)
end)

describe("a value", function()
    it("arrives as its parameter's type", function()
        for _, case in ipairs {
            { "string", 'v == "a\\u0000"', "a\0", "a" },
            { "double", "v == 0.1", 0.1, 0.2 },
            { "int", "v == 5", 5, 6 },
            { "bytes", 'v == b"ab"', "YWI=", "YWE=" },
            { "duration", 'v == duration("90m")', "1h30m", "1h" },
            { "timestamp", 'v == timestamp("2030-01-01T00:00:00Z")', "2030-01-01T01:00:00+01:00", "2031-01-01T00:00:00Z" },
            { "ipaddress", 'v.in_cidr("10.0.0.0/8")', "10.1.2.3", "::1" },
            { "list<string>", '"b" in v', { "a", "b" }, licet.array {} },
            { "map<int>", "v.k == 1", { k = 1 }, { k = 2 } },
            { "any", "v == null", licet.null, false },
        } do
            local engine = only(case[1], case[2])

            assert.is_true(ask(engine, { v = case[3] }))
            assert.is_false(ask(engine, { v = case[4] }))
            engine:close()
        end
    end)

    it("that is an integer of 64 bits arrives exactly", function()
        local engine = only("int", "v == 9007199254740993")

        assert.is_true(ask(engine, { v = "9007199254740993" }))
        assert.is_false(ask(engine, { v = 9007199254740992 }))
        if math.type then
            assert.is_true(ask(engine, { v = 9007199254740993 }))
        end
        engine:close()
    end)

    it("that SpiceDB would clamp is an error where the engine is strict", function()
        local lax, strict = only("int", "v > 0"), only("int", "v > 0", { strict = true })

        assert.is_true(ask(lax, { v = 1e300 }))
        assert.equal("CAVEAT_PARAMETER_TYPE_ERROR", world.failure(ask(strict, { v = 1e300 })).reason)
        assert.is_true(assert(lax:check_bulk({ QUESTION }, { context = '{"v":1,"v":2}' }))[1].allowed)
        assert.equal(
            "invalid_argument",
            world.failure(strict:check_bulk({ QUESTION }, { context = '{"v":1,"v":2}' })).code
        )
        lax:close()
        strict:close()
    end)
end)

describe("the example of caveats", function()
    it("prints what it is about", function()
        local lines = {}
        local environment = setmetatable({
            print = function(...)
                local parts = { ... }

                for i, part in ipairs(parts) do
                    parts[i] = tostring(part)
                end
                lines[#lines + 1] = table.concat(parts, " ")
            end,
        }, { __index = _G })
        local chunk

        if setfenv then
            chunk = setfenv(assert(loadfile "examples/caveats.lua"), environment)
        else
            chunk = assert(loadfile("examples/caveats.lua", "t", environment))
        end
        chunk()
        assert.same({
            "on Monday: true",
            "on Sunday: false",
            "who knows: false conditional missing day",
            'gate:north#keeper@user:ana[on_duty:{"days":["mon","tue"]}]',
        }, lines)
    end)
end)
