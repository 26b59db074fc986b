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

/* What answers are made of again and again: keys and values that are there already, as upvalues of what calls push(). */
#define STREAM_WORD_LIST(X) \
    X(resource_id)          \
    X(subject_id)           \
    X(allowed)              \
    X(permissionship)       \
    X(missing_context)      \
    X(excluded)             \
    X(has_permission)

typedef enum stream_word {
    STREAM_WORD_NONE, /* upvalues count from 1 */
#define STREAM_WORD_ENUM(word) STREAM_WORD_##word,
    STREAM_WORD_LIST(STREAM_WORD_ENUM)
#undef STREAM_WORD_ENUM
        STREAM_WORD_END
} stream_word;

/* For push() alone. */
static inline void stream_push_word(lua_State *L, stream_word word)
{
    lua_pushvalue(L, lua_upvalueindex((int)word));
}

/* Room for the text of an answer, enough for almost all of them. */
#define STREAM_ROOM 256

/* What a stream gives. */
typedef struct stream_kind {
    const char *name;    /* "licet.ResourceStream" */
    size_t      size;    /* of its box, which begins with a stream_box */
    bool        goes_on; /* when nothing is found, more may still come */
    int         values;  /* that push() pushes */
    /* Asks the core, and fills *item where push() reads it. */
    licet_status (*next)(stream_box *box, stream_item *item, bool *found, licet_error **error);
    /* Copies the texts of an answer to `room`, so that it no longer views the core's memory; false, and nothing is copied,
     * where there are too many or too long ones. NULL: always. */
    bool (*detach)(stream_item *item, char *room);
    /* Makes Lua values of an answer: in a protected call, unless it is detached. */
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
