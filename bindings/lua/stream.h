/* licet.Stream and its kinds: answers as they are found, one at a time. */
#ifndef LICET_LUA_STREAM_H
#define LICET_LUA_STREAM_H

#include "engine.h"
#include "module.h"

typedef struct stream_box stream_box;

/* One answer of the core's, whose views live until the next call on its stream. */
typedef union stream_item {
    licet_relationship   relationship;
    licet_found_resource resource;
    licet_found_subject  subject;
    licet_change         change;
    licet_impact         impact;
} stream_item;

/* What a stream gives. */
typedef struct stream_kind {
    const char *name;    /* "licet.ResourceStream" */
    size_t      size;    /* of its box, which begins with a stream_box */
    bool        goes_on; /* when nothing is found, more may still come */
    int         values;  /* that push() pushes */
    /* Asks the core. *item is zeroed. */
    licet_status (*next)(stream_box *box, stream_item *item, bool *found, licet_error **error);
    /* Makes Lua values of an answer, in a protected call. */
    void (*push)(lua_State *L, stream_box *box, const stream_item *item);
    /* The token of the stream; NULL: that of the revision that the core reads. */
    const licet_token *(*token)(const stream_box *box);
} stream_kind;

struct stream_box {
    const stream_kind *kind;
    licet_stream      *stream; /* owned; NULL before it is filled and once it is closed */
    engine_box         keeper;
    bool               ended;
    bool               closing; /* close() came while an answer was being copied */
    const stream_item *current; /* being copied further down the stack, or NULL */
};

void stream_register(lua_State *L);

/* Pushes a stream, to be filled. */
void *stream_new(lua_State *L, const stream_kind *kind);

/* What a method returns whose call has filled the box at `index`, or failed: the four values of a generic for, of which
 * Lua 5.4 closes the last when the loop is left early; or nil and the error. */
int stream_return(lua_State *L, int index, const engine_box *engine, licet_status status, licet_error *error);

#endif
