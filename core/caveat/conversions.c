/* int(), string() and their like, and the parts of a moment. */
#include <math.h>

#include "caveat/functions.h"
#include "caveat/number.h"
#include "caveat/time.h"

#include "base/utf8.h"

/* The result of a conversion that has none. */
static bool refuse(lic_cel_value *result)
{
    *result = lic_cel_error("type conversion error");
    return true;
}

static bool to_bool(const lic_cel_value *value, lic_cel_value *result)
{
    static const char *const words[2][6] = {
        { "0", "f", "F", "false", "FALSE", "False" },
        { "1", "t", "T", "true", "TRUE", "True" },
    };

    if (value->kind != LIC_CEL_STRING)
        return refuse(result);
    for (size_t i = 0; i < 12; i++) {
        const char *word = words[i / 6][i % 6];

        if (lic_str_equal(value->text, (lic_str){ word, strlen(word) })) {
            *result = lic_cel_bool(i >= 6);
            return true;
        }
    }
    return refuse(result);
}

static bool to_bytes(const lic_cel_value *value, lic_cel_value *result)
{
    if (value->kind != LIC_CEL_STRING)
        return refuse(result);
    *result = (lic_cel_value){ .kind = LIC_CEL_BYTES, .text = value->text };
    return true;
}

static bool to_double(const lic_cel_value *value, lic_cel_value *result)
{
    *result = (lic_cel_value){ .kind = LIC_CEL_DOUBLE, .number = 0 };
    if (value->kind == LIC_CEL_INT)
        result->number = (double)value->integer;
    else if (value->kind == LIC_CEL_UINT)
        result->number = (double)value->uinteger;
    else if (value->kind != LIC_CEL_STRING || !lic_cel_double_read(value->text, &result->number))
        return refuse(result);
    return true;
}

static bool to_duration(const lic_cel_value *value, lic_cel_value *result)
{
    int64_t duration;

    if (value->kind != LIC_CEL_STRING || !lic_cel_duration_parse(value->text, &duration))
        return refuse(result);
    *result = (lic_cel_value){ .kind = LIC_CEL_DURATION, .duration = duration };
    return true;
}

static bool to_timestamp(const lic_cel_value *value, lic_cel_value *result)
{
    lic_cel_timestamp timestamp = { 0, 0, 0 };

    if (value->kind == LIC_CEL_INT) {
        timestamp.seconds = value->integer;
        if (!lic_cel_timestamp_in_range(timestamp)) {
            *result = lic_cel_error("timestamp overflow");
            return true;
        }
    } else if (value->kind != LIC_CEL_STRING || !lic_cel_timestamp_parse(value->text, true, &timestamp)) {
        return refuse(result);
    }
    *result = (lic_cel_value){ .kind = LIC_CEL_TIMESTAMP, .timestamp = timestamp };
    return true;
}

/* cel-go leaves out both ends of the range. */
static bool double_to_int(double number, lic_cel_value *result)
{
    if (!(number > -0x1p63 && number < 0x1p63))
        *result = lic_cel_error("integer overflow");
    else
        *result = lic_cel_int((int64_t)number);
    return true;
}

static bool to_int(const lic_cel_value *value, lic_cel_value *result)
{
    int64_t integer;

    switch (value->kind) {
    case LIC_CEL_UINT:
        if (value->uinteger > (uint64_t)INT64_MAX)
            *result = lic_cel_error("integer overflow");
        else
            *result = lic_cel_int((int64_t)value->uinteger);
        return true;
    case LIC_CEL_DOUBLE:
        return double_to_int(value->number, result);
    case LIC_CEL_STRING:
        if (!lic_cel_int_read(value->text, &integer))
            return refuse(result);
        *result = lic_cel_int(integer);
        return true;
    case LIC_CEL_DURATION:
        *result = lic_cel_int(value->duration);
        return true;
    case LIC_CEL_TIMESTAMP:
        *result = lic_cel_int(value->timestamp.seconds);
        return true;
    default:
        return refuse(result);
    }
}

static bool to_uint(const lic_cel_value *value, lic_cel_value *result)
{
    uint64_t uinteger;

    if (value->kind == LIC_CEL_INT && value->integer >= 0)
        uinteger = (uint64_t)value->integer;
    else if (value->kind == LIC_CEL_DOUBLE && value->number >= 0 && value->number < 0x1p64)
        uinteger = (uint64_t)value->number;
    else if (value->kind == LIC_CEL_INT || value->kind == LIC_CEL_DOUBLE) {
        *result = lic_cel_error("unsigned integer overflow");
        return true;
    } else if (value->kind != LIC_CEL_STRING || !lic_cel_uint_read(value->text, &uinteger)) {
        return refuse(result);
    }
    *result = (lic_cel_value){ .kind = LIC_CEL_UINT, .uinteger = uinteger };
    return true;
}

#define PRINTED_SIZE LIC_CEL_TIME_SIZE /* bytes; the longest of what is printed here */

static size_t print_u64(uint64_t number, bool negative, char *out)
{
    char   digits[20];
    size_t count = 0;
    size_t size  = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    if (negative)
        out[size++] = '-';
    while (count > 0)
        out[size++] = digits[--count];
    return size;
}

/* 0: there is no text for it. */
static size_t print(const lic_cel_value *value, char out[PRINTED_SIZE])
{
    switch (value->kind) {
    case LIC_CEL_BOOL:
        memcpy(out, value->boolean ? "true" : "false", 5);
        return value->boolean ? 4 : 5;
    case LIC_CEL_INT:
        return print_u64(value->integer < 0 ? 0 - (uint64_t)value->integer : (uint64_t)value->integer,
                         value->integer < 0, out);
    case LIC_CEL_UINT:
        return print_u64(value->uinteger, false, out);
    case LIC_CEL_DOUBLE:
        return lic_cel_double_print(value->number, out);
    case LIC_CEL_DURATION:
        return lic_cel_duration_print(value->duration, out);
    case LIC_CEL_TIMESTAMP:
        return lic_cel_timestamp_print(value->timestamp, out);
    default:
        return 0;
    }
}

static bool bytes_to_string(lic_cel_run *run, const lic_cel_value *value, lic_cel_value *result)
{
    if (!lic_cel_spend_on(run, value->text.size, 256))
        return false;
    if (lic_utf8_check(value->text) < value->text.size)
        *result = lic_cel_error("invalid UTF-8 in bytes, cannot convert to string");
    else
        *result = (lic_cel_value){ .kind = LIC_CEL_STRING, .text = value->text };
    return true;
}

#define PRINTING_STEPS 16 /* the shortest digits of a double are searched for */

static bool to_string(lic_cel_run *run, const lic_cel_value *value, lic_cel_value *result)
{
    char   text[PRINTED_SIZE];
    char  *copy;
    size_t size;

    if (value->kind == LIC_CEL_BYTES)
        return bytes_to_string(run, value, result);
    if (!lic_cel_spend(run, PRINTING_STEPS))
        return false;
    size = print(value, text);
    if (size == 0)
        return refuse(result);
    copy = lic_cel_take(run, size);
    if (copy == NULL)
        return false;
    memcpy(copy, text, size);
    *result = (lic_cel_value){ .kind = LIC_CEL_STRING, .text = { copy, size } };
    return true;
}

/* Which kind a conversion leaves as it is. */
static lic_cel_kind kind_of(lic_cel_function function)
{
    switch (function) {
    case LIC_CEL_FN_TO_BOOL:
        return LIC_CEL_BOOL;
    case LIC_CEL_FN_TO_BYTES:
        return LIC_CEL_BYTES;
    case LIC_CEL_FN_TO_DOUBLE:
        return LIC_CEL_DOUBLE;
    case LIC_CEL_FN_TO_DURATION:
        return LIC_CEL_DURATION;
    case LIC_CEL_FN_TO_INT:
        return LIC_CEL_INT;
    case LIC_CEL_FN_TO_STRING:
        return LIC_CEL_STRING;
    case LIC_CEL_FN_TO_TIMESTAMP:
        return LIC_CEL_TIMESTAMP;
    default:
        return LIC_CEL_UINT;
    }
}

bool lic_cel_convert(lic_cel_run *run, lic_cel_function function, const lic_cel_value *value, lic_cel_value *result)
{
    lic_cel_kind kind = kind_of(function);

    if (value->kind == kind) {
        *result = *value;
        return true;
    }
    if (value->kind == LIC_CEL_STRING && !lic_cel_spend_on(run, value->text.size, 64))
        return false;
    switch (kind) {
    case LIC_CEL_BOOL:
        return to_bool(value, result);
    case LIC_CEL_BYTES:
        return to_bytes(value, result);
    case LIC_CEL_DOUBLE:
        return to_double(value, result);
    case LIC_CEL_DURATION:
        return to_duration(value, result);
    case LIC_CEL_INT:
        return to_int(value, result);
    case LIC_CEL_STRING:
        return to_string(run, value, result);
    case LIC_CEL_TIMESTAMP:
        return to_timestamp(value, result);
    default:
        return to_uint(value, result);
    }
}

/* ------------------------------------------------------- parts of a moment */

/* The total in one unit, through a double as in Go, which may round up. */
static bool get_of_duration(lic_cel_function function, int64_t duration, lic_cel_value *result)
{
    int64_t unit = LIC_CEL_SECOND;
    int64_t whole;

    if (function == LIC_CEL_FN_GET_MILLISECONDS) {
        *result = lic_cel_int(duration / 1000000);
        return true;
    }
    if (function == LIC_CEL_FN_GET_HOURS)
        unit *= 3600;
    else if (function == LIC_CEL_FN_GET_MINUTES)
        unit *= 60;
    else if (function != LIC_CEL_FN_GET_SECONDS) {
        *result = lic_cel_no_overload();
        return true;
    }
    whole   = duration / unit;
    *result = lic_cel_int((int64_t)((double)whole + (double)(duration % unit) / (double)unit));
    return true;
}

static int64_t get_of_civil(lic_cel_function function, const lic_cel_civil *civil, uint32_t nanoseconds)
{
    switch (function) {
    case LIC_CEL_FN_GET_FULL_YEAR:
        return civil->year;
    case LIC_CEL_FN_GET_MONTH:
        return civil->month - 1;
    case LIC_CEL_FN_GET_DATE:
        return civil->day;
    case LIC_CEL_FN_GET_DAY_OF_MONTH:
        return civil->day - 1;
    case LIC_CEL_FN_GET_DAY_OF_WEEK:
        return civil->day_of_week;
    case LIC_CEL_FN_GET_DAY_OF_YEAR:
        return civil->day_of_year;
    case LIC_CEL_FN_GET_HOURS:
        return civil->hour;
    case LIC_CEL_FN_GET_MINUTES:
        return civil->minute;
    case LIC_CEL_FN_GET_SECONDS:
        return civil->second;
    default:
        return nanoseconds / 1000000;
    }
}

#define ZONE_STEPS 200 /* a file is read */

/* The last zone is kept: most expressions use one. */
static bool load_zone(lic_cel_run *run, lic_str name, lic_cel_value *result)
{
    if (lic_str_given(run->zone_name) && lic_str_equal(run->zone_name, name))
        return true;
    if (!lic_cel_spend(run, ZONE_STEPS))
        return false;
    run->zone_name = (lic_str){ NULL, 0 };
    switch (lic_zone_load(run->arena, name, &run->budget->memory_bytes, &run->zone)) {
    case LIC_ZONE_OK:
        run->zone_name = name;
        return true;
    case LIC_ZONE_UNKNOWN: {
        lic_cel_value text = { .kind = LIC_CEL_STRING, .text = name };

        return lic_cel_error_about(run, "unknown time zone: ", &text, result);
    }
    case LIC_ZONE_NO_BUDGET:
        run->limit = LIC_CEL_MEMORY_LIMIT;
        return false;
    case LIC_ZONE_NO_MEMORY:
        break;
    }
    return false;
}

bool lic_cel_get_time(lic_cel_run *run, lic_cel_function function, const lic_cel_value *value,
                      const lic_cel_value *zone, lic_cel_value *result)
{
    lic_cel_civil civil;
    int64_t       seconds;

    if (value->kind == LIC_CEL_DURATION && zone == NULL)
        return get_of_duration(function, value->duration, result);
    *result = lic_cel_no_overload();
    if (value->kind != LIC_CEL_TIMESTAMP || (zone != NULL && zone->kind != LIC_CEL_STRING))
        return true;
    seconds = value->timestamp.seconds;
    if (zone != NULL) {
        *result = lic_cel_int(0);
        if (!load_zone(run, zone->text, result))
            return false;
        if (result->kind == LIC_CEL_ERROR)
            return true;
        seconds += lic_zone_offset(run->zone, seconds);
    }
    civil   = lic_cel_civil_of(seconds);
    *result = lic_cel_int(get_of_civil(function, &civil, value->timestamp.nanoseconds));
    return true;
}
