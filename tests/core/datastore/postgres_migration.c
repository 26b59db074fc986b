/* core/datastore/postgres/migration.c, on the server that LICET_TEST_POSTGRES names. Each test has a schema of its own
 * there. */
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
#include "datastore/postgres/migration.h"
#include "datastore/postgres/statements.h"
#include "engine_world.h"
#include "pg_database.h"

#define THREADS 8

typedef struct place {
    pg_database  database;
    lic_memory  *memory;
    lic_pg_link *link;
} place;

static const char *ask(const place *p, const char *sql)
{
    return pg_ask(&p->database, sql);
}

static void fail_with(const licet_error *error)
{
    lic_str message = licet_error_message(error);

    fail_msg("%.*s", LIC_STR_ARG(message));
}

/* Does its message have these words in it? Ends the error. */
static void assert_says(licet_error *error, const char *words)
{
    lic_str message = licet_error_message(error);

    if (memmem(message.data, message.size, words, strlen(words)) == NULL)
        fail_with(error);
    licet_error_free(error);
}

static lic_pg_wait wait_of(void)
{
    return (lic_pg_wait){ lic_monotonic_ms() + 120000, NULL };
}

static void open_link(place *p)
{
    lic_pg_settings  settings = { .schema = text_of(p->database.schema) };
    lic_pg_conninfo *conninfo = NULL;
    licet_error     *error    = NULL;

    if (lic_pg_conninfo_read(p->memory, text_of(pg_server()), false, &conninfo, &error) != LICET_OK ||
        lic_pg_link_open(p->memory, conninfo, &settings, wait_of(), &p->link, &error) != LICET_OK)
        fail_with(error);
    lic_pg_conninfo_free(conninfo);
}

static void place_open(place *p)
{
    *p = (place){ .memory = lic_memory_new(NULL, SIZE_MAX) };
    pg_database_begin(&p->database);
    open_link(p);
}

static void place_close(place *p)
{
    pg_database_end(&p->database);
    lic_pg_link_close(p->link);
    lic_memory_release(p->memory);
}

static void migrate(place *p, bool dry_run, licet_buffer *sql)
{
    licet_error *error = NULL;

    if (licet_migrate(text_of(pg_server()), &p->database.options, dry_run, sql, &error) != LICET_OK)
        fail_with(error);
}

/* Everything that a schema holds, without its name. */
static char *inventory(const place *p)
{
    return strdup(ask(
        p, "SELECT string_agg(replace(d, '{schema}', 'S'), E'\\n' ORDER BY replace(d, '{schema}', 'S')) FROM ("
           "SELECT pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '-') AS d FROM pg_proc p "
           "WHERE p.pronamespace = '{schema}'::regnamespace "
           "UNION ALL SELECT i.indexdef FROM pg_indexes i WHERE i.schemaname = '{schema}' "
           "UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
           "WHERE c.relnamespace = '{schema}'::regnamespace "
           "UNION ALL SELECT c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || "
           "a.attnotnull || coalesce(pg_get_expr(x.adbin, x.adrelid), '') || a.attcollation::regcollation "
           "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef x ON x.adrelid = c.oid AND "
           "x.adnum = a.attnum WHERE c.relnamespace = '{schema}'::regnamespace AND a.attnum > 0 "
           "UNION ALL SELECT 'version ' || version FROM {schema}.meta) q"));
}

static void a_second_migration_has_nothing_to_do(void **state)
{
    licet_buffer sql = LICET_BUFFER_INIT;
    place        p;

    (void)state;
    place_open(&p);
    migrate(&p, false, &sql);
    assert_true(sql.size > 0);
    licet_buffer_clear(&sql);
    migrate(&p, false, &sql);
    assert_int_equal(sql.size, 0);
    licet_buffer_clear(&sql);
    migrate(&p, true, &sql);
    assert_int_equal(sql.size, 0);
    licet_buffer_clear(&sql);
    assert_string_equal(ask(&p, "SELECT version FROM {schema}.meta"), "2");
    place_close(&p);
}

static void what_a_dry_run_prints_is_what_a_migration_does(void **state)
{
    licet_buffer printed = LICET_BUFFER_INIT;
    licet_buffer run     = LICET_BUFFER_INIT;
    place        by_hand;
    place        by_licet;
    char        *text;
    char        *made_by_hand;
    char        *made_by_licet;

    (void)state;
    place_open(&by_hand);
    place_open(&by_licet);
    migrate(&by_hand, true, &printed);
    assert_string_equal(ask(&by_hand, "SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'"), "0");
    text = strndup(printed.data, printed.size);
    ask(&by_hand, text);
    migrate(&by_licet, false, &run);
    made_by_hand  = inventory(&by_hand);
    made_by_licet = inventory(&by_licet);
    assert_true(strlen(made_by_licet) > 20000);
    assert_string_equal(made_by_hand, made_by_licet);
    licet_buffer_clear(&run);
    migrate(&by_hand, false, &run);
    assert_int_equal(run.size, 0);
    licet_buffer_clear(&run);
    licet_buffer_clear(&printed);
    free(text);
    free(made_by_hand);
    free(made_by_licet);
    place_close(&by_licet);
    place_close(&by_hand);
}

typedef struct migrator {
    place       *place;
    pthread_t    thread;
    licet_status status;
    size_t       steps; /* that it took */
} migrator;

static size_t count_steps(const licet_buffer *sql)
{
    static const char begin[] = "-- Brings schema ";
    const char       *at      = sql->data;
    size_t            count   = 0;

    while (at != NULL && (at = memmem(at, sql->size - (size_t)(at - sql->data), begin, strlen(begin))) != NULL) {
        count++;
        at++;
    }
    return count;
}

static void *migrate_beside_others(void *context)
{
    migrator    *m   = context;
    licet_buffer sql = LICET_BUFFER_INIT;

    m->status = licet_migrate(text_of(pg_server()), &m->place->database.options, false, &sql, NULL);
    m->steps  = count_steps(&sql);
    licet_buffer_clear(&sql);
    return NULL;
}

static void of_many_migrations_at_once_each_succeeds_and_each_step_is_taken_by_one(void **state)
{
    migrator migrators[THREADS];
    size_t   steps = 0;
    place    p;

    (void)state;
    place_open(&p);
    for (int i = 0; i < THREADS; i++) {
        migrators[i] = (migrator){ .place = &p };
        assert_int_equal(pthread_create(&migrators[i].thread, NULL, migrate_beside_others, &migrators[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(migrators[i].thread, NULL);
        assert_int_equal(migrators[i].status, LICET_OK);
        steps += migrators[i].steps;
    }
    assert_int_equal(steps, 2);
    assert_string_equal(ask(&p, "SELECT version FROM {schema}.meta"), "2");
    place_close(&p);
}

static void assert_refused(place *p, licet_status expected, const char *words)
{
    lic_pg_store_facts facts;
    licet_error       *error = NULL;

    assert_int_equal(lic_pg_check_store(p->link, p->memory, text_of(p->database.schema), wait_of(), &facts, &error),
                     expected);
    assert_says(error, words);
}

static void assert_fit(place *p, lic_pg_store_facts *facts)
{
    licet_error *error = NULL;

    if (lic_pg_check_store(p->link, p->memory, text_of(p->database.schema), wait_of(), facts, &error) != LICET_OK)
        fail_with(error);
}

static void a_store_that_is_not_there_or_newer_is_refused(void **state)
{
    licet_error *error = NULL;
    place        p;

    (void)state;
    place_open(&p);
    assert_refused(&p, LICET_UNSUPPORTED, "there are no tables of licet in schema `licet_test_");
    migrate(&p, false, NULL);
    ask(&p, "BEGIN; SET LOCAL licet.writer = '{schema}'; UPDATE {schema}.meta SET version = 7; COMMIT");
    assert_refused(&p, LICET_UNSUPPORTED, "is of version 7, and this licet knows up to 2: use a newer licet");
    assert_int_equal(licet_migrate(text_of(pg_server()), &p.database.options, false, NULL, &error), LICET_UNSUPPORTED);
    assert_says(error, "is of version 7, and this licet knows up to 2: use a newer licet");
    place_close(&p);
}

static void a_store_says_what_it_is(void **state)
{
    lic_pg_store_facts facts;
    char               mark[33];
    place              p;

    (void)state;
    place_open(&p);
    migrate(&p, false, NULL);
    assert_fit(&p, &facts);
    for (size_t i = 0; i < sizeof facts.identity.mark; i++)
        snprintf(mark + 2 * i, 3, "%02x", facts.identity.mark[i]);
    assert_string_equal(ask(&p, "SELECT encode(uuid_send(store), 'hex') FROM {schema}.meta"), mark);
    assert_true(facts.identity.timeline > 0);
    assert_int_equal(facts.schema_version, 0);
    assert_int_equal(facts.gc_horizon, 0);
    ask(&p, "SELECT {schema}._write_schema('{\"text\": \"\"}', 0, NULL)");
    assert_fit(&p, &facts);
    assert_int_equal(facts.schema_version, 1);
    place_close(&p);
}

static void a_store_restored_elsewhere_is_refused_until_it_is_repaired(void **state)
{
    static const char *const stamps[] = {
        "INSERT INTO {schema}.rel (rt, ri, rr, st, si, created_xid) VALUES ('d', 'a', 'r', 's', 'b', '900000000000')",
        "INSERT INTO {schema}.rel (rt, ri, rr, st, si, deleted_xid) VALUES ('d', 'a', 'r', 's', 'b', '900000000000')",
        "INSERT INTO {schema}.tx (xid) VALUES ('900000000000')",
        "INSERT INTO {schema}.zed (version, text, created_xid) VALUES (1, '', '900000000000')",
        "UPDATE {schema}.meta SET gc_horizon = '900000000000'",
    };
    lic_pg_store_facts before;
    lic_pg_store_facts after;
    place              p;

    (void)state;
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        place_open(&p);
        migrate(&p, false, NULL);
        assert_fit(&p, &before);
        ask(&p, "SET licet.writer = '{schema}'");
        ask(&p, stamps[i]);
        ask(&p, "RESET licet.writer");
        assert_refused(&p, LICET_UNAVAILABLE, "._repair()` once; old tokens will be refused");
        ask(&p, "SELECT {schema}._repair()");
        assert_fit(&p, &after);
        assert_memory_not_equal(before.identity.mark, after.identity.mark, sizeof after.identity.mark);
        assert_memory_not_equal(before.identity.key, after.identity.key, sizeof after.identity.key);
        place_close(&p);
    }
}

static void what_may_keep_rows_from_us_is_refused(void **state)
{
    lic_pg_store_facts facts;
    place              p;

    (void)state;
    place_open(&p);
    migrate(&p, false, NULL);
    ask(&p, "ALTER TABLE {schema}.rel ENABLE ROW LEVEL SECURITY");
    assert_refused(&p, LICET_UNAVAILABLE, "policies on rel");
    ask(&p, "ALTER TABLE {schema}.rel DISABLE ROW LEVEL SECURITY");
    ask(&p, "CREATE TRIGGER theirs BEFORE INSERT ON {schema}.rel FOR EACH ROW EXECUTE FUNCTION {schema}._guard()");
    assert_refused(&p, LICET_UNAVAILABLE, "the trigger theirs on rel");
    ask(&p, "DROP TRIGGER theirs ON {schema}.rel");
    ask(&p, "CREATE RULE theirs AS ON INSERT TO {schema}.rel DO INSTEAD NOTHING");
    assert_refused(&p, LICET_UNAVAILABLE, "the rule theirs on rel");
    ask(&p, "DROP RULE theirs ON {schema}.rel");
    assert_fit(&p, &facts);
    place_close(&p);
}

/* The text of the step to a version, of those that a migration of nothing prints. */
static char *step_to(place *p, int version)
{
    licet_buffer sql = LICET_BUFFER_INIT;
    char         begin[32];
    char        *found;
    char        *end;
    char        *text;

    migrate(p, true, &sql);
    text = strndup(sql.data, sql.size);
    licet_buffer_clear(&sql);
    snprintf(begin, sizeof begin, "to version %d of", version);
    found = strstr(text, begin);
    assert_non_null(found);
    while (found > text && found[-1] != '\n')
        found--;
    memmove(text, found, strlen(found) + 1);
    end = strstr(text, "\nCOMMIT;\n");
    assert_non_null(end);
    end[strlen("\nCOMMIT;\n")] = '\0';
    return text;
}

static void tables_of_an_older_version_are_brought_up_to_date_with_what_is_in_them(void **state)
{
    lic_pg_store_facts facts;
    licet_buffer       sql = LICET_BUFFER_INIT;
    char              *first;
    char              *second;
    place              p;

    (void)state;
    place_open(&p);
    first  = step_to(&p, 1);
    second = step_to(&p, 2);
    ask(&p, first);
    ask(&p, "BEGIN; SET LOCAL licet.writer = '{schema}'; "
            "INSERT INTO {schema}.rel (rt, ri, rr, st, si) VALUES ('d', 'a', 'r', 's', 'b'); COMMIT");
    assert_refused(&p, LICET_UNSUPPORTED, "is of version 1, and this licet needs 2: run `licet migrate`");
    migrate(&p, true, &sql);
    assert_int_equal(sql.size, strlen(second));
    assert_memory_equal(sql.data, second, sql.size);
    licet_buffer_clear(&sql);
    migrate(&p, false, &sql);
    assert_int_equal(count_steps(&sql), 1);
    licet_buffer_clear(&sql);
    assert_fit(&p, &facts);
    assert_string_equal(ask(&p, "SELECT rt || ri || rr || st || si FROM {schema}.rel"), "darsb");
    assert_string_equal(ask(&p, "SELECT count(*) FROM {schema}.imports"), "0");
    free(first);
    free(second);
    place_close(&p);
}

static void a_step_that_fails_leaves_nothing_behind(void **state)
{
    licet_error *error = NULL;
    place        p;

    (void)state;
    place_open(&p);
    ask(&p, "CREATE SCHEMA {schema}; CREATE TABLE {schema}.zed (theirs text)");
    assert_int_equal(licet_migrate(text_of(pg_server()), &p.database.options, false, NULL, &error), LICET_UNAVAILABLE);
    licet_error_free(error);
    assert_string_equal(ask(&p, "SELECT count(*) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace"), "1");
    ask(&p, "DROP TABLE {schema}.zed");
    migrate(&p, false, NULL);
    place_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_migration_has_nothing_to_do),
        cmocka_unit_test(what_a_dry_run_prints_is_what_a_migration_does),
        cmocka_unit_test(of_many_migrations_at_once_each_succeeds_and_each_step_is_taken_by_one),
        cmocka_unit_test(a_store_that_is_not_there_or_newer_is_refused),
        cmocka_unit_test(a_store_says_what_it_is),
        cmocka_unit_test(a_store_restored_elsewhere_is_refused_until_it_is_repaired),
        cmocka_unit_test(what_may_keep_rows_from_us_is_refused),
        cmocka_unit_test(tables_of_an_older_version_are_brought_up_to_date_with_what_is_in_them),
        cmocka_unit_test(a_step_that_fails_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
