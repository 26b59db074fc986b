/* The shared set of hostile inputs and a few of ours, through C: each case ends in one of its acceptable outcomes, in
 * its time, within 64 MiB above its input, on a small stack, in silence, and the engine answers a plain check right
 * afterwards.
 *
 * The README beside the shared files says what a line means. A case runs on a thread of its own, which only fills a
 * record; the record is judged on the main thread, because a failing assertion jumps. */
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

static json_t *fixtures;

/* ------------------------------------------------------------- one case */

typedef struct hostile_case {
    json_t       *json;
    const json_t *input, *expect; /* of json */
    const char   *id, *op;
} hostile_case;

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
        if (w->updates == NULL)
            abort();
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

static bool hangs_on_a_condition(const json_t *entry)
{
    return json_is_string(entry) && strchr(json_string_value(entry), '[') != NULL;
}

/* The texts of an array, in one call or in chunks. skip_conditional: a fixture's rows that no engine can store yet. */
static licet_status write_entries(verdict *v, const json_t *entries, licet_operation operation, size_t chunk,
                                  bool skip_conditional, licet_error **error)
{
    line_writer   w      = { v->engine, operation, chunk, NULL, 0, 0, error };
    hostile_text *texts  = calloc(json_array_size(entries) + 1, sizeof *texts);
    licet_status  status = LICET_OK;

    for (size_t i = 0; status == LICET_OK && i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);

        if (skip_conditional && hangs_on_a_condition(entry))
            continue;
        status = writer_add_lines(&w, hostile_value(entry, &texts[i]));
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

    must_hold(v, licet_open(LICET_STR("memory:"), &options, &v->engine, NULL) == LICET_OK, "an engine opens");
    return v->engine != NULL;
}

static const json_t *fixture_of(const hostile_case *c)
{
    return json_object_get(fixtures, json_string_value(json_object_get(c->input, "fixture")));
}

static bool open_world(verdict *v)
{
    const json_t *fixture = fixture_of(v->c);
    const json_t *schema  = json_object_get(fixture == NULL ? v->c->input : fixture, "schema");
    hostile_text  text;

    if (!open_engine(v))
        return false;
    must_hold(v, licet_write_schema(v->engine, hostile_value(schema, &text), NULL, NULL) == LICET_OK,
              "the fixture's schema loads");
    hostile_text_clear(&text);
    must_hold(v,
              write_entries(v, json_object_get(fixture, "relationships"), LICET_TOUCH, WRITE_CHUNK, true, NULL) ==
                  LICET_OK,
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

/* The engine that refused something is still good for a world of its own. */
static void is_usable_afterwards(verdict *v)
{
    static const char schema[] = "definition user {}\ndefinition document {\n  relation viewer: user\n}\n";
    json_t           *entries  = json_pack("[s]", "document:d1#viewer@user:alice");

    must_hold(v, licet_write_schema(v->engine, (licet_str)LICET_STR_INIT(schema), NULL, NULL) == LICET_OK,
              "a schema can be written afterwards");
    must_hold(v, write_entries(v, entries, LICET_TOUCH, 0, false, NULL) == LICET_OK,
              "a relationship can be written afterwards");
    answers_afterwards(v, "document:d1", "user:alice");
    json_decref(entries);
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
    judged_step_ends(v, licet_relationship_parse(value, &r, &v->error), "ok");
    if (open_engine(v))
        is_usable_afterwards(v);
    hostile_text_clear(&text);
}

typedef struct question {
    hostile_text        resource, permission, subject;
    licet_check_request request;
} question;

static question question_of(verdict *v, const json_t *from)
{
    question q = { .request = LICET_CHECK_REQUEST_INIT };

    q.request.resource   = hostile_object(json_object_get(from, "resource"), &q.resource);
    q.request.permission = hostile_value(json_object_get(from, "permission"), &q.permission);
    q.request.subject    = hostile_object(json_object_get(from, "subject"), &q.subject);
    v->input_bytes += q.resource.size + q.permission.size + q.subject.size;
    return q;
}

static void question_clear(question *q)
{
    hostile_text_clear(&q->resource);
    hostile_text_clear(&q->permission);
    hostile_text_clear(&q->subject);
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

static void check(verdict *v)
{
    const json_t *input  = v->c->input;
    licet_result  result = LICET_RESULT_INIT;
    question      q;
    licet_status  status;

    if (!open_world(v))
        return;
    must_hold(
        v, write_entries(v, json_object_get(input, "relationships"), LICET_TOUCH, WRITE_CHUNK, false, NULL) == LICET_OK,
        "the case's relationships can be written");
    warm_up(v, json_object_get(input, "warm"));
    must_hold(
        v, write_entries(v, json_object_get(input, "then_delete"), LICET_DELETE, WRITE_CHUNK, false, NULL) == LICET_OK,
        "relationships can be deleted");
    q = question_of(v, input);
    judged_step_begins(v);
    status = licet_check(v->engine, &q.request, &result, &v->error);
    judged_step_ends(v, status, word_of(result.permissionship));
    must_hold(v, status == LICET_OK || result.permissionship == LICET_NO_PERMISSION, "an error leaves a denial");
    question_clear(&q);
    licet_result_clear(&result);
    if (fixture_of(v->c) == NULL)
        answers_afterwards(v, "document:d1", "user:u1");
    else if (fixture_of(v->c) == json_object_get(fixtures, "docs"))
        answers_afterwards(v, "document:d1", "user:alice");
    else
        answers_afterwards(v, "folder:f1", "user:alice");
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
                           false, &v->error);
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
    must_hold(v,
              write_entries(v, json_object_get(v->c->input, "relationships"), LICET_TOUCH, 0, false, NULL) == LICET_OK,
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
    };
    verdict *v = argument;

    v->outcome = "nothing";
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].op, v->c->op) == 0)
            operations[i].run(v);
    licet_engine_release(v->engine);
    v->engine = NULL;
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

static bool names(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
            return true;
    return false;
}

static uint64_t limit_of(const hostile_case *c, const char *name, uint64_t otherwise)
{
    const json_t *limit = json_object_get(c->expect, name);

    return limit == NULL ? otherwise : (uint64_t)json_integer_value(limit);
}

static bool is_late(const verdict *v)
{
    return v->elapsed_ns > limit_of(v->c, "within_ms", 1000) * TIME_FACTOR * 1000000u;
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

    if (v->broken != NULL || !names(json_object_get(v->c->expect, "outcomes"), v->outcome) || is_late(v) ||
        (v->error != NULL &&
         !names(json_object_get(v->c->expect, "kinds"), licet_kind_name(licet_error_kind(v->error)))))
        print_message("%s: %s in %.1f ms, kind \"%s\", \"%.*s\"%s%s\n", v->c->id, v->outcome,
                      (double)v->elapsed_ns / 1e6, licet_kind_name(licet_error_kind(v->error)), (int)message.size,
                      message.data == NULL ? "" : message.data,
                      v->broken == NULL ? "" : "; but: ", v->broken == NULL ? "" : v->broken);
    assert_null(v->broken);
    assert_string_not_equal(v->outcome, "allowed");
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
    verdict v;

    for (int attempt = 0; attempt < TIME_RETRIES; attempt++) {
        memset(&v, 0, sizeof v);
        v.c = *state;
        run_aside(&v);
        if (!is_late(&v) || attempt + 1 == TIME_RETRIES)
            break;
        licet_error_free(v.error);
    }
    judge(&v);
    licet_error_free(v.error);
}

/* ------------------------------------------------------------- cases that need what is not there yet */

/* Whether what is stored for a check, or what is asked, hangs on a caveat or an expiration. */
static bool needs_conditions(const hostile_case *c)
{
    const json_t *relationships = json_object_get(c->input, "relationships");

    if (strcmp(c->op, "check") != 0)
        return false;
    for (size_t i = 0; i < json_array_size(relationships); i++)
        if (hangs_on_a_condition(json_array_get(relationships, i)))
            return true;
    return json_object_get(c->input, "context") != NULL || strcmp(c->id, "ids-046") == 0; /* asks a fixture's row */
}

static void needs_caveats_or_expirations(void **state)
{
    (void)state;
    skip();
}

/* ------------------------------------------------------------- misuse */

/* Where each case of the misuse area is carried out. */
static const struct misuse_case {
    const char *id;
    const char *file; /* NULL: there is nothing of the kind, for the reason given */
    const char *test;
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
    { "misuse-011", NULL, "processes share no memory store" },
    { "misuse-012", NULL, "a memory store has no connection to lose" },
    { "misuse-013", "tests/core/engine/misuse.c", "after_a_fork_there_are_two_engines_with_one_past" },
    { "misuse-014", "tests/core/engine/misuse.c", "after_a_fork_there_are_two_engines_with_one_past" },
    { "misuse-015", "tests/faults/threads.c", "closing_ends_sixteen_threads_checks_with_an_answer_or_closed" },
    { "misuse-016", "tests/core/engine/misuse.c", "a_check_in_a_signal_handler_denies" },
    { "misuse-017", NULL, "licet calls nobody but the allocator" },
    { "misuse-018", "tests/core/engine/misuse.c", "checks_and_writes_go_on_under_signals_every_200_us" },
    { "misuse-019", "tests/core/engine/check.c", "a_result_is_allowed_only_for_a_definite_yes" },
    { "misuse-020", "tests/core/engine/open.c", "options_of_an_unknown_size_are_misuse" },
    { "misuse-021", "tests/core/engine/misuse.c", "a_process_may_end_without_closing" },
    { "misuse-022", "tests/core/engine/misuse.c", "the_library_stays_when_it_is_unloaded" },
};

/* ------------------------------------------------------------- the whole */

typedef struct case_list {
    hostile_case *cases;
    size_t        count;
} case_list;

static void list_add(case_list *list, const char *line, size_t size)
{
    json_t       *json = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
    hostile_case *c;

    list->cases = realloc(list->cases, (list->count + 1) * sizeof *list->cases);
    if (json == NULL || list->cases == NULL)
        abort();
    c         = &list->cases[list->count++];
    c->json   = json;
    c->input  = json_object_get(json, "input");
    c->expect = json_object_get(json, "expect");
    c->id     = json_string_value(json_object_get(json, "id"));
    c->op     = json_string_value(json_object_get(json, "op"));
}

static case_list cases_in(const char *path)
{
    case_list list = { NULL, 0 };
    licet_str text = file_text(path);

    for (size_t at = 0; at < text.size;) {
        const char *newline = memchr(text.data + at, '\n', text.size - at);
        size_t      size    = newline == NULL ? text.size - at : (size_t)(newline - (text.data + at));

        if (size > 0)
            list_add(&list, text.data + at, size);
        at += size + 1;
    }
    free((char *)text.data);
    return list;
}

static case_list cases_of(const char *area)
{
    char relative[64], path[SHARED_PATH];

    snprintf(relative, sizeof relative, "hostile/%s.jsonl", area);
    path_in_shared(path, relative);
    return cases_in(path);
}

static void list_free(case_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        json_decref(list->cases[i].json);
    free(list->cases);
}

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

static void every_misuse_has_one_test(void **state)
{
    case_list list = cases_of("misuse");

    (void)state;
    assert_int_equal(list.count, sizeof MISUSE / sizeof *MISUSE);
    for (size_t i = 0; i < list.count; i++) {
        assert_string_equal(list.cases[i].id, MISUSE[i].id);
        if (MISUSE[i].file != NULL)
            assert_true(file_has_test(MISUSE[i].file, MISUSE[i].test));
        else
            print_message("%s has no test: %s\n", MISUSE[i].id, MISUSE[i].test);
    }
    list_free(&list);
}

static int run_cases(const char *area, case_list list)
{
    struct CMUnitTest *tests = calloc(list.count + 1, sizeof *tests);
    char               group[64];
    int                failed;

    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < list.count; i++) {
        bool later = needs_conditions(&list.cases[i]);

        tests[i] =
            (struct CMUnitTest){ list.cases[i].id, later ? needs_caveats_or_expirations : a_hostile_input_ends_well,
                                 NULL, NULL, &list.cases[i] };
    }
    snprintf(group, sizeof group, "hostile/%s", area);
    failed = _cmocka_run_group_tests(group, tests, list.count, NULL, NULL);
    free(tests);
    list_free(&list);
    return failed;
}

static void needs_the_shared_test_data(void **state)
{
    (void)state;
    print_message("no shared test data; see LICET_SHARED\n");
    skip();
}

int main(void)
{
    static const char *const areas[] = {
        "schema", "relationship", "ids", "graph", "limits", "write", "filter", "yaml"
    };
    const struct CMUnitTest absent[] = { cmocka_unit_test(needs_the_shared_test_data) };
    const struct CMUnitTest misuse[] = {
        cmocka_unit_test(every_misuse_has_one_test),
    };
    char path[SHARED_PATH];
    int  failed = 0;

    path_in_sources(path, "tests/conformance/cases/hostile.jsonl");
    failed += run_cases("ours", cases_in(path));
    path_in_shared(path, "hostile/fixtures.json");
    fixtures = json_load_file(path, 0, NULL);
    if (fixtures == NULL)
        return failed + cmocka_run_group_tests_name("hostile", absent, NULL, NULL);
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++)
        failed += run_cases(areas[i], cases_of(areas[i]));
    failed += cmocka_run_group_tests_name("hostile/misuse", misuse, NULL, NULL);
    json_decref(fixtures);
    return failed;
}
