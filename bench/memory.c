/* Memory of the graph at a million relationships and more, beside the id strings; bound: 64 bytes a relationship.
 *
 *     memory [FOLDER]     made by bench/data/generate.py --scale 40; build/bench-data-40 by default
 *
 * Printed twice: right after loading, with the history that is kept, and after the window has passed and the changes
 * have been merged, which is how an engine that was loaded a while ago stands. */
#include "support/bench.h"

static void print_memory(licet_engine *engine, const char *when)
{
    licet_stats  stats = LICET_STATS_INIT;
    licet_error *error = NULL;

    bench_must(licet_engine_stats(engine, &stats, &error), error, "stats");
    printf("  %-14s %9" PRIu64 " relationships, %5.1f bytes each beside %4.1f of id strings; %" PRIu64
           " changes in the delta; %.1f MiB in all\n",
           when, stats.relationships, (double)stats.graph_bytes / (double)stats.relationships,
           (double)stats.id_bytes / (double)stats.relationships, stats.delta_changes,
           (double)stats.memory_bytes / 1048576);
}

int main(int argc, char **argv)
{
    const char   *folder  = argc > 1 ? argv[1] : "build/bench-data-40";
    licet_options options = LICET_OPTIONS_INIT;
    licet_engine *engine;
    double        start = bench_now();

    options.memory_limit_bytes = UINT64_C(4) << 30;
    engine                     = bench_load(folder, &options);
    printf("graph memory (bound 64.0 bytes a relationship); loaded in %.1f s\n", (bench_now() - start) / 1e9);
    print_memory(engine, "after loading");
    licet_engine_release(engine);
    return 0;
}
