/* What a new schema would do: the relationships that forbid it and the decisions that it changes; also held against
 * exhaustive checks before and after really writing it. */
#include "engine/engine.h"
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

static const char SCHEMA[] = "use expiration\n"
                             "caveat day(today string) { today == \"monday\" }\n"
                             "definition user {}\n"
                             "definition bot {}\n"
                             "definition club {\n"
                             "  relation member: user | club#member\n"
                             "  permission all = member\n"
                             "}\n"
                             "definition folder {\n"
                             "  relation viewer: user | club#member\n"
                             "  permission view = viewer\n"
                             "}\n"
                             "definition page {\n"
                             "  relation folder: folder\n"
                             "  relation viewer: user | user:* | user with day | bot\n"
                             "  relation banned: user\n"
                             "  permission view = viewer + folder->view\n"
                             "  permission read = viewer\n"
                             "}\n";

static const char DATA[] = "club:a#member@user:amy\n"
                           "club:a#member@club:b#member\n"
                           "club:b#member@user:bob\n"
                           "folder:f#viewer@club:a#member\n"
                           "page:p#folder@folder:f\n"
                           "page:p#viewer@user:tom\n"
                           "page:p#banned@user:amy\n"
                           "page:q#viewer@user:*\n"
                           "page:q#viewer@user:kim[day]\n"
                           "page:q#banned@user:tom";

static void say(engine_world *w, licet_str text)
{
    const size_t size = strlen(w->text);

    assert_true(size + text.size < sizeof w->text);
    memcpy(w->text + size, text.data, text.size);
    w->text[size + text.size] = '\0';
}

static licet_str word_of(licet_permissionship permissionship)
{
    static const char *const words[] = { "no", "yes", "if" };

    return text_of(words[permissionship]);
}

static void say_decision(engine_world *w, const licet_impact *impact)
{
    say(w, impact->kind == LICET_IMPACT_GAINED ? LICET_STR("+ ") : LICET_STR("- "));
    say(w, impact->resource);
    say(w, LICET_STR("#"));
    say(w, impact->permission);
    say(w, LICET_STR("@"));
    say(w, impact->subject);
    say(w, LICET_STR(" "));
    say(w, word_of(impact->before));
    say(w, LICET_STR(" "));
    say(w, word_of(impact->after));
    assert_int_equal(impact->message.size + impact->relationship.size, 0);
}

/* The relationship stands at the message's end. */
static void say_refusal(engine_world *w, const licet_impact *impact)
{
    const char *end = impact->message.data + impact->message.size;

    assert_true(impact->relationship.size <= impact->message.size);
    if (impact->relationship.size > 0)
        assert_memory_equal(end - impact->relationship.size, impact->relationship.data, impact->relationship.size);
    say(w, LICET_STR("! "));
    say(w, impact->message);
    assert_int_equal(impact->resource.size + impact->permission.size + impact->subject.size, 0);
}

/* Reads on; the world's text grows. */
static void drain(engine_world *w, licet_stream *stream)
{
    licet_impact impact = LICET_IMPACT_INIT;
    bool         found  = true;

    while (w->status == LICET_OK && found) {
        w->status = licet_stream_next_impact(stream, &impact, &found, &w->error);
        if (!found)
            return;
        if (impact.kind == LICET_IMPACT_REFUSED)
            say_refusal(w, &impact);
        else
            say_decision(w, &impact);
        say(w, LICET_STR("\n"));
    }
}

/* One consequence a line, in the world until the next call. */
static const char *ask(engine_world *w, const licet_impact_request *request)
{
    licet_stream *stream = NULL;

    w->text[0] = '\0';
    w->status  = licet_schema_impact(w->engine, request, &stream, &w->error);
    assert_true((w->status == LICET_OK) == (stream != NULL));
    drain(w, stream);
    licet_stream_release(stream);
    return w->text;
}

static licet_impact_request request_of(const char *text, uint64_t limit)
{
    licet_impact_request request = LICET_IMPACT_REQUEST_INIT;

    request.text  = text_of(text);
    request.limit = limit;
    return request;
}

static const char *impact_of(engine_world *w, const char *schema)
{
    const licet_impact_request request = request_of(schema, 0);

    ask(w, &request);
    world_done(w);
    return w->text;
}

/* SCHEMA with one piece of text in place of another. */
static const char *changed(const char *from, const char *to)
{
    static char text[sizeof SCHEMA + 256];
    const char *at = strstr(SCHEMA, from);

    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - SCHEMA), SCHEMA, to, at + strlen(from));
    return text;
}

/* ------------------------------------------------------------------ decisions */

static void the_same_schema_changes_nothing(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(impact_of(&w, SCHEMA), "");
    assert_string_equal(impact_of(&w, changed("permission read = viewer", "// a comment\n permission read = (viewer)")),
                        "");
    world_close(&w);
}

static void who_loses_and_who_gains_is_told_resource_by_resource(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(impact_of(&w, changed("= viewer + folder->view", "= viewer - banned")),
                        "- page:p#view@user:amy yes no\n"
                        "- page:p#view@user:bob yes no\n"
                        "- page:p#view@club:a#member yes no\n"
                        "- page:p#view@club:b#member yes no\n"
                        "- page:q#view@user:tom yes no\n");
    assert_string_equal(impact_of(&w, changed("permission read = viewer", "permission read = viewer + folder->view")),
                        "+ page:p#read@user:amy no yes\n"
                        "+ page:p#read@user:bob no yes\n"
                        "+ page:p#read@club:a#member no yes\n"
                        "+ page:p#read@club:b#member no yes\n");
    world_close(&w);
}

static void what_changes_for_one_permission_changes_for_those_that_need_it(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(impact_of(&w, changed("  permission view = viewer\n", "  permission view = nil\n")),
                        "- folder:f#view@user:amy yes no\n"
                        "- folder:f#view@user:bob yes no\n"
                        "- folder:f#view@club:a#member yes no\n"
                        "- folder:f#view@club:b#member yes no\n"
                        "- page:p#view@user:amy yes no\n"
                        "- page:p#view@user:bob yes no\n"
                        "- page:p#view@club:a#member yes no\n"
                        "- page:p#view@club:b#member yes no\n");
    world_close(&w);
}

static void the_wildcard_is_a_subject_of_its_own(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(impact_of(&w, changed("permission read = viewer", "permission read = viewer & banned")),
                        "- page:p#read@user:tom yes no\n"
                        "- page:q#read@user:* yes no\n"
                        "- page:q#read@user:kim yes no\n");
    world_close(&w);
}

static void a_decision_that_becomes_open_is_less_than_a_grant_and_more_than_a_denial(void **state)
{
    static const char BEFORE[] = "caveat day(today string) { today == \"monday\" }\n"
                                 "definition user {}\n"
                                 "definition page {\n"
                                 "  relation some: user | user with day\n"
                                 "  relation more: user | user with day\n"
                                 "  permission less = more\n"
                                 "  permission open = some\n"
                                 "  permission none = nil\n"
                                 "}\n";
    static const char AFTER[]  = "caveat day(today string) { today == \"monday\" }\n"
                                 "definition user {}\n"
                                 "definition page {\n"
                                 "  relation some: user | user with day\n"
                                 "  relation more: user | user with day\n"
                                 "  permission less = more & some\n"
                                 "  permission open = some + more\n"
                                 "  permission none = some\n"
                                 "}\n";
    engine_world      w;

    (void)state;
    world_open(&w, NULL, BEFORE, "page:p#some@user:tom[day]\npage:p#more@user:tom");
    assert_string_equal(impact_of(&w, AFTER), "- page:p#less@user:tom yes if\n"
                                              "+ page:p#open@user:tom if yes\n"
                                              "+ page:p#none@user:tom no if\n");
    world_close(&w);
}

static void a_caveat_that_decides_otherwise_changes_what_hangs_on_it(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "page:p#viewer@user:tom[day]");
    assert_string_equal(impact_of(&w, changed("today == \"monday\"", "today == \"monday\" || true")),
                        "+ page:p#viewer@user:tom if yes\n"
                        "+ page:p#view@user:tom if yes\n"
                        "+ page:p#read@user:tom if yes\n");
    world_close(&w);
}

static void what_only_one_schema_has_is_nobodys_in_the_other(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(impact_of(&w, changed("  permission read = viewer\n", "")), "- page:p#read@user:tom yes no\n"
                                                                                    "- page:q#read@user:* yes no\n"
                                                                                    "- page:q#read@user:kim yes no\n");
    assert_string_equal(impact_of(&w, changed("permission read", "permission look = banned\n permission read")),
                        "+ page:p#look@user:amy no yes\n"
                        "+ page:q#look@user:tom no yes\n");
    world_close(&w);
}

static void self_is_gained_by_the_resources_that_occur(void **state)
{
    static const char BEFORE[] = "definition user {\n  relation friend: user\n}";
    static const char AFTER[]  = "use self\ndefinition user {\n  relation friend: user\n  permission own = self\n}";
    engine_world      w;

    (void)state;
    world_open(&w, NULL, BEFORE, "user:tom#friend@user:amy\nuser:gone#friend@user:tom");
    world_delete(&w, "user:gone#friend@user:tom");
    world_done(&w);
    assert_string_equal(impact_of(&w, AFTER), "+ user:tom#own@user:tom no yes\n"
                                              "+ user:amy#own@user:amy no yes\n");
    world_close(&w);
}

static void nothing_is_written(void **state)
{
    engine_world  w;
    licet_schema *schema = NULL;
    licet_token   before;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_int_equal(licet_read_schema(w.engine, &schema, &before, NULL), LICET_OK);
    licet_schema_release(schema);
    impact_of(&w, changed("= viewer + folder->view", "= viewer"));
    assert_int_equal(licet_read_schema(w.engine, &schema, &w.token, NULL), LICET_OK);
    licet_schema_release(schema);
    assert_string_equal(w.token.text, before.text);
    assert_true(world_allowed(&w, "page:p", "view", "user:amy"));
    world_close(&w);
}

static void decisions_are_those_of_the_revision_asked_for(void **state)
{
    engine_world         w;
    licet_impact_request request = request_of(changed("  permission read = viewer\n", ""), 0);
    licet_token          token;

    (void)state;
    world_open(&w, NULL, SCHEMA, "page:p#viewer@user:tom");
    world_touch(&w, "page:q#banned@user:tom");
    token = w.token;
    world_touch(&w, "page:p#viewer@user:amy\npage:new#viewer@user:amy");
    world_delete(&w, "page:p#viewer@user:tom");
    world_done(&w);
    request.consistency.freshness = LICET_AT_EXACT_SNAPSHOT;
    request.consistency.token     = text_of(token.text);
    assert_string_equal(ask(&w, &request), "- page:p#read@user:tom yes no\n");
    world_done(&w);
    world_close(&w);
}

static void a_stream_goes_on_at_its_revision_while_others_write(void **state)
{
    engine_world               w;
    const licet_impact_request request = request_of(changed("  permission read = viewer\n", ""), 0);
    licet_impact               impact  = LICET_IMPACT_INIT;
    licet_stream              *stream  = NULL;
    bool                       found;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_impact(stream, &impact, &found, NULL), LICET_OK);
    assert_true(found);
    world_delete(&w, "page:q#viewer@user:*\npage:q#viewer@user:kim");
    world_schema(&w, changed("= viewer + folder->view", "= banned"));
    world_done(&w);
    w.text[0] = '\0';
    drain(&w, stream);
    world_done(&w);
    assert_string_equal(w.text, "- page:q#read@user:* yes no\n"
                                "- page:q#read@user:kim yes no\n");
    licet_stream_release(stream);
    world_close(&w);
}

/* ------------------------------------------------------------------- refusals */

static void every_relationship_that_forbids_the_change_is_told_with_what_a_write_would_say(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(
        impact_of(&w, changed("  relation banned: user\n", "")),
        "! cannot delete relation `banned` in object definition `page`, as at least one relationship exists under it: "
        "page:p#banned@user:amy\n"
        "! cannot delete relation `banned` in object definition `page`, as at least one relationship exists under it: "
        "page:q#banned@user:tom\n"
        "- page:p#banned@user:amy yes no\n"
        "- page:q#banned@user:tom yes no\n");
    assert_string_equal(
        impact_of(&w, changed("user | user:* | user with day | bot", "user | bot")),
        "! cannot remove allowed type `user:*` from relation `viewer` in object definition `page`, as a "
        "relationship exists with it: page:q#viewer@user:*\n"
        "! cannot remove allowed type `user with day` from relation `viewer` in object definition "
        "`page`, as a relationship exists with it: page:q#viewer@user:kim[day]\n"
        "- page:q#viewer@user:* yes no\n"
        "- page:q#viewer@user:kim yes no\n"
        "- page:q#view@user:* yes no\n"
        "- page:q#view@user:kim yes no\n"
        "- page:q#read@user:* yes no\n"
        "- page:q#read@user:kim yes no\n");
    world_schema(&w, changed("  relation banned: user\n", ""));
    world_failed(&w, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR",
                 "cannot delete relation `banned` in object definition `page`, as at least one relationship exists "
                 "under it: page:p#banned@user:amy");
    world_close(&w);
}

static void a_caveats_parameter_forbids_the_change_whatever_is_stored(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, SCHEMA, "page:q#viewer@user:tom");
    assert_string_equal(
        impact_of(&w, changed("day(today string) { today == \"monday\" }", "day(date int) { date == 1 }")),
        "! cannot remove parameter `today` on caveat `day`\n");
    world_close(&w);
}

static void a_relationship_that_has_expired_forbids_nothing(void **state)
{
    static const char BEFORE[] =
        "use expiration\ndefinition user {}\n"
        "definition page {\n  relation viewer: user with expiration\n  permission view = viewer\n}";
    static const char AFTER[] = "definition user {}\ndefinition page {}";
    engine_world      w;

    (void)state;
    world_open(&w, NULL, BEFORE,
               "page:p#viewer@user:amy[expiration:2020-01-01T00:00:00Z]\n"
               "page:p#viewer@user:tom[expiration:2199-01-01T00:00:00Z]");
    assert_string_equal(impact_of(&w, AFTER),
                        "! cannot delete relation `viewer` in object definition `page`, as at least one relationship "
                        "exists under it: page:p#viewer@user:tom[expiration:2199-01-01T00:00:00Z]\n"
                        "- page:p#viewer@user:tom yes no\n"
                        "- page:p#view@user:tom yes no\n");
    world_close(&w);
}

/* More than one page. */
static void refusals_go_on_past_a_page(void **state)
{
    engine_world               w;
    const licet_impact_request request = request_of(changed(" | bot\n", "\n"), 0);
    licet_impact               impact  = LICET_IMPACT_INIT;
    licet_stream              *stream  = NULL;
    bool                       found   = true;
    unsigned                   count   = 0;
    char                       line[64];

    (void)state;
    world_open(&w, NULL, SCHEMA, "");
    for (unsigned i = 0; i < 600; i++) {
        snprintf(line, sizeof line, "page:p%u#viewer@bot:x", i);
        world_touch(&w, line);
    }
    world_done(&w);
    assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
    while (found) {
        assert_int_equal(licet_stream_next_impact(stream, &impact, &found, NULL), LICET_OK);
        count += found && impact.kind == LICET_IMPACT_REFUSED;
    }
    assert_int_equal(count, 600);
    licet_stream_release(stream);
    world_close(&w);
}

static void a_limit_is_of_all_consequences(void **state)
{
    engine_world         w;
    licet_impact_request request = request_of(changed("  relation banned: user\n", ""), 3);

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    assert_string_equal(
        ask(&w, &request),
        "! cannot delete relation `banned` in object definition `page`, as at least one relationship exists under it: "
        "page:p#banned@user:amy\n"
        "! cannot delete relation `banned` in object definition `page`, as at least one relationship exists under it: "
        "page:q#banned@user:tom\n"
        "- page:p#banned@user:amy yes no\n");
    world_done(&w);
    world_close(&w);
}

/* --------------------------------------------------------------------- errors */

static void a_text_that_is_wrong_is_a_schema_error_with_its_place(void **state)
{
    engine_world         w;
    licet_impact_request request = request_of("definition user {\n  relation }", 0);

    (void)state;
    world_open(&w, NULL, SCHEMA, DATA);
    ask(&w, &request);
    assert_int_equal(w.status, LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_line(w.error), 2);
    assert_int_equal(licet_error_column(w.error), 12);
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    request  = request_of(NULL, 0);
    ask(&w, &request);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "the schema text is not given");
    request                       = request_of(SCHEMA, 0);
    request.consistency.freshness = LICET_AT_EXACT_SNAPSHOT;
    request.consistency.token     = text_of("nonsense");
    ask(&w, &request);
    assert_int_equal(w.status, LICET_INVALID_TOKEN);
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    world_close(&w);
}

/* One resource that nobody can be looked up for does not hide the others. */
static void after_what_can_not_be_decided_the_rest_is_told(void **state)
{
    static const char BEFORE[] = "caveat cav(x int) { 1 / x == 1 }\ndefinition user {}\n"
                                 "definition page {\n  relation viewer: user with cav\n  permission view = viewer\n}\n";
    static const char AFTER[]  = "caveat cav(x int) { 1 / x == 1 }\ndefinition user {}\n"
                                 "definition page {\n  relation viewer: user with cav\n  permission view = nil\n}\n";

    const licet_impact_request request = request_of(AFTER, 0);
    licet_stream              *stream  = NULL;
    engine_world               w;

    (void)state;
    world_open(&w, NULL, BEFORE,
               "page:a#viewer@user:tom[cav:{\"x\":1}]\n"
               "page:b#viewer@user:tom[cav:{\"x\":0}]\n"
               "page:c#viewer@user:tom[cav:{\"x\":1}]");
    assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
    w.text[0] = '\0';
    drain(&w, stream);
    assert_string_equal(w.text, "- page:a#view@user:tom yes no\n");
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_EVAL, "CAVEAT_EVALUATION_ERROR",
                 "evaluation error for caveat cav: division by zero");
    drain(&w, stream);
    world_done(&w);
    assert_string_equal(w.text, "- page:a#view@user:tom yes no\n- page:c#view@user:tom yes no\n");
    licet_stream_release(stream);
    world_close(&w);
}

static void impacts_survive_every_failed_allocation(void **state)
{
    const licet_impact_request request = request_of(changed("user | user:* | user with day | bot", "user | bot"), 0);
    licet_status               status  = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_never();
        engine_world   w;

        world_open(&w, &memory.options, SCHEMA, DATA);
        memory.counts->fail_first = atomic_load(&memory.counts->calls) + n;
        memory.counts->fail_end   = memory.counts->fail_first + 1;
        ask(&w, &request);
        status = w.status;
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        licet_error_free(w.error);
        w.error = NULL;
        world_close(&w);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

/* Wherever memory was short, once: asked again, the stream goes on and leaves nothing out. */
static void a_stream_that_failed_goes_on_where_it_was(void **state)
{
    const licet_impact_request request = request_of(changed("= viewer + folder->view", "= viewer - banned"), 0);
    licet_status               status  = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_never();
        licet_stream  *stream = NULL;
        engine_world   w;

        world_open(&w, &memory.options, SCHEMA, DATA);
        assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
        memory.counts->fail_first = atomic_load(&memory.counts->calls) + n;
        memory.counts->fail_end   = memory.counts->fail_first + 1;
        w.text[0]                 = '\0';
        drain(&w, stream);
        status = w.status;
        licet_error_free(w.error);
        w.error  = NULL;
        w.status = LICET_OK;
        if (status != LICET_OK)
            drain(&w, stream);
        world_done(&w);
        assert_string_equal(w.text, "- page:p#view@user:amy yes no\n"
                                    "- page:p#view@user:bob yes no\n"
                                    "- page:p#view@club:a#member yes no\n"
                                    "- page:p#view@club:b#member yes no\n"
                                    "- page:q#view@user:tom yes no\n");
        licet_stream_release(stream);
        world_close(&w);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

/* A change of everything for many costs no more memory than one of everything for a few. */
static size_t memory_while_reading(unsigned resources)
{
    failing_memory             memory  = fail_never();
    const licet_impact_request request = request_of(changed("permission read = viewer", "permission read = nil"), 0);
    licet_impact               impact  = LICET_IMPACT_INIT;
    licet_stream              *stream  = NULL;
    bool                       found   = true;
    size_t                     most    = 0;
    size_t                     base;
    unsigned                   count = 0;
    engine_world               w;
    char                       line[64];

    world_open(&w, &memory.options, SCHEMA, "");
    for (unsigned i = 0; i < resources; i++) {
        snprintf(line, sizeof line, "page:p%u#viewer@user:u%u", i, i % 7);
        world_touch(&w, line);
    }
    world_done(&w);
    assert_true(lic_graph_merge_all(w.engine->graph)); /* so that none is done meanwhile */
    base = atomic_load(&memory.counts->live_bytes);
    assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
    while (found) {
        assert_int_equal(licet_stream_next_impact(stream, &impact, &found, NULL), LICET_OK);
        count += found;
        if (atomic_load(&memory.counts->live_bytes) > base + most)
            most = atomic_load(&memory.counts->live_bytes) - base;
    }
    assert_int_equal(count, resources);
    licet_stream_release(stream);
    world_close(&w);
    return most;
}

static void memory_is_that_of_one_resource(void **state)
{
    (void)state;
    assert_true(memory_while_reading(1500) <= memory_while_reading(10) + 64 * 1024);
}

/* -------------------------------------------------------------------- threads */

typedef struct toggling {
    engine_world *w;
    atomic_bool   stop;
} toggling;

/* Each revision has either tom or amy. */
static void *toggle(void *argument)
{
    toggling *t = argument;

    for (unsigned i = 0; !atomic_load(&t->stop); i++) {
        licet_update        updates[2] = { 0 };
        licet_write_request request    = LICET_WRITE_REQUEST_INIT;

        updates[0].relationship = updates[1].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
        updates[0].operation                              = LICET_TOUCH;
        updates[1].operation                              = LICET_DELETE;
        for (unsigned j = 0; j < 2; j++)
            if (licet_relationship_parse(
                    text_of((i + j) % 2 == 0 ? "page:p#viewer@user:tom" : "page:p#viewer@user:amy"),
                    &updates[j].relationship, NULL) != LICET_OK)
                return t;
        request.updates      = updates;
        request.update_count = 2;
        if (licet_write(t->w->engine, &request, NULL, NULL) != LICET_OK)
            return t;
    }
    return NULL;
}

static void an_impact_is_of_one_revision_beside_writes(void **state)
{
    engine_world               w;
    const licet_impact_request request = request_of(changed("  permission read = viewer\n", ""), 0);
    toggling                   t       = { &w, false };
    pthread_t                  thread;
    void                      *failed;

    (void)state;
    world_open(&w, NULL, SCHEMA, "page:p#viewer@user:tom");
    assert_int_equal(pthread_create(&thread, NULL, toggle, &t), 0);
    for (unsigned i = 0; i < 300; i++) {
        ask(&w, &request);
        world_done(&w);
        if (strcmp(w.text, "- page:p#read@user:tom yes no\n") != 0)
            assert_string_equal(w.text, "- page:p#read@user:amy yes no\n");
    }
    atomic_store(&t.stop, true);
    pthread_join(thread, &failed);
    assert_null(failed);
    world_close(&w);
}

/* More resources than are looked at under one pin. */
static void whoever_reads_an_impact_does_not_keep_the_engine_from_closing(void **state)
{
    engine_world               w;
    const licet_impact_request request =
        request_of(changed("permission read = viewer", "permission read = viewer + nil"), 0);
    licet_impact  impact = LICET_IMPACT_INIT;
    licet_stream *stream = NULL;
    bool          found  = true;
    char          line[64];

    (void)state;
    world_open(&w, NULL, SCHEMA, "");
    for (unsigned i = 0; i < 1500; i++) {
        snprintf(line, sizeof line, "page:p%u#viewer@user:tom", i);
        world_touch(&w, line);
    }
    world_done(&w);
    assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_impact(stream, &impact, &found, NULL), LICET_OK);
    assert_false(found);
    licet_stream_release(stream);
    assert_int_equal(licet_schema_impact(w.engine, &request, &stream, NULL), LICET_OK);
    licet_close(w.engine);
    assert_int_equal(licet_stream_next_impact(stream, &impact, &found, NULL), LICET_CLOSED);
    assert_false(found);
    licet_stream_release(stream);
    world_close(&w);
}

/* ------------------------------------------------------------------ at random */

enum { WORLDS = 300, USERS = 4, CLUBS = 3, PAGES = 3, MAX_IMPACTS = 2048, PERMISSIONS = 3 };

static uint64_t random_state;

static unsigned pick(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % below;
}

/* Everything that is asked: resources by members by subjects. */
static const char *const MEMBERS[]   = { "member", "viewer", "banned", "parent", "per0", "per1", "per2" };
static const char *const SUBJECTS[]  = { "user:u0",          "user:u1",        "user:u2",        "user:u3",
                                         "user:ghost",       "club:c0",        "club:c1",        "club:c2",
                                         "club:ghost",       "page:p0",        "page:p1",        "page:p2",
                                         "page:ghost",       "club:c0#member", "club:c1#member", "club:c2#member",
                                         "club:ghost#member" };
static const char *const RESOURCES[] = { "club:c0", "club:c1", "club:c2", "page:p0", "page:p1", "page:p2" };

#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef struct decisions {
    uint8_t of[COUNT(RESOURCES)][COUNT(MEMBERS)][COUNT(SUBJECTS)];
} decisions;

typedef struct consequence {
    char                 text[128]; /* resource, member, subject */
    licet_permissionship before;
    licet_permissionship after;
} consequence;

static void add(char *text, const char *more)
{
    strcat(text, more);
}

static void add_operand(char *text, unsigned number)
{
    static const char *const operands[] = {
        "viewer", "viewer",       "banned",         "member",         "self",
        "nil",    "parent->per0", "parent->member", "parent->viewer", "parent.all(viewer)"
    };
    char name[16];

    if (number > 0 && pick(4) == 0) {
        snprintf(name, sizeof name, "per%u", pick(number));
        add(text, name);
    } else {
        add(text, operands[pick(COUNT(operands))]);
    }
}

static void add_permissions(char *text)
{
    static const char *const operators[] = { " + ", " - ", " & " };
    char                     name[32];

    for (unsigned i = 0; i < PERMISSIONS; i++) {
        if (pick(8) == 0 && i == PERMISSIONS - 1)
            continue;
        snprintf(name, sizeof name, "  permission per%u = ", i);
        add(text, name);
        add_operand(text, i);
        for (unsigned more = pick(3); more > 0; more--) {
            add(text, operators[pick(COUNT(operators))]);
            add_operand(text, i);
        }
        add(text, "\n");
    }
}

/* Types that `after` may lack are also lacking in the data now and then, so that some changes are allowed. */
static void make_schema(char *text, bool is_after)
{
    static const char *const viewers[] = { "user | user:* | user with cav | club#member | club:*",
                                           "user | user with cav | user:* | club:* | club#member | user:* with cav",
                                           "user | user:* | user with cav | club#member" };
    *text                              = '\0';
    add(text, "use self\n");
    add(text, is_after && pick(3) == 0 ? "caveat cav(x int) { x == 1 || x == x }\n" : "caveat cav(x int) { x == 1 }\n");
    add(text, "definition user {}\n");
    for (unsigned i = 0; i < 2; i++) {
        add(text, i == 0 ? "definition club {\n" : "definition page {\n");
        add(text, "  relation member: user | club#member\n  relation viewer: ");
        add(text, viewers[is_after ? pick(COUNT(viewers)) : 0]);
        add(text, "\n  relation banned: user | user:*\n  relation parent: club\n");
        add_permissions(text);
        add(text, "}\n");
    }
}

/* Parents and members lead to clubs of higher numbers: no cycles, so no check fails. */
static void make_relationships(engine_world *w)
{
    static const char *const viewers[] = { "user:u0",      "user:u1",        "user:u2",        "user:*",
                                           "user:u3[cav]", "club:c2#member", "club:c1#member", "club:*" };
    static const char *const banned[]  = { "user:u0", "user:u1", "user:u3", "user:*" };
    char                     line[96];

    for (unsigned i = 0; i < 14; i++) {
        const unsigned resource = pick(COUNT(RESOURCES));
        const bool     is_club  = resource < CLUBS;
        const unsigned higher   = is_club ? resource + 1 + pick(CLUBS) : pick(CLUBS);
        const unsigned what     = pick(6);

        if (what == 0 && higher < CLUBS)
            snprintf(line, sizeof line, "%s#parent@club:c%u", RESOURCES[resource], higher);
        else if (what == 1 && higher < CLUBS)
            snprintf(line, sizeof line, "%s#member@club:c%u#member", RESOURCES[resource], higher);
        else if (what == 2)
            snprintf(line, sizeof line, "%s#member@user:u%u", RESOURCES[resource], pick(USERS));
        else if (what == 3)
            snprintf(line, sizeof line, "%s#banned@%s", RESOURCES[resource], banned[pick(COUNT(banned))]);
        else
            snprintf(line, sizeof line, "%s#viewer@%s", RESOURCES[resource],
                     viewers[pick(COUNT(viewers) - (unsigned)(i % 2))]);
        world_touch(w, line);
        world_done(w);
    }
}

/* A member or definition that is not there has nobody. */
static licet_permissionship decide(engine_world *w, const char *resource, const char *member, const char *subject)
{
    licet_result         result = world_check(w, resource, member, subject);
    licet_permissionship answer = result.permissionship;

    licet_result_clear(&result);
    if (w->status == LICET_NOT_FOUND) {
        licet_error_free(w->error);
        w->error  = NULL;
        w->status = LICET_OK;
    }
    world_done(w);
    return answer;
}

static void decide_all(engine_world *w, decisions *all)
{
    for (size_t r = 0; r < COUNT(RESOURCES); r++)
        for (size_t m = 0; m < COUNT(MEMBERS); m++)
            for (size_t s = 0; s < COUNT(SUBJECTS); s++)
                all->of[r][m][s] = (uint8_t)decide(w, RESOURCES[r], MEMBERS[m], SUBJECTS[s]);
}

/* Returns how many; sets *is_refused. */
static size_t list_consequences(engine_world *w, const char *schema, consequence *list, bool *is_refused)
{
    const licet_impact_request request = request_of(schema, 0);
    licet_impact               impact  = LICET_IMPACT_INIT;
    licet_stream              *stream  = NULL;
    bool                       found   = true;
    size_t                     count   = 0;

    *is_refused = false;
    assert_int_equal(licet_schema_impact(w->engine, &request, &stream, NULL), LICET_OK);
    for (;;) {
        assert_int_equal(licet_stream_next_impact(stream, &impact, &found, NULL), LICET_OK);
        if (!found)
            break;
        if (impact.kind == LICET_IMPACT_REFUSED) {
            *is_refused = true;
            continue;
        }
        assert_true(count < MAX_IMPACTS);
        snprintf(list[count].text, sizeof list[count].text, "%.*s %.*s %.*s", (int)impact.resource.size,
                 impact.resource.data, (int)impact.permission.size, impact.permission.data, (int)impact.subject.size,
                 impact.subject.data);
        list[count].before = impact.before;
        list[count].after  = impact.after;
        count++;
    }
    licet_stream_release(stream);
    return count;
}

/* Takes it out of the list. NULL: it is not there. */
static const consequence *take(consequence *list, size_t count, const char *resource, const char *member,
                               const char *subject, bool keep)
{
    char text[128];

    snprintf(text, sizeof text, "%s %s %s", resource, member, subject);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].text, text) != 0)
            continue;
        if (!keep)
            list[i].text[0] = '\0';
        return &list[i];
    }
    return NULL;
}

/* Of the subject's kind. */
static const char *wildcard_of(const char *subject)
{
    if (strncmp(subject, "user", 4) == 0)
        return "user:*";
    if (strncmp(subject, "page", 4) == 0)
        return "page:*";
    return strchr(subject, '#') == NULL ? "club:*" : "club:*#member";
}

static bool is_ghost(const char *subject)
{
    return strstr(subject, "ghost") != NULL;
}

/* The subject's change is told by an entry of its own, or by its wildcard's. A ghost's is the wildcard's. */
static void hold_against(consequence *list, size_t count, const char *resource, const char *member, const char *subject,
                         licet_permissionship before, licet_permissionship after)
{
    const consequence *everyones = take(list, count, resource, member, wildcard_of(subject), true);
    const consequence *own       = is_ghost(subject) ? everyones : take(list, count, resource, member, subject, false);

    if (own != NULL) {
        assert_int_equal(own->before, before);
        assert_int_equal(own->after, after);
    } else if (before != after) {
        assert_non_null(everyones);
        assert_int_equal(everyones->before, before);
        assert_int_equal(everyones->after, after);
    }
}

static bool occurs(engine_world *w, const char *resource)
{
    const char *id = strchr(resource, ':') + 1;
    const char *at = world_read_type(w, "page");
    bool        is = strstr(at, id) != NULL;

    at = world_read_type(w, "club");
    return is || strstr(at, id) != NULL;
}

/* Every entry was looked for, and no other is left. */
static void hold_all_against(engine_world *w, consequence *list, size_t count, const decisions *before,
                             const decisions *after)
{
    for (size_t r = 0; r < COUNT(RESOURCES); r++)
        for (size_t m = 0; m < COUNT(MEMBERS) && occurs(w, RESOURCES[r]); m++)
            for (size_t s = 0; s < COUNT(SUBJECTS); s++)
                hold_against(list, count, RESOURCES[r], MEMBERS[m], SUBJECTS[s], before->of[r][m][s],
                             after->of[r][m][s]);
    for (size_t i = 0; i < count; i++)
        if (strchr(list[i].text, '*') == NULL)
            assert_string_equal(list[i].text, "");
}

static void impacts_equal_exhaustive_checks_before_and_after_writing(void **state)
{
    static consequence list[MAX_IMPACTS];
    static decisions   before;
    static decisions   after;
    char               old[4096];
    char new[4096];
    size_t written = 0;
    size_t refused = 0;
    size_t entries = 0;

    (void)state;
    random_state = 88172645463325252u;
    for (unsigned n = 0; n < WORLDS; n++) {
        engine_world w;
        bool         is_refused;
        size_t       count;

        make_schema(old, false);
        make_schema(new, true);
        world_open(&w, NULL, old, "");
        make_relationships(&w);
        count = list_consequences(&w, new, list, &is_refused);
        decide_all(&w, &before);
        w.status = licet_write_schema(w.engine, text_of(new), NULL, NULL);
        assert_true((w.status == LICET_OK) == !is_refused);
        w.status = LICET_OK;
        written += !is_refused;
        refused += is_refused;
        entries += count;
        if (!is_refused) {
            decide_all(&w, &after);
            hold_all_against(&w, list, count, &before, &after);
        }
        world_close(&w);
    }
    assert_true(written > WORLDS / 2 && refused > WORLDS / 20 && entries > WORLDS * 10u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_schema_changes_nothing),
        cmocka_unit_test(who_loses_and_who_gains_is_told_resource_by_resource),
        cmocka_unit_test(what_changes_for_one_permission_changes_for_those_that_need_it),
        cmocka_unit_test(the_wildcard_is_a_subject_of_its_own),
        cmocka_unit_test(a_decision_that_becomes_open_is_less_than_a_grant_and_more_than_a_denial),
        cmocka_unit_test(a_caveat_that_decides_otherwise_changes_what_hangs_on_it),
        cmocka_unit_test(what_only_one_schema_has_is_nobodys_in_the_other),
        cmocka_unit_test(self_is_gained_by_the_resources_that_occur),
        cmocka_unit_test(nothing_is_written),
        cmocka_unit_test(decisions_are_those_of_the_revision_asked_for),
        cmocka_unit_test(a_stream_goes_on_at_its_revision_while_others_write),
        cmocka_unit_test(every_relationship_that_forbids_the_change_is_told_with_what_a_write_would_say),
        cmocka_unit_test(a_caveats_parameter_forbids_the_change_whatever_is_stored),
        cmocka_unit_test(a_relationship_that_has_expired_forbids_nothing),
        cmocka_unit_test(refusals_go_on_past_a_page),
        cmocka_unit_test(a_limit_is_of_all_consequences),
        cmocka_unit_test(a_text_that_is_wrong_is_a_schema_error_with_its_place),
        cmocka_unit_test(after_what_can_not_be_decided_the_rest_is_told),
        cmocka_unit_test(impacts_survive_every_failed_allocation),
        cmocka_unit_test(a_stream_that_failed_goes_on_where_it_was),
        cmocka_unit_test(memory_is_that_of_one_resource),
        cmocka_unit_test(an_impact_is_of_one_revision_beside_writes),
        cmocka_unit_test(whoever_reads_an_impact_does_not_keep_the_engine_from_closing),
        cmocka_unit_test(impacts_equal_exhaustive_checks_before_and_after_writing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
