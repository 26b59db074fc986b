/* Imports: relationships are judged and handed to the store part by part; the commit makes all of them one revision.
 *
 * An import that has a name is committed piece by piece, each of which is an import of the store's; the store keeps with
 * it how far the whole has come. Whoever goes on gives all from the beginning: what is committed is only compared, by a
 * digest, so that nothing is written twice, left out, or mixed with something else. */
#include <assert.h>
#include <stdio.h>

#include "base/utf8.h"
#include "datastore/relationship.h"
#include "engine/engine.h"

#define IMPORT_TAG UINT64_C(0x6c69636d706f7274) /* "licmport" */
/* Relationships that are handed to the store under one hold of the write lock. */
#define PART 1000u

struct licet_import {
    uint64_t          tag;
    licet_engine     *engine; /* held */
    lic_store_import *inside; /* NULL: between two pieces */
    licet_schema     *schema; /* held: the one that all were judged by; NULL: none was added */
    uint64_t          number; /* of the next relationship, counted from 1 */
    bool              ended;  /* committed, or failed */

    /* Of one that is committed piece by piece. */
    bool             is_resumable;
    bool             is_finished; /* before it was begun here: nothing is left to be written */
    char             name[LIC_MAX_IMPORT_NAME_BYTES];
    lic_import_piece piece; /* that is being made; `after` is where all that was given so far ends */
    licet_token      token; /* of the last piece */
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

/* NULL: out of memory. */
static licet_import *import_alloc(licet_engine *engine)
{
    licet_import *import = lic_alloc_zero(engine->memory, sizeof *import);

    if (import == NULL)
        return NULL;
    licet_engine_retain(engine);
    import->tag    = IMPORT_TAG;
    import->engine = engine;
    import->number = 1;
    return import;
}

/* A part of the store's: all of it, or a piece. */
static licet_status begin_inside(licet_import *import, const lic_import_piece *piece, licet_error **error)
{
    lic_store *store = import->engine->store;

    return store->methods->import_begin(store, piece, &import->inside, error);
}

static licet_status import_new(licet_engine *engine, licet_import **out, licet_error **error)
{
    licet_import *import = import_alloc(engine);
    licet_status  status;

    if (import == NULL)
        return lic_fail_memory(error);
    status = begin_inside(import, NULL, error);
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

/* ------------------------------------------------------------ piece by piece */

static licet_status name_check(licet_str name, licet_error **error)
{
    bool usable = lic_str_given(name) && name.size > 0 && name.size <= LIC_MAX_IMPORT_NAME_BYTES &&
                  lic_utf8_check(name) == name.size;

    for (size_t i = 0; usable && i < name.size; i++)
        usable = (uint8_t)name.data[i] >= 0x20 && name.data[i] != 0x7f;
    if (usable)
        return LICET_OK;
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                    "name: expected 1 to %d bytes of UTF-8 without control characters", LIC_MAX_IMPORT_NAME_BYTES);
}

static licet_status import_open(licet_engine *engine, licet_str name, licet_import **out, licet_error **error)
{
    licet_import     *import = import_alloc(engine);
    lic_import_record record = { .is_finished = false };
    licet_status      status;

    if (import == NULL)
        return lic_fail_memory(error);
    memcpy(import->name, name.data, name.size);
    import->is_resumable = true;
    import->piece.name   = (lic_str){ import->name, name.size };
    status               = engine->store->methods->import_open(engine->store, import->piece.name, &record, error);
    import->piece.before = record.progress;
    import->is_finished  = record.is_finished;
    if (status == LICET_OK)
        *out = import;
    else
        licet_import_release(import);
    return status;
}

licet_status licet_import_resume(licet_engine *engine, licet_str name, licet_import **import, uint64_t *count,
                                 licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (count != NULL)
        *count = 0;
    if (import == NULL)
        return lic_fail_record(error, "import");
    *import = NULL;
    status  = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = name_check(name, error);
    if (status == LICET_OK)
        status = import_open(engine, name, import, error);
    if (*import != NULL && count != NULL)
        *count = (*import)->piece.before.count;
    lic_engine_leave(&call);
    return status;
}

static licet_status find(licet_engine *engine, licet_str name, licet_import_record *record, licet_error **error)
{
    lic_import_record found = { .is_finished = false };
    licet_status      status;

    LIC_TRY(name_check(name, error));
    LIC_TRY(engine->store->methods->import_find(engine->store, name, &found, &record->is_known, error));
    record->count       = found.progress.count;
    record->is_finished = found.is_finished;
done:
    return status;
}

licet_status licet_import_find(licet_engine *engine, licet_str name, licet_import_record *record, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (record == NULL || record->size != sizeof *record)
        return lic_fail_record(error, "record");
    *record = (licet_import_record)LICET_IMPORT_RECORD_INIT;
    status  = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = find(engine, name, record, error);
    if (status != LICET_OK)
        *record = (licet_import_record)LICET_IMPORT_RECORD_INIT;
    lic_engine_leave(&call);
    return status;
}

licet_status licet_import_forget(licet_engine *engine, licet_str name, bool *was_known, licet_error **error)
{
    bool         found = false;
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (was_known != NULL)
        *was_known = false;
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = name_check(name, error);
    if (status == LICET_OK)
        status = engine->store->methods->import_forget(engine->store, name, &found, error);
    if (status == LICET_OK && was_known != NULL)
        *was_known = found;
    lic_engine_leave(&call);
    return status;
}

static licet_status fail_differs(const licet_import *import, const char *how, licet_error **error)
{
    return lic_fail_reason(error, LICET_PRECONDITION_FAILED, LICET_KIND_CONFLICT, "IMPORT_DIFFERS", LIC_NOWHERE,
                           "%llu relationships of the import %Q are committed, and what was given now %s",
                           (unsigned long long)import->piece.before.count, &import->piece.name, how);
}

/* ------------------------------------------------------------ adding */

/* One part on its way. */
typedef struct part {
    licet_import     *import;
    lic_arena         arena;
    lic_text          scratch;
    lic_store_change *changes;
    size_t            known; /* relationships that are committed already, before those of the changes */
    size_t            count;
    licet_error     **error;
} part;

/* One relationship further. *is_known: it is committed already. */
static licet_status advance(part *p, const licet_relationship *relationship, const lic_attribute *attribute,
                            bool *is_known)
{
    licet_import     *import = p->import;
    lic_import_piece *piece  = &import->piece;

    *is_known = false;
    if (!import->is_resumable)
        return LICET_OK;
    if (!lic_progress_add(&piece->after, relationship, attribute, &p->scratch))
        return lic_fail_memory(p->error);
    *is_known = piece->after.count <= piece->before.count;
    if (piece->after.count == piece->before.count && !lic_progress_equal(&piece->after, &piece->before))
        return fail_differs(import, "is something else", p->error);
    if (!*is_known && import->is_finished)
        return fail_differs(import, "is more, though the import was finished", p->error);
    return LICET_OK;
}

static licet_status prepare(part *p, const licet_relationship *relationship)
{
    const unsigned long long number = p->import->number;
    lic_store_change        *change = &p->changes[p->count];
    char                     field[48];
    bool                     is_known;
    licet_status             status;

    if (!lic_relationship_known(relationship))
        return lic_fail_record(p->error, "a relationship");
    snprintf(field, sizeof field, "relationship %llu", number + p->known + p->count);
    LIC_TRY(lic_relationship_check(field, relationship, p->error));
    change->operation   = LICET_CREATE;
    change->resource_id = relationship->resource_id;
    change->subject_id  = relationship->subject_id;
    LIC_TRY(
        lic_attribute_read(&p->arena, field, relationship, p->import->engine->strict, &change->attribute, p->error));
    status = advance(p, relationship, &change->attribute, &is_known);
    if (status == LICET_OK && !is_known)
        p->count++;
    else {
        p->known++;
        lic_attribute_end(&change->attribute);
    }
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

    relationships += p->known;
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

    if (p->import->inside == NULL)
        LIC_TRY(begin_inside(p->import, &p->import->piece, p->error));
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
    lic_text_init(&p.scratch, import->engine->memory);
    p.changes = lic_new_array(&p.arena, count, lic_store_change);
    if (p.changes == NULL)
        status = lic_fail_memory(error);
    for (size_t i = 0; i < count && status == LICET_OK; i++)
        status = prepare(&p, &relationships[i]);
    if (status == LICET_OK && p.count > 0)
        status = hand_over(&p, relationships);
    lic_store_changes_end(p.changes, p.count);
    lic_text_free(&p.scratch);
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

/* ------------------------------------------------------------ committing */

static licet_status commit(licet_import *import, lic_store_outcome *outcome, licet_error **error)
{
    lic_store   *store  = import->engine->store;
    licet_status status = store->methods->import_commit(store, import->inside, import->schema, outcome, error);

    return status == LICET_OK && outcome->is_stale ? fail_replaced(error) : status;
}

static void end_piece(licet_import *import)
{
    lic_store *store = import->engine->store;

    store->methods->import_end(store, import->inside);
    import->inside = NULL;
    licet_schema_release(import->schema);
    import->schema       = NULL;
    import->piece.before = import->piece.after;
}

static licet_status commit_piece(licet_import *import, bool is_last, licet_error **error)
{
    lic_store_outcome outcome = { .revision = 0 };
    licet_status      status  = LICET_OK;

    import->piece.is_last = is_last;
    if (import->inside == NULL) /* what was finished before needs nothing but a token */
        LIC_TRY(begin_inside(import, import->is_finished ? NULL : &import->piece, error));
    LIC_TRY(commit(import, &outcome, error));
    end_piece(import);
    lic_engine_outcome_token(import->engine, &outcome, &import->token);
done:
    return status;
}

licet_status licet_import_save(licet_import *import, uint64_t *count, licet_token *token, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (count != NULL)
        *count = 0;
    if (token != NULL)
        *token = (licet_token){ { 0 } };
    status = import_enter(import, &call, error);
    if (status != LICET_OK)
        return status;
    if (!import->is_resumable)
        status = lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                          "the import has no name: it is committed as a whole");
    else if (import->inside != NULL)
        status = commit_piece(import, false, error);
    import->ended = status != LICET_OK;
    if (status == LICET_OK && count != NULL)
        *count = import->piece.before.count;
    if (status == LICET_OK && token != NULL)
        *token = import->token;
    lic_engine_leave(&call);
    return status;
}

static licet_status commit_last(licet_import *import, lic_store_outcome *outcome, licet_error **error)
{
    licet_status status;

    if (import->piece.after.count < import->piece.before.count)
        return fail_differs(import, "is less", error);
    status         = commit_piece(import, true, error);
    outcome->count = import->piece.before.count;
    return status;
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
    if (import->is_resumable)
        status = commit_last(import, &outcome, error);
    else
        status = commit(import, &outcome, error);
    import->ended = true;
    if (status == LICET_OK && count != NULL)
        *count = outcome.count;
    if (status == LICET_OK && token != NULL && import->is_resumable)
        *token = import->token;
    else if (status == LICET_OK && token != NULL)
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
