/* Trees of random permissions over random relationships: every leaf holds what is stored, and folding the tree by its
 * operators gives what checks and lookups say, as long as nothing hangs on a caveat. */
#include "engine_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096, WORLDS = 200 };

static uint64_t random_state;

static unsigned pick(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % below;
}

static void add(char *text, const char *more)
{
    assert_true(strlen(text) + strlen(more) < TEXT);
    strcat(text, more);
}

/* Names of permissions come before those that use them, and arrows go to item from folder: there are no cycles. */
static void add_expression(char *text, const char *const *operands, unsigned count, unsigned depth)
{
    static const char *const operators[] = { " + ", " - ", " & " };

    if (depth == 0 || pick(4) == 0) {
        add(text, operands[pick(count)]);
        return;
    }
    add(text, "(");
    add_expression(text, operands, count, depth - 1);
    add(text, operators[pick(3)]);
    add_expression(text, operands, count, depth - 1);
    add(text, ")");
}

static void make_schema(char *text)
{
    static const char *const of_folder[] = { "viewer", "member", "nil", "per0", "self" };
    static const char *const of_item[]   = { "viewer",           "member",         "per0",          "folder->per1",
                                             "folder.all(per1)", "folder->nosuch", "folder->viewer" };

    strcpy(text, "use self\nuse expiration\ndefinition user {}\n"
                 "definition folder {\n"
                 "  relation viewer: user | user:* | user with expiration\n"
                 "  relation member: user\n"
                 "  permission per0 = ");
    add_expression(text, of_folder, 3, 2);
    add(text, "\n  permission per1 = ");
    add_expression(text, of_folder, 5, 3);
    add(text, "\n}\ndefinition item {\n"
              "  relation folder: folder | folder with expiration\n"
              "  relation viewer: user | user:* | folder#member\n"
              "  relation member: user\n"
              "  permission per0 = ");
    add_expression(text, of_item, 2, 2);
    add(text, "\n  permission per1 = ");
    add_expression(text, of_item, 7, 3);
    add(text, "\n}\n");
}

static void write_rows(engine_world *w)
{
    static const char *const rows[]  = { "folder:%c#viewer@user:%c", "folder:%c#member@user:%c",
                                         "item:%c#folder@folder:%c", "item:%c#viewer@user:%c",
                                         "item:%c#member@user:%c",   "item:%c#viewer@folder:%c#member" };
    static const char *const wilds[] = { "folder:a#viewer@user:*", "item:a#viewer@user:*",
                                         "folder:b#viewer@user:c[expiration:2001-01-01T00:00:00Z]",
                                         "folder:c#viewer@user:c[expiration:2100-01-01T00:00:00Z]",
                                         "item:a#folder@folder:c[expiration:2001-01-01T00:00:00Z]" };
    char                     row[96];

    for (unsigned i = 0; i < 5; i++)
        if (pick(2) == 0)
            world_touch(w, wilds[i]);
    for (unsigned i = 5 + pick(25); i > 0; i--) {
        const char *pattern = rows[pick(6)];
        char       *at      = row;

        for (; *pattern != '\0'; pattern++) {
            if (*pattern == '%') {
                *at++ = (char)('a' + pick(3));
                pattern++;
            } else {
                *at++ = *pattern;
            }
        }
        *at = '\0';
        world_touch(w, row);
        world_done(w);
    }
}

/* -------------------------------------------------------------------- folding */

/* Is the user in a leaf? Usersets of these worlds hold users alone. */
static bool leaf_holds(engine_world *w, const licet_tree *tree, size_t index, const licet_tree_node *leaf,
                       const char *user)
{
    for (size_t i = 0; i < leaf->subject_count; i++) {
        const licet_str subject = licet_tree_subject(tree, index, i);
        char            text[64];
        char           *hash;

        memcpy(text, subject.data, subject.size);
        text[subject.size] = '\0';
        hash               = strchr(text, '#');
        if (strcmp(text, user) == 0 || strcmp(text, "user:*") == 0)
            return true;
        if (hash == NULL)
            continue;
        *hash = '\0';
        if (world_allowed(w, text, hash + 1, user))
            return true;
    }
    return false;
}

/* By recursion: the trees are small. */
static bool holds(engine_world *w, const licet_tree *tree, size_t index, const char *user)
{
    licet_tree_node node   = LICET_TREE_NODE_INIT;
    bool            result = false;

    assert_true(licet_tree_node_at(tree, index, &node));
    if (node.kind == LICET_TREE_LEAF)
        return leaf_holds(w, tree, index, &node, user);
    for (size_t i = 0; i < node.child_count; i++) {
        const bool child = holds(w, tree, node.first_child + i, user);

        if (i == 0)
            result = child;
        else
            result = node.kind == LICET_TREE_UNION          ? result || child
                     : node.kind == LICET_TREE_INTERSECTION ? result && child
                                                            : result && !child;
    }
    return result;
}

/* A leaf of a relation holds what a read of it gives. */
static void assert_leaf_is_stored(engine_world *w, const licet_tree *tree, size_t index, const licet_tree_node *leaf)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    const licet_str    colon   = { memchr(leaf->resource.data, ':', leaf->resource.size), 0 };
    size_t             lines   = 0;
    char               line[160];

    request.filter.resource_type = (licet_str){ leaf->resource.data, (size_t)(colon.data - leaf->resource.data) };
    request.filter.resource_id =
        (licet_str){ colon.data + 1, leaf->resource.size - request.filter.resource_type.size - 1 };
    request.filter.relation = leaf->relation;
    world_read(w, &request);
    world_done(w);
    for (const char *at = w->text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, leaf->subject_count);
    for (size_t i = 0; i < leaf->subject_count; i++) {
        const licet_str subject = licet_tree_subject(tree, index, i);

        snprintf(line, sizeof line, "%.*s#%.*s@%.*s", (int)leaf->resource.size, leaf->resource.data,
                 (int)leaf->relation.size, leaf->relation.data, (int)subject.size, subject.data);
        assert_non_null(strstr(w->text, line));
    }
}

static size_t leaves, answers, granted;

static void assert_tree_is_right(engine_world *w, const char *resource, const char *permission)
{
    static const char *const users[] = { "user:a", "user:b", "user:c", "user:nobody" };
    licet_expand_request     request = LICET_EXPAND_REQUEST_INIT;
    licet_tree_node          node    = LICET_TREE_NODE_INIT;
    licet_tree              *tree    = NULL;

    request.resource   = text_of(resource);
    request.permission = text_of(permission);
    assert_int_equal(licet_expand(w->engine, &request, &tree, NULL), LICET_OK);
    for (size_t i = 0; i < licet_tree_node_count(tree); i++) {
        assert_true(licet_tree_node_at(tree, i, &node));
        assert_true(node.child_count == 0 || node.first_child > i);
        if (node.kind != LICET_TREE_LEAF || memcmp(node.relation.data, "per", 3) == 0)
            continue;
        assert_leaf_is_stored(w, tree, i, &node);
        leaves++;
    }
    for (size_t i = 0; i < 4; i++) {
        const bool allowed = world_allowed(w, resource, permission, users[i]);

        assert_int_equal(holds(w, tree, 0, users[i]), allowed);
        answers++;
        granted += allowed;
    }
    licet_tree_release(tree);
}

static void leaves_hold_what_is_stored_and_trees_fold_to_what_checks_say(void **state)
{
    static const char *const resources[]   = { "item:a", "item:b", "item:c", "folder:a", "folder:b", "item:ghost" };
    static const char *const permissions[] = { "per0", "per1", "viewer" };
    char                     schema[TEXT];

    (void)state;
    random_state = 20260901;
    for (unsigned n = 0; n < WORLDS; n++) {
        engine_world w;

        make_schema(schema);
        world_open(&w, NULL, schema, NULL);
        write_rows(&w);
        for (size_t i = 0; i < 6; i++)
            for (size_t j = 0; j < 3; j++)
                assert_tree_is_right(&w, resources[i], permissions[j]);
        world_close(&w);
    }
    print_message("%zu leaves; %zu answers, %zu of them yes\n", leaves, answers, granted);
    assert_true(granted > answers / 10 && granted < answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_hold_what_is_stored_and_trees_fold_to_what_checks_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
