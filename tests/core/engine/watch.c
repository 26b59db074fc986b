/* core/engine/watch.c: what was committed, revision by revision (api.md 14), and the metadata of writes (11, 12). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "engine/engine.h"

#include "engine_world.h"
#include "failing_memory.h"

#define PATIENCE_MS 60000u /* for what comes at once, on a machine with much other work */

/* ------------------------------------------------------------------ telling */

static void add_line(char *out, size_t size, const char *mark, licet_str text)
{
    size_t used = strlen(out);

    assert_true(snprintf(out + used, size - used, "%s%.*s\n", mark, (int)text.size, text.data) < (int)(size - used));
}

static void add_update(char *out, size_t size, const licet_update *update)
{
    licet_buffer line = LICET_BUFFER_INIT;

    assert_int_equal(licet_relationship_format(&update->relationship, &line, NULL), LICET_OK);
    assert_true(update->operation == LICET_TOUCH || update->operation == LICET_DELETE);
    add_line(out, size, update->operation == LICET_TOUCH ? "+" : "-", (licet_str){ line.data, line.size });
    licet_buffer_clear(&line);
}

/* "+relationship", "-relationship", "schema", "checkpoint", "metadata", one a line. */
static const char *text_of_change(const licet_change *change, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < change->update_count; i++)
        add_update(out, size, &change->updates[i]);
    if (change->schema_changed)
        add_line(out, size, "schema", LICET_STR(""));
    if (change->is_checkpoint)
        add_line(out, size, "checkpoint", LICET_STR(""));
    if (change->metadata.size > 0)
        add_line(out, size, "", change->metadata);
    return out;
}

/* The next change as text, "" when there is none yet; w->token is its token, w->status says how it went. */
static const char *next_of(engine_world *w, licet_stream *stream, uint32_t timeout_ms)
{
    licet_change change = LICET_CHANGE_INIT;
    bool         found  = true;

    w->text[0] = '\0';
    w->status  = licet_stream_next_change(stream, timeout_ms, &change, &found, &w->error);
    if (w->status == LICET_OK && found)
        w->token = change.token;
    return found ? text_of_change(&change, w->text, sizeof w->text) : w->text;
}

static void assert_next(engine_world *w, licet_stream *stream, const char *expected)
{
    const char *text = next_of(w, stream, 0);

    world_done(w);
    assert_string_equal(text, expected);
}

static licet_stream *watch_with(engine_world *w, const licet_watch_request *request)
{
    licet_stream *stream = NULL;

    w->status = licet_watch(w->engine, request, &stream, &w->error);
    assert_true((stream != NULL) == (w->status == LICET_OK));
    return stream;
}

static licet_stream *watch(engine_world *w, uint32_t kinds, const char *since)
{
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    licet_stream       *stream;

    request.kinds = kinds;
    request.since = text_of(since);
    stream        = watch_with(w, &request);
    world_done(w);
    return stream;
}

static licet_token token_of(const licet_stream *stream)
{
    licet_token token;

    licet_stream_token(stream, &token);
    return token;
}

static void erase(engine_world *w, const char *type, const char *relation, const char *metadata)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

    request.filter.resource_type = text_of(type);
    request.filter.relation      = text_of(relation);
    request.metadata             = text_of(metadata);
    w->status                    = licet_delete_relationships(w->engine, &request, &result, &w->error);
    w->token                     = result.token;
}

static void write_noted(engine_world *w, licet_operation operation, const char *line, licet_str metadata)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { operation, LICET_RELATIONSHIP_INIT };

    if (line != NULL)
        assert_int_equal(licet_relationship_parse(text_of(line), &update.relationship, NULL), LICET_OK);
    request.updates      = &update;
    request.update_count = line != NULL;
    request.metadata     = metadata;
    w->status            = licet_write(w->engine, &request, &w->token, &w->error);
}

/* ------------------------------------------------------------------ sequences */

/* What open_history() writes, revision by revision. */
static const char *const history[] = {
    "+document:d1#viewer@user:ana\n+document:d1#viewer@user:bo\n+group:eng#member@user:ana\n",
    "+document:d1#viewer@user:cy\n",
    "+document:d1#viewer@user:ana[ticket:{\"n\":1}]\n", /* replaced */
    "", /* nothing changes: an identical touch and a delete of what never was */
    "-document:d1#viewer@user:bo\n",
    "-document:d1#viewer@user:ana[ticket:{\"n\":1}]\n+document:d1#viewer@user:bo\n",
    "schema\n",
    "+document:d2#temp@user:ana[expiration:2031-01-02T03:04:05Z]\n+document:d1#viewer@user:ana\n",
    "+document:d3#viewer@user:a\n+document:d3#viewer@user:b\n",      /* an import */
    "-document:d2#temp@user:ana[expiration:2031-01-02T03:04:05Z]\n", /* by filter */
    "",                                                              /* by a filter that nothing matches */
};

#define REVISIONS (sizeof history / sizeof history[0])

static void import_two(engine_world *w)
{
    licet_import      *import = NULL;
    licet_relationship two[2] = { LICET_RELATIONSHIP_INIT, LICET_RELATIONSHIP_INIT };

    assert_int_equal(licet_relationship_parse(LICET_STR("document:d3#viewer@user:a"), &two[0], NULL), LICET_OK);
    assert_int_equal(licet_relationship_parse(LICET_STR("document:d3#viewer@user:b"), &two[1], NULL), LICET_OK);
    assert_int_equal(licet_import_begin(w->engine, &import, NULL), LICET_OK);
    assert_int_equal(licet_import_add(import, two, 2, NULL), LICET_OK);
    assert_int_equal(licet_import_commit(import, NULL, &w->token, NULL), LICET_OK);
    licet_import_release(import);
}

static void write_mixed(engine_world *w, const char *deleted, const char *touched)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update updates[2] = { { LICET_DELETE, LICET_RELATIONSHIP_INIT }, { LICET_TOUCH, LICET_RELATIONSHIP_INIT } };

    assert_int_equal(licet_relationship_parse(text_of(deleted), &updates[0].relationship, NULL), LICET_OK);
    assert_int_equal(licet_relationship_parse(text_of(touched), &updates[1].relationship, NULL), LICET_OK);
    request.updates      = updates;
    request.update_count = 2;
    w->status            = licet_write(w->engine, &request, &w->token, &w->error);
}

/* tokens[0] is that before, tokens[i + 1] that of history[i]. */
static void open_history(engine_world *w, licet_token tokens[REVISIONS + 1])
{
    licet_token *token = tokens;

    world_open(w, NULL, WORLD_SCHEMA, NULL);
    *token++ = w->token;
    world_create(w, "document:d1#viewer@user:ana\ndocument:d1#viewer@user:bo\ngroup:eng#member@user:ana");
    *token++ = w->token;
    world_touch(w, "document:d1#viewer@user:cy");
    *token++ = w->token;
    world_touch(w, "document:d1#viewer@user:ana[ticket:{\"n\":1}]");
    *token++ = w->token;
    write_mixed(w, "document:d9#viewer@user:nobody", "document:d1#viewer@user:ana[ticket:{\"n\":1.0}]");
    *token++ = w->token;
    world_delete(w, "document:d1#viewer@user:bo");
    *token++ = w->token;
    write_mixed(w, "document:d1#viewer@user:ana", "document:d1#viewer@user:bo");
    *token++ = w->token;
    world_schema(w, WORLD_SCHEMA);
    *token++ = w->token;
    world_touch(w, "document:d2#temp@user:ana[expiration:2031-01-02T03:04:05Z]\ndocument:d1#viewer@user:ana");
    *token++ = w->token;
    import_two(w);
    *token++ = w->token;
    erase(w, "document", "temp", NULL);
    *token++ = w->token;
    erase(w, "document", "temp", NULL);
    *token++ = w->token;
    world_done(w);
}

/* From after tokens[from] on: exactly the history, each told revision with its own token. */
static void assert_history(engine_world *w, const licet_token *tokens, size_t from, uint32_t kinds)
{
    licet_stream *stream = watch(w, kinds, tokens[from].text);

    for (size_t i = from; i < REVISIONS; i++) {
        const bool is_schema = strcmp(history[i], "schema\n") == 0;
        char       expected[256];

        snprintf(expected, sizeof expected, "%s%s", is_schema && (kinds & LICET_WATCH_SCHEMA) == 0 ? "" : history[i],
                 (kinds & LICET_WATCH_CHECKPOINTS) == 0 ? "" : "checkpoint\n");
        if (expected[0] == '\0')
            continue;
        assert_next(w, stream, expected);
        assert_string_equal(w->token.text, tokens[i + 1].text);
        assert_string_equal(token_of(stream).text, tokens[i + 1].text);
    }
    assert_next(w, stream, "");
    assert_next(w, stream, "");
    assert_string_equal(token_of(stream).text, tokens[REVISIONS].text);
    licet_stream_release(stream);
}

static void every_revision_is_told_once_and_in_order_from_every_token_on(void **state)
{
    licet_token  tokens[REVISIONS + 1];
    engine_world w;

    (void)state;
    open_history(&w, tokens);
    for (uint32_t kinds = 0; kinds <= 7; kinds++) {
        for (size_t from = 0; from <= REVISIONS; from++)
            assert_history(&w, tokens, from, kinds);
    }
    world_close(&w);
}

static void a_watch_without_a_token_tells_what_is_committed_from_then_on(void **state)
{
    engine_world  w;
    licet_stream *stream;
    licet_stream *second;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana");
    stream = watch(&w, 0, NULL);
    assert_string_equal(token_of(stream).text, w.token.text);
    assert_next(&w, stream, "");
    world_touch(&w, "document:d1#viewer@user:bo");
    second = watch(&w, 0, NULL);
    world_touch(&w, "document:d1#viewer@user:cy");
    assert_next(&w, stream, "+document:d1#viewer@user:bo\n");
    assert_next(&w, stream, "+document:d1#viewer@user:cy\n");
    assert_next(&w, second, "+document:d1#viewer@user:cy\n");
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    licet_stream_release(second);
    world_close(&w);
}

static void an_expiration_is_no_change(void **state)
{
    engine_world  w;
    licet_stream *stream;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    stream = watch(&w, 0, NULL);
    world_touch(&w, "document:d1#temp@user:ana[expiration:2001-01-01T00:00:00Z]");
    assert_next(&w, stream, "+document:d1#temp@user:ana[expiration:2001-01-01T00:00:00Z]\n");
    assert_next(&w, stream, "");
    erase(&w, "document", NULL, NULL);
    assert_next(&w, stream, "-document:d1#temp@user:ana[expiration:2001-01-01T00:00:00Z]\n");
    licet_stream_release(stream);
    world_close(&w);
}

static void a_schema_that_is_refused_is_no_change(void **state)
{
    engine_world  w;
    licet_stream *stream;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    stream = watch(&w, LICET_WATCH_SCHEMA, NULL);
    world_schema(&w, "definition user {}");
    assert_int_equal(w.status, LICET_SCHEMA_ERROR);
    licet_error_free(w.error);
    w.error = NULL;
    assert_next(&w, stream, "");
    world_touch(&w, "group:eng#member@user:bo");
    assert_next(&w, stream, "+group:eng#member@user:bo\n");
    world_schema(&w, "definition user {} definition group { relation member: user\n}");
    world_done(&w);
    assert_next(&w, stream, "schema\n");
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    world_close(&w);
}

/* -------------------------------------------------------------------- filters */

static const char FILTERED[] = "document:a1#viewer@user:ana\n"
                               "document:a2#banned@user:ana\n"
                               "document:b1#viewer@group:eng#member\n"
                               "document:b1#viewer@user:*\n"
                               "group:eng#member@user:bo\n"
                               "group:ops#member@group:eng#member\n";

/* The fields of a filter: type, id, prefix, relation, subject type, id, relation. */
static licet_filter filter_of(const char *const fields[7])
{
    licet_filter filter = LICET_FILTER_INIT;

    filter.resource_type      = text_of(fields[0]);
    filter.resource_id        = text_of(fields[1]);
    filter.resource_id_prefix = text_of(fields[2]);
    filter.relation           = text_of(fields[3]);
    filter.subject_type       = text_of(fields[4]);
    filter.subject_id         = text_of(fields[5]);
    filter.subject_relation   = text_of(fields[6]);
    return filter;
}

static void filters_let_pass_what_they_select(void **state)
{
    static const struct {
        const char *fields[7];
        const char *told;
    } cases[] = {
        { { "group" }, "+group:eng#member@user:bo\n+group:ops#member@group:eng#member\n" },
        { { NULL, "b1" }, "+document:b1#viewer@group:eng#member\n+document:b1#viewer@user:*\n" },
        { { "document", NULL, "a" }, "+document:a1#viewer@user:ana\n+document:a2#banned@user:ana\n" },
        { { "document", NULL, NULL, "banned" }, "+document:a2#banned@user:ana\n" },
        { { NULL, NULL, NULL, "member" }, "+group:eng#member@user:bo\n+group:ops#member@group:eng#member\n" },
        { { NULL, NULL, NULL, "nosuch" }, "" },
        { { "document", NULL, NULL, "view" }, "" }, /* a permission */
        { { "document", "zz" }, "" },
        { { NULL, NULL, NULL, NULL, "user", "ana" }, "+document:a1#viewer@user:ana\n+document:a2#banned@user:ana\n" },
        { { NULL, NULL, NULL, NULL, "user", "*" }, "+document:b1#viewer@user:*\n" },
        { { NULL, NULL, NULL, NULL, "group", NULL, "member" },
          "+document:b1#viewer@group:eng#member\n+group:ops#member@group:eng#member\n" },
        /* SpiceDB: here an empty relation lets usersets pass too */
        { { NULL, NULL, NULL, NULL, "group", NULL, "" },
          "+document:b1#viewer@group:eng#member\n+group:ops#member@group:eng#member\n" },
        { { NULL, NULL, NULL, NULL, "group", "*", "member" }, "" },
    };
    engine_world w;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_watch_request request = LICET_WATCH_REQUEST_INIT;
        licet_filter        filter  = filter_of(cases[i].fields);
        licet_stream       *stream;
        licet_token         before;

        world_open(&w, NULL, WORLD_SCHEMA, NULL);
        before               = w.token;
        request.filters      = &filter;
        request.filter_count = 1;
        request.since        = text_of(before.text);
        stream               = watch_with(&w, &request);
        world_done(&w);
        memset(&filter, 0xff, sizeof filter); /* the stream has its own */
        memset(&before, 'x', sizeof before);
        world_touch(&w, FILTERED);
        assert_next(&w, stream, cases[i].told);
        assert_next(&w, stream, "");
        assert_string_equal(token_of(stream).text, w.token.text);
        licet_stream_release(stream);
        world_close(&w);
    }
}

static void an_empty_field_of_a_filter_is_not_given_unless_the_engine_is_strict(void **state)
{
    static const char *const fields[7] = { "group", "", "", "", "", "", NULL };
    licet_watch_request      request   = LICET_WATCH_REQUEST_INIT;
    licet_filter             filter    = filter_of(fields);

    (void)state;
    request.filters      = &filter;
    request.filter_count = 1;
    for (int strict = 0; strict < 2; strict++) {
        licet_options options = LICET_OPTIONS_INIT;
        engine_world  w;
        licet_stream *stream;

        options.strict = strict;
        world_open(&w, &options, WORLD_SCHEMA, NULL);
        stream = watch_with(&w, &request);
        if (strict) {
            assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
            licet_error_free(w.error);
            w.error = NULL;
        } else {
            world_touch(&w, FILTERED);
            assert_next(&w, stream, "+group:eng#member@user:bo\n+group:ops#member@group:eng#member\n");
        }
        licet_stream_release(stream);
        world_close(&w);
    }
}

static void one_of_several_filters_is_enough(void **state)
{
    static const char *const ids[][7] = { { "document", "a1" }, { "group", "ops" } };
    licet_watch_request      request  = LICET_WATCH_REQUEST_INIT;
    licet_filter             filters[2];
    engine_world             w;
    licet_stream            *stream;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    filters[0]           = filter_of(ids[0]);
    filters[1]           = filter_of(ids[1]);
    request.filters      = filters;
    request.filter_count = 2;
    request.kinds        = LICET_WATCH_SCHEMA | LICET_WATCH_CHECKPOINTS;
    stream               = watch_with(&w, &request);
    world_touch(&w, FILTERED);
    world_touch(&w, "document:a9#viewer@user:ana");
    world_schema(&w, WORLD_SCHEMA);
    assert_next(&w, stream, "+document:a1#viewer@user:ana\n+group:ops#member@group:eng#member\ncheckpoint\n");
    assert_next(&w, stream, "checkpoint\n");
    assert_next(&w, stream, "schema\ncheckpoint\n");
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    world_close(&w);
}

static void of_resource_types_an_unknown_one_just_never_matches(void **state)
{
    licet_str           types[] = { LICET_STR("group"), LICET_STR("folder"), LICET_STR("group") };
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    engine_world        w;
    licet_stream       *stream;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    request.resource_types      = types;
    request.resource_type_count = 3;
    stream                      = watch_with(&w, &request);
    world_touch(&w, FILTERED);
    assert_next(&w, stream, "+group:eng#member@user:bo\n+group:ops#member@group:eng#member\n");
    world_touch(&w, "document:a9#viewer@user:ana");
    assert_next(&w, stream, "");
    erase(&w, "group", NULL, NULL);
    erase(&w, "document", NULL, NULL);
    world_schema(&w, "definition user {} definition folder { relation owner: user\n}");
    world_done(&w);
    world_touch(&w, "folder:f#owner@user:ana");
    world_done(&w);
    assert_next(&w, stream, "-group:eng#member@user:bo\n-group:ops#member@group:eng#member\n");
    assert_next(&w, stream, "+folder:f#owner@user:ana\n"); /* it is known by now */
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    world_close(&w);
}

static void fails(engine_world *w, const licet_watch_request *request, licet_status status, licet_kind kind,
                  const char *reason, const char *message)
{
    assert_null(watch_with(w, request));
    world_failed(w, status, kind, reason, message);
}

static void what_is_wrong_with_a_watch_is_told_at_its_beginning(void **state)
{
    static const char *const none[7]  = { NULL };
    licet_str                types[]  = { LICET_STR("user"), LICET_STR("No") };
    licet_watch_request      request  = LICET_WATCH_REQUEST_INIT;
    licet_filter             filter   = filter_of(none);
    licet_filter             second[] = { filter_of(none), filter_of(none) };
    engine_world             w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    fails(&w, NULL, LICET_MISUSE, LICET_KIND_MISUSE, "", "request is NULL or of an unknown size");
    request.kinds = 8;
    fails(&w, &request, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "kinds: 8 has bits that name nothing to be told");
    request.kinds        = 0;
    request.filter_count = 1;
    fails(&w, &request, LICET_MISUSE, LICET_KIND_MISUSE, "", "filters is NULL or of an unknown size");
    request.filters = &filter;
    fails(&w, &request, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER",
          "filter 1: at least one field must be given");
    request.resource_type_count = 2;
    fails(&w, &request, LICET_MISUSE, LICET_KIND_MISUSE, "", "resource_types is NULL or of an unknown size");
    request.resource_types = types;
    fails(&w, &request, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "resource_types and filters exclude each other");
    request.filter_count = 0;
    assert_null(watch_with(&w, &request));
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    licet_error_free(w.error);
    w.error                     = NULL;
    request.resource_type_count = 0;
    request.filter_count        = 2;
    request.filters             = second;
    second[0].resource_type     = LICET_STR("document");
    second[1].size              = 3;
    fails(&w, &request, LICET_MISUSE, LICET_KIND_MISUSE, "", "a filter is NULL or of an unknown size");
    second[1]                    = filter_of(none);
    second[1].resource_id        = LICET_STR("a");
    second[1].resource_id_prefix = LICET_STR("a");
    fails(&w, &request, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER",
          "filter 2: resource_id and resource_id_prefix exclude each other");
    second[1]               = filter_of(none);
    second[1].resource_type = LICET_STR("folder");
    request.since           = LICET_STR(""); /* the revision outranks the names */
    fails(&w, &request, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is empty");
    request.since = (licet_str){ NULL, 0 };
    fails(&w, &request, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `folder` not found");
    second[1].resource_type = LICET_STR("document");
    second[1].relation      = LICET_STR("nosuch");
    fails(&w, &request, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `document`");
    second[1].relation     = (licet_str){ NULL, 0 };
    second[1].subject_type = LICET_STR("folder");
    fails(&w, &request, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `folder` not found");
    world_close(&w);
}

/* --------------------------------------------------------------------- tokens */

static void a_token_of_another_store_or_none_at_all_is_refused(void **state)
{
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    engine_world        w;
    engine_world        other;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    world_open(&other, NULL, WORLD_SCHEMA, NULL);
    request.since = text_of(other.token.text);
    fails(&w, &request, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token belongs to another store");
    request.since = LICET_STR("AAAA");
    fails(&w, &request, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is damaged, or was not made by licet");
    world_close(&w);
    world_close(&other);
}

static void who_is_left_behind_is_told_so_and_not_given_the_rest(void **state)
{
    licet_options       options = LICET_OPTIONS_INIT;
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    engine_world        w;
    licet_stream       *stream;
    licet_token         before;

    (void)state;
    options.history_window_ms = 1;
    world_open(&w, &options, WORLD_SCHEMA, NULL);
    before = w.token;
    stream = watch(&w, 0, NULL);
    lic_sleep_us(20000);
    assert_next(&w, stream, ""); /* at the head nobody is behind, however long ago that was */
    world_touch(&w, "document:d1#viewer@user:ana");
    world_touch(&w, "document:d2#viewer@user:ana");
    lic_sleep_us(20000);
    for (int i = 0; i < 2; i++) {
        next_of(&w, stream, 0);
        world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "",
                     "changes after the revision have left the retained history");
    }
    assert_string_equal(token_of(stream).text, before.text);
    request.since = text_of(before.text);
    fails(&w, &request, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "", "the revision has left the retained history");
    licet_stream_release(stream);
    stream = watch(&w, 0, w.token.text);
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    world_close(&w);
}

/* Merges give up what lies further back than some thousand changes. */
static void history_that_merges_gave_up_is_gone_for_watches_too(void **state)
{
    licet_change  change = LICET_CHANGE_INIT;
    engine_world  w;
    licet_stream *early;
    licet_stream *late = NULL;
    bool          found;
    size_t        told = 0;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    early = watch(&w, 0, NULL);
    for (unsigned i = 0; i < 12000; i++) {
        char line[64];

        if (i == 11000)
            late = watch(&w, 0, NULL);
        snprintf(line, sizeof line, "document:d%u#viewer@user:u%u", i % 1500, i / 1500);
        world_touch(&w, line);
    }
    world_done(&w);
    assert_true(lic_graph_merge(w.engine->graph)); /* the last of those that others have begun */
    world_touch(&w, "document:last#viewer@user:ana");
    next_of(&w, early, 0);
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "",
                 "changes after the revision have left the retained history");
    do {
        assert_int_equal(licet_stream_next_change(late, 0, &change, &found, NULL), LICET_OK);
        assert_int_equal(change.update_count, found ? 1 : 0);
        told += found;
    } while (found);
    assert_int_equal(told, 1001);
    licet_stream_release(early);
    licet_stream_release(late);
    world_close(&w);
}

/* -------------------------------------------------------------------- waiting */

typedef struct waiting {
    licet_stream *stream;
    uint32_t      timeout_ms;
    licet_status  status;
    bool          found;
    char          text[256];
    uint64_t      took_ms;
} waiting;

static void wait_for_change(void *argument)
{
    waiting     *w      = argument;
    licet_change change = LICET_CHANGE_INIT;
    uint64_t     start  = lic_monotonic_ms();

    w->status  = licet_stream_next_change(w->stream, w->timeout_ms, &change, &w->found, NULL);
    w->took_ms = lic_monotonic_ms() - start;
    if (w->found)
        text_of_change(&change, w->text, sizeof w->text);
}

static void a_call_waits_as_long_as_it_is_told_and_not_longer(void **state)
{
    engine_world w;
    waiting      call   = { .timeout_ms = 60 };
    uint64_t     all_ms = 0;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    call.stream = watch(&w, 0, NULL);
    wait_for_change(&call);
    assert_int_equal(call.status, LICET_OK);
    assert_false(call.found);
    assert_in_range(call.took_ms, 60, PATIENCE_MS);
    call.timeout_ms = 0;
    for (unsigned i = 0; i < 1000; i++) {
        wait_for_change(&call);
        assert_false(call.found);
        all_ms += call.took_ms;
    }
    assert_in_range(all_ms, 0, PATIENCE_MS / 2);
    licet_stream_release(call.stream);
    world_close(&w);
}

#define WAITERS 4

static void each_commit_wakes_all_who_wait(void **state)
{
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    licet_str           type    = LICET_STR("document");
    waiting             calls[WAITERS];
    pthread_t           threads[WAITERS];
    engine_world        w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    request.resource_types      = &type;
    request.resource_type_count = 1;
    for (int i = 0; i < WAITERS; i++) {
        calls[i] = (waiting){ .stream = watch_with(&w, &request), .timeout_ms = PATIENCE_MS };
        assert_true(lic_thread_start(&threads[i], "licet-test", wait_for_change, &calls[i]));
    }
    lic_sleep_us(20000);
    world_touch(&w, "group:eng#member@user:ana"); /* which none of them is told */
    lic_sleep_us(20000);
    world_touch(&w, "document:d1#viewer@user:ana");
    for (int i = 0; i < WAITERS; i++) {
        lic_thread_join(threads[i]);
        assert_int_equal(calls[i].status, LICET_OK);
        assert_true(calls[i].found);
        assert_string_equal(calls[i].text, "+document:d1#viewer@user:ana\n");
        assert_in_range(calls[i].took_ms, 0, PATIENCE_MS / 2);
        licet_stream_release(calls[i].stream);
    }
    world_close(&w);
}

/* A schema, a delete by filter and an import are commits like others. */
static void every_kind_of_commit_wakes(void **state)
{
    static const char *const told[] = { "schema\n", "-group:eng#member@user:ana\n",
                                        "+document:d3#viewer@user:a\n+document:d3#viewer@user:b\n" };
    engine_world             w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    for (int i = 0; i < 3; i++) {
        waiting   call = { .timeout_ms = PATIENCE_MS };
        pthread_t thread;

        call.stream = watch(&w, LICET_WATCH_SCHEMA, NULL);
        assert_true(lic_thread_start(&thread, "licet-test", wait_for_change, &call));
        lic_sleep_us(10000);
        if (i == 0)
            world_schema(&w, WORLD_SCHEMA);
        if (i == 1)
            erase(&w, "group", NULL, NULL);
        if (i == 2)
            import_two(&w);
        lic_thread_join(thread);
        assert_string_equal(call.text, told[i]);
        assert_in_range(call.took_ms, 0, PATIENCE_MS / 2);
        licet_stream_release(call.stream);
    }
    world_close(&w);
}

static void closing_the_engine_wakes_who_waits_and_does_not_wait_for_them(void **state)
{
    waiting      calls[WAITERS];
    pthread_t    threads[WAITERS];
    engine_world w;
    uint64_t     start;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    for (int i = 0; i < WAITERS; i++) {
        calls[i] = (waiting){ .stream = watch(&w, 0, NULL), .timeout_ms = UINT32_MAX };
        assert_true(lic_thread_start(&threads[i], "licet-test", wait_for_change, &calls[i]));
    }
    lic_sleep_us(20000);
    start = lic_monotonic_ms();
    licet_close(w.engine);
    assert_in_range(lic_monotonic_ms() - start, 0, PATIENCE_MS / 2);
    for (int i = 0; i < WAITERS; i++) {
        lic_thread_join(threads[i]);
        assert_int_equal(calls[i].status, LICET_CLOSED);
        assert_false(calls[i].found);
        next_of(&w, calls[i].stream, PATIENCE_MS); /* at once */
        world_failed(&w, LICET_CLOSED, LICET_KIND_MISUSE, "", "the engine is closed");
        licet_stream_release(calls[i].stream);
    }
    world_close(&w);
}

#define TURNS 3000u

/* Each commit comes just when the watcher is about to wait. */
typedef struct turns {
    licet_stream    *stream;
    _Atomic uint32_t told;
    _Atomic bool     slept;
} turns;

static void watch_turns(void *argument)
{
    turns       *t      = argument;
    licet_change change = LICET_CHANGE_INIT;
    bool         found  = true;

    for (uint32_t i = 0; i < TURNS && found; i++) {
        uint64_t start = lic_monotonic_ms();

        if (licet_stream_next_change(t->stream, PATIENCE_MS, &change, &found, NULL) != LICET_OK)
            found = false;
        if (!found || lic_monotonic_ms() - start >= PATIENCE_MS)
            atomic_store(&t->slept, true);
        atomic_fetch_add(&t->told, 1);
    }
}

static void no_commit_is_slept_through(void **state)
{
    static turns t;
    engine_world w;
    pthread_t    thread;

    (void)state;
    memset(&t, 0, sizeof t);
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    t.stream = watch(&w, 0, NULL);
    assert_true(lic_thread_start(&thread, "licet-test", watch_turns, &t));
    for (uint32_t i = 0; i < TURNS && !atomic_load(&t.slept); i++) {
        if (i % 2 == 0)
            world_touch(&w, "group:eng#member@user:ana");
        else
            world_delete(&w, "group:eng#member@user:ana");
        while (atomic_load(&t.told) <= i && !atomic_load(&t.slept))
            sched_yield();
    }
    lic_thread_join(thread);
    assert_false(atomic_load(&t.slept));
    assert_int_equal(t.told, TURNS);
    licet_stream_release(t.stream);
    world_close(&w);
}

static void a_close_at_any_moment_wakes_who_waits(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        waiting      call = { .timeout_ms = UINT32_MAX };
        engine_world w;
        pthread_t    thread;

        world_open(&w, NULL, WORLD_SCHEMA, NULL);
        call.stream = watch(&w, 0, NULL);
        assert_true(lic_thread_start(&thread, "licet-test", wait_for_change, &call));
        lic_sleep_us(i % 10 * 20);
        licet_close(w.engine);
        lic_thread_join(thread);
        assert_int_equal(call.status, LICET_CLOSED);
        licet_stream_release(call.stream);
        world_close(&w);
    }
}

static void misuse_of_a_watch_is_told(void **state)
{
    licet_read_request read   = LICET_READ_REQUEST_INIT;
    licet_change       change = LICET_CHANGE_INIT;
    licet_relationship r      = LICET_RELATIONSHIP_INIT;
    bool               found  = true;
    engine_world       w;
    licet_stream      *stream;
    licet_stream      *reading = NULL;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    stream                    = watch(&w, 0, NULL);
    read.filter.resource_type = LICET_STR("group");
    assert_int_equal(licet_read_relationships(w.engine, &read, &reading, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_change(reading, 0, &change, &found, NULL), LICET_MISUSE);
    assert_false(found);
    found = true;
    assert_int_equal(licet_stream_next_change(NULL, 0, &change, &found, NULL), LICET_MISUSE);
    assert_false(found);
    assert_int_equal(licet_stream_next_change(stream, 0, &change, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_change(stream, 0, NULL, &found, NULL), LICET_MISUSE);
    change.size = 1;
    assert_int_equal(licet_stream_next_change(stream, 0, &change, &found, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_MISUSE);
    assert_null(licet_stream_cursor(stream).data);
    assert_int_equal(licet_watch(w.engine, NULL, NULL, NULL), LICET_MISUSE);
    licet_stream_release(reading);
    licet_stream_release(stream);
    world_close(&w);
}

/* ------------------------------------------------------------------------ fork */

/* The child's life: the parent's watches go on in it, and nobody waits there. (It starts no threads: the thread
 * sanitizer has none in a child.) */
static int child(engine_world *w, licet_stream *stream)
{
    if (strcmp(next_of(w, stream, 0), "+document:d1#viewer@user:ana\n") != 0)
        return 1;
    if (next_of(w, stream, 20)[0] != '\0' || w->status != LICET_OK)
        return 2;
    world_touch(w, "document:d2#viewer@user:ana");
    if (strcmp(next_of(w, stream, PATIENCE_MS), "+document:d2#viewer@user:ana\n") != 0)
        return 3;
    licet_stream_release(stream);
    licet_engine_release(w->engine); /* does not wait for the parent's threads */
    return 0;
}

static void after_a_fork_both_processes_watch_on(void **state)
{
    licet_options options = fail_never().options;
    waiting       call    = { .timeout_ms = PATIENCE_MS };
    engine_world  w;
    licet_stream *stream;
    pthread_t     thread;
    int           status = -1;
    pid_t         pid;

    (void)state;
    world_open(&w, &options, WORLD_SCHEMA, NULL);
    stream = watch(&w, 0, NULL);
    world_touch(&w, "document:d1#viewer@user:ana");
    call.stream = watch(&w, 0, NULL);
    assert_true(lic_thread_start(&thread, "licet-test", wait_for_change, &call));
    lic_sleep_us(20000);
    pid = fork();
    if (pid == 0)
        _exit(child(&w, stream));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    world_touch(&w, "document:d3#viewer@user:ana");
    lic_thread_join(thread);
    assert_string_equal(call.text, "+document:d3#viewer@user:ana\n");
    assert_next(&w, stream, "+document:d1#viewer@user:ana\n");
    assert_next(&w, stream, "+document:d3#viewer@user:ana\n");
    licet_stream_release(stream);
    licet_stream_release(call.stream);
    world_close(&w);
}

/* ---------------------------------------------------------------------- metadata */

static void the_metadata_of_a_write_comes_with_its_changes(void **state)
{
    engine_world  w;
    licet_stream *stream;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    stream = watch(&w, LICET_WATCH_CHECKPOINTS, NULL);
    write_noted(&w, LICET_CREATE, "group:eng#member@user:ana", LICET_STR("{\"by\": \"ana\", \"n\": [1, null]}"));
    write_noted(&w, LICET_CREATE, "group:eng#member@user:bo", (licet_str){ NULL, 0 });
    write_noted(&w, LICET_CREATE, "group:eng#member@user:cy", LICET_STR(" { } ")); /* SpiceDB: says nothing */
    write_noted(&w, LICET_TOUCH, "group:eng#member@user:cy", LICET_STR("{\"lost\":1}"));
    erase(&w, "group", NULL, "{\"why\":\"clean\"}");
    erase(&w, "group", NULL, "{\"lost\":2}");
    write_noted(&w, LICET_CREATE, "group:eng#member@user:ana", LICET_STR("{\"again\":true}"));
    world_done(&w);
    assert_next(&w, stream, "+group:eng#member@user:ana\ncheckpoint\n{\"by\": \"ana\", \"n\": [1, null]}\n");
    assert_next(&w, stream, "+group:eng#member@user:bo\ncheckpoint\n");
    assert_next(&w, stream, "+group:eng#member@user:cy\ncheckpoint\n");
    assert_next(&w, stream, "checkpoint\n");
    assert_next(&w, stream,
                "-group:eng#member@user:ana\n-group:eng#member@user:bo\n-group:eng#member@user:cy\ncheckpoint\n"
                "{\"why\":\"clean\"}\n");
    assert_next(&w, stream, "checkpoint\n");
    assert_next(&w, stream, "+group:eng#member@user:ana\ncheckpoint\n{\"again\":true}\n");
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    world_close(&w);
}

static void a_write_that_fails_leaves_its_metadata_to_nobody(void **state)
{
    engine_world  w;
    licet_stream *stream;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    stream = watch(&w, 0, NULL);
    for (int i = 0; i < 3; i++) {
        write_noted(&w, LICET_CREATE, "group:eng#member@user:ana", LICET_STR("{\"by\":\"loser\"}"));
        world_failed(&w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                     "could not create relationship \"group:eng#member@user:ana\", as it exists already");
    }
    world_touch(&w, "group:eng#member@user:bo");
    assert_next(&w, stream, "+group:eng#member@user:bo\n");
    assert_next(&w, stream, "");
    licet_stream_release(stream);
    world_close(&w);
}

#define MOST_METADATA 65000u

/* A JSON object of exactly so many bytes, ended by NUL. */
static char *metadata_of(size_t size)
{
    char *text = malloc(size + 1);

    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, "{\"k\":\"", 6);
    memcpy(text + size - 2, "\"}", 3);
    return text;
}

static void metadata_is_a_json_object_of_65000_bytes_at_most(void **state)
{
    static const struct {
        const char *text;
        licet_kind  kind;
        const char *message;
    } cases[] = {
        { "", LICET_KIND_SYNTAX, "the metadata is no JSON object: a \"{\" is missing" },
        { "[1]", LICET_KIND_SYNTAX, "the metadata is no JSON object: a \"{\" is missing" },
        { "{\"a\":1} x", LICET_KIND_SYNTAX, "the metadata is no JSON object: something follows it" },
        { "{\"a\":\"\xff\"}", LICET_KIND_ENCODING, "the metadata is no JSON object: a byte that is not UTF-8" },
    };
    char        *most = metadata_of(MOST_METADATA);
    char        *more = metadata_of(MOST_METADATA + 1);
    engine_world w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    write_noted(&w, LICET_TOUCH, "group:eng#member@user:ana", text_of(most));
    world_done(&w);
    write_noted(&w, LICET_TOUCH, "group:eng#member@user:ana", text_of(more));
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TRANSACTION_METADATA_TOO_LARGE",
                 "the metadata is 65001 bytes, more than the 65000 allowed");
    erase(&w, "group", NULL, more);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TRANSACTION_METADATA_TOO_LARGE",
                 "the metadata is 65001 bytes, more than the 65000 allowed");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_noted(&w, LICET_TOUCH, "group:eng#member@user:ana", text_of(cases[i].text));
        world_failed(&w, LICET_INVALID_ARGUMENT, cases[i].kind, "", cases[i].message);
        erase(&w, "group", NULL, cases[i].text);
        world_failed(&w, LICET_INVALID_ARGUMENT, cases[i].kind, "", cases[i].message);
    }
    free(most);
    free(more);
    world_close(&w);
}

static void metadata_is_judged_before_all_else(void **state)
{
    licet_write_request write   = LICET_WRITE_REQUEST_INIT;
    licet_delete_request delete = LICET_DELETE_REQUEST_INIT;
    licet_delete_result result  = LICET_DELETE_RESULT_INIT;
    licet_update       *many    = calloc(1001, sizeof *many);
    char               *more    = metadata_of(MOST_METADATA + 1);
    engine_world        w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    write.updates      = many;
    write.update_count = 1001;
    write.metadata     = text_of(more);
    delete.metadata    = write.metadata;
    delete.limit       = 1001;
    w.status           = licet_write(w.engine, &write, NULL, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TRANSACTION_METADATA_TOO_LARGE",
                 "the metadata is 65001 bytes, more than the 65000 allowed");
    w.status = licet_delete_relationships(w.engine, &delete, &result, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TRANSACTION_METADATA_TOO_LARGE",
                 "the metadata is 65001 bytes, more than the 65000 allowed");
    write.metadata = LICET_STR("{}");
    w.status       = licet_write(w.engine, &write, NULL, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TOO_MANY_UPDATES_IN_REQUEST",
                 "1001 updates are more than the 1000 of one request");
    free(more);
    free(many);
    world_close(&w);
}

/* However much metadata is written, it takes a bounded share of the memory, and who would miss some is told so. */
static void metadata_never_fills_the_memory(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_stats   stats   = LICET_STATS_INIT;
    licet_change  change  = LICET_CHANGE_INIT;
    char         *most    = metadata_of(MOST_METADATA);
    engine_world  w;
    licet_stream *early;
    licet_stream *late;
    bool          found;

    (void)state;
    options.memory_limit_bytes = 4 << 20;
    world_open(&w, &options, WORLD_SCHEMA, NULL);
    early = watch(&w, 0, NULL);
    for (int i = 0; i < 200; i++) {
        write_noted(&w, i % 2 == 0 ? LICET_TOUCH : LICET_DELETE, "group:eng#member@user:ana", text_of(most));
        world_done(&w);
    }
    late = watch(&w, 0, NULL);
    write_noted(&w, LICET_TOUCH, "group:eng#member@user:bo", text_of(most));
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    assert_in_range(stats.memory_bytes, MOST_METADATA, 1 << 20);
    next_of(&w, early, 0);
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "",
                 "changes after the revision have left the retained history");
    assert_int_equal(licet_stream_next_change(late, 0, &change, &found, NULL), LICET_OK);
    assert_int_equal(change.update_count, 1);
    assert_int_equal(change.metadata.size, MOST_METADATA);
    assert_memory_equal(change.metadata.data, most, MOST_METADATA);
    free(most);
    licet_stream_release(early);
    licet_stream_release(late);
    world_close(&w);
}

/* Writes with metadata until there is no memory for more. */
static void fill_up(engine_world *w, licet_str metadata)
{
    for (unsigned i = 0; w->status == LICET_OK; i++) {
        char line[64];

        assert_true(i < 100000);
        snprintf(line, sizeof line, "group:g%u#member@user:u%u", i, i);
        write_noted(w, LICET_TOUCH, line, metadata);
    }
    world_failed(w, LICET_OUT_OF_MEMORY, LICET_KIND_NOMEM, "", "out of memory");
}

/* Deletes a hundred, or what is left; returns how many. */
static uint64_t delete_some(engine_world *w, licet_str metadata)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

    request.filter.resource_type = LICET_STR("group");
    request.limit                = 100;
    request.allow_partial        = true;
    request.metadata             = metadata;
    w->status                    = licet_delete_relationships(w->engine, &request, &result, &w->error);
    world_done(w);
    return result.deleted_count;
}

static void a_full_engine_can_be_emptied_whatever_metadata_comes_with_it(void **state)
{
    static const size_t sizes[] = { 8, 2000 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        licet_options options = LICET_OPTIONS_INIT;
        char         *text    = metadata_of(sizes[i]);
        engine_world  w;
        uint64_t      count;

        options.memory_limit_bytes = 1 << 20;
        world_open(&w, &options, WORLD_SCHEMA, NULL);
        fill_up(&w, text_of(text));
        do
            count = delete_some(&w, text_of(text));
        while (count > 0);
        assert_string_equal(world_read_type(&w, "group"), "");
        free(text);
        world_close(&w);
    }
}

/* ---------------------------------------------------------------- out of memory */

static void a_call_that_finds_no_memory_can_be_made_again(void **state)
{
    failing_memory memory = fail_never();
    engine_world   w;
    licet_stream  *stream;
    size_t         failures = 0;

    (void)state;
    world_open(&w, &memory.options, WORLD_SCHEMA, NULL);
    stream = watch(&w, 0, NULL);
    write_noted(&w, LICET_TOUCH, "document:d1#viewer@user:ana[ticket:{\"n\":1}]", LICET_STR("{\"by\":\"ana\"}"));
    world_done(&w);
    for (size_t n = 0;; n++) {
        fail_next(&memory, n);
        next_of(&w, stream, 0);
        if (w.status == LICET_OK)
            break;
        failures++;
        fail_next(&memory, SIZE_MAX / 2);
        world_failed(&w, LICET_OUT_OF_MEMORY, LICET_KIND_NOMEM, "", "out of memory");
    }
    assert_true(failures > 0);
    assert_string_equal(w.text, "+document:d1#viewer@user:ana[ticket:{\"n\":1}]\n{\"by\":\"ana\"}\n");
    licet_stream_release(stream);
    world_close(&w);
    assert_int_equal(memory.counts->live_blocks, 0);
}

/* All that may be allocated for, once from the beginning to the end. */
static licet_status live(const licet_options *options)
{
    licet_str           types[]    = { LICET_STR("document"), LICET_STR("group") };
    licet_watch_request request    = LICET_WATCH_REQUEST_INIT;
    licet_write_request write      = LICET_WRITE_REQUEST_INIT;
    licet_filter        filter     = LICET_FILTER_INIT;
    licet_update        update     = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_change        change     = LICET_CHANGE_INIT;
    licet_engine       *engine     = NULL;
    licet_stream       *streams[2] = { NULL, NULL };
    bool                found      = false;
    licet_status        status;

    assert_int_equal(licet_relationship_parse(LICET_STR("group:eng#member@user:ana"), &update.relationship, NULL),
                     LICET_OK);
    filter.resource_type = LICET_STR("group");
    filter.resource_id   = LICET_STR("eng");
    filter.subject_type  = LICET_STR("user");
    filter.subject_id    = LICET_STR("ana");
    write.updates        = &update;
    write.update_count   = 1;
    write.metadata       = LICET_STR("{\"by\":{\"who\":[\"ana\"]}}");
    status               = licet_open(LICET_STR("memory:"), options, &engine, NULL);
    if (status == LICET_OK)
        status = licet_write_schema(engine, text_of(WORLD_SCHEMA), NULL, NULL);
    request.resource_types      = types;
    request.resource_type_count = 2;
    if (status == LICET_OK)
        status = licet_watch(engine, &request, &streams[0], NULL);
    request.resource_type_count = 0;
    request.filters             = &filter;
    request.filter_count        = 1;
    if (status == LICET_OK)
        status = licet_watch(engine, &request, &streams[1], NULL);
    if (status == LICET_OK)
        status = licet_write(engine, &write, NULL, NULL);
    for (int i = 0; i < 2 && status == LICET_OK; i++) {
        status = licet_stream_next_change(streams[i], 0, &change, &found, NULL);
        assert_true(found == (status == LICET_OK));
    }
    licet_stream_release(streams[0]);
    licet_stream_release(streams[1]);
    licet_engine_release(engine);
    return status;
}

static void every_allocation_of_a_watch_may_fail(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);

        status = live(&memory.options);
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

/* ------------------------------------------------------ a watcher beside a writer */

#define ROUNDS 6000u
#define DOCUMENTS 40u

/* Revision n of the writer's: one document gets or loses a viewer, with metadata every third time, or nothing changes.
 * The model is what the watcher has to be told of it. */
typedef struct model {
    engine_world     w;
    licet_stream    *stream;
    licet_token      start;
    _Atomic uint32_t reached; /* the round that the watcher waits for */
    uint32_t         errors;
} model;

static void round_of(uint32_t n, bool present[DOCUMENTS], licet_operation *operation, char line[64], char note[32])
{
    uint32_t document = n * 7919 % DOCUMENTS;

    *operation = present[document] ? LICET_DELETE : LICET_TOUCH;
    if (n % 11 == 0) /* touches what is there, deletes what is not */
        *operation = present[document] ? LICET_TOUCH : LICET_DELETE;
    present[document] = *operation == LICET_TOUCH;
    snprintf(line, 64, "document:d%u#viewer@user:u%u", document, document % 3);
    snprintf(note, 32, n % 3 == 0 ? "{\"n\":%u}" : "", n);
}

static bool changes_something(uint32_t n)
{
    return n % 11 != 0;
}

static void write_rounds(void *argument)
{
    model          *m                  = argument;
    bool            present[DOCUMENTS] = { false };
    licet_operation operation;
    char            line[64];
    char            note[32];

    for (uint32_t n = 0; n < ROUNDS; n++) {
        round_of(n, present, &operation, line, note);
        write_noted(&m->w, operation, line, note[0] == '\0' ? (licet_str){ NULL, 0 } : text_of(note));
        if (m->w.status != LICET_OK)
            m->errors++;
        /* Not so far ahead that history ends before the watcher has come there. */
        while (n > atomic_load(&m->reached) + 2000)
            lic_sleep_us(100);
    }
}

static void a_watcher_beside_a_writer_and_its_merges_misses_nothing(void **state)
{
    model           m;
    bool            present[DOCUMENTS] = { false };
    licet_change    change             = LICET_CHANGE_INIT;
    licet_stats     stats              = LICET_STATS_INIT;
    bool            found;
    licet_operation operation;
    pthread_t       thread;
    char            line[64];
    char            note[32];
    char            expected[128];
    char            text[128];

    (void)state;
    memset(&m, 0, sizeof m);
    world_open(&m.w, NULL, WORLD_SCHEMA, NULL);
    m.stream = watch(&m.w, 0, NULL);
    assert_true(lic_thread_start(&thread, "licet-test", write_rounds, &m));
    for (uint32_t n = 0; n < ROUNDS; n++) {
        round_of(n, present, &operation, line, note);
        atomic_store(&m.reached, n);
        if (!changes_something(n))
            continue;
        snprintf(expected, sizeof expected, "%c%s\n%s%s", operation == LICET_TOUCH ? '+' : '-', line, note,
                 note[0] == '\0' ? "" : "\n");
        assert_int_equal(licet_stream_next_change(m.stream, PATIENCE_MS, &change, &found, NULL), LICET_OK);
        assert_true(found);
        assert_string_equal(text_of_change(&change, text, sizeof text), expected);
    }
    lic_thread_join(thread);
    assert_int_equal(m.errors, 0);
    assert_int_equal(licet_stream_next_change(m.stream, 0, &change, &found, NULL), LICET_OK);
    assert_false(found);
    assert_int_equal(licet_engine_stats(m.w.engine, &stats, NULL), LICET_OK);
    assert_true(stats.merges > 2);
    licet_stream_release(m.stream);
    m.w.error = NULL;
    world_close(&m.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_revision_is_told_once_and_in_order_from_every_token_on),
        cmocka_unit_test(a_watch_without_a_token_tells_what_is_committed_from_then_on),
        cmocka_unit_test(an_expiration_is_no_change),
        cmocka_unit_test(a_schema_that_is_refused_is_no_change),
        cmocka_unit_test(filters_let_pass_what_they_select),
        cmocka_unit_test(an_empty_field_of_a_filter_is_not_given_unless_the_engine_is_strict),
        cmocka_unit_test(one_of_several_filters_is_enough),
        cmocka_unit_test(of_resource_types_an_unknown_one_just_never_matches),
        cmocka_unit_test(what_is_wrong_with_a_watch_is_told_at_its_beginning),
        cmocka_unit_test(a_token_of_another_store_or_none_at_all_is_refused),
        cmocka_unit_test(who_is_left_behind_is_told_so_and_not_given_the_rest),
        cmocka_unit_test(history_that_merges_gave_up_is_gone_for_watches_too),
        cmocka_unit_test(a_call_waits_as_long_as_it_is_told_and_not_longer),
        cmocka_unit_test(each_commit_wakes_all_who_wait),
        cmocka_unit_test(every_kind_of_commit_wakes),
        cmocka_unit_test(closing_the_engine_wakes_who_waits_and_does_not_wait_for_them),
        cmocka_unit_test(no_commit_is_slept_through),
        cmocka_unit_test(a_close_at_any_moment_wakes_who_waits),
        cmocka_unit_test(misuse_of_a_watch_is_told),
        cmocka_unit_test(after_a_fork_both_processes_watch_on),
        cmocka_unit_test(the_metadata_of_a_write_comes_with_its_changes),
        cmocka_unit_test(a_write_that_fails_leaves_its_metadata_to_nobody),
        cmocka_unit_test(metadata_is_a_json_object_of_65000_bytes_at_most),
        cmocka_unit_test(metadata_is_judged_before_all_else),
        cmocka_unit_test(metadata_never_fills_the_memory),
        cmocka_unit_test(a_full_engine_can_be_emptied_whatever_metadata_comes_with_it),
        cmocka_unit_test(a_call_that_finds_no_memory_can_be_made_again),
        cmocka_unit_test(every_allocation_of_a_watch_may_fail),
        cmocka_unit_test(a_watcher_beside_a_writer_and_its_merges_misses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
