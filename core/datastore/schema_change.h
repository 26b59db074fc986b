/* May this schema replace that one, given what is stored (schema.md 15)? */
#ifndef LIC_DATASTORE_SCHEMA_CHANGE_H
#define LIC_DATASTORE_SCHEMA_CHANGE_H

#include "datastore/datastore.h"

/* One thing that the change takes away. */
typedef struct lic_refusal {
    lic_str    change;    /* "delete relation `r` in object definition `d`, as ..." */
    bool       is_always; /* whatever is stored */
    lic_filter filter;    /* else: each relationship that this selects stands against it */
} lic_refusal;

typedef struct lic_refusals {
    lic_refusal *items; /* in the order in which they are looked at */
    size_t       count;
    size_t       capacity;
} lic_refusals;

/* All that the change takes away. Lives in the arena. OUT_OF_MEMORY. */
licet_status lic_schema_refusals(lic_arena *arena, const lic_names *names, const lic_program *before,
                                 const lic_program *after, lic_refusals *refusals, licet_error **error);

/* Appends what is wrong. row: the relationship that stands against it; NULL: of one that is refused whatever is
 * stored. */
licet_status lic_refusal_print(const lic_refusal *refusal, const licet_relationship *row, lic_text *out,
                               licet_error **error);

/* Under the store's write lock; the snapshot is of the head. SCHEMA_ERROR names the change and one relationship that
 * stands against it; one that has expired does not. */
licet_status lic_schema_change_check(lic_store *store, const lic_snapshot *snapshot, lic_instant now,
                                     const lic_names *names, const lic_program *before, const lic_program *after,
                                     licet_error **error);

#endif
