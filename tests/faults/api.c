/* Every allocation of a run through the whole interface fails once, and then all from there on. Whatever fails: no
 * crash, no leak, no permission, nothing half done, and the engine works when there is memory again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_world.h"
#include "failing_memory.h"

static const char SCHEMA[] = "definition user {}\n"
                             "definition group {\n"
                             "  relation member: user | group#member\n"
                             "}\n"
                             "definition folder {\n"
                             "  relation parent: folder\n"
                             "  relation viewer: user | group#member\n"
                             "  permission view = viewer + parent->view\n"
                             "}\n"
                             "definition document {\n"
                             "  relation parent: folder\n"
                             "  relation viewer: user | user:* | group#member\n"
                             "  relation banned: user\n"
                             "  permission view = (viewer + parent->view) - banned\n"
                             "}\n";

/* Without document#banned, and with something new. */
static const char NEXT_SCHEMA[] = "definition user {}\n"
                                  "definition group {\n"
                                  "  relation member: user | group#member\n"
                                  "}\n"
                                  "definition folder {\n"
                                  "  relation parent: folder\n"
                                  "  relation viewer: user | group#member\n"
                                  "  permission view = viewer + parent->view\n"
                                  "}\n"
                                  "definition document {\n"
                                  "  relation parent: folder\n"
                                  "  relation viewer: user | user:* | group#member\n"
                                  "  relation editor: user\n"
                                  "  permission view = viewer + parent->view + editor\n"
                                  "}\n";

static const char *const LINES[] = {
    "document:d1#viewer@user:ana",   "document:d1#parent@folder:f3",    "folder:f3#parent@folder:f2",
    "folder:f2#parent@folder:f1",    "folder:f1#viewer@group:a#member", "group:a#member@group:b#member",
    "group:b#member@group:c#member", "group:c#member@user:bob",         "group:c#member@group:a#member",
    "document:d1#banned@user:mal",   "group:c#member@user:mal",         "document:d2#viewer@user:*",
};
#define LINE_COUNT (sizeof LINES / sizeof LINES[0])

/* Only memory may be what failed. */
static bool went_well(licet_status status, licet_error **error)
{
    if (status != LICET_OK) {
        assert_int_equal(status, LICET_OUT_OF_MEMORY);
        assert_int_equal(licet_error_status(*error), LICET_OUT_OF_MEMORY);
    }
    licet_error_free(*error);
    *error = NULL;
    return status == LICET_OK;
}

static uint64_t stored(licet_engine *engine)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(engine, &stats, NULL), LICET_OK);
    return stats.relationships;
}

static void write_all(licet_engine *engine, licet_token *token)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_precondition  absent  = { LICET_MUST_NOT_MATCH, LICET_FILTER_INIT };
    licet_update        updates[LINE_COUNT];
    licet_error        *error  = NULL;
    uint64_t            before = stored(engine);

    for (size_t i = 0; i < LINE_COUNT; i++) {
        updates[i] = (licet_update){ LICET_TOUCH, LICET_RELATIONSHIP_INIT };
        assert_int_equal(licet_relationship_parse(text_of(LINES[i]), &updates[i].relationship, NULL), LICET_OK);
    }
    absent.filter.resource_type = LICET_STR("document");
    absent.filter.resource_id   = LICET_STR("d9");
    request.updates             = updates;
    request.update_count        = LINE_COUNT;
    request.preconditions       = &absent;
    request.precondition_count  = 1;
    if (went_well(licet_write(engine, &request, token, &error), &error)) {
        assert_int_equal(stored(engine), LINE_COUNT);
    } else {
        assert_int_equal(stored(engine), before);
        assert_string_equal(token->text, "");
    }
}

/* A subject who has nothing, or is banned, is never let in. */
static void check_one(licet_engine *engine, const char *resource, const char *subject, const licet_token *token,
                      bool may)
{
    licet_check_request request = check_of(resource, "view", subject);
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;

    if (token->text[0] != '\0') {
        request.consistency.freshness = LICET_AT_LEAST_AS_FRESH;
        request.consistency.token     = text_of(token->text);
    }
    result.permissionship = LICET_HAS_PERMISSION;
    if (!went_well(licet_check(engine, &request, &result, &error), &error))
        assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
    if (!may)
        assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
    licet_result_clear(&result);
}

static void check_many(licet_engine *engine)
{
    licet_check_request requests[40];
    licet_result        results[40];
    licet_consistency   now   = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    licet_error        *error = NULL;
    bool                done;

    for (size_t i = 0; i < 40; i++) {
        static const char *const subjects[] = { "user:ana", "user:bob", "user:mal", "user:new", "user:*" };

        requests[i] = check_of(i % 2 == 0 ? "document:d1" : "folder:f3", "view", subjects[i % 5]);
        results[i]  = (licet_result)LICET_RESULT_INIT;
    }
    done = went_well(licet_check_bulk(engine, requests, 40, now, results, &error), &error);
    for (size_t i = 0; i < 40; i++) {
        if (!done || i % 5 > 2 || (i % 5 == 2 && i % 2 == 0))
            assert_false(licet_result_allowed(&results[i]));
        licet_result_clear(&results[i]);
    }
}

static void read_all(licet_engine *engine)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    licet_stream      *stream  = NULL;
    licet_relationship r       = LICET_RELATIONSHIP_INIT;
    licet_error       *error   = NULL;
    bool               found   = true;
    char               cursor[256];
    licet_str          place;

    request.filter.subject_type = LICET_STR("user");
    request.limit               = 2;
    for (int page = 0; page < 2; page++) {
        if (!went_well(licet_read_relationships(engine, &request, &stream, &error), &error)) {
            assert_null(stream);
            return;
        }
        found = true;
        while (found && went_well(licet_stream_next_relationship(stream, &r, &found, &error), &error))
            continue;
        place = licet_stream_cursor(stream);
        memcpy(cursor, place.size > 0 ? place.data : "", place.size);
        request.cursor = (licet_str){ place.size > 0 ? cursor : NULL, place.size };
        licet_stream_release(stream);
    }
}

static void print_one(const licet_options *options)
{
    licet_relationship r     = LICET_RELATIONSHIP_INIT;
    licet_buffer       out   = LICET_BUFFER_INIT;
    licet_error       *error = NULL;

    if (!went_well(licet_relationship_parse(LICET_STR("document:d1#viewer@user:ana[cav:{\"k\":[0.1,2]}]"), &r, &error),
                   &error))
        return;
    out.allocator = options->allocator;
    if (!went_well(licet_relationship_format(&r, &out, &error), &error))
        assert_null(out.data);
    licet_buffer_clear(&out);
}

static void delete_some(licet_engine *engine)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;
    licet_error         *error   = NULL;
    uint64_t             before  = stored(engine);

    request.filter.resource_type = LICET_STR("document");
    request.filter.relation      = LICET_STR("banned");
    request.limit                = 10;
    if (went_well(licet_delete_relationships(engine, &request, &result, &error), &error))
        assert_int_equal(stored(engine), before - result.deleted_count);
    else
        assert_int_equal(stored(engine), before);
}

/* false: the schema in force is not known to be the one given. */
static bool set_schema(licet_engine *engine, const char *text)
{
    licet_error *error = NULL;

    return went_well(licet_write_schema(engine, text_of(text), NULL, &error), &error);
}

static void look_at_schema(licet_engine *engine)
{
    licet_schema *schema = NULL;
    licet_buffer  text   = LICET_BUFFER_INIT;
    licet_error  *error  = NULL;

    if (!went_well(licet_read_schema(engine, &schema, NULL, &error), &error)) {
        assert_null(schema);
        return;
    }
    if (!went_well(licet_schema_format(schema, &text, &error), &error))
        assert_null(text.data);
    licet_buffer_clear(&text);
    licet_schema_release(schema);
}

/* The whole interface; what a failure leaves out is left out. */
static void use(licet_engine *engine, const licet_options *options)
{
    licet_token token = { { 0 } };

    if (!set_schema(engine, SCHEMA))
        return;
    write_all(engine, &token);
    check_one(engine, "document:d1", "user:ana", &token, true);
    check_one(engine, "document:d1", "user:bob", &token, true);
    check_one(engine, "document:d1", "user:mal", &token, false);
    check_one(engine, "document:d1", "user:new", &token, false);
    check_many(engine);
    read_all(engine);
    print_one(options);
    look_at_schema(engine);
    delete_some(engine);
    if (stored(engine) == LINE_COUNT - 1)
        set_schema(engine, NEXT_SCHEMA);
    check_one(engine, "document:d1", "user:new", &token, false);
}

/* With memory again everything works as if nothing had happened. */
static void assert_usable(licet_engine *engine)
{
    licet_check_request request = check_of("document:fine", "view", "user:zoe");
    licet_write_request write   = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_result        result  = LICET_RESULT_INIT;

    assert_int_equal(licet_write_schema(engine, text_of(SCHEMA), NULL, NULL), LICET_OK);
    assert_int_equal(licet_relationship_parse(LICET_STR("document:fine#viewer@user:zoe"), &update.relationship, NULL),
                     LICET_OK);
    write.updates      = &update;
    write.update_count = 1;
    assert_int_equal(licet_write(engine, &write, NULL, NULL), LICET_OK);
    assert_int_equal(licet_check(engine, &request, &result, NULL), LICET_OK);
    assert_true(licet_result_allowed(&result));
    request.subject = LICET_STR("user:new");
    assert_int_equal(licet_check(engine, &request, &result, NULL), LICET_OK);
    assert_false(licet_result_allowed(&result));
}

/* Returns the number of allocations that failed. */
static size_t run(failing_memory memory)
{
    licet_engine *engine = NULL;
    licet_error  *error  = NULL;
    size_t        failures;

    if (went_well(licet_open(LICET_STR("memory:"), &memory.options, &engine, &error), &error)) {
        use(engine, &memory.options);
        failures                = memory.counts->failures;
        memory.counts->fail_end = 0;
        assert_usable(engine);
        licet_engine_release(engine);
    } else {
        assert_null(engine);
        failures = memory.counts->failures;
    }
    assert_int_equal(memory.counts->live_blocks, 0);
    return failures;
}

static void the_interface_survives_every_allocation_that_fails_once(void **state)
{
    size_t n = 0;

    (void)state;
    while (run(fail_after(n)) > 0)
        n++;
    assert_true(n > 100);
}

static void the_interface_survives_when_every_allocation_fails_from_some_on(void **state)
{
    size_t n = 0;

    (void)state;
    while (run(fail_from(n)) > 0)
        n++;
    assert_true(n > 100);
}

/* jansson allocates for itself: in this program, from here. Some of its failures it reports as a bad text. */
static size_t json_left;

static void assert_no_memory_or_no_json(licet_status status)
{
    assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY || status == LICET_INVALID_ARGUMENT);
}

static void *json_malloc(size_t size)
{
    return json_left-- == 0 ? NULL : malloc(size);
}

static void json_text_survives_every_failed_allocation(void **state)
{
    static const char  text[] = "document:d1#viewer@user:ana[cav:{\"k\":[0.1,{\"b\":\"x\",\"a\":2}]}]";
    licet_status       status = LICET_OUT_OF_MEMORY;
    licet_relationship r      = LICET_RELATIONSHIP_INIT;

    (void)state;
    json_set_alloc_funcs(json_malloc, free);
    for (size_t n = 0; status != LICET_OK; n++) {
        json_left = n;
        status    = licet_relationship_parse(text_of(text), &r, NULL);
        assert_no_memory_or_no_json(status);
        assert_true((r.resource_type.data != NULL) == (status == LICET_OK));
    }
    status = LICET_OUT_OF_MEMORY;
    for (size_t n = 0; status != LICET_OK; n++) {
        licet_buffer out = LICET_BUFFER_INIT;

        json_left = n;
        status    = licet_relationship_format(&r, &out, NULL);
        assert_no_memory_or_no_json(status);
        assert_true((out.data != NULL) == (status == LICET_OK));
        licet_buffer_clear(&out);
    }
    json_set_alloc_funcs(malloc, free);
}

/* 1 MiB is the least that an engine may have: it fills up, says so, and goes on working. */
static void an_engine_that_is_full_refuses_writes_and_answers_on(void **state)
{
    licet_options       options = LICET_OPTIONS_INIT;
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_status        status  = LICET_OK;
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_stats         stats   = LICET_STATS_INIT;
    engine_world        w;
    char                id[32];
    size_t              written = 0;

    (void)state;
    options.memory_limit_bytes = 1 << 20;
    world_open(&w, &options, SCHEMA, "document:d1#viewer@user:ana");
    request.updates      = &update;
    request.update_count = 1;
    assert_int_equal(licet_relationship_parse(LICET_STR("document:x#viewer@user:ana"), &update.relationship, NULL),
                     LICET_OK);
    while (status == LICET_OK) {
        snprintf(id, sizeof id, "document-%zu", written++);
        update.relationship.resource_id = text_of(id);
        status                          = licet_write(w.engine, &request, NULL, NULL);
    }
    assert_int_equal(status, LICET_OUT_OF_MEMORY);
    assert_true(written > 1000);
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    assert_true(stats.memory_bytes <= 1 << 20);
    assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
    assert_true(world_allowed(&w, "document:document-7", "view", "user:ana"));
    assert_false(world_allowed(&w, "document:nothing", "view", "user:ana"));
    world_close(&w);
}

static const char CAVEATED_SCHEMA[] = "caveat grown(age int, least int, note string) {\n"
                                      "  age >= least && note != \"\"\n"
                                      "}\n"
                                      "definition user {}\n"
                                      "definition document {\n"
                                      "  relation viewer: user | user with grown\n"
                                      "  permission view = viewer\n"
                                      "}\n";

/* New documents, `count` in one write; caveat and context may be NULL. */
static licet_status write_documents(licet_engine *engine, const char *caveat, const char *context, size_t *next,
                                    size_t count)
{
    enum { MOST = 512 };
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        updates[MOST];
    char                ids[MOST][32];

    for (size_t i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "document-%zu", (*next)++);
        updates[i] = (licet_update){ LICET_TOUCH, LICET_RELATIONSHIP_INIT };
        assert_int_equal(
            licet_relationship_parse(LICET_STR("document:x#viewer@user:ana"), &updates[i].relationship, NULL),
            LICET_OK);
        updates[i].relationship.resource_id = text_of(ids[i]);
        if (caveat != NULL)
            updates[i].relationship.caveat_name = text_of(caveat);
        if (context != NULL)
            updates[i].relationship.caveat_context = text_of(context);
    }
    request.updates      = updates;
    request.update_count = count;
    return licet_write(engine, &request, NULL, NULL);
}

/* Large writes, then smaller and smaller ones, until there is no room for one relationship, and still trying. */
static void fill(licet_engine *engine, const char *caveat, const char *context)
{
    size_t next = 0;

    for (size_t count = 512; count > 0;)
        if (write_documents(engine, caveat, context, &next, count) != LICET_OK)
            count /= 2;
    for (size_t i = 0; i < 100; i++)
        (void)!write_documents(engine, caveat, context, &next, i % 2 == 0 ? 1 : 512);
}

static void empty(licet_engine *engine)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

    request.filter.resource_type = LICET_STR("document");
    request.limit                = 100;
    request.allow_partial        = true;
    do {
        assert_int_equal(licet_delete_relationships(engine, &request, &result, NULL), LICET_OK);
    } while (result.partial);
}

/* A grant that can not be taken back for want of memory would be worse than one that was refused. */
static void an_engine_that_is_full_still_takes_access_away(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;

    (void)state;
    for (uint64_t mib = 1; mib <= 4; mib++) {
        options.memory_limit_bytes = mib << 20;
        world_open(&w, &options, SCHEMA, "document:d1#viewer@user:ana");
        fill(w.engine, NULL, NULL);
        assert_true(stored(w.engine) > mib * 4000);
        world_delete(&w, "document:d1#viewer@user:ana\ndocument:document-9#viewer@user:ana");
        world_done(&w);
        assert_false(world_allowed(&w, "document:d1", "view", "user:ana"));
        assert_false(world_allowed(&w, "document:document-9", "view", "user:ana"));
        assert_true(world_allowed(&w, "document:document-10", "view", "user:ana"));
        empty(w.engine);
        assert_int_equal(stored(w.engine), 0);
        world_touch(&w, "document:d1#viewer@user:ana");
        assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
        world_close(&w);
    }
}

/* Caveats and contexts do not use up what is left for deletions, and are given back with their relationships. */
static void an_engine_that_is_full_of_caveats_still_takes_access_away(void **state)
{
    char              large[1000];
    const char *const contexts[] = { NULL, "{\"least\":18}", large };
    licet_options     options    = LICET_OPTIONS_INIT;
    engine_world      w;

    (void)state;
    snprintf(large, sizeof large, "{\"least\":18,\"note\":\"%-900d\"}", 0);
    for (size_t i = 0; i < 9; i++) {
        options.memory_limit_bytes = (i / 3 + 1) << 20;
        world_open(&w, &options, CAVEATED_SCHEMA, "document:d1#viewer@user:ana");
        fill(w.engine, "grown", contexts[i % 3]);
        assert_true(stored(w.engine) > (i / 3 + 1) * 250);
        fill(w.engine, NULL, NULL);
        world_delete(&w, "document:d1#viewer@user:ana\ndocument:document-9#viewer@user:ana");
        world_done(&w);
        assert_false(world_allowed(&w, "document:d1", "view", "user:ana"));
        assert_false(world_allowed(&w, "document:document-9", "view", "user:ana"));
        empty(w.engine);
        assert_int_equal(stored(w.engine), 0);
        world_touch(&w, "document:d1#viewer@user:ana");
        assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interface_survives_every_allocation_that_fails_once),
        cmocka_unit_test(the_interface_survives_when_every_allocation_fails_from_some_on),
        cmocka_unit_test(json_text_survives_every_failed_allocation),
        cmocka_unit_test(an_engine_that_is_full_refuses_writes_and_answers_on),
        cmocka_unit_test(an_engine_that_is_full_still_takes_access_away),
        cmocka_unit_test(an_engine_that_is_full_of_caveats_still_takes_access_away),
    };

    return cmocka_run_group_tests_name("faults/api", tests, NULL, NULL);
}
