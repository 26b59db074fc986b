/* core/engine/read.c: reading relationships by filter, in pages (api.md 10). */
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
               "document:d2#viewer@user:ana\n"
               "document:d1#viewer@user:ana\n"
               "document:d1#viewer@group:eng#member\n"
               "document:d1#banned@user:mal\n"
               "document:d1#viewer@user:*\n"
               "group:eng#member@user:ana");
}

static licet_read_request request_of(const char *type, const char *id, const char *subject_type, const char *subject_id)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;

    request.filter.resource_type = text_of(type);
    request.filter.resource_id   = text_of(id);
    request.filter.subject_type  = text_of(subject_type);
    request.filter.subject_id    = text_of(subject_id);
    return request;
}

static void a_read_returns_what_matches(void **state)
{
    static const struct {
        const char *fields[4];
        const char *lines;
    } cases[] = {
        { { "document", "d1" },
          "document:d1#viewer@user:*\n"
          "document:d1#viewer@user:ana\n"
          "document:d1#viewer@group:eng#member\n"
          "document:d1#banned@user:mal\n" },
        { { "document", "d9" }, "" },
        { { "group" }, "group:eng#member@user:ana\n" },
        { { NULL, NULL, "user", "ana" },
          "group:eng#member@user:ana\n"
          "document:d2#viewer@user:ana\n"
          "document:d1#viewer@user:ana\n" },
        { { NULL, NULL, "user", "*" }, "document:d1#viewer@user:*\n" },
        { { "document", "d1", "user", "mal" }, "document:d1#banned@user:mal\n" },
        { { "document", NULL, "group" }, "document:d1#viewer@group:eng#member\n" },
    };
    engine_world w;

    (void)state;
    open_world(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_read_request request =
            request_of(cases[i].fields[0], cases[i].fields[1], cases[i].fields[2], cases[i].fields[3]);

        assert_string_equal(world_read(&w, &request), cases[i].lines);
        world_done(&w);
    }
    world_close(&w);
}

static void a_permission_can_not_be_read_and_unknown_names_are_errors(void **state)
{
    licet_read_request request = request_of("document", NULL, NULL, NULL);
    engine_world       w;

    (void)state;
    open_world(&w);
    request.filter.relation = LICET_STR("view");
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "SCHEMA_TYPE_ERROR",
                 "cannot read relationships of permission `view` under definition `document`");
    request.filter.relation = LICET_STR("nosuch");
    world_read(&w, &request);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `nosuch` not found under definition `document`");
    request = request_of(NULL, NULL, NULL, NULL);
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER",
                 "filter: at least one field must be given");
    request       = request_of("document", NULL, NULL, NULL);
    request.limit = 1001;
    world_read(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT",
                 "limit: expected at most 1000, not 1001");
    /* Of a read, the wildcard with a relation merely matches nothing. */
    request                         = request_of(NULL, NULL, "group", "*");
    request.filter.subject_relation = LICET_STR("member");
    assert_string_equal(world_read(&w, &request), "");
    world_done(&w);
    world_close(&w);
}

/* As in SpiceDB. */
static void of_a_read_the_shape_fails_first_then_the_limit_then_names_then_a_filter_of_nothing(void **state)
{
    licet_read_request request = request_of("document", NULL, NULL, "u1");
    engine_world       w;

    (void)state;
    open_world(&w);
    request.limit = 1001;
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                 "filter: subject_type must be given with subject_id or subject_relation");
    request       = request_of("nosuch", NULL, NULL, NULL);
    request.limit = 1001;
    world_read(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT",
                 "limit: expected at most 1000, not 1001");
    request                           = request_of("nosuch", "d1", NULL, NULL);
    request.filter.resource_id_prefix = LICET_STR("d");
    world_read(&w, &request);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `nosuch` not found");
    request.filter.resource_type = LICET_STR("document");
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER",
                 "filter: resource_id and resource_id_prefix exclude each other");
    world_close(&w);
}

/* n documents that one user and one group view. */
static void write_documents(engine_world *w, unsigned n)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update       *updates = calloc(1000, sizeof *updates);
    char(*ids)[16]              = calloc(1000, sizeof *ids);

    request.updates = updates;
    for (unsigned i = 0; i < n; i++) {
        size_t at = request.update_count++;

        snprintf(ids[at], sizeof ids[at], "n%05u", i * 7919 % n);
        updates[at] = (licet_update){ LICET_TOUCH, LICET_RELATIONSHIP_INIT };
        assert_int_equal(licet_relationship_parse(i % 2 == 0 ? LICET_STR("document:x#viewer@user:reader")
                                                             : LICET_STR("document:x#viewer@group:readers#member"),
                                                  &updates[at].relationship, NULL),
                         LICET_OK);
        updates[at].relationship.resource_id = text_of(ids[at]);
        if (request.update_count == 1000 || i + 1 == n) {
            assert_int_equal(licet_write(w->engine, &request, &w->token, NULL), LICET_OK);
            request.update_count = 0;
        }
    }
    free(updates);
    free(ids);
}

/* "n00012": 12. */
static size_t number_of(licet_str id)
{
    size_t number = 0;

    for (size_t i = 1; i < id.size; i++)
        number = number * 10 + (size_t)(id.data[i] - '0');
    return number;
}

/* Follows cursors; counts, and asserts that pages are full and nothing comes twice. */
static size_t read_in_pages(engine_world *w, licet_read_request request, bool change_between)
{
    static bool        seen[10000];
    licet_relationship r     = LICET_RELATIONSHIP_INIT;
    size_t             total = 0;
    size_t             page;
    char               cursor[256];

    memset(seen, 0, sizeof seen);
    do {
        licet_stream *stream = NULL;
        bool          found  = true;
        licet_str     place;

        page = 0;
        assert_int_equal(licet_read_relationships(w->engine, &request, &stream, NULL), LICET_OK);
        while (found) {
            assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
            if (found) {
                size_t number = number_of(r.resource_id);

                assert_false(seen[number]);
                seen[number] = true;
                page++;
            }
        }
        total += page;
        place = licet_stream_cursor(stream);
        if (place.size > 0) {
            memcpy(cursor, place.data, place.size);
            request.cursor = (licet_str){ cursor, place.size };
        }
        licet_stream_release(stream);
        if (change_between) {
            world_delete(w, "document:n00001#viewer@user:reader\ndocument:n00002#viewer@group:readers#member");
            world_done(w);
        }
    } while (request.limit != 0 && page == request.limit);
    return total;
}

static void cursors_lead_through_everything_once_at_one_revision(void **state)
{
    static const uint32_t limits[]    = { 0, 1000, 333, 64, 65 };
    licet_read_request    by_resource = request_of("document", NULL, NULL, NULL);
    licet_read_request    by_subject  = request_of(NULL, NULL, "user", "reader");
    engine_world          w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    write_documents(&w, 2500);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        by_resource.limit = by_subject.limit = limits[i];
        assert_int_equal(read_in_pages(&w, by_resource, false), 2500);
        assert_int_equal(read_in_pages(&w, by_subject, false), 1250);
    }
    by_resource.limit = by_subject.limit = 100;
    assert_int_equal(read_in_pages(&w, by_subject, true), 1250);
    write_documents(&w, 2500);
    assert_int_equal(read_in_pages(&w, by_resource, true), 2500);
    world_close(&w);
}

/* A read whose first page of one is taken; the cursor after it. */
static void first_cursor(engine_world *w, const licet_read_request *request, char cursor[256])
{
    licet_relationship r      = LICET_RELATIONSHIP_INIT;
    licet_stream      *stream = NULL;
    bool               found  = false;
    licet_str          place;

    assert_int_equal(licet_read_relationships(w->engine, request, &stream, NULL), LICET_OK);
    assert_null(licet_stream_cursor(stream).data);
    assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
    assert_true(found);
    place = licet_stream_cursor(stream);
    memcpy(cursor, place.data, place.size);
    cursor[place.size] = '\0';
    licet_stream_release(stream);
}

static void a_cursor_belongs_to_its_request(void **state)
{
    licet_read_request request = request_of("document", NULL, NULL, NULL);
    licet_read_request other;
    engine_world       w;
    engine_world       w2;
    char               cursor[256];

    (void)state;
    open_world(&w);
    open_world(&w2);
    request.limit = 1;
    first_cursor(&w, &request, cursor);
    request.cursor = text_of(cursor);
    assert_string_equal(world_read(&w, &request), "document:d1#viewer@user:*\n");
    world_done(&w);
    for (int i = 0; i < 6; i++) {
        other = request;
        if (i == 0)
            other.limit = 2;
        if (i == 1)
            other.filter.resource_id = LICET_STR("d1");
        if (i == 2)
            other.filter.resource_id_prefix = LICET_STR("d");
        if (i == 3)
            other.consistency.freshness = LICET_FULLY_CONSISTENT;
        if (i == 4)
            other.filter.subject_type = LICET_STR("user");
        if (i == 5)
            other.filter.relation = LICET_STR("viewer");
        world_read(&w, &other);
        world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR",
                     "the cursor belongs to another request");
    }
    world_read(&w2, &request);
    world_failed(&w2, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR", "the cursor belongs to another store");
    request.cursor = LICET_STR("");
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR", "the cursor is empty");
    request.cursor = LICET_STR("AAAA");
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR",
                 "the cursor is damaged, or was not made by licet");
    request.cursor = text_of(w.token.text); /* a token is no cursor */
    world_read(&w, &request);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR",
                 "the cursor is damaged, or was not made by licet");
    for (size_t i = 0; cursor[i] != '\0'; i++) {
        for (int bit = 1; bit < 256; bit *= 2) {
            cursor[i]      = (char)(cursor[i] ^ bit);
            request.cursor = (licet_str){ cursor, 88 };
            world_read(&w, &request);
            assert_int_equal(w.status, LICET_INVALID_TOKEN);
            cursor[i] = (char)(cursor[i] ^ bit);
        }
    }
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
    world_close(&w2);
}

static void a_read_sees_the_revision_that_it_asks_for(void **state)
{
    licet_read_request request = request_of("group", NULL, NULL, NULL);
    licet_stream      *stream  = NULL;
    licet_token        token;
    licet_token        before;
    engine_world       w;

    (void)state;
    open_world(&w);
    before = w.token;
    world_touch(&w, "group:eng#member@user:bob");
    world_done(&w);
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(before.text), false };
    assert_string_equal(world_read(&w, &request), "group:eng#member@user:ana\n");
    world_done(&w);
    assert_int_equal(licet_read_relationships(w.engine, &request, &stream, NULL), LICET_OK);
    licet_stream_token(stream, &token);
    assert_string_equal(token.text, before.text);
    licet_stream_release(stream);
    request.consistency = (licet_consistency){ LICET_AT_LEAST_AS_FRESH, text_of(before.text), false };
    assert_string_equal(world_read(&w, &request), "group:eng#member@user:ana\ngroup:eng#member@user:bob\n");
    world_done(&w);
    world_close(&w);
}

static void a_stream_keeps_its_revision_while_others_write(void **state)
{
    licet_read_request request = request_of("document", NULL, NULL, NULL);
    licet_relationship r       = LICET_RELATIONSHIP_INIT;
    licet_stream      *stream  = NULL;
    bool               found   = true;
    size_t             count   = 0;
    engine_world       w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "group:eng#member@user:ana");
    write_documents(&w, 500);
    assert_int_equal(licet_read_relationships(w.engine, &request, &stream, NULL), LICET_OK);
    while (found) {
        assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
        count += found;
        if (count == 10) {
            licet_delete_request all    = LICET_DELETE_REQUEST_INIT;
            licet_delete_result  result = LICET_DELETE_RESULT_INIT;

            all.filter.resource_type = LICET_STR("document");
            assert_int_equal(licet_delete_relationships(w.engine, &all, &result, NULL), LICET_OK);
            assert_int_equal(result.deleted_count, 500);
        }
    }
    assert_int_equal(count, 500);
    /* The end is an end however often it is asked for. */
    assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
    assert_false(found);
    assert_null(r.resource_type.data);
    licet_stream_release(stream);
    world_close(&w);
}

static void a_stream_outlives_its_engines_handle_and_says_closed(void **state)
{
    licet_read_request request = request_of("document", NULL, NULL, NULL);
    licet_relationship r       = LICET_RELATIONSHIP_INIT;
    licet_stream      *stream  = NULL;
    bool               found   = false;
    engine_world       w;

    (void)state;
    open_world(&w);
    assert_int_equal(licet_read_relationships(w.engine, &request, &stream, NULL), LICET_OK);
    licet_engine_release(w.engine); /* the stream holds it */
    assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
    assert_true(found);
    assert_memory_equal(r.resource_id.data, "d2", 2);
    licet_close(w.engine);
    assert_memory_equal(r.resource_id.data, "d2", 2);
    found    = true;
    w.status = licet_stream_next_relationship(stream, &r, &found, &w.error);
    assert_false(found);
    world_failed(&w, LICET_CLOSED, LICET_KIND_MISUSE, "", "the engine is closed");
    assert_true(licet_stream_cursor(stream).size > 0);
    licet_stream_release(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_returns_what_matches),
        cmocka_unit_test(a_permission_can_not_be_read_and_unknown_names_are_errors),
        cmocka_unit_test(of_a_read_the_shape_fails_first_then_the_limit_then_names_then_a_filter_of_nothing),
        cmocka_unit_test(cursors_lead_through_everything_once_at_one_revision),
        cmocka_unit_test(a_cursor_belongs_to_its_request),
        cmocka_unit_test(a_read_sees_the_revision_that_it_asks_for),
        cmocka_unit_test(a_stream_keeps_its_revision_while_others_write),
        cmocka_unit_test(a_stream_outlives_its_engines_handle_and_says_closed),
    };

    return cmocka_run_group_tests_name("engine/read", tests, NULL, NULL);
}
