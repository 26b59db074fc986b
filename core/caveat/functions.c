/* Operators and functions: which one, by the kinds of the operands. */
#include "caveat/functions.h"

#include <math.h>

#include "base/utf8.h"
#include "caveat/ip.h"
#include "caveat/number.h"
#include "caveat/time.h"

bool lic_cel_spend(lic_cel_run *run, uint64_t steps)
{
    if (steps > run->budget->steps) {
        run->budget->steps = 0;
        run->limit         = LIC_CEL_STEP_LIMIT;
        return false;
    }
    run->budget->steps -= steps;
    return true;
}

bool lic_cel_spend_on(lic_cel_run *run, size_t count, size_t per_step)
{
    return lic_cel_spend(run, count / per_step);
}

void *lic_cel_take(lic_cel_run *run, size_t size)
{
    if (size > run->budget->memory_bytes) {
        run->limit = LIC_CEL_MEMORY_LIMIT;
        return NULL;
    }
    run->budget->memory_bytes -= size;
    return lic_arena_alloc(run->arena, size);
}

void *lic_cel_take_array(lic_cel_run *run, size_t count, size_t item_size)
{
    size_t size;

    if (!lic_size_mul(count, item_size, &size)) {
        run->limit = LIC_CEL_MEMORY_LIMIT;
        return NULL;
    }
    return lic_cel_take(run, size);
}

const char *lic_cel_type_name(lic_cel_kind kind)
{
    static const char *const names[] = {
        [LIC_CEL_NULL]      = "null_type",
        [LIC_CEL_BOOL]      = "bool",
        [LIC_CEL_INT]       = "int",
        [LIC_CEL_UINT]      = "uint",
        [LIC_CEL_DOUBLE]    = "double",
        [LIC_CEL_STRING]    = "string",
        [LIC_CEL_BYTES]     = "bytes",
        [LIC_CEL_LIST]      = "list",
        [LIC_CEL_MAP]       = "map",
        [LIC_CEL_DURATION]  = "google.protobuf.Duration",
        [LIC_CEL_TIMESTAMP] = "google.protobuf.Timestamp",
        [LIC_CEL_IPADDRESS] = "IPAddress",
        [LIC_CEL_TYPE]      = "type",
        [LIC_CEL_OPTIONAL]  = "optional_type",
        [LIC_CEL_UNKNOWN]   = "unknown",
        [LIC_CEL_ERROR]     = "error",
    };

    return names[kind];
}

#define MOST_QUOTED 64 /* bytes of input in an error */

/* Letters, digits and signs that can do no harm in a log; others become "?". */
static size_t copy_clean(lic_str text, char *out)
{
    size_t size = text.size < MOST_QUOTED ? text.size : MOST_QUOTED;

    for (size_t i = 0; i < size; i++)
        out[i] = text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?';
    return size;
}

bool lic_cel_error_about(lic_cel_run *run, const char *literal, const lic_cel_value *value, lic_cel_value *result)
{
    size_t        literal_size = strlen(literal);
    lic_cel_value text         = *value;
    char         *error        = lic_cel_take(run, literal_size + MOST_QUOTED + 1);
    size_t        size;

    if (error == NULL)
        return false;
    if (text.kind != LIC_CEL_STRING && !lic_cel_convert(run, LIC_CEL_FN_TO_STRING, value, &text))
        return false;
    if (text.kind != LIC_CEL_STRING)
        text.text = (lic_str){ "", 0 };
    memcpy(error, literal, literal_size);
    size                       = copy_clean(text.text, error + literal_size);
    error[literal_size + size] = '\0';
    *result                    = lic_cel_error(error);
    return true;
}

/* -------------------------------------------------------------- arithmetic */

/* The number by address: it is set in the same expression as `overflow`. */
static lic_cel_value int_or_overflow(bool overflow, const int64_t *integer)
{
    return overflow ? lic_cel_error("integer overflow") : lic_cel_int(*integer);
}

static lic_cel_value calculate_ints(lic_cel_function function, int64_t a, int64_t b)
{
    int64_t integer = 0;

    switch (function) {
    case LIC_CEL_FN_ADD:
        return int_or_overflow(__builtin_add_overflow(a, b, &integer), &integer);
    case LIC_CEL_FN_SUBTRACT:
        return int_or_overflow(__builtin_sub_overflow(a, b, &integer), &integer);
    case LIC_CEL_FN_MULTIPLY:
        return int_or_overflow(__builtin_mul_overflow(a, b, &integer), &integer);
    default:
        break;
    }
    if (b == 0)
        return lic_cel_error(function == LIC_CEL_FN_DIVIDE ? "division by zero" : "modulus by zero");
    if (a == INT64_MIN && b == -1) /* the processor traps */
        return lic_cel_error("integer overflow");
    return lic_cel_int(function == LIC_CEL_FN_DIVIDE ? a / b : a % b);
}

static lic_cel_value uint_or_overflow(bool overflow, const uint64_t *uinteger)
{
    if (overflow)
        return lic_cel_error("unsigned integer overflow");
    return (lic_cel_value){ .kind = LIC_CEL_UINT, .uinteger = *uinteger };
}

static lic_cel_value calculate_uints(lic_cel_function function, uint64_t a, uint64_t b)
{
    uint64_t uinteger = 0;

    switch (function) {
    case LIC_CEL_FN_ADD:
        return uint_or_overflow(__builtin_add_overflow(a, b, &uinteger), &uinteger);
    case LIC_CEL_FN_SUBTRACT:
        return uint_or_overflow(__builtin_sub_overflow(a, b, &uinteger), &uinteger);
    case LIC_CEL_FN_MULTIPLY:
        return uint_or_overflow(__builtin_mul_overflow(a, b, &uinteger), &uinteger);
    default:
        break;
    }
    if (b == 0)
        return lic_cel_error(function == LIC_CEL_FN_DIVIDE ? "division by zero" : "modulus by zero");
    uinteger = function == LIC_CEL_FN_DIVIDE ? a / b : a % b;
    return uint_or_overflow(false, &uinteger);
}

/* IEEE 754: nothing overflows. */
static lic_cel_value calculate_doubles(lic_cel_function function, double a, double b)
{
    lic_cel_value result = { .kind = LIC_CEL_DOUBLE, .number = 0 };

    switch (function) {
    case LIC_CEL_FN_ADD:
        result.number = a + b;
        return result;
    case LIC_CEL_FN_SUBTRACT:
        result.number = a - b;
        return result;
    case LIC_CEL_FN_MULTIPLY:
        result.number = a * b;
        return result;
    case LIC_CEL_FN_DIVIDE:
        result.number = a / b;
        return result;
    default:
        return lic_cel_no_overload();
    }
}

static lic_cel_value duration_or_overflow(bool overflow, const int64_t *duration)
{
    if (overflow)
        return lic_cel_error("integer overflow");
    return (lic_cel_value){ .kind = LIC_CEL_DURATION, .duration = *duration };
}

static lic_cel_value calculate_durations(lic_cel_function function, int64_t a, int64_t b)
{
    int64_t duration = 0;

    if (function == LIC_CEL_FN_ADD)
        return duration_or_overflow(__builtin_add_overflow(a, b, &duration), &duration);
    if (function == LIC_CEL_FN_SUBTRACT)
        return duration_or_overflow(__builtin_sub_overflow(a, b, &duration), &duration);
    return lic_cel_no_overload();
}

static lic_cel_value add_to_timestamp(lic_cel_timestamp timestamp, int64_t duration)
{
    lic_cel_value result = { .kind = LIC_CEL_TIMESTAMP };

    if (!lic_cel_timestamp_add(timestamp, duration, &result.timestamp))
        return lic_cel_error("timestamp overflow");
    return result;
}

/* One side is a timestamp at least. */
static lic_cel_value calculate_timestamps(lic_cel_function function, const lic_cel_value *a, const lic_cel_value *b)
{
    int64_t duration = 0;

    if (function == LIC_CEL_FN_ADD && a->kind == LIC_CEL_TIMESTAMP && b->kind == LIC_CEL_DURATION)
        return add_to_timestamp(a->timestamp, b->duration);
    if (function == LIC_CEL_FN_ADD && a->kind == LIC_CEL_DURATION)
        return add_to_timestamp(b->timestamp, a->duration);
    if (function != LIC_CEL_FN_SUBTRACT || a->kind != LIC_CEL_TIMESTAMP)
        return lic_cel_no_overload();
    if (b->kind == LIC_CEL_TIMESTAMP)
        return duration_or_overflow(!lic_cel_timestamp_subtract(a->timestamp, b->timestamp, &duration), &duration);
    if (b->kind != LIC_CEL_DURATION)
        return lic_cel_no_overload();
    if (b->duration == INT64_MIN)
        return lic_cel_error("integer overflow");
    return add_to_timestamp(a->timestamp, -b->duration);
}

/* Of numbers, durations and timestamps. */
static lic_cel_value calculate(lic_cel_function function, const lic_cel_value *a, const lic_cel_value *b)
{
    if (a->kind == LIC_CEL_TIMESTAMP || b->kind == LIC_CEL_TIMESTAMP)
        return calculate_timestamps(function, a, b);
    if (a->kind != b->kind)
        return lic_cel_no_overload();
    switch (a->kind) {
    case LIC_CEL_INT:
        return calculate_ints(function, a->integer, b->integer);
    case LIC_CEL_UINT:
        return calculate_uints(function, a->uinteger, b->uinteger);
    case LIC_CEL_DOUBLE:
        return calculate_doubles(function, a->number, b->number);
    case LIC_CEL_DURATION:
        return calculate_durations(function, a->duration, b->duration);
    default:
        return lic_cel_no_overload();
    }
}

static lic_cel_value negate(const lic_cel_value *value)
{
    switch (value->kind) {
    case LIC_CEL_INT:
        return calculate_ints(LIC_CEL_FN_SUBTRACT, 0, value->integer);
    case LIC_CEL_DOUBLE:
        return (lic_cel_value){ .kind = LIC_CEL_DOUBLE, .number = -value->number };
    case LIC_CEL_DURATION:
        return calculate_durations(LIC_CEL_FN_SUBTRACT, 0, value->duration);
    default:
        return lic_cel_no_overload();
    }
}

/* ----------------------------------------------------- texts, lists, maps */

static bool join_texts(lic_cel_run *run, const lic_cel_value *a, const lic_cel_value *b, lic_cel_value *result)
{
    size_t size;
    char  *text;

    *result = a->text.size == 0 ? *b : *a;
    if (a->text.size == 0 || b->text.size == 0)
        return true;
    if (!lic_size_add(a->text.size, b->text.size, &size))
        size = SIZE_MAX;
    if (!lic_cel_spend_on(run, size, 256))
        return false;
    text = lic_cel_take(run, size);
    if (text == NULL)
        return false;
    memcpy(text, a->text.data, a->text.size);
    memcpy(text + a->text.size, b->text.data, b->text.size);
    result->text = (lic_str){ text, size };
    return true;
}

static bool join_lists(lic_cel_run *run, const lic_cel_list *a, const lic_cel_list *b, lic_cel_value *result)
{
    lic_cel_list  *list;
    lic_cel_value *items;
    size_t         count;

    *result = (lic_cel_value){ .kind = LIC_CEL_LIST, .list = a->count == 0 ? b : a };
    if (a->count == 0 || b->count == 0)
        return true;
    if (!lic_size_add(a->count, b->count, &count))
        count = SIZE_MAX;
    if (!lic_cel_spend_on(run, count, 16))
        return false;
    items = lic_cel_take_array(run, count, sizeof *items);
    list  = items == NULL ? NULL : lic_cel_take(run, sizeof *list);
    if (list == NULL)
        return false;
    memcpy(items, a->items, a->count * sizeof *items);
    memcpy(items + a->count, b->items, b->count * sizeof *items);
    *list        = (lic_cel_list){ items, count };
    result->list = list;
    return true;
}

static bool add(lic_cel_run *run, const lic_cel_value *a, const lic_cel_value *b, lic_cel_value *result)
{
    if (a->kind == b->kind && (a->kind == LIC_CEL_STRING || a->kind == LIC_CEL_BYTES))
        return join_texts(run, a, b, result);
    if (a->kind == b->kind && a->kind == LIC_CEL_LIST)
        return join_lists(run, a->list, b->list, result);
    *result = calculate(LIC_CEL_FN_ADD, a, b);
    return true;
}

static bool size_of(lic_cel_run *run, const lic_cel_value *value, lic_cel_value *result)
{
    switch (value->kind) {
    case LIC_CEL_STRING:
        *result = lic_cel_int((int64_t)lic_utf8_count(value->text));
        return lic_cel_spend_on(run, value->text.size, 256);
    case LIC_CEL_BYTES:
        *result = lic_cel_int((int64_t)value->text.size);
        return true;
    case LIC_CEL_LIST:
        *result = lic_cel_int((int64_t)value->list->count);
        return true;
    case LIC_CEL_MAP:
        *result = lic_cel_int((int64_t)value->map->count);
        return true;
    default:
        *result = lic_cel_no_overload();
        return true;
    }
}

static bool contains(lic_str text, lic_str part)
{
    return part.size == 0 || (part.size <= text.size && memmem(text.data, text.size, part.data, part.size) != NULL);
}

static bool search_text(lic_cel_run *run, lic_cel_function function, const lic_cel_value *text,
                        const lic_cel_value *part, lic_cel_value *result)
{
    *result = lic_cel_no_overload();
    if (text->kind != LIC_CEL_STRING || part->kind != LIC_CEL_STRING)
        return true;
    if (!lic_cel_spend_on(run, text->text.size, 64))
        return false;
    if (function == LIC_CEL_FN_STARTS_WITH)
        *result = lic_cel_bool(lic_str_starts_with(text->text, part->text));
    else if (function == LIC_CEL_FN_ENDS_WITH)
        *result = lic_cel_bool(lic_str_ends_with(text->text, part->text));
    else
        *result = lic_cel_bool(contains(text->text, part->text));
    return true;
}

#define COMPILING_STEPS 500 /* of a regular expression, and one more for every ten states */

static bool search_regex(lic_cel_run *run, const struct lic_regex *regex, lic_str text, lic_cel_value *result)
{
    bool found;

    if (!lic_cel_spend_on(run, text.size, 16))
        return false;
    if (!lic_regex_search(regex, text, &found)) {
        run->limit = LIC_CEL_REGEX_LIMIT;
        return false;
    }
    *result = lic_cel_bool(found);
    return true;
}

/* A pattern that is only known now. */
static bool match_new(lic_cel_run *run, lic_str text, lic_str pattern, lic_cel_value *result)
{
    struct lic_regex *regex;
    const char       *why;
    bool              done;

    if (!lic_cel_spend(run, COMPILING_STEPS))
        return false;
    if (!lic_regex_new(run->arena->memory, pattern, &regex, &why)) {
        *result = lic_cel_error(why);
        return why != LIC_REGEX_NO_MEMORY;
    }
    done = lic_cel_spend_on(run, lic_regex_states(regex), 10) && search_regex(run, regex, text, result);
    lic_regex_free(regex);
    return done;
}

static bool match(lic_cel_run *run, const lic_cel_value *text, const lic_cel_value *pattern,
                  const struct lic_regex *regex, lic_cel_value *result)
{
    *result = lic_cel_no_overload();
    if (text->kind != LIC_CEL_STRING || pattern->kind != LIC_CEL_STRING)
        return true;
    if (regex != NULL)
        return search_regex(run, regex, text->text, result);
    return match_new(run, text->text, pattern->text, result);
}

static bool in_cidr(lic_cel_run *run, const lic_cel_value *ip, const lic_cel_value *text, lic_cel_value *result)
{
    lic_ip_network network;

    *result = lic_cel_no_overload();
    if (ip->kind != LIC_CEL_IPADDRESS || text->kind != LIC_CEL_STRING)
        return true;
    if (!lic_ip_network_parse(text->text, &network))
        return lic_cel_error_about(run, "invalid CIDR string: ", text, result);
    *result = lic_cel_bool(lic_ip_network_contains(&network, ip->ip));
    return true;
}

static bool has_text_keys(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_MAP && (value->map->count == 0 || value->map->entries[0].key.kind == LIC_CEL_STRING);
}

static bool is_subtree_of(lic_cel_run *run, const lic_cel_value *map, const lic_cel_value *of, lic_cel_value *result)
{
    *result = lic_cel_no_overload();
    if (!has_text_keys(map) || !has_text_keys(of))
        return true;
    *result = lic_cel_error("internal error: isSubtreeOf needs maps that were given as parameters");
    if (!map->map->given || !of->map->given) {
        run->panicked = true;
        return true;
    }
    return lic_cel_is_subtree(run, map->map, of->map, result);
}

/* -------------------------------------------------------------- comparing */

/* false: the two have no order. */
static bool compare(const lic_cel_value *a, const lic_cel_value *b, int *order)
{
    bool numbers = (a->kind == LIC_CEL_INT || a->kind == LIC_CEL_UINT || a->kind == LIC_CEL_DOUBLE) &&
                   (b->kind == LIC_CEL_INT || b->kind == LIC_CEL_UINT || b->kind == LIC_CEL_DOUBLE);

    if (numbers)
        *order = lic_cel_compare_numbers(a, b);
    if (numbers || a->kind != b->kind)
        return numbers;
    switch (a->kind) {
    case LIC_CEL_BOOL:
        *order = a->boolean - b->boolean;
        return true;
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
        *order = lic_str_compare(a->text, b->text);
        return true;
    case LIC_CEL_DURATION:
        *order = (a->duration > b->duration) - (a->duration < b->duration);
        return true;
    case LIC_CEL_TIMESTAMP:
        *order = lic_cel_timestamp_compare(a->timestamp, b->timestamp);
        return true;
    default:
        return false;
    }
}

static bool is_nan(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_DOUBLE && isnan(value->number);
}

static lic_cel_value ordered(lic_cel_function function, const lic_cel_value *a, const lic_cel_value *b)
{
    int order;

    if (!compare(a, b, &order))
        return lic_cel_no_overload();
    if (is_nan(a) || is_nan(b))
        return lic_cel_error("NaN values cannot be ordered");
    switch (function) {
    case LIC_CEL_FN_LESS:
        return lic_cel_bool(order < 0);
    case LIC_CEL_FN_LESS_EQUAL:
        return lic_cel_bool(order <= 0);
    case LIC_CEL_FN_GREATER:
        return lic_cel_bool(order > 0);
    default:
        return lic_cel_bool(order >= 0);
    }
}

/* An error of "==" is no "true", so "!=" is, as in cel-go. */
static bool not_equal(lic_cel_run *run, const lic_cel_value *a, const lic_cel_value *b, lic_cel_value *result)
{
    if (!lic_cel_equal(run, a, b, result))
        return false;
    *result = lic_cel_bool(!(result->kind == LIC_CEL_BOOL && result->boolean));
    return true;
}

/* -------------------------------------------------------------- optionals */

/* Null, false, 0, the empty text, list or map; the year 1. What has no zero is never one. */
static bool is_zero(const lic_cel_value *value)
{
    switch (value->kind) {
    case LIC_CEL_NULL:
        return true;
    case LIC_CEL_BOOL:
        return !value->boolean;
    case LIC_CEL_INT:
        return value->integer == 0;
    case LIC_CEL_UINT:
        return value->uinteger == 0;
    case LIC_CEL_DOUBLE:
        return value->number == 0;
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
        return value->text.size == 0;
    case LIC_CEL_LIST:
        return value->list->count == 0;
    case LIC_CEL_MAP:
        return value->map->count == 0;
    case LIC_CEL_DURATION:
        return value->duration == 0;
    case LIC_CEL_TIMESTAMP:
        return value->timestamp.seconds == INT64_C(-62135596800) && value->timestamp.nanoseconds == 0;
    default:
        return false;
    }
}

static lic_cel_value none(void)
{
    return (lic_cel_value){ .kind = LIC_CEL_OPTIONAL, .optional = NULL };
}

static lic_cel_value value_of(const lic_cel_value *optional)
{
    if (optional->kind != LIC_CEL_OPTIONAL)
        return lic_cel_no_overload();
    return optional->optional == NULL ? lic_cel_error("optional.none() dereference") : *optional->optional;
}

static lic_cel_value type_of(const lic_cel_value *value)
{
    const char *name = lic_cel_type_name(value->kind);

    return (lic_cel_value){ .kind = LIC_CEL_TYPE, .text = { name, strlen(name) } };
}

/* ------------------------------------------------------------- dispatching */

static bool call_nothing(lic_cel_function function, lic_cel_value *result)
{
    *result = function == LIC_CEL_FN_OPTIONAL_NONE ? none() : lic_cel_no_overload();
    return true;
}

static bool call_one(lic_cel_run *run, lic_cel_function function, const lic_cel_value *a, lic_cel_value *result)
{
    switch (function) {
    case LIC_CEL_FN_NOT:
        *result = a->kind == LIC_CEL_BOOL ? lic_cel_bool(!a->boolean) : lic_cel_no_overload();
        return true;
    case LIC_CEL_FN_NEGATE:
        *result = negate(a);
        return true;
    case LIC_CEL_FN_SIZE:
        return size_of(run, a, result);
    case LIC_CEL_FN_TO_DYN:
        *result = *a;
        return true;
    case LIC_CEL_FN_TYPE_OF:
        *result = type_of(a);
        return true;
    case LIC_CEL_FN_TO_BOOL:
    case LIC_CEL_FN_TO_BYTES:
    case LIC_CEL_FN_TO_DOUBLE:
    case LIC_CEL_FN_TO_DURATION:
    case LIC_CEL_FN_TO_INT:
    case LIC_CEL_FN_TO_STRING:
    case LIC_CEL_FN_TO_TIMESTAMP:
    case LIC_CEL_FN_TO_UINT:
        return lic_cel_convert(run, function, a, result);
    case LIC_CEL_FN_OPTIONAL_OF_NON_ZERO:
        *result = none();
        return is_zero(a) || lic_cel_optional_of(run, a, result);
    case LIC_CEL_FN_OPTIONAL_OF:
        return lic_cel_optional_of(run, a, result);
    case LIC_CEL_FN_HAS_VALUE:
        *result = a->kind == LIC_CEL_OPTIONAL ? lic_cel_bool(a->optional != NULL) : lic_cel_no_overload();
        return true;
    case LIC_CEL_FN_VALUE:
        *result = value_of(a);
        return true;
    default:
        return lic_cel_get_time(run, function, a, NULL, result);
    }
}

static bool call_two(lic_cel_run *run, lic_cel_function function, const lic_cel_value *a, const lic_cel_value *b,
                     const struct lic_regex *pattern, lic_cel_value *result)
{
    switch (function) {
    case LIC_CEL_FN_EQUAL:
        return lic_cel_equal(run, a, b, result);
    case LIC_CEL_FN_NOT_EQUAL:
        return not_equal(run, a, b, result);
    case LIC_CEL_FN_LESS:
    case LIC_CEL_FN_LESS_EQUAL:
    case LIC_CEL_FN_GREATER:
    case LIC_CEL_FN_GREATER_EQUAL:
        *result = ordered(function, a, b);
        return true;
    case LIC_CEL_FN_ADD:
        return add(run, a, b, result);
    case LIC_CEL_FN_SUBTRACT:
    case LIC_CEL_FN_MULTIPLY:
    case LIC_CEL_FN_DIVIDE:
    case LIC_CEL_FN_MODULO:
        *result = calculate(function, a, b);
        return true;
    case LIC_CEL_FN_IN:
        return lic_cel_in(run, a, b, result);
    case LIC_CEL_FN_INDEX:
        return lic_cel_get(run, LIC_CEL_ACCESS_PLAIN, a, b, result);
    case LIC_CEL_FN_OPTIONAL_INDEX:
        return lic_cel_get(run, LIC_CEL_ACCESS_OPTIONAL, a, b, result);
    case LIC_CEL_FN_CONTAINS:
    case LIC_CEL_FN_STARTS_WITH:
    case LIC_CEL_FN_ENDS_WITH:
        return search_text(run, function, a, b, result);
    case LIC_CEL_FN_MATCHES:
        return match(run, a, b, pattern, result);
    case LIC_CEL_FN_IN_CIDR:
        return in_cidr(run, a, b, result);
    case LIC_CEL_FN_IS_SUBTREE_OF:
        return is_subtree_of(run, a, b, result);
    default:
        return lic_cel_get_time(run, function, a, b, result);
    }
}

bool lic_cel_call(lic_cel_run *run, lic_cel_function function, const lic_cel_value *operands, size_t count,
                  const struct lic_regex *pattern, lic_cel_value *result)
{
    if (count == 2)
        return call_two(run, function, &operands[0], &operands[1], pattern, result);
    if (count == 1)
        return call_one(run, function, &operands[0], result);
    return call_nothing(function, result);
}
