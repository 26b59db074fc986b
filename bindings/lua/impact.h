/* The method of licet.Engine that says what a new schema would do. */
#ifndef LICET_LUA_IMPACT_H
#define LICET_LUA_IMPACT_H

#include "module.h"

int engine_schema_impact(lua_State *L);

#endif
