/* A file has the changes of a zone's offset up to some year, and a rule in the form of POSIX's TZ for the time after. Both
 * are read as Go reads them, so that answers agree with SpiceDB's. */
#include "caveat/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caveat/number.h"
#include "caveat/time.h"

#define MOST_FILE (64 * 1024) /* bytes; the largest of tzdata has 4 KiB */
#define MOST_NAME 128         /* bytes */
#define DAY 86400             /* seconds */

typedef struct local_type {
    int32_t offset;
    bool    is_dst;
} local_type;

struct lic_zone {
    const int64_t    *times; /* ascending */
    const uint8_t    *kinds; /* times[i]: from then on types[kinds[i]] */
    size_t            time_count;
    const local_type *types; /* one at least */
    size_t            type_count;
    lic_str           rule; /* empty: none */
};

static const local_type utc_type = { 0, false };
static const lic_zone   utc      = { .types = &utc_type, .type_count = 1 };

/* ------------------------------------------------------------ reading files */

/* Big-endian data that is being read. */
typedef struct reader {
    const uint8_t *data;
    size_t         size;
    bool           failed;
} reader;

/* NULL: there is not so much left. */
static const uint8_t *take(reader *r, size_t count, size_t item_size)
{
    const uint8_t *taken = r->data;
    size_t         size;

    if (!lic_size_mul(count, item_size, &size) || size > r->size) {
        r->failed = true;
        return NULL;
    }
    r->data += size;
    r->size -= size;
    return taken;
}

static uint32_t big32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int64_t big64(const uint8_t *bytes)
{
    return (int64_t)((uint64_t)big32(bytes) << 32 | big32(bytes + 4));
}

enum { COUNT_UTC, COUNT_STD, COUNT_LEAP, COUNT_TIME, COUNT_TYPE, COUNT_CHAR, COUNTS };

#define HEADER_SIZE 44

/* Magic, version, 15 unused bytes, six counts. The version, or -1. */
static int read_header(reader *r, size_t counts[COUNTS])
{
    const uint8_t *header = take(r, HEADER_SIZE, 1);

    if (header == NULL || memcmp(header, "TZif", 4) != 0)
        return -1;
    for (size_t i = 0; i < COUNTS; i++)
        counts[i] = big32(header + 20 + 4 * i);
    return header[4];
}

static void skip_rest(reader *r, const size_t counts[COUNTS], size_t time_size)
{
    take(r, counts[COUNT_CHAR], 1);
    take(r, counts[COUNT_LEAP], time_size + 4);
    take(r, counts[COUNT_STD], 1);
    take(r, counts[COUNT_UTC], 1);
}

static bool read_types(const uint8_t *data, size_t count, local_type *types)
{
    for (size_t i = 0; i < count; i++) {
        types[i].offset = (int32_t)big32(data + 6 * i);
        types[i].is_dst = data[6 * i + 4] != 0;
        if (types[i].offset <= -7 * DAY || types[i].offset >= 7 * DAY)
            return false;
    }
    return count > 0;
}

static bool read_times(const uint8_t *data, size_t count, size_t time_size, int64_t *times)
{
    for (size_t i = 0; i < count; i++) {
        times[i] = time_size == 8 ? big64(data + 8 * i) : (int32_t)big32(data + 4 * i);
        if (i > 0 && times[i] <= times[i - 1])
            return false;
    }
    return true;
}

/* "\nCET-1CEST,M3.5.0,M10.5.0/3\n" */
static lic_str read_rule(const reader *r)
{
    if (r->size <= 2 || r->data[0] != '\n' || r->data[r->size - 1] != '\n')
        return (lic_str){ NULL, 0 };
    return (lic_str){ (const char *)r->data + 1, r->size - 2 };
}

static lic_zone_outcome read_body(lic_arena *arena, reader *r, const size_t counts[COUNTS], size_t time_size,
                                  size_t *memory, lic_zone *zone)
{
    const uint8_t *times = take(r, counts[COUNT_TIME], time_size);
    const uint8_t *kinds = take(r, counts[COUNT_TIME], 1);
    const uint8_t *types = take(r, counts[COUNT_TYPE], 6);
    local_type    *read_type;
    int64_t       *read_time;
    size_t         size;

    skip_rest(r, counts, time_size);
    if (r->failed)
        return LIC_ZONE_UNKNOWN;
    /* What was taken from a file of limited size can't overflow. */
    size = counts[COUNT_TYPE] * sizeof *read_type + counts[COUNT_TIME] * sizeof *read_time;
    if (size > *memory)
        return LIC_ZONE_NO_BUDGET;
    *memory -= size;
    read_type = lic_new_array(arena, counts[COUNT_TYPE], local_type);
    read_time = lic_new_array(arena, counts[COUNT_TIME], int64_t);
    if (read_type == NULL || read_time == NULL)
        return LIC_ZONE_NO_MEMORY;
    if (!read_types(types, counts[COUNT_TYPE], read_type) ||
        !read_times(times, counts[COUNT_TIME], time_size, read_time))
        return LIC_ZONE_UNKNOWN;
    for (size_t i = 0; i < counts[COUNT_TIME]; i++) {
        if (kinds[i] >= counts[COUNT_TYPE])
            return LIC_ZONE_UNKNOWN;
    }
    *zone = (lic_zone){ read_time, kinds, counts[COUNT_TIME], read_type, counts[COUNT_TYPE], read_rule(r) };
    return LIC_ZONE_OK;
}

/* From version 2 on the same comes again with times of 64 bits. */
static lic_zone_outcome read_file(lic_arena *arena, reader *r, size_t *memory, lic_zone *zone)
{
    size_t counts[COUNTS];
    int    version = read_header(r, counts);

    if (version == 0)
        return read_body(arena, r, counts, 4, memory, zone);
    if (version < '2' || version > '4')
        return LIC_ZONE_UNKNOWN;
    take(r, counts[COUNT_TIME], 5);
    take(r, counts[COUNT_TYPE], 6);
    skip_rest(r, counts, 4);
    if (r->failed || read_header(r, counts) < 0)
        return LIC_ZONE_UNKNOWN;
    return read_body(arena, r, counts, 8, memory, zone);
}

/* -1: there is no such file. */
static int open_file(const char *name)
{
    static const char *const folders[] = { "/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ",
                                           "/etc/zoneinfo" };

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        int folder = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int file;

        if (folder < 0)
            continue;
        file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        close(folder);
        if (file >= 0)
            return file;
    }
    return -1;
}

/* The size of a regular file that is not too large; 0: it is not one. */
static size_t size_of(int file)
{
    struct stat status;

    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 || status.st_size > MOST_FILE)
        return 0;
    return (size_t)status.st_size;
}

static bool read_all(int file, uint8_t *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t count = read(file, data + done, size - done);

        if (count > 0)
            done += (size_t)count;
        else if (count == 0 || errno != EINTR)
            return false;
    }
    return true;
}

static lic_zone_outcome load_file(lic_arena *arena, const char *name, size_t *memory, lic_zone *zone)
{
    int              file    = open_file(name);
    lic_zone_outcome outcome = LIC_ZONE_UNKNOWN;
    uint8_t         *data    = NULL;
    size_t           size;

    if (file < 0)
        return LIC_ZONE_UNKNOWN;
    size = size_of(file);
    if (size > *memory) {
        outcome = LIC_ZONE_NO_BUDGET;
    } else if (size > 0) {
        *memory -= size;
        data = lic_arena_alloc(arena, size);
        if (data == NULL)
            outcome = LIC_ZONE_NO_MEMORY;
        else if (read_all(file, data, size))
            outcome = read_file(arena, &(reader){ data, size, false }, memory, zone);
    }
    close(file);
    return outcome;
}

/* Names of tzdata have letters, digits and "_+-/"; a point is of no use but to leave the folder. */
static bool name_is_safe(lic_str name)
{
    if (name.size == 0 || name.size >= MOST_NAME || name.data[0] == '/')
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+' ||
              c == '-' || c == '/'))
            return false;
    }
    return true;
}

/* CEL: hours of -23 to 23 and minutes, with any number of digits, the first of them perhaps behind a sign. */
static bool read_offset(lic_str name, int32_t *offset)
{
    size_t  colon = lic_str_find(name, ':');
    int64_t hours;
    int64_t minutes;

    if (!lic_cel_int_read(lic_str_slice(name, 0, colon), &hours) ||
        !lic_cel_int_read(lic_str_slice(name, colon + 1, name.size), &minutes))
        return false;
    if (hours < -23 || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *offset = (int32_t)(hours * 60 + (name.data[0] == '-' ? -minutes : minutes)) * 60;
    return true;
}

static lic_zone_outcome load_offset(lic_arena *arena, lic_str name, size_t *memory, lic_zone *zone)
{
    local_type *type;
    int32_t     offset;

    if (!read_offset(name, &offset))
        return LIC_ZONE_UNKNOWN;
    if (*memory < sizeof *type)
        return LIC_ZONE_NO_BUDGET;
    *memory -= sizeof *type;
    type = lic_new(arena, local_type);
    if (type == NULL)
        return LIC_ZONE_NO_MEMORY;
    type->offset = offset;
    *zone        = (lic_zone){ .types = type, .type_count = 1 };
    return LIC_ZONE_OK;
}

lic_zone_outcome lic_zone_load(lic_arena *arena, lic_str name, size_t *memory, const lic_zone **zone)
{
    char      path[MOST_NAME];
    lic_zone *made;

    *zone = &utc;
    if (name.size == 0 || lic_str_equal(name, LIC_STR("UTC")) || lic_str_equal(name, LIC_STR("Local")))
        return LIC_ZONE_OK;
    if (*memory < sizeof *made)
        return LIC_ZONE_NO_BUDGET;
    *memory -= sizeof *made;
    made = lic_new(arena, lic_zone);
    if (made == NULL)
        return LIC_ZONE_NO_MEMORY;
    *zone = made;
    if (lic_str_find(name, ':') < name.size)
        return load_offset(arena, name, memory, made);
    if (!name_is_safe(name))
        return LIC_ZONE_UNKNOWN;
    memcpy(path, name.data, name.size);
    path[name.size] = '\0';
    return load_file(arena, path, memory, made);
}

/* ------------------------------------------------ rules: "CET-1CEST,M3.5.0,M10.5.0/3" */

/* Takes what is left of a rule. */
static bool accept(lic_str *text, char c)
{
    if (text->size == 0 || text->data[0] != c)
        return false;
    *text = lic_str_slice(*text, 1, text->size);
    return true;
}

static bool read_number(lic_str *text, int least, int most, int *number)
{
    size_t i = 0;

    *number = 0;
    for (; i < text->size && text->data[i] >= '0' && text->data[i] <= '9'; i++) {
        *number = *number * 10 + (text->data[i] - '0');
        if (*number > most)
            return false;
    }
    *text = lic_str_slice(*text, i, text->size);
    return i > 0 && *number >= least;
}

/* "CET", "<+03>" */
static bool skip_name(lic_str *text)
{
    size_t size = 0;

    if (text->size > 0 && text->data[0] == '<') {
        size = lic_str_find(*text, '>');
        if (size == text->size)
            return false;
        *text = lic_str_slice(*text, size + 1, text->size);
        return true;
    }
    while (size < text->size && strchr("0123456789,-+", text->data[size]) == NULL)
        size++;
    *text = lic_str_slice(*text, size, text->size);
    return size >= 3;
}

/* [+-]hh[:mm[:ss]], in seconds. */
static bool read_clock(lic_str *text, int *seconds)
{
    bool negative = accept(text, '-');
    int  number;

    if (!negative)
        accept(text, '+');
    if (!read_number(text, 0, 24 * 7, &number))
        return false;
    *seconds = number * 3600;
    if (accept(text, ':')) {
        if (!read_number(text, 0, 59, &number))
            return false;
        *seconds += number * 60;
        if (accept(text, ':')) {
            if (!read_number(text, 0, 59, &number))
                return false;
            *seconds += number;
        }
    }
    if (negative)
        *seconds = -*seconds;
    return true;
}

/* A day of the year, and when on it. */
typedef struct change {
    char kind; /* 'J': 1 to 365, 29 February never counted; 'M': a week's day of a month; 'D': 0 to 365 */
    int  month;
    int  week; /* 5: the last */
    int  day;
    int  time; /* seconds */
} change;

static bool read_change(lic_str *text, change *c)
{
    bool read;

    *c = (change){ .kind = 'D', .time = 2 * 3600 };
    if (accept(text, 'J')) {
        c->kind = 'J';
        read    = read_number(text, 1, 365, &c->day);
    } else if (accept(text, 'M')) {
        c->kind = 'M';
        read    = read_number(text, 1, 12, &c->month) && accept(text, '.') && read_number(text, 1, 5, &c->week) &&
               accept(text, '.') && read_number(text, 0, 6, &c->day);
    } else {
        read = read_number(text, 0, 365, &c->day);
    }
    return read && (!accept(text, '/') || read_clock(text, &c->time));
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days since the year's first one. */
static int64_t day_of_change(const change *c, int64_t year)
{
    int64_t first;
    int64_t start;
    int64_t next;
    int64_t day;

    if (c->kind == 'J')
        return c->day - 1 + (is_leap(year) && c->day >= 60);
    if (c->kind == 'D')
        return c->day;
    first = lic_cel_days_from_civil(year, 1, 1);
    start = lic_cel_days_from_civil(year, c->month, 1);
    next  = c->month == 12 ? lic_cel_days_from_civil(year + 1, 1, 1) : lic_cel_days_from_civil(year, c->month + 1, 1);
    day   = start + (c->day - lic_cel_civil_of(start * DAY).day_of_week + 7) % 7;
    for (int week = 1; week < c->week && day + 7 < next; week++)
        day += 7;
    return day - first;
}

/* A whole rule. */
typedef struct rule {
    int    standard; /* seconds east of UTC */
    int    summer;
    bool   has_summer;
    change to_summer;
    change to_standard;
} rule;

static bool read_rule_text(lic_str text, rule *r)
{
    if (!skip_name(&text) || !read_clock(&text, &r->standard))
        return false;
    r->standard   = -r->standard;
    r->has_summer = text.size > 0 && text.data[0] != ',';
    if (!r->has_summer)
        return true;
    r->summer = r->standard + 3600;
    if (!skip_name(&text))
        return false;
    if (text.size > 0 && text.data[0] != ',') {
        if (!read_clock(&text, &r->summer))
            return false;
        r->summer = -r->summer;
    }
    if (text.size == 0)
        text = LIC_STR(",M3.2.0,M11.1.0");
    if (!accept(&text, ',') && !accept(&text, ';'))
        return false;
    return read_change(&text, &r->to_summer) && accept(&text, ',') && read_change(&text, &r->to_standard) &&
           text.size == 0;
}

static int64_t offset_by_rule(const rule *r, int64_t seconds)
{
    lic_cel_civil civil = lic_cel_civil_of(seconds);
    int64_t       in_year;
    int64_t       to_summer;
    int64_t       to_standard;

    if (!r->has_summer)
        return r->standard;
    in_year     = seconds - lic_cel_days_from_civil(civil.year, 1, 1) * DAY;
    to_summer   = day_of_change(&r->to_summer, civil.year) * DAY + r->to_summer.time - r->standard;
    to_standard = day_of_change(&r->to_standard, civil.year) * DAY + r->to_standard.time - r->summer;
    if (to_standard < to_summer) /* the south: summer goes over the turn of the year */
        return in_year < to_standard || in_year >= to_summer ? r->summer : r->standard;
    return in_year < to_summer || in_year >= to_standard ? r->standard : r->summer;
}

/* ---------------------------------------------------------------- looking up */

/* Before the first change. As Go: the first type when no change leads to it; else one of standard time. */
static int64_t first_offset(const lic_zone *zone)
{
    size_t i;

    for (i = 0; i < zone->time_count && zone->kinds[i] != 0; i++)
        continue;
    if (i == zone->time_count)
        return zone->types[0].offset;
    if (zone->types[zone->kinds[0]].is_dst) {
        for (i = zone->kinds[0]; i > 0; i--) {
            if (!zone->types[i - 1].is_dst)
                return zone->types[i - 1].offset;
        }
    }
    for (i = 0; i < zone->type_count; i++) {
        if (!zone->types[i].is_dst)
            return zone->types[i].offset;
    }
    return zone->types[0].offset;
}

int64_t lic_zone_offset(const lic_zone *zone, int64_t seconds)
{
    size_t low  = 0; /* the last change at or before the moment is in [low, high) */
    size_t high = zone->time_count;
    rule   r;

    if (zone->time_count > 0 && seconds < zone->times[0])
        return first_offset(zone);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (seconds < zone->times[middle])
            high = middle;
        else
            low = middle;
    }
    if (low + 1 >= zone->time_count && zone->rule.size > 0 && read_rule_text(zone->rule, &r))
        return offset_by_rule(&r, seconds);
    if (zone->time_count == 0)
        return zone->types[0].offset;
    return zone->types[zone->kinds[low]].offset;
}
