/* core/eval/explain.c, core/engine/{explain,trace}.c: why a check comes out as it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine_world.h"

static const char SCHEMA[] = "caveat late(hour int, zone string) {\n\thour > 20 && zone == \"utc\"\n}\n"
                             "definition user {}\n"
                             "definition group {\n"
                             "\trelation member: user | group#member\n"
                             "}\n"
                             "definition folder {\n"
                             "\trelation parent: folder\n"
                             "\trelation viewer: user | group#member\n"
                             "\tpermission view = viewer + parent->view\n"
                             "}\n"
                             "definition document {\n"
                             "\trelation folder: folder\n"
                             "\trelation owner: user\n"
                             "\trelation viewer: user | user with late | user:*\n"
                             "\trelation banned: user\n"
                             "\tpermission view = (owner + viewer + folder->view) - banned\n"
                             "\tpermission both = owner & viewer\n"
                             "}\n";

static const char DATA[] = "document:plan#folder@folder:leaf\n"
                           "folder:leaf#parent@folder:root\n"
                           "folder:root#viewer@group:eng#member\n"
                           "group:eng#member@group:core#member\n"
                           "group:core#member@user:ana\n"
                           "group:core#member@group:eng#member\n"
                           "document:memo#viewer@user:bob[late:{\"zone\":\"utc\"}]\n"
                           "document:memo#owner@user:eve\n"
                           "document:open#viewer@user:*\n"
                           "document:open#banned@user:mal";

static const char *explained(engine_world *w, const char *resource, const char *permission, const char *subject,
                             const char *context, licet_format format)
{
    licet_check_request request = check_of(resource, permission, subject);
    licet_buffer        text    = LICET_BUFFER_INIT;
    licet_trace        *trace   = NULL;

    request.context = text_of(context);
    w->status       = licet_explain(w->engine, &request, &trace, &w->error);
    w->text[0]      = '\0';
    if (trace != NULL) {
        assert_int_equal(licet_trace_format(trace, format, &text, NULL), LICET_OK);
        snprintf(w->text, sizeof w->text, "%.*s", (int)text.size, text.data);
    }
    licet_buffer_clear(&text);
    licet_trace_release(trace);
    return w->text;
}

static void a_grant_is_told_by_the_way_that_makes_it(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(explained(&w, "document:plan", "view", "user:ana", NULL, LICET_FORMAT_TEXT),
                        "allowed document:plan#view (exclusion)\n"
                        "  allowed document:plan#view (union)\n"
                        "    allowed document:plan#view (any folder->view)\n"
                        "      allowed folder:leaf#view (union) by document:plan#folder@folder:leaf\n"
                        "        allowed folder:leaf#view (any parent->view)\n"
                        "          allowed folder:root#view (union) by folder:leaf#parent@folder:root\n"
                        "            allowed folder:root#viewer (relation)\n"
                        "              allowed group:eng#member (relation) by folder:root#viewer@group:eng#member\n"
                        "                allowed group:core#member (relation) by group:eng#member@group:core#member\n"
                        "                  allowed group:core#member (relationship) by group:core#member@user:ana\n"
                        "  denied document:plan#banned (relation)\n");
    assert_string_equal(explained(&w, "document:open", "view", "user:any", NULL, LICET_FORMAT_TEXT),
                        "allowed document:open#view (exclusion)\n"
                        "  allowed document:open#view (union)\n"
                        "    allowed document:open#viewer (relation)\n"
                        "      allowed document:open#viewer (wildcard) by document:open#viewer@user:*\n"
                        "  denied document:open#banned (relation)\n");
    assert_string_equal(explained(&w, "folder:root", "view", "group:eng#member", NULL, LICET_FORMAT_TEXT),
                        "allowed folder:root#view (union)\n"
                        "  allowed folder:root#viewer (relation)\n"
                        "    allowed folder:root#viewer (relationship) by folder:root#viewer@group:eng#member\n");
    assert_string_equal(explained(&w, "group:x", "member", "group:x#member", NULL, LICET_FORMAT_TEXT),
                        "allowed group:x#member (identity)\n");
    world_done(&w);
    world_close(&w);
}

static void a_denial_is_told_by_all_that_was_tried(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(explained(&w, "document:open", "view", "user:mal", NULL, LICET_FORMAT_TEXT),
                        "denied document:open#view (exclusion)\n"
                        "  allowed document:open#view (union)\n"
                        "    allowed document:open#viewer (relation)\n"
                        "      allowed document:open#viewer (wildcard) by document:open#viewer@user:*\n"
                        "  allowed document:open#banned (relation)\n"
                        "    allowed document:open#banned (relationship) by document:open#banned@user:mal\n");
    assert_string_equal(explained(&w, "folder:leaf", "view", "user:zed", NULL, LICET_FORMAT_TEXT),
                        "denied folder:leaf#view (union)\n"
                        "  denied folder:leaf#viewer (relation)\n"
                        "  denied folder:leaf#view (any parent->view)\n"
                        "    denied folder:root#view (union) by folder:leaf#parent@folder:root\n"
                        "      denied folder:root#viewer (relation)\n"
                        "        denied group:eng#member (relation) by folder:root#viewer@group:eng#member\n"
                        "          denied group:core#member (relation) by group:eng#member@group:core#member\n"
                        "            denied group:eng#member (cycle) by group:core#member@group:eng#member\n"
                        "      denied folder:root#view (any parent->view)\n");
    assert_string_equal(explained(&w, "document:nowhere", "both", "user:zed", NULL, LICET_FORMAT_TEXT),
                        "denied document:nowhere#both (intersection)\n"
                        "  denied document:nowhere#owner (relation)\n"
                        "  denied document:nowhere#viewer (relation)\n");
    world_done(&w);
    world_close(&w);
}

static void caveats_are_told_with_their_values(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(explained(&w, "document:memo", "viewer", "user:bob", NULL, LICET_FORMAT_TEXT),
                        "conditional document:memo#viewer (relation); missing hour\n"
                        "  conditional document:memo#viewer (relationship) by "
                        "document:memo#viewer@user:bob[late:{\"zone\":\"utc\"}]; caveat late: hour > 20 && zone == "
                        "\"utc\" with {\"zone\":\"utc\"}; missing hour\n");
    assert_string_equal(
        explained(&w, "document:memo", "viewer", "user:bob", "{\"hour\": 21, \"zone\": \"cet\"}", LICET_FORMAT_TEXT),
        "allowed document:memo#viewer (relation)\n"
        "  allowed document:memo#viewer (relationship) by "
        "document:memo#viewer@user:bob[late:{\"zone\":\"utc\"}]; caveat late: hour > 20 && zone == "
        "\"utc\" with {\"hour\":21,\"zone\":\"utc\"}\n");
    assert_string_equal(
        explained(&w, "document:memo", "viewer", "user:bob", "{\"hour\": 9}", LICET_FORMAT_JSON),
        "{\"resource\": \"document:memo\", \"permission\": \"viewer\", \"is_permission\": false, \"result\": "
        "\"denied\", \"reason\": \"relation\", \"children\": [{\"resource\": \"document:memo\", \"permission\": "
        "\"viewer\", \"is_permission\": false, \"result\": \"denied\", \"reason\": \"relationship\", "
        "\"relationship\": \"document:memo#viewer@user:bob[late:{\\\"zone\\\":\\\"utc\\\"}]\", \"caveat\": \"late\", "
        "\"expression\": \"hour > 20 && zone == \\\"utc\\\"\", \"context\": {\"hour\":9,\"zone\":\"utc\"}, "
        "\"children\": []}]}");
    world_done(&w);
    world_close(&w);
}

/* The trace is there although the check failed. */
static void a_failure_is_told_too(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;

    (void)state;
    options.max_depth = 3;
    world_open(&w, &options, SCHEMA, DATA);
    assert_string_equal(explained(&w, "folder:leaf", "view", "user:ana", NULL, LICET_FORMAT_TEXT),
                        "limit_exceeded folder:leaf#view (union)\n"
                        "  denied folder:leaf#viewer (relation)\n"
                        "  limit_exceeded folder:leaf#view (any parent->view)\n"
                        "    limit_exceeded folder:root#view (union) by folder:leaf#parent@folder:root\n"
                        "      limit_exceeded folder:root#viewer (relation)\n"
                        "        limit_exceeded group:eng#member (relation) by folder:root#viewer@group:eng#member\n"
                        "          limit_exceeded group:core#member (relation) by "
                        "group:eng#member@group:core#member\n"
                        "            allowed group:core#member (relationship) by group:core#member@user:ana\n"
                        "            limit_exceeded group:eng#member (cycle) by group:core#member@group:eng#member\n"
                        "      denied folder:root#view (any parent->view)\n");
    assert_int_equal(w.status, LICET_LIMIT_EXCEEDED);
    licet_error_free(w.error);
    w.error = NULL;
    explained(&w, "document:memo", "viewer", "user:bob", "{\"hour\": \"soon\"}", LICET_FORMAT_TEXT);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_memory_equal(w.text, "invalid_argument document:memo#viewer (relation)\n", 49);
    licet_error_free(w.error);
    w.error = NULL;
    assert_string_equal(explained(&w, "document:memo", "nosuch", "user:bob", NULL, LICET_FORMAT_TEXT), "");
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `nosuch` not found under definition `document`");
    world_close(&w);
}

static void every_node_can_be_looked_at(void **state)
{
    licet_check_request request = check_of("document:open", "view", "user:any");
    licet_trace_node    node    = LICET_TRACE_NODE_INIT;
    licet_trace        *trace   = NULL;
    licet_token         token;
    engine_world        w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    w.status = licet_explain(w.engine, &request, &trace, &w.error);
    world_done(&w);
    assert_int_equal(licet_trace_node_count(trace), 5);
    assert_true(licet_trace_node_at(trace, 0, &node));
    assert_int_equal(node.permissionship, LICET_HAS_PERMISSION);
    assert_int_equal(node.child_count, 2);
    assert_int_equal(node.first_child, 1);
    assert_true(node.is_permission);
    assert_false(licet_trace_node_at(trace, 5, &node));
    licet_trace_token(trace, &token);
    assert_string_equal(token.text, w.token.text);
    assert_int_equal(licet_trace_node_count(NULL), 0);
    licet_trace_token(NULL, &token);
    assert_string_equal(token.text, "");
    licet_trace_release(trace);
    licet_trace_release(NULL);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_is_told_by_the_way_that_makes_it),
        cmocka_unit_test(a_denial_is_told_by_all_that_was_tried),
        cmocka_unit_test(caveats_are_told_with_their_values),
        cmocka_unit_test(a_failure_is_told_too),
        cmocka_unit_test(every_node_can_be_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
