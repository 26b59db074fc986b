/* Engines, their filling, questions, and how things are timed. */
#include "scale.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>

enum { ROUNDS = 5, BATCH = 200, MAX_SAMPLES = 200000, PIECE = 1000, ID = 40 };

void scale_print(const char *part, const char *format, ...)
{
    va_list arguments;

    printf("{\"part\": \"%s\", ", part);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("}\n");
    fflush(stdout);
}

static licet_str text_of(const char *text)
{
    return (licet_str){ text, strlen(text) };
}

/* ------------------------------------------------------------------ engines */

licet_engine *scale_open(const char *uri, const char *postgres_schema, licet_mode mode)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_engine *engine  = NULL;
    licet_error  *error   = NULL;

    options.memory_limit_bytes = UNLIMITED_BYTES;
    options.max_depth          = 1000;
    options.max_steps          = 1000000000;
    options.check_timeout_ms   = 600000;
    options.wait_timeout_ms    = 600000;
    options.write_timeout_ms   = 600000;
    options.mode               = mode;
    if (postgres_schema != NULL)
        options.postgres_schema = text_of(postgres_schema);
    bench_must(licet_open(text_of(uri), &options, &engine, &error), error, "open");
    return engine;
}

struct scale_filler {
    licet_engine      *engine;
    licet_import      *import;
    double             took_ns;
    uint64_t           added;
    size_t             count;
    licet_relationship rows[PIECE];
    char               ids[PIECE][2][ID];
};

scale_filler *scale_fill_begin(licet_engine *engine, const char *schema)
{
    scale_filler *filler = bench_alloc(1, sizeof *filler);
    licet_error  *error  = NULL;

    filler->engine = engine;
    bench_must(licet_write_schema(engine, text_of(schema), NULL, &error), error, "schema");
    bench_must(licet_import_begin(engine, &filler->import, &error), error, "import");
    return filler;
}

static void flush(scale_filler *filler)
{
    licet_error *error = NULL;
    double       start = bench_now();

    bench_must(licet_import_add(filler->import, filler->rows, filler->count, &error), error, "import");
    filler->took_ns += bench_now() - start;
    filler->added += filler->count;
    filler->count = 0;
}

void scale_fill(scale_filler *filler, scale_object resource, const char *relation, scale_object subject)
{
    licet_relationship *row = &filler->rows[filler->count];
    char(*ids)[ID]          = filler->ids[filler->count];

    snprintf(ids[0], ID, "%s%" PRIu64, resource.prefix, resource.number);
    snprintf(ids[1], ID, "%s%" PRIu64, subject.prefix, subject.number);
    *row               = (licet_relationship)LICET_RELATIONSHIP_INIT;
    row->resource_type = text_of(resource.type);
    row->resource_id   = text_of(ids[0]);
    row->relation      = text_of(relation);
    row->subject_type  = text_of(subject.type);
    row->subject_id    = text_of(ids[1]);
    if (subject.relation != NULL)
        row->subject_relation = text_of(subject.relation);
    if (++filler->count == PIECE)
        flush(filler);
}

void scale_fill_text(scale_filler *filler, licet_str text)
{
    licet_error *error = NULL;

    filler->rows[filler->count] = (licet_relationship)LICET_RELATIONSHIP_INIT;
    bench_must(licet_relationship_parse(text, &filler->rows[filler->count], &error), error, "row");
    if (++filler->count == PIECE)
        flush(filler);
}

double scale_fill_end(scale_filler *filler)
{
    licet_error *error = NULL;
    uint64_t     count = 0;
    double       start;
    double       took;

    flush(filler);
    start = bench_now();
    bench_must(licet_import_commit(filler->import, &count, NULL, &error), error, "import");
    took = filler->took_ns + bench_now() - start;
    if (count != filler->added)
        bench_stop("import", "not every relationship was taken");
    licet_import_release(filler->import);
    free(filler);
    return took;
}

void scale_print_load(const char *how, licet_engine *engine, double took_ns)
{
    const licet_stats stats = bench_stats(engine);

    scale_print("load",
                "\"how\": \"%s\", \"seconds\": %.4f, \"relationships\": %" PRIu64 ", \"graph_bytes\": %" PRIu64
                ", \"id_bytes\": %" PRIu64 ", \"memory_bytes\": %" PRIu64 ", \"delta_changes\": %" PRIu64,
                how, took_ns / 1e9, stats.relationships, stats.graph_bytes, stats.id_bytes, stats.memory_bytes,
                stats.delta_changes);
}

/* ---------------------------------------------------------------- questions */

scale_questions scale_questions_new(size_t capacity, licet_freshness freshness)
{
    return (scale_questions){ .requests  = bench_alloc(capacity, sizeof(licet_check_request)),
                              .expected  = bench_alloc(capacity, sizeof(bool)),
                              .capacity  = capacity,
                              .texts     = bench_alloc(capacity, SCALE_TEXT),
                              .freshness = freshness };
}

/* The text is in [*at, end); *at is moved behind it. */
static licet_str object_text(char **at, const char *end, scale_object object)
{
    const size_t room = (size_t)(end - *at);
    const char  *hash = object.relation != NULL ? "#" : "";
    const char  *name = object.relation != NULL ? object.relation : "";
    const char  *text = *at;
    const int size = snprintf(*at, room, "%s:%s%" PRIu64 "%s%s", object.type, object.prefix, object.number, hash, name);

    if (size < 0 || (size_t)size >= room)
        bench_stop("question", "too long");
    *at += size;
    return (licet_str){ text, (size_t)size };
}

void scale_question(scale_questions *questions, scale_object resource, const char *permission, scale_object subject,
                    bool expected)
{
    licet_check_request *request = &questions->requests[questions->count];
    char                *at      = questions->texts + questions->count * SCALE_TEXT;
    const char          *end     = at + SCALE_TEXT;

    if (questions->count == questions->capacity)
        bench_stop("questions", "too many");
    *request                                = (licet_check_request)LICET_CHECK_REQUEST_INIT;
    request->resource                       = object_text(&at, end, resource);
    request->permission                     = text_of(permission);
    request->subject                        = object_text(&at, end, subject);
    request->consistency.freshness          = questions->freshness;
    questions->expected[questions->count++] = expected;
}

void scale_questions_free(scale_questions *questions)
{
    free(questions->requests);
    free(questions->expected);
    free(questions->texts);
}

static bool ask(licet_engine *engine, const licet_check_request *request)
{
    licet_result result = LICET_RESULT_INIT;
    licet_error *error  = NULL;

    bench_must(licet_check(engine, request, &result, &error), error, "check");
    return licet_result_allowed(&result);
}

void scale_verify(licet_engine *engine, const scale_questions *questions, const char *name)
{
    for (size_t i = 0; i < questions->count; i++)
        if (ask(engine, &questions->requests[i]) != questions->expected[i])
            bench_stop(name, "an answer is not the expected one");
}

/* ----------------------------------------------------------------- measuring */

/* What a look at the clock adds to the time of a single call. */
static double clock_ns(void)
{
    double samples[999];

    for (size_t i = 0; i < 999; i++) {
        double start = bench_now();

        samples[i] = bench_now() - start;
    }
    return bench_quantile(samples, 999, 0.5);
}

/* Nanoseconds a call, of batches until the time is over. */
static size_t sample(const scale_work *work, size_t batch, double seconds, double *samples)
{
    double end   = bench_now() + seconds * 1e9;
    size_t count = 0;

    while (count == 0 || (bench_now() < end && count < MAX_SAMPLES)) {
        double start = bench_now();
        size_t found = 0;

        for (size_t i = 0; i < batch; i++)
            found += work->run(work->context);
        samples[count++] = (bench_now() - start) / (double)batch;
        bench_keep(found);
    }
    return count;
}

/* With BENCH_REALTIME=1, what is timed goes before everything else on its processor, where that is allowed. Never while
 * there is work for the engine's own threads, which would have to wait. */
static void take_processor(bool really)
{
    const char *wanted = getenv("BENCH_REALTIME");

    if (wanted != NULL && strcmp(wanted, "1") == 0)
        sched_setscheduler(0, really ? SCHED_FIFO : SCHED_OTHER,
                           &(struct sched_param){ .sched_priority = really ? 50 : 0 });
}

scale_timing scale_time(const scale_work *work)
{
    const double seconds = bench_seconds("BENCH_TIME", 1) / ROUNDS;
    const double clock   = clock_ns();
    double      *samples = bench_alloc(MAX_SAMPLES, sizeof *samples);
    scale_timing best    = { 0, 0 };

    take_processor(true);
    sample(work, work->batch, bench_seconds("BENCH_WARMUP", 0.3), samples);
    for (int round = 0; round < ROUNDS; round++) {
        size_t count  = sample(work, work->batch, seconds * 2 / 3, samples);
        double median = bench_quantile(samples, count, 0.5);
        double p99;

        count = sample(work, 1, seconds / 3, samples);
        p99   = bench_quantile(samples, count, 0.99) - clock;
        if (round == 0 || median < best.median_ns)
            best = (scale_timing){ median, p99 };
    }
    take_processor(false);
    free(samples);
    return best;
}

/* Questions, one after the other. */
typedef struct turn {
    licet_engine        *engine;
    licet_check_request *requests;
    size_t               count;
    size_t               at;
} turn;

static size_t ask_next(void *context)
{
    turn  *t  = context;
    size_t at = t->at;

    t->at = at + 1 < t->count ? at + 1 : 0;
    return ask(t->engine, &t->requests[at]);
}

scale_timing scale_time_questions(licet_engine *engine, const scale_questions *questions, size_t count)
{
    turn       t    = { engine, questions->requests, count < questions->count ? count : questions->count, 0 };
    scale_work work = { ask_next, &t, t.count < BATCH ? t.count : BATCH };

    return scale_time(&work);
}

typedef struct worker {
    pthread_t thread;
    turn      turn;
    double    seconds;
    double    start;
    double    end;
    size_t    calls;
} worker;

static void *work_on(void *context)
{
    worker *w = context;

    take_processor(true);
    w->start = bench_now();
    while (bench_now() < w->start + w->seconds * 1e9) {
        size_t found = 0;

        for (size_t i = 0; i < BATCH; i++)
            found += ask_next(&w->turn);
        bench_keep(found);
        w->calls += BATCH;
    }
    w->end = bench_now();
    return NULL;
}

/* Calls a second, from the first thread's start to the last one's end: threads that had to take turns because there was
 * one processor count as one. */
static double throughput(licet_engine *engine, const scale_questions *questions, size_t threads)
{
    worker workers[2];
    double start = 0, end = 0;
    size_t calls = 0;

    for (size_t i = 0; i < threads; i++) {
        workers[i] = (worker){ .turn    = { engine, questions->requests, questions->count, questions->count / 2 * i },
                               .seconds = bench_seconds("BENCH_TIME", 1) / ROUNDS };
        if (pthread_create(&workers[i].thread, NULL, work_on, &workers[i]) != 0)
            bench_stop("threads", "cannot start one");
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        start = i == 0 || workers[i].start < start ? workers[i].start : start;
        end   = i == 0 || workers[i].end > end ? workers[i].end : end;
        calls += workers[i].calls;
    }
    return (double)calls / (end - start) * 1e9;
}

void scale_time_threads(licet_engine *engine, const scale_questions *questions, double per_second[2])
{
    per_second[0] = per_second[1] = 0;
    for (int round = 0; round < ROUNDS; round++) /* in turns, and of each the best: see scale_time */
        for (size_t threads = 1; threads <= 2; threads++) {
            double one = throughput(engine, questions, threads);

            if (one > per_second[threads - 1])
                per_second[threads - 1] = one;
        }
}

/* ------------------------------------------------------------------- floors */

typedef struct table {
    uint64_t *slots;
    uint64_t  mask;
    unsigned  shift;
    uint64_t  keys;
    uint64_t  random;
    uint64_t  found;
} table;

static uint64_t place_of(const table *t, uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> t->shift;
}

static size_t probe(void *context)
{
    table   *t   = context;
    uint64_t key = (scale_random(&t->random, t->keys) + t->found) % t->keys + 1; /* no two probes overlap */
    uint64_t at  = place_of(t, key);

    while (t->slots[at] != key)
        at = (at + 1) & t->mask;
    /* The next key depends on what is loaded, or the processor would begin with it meanwhile. Volatile, or the compiler
     * would know that it is the key. */
    t->found = ((const volatile uint64_t *)t->slots)[at] & 1;
    return (size_t)t->found;
}

double scale_probe(uint64_t keys)
{
    table  t = { .shift = 64, .mask = 0, .keys = keys, .random = 88172645463325252u };
    double median;

    while ((t.mask + 1) * 7 < keys * 10) {
        t.mask = t.mask * 2 + 1;
        t.shift--;
    }
    t.slots = bench_alloc((size_t)t.mask + 1, sizeof *t.slots);
    for (uint64_t key = 1; key <= keys; key++) {
        uint64_t at = place_of(&t, key);

        while (t.slots[at] != 0)
            at = (at + 1) & t.mask;
        t.slots[at] = key;
    }
    median = scale_time(&(scale_work){ probe, &t, BATCH }).median_ns;
    free(t.slots);
    return median;
}

static size_t touch(void *context)
{
    table *t = context;

    t->found = t->slots[(scale_random(&t->random, t->keys) + t->found) % t->keys];
    return (size_t)t->found;
}

double scale_touch(uint64_t bytes)
{
    table  t = { .keys = bytes / sizeof(uint64_t), .random = 88172645463325252u };
    double median;

    t.slots = bench_alloc((size_t)t.keys, sizeof *t.slots);
    for (uint64_t i = 0; i < t.keys; i++) /* or it would all be one page of zeros */
        t.slots[i] = i & 1;
    median = scale_time(&(scale_work){ touch, &t, BATCH }).median_ns;
    free(t.slots);
    return median;
}

/* ------------------------------------------------------------------- lookups */

size_t scale_lookup(licet_engine *engine, const char *resource_type, const char *permission, const char *subject,
                    licet_freshness freshness)
{
    licet_lookup_resources_request request  = LICET_LOOKUP_RESOURCES_REQUEST_INIT;
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    licet_error                   *error    = NULL;
    bool                           found    = true;
    size_t                         count    = 0;

    request.resource_type         = text_of(resource_type);
    request.permission            = text_of(permission);
    request.subject               = text_of(subject);
    request.consistency.freshness = freshness;
    bench_must(licet_lookup_resources(engine, &request, &stream, &error), error, subject);
    for (;;) {
        bench_must(licet_stream_next_resource(stream, &resource, &found, &error), error, subject);
        if (!found)
            break;
        count += resource.permissionship == LICET_HAS_PERMISSION;
    }
    licet_stream_release(stream);
    return count;
}
