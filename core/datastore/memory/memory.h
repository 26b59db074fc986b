/* The store in memory: the graph itself is the truth. Nothing outlives the process. */
#ifndef LIC_DATASTORE_MEMORY_MEMORY_H
#define LIC_DATASTORE_MEMORY_MEMORY_H

#include "datastore/datastore.h"

/* graph and names stay the caller's and must outlive the store. NULL: out of memory. */
lic_store *lic_memory_store_new(lic_memory *memory, lic_graph *graph, const lic_names *names);

#endif
