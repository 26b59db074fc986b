/* Lookups from C: the 109 documents, of 10,000, that one user of the benchmark's data may view (benchmark.md), as one
 * repeated request and varied over 500 users, in turns with the walk written by hand (support/walk.h), by which the bound
 * is judged; the first page of 64 of a user who may view 100,000, directly and through folders; and what one more answer
 * costs when all are read. Before anything is timed the answers are compared with the expected ones.
 *
 *     lookup [FOLDER]      made by bench/data/generate.py; build/bench-data by default
 *
 * BENCH_TIME and BENCH_WARMUP: seconds for each measurement (1 and 0.3). */
#include "support/bench.h"
#include "support/floor.h"

enum { MAX_SAMPLES = 100000, READER = 433, USERS = 500, DOCUMENTS = 10000, MANY = 100000, FIRST_PAGE = 64 };

typedef struct asking {
    licet_engine *engine;
    char          subject[32];
    const char   *permission;
    size_t        wanted; /* answers to read; SIZE_MAX: all */
    walk_graph   *walk;   /* which takes turns; or NULL */
} asking;

/* Which ids were found, in whatever order. */
typedef struct digest {
    size_t   count;
    uint64_t sum; /* of what each text hashes to */
} digest;

static void digest_add(digest *d, const char *text, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    d->count++;
    d->sum += hash;
}

/* One lookup: how many answers were read. found_ids: NULL, or where they are told of. */
static size_t ask(const asking *a, digest *found_ids)
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
        if (found_ids != NULL && resource.permissionship == LICET_HAS_PERMISSION)
            digest_add(found_ids, resource.resource_id.data, resource.resource_id.size);
    }
    licet_stream_release(stream);
    return count;
}

/* The same of the walk; found has room for all documents. */
static size_t walk(const asking *a, walk_text *found)
{
    return walk_lookup(a->walk, (walk_text){ a->subject, strlen(a->subject) }, found);
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
    double walk_ns;
    double walks; /* that one lookup takes */
} measured;

/* A walk takes little more than a look at the clock, so some are timed together. */
static double time_walks(const asking *a, walk_text *found)
{
    enum { WALKS = 10 };
    const double start = bench_now();
    size_t       count = 0;

    for (int i = 0; i < WALKS; i++)
        count += walk(a, found);
    bench_keep(count);
    return (bench_now() - start) / WALKS;
}

/* users: how many subjects take turns, from the user number `user` on. */
static measured measure(const asking *first, unsigned user, unsigned users)
{
    static double    samples[MAX_SAMPLES], walks[MAX_SAMPLES], ratios[MAX_SAMPLES];
    static walk_text found[DOCUMENTS];
    asking           a       = *first;
    size_t           count   = 0;
    size_t           answers = 0;
    const double     warm    = bench_now() + bench_seconds("BENCH_WARMUP", 0.3) * 1e9;
    const double     end     = warm + bench_seconds("BENCH_TIME", 1) * 1e9;

    for (unsigned i = 0; bench_now() < end && count < MAX_SAMPLES; i++) {
        double before;
        size_t found_now;

        snprintf(a.subject, sizeof a.subject, "user:u%u", user + i % users);
        before         = bench_now();
        found_now      = ask(&a, NULL);
        samples[count] = bench_now() - before;
        walks[count]   = a.walk != NULL ? time_walks(&a, found) : 1;
        ratios[count]  = samples[count] / walks[count];
        if (before < warm)
            continue;
        count++;
        answers += found_now;
    }
    return (measured){ bench_quantile(samples, count, 0.5), bench_quantile(samples, count, 0.99),
                       (double)answers / (double)count, bench_quantile(walks, count, 0.5),
                       bench_quantile(ratios, count, 0.5) };
}

static void print_start(const char *name, measured m)
{
    printf("  %-28s %10.1f %10.1f %12.1f", name, m.median_ns / 1e3, m.p99_ns / 1e3, m.answers);
}

static void report(const char *name, measured m, double bound_us)
{
    print_start(name, m);
    if (bound_us > 0)
        printf(" %10.0f us %s", bound_us, m.median_ns <= bound_us * 1e3 ? "held" : "MISSED");
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
    if (ask(a, NULL) != expected)
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

/* ------------------------------------------------------------------ the data */

/* A line of lookup.txt: the subject, then the ids of the documents that they may view. */
static digest expected_of(licet_str line)
{
    digest      d   = { 0, 0 };
    const char *end = line.data + line.size, *at = memchr(line.data, ' ', line.size);

    while (at != NULL && ++at < end) {
        const char *next = memchr(at, ' ', (size_t)(end - at));

        digest_add(&d, at, (size_t)((next != NULL ? next : end) - at));
        at = next;
    }
    return d;
}

static digest walked(const asking *a)
{
    static walk_text found[DOCUMENTS];
    const size_t     count = walk(a, found);
    digest           d     = { 0, 0 };

    for (size_t i = 0; i < count; i++)
        digest_add(&d, found[i].data, found[i].size);
    return d;
}

static void must_match(const asking *a, digest found, digest expected)
{
    if (found.count != expected.count || found.sum != expected.sum)
        bench_stop(a->subject, "the answers are not the expected ones");
}

static void verify(const asking *like, const char *folder)
{
    bench_file file = bench_read(folder, "lookup.txt");

    for (size_t i = 0; i < file.count; i++) {
        const licet_str user     = bench_word(file.lines[i], 0);
        const digest    expected = expected_of(file.lines[i]);
        digest          asked    = { 0, 0 };
        asking          a        = *like;

        snprintf(a.subject, sizeof a.subject, "%.*s", (int)user.size, user.data);
        ask(&a, &asked);
        must_match(&a, asked, expected);
        must_match(&a, walked(&a), expected);
    }
    bench_close(&file);
}

int main(int argc, char **argv)
{
    const char   *folder = argc > 1 ? argv[1] : "build/bench-data";
    licet_engine *engine = bench_load(folder, NULL);
    walk_graph    w      = bench_walk(folder, "relationships.txt");
    asking        reader = asking_of(engine, READER, "view", SIZE_MAX);
    measured      m;

    reader.walk = &w;
    settle(engine);
    verify(&reader, folder);
    printf("lookups of resources from C; one random hash probe: %.1f ns\n", bench_probe());
    printf("  %-28s %10s %10s %12s " BENCH_FLOOR_HEAD "\n", "lookup", "median us", "p99 us", "answers",
           BENCH_FLOOR_TITLES);
    m = measure(&reader, READER, 1);
    print_start("109 of 10,000, repeated", m);
    printf(" ");
    bench_print_floor(m.median_ns, m.walk_ns, m.walks, BENCH_LOOKUP);
    m = measure(&reader, 0, USERS);
    print_start("of 500 users, varied", m);
    printf(" %10.1f %8.2f\n", m.walk_ns, m.walks);
    walk_free(&w);
    licet_engine_release(engine);
    measure_many();
    return 0;
}
