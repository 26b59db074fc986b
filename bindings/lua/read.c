/* The methods of licet.Engine that give relationships back. */
#include "read.h"

#include "convert.h"
#include "error.h"
#include "relationship.h"
#include "stream.h"

static licet_status next_relationship(stream_box *box, stream_item *item, bool *found, licet_error **error)
{
    item->relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    return licet_stream_next_relationship(box->stream, &item->relationship, found, error);
}

static void push_relationship(lua_State *L, stream_box *box, const stream_item *item)
{
    (void)box;
    relationship_push(L, &item->relationship);
}

static const stream_kind relationships = {
    .name   = "licet.RelationshipStream",
    .size   = sizeof(stream_box),
    .values = 1,
    .next   = next_relationship,
    .push   = push_relationship,
};

/* engine:read_relationships{filter, limit, cursor, consistency} -> stream | nil, err */
int engine_read_relationships(lua_State *L)
{
    static const field fields[] = {
        FILTER_FIELDS(offsetof(licet_read_request, filter)),
        PAGE_FIELDS(licet_read_request),
        CONSISTENCY_FIELDS(offsetof(licet_read_request, consistency)),
    };
    engine_box        *self    = engine_from_lua(L, 1);
    licet_read_request request = LICET_READ_REQUEST_INIT;
    reader             r       = READER_INIT(L, 2);
    licet_error       *error   = NULL;
    licet_status       status;
    stream_box        *box;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    box = stream_new(L, &relationships);
    record_read(&r, 2, fields, COUNT_OF(fields), &request);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_read_relationships(self->engine, &request, &box->stream, &error);
    return stream_return(L, 3, self, status, error);
}

/* engine:export_relationships{filter, cursor, consistency} -> stream | nil, err */
int engine_export_relationships(lua_State *L)
{
    static const field fields[] = {
        FILTER_FIELDS(offsetof(licet_export_request, filter)),
        { "cursor", FIELD_STRING, offsetof(licet_export_request, cursor) },
        CONSISTENCY_FIELDS(offsetof(licet_export_request, consistency)),
    };
    engine_box          *self    = engine_from_lua(L, 1);
    licet_export_request request = LICET_EXPORT_REQUEST_INIT;
    licet_error         *error   = NULL;
    licet_status         status;
    stream_box          *box;

    lua_settop(L, 2);
    box = stream_new(L, &relationships);
    options_read(L, 2, fields, COUNT_OF(fields), &request);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_export_relationships(self->engine, &request, &box->stream, &error);
    return stream_return(L, 3, self, status, error);
}
