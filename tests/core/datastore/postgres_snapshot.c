/* core/datastore/postgres/pg_snapshot.c: snapshots as values. What they see is told by a slow model: a set of bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/pg_snapshot.h"

#include <stdlib.h>

#include "failing_memory.h"

typedef struct world {
    lic_memory memory;
    lic_arena  arena;
    lic_text   text;
} world;

static void world_init(world *w)
{
    lic_memory_init(&w->memory, NULL, SIZE_MAX);
    lic_arena_init(&w->arena, &w->memory);
    lic_text_init(&w->text, &w->memory);
}

static void world_end(world *w)
{
    lic_text_free(&w->text);
    lic_arena_free(&w->arena);
    assert_int_equal(w->memory.used, 0);
}

static const char *printed(world *w, const lic_pg_snapshot *snapshot)
{
    w->text.size = 0;
    lic_pg_snapshot_print(snapshot, &w->text);
    lic_text_add_char(&w->text, '\0');
    assert_false(w->text.failed);
    return w->text.data;
}

static lic_str str(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

static lic_pg_snapshot read_good(world *w, const char *text)
{
    lic_pg_snapshot snapshot;

    assert_int_equal(lic_pg_snapshot_read(&w->arena, str(text), &snapshot, NULL), LICET_OK);
    return snapshot;
}

static void assert_refused(licet_status status, licet_error *error, const lic_pg_snapshot *snapshot)
{
    assert_int_equal(status, LICET_INVALID_TOKEN);
    assert_int_equal(licet_error_kind(error), LICET_KIND_TOKEN);
    assert_true(lic_str_equal(licet_error_message(error), LIC_STR("not a snapshot of Postgres")));
    assert_true(snapshot->xmin == 0 && snapshot->xmax == 0 && snapshot->xip == NULL && snapshot->xip_count == 0);
    licet_error_free(error);
}

/* ---------------------------------------------------------------- texts */

static void a_text_is_read_and_printed_as_postgres_has_it(void **state)
{
    static const char *const texts[] = {
        "83585:83590:83585,83587",
        "1:1:",
        "1:2:",
        "83585:83588:",
        "10:20:10,11,12,13,14,15,16,17,18,19",
        "4294967296:4294967299:4294967297",
        "9223372036854775807:9223372036854775807:",
        "1:9223372036854775807:1,9223372036854775806",
    };
    world           w;
    lic_pg_snapshot s;

    (void)state;
    world_init(&w);
    s = read_good(&w, texts[0]);
    assert_true(s.xmin == 83585 && s.xmax == 83590 && s.xip_count == 2);
    assert_true(s.xip[0] == 83585 && s.xip[1] == 83587);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        s = read_good(&w, texts[i]);
        assert_string_equal(printed(&w, &s), texts[i]);
    }
    world_end(&w);
}

static void what_is_no_text_of_a_snapshot_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        ":",
        "::",
        "1",
        "1:",
        "1:2",
        "1:2:,",
        "1:2:1,",
        "1:2:,1",
        "1:3:1,,2",
        "1:2::",
        "1:2:1:",
        "1:2:1 ",
        " 1:2:1",
        "1: 2:1",
        "+1:2:",
        "-1:2:",
        "1:2:-1",
        "01:2:",
        "1:02:",
        "1:2:01",
        "0x1:2:",
        "1:2:a",
        "1;2;",
        /* numbers out of their order */
        "0:0:",
        "0:1:",
        "2:1:",
        "1:1:1",
        "2:4:1",
        "2:4:4",
        "2:4:5",
        "2:9:5,4",
        "2:9:5,5",
        "2:9:0",
        /* numbers out of range */
        "1:9223372036854775808:",
        "9223372036854775808:9223372036854775808:",
        "1:18446744073709551615:",
        "1:18446744073709551618:", /* 2 beyond 2^64 */
        "18446744073709551617:2:",
        "1:5:18446744073709551619",
        "1:99999999999999999999999999999999:",
    };
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lic_pg_snapshot s;
        licet_error    *error  = NULL;
        licet_status    status = lic_pg_snapshot_read(&w.arena, str(texts[i]), &s, &error);

        assert_refused(status, error, &s);
    }
    world_end(&w);
}

static void a_snapshot_holds_65536_running_transactions_and_no_more(void **state)
{
    world           w;
    lic_text        text;
    lic_pg_snapshot s;
    licet_error    *error = NULL;
    licet_status    status;

    (void)state;
    world_init(&w);
    lic_text_init(&text, &w.memory);
    lic_text_add_literal(&text, "5:100000:5");
    for (uint64_t x = 6; x < 5 + 65536; x++) {
        lic_text_add_char(&text, ',');
        lic_text_add_u64(&text, x);
    }
    assert_int_equal(lic_pg_snapshot_read(&w.arena, lic_text_str(&text), &s, NULL), LICET_OK);
    assert_int_equal(s.xip_count, 65536);
    assert_int_equal(s.xip[65535], 65540);
    lic_text_add_literal(&text, ",65541");
    status = lic_pg_snapshot_read(&w.arena, lic_text_str(&text), &s, &error);
    assert_refused(status, error, &s);
    lic_text_free(&text);
    world_end(&w);
}

static void a_packed_text_has_distances(void **state)
{
    static const char *const cases[][2] = {
        { "83585:83590:83585,83587", "83585:5:0,2" },
        { "1:1:", "1:0:" },
        { "7:9:8", "7:2:1" },
        { "9223372036854775807:9223372036854775807:", "9223372036854775807:0:" },
        { "1:9223372036854775807:1,9223372036854775806", "1:9223372036854775806:0,9223372036854775805" },
    };
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lic_pg_snapshot s = read_good(&w, cases[i][0]);
        const size_t    n = strlen(cases[i][1]);
        char            packed[64];

        assert_int_equal(lic_pg_snapshot_pack(&s, packed, sizeof packed), n);
        assert_memory_equal(packed, cases[i][1], n);
        for (size_t room = 0; room < n; room++) {
            char *exact = test_malloc(room + 1);

            assert_int_equal(lic_pg_snapshot_pack(&s, exact, room), 0);
            test_free(exact);
        }
        assert_int_equal(lic_pg_snapshot_pack(&s, packed, n), n);
        assert_int_equal(lic_pg_snapshot_unpack(&w.arena, (lic_str){ packed, n }, &s, NULL), LICET_OK);
        assert_string_equal(printed(&w, &s), cases[i][0]);
    }
    world_end(&w);
}

static void a_packed_text_is_refused_unless_it_is_what_would_be_written(void **state)
{
    static const char *const texts[] = {
        "",
        "1:0",
        "0:0:",
        "1:0:0",
        "1:1:1",
        "5:3:0,0",
        "5:3:1,2",
        "5:3:0,",
        "05:3:",
        "5:03:",
        "5:3:00",
        "5:3:0 ",
        "5:3: ",
        "5:-1:",
        "5:3:-1",
        "9223372036854775807:1:",
        "1:9223372036854775807:",
        "9223372036854775806:1:1",
        "9223372036854775807:0:9223372036854775807",
        "1:5:0,9223372036854775807,9223372036854775807",
        "1:5:18446744073709551615",
        "1:18446744073709551616:",
    };
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lic_pg_snapshot s;
        licet_error    *error  = NULL;
        licet_status    status = lic_pg_snapshot_unpack(&w.arena, str(texts[i]), &s, &error);

        assert_refused(status, error, &s);
    }
    world_end(&w);
}

/* ---------------------------------------------------------------- the wire */

static void put(char *bytes, uint64_t number, size_t size)
{
    for (size_t i = size; i > 0; i--, number >>= 8)
        bytes[i - 1] = (char)number;
}

/* As pg_snapshot_send() writes it; its size. */
static size_t send_snapshot(char *bytes, uint32_t count, uint64_t xmin, uint64_t xmax, const uint64_t *xip, size_t n)
{
    put(bytes, count, 4);
    put(bytes + 4, xmin, 8);
    put(bytes + 12, xmax, 8);
    for (size_t i = 0; i < n; i++)
        put(bytes + 20 + 8 * i, xip[i], 8);
    return 20 + 8 * n;
}

static void the_form_of_the_wire_is_received(void **state)
{
    static const uint64_t xip[] = { 83585, 83587 };
    char                  bytes[64];
    world                 w;
    lic_pg_snapshot       s;
    size_t                size;

    (void)state;
    world_init(&w);
    size = send_snapshot(bytes, 2, 83585, 83590, xip, 2);
    assert_int_equal(lic_pg_snapshot_receive(&w.arena, (lic_str){ bytes, size }, &s, NULL), LICET_OK);
    assert_string_equal(printed(&w, &s), "83585:83590:83585,83587");
    size = send_snapshot(bytes, 0, UINT64_C(0x0102030405060708), UINT64_C(0x0102030405060709), NULL, 0);
    assert_int_equal(lic_pg_snapshot_receive(&w.arena, (lic_str){ bytes, size }, &s, NULL), LICET_OK);
    assert_string_equal(printed(&w, &s), "72623859790382856:72623859790382857:");
    assert_int_equal(s.xip_count, 0);
    world_end(&w);
}

static void what_is_no_form_of_the_wire_is_refused(void **state)
{
    static const struct {
        uint32_t count;
        uint64_t xmin;
        uint64_t xmax;
        uint64_t xip[3];
        size_t   sent;
    } cases[] = {
        { 1, 5, 9, { 6, 7 }, 2 },       { 3, 5, 9, { 6, 7 }, 2 },       { 0, 5, 9, { 6 }, 1 },
        { 2, 5, 9, { 7, 6 }, 2 },       { 2, 5, 9, { 6, 6 }, 2 },       { 1, 5, 9, { 4 }, 1 },
        { 1, 5, 9, { 9 }, 1 },          { 0, 9, 5, { 0 }, 0 },          { 0, 0, 5, { 0 }, 0 },
        { UINT32_MAX, 5, 9, { 0 }, 0 }, { 0x20000000, 5, 9, { 0 }, 0 }, { 0, 5, UINT64_C(1) << 63, { 0 }, 0 },
        { 0, 5, UINT64_MAX, { 0 }, 0 },
    };
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lic_pg_snapshot s;
        licet_error    *error = NULL;
        char            bytes[64];
        size_t size = send_snapshot(bytes, cases[i].count, cases[i].xmin, cases[i].xmax, cases[i].xip, cases[i].sent);
        licet_status status = lic_pg_snapshot_receive(&w.arena, (lic_str){ bytes, size }, &s, &error);

        assert_refused(status, error, &s);
    }
    world_end(&w);
}

static void every_cut_and_every_longer_message_is_refused(void **state)
{
    static const uint64_t xip[]     = { 6, 7 };
    char                  bytes[64] = { 0 };
    world                 w;
    const size_t          size = send_snapshot(bytes, 2, 5, 9, xip, 2);

    (void)state;
    world_init(&w);
    for (size_t cut = 0; cut < sizeof bytes; cut++) {
        char           *exact = test_malloc(cut + 1); /* so that reading past it shows */
        lic_pg_snapshot s;
        licet_error    *error = NULL;
        licet_status    status;

        memcpy(exact, bytes, cut);
        status = lic_pg_snapshot_receive(&w.arena, (lic_str){ exact, cut }, &s, &error);
        if (cut == size)
            assert_int_equal(status, LICET_OK);
        else
            assert_refused(status, error, &s);
        test_free(exact);
    }
    world_end(&w);
}

/* ---------------------------------------------------------------- what is seen */

#define LARGEST 6  /* xmax of the small ones */
#define NUMBERS 10 /* 0 to 9: some beyond every xmax */

typedef struct small_worlds {
    world           w;
    lic_pg_snapshot all[1024];
    uint32_t        seen[1024]; /* bit x: it sees x, by the definition */
    size_t          count;
} small_worlds;

static uint32_t seen_by_definition(const lic_pg_snapshot *s)
{
    uint32_t seen = 0;

    for (uint64_t x = 0; x < NUMBERS; x++) {
        bool runs = x >= s->xmax;

        for (size_t i = 0; i < s->xip_count; i++)
            runs = runs || s->xip[i] == x;
        seen |= (uint32_t)!runs << x;
    }
    return seen;
}

/* Every valid snapshot with xmax up to LARGEST. */
static small_worlds *every_small_snapshot(void)
{
    small_worlds *worlds = test_calloc(1, sizeof *worlds);

    world_init(&worlds->w);
    for (uint64_t xmin = 1; xmin <= LARGEST; xmin++) {
        for (uint64_t xmax = xmin; xmax <= LARGEST; xmax++) {
            for (uint32_t subset = 0; subset < 1u << (xmax - xmin); subset++) {
                lic_pg_snapshot *s = &worlds->all[worlds->count];

                *s = (lic_pg_snapshot){ xmin, xmax, lic_new_array(&worlds->w.arena, 8, uint64_t), 0 };
                for (uint64_t x = xmin; x < xmax; x++)
                    if (subset >> (x - xmin) & 1)
                        s->xip[s->xip_count++] = x;
                worlds->seen[worlds->count++] = seen_by_definition(s);
            }
        }
    }
    return worlds;
}

static void end_small_worlds(small_worlds *worlds)
{
    world_end(&worlds->w);
    test_free(worlds);
}

static void every_small_snapshot_sees_what_the_definition_says(void **state)
{
    small_worlds *worlds = every_small_snapshot();

    (void)state;
    assert_int_equal(worlds->count, 120);
    for (size_t i = 0; i < worlds->count; i++)
        for (uint64_t x = 0; x < NUMBERS; x++)
            assert_int_equal(lic_pg_snapshot_sees(&worlds->all[i], x), worlds->seen[i] >> x & 1);
    end_small_worlds(worlds);
}

static void one_small_snapshot_dominates_another_iff_it_sees_all_that_the_other_sees(void **state)
{
    small_worlds *worlds = every_small_snapshot();

    (void)state;
    for (size_t i = 0; i < worlds->count; i++) {
        for (size_t j = 0; j < worlds->count; j++) {
            const uint32_t a = worlds->seen[i];
            const uint32_t b = worlds->seen[j];

            assert_int_equal(lic_pg_snapshot_dominates(&worlds->all[i], &worlds->all[j]), (b & ~a) == 0);
            assert_int_equal(lic_pg_snapshot_equal(&worlds->all[i], &worlds->all[j]), a == b);
        }
    }
    end_small_worlds(worlds);
}

static void snapshots_of_overlapping_transactions_are_concurrent(void **state)
{
    world           w;
    lic_pg_snapshot a;
    lic_pg_snapshot b;
    lic_pg_snapshot both;

    (void)state;
    world_init(&w);
    a    = read_good(&w, "100:102:100"); /* 101 has committed first, */
    b    = read_good(&w, "101:102:101"); /* or 100 has. */
    both = read_good(&w, "102:102:");
    assert_false(lic_pg_snapshot_dominates(&a, &b));
    assert_false(lic_pg_snapshot_dominates(&b, &a));
    assert_true(lic_pg_snapshot_dominates(&both, &a) && lic_pg_snapshot_dominates(&both, &b));
    /* A larger xmax is no proof, nor is a shorter list. */
    a = read_good(&w, "100:200:100");
    b = read_good(&w, "101:102:");
    assert_false(lic_pg_snapshot_dominates(&a, &b));
    a = read_good(&w, "100:200:150");
    b = read_good(&w, "100:160:110,120,130");
    assert_false(lic_pg_snapshot_dominates(&a, &b));
    b = read_good(&w, "100:150:110,120,130");
    assert_true(lic_pg_snapshot_dominates(&a, &b));
    world_end(&w);
}

/* ---------------------------------------------------------------- completing */

static void a_completed_snapshot_sees_what_it_saw_and_its_own(void **state)
{
    small_worlds *worlds = every_small_snapshot();

    (void)state;
    for (size_t i = 0; i < worlds->count; i++) {
        for (uint64_t x = 1; x < NUMBERS; x++) {
            lic_pg_snapshot s = worlds->all[i];
            lic_pg_snapshot again;

            assert_int_equal(lic_pg_snapshot_complete(&worlds->w.arena, &s, x, NULL), LICET_OK);
            assert_int_equal(seen_by_definition(&s), worlds->seen[i] | 1u << x);
            assert_true(s.xmin == (s.xip_count > 0 ? s.xip[0] : s.xmax));
            again = read_good(&worlds->w, printed(&worlds->w, &s)); /* it is valid */
            assert_true(lic_pg_snapshot_equal(&again, &s));
            assert_int_equal(seen_by_definition(&worlds->all[i]), worlds->seen[i]); /* another array */
        }
    }
    end_small_worlds(worlds);
}

static void completing_takes_the_own_transaction_from_its_place(void **state)
{
    static const struct {
        const char *before;
        uint64_t    xid;
        const char *after;
    } cases[] = {
        { "100:105:100,103", 100, "103:105:103" },
        { "100:105:100,103", 103, "100:105:100" },
        { "100:105:100", 100, "105:105:" },
        { "100:102:", 100, "102:102:" }, /* as pg_current_snapshot() shows a transaction its own: not in xip */
        { "100:100:", 100, "101:101:" },
        { "100:100:", 103, "100:104:100,101,102" },
        { "98:100:98", 101, "98:102:98,100" },
        { "1:1:", UINT64_C(9223372036854775806), NULL },
        { "9223372036854775800:9223372036854775806:", UINT64_C(9223372036854775806),
          "9223372036854775807:9223372036854775807:" },
    };
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lic_pg_snapshot s      = read_good(&w, cases[i].before);
        licet_status    status = lic_pg_snapshot_complete(&w.arena, &s, cases[i].xid, NULL);

        assert_int_equal(status, cases[i].after == NULL ? LICET_LIMIT_EXCEEDED : LICET_OK);
        assert_string_equal(printed(&w, &s), cases[i].after == NULL ? cases[i].before : cases[i].after);
    }
    world_end(&w);
}

static void completing_with_no_transaction_is_refused(void **state)
{
    static const uint64_t xids[] = { 0, LIC_PG_NEVER, UINT64_MAX };
    world                 w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof xids / sizeof *xids; i++) {
        lic_pg_snapshot s     = read_good(&w, "5:9223372036854775807:6");
        licet_error    *error = NULL;

        assert_int_equal(lic_pg_snapshot_complete(&w.arena, &s, xids[i], &error), LICET_INVALID_TOKEN);
        assert_true(lic_str_equal(licet_error_message(error), LIC_STR("not a transaction of Postgres")));
        assert_string_equal(printed(&w, &s), "5:9223372036854775807:6");
        licet_error_free(error);
    }
    world_end(&w);
}

static void completing_adds_at_most_65536_running_transactions(void **state)
{
    world           w;
    lic_pg_snapshot s;
    licet_error    *error = NULL;

    (void)state;
    world_init(&w);
    s = read_good(&w, "5:10:5");
    assert_int_equal(lic_pg_snapshot_complete(&w.arena, &s, 10 + 65535, NULL), LICET_OK);
    assert_int_equal(s.xip_count, 65536);
    assert_int_equal(s.xip[65535], 65544);
    assert_int_equal(s.xmax, 65546);
    s = read_good(&w, "5:10:5");
    assert_int_equal(lic_pg_snapshot_complete(&w.arena, &s, 10 + 65536, &error), LICET_LIMIT_EXCEEDED);
    assert_int_equal(licet_error_kind(error), LICET_KIND_LIMIT);
    assert_true(lic_str_equal(licet_error_message(error),
                              LIC_STR("more than 65536 transactions began between the snapshot and the write")));
    assert_string_equal(printed(&w, &s), "5:10:5");
    licet_error_free(error);
    world_end(&w);
}

/* ---------------------------------------------------------------- memory */

static licet_status make_with(lic_memory *memory, int way)
{
    static const uint64_t xip[] = { 5, 7 };
    uint64_t              own[] = { 5, 7 };
    lic_pg_snapshot       s     = { 5, 9, own, 2 };
    lic_pg_snapshot       copy  = { 0 };
    char                  bytes[64];
    lic_arena             arena;
    licet_status          status;

    lic_arena_init(&arena, memory);
    if (way == 0)
        status = lic_pg_snapshot_read(&arena, LIC_STR("5:9:5,7"), &s, NULL);
    else if (way == 1)
        status = lic_pg_snapshot_unpack(&arena, LIC_STR("5:4:0,2"), &s, NULL);
    else if (way == 2)
        status = lic_pg_snapshot_receive(&arena, (lic_str){ bytes, send_snapshot(bytes, 2, 5, 9, xip, 2) }, &s, NULL);
    else if (way == 3)
        status = lic_pg_snapshot_complete(&arena, &s, 7, NULL);
    else if (way == 4)
        status = lic_pg_snapshot_complete(&arena, &s, 12, NULL);
    else
        status = lic_pg_snapshot_copy(&arena, &s, &copy) ? LICET_OK : LICET_OUT_OF_MEMORY;
    if (status != LICET_OK)
        assert_true(way < 3 ? s.xmin == 0 && s.xip == NULL && s.xip_count == 0 : s.xmax == 9 && s.xip == own);
    lic_arena_free(&arena);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        licet_status status = LICET_OUT_OF_MEMORY;
        size_t       n      = 0;

        for (; status != LICET_OK; n++) {
            failing_memory failing = fail_after(n);
            lic_memory     memory;

            lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
            status = make_with(&memory, way);
            assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
            assert_int_equal(failing.counts->live_blocks, 0);
        }
        assert_int_equal(n, 2);
    }
}

static void a_copy_is_the_same_with_an_array_of_its_own(void **state)
{
    world           w;
    lic_pg_snapshot s;
    lic_pg_snapshot copy;

    (void)state;
    world_init(&w);
    s = read_good(&w, "5:9:5,7");
    assert_true(lic_pg_snapshot_copy(&w.arena, &s, &copy));
    assert_ptr_not_equal(s.xip, copy.xip);
    assert_string_equal(printed(&w, &copy), "5:9:5,7");
    world_end(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_read_and_printed_as_postgres_has_it),
        cmocka_unit_test(what_is_no_text_of_a_snapshot_is_refused),
        cmocka_unit_test(a_snapshot_holds_65536_running_transactions_and_no_more),
        cmocka_unit_test(a_packed_text_has_distances),
        cmocka_unit_test(a_packed_text_is_refused_unless_it_is_what_would_be_written),
        cmocka_unit_test(the_form_of_the_wire_is_received),
        cmocka_unit_test(what_is_no_form_of_the_wire_is_refused),
        cmocka_unit_test(every_cut_and_every_longer_message_is_refused),
        cmocka_unit_test(every_small_snapshot_sees_what_the_definition_says),
        cmocka_unit_test(one_small_snapshot_dominates_another_iff_it_sees_all_that_the_other_sees),
        cmocka_unit_test(snapshots_of_overlapping_transactions_are_concurrent),
        cmocka_unit_test(a_completed_snapshot_sees_what_it_saw_and_its_own),
        cmocka_unit_test(completing_takes_the_own_transaction_from_its_place),
        cmocka_unit_test(completing_with_no_transaction_is_refused),
        cmocka_unit_test(completing_adds_at_most_65536_running_transactions),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_copy_is_the_same_with_an_array_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
