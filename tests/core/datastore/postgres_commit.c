/* core/datastore/postgres/commit.c: whatever byte of the answer is lost, a write is done once, or it is said that
 * nobody knows. A proxy stands between us and the server that LICET_TEST_POSTGRES names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/commit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
#include "pg_proxy.h"

typedef struct world {
    PGconn      *connection; /* past the proxy */
    pg_proxy     proxy;
    char         schema[40];
    lic_memory   memory;
    lic_pg_store store; /* no more of it than commits need */
} world;

static void put_schema(const world *w, const char *sql, char *out, size_t room)
{
    const char *place = strstr(sql, "{schema}");

    assert_non_null(place);
    snprintf(out, room, "%.*s%s%s", (int)(place - sql), sql, w->schema, place + strlen("{schema}"));
}

static const char *ask(const world *w, const char *sql)
{
    static char answer[256];
    char        text[1024];
    PGresult   *result;

    put_schema(w, sql, text, sizeof text);
    result = PQexec(w->connection, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", text, PQresultErrorMessage(result));
    snprintf(answer, sizeof answer, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return answer;
}

/* false: it has no Unix socket. */
static bool find_socket(char path[108], char *conninfo, size_t room, const char *folder)
{
    PQconninfoOption *options = PQconninfoParse(getenv("LICET_TEST_POSTGRES"), NULL);
    const char       *host    = NULL;
    const char       *port    = "5432";
    size_t            size    = (size_t)snprintf(conninfo, room, "host='%s' port='5432' ", folder);

    assert_non_null(options);
    for (PQconninfoOption *o = options; o->keyword != NULL; o++) {
        if (o->val == NULL)
            continue;
        if (strcmp(o->keyword, "host") == 0)
            host = o->val;
        else if (strcmp(o->keyword, "port") == 0)
            port = o->val;
        else
            size += (size_t)snprintf(conninfo + size, room - size, "%s='%s' ", o->keyword, o->val);
    }
    if (host != NULL && host[0] == '/')
        snprintf(path, 108, "%s/.s.PGSQL.%s", host, port);
    else
        host = NULL;
    PQconninfoFree(options);
    return host != NULL;
}

static void migrate(world *w)
{
    licet_options options = LICET_OPTIONS_INIT;

    options.postgres_schema = text_of(w->schema);
    assert_int_equal(licet_migrate(text_of(getenv("LICET_TEST_POSTGRES")), &options, false, NULL, NULL), LICET_OK);
    ask(w, "SELECT xid FROM {schema}._write_schema('{\"text\":\"\"}', 0, NULL)");
}

static void store_init(world *w, const char *conninfo, uint32_t write_timeout_ms)
{
    lic_pg_store *store = &w->store;

    lic_memory_init(&w->memory, NULL, SIZE_MAX);
    *store          = (lic_pg_store){ .host = { .memory = &w->memory } };
    store->settings = (lic_pg_settings){ .schema = text_of(w->schema) };
    store->limits   = (lic_pg_limits){ .write_timeout_ms = write_timeout_ms };
    lic_arena_init(&store->arena, &w->memory);
    store->statements = lic_pg_statements_new(&store->arena, text_of(w->schema));
    assert_int_equal(lic_pg_conninfo_read(&w->memory, text_of(conninfo), false, &store->conninfo, NULL), LICET_OK);
    assert_true(lic_pg_bell_init(&store->bell));
    assert_true(lic_pg_follower_init(&store->follower));
    store->pool = lic_pg_pool_new(&w->memory, store->conninfo, &store->settings, 1, &store->bell);
    assert_non_null(store->pool);
}

static void world_begin(world *w, uint32_t write_timeout_ms)
{
    static int  number;
    const char *server = getenv("LICET_TEST_POSTGRES");
    char        path[108];
    char        conninfo[1024];

    if (server == NULL || server[0] == '\0' || !find_socket(path, conninfo, sizeof conninfo, "/")) {
        print_message("LICET_TEST_POSTGRES names no server with a Unix socket: skipped\n");
        skip();
    }
    w->connection = PQconnectdb(server);
    assert_int_equal(PQstatus(w->connection), CONNECTION_OK);
    snprintf(w->schema, sizeof w->schema, "licet_commit_%d_%d", (int)getpid(), ++number);
    migrate(w);
    pg_proxy_start(&w->proxy, path);
    find_socket(path, conninfo, sizeof conninfo, w->proxy.folder);
    store_init(w, conninfo, write_timeout_ms);
}

static void world_end(world *w)
{
    lic_pg_bell_ring(&w->store.bell);
    lic_pg_pool_free(w->store.pool);
    lic_pg_follower_free(&w->store);
    lic_pg_conninfo_free(w->store.conninfo);
    lic_pg_bell_free(&w->store.bell);
    lic_arena_free(&w->store.arena);
    assert_int_equal(w->memory.used, 0);
    pg_proxy_stop(&w->proxy);
    PQclear(PQexec(w->connection, "SET client_min_messages = warning"));
    ask(w, "DROP SCHEMA {schema} CASCADE");
    PQfinish(w->connection);
}

/* ------------------------------------------------------------ one write */

typedef struct writing {
    world          *world;
    char            request[512];
    pg_proxy_action action; /* at this byte of the first answer */
    size_t          at;
    pg_proxy_action then; /* afterwards */
    int             runs;
} writing;

static licet_status run_write(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                              PGresult **result, licet_error **error)
{
    writing               *w            = context;
    const lic_pg_parameter parameters[] = {
        { .data = w->request }, { .data = "1" }, { .data = NULL }, { .data = NULL }, { .data = request }
    };
    licet_status status;

    if (w->runs++ == 0)
        pg_proxy_plan(&w->world->proxy, w->action, w->world->proxy.count + w->at);
    status = lic_pg_run(link, &w->world->store.statements->items[LIC_PG_WRITE], parameters, wait, result, error);
    pg_proxy_plan(&w->world->proxy, w->then, 0);
    return status;
}

static writing writing_of(world *world, const char *id, pg_proxy_action action, size_t at)
{
    writing w = { .world = world, .action = action, .at = at, .then = PG_PROXY_PASS };

    snprintf(w.request, sizeof w.request,
             "{\"updates\":[{\"operation\":\"create\",\"relationship\":{\"resource_type\":\"d\",\"resource_id\":\"%s\","
             "\"relation\":\"r\",\"subject_type\":\"u\",\"subject_id\":\"x\"}}]}",
             id);
    return w;
}

static licet_status write_through(writing *w, lic_pg_commit *commit, licet_error **error)
{
    *commit = lic_pg_commit_of(&w->world->store, run_write, w);
    return lic_pg_commit_now(commit, error);
}

/* ------------------------------------------------------------ tests */

static void a_write_is_done_once_whatever_byte_of_its_answer_is_lost(void **state)
{
    enum { MOST = 1000 };
    char   count[32];
    size_t at       = 0;
    size_t repeated = 0; /* of which nothing had been done: they were lost with the preparing of their statement */
    bool   was_cut  = true;
    world  w;

    (void)state;
    world_begin(&w, 120000);
    for (; at < MOST && was_cut; at++) {
        const size_t  connections = w.proxy.connections;
        char          id[32];
        lic_pg_commit commit;
        licet_error  *error = NULL;
        writing       one;

        snprintf(id, sizeof id, "%zu", at);
        one = writing_of(&w, id, PG_PROXY_CUT, at);
        if (write_through(&one, &commit, &error) != LICET_OK)
            fail_msg("byte %zu: %.*s", at, (int)licet_error_message(error).size, licet_error_message(error).data);
        assert_in_range(one.runs, 1, 2);
        repeated += one.runs == 2;
        was_cut = w.proxy.connections > (connections == 0 ? 1 : connections);
    }
    assert_true(at > 100 && at < MOST);
    assert_in_range(repeated, 1, 11);
    snprintf(count, sizeof count, "%zu %zu", at, at);
    assert_string_equal(ask(&w, "SELECT count(*) || ' ' || count(DISTINCT ri) FROM {schema}.rel"), count);
    world_end(&w);
}

/* The last second is for questions: time enough, on a busy machine too, for a connection and an answer. */
enum { WRITE_MS = 4000, ASK_MS = 1000, SLACK_MS = 5000 };

static void a_write_whose_answer_never_comes_is_found_to_be_done(void **state)
{
    lic_pg_commit commit;
    writing       one;
    uint64_t      begun;
    world         w;

    (void)state;
    world_begin(&w, WRITE_MS);
    one = writing_of(&w, "warm", PG_PROXY_PASS, 0);
    assert_int_equal(write_through(&one, &commit, NULL), LICET_OK);
    one   = writing_of(&w, "held", PG_PROXY_HOLD, 0);
    begun = lic_monotonic_ms();
    assert_int_equal(write_through(&one, &commit, NULL), LICET_OK);
    assert_in_range(lic_monotonic_ms() - begun, WRITE_MS - ASK_MS, WRITE_MS + SLACK_MS);
    assert_int_equal(one.runs, 1);
    assert_string_equal(ask(&w, "SELECT count(*) FROM {schema}.rel"), "2");
    world_end(&w);
}

static void a_write_of_which_nobody_can_tell_is_said_to_be_one(void **state)
{
    lic_pg_commit commit;
    licet_error  *error = NULL;
    writing       one;
    uint64_t      begun;
    world         w;

    (void)state;
    world_begin(&w, WRITE_MS);
    one      = writing_of(&w, "lost", PG_PROXY_CUT, 0);
    one.then = PG_PROXY_GOODBYE;
    begun    = lic_monotonic_ms();
    assert_int_equal(write_through(&one, &commit, &error), LICET_UNAVAILABLE);
    assert_in_range(lic_monotonic_ms() - begun, WRITE_MS - 100, WRITE_MS + SLACK_MS);
    error_is(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "MAY_HAVE_BEEN_APPLIED",
             "Postgres did not say in time whether the write was committed: it may have been applied");
    assert_string_equal(commit.token.text, "");
    world_end(&w);
}

/* The answer to the write is there, but is not passed on. */
static bool is_held(pg_proxy *proxy)
{
    return proxy->action == PG_PROXY_HOLD && proxy->at > 0 && proxy->count > proxy->at;
}

static void ring_when_held(void *argument)
{
    world *w = argument;

    while (!is_held(&w->proxy))
        lic_sleep_us(1000);
    lic_pg_bell_ring(&w->store.bell);
}

static void closing_in_the_middle_of_a_write_says_that_nobody_knows(void **state)
{
    lic_pg_commit commit;
    licet_error  *error = NULL;
    writing       one;
    pthread_t     thread;
    world         w;

    (void)state;
    world_begin(&w, 120000);
    one = writing_of(&w, "held", PG_PROXY_HOLD, 0);
    assert_true(lic_thread_start(&thread, "ringer", ring_when_held, &w));
    assert_int_equal(write_through(&one, &commit, &error), LICET_CLOSED);
    lic_thread_join(thread);
    error_is(error, LICET_CLOSED, LICET_KIND_MISUSE, "MAY_HAVE_BEEN_APPLIED",
             "the engine was closed while a write was under way: it may have been applied");
    world_end(&w);
}

static licet_status run_conflict(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                                 PGresult **result, licet_error **error)
{
    static const lic_pg_statement conflict = { "conflict",
                                               "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$", 0, NULL };
    writing                      *w        = context;

    if (w->runs == 2)
        return run_write(context, link, request, wait, result, error);
    w->runs++;
    return lic_pg_run(link, &conflict, NULL, wait, result, error);
}

static licet_status run_conflicts(void *context, lic_pg_link *link, const char *request, lic_pg_wait wait,
                                  PGresult **result, licet_error **error)
{
    ((writing *)context)->runs = 0;
    ((writing *)context)->at++;
    return run_conflict(context, link, request, wait, result, error);
}

static void what_fails_for_the_sake_of_another_transaction_is_tried_again_and_not_for_ever(void **state)
{
    lic_pg_commit commit;
    licet_error  *error = NULL;
    writing       one;
    world         w;

    (void)state;
    world_begin(&w, 120000);
    one    = writing_of(&w, "third", PG_PROXY_PASS, 0);
    commit = lic_pg_commit_of(&w.store, run_conflict, &one);
    assert_int_equal(lic_pg_commit_now(&commit, NULL), LICET_OK);
    assert_int_equal(one.runs, 3);
    assert_string_equal(commit.failure.sqlstate, "");
    assert_string_equal(ask(&w, "SELECT count(*) FROM {schema}.rel"), "1");
    one    = writing_of(&w, "never", PG_PROXY_PASS, 0);
    commit = lic_pg_commit_of(&w.store, run_conflicts, &one);
    assert_int_equal(lic_pg_commit_now(&commit, &error), LICET_UNAVAILABLE);
    assert_int_equal(one.at, 4);
    assert_string_equal(commit.failure.sqlstate, "40001");
    licet_error_free(error);
    world_end(&w);
}

static void asking_for_an_outcome_waits_for_the_write_that_is_under_way(void **state)
{
    static const char request[] = "8b5c1f0e-0000-4000-8000-000000000001";
    char              sql[256];
    char              text[512];
    PGconn           *asker;
    PGresult         *result;
    world             w;

    (void)state;
    world_begin(&w, 1000);
    asker = PQconnectdb(getenv("LICET_TEST_POSTGRES"));
    PQclear(PQexec(w.connection, "BEGIN"));
    snprintf(sql, sizeof sql, "SELECT xid FROM {schema}._write('{}', 1, '%s')", request);
    ask(&w, sql);
    snprintf(sql, sizeof sql, "SELECT xid IS NOT NULL FROM {schema}._outcome('%s')", request);
    put_schema(&w, sql, text, sizeof text);
    assert_int_equal(PQsendQuery(asker, text), 1);
    lic_sleep_us(200000);
    assert_int_equal(PQconsumeInput(asker), 1);
    assert_int_equal(PQisBusy(asker), 1);
    PQclear(PQexec(w.connection, "COMMIT"));
    result = PQgetResult(asker);
    assert_string_equal(PQgetvalue(result, 0, 0), "t");
    PQclear(result);
    PQfinish(asker);
    world_end(&w);
}

static void a_number_is_a_random_uuid(void **state)
{
    lic_pg_commit a = { .store = NULL };
    lic_pg_commit b = { .store = NULL };

    (void)state;
    assert_int_equal(lic_pg_commit_number(&a, NULL), LICET_OK);
    assert_int_equal(lic_pg_commit_number(&b, NULL), LICET_OK);
    assert_string_not_equal(a.request, b.request);
    assert_int_equal(strlen(a.request), 36);
    for (size_t i = 0; i < 36; i++)
        assert_non_null(strchr(i == 8 || i == 13 || i == 18 || i == 23 ? "-"
                               : i == 14                               ? "4"
                               : i == 19                               ? "89ab"
                                                                       : "0123456789abcdef",
                               a.request[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_is_done_once_whatever_byte_of_its_answer_is_lost),
        cmocka_unit_test(a_write_whose_answer_never_comes_is_found_to_be_done),
        cmocka_unit_test(a_write_of_which_nobody_can_tell_is_said_to_be_one),
        cmocka_unit_test(closing_in_the_middle_of_a_write_says_that_nobody_knows),
        cmocka_unit_test(what_fails_for_the_sake_of_another_transaction_is_tried_again_and_not_for_ever),
        cmocka_unit_test(asking_for_an_outcome_waits_for_the_write_that_is_under_way),
        cmocka_unit_test(a_number_is_a_random_uuid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
