/* Three arrays, of types, slots and names of caveats, that only grow. Each is a list of chunks, every one twice as
 * large as all before it, so growing moves nothing and a reader needs no lock: what it was given a number for was
 * written before that number was published, and is never written again.
 *
 * The maps from text to number are the writer's alone. */
#include "names.h"

#include "arena.h"
#include "hash.h"
#include "map.h"

#define FIRST_CHUNK_BITS 6
#define CHUNK_COUNT (33 - FIRST_CHUNK_BITS)

typedef struct chunked {
    void          *chunks[CHUNK_COUNT]; /* NULL: not needed yet */
    _Atomic size_t count;               /* what readers may see */
    size_t         item_size;
} chunked;

typedef struct type_entry {
    lic_str  name;
    lic_slot ellipsis;
    lic_map  slots; /* relation -> slot, all but "..."; the writer's */
} type_entry;

typedef struct slot_entry {
    lic_str  relation;
    lic_type type;
} slot_entry;

struct lic_names {
    lic_memory *memory;
    lic_arena   texts;
    lic_map     types_by_name;
    lic_map     caveats_by_name;
    chunked     types;
    chunked     slots;
    chunked     caveats; /* lic_str */
};

/* Chunk 0 holds the first 64 numbers; chunk i > 0 those whose highest bit is bit i + 5. */
static size_t chunk_of(size_t index)
{
    return index >> FIRST_CHUNK_BITS == 0 ? 0 : (size_t)(64 - __builtin_clzll(index)) - FIRST_CHUNK_BITS;
}

static size_t chunk_first(size_t chunk)
{
    return chunk == 0 ? 0 : (size_t)1 << (chunk + FIRST_CHUNK_BITS - 1);
}

static size_t chunk_size(size_t chunk)
{
    return (size_t)1 << (chunk == 0 ? FIRST_CHUNK_BITS : chunk + FIRST_CHUNK_BITS - 1);
}

static void *chunked_at(const chunked *array, size_t index)
{
    size_t chunk = chunk_of(index);

    return (char *)array->chunks[chunk] + (index - chunk_first(chunk)) * array->item_size;
}

static size_t chunked_count(const chunked *array)
{
    return atomic_load_explicit(&array->count, memory_order_acquire);
}

/* Room for item number `count`, zeroed, which nobody sees before chunked_publish(). NULL: out of memory, or of numbers
 * (the last one means "none"). */
static void *chunked_next(chunked *array, lic_memory *memory)
{
    size_t count = chunked_count(array);
    size_t chunk = chunk_of(count);

    if (count >= UINT32_MAX)
        return NULL;
    if (array->chunks[chunk] == NULL)
        array->chunks[chunk] = lic_alloc_array(memory, chunk_size(chunk), array->item_size);
    return array->chunks[chunk] == NULL ? NULL : chunked_at(array, count);
}

static uint32_t chunked_publish(chunked *array)
{
    return (uint32_t)atomic_fetch_add_explicit(&array->count, 1, memory_order_release);
}

static void chunked_free(chunked *array, lic_memory *memory)
{
    for (size_t i = 0; i < CHUNK_COUNT; i++)
        lic_free(memory, array->chunks[i], chunk_size(i) * array->item_size);
}

lic_names *lic_names_new(lic_memory *memory)
{
    lic_names *names = lic_alloc_zero(memory, sizeof *names);

    if (names == NULL)
        return NULL;
    names->memory = memory;
    lic_arena_init(&names->texts, memory);
    lic_map_init(&names->types_by_name, memory, lic_random_key());
    lic_map_init(&names->caveats_by_name, memory, lic_random_key());
    names->types.item_size   = sizeof(type_entry);
    names->slots.item_size   = sizeof(slot_entry);
    names->caveats.item_size = sizeof(lic_str);
    return names;
}

static type_entry *type_at(const lic_names *names, lic_type type)
{
    return chunked_at(&names->types, type);
}

static slot_entry *slot_at(const lic_names *names, lic_slot slot)
{
    return chunked_at(&names->slots, slot);
}

void lic_names_free(lic_names *names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < chunked_count(&names->types); i++)
        lic_map_free(&type_at(names, (lic_type)i)->slots);
    chunked_free(&names->types, names->memory);
    chunked_free(&names->slots, names->memory);
    chunked_free(&names->caveats, names->memory);
    lic_map_free(&names->types_by_name);
    lic_map_free(&names->caveats_by_name);
    lic_arena_free(&names->texts);
    lic_free(names->memory, names, sizeof *names);
}

/* Whatever can fail comes first and leaves only unused room behind. The map goes last, because an entry in it
 * can not be taken back; publishing can not fail. */
static lic_type add_type(lic_names *names, lic_str name)
{
    type_entry *entry    = chunked_next(&names->types, names->memory);
    slot_entry *ellipsis = chunked_next(&names->slots, names->memory);
    lic_type    type     = (lic_type)chunked_count(&names->types);
    lic_str     copy     = lic_arena_str(&names->texts, name);

    if (entry == NULL || ellipsis == NULL || !lic_str_given(copy) || !lic_map_set(&names->types_by_name, copy, type))
        return LIC_NO_TYPE;
    *ellipsis   = (slot_entry){ .relation = LIC_ELLIPSIS, .type = type };
    entry->name = copy;
    lic_map_init(&entry->slots, names->memory, lic_random_key());
    entry->ellipsis = chunked_publish(&names->slots);
    return chunked_publish(&names->types);
}

static lic_slot add_slot(lic_names *names, lic_type type, lic_str relation)
{
    slot_entry *entry = chunked_next(&names->slots, names->memory);
    lic_slot    slot  = (lic_slot)chunked_count(&names->slots);
    lic_str     copy  = lic_arena_str(&names->texts, relation);

    if (entry == NULL || !lic_str_given(copy) || !lic_map_set(&type_at(names, type)->slots, copy, slot))
        return LIC_NO_SLOT;
    *entry = (slot_entry){ .relation = copy, .type = type };
    return chunked_publish(&names->slots);
}

static uint32_t add_caveat(lic_names *names, lic_str name)
{
    lic_str *entry  = chunked_next(&names->caveats, names->memory);
    uint32_t caveat = (uint32_t)chunked_count(&names->caveats);
    lic_str  copy   = lic_arena_str(&names->texts, name);

    if (entry == NULL || !lic_str_given(copy) || !lic_map_set(&names->caveats_by_name, copy, caveat))
        return LIC_NO_CAVEAT_NAME;
    *entry = copy;
    return chunked_publish(&names->caveats);
}

lic_type lic_names_type(lic_names *names, lic_str type)
{
    uint32_t known = lic_map_find(&names->types_by_name, type);

    return known != LIC_MAP_NONE ? known : add_type(names, type);
}

lic_slot lic_names_slot(lic_names *names, lic_type type, lic_str relation)
{
    const type_entry *entry = type_at(names, type);
    uint32_t          known;

    if (lic_str_equal(relation, LIC_ELLIPSIS))
        return entry->ellipsis;
    known = lic_map_find(&entry->slots, relation);
    return known != LIC_MAP_NONE ? known : add_slot(names, type, relation);
}

uint32_t lic_names_caveat(lic_names *names, lic_str name)
{
    uint32_t known = lic_map_find(&names->caveats_by_name, name);

    return known != LIC_MAP_NONE ? known : add_caveat(names, name);
}

size_t lic_names_slot_count(const lic_names *names)
{
    return chunked_count(&names->slots);
}

lic_slot lic_names_ellipsis(const lic_names *names, lic_type type)
{
    return type_at(names, type)->ellipsis;
}

lic_type lic_names_type_of(const lic_names *names, lic_slot slot)
{
    return slot_at(names, slot)->type;
}

lic_str lic_names_type_name(const lic_names *names, lic_type type)
{
    return type_at(names, type)->name;
}

lic_str lic_names_relation_name(const lic_names *names, lic_slot slot)
{
    return slot_at(names, slot)->relation;
}

size_t lic_names_caveat_count(const lic_names *names)
{
    return chunked_count(&names->caveats);
}

lic_str lic_names_caveat_name(const lic_names *names, uint32_t caveat)
{
    return *(const lic_str *)chunked_at(&names->caveats, caveat);
}
