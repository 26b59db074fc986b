/* Comparing values. Lists and maps are walked with a stack of their own: data may nest as deep as it likes. */
#include <math.h>

#include "caveat/functions.h"
#include "caveat/ip.h"
#include "caveat/time.h"

static int compare_doubles(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_double_int(double a, int64_t b)
{
    if (a < -0x1p63)
        return -1;
    if (a > 0x1p63)
        return 1;
    return compare_doubles(a, (double)b);
}

static int compare_double_uint(double a, uint64_t b)
{
    if (a < 0)
        return -1;
    if (a > 0x1p64)
        return 1;
    return compare_doubles(a, (double)b);
}

static int compare_int_uint(int64_t a, uint64_t b)
{
    if (a < 0 || b > (uint64_t)INT64_MAX)
        return -1;
    return (a > (int64_t)b) - (a < (int64_t)b);
}

static int compare_double(double a, const lic_cel_value *b)
{
    if (b->kind == LIC_CEL_DOUBLE)
        return compare_doubles(a, b->number);
    return b->kind == LIC_CEL_INT ? compare_double_int(a, b->integer) : compare_double_uint(a, b->uinteger);
}

int lic_cel_compare_numbers(const lic_cel_value *a, const lic_cel_value *b)
{
    if (a->kind == LIC_CEL_DOUBLE)
        return compare_double(a->number, b);
    if (b->kind == LIC_CEL_DOUBLE)
        return -compare_double(b->number, a);
    if (a->kind == b->kind && a->kind == LIC_CEL_INT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->kind == b->kind)
        return (a->uinteger > b->uinteger) - (a->uinteger < b->uinteger);
    return a->kind == LIC_CEL_INT ? compare_int_uint(a->integer, b->uinteger)
                                  : -compare_int_uint(b->integer, a->uinteger);
}

static bool is_number(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_INT || value->kind == LIC_CEL_UINT || value->kind == LIC_CEL_DOUBLE;
}

static bool is_nan(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_DOUBLE && isnan(value->number);
}

/* Of anything but lists, maps and optionals. */
static bool scalars_equal(const lic_cel_value *a, const lic_cel_value *b)
{
    if (is_number(a) && is_number(b))
        return !is_nan(a) && !is_nan(b) && lic_cel_compare_numbers(a, b) == 0;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LIC_CEL_NULL:
        return true;
    case LIC_CEL_BOOL:
        return a->boolean == b->boolean;
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
    case LIC_CEL_TYPE:
        return lic_str_equal(a->text, b->text);
    case LIC_CEL_DURATION:
        return a->duration == b->duration;
    case LIC_CEL_TIMESTAMP:
        return lic_cel_timestamp_compare(a->timestamp, b->timestamp) == 0;
    case LIC_CEL_IPADDRESS:
        return lic_ip_equal(a->ip, b->ip);
    default:
        return false;
    }
}

bool lic_cel_same_key(const lic_cel_value *a, const lic_cel_value *b)
{
    return a->kind == b->kind && scalars_equal(a, b);
}

/* Whole and within 64 bits: then *integer or *uinteger is it. */
static bool key_as_int(const lic_cel_value *key, lic_cel_value *integer)
{
    *integer = lic_cel_int(key->integer);
    if (key->kind == LIC_CEL_UINT) {
        integer->integer = (int64_t)key->uinteger;
        return key->uinteger <= (uint64_t)INT64_MAX;
    }
    if (key->kind != LIC_CEL_DOUBLE || !(key->number > -0x1p63 && key->number < 0x1p63))
        return false;
    integer->integer = (int64_t)key->number;
    return (double)integer->integer == key->number;
}

static bool key_as_uint(const lic_cel_value *key, lic_cel_value *uinteger)
{
    *uinteger = (lic_cel_value){ .kind = LIC_CEL_UINT, .uinteger = 0 };
    if (key->kind == LIC_CEL_INT) {
        uinteger->uinteger = (uint64_t)key->integer;
        return key->integer >= 0;
    }
    if (key->kind != LIC_CEL_DOUBLE || !(key->number >= 0 && key->number < 0x1p64))
        return false;
    uinteger->uinteger = (uint64_t)key->number;
    return (double)uinteger->uinteger == key->number;
}

static const lic_cel_value *find_same(const lic_cel_map *map, const lic_cel_value *key)
{
    for (size_t i = 0; i < map->count; i++) {
        if (lic_cel_same_key(&map->entries[i].key, key))
            return &map->entries[i].value;
    }
    return NULL;
}

#define ENTRIES_PER_STEP 64

/* As cel-go: the key as it is, then as an int, then as a uint. */
bool lic_cel_map_find(lic_cel_run *run, const lic_cel_map *map, const lic_cel_value *key, const lic_cel_value **value)
{
    lic_cel_value other;

    *value = NULL;
    if (!lic_cel_spend_on(run, map->count, ENTRIES_PER_STEP))
        return false;
    *value = find_same(map, key);
    if (*value == NULL && key_as_int(key, &other))
        *value = find_same(map, &other);
    if (*value == NULL && key_as_uint(key, &other))
        *value = find_same(map, &other);
    return true;
}

/* Two lists or maps of the same size that are being compared. */
typedef struct frame {
    const lic_cel_value *a;
    const lic_cel_value *b;
    size_t               next;
} frame;

#define FRAMES_AT_ONCE 16

typedef struct walk {
    frame *frames;
    size_t height;
    size_t capacity;
    frame  first[FRAMES_AT_ONCE];
} walk;

static bool walk_push(lic_cel_run *run, walk *w, const lic_cel_value *a, const lic_cel_value *b)
{
    frame *more;

    if (w->height == w->capacity) {
        more = lic_cel_take_array(run, w->capacity * 2, sizeof *more);
        if (more == NULL)
            return false;
        memcpy(more, w->frames, w->height * sizeof *more);
        w->frames = more;
        w->capacity *= 2;
    }
    w->frames[w->height++] = (frame){ a, b, 0 };
    return true;
}

/* Compares what needs no walk, pushes what does. */
static bool compare_pair(lic_cel_run *run, walk *w, const lic_cel_value *a, const lic_cel_value *b, bool *equal)
{
    while (a->kind == LIC_CEL_OPTIONAL && b->kind == LIC_CEL_OPTIONAL && a->optional != NULL && b->optional != NULL) {
        if (!lic_cel_spend(run, 1))
            return false;
        a = a->optional;
        b = b->optional;
    }
    *equal = true;
    if (a->kind == LIC_CEL_LIST && b->kind == LIC_CEL_LIST && a->list->count == b->list->count)
        return walk_push(run, w, a, b);
    if (a->kind == LIC_CEL_MAP && b->kind == LIC_CEL_MAP && a->map->count == b->map->count)
        return walk_push(run, w, a, b);
    if (a->kind == LIC_CEL_OPTIONAL && b->kind == LIC_CEL_OPTIONAL)
        *equal = a->optional == b->optional; /* none and none */
    else
        *equal = scalars_equal(a, b);
    return true;
}

/* The next two values inside the pair on top, or NULL. A key that is missing on the right: *equal is false. */
static bool walk_next(lic_cel_run *run, walk *w, const lic_cel_value **a, const lic_cel_value **b, bool *equal)
{
    frame *top = &w->frames[w->height - 1];

    *a = NULL;
    if (top->a->kind == LIC_CEL_LIST) {
        if (top->next < top->a->list->count) {
            *a = &top->a->list->items[top->next];
            *b = &top->b->list->items[top->next++];
        }
    } else if (top->next < top->a->map->count) {
        const lic_cel_entry *entry = &top->a->map->entries[top->next++];

        if (!lic_cel_map_find(run, top->b->map, &entry->key, b))
            return false;
        *equal = *b != NULL;
        *a     = &entry->value;
    }
    return lic_cel_spend(run, 1);
}

bool lic_cel_equal(lic_cel_run *run, const lic_cel_value *a, const lic_cel_value *b, lic_cel_value *result)
{
    walk w = { .capacity = FRAMES_AT_ONCE };
    bool equal;

    if (a->kind == LIC_CEL_IPADDRESS && b->kind != LIC_CEL_IPADDRESS && b->kind != LIC_CEL_NULL) {
        *result = lic_cel_no_overload();
        return true;
    }
    w.frames = w.first;
    if (!compare_pair(run, &w, a, b, &equal))
        return false;
    while (equal && w.height > 0) {
        if (!walk_next(run, &w, &a, &b, &equal))
            return false;
        if (a == NULL)
            w.height--;
        else if (equal && !compare_pair(run, &w, a, b, &equal))
            return false;
    }
    *result = lic_cel_bool(equal);
    return true;
}

/* ------------------------------------------------------------- isSubtreeOf */

/* SpiceDB compares what Go holds: numbers of different kinds differ, and a moment with an offset is only equal to itself. */
static bool natively_equal(const lic_cel_value *a, const lic_cel_value *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == LIC_CEL_TIMESTAMP && (a->timestamp.offset != 0 || b->timestamp.offset != 0))
        return a == b;
    return scalars_equal(a, b);
}

/* Comparing two of these panics in SpiceDB. */
static bool is_incomparable(const lic_cel_value *a, const lic_cel_value *b)
{
    return a->kind == b->kind && (a->kind == LIC_CEL_LIST || a->kind == LIC_CEL_BYTES);
}

bool lic_cel_is_subtree(lic_cel_run *run, const lic_cel_map *map, const lic_cel_map *of, lic_cel_value *result)
{
    walk          w       = { .capacity = FRAMES_AT_ONCE };
    lic_cel_value root[2] = { { .kind = LIC_CEL_MAP, .map = map }, { .kind = LIC_CEL_MAP, .map = of } };

    w.frames = w.first;
    *result  = lic_cel_bool(false);
    if (!walk_push(run, &w, &root[0], &root[1]))
        return false;
    while (w.height > 0) {
        const lic_cel_value *a;
        const lic_cel_value *b;
        bool                 found = true;

        if (!walk_next(run, &w, &a, &b, &found))
            return false;
        if (a == NULL) {
            w.height--;
        } else if (!found) {
            return true;
        } else if (a->kind == LIC_CEL_MAP && b->kind == LIC_CEL_MAP) {
            if (!walk_push(run, &w, a, b))
                return false;
        } else if (is_incomparable(a, b)) {
            *result       = lic_cel_error("internal error: isSubtreeOf can not compare lists or bytes");
            run->panicked = true;
            return true;
        } else if (!natively_equal(a, b)) {
            return true;
        }
    }
    *result = lic_cel_bool(true);
    return true;
}
