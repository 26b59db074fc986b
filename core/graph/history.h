/* When revisions were left behind: a short list of marks, from which follows what the time window still shows.
 *
 * The writer sets marks, any thread reads them. A mark says: at `ms`, `revision` was superseded. Marks are at
 * least a 128th of the window apart; the newest moves until it is that far from the one before, or has expired. So a
 * revision expires at the end of the window, or at most that much later.
 *
 * Law: what has expired stays so. Who gives up what belongs to a revision may rely on nobody's reading it later. */
#ifndef LIC_GRAPH_HISTORY_H
#define LIC_GRAPH_HISTORY_H

#include <stdatomic.h>
#include <stdint.h>

#define LIC_HISTORY_MARKS 160u

typedef struct lic_history_mark {
    _Atomic uint64_t ms;
    _Atomic uint64_t revision;
} lic_history_mark;

typedef struct lic_history {
    uint64_t         window_ms;
    uint32_t         newest;
    lic_history_mark marks[LIC_HISTORY_MARKS]; /* a ring; ms 0: not set */
} lic_history;

void lic_history_init(lic_history *history, uint64_t window_ms);
/* Writer: `revision` has just been superseded. */
void lic_history_mark_superseded(lic_history *history, uint64_t revision, uint64_t now_ms);
/* The oldest revision that the window shows. Any thread. */
uint64_t lic_history_oldest(const lic_history *history, uint64_t now_ms);

#endif
