/* One check, and what can be done with its result. The way of a check that is answered takes no lock, allocates
 * nothing and writes no memory that another thread writes. */
#include "engine/question.h"

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

static licet_status check_at(const licet_engine *engine, const lic_snapshot *snapshot,
                             const licet_check_request *request, licet_result *result, licet_error **error)
{
    LIC_UNINITIALIZED char     scratch[SCRATCH_BYTES];
    const lic_program         *program = lic_engine_program(engine, snapshot);
    lic_membership             answer  = LIC_MEMBERSHIP_NO;
    lic_question               question;
    lic_arena                  arena;
    LIC_UNINITIALIZED lic_eval eval;
    licet_status               status = question_of(program, snapshot, request, &question, error);

    if (status != LICET_OK)
        return status;
    lic_arena_init_with(&arena, engine->memory, scratch, sizeof scratch);
    lic_eval_init(&eval, program, snapshot, &arena, &engine->limits);
    lic_eval_subject(&eval, question.subject_definition, question.subject);
    status = lic_eval_check(&eval, question.relation, question.node, &answer, error);
    lic_arena_free(&arena);
    if (status != LICET_OK)
        return status;
    lic_answer(result, answer, snapshot->revision);
    return LICET_OK;
}

/* Is it about the head, so that it can't be refused? */
static bool is_at_head(const licet_consistency *consistency)
{
    return consistency->freshness == LICET_MINIMIZE_LATENCY || consistency->freshness == LICET_FULLY_CONSISTENT;
}

/* At the head. The pin alone keeps the engine open as the gate would, since closing waits for readers too: the gate's
 * two locked additions would be a tenth of a direct check. */
static licet_status check_head(const licet_engine *engine, const licet_check_request *request, licet_result *result,
                               licet_error **error)
{
    lic_snapshot snapshot;
    licet_status status;

    lic_snapshot_pin(engine->graph, &snapshot);
    if (lic_gate_is_closed(&engine->gate))
        status = lic_engine_refuse(engine, error);
    else
        status = check_at(engine, &snapshot, request, result, error);
    lic_snapshot_unpin(&snapshot);
    return status;
}

/* A bad shape has to be told before a bad token. */
static licet_status check_inside(const licet_engine *engine, const licet_check_request *request, licet_result *result,
                                 licet_error **error)
{
    lic_snapshot snapshot;
    licet_status status = lic_question_check("", request, false, error);

    if (status != LICET_OK)
        return status;
    status = lic_engine_pin(engine, &request->consistency, &snapshot, error);
    if (status != LICET_OK)
        return status;
    status = check_at(engine, &snapshot, request, result, error);
    lic_snapshot_unpin(&snapshot);
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
    if (lic_engine_is(engine) && is_at_head(&request->consistency))
        return check_head(engine, request, result, error);
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = check_inside(engine, request, result, error);
    lic_engine_leave(&call);
    return status;
}

bool licet_check_may_block(const licet_engine *engine, const licet_check_request *request)
{
    (void)engine;
    (void)request;
    return false;
}

void licet_result_clear(licet_result *result)
{
    if (result == NULL)
        return;
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
        lic_token_make(&engine->identity, result->revision, token);
}
