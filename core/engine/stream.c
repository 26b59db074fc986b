/* Streams, and how each kind is asked for more. (Changes are waited for: watch.c.) */
#include "engine/stream.h"

#include <assert.h>

#define STREAM_TAG UINT64_C(0x6c69637374726561) /* "licstrea" */

static bool is_stream(const licet_stream *stream)
{
    return stream != NULL && stream->tag == STREAM_TAG;
}

licet_status lic_stream_begin(licet_engine *engine, bool is_request_known, licet_stream **stream, lic_call *call,
                              licet_error **error)
{
    lic_error_begin(error);
    if (stream == NULL)
        return lic_fail_record(error, "stream");
    *stream = NULL;
    if (!is_request_known)
        return lic_fail_record(error, "request");
    return lic_engine_enter(engine, call, error);
}

void *lic_stream_new(licet_engine *engine, const lic_stream_methods *methods, size_t size)
{
    licet_stream *stream = lic_alloc_zero(engine->memory, size);

    if (stream == NULL)
        return NULL;
    licet_engine_retain(engine);
    stream->tag     = STREAM_TAG;
    stream->methods = methods;
    stream->engine  = engine;
    stream->size    = size;
    return stream;
}

void lic_stream_keep(licet_stream *stream, const lic_snapshot *snapshot)
{
    stream->revision = snapshot->revision;
    stream->fetched  = snapshot->owner;
    if (stream->fetched != NULL)
        lic_fetched_retain(stream->fetched);
}

licet_status lic_stream_pin(const licet_stream *stream, lic_snapshot *snapshot, licet_error **error)
{
    const lic_need nothing = { .kind = LIC_NEED_NOTHING };

    if (stream->fetched == NULL)
        return lic_engine_pin_at(stream->engine, stream->revision, &nothing, snapshot, error);
    lic_fetched_pin(stream->fetched, stream->revision, snapshot);
    return LICET_OK;
}

licet_status lic_stream_enter(licet_stream *stream, lic_stream_kind kind, lic_call *call, licet_error **error)
{
    const bool   known = is_stream(stream);
    licet_status status;

    if (known && stream->methods->kind == kind)
        return lic_engine_enter(stream->engine, call, error);
    status =
        lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                 known ? "the stream gives other things than the function asks for" : "stream is NULL or not a stream");
    assert(status != LICET_OK);
    return status;
}

/* The record was made empty. */
static licet_status next(licet_stream *stream, lic_stream_kind kind, void *record, bool *found, licet_error **error)
{
    lic_call     call;
    licet_status status;

    if (found == NULL)
        return lic_fail_record(error, "found");
    status = lic_stream_enter(stream, kind, &call, error);
    if (status != LICET_OK)
        return status;
    status = stream->methods->next(stream, record, found, error);
    lic_engine_leave(&call);
    return status;
}

/* Before anything else: nothing was found, and there is no error. */
static void begin(bool *found, licet_error **error)
{
    lic_error_begin(error);
    if (found != NULL)
        *found = false;
}

licet_status licet_stream_next_relationship(licet_stream *stream, licet_relationship *relationship, bool *found,
                                            licet_error **error)
{
    begin(found, error);
    if (!LIC_RECORD_KNOWN(relationship))
        return lic_fail_record(error, "relationship");
    *relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    return next(stream, LIC_STREAM_RELATIONSHIPS, relationship, found, error);
}

licet_status licet_stream_next_resource(licet_stream *stream, licet_found_resource *resource, bool *found,
                                        licet_error **error)
{
    begin(found, error);
    if (!LIC_RECORD_KNOWN(resource))
        return lic_fail_record(error, "resource");
    *resource = (licet_found_resource)LICET_FOUND_RESOURCE_INIT;
    return next(stream, LIC_STREAM_RESOURCES, resource, found, error);
}

licet_status licet_stream_next_subject(licet_stream *stream, licet_found_subject *subject, bool *found,
                                       licet_error **error)
{
    begin(found, error);
    if (!LIC_RECORD_KNOWN(subject))
        return lic_fail_record(error, "subject");
    *subject = (licet_found_subject)LICET_FOUND_SUBJECT_INIT;
    return next(stream, LIC_STREAM_SUBJECTS, subject, found, error);
}

licet_status licet_stream_next_permission(licet_stream *stream, licet_found_permission *permission, bool *found,
                                          licet_error **error)
{
    begin(found, error);
    if (!LIC_RECORD_KNOWN(permission))
        return lic_fail_record(error, "permission");
    *permission = (licet_found_permission)LICET_FOUND_PERMISSION_INIT;
    return next(stream, LIC_STREAM_PERMISSIONS, permission, found, error);
}

licet_status licet_stream_next_impact(licet_stream *stream, licet_impact *impact, bool *found, licet_error **error)
{
    begin(found, error);
    if (!LIC_RECORD_KNOWN(impact))
        return lic_fail_record(error, "impact");
    *impact = (licet_impact)LICET_IMPACT_INIT;
    return next(stream, LIC_STREAM_IMPACTS, impact, found, error);
}

licet_str licet_stream_cursor(licet_stream *stream)
{
    return is_stream(stream) && stream->methods->cursor != NULL ? stream->methods->cursor(stream)
                                                                : (licet_str){ NULL, 0 };
}

void licet_stream_token(const licet_stream *stream, licet_token *token)
{
    if (token == NULL)
        return;
    token->text[0] = '\0';
    if (is_stream(stream) && stream->token != NULL)
        stream->token(stream, token);
    else if (is_stream(stream))
        lic_engine_token(stream->engine, stream->revision, token);
}

void licet_stream_release(licet_stream *stream)
{
    licet_engine *engine;

    if (!is_stream(stream))
        return;
    engine      = stream->engine;
    stream->tag = 0;
    stream->methods->end(stream);
    lic_fetched_release(stream->fetched);
    lic_free(engine->memory, stream, stream->size);
    licet_engine_release(engine);
}
