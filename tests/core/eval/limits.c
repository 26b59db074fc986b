/* core/eval: depth, cycles, and what happens where steps, time or memory run out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "failing_memory.h"

#define GROUPS                                                                                              \
    "definition user {}\n"                                                                                  \
    "definition group {\n relation member: user | group#member\n}\n"                                        \
    "definition document {\n relation viewer: user | group#member\n relation banned: user | group#member\n" \
    " permission view = viewer\n permission only = viewer - banned\n permission both = viewer & banned\n}\n"

/* The form with its question marks replaced: the first by one number, the second by another. */
static void fill(char *line, size_t room, const char *form, int first, int second)
{
    size_t size = 0;

    for (int number = first; *form != 0; form++) {
        const int written = *form == '?' ? snprintf(line + size, room - size, "%d", number)
                                         : snprintf(line + size, room - size, "%c", *form);

        if (*form == '?')
            number = second;
        size += (size_t)written;
        assert_true(size < room);
    }
}

static void write_chain(check_world *w, const char *form, int first, int end)
{
    char line[128];

    for (int i = first; i < end; i++) {
        fill(line, sizeof line, form, i, i + 1);
        assert_true(check_world_write(w, line));
    }
}

static answer ask_number(check_world *w, const char *form, int number)
{
    char question[128];

    fill(question, sizeof question, form, number, number);
    return check_world_ask(w, question);
}

/* At some length the last goal is decided at the very moment when the stack of frames has to grow, and moves. */
static void an_answer_found_while_the_stack_grows_is_kept(void **state)
{
    static const char *const schemas[] = {
        "definition user {}\ndefinition folder {\n relation parent: folder\n relation next: folder\n"
        " relation own: user\n permission view = next->own + parent->view\n}\n",
        "definition user {}\ndefinition folder {\n relation parent: folder\n relation next: folder\n"
        " relation own: user | folder#own\n permission view = own + parent->view\n}\n",
    };

    (void)state;
    for (int s = 0; s < 2; s++)
        for (int length = 1; length < 45; length++) {
            check_world w;
            char        row[80];

            assert_true(check_world_open(&w, NULL, schemas[s]));
            write_chain(&w, "folder:f?#parent@folder:f?", 0, length);
            snprintf(row, sizeof row, "folder:f%d#next@folder:f%d\nfolder:f%d#own@user:u", length, length, length);
            assert_true(check_world_write(&w, row));
            assert_int_equal(check_world_ask(&w, "folder:f0#view@user:u"), ANSWER_YES);
            assert_int_equal(check_world_ask(&w, "folder:f0#view@user:v"), ANSWER_NO);
            check_world_close(&w);
        }
}

/* ------------------------------------------------------------------- depth */

/* The numbers of these tests were put to a running SpiceDB. */
static void arrows_reach_48_folders_far(void **state)
{
    check_world w;

    (void)state;
    assert_true(
        check_world_open(&w, NULL,
                         "definition user {}\ndefinition bot {}\n"
                         "definition folder {\n relation parent: folder\n relation viewer: user\n"
                         " permission view = viewer + parent->view\n permission rise = parent->rise + nil\n}\n"));
    write_chain(&w, "folder:f?#parent@folder:f?", 0, 60);
    assert_true(check_world_write(&w, "folder:f60#viewer@user:u"));
    assert_int_equal(ask_number(&w, "folder:f?#view@user:u", 60 - 48), ANSWER_YES);
    assert_int_equal(ask_number(&w, "folder:f?#view@user:u", 60 - 49), ANSWER_DEPTH);
    assert_int_equal(ask_number(&w, "folder:f?#view@user:nowhere", 60 - 48), ANSWER_NO);
    assert_int_equal(ask_number(&w, "folder:f?#view@user:nowhere", 60 - 49), ANSWER_DEPTH);
    /* a type that can't be reached gives up alike */
    assert_int_equal(check_world_ask(&w, "folder:f12#view@bot:b"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "folder:f11#view@bot:b"), ANSWER_DEPTH);
    /* identity is seen before the step to it */
    assert_int_equal(ask_number(&w, "folder:f0#rise@folder:f?#rise", 50), ANSWER_YES);
    assert_int_equal(ask_number(&w, "folder:f0#rise@folder:f?#rise", 51), ANSWER_DEPTH);
    check_world_close(&w);
}

static void usersets_reach_49_clubs_far(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition person {}\n"
                                 "definition club {\n relation member: person | club#member\n relation owner: person\n"
                                 " permission all = member + owner\n}\n"));
    write_chain(&w, "club:c?#member@club:c?#member", 0, 60);
    assert_true(check_world_write(&w, "club:c60#member@person:p"));
    assert_int_equal(ask_number(&w, "club:c?#member@person:p", 60 - 49), ANSWER_YES);
    assert_int_equal(ask_number(&w, "club:c?#member@person:p", 60 - 50), ANSWER_DEPTH);
    assert_int_equal(ask_number(&w, "club:c?#all@person:p", 60 - 48), ANSWER_YES);
    assert_int_equal(ask_number(&w, "club:c?#all@person:p", 60 - 49), ANSWER_DEPTH);
    assert_int_equal(ask_number(&w, "club:c0#member@club:c?#member", 50), ANSWER_YES);
    assert_int_equal(ask_number(&w, "club:c0#member@club:c?#member", 51), ANSWER_DEPTH);
    assert_int_equal(ask_number(&w, "club:c0#all@club:c?#member", 49), ANSWER_YES);
    assert_int_equal(ask_number(&w, "club:c0#all@club:c?#member", 50), ANSWER_DEPTH);
    check_world_close(&w);
}

/* Permissions a0 = a1, ..., a59 = a60, a60 = boss; those called b between them are sums. */
static void names_cost_one_each_and_aliases_nothing_for_another_type(void **state)
{
    char        schema[8192];
    size_t      size = 0;
    check_world w;

    (void)state;
    size += (size_t)snprintf(schema, sizeof schema,
                             "definition robot {}\ndefinition user {\n relation boss: user | robot\n");
    for (int i = 0; i < 60; i++)
        size +=
            (size_t)snprintf(schema + size, sizeof schema - size,
                             " permission aa%02d = aa%02d\n permission bb%02d = bb%02d + nil\n", i, i + 1, i, i + 1);
    snprintf(schema + size, sizeof schema - size, " permission aa60 = boss\n permission bb60 = boss\n}\n");
    assert_true(check_world_open(&w, NULL, schema));
    assert_true(check_world_write(&w, "user:x#boss@user:y\nuser:x#boss@robot:r"));
    assert_int_equal(check_world_ask(&w, "user:x#aa00@robot:r"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "user:x#aa12@user:y"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "user:x#aa11@user:y"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "user:x#aa00@user:x#aa50"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "user:x#aa00@user:x#aa51"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "user:x#bb11@robot:r"), ANSWER_YES); /* bb60 is an alias of boss */
    assert_int_equal(check_world_ask(&w, "user:x#bb10@robot:r"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "user:x#bb12@user:y"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "user:x#bb11@user:y"), ANSWER_DEPTH);
    check_world_close(&w);
}

static void operators_and_parentheses_cost_nothing(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition user {}\n"
                                 "definition item {\n relation own: user\n"
                                 " permission deep = nil + (own & (own + (own - (nil & own))))\n}\n"));
    assert_true(check_world_write(&w, "item:i#own@user:u"));
    w.limits.max_depth = 2;
    assert_int_equal(check_world_ask(&w, "item:i#deep@user:u"), ANSWER_YES);
    w.limits.max_depth = 1;
    assert_int_equal(check_world_ask(&w, "item:i#deep@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "item:i#own@user:u"), ANSWER_YES);
    check_world_close(&w);
}

static void a_short_path_is_found_beside_one_that_is_too_long(void **state)
{
    static const char *const orders[] = { "zone:z0#viewer@zone:s1#viewer\nzone:s1#viewer@user:e",
                                          "zone:z0#viewer@zone:a1#viewer\nzone:a1#viewer@user:e" };

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (int first = 0; first < 2; first++) {
            check_world w;

            assert_true(check_world_open(&w, NULL,
                                         "definition user {}\n"
                                         "definition zone {\n relation viewer: user | zone#viewer\n}\n"));
            if (first == 0)
                assert_true(check_world_write(&w, orders[i]));
            write_chain(&w, "zone:z?#viewer@zone:z?#viewer", 0, 9);
            assert_true(check_world_write(&w, "zone:z9#viewer@user:e\nzone:z9#viewer@user:far"));
            if (first == 1)
                assert_true(check_world_write(&w, orders[i]));
            for (uint32_t depth = 1; depth <= 12; depth++) {
                w.limits.max_depth = depth;
                assert_int_equal(check_world_ask(&w, "zone:z0#viewer@user:e"), depth >= 2 ? ANSWER_YES : ANSWER_DEPTH);
                assert_int_equal(check_world_ask(&w, "zone:z0#viewer@user:far"),
                                 depth >= 10 ? ANSWER_YES : ANSWER_DEPTH);
                assert_int_equal(check_world_ask(&w, "zone:z0#viewer@user:nobody"),
                                 depth >= 10 ? ANSWER_NO : ANSWER_DEPTH);
            }
            check_world_close(&w);
        }
}

static void giving_up_below_is_never_taken_for_an_answer(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    write_chain(&w, "group:g?#member@group:g?#member", 0, 60);
    assert_true(check_world_write(&w, "group:g60#member@user:u\ngroup:g60#member@user:v\n"
                                      "document:d#viewer@user:u\ndocument:d#banned@group:g0#member\n"
                                      "document:e#viewer@group:g0#member\ndocument:e#banned@user:u"));
    assert_int_equal(check_world_ask(&w, "document:d#only@user:u"), ANSWER_DEPTH); /* the ban may be down there */
    assert_int_equal(check_world_ask(&w, "document:d#only@user:v"), ANSWER_NO);    /* no base: no */
    assert_int_equal(check_world_ask(&w, "document:d#both@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "document:d#both@user:v"), ANSWER_NO);    /* one side denies for certain */
    assert_int_equal(check_world_ask(&w, "document:e#only@user:u"), ANSWER_DEPTH); /* a failing base stays one */
    assert_int_equal(check_world_ask(&w, "document:e#both@user:v"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "document:e#view@user:u"), ANSWER_DEPTH);
    check_world_close(&w);
}

/* ------------------------------------------------------------------ cycles */

static void a_cycle_adds_no_members(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    assert_true(check_world_write(&w, "group:a#member@group:b#member\ngroup:b#member@group:a#member\n"
                                      "group:b#member@user:p\ngroup:self#member@group:self#member\n"
                                      "document:d#viewer@group:a#member\ndocument:s#viewer@group:self#member\n"
                                      "document:d#banned@group:b#member\ndocument:e#viewer@user:p\n"
                                      "document:e#banned@group:a#member\ndocument:f#viewer@user:q\n"
                                      "document:f#banned@group:a#member"));
    assert_int_equal(check_world_ask(&w, "group:a#member@user:p"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "group:a#member@user:q"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "group:b#member@user:q"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "group:a#member@group:a#member"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "group:a#member@group:b#member"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "group:a#member@group:c#member"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "document:d#view@user:p"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "document:d#view@user:q"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "document:s#view@user:q"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "document:d#only@user:p"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "document:e#only@user:p"), ANSWER_NO); /* the ban is reached by a cycle */
    assert_int_equal(check_world_ask(&w, "document:f#only@user:q"), ANSWER_YES);
    check_world_close(&w);
}

#define RINGS                                                                              \
    "definition user {}\n"                                                                 \
    "definition node {\n relation next: node\n relation own: user\n relation stop: user\n" \
    " permission reach = own + next->reach\n"                                              \
    " permission every = own + next.all(every)\n"                                          \
    " permission open = reach - stop\n"                                                    \
    " permission odd = own - next->odd\n"                                                  \
    " permission safe = (own - next->odd) & stop\n"                                        \
    " permission rest = own + next->safe\n}\n"

static void arrows_around_a_ring_find_what_is_there(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, RINGS));
    write_chain(&w, "node:n?#next@node:n?", 0, 9);
    assert_true(check_world_write(&w, "node:n9#next@node:n0\nnode:n5#own@user:u\nnode:n2#stop@user:u"));
    assert_int_equal(check_world_ask(&w, "node:n6#reach@user:u"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "node:n6#reach@user:v"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "node:n6#every@user:u"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "node:n6#every@user:v"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "node:n2#open@user:u"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "node:n3#open@user:u"), ANSWER_YES);
    check_world_close(&w);
}

static void a_cycle_through_an_exclusion_has_no_answer(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, RINGS));
    assert_true(check_world_write(&w, "node:a#next@node:b\nnode:b#next@node:a\nnode:a#own@user:u\nnode:b#own@user:u\n"
                                      "node:a#own@user:v\nnode:s#next@node:s\nnode:s#own@user:u\nnode:z#own@user:u\n"
                                      "node:c#next@node:s\nnode:c#next@node:z\nnode:c#own@user:u\n"
                                      "node:d#next@node:s\nnode:d#own@user:u"));
    assert_int_equal(check_world_ask(&w, "node:a#odd@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "node:s#odd@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "node:a#odd@user:v"), ANSWER_YES); /* b's base denies, the circle is open */
    assert_int_equal(check_world_ask(&w, "node:b#odd@user:v"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "node:a#odd@user:w"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "node:c#odd@user:u"), ANSWER_NO); /* z decides, whatever s is */
    assert_int_equal(check_world_ask(&w, "node:d#odd@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "node:d#safe@user:u"), ANSWER_NO); /* the other side denies */
    assert_int_equal(check_world_ask(&w, "node:d#rest@user:u"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "node:d#rest@user:w"), ANSWER_NO);
    check_world_close(&w);
}

/* The evaluator that goes depth first might see either branch first; the rules have only one reading. */
static void a_cut_cycle_never_turns_into_a_grant(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition user {}\n"
                                 "definition node {\n relation own: user\n relation peer: node\n"
                                 " permission aaa = ggg + (own - ggg)\n permission ggg = peer->aaa\n"
                                 " permission bbb = (own - hhh) + hhh\n permission hhh = peer->bbb\n}\n"));
    assert_true(check_world_write(&w, "node:n#peer@node:n\nnode:n#own@user:u"));
    assert_int_equal(check_world_ask(&w, "node:n#aaa@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "node:n#bbb@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "node:n#ggg@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "node:n#aaa@user:v"), ANSWER_NO);
    check_world_close(&w);
}

static void a_ring_longer_than_the_depth_limit_gives_up(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    write_chain(&w, "group:g?#member@group:g?#member", 0, 99);
    assert_true(check_world_write(&w, "group:g99#member@group:g0#member\ngroup:g40#member@user:u"));
    assert_int_equal(check_world_ask(&w, "group:g0#member@user:u"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "group:g50#member@user:u"), ANSWER_DEPTH);
    assert_int_equal(check_world_ask(&w, "group:g0#member@user:v"), ANSWER_DEPTH);
    w.limits.max_depth = 101;
    assert_int_equal(check_world_ask(&w, "group:g0#member@user:v"), ANSWER_NO);
    assert_int_equal(check_world_ask(&w, "group:g50#member@user:u"), ANSWER_YES);
    check_world_close(&w);
}

static void groups_that_all_hold_each_other_deny_an_outsider(void **state)
{
    char        line[64];
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    for (int i = 0; i < 80; i++)
        for (int j = 0; j < 80; j++) {
            snprintf(line, sizeof line, "group:g%d#member@group:g%d#member", i, j);
            assert_true(check_world_write(&w, line));
        }
    assert_true(check_world_write(&w, "group:g79#member@user:u"));
    assert_int_equal(check_world_ask(&w, "group:g0#member@user:u"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "group:g0#member@user:v"), ANSWER_NO);
    assert_true(w.steps < 100000);
    check_world_close(&w);
}

/* -------------------------------------------------------------- large data */

static void a_ladder_of_diamonds_is_walked_once(void **state)
{
    char        lines[512];
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    for (int i = 0; i < 40; i++) {
        snprintf(lines, sizeof lines,
                 "group:l%d#member@group:l%d#member\ngroup:l%d#member@group:r%d#member\n"
                 "group:r%d#member@group:l%d#member\ngroup:r%d#member@group:r%d#member\n",
                 i, i + 1, i, i + 1, i, i + 1, i, i + 1);
        assert_true(check_world_write(&w, lines));
    }
    assert_true(check_world_write(&w, "document:c#viewer@group:l0#member\ngroup:r40#member@user:u"));
    assert_int_equal(check_world_ask(&w, "document:c#view@user:outsider"), ANSWER_NO);
    assert_true(w.steps < 1000); /* 2^40 paths */
    assert_int_equal(check_world_ask(&w, "document:c#view@user:u"), ANSWER_YES);
    check_world_close(&w);
}

static void a_chain_of_100000_groups_gives_up_at_once(void **state)
{
    char        line[64];
    check_world w;
    size_t      size = 0;
    size_t      room = (size_t)100000 * 64;
    char       *text = malloc(room);

    (void)state;
    assert_non_null(text);
    assert_true(check_world_open(&w, NULL, GROUPS));
    for (int i = 0; i < 100000; i++)
        size += (size_t)snprintf(text + size, room - size, "group:g%d#member@group:g%d#member\n", i, i + 1);
    assert_true(check_world_write(&w, text));
    free(text);
    snprintf(line, sizeof line, "group:g0#member@user:u");
    assert_int_equal(check_world_ask(&w, line), ANSWER_DEPTH);
    assert_true(w.steps < 200);
    check_world_close(&w);
}

static void an_outsider_of_a_large_group_costs_one_probe(void **state)
{
    size_t      size = 0;
    size_t      room = (size_t)50000 * 64;
    char       *text = malloc(room);
    check_world w;

    (void)state;
    assert_non_null(text);
    assert_true(check_world_open(&w, NULL, GROUPS));
    for (int i = 0; i < 50000; i++)
        size += (size_t)snprintf(text + size, room - size, "group:big#member@user:m%d\n", i);
    assert_true(check_world_write(&w, text));
    free(text);
    assert_true(check_world_write(&w, "document:c#viewer@group:big#member"));
    assert_int_equal(check_world_ask(&w, "document:c#view@user:outsider"), ANSWER_NO);
    assert_true(w.steps <= 2);
    assert_int_equal(check_world_ask(&w, "document:c#view@user:m49999"), ANSWER_YES);
    check_world_close(&w);
}

static void usersets_of_a_leaf_that_holds_no_such_type_are_not_walked(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition user {}\ndefinition bot {}\n"
                                 "definition group {\n relation member: user\n}\n"
                                 "definition document {\n relation viewer: bot | group#member\n}\n"));
    write_chain(&w, "document:c#viewer@group:g?#member", 0, 500);
    assert_int_equal(check_world_ask(&w, "document:c#viewer@bot:b"), ANSWER_NO);
    assert_int_equal(w.steps, 0);
    w.limits.max_depth = 1; /* where the rows would fail, they do */
    assert_int_equal(check_world_ask(&w, "document:c#viewer@bot:b"), ANSWER_DEPTH);
    check_world_close(&w);
}

/* ------------------------------------------------------- steps, time, memory */

/* The rows are skipped only where there is depth to walk them, so what is remembered of that needs as much. */
static void rows_that_were_skipped_are_not_skipped_for_a_goal_that_could_not_walk_them(void **state)
{
    check_world w;
    check_bulk  bulk;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "use self\ndefinition user {}\ndefinition group {\n relation boss: user\n}\n"
                                 "definition doc {\n relation owner: group#boss\n permission view = self - owner\n}\n"
                                 "definition shelf {\n relation holds: doc\n permission view = holds->view\n}\n"
                                 "definition room {\n relation holds: shelf\n permission view = holds->view\n}\n"));
    assert_true(check_world_write(&w, "room:r#holds@shelf:s\nshelf:s#holds@doc:d\ndoc:d#owner@group:g#boss"));
    w.limits.max_depth = 4;
    assert_int_equal(check_world_ask(&w, "shelf:s#view@doc:d"), ANSWER_YES);
    assert_int_equal(check_world_ask(&w, "room:r#view@doc:d"), ANSWER_DEPTH);
    write_chain(&w, "shelf:s?#holds@doc:d?", 1, 30);
    check_bulk_open(&bulk, &w);
    for (int i = 0; i < 30; i++) { /* until a memo is kept */
        char question[64];

        fill(question, sizeof question, "shelf:s?#view@doc:d", i, 0);
        check_bulk_ask(&bulk, question);
    }
    assert_int_equal(check_bulk_ask(&bulk, "shelf:s#view@doc:d"), ANSWER_YES);
    assert_int_equal(check_bulk_ask(&bulk, "room:r#view@doc:d"), ANSWER_DEPTH);
    check_bulk_close(&bulk);
    check_world_close(&w);
}

static void the_step_limit_is_an_error_one_step_over_and_an_answer_at_the_limit(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    write_chain(&w, "document:c#viewer@group:w?#member", 0, 500);
    assert_int_equal(check_world_ask(&w, "document:c#viewer@user:outsider"), ANSWER_NO);
    assert_int_equal(w.steps, 500);
    w.limits.max_steps = 500;
    assert_int_equal(check_world_ask(&w, "document:c#viewer@user:outsider"), ANSWER_NO);
    w.limits.max_steps = 499;
    assert_int_equal(check_world_ask(&w, "document:c#viewer@user:outsider"), ANSWER_STEPS);
    check_world_close(&w);
}

static void the_fixpoint_counts_steps_too(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, GROUPS));
    write_chain(&w, "group:g?#member@group:g?#member", 0, 40);
    assert_true(check_world_write(&w, "group:g40#member@group:g0#member"));
    assert_int_equal(check_world_ask(&w, "group:g0#member@user:outsider"), ANSWER_NO);
    for (uint64_t steps = w.steps; steps-- > 1;) {
        w.limits.max_steps = steps;
        assert_int_equal(check_world_ask(&w, "group:g0#member@user:outsider"), ANSWER_STEPS);
    }
    check_world_close(&w);
}

/* An arrow is walked anew wherever it stands: a hundred times all parents. */
static void a_check_that_takes_too_long_is_an_error(void **state)
{
    char        schema[8192];
    size_t      size = (size_t)snprintf(schema, sizeof schema,
                                        "definition user {}\ndefinition item {\n relation parent: item\n"
                                             " relation own: user\n permission much = own");
    check_world w;

    (void)state;
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(schema + size, sizeof schema - size, " + parent->own");
    snprintf(schema + size, sizeof schema - size, "\n}\n");
    assert_true(check_world_open(&w, NULL, schema));
    write_chain(&w, "item:i#parent@item:p?", 0, 10000);
    w.limits.max_steps  = 1000000000;
    w.limits.timeout_ms = 1;
    assert_int_equal(check_world_ask(&w, "item:i#much@user:u"), ANSWER_DEADLINE);
    w.limits.timeout_ms = 60000;
    assert_int_equal(check_world_ask(&w, "item:i#much@user:u"), ANSWER_NO);
    assert_true(w.steps > 1000000);
    check_world_close(&w);
}

/* Depth first with a memo, a fixpoint, and an answer: each must hold under every failure. */
static void a_check_survives_every_failed_allocation(void **state)
{
    static const struct {
        const char *question;
        answer      expected;
    } questions[] = { { "document:d#view@user:far", ANSWER_YES },
                      { "document:d#view@user:nobody", ANSWER_NO },
                      { "document:e#only@user:u", ANSWER_NO },
                      { "document:e#only@user:nobody", ANSWER_NO },
                      { "document:deep#view@user:u", ANSWER_DEPTH } };

    (void)state;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        for (int from_there_on = 0; from_there_on < 2; from_there_on++)
            for (size_t n = 0;; n++) {
                failing_memory source = from_there_on ? fail_from(SIZE_MAX) : fail_after(SIZE_MAX);
                check_world    w;
                answer         found;
                size_t         failures;

                assert_true(check_world_open(&w, &source.allocator, GROUPS));
                write_chain(&w, "group:g?#member@group:g?#member", 0, 45);
                write_chain(&w, "group:g0#member@group:x?#member", 0, 40);
                write_chain(&w, "group:deep?#member@group:deep?#member", 0, 60);
                assert_true(check_world_write(
                    &w, "group:g45#member@user:far\ngroup:ra#member@group:rb#member\ngroup:rb#member@group:ra#member\n"
                        "group:rb#member@user:u\ndocument:d#viewer@group:g0#member\ndocument:e#viewer@user:u\n"
                        "document:e#banned@group:ra#member\ndocument:e#viewer@group:ra#member\n"
                        "document:deep#viewer@group:deep0#member"));
                source.counts->fail_first = source.counts->calls + n;
                source.counts->fail_end   = from_there_on ? SIZE_MAX : source.counts->fail_first + 1;
                found                     = check_world_ask(&w, questions[i].question);
                failures                  = source.counts->failures;
                assert_true(failures > 0 ? found == ANSWER_MEMORY : found == questions[i].expected);
                source.counts->fail_first = SIZE_MAX;
                source.counts->fail_end   = SIZE_MAX;
                assert_int_equal(check_world_ask(&w, questions[i].question), questions[i].expected);
                check_world_close(&w);
                assert_int_equal(source.counts->live_blocks, 0);
                if (failures == 0)
                    break;
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_found_while_the_stack_grows_is_kept),
        cmocka_unit_test(arrows_reach_48_folders_far),
        cmocka_unit_test(usersets_reach_49_clubs_far),
        cmocka_unit_test(names_cost_one_each_and_aliases_nothing_for_another_type),
        cmocka_unit_test(operators_and_parentheses_cost_nothing),
        cmocka_unit_test(a_short_path_is_found_beside_one_that_is_too_long),
        cmocka_unit_test(giving_up_below_is_never_taken_for_an_answer),
        cmocka_unit_test(a_cycle_adds_no_members),
        cmocka_unit_test(arrows_around_a_ring_find_what_is_there),
        cmocka_unit_test(a_cycle_through_an_exclusion_has_no_answer),
        cmocka_unit_test(a_cut_cycle_never_turns_into_a_grant),
        cmocka_unit_test(a_ring_longer_than_the_depth_limit_gives_up),
        cmocka_unit_test(groups_that_all_hold_each_other_deny_an_outsider),
        cmocka_unit_test(a_ladder_of_diamonds_is_walked_once),
        cmocka_unit_test(a_chain_of_100000_groups_gives_up_at_once),
        cmocka_unit_test(an_outsider_of_a_large_group_costs_one_probe),
        cmocka_unit_test(usersets_of_a_leaf_that_holds_no_such_type_are_not_walked),
        cmocka_unit_test(rows_that_were_skipped_are_not_skipped_for_a_goal_that_could_not_walk_them),
        cmocka_unit_test(the_step_limit_is_an_error_one_step_over_and_an_answer_at_the_limit),
        cmocka_unit_test(the_fixpoint_counts_steps_too),
        cmocka_unit_test(a_check_that_takes_too_long_is_an_error),
        cmocka_unit_test(a_check_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
