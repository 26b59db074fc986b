-- SpiceDB's own files, through Lua: its validation files, and its parser's texts with their verdicts.
local licet = require "licet"

local shared = os.getenv("LICET_SHARED") or "../shared"

local function read(path)
    local file = io.open(path, "rb")
    local text = file and file:read("*a")

    if file then
        file:close()
    end
    return text
end

local function files(pattern)
    local pipe = assert(io.popen("ls " .. shared .. "/conformance/" .. pattern .. " 2>/dev/null"))
    local paths = {}

    for path in pipe:lines() do
        paths[#paths + 1] = path
    end
    pipe:close()
    return paths
end

-- The entries of a top-level key that are lists, counted without a YAML parser: lines that begin with a dash.
local function entries(text, key)
    local count, inside = 0, false

    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        if line:find("^[%a_]") then
            inside = line:find("^" .. key .. ":") ~= nil
        elseif inside and line:find("^%s*%-%s") then
            count = count + 1
        end
    end
    return count
end

describe("SpiceDB's validation file", function()
    local paths = files("spicedb/*.yaml")

    if #paths == 0 then
        pending("needs the shared test data")
    end
    for _, path in ipairs(paths) do
        local name = path:match("[^/]+$")
        local text = read(path)

        it(name .. " holds in every assertion and expected relation", function()
            local ok, report = licet.validate(path)

            assert.is_true(ok, ok == nil and tostring(report) or nil)
            assert.same({}, report.failures)
            assert.equal(entries(text, "assertions"), report.assertions)
            assert.equal(entries(text, "validation"), report.expected_relations)
            assert.is_true(report.relationships > 0)
        end)
    end
end)

describe("SpiceDB's parser text", function()
    local manifest = read(shared .. "/conformance/parser/manifest.json")

    if not manifest then
        pending("needs the shared test data")
        return
    end
    for name, verdict in manifest:gmatch('"([^"]+%.zed)"%s*:%s*"(%a+)"') do
        it(name .. " is " .. (verdict == "ok" and "no syntax error" or "a syntax error"), function()
            local folder = shared .. "/conformance/parser"
            local schema, err = licet.Schema.parse(assert(read(folder .. "/" .. name)), { folder = folder })

            if verdict == "ok" then
                assert.is_true(schema ~= nil or err.kind ~= "syntax", err and tostring(err))
            else
                assert.is_nil(schema)
                assert.equal("syntax", err.kind)
                assert.is_true(err.line >= 1 and err.column >= 1)
            end
        end)
    end
end)
