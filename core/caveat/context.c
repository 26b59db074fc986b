/* Reading, measuring and copying contexts. Values nest no deeper than the JSON reader lets them, so a stack of that
 * height goes through any of them. */
#include "caveat/context.h"

#include <stdlib.h>

#include "caveat/json.h"

/* So few keys are compared one by one: mostly their sizes tell them apart. */
#define FEW_KEYS 8

/* ------------------------------------------------------------------- walking */

/* A list or map that is being gone through. */
typedef struct frame {
    const lic_cel_value *container;
    size_t               next;
    size_t               wire_bytes; /* of the items so far */
} frame;

typedef struct measure {
    frame  stack[LIC_CEL_MAX_JSON_NESTING];
    size_t depth;
    size_t block_bytes; /* of all lists, maps and texts */
} measure;

static size_t varint_bytes(size_t number)
{
    size_t bytes = 1;

    for (; number >= 128; number >>= 7)
        bytes++;
    return bytes;
}

/* A protobuf field of so many bytes with its tag and size. */
static size_t field_bytes(size_t bytes)
{
    return 1 + varint_bytes(bytes) + bytes;
}

static size_t item_count(const lic_cel_value *container)
{
    return container->kind == LIC_CEL_LIST ? container->list->count : container->map->count;
}

/* Of a value without items. SpiceDB: google.protobuf.Value. */
static size_t scalar_bytes(measure *m, const lic_cel_value *value)
{
    switch (value->kind) {
    case LIC_CEL_DOUBLE:
        return 9;
    case LIC_CEL_STRING:
        m->block_bytes += value->text.size;
        return field_bytes(value->text.size);
    default:
        return 2;
    }
}

static void open_container(measure *m, const lic_cel_value *container)
{
    const bool is_list = container->kind == LIC_CEL_LIST;

    m->block_bytes += is_list ? sizeof(lic_cel_list) : sizeof(lic_cel_map);
    m->block_bytes += item_count(container) * (is_list ? sizeof(lic_cel_value) : sizeof(lic_cel_entry));
    m->stack[m->depth++] = (frame){ container, 0, 0 };
}

/* A value of so many bytes is the next item of the innermost container. */
static void add_item(measure *m, size_t bytes)
{
    frame *top = &m->stack[m->depth - 1];

    if (top->container->kind == LIC_CEL_MAP) {
        const lic_str key = top->container->map->entries[top->next].key.text;

        m->block_bytes += key.size;
        bytes = field_bytes(key.size) + field_bytes(bytes);
    }
    top->wire_bytes += field_bytes(bytes);
    top->next++;
}

/* What the whole takes on the wire, without the tag and size that it would have inside another. The sizes are those of
 * what is in memory already: they do not overflow. */
static size_t measure_map(measure *m, const lic_cel_value *map)
{
    m->depth       = 0;
    m->block_bytes = 0;
    open_container(m, map);
    for (;;) {
        frame *top = &m->stack[m->depth - 1];

        if (top->next < item_count(top->container)) {
            const lic_cel_value *item = top->container->kind == LIC_CEL_LIST
                                            ? &top->container->list->items[top->next]
                                            : &top->container->map->entries[top->next].value;

            if (item->kind == LIC_CEL_LIST || item->kind == LIC_CEL_MAP)
                open_container(m, item);
            else
                add_item(m, scalar_bytes(m, item));
            continue;
        }
        if (--m->depth == 0)
            return top->wire_bytes;
        add_item(m, field_bytes(top->wire_bytes));
    }
}

/* ------------------------------------------------------------------- reading */

static int compare_entries(const void *a, const void *b)
{
    return lic_str_compare(((const lic_cel_entry *)a)->key.text, ((const lic_cel_entry *)b)->key.text);
}

/* Into the arena, with the top sorted. */
static licet_status read(lic_arena *arena, lic_str text, bool strict, lic_cel_value *object, licet_error **error)
{
    lic_cel_map   *map;
    licet_status   status = lic_cel_json_read(arena, text, strict, object, error);
    lic_cel_entry *entries;

    if (status != LICET_OK)
        return status;
    map     = lic_arena_alloc(arena, sizeof *map);
    entries = lic_arena_alloc(arena, object->map->count * sizeof *entries);
    if (map == NULL || entries == NULL)
        return lic_fail_memory(error);
    if (object->map->count > 0) {
        memcpy(entries, object->map->entries, object->map->count * sizeof *entries);
        qsort(entries, object->map->count, sizeof *entries, compare_entries);
    }
    *map        = (lic_cel_map){ entries, object->map->count, object->map->given };
    object->map = map;
    return LICET_OK;
}

licet_status lic_context_read(lic_arena *arena, lic_str text, bool strict, lic_context_values *values,
                              size_t *wire_bytes, licet_error **error)
{
    lic_cel_value object;
    measure       m;
    licet_status  status = read(arena, text, strict, &object, error);

    *values = (lic_context_values){ NULL, 0 };
    if (wire_bytes != NULL)
        *wire_bytes = 0;
    if (status != LICET_OK)
        return status;
    if (wire_bytes != NULL)
        *wire_bytes = measure_map(&m, &object);
    *values = (lic_context_values){ object.map->entries, object.map->count };
    return LICET_OK;
}

const lic_cel_value *lic_context_find(const lic_context_values *values, lic_str key)
{
    size_t low  = 0;
    size_t high = values->count;

    if (high <= FEW_KEYS) {
        for (; low < high; low++)
            if (lic_str_equal(values->entries[low].key.text, key))
                return &values->entries[low].value;
        return NULL;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (lic_str_compare(values->entries[middle].key.text, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < values->count && lic_str_equal(values->entries[low].key.text, key) ? &values->entries[low].value
                                                                                    : NULL;
}

/* ------------------------------------------------------------------- copying */

/* The block: records from its start, texts from its end. */
typedef struct copier {
    char *records;
    char *texts;
} copier;

static lic_str copy_text(copier *c, lic_str text)
{
    c->texts -= text.size;
    if (text.size > 0)
        memcpy(c->texts, text.data, text.size);
    return (lic_str){ c->texts, text.size };
}

static void *take(copier *c, size_t size)
{
    void *taken = c->records;

    c->records += size;
    return taken;
}

/* The container's own record and items; the items still are those of the original. */
static void copy_container(copier *c, lic_cel_value *value)
{
    if (value->kind == LIC_CEL_LIST) {
        lic_cel_list  *list  = take(c, sizeof *list);
        lic_cel_value *items = take(c, value->list->count * sizeof *items);

        if (value->list->count > 0)
            memcpy(items, value->list->items, value->list->count * sizeof *items);
        *list       = (lic_cel_list){ items, value->list->count };
        value->list = list;
    } else {
        lic_cel_map   *map     = take(c, sizeof *map);
        lic_cel_entry *entries = take(c, value->map->count * sizeof *entries);

        if (value->map->count > 0)
            memcpy(entries, value->map->entries, value->map->count * sizeof *entries);
        *map       = (lic_cel_map){ entries, value->map->count, value->map->given };
        value->map = map;
    }
}

/* The next item of a copied container, its key copied; NULL: there is no more. */
static lic_cel_value *next_copy(copier *c, frame *top)
{
    lic_cel_entry *entry;

    if (top->next == item_count(top->container))
        return NULL;
    if (top->container->kind == LIC_CEL_LIST)
        return (lic_cel_value *)&top->container->list->items[top->next++];
    entry           = (lic_cel_entry *)&top->container->map->entries[top->next++];
    entry->key.text = copy_text(c, entry->key.text);
    return &entry->value;
}

/* *value becomes a copy of itself. */
static void copy_map(copier *c, lic_cel_value *value)
{
    frame  stack[LIC_CEL_MAX_JSON_NESTING];
    size_t depth = 0;

    copy_container(c, value);
    stack[depth++] = (frame){ value, 0, 0 };
    while (depth > 0) {
        lic_cel_value *item = next_copy(c, &stack[depth - 1]);

        if (item == NULL) {
            depth--;
        } else if (item->kind == LIC_CEL_STRING) {
            item->text = copy_text(c, item->text);
        } else if (item->kind == LIC_CEL_LIST || item->kind == LIC_CEL_MAP) {
            copy_container(c, item);
            stack[depth++] = (frame){ item, 0, 0 };
        }
    }
}

licet_status lic_context_new(lic_memory *memory, lic_str text, bool strict, lic_context **context, licet_error **error)
{
    lic_arena     scratch;
    lic_cel_value object;
    lic_context  *made;
    copier        c;
    measure       m;
    size_t        wire_bytes;
    licet_status  status;

    *context = NULL;
    lic_arena_init(&scratch, memory);
    LIC_TRY(read(&scratch, text, strict, &object, error));
    wire_bytes = measure_map(&m, &object);
    made       = lic_alloc(memory, sizeof *made + m.block_bytes);
    if (made == NULL) {
        status = lic_fail_memory(error);
        goto done;
    }
    c.records = (char *)(made + 1);
    c.texts   = c.records + m.block_bytes;
    copy_map(&c, &object);
    *made    = (lic_context){ .memory     = memory,
                              .size       = sizeof *made + m.block_bytes,
                              .wire_bytes = wire_bytes,
                              .values     = { object.map->entries, object.map->count } };
    *context = made;
done:
    lic_arena_free(&scratch);
    return status;
}

void lic_context_free(lic_context *context)
{
    if (context != NULL)
        lic_free(context->memory, context, context->size);
}
