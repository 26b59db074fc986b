/* licet.open(uri, {log = function(level, line)}): the lines, and the table that keeps the function. */
#include "log.h"

#include "convert.h"

/* Lines that were taken from the queue, in a box: handing them on may raise. */
typedef struct lines_box {
    log_line *line;
} lines_box;

static const type lines_type = { "licet.LogLines" };

void log_retain(engine_log *log)
{
    if (log != NULL)
        log->holders++;
}

void log_release(engine_log *log)
{
    if (log == NULL || --log->holders > 0)
        return;
    log_queue_clear(&log->lines);
    free(log);
}

licet_log log_of(engine_log *log)
{
    return log == NULL ? (licet_log){ NULL, NULL } : (licet_log){ log_queue_write, &log->lines };
}

engine_log *log_from_options(lua_State *L, int arg, int box)
{
    reader      r     = READER_INIT(L, arg);
    int         index = option_push(L, arg, "log");
    engine_log *log;

    r.field = "log";
    if (lua_isnil(L, index)) {
        lua_pop(L, 1);
        return NULL;
    }
    if (!lua_isfunction(L, index))
        refuse(&r, index, "function");
    lua_createtable(L, 1, 0);
    lua_insert(L, index);
    lua_rawseti(L, index, 1);
    lua_settable_of(L, box);
    log = malloc(sizeof *log);
    if (log == NULL)
        luaL_error(L, "not enough memory");
    log_queue_init(&log->lines);
    log->holders = 1;
    return log;
}

static const char *level_name(licet_log_level level)
{
    switch (level) {
    case LICET_LOG_ERROR:
        return "error";
    case LICET_LOG_WARNING:
        return "warning";
    default:
        return "info";
    }
}

/* Calls the function at `function` with a level and the text on top of the stack, which it takes. */
static void tell(lua_State *L, int function, licet_log_level level)
{
    lua_pushvalue(L, function);
    lua_insert(L, -2);
    lua_pushstring(L, level_name(level));
    lua_insert(L, -2);
    if (lua_pcall(L, 2, 0, 0) != 0)
        lua_pop(L, 1);
}

void log_tell_lines(lua_State *L, int box, engine_log *log)
{
    int        top = lua_gettop(L);
    uint64_t   dropped;
    lines_box *lines;

    luaL_checkstack(L, 8, NULL);
    lua_gettable_of(L, box);
    lua_rawgeti(L, top + 1, 1);
    lines       = box_new(L, sizeof *lines, &lines_type);
    lines->line = log_queue_take(&log->lines, &dropped);
    while (lines->line != NULL) {
        licet_log_level level = lines->line->level;

        lua_pushlstring(L, lines->line->text, lines->line->size);
        lines->line = log_line_next(lines->line);
        tell(L, top + 2, level);
    }
    if (dropped > 0) {
        lua_pushfstring(L, "%d lines of this log were dropped", (int)dropped);
        tell(L, top + 2, LICET_LOG_WARNING);
    }
    lua_settop(L, top);
}

static int lines_gc(lua_State *L)
{
    lines_box *lines = box_check(L, 1, &lines_type);

    while (lines->line != NULL)
        lines->line = log_line_next(lines->line);
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", lines_gc },
    { NULL, NULL },
};

void log_register(lua_State *L)
{
    type_register(L, &lines_type, metamethods, NULL);
}
