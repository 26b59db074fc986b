/* Many questions, and room for their answers, in one box. Never seen by Lua code. */
#ifndef LICET_LUA_BULK_H
#define LICET_LUA_BULK_H

#include "convert.h"
#include "module.h"

typedef struct bulk {
    size_t               count;
    licet_check_request *requests;
    licet_result        *results; /* each is cleared with the box */
    char                *text;    /* of resources that had to be put together */
    size_t               text_size;
} bulk;

void bulk_register(lua_State *L);

/* Pushes room for `count` questions and so many bytes of text. */
bulk *bulk_new(lua_State *L, size_t count, size_t text_size);

/* Gives back early what the results hold. */
void bulk_clear(bulk *b);

/* Pushes a table of the texts of those items that have a context of their own: {resource, permission, subject,
 * context}. */
void bulk_push_contexts(const bulk *b, reader *r, int index);

/* Fills the questions from a list of such items; those without a context have `context`, which may be NULL. False: there
 * are contexts, and `contexts` is 0; else it is where the table of them is. */
bool bulk_from_items(bulk *b, reader *r, int index, int contexts, const licet_context *context);

/* The bytes that bulk_from_ids() needs. */
size_t bulk_ids_size(reader *r, int index, size_t count, licet_str type);

/* Fills the questions from a list of ids of one type. */
void bulk_from_ids(bulk *b, reader *r, int index, licet_str type, const licet_check_request *question);

#endif
