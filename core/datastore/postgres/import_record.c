/* How far imports have come, and what a piece makes of that. */
#include "datastore/postgres/import_record.h"

#include <stdio.h>

#include "base/clock.h"

#define COUNT_BYTES 24
#define MOVED "LZ010"

enum { COLUMN_COUNT, COLUMN_DIGEST, COLUMN_IS_FINISHED };

static lic_pg_parameter text_parameter(lic_str text)
{
    return (lic_pg_parameter){ .data = text.data, .size = (int)text.size, .format = 1 };
}

static lic_pg_parameter digest_parameter(const lic_progress *progress)
{
    return text_parameter((lic_str){ (const char *)progress->digest, sizeof progress->digest });
}

static lic_pg_parameter count_parameter(const lic_progress *progress, char room[COUNT_BYTES])
{
    snprintf(room, COUNT_BYTES, "%llu", (unsigned long long)progress->count);
    return (lic_pg_parameter){ .data = room };
}

/* Says which import it is that our functions have refused. */
static licet_status name_failure(const lic_pg_link *link, lic_str name, licet_status status, licet_error **error)
{
    if (status == LICET_OK || strcmp(lic_pg_link_failure(link)->sqlstate, MOVED) != 0)
        return status;
    lic_error_forget(error);
    return lic_fail_import_moved(name, error);
}

licet_status lic_pg_import_lock(const lic_pg_store *store, lic_pg_link *link, const lic_import_piece *piece,
                                lic_pg_wait wait, licet_error **error)
{
    char                   count[COUNT_BYTES];
    const lic_pg_parameter parameters[] = { text_parameter(piece->name), count_parameter(&piece->before, count),
                                            digest_parameter(&piece->before) };
    PGresult              *result       = NULL;
    licet_status           status;

    status = lic_pg_run(link, &store->statements->items[LIC_PG_IMPORT_LOCK], parameters, wait, &result, error);
    PQclear(result);
    return name_failure(link, piece->name, status, error);
}

licet_status lic_pg_import_note(const lic_pg_store *store, lic_pg_link *link, const lic_import_piece *piece,
                                const lic_pg_basis *basis, const char *request, lic_pg_wait wait, PGresult **result,
                                licet_error **error)
{
    char             count[COUNT_BYTES];
    lic_pg_parameter parameters[] = { { .data = NULL },
                                      { .data = NULL },
                                      { .data = NULL },
                                      { .data = request },
                                      text_parameter(piece->name),
                                      count_parameter(&piece->after, count),
                                      digest_parameter(&piece->after),
                                      { .data = piece->is_last ? "true" : "false" } };

    if (basis != NULL) {
        const lic_pg_parameter of_basis[] = { LIC_PG_BASIS(basis) };

        memcpy(parameters, of_basis, sizeof of_basis);
    }
    return lic_pg_run(link, &store->statements->items[LIC_PG_IMPORT_PIECE], parameters, wait, result, error);
}

/* ------------------------------------------------------------ one question, one answer */

/* Asks for something about the import over a link of the pool. *result: the caller's. */
static licet_status ask(lic_pg_store *store, lic_pg_statement_number number, lic_str name, PGresult **result,
                        licet_error **error)
{
    const lic_pg_wait      wait      = lic_pg_store_wait(store, lic_monotonic_ms() + store->limits.write_timeout_ms);
    const lic_pg_parameter parameter = text_parameter(name);
    lic_pg_link           *link      = NULL;
    licet_status           status;

    *result = NULL;
    LIC_TRY(lic_pg_pool_take(store->pool, wait, &link, error));
    LIC_TRY(lic_pg_run(link, &store->statements->items[number], &parameter, wait, result, error));
done:
    lic_pg_pool_give(store->pool, link);
    return status;
}

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's answer is not what was asked for");
}

static licet_status read_record(const PGresult *result, lic_import_record *record, licet_error **error)
{
    lic_str digest;
    int64_t count;

    if (!lic_pg_get_i64(result, 0, COLUMN_COUNT, &count) || count < 0 ||
        !lic_pg_get_bytes(result, 0, COLUMN_DIGEST, &digest) || digest.size != sizeof record->progress.digest ||
        !lic_pg_get_bool(result, 0, COLUMN_IS_FINISHED, &record->is_finished))
        return fail_answer(error);
    record->progress.count = (uint64_t)count;
    memcpy(record->progress.digest, digest.data, digest.size);
    return LICET_OK;
}

/* What is judged from here on is judged by the newest schema. */
static licet_status catch_up(lic_pg_store *store, licet_error **error)
{
    return lic_pg_catch_up(store, lic_monotonic_ms() + store->limits.write_timeout_ms, error);
}

licet_status lic_pg_import_open(lic_store *base, lic_str name, lic_import_record *record, licet_error **error)
{
    PGresult    *result = NULL;
    licet_status status = catch_up(lic_pg_store_of(base), error);

    if (status == LICET_OK)
        status = ask(lic_pg_store_of(base), LIC_PG_IMPORT_OPEN, name, &result, error);
    if (status == LICET_OK)
        status = read_record(result, record, error);
    else if (status == LICET_DEADLINE_EXCEEDED) {
        lic_error_forget(error);
        status = lic_fail(error, LICET_DEADLINE_EXCEEDED, LICET_KIND_DEADLINE, LIC_NOWHERE,
                          "a piece of the import %Q is under way elsewhere, or the database does not answer", &name);
    }
    PQclear(result);
    return status;
}

licet_status lic_pg_import_find(lic_store *base, lic_str name, lic_import_record *record, bool *is_known,
                                licet_error **error)
{
    PGresult    *result;
    licet_status status = ask(lic_pg_store_of(base), LIC_PG_IMPORT_FIND, name, &result, error);

    *is_known = status == LICET_OK && PQntuples(result) > 0;
    if (*is_known)
        status = read_record(result, record, error);
    PQclear(result);
    return status;
}

licet_status lic_pg_import_forget(lic_store *base, lic_str name, bool *was_known, licet_error **error)
{
    PGresult    *result;
    licet_status status = ask(lic_pg_store_of(base), LIC_PG_IMPORT_FORGET, name, &result, error);

    if (status == LICET_OK && !lic_pg_get_bool(result, 0, 0, was_known))
        status = fail_answer(error);
    PQclear(result);
    return status;
}
