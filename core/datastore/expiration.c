/* RFC 3339 by hand: the C library's functions look at the locale and the zone of the host. Leap seconds (":60") are
 * refused, as Go does, whose times SpiceDB uses. */
#include "datastore/expiration.h"

#define SECONDS_OF_DAY 86400
#define NANOSECONDS_OF_SECOND 1000000000

typedef struct reader {
    lic_str text;
    size_t  offset;
    bool    failed;
} reader;

static char reader_next(reader *r)
{
    if (r->offset < r->text.size)
        return r->text.data[r->offset++];
    r->failed = true;
    return '\0';
}

static void reader_expect(reader *r, char c)
{
    if (reader_next(r) != c)
        r->failed = true;
}

/* Exactly `digits` digits, a number in [low, high]. */
static int64_t reader_number(reader *r, int digits, int64_t low, int64_t high)
{
    int64_t number = 0;

    for (int i = 0; i < digits; i++) {
        char c = reader_next(r);

        if (c < '0' || c > '9')
            r->failed = true;
        else
            number = number * 10 + (c - '0');
    }
    if (number < low || number > high)
        r->failed = true;
    return number;
}

static uint32_t reader_fraction(reader *r)
{
    uint32_t nanoseconds = 0;
    uint32_t unit        = 100000000;
    size_t   first       = r->offset;

    while (r->offset < r->text.size && r->text.data[r->offset] >= '0' && r->text.data[r->offset] <= '9') {
        nanoseconds += unit * (uint32_t)(r->text.data[r->offset++] - '0');
        unit /= 10;
    }
    if (r->offset == first)
        r->failed = true;
    return nanoseconds;
}

/* Seconds that the local time is ahead of UTC. */
static int64_t reader_offset(reader *r)
{
    char    sign = reader_next(r);
    int64_t seconds;

    if (sign == 'Z')
        return 0;
    if (sign != '+' && sign != '-')
        r->failed = true;
    seconds = reader_number(r, 2, 0, 23) * 3600;
    reader_expect(r, ':');
    seconds += reader_number(r, 2, 0, 59) * 60;
    return sign == '-' ? -seconds : seconds;
}

static bool is_leap_year(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_of_month(int64_t year, int64_t month)
{
    static const int64_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1] + (month == 2 && is_leap_year(year) ? 1 : 0);
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar. Years begin in March here, so that the leap day is the
 * last of its year; an era is 400 years. (Howard Hinnant, "chrono-compatible low-level date algorithms".) */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    int64_t shifted     = year - (month <= 2 ? 1 : 0);
    int64_t era         = shifted / 400;
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static void civil_from_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    int64_t shifted     = days + 719468;
    int64_t era         = shifted / 146097;
    int64_t day_of_era  = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_index = (5 * day_of_year + 2) / 153; /* 0: March */

    *day   = day_of_year - (153 * month_index + 2) / 5 + 1;
    *month = month_index < 10 ? month_index + 3 : month_index - 9;
    *year  = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

bool lic_instant_parse(lic_str text, lic_instant *instant)
{
    static const int64_t first = INT64_C(-62135596800); /* 0001-01-01T00:00:00Z */
    static const int64_t last  = INT64_C(253402300799); /* 9999-12-31T23:59:59Z */
    reader               r     = { text, 0, false };
    int64_t              year  = reader_number(&r, 4, 1, 9999);
    int64_t              month;
    int64_t              day;

    reader_expect(&r, '-');
    month = reader_number(&r, 2, 1, 12);
    reader_expect(&r, '-');
    day = reader_number(&r, 2, 1, 31);
    if (r.failed || day > days_of_month(year, month))
        return false;
    reader_expect(&r, 'T');
    instant->seconds = days_from_civil(year, month, day) * SECONDS_OF_DAY + reader_number(&r, 2, 0, 23) * 3600;
    reader_expect(&r, ':');
    instant->seconds += reader_number(&r, 2, 0, 59) * 60;
    reader_expect(&r, ':');
    instant->seconds += reader_number(&r, 2, 0, 59);
    instant->nanoseconds = 0;
    if (r.offset < text.size && text.data[r.offset] == '.') {
        r.offset++;
        instant->nanoseconds = reader_fraction(&r);
    }
    instant->seconds -= reader_offset(&r);
    return !r.failed && r.offset == text.size && instant->seconds >= first && instant->seconds <= last;
}

lic_instant lic_instant_of(int64_t nanoseconds)
{
    int64_t seconds = nanoseconds / NANOSECONDS_OF_SECOND;
    int64_t rest    = nanoseconds % NANOSECONDS_OF_SECOND;

    if (rest < 0) {
        rest += NANOSECONDS_OF_SECOND;
        seconds--;
    }
    return (lic_instant){ seconds, (uint32_t)rest };
}

static void print_number(lic_text *out, int64_t number, int digits)
{
    char text[20];

    for (int i = digits; i > 0; i--, number /= 10)
        text[i - 1] = (char)('0' + number % 10);
    lic_text_add(out, (lic_str){ text, (size_t)digits });
}

static void print_fraction(lic_text *out, uint32_t nanoseconds)
{
    int digits = 9;

    if (nanoseconds == 0)
        return;
    while (nanoseconds % 10 == 0) {
        nanoseconds /= 10;
        digits--;
    }
    lic_text_add_char(out, '.');
    print_number(out, nanoseconds, digits);
}

void lic_instant_print(lic_instant instant, lic_text *out)
{
    int64_t second = instant.seconds % SECONDS_OF_DAY;
    int64_t days;
    int64_t year;
    int64_t month;
    int64_t day;

    if (second < 0)
        second += SECONDS_OF_DAY;
    days = (instant.seconds - second) / SECONDS_OF_DAY;
    civil_from_days(days, &year, &month, &day);
    print_number(out, year, 4);
    lic_text_add_char(out, '-');
    print_number(out, month, 2);
    lic_text_add_char(out, '-');
    print_number(out, day, 2);
    lic_text_add_char(out, 'T');
    print_number(out, second / 3600, 2);
    lic_text_add_char(out, ':');
    print_number(out, second / 60 % 60, 2);
    lic_text_add_char(out, ':');
    print_number(out, second % 60, 2);
    print_fraction(out, instant.nanoseconds);
    lic_text_add_char(out, 'Z');
}
