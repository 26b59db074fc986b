/* engine:schema_impact(): what a new schema would do to the present data. */
#include "impact.h"

#include "convert.h"
#include "error.h"
#include "relationship.h"
#include "result.h"
#include "stream.h"

static void set_text(lua_State *L, const char *name, licet_str text)
{
    if (text.size == 0)
        return;
    lua_pushlstring(L, text.data, text.size);
    lua_setfield(L, -2, name);
}

static licet_status next_impact(stream_box *box, stream_item *item, bool *found, licet_error **error)
{
    item->impact = (licet_impact)LICET_IMPACT_INIT;
    return licet_stream_next_impact(box->stream, &item->impact, found, error);
}

/* {kind = "refused", relationship, message}, or {kind = "gained" or "lost", resource, permission, subject, before,
 * after} */
static void push_impact(lua_State *L, stream_box *box, const stream_item *item)
{
    static const char *const kinds[] = { "", "refused", "gained", "lost" };
    const licet_impact      *impact  = &item->impact;

    (void)box;
    lua_createtable(L, 0, 6);
    lua_pushstring(L, kinds[impact->kind]);
    lua_setfield(L, -2, "kind");
    if (impact->relationship.size > 0) {
        relationship_push_text(L, impact->relationship);
        lua_setfield(L, -2, "relationship");
    }
    set_text(L, "message", impact->message);
    set_text(L, "resource", impact->resource);
    set_text(L, "permission", impact->permission);
    set_text(L, "subject", impact->subject);
    if (impact->kind == LICET_IMPACT_REFUSED)
        return;
    permissionship_push(L, impact->before);
    lua_setfield(L, -2, "before");
    permissionship_push(L, impact->after);
    lua_setfield(L, -2, "after");
}

static const stream_kind impacts = {
    .name   = "licet.ImpactStream",
    .size   = sizeof(stream_box),
    .values = 1,
    .next   = next_impact,
    .push   = push_impact,
};

/* engine:schema_impact(text, {limit, consistency}) -> stream | nil, err */
int engine_schema_impact(lua_State *L)
{
    static const field fields[] = {
        { "limit", FIELD_COUNT64, offsetof(licet_impact_request, limit) },
        CONSISTENCY_FIELDS(offsetof(licet_impact_request, consistency)),
    };
    engine_box          *self    = engine_from_lua(L, 1);
    licet_impact_request request = LICET_IMPACT_REQUEST_INIT;
    licet_error         *error   = NULL;
    licet_status         status;
    stream_box          *box;

    lua_settop(L, 3);
    request.text = str_from_lua(L, 2);
    box          = stream_new(L, &impacts); /* 4 */
    options_read(L, 3, fields, COUNT_OF(fields), &request);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_schema_impact(self->engine, &request, &box->stream, &error);
    return stream_return(L, 4, self, status, error);
}
