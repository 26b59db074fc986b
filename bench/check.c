/* Checks from C over the benchmark's data (25,161 relationships): direct, nested and denied checks and bulk checks of
 * 100, each as one repeated request and varied over a thousand; then one thread against two. Beside them, batch by batch
 * in turns, the walk written by hand (support/walk.h), by which the bounds are judged; and the cost of one random hash
 * probe on the same machine in the same run. Before anything is timed the merges come to rest, which at the same
 * priority on the same processor they could not meanwhile, and every answer is compared with the expected one.
 *
 *     check [FOLDER]      made by bench/data/generate.py; build/bench-data by default
 *
 * BENCH_TIME and BENCH_WARMUP: seconds for each measurement (1 and 0.3). */
#include <pthread.h>

#include "support/bench.h"
#include "support/floor.h"

enum { BATCH = 1000, MAX_SAMPLES = 100000, BULK = 100 };

typedef struct scenario {
    const char          *name;
    licet_check_request *requests;
    bool                *expected;
    size_t               count;
    size_t               group; /* requests in one call */
    bench_bound          bound;
} scenario;

typedef struct measured {
    double median_ns;
    double p99_ns;
    double walk_ns;
    double walks; /* that one call takes */
} measured;

static scenario read_scenario(const char *folder, const char *name, const char *file_name, size_t group,
                              bench_bound bound)
{
    bench_file file = bench_read(folder, file_name);
    scenario   s    = {
             name, bench_alloc(file.count, sizeof *s.requests), bench_alloc(file.count, sizeof(bool)), file.count, group,
             bound
    };

    for (size_t i = 0; i < file.count; i++) {
        s.requests[i]            = (licet_check_request)LICET_CHECK_REQUEST_INIT;
        s.requests[i].resource   = bench_word(file.lines[i], 0);
        s.requests[i].permission = bench_word(file.lines[i], 1);
        s.requests[i].subject    = bench_word(file.lines[i], 2);
        s.expected[i]            = bench_word(file.lines[i], 3).data[0] == 'y';
    }
    return s;
}

/* One call: the requests [at, at + group). Returns how many were allowed. */
static size_t call(licet_engine *engine, const scenario *s, size_t at, licet_result *results)
{
    licet_error      *error   = NULL;
    licet_consistency latency = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    size_t            allowed = 0;

    if (s->group == 1) {
        bench_must(licet_check(engine, &s->requests[at], results, &error), error, s->name);
        return licet_result_allowed(results);
    }
    bench_must(licet_check_bulk(engine, &s->requests[at], s->group, latency, results, &error), error, s->name);
    for (size_t i = 0; i < s->group; i++)
        allowed += licet_result_allowed(&results[i]);
    return allowed;
}

static void new_results(licet_result results[BULK])
{
    for (int i = 0; i < BULK; i++)
        results[i] = (licet_result)LICET_RESULT_INIT;
}

static bool walk(const walk_graph *w, const licet_check_request *request)
{
    return walk_check(w, bench_walk_text(request->resource), bench_walk_text(request->subject));
}

static void verify(licet_engine *engine, const walk_graph *w, const scenario *s)
{
    licet_result results[BULK];

    new_results(results);
    for (size_t at = 0; at < s->count; at += s->group) {
        call(engine, s, at, results);
        for (size_t i = 0; i < s->group; i++)
            if (licet_result_allowed(&results[i]) != s->expected[at + i] ||
                walk(w, &s->requests[at + i]) != s->expected[at + i])
                bench_stop(s->name, "an answer is not the expected one");
    }
}

/* Nanoseconds of one call, averaged over a batch of calls. */
static double batch(licet_engine *engine, const scenario *s, size_t calls, bool varied, size_t *at)
{
    licet_result results[BULK];
    double       start;
    size_t       allowed = 0;

    new_results(results);
    start = bench_now();
    for (size_t i = 0; i < calls; i++) {
        allowed += call(engine, s, *at, results);
        if (varied)
            *at = *at + s->group < s->count ? *at + s->group : 0;
    }
    bench_keep(allowed);
    return (bench_now() - start) / (double)calls;
}

/* The same of walks: of always varied requests, whatever is asked beside them, so that there is one floor. */
static double walk_batch(const walk_graph *w, const scenario *s, size_t calls, size_t *at)
{
    const double start   = bench_now();
    size_t       allowed = 0;

    for (size_t i = 0; i < calls; i++) {
        for (size_t item = 0; item < s->group; item++)
            allowed += walk(w, &s->requests[*at + item]);
        *at = *at + s->group < s->count ? *at + s->group : 0;
    }
    bench_keep(allowed);
    return (bench_now() - start) / (double)calls;
}

static measured measure(licet_engine *engine, const walk_graph *w, const scenario *s, bool varied)
{
    static double samples[MAX_SAMPLES], walks[MAX_SAMPLES], ratios[MAX_SAMPLES];
    size_t        calls = BATCH / s->group, count = 0, at = 0, walk_at = 0;
    const double  warm = bench_now() + bench_seconds("BENCH_WARMUP", 0.3) * 1e9;
    const double  end  = warm + bench_seconds("BENCH_TIME", 1) * 1e9;

    while (bench_now() < end && count < MAX_SAMPLES) {
        samples[count] = batch(engine, s, calls, varied, &at);
        walks[count]   = walk_batch(w, s, calls, &walk_at);
        ratios[count]  = samples[count] / walks[count];
        count += bench_now() >= warm;
    }
    return (measured){ bench_quantile(samples, count, 0.5), bench_quantile(samples, count, 0.99),
                       bench_quantile(walks, count, 0.5), bench_quantile(ratios, count, 0.5) };
}

/* ---------------------------------------------------------------- two threads */

typedef struct worker {
    pthread_t       thread;
    licet_engine   *engine;
    const scenario *scenario;
    double          seconds;
    double          start;
    double          end;
    size_t          calls;
} worker;

static void *work(void *argument)
{
    worker *w  = argument;
    size_t  at = 0;

    w->start = bench_now();
    while (bench_now() < w->start + w->seconds * 1e9) {
        batch(w->engine, w->scenario, BATCH, true, &at);
        w->calls += BATCH;
    }
    w->end = bench_now();
    return NULL;
}

/* Calls in a nanosecond, from the first thread's start to the last one's end: threads that had to take turns because
 * there was one processor count as one. */
static double throughput(licet_engine *engine, const scenario *s, int threads)
{
    worker workers[2] = { { .engine = engine, .scenario = s, .seconds = bench_seconds("BENCH_TIME", 1) } };
    double start = 0, end = 0;
    size_t calls = 0;

    workers[1] = workers[0];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            bench_stop("threads", "cannot start one");
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        start = i == 0 || workers[i].start < start ? workers[i].start : start;
        end   = i == 0 || workers[i].end > end ? workers[i].end : end;
        calls += workers[i].calls;
    }
    return (double)calls / (end - start);
}

static void compare_threads(licet_engine *engine, const scenario *s)
{
    enum { ROUNDS = 5 };
    double ratios[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) { /* alternating, so that a slow moment meets both */
        double one = throughput(engine, s, 1);

        ratios[i] = throughput(engine, s, 2) / one;
    }
    printf("  %-8s two threads / one: %.2f (bound 1.80)\n", s->name, bench_quantile(ratios, ROUNDS, 0.5));
}

int main(int argc, char **argv)
{
    const char   *folder      = argc > 1 ? argv[1] : "build/bench-data";
    licet_engine *engine      = bench_load(folder, NULL);
    walk_graph    w           = bench_walk(folder, "relationships.txt");
    scenario      scenarios[] = {
             read_scenario(folder, "direct", "direct.txt", 1, BENCH_DIRECT),
             read_scenario(folder, "nested", "nested.txt", 1, BENCH_NESTED),
             read_scenario(folder, "denied", "denied.txt", 1, BENCH_NESTED),
             read_scenario(folder, "bulk-100", "bulk.txt", BULK, BENCH_BULK),
    };
    size_t count = sizeof scenarios / sizeof scenarios[0];
    double probe;

    bench_await_merges(engine);
    for (size_t i = 0; i < count; i++)
        verify(engine, &w, &scenarios[i]);
    probe = bench_probe();
    printf("checks from C; one random hash probe: %.1f ns\n", probe);
    printf("  %-8s %-8s %10s %10s %8s " BENCH_FLOOR_HEAD "\n", "check", "request", "median ns", "p99 ns", "probes",
           BENCH_FLOOR_TITLES);
    for (size_t i = 0; i < 2 * count; i++) {
        const scenario *s = &scenarios[i / 2];
        measured        m = measure(engine, &w, s, i % 2 == 1);

        printf("  %-8s %-8s %10.1f %10.1f %8.1f ", s->name, i % 2 == 1 ? "varied" : "repeated", m.median_ns, m.p99_ns,
               m.median_ns / probe);
        bench_print_floor(m.median_ns, m.walk_ns, m.walks, s->bound);
    }
    for (size_t i = 0; i < 3; i++)
        compare_threads(engine, &scenarios[i]);
    walk_free(&w);
    licet_engine_release(engine);
    return 0;
}
