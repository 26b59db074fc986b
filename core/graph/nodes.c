/* Ids in both directions. Texts lie in pages, each behind its length, and are never given up one by one. */
#include "nodes.h"

#include <string.h>

#include "base/hash.h"

#define FIRST_TABLE 16u
#define FIRST_PAGE ((size_t)1024)
#define LARGEST_PAGE ((size_t)1 << 16)
#define LENGTH_BYTES sizeof(uint16_t)
#define MAX_ID_BYTES 1024u
/* The largest numbers mean "none" and "another that is none". */
#define MAX_NODES (UINT32_MAX - 2)

struct lic_node_page {
    lic_node_page *older;
    size_t         size; /* bytes, with this header */
    char           texts[];
};

typedef struct node_table {
    size_t           capacity; /* a power of two */
    _Atomic uint64_t slots[];  /* upper half: hash, lower half: node; 0: free */
} node_table;

typedef struct node_type {
    _Atomic(node_table *) table;
    uint32_t              count; /* the next node; the writer's */
    lic_chunks            texts; /* const char *, at the length before the text */
} node_type;

void lic_nodes_init(lic_nodes *nodes, lic_memory *memory, lic_epochs *epochs)
{
    *nodes = (lic_nodes){ .memory = memory, .epochs = epochs, .key = lic_random_key() };
}

static size_t table_size(size_t capacity)
{
    return sizeof(node_table) + capacity * sizeof(uint64_t);
}

static void table_free(void *memory, void *thing)
{
    node_table *table = thing;

    if (table != NULL)
        lic_free(memory, table, table_size(table->capacity));
}

static node_type *find_type(const lic_nodes *nodes, lic_type type)
{
    _Atomic(node_type *) *entry = lic_chunks_find(&nodes->types, type, sizeof *entry);

    return entry == NULL ? NULL : atomic_load_explicit(entry, memory_order_acquire);
}

static void free_types(lic_nodes *nodes)
{
    lic_type type = 0;

    for (; lic_chunks_find(&nodes->types, type, sizeof(node_type *)) != NULL; type++) {
        node_type *found = find_type(nodes, type);

        if (found == NULL)
            continue;
        table_free(nodes->memory, atomic_load_explicit(&found->table, memory_order_relaxed));
        lic_chunks_free(&found->texts, nodes->memory, sizeof(const char *));
        lic_free(nodes->memory, found, sizeof *found);
    }
    lic_chunks_free(&nodes->types, nodes->memory, sizeof(node_type *));
}

void lic_nodes_free(lic_nodes *nodes)
{
    free_types(nodes);
    while (nodes->pages != NULL) {
        lic_node_page *older = nodes->pages->older;

        lic_free(nodes->memory, nodes->pages, nodes->pages->size);
        nodes->pages = older;
    }
}

static bool is_wildcard(lic_str id)
{
    return id.size == 1 && id.data[0] == '*';
}

static lic_str type_text(const node_type *type, uint32_t node)
{
    const char *const *text = lic_chunks_at(&type->texts, node, sizeof *text);
    uint16_t           size;

    memcpy(&size, *text, LENGTH_BYTES);
    return (lic_str){ *text + LENGTH_BYTES, size };
}

lic_str lic_nodes_id(const lic_nodes *nodes, lic_type type, uint32_t node)
{
    return node == 0 ? LIC_STR("*") : type_text(find_type(nodes, type), node);
}

uint32_t lic_nodes_end(const lic_nodes *nodes, lic_type type)
{
    const node_type *found = find_type(nodes, type);

    return found == NULL ? 1 : found->count;
}

static uint32_t hash_of(const lic_nodes *nodes, lic_str id)
{
    return (uint32_t)(lic_hash_str(id, nodes->key) >> 32);
}

static uint32_t type_find(const node_type *type, lic_str id, uint32_t hash)
{
    const node_table *table = atomic_load(&type->table);
    size_t            mask;

    if (table == NULL)
        return LIC_NONE;
    mask = table->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);

        if (slot == 0)
            return LIC_NONE;
        if (slot >> 32 == hash && lic_str_equal(type_text(type, (uint32_t)slot), id))
            return (uint32_t)slot;
    }
}

uint32_t lic_nodes_find(const lic_nodes *nodes, lic_type type, lic_str id)
{
    const node_type *found;

    if (is_wildcard(id))
        return 0;
    found = find_type(nodes, type);
    return found == NULL ? LIC_NONE : type_find(found, id, hash_of(nodes, id));
}

static void table_add(node_table *table, uint64_t entry)
{
    size_t mask = table->capacity - 1;
    size_t i    = (entry >> 32) & mask;

    while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & mask;
    atomic_store_explicit(&table->slots[i], entry, memory_order_release);
}

static size_t capacity_of(const node_type *type)
{
    const node_table *table = atomic_load_explicit(&type->table, memory_order_relaxed);

    return table == NULL ? 0 : table->capacity;
}

/* The capacity that one more needs: at most seven of ten slots are taken. The writer's. */
static size_t wanted_capacity(const node_type *type)
{
    const size_t capacity = capacity_of(type);

    if ((uint64_t)type->count * 10 < (uint64_t)capacity * 7)
        return capacity;
    return capacity == 0 ? FIRST_TABLE : capacity * 2;
}

/* Room for one more in the table. */
static bool reserve_slot(lic_nodes *nodes, node_type *type)
{
    node_table *old      = atomic_load_explicit(&type->table, memory_order_relaxed);
    size_t      capacity = capacity_of(type);
    size_t      wanted   = wanted_capacity(type);
    node_table *table;

    if (wanted == capacity)
        return true;
    if (old != NULL && !lic_epoch_reserve(nodes->epochs))
        return false;
    table = lic_alloc_zero(nodes->memory, table_size(wanted));
    if (table == NULL) {
        if (old != NULL)
            lic_epoch_unreserve(nodes->epochs);
        return false;
    }
    table->capacity = wanted;
    for (size_t i = 0; i < capacity; i++) {
        uint64_t entry = atomic_load_explicit(&old->slots[i], memory_order_relaxed);

        if (entry != 0)
            table_add(table, entry);
    }
    atomic_store(&type->table, table);
    if (old != NULL)
        lic_epoch_retire(nodes->epochs, table_free, nodes->memory, old);
    return true;
}

/* Bytes of the page that a text of this size needs; 0: there is room in the newest. */
static size_t wanted_page(const lic_nodes *nodes, size_t size)
{
    const lic_node_page *newest    = nodes->pages;
    size_t               page_size = FIRST_PAGE;

    if (newest != NULL && newest->size - sizeof *newest - nodes->page_used >= LENGTH_BYTES + size)
        return 0;
    if (newest != NULL)
        page_size = newest->size < LARGEST_PAGE ? newest->size * 2 : LARGEST_PAGE;
    return page_size < sizeof *newest + LENGTH_BYTES + size ? page_size * 2 : page_size;
}

/* Room for a text of this size in the newest page. */
static bool reserve_text(lic_nodes *nodes, size_t size)
{
    lic_node_page *page;
    size_t         page_size = wanted_page(nodes, size);

    if (page_size == 0)
        return true;
    page = lic_alloc(nodes->memory, page_size);
    if (page == NULL)
        return false;
    page->older      = nodes->pages;
    page->size       = page_size;
    nodes->pages     = page;
    nodes->page_used = 0;
    atomic_fetch_add_explicit(&nodes->id_bytes, page_size, memory_order_relaxed);
    return true;
}

static const char *add_text(lic_nodes *nodes, lic_str id)
{
    char    *text = nodes->pages->texts + nodes->page_used;
    uint16_t size = (uint16_t)id.size;

    memcpy(text, &size, LENGTH_BYTES);
    if (id.size > 0)
        memcpy(text + LENGTH_BYTES, id.data, id.size);
    nodes->page_used += LENGTH_BYTES + id.size;
    return text;
}

static node_type *get_type(lic_nodes *nodes, lic_type type)
{
    node_type            *found = find_type(nodes, type);
    _Atomic(node_type *) *entry;

    /* All chunks up to the type's, so that freeing can stop at the first that is missing. */
    if (found != NULL || type == LIC_NO_TYPE ||
        !lic_chunks_reserve(&nodes->types, nodes->memory, 0, type + 1, sizeof *entry))
        return found;
    found = lic_alloc_zero(nodes->memory, sizeof *found);
    if (found == NULL)
        return NULL;
    found->count = 1; /* after the wildcard */
    entry        = lic_chunks_at(&nodes->types, type, sizeof *entry);
    atomic_store_explicit(entry, found, memory_order_release);
    return found;
}

static uint32_t add_node(lic_nodes *nodes, node_type *type, lic_str id, uint32_t hash)
{
    uint32_t     node = type->count;
    const char **text;

    if (id.size > MAX_ID_BYTES || node >= MAX_NODES || !reserve_text(nodes, id.size) || !reserve_slot(nodes, type) ||
        !lic_chunks_reserve(&type->texts, nodes->memory, node, node + 1, sizeof *text))
        return LIC_NONE;
    text  = lic_chunks_at(&type->texts, node, sizeof *text);
    *text = add_text(nodes, id);
    table_add(atomic_load_explicit(&type->table, memory_order_relaxed), (uint64_t)hash << 32 | node);
    type->count++;
    atomic_fetch_add_explicit(&nodes->count, 1, memory_order_relaxed);
    return node;
}

size_t lic_nodes_bytes(const lic_nodes *nodes, lic_type type, lic_str id)
{
    const node_type *found = find_type(nodes, type);
    size_t           bytes = wanted_page(nodes, id.size);

    if (found == NULL)
        return bytes + sizeof *found + table_size(FIRST_TABLE);
    bytes += lic_chunks_missing(&found->texts, found->count, sizeof(const char *));
    return wanted_capacity(found) == capacity_of(found) ? bytes : bytes + table_size(wanted_capacity(found));
}

uint32_t lic_nodes_intern(lic_nodes *nodes, lic_type type, lic_str id)
{
    node_type *found;
    uint32_t   hash;
    uint32_t   node;

    if (is_wildcard(id))
        return 0;
    found = get_type(nodes, type);
    if (found == NULL)
        return LIC_NONE;
    hash = hash_of(nodes, id);
    node = type_find(found, id, hash);
    return node != LIC_NONE ? node : add_node(nodes, found, id, hash);
}

static void release_all(void *memory, void *thing)
{
    lic_nodes_free(thing);
    lic_free(memory, thing, sizeof(lic_nodes));
}

bool lic_nodes_forget(lic_nodes *nodes)
{
    lic_nodes *old = lic_alloc_zero(nodes->memory, sizeof *old);

    if (old == NULL || !lic_epoch_reserve(nodes->epochs)) {
        lic_free(nodes->memory, old, sizeof *old);
        return false;
    }
    lic_nodes_init(old, nodes->memory, nodes->epochs);
    for (size_t i = 0; i < LIC_CHUNKS_COUNT; i++)
        atomic_store(&old->types.chunks[i], atomic_exchange(&nodes->types.chunks[i], NULL));
    old->pages       = nodes->pages;
    nodes->pages     = NULL;
    nodes->page_used = 0;
    atomic_store_explicit(&nodes->count, 0, memory_order_relaxed);
    atomic_store_explicit(&nodes->id_bytes, 0, memory_order_relaxed);
    lic_epoch_retire(nodes->epochs, release_all, nodes->memory, old);
    return true;
}
