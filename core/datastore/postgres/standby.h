/* A hot standby, asked for what need not be the newest, so that the primary has less to do. It is asked only by stores
 * that fetch what each request needs.
 *
 * Law: what it shows is used only if it is known to have all that was asked for. Its snapshots don't say which transactions
 * run between their xmin and xmax; so it has what an earlier snapshot of the primary sees when its xmin is not below the
 * xmax of that (datastore.md E6), and what is read there is read as of its xmin, which names exactly what was shown. It has
 * to be in recovery still when it has answered, of the same store, timeline and cluster as the primary, which must have
 * been heard of within max_staleness_ms. In any doubt, and whatever fails, the primary is asked. */
#ifndef LIC_DATASTORE_POSTGRES_STANDBY_H
#define LIC_DATASTORE_POSTGRES_STANDBY_H

#include "base/thread.h"
#include "datastore/datastore.h"
#include "datastore/need.h"
#include "datastore/postgres/pool.h"
#include "datastore/postgres/token.h"

typedef struct lic_pg_store lic_pg_store;

typedef struct lic_pg_standby {
    lic_pg_conninfo *conninfo;
    lic_pg_settings  settings;
    lic_pg_pool     *pool;       /* NULL: there is no standby */
    bool             made;       /* the lock is */
    lic_mutex        lock;       /* of what follows */
    lic_pg_identity  identity;   /* of the primary that was seen */
    uint64_t         xmax;       /* the highest of its snapshots; 0: none was seen */
    uint64_t         seen_ms;    /* when it had them, at the earliest */
    uint64_t         rest_until; /* it is not asked before: it did not answer, or is behind */
} lic_pg_standby;

/* Reads the connection string. Nothing happens where it is not given. INVALID_ARGUMENT (config), OUT_OF_MEMORY: free it. */
licet_status lic_pg_standby_init(lic_pg_store *store, const licet_options *options, licet_error **error);
void         lic_pg_standby_stop(lic_pg_standby *standby); /* once the bell was rung */
void         lic_pg_standby_free(lic_pg_standby *standby);
uint64_t     lic_pg_standby_round_trips(lic_pg_standby *standby);

/* The primary had this snapshot, since_ms or later. */
void lic_pg_standby_saw(lic_pg_store *store, const lic_pg_identity *identity, const lic_pg_snapshot *snapshot,
                        uint64_t since_ms);

/* Fetches what is needed and pins it: of a standby that has what `wanted` sees, or (NULL) what was last seen of the primary.
 * false: that could not be done, and nothing is pinned. */
bool lic_pg_standby_fetch(lic_pg_store *store, const lic_need *need, const lic_pg_snapshot *wanted, uint64_t until_ms,
                          lic_arena *arena, lic_snapshot *snapshot);

void lic_pg_standby_before_fork(lic_pg_standby *standby);
void lic_pg_standby_after_fork_parent(lic_pg_standby *standby);
void lic_pg_standby_after_fork_child(lic_pg_standby *standby);

#endif
