/* The evaluator: a question, a program and a snapshot give an answer. Pure: no I/O, no locks, no globals.
 *
 * Semantics (api.md 4 with the positions of its section 18): the least fixpoint of the rules over the snapshot.
 * A cycle adds no members; a cycle through the excluded side of an exclusion has no answer and is the depth failure.
 * Depth: a request starts with max_depth; each step to another object or name costs one, aliases cost nothing where
 * api.md 4.9 says so; a step that would start with nothing left fails. Identity is seen before the step and costs
 * nothing. Yes decides a union, no an intersection, an empty base an exclusion, also when another branch failed.
 *
 * Law: the answer does not depend on the order of evaluation, on what was asked before, nor on what the memo holds.
 * Three evaluators see to that:
 *   search.c  where all goals are unions, as in most checks: looks for the subject, and gives up near any limit.
 *   eval.c    depth first with an explicit stack. Exact where no cycle is met: what it remembers of a goal holds for
 *             every depth at which it is used, since with more depth unknown values become known, and known ones stay.
 *   cycles.c  when that one meets a cycle or gives up for depth: all goals nearer than the depth limit at once, by
 *             fixpoint. What the first can decide, this one decides alike, so it does not matter who met a cycle.
 * A walk that gives up for depth without a cycle is repeated with each caveat judged where it is met: what is true
 * under the context decides a union, and what is false an intersection, also beside a branch that failed.
 * Running out of steps, time or memory is no answer, and the only thing that depends on what is remembered.
 *
 * A relationship that has expired is not there. One with a caveat gives an "if" with the number of its attribute as the
 * leaf; conditions.h says what comes of those. Walking the graph looks at no context, so what it remembers is good for
 * every context. Two do look: the fixpoint, for with conditions that stay open its rules would grow without end, and
 * a walk that is repeated, which leaves nothing remembered behind. */
#ifndef LIC_EVAL_EVAL_H
#define LIC_EVAL_EVAL_H

#include "base/arena.h"
#include "base/error.h"
#include "caveat/context.h"
#include "eval/three_valued.h"
#include "graph/graph.h"
#include "schema/program.h"

typedef struct lic_eval_limits {
    uint32_t max_depth;
    uint64_t max_steps;  /* edges visited, for one question */
    uint32_t timeout_ms; /* for one question; the clock is first read after some thousand steps */
} lic_eval_limits;

/* The time that expirations are judged by: one for a whole request, read when the first is met. */
typedef struct lic_moment {
    int64_t (*now)(void *source); /* nanoseconds since 1970 */
    void    *source;
    bool     is_read;
    int64_t  seconds;
    uint32_t nanoseconds;
    bool     is_lost; /* it was asked for and is not known: what was made of rows that expire is no answer */
} lic_moment;

/* Of a clock that is not known. */
#define LIC_NO_TIME INT64_MIN

typedef struct lic_outcomes   lic_outcomes;
typedef struct lic_eval_memo  lic_eval_memo;
typedef struct lic_eval_frame lic_eval_frame;

/* One request's evaluator: on the caller's stack, one thread. Answers to one subject share a memo.
 * An arena that begins with 4 KiB on the stack lets small checks do without the allocator. */
typedef struct lic_eval {
    const lic_program  *program;
    const lic_snapshot *snapshot;
    lic_arena          *arena; /* the request's */
    lic_eval_limits     limits;
    uint32_t            subject_definition;
    lic_ref             subject;
    lic_ref             everyone; /* the wildcard of the subject's type */
    lic_eval_memo      *memo;     /* of this subject; NULL: nothing remembered yet */
    uint32_t            goals;    /* evaluated for this subject: a memo only pays from some on */
    lic_eval_frame     *frames;   /* room for the stack of goals in progress */
    size_t              frame_capacity;
    uint64_t            steps;       /* edges visited by the question now asked */
    uint64_t            next_look;   /* past so many steps, limits.max_steps and the clock are looked at */
    uint64_t            deadline_ms; /* 0: the clock was not read yet */
    uint64_t            work;        /* on caveats, since the clock was looked at; in steps of theirs */
    bool                met_caveat;  /* since the memo began: what it remembers may hang on one */
    bool                judges;      /* caveats where they are met, not in the end: memo is for this context alone */
    /* For rows with attributes. The caller may set these after lic_eval_init(). */
    lic_moment               *moment;   /* NULL: the system's clock, read for each row */
    const lic_context_values *context;  /* the request's; NULL: none */
    lic_outcomes             *outcomes; /* of caveats under this context; NULL: none yet */
    bool                      strict;   /* of the engine's options */
} lic_eval;

/* program, snapshot and arena must outlive it. Allocates nothing. */
void lic_eval_init(lic_eval *eval, const lic_program *program, const lic_snapshot *snapshot, lic_arena *arena,
                   const lic_eval_limits *limits);

/* Chooses the subject of the questions that follow; forgets what was remembered of another.
 * slot is the subject's: (type, "...") or (type, relation). node may be LIC_NO_NODE, never the wildcard. */
void lic_eval_subject(lic_eval *eval, uint32_t definition, lic_ref subject);

/* Is the subject in `relation` (or permission) of the object `node`? node may be LIC_NO_NODE, or LIC_OTHER_NODE where
 * resource and subject have one type, both ids are unknown and differ. An IF is good for eval->context alone.
 * LICET_OK: *answer is NO, YES or IF. Else *answer is LIC_MEMBERSHIP_NO and the error says which limit:
 * LIMIT_EXCEEDED (reason MAXIMUM_DEPTH_EXCEEDED for depth), DEADLINE_EXCEEDED, OUT_OF_MEMORY. */
licet_status lic_eval_check(lic_eval *eval, lic_rel relation, uint32_t node, lic_membership *answer,
                            licet_error **error);

#endif
