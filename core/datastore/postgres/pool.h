/* Connections for writes and prefetches. A thread of their own opens them, since names are looked up and that can't be
 * bounded; those who want one wait for it, at most until their deadline. Threads and connections begin with the first
 * use. */
#ifndef LIC_DATASTORE_POSTGRES_POOL_H
#define LIC_DATASTORE_POSTGRES_POOL_H

#include "base/thread.h"
#include "datastore/postgres/link.h"

typedef struct lic_pg_pool lic_pg_pool;

/* conninfo, settings' schema and bell must outlive it. most: connections at a time. NULL: out of memory. */
lic_pg_pool *lic_pg_pool_new(lic_memory *memory, const lic_pg_conninfo *conninfo, const lic_pg_settings *settings,
                             uint32_t most, const lic_pg_bell *bell);
void         lic_pg_pool_free(lic_pg_pool *pool); /* stopped. NULL is fine */

/* A link that is idle. UNAVAILABLE with what keeps it from connecting, DEADLINE_EXCEEDED where all are in use, CLOSED;
 * INVALID_ARGUMENT (config) for what no retry will mend, at once.
 *
 * An attempt to connect that failed is told to all who came before it began: they are not kept until their deadline,
 * for a server that is down would keep every thread that long. Who can wait for it to come back takes again: attempts
 * have pauses between them, from 50 ms to 5 s. */
licet_status lic_pg_pool_take(lic_pg_pool *pool, lic_pg_wait wait, lic_pg_link **link, licet_error **error);
/* Gives it back; one that is lost or in the middle of something is closed. NULL is fine. */
void lic_pg_pool_give(lic_pg_pool *pool, lic_pg_link *link);

uint64_t lic_pg_pool_round_trips(lic_pg_pool *pool);

/* Once the bell was rung: joins the thread and closes what is idle. Takes as long as the look-up of a name that is
 * under way. Twice is fine. */
void lic_pg_pool_stop(lic_pg_pool *pool);

/* Changes when a fork makes a child: links that were taken before are gone there, with their memory. */
uint32_t lic_pg_pool_generation(lic_pg_pool *pool);

/* Around a fork. The child has no connections; one that was just being opened stays as a descriptor of nobody's. */
void lic_pg_pool_before_fork(lic_pg_pool *pool);
void lic_pg_pool_after_fork_parent(lic_pg_pool *pool);
void lic_pg_pool_after_fork_child(lic_pg_pool *pool);

#endif
