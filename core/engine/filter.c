/* Which resources of a list: a bulk check whose denials are left out. */
#include <assert.h>

#include "datastore/object.h"
#include "engine/answers.h"

static bool add_resource(lic_answers *answers, size_t index, lic_str type, lic_str id)
{
    char *text = lic_arena_alloc(&answers->arena, type.size + 1 + id.size);

    if (text == NULL)
        return false;
    memcpy(text, type.data, type.size);
    text[type.size] = ':';
    memcpy(text + type.size + 1, id.data, id.size);
    answers->requests[index].resource = (lic_str){ text, type.size + 1 + id.size };
    return true;
}

/* The parts of all resources, so that sizes are bounded when texts are made of them. */
static licet_status shapes_check(const licet_filter_resources_request *request, licet_error **error)
{
    licet_status status;

    if (request->resource_count > LIC_MAX_BULK)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "%zu resources are more than the %d of one request", request->resource_count, LIC_MAX_BULK);
    LIC_TRY(lic_type_check("resource_type", request->resource_type, error));
    for (size_t i = 0; i < request->resource_count; i++)
        LIC_TRY(lic_id_check("resource_ids", request->resource_ids[i], true, error));
    LIC_TRY(lic_relation_check("permission", request->permission, error));
    LIC_TRY(lic_subject_check("subject", request->subject, error));
done:
    return status;
}

/* An item's failure is that of all. */
static licet_status first_failure(lic_answers *answers, licet_error **error)
{
    for (size_t i = 0; i < answers->count; i++) {
        licet_result *result = &answers->results[i];
        licet_status  status = result->status;

        if (status == LICET_OK)
            continue;
        if (error != NULL) {
            *error        = result->error;
            result->error = NULL;
        }
        return status;
    }
    return LICET_OK;
}

static licet_status ask(lic_answers *answers, const licet_filter_resources_request *request, licet_error **error)
{
    lic_need     need;
    lic_snapshot snapshot;
    licet_status status;

    assert(answers->count == 0 || request->resource_ids != NULL); /* their shapes were looked at */
    for (size_t i = 0; i < answers->count; i++)
        if (!add_resource(answers, i, request->resource_type, request->resource_ids[i]))
            return lic_fail_memory(error);
    need   = (lic_need){ .kind = LIC_NEED_CHECKS, .checks = answers->requests, .check_count = answers->count };
    status = lic_engine_pin(answers->base.engine, &request->consistency, &need, &snapshot, error);
    if (status != LICET_OK)
        return status;
    status = lic_answers_ask(answers, &snapshot, error);
    lic_engine_unpin(&snapshot);
    return status == LICET_OK ? first_failure(answers, error) : status;
}

static licet_status next_resource(licet_stream *stream, void *record, bool *found, licet_error **error)
{
    lic_answers          *answers  = (lic_answers *)stream;
    licet_found_resource *resource = record;
    lic_object            object   = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };

    (void)error;
    while (answers->next < answers->count && !licet_result_allowed(&answers->results[answers->next]))
        answers->next++;
    if (answers->next == answers->count)
        return LICET_OK;
    lic_object_split(answers->requests[answers->next++].resource, &object);
    resource->resource_id    = object.id;
    resource->permissionship = LICET_HAS_PERMISSION;
    *found                   = true;
    return LICET_OK;
}

static const lic_stream_methods methods = { LIC_STREAM_RESOURCES, next_resource, NULL, lic_answers_end };

static licet_status filter_resources(licet_engine *engine, const licet_filter_resources_request *request,
                                     licet_stream **stream, licet_error **error)
{
    licet_check_request pattern = LICET_CHECK_REQUEST_INIT;
    lic_answers        *answers;
    licet_status        status = shapes_check(request, error);

    if (status != LICET_OK)
        return status;
    pattern.permission       = request->permission;
    pattern.subject          = request->subject;
    pattern.context          = request->context;
    pattern.prepared_context = request->prepared_context;
    answers                  = lic_answers_new(engine, &methods, &pattern, request->resource_count);
    if (answers == NULL)
        return lic_fail_memory(error);
    status = ask(answers, request, error);
    if (status == LICET_OK)
        *stream = &answers->base;
    else
        licet_stream_release(&answers->base);
    return status;
}

static bool has_list(const licet_filter_resources_request *request)
{
    return request->resource_ids != NULL || request->resource_count == 0;
}

licet_status licet_filter_resources(licet_engine *engine, const licet_filter_resources_request *request,
                                    licet_stream **stream, licet_error **error)
{
    lic_call     call;
    licet_status status;

    status = lic_stream_begin(engine, LIC_RECORD_KNOWN(request) && has_list(request), stream, &call, error);
    if (status != LICET_OK)
        return status;
    status = filter_resources(engine, request, stream, error);
    lic_engine_leave(&call);
    return status;
}
