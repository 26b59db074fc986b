/* A check's three texts as the numbers that the evaluator works with.
 *
 * Almost every check is about names and ids that exist, and what exists has the right shape: so first everything is
 * looked up, and shapes are judged only when something was not found. The order of errors (api.md 3) is kept by asking
 * again, slowly, after any failure. */
#ifndef LIC_ENGINE_QUESTION_H
#define LIC_ENGINE_QUESTION_H

#include "engine/context.h"
#include "engine/engine.h"

typedef struct lic_question {
    uint32_t subject_definition;
    lic_ref  subject; /* node: never the wildcard */
    lic_rel  relation;
    uint32_t node; /* of the resource */
} lic_question;

/* What one question found out, for the next: those of a bulk check mostly share their subject, or their type and
 * permission. */
typedef struct lic_known {
    lic_str      resource_type;
    lic_str      permission;
    uint32_t     definition; /* of the resource's type */
    lic_rel      relation;
    lic_str      subject; /* the whole text */
    lic_str      subject_id;
    lic_question question; /* its subject's part */
} lic_known;

/* Nothing known yet. */
static inline void lic_known_begin(lic_known *known)
{
    known->permission.size = 0;
    known->subject.size    = 0;
}

/* false: something is wrong, or needs the slow way. known: of questions to the same program and snapshot. */
bool lic_question_find(const lic_program *program, const lic_snapshot *snapshot, const licet_check_request *request,
                       lic_known *known, lic_question *question);

/* Shapes. item: "item 3: " or "". A bulk check's resource may be the wildcard, which nobody has. */
licet_status lic_question_check(const char *item, const licet_check_request *request, bool wildcard_ok,
                                licet_error **error);

/* The slow way, for requests whose shape is right: NOT_FOUND for unknown names, INVALID_ARGUMENT for a wildcard as the
 * subject. */
licet_status lic_question_resolve(const lic_program *program, const lic_snapshot *snapshot,
                                  const licet_check_request *request, lic_question *question, licet_error **error);

/* The first act of every check. What the result may hold is not freed: nobody promised that there is any. */
static inline void lic_deny(licet_result *result)
{
    result->permissionship = LICET_NO_PERMISSION;
    result->status         = LICET_OK;
    result->revision       = 0;
    result->error          = NULL;
    result->missing        = NULL;
    result->missing_count  = 0;
}

/* The answer under a condition. */
licet_status lic_question_decide(lic_eval *eval, const lic_condition *condition, licet_result *result,
                                 licet_error **error);

/* Asks the evaluator, whose subject is the question's, and judges the condition of an IF. The last act of a check:
 * nothing but an answer changes the result. */
static inline licet_status lic_question_ask(lic_eval *eval, const lic_question *question, licet_result *result,
                                            licet_error **error)
{
    lic_membership answer = LIC_MEMBERSHIP_NO;
    licet_status   status = lic_eval_check(eval, question->relation, question->node, &answer, error);

    if (status != LICET_OK)
        return status;
    if (answer.value == LIC_IF)
        return lic_question_decide(eval, answer.condition, result, error);
    result->revision       = eval->snapshot->revision;
    result->permissionship = answer.value == LIC_YES ? LICET_HAS_PERMISSION : LICET_NO_PERMISSION;
    return LICET_OK;
}

/* A copy of names that the result owns. false: out of memory, it owns none. */
bool lic_result_keep_missing(licet_result *result, lic_memory *memory, const lic_str *names, size_t count);

#endif
