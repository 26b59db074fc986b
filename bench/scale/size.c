/* One size of the benchmark's world in memory: loading it, what it takes, checks, lookups and threads. Requests are drawn
 * from all the data ("spread": at large sizes little of what they touch is in a cache), or a hundred of them are asked
 * again and again ("hot": what they touch is in a cache whatever the size, so that what is left to grow is the work). */
#include "scale.h"

enum { SPREAD = 200000, HOT = 100, READER = 433, READERS_DOCUMENTS = 109, PIECE = 1000 };

/* ---------------------------------------------------------------- questions */

/* Prefixes of ids: those of world 0 have none of their own. */
typedef struct world {
    char document[24];
    char user[24];
} world;

static world *name_worlds(unsigned count)
{
    world *worlds = bench_alloc(count, sizeof *worlds);

    for (unsigned w = 0; w < count; w++) {
        char prefix[16] = "";

        if (w > 0)
            snprintf(prefix, sizeof prefix, "w%u-", w);
        snprintf(worlds[w].document, sizeof worlds[w].document, "%sd", prefix);
        snprintf(worlds[w].user, sizeof worlds[w].user, "%su", prefix);
    }
    return worlds;
}

/* The number in "document:d17" */
static uint64_t number_of(licet_str word)
{
    const char *digits = memchr(word.data, ':', word.size);

    if (digits == NULL)
        bench_stop("questions", "not one of the generator's");
    return strtoull(digits + 2, NULL, 10);
}

scale_questions scale_draw(const char *folder, const char *file_name, unsigned count, licet_freshness freshness)
{
    bench_file      file      = bench_read(folder, file_name);
    world          *worlds    = name_worlds(count);
    size_t          all       = file.count * count;
    scale_questions questions = scale_questions_new(all < SPREAD ? all : SPREAD, freshness);
    uint64_t        random    = 88172645463325252u;

    for (size_t i = 0; i < questions.capacity; i++) {
        const licet_str    line     = file.lines[scale_random(&random, file.count)];
        const world       *w        = &worlds[scale_random(&random, count)];
        const scale_object document = { "document", w->document, number_of(bench_word(line, 0)), NULL };
        const scale_object user     = { "user", w->user, number_of(bench_word(line, 2)), NULL };

        scale_question(&questions, document, "view", user, bench_word(line, 3).data[0] == 'y');
    }
    free(worlds);
    bench_close(&file);
    return questions;
}

/* ------------------------------------------------------------------- lookups */

typedef struct lookups {
    licet_engine   *engine;
    const world    *worlds;
    unsigned        count;
    unsigned        at;
    licet_freshness freshness;
} lookups;

static size_t look_up_next(void *context)
{
    lookups *l = context;
    char     subject[64];
    size_t   found;

    snprintf(subject, sizeof subject, "user:%s%d", l->worlds[l->at].user, READER);
    l->at = l->at + 1 < l->count ? l->at + 1 : 0;
    found = scale_lookup(l->engine, "document", "view", subject, l->freshness);
    if (found != READERS_DOCUMENTS)
        bench_stop("lookup", "the answers are not the expected ones");
    return found;
}

static scale_timing time_lookups(licet_engine *engine, const world *worlds, unsigned count, licet_freshness freshness)
{
    lookups    l    = { engine, worlds, count, 0, freshness };
    scale_work work = { look_up_next, &l, 10 };

    for (unsigned i = 0; i < count; i++)
        look_up_next(&l);
    return scale_time(&work);
}

/* ------------------------------------------------------------------ requests */

static void print_timing(const char *kind, const char *drawn, licet_freshness freshness, scale_timing t)
{
    scale_print("request", "\"kind\": \"%s\", \"drawn\": \"%s\", \"full\": %s, \"median_ns\": %.1f, \"p99_ns\": %.1f",
                kind, drawn, freshness == LICET_FULLY_CONSISTENT ? "true" : "false", t.median_ns, t.p99_ns);
}

static void measure_checks(licet_engine *engine, const char *kind, const scale_questions *questions)
{
    scale_verify(engine, questions, kind);
    print_timing(kind, "hot", questions->freshness, scale_time_questions(engine, questions, HOT));
    print_timing(kind, "spread", questions->freshness, scale_time_questions(engine, questions, questions->count));
}

static void measure_threads(licet_engine *engine, const char *kind, const scale_questions *questions)
{
    double per_second[2];

    scale_time_threads(engine, questions, per_second);
    scale_print("threads", "\"kind\": \"%s\", \"one_per_second\": %.0f, \"two_per_second\": %.0f", kind, per_second[0],
                per_second[1]);
}

void scale_requests(licet_engine *engine, const char *folder, unsigned count, licet_freshness freshness, bool alone)
{
    static const char *const kinds[] = { "direct", "nested", "denied" };
    world                   *worlds  = name_worlds(count);

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        char            file_name[16];
        scale_questions questions;

        snprintf(file_name, sizeof file_name, "%s.txt", kinds[k]);
        questions = scale_draw(folder, file_name, count, freshness);
        measure_checks(engine, kinds[k], &questions);
        if (!alone)
            measure_threads(engine, kinds[k], &questions);
        scale_questions_free(&questions);
    }
    print_timing("lookup", "hot", freshness, time_lookups(engine, worlds, 1, freshness));
    print_timing("lookup", "spread", freshness, time_lookups(engine, worlds, count, freshness));
    free(worlds);
}

/* --------------------------------------------------------------------- loads */

/* As an application that writes does: transactions of 1,000. */
static double write_all(licet_engine *engine, const bench_file *rows)
{
    static licet_update updates[PIECE];
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_error        *error   = NULL;
    double              took    = 0;

    request.updates = updates;
    for (size_t at = 0; at < rows->count; at += request.update_count) {
        double start;

        request.update_count = rows->count - at < PIECE ? rows->count - at : PIECE;
        for (size_t i = 0; i < request.update_count; i++) {
            updates[i].operation    = LICET_TOUCH;
            updates[i].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
            bench_must(licet_relationship_parse(rows->lines[at + i], &updates[i].relationship, &error), error, "row");
        }
        start = bench_now();
        bench_must(licet_write(engine, &request, NULL, &error), error, "write");
        took += bench_now() - start;
    }
    return took;
}

static licet_engine *load_by_writes(const bench_file *schema, const bench_file *rows)
{
    licet_engine *engine = scale_open("memory:", NULL, LICET_MODE_AUTO);
    licet_error  *error  = NULL;
    double        took;

    bench_must(licet_write_schema(engine, (licet_str){ schema->text, strlen(schema->text) }, NULL, &error), error,
               "schema");
    took = write_all(engine, rows);
    bench_await_merges(engine);
    scale_print_load("writes", engine, took);
    return engine;
}

static void load_by_import(const bench_file *schema, const bench_file *rows)
{
    licet_engine *engine = scale_open("memory:", NULL, LICET_MODE_AUTO);
    scale_filler *filler = scale_fill_begin(engine, schema->text);
    double        took;

    for (size_t i = 0; i < rows->count; i++)
        scale_fill_text(filler, rows->lines[i]);
    took = scale_fill_end(filler);
    bench_await_merges(engine);
    scale_print_load("import", engine, took);
    licet_engine_release(engine);
}

void scale_size(const char *folder, unsigned worlds)
{
    bench_file    schema = bench_read(folder, "schema.zed");
    bench_file    rows   = bench_read(folder, "relationships.txt");
    licet_engine *engine;
    licet_stats   stats;

    load_by_import(&schema, &rows);
    engine = load_by_writes(&schema, &rows);
    bench_close(&schema);
    bench_close(&rows);
    stats = bench_stats(engine);
    scale_print("floors", "\"probe_ns\": %.2f, \"touch_ns\": %.2f", scale_probe(stats.relationships),
                scale_touch(stats.memory_bytes));
    scale_requests(engine, folder, worlds, LICET_MINIMIZE_LATENCY, false);
    scale_writes(engine, folder, LICET_MINIMIZE_LATENCY);
    licet_engine_release(engine);
}
