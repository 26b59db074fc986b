/* Days are counted with the usual formula for the proleptic Gregorian calendar, which begins its years in March and so has
 * the leap day at their end (Howard Hinnant, "chrono-compatible low-level date algorithms"). */
#include "caveat/time.h"

#include "caveat/number.h"

#define DAY 86400                          /* seconds */
#define FIRST_SECOND INT64_C(-62135596800) /* 0001-01-01T00:00:00Z */
#define LAST_SECOND INT64_C(253402300799)  /* 9999-12-31T23:59:59Z */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t lic_cel_days_from_civil(int64_t year, int month, int day)
{
    int64_t shifted = month <= 2 ? year - 1 : year;
    int64_t era     = floor_divide(shifted, 400);
    int64_t in_era  = shifted - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

lic_cel_civil lic_cel_civil_of(int64_t seconds)
{
    int64_t       days    = floor_divide(seconds, DAY);
    int64_t       clock   = seconds - days * DAY;
    int64_t       shifted = days + 719468;
    int64_t       era     = floor_divide(shifted, 146097);
    int64_t       in_era  = shifted - era * 146097;
    int64_t       year    = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t       in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t       month   = (5 * in_year + 2) / 153; /* 0: March */
    lic_cel_civil civil;

    civil.day         = (int)(in_year - (153 * month + 2) / 5 + 1);
    civil.month       = (int)(month < 10 ? month + 3 : month - 9);
    civil.year        = year + era * 400 + (civil.month <= 2);
    civil.day_of_year = (int)(days - lic_cel_days_from_civil(civil.year, 1, 1));
    civil.day_of_week = (int)(((days + 4) % 7 + 7) % 7);
    civil.hour        = (int)(clock / 3600);
    civil.minute      = (int)(clock / 60 % 60);
    civil.second      = (int)(clock % 60);
    return civil;
}

/* ------------------------------------------------------------- timestamps */

/* What is left of a text that is being read. */
typedef struct reader {
    lic_str rest;
    bool    failed;
} reader;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool next_is(const reader *r, char c)
{
    return r->rest.size > 0 && r->rest.data[0] == c;
}

static void skip(reader *r, size_t count)
{
    r->rest = lic_str_slice(r->rest, count, r->rest.size);
}

static bool accept(reader *r, char c)
{
    if (!next_is(r, c))
        return false;
    skip(r, 1);
    return true;
}

static void expect(reader *r, char c)
{
    if (!accept(r, c))
        r->failed = true;
}

/* A number of exactly `digits` digits within limits. */
static int read_number(reader *r, size_t digits, int least, int most)
{
    int value = 0;

    if (r->rest.size < digits) {
        r->failed = true;
        return least;
    }
    for (size_t i = 0; i < digits; i++) {
        if (!is_digit(r->rest.data[i]))
            r->failed = true;
        else
            value = value * 10 + (r->rest.data[i] - '0');
    }
    skip(r, digits);
    if (value < least || value > most)
        r->failed = true;
    return value;
}

static int days_in_month(int year, int month)
{
    static const int days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    if (month < 1 || month > 12)
        return 0;
    return days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static int read_hour(reader *r, bool strict)
{
    bool one_digit = !strict && r->rest.size > 1 && is_digit(r->rest.data[0]) && !is_digit(r->rest.data[1]);

    return read_number(r, one_digit ? 1 : 2, 0, 23);
}

/* A point and any number of digits, of which nine count. */
static uint32_t read_fraction(reader *r, bool strict)
{
    uint32_t nanoseconds = 0;
    uint32_t unit        = 100000000;

    if (!(next_is(r, '.') || (!strict && next_is(r, ','))) || r->rest.size < 2 || !is_digit(r->rest.data[1]))
        return 0;
    skip(r, 1);
    for (; r->rest.size > 0 && is_digit(r->rest.data[0]); skip(r, 1)) {
        nanoseconds += unit * (uint32_t)(r->rest.data[0] - '0');
        unit /= 10;
    }
    return nanoseconds;
}

/* "Z" or "+hh:mm". Go's limits are lax: "some people do write offsets of 24 hours or 60 minutes". */
static int32_t read_offset(reader *r, bool strict)
{
    bool negative;
    int  hours;
    int  minutes;

    if (accept(r, 'Z'))
        return 0;
    negative = next_is(r, '-');
    if (!negative && !next_is(r, '+')) {
        r->failed = true;
        return 0;
    }
    skip(r, 1);
    hours = read_number(r, 2, 0, strict ? 23 : 24);
    expect(r, ':');
    minutes = read_number(r, 2, 0, strict ? 59 : 60);
    return (negative ? -60 : 60) * (hours * 60 + minutes);
}

bool lic_cel_timestamp_in_range(lic_cel_timestamp timestamp)
{
    return timestamp.seconds >= FIRST_SECOND && timestamp.seconds <= LAST_SECOND;
}

bool lic_cel_timestamp_parse(lic_str text, bool strict, lic_cel_timestamp *timestamp)
{
    reader r = { text, false };
    int    year;
    int    month;
    int    day;
    int    clock;

    year = read_number(&r, 4, 0, 9999);
    expect(&r, '-');
    month = read_number(&r, 2, 1, 12);
    expect(&r, '-');
    day = read_number(&r, 2, 1, days_in_month(year, month));
    expect(&r, 'T');
    clock = read_hour(&r, strict) * 3600;
    expect(&r, ':');
    clock += read_number(&r, 2, 0, 59) * 60;
    expect(&r, ':');
    clock += read_number(&r, 2, 0, 59);
    timestamp->nanoseconds = read_fraction(&r, strict);
    timestamp->offset      = read_offset(&r, strict);
    timestamp->seconds     = 0;
    if (r.failed || r.rest.size > 0)
        return false;
    timestamp->seconds = lic_cel_days_from_civil(year, month, day) * DAY + clock - timestamp->offset;
    return !strict || lic_cel_timestamp_in_range(*timestamp);
}

int lic_cel_timestamp_compare(lic_cel_timestamp a, lic_cel_timestamp b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.nanoseconds > b.nanoseconds) - (a.nanoseconds < b.nanoseconds);
}

bool lic_cel_timestamp_add(lic_cel_timestamp timestamp, int64_t duration, lic_cel_timestamp *sum)
{
    int64_t seconds     = floor_divide(duration, LIC_CEL_SECOND);
    int64_t rest        = (duration % LIC_CEL_SECOND + LIC_CEL_SECOND) % LIC_CEL_SECOND;
    int64_t nanoseconds = rest + timestamp.nanoseconds;

    /* Both are far from the limits of 64 bits: years are at most 10000, durations 292. */
    *sum             = timestamp;
    sum->seconds     = timestamp.seconds + seconds + nanoseconds / LIC_CEL_SECOND;
    sum->nanoseconds = (uint32_t)(nanoseconds % LIC_CEL_SECOND);
    return lic_cel_timestamp_in_range(*sum);
}

bool lic_cel_timestamp_subtract(lic_cel_timestamp a, lic_cel_timestamp b, int64_t *duration)
{
    int64_t nanoseconds = (int64_t)a.nanoseconds - (int64_t)b.nanoseconds;

    return !__builtin_mul_overflow(a.seconds - b.seconds, LIC_CEL_SECOND, duration) &&
           !__builtin_add_overflow(*duration, nanoseconds, duration);
}

/* --------------------------------------------------------------- printing */

typedef struct printer {
    char  *out;
    size_t size;
} printer;

static void put_char(printer *p, char c)
{
    p->out[p->size++] = c;
}

static void put_number(printer *p, int64_t value, int64_t unit)
{
    for (; unit > 0; unit /= 10)
        put_char(p, (char)('0' + value / unit % 10));
}

static void put_year(printer *p, int64_t year)
{
    if (year < 0) {
        put_char(p, '-');
        year = -year;
    }
    put_number(p, year, year > 9999 ? 10000 : 1000);
}

static void put_fraction(printer *p, uint32_t nanoseconds)
{
    if (nanoseconds == 0)
        return;
    put_char(p, '.');
    put_number(p, nanoseconds, 100000000);
    while (p->out[p->size - 1] == '0')
        p->size--;
}

static void put_offset(printer *p, int32_t offset)
{
    if (offset == 0) {
        put_char(p, 'Z');
        return;
    }
    put_char(p, offset < 0 ? '-' : '+');
    offset = offset < 0 ? -offset : offset;
    put_number(p, offset / 3600, 10);
    put_char(p, ':');
    put_number(p, offset / 60 % 60, 10);
}

size_t lic_cel_timestamp_print(lic_cel_timestamp timestamp, char out[LIC_CEL_TIME_SIZE])
{
    lic_cel_civil civil = lic_cel_civil_of(timestamp.seconds + timestamp.offset);
    printer       p     = { out, 0 };

    put_year(&p, civil.year);
    put_char(&p, '-');
    put_number(&p, civil.month, 10);
    put_char(&p, '-');
    put_number(&p, civil.day, 10);
    put_char(&p, 'T');
    put_number(&p, civil.hour, 10);
    put_char(&p, ':');
    put_number(&p, civil.minute, 10);
    put_char(&p, ':');
    put_number(&p, civil.second, 10);
    put_fraction(&p, timestamp.nanoseconds);
    put_offset(&p, timestamp.offset);
    return p.size;
}

/* As SpiceDB, through a double: from 104 days on the last digits of a nanosecond go. */
size_t lic_cel_duration_print(int64_t duration, char out[LIC_CEL_TIME_SIZE])
{
    int64_t whole   = duration / LIC_CEL_SECOND;
    double  seconds = (double)whole + (double)(duration % LIC_CEL_SECOND) / (double)LIC_CEL_SECOND;
    size_t  size    = lic_cel_double_print_plain(seconds, out);

    out[size++] = 's';
    return size;
}

/* -------------------------------------------------------------- durations */

/* Name, nanoseconds. Both signs for micro are in use. */
static const struct unit {
    const char *name;
    uint64_t    size;
} units[] = {
    { "ns", 1 },       { "us", 1000 },      { "\xc2\xb5s", 1000 },          { "\xce\xbcs", 1000 },
    { "ms", 1000000 }, { "s", 1000000000 }, { "m", UINT64_C(60000000000) }, { "h", UINT64_C(3600000000000) },
};

/* A unit is everything up to the next digit or point. 0: there is no such unit. */
static uint64_t read_unit(reader *r)
{
    size_t size = 0;

    while (size < r->rest.size && r->rest.data[size] != '.' && !is_digit(r->rest.data[size]))
        size++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (lic_str_equal(lic_str_slice(r->rest, 0, size), (lic_str){ units[i].name, strlen(units[i].name) })) {
            skip(r, size);
            return units[i].size;
        }
    }
    return 0;
}

#define MOST_NANOSECONDS (UINT64_C(1) << 63) /* of either sign; the positive ones end one before */

/* Digits; false: more than fit. */
static bool read_whole(reader *r, uint64_t *value)
{
    *value = 0;
    for (; r->rest.size > 0 && is_digit(r->rest.data[0]); skip(r, 1)) {
        uint64_t digit = (uint64_t)(r->rest.data[0] - '0');

        if (*value > MOST_NANOSECONDS / 10 || *value * 10 > MOST_NANOSECONDS - digit)
            return false;
        *value = *value * 10 + digit;
    }
    return true;
}

/* The digits of a fraction as value / scale; Go: those that no longer fit don't count. */
static void read_part(reader *r, uint64_t *value, double *scale)
{
    bool full = false;

    *value = 0;
    *scale = 1;
    for (; r->rest.size > 0 && is_digit(r->rest.data[0]); skip(r, 1)) {
        uint64_t digit = (uint64_t)(r->rest.data[0] - '0');

        full |= *value > (uint64_t)INT64_MAX / 10 || *value * 10 > MOST_NANOSECONDS - digit;
        if (full)
            continue;
        *value = *value * 10 + digit;
        *scale *= 10;
    }
}

/* One number with its unit, in nanoseconds. */
static bool read_span(reader *r, uint64_t *span)
{
    size_t   before = r->rest.size;
    uint64_t part   = 0;
    double   scale  = 1;
    bool     any;
    uint64_t unit;

    if (!read_whole(r, span))
        return false;
    any    = r->rest.size != before;
    before = r->rest.size;
    if (accept(r, '.')) {
        read_part(r, &part, &scale);
        any |= before - r->rest.size > 1;
    }
    if (!any)
        return false;
    unit = read_unit(r);
    if (unit == 0 || *span > MOST_NANOSECONDS / unit)
        return false;
    *span *= unit;
    if (part > 0)
        *span += (uint64_t)((double)part * ((double)unit / scale)); /* below one unit, or it by rounding */
    return *span <= MOST_NANOSECONDS;
}

bool lic_cel_duration_parse(lic_str text, int64_t *duration)
{
    reader   r        = { text, false };
    bool     negative = next_is(&r, '-');
    uint64_t total    = 0;
    uint64_t span;

    if (negative || next_is(&r, '+'))
        skip(&r, 1);
    *duration = 0;
    if (r.rest.size == 0)
        return false;
    if (r.rest.size == 1 && r.rest.data[0] == '0')
        return true;
    while (r.rest.size > 0) {
        if (!read_span(&r, &span))
            return false;
        total += span; /* twice 2^63 would be 0 */
        if (total > MOST_NANOSECONDS || total < span)
            return false;
    }
    if (!negative && total == MOST_NANOSECONDS)
        return false;
    *duration = negative ? (int64_t)(0 - total) : (int64_t)total;
    return true;
}
