/* core/schema/alike.c: which members mean the same in two schemas, whatever is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/names.h"
#include "failing_memory.h"
#include "schema/alike.h"
#include "schema/checker.h"
#include "schema/parser.h"

/* Two programs of the same names. */
typedef struct world {
    lic_memory   memory;
    lic_names   *names;
    lic_program *before;
    lic_program *after;
    char         text[4096]; /* what unlike() says */
} world;

static lic_program *compile(world *w, const char *text)
{
    lic_program *program = NULL;
    lic_arena    arena;
    lic_ast     *ast;

    lic_arena_init(&arena, &w->memory);
    assert_int_equal(lic_parse(&arena, (lic_str){ text, strlen(text) }, NULL, &ast, NULL), LICET_OK);
    assert_int_equal(lic_check_types(&arena, ast, false, NULL), LICET_OK);
    assert_int_equal(lic_compile(&w->memory, w->names, ast, &program, NULL), LICET_OK);
    lic_arena_free(&arena);
    return program;
}

static void world_open(world *w, const char *before, const char *after)
{
    lic_memory_init(&w->memory, NULL, SIZE_MAX);
    w->names = lic_names_new(&w->memory);
    assert_non_null(w->names);
    w->before = compile(w, before);
    w->after  = compile(w, after);
}

static void world_close(world *w)
{
    lic_program_release(w->before);
    lic_program_release(w->after);
    lic_names_free(w->names);
    assert_int_equal(atomic_load(&w->memory.used), 0);
}

static void say(world *w, const char *before, lic_str name)
{
    const size_t size = strlen(w->text);

    snprintf(w->text + size, sizeof w->text - size, "%s%.*s", before, (int)name.size, name.data);
}

static void say_member(world *w, const lic_member_pair *pair)
{
    if (pair->after == LIC_NO_REL)
        say(w, " -", w->before->relations[pair->before].name);
    else
        say(w, pair->before == LIC_NO_REL ? " +" : " ", w->after->relations[pair->after].name);
}

/* "doc: view +edit -gone; " */
static const char *unlike(const char *before, const char *after)
{
    static world w;
    lic_arena    arena;
    lic_unlike   found;

    world_open(&w, before, after);
    w.text[0] = '\0';
    lic_arena_init(&arena, &w.memory);
    assert_true(lic_find_unlike(&arena, w.before, w.after, &found));
    for (size_t d = 0; d < found.definition_count; d++) {
        const lic_definition_pair *pair = &found.definitions[d];

        say(&w, d == 0 ? "" : "; ",
            pair->after == LIC_NO_DEFINITION ? w.before->definitions[pair->before].name
                                             : w.after->definitions[pair->after].name);
        say(&w, ":", LIC_STR(""));
        for (size_t i = 0; i < pair->member_count; i++)
            say_member(&w, &pair->members[i]);
    }
    lic_arena_free(&arena);
    world_close(&w);
    return w.text;
}

#define HEAD                        \
    "use expiration\n"              \
    "caveat cav(x int) { x > 0 }\n" \
    "definition user {}\n"          \
    "definition club {\n  relation member: user | club#member\n  permission all = member\n}\n"
#define DOC(viewer, view)                                                                                \
    "definition doc {\n  relation parent: doc\n  relation viewer: " viewer "\n  relation banned: user\n" \
    "  permission view = " view "\n  permission edit = banned\n  permission deep = parent->view\n}\n"

static void what_is_written_alike_is_alike_wherever_it_stands(void **state)
{
    (void)state;
    assert_string_equal(unlike(HEAD DOC("user", "viewer"), HEAD DOC("user", "viewer")), "");
    assert_string_equal(unlike(HEAD DOC("user", "viewer"), HEAD "definition more {}\n" DOC("user", "(viewer)")), "");
    assert_string_equal(
        unlike(HEAD DOC("user", "viewer - (banned & viewer)"), HEAD DOC("user", "viewer - (banned & viewer)")), "");
}

static void what_differs_makes_all_differ_that_need_it(void **state)
{
    (void)state;
    assert_string_equal(unlike(HEAD DOC("user", "viewer"), HEAD DOC("user", "viewer - banned")), "doc: view deep");
    assert_string_equal(unlike(HEAD DOC("user", "viewer"), HEAD DOC("user | user:*", "viewer")),
                        "doc: viewer view deep");
    assert_string_equal(unlike(HEAD DOC("user", "viewer"), HEAD DOC("user with cav", "viewer")),
                        "doc: viewer view deep");
    assert_string_equal(unlike(HEAD DOC("user", "viewer"), HEAD DOC("user with expiration", "viewer")),
                        "doc: viewer view deep");
    assert_string_equal(unlike(HEAD DOC("user", "viewer + banned"), HEAD DOC("user", "viewer & banned")),
                        "doc: view deep");
    assert_string_equal(unlike(HEAD DOC("user", "parent->view"), HEAD DOC("user", "parent.all(view)")),
                        "doc: view deep");
    assert_string_equal(unlike(HEAD DOC("user", "parent->view"), HEAD DOC("user", "parent->edit")), "doc: view deep");
    assert_string_equal(unlike(HEAD DOC("user", "viewer + banned"), HEAD DOC("user", "viewer + banned + viewer")),
                        "doc: view deep");
}

/* Through arrows, names and usersets, round a circle too. */
static void a_difference_spreads_to_other_definitions(void **state)
{
    static const char BEFORE[] = "definition user {}\n"
                                 "definition club {\n  relation member: user | club#all\n  relation owner: user\n"
                                 "  permission all = member\n}\n"
                                 "definition item {\n  relation club: club\n  relation viewer: club#all\n"
                                 "  relation other: club#owner\n  permission one = club->all\n"
                                 "  permission two = viewer\n  permission three = other + club->owner\n}\n";
    static const char AFTER[]  = "definition user {}\n"
                                 "definition club {\n  relation member: user | club#all\n  relation owner: user\n"
                                 "  permission all = member + owner\n}\n"
                                 "definition item {\n  relation club: club\n  relation viewer: club#all\n"
                                 "  relation other: club#owner\n  permission one = club->all\n"
                                 "  permission two = viewer\n  permission three = other + club->owner\n}\n";

    (void)state;
    assert_string_equal(unlike(BEFORE, AFTER), "club: member all; item: viewer one two");
}

static void a_caveat_that_is_written_otherwise_makes_a_difference(void **state)
{
    static const char BEFORE[] = "caveat cav(x int) { x > 0 }\ncaveat same(x int) { x > 0 }\ndefinition user {}\n"
                                 "definition doc {\n  relation one: user with cav\n  relation two: user with same\n}\n";
    static const char AFTER[]  = "caveat cav(x int) { x > 1 }\ncaveat same(x int) { x > 0 }\ndefinition user {}\n"
                                 "definition doc {\n  relation one: user with cav\n  relation two: user with same\n}\n";

    (void)state;
    assert_string_equal(unlike(BEFORE, AFTER), "doc: one");
}

static void what_one_schema_lacks_is_not_alike(void **state)
{
    static const char BEFORE[] =
        "definition user {}\n"
        "definition gone {\n  relation one: user\n}\n"
        "definition doc {\n  relation one: user\n  relation turned: user\n  relation two: user\n}\n";
    static const char AFTER[] = "definition user {}\n"
                                "definition come {\n  relation one: user\n}\n"
                                "definition doc {\n  relation one: user\n  permission turned = one\n"
                                "  permission three = one\n}\n";

    (void)state;
    assert_string_equal(unlike(BEFORE, AFTER), "come: +one; doc: turned +three -two; gone: -one");
}

/* An arrow means something else as soon as another type has the name on its right. */
static void a_name_that_a_type_gets_makes_the_arrows_to_it_differ(void **state)
{
    static const char BEFORE[] = "definition user {}\n"
                                 "definition aaa {\n  relation view: user\n}\ndefinition bbb {}\n"
                                 "definition doc {\n  relation parent: aaa | bbb\n  permission all = parent->view\n}\n";
    static const char AFTER[] =
        "definition user {}\n"
        "definition aaa {\n  relation view: user\n}\ndefinition bbb {\n  relation view: user\n}\n"
        "definition doc {\n  relation parent: aaa | bbb\n  permission all = parent->view\n}\n";

    (void)state;
    assert_string_equal(unlike(BEFORE, AFTER), "bbb: +view; doc: all");
}

static void comparing_survives_every_failed_allocation(void **state)
{
    bool  done = false;
    world w;

    (void)state;
    world_open(&w, HEAD DOC("user", "viewer"), HEAD DOC("user", "viewer - banned"));
    for (size_t n = 0; !done; n++) {
        failing_memory memory = fail_after(n);
        lic_memory     counted;
        lic_arena      arena;
        lic_unlike     found;

        lic_memory_init(&counted, &memory.allocator, SIZE_MAX);
        lic_arena_init(&arena, &counted);
        done = lic_find_unlike(&arena, w.before, w.after, &found);
        assert_true(done || found.definition_count == 0);
        lic_arena_free(&arena);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_alike_is_alike_wherever_it_stands),
        cmocka_unit_test(what_differs_makes_all_differ_that_need_it),
        cmocka_unit_test(a_difference_spreads_to_other_definitions),
        cmocka_unit_test(a_caveat_that_is_written_otherwise_makes_a_difference),
        cmocka_unit_test(what_one_schema_lacks_is_not_alike),
        cmocka_unit_test(a_name_that_a_type_gets_makes_the_arrows_to_it_differ),
        cmocka_unit_test(comparing_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
