/* core/validation: whole files, through licet_validate(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failing_memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define SCHEMA                                            \
    "schema: |\n"                                         \
    "  definition user {}\n"                              \
    "  definition group {\n"                              \
    "    relation member: user | group#member\n"          \
    "  }\n"                                               \
    "  definition doc {\n"                                \
    "    relation viewer: user | user:* | group#member\n" \
    "    relation banned: user\n"                         \
    "    permission view = viewer - banned\n"             \
    "  }\n"

#define SCHEMA_LINES 10

typedef struct outcome {
    licet_engine *engine;
    licet_report *report;
    licet_error  *error;
    licet_status  status;
} outcome;

static licet_str text(const char *literal)
{
    return (licet_str){ literal, strlen(literal) };
}

static outcome validate(const char *source, const char *folder)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    outcome                o       = { NULL, NULL, NULL, LICET_OK };

    request.text = text(source);
    if (folder != NULL)
        request.folder = text(folder);
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &o.engine, NULL), LICET_OK);
    o.status = licet_validate(o.engine, &request, &o.report, &o.error);
    return o;
}

static void end(outcome *o)
{
    licet_report_release(o->report);
    licet_error_free(o->error);
    licet_engine_release(o->engine);
}

static licet_report_counts counts_of(const outcome *o)
{
    licet_report_counts counts = LICET_REPORT_COUNTS_INIT;

    licet_report_count(o->report, &counts);
    return counts;
}

static void assert_finding(const outcome *o, size_t index, const char *kind, uint32_t line, const char *message)
{
    licet_finding finding = LICET_FINDING_INIT;
    char          printed[2048];

    assert_true(licet_report_finding(o->report, index, &finding));
    snprintf(printed, sizeof printed, "%u %.*s: %.*s", finding.line, (int)finding.kind.size, finding.kind.data,
             (int)finding.message.size, finding.message.data);
    {
        char wanted[2048];

        snprintf(wanted, sizeof wanted, "%u %s: %s", line, kind, message);
        assert_string_equal(printed, wanted);
    }
}

static void a_file_that_holds_has_no_findings(void **state)
{
    outcome             o      = validate(SCHEMA "relationships: |\n"
                                                                  "  group:eng#member@user:amy\n"
                                                                  "  // a comment\n"
                                                                  "\n"
                                                                  "  group:all#member@group:eng#member\n"
                                                                  "  doc:one#viewer@group:all#member\n"
                                                                  "  doc:one#viewer@user:tom\n"
                                                                  "  doc:one#banned@user:tom\n"
                                                                  "assertions:\n"
                                                                  "  assertTrue:\n"
                                                                  "    - doc:one#view@user:amy\n"
                                                                  "    - doc:one#view@group:eng#member\n"
                                                                  "    - doc:one#view@group:all#member\n"
                                                                  "  assertFalse:\n"
                                                                  "    - doc:one#view@user:tom\n"
                                                                  "validation:\n"
                                                                  "  doc:one#view:\n"
                                                                  "    - '[group:all#member] is <doc:one#viewer>'\n"
                                                                  "    - '[group:eng#member] is <group:all#member>'\n"
                                                                  "    - '[user:amy] is <group:eng#member>'\n",
                                          NULL);
    licet_report_counts counts = LICET_REPORT_COUNTS_INIT;

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    counts = counts_of(&o);
    assert_int_equal(counts.relationships, 5);
    assert_int_equal(counts.assertions, 4);
    assert_int_equal(counts.expected_relations, 3);
    assert_int_equal(counts.failures, 0);
    assert_int_equal(counts.warnings, 0);
    end(&o);
}

static void assertions_that_do_not_hold_are_all_reported_in_spicedbs_order(void **state)
{
    outcome o = validate(SCHEMA "relationships: doc:one#viewer@user:tom\n"
                                "assertions:\n"
                                "  assertFalse:\n"
                                "    - doc:one#view@user:tom\n"
                                "  assertTrue:\n"
                                "    - doc:one#view@user:eve\n"
                                "    - doc:one#nope@user:tom\n"
                                "    - nope:one#view@user:tom\n"
                                "    - doc:one#view@user:*\n"
                                "  assertCaveated:\n"
                                "    - doc:one#view@user:tom\n"
                                "    - doc:one#view@user:tom[cav]\n",
                         NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).assertions, 7);
    assert_int_equal(counts_of(&o).failures, 7);
    assert_finding(&o, 0, "ASSERTION_FAILED", SCHEMA_LINES + 6,
                   "Expected relation or permission doc:one#view@user:eve to exist");
    assert_finding(&o, 1, "UNKNOWN_RELATION", SCHEMA_LINES + 7,
                   "assertion `doc:one#nope@user:tom`: relation/permission `nope` not found under definition `doc`");
    assert_finding(&o, 2, "UNKNOWN_OBJECT_TYPE", SCHEMA_LINES + 8,
                   "assertion `nope:one#view@user:tom`: object definition `nope` not found");
    assert_finding(&o, 3, "ASSERTION_FAILED", SCHEMA_LINES + 9,
                   "assertion `doc:one#view@user:*`: subject: a check can not be about the wildcard");
    assert_finding(&o, 4, "ASSERTION_FAILED", SCHEMA_LINES + 11,
                   "Expected relation or permission doc:one#view@user:tom to be caveated");
    assert_finding(&o, 5, "UNKNOWN_RELATION", SCHEMA_LINES + 12,
                   "cannot specify a caveat on an assertion: `doc:one#view@user:tom[cav]`");
    assert_finding(&o, 6, "ASSERTION_FAILED", SCHEMA_LINES + 4,
                   "Expected relation or permission doc:one#view@user:tom to not exist");
    end(&o);
}

static void expected_relations_that_differ_say_how(void **state)
{
    outcome o = validate(SCHEMA "relationships: |\n"
                                "  doc:one#viewer@user:tom\n"
                                "  doc:one#viewer@user:*\n"
                                "  doc:one#banned@user:eve\n"
                                "validation:\n"
                                "  doc:one#view:\n"
                                "    - '[user:tom] is <doc:one#banned>'\n"
                                "    - '[user:nobody] is <doc:one#viewer>'\n"
                                "    - '[user:* - {user:max}] is <doc:one#viewer>'\n"
                                "    - 'nothing in brackets'\n"
                                "  doc:one#banned:\n"
                                "  doc:one#viewer:\n"
                                "    - '[user:tom[...] - {user:eve}] is <doc:one#viewer>'\n"
                                "    - '[user:*] is <doc:one#viewer>'\n"
                                "  doc:one#nope: []\n",
                         NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).expected_relations, 6);
    assert_finding(&o, 0, "MISSING_EXPECTED_RELATIONSHIP", SCHEMA_LINES + 7,
                   "For object and permission/relation `doc:one#view`, found different relationships for subject "
                   "`user:tom`: Specified: `<doc:one#banned>`, Computed: `<doc:one#viewer>`");
    assert_finding(&o, 1, "MISSING_EXPECTED_RELATIONSHIP", SCHEMA_LINES + 8,
                   "For object and permission/relation `doc:one#view`, missing expected subject `user:nobody`");
    assert_finding(&o, 2, "MISSING_EXPECTED_RELATIONSHIP", SCHEMA_LINES + 9,
                   "For object and permission/relation `doc:one#view`, found different excluded subjects for subject "
                   "`user:*`: Specified: `<user:max>`, Computed: `<user:eve>`");
    assert_finding(&o, 3, "MISSING_EXPECTED_RELATIONSHIP", SCHEMA_LINES + 10,
                   "For object and permission/relation `doc:one#view`, no expected subject specified in "
                   "`nothing in brackets`");
    assert_finding(&o, 4, "EXTRA_RELATIONSHIP_FOUND", SCHEMA_LINES + 11,
                   "For object and permission/relation `doc:one#banned`, subject `user:eve` found but not listed in "
                   "expected subjects");
    assert_finding(&o, 5, "EXTRA_RELATIONSHIP_FOUND", SCHEMA_LINES + 13,
                   "For object and permission/relation `doc:one#viewer`, found unexpected excluded subjects");
    assert_finding(&o, 6, "MISSING_EXPECTED_RELATIONSHIP", SCHEMA_LINES + 13,
                   "For object and permission/relation `doc:one#viewer`, found caveat mismatch for subject `user:tom`");
    assert_finding(&o, 7, "UNKNOWN_RELATION", SCHEMA_LINES + 15,
                   "For object and permission/relation `doc:one#nope`, relation/permission `nope` not found under "
                   "definition `doc`");
    assert_int_equal(licet_report_finding_count(o.report), 8);
    end(&o);
}

/* Whatever else is written down for a key, "self" finds the key's own object and no other that nobody has heard of. */
static void an_object_that_no_relationship_names_is_found_by_itself(void **state)
{
    outcome o = validate("schema: |\n"
                         "  use self\n"
                         "  definition user {\n"
                         "    relation friend: user\n"
                         "    permission mine = self + friend\n"
                         "  }\n"
                         "  definition doc {\n"
                         "    permission seen = self\n"
                         "  }\n"
                         "validation:\n"
                         "  user:ana#mine:\n"
                         "    - '[user:ana] is <user:ana#mine>'\n"
                         "  user:bob#mine:\n"
                         "    - '[user:bob] is <user:bob#friend>'\n"
                         "    - '[user:ana] is <user:bob#mine>'\n"
                         "    - '[doc:bob] is <user:bob#mine>'\n"
                         "  user:cyd#mine: []\n"
                         "  doc:one#seen:\n"
                         "    - '[doc:one] is <doc:one#seen>'\n",
                         NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).expected_relations, 5);
    assert_finding(&o, 0, "MISSING_EXPECTED_RELATIONSHIP", 14,
                   "For object and permission/relation `user:bob#mine`, found different relationships for subject "
                   "`user:bob`: Specified: `<user:bob#friend>`, Computed: `<user:bob#mine>`");
    assert_finding(&o, 1, "MISSING_EXPECTED_RELATIONSHIP", 15,
                   "For object and permission/relation `user:bob#mine`, missing expected subject `user:ana`");
    assert_finding(&o, 2, "MISSING_EXPECTED_RELATIONSHIP", 16,
                   "For object and permission/relation `user:bob#mine`, missing expected subject `doc:bob`");
    assert_finding(&o, 3, "EXTRA_RELATIONSHIP_FOUND", 17,
                   "For object and permission/relation `user:cyd#mine`, subject `user:cyd` found but not listed in "
                   "expected subjects");
    assert_int_equal(licet_report_finding_count(o.report), 4);
    end(&o);
}

static void a_cycle_is_a_failure_of_its_key_only(void **state)
{
    outcome o = validate(SCHEMA "relationships: |\n"
                                "  group:one#member@group:two#member\n"
                                "  group:two#member@group:one#member\n"
                                "validation:\n"
                                "  group:one#member: []\n"
                                "  doc:one#view: []\n",
                         NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_finding(&o, 0, "MAXIMUM_RECURSION", SCHEMA_LINES + 5,
                   "For object and permission/relation `group:one#member`, the expansion goes deeper than 25 objects "
                   "and names; the relationships may form a cycle");
    assert_int_equal(licet_report_finding_count(o.report), 1);
    end(&o);
}

/* A fan of groups: eve is reached along many paths, and each group once. */
static void a_diamond_is_expanded_once(void **state)
{
    outcome o = validate(SCHEMA "relationships: |\n"
                                "  group:top#member@group:lef#member\n"
                                "  group:top#member@group:rig#member\n"
                                "  group:lef#member@group:bot#member\n"
                                "  group:rig#member@group:bot#member\n"
                                "  group:bot#member@user:eve\n"
                                "validation:\n"
                                "  group:top#member:\n"
                                "    - '[group:bot#member] is <group:rig#member>/<group:lef#member>'\n"
                                "    - '[group:lef#member] is <group:top#member>'\n"
                                "    - '[group:rig#member] is <group:top#member>'\n"
                                "    - '[user:eve] is <group:bot#member>'\n",
                         NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).failures, 0);
    end(&o);
}

static void unknown_keys_are_warned_about(void **state)
{
    outcome o = validate(SCHEMA "extra: 1\nassertions:\n  asserttrue: []\n", NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).failures, 0);
    assert_int_equal(counts_of(&o).warnings, 2);
    assert_finding(&o, 0, "UNKNOWN_KEY", SCHEMA_LINES + 1, "unknown key `extra` at the top level is ignored");
    assert_finding(&o, 1, "UNKNOWN_KEY", SCHEMA_LINES + 3, "unknown key `asserttrue` in `assertions` is ignored");
    end(&o);
}

static void lints_are_warnings_at_their_place_in_the_file(void **state)
{
    outcome o = validate("schema: |\n"
                         "  definition user {}\n"
                         "  definition doc {\n"
                         "    relation viewer_doc: user\n"
                         "  }\n",
                         NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).warnings, 1);
    {
        licet_finding finding = LICET_FINDING_INIT;

        assert_true(licet_report_finding(o.report, 0, &finding));
        assert_true(finding.is_warning);
        assert_int_equal(finding.line, 4);
        assert_int_equal(finding.column, 5);
    }
    end(&o);
}

/* Everything that makes a file unusable, with its place; nothing of the file is loaded then. */
static void an_unusable_file_is_an_error_with_its_place_and_loads_nothing(void **state)
{
    static const struct {
        const char  *source;
        licet_status status;
        licet_kind   kind;
        uint32_t     line, column;
    } cases[] = {
        { "", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, 0, 0 },
        { "- a\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, 1, 1 },
        { "relationships: ''\n", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, 1, 1 },
        { "schema: [a]\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, 1, 9 },
        { "schema: ''\nschemaFile: x.zed\n", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, 2, 13 },
        { "schemaFile: x.zed\n", LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, 1, 13 },
        { "schema: 12345\n", LICET_SCHEMA_ERROR, LICET_KIND_SYNTAX, 1, 9 },
        { "schema: |\n  definition user {}\n  definition doc {\n    relation viewer user\n  }\n", LICET_SCHEMA_ERROR,
          LICET_KIND_SYNTAX, 4, 21 },
        { "schema: >-\n  definition user {}\n\n  definition doc {\n    relation viewer: nope\n  }\n",
          LICET_SCHEMA_ERROR, LICET_KIND_NAME, 5, 22 },
        { SCHEMA "relationships: |\n  doc:one#viewer@user:tom\n  rubbish\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX,
          SCHEMA_LINES + 3, 10 },
        { SCHEMA "relationships: |\n  doc:one#viewer@user:tom\n  doc:one#viewer@user:tom#...\n", LICET_INVALID_ARGUMENT,
          LICET_KIND_CONFLICT, SCHEMA_LINES + 3, 3 },
        { SCHEMA "relationships: |\n  doc:one#viewer@user:tom\n  doc:one#nope@user:tom\n", LICET_NOT_FOUND,
          LICET_KIND_NAME, SCHEMA_LINES + 3, 3 },
        { SCHEMA "relationships: |\n  doc:one#banned@group:eng#member\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE,
          SCHEMA_LINES + 2, 3 },
        { SCHEMA "relationships:\n  - doc:one#viewer@user:tom\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE,
          SCHEMA_LINES + 2, 3 },
        { SCHEMA "assertions:\n  assertTrue: doc:one#view@user:tom\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE,
          SCHEMA_LINES + 2, 15 },
        { SCHEMA "assertions:\n  assertTrue:\n    - [x]\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, SCHEMA_LINES + 3,
          7 },
        { SCHEMA "assertions:\n  assertTrue:\n    - 'doc:one#view@user:tom with [1]'\n", LICET_INVALID_ARGUMENT,
          LICET_KIND_SYNTAX, SCHEMA_LINES + 3, 8 },
        { SCHEMA "validation:\n  doc:one: []\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, SCHEMA_LINES + 2, 3 },
        { SCHEMA "validation:\n  doc:one#view: x\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, SCHEMA_LINES + 2, 17 },
        { SCHEMA "validation:\n  doc:one#view:\n    - '[user:to m]'\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX,
          SCHEMA_LINES + 3, 7 },
        { SCHEMA "namespace_configs:\n  - x\n", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, SCHEMA_LINES + 2, 3 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        outcome       o      = validate(cases[i].source, NULL);
        licet_schema *schema = NULL;
        licet_stats   stats  = LICET_STATS_INIT;

        assert_int_equal(o.status, cases[i].status);
        assert_int_equal(licet_error_kind(o.error), cases[i].kind);
        assert_int_equal(licet_error_line(o.error), cases[i].line);
        assert_int_equal(licet_error_column(o.error), cases[i].column);
        assert_null(o.report);
        assert_int_equal(licet_read_schema(o.engine, &schema, NULL, NULL), LICET_NOT_FOUND);
        assert_int_equal(licet_engine_stats(o.engine, &stats, NULL), LICET_OK);
        assert_int_equal(stats.relationships, 0);
        end(&o);
    }
}

static void write_file(const char *folder, const char *name, const char *content)
{
    char  path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, strlen(content), file), strlen(content));
    assert_int_equal(fclose(file), 0);
}

static void a_schema_file_is_read_from_the_folder_only(void **state)
{
    char    folder[] = "/tmp/licet-validate-XXXXXX";
    char    path[256];
    outcome o;

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_file(folder, "model.zed", "definition user {}\ndefinition doc {\n  relation viewer: user\n}\n");
    write_file(folder, "bad.zed", "definition user {}\ndefinition doc {\n  relation viewer user\n}\n");
    o = validate("schemaFile: model.zed\nrelationships: doc:one#viewer@user:tom\n"
                 "assertions: {assertTrue: ['doc:one#viewer@user:tom']}\n",
                 folder);
    assert_int_equal(o.status, LICET_OK);
    assert_int_equal(counts_of(&o).failures, 0);
    end(&o);
    o = validate("schemaFile: bad.zed\n", folder);
    assert_int_equal(o.status, LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_line(o.error), 3);
    assert_int_equal(licet_error_column(o.error), 19);
    assert_non_null(memmem(licet_error_message(o.error).data, licet_error_message(o.error).size, "bad.zed", 7));
    end(&o);
    o = validate("a: 1\nschemaFile: ../../etc/passwd\n", folder);
    assert_int_equal(o.status, LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_line(o.error), 2);
    end(&o);
    snprintf(path, sizeof path, "%s/model.zed", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/bad.zed", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_file_is_not_loaded_over_what_is_there(void **state)
{
    outcome                o       = validate(SCHEMA, NULL);
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_report          *report  = NULL;

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    request.text = text(SCHEMA);
    assert_int_equal(licet_validate(o.engine, &request, &report, &o.error), LICET_MISUSE);
    assert_null(report);
    end(&o);
}

static void load_only_runs_nothing(void **state)
{
    outcome                o       = { NULL, NULL, NULL, LICET_OK };
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;

    (void)state;
    request.text      = text(SCHEMA "relationships: doc:one#viewer@user:tom\n"
                                         "assertions: {assertFalse: ['doc:one#view@user:tom']}\n");
    request.load_only = true;
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &o.engine, NULL), LICET_OK);
    assert_int_equal(licet_validate(o.engine, &request, &o.report, NULL), LICET_OK);
    assert_int_equal(counts_of(&o).relationships, 1);
    assert_int_equal(counts_of(&o).assertions, 0);
    assert_int_equal(counts_of(&o).failures, 0);
    end(&o);
}

static void the_depth_is_25_unless_asked(void **state)
{
    char                   source[8192] = SCHEMA "relationships: |\n";
    licet_validate_request request      = LICET_VALIDATE_REQUEST_INIT;

    (void)state;
    for (int i = 0; i < 25; i++) {
        size_t used = strlen(source);

        snprintf(source + used, sizeof source - used, "  group:g%02d#member@group:g%02d#member\n", i, i + 1);
    }
    strncat(source, "  group:g25#member@user:tom\nassertions: {assertTrue: ['group:g00#member@user:tom']}\n",
            sizeof source - strlen(source) - 1);
    for (uint32_t depth = 25; depth <= 26; depth++) {
        outcome o = { NULL, NULL, NULL, LICET_OK };

        request.text      = text(source);
        request.max_depth = depth == 25 ? 0 : depth;
        assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &o.engine, NULL), LICET_OK);
        assert_int_equal(licet_validate(o.engine, &request, &o.report, NULL), LICET_OK);
        assert_int_equal(counts_of(&o).failures, depth == 25 ? 1 : 0);
        end(&o);
    }
}

static void a_text_that_is_not_given_is_refused(void **state)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    outcome                o       = { NULL, NULL, NULL, LICET_OK };
    licet_str              message;

    (void)state;
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &o.engine, NULL), LICET_OK);
    o.status = licet_validate(o.engine, &request, &o.report, &o.error);
    assert_int_equal(o.status, LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_error_kind(o.error), LICET_KIND_VALUE);
    message = licet_error_message(o.error);
    assert_int_equal(message.size, strlen("the validation file's text is not given"));
    assert_memory_equal(message.data, "the validation file's text is not given", message.size);
    assert_null(o.report);
    end(&o);
}

static void a_depth_beyond_that_of_an_engine_is_refused(void **state)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    outcome                o       = { NULL, NULL, NULL, LICET_OK };
    licet_str              message;

    (void)state;
    request.text      = LICET_STR("schema: definition user {}");
    request.max_depth = 1001;
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &o.engine, NULL), LICET_OK);
    o.status = licet_validate(o.engine, &request, &o.report, &o.error);
    assert_int_equal(o.status, LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_error_kind(o.error), LICET_KIND_CONFIG);
    message = licet_error_message(o.error);
    assert_memory_equal(message.data, "max_depth is 1001; it has to be 1 to 1000, or 0 for 25", message.size);
    assert_null(o.report);
    licet_error_free(o.error);
    request.max_depth = 1000;
    assert_int_equal(licet_validate(o.engine, &request, &o.report, NULL), LICET_OK);
    licet_report_release(o.report);
    licet_engine_release(o.engine);
}

static void records_of_an_unknown_size_are_left_alone(void **state)
{
    licet_report_counts counts  = LICET_REPORT_COUNTS_INIT;
    licet_finding       finding = LICET_FINDING_INIT;
    outcome             o       = validate(SCHEMA "extra: 1\n", NULL);

    (void)state;
    assert_int_equal(o.status, LICET_OK);
    counts.size  = sizeof counts - 8;
    finding.size = sizeof finding + 8;
    licet_report_count(o.report, &counts);
    assert_int_equal(counts.warnings, 0);
    assert_int_equal(counts.size, sizeof counts - 8);
    assert_false(licet_report_finding(o.report, 0, &finding));
    assert_null(finding.message.data);
    counts.size  = sizeof counts;
    finding.size = sizeof finding;
    licet_report_count(o.report, &counts);
    assert_int_equal(counts.warnings, 1);
    assert_true(licet_report_finding(o.report, 0, &finding));
    licet_report_count(NULL, &counts);
    assert_int_equal(counts.warnings, 0);
    end(&o);
}

static void validating_survives_every_failed_allocation(void **state)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_status           status  = LICET_OUT_OF_MEMORY;

    (void)state;
    request.text = text(SCHEMA "relationships: |\n"
                               "  doc:one#viewer@user:tom\n"
                               "  doc:one#viewer@user:*\n"
                               "  doc:one#banned@user:eve\n"
                               "extra: 1\n"
                               "assertions: {assertTrue: ['doc:one#view@user:eve', 'doc:one#nope@user:tom']}\n"
                               "validation:\n"
                               "  doc:one#view:\n"
                               "    - '[user:tom] is <doc:one#banned>'\n"
                               "    - '[user:* - {user:max}] is <doc:one#viewer>'\n");
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        licet_engine  *engine = NULL;
        licet_report  *report = NULL;

        status = licet_open(LICET_STR("memory:"), &memory.options, &engine, NULL);
        if (status == LICET_OK)
            status = licet_validate(engine, &request, &report, NULL);
        assert_true(status == LICET_OK || (status == LICET_OUT_OF_MEMORY && report == NULL));
        if (status == LICET_OK) {
            licet_report_counts counts = LICET_REPORT_COUNTS_INIT;

            licet_report_count(report, &counts);
            assert_int_equal(counts.failures, 4);
        }
        licet_report_release(report);
        licet_engine_release(engine);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_holds_has_no_findings),
        cmocka_unit_test(assertions_that_do_not_hold_are_all_reported_in_spicedbs_order),
        cmocka_unit_test(expected_relations_that_differ_say_how),
        cmocka_unit_test(an_object_that_no_relationship_names_is_found_by_itself),
        cmocka_unit_test(a_cycle_is_a_failure_of_its_key_only),
        cmocka_unit_test(a_diamond_is_expanded_once),
        cmocka_unit_test(unknown_keys_are_warned_about),
        cmocka_unit_test(lints_are_warnings_at_their_place_in_the_file),
        cmocka_unit_test(an_unusable_file_is_an_error_with_its_place_and_loads_nothing),
        cmocka_unit_test(a_schema_file_is_read_from_the_folder_only),
        cmocka_unit_test(a_file_is_not_loaded_over_what_is_there),
        cmocka_unit_test(load_only_runs_nothing),
        cmocka_unit_test(the_depth_is_25_unless_asked),
        cmocka_unit_test(a_text_that_is_not_given_is_refused),
        cmocka_unit_test(a_depth_beyond_that_of_an_engine_is_refused),
        cmocka_unit_test(records_of_an_unknown_size_are_left_alone),
        cmocka_unit_test(validating_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
