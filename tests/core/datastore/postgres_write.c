/* core/datastore/postgres: write.c, schema.c, import.c, commit.c, through the public functions, on the server that
 * LICET_TEST_POSTGRES names. Each test has tables of its own there. What every store does is compared with what the
 * store in memory does. */
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
#include "engine_world.h"
#include "failing_memory.h"
#include "pg_database.h"

typedef struct database {
    pg_database  tables;
    PGconn      *watcher; /* never in a transaction, where it would see the same again and again */
    engine_world world;
} database;

static const char *ask(const database *d, const char *sql)
{
    return pg_ask(&d->tables, sql);
}

static void open_engine(const database *d, engine_world *w, uint32_t poll_interval_ms)
{
    pg_database tables = d->tables;

    tables.options.poll_interval_ms = poll_interval_ms;
    pg_database_open(&tables, w);
}

/* schema, lines: NULL for none. */
static void database_open(database *d, const char *schema, const char *lines)
{
    pg_database_begin(&d->tables);
    pg_database_migrate(&d->tables);
    d->watcher = PQconnectdb(pg_server());
    assert_int_equal(PQstatus(d->watcher), CONNECTION_OK);
    open_engine(d, &d->world, 20);
    if (schema != NULL) {
        world_schema(&d->world, schema);
        world_done(&d->world);
    }
    if (lines != NULL) {
        world_touch(&d->world, lines);
        world_done(&d->world);
    }
}

static void database_close(database *d)
{
    world_close(&d->world);
    pg_database_end(&d->tables);
    PQfinish(d->watcher);
}

/* ------------------------------------------------------------ writes */

static void a_write_is_seen_by_its_process_when_it_returns(void **state)
{
    database d;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    for (int i = 0; i < 20; i++) {
        world_create(&d.world, "document:d#viewer@user:ana");
        world_done(&d.world);
        assert_true(world_allowed(&d.world, "document:d", "view", "user:ana"));
        world_delete(&d.world, "document:d#viewer@user:ana");
        world_done(&d.world);
        assert_false(world_allowed(&d.world, "document:d", "view", "user:ana"));
    }
    database_close(&d);
}

static void the_token_of_a_write_shows_it_to_an_engine_that_has_not_followed(void **state)
{
    licet_check_request request = check_of("document:d", "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;
    engine_world        other;
    database            d;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    open_engine(&d, &other, 60000);
    assert_false(world_allowed(&other, "document:d", "view", "user:ana"));
    world_touch(&d.world, "document:d#viewer@user:ana");
    world_done(&d.world);
    assert_true(strlen(d.world.token.text) > 0);
    assert_false(world_allowed(&other, "document:d", "view", "user:ana"));
    request.consistency.freshness = LICET_AT_LEAST_AS_FRESH;
    request.consistency.token     = text_of(d.world.token.text);
    other.status                  = licet_check(other.engine, &request, &result, &other.error);
    world_done(&other);
    assert_true(licet_result_allowed(&result));
    world_close(&other);
    database_close(&d);
}

static void what_is_stored_comes_back_as_it_was_given(void **state)
{
    database d;

    (void)state;
    database_open(&d, WORLD_SCHEMA,
                  "document:d#viewer@user:*\n"
                  "document:d#viewer@group:g#member\n"
                  "document:d#guest@user:a[ticket:{\"n\":1}]\n"
                  "document:d#guest@user:b[ticket]\n"
                  "document:d#temp@user:c[expiration:2999-01-01T00:00:00.123456789Z]\n"
                  "document:d#temp@user:d[expiration:9999-12-31T23:59:59.999999999Z]\n"
                  "document:d#temp@user:e[expiration:1969-12-31T23:59:59.000000001Z]");
    assert_string_equal(world_read_type(&d.world, "document"),
                        "document:d#viewer@user:*\n"
                        "document:d#viewer@group:g#member\n"
                        "document:d#temp@user:c[expiration:2999-01-01T00:00:00.123456789Z]\n"
                        "document:d#temp@user:d[expiration:9999-12-31T23:59:59.999999999Z]\n"
                        "document:d#guest@user:a[ticket:{\"n\":1}]\n"
                        "document:d#guest@user:b[ticket]\n");
    assert_string_equal(ask(&d, "SELECT expires_at || ' ' || expires_ns FROM {schema}.rel WHERE si = 'e'"),
                        "1969-12-31 23:59:59+00 1");
    database_close(&d);
}

static void metadata_stays_the_text_that_it_was(void **state)
{
    static const char   metadata[] = "{\"b\": 1e300, \"a\":\"\\u0000\\\"\", \"b\" : -0}";
    licet_write_request request    = LICET_WRITE_REQUEST_INIT;
    database            d;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    request.metadata = text_of(metadata);
    d.world.status   = licet_write(d.world.engine, &request, NULL, &d.world.error);
    world_done(&d.world);
    assert_string_equal(ask(&d, "SELECT metadata::text FROM {schema}.tx WHERE metadata IS NOT NULL"), metadata);
    database_close(&d);
}

/* ------------------------------------------------------------ the same as in memory */

typedef struct both {
    database     d;
    engine_world memory;
} both;

static void both_open(both *b, const char *schema, const char *lines)
{
    database_open(&b->d, schema, lines);
    world_open(&b->memory, NULL, schema, lines);
}

static void both_close(both *b)
{
    world_close(&b->memory);
    database_close(&b->d);
}

static void both_fail_alike(both *b, licet_status status)
{
    char reason[64];
    char message[1100];

    assert_int_equal(b->memory.status, status);
    snprintf(reason, sizeof reason, "%.*s", (int)licet_error_reason(b->memory.error).size,
             licet_error_reason(b->memory.error).data);
    snprintf(message, sizeof message, "%.*s", (int)licet_error_message(b->memory.error).size,
             licet_error_message(b->memory.error).data);
    world_failed(&b->d.world, status, licet_error_kind(b->memory.error), reason, message);
    licet_error_free(b->memory.error);
    b->memory.error  = NULL;
    b->memory.status = LICET_OK;
}

static void creating_what_is_there_fails_as_in_memory(void **state)
{
    static const char *const lines[] = { "group:g#member@user:new\ndocument:d#viewer@group:g#member",
                                         "document:d#viewer@user:*",
                                         "document:d#temp@user:old[expiration:2999-01-01T00:00:00Z]",
                                         "document:d#guest@user:a[ticket]" };
    both                     b;

    (void)state;
    both_open(&b, WORLD_SCHEMA,
              "document:d#viewer@group:g#member\ndocument:d#viewer@user:*\n"
              "document:d#temp@user:old[expiration:1999-01-01T00:00:00Z]\ndocument:d#guest@user:a[ticket:{\"n\":1}]");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        world_create(&b.d.world, lines[i]);
        world_create(&b.memory, lines[i]);
        both_fail_alike(&b, LICET_ALREADY_EXISTS);
    }
    assert_string_equal(world_read_type(&b.d.world, "group"), "");
    both_close(&b);
}

static void write_with(engine_world *w, const licet_precondition *preconditions, size_t count)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;

    request.preconditions      = preconditions;
    request.precondition_count = count;
    w->status                  = licet_write(w->engine, &request, NULL, &w->error);
}

static licet_precondition expect(licet_expectation expectation, const char *id, const char *subject_relation)
{
    licet_precondition precondition = { expectation, LICET_FILTER_INIT };

    precondition.filter.resource_type    = LICET_STR("document");
    precondition.filter.resource_id      = text_of(id);
    precondition.filter.subject_type     = subject_relation == NULL ? (licet_str){ NULL, 0 } : LICET_STR("group");
    precondition.filter.subject_relation = text_of(subject_relation);
    return precondition;
}

static void preconditions_are_judged_as_in_memory(void **state)
{
    const licet_precondition there        = expect(LICET_MUST_MATCH, "d", NULL);
    const licet_precondition absent       = expect(LICET_MUST_MATCH, "e", NULL);
    const licet_precondition not_there    = expect(LICET_MUST_NOT_MATCH, "e", NULL);
    const licet_precondition members      = expect(LICET_MUST_NOT_MATCH, "d", "member");
    const licet_precondition groups       = expect(LICET_MUST_MATCH, "d", "");
    const licet_precondition expired      = expect(LICET_MUST_MATCH, "old", NULL);
    const licet_precondition failing[][2] = {
        { there, absent },
        { members, there },
        { not_there, groups },
        { there, expired },
    };
    both b;

    (void)state;
    both_open(&b, WORLD_SCHEMA,
              "document:d#viewer@group:g#member\ndocument:old#temp@user:u[expiration:1999-01-01T00:00:00Z]");
    write_with(&b.d.world, (licet_precondition[]){ there, not_there }, 2);
    world_done(&b.d.world);
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        write_with(&b.d.world, failing[i], 2);
        write_with(&b.memory, failing[i], 2);
        both_fail_alike(&b, LICET_PRECONDITION_FAILED);
    }
    both_close(&b);
}

static uint64_t erase(engine_world *w, const char *id, uint32_t limit, bool allow_partial)
{
    licet_delete_request request = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  result  = LICET_DELETE_RESULT_INIT;

    request.filter.resource_type = LICET_STR("document");
    request.filter.resource_id   = text_of(id);
    request.limit                = limit;
    request.allow_partial        = allow_partial;
    w->status                    = licet_delete_relationships(w->engine, &request, &result, &w->error);
    assert_int_equal(result.partial, w->status == LICET_OK && limit != 0 && result.deleted_count == limit);
    return result.deleted_count;
}

static void deleting_by_filter_counts_and_refuses_as_in_memory(void **state)
{
    both b;

    (void)state;
    both_open(&b, WORLD_SCHEMA,
              "document:d#viewer@user:a\ndocument:d#viewer@user:b\ndocument:d#viewer@user:c\n"
              "document:d#temp@user:old[expiration:1999-01-01T00:00:00Z]\ndocument:e#viewer@user:a");
    assert_int_equal(erase(&b.d.world, "d", 2, false), 0);
    assert_int_equal(erase(&b.memory, "d", 2, false), 0);
    both_fail_alike(&b, LICET_INVALID_ARGUMENT);
    assert_int_equal(erase(&b.d.world, "d", 4, false), 4); /* of which one had expired */
    world_done(&b.d.world);
    assert_int_equal(erase(&b.memory, "d", 4, false), 4);
    assert_int_equal(erase(&b.d.world, "d", 0, false), 0);
    world_done(&b.d.world);
    world_touch(&b.d.world, "document:d#viewer@user:a\ndocument:d#viewer@user:b\ndocument:d#viewer@user:c");
    assert_int_equal(erase(&b.d.world, "d", 2, true), 2);
    assert_int_equal(erase(&b.d.world, NULL, 0, false), 2);
    world_done(&b.d.world);
    assert_string_equal(world_read_type(&b.d.world, "document"), "");
    both_close(&b);
}

/* ------------------------------------------------------------ schemas */

static void a_schema_that_what_is_stored_contradicts_is_refused_as_in_memory(void **state)
{
    static const char *const schemas[] = { "definition user {}",
                                           "definition user {}\ndefinition document {\nrelation viewer: user\n}",
                                           ("definition user {}\ndefinition group {\nrelation member: user\n}\n"
                                            "definition document {\nrelation viewer: user\n}") };
    both                     b;

    (void)state;
    both_open(&b, WORLD_SCHEMA, "document:d#viewer@group:g#member\ngroup:g#member@user:u");
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        world_schema(&b.d.world, schemas[i]);
        world_schema(&b.memory, schemas[i]);
        both_fail_alike(&b, LICET_SCHEMA_ERROR);
    }
    assert_string_equal(ask(&b.d, "SELECT count(*) FROM {schema}.zed"), "1");
    both_close(&b);
}

static void an_engine_that_knows_an_older_schema_judges_again_by_the_newer(void **state)
{
    database     d;
    engine_world other;

    (void)state;
    database_open(&d, "definition user {}\ndefinition document {\nrelation viewer: user\n}", NULL);
    d.tables.options.max_staleness_ms = 600000;
    open_engine(&d, &other, 60000);
    world_touch(&other, "document:d#viewer@user:a");
    world_done(&other);
    world_schema(&d.world,
                 "definition user {}\ndefinition document {\nrelation viewer: user\nrelation editor: user\n}");
    world_done(&d.world);
    world_touch(&other, "document:d#editor@user:a");
    world_failed(&other, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `editor` not found under definition `document`");
    world_touch(&other, "document:d#viewer@user:b"); /* good by both: goes through at the second judging */
    world_done(&other);
    world_touch(&other, "document:d#editor@user:a");
    world_done(&other);
    assert_string_equal(ask(&d, "SELECT count(*) FROM {schema}.rel"), "3");
    world_close(&other);
    database_close(&d);
}

static void the_tables_of_names_are_filled_from_the_schema(void **state)
{
    database d;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    assert_string_equal(ask(&d, "SELECT string_agg(relation || CASE WHEN is_permission THEN '!' ELSE '' END, ' ' "
                                "ORDER BY relation) FROM {schema}.names WHERE definition = 'document'"),
                        "... banned guest temp view! viewer vip");
    assert_string_equal(ask(&d,
                            "SELECT string_agg(concat_ws('/', rr, st, sr, wildcard::int, caveat, expiration::int), ' ' "
                            "ORDER BY rr, st, sr, wildcard, caveat) FROM {schema}.allowed WHERE rt = 'document'"),
                        "banned/user/.../0//0 banned/user/.../1//0 guest/user/.../0/ticket/0 temp/user/.../0//1 "
                        "viewer/group/member/0//0 viewer/user/.../0//0 viewer/user/.../0/ticket/0 viewer/user/.../1//0 "
                        "vip/user/.../1/ticket/0");
    assert_string_equal(ask(&d, "SELECT caveat || name || type FROM {schema}.parameters"), "ticketnint");
    database_close(&d);
}

#ifdef LICET_WITH_YAML

static void load(engine_world *w, const char *text)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_report          *report  = NULL;

    request.text      = text_of(text);
    request.load_only = true;
    w->status         = licet_validate(w->engine, &request, &report, &w->error);
    licet_report_release(report);
}

static void a_validation_file_is_loaded_whole_into_an_empty_database_and_into_no_other(void **state)
{
    static const char file[] = "schema: |-\n"
                               "  definition user {}\n"
                               "  definition document {\n"
                               "    relation viewer: user\n"
                               "  }\n"
                               "relationships: |-\n"
                               "  document:d#viewer@user:a\n"
                               "  document:d#viewer@user:b\n";
    both              b;

    (void)state;
    both_open(&b, "definition user {}\ndefinition document {\nrelation viewer: user\n}", NULL);
    load(&b.d.world, file);
    load(&b.memory, file);
    both_fail_alike(&b, LICET_MISUSE);
    both_close(&b);
    database_open(&b.d, NULL, NULL);
    load(&b.d.world, file);
    world_done(&b.d.world);
    assert_string_equal(world_read_type(&b.d.world, "document"),
                        "document:d#viewer@user:a\ndocument:d#viewer@user:b\n");
    assert_string_equal(ask(&b.d, "SELECT count(*) FROM {schema}.tx"), "1");
    load(&b.d.world, file);
    assert_int_equal(b.d.world.status, LICET_MISUSE);
    licet_error_free(b.d.world.error);
    b.d.world.error = NULL;
    database_close(&b.d);
}

#endif

typedef struct late_schema {
    database    *d;
    engine_world world;
    _Atomic bool is_done;
} late_schema;

static void write_late_schema(void *argument)
{
    late_schema *l = argument;

    world_schema(&l->world, "definition user {}\ndefinition document {\nrelation editor: user\n}");
    l->is_done = true;
}

static void a_schema_waits_for_writes_that_are_under_way_and_sees_them(void **state)
{
    database    d;
    late_schema l = { .d = &d };
    pthread_t   thread;

    (void)state;
    database_open(&d, "definition user {}\ndefinition document {\nrelation viewer: user\n}", NULL);
    open_engine(&d, &l.world, 20);
    ask(&d, "BEGIN");
    ask(&d,
        "SELECT "
        "{schema}.write('{\"updates\":[{\"operation\":\"create\",\"relationship\":\"document:d#viewer@user:a\"}]}')");
    assert_true(lic_thread_start(&thread, "schema", write_late_schema, &l));
    lic_sleep_us(200000);
    assert_false(l.is_done);
    ask(&d, "COMMIT");
    lic_thread_join(thread);
    assert_int_equal(l.world.status, LICET_SCHEMA_ERROR);
    world_failed(&l.world, LICET_SCHEMA_ERROR, LICET_KIND_CONFLICT, "SCHEMA_TYPE_ERROR",
                 "cannot delete relation `viewer` in object definition `document`, as at least one relationship exists "
                 "under it: document:d#viewer@user:a");
    world_close(&l.world);
    database_close(&d);
}

/* ------------------------------------------------------------ imports */

static void import_add(engine_world *w, licet_import *import, const char *line)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;

    assert_int_equal(licet_relationship_parse(text_of(line), &relationship, NULL), LICET_OK);
    w->status = licet_import_add(import, &relationship, 1, &w->error);
    world_done(w);
}

static licet_import *import_begin(engine_world *w)
{
    licet_import *import = NULL;

    w->status = licet_import_begin(w->engine, &import, &w->error);
    world_done(w);
    return import;
}

static uint64_t import_commit(engine_world *w, licet_import **import)
{
    uint64_t count = 7;

    w->status = licet_import_commit(*import, &count, &w->token, &w->error);
    licet_import_release(*import);
    *import = NULL;
    return count;
}

static void an_import_is_seen_when_it_is_committed_and_not_before(void **state)
{
    static const char lines[] = "document:d#viewer@user:*\n"
                                "document:d#viewer@group:g#member\n"
                                "document:d#temp@user:c[expiration:2999-01-01T00:00:00.123456789Z]\n"
                                "document:d#temp@user:d[expiration:1999-01-01T00:00:00.000001Z]\n"
                                "document:d#guest@user:a[ticket:{\"n\":1}]\n"
                                "document:d#guest@user:b[ticket]\n";
    database          d;
    licet_import     *import;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    import = import_begin(&d.world);
    for (const char *line = lines; *line != '\0'; line += strcspn(line, "\n") + 1) {
        char one[128];

        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        import_add(&d.world, import, one);
    }
    assert_string_equal(world_read_type(&d.world, "document"), "");
    assert_int_equal(import_commit(&d.world, &import), 6);
    world_done(&d.world);
    assert_true(strlen(d.world.token.text) > 0);
    assert_string_equal(world_read_type(&d.world, "document"),
                        "document:d#viewer@user:*\n"
                        "document:d#viewer@group:g#member\n"
                        "document:d#temp@user:c[expiration:2999-01-01T00:00:00.123456789Z]\n"
                        "document:d#guest@user:a[ticket:{\"n\":1}]\n"
                        "document:d#guest@user:b[ticket]\n");
    assert_string_equal(ask(&d, "SELECT expires_at || ' ' || expires_ns FROM {schema}.rel WHERE si = 'd'"),
                        "1999-01-01 00:00:00.000001+00 0");
    assert_string_equal(ask(&d, "SELECT count(DISTINCT created_xid) || ' ' || (SELECT count(*) FROM {schema}.tx t "
                                "WHERE t.xid = min(r.created_xid)) FROM {schema}.rel r"),
                        "1 1");
    database_close(&d);
}

static void an_import_of_what_is_there_or_comes_twice_names_it_and_leaves_nothing(void **state)
{
    database      d;
    licet_import *import;

    (void)state;
    database_open(&d, WORLD_SCHEMA, "document:d#viewer@group:g#member");
    import = import_begin(&d.world);
    import_add(&d.world, import, "document:d#viewer@user:new");
    import_add(&d.world, import, "document:d#viewer@group:g#member");
    assert_int_equal(import_commit(&d.world, &import), 0);
    world_failed(&d.world, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"document:d#viewer@group:g#member\", as it exists already");
    import = import_begin(&d.world);
    import_add(&d.world, import, "document:d#viewer@user:new");
    import_add(&d.world, import, "document:d#viewer@user:new[ticket]");
    assert_int_equal(import_commit(&d.world, &import), 0);
    world_failed(&d.world, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"document:d#viewer@user:new\", as it exists already");
    import = import_begin(&d.world);
    import_add(&d.world, import, "document:d#viewer@user:new");
    licet_import_release(import);
    assert_string_equal(world_read_type(&d.world, "document"), "document:d#viewer@group:g#member\n");
    database_close(&d);
}

static void an_import_fails_when_the_schema_was_replaced_by_anybody_meanwhile(void **state)
{
    database      d;
    engine_world  other;
    licet_import *import;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    open_engine(&d, &other, 60000);
    for (int by_other = 0; by_other < 2; by_other++) {
        engine_world *w = by_other ? &other : &d.world;

        import = import_begin(w);
        import_add(w, import, "document:d#viewer@user:new");
        world_schema(&d.world, WORLD_SCHEMA);
        world_done(&d.world);
        assert_int_equal(import_commit(w, &import), 0);
        world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "",
                     "the schema was replaced while the import was under way: import again");
    }
    assert_string_equal(ask(&d, "SELECT count(*) FROM {schema}.rel"), "0");
    world_close(&other);
    database_close(&d);
}

static void an_empty_import_is_a_write_of_nothing(void **state)
{
    database      d;
    licet_import *import;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    import = import_begin(&d.world);
    assert_int_equal(import_commit(&d.world, &import), 0);
    world_done(&d.world);
    assert_true(strlen(d.world.token.text) > 0);
    database_close(&d);
}

/* ------------------------------------------------------------ others at work */

typedef struct writer {
    engine_world world;
    const char  *line;
    _Atomic bool is_done;
} writer;

static void touch_line(void *argument)
{
    writer *w = argument;

    world_touch(&w->world, w->line);
    w->is_done = true;
}

/* Of the engine's connection that waits for a lock; 0: none does. */
static int waiting_backend(const database *d)
{
    return atoi(pg_ask_on(
        &d->tables, d->watcher,
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\"{schema}\".\\_%'"));
}

static void await_waiting_backend(const database *d, int other_than)
{
    for (int i = 0; i < 6000; i++) {
        const int pid = waiting_backend(d);

        if (pid != 0 && pid != other_than)
            return;
        lic_sleep_us(10000);
    }
    fail_msg("nobody waits for a lock");
}

/* Somebody holds the row that the engine wants to change. */
static void hold_row(const database *d)
{
    ask(d, "BEGIN");
    ask(d, "SELECT 1 FROM {schema}.rel FOR UPDATE");
}

static void a_write_whose_connection_breaks_before_it_was_done_is_written_all_the_same(void **state)
{
    database  d;
    writer    w = { .line = "document:d#viewer@user:a[ticket]" };
    int       pid;
    pthread_t thread;

    (void)state;
    database_open(&d, WORLD_SCHEMA, "document:d#viewer@user:a");
    open_engine(&d, &w.world, 20);
    hold_row(&d);
    assert_true(lic_thread_start(&thread, "writer", touch_line, &w));
    await_waiting_backend(&d, 0);
    pid = waiting_backend(&d);
    {
        char sql[64];

        snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 60000)", pid);
        assert_string_equal(pg_ask_on(&d.tables, d.watcher, sql), "t");
    }
    await_waiting_backend(&d, pid);
    ask(&d, "COMMIT");
    lic_thread_join(thread);
    world_done(&w.world);
    assert_string_equal(world_read_type(&w.world, "document"), "document:d#viewer@user:a[ticket]\n");
    world_close(&w.world);
    database_close(&d);
}

static void a_write_that_takes_too_long_was_not_done_and_never_will_be(void **state)
{
    database d;
    writer   w = { .line = "document:d#viewer@user:a[ticket]" };
    uint64_t begun;

    (void)state;
    database_open(&d, WORLD_SCHEMA, "document:d#viewer@user:a");
    d.tables.options.write_timeout_ms = 4000; /* of which the last second is for asking whether it was done */
    open_engine(&d, &w.world, 20);
    hold_row(&d);
    begun = lic_monotonic_ms();
    touch_line(&w);
    assert_in_range(lic_monotonic_ms() - begun, 3000, 20000); /* it would wait for ever */
    world_failed(&w.world, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "",
                 "the connection to Postgres broke, or the write took too long: nothing was written");
    ask(&d, "COMMIT");
    for (int i = 0; i < 6000 && waiting_backend(&d) != 0; i++)
        lic_sleep_us(10000);
    lic_sleep_us(100000);
    assert_string_equal(ask(&d, "SELECT count(*) FROM {schema}.rel WHERE caveat IS NOT NULL"), "0");
    world_close(&w.world);
    database_close(&d);
}

static void asking_for_an_outcome_decides_it(void **state)
{
    static const char *const request  = "SELECT xid FROM {schema}._write('{\"updates\":[]}', 1, '%s')";
    static const char        first[]  = "8b5c1f0e-0000-4000-8000-000000000001";
    static const char        second[] = "8b5c1f0e-0000-4000-8000-000000000002";
    char                     sql[256];
    char                     xid[64];
    PGresult                *result;
    database                 d;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    snprintf(sql, sizeof sql, request, first);
    snprintf(xid, sizeof xid, "%s", ask(&d, sql));
    snprintf(sql, sizeof sql, "SELECT xid FROM {schema}._outcome('%s')", first);
    assert_string_equal(ask(&d, sql), xid);
    snprintf(sql, sizeof sql, "SELECT xid FROM {schema}._outcome('%s')", second);
    assert_string_equal(ask(&d, sql), "");
    assert_string_equal(ask(&d, sql), "");
    snprintf(sql, sizeof sql, request, second);
    result = pg_try(&d.tables, sql);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "23505");
    PQclear(result);
    database_close(&d);
}

enum { RACERS = 4, ROUNDS = 40 };

typedef struct racer {
    engine_world *world;
    int           number;
    int           failures;
} racer;

/* Everybody changes the same few, in different orders. */
static void race(void *argument)
{
    racer              *r       = argument;
    licet_write_request request = LICET_WRITE_REQUEST_INIT;

    for (int round = 0; round < ROUNDS; round++) {
        licet_update updates[3];
        char         ids[3][8];
        licet_error *error = NULL;

        for (int i = 0; i < 3; i++) {
            updates[i].operation    = (round + i + r->number) % 3 == 0 ? LICET_DELETE : LICET_TOUCH;
            updates[i].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
            assert_int_equal(
                licet_relationship_parse(text_of((round + r->number) % 2 == 0 ? "document:d#viewer@user:x"
                                                                              : "document:d#viewer@user:x[ticket]"),
                                         &updates[i].relationship, NULL),
                LICET_OK);
            snprintf(ids[i], sizeof ids[i], "u%d", (i + r->number) % 3);
            updates[i].relationship.subject_id = text_of(ids[i]);
        }
        request.updates      = updates;
        request.update_count = 3;
        if (licet_write(r->world->engine, &request, NULL, &error) != LICET_OK) {
            print_error("%.*s\n", (int)licet_error_message(error).size, licet_error_message(error).data);
            r->failures++;
        }
        licet_error_free(error);
    }
}

static void writers_of_the_same_relationships_all_get_through(void **state)
{
    database     d;
    engine_world engines[2];
    racer        racers[RACERS];
    pthread_t    threads[RACERS];

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    for (int i = 0; i < 2; i++)
        open_engine(&d, &engines[i], 20);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){ &engines[i % 2], i, 0 };
        assert_true(lic_thread_start(&threads[i], "racer", race, &racers[i]));
    }
    for (int i = 0; i < RACERS; i++) {
        lic_thread_join(threads[i]);
        assert_int_equal(racers[i].failures, 0);
    }
    assert_string_equal(ask(&d,
                            "SELECT count(*) FROM (SELECT FROM {schema}.rel WHERE deleted_xid = '9223372036854775807' "
                            "GROUP BY si HAVING count(*) > 1) q"),
                        "0");
    assert_string_equal(ask(&d, "SELECT count(*) FROM {schema}.tx WHERE request IS NOT NULL"), "161");
    for (int i = 0; i < 2; i++)
        world_close(&engines[i]);
    database_close(&d);
}

/* Collects until something goes, and counts it. A transaction of any database of the server that ran when a write was
 * recorded keeps what that write ended, so each round records a write that is older than the window in the next. */
static uint64_t collected_in_time(engine_world *w)
{
    uint64_t removed = 0;

    for (int round = 0; removed == 0 && round < 50; round++) {
        lic_sleep_us(1100000);
        w->status = licet_collect_garbage(w->engine, &removed, &w->error);
        world_done(w);
        world_touch(w, "document:d#viewer@user:c");
        world_done(w);
    }
    return removed;
}

static void collecting_removes_what_was_deleted_longer_ago_than_the_window(void **state)
{
    database     d;
    engine_world w;
    uint64_t     removed = 7;

    (void)state;
    database_open(&d, WORLD_SCHEMA, "document:d#viewer@user:a\ndocument:d#viewer@user:b");
    d.tables.options.gc_window_ms = 1000;
    open_engine(&d, &w, 20);
    world_delete(&w, "document:d#viewer@user:a");
    world_done(&w);
    world_touch(&w, "document:d#viewer@user:c");
    world_done(&w);
    w.status = licet_collect_garbage(w.engine, &removed, &w.error);
    world_done(&w);
    assert_int_equal(removed, 0);
    assert_int_equal(collected_in_time(&w), 1);
    assert_string_equal(ask(&d, "SELECT count(*) FROM {schema}.rel"), "2");
    world_close(&w);
    database_close(&d);
}

/* A write, a deletion, a schema and an import; each is done, or said to have failed for want of memory and not done. */
static bool change_without_memory(engine_world *w, int kind)
{
    licet_import *import = NULL;
    bool          done;

    switch (kind) {
    case 0:
        world_touch(w, "document:d#guest@user:x[ticket:{\"n\":1}]");
        break;
    case 1:
        erase(w, "d", 0, false);
        break;
    case 2:
        world_schema(w, WORLD_SCHEMA);
        break;
    default:
        w->status = licet_import_begin(w->engine, &import, &w->error);
        if (w->status == LICET_OK) {
            licet_relationship relationship = LICET_RELATIONSHIP_INIT;

            assert_int_equal(licet_relationship_parse(text_of("document:d#viewer@user:y"), &relationship, NULL),
                             LICET_OK);
            w->status = licet_import_add(import, &relationship, 1, &w->error);
        }
        if (w->status == LICET_OK)
            w->status = licet_import_commit(import, NULL, NULL, &w->error);
        licet_import_release(import);
    }
    done = w->status == LICET_OK;
    if (!done)
        assert_int_equal(w->status, LICET_OUT_OF_MEMORY);
    licet_error_free(w->error);
    w->error  = NULL;
    w->status = LICET_OK;
    return done;
}

static int count_of(const database *d)
{
    return atoi(ask(d, "SELECT (SELECT count(*) FROM {schema}.tx) + (SELECT count(*) FROM {schema}.zed)"));
}

static void changes_survive_every_failed_allocation(void **state)
{
    const failing_memory memory = fail_never();
    database             d;
    engine_world         w;

    (void)state;
    database_open(&d, WORLD_SCHEMA, NULL);
    d.tables.options.allocator = memory.allocator;
    open_engine(&d, &w, 60000);
    world_touch(&w, "document:d#viewer@user:a");
    world_done(&w);
    for (int kind = 0; kind < 4; kind++) {
        bool failed = true;

        for (size_t n = 0; failed; n++) {
            const size_t failures = memory.counts->failures;
            const int    before   = count_of(&d);
            bool         done;

            fail_next(&memory, n);
            done = change_without_memory(&w, kind);
            fail_next(&memory, SIZE_MAX / 2);
            failed = memory.counts->failures > failures;
            assert_true(done || failed);
            assert_int_equal(count_of(&d) > before, done);
            if (kind == 3)
                ask(&d, "SELECT xid FROM {schema}._delete('{\"filter\":{\"subject_id\":\"y\"}}', "
                        "(SELECT max(version) FROM {schema}.zed), NULL, NULL)");
        }
    }
    world_close(&w);
    assert_int_equal(memory.counts->live_blocks, 0);
    database_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_is_seen_by_its_process_when_it_returns),
        cmocka_unit_test(the_token_of_a_write_shows_it_to_an_engine_that_has_not_followed),
        cmocka_unit_test(what_is_stored_comes_back_as_it_was_given),
        cmocka_unit_test(metadata_stays_the_text_that_it_was),
        cmocka_unit_test(creating_what_is_there_fails_as_in_memory),
        cmocka_unit_test(preconditions_are_judged_as_in_memory),
        cmocka_unit_test(deleting_by_filter_counts_and_refuses_as_in_memory),
        cmocka_unit_test(a_schema_that_what_is_stored_contradicts_is_refused_as_in_memory),
        cmocka_unit_test(an_engine_that_knows_an_older_schema_judges_again_by_the_newer),
        cmocka_unit_test(the_tables_of_names_are_filled_from_the_schema),
#ifdef LICET_WITH_YAML
        cmocka_unit_test(a_validation_file_is_loaded_whole_into_an_empty_database_and_into_no_other),
#endif
        cmocka_unit_test(a_schema_waits_for_writes_that_are_under_way_and_sees_them),
        cmocka_unit_test(an_import_is_seen_when_it_is_committed_and_not_before),
        cmocka_unit_test(an_import_of_what_is_there_or_comes_twice_names_it_and_leaves_nothing),
        cmocka_unit_test(an_import_fails_when_the_schema_was_replaced_by_anybody_meanwhile),
        cmocka_unit_test(an_empty_import_is_a_write_of_nothing),
        cmocka_unit_test(a_write_whose_connection_breaks_before_it_was_done_is_written_all_the_same),
        cmocka_unit_test(a_write_that_takes_too_long_was_not_done_and_never_will_be),
        cmocka_unit_test(asking_for_an_outcome_decides_it),
        cmocka_unit_test(writers_of_the_same_relationships_all_get_through),
        cmocka_unit_test(collecting_removes_what_was_deleted_longer_ago_than_the_window),
        cmocka_unit_test(changes_survive_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
