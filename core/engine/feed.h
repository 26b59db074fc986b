/* Who waits for the next commit. Commits cost a load more when nobody does.
 *
 * Law: who waits has first said so, then looked whether there is a commit; who commits has first published it, then
 * looked whether anybody waits. All four are sequentially consistent, so one of the two sees the other. */
#ifndef LIC_ENGINE_FEED_H
#define LIC_ENGINE_FEED_H

#include <stdatomic.h>

#include "base/thread.h"

typedef struct lic_feed {
    _Atomic uint32_t waiting;
    bool             made; /* lock and waiters are */
    lic_mutex        lock;
    lic_waiters      waiters;
} lic_feed;

bool lic_feed_init(lic_feed *feed); /* false: out of memory */
void lic_feed_free(lic_feed *feed); /* nobody waits. Of one that was never made, too */

/* Waits, not inside a call, until still_waits(context) is false or lic_monotonic_ms() has come to the time. */
void lic_feed_wait(lic_feed *feed, uint64_t until_ms, bool (*still_waits)(const void *context), const void *context);

/* What they wait for has changed: they look again. */
void lic_feed_wake(lic_feed *feed);

/* The same after a commit, not under the write lock. */
static inline void lic_feed_tell(lic_feed *feed)
{
    if (atomic_load(&feed->waiting) != 0)
        lic_feed_wake(feed);
}

/* In the child of a fork: nobody waits here. */
void lic_feed_after_fork(lic_feed *feed);

#endif
