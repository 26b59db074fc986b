/* Validation files: what licet.validate() is made of. */
#ifndef LICET_LUA_REPORT_H
#define LICET_LUA_REPORT_H

#include "module.h"

void report_register(lua_State *L);

/* validate(engine, text, {folder = ..., load_only = ...}) -> report | nil, err */
int report_validate(lua_State *L);

#endif
