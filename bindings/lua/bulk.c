/* Many questions, and room for their answers, in one box. */
#include "bulk.h"

#include "context.h"

static const type bulk_type = { "licet.Bulk" };

/* Every part is a multiple of what the next one has to be aligned to. */
bulk *bulk_new(lua_State *L, size_t count)
{
    size_t requests_size = size_multiply(L, count, sizeof(licet_check_request));
    size_t results_size  = size_multiply(L, count, sizeof(licet_result));
    size_t size          = size_add(L, sizeof(bulk), size_add(L, requests_size, results_size));
    bulk  *b             = box_new(L, size, &bulk_type);

    b->requests = (licet_check_request *)(b + 1);
    b->results  = (licet_result *)(b->requests + count);
    for (size_t i = 0; i < count; i++)
        b->results[i] = (licet_result)LICET_RESULT_INIT;
    b->count = count;
    return b;
}

void bulk_clear(bulk *b)
{
    for (size_t i = 0; i < b->count; i++)
        licet_result_clear(&b->results[i]);
}

static int bulk_gc(lua_State *L)
{
    bulk_clear(box_check(L, 1, &bulk_type));
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", bulk_gc },
    { NULL, NULL },
};

void bulk_register(lua_State *L)
{
    type_register(L, &bulk_type, metamethods, NULL);
}

/* ----------------------------------------------------------------------- questions */

/* Field `number` of the item on top of the stack. The view is of a string that the item holds. */
static licet_str part_at(reader *r, int number, const char *name)
{
    licet_str text = { NULL, 0 };

    lua_rawgeti(r->L, -1, number);
    r->field = name;
    if (lua_type(r->L, -1) != LUA_TSTRING)
        refuse(r, -1, "string");
    text.data = lua_tolstring(r->L, -1, &text.size);
    lua_pop(r->L, 1);
    return text;
}

void bulk_push_contexts(const bulk *b, reader *r, int index)
{
    lua_State *L        = r->L;
    int        contexts = lua_gettop(L) + 1;

    lua_newtable(L);
    for (size_t i = 0; i < b->count; i++) {
        r->item = i + 1;
        lua_rawgeti(L, index, (int)r->item);
        if (lua_istable(L, -1)) {
            lua_rawgeti(L, -1, 4);
            if (!lua_isnil(L, -1)) {
                context_push(r, lua_gettop(L), "context");
                lua_rawseti(L, contexts, (int)r->item);
            }
        }
        lua_settop(L, contexts);
    }
}

/* The context of the item on top of the stack. False: its text was not made yet. */
static bool context_at(reader *r, int contexts, licet_check_request *request)
{
    if (lua_rawlen(r->L, -1) < 4)
        return true;
    if (contexts == 0)
        return false;
    lua_rawgeti(r->L, contexts, (int)r->item);
    if (lua_isnil(r->L, -1))
        luaL_argerror(r->L, r->arg, "the list changed"); /* by a finalizer, while the texts were made */
    request->context          = context_view(r->L, -1);
    request->prepared_context = NULL;
    lua_pop(r->L, 1);
    return true;
}

bool bulk_from_items(bulk *b, reader *r, int index, int contexts, const licet_context *context)
{
    licet_check_request *request;
    bool                 done;

    for (size_t i = 0; i < b->count; i++) {
        r->item  = i + 1;
        r->field = NULL;
        request  = &b->requests[i];
        *request = (licet_check_request)LICET_CHECK_REQUEST_INIT;
        lua_rawgeti(r->L, index, (int)r->item);
        if (!lua_istable(r->L, -1))
            refuse(r, -1, "table");
        if (lua_rawlen(r->L, -1) > 4)
            refuse(r, -1, "table of resource, permission, subject and context");
        request->resource         = part_at(r, 1, "resource");
        request->permission       = part_at(r, 2, "permission");
        request->subject          = part_at(r, 3, "subject");
        request->prepared_context = context;
        done                      = context_at(r, contexts, request);
        lua_pop(r->L, 1);
        if (!done)
            return false;
    }
    return true;
}
