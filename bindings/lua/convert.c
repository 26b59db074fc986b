/* Lua values to the core's. See convert.h for what is text, and module.h for why nothing allocates. */
#include "convert.h"

#include <string.h>

#include "consistency.h"

/* ------------------------------------------------------------------------ errors */

/* "item 3: resource_id: " or less, for luaL_argerror. */
static const char *describe(const reader *r, const char *what)
{
    if (r->item > 0 && r->field != NULL)
        return lua_pushfstring(r->L, "item %d: %s: %s", (int)r->item, r->field, what);
    if (r->item > 0)
        return lua_pushfstring(r->L, "item %d: %s", (int)r->item, what);
    if (r->field != NULL)
        return lua_pushfstring(r->L, "%s: %s", r->field, what);
    return what;
}

static void give_up(const reader *r)
{
    if (r->give_up != NULL)
        r->give_up(r->owned);
}

void refuse(const reader *r, int index, const char *expected)
{
    const char *type = luaL_typename(r->L, index);

    give_up(r);
    luaL_argerror(r->L, r->arg, describe(r, lua_pushfstring(r->L, "%s expected, got %s", expected, type)));
}

static void refuse_value(const reader *r, const char *expected)
{
    give_up(r);
    luaL_argerror(r->L, r->arg, describe(r, lua_pushfstring(r->L, "%s expected", expected)));
}

static void refuse_key(reader *r, int index)
{
    r->field = NULL;
    give_up(r);
    if (lua_type(r->L, index) == LUA_TSTRING)
        luaL_argerror(r->L, r->arg, describe(r, lua_pushfstring(r->L, "no field '%s'", lua_tostring(r->L, index))));
    luaL_argerror(r->L, r->arg, describe(r, lua_pushfstring(r->L, "no field of type %s", luaL_typename(r->L, index))));
}

/* ------------------------------------------------------------------- single values */

const char *mode_name(licet_mode mode)
{
    static const char *const names[] = { "auto", "follow", "prefetch" };

    return names[mode];
}

static licet_str string_at(const reader *r, int index)
{
    licet_str text = { NULL, 0 };

    if (lua_type(r->L, index) != LUA_TSTRING)
        refuse(r, index, "string");
    text.data = lua_tolstring(r->L, index, &text.size);
    return text;
}

/* What is beyond `max` becomes max, which is beyond every limit of the core's too: the core says what is allowed. */
static uint64_t count_at(const reader *r, int index, uint64_t min, uint64_t max)
{
    lua_Number number;

    if (lua_type(r->L, index) != LUA_TNUMBER)
        refuse(r, index, "number");
    number = lua_tonumber(r->L, index);
    if (number >= (lua_Number)max)
        return max;
    if (!(number >= (lua_Number)min) || number != (lua_Number)(uint64_t)number)
        refuse_value(r, min > 0 ? "positive whole number" : "whole number from 0 on");
    return (uint64_t)number;
}

static bool boolean_at(const reader *r, int index)
{
    if (lua_type(r->L, index) != LUA_TBOOLEAN)
        refuse(r, index, "boolean");
    return lua_toboolean(r->L, index);
}

static void consistency_read(const reader *r, int index, licet_consistency *consistency)
{
    const bool no_wait = consistency->no_wait; /* may_block was read before, or comes yet */

    if (!consistency_parse(string_at(r, index), consistency))
        refuse_value(r, "licet.FULL, licet.MINIMIZE_LATENCY, licet.at_least(token) or licet.at_exactly(token)");
    consistency->no_wait = no_wait;
}

static licet_mode mode_at(const reader *r, int index)
{
    const licet_str given = string_at(r, index);

    for (int i = LICET_MODE_AUTO; i <= LICET_MODE_PREFETCH; i++) {
        const char *name = mode_name((licet_mode)i);

        if (strlen(name) == given.size && memcmp(name, given.data, given.size) == 0)
            return (licet_mode)i;
    }
    refuse_value(r, "\"auto\", \"follow\" or \"prefetch\"");
    return LICET_MODE_AUTO;
}

uint32_t wait_at(const reader *r, int index)
{
    lua_Number seconds;
    lua_Number ms;

    if (lua_type(r->L, index) != LUA_TNUMBER)
        refuse(r, index, "number");
    seconds = lua_tonumber(r->L, index);
    if (!(seconds >= 0))
        refuse_value(r, "seconds from 0 on");
    ms = seconds * 1000;
    if (ms >= (lua_Number)UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)ms + ((lua_Number)(uint32_t)ms < ms ? 1 : 0);
}

/* ----------------------------------------------------------------------- records */

static const field *field_find(const field *fields, size_t count, licet_str name)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(fields[i].name) == name.size && memcmp(fields[i].name, name.data, name.size) == 0)
            return &fields[i];
    return NULL;
}

/* The greatest whole number up to which a lua_Number of every Lua has no gaps. */
#define EXACT_MAX ((uint64_t)1 << 53)

static void field_read(const reader *r, int index, const field *field, void *record)
{
    void *to = (char *)record + field->offset;

    switch (field->kind) {
    case FIELD_STRING:
        *(licet_str *)to = string_at(r, index);
        break;
    case FIELD_COUNT32:
        *(uint32_t *)to = (uint32_t)count_at(r, index, 1, UINT32_MAX);
        break;
    case FIELD_COUNT64:
        *(uint64_t *)to = count_at(r, index, 1, EXACT_MAX);
        break;
    case FIELD_WAIT:
        *(uint32_t *)to = (uint32_t)count_at(r, index, 0, UINT32_MAX);
        break;
    case FIELD_BOOLEAN:
        *(bool *)to = boolean_at(r, index);
        break;
    case FIELD_CONSISTENCY:
        consistency_read(r, index, to);
        break;
    case FIELD_MAY_BLOCK:
        *(bool *)to = !boolean_at(r, index);
        break;
    case FIELD_MODE:
        *(licet_mode *)to = mode_at(r, index);
        break;
    case FIELD_ELSEWHERE:
        break;
    }
}

void record_read(reader *r, int index, const field *fields, size_t count, void *record)
{
    lua_State   *L = r->L;
    licet_str    name;
    const field *found;

    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            refuse_key(r, -2);
        name.data = lua_tolstring(L, -2, &name.size);
        found     = field_find(fields, count, name);
        if (found == NULL)
            refuse_key(r, -2);
        else {
            r->field = found->name;
            field_read(r, lua_gettop(L), found, record);
        }
    }
    r->field = NULL;
}

void options_read(lua_State *L, int arg, const field *fields, size_t count, void *record)
{
    reader r = READER_INIT(L, arg);

    if (lua_isnoneornil(L, arg))
        return;
    luaL_checktype(L, arg, LUA_TTABLE);
    record_read(&r, arg, fields, count, record);
}

void consistency_from_options(lua_State *L, int arg, licet_consistency *consistency)
{
    static const field fields[] = { CONSISTENCY_FIELDS(0), { "context", FIELD_ELSEWHERE, 0 } };

    options_read(L, arg, fields, sizeof fields / sizeof *fields, consistency);
}

/* ------------------------------------------------------------------------- lists */

size_t list_size(const reader *r, int index)
{
    size_t size  = lua_rawlen(r->L, index);
    size_t count = 0;

    for (lua_pushnil(r->L); lua_next(r->L, index) != 0; lua_pop(r->L, 1)) {
        if (lua_type(r->L, -2) != LUA_TNUMBER)
            luaL_argerror(r->L, r->arg, describe(r, "list expected, got a table with other keys"));
        count++;
    }
    if (count != size)
        luaL_argerror(r->L, r->arg, describe(r, "list expected, got a table with holes"));
    return size;
}

int option_push(lua_State *L, int arg, const char *name)
{
    if (lua_isnoneornil(L, arg)) {
        lua_pushnil(L);
    } else {
        luaL_checktype(L, arg, LUA_TTABLE);
        lua_pushstring(L, name);
        lua_rawget(L, arg);
    }
    return lua_gettop(L);
}

void *list_records_new(const reader *r, int index, const char *expected, size_t size, size_t *count)
{
    *count = 0;
    if (!lua_isnil(r->L, index)) {
        if (!lua_istable(r->L, index))
            refuse(r, index, expected);
        *count = list_size(r, index);
    }
    return records_new(r->L, *count, size);
}

void strs_from_lua(reader *r, int index, licet_str *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        r->item = i + 1;
        lua_rawgeti(r->L, index, (int)r->item);
        texts[i] = string_at(r, lua_gettop(r->L));
        lua_pop(r->L, 1);
    }
}

static void filter_read(reader *r, licet_filter *filter)
{
    static const field fields[] = { FILTER_FIELDS(0) };

    *filter = (licet_filter)LICET_FILTER_INIT;
    if (!lua_istable(r->L, -1))
        refuse(r, -1, "table");
    record_read(r, lua_gettop(r->L), fields, sizeof fields / sizeof *fields, filter);
}

void filters_from_lua(reader *r, int index, licet_filter *filters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        r->item = i + 1;
        lua_rawgeti(r->L, index, (int)r->item);
        filter_read(r, &filters[i]);
        lua_pop(r->L, 1);
    }
}

bool relationship_from_lua(reader *r, int index, licet_relationship *relationship)
{
    static const field fields[] = {
        { "resource_type", FIELD_STRING, offsetof(licet_relationship, resource_type) },
        { "resource_id", FIELD_STRING, offsetof(licet_relationship, resource_id) },
        { "relation", FIELD_STRING, offsetof(licet_relationship, relation) },
        { "subject_type", FIELD_STRING, offsetof(licet_relationship, subject_type) },
        { "subject_id", FIELD_STRING, offsetof(licet_relationship, subject_id) },
        { "subject_relation", FIELD_STRING, offsetof(licet_relationship, subject_relation) },
        { "caveat_name", FIELD_STRING, offsetof(licet_relationship, caveat_name) },
        { "caveat_context", FIELD_STRING, offsetof(licet_relationship, caveat_context) },
        { "expiration", FIELD_STRING, offsetof(licet_relationship, expiration) },
    };

    *relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    if (lua_istable(r->L, index)) {
        record_read(r, index, fields, sizeof fields / sizeof *fields, relationship);
        return true;
    }
    if (lua_type(r->L, index) != LUA_TSTRING)
        refuse(r, index, "relationship (string or table)");
    r->status = licet_relationship_parse(string_at(r, index), relationship, &r->error);
    return r->status == LICET_OK;
}

bool relationships_from_lua(reader *r, int index, licet_operation operation, licet_update *updates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        r->item = i + 1;
        lua_rawgeti(r->L, index, (int)r->item);
        updates[i].operation = operation;
        if (!relationship_from_lua(r, lua_gettop(r->L), &updates[i].relationship))
            return false;
        lua_pop(r->L, 1);
    }
    return true;
}

/* A pair {name, value}, as the functions of lua/licet/init.lua make them: pushes both, and finds the number of the name
 * in `names`, counted from 1. Every enumeration that is named like this counts so. */
static int choice_at(reader *r, const char *expected, const char *const *names)
{
    lua_State *L = r->L;
    licet_str  name;

    if (!lua_istable(L, -1))
        refuse(r, -1, expected);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    if (lua_type(L, -2) == LUA_TSTRING && lua_rawlen(L, -3) == 2) {
        name.data = lua_tolstring(L, -2, &name.size);
        for (int i = 0; names[i] != NULL; i++)
            if (strlen(names[i]) == name.size && memcmp(names[i], name.data, name.size) == 0)
                return i + 1;
    }
    refuse_value(r, expected);
    return 0;
}

bool updates_from_lua(reader *r, int index, licet_update *updates, size_t count)
{
    static const char *const operations[] = { "create", "touch", "delete", NULL };

    for (size_t i = 0; i < count; i++) {
        r->item = i + 1;
        lua_rawgeti(r->L, index, (int)r->item);
        updates[i].operation =
            (licet_operation)choice_at(r, "licet.create(), licet.touch() or licet.delete()", operations);
        if (!relationship_from_lua(r, lua_gettop(r->L), &updates[i].relationship))
            return false;
        lua_pop(r->L, 3);
    }
    return true;
}

void preconditions_from_lua(reader *r, int index, licet_precondition *preconditions, size_t count)
{
    static const char *const expectations[] = { "must_not_match", "must_match", NULL };

    for (size_t i = 0; i < count; i++) {
        r->item = i + 1;
        lua_rawgeti(r->L, index, (int)r->item);
        preconditions[i].expectation =
            (licet_expectation)choice_at(r, "licet.must_match() or licet.must_not_match()", expectations);
        filter_read(r, &preconditions[i].filter);
        lua_pop(r->L, 3);
    }
}
