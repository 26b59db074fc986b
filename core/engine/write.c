/* Writes: of relationships, by filter, of the schema. Everything is judged here, in the order of api.md 11 and 12, by the
 * schema in force, and then given to the store. That makes sure that it still is the schema in force; if not, all of it
 * is judged again. */
#include "engine/paging.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/map.h"
#include "caveat/json.h"
#include "datastore/relationship.h"

#define MAX_METADATA_BYTES 65000 /* SpiceDB */

#define MAX_JUDGINGS 8 /* schemas don't change that often */

/* One write in progress. */
typedef struct writing {
    licet_engine     *engine;
    lic_arena         arena;
    lic_store_change *changes;
    size_t            change_count;
    lic_expectation  *expectations;
    licet_schema     *schema; /* held: by which the write is judged */
    lic_store_write   write;
    lic_store_outcome outcome;
    licet_error     **error;
} writing;

static void writing_init(writing *w, licet_engine *engine, licet_error **error)
{
    *w = (writing){ .engine = engine, .error = error };
    lic_arena_init(&w->arena, engine->memory);
}

static void writing_free(writing *w)
{
    licet_schema_release(w->schema);
    lic_store_changes_end(w->changes, w->change_count);
    lic_arena_free(&w->arena);
}

/* "update 3", counted from 1 as a person does. */
static const char *number_name(char *text, size_t size, const char *what, size_t index)
{
    snprintf(text, size, "%s %zu", what, index + 1);
    return text;
}

static licet_status fail_count(licet_error **error, const char *reason, const char *what, size_t count, size_t most)
{
    return lic_fail_reason(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, reason, LIC_NOWHERE,
                           "%zu %s are more than the %zu of one request", count, what, most);
}

/* ---------------------------------------------------------- before the lock */

static licet_status metadata_check(const licet_engine *engine, lic_str metadata, bool *is_empty, licet_error **error)
{
    lic_cel_value object;
    lic_arena     arena;
    licet_status  status;

    *is_empty = true;
    if (!lic_str_given(metadata))
        return LICET_OK;
    if (metadata.size > MAX_METADATA_BYTES)
        return lic_fail_reason(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "TRANSACTION_METADATA_TOO_LARGE",
                               LIC_NOWHERE, "the metadata is %zu bytes, more than the %d allowed", metadata.size,
                               MAX_METADATA_BYTES);
    lic_arena_init(&arena, engine->memory);
    status    = lic_cel_json_read_as(&arena, "metadata", metadata, engine->strict, &object, error);
    *is_empty = status != LICET_OK || object.map->count == 0;
    lic_arena_free(&arena);
    return status;
}

static bool is_operation(licet_operation operation)
{
    return operation == LICET_CREATE || operation == LICET_TOUCH || operation == LICET_DELETE;
}

static licet_status update_check(const licet_update *update, size_t index, licet_error **error)
{
    char field[48];

    /* Most are right: only those that are not need their number as text. */
    if (is_operation(update->operation) && lic_relationship_check("", &update->relationship, NULL) == LICET_OK)
        return LICET_OK;
    number_name(field, sizeof field, "update", index);
    if (!is_operation(update->operation))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: %d is none of create, touch and delete", field, (int)update->operation);
    return lic_relationship_check(field, &update->relationship, error);
}

static licet_status updates_check(const licet_write_request *request, licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < request->update_count && status == LICET_OK; i++)
        status = lic_relationship_known(&request->updates[i].relationship)
                     ? update_check(&request->updates[i], i, error)
                     : lic_fail_record(error, "an update's relationship");
    return status;
}

static licet_status precondition_check(const licet_precondition *precondition, size_t index, bool strict,
                                       licet_error **error)
{
    licet_filter filter;
    char         field[48];

    number_name(field, sizeof field, "precondition", index);
    if (!LIC_RECORD_KNOWN(&precondition->filter))
        return lic_fail_record(error, "a precondition's filter");
    if (precondition->expectation != LICET_MUST_MATCH && precondition->expectation != LICET_MUST_NOT_MATCH)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: %d is neither must match nor must not match", field, (int)precondition->expectation);
    filter = lic_filter_meant(&precondition->filter, strict);
    return lic_filter_check(field, &filter, LIC_FILTER_PRECONDITION, error);
}

static licet_status preconditions_check(const licet_precondition *preconditions, size_t count, bool strict,
                                        licet_error **error)
{
    licet_status status = LICET_OK;

    if (count > LIC_MAX_PRECONDITIONS)
        return fail_count(error, "TOO_MANY_PRECONDITIONS_IN_REQUEST", "preconditions", count, LIC_MAX_PRECONDITIONS);
    if (count > 0 && preconditions == NULL)
        return lic_fail_record(error, "preconditions");
    for (size_t i = 0; i < count && status == LICET_OK; i++)
        status = precondition_check(&preconditions[i], i, strict, error);
    return status;
}

static char *put(char *at, lic_str s)
{
    if (s.size > 0)
        memcpy(at, s.data, s.size);
    return at + s.size;
}

/* The six names, in the notation of texts; not given when memory ran out. */
static lic_str identity_of(lic_arena *arena, const licet_relationship *r)
{
    lic_str relation = lic_subject_relation(r);
    size_t  room     = r->resource_type.size + r->resource_id.size + r->relation.size + r->subject_type.size +
                  r->subject_id.size + relation.size + 5; /* of checked sizes: no overflow */
    char *text = lic_arena_alloc(arena, room);
    char *at   = text;

    if (text == NULL)
        return (lic_str){ NULL, 0 };
    at = put(put(put(at, r->resource_type), LIC_STR(":")), r->resource_id);
    at = put(put(put(at, LIC_STR("#")), r->relation), LIC_STR("@"));
    at = put(put(put(at, r->subject_type), LIC_STR(":")), r->subject_id);
    if (lic_str_given(relation))
        at = put(put(at, LIC_STR("#")), relation);
    return (lic_str){ text, (size_t)(at - text) };
}

static licet_status refuse_duplicate(writing *w, lic_map *seen, const licet_relationship *relationship, uint32_t index)
{
    lic_str  identity = identity_of(&w->arena, relationship);
    uint32_t first;

    if (!lic_str_given(identity) || !lic_map_add(seen, identity, index, &first))
        return lic_fail_memory(w->error);
    if (first == index)
        return LICET_OK;
    return lic_fail_reason(w->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, "UPDATES_ON_SAME_RELATIONSHIP",
                           LIC_NOWHERE, "found more than one update with relationship %Q in this request", &identity);
}

/* Most have no context, so no message that their number could be in. */
static licet_status prepare_change(writing *w, const licet_update *update, uint32_t index)
{
    const licet_relationship *relationship = &update->relationship;
    lic_store_change         *change       = &w->changes[w->change_count];
    char                      field[48]    = "";
    licet_status              status;

    change->operation   = update->operation;
    change->resource_id = relationship->resource_id;
    change->subject_id  = relationship->subject_id;
    if (lic_str_given(relationship->caveat_context))
        number_name(field, sizeof field, "update", index);
    status = lic_attribute_read(&w->arena, field, relationship, w->engine->strict, &change->attribute, w->error);
    if (status == LICET_OK)
        w->change_count++;
    return status;
}

/* The changes but for their names as numbers: no identity twice, contexts are read. Anew each time that the write is
 * judged, since that makes values of contexts what one schema's parameters are. */
static licet_status prepare_changes(writing *w, const licet_write_request *request)
{
    licet_status status = LICET_OK;
    lic_map      seen;

    lic_store_changes_end(w->changes, w->change_count);
    w->change_count = 0;
    w->changes      = lic_new_array(&w->arena, request->update_count, lic_store_change);
    if (w->changes == NULL)
        return lic_fail_memory(w->error);
    lic_map_init(&seen, w->engine->memory, lic_random_key());
    for (uint32_t i = 0; i < request->update_count; i++) {
        LIC_TRY(refuse_duplicate(w, &seen, &request->updates[i].relationship, i));
        LIC_TRY(prepare_change(w, &request->updates[i], i));
    }
done:
    lic_map_free(&seen);
    return status;
}

/* -------------------------------------------------------- judging by the schema */

/* The schema in force is held from here on. */
static licet_status judging_begin(writing *w)
{
    licet_engine *engine = w->engine;
    licet_status  status = LICET_OK;
    lic_snapshot  head;

    licet_schema_release(w->schema);
    w->schema = NULL;
    status    = lic_engine_pin_newest(engine, &head, w->error);
    if (status != LICET_OK)
        return status;
    w->schema = (licet_schema *)lic_schemas_at(&engine->schemas, head.revision);
    licet_schema_retain(w->schema);
    lic_engine_unpin(&head);
    w->write.schema   = w->schema;
    w->write.is_timed = lic_engine_instant(engine, &w->write.now, NULL) == LICET_OK;
    return LICET_OK;
}

/* Names first, for all of them: an unknown name in the last outranks a type error in the first update. */
static licet_status judge_preconditions(writing *w, const licet_precondition *preconditions, size_t count)
{
    licet_status status = LICET_OK;

    if (w->expectations == NULL)
        w->expectations = lic_new_array(&w->arena, count, lic_expectation);
    if (w->expectations == NULL)
        return lic_fail_memory(w->error);
    w->write.expectations      = w->expectations;
    w->write.expectation_count = count;
    for (size_t i = 0; i < count && status == LICET_OK; i++) {
        const licet_filter meant       = lic_filter_meant(&preconditions[i].filter, w->engine->strict);
        lic_expectation   *expectation = &w->expectations[i];
        char               field[48];

        number_name(field, sizeof field, "precondition", i);
        expectation->asked      = meant;
        expectation->must_match = preconditions[i].expectation == LICET_MUST_MATCH;
        LIC_TRY(
            lic_filter_compile(w->schema->program, &meant, LIC_FILTER_PRECONDITION, &expectation->filter, w->error));
        LIC_TRY(lic_filter_choice_check(field, &meant, LIC_FILTER_PRECONDITION, w->error));
    }
done:
    return status;
}

static licet_status judge_updates(writing *w, const licet_write_request *request)
{
    const lic_program *program = w->schema->program;
    licet_status       status  = LICET_OK;

    for (size_t i = 0; i < request->update_count; i++) {
        const licet_relationship *relationship = &request->updates[i].relationship;
        lic_store_change         *change       = &w->changes[i];

        LIC_TRY(
            lic_type_relationship(program, relationship, change->operation == LICET_DELETE, &change->typed, w->error));
        LIC_TRY(lic_attribute_type(program, relationship, w->engine->strict, &change->attribute, w->error));
    }
done:
    return status;
}

/* The schema was replaced between judging and writing, again and again. */
static licet_status fail_stale(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the schema is being replaced all the time: nothing was written");
}

static licet_status write_once(writing *w, const licet_write_request *request)
{
    lic_store   *store = w->engine->store;
    licet_status status;

    LIC_TRY(prepare_changes(w, request));
    LIC_TRY(judging_begin(w));
    LIC_TRY(judge_preconditions(w, request->preconditions, request->precondition_count));
    LIC_TRY(judge_updates(w, request));
    LIC_TRY(store->methods->apply(store, &w->write, w->changes, w->change_count, &w->outcome, w->error));
done:
    return status;
}

static licet_status update_count_check(const licet_write_request *request, licet_error **error)
{
    if (request->update_count > LIC_MAX_UPDATES)
        return fail_count(error, "TOO_MANY_UPDATES_IN_REQUEST", "updates", request->update_count, LIC_MAX_UPDATES);
    if (request->update_count > 0 && request->updates == NULL)
        return lic_fail_record(error, "updates");
    return LICET_OK;
}

static licet_status write_relationships(licet_engine *engine, const licet_write_request *request, licet_token *token,
                                        licet_error **error)
{
    bool         no_metadata;
    licet_status status;
    writing      w;

    LIC_TRY(metadata_check(engine, request->metadata, &no_metadata, error));
    LIC_TRY(update_count_check(request, error));
    LIC_TRY(updates_check(request, error));
    LIC_TRY(preconditions_check(request->preconditions, request->precondition_count, engine->strict, error));
    writing_init(&w, engine, error);
    if (!no_metadata)
        w.write.metadata = request->metadata;
    w.outcome.is_stale = true;
    for (int i = 0; i < MAX_JUDGINGS && status == LICET_OK && w.outcome.is_stale; i++)
        status = write_once(&w, request);
    if (status == LICET_OK && w.outcome.is_stale)
        status = fail_stale(error);
    writing_free(&w);
    if (status == LICET_OK && token != NULL)
        lic_engine_outcome_token(engine, &w.outcome, token);
done:
    return status;
}

static void empty_token(licet_token *token)
{
    if (token != NULL)
        *token = (licet_token){ { 0 } };
}

licet_status licet_write(licet_engine *engine, const licet_write_request *request, licet_token *token,
                         licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    empty_token(token);
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = write_relationships(engine, request, token, error);
    lic_engine_leave(&call);
    return status;
}

/* ------------------------------------------------------------------ delete */

static licet_status delete_once(writing *w, const licet_delete_request *request)
{
    lic_store        *store   = w->engine->store;
    lic_store_erasure erasure = { .asked         = lic_filter_meant(&request->filter, w->engine->strict),
                                  .limit         = request->limit,
                                  .allow_partial = request->allow_partial };
    licet_status      status;

    LIC_TRY(judging_begin(w));
    LIC_TRY(lic_filter_compile(w->schema->program, &erasure.asked, LIC_FILTER_DELETE, &erasure.filter, w->error));
    LIC_TRY(lic_filter_choice_check("filter", &erasure.asked, LIC_FILTER_DELETE, w->error));
    LIC_TRY(judge_preconditions(w, request->preconditions, request->precondition_count));
    LIC_TRY(store->methods->erase(store, &w->write, &erasure, &w->outcome, w->error));
done:
    return status;
}

static licet_status delete_relationships(licet_engine *engine, const licet_delete_request *request,
                                         licet_delete_result *result, licet_error **error)
{
    bool         no_metadata;
    licet_filter meant;
    licet_status status;
    writing      w;

    if (!LIC_RECORD_KNOWN(&request->filter))
        return lic_fail_record(error, "filter");
    LIC_TRY(metadata_check(engine, request->metadata, &no_metadata, error));
    meant = lic_filter_meant(&request->filter, engine->strict);
    LIC_TRY(lic_filter_check("filter", &meant, LIC_FILTER_DELETE, error));
    LIC_TRY(preconditions_check(request->preconditions, request->precondition_count, engine->strict, error));
    LIC_TRY(lic_paging_limit_check(request->limit, error));
    writing_init(&w, engine, error);
    if (!no_metadata)
        w.write.metadata = request->metadata;
    w.outcome.is_stale = true;
    for (int i = 0; i < MAX_JUDGINGS && status == LICET_OK && w.outcome.is_stale; i++)
        status = delete_once(&w, request);
    if (status == LICET_OK && w.outcome.is_stale)
        status = fail_stale(error);
    writing_free(&w);
    if (status != LICET_OK)
        return status;
    result->deleted_count = w.outcome.count;
    result->partial       = request->limit != 0 && w.outcome.count == request->limit;
    lic_engine_outcome_token(engine, &w.outcome, &result->token);
done:
    return status;
}

licet_status licet_delete_relationships(licet_engine *engine, const licet_delete_request *request,
                                        licet_delete_result *result, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (!LIC_RECORD_KNOWN(result))
        return lic_fail_record(error, "result");
    *result = (licet_delete_result)LICET_DELETE_RESULT_INIT;
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = delete_relationships(engine, request, result, error);
    lic_engine_leave(&call);
    return status;
}

/* ------------------------------------------------------------------ schema */

/* What no longer fits may go if it has expired, by the store's clock: that is known once the store has answered. Where it
 * still is not, nothing has. */
static licet_status learn_time(licet_engine *engine, lic_instant *now, licet_error **error)
{
    licet_status status = LICET_OK;
    lic_snapshot head;

    if (lic_engine_instant(engine, now, NULL) == LICET_OK)
        return LICET_OK;
    status = lic_engine_pin_newest(engine, &head, error);
    if (status == LICET_OK) {
        lic_engine_unpin(&head);
        (void)lic_engine_instant(engine, now, NULL);
    }
    return status;
}

static licet_status write_schema(licet_engine *engine, licet_str text, licet_token *token, licet_error **error)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    lic_store_outcome    outcome = { .revision = 0 };
    licet_schema        *schema  = NULL;
    lic_instant          now;
    licet_status         status;

    request.text   = text;
    request.strict = engine->strict;
    lic_graph_lock(engine->graph); /* names may be added */
    status = lic_schema_new(engine->memory, engine->names, &request, &schema, error);
    lic_graph_unlock(engine->graph);
    if (status == LICET_OK)
        status = learn_time(engine, &now, error);
    if (status == LICET_OK)
        status = engine->store->methods->replace_schema(engine->store, &schema, now, &outcome, error);
    licet_schema_release(schema);
    if (status == LICET_OK && token != NULL)
        lic_engine_outcome_token(engine, &outcome, token);
    return status;
}

licet_status licet_write_schema(licet_engine *engine, licet_str text, licet_token *token, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    empty_token(token);
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    if (lic_str_given(text))
        status = write_schema(engine, text, token, error);
    else
        status = lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "the schema text is not given");
    lic_engine_leave(&call);
    return status;
}

/* SpiceDB: a schema without definitions reads as none. */
static licet_status read_schema(licet_engine *engine, licet_schema **schema, licet_token *token, licet_error **error)
{
    lic_snapshot head;
    licet_status status = lic_engine_pin_newest(engine, &head, error);

    if (status != LICET_OK)
        return status;
    *schema = (licet_schema *)lic_schemas_at(&engine->schemas, head.revision);
    licet_schema_retain(*schema);
    if (token != NULL)
        lic_engine_token(engine, head.revision, token);
    lic_engine_unpin(&head);
    if (licet_schema_definition_count(*schema) > 0)
        return LICET_OK;
    licet_schema_release(*schema);
    *schema = NULL;
    empty_token(token);
    return lic_fail(error, LICET_NOT_FOUND, LICET_KIND_NAME, LIC_NOWHERE, "no schema has been written");
}

licet_status licet_read_schema(licet_engine *engine, licet_schema **schema, licet_token *token, licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    empty_token(token);
    if (schema == NULL)
        return lic_fail_record(error, "schema");
    *schema = NULL;
    status  = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = read_schema(engine, schema, token, error);
    lic_engine_leave(&call);
    return status;
}
