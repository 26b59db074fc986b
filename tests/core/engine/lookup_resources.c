/* core/engine/lookup_resources.c: what licet_lookup_resources() finds (api.md 7 and its places in 4), page by page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "engine_world.h"
#include "failing_memory.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ------------------------------------------------------------------- asking */

/* "document#view@user:ana" as a request; context may be NULL. */
static licet_lookup_resources_request request_of(const char *question, const char *context)
{
    licet_lookup_resources_request request = LICET_LOOKUP_RESOURCES_REQUEST_INIT;
    const char                    *hash    = strchr(question, '#');
    const char                    *at      = strchr(question, '@');

    request.resource_type = (licet_str){ question, (size_t)(hash - question) };
    request.permission    = (licet_str){ hash + 1, (size_t)(at - hash - 1) };
    request.subject       = text_of(at + 1);
    request.context       = text_of(context);
    return request;
}

static void say(engine_world *w, const char *before, licet_str text, const char *after)
{
    const size_t used = strlen(w->text);

    assert_true(used + text.size + 8 < sizeof w->text);
    snprintf(w->text + used, sizeof w->text - used, "%s%.*s%s", before, (int)text.size, text.data, after);
}

static void say_resource(engine_world *w, const licet_found_resource *resource)
{
    say(w, w->text[0] == '\0' ? "" : " ", resource->resource_id, "");
    for (size_t i = 0; i < resource->missing_count; i++)
        say(w, i == 0 ? "(if " : " ", resource->missing[i], i + 1 == resource->missing_count ? ")" : "");
    assert_int_equal(resource->permissionship,
                     resource->missing_count > 0 ? LICET_CONDITIONAL_PERMISSION : LICET_HAS_PERMISSION);
}

/* What a lookup finds, in its order: "a b(if hour zone) c". cursor: where it ended; may be NULL. */
static const char *read_all(engine_world *w, const licet_lookup_resources_request *request, char *cursor)
{
    licet_stream        *stream   = NULL;
    licet_found_resource resource = LICET_FOUND_RESOURCE_INIT;
    bool                 found    = true;
    licet_str            place;

    licet_error_free(w->error);
    w->error   = NULL;
    w->text[0] = '\0';
    w->status  = licet_lookup_resources(w->engine, request, &stream, &w->error);
    assert_int_equal(w->status == LICET_OK, stream != NULL);
    while (w->status == LICET_OK && found) {
        w->status = licet_stream_next_resource(stream, &resource, &found, &w->error);
        if (found)
            say_resource(w, &resource);
    }
    place = licet_stream_cursor(stream);
    if (cursor != NULL) {
        memcpy(cursor, place.size == 0 ? "" : place.data, place.size);
        cursor[place.size] = '\0';
    }
    licet_stream_release(stream);
    return w->text;
}

static const char *lookup_with(engine_world *w, const char *question, const char *context)
{
    licet_lookup_resources_request request = request_of(question, context);

    return read_all(w, &request, NULL);
}

static const char *lookup(engine_world *w, const char *question)
{
    lookup_with(w, question, NULL);
    world_done(w);
    return w->text;
}

typedef struct expectation {
    const char *question;
    const char *context;
    const char *found;
} expectation;

static void expect(engine_world *w, const expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lookup_with(w, rows[i].question, rows[i].context);
        world_done(w);
        if (strcmp(w->text, rows[i].found) != 0)
            fail_msg("%s: [%s] instead of [%s]", rows[i].question, w->text, rows[i].found);
    }
}

static void expect_in(const char *schema, const char *lines, const expectation *rows, size_t count)
{
    engine_world w;

    world_open(&w, NULL, schema, lines);
    expect(&w, rows, count);
    world_close(&w);
}

/* ---------------------------------------------------------------- what is found */

static const char LIBRARY[] = "use self\n"
                              "definition person {}\n"
                              "definition club {\n"
                              "  relation member: person | person:* | club#owner\n"
                              "  relation owner: person | club#owner\n"
                              "  permission all = member + owner\n"
                              "  permission plain = member - owner\n"
                              "  permission both = owner & member\n"
                              "}\n"
                              "definition shelf {\n"
                              "  relation club: club | club#all\n"
                              "  permission every = club.all(all)\n"
                              "  permission some = club->all\n"
                              "  permission own = self + club->owner\n"
                              "}\n"
                              "definition book {\n"
                              "  relation shelf: shelf\n"
                              "  relation reader: person | club#all | club#plain\n"
                              "  relation banned: person | person:*\n"
                              "  permission read = reader + shelf->some - banned\n"
                              "}\n";

static void a_lookup_finds_resources_by_every_kind_of_way(void **state)
{
    static const expectation rows[] = {
        { "club#member@person:a", NULL, "c1 c2 c3" },
        { "club#owner@person:a", NULL, "c1 c2" },
        { "club#all@person:a", NULL, "c1 c2 c3" },
        { "club#plain@person:a", NULL, "c3" },
        { "club#both@person:a", NULL, "c1 c2" },
        { "club#all@person:b", NULL, "c3 c4" },
        { "shelf#some@person:a", NULL, "s1 s2 s3" },
        { "shelf#every@person:a", NULL, "s1" },
        { "shelf#some@person:b", NULL, "s2 s3" },
        { "shelf#every@person:b", NULL, "s3" },
        { "book#reader@person:a", NULL, "b1 b2 b4" },
        { "book#read@person:a", NULL, "b1 b3 b4" },
        { "book#reader@person:b", NULL, "b2" },
        { "book#banned@person:b", NULL, "b2" },
        { "book#read@person:b", NULL, "b3" },
        { "book#reader@club:c1#all", NULL, "b4" },
        { "book#shelf@shelf:s1", NULL, "b3" },
        { "book#read@club:c3#all", NULL, "b3" },
        { "book#read@club:c3", NULL, "" },
        { "shelf#club@club:c3#all", NULL, "s2 s3" },
        { "shelf#club@club:c3", NULL, "" },
    };
    engine_world w;

    (void)state;
    world_open(&w, NULL, LIBRARY,
               "club:c1#member@club:c1#owner\nclub:c1#owner@club:c2#owner\nclub:c2#owner@person:a\n"
               "club:c2#member@person:a\nclub:c3#member@person:*\nclub:c4#owner@person:b\n"
               "shelf:s1#club@club:c1\nshelf:s1#club@club:c2\nshelf:s2#club@club:c2\nshelf:s2#club@club:c3#all\n"
               "shelf:s2#club@club:c4\nshelf:s3#club@club:c4\nshelf:s3#club@club:c3#all\n"
               "book:b1#reader@person:a\nbook:b2#reader@club:c3#plain\nbook:b2#banned@person:*\n"
               "book:b3#shelf@shelf:s1\nbook:b4#reader@club:c1#all\nbook:b3#shelf@shelf:s2");
    expect(&w, rows, COUNT(rows));
    world_close(&w);
}

/* api.md 4.1, with an empty store. */
static void a_userset_is_found_in_what_it_names_whether_stored_or_not(void **state)
{
    static const char        schema[] = "definition person {}\n"
                                        "definition club {\n"
                                        "  relation member: person | club#member\n"
                                        "  relation owner: person\n"
                                        "  permission all = member + owner\n"
                                        "  permission plain = member - owner\n"
                                        "}\n";
    static const expectation rows[]   = {
          { "club#member@club:a#member", NULL, "a" }, { "club#all@club:a#owner", NULL, "a" },
          { "club#owner@club:a#all", NULL, "" },      { "club#plain@club:a#member", NULL, "a" },
          { "club#plain@club:a#owner", NULL, "" },    { "club#member@club:a", NULL, "" },
          { "club#all@club:a#all", NULL, "a" },
    };
    static const expectation with_b[] = {
        { "club#member@club:a#member", NULL, "b a" }, /* b was written first; a occurs nowhere but in the question */
        { "club#all@club:b#member", NULL, "b" },
    };
    engine_world w;

    (void)state;
    world_open(&w, NULL, schema, NULL);
    expect(&w, rows, COUNT(rows));
    world_touch(&w, "club:b#member@club:a#member");
    world_done(&w);
    expect(&w, with_b, COUNT(with_b));
    world_close(&w);
}

static void self_finds_the_subjects_own_object_where_the_schema_says_so(void **state)
{
    static const expectation rows[] = {
        { "shelf#own@shelf:nowhere", NULL, "nowhere" },
        { "shelf#own@shelf:s1", NULL, "s1" },
        { "shelf#own@shelf:s1#own", NULL, "s1" }, /* by identity */
        { "shelf#some@shelf:s1", NULL, "" },
        { "shelf#own@person:a", NULL, "s1" },
    };

    (void)state;
    expect_in(LIBRARY, "shelf:s1#club@club:c1\nclub:c1#owner@person:a", rows, COUNT(rows));
}

static void self_behind_an_operator_is_checked(void **state)
{
    static const expectation rows[] = {
        { "robot#alive@robot:r1", NULL, "r1" },    { "robot#alive@robot:r2", NULL, "" },
        { "robot#twice@robot:r2", NULL, "" },      { "robot#twice@robot:r1", NULL, "r1" },
        { "robot#twice@robot:unknown", NULL, "" }, { "robot#alive@robot:unknown", NULL, "unknown" },
    };

    (void)state;
    expect_in("use self\n"
              "definition robot {\n"
              "  relation broken: robot\n"
              "  relation known: robot\n"
              "  permission alive = self - broken\n"
              "  permission twice = self & known\n"
              "}\n",
              "robot:r2#broken@robot:r2\nrobot:r1#known@robot:r1", rows, COUNT(rows));
}

static void a_wildcard_row_counts_for_every_subject_of_the_type(void **state)
{
    static const expectation rows[] = {
        { "doc#pub@user:known", NULL, "d1 d2" },   { "doc#pub@user:unknown", NULL, "d1" },
        { "doc#pub@team:t#member", NULL, "" },     { "doc#some@user:known", NULL, "d2" },
        { "doc#open@user:unknown", NULL, "d1" },   { "doc#open@user:known", NULL, "d2" },
        { "doc#teams@team:t#member", NULL, "d3" }, /* only the type is compared (api.md 4.3) */
        { "doc#teams@team:t", NULL, "d3" },        { "doc#shut@user:known", NULL, "" },
    };

    (void)state;
    expect_in("definition user {}\n"
              "definition team {\n  relation member: user\n}\n"
              "definition doc {\n"
              "  relation pub: user | user:*\n"
              "  relation some: user\n"
              "  relation not: user\n"
              "  relation teams: team:*\n"
              "  permission open = pub - not\n"
              "  permission shut = some - pub\n"
              "}\n",
              "doc:d1#pub@user:*\ndoc:d2#pub@user:known\ndoc:d2#some@user:known\ndoc:d1#not@user:known\n"
              "doc:d3#teams@team:*",
              rows, COUNT(rows));
}

static void each_resource_comes_once_however_many_ways_lead_to_it(void **state)
{
    static const expectation rows[] = {
        { "doc#view@user:ana", NULL, "d1 d2" },
        { "folder#view@user:ana", NULL, "f1 f2 f3" },
    };

    (void)state;
    expect_in("definition user {}\n"
              "definition folder {\n"
              "  relation parent: folder\n"
              "  relation viewer: user | user:*\n"
              "  permission view = viewer + parent->view\n"
              "}\n"
              "definition doc {\n"
              "  relation parent: folder\n"
              "  relation viewer: user | user:*\n"
              "  permission view = viewer + parent->view + parent->viewer\n"
              "}\n",
              "folder:f1#viewer@user:ana\nfolder:f1#viewer@user:*\nfolder:f2#parent@folder:f1\n"
              "folder:f3#parent@folder:f2\nfolder:f3#parent@folder:f1\nfolder:f1#parent@folder:f3\n"
              "doc:d1#parent@folder:f1\ndoc:d1#parent@folder:f2\ndoc:d1#parent@folder:f3\ndoc:d1#viewer@user:ana\n"
              "doc:d1#viewer@user:*\ndoc:d2#parent@folder:f3",
              rows, COUNT(rows));
}

/* -------------------------------------------------------------------- caveats */

#define CAVEATED                                                                                                 \
    "use expiration\n"                                                                                           \
    "caveat early(hour int) { hour < 12 }\n"                                                                     \
    "caveat zoned(zone string, hour int) { zone == \"x\" && hour > 1 }\n"                                        \
    "caveat broken(m map<int>) { m[\"k\"] == 1 }\n"                                                              \
    "definition user {}\n"                                                                                       \
    "definition group {\n"                                                                                       \
    "  relation member: user | user with early | group#member with zoned\n"                                      \
    "}\n"                                                                                                        \
    "definition doc {\n"                                                                                         \
    "  relation group: group | group with early\n"                                                               \
    "  relation viewer: user | user with early | user with zoned | user with broken | group#member | user with " \
    "expiration\n"                                                                                               \
    "  relation banned: user | user with early\n"                                                                \
    "  permission view = viewer + group->member\n"                                                               \
    "  permission read = viewer - banned\n"                                                                      \
    "  permission every = group.all(member)\n"                                                                   \
    "}\n"

static void conditional_resources_come_with_the_names_that_are_missing(void **state)
{
    static const expectation rows[] = {
        { "doc#viewer@user:a", NULL, "d1(if hour) d2(if hour zone)" },
        { "doc#viewer@user:a", "{\"hour\":3}", "d1 d2(if zone)" },
        { "doc#viewer@user:a", "{\"hour\":13}", "d2(if zone)" },
        { "doc#viewer@user:a", "{\"hour\":0,\"zone\":\"y\"}", "d1" },
        { "doc#view@user:b", NULL, "d3(if hour) d4(if hour zone)" },
        { "doc#view@user:b", "{\"hour\":2}", "d3 d4(if zone)" },
        { "doc#view@user:b", "{\"hour\":2,\"zone\":\"x\"}", "d3 d4" },
        { "doc#every@user:b", "{\"hour\":2}", "d3 d4(if zone)" },
        { "doc#every@user:b", NULL, "d3(if hour) d4(if hour zone)" },
        { "doc#every@user:b", "{\"hour\":12}", "" },
        { "doc#read@user:c", NULL, "d5(if hour) d6" },
        { "doc#read@user:c", "{\"hour\":1}", "d6" },
        { "doc#read@user:c", "{\"hour\":20}", "d5 d6" },
        /* A definite way wins over a conditional one. */
        { "doc#viewer@user:d", NULL, "d7" },
    };

    (void)state;
    expect_in(CAVEATED,
              "doc:d1#viewer@user:a[early]\ndoc:d2#viewer@user:a[zoned]\ngroup:g1#member@user:b[early]\n"
              "group:g2#member@group:g1#member[zoned]\ndoc:d3#group@group:g1\ndoc:d4#group@group:g2[early]\n"
              "doc:d5#viewer@user:c\ndoc:d5#banned@user:c[early]\ndoc:d6#viewer@user:c\n"
              "doc:d7#viewer@group:g7#member\ngroup:g7#member@user:d\ndoc:d7#viewer@user:d[early]",
              rows, COUNT(rows));
}

/* What came before it is told first, and the error is told as often as it is asked for. */
static void a_caveat_that_fails_ends_the_stream_where_it_decides(void **state)
{
    licet_lookup_resources_request request  = request_of("doc#viewer@user:a", "{\"m\":{}}");
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    bool                           found    = false;
    engine_world                   w;

    (void)state;
    world_open(&w, NULL, CAVEATED,
               "doc:d1#viewer@user:a\ndoc:d2#viewer@user:a[broken]\ndoc:d3#viewer@user:a\n"
               "doc:d4#viewer@user:a[broken:{\"m\":{\"k\":1}}]\ngroup:g#member@user:a\ndoc:d5#viewer@user:b[broken]\n"
               "doc:d5#viewer@group:g#member");
    assert_int_equal(licet_lookup_resources(w.engine, &request, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
    assert_true(found);
    assert_memory_equal(resource.resource_id.data, "d1", 2);
    for (int i = 0; i < 2; i++) {
        w.status = licet_stream_next_resource(stream, &resource, &found, &w.error);
        assert_false(found);
        assert_null(resource.resource_id.data);
        world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_EVAL, "CAVEAT_EVALUATION_ERROR",
                     "evaluation error for caveat broken: no such key: k");
    }
    licet_stream_release(stream);
    /* A definite way decides beside it. */
    world_touch(&w, "doc:d2#viewer@group:g#member");
    assert_string_equal(lookup_with(&w, "doc#viewer@user:a", "{\"m\":{}}"), "d1 d2 d3 d4 d5");
    world_done(&w);
    world_close(&w);
}

typedef struct test_clock {
    int64_t now;
    size_t  looks;
} test_clock;

static int64_t read_clock(void *context)
{
    test_clock *clock = context;

    clock->looks++;
    return clock->now;
}

static void a_lookup_has_one_time_for_all_of_its_pages(void **state)
{
    test_clock                     clock    = { INT64_C(1000000000000000000), 0 };
    licet_options                  options  = LICET_OPTIONS_INIT;
    licet_lookup_resources_request request  = request_of("doc#viewer@user:a", NULL);
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    bool                           found    = true;
    size_t                         count    = 0;
    char                           row[96];
    engine_world                   w;

    (void)state;
    options.clock = (licet_clock){ read_clock, &clock };
    world_open(&w, &options, CAVEATED, NULL);
    for (int i = 0; i < 100; i++) {
        snprintf(row, sizeof row, "doc:d%d#viewer@user:a[expiration:%s]", i,
                 i % 10 == 0 ? "2001-09-09T01:46:40Z" : "2010-01-01T00:00:00Z");
        world_touch(&w, row);
    }
    clock.looks = 0;
    assert_int_equal(licet_lookup_resources(w.engine, &request, &stream, NULL), LICET_OK);
    while (found) {
        assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
        count += found;
        if (count == 1)
            clock.now = INT64_C(2000000000000000000);
    }
    assert_int_equal(count, 90);
    assert_int_equal(clock.looks, 1);
    licet_stream_release(stream);
    assert_string_equal(lookup(&w, "doc#viewer@user:a"), "");
    world_close(&w);
}

/* --------------------------------------------------------------------- depth */

static const char FOLDERS[] = "definition user {}\n"
                              "definition group {\n  relation member: user | group#member\n}\n"
                              "definition folder {\n"
                              "  relation parent: folder\n"
                              "  relation viewer: user\n"
                              "  permission view = viewer + parent->view\n"
                              "}\n";

static size_t count_found(const char *text)
{
    size_t count = text[0] != '\0';

    for (; *text != '\0'; text++)
        count += *text == ' ';
    return count;
}

/* As far as checks go: 48 hops; one more, and the whole fails. */
static void what_is_deeper_than_checks_go_ends_the_stream_with_their_error(void **state)
{
    static const char message[] =
        "max_depth exceeded: the answer lies more than 50 objects and names away, or hangs on "
        "a cycle through an exclusion";
    engine_world w;
    char         row[96];

    (void)state;
    world_open(&w, NULL, FOLDERS, "folder:f0#viewer@user:ana\ngroup:g0#member@user:ana");
    for (int i = 1; i <= 49; i++) {
        if (i <= 48) {
            snprintf(row, sizeof row, "folder:f%d#parent@folder:f%d", i, i - 1);
            world_touch(&w, row);
        }
        snprintf(row, sizeof row, "group:g%d#member@group:g%d#member", i, i - 1);
        world_touch(&w, row);
    }
    assert_int_equal(count_found(lookup(&w, "folder#view@user:ana")), 49);
    assert_int_equal(count_found(lookup(&w, "group#member@user:ana")), 50);
    world_touch(&w, "folder:f49#parent@folder:f48\ngroup:g50#member@group:g49#member");
    world_done(&w);
    assert_int_equal(count_found(lookup_with(&w, "folder#view@user:ana", NULL)), 49);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", message);
    assert_int_equal(count_found(lookup_with(&w, "group#member@user:ana", NULL)), 50);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAXIMUM_DEPTH_EXCEEDED", message);
    /* The rest of the way is nobody's business who is near enough. */
    world_touch(&w, "folder:f49#viewer@user:ana");
    assert_int_equal(count_found(lookup(&w, "folder#view@user:ana")), 50);
    world_close(&w);
}

static void a_cycle_adds_nothing_and_ends(void **state)
{
    static const expectation rows[] = {
        { "group#member@user:p", NULL, "a b c" },
        { "group#member@user:q", NULL, "" },
        { "group#member@group:b#member", NULL, "a b" },
        { "folder#view@user:p", NULL, "f0 f1" },
    };

    (void)state;
    expect_in(FOLDERS,
              "group:a#member@group:b#member\ngroup:b#member@group:a#member\ngroup:b#member@user:p\n"
              "group:c#member@user:p\nfolder:f0#parent@folder:f1\nfolder:f1#parent@folder:f0\nfolder:f1#viewer@user:p",
              rows, COUNT(rows));
}

/* -------------------------------------------------------------------- errors */

static void what_is_asked_has_to_have_a_shape_and_known_names(void **state)
{
    static const struct {
        const char  *question;
        licet_status status;
        licet_kind   kind;
        const char  *reason;
        const char  *message;
    } cases[] = {
        { "Doc#view@user:a", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", NULL },
        { "document#V@user:a", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", NULL },
        { "document#view@user", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", NULL },
        { "document#view@user:*#member", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
          "subject: the wildcard subject can not have a relation" },
        { "nosuch#nosuch@nosuch:a", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { "document#nosuch@nosuch:a", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `document`" },
        { "document#view@nosuch:*", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION",
          "object definition `nosuch` not found" },
        { "document#view@user:a#nosuch", LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
          "relation/permission `nosuch` not found under definition `user`" },
        { "document#view@user:*", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "WILDCARD_NOT_ALLOWED",
          "subject: a lookup can not be about the wildcard" },
    };
    engine_world w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        lookup_with(&w, cases[i].question, NULL);
        assert_int_equal(w.status, cases[i].status);
        if (cases[i].message != NULL)
            world_failed(&w, cases[i].status, cases[i].kind, cases[i].reason, cases[i].message);
    }
    world_close(&w);
}

static void the_first_of_several_faults_is_told(void **state)
{
    static const char              large[5000] = "{\"k\":\"";
    licet_lookup_resources_request request     = request_of("nosuch#view@user:a", NULL);
    licet_options                  options     = LICET_OPTIONS_INIT;
    licet_context                 *prepared    = NULL;
    char                           context[5000];
    engine_world                   w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    memset(context, 'x', sizeof context);
    memcpy(context, large, 6);
    memcpy(context + sizeof context - 3, "\"}", 3);
    request.context = text_of(context);
    read_all(&w, &request, NULL);
    assert_int_equal(w.status, LICET_LIMIT_EXCEEDED); /* of the context, before names */
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, LICET_STR_INIT("nonsense"), false };
    read_all(&w, &request, NULL);
    assert_int_equal(w.status, LICET_INVALID_TOKEN);
    request.context = LICET_STR("{");
    read_all(&w, &request, NULL);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    request.limit = 1001;
    read_all(&w, &request, NULL);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT",
                 "limit: expected at most 1000, not 1001");
    request.subject = LICET_STR("user");
    read_all(&w, &request, NULL);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_context_parse(LICET_STR("{}"), &options, &prepared, NULL), LICET_OK);
    request.prepared_context = prepared;
    read_all(&w, &request, NULL);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "",
                 "context and prepared_context are given, and only one of them can count");
    licet_context_release(prepared);
    world_close(&w);
}

static void wrong_use_is_misuse(void **state)
{
    licet_lookup_resources_request request  = request_of("document#view@user:a", NULL);
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_relationship             other    = LICET_RELATIONSHIP_INIT;
    licet_stream                  *stream   = (licet_stream *)&resource;
    bool                           found    = true;
    engine_world                   w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    w.status = licet_lookup_resources(w.engine, &request, NULL, &w.error);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "", "stream is NULL or of an unknown size");
    w.status = licet_lookup_resources(w.engine, NULL, &stream, &w.error);
    assert_null(stream);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "", "request is NULL or of an unknown size");
    request.size = 8;
    w.status     = licet_lookup_resources(w.engine, &request, &stream, &w.error);
    assert_int_equal(w.status, LICET_MISUSE);
    licet_error_free(w.error);
    w.error  = NULL;
    request  = request_of("document#view@user:a", NULL);
    w.status = licet_lookup_resources(NULL, &request, &stream, NULL);
    assert_int_equal(w.status, LICET_MISUSE);
    assert_int_equal(licet_lookup_resources(w.engine, &request, &stream, NULL), LICET_OK);
    assert_null(licet_stream_cursor(stream).data);
    assert_int_equal(licet_stream_next_relationship(stream, &other, &found, NULL), LICET_MISUSE);
    assert_false(found);
    assert_int_equal(licet_stream_next_resource(stream, &resource, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_resource(stream, NULL, &found, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_resource(NULL, &resource, &found, NULL), LICET_MISUSE);
    licet_stream_release(stream);
    world_close(&w);
}

/* ---------------------------------------------------------------------- pages */

enum { DOCUMENTS = 2500 };

/* n documents: every third viewed by ana, every third by her group, the others by both; every tenth is banned. */
static void write_documents(engine_world *w, unsigned n)
{
    static licet_update updates[1000];
    static char         ids[1000][16];
    licet_write_request request = LICET_WRITE_REQUEST_INIT;

    request.updates = updates;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned way = 0; way < 3; way++) {
            const size_t at = request.update_count;

            if (way == 2 ? i % 10 != 0 : i % 3 == way)
                continue;
            snprintf(ids[at], sizeof ids[at], "n%05u", i);
            updates[at] = (licet_update){ LICET_TOUCH, LICET_RELATIONSHIP_INIT };
            assert_int_equal(licet_relationship_parse(way == 0   ? LICET_STR("document:x#viewer@user:ana")
                                                      : way == 1 ? LICET_STR("document:x#viewer@group:eng#member")
                                                                 : LICET_STR("document:x#banned@user:ana"),
                                                      &updates[at].relationship, NULL),
                             LICET_OK);
            updates[at].relationship.resource_id = text_of(ids[at]);
            request.update_count++;
        }
        if (request.update_count > 990 || i + 1 == n) {
            assert_int_equal(licet_write(w->engine, &request, &w->token, NULL), LICET_OK);
            request.update_count = 0;
        }
    }
}

static unsigned number_of(licet_str id)
{
    unsigned number = 0;

    for (size_t i = 1; i < id.size; i++)
        number = number * 10 + (unsigned)(id.data[i] - '0');
    return number;
}

static void delete_some(engine_world *w)
{
    world_delete(w, "document:n00001#viewer@user:ana\ndocument:n00002#viewer@user:ana\n"
                    "document:n02499#viewer@user:ana\ngroup:eng#member@user:ana");
    world_done(w);
}

/* Follows cursors to the end: how many. Nothing comes twice, pages are full but the last. */
static size_t count_in_pages(engine_world *w, licet_lookup_resources_request request, bool change_between)
{
    static bool          seen[DOCUMENTS];
    licet_found_resource resource = LICET_FOUND_RESOURCE_INIT;
    size_t               total    = 0;
    size_t               page;
    char                 cursor[LIC_CURSOR_CAPACITY];

    memset(seen, 0, sizeof seen);
    do {
        licet_stream *stream = NULL;
        bool          found  = true;
        licet_str     place;

        assert_int_equal(licet_lookup_resources(w->engine, &request, &stream, NULL), LICET_OK);
        for (page = 0; found; page += found) {
            assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
            if (!found)
                break;
            assert_false(seen[number_of(resource.resource_id)]);
            seen[number_of(resource.resource_id)] = true;
        }
        total += page;
        place = licet_stream_cursor(stream);
        if (place.size > 0) {
            memcpy(cursor, place.data, place.size);
            request.cursor = (licet_str){ cursor, place.size };
        }
        licet_stream_release(stream);
        if (change_between)
            delete_some(w);
    } while (request.limit != 0 && page == request.limit);
    return total;
}

static void cursors_lead_to_every_resource_once_at_one_revision(void **state)
{
    static const uint32_t          limits[] = { 0, 1000, 1, 7, 64, 65, 500 };
    licet_lookup_resources_request viewer   = request_of("document#viewer@user:ana", NULL);
    licet_lookup_resources_request view     = request_of("document#view@user:ana", NULL);
    engine_world                   w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    write_documents(&w, DOCUMENTS);
    for (size_t i = 0; i < COUNT(limits); i++) {
        viewer.limit = view.limit = limits[i];
        assert_int_equal(count_in_pages(&w, viewer, false), DOCUMENTS);
        assert_int_equal(count_in_pages(&w, view, false), DOCUMENTS - DOCUMENTS / 10);
        if (i == 1)
            assert_true(lic_graph_merge(w.engine->graph));
    }
    viewer.limit = view.limit = 300;
    assert_int_equal(count_in_pages(&w, viewer, true), DOCUMENTS);
    world_touch(&w, "document:n00001#viewer@user:ana\ndocument:n00002#viewer@user:ana\n"
                    "document:n02499#viewer@user:ana\ngroup:eng#member@user:ana");
    assert_int_equal(count_in_pages(&w, view, true), DOCUMENTS - DOCUMENTS / 10);
    world_close(&w);
}

/* More conditional ones in a row than a page has, before, between and behind those for certain. */
static void who_wants_no_conditional_resources_gets_full_pages_of_the_others(void **state)
{
    static const uint32_t          limits[] = { 0, 1, 4, 5, 10, 11, 64, 1000 };
    licet_lookup_resources_request request  = request_of("doc#viewer@user:a", NULL);
    engine_world                   w;
    char                           row[48];

    (void)state;
    world_open(&w, NULL, CAVEATED, NULL);
    for (unsigned i = 0; i < 700; i++) {
        snprintf(row, sizeof row, "doc:d%05u#viewer@user:a%s", i, i % 200 >= 100 && i % 200 < 105 ? "" : "[early]");
        world_touch(&w, row);
    }
    for (size_t i = 0; i < COUNT(limits); i++) {
        request.limit               = limits[i];
        request.without_conditional = false;
        assert_int_equal(count_in_pages(&w, request, false), 700);
        request.without_conditional = true;
        assert_int_equal(count_in_pages(&w, request, false), 15);
    }
    request.limit = 0;
    assert_string_equal(read_all(&w, &request, NULL), "d00100 d00101 d00102 d00103 d00104 d00300 d00301 d00302 d00303 "
                                                      "d00304 d00500 d00501 d00502 d00503 d00504");
    request.context = LICET_STR("{\"hour\":3}");
    assert_int_equal(count_in_pages(&w, request, false), 700);
    request.context = LICET_STR("{\"hour\":13}");
    assert_int_equal(count_in_pages(&w, request, false), 15);
    world_done(&w);
    world_close(&w);
}

static void a_stream_keeps_its_revision_while_others_write(void **state)
{
    static const char *const questions[] = { "document#viewer@user:ana", "document#view@user:ana" };
    engine_world             w;

    (void)state;
    for (size_t i = 0; i < COUNT(questions); i++) {
        licet_lookup_resources_request request  = request_of(questions[i], NULL);
        licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
        licet_stream                  *stream   = NULL;
        bool                           found    = true;
        size_t                         count    = 0;
        licet_token                    token;

        world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
        write_documents(&w, 500);
        assert_int_equal(licet_lookup_resources(w.engine, &request, &stream, NULL), LICET_OK);
        licet_stream_token(stream, &token);
        assert_string_equal(token.text, w.token.text);
        while (found) {
            assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
            count += found;
            if (count == 10) {
                licet_delete_request all    = LICET_DELETE_REQUEST_INIT;
                licet_delete_result  result = LICET_DELETE_RESULT_INIT;

                all.filter.resource_type = LICET_STR("document");
                assert_int_equal(licet_delete_relationships(w.engine, &all, &result, NULL), LICET_OK);
            }
        }
        assert_int_equal(count, i == 0 ? 500 : 450);
        assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
        assert_false(found);
        licet_stream_release(stream);
        assert_string_equal(lookup(&w, questions[i]), "");
        request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(token.text), false };
        assert_int_equal(count_found(read_all(&w, &request, NULL)), i == 0 ? 500 : 450);
        world_done(&w);
        world_close(&w);
    }
}

static void a_cursor_belongs_to_its_request(void **state)
{
    licet_lookup_resources_request request = request_of("document#view@user:ana", "{\"a\":1}");
    licet_context                 *context = NULL;
    char                           cursor[LIC_CURSOR_CAPACITY];
    engine_world                   w;
    engine_world                   w2;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana\ndocument:d2#viewer@user:ana");
    world_open(&w2, NULL, WORLD_SCHEMA, NULL);
    request.limit = 1;
    assert_string_equal(read_all(&w, &request, cursor), "d1");
    request.cursor = text_of(cursor);
    assert_string_equal(read_all(&w, &request, NULL), "d2");
    world_done(&w);
    for (int i = 0; i < 8; i++) {
        licet_lookup_resources_request other = request;

        if (i == 0)
            other.limit = 2;
        if (i == 1)
            other.permission = LICET_STR("viewer");
        if (i == 2)
            other.subject = LICET_STR("user:bob");
        if (i == 3)
            other.context = LICET_STR("{\"a\":2}");
        if (i == 4)
            other.context = (licet_str){ NULL, 0 };
        if (i == 5)
            other.consistency.freshness = LICET_FULLY_CONSISTENT;
        if (i == 6)
            other.resource_type = LICET_STR("group");
        if (i == 7)
            other.without_conditional = true;
        read_all(&w, &other, NULL);
        world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR",
                     "the cursor belongs to another request");
    }
    /* The same values are the same context. */
    assert_int_equal(licet_context_parse(LICET_STR(" { \"a\" : 1.0 }"), NULL, &context, NULL), LICET_OK);
    request.context          = (licet_str){ NULL, 0 };
    request.prepared_context = context;
    assert_string_equal(read_all(&w, &request, NULL), "d2");
    world_done(&w);
    licet_context_release(context);
    request.prepared_context = NULL;
    read_all(&w2, &request, NULL);
    world_failed(&w2, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR", "the cursor belongs to another store");
    for (size_t i = 0; cursor[i] != '\0'; i++) {
        cursor[i] = (char)(cursor[i] ^ 1);
        read_all(&w, &request, NULL);
        assert_int_equal(w.status, LICET_INVALID_TOKEN);
        cursor[i] = (char)(cursor[i] ^ 1);
    }
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
    world_close(&w2);
}

/* The subject's own id, which occurs nowhere, comes last, and once, also when it is written meanwhile. */
static void an_id_that_occurs_nowhere_is_found_once_in_a_chain_of_pages(void **state)
{
    licet_lookup_resources_request request = request_of("robot#seen@robot:me#seen", NULL);
    char                           cursor[LIC_CURSOR_CAPACITY];
    engine_world                   w;

    (void)state;
    world_open(&w, NULL, "definition robot {\n  relation seer: robot#seen\n  permission seen = seer\n}\n", NULL);
    request.limit = 1;
    assert_string_equal(read_all(&w, &request, cursor), "me");
    request.cursor = text_of(cursor);
    assert_string_equal(read_all(&w, &request, NULL), "");
    world_done(&w);
    world_touch(&w, "robot:other#seer@robot:me#seen");
    world_done(&w);
    assert_string_equal(read_all(&w, &request, NULL), ""); /* of the revision of its cursor */
    world_done(&w);
    request.cursor = (licet_str){ NULL, 0 };
    assert_string_equal(read_all(&w, &request, cursor), "other");
    request.cursor = text_of(cursor);
    assert_string_equal(read_all(&w, &request, cursor), "me");
    assert_string_equal(read_all(&w, &request, cursor), "");
    world_done(&w);
    world_close(&w);
}

static void a_revision_that_has_gone_is_told(void **state)
{
    licet_options                  options  = LICET_OPTIONS_INIT;
    licet_lookup_resources_request request  = request_of("document#viewer@user:ana", NULL);
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    bool                           found    = true;
    size_t                         count    = 0;
    engine_world                   w;

    (void)state;
    options.history_window_ms = 1;
    world_open(&w, &options, WORLD_SCHEMA, NULL);
    write_documents(&w, 300);
    assert_int_equal(licet_lookup_resources(w.engine, &request, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
    assert_true(found);
    world_touch(&w, "document:n00001#viewer@user:bob");
    lic_sleep_us(20000);
    assert_true(lic_graph_merge_all(w.engine->graph));
    while (w.status == LICET_OK) {
        w.status = licet_stream_next_resource(stream, &resource, &found, &w.error);
        count += found;
    }
    assert_true(count < 200);
    assert_false(found);
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "", "the revision has left the retained history");
    licet_stream_release(stream);
    world_close(&w);
}

static void a_stream_outlives_its_engines_handle_and_says_closed(void **state)
{
    licet_lookup_resources_request request  = request_of("document#viewer@user:ana", NULL);
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    bool                           found    = false;
    engine_world                   w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana\ndocument:d2#viewer@user:ana");
    assert_int_equal(licet_lookup_resources(w.engine, &request, &stream, NULL), LICET_OK);
    licet_engine_release(w.engine); /* the stream holds it */
    assert_int_equal(licet_stream_next_resource(stream, &resource, &found, NULL), LICET_OK);
    assert_true(found);
    licet_close(w.engine);
    assert_memory_equal(resource.resource_id.data, "d1", 2);
    w.status = licet_stream_next_resource(stream, &resource, &found, &w.error);
    assert_false(found);
    world_failed(&w, LICET_CLOSED, LICET_KIND_MISUSE, "", "the engine is closed");
    assert_true(licet_stream_cursor(stream).size > 0);
    licet_stream_release(stream);
}

/* -------------------------------------------------------------------- faults */

static void expect_or_no_memory(engine_world *w, const expectation *row)
{
    lookup_with(w, row->question, row->context);
    if (w->status == LICET_OK) {
        assert_string_equal(w->text, row->found);
        return;
    }
    assert_int_equal(w->status, LICET_OUT_OF_MEMORY);
    assert_true(strncmp(w->text, row->found, strlen(w->text)) == 0);
}

static void a_lookup_survives_every_failed_allocation(void **state)
{
    static const expectation rows[] = {
        { "doc#read@user:c", NULL, "d5(if hour) d6" },
        { "doc#view@user:b", "{\"hour\":2}", "d3 d4(if zone)" },
        { "doc#every@user:b", NULL, "d3(if hour) d4(if hour zone)" },
        { "doc#view@user:many", NULL, "m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19" },
    };
    failing_memory memory = fail_never();
    engine_world   w;
    char           row[96];

    (void)state;
    world_open(&w, &memory.options, CAVEATED,
               "group:g1#member@user:b[early]\ngroup:g2#member@group:g1#member[zoned]\ndoc:d3#group@group:g1\n"
               "doc:d4#group@group:g2[early]\ndoc:d5#viewer@user:c\ndoc:d5#banned@user:c[early]\ndoc:d6#viewer@user:c");
    for (int i = 0; i < 20; i++) {
        snprintf(row, sizeof row, "doc:m%d#group@group:m%d\ngroup:m%d#member@user:many", i, i, i);
        world_touch(&w, row);
        world_done(&w);
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t n = 0;

        for (w.status = LICET_OUT_OF_MEMORY; w.status != LICET_OK; n++) {
            fail_next(&memory, n);
            expect_or_no_memory(&w, &rows[i]);
        }
        assert_true(n > 3);
    }
    memory.counts->fail_end = 0;
    expect(&w, rows, COUNT(rows));
    world_close(&w);
    assert_int_equal(memory.counts->live_blocks, 0);
}

/* -------------------------------------------------------------------- threads */

enum { READERS = 8, ROUNDS = 40 };

typedef struct reader {
    pthread_t     thread;
    licet_engine *engine;
    const char   *question;
    size_t        wrong;
    _Atomic bool *done;
} reader;

/* Documents come and go by tens. */
static void *read_on(void *argument)
{
    reader                        *r        = argument;
    licet_lookup_resources_request request  = request_of(r->question, NULL);
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;

    while (!atomic_load(r->done)) {
        licet_stream *stream = NULL;
        bool          found  = true;
        size_t        count  = 0;

        if (licet_lookup_resources(r->engine, &request, &stream, NULL) != LICET_OK) {
            r->wrong++;
            continue;
        }
        for (; found; count += found)
            if (licet_stream_next_resource(stream, &resource, &found, NULL) != LICET_OK) {
                r->wrong++;
                break;
            }
        r->wrong += count % 10 != 0;
        licet_stream_release(stream);
    }
    return NULL;
}

static void write_tens(engine_world *w)
{
    char lines[10 * 64];

    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t size = 0;

        for (unsigned i = 0; i < 10; i++)
            size += (size_t)snprintf(lines + size, sizeof lines - size, "%sdocument:t%u#viewer@%s", i == 0 ? "" : "\n",
                                     round % 20 * 10 + i, i % 2 == 0 ? "user:ana" : "group:eng#member");
        if (round < 20)
            world_touch(w, lines);
        else
            world_delete(w, lines);
        world_done(w);
        if (round % 8 == 7)
            assert_true(lic_graph_merge(w->engine->graph));
    }
}

static void lookups_see_whole_transactions_beside_a_writer(void **state)
{
    static const char *const questions[] = { "document#viewer@user:ana", "document#view@user:ana" };
    _Atomic bool             done        = false;
    reader                   readers[READERS];
    engine_world             w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){ .engine = w.engine, .question = questions[i % 2], .done = &done };
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    write_tens(&w);
    atomic_store(&done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].wrong, 0);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lookup_finds_resources_by_every_kind_of_way),
        cmocka_unit_test(a_userset_is_found_in_what_it_names_whether_stored_or_not),
        cmocka_unit_test(self_finds_the_subjects_own_object_where_the_schema_says_so),
        cmocka_unit_test(self_behind_an_operator_is_checked),
        cmocka_unit_test(a_wildcard_row_counts_for_every_subject_of_the_type),
        cmocka_unit_test(each_resource_comes_once_however_many_ways_lead_to_it),
        cmocka_unit_test(conditional_resources_come_with_the_names_that_are_missing),
        cmocka_unit_test(a_caveat_that_fails_ends_the_stream_where_it_decides),
        cmocka_unit_test(a_lookup_has_one_time_for_all_of_its_pages),
        cmocka_unit_test(what_is_deeper_than_checks_go_ends_the_stream_with_their_error),
        cmocka_unit_test(a_cycle_adds_nothing_and_ends),
        cmocka_unit_test(what_is_asked_has_to_have_a_shape_and_known_names),
        cmocka_unit_test(the_first_of_several_faults_is_told),
        cmocka_unit_test(wrong_use_is_misuse),
        cmocka_unit_test(cursors_lead_to_every_resource_once_at_one_revision),
        cmocka_unit_test(who_wants_no_conditional_resources_gets_full_pages_of_the_others),
        cmocka_unit_test(a_stream_keeps_its_revision_while_others_write),
        cmocka_unit_test(a_cursor_belongs_to_its_request),
        cmocka_unit_test(an_id_that_occurs_nowhere_is_found_once_in_a_chain_of_pages),
        cmocka_unit_test(a_revision_that_has_gone_is_told),
        cmocka_unit_test(a_stream_outlives_its_engines_handle_and_says_closed),
        cmocka_unit_test(a_lookup_survives_every_failed_allocation),
        cmocka_unit_test(lookups_see_whole_transactions_beside_a_writer),
    };

    return cmocka_run_group_tests_name("engine/lookup_resources", tests, NULL, NULL);
}
