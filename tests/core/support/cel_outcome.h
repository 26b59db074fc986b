/* One expression with its parameters and a context, compiled and evaluated: the outcome as a line of text.
 *
 *     assert_cel("x int, l list<any>", "l[x] == 1", "{\"x\": 0, \"l\": [1]}", "true");
 *
 * Outcomes: a value as CEL writes it ("true", "3u", "[1, \"a\"]"); "missing: x y"; "error: ..." of the evaluation;
 * "limit: ..." when a budget ran out; "context: ..." when the context is refused; "refused: ..." when the expression is;
 * "out of memory". */
#ifndef LICET_TESTS_CEL_OUTCOME_H
#define LICET_TESTS_CEL_OUTCOME_H

#include "caveat/cel.h"

#define CEL_OUTCOME_SIZE 1200 /* bytes */

typedef struct cel_question {
    const char    *parameters; /* as in a schema; may be empty */
    const char    *expression;
    const char    *context; /* JSON; NULL: none */
    bool           strict;
    lic_cel_budget budget; /* 0 steps: the usual */
} cel_question;

void cel_ask(lic_memory *memory, const cel_question *question, char out[CEL_OUTCOME_SIZE]);

/* Fails the test, and says what the outcome was, unless it is `expected`; one that ends in "..." needs to begin so. */
void assert_cel(const char *parameters, const char *expression, const char *context, const char *expected);
void assert_cel_strict(const char *parameters, const char *expression, const char *context, const char *expected);

/* Rows of a table for assert_cel. */
typedef struct cel_case {
    const char *parameters;
    const char *expression;
    const char *context;
    const char *expected;
} cel_case;

void assert_cel_cases(const cel_case *cases, size_t count);

#endif
