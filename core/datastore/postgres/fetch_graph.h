/* Rows that a query of fetch_sql.h has found become a graph. */
#ifndef LIC_DATASTORE_POSTGRES_FETCH_GRAPH_H
#define LIC_DATASTORE_POSTGRES_FETCH_GRAPH_H

#include "datastore/postgres/fetch_plan.h"
#include "datastore/postgres/fetch_sql.h"
#include "datastore/postgres/rows.h"

typedef struct lic_fetch_graph {
    const lic_store_host *host;
    const lic_program    *program;
    lic_instant           now;
    const lic_fetch_plan *plan;      /* rows name its backward probes, and behind them its forward ones */
    lic_type              listed;    /* ids of this type are numbered in their order; LIC_NO_TYPE: of none */
    bool                  in_lists;  /* a row may stand for several relationships */
    size_t                row_count; /* relationships that the rows stand for */
} lic_fetch_graph;

/* *plain: no row has an attribute. The graph is the caller's, at revision 1. UNAVAILABLE for rows that do not fit the
 * schema, or are no such rows at all; OUT_OF_MEMORY. Then there is none. */
licet_status lic_fetch_graph_make(const lic_fetch_graph *from, const PGresult *result, lic_graph **graph, bool *plain,
                                  licet_error **error);

#endif
