/* core/datastore/postgres/token.c: only what was made comes back. The sealed texts here are made with Python's hmac. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/token.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdlib.h>

#include "base/base64.h"
#include "failing_memory.h"

static const char GOOD[] = "AnCgoaKjpKWmp6ipqqusra6vAAAAAQA4MzU4NTo1OjAsMiAXoYarpdtYFP6Vrnwl2W3t";

static lic_pg_identity identity_of(uint32_t timeline)
{
    lic_pg_identity identity = { .timeline = timeline };

    for (size_t i = 0; i < sizeof identity.mark; i++)
        identity.mark[i] = (uint8_t)(0xa0 + i);
    for (size_t i = 0; i < sizeof identity.key; i++)
        identity.key[i] = (uint8_t)(1 + i);
    return identity;
}

typedef struct world {
    lic_pg_identity identity;
    lic_memory      memory;
    lic_arena       arena;
} world;

static void world_init(world *w)
{
    w->identity = identity_of(1);
    lic_memory_init(&w->memory, NULL, SIZE_MAX);
    lic_arena_init(&w->arena, &w->memory);
}

static void world_end(world *w)
{
    lic_arena_free(&w->arena);
    assert_int_equal(w->memory.used, 0);
}

static lic_str str(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

static lic_pg_snapshot snapshot_of(world *w, const char *text)
{
    lic_pg_snapshot snapshot;

    assert_int_equal(lic_pg_snapshot_read(&w->arena, str(text), &snapshot, NULL), LICET_OK);
    return snapshot;
}

static licet_token token_of(world *w, const char *snapshot)
{
    lic_pg_snapshot s = snapshot_of(w, snapshot);
    licet_token     token;

    assert_true(lic_pg_token_make(&w->identity, &s, &token));
    return token;
}

/* All of the snapshot, xmin too. */
static void assert_same(const lic_pg_snapshot *a, const lic_pg_snapshot *b)
{
    assert_true(a->xmin == b->xmin && a->xmax == b->xmax && a->xip_count == b->xip_count);
    if (a->xip_count > 0)
        assert_memory_equal(a->xip, b->xip, a->xip_count * sizeof *a->xip);
}

static void assert_refused(world *w, lic_str text, const char *message)
{
    lic_pg_snapshot snapshot;
    bool            exact = true;
    licet_error    *error = NULL;

    assert_int_equal(lic_pg_token_read(&w->identity, &w->arena, text, &snapshot, &exact, &error), LICET_INVALID_TOKEN);
    assert_int_equal(licet_error_kind(error), LICET_KIND_TOKEN);
    if (message != NULL)
        assert_true(lic_str_equal(licet_error_message(error), str(message)));
    assert_true(snapshot.xmin == 0 && snapshot.xmax == 0 && snapshot.xip == NULL && snapshot.xip_count == 0);
    assert_false(exact);
    licet_error_free(error);
}

#define DAMAGED "the token is damaged"
#define NOT_OURS "the token is damaged, or was not made by licet for Postgres"

/* ---------------------------------------------------------------- what is made */

static void a_token_is_these_bytes(void **state)
{
    static const struct {
        const char *snapshot;
        uint32_t    timeline;
        const char *text;
    } cases[] = {
        { "83585:83590:83585,83587", 1, GOOD },
        { "83585:83590:83585,83587", 0x01020304,
          "AnCgoaKjpKWmp6ipqqusra6vAQIDBAA4MzU4NTo1OjAsMiDgSW0w7c7FNWk5PeUxwulB" },
        { "1:1:", 1, "AnCgoaKjpKWmp6ipqqusra6vAAAAAQAxOjA6ICBDcLPZIsFV2lxM_9HMjxIn" },
        { "10:20:10", 1, "AnCgoaKjpKWmp6ipqqusra6vAAAAAQAxMDoxMDowICDlrbIN0imrZxRQssEGYFFE" },
    };
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lic_pg_snapshot expected = snapshot_of(&w, cases[i].snapshot);
        lic_pg_snapshot read;
        licet_token     token;
        bool            exact = false;

        w.identity = identity_of(cases[i].timeline);
        token      = token_of(&w, cases[i].snapshot);
        assert_string_equal(token.text, cases[i].text);
        assert_int_equal(lic_pg_token_read(&w.identity, &w.arena, str(token.text), &read, &exact, NULL), LICET_OK);
        assert_true(exact);
        assert_same(&read, &expected);
    }
    world_end(&w);
}

static void the_rest_of_the_record_is_zero(void **state)
{
    world       w;
    licet_token token;

    (void)state;
    world_init(&w);
    token = token_of(&w, "83585:83590:83585,83587");
    for (size_t i = strlen(GOOD); i < sizeof token.text; i++)
        assert_int_equal(token.text[i], 0);
    world_end(&w);
}

/* Snapshots with `count` running, every second number from `first` on. */
static lic_pg_snapshot crowded(world *w, uint64_t first, size_t count)
{
    lic_pg_snapshot s = { first, first + 2 * count + 1, lic_new_array(&w->arena, count, uint64_t), count };

    assert_non_null(s.xip);
    for (size_t i = 0; i < count; i++)
        s.xip[i] = first + 2 * i;
    return s;
}

static void snapshots_of_any_size_that_fits_come_back(void **state)
{
    static const uint64_t firsts[] = { 1, 99, 83585, UINT64_C(9223372036854770000) };
    world                 w;

    (void)state;
    world_init(&w);
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
        for (size_t count = 1; count <= 160; count++) {
            lic_pg_snapshot s = crowded(&w, firsts[f], count);
            lic_pg_snapshot read;
            licet_token     token;
            bool            exact = false;

            assert_true(lic_pg_token_make(&w.identity, &s, &token));
            assert_int_equal(strlen(token.text) % 4, 0);
            assert_int_equal(lic_pg_token_read(&w.identity, &w.arena, str(token.text), &read, &exact, NULL), LICET_OK);
            assert_true(exact);
            assert_same(&read, &s);
        }
    }
    world_end(&w);
}

static void more_running_than_fit_are_left_out_and_the_token_says_so(void **state)
{
    world           w;
    lic_pg_snapshot s;
    lic_pg_snapshot read;
    licet_token     token;
    bool            exact = false;

    (void)state;
    world_init(&w);
    /* "5:343:" and "0", then ",2" 169 times: 345 bytes, all that there is room for. */
    s = crowded(&w, 5, 170);
    s.xmax += 2;
    assert_true(lic_pg_token_make(&w.identity, &s, &token));
    assert_int_equal(strlen(token.text), 512);
    assert_int_equal(lic_pg_token_read(&w.identity, &w.arena, str(token.text), &read, &exact, NULL), LICET_OK);
    assert_true(exact);
    assert_same(&read, &s);
    /* One more. */
    s = crowded(&w, 5, 171);
    assert_true(lic_pg_token_make(&w.identity, &s, &token));
    assert_int_equal(strlen(token.text), 60);
    assert_int_equal(lic_pg_token_read(&w.identity, &w.arena, str(token.text), &read, &exact, NULL), LICET_OK);
    assert_false(exact);
    assert_true(read.xmin == 5 && read.xmax == 5 + 2 * 171 + 1 && read.xip_count == 0);
    assert_true(lic_pg_snapshot_dominates(&read, &s));
    world_end(&w);
}

static void an_inexact_token_is_these_bytes(void **state)
{
    world           w;
    lic_pg_snapshot s;
    lic_pg_snapshot read;
    licet_token     token;
    bool            exact = true;

    (void)state;
    world_init(&w);
    s      = crowded(&w, 5, 400);
    s.xmax = 1005;
    assert_true(lic_pg_token_make(&w.identity, &s, &token));
    assert_string_equal(token.text, "AnCgoaKjpKWmp6ipqqusra6vAAAAAQE1OjEwMDA6ICAu7RPxk5Gz89qNeGh6ptR2");
    assert_int_equal(lic_pg_token_read(&w.identity, &w.arena, str(token.text), &read, &exact, NULL), LICET_OK);
    assert_false(exact);
    world_end(&w);
}

/* ---------------------------------------------------------------- what is refused */

static void every_flipped_bit_of_the_text_is_refused(void **state)
{
    world w;
    char  text[sizeof GOOD];

    (void)state;
    world_init(&w);
    for (size_t bit = 0; bit < 8 * (sizeof GOOD - 1); bit++) {
        memcpy(text, GOOD, sizeof GOOD);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        assert_refused(&w, (lic_str){ text, sizeof GOOD - 1 }, NULL);
    }
    world_end(&w);
}

static const char *message_for(size_t byte)
{
    if (byte < 2)
        return NOT_OURS;
    return byte < 2 + LIC_PG_MARK_BYTES ? "the token belongs to another store" : DAMAGED;
}

static void every_flipped_bit_below_the_text_is_refused(void **state)
{
    const size_t size = (sizeof GOOD - 1) / 4 * 3;
    uint8_t      bytes[64];
    world        w;
    char         text[sizeof GOOD];

    (void)state;
    world_init(&w);
    assert_true(lic_base64_decode(str(GOOD), bytes, size));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        lic_base64_encode(bytes, size, text);
        assert_refused(&w, str(text), message_for(bit / 8));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    world_end(&w);
}

static void every_deleted_or_doubled_byte_and_every_cut_is_refused(void **state)
{
    const size_t size = sizeof GOOD - 1;
    world        w;

    (void)state;
    world_init(&w);
    for (size_t at = 0; at < size; at++) {
        char *shorter = test_malloc(size); /* of their own sizes, so that reading past them shows */
        char *longer  = test_malloc(size + 1);
        char *cut     = test_malloc(at + 1);

        memcpy(shorter, GOOD, at);
        memcpy(shorter + at, GOOD + at + 1, size - at - 1);
        assert_refused(&w, (lic_str){ shorter, size - 1 }, NOT_OURS);
        memcpy(longer, GOOD, at + 1);
        memcpy(longer + at + 1, GOOD + at, size - at);
        assert_refused(&w, (lic_str){ longer, size + 1 }, NOT_OURS);
        memcpy(cut, GOOD, at);
        assert_refused(&w, (lic_str){ cut, at }, at == 0 ? "the token is empty" : NULL);
        test_free(shorter);
        test_free(longer);
        test_free(cut);
    }
    world_end(&w);
}

static void a_text_that_is_no_token_is_refused(void **state)
{
    world w;
    char  large[2048];

    (void)state;
    world_init(&w);
    memset(large, 'A', sizeof large);
    assert_refused(&w, (lic_str){ NULL, 0 }, "the token is empty");
    assert_refused(&w, LIC_STR(""), "the token is empty");
    assert_refused(&w, LIC_STR("nonsense"), NOT_OURS);
    for (size_t size = 1; size < sizeof large; size++)
        assert_refused(&w, (lic_str){ large, size }, NOT_OURS);
    world_end(&w);
}

static void tokens_are_bound_to_store_key_and_timeline(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    for (size_t i = 0; i < sizeof w.identity.mark; i++) {
        w.identity.mark[i] ^= 1;
        assert_refused(&w, str(GOOD), "the token belongs to another store");
        w.identity.mark[i] ^= 1;
    }
    for (size_t i = 0; i < sizeof w.identity.key; i++) {
        w.identity.key[i] ^= 0x80;
        assert_refused(&w, str(GOOD), DAMAGED);
        w.identity.key[i] ^= 0x80;
    }
    for (uint32_t timeline = 2; timeline != 0; timeline <<= 1) {
        w.identity.timeline = timeline;
        assert_refused(&w, str(GOOD),
                       "the token is of another timeline: the database has failed over or was restored since");
    }
    world_end(&w);
}

/* With a good seal, which only who has the key can make. */
static void assert_sealed_refused(const char *text, const char *message)
{
    world w;

    world_init(&w);
    assert_refused(&w, str(text), message);
    world_end(&w);
}

static void what_is_sealed_but_not_as_we_write_it_is_refused(void **state)
{
    (void)state;
    assert_sealed_refused("AnCgoaKjpKWmp6ipqqusra6vAAAAAQIxOjA6ICDxKiKRaFPaZyaaet9gLiOO",
                          "the token was made by a newer licet");
    assert_sealed_refused("AnCgoaKjpKWmp6ipqqusra6vAAAAAQE4MzU4NTo1OjAsMiBA09b58FcsEA9R3ii7WD7R", DAMAGED);
    assert_sealed_refused("AnCgoaKjpKWmp6ipqqusra6vAAAAAQAxMjozNDogICDgzsQWphqte6Xk40hyHgQe",
                          "not a snapshot of Postgres");
    assert_sealed_refused("AnCgoaKjpKWmp6ipqqusra6vAAAAAQAgICAgICCe5kz3SQICmFKaOjA7AwKt", "not a snapshot of Postgres");
    assert_sealed_refused("AnCgoaKjpKWmp6ipqqusra6vAAAAAQAwOjE6ICB15LAPqnOoNV-1arkzKf30", "not a snapshot of Postgres");
}

/* ---------------------------------------------------------------- memory */

static void a_failed_allocation_is_reported(void **state)
{
    lic_pg_identity identity = identity_of(1);
    licet_status    status   = LICET_OUT_OF_MEMORY;
    size_t          n        = 0;

    (void)state;
    for (; status != LICET_OK; n++) {
        failing_memory  failing = fail_after(n);
        lic_memory      memory;
        lic_arena       arena;
        lic_pg_snapshot snapshot;
        bool            exact;

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        lic_arena_init(&arena, &memory);
        status = lic_pg_token_read(&identity, &arena, str(GOOD), &snapshot, &exact, NULL);
        assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
        assert_int_equal(exact, status == LICET_OK);
        lic_arena_free(&arena);
        assert_int_equal(failing.counts->live_blocks, 0);
    }
    assert_int_equal(n, 2);
}

/* What libcrypto allocates; number `crypto_failing` from now fails. */
static size_t crypto_failing = SIZE_MAX;

static void *crypto_realloc(void *block, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    if (crypto_failing != SIZE_MAX && crypto_failing-- == 0)
        return NULL;
    return realloc(block, size);
}

static void *crypto_malloc(size_t size, const char *file, int line)
{
    return crypto_realloc(NULL, size, file, line);
}

static void crypto_free(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    free(block);
}

/* One making and one reading, with libcrypto's allocation number n failing; both must say so or be right. */
static bool try_without_crypto_memory(world *w, const lic_pg_snapshot *snapshot, size_t n)
{
    licet_token     token;
    lic_pg_snapshot read;
    bool            exact;
    bool            is_made;
    licet_status    status;
    bool            has_failed;

    crypto_failing = n;
    is_made        = lic_pg_token_make(&w->identity, snapshot, &token);
    has_failed     = crypto_failing == SIZE_MAX;
    crypto_failing = n;
    status         = lic_pg_token_read(&w->identity, &w->arena, str(GOOD), &read, &exact, NULL);
    has_failed     = has_failed || crypto_failing == SIZE_MAX;
    crypto_failing = SIZE_MAX;
    assert_string_equal(token.text, is_made ? GOOD : "");
    assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
    assert_int_equal(exact, status == LICET_OK);
    return has_failed;
}

static void libcrypto_without_memory_makes_no_token_and_leaves_no_error(void **state)
{
    world           w;
    lic_pg_snapshot snapshot;
    size_t          n = 0;

    (void)state;
    world_init(&w);
    snapshot = snapshot_of(&w, "83585:83590:83585,83587");
    ERR_clear_error();
    while (try_without_crypto_memory(&w, &snapshot, n))
        n++;
    assert_true(n > 0);
    assert_int_equal(ERR_peek_error(), 0);
    ERR_raise(ERR_LIB_USER, 7); /* the application's own */
    for (size_t i = 0; i <= n; i++)
        try_without_crypto_memory(&w, &snapshot, i);
    assert_int_equal(ERR_GET_REASON(ERR_get_error()), 7);
    assert_int_equal(ERR_get_error(), 0);
    ERR_raise(ERR_LIB_USER, 8);
    assert_string_equal(token_of(&w, "83585:83590:83585,83587").text, GOOD);
    assert_int_equal(ERR_pop_to_mark(), 0); /* no mark of ours is left either */
    world_end(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_these_bytes),
        cmocka_unit_test(the_rest_of_the_record_is_zero),
        cmocka_unit_test(snapshots_of_any_size_that_fits_come_back),
        cmocka_unit_test(more_running_than_fit_are_left_out_and_the_token_says_so),
        cmocka_unit_test(an_inexact_token_is_these_bytes),
        cmocka_unit_test(every_flipped_bit_of_the_text_is_refused),
        cmocka_unit_test(every_flipped_bit_below_the_text_is_refused),
        cmocka_unit_test(every_deleted_or_doubled_byte_and_every_cut_is_refused),
        cmocka_unit_test(a_text_that_is_no_token_is_refused),
        cmocka_unit_test(tokens_are_bound_to_store_key_and_timeline),
        cmocka_unit_test(what_is_sealed_but_not_as_we_write_it_is_refused),
        cmocka_unit_test(a_failed_allocation_is_reported),
        cmocka_unit_test(libcrypto_without_memory_makes_no_token_and_leaves_no_error),
    };

    if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) != 1)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
