/* One size of the benchmark's world in Postgres: its import, the load of the graph, requests at the default and at full
 * consistency beside the empty round trip that the latter can't be without, and writes. Drops the schema licet_scale of
 * the database, and makes it anew. */
#include "scale.h"

#include <libpq-fe.h>

#define SCHEMA "licet_scale"

static const char *server(void)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");

    if (conninfo == NULL)
        bench_stop("LICET_TEST_POSTGRES", "names no server (tools/postgres.py run -- ... starts one)");
    return conninfo;
}

/* ------------------------------------------------------------------ libpq alone */

/* Takes the result. */
static void must_run(PGconn *bare, PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        bench_stop("Postgres", PQerrorMessage(bare));
    PQclear(result);
}

static size_t round_trip(void *context)
{
    PGconn *bare = context;

    must_run(bare, PQexecPrepared(bare, "one", 0, NULL, NULL, NULL, 1));
    return 1;
}

static PGconn *connect_bare(void)
{
    PGconn *bare = PQconnectdb(server());

    if (PQstatus(bare) != CONNECTION_OK)
        bench_stop("connect", PQerrorMessage(bare));
    must_run(bare, PQexec(bare, "SET client_min_messages = warning"));
    must_run(bare, PQprepare(bare, "one", "SELECT 1", 0, NULL));
    return bare;
}

/* ----------------------------------------------------------------------- stores */

static licet_engine *open_store(licet_mode mode)
{
    licet_engine *engine = scale_open(server(), SCHEMA, mode);
    licet_error  *error  = NULL;

    bench_must(licet_await_ready(engine, 600000, &error), error, "ready");
    return engine;
}

static void make_store(PGconn *bare)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_error  *error   = NULL;
    licet_str     uri     = { server(), strlen(server()) };

    must_run(bare, PQexec(bare, "DROP SCHEMA IF EXISTS " SCHEMA " CASCADE"));
    options.postgres_schema = LICET_STR(SCHEMA);
    bench_must(licet_migrate(uri, &options, false, NULL, &error), error, "migrate");
}

static void import(const char *folder)
{
    bench_file    schema = bench_read(folder, "schema.zed");
    bench_file    rows   = bench_read(folder, "relationships.txt");
    licet_engine *engine = open_store(LICET_MODE_FOLLOW);
    scale_filler *filler = scale_fill_begin(engine, schema.text);
    double        took;

    for (size_t i = 0; i < rows.count; i++)
        scale_fill_text(filler, rows.lines[i]);
    took = scale_fill_end(filler);
    scale_print("load", "\"how\": \"import\", \"seconds\": %.4f, \"relationships\": %zu", took / 1e9, rows.count);
    licet_engine_release(engine);
    bench_close(&schema);
    bench_close(&rows);
}

void scale_database(const char *folder, unsigned worlds)
{
    PGconn       *bare = connect_bare();
    licet_engine *engine;
    double        start;

    make_store(bare);
    import(folder);
    must_run(bare, PQexec(bare, "VACUUM ANALYZE"));
    start  = bench_now();
    engine = open_store(LICET_MODE_FOLLOW);
    scale_print_load("graph", engine, bench_now() - start);
    scale_print("floors", "\"round_trip_ns\": %.0f", scale_time(&(scale_work){ round_trip, bare, 10 }).median_ns);
    scale_requests(engine, folder, worlds, LICET_MINIMIZE_LATENCY, true);
    scale_requests(engine, folder, worlds, LICET_FULLY_CONSISTENT, true);
    scale_writes(engine, folder, LICET_MINIMIZE_LATENCY);
    licet_engine_release(engine);
    must_run(bare, PQexec(bare, "DROP SCHEMA " SCHEMA " CASCADE"));
    PQfinish(bare);
}
