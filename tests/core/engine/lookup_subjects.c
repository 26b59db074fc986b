/* Which subjects: one small world for each rule, and what a stream promises. (tests/core/eval/lookup_subjects.c holds
 * lookups against checks.) */
#include "engine_world.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char SCHEMA[] =
    "use self\n"
    "use expiration\n"
    "caveat day(today string, wanted string) { today == wanted }\n"
    "caveat adult(age int) { age > 17 }\n"
    "caveat broken(tries list<int>, at int) { tries[at] == 1 }\n"
    "definition user {\n"
    "  relation friend: user\n"
    "  permission circle = self + friend\n"
    "}\n"
    "definition club {\n"
    "  relation member: user | club#member | club#member with adult\n"
    "  relation owner: user | club:*\n"
    "  permission all = member + owner\n"
    "  permission plain = member - owner\n"
    "}\n"
    "definition folder {\n"
    "  relation parent: folder\n"
    "  relation viewer: user | club#member\n"
    "  relation banned: user\n"
    "  permission view = viewer + parent->view\n"
    "  permission safe = (viewer + parent->safe) - banned\n"
    "  permission odd = viewer - parent->odd\n"
    "}\n"
    "definition book {\n"
    "  relation folder: folder | club\n"
    "  relation some: user | user with adult | user with day | user with broken | user with expiration\n"
    "  relation pub: user:* | user:* with adult | user\n"
    "  relation open: user:* | user\n"
    "  relation banned: user | user:* | user with adult | user with day | club#member\n"
    "  relation group: club | club with adult\n"
    "  permission read = pub - banned\n"
    "  permission both = pub & some\n"
    "  permission left = some - pub\n"
    "  permission turned = pub - (open - banned)\n"
    "  permission joined = (open - banned) + pub\n"
    "  permission every = group.all(member)\n"
    "  permission mixed = folder.all(view)\n"
    "  permission inherited = folder->view\n"
    "  permission everyone = nil\n"
    "}\n";

static licet_lookup_subjects_request request_of(const char *resource, const char *permission, const char *type,
                                                const char *context)
{
    licet_lookup_subjects_request request = LICET_LOOKUP_SUBJECTS_REQUEST_INIT;
    const char                   *hash    = strchr(type, '#');

    request.resource         = text_of(resource);
    request.permission       = text_of(permission);
    request.subject_type     = (licet_str){ type, hash == NULL ? strlen(type) : (size_t)(hash - type) };
    request.subject_relation = text_of(hash == NULL ? NULL : hash + 1);
    request.context          = text_of(context);
    return request;
}

static void say(engine_world *w, licet_str text)
{
    const size_t size = strlen(w->text);

    assert_true(size + text.size < sizeof w->text);
    memcpy(w->text + size, text.data, text.size);
    w->text[size + text.size] = '\0';
}

static void say_one(engine_world *w, licet_str id, licet_permissionship permissionship, const licet_str *missing,
                    size_t count)
{
    say(w, id);
    assert_true((permissionship == LICET_CONDITIONAL_PERMISSION) == (count > 0));
    for (size_t i = 0; i < count; i++) {
        say(w, i == 0 ? LICET_STR(" if ") : LICET_STR(" and "));
        say(w, missing[i]);
    }
}

static void say_subject(engine_world *w, const licet_found_subject *subject)
{
    if (w->text[0] != '\0')
        say(w, LICET_STR(", "));
    say_one(w, subject->subject_id, subject->permissionship, subject->missing, subject->missing_count);
    for (size_t i = 0; i < subject->excluded_count; i++) {
        say(w, i == 0 ? LICET_STR(" - {") : LICET_STR(", "));
        say_one(w, subject->excluded[i].subject_id, subject->excluded[i].permissionship, subject->excluded[i].missing,
                subject->excluded[i].missing_count);
    }
    if (subject->excluded_count > 0)
        say(w, LICET_STR("}"));
}

/* Reads on; the world's text grows. */
static void drain(engine_world *w, licet_stream *stream)
{
    licet_found_subject subject = LICET_FOUND_SUBJECT_INIT;
    bool                found   = true;

    while (w->status == LICET_OK && found) {
        w->status = licet_stream_next_subject(stream, &subject, &found, &w->error);
        if (found)
            say_subject(w, &subject);
    }
}

/* "* - {amy, tom if age}, sara if day", in the world until the next call. */
static const char *look_up(engine_world *w, const licet_lookup_subjects_request *request)
{
    licet_stream *stream = NULL;

    w->text[0] = '\0';
    w->status  = licet_lookup_subjects(w->engine, request, &stream, &w->error);
    assert_true((w->status == LICET_OK) == (stream != NULL));
    drain(w, stream);
    licet_stream_release(stream);
    return w->text;
}

static const char *subjects(engine_world *w, const char *resource, const char *permission, const char *type,
                            const char *context)
{
    const licet_lookup_subjects_request request = request_of(resource, permission, type, context);

    look_up(w, &request);
    world_done(w);
    return w->text;
}

/* ---------------------------------------------------------------------- rules */

static void a_relation_lists_its_subjects_and_those_of_its_usersets_once(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "club:a#member@user:tom\nclub:a#member@club:b#member\nclub:b#member@user:amy\nclub:b#member@user:tom");
    assert_string_equal(subjects(&w, "club:a", "member", "user", NULL), "tom, amy");
    assert_string_equal(subjects(&w, "club:b", "member", "user", NULL), "tom, amy");
    assert_string_equal(subjects(&w, "club:a", "owner", "user", NULL), "");
    assert_string_equal(subjects(&w, "club:a", "member", "book", NULL), "");
    world_close(&w);
}

static void usersets_granted_on_the_way_and_the_resource_itself_are_usersets(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "club:a#member@club:b#member\nclub:b#member@club:c#member\nclub:a#owner@user:tom");
    assert_string_equal(subjects(&w, "club:a", "member", "club#member", NULL), "a, b, c");
    assert_string_equal(subjects(&w, "club:b", "all", "club#member", NULL), "b, c");
    assert_string_equal(subjects(&w, "club:a", "all", "club#owner", NULL), "a");
    assert_string_equal(subjects(&w, "club:a", "all", "club#all", NULL), "a");
    assert_string_equal(subjects(&w, "club:a", "plain", "club#owner", NULL), "");
    assert_string_equal(subjects(&w, "club:a", "plain", "club#member", NULL), "a, b, c");
    assert_string_equal(subjects(&w, "club:a", "all", "club", NULL), "");
    world_close(&w);
}

static void who_occurs_nowhere_is_still_its_own_userset(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "");
    assert_string_equal(subjects(&w, "club:ghost", "all", "club#member", NULL), "ghost");
    assert_string_equal(subjects(&w, "user:ghost", "circle", "user", NULL), "ghost");
    assert_string_equal(subjects(&w, "club:ghost", "all", "user", NULL), "");
    assert_string_equal(subjects(&w, "club:*", "all", "club#member", NULL), "");
    world_close(&w);
}

static void a_wildcard_of_the_type_stands_for_its_usersets_too(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "club:a#owner@club:*");
    assert_string_equal(subjects(&w, "club:a", "owner", "club", NULL), "*");
    assert_string_equal(subjects(&w, "club:a", "owner", "club#member", NULL), "*");
    assert_string_equal(subjects(&w, "club:a", "owner", "user", NULL), "");
    world_close(&w);
}

static void self_is_the_resource_for_its_own_type_alone(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "user:tom#friend@user:amy");
    assert_string_equal(subjects(&w, "user:tom", "circle", "user", NULL), "tom, amy");
    assert_string_equal(subjects(&w, "user:tom", "circle", "club", NULL), "");
    assert_string_equal(subjects(&w, "user:tom", "circle", "user#circle", NULL), "tom");
    world_close(&w);
}

/* The table of api.md 8. */
static void exclusions_are_listed_with_the_wildcard(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "book:a#pub@user:*\nbook:a#banned@user:amy\n"
               "book:b#pub@user:*\nbook:b#banned@user:amy[adult]\n"
               "book:c#pub@user:*[adult]\n"
               "book:d#pub@user:*\nbook:d#pub@user:amy\nbook:d#banned@user:*");
    assert_string_equal(subjects(&w, "book:a", "read", "user", NULL), "* - {amy}");
    assert_string_equal(subjects(&w, "book:b", "read", "user", NULL), "* - {amy if age}");
    assert_string_equal(subjects(&w, "book:b", "read", "user", "{\"age\": 18}"), "* - {amy}");
    assert_string_equal(subjects(&w, "book:b", "read", "user", "{\"age\": 3}"), "*");
    assert_string_equal(subjects(&w, "book:c", "read", "user", NULL), "* if age");
    assert_string_equal(subjects(&w, "book:c", "read", "user", "{\"age\": 3}"), "");
    assert_string_equal(subjects(&w, "book:d", "read", "user", NULL), "");
    world_close(&w);
}

static void who_is_granted_by_name_is_listed_beside_the_wildcard(void **state)
{
    engine_world w;

    (void)state;
    world_open(
        &w, NULL, SCHEMA,
        "book:a#pub@user:*\nbook:a#pub@user:tom\nbook:a#banned@user:amy\nbook:a#some@user:amy\nbook:a#some@user:eve");
    assert_string_equal(subjects(&w, "book:a", "read", "user", NULL), "* - {amy}, tom");
    assert_string_equal(subjects(&w, "book:a", "both", "user", NULL), "amy, eve");
    assert_string_equal(subjects(&w, "book:a", "left", "user", NULL), "");
    world_close(&w);
}

/* By the check what is granted for certain is so, whatever the row beside it says. */
static void what_is_said_of_a_name_is_the_whole_truth(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#pub@user:*[adult]\nbook:a#pub@user:tom\nbook:a#banned@user:tom[day]");
    assert_string_equal(subjects(&w, "book:a", "read", "user", NULL), "* if age - {tom if today}, tom if today");
    assert_string_equal(subjects(&w, "book:a", "pub", "user", NULL), "* if age, tom");
    world_close(&w);
}

/* As in SpiceDB: who reads the wildcard alone must not take it to stand for him. */
static void who_is_granted_by_name_on_a_condition_is_excluded_from_the_wildcard_too(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#pub@user:*\nbook:a#pub@user:tom\nbook:a#banned@user:tom[day]");
    assert_string_equal(subjects(&w, "book:a", "read", "user", NULL), "* - {tom if today}, tom if today");
    assert_string_equal(subjects(&w, "book:a", "read", "user", "{\"today\": \"sun\", \"wanted\": \"mon\"}"), "*, tom");
    assert_string_equal(subjects(&w, "book:a", "read", "user", "{\"today\": \"sun\", \"wanted\": \"sun\"}"),
                        "* - {tom}");
    world_close(&w);
}

/* api.md 8: where SpiceDB's own lookup says something else than its check. */
static void the_four_differences_go_the_way_of_checks(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "club:a#member@user:tom\nfolder:f#viewer@user:tom\nbook:a#folder@folder:f\nbook:a#folder@club:a\n"
               "book:b#pub@user:*[adult]\nbook:b#open@user:*\nbook:b#banned@user:amy\n"
               "book:c#open@user:*\nbook:c#banned@user:amy\nbook:c#pub@user:*[adult]");
    /* a target that lacks the name holds nobody, and `all` wants every one */
    assert_string_equal(subjects(&w, "book:a", "mixed", "user", NULL), "");
    assert_string_equal(subjects(&w, "book:a", "inherited", "user", NULL), "tom");
    /* `self` is of one type */
    assert_string_equal(subjects(&w, "user:tom", "circle", "book", NULL), "");
    /* a conditional wildcard minus everybody but amy is amy, under the condition */
    assert_string_equal(subjects(&w, "book:b", "turned", "user", NULL), "amy if age");
    /* everybody but amy, and under a condition everybody: amy under the condition */
    assert_string_equal(subjects(&w, "book:c", "joined", "user", NULL), "* - {amy if age}");
    assert_string_equal(subjects(&w, "book:c", "joined", "user", "{\"age\": 20}"), "*");
    assert_string_equal(subjects(&w, "book:c", "joined", "user", "{\"age\": 2}"), "* - {amy}");
    world_close(&w);
}

static void all_wants_every_row_and_at_least_one(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "club:a#member@user:tom\nclub:a#member@user:amy\nclub:b#member@user:tom\n"
               "book:one#group@club:a\nbook:two#group@club:a\nbook:two#group@club:b\n"
               "book:maybe#group@club:a\nbook:maybe#group@club:b[adult]");
    assert_string_equal(subjects(&w, "book:none", "every", "user", NULL), "");
    assert_string_equal(subjects(&w, "book:one", "every", "user", NULL), "tom, amy");
    assert_string_equal(subjects(&w, "book:two", "every", "user", NULL), "tom");
    assert_string_equal(subjects(&w, "book:maybe", "every", "user", NULL), "tom if age");
    assert_string_equal(subjects(&w, "book:maybe", "every", "user", "{\"age\": 3}"), "");
    world_close(&w);
}

static void conditions_add_up_and_name_what_is_missing(void **state)
{
    engine_world w;

    (void)state;
    world_open(
        &w, NULL, SCHEMA,
        "book:a#some@user:amy[adult]\nbook:a#some@user:tom[day:{\"wanted\": \"sunday\"}]\n"
        "book:a#some@user:old[expiration:2001-01-01T00:00:00Z]\nbook:a#some@user:new[expiration:2100-01-01T00:00:00Z]\n"
        "book:a#pub@user:*[adult]");
    assert_string_equal(subjects(&w, "book:a", "some", "user", NULL), "amy if age, tom if today, new");
    assert_string_equal(subjects(&w, "book:a", "both", "user", NULL), "amy if age, tom if age and today, new if age");
    assert_string_equal(subjects(&w, "book:a", "both", "user", "{\"age\": 20, \"today\": \"monday\"}"), "amy, new");
    world_close(&w);
}

static void a_caveat_that_fails_is_the_error_where_nothing_decides(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "some", "user", "{\"tries\": [1], \"at\": 7}");
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#some@user:tom[broken]\nbook:a#open@user:*");
    look_up(&w, &request);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_memory_equal(licet_error_reason(w.error).data, "CAVEAT_EVALUATION_ERROR", 23);
    licet_error_free(w.error);
    w.error = NULL;
    /* Nobody is in the other operand. */
    assert_string_equal(subjects(&w, "book:a", "both", "user", "{\"tries\": [1], \"at\": 7}"), "");
    world_close(&w);
}

/* --------------------------------------------------------------------- cycles */

static void a_cycle_adds_nobody(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "club:a#member@club:b#member\nclub:b#member@club:a#member\nclub:b#member@user:tom\n"
               "folder:x#parent@folder:y\nfolder:y#parent@folder:x\nfolder:y#viewer@club:a#member\n"
               "folder:x#banned@user:amy\nfolder:x#viewer@user:amy");
    assert_string_equal(subjects(&w, "club:a", "member", "user", NULL), "tom");
    assert_string_equal(subjects(&w, "folder:x", "view", "user", NULL), "tom, amy");
    assert_string_equal(subjects(&w, "folder:x", "view", "club#member", NULL), "a, b");
    /* also where it does not run through unions alone */
    assert_string_equal(subjects(&w, "folder:x", "safe", "user", NULL), "tom");
    assert_string_equal(subjects(&w, "folder:y", "safe", "user", NULL), "tom");
    world_close(&w);
}

static void a_condition_on_a_cycle_holds_for_who_comes_by_it(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "club:a#member@club:b#member[adult]\nclub:b#member@club:a#member\nclub:b#member@user:tom\n"
               "club:a#member@user:amy");
    assert_string_equal(subjects(&w, "club:a", "member", "user", NULL), "tom if age, amy");
    assert_string_equal(subjects(&w, "club:b", "member", "user", NULL), "tom, amy");
    assert_string_equal(subjects(&w, "club:a", "member", "user", "{\"age\": 40}"), "tom, amy");
    assert_string_equal(subjects(&w, "club:a", "member", "user", "{\"age\": 4}"), "amy");
    world_close(&w);
}

static const char WHEEL[] = "definition user {}\n"
                            "definition folder {\n"
                            "  relation parent: folder\n"
                            "  relation pub: user:*\n"
                            "  relation member: user\n"
                            "  relation banned: user\n"
                            "  permission view = pub + (member & banned) + parent.all(view)\n"
                            "}\n";

/* amy is a member of folder:a, and granted nothing by that. */
static const char CYCLE_LAST[]  = "folder:a#parent@folder:b\nfolder:a#pub@user:*\nfolder:a#member@user:amy\n"
                                  "folder:a#parent@folder:a";
static const char CYCLE_FIRST[] = "folder:a#parent@folder:a\nfolder:a#pub@user:*\nfolder:a#member@user:amy\n"
                                  "folder:a#parent@folder:b";

/* Nobody is in folder:b, so whether `all` goes on to the cycle does not matter to who is in, only to how it is told. */
static void a_listing_does_not_hang_on_the_order_of_rows(void **state)
{
    static const char *const orders[] = { CYCLE_LAST, CYCLE_FIRST };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        engine_world w;

        world_open(&w, NULL, WHEEL, orders[i]);
        assert_string_equal(subjects(&w, "folder:a", "view", "user", NULL), "*, amy");
        world_close(&w);
    }
}

static void a_cycle_through_an_exclusion_is_the_depth_error(void **state)
{
    licet_lookup_subjects_request request = request_of("folder:x", "odd", "user", NULL);
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "folder:x#parent@folder:x\nfolder:x#viewer@user:tom");
    look_up(&w, &request);
    assert_int_equal(w.status, LICET_LIMIT_EXCEEDED);
    assert_memory_equal(licet_error_reason(w.error).data, "MAXIMUM_DEPTH_EXCEEDED", 22);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
}

/* begin0middle1end, begin1middle2end, ... */
static void add_chain(engine_world *w, const char *begin, const char *middle, const char *end, int count)
{
    char row[64];

    for (int i = 0; i < count; i++) {
        snprintf(row, sizeof row, "%s%d%s%d%s", begin, i, middle, i + 1, end);
        world_touch(w, row);
        world_done(w);
    }
}

static void add_members(engine_world *w, int from, int end)
{
    char row[64];

    for (int i = from; i < end; i++) {
        snprintf(row, sizeof row, "club:a#member@user:n%d", i);
        world_touch(w, row);
        world_done(w);
    }
}

static void assert_too_deep(engine_world *w, const char *resource, const char *permission)
{
    licet_lookup_subjects_request request = request_of(resource, permission, "user", NULL);

    look_up(w, &request);
    assert_int_equal(w->status, LICET_LIMIT_EXCEEDED);
    assert_memory_equal(licet_error_reason(w->error).data, "MAXIMUM_DEPTH_EXCEEDED", 22);
    licet_error_free(w->error);
    w->error = NULL;
}

/* Her own row cuts the short way to club:c, so a check of amy comes to its cycle too late to see it. */
static void a_cycle_beyond_the_depth_of_one_subject_is_its_error(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;

    (void)state;
    options.max_depth = 4;
    world_open(&w, &options,
               "definition user {}\n"
               "definition club {\n  relation member: user | club#member\n}\n"
               "definition book {\n"
               "  relation far: user | club#member\n"
               "  relation near: user | club#member\n"
               "  permission read = far - near\n"
               "}\n",
               "book:a#far@club:b#member\nclub:b#member@club:c#member\nclub:c#member@club:c#member\n"
               "book:a#near@club:c#member\n");
    assert_string_equal(subjects(&w, "book:a", "read", "user", NULL), "");
    world_touch(&w, "book:a#near@user:amy");
    world_done(&w);
    assert_too_deep(&w, "book:a", "read");
    world_check(&w, "book:a", "read", "user:amy");
    assert_int_equal(w.status, LICET_LIMIT_EXCEEDED);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
}

static const char RING[] = "caveat adult(age int) { age > 17 }\n"
                           "definition user {}\n"
                           "definition club {\n"
                           "  relation member: user | club#member | club#member with adult\n"
                           "}\n";

/* She is in club:b for certain, so a check of her asks it no further, and sees no cycle; but club:b counts on a
 * condition alone, and another way to it is too long. */
static void on_a_cycle_who_is_in_on_a_condition_may_be_too_far_away_as_well(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;

    (void)state;
    options.max_depth = 4;
    world_open(&w, &options, RING,
               "club:a#member@club:b#member[adult]\nclub:b#member@user:amy\nclub:b#member@club:e#member\n"
               "club:e#member@club:b#member\n"
               "club:a#member@club:c#member\nclub:c#member@club:d#member\nclub:d#member@club:e#member");
    world_check(&w, "club:a", "member", "user:amy");
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED",
                 "max_depth exceeded: the answer lies more than 4 objects and names away, or hangs on a cycle through "
                 "an exclusion");
    assert_too_deep(&w, "club:a", "member");
    assert_string_equal(subjects(&w, "club:a", "member", "user", "{\"age\": 18}"), "amy");
    world_delete(&w, "club:b#member@user:amy");
    world_done(&w);
    assert_string_equal(subjects(&w, "club:a", "member", "user", NULL), "");
    world_close(&w);
}

/* A false one takes away a way, and with it what lies near by it alone. */
static void on_a_cycle_a_way_that_does_not_count_may_be_the_only_short_one(void **state)
{
    const licet_lookup_subjects_request request = request_of("club:a", "member", "user", "{\"age\": 3}");
    licet_options                       options = LICET_OPTIONS_INIT;
    engine_world                        w;

    (void)state;
    options.max_depth = 4;
    world_open(&w, &options, RING,
               "club:a#member@club:b#member[adult]\nclub:b#member@user:amy\nclub:b#member@club:b#member\n"
               "club:b#member@club:e#member\nclub:e#member@club:f#member\n"
               "club:a#member@club:c#member\nclub:c#member@club:d#member\nclub:d#member@club:e#member");
    look_up(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED",
                 "max_depth exceeded: the answer lies more than 4 objects and names away, or hangs on a cycle through "
                 "an exclusion");
    world_delete(&w, "club:b#member@user:amy");
    world_done(&w);
    assert_string_equal(subjects(&w, "club:a", "member", "user", "{\"age\": 3}"), "");
    world_close(&w);
}

/* api.md 4.9 */
static void depth_counts_as_in_a_check(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "club:n50#member@user:tom\nfolder:n49#viewer@user:tom");
    add_chain(&w, "club:n", "#member@club:n", "#member", 50);
    assert_string_equal(subjects(&w, "club:n1", "member", "user", NULL), "tom"); /* 49 usersets away */
    assert_too_deep(&w, "club:n0", "member");
    add_chain(&w, "folder:n", "#parent@folder:n", "", 49);
    assert_string_equal(subjects(&w, "folder:n1", "view", "user", NULL), "tom"); /* 48 arrows */
    assert_too_deep(&w, "folder:n0", "view");
    world_close(&w);
}

static void a_lookup_has_a_limit_of_steps(void **state)
{
    licet_options                 options = LICET_OPTIONS_INIT;
    licet_lookup_subjects_request request = request_of("club:a", "member", "user", NULL);
    engine_world                  w;

    (void)state;
    options.max_steps = 1000;
    world_open(&w, &options, SCHEMA, "");
    add_members(&w, 0, 990);
    look_up(&w, &request);
    world_done(&w);
    add_members(&w, 990, 1010);
    look_up(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
                 "max_steps exceeded: the lookup visits more than 1000 edges");
    world_close(&w);
}

/* A hundred clubs of which each holds the 500 of one more: what they share is read twice, not a hundred times. */
static void what_several_operands_share_is_not_read_by_each(void **state)
{
    licet_options                 options = LICET_OPTIONS_INIT;
    licet_lookup_subjects_request request = request_of("book:a", "every", "user", NULL);
    engine_world                  w;
    char                          rows[128];
    size_t                        count = 0;

    (void)state;
    options.max_steps = 3000;
    world_open(&w, &options, SCHEMA, "");
    add_members(&w, 0, 500);
    for (int i = 0; i < 100; i++) {
        snprintf(rows, sizeof rows, "book:a#group@club:n%d\nclub:n%d#member@club:a#member", i, i);
        world_touch(&w, rows);
        world_done(&w);
    }
    look_up(&w, &request);
    world_done(&w);
    for (const char *at = w.text; at != NULL; at = strchr(at + 1, ','))
        count++;
    assert_int_equal(count, 500);
    world_close(&w);
}

/* -------------------------------------------------------------------- streams */

static void pages_follow_each_other_by_cursor(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "pub", "user", NULL);
    licet_stream                 *stream  = NULL;
    char                          cursor[128];
    engine_world                  w;
    licet_token                   first;
    licet_token                   token;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#pub@user:*\nbook:a#pub@user:amy\nbook:a#pub@user:tom\nbook:a#pub@user:eve");
    first         = w.token;
    request.limit = 2;
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    assert_null(licet_stream_cursor(stream).data);
    w.text[0] = '\0';
    drain(&w, stream);
    world_done(&w);
    assert_string_equal(w.text, "*, amy");
    memcpy(cursor, licet_stream_cursor(stream).data, licet_stream_cursor(stream).size + 1);
    licet_stream_release(stream);

    /* The cursor outranks the consistency: later changes do not matter. */
    world_delete(&w, "book:a#pub@user:tom");
    request.cursor = text_of(cursor);
    assert_string_equal(look_up(&w, &request), "tom, eve");
    world_done(&w);
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    licet_stream_token(stream, &token);
    assert_string_equal(token.text, first.text);
    licet_stream_release(stream);
    world_close(&w);
}

static void a_cursor_belongs_to_its_request(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "pub", "user", "{\"age\": 3}");
    licet_lookup_subjects_request others[11];
    licet_stream                 *stream  = NULL;
    licet_found_subject           subject = LICET_FOUND_SUBJECT_INIT;
    bool                          found   = false;
    char                          cursor[128];
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#pub@user:amy\nbook:a#pub@user:tom");
    request.limit = 1;
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_subject(stream, &subject, &found, NULL), LICET_OK);
    memcpy(cursor, licet_stream_cursor(stream).data, licet_stream_cursor(stream).size + 1);
    licet_stream_release(stream);
    request.cursor = text_of(cursor);
    for (size_t i = 0; i < 11; i++)
        others[i] = request;
    others[0].resource              = LICET_STR("book:b");
    others[1].permission            = LICET_STR("read");
    others[2].subject_type          = LICET_STR("club");
    others[3].subject_relation      = LICET_STR("friend");
    others[4].without_wildcards     = true;
    others[5].limit                 = 2;
    others[6].context               = LICET_STR("{\"age\": 4}");
    others[7].context               = (licet_str){ NULL, 0 };
    others[8].consistency.freshness = LICET_FULLY_CONSISTENT;
    others[9].cursor                = LICET_STR("abc");
    others[10].without_conditional  = true;
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(licet_lookup_subjects(w.engine, &others[i], &stream, &w.error), LICET_INVALID_TOKEN);
        assert_null(stream);
        assert_memory_equal(licet_error_reason(w.error).data, "INVALID_CURSOR", 14);
        licet_error_free(w.error);
        w.error = NULL;
    }
    request.context = LICET_STR(" {\"age\":3.0}"); /* the same values */
    assert_string_equal(look_up(&w, &request), "tom");
    world_done(&w);
    world_close(&w);
}

static void wildcards_can_be_left_out(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "read", "user", NULL);
    engine_world                  w;

    (void)state;
    world_open(
        &w, NULL, SCHEMA,
        "book:a#pub@user:*\nbook:a#pub@user:amy\nbook:a#pub@user:tom\nbook:a#banned@user:eve\nbook:a#banned@user:tom");
    assert_string_equal(look_up(&w, &request), "* - {tom, eve}, amy");
    request.without_wildcards = true;
    assert_string_equal(look_up(&w, &request), "amy");
    request.limit = 1;
    assert_string_equal(look_up(&w, &request), "amy");
    world_done(&w);
    world_close(&w);
}

static void conditional_subjects_can_be_left_out(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "some", "user", NULL);
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "book:a#some@user:ada[adult]\nbook:a#some@user:amy\nbook:a#some@user:ben[adult]\nbook:a#some@user:tom\n"
               "book:a#pub@user:*[adult]\nbook:a#pub@user:amy\n"
               "book:b#pub@user:*\nbook:b#banned@user:tom[adult]");
    assert_string_equal(look_up(&w, &request), "ada if age, amy, ben if age, tom");
    request.without_conditional = true;
    assert_string_equal(look_up(&w, &request), "amy, tom");
    request.limit = 1;
    assert_string_equal(look_up(&w, &request), "amy");
    request.limit = 2;
    assert_string_equal(look_up(&w, &request), "amy, tom");
    request.context = LICET_STR("{\"age\": 18}");
    assert_string_equal(look_up(&w, &request), "ada, amy");
    request.context = LICET_STR("{\"age\": 17}");
    assert_string_equal(look_up(&w, &request), "amy, tom");
    request = request_of("book:a", "pub", "user", NULL);
    assert_string_equal(look_up(&w, &request), "* if age, amy");
    request.without_conditional = true;
    assert_string_equal(look_up(&w, &request), "amy");
    request.resource = LICET_STR("book:b");
    assert_string_equal(look_up(&w, &request), "*");
    request.permission = LICET_STR("read");
    assert_string_equal(look_up(&w, &request), "* - {tom if age}");
    world_done(&w);
    world_close(&w);
}

static void a_stream_reads_its_revision_until_that_is_gone(void **state)
{
    licet_lookup_subjects_request request = request_of("club:a", "member", "user", NULL);
    licet_stream                 *stream  = NULL;
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "club:a#member@user:tom\nclub:a#member@user:amy");
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    world_delete(&w, "club:a#member@user:tom");
    world_schema(&w, SCHEMA);
    w.text[0] = '\0';
    drain(&w, stream);
    world_done(&w);
    assert_string_equal(w.text, "tom, amy");
    licet_stream_release(stream);
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    licet_close(w.engine);
    drain(&w, stream);
    world_failed(&w, LICET_CLOSED, LICET_KIND_MISUSE, "", "the engine is closed");
    licet_stream_release(stream);
    world_close(&w);
}

static void a_prepared_context_counts_like_a_text(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "some", "user", NULL);
    licet_context                *context = NULL;
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#some@user:tom[adult]\nbook:a#some@user:amy[day:{\"wanted\": \"x\"}]");
    assert_int_equal(licet_context_parse(LICET_STR("{\"age\": 30}"), NULL, &context, NULL), LICET_OK);
    request.prepared_context = context;
    assert_string_equal(look_up(&w, &request), "tom, amy if today");
    world_done(&w);
    request.context = LICET_STR("{}");
    look_up(&w, &request);
    assert_int_equal(w.status, LICET_MISUSE);
    licet_error_free(w.error);
    w.error = NULL;
    licet_context_release(context);
    world_close(&w);
}

/* --------------------------------------------------------------------- errors */

static void what_is_wrong_is_told_in_order(void **state)
{
    static const struct {
        const char  *resource;
        const char  *permission;
        const char  *type;
        licet_status status;
        const char  *reason;
    } cases[] = {
        { "book", "pub", "user", LICET_INVALID_ARGUMENT, "" },
        { "book:a", "P", "user", LICET_INVALID_ARGUMENT, "" },
        { "book:a", "pub", "U", LICET_INVALID_ARGUMENT, "" },
        { "book:a", "pub", "user#", LICET_INVALID_ARGUMENT, "" },
        { "book:a", "pub", "user#...", LICET_INVALID_ARGUMENT, "" },
        { "books:a", "nosuch", "nosuch", LICET_NOT_FOUND, "UNKNOWN_DEFINITION" },
        { "book:a", "nosuch", "nosuch", LICET_NOT_FOUND, "UNKNOWN_RELATION_OR_PERMISSION" },
        { "book:a", "pub", "nosuch", LICET_NOT_FOUND, "UNKNOWN_DEFINITION" },
        { "book:a", "pub", "user#nosuch", LICET_NOT_FOUND, "UNKNOWN_RELATION_OR_PERMISSION" },
        { "book:*", "pub", "user#nosuch", LICET_NOT_FOUND, "UNKNOWN_RELATION_OR_PERMISSION" },
    };
    licet_lookup_subjects_request request;
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#pub@user:*");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        request = request_of(cases[i].resource, cases[i].permission, cases[i].type, NULL);
        look_up(&w, &request);
        assert_int_equal(w.status, cases[i].status);
        assert_int_equal(licet_error_reason(w.error).size, strlen(cases[i].reason));
        licet_error_free(w.error);
        w.error = NULL;
    }
    request       = request_of("book:a", "pub", "user", NULL);
    request.limit = 1001;
    look_up(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT",
                 "limit: expected at most 1000, not 1001");
    world_close(&w);
}

static void wrong_use_is_told(void **state)
{
    licet_lookup_subjects_request request  = request_of("book:a", "pub", "user", NULL);
    licet_stream                 *stream   = NULL;
    licet_found_subject           subject  = LICET_FOUND_SUBJECT_INIT;
    licet_found_resource          resource = LICET_FOUND_RESOURCE_INIT;
    bool                          found    = true;
    engine_world                  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "book:a#pub@user:*");
    assert_int_equal(licet_lookup_subjects(w.engine, &request, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_lookup_subjects(w.engine, NULL, &stream, NULL), LICET_MISUSE);
    assert_int_equal(licet_lookup_subjects(NULL, &request, &stream, NULL), LICET_MISUSE);
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_MISUSE);
    assert_false(found);
    assert_int_equal(licet_stream_next_subject(stream, NULL, &found, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_subject(stream, &subject, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_subject(NULL, &subject, &found, NULL), LICET_MISUSE);
    licet_stream_release(stream);
    world_close(&w);
}

/* Sets, conditions, exclusions, and a cycle that makes every subject be checked. */
static const char RICH[] = "book:a#pub@user:*[adult]\nbook:a#pub@user:tom\nbook:a#banned@user:amy[day]\n"
                           "book:a#banned@club:a#member\nclub:a#member@user:eve\nclub:a#member@club:b#member[adult]\n"
                           "folder:x#parent@folder:y\nfolder:y#parent@folder:x\nfolder:y#viewer@club:a#member\n"
                           "folder:x#banned@user:eve\nclub:b#member@user:bob";

static void lookups_survive_every_failed_allocation_of(const char *resource, const char *permission)
{
    licet_lookup_subjects_request request = request_of(resource, permission, "user", "{\"today\": \"monday\"}");
    licet_status                  status  = LICET_OUT_OF_MEMORY;

    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_never();
        engine_world   w;

        world_open(&w, &memory.options, SCHEMA, RICH);
        memory.counts->fail_first = atomic_load(&memory.counts->calls) + n;
        memory.counts->fail_end   = memory.counts->fail_first + 1;
        look_up(&w, &request);
        status = w.status;
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        licet_error_free(w.error);
        w.error = NULL;
        world_close(&w);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

static void lookups_survive_every_failed_allocation(void **state)
{
    (void)state;
    lookups_survive_every_failed_allocation_of("book:a", "read");
    lookups_survive_every_failed_allocation_of("folder:x", "safe");
}

/* A stream can be asked again after memory was short. */
static void a_stream_that_failed_can_be_asked_again(void **state)
{
    licet_lookup_subjects_request request = request_of("book:a", "read", "user", NULL);
    failing_memory                memory  = fail_never();
    licet_stream                 *stream  = NULL;
    engine_world                  w;

    (void)state;
    world_open(&w, &memory.options, SCHEMA, RICH);
    assert_int_equal(licet_lookup_subjects(w.engine, &request, &stream, NULL), LICET_OK);
    memory.counts->fail_first = atomic_load(&memory.counts->calls) + 1;
    memory.counts->fail_end   = memory.counts->fail_first + 1;
    w.text[0]                 = '\0';
    drain(&w, stream);
    assert_int_equal(w.status, LICET_OUT_OF_MEMORY);
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    drain(&w, stream);
    world_done(&w);
    assert_string_equal(w.text, "* if age - {amy if age and today, eve, bob if age}, tom");
    licet_stream_release(stream);
    world_close(&w);
    assert_int_equal(memory.counts->live_blocks, 0);
}

/* ------------------------------------------------------------------- threads */

typedef struct reader {
    pthread_t    thread;
    engine_world w; /* of the same engine */
    atomic_bool *stop;
    bool         is_right;
} reader;

/* Whatever is written, amy or tom is a member, and never both; the tree says the same. */
static bool sees_one(engine_world *w)
{
    licet_lookup_subjects_request request = request_of("book:a", "every", "user", NULL);
    licet_expand_request          expand  = LICET_EXPAND_REQUEST_INIT;
    licet_tree                   *tree    = NULL;
    licet_tree_node               node    = LICET_TREE_NODE_INIT;
    bool                          is_right;

    look_up(w, &request);
    is_right          = w->status == LICET_OK && (strcmp(w->text, "tom") == 0 || strcmp(w->text, "amy") == 0);
    expand.resource   = LICET_STR("club:a");
    expand.permission = LICET_STR("member");
    is_right &= licet_expand(w->engine, &expand, &tree, NULL) == LICET_OK && licet_tree_node_at(tree, 0, &node) &&
                node.subject_count == 1;
    licet_tree_release(tree);
    return is_right;
}

static void *read_on(void *argument)
{
    reader *r = argument;

    r->is_right = true;
    while (!atomic_load(r->stop))
        r->is_right &= sees_one(&r->w);
    return NULL;
}

static void swap(engine_world *w, const char *gone, const char *come)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        updates[2];

    updates[0].operation    = LICET_DELETE;
    updates[0].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    updates[1].operation    = LICET_TOUCH;
    updates[1].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    assert_int_equal(licet_relationship_parse(text_of(gone), &updates[0].relationship, NULL), LICET_OK);
    assert_int_equal(licet_relationship_parse(text_of(come), &updates[1].relationship, NULL), LICET_OK);
    request.updates      = updates;
    request.update_count = 2;
    assert_int_equal(licet_write(w->engine, &request, NULL, NULL), LICET_OK);
}

static void lookups_and_trees_run_beside_writes(void **state)
{
    static reader readers[2];
    atomic_bool   stop = false;
    engine_world  w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "club:a#member@user:tom\nbook:a#group@club:a");
    for (size_t i = 0; i < 2; i++) {
        readers[i].w    = w;
        readers[i].stop = &stop;
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (size_t i = 0; i < 300; i++) {
        swap(&w, "club:a#member@user:tom", "club:a#member@user:amy");
        swap(&w, "club:a#member@user:amy", "club:a#member@user:tom");
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_true(readers[i].is_right);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relation_lists_its_subjects_and_those_of_its_usersets_once),
        cmocka_unit_test(usersets_granted_on_the_way_and_the_resource_itself_are_usersets),
        cmocka_unit_test(who_occurs_nowhere_is_still_its_own_userset),
        cmocka_unit_test(a_wildcard_of_the_type_stands_for_its_usersets_too),
        cmocka_unit_test(self_is_the_resource_for_its_own_type_alone),
        cmocka_unit_test(exclusions_are_listed_with_the_wildcard),
        cmocka_unit_test(who_is_granted_by_name_is_listed_beside_the_wildcard),
        cmocka_unit_test(what_is_said_of_a_name_is_the_whole_truth),
        cmocka_unit_test(who_is_granted_by_name_on_a_condition_is_excluded_from_the_wildcard_too),
        cmocka_unit_test(the_four_differences_go_the_way_of_checks),
        cmocka_unit_test(all_wants_every_row_and_at_least_one),
        cmocka_unit_test(conditions_add_up_and_name_what_is_missing),
        cmocka_unit_test(a_caveat_that_fails_is_the_error_where_nothing_decides),
        cmocka_unit_test(a_cycle_adds_nobody),
        cmocka_unit_test(a_condition_on_a_cycle_holds_for_who_comes_by_it),
        cmocka_unit_test(a_listing_does_not_hang_on_the_order_of_rows),
        cmocka_unit_test(a_cycle_through_an_exclusion_is_the_depth_error),
        cmocka_unit_test(a_cycle_beyond_the_depth_of_one_subject_is_its_error),
        cmocka_unit_test(on_a_cycle_who_is_in_on_a_condition_may_be_too_far_away_as_well),
        cmocka_unit_test(on_a_cycle_a_way_that_does_not_count_may_be_the_only_short_one),
        cmocka_unit_test(depth_counts_as_in_a_check),
        cmocka_unit_test(a_lookup_has_a_limit_of_steps),
        cmocka_unit_test(what_several_operands_share_is_not_read_by_each),
        cmocka_unit_test(pages_follow_each_other_by_cursor),
        cmocka_unit_test(a_cursor_belongs_to_its_request),
        cmocka_unit_test(wildcards_can_be_left_out),
        cmocka_unit_test(conditional_subjects_can_be_left_out),
        cmocka_unit_test(a_stream_reads_its_revision_until_that_is_gone),
        cmocka_unit_test(a_prepared_context_counts_like_a_text),
        cmocka_unit_test(what_is_wrong_is_told_in_order),
        cmocka_unit_test(wrong_use_is_told),
        cmocka_unit_test(lookups_survive_every_failed_allocation),
        cmocka_unit_test(a_stream_that_failed_can_be_asked_again),
        cmocka_unit_test(lookups_and_trees_run_beside_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
