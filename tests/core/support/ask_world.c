#include "ask_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

licet_check_request question_of(const char *question, const char *context)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    const char         *hash    = strchr(question, '#');
    const char         *at      = strchr(question, '@');

    assert_true(hash != NULL && at != NULL);
    request.resource   = (licet_str){ question, (size_t)(hash - question) };
    request.permission = (licet_str){ hash + 1, (size_t)(at - hash - 1) };
    request.subject    = text_of(at + 1);
    request.context    = text_of(context);
    return request;
}

static void say(engine_world *w, size_t *size, const char *text, size_t length)
{
    assert_true(*size + length < sizeof w->text);
    memcpy(w->text + *size, text, length);
    *size += length;
    w->text[*size] = '\0';
}

static void say_missing(engine_world *w, const licet_result *result)
{
    size_t size = 0;

    say(w, &size, "if ", 3);
    for (size_t i = 0; i < result->missing_count; i++) {
        if (i > 0)
            say(w, &size, ", ", 2);
        say(w, &size, result->missing[i].data, result->missing[i].size);
    }
}

static void say_error(engine_world *w, const licet_error *error)
{
    const licet_str reason = licet_error_reason(error);
    const char     *kind   = licet_kind_name(licet_error_kind(error));
    size_t          size   = 0;

    say(w, &size, "failed ", 7);
    say(w, &size, reason.size > 0 ? reason.data : kind, reason.size > 0 ? reason.size : strlen(kind));
}

const char *world_say(engine_world *w, licet_result *result, licet_error *error)
{
    if (error != NULL) {
        assert_int_equal(result->permissionship, LICET_NO_PERMISSION);
        assert_int_equal(result->missing_count, 0);
        say_error(w, error);
    } else if (result->permissionship == LICET_CONDITIONAL_PERMISSION) {
        assert_false(licet_result_allowed(result));
        say_missing(w, result);
    } else {
        assert_int_equal(result->missing_count, 0);
        strcpy(w->text, licet_result_allowed(result) ? "yes" : "no");
    }
    if (error != result->error)
        licet_error_free(error);
    licet_result_clear(result);
    return w->text;
}

static const char *ask(engine_world *w, const licet_check_request *request)
{
    licet_result result = LICET_RESULT_INIT;
    licet_error *error  = NULL;
    licet_status status;

    result.permissionship = LICET_HAS_PERMISSION; /* to be overwritten, whatever happens */
    status                = licet_check(w->engine, request, &result, &error);
    assert_int_equal(status, licet_error_status(error));
    return world_say(w, &result, error);
}

const char *world_ask(engine_world *w, const char *question, const char *context)
{
    licet_check_request request = question_of(question, context);

    return ask(w, &request);
}

const char *world_ask_prepared(engine_world *w, const char *question, const licet_context *context)
{
    licet_check_request request = question_of(question, NULL);

    request.prepared_context = context;
    return ask(w, &request);
}

void world_expect(engine_world *w, const expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        licet_context *context = NULL;

        if (strcmp(world_ask(w, rows[i].question, rows[i].context), rows[i].answer) != 0)
            fail_msg("%s with %s: %s instead of %s", rows[i].question, rows[i].context, w->text, rows[i].answer);
        if (rows[i].context == NULL)
            continue;
        assert_int_equal(licet_context_parse(text_of(rows[i].context), NULL, &context, NULL), LICET_OK);
        if (strcmp(world_ask_prepared(w, rows[i].question, context), rows[i].answer) != 0)
            fail_msg("%s with %s: %s", rows[i].question, rows[i].context, w->text);
        licet_context_release(context);
    }
}

void check_rows(const char *schema, const char *relationships, const expectation *rows, size_t count)
{
    engine_world w;

    world_open(&w, NULL, schema, relationships);
    world_expect(&w, rows, count);
    world_close(&w);
}
