/* core/eval: what each operator, userset, wildcard and arrow gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check_world.h"

#include <stdio.h>

typedef struct expectation {
    const char *question;
    answer      expected;
} expectation;

static void expect(check_world *w, const expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const answer found = check_world_ask(w, rows[i].question);

        if (found != rows[i].expected)
            print_error("%s\n", rows[i].question);
        assert_int_equal(found, rows[i].expected);
    }
}

static void check_rows(const char *schema, const char *relationships, const expectation *rows, size_t count)
{
    check_world w;

    assert_true(check_world_open(&w, NULL, schema));
    assert_true(check_world_write(&w, relationships));
    expect(&w, rows, count);
    check_world_close(&w);
}

#define CHECK_ROWS(schema, relationships, rows) \
    check_rows((schema), (relationships), (rows), sizeof(rows) / sizeof *(rows))

#define CLUBS                                   \
    "definition person {}\n"                    \
    "definition club {\n"                       \
    "  relation member: person | club#member\n" \
    "  relation owner: person\n"                \
    "  permission all = member + owner\n"       \
    "  permission plain = member - owner\n"     \
    "}\n"

static void a_userset_is_in_itself_before_any_data_is_looked_at(void **state)
{
    static const expectation rows[] = {
        { "club:a#member@club:a#member", ANSWER_YES }, { "club:a#all@club:a#owner", ANSWER_YES },
        { "club:a#owner@club:a#all", ANSWER_NO },      { "club:a#plain@club:a#member", ANSWER_YES },
        { "club:a#plain@club:a#owner", ANSWER_NO },    { "club:a#member@club:b#member", ANSWER_NO },
        { "club:a#member@club:a", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS(CLUBS, "", rows); /* a occurs nowhere */
    CHECK_ROWS(CLUBS, "club:a#member@person:p", rows);
}

static void a_userset_is_one_opaque_element(void **state)
{
    static const expectation rows[] = {
        { "club:a#plain@club:a#member", ANSWER_YES }, /* though every member is an owner */
        { "club:a#plain@person:p", ANSWER_NO },        { "club:c#member@club:a#member", ANSWER_YES },
        { "club:c#member@club:b#member", ANSWER_YES }, { "club:c#member@club:a#owner", ANSWER_NO },
        { "club:c#member@club:a", ANSWER_NO },         { "club:c#member@person:p", ANSWER_YES },
        { "club:c#member@person:q", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS(CLUBS,
               "club:a#member@person:p\nclub:a#owner@person:p\nclub:c#member@club:b#member\n"
               "club:b#member@club:a#member",
               rows);
}

static void identity_is_found_at_arrow_targets_and_computed_names(void **state)
{
    static const expectation rows[] = {
        { "book:b#read@club:a#member", ANSWER_YES }, { "book:b#read@club:a#all", ANSWER_YES },
        { "book:b#read@club:a#owner", ANSWER_YES },  { "book:b#read@club:z#all", ANSWER_NO },
        { "book:b#read@book:b", ANSWER_NO },         { "book:b#none@book:b#none", ANSWER_YES },
        { "book:b#none@book:c#none", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS(CLUBS "definition book {\n relation club: club\n permission read = club->all\n permission none = nil\n}",
               "book:b#club@club:a", rows);
}

static void operators_are_plain_set_algebra(void **state)
{
    static const char *const names[] = { "sum", "both", "less", "less_or", "less_sum", "less_less" };
    check_world              w;
    char                     line[64];

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition user {}\n"
                                 "definition item {\n relation aaa: user\n relation bbb: user\n relation ccc: user\n"
                                 " permission sum = aaa + bbb\n permission both = aaa & bbb\n"
                                 " permission less = aaa - bbb\n permission less_or = (aaa - bbb) + ccc\n"
                                 " permission less_sum = aaa - (bbb + ccc)\n"
                                 " permission less_less = aaa - (aaa - bbb)\n}\n"));
    for (unsigned in = 0; in < 8; in++)
        for (unsigned bit = 0; bit < 3; bit++)
            if ((in >> bit & 1) != 0) {
                snprintf(line, sizeof line, "item:i%u#%c%c%c@user:u", in, 'a' + bit, 'a' + bit, 'a' + bit);
                assert_true(check_world_write(&w, line));
            }
    for (unsigned in = 0; in < 8; in++) {
        const bool a           = (in & 1) != 0;
        const bool b           = (in & 2) != 0;
        const bool c           = (in & 4) != 0;
        const bool expected[6] = { a || b, a && b, a && !b, (a && !b) || c, a && !(b || c), a && b };

        for (size_t i = 0; i < 6; i++) {
            snprintf(line, sizeof line, "item:i%u#%s@user:u", in, names[i]);
            assert_int_equal(check_world_ask(&w, line), expected[i] ? ANSWER_YES : ANSWER_NO);
        }
    }
    check_world_close(&w);
}

static void a_wildcard_holds_every_id_of_its_type_and_the_usersets_of_it(void **state)
{
    static const expectation rows[] = {
        { "book:pub#viewer@person:p", ANSWER_YES },       { "book:pub#viewer@person:never_seen", ANSWER_YES },
        { "book:pub#viewer@club:a", ANSWER_NO },          { "book:club#viewer@club:x", ANSWER_YES },
        { "book:club#viewer@club:x#member", ANSWER_YES }, { "book:club#viewer@person:p", ANSWER_NO },
        { "book:pub#some_pub@person:p", ANSWER_YES }, /* pub & some: the concrete ones */
        { "book:pub#some_pub@person:q", ANSWER_NO },      { "book:pub#pub_not_some@person:p", ANSWER_NO },
        { "book:pub#pub_not_some@person:q", ANSWER_YES }, { "book:pub#some_not_pub@person:p", ANSWER_NO },
        { "book:pub#pub_not_pub@person:q", ANSWER_NO },   { "book:pub#pub_not_pub@club:a", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS("definition person {}\n"
               "definition club {\n relation member: person\n}\n"
               "definition book {\n relation viewer: person:* | club:*\n relation some: person\n"
               " permission some_pub = viewer & some\n permission pub_not_some = viewer - some\n"
               " permission some_not_pub = some - viewer\n permission pub_not_pub = viewer - viewer\n}\n",
               "book:pub#viewer@person:*\nbook:pub#some@person:p\nbook:club#viewer@club:*", rows);
}

static void a_wildcard_ban_removes_persons_and_not_usersets(void **state)
{
    static const expectation rows[] = {
        { "book:b#read@club:a#member", ANSWER_YES },
        { "book:b#read@person:p", ANSWER_NO },
        { "book:b#viewer@person:p", ANSWER_YES },
    };

    (void)state;
    CHECK_ROWS(CLUBS "definition book {\n relation viewer: club#member\n relation banned: person:*\n"
                     " permission read = viewer - banned\n}\n",
               "book:b#viewer@club:a#member\nbook:b#banned@person:*\nclub:a#member@person:p", rows);
}

static void a_wildcard_shines_through_a_userset_of_a_permission(void **state)
{
    static const expectation rows[] = { { "book:b#viewer@person:anybody", ANSWER_YES },
                                        { "book:c#viewer@person:anybody", ANSWER_NO } };

    (void)state;
    CHECK_ROWS("definition person {}\n"
               "definition club {\n relation guest: person:*\n permission all = guest\n}\n"
               "definition book {\n relation viewer: club#all\n}\n",
               "book:b#viewer@club:a#all\nclub:a#guest@person:*", rows);
}

static void a_relation_finds_only_shapes_that_the_schema_allows(void **state)
{
    static const expectation rows[] = {
        { "note:n#view@bot:x", ANSWER_NO },     { "note:n#view@bot:y", ANSWER_NO },
        { "note:n#view@user:u", ANSWER_YES },   { "note:n#view@user:in_team", ANSWER_NO },
        { "note:n#near@user:boss", ANSWER_NO }, { "note:n#every@user:boss", ANSWER_YES },
        { "note:w#view@user:u", ANSWER_NO },
    };
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition user {}\ndefinition bot {}\n"
                                 "definition team {\n relation member: user | bot\n}\n"
                                 "definition note {\n relation viewer: user | user:* | bot | bot:* | team#member\n"
                                 " relation parent: note | team\n permission view = viewer\n}\n"));
    assert_true(check_world_write(&w, "note:n#viewer@bot:x\nnote:m#viewer@bot:*\nnote:n#viewer@user:u\n"
                                      "note:n#viewer@team:t#member\nteam:t#member@user:in_team\n"
                                      "note:n#parent@team:t\nnote:n#parent@note:up\nnote:w#viewer@user:*\n"
                                      "team:t#member@user:boss\nnote:up#viewer@user:boss"));
    assert_true(check_world_schema(&w, "definition user {}\ndefinition bot {}\n"
                                       "definition team {\n relation member: user\n permission viewer = member\n}\n"
                                       "definition note {\n relation viewer: user\n relation parent: note\n"
                                       " permission view = viewer\n permission near = parent->member\n"
                                       " permission every = parent.all(viewer)\n}\n"));
    expect(&w, rows, sizeof rows / sizeof *rows);
    check_world_close(&w);
}

static void a_row_without_caveat_or_expiration_is_not_found_where_one_is_demanded(void **state)
{
    static const expectation rows[] = { { "hall:h#inside@user:u", ANSWER_NO },
                                        { "hall:h#inside@user:v", ANSWER_NO },
                                        { "hall:h#guest@user:w", ANSWER_NO } };
    check_world              w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "use expiration\ncaveat open_hours(hour int) { hour >= 8 }\n"
                                 "definition user {}\n"
                                 "definition hall {\n relation visitor: user:* with open_hours\n"
                                 " relation guest: user with expiration\n permission inside = visitor + guest\n}\n"));
    assert_true(check_world_write(&w, "hall:h#visitor@user:*\nhall:h#guest@user:w"));
    expect(&w, rows, sizeof rows / sizeof *rows);
    check_world_close(&w);
}

static void an_arrow_looks_at_the_subjects_object_and_not_at_its_relation(void **state)
{
    static const expectation rows[] = {
        { "crate:c#lift@sailor:eli", ANSWER_YES }, { "crate:c#lift@sailor:noor", ANSWER_YES },
        { "crate:c#lift@sailor:far", ANSWER_NO }, /* mate of north's harbour */
        { "crate:c#every@sailor:eli", ANSWER_NO }, { "crate:c#every@sailor:sam", ANSWER_YES },
        { "crate:c#lost@sailor:eli", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS("definition sailor {}\n"
               "definition dock {\n relation harbour: dock\n relation mate: sailor\n permission board = mate\n}\n"
               "definition crate {\n relation at_dock: dock | dock#harbour | sailor\n"
               " permission lift = at_dock->board\n permission every = at_dock.all(board)\n"
               " permission lost = at_dock->nowhere\n}\n",
               "crate:c#at_dock@dock:north\ncrate:c#at_dock@dock:south#harbour\ndock:north#mate@sailor:eli\n"
               "dock:south#mate@sailor:noor\ndock:south#harbour@dock:off\ndock:off#mate@sailor:far\n"
               "dock:north#mate@sailor:sam\ndock:south#mate@sailor:sam",
               rows);
}

static void all_demands_every_target_and_at_least_one(void **state)
{
    static const expectation rows[] = {
        { "task:none#approved@person:both", ANSWER_NO },       { "task:one#approved@person:both", ANSWER_YES },
        { "task:one#approved@person:only_a", ANSWER_YES },     { "task:two#approved@person:both", ANSWER_YES },
        { "task:two#approved@person:only_a", ANSWER_NO },      { "task:odd#approved@person:both", ANSWER_NO },
        { "task:never_seen#approved@person:both", ANSWER_NO }, { "task:one#approved@club:a#member", ANSWER_YES },
        { "task:two#approved@club:a#member", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS(CLUBS "definition task {\n relation approver: club | person\n"
                     " permission approved = approver.all(member)\n}\n",
               "task:one#approver@club:a\ntask:two#approver@club:a\ntask:two#approver@club:b\n"
               "task:odd#approver@club:a\ntask:odd#approver@person:both\n" /* a type that lacks `member` */
               "club:a#member@person:both\nclub:b#member@person:both\nclub:a#member@person:only_a",
               rows);
}

static void nil_holds_nobody_and_self_the_object_alone(void **state)
{
    static const expectation rows[] = {
        { "user:tom#itself@user:tom", ANSWER_YES },
        { "user:tom#itself@user:amy", ANSWER_NO },
        { "user:tom#itself@user:tom#boss", ANSWER_NO },
        { "user:new#itself@user:new", ANSWER_YES },
        { "user:new#itself@user:newer", ANSWER_NO },
        { "user:new#itself@bot:new", ANSWER_NO },
        { "user:tom#either@user:tom", ANSWER_YES },
        { "user:tom#either@user:amy", ANSWER_YES },
        { "user:tom#not_self@user:amy", ANSWER_YES },
        { "user:tom#not_self@user:tom", ANSWER_NO },
        { "user:tom#nobody@user:tom", ANSWER_NO },
        { "user:tom#minus_nil@user:amy", ANSWER_YES },
        { "user:tom#itself@user:tom#itself", ANSWER_YES },
        { "bot:b#mine@user:amy", ANSWER_YES },
        { "bot:b#mine@user:tom", ANSWER_NO },
        { "bot:b#mine@bot:b", ANSWER_NO },
    };

    (void)state;
    CHECK_ROWS("use self\n"
               "definition user {\n relation boss: user\n permission itself = self\n permission either = boss + self\n"
               " permission not_self = (boss + self) - self\n permission nobody = nil\n"
               " permission minus_nil = boss - nil\n}\n"
               "definition bot {\n relation owner: user\n permission mine = owner->itself\n}\n",
               "user:tom#boss@user:amy\nuser:amy#boss@user:amy\nbot:b#owner@user:amy", rows);
}

static void an_exclusion_of_a_userset_from_an_arrow_takes_its_members(void **state)
{
    static const expectation rows[] = { { "file:f#read@user:p", ANSWER_YES }, { "file:f#read@user:q", ANSWER_NO } };

    (void)state;
    CHECK_ROWS("definition user {}\n"
               "definition org {\n relation staff: user\n relation parent: org\n"
               " permission all_staff = staff + parent->all_staff\n}\n"
               "definition file {\n relation org: org\n relation locked: org#staff\n"
               " permission read = org->all_staff - locked\n}\n",
               "org:hq#staff@user:p\norg:hq#staff@user:q\norg:lab#staff@user:q\norg:lab#parent@org:hq\n"
               "file:f#org@org:lab\nfile:f#locked@org:lab#staff",
               rows);
}

static void a_name_for_another_permission_answers_like_it(void **state)
{
    static const expectation rows[] = { { "note:c#wipe@user:u", ANSWER_YES },
                                        { "note:c#edit@user:u", ANSWER_YES },
                                        { "note:c#edit@user:v", ANSWER_NO },
                                        { "note:c#edit@note:c#wipe", ANSWER_YES },
                                        { "note:c#wipe@note:c#edit", ANSWER_NO } };

    (void)state;
    CHECK_ROWS(
        "definition user {}\n"
        "definition role {\n relation members: user\n}\n"
        "definition sys {\n relation admins: role#members\n permission root = admins\n}\n"
        "definition grp {\n relation sys: sys\n permission wipe = sys->root\n}\n"
        "definition note {\n relation parent: grp\n permission wipe = parent->wipe\n permission edit = wipe\n}\n",
        "note:c#parent@grp:g\ngrp:g#sys@sys:s\nsys:s#admins@role:r#members\nrole:r#members@user:u", rows);
}

static void a_ban_holds_within_an_intersection_with_a_wildcard(void **state)
{
    static const expectation rows[] = { { "stage:s#enter@fan:lou", ANSWER_NO },
                                        { "stage:s#enter@fan:max", ANSWER_YES },
                                        { "stage:s#enter@fan:none", ANSWER_NO } };

    (void)state;
    CHECK_ROWS("definition fan {}\n"
               "definition stage {\n relation crowd: fan:*\n relation barred: fan\n relation ticket: fan\n"
               " permission enter = (crowd - barred) & ticket\n}\n",
               "stage:s#crowd@fan:*\nstage:s#barred@fan:lou\nstage:s#ticket@fan:lou\nstage:s#ticket@fan:max", rows);
}

static void both_halves_of_an_intersection_with_an_arrow_count(void **state)
{
    static const expectation rows[] = { { "room:r1#decorate@renter:jo", ANSWER_NO },
                                        { "room:r2#decorate@renter:jo", ANSWER_YES },
                                        { "room:r3#decorate@renter:jo", ANSWER_NO } };

    (void)state;
    CHECK_ROWS("definition renter {}\n"
               "definition house {\n relation tenant: renter\n permission live = tenant\n}\n"
               "definition room {\n relation house: house\n relation painter: renter\n"
               " permission decorate = painter & house->live\n}\n",
               "room:r1#house@house:h1\nroom:r2#house@house:h1\nhouse:h1#tenant@renter:jo\nroom:r2#painter@renter:jo\n"
               "room:r3#painter@renter:jo",
               rows);
}

static void a_ban_in_the_only_parent_that_grants_denies(void **state)
{
    static const expectation before[] = { { "document:d1#all_view@user:alice", ANSWER_NO },
                                          { "document:d1#any_view@user:alice", ANSWER_YES },
                                          { "document:d1#none@user:alice", ANSWER_NO },
                                          { "document:d9#all_view@user:alice", ANSWER_NO } };
    static const expectation after[]  = { { "document:d1#any_view@user:alice", ANSWER_NO } };
    check_world              w;

    (void)state;
    assert_true(check_world_open(&w, NULL,
                                 "definition user {}\n"
                                 "definition folder {\n relation viewer: user\n relation blocked: user\n"
                                 " permission see = viewer - blocked\n}\n"
                                 "definition document {\n relation parent: folder\n"
                                 " permission all_view = parent.all(viewer)\n permission any_view = parent.any(see)\n"
                                 " permission none = nil\n}\n"));
    assert_true(check_world_write(&w, "folder:f1#viewer@user:alice\ndocument:d1#parent@folder:f1\n"
                                      "document:d1#parent@folder:f2\ndocument:d9#parent@folder:f9"));
    expect(&w, before, 4);
    assert_true(check_world_write(&w, "folder:f1#blocked@user:alice"));
    expect(&w, after, 1);
    assert_true(check_world_write(&w, "-folder:f1#blocked@user:alice"));
    expect(&w, before, 4);
    check_world_close(&w);
}

static void deeply_nested_operators_are_evaluated(void **state)
{
    static const expectation rows[] = { { "item:i#deep@user:u", ANSWER_YES }, { "item:i#deep@user:v", ANSWER_NO } };
    char                     schema[4096];
    size_t                   size = 0;

    (void)state;
    size += (size_t)snprintf(schema, sizeof schema,
                             "definition user {}\ndefinition item {\n relation own: user\n permission deep = ");
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(schema + size, sizeof schema - size, i % 2 == 0 ? "(own & " : "(nil + ");
    size += (size_t)snprintf(schema + size, sizeof schema - size, "own");
    for (int i = 0; i < 100; i++)
        size += (size_t)snprintf(schema + size, sizeof schema - size, ")");
    snprintf(schema + size, sizeof schema - size, "\n}\n");
    CHECK_ROWS(schema, "item:i#own@user:u", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_userset_is_in_itself_before_any_data_is_looked_at),
        cmocka_unit_test(a_userset_is_one_opaque_element),
        cmocka_unit_test(identity_is_found_at_arrow_targets_and_computed_names),
        cmocka_unit_test(operators_are_plain_set_algebra),
        cmocka_unit_test(a_wildcard_holds_every_id_of_its_type_and_the_usersets_of_it),
        cmocka_unit_test(a_wildcard_ban_removes_persons_and_not_usersets),
        cmocka_unit_test(a_wildcard_shines_through_a_userset_of_a_permission),
        cmocka_unit_test(a_relation_finds_only_shapes_that_the_schema_allows),
        cmocka_unit_test(a_row_without_caveat_or_expiration_is_not_found_where_one_is_demanded),
        cmocka_unit_test(an_arrow_looks_at_the_subjects_object_and_not_at_its_relation),
        cmocka_unit_test(all_demands_every_target_and_at_least_one),
        cmocka_unit_test(nil_holds_nobody_and_self_the_object_alone),
        cmocka_unit_test(an_exclusion_of_a_userset_from_an_arrow_takes_its_members),
        cmocka_unit_test(a_name_for_another_permission_answers_like_it),
        cmocka_unit_test(a_ban_holds_within_an_intersection_with_a_wildcard),
        cmocka_unit_test(both_halves_of_an_intersection_with_an_arrow_count),
        cmocka_unit_test(a_ban_in_the_only_parent_that_grants_denies),
        cmocka_unit_test(deeply_nested_operators_are_evaluated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
