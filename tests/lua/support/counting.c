/* Counts what the core has handed out and has not got back, answers in the core's place when a test asks for it, and
 * runs Lua code with an allocator that says no. */
#define LICET_TESTS_LUA_NOT_COUNTED
#include "counting.h"

#include "module.h"

static long                 live;        /* handles, buffers, errors */
static licet_status         next_status; /* of the next call that can fail, instead of making it; OK: none */
static licet_permissionship next_answer; /* of the next check that succeeds; no permission: its own */

static bool refused(licet_status *status)
{
    *status     = next_status;
    next_status = LICET_OK;
    return *status != LICET_OK;
}

/* A failed call hands out an error, another one `handles`. */
static licet_status counted(licet_status status, licet_error *const *error, long handles)
{
    live += status == LICET_OK ? handles : *error != NULL;
    return status;
}

#define COUNTED_DEFINITION(name, handles, parameters, arguments)                            \
    licet_status counted_##name parameters                                                  \
    {                                                                                       \
        licet_status status;                                                                \
                                                                                            \
        return refused(&status) ? status : counted(licet_##name arguments, error, handles); \
    }
COUNTED_LIST(COUNTED_DEFINITION)
#undef COUNTED_DEFINITION

static void replace_answer(licet_result *result)
{
    if (next_answer != LICET_NO_PERMISSION)
        result->permissionship = next_answer;
    next_answer = LICET_NO_PERMISSION;
}

licet_status counted_check(licet_engine *engine, const licet_check_request *request, licet_result *result,
                           licet_error **error)
{
    licet_status status;

    if (refused(&status))
        return status;
    status = counted(licet_check(engine, request, result, error), error, 0);
    if (status == LICET_OK)
        replace_answer(result);
    return status;
}

licet_status counted_check_bulk(licet_engine *engine, const licet_check_request *requests, size_t count,
                                licet_consistency consistency, licet_result *results, licet_error **error)
{
    licet_status status;

    if (refused(&status))
        return status;
    status = counted(licet_check_bulk(engine, requests, count, consistency, results, error), error, 0);
    for (size_t i = 0; status == LICET_OK && i < count; i++)
        live += results[i].error != NULL;
    if (status == LICET_OK && count > 0)
        replace_answer(&results[0]);
    return status;
}

/* A failed one may hand out both. */
licet_status counted_explain(licet_engine *engine, const licet_check_request *request, licet_trace **trace,
                             licet_error **error)
{
    licet_status status;

    if (refused(&status))
        return status;
    status = licet_explain(engine, request, trace, error);
    live += (*trace != NULL) + (*error != NULL);
    return status;
}

void counted_engine_retain(licet_engine *engine)
{
    live += engine != NULL;
    licet_engine_retain(engine);
}

void counted_engine_release(licet_engine *engine)
{
    live -= engine != NULL;
    licet_engine_release(engine);
}

void counted_context_release(licet_context *context)
{
    live -= context != NULL;
    licet_context_release(context);
}

void counted_schema_release(licet_schema *schema)
{
    live -= schema != NULL;
    licet_schema_release(schema);
}

void counted_stream_release(licet_stream *stream)
{
    live -= stream != NULL;
    licet_stream_release(stream);
}

void counted_tree_release(licet_tree *tree)
{
    live -= tree != NULL;
    licet_tree_release(tree);
}

void counted_trace_release(licet_trace *trace)
{
    live -= trace != NULL;
    licet_trace_release(trace);
}

void counted_import_release(licet_import *import)
{
    live -= import != NULL;
    licet_import_release(import);
}

void counted_schema_report_release(licet_schema_report *report)
{
    live -= report != NULL;
    licet_schema_report_release(report);
}

void counted_report_release(licet_report *report)
{
    live -= report != NULL;
    licet_report_release(report);
}

void counted_buffer_clear(licet_buffer *buffer)
{
    live -= buffer->data != NULL;
    licet_buffer_clear(buffer);
}

void counted_result_clear(licet_result *result)
{
    live -= result->error != NULL;
    licet_result_clear(result);
}

void counted_error_free(licet_error *error)
{
    live -= error != NULL;
    licet_error_free(error);
}

/* --------------------------------------------------------------------- for Lua */

typedef struct tap {
    lua_Alloc alloc;
    void     *data;
    long      left; /* blocks that may still be made or grow */
    bool      dry;  /* one was refused */
} tap;

static void *tap_alloc(void *data, void *block, size_t old_size, size_t new_size)
{
    tap *t = data;

    if (new_size > 0 && (block == NULL || new_size > old_size)) {
        t->dry = t->dry || t->left == 0;
        if (t->dry)
            return NULL;
        t->left--;
    }
    return t->alloc(t->data, block, old_size, new_size);
}

/* run(n, f, ...): calls f when memory can be had n times more, and then not again. Returns whether that was too little,
 * and what pcall() returns. */
static int counting_run(lua_State *L)
{
    tap t = { .left = (long)luaL_checkinteger(L, 1) };
    int failed;

    lua_remove(L, 1);
    luaL_checkstack(L, 40, NULL);
    t.alloc = lua_getallocf(L, &t.data);
    lua_setallocf(L, tap_alloc, &t);
    failed = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    lua_setallocf(L, t.alloc, t.data);
    lua_pushboolean(L, failed == 0);
    lua_insert(L, 1);
    lua_pushboolean(L, t.dry);
    lua_insert(L, 1);
    return lua_gettop(L);
}

static int counting_live(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)live);
    return 1;
}

static int counting_fail_next(lua_State *L)
{
    next_status = (licet_status)luaL_checkinteger(L, 1);
    return 0;
}

static int counting_answer_next(lua_State *L)
{
    next_answer = (licet_permissionship)luaL_checkinteger(L, 1);
    return 0;
}

static const luaL_Reg functions[] = {
    { "run", counting_run },
    { "live", counting_live },
    { "fail_next", counting_fail_next },
    { "answer_next", counting_answer_next },
    { NULL, NULL },
};

LICET_API int luaopen_counting(lua_State *L);

int luaopen_counting(lua_State *L)
{
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    return 1;
}
