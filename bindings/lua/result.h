/* licet.Result: the answer to one check. */
#ifndef LICET_LUA_RESULT_H
#define LICET_LUA_RESULT_H

#include "engine.h"
#include "module.h"

typedef struct result_box {
    licet_result answer; /* .error is NULL: it has become a table that belongs to the box */
    engine_box   keeper; /* of the engine, for the token; empty until the box is filled */
    bool         listed; /* the names of what is missing are a table that belongs to the box */
} result_box;

void result_register(lua_State *L);

/* Pushes a denial, to be filled. */
result_box *result_new(lua_State *L);

/* Takes the answer, leaves *result a denial, and becomes one more holder of the engine. Allocates nothing. */
void result_fill(result_box *box, const engine_box *engine, licet_result *result);

/* Pushes a copy of an answer that stays the core's. `engine` is alive: the caller holds it. */
void result_push_copy(lua_State *L, const engine_box *engine, const licet_result *result);

/* Gives the result on top of the stack the error of its item, which stays the caller's. */
void result_set_error(lua_State *L, licet_status status, const licet_error *error);

/* Pushes "no_permission", "has_permission" or "conditional". */
void permissionship_push(lua_State *L, licet_permissionship permissionship);

/* Pushes a list of texts. */
void texts_push(lua_State *L, const licet_str *texts, size_t count);

/* The table Permissionship, into the table on top of the stack. */
void result_set_constants(lua_State *L);

#endif
