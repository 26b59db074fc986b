/* Many questions, and room for their answers, in one box. Never seen by Lua code. */
#ifndef LICET_LUA_BULK_H
#define LICET_LUA_BULK_H

#include "convert.h"
#include "module.h"

typedef struct bulk {
    size_t               count;
    licet_check_request *requests;
    licet_result        *results; /* each is cleared with the box */
} bulk;

void bulk_register(lua_State *L);

/* Pushes room for `count` questions. */
bulk *bulk_new(lua_State *L, size_t count);

/* Gives back early what the results hold. */
void bulk_clear(bulk *b);

/* Pushes a table of the texts of those items that have a context of their own: {resource, permission, subject,
 * context}. */
void bulk_push_contexts(const bulk *b, reader *r, int index);

/* Fills the questions from a list of such items; those without a context have `context`, which may be NULL. False: there
 * are contexts, and `contexts` is 0; else it is where the table of them is. */
bool bulk_from_items(bulk *b, reader *r, int index, int contexts, const licet_context *context);

#endif
