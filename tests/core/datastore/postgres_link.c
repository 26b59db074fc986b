/* core/datastore/postgres/link.c and what belongs to it: no wait outlives its deadline, whatever the other side
 * does, and nothing that it sends is believed unseen.
 *
 * Most of it needs the server that LICET_TEST_POSTGRES names (tools/postgres.py runs one), and says so where there
 * is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "failing_memory.h"
#include "pg_proxy.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What a call may take beyond its deadline, on a machine that is busy with other work. Whoever misses a deadline here
 * waits for something that takes longer than this: for LONG, for the server's own limit, or for ever. */
#define SLACK_MS 8000

#define ONE_SECOND ((lic_pg_wait){ lic_monotonic_ms() + 1000, NULL })
#define QUIET_MS 10000u
#define LONG ((lic_pg_wait){ lic_monotonic_ms() + 20000, NULL })

static lic_memory memory;

static const lic_pg_settings usual = { .schema = LICET_STR_INIT("licet"), .statement_timeout_ms = 20000 };

/* ------------------------------------------------------------ the server's connection string */

/* As given in LICET_TEST_POSTGRES, pairs and URIs alike, with one value replaced (keyword NULL: none); with another
 * host its port is 5432. */
static void server_string(char *text, size_t room, const char *keyword, const char *value)
{
    PQconninfoOption *options  = PQconninfoParse(getenv("LICET_TEST_POSTGRES"), NULL);
    const bool        has_host = keyword != NULL && strcmp(keyword, "host") == 0;
    size_t            size     = 0;

    assert_non_null(options);
    for (PQconninfoOption *o = options; o->keyword != NULL; o++) {
        bool        is_replaced = keyword != NULL && strcmp(o->keyword, keyword) == 0;
        const char *is          = is_replaced ? value : o->val;

        if (has_host && strcmp(o->keyword, "port") == 0)
            is = "5432";
        if (is != NULL)
            size += (size_t)snprintf(text + size, room - size, "%s='%s' ", o->keyword, is);
        assert_true(size < room);
    }
    PQconninfoFree(options);
}

/* The same as a path, for who connects by himself. false: the server has no Unix socket. */
static bool server_socket(char path[108])
{
    PQconninfoOption *options = PQconninfoParse(getenv("LICET_TEST_POSTGRES"), NULL);
    const char       *host    = NULL;
    const char       *port    = "5432";

    assert_non_null(options);
    for (PQconninfoOption *o = options; o->keyword != NULL; o++) {
        if (strcmp(o->keyword, "host") == 0)
            host = o->val;
        if (strcmp(o->keyword, "port") == 0 && o->val != NULL)
            port = o->val;
    }
    if (host != NULL && host[0] == '/')
        snprintf(path, 108, "%s/.s.PGSQL.%s", host, port);
    else
        host = NULL;
    PQconninfoFree(options);
    return host != NULL;
}

static void need_server(void)
{
    const char *string = getenv("LICET_TEST_POSTGRES");

    if (string != NULL && *string != '\0')
        return;
    print_message("skipped: LICET_TEST_POSTGRES names no server\n");
    skip();
}

/* ------------------------------------------------------------ links */

static licet_status try_open(const char *string, const lic_pg_settings *settings, lic_pg_wait wait, lic_pg_link **link,
                             licet_error **error)
{
    lic_pg_conninfo *conninfo;
    licet_status     status;

    assert_int_equal(lic_pg_conninfo_read(&memory, (lic_str){ string, strlen(string) }, false, &conninfo, error),
                     LICET_OK);
    status = lic_pg_link_open(&memory, conninfo, settings, wait, link, error);
    lic_pg_conninfo_free(conninfo);
    return status;
}

static void done(licet_status status, licet_error **error)
{
    if (status != LICET_OK)
        fail_msg("%.*s", (int)licet_error_message(*error).size, licet_error_message(*error).data);
}

/* Frees the error. message: all of it; what ends in "..." needs to begin so. */
static void failed(licet_status status, licet_error **error, licet_status expected, licet_kind kind,
                   const char *message)
{
    licet_str said = licet_error_message(*error);
    size_t    size = strlen(message);
    bool      open = size >= 3 && strcmp(message + size - 3, "...") == 0;

    if (open)
        size -= 3;
    if (said.size < size || (!open && said.size != size) || memcmp(said.data, message, size) != 0)
        fail_msg("%s is \"%.*s\", not \"%s\"", licet_status_name(status), (int)said.size, said.data, message);
    assert_int_equal(status, expected);
    assert_int_equal(licet_error_kind(*error), kind);
    licet_error_free(*error);
    *error = NULL;
}

static lic_pg_link *open_with(const lic_pg_settings *settings)
{
    char         string[1024];
    lic_pg_link *link;
    licet_error *error = NULL;

    server_string(string, sizeof string, NULL, NULL);
    done(try_open(string, settings, LONG, &link, &error), &error);
    return link;
}

static lic_pg_link *open_link(void)
{
    need_server();
    return open_with(&usual);
}

/* A literal, which is its own name. */
static licet_status run(lic_pg_link *link, const char *sql, lic_pg_wait wait, PGresult **result, licet_error **error)
{
    const lic_pg_statement statement = { .name = sql, .sql = sql };

    return lic_pg_run(link, &statement, NULL, wait, result, error);
}

static PGresult *ask(lic_pg_link *link, const char *sql)
{
    PGresult    *result;
    licet_error *error = NULL;

    done(run(link, sql, LONG, &result, &error), &error);
    return result;
}

static void command(lic_pg_link *link, const char *sql)
{
    licet_error *error = NULL;

    done(lic_pg_command(link, sql, LONG, &error), &error);
}

static int64_t ask_i64(lic_pg_link *link, const char *sql)
{
    PGresult *result = ask(link, sql);
    int64_t   number;

    assert_true(lic_pg_get_i64(result, 0, 0, &number));
    PQclear(result);
    return number;
}

/* The same of a text with one parameter. */
static PGresult *ask_about(lic_pg_link *link, const char *sql, const char *about)
{
    const lic_pg_statement statement = { .name = sql, .sql = sql, .parameter_count = 1 };
    const lic_pg_parameter parameter = { .data = about };
    PGresult              *result;
    licet_error           *error = NULL;

    done(lic_pg_run(link, &statement, &parameter, LONG, &result, &error), &error);
    return result;
}

static void assert_text(PGresult *result, const char *expected)
{
    lic_str text;

    assert_true(lic_pg_get_text(result, 0, 0, &text));
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.data, expected, text.size);
    PQclear(result);
}

static void close_link(lic_pg_link *link)
{
    lic_pg_link_close(link);
    assert_int_equal(memory.used, 0);
}

/* ------------------------------------------------------------ servers that are none */

/* Opens, expects this of it, and that it took from least to least + SLACK_MS. */
static void assert_open_fails(pg_proxy *proxy, lic_pg_wait wait, uint64_t least_ms, licet_status expected,
                              licet_kind kind, const char *message)
{
    char         string[256];
    uint64_t     before = lic_monotonic_ms();
    uint64_t     took;
    lic_pg_link *link  = (lic_pg_link *)&memory;
    licet_error *error = NULL;

    snprintf(string, sizeof string, "host=%s port=5432 user=app password=s3cret dbname=app", proxy->folder);
    failed(try_open(string, &usual, wait, &link, &error), &error, expected, kind, message);
    took = lic_monotonic_ms() - before;
    assert_null(link);
    assert_true(took >= least_ms && took <= least_ms + SLACK_MS);
    assert_int_equal(memory.used, 0);
}

static lic_pg_wait in_ms(uint64_t ms)
{
    return (lic_pg_wait){ lic_monotonic_ms() + ms, NULL };
}

static void a_server_that_says_nothing_costs_no_more_than_the_deadline(void **state)
{
    pg_proxy proxy;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_SILENCE, 0);
    assert_open_fails(&proxy, in_ms(150), 150, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE,
                      "no answer from Postgres in time");
    assert_open_fails(&proxy, (lic_pg_wait){ 0, NULL }, 0, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE,
                      "no answer from Postgres in time");
    pg_proxy_stop(&proxy);
}

static void a_server_that_sends_byte_after_byte_costs_no_more_than_the_deadline(void **state)
{
    pg_proxy proxy;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_DRIP, 0);
    assert_open_fails(&proxy, in_ms(150), 150, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE,
                      "no answer from Postgres in time");
    pg_proxy_stop(&proxy);
}

static void a_server_that_hangs_up_or_makes_noise_is_unavailable(void **state)
{
    pg_proxy proxy;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_GOODBYE, 0);
    assert_open_fails(&proxy, LONG, 0, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "no connection to Postgres...");
    pg_proxy_plan(&proxy, PG_PROXY_NOISE, 0);
    assert_open_fails(&proxy, LONG, 0, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "no connection to Postgres...");
    pg_proxy_stop(&proxy);
}

static void where_nobody_listens_the_reason_is_told_without_the_string(void **state)
{
    pg_proxy proxy;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_stop(&proxy);
    assert_open_fails(&proxy, LONG, 0, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
                      "no connection to Postgres: \"No such file or directory\"");
}

static void ring_soon(void *argument)
{
    lic_sleep_us(50000);
    lic_pg_bell_ring(argument);
}

static void the_bell_ends_waits_that_are_and_that_come(void **state)
{
    pg_proxy    proxy;
    lic_pg_bell bell;
    pthread_t   ringer;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_SILENCE, 0);
    assert_true(lic_pg_bell_init(&bell));
    assert_true(fcntl(bell.read_end, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(bell.write_end, F_GETFD) & FD_CLOEXEC);
    assert_true(lic_thread_start(&ringer, "ringer", ring_soon, &bell));
    assert_open_fails(&proxy, (lic_pg_wait){ lic_monotonic_ms() + 20000, &bell }, 0, LICET_CLOSED, LICET_KIND_MISUSE,
                      "the engine is closed");
    lic_thread_join(ringer);
    lic_pg_bell_ring(&bell);
    assert_open_fails(&proxy, (lic_pg_wait){ lic_monotonic_ms() + 20000, &bell }, 0, LICET_CLOSED, LICET_KIND_MISUSE,
                      "the engine is closed");
    lic_pg_bell_free(&bell);
    lic_pg_bell_free(&bell);
    pg_proxy_stop(&proxy);
}

static void a_connect_timeout_of_the_string_counts_if_it_is_sooner(void **state)
{
    pg_proxy     proxy;
    char         string[256];
    uint64_t     before = lic_monotonic_ms();
    lic_pg_link *link;
    licet_error *error = NULL;

    (void)state;
    pg_proxy_start(&proxy, NULL);
    pg_proxy_plan(&proxy, PG_PROXY_SILENCE, 0);
    snprintf(string, sizeof string, "host=%s user=app connect_timeout=1", proxy.folder);
    failed(try_open(string, &usual, LONG, &link, &error), &error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE,
           "no answer from Postgres in time");
    assert_true(lic_monotonic_ms() - before < 1000 + SLACK_MS);
    pg_proxy_stop(&proxy);
}

static void opening_without_memory_is_out_of_memory(void **state)
{
    failing_memory   failing = fail_after(1); /* the first is the connection string */
    lic_memory       scarce;
    lic_pg_conninfo *conninfo;
    lic_pg_link     *link;
    licet_error     *error = NULL;

    (void)state;
    lic_memory_init(&scarce, &failing.allocator, SIZE_MAX);
    assert_int_equal(lic_pg_conninfo_read(&scarce, LIC_STR("host=/tmp"), false, &conninfo, NULL), LICET_OK);
    failed(lic_pg_link_open(&scarce, conninfo, &usual, LONG, &link, &error), &error, LICET_OUT_OF_MEMORY,
           LICET_KIND_NOMEM, "out of memory");
    assert_null(link);
    lic_pg_conninfo_free(conninfo);
    assert_int_equal(failing.counts->live_blocks, 0);
}

/* ------------------------------------------------------------ opening */

static void a_link_knows_its_server(void **state)
{
    lic_pg_link         *link   = open_link();
    const lic_pg_server *server = lic_pg_link_server(link);

    (void)state;
    assert_int_equal(server->version, ask_i64(link, "SELECT current_setting('server_version_num')::int8"));
    assert_int_equal(server->timeline, ask_i64(link, "SELECT timeline_id::int8 FROM pg_control_checkpoint()"));
    assert_int_equal(server->started_at_us,
                     ask_i64(link, "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8"));
    assert_int_equal((int64_t)server->system, ask_i64(link, "SELECT system_identifier FROM pg_control_system()"));
    assert_false(server->is_standby);
    assert_false(server->is_pooled);
    assert_false(lic_pg_link_lost(link));
    assert_true(lic_pg_link_is_idle(link));
    assert_true(fcntl(lic_pg_link_descriptor(link), F_GETFD) & FD_CLOEXEC);
    close_link(link);
}

static void a_session_has_the_settings_that_we_rely_on(void **state)
{
    static const char *const expected[][2] = {
        { "search_path", "pg_catalog, \"select\", pg_temp" },
        { "statement_timeout", "1234ms" },
        { "lock_timeout", "1234ms" },
        { "idle_in_transaction_session_timeout", "1min" },
        { "client_encoding", "UTF8" },
        { "TimeZone", "UTC" },
        { "standard_conforming_strings", "on" },
        { "synchronous_commit", "on" },
        { "jit", "off" },
        { "row_security", "off" },
        { "default_transaction_isolation", "read committed" },
        { "default_transaction_read_only", "on" },
        { "plan_cache_mode", "force_generic_plan" },
        { "enable_seqscan", "off" },
        { "enable_bitmapscan", "off" },
        { "application_name", "licet" },
    };
    const lic_pg_settings settings = {
        .schema               = LICET_STR_INIT("select"),
        .statement_timeout_ms = 1234,
        .read_only            = true,
        .generic_plans        = true,
        .by_index             = true,
    };
    lic_pg_link *link;
    licet_error *error = NULL;

    (void)state;
    need_server();
    link = open_with(&settings);
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_text(ask_about(link, "SELECT current_setting($1)", expected[i][0]), expected[i][1]);
    }
    failed(lic_pg_command(link, "CREATE TABLE public.nothing ()", LONG, &error), &error, LICET_UNAVAILABLE,
           LICET_KIND_UNAVAILABLE,
           "the server takes no writes (25006: \"cannot execute CREATE TABLE in a read-only transaction\")");
    close_link(link);
}

static void change_roles(const char *sql)
{
    lic_pg_link *link  = open_with(&usual);
    licet_error *error = NULL;

    assert_int_equal(lic_pg_command(link, sql, LONG, &error), LICET_OK);
    close_link(link);
}

/* Here for one role, by ALTER SYSTEM for all. */
static void an_operator_s_stop_of_writes_holds_for_links_too(void **state)
{
    char         string[1024];
    char         role[32];
    char         sql[160];
    lic_pg_link *link;
    licet_error *error = NULL;

    (void)state;
    need_server();
    snprintf(role, sizeof role, "licet_stopped_%d", (int)getpid());
    server_string(string, sizeof string, "user", role);
    snprintf(sql, sizeof sql, "CREATE ROLE %s LOGIN SUPERUSER; ALTER ROLE %s SET default_transaction_read_only = on",
             role, role);
    change_roles(sql);
    assert_int_equal(try_open(string, &usual, LONG, &link, &error), LICET_OK);
    failed(lic_pg_command(link, "CREATE TABLE public.nothing ()", LONG, &error), &error, LICET_UNAVAILABLE,
           LICET_KIND_UNAVAILABLE,
           "the server takes no writes (25006: \"cannot execute CREATE TABLE in a read-only transaction\")");
    assert_text(ask_about(link, "SELECT $1::text", "reads go on"), "reads go on");
    close_link(link);
    snprintf(sql, sizeof sql, "DROP ROLE %s", role);
    change_roles(sql);
}

static void what_no_retry_mends_is_the_string_s_fault(void **state)
{
    char         string[1024];
    lic_pg_link *link;
    licet_error *error = NULL;

    (void)state;
    need_server();
    server_string(string, sizeof string, "dbname", "no such database");
    failed(try_open(string, &usual, LONG, &link, &error), &error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG,
           "the database of the connection string does not exist (3D000)");
    server_string(string, sizeof string, "options", "-c nosuch_parameter=1");
    failed(try_open(string, &usual, LONG, &link, &error), &error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG,
           "an option of the connection string is unknown to Postgres (42704)");
}

/* ------------------------------------------------------------ statements */

static void fields_are_read_only_as_what_they_are(void **state)
{
    lic_pg_link *link   = open_link();
    PGresult    *result = ask(link, "SELECT 'b\xc3\xa4r'::text, -5::int8, 7::int4, true, NULL::text, "
                                       "'1969-12-31 23:59:59.999999+00'::timestamptz, '12'::xid8, '\\x00ff'::bytea, "
                                       "'infinity'::timestamptz, ''::text, '-infinity'::timestamptz");
    lic_str      text;
    int64_t      i64;
    int32_t      i32;
    bool         is;

    (void)state;
    assert_true(lic_pg_get_text(result, 0, 0, &text));
    assert_int_equal(text.size, 4);
    assert_memory_equal(text.data, "b\xc3\xa4r", 4);
    assert_true(lic_pg_get_i64(result, 0, 1, &i64));
    assert_int_equal(i64, -5);
    assert_true(lic_pg_get_i32(result, 0, 2, &i32));
    assert_int_equal(i32, 7);
    assert_true(lic_pg_get_bool(result, 0, 3, &is));
    assert_true(is);
    assert_true(lic_pg_get_time_us(result, 0, 5, &i64));
    assert_int_equal(i64, -1);
    assert_true(lic_pg_get_i64(result, 0, 6, &i64));
    assert_int_equal(i64, 12);
    assert_true(lic_pg_get_bytes(result, 0, 7, &text));
    assert_int_equal(text.size, 2);
    assert_memory_equal(text.data, "\x00\xff", 2);
    assert_true(lic_pg_get_text(result, 0, 9, &text));
    assert_int_equal(text.size, 0);

    assert_false(lic_pg_get_text(result, 0, 1, &text));
    assert_false(lic_pg_get_text(result, 0, 4, &text));
    assert_false(lic_pg_get_bytes(result, 0, 4, &text));
    assert_false(lic_pg_get_text(result, 0, 7, &text));
    assert_false(lic_pg_get_i64(result, 0, 2, &i64));
    assert_false(lic_pg_get_i64(result, 0, 5, &i64));
    assert_false(lic_pg_get_i32(result, 0, 1, &i32));
    assert_false(lic_pg_get_bool(result, 0, 2, &is));
    assert_false(lic_pg_get_time_us(result, 0, 8, &i64));
    assert_false(lic_pg_get_time_us(result, 0, 10, &i64));
    assert_false(lic_pg_get_text(result, 1, 0, &text));
    assert_false(lic_pg_get_text(result, -1, 0, &text));
    assert_false(lic_pg_get_text(result, 0, 11, &text));
    assert_false(lic_pg_get_text(result, 0, -1, &text));
    PQclear(result);
    close_link(link);
}

static void a_statement_is_prepared_once_and_then_is_one_round_trip(void **state)
{
    static const lic_pg_statement sum = { .name = "sum", .sql = "SELECT $1::int8 + $2::int8", .parameter_count = 2 };
    const lic_pg_parameter given[]    = { { .data = "40" }, { .data = "\0\0\0\0\0\0\0\2", .size = 8, .format = 1 } };
    const lic_pg_parameter null[]     = { { .data = "40" }, { .data = NULL } };
    lic_pg_link           *link       = open_link();
    uint64_t               before     = lic_pg_link_round_trips(link);
    PGresult              *result;
    licet_error           *error = NULL;
    int64_t                number;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        done(lic_pg_run(link, &sum, given, LONG, &result, &error), &error);
        assert_true(lic_pg_get_i64(result, 0, 0, &number));
        assert_int_equal(number, 42);
        PQclear(result);
        assert_int_equal(lic_pg_link_round_trips(link) - before, 2 + i);
    }
    done(lic_pg_run(link, &sum, null, LONG, &result, &error), &error);
    assert_int_equal(PQntuples(result), 1);
    assert_false(lic_pg_get_i64(result, 0, 0, &number));
    PQclear(result);
    close_link(link);
}

static void more_statements_than_are_kept_prepared_run_all_the_same(void **state)
{
    static char  sql[LIC_PG_STATEMENTS_MAX + 3][40];
    lic_pg_link *link = open_link();

    (void)state;
    for (size_t i = 0; i < COUNT(sql); i++) {
        snprintf(sql[i], sizeof sql[i], "SELECT %zu::int8", i);
        assert_int_equal(ask_i64(link, sql[i]), i);
    }
    for (size_t i = 0; i < COUNT(sql); i++)
        assert_int_equal(ask_i64(link, sql[i]), i);
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM pg_prepared_statements"), LIC_PG_STATEMENTS_MAX);
    close_link(link);
}

static void commands_are_several_at_once_and_a_commit_that_rolled_back_is_none(void **state)
{
    lic_pg_link *link  = open_link();
    licet_error *error = NULL;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8); INSERT INTO t VALUES (1), (2); SELECT * FROM t");
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM t"), 2);
    command(link, "BEGIN");
    assert_false(lic_pg_link_is_idle(link));
    command(link, "ROLLBACK");
    assert_true(lic_pg_link_is_idle(link));

    command(link, "BEGIN");
    failed(lic_pg_command(link, "SELECT 1 / 0", LONG, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres reports an error (22012: \"division by zero\")");
    failed(lic_pg_command(link, "COMMIT", LONG, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres rolled the transaction back");
    assert_true(lic_pg_link_is_idle(link));
    failed(lic_pg_command(link, "INSERT INTO t VALUES (3); SELECT 1 / 0; INSERT INTO t VALUES (4)", LONG, &error),
           &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres reports an error (22012: \"division by zero\")");
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM t"), 2);
    close_link(link);
}

static void an_error_at_the_commit_is_the_statement_s(void **state)
{
    lic_pg_link *link   = open_link();
    PGresult    *result = NULL;
    licet_error *error  = NULL;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8 UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO t VALUES (1)");
    failed(run(link, "INSERT INTO t VALUES (1) RETURNING x", LONG, &result, &error), &error, LICET_UNAVAILABLE,
           LICET_KIND_UNAVAILABLE,
           "Postgres reports an error (23505: \"duplicate key value violates unique constraint \\\"t_x_key\\\"\")");
    assert_null(result);
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM t"), 1);
    close_link(link);
}

static void errors_of_the_server_mean_what_link_h_says(void **state)
{
    static const struct {
        const char  *sqlstate;
        licet_status status;
        licet_kind   kind;
        const char  *message;
    } cases[] = {
        { "40001", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "another transaction was in the way (40001: \"words\")" },
        { "40P01", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "another transaction was in the way (40P01: \"words\")" },
        { "57014", LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "the server took too long (57014: \"words\")" },
        { "55P03", LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE,
          "a lock was not to be had in time (55P03: \"words\")" },
        { "42P01", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
          "licet's tables are not there, or of another version: run `licet migrate` (42P01: \"words\")" },
        { "3F000", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
          "licet's tables are not there, or of another version: run `licet migrate` (3F000: \"words\")" },
        { "42883", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
          "licet's tables are not there, or of another version: run `licet migrate` (42883: \"words\")" },
        { "42501", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
          "the user of the connection lacks a right (42501: \"words\")" },
        { "25006", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "the server takes no writes (25006: \"words\")" },
        { "53100", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "the server's disk is full (53100: \"words\")" },
        { "53200", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "the server is out of memory (53200: \"words\")" },
        { "57P03", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "the server is stopping or starting (57P03: \"words\")" },
        { "08006", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "the connection failed (08006: \"words\")" },
        { "22012", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "Postgres reports an error (22012: \"words\")" },
        { "LZ001", LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "words" },
        { "LZ002", LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "words" },
        { "LZ003", LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, "words" },
        { "LZ004", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "words" },
        { "LZ005", LICET_NOT_FOUND, LICET_KIND_NAME, "words" },
        { "LZ006", LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "words" },
        { "LZ007", LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "words" },
        { "LZ008", LICET_MISUSE, LICET_KIND_MISUSE, "words" },
    };
    static const lic_pg_statement fail_with = { .name            = "fail",
                                                .sql             = "SELECT pg_temp.fail($1)",
                                                .parameter_count = 1 };
    lic_pg_link                  *link      = open_link();

    (void)state;
    command(link, "CREATE FUNCTION pg_temp.fail(state text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
                  "RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'words', DETAIL = 'd\xc3\xa4tail'; END $$");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lic_pg_parameter state_of = { .data = cases[i].sqlstate };
        const lic_pg_failure  *failure  = lic_pg_link_failure(link);
        const bool             is_ours  = memcmp(cases[i].sqlstate, "LZ", 2) == 0;
        PGresult              *result;
        licet_error           *error = NULL;

        failed(lic_pg_run(link, &fail_with, &state_of, LONG, &result, &error), &error, cases[i].status, cases[i].kind,
               cases[i].message);
        assert_null(result);
        assert_string_equal(failure->sqlstate, cases[i].sqlstate);
        assert_string_equal(failure->detail, is_ours ? "d\xc3\xa4tail" : "");
        assert_int_equal(lic_pg_failure_retryable(failure), memcmp(cases[i].sqlstate, "40", 2) == 0);
        assert_true(lic_pg_link_is_idle(link));
    }
    assert_int_equal(ask_i64(link, "SELECT 1::int8"), 1);
    assert_string_equal(lic_pg_link_failure(link)->sqlstate, "");
    close_link(link);
}

static void an_error_inside_the_server_loses_the_link(void **state)
{
    static const lic_pg_statement broken = { .name = "broken", .sql = "SELECT pg_temp.broken()" };
    lic_pg_link                  *link   = open_link();
    PGresult                     *result;
    licet_error                  *error = NULL;

    (void)state;
    command(link, "CREATE FUNCTION pg_temp.broken() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
                  "RAISE EXCEPTION USING ERRCODE = 'XX000', MESSAGE = 'words'; END $$");
    failed(lic_pg_run(link, &broken, NULL, LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres reports an error (XX000: \"words\")");
    assert_true(lic_pg_link_lost(link));
    close_link(link);
}

static void words_of_the_server_are_cut_and_escaped(void **state)
{
    lic_pg_link *link   = open_link();
    PGresult    *result = NULL;
    licet_error *error  = NULL;
    licet_str    said;

    (void)state;
    command(link, "CREATE FUNCTION pg_temp.fail() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
                  "USING ERRCODE = 'LZ001', MESSAGE = 'a' || chr(10) || repeat('\xc3\xa4', 5000), "
                  "DETAIL = repeat('\xc3\xa4', 5000); END $$");
    assert_int_equal(run(link, "SELECT pg_temp.fail()", LONG, &result, &error), LICET_ALREADY_EXISTS);
    said = licet_error_message(error);
    assert_true(said.size <= 1024);
    assert_memory_equal(said.data, "a\\n\xc3\xa4", 5);
    licet_error_free(error);
    error = NULL;
    assert_int_equal(strlen(lic_pg_link_failure(link)->detail), 3070);
    failed(
        run(link, "SELECT * FROM \"a b\nc\"", LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
        "licet's tables are not there, or of another version: run `licet migrate` (42P01: \"relation \\\"a b\\nc\\\" "
        "does not exist\")");
    close_link(link);
}

static void what_is_no_answer_to_a_statement_loses_the_link(void **state)
{
    static const char *const texts[] = { "COPY (SELECT 1) TO STDOUT", "" };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        lic_pg_link *link   = open_link();
        PGresult    *result = NULL;
        licet_error *error  = NULL;

        failed(run(link, texts[i], LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
               "Postgres answered something else than was asked");
        assert_true(lic_pg_link_lost(link));
        close_link(link);
    }
}

static void a_notification_is_noticed_once(void **state)
{
    lic_pg_link *link  = open_link();
    lic_pg_link *other = open_with(&usual);
    uint64_t     until = lic_monotonic_ms() + 60000;

    (void)state;
    command(link, "LISTEN licet_test");
    assert_false(lic_pg_link_was_notified(link));
    command(other, "NOTIFY licet_test");
    while (!lic_pg_link_was_notified(link) && lic_monotonic_ms() < until)
        lic_sleep_us(1000);
    assert_true(lic_monotonic_ms() < until);
    assert_false(lic_pg_link_was_notified(link));
    lic_pg_link_close(other);
    close_link(link);
}

/* ------------------------------------------------------------ deadlines */

static void a_deadline_is_kept_and_loses_the_link(void **state)
{
    lic_pg_link *link   = open_link();
    uint64_t     before = lic_monotonic_ms();
    uint64_t     took;
    PGresult    *result = NULL;
    licet_error *error  = NULL;

    (void)state;
    failed(run(link, "SELECT pg_sleep(60)", in_ms(100), &result, &error), &error, LICET_DEADLINE_EXCEEDED,
           LICET_KIND_DEADLINE, "no answer from Postgres in time");
    took = lic_monotonic_ms() - before;
    assert_true(took >= 100 && took <= 100 + SLACK_MS);
    assert_true(lic_pg_link_lost(link));
    assert_int_equal(lic_pg_link_descriptor(link), -1);
    failed(run(link, "SELECT 1", LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "the connection to Postgres is lost");
    failed(lic_pg_receive(link, LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "the connection to Postgres is lost");
    assert_false(lic_pg_link_was_notified(link));
    close_link(link);
}

#define LATE "hashtextextended('licet test: a late answer', 0)"

static void an_answer_that_is_late_can_still_be_received(void **state)
{
    static const lic_pg_statement slow  = { .name = "slow", .sql = "SELECT 7::int8, pg_advisory_lock(" LATE ")" };
    lic_pg_link                  *link  = open_link();
    lic_pg_link                  *other = open_with(&usual);
    PGresult                     *result;
    licet_error                  *error = NULL;
    int64_t                       number;

    (void)state;
    command(other, "SELECT pg_advisory_lock(" LATE ")");
    done(lic_pg_send(link, &slow, NULL, LONG, &error), &error);
    for (size_t i = 0; i < 2; i++) {
        failed(lic_pg_receive(link, i == 0 ? (lic_pg_wait){ 0, NULL } : in_ms(20), &result, &error), &error,
               LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "no answer from Postgres in time");
        assert_false(lic_pg_link_lost(link));
        assert_false(lic_pg_link_is_idle(link));
    }
    failed(run(link, "SELECT 1", LONG, &result, &error), &error, LICET_MISUSE, LICET_KIND_MISUSE,
           "the connection to Postgres is busy");
    command(other, "SELECT pg_advisory_unlock(" LATE ")");
    done(lic_pg_receive(link, LONG, &result, &error), &error);
    assert_true(lic_pg_get_i64(result, 0, 0, &number));
    assert_int_equal(number, 7);
    PQclear(result);
    failed(lic_pg_receive(link, LONG, &result, &error), &error, LICET_MISUSE, LICET_KIND_MISUSE,
           "nothing was asked of Postgres");
    assert_true(lic_pg_link_is_idle(link));
    lic_pg_link_close(other);
    close_link(link);
}

static void the_server_s_own_timeout_keeps_the_link(void **state)
{
    const lic_pg_settings hasty = { .schema = LICET_STR_INIT("licet"), .statement_timeout_ms = 2000 };
    lic_pg_link          *link;
    PGresult             *result;
    licet_error          *error = NULL;

    (void)state;
    need_server();
    link = open_with(&hasty);
    failed(run(link, "SELECT pg_sleep(60)", LONG, &result, &error), &error, LICET_DEADLINE_EXCEEDED,
           LICET_KIND_DEADLINE, "the server took too long (57014: \"canceling statement due to statement timeout\")");
    assert_int_equal(ask_i64(link, "SELECT 1::int8"), 1);
    close_link(link);
}

/* false: it is not ours to stop. */
static bool stop_backend(lic_pg_link *link, pid_t *pid)
{
    *pid = (pid_t)ask_i64(link, "SELECT pg_backend_pid()::int8");
    return kill(*pid, SIGSTOP) == 0;
}

static void a_stopped_server_holds_nobody_beyond_the_deadline(void **state)
{
    for (size_t i = 0; i < 5; i++) {
        lic_pg_link *link = open_link();
        uint64_t     before;
        uint64_t     took;
        PGresult    *result;
        licet_status status;
        licet_error *error = NULL;
        pid_t        pid;

        (void)state;
        if (!stop_backend(link, &pid)) {
            close_link(link);
            print_message("skipped: the server's processes can not be stopped from here\n");
            skip();
        }
        before = lic_monotonic_ms();
        status = run(link, "SELECT 1", in_ms(100), &result, &error);
        took   = lic_monotonic_ms() - before;
        kill(pid, SIGCONT);
        failed(status, &error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "no answer from Postgres in time");
        assert_true(took >= 100 && took <= 100 + SLACK_MS);
        assert_true(lic_pg_link_lost(link));
        close_link(link);
    }
}

static void a_bell_ends_a_statement(void **state)
{
    lic_pg_link *link = open_link();
    lic_pg_bell  bell;
    pthread_t    ringer;
    uint64_t     before = lic_monotonic_ms();
    PGresult    *result;
    licet_error *error = NULL;

    (void)state;
    assert_true(lic_pg_bell_init(&bell));
    assert_true(lic_thread_start(&ringer, "ringer", ring_soon, &bell));
    failed(run(link, "SELECT pg_sleep(60)", (lic_pg_wait){ before + 20000, &bell }, &result, &error), &error,
           LICET_CLOSED, LICET_KIND_MISUSE, "the engine is closed");
    lic_thread_join(ringer);
    assert_true(lic_monotonic_ms() - before < 50 + SLACK_MS);
    assert_true(lic_pg_link_lost(link));
    lic_pg_bell_free(&bell);
    close_link(link);
}

static void ignore_signal(int number)
{
    (void)number;
}

static void signals_every_200_microseconds_change_nothing(void **state)
{
    const struct itimerval often   = { { 0, 200 }, { 0, 200 } };
    const struct itimerval never   = { { 0, 0 }, { 0, 0 } };
    struct sigaction       handler = { .sa_handler = ignore_signal }; /* without SA_RESTART */
    struct sigaction       before;
    lic_pg_link           *link;
    uint64_t               began;
    uint64_t               took;
    PGresult              *result;
    licet_error           *error = NULL;

    (void)state;
    need_server();
    assert_int_equal(sigaction(SIGALRM, &handler, &before), 0);
    setitimer(ITIMER_REAL, &often, NULL);
    link = open_link();
    for (int64_t i = 0; i < 200; i++)
        assert_int_equal(ask_i64(link, "SELECT 5::int8"), 5);
    began = lic_monotonic_ms();
    assert_int_equal(run(link, "SELECT pg_sleep(60)", in_ms(100), &result, &error), LICET_DEADLINE_EXCEEDED);
    took = lic_monotonic_ms() - began;
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    licet_error_free(error);
    assert_true(took >= 100 && took <= 100 + SLACK_MS);
    close_link(link);
}

/* ------------------------------------------------------------ connections that end */

static void terminate(lic_pg_link *link, const char *application)
{
    PQclear(ask_about(link, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = $1",
                      application));
}

static lic_pg_link *open_named(const char *application)
{
    char         string[1024];
    lic_pg_link *link;
    licet_error *error = NULL;

    server_string(string, sizeof string, "application_name", application);
    done(try_open(string, &usual, LONG, &link, &error), &error);
    return link;
}

static void a_connection_that_the_server_ends_is_lost_and_raises_no_signal(void **state)
{
    lic_pg_link *other = open_link();

    (void)state;
    signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < 3; i++) {
        lic_pg_link *link = open_named("licet_test_victim");
        PGresult    *result;
        licet_error *error = NULL;

        terminate(other, "licet_test_victim");
        if (i == 0)
            failed(
                run(link, "SELECT 1", LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
                "the server is stopping or starting (57P01: \"terminating connection due to administrator command\")");
        else if (i == 1)
            failed(
                lic_pg_command(link, "BEGIN", LONG, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
                "the server is stopping or starting (57P01: \"terminating connection due to administrator command\")");
        else
            assert_false(lic_pg_link_is_idle(link) && lic_pg_link_was_notified(link));
        lic_pg_link_close(link);
    }
    close_link(other);
}

typedef struct termination {
    lic_pg_link *link;
    const char  *application;
} termination;

static void terminate_soon(void *argument)
{
    termination *t = argument;

    lic_sleep_us(50000);
    terminate(t->link, t->application);
}

static void a_connection_that_ends_while_we_wait_is_lost(void **state)
{
    termination  t    = { .link = open_link(), .application = "licet_test_victim" };
    lic_pg_link *link = open_named(t.application);
    pthread_t    terminator;
    PGresult    *result;
    licet_error *error = NULL;

    (void)state;
    assert_true(lic_thread_start(&terminator, "terminator", terminate_soon, &t));
    failed(run(link, "SELECT pg_sleep(60)", LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "the server is stopping or starting (57P01: \"terminating connection due to administrator command\")");
    lic_thread_join(terminator);
    assert_true(lic_pg_link_lost(link));
    assert_string_equal(lic_pg_link_failure(link)->sqlstate, "57P01");
    lic_pg_link_close(link);
    close_link(t.link);
}

static int64_t sessions_named(lic_pg_link *link, const char *application)
{
    PGresult *result =
        ask_about(link, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", application);
    int64_t count;

    assert_true(lic_pg_get_i64(result, 0, 0, &count));
    PQclear(result);
    return count;
}

static void closing_says_goodbye(void **state)
{
    lic_pg_link *other = open_link();
    lic_pg_link *link  = open_named("licet_test_leaver");
    uint64_t     until = lic_monotonic_ms() + 60000;

    (void)state;
    assert_int_equal(sessions_named(other, "licet_test_leaver"), 1);
    lic_pg_link_close(link);
    while (sessions_named(other, "licet_test_leaver") > 0 && lic_monotonic_ms() < until)
        lic_sleep_us(1000);
    assert_int_equal(sessions_named(other, "licet_test_leaver"), 0);
    lic_pg_link_close(NULL);
    lic_pg_link_abandon(NULL);
    close_link(other);
}

static void a_child_that_abandons_a_link_leaves_it_to_its_parent(void **state)
{
    lic_pg_link *link = open_link();
    pid_t        child;
    int          ended;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8)");
    child = fork();
    if (child == 0) {
        lic_pg_link_abandon(link);
        _exit(memory.used == 0 ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    command(link, "INSERT INTO t VALUES (1)");
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM t"), 1);
    close_link(link);
}

/* ------------------------------------------------------------ COPY */

typedef struct rows {
    size_t   count;
    uint64_t sum;
    size_t   stop_at; /* 0: never */
} rows;

/* Rows of one int8. */
static bool take_row(void *context, const char *row, size_t size, licet_status *status, licet_error **error)
{
    static const char head[] = { 0, 1, 0, 0, 0, 8 };
    rows             *r      = context;
    uint64_t          number = 0;

    assert_int_equal(size, 14);
    assert_memory_equal(row, head, sizeof head);
    for (size_t i = sizeof head; i < size; i++)
        number = number << 8 | (unsigned char)row[i];
    r->count++;
    r->sum += number;
    if (r->count != r->stop_at)
        return true;
    *status = lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE, "enough");
    return false;
}

static void rows_come_out_one_by_one(void **state)
{
    static const size_t counts[] = { 0, 1, 100000 };
    lic_pg_link        *link     = open_link();

    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        rows         r     = { .count = 0 };
        licet_error *error = NULL;
        char         sql[128];

        snprintf(sql, sizeof sql, "COPY (SELECT x::int8 FROM generate_series(1, %zu) x) TO STDOUT (FORMAT binary)",
                 counts[i]);
        done(lic_pg_copy_out(link, sql, LONG, QUIET_MS, take_row, &r, &error), &error);
        assert_int_equal(r.count, counts[i]);
        assert_int_equal(r.sum, counts[i] * (counts[i] + 1) / 2);
        assert_true(lic_pg_link_is_idle(link));
    }
    close_link(link);
}

static void an_error_amid_rows_is_the_copy_s(void **state)
{
    lic_pg_link *link  = open_link();
    rows         r     = { .count = 0 };
    licet_error *error = NULL;

    (void)state;
    failed(lic_pg_copy_out(link,
                           "COPY (SELECT 100 / (500 - x)::int8 FROM generate_series(1, 1000) x) TO STDOUT (FORMAT "
                           "binary)",
                           LONG, QUIET_MS, take_row, &r, &error),
           &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres reports an error (22012: \"division by zero\")");
    assert_true(r.count < 500);
    failed(
        lic_pg_copy_out(link, "COPY nowhere TO STDOUT (FORMAT binary)", LONG, QUIET_MS, take_row, &r, &error), &error,
        LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
        "licet's tables are not there, or of another version: run `licet migrate` (42P01: \"relation \\\"nowhere\\\" "
        "does not exist\")");
    assert_true(lic_pg_link_is_idle(link));
    close_link(link);
}

static void who_takes_rows_may_stop(void **state)
{
    lic_pg_link *link  = open_link();
    rows         r     = { .stop_at = 7 };
    licet_error *error = NULL;

    (void)state;
    failed(lic_pg_copy_out(link, "COPY (SELECT x::int8 FROM generate_series(1, 1000000) x) TO STDOUT (FORMAT binary)",
                           LONG, QUIET_MS, take_row, &r, &error),
           &error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "enough");
    assert_int_equal(r.count, 7);
    assert_true(lic_pg_link_lost(link));
    close_link(link);
}

static void rows_in_another_form_are_refused(void **state)
{
    static const char *const texts[] = { "COPY (SELECT 1) TO STDOUT", "SELECT 1", "COPY t FROM STDIN (FORMAT binary)" };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        lic_pg_link *link  = open_link();
        rows         r     = { .count = 0 };
        licet_error *error = NULL;

        command(link, "CREATE TEMP TABLE t (x int8)");
        failed(lic_pg_copy_out(link, texts[i], LONG, QUIET_MS, take_row, &r, &error), &error, LICET_UNAVAILABLE,
               LICET_KIND_UNAVAILABLE, "Postgres sends rows in no form that was asked for");
        assert_int_equal(r.count, 0);
        assert_true(lic_pg_link_lost(link));
        close_link(link);
    }
}

/* Rows of one int8 from first to last, in a text of their own. */
static lic_str binary_rows(char *room, uint64_t first, uint64_t last)
{
    static const char head[] = { 0, 1, 0, 0, 0, 8 };
    char             *next   = room;

    for (uint64_t number = first; number <= last; number++) {
        memcpy(next, head, sizeof head);
        for (size_t i = 0; i < 8; i++)
            next[sizeof head + i] = (char)(number >> (56 - 8 * i));
        next += 14;
    }
    return (lic_str){ room, (size_t)(next - room) };
}

#define COPIED 200000

static void rows_go_in_in_pieces_of_any_size(void **state)
{
    static char   room[COPIED * 14];
    const lic_str all    = binary_rows(room, 1, COPIED);
    const size_t  step[] = { 1, 13, 65536, 100000, 1000003 };
    lic_pg_link  *link   = open_link();
    licet_error  *error  = NULL;
    uint64_t      count;
    size_t        offset = 0;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8)");
    done(lic_pg_copy_in(link, "COPY t FROM STDIN (FORMAT binary)", LONG, &error), &error);
    for (size_t i = 0; offset < all.size; i++) {
        size_t size = all.size - offset < step[i % 5] ? all.size - offset : step[i % 5];

        done(lic_pg_copy_put(link, lic_str_slice(all, offset, offset + size), LONG, &error), &error);
        offset += size;
    }
    done(lic_pg_copy_end(link, LONG, &count, &error), &error);
    assert_int_equal(count, COPIED);
    assert_int_equal(ask_i64(link, "SELECT sum(x)::int8 FROM t"), (int64_t)COPIED * (COPIED + 1) / 2);

    done(lic_pg_copy_in(link, "COPY t FROM STDIN (FORMAT binary)", LONG, &error), &error);
    done(lic_pg_copy_put(link, LIC_STR(""), LONG, &error), &error);
    done(lic_pg_copy_end(link, LONG, &count, &error), &error);
    assert_int_equal(count, 0);
    failed(lic_pg_copy_put(link, all, LONG, &error), &error, LICET_MISUSE, LICET_KIND_MISUSE,
           "no copy to Postgres has begun");
    failed(lic_pg_copy_end(link, LONG, &count, &error), &error, LICET_MISUSE, LICET_KIND_MISUSE,
           "no copy to Postgres has begun");
    assert_true(lic_pg_link_is_idle(link));
    close_link(link);
}

static void rows_that_the_server_refuses_are_told_at_the_end(void **state)
{
    static char  room[COPIED * 14];
    lic_pg_link *link  = open_link();
    licet_error *error = NULL;
    PGresult    *result;
    uint64_t     count;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8 UNIQUE)");
    done(lic_pg_copy_in(link, "COPY t FROM STDIN (FORMAT binary)", LONG, &error), &error);
    done(lic_pg_copy_put(link, binary_rows(room, 5, 5), LONG, &error), &error);
    done(lic_pg_copy_put(link, binary_rows(room, 1, COPIED), LONG, &error), &error);
    failed(run(link, "SELECT 1", LONG, &result, &error), &error, LICET_MISUSE, LICET_KIND_MISUSE,
           "the connection to Postgres is busy");
    failed(lic_pg_copy_end(link, LONG, &count, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres reports an error (23505: ...");
    assert_int_equal(count, 0);
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM t"), 0);
    failed(lic_pg_copy_in(link, "COPY t FROM STDIN", LONG, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "Postgres sends rows in no form that was asked for");
    assert_true(lic_pg_link_lost(link));
    failed(lic_pg_copy_put(link, LIC_STR("x"), LONG, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "the connection to Postgres is lost");
    close_link(link);
}

static void a_copy_that_is_closed_has_not_been(void **state)
{
    static char  room[COPIED * 14];
    lic_pg_link *other = open_link();
    lic_pg_link *link  = open_named("licet_test_copier");
    licet_error *error = NULL;
    uint64_t     until = lic_monotonic_ms() + 60000;

    (void)state;
    command(other, "CREATE TABLE public.licet_test_copied (x int8)");
    done(lic_pg_copy_in(link, "COPY public.licet_test_copied FROM STDIN (FORMAT binary)", LONG, &error), &error);
    done(lic_pg_copy_put(link, binary_rows(room, 1, COPIED), LONG, &error), &error);
    lic_pg_link_close(link);
    while (sessions_named(other, "licet_test_copier") > 0 && lic_monotonic_ms() < until)
        lic_sleep_us(1000);
    assert_int_equal(ask_i64(other, "SELECT count(*) FROM public.licet_test_copied"), 0);
    command(other, "DROP TABLE public.licet_test_copied");
    close_link(other);
}

static void a_copy_to_a_stopped_server_ends_at_its_deadline(void **state)
{
    static char   room[COPIED * 14];
    const lic_str all   = binary_rows(room, 1, COPIED);
    lic_pg_link  *link  = open_link();
    licet_error  *error = NULL;
    licet_status  status;
    uint64_t      before;
    uint64_t      took;
    pid_t         pid;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8)");
    pid = (pid_t)ask_i64(link, "SELECT pg_backend_pid()::int8");
    done(lic_pg_copy_in(link, "COPY t FROM STDIN (FORMAT binary)", LONG, &error), &error);
    if (kill(pid, SIGSTOP) != 0) {
        close_link(link);
        print_message("skipped: the server's processes can not be stopped from here\n");
        skip();
    }
    before = lic_monotonic_ms();
    status = lic_pg_copy_put(link, all, in_ms(100), &error);
    took   = lic_monotonic_ms() - before;
    kill(pid, SIGCONT);
    failed(status, &error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "no answer from Postgres in time");
    assert_true(took >= 100 && took <= 100 + SLACK_MS);
    assert_true(lic_pg_link_lost(link));
    close_link(link);
}

/* ------------------------------------------------------------ a server that can not be trusted */

static bool take_any(void *context, const char *row, size_t size, licet_status *status, licet_error **error)
{
    size_t *bytes = context;

    (void)status;
    (void)error;
    for (size_t i = 0; i < size; i++)
        *bytes += row[i] != 0;
    return true;
}

/* Opens, asks, takes rows, and runs into an error. How that went. */
static licet_status converse(const char *string, uint64_t deadline_ms)
{
    const lic_pg_wait wait   = in_ms(deadline_ms);
    lic_pg_link      *link   = NULL;
    PGresult         *result = NULL;
    size_t            bytes  = 0;
    licet_error      *error  = NULL;
    licet_status      status = try_open(string, &usual, wait, &link, &error);
    lic_str           text;

    if (status == LICET_OK)
        status = run(link, "SELECT 'some text'::text, 5::int8", wait, &result, &error);
    if (status == LICET_OK && lic_pg_get_text(result, 0, 0, &text))
        assert_true(text.size < 1024);
    PQclear(result);
    if (status == LICET_OK)
        status = lic_pg_copy_out(link, "COPY (SELECT x::int8 FROM generate_series(1, 3) x) TO STDOUT (FORMAT binary)",
                                 wait, QUIET_MS, take_any, &bytes, &error);
    if (status == LICET_OK)
        status = run(link, "SELECT 1 / 0", wait, &result, &error);
    licet_error_free(error);
    lic_pg_link_close(link);
    assert_int_equal(memory.used, 0);
    return status;
}

/* A proxy in front of the server; false: it has no Unix socket that one could stand before. */
static void start_proxy(pg_proxy *proxy)
{
    char path[108];

    need_server();
    if (!server_socket(path)) {
        print_message("skipped: the server has no Unix socket\n");
        skip();
    }
    pg_proxy_start(proxy, path);
}

/* How long it took with the plan, in ms. */
static uint64_t converse_through(pg_proxy *proxy, const char *string, pg_proxy_action action, size_t at)
{
    enum { DEADLINE_MS = 40 };
    const uint64_t before = lic_monotonic_ms();

    pg_proxy_plan(proxy, action, at);
    converse(string, DEADLINE_MS);
    return lic_monotonic_ms() - before;
}

static void any_byte_of_the_server_s_answers_may_be_wrong(void **state)
{
    static const pg_proxy_action actions[] = { PG_PROXY_CHANGE, PG_PROXY_CUT, PG_PROXY_REPEAT };
    /* libpq makes room for as long a message as it is told will come, which takes the address sanitizer a while: on a
     * busy machine longer than this, but not time after time. */
    enum { MOST_MS = 3000, ATTEMPTS = 4, STEP = 2 };
    pg_proxy proxy;
    char     string[1024];
    size_t   count;
    size_t   tried = 0;

    (void)state;
    start_proxy(&proxy);
    server_string(string, sizeof string, "host", proxy.folder);
    assert_int_equal(converse(string, 10000), LICET_UNAVAILABLE); /* the division, and nothing before it */
    count = proxy.count;
    assert_true(count > 500 && count < PG_PROXY_SEEN_BYTES);
    for (size_t at = 0; at < count; at += STEP) {
        uint64_t took = UINT64_MAX;

        for (int attempt = 0; took > MOST_MS && attempt < ATTEMPTS; attempt++)
            took = converse_through(&proxy, string, actions[at / STEP % COUNT(actions)], at);
        if (took > MOST_MS)
            fail_msg("byte %zu took %llu ms", at, (unsigned long long)took);
        tried++;
    }
    print_message("%zu bytes of answers changed, cut or repeated\n", tried);
    pg_proxy_stop(&proxy);
}

static void answers_that_come_byte_by_byte_are_answers(void **state)
{
    pg_proxy     proxy;
    char         string[1024];
    lic_pg_link *link;
    licet_error *error = NULL;

    (void)state;
    start_proxy(&proxy);
    server_string(string, sizeof string, "host", proxy.folder);
    pg_proxy_plan(&proxy, PG_PROXY_TRICKLE, 0);
    done(try_open(string, &usual, LONG, &link, &error), &error);
    assert_text(ask(link, "SELECT repeat('x', 100)"),
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    close_link(link);
    pg_proxy_stop(&proxy);
}

static void a_connection_that_goes_quiet_holds_nobody_beyond_the_deadline(void **state)
{
    pg_proxy     proxy;
    char         string[1024];
    lic_pg_link *link;
    PGresult    *result;
    licet_error *error = NULL;
    uint64_t     before;
    uint64_t     took;

    (void)state;
    start_proxy(&proxy);
    server_string(string, sizeof string, "host", proxy.folder);
    done(try_open(string, &usual, LONG, &link, &error), &error);
    assert_int_equal(ask_i64(link, "SELECT 3::int8"), 3);
    pg_proxy_plan(&proxy, PG_PROXY_HOLD, proxy.count + 9); /* amid the next answer */
    before = lic_monotonic_ms();
    failed(run(link, "SELECT 3::int8", in_ms(100), &result, &error), &error, LICET_DEADLINE_EXCEEDED,
           LICET_KIND_DEADLINE, "no answer from Postgres in time");
    took = lic_monotonic_ms() - before;
    assert_true(took >= 100 && took <= 100 + SLACK_MS);
    close_link(link);
    pg_proxy_stop(&proxy);
}

static void a_server_that_stops_amid_rows_is_waited_for_until_it_has_been_quiet_for_long(void **state)
{
    rows         r = { .count = 0 };
    pg_proxy     proxy;
    char         string[1024];
    lic_pg_link *link;
    licet_error *error = NULL;
    uint64_t     before;
    uint64_t     took;

    (void)state;
    start_proxy(&proxy);
    server_string(string, sizeof string, "host", proxy.folder);
    done(try_open(string, &usual, LONG, &link, &error), &error);
    pg_proxy_plan(&proxy, PG_PROXY_HOLD, proxy.count + 2000);
    before = lic_monotonic_ms();
    failed(lic_pg_copy_out(link, "COPY (SELECT x::int8 FROM generate_series(1, 1000) x) TO STDOUT (FORMAT binary)",
                           LONG, 100, take_row, &r, &error),
           &error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, "no answer from Postgres in time");
    took = lic_monotonic_ms() - before;
    assert_true(took >= 100 && took < 10000);
    assert_true(r.count > 0);
    assert_true(lic_pg_link_lost(link));
    close_link(link);
    pg_proxy_stop(&proxy);
}

/* Offset of the process number in the message that tells it. */
static size_t process_number_at(const pg_proxy *proxy)
{
    static const unsigned char head[] = { 'K', 0, 0, 0, 12 };
    size_t                     count  = proxy->count;

    for (size_t i = 0; i + sizeof head < count; i++)
        if (memcmp(proxy->seen + i, head, sizeof head) == 0)
            return i + sizeof head;
    fail_msg("no process number");
    return 0;
}

static void behind_a_pooler_nothing_is_kept_on_the_server(void **state)
{
    pg_proxy     proxy;
    char         string[1024];
    lic_pg_link *link;
    licet_error *error = NULL;
    uint64_t     before;

    (void)state;
    start_proxy(&proxy);
    server_string(string, sizeof string, "host", proxy.folder);
    done(try_open(string, &usual, LONG, &link, &error), &error);
    assert_false(lic_pg_link_server(link)->is_pooled);
    lic_pg_link_close(link);

    pg_proxy_plan(&proxy, PG_PROXY_CHANGE, process_number_at(&proxy)); /* a pooler has none of its own to tell */
    done(try_open(string, &usual, LONG, &link, &error), &error);
    assert_true(lic_pg_link_server(link)->is_pooled);
    before = lic_pg_link_round_trips(link);
    assert_int_equal(ask_i64(link, "SELECT 3::int8"), 3);
    assert_int_equal(ask_i64(link, "SELECT 3::int8"), 3);
    assert_int_equal(lic_pg_link_round_trips(link) - before, 4); /* each with the question who answered */
    assert_int_equal(ask_i64(link, "SELECT count(*) FROM pg_prepared_statements"), 0);
    assert_text(ask(link, "SELECT source FROM pg_settings WHERE name = 'search_path'"), "default");
    assert_text(ask(link, "SELECT source FROM pg_settings WHERE name = 'statement_timeout'"), "default");
    close_link(link);
    pg_proxy_stop(&proxy);
}

static void after_a_missing_prepared_statement_a_link_runs_unprepared(void **state)
{
    lic_pg_link *link   = open_link();
    PGresult    *result = NULL;
    licet_error *error  = NULL;

    (void)state;
    assert_int_equal(ask_i64(link, "SELECT 3::int8"), 3);
    command(link, "DEALLOCATE ALL");
    failed(run(link, "SELECT 3::int8", LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "a prepared statement is not there: is there a pooler in between? (26000: ...");
    assert_int_equal(ask_i64(link, "SELECT 3::int8"), 3);
    close_link(link);
}

static void after_a_change_of_tables_a_link_is_made_anew(void **state)
{
    lic_pg_link *link   = open_link();
    PGresult    *result = NULL;
    licet_error *error  = NULL;

    (void)state;
    command(link, "CREATE TEMP TABLE t (x int8); INSERT INTO t VALUES (3)");
    PQclear(ask(link, "SELECT * FROM t"));
    command(link, "ALTER TABLE t ADD y text");
    failed(run(link, "SELECT * FROM t", LONG, &result, &error), &error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE,
           "a prepared statement does not fit any more (0A000: \"cached plan must not change result type\")");
    assert_true(lic_pg_link_lost(link));
    close_link(link);
}

static int begin(void **state)
{
    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_says_nothing_costs_no_more_than_the_deadline),
        cmocka_unit_test(a_server_that_sends_byte_after_byte_costs_no_more_than_the_deadline),
        cmocka_unit_test(a_server_that_hangs_up_or_makes_noise_is_unavailable),
        cmocka_unit_test(where_nobody_listens_the_reason_is_told_without_the_string),
        cmocka_unit_test(the_bell_ends_waits_that_are_and_that_come),
        cmocka_unit_test(a_connect_timeout_of_the_string_counts_if_it_is_sooner),
        cmocka_unit_test(opening_without_memory_is_out_of_memory),
        cmocka_unit_test(a_link_knows_its_server),
        cmocka_unit_test(a_session_has_the_settings_that_we_rely_on),
        cmocka_unit_test(an_operator_s_stop_of_writes_holds_for_links_too),
        cmocka_unit_test(what_no_retry_mends_is_the_string_s_fault),
        cmocka_unit_test(fields_are_read_only_as_what_they_are),
        cmocka_unit_test(a_statement_is_prepared_once_and_then_is_one_round_trip),
        cmocka_unit_test(more_statements_than_are_kept_prepared_run_all_the_same),
        cmocka_unit_test(commands_are_several_at_once_and_a_commit_that_rolled_back_is_none),
        cmocka_unit_test(an_error_at_the_commit_is_the_statement_s),
        cmocka_unit_test(errors_of_the_server_mean_what_link_h_says),
        cmocka_unit_test(an_error_inside_the_server_loses_the_link),
        cmocka_unit_test(words_of_the_server_are_cut_and_escaped),
        cmocka_unit_test(what_is_no_answer_to_a_statement_loses_the_link),
        cmocka_unit_test(a_notification_is_noticed_once),
        cmocka_unit_test(a_deadline_is_kept_and_loses_the_link),
        cmocka_unit_test(an_answer_that_is_late_can_still_be_received),
        cmocka_unit_test(the_server_s_own_timeout_keeps_the_link),
        cmocka_unit_test(a_stopped_server_holds_nobody_beyond_the_deadline),
        cmocka_unit_test(a_bell_ends_a_statement),
        cmocka_unit_test(signals_every_200_microseconds_change_nothing),
        cmocka_unit_test(a_connection_that_the_server_ends_is_lost_and_raises_no_signal),
        cmocka_unit_test(a_connection_that_ends_while_we_wait_is_lost),
        cmocka_unit_test(closing_says_goodbye),
        cmocka_unit_test(a_child_that_abandons_a_link_leaves_it_to_its_parent),
        cmocka_unit_test(rows_come_out_one_by_one),
        cmocka_unit_test(an_error_amid_rows_is_the_copy_s),
        cmocka_unit_test(who_takes_rows_may_stop),
        cmocka_unit_test(rows_in_another_form_are_refused),
        cmocka_unit_test(rows_go_in_in_pieces_of_any_size),
        cmocka_unit_test(rows_that_the_server_refuses_are_told_at_the_end),
        cmocka_unit_test(a_copy_that_is_closed_has_not_been),
        cmocka_unit_test(a_copy_to_a_stopped_server_ends_at_its_deadline),
        cmocka_unit_test(any_byte_of_the_server_s_answers_may_be_wrong),
        cmocka_unit_test(answers_that_come_byte_by_byte_are_answers),
        cmocka_unit_test(a_server_that_stops_amid_rows_is_waited_for_until_it_has_been_quiet_for_long),
        cmocka_unit_test(a_connection_that_goes_quiet_holds_nobody_beyond_the_deadline),
        cmocka_unit_test(behind_a_pooler_nothing_is_kept_on_the_server),
        cmocka_unit_test(after_a_missing_prepared_statement_a_link_runs_unprepared),
        cmocka_unit_test(after_a_change_of_tables_a_link_is_made_anew),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
