/* Lookups from C: the 109 documents, of 10,000, that one user of the benchmark's data may view (benchmark.md), as one
 * repeated request and varied over 500 users; the first page of 64 of a user who may view 100,000, directly and through
 * folders; and what one more answer costs when all are read. Before anything is timed the answers are compared with the
 * expected ones.
 *
 *     lookup [FOLDER]      made by bench/data/generate.py; build/bench-data by default
 *
 * BENCH_TIME and BENCH_WARMUP: seconds for each measurement (1 and 0.3). */
#include "support/bench.h"

enum { MAX_SAMPLES = 100000, READER = 433, READERS_DOCUMENTS = 109, USERS = 500, MANY = 100000, FIRST_PAGE = 64 };

typedef struct asking {
    licet_engine *engine;
    char          subject[32];
    const char   *permission;
    size_t        wanted; /* answers to read; SIZE_MAX: all */
} asking;

/* One lookup: how many answers were read. */
static size_t ask(const asking *a)
{
    licet_lookup_resources_request request  = LICET_LOOKUP_RESOURCES_REQUEST_INIT;
    licet_found_resource           resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream                  *stream   = NULL;
    licet_error                   *error    = NULL;
    bool                           found    = true;
    size_t                         count    = 0;

    request.resource_type = LICET_STR("document");
    request.permission    = (licet_str){ a->permission, strlen(a->permission) };
    request.subject       = (licet_str){ a->subject, strlen(a->subject) };
    bench_must(licet_lookup_resources(a->engine, &request, &stream, &error), error, a->subject);
    while (count < a->wanted) {
        bench_must(licet_stream_next_resource(stream, &resource, &found, &error), error, a->subject);
        if (!found)
            break;
        count += resource.permissionship == LICET_HAS_PERMISSION;
    }
    licet_stream_release(stream);
    return count;
}

static asking asking_of(licet_engine *engine, unsigned user, const char *permission, size_t wanted)
{
    asking a = { .engine = engine, .permission = permission, .wanted = wanted };

    snprintf(a.subject, sizeof a.subject, "user:u%u", user);
    return a;
}

typedef struct measured {
    double median_ns;
    double p99_ns;
    double answers; /* of one lookup, on average */
} measured;

/* users: how many subjects take turns, from a->subject's number on. */
static measured measure(const asking *first, unsigned user, unsigned users)
{
    static double samples[MAX_SAMPLES];
    asking        a       = *first;
    size_t        count   = 0;
    size_t        answers = 0;
    double        start   = bench_now();
    double        warm    = start + bench_seconds("BENCH_WARMUP", 0.3) * 1e9;
    double        end     = warm + bench_seconds("BENCH_TIME", 1) * 1e9;

    for (unsigned i = 0; bench_now() < end && count < MAX_SAMPLES; i++) {
        double before;
        size_t found;

        snprintf(a.subject, sizeof a.subject, "user:u%u", user + i % users);
        before = bench_now();
        found  = ask(&a);
        if (before < warm)
            continue;
        samples[count++] = bench_now() - before;
        answers += found;
    }
    return (measured){ bench_quantile(samples, count, 0.5), bench_quantile(samples, count, 0.99),
                       (double)answers / (double)count };
}

static void report(const char *name, measured m, double bound_us)
{
    printf("  %-28s %10.1f %10.1f %12.1f", name, m.median_ns / 1e3, m.p99_ns / 1e3, m.answers);
    if (bound_us > 0)
        printf(" %10.0f%s", bound_us, m.median_ns <= bound_us * 1e3 ? "" : "  MISSED");
    printf("\n");
}

/* Until no merge is under way: an engine that was just loaded is no engine at work. */
static void settle(licet_engine *engine)
{
    const struct timespec pause = { 0, 50000000 };
    licet_stats           stats = LICET_STATS_INIT;
    licet_error          *error = NULL;
    uint64_t              before;

    do {
        before = stats.merges;
        nanosleep(&pause, NULL);
        bench_must(licet_engine_stats(engine, &stats, &error), error, "stats");
    } while (stats.merges != before);
}

/* ------------------------------------------------------------ 100,000 answers */

/* The documents of 100 folders that user u0 views; u1 views each of them directly, and those in none are banned from a
 * permission of their own. */
static const char MANY_SCHEMA[] = "definition user {}\n"
                                  "definition folder {\n  relation viewer: user\n}\n"
                                  "definition document {\n"
                                  "  relation parent: folder\n"
                                  "  relation viewer: user\n"
                                  "  relation banned: user\n"
                                  "  permission view = viewer + parent->viewer\n"
                                  "  permission read = view - banned\n"
                                  "}\n";

/* "document:d", 3, "#viewer@user:u", 1 */
static void add(licet_update *update, char text[64], const char *resource, unsigned a, const char *subject, unsigned b)
{
    licet_error *error = NULL;

    snprintf(text, 64, "%s%u%s%u", resource, a, subject, b);
    update->operation    = LICET_TOUCH;
    update->relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    bench_must(licet_relationship_parse((licet_str){ text, strlen(text) }, &update->relationship, &error), error,
               "row");
}

static void write_rows(licet_engine *engine, licet_update *updates, size_t count)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_error        *error   = NULL;

    request.updates      = updates;
    request.update_count = count;
    bench_must(licet_write(engine, &request, NULL, &error), error, "write");
}

static licet_engine *open_many(void)
{
    static licet_update updates[1000];
    static char         texts[1000][64];
    licet_engine       *engine = NULL;
    licet_error        *error  = NULL;
    size_t              count  = 0;

    bench_must(licet_open(LICET_STR("memory:"), NULL, &engine, &error), error, "open");
    bench_must(licet_write_schema(engine, (licet_str){ MANY_SCHEMA, sizeof MANY_SCHEMA - 1 }, NULL, &error), error,
               "schema");
    for (unsigned folder = 0; folder < 100; folder++, count++)
        add(&updates[count], texts[count], "folder:f", folder, "#viewer@user:u", 0);
    write_rows(engine, updates, count);
    for (unsigned d = 0; d < MANY; d += 500) {
        for (unsigned i = 0; i < 500; i++) {
            add(&updates[2 * i], texts[2 * i], "document:d", d + i, "#parent@folder:f", (d + i) % 100);
            add(&updates[2 * i + 1], texts[2 * i + 1], "document:d", d + i, "#viewer@user:u", 1);
        }
        write_rows(engine, updates, 1000);
    }
    return engine;
}

static void expect(const asking *a, size_t expected)
{
    if (ask(a) != expected)
        bench_stop(a->subject, "the answers are not the expected ones");
}

static void measure_many(void)
{
    static const struct {
        const char *name;
        const char *permission;
        unsigned    user;
    } cases[]            = { { "100,000 through 100 folders", "view", 0 },
                             { "100,000 directly", "view", 1 },
                             { "100,000, each checked", "read", 1 } };
    licet_engine *engine = open_many();

    settle(engine);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        asking all  = asking_of(engine, cases[i].user, cases[i].permission, SIZE_MAX);
        asking page = asking_of(engine, cases[i].user, cases[i].permission, FIRST_PAGE);
        char   name[64];

        expect(&all, MANY);
        snprintf(name, sizeof name, "first page: %s", cases[i].name);
        report(name, measure(&page, cases[i].user, 1), 1000);
        report("  all of them", measure(&all, cases[i].user, 1), 0);
    }
    licet_engine_release(engine);
}

int main(int argc, char **argv)
{
    const char   *folder = argc > 1 ? argv[1] : "build/bench-data";
    licet_engine *engine = bench_load(folder, NULL);
    asking        reader = asking_of(engine, READER, "view", SIZE_MAX);

    settle(engine);
    expect(&reader, READERS_DOCUMENTS);
    printf("lookups of resources from C; one random hash probe: %.1f ns\n", bench_probe());
    printf("  %-28s %10s %10s %12s %10s\n", "lookup", "median us", "p99 us", "answers", "bound us");
    report("109 of 10,000, repeated", measure(&reader, READER, 1), 20);
    report("109 of 10,000, varied", measure(&reader, 0, USERS), 0);
    licet_engine_release(engine);
    measure_many();
    return 0;
}
