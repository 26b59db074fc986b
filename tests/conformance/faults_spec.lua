-- Faults of Lua bindings of this kind that no other file here shows (faults.json says where the others are).
local licet = require "licet"

-- A schema in which `view` is what the expression says.
local function schema_of(expression)
    return "definition user {}\ndefinition doc {\n  relation owner: user\n  relation viewer: user\n" ..
        "  permission view = " .. expression .. "\n}\n"
end

local function open(expression)
    local engine = assert(licet.open())

    assert(engine:write_schema(schema_of(expression)))
    assert(engine:touch("doc:1#owner@user:own", "doc:1#viewer@user:see"))
    return engine
end

local function view(engine, subject)
    local answer, err = engine:allowed("doc:1", "view", subject)

    assert(err == nil, err)
    return answer
end

-- Kibibytes that Lua holds once everything that can go is gone.
local function held()
    collectgarbage()
    collectgarbage()
    return collectgarbage("count")
end

describe("engines of one state", function()
    it("answer by their own schema while two coroutines take turns, also when one is closed", function()
        local engines = { open("owner"), open("owner + viewer"), open("viewer - owner") }
        local right = { { true, false }, { true, true }, { false, true } }

        local function ask()
            for _ = 1, 10000 do
                for i, engine in ipairs(engines) do
                    assert(view(engine, "user:own") == right[i][1])
                    assert(view(engine, "user:see") == right[i][2])
                end
                coroutine.yield()
            end
        end

        local one, other = coroutine.create(ask), coroutine.create(ask)
        for turn = 1, 10000 do
            assert(coroutine.resume(one))
            assert(coroutine.resume(other))
            if turn == 5000 then
                table.remove(engines, 1):close()
                table.remove(right, 1)
            end
        end
    end)
end)

describe("the module, required anew in every request,", function()
    it("makes nothing grow", function()
        local names = { "licet", "licet.core" }
        local kept = {}

        local function request()
            for _, name in ipairs(names) do
                package.loaded[name] = nil
            end
            local again = require "licet"
            local engine = again.open()
            engine:close()
        end

        for _, name in ipairs(names) do
            kept[name] = package.loaded[name]
        end
        for _ = 1, 200 do
            request()
        end
        local before = held()
        for _ = 1, 2000 do
            request()
        end
        local after = held()
        for _, name in ipairs(names) do
            package.loaded[name] = kept[name]
        end
        assert.is_true(after - before < 64, after - before .. " KiB more")
    end)

    it("declares nothing to LuaJIT's FFI, which could not take it twice", function()
        local pipe = assert(io.popen("cat lua/licet/*.lua"))
        local text = pipe:read("*a")

        pipe:close()
        assert.is_true(#text > 0)
        assert.is_nil(text:find("ffi", 1, true))
    end)
end)
