/* Finding the edges that a filter selects, in the order of rows. */
#ifndef LIC_DATASTORE_MEMORY_SELECT_H
#define LIC_DATASTORE_MEMORY_SELECT_H

#include "datastore/datastore.h"

typedef struct lic_found_edge {
    lic_edge edge;
    uint32_t attribute;
} lic_found_edge;

typedef struct lic_edges {
    lic_memory     *memory;
    lic_found_edge *items;
    size_t          count;
    size_t          capacity;
} lic_edges;

void lic_edges_free(lic_edges *edges);

/* At most `most` edges (SIZE_MAX: all), the first behind `after`. now: those that have expired are not there; NULL:
 * they are. false: out of memory. */
bool lic_memory_select(const lic_snapshot *snapshot, const lic_names *names, const lic_filter *filter,
                       const lic_instant *now, const lic_edge *after, size_t most, lic_edges *out);

#endif
