/* Bounds of what is called from C, and how they are judged. A bound is a time; it was set on a machine on which the walk by
 * hand (walk.h) took `reference_ns`. Processors differ, and one processor's speed changes from moment to moment when
 * others work beside it, so what is judged is how many walks a call takes, both timed in turns, against the bound in the
 * reference's walks. The time itself stands beside, with what it says of the bound as it was written. */
#ifndef BENCH_SUPPORT_FLOOR_H
#define BENCH_SUPPORT_FLOOR_H

#include "bench.h"
#include "walk.h"

typedef struct bench_bound {
    double ns;
    double reference_ns;
} bench_bound;

#define BENCH_DIRECT ((bench_bound){ 150, 35 })
#define BENCH_NESTED ((bench_bound){ 500, 46 }) /* and denied ones */
#define BENCH_BULK ((bench_bound){ 15000, 4200 })
#define BENCH_LOOKUP ((bench_bound){ 20000, 200 })

#define BENCH_FLOOR_HEAD "%10s %8s %8s %-7s %10s"
#define BENCH_FLOOR_TITLES "walk ns", "walks", "bound", "", "or ns"

/* Ends the line. */
static inline void bench_print_floor(double ns, double walk_ns, double walks, bench_bound bound)
{
    const double most = bound.ns / bound.reference_ns;

    printf("%10.1f %8.2f %8.2f %-7s %10.0f %s\n", walk_ns, walks, most, walks <= most ? "held" : "MISSED", bound.ns,
           ns <= bound.ns ? "held" : "missed");
}

static inline walk_text bench_walk_text(licet_str text)
{
    return (walk_text){ text.data, text.size };
}

/* Loads the rows of a file. */
static inline walk_graph bench_walk(const char *folder, const char *name)
{
    bench_file rows = bench_read(folder, name);
    walk_graph w    = walk_begin();

    for (size_t i = 0; i < rows.count; i++)
        walk_add(&w, bench_walk_text(rows.lines[i]));
    walk_finish(&w);
    bench_close(&rows);
    return w;
}

#endif
