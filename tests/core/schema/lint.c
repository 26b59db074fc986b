/* core/schema/lint.c: advice about valid schemas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "licet.h"

typedef struct expected_lint {
    uint32_t    line;
    uint32_t    column;
    const char *message; /* ends with the name in parentheses */
} expected_lint;

static licet_schema *parse(const char *text)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_error         *error   = NULL;

    request.text = (licet_str){ text, strlen(text) };
    if (licet_schema_parse(&request, NULL, &schema, &error) != LICET_OK)
        print_error("%s\nrefused: %.*s\n", text, (int)licet_error_message(error).size, licet_error_message(error).data);
    assert_null(error);
    return schema;
}

static void assert_lint(const licet_schema *schema, size_t index, const expected_lint *expected)
{
    licet_lint lint = LICET_LINT_INIT;
    char       message[2048];
    char       ending[256];

    assert_true(licet_schema_lint(schema, index, &lint));
    assert_int_equal(lint.size, sizeof lint);
    snprintf(message, sizeof message, "%.*s", (int)lint.message.size, lint.message.data);
    snprintf(ending, sizeof ending, " (%.*s)", (int)lint.name.size, lint.name.data);
    assert_string_equal(message, expected->message);
    assert_true(strlen(message) > strlen(ending));
    assert_string_equal(message + strlen(message) - strlen(ending), ending);
    assert_int_equal(lint.line, expected->line);
    assert_int_equal(lint.column, expected->column);
}

static void assert_lints(const char *text, const expected_lint *expected, size_t count)
{
    licet_schema *schema = parse(text);

    assert_int_equal(licet_schema_lint_count(schema), count);
    for (size_t i = 0; i < count; i++)
        assert_lint(schema, i, &expected[i]);
    licet_schema_release(schema);
}

#define LINTS(...) \
    (const expected_lint[]){ __VA_ARGS__ }, sizeof((const expected_lint[]){ __VA_ARGS__ }) / sizeof(expected_lint)

#define USER "definition user {}\n"

static void a_tidy_schema_has_no_lints(void **state)
{
    (void)state;
    assert_lints("", NULL, 0);
    assert_lints(USER "definition folder {\n\trelation viewer: user\n\tpermission view = viewer\n}\n"
                      "definition doc {\n\trelation parent: folder\n\tpermission view = parent->view\n}",
                 NULL, 0);
}

static void a_name_need_not_repeat_its_definition(void **state)
{
    (void)state;
    assert_lints(
        USER "definition doc {\n\trelation viewer_doc: user\n\tpermission view_doc = viewer_doc\n}",
        LINTS({ 3, 2,
                "Relation \"viewer_doc\" references parent type \"doc\" in its name; it is recommended to drop the "
                "suffix (relation-name-references-parent)" },
              { 4, 2,
                "Permission \"view_doc\" references parent type \"doc\" in its name; it is recommended to drop the "
                "suffix (relation-name-references-parent)" }));
    /* The full name, prefixes included, which no relation can end with. */
    assert_lints(USER "definition acme/doc {\n\trelation viewer_doc: user\n}", NULL, 0);
}

static void a_permission_need_not_name_itself(void **state)
{
    (void)state;
    assert_lints(USER "definition doc {\n\trelation viewer: user\n\tpermission view = viewer + (view & viewer)\n}",
                 LINTS({ 4, 30,
                         "Permission \"view\" references itself, which adds nobody and costs depth "
                         "(permission-references-itself)" }));
}

#define FOLDER "definition folder {\n\trelation viewer: user\n\tpermission view = viewer\n}\n"

static void an_arrow_should_lead_to_a_permission(void **state)
{
    (void)state;
    assert_lints(
        USER FOLDER "definition doc {\n\trelation parent: folder\n\tpermission view = nil + parent->viewer\n}",
        LINTS({ 8, 26,
                "Arrow `parent->viewer` under permission \"view\" references relation \"viewer\" on definition "
                "\"folder\"; it is recommended to point to a permission (arrow-references-relation)" }));
    /* In its own definition that is fine. */
    assert_lints(USER "definition doc {\n\trelation parent: doc\n\trelation viewer: user\n\tpermission view = "
                      "parent->viewer\n}",
                 NULL, 0);
}

static void an_arrow_should_lead_somewhere(void **state)
{
    (void)state;
    assert_lints(
        USER FOLDER "definition doc {\n\trelation parent: folder | user\n\tpermission view = parent.all(nowhere)\n"
                    "\tpermission edit = parent.any(view)\n\tpermission read = parent.any(edit)\n}",
        LINTS({ 8, 20,
                "Arrow `parent.all(nowhere)` under permission \"view\" references relation/permission \"nowhere\" "
                "that does not exist on any subject types of relation \"parent\" "
                "(arrow-references-unreachable-relation)" },
              { 10, 20,
                "Arrow `parent.any(edit)` under permission \"read\" references relation/permission \"edit\" "
                "that does not exist on any subject types of relation \"parent\" "
                "(arrow-references-unreachable-relation)" }));
}

static void an_arrow_ignores_subject_relations(void **state)
{
    (void)state;
    assert_lints(
        USER FOLDER "definition doc {\n\trelation parent: user | folder#viewer\n\tpermission view = parent->view\n}",
        LINTS({ 8, 20,
                "Arrow `parent->view` under permission \"view\" references relation \"parent\" that has relation "
                "\"viewer\" on subject \"folder\": *the subject relation will be ignored for the arrow* "
                "(arrow-walks-subject-relation)" }));
}

static void a_wildcard_that_the_cache_hid_is_told(void **state)
{
    (void)state;
    assert_lints(
        USER "definition org {\n\trelation member: user\n}\ndefinition team {\n\trelation member: user:*\n}\n"
             "definition doc1 {\n\trelation viewer: org#member\n}\n"
             "definition doc2 {\n\trelation viewer: user | team#member\n}",
        LINTS({ 12, 26,
                "Relation \"viewer\" includes a wildcard through \"team#member\", which the schema check missed "
                "because another relation has its name (relation-includes-wildcard)" }));
    assert_lints(
        USER "definition one {\n\trelation par: one\n\tpermission view = par->view\n}\n"
             "definition two {\n\trelation par: one:*\n\tpermission view = par->view\n}",
        LINTS({ 8, 20,
                "Arrow `par->view` under permission \"view\" walks relation \"par\" that includes a wildcard, "
                "which the schema check missed because another relation has its name (arrow-over-wildcard)" }));
}

static void a_cycle_through_operators_is_told_once(void **state)
{
    (void)state;
    assert_lints(
        USER "definition doc {\n\trelation rel: user\n\tpermission aaa = bbb\n\tpermission bbb = ccc & rel\n"
             "\tpermission ccc = aaa + rel\n\tpermission ddd = aaa\n}",
        LINTS({ 4, 2, "Permissions form a cycle: aaa (4:2) -> bbb (5:2) -> ccc (6:2) -> aaa (permission-cycle)" }));
}

static void a_caveat_that_no_relationship_can_name_is_told(void **state)
{
    (void)state;
    assert_lints(
        "caveat late/shift(num int) { num > 1 }\ncaveat sp\xc3\xa4t(num int) { num > 1 }\n",
        LINTS({ 2, 1, "Caveat \"sp\xc3\xa4t\" has a name that no relationship can spell (caveat-name-unspellable)" }));
}

static void what_the_grammar_swallows_is_told(void **state)
{
    (void)state;
    assert_lints("use expiration\ncaveat cav(num int) { num > 1 }\n" USER
                 "definition doc {\n\trelation viewer: user with cav and\n}",
                 LINTS({ 5, 33,
                         "An `and` behind a caveat is not followed by `expiration` and means nothing "
                         "(and-without-expiration)" }));
    assert_lints("use partial\npartial one {}\npartial two {}\npartial one {}\n" USER,
                 LINTS({ 4, 1,
                         "A partial is defined again; the later definition replaces the earlier one "
                         "(partial-defined-twice)" }));
}

static void a_comment_silences_one_lint_of_one_member(void **state)
{
    static const char text[] = USER
        "definition doc {\n\t// spicedb-ignore-warning: relation-name-references-parent\n\trelation viewer_doc: user\n"
        "\t// spicedb-ignore-warning: permission-references-itself\n\tpermission view_doc = view_doc + viewer_doc\n"
        "\t// spicedb-ignore-warning: permission-references-itself, please\n\tpermission view = view + viewer_doc\n}";

    (void)state;
    assert_lints(
        text,
        LINTS({ 6, 2,
                "Permission \"view_doc\" references parent type \"doc\" in its name; it is recommended to drop the "
                "suffix (relation-name-references-parent)" },
              { 8, 20,
                "Permission \"view\" references itself, which adds nobody and costs depth "
                "(permission-references-itself)" }));
}

static void lints_come_by_position(void **state)
{
    (void)state;
    assert_lints(
        "use partial\npartial one {\n\trelation bbb_doc: user\n}\n" USER
        "definition doc {\n\trelation aaa_doc: user\n\t...one\n}",
        LINTS({ 3, 2,
                "Relation \"bbb_doc\" references parent type \"doc\" in its name; it is recommended to drop the "
                "suffix (relation-name-references-parent)" },
              { 7, 2,
                "Relation \"aaa_doc\" references parent type \"doc\" in its name; it is recommended to drop the "
                "suffix (relation-name-references-parent)" }));
}

static void no_more_than_1000_lints_are_kept(void **state)
{
    static char   text[128 * 1024];
    size_t        size = 0;
    licet_schema *schema;
    licet_lint    lint = LICET_LINT_INIT;

    (void)state;
    size += (size_t)snprintf(text + size, sizeof text - size, USER "definition doc {\n");
    for (int i = 0; i < 1200; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "relation r%04d_doc: user\n", i);
    snprintf(text + size, sizeof text - size, "}");
    schema = parse(text);
    assert_int_equal(licet_schema_lint_count(schema), 1000);
    assert_true(licet_schema_lint(schema, 999, &lint));
    assert_int_equal(lint.line, 1002);
    assert_false(licet_schema_lint(schema, 1000, &lint));
    licet_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tidy_schema_has_no_lints),
        cmocka_unit_test(a_name_need_not_repeat_its_definition),
        cmocka_unit_test(a_permission_need_not_name_itself),
        cmocka_unit_test(an_arrow_should_lead_to_a_permission),
        cmocka_unit_test(an_arrow_should_lead_somewhere),
        cmocka_unit_test(an_arrow_ignores_subject_relations),
        cmocka_unit_test(a_wildcard_that_the_cache_hid_is_told),
        cmocka_unit_test(a_cycle_through_operators_is_told_once),
        cmocka_unit_test(a_caveat_that_no_relationship_can_name_is_told),
        cmocka_unit_test(what_the_grammar_swallows_is_told),
        cmocka_unit_test(a_comment_silences_one_lint_of_one_member),
        cmocka_unit_test(lints_come_by_position),
        cmocka_unit_test(no_more_than_1000_lints_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
