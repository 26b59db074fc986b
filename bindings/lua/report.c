/* Validation files: runs one on an empty engine and gives the whole report back as a plain table, to which
 * lua/licet/init.lua adds what is pleasant. */
#include "report.h"

#include "convert.h"
#include "engine.h"
#include "error.h"

static const type report_type = { "licet.Report" };

typedef struct report_box {
    licet_report *report; /* owned; NULL until it is filled */
} report_box;

static void set_text(lua_State *L, const char *name, licet_str text)
{
    lua_pushlstring(L, text.data == NULL ? "" : text.data, text.size);
    lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, uint64_t number)
{
    lua_pushinteger(L, (lua_Integer)number);
    lua_setfield(L, -2, name);
}

static void finding_push(lua_State *L, const licet_finding *finding)
{
    lua_createtable(L, 0, 6);
    lua_pushboolean(L, finding->is_warning);
    lua_setfield(L, -2, "is_warning");
    set_text(L, "source", finding->source);
    set_text(L, "kind", finding->kind);
    set_text(L, "message", finding->message);
    set_number(L, "line", finding->line);
    set_number(L, "column", finding->column);
}

static void report_push(lua_State *L, const licet_report *report)
{
    licet_report_counts counts  = LICET_REPORT_COUNTS_INIT;
    licet_finding       finding = LICET_FINDING_INIT;

    licet_report_count(report, &counts);
    lua_createtable(L, 0, 8);
    set_number(L, "relationships", counts.relationships);
    set_number(L, "assertions", counts.assertions);
    set_number(L, "expected_relations", counts.expected_relations);
    lua_newtable(L);
    for (size_t i = 0; licet_report_finding(report, i, &finding); i++) {
        finding_push(L, &finding);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "findings");
}

static void report_release(report_box *box)
{
    licet_report *report = box->report;

    box->report = NULL;
    licet_report_release(report);
}

int report_validate(lua_State *L)
{
    static const field fields[] = {
        { "folder", FIELD_STRING, offsetof(licet_validate_request, folder) },
        { "load_only", FIELD_BOOLEAN, offsetof(licet_validate_request, load_only) },
    };
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_error           *error   = NULL;
    licet_status           status;
    engine_box            *engine;
    report_box            *box;

    lua_settop(L, 3);
    engine       = engine_from_lua(L, 1);
    request.text = str_from_lua(L, 2);
    box          = box_new(L, sizeof *box, &report_type);
    options_read(L, 3, fields, sizeof fields / sizeof *fields, &request);
    if (engine->engine == NULL)
        return push_closed(L);
    status = licet_validate(engine->engine, &request, &box->report, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    report_push(L, box->report);
    report_release(box);
    return 1;
}

static int report_gc(lua_State *L)
{
    report_release(box_check(L, 1, &report_type));
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", report_gc },
    { NULL, NULL },
};

void report_register(lua_State *L)
{
    type_register(L, &report_type, metamethods, NULL);
}
