/* Merges. Only the one that runs writes to the base; what it shares with the writer is the stage. */
#include "merge.h"

#include "base/clock.h"

/* A merge is due when this share of the edges has changed: then a change pays for rewriting 32 edges at most,
 * whatever the size of the graph. */
#define MERGE_SHARE 32
#define MIN_MERGE_CHANGES ((size_t)256)
/* Twice as much is kept as history: a merge copies it, so a change pays for two copies more. In small graphs it pays
 * for 16, which is less than one write. */
#define HISTORY_SHARE 16
#define MIN_HISTORY_CHANGES ((size_t)4096)
/* A merge needs some memory before it gives back more, so that much must be left for each change in the log: what an
 * edge takes in the base and in the list of changes, and as much as the delta grows by when its hashes double. What
 * attributes add to an edge, 16 bytes in its pieces and its transition, is in it. */
#define MERGE_BYTES 256
/* At most this share of a piece are marks: 8 bytes for 32 keys of 8. */
#define MARKS_SHARE 32
/* A share of the limit is for deletions alone: without it a full graph could never be emptied again. */
#define RESERVE_SHARE 16
#define MIN_HURRIED_CHANGES 256u
/* How long a writer that needs memory waits for others: as long as a write may take (threat-model.md 3). On a busy machine
 * a merge may not be given the processor for a while, and the write may be one that takes access away. */
#define MEMORY_PATIENCE_MS 5000
#define NO_PATIENCE 0
#define PATIENT UINT64_MAX
/* The log's tail that may be left to copy under the write lock. */
#define SMALL_TAIL 256u
/* Of a merge's thread to begin the next one, 50 us apart. */
#define LOCK_ATTEMPTS 20

/* ---------------------------------------------------- which part, and when */

static uint32_t log_count(const lic_delta *delta)
{
    return atomic_load_explicit(&delta->log_count, memory_order_acquire);
}

static uint64_t log_revision(const lic_delta *delta, uint32_t index)
{
    return lic_version_revision(lic_delta_entry(delta, index)->version);
}

/* Entries of the log up to the revision. */
static uint32_t log_upto(const lic_delta *delta, uint64_t revision)
{
    uint32_t low  = 0;
    uint32_t high = log_count(delta);

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (log_revision(delta, middle) <= revision)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const lic_delta *past_of(const lic_delta *delta)
{
    return atomic_load_explicit(&delta->past, memory_order_relaxed);
}

/* The share of the edges, but no less than the minimum; or what the options say. */
static size_t changes_of(const lic_graph *graph, size_t option, uint64_t share, size_t minimum)
{
    size_t part = (size_t)(atomic_load_explicit(&graph->edges, memory_order_relaxed) / share);

    if (option > 0)
        return option;
    return part > minimum ? part : minimum;
}

/* The revision before that of the last `kept` changes; 0: there are no more than these. */
static uint64_t before_last(const lic_delta *delta, size_t kept)
{
    const lic_delta *past   = past_of(delta);
    size_t           recent = log_count(delta);
    size_t           older  = past == NULL ? 0 : log_count(past);
    size_t           first  = older + recent - kept;

    if (kept >= older + recent)
        return 0;
    return (first < older ? log_revision(past, (uint32_t)first) : log_revision(delta, (uint32_t)(first - older))) - 1;
}

/* The oldest revision that a merge has to leave. */
static uint64_t next_horizon(const lic_graph *graph, const lic_delta *delta, lic_merge_keep keep)
{
    uint64_t horizon = atomic_load_explicit(&delta->horizon, memory_order_relaxed);
    uint64_t window  = lic_history_oldest(&graph->history, lic_monotonic_ms());
    uint64_t kept =
        before_last(delta, changes_of(graph, graph->min_history_changes, HISTORY_SHARE, MIN_HISTORY_CHANGES));

    if (keep == LIC_MERGE_FORGET)
        return atomic_load_explicit(&delta->head, memory_order_relaxed);
    horizon = kept > horizon ? kept : horizon;
    return window > horizon ? window : horizon;
}

/* Takes the merge's place. Nothing runs. */
static void plan(lic_graph *graph, uint64_t horizon)
{
    lic_merge *merge = &graph->merge;

    merge->from    = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    merge->next    = NULL;
    merge->settled = atomic_load_explicit(&merge->from->head, memory_order_relaxed);
    merge->horizon = horizon;
    merge->cut     = log_count(merge->from);
    merge->copied  = merge->cut;
    atomic_store_explicit(&merge->stage, LIC_MERGE_WORKING, memory_order_relaxed);
}

/* ------------------------------------------------------------ its patience */

/* Waits until the readers of this epoch have gone; false: they have not, in the time given. */
static bool wait_for_readers(lic_graph *graph, uint64_t epoch, uint64_t patience_ms)
{
    uint64_t start = lic_monotonic_ms();

    while (!lic_epoch_passed(&graph->epochs, epoch)) {
        if (atomic_load_explicit(&graph->closing, memory_order_relaxed) || patience_ms == 0 ||
            lic_monotonic_ms() - start > patience_ms)
            return false;
        lic_sleep_us(50);
    }
    return true;
}

/* ------------------------------------------------------------- step 2: base */

typedef struct change_list {
    lic_memory       *memory;
    lic_piece_change *items;
    size_t            capacity;
    size_t            count;
} change_list;

/* What the merged part of the log says of the range's edges. */
static bool collect_changes(const lic_merge *merge, const lic_range_entry *range, change_list *list)
{
    lic_direction direction = range->direction;
    uint32_t      at        = atomic_load_explicit(&range->records, memory_order_acquire);

    list->count = 0;
    for (; at != LIC_NONE; at = lic_delta_record(merge->from, at)->next_in_range[direction]) {
        const lic_record *record = lic_delta_record(merge->from, at);

        if (lic_version_revision(record->first) > merge->settled)
            continue;
        if (!lic_grow(list->memory, (void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
            return false;
        list->items[list->count++] = (lic_piece_change){
            .node  = (uint32_t)record->ends[direction],
            .key   = record->ends[!direction],
            .state = lic_delta_state(merge->from, record, merge->settled),
        };
    }
    return true;
}

static bool merge_range(lic_graph *graph, const lic_range_entry *range, change_list *list)
{
    lic_piece_place place = { .slot       = range->slot,
                              .first_node = range->range << LIC_PIECE_BITS,
                              .seed       = range->direction == LIC_FORWARD ? &graph->seed : NULL };

    if (!collect_changes(&graph->merge, range, list))
        return false;
    if (list->count == 0)
        return true;
    lic_piece_sort(list->items, list->count);
    if (!lic_base_change(graph->base, &graph->epochs, range->direction, range->range, &place, list->items, list->count))
        return false;
    lic_epoch_reclaim(&graph->epochs);
    return true;
}

static bool merge_base(lic_graph *graph)
{
    const lic_delta *from  = graph->merge.from;
    uint32_t         count = atomic_load_explicit(&from->range_count, memory_order_acquire);
    change_list      list  = { .memory = &graph->memory };
    bool             done  = true;

    for (uint32_t i = 0; i < count && done; i++)
        done = !atomic_load_explicit(&graph->closing, memory_order_relaxed) &&
               merge_range(graph, lic_delta_range(from, i), &list);
    lic_free(list.memory, list.items, list.capacity * sizeof *list.items);
    return done;
}

/* ------------------------------------------------------------------- its room */

/* Room to merge so many changes, with the largest piece there twice while it is rewritten? The second may be the first
 * with marks of attributes: a bit and its share of a rank for each key. */
static bool has_room(const lic_graph *graph, uint64_t changes, size_t bytes, bool adds)
{
    const lic_memory *owner = graph->owner;
    size_t            used  = atomic_load_explicit(&owner->used, memory_order_relaxed);
    size_t            room  = used < owner->limit ? owner->limit - used : 0;
    size_t            kept  = atomic_load_explicit(&graph->merge.largest_piece, memory_order_relaxed);

    if (lic_attributes_any(&graph->attributes))
        kept += kept / MARKS_SHARE;
    if (adds)
        kept += owner->limit / RESERVE_SHARE; /* a piece is smaller than the limit: no overflow */
    return room >= kept && room - kept >= bytes && (room - kept - bytes) / MERGE_BYTES >= changes;
}

/* ----------------------------------------------------- step 3: the next delta */

static bool copy_entry(lic_delta *to, const lic_delta *from, uint32_t index)
{
    const lic_log_entry *entry  = lic_delta_entry(from, index);
    const lic_record    *record = lic_delta_record(from, entry->record);
    uint64_t             source = record->ends[LIC_FORWARD];
    uint64_t             target = record->ends[LIC_REVERSE];
    lic_delta_change     change = { .ends     = { source, target },
                                    .hash     = lic_edge_hash(from->seed, source, target),
                                    .revision = lic_version_revision(entry->version),
                                    .before   = lic_delta_before(from, index, entry->version),
                                    .after    = lic_delta_after(from, index, entry->version) };

    if (!lic_delta_reserve_ranges(to, source, target))
        return false;
    lic_delta_append(to, lic_delta_find(to, source, target, change.hash), &change);
    return true;
}

/* Copies entries [first, end) of the log. An entry knows the state before it, so the first that is copied of an edge
 * leaves the right state behind. */
static bool copy_entries(lic_delta *to, const lic_delta *from, uint32_t first, uint32_t end)
{
    if (!lic_delta_reserve(to, end - first))
        return false;
    for (uint32_t i = first; i < end; i++)
        if (!copy_entry(to, from, i))
            return false;
    return true;
}

/* What came since the merge began. */
static bool copy_log(lic_merge *merge)
{
    uint32_t end    = log_count(merge->from);
    bool     copied = copy_entries(merge->next, merge->from, merge->copied, end);

    merge->copied = end;
    return copied;
}

/* Changes of the log that are kept as history: those after the horizon. */
static uint32_t first_kept(const lic_merge *merge, const lic_delta *delta)
{
    return log_upto(delta, merge->horizon);
}

/* Only with so much memory to spare that the next merge need not hurry: it would forget all at once. */
static bool has_room_for_past(const lic_graph *graph)
{
    const lic_merge *merge = &graph->merge;
    const lic_delta *older = past_of(merge->from);
    uint64_t         count = merge->cut - first_kept(merge, merge->from);

    if (older != NULL)
        count += log_count(older) - first_kept(merge, older);
    return has_room(graph, count + 2 * (uint64_t)log_count(merge->from), 0, true);
}

static bool copy_past(const lic_merge *merge, lic_delta *past)
{
    const lic_delta *older = past_of(merge->from);

    return (older == NULL || copy_entries(past, older, first_kept(merge, older), log_count(older))) &&
           copy_entries(past, merge->from, first_kept(merge, merge->from), merge->cut);
}

/* The next delta's past. NULL: there is nothing to be kept, or no memory for it. */
static lic_delta *make_past(lic_graph *graph)
{
    const lic_merge *merge = &graph->merge;
    lic_delta       *past;

    if (merge->horizon == merge->settled || !has_room_for_past(graph))
        return NULL;
    past = lic_delta_new(&graph->attributes, &graph->epochs, &graph->seed, merge->horizon);
    if (past == NULL || copy_past(merge, past))
        return past;
    lic_delta_free(past);
    return NULL;
}

/* What lies before the horizon is forgotten. */
static void keep_filled(lic_merge *merge)
{
    if (merge->horizon >= merge->from->filled)
        return;
    merge->next->filled       = merge->from->filled;
    merge->next->filled_slots = merge->from->filled_slots;
}

/* Nobody else can see the new delta, and the old one's log only grows. */
static bool make_next(lic_graph *graph)
{
    lic_merge *merge = &graph->merge;
    lic_delta *past;

    merge->next = lic_delta_new(&graph->attributes, &graph->epochs, &graph->seed, merge->settled);
    if (merge->next == NULL)
        return false;
    merge->next->base = graph->base;
    past              = make_past(graph);
    merge->horizon    = past == NULL ? merge->settled : merge->horizon;
    keep_filled(merge);
    atomic_init(&merge->next->past, past);
    atomic_init(&merge->next->horizon, merge->horizon);
    do {
        if (!copy_log(merge))
            return false;
    } while (log_count(merge->from) - merge->copied > SMALL_TAIL);
    return lic_epoch_reserve(&graph->epochs); /* to retire the old one */
}

/* ------------------------------------------------------------ step 4: swap */

static void release_delta(void *context, void *thing)
{
    (void)context;
    lic_delta_free(thing);
}

/* Under the write lock. */
static void swap_deltas(lic_graph *graph)
{
    lic_merge *merge = &graph->merge;

    if (!copy_log(merge)) {
        lic_epoch_unreserve(&graph->epochs);
        atomic_store_explicit(&merge->stage, LIC_MERGE_FAILED, memory_order_release);
        return;
    }
    merge->next->shared = true;
    atomic_store(&merge->next->head, atomic_load(&merge->from->head));
    atomic_store(&graph->delta, merge->next);
    atomic_store(&graph->horizon, merge->horizon);
    merge->grace      = lic_epoch_retire(&graph->epochs, release_delta, NULL, merge->from);
    merge->not_before = 0;
    atomic_fetch_add_explicit(&graph->merges, 1, memory_order_relaxed);
    atomic_store_explicit(&merge->stage, LIC_MERGE_SWAPPED, memory_order_release);
}

static int stage_of(const lic_graph *graph)
{
    return atomic_load_explicit(&graph->merge.stage, memory_order_acquire);
}

void lic_merge_help(lic_graph *graph)
{
    if (stage_of(graph) == LIC_MERGE_READY)
        swap_deltas(graph);
}

/* Until a writer has helped, or the lock is free. */
static void swap_when_possible(lic_graph *graph)
{
    atomic_store_explicit(&graph->merge.stage, LIC_MERGE_READY, memory_order_release);
    while (stage_of(graph) == LIC_MERGE_READY) {
        if (pthread_mutex_trylock(&graph->lock) == 0) {
            lic_merge_help(graph);
            lic_mutex_unlock(&graph->lock);
        } else {
            lic_sleep_us(50);
        }
    }
}

/* -------------------------------------------------------------- the whole */

/* After a failure the log must grow by a quarter before the next attempt: an attempt may rewrite the whole base. */
static void give_up(lic_merge *merge)
{
    uint32_t count = log_count(merge->from);

    lic_delta_free(merge->next);
    merge->not_before = count < UINT32_MAX / 2 ? count + count / 4 : count;
}

/* Runs the merge that was planned. false: out of memory or patience, the graph is as it was. */
static bool run(lic_graph *graph, uint64_t patience_ms, bool locked)
{
    lic_merge *merge = &graph->merge;
    bool       ready = wait_for_readers(graph, merge->grace, patience_ms) && merge_base(graph) && make_next(graph);
    bool       done;

    atomic_store_explicit(&merge->largest_piece, lic_base_largest_piece(graph->base), memory_order_relaxed);
    if (ready && locked)
        swap_deltas(graph);
    else if (ready)
        swap_when_possible(graph);
    done = stage_of(graph) == LIC_MERGE_SWAPPED;
    if (!done)
        give_up(merge);
    atomic_store_explicit(&merge->stage, LIC_MERGE_IDLE, memory_order_release);
    lic_epoch_reclaim(&graph->epochs);
    return done;
}

/* The thread has nothing left to do once no merge runs. */
void lic_merge_join_ended(lic_graph *graph)
{
    lic_merge *merge = &graph->merge;

    if (stage_of(graph) != LIC_MERGE_IDLE || !merge->joinable)
        return;
    lic_thread_join(merge->thread);
    merge->joinable = false;
}

/* Long enough that a merge pays? */
static bool is_due(const lic_graph *graph, const lic_delta *delta)
{
    uint32_t count = log_count(delta);

    return count >= graph->merge.not_before &&
           count >= changes_of(graph, graph->merge_changes, MERGE_SHARE, MIN_MERGE_CHANGES);
}

bool lic_merge_leaves_room(const lic_graph *graph, size_t more, size_t bytes, bool adds)
{
    const lic_delta *delta = atomic_load_explicit(&graph->delta, memory_order_relaxed);

    return has_room(graph, (uint64_t)log_count(delta) + more, bytes, adds);
}

/* Will there soon be no room to merge? Twice the log, so that it is done before a write has to wait for it. */
static bool is_urgent(const lic_graph *graph, const lic_delta *delta)
{
    uint32_t count = log_count(delta);

    return count >= graph->merge.not_before && count >= MIN_HURRIED_CHANGES &&
           !has_room(graph, (uint64_t)count * 2, 0, true);
}

/* Plans the next merge, if changes enough for one came in meanwhile: after a large import nobody may write for a long
 * time. Gives up after a few attempts, because a writer may hold the lock to wait for this thread's end; it has seen
 * by then that no merge runs, and begins one itself. */
static bool plan_next(lic_graph *graph)
{
    lic_delta *delta;
    bool       work = false;

    for (int i = 0; pthread_mutex_trylock(&graph->lock) != 0; i++) {
        if (i == LOCK_ATTEMPTS)
            return false;
        lic_sleep_us(50);
    }
    delta = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    work  = stage_of(graph) == LIC_MERGE_IDLE && !atomic_load_explicit(&graph->closing, memory_order_relaxed) &&
           is_due(graph, delta);
    if (work)
        plan(graph, next_horizon(graph, delta, LIC_MERGE_KEEP));
    lic_mutex_unlock(&graph->lock);
    return work;
}

static void merge_thread(void *graph)
{
    do
        run(graph, PATIENT, false);
    while (plan_next(graph));
}

void lic_merge_start_due(lic_graph *graph)
{
    lic_merge *merge = &graph->merge;
    lic_delta *delta = atomic_load_explicit(&graph->delta, memory_order_relaxed);

    if (stage_of(graph) != LIC_MERGE_IDLE)
        return;
    if (!is_urgent(graph, delta) && !is_due(graph, delta))
        return;
    lic_merge_join_ended(graph);
    plan(graph, next_horizon(graph, delta, LIC_MERGE_KEEP));
    if (!graph->no_threads)
        merge->joinable = lic_thread_start(&merge->thread, "licet merge", merge_thread, graph);
    if (!merge->joinable && lic_epoch_passed(&graph->epochs, merge->grace))
        run(graph, NO_PATIENCE, true);
    else if (!merge->joinable)
        atomic_store_explicit(&merge->stage, LIC_MERGE_IDLE, memory_order_relaxed);
}

/* Until no merge runs; false: it still does after MEMORY_PATIENCE_MS. */
static bool wait_for_merge(lic_graph *graph)
{
    uint64_t start = lic_monotonic_ms();

    while (stage_of(graph) != LIC_MERGE_IDLE) {
        lic_merge_help(graph);
        if (lic_monotonic_ms() - start > MEMORY_PATIENCE_MS)
            return false;
        lic_sleep_us(50);
    }
    lic_merge_join_ended(graph);
    return true;
}

/* Without a merge, so that there is more memory for one. The next merge waits for the past's readers. */
static void forget_past(lic_graph *graph, lic_delta *delta)
{
    lic_delta *past = atomic_load_explicit(&delta->past, memory_order_relaxed);

    if (past == NULL || !lic_epoch_reserve(&graph->epochs))
        return;
    atomic_store(&delta->horizon, delta->settled);
    atomic_store(&graph->horizon, delta->settled);
    atomic_store(&delta->past, NULL);
    graph->merge.grace = lic_epoch_retire(&graph->epochs, release_delta, NULL, past);
}

/* Room for changes, whether they came or not. */
static bool has_reserved(const lic_delta *delta)
{
    return atomic_load_explicit(&delta->edges, memory_order_relaxed) != NULL;
}

void lic_merge_for_memory(lic_graph *graph)
{
    lic_delta *delta;

    if (!wait_for_merge(graph))
        return;
    delta = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    forget_past(graph, delta);
    if (has_reserved(delta)) {
        plan(graph, next_horizon(graph, delta, LIC_MERGE_FORGET));
        run(graph, MEMORY_PATIENCE_MS, true);
    }
    wait_for_readers(graph, graph->merge.grace, MEMORY_PATIENCE_MS);
    lic_epoch_reclaim(&graph->epochs);
}

/* Takes the write lock at a moment when no merge runs. */
static void lock_when_idle(lic_graph *graph)
{
    lic_mutex_lock(&graph->lock);
    while (stage_of(graph) != LIC_MERGE_IDLE) {
        lic_mutex_unlock(&graph->lock);
        lic_sleep_us(50);
        lic_mutex_lock(&graph->lock);
    }
    lic_merge_join_ended(graph);
}

/* Nothing to merge and no history: only revisions that changed nothing are given up. */
static void raise_horizon(lic_graph *graph, lic_delta *delta, uint64_t horizon)
{
    if (horizon <= atomic_load_explicit(&delta->horizon, memory_order_relaxed))
        return;
    atomic_store(&delta->horizon, horizon);
    atomic_store(&graph->horizon, horizon);
}

/* Is there anything that a merge to this horizon would change? Without a log it shortens the past. */
static bool has_work(const lic_delta *delta, uint64_t horizon)
{
    return log_count(delta) > 0 ||
           (past_of(delta) != NULL && horizon > atomic_load_explicit(&delta->horizon, memory_order_relaxed));
}

bool lic_merge_now(lic_graph *graph, lic_merge_keep keep)
{
    lic_delta *delta;
    uint64_t   horizon;
    bool       work;
    bool       done = true;

    lock_when_idle(graph);
    delta   = atomic_load_explicit(&graph->delta, memory_order_relaxed);
    horizon = next_horizon(graph, delta, keep);
    work    = has_work(delta, horizon);
    if (work)
        plan(graph, horizon);
    else
        raise_horizon(graph, delta, horizon);
    lic_mutex_unlock(&graph->lock);
    if (work)
        done = run(graph, PATIENT, false);
    lic_epoch_reclaim(&graph->epochs);
    return done;
}

void lic_merge_end(lic_graph *graph)
{
    atomic_store(&graph->closing, true);
    lock_when_idle(graph);
    lic_mutex_unlock(&graph->lock);
}

void lic_merge_forget(lic_graph *graph)
{
    graph->merge.joinable   = false;
    graph->merge.not_before = 0;
    atomic_store(&graph->merge.stage, LIC_MERGE_IDLE);
}
