/* What all stores share. */
#include "datastore/datastore.h"

#include "datastore/relationship.h"

void lic_store_changes_end(lic_store_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lic_attribute_end(&changes[i].attribute);
}

static lic_str print_expiration(lic_arena *arena, const lic_attribute *attribute)
{
    lic_str  printed;
    lic_text text;

    lic_text_init(&text, arena->memory);
    lic_instant_print((lic_instant){ attribute->expires_at_s, attribute->expires_at_ns }, &text);
    printed = text.failed ? (lic_str){ NULL, 0 } : lic_arena_str(arena, lic_text_str(&text));
    lic_text_free(&text);
    return printed;
}

const lic_row_attribute *lic_row_attribute_new(lic_arena *arena, const lic_attribute *attribute)
{
    lic_row_attribute *made = lic_new(arena, lic_row_attribute);

    if (made == NULL)
        return NULL;
    made->caveat = attribute->caveat;
    if (attribute->context.size > 0) {
        made->context = lic_arena_str(arena, attribute->context);
        if (!lic_str_given(made->context))
            return NULL;
    }
    if (attribute->expires_at_s != LIC_NEVER_EXPIRES) {
        made->expiration = print_expiration(arena, attribute);
        if (!lic_str_given(made->expiration))
            return NULL;
    }
    return made;
}

static void put_attribute(const lic_names *names, const lic_row_attribute *attribute, licet_relationship *relationship)
{
    if (attribute->caveat != LIC_NO_CAVEAT_NAME)
        relationship->caveat_name = lic_names_caveat_name(names, attribute->caveat);
    relationship->caveat_context = attribute->context;
    relationship->expiration     = attribute->expiration;
}

void lic_row_relationship(const lic_names *names, const lic_row *row, licet_relationship *relationship)
{
    lic_slot resource = row->edge.resource.slot;
    lic_slot subject  = row->edge.subject.slot;
    lic_type type     = lic_names_type_of(names, subject);

    *relationship               = (licet_relationship)LICET_RELATIONSHIP_INIT;
    relationship->resource_type = lic_names_type_name(names, lic_names_type_of(names, resource));
    relationship->resource_id   = row->resource_id;
    relationship->relation      = lic_names_relation_name(names, resource);
    relationship->subject_type  = lic_names_type_name(names, type);
    relationship->subject_id    = row->subject_id;
    if (subject != lic_names_ellipsis(names, type))
        relationship->subject_relation = lic_names_relation_name(names, subject);
    if (row->attribute != NULL)
        put_attribute(names, row->attribute, relationship);
}

static bool selects_resource(const lic_names *names, const lic_filter *f, const lic_row *row)
{
    lic_slot slot = row->edge.resource.slot;

    if (f->resource_slot != LIC_NO_SLOT && f->resource_slot != slot)
        return false;
    if (f->resource_type != LIC_NO_TYPE && f->resource_type != lic_names_type_of(names, slot))
        return false;
    if (lic_str_given(f->relation) && !lic_str_equal(f->relation, lic_names_relation_name(names, slot)))
        return false;
    if (lic_str_given(f->resource_id) && !lic_str_equal(f->resource_id, row->resource_id))
        return false;
    return !lic_str_given(f->resource_id_prefix) || lic_str_starts_with(row->resource_id, f->resource_id_prefix);
}

static bool selects_subject(const lic_names *names, const lic_filter *f, const lic_row *row)
{
    lic_slot slot = row->edge.subject.slot;

    if (f->subject_slot != LIC_NO_SLOT && f->subject_slot != slot)
        return false;
    if (f->subject_type != LIC_NO_TYPE && f->subject_type != lic_names_type_of(names, slot))
        return false;
    return !lic_str_given(f->subject_id) || lic_str_equal(f->subject_id, row->subject_id);
}

bool lic_filter_selects(const lic_names *names, const lic_filter *filter, const lic_row *row)
{
    return selects_resource(names, filter, row) && selects_subject(names, filter, row);
}

int lic_edge_compare(const lic_edge *a, const lic_edge *b)
{
    uint64_t left  = lic_ref_key(a->resource);
    uint64_t right = lic_ref_key(b->resource);

    if (left == right) {
        left  = lic_ref_key(a->subject);
        right = lic_ref_key(b->subject);
    }
    return left < right ? -1 : left > right;
}

licet_status lic_fail_exists(lic_memory *memory, const licet_relationship *relationship, licet_error **error)
{
    lic_str      shown;
    lic_text     text;
    licet_status status;

    lic_text_init(&text, memory);
    status = lic_relationship_print(relationship, &text, error);
    if (status == LICET_OK && text.failed)
        status = lic_fail_memory(error);
    shown = lic_text_str(&text);
    if (status == LICET_OK)
        status = lic_fail_reason(error, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                                 LIC_NOWHERE, "could not create relationship %Q, as it exists already", &shown);
    lic_text_free(&text);
    return status;
}

licet_status lic_fail_expectation(size_t index, bool must_match, licet_error **error)
{
    return lic_fail_reason(error, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT,
                           "WRITE_OR_DELETE_PRECONDITION_FAILURE", LIC_NOWHERE,
                           must_match ? "precondition %zu does not hold: no relationship matches"
                                      : "precondition %zu does not hold: a relationship matches",
                           index + 1);
}

licet_status lic_fail_too_many(uint64_t limit, licet_error **error)
{
    return lic_fail_reason(
        error, LICET_INVALID_ARGUMENT, LICET_KIND_LIMIT, "TOO_MANY_RELATIONSHIPS_FOR_TRANSACTIONAL_DELETE", LIC_NOWHERE,
        "more than %llu relationships match, and partial deletion is not allowed", (unsigned long long)limit);
}

licet_status lic_fail_not_empty(licet_error **error)
{
    return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                    "a validation file is loaded into an engine without schema and relationships; this one has some");
}

/* ----------------------------------------------------------------- fetched parts */

lic_fetched *lic_fetched_new(lic_memory *memory, lic_graph *graph, const licet_schema *schema)
{
    lic_fetched *fetched = lic_alloc_zero(memory, sizeof *fetched);

    if (fetched == NULL) {
        lic_graph_free(graph);
        return NULL;
    }
    atomic_init(&fetched->references, 1);
    fetched->memory = memory;
    fetched->graph  = graph;
    fetched->schema = (licet_schema *)schema;
    licet_schema_retain(fetched->schema);
    return fetched;
}

void lic_fetched_retain(lic_fetched *fetched)
{
    atomic_fetch_add_explicit(&fetched->references, 1, memory_order_relaxed);
}

void lic_fetched_release(lic_fetched *fetched)
{
    if (fetched == NULL || atomic_fetch_sub_explicit(&fetched->references, 1, memory_order_acq_rel) != 1)
        return;
    lic_graph_free(fetched->graph);
    licet_schema_release(fetched->schema);
    lic_free(fetched->memory, fetched, sizeof *fetched);
}

void lic_fetched_pin(lic_fetched *fetched, uint64_t revision, lic_snapshot *snapshot)
{
    lic_snapshot_pin(fetched->graph, snapshot);
    lic_fetched_retain(fetched);
    snapshot->owner    = fetched;
    snapshot->revision = revision; /* nothing in the graph is newer than any */
}

licet_status lic_revision_pin(const lic_graph *graph, uint64_t revision, lic_snapshot *snapshot, licet_error **error)
{
    switch (lic_snapshot_pin_at(graph, revision, snapshot)) {
    case LIC_PIN_OK:
        return LICET_OK;
    case LIC_PIN_EXPIRED:
        return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                        "the revision has left the retained history");
    case LIC_PIN_FUTURE:
        break;
    }
    return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the token names a revision that the store has not reached");
}

licet_status lic_fail_import_moved(lic_str name, licet_error **error)
{
    return lic_fail_reason(error, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_MOVED", LIC_NOWHERE,
                           "the import %Q is not where it was: another process has gone on with it or forgotten it",
                           &name);
}
