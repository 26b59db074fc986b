/* core/eval: answers depend on nothing but the question, the schema and the relationships.
 *
 * Random worlds, full of cycles and of paths near the depth limit. Every question is asked alone, in bulk with one
 * memo, in bulk the other way round, and in a world where the relationships were written in another order (so that all
 * nodes have other numbers). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "check_world.h"

#include <stdio.h>
#include <stdlib.h>

#define OBJECTS 5
#define MOST_ROWS 64

/* Usersets, arrows of both kinds, a wildcard, exclusions that cycles can run through, aliases, and a userset that nobody
 * who is asked about can be in. */
static const char schema[] =
    "definition user {}\n"
    "definition bot {}\n"
    "definition team {\n relation lead: bot\n}\n"
    "definition group {\n relation member: user | group#member | group#staff | team#lead\n"
    " relation boss: user | group#every\n"
    " relation guest: user | user:*\n"
    " permission staff = member - boss\n permission every = staff + guest\n permission same = every\n}\n"
    "definition folder {\n relation parent: folder\n relation viewer: user | group#member | group#same\n"
    " relation banned: user | group#staff | folder#view\n"
    " permission view = viewer + parent->view\n permission open = view - banned\n"
    " permission each = viewer + parent.all(each)\n permission odd = viewer - parent->odd\n"
    " permission both = open & each\n}\n";

static const char *const forms[] = {
    "group:g?#member@group:g?#member", "group:g?#member@group:g?#staff",
    "group:g?#boss@group:g?#every",    "folder:f?#parent@folder:f?",
    "folder:f?#parent@folder:f?",      "folder:f?#viewer@group:g?#member",
    "folder:f?#viewer@group:g?#same",  "folder:f?#banned@group:g?#staff",
    "folder:f?#banned@folder:f?#view", "group:g?#member@user:u?",
    "group:g?#boss@user:u?",           "folder:f?#viewer@user:u?",
    "group:g?#guest@user:*",           "folder:f?#banned@user:u?",
    "group:g?#member@team:t?#lead",    "team:t?#lead@bot:b?",
};

static const char *const names[] = { "group:g?#member", "group:g?#staff", "group:g?#every",
                                     "group:g?#same",   "folder:f?#view", "folder:f?#open",
                                     "folder:f?#each",  "folder:f?#odd",  "folder:f?#both" };

static const char *const subjects[] = { "user:u0",        "user:u1",        "user:stranger", "group:g1#member",
                                        "group:g2#every", "folder:f1#view", "folder:f2" };

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define QUESTIONS (COUNT(names) * OBJECTS)

/* The form with each question mark replaced by a number drawn for it. */
static void draw(char *line, const char *form, int first)
{
    for (int number = first; *form != 0; form++) {
        *line++ = *form == '?' ? (char)('0' + number) : *form;
        if (*form == '?')
            number = rand() % OBJECTS;
    }
    *line = 0;
}

typedef struct rows {
    char   lines[MOST_ROWS][64];
    size_t count;
} rows;

static void draw_rows(rows *r)
{
    r->count = 8 + (size_t)rand() % (MOST_ROWS - 8);
    for (size_t i = 0; i < r->count; i++)
        draw(r->lines[i], forms[(size_t)rand() % COUNT(forms)], rand() % OBJECTS);
}

static void shuffle(rows *r)
{
    for (size_t i = r->count; i > 1; i--) {
        const size_t j = (size_t)rand() % i;
        char         line[64];

        memcpy(line, r->lines[j], sizeof line);
        memcpy(r->lines[j], r->lines[i - 1], sizeof line);
        memcpy(r->lines[i - 1], line, sizeof line);
    }
}

static void open_world(check_world *w, const rows *r, uint32_t max_depth)
{
    assert_true(check_world_open(w, NULL, schema));
    w->limits.max_depth = max_depth;
    for (size_t i = 0; i < r->count; i++)
        assert_true(check_world_write(w, r->lines[i]));
}

static void question(char *text, size_t number, const char *subject)
{
    draw(text, names[number / OBJECTS], (int)(number % OBJECTS));
    strcat(text, "@");
    strcat(text, subject);
}

static void ask_alone(check_world *w, const char *subject, answer *answers)
{
    char text[128];

    for (size_t i = 0; i < QUESTIONS; i++) {
        question(text, i, subject);
        answers[i] = check_world_ask(w, text);
    }
}

static void ask_in_bulk(check_world *w, const char *subject, bool backwards, answer *answers)
{
    check_bulk bulk;
    char       text[128];

    check_bulk_open(&bulk, w);
    for (size_t i = 0; i < QUESTIONS; i++) {
        const size_t number = backwards ? QUESTIONS - 1 - i : i;

        question(text, number, subject);
        answers[number] = check_bulk_ask(&bulk, text);
    }
    check_bulk_close(&bulk);
}

static void compare(const answer *expected, const answer *found, const char *subject, const char *way)
{
    char text[128];

    for (size_t i = 0; i < QUESTIONS; i++) {
        question(text, i, subject);
        if (expected[i] != found[i])
            print_error("%s: %s\n", text, way);
        assert_int_equal(found[i], expected[i]);
    }
}

static void check_world_of(rows *r, uint32_t max_depth)
{
    check_world world;
    check_world other;

    open_world(&world, r, max_depth);
    shuffle(r);
    open_world(&other, r, max_depth);
    for (size_t i = 0; i < COUNT(subjects); i++) {
        answer alone[QUESTIONS];
        answer found[QUESTIONS];

        ask_alone(&world, subjects[i], alone);
        ask_in_bulk(&world, subjects[i], false, found);
        compare(alone, found, subjects[i], "in bulk");
        ask_in_bulk(&world, subjects[i], true, found);
        compare(alone, found, subjects[i], "in bulk, backwards");
        ask_alone(&other, subjects[i], found);
        compare(alone, found, subjects[i], "written in another order");
    }
    check_world_close(&world);
    check_world_close(&other);
}

static void answers_do_not_depend_on_order_or_on_what_was_asked_before(void **state)
{
    static const uint32_t depths[] = { 50, 1000, 2, 3, 5, 8 };

    (void)state;
    srand(1);
    for (size_t n = 0; n < 60; n++) {
        rows r;

        draw_rows(&r);
        check_world_of(&r, depths[n % COUNT(depths)]);
    }
}

/* More depth turns failures into answers, and answers into nothing else. */
static void more_depth_never_changes_an_answer(void **state)
{
    (void)state;
    srand(2);
    for (int n = 0; n < 20; n++) {
        answer      before[COUNT(subjects)][QUESTIONS];
        check_world w;
        rows        r;

        draw_rows(&r);
        open_world(&w, &r, 1);
        for (uint32_t depth = 1; depth <= 16; depth++) {
            w.limits.max_depth = depth;
            for (size_t i = 0; i < COUNT(subjects); i++) {
                answer found[QUESTIONS];

                ask_alone(&w, subjects[i], found);
                for (size_t q = 0; q < QUESTIONS; q++) {
                    assert_true(depth == 1 || before[i][q] == ANSWER_DEPTH || before[i][q] == found[q]);
                    before[i][q] = found[q];
                }
            }
        }
        check_world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_do_not_depend_on_order_or_on_what_was_asked_before),
        cmocka_unit_test(more_depth_never_changes_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
