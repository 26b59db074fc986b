/* core/eval/search.c: what it tells is what eval.c tells, on both sides of every limit at which it gives up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check_world.h"

#include <stdio.h>

#define UNIONS                                                                       \
    "definition user {}\ndefinition bot {}\n"                                        \
    "definition group {\n relation member: user | group#member\n}\n"                 \
    "definition shelf {\n relation owner: user\n}\n"                                 \
    "definition folder {\n relation parent: folder | shelf\n relation owner: user\n" \
    " relation viewer: user | user:* | group#member\n permission edit = owner\n"     \
    " permission all = edit + nil\n"                                                 \
    " permission view = all + (viewer + parent->view)%s\n}\n"

/* The same permissions twice: as unions, and with an exclusion of nobody, which search.c leaves to eval.c. */
typedef struct pair {
    check_world unions;
    check_world mixed;
} pair;

static void pair_open(pair *p)
{
    char schema[1024];

    snprintf(schema, sizeof schema, UNIONS, "");
    assert_true(check_world_open(&p->unions, NULL, schema));
    snprintf(schema, sizeof schema, UNIONS, " - nil");
    assert_true(check_world_open(&p->mixed, NULL, schema));
}

static void pair_close(pair *p)
{
    check_world_close(&p->unions);
    check_world_close(&p->mixed);
}

/* The form's question marks become numbers: the first `number`, the second `next`. */
static void pair_write(pair *p, const char *form, int number, int next)
{
    char   line[128];
    size_t size = 0;

    for (; *form != 0; form++) {
        size += (size_t)(*form == '?' ? snprintf(line + size, sizeof line - size, "%d", number)
                                      : snprintf(line + size, sizeof line - size, "%c", *form));
        if (*form == '?')
            number = next;
        assert_true(size < sizeof line);
    }
    assert_true(check_world_write(&p->unions, line));
    assert_true(check_world_write(&p->mixed, line));
}

static void pair_ask(pair *p, const char *question, answer expected)
{
    assert_int_equal(check_world_ask(&p->unions, question), expected);
    assert_int_equal(check_world_ask(&p->mixed, question), expected);
}

static void an_answer_does_not_depend_on_how_many_groups_there_are(void **state)
{
    char question[128];
    pair p;

    (void)state;
    pair_open(&p);
    for (int i = 0; i < 140; i++) {
        pair_write(&p, "folder:f#viewer@group:g?#member", i, 0);
        pair_write(&p, "group:g?#member@user:u?", i, i);
        snprintf(question, sizeof question, "folder:f#view@user:u%d", i);
        pair_ask(&p, question, ANSWER_YES);
        pair_ask(&p, "folder:f#view@user:outsider", ANSWER_NO);
    }
    pair_close(&p);
}

static void an_answer_does_not_depend_on_how_many_members_there_are(void **state)
{
    char question[128];
    pair p;

    (void)state;
    pair_open(&p);
    pair_write(&p, "folder:f#viewer@group:g#member", 0, 0);
    for (int i = 0; i < 260; i++) {
        pair_write(&p, "group:g#member@user:u?", i, 0);
        snprintf(question, sizeof question, "folder:f#view@user:u%d", i);
        pair_ask(&p, question, ANSWER_YES);
        pair_ask(&p, "folder:f#view@user:u0", ANSWER_YES);
        pair_ask(&p, "folder:f#view@user:outsider", ANSWER_NO);
    }
    pair_write(&p, "folder:f#viewer@user:*", 0, 0);
    pair_ask(&p, "folder:f#view@user:outsider", ANSWER_YES);
    pair_ask(&p, "folder:f#view@bot:b", ANSWER_NO);
    pair_close(&p);
}

/* At every depth, from every distance: found by the chain, found by a group, nowhere. */
static void the_depth_that_an_answer_takes_is_the_same(void **state)
{
    static const char *const subjects[] = { "user:top", "user:member", "user:outsider", "folder:f9#owner" };
    char                     question[128];
    pair                     p;

    (void)state;
    pair_open(&p);
    for (int i = 0; i < 9; i++)
        pair_write(&p, "folder:f?#parent@folder:f?", i, i + 1);
    pair_write(&p, "folder:f9#owner@user:top", 0, 0);
    pair_write(&p, "folder:f5#viewer@group:a#member", 0, 0);
    pair_write(&p, "group:a#member@group:b#member", 0, 0);
    pair_write(&p, "group:b#member@user:member", 0, 0);
    for (uint32_t depth = 1; depth <= 14; depth++)
        for (int from = 0; from <= 9; from++)
            for (size_t s = 0; s < sizeof subjects / sizeof *subjects; s++) {
                p.unions.limits.max_depth = p.mixed.limits.max_depth = depth;
                snprintf(question, sizeof question, "folder:f%d#view@%s", from, subjects[s]);
                assert_int_equal(check_world_ask(&p.unions, question), check_world_ask(&p.mixed, question));
            }
    pair_close(&p);
}

static void a_goal_that_is_the_subject_is_found(void **state)
{
    pair p;

    (void)state;
    pair_open(&p);
    pair_write(&p, "folder:a#parent@folder:b", 0, 0);
    pair_write(&p, "folder:b#viewer@group:g#member", 0, 0);
    pair_ask(&p, "folder:a#view@folder:a#view", ANSWER_YES);
    pair_ask(&p, "folder:a#view@folder:a#owner", ANSWER_YES);
    pair_ask(&p, "folder:a#view@folder:b#edit", ANSWER_YES);
    pair_ask(&p, "folder:a#view@group:g#member", ANSWER_YES);
    pair_ask(&p, "folder:a#view@group:h#member", ANSWER_NO);
    pair_ask(&p, "folder:b#view@folder:a#view", ANSWER_NO);
    pair_close(&p);
}

static void an_arrow_onto_a_type_without_the_name_leads_nowhere(void **state)
{
    pair p;

    (void)state;
    pair_open(&p);
    pair_write(&p, "folder:a#parent@shelf:s", 0, 0);
    pair_write(&p, "shelf:s#owner@user:u", 0, 0);
    pair_ask(&p, "folder:a#view@user:u", ANSWER_NO);
    pair_write(&p, "folder:a#parent@folder:b", 0, 0);
    pair_write(&p, "folder:b#owner@user:u", 0, 0);
    pair_ask(&p, "folder:a#view@user:u", ANSWER_YES);
    pair_close(&p);
}

static void folders_in_a_circle_hold_whoever_one_of_them_holds(void **state)
{
    pair p;

    (void)state;
    pair_open(&p);
    pair_write(&p, "folder:a#parent@folder:b", 0, 0);
    pair_write(&p, "folder:b#parent@folder:a", 0, 0);
    pair_write(&p, "folder:b#owner@user:u", 0, 0);
    pair_ask(&p, "folder:a#view@user:u", ANSWER_YES);
    assert_int_equal(check_world_ask(&p.unions, "folder:a#view@user:outsider"),
                     check_world_ask(&p.mixed, "folder:a#view@user:outsider"));
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_does_not_depend_on_how_many_groups_there_are),
        cmocka_unit_test(an_answer_does_not_depend_on_how_many_members_there_are),
        cmocka_unit_test(the_depth_that_an_answer_takes_is_the_same),
        cmocka_unit_test(a_goal_that_is_the_subject_is_found),
        cmocka_unit_test(an_arrow_onto_a_type_without_the_name_leads_nowhere),
        cmocka_unit_test(folders_in_a_circle_hold_whoever_one_of_them_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
