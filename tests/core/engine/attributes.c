/* core/engine/write.c and read.c, core/datastore/: relationships with a caveat, a context and an expiration
 * (caveats.md 3, 4, 11 and 12; api.md 4.10, 10 to 12; schema.md 15a). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "engine_world.h"
#include "failing_memory.h"

static const char SCHEMA[] = "use expiration\n"
                             "caveat ticket(n int, m map<any>, when timestamp) { n == 1 || m == {} || when == when }\n"
                             "caveat other(b bool) { b }\n"
                             "definition user {}\n"
                             "definition group {\n  relation member: user\n}\n"
                             "definition document {\n"
                             "  relation guest: user with ticket | user with other\n"
                             "  relation temp: user with expiration | group#member with expiration\n"
                             "  relation both: user with ticket and expiration | user\n"
                             "  relation open: user:* with ticket | user | user with ticket | user with expiration\n"
                             "}\n";

#define SECOND INT64_C(1000000000)
#define NOON (INT64_C(1893499200) * SECOND) /* 2030-01-01T12:00:00Z */

/* A world whose time the test sets. */
typedef struct timed_world {
    engine_world w;
    int64_t      now;
} timed_world;

static int64_t now_of(void *context)
{
    return *(int64_t *)context;
}

static void open_with(timed_world *t, licet_options options, const char *lines)
{
    options.clock = (licet_clock){ now_of, &t->now };
    t->now        = NOON;
    world_open(&t->w, &options, SCHEMA, lines);
}

static void open_timed(timed_world *t, const char *lines)
{
    open_with(t, (licet_options)LICET_OPTIONS_INIT, lines);
}

/* ------------------------------------------------------- writing, reading back */

static void a_relationship_is_read_back_as_it_was_written(void **state)
{
    static const char *const cases[][2] = {
        { "document:d1#guest@user:u1[ticket]", NULL },
        { "document:d1#guest@user:u1[ticket:{ }]", "document:d1#guest@user:u1[ticket]" },
        { "document:d1#guest@user:u1[ticket:{\"n\":\"12\"}]", NULL }, /* not converted */
        { "document:d1#guest@user:u1[ticket:{\"n\": 1.0, \"m\": {\"b\": [null, true], \"a\": \"\\u0000]}\"}}]",
          "document:d1#guest@user:u1[ticket:{\"m\":{\"a\":\"\\u0000]}\",\"b\":[null,true]},\"n\":1}]" },
        { "document:d1#guest@user:u1[other:{\"b\":false,\"b\":true}]",
          "document:d1#guest@user:u1[other:{\"b\":true}]" },
        { "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00.000000001Z]", NULL },
        { "document:d1#temp@group:g1#member[expiration:2031-06-01T00:00:00-05:30]",
          "document:d1#temp@group:g1#member[expiration:2031-06-01T05:30:00Z]" },
        { "document:d1#temp@user:u1[expiration:9999-12-31T23:59:59.999999999Z]", NULL },
        { "document:d1#both@user:u1[ticket:{\"n\":1}][expiration:2030-01-01T12:00:01Z]", NULL },
        { "document:d1#both@user:u1", NULL },
        { "document:d1#open@user:*[ticket:{\"m\":{}}]", NULL },
    };
    timed_world t;

    (void)state;
    open_timed(&t, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[200];

        world_create(&t.w, cases[i][0]);
        world_done(&t.w);
        snprintf(expected, sizeof expected, "%s\n", cases[i][1] != NULL ? cases[i][1] : cases[i][0]);
        assert_string_equal(world_read_type(&t.w, "document"), expected);
        world_delete(&t.w, cases[i][0]);
        world_done(&t.w);
        assert_string_equal(world_read_type(&t.w, "document"), "");
    }
    world_close(&t.w);
}

/* schema.md 15a rule 5. */
static void a_shape_is_allowed_exactly_or_not_at_all(void **state)
{
    static const struct {
        const char *line;
        const char *message; /* NULL: allowed */
    } cases[] = {
        { "document:d1#guest@user:u1[other]", NULL },
        { "document:d1#guest@user:u1",
          "subjects of type `user` are not allowed on relation `document#guest` without one of the following caveats: "
          "ticket,other" },
        { "document:d1#guest@user:u1[ticket][expiration:2031-01-01T00:00:00Z]",
          "subjects of type `user with ticket and expiration` are not allowed on relation `document#guest`" },
        { "document:d1#temp@user:u1",
          "subjects of type `user` are not allowed on relation `document#temp`; did you mean `user with expiration`?" },
        { "document:d1#temp@group:g1#member[expiration:2031-01-01T00:00:00Z]", NULL },
        { "document:d1#both@user:u1", NULL },
        { "document:d1#both@user:u1[ticket][expiration:2031-01-01T00:00:00Z]", NULL },
        { "document:d1#both@user:u1[ticket]",
          "subjects of type `user with ticket` are not allowed on relation `document#both`; did you mean `user with "
          "ticket and expiration`?" },
        { "document:d1#both@user:u1[expiration:2031-01-01T00:00:00Z]",
          "subjects of type `user with expiration` are not allowed on relation `document#both` without one of the "
          "following caveats: ticket" },
        { "document:d1#open@user:*",
          "subjects of type `user:*` are not allowed on relation `document#open`; did you mean `user:* with ticket`?" },
        { "document:d1#open@user:*[other]",
          "subjects of type `user:* with other` are not allowed on relation `document#open`" },
        { "document:d1#open@user:u1[expiration:2001-01-01T00:00:00Z]", NULL },
    };
    timed_world t;

    (void)state;
    open_timed(&t, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world_touch(&t.w, cases[i].line);
        if (cases[i].message == NULL)
            world_done(&t.w);
        else
            world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE", cases[i].message);
    }
    world_close(&t.w);
}

/* schema.md 15a rule 6. */
static void a_context_fits_the_parameters_of_its_caveat(void **state)
{
    static const struct {
        const char *context;
        licet_kind  kind; /* LICET_KIND_NONE: it fits */
        const char *reason;
        const char *message;
        bool        strict; /* refused in a strict engine alone */
    } cases[] = {
        { "{\"n\":\"4.2e1\",\"when\":\"2030-01-01T00:00:00Z\"}", LICET_KIND_NONE, "", NULL, false },
        { "{\"zz\":1}", LICET_KIND_NAME, "", "unknown parameter \"zz\": caveat `ticket` has none of this name", false },
        { "{\"n\":1,\"N\":1}", LICET_KIND_NAME, "", "unknown parameter \"N\": caveat `ticket` has none of this name",
          false },
        { "{\"n\":\"x\"}", LICET_KIND_VALUE, "CAVEAT_PARAMETER_TYPE_ERROR",
          "could not convert context parameter \"n\": for int: a value of type int is required, but found the string "
          "\"x\"",
          false },
        { "{\"n\":null}", LICET_KIND_VALUE, "CAVEAT_PARAMETER_TYPE_ERROR",
          "could not convert context parameter \"n\": for int: a value of type int is required, but found null",
          false },
        { "{\"m\":[]}", LICET_KIND_VALUE, "CAVEAT_PARAMETER_TYPE_ERROR",
          "could not convert context parameter \"m\": for map<any>: a value of type map<any> is required, but found a "
          "list",
          false },
        { "{\"n\":1e30}", LICET_KIND_VALUE, "CAVEAT_PARAMETER_TYPE_ERROR",
          "could not convert context parameter \"n\": for int: a value of type int is required, but found a number "
          "that "
          "does not fit",
          true },
        { "{\"n\":1,\"n\":2}", LICET_KIND_VALUE, "",
          "the caveat context is no JSON object: a key stands twice in an object", true },
        { "{\"n\":}", LICET_KIND_SYNTAX, "", "the caveat context is no JSON object: a value is missing", false },
    };

    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        licet_options options = LICET_OPTIONS_INIT;
        timed_world   t;

        options.strict = strict != 0;
        open_with(&t, options, NULL);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
            licet_write_request request = LICET_WRITE_REQUEST_INIT;

            assert_int_equal(
                licet_relationship_parse(LICET_STR("document:d1#guest@user:u1[ticket]"), &update.relationship, NULL),
                LICET_OK);
            update.relationship.caveat_context = text_of(cases[i].context);
            request.updates                    = &update;
            request.update_count               = 1;
            t.w.status                         = licet_write(t.w.engine, &request, NULL, &t.w.error);
            if (cases[i].kind == LICET_KIND_NONE || (cases[i].strict && strict == 0))
                world_done(&t.w);
            else
                world_failed(&t.w, LICET_INVALID_ARGUMENT, cases[i].kind, cases[i].reason, cases[i].message);
        }
        world_close(&t.w);
    }
}

/* {"m": {"k": "xx..."}} with a text of so many bytes: 42 more as protobuf has it, with the caveat's name. */
static void write_context_of(timed_world *t, size_t text_bytes)
{
    static char         context[26000];
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_write_request request = LICET_WRITE_REQUEST_INIT;

    assert_int_equal(
        licet_relationship_parse(LICET_STR("document:d1#guest@user:u1[ticket]"), &update.relationship, NULL), LICET_OK);
    memset(context, ' ', sizeof context); /* blanks are not measured */
    memcpy(context, "{\"m\":{\"k\":\"", 11);
    memset(context + 11, 'x', text_bytes);
    memcpy(context + 11 + text_bytes, "\"}}", 3);
    update.relationship.caveat_context = (licet_str){ context, sizeof context };
    request.updates                    = &update;
    request.update_count               = 1;
    t->w.status                        = licet_write(t->w.engine, &request, NULL, &t->w.error);
}

static void caveat_and_context_have_at_most_25000_bytes(void **state)
{
    timed_world t;

    (void)state;
    open_timed(&t, NULL);
    write_context_of(&t, 24958);
    world_done(&t.w);
    write_context_of(&t, 24959);
    world_failed(&t.w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "MAX_RELATIONSHIP_CONTEXT_SIZE",
                 "update 1: caveat and context are 25001 bytes, more than the 25000 allowed");
    world_close(&t.w);
}

/* api.md 11: duplicates and sizes before names, shapes before contexts, one update after the other. */
static void the_first_failure_in_order_wins(void **state)
{
    timed_world t;

    (void)state;
    open_timed(&t, NULL);
    world_touch(&t.w, "document:d1#guest@user:u1[ticket:{\"zz\":1}]\ndocument:d1#guest@user:u1[other]");
    world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP",
                 "found more than one update with relationship \"document:d1#guest@user:u1\" in this request");
    world_touch(&t.w, "document:d1#open@user:u1[nosuch:{\"zz\":1}]");
    world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
                 "subjects of type `user with nosuch` are not allowed on relation `document#open`");
    world_touch(&t.w, "document:d1#guest@user:u1[ticket:{\"zz\":1}]\ndocument:d1#nosuch@user:u1");
    world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_NAME, "",
                 "unknown parameter \"zz\": caveat `ticket` has none of this name");
    world_delete(&t.w, "document:d1#guest@user:u1[ticket:{\"zz\":1}]");
    world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_NAME, "",
                 "unknown parameter \"zz\": caveat `ticket` has none of this name");
    assert_string_equal(world_read_type(&t.w, "document"), "");
    world_close(&t.w);
}

static void a_touch_replaces_caveat_context_and_expiration(void **state)
{
    static const char *const lines[] = {
        "document:d1#open@user:u1",
        "document:d1#open@user:u1[ticket]",
        "document:d1#open@user:u1[ticket:{\"n\":1}]",
        "document:d1#open@user:u1[ticket:{\"n\":2}]",
        "document:d1#open@user:u1[expiration:2031-01-01T00:00:00Z]",
        "document:d1#open@user:u1[expiration:2032-01-01T00:00:00Z]",
        "document:d1#open@user:u1",
    };
    enum { COUNT = sizeof lines / sizeof lines[0] };
    licet_read_request request = LICET_READ_REQUEST_INIT;
    licet_token        tokens[COUNT];
    timed_world        t;
    char               expected[100];

    (void)state;
    open_timed(&t, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        world_touch(&t.w, lines[i]);
        world_done(&t.w);
        tokens[i] = t.w.token;
        world_create(&t.w, "document:d1#open@user:u1[ticket]");
        world_failed(&t.w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                     "could not create relationship \"document:d1#open@user:u1\", as it exists already");
    }
    /* Each revision keeps its own. */
    request.filter.resource_type = LICET_STR("document");
    for (size_t i = 0; i < COUNT; i++) {
        request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(tokens[i].text), false };
        snprintf(expected, sizeof expected, "%s\n", lines[i]);
        assert_string_equal(world_read(&t.w, &request), expected);
        world_done(&t.w);
    }
    world_close(&t.w);
}

static lic_graph_sizes sizes_of(const engine_world *w)
{
    lic_graph_sizes sizes;

    lic_graph_measure(w->engine->graph, &sizes);
    return sizes;
}

static void an_identical_touch_changes_nothing(void **state)
{
    lic_graph_sizes before;
    timed_world     t;

    (void)state;
    open_timed(&t,
               "document:d1#both@user:u1[ticket:{\"n\":1,\"m\":{\"b\":2,\"a\":1}}][expiration:2031-01-01T00:00:00Z]");
    before = sizes_of(&t.w);
    assert_int_equal(before.attributes, 1);
    world_touch(&t.w, "document:d1#both@user:u1[ticket:{\"m\":{\"a\":1e0,\"b\":2},\"n\":1.0}]"
                      "[expiration:2030-12-31T23:00:00.000-01:00]");
    world_done(&t.w);
    assert_int_equal(sizes_of(&t.w).delta_changes, before.delta_changes);
    assert_int_equal(sizes_of(&t.w).attributes, 1);
    world_close(&t.w);
}

static void a_delete_removes_whatever_caveat_and_expiration_there_are(void **state)
{
    timed_world t;

    (void)state;
    open_timed(&t, "document:d1#guest@user:u1[ticket:{\"n\":1}]\n"
                   "document:d1#open@user:u1[ticket:{\"n\":1}]\n"
                   "document:d1#both@user:u1[ticket][expiration:2031-01-01T00:00:00Z]\n"
                   "document:d1#temp@user:u1[expiration:2001-01-01T00:00:00Z]\n"
                   "document:d1#open@user:u2");
    world_delete(&t.w, "document:d1#guest@user:u1\n"
                       "document:d1#open@user:u1[expiration:2031-01-01T00:00:00Z]\n"
                       "document:d1#both@user:u1\n"
                       "document:d1#temp@user:u1\n"
                       "document:d1#open@user:u2[ticket:{\"n\":7}]");
    world_done(&t.w);
    assert_string_equal(world_read_type(&t.w, "document"), "");
    assert_int_equal(sizes_of(&t.w).edges, 0);
    /* One that names a caveat needs that form allowed. */
    world_delete(&t.w, "document:d1#both@user:u1[ticket]");
    world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "INVALID_SUBJECT_TYPE",
                 "subjects of type `user with ticket` are not allowed on relation `document#both`; did you mean `user "
                 "with ticket and expiration`?");
    assert_true(lic_graph_merge_all(t.w.engine->graph));
    assert_int_equal(sizes_of(&t.w).attributes, 0);
    world_close(&t.w);
}

/* --------------------------------------------------------------- expiration */

static void what_has_expired_can_not_be_read(void **state)
{
    static const struct {
        int64_t     now;
        const char *lines;
    } cases[] = {
        { NOON - 1, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00Z]\n"
                    "document:d1#temp@user:u2[expiration:2030-01-01T12:00:00.000000001Z]\n" },
        { NOON, "document:d1#temp@user:u2[expiration:2030-01-01T12:00:00.000000001Z]\n" },
        { NOON + 1, "" },
        { -SECOND / 2, /* 1969 */
          "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00Z]\n"
          "document:d1#temp@user:u2[expiration:2030-01-01T12:00:00.000000001Z]\n"
          "document:d1#temp@user:u3[expiration:1969-12-31T23:59:59.6Z]\n" },
    };
    licet_read_request request = LICET_READ_REQUEST_INIT;
    timed_world        t;
    licet_token        token;

    (void)state;
    open_timed(&t, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00Z]\n"
                   "document:d1#temp@user:u2[expiration:2030-01-01T12:00:00.000000001Z]\n"
                   "document:d1#temp@user:u3[expiration:1969-12-31T23:59:59.6Z]");
    token = t.w.token;
    world_touch(&t.w, "group:g1#member@user:u1");
    world_done(&t.w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        t.now                        = cases[i].now;
        request                      = (licet_read_request)LICET_READ_REQUEST_INIT;
        request.filter.resource_type = LICET_STR("document");
        assert_string_equal(world_read(&t.w, &request), cases[i].lines);
        world_done(&t.w);
        /* It is the time of the read that counts, not that of the revision. */
        request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(token.text), false };
        assert_string_equal(world_read(&t.w, &request), cases[i].lines);
        world_done(&t.w);
    }
    world_close(&t.w);
}

static void a_check_finds_what_can_be_read_at_whatever_time_a_clock_shows(void **state)
{
    static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -SECOND / 2, -1, 0, 1, NOON - 1, NOON, INT64_MAX };
    licet_read_request   request = LICET_READ_REQUEST_INIT;
    timed_world          t;

    (void)state;
    open_timed(&t, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00Z]\n"
                   "document:d2#temp@user:u1[expiration:1970-01-01T00:00:00Z]\n"
                   "document:d3#temp@user:u1[expiration:0001-01-01T00:00:00Z]\n"
                   "document:d4#temp@user:u1[expiration:9999-12-31T23:59:59.999999999Z]");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        for (char number = '1'; number <= '4'; number++) {
            const char resource[] = { 'd', 'o', 'c', 'u', 'm', 'e', 'n', 't', ':', 'd', number, '\0' };
            bool       is_read;

            t.now                        = times[i];
            request.filter.resource_type = LICET_STR("document");
            request.filter.resource_id   = (licet_str){ resource + 9, 2 };
            is_read                      = world_read(&t.w, &request)[0] != '\0';
            assert_int_equal(world_allowed(&t.w, resource, "temp", "user:u1"), is_read);
            assert_int_equal(is_read, number == '4' || (number == '1' && t.now < NOON) || (number == '2' && t.now < 0));
        }
    world_close(&t.w);
}

static void a_read_has_one_time_from_its_beginning_to_its_end(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    licet_relationship r       = LICET_RELATIONSHIP_INIT;
    licet_stream      *stream  = NULL;
    bool               found   = false;
    timed_world        t;

    (void)state;
    open_timed(&t, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:01Z]");
    request.filter.resource_type = LICET_STR("document");
    assert_int_equal(licet_read_relationships(t.w.engine, &request, &stream, NULL), LICET_OK);
    t.now += SECOND;
    assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
    assert_true(found);
    licet_stream_release(stream);
    assert_string_equal(world_read_type(&t.w, "document"), "");
    world_close(&t.w);
}

static void touch_if(timed_world *t, licet_expectation expectation, const char *line)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_precondition  p       = { expectation, LICET_FILTER_INIT };

    p.filter.resource_type = LICET_STR("document");
    p.filter.relation      = LICET_STR("temp");
    assert_int_equal(licet_relationship_parse(text_of(line), &update.relationship, NULL), LICET_OK);
    request.updates            = &update;
    request.update_count       = 1;
    request.preconditions      = &p;
    request.precondition_count = 1;
    t->w.status                = licet_write(t->w.engine, &request, NULL, &t->w.error);
}

static void what_has_expired_is_there_for_writes_alone(void **state)
{
    timed_world t;

    (void)state;
    open_timed(&t, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00Z]");
    touch_if(&t, LICET_MUST_MATCH, "group:g1#member@user:u1");
    world_failed(&t.w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "WRITE_OR_DELETE_PRECONDITION_FAILURE",
                 "precondition 1 does not hold: no relationship matches");
    touch_if(&t, LICET_MUST_NOT_MATCH, "group:g1#member@user:u1");
    world_done(&t.w);
    world_create(&t.w, "document:d1#temp@user:u1[expiration:2031-01-01T00:00:00Z]");
    world_failed(&t.w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"document:d1#temp@user:u1\", as it exists already");
    world_touch(&t.w, "document:d1#temp@user:u1[expiration:2031-01-01T00:00:00Z]");
    world_done(&t.w);
    assert_string_equal(world_read_type(&t.w, "document"),
                        "document:d1#temp@user:u1[expiration:2031-01-01T00:00:00Z]\n");
    touch_if(&t, LICET_MUST_MATCH, "group:g1#member@user:u1");
    world_done(&t.w);
    world_close(&t.w);
}

/* Three live ones and two that have expired. limit, partial allowed; deleted, partial. deleted 99: refused. */
static void a_deletion_counts_what_has_expired_but_its_limit_does_not(void **state)
{
    static const struct {
        uint32_t limit;
        bool     allow_partial;
        uint64_t deleted;
        bool     partial;
    } cases[] = {
        { 0, false, 5, false }, { 2, false, 99, false }, { 3, false, 3, true },
        { 4, false, 4, true },  { 5, false, 5, true },   { 6, false, 5, false },
        { 2, true, 2, true },   { 5, true, 5, true },    { 6, true, 5, false },
    };
    timed_world t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_delete_request request = LICET_DELETE_REQUEST_INIT;
        licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

        open_timed(&t, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:00Z]\n"
                       "document:d2#temp@user:u1[expiration:2031-01-01T12:00:00Z]\n"
                       "document:d3#temp@user:u1[expiration:2001-01-01T12:00:00Z]\n"
                       "document:d4#temp@user:u1[expiration:2031-01-01T12:00:00Z]\n"
                       "document:d5#open@user:u1[ticket]");
        request.filter.resource_type = LICET_STR("document");
        request.limit                = cases[i].limit;
        request.allow_partial        = cases[i].allow_partial;
        t.w.status                   = licet_delete_relationships(t.w.engine, &request, &result, &t.w.error);
        if (cases[i].deleted == 99) {
            world_failed(&t.w, LICET_INVALID_ARGUMENT, LICET_KIND_LIMIT,
                         "TOO_MANY_RELATIONSHIPS_FOR_TRANSACTIONAL_DELETE",
                         "more than 2 relationships match, and partial deletion is not allowed");
            assert_int_equal(sizes_of(&t.w).edges, 5);
        } else {
            world_done(&t.w);
            assert_int_equal(result.deleted_count, cases[i].deleted);
            assert_int_equal(result.partial, cases[i].partial);
            assert_int_equal(sizes_of(&t.w).edges, 5 - cases[i].deleted);
        }
        world_close(&t.w);
    }
}

static void what_has_expired_does_not_stand_against_a_schema(void **state)
{
    timed_world t;

    (void)state;
    open_timed(&t, "document:d1#temp@user:u1[expiration:2030-01-01T12:00:01Z]");
    world_schema(&t.w, "definition user {}");
    world_failed(&t.w, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR",
                 "cannot delete object definition `document`, as at least one relationship exists under it: "
                 "document:d1#temp@user:u1[expiration:2030-01-01T12:00:01Z]");
    t.now += SECOND;
    world_schema(&t.w, "definition user {}");
    world_done(&t.w);
    world_close(&t.w);
}

/* schema.md 15: with c, without, with an expiration, without: each is a form of its own. */
static void a_form_stays_allowed_while_a_relationship_has_it(void **state)
{
    static const struct {
        const char *open; /* what is left of its forms */
        const char *message;
    } cases[] = {
        { "user:* with ticket | user with ticket | user with expiration", NULL },
        { "user:* with ticket | user | user with expiration",
          "cannot remove allowed type `user with ticket` from relation `open` in object definition `document`, as a "
          "relationship exists with it: document:d1#open@user:*[ticket:{\"n\":1}]" },
        { "user | user with ticket | user with expiration",
          "cannot remove allowed type `user:* with ticket` from relation `open` in object definition `document`, as a "
          "relationship exists with it: document:d1#open@user:*[ticket:{\"n\":1}]" },
        { "user:* with ticket | user with other | user with ticket and expiration | user with expiration",
          "cannot remove allowed type `user with ticket` from relation `open` in object definition `document`, as a "
          "relationship exists with it: document:d1#open@user:*[ticket:{\"n\":1}]" },
        { "user:* with ticket | user with ticket",
          "cannot remove allowed type `user with expiration` from relation `open` in object definition `document`, as "
          "a "
          "relationship exists with it: document:d1#open@user:u2[expiration:2031-01-01T00:00:00Z]" },
    };
    timed_world t;

    (void)state;
    open_timed(&t, "document:d1#open@user:*[ticket:{\"n\":1}]\n"
                   "document:d1#open@user:u2[expiration:2031-01-01T00:00:00Z]\n"
                   "document:d1#open@user:u3[expiration:2001-01-01T00:00:00Z]");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char schema[1024];

        snprintf(schema, sizeof schema,
                 "use expiration\n"
                 "caveat ticket(n int, m map<any>, when timestamp) { n == 1 || m == {} || when == when }\n"
                 "caveat other(b bool) { b }\n"
                 "definition user {}\n"
                 "definition document {\n"
                 "  relation open: %s\n"
                 "}\n",
                 cases[i].open);
        world_schema(&t.w, schema);
        if (cases[i].message == NULL)
            world_done(&t.w);
        else
            world_failed(&t.w, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR", cases[i].message);
        world_schema(&t.w, SCHEMA);
        world_done(&t.w);
    }
    world_close(&t.w);
}

static void without_a_clock_it_is_the_systems_time_that_counts(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA,
               "document:d1#temp@user:u1[expiration:2026-01-01T00:00:00Z]\n"
               "document:d1#temp@user:u2[expiration:2999-01-01T00:00:00Z]");
    assert_string_equal(world_read_type(&w, "document"), "document:d1#temp@user:u2[expiration:2999-01-01T00:00:00Z]\n");
    world_close(&w);
}

static void an_engines_time_does_not_go_back(void **state)
{
    engine_world w;
    int64_t      before;

    (void)state;
    world_open(&w, NULL, SCHEMA, NULL);
    before = lic_engine_now(w.engine);
    assert_true(lic_engine_now(w.engine) >= before);
    w.engine->latest_ns = before + 3600 * SECOND; /* as if the system's clock had been put back since */
    assert_true(lic_engine_now(w.engine) == before + 3600 * SECOND);
    world_close(&w);
}

/* ------------------------------------------------------------ memory, threads */

/* What caveats are given is there once, next to the text. */
static void the_graph_has_the_values_of_a_context(void **state)
{
    timed_world          t;
    lic_snapshot         head;
    lic_ref              resource;
    lic_ref              subject;
    uint32_t             number;
    const lic_attribute *attribute;
    const lic_context   *context;
    const lic_cel_value *value;

    (void)state;
    open_timed(&t, "document:d1#guest@user:u1[ticket:{\"n\":\"7\",\"m\":{\"a\":[2]}}]");
    lic_snapshot_pin(t.w.engine->graph, &head);
    resource.slot =
        lic_names_slot(t.w.engine->names, lic_names_type(t.w.engine->names, LIC_STR("document")), LIC_STR("guest"));
    subject.slot = lic_names_ellipsis(t.w.engine->names, lic_names_type(t.w.engine->names, LIC_STR("user")));
    resource.node =
        lic_graph_find_node(t.w.engine->graph, lic_names_type(t.w.engine->names, LIC_STR("document")), LIC_STR("d1"));
    subject.node =
        lic_graph_find_node(t.w.engine->graph, lic_names_type(t.w.engine->names, LIC_STR("user")), LIC_STR("u1"));
    assert_true(lic_snapshot_find(&head, resource, subject, &number));
    attribute = lic_graph_attribute(t.w.engine->graph, number);
    context   = lic_attribute_context(attribute);
    assert_int_equal(attribute->caveat, lic_names_caveat(t.w.engine->names, LIC_STR("ticket")));
    assert_int_equal(context->values.count, 2);
    value = lic_context_find(&context->values, LIC_STR("n"));
    assert_int_equal(value->kind, LIC_CEL_STRING);
    assert_memory_equal(value->text.data, "7", 1);
    value = lic_context_find(&context->values, LIC_STR("m"));
    assert_int_equal(value->kind, LIC_CEL_MAP);
    assert_true(value->map->entries[0].value.list->items[0].number == 2);
    lic_snapshot_unpin(&head);
    world_close(&t.w);
}

static const char LINES[]  = "document:d1#guest@user:u1[ticket:{\"n\":1,\"m\":{\"b\":[1,2],\"a\":\"x\"}}]\n"
                             "document:d2#both@user:u1[ticket:{\"n\":1}][expiration:2031-01-01T00:00:00Z]\n"
                             "document:d3#temp@user:u1[expiration:2031-01-01T00:00:00Z]\n";
static const char SORTED[] = "document:d1#guest@user:u1[ticket:{\"m\":{\"a\":\"x\",\"b\":[1,2]},\"n\":1}]\n"
                             "document:d3#temp@user:u1[expiration:2031-01-01T00:00:00Z]\n"
                             "document:d2#both@user:u1[ticket:{\"n\":1}][expiration:2031-01-01T00:00:00Z]\n";

static void writes_survive_every_failed_allocation(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_never();
        timed_world    t;

        open_with(&t, memory.options, NULL);
        fail_next(&memory, n);
        world_touch(&t.w, LINES);
        status = t.w.status;
        fail_next(&memory, SIZE_MAX / 2);
        if (status != LICET_OK) {
            world_failed(&t.w, LICET_OUT_OF_MEMORY, LICET_KIND_NOMEM, "", "out of memory");
            assert_int_equal(sizes_of(&t.w).attributes, 0);
            assert_string_equal(world_read_type(&t.w, "document"), "");
        } else {
            assert_string_equal(world_read_type(&t.w, "document"), SORTED);
        }
        world_close(&t.w);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

static void reads_and_deletions_survive_every_failed_allocation(void **state)
{
    failing_memory memory = fail_never();
    licet_status   status = LICET_OUT_OF_MEMORY;
    timed_world    t;

    (void)state;
    open_with(&t, memory.options, LINES);
    for (size_t n = 0; status != LICET_OK; n++) {
        licet_read_request request = LICET_READ_REQUEST_INIT;

        request.filter.resource_type = LICET_STR("document");
        fail_next(&memory, n);
        world_read(&t.w, &request);
        status = t.w.status;
        fail_next(&memory, SIZE_MAX / 2);
        if (status != LICET_OK)
            world_failed(&t.w, LICET_OUT_OF_MEMORY, LICET_KIND_NOMEM, "", "out of memory");
        else
            assert_string_equal(t.w.text, SORTED);
    }
    status = LICET_OUT_OF_MEMORY;
    for (size_t n = 0; status != LICET_OK; n++) {
        licet_delete_request request = LICET_DELETE_REQUEST_INIT;
        licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

        request.filter.resource_type = LICET_STR("document");
        request.limit                = 3;
        fail_next(&memory, n);
        status = licet_delete_relationships(t.w.engine, &request, &result, NULL);
        fail_next(&memory, SIZE_MAX / 2);
        assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
        assert_int_equal(result.deleted_count, status == LICET_OK ? 3 : 0);
        assert_int_equal(sizes_of(&t.w).edges, status == LICET_OK ? 0 : 3);
    }
    world_close(&t.w);
    assert_int_equal(memory.counts->live_blocks, 0);
}

static _Atomic bool finished;

/* What is read is one of the two that are written in turn, whole. */
static void *read_on(void *argument)
{
    licet_engine *engine = argument;

    while (!finished) {
        licet_read_request request = LICET_READ_REQUEST_INIT;
        licet_relationship r       = LICET_RELATIONSHIP_INIT;
        licet_stream      *stream  = NULL;
        bool               found   = false;
        licet_status       status;

        request.filter.resource_type = LICET_STR("document");
        if (licet_read_relationships(engine, &request, &stream, NULL) != LICET_OK)
            return "no stream";
        status = licet_stream_next_relationship(stream, &r, &found, NULL);
        if (status == LICET_REVISION_EXPIRED) { /* a merge has given all history up, just now */
            licet_stream_release(stream);
            continue;
        }
        if (status != LICET_OK || !found)
            return "no relationship";
        if (r.caveat_context.size != 7 || memcmp(r.caveat_context.data, "{\"n\":", 5) != 0)
            return "another context";
        if (r.expiration.size != 20 || r.expiration.data[3] != r.caveat_context.data[5])
            return "the context of one, the expiration of the other";
        licet_stream_release(stream);
    }
    return NULL;
}

static void readers_see_whole_attributes_while_they_are_replaced(void **state)
{
    timed_world t;
    pthread_t   readers[2];
    void       *problem;

    (void)state;
    open_timed(&t, "document:d1#both@user:u1[ticket:{\"n\":1}][expiration:2031-01-01T00:00:00Z]");
    finished = false;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, t.w.engine), 0);
    for (int i = 0; i < 400; i++) {
        world_touch(&t.w, i % 2 == 0 ? "document:d1#both@user:u1[ticket:{\"n\":2}][expiration:2032-01-01T00:00:00Z]"
                                     : "document:d1#both@user:u1[ticket:{\"n\":1}][expiration:2031-01-01T00:00:00Z]");
        world_done(&t.w);
        if (i % 50 == 49)
            assert_true(lic_graph_merge_all(t.w.engine->graph));
    }
    finished = true;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(readers[i], &problem), 0);
        assert_null(problem);
    }
    world_close(&t.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relationship_is_read_back_as_it_was_written),
        cmocka_unit_test(a_shape_is_allowed_exactly_or_not_at_all),
        cmocka_unit_test(a_context_fits_the_parameters_of_its_caveat),
        cmocka_unit_test(caveat_and_context_have_at_most_25000_bytes),
        cmocka_unit_test(the_first_failure_in_order_wins),
        cmocka_unit_test(a_touch_replaces_caveat_context_and_expiration),
        cmocka_unit_test(an_identical_touch_changes_nothing),
        cmocka_unit_test(a_delete_removes_whatever_caveat_and_expiration_there_are),
        cmocka_unit_test(what_has_expired_can_not_be_read),
        cmocka_unit_test(a_check_finds_what_can_be_read_at_whatever_time_a_clock_shows),
        cmocka_unit_test(a_read_has_one_time_from_its_beginning_to_its_end),
        cmocka_unit_test(what_has_expired_is_there_for_writes_alone),
        cmocka_unit_test(a_deletion_counts_what_has_expired_but_its_limit_does_not),
        cmocka_unit_test(what_has_expired_does_not_stand_against_a_schema),
        cmocka_unit_test(a_form_stays_allowed_while_a_relationship_has_it),
        cmocka_unit_test(without_a_clock_it_is_the_systems_time_that_counts),
        cmocka_unit_test(an_engines_time_does_not_go_back),
        cmocka_unit_test(the_graph_has_the_values_of_a_context),
        cmocka_unit_test(writes_survive_every_failed_allocation),
        cmocka_unit_test(reads_and_deletions_survive_every_failed_allocation),
        cmocka_unit_test(readers_see_whole_attributes_while_they_are_replaced),
    };

    return cmocka_run_group_tests_name("engine/attributes", tests, NULL, NULL);
}
