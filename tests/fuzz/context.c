/* The JSON border: any bytes are read or refused, as jansson reads or refuses them. What is read prints to a text that
 * reads as the same, and converts into every type or is refused; strict, nothing is taken that is not taken else. */
#include <jansson.h>

#include "caveat/convert.h"
#include "caveat/json.h"
#include "datastore/context.h"
#include "engine/context.h"
#include "must.h"

static const lic_caveat_type any       = { LIC_CAVEAT_ANY, NULL };
static const lic_caveat_type integer   = { LIC_CAVEAT_INT, NULL };
static const lic_caveat_type list      = { LIC_CAVEAT_LIST, &any };
static const lic_caveat_type integers  = { LIC_CAVEAT_LIST, &integer };
static const lic_caveat_type map       = { LIC_CAVEAT_MAP, &list };
static const lic_caveat_type scalars[] = {
    { LIC_CAVEAT_ANY, NULL },       { LIC_CAVEAT_BOOL, NULL },     { LIC_CAVEAT_STRING, NULL },
    { LIC_CAVEAT_INT, NULL },       { LIC_CAVEAT_UINT, NULL },     { LIC_CAVEAT_DOUBLE, NULL },
    { LIC_CAVEAT_BYTES, NULL },     { LIC_CAVEAT_DURATION, NULL }, { LIC_CAVEAT_TIMESTAMP, NULL },
    { LIC_CAVEAT_IPADDRESS, NULL }, { LIC_CAVEAT_LIST, &any },     { LIC_CAVEAT_MAP, &any },
    { LIC_CAVEAT_MAP, &list },      { LIC_CAVEAT_LIST, &map },     { LIC_CAVEAT_MAP, &integers },
};

/* -------------------------------------------------------------- conversions */

static bool convert(lic_arena *arena, const lic_caveat_type *type, const lic_cel_value *value, bool strict,
                    lic_cel_value *result)
{
    licet_error *error = NULL;
    bool taken = lic_cel_convert_parameter(arena, LIC_STR("p"), type, value, strict, result, &error) == LICET_OK;

    must(taken == (error == NULL));
    if (!taken)
        must_explain(error, LIC_STR(""));
    return taken;
}

/* Of what both took. */
static void must_agree(const lic_cel_value *a, const lic_cel_value *b)
{
    must(a->kind == b->kind);
    switch (a->kind) {
    case LIC_CEL_INT:
    case LIC_CEL_UINT:
    case LIC_CEL_DURATION:
        must(a->uinteger == b->uinteger);
        break;
    case LIC_CEL_DOUBLE:
        must(memcmp(&a->number, &b->number, sizeof a->number) == 0);
        break;
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
        must(lic_str_equal(a->text, b->text));
        break;
    case LIC_CEL_TIMESTAMP:
        must(a->timestamp.seconds == b->timestamp.seconds && a->timestamp.nanoseconds == b->timestamp.nanoseconds &&
             a->timestamp.nanoseconds < 1000000000);
        break;
    case LIC_CEL_IPADDRESS:
        must(a->ip->size == b->ip->size && memcmp(a->ip->bytes, b->ip->bytes, a->ip->size) == 0);
        break;
    default:
        break;
    }
}

static void convert_all(lic_arena *arena, const lic_context_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        for (size_t type = 0; type < sizeof scalars / sizeof scalars[0]; type++) {
            const lic_cel_value *value = &values->entries[i].value;
            lic_cel_value        lax;
            lic_cel_value        strict;
            bool                 taken = convert(arena, &scalars[type], value, false, &lax);

            if (!convert(arena, &scalars[type], value, true, &strict))
                continue;
            must(taken);
            must_agree(&lax, &strict);
        }
    }
}

/* ----------------------------------------------------------------- a witness */

/* Texts nest no deeper than 64. */
static bool same_value(const lic_cel_value *mine, json_t *theirs)
{
    switch (mine->kind) {
    case LIC_CEL_NULL:
        return json_is_null(theirs);
    case LIC_CEL_BOOL:
        return json_is_boolean(theirs) && mine->boolean == json_is_true(theirs);
    case LIC_CEL_DOUBLE:
        return json_is_number(theirs) && mine->number == json_number_value(theirs);
    case LIC_CEL_STRING:
        return json_is_string(theirs) &&
               lic_str_equal(mine->text, (lic_str){ json_string_value(theirs), json_string_length(theirs) });
    case LIC_CEL_LIST:
        if (!json_is_array(theirs) || mine->list->count != json_array_size(theirs))
            return false;
        for (size_t i = 0; i < mine->list->count; i++)
            if (!same_value(&mine->list->items[i], json_array_get(theirs, i)))
                return false;
        return true;
    case LIC_CEL_MAP:
        if (!json_is_object(theirs) || mine->map->count != json_object_size(theirs))
            return false;
        for (size_t i = 0; i < mine->map->count; i++) {
            lic_str key = mine->map->entries[i].key.text;

            if (!same_value(&mine->map->entries[i].value, json_object_getn(theirs, key.data, key.size)))
                return false;
        }
        return true;
    default:
        return false;
    }
}

/* jansson has no limits of size, takes no NUL in keys, and overlooks one behind a number. */
static void must_be_as_jansson_reads(lic_str text, const lic_cel_value *object, licet_kind kind)
{
    json_error_t error;
    json_t      *theirs = json_loadb(text.data, text.size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);

    if (kind == LICET_KIND_NONE)
        must(theirs == NULL ? memmem(text.data, text.size, "\\u0000", 6) != NULL : same_value(object, theirs));
    else if (kind != LICET_KIND_LIMIT && lic_str_find(text, '\0') == text.size)
        must(!json_is_object(theirs));
    json_decref(theirs);
}

/* ------------------------------------------------------------------ reading */

static licet_kind read_object(lic_arena *arena, lic_str text, bool strict, lic_cel_value *object)
{
    licet_error *error = NULL;
    bool         taken = lic_cel_json_read(arena, text, strict, object, &error) == LICET_OK;
    licet_kind   kind  = licet_error_kind(error);

    must(taken == (error == NULL) && taken == (object->kind == LIC_CEL_MAP));
    if (!taken)
        must_explain(error, text);
    return kind;
}

/* What is printed: read, it prints the same, and is as large. */
static void print_and_read(lic_arena *arena, const lic_context_values *values, size_t wire_bytes)
{
    lic_text           printed;
    lic_text           reprinted;
    lic_context_values again;
    size_t             again_bytes;

    lic_text_init(&printed, arena->memory);
    lic_text_init(&reprinted, arena->memory);
    must(lic_context_print_values(values, &printed));
    if (values->count > 0) {
        must(lic_context_read(arena, lic_text_str(&printed), true, &again, &again_bytes, NULL) == LICET_OK);
        must(lic_context_print_values(&again, &reprinted));
        must(lic_str_equal(lic_text_str(&printed), lic_text_str(&reprinted)) && again_bytes == wire_bytes);
    }
    lic_text_free(&printed);
    lic_text_free(&reprinted);
}

static void must_find_all(const lic_context_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        must(lic_context_find(values, values->entries[i].key.text) == &values->entries[i].value);
        must(i == 0 || lic_str_compare(values->entries[i - 1].key.text, values->entries[i].key.text) < 0);
    }
}

static void must_keep(lic_memory *memory, lic_str text, const lic_context_values *values, size_t wire_bytes)
{
    lic_context   *kept;
    licet_context *prepared;

    must(lic_context_new(memory, text, false, &kept, NULL) == LICET_OK);
    must(kept->wire_bytes == wire_bytes && kept->values.count == values->count);
    must_find_all(&kept->values);
    lic_context_free(kept);
    must((licet_context_parse(text, NULL, &prepared, NULL) == LICET_OK) ==
         (wire_bytes <= LIC_MAX_REQUEST_CONTEXT_BYTES));
    licet_context_release(prepared);
}

/* Where memory ends at some point, the answer is the same or that. */
static void read_with_little_memory(lic_str text, licet_kind expected)
{
    licet_error *error = NULL;
    lic_context *context;
    lic_memory   memory;
    licet_kind   kind;

    lic_memory_init(&memory, NULL, little_memory(text));
    must((lic_context_new(&memory, text, false, &context, &error) == LICET_OK) == (context != NULL));
    kind = licet_error_kind(error);
    must(kind == expected || kind == LICET_KIND_NOMEM);
    licet_error_free(error);
    lic_context_free(context);
    must(memory.used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str            text = { (const char *)data, size };
    lic_memory         memory;
    lic_arena          arena;
    lic_cel_value      object;
    lic_context_values values;
    size_t             wire_bytes;
    bool               strict;
    licet_kind         kind;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    strict = read_object(&arena, text, true, &object) == LICET_KIND_NONE;
    kind   = read_object(&arena, text, false, &object);
    must(kind == LICET_KIND_NONE || !strict);
    must_be_as_jansson_reads(text, &object, kind);
    if (kind == LICET_KIND_NONE) {
        must(lic_context_read(&arena, text, false, &values, &wire_bytes, NULL) == LICET_OK);
        must(values.count == object.map->count);
        must_find_all(&values);
        print_and_read(&arena, &values, wire_bytes);
        must_keep(&memory, text, &values, wire_bytes);
        convert_all(&arena, &values);
    }
    read_with_little_memory(text, kind);
    lic_arena_free(&arena);
    must(memory.used == 0);
    return 0;
}
