/* A queue in one vector. Readers come seldom (who is told a change), so a lock is good enough for them. */
#include "datastore/memory/notes.h"

/* Of the memory's limit. */
#define SHARE 16

bool lic_notes_init(lic_notes *notes, lic_memory *memory)
{
    *notes = (lic_notes){ .memory = memory };
    return lic_mutex_init(&notes->lock);
}

static void drop_oldest(lic_notes *notes)
{
    lic_note *oldest = &notes->items[notes->first];

    lic_free(notes->memory, oldest->text, oldest->size);
    notes->bytes -= oldest->size;
    notes->first++;
    notes->count--;
}

void lic_notes_free(lic_notes *notes)
{
    while (notes->count > 0)
        drop_oldest(notes);
    lic_free(notes->memory, notes->items, notes->capacity * sizeof *notes->items);
    lic_mutex_destroy(&notes->lock);
}

bool lic_notes_drop(lic_notes *notes, uint64_t revision)
{
    bool dropped = notes->count > 0 && notes->items[notes->first].revision <= revision;

    if (!dropped)
        return false;
    atomic_store(&notes->floor, revision);
    lic_mutex_lock(&notes->lock);
    while (notes->count > 0 && notes->items[notes->first].revision <= revision)
        drop_oldest(notes);
    lic_mutex_unlock(&notes->lock);
    return true;
}

/* The older half, or the last one. false: there was none. */
static bool drop_half(lic_notes *notes)
{
    return notes->count > 0 && lic_notes_drop(notes, notes->items[notes->first + (notes->count - 1) / 2].revision);
}

/* Room at the end of the vector: either by moving all to its start, when half of it at least is free there, or by more
 * memory. */
static bool make_room(lic_notes *notes)
{
    size_t end  = notes->first + notes->count;
    bool   made = true;

    if (end < notes->capacity)
        return true;
    lic_mutex_lock(&notes->lock);
    if (notes->first > notes->count) {
        memmove(notes->items, notes->items + notes->first, notes->count * sizeof *notes->items);
        notes->first = 0;
    } else {
        made = lic_grow(notes->memory, (void **)&notes->items, &notes->capacity, end + 1, sizeof *notes->items);
    }
    lic_mutex_unlock(&notes->lock);
    return made;
}

static void append(lic_notes *notes, uint64_t revision, char *text, lic_str content)
{
    memcpy(text, content.data, content.size);
    lic_mutex_lock(&notes->lock);
    notes->items[notes->first + notes->count++] = (lic_note){ revision, text, content.size };
    notes->bytes += content.size;
    lic_mutex_unlock(&notes->lock);
    notes->fresh = true;
}

bool lic_notes_add(lic_notes *notes, uint64_t revision, lic_str text)
{
    size_t most = notes->memory->limit / SHARE;
    char  *copy;

    while (notes->count > 0 && (notes->bytes > most || text.size > most - notes->bytes))
        drop_half(notes);
    do {
        copy = lic_alloc(notes->memory, text.size);
        if (copy != NULL && make_room(notes)) {
            append(notes, revision, copy, text);
            return true;
        }
        lic_free(notes->memory, copy, text.size);
    } while (drop_half(notes));
    return false;
}

void lic_notes_settle(lic_notes *notes, uint64_t head)
{
    lic_note *newest;

    if (!notes->fresh)
        return;
    notes->fresh = false;
    newest       = &notes->items[notes->first + notes->count - 1];
    if (newest->revision <= head)
        return;
    lic_mutex_lock(&notes->lock);
    notes->count--;
    notes->bytes -= newest->size;
    lic_free(notes->memory, newest->text, newest->size);
    lic_mutex_unlock(&notes->lock);
}

/* Under the lock. NULL: it has none. */
static const lic_note *find(const lic_notes *notes, uint64_t revision)
{
    size_t low  = notes->first;
    size_t high = notes->first + notes->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (notes->items[middle].revision < revision)
            low = middle + 1;
        else
            high = middle;
    }
    return low < notes->first + notes->count && notes->items[low].revision == revision ? &notes->items[low] : NULL;
}

bool lic_notes_find(lic_notes *notes, uint64_t revision, lic_arena *arena, lic_str *text)
{
    const lic_note *note;

    *text = (lic_str){ NULL, 0 };
    lic_mutex_lock(&notes->lock);
    note = find(notes, revision);
    if (note != NULL)
        *text = lic_arena_str(arena, (lic_str){ note->text, note->size });
    lic_mutex_unlock(&notes->lock);
    return note == NULL || lic_str_given(*text);
}

/* Who changes notes has the write lock, so none of those threads had this one. */
void lic_notes_after_fork(lic_notes *notes)
{
    lic_mutex_init(&notes->lock);
}
