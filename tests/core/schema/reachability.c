/* core/schema/reachability.c: who leads to a target, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "check_world.h"
#include "schema/reachability.h"

static char said[4096];

static void say(const char *text)
{
    assert_true(strlen(said) + strlen(text) < sizeof said);
    strcat(said, text);
}

static void say_name(const lic_program *program, lic_rel relation)
{
    const lic_relation *r = &program->relations[relation];
    char                name[128];

    snprintf(name, sizeof name, "%.*s#%.*s", LIC_STR_ARG(program->definitions[r->definition].name),
             LIC_STR_ARG(r->name));
    say(name);
}

/* "doc#viewer>doc#view" is a name, "[" and the rows if it leads by rows; "?" what is open, "0" what costs nothing. */
static void say_entry(const lic_program *program, const lic_reachability *r, lic_rel from, const lic_entry *entry)
{
    say(said[0] == '\0' ? "" : " ");
    say_name(program, from);
    say(entry->open ? ">?" : ">");
    say_name(program, r->relations[entry->to].relation);
    if (entry->rows != LIC_NO_REL) {
        say("[");
        say_name(program, entry->rows);
        say("]");
    }
    if (entry->cost == 0)
        say("0");
}

/* All entries, from the target on; then what is final, with its depth, and where `self` stands. */
static const char *reach(check_world *w, const char *definition, const char *target, const char *subject)
{
    const lic_program *program = w->program;
    const uint32_t     d       = lic_program_definition(program, (lic_str){ definition, strlen(definition) });
    const lic_rel      t       = lic_program_relation(program, d, (lic_str){ target, strlen(target) });
    const uint32_t     s       = lic_program_definition(program, (lic_str){ subject, strlen(subject) });
    lic_reachability   r;
    lic_arena          arena;
    char               depth[16];

    lic_arena_init(&arena, &w->memory);
    assert_true(lic_reachability_find(&arena, program, t, s, &r));
    said[0] = '\0';
    for (size_t i = 0; i < r.count; i++)
        for (uint32_t e = r.relations[i].first_entry; e != LIC_NO_ENTRY; e = r.entries[e].next)
            say_entry(program, &r, r.relations[i].relation, &r.entries[e]);
    say(" final:");
    for (size_t i = 0; i < r.count; i++) {
        if (r.relations[i].is_final) {
            say(" ");
            say_name(program, r.relations[i].relation);
            snprintf(depth, sizeof depth, "=%d", (int)r.relations[i].depth);
            say(depth);
        }
        if (r.relations[i].self != LIC_SELF_NONE)
            say(r.relations[i].self == LIC_SELF_OPEN ? "(self?)" : "(self)");
    }
    lic_arena_free(&arena);
    return said;
}

static const char SCHEMA[] = "use self\n"
                             "definition user {}\n"
                             "definition robot {}\n"
                             "definition group {\n"
                             "  relation member: user | group#member\n"
                             "  permission active = member\n"
                             "}\n"
                             "definition folder {\n"
                             "  relation parent: folder\n"
                             "  relation viewer: user | group#active\n"
                             "  permission view = viewer + parent->view\n"
                             "}\n"
                             "definition doc {\n"
                             "  relation parent: folder | group\n"
                             "  relation owner: user\n"
                             "  relation banned: user\n"
                             "  relation robot: robot\n"
                             "  permission view = owner + parent->view\n"
                             "  permission read = view - banned\n"
                             "  permission both = owner & banned\n"
                             "  permission every = parent.all(view)\n"
                             "  permission own = self\n"
                             "  permission other = self - owner\n"
                             "}\n";

static void entries_lead_from_whom_the_subject_may_be_in_to_the_target(void **state)
{
    static const struct {
        const char *target;
        const char *subject;
        const char *expected;
    } cases[] = {
        { "owner", "user", " final: doc#owner=0" },
        { "robot", "user", " final:" }, /* no user is ever found there */
        { "both", "user", "doc#owner>?doc#both final: doc#both=0 doc#owner=-1" },
        { "view", "robot", " final:" },
        { "own", "doc", " final: doc#own=0(self)" },
        { "other", "doc", " final: doc#other=0(self?)" },
    };
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(reach(&w, "doc", cases[i].target, cases[i].subject), cases[i].expected);
    check_world_close(&w);
}

static void only_what_leads_to_no_other_object_is_final(void **state)
{
    check_world w;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    assert_string_equal(reach(&w, "group", "active", "user"),
                        "group#member>group#member[group#member] group#member>group#active0 final: group#active=0");
    assert_string_equal(reach(&w, "folder", "view", "user"),
                        "folder#view>folder#view[folder#parent] folder#viewer>folder#view "
                        "group#active>folder#viewer[folder#viewer] group#member>group#member[group#member] "
                        "group#member>group#active0 final:");
    assert_string_equal(reach(&w, "doc", "read", "user"),
                        "doc#view>?doc#read folder#view>folder#view[folder#parent] folder#view>doc#view[doc#parent] "
                        "doc#owner>doc#view folder#viewer>folder#view group#active>folder#viewer[folder#viewer] "
                        "group#member>group#member[group#member] group#member>group#active0 "
                        "final: doc#read=0 doc#view=-1 doc#owner=-1");
    assert_string_equal(reach(&w, "doc", "every", "group"), /* a group is in itself, as a userset */
                        "folder#view>folder#view[folder#parent] folder#view>?doc#every[doc#parent] "
                        "folder#viewer>folder#view group#active>folder#viewer[folder#viewer] "
                        "group#member>group#member[group#member] group#member>group#active final: doc#every=0");
    check_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_lead_from_whom_the_subject_may_be_in_to_the_target),
        cmocka_unit_test(only_what_leads_to_no_other_object_is_final),
    };

    return cmocka_run_group_tests_name("schema/reachability", tests, NULL, NULL);
}
