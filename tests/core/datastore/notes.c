/* core/datastore/memory/notes.c: the metadata of transactions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "datastore/memory/notes.h"

#include "failing_memory.h"

typedef struct world {
    failing_memory source;
    lic_memory     memory;
    lic_notes      notes;
} world;

static void world_open(world *w, size_t limit)
{
    memset(w, 0, sizeof *w);
    w->source = fail_never();
    lic_memory_init(&w->memory, &w->source.allocator, limit);
    assert_true(lic_notes_init(&w->notes, &w->memory));
}

static void world_close(world *w)
{
    lic_notes_free(&w->notes);
    assert_int_equal(w->source.counts->live_blocks, 0);
    assert_int_equal(w->source.counts->live_bytes, 0);
}

/* A commit of the revision with this note. */
static bool commit(world *w, uint64_t revision, const char *text)
{
    bool added = lic_notes_add(&w->notes, revision, (lic_str){ text, strlen(text) });

    lic_notes_settle(&w->notes, revision);
    return added;
}

static void assert_note(world *w, uint64_t revision, const char *expected)
{
    lic_arena arena;
    lic_str   text = { "x", 1 };

    lic_arena_init(&arena, &w->memory);
    assert_true(lic_notes_find(&w->notes, revision, &arena, &text));
    assert_int_equal(lic_str_given(text), expected != NULL);
    if (expected != NULL)
        assert_true(lic_str_equal(text, (lic_str){ expected, strlen(expected) }));
    lic_arena_free(&arena);
}

static void a_note_is_found_by_its_revision_alone(void **state)
{
    world w;

    (void)state;
    world_open(&w, SIZE_MAX);
    assert_note(&w, 1, NULL);
    assert_true(commit(&w, 3, "three"));
    assert_true(commit(&w, 4, "four"));
    assert_true(commit(&w, 9, "nine"));
    assert_note(&w, 0, NULL);
    assert_note(&w, 3, "three");
    assert_note(&w, 4, "four");
    assert_note(&w, 5, NULL);
    assert_note(&w, 9, "nine");
    assert_note(&w, 10, NULL);
    assert_int_equal(lic_notes_floor(&w.notes), 0);
    world_close(&w);
}

static void a_note_of_a_revision_that_did_not_come_about_goes(void **state)
{
    world w;

    (void)state;
    world_open(&w, SIZE_MAX);
    assert_true(lic_notes_add(&w.notes, 1, LIC_STR("lost")));
    lic_notes_settle(&w.notes, 0);
    assert_note(&w, 1, NULL);
    assert_true(commit(&w, 1, "won"));
    lic_notes_settle(&w.notes, 1);
    assert_note(&w, 1, "won");
    assert_true(lic_notes_add(&w.notes, 2, LIC_STR("lost")));
    lic_notes_settle(&w.notes, 1);
    lic_notes_settle(&w.notes, 1);
    assert_note(&w, 1, "won");
    assert_note(&w, 2, NULL);
    world_close(&w);
}

static void what_is_dropped_is_the_oldest_and_the_floor_says_so(void **state)
{
    world w;

    (void)state;
    world_open(&w, SIZE_MAX);
    assert_false(lic_notes_drop(&w.notes, 5));
    assert_int_equal(lic_notes_floor(&w.notes), 0); /* nothing is gone */
    for (uint64_t r = 10; r <= 40; r += 10)
        assert_true(commit(&w, r, "note"));
    assert_false(lic_notes_drop(&w.notes, 9));
    assert_true(lic_notes_drop(&w.notes, 25));
    assert_int_equal(lic_notes_floor(&w.notes), 25);
    assert_note(&w, 20, NULL);
    assert_note(&w, 30, "note");
    assert_true(lic_notes_drop(&w.notes, 40));
    assert_false(lic_notes_drop(&w.notes, 50));
    assert_note(&w, 40, NULL);
    assert_true(commit(&w, 50, "note"));
    assert_note(&w, 50, "note");
    world_close(&w);
}

static void the_newest_notes_fit_into_a_sixteenth_of_the_memory(void **state)
{
    char     text[1001];
    uint64_t first = 1;
    world    w;

    (void)state;
    world_open(&w, 160000);
    memset(text, 'n', 1000);
    text[1000] = '\0';
    for (uint64_t r = 1; r <= 5000; r++) {
        assert_true(commit(&w, r, text));
        assert_in_range(atomic_load(&w.memory.used), 1000, 10000 + 1000);
        while (first <= lic_notes_floor(&w.notes))
            first++;
        assert_in_range(r - first + 1, r < 5 ? r : 5, 10);
        assert_note(&w, first - 1, NULL);
        assert_note(&w, first, text);
        assert_note(&w, r, text);
    }
    world_close(&w);
}

static void one_note_always_has_room_and_short_memory_costs_the_older_ones(void **state)
{
    char   text[20001];
    size_t n = 0;
    world  w;

    (void)state;
    world_open(&w, 32000);
    memset(text, 'n', 20000);
    text[20000] = '\0';
    assert_true(commit(&w, 1, text)); /* more than a sixteenth */
    assert_true(commit(&w, 2, text));
    assert_note(&w, 1, NULL);
    text[100] = '\0';
    for (uint64_t r = 3; r < 200; r++) {
        fail_next(&w.source, n % 3);
        if (!commit(&w, r, text))
            assert_int_equal(w.notes.count, 0);
        fail_next(&w.source, SIZE_MAX / 2);
        n++;
    }
    assert_true(commit(&w, 200, text));
    assert_note(&w, 200, text);
    world_close(&w);
}

static void reading_needs_memory_of_its_own_and_says_so(void **state)
{
    lic_arena arena;
    lic_str   text;
    world     w;

    (void)state;
    world_open(&w, SIZE_MAX);
    assert_true(commit(&w, 1, "one"));
    lic_arena_init(&arena, &w.memory);
    fail_next(&w.source, 0);
    assert_false(lic_notes_find(&w.notes, 1, &arena, &text));
    assert_true(lic_notes_find(&w.notes, 1, &arena, &text));
    assert_true(lic_str_equal(text, LIC_STR("one")));
    lic_arena_free(&arena);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_found_by_its_revision_alone),
        cmocka_unit_test(a_note_of_a_revision_that_did_not_come_about_goes),
        cmocka_unit_test(what_is_dropped_is_the_oldest_and_the_floor_says_so),
        cmocka_unit_test(the_newest_notes_fit_into_a_sixteenth_of_the_memory),
        cmocka_unit_test(one_note_always_has_room_and_short_memory_costs_the_older_ones),
        cmocka_unit_test(reading_needs_memory_of_its_own_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
