/* Marks in time. A mark's time is stored before its revision and loaded after it, so a reader that meets a mark
 * in change sees it too young, never too old. */
#include "history.h"

#include <stdbool.h>
#include <stddef.h>

void lic_history_init(lic_history *history, uint64_t window_ms)
{
    *history = (lic_history){ .window_ms = window_ms };
}

static uint64_t mark_ms(const lic_history *history, uint32_t index)
{
    return atomic_load_explicit(&history->marks[index].ms, memory_order_relaxed);
}

static bool has_expired(const lic_history *history, uint32_t index, uint64_t now_ms)
{
    const uint64_t ms = mark_ms(history, index);

    return ms != 0 && ms + history->window_ms <= now_ms;
}

void lic_history_mark_superseded(lic_history *history, uint64_t revision, uint64_t now_ms)
{
    uint32_t          before = (history->newest + LIC_HISTORY_MARKS - 1) % LIC_HISTORY_MARKS;
    lic_history_mark *mark;

    if (mark_ms(history, history->newest) - mark_ms(history, before) > history->window_ms / 128 ||
        has_expired(history, history->newest, now_ms))
        history->newest = (history->newest + 1) % LIC_HISTORY_MARKS;
    mark = &history->marks[history->newest];
    atomic_store_explicit(&mark->ms, now_ms + 1, memory_order_release);
    atomic_store_explicit(&mark->revision, revision, memory_order_release);
}

uint64_t lic_history_oldest(const lic_history *history, uint64_t now_ms)
{
    uint64_t oldest = 0;

    for (size_t i = 0; i < LIC_HISTORY_MARKS; i++) {
        uint64_t revision = atomic_load_explicit(&history->marks[i].revision, memory_order_acquire);
        uint64_t ms       = atomic_load_explicit(&history->marks[i].ms, memory_order_acquire);

        if (ms != 0 && ms + history->window_ms <= now_ms && revision >= oldest)
            oldest = revision + 1;
    }
    return oldest;
}
