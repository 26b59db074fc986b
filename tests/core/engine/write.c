/* core/engine/write.c: writes of relationships (api.md 11, schema.md 15a). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_world.h"

static void open_world(engine_world *w)
{
    world_open(w, NULL, WORLD_SCHEMA,
               "document:d1#viewer@user:ana\n"
               "document:d1#viewer@group:eng#member\n"
               "group:eng#member@user:bob\n");
}

static void create_touch_and_delete_do_what_the_table_says(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    world_create(&w, "document:d2#viewer@user:ana");
    world_done(&w);
    world_touch(&w, "document:d2#viewer@user:ana\ndocument:d3#viewer@user:ana");
    world_done(&w);
    world_delete(&w, "document:d1#viewer@user:ana\ndocument:d9#viewer@user:ana");
    world_done(&w);
    assert_string_equal(world_read_type(&w, "document"), "document:d1#viewer@group:eng#member\n"
                                                         "document:d2#viewer@user:ana\n"
                                                         "document:d3#viewer@user:ana\n");
    assert_false(world_allowed(&w, "document:d1", "view", "user:ana"));
    assert_true(world_allowed(&w, "document:d2", "view", "user:ana"));
    assert_true(world_allowed(&w, "document:d1", "view", "user:bob"));
    world_close(&w);
}

static void creating_what_exists_fails_and_writes_nothing(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    world_create(&w, "document:d5#viewer@user:ana\ndocument:d1#viewer@group:eng#member");
    world_failed(&w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"document:d1#viewer@group:eng#member\", as it exists already");
    assert_string_equal(world_read_type(&w, "document"), "document:d1#viewer@user:ana\n"
                                                         "document:d1#viewer@group:eng#member\n");
    assert_string_equal(w.token.text[0] == '\0' ? "none" : w.token.text, "none");
    world_close(&w);
}

static void subjects_that_look_alike_are_different_rows(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    world_create(&w, "document:d2#viewer@user:*\ndocument:d2#viewer@user:ana");
    world_done(&w);
    world_delete(&w, "document:d2#viewer@user:*");
    world_done(&w);
    assert_true(world_allowed(&w, "document:d2", "viewer", "user:ana"));
    assert_false(world_allowed(&w, "document:d2", "viewer", "user:bob"));
    world_close(&w);
}

static uint64_t revision(engine_world *w)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(w->engine, &stats, NULL), LICET_OK);
    return stats.revision;
}

static void a_write_that_changes_nothing_makes_a_revision(void **state)
{
    engine_world w;
    licet_token  before;
    uint64_t     at;

    (void)state;
    open_world(&w);
    at     = revision(&w);
    before = w.token;
    world_touch(&w, "");
    world_done(&w);
    assert_string_not_equal(w.token.text, before.text);
    world_touch(&w, "document:d1#viewer@user:ana");
    world_done(&w);
    world_delete(&w, "document:d9#viewer@user:ana");
    world_done(&w);
    assert_int_equal(revision(&w), at + 3);
    world_close(&w);
}

/* schema.md 15a, rules 1 to 5. */
static void relationships_are_typed_in_order(void **state)
{
    static const struct {
        const char  *line;
        licet_status status;
        licet_kind   kind;
        const char  *reason;
        const char  *message;
    } cases[] = {
        { "nosuch:d1#viewer@nosuch2:u1", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { "document:d1#nosuch@nosuch2:u1", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `document`" },
        { "document:d1#view@nosuch:u1", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { "document:d1#view@group:eng#nosuch", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `group`" },
        { "document:d1#view@user:u1", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "CANNOT_UPDATE_PERMISSION",
          "cannot write a relationship to permission `view` under definition `document`" },
        { "document:d1#viewer@document:d2#view", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `document#view` are not allowed on relation `document#viewer`" },
        { "document:d1#viewer@group:eng", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `group` are not allowed on relation `document#viewer`; did you mean `group#member`?" },
        { "document:d1#banned@group:eng#member", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `group#member` are not allowed on relation `document#banned`" },
        { "group:eng#member@user:*", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `user:*` are not allowed on relation `group#member`" },
        { "document:d1#temp@user:u1", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `user` are not allowed on relation `document#temp`; did you mean `user with "
          "expiration`?" },
        { "document:d1#banned@user:u1[expiration:2030-01-01T00:00:00Z]", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE,
          "INVALID_SUBJECT_TYPE",
          "subjects of type `user with expiration` are not allowed on relation `document#banned`" },
        { "document:d1#vip@user:*", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `user:*` are not allowed on relation `document#vip`; did you mean `user:* with ticket`?" },
        { "document:d1#vip@user:u1[ticket]", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `user with ticket` are not allowed on relation `document#vip`; did you mean `user:* with "
          "ticket`?" },
        { "document:d1#guest@user:u1", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `user` are not allowed on relation `document#guest` without one of the following caveats: "
          "ticket" },
        { "document:d1#viewer@user:u1[nosuch]", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
          "subjects of type `user with nosuch` are not allowed on relation `document#viewer`" },
    };
    engine_world w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world_touch(&w, cases[i].line);
        world_failed(&w, cases[i].status, cases[i].kind, cases[i].reason, cases[i].message);
    }
    assert_string_equal(world_read_type(&w, "document"), "document:d1#viewer@user:ana\n"
                                                         "document:d1#viewer@group:eng#member\n");
    world_close(&w);
}

/* A DELETE without a caveat fits any form of its subjects; one with a caveat only that form. */
static void deletes_are_typed_more_loosely(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    world_delete(&w, "document:d1#guest@user:u1\ndocument:d1#temp@user:u1\ndocument:d1#vip@user:*");
    world_done(&w);
    world_delete(&w, "document:d1#viewer@user:ana[ticket]");
    world_done(&w);
    assert_false(world_allowed(&w, "document:d1", "viewer", "user:ana"));
    world_delete(&w, "document:d1#guest@user:u1[nosuch]");
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
                 "subjects of type `user with nosuch` are not allowed on relation `document#guest`");
    world_delete(&w, "document:d1#banned@group:eng#member");
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
                 "subjects of type `group#member` are not allowed on relation `document#banned`");
    world_delete(&w, "document:d1#view@user:u1");
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "CANNOT_UPDATE_PERMISSION",
                 "cannot write a relationship to permission `view` under definition `document`");
    world_close(&w);
}

static void one_identity_twice_is_a_conflict_whatever_the_operations(void **state)
{
    engine_world        w;
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        updates[2];

    (void)state;
    open_world(&w);
    world_touch(&w, "document:d1#viewer@user:u1\ndocument:d1#viewer@user:u1[ticket]");
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP",
                 "found more than one update with relationship \"document:d1#viewer@user:u1\" in this request");
    for (int i = 0; i < 2; i++) {
        updates[i].operation         = i == 0 ? LICET_DELETE : LICET_CREATE;
        updates[i].relationship.size = sizeof(licet_relationship);
        assert_int_equal(
            licet_relationship_parse(LICET_STR("document:d1#viewer@user:ana"), &updates[i].relationship, NULL),
            LICET_OK);
    }
    updates[1].relationship.subject_relation = LICET_STR("...");
    request.updates                          = updates;
    request.update_count                     = 2;
    w.status                                 = licet_write(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP",
                 "found more than one update with relationship \"document:d1#viewer@user:ana\" in this request");
    world_close(&w);
}

/* ---------------------------------------------------------- preconditions */

static licet_precondition matches(licet_expectation expectation, const char *type, const char *id)
{
    licet_precondition precondition = { expectation, LICET_FILTER_INIT };

    precondition.filter.resource_type = text_of(type);
    precondition.filter.resource_id   = text_of(id);
    return precondition;
}

static void write_if(engine_world *w, licet_operation operation, const char *line,
                     const licet_precondition *preconditions, size_t count)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { operation, LICET_RELATIONSHIP_INIT };

    assert_int_equal(licet_relationship_parse(text_of(line), &update.relationship, NULL), LICET_OK);
    request.updates            = &update;
    request.update_count       = 1;
    request.preconditions      = preconditions;
    request.precondition_count = count;
    w->status                  = licet_write(w->engine, &request, &w->token, &w->error);
}

static void preconditions_are_held_against_the_state_before(void **state)
{
    licet_precondition both[2] = { matches(LICET_MUST_MATCH, "document", "d1"),
                                   matches(LICET_MUST_NOT_MATCH, "document", "d2") };
    engine_world       w;

    (void)state;
    open_world(&w);
    write_if(&w, LICET_TOUCH, "document:d2#viewer@user:ana", both, 2);
    world_done(&w);
    write_if(&w, LICET_TOUCH, "document:d3#viewer@user:ana", both, 2);
    world_failed(&w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "WRITE_OR_DELETE_PRECONDITION_FAILURE",
                 "precondition 2 does not hold: a relationship matches");
    both[0] = matches(LICET_MUST_MATCH, "document", "d9");
    write_if(&w, LICET_TOUCH, "document:d3#viewer@user:ana", both, 2);
    world_failed(&w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "WRITE_OR_DELETE_PRECONDITION_FAILURE",
                 "precondition 1 does not hold: no relationship matches");
    /* MUST_MATCH on what the write deletes holds. */
    both[0] = matches(LICET_MUST_MATCH, "document", "d2");
    write_if(&w, LICET_DELETE, "document:d2#viewer@user:ana", both, 1);
    world_done(&w);
    assert_string_equal(world_read_type(&w, "document"), "document:d1#viewer@user:ana\n"
                                                         "document:d1#viewer@group:eng#member\n");
    world_close(&w);
}

static void a_permission_in_a_precondition_matches_nothing(void **state)
{
    licet_precondition p = { LICET_MUST_NOT_MATCH, LICET_FILTER_INIT };
    engine_world       w;

    (void)state;
    open_world(&w);
    p.filter.resource_type = LICET_STR("document");
    p.filter.relation      = LICET_STR("view");
    write_if(&w, LICET_TOUCH, "document:d2#viewer@user:ana", &p, 1);
    world_done(&w);
    world_close(&w);
}

/* api.md 11: shape, counts, duplicates, names in preconditions, types, preconditions, changes. */
static void the_first_failure_in_order_wins(void **state)
{
    licet_precondition unknown  = matches(LICET_MUST_MATCH, "nosuch", NULL);
    licet_precondition fails    = matches(LICET_MUST_MATCH, "document", "d9");
    licet_precondition unusable = { LICET_MUST_MATCH, LICET_FILTER_INIT };
    engine_world       w;

    (void)state;
    open_world(&w);
    write_if(&w, LICET_TOUCH, "document:d1#nosuch@user:ana", &unusable, 1);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER",
                 "precondition 1: at least one field must be given");
    write_if(&w, LICET_TOUCH, "document:d1#banned@group:eng", &unknown, 1);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `nosuch` not found");
    write_if(&w, LICET_TOUCH, "document:d1#banned@group:eng", &fails, 1);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
                 "subjects of type `group` are not allowed on relation `document#banned`");
    write_if(&w, LICET_CREATE, "document:d1#viewer@user:ana", &fails, 1);
    world_failed(&w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "WRITE_OR_DELETE_PRECONDITION_FAILURE",
                 "precondition 1 does not hold: no relationship matches");
    world_touch(&w, "document:d1#nosuch@user:u1\ndocument:d1#nosuch@user:u1");
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP",
                 "found more than one update with relationship \"document:d1#nosuch@user:u1\" in this request");
    world_close(&w);
}

static void the_same_relationship_twice_outranks_a_precondition_of_nothing(void **state)
{
    licet_precondition unusable = { LICET_MUST_MATCH, LICET_FILTER_INIT };
    licet_update updates[2] = { { LICET_CREATE, LICET_RELATIONSHIP_INIT }, { LICET_DELETE, LICET_RELATIONSHIP_INIT } };
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    engine_world        w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            licet_relationship_parse(LICET_STR("document:d1#viewer@user:u1"), &updates[i].relationship, NULL),
            LICET_OK);
    request.updates            = updates;
    request.update_count       = 2;
    request.preconditions      = &unusable;
    request.precondition_count = 1;
    w.status                   = licet_write(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP",
                 "found more than one update with relationship \"document:d1#viewer@user:u1\" in this request");
    world_close(&w);
}

/* ------------------------------------------------------------ limits, shape */

static void write_many(engine_world *w, size_t updates, size_t preconditions)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update       *update  = calloc(updates + 1, sizeof *update);
    licet_precondition *holds   = calloc(preconditions + 1, sizeof *holds);
    char(*ids)[24]              = calloc(updates + 1, sizeof *ids);

    for (size_t i = 0; i < updates; i++) {
        snprintf(ids[i], sizeof ids[i], "m%zu", i);
        update[i] = (licet_update){ LICET_TOUCH, LICET_RELATIONSHIP_INIT };
        assert_int_equal(
            licet_relationship_parse(LICET_STR("document:x#viewer@user:u1"), &update[i].relationship, NULL), LICET_OK);
        update[i].relationship.resource_id = text_of(ids[i]);
    }
    for (size_t i = 0; i < preconditions; i++)
        holds[i] = matches(LICET_MUST_MATCH, "document", "d1");
    request.updates            = update;
    request.update_count       = updates;
    request.preconditions      = holds;
    request.precondition_count = preconditions;
    w->status                  = licet_write(w->engine, &request, NULL, &w->error);
    free(update);
    free(holds);
    free(ids);
}

static void a_write_holds_at_most_1000_updates_and_1000_preconditions(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    write_many(&w, 1000, 1000);
    world_done(&w);
    write_many(&w, 1001, 0);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TOO_MANY_UPDATES_IN_REQUEST",
                 "1001 updates are more than the 1000 of one request");
    write_many(&w, 1, 1001);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TOO_MANY_PRECONDITIONS_IN_REQUEST",
                 "1001 preconditions are more than the 1000 of one request");
    world_close(&w);
}

static void shapes_are_judged_before_anything_else(void **state)
{
    engine_world        w;
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { (licet_operation)0, LICET_RELATIONSHIP_INIT };
    licet_precondition  p       = matches((licet_expectation)7, "document", NULL);

    (void)state;
    open_world(&w);
    request.updates      = &update;
    request.update_count = 1;
    assert_int_equal(licet_relationship_parse(LICET_STR("nosuch:d1#viewer@user:*#member"), &update.relationship, NULL),
                     LICET_OK);
    w.status = licet_write(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "update 1: 0 is none of create, touch and delete");
    update.operation = LICET_TOUCH;
    w.status         = licet_write(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                 "update 1: the wildcard subject can not have a relation");
    update.relationship.resource_id = LICET_STR("*");
    w.status                        = licet_write(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                 "update 1: resource_id: the wildcard \"*\" can not stand here");
    update.relationship.resource_id.size = 0;
    w.status                             = licet_write(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "update 1: resource_id is empty");
    write_if(&w, LICET_TOUCH, "nosuch:d1#viewer@user:u1", &p, 1);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                 "precondition 1: 7 is neither must match nor must not match");
    world_close(&w);
}

/* The longest ids there are would fill the message and leave no room to say what is wrong. */
static void a_long_relationship_does_not_crowd_out_what_is_wrong_with_it(void **state)
{
    static const char said[] = "document:ddddddddddddddddddddddddddddddddddddddddddddddddddddddd";
    char              line[2200];
    char              twice[2 * sizeof line + 1];
    char              message[200];
    char              id[1025] = { 0 };
    engine_world      w;

    (void)state;
    memset(id, 'd', sizeof id - 1);
    snprintf(line, sizeof line, "document:%s#viewer@user:%s", id, id);
    snprintf(twice, sizeof twice, "%s\n%s", line, line);
    world_open(&w, NULL, WORLD_SCHEMA, line);
    world_create(&w, line);
    snprintf(message, sizeof message, "could not create relationship \"%s\"..., as it exists already", said);
    world_failed(&w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP", message);
    world_touch(&w, twice);
    snprintf(message, sizeof message, "found more than one update with relationship \"%s\"... in this request", said);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP", message);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_touch_and_delete_do_what_the_table_says),
        cmocka_unit_test(creating_what_exists_fails_and_writes_nothing),
        cmocka_unit_test(subjects_that_look_alike_are_different_rows),
        cmocka_unit_test(a_write_that_changes_nothing_makes_a_revision),
        cmocka_unit_test(relationships_are_typed_in_order),
        cmocka_unit_test(deletes_are_typed_more_loosely),
        cmocka_unit_test(one_identity_twice_is_a_conflict_whatever_the_operations),
        cmocka_unit_test(preconditions_are_held_against_the_state_before),
        cmocka_unit_test(a_permission_in_a_precondition_matches_nothing),
        cmocka_unit_test(the_first_failure_in_order_wins),
        cmocka_unit_test(the_same_relationship_twice_outranks_a_precondition_of_nothing),
        cmocka_unit_test(a_write_holds_at_most_1000_updates_and_1000_preconditions),
        cmocka_unit_test(shapes_are_judged_before_anything_else),
        cmocka_unit_test(a_long_relationship_does_not_crowd_out_what_is_wrong_with_it),
    };

    return cmocka_run_group_tests_name("engine/write", tests, NULL, NULL);
}
