/* An engine with a schema and relationships, for tests of the public functions.
 *
 *     engine_world w;
 *
 *     world_open(&w, NULL, "definition user {}\n...", "document:plan#viewer@user:ana\n...");
 *     assert_true(world_allowed(&w, "document:plan", "view", "user:ana"));
 *     world_touch(&w, "document:plan#nosuch@user:ana");
 *     world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "relation/permission `nosuch` not found ...");
 *     world_close(&w);
 *
 * Calls leave their status and error in the world; world_failed() judges and forgets them, world_done() asserts that
 * there was no failure. */
#ifndef LICET_TESTS_ENGINE_WORLD_H
#define LICET_TESTS_ENGINE_WORLD_H

#include "licet.h"

typedef struct engine_world {
    licet_engine *engine;
    licet_status  status; /* of the last call */
    licet_error  *error;
    licet_token   token;       /* of the last write */
    char          text[16384]; /* what world_read() read */
} engine_world;

licet_str text_of(const char *literal); /* NULL: not given */

/* options may be NULL. lines: one relationship each, may be NULL or "". */
void world_open(engine_world *w, const licet_options *options, const char *schema, const char *lines);
void world_close(engine_world *w); /* also asserts that no error was left unjudged */

void world_schema(engine_world *w, const char *schema);
/* Lines of relationships, in one write. */
void world_create(engine_world *w, const char *lines);
void world_touch(engine_world *w, const char *lines);
void world_delete(engine_world *w, const char *lines);

licet_check_request check_of(const char *resource, const char *permission, const char *subject);
/* The whole result; w->status says how it went. */
licet_result world_check(engine_world *w, const char *resource, const char *permission, const char *subject);
/* Asserts that there was no failure. */
bool world_allowed(engine_world *w, const char *resource, const char *permission, const char *subject);

/* Everything a read returns, one relationship a line. */
const char *world_read(engine_world *w, const licet_read_request *request);
/* The same of all relationships of a type. */
const char *world_read_type(engine_world *w, const char *resource_type);

void world_done(engine_world *w);
/* Exactly this status, kind, reason ("" for none) and message. */
void world_failed(engine_world *w, licet_status status, licet_kind kind, const char *reason, const char *message);
/* The same of an error in hand; frees it. */
void error_is(licet_error *error, licet_status status, licet_kind kind, const char *reason, const char *message);

/* Users, groups in groups, documents; a caveat and an expiration that only the schema knows. */
extern const char WORLD_SCHEMA[];

#endif
