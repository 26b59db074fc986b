/* All subjects of an object's relation or permission, usersets followed to their ends (validation-files.md 6): the
 * recursive expansion folded into one set. Nothing is evaluated. The usersets met on the way are members beside their
 * own members; each member knows the relations on whose relationships it stands. */
#ifndef LIC_VALIDATION_EXPANSION_H
#define LIC_VALIDATION_EXPANSION_H

#include "base/error.h"
#include "datastore/expiration.h"
#include "eval/subject_set.h"
#include "schema/program.h"

/* LIMIT_EXCEEDED when a path holds more than max_depth objects and names (a cycle always does), or when more than
 * max_rows relationships would be visited. The set lives in the arena. Relationships that have expired by `now` are not
 * there; those with a caveat give a condition, whose leaf is the number of their attribute. */
licet_status lic_expand_subjects(lic_arena *arena, const lic_program *program, const lic_snapshot *snapshot,
                                 lic_instant now, lic_rel relation, uint32_t node, uint32_t max_depth,
                                 uint64_t max_rows, lic_subject_set *found, licet_error **error);

#endif
