/* Postgres snapshots, which are our revisions: xmin:xmax:xip. A snapshot sees transaction x when x < xmax and x is not
 * in xip (and committed); every x < xmin has ended. datastore.md D0, E6. */
#ifndef LIC_DATASTORE_POSTGRES_PG_SNAPSHOT_H
#define LIC_DATASTORE_POSTGRES_PG_SNAPSHOT_H

#include "base/arena.h"
#include "base/error.h"

typedef struct lic_pg_snapshot {
    uint64_t  xmin;
    uint64_t  xmax;
    uint64_t *xip; /* running between them; ascending */
    size_t    xip_count;
} lic_pg_snapshot;

/* Of the text form ("83585:83590:83585,83587"), in the arena. INVALID_TOKEN for what is no snapshot, OUT_OF_MEMORY. */
licet_status lic_pg_snapshot_read(lic_arena *arena, lic_str text, lic_pg_snapshot *snapshot, licet_error **error);
/* Of Postgres' binary form (pg_snapshot_send: count, xmin, xmax, xip...). */
licet_status lic_pg_snapshot_receive(lic_arena *arena, lic_str bytes, lic_pg_snapshot *snapshot, licet_error **error);
/* Appends the text form. */
void lic_pg_snapshot_print(const lic_pg_snapshot *snapshot, lic_text *out);

bool lic_pg_snapshot_sees(const lic_pg_snapshot *snapshot, uint64_t xid);
/* Does a see all that b sees? A partial order. */
bool lic_pg_snapshot_dominates(const lic_pg_snapshot *a, const lic_pg_snapshot *b);
bool lic_pg_snapshot_equal(const lic_pg_snapshot *a, const lic_pg_snapshot *b);

#endif
