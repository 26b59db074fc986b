/* Open addressing in the request's arena. A table that has grown too small is left behind there: all of them together
 * are less than twice the last. */
#include "memo.h"

#include "base/hash.h"

#define FIRST_CAPACITY ((size_t)256)

typedef struct memo_entry {
    uint64_t    key;   /* goal_key; 0: free */
    lic_finding found; /* its need is UINT32_MAX where no value is known */
    uint32_t    tried; /* fails up to this depth */
} memo_entry;

struct lic_eval_memo {
    lic_arena  *arena;
    memo_entry *entries;
    size_t      capacity; /* a power of two */
    size_t      count;
};

/* Not 0: no relation has the number LIC_NO_REL. */
static uint64_t goal_key(lic_goal goal)
{
    return (uint64_t)(goal.relation + 1) << 32 | goal.node;
}

static inline memo_entry *entry_of(const lic_eval_memo *memo, uint64_t key)
{
    size_t mask = memo->capacity - 1;
    size_t at   = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask; /* nobody outside chooses keys */

    while (memo->entries[at].key != 0 && memo->entries[at].key != key)
        at = (at + 1) & mask;
    return &memo->entries[at];
}

static bool memo_resize(lic_eval_memo *memo, size_t capacity)
{
    lic_eval_memo larger = { memo->arena, lic_new_array(memo->arena, capacity, memo_entry), capacity, memo->count };

    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < memo->capacity; i++)
        if (memo->entries[i].key != 0)
            *entry_of(&larger, memo->entries[i].key) = memo->entries[i];
    *memo = larger;
    return true;
}

lic_eval_memo *lic_eval_memo_new(lic_arena *arena)
{
    lic_eval_memo *memo = lic_new(arena, lic_eval_memo);

    if (memo == NULL)
        return NULL;
    memo->arena = arena;
    return memo_resize(memo, FIRST_CAPACITY) ? memo : NULL;
}

lic_finding lic_eval_memo_find(const lic_eval_memo *memo, lic_goal goal, uint32_t depth)
{
    const memo_entry *entry = entry_of(memo, goal_key(goal));

    if (entry->key != 0 && depth >= lic_finding_need(entry->found))
        return entry->found;
    return lic_finding_of(entry->key != 0 && depth <= entry->tried ? LIC_FAILED : LIC_NOT_FOUND, NULL, 0);
}

bool lic_eval_memo_add(lic_eval_memo *memo, lic_goal goal, uint32_t depth, lic_finding finding)
{
    uint64_t    key = goal_key(goal);
    memo_entry *entry;

    if (memo->count >= memo->capacity / 2 && !memo_resize(memo, memo->capacity * 2))
        return false;
    entry = entry_of(memo, key);
    if (entry->key == 0) {
        *entry = (memo_entry){ .key = key, .found = lic_finding_of(LIC_NO, NULL, UINT32_MAX) };
        memo->count++;
    }
    if (lic_finding_value(finding) == LIC_FAILED) {
        if (depth > entry->tried)
            entry->tried = depth;
    } else if (lic_finding_need(finding) < lic_finding_need(entry->found)) {
        entry->found = finding;
    }
    return true;
}
