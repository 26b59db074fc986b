/* Writes and reads of the store in memory. Existence is a question to the graph's head under the write lock; ids are
 * interned only when nothing can refuse the write any more but memory. */
#include "datastore/memory/memory.h"

#include "datastore/memory/select.h"
#include "datastore/memory/state.h"
#include "datastore/relationship.h"

static void memory_begin(lic_store *store, uint64_t *head)
{
    lic_graph_lock(lic_memory_store_of(store)->graph);
    *head = lic_graph_head(lic_memory_store_of(store)->graph);
}

static void memory_end(lic_store *store)
{
    lic_memory_store *m = lic_memory_store_of(store);

    lic_notes_settle(&m->notes, lic_graph_head(m->graph));
    lic_graph_unlock(m->graph);
}

static licet_status memory_annotate(lic_store *store, lic_str metadata, licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);

    lic_notes_drop(&m->notes, lic_graph_oldest(m->graph));
    return lic_notes_add(&m->notes, lic_graph_head(m->graph) + 1, metadata) ? LICET_OK : lic_fail_memory(error);
}

static lic_str id_of(const lic_memory_store *m, lic_ref end)
{
    return lic_graph_node_id(m->graph, lic_names_type_of(m->names, end.slot), end.node);
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
    lic_row            row = { edge, id_of(m, edge.resource), id_of(m, edge.subject), NULL };
    licet_relationship relationship;
    lic_str            shown;
    lic_text           text;
    licet_status       status;

    lic_row_relationship(m->names, &row, &relationship);
    lic_text_init(&text, m->memory);
    status = lic_relationship_print(&relationship, &text, error);
    if (status == LICET_OK && text.failed)
        status = lic_fail_memory(error);
    shown = lic_text_str(&text);
    if (status == LICET_OK)
        status = lic_fail_reason(error, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                                 LIC_NOWHERE, "could not create relationship %Q, as it exists already", &shown);
    lic_text_free(&text);
    return status;
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

/* A graph that is short of memory gives up its history first, and metadata is part of that. */
static bool change_graph(lic_memory_store *m, const lic_change *changes, size_t count, uint64_t *revision)
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
        change_graph(m, graph_changes, graph_count, revision))
        return true;
    for (size_t i = 0; i < graph_count; i++)
        lic_graph_attribute_release(m->graph, graph_changes[i].attribute);
    return false;
}

static licet_status memory_apply(lic_store *store, lic_store_change *changes, size_t count, uint64_t *revision,
                                 licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    lic_change       *graph_changes;
    licet_status      status;

    status = refuse_existing(m, changes, count, error);
    if (status != LICET_OK)
        return status;
    graph_changes = lic_alloc_array(m->memory, count, sizeof *graph_changes);
    if ((graph_changes == NULL && count > 0) || !apply_to_graph(m, changes, count, graph_changes, revision))
        status = lic_fail_memory(error);
    lic_free(m->memory, graph_changes, count * sizeof *graph_changes);
    return status;
}

static licet_status fail_too_many(uint64_t limit, licet_error **error)
{
    return lic_fail_reason(
        error, LICET_INVALID_ARGUMENT, LICET_KIND_LIMIT, "TOO_MANY_RELATIONSHIPS_FOR_TRANSACTIONAL_DELETE", LIC_NOWHERE,
        "more than %llu relationships match, and partial deletion is not allowed", (unsigned long long)limit);
}

static bool erase_edges(lic_memory_store *m, const lic_found_edge *edges, size_t count, uint64_t *revision)
{
    lic_change *changes = lic_alloc_array(m->memory, count, sizeof *changes);
    bool        done    = changes != NULL || count == 0;

    for (size_t i = 0; i < count && done; i++)
        changes[i] = (lic_change){ .edge = edges[i].edge, .present = false };
    done = done && change_graph(m, changes, count, revision);
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
        status = fail_too_many(limit, error);
    lic_edges_free(&live);
    return status;
}

static licet_status memory_erase(lic_store *store, const lic_filter *filter, lic_instant now, uint64_t limit,
                                 bool allow_partial, uint64_t *count, uint64_t *revision, licet_error **error)
{
    lic_memory_store *m      = lic_memory_store_of(store);
    lic_edges         edges  = { .memory = m->memory };
    licet_status      status = LICET_OK;
    size_t            most   = limit == 0 ? SIZE_MAX : (size_t)limit;
    lic_snapshot      head;

    lic_snapshot_pin(m->graph, &head);
    if (limit != 0 && !allow_partial)
        status = refuse_more(m, &head, filter, now, limit, error);
    if (status == LICET_OK && !lic_memory_select(&head, m->names, filter, NULL, NULL, most, &edges))
        status = lic_fail_memory(error);
    lic_snapshot_unpin(&head);
    if (status == LICET_OK && !erase_edges(m, edges.items, edges.count, revision))
        status = lic_fail_memory(error);
    *count = status == LICET_OK ? edges.count : 0;
    lic_edges_free(&edges);
    return status;
}

bool lic_memory_row(const lic_memory_store *m, const lic_edge *edge, uint32_t attribute, lic_arena *arena, lic_row *row)
{
    const lic_attribute *content = lic_graph_attribute(m->graph, attribute);

    *row = (lic_row){ *edge, id_of(m, edge->resource), id_of(m, edge->subject), NULL };
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
        if (!lic_memory_row(m, &edges.items[i].edge, edges.items[i].attribute, arena, &rows->items[i]))
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
    lic_notes_free(&lic_memory_store_of(store)->notes);
    lic_free(lic_memory_store_of(store)->memory, store, sizeof(lic_memory_store));
}

static const lic_store_methods methods = {
    .begin         = memory_begin,
    .end           = memory_end,
    .annotate      = memory_annotate,
    .apply         = memory_apply,
    .erase         = memory_erase,
    .read          = memory_read,
    .changes       = lic_memory_changes,
    .keeps         = lic_memory_keeps,
    .import_begin  = lic_memory_import_begin,
    .import_add    = lic_memory_import_add,
    .import_commit = lic_memory_import_commit,
    .import_end    = lic_memory_import_end,
    .after_fork    = memory_after_fork,
    .free          = memory_free,
};

lic_store *lic_memory_store_new(lic_memory *memory, lic_graph *graph, const lic_names *names)
{
    lic_memory_store *store = lic_alloc_zero(memory, sizeof *store);

    if (store == NULL)
        return NULL;
    *store = (lic_memory_store){ .base = { &methods }, .memory = memory, .graph = graph, .names = names };
    if (lic_notes_init(&store->notes, memory))
        return &store->base;
    lic_free(memory, store, sizeof *store);
    return NULL;
}
