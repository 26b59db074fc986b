/* Lua values to the core's. Nothing here allocates, save to raise (module.h, rule 2). Wrong types raise.
 *
 * Only strings are text. Lua would make one of a number too, but 1 and 1.0 are different ids, and which one a number
 * becomes depends on the Lua: guessing what somebody meant has no place in a question about permissions. */
#ifndef LICET_LUA_CONVERT_H
#define LICET_LUA_CONVERT_H

#include "module.h"

/* A view of argument `arg`. */
static inline licet_str str_from_lua(lua_State *L, int arg)
{
    licet_str text = { NULL, 0 };

    if (lua_type(L, arg) != LUA_TSTRING)
        luaL_typeerror(L, arg, "string");
    text.data = lua_tolstring(L, arg, &text.size);
    return text;
}

/* What is being read: an argument, or something inside of it. Names it in errors, and holds the core's word when it
 * does not like a relationship's text. */
typedef struct reader {
    lua_State   *L;
    int          arg;
    size_t       item;  /* in a list, from 1; 0 outside of one */
    const char  *field; /* of a record, or NULL */
    licet_status status;
    licet_error *error; /* owned: nothing may raise any more once a function has said false */
    void (*give_up)(
        void *owned); /* called before anything raises, so that it need not wait for the collector; or NULL */
    void *owned;
} reader;

#define READER_INIT(L, arg)                             \
    {                                                   \
        (L), (arg), 0, NULL, LICET_OK, NULL, NULL, NULL \
    }

/* Raises "<expected> expected, got <the type of the value at index>". */
void refuse(const reader *r, int index, const char *expected);

/* The name of a mode as options take it. */
const char *mode_name(licet_mode mode);

/* ----------------------------------------------------------------------- records */

typedef enum field_kind {
    FIELD_STRING,      /* licet_str */
    FIELD_COUNT32,     /* uint32_t, from 1 on */
    FIELD_COUNT64,     /* uint64_t, the same */
    FIELD_WAIT,        /* uint32_t, milliseconds from 0 on */
    FIELD_BOOLEAN,     /* bool */
    FIELD_CONSISTENCY, /* licet_consistency, but for its no_wait */
    FIELD_MAY_BLOCK,   /* bool: whether the value is false */
    FIELD_MODE,        /* licet_mode */
    FIELD_ELSEWHERE    /* allowed; read by the caller */
} field_kind;

/* A key that a table may have, and where its value goes. */
typedef struct field {
    const char *name;
    field_kind  kind;
    size_t      offset;
} field;

/* Reads the table at `index`, an absolute one, into a record that is in its initial state. Fields that are missing stay
 * as they are; keys that nobody knows raise, for a misspelt option must not go unnoticed. */
void record_read(reader *r, int index, const field *fields, size_t count, void *record);

/* The same for an argument that may be missing. */
void options_read(lua_State *L, int arg, const field *fields, size_t count, void *record);

/* A number of seconds at `index` in milliseconds, rounded up: nobody is told too early that nothing came. */
uint32_t wait_at(const reader *r, int index);

/* {consistency = ..., may_block = ..., context = ...}; the context is read by context.h. */
void consistency_from_options(lua_State *L, int arg, licet_consistency *consistency);

/* Of a licet_consistency, `base` bytes into the record. */
#define CONSISTENCY_FIELDS(base)                                                    \
    { "consistency", FIELD_CONSISTENCY, (base) },                                   \
    {                                                                               \
        "may_block", FIELD_MAY_BLOCK, (base) + offsetof(licet_consistency, no_wait) \
    }

/* What all questions may have beside their own options. */
#define QUESTION_FIELDS(request)                        \
    CONSISTENCY_FIELDS(offsetof(request, consistency)), \
    {                                                   \
        "context", FIELD_ELSEWHERE, 0                   \
    }

/* And those that come in pages. */
#define PAGE_FIELDS(request)                              \
    { "limit", FIELD_COUNT32, offsetof(request, limit) }, \
    {                                                     \
        "cursor", FIELD_STRING, offsetof(request, cursor) \
    }

/* A licet_filter's fields, `base` bytes into the record. */
#define FILTER_FIELDS(base)                                                                          \
    { "resource_type", FIELD_STRING, (base) + offsetof(licet_filter, resource_type) },               \
        { "resource_id", FIELD_STRING, (base) + offsetof(licet_filter, resource_id) },               \
        { "resource_id_prefix", FIELD_STRING, (base) + offsetof(licet_filter, resource_id_prefix) }, \
        { "relation", FIELD_STRING, (base) + offsetof(licet_filter, relation) },                     \
        { "subject_type", FIELD_STRING, (base) + offsetof(licet_filter, subject_type) },             \
        { "subject_id", FIELD_STRING, (base) + offsetof(licet_filter, subject_id) },                 \
    {                                                                                                \
        "subject_relation", FIELD_STRING, (base) + offsetof(licet_filter, subject_relation)          \
    }

/* ------------------------------------------------------------------------- lists */

/* The number of items of the table at `index`: the keys 1 to n and no others, else it raises. A hole would otherwise
 * leave out what comes behind it. */
size_t list_size(const reader *r, int index);

/* Pushes the value of a key of the options at `arg`, nil where there are none, and returns its place. */
int option_push(lua_State *L, int arg, const char *name);

/* Pushes room for the items of the list at `index`, a table; for none where there is nil. */
void *list_records_new(const reader *r, int index, const char *expected, size_t size, size_t *count);

/* Strings, and filters. */
void strs_from_lua(reader *r, int index, licet_str *texts, size_t count);
void filters_from_lua(reader *r, int index, licet_filter *filters, size_t count);

/* A relationship: its notation, or a table of its fields. */
bool relationship_from_lua(reader *r, int index, licet_relationship *relationship);

/* The items of the list at `index`, absolute; stops at `count`. The views are of strings that the list holds. */
bool relationships_from_lua(reader *r, int index, licet_operation operation, licet_update *updates, size_t count);
bool updates_from_lua(reader *r, int index, licet_update *updates, size_t count);
void preconditions_from_lua(reader *r, int index, licet_precondition *preconditions, size_t count);

#endif
