/* One revision holds schema and relationships: no reader sees one without the other. */
#include "engine/load.h"

typedef struct loading {
    licet_engine             *engine;
    lic_arena                 arena;
    uint64_t                  head;
    const licet_relationship *relationships;
    size_t                    count;
    lic_store_change         *changes;
    size_t                    change_count;
    size_t                   *culprit;
    licet_error             **error;
} loading;

static licet_status require_empty(loading *l)
{
    lic_graph_sizes sizes;

    lic_graph_measure(l->engine->graph, &sizes);
    if (sizes.edges == 0 && lic_schemas_at(&l->engine->schemas, l->head)->program->definition_count == 0)
        return LICET_OK;
    return lic_fail(l->error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                    "a validation file is loaded into an engine without schema and relationships; this one has some");
}

static licet_status add_change(loading *l, const lic_program *program, const licet_relationship *relationship)
{
    const bool        strict = l->engine->strict;
    lic_store_change *change = &l->changes[l->change_count];
    licet_status      status;

    change->operation   = LICET_TOUCH;
    change->resource_id = relationship->resource_id;
    change->subject_id  = relationship->subject_id;
    LIC_TRY(lic_attribute_read(&l->arena, "relationship", relationship, strict, &change->attribute, l->error));
    l->change_count++;
    LIC_TRY(lic_type_relationship(program, relationship, false, &change->typed, l->error));
    LIC_TRY(lic_attribute_type(program, relationship, strict, &change->attribute, l->error));
done:
    return status;
}

static licet_status type_all(loading *l, const lic_program *program)
{
    licet_status status = LICET_OK;

    l->changes = lic_new_array(&l->arena, l->count, lic_store_change);
    if (l->changes == NULL)
        return lic_fail_memory(l->error);
    for (size_t i = 0; i < l->count && status == LICET_OK; i++) {
        status = add_change(l, program, &l->relationships[i]);
        if (status != LICET_OK)
            *l->culprit = i;
    }
    return status;
}

static licet_status load_inside(loading *l, licet_schema **schema)
{
    licet_engine *engine = l->engine;
    uint64_t      revision;
    licet_status  status;

    LIC_TRY(type_all(l, (*schema)->program));
    if (!lic_schemas_add(&engine->schemas, l->head + 1, schema))
        return lic_fail_memory(l->error);
    status = engine->store->methods->apply(engine->store, l->changes, l->change_count, &revision, l->error);
    if (status != LICET_OK)
        lic_schemas_withdraw(&engine->schemas);
done:
    return status;
}

licet_status lic_engine_load(licet_engine *engine, const licet_schema_request *request,
                             const licet_relationship *relationships, size_t count, size_t *culprit,
                             licet_error **error)
{
    loading l = {
        .engine = engine, .relationships = relationships, .count = count, .culprit = culprit, .error = error
    };
    licet_schema_request wanted = *request;
    licet_schema        *schema = NULL;
    licet_status         status;

    wanted.strict = wanted.strict || engine->strict;
    *culprit      = LIC_LOAD_SCHEMA;
    lic_arena_init(&l.arena, engine->memory);
    engine->store->methods->begin(engine->store, &l.head);
    LIC_TRY(require_empty(&l));
    LIC_TRY(lic_schema_new(engine->memory, engine->names, &wanted, &schema, error));
    LIC_TRY(load_inside(&l, &schema));
done:
    engine->store->methods->end(engine->store);
    licet_schema_release(schema);
    lic_store_changes_end(l.changes, l.change_count);
    lic_arena_free(&l.arena);
    return status;
}
