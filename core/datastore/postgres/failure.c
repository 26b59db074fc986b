/* What the server's errors mean. Its words are shown cut and escaped; those of our own functions, which hold nothing
 * but what the caller gave, in full. */
#include <stdlib.h>

#include "base/utf8.h"
#include "datastore/postgres/link_state.h"

typedef struct meaning {
    const char  *sqlstate; /* all of it, or the first characters */
    licet_status status;
    licet_kind   kind;
    const char  *words;
} meaning;

#define NOT_NOW LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE
#define NOT_MIGRATED NOT_NOW, "licet's tables are not there, or of another version: run `licet migrate`"
#define TOO_LATE LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE

/* The first that fits counts. */
static const meaning meanings[] = {
    { "40001", NOT_NOW, "another transaction was in the way" },
    { "40P01", NOT_NOW, "another transaction was in the way" },
    { "57014", TOO_LATE, "the server took too long" },
    { "55P03", TOO_LATE, "a lock was not to be had in time" },
    { "42P01", NOT_MIGRATED },
    { "42883", NOT_MIGRATED },
    { "42703", NOT_MIGRATED },
    { "42704", NOT_MIGRATED },
    { "3F000", NOT_MIGRATED },
    { "42501", NOT_NOW, "the user of the connection lacks a right" },
    { "25006", NOT_NOW, "the server takes no writes" },
    { "53100", NOT_NOW, "the server's disk is full" },
    { "53200", NOT_NOW, "the server is out of memory" },
    { "53300", NOT_NOW, "the server has too many connections" },
    { "57P", NOT_NOW, "the server is stopping or starting" },
    { "08", NOT_NOW, "the connection failed" },
    { "0A000", NOT_NOW, "a prepared statement does not fit any more" },
    { "26000", NOT_NOW, "a prepared statement is not there: is there a pooler in between?" },
    { "42P05", NOT_NOW, "a prepared statement is there already: is there a pooler in between?" },
    { "", NOT_NOW, "Postgres reports an error" },
};

static const meaning meanings_of_ours[] = {
    { "LZ001", LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, NULL },
    { "LZ002", LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, NULL },
    { "LZ003", NOT_NOW, NULL },
    { "LZ004", LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, NULL },
    { "LZ005", LICET_NOT_FOUND, LICET_KIND_NAME, NULL },
    { "LZ006", LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, NULL },
    { "LZ007", LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, NULL },
    { "LZ008", LICET_MISUSE, LICET_KIND_MISUSE, NULL },
    { "LZ010", LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, NULL },
};

bool lic_pg_failure_retryable(const lic_pg_failure *failure)
{
    return strcmp(failure->sqlstate, "40001") == 0 || strcmp(failure->sqlstate, "40P01") == 0;
}

static const meaning *meaning_of(const char *sqlstate)
{
    const meaning *m = meanings;

    for (size_t i = 0; i < sizeof meanings_of_ours / sizeof *meanings_of_ours; i++)
        if (strcmp(sqlstate, meanings_of_ours[i].sqlstate) == 0)
            return &meanings_of_ours[i];
    while (strncmp(sqlstate, m->sqlstate, strlen(m->sqlstate)) != 0)
        m++;
    return m;
}

/* A field of an error; "" where there is none. */
static lic_str field(const PGresult *result, int code)
{
    const char *text = PQresultErrorField(result, code);

    return text == NULL ? LIC_STR("") : (lic_str){ text, strlen(text) };
}

/* Five digits and capitals, or nothing at all. */
static void note_sqlstate(lic_pg_failure *failure, lic_str text)
{
    failure->sqlstate[0] = '\0';
    if (text.size != sizeof failure->sqlstate - 1)
        return;
    for (size_t i = 0; i < text.size; i++)
        if (!((text.data[i] >= '0' && text.data[i] <= '9') || (text.data[i] >= 'A' && text.data[i] <= 'Z')))
            return;
    memcpy(failure->sqlstate, text.data, text.size);
    failure->sqlstate[text.size] = '\0';
}

/* Up to the first byte that is not UTF-8, or that has no room. */
static void note_detail(lic_pg_failure *failure, lic_str text)
{
    size_t size = text.size < sizeof failure->detail ? text.size : sizeof failure->detail - 1;

    size = lic_utf8_check((lic_str){ text.data, size });
    memcpy(failure->detail, text.data, size);
    failure->detail[size] = '\0';
}

/* Of our functions, and the key of a row that is there already. */
static bool has_detail(const char *sqlstate)
{
    return memcmp(sqlstate, "LZ", 2) == 0 || strcmp(sqlstate, "23505") == 0;
}

static void note_failure(lic_pg_failure *failure, const PGresult *result)
{
    note_sqlstate(failure, field(result, PG_DIAG_SQLSTATE));
    note_detail(failure, has_detail(failure->sqlstate) ? field(result, PG_DIAG_MESSAGE_DETAIL) : LIC_STR(""));
}

/* Has the server ended the session with it, or can't the session be used as it is now? Errors of class XX come of what a
 * session still knows of types and functions that are there no more; each of its statements would fail so. */
static bool is_fatal(const lic_pg_link *link, const PGresult *result)
{
    lic_str severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return PQstatus(link->connection) != CONNECTION_OK || lic_str_equal(severity, LIC_STR("FATAL")) ||
           lic_str_equal(severity, LIC_STR("PANIC")) || strcmp(link->failure.sqlstate, "0A000") == 0 ||
           strncmp(link->failure.sqlstate, "XX", 2) == 0;
}

licet_status lic_pg_result_failed(lic_pg_link *link, const PGresult *result, licet_error **error)
{
    lic_str        said = field(result, PG_DIAG_MESSAGE_PRIMARY);
    const char    *sqlstate;
    const meaning *m;

    note_failure(&link->failure, result);
    sqlstate = link->failure.sqlstate;
    if (sqlstate[0] == '\0')
        return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
    if (strcmp(sqlstate, "26000") == 0 || strcmp(sqlstate, "42P05") == 0)
        link->server.is_pooled = true;
    if (is_fatal(link, result))
        lic_pg_link_lose(link);
    m = meaning_of(sqlstate);
    if (m->words == NULL)
        return lic_fail(error, m->status, m->kind, LIC_NOWHERE, "%.*s", LIC_STR_ARG(said));
    return lic_fail(error, m->status, m->kind, LIC_NOWHERE, "%s (%s: %Q)", m->words, sqlstate, &said);
}

licet_status lic_pg_wait_failed(lic_pg_waited waited, licet_error **error)
{
    switch (waited) {
    case LIC_PG_READY:
        break;
    case LIC_PG_TOO_LATE:
        return lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                        "no answer from Postgres in time");
    case LIC_PG_RUNG:
        return lic_fail(error, LICET_CLOSED, LICET_KIND_MISUSE, LIC_NOWHERE, "the engine is closed");
    case LIC_PG_NO_WAIT:
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the system can not wait for Postgres");
    }
    return LICET_OK;
}

licet_status lic_pg_link_broken(lic_pg_link *link, const char *what, licet_error **error)
{
    lic_pg_link_lose(link);
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE, "%s", what);
}
