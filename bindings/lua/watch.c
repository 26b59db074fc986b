/* engine:watch(): changes, one for each relationship.
 *
 * The core tells a revision at a time. Its parts are handed on one by one, and only the last one's token is the
 * revision's: to go on after another one is to hear of the whole revision again, and to miss nothing. A part is done
 * with when it has become a Lua value, so one that there was no memory for comes again. */
#include "watch.h"

#include "convert.h"
#include "error.h"
#include "json.h"
#include "relationship.h"
#include "stream.h"

typedef struct change_box {
    stream_box   base;
    licet_change change; /* of which parts are left; its views are the stream's */
    size_t       at;     /* the part that comes next */
    size_t       count;  /* of parts */
    licet_token  place;  /* to go on after the last part that was given */
    uint32_t     wait_ms;
} change_box;

/* -------------------------------------------------------------------------- changes */

/* The relationships of a revision come first, then the schema, then the checkpoint. */
static size_t count_parts(const licet_change *change)
{
    return change->update_count + (change->schema_changed ? 1 : 0) + (change->is_checkpoint ? 1 : 0);
}

static const char *operation_of(const licet_change *change, size_t part)
{
    if (part < change->update_count)
        return change->updates[part].operation == LICET_DELETE ? "delete" : "touch";
    return part == change->update_count && change->schema_changed ? "schema" : "checkpoint";
}

/* What comes may hold nothing that was asked for. Then it is only another place to go on from. */
static licet_status next_part(stream_box *base, stream_item *item, bool *found, licet_error **error)
{
    change_box  *box    = (change_box *)base;
    licet_status status = LICET_OK;

    (void)item;
    *found = true;
    while (status == LICET_OK && *found && box->at == box->count) {
        box->change = (licet_change)LICET_CHANGE_INIT;
        box->at     = 0;
        box->count  = 0;
        status      = licet_stream_next_change(base->stream, box->wait_ms, &box->change, found, error);
        if (status != LICET_OK || !*found)
            break;
        box->count = count_parts(&box->change);
        if (box->count == 0)
            box->place = box->change.token;
    }
    return status;
}

/* {operation, relationship, metadata, token, written_at} */
static void push_part(lua_State *L, stream_box *base, const stream_item *item)
{
    change_box         *box     = (change_box *)base;
    const licet_change *change  = &box->change;
    bool                is_last = box->at + 1 == box->count;

    (void)item;
    lua_createtable(L, 0, 5);
    lua_pushstring(L, operation_of(change, box->at));
    lua_setfield(L, -2, "operation");
    if (box->at < change->update_count) {
        relationship_push(L, &change->updates[box->at].relationship);
        lua_setfield(L, -2, "relationship");
    }
    if (change->metadata.size > 0) {
        json_push(L, change->metadata);
        lua_setfield(L, -2, "metadata");
    }
    lua_pushstring(L, is_last ? change->token.text : box->place.text);
    lua_setfield(L, -2, "token");
    lua_pushstring(L, change->token.text);
    lua_setfield(L, -2, "written_at");
    box->at++;
    if (is_last)
        box->place = change->token;
}

static const licet_token *place_of(const stream_box *base)
{
    return &((const change_box *)base)->place;
}

static const stream_kind changes = {
    .name    = "licet.ChangeStream",
    .size    = sizeof(change_box),
    .goes_on = true,
    .values  = 1,
    .next    = next_part,
    .push    = push_part,
    .token   = place_of,
};

/* --------------------------------------------------------------------------- method */

typedef struct watch_options {
    licet_str since;
    bool      schema;
    bool      checkpoints;
} watch_options;

/* Relationships are told whatever else is asked for, as SpiceDB does. */
static uint32_t kinds_of(const watch_options *options)
{
    return LICET_WATCH_RELATIONSHIPS | (options->schema ? LICET_WATCH_SCHEMA : 0) |
           (options->checkpoints ? LICET_WATCH_CHECKPOINTS : 0);
}

/* engine:watch{since, schema, checkpoints, resource_types, filters, timeout} -> stream | nil, err */
int engine_watch(lua_State *L)
{
    static const field fields[] = {
        { "since", FIELD_STRING, offsetof(watch_options, since) },
        { "schema", FIELD_BOOLEAN, offsetof(watch_options, schema) },
        { "checkpoints", FIELD_BOOLEAN, offsetof(watch_options, checkpoints) },
        { "resource_types", FIELD_ELSEWHERE, 0 },
        { "filters", FIELD_ELSEWHERE, 0 },
        { "timeout", FIELD_ELSEWHERE, 0 },
    };
    engine_box         *self    = engine_from_lua(L, 1);
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    watch_options       options = { { NULL, 0 }, false, false };
    reader              r       = READER_INIT(L, 2);
    licet_error        *error   = NULL;
    licet_status        status;
    licet_str          *types;
    licet_filter       *filters;
    change_box         *box;

    lua_settop(L, 2);
    (void)option_push(L, 2, "resource_types"); /* 3 */
    (void)option_push(L, 2, "filters");        /* 4 */
    box     = stream_new(L, &changes);         /* 5 */
    r.field = "resource_types";
    types   = list_records_new(&r, 3, "list of strings", sizeof *types, &request.resource_type_count);
    r.field = "filters";
    filters = list_records_new(&r, 4, "list of filters", sizeof *filters, &request.filter_count);
    r.field = "timeout";
    if (!lua_isnil(L, option_push(L, 2, "timeout")))
        box->wait_ms = wait_at(&r, -1);

    r.field = "resource_types";
    strs_from_lua(&r, 3, types, request.resource_type_count);
    r.field = "filters";
    filters_from_lua(&r, 4, filters, request.filter_count);
    options_read(L, 2, fields, COUNT_OF(fields), &options);
    request.since          = options.since;
    request.kinds          = kinds_of(&options);
    request.resource_types = types;
    request.filters        = filters;
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_watch(self->engine, &request, &box->base.stream, &error);
    if (status == LICET_OK)
        licet_stream_token(box->base.stream, &box->place);
    return stream_return(L, 5, self, status, error);
}
