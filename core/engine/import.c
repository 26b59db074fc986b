/* Imports: relationships are judged and handed to the store part by part; the commit makes all of them one revision. */
#include <assert.h>
#include <stdio.h>

#include "datastore/relationship.h"
#include "engine/engine.h"

#define IMPORT_TAG UINT64_C(0x6c69636d706f7274) /* "licmport" */
/* Relationships that are handed to the store under one hold of the write lock. */
#define PART 1000u

struct licet_import {
    uint64_t          tag;
    licet_engine     *engine; /* held */
    lic_store_import *inside;
    licet_schema     *schema; /* held: the one that all were judged by; NULL: none was added */
    uint64_t          number; /* of the next relationship, counted from 1 */
    bool              ended;  /* committed, or failed */
};

static licet_status import_enter(licet_import *import, lic_call *call, licet_error **error)
{
    const bool   known = import != NULL && import->tag == IMPORT_TAG;
    licet_status status;

    if (known && !import->ended)
        return lic_engine_enter(import->engine, call, error);
    status = lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                      known ? "the import has failed or been committed: it can only be released"
                            : "import is NULL or not an import");
    assert(status != LICET_OK);
    return status;
}

static licet_status import_new(licet_engine *engine, licet_import **out, licet_error **error)
{
    licet_import *import = lic_alloc_zero(engine->memory, sizeof *import);
    licet_status  status;

    if (import == NULL)
        return lic_fail_memory(error);
    licet_engine_retain(engine);
    import->tag    = IMPORT_TAG;
    import->engine = engine;
    import->number = 1;
    status         = engine->store->methods->import_begin(engine->store, &import->inside, error);
    if (status == LICET_OK)
        *out = import;
    else
        licet_import_release(import);
    return status;
}

licet_status licet_import_begin(licet_engine *engine, licet_import **import, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (import == NULL)
        return lic_fail_record(error, "import");
    *import = NULL;
    status  = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = import_new(engine, import, error);
    lic_engine_leave(&call);
    return status;
}

/* One part on its way. */
typedef struct part {
    licet_import     *import;
    lic_arena         arena;
    lic_store_change *changes;
    size_t            count;
    licet_error     **error;
} part;

static licet_status prepare(part *p, const licet_relationship *relationship)
{
    const unsigned long long number = p->import->number;
    lic_store_change        *change = &p->changes[p->count];
    char                     field[48];
    licet_status             status;

    if (!lic_relationship_known(relationship))
        return lic_fail_record(p->error, "a relationship");
    snprintf(field, sizeof field, "relationship %llu", number + p->count);
    LIC_TRY(lic_relationship_check(field, relationship, p->error));
    change->operation   = LICET_CREATE;
    change->resource_id = relationship->resource_id;
    change->subject_id  = relationship->subject_id;
    LIC_TRY(
        lic_attribute_read(&p->arena, field, relationship, p->import->engine->strict, &change->attribute, p->error));
    p->count++;
done:
    return status;
}

static licet_status fail_replaced(licet_error **error)
{
    return lic_fail(error, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, LIC_NOWHERE,
                    "the schema was replaced while the import was under way: import again");
}

/* All relationships of an import are judged by one schema, and that is still in force when they become visible: the
 * store looks at that again. */
static licet_status same_schema(licet_import *import, licet_error **error)
{
    const licet_schema *current;
    lic_snapshot        head;
    licet_status        status = lic_engine_pin_newest(import->engine, &head, error);

    if (status != LICET_OK)
        return status;
    current = lic_schemas_at(&import->engine->schemas, head.revision);
    if (import->schema == NULL) {
        import->schema = (licet_schema *)current;
        licet_schema_retain(import->schema);
    }
    lic_engine_unpin(&head);
    return import->schema == current ? LICET_OK : fail_replaced(error);
}

static licet_status type_part(part *p, const licet_relationship *relationships)
{
    const lic_program *program = p->import->schema->program;
    const bool         strict  = p->import->engine->strict;
    licet_status       status  = LICET_OK;

    for (size_t i = 0; i < p->count; i++) {
        LIC_TRY(lic_type_relationship(program, &relationships[i], false, &p->changes[i].typed, p->error));
        LIC_TRY(lic_attribute_type(program, &relationships[i], strict, &p->changes[i].attribute, p->error));
    }
done:
    return status;
}

static licet_status hand_over(part *p, const licet_relationship *relationships)
{
    lic_store   *store = p->import->engine->store;
    licet_status status;

    LIC_TRY(same_schema(p->import, p->error));
    LIC_TRY(type_part(p, relationships));
    LIC_TRY(store->methods->import_add(store, p->import->inside, p->changes, p->count, p->error));
done:
    return status;
}

static licet_status add_part(licet_import *import, const licet_relationship *relationships, size_t count,
                             licet_error **error)
{
    part         p      = { .import = import, .error = error };
    licet_status status = LICET_OK;

    lic_arena_init(&p.arena, import->engine->memory);
    p.changes = lic_new_array(&p.arena, count, lic_store_change);
    if (p.changes == NULL)
        status = lic_fail_memory(error);
    for (size_t i = 0; i < count && status == LICET_OK; i++)
        status = prepare(&p, &relationships[i]);
    if (status == LICET_OK)
        status = hand_over(&p, relationships);
    lic_store_changes_end(p.changes, p.count);
    lic_arena_free(&p.arena);
    import->number += count;
    return status;
}

licet_status licet_import_add(licet_import *import, const licet_relationship *relationships, size_t count,
                              licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    status = import_enter(import, &call, error);
    if (status != LICET_OK)
        return status;
    if (relationships == NULL && count > 0) {
        status = lic_fail_record(error, "relationships");
        count  = 0;
    }
    for (size_t at = 0; at < count && status == LICET_OK; at += PART)
        status = add_part(import, relationships + at, count - at < PART ? count - at : PART, error);
    import->ended = status != LICET_OK;
    lic_engine_leave(&call);
    return status;
}

static licet_status commit(licet_import *import, lic_store_outcome *outcome, licet_error **error)
{
    lic_store   *store  = import->engine->store;
    licet_status status = store->methods->import_commit(store, import->inside, import->schema, outcome, error);

    return status == LICET_OK && outcome->is_stale ? fail_replaced(error) : status;
}

licet_status licet_import_commit(licet_import *import, uint64_t *count, licet_token *token, licet_error **error)
{
    lic_store_outcome outcome = { .revision = 0 };
    lic_call          call;
    licet_status      status;

    lic_error_begin(error);
    if (count != NULL)
        *count = 0;
    if (token != NULL)
        *token = (licet_token){ { 0 } };
    status = import_enter(import, &call, error);
    if (status != LICET_OK)
        return status;
    status        = commit(import, &outcome, error);
    import->ended = true;
    if (status == LICET_OK && count != NULL)
        *count = outcome.count;
    if (status == LICET_OK && token != NULL)
        lic_engine_outcome_token(import->engine, &outcome, token);
    lic_engine_leave(&call);
    return status;
}

void licet_import_release(licet_import *import)
{
    licet_engine *engine;

    if (import == NULL || import->tag != IMPORT_TAG)
        return;
    engine      = import->engine;
    import->tag = 0;
    engine->store->methods->import_end(engine->store, import->inside);
    licet_schema_release(import->schema);
    lic_free(engine->memory, import, sizeof *import);
    licet_engine_release(engine);
}
