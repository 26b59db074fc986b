/* core/engine/write.c: deleting by filter (api.md 12), and the filters' rules (api.md 10). */
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
               "document:d1#viewer@user:*\n"
               "document:d1#viewer@group:eng#member\n"
               "document:d1#banned@user:mal\n"
               "document:d_2#viewer@user:ana\n"
               "document:dx2#viewer@user:ana\n"
               "group:eng#member@user:ana\n"
               "group:eng#member@group:ops#member");
}

static licet_delete_result delete_by(engine_world *w, const licet_filter *filter)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

    request.filter = *filter;
    w->status      = licet_delete_relationships(w->engine, &request, &result, &w->error);
    return result;
}

static licet_filter filter_of(const char *type, const char *id, const char *prefix, const char *relation,
                              const char *subject_type, const char *subject_id, const char *subject_relation)
{
    licet_filter filter = LICET_FILTER_INIT;

    filter.resource_type      = text_of(type);
    filter.resource_id        = text_of(id);
    filter.resource_id_prefix = text_of(prefix);
    filter.relation           = text_of(relation);
    filter.subject_type       = text_of(subject_type);
    filter.subject_id         = text_of(subject_id);
    filter.subject_relation   = text_of(subject_relation);
    return filter;
}

static void a_filter_deletes_what_matches_all_its_fields(void **state)
{
    static const struct {
        const char *fields[7];
        uint64_t    deleted;
    } cases[] = {
        { { "document" }, 6 },
        { { "document", "d1" }, 4 },
        { { "document", "d1", NULL, "viewer" }, 3 },
        { { "document", "nowhere" }, 0 },
        { { "document", "d_1" }, 0 },
        { { "document", NULL, "d_" }, 1 },
        { { "document", NULL, "d" }, 6 },
        { { NULL, "eng" }, 2 },
        { { NULL, NULL, "e" }, 2 },
        { { NULL, NULL, NULL, "viewer" }, 5 },
        { { NULL, NULL, NULL, "nosuch" }, 0 },
        { { "document", NULL, NULL, "view" }, 0 }, /* a permission: nothing is stored */
        { { NULL, NULL, NULL, NULL, "user", "ana" }, 4 },
        { { NULL, NULL, NULL, NULL, "user", "*" }, 1 },
        { { NULL, NULL, NULL, NULL, "user" }, 6 },
        { { NULL, NULL, NULL, NULL, "group" }, 2 },
        { { NULL, NULL, NULL, NULL, "group", NULL, "" }, 0 },
        { { NULL, NULL, NULL, NULL, "group", NULL, "member" }, 2 },
        { { NULL, NULL, NULL, NULL, "group", "ops", "member" }, 1 },
        { { NULL, NULL, NULL, NULL, "group", "ops", "" }, 0 },
        { { "document", NULL, NULL, NULL, "user", "ana" }, 3 },
        { { "document", NULL, "dx", "viewer", "user", "ana", "" }, 1 },
        { { "document", "d1", NULL, NULL, "user", "ana" }, 1 },
        { { "document", "d1", NULL, "banned", "user", "ana" }, 0 },
        { { "document", "d1", NULL, "viewer", "group", NULL, "member" }, 1 },
        { { "document", "d1", NULL, NULL, "document" }, 0 },
    };
    engine_world w;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const  *f      = cases[i].fields;
        licet_filter        filter = filter_of(f[0], f[1], f[2], f[3], f[4], f[5], f[6]);
        licet_delete_result result;

        open_world(&w);
        result = delete_by(&w, &filter);
        world_done(&w);
        if (result.deleted_count != cases[i].deleted)
            fail_msg("case %zu: %u", i, (unsigned)result.deleted_count);
        assert_false(result.partial);
        assert_true(result.token.text[0] != '\0');
        result = delete_by(&w, &filter);
        world_done(&w);
        assert_int_equal(result.deleted_count, 0);
        world_close(&w);
    }
}

static void a_filter_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char  *fields[7];
        licet_status status;
        licet_kind   kind;
        const char  *reason;
        const char  *message;
    } cases[] = {
        { { NULL },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "INVALID_FILTER",
          "filter: at least one field must be given" },
        { { "document", "d1", "d" },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "INVALID_FILTER",
          "filter: resource_id and resource_id_prefix exclude each other" },
        { { "" },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "INVALID_FILTER",
          "filter: at least one field must be given" },
        { { "document", NULL, "%" },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "",
          "filter: resource_id_prefix: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 1 is another: \"%\"" },
        { { "document", "*" },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "",
          "filter: resource_id: the wildcard \"*\" can not stand here" },
        { { "document", NULL, NULL, NULL, NULL, "ana" },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "",
          "filter: subject_type must be given with subject_id or subject_relation" },
        { { "document", NULL, NULL, NULL, "group", "eng", "..." },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "",
          "filter: subject_relation: expected a name of 3 to 64 of a-z, 0-9 and _, not \"...\"" },
        { { "document", NULL, NULL, NULL, "group", "*", "member" },
          LICET_INVALID_ARGUMENT,
          LICET_KIND_VALUE,
          "",
          "filter: the wildcard subject can not have a relation" },
        { { "nosuch" },
          LICET_NOT_FOUND,
          LICET_KIND_NAME,
          "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { { "document", NULL, NULL, "nosuch" },
          LICET_NOT_FOUND,
          LICET_KIND_NAME,
          "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `document`" },
        { { NULL, NULL, NULL, NULL, "nosuch" },
          LICET_NOT_FOUND,
          LICET_KIND_NAME,
          "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { { NULL, NULL, NULL, NULL, "group", NULL, "nosuch" },
          LICET_NOT_FOUND,
          LICET_KIND_NAME,
          "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `group`" },
    };
    engine_world w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const  *f      = cases[i].fields;
        licet_filter        filter = filter_of(f[0], f[1], f[2], f[3], f[4], f[5], f[6]);
        licet_delete_result result = delete_by(&w, &filter);

        world_failed(&w, cases[i].status, cases[i].kind, cases[i].reason, cases[i].message);
        assert_int_equal(result.deleted_count, 0);
        assert_string_equal(result.token.text, "");
    }
    assert_string_equal(world_read_type(&w, "group"), "group:eng#member@user:ana\n"
                                                      "group:eng#member@group:ops#member\n");
    world_close(&w);
}

/* SpiceDB's messages know no difference between empty and not given; a strict engine does. */
static void an_empty_field_of_a_filter_is_not_given_unless_strict(void **state)
{
    static const struct {
        const char *fields[6];
        const char *message; /* of a strict engine */
        uint64_t    deleted; /* by another */
    } cases[] = {
        { { "", NULL, NULL, NULL, "user", "ana" }, "filter: resource_type is empty", 4 },
        { { "document", "" }, "filter: resource_id is empty", 6 },
        { { "document", NULL, "" }, "filter: resource_id_prefix is empty", 6 },
        { { "document", NULL, NULL, "" }, "filter: relation is empty", 6 },
        { { "document", NULL, NULL, NULL, "" }, "filter: subject_type is empty", 6 },
        { { "document", NULL, NULL, NULL, "user", "" }, "filter: subject_id is empty", 5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const *f      = cases[i].fields;
        const licet_filter filter = filter_of(f[0], f[1], f[2], f[3], f[4], f[5], NULL);
        licet_options      strict = LICET_OPTIONS_INIT;
        engine_world       w;

        strict.strict = true;
        world_open(&w, &strict, WORLD_SCHEMA, "document:d1#viewer@user:ana");
        delete_by(&w, &filter);
        world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", cases[i].message);
        world_close(&w);

        open_world(&w);
        assert_int_equal(delete_by(&w, &filter).deleted_count, cases[i].deleted);
        world_done(&w);
        world_close(&w);
    }
}

/* api.md 12: limit, partial allowed, matching; deleted, partial. deleted 99: refused. */
static void a_limit_bounds_a_deletion_as_the_table_says(void **state)
{
    static const struct {
        uint32_t limit;
        bool     allow_partial;
        uint64_t deleted;
        bool     partial;
    } cases[] = {
        { 0, false, 6, false }, { 0, true, 6, false }, { 5, false, 99, false }, { 7, false, 6, false },
        { 5, true, 5, true },   { 6, true, 6, true },  { 6, false, 6, true },   { 1000, true, 6, false },
    };
    engine_world w;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_delete_request request = LICET_DELETE_REQUEST_INIT;
        licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

        open_world(&w);
        request.filter.resource_type = LICET_STR("document");
        request.limit                = cases[i].limit;
        request.allow_partial        = cases[i].allow_partial;
        w.status                     = licet_delete_relationships(w.engine, &request, &result, &w.error);
        if (cases[i].deleted == 99) {
            world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_LIMIT,
                         "TOO_MANY_RELATIONSHIPS_FOR_TRANSACTIONAL_DELETE",
                         "more than 5 relationships match, and partial deletion is not allowed");
            assert_int_equal(result.deleted_count, 0);
            assert_true(strstr(world_read_type(&w, "document"), "document:dx2#viewer@user:ana\n") != NULL);
        } else {
            world_done(&w);
            assert_int_equal(result.deleted_count, cases[i].deleted);
            assert_int_equal(result.partial, cases[i].partial);
        }
        world_close(&w);
    }
}

static void a_deletion_has_preconditions_and_limits_of_its_own(void **state)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;
    licet_precondition   p       = { LICET_MUST_MATCH, LICET_FILTER_INIT };
    engine_world         w;

    (void)state;
    open_world(&w);
    p.filter.resource_type       = LICET_STR("group");
    p.filter.resource_id         = LICET_STR("nowhere");
    request.filter.resource_type = LICET_STR("group");
    request.preconditions        = &p;
    request.precondition_count   = 1;
    w.status                     = licet_delete_relationships(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "WRITE_OR_DELETE_PRECONDITION_FAILURE",
                 "precondition 1 does not hold: no relationship matches");
    p.filter.resource_id = LICET_STR("eng");
    request.limit        = 1001;
    w.status             = licet_delete_relationships(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT",
                 "limit: expected at most 1000, not 1001");
    request.limit              = 0;
    request.precondition_count = 1001;
    w.status                   = licet_delete_relationships(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TOO_MANY_PRECONDITIONS_IN_REQUEST",
                 "1001 preconditions are more than the 1000 of one request");
    request.precondition_count = 1;
    w.status                   = licet_delete_relationships(w.engine, &request, &result, &w.error);
    world_done(&w);
    assert_int_equal(result.deleted_count, 2);
    assert_string_equal(world_read_type(&w, "group"), "");
    world_close(&w);
}

static void what_was_deleted_grants_nothing_and_is_still_there_before(void **state)
{
    licet_check_request request = check_of("document:d1", "view", "user:ana");
    licet_filter        filter  = filter_of("document", "d1", NULL, "viewer", NULL, NULL, NULL);
    licet_result        result  = LICET_RESULT_INIT;
    licet_delete_result deleted;
    licet_token         before;
    engine_world        w;

    (void)state;
    open_world(&w);
    before  = w.token;
    deleted = delete_by(&w, &filter);
    world_done(&w);
    assert_int_equal(deleted.deleted_count, 3);
    assert_false(world_allowed(&w, "document:d1", "view", "user:ana"));
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(before.text), false };
    assert_int_equal(licet_check(w.engine, &request, &result, NULL), LICET_OK);
    assert_true(licet_result_allowed(&result));
    request.consistency.token = text_of(deleted.token.text);
    assert_int_equal(licet_check(w.engine, &request, &result, NULL), LICET_OK);
    assert_false(licet_result_allowed(&result));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_deletes_what_matches_all_its_fields),
        cmocka_unit_test(a_filter_that_makes_no_sense_is_refused),
        cmocka_unit_test(an_empty_field_of_a_filter_is_not_given_unless_strict),
        cmocka_unit_test(a_limit_bounds_a_deletion_as_the_table_says),
        cmocka_unit_test(a_deletion_has_preconditions_and_limits_of_its_own),
        cmocka_unit_test(what_was_deleted_grants_nothing_and_is_still_there_before),
    };

    return cmocka_run_group_tests_name("engine/delete", tests, NULL, NULL);
}
