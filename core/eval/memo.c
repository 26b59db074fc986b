/* Open addressing in the request's arena. A table that has grown too small is left behind there: all of them together
 * are less than twice the last. */
#include "memo.h"

#define FIRST_CAPACITY ((size_t)256)

static bool resize(lic_eval_memo *memo, size_t capacity)
{
    lic_eval_memo larger = { memo->arena, lic_new_array(memo->arena, capacity, lic_memo_entry), capacity, memo->count };

    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < memo->capacity; i++)
        if (memo->entries[i].key != 0)
            *lic_eval_memo_entry(&larger, memo->entries[i].key) = memo->entries[i];
    *memo = larger;
    return true;
}

lic_eval_memo *lic_eval_memo_new(lic_arena *arena)
{
    lic_eval_memo *memo = lic_new(arena, lic_eval_memo);

    if (memo == NULL)
        return NULL;
    memo->arena = arena;
    return resize(memo, FIRST_CAPACITY) ? memo : NULL;
}

bool lic_eval_memo_grow(lic_eval_memo *memo)
{
    return resize(memo, memo->capacity * 2);
}
