/* engine:import_relationships(): any number of relationships in one transaction, or in one for each batch, from a list or
 * an iterator.
 *
 * They are taken a batch at a time: strings and tables are gathered in a list, which keeps them, and then read as
 * views, while nothing allocates. What runs in between is Lua code of the caller's, the iterator and progress; it is
 * called protected, so that an import that it breaks off is given back at once and not when the collector finds it. */
#include "import.h"

#include "convert.h"
#include "engine.h"
#include "error.h"

static const type import_type = { "licet.Import" };

#define BATCH_DEFAULT 1000
#define PIECE_DEFAULT 10000

/* Never seen by Lua code. */
typedef struct import_box {
    engine_box          keeper;
    licet_import       *import;   /* owned; NULL before it is begun and once it is over */
    size_t              taken;    /* relationships that the core has */
    bool                has_name; /* each batch is committed */
    uint64_t            told;     /* what progress is told: as many, or if there is a name, what is committed */
    licet_relationship *records;  /* of the batch; a userdata on the stack */
    size_t              capacity;
} import_box;

static void import_end(void *owned)
{
    import_box   *box    = owned;
    licet_import *import = box->import;

    box->import = NULL;
    licet_import_release(import);
    engine_let_go(&box->keeper);
}

static int import_gc(lua_State *L)
{
    import_end(box_check(L, 1, &import_type));
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", import_gc },
    { NULL, NULL },
};

void import_register(lua_State *L)
{
    type_register(L, &import_type, metamethods, NULL);
}

/* ------------------------------------------------------------------------- batches */

/* Where the method has its values. */
enum {
    SOURCE   = 2, /* the list or the iterator */
    OPTIONS  = 3,
    PROGRESS = 4, /* a function or nil */
    BOX      = 5,
    RECORDS  = 6, /* a userdata */
    BATCH    = 7  /* the list of what the iterator gave */
};

static int end_and_raise(lua_State *L, import_box *box)
{
    import_end(box);
    return lua_error(L);
}

/* The iterator was called and has given nil with a reason, as the functions of licet do when they fail: then it was not
 * the end. */
static bool has_failed(lua_State *L)
{
    return lua_isnil(L, -2) && !lua_isnil(L, -1);
}

/* Gathers the next so many relationships in the batch. *failed: the iterator's two values are on the stack. */
static size_t gather(lua_State *L, import_box *box, size_t batch_size, bool *failed)
{
    size_t count = 0;

    *failed = false;
    lua_newtable(L);
    lua_replace(L, BATCH);
    while (count < batch_size) {
        lua_pushvalue(L, SOURCE);
        if (lua_pcall(L, 0, 2, 0) != 0)
            end_and_raise(L, box);
        if (has_failed(L)) {
            *failed = true;
            return 0;
        }
        lua_pop(L, 1);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            break;
        }
        lua_rawseti(L, BATCH, (int)++count);
    }
    return count;
}

static void reserve(lua_State *L, import_box *box, size_t count)
{
    if (count <= box->capacity)
        return;
    box->records  = records_new(L, count, sizeof *box->records);
    box->capacity = count;
    lua_replace(L, RECORDS);
}

/* Hands `count` items of the list at `list` to the core, from the one after `first` on, and commits them if there is a
 * name. *is_news: progress has something to be told. False: the error is pushed. */
static bool add_batch(lua_State *L, import_box *box, int list, size_t first, size_t count, bool *is_news)
{
    reader       r         = READER_INIT(L, SOURCE);
    licet_error *error     = NULL;
    uint64_t     committed = 0;
    licet_status status;

    reserve(L, box, count);
    r.give_up = import_end;
    r.owned   = box;
    for (size_t i = 0; i < count; i++) {
        r.item = box->taken + i + 1;
        lua_rawgeti(L, list, (int)(first + i + 1));
        if (!relationship_from_lua(&r, lua_gettop(L), &box->records[i])) {
            (void)push_error(L, r.status, r.error);
            return false;
        }
        lua_pop(L, 1);
    }
    status = licet_import_add(box->import, box->records, count, &error);
    if (status == LICET_OK && box->has_name)
        status = licet_import_save(box->import, &committed, NULL, &error);
    if (status != LICET_OK) {
        (void)push_error(L, status, error);
        return false;
    }
    box->taken += count;
    *is_news  = !box->has_name || committed > box->told;
    box->told = box->has_name ? committed : box->taken;
    return true;
}

static void tell_progress(lua_State *L, import_box *box)
{
    if (lua_isnil(L, PROGRESS))
        return;
    lua_pushvalue(L, PROGRESS);
    lua_pushinteger(L, (lua_Integer)box->told);
    if (lua_pcall(L, 1, 0, 0) != 0)
        end_and_raise(L, box);
}

/* Of the list's size at the beginning: what progress() adds to it does not belong to it. */
static bool add_list(lua_State *L, import_box *box, size_t size, size_t batch_size)
{
    while (box->taken < size) {
        size_t left = size - box->taken;
        bool   is_news;

        if (!add_batch(L, box, SOURCE, box->taken, left < batch_size ? left : batch_size, &is_news))
            return false;
        if (is_news)
            tell_progress(L, box);
    }
    return true;
}

static bool add_iterated(lua_State *L, import_box *box, size_t batch_size)
{
    bool   failed;
    bool   is_news;
    size_t count;

    do {
        count = gather(L, box, batch_size, &failed);
        if (failed)
            return false;
        if (count > 0) {
            if (!add_batch(L, box, BATCH, 0, count, &is_news))
                return false;
            if (is_news)
                tell_progress(L, box);
        }
    } while (count == batch_size);
    return true;
}

/* -------------------------------------------------------------------------- method */

static void check_source(lua_State *L)
{
    if (lua_istable(L, SOURCE) || lua_isfunction(L, SOURCE))
        return;
    if (lua_isuserdata(L, SOURCE) && luaL_getmetafield(L, SOURCE, "__call")) {
        lua_pop(L, 1);
        return;
    }
    luaL_typeerror(L, SOURCE, "list or iterator of relationships");
}

typedef struct import_options {
    uint32_t  batch_size; /* 0: not given */
    licet_str resume;
} import_options;

static import_options read_options(lua_State *L)
{
    static const field fields[] = { { "batch_size", FIELD_COUNT32, offsetof(import_options, batch_size) },
                                    { "resume", FIELD_STRING, offsetof(import_options, resume) },
                                    { "progress", FIELD_ELSEWHERE, 0 } };
    import_options     options  = { 0, { NULL, 0 } };

    options_read(L, OPTIONS, fields, COUNT_OF(fields), &options);
    if (options.batch_size == 0)
        options.batch_size = options.resume.data != NULL ? PIECE_DEFAULT : BATCH_DEFAULT;
    return options;
}

static void push_progress(lua_State *L)
{
    reader r     = READER_INIT(L, OPTIONS);
    int    index = option_push(L, OPTIONS, "progress");

    r.field = "progress";
    if (!lua_isnil(L, index) && !lua_isfunction(L, index))
        refuse(&r, index, "function");
}

static int commit(lua_State *L, import_box *box)
{
    licet_token  token = { { 0 } };
    licet_error *error = NULL;
    uint64_t     count = 0;
    licet_status status;

    status = licet_import_commit(box->import, &count, &token, &error);
    import_end(box);
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, (lua_Integer)count);
    lua_setfield(L, -2, "count");
    lua_pushstring(L, token.text);
    lua_setfield(L, -2, "token");
    return 1;
}

static licet_status begin(licet_engine *engine, licet_str name, import_box *box, licet_error **error)
{
    box->has_name = name.data != NULL;
    return box->has_name ? licet_import_resume(engine, name, &box->import, &box->told, error)
                         : licet_import_begin(engine, &box->import, error);
}

/* engine:import_relationships(list or iterator, {progress, batch_size, resume}) -> {count, token} | nil, err */
int engine_import_relationships(lua_State *L)
{
    engine_box    *self  = engine_from_lua(L, 1);
    reader         r     = READER_INIT(L, SOURCE);
    size_t         size  = 0;
    licet_error   *error = NULL;
    licet_status   status;
    import_options options;
    import_box    *box;

    lua_settop(L, OPTIONS);
    check_source(L);
    if (lua_istable(L, SOURCE))
        size = list_size(&r, SOURCE);
    options = read_options(L);
    push_progress(L);
    box = box_new(L, sizeof *box, &import_type);
    lua_pushnil(L);
    lua_pushnil(L);
    if (self->engine == NULL)
        return push_closed(L);
    status = begin(self->engine, options.resume, box, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    engine_keep(&box->keeper, self);

    if (box->told > 0)
        tell_progress(L, box);
    if (lua_istable(L, SOURCE) ? add_list(L, box, size, options.batch_size) : add_iterated(L, box, options.batch_size))
        return commit(L, box);
    import_end(box);
    return 2;
}

/* engine:import_status(name) -> {count, is_known, is_finished} | nil, err */
int engine_import_status(lua_State *L)
{
    engine_box         *self   = engine_from_lua(L, 1);
    licet_str           name   = str_from_lua(L, 2);
    licet_import_record record = LICET_IMPORT_RECORD_INIT;
    licet_error        *error  = NULL;
    licet_status        status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_import_find(self->engine, name, &record, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, (lua_Integer)record.count);
    lua_setfield(L, -2, "count");
    lua_pushboolean(L, record.is_known);
    lua_setfield(L, -2, "is_known");
    lua_pushboolean(L, record.is_finished);
    lua_setfield(L, -2, "is_finished");
    return 1;
}

/* engine:forget_import(name) -> boolean | nil, err */
int engine_forget_import(lua_State *L)
{
    engine_box  *self      = engine_from_lua(L, 1);
    licet_str    name      = str_from_lua(L, 2);
    licet_error *error     = NULL;
    bool         was_known = false;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_import_forget(self->engine, name, &was_known, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_pushboolean(L, was_known);
    return 1;
}
