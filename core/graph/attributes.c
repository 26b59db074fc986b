/* Making, counting and ending attributes. */
#include "attributes.h"

#include <string.h>

/* The last number means that the edge is absent. */
#define MAX_NUMBERS (LIC_ABSENT - 1)

void lic_attributes_init(lic_attributes *attributes, lic_memory *memory, const lic_graph_options *options)
{
    *attributes = (lic_attributes){ .memory = memory };
    if (options == NULL)
        return;
    attributes->release = options->release_payload;
    attributes->context = options->payload_context;
}

/* Gives back what the attribute owns. First the record forgets it: a fork() in between loses it in the child, rather
 * than leaving it there to be given back twice. */
static void clear(lic_attributes *attributes, lic_attribute *content)
{
    lic_attribute old = *content;

    *content = (lic_attribute){ 0 };
    if (attributes->release != NULL && old.payload != NULL)
        attributes->release(attributes->context, old.payload);
    lic_free(attributes->memory, (char *)old.context.data, old.context.size);
}

/* What is free is clear: it owns nothing. */
void lic_attributes_free(lic_attributes *attributes)
{
    uint32_t count = atomic_load_explicit(&attributes->count, memory_order_relaxed);

    for (uint32_t number = 1; number <= count; number++)
        clear(attributes, &lic_attributes_entry(attributes, number)->content);
    lic_chunks_free(&attributes->entries, attributes->memory, sizeof(lic_attribute_entry));
}

/* Only the writer pops, so the first number can not go and come back while he looks at it. */
static uint32_t pop_free(lic_attributes *attributes)
{
    uint32_t number = atomic_load_explicit(&attributes->free, memory_order_acquire);
    uint32_t next;

    do {
        if (number == 0)
            return 0;
        next = (uint32_t)atomic_load_explicit(&lic_attributes_entry(attributes, number)->holds, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&attributes->free, &number, next, memory_order_acquire,
                                                    memory_order_acquire));
    return number;
}

static void push_free(lic_attributes *attributes, uint32_t number)
{
    lic_attribute_entry *entry = lic_attributes_entry(attributes, number);
    uint32_t             next  = atomic_load_explicit(&attributes->free, memory_order_relaxed);

    do
        atomic_store_explicit(&entry->holds, next, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&attributes->free, &next, number, memory_order_release,
                                                  memory_order_relaxed));
}

static uint32_t add_number(lic_attributes *attributes)
{
    uint32_t count = atomic_load_explicit(&attributes->count, memory_order_relaxed);

    if (count == MAX_NUMBERS ||
        !lic_chunks_reserve(&attributes->entries, attributes->memory, count, count + 1, sizeof(lic_attribute_entry)))
        return 0;
    atomic_store_explicit(&attributes->count, count + 1, memory_order_relaxed);
    return count + 1;
}

size_t lic_attributes_bytes(const lic_attributes *attributes, const lic_attribute *content)
{
    uint32_t count = atomic_load_explicit(&attributes->count, memory_order_relaxed);
    size_t   bytes = content->context.size;

    if (atomic_load_explicit(&attributes->free, memory_order_relaxed) == 0)
        bytes += lic_chunks_missing(&attributes->entries, count, sizeof(lic_attribute_entry));
    return bytes;
}

uint32_t lic_attributes_new(lic_attributes *attributes, const lic_attribute *content)
{
    char                *context = NULL;
    lic_attribute_entry *entry;
    uint32_t             number;

    if (content->context.size > 0) {
        context = lic_alloc(attributes->memory, content->context.size);
        if (context == NULL)
            return LIC_NO_ATTRIBUTE;
        memcpy(context, content->context.data, content->context.size);
    }
    number = pop_free(attributes);
    if (number == 0)
        number = add_number(attributes);
    if (number == 0) {
        lic_free(attributes->memory, context, content->context.size);
        return LIC_NO_ATTRIBUTE;
    }
    entry                  = lic_attributes_entry(attributes, number);
    entry->content         = *content;
    entry->content.context = (lic_str){ context, content->context.size };
    atomic_store_explicit(&entry->holds, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&attributes->used, 1, memory_order_relaxed);
    return number;
}

void lic_attributes_retain(lic_attributes *attributes, lic_edge_state state)
{
    if (lic_edge_attributed(state))
        atomic_fetch_add_explicit(&lic_attributes_entry(attributes, state)->holds, 1, memory_order_relaxed);
}

void lic_attributes_release(lic_attributes *attributes, lic_edge_state state)
{
    lic_attribute_entry *entry;

    if (!lic_edge_attributed(state))
        return;
    entry = lic_attributes_entry(attributes, state);
    if (atomic_fetch_sub_explicit(&entry->holds, 1, memory_order_acq_rel) > 1)
        return;
    clear(attributes, &entry->content);
    atomic_fetch_sub_explicit(&attributes->used, 1, memory_order_relaxed);
    push_free(attributes, state);
}

bool lic_attributes_same(const lic_attributes *attributes, lic_edge_state a, lic_edge_state b)
{
    if (a == b)
        return true;
    return lic_edge_attributed(a) && lic_edge_attributed(b) &&
           lic_attribute_equal(&lic_attributes_entry(attributes, a)->content,
                               &lic_attributes_entry(attributes, b)->content);
}
