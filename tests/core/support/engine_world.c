#include "engine_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

const char WORLD_SCHEMA[] = "use expiration\n"
                            "\n"
                            "caveat ticket(n int) {\n"
                            "  n == 1\n"
                            "}\n"
                            "\n"
                            "definition user {}\n"
                            "\n"
                            "definition group {\n"
                            "  relation member: user | group#member\n"
                            "}\n"
                            "\n"
                            "definition document {\n"
                            "  relation viewer: user | user:* | group#member | user with ticket\n"
                            "  relation banned: user | user:*\n"
                            "  relation temp: user with expiration\n"
                            "  relation vip: user:* with ticket\n"
                            "  relation guest: user with ticket\n"
                            "  permission view = viewer - banned\n"
                            "}\n";

licet_str text_of(const char *literal)
{
    return (licet_str){ literal, literal == NULL ? 0 : strlen(literal) };
}

static void forget(engine_world *w)
{
    licet_error_free(w->error);
    w->error  = NULL;
    w->status = LICET_OK;
}

void world_open(engine_world *w, const licet_options *options, const char *schema, const char *lines)
{
    memset(w, 0, sizeof *w);
    assert_int_equal(licet_open(LICET_STR("memory:"), options, &w->engine, &w->error), LICET_OK);
    world_schema(w, schema);
    world_done(w);
    if (lines != NULL && lines[0] != '\0') {
        world_touch(w, lines);
        world_done(w);
    }
}

void world_close(engine_world *w)
{
    assert_null(w->error);
    licet_engine_release(w->engine);
    w->engine = NULL;
}

void world_schema(engine_world *w, const char *schema)
{
    forget(w);
    w->status = licet_write_schema(w->engine, text_of(schema), &w->token, &w->error);
}

#define MAX_LINES 64

static void write_lines(engine_world *w, licet_operation operation, const char *lines)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        updates[MAX_LINES];
    size_t              count = 0;

    forget(w);
    while (*lines != '\0') {
        licet_str line = { lines, strcspn(lines, "\n") };

        assert_true(count < MAX_LINES);
        updates[count].operation         = operation;
        updates[count].relationship.size = sizeof(licet_relationship);
        w->status                        = licet_relationship_parse(line, &updates[count].relationship, &w->error);
        assert_int_equal(w->status, LICET_OK);
        count++;
        lines += line.size;
        lines += *lines == '\n' ? 1 : 0;
    }
    request.updates      = updates;
    request.update_count = count;
    w->status            = licet_write(w->engine, &request, &w->token, &w->error);
}

void world_create(engine_world *w, const char *lines)
{
    write_lines(w, LICET_CREATE, lines);
}

void world_touch(engine_world *w, const char *lines)
{
    write_lines(w, LICET_TOUCH, lines);
}

void world_delete(engine_world *w, const char *lines)
{
    write_lines(w, LICET_DELETE, lines);
}

licet_check_request check_of(const char *resource, const char *permission, const char *subject)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;

    request.resource   = text_of(resource);
    request.permission = text_of(permission);
    request.subject    = text_of(subject);
    return request;
}

licet_result world_check(engine_world *w, const char *resource, const char *permission, const char *subject)
{
    licet_check_request request = check_of(resource, permission, subject);
    licet_result        result  = LICET_RESULT_INIT;

    forget(w);
    result.permissionship = LICET_HAS_PERMISSION; /* to be overwritten, whatever happens */
    w->status             = licet_check(w->engine, &request, &result, &w->error);
    return result;
}

bool world_allowed(engine_world *w, const char *resource, const char *permission, const char *subject)
{
    licet_result result = world_check(w, resource, permission, subject);

    world_done(w);
    return licet_result_allowed(&result);
}

static void append_line(engine_world *w, size_t *size, const licet_relationship *relationship)
{
    licet_buffer line = LICET_BUFFER_INIT;

    assert_int_equal(licet_relationship_format(relationship, &line, NULL), LICET_OK);
    assert_true(*size + line.size + 2 <= sizeof w->text);
    memcpy(w->text + *size, line.data, line.size);
    *size += line.size;
    w->text[(*size)++] = '\n';
    w->text[*size]     = '\0';
    licet_buffer_clear(&line);
}

const char *world_read(engine_world *w, const licet_read_request *request)
{
    licet_stream      *stream       = NULL;
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    size_t             size         = 0;
    bool               found        = true;

    forget(w);
    w->text[0] = '\0';
    w->status  = licet_read_relationships(w->engine, request, &stream, &w->error);
    while (w->status == LICET_OK && found) {
        w->status = licet_stream_next_relationship(stream, &relationship, &found, &w->error);
        if (found)
            append_line(w, &size, &relationship);
    }
    licet_stream_release(stream);
    return w->text;
}

const char *world_read_type(engine_world *w, const char *resource_type)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;

    request.filter.resource_type = text_of(resource_type);
    world_read(w, &request);
    world_done(w);
    return w->text;
}

void world_done(engine_world *w)
{
    if (w->error != NULL)
        print_error("%.*s\n", (int)licet_error_message(w->error).size, licet_error_message(w->error).data);
    assert_int_equal(w->status, LICET_OK);
    assert_null(w->error);
}

static void assert_text(licet_str actual, const char *expected)
{
    char copy[2048];

    assert_true(actual.size < sizeof copy);
    memcpy(copy, actual.data, actual.size);
    copy[actual.size] = '\0';
    assert_string_equal(copy, expected);
}

void error_is(licet_error *error, licet_status status, licet_kind kind, const char *reason, const char *message)
{
    assert_non_null(error);
    assert_text(licet_error_message(error), message);
    assert_int_equal(licet_error_status(error), status);
    assert_int_equal(licet_error_kind(error), kind);
    assert_text(licet_error_reason(error), reason);
    licet_error_free(error);
}

void world_failed(engine_world *w, licet_status status, licet_kind kind, const char *reason, const char *message)
{
    assert_int_equal(w->status, status);
    error_is(w->error, status, kind, reason, message);
    w->error = NULL;
    forget(w);
}
