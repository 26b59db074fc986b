/* Trees of permissions. Their shapes were compared with SpiceDB's, answer by answer. */
#include "engine_world.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const char SCHEMA[] = "use self\n"
                             "use expiration\n"
                             "caveat open(hour int) { hour > 8 }\n"
                             "definition user {\n"
                             "  permission itself = self\n"
                             "}\n"
                             "definition club {\n"
                             "  relation member: user | club#member\n"
                             "  relation owner: user\n"
                             "  permission all = member + owner\n"
                             "  permission other = all\n"
                             "  permission nobody = nil\n"
                             "  permission strict = (member + owner) & member\n"
                             "  permission without = member - owner - nil\n"
                             "  permission three = member & owner & all\n"
                             "  permission four = member + (owner + all) + nobody\n"
                             "  permission mixed = (member - owner) + (owner & member)\n"
                             "}\n"
                             "definition shelf {\n"
                             "  relation owner: club\n"
                             "  relation parent: shelf\n"
                             "  permission any = owner->all\n"
                             "  permission every = owner.all(all)\n"
                             "  permission none = owner->nosuch\n"
                             "  permission deep = owner + parent->deep\n"
                             "}\n"
                             "definition book {\n"
                             "  relation viewer: user | user:* | club#member | user with open | user with expiration\n"
                             "  relation banned: user\n"
                             "  relation shelf: shelf\n"
                             "  permission view = (viewer + shelf->any) - banned\n"
                             "}\n";

static const char ROWS[] = "club:a#member@user:tom\n"
                           "club:a#member@club:b#member\n"
                           "club:a#member@user:amy\n"
                           "shelf:s#owner@club:a\n"
                           "shelf:s#owner@club:b\n"
                           "book:b#viewer@club:z#member\n"
                           "book:b#viewer@user:*\n"
                           "book:b#viewer@user:tom[open]\n"
                           "book:b#viewer@user:amy[expiration:2001-01-01T00:00:00Z]\n"
                           "book:b#viewer@user:eve[expiration:2100-01-01T00:00:00Z]\n"
                           "book:b#shelf@shelf:s\n";

static licet_expand_request request_of(const char *resource, const char *permission)
{
    licet_expand_request request = LICET_EXPAND_REQUEST_INIT;

    request.resource   = text_of(resource);
    request.permission = text_of(permission);
    return request;
}

/* The tree as text, in the world until the next call; "" when there is none. */
static const char *expand_as(engine_world *w, const char *resource, const char *permission, licet_format format)
{
    licet_expand_request request = request_of(resource, permission);
    licet_buffer         text    = LICET_BUFFER_INIT;
    licet_tree          *tree    = NULL;

    w->text[0] = '\0';
    w->status  = licet_expand(w->engine, &request, &tree, &w->error);
    assert_true((w->status == LICET_OK) == (tree != NULL));
    if (tree == NULL)
        return w->text;
    assert_int_equal(licet_tree_format(tree, format, &text, NULL), LICET_OK);
    assert_true(text.size < sizeof w->text);
    memcpy(w->text, text.data, text.size);
    w->text[text.size] = '\0';
    licet_buffer_clear(&text);
    licet_tree_release(tree);
    return w->text;
}

static void assert_expands(engine_world *w, const char *resource, const char *permission, const char *expected)
{
    assert_string_equal(expand_as(w, resource, permission, LICET_FORMAT_TEXT), expected);
    world_done(w);
}

static void a_relation_is_a_leaf_of_its_subjects_objects_first(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    assert_expands(&w, "club:a", "member", "leaf club:a#member: user:tom, user:amy, club:b#member\n");
    assert_expands(&w, "club:a", "owner", "leaf club:a#owner\n");
    assert_expands(&w, "club:ghost", "member", "leaf club:ghost#member\n");
    world_close(&w);
}

static void caveats_are_not_shown_and_what_has_expired_is_not_there(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    assert_expands(&w, "book:b", "viewer", "leaf book:b#viewer: user:*, user:tom, user:eve, club:z#member\n");
    world_close(&w);
}

static void a_permission_is_its_operators(void **state)
{
    static const struct {
        const char *permission;
        const char *expected;
    } cases[] = {
        { "all", "union club:c#all\n"
                 "  leaf club:c#member\n"
                 "  leaf club:c#owner\n" },
        { "other", "union club:c#other\n"
                   "  union club:c#all\n"
                   "    leaf club:c#member\n"
                   "    leaf club:c#owner\n" },
        { "nobody", "union club:c#nobody\n"
                    "  leaf club:c#nobody\n" },
        { "strict", "intersection club:c#strict\n"
                    "  union club:c#strict\n"
                    "    leaf club:c#member\n"
                    "    leaf club:c#owner\n"
                    "  leaf club:c#member\n" },
        { "without", "exclusion club:c#without\n"
                     "  exclusion club:c#without\n"
                     "    leaf club:c#member\n"
                     "    leaf club:c#owner\n"
                     "  leaf club:c#without\n" },
        { "three", "intersection club:c#three\n"
                   "  leaf club:c#member\n"
                   "  leaf club:c#owner\n"
                   "  union club:c#all\n"
                   "    leaf club:c#member\n"
                   "    leaf club:c#owner\n" },
        { "four", "union club:c#four\n"
                  "  leaf club:c#member\n"
                  "  leaf club:c#owner\n"
                  "  union club:c#all\n"
                  "    leaf club:c#member\n"
                  "    leaf club:c#owner\n"
                  "  union club:c#nobody\n"
                  "    leaf club:c#nobody\n" },
        { "mixed", "union club:c#mixed\n"
                   "  exclusion club:c#mixed\n"
                   "    leaf club:c#member\n"
                   "    leaf club:c#owner\n"
                   "  intersection club:c#mixed\n"
                   "    leaf club:c#owner\n"
                   "    leaf club:c#member\n" },
    };
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_expands(&w, "club:c", cases[i].permission, cases[i].expected);
    assert_expands(&w, "user:tom", "itself", "union user:tom#itself\n  leaf user:tom#itself: user:tom\n");
    assert_expands(&w, "user:ghost", "itself", "union user:ghost#itself\n  leaf user:ghost#itself: user:ghost\n");
    world_close(&w);
}

static void an_arrow_has_a_child_for_each_row(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    assert_expands(&w, "shelf:s", "every",
                   "union shelf:s#every\n"
                   "  intersection shelf:s#every\n"
                   "    union club:a#all\n"
                   "      leaf club:a#member: user:tom, user:amy, club:b#member\n"
                   "      leaf club:a#owner\n"
                   "    union club:b#all\n"
                   "      leaf club:b#member\n"
                   "      leaf club:b#owner\n");
    assert_expands(&w, "shelf:s", "none",
                   "union shelf:s#none\n"
                   "  union shelf:s#none\n"
                   "    leaf shelf:s#none\n"
                   "    leaf shelf:s#none\n");
    assert_expands(&w, "shelf:ghost", "every", "union shelf:ghost#every\n  intersection shelf:ghost#every\n");
    assert_expands(&w, "book:b", "view",
                   "exclusion book:b#view\n"
                   "  union book:b#view\n"
                   "    leaf book:b#viewer: user:*, user:tom, user:eve, club:z#member\n"
                   "    union book:b#view\n"
                   "      union shelf:s#any\n"
                   "        union shelf:s#any\n"
                   "          union club:a#all\n"
                   "            leaf club:a#member: user:tom, user:amy, club:b#member\n"
                   "            leaf club:a#owner\n"
                   "          union club:b#all\n"
                   "            leaf club:b#member\n"
                   "            leaf club:b#owner\n"
                   "  leaf book:b#banned\n");
    world_close(&w);
}

static void a_tree_is_one_json_document(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    assert_string_equal(
        expand_as(&w, "club:a", "strict", LICET_FORMAT_JSON),
        "{\"operation\": \"intersection\", \"resource\": \"club:a\", \"relation\": \"strict\", \"children\": ["
        "{\"operation\": \"union\", \"resource\": \"club:a\", \"relation\": \"strict\", \"children\": ["
        "{\"operation\": \"leaf\", \"resource\": \"club:a\", \"relation\": \"member\", "
        "\"subjects\": [\"user:tom\", \"user:amy\", \"club:b#member\"]}, "
        "{\"operation\": \"leaf\", \"resource\": \"club:a\", \"relation\": \"owner\", \"subjects\": []}]}, "
        "{\"operation\": \"leaf\", \"resource\": \"club:a\", \"relation\": \"member\", "
        "\"subjects\": [\"user:tom\", \"user:amy\", \"club:b#member\"]}]}");
    world_done(&w);
    assert_string_equal(
        expand_as(&w, "shelf:ghost", "any", LICET_FORMAT_JSON),
        "{\"operation\": \"union\", \"resource\": \"shelf:ghost\", \"relation\": \"any\", \"children\": ["
        "{\"operation\": \"union\", \"resource\": \"shelf:ghost\", \"relation\": \"any\", "
        "\"children\": []}]}");
    world_done(&w);
    world_close(&w);
}

static void nodes_are_found_by_number(void **state)
{
    licet_expand_request request = request_of("club:a", "all");
    licet_tree_node      node    = LICET_TREE_NODE_INIT;
    licet_tree          *tree    = NULL;
    licet_token          token;
    engine_world         w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    assert_int_equal(licet_expand(w.engine, &request, &tree, NULL), LICET_OK);
    assert_int_equal(licet_tree_node_count(tree), 3);
    assert_true(licet_tree_node_at(tree, 0, &node));
    assert_int_equal(node.kind, LICET_TREE_UNION);
    assert_int_equal(node.first_child, 1);
    assert_int_equal(node.child_count, 2);
    assert_int_equal(node.subject_count, 0);
    assert_true(licet_tree_node_at(tree, 1, &node));
    assert_int_equal(node.kind, LICET_TREE_LEAF);
    assert_int_equal(node.child_count, 0);
    assert_int_equal(node.subject_count, 3);
    assert_memory_equal(licet_tree_subject(tree, 1, 2).data, "club:b#member", 13);
    assert_null(licet_tree_subject(tree, 1, 3).data);
    assert_null(licet_tree_subject(tree, 0, 0).data);
    assert_null(licet_tree_subject(tree, 3, 0).data);
    assert_false(licet_tree_node_at(tree, 3, &node));
    licet_tree_token(tree, &token);
    assert_string_equal(token.text, w.token.text);

    /* It outlives what it was made from. */
    world_delete(&w, "club:a#member@user:tom");
    world_done(&w);
    world_close(&w);
    assert_memory_equal(licet_tree_subject(tree, 1, 0).data, "user:tom", 8);
    licet_tree_release(tree);
}

static void a_cycle_has_no_tree(void **state)
{
    static const char MESSAGE[] =
        "max_depth exceeded: the tree is deeper than 50 objects and names, or goes round a cycle";
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    world_touch(&w, "shelf:x#parent@shelf:y\nshelf:y#parent@shelf:x\nshelf:x#parent@shelf:x\nshelf:y#parent@shelf:y");
    world_done(&w);
    assert_string_equal(expand_as(&w, "shelf:x", "deep", LICET_FORMAT_TEXT), "");
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", MESSAGE);
    /* Usersets are not followed, so they are none. */
    world_touch(&w, "club:a#member@club:a#member");
    world_done(&w);
    assert_expands(&w, "club:a", "member", "leaf club:a#member: user:tom, user:amy, club:a#member, club:b#member\n");
    world_close(&w);
}

static void depth_counts_as_in_a_check(void **state)
{
    licet_tree          *tree = NULL;
    licet_expand_request request;
    engine_world         w;
    char                 row[64];

    (void)state;
    world_open(&w, NULL, SCHEMA, "");
    for (int i = 0; i < 49; i++) {
        snprintf(row, sizeof row, "shelf:n%d#parent@shelf:n%d", i, i + 1);
        world_touch(&w, row);
        world_done(&w);
    }
    /* 48 arrows, the start and the last one's owner make 50. */
    request  = request_of("shelf:n1", "deep");
    w.status = licet_expand(w.engine, &request, &tree, &w.error);
    world_done(&w);
    assert_int_equal(licet_tree_node_count(tree), 49 * 3);
    licet_tree_release(tree);
    expand_as(&w, "shelf:n0", "deep", LICET_FORMAT_TEXT);
    assert_int_equal(w.status, LICET_LIMIT_EXCEEDED);
    assert_memory_equal(licet_error_reason(w.error).data, "MAXIMUM_DEPTH_EXCEEDED", 22);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
}

static void a_tree_that_is_too_large_is_refused(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;
    char          row[64];

    (void)state;
    options.max_steps = 1000;
    world_open(&w, &options, SCHEMA, "");
    for (int i = 0; i < 1000; i++) {
        snprintf(row, sizeof row, "club:a#member@user:u%d", i);
        world_touch(&w, row);
        world_done(&w);
    }
    expand_as(&w, "club:a", "member", LICET_FORMAT_TEXT);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
                 "max_steps exceeded: the tree has more than 1000 nodes and subjects");
    world_close(&w);
}

static void what_is_wrong_is_told_in_order(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    expand_as(&w, "club:*", "member", LICET_FORMAT_TEXT);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    licet_error_free(w.error);
    w.error = NULL;
    expand_as(&w, "clubs:a", "nosuch", LICET_FORMAT_TEXT);
    assert_int_equal(w.status, LICET_NOT_FOUND);
    assert_memory_equal(licet_error_reason(w.error).data, "UNKNOWN_DEFINITION", 18);
    licet_error_free(w.error);
    w.error = NULL;
    expand_as(&w, "club:a", "nosuch", LICET_FORMAT_TEXT);
    assert_int_equal(w.status, LICET_NOT_FOUND);
    assert_memory_equal(licet_error_reason(w.error).data, "UNKNOWN_RELATION_OR_PERMISSION", 30);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
}

static void wrong_use_is_told(void **state)
{
    licet_expand_request request = request_of("club:a", "all");
    licet_tree_node      node    = { .size = 1 };
    licet_buffer         out     = LICET_BUFFER_INIT;
    licet_tree          *tree    = NULL;
    licet_token          token;
    engine_world         w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    assert_int_equal(licet_expand(w.engine, &request, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_expand(w.engine, NULL, &tree, NULL), LICET_MISUSE);
    assert_int_equal(licet_expand(NULL, &request, &tree, NULL), LICET_MISUSE);
    assert_int_equal(licet_expand(w.engine, &request, &tree, NULL), LICET_OK);
    assert_false(licet_tree_node_at(tree, 0, &node));
    assert_false(licet_tree_node_at(tree, 0, NULL));
    assert_int_equal(licet_tree_format(tree, (licet_format)3, &out, NULL), LICET_MISUSE);
    assert_int_equal(licet_tree_format(tree, LICET_FORMAT_TEXT, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_tree_format(NULL, LICET_FORMAT_TEXT, &out, NULL), LICET_MISUSE);
    assert_null(out.data);
    assert_int_equal(licet_tree_node_count(NULL), 0);
    assert_null(licet_tree_subject(NULL, 0, 0).data);
    licet_tree_token(NULL, &token);
    assert_string_equal(token.text, "");
    licet_tree_release(NULL);
    licet_tree_release(tree);
    licet_close(w.engine);
    assert_int_equal(licet_expand(w.engine, &request, &tree, NULL), LICET_CLOSED);
    assert_null(tree);
    world_close(&w);
}

static void the_past_expands_as_it_was(void **state)
{
    licet_expand_request request = request_of("club:a", "member");
    licet_tree_node      node    = LICET_TREE_NODE_INIT;
    licet_tree          *tree    = NULL;
    licet_token          before;
    engine_world         w;

    (void)state;
    world_open(&w, NULL, SCHEMA, ROWS);
    before = w.token;
    world_delete(&w, "club:a#member@user:tom");
    world_done(&w);
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(before.text), false };
    assert_int_equal(licet_expand(w.engine, &request, &tree, NULL), LICET_OK);
    assert_true(licet_tree_node_at(tree, 0, &node));
    assert_int_equal(node.subject_count, 3);
    licet_tree_release(tree);
    world_close(&w);
}

static void expanding_survives_every_failed_allocation(void **state)
{
    licet_expand_request request = request_of("book:b", "view");
    licet_status         status  = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_never();
        licet_tree    *tree   = NULL;
        licet_error   *error  = NULL;
        licet_buffer   out    = LICET_BUFFER_INIT;
        engine_world   w;

        world_open(&w, &memory.options, SCHEMA, ROWS);
        memory.counts->fail_first = atomic_load(&memory.counts->calls) + n;
        memory.counts->fail_end   = memory.counts->fail_first + 1;
        status                    = licet_expand(w.engine, &request, &tree, &error);
        if (status == LICET_OK)
            status = licet_tree_format(tree, LICET_FORMAT_JSON, &out, &error);
        if (status != LICET_OK) {
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
            assert_null(out.data);
        }
        licet_error_free(error);
        licet_buffer_clear(&out);
        licet_tree_release(tree);
        world_close(&w);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relation_is_a_leaf_of_its_subjects_objects_first),
        cmocka_unit_test(caveats_are_not_shown_and_what_has_expired_is_not_there),
        cmocka_unit_test(a_permission_is_its_operators),
        cmocka_unit_test(an_arrow_has_a_child_for_each_row),
        cmocka_unit_test(a_tree_is_one_json_document),
        cmocka_unit_test(nodes_are_found_by_number),
        cmocka_unit_test(a_cycle_has_no_tree),
        cmocka_unit_test(depth_counts_as_in_a_check),
        cmocka_unit_test(a_tree_that_is_too_large_is_refused),
        cmocka_unit_test(what_is_wrong_is_told_in_order),
        cmocka_unit_test(wrong_use_is_told),
        cmocka_unit_test(the_past_expands_as_it_was),
        cmocka_unit_test(expanding_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
