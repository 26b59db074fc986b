/* How fresh an answer has to be: short texts, made by the constants and functions here and read back here. */
#ifndef LICET_LUA_CONSISTENCY_H
#define LICET_LUA_CONSISTENCY_H

#include "module.h"

/* False: the text is none of ours. The token is a view of it. */
bool consistency_parse(licet_str text, licet_consistency *consistency);

int consistency_at_least(lua_State *L);
int consistency_at_exactly(lua_State *L);

/* FULL and MINIMIZE_LATENCY, into the table on top of the stack. */
void consistency_set_constants(lua_State *L);

#endif
