/* Sets of subjects with wildcards, exclusions and conditions, and their algebra (validation-files.md 7).
 *
 * One set holds concrete subjects of any (type, relation) and at most one wildcard per slot, each wildcard with
 * the concrete subjects excluded from it. Sets of different slots never interact. Each member carries the resources on
 * whose relationships it directly stands (validation-files.md 6: parent resources).
 *
 * Where SpiceDB's algebra is inexact with conditional wildcards this one is exact: it agrees with check. */
#ifndef LIC_EVAL_SUBJECT_SET_H
#define LIC_EVAL_SUBJECT_SET_H

#include "eval/three_valued.h"
#include "graph/graph.h"

typedef struct lic_subject_exclusion {
    uint32_t             node;
    const lic_condition *condition; /* NULL: excluded for certain */
    const lic_ref       *parents;
    size_t               parent_count;
} lic_subject_exclusion;

typedef struct lic_subject {
    lic_ref                      ref;       /* node LIC_WILDCARD_NODE: every subject of the slot but the exclusions */
    const lic_condition         *condition; /* NULL: for certain */
    const lic_ref               *parents;   /* sorted by key, distinct */
    size_t                       parent_count;
    const lic_subject_exclusion *exclusions; /* of a wildcard; sorted by node */
    size_t                       exclusion_count;
} lic_subject;

/* Immutable once made; members sorted by the ref's key. Lives in an arena. */
typedef struct lic_subject_set {
    const lic_subject *members;
    size_t             count;
} lic_subject_set;

/* All give a new set in the arena. false: out of memory. */
bool lic_subject_set_union(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b, lic_subject_set *out);
bool lic_subject_set_intersect(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b,
                               lic_subject_set *out);
bool lic_subject_set_subtract(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b,
                              lic_subject_set *out);
/* Every member and wildcard under a further condition (a caveated relationship that leads to the set). */
bool lic_subject_set_under(lic_arena *arena, const lic_subject_set *a, const lic_condition *condition,
                           lic_subject_set *out);

#endif
