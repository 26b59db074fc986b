/* One validation file, run: what its report says must be what its text says. */
#ifndef LICET_TESTS_SCENARIO_H
#define LICET_TESTS_SCENARIO_H

#include "shared.h"

typedef struct scenario_counts {
    size_t files;
    size_t relationships;
    size_t assertions;
    size_t expected_relations;
} scenario_counts;

/* Fails the test unless the file loads, everything in it holds, and as much was run as the text has. Adds to *sum. */
void scenario_holds(const char *path, scenario_counts *sum);

/* Fails the test unless schema and relationships load. Adds to *sum. */
void scenario_loads(const char *path, scenario_counts *sum);

#endif
