local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

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
  assertFalse:
    - document:plan#view@user:bo
validation:
  document:plan#view:
    - "[user:ana] is <document:plan#owner>"
]]

local function write(ending, text)
    local name = os.tmpname()
    local file

    os.remove(name)
    name = name .. ending
    file = assert(io.open(name, "wb"))
    file:write(text)
    file:close()
    return name
end

describe("a validation file", function()
    it("is true when everything in it holds", function()
        local ok, report = licet.validate("examples/documents.yaml")

        assert.is_true(ok)
        assert.equal("examples/documents.yaml", report.path)
        assert.equal(3, report.relationships)
        assert.equal(3, report.assertions)
        assert.equal(2, report.expected_relations)
        assert.same({}, report.findings)
        assert.same({}, report.failures)
        assert.same({}, report.warnings)
    end)

    it("is false with what does not hold", function()
        local ok, report = licet.validate(FILE)

        assert.is_false(ok)
        assert.is_nil(report.path)
        assert.equal(1, report.relationships)
        assert.equal(3, report.assertions)
        assert.equal(1, report.expected_relations)
        assert.equal(1, #report.failures)
        assert.same({}, report.warnings)
        local failure = report.failures[1]
        assert.is_false(failure.is_warning)
        assert.equal("assertion", failure.source)
        assert.equal("ASSERTION_FAILED", failure.kind)
        assert.equal("Expected relation or permission document:plan#view@user:cy to exist", failure.message)
        assert.equal(13, failure.line)
        assert.is_true(failure.column > 0)
    end)

    it("is nil and an error with a position when it is unusable", function()
        local err = world.failure(licet.validate("schema: [\n"))
        assert.equal("invalid_argument", err.code)
        assert.equal("syntax", err.kind)
        assert.is_number(err.line)

        err = world.failure(licet.validate("schema: |-\n  definition user {\nrelationships: |-\n"))
        assert.equal("schema_error", err.code)
        assert.is_number(err.line)

        err = world.failure(licet.validate((FILE:gsub("plan#owner@user:ana", "plan#boss@user:ana", 1))))
        assert.equal("not_found", err.code)
        assert.equal(9, err.line)

        err = world.failure(licet.validate("schema: x\0"))
        assert.equal("invalid_argument", err.code)
    end)

    it("is nil and an error when there is no such file", function()
        local err = world.failure(licet.validate("no/such/file.yaml"))
        assert.equal("invalid_argument", err.code)
        assert.equal("config", err.kind)
        assert.is_truthy(err.message:find("no/such/file.yaml", 1, true))
        assert.equal(err.message, tostring(err))
        assert.is_truthy(world.raised(licet.validate, 42):find("string expected, got number", 1, true))
        assert.is_truthy(world.raised(licet.validate):find("string expected, got nil", 1, true))
        assert.is_truthy(world.raised(licet.validate, FILE, "x"):find("table expected, got string", 1, true))
        assert.is_truthy(world.raised(licet.validate, FILE, { foldr = "." }):find("no field 'foldr'", 1, true))
    end)

    it("may be a schema alone, by its ending or by its looks", function()
        local schema = "definition user {}\n\ndefinition doc {\n\trelation owner: user\n" ..
            "\tpermission view = view + owner\n}\n"
        local by_ending = write(".zed", schema)
        local by_looks = write("", schema)

        for _, given in ipairs { schema, by_ending, by_looks } do
            local ok, report = licet.validate(given)
            assert.is_true(ok)
            assert.equal(0, report.assertions)
            assert.equal(1, #report.warnings)
            assert.equal("permission-references-itself", report.warnings[1].kind)
            assert.equal("schema", report.warnings[1].source)
            assert.equal(5, report.warnings[1].line)
        end
        os.remove(by_ending)
        os.remove(by_looks)
        assert.equal("schema_error", world.failure(licet.validate("definition user {}\ndefinition user {}\n")).code)
    end)

    it("names other files only inside its folder", function()
        local schema = write(".zed", "definition user {}\n")
        local folder, name = schema:match("^(.*)/([^/]*)$")
        local file = write(".yaml", "schemaFile: " .. name .. "\n")
        local text = "schemaFile: " .. name .. "\nrelationships: ''\n"

        assert.is_true((licet.validate(file)))
        assert.is_true((licet.validate(text, { folder = folder })))
        assert.is_nil((licet.validate(text)))
        assert.is_nil((licet.validate("schemaFile: " .. schema .. "\nrelationships: ''\n", { folder = folder })))
        os.remove(schema)
        os.remove(file)
    end)

    it("is refused beyond the size that the core takes", function()
        local long = write(".yaml", FILE .. "# " .. ("x"):rep(1048576))
        assert.equal("limit_exceeded", world.failure(licet.validate(long)).code)
        os.remove(long)
    end)
end)
