/* core/schema/{diff,dependents,reflect,report}.c: comparing and describing schemas (schema.md 16 and 17). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "licet.h"

static char printed[16384];

static licet_schema *schema_of(const char *text)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_error         *error   = NULL;

    request.text = (licet_str){ text, strlen(text) };
    if (licet_schema_parse(&request, NULL, &schema, &error) != LICET_OK)
        fail_msg("%.*s", (int)licet_error_message(error).size, licet_error_message(error).data);
    return schema;
}

static void print_part(const char *before, licet_str part)
{
    if (part.size > 0)
        sprintf(printed + strlen(printed), "%s%.*s", before, (int)part.size, part.data);
}

/* "kind definition#name caveat.parameter: before -> after" */
static const char *entries_of(licet_schema_report *report)
{
    licet_schema_entry entry = LICET_SCHEMA_ENTRY_INIT;

    printed[0] = '\0';
    for (size_t i = 0; licet_schema_report_entry(report, i, &entry); i++) {
        print_part("", entry.kind);
        print_part(" ", entry.definition);
        print_part("#", entry.name);
        print_part(" ", entry.caveat);
        print_part(".", entry.parameter);
        print_part(": ", entry.before);
        print_part(" -> ", entry.after);
        strcat(printed, "\n");
    }
    licet_schema_report_release(report);
    return printed;
}

static const char *difference(const char *before, const char *after)
{
    licet_schema        *one    = schema_of(before);
    licet_schema        *other  = schema_of(after);
    licet_schema_report *report = NULL;

    assert_int_equal(licet_schema_diff(one, other, &report, NULL), LICET_OK);
    licet_schema_release(one);
    licet_schema_release(other);
    return entries_of(report);
}

static void each_kind_of_change_is_told_once(void **state)
{
    (void)state;
    assert_string_equal(difference("definition user {}", "definition user {}"), "");
    assert_string_equal(difference("definition user {}\ndefinition old {\n relation x_y: user\n}",
                                   "definition user {}\ndefinition new {}"),
                        "definition_added new\ndefinition_removed old\n");
    assert_string_equal(difference("/** one */\ndefinition user {}", "/** two */\ndefinition user {}"),
                        "definition_doc_comment_changed user: /** one */ -> /** two */\n");
    assert_string_equal(difference("definition user {}\ndefinition doc {\n relation own: user\n relation was: user\n}",
                                   "definition user {}\ndefinition doc {\n relation own: user\n relation now: user\n}"),
                        "relation_added doc#now -> user\nrelation_removed doc#was: user\n");
    assert_string_equal(
        difference("definition user {}\ndefinition doc {\n /* a */\n relation own: user | user:*\n}",
                   "definition user {}\ndefinition doc {\n /* b */\n relation own: doc#own | user\n}"),
        "relation_doc_comment_changed doc#own: /* a */ -> /* b */\nrelation_subject_type_added doc#own -> doc#own\n"
        "relation_subject_type_removed doc#own: user:*\n");
    assert_string_equal(
        difference("definition user {}\ndefinition doc {\n relation own: user\n permission see = own\n permission old "
                   "= own\n}",
                   "definition user {}\ndefinition doc {\n relation own: user\n // why\n permission see = own - own\n "
                   "permission new = own\n}"),
        "permission_added doc#new -> own\npermission_removed doc#old: own\npermission_doc_comment_changed doc#see -> "
        "// why\npermission_expr_changed doc#see: own -> own - own\n");
    assert_string_equal(difference("definition user {}\ndefinition doc {\n relation own: user\n}",
                                   "definition user {}\ndefinition doc {\n permission own = nil\n}"),
                        "permission_added doc#own -> nil\nrelation_removed doc#own: user\n");
}

static void each_kind_of_change_of_a_caveat_is_told(void **state)
{
    (void)state;
    assert_string_equal(difference("caveat old(n int) {\n n == 1\n}", "caveat new(n int) {\n n == 1\n}"),
                        "caveat_added new\ncaveat_removed old\n");
    assert_string_equal(
        difference("// a\ncaveat cav(n int, m int, k int) {\n n == m && k == 1\n}",
                   "// b\ncaveat cav(n int, m uint, z list<string>) {\n n == 1 && m == 1 && z == []\n}"),
        "caveat_doc_comment_changed cav: // a -> // b\n"
        "caveat_expr_changed cav: n == m && k == 1 -> n == 1 && m == 1 && z == []\n"
        "caveat_parameter_removed cav.k: int\n"
        "caveat_parameter_type_changed cav.m: int -> uint\n"
        "caveat_parameter_added cav.z -> list<string>\n");
}

static void what_means_the_same_is_no_change(void **state)
{
    (void)state;
    assert_string_equal(
        difference(
            "definition user {}\ndefinition doc {\n relation aaa: user\n relation bbb: user\n relation ccc: "
            "user\n permission see = aaa + (bbb + ccc)\n}\ncaveat cav(n int) {\n n==1\n}",
            "caveat cav(n int) {\n   n == 1\n}\n\ndefinition doc {\n permission see = aaa + bbb + ccc\n relation "
            "ccc: user\n relation bbb: user\n relation aaa: user\n}\ndefinition user {}"),
        "");
}

static const char WORLD[] = "use self\n"
                            "definition user {\n permission mine = self\n}\n"
                            "definition group {\n relation member: user | group#member\n relation open: user:*\n}\n"
                            "definition folder {\n relation parent: folder\n relation viewer: user | group#member\n"
                            " permission view = viewer + parent->view\n permission odd = nil\n}\n"
                            "definition document {\n relation folder: folder\n relation owner: user\n"
                            " relation banned: group#member\n permission view = (owner & folder->view) - banned\n}\n";

/* Exactly this message; ends the error. */
static void error_says(licet_error *error, const char *message)
{
    const licet_str said = licet_error_message(error);

    assert_int_equal(said.size, strlen(message));
    assert_memory_equal(said.data, message, said.size);
    licet_error_free(error);
}

static const char *computable(const char *definition, const char *relation, const char *prefix)
{
    licet_schema        *schema = schema_of(WORLD);
    licet_schema_report *report = NULL;

    assert_int_equal(licet_schema_computable_permissions(schema, (licet_str){ definition, strlen(definition) },
                                                         (licet_str){ relation, strlen(relation) },
                                                         (licet_str){ prefix, strlen(prefix) }, &report, NULL),
                     LICET_OK);
    licet_schema_release(schema);
    return entries_of(report);
}

static void what_is_computed_from_a_relation_is_found_to_the_end(void **state)
{
    (void)state;
    assert_string_equal(computable("group", "member", ""),
                        "relation document#banned\npermission document#view\npermission folder#view\n"
                        "relation folder#viewer\n");
    assert_string_equal(computable("group", "member", "fol"), "permission folder#view\nrelation folder#viewer\n");
    assert_string_equal(computable("document", "owner", ""), "permission document#view\n");
    assert_string_equal(computable("folder", "parent", ""), "");
    assert_string_equal(computable("user", "", ""),
                        "relation document#banned\nrelation document#owner\npermission document#view\n"
                        "permission folder#view\nrelation folder#viewer\nrelation group#member\nrelation group#open\n"
                        "permission user#mine\n");
    assert_string_equal(computable("user", "mine", ""), "relation group#open\n");
}

static void what_a_permission_depends_on_is_found_to_the_end(void **state)
{
    licet_schema        *schema = schema_of(WORLD);
    licet_schema_report *report = NULL;
    licet_error         *error  = NULL;

    (void)state;
    assert_int_equal(licet_schema_dependent_relations(schema, LICET_STR("document"), LICET_STR("view"), &report, NULL),
                     LICET_OK);
    assert_string_equal(entries_of(report),
                        "relation document#banned\nrelation document#folder\nrelation document#owner\n"
                        "relation folder#parent\npermission folder#view\nrelation folder#viewer\n"
                        "relation group#member\n");
    assert_int_equal(licet_schema_dependent_relations(schema, LICET_STR("folder"), LICET_STR("view"), &report, NULL),
                     LICET_OK);
    assert_string_equal(entries_of(report), "relation folder#parent\nrelation folder#viewer\nrelation group#member\n");
    assert_int_equal(
        licet_schema_dependent_relations(schema, LICET_STR("document"), LICET_STR("owner"), &report, &error),
        LICET_INVALID_ARGUMENT);
    assert_null(report);
    error_says(error, "the relation \"owner\" is not a permission");
    assert_int_equal(licet_schema_dependent_relations(schema, LICET_STR("nosuch"), LICET_STR("view"), &report, &error),
                     LICET_NOT_FOUND);
    assert_string_equal(licet_error_reason(error).data, "UNKNOWN_DEFINITION");
    error_says(error, "object definition \"nosuch\" not found");
    assert_int_equal(licet_schema_computable_permissions(schema, LICET_STR("folder"), LICET_STR("nosuch"),
                                                         (licet_str){ NULL, 0 }, &report, &error),
                     LICET_NOT_FOUND);
    error_says(error, "relation/permission \"nosuch\" not found under definition \"folder\"");
    licet_schema_release(schema);
}

static const char *reflected(const licet_reflection_filter *filters, size_t count)
{
    licet_schema *schema = schema_of("use expiration\n/** who */\ndefinition user {}\n"
                                     "caveat cav(m string, n int) {\n n==1 && m == \"x\"\n}\n"
                                     "definition doc {\n relation own: user | user:* | doc#own with cav | user with "
                                     "expiration\n // one\n // two\n permission see = own\n}");
    licet_buffer  json   = LICET_BUFFER_INIT;
    licet_error  *error  = NULL;

    if (licet_schema_reflect(schema, filters, count, &json, &error) == LICET_OK)
        snprintf(printed, sizeof printed, "%.*s", (int)json.size, json.data);
    else
        snprintf(printed, sizeof printed, "%s: %.*s", licet_error_reason(error).data,
                 (int)licet_error_message(error).size, licet_error_message(error).data);
    licet_error_free(error);
    licet_buffer_clear(&json);
    licet_schema_release(schema);
    return printed;
}

static void a_schema_is_described_as_json(void **state)
{
    (void)state;
    assert_string_equal(
        reflected(NULL, 0),
        "{\"definitions\": [{\"name\": \"doc\", \"comment\": \"\", \"relations\": [{\"name\": \"own\", \"comment\": "
        "\"\", \"subject_types\": [{\"definition\": \"user\", \"is_terminal_subject\": true}, {\"definition\": "
        "\"user\", \"is_public_wildcard\": true}, {\"definition\": \"doc\", \"relation\": \"own\", \"caveat\": "
        "\"cav\"}, {\"definition\": \"user\", \"is_terminal_subject\": true, \"expiration\": true}]}], "
        "\"permissions\": [{\"name\": \"see\", \"comment\": \"// one\\n// two\"}]}, {\"name\": \"user\", \"comment\": "
        "\"/** who */\", \"relations\": [], \"permissions\": []}], \"caveats\": [{\"name\": \"cav\", \"comment\": "
        "\"\", \"parameters\": [{\"name\": \"m\", \"type\": \"string\"}, {\"name\": \"n\", \"type\": \"int\"}], "
        "\"expression\": \"n == 1 && m == \\\"x\\\"\"}]}");
}

static void a_description_is_filtered_by_prefixes(void **state)
{
    licet_reflection_filter filters[2] = { LICET_REFLECTION_FILTER_INIT, LICET_REFLECTION_FILTER_INIT };

    (void)state;
    assert_string_equal(reflected(filters, 1), "{\"definitions\": [], \"caveats\": []}");
    filters[0].definition = LICET_STR("us");
    assert_string_equal(reflected(filters, 1),
                        "{\"definitions\": [{\"name\": \"user\", \"comment\": \"/** who */\", \"relations\": [], "
                        "\"permissions\": []}], \"caveats\": []}");
    filters[0].definition = LICET_STR("doc");
    filters[0].relation   = LICET_STR("nope");
    assert_string_equal(reflected(filters, 1),
                        "{\"definitions\": [{\"name\": \"doc\", \"comment\": \"\", \"relations\": [], "
                        "\"permissions\": [{\"name\": \"see\", \"comment\": \"// one\\n// two\"}]}], \"caveats\": []}");
    filters[0].permission = LICET_STR("see");
    assert_string_equal(reflected(filters, 1), "INVALID_FILTER: filter 1: relation and permission exclude each other");
    filters[1].relation   = LICET_STR("own");
    filters[0].permission = (licet_str){ NULL, 0 };
    assert_string_equal(reflected(filters, 2),
                        "INVALID_FILTER: filter 2: definition must be given with relation or permission");
    filters[0].caveat = LICET_STR("cav");
    assert_string_equal(reflected(filters, 2), "INVALID_FILTER: filter 1: definition and caveat exclude each other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_change_is_told_once),
        cmocka_unit_test(each_kind_of_change_of_a_caveat_is_told),
        cmocka_unit_test(what_means_the_same_is_no_change),
        cmocka_unit_test(what_is_computed_from_a_relation_is_found_to_the_end),
        cmocka_unit_test(what_a_permission_depends_on_is_found_to_the_end),
        cmocka_unit_test(a_schema_is_described_as_json),
        cmocka_unit_test(a_description_is_filtered_by_prefixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
