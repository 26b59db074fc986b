/* licet.Engine: schema and relationships, and the answers about them.
 *
 * Each method has the same steps, in the order that module.h asks for: check the arguments' types, make the boxes for
 * what the core hands out, take views, acquire the handle, call, convert. close() gives up the handle at once, because
 * Lua's collector does not know how much memory stands behind it. */
#include "engine.h"

#include "bulk.h"
#include "context.h"
#include "convert.h"
#include "error.h"
#include "impact.h"
#include "import.h"
#include "lookup.h"
#include "read.h"
#include "result.h"
#include "schema.h"
#include "tree.h"
#include "watch.h"

static const type engine_type = { "licet.Engine" };

/* ------------------------------------------------------------------------- lifetime */

engine_box *engine_from_lua(lua_State *L, int arg)
{
    engine_box *box = box_check(L, arg, &engine_type);

    log_tell(L, arg, box->log);
    return box;
}

void engine_keep(engine_box *keeper, const engine_box *engine)
{
    *keeper = *engine;
    licet_engine_retain(keeper->engine);
    clock_retain(keeper->clock);
    log_retain(keeper->log);
}

void engine_let_go(engine_box *keeper)
{
    engine_box ended = *keeper;

    *keeper = (engine_box){ NULL, NULL, NULL, false };
    licet_engine_release(ended.engine);
    clock_release(ended.clock);
    log_release(ended.log);
}

int engine_open(lua_State *L)
{
    static const field fields[] = {
        { "memory_limit_bytes", FIELD_COUNT64, offsetof(licet_options, memory_limit_bytes) },
        { "max_depth", FIELD_COUNT32, offsetof(licet_options, max_depth) },
        { "max_steps", FIELD_COUNT64, offsetof(licet_options, max_steps) },
        { "check_timeout_ms", FIELD_COUNT32, offsetof(licet_options, check_timeout_ms) },
        { "history_window_ms", FIELD_COUNT64, offsetof(licet_options, history_window_ms) },
        { "strict", FIELD_BOOLEAN, offsetof(licet_options, strict) },
        { "clock", FIELD_ELSEWHERE, 0 },
        { "log", FIELD_ELSEWHERE, 0 },
        { "mode", FIELD_MODE, offsetof(licet_options, mode) },
        { "postgres_schema", FIELD_STRING, offsetof(licet_options, postgres_schema) },
        { "replica_uri", FIELD_STRING, offsetof(licet_options, replica_uri) },
        { "require_tls", FIELD_BOOLEAN, offsetof(licet_options, require_tls) },
        { "poll_interval_ms", FIELD_COUNT32, offsetof(licet_options, poll_interval_ms) },
        { "max_staleness_ms", FIELD_COUNT32, offsetof(licet_options, max_staleness_ms) },
        { "wait_timeout_ms", FIELD_COUNT32, offsetof(licet_options, wait_timeout_ms) },
        { "write_timeout_ms", FIELD_COUNT32, offsetof(licet_options, write_timeout_ms) },
        { "max_connections", FIELD_COUNT32, offsetof(licet_options, max_connections) },
        { "gc_window_ms", FIELD_COUNT64, offsetof(licet_options, gc_window_ms) },
    };
    licet_options options = LICET_OPTIONS_INIT;
    licet_str     uri     = LICET_STR_INIT("memory:");
    licet_error  *error   = NULL;
    licet_status  status;
    engine_box   *self;

    lua_settop(L, 2);
    if (!lua_isnil(L, 1))
        uri = str_from_lua(L, 1);
    self        = box_new(L, sizeof *self, &engine_type); /* 3 */
    self->clock = clock_from_options(L, 2);
    self->log   = log_from_options(L, 2, 3);
    options_read(L, 2, fields, COUNT_OF(fields), &options);
    self->strict  = options.strict;
    options.clock = clock_of(self->clock);
    options.log   = log_of(self->log);
    status        = licet_open(uri, &options, &self->engine, &error);
    return status == LICET_OK ? 1 : push_error(L, status, error);
}

static int engine_close(lua_State *L)
{
    engine_box *self = engine_from_lua(L, 1);

    licet_close(self->engine); /* streams and results may hold it still */
    log_tell(L, 1, self->log);
    engine_let_go(self);
    return 0;
}

/* Streams go on after the engine's userdata was collected: nobody said that they should stop. */
static int engine_gc(lua_State *L)
{
    engine_let_go(box_check(L, 1, &engine_type));
    return 0;
}

static int engine_tostring(lua_State *L)
{
    const engine_box *self = box_check(L, 1, &engine_type);

    lua_pushstring(L, self->engine == NULL ? "licet.Engine (closed)" : "licet.Engine (open)");
    return 1;
}

/* --------------------------------------------------------------------------- schema */

static int push_token(lua_State *L, licet_status status, const licet_token *token, licet_error *error)
{
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_pushstring(L, token->text);
    return 1;
}

/* engine:write_schema(text) -> token | nil, err */
static int engine_write_schema(lua_State *L)
{
    engine_box  *self  = engine_from_lua(L, 1);
    licet_str    text  = str_from_lua(L, 2);
    licet_token  token = { { 0 } };
    licet_error *error = NULL;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_write_schema(self->engine, text, &token, &error);
    return push_token(L, status, &token, error);
}

/* engine:read_schema() -> schema | nil, err */
static int engine_read_schema(lua_State *L)
{
    engine_box  *self  = engine_from_lua(L, 1);
    schema_box  *box   = schema_new(L);
    licet_error *error = NULL;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_read_schema(self->engine, &box->schema, NULL, &error);
    return status == LICET_OK ? 1 : push_error(L, status, error);
}

/* -------------------------------------------------------------------------- writing */

static int write_request(lua_State *L, const engine_box *self, const licet_write_request *request)
{
    licet_token  token = { { 0 } };
    licet_error *error = NULL;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_write(self->engine, request, &token, &error);
    return push_token(L, status, &token, error);
}

/* engine:write(updates, preconditions, {metadata}) -> token | nil, err */
static int engine_write(lua_State *L)
{
    static const field  fields[] = { { "metadata", FIELD_ELSEWHERE, 0 } };
    engine_box         *self     = engine_from_lua(L, 1);
    licet_write_request request  = LICET_WRITE_REQUEST_INIT;
    reader              first    = READER_INIT(L, 2);
    reader              second   = READER_INIT(L, 3);
    licet_update       *updates;
    licet_precondition *preconditions;

    lua_settop(L, 4);
    luaL_checktype(L, 2, LUA_TTABLE);
    request.update_count = list_size(&first, 2);
    preconditions =
        list_records_new(&second, 3, "list of preconditions", sizeof *preconditions, &request.precondition_count);
    context_push_option(L, 4, "metadata");
    request.metadata = context_view(L, -1);
    options_read(L, 4, fields, COUNT_OF(fields), &request);
    updates = records_new(L, request.update_count, sizeof *updates);

    preconditions_from_lua(&second, 3, preconditions, request.precondition_count);
    if (!updates_from_lua(&first, 2, updates, request.update_count))
        return push_error(L, first.status, first.error);
    request.updates       = updates;
    request.preconditions = preconditions;
    return write_request(L, self, &request);
}

/* Whether argument 2, the only one, is a list of relationships, and not one that is a table. */
static bool is_list(lua_State *L)
{
    if (lua_gettop(L) > 2 || !lua_istable(L, 2))
        return false;
    if (lua_rawlen(L, 2) > 0)
        return true;
    lua_pushnil(L);
    if (lua_next(L, 2) == 0)
        return true; /* empty */
    lua_pop(L, 2);
    return false;
}

/* Replaces the arguments from 2 on by a list of them. A nil among them raises: at the end it would not even show. */
static void list_from_arguments(lua_State *L)
{
    int top = lua_gettop(L);

    for (int arg = 2; arg <= top; arg++)
        if (lua_isnil(L, arg))
            luaL_typeerror(L, arg, "relationship");
    lua_createtable(L, top - 1, 0);
    lua_insert(L, 2);
    for (int i = top - 1; i > 0; i--)
        lua_rawseti(L, 2, i);
}

/* engine:touch(relationship, ...), or a list of them -> token | nil, err */
static int write_each(lua_State *L, licet_operation operation)
{
    engine_box         *self    = engine_from_lua(L, 1);
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    reader              r       = READER_INIT(L, 2);
    licet_update       *updates;

    luaL_checkany(L, 2);
    if (!is_list(L))
        list_from_arguments(L);
    request.update_count = list_size(&r, 2);
    updates              = records_new(L, request.update_count, sizeof *updates);
    if (!relationships_from_lua(&r, 2, operation, updates, request.update_count))
        return push_error(L, r.status, r.error);
    request.updates = updates;
    return write_request(L, self, &request);
}

static int engine_create(lua_State *L)
{
    return write_each(L, LICET_CREATE);
}

static int engine_touch(lua_State *L)
{
    return write_each(L, LICET_TOUCH);
}

static int engine_delete(lua_State *L)
{
    return write_each(L, LICET_DELETE);
}

static int deletion_push(lua_State *L, const licet_delete_result *result)
{
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, (lua_Integer)result->deleted_count);
    lua_setfield(L, -2, "deleted_count");
    lua_pushboolean(L, result->partial);
    lua_setfield(L, -2, "partial");
    lua_pushstring(L, result->token.text);
    lua_setfield(L, -2, "token");
    return 1;
}

/* engine:delete_relationships{filter, limit, allow_partial, preconditions, metadata}
 * -> {deleted_count, partial, token} | nil, err */
static int engine_delete_relationships(lua_State *L)
{
    static const field fields[] = {
        FILTER_FIELDS(offsetof(licet_delete_request, filter)),
        { "limit", FIELD_COUNT32, offsetof(licet_delete_request, limit) },
        { "allow_partial", FIELD_BOOLEAN, offsetof(licet_delete_request, allow_partial) },
        { "preconditions", FIELD_ELSEWHERE, 0 },
        { "metadata", FIELD_ELSEWHERE, 0 },
    };
    engine_box          *self    = engine_from_lua(L, 1);
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;
    reader               r       = READER_INIT(L, 2);
    licet_error         *error   = NULL;
    licet_status         status;
    licet_precondition  *preconditions;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    (void)option_push(L, 2, "preconditions"); /* stays at 3, whatever becomes of the table */
    context_push_option(L, 2, "metadata");
    request.metadata = context_view(L, -1);
    r.field          = "preconditions";
    preconditions =
        list_records_new(&r, 3, "list of preconditions", sizeof *preconditions, &request.precondition_count);

    preconditions_from_lua(&r, 3, preconditions, request.precondition_count);
    r = (reader)READER_INIT(L, 2);
    record_read(&r, 2, fields, COUNT_OF(fields), &request);
    request.preconditions = preconditions;
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_delete_relationships(self->engine, &request, &result, &error);
    return status == LICET_OK ? deletion_push(L, &result) : push_error(L, status, error);
}

/* ------------------------------------------------------------------------- checking */

/* Pushes the {context = ...} of the options at `arg`, read and in its box, or nil. */
static const licet_context *prepared_context_new(lua_State *L, int arg, bool strict, licet_status *status,
                                                 licet_error **error)
{
    licet_options options = LICET_OPTIONS_INIT;
    context_box  *box;

    *status = LICET_OK;
    context_push_option(L, arg, "context");
    if (lua_isnil(L, -1))
        return NULL;
    box            = context_new(L);
    options.strict = strict;
    *status        = licet_context_parse(context_view(L, -2), &options, &box->context, error);
    lua_remove(L, -2);
    return box->context;
}

/* engine:allowed(resource, permission, subject, {context, consistency}) -> boolean | nil, err */
static int engine_allowed(lua_State *L)
{
    engine_box         *self    = engine_from_lua(L, 1);
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;
    licet_status        status;
    bool                allowed;

    request.resource   = str_from_lua(L, 2);
    request.permission = str_from_lua(L, 3);
    request.subject    = str_from_lua(L, 4);
    context_push_option(L, 5, "context");
    request.context = context_view(L, -1);
    consistency_from_options(L, 5, &request.consistency);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_check(self->engine, &request, &result, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    allowed = licet_result_allowed(&result);
    licet_result_clear(&result);
    lua_pushboolean(L, allowed);
    return 1;
}

/* engine:check(resource, permission, subject, {context, consistency}) -> boolean, result | nil, err */
static int engine_check(lua_State *L)
{
    engine_box         *self    = engine_from_lua(L, 1);
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;
    licet_status        status;
    result_box         *box;

    lua_settop(L, 5);
    request.resource   = str_from_lua(L, 2);
    request.permission = str_from_lua(L, 3);
    request.subject    = str_from_lua(L, 4);
    box                = result_new(L);
    context_push_option(L, 5, "context");
    request.context = context_view(L, 7);
    consistency_from_options(L, 5, &request.consistency);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_check(self->engine, &request, &result, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    result_fill(box, self, &result);
    lua_settop(L, 6);
    lua_pushboolean(L, licet_result_allowed(&box->answer));
    lua_insert(L, -2);
    return 2;
}

/* A bulk's answers are of one revision, so all that are "yes" are the same value, and so are all "no": one userdata
 * each. `shared` is the stack index of the place for both. */
static void push_shared(lua_State *L, int shared, const engine_box *engine, licet_result *result)
{
    int at = shared + (result->permissionship == LICET_HAS_PERMISSION ? 1 : 0);

    if (lua_isnil(L, at)) {
        result_fill(result_new(L), engine, result);
        lua_replace(L, at);
    }
    lua_pushvalue(L, at);
}

/* Pushes the result of one item. `engine` is alive: the caller holds it. */
static void push_item(lua_State *L, int shared, const engine_box *engine, licet_result *result)
{
    result_box *box;

    if (result->status == LICET_OK && result->permissionship != LICET_CONDITIONAL_PERMISSION) {
        push_shared(L, shared, engine, result);
        return;
    }
    box = result_new(L);
    if (result->status == LICET_OK)
        result_fill(box, engine, result);
    else
        result_set_error(L, result->status, result->error);
}

/* engine:check_bulk({{resource, permission, subject, context}, ...}, {context, consistency})
 * -> list of results | nil, err */
static int engine_check_bulk(lua_State *L)
{
    engine_box          *self        = engine_from_lua(L, 1);
    licet_consistency    consistency = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    reader               r           = READER_INIT(L, 2);
    licet_error         *error       = NULL;
    licet_status         status;
    const licet_context *context;
    result_box          *holder;
    bulk                *b;

    lua_settop(L, 3);
    luaL_checktype(L, 2, LUA_TTABLE);
    b = bulk_new(L, list_size(&r, 2));
    lua_createtable(L, (int)b->count, 0); /* 5 */
    lua_pushnil(L);                       /* 6 and 7: see push_shared() */
    lua_pushnil(L);
    holder  = result_new(L);                                             /* 8: keeps the engine while Lua runs */
    context = prepared_context_new(L, 3, self->strict, &status, &error); /* 9 */
    if (status != LICET_OK)
        return push_error(L, status, error);

    if (!bulk_from_items(b, &r, 2, 0, context)) {
        lua_settop(L, 9);
        bulk_push_contexts(b, &r, 2); /* 10 */
        (void)bulk_from_items(b, &r, 2, 10, context);
    }
    consistency_from_options(L, 3, &consistency);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_check_bulk(self->engine, b->requests, b->count, consistency, b->results, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    result_fill(holder, self, &(licet_result)LICET_RESULT_INIT);
    for (size_t i = 0; i < b->count; i++) {
        push_item(L, 6, &holder->keeper, &b->results[i]);
        lua_rawseti(L, 5, (int)i + 1);
    }
    bulk_clear(b);
    lua_settop(L, 5);
    return 1;
}

/* ----------------------------------------------------------------------- statistics */

/* engine:stats() -> table | nil, err */
static int engine_stats(lua_State *L)
{
    engine_box  *self  = engine_from_lua(L, 1);
    licet_stats  stats = LICET_STATS_INIT;
    licet_error *error = NULL;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_engine_stats(self->engine, &stats, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_createtable(L, 0, 22);
#define SET(name) (lua_pushinteger(L, (lua_Integer)stats.name), lua_setfield(L, -2, #name))
    SET(relationships);
    SET(objects);
    SET(memory_bytes);
    SET(memory_limit_bytes);
    SET(graph_bytes);
    SET(id_bytes);
    SET(delta_changes);
    SET(merges);
    SET(revision);
    SET(oldest_revision);
    SET(staleness_ms);
    SET(round_trips);
    SET(catch_ups);
    SET(shared_catch_ups);
    SET(loads);
    SET(reconnects);
    SET(prefetches);
#undef SET
#define SET(name) (lua_pushboolean(L, stats.name), lua_setfield(L, -2, #name))
    SET(is_ready);
    SET(is_connected);
    SET(is_encrypted);
    SET(is_verified);
#undef SET
    if (stats.mode != LICET_MODE_AUTO) {
        lua_pushstring(L, mode_name(stats.mode));
        lua_setfield(L, -2, "mode");
    }
    return 1;
}

/* -------------------------------------------------------------------- on a database */

#define READY_MS 30000 /* by default */

/* engine:await_ready(timeout) -> true | nil, err */
static int engine_await_ready(lua_State *L)
{
    engine_box  *self    = engine_from_lua(L, 1);
    reader       r       = READER_INIT(L, 2);
    uint32_t     wait_ms = lua_isnoneornil(L, 2) ? READY_MS : wait_at(&r, 2);
    licet_error *error   = NULL;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_await_ready(self->engine, wait_ms, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_pushboolean(L, true);
    return 1;
}

/* engine:collect_garbage() -> number of rows | nil, err */
static int engine_collect_garbage(lua_State *L)
{
    engine_box  *self    = engine_from_lua(L, 1);
    uint64_t     removed = 0;
    licet_error *error   = NULL;
    licet_status status;

    if (self->engine == NULL)
        return push_closed(L);
    status = licet_collect_garbage(self->engine, &removed, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    lua_pushinteger(L, (lua_Integer)removed);
    return 1;
}

static const luaL_Reg methods[] = {
    { "write_schema", engine_write_schema },
    { "read_schema", engine_read_schema },
    { "write", engine_write },
    { "create", engine_create },
    { "touch", engine_touch },
    { "delete", engine_delete },
    { "delete_relationships", engine_delete_relationships },
    { "read_relationships", engine_read_relationships },
    { "import_relationships", engine_import_relationships },
    { "import_status", engine_import_status },
    { "forget_import", engine_forget_import },
    { "export_relationships", engine_export_relationships },
    { "watch", engine_watch },
    { "allowed", engine_allowed },
    { "check", engine_check },
    { "check_bulk", engine_check_bulk },
    { "filter", engine_filter },
    { "permissions", engine_permissions },
    { "lookup_resources", engine_lookup_resources },
    { "lookup_resource_ids", engine_lookup_resource_ids },
    { "lookup_subjects", engine_lookup_subjects },
    { "lookup_subject_ids", engine_lookup_subject_ids },
    { "expand", engine_expand },
    { "explain", engine_explain },
    { "schema_impact", engine_schema_impact },
    { "stats", engine_stats },
    { "await_ready", engine_await_ready },
    { "collect_garbage", engine_collect_garbage },
    { "close", engine_close },
    { NULL, NULL },
};

static const luaL_Reg metamethods[] = {
    { "__tostring", engine_tostring },
    { "__gc", engine_gc },
    { "__close", engine_close },
    { NULL, NULL },
};

void engine_register(lua_State *L)
{
    type_register(L, &engine_type, metamethods, methods);
}
