/* Watching: what was committed, revision by revision, from the history that the store keeps anyway.
 *
 * A watch is a place in the history. Each call goes on from there, under a pin that it takes for one revision at a
 * time; to wait it leaves the engine, so that nobody waits for it, and is woken by commits. Nothing is buffered: who
 * reads too slowly finds one day that its place has left the history, and is told. */
#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "datastore/object.h"
#include "engine/stream.h"

#define ALL_KINDS (LICET_WATCH_RELATIONSHIPS | LICET_WATCH_SCHEMA | LICET_WATCH_CHECKPOINTS)

/* What lies between the token that a watch goes on after and the revision of the graph from which its history is known
 * here. Read when the watch begins, so that nothing is told twice. */
typedef struct gap {
    bool               is_open; /* and not told yet */
    bool               schema_changed;
    lic_store_revision difference;
    lic_arena          arena; /* of that; until the call after the one that told it */
} gap;

/* The place is the stream's revision: everything up to it was told, or had nothing to say, but for the gap. */
typedef struct watching {
    licet_stream base;
    uint32_t     kinds;
    lic_arena    arena; /* texts of the request, filters */
    lic_map      types; /* names of resource types, when there are any */
    lic_filter  *filters;
    size_t       filter_count;
    lic_str     *type_names; /* of all that can pass; none: of any */
    size_t       type_count;
    gap          gap;
    licet_token  place; /* the last that is known: to go on after it never misses anything */
    lic_arena    told;  /* what the last call returned */
} watching;

/* ------------------------------------------------------------------- the rows */

static bool has_type(const watching *w, const lic_row *row)
{
    const lic_names *names = w->base.engine->names;
    lic_type         type  = lic_names_type_of(names, row->edge.resource.slot);

    return w->types.count == 0 || lic_map_find(&w->types, lic_names_type_name(names, type)) != LIC_MAP_NONE;
}

static bool is_selected(const watching *w, const lic_row *row)
{
    for (size_t i = 0; i < w->filter_count; i++) {
        if (lic_filter_selects(w->base.engine->names, &w->filters[i], row))
            return true;
    }
    return w->filter_count == 0;
}

static bool passes(const void *context, const lic_row *row)
{
    return has_type(context, row) && is_selected(context, row);
}

static lic_row_test row_test(const watching *w)
{
    return (lic_row_test){ .passes = passes, .context = w, .types = w->type_names, .type_count = w->type_count };
}

/* ----------------------------------------------------------------------- tokens */

/* Where to go on. A later revision's token would pass over what lies between; an older one's only tells it again. */
static void token_of_place(const licet_stream *stream, licet_token *token)
{
    const watching *w = (const watching *)stream;

    *token = w->place;
    if (w->gap.is_open)
        return;
    lic_engine_exact_token(w->base.engine, w->base.revision, token);
    if (token->text[0] == '\0')
        *token = w->place;
}

static void note_place(watching *w, licet_token *token)
{
    token_of_place(&w->base, token);
    w->place = *token;
}

/* ----------------------------------------------------------------- one revision */

static licet_status fail_expired(licet_error **error)
{
    return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "changes after the revision have left the retained history");
}

static bool wants(const watching *w, uint32_t kind)
{
    return (w->kinds & kind) != 0;
}

/* The next revision that has something to say, of those that the snapshot shows; if none has, the last one that was
 * looked at. SpiceDB: relationships are told whatever kinds are asked for; in memory every revision is a checkpoint. */
static licet_status read_revision(watching *w, const lic_snapshot *snapshot, lic_store_revision *revision,
                                  bool *schema_changed, licet_error **error)
{
    const licet_engine *engine  = w->base.engine;
    lic_store          *store   = engine->store;
    const lic_row_test  test    = row_test(w);
    uint64_t            after   = w->base.revision;
    uint64_t            through = wants(w, LICET_WATCH_CHECKPOINTS) ? after + 1 : snapshot->revision;
    uint64_t            schema  = 0;
    licet_status        status;

    *revision = (lic_store_revision){ .revision = 0 };
    if (!store->methods->keeps(store, snapshot, after)) /* schemas that are kept now are kept for who is pinned; */
        return fail_expired(error);
    if (wants(w, LICET_WATCH_SCHEMA))
        schema = lic_schemas_next(&engine->schemas, after, through);
    if (schema != 0)
        through = schema;
    status = store->methods->changes(store, snapshot, after, through, &test, &w->told, revision, error);
    if (status == LICET_OK && !store->methods->keeps(store, snapshot, after)) /* metadata may go meanwhile */
        status = fail_expired(error);
    if (revision->revision == 0)
        revision->revision = through;
    *schema_changed = revision->revision == schema;
    return status;
}

/* Who falls back to fetching has no changes to tell any more: a gap is never passed over in silence. */
static licet_status require_watchable(const licet_engine *engine, licet_error **error)
{
    lic_store *store = engine->store;

    return store->methods->watchable == NULL ? LICET_OK : store->methods->watchable(store, error);
}

/* Tells a revision, or passes those that have nothing to say. *more: there are others. */
static licet_status advance(watching *w, licet_change *change, bool *found, bool *more, licet_error **error)
{
    licet_engine      *engine = w->base.engine;
    lic_store_revision revision;
    lic_snapshot       snapshot;
    licet_status       status;

    lic_snapshot_pin(engine->graph, &snapshot);
    *more  = snapshot.revision > w->base.revision;
    status = require_watchable(engine, error);
    if (status == LICET_OK && *more)
        status = read_revision(w, &snapshot, &revision, &change->schema_changed, error);
    lic_snapshot_unpin(&snapshot);
    if (status != LICET_OK || !*more)
        return status;
    change->is_checkpoint = wants(w, LICET_WATCH_CHECKPOINTS);
    change->updates       = revision.updates;
    change->update_count  = revision.count;
    change->metadata      = revision.metadata;
    w->base.revision      = revision.revision;
    *found                = revision.count > 0 || change->schema_changed || change->is_checkpoint;
    if (*found)
        note_place(w, &change->token);
    return LICET_OK;
}

static void tell_gap(watching *w, licet_change *change, bool *found)
{
    const lic_store_revision *difference = &w->gap.difference;

    w->gap.is_open         = false;
    change->schema_changed = w->gap.schema_changed && wants(w, LICET_WATCH_SCHEMA);
    change->is_checkpoint  = wants(w, LICET_WATCH_CHECKPOINTS);
    change->updates        = difference->updates;
    change->update_count   = difference->count;
    change->metadata       = difference->metadata;
    *found                 = difference->count > 0 || change->schema_changed || change->is_checkpoint;
    if (*found)
        note_place(w, &change->token);
}

/* Inside a call. */
static licet_status next_told(watching *w, licet_change *change, bool *found, licet_error **error)
{
    licet_status status = LICET_OK;
    bool         more   = true;

    lic_arena_free(&w->told);
    if (w->gap.is_open)
        tell_gap(w, change, found);
    else
        lic_arena_free(&w->gap.arena);
    while (status == LICET_OK && more && !*found)
        status = advance(w, change, found, &more, error);
    if (!*found)
        *change = (licet_change)LICET_CHANGE_INIT;
    return status;
}

/* -------------------------------------------------------------------- waiting */

static bool has_nothing_to_tell(const void *context)
{
    const watching     *w      = context;
    const licet_engine *engine = w->base.engine;

    return lic_graph_head(engine->graph) <= w->base.revision && !lic_gate_is_closed(&engine->gate) &&
           require_watchable(engine, NULL) == LICET_OK;
}

/* Not inside a call: whoever closes the engine does not wait for us. */
static licet_status next_change(licet_stream *stream, uint64_t until_ms, licet_change *change, bool *found,
                                licet_error **error)
{
    watching    *w = (watching *)stream;
    lic_call     call;
    licet_status status;

    for (;;) {
        status = lic_stream_enter(stream, LIC_STREAM_CHANGES, &call, error);
        if (status != LICET_OK)
            return status;
        status = next_told(w, change, found, error);
        lic_engine_leave(&call);
        if (status != LICET_OK || *found || until_ms == 0 || lic_monotonic_ms() >= until_ms)
            return status;
        lic_feed_wait(&stream->engine->feed, until_ms, has_nothing_to_tell, w);
    }
}

licet_status licet_stream_next_change(licet_stream *stream, uint32_t timeout_ms, licet_change *change, bool *found,
                                      licet_error **error)
{
    lic_error_begin(error);
    if (found != NULL)
        *found = false;
    if (!LIC_RECORD_KNOWN(change))
        return lic_fail_record(error, "change");
    *change = (licet_change)LICET_CHANGE_INIT;
    if (found == NULL)
        return lic_fail_record(error, "found");
    return next_change(stream, timeout_ms == 0 ? 0 : lic_monotonic_ms() + timeout_ms, change, found, error);
}

/* ------------------------------------------------------------------- beginning */

static licet_status types_check(const licet_watch_request *request, licet_error **error)
{
    licet_status status = LICET_OK;
    char         field[48];

    for (size_t i = 0; i < request->resource_type_count && status == LICET_OK; i++) {
        snprintf(field, sizeof field, "resource type %zu", i + 1);
        status = lic_type_check(field, request->resource_types[i], error);
    }
    return status;
}

static licet_status filter_check(const licet_filter *filter, size_t index, bool strict, licet_error **error)
{
    licet_filter meant;
    char         field[48];

    if (!LIC_RECORD_KNOWN(filter))
        return lic_fail_record(error, "a filter");
    snprintf(field, sizeof field, "filter %zu", index + 1);
    meant = lic_filter_meant(filter, strict);
    return lic_filter_check(field, &meant, LIC_FILTER_WATCH, error);
}

static licet_status filters_check(const licet_watch_request *request, bool strict, licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < request->filter_count && status == LICET_OK; i++)
        status = filter_check(&request->filters[i], i, strict, error);
    return status;
}

static licet_status shape_check(const licet_watch_request *request, bool strict, licet_error **error)
{
    licet_status status;

    if (request->resource_type_count > 0 && request->resource_types == NULL)
        return lic_fail_record(error, "resource_types");
    if (request->filter_count > 0 && request->filters == NULL)
        return lic_fail_record(error, "filters");
    if ((request->kinds & ~ALL_KINDS) != 0)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "kinds: %u has bits that name nothing to be told", (unsigned)request->kinds);
    if (request->resource_type_count > 0 && request->filter_count > 0)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "resource_types and filters exclude each other");
    LIC_TRY(types_check(request, error));
    LIC_TRY(filters_check(request, strict, error));
done:
    return status;
}

/* Of the revision that the watch goes on from. *is_there: everything behind the token is known from there on. */
static licet_status pin_place(const licet_engine *engine, const licet_watch_request *request, lic_snapshot *snapshot,
                              bool *is_there, licet_error **error)
{
    lic_store              *store = engine->store;
    const licet_consistency from  = { lic_str_given(request->since) ? LICET_AT_EXACT_SNAPSHOT : LICET_MINIMIZE_LATENCY,
                                     request->since, false };
    const lic_need nothing = { .kind = LIC_NEED_NOTHING };

    *is_there = true;
    if (lic_str_given(request->since) && store->methods->pin_since != NULL)
        return store->methods->pin_since(store, request->since, snapshot, is_there, error);
    return lic_engine_pin(engine, &from, &nothing, snapshot, error);
}

static licet_status pin(const licet_engine *engine, const licet_watch_request *request, lic_snapshot *snapshot,
                        bool *is_there, licet_error **error)
{
    licet_status status;

    LIC_TRY(require_watchable(engine, error));
    LIC_TRY(pin_place(engine, request, snapshot, is_there, error));
    status = require_watchable(engine, error); /* it may have come to that meanwhile */
    if (status == LICET_OK && lic_str_given(request->since) &&
        !engine->store->methods->keeps(engine->store, snapshot, snapshot->revision))
        status = fail_expired(error);
    if (status != LICET_OK)
        lic_engine_unpin(snapshot);
done:
    return status;
}

static licet_status keep_types(watching *w, const licet_watch_request *request, licet_error **error)
{
    uint32_t found;

    w->type_names = lic_new_array(&w->arena, request->resource_type_count, lic_str);
    if (w->type_names == NULL)
        return lic_fail_memory(error);
    for (uint32_t i = 0; i < request->resource_type_count; i++) {
        lic_str name = lic_arena_str(&w->arena, request->resource_types[i]);

        if (!lic_str_given(name) || !lic_map_add(&w->types, name, i, &found))
            return lic_fail_memory(error);
        w->type_names[w->type_count++] = name;
    }
    return LICET_OK;
}

static bool copy_str(lic_arena *arena, lic_str *s)
{
    if (!lic_str_given(*s))
        return true;
    *s = lic_arena_str(arena, *s);
    return lic_str_given(*s);
}

/* SpiceDB: in a watch, an empty relation of the subject lets those with a relation pass too. */
static licet_status compile_filter(watching *w, const lic_program *program, const licet_filter *filter,
                                   lic_filter *compiled, licet_error **error)
{
    const licet_filter meant  = lic_filter_meant(filter, w->base.engine->strict);
    licet_status       status = lic_filter_compile(program, &meant, LIC_FILTER_WATCH, compiled, error);

    if (status != LICET_OK)
        return status;
    if (meant.subject_relation.size == 0)
        compiled->subject_slot = LIC_NO_SLOT;
    if (copy_str(&w->arena, &compiled->relation) && copy_str(&w->arena, &compiled->resource_id) &&
        copy_str(&w->arena, &compiled->resource_id_prefix) && copy_str(&w->arena, &compiled->subject_id))
        return LICET_OK;
    return lic_fail_memory(error);
}

static licet_status keep_filters(watching *w, const lic_program *program, const licet_watch_request *request,
                                 licet_error **error)
{
    licet_status status = LICET_OK;

    w->filters = lic_new_array(&w->arena, request->filter_count, lic_filter);
    if (w->filters == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < request->filter_count && status == LICET_OK; i++)
        status = compile_filter(w, program, &request->filters[i], &w->filters[i], error);
    w->filter_count = request->filter_count;
    return status;
}

/* Those that filters let pass, if all name one. */
static licet_status keep_filtered_types(watching *w, licet_error **error)
{
    const lic_names *names = w->base.engine->names;

    for (size_t i = 0; i < w->filter_count; i++) {
        if (w->filters[i].resource_type == LIC_NO_TYPE)
            return LICET_OK;
    }
    w->type_names = lic_new_array(&w->arena, w->filter_count, lic_str);
    if (w->type_names == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < w->filter_count; i++)
        w->type_names[w->type_count++] = lic_names_type_name(names, w->filters[i].resource_type);
    return LICET_OK;
}

static licet_status read_gap(watching *w, const licet_watch_request *request, const lic_snapshot *snapshot,
                             licet_error **error)
{
    lic_store         *store  = w->base.engine->store;
    const lic_row_test test   = row_test(w);
    licet_status       status = store->methods->difference(store, request->since, snapshot, &test, &w->gap.arena,
                                                           &w->gap.difference, &w->gap.schema_changed, error);

    w->gap.is_open = status == LICET_OK;
    return status;
}

/* What the request has, once its revision is pinned; the gap last, which is read by it. */
static licet_status keep_request(watching *w, const licet_watch_request *request, const lic_snapshot *snapshot,
                                 bool is_there, licet_error **error)
{
    licet_status status;

    w->base.revision = snapshot->revision;
    LIC_TRY(keep_filters(w, lic_engine_program(w->base.engine, snapshot), request, error));
    if (w->filter_count > 0)
        LIC_TRY(keep_filtered_types(w, error));
    else
        LIC_TRY(keep_types(w, request, error));
    if (!is_there)
        LIC_TRY(read_gap(w, request, snapshot, error));
done:
    return status;
}

static licet_status watching_fill(watching *w, const licet_watch_request *request, licet_error **error)
{
    lic_snapshot snapshot;
    bool         is_there;
    licet_status status = pin(w->base.engine, request, &snapshot, &is_there, error);

    if (status != LICET_OK)
        return status;
    status = keep_request(w, request, &snapshot, is_there, error);
    lic_engine_unpin(&snapshot);
    if (status != LICET_OK)
        return status;
    if (lic_str_given(request->since)) /* it was read, so it has room */
        memcpy(w->place.text, request->since.data, request->since.size);
    else
        note_place(w, &w->place);
    return LICET_OK;
}

static void end_watching(licet_stream *stream)
{
    watching *w = (watching *)stream;

    lic_map_free(&w->types);
    lic_arena_free(&w->told);
    lic_arena_free(&w->gap.arena);
    lic_arena_free(&w->arena);
}

static const lic_stream_methods methods = { LIC_STREAM_CHANGES, NULL, NULL, end_watching };

static licet_status watching_new(licet_engine *engine, const licet_watch_request *request, licet_stream **out,
                                 licet_error **error)
{
    watching    *w = lic_stream_new(engine, &methods, sizeof *w);
    licet_status status;

    if (w == NULL)
        return lic_fail_memory(error);
    w->base.token = token_of_place;
    w->kinds      = request->kinds;
    lic_arena_init(&w->arena, engine->memory);
    lic_arena_init(&w->told, engine->memory);
    lic_arena_init(&w->gap.arena, engine->memory);
    lic_map_init(&w->types, engine->memory, lic_random_key());
    status = watching_fill(w, request, error);
    if (status == LICET_OK)
        *out = &w->base;
    else
        licet_stream_release(&w->base);
    return status;
}

licet_status licet_watch(licet_engine *engine, const licet_watch_request *request, licet_stream **stream,
                         licet_error **error)
{
    lic_call     call;
    licet_status status;

    status = lic_stream_begin(engine, LIC_RECORD_KNOWN(request), stream, &call, error);
    if (status != LICET_OK)
        return status;
    status = shape_check(request, engine->strict, error);
    if (status == LICET_OK)
        status = watching_new(engine, request, stream, error);
    lic_engine_leave(&call);
    return status;
}
