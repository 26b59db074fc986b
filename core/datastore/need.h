/* What a request is going to ask of the graph: for stores that fetch only so much of it. Views of the request's texts,
 * whatever they are: one that is no object, or names what the schema does not have, needs nothing. */
#ifndef LIC_DATASTORE_NEED_H
#define LIC_DATASTORE_NEED_H

#include "base/str.h"

typedef enum lic_need_kind {
    LIC_NEED_NOTHING,     /* the revision alone */
    LIC_NEED_CHECKS,      /* checks */
    LIC_NEED_EXPLANATION, /* of the checks: also of what does not decide */
    LIC_NEED_PERMISSIONS, /* resource, permissions, subject */
    LIC_NEED_EXPANSION,   /* resource, permission */
    LIC_NEED_SUBJECTS,    /* resource, permission, subject_type, subject_relation */
    LIC_NEED_RESOURCES,   /* resource_type, permission, subject */
    LIC_NEED_ROWS         /* relationships themselves: filter */
} lic_need_kind;

typedef struct lic_need {
    lic_need_kind kind;

    const licet_check_request *checks; /* of which contexts and consistency say nothing */
    size_t                     check_count;

    lic_str        resource; /* "type:id" */
    lic_str        resource_type;
    lic_str        permission;
    const lic_str *permissions; /* NULL: all of the resource's type */
    size_t         permission_count;
    lic_str        subject; /* "type:id" or "type:id#relation" */
    lic_str        subject_type;
    lic_str        subject_relation; /* not given: none */

    const licet_filter *filter; /* as it is meant; nothing given: all relationships */

    /* What may be done while the store waits for its database, once at most: in the same thread, under no lock. By then
     * the graph's head often is what will be pinned. NULL: nothing. */
    void (*meanwhile)(void *context);
    void *context;
} lic_need;

#endif
