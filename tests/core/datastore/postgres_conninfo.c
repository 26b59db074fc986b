/* core/datastore/postgres/conninfo.c: what is refused before anything is opened, what libpq is given of the rest, and
 * that nobody is told a password. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/conninfo.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "failing_memory.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Wherever it stands in a string of these tests, it may stand in no error. */
#define SECRET "s3cret"

static lic_str text_of(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

/* Exactly this message, after "connection string: ". */
static void assert_refused_bytes(lic_str text, bool require_tls, const char *expected)
{
    static const char prefix[] = "connection string: ";
    lic_memory        memory;
    lic_pg_conninfo  *conninfo = (lic_pg_conninfo *)&memory;
    licet_error      *error    = NULL;
    char              message[1025];
    licet_str         said;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    if (lic_pg_conninfo_read(&memory, text, require_tls, &conninfo, &error) != LICET_INVALID_ARGUMENT)
        fail_msg("accepted, or failed in another way: %.*s", (int)(text.size < 200 ? text.size : 200), text.data);
    assert_null(conninfo);
    assert_int_equal(licet_error_kind(error), LICET_KIND_CONFIG);
    said = licet_error_message(error);
    memcpy(message, said.data, said.size);
    message[said.size] = '\0';
    assert_null(strstr(message, SECRET));
    assert_memory_equal(message, prefix, sizeof prefix - 1);
    assert_string_equal(message + sizeof prefix - 1, expected);
    licet_error_free(error);
    assert_int_equal(memory.used, 0);
}

static void assert_refused(const char *text, const char *expected)
{
    assert_refused_bytes(text_of(text), false, expected);
}

typedef struct accepted {
    lic_memory       memory;
    lic_pg_conninfo *conninfo;
} accepted;

static void accept(accepted *a, const char *text, bool require_tls)
{
    licet_error *error = NULL;

    lic_memory_init(&a->memory, NULL, SIZE_MAX);
    if (lic_pg_conninfo_read(&a->memory, text_of(text), require_tls, &a->conninfo, &error) != LICET_OK)
        fail_msg("refused: %s: %.*s", text, (int)licet_error_message(error).size, licet_error_message(error).data);
}

static void accepted_clear(accepted *a)
{
    lic_pg_conninfo_free(a->conninfo);
    assert_int_equal(a->memory.used, 0);
}

/* NULL: libpq is not given the keyword. */
static const char *value_of(const accepted *a, const char *keyword)
{
    const char *const *keywords = lic_pg_conninfo_keywords(a->conninfo);

    for (size_t i = 0; keywords[i] != NULL; i++)
        if (strcmp(keywords[i], keyword) == 0)
            return lic_pg_conninfo_values(a->conninfo)[i];
    return NULL;
}

static void assert_value(const accepted *a, const char *keyword, const char *expected)
{
    const char *value = value_of(a, keyword);

    if (value == NULL)
        fail_msg("%s is not given", keyword);
    assert_string_equal(value, expected);
}

/* libpq, asked for the same text, says the same of every keyword, save that "," stands for two usual ports. */
static void assert_agrees_with_libpq(const accepted *a, const char *text)
{
    PQconninfoOption *options = PQconninfoParse(text, NULL);

    assert_non_null(options);
    for (PQconninfoOption *o = options; o->keyword != NULL; o++)
        if (o->val != NULL && *o->val != '\0' && strcmp(o->keyword, "client_encoding") != 0 && strcmp(o->val, ",") != 0)
            assert_value(a, o->keyword, o->val);
    PQconninfoFree(options);
}

typedef struct row {
    const char *text;
    const char *keyword;
    const char *value; /* NULL: not given */
} row;

static void assert_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        accepted a;

        accept(&a, rows[i].text, false);
        assert_agrees_with_libpq(&a, rows[i].text);
        if (rows[i].value == NULL)
            assert_null(value_of(&a, rows[i].keyword));
        else
            assert_value(&a, rows[i].keyword, rows[i].value);
        accepted_clear(&a);
    }
}

/* ------------------------------------------------------------ forms */

static void texts_that_look_like_connection_strings_are_told_from_others(void **state)
{
    static const struct {
        const char *text;
        bool        is;
    } cases[] = {
        { "postgresql://", true },
        { "postgres://db/app", true },
        { "host=db", true },
        { " \n host = db", true },
        { "nosuch=1", true },
        { "", false },
        { "licet", false },
        { "=x", false },
        { "host", false },
        { "mysql://app@db/app?x=1", false },
        { "PostgreSQL://db", false },
        { "memory:", false },
        { "memory:x=1", false },
        { "sqlite:a=b.db", false },
        { "redis://127.0.0.1/", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (lic_pg_conninfo_is(text_of(cases[i].text)) != cases[i].is)
            fail_msg("%s", cases[i].text);
    assert_false(lic_pg_conninfo_is((lic_str){ 0 }));
}

static void pairs_are_read_as_libpq_reads_them(void **state)
{
    static const row rows[] = {
        { "host=db", "host", "db" },
        { "  host = db\tport=\n5433 ", "port", "5433" },
        { "host='my db'", "host", "my db" },
        { "host='it\\'s' port=1", "host", "it's" },
        { "host=a\\ b\\\\c", "host", "a b\\c" },
        { "host=db\\", "host", "db" },
        { "host='' user=app", "host", NULL },
        { "dbname='host=evil'", "dbname", "host=evil" },
        { "dbname=postgresql://evil/db", "dbname", "postgresql://evil/db" },
        { "password='a b=c' host=db", "password", "a b=c" },
        { "password='two\nlines' host=db", "password", "two\nlines" },
        { "host=\xc3\xa4.example", "host", "\xc3\xa4.example" },
        { "host=a,b,c port=1,,3", "port", "1,,3" },
        { "host=a,b,c port=5", "port", "5" },
        { "host=a,b hostaddr=10.0.0.1,::1", "hostaddr", "10.0.0.1,::1" },
        { "hostaddr=fe80::1%eth0", "hostaddr", "fe80::1%eth0" },
        { "host=/var/run/postgresql", "host", "/var/run/postgresql" },
        { "host=@abstract", "host", "@abstract" },
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

static void uris_are_read_as_libpq_reads_them(void **state)
{
    static const row rows[] = {
        { "postgresql://", "host", NULL },
        { "postgresql:///app", "dbname", "app" },
        { "postgresql:///app", "host", NULL },
        { "postgres://db", "host", "db" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "user", "app" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "password", "s3cret" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "host", "db" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "port", "5433" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "dbname", "x" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "sslmode", "require" },
        { "postgresql://app:s3cret@db:5433/x?sslmode=require&application_name=a%20b", "application_name", "a b" },
        { "postgresql://app:a%40b%3A%2f%25@db", "password", "a@b:/%" },
        { "postgresql://app:@db", "password", NULL },
        { "postgresql://app@db", "password", NULL },
        { "postgresql://a?b:c?d@db", "password", "c?d" },
        { "postgresql://[::1]:5433/x", "host", "::1" },
        { "postgresql://[::1]:5433/x", "port", "5433" },
        { "postgresql://[fe80::1%25eth0]", "host", "fe80::1%eth0" },
        { "postgresql://a:1,b,[::1]:3/x", "host", "a,b,::1" },
        { "postgresql://a:1,b,[::1]:3/x", "port", "1,,3" },
        { "postgresql://a,b,c,d,e,f,g:1", "port", ",,,,,,1" },
        { "postgresql://a,b/x", "port", NULL },
        { "postgresql://%2Fvar%2Frun/x", "host", "/var/run" },
        { "postgresql:///x?host=/tmp&port=6000", "host", "/tmp" },
        { "postgresql:///x?host=/tmp&port=6000", "port", "6000" },
        { "postgresql://db?user=app", "user", "app" },
        { "postgresql://db/?ssl=true", "sslmode", "require" },
        { "postgresql://db/x?", "dbname", "x" },
        { "postgresql://db/a%2Fb", "dbname", "a/b" },
        { "postgresql://db/a+b", "dbname", "a+b" },
    };

    (void)state;
    assert_rows(rows, COUNT(rows));
}

/* ------------------------------------------------------------ what is refused */

static void texts_that_are_no_connection_string_are_refused(void **state)
{
    static char long_text[20000];

    (void)state;
    assert_refused("", "it is empty");
    assert_refused(" \n ", "it is empty");
    assert_refused_bytes((lic_str){ NULL, 0 }, false, "it is empty");
    assert_refused("mysql://app:s3cret@db/app", "it is neither a URI of Postgres nor keyword=value");
    assert_refused("licet", "it is neither a URI of Postgres nor keyword=value");
    assert_refused_bytes(LIC_STR("host=db password=s3cret\0 sslmode=disable"), false, "it has a NUL");
    assert_refused("host=db password=s3cret application_name=\xff", "it is not UTF-8");
    memset(long_text, 'x', sizeof long_text - 1);
    memcpy(long_text, "password=s3cret ", 16);
    assert_refused(long_text, "it is longer than 16384 bytes");
}

static void pairs_that_are_none_are_refused(void **state)
{
    (void)state;
    assert_refused("host=db password=s3cret dbname='app", "dbname has a quote that is not closed");
    assert_refused("host=db password='s3cret", "password has a quote that is not closed");
    assert_refused("host=db password='s3cret\\'", "password has a quote that is not closed");
    assert_refused("host=db password='s3cret'more user=x", "password has more behind its quoted value");
    assert_refused("host=db password=s3cret =x", "a value without a keyword");
    assert_refused("host=db password=s3cret port", "a keyword without a value");
    assert_refused("host=db password=x s3cret", "a keyword without a value");
    assert_refused("host=db password=s3cret application_name=x\ny", "a keyword without a value");
}

static void unknown_keywords_are_named_unless_they_may_be_a_part_of_a_password(void **state)
{
    (void)state;
    assert_refused("host=db nosuchkey=1 password=s3cret", "unknown keyword \"nosuchkey\"");
    assert_refused("host=db Port=1", "unknown keyword \"Port\"");
    assert_refused("host=db password=s3cret nosuchkey=1", "an unknown keyword behind the password");
    assert_refused("host=db password=x s3cret=1", "an unknown keyword behind the password");
    assert_refused("host=db sslpassword=x s3cret=1", "an unknown keyword behind the password");
    assert_refused("postgresql://app:s3cret@db:5432/app?nosuch=1", "an unknown keyword behind the password");
    assert_refused("postgresql://app@db/app?nosuch=1", "unknown keyword \"nosuch\"");
    assert_refused("postgresql://app@db/app?ssl=false", "ssl may not be used");
}

static void settings_from_elsewhere_are_refused(void **state)
{
    (void)state;
    assert_refused("service=evil password=s3cret", "service may not be used");
    assert_refused("password=s3cret service=evil", "service may not be used");
    assert_refused("postgresql://db?service=evil", "service may not be used");
    assert_refused("host=db password=s3cret replication=database", "replication may not be used");
    assert_refused("host=db sslkeylogfile=/dev/stdout", "sslkeylogfile may not be used");
    assert_refused("host=db oauth_issuer=x", "oauth_issuer may not be used");
    assert_refused("host=db password=s3cret sslkey=engine:evil", "sslkey names a crypto engine");
}

static void a_keyword_given_twice_is_refused(void **state)
{
    (void)state;
    assert_refused("host=good host=evil password=s3cret", "host is given twice");
    assert_refused("host= '' host=evil", "host is given twice");
    assert_refused("postgresql://good?host=evil", "host is given twice");
    assert_refused("postgresql://db:1?port=2", "port is given twice");
    assert_refused("postgresql://app:s3cret@db?password=other", "password is given twice");
    assert_refused("postgresql://db/a?dbname=b", "dbname is given twice");
    assert_refused("postgresql://db/a?sslmode=require&ssl=true", "sslmode is given twice");
}

static void values_that_fail_only_later_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        { "port=99999", "port is not a port from 1 to 65535" },
        { "port=0", "port is not a port from 1 to 65535" },
        { "port=5432x", "port is not a port from 1 to 65535" },
        { "port=' 5432'", "port is not a port from 1 to 65535" },
        { "port=-1", "port is not a port from 1 to 65535" },
        { "port=18446744073709551617", "port is not a port from 1 to 65535" },
        { "port=1,2", "port has neither one port nor as many as there are hosts" },
        { "sslmode=bogus", "sslmode has none of its values" },
        { "sslmode=Require", "sslmode has none of its values" },
        { "sslmode='require disable'", "sslmode has none of its values" },
        { "gssencmode=bogus", "gssencmode has none of its values" },
        { "channel_binding=maybe", "channel_binding has none of its values" },
        { "target_session_attrs=best", "target_session_attrs has none of its values" },
        { "gsslib=evil", "gsslib has none of its values" },
        { "sslsni=2", "sslsni is neither 0 nor 1" },
        { "ssl_min_protocol_version=SSLv3", "ssl_min_protocol_version has none of its values" },
        { "ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2",
          "ssl_max_protocol_version is less than the least" },
        { "connect_timeout=-1", "connect_timeout is not a number from 0 to 2147483647" },
        { "connect_timeout=99999999999999999999", "connect_timeout is not a number from 0 to 2147483647" },
        { "connect_timeout=2147483648", "connect_timeout is not a number from 0 to 2147483647" },
        { "connect_timeout=1.5", "connect_timeout is not a number from 0 to 2147483647" },
        { "keepalives_idle=x", "keepalives_idle is not a number from 0 to 2147483647" },
        { "tcp_user_timeout=5s", "tcp_user_timeout is not a number from 0 to 2147483647" },
        { "client_encoding=LATIN1", "client_encoding is not UTF8" },
        { "application_name='x\ny'", "application_name has a control character" },
        { "user='a\x7f'", "user has a control character" },
        { "hostaddr=db.example", "hostaddr is not an address" },
        { "hostaddr=10.0.0", "hostaddr is not an address" },
        { "hostaddr=10.0.0.1%eth0", "hostaddr is not an address" },
        { "hostaddr=10.0.0.1,10.0.0.2", "hostaddr does not have as many addresses as there are hosts" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[200];

        snprintf(text, sizeof text, "host=db password=s3cret %s", cases[i].text);
        assert_refused(text, cases[i].message);
    }
    assert_refused("host=a,b,c port=1,2 password=s3cret", "port has neither one port nor as many as there are hosts");
    assert_refused("hostaddr=10.0.0.1 sslmode=verify-full",
                   "host is needed beside hostaddr where the server's name is verified");
    assert_refused("host=a,,b", "host has an empty host");
    assert_refused("postgresql://app:x@s3\"cret@db", "host has a quote in a host");
    assert_refused("host=a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "host has too many hosts");
}

static void uris_that_are_damaged_are_refused(void **state)
{
    (void)state;
    assert_refused("postgresql://app:s3cret@[::1/app", "host has a bracket that is not closed, or nothing in it");
    assert_refused("postgresql://app:s3cret@[::1", "host has a bracket that is not closed, or nothing in it");
    assert_refused("postgresql://app:s3cret@[]/app", "host has a bracket that is not closed, or nothing in it");
    assert_refused("postgresql://app:s3cret@[::1]x/app", "host has more behind a bracket");
    assert_refused("postgresql://app:s3cret%zz@db/app", "password has a wrong % escape");
    assert_refused("postgresql://app:s3cret%4@db/app", "password has a wrong % escape");
    assert_refused("postgresql://app:s3cret%@db/app", "password has a wrong % escape");
    assert_refused("postgresql://app:s3cret%00x@db/app", "password has a wrong % escape");
    assert_refused("postgresql://app:s3cret%ff@db/app", "password is not UTF-8");
    assert_refused("postgresql://app:s3cret@db:abc/app", "port is not a port from 1 to 65535");
    assert_refused("postgresql://app:s3cret/x@db/app", "port is not a port from 1 to 65535");
    assert_refused("postgresql://app:s3cret@db:1:2/app", "port is not a port from 1 to 65535");
    assert_refused("postgresql://app:s3cret@db,/app", "host has an empty host");
    assert_refused("postgresql://app:s3cret@db/app name", "dbname has a blank that is not written as %20");
    assert_refused("postgresql://app:s3cret@db/app%0a", "dbname has a control character");
    assert_refused("postgresql://app:s3cret@db/app?port", "a keyword without a value");
    assert_refused("postgresql://app:s3cret@db/app?user=x=%zz", "user is given twice");
}

static void options_may_set_only_what_is_not_set_by_us(void **state)
{
    static const row good[] = {
        { "host=db options='-c work_mem=64MB'", "options", "-c work_mem=64MB" },
        { "host=db options='-cwork_mem=64MB --geqo=off'", "options", "-cwork_mem=64MB --geqo=off" },
        { "postgresql://db?options=-c%20work_mem%3D64MB", "options", "-c work_mem=64MB" },
        { "host=db options='-c my.search_path=x'", "options", "-c my.search_path=x" },
    };
    static const char *const managed[] = {
        "-c search_path=evil",
        "-csearch_path=evil",
        "--search_path=evil",
        "--search-path=evil",
        "-c SEARCH_PATH=evil",
        "-c geqo=off -c search_path=evil",
        "  -c  search\\\\_path=evil",
        "-c statement_timeout=0",
        "-c lock_timeout=0",
        "--lock-timeout=0",
        "-c idle_in_transaction_session_timeout=0",
        "-c synchronous_commit=off",
        "-c standard_conforming_strings=off",
        "-c client_encoding=SQL_ASCII",
        "-c TimeZone=Europe/Berlin",
        "-c datestyle=German",
        "-c jit=on",
        "-c row_security=on",
        "-c session_replication_role=replica",
        "-c default_transaction_isolation=serializable",
        "-c default_transaction_read_only=on",
        "-c plan_cache_mode=auto",
    };
    static const char *const other[] = {
        "-e", "-c", "-c work_mem", "-c =1", "--", "-d5", "-p", "x", "-o", "-c geqo=off -e", "-f s", "-ccccc",
    };

    (void)state;
    assert_rows(good, COUNT(good));
    for (size_t i = 0; i < COUNT(managed); i++) {
        char text[200];

        snprintf(text, sizeof text, "host=db password=s3cret options='%s'", managed[i]);
        assert_refused(text, "options sets what licet sets itself");
    }
    for (size_t i = 0; i < COUNT(other); i++) {
        char text[200];

        snprintf(text, sizeof text, "host=db password=s3cret options='%s'", other[i]);
        assert_refused(text, strcmp(other[i], "-c") == 0 ? "options ends with -c"
                                                         : "options has something else than -c name=value");
    }
}

/* ------------------------------------------------------------ what is added */

static void what_ends_dead_connections_is_added_where_nothing_is_said(void **state)
{
    accepted a;

    (void)state;
    accept(&a, "host=db", false);
    assert_value(&a, "connect_timeout", "10");
    assert_value(&a, "keepalives", "1");
    assert_value(&a, "keepalives_idle", "10");
    assert_value(&a, "keepalives_interval", "3");
    assert_value(&a, "keepalives_count", "3");
    assert_value(&a, "tcp_user_timeout", "5000");
    assert_value(&a, "client_encoding", "UTF8");
    assert_value(&a, "fallback_application_name", "licet");
    assert_value(&a, "gssencmode", "disable");
    assert_null(value_of(&a, "sslmode"));
    assert_false(lic_pg_conninfo_requires_tls(a.conninfo));
    assert_int_equal(lic_pg_conninfo_timeout_ms(a.conninfo), 0);
    accepted_clear(&a);

    accept(&a, "host=a,b connect_timeout=3 tcp_user_timeout=0 client_encoding=utf-8 keepalives_idle=60", false);
    assert_value(&a, "tcp_user_timeout", "0");
    assert_value(&a, "keepalives_idle", "60");
    assert_value(&a, "client_encoding", "UTF8");
    assert_int_equal(lic_pg_conninfo_timeout_ms(a.conninfo), 6000);
    accepted_clear(&a);
}

static void required_tls_means_a_verified_server(void **state)
{
    accepted a;

    (void)state;
    accept(&a, "host=db", true);
    assert_value(&a, "sslmode", "verify-full");
    assert_value(&a, "gssencmode", "disable");
    assert_true(lic_pg_conninfo_requires_tls(a.conninfo));
    accepted_clear(&a);
    accept(&a, "host=db hostaddr=10.0.0.1 sslmode=verify-full", true);
    accepted_clear(&a);

    assert_refused_bytes(LIC_STR("host=db sslmode=require"), true, "sslmode has to be verify-full with require_tls");
    assert_refused_bytes(LIC_STR("host=db sslmode=verify-ca"), true, "sslmode has to be verify-full with require_tls");
    assert_refused_bytes(LIC_STR("host=db gssencmode=prefer"), true, "gssencmode has to be disable with require_tls");
    assert_refused_bytes(LIC_STR("host=db,/tmp"), true, "host is a Unix socket, which has no TLS as require_tls asks");
    assert_refused_bytes(LIC_STR("host=@x"), true, "host is a Unix socket, which has no TLS as require_tls asks");
    assert_refused_bytes(LIC_STR("dbname=x"), true, "host is a Unix socket, which has no TLS as require_tls asks");
}

/* ------------------------------------------------------------ the environment */

static void the_environment_is_judged_like_the_string(void **state)
{
    accepted a;

    (void)state;
    setenv("PGUSER", "somebody", 1);
    setenv("PGPASSWORD", SECRET, 1);
    setenv("PGSSLMODE", "require", 1);
    accept(&a, "host=db user=app", false);
    assert_value(&a, "user", "app");
    assert_value(&a, "password", SECRET);
    assert_value(&a, "sslmode", "require");
    accepted_clear(&a);
    accept(&a, "host=db", true); /* a weaker one of the environment does not count */
    assert_value(&a, "sslmode", "verify-full");
    assert_value(&a, "user", "somebody");
    accepted_clear(&a);

    setenv("PGOPTIONS", "-c search_path=evil", 1);
    assert_refused("host=db", "options sets what licet sets itself");
    unsetenv("PGOPTIONS");
    setenv("PGSSLKEY", "engine:evil", 1);
    assert_refused("host=db", "sslkey names a crypto engine");
    unsetenv("PGSSLKEY");
    setenv("PGSERVICE", "evil", 1);
    assert_refused("host=db",
                   "PGSERVICE is set in the environment, and would bring in settings that nobody has checked");
    unsetenv("PGSERVICE");
    setenv("PGPORT", "1,2,3", 1);
    assert_refused("host=db", "port has neither one port nor as many as there are hosts");
    unsetenv("PGPORT");
    unsetenv("PGUSER");
    unsetenv("PGPASSWORD");
    unsetenv("PGSSLMODE");
    assert_refused("", "it is empty");
}

/* ------------------------------------------------------------ memory */

static void *wiped_alloc(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *wiped_resize(void *context, void *pointer, size_t old_size, size_t new_size)
{
    (void)context;
    (void)old_size;
    return realloc(pointer, new_size);
}

/* The block as it is given back. */
static void wiped_free(void *context, void *pointer, size_t size)
{
    size_t *blocks = context;

    for (size_t i = 0; i + sizeof SECRET - 1 <= size; i++)
        assert_memory_not_equal((const char *)pointer + i, SECRET, sizeof SECRET - 1);
    ++*blocks;
    free(pointer);
}

static void nothing_of_a_password_stays_in_memory(void **state)
{
    size_t                blocks = 0;
    const licet_allocator hooks  = { wiped_alloc, wiped_resize, wiped_free, &blocks };
    lic_memory            memory;
    lic_pg_conninfo      *conninfo;

    (void)state;
    lic_memory_init(&memory, &hooks, SIZE_MAX);
    assert_int_equal(lic_pg_conninfo_read(&memory, LIC_STR("host=db password=s3cret"), false, &conninfo, NULL),
                     LICET_OK);
    lic_pg_conninfo_free(conninfo);
    assert_int_equal(lic_pg_conninfo_read(&memory, LIC_STR("host=db password=s3cret port=x"), false, &conninfo, NULL),
                     LICET_INVALID_ARGUMENT);
    assert_int_equal(blocks, 2);
    lic_pg_conninfo_free(NULL);
}

static void reading_survives_every_failed_allocation(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory   failing = fail_after(n);
        lic_memory       memory;
        lic_pg_conninfo *conninfo = NULL;
        licet_error     *error    = NULL;

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        status = lic_pg_conninfo_read(&memory, LIC_STR("postgresql://app:s3cret@a:1,b:2/app?sslmode=require"), false,
                                      &conninfo, &error);
        if (status != LICET_OK) {
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
            assert_int_equal(licet_error_status(error), LICET_OUT_OF_MEMORY);
            assert_null(conninfo);
        }
        licet_error_free(error);
        lic_pg_conninfo_free(conninfo);
        assert_int_equal(failing.counts->live_blocks, 0);
        assert_true(n < 3);
    }
}

/* No cut of a string makes it run over its end, or tells a password. */
static void every_beginning_of_a_string_is_read_or_refused(void **state)
{
    static const char *const texts[] = {
        "postgresql://app:s3cret@a%2e:1,[::1]:2,c/app?sslmode=require&options=-c%20work_mem%3D1MB&connect_timeout=1",
        "host='a\\'b',c port = 1,2 password='s3cret\\\\' options='-c work_mem=\\\\ 1' hostaddr=1.2.3.4,::1",
    };

    (void)state;
    for (size_t t = 0; t < COUNT(texts); t++) {
        for (size_t size = 0; size <= strlen(texts[t]); size++) {
            char            *exact = malloc(size + 1); /* a buffer that ends where the text does */
            lic_memory       memory;
            lic_pg_conninfo *conninfo;
            licet_error     *error = NULL;

            assert_non_null(exact);
            memcpy(exact, texts[t], size);
            exact = realloc(exact, size == 0 ? 1 : size);
            lic_memory_init(&memory, NULL, SIZE_MAX);
            if (lic_pg_conninfo_read(&memory, (lic_str){ exact, size }, false, &conninfo, &error) != LICET_OK)
                assert_null(memmem(licet_error_message(error).data, licet_error_message(error).size, "s3c", 3));
            licet_error_free(error);
            lic_pg_conninfo_free(conninfo);
            assert_int_equal(memory.used, 0);
            free(exact);
        }
    }
}

/* libpq's own variables, which the surroundings of the tests may have set. */
static int forget_environment(void **state)
{
    static const char *const names[] = { "PGHOST",    "PGHOSTADDR", "PGPORT",     "PGDATABASE",
                                         "PGUSER",    "PGPASSWORD", "PGPASSFILE", "PGSERVICE",
                                         "PGOPTIONS", "PGAPPNAME",  "PGSSLMODE",  "PGGSSENCMODE" };

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        unsetenv(names[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_look_like_connection_strings_are_told_from_others),
        cmocka_unit_test(pairs_are_read_as_libpq_reads_them),
        cmocka_unit_test(uris_are_read_as_libpq_reads_them),
        cmocka_unit_test(texts_that_are_no_connection_string_are_refused),
        cmocka_unit_test(pairs_that_are_none_are_refused),
        cmocka_unit_test(unknown_keywords_are_named_unless_they_may_be_a_part_of_a_password),
        cmocka_unit_test(settings_from_elsewhere_are_refused),
        cmocka_unit_test(a_keyword_given_twice_is_refused),
        cmocka_unit_test(values_that_fail_only_later_are_refused),
        cmocka_unit_test(uris_that_are_damaged_are_refused),
        cmocka_unit_test(options_may_set_only_what_is_not_set_by_us),
        cmocka_unit_test(what_ends_dead_connections_is_added_where_nothing_is_said),
        cmocka_unit_test(required_tls_means_a_verified_server),
        cmocka_unit_test(the_environment_is_judged_like_the_string),
        cmocka_unit_test(nothing_of_a_password_stays_in_memory),
        cmocka_unit_test(reading_survives_every_failed_allocation),
        cmocka_unit_test(every_beginning_of_a_string_is_read_or_refused),
    };

    return cmocka_run_group_tests(tests, forget_environment, NULL);
}
