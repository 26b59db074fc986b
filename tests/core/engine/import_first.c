/* The first import of all fills the graph, and takes no history: what is read of before it, what a watch tells of it, and
 * what memory it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "engine_world.h"
#include "failing_memory.h"

#define MEMBERS 20000u

/* group:g0#member@user:u0, group:g0#member@user:u1, ...: 100 in each group. */
typedef struct crowd {
    size_t              count;
    licet_relationship *items;
    char (*texts)[2][24];
} crowd;

static void crowd_make(crowd *c, size_t count)
{
    *c       = (crowd){ .count = count };
    c->items = test_calloc(count, sizeof *c->items);
    c->texts = test_calloc(count, sizeof *c->texts);
    for (size_t i = 0; i < count; i++) {
        c->items[i] = (licet_relationship)LICET_RELATIONSHIP_INIT;
        snprintf(c->texts[i][0], sizeof c->texts[i][0], "g%zu", i / 100);
        snprintf(c->texts[i][1], sizeof c->texts[i][1], "u%zu", i);
        c->items[i].resource_type = LICET_STR("group");
        c->items[i].resource_id   = text_of(c->texts[i][0]);
        c->items[i].relation      = LICET_STR("member");
        c->items[i].subject_type  = LICET_STR("user");
        c->items[i].subject_id    = text_of(c->texts[i][1]);
    }
}

static void crowd_end(crowd *c)
{
    test_free(c->items);
    test_free(c->texts);
}

static licet_status import_some(licet_engine *engine, const licet_relationship *items, size_t count, licet_token *token)
{
    licet_import *import = NULL;
    licet_status  status = licet_import_begin(engine, &import, NULL);

    if (status == LICET_OK)
        status = licet_import_add(import, items, count, NULL);
    if (status == LICET_OK)
        status = licet_import_commit(import, NULL, token, NULL);
    licet_import_release(import);
    return status;
}

/* Lines of relationships, in one import. */
static void import_lines(engine_world *w, const char *lines)
{
    licet_relationship items[16];
    size_t             count = 0;

    while (*lines != '\0') {
        const size_t size = strcspn(lines, "\n");

        items[count] = (licet_relationship)LICET_RELATIONSHIP_INIT;
        assert_int_equal(licet_relationship_parse((licet_str){ lines, size }, &items[count++], NULL), LICET_OK);
        lines += size + (lines[size] == '\n');
    }
    assert_int_equal(import_some(w->engine, items, count, &w->token), LICET_OK);
}

static licet_stats stats_of(const engine_world *w)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(w->engine, &stats, NULL), LICET_OK);
    return stats;
}

static const char *read_at(engine_world *w, const char *type, const licet_token *token)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;

    request.filter.resource_type = text_of(type);
    request.consistency          = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(token->text), false };
    return world_read(w, &request);
}

static bool allowed_at(engine_world *w, const char *subject, const licet_token *token)
{
    licet_check_request request = check_of("document:d1", "view", subject);
    licet_result        result  = LICET_RESULT_INIT;

    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(token->text), false };
    w->status           = licet_check(w->engine, &request, &result, &w->error);
    world_done(w);
    return licet_result_allowed(&result);
}

static licet_stream *watch_from(engine_world *w, const licet_token *token)
{
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    licet_stream       *stream  = NULL;

    request.since = text_of(token->text);
    w->status     = licet_watch(w->engine, &request, &stream, &w->error);
    return stream;
}

/* Of the next change: how many it touches, and its token. */
static size_t touched(engine_world *w, licet_stream *stream, licet_token *token)
{
    licet_change change = LICET_CHANGE_INIT;
    bool         found;

    w->status = licet_stream_next_change(stream, 0, &change, &found, &w->error);
    world_done(w);
    assert_true(found);
    for (size_t i = 0; i < change.update_count; i++)
        assert_int_equal(change.updates[i].operation, LICET_TOUCH);
    *token = change.token;
    return change.update_count;
}

/* ------------------------------------------------------------------- history */

#define FIRST                                                                                                        \
    "document:d1#viewer@group:eng#member\ngroup:eng#member@user:ana\ndocument:d1#viewer@user:bo[ticket:{\"n\":1}]\n" \
    "document:d2#temp@user:ana[expiration:2031-01-02T03:04:05Z]"

static void what_was_before_it_is_read_as_empty_and_what_came_after_as_it_was(void **state)
{
    engine_world w;
    licet_token  before;
    licet_token  after;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    before = w.token;
    import_lines(&w, FIRST);
    after = w.token;
    for (int merged = 0; merged < 2; merged++) { /* before and after */
        assert_false(allowed_at(&w, "user:ana", &before));
        assert_false(allowed_at(&w, "user:bo", &before));
        assert_string_equal(read_at(&w, "document", &before), "");
        assert_true(allowed_at(&w, "user:ana", &after));
        assert_true(allowed_at(&w, "user:bo", &after));
        assert_string_equal(read_at(&w, "group", &after), "group:eng#member@user:ana\n");
        world_delete(&w, "group:eng#member@user:ana\ndocument:d1#viewer@user:bo");
        world_done(&w);
        for (unsigned i = 0; i < 600; i++) { /* enough for a merge */
            char line[64];

            snprintf(line, sizeof line, "document:d%u#viewer@user:dan", i + 10);
            world_touch(&w, line);
        }
        world_done(&w);
        assert_false(world_allowed(&w, "document:d1", "view", "user:ana"));
    }
    world_close(&w);
}

static void a_watch_from_before_it_is_told_all_of_it_at_once_and_then_the_rest(void **state)
{
    static const char *const told[] = { "document:d1#viewer@group:eng#member",
                                        "document:d1#viewer@user:bo[ticket:{\"n\":1}]",
                                        "document:d2#temp@user:ana[expiration:2031-01-02T03:04:05Z]",
                                        "group:eng#member@user:ana" };
    engine_world             w;
    licet_change             change = LICET_CHANGE_INIT;
    licet_stream            *stream;
    licet_token              before;
    licet_token              imported;
    bool                     found;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    before = w.token;
    import_lines(&w, FIRST);
    imported = w.token;
    world_delete(&w, "document:d1#viewer@user:bo\ngroup:eng#member@user:ana"); /* it was there then all the same */
    world_done(&w);
    stream = watch_from(&w, &before);
    world_done(&w);
    assert_int_equal(licet_stream_next_change(stream, 0, &change, &found, NULL), LICET_OK);
    assert_true(found);
    assert_string_equal(change.token.text, imported.text);
    assert_int_equal(change.update_count, 4);
    for (size_t i = 0; i < 4; i++) {
        size_t at = 0;

        for (size_t j = 0; j < 4; j++) {
            licet_buffer text = LICET_BUFFER_INIT;

            assert_int_equal(change.updates[j].operation, LICET_TOUCH);
            assert_int_equal(licet_relationship_format(&change.updates[j].relationship, &text, NULL), LICET_OK);
            at += text.size == strlen(told[i]) && memcmp(text.data, told[i], text.size) == 0;
            licet_buffer_clear(&text);
        }
        assert_int_equal(at, 1);
    }
    assert_int_equal(licet_stream_next_change(stream, 0, &change, &found, NULL), LICET_OK);
    assert_int_equal(change.update_count, 2);
    assert_int_equal(change.updates[0].operation, LICET_DELETE);
    assert_int_equal(licet_stream_next_change(stream, 0, &change, &found, NULL), LICET_OK);
    assert_false(found);
    licet_stream_release(stream);
    stream = watch_from(&w, &imported);
    assert_int_equal(licet_stream_next_change(stream, 0, &change, &found, NULL), LICET_OK);
    assert_int_equal(change.update_count, 2);
    licet_stream_release(stream);
    world_close(&w);
}

/* Its own changes are not among those of which the last few thousand are kept. */
static void it_is_told_as_long_as_what_came_since_is_kept(void **state)
{
    engine_world  w;
    licet_stream *stream;
    licet_token   before;
    licet_token   imported;
    licet_token   token;
    crowd         c;

    (void)state;
    crowd_make(&c, MEMBERS);
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    before = w.token;
    assert_int_equal(import_some(w.engine, c.items, c.count, &imported), LICET_OK);
    assert_int_equal(stats_of(&w).delta_changes, 0);
    for (unsigned i = 0; i < 9000; i++) {
        char line[80];

        snprintf(line, sizeof line, "document:d%u#viewer@user:u%u", i % 3000, i / 3000);
        world_touch(&w, line);
        if (i == 3000) {
            stream = watch_from(&w, &before);
            world_done(&w);
            assert_int_equal(touched(&w, stream, &token), MEMBERS);
            assert_string_equal(token.text, imported.text);
            assert_int_equal(touched(&w, stream, &token), 1);
            licet_stream_release(stream);
        }
    }
    world_done(&w);
    lic_sleep_us(100000); /* the merge comes to its end */
    world_touch(&w, "document:last#viewer@user:ana");
    assert_null(watch_from(&w, &before));
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "", "the revision has left the retained history");
    assert_true(world_allowed(&w, "group:g199", "member", "user:u19999"));
    world_close(&w);
    crowd_end(&c);
}

static void a_watch_that_waits_for_it_is_told_it(void **state)
{
    engine_world  w;
    licet_stream *stream;
    licet_token   imported;
    licet_token   token;
    crowd         c;

    (void)state;
    crowd_make(&c, MEMBERS);
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    stream = watch_from(&w, &w.token);
    world_done(&w);
    assert_int_equal(import_some(w.engine, c.items, c.count, &imported), LICET_OK);
    assert_int_equal(touched(&w, stream, &token), MEMBERS);
    assert_string_equal(token.text, imported.text);
    licet_stream_release(stream);
    world_close(&w);
    crowd_end(&c);
}

/* -------------------------------------------------------------------- memory */

/* As changes they would take 256 bytes each while they are merged, 5 MB, and 120 for as long as they are history. */
static void it_takes_little_more_memory_than_what_it_leaves(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_stats   stats;
    engine_world  w;
    crowd         c;

    (void)state;
    crowd_make(&c, MEMBERS);
    options.memory_limit_bytes = 4 << 20;
    world_open(&w, &options, WORLD_SCHEMA, NULL);
    assert_int_equal(import_some(w.engine, c.items, c.count, NULL), LICET_OK);
    stats = stats_of(&w);
    assert_int_equal(stats.relationships, MEMBERS);
    assert_int_equal(stats.delta_changes, 0);
    assert_true(stats.graph_bytes < 80 * MEMBERS); /* the table of ids among them */
    for (unsigned i = 0; i < 1000; i++) {          /* and what comes then fits too */
        char line[80];

        snprintf(line, sizeof line, "document:d%u#viewer@group:g%u#member", i, i % 200);
        world_create(&w, line);
        world_done(&w);
    }
    assert_true(world_allowed(&w, "document:d7", "view", "user:u799"));
    assert_false(world_allowed(&w, "document:d7", "view", "user:u800"));
    world_close(&w);
    crowd_end(&c);
}

/* There is room for it, but not for it as changes: history goes, as where any other write is short of memory. */
static void one_that_is_not_the_first_fits_too_where_the_graph_does(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    engine_world  w;
    licet_stream *stream;
    licet_token   before;
    crowd         c;

    (void)state;
    crowd_make(&c, MEMBERS);
    options.memory_limit_bytes = 4 << 20;
    world_open(&w, &options, WORLD_SCHEMA, FIRST);
    before = w.token;
    stream = watch_from(&w, &before);
    world_done(&w);
    assert_int_equal(import_some(w.engine, c.items, c.count, NULL), LICET_OK);
    assert_int_equal(stats_of(&w).relationships, MEMBERS + 4);
    assert_int_equal(stats_of(&w).oldest_revision, stats_of(&w).revision);
    assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
    assert_string_equal(read_at(&w, "document", &before), "");
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "", "the revision has left the retained history");
    assert_true(world_allowed(&w, "group:g199", "member", "user:u19999"));
    assert_string_equal(world_read_type(&w, "document"),
                        "document:d1#viewer@user:bo[ticket:{\"n\":1}]\n"
                        "document:d1#viewer@group:eng#member\n"
                        "document:d2#temp@user:ana[expiration:2031-01-02T03:04:05Z]\n");
    licet_stream_release(stream);
    assert_null(watch_from(&w, &before));
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "", "the revision has left the retained history");
    assert_int_equal(import_some(w.engine, c.items + 7, 1, NULL), LICET_ALREADY_EXISTS);
    world_delete(&w, "group:g199#member@user:u19999");
    world_done(&w);
    assert_false(world_allowed(&w, "group:g199", "member", "user:u19999"));
    world_close(&w);
    crowd_end(&c);
}

static void every_allocation_of_it_may_fail(void **state)
{
    enum { FEW = 200 }; /* too few for a merge */
    size_t failures = 0;
    crowd  c;

    (void)state;
    crowd_make(&c, FEW);
    for (size_t n = 0;; n++) {
        failing_memory memory = fail_never();
        licet_status   status;
        licet_stream  *stream;
        licet_token    token;
        engine_world   w;

        world_open(&w, &memory.options, WORLD_SCHEMA, NULL);
        stream = watch_from(&w, &w.token);
        world_done(&w);
        fail_next(&memory, n);
        status = import_some(w.engine, c.items, FEW, NULL);
        if (memory.counts->failures == 0) {
            assert_int_equal(status, LICET_OK);
            licet_stream_release(stream);
            world_close(&w);
            break;
        }
        fail_next(&memory, SIZE_MAX / 2);
        failures++;
        if (status != LICET_OK) { /* nothing has happened, and it can be done again */
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
            assert_int_equal(stats_of(&w).relationships, 0);
            assert_false(world_allowed(&w, "group:g0", "member", "user:u0"));
            assert_int_equal(import_some(w.engine, c.items, FEW, NULL), LICET_OK);
        }
        assert_int_equal(stats_of(&w).relationships, FEW);
        assert_true(world_allowed(&w, "group:g1", "member", "user:u199"));
        assert_int_equal(touched(&w, stream, &token), FEW);
        licet_stream_release(stream);
        world_close(&w);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
    assert_true(failures > 30);
    crowd_end(&c);
}

static void every_allocation_of_telling_it_may_fail(void **state)
{
    failing_memory memory   = fail_never();
    licet_change   change   = LICET_CHANGE_INIT;
    licet_status   status   = LICET_OUT_OF_MEMORY;
    size_t         failures = 0;
    bool           found;
    licet_stream  *stream;
    licet_token    before;
    engine_world   w;

    (void)state;
    world_open(&w, &memory.options, WORLD_SCHEMA, NULL);
    before = w.token;
    import_lines(&w, FIRST);
    world_touch(&w, "document:d1#viewer@user:cy"); /* what is scanned has a change since */
    world_done(&w);
    stream = watch_from(&w, &before);
    world_done(&w);
    for (size_t n = 0; status != LICET_OK; n++) {
        fail_next(&memory, n);
        status = licet_stream_next_change(stream, 0, &change, &found, NULL);
        if (status == LICET_OK)
            break;
        failures++;
        assert_int_equal(status, LICET_OUT_OF_MEMORY);
        assert_false(found);
    }
    fail_next(&memory, SIZE_MAX / 2);
    assert_true(failures > 1);
    assert_int_equal(change.update_count, 4);
    licet_stream_release(stream);
    world_close(&w);
}

/* ------------------------------------------------------------------- threads */

typedef struct beside {
    licet_engine    *engine;
    crowd            crowd;
    _Atomic bool     done;
    _Atomic uint32_t wrong;
} beside;

/* Of two members that are imported together, whoever is asked for later is there if the other one was. */
static void check_on(void *argument)
{
    beside             *b       = argument;
    licet_check_request first   = check_of("group:g0", "member", "user:u0");
    licet_check_request last    = check_of("group:g199", "member", "user:u19999");
    licet_result        result  = LICET_RESULT_INIT;
    bool                allowed = false;
    bool                done;

    do { /* and once more when it is committed */
        done = atomic_load(&b->done);
        if (licet_check(b->engine, &first, &result, NULL) != LICET_OK)
            atomic_fetch_add(&b->wrong, 1);
        allowed = licet_result_allowed(&result);
        licet_result_clear(&result);
        if (licet_check(b->engine, &last, &result, NULL) != LICET_OK || (allowed && !licet_result_allowed(&result)))
            atomic_fetch_add(&b->wrong, 1);
        licet_result_clear(&result);
    } while (!done);
    if (!allowed)
        atomic_fetch_add(&b->wrong, 1);
}

static void checks_beside_it_see_nothing_of_it_or_all(void **state)
{
    static beside b;
    pthread_t     threads[2];
    engine_world  w;

    (void)state;
    memset(&b, 0, sizeof b);
    crowd_make(&b.crowd, MEMBERS);
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    b.engine = w.engine;
    for (int i = 0; i < 2; i++)
        assert_true(lic_thread_start(&threads[i], "licet-test", check_on, &b));
    assert_int_equal(import_some(w.engine, b.crowd.items, MEMBERS, NULL), LICET_OK);
    atomic_store(&b.done, true);
    for (int i = 0; i < 2; i++)
        lic_thread_join(threads[i]);
    assert_int_equal(b.wrong, 0);
    world_close(&w);
    crowd_end(&b.crowd);
}

/* Each half is imported by two of four: one of them is first. */
typedef struct racer {
    licet_engine *engine;
    const crowd  *crowd;
    size_t        from;
    licet_status  status;
} racer;

static void race(void *argument)
{
    racer *r = argument;

    r->status = import_some(r->engine, r->crowd->items + r->from, MEMBERS / 2, NULL);
}

static void of_imports_at_the_same_time_each_is_whole_or_refused(void **state)
{
    racer        racers[4];
    pthread_t    threads[4];
    engine_world w;
    crowd        c;

    (void)state;
    crowd_make(&c, MEMBERS);
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    for (size_t i = 0; i < 4; i++) {
        racers[i] = (racer){ .engine = w.engine, .crowd = &c, .from = i % 2 * (MEMBERS / 2) };
        assert_true(lic_thread_start(&threads[i], "licet-test", race, &racers[i]));
    }
    for (size_t i = 0; i < 4; i++)
        lic_thread_join(threads[i]);
    for (size_t half = 0; half < 2; half++) {
        const licet_status one   = racers[half].status;
        const licet_status other = racers[half + 2].status;

        assert_true((one == LICET_OK && other == LICET_ALREADY_EXISTS) ||
                    (one == LICET_ALREADY_EXISTS && other == LICET_OK));
    }
    assert_int_equal(stats_of(&w).relationships, MEMBERS);
    assert_true(world_allowed(&w, "group:g0", "member", "user:u0"));
    assert_true(world_allowed(&w, "group:g199", "member", "user:u19999"));
    world_close(&w);
    crowd_end(&c);
}

/* ------------------------------------------------------------------ the answers */

static void they_are_those_after_as_many_writes(void **state)
{
    engine_world imported;
    engine_world written;
    crowd        c;

    (void)state;
    crowd_make(&c, 3000);
    world_open(&imported, NULL, WORLD_SCHEMA, NULL);
    world_open(&written, NULL, WORLD_SCHEMA, NULL);
    assert_int_equal(import_some(imported.engine, c.items, c.count, NULL), LICET_OK);
    for (size_t i = 0; i < c.count; i++) {
        char line[80];

        snprintf(line, sizeof line, "group:%s#member@user:%s", c.texts[i][0], c.texts[i][1]);
        world_create(&written, line);
        world_done(&written);
    }
    for (size_t i = 0; i < 30; i++) {
        licet_read_request request = LICET_READ_REQUEST_INIT;
        char               id[24];

        snprintf(id, sizeof id, "g%zu", i);
        request.filter.resource_type = LICET_STR("group");
        request.filter.resource_id   = text_of(id);
        assert_string_equal(world_read(&imported, &request), world_read(&written, &request)); /* in one order */
        assert_true(strlen(imported.text) > 2000);
    }
    for (size_t i = 0; i < 3000; i += 7) {
        char group[32];
        char user[32];

        snprintf(group, sizeof group, "group:g%zu", i / 101);
        snprintf(user, sizeof user, "user:u%zu", i);
        assert_int_equal(world_allowed(&imported, group, "member", user), i / 101 == i / 100);
        assert_int_equal(world_allowed(&written, group, "member", user), i / 101 == i / 100);
    }
    world_close(&imported);
    world_close(&written);
    crowd_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_before_it_is_read_as_empty_and_what_came_after_as_it_was),
        cmocka_unit_test(a_watch_from_before_it_is_told_all_of_it_at_once_and_then_the_rest),
        cmocka_unit_test(it_is_told_as_long_as_what_came_since_is_kept),
        cmocka_unit_test(a_watch_that_waits_for_it_is_told_it),
        cmocka_unit_test(it_takes_little_more_memory_than_what_it_leaves),
        cmocka_unit_test(one_that_is_not_the_first_fits_too_where_the_graph_does),
        cmocka_unit_test(every_allocation_of_it_may_fail),
        cmocka_unit_test(every_allocation_of_telling_it_may_fail),
        cmocka_unit_test(checks_beside_it_see_nothing_of_it_or_all),
        cmocka_unit_test(of_imports_at_the_same_time_each_is_whole_or_refused),
        cmocka_unit_test(they_are_those_after_as_many_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
