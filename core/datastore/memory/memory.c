/* Writes and reads of the store in memory. Existence is a question to the graph's head under the write lock; ids are
 * interned only when nothing can refuse the write any more but memory. */
#include "datastore/memory/memory.h"

#include "datastore/memory/select.h"
#include "datastore/memory/state.h"
#include "datastore/schema_change.h"

void lic_memory_lock(lic_memory_store *m)
{
    lic_graph_lock(m->graph);
}

void lic_memory_unlock(lic_memory_store *m)
{
    lic_notes_settle(&m->notes, lic_graph_head(m->graph));
    lic_graph_unlock(m->graph);
}

void lic_memory_tell(const lic_memory_store *m)
{
    if (m->host.committed != NULL)
        m->host.committed(m->host.context);
}

const licet_schema *lic_memory_schema(const lic_memory_store *m)
{
    return lic_schemas_at(m->host.schemas, lic_graph_head(m->graph));
}

licet_status lic_memory_annotate(lic_memory_store *m, lic_str note, licet_error **error)
{
    if (!lic_str_given(note))
        return LICET_OK;
    lic_notes_drop(&m->notes, lic_graph_oldest(m->graph));
    return lic_notes_add(&m->notes, lic_graph_head(m->graph) + 1, note) ? LICET_OK : lic_fail_memory(error);
}

static lic_str id_of(const lic_memory_store *m, const lic_graph *graph, lic_ref end)
{
    return lic_graph_node_id(graph, lic_names_type_of(m->names, end.slot), end.node);
}

lic_edge lic_memory_find_edge(const lic_memory_store *m, const lic_store_change *change)
{
    lic_slot resource = change->typed.resource;
    lic_slot subject  = change->typed.subject;

    return (lic_edge){
        { resource, lic_graph_find_node(m->graph, lic_names_type_of(m->names, resource), change->resource_id) },
        { subject, lic_graph_find_node(m->graph, lic_names_type_of(m->names, subject), change->subject_id) },
    };
}

licet_status lic_memory_fail_exists(const lic_memory_store *m, lic_edge edge, licet_error **error)
{
    lic_row            row = { edge, id_of(m, m->graph, edge.resource), id_of(m, m->graph, edge.subject), NULL };
    licet_relationship relationship;

    lic_row_relationship(m->names, &row, &relationship);
    return lic_fail_exists(m->memory, &relationship, error);
}

static licet_status refuse_existing(const lic_memory_store *m, const lic_store_change *changes, size_t count,
                                    licet_error **error)
{
    licet_status status = LICET_OK;
    lic_snapshot head;

    lic_snapshot_pin(m->graph, &head);
    for (size_t i = 0; i < count && status == LICET_OK; i++) {
        lic_edge edge;

        if (changes[i].operation != LICET_CREATE)
            continue;
        edge = lic_memory_find_edge(m, &changes[i]);
        if (edge.resource.node != LIC_NO_NODE && edge.subject.node != LIC_NO_NODE &&
            lic_snapshot_has(&head, edge.resource, edge.subject))
            status = lic_memory_fail_exists(m, edge, error);
    }
    lic_snapshot_unpin(&head);
    return status;
}

static bool intern_end(const lic_memory_store *m, lic_ref *end, lic_str id)
{
    if (end->node == LIC_NO_NODE)
        end->node = lic_graph_intern_node(m->graph, lic_names_type_of(m->names, end->slot), id);
    return end->node != LIC_NO_NODE;
}

bool lic_memory_intern(const lic_memory_store *m, const lic_store_change *change, lic_edge *edge)
{
    return intern_end(m, &edge->resource, change->resource_id) && intern_end(m, &edge->subject, change->subject_id);
}

bool lic_memory_attribute(const lic_memory_store *m, lic_store_change *change, uint32_t *number)
{
    *number = LIC_NO_ATTRIBUTE;
    if (change->operation == LICET_DELETE || !lic_attribute_given(&change->attribute))
        return true;
    *number = lic_graph_attribute_new(m->graph, &change->attribute);
    if (*number == LIC_NO_ATTRIBUTE)
        return false;
    change->attribute.payload = NULL;
    return true;
}

/* Deleting what never was is no change. */
static bool to_graph(const lic_memory_store *m, lic_store_change *changes, size_t count, lic_change *out,
                     size_t *out_count)
{
    *out_count = 0;
    for (size_t i = 0; i < count; i++) {
        lic_edge edge    = lic_memory_find_edge(m, &changes[i]);
        bool     present = changes[i].operation != LICET_DELETE;
        uint32_t attribute;

        if (!present && (edge.resource.node == LIC_NO_NODE || edge.subject.node == LIC_NO_NODE))
            continue;
        if (!lic_memory_intern(m, &changes[i], &edge) || !lic_memory_attribute(m, &changes[i], &attribute))
            return false;
        out[(*out_count)++] = (lic_change){ .edge = edge, .present = present, .attribute = attribute };
    }
    return true;
}

bool lic_memory_change_graph(lic_memory_store *m, const lic_change *changes, size_t count, uint64_t *revision)
{
    return lic_graph_apply(m->graph, changes, count, revision) ||
           (lic_notes_drop(&m->notes, lic_graph_head(m->graph)) && lic_graph_apply(m->graph, changes, count, revision));
}

/* All of it or, out of memory, nothing, and no attribute is left that nobody has. */
static bool apply_to_graph(lic_memory_store *m, lic_store_change *changes, size_t count, lic_change *graph_changes,
                           uint64_t *revision)
{
    size_t graph_count;

    if (to_graph(m, changes, count, graph_changes, &graph_count) &&
        lic_memory_change_graph(m, graph_changes, graph_count, revision))
        return true;
    for (size_t i = 0; i < graph_count; i++)
        lic_graph_attribute_release(m->graph, graph_changes[i].attribute);
    return false;
}

static licet_status apply_changes(lic_memory_store *m, lic_store_change *changes, size_t count, uint64_t *revision,
                                  licet_error **error)
{
    lic_change  *graph_changes = lic_alloc_array(m->memory, count, sizeof *graph_changes);
    licet_status status        = LICET_OK;

    if ((graph_changes == NULL && count > 0) || !apply_to_graph(m, changes, count, graph_changes, revision))
        status = lic_fail_memory(error);
    lic_free(m->memory, graph_changes, count * sizeof *graph_changes);
    return status;
}

/* Of what has not expired. */
static licet_status expectations_hold(lic_memory_store *m, const lic_store_write *write, licet_error **error)
{
    licet_status status = LICET_OK;
    lic_snapshot head;

    lic_snapshot_pin(m->graph, &head);
    for (size_t i = 0; i < write->expectation_count && status == LICET_OK; i++) {
        const lic_expectation *expectation = &write->expectations[i];
        lic_edges              found       = { .memory = m->memory };

        if (!lic_memory_select(&head, m->names, &expectation->filter, &write->now, NULL, 1, &found))
            status = lic_fail_memory(error);
        else if ((found.count > 0) != expectation->must_match)
            status = lic_fail_expectation(i, expectation->must_match, error);
        lic_edges_free(&found);
    }
    lic_snapshot_unpin(&head);
    return status;
}

static licet_status write_inside(lic_memory_store *m, const lic_store_write *write, lic_store_change *changes,
                                 size_t count, uint64_t *revision, licet_error **error)
{
    licet_status status;

    LIC_TRY(expectations_hold(m, write, error));
    LIC_TRY(refuse_existing(m, changes, count, error));
    LIC_TRY(lic_memory_annotate(m, write->metadata, error));
    LIC_TRY(apply_changes(m, changes, count, revision, error));
done:
    return status;
}

static licet_status memory_apply(lic_store *store, const lic_store_write *write, lic_store_change *changes,
                                 size_t count, lic_store_outcome *outcome, licet_error **error)
{
    lic_memory_store *m      = lic_memory_store_of(store);
    licet_status      status = LICET_OK;

    lic_memory_lock(m);
    outcome->is_stale = write->schema != lic_memory_schema(m);
    if (!outcome->is_stale)
        status = write_inside(m, write, changes, count, &outcome->revision, error);
    lic_memory_unlock(m);
    lic_memory_tell(m);
    return status;
}

/* ------------------------------------------------------------------ schemas */

/* The schema is in the list before its revision is visible, so no reader of that revision misses it. */
static licet_status install(lic_memory_store *m, licet_schema **schema, lic_store_change *changes, size_t count,
                            uint64_t *revision, licet_error **error)
{
    licet_schema *added = *schema;
    licet_status  status;

    if (!lic_schemas_add(m->host.schemas, lic_graph_head(m->graph) + 1, &added))
        return lic_fail_memory(error);
    status = apply_changes(m, changes, count, revision, error);
    if (status != LICET_OK) {
        lic_schemas_withdraw(m->host.schemas);
        licet_schema_retain(*schema); /* the list has taken the caller's */
        return status;
    }
    *schema = NULL;
    lic_schemas_trim(m->host.schemas, m->graph, lic_graph_oldest(m->graph));
    return LICET_OK;
}

static licet_status change_check(lic_memory_store *m, const licet_schema *schema, lic_instant now, licet_error **error)
{
    lic_snapshot head;
    licet_status status;

    lic_snapshot_pin(m->graph, &head);
    status =
        lic_schema_change_check(&m->base, &head, now, m->names, lic_memory_schema(m)->program, schema->program, error);
    lic_snapshot_unpin(&head);
    return status;
}

static licet_status memory_replace_schema(lic_store *store, licet_schema **schema, lic_instant now,
                                          lic_store_outcome *outcome, licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    licet_status      status;

    lic_memory_lock(m);
    status = change_check(m, *schema, now, error);
    if (status == LICET_OK)
        status = install(m, schema, NULL, 0, &outcome->revision, error);
    lic_memory_unlock(m);
    lic_memory_tell(m);
    return status;
}

static licet_status require_empty(const lic_memory_store *m, licet_error **error)
{
    lic_graph_sizes sizes;

    lic_graph_measure(m->graph, &sizes);
    if (sizes.edges == 0 && lic_memory_schema(m)->program->definition_count == 0)
        return LICET_OK;
    return lic_fail_not_empty(error);
}

static licet_status memory_load(lic_store *store, licet_schema **schema, lic_store_change *changes, size_t count,
                                licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    uint64_t          revision;
    licet_status      status;

    lic_memory_lock(m);
    status = require_empty(m, error);
    if (status == LICET_OK)
        status = install(m, schema, changes, count, &revision, error);
    lic_memory_unlock(m);
    lic_memory_tell(m);
    return status;
}

licet_status lic_memory_follow(lic_store *store, licet_schema **schema, lic_str metadata, lic_store_change *changes,
                               size_t count, uint64_t *revision, licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    licet_status      status;

    lic_memory_lock(m);
    LIC_TRY(lic_memory_annotate(m, metadata, error));
    if (*schema != NULL)
        LIC_TRY(install(m, schema, changes, count, revision, error));
    else
        LIC_TRY(apply_changes(m, changes, count, revision, error));
done:
    lic_memory_unlock(m);
    return status;
}

licet_status lic_memory_forget(lic_store *store, lic_store_change *changes, size_t count, uint64_t *revision,
                               licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    licet_status      status;

    lic_memory_lock(m);
    status = lic_memory_annotate(m, LIC_MEMORY_QUIET, error);
    if (status == LICET_OK)
        status = apply_changes(m, changes, count, revision, error);
    lic_memory_unlock(m);
    return status;
}

/* ------------------------------------------------------------------ erasing */

static bool erase_edges(lic_memory_store *m, const lic_found_edge *edges, size_t count, uint64_t *revision)
{
    lic_change *changes = lic_alloc_array(m->memory, count, sizeof *changes);
    bool        done    = changes != NULL || count == 0;

    for (size_t i = 0; i < count && done; i++)
        changes[i] = (lic_change){ .edge = edges[i].edge, .present = false };
    done = done && lic_memory_change_graph(m, changes, count, revision);
    lic_free(m->memory, changes, count * sizeof *changes);
    return done;
}

/* Of those that have not expired. */
static licet_status refuse_more(const lic_memory_store *m, const lic_snapshot *head, const lic_filter *filter,
                                lic_instant now, uint64_t limit, licet_error **error)
{
    lic_edges    live   = { .memory = m->memory };
    licet_status status = LICET_OK;

    if (!lic_memory_select(head, m->names, filter, &now, NULL, (size_t)limit + 1, &live))
        status = lic_fail_memory(error);
    else if (live.count > limit)
        status = lic_fail_too_many(limit, error);
    lic_edges_free(&live);
    return status;
}

static licet_status erase_inside(lic_memory_store *m, const lic_store_write *write, const lic_store_erasure *erasure,
                                 lic_store_outcome *outcome, licet_error **error)
{
    lic_edges    edges = { .memory = m->memory };
    size_t       most  = erasure->limit == 0 ? SIZE_MAX : (size_t)erasure->limit;
    licet_status status;
    lic_snapshot head;

    LIC_TRY(expectations_hold(m, write, error));
    LIC_TRY(lic_memory_annotate(m, write->metadata, error));
    lic_snapshot_pin(m->graph, &head);
    if (erasure->limit != 0 && !erasure->allow_partial)
        status = refuse_more(m, &head, &erasure->filter, write->now, erasure->limit, error);
    if (status == LICET_OK && !lic_memory_select(&head, m->names, &erasure->filter, NULL, NULL, most, &edges))
        status = lic_fail_memory(error);
    lic_snapshot_unpin(&head);
    if (status == LICET_OK && !erase_edges(m, edges.items, edges.count, &outcome->revision))
        status = lic_fail_memory(error);
    outcome->count = status == LICET_OK ? edges.count : 0;
done:
    lic_edges_free(&edges);
    return status;
}

static licet_status memory_erase(lic_store *store, const lic_store_write *write, const lic_store_erasure *erasure,
                                 lic_store_outcome *outcome, licet_error **error)
{
    lic_memory_store *m      = lic_memory_store_of(store);
    licet_status      status = LICET_OK;

    lic_memory_lock(m);
    outcome->is_stale = write->schema != lic_memory_schema(m);
    if (!outcome->is_stale)
        status = erase_inside(m, write, erasure, outcome, error);
    lic_memory_unlock(m);
    lic_memory_tell(m);
    return status;
}

bool lic_memory_row(const lic_memory_store *m, const lic_graph *graph, const lic_edge *edge, uint32_t attribute,
                    lic_arena *arena, lic_row *row)
{
    const lic_attribute *content = lic_graph_attribute(graph, attribute);

    *row = (lic_row){ *edge, id_of(m, graph, edge->resource), id_of(m, graph, edge->subject), NULL };
    if (content != NULL)
        row->attribute = lic_row_attribute_new(arena, content);
    return content == NULL || row->attribute != NULL;
}

static licet_status memory_read(lic_store *store, const lic_snapshot *snapshot, const lic_filter *filter,
                                lic_instant now, const lic_edge *after, size_t most, lic_arena *arena, lic_rows *rows,
                                licet_error **error)
{
    lic_memory_store *m      = lic_memory_store_of(store);
    lic_edges         edges  = { .memory = m->memory };
    licet_status      status = LICET_OK;

    *rows = (lic_rows){ NULL, 0 };
    if (!lic_memory_select(snapshot, m->names, filter, &now, after, most, &edges) ||
        (rows->items = lic_new_array(arena, edges.count, lic_row)) == NULL)
        status = lic_fail_memory(error);
    for (size_t i = 0; i < edges.count && status == LICET_OK; i++) {
        if (!lic_memory_row(m, snapshot->graph, &edges.items[i].edge, edges.items[i].attribute, arena, &rows->items[i]))
            status = lic_fail_memory(error);
    }
    rows->count = status == LICET_OK ? edges.count : 0;
    lic_edges_free(&edges);
    return status;
}

static void memory_after_fork(lic_store *store)
{
    lic_notes_after_fork(&lic_memory_store_of(store)->notes);
}

static void memory_free(lic_store *store)
{
    lic_memory_store *m = lic_memory_store_of(store);

    lic_notes_free(&m->notes);
    lic_free(m->memory, m->records, m->record_capacity * sizeof *m->records);
    lic_free(m->memory, m, sizeof *m);
}

static const lic_store_methods methods = {
    .apply            = memory_apply,
    .erase            = memory_erase,
    .replace_schema   = memory_replace_schema,
    .load             = memory_load,
    .read             = memory_read,
    .changes          = lic_memory_changes,
    .keeps            = lic_memory_keeps,
    .import_begin     = lic_memory_import_begin,
    .import_add       = lic_memory_import_add,
    .import_commit    = lic_memory_import_commit,
    .import_end       = lic_memory_import_end,
    .import_open      = lic_memory_import_open,
    .import_find      = lic_memory_import_find,
    .import_forget    = lic_memory_import_forget,
    .after_fork_child = memory_after_fork,
    .free             = memory_free,
};

lic_store *lic_memory_store_new(const lic_store_host *host)
{
    lic_memory_store *store = lic_alloc_zero(host->memory, sizeof *store);

    if (store == NULL)
        return NULL;
    *store = (lic_memory_store){ .base   = { &methods, LIC_STORE_ALWAYS, LIC_STORE_HOST_CLOCK },
                                 .host   = *host,
                                 .memory = host->memory,
                                 .graph  = host->graph,
                                 .names  = host->names };
    if (lic_notes_init(&store->notes, host->memory))
        return &store->base;
    lic_free(host->memory, store, sizeof *store);
    return NULL;
}
