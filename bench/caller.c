/* Answers and times the requests of bench/compare from C: those of an engine on Postgres, or those of one prepared SQL
 * statement by libpq alone. Callers are threads, which share the engine but have each a connection of libpq.
 *
 *     caller FOLDER follow|prefetch URI
 *     caller FOLDER sql URI PARAMETERS STATEMENT       PARAMETERS: 0, or 2, the ids of a check's resource and subject
 *     caller FOLDER probe                              one probe of a hash table of 10 million keys: prints its median, ns
 *
 * Reads commands, one a line, and writes one line of JSON for each:
 *     requests FILE                     of FOLDER, a line each: check R P S, bulk COUNT R P S R P S ..., lookup TYPE P S
 *     answer full|default               true or false, a list of them, or a list of ids, for each request
 *     time full|default CALLERS WARMUP_S TIME_S     {"median_ns": ..., "p99_ns": ..., "per_second": ..., "calls": ..., "batch": ...}
 *
 * Calls of less than BATCHED_BELOW_NS are timed together, so that the clock is not what is measured. */
#include <libpq-fe.h>
#include <pthread.h>

#include "support/bench.h"

enum { BATCHED_BELOW_NS = 2000, BATCH_NS = 20000, CALIBRATION_NS = 5000000, MAX_ITEMS = 1000, MAX_CALLERS = 64 };
enum { MAX_LINE = 4096, PARAMETERS = 2 };

typedef enum kind { CHECK, BULK, LOOKUP } kind;

typedef struct request {
    kind                           kind;
    licet_check_request           *items; /* one, of a check */
    size_t                         count;
    licet_lookup_resources_request lookup;
    char                          *ids[PARAMETERS]; /* of a check's resource and subject, for SQL */
} request;

/* What is asked: either an engine or a statement. */
typedef struct asked {
    licet_engine *engine;
    const char   *uri;
    const char   *statement;
    int           parameters;
} asked;

typedef struct caller {
    pthread_t          thread;
    const asked       *asked;
    PGconn            *bare; /* of a statement */
    const request     *requests;
    size_t             count, at;
    licet_consistency  consistency;
    size_t             batch;
    double             warmup_ns, time_ns;
    pthread_barrier_t *start;
    uint32_t          *samples; /* of batches, nanoseconds */
    size_t             sample_count, sample_room;
    double             taken_ns; /* by all of them */
} caller;

/* ---------------------------------------------------------------------- requests */

static char *id_of(licet_str object)
{
    const char *colon = memchr(object.data, ':', object.size);
    size_t      size;
    char       *id;

    if (colon == NULL)
        bench_stop("requests", "an object has no type");
    size = object.size - (size_t)(colon + 1 - object.data);
    id   = bench_alloc(size + 1, 1);
    memcpy(id, colon + 1, size);
    return id;
}

static licet_check_request check_at(licet_str line, int word)
{
    licet_check_request check = LICET_CHECK_REQUEST_INIT;

    check.resource   = bench_word(line, word);
    check.permission = bench_word(line, word + 1);
    check.subject    = bench_word(line, word + 2);
    return check;
}

static request read_request(licet_str line)
{
    request r     = { .kind = CHECK, .count = 1 };
    int     first = 1;

    switch (line.data[0]) {
    case 'l':
        r.kind                 = LOOKUP;
        r.count                = 0;
        r.lookup               = (licet_lookup_resources_request)LICET_LOOKUP_RESOURCES_REQUEST_INIT;
        r.lookup.resource_type = bench_word(line, 1);
        r.lookup.permission    = bench_word(line, 2);
        r.lookup.subject       = bench_word(line, 3);
        return r;
    case 'b':
        r.kind  = BULK;
        r.count = strtoul(bench_word(line, 1).data, NULL, 10);
        first   = 2;
        break;
    default:
        break;
    }
    if (r.count == 0 || r.count > MAX_ITEMS)
        bench_stop("requests", "a bulk check has too few or too many items");
    r.items = bench_alloc(r.count, sizeof *r.items);
    for (size_t i = 0; i < r.count; i++)
        r.items[i] = check_at(line, first + 3 * (int)i);
    if (r.kind == CHECK) {
        r.ids[0] = id_of(r.items[0].resource);
        r.ids[1] = id_of(r.items[0].subject);
    }
    return r;
}

/* ------------------------------------------------------------------------- calls */

static void must_run(PGconn *bare, PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        bench_stop("Postgres", PQerrorMessage(bare));
    PQclear(result);
}

static PGconn *connect_bare(const asked *a)
{
    PGconn *bare;

    if (a->statement == NULL)
        return NULL;
    bare = PQconnectdb(a->uri);
    if (PQstatus(bare) != CONNECTION_OK)
        bench_stop("connect", PQerrorMessage(bare));
    must_run(bare, PQprepare(bare, "it", a->statement, a->parameters, NULL));
    return bare;
}

/* Is the first field of the statement's first row true? */
static bool ask_statement(const caller *c, const request *r)
{
    const char *const values[PARAMETERS] = { r->ids[0], r->ids[1] };
    PGresult         *result             = PQexecPrepared(c->bare, "it", c->asked->parameters, values, NULL, NULL, 0);
    bool              yes;

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_stop("statement", PQerrorMessage(c->bare));
    yes = PQntuples(result) > 0 && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return yes;
}

static bool ask_check(const caller *c, const request *r)
{
    licet_check_request check  = r->items[0];
    licet_result        result = LICET_RESULT_INIT;
    licet_error        *error  = NULL;
    bool                yes;

    check.consistency = c->consistency;
    bench_must(licet_check(c->asked->engine, &check, &result, &error), error, "check");
    yes = licet_result_allowed(&result);
    licet_result_clear(&result);
    return yes;
}

/* Fills answers[0..r->count). Returns how many are yes. */
static size_t ask_bulk(const caller *c, const request *r, bool *answers)
{
    licet_result results[MAX_ITEMS];
    licet_error *error = NULL;
    size_t       yes   = 0;

    for (size_t i = 0; i < r->count; i++)
        results[i] = (licet_result)LICET_RESULT_INIT;
    bench_must(licet_check_bulk(c->asked->engine, r->items, r->count, c->consistency, results, &error), error, "bulk");
    for (size_t i = 0; i < r->count; i++) {
        bench_must(results[i].status, results[i].error, "an item of a bulk check");
        answers[i] = licet_result_allowed(&results[i]);
        yes += answers[i];
        licet_result_clear(&results[i]);
    }
    return yes;
}

/* Returns how many were found. print: writes them too. */
static size_t look_up(const caller *c, const request *r, bool print)
{
    licet_lookup_resources_request lookup   = r->lookup;
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    licet_error                   *error    = NULL;
    bool                           found    = true;
    size_t                         count    = 0;

    lookup.consistency = c->consistency;
    bench_must(licet_lookup_resources(c->asked->engine, &lookup, &stream, &error), error, "lookup");
    for (;;) {
        bench_must(licet_stream_next_resource(stream, &resource, &found, &error), error, "lookup");
        if (!found)
            break;
        if (resource.permissionship != LICET_HAS_PERMISSION)
            bench_stop("lookup", "an answer is conditional");
        if (print)
            printf("%s\"%.*s\"", count > 0 ? "," : "", (int)resource.resource_id.size, resource.resource_id.data);
        count++;
    }
    licet_stream_release(stream);
    return count;
}

/* Something that depends on the answer. */
static size_t ask(const caller *c, const request *r)
{
    bool answers[MAX_ITEMS];

    if (c->asked->statement != NULL)
        return ask_statement(c, r);
    switch (r->kind) {
    case CHECK:
        return ask_check(c, r);
    case BULK:
        return ask_bulk(c, r, answers);
    case LOOKUP:
    default:
        return look_up(c, r, false);
    }
}

static void print_answer(const caller *c, const request *r)
{
    bool answers[MAX_ITEMS];

    switch (r->kind) {
    case CHECK:
        printf("%s", ask(c, r) != 0 ? "true" : "false");
        return;
    case BULK:
        ask_bulk(c, r, answers);
        for (size_t i = 0; i < r->count; i++)
            printf("%s%s", i > 0 ? "," : "[", answers[i] ? "true" : "false");
        printf("]");
        return;
    case LOOKUP:
    default:
        printf("[");
        look_up(c, r, true);
        printf("]");
        return;
    }
}

/* ------------------------------------------------------------------------ timing */

static double call_batch(caller *c)
{
    const double start = bench_now();
    size_t       kept  = 0;

    for (size_t i = 0; i < c->batch; i++) {
        kept += ask(c, &c->requests[c->at]);
        c->at = c->at + 1 < c->count ? c->at + 1 : 0;
    }
    bench_keep(kept);
    return bench_now() - start;
}

static void keep_sample(caller *c, double ns)
{
    if (c->sample_count == c->sample_room) {
        c->sample_room = c->sample_room > 0 ? 2 * c->sample_room : 1 << 16;
        c->samples     = realloc(c->samples, c->sample_room * sizeof *c->samples);
        if (c->samples == NULL)
            bench_stop("memory", "none left");
    }
    c->samples[c->sample_count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void *call_on(void *argument)
{
    caller *c = argument;
    double  end, start;

    pthread_barrier_wait(c->start);
    for (end = bench_now() + c->warmup_ns; bench_now() < end;)
        call_batch(c);
    start = bench_now();
    end   = start + c->time_ns;
    do
        keep_sample(c, call_batch(c));
    while (bench_now() < end);
    c->taken_ns = bench_now() - start;
    return NULL;
}

/* How many calls to time together, by the quickest of some: a disturbance must not decide it. */
static size_t calibrate(caller *c)
{
    const double end  = bench_now() + CALIBRATION_NS;
    double       best = 0;

    c->batch = 8;
    do {
        const double call_ns = call_batch(c) / (double)c->batch;

        best = best == 0 || call_ns < best ? call_ns : best;
    } while (bench_now() < end);
    return best >= BATCHED_BELOW_NS ? 1 : (size_t)(BATCH_NS / (best > 1 ? best : 1));
}

static void print_timing(const caller *callers, size_t count)
{
    size_t  all = 0, n = 0;
    double  per_second = 0;
    double *samples;

    for (size_t i = 0; i < count; i++)
        all += callers[i].sample_count;
    samples = bench_alloc(all, sizeof *samples);
    for (size_t i = 0; i < count; i++) {
        const caller *c = &callers[i];

        per_second += (double)(c->sample_count * c->batch) / (c->taken_ns / 1e9);
        for (size_t s = 0; s < c->sample_count; s++)
            samples[n++] = (double)c->samples[s] / (double)c->batch;
    }
    printf("{\"median_ns\": %.1f, \"p99_ns\": %.1f, ", bench_quantile(samples, all, 0.5),
           bench_quantile(samples, all, 0.99));
    printf("\"per_second\": %.1f, \"calls\": %zu, \"batch\": %zu}\n", per_second, all * callers[0].batch,
           callers[0].batch);
    free(samples);
}

static void time_callers(const caller *like, size_t count, double warmup_s, double time_s)
{
    caller           *callers = bench_alloc(count, sizeof *callers);
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        caller *c = &callers[i];

        *c           = *like;
        c->bare      = connect_bare(c->asked);
        c->at        = like->count * i / count;
        c->warmup_ns = warmup_s * 1e9;
        c->time_ns   = time_s * 1e9;
        c->start     = &start;
        c->batch     = i == 0 ? calibrate(c) : callers[0].batch;
    }
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&callers[i].thread, NULL, call_on, &callers[i]) != 0)
            bench_stop("threads", "cannot start one");
    for (size_t i = 0; i < count; i++)
        pthread_join(callers[i].thread, NULL);
    print_timing(callers, count);
    for (size_t i = 0; i < count; i++) {
        PQfinish(callers[i].bare);
        free(callers[i].samples);
    }
    pthread_barrier_destroy(&start);
    free(callers);
}

/* ---------------------------------------------------------------------- commands */

typedef struct session {
    const char *folder;
    asked       asked;
    bench_file  file; /* holds the words of the requests */
    request    *requests;
    size_t      count;
} session;

static void forget_requests(session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->requests[i].items);
        free(s->requests[i].ids[0]);
        free(s->requests[i].ids[1]);
    }
    free(s->requests);
    free(s->file.text);
    free(s->file.lines);
    s->requests = NULL;
    s->count    = 0;
}

static void read_requests(session *s, const char *name)
{
    forget_requests(s);
    s->file     = bench_read(s->folder, name);
    s->requests = bench_alloc(s->file.count, sizeof *s->requests);
    s->count    = s->file.count;
    for (size_t i = 0; i < s->count; i++)
        s->requests[i] = read_request(s->file.lines[i]);
    printf("{\"requests\": %zu}\n", s->count);
}

static caller caller_for(const session *s, const char *level)
{
    caller c = { .asked = &s->asked, .requests = s->requests, .count = s->count };

    if (s->count == 0)
        bench_stop("commands", "there are no requests");
    c.consistency.freshness = strcmp(level, "full") == 0 ? LICET_FULLY_CONSISTENT : LICET_MINIMIZE_LATENCY;
    return c;
}

static void answer_all(const session *s, const char *level)
{
    caller c = caller_for(s, level);

    c.bare = connect_bare(c.asked);
    for (size_t i = 0; i < s->count; i++) {
        printf("%s", i > 0 ? "," : "[");
        print_answer(&c, &s->requests[i]);
    }
    printf("]\n");
    PQfinish(c.bare);
}

static void obey(session *s, const char *line)
{
    char   word[64];
    size_t callers;
    double warmup_s, time_s;

    if (sscanf(line, "requests %63s", word) == 1) {
        read_requests(s, word);
    } else if (sscanf(line, "answer %63s", word) == 1) {
        answer_all(s, word);
    } else if (sscanf(line, "time %63s %zu %lf %lf", word, &callers, &warmup_s, &time_s) == 4 && callers > 0 &&
               callers <= MAX_CALLERS) {
        const caller like = caller_for(s, word);

        time_callers(&like, callers, warmup_s, time_s);
    } else {
        bench_stop("not a command", line);
    }
    fflush(stdout);
}

/* A loaded machine may keep a thread waiting for longer than the defaults allow. */
static licet_engine *open_engine(const char *mode, const char *uri)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_engine *engine  = NULL;
    licet_error  *error   = NULL;

    options.mode             = strcmp(mode, "prefetch") == 0 ? LICET_MODE_PREFETCH : LICET_MODE_FOLLOW;
    options.check_timeout_ms = 10000;
    options.wait_timeout_ms  = 60000;
    bench_must(licet_open((licet_str){ uri, strlen(uri) }, &options, &engine, &error), error, "open");
    bench_must(licet_await_ready(engine, 60000, &error), error, "ready");
    return engine;
}

int main(int argc, char **argv)
{
    session s = { .folder = argc > 1 ? argv[1] : "" };
    char    line[MAX_LINE];

    if (argc == 3 && strcmp(argv[2], "probe") == 0) {
        printf("%.2f\n", bench_probe());
        return 0;
    }
    if (argc == 4 && (strcmp(argv[2], "follow") == 0 || strcmp(argv[2], "prefetch") == 0))
        s.asked.engine = open_engine(argv[2], argv[3]);
    else if (argc == 6 && strcmp(argv[2], "sql") == 0)
        s.asked = (asked){ .uri = argv[3], .statement = argv[5], .parameters = atoi(argv[4]) };
    else
        bench_stop("usage",
                   "caller FOLDER follow|prefetch URI, or FOLDER sql URI PARAMETERS STATEMENT, or FOLDER probe");
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(&s, line);
    forget_requests(&s);
    licet_engine_release(s.asked.engine);
    return 0;
}
