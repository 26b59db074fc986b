/* The smallest world in which a check has an answer: names, a compiled schema, a graph. For tests of core/eval.
 *
 *     check_world w;
 *
 *     check_world_open(&w, NULL, "definition user {}\n...");
 *     check_world_write(&w, "document:plan#viewer@user:ana\n...");
 *     assert_int_equal(check_world_ask(&w, "document:plan#view@user:ana"), ANSWER_YES);
 *     check_world_close(&w);
 *
 * Everything that is not about memory fails the test by itself. */
#ifndef LICET_TESTS_CHECK_WORLD_H
#define LICET_TESTS_CHECK_WORLD_H

#include "eval/eval.h"

typedef enum answer {
    ANSWER_NO,
    ANSWER_YES,
    ANSWER_IF,
    ANSWER_DEPTH,
    ANSWER_STEPS,
    ANSWER_DEADLINE,
    ANSWER_MEMORY
} answer;

typedef struct check_world {
    lic_memory      memory;
    lic_names      *names;
    lic_program    *program;
    lic_graph      *graph;
    lic_eval_limits limits; /* 50, 1,000,000, 60 s; change at will */
    uint64_t        steps;  /* of the last question */
} check_world;

/* allocator may be NULL. false: out of memory; close it all the same. */
bool check_world_open(check_world *w, const licet_allocator *allocator, const char *schema);
/* One relationship a line; lines that begin with '-' take one back. false: out of memory. */
bool check_world_write(check_world *w, const char *lines);
/* Another schema over the same graph, whatever is stored in it. */
bool check_world_schema(check_world *w, const char *schema);
void check_world_close(check_world *w);

/* "type:id#name@type:id" or "...#relation". */
answer check_world_ask(check_world *w, const char *question);

/* Several questions about one subject with one memo, as a bulk check asks them. */
typedef struct check_bulk {
    check_world *world;
    lic_snapshot snapshot;
    lic_arena    arena;
    lic_eval     eval;
    char         subject[64]; /* of the memo */
} check_bulk;

void   check_bulk_open(check_bulk *bulk, check_world *w);
answer check_bulk_ask(check_bulk *bulk, const char *question);
void   check_bulk_close(check_bulk *bulk);

#endif
