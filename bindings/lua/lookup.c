/* The methods of licet.Engine that give many answers. Lookups hand the core's stream on; the shorter ones are gone
 * through here: a list of ids, a table of permissions. */
#include "lookup.h"

#include <string.h>

#include "context.h"
#include "convert.h"
#include "error.h"
#include "result.h"
#include "stream.h"

/* ------------------------------------------------------------------------- answers */

/* Expects an id on top of the stack, and leaves a table of so many fields there too: what all answers have. */
static void push_answer(lua_State *L, stream_word id_name, int fields, licet_permissionship permissionship,
                        const licet_str *missing, size_t missing_count)
{
    lua_createtable(L, 0, fields);
    stream_push_word(L, id_name);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    stream_push_word(L, STREAM_WORD_permissionship);
    if (permissionship == LICET_HAS_PERMISSION)
        stream_push_word(L, STREAM_WORD_has_permission);
    else
        permissionship_push(L, permissionship);
    lua_rawset(L, -3);
    stream_push_word(L, STREAM_WORD_missing_context);
    texts_push(L, missing, missing_count);
    lua_rawset(L, -3);
}

/* Only a definite yes is allowed. */
static void set_allowed(lua_State *L, licet_permissionship permissionship)
{
    stream_push_word(L, STREAM_WORD_allowed);
    lua_pushboolean(L, permissionship == LICET_HAS_PERMISSION);
    lua_rawset(L, -3);
}

static bool detach_id(licet_str *id, char *room)
{
    if (id->size > STREAM_ROOM)
        return false;
    memcpy(room, id->data, id->size);
    id->data = room;
    return true;
}

static licet_status next_resource(stream_box *box, stream_item *item, bool *found, licet_error **error)
{
    item->resource = (licet_found_resource)LICET_FOUND_RESOURCE_INIT;
    return licet_stream_next_resource(box->stream, &item->resource, found, error);
}

static bool detach_resource(stream_item *item, char *room)
{
    return item->resource.missing_count == 0 && detach_id(&item->resource.resource_id, room);
}

/* id */
static void push_resource_id(lua_State *L, stream_box *box, const stream_item *item)
{
    (void)box;
    lua_pushlstring(L, item->resource.resource_id.data, item->resource.resource_id.size);
}

/* id, {resource_id, allowed, permissionship, missing_context} */
static void push_resource(lua_State *L, stream_box *box, const stream_item *item)
{
    const licet_found_resource *r = &item->resource;

    push_resource_id(L, box, item);
    push_answer(L, STREAM_WORD_resource_id, 4, r->permissionship, r->missing, r->missing_count);
    set_allowed(L, r->permissionship);
}

static licet_status next_subject(stream_box *box, stream_item *item, bool *found, licet_error **error)
{
    item->subject = (licet_found_subject)LICET_FOUND_SUBJECT_INIT;
    return licet_stream_next_subject(box->stream, &item->subject, found, error);
}

static bool detach_subject(stream_item *item, char *room)
{
    return item->subject.missing_count == 0 && item->subject.excluded_count == 0 &&
           detach_id(&item->subject.subject_id, room);
}

static void push_excluded(lua_State *L, const licet_found_subject *s)
{
    lua_createtable(L, (int)s->excluded_count, 0);
    for (size_t i = 0; i < s->excluded_count; i++) {
        const licet_excluded_subject *excluded = &s->excluded[i];

        lua_pushlstring(L, excluded->subject_id.data, excluded->subject_id.size);
        push_answer(L, STREAM_WORD_subject_id, 3, excluded->permissionship, excluded->missing, excluded->missing_count);
        lua_rawseti(L, -3, (int)i + 1);
        lua_pop(L, 1);
    }
}

/* id */
static void push_subject_id(lua_State *L, stream_box *box, const stream_item *item)
{
    (void)box;
    lua_pushlstring(L, item->subject.subject_id.data, item->subject.subject_id.size);
}

/* id, {subject_id, allowed, permissionship, missing_context, excluded} */
static void push_subject(lua_State *L, stream_box *box, const stream_item *item)
{
    const licet_found_subject *s = &item->subject;

    push_subject_id(L, box, item);
    push_answer(L, STREAM_WORD_subject_id, 5, s->permissionship, s->missing, s->missing_count);
    set_allowed(L, s->permissionship);
    stream_push_word(L, STREAM_WORD_excluded);
    push_excluded(L, s);
    lua_rawset(L, -3);
}

/* Of resources and of subjects. */
#define LOOKUP_KIND(type_name, noun, pushed, count)                                              \
    {                                                                                            \
        .name = (type_name), .size = sizeof(stream_box), .values = (count), .next = next_##noun, \
        .detach = detach_##noun, .push = push_##pushed,                                          \
    }

static const stream_kind resources    = LOOKUP_KIND("licet.ResourceStream", resource, resource, 2);
static const stream_kind subjects     = LOOKUP_KIND("licet.SubjectStream", subject, subject, 2);
static const stream_kind resource_ids = LOOKUP_KIND("licet.ResourceIdStream", resource, resource_id, 1);
static const stream_kind subject_ids  = LOOKUP_KIND("licet.SubjectIdStream", subject, subject_id, 1);

/* ------------------------------------------------------------------------- lookups */

static int look_up_resources(lua_State *L, const stream_kind *kind, bool without_conditional)
{
    static const field             fields[] = { QUESTION_FIELDS(licet_lookup_resources_request),
                                                PAGE_FIELDS(licet_lookup_resources_request) };
    engine_box                    *self     = engine_from_lua(L, 1);
    licet_lookup_resources_request request  = LICET_LOOKUP_RESOURCES_REQUEST_INIT;
    licet_error                   *error    = NULL;
    licet_status                   status;
    stream_box                    *box;

    lua_settop(L, 5);
    request.resource_type = str_from_lua(L, 2);
    request.permission    = str_from_lua(L, 3);
    request.subject       = str_from_lua(L, 4);
    context_push_option(L, 5, "context"); /* 6 */
    request.context = context_view(L, 6);
    box             = stream_new(L, kind); /* 7 */
    options_read(L, 5, fields, COUNT_OF(fields), &request);
    request.without_conditional = without_conditional;
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_lookup_resources(self->engine, &request, &box->stream, &error);
    return stream_return(L, 7, self, status, error);
}

/* engine:lookup_resources(resource_type, permission, subject, {limit, cursor, context, consistency})
 * -> stream of id, resource | nil, err */
int engine_lookup_resources(lua_State *L)
{
    return look_up_resources(L, &resources, false);
}

/* engine:lookup_resource_ids(resource_type, permission, subject, {limit, cursor, context, consistency})
 * -> stream of id | nil, err */
int engine_lookup_resource_ids(lua_State *L)
{
    return look_up_resources(L, &resource_ids, true);
}

/* The request with the option that says the opposite. */
typedef struct subjects_request {
    licet_lookup_subjects_request core;
    bool                          wildcards;
} subjects_request;

/* wildcards comes last: who asks for ids can not ask for it. */
static const field subjects_fields[] = {
    QUESTION_FIELDS(licet_lookup_subjects_request),
    PAGE_FIELDS(licet_lookup_subjects_request),
    { "subject_relation", FIELD_STRING, offsetof(licet_lookup_subjects_request, subject_relation) },
    { "wildcards", FIELD_BOOLEAN, offsetof(subjects_request, wildcards) },
};

/* *request says what the options do not. */
static int look_up_subjects(lua_State *L, const stream_kind *kind, size_t field_count, subjects_request *request)
{
    engine_box  *self  = engine_from_lua(L, 1);
    licet_error *error = NULL;
    licet_status status;
    stream_box  *box;

    lua_settop(L, 5);
    request->core.resource     = str_from_lua(L, 2);
    request->core.permission   = str_from_lua(L, 3);
    request->core.subject_type = str_from_lua(L, 4);
    context_push_option(L, 5, "context"); /* 6 */
    request->core.context = context_view(L, 6);
    box                   = stream_new(L, kind); /* 7 */
    options_read(L, 5, subjects_fields, field_count, request);
    request->core.without_wildcards = !request->wildcards;
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_lookup_subjects(self->engine, &request->core, &box->stream, &error);
    return stream_return(L, 7, self, status, error);
}

/* engine:lookup_subjects(resource, permission, subject_type,
 *                        {subject_relation, wildcards, limit, cursor, context, consistency})
 * -> stream of id, subject | nil, err */
int engine_lookup_subjects(lua_State *L)
{
    subjects_request request = { LICET_LOOKUP_SUBJECTS_REQUEST_INIT, true };

    return look_up_subjects(L, &subjects, COUNT_OF(subjects_fields), &request);
}

/* engine:lookup_subject_ids(resource, permission, subject_type, {subject_relation, limit, cursor, context, consistency})
 * -> stream of id | nil, err */
int engine_lookup_subject_ids(lua_State *L)
{
    subjects_request request = { LICET_LOOKUP_SUBJECTS_REQUEST_INIT, false };

    request.core.without_conditional = true;
    return look_up_subjects(L, &subject_ids, COUNT_OF(subjects_fields) - 1, &request);
}

/* -------------------------------------------------------------------------- filter */

/* A list of the ids that the stream in the box gives. */
static int push_ids(lua_State *L, stream_box *box)
{
    stream_item  item;
    licet_error *error = NULL;
    licet_status status;
    bool         found;

    lua_newtable(L);
    for (int count = 0;;) {
        status = next_resource(box, &item, &found, &error);
        if (status != LICET_OK)
            return push_error(L, status, error);
        if (!found)
            return 1;
        lua_pushlstring(L, item.resource.resource_id.data, item.resource.resource_id.size);
        lua_rawseti(L, -2, ++count);
    }
}

/* engine:filter(resource_type, ids, permission, subject, {context, consistency}) -> list of ids | nil, err */
int engine_filter(lua_State *L)
{
    static const field             fields[] = { QUESTION_FIELDS(licet_filter_resources_request) };
    engine_box                    *self     = engine_from_lua(L, 1);
    licet_filter_resources_request request  = LICET_FILTER_RESOURCES_REQUEST_INIT;
    reader                         r        = READER_INIT(L, 3);
    licet_error                   *error    = NULL;
    licet_status                   status;
    licet_str                     *ids;
    stream_box                    *box;

    lua_settop(L, 6);
    request.resource_type = str_from_lua(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    request.permission = str_from_lua(L, 4);
    request.subject    = str_from_lua(L, 5);
    context_push_option(L, 6, "context"); /* 7 */
    request.context = context_view(L, 7);
    box             = stream_new(L, &resources);
    ids             = list_records_new(&r, 3, "list of strings", sizeof *ids, &request.resource_count);

    strs_from_lua(&r, 3, ids, request.resource_count);
    options_read(L, 6, fields, COUNT_OF(fields), &request);
    request.resource_ids = ids;
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_filter_resources(self->engine, &request, &box->stream, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    engine_keep(&box->keeper, self);
    return push_ids(L, box);
}

/* --------------------------------------------------------------------- permissions */

/* A table of the answers that the stream in the box gives: the names in order, and under each its result. */
static int push_answers(lua_State *L, stream_box *box)
{
    licet_found_permission answer = LICET_FOUND_PERMISSION_INIT;
    licet_error           *error  = NULL;
    licet_status           status;
    bool                   found;

    lua_newtable(L);
    for (int count = 0;;) {
        status = licet_stream_next_permission(box->stream, &answer, &found, &error);
        if (status != LICET_OK)
            return push_error(L, status, error);
        if (!found)
            return 1;
        lua_pushlstring(L, answer.permission.data, answer.permission.size);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, ++count);
        result_push_copy(L, &box->keeper, &answer.result);
        lua_rawset(L, -3);
    }
}

/* engine:permissions(resource, subject, {permissions, context, consistency}) -> table | nil, err */
int engine_permissions(lua_State *L)
{
    static const field fields[] = { QUESTION_FIELDS(licet_permissions_request), { "permissions", FIELD_ELSEWHERE, 0 } };
    engine_box        *self     = engine_from_lua(L, 1);
    licet_permissions_request request = LICET_PERMISSIONS_REQUEST_INIT;
    reader                    r       = READER_INIT(L, 4);
    licet_error              *error   = NULL;
    licet_status              status;
    licet_str                *names;
    stream_box               *box;

    lua_settop(L, 4);
    request.resource = str_from_lua(L, 2);
    request.subject  = str_from_lua(L, 3);
    context_push_option(L, 4, "context"); /* 5 */
    request.context = context_view(L, 5);
    (void)option_push(L, 4, "permissions"); /* 6 */
    box     = stream_new(L, &resources);    /* never seen by Lua code */
    r.field = "permissions";
    names   = list_records_new(&r, 6, "list of strings", sizeof *names, &request.permission_count);

    strs_from_lua(&r, 6, names, request.permission_count);
    options_read(L, 4, fields, COUNT_OF(fields), &request);
    if (!lua_isnil(L, 6))
        request.permissions = names; /* also where none is chosen: then none is asked */
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_permissions(self->engine, &request, &box->stream, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    engine_keep(&box->keeper, self);
    return push_answers(L, box);
}
