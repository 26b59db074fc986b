/* Many checks at one revision. Items with the same subject are asked one after another, so that the evaluator may use
 * for one what it found out for another; equal items are asked once. Answers stand where their questions stood. */
#include "engine/question.h"

#include <stdio.h>

#include "base/hash.h"

#define SCRATCH_BYTES 16384
#define NONE UINT32_MAX

typedef struct item {
    lic_question question;
    uint32_t     next;   /* with the same subject; NONE: the last */
    uint32_t     twin;   /* an earlier equal item; NONE: there is none */
    bool         failed; /* has its error already */
} item;

/* A subject, with its items in their order. */
typedef struct group {
    uint32_t first;
    uint32_t last;
} group;

typedef struct bulk {
    const licet_engine        *engine;
    const lic_snapshot        *snapshot;
    const lic_program         *program;
    const licet_check_request *requests;
    licet_result              *results;
    size_t                     count;
    item                      *items;
    group                     *groups; /* in order of their first items */
    size_t                     group_count;
    uint32_t                  *subjects;  /* hash table of groups, NONE: free */
    uint32_t                  *questions; /* hash table of items */
    size_t                     mask;
    lic_known                  known;
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

static uint64_t subject_hash(const lic_question *q)
{
    return lic_hash_u64(lic_ref_key(q->subject) + q->subject_definition);
}

static bool same_subject(const lic_question *a, const lic_question *b)
{
    return lic_ref_equal(a->subject, b->subject) && a->subject_definition == b->subject_definition;
}

/* Ids that occur nowhere have one number for them all. They may share a group, since nothing tells them apart but
 * whether they are the resource, and that is in the resource's number. */
static bool same_question(const lic_question *a, const lic_question *b)
{
    return same_subject(a, b) && a->relation == b->relation && a->node == b->node;
}

static void join_group(bulk *b, uint32_t index)
{
    const lic_question *q    = &b->items[index].question;
    size_t              slot = subject_hash(q) & b->mask;

    while (b->subjects[slot] != NONE) {
        group *g = &b->groups[b->subjects[slot]];

        if (same_subject(&b->items[g->first].question, q)) {
            b->items[g->last].next = index;
            g->last                = index;
            return;
        }
        slot = (slot + 1) & b->mask;
    }
    b->subjects[slot]           = (uint32_t)b->group_count;
    b->groups[b->group_count++] = (group){ index, index };
}

static void find_twin(bulk *b, uint32_t index)
{
    const lic_question *q    = &b->items[index].question;
    size_t              slot = lic_hash_u64(subject_hash(q) ^ ((uint64_t)q->relation << 32 | q->node)) & b->mask;

    while (b->questions[slot] != NONE) {
        if (same_question(&b->items[b->questions[slot]].question, q)) {
            b->items[index].twin = b->questions[slot];
            return;
        }
        slot = (slot + 1) & b->mask;
    }
    b->questions[slot] = index;
}

/* An item's names. Its shape was not looked at if it was found at once; a bad one fails the request. */
static licet_status resolve(bulk *b, uint32_t index, licet_error **error)
{
    item         *it     = &b->items[index];
    licet_result *result = &b->results[index];
    licet_status  status;

    *it = (item){ .next = NONE, .twin = NONE };
    if (lic_question_find(b->program, b->snapshot, &b->requests[index], &b->known, &it->question))
        return LICET_OK;
    status = shape_check(&b->requests[index], index, error);
    if (status != LICET_OK)
        return status;
    result->status = lic_question_resolve(b->program, b->snapshot, &b->requests[index], &it->question, &result->error);
    it->failed     = result->status != LICET_OK;
    return LICET_OK;
}

static bool make_tables(bulk *b, lic_arena *arena)
{
    size_t size = 2;

    while (size < 2 * b->count)
        size *= 2;
    b->mask      = size - 1;
    b->items     = lic_arena_alloc(arena, b->count * sizeof *b->items);
    b->groups    = lic_arena_alloc(arena, b->count * sizeof *b->groups);
    b->subjects  = lic_arena_alloc(arena, size * sizeof *b->subjects);
    b->questions = lic_arena_alloc(arena, size * sizeof *b->questions);
    if (b->items == NULL || b->groups == NULL || b->subjects == NULL || b->questions == NULL)
        return false;
    memset(b->subjects, 0xff, size * sizeof *b->subjects);
    memset(b->questions, 0xff, size * sizeof *b->questions);
    return true;
}

/* ---------------------------------------------------------------- asking */

static licet_status ask(bulk *b, lic_eval *eval, uint32_t index)
{
    lic_membership answer = LIC_MEMBERSHIP_NO;
    licet_result  *result = &b->results[index];

    result->status =
        lic_eval_check(eval, b->items[index].question.relation, b->items[index].question.node, &answer, &result->error);
    if (result->status == LICET_OK)
        lic_answer(result, answer, b->snapshot->revision);
    return result->status == LICET_OUT_OF_MEMORY ? LICET_OUT_OF_MEMORY : LICET_OK;
}

/* Out of memory is not an item's own failure: it is the request's. */
static licet_status ask_group(bulk *b, const group *g)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    const lic_question    *q      = &b->items[g->first].question;
    licet_status           status = LICET_OK;
    lic_arena              arena;
    lic_eval               eval;

    lic_arena_init_with(&arena, b->engine->memory, scratch, sizeof scratch);
    lic_eval_init(&eval, b->program, b->snapshot, &arena, &b->engine->limits);
    lic_eval_subject(&eval, q->subject_definition, q->subject);
    for (uint32_t i = g->first; i != NONE && status == LICET_OK; i = b->items[i].next)
        status = ask(b, &eval, i);
    lic_arena_free(&arena);
    return status;
}

static void copy_twins(bulk *b)
{
    for (size_t i = 0; i < b->count; i++) {
        uint32_t twin = b->items[i].twin;

        if (twin == NONE)
            continue;
        b->results[i]       = b->results[twin];
        b->results[i].error = lic_error_copy(b->results[twin].error);
    }
}

static licet_status bulk_run(bulk *b, lic_arena *arena, licet_error **error)
{
    licet_status status = LICET_OK;

    lic_known_begin(&b->known);
    if (!make_tables(b, arena))
        return lic_fail_memory(error);
    for (uint32_t i = 0; i < b->count; i++) {
        status = resolve(b, i, error);
        if (status != LICET_OK)
            return status;
        if (b->items[i].failed)
            continue;
        find_twin(b, i);
        if (b->items[i].twin == NONE)
            join_group(b, i);
    }
    for (size_t i = 0; i < b->group_count && status == LICET_OK; i++)
        status = ask_group(b, &b->groups[i]);
    if (status != LICET_OK)
        return lic_fail_memory(error);
    copy_twins(b);
    return LICET_OK;
}

static licet_status bulk_inside(const licet_engine *engine, const licet_check_request *requests, size_t count,
                                const licet_consistency *consistency, licet_result *results, licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    bulk                   b = { .engine = engine, .requests = requests, .results = results, .count = count };
    lic_arena              arena;
    lic_snapshot           snapshot;
    licet_status           status;

    if (consistency->freshness != LICET_MINIMIZE_LATENCY && consistency->freshness != LICET_FULLY_CONSISTENT) {
        status = shapes_check(requests, count, error);
        if (status != LICET_OK)
            return status;
    }
    status = lic_engine_pin(engine, consistency, &snapshot, error);
    if (status != LICET_OK)
        return status;
    b.snapshot = &snapshot;
    b.program  = lic_engine_program(engine, &snapshot);
    lic_arena_init_with(&arena, engine->memory, scratch, sizeof scratch);
    status = bulk_run(&b, &arena, error);
    lic_arena_free(&arena);
    lic_snapshot_unpin(&snapshot);
    return status;
}

static licet_status records_check(const licet_check_request *requests, const licet_result *results, size_t count,
                                  licet_error **error)
{
    for (size_t i = 0; i < count; i++) {
        if (!LIC_RECORD_KNOWN(&results[i]))
            return lic_fail_record(error, "results");
        if (!LIC_RECORD_KNOWN(&requests[i]))
            return lic_fail_record(error, "requests");
    }
    return LICET_OK;
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
        status = bulk_inside(engine, requests, count, &consistency, results, error);
    lic_engine_leave(&call);
    for (size_t i = 0; i < count && status != LICET_OK; i++)
        licet_result_clear(&results[i]);
    return status;
}
