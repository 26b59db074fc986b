/* What the benchmarks share: reading the generated data, loading it into an engine, medians. Benchmarks stop with a
 * message at the first thing that goes wrong. */
#ifndef BENCH_SUPPORT_BENCH_H
#define BENCH_SUPPORT_BENCH_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "licet.h"

/* A file cut into lines; the lines are views of its text. */
typedef struct bench_file {
    char      *text;
    licet_str *lines;
    size_t     count;
} bench_file;

_Noreturn static inline void bench_stop(const char *what, const char *detail)
{
    fprintf(stderr, "bench: %s: %s\n", what, detail);
    exit(1);
}

static inline void bench_must(licet_status status, licet_error *error, const char *what)
{
    licet_str message = licet_error_message(error);

    if (status == LICET_OK)
        return;
    fprintf(stderr, "bench: %s: %s: %.*s\n", what, licet_status_text(status), (int)message.size, message.data);
    exit(1);
}

static inline void *bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        bench_stop("memory", "none left");
    return memory;
}

/* Nanoseconds, monotonic. */
static inline double bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Seconds from the environment (BENCH_TIME, BENCH_WARMUP). */
static inline double bench_seconds(const char *name, double otherwise)
{
    const char *text = getenv(name);

    return text != NULL && atof(text) > 0 ? atof(text) : otherwise;
}

static inline bench_file bench_read(const char *folder, const char *name)
{
    char       path[4096];
    bench_file file = { NULL, NULL, 0 };
    FILE      *in;
    long       size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    in = fopen(path, "rb");
    if (in == NULL || fseek(in, 0, SEEK_END) != 0 || (size = ftell(in)) < 0)
        bench_stop("cannot read (make it with bench/data/generate.py)", path);
    rewind(in);
    file.text = bench_alloc((size_t)size + 1, 1);
    if (fread(file.text, 1, (size_t)size, in) != (size_t)size)
        bench_stop("cannot read", path);
    fclose(in);
    for (const char *c = file.text; *c != '\0'; c++)
        file.count += *c == '\n';
    file.lines = bench_alloc(file.count + 1, sizeof *file.lines);
    file.count = 0;
    for (char *start = file.text, *end; (end = strchr(start, '\n')) != NULL; start = end + 1)
        file.lines[file.count++] = (licet_str){ start, (size_t)(end - start) };
    return file;
}

static inline void bench_close(bench_file *file)
{
    free(file->text);
    free(file->lines);
}

/* The word number `n` of a line. */
static inline licet_str bench_word(licet_str line, int n)
{
    const char *at = line.data, *end = line.data + line.size, *space;

    while ((space = memchr(at, ' ', (size_t)(end - at))) != NULL && n-- > 0)
        at = space + 1;
    return (licet_str){ at, (size_t)((space != NULL && n < 0 ? space : end) - at) };
}

/* An engine that holds the data of a folder. */
static inline licet_engine *bench_load(const char *folder, const licet_options *options)
{
    static licet_update updates[1000];
    licet_engine       *engine = NULL;
    licet_error        *error  = NULL;
    bench_file          schema = bench_read(folder, "schema.zed");
    bench_file          rows   = bench_read(folder, "relationships.txt");
    licet_write_request write  = LICET_WRITE_REQUEST_INIT;

    bench_must(licet_open(LICET_STR("memory:"), options, &engine, &error), error, "open");
    bench_must(licet_write_schema(engine, (licet_str){ schema.text, strlen(schema.text) }, NULL, &error), error,
               "schema");
    write.updates = updates;
    for (size_t at = 0; at < rows.count; at += write.update_count) {
        write.update_count = rows.count - at < 1000 ? rows.count - at : 1000;
        for (size_t i = 0; i < write.update_count; i++) {
            updates[i].operation    = LICET_TOUCH;
            updates[i].relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
            bench_must(licet_relationship_parse(rows.lines[at + i], &updates[i].relationship, &error), error, "row");
        }
        bench_must(licet_write(engine, &write, NULL, &error), error, "write");
    }
    bench_close(&schema);
    bench_close(&rows);
    return engine;
}

static inline licet_stats bench_stats(licet_engine *engine)
{
    licet_stats  stats = LICET_STATS_INIT;
    licet_error *error = NULL;

    bench_must(licet_engine_stats(engine, &stats, &error), error, "stats");
    return stats;
}

/* Merges run on a thread of their own: at rest when nothing has changed for a second. */
static inline void bench_await_merges(licet_engine *engine)
{
    uint64_t before;

    do {
        before = bench_stats(engine).memory_bytes;
        sleep(1);
    } while (bench_stats(engine).memory_bytes != before);
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the samples. p in [0, 1]. */
static inline double bench_quantile(double *samples, size_t count, double p)
{
    qsort(samples, count, sizeof *samples, bench_compare);
    return samples[(size_t)((double)(count - 1) * p)];
}

/* A value the compiler must not optimise away. */
static inline void bench_keep(uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

/* The floor: one probe at a random place of an open-addressing table of 10 million keys. Median, ns. */
static inline double bench_probe(void)
{
    enum { KEYS = 10000000, SLOTS = 1 << 24, ROUND = 100000, ROUNDS = 31 };
    uint64_t *table = bench_alloc(SLOTS, sizeof *table);
    double    samples[ROUNDS];
    uint64_t  x = 88172645463325252u, found = 0;

    for (uint64_t key = 1; key <= KEYS; key++) {
        uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;

        while (table[at] != 0)
            at = (at + 1) & (SLOTS - 1);
        table[at] = key;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double start = bench_now();

        for (int i = 0; i < ROUND; i++) {
            uint64_t key, at;

            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            key = (x + found) % KEYS + 1; /* depends on what the probe before has loaded: no two overlap */
            at  = key * UINT64_C(0x9e3779b97f4a7c15) >> 40;
            while (table[at] != key)
                at = (at + 1) & (SLOTS - 1);
            found = ((const volatile uint64_t *)table)[at] & 1; /* volatile, or the key would be taken for it */
        }
        samples[round] = (bench_now() - start) / ROUND;
    }
    bench_keep(found);
    free(table);
    return bench_quantile(samples, ROUNDS, 0.5);
}

#endif
