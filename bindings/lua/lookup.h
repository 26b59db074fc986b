/* The methods of licet.Engine that give many answers. */
#ifndef LICET_LUA_LOOKUP_H
#define LICET_LUA_LOOKUP_H

#include "module.h"

int engine_lookup_resources(lua_State *L);
int engine_lookup_resource_ids(lua_State *L);
int engine_lookup_subjects(lua_State *L);
int engine_lookup_subject_ids(lua_State *L);
int engine_filter(lua_State *L);
int engine_permissions(lua_State *L);

#endif
