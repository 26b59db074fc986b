/* licet.Result: the answer to one check. */
#ifndef LICET_LUA_RESULT_H
#define LICET_LUA_RESULT_H

#include "module.h"

typedef struct result_box {
    licet_result  answer; /* .error is NULL: it has become a table that belongs to the box */
    licet_engine *engine; /* one holder of it, for the token; NULL until the box is filled */
} result_box;

void result_register(lua_State *L);

/* Pushes a denial, to be filled. */
result_box *result_new(lua_State *L);

/* Takes the answer, leaves *result a denial, and becomes one more holder of the engine. Allocates nothing. */
void result_fill(result_box *box, licet_engine *engine, licet_result *result);

/* Gives the result on top of the stack the error of its item, which stays the caller's. */
void result_set_error(lua_State *L, licet_status status, const licet_error *error);

/* The table Permissionship, into the table on top of the stack. */
void result_set_constants(lua_State *L);

#endif
