/* How types agree: what cel-go's checker means by "assignable", with variables that are found out on the way.
 *
 * Every walk over types is a loop with a stack, and every step is paid for: types can be made so that comparing them
 * never ends in a lifetime. */
#ifndef LIC_CAVEAT_UNIFY_H
#define LIC_CAVEAT_UNIFY_H

#include "caveat/types.h"

#define LIC_CEL_CHECK_STEPS 10000000 /* about 50 ms */

typedef struct lic_cel_task {
    const lic_cel_type *first;
    const lic_cel_type *second;
    const lic_cel_type *substitute; /* what `second` stood for when the task was put off; NULL: compare now */
} lic_cel_task;

typedef struct lic_cel_undo {
    uint32_t            variable;
    const lic_cel_type *binding;
} lic_cel_undo;

typedef enum lic_cel_unify_failure {
    LIC_CEL_UNIFY_FINE,
    LIC_CEL_UNIFY_MEMORY,
    LIC_CEL_UNIFY_LIMIT /* steps, or the size of a type */
} lic_cel_unify_failure;

typedef struct lic_cel_unifier {
    lic_arena            *arena;
    const lic_cel_type  **bindings; /* of variables; NULL: nothing is known yet */
    size_t                variable_count, variable_capacity;
    lic_cel_undo         *trail;
    size_t                trail_count, trail_capacity;
    lic_cel_task         *tasks;
    size_t                task_count, task_capacity;
    lic_cel_task         *walk; /* of the helpers; none of them calls another */
    size_t                walk_count, walk_capacity;
    const lic_cel_type  **built;
    size_t                built_count, built_capacity;
    uint64_t              steps;   /* left */
    lic_cel_unify_failure failure; /* sticky: everything afterwards says false or NULL */
} lic_cel_unifier;

void lic_cel_unifier_init(lic_cel_unifier *u, lic_arena *arena);

/* A type that nothing is known of. NULL: u->failure. */
const lic_cel_type *lic_cel_fresh_variable(lic_cel_unifier *u);

/* Whether each from[i] may stand where to[i] is wanted. What that says about variables is kept only if all may. */
bool lic_cel_assignable(lic_cel_unifier *u, const lic_cel_type *const *from, const lic_cel_type *const *to,
                        size_t count);

/* The less specific of two that agree. */
const lic_cel_type *lic_cel_most_general(lic_cel_unifier *u, const lic_cel_type *first, const lic_cel_type *second);

/* With what is known about its variables put in; with `finally`, dyn for the others. NULL: u->failure. */
const lic_cel_type *lic_cel_substitute(lic_cel_unifier *u, const lic_cel_type *type, bool finally);

bool lic_cel_same_type(lic_cel_unifier *u, const lic_cel_type *first, const lic_cel_type *second);

#endif
