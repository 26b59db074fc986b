/* Explaining: asks, and puts the steps into words, ids and values. */
#include "eval/explain.h"

#include <stdlib.h>

#include "datastore/context.h"
#include "datastore/datastore.h"
#include "datastore/object.h"
#include "datastore/relationship.h"
#include "engine/question.h"
#include "engine/trace.h"

/* A trace in the making. */
typedef struct telling {
    licet_trace               *trace;
    const licet_check_request *request;
    const lic_context_values  *values; /* the request's; NULL: none */
    const lic_program         *program;
    const lic_snapshot        *snapshot;
} telling;

static lic_str name_of_kind(lic_step_kind kind)
{
    static const licet_str names[] = {
        [LIC_STEP_RELATION]     = LICET_STR_INIT("relation"),
        [LIC_STEP_UNION]        = LICET_STR_INIT("union"),
        [LIC_STEP_EXCLUSION]    = LICET_STR_INIT("exclusion"),
        [LIC_STEP_INTERSECTION] = LICET_STR_INIT("intersection"),
        [LIC_STEP_ARROW_ANY]    = LICET_STR_INIT("any"),
        [LIC_STEP_ARROW_ALL]    = LICET_STR_INIT("all"),
        [LIC_STEP_ROW]          = LICET_STR_INIT("relationship"),
        [LIC_STEP_WILDCARD]     = LICET_STR_INIT("wildcard"),
        [LIC_STEP_IDENTITY]     = LICET_STR_INIT("identity"),
        [LIC_STEP_SELF]         = LICET_STR_INIT("self"),
        [LIC_STEP_NIL]          = LICET_STR_INIT("nil"),
        [LIC_STEP_CYCLE]        = LICET_STR_INIT("cycle"),
        [LIC_STEP_SEEN]         = LICET_STR_INIT("seen"),
    };

    return names[kind];
}

/* Moves a text into the trace. false: out of memory. */
static bool keep_text(const telling *t, lic_text *text, lic_str *kept)
{
    *kept =
        text->failed || text->size == 0 ? (lic_str){ NULL, 0 } : lic_arena_str(&t->trace->arena, lic_text_str(text));
    return !text->failed && (text->size == 0 || lic_str_given(*kept));
}

static bool keep_str(const telling *t, lic_str text, lic_str *kept)
{
    *kept = text.size == 0 ? (lic_str){ NULL, 0 } : lic_arena_str(&t->trace->arena, text);
    return text.size == 0 || lic_str_given(*kept);
}

/* The number of an id that occurs nowhere is only that of the request's resource: nothing leads to it. */
static lic_str id_of(const telling *t, lic_type type, uint32_t node)
{
    lic_object resource = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };

    if (node != LIC_NO_NODE && node != LIC_OTHER_NODE)
        return lic_graph_node_id(t->snapshot->graph, type, node);
    lic_object_split(t->request->resource, &resource);
    return resource.id;
}

static bool tell_resource(const telling *t, const lic_step *step, licet_trace_node *node)
{
    const lic_relation   *relation   = &t->program->relations[step->relation];
    const lic_definition *definition = &t->program->definitions[relation->definition];
    lic_text              text;
    bool                  kept;

    lic_text_init(&text, t->trace->engine->memory);
    lic_text_add(&text, definition->name);
    lic_text_add_char(&text, ':');
    lic_text_add(&text, id_of(t, definition->type, step->node));
    kept = keep_text(t, &text, &node->resource) && keep_str(t, relation->name, &node->permission);
    lic_text_free(&text);
    node->is_permission = relation->is_permission;
    return kept;
}

/* The relationship that leads here, as text. */
static bool tell_row(const telling *t, const lic_step *step, licet_trace_node *node)
{
    const lic_names     *names     = t->trace->engine->names;
    const lic_attribute *attribute = lic_graph_attribute(t->snapshot->graph, step->attribute);
    const lic_type       subject   = lic_names_type_of(names, step->row.subject.slot);
    lic_row              row       = { .edge = step->row };
    licet_relationship   relationship;
    lic_text             text;
    bool                 kept;

    row.resource_id = id_of(t, lic_names_type_of(names, step->row.resource.slot), step->row.resource.node);
    row.subject_id  = lic_graph_node_id(t->snapshot->graph, subject, step->row.subject.node);
    if (attribute != NULL && (row.attribute = lic_row_attribute_new(&t->trace->arena, attribute)) == NULL)
        return false;
    lic_row_relationship(names, &row, &relationship);
    lic_text_init(&text, t->trace->engine->memory);
    kept = lic_relationship_print(&relationship, &text, NULL) == LICET_OK && keep_text(t, &text, &node->relationship);
    lic_text_free(&text);
    return kept;
}

static int compare_entries(const void *a, const void *b)
{
    return lic_str_compare(((const lic_cel_entry *)a)->key.text, ((const lic_cel_entry *)b)->key.text);
}

/* The values that the caveat's parameters get: the relationship's before the request's. */
static bool tell_values(const telling *t, const lic_caveat *caveat, const lic_context *stored, licet_trace_node *node)
{
    lic_cel_entry *entries = lic_new_array(&t->trace->arena, caveat->parameter_count, lic_cel_entry);
    size_t         count   = 0;
    lic_text       text;
    bool           kept;

    if (entries == NULL && caveat->parameter_count > 0)
        return false;
    for (size_t i = 0; i < caveat->parameter_count; i++) {
        const lic_str        name  = caveat->parameters[i].name;
        const lic_cel_value *value = stored == NULL ? NULL : lic_context_find(&stored->values, name);

        if (value == NULL && t->values != NULL)
            value = lic_context_find(t->values, name);
        if (value == NULL)
            continue;
        entries[count]            = (lic_cel_entry){ .value = *value };
        entries[count].key.kind   = LIC_CEL_STRING;
        entries[count++].key.text = name;
    }
    if (count > 1)
        qsort(entries, count, sizeof *entries, compare_entries);
    lic_text_init(&text, t->trace->engine->memory);
    lic_context_print_values(&(lic_context_values){ entries, count }, &text);
    if (text.size == 0)
        lic_text_add_literal(&text, "{}");
    kept = keep_text(t, &text, &node->caveat_context);
    lic_text_free(&text);
    return kept;
}

static bool tell_caveat(const telling *t, const lic_step *step, licet_trace_node *node)
{
    const lic_attribute *attribute = lic_graph_attribute(t->snapshot->graph, step->attribute);
    uint32_t             number;
    const lic_caveat    *caveat;

    if (attribute == NULL)
        return true;
    number = lic_program_numbered_caveat(t->program, attribute->caveat);
    if (number == LIC_NO_CAVEAT)
        return true;
    caveat = &t->program->caveats[number];
    return keep_str(t, caveat->name, &node->caveat_name) &&
           keep_str(t, lic_str_trim(caveat->body), &node->caveat_expression) &&
           tell_values(t, caveat, lic_attribute_context(attribute), node);
}

static bool tell_missing(const telling *t, const lic_step *step, licet_trace_node *node)
{
    lic_str *names = lic_new_array(&t->trace->arena, step->missing.count, lic_str);

    if (names == NULL && step->missing.count > 0)
        return false;
    for (size_t i = 0; i < step->missing.count; i++)
        if (!keep_str(t, step->missing.names[i], &names[i]))
            return false;
    node->missing       = names;
    node->missing_count = step->missing.count;
    return true;
}

/* The operator's text: an arrow as it is written. */
static bool tell_operator(const telling *t, const lic_step *step, licet_trace_node *node)
{
    const lic_op *op = &t->program->ops[step->op];
    lic_text      text;
    bool          kept;

    if (step->kind != LIC_STEP_ARROW_ANY && step->kind != LIC_STEP_ARROW_ALL)
        return true;
    lic_text_init(&text, t->trace->engine->memory);
    lic_text_add(&text, t->program->relations[op->relation].name);
    lic_text_add(&text, step->kind == LIC_STEP_ARROW_ALL ? LIC_STR(".all(") : LIC_STR("->"));
    if (op->count > 0)
        lic_text_add(&text, t->program->relations[t->program->targets[op->first].relation].name);
    if (step->kind == LIC_STEP_ARROW_ALL)
        lic_text_add_char(&text, ')');
    kept = keep_text(t, &text, &node->operand);
    lic_text_free(&text);
    return kept;
}

static bool tell_step(const telling *t, const lic_step *step, licet_trace_node *node)
{
    static const licet_permissionship answers[] = {
        [LIC_NO] = LICET_NO_PERMISSION, [LIC_YES] = LICET_HAS_PERMISSION, [LIC_IF] = LICET_CONDITIONAL_PERMISSION
    };

    *node                = (licet_trace_node)LICET_TRACE_NODE_INIT;
    node->permissionship = step->status == LICET_OK ? answers[step->value] : LICET_NO_PERMISSION;
    node->status         = step->status;
    node->reason         = name_of_kind(step->kind);
    node->is_cut         = step->is_cut;
    node->first_child    = step->count == 0 ? 0 : step->first;
    node->child_count    = step->count;
    return tell_resource(t, step, node) && tell_operator(t, step, node) && tell_missing(t, step, node) &&
           (!step->has_row || (tell_row(t, step, node) && tell_caveat(t, step, node)));
}

static bool tell(const telling *t, const lic_steps *steps)
{
    licet_trace *trace = t->trace;

    trace->nodes = lic_new_array(&trace->arena, steps->count, licet_trace_node);
    if (trace->nodes == NULL)
        return false;
    for (size_t i = 0; i < steps->count; i++)
        if (!tell_step(t, &steps->items[i], &trace->nodes[i]))
            return false;
    trace->count = steps->count;
    lic_engine_token(trace->engine, t->snapshot->revision, &trace->token);
    return true;
}

/* ----------------------------------------------------------------- asking */

/* Status and error are the check's; the trace is there whenever memory was. */
static licet_status explain_question(telling *t, const lic_question *question, lic_arena *arena, licet_error **error)
{
    const licet_engine *engine = t->trace->engine;
    lic_eval            eval;
    lic_moment          moment;
    lic_steps           steps;
    licet_status        status;

    lic_eval_init(&eval, t->program, t->snapshot, arena, &engine->limits);
    lic_eval_subject(&eval, question->subject_definition, question->subject);
    lic_engine_begin_moment(engine, &moment);
    eval.moment  = &moment;
    eval.context = t->values;
    eval.strict  = engine->strict;
    status       = lic_explain(&eval, question->relation, question->node, &steps, error);
    if (status == LICET_OK && moment.is_lost)
        return lic_engine_end_moment(&moment, status, error);
    if (status == LICET_OUT_OF_MEMORY || tell(t, &steps))
        return status;
    if (error != NULL) {
        licet_error_free(*error);
        *error = NULL;
    }
    return lic_fail_memory(error);
}

static licet_status explain_at(telling *t, size_t wire_bytes, lic_arena *arena, licet_error **error)
{
    lic_question question;
    licet_status status;

    LIC_TRY(lic_context_size_check("", wire_bytes, error));
    LIC_TRY(lic_question_resolve(t->program, t->snapshot, t->request, &question, error));
    LIC_TRY(explain_question(t, &question, arena, error));
done:
    return status;
}

/* The order of errors: shape, revision, size of the context, names (api.md 3). */
static licet_status explain(licet_trace *trace, const licet_check_request *request, lic_arena *arena,
                            licet_error **error)
{
    const lic_need     need = { .kind = LIC_NEED_EXPLANATION, .checks = request, .check_count = 1 };
    telling            t    = { .trace = trace, .request = request };
    lic_context_values values;
    lic_snapshot       snapshot;
    size_t             wire_bytes;
    licet_status       status;

    LIC_TRY(lic_request_context_check(request, error));
    LIC_TRY(lic_question_check("", request, false, error));
    LIC_TRY(lic_request_context_read("", request, trace->engine->strict, arena, &values, &wire_bytes, error));
    LIC_TRY(lic_engine_pin(trace->engine, &request->consistency, &need, &snapshot, error));
    t.values   = &values;
    t.snapshot = &snapshot;
    t.program  = lic_engine_program(trace->engine, &snapshot);
    status     = explain_at(&t, wire_bytes, arena, error);
    lic_engine_unpin(&snapshot);
done:
    return status;
}

static licet_status trace_new(licet_engine *engine, const licet_check_request *request, licet_trace **out,
                              licet_error **error)
{
    licet_trace *trace = lic_alloc_zero(engine->memory, sizeof *trace);
    lic_arena    arena;
    licet_status status;

    if (trace == NULL)
        return lic_fail_memory(error);
    licet_engine_retain(engine);
    trace->tag    = LIC_TRACE_TAG;
    trace->engine = engine;
    lic_arena_init(&trace->arena, engine->memory);
    lic_arena_init(&arena, engine->memory);
    status = explain(trace, request, &arena, error);
    lic_arena_free(&arena);
    if (trace->count > 0)
        *out = trace;
    else
        licet_trace_release(trace);
    return status;
}

licet_status licet_explain(licet_engine *engine, const licet_check_request *request, licet_trace **trace,
                           licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (trace == NULL)
        return lic_fail_record(error, "trace");
    *trace = NULL;
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = trace_new(engine, request, trace, error);
    lic_engine_leave(&call);
    return status;
}
