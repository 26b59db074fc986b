/* The attributes of edges: records by number, counted by who names them.
 *
 * Law: whoever stores a number where readers can find it (a delta's transition, a piece) holds it, and lets go only
 * when no reader can look there any more, which epochs decide. So a reader who is pinned and has found a number may
 * use the record; and when nobody holds a number, nobody can have it, and its record is freed at once.
 *
 * Only the writer makes numbers, any thread may let go of the last hold: the list of free numbers is pushed to by
 * all and popped by one, which compare-and-swap alone makes safe. There is no lock that a fork() could find taken. */
#ifndef LIC_GRAPH_ATTRIBUTES_H
#define LIC_GRAPH_ATTRIBUTES_H

#include "graph/chunks.h"
#include "graph/graph.h"

/* An edge's state: LIC_ABSENT, or the number of its attribute, LIC_NO_ATTRIBUTE for most. */
typedef uint32_t lic_edge_state;

#define LIC_ABSENT UINT32_MAX

static inline bool lic_edge_attributed(lic_edge_state state)
{
    return state + 1 > 1; /* neither LIC_ABSENT nor LIC_NO_ATTRIBUTE */
}

typedef struct lic_attribute_entry {
    lic_attribute    content;
    _Atomic uint64_t holds; /* of a free number: the next free one */
} lic_attribute_entry;

typedef struct lic_attributes {
    lic_memory      *memory;
    lic_chunks       entries; /* by number - 1 */
    _Atomic uint32_t count;   /* numbers that were ever given */
    _Atomic uint32_t free;    /* the newest free number; 0: none */
    _Atomic uint32_t used;    /* numbers that are held */
    void (*release)(void *context, void *payload);
    void *context;
} lic_attributes;

void lic_attributes_init(lic_attributes *attributes, lic_memory *memory, const lic_graph_options *options);
/* Ends those that are still held too: after a fork the child has holds of threads that it does not have. */
void lic_attributes_free(lic_attributes *attributes);

static inline lic_attribute_entry *lic_attributes_entry(const lic_attributes *attributes, uint32_t number)
{
    return lic_chunks_at(&attributes->entries, number - 1, sizeof(lic_attribute_entry));
}

/* Have there ever been any? A thread that has seen an attributed edge gets true. */
static inline bool lic_attributes_any(const lic_attributes *attributes)
{
    return atomic_load_explicit(&attributes->count, memory_order_relaxed) != 0;
}

/* Writer. Bytes that one more would take. */
size_t lic_attributes_bytes(const lic_attributes *attributes, const lic_attribute *content);
/* Writer. Held once. LIC_NO_ATTRIBUTE: out of memory. */
uint32_t lic_attributes_new(lic_attributes *attributes, const lic_attribute *content);
/* By who holds it, or sees it while somebody does. States without an attribute are fine. */
void lic_attributes_retain(lic_attributes *attributes, lic_edge_state state);
void lic_attributes_release(lic_attributes *attributes, lic_edge_state state);

/* Do the states say the same? */
bool lic_attributes_same(const lic_attributes *attributes, lic_edge_state a, lic_edge_state b);

#endif
