local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

local function collect()
    collectgarbage()
    collectgarbage()
end

-- Calls f with a finalizer that is run as soon as something is collected. Works in both Luas.
local function finalizer(f)
    if newproxy then
        getmetatable(newproxy(true)).__gc = f
    else
        setmetatable({}, { __gc = f })
    end
end

describe("a closed engine", function()
    it("answers every call with nil and the code closed", function()
        local engine = world.open()

        assert.equal("licet.Engine (open)", tostring(engine))
        assert.equal(0, select("#", engine:close()))
        engine:close()
        assert.equal("licet.Engine (closed)", tostring(engine))
        local item = { "document:plan", "view", "user:ana" }
        for name, err in pairs {
            write_schema = world.failure(engine:write_schema(world.SCHEMA)),
            read_schema = world.failure(engine:read_schema()),
            create = world.failure(engine:create("document:a#owner@user:ana")),
            touch = world.failure(engine:touch("document:a#owner@user:ana")),
            delete = world.failure(engine:delete("document:a#owner@user:ana")),
            write = world.failure(engine:write { licet.touch("document:a#owner@user:ana") }),
            delete_relationships = world.failure(engine:delete_relationships { resource_type = "document" }),
            read_relationships = world.failure(engine:read_relationships { resource_type = "document" }),
            allowed = world.failure(engine:allowed(item[1], item[2], item[3])),
            check = world.failure(engine:check(item[1], item[2], item[3])),
            check_bulk = world.failure(engine:check_bulk { item }),
            filter = world.failure(engine:filter("document", { "plan" }, "view", "user:ana")),
            permissions = world.failure(engine:permissions("document:plan", "user:ana")),
            lookup_resources = world.failure(engine:lookup_resources("document", "view", "user:ana")),
            lookup_subjects = world.failure(engine:lookup_subjects("document:plan", "view", "user")),
            lookup_resource_ids = world.failure(engine:lookup_resource_ids("document", "view", "user:ana")),
            lookup_subject_ids = world.failure(engine:lookup_subject_ids("document:plan", "view", "user")),
            expand = world.failure(engine:expand("document:plan", "view")),
            explain = world.failure(engine:explain(item[1], item[2], item[3])),
            import_relationships = world.failure(engine:import_relationships { "document:a#owner@user:ana" }),
            import_status = world.failure(engine:import_status "users"),
            forget_import = world.failure(engine:forget_import "users"),
            export_relationships = world.failure(engine:export_relationships()),
            watch = world.failure(engine:watch()),
            schema_impact = world.failure(engine:schema_impact(world.SCHEMA)),
            stats = world.failure(engine:stats()),
            await_ready = world.failure(engine:await_ready(0)),
            collect_garbage = world.failure(engine:collect_garbage()),
        } do
            assert.equal("closed", err.code, name)
            assert.equal("misuse", err.kind, name)
            assert.equal("the engine is closed", err.message, name)
        end
    end)

    it("ends its streams, and leaves results and schemas as they are", function()
        local engine = world.open()
        local stream = assert(engine:read_relationships { resource_type = "document" })
        local ok, result = engine:check("document:plan", "view", "user:ana")
        local token = result.token

        assert.is_true(ok)
        assert.is_truthy(stream:next())
        engine:close()
        assert.equal("closed", world.failure(stream:next()).code)
        local raised, err = pcall(stream)
        assert.is_false(raised)
        assert.equal("closed", err.code)
        assert.is_true(result.allowed)
        assert.is_string(token)
    end)

    it("ends what was being looked up, and leaves trees and traces as they are", function()
        local engine = world.open()
        local resources = assert(engine:lookup_resources("document", "view", "user:bo"))
        local subjects = assert(engine:lookup_subjects("document:plan", "view", "user"))
        local tree = assert(engine:expand("document:plan", "view"))
        local trace = assert(engine:explain("document:plan", "view", "user:bo"))

        assert.is_string((resources:next()))
        engine:close()
        assert.equal("closed", world.failure(resources:next()).code)
        assert.equal("closed", world.failure(subjects:next()).code)
        local raised, err = pcall(resources)
        assert.is_false(raised)
        assert.equal("closed", err.code)
        assert.equal("union", tree.operation)
        assert.is_true(trace.allowed)
        assert.is_string(tostring(tree))
        assert.is_string(tostring(trace))
    end)

    it("lets other engines in the same state go on", function()
        local one, other = world.open(), world.open()

        one:close()
        assert.is_true(other:allowed("document:plan", "view", "user:ana"))
        other:close()
    end)
end)

describe("an engine that nobody refers to", function()
    it("is kept by its streams and results", function()
        local stream, result, token

        do
            local engine = world.open()
            local _
            stream = assert(engine:read_relationships { resource_type = "document" })
            _, result = engine:check("document:plan", "view", "user:ana")
            token = result.token
        end
        collect()
        local count = 0
        for _ in stream do
            count = count + 1
        end
        assert.equal(3, count)
        assert.is_true(result.allowed)
        assert.equal(token, result.token)
    end)

    it("is collected, however many there are", function()
        for _ = 1, 200 do
            assert(licet.open())
        end
        collect()
    end)
end)

describe("a variable to be closed", function()
    local source = [[
        local licet, world = ...
        local engine
        do
            local e <close> = world.open()
            engine = e
            assert(e:allowed("document:plan", "view", "user:ana"))
        end
        local other = world.open()
        local stream
        do
            local s <close> = assert(other:read_relationships { resource_type = "document" })
            stream = s
            assert(s:next())
        end
        local broken
        for r in assert(other:read_relationships { resource_type = "document" }) do
            broken = r
            break
        end
        return tostring(engine), tostring(stream), tostring(broken ~= nil)
    ]]

    if _VERSION == "Lua 5.1" then
        it("is not in this Lua's language", function()
            assert.is_nil((loadstring(source)))
        end)
        return
    end

    it("closes an engine and a stream", function()
        local engine, stream, broken = assert(load(source))(licet, world)
        assert.equal("licet.Engine (closed)", engine)
        assert.equal("licet.RelationshipStream (closed)", stream)
        assert.equal("true", broken)
    end)

    it("closes the stream of a loop that is left early", function()
        local engine = world.open()
        local stream

        for _ in (function(...)
            stream = ...
            return ...
        end)(assert(engine:read_relationships { resource_type = "document" })) do
            break
        end
        assert.equal("licet.RelationshipStream (closed)", tostring(stream))
        engine:close()
    end)
end)

describe("a finalizer", function()
    local pause

    -- One collection after the other: finalizers run at almost every allocation. (Lua 5.4 heeds that only when it does
    -- not collect by generations, as its interpreter has it do: often enough, too.)
    setup(function()
        pause = collectgarbage("setpause", 0)
    end)

    teardown(function()
        collectgarbage("setpause", pause)
    end)

    it("may close the engine that is in use", function()
        for _ = 1, 50 do
            local engine = world.open()

            finalizer(function() engine:close() end)
            for i = 1, 2000 do
                local list = { "document:d" .. i .. "#owner@user:ana", "document:e" .. i .. "#owner@user:ana" }
                local token, err = engine:touch(list)
                if not token then
                    assert.equal("closed", err.code)
                    break
                end
                local ok, result = engine:check("document:d" .. i, "view", "user:ana")
                if ok == nil then
                    assert.equal("closed", result.code)
                    break
                end
                assert.is_true(ok)
                local results, failed = engine:check_bulk {
                    { "document:d" .. i, "view", "user:ana" },
                    { "document:d" .. i, "view", "user:cy" },
                }
                if not results then
                    assert.equal("closed", failed.code)
                    break
                end
                assert.is_true(results[1].allowed)
                assert.is_false(results[2].allowed)
            end
            engine:close()
        end
    end)

    -- Calls f while every allocation that may collect does so from beginning to end, finalizers included: what is
    -- garbage then is finalized by the next such allocation, wherever that is. Little may be allocated.
    local function with_a_collector_that_never_rests(f)
        local STEP_SIZE = 13 -- Lua 5.4's own: nothing tells which it was
        local stepmul, mode

        if jit then
            stepmul = collectgarbage("setstepmul", 0) -- without a bound
        else
            mode = collectgarbage("incremental", 0, 0, 100) -- 2^100 bytes in one step
        end
        collect() -- from here on: generations leave a debt behind
        local ok, err = pcall(f)
        if jit then
            collectgarbage("setstepmul", stepmul)
        else
            collectgarbage("incremental", 0, 0, STEP_SIZE)
            collectgarbage(mode)
        end
        if not ok then
            error(err, 0)
        end
    end

    it("may use the stream that is being read, and is refused while a relationship is copied", function()
        local engine = world.open()
        local list, texts, codes, known = {}, {}, {}, {}

        for i = 1, 60 do
            list[i] = "document:d" .. i .. "#owner@user:ana"
        end
        assert(engine:touch(list))
        for _, text in ipairs(world.texts(engine, { resource_type = "document" })) do
            known[text] = true
        end
        local stream = assert(engine:read_relationships { resource_type = "document" })
        local running = true
        local function step()
            if running then
                local relationship, err = stream:next()
                codes[err and err.code or relationship and "read" or "end"] = true
                finalizer(step)
            end
        end

        with_a_collector_that_never_rests(function()
            finalizer(step)
            for relationship in stream do -- the copy runs one
                texts[#texts + 1] = tostring(relationship) -- and so does this
            end
            running = false
        end)
        codes["end"] = nil -- it may have been there first
        assert.same({ misuse = true, read = true }, codes)
        assert.is_true(#texts >= 2, #texts)
        for _, text in ipairs(texts) do
            assert.is_true(known[text], text)
        end
        engine:close()
    end)

    it("may change the tables that are being read", function()
        local engine = world.open()

        for round = 1, 200 do
            local updates, items, ids = {}, {}, {}
            local running = true
            for i = 1, 20 do
                local id = round .. "-" .. i
                updates[i] = licet.touch { resource_type = "document", resource_id = id, relation = "owner",
                    subject_type = "user", subject_id = "ana" }
                items[i] = { "document:" .. id, "view", "user:ana" }
                ids[i] = id
            end
            local function change()
                if running then
                    local i = math.random(20)
                    updates[i] = licet.touch("document:" .. round .. "+" .. i .. "#owner@user:ana")
                    items[i] = { "document:" .. round .. "+" .. i, "view", "user:ana" }
                    ids[i] = round .. "+++" .. i
                    finalizer(change)
                end
            end

            finalizer(change)
            assert.is_string(engine:write(updates))
            for _, result in ipairs(assert(engine:check_bulk(items))) do
                assert.is_nil(result.error)
            end
            local ok, allowed = pcall(engine.filter, engine, "document", ids, "view", "user:ana")
            assert.is_true(ok and #allowed <= #ids)
            running = false
        end
        engine:close()
    end)

    it("may close the engine while much is asked or brought", function()
        local function operations(engine, i)
            for _, resource in assert(engine:lookup_resources("document", "view", "user:bo")) do
                assert.is_true(resource.allowed)
            end
            for _, subject in assert(engine:lookup_subjects("document:plan", "view", "user")) do
                assert.same({}, subject.excluded)
            end
            for id in assert(engine:lookup_resource_ids("document", "view", "user:bo")) do
                assert.is_string(id)
            end
            for id in assert(engine:lookup_subject_ids("document:plan", "view", "user")) do
                assert.is_string(id)
            end
            assert.same({}, assert(engine:permissions("document:plan", "user:bo")).view.missing_context)
            assert.equal("union", assert(engine:expand("document:plan", "view")).operation)
            assert.is_true(assert(engine:explain("document:plan", "view", "user:bo")).allowed)
            local n = 0
            assert(engine:import_relationships(function()
                n = n + 1
                return n <= 20 and ("document:i%d-%d#owner@user:ana"):format(i, n) or nil
            end, { batch_size = 3, progress = function() return {} end }))
            for change in assert(engine:watch { since = assert(engine:touch("document:x#owner@user:ana")) }) do
                assert.equal("touch", change.operation)
            end
        end

        for _ = 1, 100 do
            local engine = world.open()
            local i, ok, err = 0, nil, nil

            finalizer(function() engine:close() end)
            repeat
                i = i + 1
                ok, err = pcall(operations, engine, i)
            until not ok or i == 200
            assert.is_true(ok or tostring(err):find("the engine is closed", 1, true) ~= nil, tostring(err))
            engine:close()
        end
    end)

    it("may close the stream that is being read", function()
        local engine = world.open()

        for _ = 1, 200 do
            local stream = assert(engine:read_relationships { resource_type = "document" })

            finalizer(function() stream:close() end)
            repeat
                local relationship, err = stream:next()
                if err then
                    assert.equal("closed", err.code)
                end
            until not relationship
        end
        engine:close()
    end)
end)

describe("closing the state", function()
    local interpreter = arg and arg[-1] or (jit and "luajit" or "lua5.4")

    local function run(script)
        local name = os.tmpname()
        local file = assert(io.open(name, "w"))
        file:write(script)
        file:close()
        local pipe = assert(io.popen(interpreter .. " '" .. name .. "' 2>&1; echo status=$?"))
        local output = pipe:read("*a")
        pipe:close()
        os.remove(name)
        return output
    end

    local PRELUDE = [[
        local world = dofile "tests/lua/support/world.lua"
        local licet = require "licet"
        local function finalizer(f)
            if newproxy then
                local p = newproxy(true)
                getmetatable(p).__gc = f
                return p
            end
            return setmetatable({}, { __gc = f })
        end
    ]]

    it("finalizes whatever is left, in any order", function()
        assert.equal("status=0\n", run(PRELUDE .. [[
            KEEP = {}
            for i = 1, 10 do
                local engine = world.open()
                local _, result = engine:check("document:plan", "view", "user:ana")
                local stream = assert(engine:read_relationships { resource_type = "document" })
                local found = assert(engine:lookup_resources("document", "view", "user:ana"))
                local tree = assert(engine:expand("document:plan", "view"))
                local trace = assert(engine:explain("document:plan", "view", "user:ana"))
                local timed = assert(licet.open("memory:", { clock = licet.testing.manual_clock(i) }))
                local changes = assert(engine:watch())
                local impact = assert(engine:schema_impact(world.SCHEMA))
                KEEP[i] = { engine, result, stream, engine:read_schema(), found, tree, trace, changes, impact, timed }
            end
        ]]))
    end)

    it("lets finalizers open engines and read, though the module was unloaded before", function()
        assert.equal("open true\nread closed\nstatus=0\n", run([[
            local late = {}
            ]] .. PRELUDE .. [[
            local engine = world.open()
            local stream = assert(engine:read_relationships { resource_type = "document" })
            engine:close()
            KEEP = { finalizer(function()
                local other = world.open()
                print("open", other:allowed("document:plan", "view", "user:ana"))
                local _, err = stream:next()
                print("read", err.code)
            end), engine, stream }
            package.loaded["licet"] = nil
            package.loaded["licet.core"] = nil
        ]]):gsub("\t", " "))
    end)

    it("leaves by os.exit() with engines open", function()
        assert.equal("status=3\n", run(PRELUDE .. [[
            KEEP = world.open()
            os.exit(3)
        ]]))
        assert.equal("status=4\n", run(PRELUDE .. [[
            KEEP = world.open()
            os.exit(4, true)
        ]]))
    end)

    -- Only LuaJIT can fork by itself.
    if jit then
        it("in a forked child leaves the parent's engine alone", function()
            assert.equal("child 7\nparent true\nstatus=0\n", run(PRELUDE .. [[
                local ffi = require "ffi"
                ffi.cdef "int fork(void); int waitpid(int, int *, int);"
                local engine = world.open()
                local stream = assert(engine:read_relationships { resource_type = "document" })
                local pid = ffi.C.fork()
                if pid == 0 then
                    local answer = engine:allowed("document:plan", "view", "user:ana")
                        and not engine:allowed("document:plan", "view", "user:cy") and stream:next()
                    engine, stream = nil, nil
                    collectgarbage()
                    os.exit(answer and 7 or 8, true)
                end
                local status = ffi.new("int[1]")
                ffi.C.waitpid(pid, status, 0)
                print("child " .. bit.rshift(status[0], 8))
                print("parent " .. tostring(engine:allowed("document:plan", "view", "user:bo")))
            ]]))
        end)
    end
end)
