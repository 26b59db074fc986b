-- The project's own scenario files, through Lua: validation files that hold, and schemas with the outcome that their
-- first line tells ("-- ok" is written "// ok", an error "// error KIND LINE:COLUMN MESSAGE").
local licet = require "licet"

local folder = "tests/conformance/cases/"

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")

    file:close()
    return text
end

local function files(pattern)
    local pipe = assert(io.popen("ls " .. folder .. pattern))
    local paths = {}

    for path in pipe:lines() do
        paths[#paths + 1] = path
    end
    pipe:close()
    assert(#paths > 0)
    return paths
end

-- The entries of a top-level key that are lists, counted without a YAML parser: lines that begin with a dash.
local function entries(text, key)
    local count, inside = 0, false

    for line in text:gmatch("([^\n]*)\n") do
        if line:find("^[%a_]") then
            inside = line:find("^" .. key .. ":") ~= nil
        elseif inside and line:find("^%s*%-%s") then
            count = count + 1
        end
    end
    return count
end

describe("the scenario", function()
    for _, path in ipairs(files("*.yaml")) do
        it(path:match("([^/]+)%.yaml$") .. " holds", function()
            local ok, report = licet.validate(path)
            local text = read(path)

            assert.is_true(ok, ok == nil and tostring(report) or nil)
            assert.same({}, report.failures)
            assert.equal(entries(text, "assertions"), report.assertions)
            assert.equal(entries(text, "validation"), report.expected_relations)
        end)
    end
end)

describe("the schema", function()
    for _, path in ipairs(files("schema/*.zed")) do
        it(path:match("([^/]+)%.zed$") .. " has its outcome", function()
            local text = read(path)
            local schema, err = licet.Schema.parse(text)
            local found = schema and "// ok"
                or ("// error %s %d:%d %s"):format(err.kind, err.line, err.column, err.message)

            assert.equal(text:match("^[^\r\n]*"), found)
        end)
    end
end)
