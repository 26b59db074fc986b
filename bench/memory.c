/* Memory of the graph at a million relationships and more, beside the id strings; bound: 64 bytes a relationship.
 *
 *     memory [FOLDER]     made by bench/data/generate.py --scale 40; build/bench-data-40 by default
 *
 * Measured twice, each time in a new engine that was loaded in transactions of 1,000 relationships, once its merges
 * have come to rest: with the history that is kept by default (the window of 24 hours holds everything, so merges keep
 * as many changes as they must), and with a window of 1 ms, so that they keep none. What the last merge came too early
 * for is in the delta either way, and is counted. */
#include "support/bench.h"

static void measure(const char *folder, const char *history, uint64_t window_ms)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_engine *engine;
    licet_stats   stats;
    double        start = bench_now(), loaded;

    options.memory_limit_bytes = UINT64_C(4) << 30;
    options.history_window_ms  = window_ms;
    engine                     = bench_load(folder, &options);
    loaded                     = (bench_now() - start) / 1e9;
    bench_await_merges(engine);
    stats = bench_stats(engine);
    printf("  %-16s %9" PRIu64 " relationships, %5.1f bytes each beside %4.1f of id strings; %" PRIu64
           " changes in the delta; %.1f MiB in all; loaded in %.1f s\n",
           history, stats.relationships, (double)stats.graph_bytes / (double)stats.relationships,
           (double)stats.id_bytes / (double)stats.relationships, stats.delta_changes,
           (double)stats.memory_bytes / 1048576, loaded);
    licet_engine_release(engine);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "build/bench-data-40";

    printf("graph memory (bound 64.0 bytes a relationship)\n");
    measure(folder, "default history", 0);
    measure(folder, "history of 1 ms", 1);
    return 0;
}
