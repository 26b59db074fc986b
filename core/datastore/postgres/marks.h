/* Which revision of the graph is which snapshot of the database.
 *
 * A catch-up that finds rows makes a local revision, whose mark begins with the catch-up's snapshot, the first. One that
 * finds none says that the database is still as the newest revision has it: its snapshot becomes that mark's latest.
 *
 * Law: marks ascend. Each snapshot dominates all before it, in its own mark and in older ones; revisions ascend for good,
 * also across lic_pg_marks_clear(). Nothing of ours was changed by what latest sees and first does not.
 *
 * A mark is stored in two steps, because the graph can't take back what it has published: first it is reserved, which
 * may fail, then the graph changes, then it is added, which can't. Whoever asks between them for the new revision gets
 * what was reserved.
 *
 * Results of prefetch have numbers of their own, with LIC_PG_NOTED set, and no order among them.
 *
 * Any thread; reserving, adding, extending, trimming and clearing are done by one at a time. Not under the graph's write
 * lock: around a fork it is taken after the one in here. */
#ifndef LIC_DATASTORE_POSTGRES_MARKS_H
#define LIC_DATASTORE_POSTGRES_MARKS_H

#include "base/thread.h"
#include "datastore/postgres/pg_snapshot.h"

#define LIC_PG_NOTED (UINT64_C(1) << 63)

#define LIC_PG_MARKS_MAX ((size_t)65536)
#define LIC_PG_NOTES_MAX ((size_t)4096)
/* Running transactions in all marks, and in all notes: 8 MiB each. What is older goes, as if there were more marks. */
#define LIC_PG_MARKS_RUNNING_MAX ((size_t)1 << 20)

typedef struct lic_pg_mark {
    uint64_t        revision;
    lic_pg_snapshot first;
    lic_pg_snapshot latest; /* its xip may be first's */
} lic_pg_mark;

typedef struct lic_pg_marks {
    lic_memory *memory;
    bool        made; /* the lock is */
    lic_mutex   lock; /* of what follows */

    lic_pg_mark *ring;     /* oldest first, from `start` on */
    size_t       capacity; /* a power of two, or 0 */
    size_t       start;
    size_t       count;
    size_t       running; /* members of all arrays */

    bool            is_reserved;
    lic_pg_snapshot reserved;
    uint64_t        reserved_behind; /* the graph's newest revision at that time */

    lic_pg_snapshot *notes; /* number n at n % LIC_PG_NOTES_MAX. NULL: there was none */
    uint64_t         oldest_note;
    uint64_t         next_note;
    size_t           notes_running;
} lic_pg_marks;

/* false: no lock could be had; free it all the same. */
bool lic_pg_marks_init(lic_pg_marks *marks, lic_memory *memory);
void lic_pg_marks_free(lic_pg_marks *marks);

/* Of a catch-up or load that will change the graph, before it does; head: the graph's newest revision. Takes the place of
 * what was reserved before and not added. OUT_OF_MEMORY; UNAVAILABLE for a snapshot that does not dominate the newest: it
 * is of another server or history. After either nothing has changed, and the catch-up must not be applied. */
licet_status lic_pg_marks_reserve(lic_pg_marks *marks, uint64_t head, const lic_pg_snapshot *snapshot,
                                  licet_error **error);
/* The graph shows it, as this revision. Something is reserved. */
void lic_pg_marks_add(lic_pg_marks *marks, uint64_t revision);
/* A catch-up found nothing new: the newest revision is this snapshot as well. Errors as above, after which it is so no
 * longer than it was. There is a mark. */
licet_status lic_pg_marks_extend(lic_pg_marks *marks, const lic_pg_snapshot *snapshot, licet_error **error);

/* Forgets marks of revisions below `oldest`, but never the newest. */
void lic_pg_marks_trim(lic_pg_marks *marks, uint64_t oldest);
/* Forgets everything, notes too: the database is another one, or its history is. What tokens are bound to has to change
 * after this and before the next reservation: who reads it, asks here, and reads the same again, has both of one history. */
void lic_pg_marks_clear(lic_pg_marks *marks);

/* Does the newest revision show all that the snapshot sees? */
bool lic_pg_marks_reach(lic_pg_marks *marks, const lic_pg_snapshot *snapshot);
/* The newest mark's revision and latest snapshot, which is copied to the arena. *revision is 0: there is no mark.
 * OUT_OF_MEMORY. */
licet_status lic_pg_marks_head(lic_pg_marks *marks, lic_arena *arena, uint64_t *revision, lic_pg_snapshot *snapshot,
                               licet_error **error);
/* The revision that has exactly what the snapshot shows; false: none is known to. */
bool lic_pg_marks_find(lic_pg_marks *marks, const lic_pg_snapshot *snapshot, uint64_t *revision);
/* What a revision, or a note, is in the database, copied to the arena. Of a revision whose mark is gone it is that of the
 * next newer one: never an older one than was meant. REVISION_EXPIRED when it can't be told; OUT_OF_MEMORY. */
licet_status lic_pg_marks_snapshot(lic_pg_marks *marks, uint64_t revision, lic_arena *arena, lic_pg_snapshot *snapshot,
                                   licet_error **error);
/* The same, but never that of a newer revision: REVISION_EXPIRED for one whose own mark is gone. */
licet_status lic_pg_marks_exact(lic_pg_marks *marks, uint64_t revision, lic_arena *arena, lic_pg_snapshot *snapshot,
                                licet_error **error);

/* Remembers the snapshot of a result of prefetch: its number. 0: out of memory. The last LIC_PG_NOTES_MAX are kept. */
uint64_t lic_pg_marks_note(lic_pg_marks *marks, const lic_pg_snapshot *snapshot);

/* Around a fork, on the forking thread. In the child, head: the graph's newest revision. A thread that is gone may have
 * published it without coming to add it; what it had reserved is added then, else forgotten. */
void lic_pg_marks_before_fork(lic_pg_marks *marks);
void lic_pg_marks_after_fork_parent(lic_pg_marks *marks);
void lic_pg_marks_after_fork_child(lic_pg_marks *marks, uint64_t head);

#endif
