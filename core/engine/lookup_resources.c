/* Which resources: a stream that keeps the plan of where its answers are, and fetches page after page of them at its
 * revision. */
#include "datastore/context.h"
#include "datastore/object.h"
#include "datastore/typing.h"
#include "engine/context.h"
#include "engine/paging.h"
#include "engine/stream.h"
#include "eval/lookup_resources.h"

/* Pages grow, so that who wants a few answers pays for few, and who wants all does not begin again and again. */
#define FIRST_PAGE 64u
#define LAST_PAGE 16384u

/* Enough for the checks of a page of the common kind. */
#define SCRATCH_BYTES 4096

typedef struct lookup {
    licet_stream              base;
    lic_arena                 arena; /* all that the stream keeps between pages */
    lic_rel                   target;
    lic_type                  type; /* of the resources */
    uint32_t                  subject_definition;
    lic_ref                   subject;
    lic_str                   subject_id; /* the id of LIC_NO_NODE: where it is an answer, nobody else is unknown */
    lic_context_values        own_values;
    const lic_context_values *values;
    lic_moment                moment; /* one for the whole stream */
    bool                      is_planned;
    lic_resource_plan         plan;
    bool                      without_conditional;
    uint64_t                  left; /* of the limit; UINT64_MAX: there is none */
    lic_arena                 page_arena;
    lic_resource_page         page;
    size_t                    next;      /* in the page */
    size_t                    page_size; /* of the next one */
    lic_paging                paging;
} lookup;

/* --------------------------------------------------------- requests and names */

static licet_status subject_check(lic_str text, licet_error **error)
{
    lic_object   subject;
    licet_status status = lic_subject_check("subject", text, error);

    if (status == LICET_OK && lic_subject_split(text, &subject) && lic_str_given(subject.relation) &&
        lic_str_equal(subject.id, LIC_STR("*")))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "subject: the wildcard subject can not have a relation");
    return status;
}

static licet_status shapes_check(const licet_lookup_resources_request *request, licet_error **error)
{
    licet_status status;

    LIC_TRY(lic_type_check("resource_type", request->resource_type, error));
    LIC_TRY(lic_relation_check("permission", request->permission, error));
    LIC_TRY(subject_check(request->subject, error));
    LIC_TRY(lic_paging_limit_check(request->limit, error));
done:
    return status;
}

static licet_status find_subject(lookup *l, const lic_program *program, const lic_object *subject, licet_error **error)
{
    lic_rel      relation;
    licet_status status;

    LIC_TRY(lic_find_definition(program, subject->type, &l->subject_definition, error));
    l->subject.slot = program->definitions[l->subject_definition].ellipsis;
    if (lic_str_given(subject->relation)) {
        LIC_TRY(lic_find_relation(program, l->subject_definition, subject->relation, &relation, error));
        l->subject.slot = program->relations[relation].slot;
    }
    if (lic_str_equal(subject->id, LIC_STR("*")))
        status = lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "WILDCARD_NOT_ALLOWED", LIC_NOWHERE,
                                 "subject: a lookup can not be about the wildcard");
done:
    return status;
}

/* The names and the subject's id as numbers. */
static licet_status resolve(lookup *l, const lic_snapshot *snapshot, const licet_lookup_resources_request *request,
                            licet_error **error)
{
    const lic_program *program = lic_engine_program(l->base.engine, snapshot);
    lic_object         subject = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uint32_t           definition;
    licet_status       status;

    lic_subject_split(request->subject, &subject);
    LIC_TRY(lic_find_definition(program, request->resource_type, &definition, error));
    LIC_TRY(lic_find_relation(program, definition, request->permission, &l->target, error));
    LIC_TRY(find_subject(l, program, &subject, error));
    l->type         = program->definitions[definition].type;
    l->subject.node = lic_snapshot_find_node(snapshot, program->definitions[l->subject_definition].type, subject.id);
    if (l->subject.node == LIC_NO_NODE) {
        l->subject_id = lic_arena_str(&l->arena, subject.id);
        if (!lic_str_given(l->subject_id))
            status = lic_fail_memory(error);
    }
done:
    return status;
}

/* -------------------------------------------------------------------- cursors */

/* A cursor is bound to everything else. Of the context it is the values, however they were given. */
static licet_status pin(lookup *l, const licet_lookup_resources_request *request, lic_snapshot *snapshot,
                        licet_error **error)
{
    const lic_need need = { .kind          = LIC_NEED_RESOURCES,
                            .resource_type = request->resource_type,
                            .permission    = request->permission,
                            .subject       = request->subject };
    lic_text       bound;

    lic_text_init(&bound, l->base.engine->memory);
    if (request->without_conditional)
        lic_text_add_literal(&bound, "certain ");
    lic_text_add_literal(&bound, "resources ");
    lic_paging_bind(&bound, request->resource_type);
    lic_paging_bind(&bound, request->permission);
    lic_paging_bind(&bound, request->subject);
    lic_paging_bind_rest(&bound, &request->consistency, request->limit);
    bound.failed |= !lic_context_print_values(l->values, &bound);
    return lic_paging_pin(&l->paging, l->base.engine, &request->consistency, &need, request->cursor, &bound, snapshot,
                          error);
}

static licet_str cursor_of(licet_stream *stream)
{
    return lic_paging_cursor(&((lookup *)stream)->paging, stream->engine);
}

/* ---------------------------------------------------------------------- pages */

static void forget_page(lookup *l)
{
    lic_arena_free(&l->page_arena);
    l->page = (lic_resource_page){ NULL, 0, false };
    l->next = 0;
}

/* A page at the stream's revision, behind its place. */
static licet_status read_page(lookup *l, const lic_snapshot *snapshot, licet_error **error)
{
    LIC_UNINITIALIZED char     scratch[SCRATCH_BYTES];
    const licet_engine        *engine = l->base.engine;
    const uint64_t             from   = l->paging.has_place ? (uint64_t)l->paging.place.after.resource.node + 1 : 0;
    const size_t               wanted = l->page_size < l->left ? l->page_size : (size_t)l->left;
    LIC_UNINITIALIZED lic_eval eval;
    lic_arena                  arena;
    licet_status               status = LICET_OK;

    lic_arena_init_with(&arena, engine->memory, scratch, sizeof scratch);
    lic_eval_init(&eval, lic_engine_program(engine, snapshot), snapshot, &arena, &engine->limits);
    lic_eval_subject(&eval, l->subject_definition, l->subject);
    eval.moment  = &l->moment;
    eval.context = l->values;
    eval.strict  = engine->strict;
    if (!l->is_planned)
        status = lic_resources_plan(&eval, l->target, &l->arena, &l->plan, error);
    l->is_planned = status == LICET_OK;
    if (status == LICET_OK)
        status = lic_resources_page(&eval, l->target, &l->plan, from, wanted, &l->page_arena, &l->page, error);
    lic_arena_free(&arena);
    return lic_engine_end_moment(&l->moment, status, error);
}

static bool is_wanted(const lookup *l, const lic_resource_answer *answer)
{
    return !answer->conditional || !l->without_conditional;
}

/* How many of the page will be given out: what the limit counts. */
static size_t count_wanted(const lookup *l)
{
    size_t count = 0;

    for (size_t i = 0; i < l->page.count; i++)
        count += is_wanted(l, &l->page.answers[i]);
    return count;
}

static licet_status fetch(lookup *l, licet_error **error)
{
    lic_snapshot snapshot;
    licet_status status = lic_stream_pin(&l->base, &snapshot, error);

    if (status != LICET_OK)
        return status;
    forget_page(l);
    status = read_page(l, &snapshot, error);
    lic_engine_unpin(&snapshot);
    if (status != LICET_OK) {
        forget_page(l);
        return status;
    }
    if (l->left != UINT64_MAX)
        l->left -= count_wanted(l);
    l->page.is_last = l->page.is_last || l->left == 0;
    l->page_size    = l->page_size < LAST_PAGE ? l->page_size * 2 : LAST_PAGE;
    return LICET_OK;
}

/* The next of the page to be given out, or NULL. The place moves past what is left out too: pages begin behind it. */
static const lic_resource_answer *take_from_page(lookup *l)
{
    while (l->next < l->page.count) {
        const lic_resource_answer *answer = &l->page.answers[l->next++];

        l->paging.place.after.resource = (lic_ref){ 0, answer->node };
        l->paging.has_place            = true;
        if (is_wanted(l, answer))
            return answer;
    }
    return NULL;
}

static licet_status next_resource(licet_stream *stream, void *record, bool *found, licet_error **error)
{
    lookup                    *l        = (lookup *)stream;
    licet_found_resource      *resource = record;
    const lic_resource_answer *answer;
    licet_status               status;

    while ((answer = take_from_page(l)) == NULL && !l->page.is_last) {
        status = fetch(l, error);
        if (status != LICET_OK)
            return status;
    }
    if (answer == NULL)
        return LICET_OK;
    resource->resource_id    = answer->node == LIC_NO_NODE
                                   ? l->subject_id
                                   : lic_graph_node_id(lic_stream_graph(stream), l->type, answer->node);
    resource->permissionship = answer->conditional ? LICET_CONDITIONAL_PERMISSION : LICET_HAS_PERMISSION;
    resource->missing        = answer->missing.names;
    resource->missing_count  = answer->missing.count;
    *found                   = true;
    return LICET_OK;
}

static void end_lookup(licet_stream *stream)
{
    lookup *l = (lookup *)stream;

    lic_arena_free(&l->page_arena);
    lic_arena_free(&l->arena);
}

static const lic_stream_methods methods = { LIC_STREAM_RESOURCES, next_resource, cursor_of, end_lookup };

/* ------------------------------------------------------------------ beginning */

static licet_status read_context(lookup *l, const licet_lookup_resources_request *request, size_t *wire_bytes,
                                 licet_error **error)
{
    licet_check_request asked = LICET_CHECK_REQUEST_INIT;

    asked.context          = request->context;
    asked.prepared_context = request->prepared_context;
    l->values              = &l->own_values;
    return lic_request_context_read("", &asked, l->base.engine->strict, &l->arena, &l->own_values, wire_bytes, error);
}

/* In the order of errors: the context's own, revision, size of the context, names (api.md 3). */
static licet_status fill(lookup *l, const licet_lookup_resources_request *request, licet_error **error)
{
    lic_snapshot snapshot;
    size_t       wire_bytes;
    licet_status status;

    LIC_TRY(read_context(l, request, &wire_bytes, error));
    LIC_TRY(pin(l, request, &snapshot, error));
    lic_stream_keep(&l->base, &snapshot);
    status = lic_context_size_check("", wire_bytes, error);
    if (status == LICET_OK)
        status = resolve(l, &snapshot, request, error);
    lic_engine_unpin(&snapshot);
done:
    return status;
}

static licet_status lookup_new(licet_engine *engine, const licet_lookup_resources_request *request, licet_stream **out,
                               licet_error **error)
{
    lookup      *l = lic_stream_new(engine, &methods, sizeof *l);
    licet_status status;

    if (l == NULL)
        return lic_fail_memory(error);
    l->without_conditional = request->without_conditional;
    l->left                = request->limit == 0 ? UINT64_MAX : request->limit;
    l->page_size           = FIRST_PAGE;
    lic_engine_begin_moment(engine, &l->moment);
    lic_arena_init(&l->arena, engine->memory);
    lic_arena_init(&l->page_arena, engine->memory);
    status = fill(l, request, error);
    if (status == LICET_OK)
        *out = &l->base;
    else
        licet_stream_release(&l->base);
    return status;
}

static licet_status lookup_resources(licet_engine *engine, const licet_lookup_resources_request *request,
                                     licet_stream **stream, licet_error **error)
{
    licet_check_request asked = LICET_CHECK_REQUEST_INIT;
    licet_status        status;

    asked.context          = request->context;
    asked.prepared_context = request->prepared_context;
    status                 = lic_request_context_check(&asked, error);
    if (status == LICET_OK)
        status = shapes_check(request, error);
    return status == LICET_OK ? lookup_new(engine, request, stream, error) : status;
}

licet_status licet_lookup_resources(licet_engine *engine, const licet_lookup_resources_request *request,
                                    licet_stream **stream, licet_error **error)
{
    lic_call     call;
    licet_status status;

    status = lic_stream_begin(engine, LIC_RECORD_KNOWN(request), stream, &call, error);
    if (status != LICET_OK)
        return status;
    status = lookup_resources(engine, request, stream, error);
    lic_engine_leave(&call);
    return status;
}
