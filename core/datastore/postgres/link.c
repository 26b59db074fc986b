/* Asking and being answered. libpq is only ever called where it can not wait: everything goes out through
 * lic_pg_link_flush() and comes in through lic_pg_link_await(), which wait in poll(2).
 *
 * The common case of lic_pg_run(), one prepared statement, is one send, one poll and one receive. */
#include "datastore/postgres/link.h"

#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>

#include "datastore/postgres/link_state.h"

/* ------------------------------------------------------------ what it is */

void lic_pg_link_lose(lic_pg_link *link)
{
    if (link->connection == NULL)
        return;
    shutdown(link->descriptor, SHUT_RDWR); /* so that libpq's goodbye goes nowhere */
    link->descriptor = -1;                 /* before its number can be another file's, which a child would close */
    PQclear(link->answer);
    PQfinish(link->connection);
    link->answer     = NULL;
    link->connection = NULL;
    link->activity   = LIC_PG_AT_REST;
}

void lic_pg_link_close(lic_pg_link *link)
{
    if (link == NULL)
        return;
    PQclear(link->answer);
    PQfinish(link->connection);
    lic_free(link->memory, link, sizeof *link);
}

void lic_pg_link_abandon(lic_pg_link *link)
{
    if (link == NULL)
        return;
    if (link->descriptor >= 0)
        close(link->descriptor);
    lic_free(link->memory, link, sizeof *link);
}

bool lic_pg_link_lost(const lic_pg_link *link)
{
    return link->connection == NULL;
}

const lic_pg_server *lic_pg_link_server(const lic_pg_link *link)
{
    return &link->server;
}

const lic_pg_failure *lic_pg_link_failure(const lic_pg_link *link)
{
    return &link->failure;
}

uint64_t lic_pg_link_round_trips(const lic_pg_link *link)
{
    return link->round_trips;
}

bool lic_pg_link_is_idle(const lic_pg_link *link)
{
    return link->connection != NULL && link->activity == LIC_PG_AT_REST &&
           PQtransactionStatus(link->connection) == PQTRANS_IDLE;
}

int lic_pg_link_descriptor(const lic_pg_link *link)
{
    return link->descriptor;
}

bool lic_pg_link_was_notified(lic_pg_link *link)
{
    bool      was_notified = false;
    PGnotify *notice;

    if (link->connection == NULL || link->activity != LIC_PG_AT_REST)
        return false;
    if (PQconsumeInput(link->connection) == 0) {
        lic_pg_link_lose(link);
        return false;
    }
    while ((notice = PQnotifies(link->connection)) != NULL) {
        was_notified = true;
        PQfreemem(notice);
    }
    return was_notified;
}

/* ------------------------------------------------------------ out and in */

licet_status lic_pg_link_begin(lic_pg_link *link, licet_error **error)
{
    link->failure.sqlstate[0] = '\0';
    link->failure.detail[0]   = '\0';
    if (link->connection == NULL)
        return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
    if (link->activity != LIC_PG_AT_REST)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "the connection to Postgres is busy");
    return LICET_OK;
}

/* How long reading and writing takes when the other side has stopped. */
licet_status lic_pg_link_flush(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error)
{
    int left;

    while ((left = PQflush(link->connection)) > 0) {
        lic_pg_waited waited = lic_pg_wait_for(waiting, link->descriptor, true);

        if (waited != LIC_PG_READY) {
            lic_pg_link_lose(link);
            return lic_pg_wait_failed(waited, error);
        }
        /* The server may be waiting for us to read before it goes on reading. */
        if (PQconsumeInput(link->connection) == 0)
            return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
    }
    if (left < 0)
        return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
    return LICET_OK;
}

static bool has_failed_answer(const lic_pg_link *link)
{
    return link->answer != NULL && PQresultStatus(link->answer) == PGRES_FATAL_ERROR;
}

licet_status lic_pg_link_await(lic_pg_link *link, lic_pg_waiting *waiting, licet_error **error)
{
    lic_pg_waited waited = lic_pg_wait_for(waiting, link->descriptor, false);

    if (waited != LIC_PG_READY)
        return lic_pg_wait_failed(waited, error);
    if (PQconsumeInput(link->connection) != 0)
        return LICET_OK;
    if (has_failed_answer(link)) { /* the server said why it hung up */
        PGresult    *why = link->answer;
        licet_status status;

        link->answer = NULL;
        status       = lic_pg_result_failed(link, why, error);
        lic_pg_link_lose(link);
        PQclear(why);
        return status;
    }
    return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
}

/* An error stays, whatever comes after it; and one that comes after a success (a commit that failed) counts. false:
 * nothing that was asked for has such results. */
static bool keep(lic_pg_link *link, PGresult *result, bool many)
{
    const ExecStatusType is    = PQresultStatus(result);
    const bool           first = link->answer == NULL;

    if (strcmp(PQcmdStatus(result), "ROLLBACK") == 0)
        link->has_rolled_back = true;
    if (has_failed_answer(link)) {
        PQclear(result);
        return is == PGRES_FATAL_ERROR;
    }
    PQclear(link->answer);
    link->answer = result;
    if (is == PGRES_FATAL_ERROR)
        return true;
    return (first || many) && (is == PGRES_TUPLES_OK || is == PGRES_COMMAND_OK);
}

licet_status lic_pg_link_receive(lic_pg_link *link, lic_pg_waiting *waiting, bool many, PGresult **result,
                                 licet_error **error)
{
    licet_status status;
    PGresult    *next;

    *result = NULL;
    do {
        while (PQisBusy(link->connection))
            if ((status = lic_pg_link_await(link, waiting, error)) != LICET_OK)
                return status;
        next = PQgetResult(link->connection);
        if (next != NULL && !keep(link, next, many))
            return lic_pg_link_broken(link, "Postgres answered something else than was asked", error);
    } while (next != NULL);

    next           = link->answer;
    link->answer   = NULL;
    link->activity = LIC_PG_AT_REST;
    if (next == NULL)
        return lic_pg_link_broken(link, "Postgres gave no answer", error);
    if (PQresultStatus(next) == PGRES_FATAL_ERROR) {
        status = lic_pg_result_failed(link, next, error);
        PQclear(next);
        return status;
    }
    *result = next;
    return LICET_OK;
}

/* ------------------------------------------------------------ statements */

/* Something was given to libpq, or refused by it (which it does for want of memory, or on a broken connection). */
static licet_status link_asked(lic_pg_link *link, int was_taken, lic_pg_waiting *waiting, licet_error **error)
{
    if (was_taken == 0)
        return lic_pg_link_broken(link, "nothing can be sent to Postgres", error);
    link->activity        = LIC_PG_ASKED;
    link->has_rolled_back = false;
    link->round_trips++;
    return lic_pg_link_flush(link, waiting, error);
}

/* After an answer that did not come in time, nobody will wait for it any more. */
static licet_status link_finished(lic_pg_link *link, licet_status status)
{
    if (status != LICET_OK && link->activity != LIC_PG_AT_REST)
        lic_pg_link_lose(link);
    return status;
}

licet_status lic_pg_link_query(lic_pg_link *link, const char *sql, int count, const char *const *texts,
                               lic_pg_waiting *waiting, PGresult **result, licet_error **error)
{
    licet_status status;

    *result = NULL;
    LIC_TRY(lic_pg_link_begin(link, error));
    LIC_TRY(
        link_asked(link, PQsendQueryParams(link->connection, sql, count, NULL, texts, NULL, NULL, 1), waiting, error));
    LIC_TRY(lic_pg_link_receive(link, waiting, false, result, error));
done:
    return link_finished(link, status);
}

static bool link_has_prepared(const lic_pg_link *link, const char *name)
{
    for (size_t i = 0; i < link->prepared_count; i++)
        if (link->prepared[i] == name || strcmp(link->prepared[i], name) == 0)
            return true;
    return false;
}

/* Does the statement run prepared on this link? If it is new, it becomes so. */
static licet_status link_prepare(lic_pg_link *link, const lic_pg_statement *statement, lic_pg_waiting *waiting,
                                 bool *is_prepared, licet_error **error)
{
    PGresult    *result = NULL;
    licet_status status;

    *is_prepared = false;
    if (statement->name == NULL || link->server.is_pooled)
        return LICET_OK;
    *is_prepared = link_has_prepared(link, statement->name);
    if (*is_prepared || link->prepared_count == LIC_PG_STATEMENTS_MAX)
        return LICET_OK;
    LIC_TRY(link_asked(link,
                       PQsendPrepare(link->connection, statement->name, statement->sql, statement->parameter_count,
                                     statement->parameter_types),
                       waiting, error));
    LIC_TRY(lic_pg_link_receive(link, waiting, false, &result, error));
    link->prepared[link->prepared_count++] = statement->name;
    *is_prepared                           = true;
done:
    PQclear(result);
    return link_finished(link, status);
}

static int give(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                bool is_prepared)
{
    LIC_UNINITIALIZED const char *values[LIC_PG_PARAMETERS_MAX];
    LIC_UNINITIALIZED int         sizes[LIC_PG_PARAMETERS_MAX];
    LIC_UNINITIALIZED int         formats[LIC_PG_PARAMETERS_MAX];
    const int                     count = statement->parameter_count;

    for (int i = 0; i < count; i++) {
        values[i]  = parameters[i].data;
        sizes[i]   = parameters[i].size;
        formats[i] = parameters[i].format;
    }
    if (is_prepared)
        return PQsendQueryPrepared(link->connection, statement->name, count, values, sizes, formats, 1);
    return PQsendQueryParams(link->connection, statement->sql, count, statement->parameter_types, values, sizes,
                             formats, 1);
}

static licet_status link_send(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                              lic_pg_waiting *waiting, licet_error **error)
{
    bool         is_prepared;
    licet_status status;

    assert(statement->parameter_count >= 0 && statement->parameter_count <= LIC_PG_PARAMETERS_MAX);
    LIC_TRY(lic_pg_link_begin(link, error));
    LIC_TRY(link_prepare(link, statement, waiting, &is_prepared, error));
    LIC_TRY(link_asked(link, give(link, statement, parameters, is_prepared), waiting, error));
done:
    return status;
}

licet_status lic_pg_send(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                         lic_pg_wait wait, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };

    return link_send(link, statement, parameters, &waiting, error);
}

/* A pooler stays when the server behind it goes, and then asks another one, or the same with another past: what was
 * answered may be of that. It is so still when it is asked who it is; so asking afterwards suffices. */
static licet_status link_answered(lic_pg_link *link, licet_status status, lic_pg_waiting *waiting, PGresult **result,
                                  licet_error **error)
{
    if (status != LICET_OK || !link->server.is_pooled)
        return status;
    status = lic_pg_link_recognise(link, waiting, error);
    if (status != LICET_OK) {
        PQclear(*result);
        *result = NULL;
    }
    return status;
}

licet_status lic_pg_receive(lic_pg_link *link, lic_pg_wait wait, PGresult **result, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    licet_status   status;

    *result = NULL;
    if (link->connection == NULL)
        return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
    if (link->activity != LIC_PG_ASKED)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "nothing was asked of Postgres");
    status = lic_pg_link_receive(link, &waiting, false, result, error);
    return link_answered(link, status, &waiting, result, error);
}

licet_status lic_pg_run(lic_pg_link *link, const lic_pg_statement *statement, const lic_pg_parameter *parameters,
                        lic_pg_wait wait, PGresult **result, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    licet_status   status;

    *result = NULL;
    status  = link_send(link, statement, parameters, &waiting, error);
    if (status != LICET_OK)
        return status;
    status = link_finished(link, lic_pg_link_receive(link, &waiting, false, result, error));
    return link_answered(link, status, &waiting, result, error);
}

licet_status lic_pg_command(lic_pg_link *link, const char *sql, lic_pg_wait wait, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    PGresult      *result  = NULL;
    licet_status   status;

    LIC_TRY(lic_pg_link_begin(link, error));
    LIC_TRY(link_asked(link, PQsendQuery(link->connection, sql), &waiting, error));
    LIC_TRY(lic_pg_link_receive(link, &waiting, true, &result, error));
    if (link->has_rolled_back && strstr(sql, "ROLLBACK") == NULL)
        status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                          "Postgres rolled the transaction back");
done:
    PQclear(result);
    return link_finished(link, status);
}
