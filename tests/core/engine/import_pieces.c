/* Imports that are committed piece by piece (core/engine/import.c), in memory and, where LICET_TEST_POSTGRES names a
 * server, in Postgres: with the same results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LICET_WITH_POSTGRES
#include <libpq-fe.h>
#endif

#include "engine_world.h"
#include "failing_memory.h"

typedef enum kind { MEMORY, POSTGRES } kind;

typedef struct place {
    kind         kind;
    char         schema[40];
    engine_world world;
    engine_world other; /* another engine of the same store; in memory the same one */
} place;

static kind kinds[] = { MEMORY, POSTGRES };

static void open_world(place *p, engine_world *w, const licet_allocator *allocator)
{
    licet_options options = LICET_OPTIONS_INIT;
    const char   *uri     = p->kind == POSTGRES ? getenv("LICET_TEST_POSTGRES") : "memory:";

    memset(w, 0, sizeof *w);
    options.postgres_schema  = text_of(p->schema);
    options.poll_interval_ms = 20;
    if (allocator != NULL)
        options.allocator = *allocator;
    if (p->kind == MEMORY)
        options.postgres_schema = text_of(NULL);
    assert_int_equal(licet_open(text_of(uri), &options, &w->engine, NULL), LICET_OK);
}

static void place_open_with(place *p, void **state, const licet_allocator *allocator)
{
    static int    number;
    const char   *server  = getenv("LICET_TEST_POSTGRES");
    licet_options options = LICET_OPTIONS_INIT;

    *p = (place){ .kind = **(kind **)state };
    snprintf(p->schema, sizeof p->schema, "licet_pieces_%d_%d", (int)getpid(), ++number);
    if (p->kind == POSTGRES && (server == NULL || server[0] == '\0')) {
        print_message("LICET_TEST_POSTGRES names no server: skipped\n");
        skip();
    }
    options.postgres_schema = text_of(p->schema);
    if (p->kind == POSTGRES)
        assert_int_equal(licet_migrate(text_of(server), &options, false, NULL, NULL), LICET_OK);
    open_world(p, &p->world, allocator);
    world_schema(&p->world, WORLD_SCHEMA);
    world_done(&p->world);
    if (p->kind == POSTGRES)
        open_world(p, &p->other, NULL);
    else {
        p->other.engine = p->world.engine;
        licet_engine_retain(p->other.engine);
    }
}

static void place_open(place *p, void **state)
{
    place_open_with(p, state, NULL);
}

static void place_close(place *p)
{
    world_close(&p->world);
    licet_engine_release(p->other.engine);
#ifdef LICET_WITH_POSTGRES
    if (p->kind == POSTGRES) {
        PGconn *connection = PQconnectdb(getenv("LICET_TEST_POSTGRES"));
        char    sql[96];

        snprintf(sql, sizeof sql, "SET client_min_messages = warning; DROP SCHEMA %s CASCADE", p->schema);
        PQclear(PQexec(connection, sql));
        PQfinish(connection);
    }
#endif
}

/* ------------------------------------------------------------ what is imported */

static licet_import *resume(engine_world *w, const char *name, uint64_t expected)
{
    licet_import *import = NULL;
    uint64_t      count  = 77;

    w->status = licet_import_resume(w->engine, text_of(name), &import, &count, &w->error);
    world_done(w);
    assert_int_equal(count, expected);
    return import;
}

static void give_line(engine_world *w, licet_import *import, const char *line)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;

    assert_int_equal(licet_relationship_parse(text_of(line), &relationship, NULL), LICET_OK);
    w->status = licet_import_add(import, &relationship, 1, &w->error);
}

/* Members u<first> to u<end - 1> of a group. */
static void give(engine_world *w, licet_import *import, int first, int end)
{
    for (int i = first; i < end && w->status == LICET_OK; i++) {
        char line[64];

        snprintf(line, sizeof line, "group:g#member@user:u%d", i);
        give_line(w, import, line);
    }
}

static void save(engine_world *w, licet_import *import, uint64_t expected)
{
    uint64_t count = 77;

    w->status = licet_import_save(import, &count, &w->token, &w->error);
    world_done(w);
    assert_int_equal(count, expected);
}

static void finish(engine_world *w, licet_import **import, uint64_t expected)
{
    uint64_t count = 77;

    w->status = licet_import_commit(*import, &count, &w->token, &w->error);
    licet_import_release(*import);
    *import = NULL;
    world_done(w);
    assert_int_equal(count, expected);
    assert_true(strlen(w->token.text) > 0);
}

/* An import that is over without its commit. */
static void lose(licet_import **import)
{
    licet_import_release(*import);
    *import = NULL;
}

static void assert_found(engine_world *w, const char *name, bool is_known, bool is_finished, uint64_t count)
{
    licet_import_record record = LICET_IMPORT_RECORD_INIT;

    w->status = licet_import_find(w->engine, text_of(name), &record, &w->error);
    world_done(w);
    assert_int_equal(record.is_known, is_known);
    assert_int_equal(record.is_finished, is_finished);
    assert_int_equal(record.count, count);
}

/* Exactly the members u<0> to u<count - 1> are there. */
static void assert_members(engine_world *w, int count)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    char               expected[2048];
    int                lines = 0;

    request.filter.resource_type  = LICET_STR("group");
    request.consistency.freshness = LICET_FULLY_CONSISTENT;
    world_read(w, &request);
    world_done(w);
    for (const char *at = w->text; *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, count);
    for (int i = 0; i < count; i++) {
        snprintf(expected, sizeof expected, "group:g#member@user:u%d\n", i);
        assert_non_null(strstr(w->text, expected));
    }
}

/* ------------------------------------------------------------ tests */

static void an_import_is_committed_piece_by_piece_and_gone_on_with(void **state)
{
    place         p;
    engine_world *w = &p.world;
    licet_import *import;

    place_open(&p, state);
    assert_found(w, "users", false, false, 0);
    import = resume(w, "users", 0);
    save(w, import, 0);
    assert_string_equal(w->token.text, "");
    give(w, import, 0, 3);
    world_done(w);
    assert_members(w, 0);
    save(w, import, 3);
    assert_true(strlen(w->token.text) > 0);
    assert_members(w, 3);
    give(w, import, 3, 5);
    world_done(w);
    lose(&import);
    assert_members(w, 3);
    assert_found(w, "users", true, false, 3);

    import = resume(&p.other, "users", 3);
    give(&p.other, import, 0, 2);
    world_done(&p.other);
    save(&p.other, import, 3);
    give(&p.other, import, 2, 6);
    world_done(&p.other);
    save(&p.other, import, 6);
    give(&p.other, import, 6, 7);
    world_done(&p.other);
    finish(&p.other, &import, 7);
    assert_members(w, 7);
    assert_found(w, "users", true, true, 7);
    assert_found(w, "others", false, false, 0);
    place_close(&p);
}

static void other_relationships_are_not_mixed_into_an_import(void **state)
{
    static const char *const first[]   = { "document:d#viewer@user:a", "document:d#guest@user:a[ticket:{\"n\":1}]",
                                           "document:d#temp@user:a[expiration:2999-01-01T00:00:00Z]" };
    static const char *const another[] = { "document:d#viewer@user:b", "document:d#guest@user:a[ticket:{\"n\":2}]",
                                           "document:d#temp@user:a[expiration:2999-01-01T00:00:00.000000001Z]" };
    static const char message[] = "3 relationships of the import \"users\" are committed, and what was given now "
                                  "is something else";
    place             p;
    engine_world     *w = &p.world;
    licet_import     *import;

    place_open(&p, state);
    import = resume(w, "users", 0);
    for (int i = 0; i < 3; i++)
        give_line(w, import, first[i]);
    save(w, import, 3);
    lose(&import);
    for (int other = 0; other < 3; other++) {
        import = resume(w, "users", 3);
        for (int i = 0; i < 3; i++)
            give_line(w, import, i == other ? another[i] : first[i]);
        world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_DIFFERS", message);
        give_line(w, import, first[2]);
        world_failed(w, LICET_MISUSE, LICET_KIND_MISUSE, "",
                     "the import has failed or been committed: it can only be released");
        lose(&import);
    }
    import = resume(w, "users", 3);
    give_line(w, import, first[1]);
    give_line(w, import, first[0]);
    give_line(w, import, first[2]);
    world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_DIFFERS", message);
    lose(&import);
    import = resume(w, "users", 3);
    give_line(w, import, first[0]);
    w->status = licet_import_commit(import, NULL, NULL, &w->error);
    world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_DIFFERS",
                 "3 relationships of the import \"users\" are committed, and what was given now is less");
    lose(&import);
    assert_found(w, "users", true, false, 3);
    import = resume(w, "users", 3);
    give_line(w, import, first[0]);
    give_line(w, import, "document:d#guest@user:a[ticket:{ \"n\" : 1 }]");
    give_line(w, import, first[2]);
    give_line(w, import, another[0]);
    finish(w, &import, 4);
    place_close(&p);
}

static void a_finished_import_can_be_given_again_until_it_is_forgotten(void **state)
{
    place         p;
    engine_world *w = &p.world;
    licet_import *import;
    bool          was_known = false;

    place_open(&p, state);
    import = resume(w, "users", 0);
    give(w, import, 0, 3);
    finish(w, &import, 3);
    import = resume(w, "users", 3);
    give(w, import, 0, 3);
    finish(w, &import, 3);
    assert_members(w, 3);
    import = resume(w, "users", 3);
    give(w, import, 0, 4);
    world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_DIFFERS",
                 "3 relationships of the import \"users\" are committed, and what was given now is more, though the "
                 "import was finished");
    lose(&import);
    w->status = licet_import_forget(w->engine, LICET_STR("users"), &was_known, &w->error);
    world_done(w);
    assert_true(was_known);
    w->status = licet_import_forget(w->engine, LICET_STR("users"), &was_known, &w->error);
    world_done(w);
    assert_false(was_known);
    assert_found(w, "users", false, false, 0);
    import = resume(w, "users", 0);
    give(w, import, 3, 5);
    finish(w, &import, 2);
    assert_members(w, 5);
    import = resume(w, "nothing", 0);
    finish(w, &import, 0);
    assert_found(w, "nothing", true, true, 0);
    place_close(&p);
}

/* Gives two and saves them: which of both fails is the store's. */
static void assert_moved(engine_world *w, licet_import *import)
{
    give(w, import, 0, 2);
    if (w->status == LICET_OK)
        w->status = licet_import_save(import, NULL, NULL, &w->error);
    world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_MOVED",
                 "the import \"users\" is not where it was: another process has gone on with it or forgotten it");
}

static void of_two_that_import_under_one_name_at_once_one_is_refused(void **state)
{
    place         p;
    engine_world *w = &p.world;
    licet_import *import;
    licet_import *late;

    place_open(&p, state);
    late   = resume(&p.other, "users", 0);
    import = resume(w, "users", 0);
    give(w, import, 0, 2);
    save(w, import, 2);
    assert_moved(&p.other, late);
    lose(&late);
    give(w, import, 2, 3);
    finish(w, &import, 3);
    assert_members(w, 3);
    w->status = licet_import_forget(w->engine, LICET_STR("users"), NULL, &w->error);
    import    = resume(w, "users", 0);
    w->status = licet_import_forget(w->engine, LICET_STR("users"), NULL, &w->error);
    world_done(w);
    assert_moved(w, import);
    lose(&import);
    place_close(&p);
}

static void what_exists_fails_its_piece_and_nothing_else(void **state)
{
    place         p;
    engine_world *w = &p.world;
    licet_import *import;

    place_open(&p, state);
    world_touch(w, "group:g#member@user:u3");
    import = resume(w, "users", 0);
    give(w, import, 0, 2);
    save(w, import, 2);
    give(w, import, 2, 5);
    world_done(w);
    w->status = licet_import_save(import, NULL, NULL, &w->error);
    world_failed(w, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                 "could not create relationship \"group:g#member@user:u3\", as it exists already");
    lose(&import);
    assert_found(w, "users", true, false, 2);
    world_delete(w, "group:g#member@user:u3");
    import = resume(w, "users", 2);
    give(w, import, 0, 5);
    finish(w, &import, 5);
    assert_members(w, 5);
    place_close(&p);
}

static void each_piece_is_judged_by_the_schema_in_force_when_it_is_committed(void **state)
{
    static const char lesser[] = "definition user {}\ndefinition group {\nrelation member: user\n}";
    place             p;
    engine_world     *w = &p.world;
    licet_import     *import;

    place_open(&p, state);
    import = resume(w, "users", 0);
    give(w, import, 0, 2);
    save(w, import, 2);
    world_schema(w, lesser);
    world_done(w);
    give(w, import, 2, 3);
    save(w, import, 3);
    give(w, import, 3, 4);
    world_schema(w, WORLD_SCHEMA);
    world_done(w);
    w->status = licet_import_save(import, NULL, NULL, &w->error);
    world_failed(w, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "",
                 "the schema was replaced while the import was under way: import again");
    lose(&import);
    import = resume(w, "users", 3);
    give(w, import, 0, 4);
    finish(w, &import, 4);
    assert_members(w, 4);
    place_close(&p);
}

static void a_bad_relationship_is_named_by_its_number_from_the_first_on(void **state)
{
    place              p;
    engine_world      *w = &p.world;
    licet_import      *import;
    licet_relationship bad = LICET_RELATIONSHIP_INIT;

    place_open(&p, state);
    import = resume(w, "users", 0);
    give(w, import, 0, 2);
    save(w, import, 2);
    lose(&import);
    import = resume(w, "users", 2);
    give(w, import, 0, 3);
    assert_int_equal(licet_relationship_parse(text_of("group:g#member@user:x"), &bad, NULL), LICET_OK);
    bad.subject_id = LICET_STR("a b");
    w->status      = licet_import_add(import, &bad, 1, &w->error);
    assert_int_equal(w->status, LICET_INVALID_ARGUMENT);
    assert_memory_equal(licet_error_message(w->error).data, "relationship 4: subject_id", 26);
    licet_error_free(w->error);
    w->error  = NULL;
    w->status = LICET_OK;
    lose(&import);
    place_close(&p);
}

static void names_and_calls_that_make_no_sense_are_refused(void **state)
{
    static const char message[] = "name: expected 1 to 128 bytes of UTF-8 without control characters";
    char              longest[129];
    const licet_str   bad[] = { { NULL, 0 }, { "", 0 }, { "a\nb", 3 }, { "a\0b", 3 }, { "\xff", 1 }, { longest, 129 } };
    licet_import_record record = LICET_IMPORT_RECORD_INIT;
    licet_import       *import = NULL;
    bool                was_known;
    place               p;
    engine_world       *w = &p.world;

    place_open(&p, state);
    memset(longest, 'n', sizeof longest);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        w->status = licet_import_resume(w->engine, bad[i], &import, NULL, &w->error);
        world_failed(w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", message);
        assert_null(import);
        w->status = licet_import_find(w->engine, bad[i], &record, &w->error);
        world_failed(w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", message);
        w->status = licet_import_forget(w->engine, bad[i], &was_known, &w->error);
        world_failed(w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", message);
    }
    w->status = licet_import_resume(w->engine, (licet_str){ longest, 128 }, &import, NULL, &w->error);
    world_done(w);
    lose(&import);
    assert_int_equal(licet_import_resume(NULL, LICET_STR("a"), &import, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_import_resume(w->engine, LICET_STR("a"), NULL, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_import_find(w->engine, LICET_STR("a"), NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_import_find(NULL, LICET_STR("a"), &record, NULL), LICET_MISUSE);
    assert_int_equal(licet_import_forget(NULL, LICET_STR("a"), NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_import_save(NULL, NULL, NULL, NULL), LICET_MISUSE);
    w->status = licet_import_begin(w->engine, &import, &w->error);
    world_done(w);
    w->status = licet_import_save(import, NULL, NULL, &w->error);
    world_failed(w, LICET_MISUSE, LICET_KIND_MISUSE, "", "the import has no name: it is committed as a whole");
    lose(&import);
    place_close(&p);
}

/* As far as memory goes; what is committed then is what the record says. */
static bool import_without_memory(engine_world *w)
{
    licet_import *import = NULL;

    w->status = licet_import_resume(w->engine, LICET_STR("users"), &import, NULL, &w->error);
    if (w->status == LICET_OK)
        give(w, import, 0, 2);
    if (w->status == LICET_OK)
        give_line(w, import, "document:d#guest@user:a[ticket:{\"n\":1}]");
    if (w->status == LICET_OK)
        w->status = licet_import_save(import, NULL, NULL, &w->error);
    if (w->status == LICET_OK)
        give(w, import, 2, 4);
    if (w->status == LICET_OK)
        w->status = licet_import_commit(import, NULL, NULL, &w->error);
    licet_import_release(import);
    if (w->status != LICET_OK)
        assert_int_equal(w->status, LICET_OUT_OF_MEMORY);
    return w->status == LICET_OK;
}

static void no_failed_allocation_loses_or_doubles_a_relationship(void **state)
{
    bool done = false;

    for (size_t n = 0; !done; n++) {
        const failing_memory memory = fail_never();
        licet_import        *import;
        place                p;
        engine_world        *w = &p.world;

        place_open_with(&p, state, &memory.allocator);
        fail_next(&memory, n);
        done = import_without_memory(w);
        fail_next(&memory, SIZE_MAX / 2);
        licet_error_free(w->error);
        w->error  = NULL;
        w->status = licet_import_resume(w->engine, LICET_STR("users"), &import, NULL, &w->error);
        world_done(w);
        give(w, import, 0, 2);
        give_line(w, import, "document:d#guest@user:a[ticket:{\"n\":1}]");
        give(w, import, 2, 4);
        finish(w, &import, 5);
        assert_members(w, 4);
        place_close(&p);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

#define IN_BOTH(test)                                           \
    { #test " (memory)", test, NULL, NULL, &kinds[MEMORY] },    \
    {                                                           \
#test " (Postgres)", test, NULL, NULL, &kinds[POSTGRES] \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH(an_import_is_committed_piece_by_piece_and_gone_on_with),
        IN_BOTH(other_relationships_are_not_mixed_into_an_import),
        IN_BOTH(a_finished_import_can_be_given_again_until_it_is_forgotten),
        IN_BOTH(of_two_that_import_under_one_name_at_once_one_is_refused),
        IN_BOTH(what_exists_fails_its_piece_and_nothing_else),
        IN_BOTH(each_piece_is_judged_by_the_schema_in_force_when_it_is_committed),
        IN_BOTH(a_bad_relationship_is_named_by_its_number_from_the_first_on),
        IN_BOTH(names_and_calls_that_make_no_sense_are_refused),
        IN_BOTH(no_failed_allocation_loses_or_doubles_a_relationship),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
