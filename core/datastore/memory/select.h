/* Finding the edges that a filter selects, in the order of rows. */
#ifndef LIC_DATASTORE_MEMORY_SELECT_H
#define LIC_DATASTORE_MEMORY_SELECT_H

#include "datastore/datastore.h"

typedef struct lic_edges {
    lic_memory *memory;
    lic_edge   *items;
    size_t      count;
    size_t      capacity;
} lic_edges;

void lic_edges_free(lic_edges *edges);

/* At most `most` edges (SIZE_MAX: all), the first behind `after`. false: out of memory. */
bool lic_memory_select(const lic_snapshot *snapshot, const lic_names *names, const lic_filter *filter,
                       const lic_edge *after, size_t most, lic_edges *out);

#endif
