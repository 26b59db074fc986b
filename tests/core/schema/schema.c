/* core/schema/schema.c: the handle, and the public functions about schemas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "failing_memory.h"
#include "schema/schema.h"

static licet_schema_request request_of(const char *text)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;

    request.text = (licet_str){ text, strlen(text) };
    return request;
}

static licet_schema *parse(const char *text, const licet_options *options)
{
    licet_schema_request request = request_of(text);
    licet_schema        *schema  = NULL;

    assert_int_equal(licet_schema_parse(&request, options, &schema, NULL), LICET_OK);
    assert_non_null(schema);
    return schema;
}

static void assert_text(licet_str actual, const char *expected)
{
    assert_int_equal(actual.size, strlen(expected));
    assert_memory_equal(actual.data, expected, actual.size);
}

/* A bit of everything that makes the schema modules allocate. */
#define DOCUMENTS                                                                                                  \
    "use expiration\nuse partial\nuse typechecking\n\n"                                                            \
    "caveat late(hour int, days list<string>) {\n\thour > 18 && days.size() > 0\n}\n\n"                            \
    "partial owned {\n\trelation owner: user\n\tpermission own = owner\n}\n\n"                                     \
    "// people\ndefinition user {}\n\n"                                                                            \
    "definition group {\n\trelation member: user | group#member\n}\n\n"                                            \
    "definition folder {\n\t...owned\n\trelation parent: folder\n\tpermission view = owner + parent->view\n}\n\n"  \
    "definition doc {\n\t...owned\n\trelation parent: folder\n\trelation viewer: user with late and expiration | " \
    "user:* | group#member\n\tpermission view: user = (viewer + owner & parent->view) - nil\n"                     \
    "\tpermission loop_doc = view + loop_doc + parent->nowhere\n\tpermission one = two & one\n"                    \
    "\tpermission two = one + nil\n}\n"

static void a_schema_gives_back_its_text_and_its_definitions(void **state)
{
    static const char *const names[] = { "user", "group", "folder", "doc" };
    licet_schema            *schema  = parse(DOCUMENTS, NULL);

    (void)state;
    assert_text(licet_schema_text(schema), DOCUMENTS);
    assert_int_equal(licet_schema_definition_count(schema), 4);
    for (size_t i = 0; i < 4; i++)
        assert_text(licet_schema_definition(schema, i), names[i]);
    assert_null(licet_schema_definition(schema, 4).data);
    assert_int_equal(licet_schema_definition(schema, 4).size, 0);
    assert_true(licet_schema_lint_count(schema) > 0);
    licet_schema_release(schema);
}

static void the_text_is_the_schemas_own(void **state)
{
    char         *text   = strdup("definition user {}");
    licet_schema *schema = parse(text, NULL);

    (void)state;
    memset(text, 'x', strlen(text));
    free(text);
    assert_text(licet_schema_text(schema), "definition user {}");
    assert_text(licet_schema_definition(schema, 0), "user");
    licet_schema_release(schema);
}

static void the_empty_text_is_a_schema_without_definitions(void **state)
{
    licet_schema *schema = parse("", NULL);
    licet_buffer  out    = LICET_BUFFER_INIT;

    (void)state;
    assert_int_equal(licet_schema_definition_count(schema), 0);
    assert_int_equal(licet_schema_lint_count(schema), 0);
    assert_non_null(licet_schema_text(schema).data);
    assert_int_equal(licet_schema_text(schema).size, 0);
    assert_int_equal(licet_schema_format(schema, &out, NULL), LICET_OK);
    assert_int_equal(out.size, 0);
    licet_buffer_clear(&out);
    licet_schema_release(schema);
}

static void a_schema_formats_to_text_that_formats_to_itself(void **state)
{
    licet_schema *schema = parse(DOCUMENTS, NULL), *again;
    licet_buffer  first = LICET_BUFFER_INIT, second = LICET_BUFFER_INIT;
    char         *text;

    (void)state;
    assert_int_equal(licet_schema_format(schema, &first, NULL), LICET_OK);
    text = strndup(first.data, first.size);
    assert_non_null(text);
    again = parse(text, NULL);
    assert_int_equal(licet_schema_format(again, &second, NULL), LICET_OK);
    assert_text((licet_str){ second.data, second.size }, text);
    assert_int_equal(licet_schema_definition_count(again), 4);
    free(text);
    licet_buffer_clear(&first);
    licet_buffer_clear(&first);
    assert_null(first.data);
    licet_buffer_clear(&second);
    licet_schema_release(schema);
    licet_schema_release(again);
}

static void a_buffer_may_outlive_its_schema(void **state)
{
    failing_memory memory = fail_never();
    licet_schema  *schema = parse("definition user {}\n", &memory.options);
    licet_buffer   out    = LICET_BUFFER_INIT;

    (void)state;
    assert_int_equal(licet_schema_format(schema, &out, NULL), LICET_OK);
    licet_schema_release(schema);
    assert_text((licet_str){ out.data, out.size }, "definition user {}");
    assert_int_equal(memory.counts->live_blocks, 1);
    licet_buffer_clear(&out);
    assert_int_equal(memory.counts->live_blocks, 0);
}

static void a_schema_is_freed_by_its_last_holder(void **state)
{
    failing_memory memory = fail_never();
    licet_schema  *schema = parse(DOCUMENTS, &memory.options);

    (void)state;
    licet_schema_retain(schema);
    licet_schema_release(schema);
    assert_int_equal(licet_schema_definition_count(schema), 4);
    licet_schema_release(schema);
    assert_int_equal(memory.counts->live_blocks, 0);
    assert_int_equal(memory.counts->live_bytes, 0);
    licet_schema_retain(NULL);
    licet_schema_release(NULL);
}

static void a_schema_outlives_what_it_was_compiled_against(void **state)
{
    failing_memory       source  = fail_never();
    lic_memory          *memory  = lic_memory_new(&source.allocator, SIZE_MAX);
    lic_names           *names   = lic_names_new(memory);
    licet_schema_request request = request_of(DOCUMENTS);
    licet_schema        *schema  = NULL;

    (void)state;
    assert_int_equal(lic_schema_new(memory, names, &request, &schema, NULL), LICET_OK);
    lic_names_free(names);
    lic_memory_release(memory);
    assert_text(licet_schema_definition(schema, 3), "doc");
    licet_schema_release(schema);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void *retain_and_release(void *schema)
{
    for (int i = 0; i < 10000; i++) {
        licet_schema_retain(schema);
        if (licet_schema_definition(schema, 0).size != 4)
            return schema;
        licet_schema_release(schema);
    }
    return NULL;
}

static void threads_share_a_schema(void **state)
{
    licet_schema *schema = parse(DOCUMENTS, NULL);
    pthread_t     threads[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, schema), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    licet_schema_release(schema);
}

/* ---------------------------------------------------------- out of memory */

static const char *const hard_texts[] = {
    DOCUMENTS,
    "definition doc {\n permission one = two\n permission two = one\n permission odd = odd & nil\n}",
    "use typechecking\ndefinition bot {}\ndefinition doc {\n\trelation rel: bot\n\tpermission one: user = rel\n}",
    "definition doc {\n\trelation rel: nobody\n}",
};

static void parsing_survives_any_failed_allocation(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof hard_texts / sizeof *hard_texts; t++) {
        for (int onwards = 0; onwards < 2; onwards++) {
            licet_status status = LICET_OUT_OF_MEMORY;

            for (size_t n = 0; status == LICET_OUT_OF_MEMORY; n++) {
                failing_memory       memory  = onwards ? fail_from(n) : fail_after(n);
                licet_schema_request request = request_of(hard_texts[t]);
                licet_schema        *schema  = NULL;
                licet_error         *error   = NULL;

                status = licet_schema_parse(&request, &memory.options, &schema, &error);
                assert_int_equal(status, licet_error_status(error));
                assert_int_equal(status == LICET_OK, schema != NULL);
                assert_true(status != LICET_OK || t == 0);
                if (status == LICET_OUT_OF_MEMORY)
                    assert_int_equal(licet_error_kind(error), LICET_KIND_NOMEM);
                licet_error_free(error);
                licet_schema_release(schema);
                assert_int_equal(memory.counts->live_blocks, 0);
            }
            assert_int_equal(status, t == 0 ? LICET_OK : LICET_SCHEMA_ERROR);
        }
    }
}

static void formatting_survives_any_failed_allocation(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 1; status == LICET_OUT_OF_MEMORY; n++) {
        failing_memory counted = fail_never();
        failing_memory memory;
        licet_schema  *schema = parse(DOCUMENTS, &counted.options);
        licet_buffer   out    = LICET_BUFFER_INIT;
        size_t         calls  = counted.counts->calls;

        licet_schema_release(schema);
        memory = fail_from(calls + n - 1);
        schema = parse(DOCUMENTS, &memory.options);
        status = licet_schema_format(schema, &out, NULL);
        assert_int_equal(status == LICET_OK, out.data != NULL);
        licet_buffer_clear(&out);
        licet_schema_release(schema);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
    assert_int_equal(status, LICET_OK);
}

static void a_schema_keeps_to_its_memory_limit(void **state)
{
    static char          text[900000];
    size_t               size    = 0;
    licet_options        options = LICET_OPTIONS_INIT;
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_error         *error   = NULL;

    (void)state;
    size += (size_t)snprintf(text + size, sizeof text - size, "definition doc {\n");
    for (int i = 0; i < 4000; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "permission p%04d = nil\n", i);
    size += (size_t)snprintf(text + size, sizeof text - size, "}\n");
    request.text               = (licet_str){ text, size };
    options.memory_limit_bytes = 1 << 20;
    assert_int_equal(licet_schema_parse(&request, &options, &schema, &error), LICET_OUT_OF_MEMORY);
    assert_null(schema);
    assert_int_equal(licet_error_kind(error), LICET_KIND_NOMEM);
    licet_error_free(error);
}

/* ------------------------------------------------------------------ misuse */

static void assert_misuse(const licet_schema_request *request, const licet_options *options, licet_status expected,
                          licet_kind kind)
{
    licet_schema *schema = (licet_schema *)&schema;
    licet_error  *error  = NULL;

    assert_int_equal(licet_schema_parse(request, options, &schema, &error), expected);
    assert_null(schema);
    assert_int_equal(licet_error_status(error), expected);
    assert_int_equal(licet_error_kind(error), kind);
    assert_true(licet_error_message(error).size > 0);
    licet_error_free(error);
}

static void wrong_records_are_refused(void **state)
{
    licet_schema_request request = request_of("definition user {}");
    licet_options        options = LICET_OPTIONS_INIT;
    failing_memory       memory  = fail_never();
    licet_error         *error   = NULL;

    (void)state;
    assert_int_equal(licet_schema_parse(&request, NULL, NULL, &error), LICET_MISUSE);
    licet_error_free(error);
    assert_misuse(NULL, NULL, LICET_MISUSE, LICET_KIND_MISUSE);
    request.size = 4;
    assert_misuse(&request, NULL, LICET_MISUSE, LICET_KIND_MISUSE);
    request.size = sizeof request + 8;
    assert_misuse(&request, NULL, LICET_MISUSE, LICET_KIND_MISUSE);
    request = (licet_schema_request)LICET_SCHEMA_REQUEST_INIT;
    assert_misuse(&request, NULL, LICET_MISUSE, LICET_KIND_MISUSE); /* no text is not the empty text */
    request      = request_of("");
    options.size = 4;
    assert_misuse(&request, &options, LICET_MISUSE, LICET_KIND_MISUSE);
    options                    = (licet_options)LICET_OPTIONS_INIT;
    options.memory_limit_bytes = (1 << 20) - 1;
    assert_misuse(&request, &options, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG);
    options.memory_limit_bytes = ((uint64_t)1 << 40) + 1;
    assert_misuse(&request, &options, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG);
    options                = (licet_options)LICET_OPTIONS_INIT;
    options.allocator      = memory.allocator;
    options.allocator.free = NULL;
    assert_misuse(&request, &options, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG);
    assert_int_equal(memory.counts->calls, 0);
}

static void null_handles_have_nothing_to_give(void **state)
{
    licet_schema *schema = parse("definition doc {\n\tpermission one_doc = nil\n}", NULL);
    licet_buffer  out    = LICET_BUFFER_INIT;
    licet_lint    lint   = LICET_LINT_INIT;

    (void)state;
    assert_null(licet_schema_text(NULL).data);
    assert_int_equal(licet_schema_definition_count(NULL), 0);
    assert_null(licet_schema_definition(NULL, 0).data);
    assert_int_equal(licet_schema_lint_count(NULL), 0);
    assert_false(licet_schema_lint(NULL, 0, &lint));
    assert_int_equal(licet_schema_format(NULL, &out, NULL), LICET_MISUSE);
    assert_int_equal(licet_schema_format(schema, NULL, NULL), LICET_MISUSE);
    out.size_of_record = 1;
    assert_int_equal(licet_schema_format(schema, &out, NULL), LICET_MISUSE);
    assert_false(licet_schema_lint(schema, 0, NULL));
    lint.size = 1;
    assert_false(licet_schema_lint(schema, 0, &lint));
    lint.size = sizeof lint;
    assert_true(licet_schema_lint(schema, 0, &lint));
    licet_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_gives_back_its_text_and_its_definitions),
        cmocka_unit_test(the_text_is_the_schemas_own),
        cmocka_unit_test(the_empty_text_is_a_schema_without_definitions),
        cmocka_unit_test(a_schema_formats_to_text_that_formats_to_itself),
        cmocka_unit_test(a_buffer_may_outlive_its_schema),
        cmocka_unit_test(a_schema_is_freed_by_its_last_holder),
        cmocka_unit_test(a_schema_outlives_what_it_was_compiled_against),
        cmocka_unit_test(threads_share_a_schema),
        cmocka_unit_test(parsing_survives_any_failed_allocation),
        cmocka_unit_test(formatting_survives_any_failed_allocation),
        cmocka_unit_test(a_schema_keeps_to_its_memory_limit),
        cmocka_unit_test(wrong_records_are_refused),
        cmocka_unit_test(null_handles_have_nothing_to_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
