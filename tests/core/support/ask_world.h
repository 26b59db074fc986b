/* Questions with a context to an engine_world, and their answers in words.
 *
 *     assert_string_equal(world_ask(&w, "document:plan#view@user:ana", "{\"hour\":9}"), "if hour, zone");
 */
#ifndef LICET_TESTS_ASK_WORLD_H
#define LICET_TESTS_ASK_WORLD_H

#include "engine_world.h"

/* "yes", "no", "if " with the names that are missing; of errors "failed " with the reason, or the kind where there is none.
 * The text lives in the world until the next call. */
const char *world_ask(engine_world *w, const char *question, const char *context);
const char *world_ask_prepared(engine_world *w, const char *question, const licet_context *context);
/* The same words for a result and the error that came with it. Clears the result, takes the error. */
const char *world_say(engine_world *w, licet_result *result, licet_error *error);

typedef struct expectation {
    const char *question;
    const char *context; /* NULL: none */
    const char *answer;
} expectation;

/* Asks each with the context as a text, and read before. */
void world_expect(engine_world *w, const expectation *rows, size_t count);
/* The same of a new world. */
void check_rows(const char *schema, const char *relationships, const expectation *rows, size_t count);

#define CHECK_ROWS(schema, relationships, rows) \
    check_rows((schema), (relationships), (rows), sizeof(rows) / sizeof *(rows))

#define TYPE_ERROR "failed CAVEAT_PARAMETER_TYPE_ERROR"
#define EVAL_ERROR "failed CAVEAT_EVALUATION_ERROR"

/* Caveats of each kind. */
#define HOURS                                              \
    "caveat from(hour int, start int) { hour >= start }\n" \
    "caveat level(grade int) { grade > 1 }\n"              \
    "caveat broken(divisor int) { 1 / divisor == 1 }\n"    \
    "caveat named(m map<any>, k string) { k in m }\n"      \
    "definition user {}\n"

/* Caveated rows of each kind, and every operator over them. */
#define WARD                                                                                                        \
    HOURS "definition group { relation member: user | user with level | group#member | group#member with from\n}\n" \
          "definition doc {\n"                                                                                      \
          "  relation parent: doc | doc with from\n"                                                                \
          "  relation viewer: user | user with level | user:* with from | group#member | group#member with from\n"  \
          "  relation editor: user | user with level | user with from | user with broken\n"                         \
          "  relation banned: user | user with level | user with from | user with broken\n"                         \
          "  permission minus = viewer - banned\n"                                                                  \
          "  permission either = viewer + editor\n"                                                                 \
          "  permission both = viewer & editor\n"                                                                   \
          "  permission contrary = editor - banned\n"                                                               \
          "  permission above = parent->viewer\n"                                                                   \
          "  permission all_above = parent.all(viewer)\n"                                                           \
          "}\n"

#define WARD_LINES                                                                                           \
    "doc:d#viewer@group:a#member[from:{\"start\":8}]\ngroup:a#member@group:b#member[from:{\"start\":8}]\n"   \
    "group:b#member@group:a#member\ngroup:b#member@user:u[level]\ndoc:d#viewer@user:*[from:{\"start\":5}]\n" \
    "doc:d#editor@user:u[broken]\ndoc:d#banned@user:u[level]"

/* A request about "type:id#name@type:id". context may be NULL. The texts are views of `question`. */
licet_check_request question_of(const char *question, const char *context);

#endif
