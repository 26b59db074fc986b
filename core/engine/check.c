/* One check, and what can be done with its result. The way of a check that is answered takes no lock, allocates
 * nothing and writes no memory that another thread writes. (Names of missing parameters are allocated, and a request
 * that meets an expiration may move the engine's clock.) */
#include "engine/question.h"

#include "eval/conditions.h"

/* Enough for the memo of a check of the common kind. */
#define SCRATCH_BYTES 4096

static licet_status question_of(const lic_program *program, const lic_snapshot *snapshot,
                                const licet_check_request *request, lic_question *question, licet_error **error)
{
    LIC_UNINITIALIZED lic_known known;
    licet_status                status;

    lic_known_begin(&known);
    if (lic_question_find(program, snapshot, request, &known, question))
        return LICET_OK;
    status = lic_question_check("", request, false, error);
    return status == LICET_OK ? lic_question_resolve(program, snapshot, request, question, error) : status;
}

licet_status lic_question_decide(lic_eval *eval, const lic_condition *condition, licet_result *result,
                                 licet_error **error)
{
    static const licet_permissionship answers[] = {
        [LIC_NO] = LICET_NO_PERMISSION, [LIC_YES] = LICET_HAS_PERMISSION, [LIC_IF] = LICET_CONDITIONAL_PERMISSION
    };
    lic_missing  missing;
    lic_value    value;
    licet_status status = lic_condition_decide(eval, condition, &value, &missing, error);

    if (status != LICET_OK)
        return status;
    if (missing.count > 0 && !lic_result_keep_missing(result, eval->arena->memory, missing.names, missing.count))
        return lic_fail_memory(error);
    result->revision       = eval->snapshot->revision;
    result->permissionship = answers[value];
    return LICET_OK;
}

/* values: the request's; NULL: it has none. */
static licet_status check_at(const licet_engine *engine, const lic_snapshot *snapshot,
                             const licet_check_request *request, const lic_context_values *values, licet_result *result,
                             licet_error **error)
{
    LIC_UNINITIALIZED char       scratch[SCRATCH_BYTES];
    const lic_program           *program = lic_engine_program(engine, snapshot);
    lic_question                 question;
    lic_arena                    arena;
    LIC_UNINITIALIZED lic_eval   eval;
    LIC_UNINITIALIZED lic_moment moment;
    licet_status                 status = question_of(program, snapshot, request, &question, error);

    if (status != LICET_OK)
        return status;
    lic_arena_init_with(&arena, engine->memory, scratch, sizeof scratch);
    lic_eval_init(&eval, program, snapshot, &arena, &engine->limits);
    lic_eval_subject(&eval, question.subject_definition, question.subject);
    lic_engine_begin_moment(engine, &moment);
    eval.moment  = &moment;
    eval.context = values;
    eval.strict  = engine->strict;
    status       = lic_question_ask(&eval, &question, result, error);
    lic_arena_free(&arena);
    if (status != LICET_OK)
        return status;
    status = lic_engine_end_moment(&moment, status, error);
    if (status != LICET_OK)
        licet_result_clear(result);
    return status;
}

/* At the head, without a context or with one that was read before (and its size judged). The pin alone keeps the engine
 * open as the gate would, since closing waits for readers too: the gate's two locked additions would be a tenth of a
 * direct check. */
static licet_status check_head(const licet_engine *engine, const licet_check_request *request, licet_result *result,
                               licet_error **error)
{
    const licet_context *context = request->prepared_context;
    lic_snapshot         snapshot;
    licet_status         status = LICET_OK;

    lic_snapshot_pin(engine->graph, &snapshot);
    if (lic_gate_is_closed(&engine->gate))
        status = lic_engine_refuse(engine, error);
    else if (context != NULL)
        status = lic_request_context_check(request, error);
    if (status == LICET_OK)
        status =
            check_at(engine, &snapshot, request, context == NULL ? NULL : &context->content->values, result, error);
    lic_snapshot_unpin(&snapshot);
    return status;
}

static lic_need need_of(const licet_check_request *request)
{
    return (lic_need){ .kind = LIC_NEED_CHECKS, .checks = request, .check_count = 1 };
}

/* A bad shape has to be told before a bad token. */
static licet_status check_plain(const licet_engine *engine, const licet_check_request *request, licet_result *result,
                                licet_error **error)
{
    const lic_need need = need_of(request);
    lic_snapshot   snapshot;
    licet_status   status = lic_question_check("", request, false, error);

    if (status != LICET_OK)
        return status;
    status = lic_engine_pin(engine, &request->consistency, &need, &snapshot, error);
    if (status != LICET_OK)
        return status;
    status = check_at(engine, &snapshot, request, NULL, result, error);
    lic_engine_unpin(&snapshot);
    return status;
}

/* The order of errors: shape, revision, size of the context, names (api.md 3). */
static licet_status check_under(const licet_engine *engine, const licet_check_request *request,
                                const lic_context_values *values, size_t wire_bytes, licet_result *result,
                                licet_error **error)
{
    const lic_need need = need_of(request);
    lic_snapshot   snapshot;
    licet_status   status = lic_engine_pin(engine, &request->consistency, &need, &snapshot, error);

    if (status != LICET_OK)
        return status;
    status = lic_context_size_check("", wire_bytes, error);
    if (status == LICET_OK)
        status = check_at(engine, &snapshot, request, values, result, error);
    lic_engine_unpin(&snapshot);
    return status;
}

/* A check that brings a context, as a text or not at the head. */
static licet_status check_with_context(const licet_engine *engine, const licet_check_request *request,
                                       licet_result *result, licet_error **error)
{
    lic_context_values values;
    lic_arena          arena;
    size_t             wire_bytes;
    licet_status       status;

    lic_arena_init(&arena, engine->memory);
    LIC_TRY(lic_request_context_check(request, error));
    if (lic_str_given(request->context) || !lic_engine_head_suffices(engine, &request->consistency))
        LIC_TRY(lic_question_check("", request, false, error));
    LIC_TRY(lic_request_context_read("", request, engine->strict, &arena, &values, &wire_bytes, error));
    LIC_TRY(check_under(engine, request, &values, wire_bytes, result, error));
done:
    lic_arena_free(&arena);
    return status;
}

licet_status licet_check(licet_engine *engine, const licet_check_request *request, licet_result *result,
                         licet_error **error)
{
    lic_call     call;
    licet_status status;

    if (result != NULL)
        lic_deny(result);
    lic_error_begin(error);
    if (!LIC_RECORD_KNOWN(result))
        return lic_fail_record(error, "result");
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    if (lic_engine_is(engine) && !lic_str_given(request->context) &&
        lic_engine_head_suffices(engine, &request->consistency))
        return check_head(engine, request, result, error);
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = lic_request_has_context(request) ? check_with_context(engine, request, result, error)
                                              : check_plain(engine, request, result, error);
    lic_engine_leave(&call);
    return status;
}

bool licet_check_may_block(const licet_engine *engine, const licet_check_request *request)
{
    return lic_engine_is(engine) && LIC_RECORD_KNOWN(request) && !request->consistency.no_wait &&
           atomic_load_explicit(&engine->store->fresh_until_ms, memory_order_relaxed) != LIC_STORE_ALWAYS &&
           !lic_engine_head_suffices(engine, &request->consistency);
}

/* One block: the views, and behind them the names. */
static size_t missing_bytes(const lic_str *names, size_t count)
{
    size_t size = count * sizeof *names;

    for (size_t i = 0; i < count; i++)
        size += names[i].size;
    return size;
}

/* The block is the caller's from here on, and not counted: it may outlive the engine. */
bool lic_result_keep_missing(licet_result *result, lic_memory *memory, const lic_str *names, size_t count)
{
    const size_t size = missing_bytes(names, count);
    lic_str     *kept = lic_alloc(memory, size);
    char        *text;

    if (kept == NULL)
        return false;
    text = (char *)(kept + count);
    for (size_t i = 0; i < count; i++) {
        memcpy(text, names[i].data, names[i].size);
        kept[i] = (lic_str){ text, names[i].size };
        text += names[i].size;
    }
    atomic_fetch_sub_explicit(&memory->used, size, memory_order_relaxed);
    result->missing       = kept;
    result->missing_count = count;
    result->allocator     = memory->hooks;
    return true;
}

void licet_result_clear(licet_result *result)
{
    if (result == NULL)
        return;
    if (result->missing != NULL)
        result->allocator.free(result->allocator.context, result->missing,
                               missing_bytes(result->missing, result->missing_count));
    licet_error_free(result->error);
    lic_deny(result);
}

void licet_result_token(const licet_engine *engine, const licet_result *result, licet_token *token)
{
    if (token == NULL)
        return;
    token->text[0] = '\0';
    if (engine != NULL && engine->tag == LIC_ENGINE_TAG && result != NULL && result->status == LICET_OK &&
        result->revision != 0)
        lic_engine_token(engine, result->revision, token);
}
