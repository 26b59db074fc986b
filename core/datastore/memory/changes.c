/* What revisions changed, from the graph's own log. */
#include "graph/changes.h"

#include "datastore/memory/state.h"

static bool passes(const lic_row_test *test, const lic_row *row)
{
    return test->passes(test->context, row);
}

/* The next change whose row passes, with the row but for its attribute. */
static bool next_passing(const lic_memory_store *m, const lic_row_test *test, lic_changes *changes, lic_logged *change)
{
    lic_row row;

    while (lic_changes_next(changes, change)) {
        if (lic_memory_row(m, m->graph, &change->edge, LIC_NO_ATTRIBUTE, NULL, &row) && passes(test, &row))
            return true;
    }
    return false;
}

/* Gone through before anything is made of it: a revision may be as large as an import, and few of it wanted. */
static size_t count_passing(const lic_memory_store *m, const lic_row_test *test, lic_changes changes)
{
    size_t     count = 0;
    lic_logged change;

    while (next_passing(m, test, &changes, &change))
        count++;
    return count;
}

static bool fill_update(const lic_memory_store *m, const lic_logged *change, lic_arena *arena, licet_update *update)
{
    lic_row row;

    if (!lic_memory_row(m, m->graph, &change->edge, change->attribute, arena, &row))
        return false;
    update->operation = change->present ? LICET_TOUCH : LICET_DELETE;
    lic_row_relationship(m->names, &row, &update->relationship);
    return true;
}

static bool fill_updates(const lic_memory_store *m, const lic_row_test *test, lic_changes changes, lic_arena *arena,
                         lic_store_revision *out)
{
    size_t     count = count_passing(m, test, changes);
    lic_logged change;

    if (count == 0)
        return true;
    out->updates = lic_new_array(arena, count, licet_update);
    if (out->updates == NULL)
        return false;
    while (next_passing(m, test, &changes, &change)) {
        if (!fill_update(m, &change, arena, &out->updates[out->count++]))
            return false;
    }
    return true;
}

static bool is_quiet(const lic_store_revision *revision)
{
    return lic_str_given(revision->metadata) && lic_str_equal(revision->metadata, LIC_MEMORY_QUIET);
}

licet_status lic_memory_changes(lic_store *store, const lic_snapshot *snapshot, uint64_t after, uint64_t through,
                                const lic_row_test *test, lic_arena *arena, lic_store_revision *out,
                                licet_error **error)
{
    lic_memory_store *m = lic_memory_store_of(store);
    lic_changes       changes;
    licet_status      status = LICET_OK;

    *out = (lic_store_revision){ .revision = 0 };
    if (!lic_changes_after(snapshot, after, through, &changes))
        return LICET_OK;
    out->revision = changes.revision;
    if (!lic_notes_find(&m->notes, out->revision, arena, &out->metadata))
        return lic_fail_memory(error);
    if (!is_quiet(out) && !fill_updates(m, test, changes, arena, out))
        status = lic_fail_memory(error);
    if (out->count == 0)
        out->metadata = (lic_str){ NULL, 0 };
    return status;
}

bool lic_memory_keeps(lic_store *store, const lic_snapshot *snapshot, uint64_t after)
{
    return lic_changes_kept(snapshot, after) && lic_notes_floor(&lic_memory_store_of(store)->notes) <= after;
}
