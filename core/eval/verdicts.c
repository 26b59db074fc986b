/* Sets of what is missing are sorted lists of numbers: of names, or of attributes that failed. A set is kept once. */
#include "eval/verdicts.h"

#include <stdlib.h>

#include "base/hash.h"
#include "eval/goal.h"

/* Numbers from here on are of failed attributes. */
#define FIRST_FAILED (UINT32_C(1) << 31)

/* Verdicts below this are no and yes. */
#define FIRST_OPEN 2u

typedef struct lic_missing_set {
    size_t   first; /* in items */
    uint32_t count;
    uint32_t hash;
} missing_set;

typedef struct lic_row_verdict {
    uint32_t    attribute; /* LIC_NO_ATTRIBUTE: free */
    lic_verdict verdict;
} row_verdict;

static lic_verdict out_of_memory(lic_verdicts *v)
{
    v->failure = LIC_FAILURE_MEMORY;
    return LIC_VERDICT_NO;
}

void lic_verdicts_init(lic_verdicts *v, lic_eval *eval, lic_arena *arena)
{
    *v = (lic_verdicts){ .eval = eval, .arena = arena };
    lic_map_init(&v->known_names, arena->memory, 0);
}

void lic_verdicts_free(lic_verdicts *v)
{
    lic_map_free(&v->known_names);
}

/* -------------------------------------------------------------------- sets */

static uint32_t hash_items(const uint32_t *items, size_t count)
{
    uint64_t hash = count;

    for (size_t i = 0; i < count; i++)
        hash = lic_hash_u64(hash ^ items[i]);
    return (uint32_t)hash;
}

static uint32_t *set_at(const lic_verdicts *v, const uint32_t *items, size_t count, uint32_t hash)
{
    const size_t mask = v->set_table_capacity - 1;
    size_t       at   = hash & mask;

    for (; v->set_table[at] != 0; at = (at + 1) & mask) {
        const missing_set *set = &v->sets[v->set_table[at] - 1];

        if (set->hash == hash && set->count == count &&
            memcmp(v->items + set->first, items, count * sizeof *items) == 0)
            break;
    }
    return &v->set_table[at];
}

static bool grow_set_table(lic_verdicts *v)
{
    const size_t capacity = v->set_table_capacity == 0 ? 32 : v->set_table_capacity * 2;
    uint32_t    *table    = lic_new_array(v->arena, capacity, uint32_t);

    if (table == NULL)
        return false;
    v->set_table          = table;
    v->set_table_capacity = capacity;
    for (size_t i = 0; i < v->set_count; i++) {
        const missing_set *set = &v->sets[i];

        *set_at(v, v->items + set->first, set->count, set->hash) = (uint32_t)i + 1;
    }
    return true;
}

/* The set of the last `count` items, which stay if it is new. */
static lic_verdict take_set(lic_verdicts *v, size_t count)
{
    const size_t    first = v->item_count - count;
    const uint32_t *items = v->items + first;
    const uint32_t  hash  = hash_items(items, count);
    void           *sets  = v->sets;
    uint32_t       *found;

    if (v->set_count >= v->set_table_capacity / 2 && !grow_set_table(v))
        return out_of_memory(v);
    found = set_at(v, items, count, hash);
    if (*found != 0) {
        v->item_count = first;
        return *found - 1 + FIRST_OPEN;
    }
    if (!lic_arena_grow(v->arena, &sets, &v->set_capacity, v->set_count + 1, sizeof *v->sets))
        return out_of_memory(v);
    v->sets               = sets;
    v->sets[v->set_count] = (missing_set){ first, (uint32_t)count, hash };
    *found                = (uint32_t)++v->set_count;
    return *found - 1 + FIRST_OPEN;
}

static bool make_room(lic_verdicts *v, size_t count)
{
    void *items = v->items;

    if (!lic_arena_grow(v->arena, &items, &v->item_capacity, v->item_count + count, sizeof *v->items))
        return false;
    v->items = items;
    return true;
}

/* Both open. */
static lic_verdict joined(lic_verdicts *v, lic_verdict a, lic_verdict b)
{
    const missing_set *x     = &v->sets[a - FIRST_OPEN];
    const missing_set *y     = &v->sets[b - FIRST_OPEN];
    const size_t       first = v->item_count;
    size_t             i     = 0;
    size_t             j     = 0;

    if (a == b)
        return a;
    if (!make_room(v, (size_t)x->count + y->count))
        return out_of_memory(v);
    while (i < x->count || j < y->count) {
        const uint32_t left  = i < x->count ? v->items[x->first + i] : UINT32_MAX;
        const uint32_t right = j < y->count ? v->items[y->first + j] : UINT32_MAX;

        v->items[v->item_count++] = left < right ? left : right;
        i += left <= right;
        j += right <= left;
    }
    return take_set(v, v->item_count - first);
}

lic_verdict lic_verdict_or(lic_verdicts *v, lic_verdict a, lic_verdict b)
{
    if (a == LIC_VERDICT_YES || b == LIC_VERDICT_YES)
        return LIC_VERDICT_YES;
    if (a == LIC_VERDICT_NO || b == LIC_VERDICT_NO)
        return a | b;
    return joined(v, a, b);
}

lic_verdict lic_verdict_and(lic_verdicts *v, lic_verdict a, lic_verdict b)
{
    if (a == LIC_VERDICT_NO || b == LIC_VERDICT_NO)
        return LIC_VERDICT_NO;
    if (a == LIC_VERDICT_YES || b == LIC_VERDICT_YES)
        return a == LIC_VERDICT_YES ? b : a;
    return joined(v, a, b);
}

lic_verdict lic_verdict_minus(lic_verdicts *v, lic_verdict a, lic_verdict b)
{
    if (a == LIC_VERDICT_NO || b == LIC_VERDICT_YES)
        return LIC_VERDICT_NO;
    if (a == LIC_VERDICT_YES || b == LIC_VERDICT_NO)
        return b == LIC_VERDICT_NO ? a : b;
    return joined(v, a, b);
}

/* -------------------------------------------------------------------- rows */

static bool name_number(lic_verdicts *v, lic_str name, uint32_t *number)
{
    void *names = v->names;

    if (v->name_count == 0) /* few lookups get here, and asking the system takes its time */
        v->known_names.key = lic_random_key();
    if (!lic_map_add(&v->known_names, name, (uint32_t)v->name_count, number))
        return false;
    if (*number < v->name_count)
        return true;
    if (!lic_arena_grow(v->arena, &names, &v->name_capacity, v->name_count + 1, sizeof *v->names))
        return false;
    v->names                  = names;
    v->names[v->name_count++] = name;
    return true;
}

static int compare_items(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

lic_verdict lic_verdict_open(lic_verdicts *v, lic_missing missing)
{
    if (!make_room(v, missing.count))
        return out_of_memory(v);
    for (size_t i = 0; i < missing.count; i++)
        if (!name_number(v, missing.names[i], &v->items[v->item_count + i]))
            return out_of_memory(v);
    if (missing.count > 1)
        qsort(v->items + v->item_count, missing.count, sizeof *v->items, compare_items);
    v->item_count += missing.count;
    return take_set(v, missing.count);
}

static lic_verdict open_by_failure(lic_verdicts *v, uint32_t attribute)
{
    void *failed = v->failed;

    if (!make_room(v, 1) ||
        !lic_arena_grow(v->arena, &failed, &v->failed_capacity, v->failed_count + 1, sizeof *v->failed))
        return out_of_memory(v);
    v->failed                    = failed;
    v->items[v->item_count++]    = FIRST_FAILED + (uint32_t)v->failed_count;
    v->failed[v->failed_count++] = attribute;
    return take_set(v, 1);
}

static row_verdict *row_at(const lic_verdicts *v, uint32_t attribute)
{
    const size_t mask = v->row_capacity - 1;
    size_t       at   = (size_t)lic_hash_u64(attribute) & mask;

    while (v->rows[at].attribute != LIC_NO_ATTRIBUTE && v->rows[at].attribute != attribute)
        at = (at + 1) & mask;
    return &v->rows[at];
}

static bool grow_rows(lic_verdicts *v)
{
    lic_verdicts larger = *v;

    larger.row_capacity = v->row_capacity == 0 ? 32 : v->row_capacity * 2;
    larger.rows         = lic_new_array(v->arena, larger.row_capacity, row_verdict);
    if (larger.rows == NULL)
        return false;
    for (size_t i = 0; i < v->row_capacity; i++)
        if (v->rows[i].attribute != LIC_NO_ATTRIBUTE)
            *row_at(&larger, v->rows[i].attribute) = v->rows[i];
    v->rows         = larger.rows;
    v->row_capacity = larger.row_capacity;
    return true;
}

/* What the caveat of an attribute says. */
static lic_failure judge(lic_verdicts *v, uint32_t attribute, lic_verdict *verdict)
{
    const lic_condition *leaf = lic_condition_leaf(v->arena, attribute);
    lic_missing          missing;
    lic_value            value;
    licet_status         status;

    if (leaf == NULL)
        return LIC_FAILURE_MEMORY;
    status = lic_condition_decide(v->eval, leaf, &value, &missing, NULL);
    if (status == LICET_OUT_OF_MEMORY)
        return LIC_FAILURE_MEMORY;
    if (status == LICET_DEADLINE_EXCEEDED)
        return LIC_FAILURE_DEADLINE;
    if (status != LICET_OK)
        *verdict = open_by_failure(v, attribute);
    else if (value == LIC_IF)
        *verdict = lic_verdict_open(v, missing);
    else
        *verdict = value == LIC_YES ? LIC_VERDICT_YES : LIC_VERDICT_NO;
    return v->failure;
}

lic_failure lic_verdict_of_row(lic_verdicts *v, uint32_t attribute, lic_verdict *verdict)
{
    row_verdict *known;
    lic_failure  failure;

    *verdict = LIC_VERDICT_YES;
    if (attribute == LIC_NO_ATTRIBUTE)
        return LIC_FAILURE_NONE;
    if (v->row_count >= v->row_capacity / 2 && !grow_rows(v))
        return LIC_FAILURE_MEMORY;
    known = row_at(v, attribute);
    if (known->attribute == LIC_NO_ATTRIBUTE) {
        failure = judge(v, attribute, &known->verdict);
        if (failure != LIC_FAILURE_NONE)
            return failure;
        known->attribute = attribute;
        v->row_count++;
    }
    *verdict = known->verdict;
    return LIC_FAILURE_NONE;
}

/* --------------------------------------------------------- what is missing */

static int compare_names(const void *a, const void *b)
{
    return lic_str_compare(*(const lic_str *)a, *(const lic_str *)b);
}

/* Asked again, now that somebody wants to know why. */
static licet_status fail_again(lic_verdicts *v, uint32_t attribute, licet_error **error)
{
    const lic_condition *leaf = lic_condition_leaf(v->arena, attribute);
    lic_missing          missing;
    lic_value            value;
    licet_status         status;

    if (leaf == NULL)
        return lic_fail_memory(error);
    status = lic_condition_decide(v->eval, leaf, &value, &missing, error);
    return status == LICET_OK ? lic_fail_memory(error) : status;
}

licet_status lic_verdict_missing(lic_verdicts *v, lic_arena *arena, lic_verdict verdict, lic_missing *missing,
                                 licet_error **error)
{
    const missing_set *set   = &v->sets[verdict - FIRST_OPEN];
    const uint32_t    *items = v->items + set->first;
    lic_str           *names;

    *missing = (lic_missing){ NULL, 0 };
    for (size_t i = 0; i < set->count; i++)
        if (items[i] >= FIRST_FAILED)
            return fail_again(v, v->failed[items[i] - FIRST_FAILED], error);
    names = lic_new_array(arena, set->count, lic_str);
    if (names == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < set->count; i++) {
        names[i] = lic_arena_str(arena, v->names[items[i]]);
        if (!lic_str_given(names[i]))
            return lic_fail_memory(error);
    }
    if (set->count > 1)
        qsort(names, set->count, sizeof *names, compare_names);
    *missing = (lic_missing){ names, set->count };
    return LICET_OK;
}
