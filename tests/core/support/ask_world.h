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

/* A request about "type:id#name@type:id". context may be NULL. The texts are views of `question`. */
licet_check_request question_of(const char *question, const char *context);

#endif
