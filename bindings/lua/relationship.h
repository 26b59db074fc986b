/* licet.Relationship: a table of the nine fields, with tostring(), == and two more fields made of them. */
#ifndef LICET_LUA_RELATIONSHIP_H
#define LICET_LUA_RELATIONSHIP_H

#include "module.h"

void relationship_register(lua_State *L);

/* Pushes a relationship. The views must outlive whatever runs meanwhile. */
void relationship_push(lua_State *L, const licet_relationship *relationship);

/* Pushes the relationship that a text of the core's tells. */
void relationship_push_text(lua_State *L, licet_str text);

int relationship_parse(lua_State *L);
int relationship_format(lua_State *L);

#endif
