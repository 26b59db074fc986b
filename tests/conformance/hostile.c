/* The shared set of hostile inputs and a few of ours, through C: each case ends in one of its acceptable outcomes, in
 * its time, within 64 MiB above its input, on a small stack, in silence, and the engine answers a plain check right
 * afterwards. In an engine that is strict and in one that is not.
 *
 * The README beside the shared files says what a line means, hostile.json what is left out and what is read otherwise,
 * and why. A case runs on a thread of its own, which only fills a record; the record is judged on the main thread,
 * because a failing assertion jumps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine.h"
#include "hostile_cases.h"
#include "hostile_value.h"
#include "measured_memory.h"
#include "shared.h"

/* Limits of time and stack are those of the README in a build as it is shipped; a sanitizer makes both larger. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
enum { TIME_FACTOR = 20, STACK_BYTES = 1 << 20 };
#else
enum { TIME_FACTOR = 1, STACK_BYTES = 1 << 18 };
#endif

enum {
    EXTRA_BYTES  = 64 << 20, /* above what the input itself takes */
    WRITE_CHUNK  = 1000,     /* updates in one write */
    TIME_RETRIES = 3         /* a late case may have been late for what else this machine did */
};

/* ------------------------------------------------------------- one case */

/* What came of it. Filled by the case's thread. */
typedef struct verdict {
    const hostile_case *c;
    measured_memory     memory;
    licet_engine       *engine;
    const char         *outcome; /* "ok", "denied", "conditional", "allowed" or "error" */
    licet_error        *error;   /* NULL beside "error": a finding of a validation file */
    const char         *broken;  /* what does not hold beside the outcome; NULL: nothing */
    uint64_t            started_ns, elapsed_ns;
    size_t              input_bytes;
    size_t              printed_bytes;
} verdict;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void must_hold(verdict *v, bool holds, const char *what)
{
    if (!holds && v->broken == NULL)
        v->broken = what;
}

static void judged_step_begins(verdict *v)
{
    v->started_ns = now_ns();
}

static void judged_step_ends(verdict *v, licet_status status, const char *outcome)
{
    v->elapsed_ns = now_ns() - v->started_ns;
    v->outcome    = status == LICET_OK ? outcome : "error";
    must_hold(v, (status == LICET_OK) == (v->error == NULL), "an error and a status tell different things");
    must_hold(v, licet_error_status(v->error) == status, "an error has another status than its call");
}

static licet_str given(verdict *v, const char *name, hostile_text *text)
{
    licet_str value = hostile_value(json_object_get(v->c->input, name), text);

    v->input_bytes += value.size;
    return value;
}

/* ------------------------------------------------------------- relationships */

typedef struct line_writer {
    licet_engine   *engine;
    licet_operation operation;
    size_t          chunk; /* updates in one call; 0: all in one */
    licet_update   *updates;
    size_t          count, capacity;
    licet_error   **error;
} line_writer;

static licet_status writer_flush(line_writer *w)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;

    request.updates      = w->updates;
    request.update_count = w->count;
    w->count             = 0;
    return licet_write(w->engine, &request, NULL, w->error);
}

static licet_status writer_add(line_writer *w, licet_str line)
{
    licet_update *update;

    if (w->count == w->capacity) {
        w->capacity = w->capacity == 0 ? WRITE_CHUNK : w->capacity * 2;
        w->updates  = realloc(w->updates, w->capacity * sizeof *w->updates);
        hostile_need(w->updates != NULL);
    }
    update  = &w->updates[w->count++];
    *update = (licet_update){ w->operation, LICET_RELATIONSHIP_INIT };
    return licet_relationship_parse(line, &update->relationship, w->error);
}

/* Every line of a text. Its last chunk is left for the caller to flush. */
static licet_status writer_add_lines(line_writer *w, licet_str text)
{
    licet_status status = LICET_OK;

    while (status == LICET_OK && text.size > 0) {
        const char *newline = memchr(text.data, '\n', text.size);
        licet_str   line    = { text.data, newline == NULL ? text.size : (size_t)(newline - text.data) };
        size_t      taken   = line.size + (newline != NULL);

        text = (licet_str){ text.data + taken, text.size - taken };
        if (line.size > 0)
            status = writer_add(w, line);
        if (status == LICET_OK && w->chunk != 0 && w->count == w->chunk)
            status = writer_flush(w);
    }
    return status;
}

/* The texts of an array, in one call or in chunks. */
static licet_status write_entries(verdict *v, const json_t *entries, licet_operation operation, size_t chunk,
                                  licet_error **error)
{
    line_writer   w      = { v->engine, operation, chunk, NULL, 0, 0, error };
    hostile_text *texts  = calloc(json_array_size(entries) + 1, sizeof *texts);
    licet_status  status = LICET_OK;

    for (size_t i = 0; status == LICET_OK && i < json_array_size(entries); i++) {
        status = writer_add_lines(&w, hostile_value(json_array_get(entries, i), &texts[i]));
        v->input_bytes += texts[i].size;
    }
    if (status == LICET_OK && w.count > 0)
        status = writer_flush(&w);
    for (size_t i = 0; i < json_array_size(entries); i++)
        hostile_text_clear(&texts[i]);
    free(texts);
    free(w.updates);
    return status;
}

static uint64_t stored(licet_engine *engine)
{
    licet_stats stats = LICET_STATS_INIT;

    return licet_engine_stats(engine, &stats, NULL) == LICET_OK ? stats.relationships : UINT64_MAX;
}

/* ------------------------------------------------------------- fixtures and plain checks */

static bool open_engine(verdict *v)
{
    licet_options options = measured_options(&v->memory);

    options.strict           = v->c->strict;
    options.check_timeout_ms = 250 * TIME_FACTOR; /* as it is, where nothing slows the engine down */
    must_hold(v, licet_open(LICET_STR("memory:"), &options, &v->engine, NULL) == LICET_OK, "an engine opens");
    return v->engine != NULL;
}

static bool open_world(verdict *v)
{
    const json_t *fixture = v->c->fixture;
    const json_t *schema  = json_object_get(fixture == NULL ? v->c->input : fixture, "schema");
    hostile_text  text;

    if (!open_engine(v))
        return false;
    must_hold(v, licet_write_schema(v->engine, hostile_value(schema, &text), NULL, NULL) == LICET_OK,
              "the fixture's schema loads");
    hostile_text_clear(&text);
    must_hold(v,
              write_entries(v, json_object_get(fixture, "relationships"), LICET_TOUCH, WRITE_CHUNK, NULL) == LICET_OK,
              "the fixture's relationships load");
    return v->broken == NULL;
}

static licet_permissionship plainly(verdict *v, licet_str resource, licet_str permission, licet_str subject)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_result        result  = LICET_RESULT_INIT;

    request.resource   = resource;
    request.permission = permission;
    request.subject    = subject;
    must_hold(v, licet_check(v->engine, &request, &result, NULL) == LICET_OK, "a plain check goes well afterwards");
    return result.permissionship;
}

/* Nothing in the fixtures keeps anybody from being a viewer. */
static void answers_afterwards(verdict *v, const char *resource, const char *subject)
{
    licet_str id = { resource, strlen(resource) };

    must_hold(v, plainly(v, id, LICET_STR("viewer"), (licet_str){ subject, strlen(subject) }) == LICET_HAS_PERMISSION,
              "a plain check says yes afterwards");
    must_hold(v, plainly(v, id, LICET_STR("viewer"), LICET_STR("user:nobody")) == LICET_NO_PERMISSION,
              "a plain check says no afterwards");
}

/* What a plain check says yes to. */
static void write_the_plain_answer(verdict *v)
{
    json_t *entries = json_pack("[s]", "document:d1#viewer@user:alice");

    must_hold(v, write_entries(v, entries, LICET_TOUCH, 0, NULL) == LICET_OK,
              "a relationship can be written afterwards");
    json_decref(entries);
}

/* The engine is still good for a world of its own. */
static void is_usable_afterwards(verdict *v)
{
    static const char schema[] = "definition user {}\ndefinition document {\n  relation viewer: user\n}\n";

    must_hold(v, licet_write_schema(v->engine, (licet_str)LICET_STR_INIT(schema), NULL, NULL) == LICET_OK,
              "a schema can be written afterwards");
    write_the_plain_answer(v);
    answers_afterwards(v, "document:d1", "user:alice");
}

/* ------------------------------------------------------------- operations */

static void load_schema(verdict *v)
{
    licet_schema *schema = NULL;
    hostile_text  text;
    licet_str     value = given(v, "schema", &text);

    if (open_engine(v)) {
        judged_step_begins(v);
        judged_step_ends(v, licet_write_schema(v->engine, value, NULL, &v->error), "ok");
        if (v->error != NULL)
            must_hold(v, licet_read_schema(v->engine, &schema, NULL, NULL) == LICET_NOT_FOUND, "nothing was loaded");
        is_usable_afterwards(v);
    }
    hostile_text_clear(&text);
}

static void parse_relationship(verdict *v)
{
    licet_relationship r = LICET_RELATIONSHIP_INIT;
    hostile_text       text;
    licet_str          value = given(v, "text", &text);

    judged_step_begins(v);
    judged_step_ends(v,
                     v->c->strict ? licet_relationship_parse_strict(value, &r, &v->error)
                                  : licet_relationship_parse(value, &r, &v->error),
                     "ok");
    if (open_engine(v))
        is_usable_afterwards(v);
    hostile_text_clear(&text);
}

typedef struct question {
    hostile_text        resource, permission, subject, context;
    licet_check_request request;
} question;

static question question_of(verdict *v, const json_t *from)
{
    question q = { .request = LICET_CHECK_REQUEST_INIT };

    q.request.resource   = hostile_object(json_object_get(from, "resource"), &q.resource);
    q.request.permission = hostile_value(json_object_get(from, "permission"), &q.permission);
    q.request.subject    = hostile_object(json_object_get(from, "subject"), &q.subject);
    q.request.context    = hostile_value(json_object_get(from, "context"), &q.context);
    v->input_bytes += q.resource.size + q.permission.size + q.subject.size + q.context.size;
    return q;
}

static void question_clear(question *q)
{
    hostile_text_clear(&q->resource);
    hostile_text_clear(&q->permission);
    hostile_text_clear(&q->subject);
    hostile_text_clear(&q->context);
}

static const char *word_of(licet_permissionship permissionship)
{
    return permissionship == LICET_NO_PERMISSION            ? "denied"
           : permissionship == LICET_CONDITIONAL_PERMISSION ? "conditional"
                                                            : "allowed";
}

static void warm_up(verdict *v, const json_t *checks)
{
    for (size_t i = 0; i < json_array_size(checks); i++) {
        question     q      = question_of(v, json_array_get(checks, i));
        licet_result result = LICET_RESULT_INIT;
        licet_status status = licet_check(v->engine, &q.request, &result, NULL);

        (void)status; /* not judged */
        licet_result_clear(&result);
        question_clear(&q);
    }
}

/* In a world of the case's own the viewer may hang on a caveat: then its documents make room for the plain world. */
static void check_is_usable_afterwards(verdict *v)
{
    licet_delete_request documents = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  deleted   = LICET_DELETE_RESULT_INIT;

    if (json_object_get(v->c->input, "fixture") != NULL) {
        bool docs = strcmp(json_string_value(json_object_get(v->c->input, "fixture")), "docs") == 0;

        answers_afterwards(v, docs ? "document:d1" : "folder:f1", "user:alice");
        return;
    }
    must_hold(
        v, plainly(v, LICET_STR("document:d1"), LICET_STR("viewer"), LICET_STR("user:nobody")) == LICET_NO_PERMISSION,
        "a plain check says no afterwards");
    documents.filter.resource_type = LICET_STR("document");
    must_hold(v, licet_delete_relationships(v->engine, &documents, &deleted, NULL) == LICET_OK,
              "relationships can be deleted afterwards");
    documents.filter.resource_type = LICET_STR("group");
    (void)!licet_delete_relationships(v->engine, &documents, &deleted, NULL); /* if there are groups */
    is_usable_afterwards(v);
}

static void check(verdict *v)
{
    const json_t *input  = v->c->input;
    licet_result  result = LICET_RESULT_INIT;
    question      q;
    licet_status  status;

    if (!open_world(v))
        return;
    must_hold(v, write_entries(v, json_object_get(input, "relationships"), LICET_TOUCH, WRITE_CHUNK, NULL) == LICET_OK,
              "the case's relationships can be written");
    warm_up(v, json_object_get(input, "warm"));
    must_hold(v, write_entries(v, json_object_get(input, "then_delete"), LICET_DELETE, WRITE_CHUNK, NULL) == LICET_OK,
              "relationships can be deleted");
    q = question_of(v, input);
    judged_step_begins(v);
    status = licet_check(v->engine, &q.request, &result, &v->error);
    judged_step_ends(v, status, word_of(result.permissionship));
    must_hold(v, status == LICET_OK || result.permissionship == LICET_NO_PERMISSION, "an error leaves a denial");
    question_clear(&q);
    licet_result_clear(&result);
    check_is_usable_afterwards(v);
}

static void write_relationships(verdict *v)
{
    bool         create = json_is_true(json_object_get(v->c->input, "create"));
    licet_status status;
    uint64_t     before;

    if (!open_world(v))
        return;
    before = stored(v->engine);
    judged_step_begins(v);
    status = write_entries(v, json_object_get(v->c->input, "relationships"), create ? LICET_CREATE : LICET_TOUCH, 0,
                           &v->error);
    judged_step_ends(v, status, "ok");
    must_hold(v, status == LICET_OK || stored(v->engine) == before, "a refused write stores nothing");
    answers_afterwards(v, "document:d1", "user:alice");
}

static void delete_by_filter(verdict *v)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;
    const struct {
        const char *name;
        licet_str  *field;
    } fields[] = {
        { "resource_type", &request.filter.resource_type },
        { "resource_id", &request.filter.resource_id },
        { "resource_id_prefix", &request.filter.resource_id_prefix },
        { "relation", &request.filter.relation },
        { "subject_type", &request.filter.subject_type },
        { "subject_id", &request.filter.subject_id },
        { "subject_relation", &request.filter.subject_relation },
    };
    const json_t *filter = json_object_get(v->c->input, "filter"), *deleted = json_object_get(v->c->expect, "deleted");
    hostile_text  texts[sizeof fields / sizeof *fields];
    licet_status  status;

    if (!open_world(v))
        return;
    must_hold(v, write_entries(v, json_object_get(v->c->input, "relationships"), LICET_TOUCH, 0, NULL) == LICET_OK,
              "the case's relationships can be written");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i].field = hostile_value(json_object_get(filter, fields[i].name), &texts[i]);
    judged_step_begins(v);
    status = licet_delete_relationships(v->engine, &request, &result, &v->error);
    judged_step_ends(v, status, "ok");
    must_hold(v, status == LICET_OK || result.deleted_count == 0, "a refused delete deletes nothing");
    must_hold(v, deleted == NULL || result.deleted_count == (uint64_t)json_integer_value(deleted),
              "as many are deleted as may be");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        hostile_text_clear(&texts[i]);
    if (status == LICET_OK)
        write_the_plain_answer(v); /* it may have been among them */
    answers_afterwards(v, "document:d1", "user:alice");
}

static void types_are_absent(verdict *v)
{
    const json_t *absent = json_object_get(v->c->expect, "absent_types");
    licet_schema *schema = NULL;

    if (json_array_size(absent) == 0 || licet_read_schema(v->engine, &schema, NULL, NULL) != LICET_OK)
        return;
    for (size_t i = 0; i < licet_schema_definition_count(schema); i++)
        for (size_t k = 0; k < json_array_size(absent); k++) {
            licet_str     name = licet_schema_definition(schema, i);
            const json_t *type = json_array_get(absent, k);

            must_hold(
                v, name.size != json_string_length(type) || memcmp(name.data, json_string_value(type), name.size) != 0,
                "a type is there that must not be");
        }
    licet_schema_release(schema);
}

static void load_validation(verdict *v)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_report_counts    counts  = LICET_REPORT_COUNTS_INIT;
    licet_report          *report  = NULL;
    licet_schema          *schema  = NULL;
    hostile_text           text;
    licet_status           status;

    if (!open_engine(v))
        return;
    request.text = given(v, "yaml", &text);
    judged_step_begins(v);
    status = licet_validate(v->engine, &request, &report, &v->error);
    judged_step_ends(v, status, "ok");
    licet_report_count(report, &counts);
    if (status == LICET_OK && counts.failures > 0)
        v->outcome = "error";
    types_are_absent(v);
    if (status != LICET_OK)
        must_hold(v, stored(v->engine) == 0 && licet_read_schema(v->engine, &schema, NULL, NULL) == LICET_NOT_FOUND,
                  "nothing of a refused file is loaded");
    licet_report_release(report);
    is_usable_afterwards(v);
    hostile_text_clear(&text);
}

/* ------------------------------------------------------------- tokens */

static bool names(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
            return true;
    return false;
}

static bool is_acceptable(const verdict *v)
{
    return names(json_object_get(v->c->expect, "outcomes"), v->outcome) &&
           (v->error == NULL ||
            names(json_object_get(v->c->expect, "kinds"), licet_kind_name(licet_error_kind(v->error))));
}

/* A check that says yes with a good token. Of several, the first that ends badly is kept, or the last. */
static void check_with_token(verdict *v, const char *token, size_t size)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_result        result  = LICET_RESULT_INIT;
    licet_status        status;
    uint64_t            before = v->elapsed_ns;

    if (v->outcome != NULL && !is_acceptable(v))
        return;
    licet_error_free(v->error);
    v->error            = NULL;
    request.resource    = LICET_STR("document:d1");
    request.permission  = LICET_STR("view");
    request.subject     = LICET_STR("user:alice");
    request.consistency = (licet_consistency){ LICET_AT_LEAST_AS_FRESH, { token, size }, false };
    judged_step_begins(v);
    status = licet_check(v->engine, &request, &result, &v->error);
    judged_step_ends(v, status, word_of(result.permissionship));
    v->elapsed_ns += before;
    must_hold(v, status == LICET_OK || result.permissionship == LICET_NO_PERMISSION, "an error leaves a denial");
    licet_result_clear(&result);
}

static void each_bit(verdict *v, const char *good, size_t size)
{
    licet_token token;

    for (size_t bit = 0; bit < 8 * size; bit++) {
        memcpy(token.text, good, size);
        token.text[bit / 8] = (char)(token.text[bit / 8] ^ (1 << bit % 8));
        check_with_token(v, token.text, size);
    }
}

static void each_byte_missing(verdict *v, const char *good, size_t size)
{
    licet_token token;

    for (size_t at = 0; at < size; at++) {
        memcpy(token.text, good, at);
        memcpy(token.text + at, good + at + 1, size - at - 1);
        check_with_token(v, token.text, size - 1);
    }
}

/* The token of the same revision in another store with the same content. */
static void of_another_store(verdict *v, licet_token *token)
{
    verdict other = { .c = v->c };

    if (open_world(&other))
        lic_token_make(&other.engine->identity, 1, token);
    must_hold(v, other.broken == NULL, "a second engine opens");
    licet_engine_release(other.engine);
}

static void mutate_token(verdict *v, const char *mutation, licet_token token)
{
    const json_t *count = json_object_get(v->c->input, "count");
    size_t        size  = strlen(token.text);
    hostile_text  more;
    licet_str     text = given(v, "text", &more);

    must_hold(v, size + text.size < sizeof token.text, "a token has room for more");
    if (strcmp(mutation, "truncate") == 0) {
        check_with_token(v, token.text, size - (size_t)json_integer_value(count));
    } else if (strcmp(mutation, "append") == 0) {
        memcpy(token.text + size, text.data, text.size);
        check_with_token(v, token.text, size + text.size);
    } else if (strcmp(mutation, "flip_each_bit") == 0) {
        each_bit(v, token.text, size);
    } else if (strcmp(mutation, "delete_each_byte") == 0) {
        each_byte_missing(v, token.text, size);
    } else if (strcmp(mutation, "upper_case") == 0) {
        for (size_t i = 0; i < size; i++)
            token.text[i] = (char)(token.text[i] >= 'a' && token.text[i] <= 'z' ? token.text[i] - 32 : token.text[i]);
        check_with_token(v, token.text, size);
    } else if (strcmp(mutation, "from_other_store") == 0) {
        of_another_store(v, &token);
        check_with_token(v, token.text, strlen(token.text));
    } else if (strcmp(mutation, "future") == 0) {
        lic_token_make(&v->engine->identity, 1000000, &token);
        check_with_token(v, token.text, strlen(token.text));
    }
    hostile_text_clear(&more);
}

/* ------------------------------------------------------------- cursors */

/* Alice may view two documents, and whoever asks who may view one of them gets her; bob and his group may view a third. */
static licet_lookup_resources_request alices_documents(void)
{
    licet_lookup_resources_request request = LICET_LOOKUP_RESOURCES_REQUEST_INIT;

    request.resource_type = LICET_STR("document");
    request.permission    = LICET_STR("view");
    request.subject       = LICET_STR("user:alice");
    request.limit         = 1;
    return request;
}

static licet_lookup_subjects_request viewers(void)
{
    licet_lookup_subjects_request request = LICET_LOOKUP_SUBJECTS_REQUEST_INIT;

    request.resource     = LICET_STR("document:d1");
    request.permission   = LICET_STR("view");
    request.subject_type = LICET_STR("user");
    request.limit        = 1;
    return request;
}

/* Takes the stream. cursor: after its first answer; "" when there is none. */
static void cursor_of(licet_stream **stream, bool found, char cursor[LIC_CURSOR_CAPACITY])
{
    licet_str text = found ? licet_stream_cursor(*stream) : (licet_str){ "", 0 };

    memcpy(cursor, text.data, text.size);
    cursor[text.size] = '\0';
    licet_stream_release(*stream);
    *stream = NULL;
}

static licet_status first_resource(licet_engine *engine, const licet_lookup_resources_request *request,
                                   char cursor[LIC_CURSOR_CAPACITY], licet_error **error)
{
    licet_found_resource resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream        *stream   = NULL;
    bool                 found    = false;
    licet_status         status   = licet_lookup_resources(engine, request, &stream, error);

    if (status == LICET_OK)
        status = licet_stream_next_resource(stream, &resource, &found, error);
    cursor_of(&stream, found, cursor);
    return status;
}

static licet_status first_subject(licet_engine *engine, const licet_lookup_subjects_request *request,
                                  char cursor[LIC_CURSOR_CAPACITY], licet_error **error)
{
    licet_found_subject subject = LICET_FOUND_SUBJECT_INIT;
    licet_stream       *stream  = NULL;
    bool                found   = false;
    licet_status        status  = licet_lookup_subjects(engine, request, &stream, error);

    if (status == LICET_OK)
        status = licet_stream_next_subject(stream, &subject, &found, error);
    cursor_of(&stream, found, cursor);
    return status;
}

/* A lookup that goes on from a cursor. Of several, the first that ends badly is kept, or the last. */
static void look_up_from(verdict *v, bool subjects, licet_str cursor)
{
    licet_lookup_resources_request of_resources = alices_documents();
    licet_lookup_subjects_request  of_subjects  = viewers();
    char                           next[LIC_CURSOR_CAPACITY];
    uint64_t                       before = v->elapsed_ns;
    licet_status                   status;

    if (v->outcome != NULL && !is_acceptable(v))
        return;
    licet_error_free(v->error);
    v->error            = NULL;
    of_resources.cursor = of_subjects.cursor = cursor;
    judged_step_begins(v);
    status = subjects ? first_subject(v->engine, &of_subjects, next, &v->error)
                      : first_resource(v->engine, &of_resources, next, &v->error);
    judged_step_ends(v, status, next[0] == '\0' ? "denied" : "ok");
    v->elapsed_ns += before;
    must_hold(v, status == LICET_OK || next[0] == '\0', "an error leaves no answer");
}

/* The same place at the same revision, which licet would have to have written itself: every byte inside, changed. */
static void each_byte_inside_edited(verdict *v, bool subjects, const char *good)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char              edited[LIC_CURSOR_CAPACITY];
    licet_str         text = { edited, strlen(good) };

    must_hold(v, text.size > 0 && text.size % 4 == 0, "every character of a cursor means something");
    for (size_t bit = 0; bit < 6 * text.size; bit++) {
        const char *digit = strchr(digits, good[bit / 6]);

        must_hold(v, digit != NULL, "a cursor is base64url");
        memcpy(edited, good, text.size);
        edited[bit / 6] = digits[(digit == NULL ? 0 : (size_t)(digit - digits)) ^ (size_t)1 << bit % 6];
        look_up_from(v, subjects, text);
    }
}

static void cursors_of_other_requests(verdict *v, const char *of_resources, const char *of_subjects)
{
    licet_lookup_resources_request others[5];
    char                           cursor[LIC_CURSOR_CAPACITY];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        others[i] = alices_documents();
    others[0].subject       = LICET_STR("user:bob");
    others[1].permission    = LICET_STR("viewer");
    others[2].limit         = 2;
    others[3].context       = LICET_STR("{\"n\":1}");
    others[4].resource_type = LICET_STR("group");
    others[4].permission    = LICET_STR("member");
    others[4].subject       = LICET_STR("user:bob");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        must_hold(v, first_resource(v->engine, &others[i], cursor, NULL) == LICET_OK && cursor[0] != '\0',
                  "another lookup finds something");
        look_up_from(v, false, (licet_str){ cursor, strlen(cursor) });
        look_up_from(v, true, (licet_str){ cursor, strlen(cursor) });
    }
    look_up_from(v, true, (licet_str){ of_resources, strlen(of_resources) });
    look_up_from(v, false, (licet_str){ of_subjects, strlen(of_subjects) });
}

static void check_cursor(verdict *v)
{
    licet_lookup_resources_request resources = alices_documents();
    licet_lookup_subjects_request  subjects  = viewers();
    const char                    *from      = json_string_value(json_object_get(v->c->input, "cursor_from"));
    char                           of_resources[LIC_CURSOR_CAPACITY], of_subjects[LIC_CURSOR_CAPACITY];

    must_hold(v, first_resource(v->engine, &resources, of_resources, NULL) == LICET_OK, "a lookup finds a resource");
    must_hold(v, first_subject(v->engine, &subjects, of_subjects, NULL) == LICET_OK, "a lookup finds a subject");
    look_up_from(v, false, (licet_str){ of_resources, strlen(of_resources) });
    must_hold(v, v->outcome != NULL && strcmp(v->outcome, "ok") == 0, "a good cursor is good");
    v->outcome = NULL;
    if (from == NULL) {
        hostile_text text;
        licet_str    cursor = given(v, "cursor", &text);

        look_up_from(v, false, cursor);
        look_up_from(v, true, cursor);
        hostile_text_clear(&text);
    } else if (strcmp(from, "edited") == 0) {
        each_byte_inside_edited(v, false, of_resources);
        each_byte_inside_edited(v, true, of_subjects);
    } else if (strcmp(from, "other_request") == 0) {
        cursors_of_other_requests(v, of_resources, of_subjects);
    }
}

static void check_token(verdict *v)
{
    const json_t *mutation = json_object_get(v->c->input, "mutate");
    licet_token   good     = { { '\0' } };
    hostile_text  text;

    if (!open_world(v))
        return;
    lic_token_make(&v->engine->identity, 1, &good);
    check_with_token(v, good.text, strlen(good.text));
    must_hold(v, v->outcome != NULL && strcmp(v->outcome, "allowed") == 0, "a good token is good");
    v->outcome = NULL;
    if (json_is_true(json_object_get(v->c->input, "lookup"))) {
        check_cursor(v);
    } else if (mutation != NULL) {
        mutate_token(v, json_string_value(mutation), good);
    } else {
        licet_str token = given(v, "token", &text);

        check_with_token(v, token.data, token.size);
        hostile_text_clear(&text);
    }
    answers_afterwards(v, "document:d1", "user:alice");
}

/* ------------------------------------------------------------- stores */

/* The descriptor of a new file that holds the value; closed by the caller. */
static int file_with(const json_t *value)
{
    hostile_text text;
    licet_str    bytes = hostile_value(value, &text);
    int          file  = memfd_create("store", MFD_CLOEXEC);

    hostile_need(file >= 0 && write(file, bytes.data, bytes.size) == (ssize_t)bytes.size);
    hostile_text_clear(&text);
    return file;
}

/* "{file}" stands for the path of a new file. */
static void open_store(verdict *v)
{
    licet_options options = measured_options(&v->memory);
    const json_t *content = json_object_get(v->c->input, "file");
    int           file    = content == NULL ? -1 : file_with(content);
    char          path[64];
    hostile_text  text;
    licet_str     uri  = given(v, "conninfo", &text);
    const char   *mark = content == NULL ? NULL : memmem(uri.data, uri.size, "{file}", 6);

    options.strict = v->c->strict;
    if (mark != NULL) {
        snprintf(path, sizeof path, "%.*s/proc/self/fd/%d", (int)(mark - uri.data), uri.data, file);
        uri = (licet_str){ path, strlen(path) };
    }
    judged_step_begins(v);
    judged_step_ends(v, licet_open(uri, &options, &v->engine, &v->error), "ok");
    must_hold(v, (v->error == NULL) == (v->engine != NULL), "an engine that did not open is none");
    hostile_text_clear(&text);
    if (file >= 0)
        close(file);
}

/* ------------------------------------------------------------- running a case */

static void *run_on_this_thread(void *argument)
{
    static const struct {
        const char *op;
        void (*run)(verdict *);
    } operations[] = {
        { "load_schema", load_schema },
        { "parse_relationship", parse_relationship },
        { "check", check },
        { "write", write_relationships },
        { "delete_by_filter", delete_by_filter },
        { "load_validation", load_validation },
        { "check_token", check_token },
        { "open", open_store },
    };
    verdict *v = argument;

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].op, v->c->op) == 0)
            operations[i].run(v);
    licet_engine_release(v->engine);
    v->engine = NULL;
    if (v->outcome == NULL)
        v->outcome = "nothing";
    return NULL;
}

/* Runs the case on a small stack, with its standard output and error going to memory. */
static void run_aside(verdict *v)
{
    int            captured = memfd_create("output", MFD_CLOEXEC);
    int            saved[2] = { dup(1), dup(2) };
    pthread_attr_t attributes;
    pthread_t      thread;

    assert_true(captured >= 0 && saved[0] >= 0 && saved[1] >= 0);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    fflush(NULL);
    dup2(captured, 1);
    dup2(captured, 2);
    if (pthread_create(&thread, &attributes, run_on_this_thread, v) == 0)
        pthread_join(thread, NULL);
    fflush(NULL);
    dup2(saved[0], 1);
    dup2(saved[1], 2);
    v->printed_bytes = (size_t)lseek(captured, 0, SEEK_END);
    close(saved[0]);
    close(saved[1]);
    close(captured);
    pthread_attr_destroy(&attributes);
}

/* ------------------------------------------------------------- judging it */

static uint64_t limit_of(const hostile_case *c, const char *name, uint64_t otherwise)
{
    const json_t *limit = json_object_get(c->expect, name);

    return limit == NULL ? otherwise : (uint64_t)json_integer_value(limit);
}

static bool is_late(const verdict *v)
{
    return v->elapsed_ns > limit_of(v->c, "within_ms", 1000) * TIME_FACTOR * 1000000u;
}

/* Late, or the engine gave up where it should not have. */
static bool ran_out_of_time(const verdict *v)
{
    return is_late(v) || (licet_error_kind(v->error) == LICET_KIND_DEADLINE && !is_acceptable(v));
}

static void judge_message(const verdict *v)
{
    const json_t *secrets = json_object_get(v->c->expect, "must_not_contain");
    licet_str     message = licet_error_message(v->error);

    assert_in_range(message.size, 1, limit_of(v->c, "max_error_bytes", 1024));
    for (size_t i = 0; i < message.size; i++)
        assert_false((unsigned char)message.data[i] < ' ' || message.data[i] == 127);
    for (size_t i = 0; i < json_array_size(secrets); i++)
        assert_null(memmem(message.data, message.size, json_string_value(json_array_get(secrets, i)),
                           json_string_length(json_array_get(secrets, i))));
    assert_true(names(json_object_get(v->c->expect, "kinds"), licet_kind_name(licet_error_kind(v->error))));
}

static void judge(const verdict *v)
{
    licet_str message = licet_error_message(v->error);

    if (v->broken != NULL || !is_acceptable(v) || is_late(v))
        print_message("%s: %s in %.1f ms, kind \"%s\", \"%.*s\"%s%s\n", v->c->id, v->outcome,
                      (double)v->elapsed_ns / 1e6, licet_kind_name(licet_error_kind(v->error)), (int)message.size,
                      message.data == NULL ? "" : message.data,
                      v->broken == NULL ? "" : "; but: ", v->broken == NULL ? "" : v->broken);
    assert_null(v->broken);
    assert_true(names(json_object_get(v->c->expect, "outcomes"), v->outcome));
    if (v->error != NULL)
        judge_message(v);
    assert_false(is_late(v));
    assert_int_equal(v->printed_bytes, 0);
    assert_int_equal(v->memory.live_bytes, 0);
    assert_in_range(v->memory.peak_bytes, 0, v->input_bytes + EXTRA_BYTES);
}

static void a_hostile_input_ends_well(void **state)
{
    hostile_case *c = *state;
    verdict       v;

    for (int attempt = 0; attempt < TIME_RETRIES; attempt++) {
        memset(&v, 0, sizeof v);
        v.c = c;
        run_aside(&v);
        if (!ran_out_of_time(&v) || attempt + 1 == TIME_RETRIES)
            break;
        licet_error_free(v.error);
    }
    c->area->run++;
    judge(&v);
    licet_error_free(v.error);
}

/* ------------------------------------------------------------- misuse */

/* Where each case of the misuse area is carried out. */
static const struct misuse_case {
    const char *id;
    const char *file, *test;
} MISUSE[] = {
    { "misuse-001", "tests/core/engine/misuse.c", "null_and_foreign_engines_are_misuse" },
    { "misuse-002", "tests/core/engine/misuse.c", "ending_nothing_does_nothing" },
    { "misuse-003", "tests/core/engine/misuse.c", "a_closed_engine_says_closed_to_everything" },
    { "misuse-004", "tests/core/engine/misuse.c", "a_closed_engine_says_closed_to_everything" },
    { "misuse-005", "tests/core/engine/check.c", "what_is_wrong_is_an_error_and_a_denial" },
    { "misuse-006", "tests/core/engine/check.c", "what_is_wrong_is_an_error_and_a_denial" },
    { "misuse-007", "tests/core/engine/misuse.c", "places_for_answers_must_be_there_and_known" },
    { "misuse-008", "tests/core/engine/misuse.c", "a_negative_length_is_refused" },
    { "misuse-009", "tests/core/engine/check.c", "what_is_wrong_is_an_error_and_a_denial" },
    { "misuse-010", "tests/core/engine/misuse.c", "after_a_fork_there_are_two_engines_with_one_past" },
    { "misuse-013", "tests/core/engine/misuse.c", "after_a_fork_there_are_two_engines_with_one_past" },
    { "misuse-014", "tests/core/engine/misuse.c", "after_a_fork_there_are_two_engines_with_one_past" },
    { "misuse-015", "tests/faults/threads.c", "closing_ends_sixteen_threads_checks_with_an_answer_or_closed" },
    { "misuse-016", "tests/core/engine/misuse.c", "a_check_in_a_signal_handler_denies" },
    { "misuse-018", "tests/core/engine/misuse.c", "checks_and_writes_go_on_under_signals_every_200_us" },
    { "misuse-019", "tests/core/engine/check.c", "a_result_is_allowed_only_for_a_definite_yes" },
    { "misuse-020", "tests/core/engine/open.c", "options_of_an_unknown_size_are_misuse" },
    { "misuse-021", "tests/core/engine/misuse.c", "a_process_may_end_without_closing" },
    { "misuse-022", "tests/core/engine/misuse.c", "the_library_stays_when_it_is_unloaded" },
};

static bool file_has_test(const char *file, const char *test)
{
    char      path[SHARED_PATH], entry[256];
    licet_str text;
    bool      found;

    path_in_sources(path, file);
    snprintf(entry, sizeof entry, "cmocka_unit_test(%s)", test);
    text  = file_text(path);
    found = text.data != NULL && memmem(text.data, text.size, entry, strlen(entry)) != NULL;
    free((char *)text.data);
    return found;
}

/* Whether there is such a test; that it passes its own program says. */
static void a_misuse_has_its_test(void **state)
{
    hostile_case *c = *state;

    for (size_t i = 0; i < sizeof MISUSE / sizeof *MISUSE; i++) {
        if (strcmp(MISUSE[i].id, c->id) != 0)
            continue;
        assert_true(file_has_test(MISUSE[i].file, MISUSE[i].test));
        c->area->run++;
        return;
    }
    fail_msg("%s is nowhere carried out", c->id);
}

/* ------------------------------------------------------------- the whole */

/* Every file of the set, once for each kind of engine. */
static hostile_area areas[64];
static size_t       area_count;

static int run_area(const char *path, const char *name, bool strict)
{
    hostile_area *area    = &areas[area_count++];
    void (*test)(void **) = strcmp(name, "misuse") == 0 ? a_misuse_has_its_test : a_hostile_input_ends_well;
    struct CMUnitTest *tests;
    char               group[64];
    size_t             count = 0;
    int                failed;

    hostile_need(area_count <= sizeof areas / sizeof *areas);
    hostile_area_read(area, path, name, strict);
    tests = calloc(area->count + 1, sizeof *tests);
    hostile_need(tests != NULL);
    for (size_t i = 0; i < area->count; i++) {
        hostile_case *c = &area->cases[i];

        if (!c->left_out)
            tests[count++] = (struct CMUnitTest){ c->id, test, NULL, NULL, c };
    }
    snprintf(group, sizeof group, "hostile/%s%s", name, strict ? ", strict" : "");
    failed = count == 0 ? 0 : _cmocka_run_group_tests(group, tests, count, NULL, NULL);
    free(tests);
    return failed;
}

static void is_left_out(void **state)
{
    const hostile_note *note = *state;

    print_message("%s is left out: %s\n", note->name, note->why);
    skip();
}

static int run_left_out(void)
{
    struct CMUnitTest tests[HOSTILE_NOTES];
    hostile_note      notes[HOSTILE_NOTES];
    size_t            count = hostile_left_out(notes);

    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){ notes[i].name, is_left_out, NULL, NULL, &notes[i] };
    return _cmocka_run_group_tests("hostile/left out", tests, count, NULL, NULL);
}

static int run_shared_areas(void)
{
    char      folder[SHARED_PATH], path[2 * SHARED_PATH], name[32];
    file_list files;
    int       failed = 0;

    path_in_shared(folder, "hostile");
    files = files_in(folder, ".jsonl");
    for (size_t i = 0; i < files.count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files.names[i]);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(files.names[i], "."), files.names[i]);
        failed += run_area(path, name, false);
        if (strcmp(name, "misuse") != 0) /* its tests choose their options themselves */
            failed += run_area(path, name, true);
    }
    file_list_free(&files);
    return failed;
}

static void every_case_is_run_or_left_out_for_a_reason(void **state)
{
    size_t run = 0, left_out = 0;

    (void)state;
    print_message("%-14s %-8s %5s %5s %8s\n", "area", "engine", "cases", "run", "left out");
    for (size_t i = 0; i < area_count; i++) {
        const hostile_area *area = &areas[i];

        print_message("%-14s %-8s %5zu %5zu %8zu\n", area->name, area->strict ? "strict" : "lax", area->count,
                      area->run, area->left_out);
        assert_true(area->count > 0);
        assert_int_equal(area->run + area->left_out, area->count);
        run += area->run;
        left_out += area->left_out;
    }
    print_message("%zu run, %zu left out\n", run, left_out);
}

static void every_note_is_about_a_case(void **state)
{
    const char *stray = hostile_stray_name(areas, area_count);

    (void)state;
    if (stray != NULL)
        fail_msg("hostile.json speaks of %s, which there is not", stray);
}

static void needs_the_shared_test_data(void **state)
{
    (void)state;
    print_message("no shared test data; see LICET_SHARED\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest absent[] = { cmocka_unit_test(needs_the_shared_test_data) };
    const struct CMUnitTest whole[]  = {
         cmocka_unit_test(every_case_is_run_or_left_out_for_a_reason),
         cmocka_unit_test(every_note_is_about_a_case),
    };
    bool shared = hostile_open();
    char path[SHARED_PATH];
    int  failed = 0;

    path_in_sources(path, "tests/conformance/cases/hostile.jsonl");
    failed += run_area(path, "ours", false);
    failed += run_area(path, "ours", true);
    if (shared) {
        failed += run_shared_areas();
        failed += run_left_out();
        failed += cmocka_run_group_tests_name("hostile", whole, NULL, NULL);
    } else {
        failed += cmocka_run_group_tests_name("hostile", absent, NULL, NULL);
    }
    for (size_t i = 0; i < area_count; i++)
        hostile_area_clear(&areas[i]);
    hostile_close();
    return failed;
}
