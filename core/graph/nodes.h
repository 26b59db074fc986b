/* Object ids as 32-bit numbers, per type. Node 0 is the wildcard "*" and is not stored.
 *
 * Per type: an array node -> text, which never moves, and a table text -> node of {hash, node} in one word, so
 * that an entry appears by one store. A table that is full is replaced by one of twice its size and
 * retired; whoever looks things up in a table must therefore be pinned, or hold the write lock. */
#ifndef LIC_GRAPH_NODES_H
#define LIC_GRAPH_NODES_H

#include "base/names.h"
#include "graph/chunks.h"
#include "graph/epoch.h"

typedef struct lic_node_page lic_node_page;

typedef struct lic_nodes {
    lic_memory      *memory;
    lic_epochs      *epochs;
    uint64_t         key;   /* of the hash: ids come from outside */
    lic_chunks       types; /* type -> pointer to node_type; NULL: no ids yet */
    lic_node_page   *pages; /* of texts, newest first */
    size_t           page_used;
    _Atomic uint64_t count; /* of all types */
    _Atomic uint64_t id_bytes;
} lic_nodes;

void lic_nodes_init(lic_nodes *nodes, lic_memory *memory, lic_epochs *epochs);
void lic_nodes_free(lic_nodes *nodes);

/* LIC_NONE: never seen. Pinned, or under the write lock. */
uint32_t lic_nodes_find(const lic_nodes *nodes, lic_type type, lic_str id);
/* Writer. Bytes that a new id would take. */
size_t lic_nodes_bytes(const lic_nodes *nodes, lic_type type, lic_str id);
/* Under the write lock. LIC_NONE: out of memory. */
uint32_t lic_nodes_intern(lic_nodes *nodes, lic_type type, lic_str id);
/* Writer. Forgets all ids: nobody has the node or the text of one, but who is pinned may be looking for some. false: out
 * of memory, nothing was forgotten. */
bool lic_nodes_forget(lic_nodes *nodes);
/* Under the write lock: the next node of the type. */
uint32_t lic_nodes_end(const lic_nodes *nodes, lic_type type);
/* Any thread, for a node that it was given. */
lic_str lic_nodes_id(const lic_nodes *nodes, lic_type type, uint32_t node);

#endif
