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

    it("is compared with another, entry by entry", function()
        local before = assert(licet.Schema.parse(world.SCHEMA))
        local after = assert(licet.Schema.parse([[
caveat grown(age int) { age >= 18 }
definition user {}
definition document {
    relation owner: user
    relation viewer: user
    relation signer: user
    permission edit = owner + signer
    permission view = viewer + edit
}
]]))
        local diff = assert(before:diff(after))

        assert.same({
            { kind = "caveat_added", caveat = "grown" },
            { kind = "permission_expr_changed", definition = "document", name = "edit", before = "owner",
                after = "owner + signer" },
            { kind = "relation_added", definition = "document", name = "signer", after = "user" },
            { kind = "relation_subject_type_removed", definition = "document", name = "viewer",
                before = "group#member" },
            { kind = "relation_subject_type_removed", definition = "document", name = "viewer", before = "user:*" },
            { kind = "definition_removed", definition = "group" },
        }, diff)
        assert.same({}, assert(before:diff(before)))
        assert.is_truthy(world.raised(before.diff, before, world.SCHEMA)
            :find("licet.Schema expected, got string", 1, true))
    end)

    it("tells what a relation takes part in, and what a permission reads", function()
        local schema = assert(licet.Schema.parse(world.SCHEMA))

        assert.same({
            { kind = "permission", definition = "document", name = "edit" },
            { kind = "permission", definition = "document", name = "view" },
        }, assert(schema:computable_permissions("document", "owner")))
        assert.same({}, assert(schema:computable_permissions("document", "owner", "gr")))
        assert.is_true(#assert(schema:computable_permissions("user")) > 0)
        assert.same({
            { kind = "permission", definition = "document", name = "edit" },
            { kind = "relation", definition = "document", name = "owner" },
            { kind = "relation", definition = "document", name = "viewer" },
            { kind = "relation", definition = "group", name = "member" },
        }, assert(schema:dependent_relations("document", "view")))
        assert.equal("not_found", world.failure(schema:computable_permissions("planet", "owner")).code)
        assert.equal("not_found", world.failure(schema:dependent_relations("document", "sign")).code)
        assert.equal("invalid_argument", world.failure(schema:dependent_relations("document", "owner")).code)
    end)

    it("describes itself as tables", function()
        local schema = assert(licet.Schema.parse([[
caveat grown(age int, least int) { age >= least }

/** People. */
definition user {}

definition document {
    relation owner: user | user:* | user with grown
    permission edit = owner
}
]]))
        local whole = assert(schema:reflect())
        local part = assert(schema:reflect { { definition = "doc" } })

        assert.equal(2, #whole.definitions)
        assert.equal("user", whole.definitions[2].name)
        assert.equal("/** People. */", whole.definitions[2].comment)
        assert.equal("grown", whole.caveats[1].name)
        assert.equal("age", whole.caveats[1].parameters[1].name)
        assert.equal("int", whole.caveats[1].parameters[1].type)
        assert.equal(1, #part.definitions)
        assert.same({}, part.caveats)
        assert.equal("owner", part.definitions[1].relations[1].name)
        assert.equal(3, #part.definitions[1].relations[1].subject_types)
        assert.equal("edit", part.definitions[1].permissions[1].name)
        assert.equal("invalid_argument", world.failure(schema:reflect { { relation = "owner" } }).code)
        assert.is_truthy(world.raised(schema.reflect, schema, { { colour = "x" } })
            :find("item 1: no field 'colour'", 1, true))
        assert.is_truthy(world.raised(schema.reflect, schema, "doc"):find("list of filters expected", 1, true))
    end)
end)
