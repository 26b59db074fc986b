/* Readers against a writer: whatever is written, every answer is of one revision, whole. For the thread sanitizer as
 * much as for itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine_world.h"

#define READERS 8
#define ROUNDS 300

/* The world's law, which each write keeps and each reader tests: ana views exactly one of the two documents, mal views
 * none, whatever the schema. */
static const char PLAIN[] = "definition user {}\n"
                            "definition group {\n"
                            "  relation member: user | group#member\n"
                            "}\n"
                            "definition document {\n"
                            "  relation viewer: user | group#member\n"
                            "  permission view = viewer\n"
                            "}\n";
static const char BANS[]  = "definition user {}\n"
                            "definition group {\n"
                            "  relation member: user | group#member\n"
                            "}\n"
                            "definition document {\n"
                            "  relation viewer: user | group#member\n"
                            "  relation banned: user\n"
                            "  permission view = viewer - banned\n"
                            "}\n";

typedef struct shared {
    licet_engine  *engine;
    _Atomic bool   done;
    _Atomic size_t broken; /* answers against the law */
    _Atomic size_t answers;
} shared;

static void expect(shared *s, bool holds)
{
    if (!holds)
        atomic_fetch_add(&s->broken, 1);
}

static void check_the_law(shared *s)
{
    licet_check_request requests[4] = {
        check_of("document:left", "view", "user:ana"),
        check_of("document:right", "view", "user:ana"),
        check_of("document:left", "view", "user:mal"),
        check_of("document:right", "view", "user:mal"),
    };
    licet_result      results[4] = { LICET_RESULT_INIT, LICET_RESULT_INIT, LICET_RESULT_INIT, LICET_RESULT_INIT };
    licet_consistency now        = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };

    expect(s, licet_check_bulk(s->engine, requests, 4, now, results, NULL) == LICET_OK);
    expect(s, licet_result_allowed(&results[0]) != licet_result_allowed(&results[1]));
    expect(s, !licet_result_allowed(&results[2]) && !licet_result_allowed(&results[3]));
    atomic_fetch_add(&s->answers, 1);
}

/* A check, and the same at its own revision: equal. */
static void check_twice(shared *s)
{
    licet_check_request request = check_of("document:left", "view", "user:ana");
    licet_result        first   = LICET_RESULT_INIT;
    licet_result        again   = LICET_RESULT_INIT;
    licet_token         token;

    expect(s, licet_check(s->engine, &request, &first, NULL) == LICET_OK);
    licet_result_token(s->engine, &first, &token);
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(token.text), false };
    expect(s, licet_check(s->engine, &request, &again, NULL) == LICET_OK);
    expect(s, first.permissionship == again.permissionship && first.revision == again.revision);
}

/* Of all that can be read one relationship is ana's. */
static void read_the_law(shared *s)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    licet_relationship r       = LICET_RELATIONSHIP_INIT;
    licet_stream      *stream  = NULL;
    bool               found   = true;
    size_t             anas    = 0;

    request.filter.resource_type = LICET_STR("document");
    request.filter.relation      = LICET_STR("viewer");
    expect(s, licet_read_relationships(s->engine, &request, &stream, NULL) == LICET_OK);
    while (found) {
        expect(s, licet_stream_next_relationship(stream, &r, &found, NULL) == LICET_OK);
        anas += found && r.subject_id.size == 3 && memcmp(r.subject_id.data, "ana", 3) == 0;
    }
    expect(s, anas == 1);
    licet_stream_release(stream);
}

static void look_around(shared *s)
{
    licet_schema *schema = NULL;
    licet_stats   stats  = LICET_STATS_INIT;
    size_t        count;

    expect(s, licet_read_schema(s->engine, &schema, NULL, NULL) == LICET_OK);
    count = licet_schema_definition_count(schema);
    expect(s, count == 3);
    licet_schema_release(schema);
    expect(s, licet_engine_stats(s->engine, &stats, NULL) == LICET_OK);
}

static void *read_on(void *argument)
{
    shared *s = argument;

    for (size_t i = 0; !atomic_load(&s->done); i++) {
        check_the_law(s);
        check_twice(s);
        if (i % 4 == 0)
            read_the_law(s);
        if (i % 4 == 1)
            look_around(s);
    }
    return NULL;
}

/* From one document to the other in one transaction. */
static void move(engine_world *w, bool to_right)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update updates[2] = { { LICET_CREATE, LICET_RELATIONSHIP_INIT }, { LICET_DELETE, LICET_RELATIONSHIP_INIT } };

    assert_int_equal(licet_relationship_parse(LICET_STR("document:left#viewer@user:ana"),
                                              &updates[to_right ? 1 : 0].relationship, NULL),
                     LICET_OK);
    assert_int_equal(licet_relationship_parse(LICET_STR("document:right#viewer@user:ana"),
                                              &updates[to_right ? 0 : 1].relationship, NULL),
                     LICET_OK);
    request.updates      = updates;
    request.update_count = 2;
    assert_int_equal(licet_write(w->engine, &request, &w->token, NULL), LICET_OK);
}

/* Ids that nobody has seen, and gone again. */
static void grow_and_shrink(engine_world *w, size_t round)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;
    char                 lines[512];

    snprintf(lines, sizeof lines,
             "group:g%zu#member@user:u%zu\ngroup:h%zu#member@group:g%zu#member\ndocument:x%zu#viewer@group:h%zu#member",
             round, round, round, round, round, round);
    world_touch(w, lines);
    world_done(w);
    request.filter.resource_type      = LICET_STR("document");
    request.filter.resource_id_prefix = LICET_STR("x");
    assert_int_equal(licet_delete_relationships(w->engine, &request, &result, NULL), LICET_OK);
    assert_int_equal(result.deleted_count, 1);
}

static void every_answer_is_of_one_revision_while_everything_is_written(void **state)
{
    pthread_t    threads[READERS];
    engine_world w;
    shared       s = { .engine = NULL };

    (void)state;
    world_open(&w, NULL, PLAIN, "document:left#viewer@user:ana\ndocument:left#viewer@group:g0#member");
    s.engine = w.engine;
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &s), 0);
    for (size_t round = 0; round < ROUNDS; round++) {
        move(&w, round % 2 == 0);
        grow_and_shrink(&w, round);
        if (round % 10 == 0) {
            world_schema(&w, round % 20 == 0 ? BANS : PLAIN);
            world_done(&w);
        }
    }
    while (atomic_load(&s.answers) < 100)
        sched_yield();
    atomic_store(&s.done, true);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.broken, 0);
    world_close(&w);
}

/* ------------------------------------------------------ closing under load */

#define CHECKERS 16

typedef struct closing {
    licet_engine  *engine;
    _Atomic size_t started;
    _Atomic size_t allowed;
    _Atomic size_t strange; /* neither an answer nor "closed" */
} closing;

static void *check_until_closed(void *argument)
{
    closing            *c       = argument;
    licet_check_request request = check_of("document:left", "view", "user:nobody");
    licet_result        result  = LICET_RESULT_INIT;
    licet_status        status  = LICET_OK;

    atomic_fetch_add(&c->started, 1);
    while (status == LICET_OK) {
        status = licet_check(c->engine, &request, &result, NULL);
        if (result.permissionship != LICET_NO_PERMISSION)
            atomic_fetch_add(&c->allowed, 1);
    }
    if (status != LICET_CLOSED)
        atomic_fetch_add(&c->strange, 1);
    licet_engine_release(c->engine);
    return NULL;
}

static void closing_ends_sixteen_threads_checks_with_an_answer_or_closed(void **state)
{
    pthread_t    threads[CHECKERS];
    engine_world w;
    closing      c = { .engine = NULL };

    (void)state;
    world_open(&w, NULL, PLAIN, "document:left#viewer@user:ana");
    c.engine = w.engine;
    for (size_t i = 0; i < CHECKERS; i++) {
        licet_engine_retain(w.engine);
        assert_int_equal(pthread_create(&threads[i], NULL, check_until_closed, &c), 0);
    }
    while (atomic_load(&c.started) < CHECKERS)
        sched_yield();
    licet_close(w.engine);
    licet_close(w.engine);
    world_close(&w);
    for (size_t i = 0; i < CHECKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.allowed, 0);
    assert_int_equal(c.strange, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_of_one_revision_while_everything_is_written),
        cmocka_unit_test(closing_ends_sixteen_threads_checks_with_an_answer_or_closed),
    };

    return cmocka_run_group_tests_name("faults/threads", tests, NULL, NULL);
}
