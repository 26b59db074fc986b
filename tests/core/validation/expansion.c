/* What is found for expected relations: caveats of the rows on the way, arrows, `self`, diamonds and depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine_world.h"

#define SCHEMA                                                                    \
    "schema: |\n"                                                                 \
    "  use self\n"                                                                \
    "  use expiration\n"                                                          \
    "  caveat when(n int) { n == 1 }\n"                                           \
    "  definition user {\n"                                                       \
    "    permission itself = self\n"                                              \
    "  }\n"                                                                       \
    "  definition group {\n"                                                      \
    "    relation member: user | group#member\n"                                  \
    "  }\n"                                                                       \
    "  definition folder {\n"                                                     \
    "    relation owner: group\n"                                                 \
    "    permission any = owner->member\n"                                        \
    "    permission every = owner.all(member)\n"                                  \
    "    permission nobody = nil + owner->nosuch\n"                               \
    "  }\n"                                                                       \
    "  definition doc {\n"                                                        \
    "    relation viewer: user | group#member with when | user with expiration\n" \
    "    relation banned: user | user with when\n"                                \
    "    relation folder: folder with when\n"                                     \
    "    permission view = viewer - banned\n"                                     \
    "    permission inherited = folder->any\n"                                    \
    "  }\n"

/* The first failure's message; "" when all holds. */
static void validate(const char *source, char message[512])
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_finding          finding = LICET_FINDING_INIT;
    licet_report          *report  = NULL;
    licet_engine          *engine  = NULL;

    message[0]   = '\0';
    request.text = text_of(source);
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &engine, NULL), LICET_OK);
    assert_int_equal(licet_validate(engine, &request, &report, NULL), LICET_OK);
    for (size_t i = 0; message[0] == '\0' && licet_report_finding(report, i, &finding); i++)
        if (!finding.is_warning)
            snprintf(message, 512, "%.*s", (int)finding.message.size, finding.message.data);
    licet_report_release(report);
    licet_engine_release(engine);
}

static void assert_valid(const char *source)
{
    char message[512];

    validate(source, message);
    assert_string_equal(message, "");
}

static void a_caveat_on_the_way_is_one_of_all_that_come_by_it(void **state)
{
    (void)state;
    assert_valid(SCHEMA "relationships: |\n"
                        "  doc:one#viewer@group:eng#member[when:{\"n\": 1}]\n"
                        "  doc:one#viewer@user:old[expiration:2001-01-01T00:00:00Z]\n"
                        "  doc:one#viewer@user:new[expiration:2100-01-01T00:00:00Z]\n"
                        "  doc:one#banned@user:tom\n"
                        "  doc:one#banned@user:eve[when]\n"
                        "  doc:one#folder@folder:f[when]\n"
                        "  folder:f#owner@group:eng\n"
                        "  group:eng#member@user:amy\n"
                        "  group:eng#member@user:eve\n"
                        "  group:eng#member@group:sub#member\n"
                        "  group:sub#member@user:tom\n"
                        "validation:\n"
                        "  doc:one#view:\n"
                        "    - '[group:eng#member[...]] is <doc:one#viewer>'\n"
                        "    - '[group:sub#member[...]] is <group:eng#member>'\n"
                        "    - '[user:amy[...]] is <group:eng#member>'\n"
                        "    - '[user:eve[...]] is <group:eng#member>/<doc:one#banned>'\n"
                        "    - '[user:new] is <doc:one#viewer>'\n"
                        "  doc:one#inherited:\n"
                        "    - '[group:sub#member[...]] is <group:eng#member>'\n"
                        "    - '[user:amy[...]] is <group:eng#member>'\n"
                        "    - '[user:eve[...]] is <group:eng#member>'\n"
                        "    - '[user:tom[...]] is <group:sub#member>'\n");
}

static void arrows_self_and_nil_are_followed(void **state)
{
    (void)state;
    assert_valid(SCHEMA "relationships: |\n"
                        "  folder:f#owner@group:eng\n"
                        "  folder:f#owner@group:sub\n"
                        "  group:eng#member@user:amy\n"
                        "  group:eng#member@group:sub#member\n"
                        "  group:sub#member@user:tom\n"
                        "validation:\n"
                        "  folder:f#any:\n"
                        "    - '[user:amy] is <group:eng#member>'\n"
                        "    - '[user:tom] is <group:sub#member>'\n"
                        "    - '[group:sub#member] is <group:eng#member>'\n"
                        "  folder:f#every:\n"
                        "    - '[user:tom] is <group:sub#member>'\n"
                        "  folder:f#nobody: []\n"
                        "  folder:ghost#every: []\n"
                        "  user:amy#itself:\n"
                        "    - '[user:amy] is <user:amy#itself>'\n");
}

/* Groups that all lead to the two of the next layer: a walk along every way would take 2^20 steps. */
static void diamonds_are_walked_once(void **state)
{
    static char source[16384] = SCHEMA "relationships: |\n";
    char        line[96];

    (void)state;
    for (int layer = 0; layer < 20; layer++)
        for (int way = 0; way < 4; way++) {
            snprintf(line, sizeof line, "  group:l%d_%d#member@group:l%d_%d#member\n", layer, way / 2, layer + 1,
                     way % 2);
            strcat(source, line);
        }
    strcat(source, "validation:\n  group:l0_0#member:\n");
    for (int layer = 1; layer <= 20; layer++)
        for (int way = 0; way < 2; way++) {
            snprintf(line, sizeof line, "    - '[group:l%d_%d#member] is <group:l%d_0#member>", layer, way, layer - 1);
            strcat(source, line);
            snprintf(line, sizeof line, "/<group:l%d_1#member>", layer - 1);
            strcat(source, layer == 1 ? "" : line); /* group:l0_1 is not on the way */
            strcat(source, "'\n");
        }
    assert_valid(source);
}

/* Of a path of 25 objects and names the last still counts. */
static void depth_ends_at_twenty_five(void **state)
{
    static char source[8192] = SCHEMA "relationships: |\n";
    char        line[96];
    char        message[512];

    (void)state;
    for (int i = 0; i < 25; i++) {
        snprintf(line, sizeof line, "  group:n%d#member@group:n%d#member\n", i, i + 1);
        strcat(source, line);
    }
    strcat(source, "validation:\n  group:n24#member:\n    - '[group:n25#member] is <group:n24#member>'\n"
                   "  group:n0#member: []\n");
    validate(source, message);
    assert_string_equal(message,
                        "For object and permission/relation `group:n0#member`, the expansion goes deeper than 25 "
                        "objects and names; the relationships may form a cycle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caveat_on_the_way_is_one_of_all_that_come_by_it),
        cmocka_unit_test(arrows_self_and_nil_are_followed),
        cmocka_unit_test(diamonds_are_walked_once),
        cmocka_unit_test(depth_ends_at_twenty_five),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
