/* The logs are in order of revisions, so the place of one is found by halving. A revision is whole in one of them: both
 * the base and the past end where a revision ends. */
#include "changes.h"

#include "state.h"

/* The number of the log's entries up to the revision. Entries of revisions that are still being made may be among those
 * beyond. */
static uint32_t entries_upto(const lic_delta *delta, uint64_t revision)
{
    uint32_t low  = 0;
    uint32_t high = atomic_load_explicit(&delta->log_count, memory_order_acquire);

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (lic_version_revision(lic_delta_entry(delta, middle)->version) <= revision)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool find_in(const lic_delta *delta, uint64_t after, uint64_t through, lic_changes *changes)
{
    uint32_t first = entries_upto(delta, after);

    if (first == entries_upto(delta, through))
        return false;
    *changes     = (lic_changes){ .delta    = delta,
                                  .revision = lic_version_revision(lic_delta_entry(delta, first)->version),
                                  .next     = first };
    changes->end = entries_upto(delta, changes->revision);
    return true;
}

/* Is it the revision that filled the graph? Its edges are read at that revision. Where that can't be read any more,
 * neither can those before it. */
static bool find_filled(const lic_snapshot *snapshot, uint64_t after, uint64_t through, lic_changes *changes)
{
    const lic_delta *delta = snapshot->delta;

    if (delta->filled <= after || delta->filled > through)
        return false;
    *changes               = (lic_changes){ .revision = delta->filled, .filled = true, .then = *snapshot };
    changes->then.revision = delta->filled;
    if (delta->filled < delta->settled)
        changes->then.past = atomic_load(&delta->past);
    return delta->filled == delta->settled || changes->then.past != NULL;
}

bool lic_changes_after(const lic_snapshot *snapshot, uint64_t after, uint64_t through, lic_changes *changes)
{
    const lic_delta *delta = snapshot->delta;
    const lic_delta *past  = after < delta->settled ? atomic_load(&delta->past) : NULL;
    uint64_t         last  = through < snapshot->revision ? through : snapshot->revision;

    if (last <= after)
        return false;
    if (find_filled(snapshot, after, last, changes))
        return true;
    return (past != NULL && find_in(past, after, last, changes)) || find_in(delta, after, last, changes);
}

static lic_ref ref_of(uint64_t key)
{
    return (lic_ref){ (lic_slot)(key >> 32), (uint32_t)key };
}

/* Slot after slot. */
static bool next_filled(lic_changes *changes, lic_arena *scratch, lic_logged *change, bool *found)
{
    *found = false;
    while (!*found && (changes->scan != NULL || changes->slot < changes->then.delta->filled_slots)) {
        if (changes->scan == NULL)
            changes->scan = lic_snapshot_scan(&changes->then, scratch, changes->slot++, NULL);
        if (changes->scan == NULL || !lic_scan_next(changes->scan, &change->edge, found))
            return false;
        change->present   = true;
        change->attribute = lic_scan_attribute(changes->scan);
        if (!*found)
            changes->scan = NULL;
    }
    return true;
}

static void next_logged(lic_changes *changes, lic_logged *change)
{
    const lic_delta  *delta = changes->delta;
    const lic_record *record;
    uint64_t          version;
    lic_edge_state    state;

    version           = lic_delta_entry(delta, changes->next)->version;
    record            = lic_delta_record(delta, lic_delta_entry(delta, changes->next)->record);
    change->edge      = (lic_edge){ ref_of(record->ends[LIC_FORWARD]), ref_of(record->ends[LIC_REVERSE]) };
    change->present   = lic_version_present(version);
    state             = change->present ? lic_delta_after(delta, changes->next, version)
                                        : lic_delta_before(delta, changes->next, version);
    change->attribute = state;
    changes->next++;
}

bool lic_changes_next(lic_changes *changes, lic_arena *scratch, lic_logged *change, bool *found)
{
    if (changes->filled)
        return next_filled(changes, scratch, change, found);
    *found = changes->next < changes->end;
    if (*found)
        next_logged(changes, change);
    return true;
}

/* The delta's horizon is that of its own log and past. The graph's may be beyond it, and then others may have taken away
 * what they keep beside the history. */
bool lic_changes_kept(const lic_snapshot *snapshot, uint64_t after)
{
    return atomic_load(&snapshot->delta->horizon) <= after && lic_graph_oldest(snapshot->graph) <= after;
}
