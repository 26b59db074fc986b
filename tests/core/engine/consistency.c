/* core/engine/token.c, engine.c: tokens and what a consistency asks for (api.md 17, threat-model.md 7). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "engine_world.h"

static licet_status check_with(engine_world *w, licet_freshness freshness, licet_str token, bool *allowed)
{
    licet_check_request request = check_of("document:d1", "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;

    result.permissionship = LICET_HAS_PERMISSION;
    request.consistency   = (licet_consistency){ freshness, token, false };
    licet_error_free(w->error);
    w->error  = NULL;
    w->status = licet_check(w->engine, &request, &result, &w->error);
    *allowed  = licet_result_allowed(&result);
    return w->status;
}

static void each_kind_of_freshness_sees_its_revision(void **state)
{
    engine_world w;
    licet_token  before;
    bool         allowed;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana");
    before = w.token;
    world_delete(&w, "document:d1#viewer@user:ana");
    world_done(&w);
    check_with(&w, LICET_AT_EXACT_SNAPSHOT, text_of(before.text), &allowed);
    world_done(&w);
    assert_true(allowed);
    for (int freshness = LICET_MINIMIZE_LATENCY; freshness <= LICET_AT_LEAST_AS_FRESH; freshness++) {
        check_with(&w, (licet_freshness)freshness, text_of(before.text), &allowed);
        world_done(&w);
        assert_false(allowed);
    }
    check_with(&w, LICET_AT_EXACT_SNAPSHOT, text_of(w.token.text), &allowed);
    world_done(&w);
    assert_false(allowed);
    check_with(&w, (licet_freshness)9, text_of(w.token.text), &allowed);
    assert_false(allowed);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "consistency: 9 is none of the four kinds");
    world_close(&w);
}

static void assert_token_refused(engine_world *w, licet_str token)
{
    bool allowed;

    for (int freshness = LICET_AT_LEAST_AS_FRESH; freshness <= LICET_AT_EXACT_SNAPSHOT; freshness++) {
        assert_int_equal(check_with(w, (licet_freshness)freshness, token, &allowed), LICET_INVALID_TOKEN);
        assert_false(allowed);
        assert_int_equal(licet_error_kind(w->error), LICET_KIND_TOKEN);
        assert_true(licet_error_message(w->error).size < 100);
    }
    licet_error_free(w->error);
    w->error = NULL;
}

static void no_token_but_an_exact_one_is_taken(void **state)
{
    static const char *const bad[] = { "",
                                       " ",
                                       "AAAA",
                                       "!!!!",
                                       "GgIIAQ==",
                                       "CAESAA==",
                                       "0",
                                       "-1",
                                       "18446744073709551616",
                                       "' OR 1=1 --",
                                       "latest",
                                       "\xff"
                                       "AAAA" };
    char                     text[LICET_TOKEN_CAPACITY];
    engine_world             w;
    size_t                   size;
    char                    *huge;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_token_refused(&w, text_of(bad[i]));
    assert_token_refused(&w, (licet_str){ NULL, 0 });
    assert_token_refused(&w, (licet_str){ "\0", 1 });
    size = strlen(w.token.text);
    for (size_t i = 0; i < size; i++) { /* every bit changed, every byte left out, every length cut */
        for (int bit = 1; bit < 256; bit *= 2) {
            memcpy(text, w.token.text, sizeof text);
            text[i] = (char)(text[i] ^ bit);
            assert_token_refused(&w, (licet_str){ text, size });
        }
        memcpy(text, w.token.text, i);
        memcpy(text + i, w.token.text + i + 1, size - i - 1);
        assert_token_refused(&w, (licet_str){ text, size - 1 });
        assert_token_refused(&w, (licet_str){ w.token.text, i });
    }
    memcpy(text, w.token.text, size);
    text[size] = 'A';
    assert_token_refused(&w, (licet_str){ text, size + 1 });
    text[size] = ' ';
    assert_token_refused(&w, (licet_str){ text, size + 1 });
    huge = malloc(10000000);
    assert_non_null(huge);
    memset(huge, 'A', 10000000);
    assert_token_refused(&w, (licet_str){ huge, 10000000 });
    free(huge);
    world_close(&w);
}

static void messages_say_what_is_the_matter_with_a_token(void **state)
{
    engine_world w;
    engine_world other;
    licet_token  token;
    bool         allowed;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana");
    world_open(&other, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana");
    check_with(&w, LICET_AT_LEAST_AS_FRESH, text_of(other.token.text), &allowed);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token belongs to another store");
    check_with(&w, LICET_AT_LEAST_AS_FRESH, text_of(""), &allowed);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is empty");
    check_with(&w, LICET_AT_LEAST_AS_FRESH, text_of("nonsense"), &allowed);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is damaged, or was not made by licet");
    token          = w.token;
    token.text[30] = token.text[30] == 'x' ? 'y' : 'x';
    check_with(&w, LICET_AT_LEAST_AS_FRESH, text_of(token.text), &allowed);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is damaged");
    /* One that the store has not reached, as only the store itself could make it. */
    lic_token_make(&w.engine->identity, 1000000, &token);
    check_with(&w, LICET_AT_LEAST_AS_FRESH, text_of(token.text), &allowed);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "",
                 "the token names a revision that the store has not reached");
    check_with(&w, LICET_AT_EXACT_SNAPSHOT, text_of(token.text), &allowed);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "",
                 "the token names a revision that the store has not reached");
    world_close(&w);
    world_close(&other);
}

static void a_revision_outside_the_window_is_expired_and_the_head_never(void **state)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_token   before;
    engine_world  w;
    bool          allowed;

    (void)state;
    options.history_window_ms = 1;
    world_open(&w, &options, WORLD_SCHEMA, "document:d1#viewer@user:ana");
    before = w.token;
    lic_sleep_us(20000);
    check_with(&w, LICET_AT_EXACT_SNAPSHOT, text_of(before.text), &allowed); /* the head, however old */
    world_done(&w);
    assert_true(allowed);
    world_touch(&w, "document:d2#viewer@user:ana");
    world_done(&w);
    lic_sleep_us(20000);
    check_with(&w, LICET_AT_EXACT_SNAPSHOT, text_of(before.text), &allowed);
    world_failed(&w, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "", "the revision has left the retained history");
    assert_false(allowed);
    check_with(&w, LICET_AT_LEAST_AS_FRESH, text_of(before.text), &allowed);
    world_done(&w);
    assert_true(allowed);
    world_close(&w);
}

/* Shape, then revision, then names. */
static void a_bad_shape_is_told_before_a_bad_token_and_that_before_a_bad_name(void **state)
{
    licet_check_request request = check_of("nosuch:d 1", "view", "user:ana");
    licet_result        result  = LICET_RESULT_INIT;
    engine_world        w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, LICET_STR("nonsense"), false };
    w.status            = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                 "resource id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 2 is another: \"d 1\"");
    request.resource = LICET_STR("nosuch:d1");
    w.status         = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "", "the token is damaged, or was not made by licet");
    request.consistency.token = text_of(w.token.text);
    w.status                  = licet_check(w.engine, &request, &result, &w.error);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `nosuch` not found");
    world_close(&w);
}

static void tokens_are_safe_in_a_url(void **state)
{
    engine_world w;

    (void)state;
    world_open(&w, NULL, WORLD_SCHEMA, NULL);
    assert_int_equal(strlen(w.token.text), 48);
    assert_int_equal(strspn(w.token.text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 48);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_freshness_sees_its_revision),
        cmocka_unit_test(no_token_but_an_exact_one_is_taken),
        cmocka_unit_test(messages_say_what_is_the_matter_with_a_token),
        cmocka_unit_test(a_revision_outside_the_window_is_expired_and_the_head_never),
        cmocka_unit_test(a_bad_shape_is_told_before_a_bad_token_and_that_before_a_bad_name),
        cmocka_unit_test(tokens_are_safe_in_a_url),
    };

    return cmocka_run_group_tests_name("engine/consistency", tests, NULL, NULL);
}
