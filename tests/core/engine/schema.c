/* core/engine/write.c, schemas.c and core/datastore/schema_change.c: writing and reading the schema (schema.md 15,
 * api.md 15). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine_world.h"

static const char BEFORE[] = "caveat ticket(n int, m list<string>) {\n"
                             "  n == 1 && m.size() > 0\n"
                             "}\n"
                             "definition user {}\n"
                             "definition group {\n"
                             "  relation member: user | group#member\n"
                             "  relation owner: user\n"
                             "  permission all = member + owner\n"
                             "}\n"
                             "definition document {\n"
                             "  relation viewer: user | user:* | group#member | group#all | user with ticket\n"
                             "  relation editor: user\n"
                             "  permission view = viewer + editor\n"
                             "}\n";
static const char LINES[]  = "document:d1#viewer@user:ana\n"
                             "document:d1#viewer@user:*\n"
                             "document:d1#viewer@group:eng#member\n"
                             "document:d1#viewer@group:eng#all\n"
                             "group:eng#owner@user:bob";

#define GROUP                                                                                                     \
    "definition group { relation member: user | group#member\n relation owner: user\n permission all = member + " \
    "owner\n }\n"
#define TICKET "caveat ticket(n int, m list<string>) { n == 1 && m.size() > 0 }\n"
#define DOCUMENT(viewer)                                                                 \
    TICKET "definition user {}\n" GROUP "definition document { relation viewer: " viewer \
           "\n relation editor: user\n permission view = viewer + editor\n }\n"

static void what_relationships_stand_on_can_not_be_taken_away(void **state)
{
    static const struct {
        const char *schema;
        const char *message; /* NULL: accepted */
    } cases[] = {
        { BEFORE, NULL },
        { DOCUMENT("user | user:* | group#member | group#all | user with ticket"), NULL },
        { DOCUMENT("user | user:* | group#member | group#all"), NULL }, /* nothing is stored with a caveat */
        { DOCUMENT("user | user:* | group#member | group#all | group | user with ticket"), NULL },
        { DOCUMENT("user:* | group#member | group#all"),
          "cannot remove allowed type `user` from relation `viewer` in object definition `document`, as a relationship "
          "exists with it: document:d1#viewer@user:*" },
        { DOCUMENT("user | group#member | group#all"),
          "cannot remove allowed type `user:*` from relation `viewer` in object definition `document`, as a "
          "relationship exists with it: document:d1#viewer@user:*" },
        { DOCUMENT("user | user:* | group#all"),
          "cannot remove allowed type `group#member` from relation `viewer` in object definition `document`, as a "
          "relationship exists with it: document:d1#viewer@group:eng#member" },
        { DOCUMENT("user with ticket | user:* | group#member | group#all"),
          "cannot remove allowed type `user` from relation `viewer` in object definition `document`, as a relationship "
          "exists with it: document:d1#viewer@user:*" },
        { TICKET "definition user {}\n" GROUP,
          "cannot delete object definition `document`, as at least one relationship exists under it: "
          "document:d1#viewer@user:*" },
        { TICKET "definition user {}\n" GROUP
                 "definition document { relation editor: user\n permission viewer = editor\n }\n",
          "cannot delete relation `viewer` in object definition `document`, as at least one relationship exists under "
          "it: document:d1#viewer@user:*" },
        { TICKET "definition user {}\n"
                 "definition group { relation owner: user\n permission member = owner\n permission all = owner\n }\n"
                 "definition document { relation viewer: user | user:* | group#member | group#all\n }\n",
          "cannot delete relation `member` in object definition `group`, as at least one relationship references it as "
          "part of a subject: document:d1#viewer@group:eng#member" },
        { TICKET "definition user {}\n"
                 "definition group { relation member: user | group#member\n permission all = member\n }\n"
                 "definition document { relation viewer: user | user:* | group#member | group#all\n }\n",
          "cannot delete relation `owner` in object definition `group`, as at least one relationship exists under it: "
          "group:eng#owner@user:bob" },
        /* Unused relations and permissions go, a permission may become a relation. */
        { "definition user {}\n"
          "definition group { relation member: user | group#member\n relation owner: user\n relation all: user\n }\n"
          "definition document { relation viewer: user | user:* | group#member | group#all\n }\n",
          NULL },
        { "caveat ticket(n int) { n == 1 }\ndefinition user {}\n", "cannot remove parameter `m` on caveat `ticket`" },
        { "caveat ticket(n int, m list<int>) { n == 1 && m.size() > 0 }\ndefinition user {}\n",
          "cannot change the type of parameter `m` on caveat `ticket`" },
        { "caveat ticket(n int, m list<string>, k bool) { n == 2 && m.size() > 0 || k }\n"
          "definition user {}\n" GROUP
          "definition document { relation viewer: user | user:* | group#member | group#all\n }\n",
          NULL },
    };
    engine_world w;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world_open(&w, NULL, BEFORE, LINES);
        world_schema(&w, cases[i].schema);
        if (cases[i].message == NULL) {
            world_done(&w);
        } else {
            world_failed(&w, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR", cases[i].message);
            assert_true(world_allowed(&w, "group:eng", "owner", "user:bob"));
        }
        assert_true(world_allowed(&w, "document:d1", "viewer", "user:ana"));
        world_close(&w);
    }
}

static void everything_may_go_when_nothing_is_stored(void **state)
{
    licet_schema *schema = NULL;
    engine_world  w;

    (void)state;
    world_open(&w, NULL, BEFORE, NULL);
    world_schema(&w, "");
    world_done(&w);
    w.status = licet_read_schema(w.engine, &schema, NULL, &w.error);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "", "no schema has been written");
    assert_null(schema);
    world_close(&w);
}

static void the_schema_in_force_can_be_read(void **state)
{
    licet_schema *schema = NULL;
    licet_token   token  = { "x" };
    engine_world  w;

    (void)state;
    memset(&w, 0, sizeof w);
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &w.engine, NULL), LICET_OK);
    w.status = licet_read_schema(w.engine, &schema, &token, &w.error);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "", "no schema has been written");
    assert_string_equal(token.text, "");
    world_schema(&w, BEFORE);
    world_done(&w);
    assert_int_equal(licet_read_schema(w.engine, &schema, &token, NULL), LICET_OK);
    assert_string_equal(token.text, w.token.text);
    assert_int_equal(licet_schema_text(schema).size, strlen(BEFORE));
    assert_memory_equal(licet_schema_text(schema).data, BEFORE, strlen(BEFORE));
    world_close(&w);
    assert_int_equal(licet_schema_definition_count(schema), 3); /* it outlives the engine */
    licet_schema_release(schema);
}

static void a_schema_that_does_not_parse_changes_nothing(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, BEFORE, LINES);
    world_schema(&w, "definition user {}\ndefinition document {\n  relation viewer: nosuch\n}\n");
    assert_int_equal(w.status, LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_line(w.error), 3);
    assert_int_equal(licet_error_column(w.error), 20);
    assert_string_equal(w.token.text, "");
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
    world_close(&w);
}

/* api.md 15: the schema used for a request is the one of the request's revision. */
static void a_revision_is_judged_by_the_schema_of_its_time(void **state)
{
    static const char   grant[] = "definition user {}\ndefinition document {\n  relation viewer: user\n"
                                  "  permission view = viewer\n}\n";
    static const char   deny[]  = "definition user {}\ndefinition document {\n  relation viewer: user\n"
                                  "  permission view = nil\n}\n";
    licet_check_request request = check_of("document:d1", "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;
    licet_token         tokens[20];
    engine_world        w;

    (void)state;
    world_open(&w, NULL, grant, "document:d1#viewer@user:ana");
    for (int i = 0; i < 20; i++) {
        world_schema(&w, i % 2 == 0 ? grant : deny);
        world_done(&w);
        tokens[i] = w.token;
    }
    for (int i = 0; i < 20; i++) {
        request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(tokens[i].text), false };
        assert_int_equal(licet_check(w.engine, &request, &result, NULL), LICET_OK);
        assert_int_equal(licet_result_allowed(&result), i % 2 == 0);
    }
    assert_false(world_allowed(&w, "document:d1", "view", "user:ana"));
    world_close(&w);
}

/* A thousand schemas with a window of a millisecond: what nobody can read is given back. */
static void schemas_that_no_readable_revision_needs_are_given_back(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_stats   early   = LICET_STATS_INIT;
    licet_stats   late    = LICET_STATS_INIT;
    engine_world  w;

    (void)state;
    options.history_window_ms = 1;
    world_open(&w, &options, BEFORE, LINES);
    for (int i = 0; i < 400; i++) {
        world_schema(&w, BEFORE);
        world_done(&w);
        if (i == 100)
            assert_int_equal(licet_engine_stats(w.engine, &early, NULL), LICET_OK);
    }
    assert_int_equal(licet_engine_stats(w.engine, &late, NULL), LICET_OK);
    assert_true(late.memory_bytes < early.memory_bytes + (1 << 20));
    world_close(&w);
}

/* Who pinned a revision before its schema was given up may still look for it. */
static void a_reader_finds_the_schema_of_his_revision_until_he_leaves(void **state)
{
    licet_options       options = LICET_OPTIONS_INIT;
    const licet_schema *mine;
    lic_snapshot        early;
    engine_world        w;

    (void)state;
    options.history_window_ms = 1;
    world_open(&w, &options, BEFORE, LINES);
    lic_snapshot_pin(w.engine->graph, &early);
    mine = lic_schemas_at(&w.engine->schemas, early.revision);
    for (int i = 0; i < 20; i++) {
        world_schema(&w, BEFORE);
        world_done(&w);
        lic_sleep_us(1500);
        assert_ptr_equal(lic_schemas_at(&w.engine->schemas, early.revision), mine);
    }
    lic_snapshot_unpin(&early);
    world_close(&w);
}

static void a_schema_text_that_is_not_given_is_refused(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, BEFORE, NULL);
    w.status = licet_write_schema(w.engine, (licet_str){ NULL, 0 }, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "the schema text is not given");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_relationships_stand_on_can_not_be_taken_away),
        cmocka_unit_test(everything_may_go_when_nothing_is_stored),
        cmocka_unit_test(the_schema_in_force_can_be_read),
        cmocka_unit_test(a_schema_that_does_not_parse_changes_nothing),
        cmocka_unit_test(a_revision_is_judged_by_the_schema_of_its_time),
        cmocka_unit_test(schemas_that_no_readable_revision_needs_are_given_back),
        cmocka_unit_test(a_reader_finds_the_schema_of_his_revision_until_he_leaves),
        cmocka_unit_test(a_schema_text_that_is_not_given_is_refused),
    };

    return cmocka_run_group_tests_name("engine/schema", tests, NULL, NULL);
}
