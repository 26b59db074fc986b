/* Making a link: connecting, seeing who answers, setting the session up.
 *
 * What libpq says of a connection that failed holds host names, users and paths, and with a badly written connection
 * string parts of the password: it is asked for SQLSTATEs instead of the server's words, and only the reason that ends
 * its text is passed on, without anything in quotes. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "datastore/postgres/link_state.h"

#define OLDEST_SERVER 150000
/* An idle transaction holds back what can be collected. */
#define IDLE_TIMEOUT_MS 60000

static void ignore_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static licet_status refused(licet_error **error, const char *why)
{
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE, "%s", why);
}

/* ------------------------------------------------------------ connecting */

typedef struct refusal {
    const char *sqlstate; /* the first characters */
    const char *words;
} refusal;

/* What no retry will mend. */
static const refusal refusals[] = {
    { "28", "Postgres refuses the user of the connection string, or the password" },
    { "3D000", "the database of the connection string does not exist" },
    { "08P01", "what answers is no Postgres that can be used" },
    { "0A000", "what answers is no Postgres that can be used" },
    { "42704", "an option of the connection string is unknown to Postgres" },
    { "22023", "an option of the connection string is refused by Postgres" },
};

/* The SQLSTATE that ends libpq's text: "...: FATAL:  28P01\n". false: it was not the server that refused. */
static bool sqlstate_at_end(lic_str text, char sqlstate[6])
{
    lic_str trimmed = lic_str_trim(text);
    size_t  start;

    if (trimmed.size < 8)
        return false;
    start = trimmed.size - 5;
    if (memcmp(trimmed.data + start - 3, ":  ", 3) != 0)
        return false;
    for (size_t i = start; i < trimmed.size; i++)
        if (!((trimmed.data[i] >= '0' && trimmed.data[i] <= '9') || (trimmed.data[i] >= 'A' && trimmed.data[i] <= 'Z')))
            return false;
    memcpy(sqlstate, trimmed.data + start, 5);
    sqlstate[5] = '\0';
    return true;
}

/* A line without what is quoted in it; "" where a quote is not closed, or where it holds more than ASCII. */
static lic_str without_quotes(lic_str line, char *room, size_t room_size)
{
    static const char dots[]    = { '.', '.', '.' };
    bool              is_quoted = false;
    size_t            size      = 0;

    for (size_t i = 0; i < line.size; i++) {
        if (line.data[i] < ' ' || line.data[i] > '~' || size + sizeof dots > room_size)
            return LIC_STR("");
        if (line.data[i] == '"') {
            if (!is_quoted) {
                memcpy(room + size, dots, sizeof dots);
                size += sizeof dots;
            }
            is_quoted = !is_quoted;
        } else if (!is_quoted) {
            room[size++] = line.data[i];
        }
    }
    return is_quoted ? LIC_STR("") : (lic_str){ room, size };
}

/* "Connection refused" out of `connection to server at "db" (10.0.0.1), port 5432 failed: Connection refused\n\tIs
 * the...`: the first line from its last ": " on. */
static lic_str reason_of(lic_str text, char *room, size_t room_size)
{
    lic_str line  = without_quotes(lic_str_slice(text, 0, lic_str_find(text, '\n')), room, room_size);
    size_t  start = line.size;

    while (start >= 2 && memcmp(line.data + start - 2, ": ", 2) != 0)
        start--;
    return start < 2 ? LIC_STR("") : lic_str_slice(line, start, line.size);
}

static licet_status refused_by_server(lic_pg_link *link, const char *sqlstate, licet_error **error)
{
    memcpy(link->failure.sqlstate, sqlstate, sizeof link->failure.sqlstate);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strncmp(sqlstate, refusals[i].sqlstate, strlen(refusals[i].sqlstate)) == 0)
            return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE, "%s (%s)", refusals[i].words,
                            sqlstate);
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "Postgres takes no connections now (%s)", sqlstate);
}

static licet_status not_connected(lic_pg_link *link, licet_error **error)
{
    const char *said = PQerrorMessage(link->connection);
    lic_str     text = { said, strlen(said) };
    char        sqlstate[6];
    char        room[512];
    lic_str     reason;

    if (sqlstate_at_end(text, sqlstate))
        return refused_by_server(link, sqlstate, error);
    reason = reason_of(text, room, sizeof room);
    if (reason.size == 0)
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE, "no connection to Postgres");
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE, "no connection to Postgres: %Q",
                    &reason);
}

static licet_status connect(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING; /* libpq: as if it had said so */

    if (PQstatus(link->connection) == CONNECTION_BAD)
        return not_connected(link, error);
    PQsetNoticeReceiver(link->connection, ignore_notice, NULL);
    PQsetErrorVerbosity(link->connection, PQERRORS_SQLSTATE);
    while (next != PGRES_POLLING_OK) {
        lic_pg_waited waited;

        link->descriptor = PQsocket(link->connection); /* another one for each host that is tried */
        waited           = lic_pg_wait_for(waiting, link->descriptor, next == PGRES_POLLING_WRITING);
        if (waited != LIC_PG_READY)
            return lic_pg_wait_failed(waited, error);
        next = PQconnectPoll(link->connection);
        if (next == PGRES_POLLING_FAILED)
            return not_connected(link, error);
    }
    link->descriptor = PQsocket(link->connection);
    if (PQsetnonblocking(link->connection, 1) != 0)
        return not_connected(link, error);
    return LICET_OK;
}

/* ------------------------------------------------------------ who answers */

/* Names with their schema, no operators: nothing that a search_path from elsewhere could turn into something else. */
static const char describe_sql[] =
    "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), pg_catalog.pg_postmaster_start_time(), "
    "CASE WHEN pg_catalog.pg_is_in_recovery() THEN '' ELSE pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) "
    "END, (SELECT stats_reset FROM pg_catalog.pg_stat_wal)";

static const char system_sql[] = "SELECT system_identifier FROM pg_catalog.pg_control_system()";

/* The first eight hexadecimal digits of a log file's name are the timeline; a standby has none. */
static bool read_timeline(lic_str name, uint32_t *timeline)
{
    char  digits[9] = "";
    char *end;

    *timeline = 0;
    if (name.size == 0)
        return true;
    if (name.size != 24)
        return false;
    memcpy(digits, name.data, 8);
    *timeline = (uint32_t)strtoul(digits, &end, 16);
    return end == digits + 8 && *timeline != 0;
}

static bool read_description(lic_pg_server *server, const PGresult *result, int32_t *pid)
{
    lic_str log_file;

    return lic_pg_get_i32(result, 0, 0, pid) && lic_pg_get_bool(result, 0, 1, &server->is_standby) &&
           lic_pg_get_time_us(result, 0, 2, &server->started_at_us) && lic_pg_get_text(result, 0, 3, &log_file) &&
           (PQgetisnull(result, 0, 4) == 1 || lic_pg_get_time_us(result, 0, 4, &server->crashed_at_us)) &&
           read_timeline(log_file, &server->timeline) && server->is_standby == (server->timeline == 0);
}

/* A pooler invents the number of the process that it speaks for, since a cancellation has to go through it. */
static licet_status describe(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error)
{
    PGresult    *result = NULL;
    int32_t      pid;
    licet_status status;

    LIC_TRY(lic_pg_link_query(link, describe_sql, 0, NULL, waiting, &result, error));
    if (read_description(&link->server, result, &pid))
        link->server.is_pooled = pid != PQbackendPID(link->connection);
    else
        status = lic_pg_link_broken(link, "Postgres says nothing usable of itself", error);
done:
    PQclear(result);
    return status;
}

/* Neither started again nor promoted, and no other one in its place. */
static bool is_unchanged(const lic_pg_server *before, const lic_pg_server *now)
{
    return now->is_standby == before->is_standby && now->timeline == before->timeline &&
           now->started_at_us == before->started_at_us && now->crashed_at_us == before->crashed_at_us;
}

licet_status lic_pg_link_recognise(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error)
{
    lic_pg_server now    = { .timeline = 0 };
    PGresult     *result = NULL;
    int32_t       pid;
    licet_status  status;

    LIC_TRY(lic_pg_link_query(link, describe_sql, 0, NULL, waiting, &result, error));
    if (!read_description(&now, result, &pid) || !is_unchanged(&link->server, &now))
        status = lic_pg_link_broken(link, "another server answers than before, or it was started again", error);
done:
    PQclear(result);
    if (status != LICET_OK)
        lic_pg_link_lose(link);
    return status;
}

/* Rights may be lacking: then there is no hint. */
static licet_status describe_system(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error)
{
    PGresult    *result = NULL;
    licet_error *reason = NULL;
    int64_t      system;
    licet_status status = lic_pg_link_query(link, system_sql, 0, NULL, waiting, &result, &reason);

    if (status == LICET_OK && lic_pg_get_i64(result, 0, 0, &system))
        link->server.system = (uint64_t)system;
    PQclear(result);
    if (status == LICET_OK || !lic_pg_link_lost(link)) {
        licet_error_free(reason);
        return LICET_OK;
    }
    if (error != NULL)
        *error = reason;
    else
        licet_error_free(reason);
    return status;
}

/* Does the string ask for the server's name to be checked? libpq knows what was put in where nothing was given. false:
 * it has no memory to say so. */
static bool verifies_name(PGconn *connection, bool *verifies)
{
    PQconninfoOption *options = PQconninfo(connection);

    *verifies = false;
    for (PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++) {
        if (strcmp(o->keyword, "sslmode") == 0)
            *verifies = o->val != NULL && strcmp(o->val, "verify-full") == 0;
        if (o->val != NULL)
            explicit_bzero(o->val, strlen(o->val));
    }
    PQconninfoFree(options);
    return options != NULL;
}

static licet_status judge(lic_pg_link *link, const lic_pg_conninfo *conninfo, licet_error **error)
{
    lic_pg_server *server = &link->server;
    bool           verifies;

    if (!verifies_name(link->connection, &verifies))
        return lic_fail_memory(error);
    server->version      = PQserverVersion(link->connection);
    server->is_encrypted = PQsslInUse(link->connection) != 0;
    server->is_verified  = server->is_encrypted && verifies;
    if (server->version < OLDEST_SERVER)
        return refused(error, "Postgres is older than 15");
    if (lic_pg_conninfo_requires_tls(conninfo) && !server->is_verified)
        return refused(error,
                       "the connection to Postgres is not encrypted, or the server not verified, as require_tls asks");
    return LICET_OK;
}

/* ------------------------------------------------------------ the session */

static const char settings_sql[] =
    "SELECT pg_catalog.set_config('search_path', $1, false), pg_catalog.set_config('statement_timeout', $2, false), "
    "pg_catalog.set_config('lock_timeout', $2, false), "
    "pg_catalog.set_config('idle_in_transaction_session_timeout', $3, false), "
    "pg_catalog.set_config('default_transaction_read_only', $4, false), "
    "pg_catalog.set_config('plan_cache_mode', $5, false), pg_catalog.set_config('enable_seqscan', $6, false), "
    "pg_catalog.set_config('enable_bitmapscan', $6, false), "
    "pg_catalog.set_config('default_transaction_isolation', 'read committed', false), "
    "pg_catalog.set_config('client_encoding', 'UTF8', false), pg_catalog.set_config('TimeZone', 'UTC', false), "
    "pg_catalog.set_config('DateStyle', 'ISO', false), "
    "pg_catalog.set_config('standard_conforming_strings', 'on', false), "
    "pg_catalog.set_config('synchronous_commit', 'on', false), pg_catalog.set_config('jit', 'off', false), "
    "pg_catalog.set_config('row_security', 'off', false)";

#define NUMBER_BYTES 11 /* of 2^32 - 1, and NUL */

/* The digits stand at the end of the room. */
static const char *print_ms(uint32_t number, char room[NUMBER_BYTES])
{
    size_t at = NUMBER_BYTES - 1;

    room[at] = '\0';
    do {
        room[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return room + at;
}

/* Quoted, since a schema may be called as a word of SQL; what is built in comes first, and nothing hides it. */
static void print_search_path(lic_str schema, char path[128])
{
    static const char before[] = "pg_catalog, \"";
    static const char after[]  = "\", pg_temp";

    assert(schema.size <= 63);
    memcpy(path, before, sizeof before - 1);
    memcpy(path + sizeof before - 1, schema.data, schema.size);
    memcpy(path + sizeof before - 1 + schema.size, after, sizeof after);
}

static licet_status set_up(lic_pg_link *link, const lic_pg_settings *settings, lic_pg_waiting *waiting,
                           licet_error **error)
{
    const uint32_t timeout_ms = settings->statement_timeout_ms > INT32_MAX ? INT32_MAX : settings->statement_timeout_ms;
    const uint32_t idle_ms    = timeout_ms > IDLE_TIMEOUT_MS ? timeout_ms : IDLE_TIMEOUT_MS;
    char           path[128];
    char           timeout[NUMBER_BYTES] = "";
    char           idle[NUMBER_BYTES]    = "";
    const char    *values[6];
    PGresult      *result = NULL;
    licet_status   status;

    print_search_path(settings->schema, path);
    values[0] = path;
    values[1] = print_ms(timeout_ms, timeout);
    values[2] = print_ms(idle_ms, idle);
    values[3] = settings->read_only ? "on" : NULL; /* null: as the server's operator has it */
    values[4] = settings->generic_plans ? "force_generic_plan" : "auto";
    values[5] = settings->by_index ? "off" : "on";
    status    = lic_pg_link_query(link, settings_sql, 6, values, waiting, &result, error);
    PQclear(result);
    return status;
}

/* ------------------------------------------------------------ the whole */

static licet_status link_open(lic_pg_link *link, const lic_pg_conninfo *conninfo, const lic_pg_settings *settings,
                              lic_pg_waiting *waiting, licet_error **error)
{
    licet_status status;

    LIC_TRY(connect(link, waiting, error));
    LIC_TRY(judge(link, conninfo, error));
    LIC_TRY(describe(link, waiting, error));
    LIC_TRY(describe_system(link, waiting, error));
    if (!link->server.is_pooled)
        LIC_TRY(set_up(link, settings, waiting, error));
done:
    return status;
}

/* A connect_timeout of the string's own may be shorter than what we are given. */
static uint64_t sooner(uint64_t until_ms, uint32_t timeout_ms)
{
    uint64_t own;

    if (timeout_ms == 0)
        return until_ms;
    own = lic_monotonic_ms() + timeout_ms;
    return own < until_ms ? own : until_ms;
}

licet_status lic_pg_link_open(lic_memory *memory, const lic_pg_conninfo *conninfo, const lic_pg_settings *settings,
                              lic_pg_wait wait, lic_pg_link **link, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    lic_pg_link   *opening = lic_alloc_zero(memory, sizeof *opening);
    licet_status   status  = LICET_OUT_OF_MEMORY;

    *link                 = NULL;
    waiting.wait.until_ms = sooner(wait.until_ms, lic_pg_conninfo_timeout_ms(conninfo));
    if (opening == NULL)
        return lic_fail_memory(error);
    opening->memory     = memory;
    opening->descriptor = -1;
    opening->connection = PQconnectStartParams(lic_pg_conninfo_keywords(conninfo), lic_pg_conninfo_values(conninfo), 0);
    if (opening->connection == NULL)
        lic_fail_memory(error);
    else
        status = link_open(opening, conninfo, settings, &waiting, error);
    if (status != LICET_OK) {
        lic_pg_link_close(opening);
        return status;
    }
    *link = opening;
    return LICET_OK;
}
