/* licet.RelationshipStream: relationships as they are read, one at a time. */
#ifndef LICET_LUA_STREAM_H
#define LICET_LUA_STREAM_H

#include "module.h"

typedef struct stream_box {
    licet_stream             *stream; /* owned; NULL before it is filled and once it is closed */
    bool                      ended;
    bool                      closing; /* close() came while a relationship was being copied */
    const licet_relationship *current; /* being copied further down the stack, or NULL */
} stream_box;

void stream_register(lua_State *L);

/* Pushes a stream, to be filled. */
stream_box *stream_new(lua_State *L);

#endif
