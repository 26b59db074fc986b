/* Lookup of subjects and expand, in proportion to their answers: documents of the benchmark's data, and made ones whose
 * subjects are many, direct, in nested groups, or with some taken away. Every answer is counted before it is timed.
 *
 *     expand [FOLDER]      made by bench/data/generate.py; build/bench-data by default
 *
 * BENCH_TIME and BENCH_WARMUP: seconds for each measurement (1 and 0.3). */
#include "support/bench.h"

enum { MAX_SAMPLES = 100000 };

static const char SCHEMA[] = "definition user {}\n"
                             "definition group {\n  relation member: user | group#member\n}\n"
                             "definition document {\n"
                             "  relation viewer: user | user:* | group#member\n"
                             "  relation banned: user\n"
                             "  permission view = viewer\n"
                             "  permission safe = viewer - banned\n"
                             "}\n";

typedef struct question {
    const char *resource;
    const char *permission;
} question;

static size_t look_up(licet_engine *engine, question q)
{
    licet_lookup_subjects_request request = LICET_LOOKUP_SUBJECTS_REQUEST_INIT;
    licet_found_subject           subject = LICET_FOUND_SUBJECT_INIT;
    licet_stream                 *stream  = NULL;
    licet_error                  *error   = NULL;
    size_t                        count   = 0;
    bool                          found   = true;

    request.resource     = (licet_str){ q.resource, strlen(q.resource) };
    request.permission   = (licet_str){ q.permission, strlen(q.permission) };
    request.subject_type = LICET_STR("user");
    bench_must(licet_lookup_subjects(engine, &request, &stream, &error), error, q.resource);
    while (found) {
        bench_must(licet_stream_next_subject(stream, &subject, &found, &error), error, q.resource);
        count += found + subject.excluded_count * found;
    }
    licet_stream_release(stream);
    return count;
}

/* Nodes and subjects. */
static size_t expand(licet_engine *engine, question q)
{
    licet_expand_request request = LICET_EXPAND_REQUEST_INIT;
    licet_tree_node      node    = LICET_TREE_NODE_INIT;
    licet_tree          *tree    = NULL;
    licet_error         *error   = NULL;
    size_t               count;

    request.resource   = (licet_str){ q.resource, strlen(q.resource) };
    request.permission = (licet_str){ q.permission, strlen(q.permission) };
    bench_must(licet_expand(engine, &request, &tree, &error), error, q.resource);
    count = licet_tree_node_count(tree);
    for (size_t i = 0, nodes = count; i < nodes && licet_tree_node_at(tree, i, &node); i++)
        count += node.subject_count;
    licet_tree_release(tree);
    return count;
}

static void measure(licet_engine *engine, const char *name, size_t (*work)(licet_engine *engine, question q),
                    question q)
{
    static double samples[MAX_SAMPLES];
    const size_t  answers = work(engine, q);
    size_t        count   = 0;
    double        end     = bench_now() + bench_seconds("BENCH_WARMUP", 0.3) * 1e9;
    double        median;

    while (bench_now() < end)
        bench_keep(work(engine, q));
    end = bench_now() + bench_seconds("BENCH_TIME", 1) * 1e9;
    while (bench_now() < end && count < MAX_SAMPLES) {
        double start = bench_now();

        bench_keep(work(engine, q));
        samples[count++] = bench_now() - start;
    }
    median = bench_quantile(samples, count, 0.5);
    printf("  %-8s %-18s %-5s %9zu %12.1f %10.1f\n", name, q.resource, q.permission, answers, median / 1e3,
           median / (double)answers);
}

/* ----------------------------------------------------------------- made data */

typedef struct writer {
    licet_engine *engine;
    licet_update  updates[1000];
    char          texts[1000][96];
    size_t        count;
} writer;

static void flush(writer *w)
{
    licet_write_request write = LICET_WRITE_REQUEST_INIT;
    licet_error        *error = NULL;

    write.updates      = w->updates;
    write.update_count = w->count;
    bench_must(licet_write(w->engine, &write, NULL, &error), error, "write");
    w->count = 0;
}

static void add(writer *w, const char *before, size_t a, const char *between, size_t b, const char *after)
{
    licet_error *error = NULL;
    char        *text  = w->texts[w->count];

    snprintf(text, sizeof w->texts[0], "%s%zu%s%zu%s", before, a, between, b, after);
    w->updates[w->count] = (licet_update){ LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    bench_must(licet_relationship_parse((licet_str){ text, strlen(text) }, &w->updates[w->count].relationship, &error),
               error, text);
    if (++w->count == 1000)
        flush(w);
}

/* document:dN has N direct viewers; document:gN has N in ten groups, each in the one before; document:xN has N direct
 * ones of whom every tenth is banned. */
static void make_documents(writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add(w, "document:d", n, "#viewer@user:u", i, "");
        add(w, "document:x", n, "#viewer@user:u", i, "");
        add(w, "group:g", n * 10 + i % 10, "#member@user:u", i, "");
        if (i % 10 == 0)
            add(w, "document:x", n, "#banned@user:u", i, "");
    }
    for (size_t i = 0; i < 9; i++)
        add(w, "group:g", n * 10 + i, "#member@group:g", n * 10 + i + 1, "#member");
    add(w, "document:g", n, "#viewer@group:g", n * 10, "#member");
}

static licet_engine *make_engine(void)
{
    static writer w;
    licet_options options = LICET_OPTIONS_INIT;
    licet_error  *error   = NULL;

    options.memory_limit_bytes = (uint64_t)1 << 30;
    bench_must(licet_open(LICET_STR("memory:"), &options, &w.engine, &error), error, "open");
    bench_must(licet_write_schema(w.engine, (licet_str){ SCHEMA, sizeof SCHEMA - 1 }, NULL, &error), error, "schema");
    for (size_t n = 10; n <= 100000; n *= 100)
        make_documents(&w, n);
    flush(&w);
    return w.engine;
}

int main(int argc, char **argv)
{
    static const question published[] = { { "document:d0", "view" }, { "document:d500", "view" } };
    static const question made[]      = { { "document:d10", "view" },     { "document:d1000", "view" },
                                          { "document:d100000", "view" }, { "document:g10", "view" },
                                          { "document:g1000", "view" },   { "document:g100000", "view" },
                                          { "document:x10", "safe" },     { "document:x1000", "safe" },
                                          { "document:x100000", "safe" } };
    licet_engine         *engine      = bench_load(argc > 1 ? argv[1] : "build/bench-data", NULL);

    printf("  %-8s %-18s %-5s %9s %12s %10s\n", "call", "resource", "", "answers", "median us", "ns/answer");
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        measure(engine, "subjects", look_up, published[i]);
        measure(engine, "expand", expand, published[i]);
    }
    licet_engine_release(engine);
    engine = make_engine();
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        measure(engine, "subjects", look_up, made[i]);
        if (made[i].resource[9] != 'g')
            measure(engine, "expand", expand, made[i]);
    }
    licet_engine_release(engine);
    return 0;
}
