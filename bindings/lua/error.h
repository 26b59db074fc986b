/* Statuses to error values: a table with code, kind, message, line, column and reason, and tostring(). */
#ifndef LICET_LUA_ERROR_H
#define LICET_LUA_ERROR_H

#include "module.h"

void error_register(lua_State *L);

/* Pushes nil and the error of a failed call, and returns 2, so that a function can return it. Takes error. */
int push_error(lua_State *L, licet_status status, licet_error *error);

/* The same where no core made the error: a handle that was closed, or one that is in use further down the stack. */
int push_closed(lua_State *L);
int push_misuse(lua_State *L, const char *message);

/* Pushes the error value alone. Its owner keeps `error`, and keeps it until this returns, whatever runs meanwhile. */
void error_push(lua_State *L, licet_status status, const licet_error *error);

/* failure(code, kind, message): an error value for what fails on the Lua side, such as opening a file. */
int error_failure(lua_State *L);

#endif
