/* COPY in Postgres' binary form, both ways. 15 bytes of signature and flags and 4 of an extension's size stand
 * before the rows, a field count of -1 behind them. */

#include "base/clock.h"
#include "datastore/postgres/link_state.h"

static const char header[]  = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* and the NUL that C adds */
static const char trailer[] = { '\377', '\377' };

#define HEADER_BYTES (sizeof header)

/* What may pile up before it is pushed out, and the largest piece that libpq is given at once. */
#define PIECE_BYTES ((size_t)64 << 10)

_Static_assert(HEADER_BYTES == 19, "signature 11, flags 4, size of the extension 4");

static licet_status lost(lic_pg_link *link, licet_error **error)
{
    return lic_pg_link_broken(link, "the connection to Postgres is lost", error);
}

static licet_status wrong_form(lic_pg_link *link, licet_error **error)
{
    return lic_pg_link_broken(link, "Postgres sends rows in no form that was asked for", error);
}

/* Sends the text and waits until the server wants, or gives, rows in binary form. */
static licet_status copy_begin(lic_pg_link *link, const char *sql, ExecStatusType wanted, lic_pg_waiting *waiting,
                               licet_error **error)
{
    PGresult    *result = NULL;
    licet_status status;
    bool         is_wanted;

    LIC_TRY(lic_pg_link_begin(link, error));
    if (PQsendQuery(link->connection, sql) == 0)
        return lost(link, error);
    link->activity = LIC_PG_ASKED;
    link->round_trips++;
    LIC_TRY(lic_pg_link_flush(link, waiting, error));
    while (PQisBusy(link->connection))
        LIC_TRY(lic_pg_link_await(link, waiting, error));
    result    = PQgetResult(link->connection);
    is_wanted = result != NULL && PQresultStatus(result) == wanted && PQbinaryTuples(result) == 1;
    if (is_wanted) {
        PQclear(result);
        return LICET_OK;
    }
    if (result == NULL || PQresultStatus(result) != PGRES_FATAL_ERROR) {
        PQclear(result);
        return wrong_form(link, error);
    }
    link->answer = result;
    status       = lic_pg_link_receive(link, waiting, false, &result, error);
done:
    return status;
}

/* Of a copy that can not go on. */
static licet_status copy_failed(lic_pg_link *link, licet_status status)
{
    if (link->activity != LIC_PG_AT_REST)
        lic_pg_link_lose(link);
    return status;
}

/* ------------------------------------------------------------ out */

typedef struct reading {
    bool has_begun; /* the header has come */
    bool has_ended; /* the trailer has */
} reading;

/* Takes the header and the trailer away from a piece. false: they are not as they should be. */
static bool strip(reading *r, lic_str *piece)
{
    if (r->has_ended)
        return false;
    if (!r->has_begun) {
        if (piece->size < HEADER_BYTES || memcmp(piece->data, header, HEADER_BYTES) != 0)
            return false;
        *piece       = lic_str_slice(*piece, HEADER_BYTES, piece->size);
        r->has_begun = true;
    }
    if (piece->size == sizeof trailer && memcmp(piece->data, trailer, sizeof trailer) == 0) {
        r->has_ended = true;
        piece->size  = 0;
    }
    return true;
}

/* For what comes next, whatever it is. */
static lic_pg_waiting wait_for_more(lic_pg_wait wait, uint32_t quiet_ms)
{
    const uint64_t quiet = lic_monotonic_ms() + quiet_ms;

    return (lic_pg_waiting){ .wait = { quiet < wait.until_ms ? quiet : wait.until_ms, wait.bell } };
}

/* *is_over: no more rows. */
static licet_status take_piece(lic_pg_link *link, reading *r, lic_pg_take take, void *context, bool *is_over,
                               lic_pg_wait wait, uint32_t quiet_ms, licet_error **error)
{
    char          *buffer = NULL;
    int            size   = PQgetCopyData(link->connection, &buffer, 1);
    licet_status   status = LICET_OK;
    lic_pg_waiting waiting;
    lic_str        piece;

    if (size == 0) {
        waiting = wait_for_more(wait, quiet_ms);
        return lic_pg_link_await(link, &waiting, error);
    }
    if (size < 0) {
        *is_over = true;
        return size == -1 ? LICET_OK : lost(link, error);
    }
    piece = (lic_str){ buffer, (size_t)size };
    if (!strip(r, &piece))
        status = wrong_form(link, error);
    else if (piece.size > 0)
        (void)take(context, piece.data, piece.size, &status, error); /* the status says it, too */
    PQfreemem(buffer);
    return status;
}

licet_status lic_pg_copy_out(lic_pg_link *link, const char *sql, lic_pg_wait wait, uint32_t quiet_ms, lic_pg_take take,
                             void *context, licet_error **error)
{
    lic_pg_waiting waiting = wait_for_more(wait, quiet_ms);
    reading        r       = { .has_begun = false };
    PGresult      *result  = NULL;
    bool           is_over = false;
    licet_status   status;

    LIC_TRY(copy_begin(link, sql, PGRES_COPY_OUT, &waiting, error));
    while (!is_over)
        LIC_TRY(take_piece(link, &r, take, context, &is_over, wait, quiet_ms, error));
    waiting = wait_for_more(wait, quiet_ms);
    LIC_TRY(lic_pg_link_receive(link, &waiting, false, &result, error));
    if (!r.has_ended)
        status = wrong_form(link, error);
done:
    PQclear(result);
    return copy_failed(link, status);
}

/* ------------------------------------------------------------ in */

/* Nothing is pushed out before there is enough of it. */
static licet_status copy_push(lic_pg_link *link, lic_str piece, lic_pg_waiting *waiting, licet_error **error)
{
    int taken = PQputCopyData(link->connection, piece.data, (int)piece.size);

    if (taken <= 0) /* 0: no memory to keep it in */
        return lost(link, error);
    link->unflushed_bytes += piece.size;
    if (link->unflushed_bytes < PIECE_BYTES)
        return LICET_OK;
    link->unflushed_bytes = 0;
    return lic_pg_link_flush(link, waiting, error);
}

licet_status lic_pg_copy_in(lic_pg_link *link, const char *sql, lic_pg_wait wait, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    licet_status   status;

    LIC_TRY(copy_begin(link, sql, PGRES_COPY_IN, &waiting, error));
    link->activity        = LIC_PG_COPYING_IN;
    link->unflushed_bytes = 0;
    status                = copy_push(link, (lic_str){ header, HEADER_BYTES }, &waiting, error);
done:
    return status == LICET_OK ? LICET_OK : copy_failed(link, status);
}

static licet_status copy_continue(lic_pg_link *link, licet_error **error)
{
    if (link->connection == NULL)
        return lost(link, error);
    if (link->activity != LIC_PG_COPYING_IN)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no copy to Postgres has begun");
    return LICET_OK;
}

licet_status lic_pg_copy_put(lic_pg_link *link, lic_str bytes, lic_pg_wait wait, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    licet_status   status  = copy_continue(link, error);

    for (size_t offset = 0; status == LICET_OK && offset < bytes.size; offset += PIECE_BYTES) {
        size_t left = bytes.size - offset;

        status = copy_push(link, lic_str_slice(bytes, offset, offset + (left < PIECE_BYTES ? left : PIECE_BYTES)),
                           &waiting, error);
    }
    return status == LICET_OK || status == LICET_MISUSE ? status : copy_failed(link, status);
}

/* "COPY 25": "25", digits alone. */
static bool read_count(const PGresult *result, uint64_t *count)
{
    const char *digits = PQcmdTuples((PGresult *)result);

    *count = 0;
    if (*digits == '\0')
        return false;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        if (__builtin_mul_overflow(*count, 10, count) || __builtin_add_overflow(*count, *digits - '0', count))
            return false;
    return *digits == '\0';
}

licet_status lic_pg_copy_end(lic_pg_link *link, lic_pg_wait wait, uint64_t *count, licet_error **error)
{
    lic_pg_waiting waiting = { .wait = wait };
    PGresult      *result  = NULL;
    licet_status   status  = copy_continue(link, error);

    *count = 0;
    if (status != LICET_OK)
        return status;
    LIC_TRY(copy_push(link, (lic_str){ trailer, sizeof trailer }, &waiting, error));
    if (PQputCopyEnd(link->connection, NULL) <= 0)
        return lost(link, error);
    link->activity = LIC_PG_ASKED;
    link->round_trips++;
    LIC_TRY(lic_pg_link_flush(link, &waiting, error));
    LIC_TRY(lic_pg_link_receive(link, &waiting, false, &result, error));
    if (!read_count(result, count))
        status = wrong_form(link, error);
done:
    PQclear(result);
    return copy_failed(link, status);
}
