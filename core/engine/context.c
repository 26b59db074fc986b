/* Contexts: the public record, and those of requests. */
#include "engine/context.h"

#include "engine/engine.h"

licet_status lic_context_size_check(const char *item, size_t wire_bytes, licet_error **error)
{
    if (wire_bytes <= LIC_MAX_REQUEST_CONTEXT_BYTES)
        return LICET_OK;
    return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                    "%srequest caveat context should have less than %d bytes but had %zu", item,
                    LIC_MAX_REQUEST_CONTEXT_BYTES, wire_bytes);
}

/* -------------------------------------------------------------- of requests */

licet_status lic_request_context_check(const licet_check_request *request, licet_error **error)
{
    if (request->prepared_context != NULL && request->prepared_context->tag != LIC_CONTEXT_TAG)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "prepared_context is not a context");
    if (request->prepared_context != NULL && lic_str_given(request->context))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "context and prepared_context are given, and only one of them can count");
    return LICET_OK;
}

/* What is wrong with a text is told with the item that brought it. Takes cause. */
static licet_status fail_item(const char *item, licet_error *cause, licet_error **error)
{
    const licet_status status   = licet_error_status(cause);
    const lic_str      message  = licet_error_message(cause);
    const lic_position position = { licet_error_line(cause), licet_error_column(cause) };

    if (status == LICET_OUT_OF_MEMORY)
        lic_fail_memory(error);
    else
        lic_fail(error, status, licet_error_kind(cause), position, "%s%.*s", item, LIC_STR_ARG(message));
    licet_error_free(cause);
    return status;
}

licet_status lic_request_context_read(const char *item, const licet_check_request *request, bool strict,
                                      lic_arena *arena, lic_context_values *values, size_t *wire_bytes,
                                      licet_error **error)
{
    licet_error *cause = NULL;

    *values     = (lic_context_values){ NULL, 0 };
    *wire_bytes = 0;
    if (request->prepared_context != NULL) {
        *values     = request->prepared_context->content->values;
        *wire_bytes = request->prepared_context->content->wire_bytes;
        return LICET_OK;
    }
    if (!lic_str_given(request->context) ||
        lic_context_read(arena, request->context, strict, values, wire_bytes, &cause) == LICET_OK)
        return LICET_OK;
    return fail_item(item, cause, error);
}

/* ------------------------------------------------------------------- public */

static licet_status context_new(lic_memory *memory, lic_str json, bool strict, licet_context **context,
                                licet_error **error)
{
    licet_context *made = lic_alloc_zero(memory, sizeof *made);
    licet_status   status;

    if (made == NULL)
        return lic_fail_memory(error);
    made->tag    = LIC_CONTEXT_TAG;
    made->memory = memory;
    atomic_init(&made->references, 1);
    LIC_TRY(lic_context_new(memory, json, strict, &made->content, error));
    LIC_TRY(lic_context_size_check("", made->content->wire_bytes, error));
    *context = made;
done:
    if (status != LICET_OK) {
        lic_context_free(made->content);
        lic_free(memory, made, sizeof *made);
    }
    return status;
}

licet_status licet_context_parse(licet_str json, const licet_options *options, licet_context **context,
                                 licet_error **error)
{
    licet_options checked = LICET_OPTIONS_INIT;
    lic_memory   *memory;
    licet_status  status;

    lic_error_begin(error);
    if (context == NULL)
        return lic_fail_record(error, "context");
    *context = NULL;
    if (options != NULL && !LIC_RECORD_KNOWN(options))
        return lic_fail_record(error, "options");
    if (options != NULL)
        checked = *options;
    if (!lic_str_given(json))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "the caveat context is not given");
    status = lic_options_check(&checked, error);
    if (status != LICET_OK)
        return status;
    memory = lic_memory_new(&checked.allocator, (size_t)checked.memory_limit_bytes);
    if (memory == NULL)
        return lic_fail_memory(error);
    status = context_new(memory, json, checked.strict, context, error);
    if (status != LICET_OK)
        lic_memory_release(memory);
    return status;
}

void licet_context_release(licet_context *context)
{
    lic_memory *memory;

    if (context == NULL || context->tag != LIC_CONTEXT_TAG ||
        atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1)
        return;
    memory       = context->memory;
    context->tag = 0;
    lic_context_free(context->content);
    lic_free(memory, context, sizeof *context);
    lic_memory_release(memory);
}
