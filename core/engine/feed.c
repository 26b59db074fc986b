/* Waiting for commits. */
#include "engine/feed.h"

#include "base/clock.h"

bool lic_feed_init(lic_feed *feed)
{
    atomic_init(&feed->waiting, 0);
    if (!lic_mutex_init(&feed->lock))
        return false;
    feed->made = lic_waiters_init(&feed->waiters);
    if (!feed->made)
        lic_mutex_destroy(&feed->lock);
    return feed->made;
}

void lic_feed_free(lic_feed *feed)
{
    if (!feed->made)
        return;
    lic_waiters_destroy(&feed->waiters);
    lic_mutex_destroy(&feed->lock);
    feed->made = false;
}

void lic_feed_wait(lic_feed *feed, uint64_t until_ms, bool (*still_waits)(const void *context), const void *context)
{
    lic_mutex_lock(&feed->lock);
    atomic_fetch_add(&feed->waiting, 1);
    while (still_waits(context) && lic_monotonic_ms() < until_ms)
        lic_waiters_wait(&feed->waiters, &feed->lock, until_ms);
    atomic_fetch_sub(&feed->waiting, 1);
    lic_mutex_unlock(&feed->lock);
}

/* Under the lock, so that nobody is between looking and waiting. */
void lic_feed_wake(lic_feed *feed)
{
    lic_mutex_lock(&feed->lock);
    lic_waiters_wake(&feed->waiters);
    lic_mutex_unlock(&feed->lock);
}

/* What was waiting or held the lock is not in this process; made anew, both know nothing of it. */
void lic_feed_after_fork(lic_feed *feed)
{
    lic_feed_init(feed);
}
