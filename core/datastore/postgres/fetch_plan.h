/* Which relationships a request can touch: from the compiled schema, as tables that a recursive query follows.
 *
 * A query goes from object to object. A *state* says what is to be looked at on an object: it stands for a set of
 * relations and permissions of one definition. A *probe* of a state is one range of an index there: rows of one relation
 * and one shape of subjects. Rows may lead on: to their subjects (forward) or to their resources (backward), each in the
 * state that the probe names. The tables are those of the schema's rules with all operators taken for unions: what is
 * subtracted or intersected is fetched too.
 *
 * Law: forward from an object in the state of a goal, every row is reached that an evaluator may ask for when the goal is
 * put to it, but for direct subjects that are not asked about. A goal in more than one state of a definition is fetched
 * more than once, never less. There are no more states than pairs of relation and shape, plus those where queries begin:
 * rows of one pair lead to one state, wherever they are met. */
#ifndef LIC_DATASTORE_POSTGRES_FETCH_PLAN_H
#define LIC_DATASTORE_POSTGRES_FETCH_PLAN_H

#include "datastore/need.h"
#include "schema/program.h"

#define LIC_FETCH_ENDS 0u /* instead of a state: rows lead nowhere. States count from 1 */

typedef enum lic_fetch_mode {
    LIC_FETCH_ALL,     /* all rows of the shape */
    LIC_FETCH_SUBJECT, /* the one of the subject that is asked about */
    LIC_FETCH_WILDCARD /* the one of "*" */
} lic_fetch_mode;

typedef struct lic_fetch_probe {
    uint32_t       state;
    uint32_t       next; /* state of the objects that the rows lead to */
    lic_rel        relation;
    lic_slot       slot; /* of the rows' subjects */
    lic_fetch_mode mode;
    /* Forward, of a state where queries begin: a row without attributes grants what the state is about. Then no more is
     * needed to say yes. */
    bool decides;
} lic_fetch_probe;

typedef struct lic_fetch_probes {
    lic_fetch_probe *items;
    size_t           count;
    size_t           capacity;
} lic_fetch_probes;

/* Where a query begins. */
typedef struct lic_fetch_seed {
    uint32_t state;
    lic_str  id;
    lic_str  subject_id; /* forward: of the subject that is asked about; else "" */
} lic_fetch_seed;

typedef struct lic_fetch_seeds {
    lic_fetch_seed *items;
    size_t          count;
    size_t          capacity;
} lic_fetch_seeds;

/* Of what was reached backwards: objects in the one state are to be looked at forward in the other. */
typedef struct lic_fetch_crossing {
    uint32_t from;
    uint32_t to;
} lic_fetch_crossing;

/* Lives in an arena. */
typedef struct lic_fetch_plan {
    lic_fetch_seeds  seeds;
    lic_fetch_probes probes;
    bool             is_for_one; /* one shape of subjects */

    /* LIC_NEED_RESOURCES: the rows that lead from the subject to candidates; probes are for checks of these. */
    lic_fetch_seeds     starts;
    lic_fetch_probes    backward;
    lic_fetch_crossing *crossings;
    size_t              crossing_count;
    lic_str             subject_id; /* that the checks are about */
    bool                confirms;   /* some candidates are no answers, whatever the rows are */

    /* Of one check, or of LIC_NEED_RESOURCES. */
    lic_rel  target;
    lic_slot subject_slot;
    uint32_t subject_definition;
} lic_fetch_plan;

/* max_depth: of the evaluator. false: out of memory. */
bool lic_fetch_plan_make(lic_arena *arena, const lic_program *program, const lic_need *need, uint32_t max_depth,
                         lic_fetch_plan *plan);

#endif
