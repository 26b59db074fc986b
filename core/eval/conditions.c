/* Evaluating caveats, and the conditions over them. Conditions share parts, and deep ones are deep on their left: so a
 * stack, and what is known of a part is kept. */
#include "eval/conditions.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "caveat/convert.h"
#include "eval/goal.h"

/* threat-model.md 3: of one caveat. */
#define CAVEAT_STEPS 100000u
#define CAVEAT_BYTES ((size_t)1 << 20)

/* Up to so many parameters find room on the stack. */
#define FEW_PARAMETERS 8

/* Doubles below are whole numbers exactly when they look like it. */
#define EXACT_DOUBLE 9007199254740992.0

/* ------------------------------------------------------------------ caveats */

/* What a caveat says of one relationship. */
typedef struct outcome {
    uint32_t attribute; /* LIC_NO_ATTRIBUTE: a free place */
    uint32_t caveat;    /* index in the program */
    uint8_t  truth;
    bool     failed;  /* open, because it could not be evaluated */
    uint64_t missing; /* open: bit i: parameter i is */
} outcome;

/* Converting most values changes nothing, or makes an int of a number that is one. */
static bool is_as_wanted(const lic_caveat_type *type, const lic_cel_value *value, lic_cel_value *result)
{
    *result = *value;
    switch (type->kind) {
    case LIC_CAVEAT_ANY:
        return true;
    case LIC_CAVEAT_BOOL:
        return value->kind == LIC_CEL_BOOL;
    case LIC_CAVEAT_STRING:
        return value->kind == LIC_CEL_STRING;
    case LIC_CAVEAT_INT:
        if (value->kind != LIC_CEL_DOUBLE || !(fabs(value->number) < EXACT_DOUBLE) ||
            (double)(int64_t)value->number != value->number)
            return false;
        *result = (lic_cel_value){ .kind = LIC_CEL_INT, .integer = (int64_t)value->number };
        return true;
    default:
        return false;
    }
}

/* The converter knows the parameter; here the caveat is known. Takes cause. */
static licet_status fail_conversion(licet_error **error, const lic_caveat *caveat, licet_error *cause)
{
    const licet_status status  = licet_error_status(cause);
    const lic_str      message = licet_error_message(cause);

    if (status == LICET_OUT_OF_MEMORY)
        lic_fail_memory(error);
    else
        lic_fail_reason(error, status, LICET_KIND_TYPE, "CAVEAT_PARAMETER_TYPE_ERROR", LIC_NOWHERE,
                        "type error for parameters for caveat `%.*s`: %.*s", LIC_STR_ARG(caveat->name),
                        LIC_STR_ARG(message));
    licet_error_free(cause);
    return status;
}

static licet_status convert(const lic_eval *eval, lic_arena *scratch, const lic_caveat *caveat, size_t index,
                            const lic_cel_value *value, lic_cel_value *result, licet_error **error)
{
    const lic_caveat_parameter *parameter = &caveat->parameters[index];
    licet_error                *cause     = NULL;
    licet_status                status;

    if (is_as_wanted(parameter->type, value, result))
        return LICET_OK;
    status = lic_cel_convert_parameter(scratch, parameter->name, parameter->type, value, eval->strict, result,
                                       error == NULL ? NULL : &cause);
    return status == LICET_OK || error == NULL ? status : fail_conversion(error, caveat, cause);
}

/* The relationship's values win over the request's, key by key, before they are converted. */
static licet_status find_values(const lic_eval *eval, lic_arena *scratch, const lic_caveat *caveat,
                                const lic_context *stored, lic_cel_value *values, licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < caveat->parameter_count && status == LICET_OK; i++) {
        const lic_str        name  = caveat->parameters[i].name;
        const lic_cel_value *value = stored == NULL ? NULL : lic_context_find(&stored->values, name);

        if (value == NULL && eval->context != NULL)
            value = lic_context_find(eval->context, name);
        if (value == NULL)
            values[i] = (lic_cel_value){ .kind = LIC_CEL_UNKNOWN };
        else
            status = convert(eval, scratch, caveat, i, value, &values[i], error);
    }
    return status;
}

static licet_status take_result(const lic_caveat *caveat, const lic_cel_value *result, outcome *out,
                                licet_error **error)
{
    switch (result->kind) {
    case LIC_CEL_BOOL:
        out->truth = result->boolean ? LIC_TRUE : LIC_FALSE;
        return LICET_OK;
    case LIC_CEL_UNKNOWN:
        out->missing = result->unknown;
        return LICET_OK;
    default:
        return lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_EVAL, "CAVEAT_EVALUATION_ERROR", LIC_NOWHERE,
                               "evaluation error for caveat %.*s: %s", LIC_STR_ARG(caveat->name),
                               result->kind == LIC_CEL_ERROR ? result->error : "no bool");
    }
}

static licet_status run(lic_eval *eval, lic_arena *scratch, const lic_caveat *caveat, const lic_cel_value *values,
                        outcome *out, licet_error **error)
{
    lic_cel_budget budget = { CAVEAT_STEPS, CAVEAT_BYTES };
    lic_cel_value  result;
    const char    *limit = NULL;
    bool           ran   = lic_cel_evaluate(caveat->cel, values, scratch, &budget, &result, &limit);

    eval->work += CAVEAT_STEPS - budget.steps;
    if (ran)
        return take_result(caveat, &result, out, error);
    if (limit == NULL)
        return lic_fail_memory(error);
    return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                    "evaluation error for caveat %.*s: more than the limit of %s", LIC_STR_ARG(caveat->name), limit);
}

static licet_status evaluate_caveat(lic_eval *eval, const lic_caveat *caveat, const lic_context *stored, outcome *out,
                                    licet_error **error)
{
    LIC_UNINITIALIZED lic_cel_value few[FEW_PARAMETERS];
    lic_cel_value                  *values = few;
    lic_arena                       scratch;
    licet_status                    status = LICET_OK;

    lic_arena_init(&scratch, eval->arena->memory);
    if (caveat->parameter_count > FEW_PARAMETERS)
        values = lic_arena_alloc(&scratch, caveat->parameter_count * sizeof *values);
    if (values == NULL)
        status = lic_fail_memory(error);
    else
        status = find_values(eval, &scratch, caveat, stored, values, error);
    if (status == LICET_OK)
        status = run(eval, &scratch, caveat, values, out, error);
    lic_arena_free(&scratch);
    return status;
}

/* Any error but OUT_OF_MEMORY is the caveat's own. */
static licet_status evaluate(lic_eval *eval, uint32_t attribute, outcome *out, licet_error **error)
{
    const lic_attribute *content = lic_graph_attribute(eval->snapshot->graph, attribute);
    const uint32_t       caveat  = lic_program_numbered_caveat(eval->program, content->caveat);

    *out = (outcome){ .attribute = attribute, .caveat = caveat, .truth = LIC_OPEN };
    if (caveat == LIC_NO_CAVEAT)
        return lic_fail_reason(error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_CAVEAT", LIC_NOWHERE,
                               "the caveat of a relationship is not in the schema");
    return evaluate_caveat(eval, &eval->program->caveats[caveat], content->payload, out, error);
}

/* ----------------------------------------------------------------- outcomes */

/* Two tables with open addressing: of all attributes that were met, and of one for each caveat and stored context, since
 * many relationships may have the same. Tables that have grown too small stay behind in the arena. */
struct lic_outcomes {
    lic_arena *arena;
    uint64_t   key; /* 0 at first: one entry is found by any hash, and a random key takes as long as a check */
    outcome   *entries;
    uint32_t  *contents; /* attributes, by hash. LIC_NO_ATTRIBUTE: a free place */
    size_t     capacity; /* of both: a power of two */
    size_t     count;
    outcome    first_entries[2]; /* entries, at first: most requests meet one caveat */
    uint32_t   first_contents[2];
};

static outcome *outcome_at(const lic_outcomes *outcomes, uint32_t attribute)
{
    const size_t mask = outcomes->capacity - 1;
    size_t       at   = (size_t)lic_hash_u64(attribute) & mask;

    while (outcomes->entries[at].attribute != LIC_NO_ATTRIBUTE && outcomes->entries[at].attribute != attribute)
        at = (at + 1) & mask;
    return &outcomes->entries[at];
}

/* Of an attribute with this caveat and stored context, or free. */
static uint32_t *content_at(const lic_outcomes *outcomes, const lic_graph *graph, const lic_attribute *content)
{
    const size_t mask = outcomes->capacity - 1;
    size_t       at   = (size_t)lic_hash_str(content->context, outcomes->key ^ content->caveat) & mask;

    for (;; at = (at + 1) & mask) {
        const lic_attribute *other = lic_graph_attribute(graph, outcomes->contents[at]);

        if (other == NULL || (other->caveat == content->caveat && lic_str_equal(other->context, content->context)))
            return &outcomes->contents[at];
    }
}

static bool outcomes_resize(lic_outcomes *outcomes, const lic_graph *graph, size_t capacity)
{
    const lic_outcomes old      = *outcomes;
    outcome           *entries  = lic_new_array(outcomes->arena, capacity, outcome);
    uint32_t          *contents = lic_new_array(outcomes->arena, capacity, uint32_t);

    if (entries == NULL || contents == NULL)
        return false;
    outcomes->key      = old.key == 0 ? lic_random_key() : old.key;
    outcomes->entries  = entries;
    outcomes->contents = contents;
    outcomes->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        const lic_attribute *content = lic_graph_attribute(graph, old.contents[i]);

        if (old.entries[i].attribute != LIC_NO_ATTRIBUTE)
            *outcome_at(outcomes, old.entries[i].attribute) = old.entries[i];
        if (content != NULL)
            *content_at(outcomes, graph, content) = old.contents[i];
    }
    return true;
}

lic_outcomes *lic_outcomes_new(lic_arena *arena)
{
    lic_outcomes *outcomes = lic_new(arena, lic_outcomes);

    if (outcomes == NULL)
        return NULL;
    outcomes->arena    = arena;
    outcomes->entries  = outcomes->first_entries;
    outcomes->contents = outcomes->first_contents;
    outcomes->capacity = 2;
    return outcomes;
}

/* Looks at the clock now and then. */
static lic_failure work(lic_eval *eval)
{
    if (++eval->work < LIC_STEPS_PER_CLOCK)
        return LIC_FAILURE_NONE;
    eval->work = 0;
    return lic_goal_look_at_clock(eval);
}

/* The caveat of one relationship, evaluated. */
static lic_failure find_outcome(lic_eval *eval, uint32_t attribute, outcome *out)
{
    const licet_status status = evaluate(eval, attribute, out, NULL);

    if (status == LICET_OUT_OF_MEMORY)
        return LIC_FAILURE_MEMORY;
    if (status != LICET_OK) {
        out->truth  = LIC_OPEN;
        out->failed = true;
    }
    return work(eval);
}

/* Makes the tables if there are none. false: out of memory. */
static bool keep_outcome(lic_eval *eval, const outcome *out)
{
    const lic_graph *graph    = eval->snapshot->graph;
    lic_outcomes    *outcomes = eval->outcomes;

    if (outcomes == NULL)
        outcomes = eval->outcomes = lic_outcomes_new(eval->arena);
    if (outcomes == NULL ||
        (outcomes->count >= outcomes->capacity / 2 && !outcomes_resize(outcomes, graph, outcomes->capacity * 4)))
        return false;
    *outcome_at(outcomes, out->attribute)                                    = *out;
    *content_at(outcomes, graph, lic_graph_attribute(graph, out->attribute)) = out->attribute;
    outcomes->count++;
    return true;
}

/* What was found out for another relationship with the same caveat and stored context. */
static bool find_alike(const lic_eval *eval, uint32_t attribute, outcome *out)
{
    const lic_graph *graph = eval->snapshot->graph;
    const uint32_t   other = *content_at(eval->outcomes, graph, lic_graph_attribute(graph, attribute));

    if (other == LIC_NO_ATTRIBUTE)
        return false;
    *out           = *outcome_at(eval->outcomes, other);
    out->attribute = attribute;
    return true;
}

/* The same, from the tables if it is there. */
static lic_failure recall(lic_eval *eval, uint32_t attribute, outcome *out)
{
    lic_failure failure = LIC_FAILURE_NONE;

    if (eval->outcomes != NULL) {
        *out = *outcome_at(eval->outcomes, attribute);
        if (out->attribute == attribute)
            return LIC_FAILURE_NONE;
    }
    if (eval->outcomes == NULL || !find_alike(eval, attribute, out))
        failure = find_outcome(eval, attribute, out);
    if (failure == LIC_FAILURE_NONE && !keep_outcome(eval, out))
        failure = LIC_FAILURE_MEMORY;
    return failure;
}

/* --------------------------------------------------------------- conditions */

/* What is known of a condition that has operands. */
typedef struct part {
    const lic_condition *condition; /* NULL: a free place */
    uint8_t              truth;
    bool                 gathered;
} part;

/* One that is being judged. */
typedef struct open_part {
    const lic_condition *condition;
    uint8_t              looked_at; /* operands, or all there are once one has decided */
    uint8_t              truth;     /* of those */
} open_part;

typedef struct judge {
    lic_eval  *eval;
    lic_arena  scratch; /* all below */
    part      *parts;
    size_t     part_count;
    size_t     part_capacity; /* a power of two */
    open_part *stack;
    size_t     height;
    size_t     stack_capacity;
} judge;

static part *part_at(const judge *j, const lic_condition *condition)
{
    const size_t mask = j->part_capacity - 1;
    size_t       at   = (size_t)lic_hash_u64((uintptr_t)condition) & mask;

    while (j->parts[at].condition != NULL && j->parts[at].condition != condition)
        at = (at + 1) & mask;
    return &j->parts[at];
}

static bool grow_parts(judge *j)
{
    judge larger = *j;

    larger.part_capacity = j->part_capacity == 0 ? 32 : j->part_capacity * 2;
    larger.parts         = lic_new_array(&j->scratch, larger.part_capacity, part);
    if (larger.parts == NULL)
        return false;
    for (size_t i = 0; i < j->part_capacity; i++)
        if (j->parts[i].condition != NULL)
            *part_at(&larger, j->parts[i].condition) = j->parts[i];
    j->parts         = larger.parts;
    j->part_capacity = larger.part_capacity;
    return true;
}

static bool add_part(judge *j, const lic_condition *condition, lic_truth truth)
{
    if (j->part_count >= j->part_capacity / 2 && !grow_parts(j))
        return false;
    *part_at(j, condition) = (part){ condition, (uint8_t)truth, false };
    j->part_count++;
    return true;
}

static bool push(judge *j, const lic_condition *condition)
{
    void *stack = j->stack;

    if (!lic_arena_grow(&j->scratch, &stack, &j->stack_capacity, j->height + 1, sizeof *j->stack))
        return false;
    j->stack              = stack;
    j->stack[j->height++] = (open_part){ condition, 0, LIC_OPEN };
    return true;
}

/* *known is false for one that has to be judged first. */
static lic_failure look_up(judge *j, const lic_condition *condition, bool *known, lic_truth *truth)
{
    outcome     out = { .truth = LIC_OPEN };
    const part *found;
    lic_failure failure;

    *known = true;
    if (condition->kind == LIC_CONDITION_LEAF) {
        failure = recall(j->eval, condition->leaf, &out);
        *truth  = (lic_truth)out.truth;
        return failure;
    }
    found  = j->part_capacity == 0 ? NULL : part_at(j, condition);
    *known = found != NULL && found->condition != NULL;
    if (*known)
        *truth = (lic_truth)found->truth;
    return LIC_FAILURE_NONE;
}

/* Takes in the truth of the next operand. */
static void take_operand(open_part *top, lic_truth truth)
{
    const lic_condition_kind kind = top->condition->kind;

    if (kind == LIC_CONDITION_NOT)
        truth = (lic_truth)(LIC_TRUE - truth);
    if (top->looked_at == 0 || (kind == LIC_CONDITION_AND ? truth < top->truth : truth > top->truth))
        top->truth = (uint8_t)truth;
    top->looked_at++;
    if (kind == LIC_CONDITION_NOT || top->truth == (kind == LIC_CONDITION_AND ? LIC_FALSE : LIC_TRUE))
        top->looked_at = 2;
}

static lic_failure judge_next(judge *j)
{
    open_part           *top     = &j->stack[j->height - 1];
    const lic_condition *operand = top->looked_at == 0 ? top->condition->left : top->condition->right;
    lic_truth            truth   = LIC_OPEN;
    bool                 known   = true;
    lic_failure          failure;

    if (top->looked_at == 2) {
        j->height--;
        return add_part(j, top->condition, (lic_truth)top->truth) ? LIC_FAILURE_NONE : LIC_FAILURE_MEMORY;
    }
    failure = look_up(j, operand, &known, &truth);
    if (failure != LIC_FAILURE_NONE)
        return failure;
    if (!known)
        return push(j, operand) ? LIC_FAILURE_NONE : LIC_FAILURE_MEMORY;
    take_operand(top, truth);
    return work(j->eval);
}

static lic_failure judge_condition(judge *j, const lic_condition *root, lic_truth *truth)
{
    lic_failure failure = LIC_FAILURE_NONE;
    bool        known   = root->kind == LIC_CONDITION_LEAF;

    if (!known && !push(j, root))
        return LIC_FAILURE_MEMORY;
    while (j->height > 0 && failure == LIC_FAILURE_NONE)
        failure = judge_next(j);
    return failure == LIC_FAILURE_NONE ? look_up(j, root, &known, truth) : failure;
}

/* ---------------------------------------------------------- what stays open */

/* Masks of parameters, by caveat. */
typedef struct gathering {
    judge    *judge;
    uint64_t *masks;
} gathering;

static licet_status gather_outcome(const lic_eval *eval, uint64_t *masks, const outcome *out, licet_error **error)
{
    outcome      again;
    licet_status status;

    if (!out->failed) {
        masks[out->caveat] |= out->missing;
        return LICET_OK;
    }
    /* Only now somebody wants to know why. */
    status = evaluate((lic_eval *)eval, out->attribute, &again, error);
    return status == LICET_OK ? lic_fail_memory(error) : status;
}

/* An operand that stays open is looked into next. */
static lic_failure gather_operand(judge *j, const lic_condition *operand)
{
    lic_truth   truth   = LIC_FALSE;
    bool        known   = false;
    lic_failure failure = operand == NULL ? LIC_FAILURE_NONE : look_up(j, operand, &known, &truth);

    if (failure != LIC_FAILURE_NONE || truth != LIC_OPEN)
        return failure;
    if (operand->kind != LIC_CONDITION_LEAF) {
        part *found = part_at(j, operand);

        if (found->gathered)
            return LIC_FAILURE_NONE;
        found->gathered = true;
    }
    return push(j, operand) ? LIC_FAILURE_NONE : LIC_FAILURE_MEMORY;
}

static lic_failure gather_next(judge *j, const lic_condition *condition)
{
    lic_failure failure = gather_operand(j, condition->right);

    if (failure == LIC_FAILURE_NONE)
        failure = gather_operand(j, condition->left);
    return failure == LIC_FAILURE_NONE ? work(j->eval) : failure;
}

/* root is open. From the left, so that the leftmost error is told. */
static licet_status gather(judge *j, const lic_condition *root, uint64_t *masks, licet_error **error)
{
    lic_failure  failure = gather_operand(j, root);
    licet_status status  = LICET_OK;
    outcome      out;

    while (j->height > 0 && failure == LIC_FAILURE_NONE && status == LICET_OK) {
        const lic_condition *condition = j->stack[--j->height].condition;

        if (condition->kind != LIC_CONDITION_LEAF) {
            failure = gather_next(j, condition);
            continue;
        }
        failure = recall(j->eval, condition->leaf, &out);
        if (failure == LIC_FAILURE_NONE)
            status = gather_outcome(j->eval, masks, &out, error);
    }
    return failure == LIC_FAILURE_NONE ? status : lic_eval_fail(j->eval, failure, error);
}

/* ---------------------------------------------------------------- the names */

static int compare_names(const void *a, const void *b)
{
    return lic_str_compare(*(const lic_str *)a, *(const lic_str *)b);
}

static size_t count_names(const lic_program *program, const uint64_t *masks)
{
    size_t count = 0;

    for (size_t i = 0; i < program->caveat_count; i++)
        count += (size_t)__builtin_popcountll(masks[i]);
    return count;
}

static void list_names(const lic_program *program, const uint64_t *masks, lic_str *names)
{
    for (size_t i = 0; i < program->caveat_count; i++)
        for (uint64_t mask = masks[i]; mask != 0; mask &= mask - 1)
            *names++ = program->caveats[i].parameters[__builtin_ctzll(mask)].name;
}

static bool name_missing(const lic_eval *eval, const uint64_t *masks, lic_missing *missing)
{
    const size_t count = count_names(eval->program, masks);
    lic_str     *names = lic_new_array(eval->arena, count, lic_str);
    size_t       kept  = 0;

    if (names == NULL)
        return false;
    list_names(eval->program, masks, names);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !lic_str_equal(names[kept - 1], names[i]))
            names[kept++] = names[i];
    *missing = (lic_missing){ names, kept };
    return true;
}

/* --------------------------------------------------------------- interface */

static judge judge_init(lic_eval *eval)
{
    judge j = { .eval = eval };

    lic_arena_init(&j.scratch, eval->arena->memory);
    return j;
}

lic_failure lic_caveat_truth(lic_eval *eval, uint32_t attribute, lic_truth *truth)
{
    outcome     out;
    lic_failure failure = eval->outcomes == NULL ? find_outcome(eval, attribute, &out) : recall(eval, attribute, &out);

    *truth = failure == LIC_FAILURE_NONE ? (lic_truth)out.truth : LIC_OPEN;
    if (eval->outcomes == NULL && *truth != LIC_TRUE && failure == LIC_FAILURE_NONE && !keep_outcome(eval, &out))
        failure = LIC_FAILURE_MEMORY;
    return failure;
}

lic_failure lic_condition_truth(lic_eval *eval, const lic_condition *condition, lic_truth *truth)
{
    judge       j = judge_init(eval);
    lic_failure failure;

    *truth  = LIC_FALSE;
    failure = judge_condition(&j, condition, truth);
    lic_arena_free(&j.scratch);
    return failure;
}

static lic_value value_of(lic_truth truth)
{
    return truth == LIC_FALSE ? LIC_NO : truth == LIC_TRUE ? LIC_YES : LIC_IF;
}

/* A condition of several parts. */
static licet_status decide_parts(lic_eval *eval, const lic_condition *condition, lic_truth *truth, uint64_t **masks,
                                 licet_error **error)
{
    judge        j       = judge_init(eval);
    lic_failure  failure = judge_condition(&j, condition, truth);
    licet_status status  = LICET_OK;

    if (failure != LIC_FAILURE_NONE) {
        status = lic_eval_fail(eval, failure, error);
    } else if (*truth == LIC_OPEN) {
        *masks = lic_new_array(eval->arena, eval->program->caveat_count, uint64_t);
        status = *masks == NULL ? lic_fail_memory(error) : gather(&j, condition, *masks, error);
    }
    lic_arena_free(&j.scratch);
    return status;
}

/* Mostly one relationship decides: then no table is needed. */
static licet_status decide_leaf(lic_eval *eval, uint32_t attribute, lic_truth *truth, uint64_t **masks,
                                licet_error **error)
{
    outcome     out;
    lic_failure failure = eval->outcomes == NULL ? find_outcome(eval, attribute, &out) : recall(eval, attribute, &out);

    if (failure != LIC_FAILURE_NONE)
        return lic_eval_fail(eval, failure, error);
    *truth = (lic_truth)out.truth;
    if (*truth != LIC_OPEN)
        return LICET_OK;
    *masks = lic_new_array(eval->arena, eval->program->caveat_count, uint64_t);
    return *masks == NULL ? lic_fail_memory(error) : gather_outcome(eval, *masks, &out, error);
}

licet_status lic_condition_decide(lic_eval *eval, const lic_condition *condition, lic_value *value,
                                  lic_missing *missing, licet_error **error)
{
    lic_truth    truth = LIC_FALSE;
    uint64_t    *masks = NULL;
    licet_status status;

    *value   = LIC_NO;
    *missing = (lic_missing){ NULL, 0 };
    status   = condition->kind == LIC_CONDITION_LEAF ? decide_leaf(eval, condition->leaf, &truth, &masks, error)
                                                     : decide_parts(eval, condition, &truth, &masks, error);
    if (status == LICET_OK && truth == LIC_OPEN && !name_missing(eval, masks, missing))
        status = lic_fail_memory(error);
    if (status == LICET_OK)
        *value = value_of(truth);
    return status;
}
