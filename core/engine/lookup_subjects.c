/* Which subjects: a stream that finds its whole answer, or as much of it as the limit lets through, when it is first
 * asked. Whether a subject is in can depend on everything that the question leads to, so a smaller part would be no
 * less work; what is kept of each subject is two numbers. */
#include "datastore/context.h"
#include "datastore/object.h"
#include "datastore/typing.h"
#include "engine/context.h"
#include "engine/paging.h"
#include "engine/stream.h"
#include "eval/lookup_subjects.h"

#define TIMEOUT_MS 30000u /* SpiceDB: of a streaming call */

typedef struct lookup {
    licet_stream            base;
    lic_arena               arena; /* all that the stream keeps */
    lic_rel                 relation;
    uint32_t                node;        /* of the resource */
    lic_str                 resource_id; /* the id of LIC_NO_NODE, which only the resource can be */
    bool                    is_nobody;   /* the resource is "*" */
    uint32_t                subject_definition;
    lic_type                subject_type;
    lic_slot                subject_slot;
    lic_lookup_page         page;
    lic_context_values      values;
    bool                    is_found;
    lic_lookup_answer       answer;
    licet_excluded_subject *excluded; /* answer.exclusions, as they are given out */
    size_t                  next;
    lic_paging              paging;
} lookup;

/* --------------------------------------------------------- requests and names */

static licet_status shapes_check(const licet_lookup_subjects_request *request, licet_error **error)
{
    licet_status status;

    LIC_TRY(lic_object_check("resource", request->resource, true, error));
    LIC_TRY(lic_relation_check("permission", request->permission, error));
    LIC_TRY(lic_type_check("subject_type", request->subject_type, error));
    if (lic_str_given(request->subject_relation))
        LIC_TRY(lic_relation_check("subject_relation", request->subject_relation, error));
    LIC_TRY(lic_paging_limit_check(request->limit, error));
done:
    return status;
}

static licet_status find_slot(lookup *l, const lic_program *program, const licet_lookup_subjects_request *request,
                              licet_error **error)
{
    lic_rel      relation;
    licet_status status;

    LIC_TRY(lic_find_definition(program, request->subject_type, &l->subject_definition, error));
    l->subject_type = program->definitions[l->subject_definition].type;
    l->subject_slot = program->definitions[l->subject_definition].ellipsis;
    if (!lic_str_given(request->subject_relation))
        return LICET_OK;
    LIC_TRY(lic_find_relation(program, l->subject_definition, request->subject_relation, &relation, error));
    l->subject_slot = program->relations[relation].slot;
done:
    return status;
}

/* The names and the resource's id as numbers. */
static licet_status resolve(lookup *l, const lic_snapshot *snapshot, const licet_lookup_subjects_request *request,
                            licet_error **error)
{
    const lic_program *program  = lic_engine_program(l->base.engine, snapshot);
    lic_object         resource = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uint32_t           definition;
    licet_status       status;

    lic_object_split(request->resource, &resource);
    LIC_TRY(lic_find_definition(program, resource.type, &definition, error));
    LIC_TRY(lic_find_relation(program, definition, request->permission, &l->relation, error));
    LIC_TRY(find_slot(l, program, request, error));
    l->node      = lic_snapshot_find_node(snapshot, program->definitions[definition].type, resource.id);
    l->is_nobody = l->node == LIC_WILDCARD_NODE;
    if (l->node == LIC_NO_NODE) {
        l->resource_id = lic_arena_str(&l->arena, resource.id);
        if (!lic_str_given(l->resource_id))
            status = lic_fail_memory(error);
    }
done:
    return status;
}

/* -------------------------------------------------------------------- cursors */

/* A cursor is bound to everything else. Of the context it is the values, however they were given. */
static licet_status pin(lookup *l, const licet_lookup_subjects_request *request, lic_snapshot *snapshot,
                        licet_error **error)
{
    const lic_need need = { .kind             = LIC_NEED_SUBJECTS,
                            .resource         = request->resource,
                            .permission       = request->permission,
                            .subject_type     = request->subject_type,
                            .subject_relation = request->subject_relation };
    lic_text       bound;
    licet_status   status;

    lic_text_init(&bound, l->base.engine->memory);
    if (request->without_conditional)
        lic_text_add_literal(&bound, "certain ");
    lic_text_add_literal(&bound, "subjects ");
    lic_paging_bind(&bound, request->resource);
    lic_paging_bind(&bound, request->permission);
    lic_paging_bind(&bound, request->subject_type);
    lic_paging_bind(&bound, request->subject_relation);
    lic_text_add_char(&bound, request->without_wildcards ? 'w' : ',');
    lic_paging_bind_rest(&bound, &request->consistency, request->limit);
    bound.failed |= !lic_context_print_values(&l->values, &bound);
    status = lic_paging_pin(&l->paging, l->base.engine, &request->consistency, &need, request->cursor, &bound, snapshot,
                            error);
    if (status == LICET_OK && l->paging.has_place)
        l->page.from = (uint64_t)l->paging.place.after.subject.node + 1;
    return status;
}

static licet_str cursor_of(licet_stream *stream)
{
    return lic_paging_cursor(&((lookup *)stream)->paging, stream->engine);
}

/* -------------------------------------------------------------------- answers */

static lic_str id_of(const lookup *l, uint32_t node)
{
    return node == LIC_NO_NODE ? l->resource_id : lic_graph_node_id(lic_stream_graph(&l->base), l->subject_type, node);
}

static licet_permissionship permissionship_of(const lic_looked_up *subject)
{
    return subject->missing == 0 ? LICET_HAS_PERMISSION : LICET_CONDITIONAL_PERMISSION;
}

static licet_status list_excluded(lookup *l, licet_error **error)
{
    l->excluded = lic_new_array(&l->arena, l->answer.exclusion_count, licet_excluded_subject);
    if (l->excluded == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < l->answer.exclusion_count; i++) {
        const lic_looked_up     *exclusion = &l->answer.exclusions[i];
        const lic_missing_names *missing   = &l->answer.missing[exclusion->missing];

        l->excluded[i] = (licet_excluded_subject){ .subject_id     = id_of(l, exclusion->node),
                                                   .permissionship = permissionship_of(exclusion),
                                                   .missing        = missing->names,
                                                   .missing_count  = missing->count };
    }
    return LICET_OK;
}

static licet_status find_at(lookup *l, const lic_snapshot *snapshot, licet_error **error)
{
    const licet_engine *engine = l->base.engine;
    lic_moment          moment;
    lic_arena           arena;
    lic_eval            eval;
    licet_status        status;

    lic_arena_init(&arena, engine->memory);
    lic_eval_init(&eval, lic_engine_program(engine, snapshot), snapshot, &arena, &engine->limits);
    lic_eval_subject(&eval, l->subject_definition, (lic_ref){ l->subject_slot, LIC_NO_NODE });
    lic_engine_begin_moment(engine, &moment);
    eval.moment  = &moment;
    eval.context = &l->values;
    eval.strict  = engine->strict;
    status       = lic_lookup_subjects(&eval, l->relation, l->node, TIMEOUT_MS, &l->page, &l->arena, &l->answer, error);
    lic_arena_free(&arena);
    return lic_engine_end_moment(&moment, status, error);
}

static licet_status find(lookup *l, licet_error **error)
{
    lic_snapshot snapshot;
    licet_status status = lic_stream_pin(&l->base, &snapshot, error);

    if (status != LICET_OK)
        return status;
    if (!l->is_nobody)
        status = find_at(l, &snapshot, error);
    lic_engine_unpin(&snapshot);
    if (status == LICET_OK)
        status = list_excluded(l, error);
    if (status != LICET_OK)
        l->answer = (lic_lookup_answer){ .count = 0 };
    l->is_found = status == LICET_OK;
    return status;
}

static licet_status next_subject(licet_stream *stream, void *record, bool *found, licet_error **error)
{
    lookup                  *l       = (lookup *)stream;
    licet_found_subject     *subject = record;
    const lic_looked_up     *looked_up;
    const lic_missing_names *missing;
    licet_status             status;

    if (!l->is_found) {
        status = find(l, error);
        if (status != LICET_OK)
            return status;
    }
    if (l->next == l->answer.count)
        return LICET_OK;
    looked_up               = &l->answer.subjects[l->next++];
    missing                 = &l->answer.missing[looked_up->missing];
    subject->subject_id     = id_of(l, looked_up->node);
    subject->permissionship = permissionship_of(looked_up);
    subject->missing        = missing->names;
    subject->missing_count  = missing->count;
    if (looked_up->node == LIC_WILDCARD_NODE) {
        subject->excluded       = l->excluded;
        subject->excluded_count = l->answer.exclusion_count;
    }
    l->paging.place.after.subject = (lic_ref){ l->subject_slot, looked_up->node };
    l->paging.has_place           = true;
    *found                        = true;
    return LICET_OK;
}

static void end_lookup(licet_stream *stream)
{
    lic_arena_free(&((lookup *)stream)->arena);
}

static const lic_stream_methods methods = { LIC_STREAM_SUBJECTS, next_subject, cursor_of, end_lookup };

/* ------------------------------------------------------------------ beginning */

/* Of the request of a lookup, what a check's request says in the same way. */
static licet_check_request context_of(const licet_lookup_subjects_request *request)
{
    licet_check_request asked = LICET_CHECK_REQUEST_INIT;

    asked.context          = request->context;
    asked.prepared_context = request->prepared_context;
    return asked;
}

/* In the order of errors: the context's own, revision, size of the context, names (api.md 3). */
static licet_status fill(lookup *l, const licet_lookup_subjects_request *request, licet_error **error)
{
    const licet_check_request asked    = context_of(request);
    lic_snapshot              snapshot = { .graph = NULL };
    size_t                    wire_bytes;
    licet_status              status;

    LIC_TRY(lic_request_context_read("", &asked, l->base.engine->strict, &l->arena, &l->values, &wire_bytes, error));
    LIC_TRY(pin(l, request, &snapshot, error));
    lic_stream_keep(&l->base, &snapshot);
    status = lic_context_size_check("", wire_bytes, error);
    if (status == LICET_OK)
        status = resolve(l, &snapshot, request, error);
    lic_engine_unpin(&snapshot);
done:
    return status;
}

static licet_status lookup_new(licet_engine *engine, const licet_lookup_subjects_request *request, licet_stream **out,
                               licet_error **error)
{
    lookup      *l = lic_stream_new(engine, &methods, sizeof *l);
    licet_status status;

    if (l == NULL)
        return lic_fail_memory(error);
    l->page = (lic_lookup_page){ .from                = 0,
                                 .limit               = request->limit == 0 ? UINT64_MAX : request->limit,
                                 .without_wildcard    = request->without_wildcards,
                                 .without_conditional = request->without_conditional };
    lic_arena_init(&l->arena, engine->memory);
    status = fill(l, request, error);
    if (status == LICET_OK)
        *out = &l->base;
    else
        licet_stream_release(&l->base);
    return status;
}

licet_status licet_lookup_subjects(licet_engine *engine, const licet_lookup_subjects_request *request,
                                   licet_stream **stream, licet_error **error)
{
    licet_check_request asked;
    lic_call            call;
    licet_status        status;

    status = lic_stream_begin(engine, LIC_RECORD_KNOWN(request), stream, &call, error);
    if (status != LICET_OK)
        return status;
    asked = context_of(request);
    LIC_TRY(lic_request_context_check(&asked, error));
    LIC_TRY(shapes_check(request, error));
    status = lookup_new(engine, request, stream, error);
done:
    lic_engine_leave(&call);
    return status;
}
