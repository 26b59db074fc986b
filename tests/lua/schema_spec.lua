local licet = require "licet"
local world = dofile "tests/lua/support/world.lua"

describe("a schema", function()
    it("is parsed, and knows its text and its definitions", function()
        local schema = assert(licet.Schema.parse(world.SCHEMA))

        assert.same({ "user", "group", "document" }, schema.definitions)
        assert.equal(world.SCHEMA, schema.text)
        assert.equal(world.SCHEMA, tostring(schema))
        assert.is_nil(schema.colour)
        assert.same({}, assert(licet.Schema.parse("")).definitions)
    end)

    it("is formatted, and the result formats to itself", function()
        local schema = assert(licet.Schema.parse("definition   user{}\ndefinition doc {\nrelation  owner:user\n}"))
        local text = assert(schema:format())

        assert.is_truthy(text:find("relation owner: user", 1, true))
        assert.equal(text, assert(assert(licet.Schema.parse(text)):format()))
    end)

    it("is linted", function()
        local schema = assert(licet.Schema.parse [[
definition user {}

definition folder {
    relation viewer: user
}

definition document {
    relation parent: folder
    permission view = parent->viewer
}
]])
        local lints = schema:lint()

        assert.equal(1, #lints)
        assert.equal("arrow-references-relation", lints[1].name)
        assert.equal(9, lints[1].line)
        assert.equal(23, lints[1].column)
        assert.is_truthy(lints[1].message:find("(arrow-references-relation)", 1, true))
    end)

    it("is refused with a line, a column, a kind and SpiceDB's reason", function()
        local text = "definition user {}\n\ndefinition document {\n  relation owner: usr\n}"
        local err = world.failure(licet.Schema.parse(text))
        assert.equal("schema_error", err.code)
        assert.equal("name", err.kind)
        assert.equal("SCHEMA_TYPE_ERROR", err.reason)
        assert.equal(4, err.line)
        assert.equal(19, err.column)
        assert.equal("line 4, column 19: " .. err.message, tostring(err))

        err = world.failure(licet.Schema.parse("definition user {}\0"))
        assert.equal("schema_error", err.code)
        assert.equal("encoding", err.kind)
        assert.equal(1, err.line)
        assert.equal(19, err.column)
    end)

    it("imports only from a folder that the caller gave", function()
        local folder = os.tmpname()
        os.remove(folder)
        assert(os.execute("mkdir '" .. folder .. "'"))
        local file = assert(io.open(folder .. "/users.zed", "w"))
        file:write("definition user {}\n")
        file:close()
        local text = 'use import\n\nimport "users.zed"\n\ndefinition document {\n  relation owner: user\n}\n'

        assert.equal("schema_error", world.failure(licet.Schema.parse(text)).code)
        assert.same(2, #assert(licet.Schema.parse(text, { folder = folder })).definitions)
        assert.equal("schema_error", world.failure(licet.Schema.parse(text, { folder = "/nonexistent" })).code)
        os.remove(folder .. "/users.zed")
        os.remove(folder)
    end)

    it("is written to an engine and read back", function()
        local engine = assert(licet.open())

        assert.equal("not_found", world.failure(engine:read_schema()).code)
        assert.is_string(engine:write_schema(world.SCHEMA))
        local schema = assert(engine:read_schema())
        assert.equal(world.SCHEMA, schema.text)
        assert(engine:write_schema("definition user {}"))
        assert.equal(world.SCHEMA, schema.text)
        engine:close()
        assert.equal(world.SCHEMA, schema.text)
        assert.same({ "user", "group", "document" }, schema.definitions)
    end)

    it("is not replaced by one that stored relationships contradict", function()
        local engine = world.open()
        local err = world.failure(engine:write_schema("definition user {}"))

        assert.equal("schema_error", err.code)
        assert.is_nil(err.line)
        assert.is_true(engine:allowed("document:plan", "view", "user:ana"))
        assert.equal(world.SCHEMA, assert(engine:read_schema()).text)
        engine:close()
    end)

    it("has no marks of direction where it is strict", function()
        local text = "// \226\128\174\ndefinition user {}\n"
        local err = world.failure(licet.Schema.parse(text, { strict = true }))

        assert.same({ "user" }, assert(licet.Schema.parse(text)).definitions)
        assert.equal("encoding", err.kind)
        assert.equal(1, err.line)
    end)
end)
