#include "pg_database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 60000 /* of engines on a machine with much other work */

static const char PLACE[] = "{schema}";

const char *pg_server(void)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");

    if (conninfo != NULL && conninfo[0] != '\0')
        return conninfo;
    print_message("LICET_TEST_POSTGRES names no server: skipped\n");
    skip();
    return NULL;
}

void pg_database_begin(pg_database *d)
{
    static int number;

    *d            = (pg_database){ .options = LICET_OPTIONS_INIT };
    d->connection = PQconnectdb(pg_server());
    assert_int_equal(PQstatus(d->connection), CONNECTION_OK);
    snprintf(d->schema, sizeof d->schema, "licet_test_%d_%d", (int)getpid(), ++number);
    d->options.postgres_schema  = text_of(d->schema);
    d->options.wait_timeout_ms  = PATIENCE_MS;
    d->options.write_timeout_ms = PATIENCE_MS;
    pg_ask(d, "SET client_min_messages = warning");
}

void pg_database_migrate(const pg_database *d)
{
    licet_error *error = NULL;

    if (licet_migrate(text_of(pg_server()), &d->options, false, NULL, &error) != LICET_OK)
        fail_msg("%.*s", (int)licet_error_message(error).size, licet_error_message(error).data);
}

void pg_database_write_freely(const pg_database *d)
{
    pg_ask(d, "SET licet.writer = '{schema}'; SET search_path = {schema}");
}

void pg_database_open(const pg_database *d, engine_world *w)
{
    memset(w, 0, sizeof *w);
    if (licet_open(text_of(pg_server()), &d->options, &w->engine, &w->error) != LICET_OK)
        fail_msg("%.*s", (int)licet_error_message(w->error).size, licet_error_message(w->error).data);
}

void pg_database_end(pg_database *d)
{
    pg_ask(d, "DROP SCHEMA IF EXISTS {schema} CASCADE");
    PQfinish(d->connection);
}

/* The caller frees it. */
static char *with_schema(const pg_database *d, const char *sql)
{
    char       *text = NULL;
    size_t      size = 0;
    FILE       *out  = open_memstream(&text, &size);
    const char *place;

    assert_non_null(out);
    for (; (place = strstr(sql, PLACE)) != NULL; sql = place + sizeof PLACE - 1)
        fprintf(out, "%.*s%s", (int)(place - sql), sql, d->schema);
    fputs(sql, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static PGresult *try_on(const pg_database *d, PGconn *connection, const char *sql)
{
    char     *text   = with_schema(d, sql);
    PGresult *result = PQexec(connection, text);

    free(text);
    return result;
}

PGresult *pg_try(const pg_database *d, const char *sql)
{
    return try_on(d, d->connection, sql);
}

const char *pg_ask_on(const pg_database *d, PGconn *connection, const char *sql)
{
    static char answer[1 << 18];
    PGresult   *result = try_on(d, connection, sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(result));
    snprintf(answer, sizeof answer, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return answer;
}

const char *pg_ask(const pg_database *d, const char *sql)
{
    return pg_ask_on(d, d->connection, sql);
}
