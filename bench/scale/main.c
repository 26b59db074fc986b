/* How cost grows: with the number of relationships, with depth, with fan-out, with the number of answers.
 *
 *     scale size FOLDER WORLDS        one size in memory
 *     scale database FOLDER WORLDS    the same in the Postgres that LICET_TEST_POSTGRES names; where built with Postgres
 *     scale depth
 *     scale fan-out RELATIONSHIPS
 *     scale answers RELATIONSHIPS
 *
 * Run by bench/scale/__main__.py, which makes the folders, and reads what is printed. BENCH_TIME and BENCH_WARMUP: seconds
 * for each measurement (1 and 0.3). */
#include "scale.h"

static bool is(const char *word, int argc, int arguments, const char *name)
{
    return argc == arguments && strcmp(word, name) == 0;
}

int main(int argc, char **argv)
{
    const char    *part   = argc > 1 ? argv[1] : "";
    const uint64_t number = argc > 2 ? strtoull(argv[argc - 1], NULL, 10) : 0;

    if (is(part, argc, 4, "size") && number > 0)
        scale_size(argv[2], (unsigned)number);
#ifdef LICET_WITH_POSTGRES
    else if (is(part, argc, 4, "database") && number > 0)
        scale_database(argv[2], (unsigned)number);
#endif
    else if (is(part, argc, 2, "depth"))
        scale_depth();
    else if (is(part, argc, 3, "fan-out") && number > 0)
        scale_fan_out(number);
    else if (is(part, argc, 3, "answers") && number > 0)
        scale_answers(number);
    else
        bench_stop("usage",
                   "scale size|database FOLDER WORLDS | depth | fan-out RELATIONSHIPS | answers RELATIONSHIPS");
    return 0;
}
