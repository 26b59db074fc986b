/* What the core has to say to whoever runs the application, handed to a function of Lua's from its own thread.
 *
 * The core may say it from any thread, and as long as an engine is there, which streams and results keep alive when
 * nothing else does. So the queue lives outside of Lua's memory, and has holders. */
#ifndef LICET_LUA_LOG_H
#define LICET_LUA_LOG_H

#include "module.h"

#include "../log_queue.h"

typedef struct engine_log {
    log_queue lines;
    size_t    holders; /* all in one thread */
} engine_log;

void log_register(lua_State *L);

/* One holder more and one fewer, of the thread that Lua runs in; NULL is fine. */
void log_retain(engine_log *log);
void log_release(engine_log *log);

/* A new log with one holder, and the function that is told of it attached to the userdata at `box`; NULL where the options
 * at `arg` have none. Raises for what is no function. */
engine_log *log_from_options(lua_State *L, int arg, int box);

/* What the core calls; for NULL nothing. */
licet_log log_of(engine_log *log);

/* Hands the lines that wait to the function of the userdata at `box`. What it raises is dropped: it is no part of the call
 * that happens to be under way. Any Lua code may run. */
void log_tell_lines(lua_State *L, int box, engine_log *log);

/* The same, when lines wait. */
static inline void log_tell(lua_State *L, int box, engine_log *log)
{
    if (log != NULL && log_queue_has_lines(&log->lines))
        log_tell_lines(L, box, log);
}

#endif
