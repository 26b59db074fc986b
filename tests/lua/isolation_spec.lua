local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("engines in one state", function()
    local function schema(permission)
        return "definition user {}\n\ndefinition document {\n    relation owner: user\n    relation viewer: user\n" ..
            "    permission view = " .. permission .. "\n}\n"
    end

    local EXPECTED = {
        { permission = "owner", owner = true, viewer = false },
        { permission = "viewer", owner = false, viewer = true },
        { permission = "owner & viewer", owner = false, viewer = false },
    }

    local function open_all()
        local engines = {}

        for i, expected in ipairs(EXPECTED) do
            engines[i] = assert(licet.open())
            assert(engines[i]:write_schema(schema(expected.permission)))
            assert(engines[i]:touch { "document:a#owner@user:owner", "document:a#viewer@user:viewer" })
        end
        return engines
    end

    it("each answer by their own schema and relationships, in coroutines too", function()
        local engines = open_all()
        local workers = {}

        for w = 1, 2 do
            workers[w] = coroutine.wrap(function()
                for i = 1, 25000 do
                    local at = i % 3 + 1
                    assert(engines[at]:allowed("document:a", "view", "user:owner") == EXPECTED[at].owner)
                    coroutine.yield()
                    assert(engines[at]:allowed("document:a", "view", "user:viewer") == EXPECTED[at].viewer)
                end
                return "done"
            end)
        end
        local done = 0
        while done < 2 do
            for w = 1, 2 do
                if workers[w] and workers[w]() == "done" then
                    workers[w] = nil
                    done = done + 1
                end
            end
        end
        engines[2]:close()
        assert.equal(true, engines[1]:allowed("document:a", "view", "user:owner"))
        assert.equal("closed", world.failure(engines[2]:allowed("document:a", "view", "user:owner")).code)
        assert.equal(false, engines[3]:allowed("document:a", "view", "user:owner"))
        engines[1]:close()
        engines[3]:close()
    end)

    it("do not know one another's tokens and cursors", function()
        local engines = open_all()
        local token = assert(engines[1]:touch("document:b#owner@user:owner"))

        assert.equal("invalid_token", world.failure(engines[2]:allowed("document:a", "view", "user:owner",
            { consistency = licet.at_least(token) })).code)
        for _, engine in ipairs(engines) do
            engine:close()
        end
    end)
end)

describe("the module", function()
    it("sets no globals", function()
        local names = {}

        for name in pairs(_G) do
            names[name] = true
        end
        package.loaded["licet"], package.loaded["licet.core"] = nil, nil
        local again = require "licet"
        for name in pairs(_G) do
            assert.is_true(names[name], name)
        end
        package.loaded["licet"] = licet
        assert.is_function(again.open)
    end)

    it("goes on with what is there when it is loaded again", function()
        local engine = world.open()
        local core = package.loaded["licet.core"]

        package.loaded["licet.core"] = nil
        require "licet.core"
        package.loaded["licet.core"] = core
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        engine:close()
        assert.equal("closed", world.failure(engine:stats()).code)
    end)

    it("exports one symbol, and leaves Lua's to the host", function()
        local path = assert(package.searchpath("licet.core", package.cpath))
        local pipe = assert(io.popen("nm -D --defined-only '" .. path .. "'"))
        local symbols = {}

        for line in pipe:lines() do
            symbols[#symbols + 1] = line:match("%s[A-Z]%s(%S+)$")
        end
        pipe:close()
        for i = #symbols, 1, -1 do
            if symbols[i]:find("^__asan") or symbols[i]:find("^__odr_asan") then
                table.remove(symbols, i)
            end
        end
        assert.same({ "luaopen_licet_core" }, symbols)
        pipe = assert(io.popen("ldd '" .. path .. "'"))
        local libraries = pipe:read("*a")
        pipe:close()
        assert.is_nil(libraries:find("liblua", 1, true))
    end)
end)
