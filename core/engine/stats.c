/* Counts and sizes. */
#include "engine/engine.h"

licet_status licet_engine_stats(licet_engine *engine, licet_stats *stats, licet_error **error)
{
    lic_graph_sizes sizes;
    lic_call        call;
    licet_status    status;

    lic_error_begin(error);
    if (!LIC_RECORD_KNOWN(stats))
        return lic_fail_record(error, "stats");
    *stats = (licet_stats)LICET_STATS_INIT;
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    lic_graph_measure(engine->graph, &sizes);
    stats->relationships      = sizes.edges;
    stats->objects            = sizes.nodes;
    stats->memory_bytes       = atomic_load_explicit(&engine->memory->used, memory_order_relaxed);
    stats->memory_limit_bytes = engine->memory->limit;
    stats->graph_bytes        = sizes.graph_bytes;
    stats->id_bytes           = sizes.id_bytes;
    stats->delta_changes      = sizes.delta_changes;
    stats->merges             = sizes.merges;
    stats->revision           = lic_graph_head(engine->graph);
    stats->oldest_revision    = lic_graph_oldest(engine->graph);
    stats->is_ready           = true;
    if (engine->store->methods->measure != NULL)
        engine->store->methods->measure(engine->store, stats);
    lic_engine_leave(&call);
    return LICET_OK;
}
