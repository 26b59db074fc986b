/* What a write costs while another thread reads, and how long merges hold up either. */
#include "scale.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { MAX_SAMPLES = 4000000, MERGES = 2, USERS = 1000 };

/* Longer ones are looked at: had the thread to leave its processor? */
#define LONG_NS 20000.0
/* So long writes go on at most, if merges don't come. */
#define PATIENCE_NS 60e9

typedef struct spans {
    double *samples;
    size_t  count;
    double  longest_ns;         /* of all */
    double  longest_working_ns; /* of those in which no other thread was given the processor meanwhile */
    long    switches;
} spans;

static spans new_spans(void)
{
    return (spans){ .samples = bench_alloc(MAX_SAMPLES, sizeof(double)) };
}

static void add_long(spans *s, double took)
{
    struct rusage usage;
    const long    before = s->switches;

    if (took > s->longest_ns)
        s->longest_ns = took;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        bench_stop("getrusage", "says nothing of a thread");
    s->switches = usage.ru_nivcsw;
    if (s->switches == before && took > s->longest_working_ns)
        s->longest_working_ns = took;
}

static void add(spans *s, double took)
{
    if (s->count < MAX_SAMPLES)
        s->samples[s->count++] = took;
    if (took > LONG_NS)
        add_long(s, took);
}

static void print_spans(const char *who, const char *when, licet_freshness freshness, spans *s)
{
    scale_print(
        "writes",
        "\"who\": \"%s\", \"when\": \"%s\", \"full\": %s, \"count\": %zu, \"median_ns\": %.0f, \"p99_ns\": %.0f, "
        "\"longest_ns\": %.0f, \"longest_working_ns\": %.0f",
        who, when, freshness == LICET_FULLY_CONSISTENT ? "true" : "false", s->count,
        bench_quantile(s->samples, s->count, 0.5), bench_quantile(s->samples, s->count, 0.99), s->longest_ns,
        s->longest_working_ns);
    free(s->samples);
}

/* -------------------------------------------------------------------- reading */

typedef struct reader {
    pthread_t              thread;
    licet_engine          *engine;
    const scale_questions *questions;
    _Atomic bool           stop;
    spans                  spans;
} reader;

static void *read_on(void *context)
{
    reader *r = context;

    add_long(&r->spans, 0);
    for (size_t i = 0; !atomic_load_explicit(&r->stop, memory_order_relaxed); i++) {
        const size_t at     = i % r->questions->count;
        licet_result result = LICET_RESULT_INIT;
        licet_error *error  = NULL;
        double       start  = bench_now();

        bench_must(licet_check(r->engine, &r->questions->requests[at], &result, &error), error, "check");
        add(&r->spans, bench_now() - start);
        if (licet_result_allowed(&result) != r->questions->expected[at])
            bench_stop("writes", "an answer is not the expected one");
    }
    return NULL;
}

static void start(reader *r, licet_engine *engine, const scale_questions *questions)
{
    *r = (reader){ .engine = engine, .questions = questions, .spans = new_spans() };
    if (pthread_create(&r->thread, NULL, read_on, r) != 0)
        bench_stop("threads", "cannot start one");
}

static void end(reader *r, const char *when)
{
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    print_spans("reader", when, r->questions->freshness, &r->spans);
}

/* -------------------------------------------------------------------- writing */

/* One relationship, of a document that nobody asks about. */
static void write_one(licet_engine *engine, uint64_t number, spans *s)
{
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_error        *error   = NULL;
    char                text[64];
    double              start;

    snprintf(text, sizeof text, "document:written%" PRIu64 "#viewer@user:u%" PRIu64, number, number % USERS);
    bench_must(licet_relationship_parse((licet_str){ text, strlen(text) }, &update.relationship, &error), error, "row");
    request.updates      = &update;
    request.update_count = 1;
    start                = bench_now();
    bench_must(licet_write(engine, &request, NULL, &error), error, "write");
    add(s, bench_now() - start);
}

/* For a while; where `merges`, until so many came and went. */
static void write_on(licet_engine *engine, uint64_t *number, uint64_t merges, spans *s)
{
    const double   begun  = bench_now();
    const double   enough = begun + bench_seconds("BENCH_TIME", 1) * 1e9;
    const uint64_t wanted = bench_stats(engine).merges + merges;

    add_long(s, 0);
    for (uint64_t i = 0; bench_now() < begun + PATIENCE_NS; i++) {
        write_one(engine, (*number)++, s);
        if (i % 64 == 0 && bench_now() > enough && bench_stats(engine).merges >= wanted)
            break;
    }
}

void scale_writes(licet_engine *engine, const char *folder, licet_freshness freshness)
{
    scale_questions questions = scale_draw(folder, "nested.txt", 1, freshness);
    spans           writes    = new_spans();
    uint64_t        number    = 0;
    uint64_t        merges;
    reader          r;

    write_on(engine, &number, 0, &writes);
    print_spans("writer", "alone", freshness, &writes);
    start(&r, engine, &questions);
    nanosleep(&(struct timespec){ 0, 500000000 }, NULL);
    end(&r, "alone");
    merges = bench_stats(engine).merges;
    writes = new_spans();
    start(&r, engine, &questions);
    write_on(engine, &number, MERGES, &writes);
    end(&r, "together");
    print_spans("writer", "together", freshness, &writes);
    scale_print("merges", "\"count\": %" PRIu64 ", \"writes\": %" PRIu64, bench_stats(engine).merges - merges, number);
    scale_questions_free(&questions);
}
