/* core/engine/check.c, question.c: one check, from texts to the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "engine_world.h"

static void open_world(engine_world *w)
{
    world_open(w, NULL, WORLD_SCHEMA,
               "document:d1#viewer@user:ana\n"
               "document:d2#viewer@user:*\n"
               "document:d2#banned@user:mal\n"
               "document:d3#viewer@group:eng#member\n"
               "group:eng#member@user:bob");
}

static void answers_are_those_of_the_schema(void **state)
{
    static const struct {
        const char *resource;
        const char *permission;
        const char *subject;
        bool        allowed;
    } cases[] = {
        { "document:d1", "view", "user:ana", true },
        { "document:d1", "viewer", "user:ana", true },
        { "document:d1", "view", "user:bob", false },
        { "document:d1", "banned", "user:ana", false },
        { "document:d2", "view", "user:nobody-ever", true },
        { "document:d2", "view", "user:mal", false },
        { "document:d3", "view", "user:bob", true },
        { "document:d3", "view", "group:eng#member", true },
        { "document:d3", "view", "group:eng", false },
        { "document:d3", "view", "group:ops#member", false },
        { "document:nowhere", "view", "user:ana", false },
        { "document:nowhere", "view", "user:nowhere", false },
        { "group:nowhere", "member", "group:nowhere#member", true }, /* identity, stored or not */
        { "group:nowhere", "member", "group:elsewhere#member", false },
        { "group:eng", "member", "user:ana", false },
        { "document:D1", "view", "user:ana", false },
        { "document:d1", "view", "document:d1", false },
        { "document:d1", "view", "document:d1#view", true },
    };
    engine_world w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (world_allowed(&w, cases[i].resource, cases[i].permission, cases[i].subject) != cases[i].allowed)
            fail_msg("%s %s %s", cases[i].resource, cases[i].permission, cases[i].subject);
    }
    world_close(&w);
}

/* Every case starts from an answer that says "allowed". */
static void what_is_wrong_is_an_error_and_a_denial(void **state)
{
    static const struct {
        const char  *resource;
        const char  *permission;
        const char  *subject;
        licet_status status;
        licet_kind   kind;
        const char  *reason;
        const char  *message;
    } cases[] = {
        { NULL, "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "resource is not given" },
        { "", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "resource is empty" },
        { "document", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource: expected \"type:id\", not \"document\"" },
        { "document:", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "resource id is empty" },
        { ":d1", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "resource type is empty" },
        { "document:*", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource id: the wildcard \"*\" can not stand here" },
        { "document:d1 ", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 3 is another: \"d1 \"" },
        { "document:d1\n", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 3 is another: \"d1\\n\"" },
        { "document:d1#viewer", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 3 is another: \"d1#viewer\"" },
        { "document:\xc0\xae", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_ENCODING, "",
          "resource is not UTF-8 at byte 10: \"document:\\xc0\\xae\"" },
        { "Document:d1", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource type: expected a type: parts of 3 to 64 of a-z, 0-9 and _, joined by /, not \"Document\"" },
        { "document:d1", NULL, "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "permission is not given" },
        { "document:d1", "", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "permission is empty" },
        { "document:d1", "View", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "permission: expected a name of 3 to 64 of a-z, 0-9 and _, not \"View\"" },
        { "document:d1", "view", NULL, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "subject is not given" },
        { "document:d1", "view", "ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "subject: expected \"type:id\" or \"type:id#relation\", not \"ana\"" },
        { "document:d1", "view", "user:*", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "WILDCARD_NOT_ALLOWED",
          "subject: a check can not be about the wildcard" },
        { "document:d1", "view", "group:*#member", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "subject: the wildcard subject can not have a relation" },
        { "document:d1", "view", "group:eng#...", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "subject relation: expected a name of 3 to 64 of a-z, 0-9 and _, not \"...\"" },
        { "document:d1", "view", "group:eng#", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "subject relation is empty" },
        { "nosuch:d1", "view", "nosuch2:ana", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { "document:d1", "nosuch", "nosuch:ana", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `document`" },
        { "document:d1", "view", "nosuch:ana", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { "document:d1", "view", "group:eng#nosuch", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `group`" },
        { "nosuch:d 1", "view", "user:ana", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "resource id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 2 is another: \"d 1\"" },
        { "nosuch:d1", "view", "user:a b", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "subject id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 2 is another: \"a b\"" },
        { "nosuch:d1", "view", "user:*", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
    };
    engine_world w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_result result = world_check(&w, cases[i].resource, cases[i].permission, cases[i].subject);

        assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
        assert_false(licet_result_allowed(&result));
        assert_int_equal(result.revision, 0);
        world_failed(&w, cases[i].status, cases[i].kind, cases[i].reason, cases[i].message);
    }
    world_close(&w);
}

static void a_nul_ends_no_id(void **state)
{
    static const char   resource[] = "document:d1\0x";
    licet_check_request request    = check_of("", "viewer", "user:ana");
    licet_result        result     = LICET_RESULT_INIT;
    engine_world        w;

    (void)state;
    open_world(&w);
    for (size_t size = 12; size <= 13; size++) {
        request.resource = (licet_str){ resource, size };
        w.status         = licet_check(w.engine, &request, &result, &w.error);
        assert_false(licet_result_allowed(&result));
        assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
        assert_int_equal(licet_error_kind(w.error), LICET_KIND_VALUE);
        licet_error_free(w.error);
        w.error = NULL;
    }
    world_close(&w);
}

static void an_id_may_have_1024_bytes_and_not_one_more(void **state)
{
    static char         resource[2048] = "document:";
    licet_check_request request        = check_of("", "viewer", "user:ana");
    licet_result        result         = LICET_RESULT_INIT;
    engine_world        w;

    (void)state;
    open_world(&w);
    memset(resource + 9, 'a', 1025);
    request.resource = (licet_str){ resource, 9 + 1024 };
    assert_int_equal(licet_check(w.engine, &request, &result, NULL), LICET_OK);
    request.resource.size++;
    assert_int_equal(licet_check(w.engine, &request, &result, &w.error), LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_error_kind(w.error), LICET_KIND_VALUE);
    assert_true(licet_error_message(w.error).size < 200);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
}

static void a_result_knows_the_token_of_its_revision(void **state)
{
    engine_world w;
    licet_result result;
    licet_token  token;

    (void)state;
    open_world(&w);
    result = world_check(&w, "document:d1", "view", "user:bob");
    world_done(&w);
    licet_result_token(w.engine, &result, &token);
    assert_string_equal(token.text, w.token.text);
    result = world_check(&w, "document:d1", "nosuch", "user:bob");
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `nosuch` not found under definition `document`");
    licet_result_token(w.engine, &result, &token);
    assert_string_equal(token.text, "");
    licet_result_token(NULL, &result, &token);
    licet_result_token(w.engine, NULL, &token);
    licet_result_token(w.engine, &result, NULL);
    assert_string_equal(token.text, "");
    world_close(&w);
}

static void a_result_is_allowed_only_for_a_definite_yes(void **state)
{
    licet_result result = LICET_RESULT_INIT;

    (void)state;
    assert_false(licet_result_allowed(NULL));
    assert_false(licet_result_allowed(&result));
    result.permissionship = LICET_CONDITIONAL_PERMISSION;
    assert_false(licet_result_allowed(&result));
    result.permissionship = LICET_HAS_PERMISSION;
    assert_true(licet_result_allowed(&result));
    result.status = LICET_LIMIT_EXCEEDED;
    assert_false(licet_result_allowed(&result));
    licet_result_clear(&result);
    licet_result_clear(&result);
    licet_result_clear(NULL);
    assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
}

static void an_engine_without_a_schema_knows_no_definition(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, "", NULL);
    world_check(&w, "document:d1", "view", "user:ana");
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `document` not found");
    world_close(&w);
}

static void a_check_that_goes_too_deep_is_an_error(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_result  result;
    engine_world  w;

    (void)state;
    options.max_depth = 3;
    world_open(&w, &options, WORLD_SCHEMA,
               "group:a00#member@group:b00#member\n"
               "group:b00#member@group:c00#member\n"
               "group:c00#member@group:d00#member\n"
               "group:d00#member@user:deep\n"
               "group:b00#member@user:shallow");
    assert_true(world_allowed(&w, "group:a00", "member", "user:shallow"));
    result = world_check(&w, "group:a00", "member", "user:deep");
    assert_false(licet_result_allowed(&result));
    assert_int_equal(w.status, LICET_LIMIT_EXCEEDED);
    assert_int_equal(licet_error_kind(w.error), LICET_KIND_LIMIT);
    assert_memory_equal(licet_error_reason(w.error).data, "MAXIMUM_DEPTH_EXCEEDED", 22);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
}

static void a_check_in_memory_never_blocks(void **state)
{
    engine_world        w;
    licet_check_request request = check_of("document:d1", "view", "user:ana");

    (void)state;
    open_world(&w);
    assert_false(licet_check_may_block(w.engine, &request));
    assert_false(licet_check_may_block(NULL, NULL));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_schema),
        cmocka_unit_test(what_is_wrong_is_an_error_and_a_denial),
        cmocka_unit_test(a_nul_ends_no_id),
        cmocka_unit_test(an_id_may_have_1024_bytes_and_not_one_more),
        cmocka_unit_test(a_result_knows_the_token_of_its_revision),
        cmocka_unit_test(a_result_is_allowed_only_for_a_definite_yes),
        cmocka_unit_test(an_engine_without_a_schema_knows_no_definition),
        cmocka_unit_test(a_check_that_goes_too_deep_is_an_error),
        cmocka_unit_test(a_check_in_memory_never_blocks),
    };

    return cmocka_run_group_tests_name("engine/check", tests, NULL, NULL);
}
