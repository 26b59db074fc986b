/* core/datastore/postgres/marks.c: which revision is which snapshot. The larger tests run beside a model: a database whose
 * transactions begin and end by chance, some of which change what is ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/marks.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_memory.h"

typedef struct world {
    failing_memory failing;
    lic_memory     memory;
    lic_pg_marks   marks;
    lic_arena      arena; /* of memory that does not fail */
    lic_memory     plain;
} world;

static void world_init(world *w)
{
    w->failing = fail_never();
    lic_memory_init(&w->memory, &w->failing.allocator, SIZE_MAX);
    lic_memory_init(&w->plain, NULL, SIZE_MAX);
    lic_arena_init(&w->arena, &w->plain);
    assert_true(lic_pg_marks_init(&w->marks, &w->memory));
}

static void world_end(world *w)
{
    lic_pg_marks_free(&w->marks);
    lic_pg_marks_free(&w->marks);
    lic_arena_free(&w->arena);
    assert_int_equal(w->memory.used, 0);
    assert_int_equal(w->failing.counts->live_blocks, 0);
    assert_int_equal(w->plain.used, 0);
}

static lic_pg_snapshot of(world *w, const char *text)
{
    lic_pg_snapshot snapshot;

    assert_int_equal(lic_pg_snapshot_read(&w->arena, (lic_str){ text, strlen(text) }, &snapshot, NULL), LICET_OK);
    return snapshot;
}

/* "xmax:xmax:" */
static lic_pg_snapshot upto(uint64_t xmax)
{
    return (lic_pg_snapshot){ xmax, xmax, NULL, 0 };
}

static void mark(world *w, uint64_t revision, const char *text)
{
    lic_pg_snapshot snapshot = of(w, text);

    assert_int_equal(lic_pg_marks_reserve(&w->marks, revision - 1, &snapshot, NULL), LICET_OK);
    lic_pg_marks_add(&w->marks, revision);
}

static void extend(world *w, const char *text)
{
    lic_pg_snapshot snapshot = of(w, text);

    assert_int_equal(lic_pg_marks_extend(&w->marks, &snapshot, NULL), LICET_OK);
}

/* 0: none. */
static uint64_t find(world *w, const char *text)
{
    lic_pg_snapshot snapshot = of(w, text);
    uint64_t        revision = 7;
    const bool      found    = lic_pg_marks_find(&w->marks, &snapshot, &revision);

    assert_int_equal(found, revision != 0);
    return revision;
}

static void assert_text(const lic_pg_snapshot *snapshot, const char *expected)
{
    lic_memory memory;
    lic_text   text;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&text, &memory);
    lic_pg_snapshot_print(snapshot, &text);
    lic_text_add_char(&text, '\0');
    assert_string_equal(text.data, expected);
    lic_text_free(&text);
}

static void assert_is(world *w, uint64_t revision, const char *expected)
{
    lic_pg_snapshot snapshot;

    assert_int_equal(lic_pg_marks_snapshot(&w->marks, revision, &w->arena, &snapshot, NULL), LICET_OK);
    assert_text(&snapshot, expected);
}

static void assert_unknown(world *w, uint64_t revision)
{
    lic_pg_snapshot snapshot;
    licet_error    *error = NULL;

    assert_int_equal(lic_pg_marks_snapshot(&w->marks, revision, &w->arena, &snapshot, &error), LICET_REVISION_EXPIRED);
    assert_int_equal(licet_error_kind(error), LICET_KIND_TOKEN);
    assert_true(
        lic_str_equal(licet_error_message(error), LIC_STR("what the revision is in the database is no longer known")));
    assert_true(snapshot.xmax == 0 && snapshot.xip == NULL);
    licet_error_free(error);
}

static void assert_head(world *w, uint64_t revision, const char *expected)
{
    uint64_t        found = 7;
    lic_pg_snapshot snapshot;

    assert_int_equal(lic_pg_marks_head(&w->marks, &w->arena, &found, &snapshot, NULL), LICET_OK);
    assert_int_equal(found, revision);
    if (revision != 0)
        assert_text(&snapshot, expected);
}

/* ---------------------------------------------------------------- small worlds */

static void no_marks_know_nothing(void **state)
{
    world           w;
    lic_pg_snapshot one = upto(1);

    (void)state;
    world_init(&w);
    assert_head(&w, 0, NULL);
    assert_false(lic_pg_marks_reach(&w.marks, &one));
    assert_int_equal(find(&w, "1:1:"), 0);
    assert_unknown(&w, 1);
    assert_unknown(&w, LIC_PG_NOTED | 1);
    assert_int_equal(lic_pg_marks_extend(&w.marks, &one, NULL), LICET_UNAVAILABLE);
    lic_pg_marks_trim(&w.marks, 9);
    lic_pg_marks_clear(&w.marks);
    world_end(&w);
}

static void a_revision_is_every_snapshot_from_its_first_to_its_latest(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:10:");
    extend(&w, "11:14:11,12");
    mark(&w, 5, "11:20:11");
    extend(&w, "11:20:11");
    mark(&w, 9, "30:40:30,35");
    extend(&w, "50:50:");
    assert_head(&w, 9, "50:50:");
    /* of 4 */
    assert_int_equal(find(&w, "9:9:"), 0);
    assert_int_equal(find(&w, "10:10:"), 4);
    assert_int_equal(find(&w, "10:11:"), 4); /* latest sees 10 and 13, beside what first sees */
    assert_int_equal(find(&w, "10:14:10,11,12"), 4);
    assert_int_equal(find(&w, "11:14:11,12"), 4);
    assert_int_equal(find(&w, "11:13:11"), 0);    /* sees 12 */
    assert_int_equal(find(&w, "11:20:11,15"), 0); /* between 4 and 5: which of both is not known */
    /* of 5 */
    assert_int_equal(find(&w, "11:20:11"), 5);
    assert_int_equal(find(&w, "20:20:"), 0);
    /* of 9 */
    assert_int_equal(find(&w, "30:40:30,35"), 9);
    assert_int_equal(find(&w, "35:40:35"), 9);
    assert_int_equal(find(&w, "50:50:"), 9);
    assert_int_equal(find(&w, "51:51:"), 0);
    world_end(&w);
}

static void a_revision_has_the_token_of_its_first_snapshot(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:10:");
    extend(&w, "12:14:12");
    mark(&w, 5, "20:22:20");
    extend(&w, "24:24:");
    mark(&w, 9, "30:30:");
    assert_is(&w, 4, "10:10:");
    assert_is(&w, 5, "20:22:20");
    assert_is(&w, 9, "30:30:");
    /* One without a mark that of the next newer. */
    assert_is(&w, 1, "10:10:");
    assert_is(&w, 7, "30:30:");
    assert_unknown(&w, 10);
    world_end(&w);
}

static void what_is_forgotten_is_answered_by_something_newer(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:10:");
    mark(&w, 5, "20:22:20");
    mark(&w, 9, "30:30:");
    lic_pg_marks_trim(&w.marks, 5);
    assert_is(&w, 4, "20:22:20");
    assert_int_equal(find(&w, "10:10:"), 0);
    assert_int_equal(find(&w, "20:22:20"), 5);
    lic_pg_marks_trim(&w.marks, 6);
    assert_is(&w, 5, "30:30:");
    lic_pg_marks_trim(&w.marks, 1000); /* never the newest */
    assert_head(&w, 9, "30:30:");
    world_end(&w);
}

/* NULL: it is not known. */
static void assert_exactly(world *w, uint64_t revision, const char *expected)
{
    lic_pg_snapshot snapshot;
    licet_status    status = lic_pg_marks_exact(&w->marks, revision, &w->arena, &snapshot, NULL);

    assert_int_equal(status, expected == NULL ? LICET_REVISION_EXPIRED : LICET_OK);
    if (expected != NULL)
        assert_text(&snapshot, expected);
}

static void who_asks_exactly_is_never_told_a_newer_revision(void **state)
{
    world           w;
    lic_pg_snapshot snapshot;

    (void)state;
    world_init(&w);
    assert_exactly(&w, 4, NULL);
    mark(&w, 4, "10:10:");
    mark(&w, 6, "20:22:20");
    assert_exactly(&w, 4, "10:10:");
    assert_exactly(&w, 5, NULL);
    assert_exactly(&w, 6, "20:22:20");
    assert_exactly(&w, 7, NULL);
    snapshot = of(&w, "30:30:");
    assert_int_equal(lic_pg_marks_reserve(&w.marks, 6, &snapshot, NULL), LICET_OK);
    assert_exactly(&w, 7, "30:30:"); /* the graph may show it by now */
    assert_exactly(&w, 8, NULL);
    lic_pg_marks_add(&w.marks, 7);
    assert_exactly(&w, 7, "30:30:");
    lic_pg_marks_trim(&w.marks, 5);
    assert_exactly(&w, 4, NULL);
    world_end(&w);
}

static void the_graph_reaches_what_the_latest_snapshot_sees(void **state)
{
    world           w;
    lic_pg_snapshot wanted;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:14:10,12");
    wanted = of(&w, "11:14:11");
    assert_false(lic_pg_marks_reach(&w.marks, &wanted)); /* 10 runs in the one, 11 in the other */
    extend(&w, "12:14:12");
    assert_false(lic_pg_marks_reach(&w.marks, &wanted)); /* now 12 does */
    wanted = of(&w, "11:14:11,12");
    assert_true(lic_pg_marks_reach(&w.marks, &wanted));
    wanted = of(&w, "15:15:");
    assert_false(lic_pg_marks_reach(&w.marks, &wanted));
    extend(&w, "15:15:");
    assert_true(lic_pg_marks_reach(&w.marks, &wanted));
    world_end(&w);
}

static void a_snapshot_that_shows_less_than_before_is_refused(void **state)
{
    static const char *const lesser[] = { "10:10:", "10:24:10", "20:21:", "21:24:21,22" };
    world                    w;

    (void)state;
    world_init(&w);
    mark(&w, 4, "15:15:");
    extend(&w, "20:24:22");
    for (size_t i = 0; i < sizeof lesser / sizeof *lesser; i++) {
        lic_pg_snapshot snapshot = of(&w, lesser[i]);
        licet_error    *error    = NULL;

        assert_int_equal(lic_pg_marks_extend(&w.marks, &snapshot, &error), LICET_UNAVAILABLE);
        assert_int_equal(licet_error_kind(error), LICET_KIND_UNAVAILABLE);
        assert_true(
            lic_str_equal(licet_error_message(error),
                          LIC_STR("the database shows less than it did before: it is another one, or was restored")));
        licet_error_free(error);
        assert_int_equal(lic_pg_marks_reserve(&w.marks, 4, &snapshot, NULL), LICET_UNAVAILABLE);
        lic_pg_marks_add(&w.marks, 5); /* nothing is reserved */
        assert_head(&w, 4, "20:24:22");
    }
    world_end(&w);
}

static void what_is_reserved_is_told_before_it_is_added(void **state)
{
    world           w;
    lic_pg_snapshot snapshot;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:10:");
    snapshot = of(&w, "20:24:22");
    assert_int_equal(lic_pg_marks_reserve(&w.marks, 4, &snapshot, NULL), LICET_OK);
    assert_is(&w, 4, "10:10:");
    assert_is(&w, 5, "20:24:22"); /* the graph may show it by now */
    assert_head(&w, 4, "10:10:");
    assert_int_equal(find(&w, "20:24:22"), 0);
    assert_false(lic_pg_marks_reach(&w.marks, &snapshot));
    snapshot = of(&w, "21:25:23"); /* the graph could not take it: another catch-up */
    assert_int_equal(lic_pg_marks_reserve(&w.marks, 4, &snapshot, NULL), LICET_OK);
    lic_pg_marks_add(&w.marks, 5);
    assert_is(&w, 5, "21:25:23");
    assert_int_equal(find(&w, "21:25:23"), 5);
    assert_int_equal(find(&w, "20:24:22"), 0);
    world_end(&w);
}

static void clearing_forgets_another_history(void **state)
{
    world           w;
    uint64_t        note;
    lic_pg_snapshot snapshot;

    (void)state;
    world_init(&w);
    mark(&w, 4, "1000:1004:1001");
    snapshot = of(&w, "1000:1004:1000,1001");
    note     = lic_pg_marks_note(&w.marks, &snapshot);
    snapshot = upto(2000);
    assert_int_equal(lic_pg_marks_reserve(&w.marks, 4, &snapshot, NULL), LICET_OK);
    lic_pg_marks_clear(&w.marks);
    assert_head(&w, 0, NULL);
    assert_unknown(&w, 4);
    assert_unknown(&w, note);
    mark(&w, 5, "10:10:"); /* restored: less than before is fine now */
    assert_is(&w, 4, "10:10:");
    assert_is(&w, 5, "10:10:");
    assert_int_equal(find(&w, "1000:1004:1001"), 0);
    world_end(&w);
}

/* ---------------------------------------------------------------- notes */

static void results_of_prefetch_have_numbers_of_their_own(void **state)
{
    world           w;
    lic_pg_snapshot snapshot;
    uint64_t        first;
    uint64_t        second;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:10:");
    snapshot = of(&w, "12:14:12");
    first    = lic_pg_marks_note(&w.marks, &snapshot);
    snapshot = of(&w, "5:5:"); /* an old one: there is no order */
    second   = lic_pg_marks_note(&w.marks, &snapshot);
    assert_true(first & LIC_PG_NOTED && second & LIC_PG_NOTED);
    assert_true(first != second);
    assert_is(&w, first, "12:14:12");
    assert_is(&w, second, "5:5:");
    assert_is(&w, 4, "10:10:");
    assert_int_equal(find(&w, "12:14:12"), 0);
    assert_unknown(&w, LIC_PG_NOTED);
    assert_unknown(&w, second + 1);
    assert_unknown(&w, UINT64_MAX);
    world_end(&w);
}

static void the_last_4096_notes_are_kept(void **state)
{
    world    w;
    uint64_t numbers[10000];

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < 10000; i++) {
        uint64_t        running[2] = { 100 + i, 102 + i };
        lic_pg_snapshot snapshot   = { 100 + i, 110 + i, running, i % 3 };

        numbers[i] = lic_pg_marks_note(&w.marks, &snapshot);
        assert_true(i == 0 || numbers[i] != numbers[i - 1]);
    }
    for (size_t i = 0; i < 10000; i++) {
        lic_pg_snapshot snapshot;

        if (i < 10000 - 4096) {
            assert_unknown(&w, numbers[i]);
            continue;
        }
        assert_int_equal(lic_pg_marks_snapshot(&w.marks, numbers[i], &w.arena, &snapshot, NULL), LICET_OK);
        assert_true(snapshot.xmin == 100 + i && snapshot.xmax == 110 + i && snapshot.xip_count == i % 3);
        assert_true(snapshot.xip_count == 0 || snapshot.xip[0] == 100 + i);
    }
    world_end(&w);
}

/* ---------------------------------------------------------------- limits */

/* Begins at `first`; every second number runs. */
static lic_pg_snapshot crowd(lic_arena *arena, uint64_t first, size_t count)
{
    lic_pg_snapshot s = { first, first + 2 * count, lic_new_array(arena, count, uint64_t), count };

    assert_non_null(s.xip);
    for (size_t i = 0; i < count; i++)
        s.xip[i] = first + 2 * i;
    return s;
}

static void the_last_65536_marks_are_kept(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    for (uint64_t r = 1; r <= 70000; r++) {
        lic_pg_snapshot snapshot = upto(10 * r);

        assert_int_equal(lic_pg_marks_reserve(&w.marks, r - 1, &snapshot, NULL), LICET_OK);
        lic_pg_marks_add(&w.marks, r);
        snapshot = upto(10 * r + 3);
        assert_int_equal(lic_pg_marks_extend(&w.marks, &snapshot, NULL), LICET_OK);
    }
    for (uint64_t r = 1; r <= 70000; r += 7) {
        const uint64_t  known    = r <= 70000 - 65536 ? 70000 - 65536 + 1 : r;
        lic_pg_snapshot between  = upto(10 * r + 2);
        uint64_t        revision = 0;
        lic_pg_snapshot snapshot;

        assert_int_equal(lic_pg_marks_snapshot(&w.marks, r, &w.arena, &snapshot, NULL), LICET_OK);
        assert_int_equal(snapshot.xmax, 10 * known);
        assert_int_equal(lic_pg_marks_find(&w.marks, &between, &revision), known == r);
        assert_int_equal(revision, known == r ? r : 0);
    }
    assert_true(w.memory.used < 8000000);
    world_end(&w);
}

static void many_running_transactions_leave_room_for_fewer_marks_and_notes(void **state)
{
    world    w;
    uint64_t last_note = 0;

    (void)state;
    world_init(&w);
    for (uint64_t r = 1; r <= 40; r++) {
        lic_pg_snapshot snapshot = crowd(&w.arena, 1000000 * r, 50000);

        assert_int_equal(lic_pg_marks_reserve(&w.marks, r - 1, &snapshot, NULL), LICET_OK);
        lic_pg_marks_add(&w.marks, r);
        snapshot = crowd(&w.arena, 1000000 * r + 200000, 50000);
        assert_int_equal(lic_pg_marks_extend(&w.marks, &snapshot, NULL), LICET_OK);
        last_note = lic_pg_marks_note(&w.marks, &snapshot);
    }
    for (uint64_t r = 1; r <= 40; r++) {
        lic_pg_snapshot snapshot;

        /* 2 * 50,000 for each mark: 10 of them; 50,000 for each note: 20. */
        assert_int_equal(lic_pg_marks_snapshot(&w.marks, r, &w.arena, &snapshot, NULL), LICET_OK);
        assert_int_equal(snapshot.xmin, 1000000 * (r > 30 ? r : 31));
        if (r > 20)
            assert_int_equal(lic_pg_marks_snapshot(&w.marks, last_note - 40 + r, &w.arena, &snapshot, NULL), LICET_OK);
        else
            assert_unknown(&w, last_note - 40 + r);
    }
    lic_arena_free(&w.arena);
    world_end(&w);
}

/* ---------------------------------------------------------------- a database by chance */

#define XIDS 60

typedef struct database {
    uint64_t random;
    uint64_t next; /* the next xid */
    uint64_t latest_completed;
    bool     runs[XIDS + 64];
    bool     is_ours[XIDS + 64]; /* it changes what is ours */
    bool     aborts[XIDS + 64];
} database;

static uint64_t draw(database *db, uint64_t below)
{
    db->random = db->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (db->random >> 33) % below;
}

/* As GetSnapshotData() makes it. */
static lic_pg_snapshot take_snapshot(lic_arena *arena, const database *db)
{
    lic_pg_snapshot s = { 0, db->latest_completed + 1, lic_new_array(arena, XIDS, uint64_t), 0 };

    for (uint64_t x = 1; x < s.xmax; x++)
        if (db->runs[x])
            s.xip[s.xip_count++] = x;
    s.xmin = s.xip_count > 0 ? s.xip[0] : s.xmax;
    return s;
}

static void happen(database *db)
{
    uint64_t x = 1 + draw(db, db->next);

    if (draw(db, 2) == 0 && db->next < XIDS) {
        db->is_ours[db->next] = draw(db, 3) == 0;
        db->aborts[db->next]  = draw(db, 5) == 0;
        db->runs[db->next++]  = true;
    } else if (db->runs[x]) {
        db->runs[x] = false;
        if (x > db->latest_completed)
            db->latest_completed = x;
    }
}

/* Our transactions that the snapshot shows, as bits. */
static uint64_t contents(const database *db, const lic_pg_snapshot *s)
{
    uint64_t seen = 0;

    for (uint64_t x = 1; x < XIDS; x++)
        if (db->is_ours[x] && !db->aborts[x] && lic_pg_snapshot_sees(s, x))
            seen |= UINT64_C(1) << x;
    return seen;
}

typedef struct history {
    database        db;
    uint64_t        head;          /* revision */
    uint64_t        contents[512]; /* of revisions */
    lic_pg_snapshot tokens[512];
    size_t          token_count;
    size_t          found;
} history;

static void catch_up(world *w, history *h)
{
    lic_pg_snapshot now = take_snapshot(&w->arena, &h->db);

    if (h->head > 0 && contents(&h->db, &now) == h->contents[h->head]) {
        assert_int_equal(lic_pg_marks_extend(&w->marks, &now, NULL), LICET_OK);
        return;
    }
    assert_int_equal(lic_pg_marks_reserve(&w->marks, h->head, &now, NULL), LICET_OK);
    h->contents[++h->head] = contents(&h->db, &now);
    lic_pg_marks_add(&w->marks, h->head);
}

/* What a reader gets, or what a writer gets: all it saw and itself. */
static void keep_token(world *w, history *h)
{
    lic_pg_snapshot token = take_snapshot(&w->arena, &h->db);
    const uint64_t  x     = 1 + draw(&h->db, h->db.next);

    if (h->db.runs[x] && !h->db.aborts[x])
        assert_int_equal(lic_pg_snapshot_complete(&w->arena, &token, x, NULL), LICET_OK);
    h->tokens[h->token_count++] = token;
}

static void judge(world *w, history *h)
{
    for (size_t i = 0; i < h->token_count; i++) {
        const uint64_t  shown = contents(&h->db, &h->tokens[i]);
        uint64_t        revision;
        lic_pg_snapshot back;

        if (lic_pg_marks_find(&w->marks, &h->tokens[i], &revision)) {
            h->found++;
            assert_int_equal(h->contents[revision], shown);
        }
        if (lic_pg_marks_reach(&w->marks, &h->tokens[i]))
            assert_int_equal(shown & ~h->contents[h->head], 0);
        revision = 1 + draw(&h->db, h->head);
        assert_int_equal(lic_pg_marks_snapshot(&w->marks, revision, &w->arena, &back, NULL), LICET_OK);
        assert_int_equal(h->contents[revision] & ~contents(&h->db, &back), 0); /* never older */
    }
}

static void a_found_revision_has_what_the_snapshot_shows_in_any_history(void **state)
{
    size_t found = 0;
    size_t asked = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        history *h = test_calloc(1, sizeof *h);
        world    w;

        world_init(&w);
        h->db.random = seed;
        h->db.next   = 1;
        catch_up(&w, h);
        for (size_t step = 0; step < 400; step++) {
            happen(&h->db);
            if (draw(&h->db, 4) == 0)
                catch_up(&w, h);
            if (draw(&h->db, 10) == 0 && h->token_count < 512)
                keep_token(&w, h);
            if (draw(&h->db, 50) == 0)
                lic_pg_marks_trim(&w.marks, 1 + draw(&h->db, h->head));
        }
        judge(&w, h);
        found += h->found;
        asked += h->token_count;
        world_end(&w);
        test_free(h);
    }
    assert_true(found > asked / 10 && found < asked);
}

/* ---------------------------------------------------------------- memory */

/* Everything once; false as soon as something has failed. */
static bool use_all(world *w)
{
    static const char *const texts[] = { "10:14:10,12", "12:14:12", "15:20:15,17", "17:20:17", "20:24:22", "30:30:" };
    licet_status             status  = LICET_OK;
    lic_pg_snapshot          snapshot;

    for (uint64_t r = 1; r <= 70 && status == LICET_OK; r++) {
        snapshot = r <= 3 ? of(w, texts[2 * r - 2]) : upto(100 * r);
        status   = lic_pg_marks_reserve(&w->marks, r - 1, &snapshot, NULL);
        if (status == LICET_OK)
            lic_pg_marks_add(&w->marks, r);
        snapshot = r <= 3 ? of(w, texts[2 * r - 1]) : upto(100 * r + 1);
        if (status == LICET_OK)
            status = lic_pg_marks_extend(&w->marks, &snapshot, NULL);
    }
    assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
    return status == LICET_OK && lic_pg_marks_note(&w->marks, &snapshot) != 0;
}

static void a_failed_allocation_leaves_the_marks_as_they_were(void **state)
{
    (void)state;
    for (size_t n = 0;; n++) {
        world           w;
        lic_arena       arena;
        uint64_t        head;
        lic_pg_snapshot snapshot;
        bool            done;

        world_init(&w);
        fail_next(&w.failing, n);
        done = use_all(&w);
        if (!done) { /* and they can be used on */
            fail_next(&w.failing, SIZE_MAX / 2);
            lic_arena_init(&arena, &w.plain);
            assert_int_equal(lic_pg_marks_head(&w.marks, &arena, &head, &snapshot, NULL), LICET_OK);
            lic_arena_free(&arena);
            snapshot = upto(100000);
            assert_int_equal(lic_pg_marks_reserve(&w.marks, head, &snapshot, NULL), LICET_OK);
            lic_pg_marks_add(&w.marks, head + 1);
            assert_is(&w, head + 1, "100000:100000:");
            assert_true(lic_pg_marks_note(&w.marks, &snapshot) != 0);
        }
        done = done && w.failing.counts->failures == 0;
        world_end(&w);
        if (done)
            break;
    }
}

static void without_memory_for_a_larger_ring_the_oldest_mark_makes_room(void **state)
{
    world           w;
    lic_pg_snapshot snapshot;

    (void)state;
    world_init(&w);
    for (uint64_t r = 1; r <= 64; r++) {
        snapshot = upto(10 * r);
        assert_int_equal(lic_pg_marks_reserve(&w.marks, r - 1, &snapshot, NULL), LICET_OK);
        lic_pg_marks_add(&w.marks, r);
    }
    fail_next(&w.failing, 0);
    snapshot = upto(650);
    assert_int_equal(lic_pg_marks_reserve(&w.marks, 64, &snapshot, NULL), LICET_OK);
    assert_int_equal(w.failing.counts->failures, 1);
    lic_pg_marks_add(&w.marks, 65);
    assert_is(&w, 1, "20:20:");
    assert_is(&w, 65, "650:650:");
    world_end(&w);
}

static void answers_need_memory_of_the_asker(void **state)
{
    world           w;
    failing_memory  failing = fail_from(0);
    lic_memory      memory;
    lic_arena       arena;
    lic_pg_snapshot snapshot;
    uint64_t        revision;

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:14:12");
    lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_int_equal(lic_pg_marks_head(&w.marks, &arena, &revision, &snapshot, NULL), LICET_OUT_OF_MEMORY);
    assert_true(revision == 0 && snapshot.xmax == 0);
    assert_int_equal(lic_pg_marks_snapshot(&w.marks, 4, &arena, &snapshot, NULL), LICET_OUT_OF_MEMORY);
    assert_true(snapshot.xmax == 0 && snapshot.xip == NULL);
    lic_arena_free(&arena);
    assert_head(&w, 4, "10:14:12");
    world_end(&w);
}

/* ---------------------------------------------------------------- forks and threads */

typedef void child_body(world *w);

/* Its exit status. */
static int in_child(world *w, uint64_t head, child_body *body)
{
    int   status = 0;
    pid_t pid;

    lic_pg_marks_before_fork(&w->marks);
    pid = fork();
    if (pid == 0) {
        lic_pg_marks_after_fork_child(&w->marks, head);
        body(w);
        _exit(0);
    }
    lic_pg_marks_after_fork_parent(&w->marks);
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(bool holds, int status)
{
    if (!holds)
        _exit(status);
}

static void expect_published(world *w)
{
    uint64_t        revision;
    lic_pg_snapshot snapshot = upto(20);

    expect(lic_pg_marks_find(&w->marks, &snapshot, &revision) && revision == 5, 1);
    expect(lic_pg_marks_reach(&w->marks, &snapshot), 2);
}

static void expect_forgotten(world *w)
{
    uint64_t        revision;
    lic_pg_snapshot snapshot = upto(20);

    expect(!lic_pg_marks_find(&w->marks, &snapshot, &revision), 1);
    expect(!lic_pg_marks_reach(&w->marks, &snapshot), 2);
    expect(lic_pg_marks_snapshot(&w->marks, 5, &w->arena, &snapshot, NULL) == LICET_REVISION_EXPIRED, 3);
    snapshot = upto(30);
    expect(lic_pg_marks_reserve(&w->marks, 4, &snapshot, NULL) == LICET_OK, 4);
    lic_pg_marks_add(&w->marks, 5);
    expect(lic_pg_marks_find(&w->marks, &snapshot, &revision) && revision == 5, 5);
}

static void a_child_adds_what_its_parents_thread_had_published(void **state)
{
    world           w;
    lic_pg_snapshot snapshot = upto(20);

    (void)state;
    world_init(&w);
    mark(&w, 4, "10:10:");
    assert_int_equal(lic_pg_marks_reserve(&w.marks, 4, &snapshot, NULL), LICET_OK);
    assert_int_equal(in_child(&w, 5, expect_published), 0);
    assert_int_equal(in_child(&w, 4, expect_forgotten), 0);
    lic_pg_marks_add(&w.marks, 5); /* the parent goes on */
    assert_int_equal(find(&w, "20:20:"), 5);
    assert_int_equal(in_child(&w, 5, expect_published), 0);
    world_end(&w);
}

#define READERS 3

typedef struct crowded_world {
    world            w;
    _Atomic bool     stops;
    _Atomic uint64_t published; /* the graph's newest revision */
    _Atomic size_t   answers;
    _Atomic size_t   wrong;
} crowded_world;

/* Revision r is "10r:10r+2:10r" and then "10r+3:10r+3:". */
static lic_pg_snapshot first_of(uint64_t r, uint64_t *running)
{
    *running = 10 * r;
    return (lic_pg_snapshot){ 10 * r, 10 * r + 2, running, 1 };
}

static void follow(void *argument)
{
    crowded_world *c = argument;
    uint64_t       running;

    for (uint64_t r = 1; !c->stops; r++) {
        lic_pg_snapshot snapshot = first_of(r, &running);

        if (lic_pg_marks_reserve(&c->w.marks, r - 1, &snapshot, NULL) != LICET_OK)
            c->wrong++;
        c->published = r;
        lic_pg_marks_add(&c->w.marks, r);
        snapshot = upto(10 * r + 3);
        if (lic_pg_marks_extend(&c->w.marks, &snapshot, NULL) != LICET_OK)
            c->wrong++;
        if (r % 100 == 0)
            lic_pg_marks_trim(&c->w.marks, r - 20);
        if (r % 1000 == 0)
            lic_pg_marks_clear(&c->w.marks);
    }
}

/* What was published has a snapshot, and never an older one. */
static bool is_right(crowded_world *c, lic_arena *arena)
{
    const uint64_t  r = c->published;
    uint64_t        running;
    uint64_t        found;
    lic_pg_snapshot wanted;
    lic_pg_snapshot snapshot;

    if (r == 0)
        return true;
    if (lic_pg_marks_snapshot(&c->w.marks, r, arena, &snapshot, NULL) == LICET_OK &&
        (snapshot.xmin < 10 * r || snapshot.xip_count != 1 || snapshot.xip[0] != snapshot.xmin))
        return false;
    wanted = first_of(r, &running);
    if (lic_pg_marks_find(&c->w.marks, &wanted, &found) && found != r)
        return false;
    if (lic_pg_marks_reach(&c->w.marks, &wanted) && c->published < r)
        return false;
    if (lic_pg_marks_head(&c->w.marks, arena, &found, &snapshot, NULL) != LICET_OK ||
        (found != 0 && snapshot.xmax != 10 * found + 2 && snapshot.xmax != 10 * found + 3))
        return false;
    found = lic_pg_marks_note(&c->w.marks, &wanted);
    return lic_pg_marks_snapshot(&c->w.marks, found, arena, &snapshot, NULL) != LICET_OK ||
           lic_pg_snapshot_equal(&snapshot, &wanted);
}

static void ask(void *argument)
{
    crowded_world *c = argument;

    while (!c->stops) {
        lic_memory memory;
        lic_arena  arena;

        lic_memory_init(&memory, NULL, SIZE_MAX);
        lic_arena_init(&arena, &memory);
        c->wrong += !is_right(c, &arena);
        c->answers++;
        lic_arena_free(&arena);
    }
}

static void expect_usable(world *w)
{
    uint64_t        revision;
    lic_pg_snapshot snapshot;
    lic_arena       arena;

    lic_arena_init(&arena, &w->plain);
    expect(lic_pg_marks_head(&w->marks, &arena, &revision, &snapshot, NULL) == LICET_OK, 1);
    snapshot = upto(UINT64_C(1) << 40);
    expect(lic_pg_marks_reserve(&w->marks, revision, &snapshot, NULL) == LICET_OK, 2);
    lic_pg_marks_add(&w->marks, revision + 1);
    expect(lic_pg_marks_reach(&w->marks, &snapshot), 3);
    expect(lic_pg_marks_note(&w->marks, &snapshot) != 0, 4);
    lic_arena_free(&arena);
}

static void threads_and_forks_see_whole_marks(void **state)
{
    crowded_world *c = test_calloc(1, sizeof *c);
    pthread_t      threads[1 + READERS];

    (void)state;
    world_init(&c->w);
    assert_true(lic_thread_start(&threads[0], "follow", follow, c));
    for (size_t i = 1; i <= READERS; i++)
        assert_true(lic_thread_start(&threads[i], "ask", ask, c));
    for (int round = 0; round < 20; round++) {
        uint64_t head;

        lic_sleep_us(5000);
        head = c->published;
        assert_int_equal(in_child(&c->w, head, expect_usable), 0);
    }
    while (c->answers < 2000 || c->published < 2000)
        lic_sleep_us(1000);
    c->stops = true;
    for (size_t i = 0; i <= READERS; i++)
        lic_thread_join(threads[i]);
    assert_int_equal(c->wrong, 0);
    world_end(&c->w);
    test_free(c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_marks_know_nothing),
        cmocka_unit_test(a_revision_is_every_snapshot_from_its_first_to_its_latest),
        cmocka_unit_test(a_revision_has_the_token_of_its_first_snapshot),
        cmocka_unit_test(what_is_forgotten_is_answered_by_something_newer),
        cmocka_unit_test(who_asks_exactly_is_never_told_a_newer_revision),
        cmocka_unit_test(the_graph_reaches_what_the_latest_snapshot_sees),
        cmocka_unit_test(a_snapshot_that_shows_less_than_before_is_refused),
        cmocka_unit_test(what_is_reserved_is_told_before_it_is_added),
        cmocka_unit_test(clearing_forgets_another_history),
        cmocka_unit_test(results_of_prefetch_have_numbers_of_their_own),
        cmocka_unit_test(the_last_4096_notes_are_kept),
        cmocka_unit_test(the_last_65536_marks_are_kept),
        cmocka_unit_test(many_running_transactions_leave_room_for_fewer_marks_and_notes),
        cmocka_unit_test(a_found_revision_has_what_the_snapshot_shows_in_any_history),
        cmocka_unit_test(a_failed_allocation_leaves_the_marks_as_they_were),
        cmocka_unit_test(without_memory_for_a_larger_ring_the_oldest_mark_makes_room),
        cmocka_unit_test(answers_need_memory_of_the_asker),
        cmocka_unit_test(a_child_adds_what_its_parents_thread_had_published),
        cmocka_unit_test(threads_and_forks_see_whole_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
