-- SpiceDB's consistency suite over its own validation files, through Lua and in short: lookups of resources and of
-- subjects say what bulk checks say, whole and in pages of two; what the assertions say holds; everything expands. The
-- whole suite is test_consistency.py.
local licet = require "licet"
local core = require "licet.core"

local shared = os.getenv("LICET_SHARED") or "../shared"
local unpack = table.unpack or unpack

-- Expirations in the files are past or far in the future; before the first time nothing has expired.
local BEFORE = os.time { year = 2020, month = 1, day = 1 }
local NOW = os.time { year = 2026, month = 8, day = 20 }

-- What has to come together over all files.
local TOTAL = { files = 41, assertions = 208, checks = 15326, resources = 2052, subjects = 1664, expands = 355 }

local NO = "no_permission"
local LISTS = { assertTrue = "has_permission", assertCaveated = "conditional", assertFalse = NO }

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")

    file:close()
    return text
end

local function files()
    local pipe = assert(io.popen("ls " .. shared .. "/conformance/spicedb/*.yaml 2>/dev/null"))
    local paths = {}

    for path in pipe:lines() do
        paths[#paths + 1] = path
    end
    pipe:close()
    return paths
end

local function sorted_keys(set)
    local keys = {}

    for key in pairs(set) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return keys
end

-- What was said of a subject or a resource, to be compared.
local function said(answer)
    return table.concat({ answer.permissionship, unpack(answer.missing_context) }, " ")
end

-- The items of the lists below `assertions`: each stands on a line of its own, in quotes.
local function read_assertions(text)
    local found, expected = {}, nil

    for line in (text:match("\nassertions:(.*)") or ""):gmatch("[^\n]+") do
        local heading = line:match("^ *(%w+): *$")
        local quote, item = line:match("^ *%- ([\"'])(.+)%1 *$")

        if heading then
            expected = LISTS[heading]
        elseif quote then
            local at, after = item:find(" with ", 1, true)
            local row = assert(licet.Relationship.parse(at and item:sub(1, at - 1) or item))

            found[#found + 1] = {
                text = item,
                expected = expected,
                question = { row.resource, row.relation, row.subject, at and item:sub(after + 1) or nil },
            }
        end
    end
    return found
end

-- A validation file in an engine: names by type, relationships, and what occurs in them.
local function load(path)
    local text = read(path)
    local clock = licet.testing.manual_clock(BEFORE)
    local engine = assert(licet.open("memory:", { clock = clock }))
    local world = { engine = engine, assertions = read_assertions(text), names = {} }
    local ids, subjects, types, resources = {}, {}, {}, {}

    assert(core.validate(engine, text, { load_only = true }))
    for _, definition in ipairs(assert(assert(engine:read_schema()):reflect()).definitions) do
        local names = {}

        for _, list in ipairs { definition.relations, definition.permissions } do
            for _, member in ipairs(list) do
                names[#names + 1] = member.name
            end
        end
        world.names[definition.name] = names
        for row in assert(engine:read_relationships { resource_type = definition.name }) do
            resources[row.resource] = true
            ids[row.resource_id] = true
            types[row.subject_type .. "#" .. (row.subject_relation or "")] = true
            if row.subject_id ~= "*" then
                ids[row.subject_id] = true
                subjects[row.subject] = true
            end
        end
    end
    clock:set(NOW)
    world.ids, world.subjects = sorted_keys(ids), sorted_keys(subjects)
    world.types_of_subjects, world.resources = sorted_keys(types), sorted_keys(resources)
    return world
end

-- A lookup's answers by id, in pages of a size; 0: all in one.
local function drain(lookup, size)
    local found, options = {}, { limit = size > 0 and size or nil }
    local count

    repeat
        local stream = assert(lookup(options))

        count = 0
        for id, answer in stream do
            assert.is_nil(found[id])
            found[id] = answer
            count = count + 1
        end
        options.cursor = stream.cursor
    until size == 0 or count < size
    return found
end

local counts = { files = 0, assertions = 0, checks = 0, resources = 0, subjects = 0, expands = 0 }

local function counted(what, number)
    counts[what] = counts[what] + number
end

local function assertions_hold(world)
    for _, assertion in ipairs(world.assertions) do
        local resource, permission, subject, context = unpack(assertion.question, 1, 4)
        local _, answer = world.engine:check(resource, permission, subject, { context = context })
        local type, id = resource:match("^(.-):(.*)$")
        local found = drain(function(options)
            options.context = context
            return world.engine:lookup_resources(type, permission, subject, options)
        end, 0)

        assert.equal(assertion.expected, answer.permissionship, assertion.text)
        assert.equal(assertion.expected, found[id] and found[id].permissionship or NO, assertion.text)
    end
    counted("assertions", #world.assertions)
end

-- What a bulk check says of each subject.
local function checked(world, resource, name, subjects)
    local items, answers = {}, {}

    for i, subject in ipairs(subjects) do
        items[i] = { resource, name, subject }
    end
    for i, result in ipairs(assert(world.engine:check_bulk(items))) do
        assert.is_nil(result.error)
        answers[subjects[i]] = result
    end
    counted("checks", #items)
    return answers
end

local function resources_are_those_that_checks_allow(world, type, name, subject)
    local items, expected = {}, {}

    for i, id in ipairs(world.ids) do
        items[i] = { type .. ":" .. id, name, subject }
    end
    for i, result in ipairs(assert(world.engine:check_bulk(items))) do
        assert.is_nil(result.error)
        if result.permissionship ~= NO then
            expected[world.ids[i]] = said(result)
        end
    end
    for _, size in ipairs { 0, 2 } do
        local found = drain(function(options)
            return world.engine:lookup_resources(type, name, subject, options)
        end, size)

        for id, answer in pairs(found) do
            found[id] = said(answer)
        end
        assert.same(expected, found)
    end
    counted("checks", #items)
    counted("resources", 2)
end

-- What a lookup says of one subject: its own entry, or that of "*".
local function permissionship_of(found, id)
    local everyone = found["*"]

    if found[id] then
        return found[id].permissionship
    end
    for _, excluded in ipairs(everyone and everyone.excluded or {}) do
        if excluded.subject_id == id then
            return excluded.permissionship == "conditional" and "conditional" or NO
        end
    end
    return everyone and everyone.permissionship or NO
end

local function subjects_are_those_that_checks_allow(world, resource, name, shape)
    local type, relation = shape:match("^(.*)#(.*)$")
    local suffix = relation ~= "" and "#" .. relation or ""
    local stranger = type .. ":nobody-knows-this-one" .. suffix
    local asked = { stranger }

    for _, subject in ipairs(world.subjects) do
        local of, with = subject:match("^(.-):[^#]*(.*)$")

        if of == type and with == suffix then
            asked[#asked + 1] = subject
        end
    end
    for _, size in ipairs { 0, 2 } do
        local found = drain(function(options)
            options.subject_relation = relation ~= "" and relation or nil
            return world.engine:lookup_subjects(resource, name, type, options)
        end, size)

        for subject, answer in pairs(checked(world, resource, name, asked)) do
            local id = subject:match("^.-:([^#]*)")

            assert.equal(answer.permissionship, permissionship_of(found, id), resource .. "#" .. name .. "@" .. subject)
        end
        found["*"] = nil
        for id, answer in pairs(found) do
            local _, result = world.engine:check(resource, name, type .. ":" .. id .. suffix)

            assert.equal(said(result), said(answer))
        end
    end
    counted("subjects", 2)
end

local function everything_agrees(world)
    assertions_hold(world)
    for type, names in pairs(world.names) do
        for _, name in ipairs(names) do
            for _, subject in ipairs(world.subjects) do
                resources_are_those_that_checks_allow(world, type, name, subject)
            end
        end
    end
    for _, resource in ipairs(world.resources) do
        for _, name in ipairs(world.names[resource:match("^(.-):")]) do
            local tree = assert(world.engine:expand(resource, name))

            assert.equal(resource, tree.resource)
            assert.equal(name, tree.relation)
            counted("expands", 1)
            for _, shape in ipairs(world.types_of_subjects) do
                subjects_are_those_that_checks_allow(world, resource, name, shape)
            end
        end
    end
    counted("files", 1)
end

describe("in SpiceDB's validation file", function()
    local paths = files()

    if #paths == 0 then
        pending("needs the shared test data")
        return
    end
    for _, path in ipairs(paths) do
        it(path:match("[^/]+$") .. " all that can be asked agrees", function()
            local world = load(path)

            everything_agrees(world)
            world.engine:close()
        end)
    end

    it("everything was counted", function()
        print(("# %d files: %d assertions, %d checks, %d expands, %d lookups of resources, %d of subjects, 0 failures")
            :format(counts.files, counts.assertions, counts.checks, counts.expands, counts.resources, counts.subjects))
        assert.same(TOTAL, counts)
    end)
end)
