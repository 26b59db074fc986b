/* Answers and times the requests of bench/compare from C: those of an engine on Postgres or in memory, or those of one
 * prepared SQL statement by libpq alone. Callers are threads, which share the engine but have each a connection of libpq.
 *
 *     caller FOLDER follow|prefetch URI
 *     caller FOLDER memory
 *     caller FOLDER sql URI PARAMETERS STATEMENT       PARAMETERS: 0, or 2, the ids of a check's resource and subject
 *     caller FOLDER probe                              one probe of a hash table of 10 million keys: prints its median, ns
 *
 * Reads commands, one a line, and writes one line of JSON for each:
 *     requests FILE                     of FOLDER, a line each: check R P S, bulk COUNT R P S R P S ..., lookup TYPE P S
 *     answer full|default|walk          true or false, a list of them, or a list of ids, for each request
 *     time full|default CALLERS WARMUP_S TIME_S     {"median_ns": ..., "p99_ns": ..., "per_second": ..., "calls": ..., "batch": ...}
 *     load                              schema.zed and relationships.txt of FOLDER, into the engine in memory
 *     walk FILE                         relationships of FOLDER, a line each, for the walk by hand (support/walk.h)
 *     floor FILE                        requests, as above: from now on they are walked beside, when there is one caller
 *                                       at the default consistency, in turns of TURN_NS, and what a walk took is told as
 *                                       "walk_ns". An empty file: no more
 *
 * Calls of less than BATCHED_BELOW_NS are timed together, so that the clock is not what is measured. */
#include <libpq-fe.h>
#include <pthread.h>

#include "support/floor.h"

enum { BATCHED_BELOW_NS = 2000, BATCH_NS = 20000, CALIBRATION_NS = 5000000, MAX_ITEMS = 1000, MAX_CALLERS = 64 };
enum { MAX_LINE = 4096, PARAMETERS = 2, TURN_NS = 200000, WALK_BATCH = 8, MAX_FOUND = 16384 };

typedef enum kind { CHECK, BULK, LOOKUP } kind;

typedef struct request {
    kind                           kind;
    licet_check_request           *items; /* one, of a check */
    size_t                         count;
    licet_lookup_resources_request lookup;
    char                          *ids[PARAMETERS]; /* of a check's resource and subject, for SQL */
} request;

typedef struct request_list {
    bench_file file; /* holds the words of the requests */
    request   *requests;
    size_t     count;
} request_list;

/* What is asked: either an engine or a statement. */
typedef struct asked {
    licet_engine *engine;
    const char   *uri;
    const char   *statement;
    int           parameters;
} asked;

/* What is walked beside. */
typedef struct walker {
    walk_graph   graph;
    bool         is_loaded;
    request_list floor;
    size_t       at;
    walk_text    found[MAX_FOUND];
} walker;

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
    walker            *walker;   /* or NULL */
    double            *walks;    /* of turns, nanoseconds of one walk */
    size_t             walk_count, walk_room;
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
    PGconn *bare = PQconnectdb(a->uri);

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

/* The same by hand. */
static size_t walk(walker *w, const request *r)
{
    size_t yes = 0;

    if (r->kind == LOOKUP)
        return walk_lookup(&w->graph, bench_walk_text(r->lookup.subject), w->found);
    for (size_t i = 0; i < r->count; i++)
        yes += walk_check(&w->graph, bench_walk_text(r->items[i].resource), bench_walk_text(r->items[i].subject));
    return yes;
}

static void print_walked(walker *w, const request *r)
{
    if (r->kind == LOOKUP) {
        const size_t count = walk(w, r);

        for (size_t i = 0; i < count; i++)
            printf("%s\"%.*s\"", i > 0 ? "," : "[", (int)w->found[i].size, w->found[i].data);
        printf(count > 0 ? "]" : "[]");
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        const request item = { .kind = CHECK, .items = &r->items[i], .count = 1 };

        printf("%s%s", r->kind == CHECK ? "" : i > 0 ? "," : "[", walk(w, &item) != 0 ? "true" : "false");
    }
    printf(r->kind == CHECK ? "" : "]");
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

/* Room for one more. */
static void *grown(void *samples, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return samples;
    *room   = *room > 0 ? 2 * *room : 1 << 12;
    samples = realloc(samples, *room * size);
    if (samples == NULL)
        bench_stop("memory", "none left");
    return samples;
}

static void keep_sample(caller *c, double ns)
{
    c->samples                    = grown(c->samples, c->sample_count, &c->sample_room, sizeof *c->samples);
    c->samples[c->sample_count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void call_turn(caller *c, double turn_ns)
{
    const double start = bench_now();

    do
        keep_sample(c, call_batch(c));
    while (bench_now() - start < turn_ns);
    c->taken_ns += bench_now() - start;
}

static void walk_turn(caller *c)
{
    walker      *w     = c->walker;
    const double start = bench_now();
    size_t       kept = 0, count = 0;

    do
        for (int i = 0; i < WALK_BATCH; i++, count++) {
            kept += walk(w, &w->floor.requests[w->at]);
            w->at = w->at + 1 < w->floor.count ? w->at + 1 : 0;
        }
    while (bench_now() - start < TURN_NS);
    bench_keep(kept);
    c->walks                  = grown(c->walks, c->walk_count, &c->walk_room, sizeof *c->walks);
    c->walks[c->walk_count++] = (bench_now() - start) / (double)count;
}

static void *call_on(void *argument)
{
    caller *c = argument;
    double  end;

    pthread_barrier_wait(c->start);
    for (end = bench_now() + c->warmup_ns; bench_now() < end;)
        call_batch(c);
    do {
        call_turn(c, c->walker != NULL ? TURN_NS : c->time_ns);
        if (c->walker != NULL)
            walk_turn(c);
    } while (c->taken_ns < c->time_ns);
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
    printf("\"per_second\": %.1f, \"calls\": %zu, \"batch\": %zu", per_second, all * callers[0].batch,
           callers[0].batch);
    if (callers[0].walk_count > 0)
        printf(", \"walk_ns\": %.2f", bench_quantile(callers[0].walks, callers[0].walk_count, 0.5));
    printf("}\n");
    free(samples);
}

/* connections: one for each, where a statement is asked. batch: 0, or as it was found out for these requests. */
static void time_callers(const caller *like, size_t count, double warmup_s, double time_s, PGconn **connections,
                         size_t *batch)
{
    caller           *callers = bench_alloc(count, sizeof *callers);
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        caller *c = &callers[i];

        *c           = *like;
        c->bare      = connections[i];
        c->at        = like->count * i / count;
        c->warmup_ns = warmup_s * 1e9;
        c->time_ns   = time_s * 1e9;
        c->start     = &start;
        if (*batch == 0)
            *batch = calibrate(c);
        c->batch = *batch;
    }
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&callers[i].thread, NULL, call_on, &callers[i]) != 0)
            bench_stop("threads", "cannot start one");
    for (size_t i = 0; i < count; i++)
        pthread_join(callers[i].thread, NULL);
    print_timing(callers, count);
    for (size_t i = 0; i < count; i++) {
        free(callers[i].samples);
        free(callers[i].walks);
    }
    pthread_barrier_destroy(&start);
    free(callers);
}

/* ---------------------------------------------------------------------- commands */

enum { LEVELS = 2 };

typedef struct session {
    const char  *folder;
    asked        asked;
    request_list asking;
    walker       walker;
    PGconn      *connections[MAX_CALLERS]; /* kept: what connects anew is timed cold */
    size_t       batches[LEVELS];          /* of these requests, default and full; 0: not known yet */
} session;

static void forget_requests(request_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->requests[i].items);
        free(list->requests[i].ids[0]);
        free(list->requests[i].ids[1]);
    }
    free(list->requests);
    bench_close(&list->file);
    *list = (request_list){ .requests = NULL };
}

static void read_requests(const session *s, const char *name, request_list *list)
{
    forget_requests(list);
    list->file     = bench_read(s->folder, name);
    list->requests = bench_alloc(list->file.count + 1, sizeof *list->requests);
    list->count    = list->file.count;
    for (size_t i = 0; i < list->count; i++)
        list->requests[i] = read_request(list->file.lines[i]);
    printf("{\"requests\": %zu}\n", list->count);
}

static void load_walk(session *s, const char *name)
{
    if (s->walker.is_loaded)
        bench_stop("commands", "the walk is loaded already");
    s->walker.graph     = bench_walk(s->folder, name);
    s->walker.is_loaded = true;
    if (s->walker.graph.count > MAX_FOUND)
        bench_stop("walk", "too many names");
    printf("{\"names\": %" PRIu32 "}\n", s->walker.graph.count);
}

static void load_engine(session *s)
{
    if (s->asked.engine != NULL || s->asked.statement != NULL)
        bench_stop("commands", "there is something to ask already");
    s->asked.engine = bench_load(s->folder, NULL);
    bench_await_merges(s->asked.engine);
    printf("{\"loaded\": true}\n");
}

static bool is_full(const char *level)
{
    return strcmp(level, "full") == 0;
}

static caller caller_for(session *s, const char *level)
{
    caller c = { .asked = &s->asked, .requests = s->asking.requests, .count = s->asking.count };

    if (c.count == 0 || (s->asked.engine == NULL && s->asked.statement == NULL))
        bench_stop("commands", "there are no requests, or nothing to ask");
    c.consistency.freshness = is_full(level) ? LICET_FULLY_CONSISTENT : LICET_MINIMIZE_LATENCY;
    return c;
}

static void connect_callers(session *s, size_t count)
{
    for (size_t i = 0; i < count && s->asked.statement != NULL; i++)
        if (s->connections[i] == NULL)
            s->connections[i] = connect_bare(&s->asked);
}

static void answer_all(session *s, const char *level)
{
    const bool walks = strcmp(level, "walk") == 0;
    caller     c     = caller_for(s, level);

    if (walks && !s->walker.is_loaded)
        bench_stop("commands", "there is no walk");
    connect_callers(s, 1);
    c.bare = s->connections[0];
    for (size_t i = 0; i < c.count; i++) {
        printf("%s", i > 0 ? "," : "[");
        if (walks)
            print_walked(&s->walker, &c.requests[i]);
        else
            print_answer(&c, &c.requests[i]);
    }
    printf("]\n");
}

static void time_all(session *s, const char *level, size_t callers, double warmup_s, double time_s)
{
    caller like = caller_for(s, level);

    if (s->walker.floor.count > 0 && callers == 1 && !is_full(level))
        like.walker = &s->walker;
    connect_callers(s, callers);
    time_callers(&like, callers, warmup_s, time_s, s->connections, &s->batches[is_full(level)]);
}

static void obey(session *s, const char *line)
{
    char   word[64];
    size_t callers;
    double warmup_s, time_s;

    if (sscanf(line, "requests %63s", word) == 1) {
        read_requests(s, word, &s->asking);
        memset(s->batches, 0, sizeof s->batches);
    } else if (sscanf(line, "floor %63s", word) == 1 && s->walker.is_loaded) {
        read_requests(s, word, &s->walker.floor);
        s->walker.at = 0;
    } else if (strcmp(line, "load\n") == 0) {
        load_engine(s);
    } else if (sscanf(line, "walk %63s", word) == 1) {
        load_walk(s, word);
    } else if (sscanf(line, "answer %63s", word) == 1) {
        answer_all(s, word);
    } else if (sscanf(line, "time %63s %zu %lf %lf", word, &callers, &warmup_s, &time_s) == 4 && callers > 0 &&
               callers <= MAX_CALLERS) {
        time_all(s, word, callers, warmup_s, time_s);
    } else {
        bench_stop("not a command", line);
    }
    fflush(stdout);
}

static void end(session *s)
{
    forget_requests(&s->asking);
    forget_requests(&s->walker.floor);
    for (size_t i = 0; i < MAX_CALLERS; i++)
        PQfinish(s->connections[i]);
    if (s->walker.is_loaded)
        walk_free(&s->walker.graph);
    licet_engine_release(s->asked.engine);
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
    static session s;
    char           line[MAX_LINE];

    s.folder = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(argv[2], "probe") == 0) {
        printf("%.2f\n", bench_probe());
        return 0;
    }
    if (argc == 4 && (strcmp(argv[2], "follow") == 0 || strcmp(argv[2], "prefetch") == 0))
        s.asked.engine = open_engine(argv[2], argv[3]);
    else if (argc == 6 && strcmp(argv[2], "sql") == 0)
        s.asked = (asked){ .uri = argv[3], .statement = argv[5], .parameters = atoi(argv[4]) };
    else if (argc != 3 || strcmp(argv[2], "memory") != 0)
        bench_stop("usage", "caller FOLDER follow|prefetch URI, or FOLDER memory, or FOLDER sql URI PARAMETERS "
                            "STATEMENT, or FOLDER probe");
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(&s, line);
    end(&s);
    return 0;
}
