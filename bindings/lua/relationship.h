/* licet.Relationship: a table of the nine fields, with tostring(), == and two more fields made of them. */
#ifndef LICET_LUA_RELATIONSHIP_H
#define LICET_LUA_RELATIONSHIP_H

#include "module.h"

void relationship_register(lua_State *L);

/* Pushes a relationship. The views must outlive whatever runs meanwhile. */
void relationship_push(lua_State *L, const licet_relationship *relationship);

int relationship_parse(lua_State *L);
int relationship_format(lua_State *L);

#endif
