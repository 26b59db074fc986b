/* core/caveat/time.c and zone.c: moments, spans of time, zones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "caveat/time.h"
#include "caveat/zone.h"

static lic_str str(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

static void a_timestamp_prints_as_it_was_written(void **state)
{
    static const struct {
        const char *text;
        int64_t     seconds;
        uint32_t    nanoseconds;
        const char *printed;
    } cases[] = {
        { "1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z" },
        { "2009-02-13T23:31:30Z", 1234567890, 0, "2009-02-13T23:31:30Z" },
        { "2009-02-13T23:31:30.120Z", 1234567890, 120000000, "2009-02-13T23:31:30.12Z" },
        { "2009-02-14T01:31:30+02:00", 1234567890, 0, "2009-02-14T01:31:30+02:00" },
        { "2009-02-13T20:01:30-03:30", 1234567890, 0, "2009-02-13T20:01:30-03:30" },
        { "2009-02-13T23:31:30-00:00", 1234567890, 0, "2009-02-13T23:31:30Z" },
        { "2024-02-29T12:00:00.000000001Z", 1709208000, 1, "2024-02-29T12:00:00.000000001Z" },
        { "9999-12-31T23:59:59.999999999Z", 253402300799, 999999999, "9999-12-31T23:59:59.999999999Z" },
        { "0001-01-01T00:00:00Z", -62135596800, 0, "0001-01-01T00:00:00Z" },
        { "1969-12-31T23:59:59.5Z", -1, 500000000, "1969-12-31T23:59:59.5Z" },
        { "2000-01-01T00:00:00.1234567899999Z", 946684800, 123456789, "2000-01-01T00:00:00.123456789Z" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lic_cel_timestamp t;
        char              out[LIC_CEL_TIME_SIZE + 1];

        assert_true(lic_cel_timestamp_parse(str(cases[i].text), true, &t));
        assert_int_equal(t.seconds, cases[i].seconds);
        assert_int_equal(t.nanoseconds, cases[i].nanoseconds);
        out[lic_cel_timestamp_print(t, out)] = '\0';
        assert_string_equal(out, cases[i].printed);
    }
}

/* Where Go is lax, a strict reader is not. */
static void lax_timestamps_are_read_only_where_they_may_be(void **state)
{
    static const struct {
        const char *text;
        int64_t     seconds;
    } cases[] = {
        { "2023-01-01T1:02:03Z", 1672534923 },       { "2023-01-01T00:00:00,5Z", 1672531200 },
        { "2023-01-01T00:00:00+24:00", 1672444800 }, { "2023-01-01T00:00:00+00:60", 1672527600 },
        { "0000-01-01T00:00:00Z", -62167219200 },
    };
    lic_cel_timestamp t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(lic_cel_timestamp_parse(str(cases[i].text), false, &t));
        assert_int_equal(t.seconds, cases[i].seconds);
        assert_false(lic_cel_timestamp_parse(str(cases[i].text), true, &t));
    }
}

static void what_is_no_timestamp_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "2023-01-01",
        "2023-02-29T00:00:00Z",
        "2023-02-30T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2023-04-31T00:00:00Z",
        "2023-00-01T00:00:00Z",
        "2023-13-01T00:00:00Z",
        "2023-01-00T00:00:00Z",
        "2016-12-31T23:59:60Z",
        "2023-01-01T24:00:00Z",
        "2023-01-01T00:60:00Z",
        "2023-01-01t00:00:00Z",
        "2023-01-01T00:00:00z",
        "2023-01-01 00:00:00Z",
        "2023-01-01T00:00:00",
        "2023-01-01T00:00:00.Z",
        "2023-01-01T00:00:00+0200",
        "2023-01-01T00:00:00+2:00",
        "2023-01-01T00:00:00+25:00",
        "2023-01-01T00:00:00+00:61",
        "2023-01-01T00:00:00+00:00 ",
        "2023-01-01T00:00:00ZZ",
        "10000-01-01T00:00:00Z",
        "-001-01-01T00:00:00Z",
        "+001-01-01T00:00:00Z",
        "2023-1-01T00:00:00Z",
        "1700000000",
    };
    lic_cel_timestamp t;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(lic_cel_timestamp_parse(str(texts[i]), false, &t));
        assert_false(lic_cel_timestamp_parse(str(texts[i]), true, &t));
    }
    assert_false(lic_cel_timestamp_parse((lic_str){ "2023-01-01T00:00:00Z\0", 21 }, false, &t));
}

static void every_day_is_counted_once(void **state)
{
    int64_t before = lic_cel_days_from_civil(0, 1, 1) - 1;

    (void)state;
    for (int64_t days = before + 1; days < 3000000; days++) {
        lic_cel_civil civil = lic_cel_civil_of(days * 86400 + 86399);

        assert_int_equal(lic_cel_days_from_civil(civil.year, civil.month, civil.day), days);
        assert_int_equal(civil.hour * 3600 + civil.minute * 60 + civil.second, 86399);
        assert_true(civil.day_of_year >= 0 && civil.day_of_year <= 365);
        assert_int_equal(civil.day_of_week, (days + 4 + 7 * 1000000) % 7);
    }
}

static void a_duration_is_read_as_go_reads_it(void **state)
{
    static const struct {
        const char *text;
        int64_t     duration;
        const char *printed;
    } cases[] = {
        { "0", 0, "0s" },
        { "+0", 0, "0s" },
        { "1h30m", INT64_C(5400000000000), "5400s" },
        { "-1.5s", -1500000000, "-1.5s" },
        { ".5s", 500000000, "0.5s" },
        { "5.s", 5000000000, "5s" },
        { "1h0.5m", INT64_C(3630000000000), "3630s" },
        { "3ns", 3, "0.000000003s" },
        { "3us", 3000, "0.000003s" },
        { "3\xc2\xb5s", 3000, "0.000003s" },
        { "3\xce\xbcs", 3000, "0.000003s" },
        { "3ms", 3000000, "0.003s" },
        { "1s1s", 2000000000, "2s" },
        { "0.3333333333333333333h", INT64_C(1200000000000), "1200s" },
        { "9223372036854775807ns", INT64_MAX, "9223372036.854776s" },
        { "-9223372036854775808ns", INT64_MIN, "-9223372036.854776s" },
        { "0.100000000000000000000h", INT64_C(360000000000), "360s" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t duration;
        char    out[LIC_CEL_TIME_SIZE + 1];

        assert_true(lic_cel_duration_parse(str(cases[i].text), &duration));
        assert_int_equal(duration, cases[i].duration);
        out[lic_cel_duration_print(duration, out)] = '\0';
        assert_string_equal(out, cases[i].printed);
    }
}

static void what_is_no_duration_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "-",
        "5",
        "1d",
        ".s",
        "1h1",
        "1 s",
        " 1s",
        "1e3s",
        "1h-5m",
        "--1s",
        "1s ",
        "\xef\xbc\x91s",
        "1H",
        "s",
        "3000000h",
        "9223372036854775808ns",
        "-9223372036854775809ns",
        "2562047h47m16.854775808s",
        "00",
        "9223372036854775807ns9223372036854775807ns2ns",
    };
    int64_t duration;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(lic_cel_duration_parse(str(texts[i]), &duration));
}

static void sums_end_where_years_do(void **state)
{
    lic_cel_timestamp last  = { 253402300799, 999999999, 0 };
    lic_cel_timestamp first = { -62135596800, 0, 0 };
    lic_cel_timestamp sum;
    int64_t           duration;

    (void)state;
    assert_false(lic_cel_timestamp_add(last, 1, &sum));
    assert_false(lic_cel_timestamp_add(first, -1, &sum));
    assert_true(lic_cel_timestamp_add(last, -1, &sum));
    assert_int_equal(sum.nanoseconds, 999999998);
    assert_true(lic_cel_timestamp_add(first, 1500000000, &sum));
    assert_int_equal(sum.seconds, -62135596799);
    assert_int_equal(sum.nanoseconds, 500000000);
    assert_true(lic_cel_timestamp_add((lic_cel_timestamp){ 0, 0, 0 }, INT64_MIN, &sum));
    assert_int_equal(sum.seconds, -9223372037);
    assert_int_equal(sum.nanoseconds, 145224192);
    assert_false(lic_cel_timestamp_subtract(last, first, &duration));
    assert_true(lic_cel_timestamp_subtract((lic_cel_timestamp){ 1, 0, 0 }, (lic_cel_timestamp){ 0, 1, 0 }, &duration));
    assert_int_equal(duration, 999999999);
}

/* The offset of a zone at a moment; fails the test when there is no such zone. */
static int64_t offset_at(const char *name, const char *moment)
{
    lic_memory        memory;
    lic_arena         arena;
    lic_cel_timestamp t;
    const lic_zone   *zone;
    size_t            budget = 1 << 20;
    int64_t           offset;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_true(lic_cel_timestamp_parse(str(moment), false, &t));
    assert_int_equal(lic_zone_load(&arena, str(name), &budget, &zone), LIC_ZONE_OK);
    offset = lic_zone_offset(zone, t.seconds);
    lic_arena_free(&arena);
    return offset;
}

static void zones_have_their_offsets(void **state)
{
    static const struct {
        const char *name;
        const char *moment;
        int64_t     offset;
    } cases[] = {
        { "", "2023-07-01T00:00:00Z", 0 },
        { "UTC", "2023-07-01T00:00:00Z", 0 },
        { "Local", "2023-07-01T00:00:00Z", 0 },
        { "Etc/GMT+5", "2023-07-01T00:00:00Z", -18000 },
        { "Europe/Berlin", "2023-01-01T00:00:00Z", 3600 },
        { "Europe/Berlin", "2023-07-01T00:00:00Z", 7200 },
        { "Europe/Berlin", "2023-03-26T00:59:59Z", 3600 },
        { "Europe/Berlin", "2023-03-26T01:00:00Z", 7200 },
        { "Europe/Berlin", "2023-10-29T00:59:59Z", 7200 },
        { "Europe/Berlin", "2023-10-29T01:00:00Z", 3600 },
        { "Europe/Berlin", "2150-07-01T00:00:00Z", 7200 }, /* by the rule behind the table */
        { "Europe/Berlin", "2150-12-01T00:00:00Z", 3600 },
        { "Europe/Berlin", "1800-01-01T00:00:00Z", 3208 }, /* local mean time */
        { "Australia/Sydney", "2150-01-01T00:00:00Z", 39600 },
        { "Australia/Sydney", "2150-07-01T00:00:00Z", 36000 },
        { "America/New_York", "2100-03-14T06:59:59Z", -18000 },
        { "America/New_York", "2100-03-14T07:00:00Z", -14400 },
        { "Asia/Kolkata", "2023-01-01T00:00:00Z", 19800 },
        { "+02:00", "2023-01-01T00:00:00Z", 7200 },
        { "-02:30", "2023-01-01T00:00:00Z", -9000 },
        { "02:00", "2023-01-01T00:00:00Z", 7200 },
        { "-0:30", "2023-01-01T00:00:00Z", -1800 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(offset_at(cases[i].name, cases[i].moment), cases[i].offset);
}

static void names_of_zones_open_no_other_files(void **state)
{
    static const char *const names[] = {
        "Mars/Olympus",
        "..",
        "../zoneinfo/UTC",
        "/etc/passwd",
        "Europe/../../../../etc/passwd",
        "Europe",
        "zone.tab",
        "tzdata.zi",
        "\\UTC",
        "Europe/Berlin ",
        "+24:00",
        "+02:60",
        "+02:-1",
        ":",
        "+:30",
        "1:2:3",
        "Europe\xc3\xbc",
        "a:b",
    };
    static const char with_nul[] = "UTC\0/../../etc";
    lic_memory        memory;
    lic_arena         arena;
    const lic_zone   *zone;
    size_t            budget = 1 << 20;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(lic_zone_load(&arena, str(names[i]), &budget, &zone), LIC_ZONE_UNKNOWN);
    assert_int_equal(lic_zone_load(&arena, (lic_str){ with_nul, sizeof with_nul - 1 }, &budget, &zone),
                     LIC_ZONE_UNKNOWN);
    budget = 100;
    assert_int_equal(lic_zone_load(&arena, LIC_STR("Europe/Berlin"), &budget, &zone), LIC_ZONE_NO_BUDGET);
    lic_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timestamp_prints_as_it_was_written),
        cmocka_unit_test(lax_timestamps_are_read_only_where_they_may_be),
        cmocka_unit_test(what_is_no_timestamp_is_refused),
        cmocka_unit_test(every_day_is_counted_once),
        cmocka_unit_test(a_duration_is_read_as_go_reads_it),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(sums_end_where_years_do),
        cmocka_unit_test(zones_have_their_offsets),
        cmocka_unit_test(names_of_zones_open_no_other_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
