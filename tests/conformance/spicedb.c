/* SpiceDB's own files, through C: its validation files, its parser's texts with their verdicts, and the data of its
 * load tests. Each file is one test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

static scenario_counts held, loaded;
static size_t          verdicts;

static void path_in(char out[SHARED_PATH], const char *folder, const char *name)
{
    char relative[SHARED_PATH];

    snprintf(relative, sizeof relative, "conformance/%s/%s", folder, name);
    path_in_shared(out, relative);
}

static void a_validation_file_holds(void **state)
{
    char path[SHARED_PATH];

    path_in(path, "spicedb", *state);
    scenario_holds(path, &held);
}

static void every_validation_file_was_counted(void **state)
{
    (void)state;
    print_message("%zu files hold: %zu relationships, %zu assertions, %zu expected relations\n", held.files,
                  held.relationships, held.assertions, held.expected_relations);
    assert_int_equal(held.files, 41);
    assert_int_equal(held.assertions, 208);
}

static void a_load_test_s_data_load(void **state)
{
    char path[SHARED_PATH];

    path_in(path, "steelthread", *state);
    scenario_loads(path, &loaded);
}

static json_t *manifest_of(const char *folder)
{
    char path[SHARED_PATH];

    path_in(path, folder, "manifest.json");
    return json_load_file(path, 0, NULL);
}

static bool is_syntax_error(licet_str text, licet_str folder)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_error         *error   = NULL;
    licet_status         status;
    bool                 is_syntax;

    request.text   = text;
    request.folder = folder;
    status         = licet_schema_parse(&request, NULL, &schema, &error);
    assert_true((status == LICET_OK) == (schema != NULL));
    is_syntax = licet_error_kind(error) == LICET_KIND_SYNTAX;
    if (is_syntax)
        assert_true(licet_error_line(error) > 0 && licet_error_column(error) > 0);
    licet_schema_release(schema);
    licet_error_free(error);
    return is_syntax;
}

/* SpiceDB's verdict is that of its parser alone; what does not fit the types is wrong in a later step. */
static void a_parser_text_has_spicedb_s_verdict(void **state)
{
    char      path[SHARED_PATH], folder[SHARED_PATH];
    json_t   *manifest = manifest_of("parser");
    licet_str text;

    path_in(path, "parser", *state);
    path_in(folder, "parser", "");
    text = file_text(path);
    assert_non_null(text.data);
    assert_string_equal(is_syntax_error(text, (licet_str){ folder, strlen(folder) }) ? "error" : "ok",
                        json_string_value(json_object_get(manifest, *state)));
    verdicts++;
    free((char *)text.data);
    json_decref(manifest);
}

static void every_text_of_the_manifest_was_judged(void **state)
{
    json_t *manifest = manifest_of("parser");

    (void)state;
    assert_int_equal(verdicts, json_object_size(manifest));
    json_decref(manifest);
}

static void needs_the_shared_test_data(void **state)
{
    (void)state;
    print_message("no shared test data; see LICET_SHARED\n");
    skip();
}

/* What a load test's lookups find is no validation file. */
static bool is_expectation(const char *name)
{
    return strstr(name, "-results.yaml") != NULL;
}

/* One test for each file of a folder, named after it, then one about all of them. */
static int run_folder(const char *folder, const char *suffix, CMUnitTestFunction each, const struct CMUnitTest *last)
{
    char               path[SHARED_PATH], group[SHARED_PATH];
    struct CMUnitTest *tests;
    file_list          files;
    size_t             count = 0;
    int                failed;

    path_in(path, folder, "");
    files = files_in(path, suffix);
    tests = calloc(files.count + 1, sizeof *tests);
    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < files.count; i++)
        if (!is_expectation(files.names[i]))
            tests[count++] = (struct CMUnitTest){ files.names[i], each, NULL, NULL, files.names[i] };
    tests[count] = count > 0 ? *last : (struct CMUnitTest)cmocka_unit_test(needs_the_shared_test_data);
    snprintf(group, sizeof group, "conformance/%s", folder);
    failed = _cmocka_run_group_tests(group, tests, count + 1, NULL, NULL);
    free(tests);
    file_list_free(&files);
    return failed;
}

static void every_load_test_s_data_were_counted(void **state)
{
    (void)state;
    print_message("%zu files load: %zu relationships\n", loaded.files, loaded.relationships);
    assert_int_equal(loaded.files, 4);
}

int main(void)
{
    const struct CMUnitTest plain   = cmocka_unit_test(every_validation_file_was_counted);
    const struct CMUnitTest judged  = cmocka_unit_test(every_text_of_the_manifest_was_judged);
    const struct CMUnitTest counted = cmocka_unit_test(every_load_test_s_data_were_counted);
    int                     failed  = 0;

    failed += run_folder("spicedb", ".yaml", a_validation_file_holds, &plain);
    failed += run_folder("parser", ".zed", a_parser_text_has_spicedb_s_verdict, &judged);
    failed += run_folder("steelthread", ".yaml", a_load_test_s_data_load, &counted);
    return failed;
}
