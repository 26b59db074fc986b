/* A ring of marks, in which everything is searched by halving: both revisions and snapshots ascend. */
#include "datastore/postgres/marks.h"

#define FIRST_CAPACITY ((size_t)64)

/* ---------------------------------------------------------------- snapshots of our own */

static bool keep(lic_memory *memory, const lic_pg_snapshot *snapshot, lic_pg_snapshot *copy)
{
    *copy     = *snapshot;
    copy->xip = NULL;
    if (snapshot->xip_count == 0)
        return true;
    copy->xip = lic_alloc_array(memory, snapshot->xip_count, sizeof *copy->xip);
    if (copy->xip == NULL)
        return false;
    memcpy(copy->xip, snapshot->xip, snapshot->xip_count * sizeof *copy->xip);
    return true;
}

static void drop(lic_memory *memory, lic_pg_snapshot *snapshot)
{
    lic_free(memory, snapshot->xip, snapshot->xip_count * sizeof *snapshot->xip);
    *snapshot = (lic_pg_snapshot){ 0 };
}

static bool is_identical(const lic_pg_snapshot *a, const lic_pg_snapshot *b)
{
    return a->xmin == b->xmin && a->xmax == b->xmax && a->xip_count == b->xip_count &&
           (a->xip_count == 0 || memcmp(a->xip, b->xip, a->xip_count * sizeof *a->xip) == 0);
}

static licet_status copy_out(lic_arena *arena, const lic_pg_snapshot *from, lic_pg_snapshot *to, licet_error **error)
{
    return lic_pg_snapshot_copy(arena, from, to) ? LICET_OK : lic_fail_memory(error);
}

static licet_status refuse_order(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database shows less than it did before: it is another one, or was restored");
}

/* ---------------------------------------------------------------- the ring */

static lic_pg_mark *at(const lic_pg_marks *marks, size_t index)
{
    return &marks->ring[(marks->start + index) & (marks->capacity - 1)];
}

static lic_pg_mark *newest(const lic_pg_marks *marks)
{
    return marks->count == 0 ? NULL : at(marks, marks->count - 1);
}

/* latest has an array of its own once it is another one than first. */
static bool is_shared(const lic_pg_mark *mark)
{
    return mark->latest.xip == mark->first.xip;
}

static size_t running_of(const lic_pg_mark *mark)
{
    return mark->first.xip_count + (is_shared(mark) ? 0 : mark->latest.xip_count);
}

static void drop_oldest(lic_pg_marks *marks)
{
    lic_pg_mark *mark = at(marks, 0);

    marks->running -= running_of(mark);
    if (!is_shared(mark))
        drop(marks->memory, &mark->latest);
    drop(marks->memory, &mark->first);
    marks->start = (marks->start + 1) & (marks->capacity - 1);
    marks->count--;
}

static void keep_within_limits(lic_pg_marks *marks)
{
    while (marks->count > 1 && marks->running > LIC_PG_MARKS_RUNNING_MAX)
        drop_oldest(marks);
}

static bool grow(lic_pg_marks *marks)
{
    const size_t capacity = marks->capacity == 0 ? FIRST_CAPACITY : marks->capacity * 2;
    lic_pg_mark *ring     = lic_alloc_array(marks->memory, capacity, sizeof *ring);

    if (ring == NULL)
        return false;
    for (size_t i = 0; i < marks->count; i++)
        ring[i] = *at(marks, i);
    lic_free(marks->memory, marks->ring, marks->capacity * sizeof *ring);
    marks->ring     = ring;
    marks->capacity = capacity;
    marks->start    = 0;
    return true;
}

/* Where memory does not suffice for one more, the oldest will make room. */
static bool have_room(lic_pg_marks *marks)
{
    if (marks->count < marks->capacity || marks->capacity == LIC_PG_MARKS_MAX)
        return true;
    return grow(marks) || marks->capacity > 0;
}

static void add(lic_pg_marks *marks, uint64_t revision)
{
    if (marks->count == marks->capacity)
        drop_oldest(marks);
    marks->count++;
    *newest(marks) = (lic_pg_mark){ revision, marks->reserved, marks->reserved };
    marks->running += marks->reserved.xip_count;
    marks->is_reserved = false;
    keep_within_limits(marks);
}

static void forget_reserved(lic_pg_marks *marks)
{
    if (marks->is_reserved)
        drop(marks->memory, &marks->reserved);
    marks->is_reserved = false;
}

/* ---------------------------------------------------------------- notes */

static lic_pg_snapshot *note_at(const lic_pg_marks *marks, uint64_t number)
{
    return &marks->notes[number % LIC_PG_NOTES_MAX];
}

static void drop_oldest_note(lic_pg_marks *marks)
{
    lic_pg_snapshot *note = note_at(marks, marks->oldest_note++);

    marks->notes_running -= note->xip_count;
    drop(marks->memory, note);
}

/* Its number, or 0. */
static uint64_t add_note(lic_pg_marks *marks, const lic_pg_snapshot *snapshot)
{
    lic_pg_snapshot copy;

    if (marks->notes == NULL)
        marks->notes = lic_alloc_array(marks->memory, LIC_PG_NOTES_MAX, sizeof *marks->notes);
    if (marks->notes == NULL || !keep(marks->memory, snapshot, &copy))
        return 0;
    marks->notes_running += copy.xip_count;
    while (marks->next_note - marks->oldest_note >= LIC_PG_NOTES_MAX ||
           (marks->notes_running > LIC_PG_MARKS_RUNNING_MAX && marks->oldest_note < marks->next_note))
        drop_oldest_note(marks);
    *note_at(marks, marks->next_note) = copy;
    return LIC_PG_NOTED | marks->next_note++;
}

uint64_t lic_pg_marks_note(lic_pg_marks *marks, const lic_pg_snapshot *snapshot)
{
    uint64_t number;

    lic_mutex_lock(&marks->lock);
    number = add_note(marks, snapshot);
    lic_mutex_unlock(&marks->lock);
    return number;
}

/* ---------------------------------------------------------------- writing */

bool lic_pg_marks_init(lic_pg_marks *marks, lic_memory *memory)
{
    *marks = (lic_pg_marks){ .memory = memory, .oldest_note = 1, .next_note = 1 };

    marks->made = lic_mutex_init(&marks->lock);
    return marks->made;
}

static void forget(lic_pg_marks *marks)
{
    while (marks->count > 0)
        drop_oldest(marks);
    forget_reserved(marks);
    while (marks->oldest_note < marks->next_note)
        drop_oldest_note(marks);
}

void lic_pg_marks_free(lic_pg_marks *marks)
{
    if (!marks->made)
        return;
    forget(marks);
    lic_free(marks->memory, marks->ring, marks->capacity * sizeof *marks->ring);
    lic_free(marks->memory, marks->notes, marks->notes == NULL ? 0 : LIC_PG_NOTES_MAX * sizeof *marks->notes);
    lic_mutex_destroy(&marks->lock);
    marks->made = false;
}

static licet_status reserve(lic_pg_marks *marks, uint64_t head, const lic_pg_snapshot *snapshot, licet_error **error)
{
    lic_pg_snapshot copy;

    if (marks->count > 0 && !lic_pg_snapshot_dominates(snapshot, &newest(marks)->latest))
        return refuse_order(error);
    if (!have_room(marks) || !keep(marks->memory, snapshot, &copy))
        return lic_fail_memory(error);
    forget_reserved(marks);
    marks->is_reserved     = true;
    marks->reserved        = copy;
    marks->reserved_behind = head;
    return LICET_OK;
}

licet_status lic_pg_marks_reserve(lic_pg_marks *marks, uint64_t head, const lic_pg_snapshot *snapshot,
                                  licet_error **error)
{
    licet_status status;

    lic_mutex_lock(&marks->lock);
    status = reserve(marks, head, snapshot, error);
    lic_mutex_unlock(&marks->lock);
    return status;
}

void lic_pg_marks_add(lic_pg_marks *marks, uint64_t revision)
{
    lic_mutex_lock(&marks->lock);
    if (marks->is_reserved)
        add(marks, revision);
    lic_mutex_unlock(&marks->lock);
}

static licet_status extend(lic_pg_marks *marks, const lic_pg_snapshot *snapshot, licet_error **error)
{
    lic_pg_mark    *mark = newest(marks);
    lic_pg_snapshot copy;

    if (mark == NULL || !lic_pg_snapshot_dominates(snapshot, &mark->latest))
        return refuse_order(error);
    if (is_identical(snapshot, &mark->latest))
        return LICET_OK;
    if (!keep(marks->memory, snapshot, &copy))
        return lic_fail_memory(error);
    marks->running -= running_of(mark);
    if (!is_shared(mark))
        drop(marks->memory, &mark->latest);
    mark->latest = copy;
    marks->running += running_of(mark);
    keep_within_limits(marks);
    return LICET_OK;
}

licet_status lic_pg_marks_extend(lic_pg_marks *marks, const lic_pg_snapshot *snapshot, licet_error **error)
{
    licet_status status;

    lic_mutex_lock(&marks->lock);
    status = extend(marks, snapshot, error);
    lic_mutex_unlock(&marks->lock);
    return status;
}

void lic_pg_marks_trim(lic_pg_marks *marks, uint64_t oldest)
{
    lic_mutex_lock(&marks->lock);
    while (marks->count > 1 && at(marks, 0)->revision < oldest)
        drop_oldest(marks);
    lic_mutex_unlock(&marks->lock);
}

void lic_pg_marks_clear(lic_pg_marks *marks)
{
    lic_mutex_lock(&marks->lock);
    forget(marks);
    lic_mutex_unlock(&marks->lock);
}

/* ---------------------------------------------------------------- asking */

bool lic_pg_marks_reach(lic_pg_marks *marks, const lic_pg_snapshot *snapshot)
{
    bool reaches;

    lic_mutex_lock(&marks->lock);
    reaches = marks->count > 0 && lic_pg_snapshot_dominates(&newest(marks)->latest, snapshot);
    lic_mutex_unlock(&marks->lock);
    return reaches;
}

licet_status lic_pg_marks_head(lic_pg_marks *marks, lic_arena *arena, uint64_t *revision, lic_pg_snapshot *snapshot,
                               licet_error **error)
{
    licet_status status = LICET_OK;

    *revision = 0;
    *snapshot = (lic_pg_snapshot){ 0 };
    lic_mutex_lock(&marks->lock);
    if (marks->count > 0)
        status = copy_out(arena, &newest(marks)->latest, snapshot, error);
    if (marks->count > 0 && status == LICET_OK)
        *revision = newest(marks)->revision;
    lic_mutex_unlock(&marks->lock);
    return status;
}

/* How many marks, counted from the oldest, begin with what the snapshot sees. Since firsts ascend, who dominates one
 * dominates all before it. */
static size_t count_begun(const lic_pg_marks *marks, const lic_pg_snapshot *snapshot)
{
    size_t from = 0;
    size_t to   = marks->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (lic_pg_snapshot_dominates(snapshot, &at(marks, middle)->first))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Let x lie between first and latest of a mark: what x sees beyond first, latest sees too, and by the law none of it has
 * changed anything of ours. So x shows what first shows, which is the revision. No older mark need be tried: were x below
 * one's latest, then it, between that and the first of the mark that was found, would see the same as both. */
static bool find(const lic_pg_marks *marks, const lic_pg_snapshot *snapshot, uint64_t *revision)
{
    const size_t       begun = count_begun(marks, snapshot);
    const lic_pg_mark *mark  = begun == 0 ? NULL : at(marks, begun - 1);

    if (mark == NULL || !lic_pg_snapshot_dominates(&mark->latest, snapshot))
        return false;
    *revision = mark->revision;
    return true;
}

bool lic_pg_marks_find(lic_pg_marks *marks, const lic_pg_snapshot *snapshot, uint64_t *revision)
{
    bool found;

    *revision = 0;
    lic_mutex_lock(&marks->lock);
    found = find(marks, snapshot, revision);
    lic_mutex_unlock(&marks->lock);
    return found;
}

/* The first mark that is not of an older revision. */
static size_t find_revision(const lic_pg_marks *marks, uint64_t revision)
{
    size_t from = 0;
    size_t to   = marks->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (at(marks, middle)->revision < revision)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* first, not latest: they show the same, and who is asked for "at least" the earlier one has to wait less. It is kept as
 * long by garbage collection, whose horizon moves from one change to the next. */
static const lic_pg_snapshot *snapshot_of(const lic_pg_marks *marks, uint64_t revision)
{
    const uint64_t number = revision & ~LIC_PG_NOTED;
    size_t         index;

    if (revision & LIC_PG_NOTED)
        return number >= marks->oldest_note && number < marks->next_note ? note_at(marks, number) : NULL;
    index = find_revision(marks, revision);
    if (index < marks->count)
        return &at(marks, index)->first;
    return marks->is_reserved ? &marks->reserved : NULL;
}

/* Of that revision itself. What is reserved is of the one that comes next. */
static const lic_pg_snapshot *exact_snapshot_of(const lic_pg_marks *marks, uint64_t revision)
{
    const size_t index = find_revision(marks, revision);

    if (index < marks->count)
        return at(marks, index)->revision == revision ? &at(marks, index)->first : NULL;
    return marks->is_reserved && revision == marks->reserved_behind + 1 ? &marks->reserved : NULL;
}

/* Under the lock. */
static licet_status tell(const lic_pg_snapshot *found, lic_arena *arena, lic_pg_snapshot *snapshot, licet_error **error)
{
    if (found != NULL)
        return copy_out(arena, found, snapshot, error);
    return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "what the revision is in the database is no longer known");
}

licet_status lic_pg_marks_snapshot(lic_pg_marks *marks, uint64_t revision, lic_arena *arena, lic_pg_snapshot *snapshot,
                                   licet_error **error)
{
    licet_status status;

    *snapshot = (lic_pg_snapshot){ 0 };
    lic_mutex_lock(&marks->lock);
    status = tell(snapshot_of(marks, revision), arena, snapshot, error);
    lic_mutex_unlock(&marks->lock);
    return status;
}

licet_status lic_pg_marks_exact(lic_pg_marks *marks, uint64_t revision, lic_arena *arena, lic_pg_snapshot *snapshot,
                                licet_error **error)
{
    licet_status status;

    *snapshot = (lic_pg_snapshot){ 0 };
    lic_mutex_lock(&marks->lock);
    status = tell(exact_snapshot_of(marks, revision), arena, snapshot, error);
    lic_mutex_unlock(&marks->lock);
    return status;
}

/* ---------------------------------------------------------------- forks */

void lic_pg_marks_before_fork(lic_pg_marks *marks)
{
    lic_mutex_lock(&marks->lock);
}

void lic_pg_marks_after_fork_parent(lic_pg_marks *marks)
{
    lic_mutex_unlock(&marks->lock);
}

void lic_pg_marks_after_fork_child(lic_pg_marks *marks, uint64_t head)
{
    if (marks->is_reserved && head > marks->reserved_behind)
        add(marks, head);
    forget_reserved(marks);
    lic_mutex_unlock(&marks->lock);
}
