#include "engine/answers.h"

#include "engine/bulk.h"

void lic_answers_end(licet_stream *stream)
{
    lic_answers *answers = (lic_answers *)stream;

    for (size_t i = 0; i < answers->count; i++)
        licet_result_clear(&answers->results[i]);
    lic_arena_free(&answers->arena);
}

static bool make_room(lic_answers *answers, const licet_check_request *pattern, size_t count)
{
    answers->requests = lic_new_array(&answers->arena, count, licet_check_request);
    answers->results  = lic_new_array(&answers->arena, count, licet_result);
    if (answers->requests == NULL || answers->results == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        answers->requests[i] = *pattern;
        answers->results[i]  = (licet_result)LICET_RESULT_INIT;
    }
    answers->count = count;
    return true;
}

lic_answers *lic_answers_new(licet_engine *engine, const lic_stream_methods *methods,
                             const licet_check_request *pattern, size_t count)
{
    lic_answers *answers = lic_stream_new(engine, methods, sizeof *answers);

    if (answers == NULL)
        return NULL;
    lic_arena_init(&answers->arena, engine->memory);
    if (count == 0 || make_room(answers, pattern, count))
        return answers;
    licet_stream_release(&answers->base);
    return NULL;
}

licet_status lic_answers_ask(lic_answers *answers, const lic_snapshot *snapshot, licet_error **error)
{
    answers->base.revision = snapshot->revision;
    return lic_check_bulk_at(answers->base.engine, snapshot, answers->requests, answers->count, answers->results,
                             error);
}
