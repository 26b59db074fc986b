/* core/validation/expected.c: the notations of expected relations and assertions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "validation/expected.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static lic_str text(const char *literal)
{
    return (lic_str){ literal, strlen(literal) };
}

/* The record as one text: "type:id#relation[...] - a, b[...] < r1 r2". */
static void print_object(lic_text *out, const lic_object *object)
{
    lic_text_add(out, object->type);
    lic_text_add_char(out, ':');
    lic_text_add(out, object->id);
    if (lic_str_given(object->relation)) {
        lic_text_add_char(out, '#');
        lic_text_add(out, object->relation);
    }
}

static void print_subject(lic_text *out, const lic_named_subject *subject)
{
    print_object(out, &subject->object);
    if (subject->caveated)
        lic_text_add_literal(out, "?");
}

static void print_expected(lic_text *out, const lic_expected_subject *expected)
{
    if (expected->has_subject)
        print_subject(out, &expected->subject);
    for (size_t i = 0; i < expected->exclusion_count; i++) {
        lic_text_add_literal(out, " -");
        print_subject(out, &expected->exclusions[i]);
    }
    for (size_t i = 0; i < expected->resource_count; i++) {
        lic_text_add_literal(out, " <");
        print_object(out, &expected->resources[i]);
    }
}

/* NULL: invalid. */
static const struct {
    const char *text, *reading;
} expected_subjects[] = {
    { "[user:tom] is <document:one#viewer>", "user:tom <document:one#viewer" },
    { "[user:tom#...] is <document:one#viewer>", "user:tom <document:one#viewer" },
    { "[user:tom[...]] is <document:one#viewer>", "user:tom? <document:one#viewer" },
    { "[group:eng#member] is <doc:one#viewer>/<doc:two#editor>", "group:eng#member <doc:one#viewer <doc:two#editor" },
    { "[user:* - {user:eve}] is <document:one#viewer>", "user:* -user:eve <document:one#viewer" },
    { "[user:*  -\t{user:eve,user:max}]", "user:* -user:eve -user:max" },
    { "[user:*-{user:eve}] is <document:one#viewer>", NULL },
    { "[user:* -{user:eve}] is <document:one#viewer>", NULL },
    { "[user:* - {}] is <document:one#viewer>", NULL },
    { "[user:* - {user:eve[...], user:max}]", "user:* -user:eve? -user:max" },
    { "[user:* - {user:eve[...] }]", "user:* -user:eve?" },
    { "[user:* - {user:eve[...] , user:max}]", NULL },
    { "[user:*[...] - {user:eve}]", "user:*? -user:eve" },
    { "[user:tom] is <document:one>", NULL },
    { "[user:tom] is <document:one#...>", NULL },
    { "[user:tom] is <>", "user:tom" },
    { "[user:tom] is <document:one#viewer", "user:tom" },
    { "[user:tom] is [x] <document:one#viewer>", NULL },
    { "[ user:tom ] whatever / is said", "user:tom" },
    { "[user:to m]", NULL },
    { "[]", NULL },
    { "[user]", NULL },
    { "user:tom is <document:one#viewer>", " <document:one#viewer" },
    { "", "" },
};

static void expected_subjects_read_as_spicedb_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(expected_subjects); i++) {
        lic_expected_subject expected;
        licet_error         *error = NULL;
        lic_memory           memory;
        lic_arena            arena;
        licet_status         status;
        lic_text             out;

        lic_memory_init(&memory, NULL, SIZE_MAX);
        lic_arena_init(&arena, &memory);
        lic_text_init(&out, &memory);
        status = lic_expected_parse(&arena, text(expected_subjects[i].text), &expected, &error);
        if (expected_subjects[i].reading == NULL) {
            assert_int_equal(status, LICET_INVALID_ARGUMENT);
            assert_int_equal(licet_error_kind(error), LICET_KIND_SYNTAX);
        } else {
            assert_int_equal(status, LICET_OK);
            print_expected(&out, &expected);
            lic_text_add_char(&out, '\0');
            assert_string_equal(out.data, expected_subjects[i].reading);
        }
        licet_error_free(error);
        lic_text_free(&out);
        lic_arena_free(&arena);
        assert_int_equal(memory.used, 0);
    }
}

static const struct {
    const char  *text;
    licet_status status;
    const char  *subject; /* of the relationship's subject id */
    const char  *context; /* NULL: none */
} assertions[] = {
    { "document:one#view@user:tom", LICET_OK, "tom", NULL },
    { "  document:one#view@user:tom  ", LICET_OK, "tom", NULL },
    { "document:one#view@user:sara with {\"day\": \"tuesday\"}", LICET_OK, "sara", "{\"day\": \"tuesday\"}" },
    { "document:one#view@user:sara with {\"a\": \" with \"}", LICET_OK, "sara", "{\"a\": \" with \"}" },
    { "document:one#view@user:sara with null", LICET_OK, "sara", NULL },
    { "document:one#view@user:sara with {}", LICET_OK, "sara", "{}" },
    { "document:one#view@user:sara with [1]", LICET_INVALID_ARGUMENT, NULL, NULL },
    { "document:one#view@user:sara with ", LICET_INVALID_ARGUMENT, NULL, NULL },
    { "document:one#view@user:sara with {", LICET_INVALID_ARGUMENT, NULL, NULL },
    { "document:one#view", LICET_INVALID_ARGUMENT, NULL, NULL },
    { "", LICET_INVALID_ARGUMENT, NULL, NULL },
};

static void assertions_are_a_relationship_and_perhaps_a_context(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(assertions); i++) {
        lic_assertion assertion;
        licet_error  *error  = NULL;
        licet_status  status = lic_assertion_parse(text(assertions[i].text), &assertion, &error);

        assert_int_equal(status, assertions[i].status);
        if (status == LICET_OK) {
            assert_true(lic_str_equal(assertion.relationship.subject_id, text(assertions[i].subject)));
            assert_int_equal(lic_str_given(assertion.context), assertions[i].context != NULL);
            if (assertions[i].context != NULL)
                assert_true(lic_str_equal(assertion.context, text(assertions[i].context)));
        }
        licet_error_free(error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_subjects_read_as_spicedb_reads_them),
        cmocka_unit_test(assertions_are_a_relationship_and_perhaps_a_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
