/* core/datastore/expiration.c: RFC 3339, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "datastore/expiration.h"

static void times_are_seconds_since_1970_and_print_as_utc(void **state)
{
    static const struct {
        const char *text;
        int64_t     seconds;
        uint32_t    nanoseconds;
        const char *printed; /* NULL: the same */
    } cases[] = {
        { "1970-01-01T00:00:00Z", 0, 0, NULL },
        { "1969-12-31T23:59:59.5Z", -1, 500000000, NULL },
        { "2030-01-02T03:04:05Z", 1893553445, 0, NULL },
        { "2000-02-29T12:00:00Z", 951825600, 0, NULL },
        { "2024-02-29T23:59:59.999999999Z", 1709251199, 999999999, NULL },
        { "2024-02-29T23:59:59.9999999999Z", 1709251199, 999999999, "2024-02-29T23:59:59.999999999Z" },
        { "1900-03-01T00:00:00Z", -2203891200, 0, NULL },
        { "0001-01-01T00:00:00Z", -62135596800, 0, NULL },
        { "9999-12-31T23:59:59Z", 253402300799, 0, NULL },
        { "2030-01-01T00:00:00+01:00", 1893452400, 0, "2029-12-31T23:00:00Z" },
        { "2030-01-01T00:00:00-23:59", 1893542340, 0, "2030-01-01T23:59:00Z" },
        { "2030-01-01T00:00:00.10Z", 1893456000, 100000000, "2030-01-01T00:00:00.1Z" },
        { "2030-01-01T00:00:00.000Z", 1893456000, 0, "2030-01-01T00:00:00Z" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *expected = cases[i].printed != NULL ? cases[i].printed : cases[i].text;
        lic_memory  memory;
        lic_text    out;
        lic_instant instant;

        lic_memory_init(&memory, NULL, SIZE_MAX);
        lic_text_init(&out, &memory);
        assert_true(lic_instant_parse((lic_str){ cases[i].text, strlen(cases[i].text) }, &instant));
        assert_int_equal(instant.seconds, cases[i].seconds);
        assert_int_equal(instant.nanoseconds, cases[i].nanoseconds);
        lic_instant_print(instant, &out);
        assert_int_equal(out.size, strlen(expected));
        assert_memory_equal(out.data, expected, out.size);
        lic_text_free(&out);
    }
}

/* Every day of 10,000 years, there and back. */
static void no_day_is_lost(void **state)
{
    lic_memory memory;
    lic_text   out;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&out, &memory);
    for (int64_t day = -719162; day <= 2932896; day += 7) {
        lic_instant instant = { day * 86400 + 3661, 0 };
        lic_instant again;

        out.size = 0;
        lic_instant_print(instant, &out);
        assert_true(lic_instant_parse(lic_text_str(&out), &again));
        assert_int_equal(again.seconds, instant.seconds);
    }
    lic_text_free(&out);
}

static void what_is_no_time_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "2030",
        "2030-01-01",
        "2030-01-01T00:00:00",
        "2030-01-01T00:00Z",
        "2030-01-01 00:00:00Z",
        "2030-01-01t00:00:00z",
        "2030-1-1T00:00:00Z",
        "2030-00-01T00:00:00Z",
        "2030-13-01T00:00:00Z",
        "2030-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2030-04-31T00:00:00Z",
        "2030-01-01T24:00:00Z",
        "2030-01-01T00:60:00Z",
        "2030-01-01T00:00:60Z",
        "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00,5Z",
        "2030-01-01T00:00:00Z ",
        "2030-01-01T00:00:00ZZ",
        "2030-01-01T00:00:00+1:00",
        "2030-01-01T00:00:00+24:00",
        "2030-01-01T00:00:00+01:60",
        "2030-01-01T00:00:00+0100",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "12030-01-01T00:00:00Z",
        "-030-01-01T00:00:00Z",
        "203\xc2\xb2-01-01T00:00:00Z",
    };
    lic_instant instant;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (lic_instant_parse((lic_str){ bad[i], strlen(bad[i]) }, &instant))
            fail_msg("%s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_seconds_since_1970_and_print_as_utc),
        cmocka_unit_test(no_day_is_lost),
        cmocka_unit_test(what_is_no_time_is_refused),
    };

    return cmocka_run_group_tests_name("datastore/expiration", tests, NULL, NULL);
}
