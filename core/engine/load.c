/* One revision holds schema and relationships: no reader sees one without the other. */
#include "engine/load.h"

typedef struct loading {
    licet_engine             *engine;
    lic_arena                 arena;
    const licet_relationship *relationships;
    size_t                    count;
    lic_store_change         *changes;
    size_t                    change_count;
    size_t                   *culprit;
    licet_error             **error;
} loading;

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
    lic_graph_lock(engine->graph); /* names may be added */
    status = lic_schema_new(engine->memory, engine->names, &wanted, &schema, error);
    lic_graph_unlock(engine->graph);
    if (status != LICET_OK)
        goto done;
    LIC_TRY(type_all(&l, schema->program));
    LIC_TRY(engine->store->methods->load(engine->store, &schema, l.changes, l.change_count, error));
done:
    licet_schema_release(schema);
    lic_store_changes_end(l.changes, l.change_count);
    lic_arena_free(&l.arena);
    return status;
}
