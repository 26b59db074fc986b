/* core/datastore/postgres/sql/token.sql beside token.c: the same tokens, byte for byte. Needs the server that
 * LICET_TEST_POSTGRES names; works in a schema of its own there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/token.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "parsed.h"

#define SQL_PATH LICET_SOURCE_DIR "/core/datastore/postgres/sql/token.sql"

typedef struct server {
    PGconn         *connection;
    char            schema[32];
    lic_pg_identity identity;
    lic_memory      memory;
    lic_arena       arena;
} server;

static server the_server; /* made once for all tests; without connection: none to be had */

/* The first field of a query's first row, as text; NULL: null. Lives until the next call. */
static const char *ask(const char *sql, const char *first, const char *second)
{
    static PGresult  *result;
    const char *const values[] = { first, second };

    PQclear(result);
    result = PQexecParams(the_server.connection, sql, second != NULL ? 2 : first != NULL, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(the_server.connection));
    return PQntuples(result) == 0 || PQgetisnull(result, 0, 0) ? NULL : PQgetvalue(result, 0, 0);
}

static void run(const char *sql)
{
    PGresult *result = PQexec(the_server.connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%.60s: %s", sql, PQerrorMessage(the_server.connection));
    PQclear(result);
}

/* The text with the schema's name in it. */
static const char *named(const char *sql)
{
    static char text[65536];
    size_t      size = 0;

    while (*sql != '\0') {
        if (strncmp(sql, "{schema}", 8) == 0) {
            size += (size_t)snprintf(text + size, sizeof text - size, "%s", the_server.schema);
            sql += 8;
        } else {
            text[size++] = *sql++;
        }
        assert_true(size < sizeof text - 64);
    }
    text[size] = '\0';
    return text;
}

static void hex_of(const uint8_t *bytes, size_t size, char *hex)
{
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

/* Another store, in the database and in C. */
static void become(uint8_t seed)
{
    lic_pg_identity *identity = &the_server.identity;
    char             mark[2 * LIC_PG_MARK_BYTES + 1];
    char             key[2 * LIC_PG_KEY_BYTES + 1];

    for (size_t i = 0; i < LIC_PG_MARK_BYTES; i++)
        identity->mark[i] = (uint8_t)(seed + 37 * i);
    for (size_t i = 0; i < LIC_PG_KEY_BYTES; i++)
        identity->key[i] = (uint8_t)(seed * 11 + 101 * i);
    hex_of(identity->mark, LIC_PG_MARK_BYTES, mark);
    hex_of(identity->key, LIC_PG_KEY_BYTES, key);
    ask(named("UPDATE {schema}.meta SET store = $1::uuid, token_key = decode($2, 'hex')"), mark, key);
}

static int connect_to_server(void **state)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");
    server     *s        = &the_server;
    size_t      size;
    char       *sql;

    (void)state;
    lic_memory_init(&s->memory, NULL, SIZE_MAX);
    lic_arena_init(&s->arena, &s->memory);
    if (conninfo == NULL || conninfo[0] == '\0')
        return 0;
    s->connection = PQconnectdb(conninfo);
    if (PQstatus(s->connection) != CONNECTION_OK)
        return -1;
    snprintf(s->schema, sizeof s->schema, "licet_token_%d", (int)getpid());
    run(named("CREATE SCHEMA {schema}"));
    run(named("CREATE TABLE {schema}.meta (store uuid, token_key bytea)"));
    run(named("INSERT INTO {schema}.meta VALUES (gen_random_uuid(), '')"));
    sql = read_whole_file(SQL_PATH, &size);
    assert_non_null(sql);
    run(named(sql));
    test_free(sql);
    s->identity.timeline =
        (uint32_t)atol(ask("SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int", NULL, NULL));
    become(1);
    return 0;
}

static int leave_server(void **state)
{
    server *s = &the_server;

    (void)state;
    if (s->connection != NULL) {
        run("SET client_min_messages = warning");
        run(named("DROP SCHEMA {schema} CASCADE"));
        ask("SELECT 1", NULL, NULL);
        PQfinish(s->connection);
    }
    lic_arena_free(&s->arena);
    return 0;
}

static void need_server(void)
{
    if (the_server.connection == NULL)
        skip();
}

/* The token that SQL makes of a snapshot as text; own: 0: none. */
static const char *sql_token(const char *snapshot, uint64_t own)
{
    char number[24];

    snprintf(number, sizeof number, "%llu", (unsigned long long)own);
    return own == 0 ? ask(named("SELECT {schema}._token($1::pg_snapshot, NULL)"), snapshot, NULL)
                    : ask(named("SELECT {schema}._token($1::pg_snapshot, $2::xid8)"), snapshot, number);
}

/* SQL's is C's, and C reads it. */
static void assert_same_token(const char *text, uint64_t own)
{
    server         *s = &the_server;
    lic_pg_snapshot snapshot;
    lic_pg_snapshot read;
    licet_token     token;
    bool            exact;
    const char     *made = sql_token(text, own);

    assert_int_equal(lic_pg_snapshot_read(&s->arena, (lic_str){ text, strlen(text) }, &snapshot, NULL), LICET_OK);
    if (own != 0)
        assert_int_equal(lic_pg_snapshot_complete(&s->arena, &snapshot, own, NULL), LICET_OK);
    assert_true(lic_pg_token_make(&s->identity, &snapshot, &token));
    assert_string_equal(made, token.text);
    assert_int_equal(lic_pg_token_read(&s->identity, &s->arena, (lic_str){ made, strlen(made) }, &read, &exact, NULL),
                     LICET_OK);
    assert_int_equal(exact, lic_pg_snapshot_equal(&read, &snapshot));
    assert_true(read.xmin == snapshot.xmin && read.xmax == snapshot.xmax);
}

static void the_seal_in_sql_is_hmac_sha256(void **state)
{
    /* RFC 4231, cases 1 to 4: those with keys of at most 32 bytes. */
    static const char *const cases[][3] = {
        { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b000000000000000000000000", "4869205468657265",
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
        { "4a65666500000000000000000000000000000000000000000000000000000000",
          "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa000000000000000000000000",
          "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
          "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
        { "0102030405060708090a0b0c0d0e0f1011121314151617181900000000000000",
          "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
          "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
    };

    (void)state;
    need_server();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *sql = named("SELECT encode({schema}._seal(decode($2, 'hex'), decode($1, 'hex')), 'hex')");

        assert_string_equal(ask(sql, cases[i][0], cases[i][1]), cases[i][2]);
    }
}

#define LARGEST 6 /* xmax of the small ones */

static void every_small_snapshot_has_the_same_token(void **state)
{
    char text[64];

    (void)state;
    need_server();
    for (uint32_t xmin = 1; xmin <= LARGEST; xmin++) {
        for (uint32_t xmax = xmin; xmax <= LARGEST; xmax++) {
            for (uint32_t subset = 0; subset < 1u << (xmax - xmin); subset++) {
                int size = snprintf(text, sizeof text, "%u:%u:", xmin, xmax);

                for (uint32_t x = xmin; x < xmax; x++)
                    if (subset >> (x - xmin) & 1)
                        size += snprintf(text + size, 8, "%s%u", text[size - 1] == ':' ? "" : ",", x);
                for (uint64_t own = 0; own <= LARGEST + 3; own++)
                    assert_same_token(text, own);
            }
        }
    }
}

/* `count` running, at distances whose size the seed chooses. */
static void print_crowd(char *text, size_t room, uint64_t first, size_t count, uint64_t seed)
{
    static const uint64_t spans[] = { 1, 9, 9, 40, 300, 5000, 1000000 };
    uint64_t              x       = first;
    char                  list[16384];
    size_t                size = 0;

    list[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        size += (size_t)snprintf(list + size, sizeof list - size, "%s%llu", i == 0 ? "" : ",", (unsigned long long)x);
        x += 1 + (seed >> 33) % spans[(seed >> 60) % 7];
    }
    snprintf(text, room, "%llu:%llu:%s", (unsigned long long)first, (unsigned long long)(x + seed % 3), list);
}

static void crowded_snapshots_have_the_same_token(void **state)
{
    static const uint64_t firsts[] = { 1, 83585, UINT64_C(4294967290), UINT64_C(9223372036000000000) };
    char                  text[20000];

    (void)state;
    need_server();
    for (size_t i = 0; i < 400; i++) {
        const uint64_t first = firsts[i % 4];

        become((uint8_t)i);
        print_crowd(text, sizeof text, first, i / 2, i);
        assert_same_token(text, 0);
        assert_same_token(text, first);
        assert_same_token(text, first + 40 * i);
    }
}

static void where_the_room_ends_both_leave_out_what_runs(void **state)
{
    char text[4096];

    (void)state;
    need_server();
    /* "5:343:0" and ",2" or ",10" or ",100" until there is none. */
    for (size_t count = 165; count <= 175; count++) {
        for (uint32_t last = 1; last < 1000; last *= 9) {
            int size = snprintf(text, sizeof text, "5:%zu:5", 5 + 2 * count + last);

            for (size_t i = 1; i < count; i++)
                size += snprintf(text + size, 16, ",%zu", 5 + 2 * i);
            snprintf(text + size, 16, ",%zu", 5 + 2 * (count - 1) + last);
            assert_same_token(text, 0);
        }
    }
}

static void a_late_transaction_counts_those_before_it_as_running(void **state)
{
    (void)state;
    need_server();
    for (uint64_t gap = 0; gap < 400; gap++) {
        assert_same_token("100:100:", 100 + gap);
        assert_same_token("98:100:98", 100 + gap);
    }
    assert_same_token("100:100:", 65536);
}

/* C refuses to list them; SQL need not, since they would not fit. */
static void a_very_late_transaction_has_an_inexact_token(void **state)
{
    server         *s    = &the_server;
    const char     *made = NULL;
    lic_pg_snapshot read;
    bool            exact = true;

    (void)state;
    need_server();
    made = sql_token("7:100:7", UINT64_C(5000000000));
    assert_int_equal(lic_pg_token_read(&s->identity, &s->arena, (lic_str){ made, strlen(made) }, &read, &exact, NULL),
                     LICET_OK);
    assert_false(exact);
    assert_true(read.xmin == 7 && read.xmax == UINT64_C(5000000001) && read.xip_count == 0);
}

static void a_transactions_token_sees_it(void **state)
{
    server         *s = &the_server;
    char            text[4096];
    char            before[4096];
    uint64_t        xid;
    lic_pg_snapshot read;
    bool            exact;

    (void)state;
    need_server();
    snprintf(before, sizeof before, "%s", ask("SELECT pg_current_snapshot()", NULL, NULL));
    run("BEGIN");
    xid = strtoull(ask("SELECT pg_current_xact_id()", NULL, NULL), NULL, 10);
    snprintf(text, sizeof text, "%s", ask("SELECT pg_current_snapshot()", NULL, NULL));
    assert_same_token(text, xid);
    snprintf(text, sizeof text, "%s",
             ask(named("SELECT {schema}._token(pg_current_snapshot(), pg_current_xact_id())"), NULL, NULL));
    run("COMMIT");
    assert_int_equal(lic_pg_token_read(&s->identity, &s->arena, (lic_str){ text, strlen(text) }, &read, &exact, NULL),
                     LICET_OK);
    assert_true(lic_pg_snapshot_sees(&read, xid));
}

static void tokens_do_not_depend_on_the_sessions_settings(void **state)
{
    static const char *const settings[] = {
        "standard_conforming_strings = off", "bytea_output = escape", "DateStyle = 'German'",
        "search_path = pg_catalog",          "search_path = ''",
    };
    char sql[128];

    (void)state;
    need_server();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        snprintf(sql, sizeof sql, "SET escape_string_warning = off; SET %s; DISCARD PLANS", settings[i]);
        run(sql);
        assert_same_token("83585:83590:83585,83587", 83587);
        run("RESET ALL");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seal_in_sql_is_hmac_sha256),
        cmocka_unit_test(every_small_snapshot_has_the_same_token),
        cmocka_unit_test(crowded_snapshots_have_the_same_token),
        cmocka_unit_test(where_the_room_ends_both_leave_out_what_runs),
        cmocka_unit_test(a_late_transaction_counts_those_before_it_as_running),
        cmocka_unit_test(a_very_late_transaction_has_an_inexact_token),
        cmocka_unit_test(a_transactions_token_sees_it),
        cmocka_unit_test(tokens_do_not_depend_on_the_sessions_settings),
    };

    return cmocka_run_group_tests(tests, connect_to_server, leave_server);
}
