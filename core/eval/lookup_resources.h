/* Which resources? The answers to one question about all resources of a type, page by page, in order of their numbers.
 *
 * Goals that hold the subject are found backwards, from the subject's own rows (schema/reachability.h). What is met on
 * the last step before the target need not be kept: there the answers are sorted lists in the graph already, and a
 * page is the next piece of all of them merged. So memory follows the goals on the way (and, while it lasts, what the
 * graph has not merged into its base yet), not the answers; where the target leads to itself on other objects
 * (folder.view over parent->view), the two are the same.
 *
 * Law: what a page says of a resource is what lic_eval_check() says under the same context. It is said without asking
 * where a way to the target leads through nothing but unions and rows whose caveats are true, and is not deeper than the
 * limit: yes decides a union, whatever becomes of the rest. All other ways only bring candidates, and each of those is
 * checked. On the way, a goal behind an operator is asked about at once, since most that stop there stop many answers;
 * there, a no is a no, a yes is good for as much depth as it was found with, and anything else leaves it a candidate. */
#ifndef LIC_EVAL_LOOKUP_RESOURCES_H
#define LIC_EVAL_LOOKUP_RESOURCES_H

#include "eval/conditions.h"

/* So long a page may be searched for before the first answer is found. SpiceDB: of a stream without any result. */
#define LIC_LOOKUP_TIMEOUT_MS 30000u

/* The rows of one subject in one relation: their resources are answers, or candidates. */
typedef struct lic_resource_list {
    lic_ref subject;
    lic_rel rows;
    bool    bare;    /* rows without an attribute count */
    bool    certain; /* rows without a caveat are answers */
} lic_resource_list;

/* Where the answers are. Plain numbers, good for any snapshot of the revision and the moment it was made for. */
typedef struct lic_resource_plan {
    const lic_resource_list *lists;
    size_t                   list_count;
    const uint64_t          *singles; /* beside the lists: twice the node, and one more if it is a candidate; sorted */
    size_t                   single_count;
} lic_resource_plan;

typedef struct lic_resource_answer {
    uint32_t    node;
    bool        conditional;
    lic_missing missing; /* conditional: copies, in the page's arena */
} lic_resource_answer;

typedef struct lic_resource_page {
    lic_resource_answer *answers;
    size_t               count;
    bool                 is_last;
} lic_resource_page;

/* The evaluator is set up for the subject, its context and moment. Its arena is used for nothing else: it is freed when
 * much has gathered there. The plan lives in `keep`. Errors as those of lic_eval_check(): LIMIT_EXCEEDED for more than
 * max_steps edges on the way, DEADLINE_EXCEEDED, OUT_OF_MEMORY. */
licet_status lic_resources_plan(lic_eval *eval, lic_rel target, lic_arena *keep, lic_resource_plan *plan,
                                licet_error **error);

/* At most `wanted` answers whose nodes are at least `from`; fewer where it takes long. The page lives in the arena. A
 * check's failure is that of the page which would begin with it. LIMIT_EXCEEDED for more than max_steps rows without
 * an answer among them. */
licet_status lic_resources_page(lic_eval *eval, lic_rel target, const lic_resource_plan *plan, uint64_t from,
                                size_t wanted, lic_arena *arena, lic_resource_page *page, licet_error **error);

#endif
