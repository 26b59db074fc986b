/* The project's own scenario files, through C: validation files whose assertions and expected relations hold, and
 * schemas with the outcome that their first line tells:
 *
 *     // ok
 *     // error KIND LINE:COLUMN MESSAGE */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

static scenario_counts held;

static void path_in(char out[SHARED_PATH], const char *folder, const char *name)
{
    char relative[SHARED_PATH];

    snprintf(relative, sizeof relative, "tests/conformance/%s/%s", folder, name);
    path_in_sources(out, relative);
}

static void a_scenario_holds(void **state)
{
    char path[SHARED_PATH];

    path_in(path, "cases", *state);
    scenario_holds(path, &held);
}

static void scenarios_were_counted(void **state)
{
    (void)state;
    print_message("%zu files hold: %zu relationships, %zu assertions, %zu expected relations\n", held.files,
                  held.relationships, held.assertions, held.expected_relations);
    assert_true(held.files > 0 && held.assertions > 0 && held.expected_relations > 0);
}

/* "// ok", or the error in the words of a first line. */
static void describe(char out[2048], licet_status status, const licet_error *error)
{
    licet_str message = licet_error_message(error);

    if (status == LICET_OK)
        snprintf(out, 2048, "// ok");
    else
        snprintf(out, 2048, "// error %s %u:%u %.*s", licet_kind_name(licet_error_kind(error)), licet_error_line(error),
                 licet_error_column(error), (int)message.size, message.data);
}

static void a_schema_has_its_outcome(void **state)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_error         *error   = NULL;
    char                 path[SHARED_PATH], found[2048], expected[2048];
    licet_status         status;

    path_in(path, "cases/schema", *state);
    request.text = file_text(path);
    assert_non_null(request.text.data);
    snprintf(expected, sizeof expected, "%.*s", (int)strcspn(request.text.data, "\r\n"), request.text.data);
    status = licet_schema_parse(&request, NULL, &schema, &error);
    describe(found, status, error);
    assert_string_equal(found, expected);
    licet_schema_release(schema);
    licet_error_free(error);
    free((char *)request.text.data);
}

/* One test for each file of a folder, named after it, and one more about all of them when there is one. */
static int run_folder(const char *folder, const char *suffix, CMUnitTestFunction each, CMUnitTestFunction last)
{
    char               path[SHARED_PATH];
    struct CMUnitTest *tests;
    file_list          files;
    int                failed;

    path_in(path, folder, "");
    files = files_in(path, suffix);
    tests = calloc(files.count + 1, sizeof *tests);
    if (tests == NULL || files.count == 0)
        return 1;
    for (size_t i = 0; i < files.count; i++)
        tests[i] = (struct CMUnitTest){ files.names[i], each, NULL, NULL, files.names[i] };
    tests[files.count] = (struct CMUnitTest){ "all_of_them", last, NULL, NULL, NULL };
    failed             = _cmocka_run_group_tests(folder, tests, files.count + (last != NULL), NULL, NULL);
    free(tests);
    file_list_free(&files);
    return failed;
}

int main(void)
{
    int failed = run_folder("cases", ".yaml", a_scenario_holds, scenarios_were_counted);

    return failed + run_folder("cases/schema", ".zed", a_schema_has_its_outcome, NULL);
}
