/* Many checks at one revision. Items with the same subject are asked one after another, so that the evaluator may use
 * for one what it found out for another; equal items are asked once. Items that bring the same context, be it the same
 * record or the same text, share it and what their caveats came to. Answers stand where their questions stood. */
#include "engine/bulk.h"

#include <stdio.h>

#include "base/hash.h"
#include "engine/question.h"
#include "eval/conditions.h"

#define SCRATCH_BYTES 16384
#define NONE UINT32_MAX
/* So many are asked, while the database is, of the graph as it stands: longer nobody else need wait for its answer. */
#define MOST_GUESSES 256

typedef struct item {
    lic_question question;
    uint32_t     group;   /* index in groups */
    uint32_t     next;    /* of the group; NONE: the last */
    uint32_t     twin;    /* an earlier equal item; NONE: there is none */
    uint32_t     context; /* index in contexts */
    bool         failed;  /* has its error already */
} item;

/* A context that items bring; the first of all is that of those without one. */
typedef struct context {
    lic_str              text;     /* as the request has it, */
    const licet_context *prepared; /* or this */
    lic_context_values   values;
    size_t               wire_bytes;
    uint32_t             first;    /* the item that brought it first */
    lic_outcomes        *outcomes; /* NULL: no caveat was met yet */
} context;

/* A subject, with its items in their order, but for those that have a twin. */
typedef struct group {
    uint32_t first;
    uint32_t last;
} group;

typedef struct bulk {
    const licet_engine        *engine;
    lic_snapshot               pinned;
    const lic_snapshot        *snapshot; /* &pinned */
    const lic_program         *program;
    const licet_check_request *requests;
    licet_result              *results;
    size_t                     count;
    item                      *items;
    group                     *groups; /* in order of their first items */
    size_t                     group_count;
    size_t                     twin_count;
    uint32_t                  *subjects;  /* hash table of groups, NONE: free */
    uint32_t                  *questions; /* hash table of items */
    size_t                     mask;
    context                   *contexts;
    size_t                     context_count;
    size_t                     context_capacity;
    uint32_t                  *context_numbers; /* hash table of contexts; NULL while there is only the first */
    uint64_t                   context_key;
    lic_arena                 *arena;
    lic_moment                 moment;
    lic_known                  known;
    bool                       has_run;
    bool                       is_guessed; /* all answers are there, as of this revision */
    uint64_t                   guessed_revision;
} bulk;

/* "item 3: ", counted from 1 as a person does. */
static const char *item_name(char *text, size_t size, size_t index)
{
    snprintf(text, size, "item %zu: ", index + 1);
    return text;
}

static licet_status shape_check(const licet_check_request *request, size_t index, licet_error **error)
{
    char name[48];

    return lic_question_check(item_name(name, sizeof name, index), request, true, error);
}

static licet_status shapes_check(const licet_check_request *requests, size_t count, licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < count && status == LICET_OK; i++)
        status = shape_check(&requests[i], i, error);
    return status;
}

/* ---------------------------------------------------------------- grouping */

static bool same_subject(const lic_question *a, const lic_question *b)
{
    return lic_ref_equal(a->subject, b->subject) && a->subject_definition == b->subject_definition;
}

/* The item's group, which it becomes the first of if it is new. Ids that occur nowhere have one number for them all.
 * They may share a group, since nothing tells them apart but whether they are the resource, and that is in the
 * resource's number. */
static uint32_t find_group(bulk *b, uint32_t index, uint32_t before)
{
    const lic_question *q = &b->items[index].question;
    size_t              slot;

    if (before != NONE && same_subject(&b->items[b->groups[before].first].question, q))
        return before;
    slot = lic_hash_u64(lic_ref_key(q->subject) + q->subject_definition) & b->mask;
    while (b->subjects[slot] != NONE) {
        if (same_subject(&b->items[b->groups[b->subjects[slot]].first].question, q))
            return b->subjects[slot];
        slot = (slot + 1) & b->mask;
    }
    b->subjects[slot]         = (uint32_t)b->group_count;
    b->groups[b->group_count] = (group){ index, NONE };
    return (uint32_t)b->group_count++;
}

static bool same_item(const item *a, const item *b)
{
    return a->question.node == b->question.node && a->question.relation == b->question.relation &&
           a->group == b->group && a->context == b->context;
}

/* The earlier item that is equal. NONE: it is the first. */
static uint32_t find_twin(const bulk *b, uint32_t index)
{
    const item    *it       = &b->items[index];
    const uint64_t question = (uint64_t)it->question.relation << 32 | it->question.node;
    const uint64_t asked_by = (uint64_t)it->context << 32 | it->group;
    size_t         slot     = lic_hash_u64(question + asked_by * UINT64_C(0x9e3779b97f4a7c15)) & b->mask;

    while (b->questions[slot] != NONE) {
        if (same_item(&b->items[b->questions[slot]], it))
            return b->questions[slot];
        slot = (slot + 1) & b->mask;
    }
    b->questions[slot] = index;
    return NONE;
}

/* Finds out with which items it is asked. before: the group of the item before. */
static uint32_t join_others(bulk *b, uint32_t index, uint32_t before)
{
    item  *it = &b->items[index];
    group *g;

    it->group = find_group(b, index, before);
    it->twin  = find_twin(b, index);
    g         = &b->groups[it->group];
    if (it->twin != NONE) {
        b->twin_count++;
    } else {
        if (g->last != NONE)
            b->items[g->last].next = index;
        g->last = index;
    }
    return it->group;
}

/* An item's names. Its shape was not looked at if it was found at once; a bad one fails the request. */
static licet_status resolve(bulk *b, uint32_t index, licet_error **error)
{
    item         *it     = &b->items[index];
    licet_result *result = &b->results[index];
    licet_status  status;

    *it = (item){ .next = NONE, .twin = NONE, .context = b->context_count == 1 ? 0 : it->context };
    if (lic_question_find(b->program, b->snapshot, &b->requests[index], &b->known, &it->question))
        return LICET_OK;
    status = shape_check(&b->requests[index], index, error);
    if (status != LICET_OK)
        return status;
    result->status = lic_question_resolve(b->program, b->snapshot, &b->requests[index], &it->question, &result->error);
    it->failed     = result->status != LICET_OK;
    return result->status == LICET_OUT_OF_MEMORY ? lic_fail_memory(error) : LICET_OK;
}

static void clear_tables(bulk *b)
{
    memset(b->subjects, 0xff, (b->mask + 1) * sizeof *b->subjects);
    memset(b->questions, 0xff, (b->mask + 1) * sizeof *b->questions);
}

static bool make_tables(bulk *b)
{
    size_t size = 2;

    while (size < 2 * b->count)
        size *= 2;
    b->mask      = size - 1;
    b->items     = lic_arena_alloc(b->arena, b->count * sizeof *b->items);
    b->groups    = lic_arena_alloc(b->arena, b->count * sizeof *b->groups);
    b->subjects  = lic_arena_alloc(b->arena, size * sizeof *b->subjects);
    b->questions = lic_arena_alloc(b->arena, size * sizeof *b->questions);
    if (b->items == NULL || b->groups == NULL || b->subjects == NULL || b->questions == NULL)
        return false;
    clear_tables(b);
    return true;
}

/* ---------------------------------------------------------------- contexts */

static bool add_context(bulk *b, const context *added)
{
    void *contexts = b->contexts;

    if (!lic_arena_grow(b->arena, &contexts, &b->context_capacity, b->context_count + 1, sizeof *b->contexts))
        return false;
    b->contexts                     = contexts;
    b->contexts[b->context_count++] = *added;
    return true;
}

static bool begin_context_numbers(bulk *b)
{
    b->context_key     = lic_random_key();
    b->context_numbers = lic_arena_alloc(b->arena, (b->mask + 1) * sizeof *b->context_numbers);
    if (b->context_numbers == NULL)
        return false;
    memset(b->context_numbers, 0xff, (b->mask + 1) * sizeof *b->context_numbers);
    return true;
}

/* The place of a request's context in the table: of its number, or free. */
static uint32_t *context_place(const bulk *b, const licet_check_request *request)
{
    const uint64_t hash = request->prepared_context != NULL
                              ? lic_hash_u64((uintptr_t)request->prepared_context ^ b->context_key)
                              : lic_hash_str(request->context, b->context_key);
    size_t         slot = hash & b->mask;

    for (; b->context_numbers[slot] != NONE; slot = (slot + 1) & b->mask) {
        const context *known = &b->contexts[b->context_numbers[slot]];

        if (known->prepared == request->prepared_context && lic_str_equal(known->text, request->context))
            break;
    }
    return &b->context_numbers[slot];
}

/* The context of an item that brings one. Its shape was looked at. */
static licet_status find_context(bulk *b, uint32_t index, licet_error **error)
{
    const licet_check_request *request = &b->requests[index];
    context                    added   = { .text = request->context, .prepared = request->prepared_context };
    uint32_t                  *place;
    char                       name[48];
    licet_status               status;

    if (b->context_numbers == NULL && !begin_context_numbers(b))
        return lic_fail_memory(error);
    place = context_place(b, request);
    if (*place != NONE) {
        b->items[index].context = *place;
        return LICET_OK;
    }
    added.first = index;
    status      = lic_request_context_read(item_name(name, sizeof name, index), request, b->engine->strict, b->arena,
                                           &added.values, &added.wire_bytes, error);
    if (status != LICET_OK)
        return status;
    *place                  = (uint32_t)b->context_count;
    b->items[index].context = *place;
    return add_context(b, &added) ? LICET_OK : lic_fail_memory(error);
}

/* Shapes come first: of all items, and then of their contexts. */
static licet_status find_contexts(bulk *b, licet_error **error)
{
    static const context none   = { .text = { NULL, 0 } };
    licet_status         status = LICET_OK;
    uint32_t             first  = 0;

    if (!add_context(b, &none))
        return lic_fail_memory(error);
    while (first < b->count && !lic_request_has_context(&b->requests[first]))
        first++;
    if (first == b->count)
        return LICET_OK;
    status = shapes_check(b->requests, b->count, error);
    for (uint32_t i = 0; i < b->count && status == LICET_OK; i++) {
        b->items[i].context = 0;
        if (lic_request_has_context(&b->requests[i]))
            status = find_context(b, i, error);
    }
    return status;
}

static licet_status context_sizes_check(const bulk *b, licet_error **error)
{
    licet_status status = LICET_OK;
    char         name[48];

    for (size_t i = 1; i < b->context_count && status == LICET_OK; i++)
        status = lic_context_size_check(item_name(name, sizeof name, b->contexts[i].first), b->contexts[i].wire_bytes,
                                        error);
    return status;
}

/* ---------------------------------------------------------------- asking */

/* Outcomes live as long as the whole: other items will want them. */
static bool choose_context(const bulk *b, lic_eval *eval, context *chosen)
{
    if (chosen->outcomes == NULL)
        chosen->outcomes = lic_outcomes_new(b->arena);
    eval->context  = &chosen->values;
    eval->outcomes = chosen->outcomes;
    return chosen->outcomes != NULL;
}

/* Out of memory is not an item's own failure: it is the request's. */
static licet_status ask(bulk *b, lic_eval *eval, uint32_t index, licet_error **error)
{
    licet_result *result = &b->results[index];
    context      *under  = &b->contexts[b->items[index].context];

    if (eval->context != &under->values && !choose_context(b, eval, under))
        return lic_fail_memory(error);
    result->status = lic_question_ask(eval, &b->items[index].question, result, &result->error);
    return result->status == LICET_OUT_OF_MEMORY ? lic_fail_memory(error) : LICET_OK;
}

static licet_status ask_group(bulk *b, const group *g, licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    const lic_question    *q      = &b->items[g->first].question;
    licet_status           status = LICET_OK;
    lic_arena              arena;
    lic_eval               eval;

    lic_arena_init_with(&arena, b->engine->memory, scratch, sizeof scratch);
    lic_eval_init(&eval, b->program, b->snapshot, &arena, &b->engine->limits);
    lic_eval_subject(&eval, q->subject_definition, q->subject);
    eval.moment = &b->moment;
    eval.strict = b->engine->strict;
    for (uint32_t i = g->first; i != NONE && status == LICET_OK; i = b->items[i].next)
        status = ask(b, &eval, i, error);
    lic_arena_free(&arena);
    return status;
}

static bool copy_result(const bulk *b, const licet_result *from, licet_result *to)
{
    *to               = *from;
    to->error         = lic_error_copy(from->error);
    to->missing       = NULL;
    to->missing_count = 0;
    if (licet_error_status(to->error) != from->status) /* no memory for the error */
        return false;
    return from->missing_count == 0 ||
           lic_result_keep_missing(to, b->engine->memory, from->missing, from->missing_count);
}

static licet_status copy_twins(bulk *b, licet_error **error)
{
    bool copied = true;

    for (size_t i = 0; i < b->count && b->twin_count > 0 && copied; i++) {
        if (b->items[i].twin != NONE)
            copied = copy_result(b, &b->results[b->items[i].twin], &b->results[i]);
    }
    return copied ? LICET_OK : lic_fail_memory(error);
}

static licet_status bulk_run(bulk *b, licet_error **error)
{
    licet_status status = context_sizes_check(b, error);
    uint32_t     group  = NONE;

    lic_known_begin(&b->known);
    for (uint32_t i = 0; i < b->count && status == LICET_OK; i++) {
        status = resolve(b, i, error);
        if (status == LICET_OK && !b->items[i].failed)
            group = join_others(b, i, group);
    }
    for (size_t i = 0; i < b->group_count && status == LICET_OK; i++)
        status = ask_group(b, &b->groups[i], error);
    return status == LICET_OK ? copy_twins(b, error) : status;
}

/* What was found out before was of another revision. */
static void forget_answers(bulk *b)
{
    for (size_t i = 0; i < b->count; i++)
        licet_result_clear(&b->results[i]);
    for (size_t i = 0; i < b->context_count; i++)
        b->contexts[i].outcomes = NULL;
    clear_tables(b);
    b->group_count = 0;
    b->twin_count  = 0;
}

static licet_status bulk_at(bulk *b, const lic_snapshot *snapshot, licet_error **error)
{
    if (b->has_run)
        forget_answers(b);
    b->has_run  = true;
    b->snapshot = snapshot;
    b->program  = lic_engine_program(b->engine, snapshot);
    return bulk_run(b, error);
}

/* Answers of the head, in the hope that it is what will be pinned. */
static void guess(void *context)
{
    bulk        *b     = context;
    licet_error *error = NULL;

    lic_snapshot_pin(b->engine->graph, &b->pinned);
    b->is_guessed       = bulk_at(b, &b->pinned, &error) == LICET_OK;
    b->guessed_revision = b->pinned.revision;
    lic_snapshot_unpin(&b->pinned);
    licet_error_free(error);
}

static bool is_answered(const bulk *b)
{
    return b->is_guessed && b->pinned.owner == NULL && b->pinned.revision == b->guessed_revision;
}

/* At the revision that the consistency asks for. */
static licet_status bulk_pinned(bulk *b, const licet_consistency *consistency, licet_error **error)
{
    const lic_need need   = { .kind        = LIC_NEED_CHECKS,
                              .checks      = b->requests,
                              .check_count = b->count,
                              .meanwhile   = b->count <= MOST_GUESSES ? guess : NULL,
                              .context     = b };
    licet_status   status = lic_engine_pin(b->engine, consistency, &need, &b->pinned, error);

    if (status != LICET_OK)
        return status;
    if (!is_answered(b))
        status = bulk_at(b, &b->pinned, error);
    lic_engine_unpin(&b->pinned);
    return status;
}

/* snapshot: NULL, or pinned by the caller, and then no consistency is looked at. */
static licet_status bulk_inside(const licet_engine *engine, const licet_check_request *requests, size_t count,
                                const licet_consistency *consistency, const lic_snapshot *snapshot,
                                licet_result *results, licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    bulk                   b = { .engine = engine, .requests = requests, .results = results, .count = count };
    lic_arena              arena;
    licet_status           status;

    if (snapshot == NULL && consistency->freshness != LICET_MINIMIZE_LATENCY &&
        consistency->freshness != LICET_FULLY_CONSISTENT) {
        status = shapes_check(requests, count, error);
        if (status != LICET_OK)
            return status;
    }
    lic_arena_init_with(&arena, engine->memory, scratch, sizeof scratch);
    b.arena = &arena;
    lic_engine_begin_moment(engine, &b.moment);
    status = make_tables(&b) ? find_contexts(&b, error) : lic_fail_memory(error);
    if (status == LICET_OK)
        status = snapshot == NULL ? bulk_pinned(&b, consistency, error) : bulk_at(&b, snapshot, error);
    lic_arena_free(&arena);
    return lic_engine_end_moment(&b.moment, status, error);
}

static licet_status records_check(const licet_check_request *requests, const licet_result *results, size_t count,
                                  licet_error **error)
{
    for (size_t i = 0; i < count; i++) {
        if (!LIC_RECORD_KNOWN(&results[i]))
            return lic_fail_record(error, "results");
        if (!LIC_RECORD_KNOWN(&requests[i]))
            return lic_fail_record(error, "requests");
        if (lic_request_has_context(&requests[i]) && lic_request_context_check(&requests[i], error) != LICET_OK)
            return LICET_MISUSE;
    }
    return LICET_OK;
}

/* After any failure no item holds an answer. */
static licet_status or_nothing(licet_status status, licet_result *results, size_t count)
{
    for (size_t i = 0; i < count && status != LICET_OK; i++)
        licet_result_clear(&results[i]);
    return status;
}

licet_status lic_check_bulk_at(const licet_engine *engine, const lic_snapshot *snapshot,
                               const licet_check_request *requests, size_t count, licet_result *results,
                               licet_error **error)
{
    static const licet_consistency no_matter = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    licet_status                   status    = records_check(requests, results, count, error);

    if (status == LICET_OK)
        status = bulk_inside(engine, requests, count, &no_matter, snapshot, results, error);
    return or_nothing(status, results, count);
}

licet_status licet_check_bulk(licet_engine *engine, const licet_check_request *requests, size_t count,
                              licet_consistency consistency, licet_result *results, licet_error **error)
{
    lic_call     call;
    licet_status status;

    for (size_t i = 0; i < count && results != NULL; i++)
        lic_deny(&results[i]);
    lic_error_begin(error);
    if (count > 0 && (requests == NULL || results == NULL))
        return lic_fail_record(error, requests == NULL ? "requests" : "results");
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    if (count > LIC_MAX_BULK)
        status = lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                          "%zu items are more than the %d of one bulk check", count, LIC_MAX_BULK);
    if (status == LICET_OK)
        status = records_check(requests, results, count, error);
    if (status == LICET_OK)
        status = bulk_inside(engine, requests, count, &consistency, NULL, results, error);
    lic_engine_leave(&call);
    return or_nothing(status, results, count);
}
