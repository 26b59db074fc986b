/* What a new schema would do. It is compiled as for writing, under the write lock, and not installed. Then, page by
 * page at one revision: the relationships that stand against it, refusal by refusal; and who gains and loses what, by
 * looking up the subjects of one member of one resource under the one schema and the other. Members that both compute
 * alike are left out. */
#include "datastore/relationship.h"
#include "datastore/schema_change.h"
#include "engine/stream.h"
#include "eval/lookup_subjects.h"
#include "schema/alike.h"

#define TIMEOUT_MS 30000u /* of one lookup, as of a stream of them */
#define PAGE 256u         /* relationships */
#define PLACES 1024u      /* that are looked at under one pin; some milliseconds */

/* Subjects that are looked for. */
typedef struct subject_kind {
    lic_type type;
    lic_slot slot;
    lic_str  relation; /* empty: objects */
    uint32_t before;   /* their definition; LIC_NO_DEFINITION: the schema has no such subjects */
    uint32_t after;
} subject_kind;

/* A definition whose resources are looked at. */
typedef struct resource_kind {
    lic_type               type;
    lic_str                name;
    uint32_t               node_end; /* no node of it that the revision has is beyond */
    const lic_slot        *slots;    /* that it may occur under, at either end of a relationship */
    size_t                 slot_count;
    const lic_member_pair *members;
    size_t                 member_count;
} resource_kind;

/* A decision that changes. */
typedef struct decision {
    uint32_t             node; /* of the subject */
    licet_permissionship before;
    licet_permissionship after;
} decision;

typedef struct impact {
    licet_stream  base;
    lic_arena     arena;  /* all lists of kinds and refusals */
    licet_schema *before; /* held, and so is the next */
    licet_schema *after;
    uint64_t      left; /* of the limit; UINT64_MAX: there is none */
    lic_instant   now;  /* of the first call */

    lic_refusals refusals;
    size_t       refusal;
    lic_arena    page_arena;
    lic_rows     page;
    size_t       next_row;
    bool         is_last_page;
    bool         has_row;
    lic_edge     row; /* that was returned last */

    resource_kind *resources;
    size_t         resource_count;
    subject_kind  *subjects;
    size_t         subject_count;
    size_t         resource; /* the place: kind, node, member, subjects */
    uint32_t       node;
    size_t         member;
    size_t         subject;
    bool           is_within;  /* there is one: what follows is the next */
    bool           is_pending; /* memory ran out at the place: it is looked at again */
    lic_arena      decision_arena;
    decision      *decisions; /* at the place */
    size_t         decision_count;
    size_t         next_decision;

    lic_text texts[2]; /* of the record that was returned last */
} impact;

/* ---------------------------------------------------------------- beginning */

/* Of a slot that the schema may have never heard of. */
static uint32_t definition_of(const lic_program *program, lic_slot slot)
{
    const lic_slot_meaning meaning = lic_program_slot(program, slot);

    if (meaning.definition != LIC_NO_DEFINITION && meaning.relation == LIC_NO_REL &&
        program->definitions[meaning.definition].ellipsis != slot)
        return LIC_NO_DEFINITION;
    return meaning.definition;
}

static void mark_subjects(const lic_program *program, bool *is_marked)
{
    for (size_t d = 0; d < program->definition_count; d++)
        is_marked[program->definitions[d].ellipsis] = true;
    for (size_t i = 0; i < program->allowed_count; i++)
        is_marked[program->allowed[i].slot] = true;
}

/* Objects of every type, and the usersets that relationships of either schema may name. */
static bool list_subjects(impact *s)
{
    const lic_names *names = s->base.engine->names;
    const size_t     count = lic_names_slot_count(names);
    bool            *marks = lic_new_array(&s->arena, count, bool);

    s->subjects = lic_new_array(&s->arena, count, subject_kind);
    if (marks == NULL || s->subjects == NULL)
        return false;
    mark_subjects(s->before->program, marks);
    mark_subjects(s->after->program, marks);
    for (lic_slot slot = 0; slot < count; slot++) {
        const lic_type type = lic_names_type_of(names, slot);
        subject_kind  *kind = &s->subjects[s->subject_count];

        if (!marks[slot])
            continue;
        *kind = (subject_kind){ .type   = type,
                                .slot   = slot,
                                .before = definition_of(s->before->program, slot),
                                .after  = definition_of(s->after->program, slot) };
        if (slot != lic_names_ellipsis(names, type))
            kind->relation = lic_names_relation_name(names, slot);
        s->subject_count++;
    }
    return true;
}

static void add_slots(const lic_program *program, uint32_t definition, lic_slot *slots, size_t *count)
{
    const lic_definition *d = definition == LIC_NO_DEFINITION ? NULL : &program->definitions[definition];

    for (uint32_t i = 0; d != NULL && i < d->relation_count; i++)
        slots[(*count)++] = program->relations[d->first_relation + i].slot;
}

/* Those that both schemas have come twice, and that is harmless. */
static bool list_slots(impact *s, const lic_definition_pair *pair, resource_kind *kind)
{
    const lic_program *before = s->before->program;
    const lic_program *after  = s->after->program;
    const size_t most = 1 + (pair->before == LIC_NO_DEFINITION ? 0 : before->definitions[pair->before].relation_count) +
                        (pair->after == LIC_NO_DEFINITION ? 0 : after->definitions[pair->after].relation_count);
    lic_slot *slots = lic_new_array(&s->arena, most, lic_slot);

    if (slots == NULL)
        return false;
    slots[0]         = lic_names_ellipsis(s->base.engine->names, kind->type);
    kind->slot_count = 1;
    add_slots(before, pair->before, slots, &kind->slot_count);
    add_slots(after, pair->after, slots, &kind->slot_count);
    kind->slots = slots;
    return true;
}

static bool list_resource(impact *s, const lic_definition_pair *pair, resource_kind *kind)
{
    const lic_definition *definition = pair->after != LIC_NO_DEFINITION
                                           ? &s->after->program->definitions[pair->after]
                                           : &s->before->program->definitions[pair->before];

    *kind = (resource_kind){ .type         = definition->type,
                             .name         = definition->name,
                             .node_end     = lic_graph_node_end(lic_stream_graph(&s->base), definition->type),
                             .members      = pair->members,
                             .member_count = pair->member_count };
    return list_slots(s, pair, kind);
}

static bool list_resources(impact *s)
{
    lic_unlike unlike;

    if (!lic_find_unlike(&s->arena, s->before->program, s->after->program, &unlike))
        return false;
    s->resources = lic_new_array(&s->arena, unlike.definition_count, resource_kind);
    if (s->resources == NULL)
        return false;
    for (; s->resource_count < unlike.definition_count; s->resource_count++)
        if (!list_resource(s, &unlike.definitions[s->resource_count], &s->resources[s->resource_count]))
            return false;
    return true;
}

/* Under the write lock: the names grow, and the stream's revision must have no node that is not counted. */
static licet_status begin_at(impact *s, const licet_impact_request *request, licet_error **error)
{
    const licet_engine  *engine         = s->base.engine;
    licet_schema_request schema_request = LICET_SCHEMA_REQUEST_INIT;
    lic_snapshot         snapshot;
    licet_status         status;

    schema_request.text   = request->text;
    schema_request.strict = engine->strict;
    LIC_TRY(lic_schema_new(engine->memory, engine->names, &schema_request, &s->after, error));
    LIC_TRY(lic_stream_pin(&s->base, &snapshot, error));
    s->before = (licet_schema *)lic_engine_schema(engine, &snapshot);
    licet_schema_retain(s->before);
    lic_engine_unpin(&snapshot);
    LIC_TRY(lic_schema_refusals(&s->arena, engine->names, s->before->program, s->after->program, &s->refusals, error));
    if (!list_subjects(s) || !list_resources(s))
        status = lic_fail_memory(error);
done:
    return status;
}

static licet_status begin(impact *s, const licet_impact_request *request, licet_error **error)
{
    const licet_filter everything = LICET_FILTER_INIT;
    const lic_need     all        = { .kind = LIC_NEED_ROWS, .filter = &everything };
    lic_graph         *graph      = s->base.engine->graph;
    lic_snapshot       snapshot;
    licet_status       status = lic_engine_pin(s->base.engine, &request->consistency, &all, &snapshot, error);

    if (status != LICET_OK)
        return status;
    lic_stream_keep(&s->base, &snapshot);
    lic_engine_unpin(&snapshot);
    status = lic_engine_instant(s->base.engine, &s->now, error);
    if (status != LICET_OK)
        return status;
    lic_graph_lock(graph);
    status = begin_at(s, request, error);
    lic_graph_unlock(graph);
    return status;
}

/* ----------------------------------------------------------------- refusals */

static licet_status print_refused(impact *s, const lic_row *row, licet_impact *out, licet_error **error)
{
    const lic_refusal *refusal = &s->refusals.items[s->refusal];
    licet_relationship relationship;
    licet_status       status = LICET_OK;

    out->kind = LICET_IMPACT_REFUSED;
    if (row != NULL) {
        lic_row_relationship(s->base.engine->names, row, &relationship);
        LIC_TRY(lic_relationship_print(&relationship, &s->texts[0], error));
        out->relationship = lic_text_str(&s->texts[0]);
    }
    LIC_TRY(lic_refusal_print(refusal, row == NULL ? NULL : &relationship, &s->texts[1], error));
    out->message = lic_text_str(&s->texts[1]);
    if (s->texts[0].failed)
        status = lic_fail_memory(error);
done:
    return status;
}

static licet_status fetch_rows(impact *s, const lic_snapshot *snapshot, licet_error **error)
{
    lic_store   *store = s->base.engine->store;
    licet_status status;

    lic_arena_free(&s->page_arena);
    s->page     = (lic_rows){ .count = 0 };
    s->next_row = 0;
    status      = store->methods->read(store, snapshot, &s->refusals.items[s->refusal].filter, s->now,
                                  s->has_row ? &s->row : NULL, PAGE, &s->page_arena, &s->page, error);
    if (status != LICET_OK)
        s->page.count = 0;
    s->is_last_page = status == LICET_OK && s->page.count < PAGE;
    return status;
}

static void next_refusal(impact *s)
{
    s->refusal++;
    s->page.count   = 0;
    s->next_row     = 0;
    s->is_last_page = false;
    s->has_row      = false;
}

/* Of the refusal that is looked at. */
static licet_status refused_row(impact *s, const lic_snapshot *snapshot, licet_impact *out, bool *found,
                                licet_error **error)
{
    licet_status status = LICET_OK;

    if (s->next_row == s->page.count && !s->is_last_page)
        status = fetch_rows(s, snapshot, error);
    if (status != LICET_OK || s->next_row == s->page.count)
        return status;
    status = print_refused(s, &s->page.items[s->next_row], out, error);
    if (status != LICET_OK)
        return status;
    s->row     = s->page.items[s->next_row++].edge;
    s->has_row = true;
    *found     = true;
    return LICET_OK;
}

static licet_status refused(impact *s, const lic_snapshot *snapshot, licet_impact *out, bool *found,
                            licet_error **error)
{
    licet_status status = LICET_OK;

    while (status == LICET_OK && !*found && s->refusal < s->refusals.count) {
        if (s->refusals.items[s->refusal].is_always) {
            status = print_refused(s, NULL, out, error);
            *found = status == LICET_OK;
        } else {
            status = refused_row(s, snapshot, out, found, error);
        }
        if (status == LICET_OK && (!*found || s->refusals.items[s->refusal].is_always))
            next_refusal(s);
    }
    return status;
}

/* ---------------------------------------------------------------- decisions */

/* What one schema says of one member's subjects of one kind: read from the lowest node on. */
typedef struct side {
    lic_lookup_answer    answer;
    licet_permissionship others; /* of whoever it does not name */
    size_t               subject;
    size_t               exclusion;
} side;

static licet_permissionship permissionship_of(const lic_looked_up *subject)
{
    return subject->missing == 0 ? LICET_HAS_PERMISSION : LICET_CONDITIONAL_PERMISSION;
}

/* LIC_NO_NODE: it names no more. */
static uint32_t next_named(const side *side)
{
    uint32_t node = LIC_NO_NODE;

    if (side->subject < side->answer.count)
        node = side->answer.subjects[side->subject].node;
    if (side->exclusion < side->answer.exclusion_count && side->answer.exclusions[side->exclusion].node < node)
        node = side->answer.exclusions[side->exclusion].node;
    return node;
}

/* An exclusion for certain is a denial, and one under a condition leaves it open. */
static licet_permissionship take(side *side, uint32_t node)
{
    licet_permissionship permissionship = side->others;

    if (side->exclusion < side->answer.exclusion_count && side->answer.exclusions[side->exclusion].node == node)
        permissionship = permissionship_of(&side->answer.exclusions[side->exclusion++]) == LICET_HAS_PERMISSION
                             ? LICET_NO_PERMISSION
                             : LICET_CONDITIONAL_PERMISSION;
    if (side->subject < side->answer.count && side->answer.subjects[side->subject].node == node)
        permissionship = permissionship_of(&side->answer.subjects[side->subject++]);
    return permissionship;
}

/* The wildcard comes first of all. */
static void set_others(side *side)
{
    const lic_lookup_answer *answer = &side->answer;

    side->others = answer->count > 0 && answer->subjects[0].node == LIC_WILDCARD_NODE
                       ? permissionship_of(&answer->subjects[0])
                       : LICET_NO_PERMISSION;
}

static licet_status compare_sides(impact *s, side *before, side *after, licet_error **error)
{
    const size_t most =
        before->answer.count + before->answer.exclusion_count + after->answer.count + after->answer.exclusion_count;

    s->decisions = lic_new_array(&s->decision_arena, most, decision);
    if (s->decisions == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < most; i++) {
        const uint32_t b    = next_named(before);
        const uint32_t a    = next_named(after);
        const uint32_t node = a < b ? a : b;
        decision       d;

        if (node == LIC_NO_NODE)
            break;
        d = (decision){ node, take(before, node), take(after, node) };
        if (d.before != d.after)
            s->decisions[s->decision_count++] = d;
    }
    return LICET_OK;
}

/* Where the schema has no such member or no such subjects, or knows that they can't be found, there is nobody. */
static licet_status look_up(impact *s, const lic_program *program, const lic_snapshot *snapshot, lic_moment *moment,
                            lic_rel member, uint32_t definition, side *side, licet_error **error)
{
    const lic_lookup_page page   = { .limit = UINT64_MAX };
    const licet_engine   *engine = s->base.engine;
    lic_arena             arena;
    lic_eval              eval;
    licet_status          status;

    if (member == LIC_NO_REL || definition == LIC_NO_DEFINITION || !lic_program_reaches(program, member, definition))
        return LICET_OK;
    lic_arena_init(&arena, engine->memory);
    lic_eval_init(&eval, program, snapshot, &arena, &engine->limits);
    lic_eval_subject(&eval, definition, (lic_ref){ s->subjects[s->subject].slot, LIC_NO_NODE });
    eval.moment = moment;
    eval.strict = engine->strict;
    status = lic_lookup_subjects(&eval, member, s->node, TIMEOUT_MS, &page, &s->decision_arena, &side->answer, error);
    lic_arena_free(&arena);
    if (status == LICET_OK)
        set_others(side);
    return status;
}

/* Both sides at the same time of day. */
static licet_status decide(impact *s, const lic_snapshot *snapshot, licet_error **error)
{
    const lic_member_pair pair   = s->resources[s->resource].members[s->member];
    const subject_kind   *kind   = &s->subjects[s->subject];
    side                  before = { .subject = 0 };
    side                  after  = { .subject = 0 };
    lic_moment            moment;
    licet_status          status;

    lic_arena_free(&s->decision_arena);
    s->decision_count = 0;
    s->next_decision  = 0;
    lic_engine_begin_moment(s->base.engine, &moment);
    LIC_TRY(look_up(s, s->before->program, snapshot, &moment, pair.before, kind->before, &before, error));
    LIC_TRY(look_up(s, s->after->program, snapshot, &moment, pair.after, kind->after, &after, error));
    LIC_TRY(lic_engine_end_moment(&moment, status, error));
    status = compare_sides(s, &before, &after, error);
done:
    return status;
}

/* Does a relationship name it, at either end? */
static bool occurs(const lic_snapshot *snapshot, const resource_kind *kind, uint32_t node)
{
    lic_walk walk;
    lic_ref  end;

    for (size_t i = 0; i < kind->slot_count; i++) {
        const lic_ref ref = { kind->slots[i], node };

        lic_walk_subjects(snapshot, ref, &walk);
        if (lic_walk_next(&walk, &end))
            return true;
        lic_walk_resources(snapshot, ref, &walk);
        if (lic_walk_next(&walk, &end))
            return true;
    }
    return false;
}

/* From the place to the next resource that occurs. false: there is none. */
static bool next_resource(impact *s, const lic_snapshot *snapshot)
{
    s->member  = 0;
    s->subject = 0;
    while (s->resource < s->resource_count) {
        const resource_kind *kind = &s->resources[s->resource];

        while (++s->node < kind->node_end)
            if (occurs(snapshot, kind, s->node))
                return true;
        s->node = LIC_WILDCARD_NODE;
        s->resource++;
    }
    return false;
}

static bool next_place(impact *s, const lic_snapshot *snapshot)
{
    if (s->is_within && ++s->subject < s->subject_count)
        return true;
    s->subject = 0;
    if (s->is_within && ++s->member < s->resources[s->resource].member_count)
        return true;
    s->is_within = next_resource(s, snapshot);
    return s->is_within;
}

static void print_object(lic_text *out, lic_str type, lic_str id)
{
    lic_text_add(out, type);
    lic_text_add_char(out, ':');
    lic_text_add(out, id);
}

/* Less is no, more is yes, and open lies between. */
static bool is_more(licet_permissionship a, licet_permissionship b)
{
    return a == LICET_HAS_PERMISSION || b == LICET_NO_PERMISSION;
}

static licet_status print_decision(impact *s, const decision *d, licet_impact *out, licet_error **error)
{
    const licet_engine   *engine = s->base.engine;
    const resource_kind  *kind   = &s->resources[s->resource];
    const subject_kind   *by     = &s->subjects[s->subject];
    const lic_member_pair pair   = kind->members[s->member];

    print_object(&s->texts[0], kind->name, lic_graph_node_id(lic_stream_graph(&s->base), kind->type, s->node));
    print_object(&s->texts[1], lic_names_type_name(engine->names, by->type),
                 lic_graph_node_id(lic_stream_graph(&s->base), by->type, d->node));
    if (by->relation.size > 0) {
        lic_text_add_char(&s->texts[1], '#');
        lic_text_add(&s->texts[1], by->relation);
    }
    if (s->texts[0].failed || s->texts[1].failed)
        return lic_fail_memory(error);
    out->kind       = is_more(d->after, d->before) ? LICET_IMPACT_GAINED : LICET_IMPACT_LOST;
    out->resource   = lic_text_str(&s->texts[0]);
    out->permission = pair.after != LIC_NO_REL ? s->after->program->relations[pair.after].name
                                               : s->before->program->relations[pair.before].name;
    out->subject    = lic_text_str(&s->texts[1]);
    out->before     = d->before;
    out->after      = d->after;
    return LICET_OK;
}

/* Looks at some places at most, so that nobody is pinned for long: where neither *found nor *is_end is said there are
 * more. */
static licet_status decided(impact *s, const lic_snapshot *snapshot, licet_impact *out, bool *found, bool *is_end,
                            licet_error **error)
{
    licet_status status = LICET_OK;

    for (unsigned i = 0; i < PLACES && status == LICET_OK && s->next_decision == s->decision_count; i++) {
        if (!s->is_pending && !next_place(s, snapshot)) {
            *is_end = true;
            return LICET_OK;
        }
        status        = decide(s, snapshot, error);
        s->is_pending = status == LICET_OUT_OF_MEMORY; /* other failures would come again */
    }
    if (status != LICET_OK || s->next_decision == s->decision_count)
        return status;
    status = print_decision(s, &s->decisions[s->next_decision], out, error);
    if (status != LICET_OK)
        return status;
    s->next_decision++;
    *found = true;
    return LICET_OK;
}

/* ------------------------------------------------------------------- stream */

static licet_status look(impact *s, licet_impact *out, bool *found, bool *is_end, licet_error **error)
{
    lic_snapshot snapshot;
    licet_status status = lic_stream_pin(&s->base, &snapshot, error);

    if (status != LICET_OK)
        return status;
    status = refused(s, &snapshot, out, found, error);
    if (status == LICET_OK && !*found)
        status = decided(s, &snapshot, out, found, is_end, error);
    lic_engine_unpin(&snapshot);
    return status;
}

/* Where little changes it is a long way to the next consequence: who closes the engine does not wait for it. */
static licet_status look_until_found(impact *s, licet_impact *out, bool *found, licet_error **error)
{
    bool         is_end = s->left == 0;
    licet_status status = LICET_OK;

    while (status == LICET_OK && !*found && !is_end) {
        status = look(s, out, found, &is_end, error);
        if (status == LICET_OK && !*found && !is_end && lic_gate_is_closed(&s->base.engine->gate))
            status = lic_engine_refuse(s->base.engine, error);
    }
    return status;
}

static licet_status next_impact(licet_stream *stream, void *record, bool *found, licet_error **error)
{
    impact      *s   = (impact *)stream;
    licet_impact out = LICET_IMPACT_INIT;
    licet_status status;

    for (size_t i = 0; i < 2; i++) {
        s->texts[i].size   = 0;
        s->texts[i].failed = false;
    }
    status = look_until_found(s, &out, found, error);
    if (!*found)
        return status;
    *(licet_impact *)record = out;
    s->left -= s->left == UINT64_MAX ? 0 : 1;
    return LICET_OK;
}

static void end_impact(licet_stream *stream)
{
    impact *s = (impact *)stream;

    lic_text_free(&s->texts[0]);
    lic_text_free(&s->texts[1]);
    lic_arena_free(&s->decision_arena);
    lic_arena_free(&s->page_arena);
    lic_arena_free(&s->arena);
    licet_schema_release(s->before);
    licet_schema_release(s->after);
}

static const lic_stream_methods methods = { LIC_STREAM_IMPACTS, next_impact, NULL, end_impact };

static licet_status impact_new(licet_engine *engine, const licet_impact_request *request, licet_stream **out,
                               licet_error **error)
{
    impact      *s = lic_stream_new(engine, &methods, sizeof *s);
    licet_status status;

    if (s == NULL)
        return lic_fail_memory(error);
    s->left = request->limit == 0 ? UINT64_MAX : request->limit;
    lic_arena_init(&s->arena, engine->memory);
    lic_arena_init(&s->page_arena, engine->memory);
    lic_arena_init(&s->decision_arena, engine->memory);
    lic_text_init(&s->texts[0], engine->memory);
    lic_text_init(&s->texts[1], engine->memory);
    status = begin(s, request, error);
    if (status == LICET_OK)
        *out = &s->base;
    else
        licet_stream_release(&s->base);
    return status;
}

licet_status licet_schema_impact(licet_engine *engine, const licet_impact_request *request, licet_stream **stream,
                                 licet_error **error)
{
    lic_call     call;
    licet_status status;

    status = lic_stream_begin(engine, LIC_RECORD_KNOWN(request), stream, &call, error);
    if (status != LICET_OK)
        return status;
    if (lic_str_given(request->text))
        status = impact_new(engine, request, stream, error);
    else
        status = lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "the schema text is not given");
    lic_engine_leave(&call);
    return status;
}
