/* What Postgres costs: checks at full consistency of an engine that follows the database and of one that fetches what
 * each request needs; how that changes while others commit, after much was granted and revoked, and with many callers;
 * imports; and loads of the whole graph. Beside each, in turns with it in the same run, the floor: one round trip of a
 * prepared statement that does nothing, or a bare COPY, both by libpq alone over a connection like the engine's.
 *
 *     LICET_TEST_POSTGRES="host=..." postgres [FOLDER [LARGE_FOLDER [ROWS]]]
 *
 * Folders are made by bench/data/generate.py (build/bench-data, and build/bench-data-40 with --scale 40, of which ROWS
 * relationships are imported and loaded; 1,000,000). Starts no server: `tools/postgres.py run -- postgres ...` does.
 * Drops the schemas licet_bench_* of the database, and makes them anew.
 *
 * BENCH_TIME and BENCH_WARMUP: seconds for each measurement (1 and 0.3). BENCH_PARTS: which parts, of "follow prefetch
 * callers churn busy graph" (all). */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>

#include "support/bench.h"

enum { MAX_SAMPLES = 100000, BURST = 20, BULK = 100, READER = 433, READERS_DOCUMENTS = 109, CHURN = 100000 };
enum { KINDS = 5, CALLERS = 8, PIECE = 1000, COMMITS_A_SECOND = 100 };
enum { LOADS = 5, RATE = 50000 };

static licet_str text_of(const char *text)
{
    return (licet_str){ text, strlen(text) };
}

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

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
        bench_stop("Postgres", PQerrorMessage(bare));
    PQclear(result);
}

static PGconn *connect_bare(void)
{
    PGconn *bare = PQconnectdb(server());

    if (PQstatus(bare) != CONNECTION_OK)
        bench_stop("connect", PQerrorMessage(bare));
    must_run(bare, PQexec(bare, "SET client_min_messages = warning"));
    return bare;
}

static void run_sql(PGconn *bare, const char *sql)
{
    must_run(bare, PQexec(bare, sql));
}

static void prepare(PGconn *bare, const char *name, const char *sql)
{
    must_run(bare, PQprepare(bare, name, sql, 0, NULL));
}

static void run_prepared(PGconn *bare, const char *name)
{
    must_run(bare, PQexecPrepared(bare, name, 0, NULL, NULL, NULL, 1));
}

/* ------------------------------------------------------------------------ stores */

/* Relationships ready to be written, as views of a file. */
typedef struct data {
    bench_file          schema;
    bench_file          rows;
    licet_relationship *relationships;
    size_t              count;
} data;

static data read_data(const char *folder, size_t most)
{
    data         d     = { bench_read(folder, "schema.zed"), bench_read(folder, "relationships.txt"), NULL, 0 };
    licet_error *error = NULL;

    d.count         = d.rows.count < most ? d.rows.count : most;
    d.relationships = bench_alloc(d.count, sizeof *d.relationships);
    for (size_t i = 0; i < d.count; i++) {
        d.relationships[i] = (licet_relationship)LICET_RELATIONSHIP_INIT;
        bench_must(licet_relationship_parse(d.rows.lines[i], &d.relationships[i], &error), error, "row");
    }
    return d;
}

static void free_data(data *d)
{
    free(d->schema.text);
    free(d->schema.lines);
    free(d->rows.text);
    free(d->rows.lines);
    free(d->relationships);
}

static licet_engine *open_engine(const char *schema, licet_mode mode)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_engine *engine  = NULL;
    licet_error  *error   = NULL;

    options.postgres_schema    = text_of(schema);
    options.mode               = mode;
    options.memory_limit_bytes = UINT64_C(4) << 30;
    options.check_timeout_ms   = 10000;
    options.wait_timeout_ms    = 60000;
    options.write_timeout_ms   = 60000;
    bench_must(licet_open(text_of(server()), &options, &engine, &error), error, "open");
    bench_must(licet_await_ready(engine, 600000, &error), error, "ready");
    return engine;
}

/* Seconds that the import took. */
static double import(licet_engine *engine, const data *d)
{
    licet_import *importing = NULL;
    licet_error  *error     = NULL;
    uint64_t      count     = 0;
    double        start     = bench_now();

    bench_must(licet_import_begin(engine, &importing, &error), error, "import");
    for (size_t at = 0, n; at < d->count; at += n) {
        n = d->count - at < PIECE ? d->count - at : PIECE;
        bench_must(licet_import_add(importing, &d->relationships[at], n, &error), error, "import");
    }
    bench_must(licet_import_commit(importing, &count, NULL, &error), error, "import");
    licet_import_release(importing);
    if (count != d->count)
        bench_stop("import", "not every relationship was taken");
    return (bench_now() - start) / 1e9;
}

/* New tables, with the data in them. seconds: of the import; may be NULL. */
static void make_store(PGconn *bare, const char *schema, const data *d, double *seconds)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_error  *error   = NULL;
    licet_engine *engine;
    char          sql[128];
    double        took;

    snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS %s CASCADE", schema);
    run_sql(bare, sql);
    options.postgres_schema = text_of(schema);
    bench_must(licet_migrate(text_of(server()), &options, false, NULL, &error), error, "migrate");
    engine = open_engine(schema, LICET_MODE_FOLLOW);
    bench_must(licet_write_schema(engine, text_of(d->schema.text), NULL, &error), error, "schema");
    took = import(engine, d);
    if (seconds != NULL)
        *seconds = took;
    licet_engine_release(engine);
}

/* ----------------------------------------------------------------------- requests */

typedef enum kind { DIRECT, NESTED, DENIED, BULK_100, LOOKUP_109 } kind;

static const char *const names[KINDS] = { "direct", "nested", "denied", "bulk-100", "lookup-109" };

typedef struct questions {
    licet_check_request *requests;
    bool                *expected;
    size_t               count;
} questions;

/* What one contestant asks, one after the other. */
typedef struct asking {
    licet_engine *engine;
    PGconn       *bare; /* of a floor */
    const char   *statement;
    kind          kind;
    questions     questions;
    size_t        at;
} asking;

static questions read_questions(const char *folder, const char *name)
{
    bench_file file = bench_read(folder, name);
    questions  q = { bench_alloc(file.count, sizeof *q.requests), bench_alloc(file.count, sizeof(bool)), file.count };

    for (size_t i = 0; i < file.count; i++) {
        q.requests[i]                       = (licet_check_request)LICET_CHECK_REQUEST_INIT;
        q.requests[i].resource              = bench_word(file.lines[i], 0);
        q.requests[i].permission            = bench_word(file.lines[i], 1);
        q.requests[i].subject               = bench_word(file.lines[i], 2);
        q.requests[i].consistency.freshness = LICET_FULLY_CONSISTENT;
        q.expected[i]                       = bench_word(file.lines[i], 3).data[0] == 'y';
    }
    return q;
}

static void read_all_questions(const char *folder, questions all[KINDS])
{
    static const char *const files[] = { "direct.txt", "nested.txt", "denied.txt", "bulk.txt" };

    for (int k = DIRECT; k <= BULK_100; k++)
        all[k] = read_questions(folder, files[k]);
    all[LOOKUP_109] = (questions){ NULL, NULL, 0 };
}

static bool as_expected(const licet_result *result, bool expected)
{
    return licet_result_allowed(result) == expected;
}

static bool ask_one(asking *a)
{
    licet_result result = LICET_RESULT_INIT;
    licet_error *error  = NULL;
    size_t       at     = a->at;

    a->at = a->at + 1 < a->questions.count ? a->at + 1 : 0;
    bench_must(licet_check(a->engine, &a->questions.requests[at], &result, &error), error, names[a->kind]);
    return as_expected(&result, a->questions.expected[at]);
}

static bool ask_bulk(asking *a)
{
    const licet_consistency full  = { LICET_FULLY_CONSISTENT, { NULL, 0 }, false };
    licet_error            *error = NULL;
    licet_result            results[BULK];
    size_t                  at   = a->at;
    bool                    fine = true;

    a->at = a->at + BULK < a->questions.count ? a->at + BULK : 0;
    for (int i = 0; i < BULK; i++)
        results[i] = (licet_result)LICET_RESULT_INIT;
    bench_must(licet_check_bulk(a->engine, &a->questions.requests[at], BULK, full, results, &error), error, "bulk");
    for (size_t i = 0; i < BULK; i++)
        fine = fine && as_expected(&results[i], a->questions.expected[at + i]);
    return fine;
}

static bool look_up(asking *a)
{
    licet_lookup_resources_request request  = LICET_LOOKUP_RESOURCES_REQUEST_INIT;
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    licet_error                   *error    = NULL;
    bool                           found    = true;
    size_t                         count    = 0;
    char                           subject[32];

    snprintf(subject, sizeof subject, "user:u%d", READER);
    request.resource_type         = LICET_STR("document");
    request.permission            = LICET_STR("view");
    request.subject               = text_of(subject);
    request.consistency.freshness = LICET_FULLY_CONSISTENT;
    bench_must(licet_lookup_resources(a->engine, &request, &stream, &error), error, "lookup");
    while (found) {
        bench_must(licet_stream_next_resource(stream, &resource, &found, &error), error, "lookup");
        count += found;
    }
    licet_stream_release(stream);
    return count == READERS_DOCUMENTS;
}

/* Every answer is compared with the expected one, also of those that are timed. */
static void ask(asking *a)
{
    bool fine;

    if (a->statement != NULL) {
        run_prepared(a->bare, a->statement);
        return;
    }
    fine = a->kind == BULK_100 ? ask_bulk(a) : a->kind == LOOKUP_109 ? look_up(a) : ask_one(a);
    if (!fine)
        bench_stop(names[a->kind], "an answer is not the expected one");
}

static void verify(licet_engine *engine, const questions all[KINDS])
{
    for (int k = 0; k < KINDS; k++) {
        asking a = { .engine = engine, .kind = (kind)k, .questions = all[k] };

        do
            ask(&a);
        while (a.at != 0);
    }
}

/* ------------------------------------------------------------------------ contests */

typedef struct contestant {
    const char *name;
    asking      asking;
    double      bound; /* in floors; 0: none */
    double     *samples;
    size_t      count;
    double      median_ns;
    double      p99_ns;
} contestant;

typedef struct contest {
    contestant all[32];
    size_t     count;
    PGconn    *committer; /* before each call something is committed over it, which is not timed. NULL: nothing is */
} contest;

static contestant *enter(contest *c, const char *name, asking a, double bound)
{
    contestant *one = &c->all[c->count++];

    *one = (contestant){ .name = name, .asking = a, .bound = bound };
    return one;
}

static void enter_floors(contest *c, PGconn *bare)
{
    enter(c, "SELECT 1, prepared (the floor)", (asking){ .bare = bare, .statement = "one" }, 0);
    enter(c, "an empty statement, prepared", (asking){ .bare = bare, .statement = "empty" }, 0);
}

static void enter_all(contest *c, licet_engine *engine, const questions all[KINDS], const double bounds[KINDS])
{
    for (int k = 0; k < KINDS; k++)
        enter(c, names[k], (asking){ .engine = engine, .kind = (kind)k, .questions = all[k] }, bounds[k]);
}

static void burst(const contest *c, contestant *one, double warm)
{
    for (int i = 0; i < BURST; i++) {
        double before;

        if (c->committer != NULL)
            run_prepared(c->committer, "commit");
        before = bench_now();
        ask(&one->asking);
        if (before >= warm && one->count < MAX_SAMPLES)
            one->samples[one->count++] = bench_now() - before;
    }
}

/* In short turns, so that a slow moment meets all. */
static void run_contest(contest *c)
{
    double warm = bench_now() + bench_seconds("BENCH_WARMUP", 0.3) * 1e9 * (double)c->count;
    double end  = warm + bench_seconds("BENCH_TIME", 1) * 1e9 * (double)c->count;

    for (size_t i = 0; i < c->count; i++)
        c->all[i].samples = bench_alloc(MAX_SAMPLES, sizeof(double));
    while (bench_now() < end || c->all[0].count == 0)
        for (size_t i = 0; i < c->count; i++)
            burst(c, &c->all[i], warm);
    for (size_t i = 0; i < c->count; i++) {
        contestant *one = &c->all[i];

        one->median_ns = bench_quantile(one->samples, one->count, 0.5);
        one->p99_ns    = bench_quantile(one->samples, one->count, 0.99);
        free(one->samples);
        one->samples = NULL;
    }
}

static size_t missed;

static void print_verdict(double ratio, double bound)
{
    const bool fine = ratio <= bound;

    missed += !fine;
    printf(" %8.2f %8.2f  %s\n", ratio, bound, fine ? "ok" : "MISSED");
}

static void print_head(const char *title)
{
    printf("%s\n  %-34s %10s %10s %8s %8s\n", title, "", "median us", "p99 us", "floors", "bound");
}

static void print_contest(const contest *c, const char *title)
{
    print_head(title);
    for (size_t i = 0; i < c->count; i++) {
        const contestant *one = &c->all[i];

        printf("  %-34s %10.1f %10.1f", one->name, one->median_ns / 1e3, one->p99_ns / 1e3);
        if (one->bound > 0)
            print_verdict(one->median_ns / c->all[0].median_ns, one->bound);
        else
            printf(" %8.2f\n", one->median_ns / c->all[0].median_ns);
    }
    fflush(stdout);
}

/* -------------------------------------------------------------------- who commits */

typedef struct committer {
    pthread_t    thread;
    const char  *sql; /* a statement that commits */
    _Atomic bool stop;
    size_t       commits;
    double       seconds;
} committer;

static const char WRITE[] = "SELECT licet_bench_quiet.write(('{\"updates\":[{\"operation\":\"touch\",\"relationship\":"
                            "\"document:other#viewer@user:u' || (500 + random() * 499)::int || '\"}]}')::jsonb)";
static const char UNRELATED[] = "INSERT INTO licet_bench_other VALUES (1)";

static void *commit_on(void *argument)
{
    committer *c     = argument;
    PGconn    *bare  = connect_bare();
    double     start = bench_now();
    double     next  = start;

    prepare(bare, "commit", c->sql);
    while (!atomic_load(&c->stop)) {
        const double left = next - bench_now();

        if (left > 0)
            nanosleep(&(struct timespec){ 0, (long)left }, NULL);
        next += 1e9 / COMMITS_A_SECOND;
        run_prepared(bare, "commit");
        c->commits++;
    }
    c->seconds = (bench_now() - start) / 1e9;
    PQfinish(bare);
    return NULL;
}

/* ------------------------------------------------------------------------ following */

static const double idle_bounds[KINDS]  = { 1.5, 1.5, 1.5, 1.5, 1.5 };
static const double busy_bounds[KINDS]  = { 2.5, 2.5, 2.5, 2.5, 2.5 };
static const double fetch_bounds[KINDS] = { 2.5, 5, 5, 10, 10 };
static const double no_bounds[KINDS]    = { 0 };

static void measure(PGconn *bare, licet_engine *engine, const questions all[KINDS], const double bounds[KINDS],
                    const char *title)
{
    contest c = { .count = 0 };

    enter_floors(&c, bare);
    enter_all(&c, engine, all, bounds);
    run_contest(&c);
    print_contest(&c, title);
}

static void measure_beside(PGconn *bare, licet_engine *engine, const questions all[KINDS], const char *sql,
                           const char *what)
{
    committer other = { .sql = sql };
    char      title[128];

    snprintf(title, sizeof title, "following, while another connection commits %d times a second (%s)",
             COMMITS_A_SECOND, what);
    if (pthread_create(&other.thread, NULL, commit_on, &other) != 0)
        bench_stop("threads", "cannot start one");
    measure(bare, engine, all, busy_bounds, title);
    atomic_store(&other.stop, true);
    pthread_join(other.thread, NULL);
    printf("  (%.0f commits a second)\n", (double)other.commits / other.seconds);
}

/* Each call is the first after a commit: what a busy database costs at the worst, for which there is no bound. */
static void measure_after_commits(PGconn *bare, licet_engine *engine, const questions all[KINDS], const char *sql,
                                  const char *title)
{
    contest c = { .committer = connect_bare() };

    prepare(c.committer, "commit", sql);
    enter_floors(&c, bare);
    enter_all(&c, engine, all, no_bounds);
    run_contest(&c);
    print_contest(&c, title);
    PQfinish(c.committer);
}

/* --------------------------------------------------------------------- many callers */

typedef struct caller {
    pthread_t thread;
    asking    asking;
    double    end;
    size_t    calls;
} caller;

static void *call_on(void *argument)
{
    caller *c = argument;

    while (bench_now() < c->end) {
        ask(&c->asking);
        c->calls++;
    }
    return NULL;
}

/* Calls a second. */
static double throughput(const asking *a, int threads)
{
    const double seconds = bench_seconds("BENCH_TIME", 1);
    const double start   = bench_now();
    caller       callers[CALLERS];
    size_t       calls = 0;

    for (int i = 0; i < threads; i++) {
        callers[i]           = (caller){ .asking = *a, .end = start + seconds * 1e9 };
        callers[i].asking.at = a->questions.count / CALLERS * (size_t)i;
        if (pthread_create(&callers[i].thread, NULL, call_on, &callers[i]) != 0)
            bench_stop("threads", "cannot start one");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(callers[i].thread, NULL);
        calls += callers[i].calls;
    }
    return (double)calls / ((bench_now() - start) / 1e9);
}

static void measure_callers(licet_engine *engine, const questions all[KINDS])
{
    enum { ROUNDS = 5 };
    double one[ROUNDS], eight[ROUNDS], ratios[ROUNDS];

    printf("following, %d callers; checks a second, and at least so many times those of one\n", CALLERS);
    printf("  %-34s %10s %10s %8s %8s\n", "", "one", "eight", "times", "bound");
    for (int k = DIRECT; k <= DENIED; k++) {
        const asking a = { .engine = engine, .kind = (kind)k, .questions = all[k] };
        double       ratio;

        for (int i = 0; i < ROUNDS; i++) {
            one[i]    = throughput(&a, 1);
            eight[i]  = throughput(&a, CALLERS);
            ratios[i] = eight[i] / one[i];
        }
        ratio = bench_quantile(ratios, ROUNDS, 0.5);
        missed += ratio < 3;
        printf("  %-34s %10.0f %10.0f %8.2f %8.2f  %s\n", names[k], bench_quantile(one, ROUNDS, 0.5),
               bench_quantile(eight, ROUNDS, 0.5), ratio, 3.0, ratio >= 3 ? "ok" : "MISSED");
    }
    fflush(stdout);
}

/* ---------------------------------------------------------------------------- churn */

static void write_churn(licet_engine *engine, licet_operation operation)
{
    static licet_update updates[PIECE];
    static char         texts[PIECE][64];
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_error        *error   = NULL;

    request.updates      = updates;
    request.update_count = PIECE;
    for (unsigned at = 0; at < CHURN; at += PIECE) {
        for (unsigned i = 0; i < PIECE; i++) {
            snprintf(texts[i], sizeof texts[i], "document:churn%u#viewer@user:u%u", (at + i) / 10, (at + i) % 1000);
            updates[i].operation    = operation;
            updates[i].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
            bench_must(licet_relationship_parse(text_of(texts[i]), &updates[i].relationship, &error), error, "row");
        }
        bench_must(licet_write(engine, &request, NULL, &error), error, "churn");
    }
}

/* Two stores with the same data, one of which has been through it: "before" and "after" in the same moment. */
static void measure_churn(PGconn *bare, licet_engine *before, licet_engine *after, const questions all[KINDS],
                          const char *title)
{
    contest c = { .count = 0 };

    enter_floors(&c, bare);
    enter_all(&c, before, all, no_bounds);
    enter_all(&c, after, all, no_bounds);
    run_contest(&c);
    printf("%s\n  %-34s %10s %10s %8s %8s\n", title, "", "before us", "after us", "times", "bound");
    for (size_t i = 2; i < 2 + KINDS; i++) {
        printf("  %-34s %10.1f %10.1f", c.all[i].name, c.all[i].median_ns / 1e3, c.all[i + KINDS].median_ns / 1e3);
        print_verdict(c.all[i + KINDS].median_ns / c.all[i].median_ns, 1.2);
    }
    fflush(stdout);
}

/* ------------------------------------------------------------------ the whole graph */

/* Seconds of a COPY of all living relationships, as the engine asks for it, whose rows are thrown away. */
static double copy_bare(PGconn *bare, uint64_t *bytes)
{
    double    start = bench_now();
    PGresult *result =
        PQexec(bare, "COPY (SELECT rt, ri, rr, st, si, sr, caveat, context::text, expires_at, expires_ns "
                     "FROM licet_bench_large.rel WHERE deleted_xid = '9223372036854775807') "
                     "TO STDOUT (FORMAT binary)");
    char *row = NULL;
    int   size;

    if (PQresultStatus(result) != PGRES_COPY_OUT)
        bench_stop("COPY", PQerrorMessage(bare));
    PQclear(result);
    for (*bytes = 0; (size = PQgetCopyData(bare, &row, 0)) > 0; *bytes += (uint64_t)size)
        PQfreemem(row);
    must_run(bare, PQgetResult(bare));
    return (bench_now() - start) / 1e9;
}

static double load(size_t rows)
{
    double        start  = bench_now();
    licet_engine *engine = open_engine("licet_bench_large", LICET_MODE_FOLLOW);
    double        took   = (bench_now() - start) / 1e9;

    if (bench_stats(engine).relationships != rows)
        bench_stop("load", "not every relationship is there");
    licet_engine_release(engine);
    return took;
}

static void measure_graph(PGconn *bare, const char *folder, size_t most)
{
    data     d = read_data(folder, most);
    double   copies[LOADS], loads[LOADS], seconds, rate, ratio;
    uint64_t bytes = 0;

    make_store(bare, "licet_bench_large", &d, &seconds);
    rate = (double)d.count / seconds;
    missed += rate < RATE;
    printf("import of %zu relationships\n  %.1f s, %.0f a second (at least %d)  %s\n", d.count, seconds, rate, RATE,
           rate >= RATE ? "ok" : "MISSED");
    fflush(stdout);
    copy_bare(bare, &bytes);
    for (int i = 0; i < LOADS; i++) {
        copies[i] = copy_bare(bare, &bytes);
        loads[i]  = load(d.count);
    }
    ratio = bench_quantile(loads, LOADS, 0.5) / bench_quantile(copies, LOADS, 0.5);
    printf("load of %zu relationships into the graph; the floor: a bare binary COPY of them, %.0f MB\n", d.count,
           (double)bytes / 1e6);
    printf("  %-34s %10s %10s %8s %8s\n", "", "COPY ms", "load ms", "floors", "bound");
    printf("  %-34s %10.0f %10.0f", "load (medians)", bench_quantile(copies, LOADS, 0.5) * 1e3,
           bench_quantile(loads, LOADS, 0.5) * 1e3);
    print_verdict(ratio, 1.25);
    printf("  %-34s %10.0f %10.0f %8.2f\n", "load (quickest)", copies[0] * 1e3, loads[0] * 1e3, loads[0] / copies[0]);
    run_sql(bare, "DROP SCHEMA licet_bench_large CASCADE");
    free_data(&d);
}

/* ------------------------------------------------------------------------------ main */

static bool is_wanted(const char *part)
{
    const char *parts = getenv("BENCH_PARTS");

    return parts == NULL || strstr(parts, part) != NULL;
}

/* The engines that are measured: both ways of two stores with the same data. */
typedef struct field {
    licet_engine *quiet;
    licet_engine *quiet_fetching;
    licet_engine *churned;
    licet_engine *churned_fetching;
    questions     all[KINDS];
} field;

static void open_field(PGconn *bare, const char *folder, field *f)
{
    data d = read_data(folder, SIZE_MAX);

    read_all_questions(folder, f->all);
    make_store(bare, "licet_bench_quiet", &d, NULL);
    make_store(bare, "licet_bench_churned", &d, NULL);
    free_data(&d);
    f->quiet            = open_engine("licet_bench_quiet", LICET_MODE_FOLLOW);
    f->quiet_fetching   = open_engine("licet_bench_quiet", LICET_MODE_PREFETCH);
    f->churned          = open_engine("licet_bench_churned", LICET_MODE_FOLLOW);
    f->churned_fetching = open_engine("licet_bench_churned", LICET_MODE_PREFETCH);
    verify(f->quiet, f->all);
    verify(f->quiet_fetching, f->all);
}

static void close_field(field *f)
{
    licet_engine_release(f->quiet);
    licet_engine_release(f->quiet_fetching);
    licet_engine_release(f->churned);
    licet_engine_release(f->churned_fetching);
}

static void churn(PGconn *bare, const field *f)
{
    write_churn(f->churned, LICET_TOUCH);
    write_churn(f->churned, LICET_DELETE);
    verify(f->churned, f->all);
    verify(f->churned_fetching, f->all);
    bench_await_merges(f->churned);
    measure_churn(bare, f->quiet, f->churned, f->all, "following, 100,000 relationships granted and revoked");
    measure_churn(bare, f->quiet_fetching, f->churned_fetching, f->all,
                  "prefetching, 100,000 relationships granted and revoked");
}

static void measure_busy(PGconn *bare, const field *f)
{
    measure_beside(bare, f->quiet, f->all, WRITE, "writes of a relationship");
    measure_beside(bare, f->quiet, f->all, UNRELATED, "of other tables");
    measure_after_commits(bare, f->quiet, f->all, WRITE, "following, each the first call after a write");
    measure_after_commits(bare, f->quiet, f->all, UNRELATED, "following, each the first call after another commit");
}

static void measure_requests(PGconn *bare, const char *folder)
{
    field f;

    open_field(bare, folder, &f);
    if (is_wanted("follow"))
        measure(bare, f.quiet, f.all, idle_bounds, "following, at full consistency, nothing else commits");
    if (is_wanted("prefetch"))
        measure(bare, f.quiet_fetching, f.all, fetch_bounds, "prefetching, at full consistency");
    if (is_wanted("callers"))
        measure_callers(f.quiet, f.all);
    if (is_wanted("churn"))
        churn(bare, &f);
    if (is_wanted("busy"))
        measure_busy(bare, &f);
    close_field(&f);
    run_sql(bare, "DROP SCHEMA licet_bench_quiet CASCADE; DROP SCHEMA licet_bench_churned CASCADE");
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "build/bench-data";
    const char *large  = argc > 2 ? argv[2] : "build/bench-data-40";
    size_t      most   = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000;
    PGconn     *bare   = connect_bare();

    prepare(bare, "one", "SELECT 1");
    prepare(bare, "empty", "");
    run_sql(bare, "DROP TABLE IF EXISTS licet_bench_other; CREATE TABLE licet_bench_other (n int)");
    if (is_wanted("follow") || is_wanted("prefetch") || is_wanted("callers") || is_wanted("churn") || is_wanted("busy"))
        measure_requests(bare, folder);
    if (is_wanted("graph"))
        measure_graph(bare, large, most);
    run_sql(bare, "DROP TABLE licet_bench_other");
    PQfinish(bare);
    printf("%zu missed\n", missed);
    return 0;
}
