/* Assertions: one check each, all of them run, in the order true, caveated, false. */
#include "engine/context.h"
#include "engine/question.h"
#include "eval/conditions.h"
#include "validation/expectations.h"

static const char *failure_text(licet_permissionship expected)
{
    return expected == LICET_HAS_PERMISSION           ? " to exist"
           : expected == LICET_CONDITIONAL_PERMISSION ? " to be caveated"
                                                      : " to not exist";
}

/* SpiceDB's kind of finding for an error of the check. */
static const char *kind_of(const licet_error *error)
{
    static const struct {
        lic_str     reason;
        const char *kind;
    } kinds[] = { { LICET_STR_INIT("UNKNOWN_DEFINITION"), "UNKNOWN_OBJECT_TYPE" },
                  { LICET_STR_INIT("UNKNOWN_RELATION_OR_PERMISSION"), "UNKNOWN_RELATION" },
                  { LICET_STR_INIT("MAXIMUM_DEPTH_EXCEEDED"), "MAXIMUM_RECURSION" } };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (lic_str_equal(licet_error_reason(error), kinds[i].reason))
            return kinds[i].kind;
    return "ASSERTION_FAILED";
}

/* before, the assertion's text, between, after. */
static bool add_finding(const lic_expectations *run, const lic_file_assertion *assertion, const char *kind,
                        lic_str before, lic_str between, lic_str after)
{
    lic_text text;
    bool     added;

    lic_text_init(&text, run->memory);
    lic_text_add(&text, before);
    lic_text_add(&text, assertion->text);
    lic_text_add(&text, between);
    lic_text_add(&text, after);
    added =
        !text.failed && lic_report_add(run->report, false, "assertion", kind, assertion->position, lic_text_str(&text));
    lic_text_free(&text);
    return added;
}

/* The assertion's two ends stand in its text as requests want them: "type:id" and "type:id#relation". */
static licet_check_request request_of(const licet_relationship *r)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    bool    userset = lic_str_given(r->subject_relation) && !lic_str_equal(r->subject_relation, LIC_STR("..."));
    lic_str end     = userset ? r->subject_relation : r->subject_id;

    request.resource =
        (lic_str){ r->resource_type.data, (size_t)(r->resource_id.data + r->resource_id.size - r->resource_type.data) };
    request.permission = r->relation;
    request.subject    = (lic_str){ r->subject_type.data, (size_t)(end.data + end.size - r->subject_type.data) };
    return request;
}

/* The values that an assertion gives to caveats; none without a context. */
static licet_status read_context(const lic_expectations *run, lic_arena *arena, lic_str context,
                                 lic_context_values *values, licet_error **error)
{
    size_t       wire_bytes = 0;
    licet_status status     = LICET_OK;

    *values = (lic_context_values){ NULL, 0 };
    if (lic_str_given(context))
        status = lic_context_read(arena, context, run->engine->strict, values, &wire_bytes, error);
    return status == LICET_OK ? lic_context_size_check("", wire_bytes, error) : status;
}

/* *value: NO, YES, or IF when context is missing. */
static licet_status check(const lic_expectations *run, const lic_assertion *assertion, lic_value *value,
                          licet_error **error)
{
    licet_check_request request = request_of(&assertion->relationship);
    lic_membership      answer  = LIC_MEMBERSHIP_NO;
    lic_context_values  values;
    lic_question        question;
    lic_missing         missing;
    lic_moment          moment;
    lic_arena           arena;
    lic_eval            eval;
    licet_status        status;

    lic_arena_init(&arena, run->memory);
    LIC_TRY(lic_question_check("", &request, false, error));
    LIC_TRY(read_context(run, &arena, assertion->context, &values, error));
    LIC_TRY(lic_question_resolve(run->program, run->snapshot, &request, &question, error));
    lic_eval_init(&eval, run->program, run->snapshot, &arena, &run->limits);
    lic_eval_subject(&eval, question.subject_definition, question.subject);
    lic_engine_begin_moment(run->engine, &moment);
    eval.moment  = &moment;
    eval.context = &values;
    eval.strict  = run->engine->strict;
    LIC_TRY(lic_eval_check(&eval, question.relation, question.node, &answer, error));
    LIC_TRY(lic_engine_end_moment(&moment, status, error));
    *value = answer.value;
    if (answer.value == LIC_IF)
        LIC_TRY(lic_condition_decide(&eval, answer.condition, value, &missing, error));
done:
    lic_arena_free(&arena);
    return status;
}

/* An error of the check that says something about the assertion becomes a finding; one about the machine is passed
 * on. Takes *cause. */
static licet_status judge_error(const lic_expectations *run, const lic_file_assertion *assertion, licet_error *cause,
                                licet_error **error)
{
    licet_status status = licet_error_status(cause);
    bool         added;

    if (status == LICET_OUT_OF_MEMORY || status == LICET_DEADLINE_EXCEEDED) {
        if (error != NULL)
            *error = cause;
        else
            licet_error_free(cause);
        return status;
    }
    added =
        add_finding(run, assertion, kind_of(cause), LIC_STR("assertion `"), LIC_STR("`: "), licet_error_message(cause));
    licet_error_free(cause);
    return added ? LICET_OK : lic_fail_memory(error);
}

static licet_status run_assertion(const lic_expectations *run, const lic_file_assertion *assertion, licet_error **error)
{
    static const licet_permissionship answers[] = {
        [LIC_NO] = LICET_NO_PERMISSION, [LIC_YES] = LICET_HAS_PERMISSION, [LIC_IF] = LICET_CONDITIONAL_PERMISSION
    };
    lic_value    value = LIC_NO;
    licet_error *cause = NULL;
    lic_str      after = { NULL, 0 };

    run->report->counts.assertions++;
    if (lic_str_given(assertion->assertion.relationship.caveat_name))
        return add_finding(run, assertion, "UNKNOWN_RELATION", LIC_STR("cannot specify a caveat on an assertion: `"),
                           LIC_STR("`"), LIC_STR(""))
                   ? LICET_OK
                   : lic_fail_memory(error);
    if (check(run, &assertion->assertion, &value, &cause) != LICET_OK)
        return judge_error(run, assertion, cause, error);
    if (answers[value] == assertion->expected)
        return LICET_OK;
    after = (lic_str){ failure_text(assertion->expected), strlen(failure_text(assertion->expected)) };
    if (!add_finding(run, assertion, "ASSERTION_FAILED", LIC_STR("Expected relation or permission "), after,
                     LIC_STR("")))
        return lic_fail_memory(error);
    return LICET_OK;
}

licet_status lic_run_assertions(const lic_expectations *run, const lic_validation_file *file, licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < file->assertion_count && status == LICET_OK; i++)
        status = run_assertion(run, &file->assertions[i], error);
    return status;
}
