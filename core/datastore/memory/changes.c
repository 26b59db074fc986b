/* What revisions changed, from the graph's own log. */
#include "graph/changes.h"

#include "datastore/memory/state.h"

static bool passes(const lic_row_test *test, const lic_row *row)
{
    return test->passes(test->context, row);
}

/* A revision's changes on their way to who watches. */
typedef struct telling {
    const lic_memory_store *m;
    const lic_row_test     *test;
    lic_arena              *arena;   /* for what is told */
    lic_arena               scratch; /* of reading them */
    lic_store_revision     *out;
} telling;

/* The next change whose row passes; *found is false at the end. false: out of memory. */
static bool next_passing(telling *t, lic_changes *changes, lic_logged *change, bool *found)
{
    lic_row row;

    do {
        if (!lic_changes_next(changes, &t->scratch, change, found))
            return false;
    } while (*found && (!lic_memory_row(t->m, t->m->graph, &change->edge, LIC_NO_ATTRIBUTE, NULL, &row) ||
                        !passes(t->test, &row)));
    return true;
}

/* Gone through before anything is made of it: a revision may be as large as an import, and few of it wanted. */
static bool count_passing(telling *t, lic_changes changes, size_t *count)
{
    lic_logged change;
    bool       found = true;

    for (*count = 0; found; *count += found)
        if (!next_passing(t, &changes, &change, &found))
            return false;
    return true;
}

static bool fill_update(const telling *t, const lic_logged *change, licet_update *update)
{
    lic_row row;

    if (!lic_memory_row(t->m, t->m->graph, &change->edge, change->attribute, t->arena, &row))
        return false;
    update->operation = change->present ? LICET_TOUCH : LICET_DELETE;
    lic_row_relationship(t->m->names, &row, &update->relationship);
    return true;
}

static bool fill_counted(telling *t, lic_changes changes, size_t count)
{
    lic_store_revision *out = t->out;
    lic_logged          change;
    bool                found;

    if (count == 0)
        return true;
    out->updates = lic_new_array(t->arena, count, licet_update);
    if (out->updates == NULL)
        return false;
    while (out->count < count) {
        if (!next_passing(t, &changes, &change, &found) || !found ||
            !fill_update(t, &change, &out->updates[out->count]))
            return false;
        out->count++;
    }
    return true;
}

static bool fill_updates(const lic_memory_store *m, const lic_row_test *test, const lic_changes *changes,
                         lic_arena *arena, lic_store_revision *out)
{
    telling t = { .m = m, .test = test, .arena = arena, .out = out };
    size_t  count;
    bool    done;

    lic_arena_init(&t.scratch, m->memory);
    done = count_passing(&t, *changes, &count);
    lic_arena_free(&t.scratch);
    done = done && fill_counted(&t, *changes, count);
    lic_arena_free(&t.scratch);
    return done;
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
    if (!is_quiet(out) && !fill_updates(m, test, &changes, arena, out))
        status = lic_fail_memory(error);
    if (out->count == 0)
        out->metadata = (lic_str){ NULL, 0 };
    return status;
}

bool lic_memory_keeps(lic_store *store, const lic_snapshot *snapshot, uint64_t after)
{
    return lic_changes_kept(snapshot, after) && lic_notes_floor(&lic_memory_store_of(store)->notes) <= after;
}
