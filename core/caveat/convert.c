/* Types nest, and so do values; both are walked with a stack as high as types may nest. */
#include "caveat/convert.h"

#include <math.h>

#include "caveat/ip.h"
#include "caveat/number.h"
#include "caveat/time.h"

/* A list or map that is being converted. */
typedef struct frame {
    const lic_caveat_type *type; /* of its items */
    const lic_cel_value   *from;
    lic_cel_value         *items;   /* of a list; NULL: it is a map */
    lic_cel_entry         *entries; /* of a map */
    size_t                 next;
    lic_cel_value         *result;
} frame;

typedef struct converter {
    lic_arena             *arena;
    lic_str                name; /* of the parameter */
    const lic_caveat_type *type;
    bool                   strict;
    frame                  frames[LIC_CAVEAT_MAX_TYPE_NESTING + 1];
    size_t                 depth;
    licet_error          **error;
} converter;

/* --------------------------------------------------------------------- errors */

static const char *found_text(const lic_cel_value *value)
{
    switch (value->kind) {
    case LIC_CEL_NULL:
        return "null";
    case LIC_CEL_BOOL:
        return "a bool";
    case LIC_CEL_INT:
    case LIC_CEL_UINT:
    case LIC_CEL_DOUBLE:
        return "a number that does not fit";
    case LIC_CEL_LIST:
        return "a list";
    case LIC_CEL_MAP:
        return "a map";
    default:
        return "another type";
    }
}

#define MOST_OF_A_KEY 64 /* bytes that are shown */

/* A key in quotes, with "?" for all that could do harm in a log. */
static void print_key(lic_str key, lic_text *out)
{
    lic_text_add_char(out, '"');
    for (size_t i = 0; i < key.size && i < MOST_OF_A_KEY; i++) {
        char c = key.data[i];

        lic_text_add_char(out, c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?');
    }
    lic_text_add_char(out, '"');
    if (key.size > MOST_OF_A_KEY)
        lic_text_add_literal(out, "...");
}

/* Where in the parameter: "at key "k": at index 3: ". Of the outer lists and maps the item is already counted. */
static void print_place(const converter *c, lic_text *out)
{
    for (size_t i = 0; i < c->depth; i++) {
        const frame *f    = &c->frames[i];
        size_t       item = i + 1 < c->depth ? f->next - 1 : f->next;

        if (f->items != NULL) {
            lic_text_add_literal(out, "at index ");
            lic_text_add_u64(out, item);
        } else {
            lic_text_add_literal(out, "at key ");
            print_key(f->from->map->entries[item].key.text, out);
        }
        lic_text_add_literal(out, ": ");
    }
}

static licet_status refuse_text(const converter *c, const lic_text *declared, const lic_text *wanted,
                                const lic_str *text)
{
    return lic_fail_reason(
        c->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "CAVEAT_PARAMETER_TYPE_ERROR", LIC_NOWHERE,
        "could not convert context parameter %Q: for %.*s: %.*s is required, but found the string %Q", &c->name,
        (int)declared->size, declared->data, (int)wanted->size, wanted->data, text);
}

/* "could not convert context parameter "n": for list<uint>: at index 3: a value of type uint is required, but found null" */
static licet_status refuse(const converter *c, const lic_caveat_type *type, const lic_cel_value *found)
{
    lic_text     declared;
    lic_text     wanted;
    licet_status status;

    lic_text_init(&declared, c->arena->memory);
    lic_text_init(&wanted, c->arena->memory);
    lic_caveat_type_print(c->type, &declared);
    print_place(c, &wanted);
    lic_text_add_literal(&wanted, "a value of type ");
    lic_caveat_type_print(type, &wanted);
    if (declared.failed || wanted.failed)
        status = lic_fail_memory(c->error);
    else if (found->kind == LIC_CEL_STRING)
        status = refuse_text(c, &declared, &wanted, &found->text);
    else
        status = lic_fail_reason(
            c->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "CAVEAT_PARAMETER_TYPE_ERROR", LIC_NOWHERE,
            "could not convert context parameter %Q: for %.*s: %.*s is required, but found %s", &c->name,
            (int)declared.size, declared.data, (int)wanted.size, wanted.data, found_text(found));
    lic_text_free(&declared);
    lic_text_free(&wanted);
    return status;
}

/* -------------------------------------------------------------------- numbers */

typedef enum verdict { TAKEN, REFUSED, OUT_OF_MEMORY } verdict;

/* What SpiceDB would have: every number as one of its floats. */
static verdict read_decimal(const converter *c, const lic_cel_value *value, lic_cel_decimal *decimal)
{
    switch (value->kind) {
    case LIC_CEL_INT:
        *decimal = (lic_cel_decimal){
            .integral = true, .in_range = true, .integer = value->integer, .number = (double)value->integer
        };
        return TAKEN;
    case LIC_CEL_UINT:
        *decimal          = (lic_cel_decimal){ .integral = true, .number = (double)value->uinteger };
        decimal->in_range = value->uinteger <= (uint64_t)INT64_MAX;
        decimal->integer  = decimal->in_range ? (int64_t)value->uinteger : INT64_MAX;
        return TAKEN;
    case LIC_CEL_DOUBLE:
        lic_cel_decimal_of(value->number, decimal);
        return TAKEN;
    case LIC_CEL_STRING:
        switch (lic_cel_decimal_read(c->arena, value->text, decimal)) {
        case LIC_CEL_READ_OK:
            return TAKEN;
        case LIC_CEL_READ_INVALID:
            return REFUSED;
        case LIC_CEL_READ_NO_MEMORY:
            break;
        }
        return OUT_OF_MEMORY;
    default:
        return REFUSED;
    }
}

static verdict to_int(const converter *c, const lic_cel_value *value, lic_cel_value *result)
{
    lic_cel_decimal decimal;
    verdict         read = read_decimal(c, value, &decimal);

    if (read != TAKEN)
        return read;
    if (!decimal.integral || (c->strict && (!decimal.in_range || decimal.fraction || decimal.binary)))
        return REFUSED;
    *result = (lic_cel_value){ .kind = LIC_CEL_INT, .integer = decimal.integer };
    return TAKEN;
}

/* SpiceDB: up to 2^63 - 1 and no further. */
static verdict to_uint(const converter *c, const lic_cel_value *value, lic_cel_value *result)
{
    verdict read = to_int(c, value, result);

    if (read != TAKEN)
        return read;
    if (result->integer < 0)
        return REFUSED;
    *result = (lic_cel_value){ .kind = LIC_CEL_UINT, .uinteger = (uint64_t)result->integer };
    return TAKEN;
}

static verdict to_double(const converter *c, const lic_cel_value *value, lic_cel_value *result)
{
    lic_cel_decimal decimal;
    verdict         read = read_decimal(c, value, &decimal);

    if (read != TAKEN)
        return read;
    *result = (lic_cel_value){ .kind = LIC_CEL_DOUBLE, .number = decimal.number };
    if (c->strict && (decimal.binary || !isfinite(decimal.number)))
        return REFUSED;
    return TAKEN;
}

/* ---------------------------------------------------------------------- others */

/* -1: no digit of base 64. */
static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Groups of four; the last may end in one or two "=". As Go's decoder: line ends are skipped, spare bits ignored. */
static bool decode_base64(lic_str text, char *out, size_t *size)
{
    uint32_t group   = 0;
    size_t   digits  = 0;
    size_t   padding = 0;

    *size = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = base64_digit(text.data[i]);

        if (text.data[i] == '\r' || text.data[i] == '\n')
            continue;
        if (text.data[i] == '=' && digits % 4 >= 2 && digits % 4 + padding < 4) {
            padding++;
            continue;
        }
        if (digit < 0 || padding > 0)
            return false;
        group = group << 6 | (uint32_t)digit;
        if (++digits % 4 == 0) {
            out[(*size)++] = (char)(group >> 16);
            out[(*size)++] = (char)(group >> 8);
            out[(*size)++] = (char)group;
        }
    }
    if (digits % 4 != 0 && digits % 4 + padding != 4)
        return false;
    if (digits % 4 == 3) {
        out[(*size)++] = (char)(group >> 10);
        out[(*size)++] = (char)(group >> 2);
    } else if (digits % 4 == 2) {
        out[(*size)++] = (char)(group >> 4);
    }
    return true;
}

static verdict to_bytes(const converter *c, const lic_cel_value *value, lic_cel_value *result)
{
    char  *bytes;
    size_t size;

    if (value->kind != LIC_CEL_STRING)
        return REFUSED;
    bytes = lic_arena_alloc(c->arena, value->text.size);
    if (bytes == NULL)
        return OUT_OF_MEMORY;
    if (!decode_base64(value->text, bytes, &size))
        return REFUSED;
    *result = (lic_cel_value){ .kind = LIC_CEL_BYTES, .text = { bytes, size } };
    return TAKEN;
}

static verdict to_duration(const lic_cel_value *value, lic_cel_value *result)
{
    *result = (lic_cel_value){ .kind = LIC_CEL_DURATION, .duration = 0 };
    if (value->kind != LIC_CEL_STRING || !lic_cel_duration_parse(value->text, &result->duration))
        return REFUSED;
    return TAKEN;
}

static verdict to_timestamp(const converter *c, const lic_cel_value *value, lic_cel_value *result)
{
    *result = (lic_cel_value){ .kind = LIC_CEL_TIMESTAMP };
    if (value->kind != LIC_CEL_STRING || !lic_cel_timestamp_parse(value->text, c->strict, &result->timestamp))
        return REFUSED;
    return TAKEN;
}

static verdict to_address(const converter *c, const lic_cel_value *value, lic_cel_value *result)
{
    lic_cel_ip *ip;

    if (value->kind != LIC_CEL_STRING)
        return REFUSED;
    ip = lic_new(c->arena, lic_cel_ip);
    if (ip == NULL)
        return OUT_OF_MEMORY;
    if (!lic_ip_parse(value->text, ip) || (c->strict && lic_str_given(ip->zone)))
        return REFUSED;
    *result = (lic_cel_value){ .kind = LIC_CEL_IPADDRESS, .ip = ip };
    return TAKEN;
}

/* The kind that a type's values have; those of bindings may have it already. */
static lic_cel_kind kind_of(lic_caveat_type_kind type)
{
    static const lic_cel_kind kinds[] = {
        [LIC_CAVEAT_ANY]       = LIC_CEL_NULL,
        [LIC_CAVEAT_BOOL]      = LIC_CEL_BOOL,
        [LIC_CAVEAT_STRING]    = LIC_CEL_STRING,
        [LIC_CAVEAT_INT]       = LIC_CEL_INT,
        [LIC_CAVEAT_UINT]      = LIC_CEL_UINT,
        [LIC_CAVEAT_DOUBLE]    = LIC_CEL_DOUBLE,
        [LIC_CAVEAT_BYTES]     = LIC_CEL_BYTES,
        [LIC_CAVEAT_DURATION]  = LIC_CEL_DURATION,
        [LIC_CAVEAT_TIMESTAMP] = LIC_CEL_TIMESTAMP,
        [LIC_CAVEAT_IPADDRESS] = LIC_CEL_IPADDRESS,
        [LIC_CAVEAT_LIST]      = LIC_CEL_LIST,
        [LIC_CAVEAT_MAP]       = LIC_CEL_MAP,
    };

    return kinds[type];
}

static verdict convert_scalar(const converter *c, lic_caveat_type_kind type, const lic_cel_value *value,
                              lic_cel_value *result)
{
    *result = *value;
    switch (type) {
    case LIC_CAVEAT_ANY:
        return TAKEN;
    case LIC_CAVEAT_INT:
        return to_int(c, value, result);
    case LIC_CAVEAT_UINT:
        return to_uint(c, value, result);
    case LIC_CAVEAT_DOUBLE:
        return to_double(c, value, result);
    default:
        break;
    }
    if (value->kind == kind_of(type))
        return TAKEN;
    switch (type) {
    case LIC_CAVEAT_BYTES:
        return to_bytes(c, value, result);
    case LIC_CAVEAT_DURATION:
        return to_duration(value, result);
    case LIC_CAVEAT_TIMESTAMP:
        return to_timestamp(c, value, result);
    case LIC_CAVEAT_IPADDRESS:
        return to_address(c, value, result);
    default:
        return REFUSED;
    }
}

/* ------------------------------------------------------------- lists and maps */

static size_t count_of(const frame *f)
{
    return f->items != NULL ? f->from->list->count : f->from->map->count;
}

/* A list or map of the right kind, to be filled. */
static bool open_frame(converter *c, const lic_caveat_type *type, const lic_cel_value *value, lic_cel_value *result)
{
    frame *f = &c->frames[c->depth];

    *f = (frame){ .type = type->argument, .from = value, .result = result };
    if (type->kind == LIC_CAVEAT_LIST) {
        f->items = lic_new_array(c->arena, value->list->count, lic_cel_value);
    } else {
        f->entries = lic_new_array(c->arena, value->map->count, lic_cel_entry);
    }
    if (f->items == NULL && f->entries == NULL)
        return false;
    c->depth++;
    return true;
}

static bool close_frame(converter *c)
{
    frame        *f    = &c->frames[--c->depth];
    lic_cel_list *list = lic_new(c->arena, lic_cel_list);
    lic_cel_map  *map  = lic_new(c->arena, lic_cel_map);

    if (list == NULL || map == NULL)
        return false;
    if (f->items != NULL) {
        *list      = (lic_cel_list){ f->items, f->from->list->count };
        *f->result = (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list };
    } else {
        *map       = (lic_cel_map){ .entries = f->entries, .count = f->from->map->count, .given = true };
        *f->result = (lic_cel_value){ .kind = LIC_CEL_MAP, .map = map };
    }
    return true;
}

/* A scalar at once; a list or map is opened. */
static licet_status begin(converter *c, const lic_caveat_type *type, const lic_cel_value *value, lic_cel_value *result)
{
    verdict v;

    if (type->kind == LIC_CAVEAT_LIST || type->kind == LIC_CAVEAT_MAP) {
        if (value->kind != kind_of(type->kind))
            return refuse(c, type, value);
        return open_frame(c, type, value, result) ? LICET_OK : lic_fail_memory(c->error);
    }
    v = convert_scalar(c, type->kind, value, result);
    if (v == REFUSED)
        return refuse(c, type, value);
    return v == TAKEN ? LICET_OK : lic_fail_memory(c->error);
}

static licet_status convert_next(converter *c)
{
    frame               *f = &c->frames[c->depth - 1];
    size_t               i = f->next;
    const lic_cel_value *value;
    licet_status         status;

    if (f->items != NULL) {
        value  = &f->from->list->items[i];
        status = begin(c, f->type, value, &f->items[i]);
    } else {
        f->entries[i].key = f->from->map->entries[i].key;
        value             = &f->from->map->entries[i].value;
        status            = begin(c, f->type, value, &f->entries[i].value);
    }
    f->next = i + 1;
    return status;
}

licet_status lic_cel_convert_parameter(lic_arena *arena, lic_str name, const lic_caveat_type *type,
                                       const lic_cel_value *value, bool strict, lic_cel_value *result,
                                       licet_error **error)
{
    converter    c = { .arena = arena, .name = name, .type = type, .strict = strict, .error = error };
    licet_status status;

    *result = (lic_cel_value){ .kind = LIC_CEL_NULL };
    status  = begin(&c, type, value, result);
    while (status == LICET_OK && c.depth > 0) {
        const frame *top = &c.frames[c.depth - 1];

        if (top->next < count_of(top))
            status = convert_next(&c);
        else if (!close_frame(&c))
            status = lic_fail_memory(error);
    }
    return status;
}
