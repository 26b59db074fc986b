/* The metadata of transactions, by revision: for as long as there is history, and a bounded share of the memory.
 *
 * Law: a note is there before its revision can be seen. What is dropped is the oldest, and `floor` says so before; so
 * who looks for notes of revisions behind `after`, and then finds that the floor is not beyond it, has missed none. */
#ifndef LIC_DATASTORE_MEMORY_NOTES_H
#define LIC_DATASTORE_MEMORY_NOTES_H

#include "base/arena.h"
#include "base/str.h"
#include "base/thread.h"

typedef struct lic_note {
    uint64_t revision;
    char    *text;
    size_t   size;
} lic_note;

typedef struct lic_notes {
    lic_memory      *memory;
    _Atomic uint64_t floor; /* notes of revisions up to this one may be gone */
    bool             fresh; /* the newest is of a revision that is being made. Under the write lock */
    lic_mutex        lock;  /* of what follows, which changes under the write lock only */
    lic_note        *items; /* by revision, from `first` on */
    size_t           capacity;
    size_t           first;
    size_t           count;
    size_t           bytes; /* of the texts */
} lic_notes;

bool lic_notes_init(lic_notes *notes, lic_memory *memory);
void lic_notes_free(lic_notes *notes);

/* The rest but find() and floor() under the write lock. */

/* Of a revision newer than all. Drops older ones if memory is short. false: out of memory. */
bool lic_notes_add(lic_notes *notes, uint64_t revision, lic_str text);
/* The write ends: a note of a revision that did not come about goes. */
void lic_notes_settle(lic_notes *notes, uint64_t head);
/* Drops those of revisions up to this one. false: there were none. */
bool lic_notes_drop(lic_notes *notes, uint64_t revision);

/* Copies the revision's into the arena; not given: there is none. false: out of memory. */
bool lic_notes_find(lic_notes *notes, uint64_t revision, lic_arena *arena, lic_str *text);

static inline uint64_t lic_notes_floor(const lic_notes *notes)
{
    return atomic_load(&notes->floor);
}

/* In the child of a fork that was made under the write lock. */
void lic_notes_after_fork(lic_notes *notes);

#endif
