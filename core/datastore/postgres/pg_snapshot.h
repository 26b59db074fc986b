/* Postgres snapshots, which are our revisions: xmin:xmax:xip. A snapshot sees transaction x when x < xmax and x is not
 * in xip (and committed); every x < xmin has ended. datastore.md D0, E6.
 *
 * A valid one has 1 <= xmin <= xmax <= LIC_PG_NEVER, and xip ascending, without doubles, in [xmin, xmax). What the
 * functions below make is valid, and they are given nothing else. Values: whoever made the arena owns xip, and nobody
 * writes to it afterwards, so copies of the record may share it. */
#ifndef LIC_DATASTORE_POSTGRES_PG_SNAPSHOT_H
#define LIC_DATASTORE_POSTGRES_PG_SNAPSHOT_H

#include "base/arena.h"
#include "base/error.h"

/* The largest xid8 that our tables can hold: deleted_xid of what is alive, which no transaction ever has. */
#define LIC_PG_NEVER ((uint64_t)INT64_MAX)
/* More running transactions than this make no snapshot: 512 KiB. A server whose every connection writes has fewer. */
#define LIC_PG_RUNNING_MAX ((size_t)65536)

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

/* The short form of tokens: xmin, ':', xmax - xmin, ':', and each of xip as its distance to the one before, the first to
 * xmin. Its size; 0 when there is more of it than room. */
size_t       lic_pg_snapshot_pack(const lic_pg_snapshot *snapshot, char *out, size_t room);
licet_status lic_pg_snapshot_unpack(lic_arena *arena, lic_str text, lic_pg_snapshot *snapshot, licet_error **error);

/* The snapshot of a transaction of the primary becomes what it makes visible: all that it saw, and itself. Its xid is
 * taken out of xip; one that was handed out after the snapshot was taken moves xmax behind it, and what was handed out
 * before it counts as running. The array, if it changes, is a new one in the arena. LIMIT_EXCEEDED when that is more than
 * LIC_PG_RUNNING_MAX, INVALID_TOKEN for 0 and for LIC_PG_NEVER and above, OUT_OF_MEMORY: *snapshot stays as it was. */
licet_status lic_pg_snapshot_complete(lic_arena *arena, lic_pg_snapshot *snapshot, uint64_t xid, licet_error **error);

bool lic_pg_snapshot_sees(const lic_pg_snapshot *snapshot, uint64_t xid);
/* Does a see all that b sees? A partial order of what is seen: each of two that see the same dominates the other. */
bool lic_pg_snapshot_dominates(const lic_pg_snapshot *a, const lic_pg_snapshot *b);
/* Do they see the same? xmin has no part in it. */
bool lic_pg_snapshot_equal(const lic_pg_snapshot *a, const lic_pg_snapshot *b);
/* A copy that lives as long as the arena. false: out of memory. */
bool lic_pg_snapshot_copy(lic_arena *arena, const lic_pg_snapshot *snapshot, lic_pg_snapshot *copy);

#endif
