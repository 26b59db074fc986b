/* core/engine/import.c and the export of core/engine/read.c: api.md 13. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_world.h"

static licet_relationship relationship_of(const char *text)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;

    assert_int_equal(licet_relationship_parse(text_of(text), &relationship, NULL), LICET_OK);
    return relationship;
}

static void add(engine_world *w, licet_import *import, const char *text)
{
    const licet_relationship relationship = relationship_of(text);

    w->status = licet_import_add(import, &relationship, 1, &w->error);
}

static licet_import *begin(engine_world *w)
{
    licet_import *import = NULL;

    w->status = licet_import_begin(w->engine, &import, &w->error);
    world_done(w);
    return import;
}

static const char *exported(engine_world *w, const licet_export_request *request, size_t most)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_stream      *stream       = NULL;
    bool               found        = true;

    w->text[0] = '\0';
    w->status  = licet_export_relationships(w->engine, request, &stream, &w->error);
    for (size_t i = 0; i < most && w->status == LICET_OK && found; i++) {
        licet_buffer text = LICET_BUFFER_INIT;

        w->status = licet_stream_next_relationship(stream, &relationship, &found, &w->error);
        if (w->status != LICET_OK || !found)
            break;
        assert_int_equal(licet_relationship_format(&relationship, &text, NULL), LICET_OK);
        sprintf(w->text + strlen(w->text), "%.*s\n", (int)text.size, text.data);
        licet_buffer_clear(&text);
    }
    if (w->status == LICET_OK && most < SIZE_MAX) /* the cursor, for the test to go on */
        sprintf(w->text + strlen(w->text), "%.*s", (int)licet_stream_cursor(stream).size,
                licet_stream_cursor(stream).data);
    licet_stream_release(stream);
    return w->text;
}

static void an_import_is_one_revision_and_nothing_of_it_is_seen_before(void **state)
{
    engine_world  w;
    licet_import *import;
    uint64_t      count = 7;
    licet_token   token = { "left over" };
    licet_stats   stats = LICET_STATS_INIT;
    uint64_t      before;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    before = stats.revision;
    import = begin(&w);
    add(&w, import, "group:eng#member@user:bob");
    world_done(&w);
    add(&w, import, "document:d1#guest@user:ana[ticket:{\"n\":1}]");
    world_done(&w);
    add(&w, import, "document:d1#temp@user:ana[expiration:2999-01-01T00:00:00Z]");
    world_done(&w);
    assert_false(world_allowed(&w, "group:eng", "member", "user:bob"));
    w.status = licet_import_commit(import, &count, &token, &w.error);
    world_done(&w);
    assert_int_equal(count, 3);
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    assert_int_equal(stats.revision, before + 1);
    assert_int_equal(stats.relationships, 3);
    assert_true(world_allowed(&w, "group:eng", "member", "user:bob"));
    assert_true(world_allowed(&w, "document:d1", "guest", "user:ana"));
    assert_true(strlen(token.text) > 0);
    licet_import_release(import);
    world_close(&w);
}

static void an_import_without_a_commit_leaves_nothing(void **state)
{
    engine_world  w;
    licet_import *import;
    licet_stats   stats = LICET_STATS_INIT;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    import = begin(&w);
    add(&w, import, "document:d1#guest@user:ana[ticket:{\"n\":1}]");
    world_done(&w);
    licet_import_release(import);
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    assert_int_equal(stats.relationships, 0);
    licet_import_release(NULL);
    world_close(&w);
}

static void what_exists_or_comes_twice_fails_all_of_an_import(void **state)
{
    engine_world  w;
    licet_import *import;
    uint64_t      count = 7;
    licet_token   token = { "left over" };

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:bob");
    import = begin(&w);
    add(&w, import, "group:eng#member@user:ana");
    world_done(&w);
    add(&w, import, "group:eng#member@user:bob");
    world_done(&w);
    w.status = licet_import_commit(import, &count, &token, &w.error);
    world_failed(&w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"group:eng#member@user:bob\", as it exists already");
    assert_int_equal(count, 0);
    assert_string_equal(token.text, "");
    w.status = licet_import_commit(import, &count, &token, &w.error);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "",
                 "the import has failed or been committed: it can only be released");
    licet_import_release(import);
    import = begin(&w);
    add(&w, import, "document:d1#viewer@user:new");
    world_done(&w);
    add(&w, import, "document:d1#viewer@user:new[ticket]");
    world_failed(&w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"document:d1#viewer@user:new\", as it exists already");
    licet_import_release(import);
    assert_false(world_allowed(&w, "group:eng", "member", "user:ana"));
    world_close(&w);
}

static void a_bad_relationship_of_an_import_is_named_by_its_number(void **state)
{
    engine_world             w;
    licet_import            *import;
    const licet_relationship pair[] = { relationship_of("group:eng#member@user:a"),
                                        relationship_of("group:eng#member@document:b") };
    licet_relationship       bad    = relationship_of("group:eng#member@user:a");

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    bad.subject_id = LICET_STR("a b");
    import         = begin(&w);
    add(&w, import, "group:eng#member@user:x");
    world_done(&w);
    w.status = licet_import_add(import, &bad, 1, &w.error);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_memory_equal(licet_error_message(w.error).data, "relationship 2: subject_id", 26);
    licet_error_free(w.error);
    w.error = NULL;
    licet_import_release(import);
    import   = begin(&w);
    w.status = licet_import_add(import, pair, 2, &w.error);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_string_equal(licet_error_reason(w.error).data, "INVALID_SUBJECT_TYPE");
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    licet_import_release(import);
    world_close(&w);
}

static void an_import_ends_with_the_schema_that_it_was_judged_by(void **state)
{
    engine_world  w;
    licet_import *import;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    import = begin(&w);
    add(&w, import, "group:eng#member@user:x");
    world_done(&w);
    world_schema(&w, "definition user {}");
    world_done(&w);
    w.status = licet_import_commit(import, NULL, NULL, &w.error);
    world_failed(&w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "",
                 "the schema was replaced while the import was under way: import again");
    licet_import_release(import);
    world_close(&w);
}

static void a_large_import_is_counted_and_may_run_out_of_memory_whole(void **state)
{
    enum { MANY = 20000 };
    static char         ids[MANY][16];
    licet_relationship *many    = calloc(MANY, sizeof *many);
    licet_options       options = LICET_OPTIONS_INIT;
    licet_stats         stats   = LICET_STATS_INIT;
    uint64_t            count;
    licet_import       *import;
    engine_world        w;

    (void)state;
    assert_non_null(many);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof ids[i], "u%zu", i);
        many[i]            = relationship_of("group:eng#member@user:x");
        many[i].subject_id = text_of(ids[i]);
    }
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    import   = begin(&w);
    w.status = licet_import_add(import, many, MANY, &w.error);
    world_done(&w);
    w.status = licet_import_commit(import, &count, NULL, &w.error);
    world_done(&w);
    assert_int_equal(count, MANY);
    assert_true(world_allowed(&w, "group:eng", "member", "user:u19999"));
    licet_import_release(import);
    world_close(&w);

    options.memory_limit_bytes = 1024 * 1024;
    world_open(&w, &options, WORLD_SCHEMA, NULL);
    import   = begin(&w);
    w.status = licet_import_add(import, many, MANY, &w.error);
    if (w.status == LICET_OK)
        w.status = licet_import_commit(import, &count, NULL, &w.error);
    assert_int_equal(w.status, LICET_OUT_OF_MEMORY);
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    licet_import_release(import);
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    assert_int_equal(stats.relationships, 0);
    world_create(&w, "group:eng#member@user:x");
    world_done(&w);
    world_close(&w);
    free(many);
}

/* Whatever memory there is, an import of some that follows one of many succeeds, or leaves the memory as it was: the room
 * that was made for its changes is given back. */
static void an_import_that_is_too_much_leaves_the_memory_as_it_was(void **state)
{
    enum { FIRST = 20000, MORE = 4000, SIDE = 200, STEPS = 40 };
    static char         ids[SIDE][16];
    licet_relationship *many     = test_calloc(FIRST + MORE, sizeof *many);
    size_t              refused  = 0;
    size_t              imported = 0;

    (void)state;
    for (size_t i = 0; i < SIDE; i++)
        snprintf(ids[i], sizeof ids[i], "u%zu", i);
    for (size_t i = 0; i < FIRST + MORE; i++) {
        many[i]             = relationship_of("document:d#viewer@user:x");
        many[i].resource_id = text_of(ids[i / SIDE]);
        many[i].subject_id  = text_of(ids[i % SIDE]);
    }
    for (size_t step = 0; step < STEPS; step++) {
        licet_options options = LICET_OPTIONS_INIT;
        licet_stats   before  = LICET_STATS_INIT;
        licet_stats   after   = LICET_STATS_INIT;
        engine_world  w;
        licet_status  status = LICET_OUT_OF_MEMORY;

        options.memory_limit_bytes = (2 << 20) + step * (16 << 10);
        world_open(&w, &options, WORLD_SCHEMA, NULL);
        for (int i = 0; i < 3; i++) { /* the first, then the others, and once more what failed */
            licet_import *import = begin(&w);

            w.status = licet_import_add(import, i == 0 ? many : many + FIRST, i == 0 ? FIRST : MORE, &w.error);
            world_done(&w);
            status = licet_import_commit(import, NULL, NULL, NULL);
            licet_import_release(import);
            assert_int_equal(licet_engine_stats(w.engine, i == 0 ? &before : &after, NULL), LICET_OK);
            if ((status == LICET_OK) == (i > 0))
                break;
        }
        if (before.relationships == 0) {
            assert_int_equal(status, LICET_OUT_OF_MEMORY); /* not even those fit */
        } else if (status == LICET_OK) {
            imported++;
            assert_int_equal(after.relationships, FIRST + MORE);
            assert_true(world_allowed(&w, "document:u119", "view", "user:u199"));
        } else {
            refused++;
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
            assert_int_equal(after.relationships, FIRST);
            assert_in_range(after.memory_bytes, 0, before.memory_bytes + (16 << 10));
            assert_false(world_allowed(&w, "document:u119", "view", "user:u199"));
        }
        assert_int_equal(world_allowed(&w, "document:u99", "view", "user:u199"), before.relationships > 0);
        world_close(&w);
    }
    assert_true(refused > 0 && imported > 0);
    test_free(many);
}

static void an_export_is_of_everything_or_of_a_filter(void **state)
{
    licet_export_request all     = LICET_EXPORT_REQUEST_INIT;
    licet_export_request some    = LICET_EXPORT_REQUEST_INIT;
    licet_export_request nothing = LICET_EXPORT_REQUEST_INIT;
    char                 cursor[256];
    char                *end;
    engine_world         w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA,
               "document:d1#viewer@user:ana\ngroup:eng#member@user:bob\ndocument:d1#viewer@user:bob[ticket:{\"n\":1}]");
    assert_string_equal(exported(&w, &all, SIZE_MAX), "group:eng#member@user:bob\ndocument:d1#viewer@user:ana\n"
                                                      "document:d1#viewer@user:bob[ticket:{\"n\":1}]\n");
    some.filter.resource_type = LICET_STR("group");
    assert_string_equal(exported(&w, &some, SIZE_MAX), "group:eng#member@user:bob\n");
    nothing.filter.resource_type = LICET_STR("nosuch");
    assert_string_equal(exported(&w, &nothing, SIZE_MAX), "");
    nothing.filter.resource_type = LICET_STR("document");
    nothing.filter.relation      = LICET_STR("view");
    assert_string_equal(exported(&w, &nothing, SIZE_MAX), "");
    world_done(&w);
    end = strrchr(exported(&w, &all, 1), '\n');
    snprintf(cursor, sizeof cursor, "%s", end + 1);
    all.cursor  = text_of(cursor);
    some.cursor = text_of(cursor);
    assert_string_equal(exported(&w, &all, SIZE_MAX),
                        "document:d1#viewer@user:ana\ndocument:d1#viewer@user:bob[ticket:{\"n\":1}]\n");
    exported(&w, &some, SIZE_MAX);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR", "the cursor belongs to another request");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_is_one_revision_and_nothing_of_it_is_seen_before),
        cmocka_unit_test(an_import_without_a_commit_leaves_nothing),
        cmocka_unit_test(what_exists_or_comes_twice_fails_all_of_an_import),
        cmocka_unit_test(a_bad_relationship_of_an_import_is_named_by_its_number),
        cmocka_unit_test(an_import_ends_with_the_schema_that_it_was_judged_by),
        cmocka_unit_test(a_large_import_is_counted_and_may_run_out_of_memory_whole),
        cmocka_unit_test(an_import_that_is_too_much_leaves_the_memory_as_it_was),
        cmocka_unit_test(an_export_is_of_everything_or_of_a_filter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
