/* licet.Schema: a checked schema. */
#ifndef LICET_LUA_SCHEMA_H
#define LICET_LUA_SCHEMA_H

#include "module.h"

typedef struct schema_box {
    licet_schema *schema; /* one holder of it; NULL until it is filled */
} schema_box;

void schema_register(lua_State *L);

/* Pushes a schema, to be filled. */
schema_box *schema_new(lua_State *L);

int schema_parse(lua_State *L);

#endif
