/* What one subject may do to one resource: a bulk check of many permissions. */
#include "datastore/object.h"
#include "datastore/typing.h"
#include "engine/answers.h"

/* The names in their order: those chosen, or all permissions of the definition. */
typedef struct names {
    const licet_str    *chosen;
    const lic_program  *program;
    const lic_relation *all; /* with the relations among them, which are left out */
    size_t              count;
} names;

static size_t count_permissions(const lic_program *program, const lic_definition *definition)
{
    size_t count = 0;

    for (uint32_t i = 0; i < definition->relation_count; i++)
        count += program->relations[definition->first_relation + i].is_permission;
    return count;
}

static licet_status find_names(const licet_permissions_request *request, const lic_program *program, names *found,
                               licet_error **error)
{
    lic_object   resource = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uint32_t     definition;
    licet_status status;

    *found = (names){ .chosen = request->permissions, .count = request->permission_count };
    if (request->permissions != NULL)
        return LICET_OK;
    lic_object_split(request->resource, &resource);
    status = lic_find_definition(program, resource.type, &definition, error);
    if (status != LICET_OK)
        return status;
    found->all   = program->relations + program->definitions[definition].first_relation;
    found->count = count_permissions(program, &program->definitions[definition]);
    return LICET_OK;
}

/* The names are copied: neither the caller nor the program keeps them for us. */
static bool name_requests(lic_answers *answers, const names *found)
{
    size_t at = 0; /* of all */

    for (size_t i = 0; i < answers->count; i++) {
        while (found->chosen == NULL && !found->all[at].is_permission)
            at++;
        answers->requests[i].permission =
            lic_arena_str(&answers->arena, found->chosen != NULL ? found->chosen[i] : found->all[at++].name);
        if (!lic_str_given(answers->requests[i].permission))
            return false;
    }
    return true;
}

static licet_status next_permission(licet_stream *stream, void *record, bool *found, licet_error **error)
{
    lic_answers            *answers    = (lic_answers *)stream;
    licet_found_permission *permission = record;

    (void)error;
    if (answers->next == answers->count)
        return LICET_OK;
    permission->permission = answers->requests[answers->next].permission;
    permission->result     = answers->results[answers->next++];
    *found                 = true;
    return LICET_OK;
}

static const lic_stream_methods methods = { LIC_STREAM_PERMISSIONS, next_permission, NULL, lic_answers_end };

static licet_status ask_at(licet_engine *engine, const lic_snapshot *snapshot, const licet_permissions_request *request,
                           licet_stream **stream, licet_error **error)
{
    licet_check_request pattern = LICET_CHECK_REQUEST_INIT;
    lic_answers        *answers;
    names               found;
    licet_status        status = find_names(request, lic_engine_program(engine, snapshot), &found, error);

    if (status != LICET_OK)
        return status;
    pattern.resource         = request->resource;
    pattern.subject          = request->subject;
    pattern.context          = request->context;
    pattern.prepared_context = request->prepared_context;
    answers                  = lic_answers_new(engine, &methods, &pattern, found.count);
    if (answers == NULL)
        return lic_fail_memory(error);
    status = name_requests(answers, &found) ? lic_answers_ask(answers, snapshot, error) : lic_fail_memory(error);
    if (status == LICET_OK)
        *stream = &answers->base;
    else
        licet_stream_release(&answers->base);
    return status;
}

static licet_status permissions(licet_engine *engine, const licet_permissions_request *request, licet_stream **stream,
                                licet_error **error)
{
    const lic_need need = { .kind             = LIC_NEED_PERMISSIONS,
                            .resource         = request->resource,
                            .permissions      = request->permissions,
                            .permission_count = request->permission_count,
                            .subject          = request->subject };
    lic_snapshot   snapshot;
    licet_status   status;

    if (request->permission_count > LIC_MAX_BULK)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "%zu permissions are more than the %d of one request", request->permission_count, LIC_MAX_BULK);
    LIC_TRY(lic_object_check("resource", request->resource, true, error));
    for (size_t i = 0; i < request->permission_count; i++)
        LIC_TRY(lic_relation_check("permissions", request->permissions[i], error));
    LIC_TRY(lic_subject_check("subject", request->subject, error));
    LIC_TRY(lic_engine_pin(engine, &request->consistency, &need, &snapshot, error));
    status = ask_at(engine, &snapshot, request, stream, error);
    lic_engine_unpin(&snapshot);
done:
    return status;
}

static bool has_list(const licet_permissions_request *request)
{
    return request->permissions != NULL || request->permission_count == 0;
}

licet_status licet_permissions(licet_engine *engine, const licet_permissions_request *request, licet_stream **stream,
                               licet_error **error)
{
    lic_call     call;
    licet_status status;

    status = lic_stream_begin(engine, LIC_RECORD_KNOWN(request) && has_list(request), stream, &call, error);
    if (status != LICET_OK)
        return status;
    status = permissions(engine, request, stream, error);
    lic_engine_leave(&call);
    return status;
}
