/* Filters of reads, deletes and preconditions (api.md 10): shape, names, and the form that stores work with. */
#ifndef LIC_DATASTORE_FILTER_H
#define LIC_DATASTORE_FILTER_H

#include "base/error.h"
#include "schema/program.h"

/* A filter's names as numbers. Texts are views of the request. */
typedef struct lic_filter {
    lic_type resource_type; /* LIC_NO_TYPE: any */
    lic_slot resource_slot; /* LIC_NO_SLOT: any, or see relation */
    lic_str  relation;      /* without a resource type: of any type; not given: any */
    lic_str  resource_id;
    lic_str  resource_id_prefix;
    lic_type subject_type; /* LIC_NO_TYPE: any */
    lic_slot subject_slot; /* LIC_NO_SLOT: any */
    lic_str  subject_id;
    bool     one_form; /* no request has it: only those with exactly this caveat, and an expiration or not */
    bool     expires;
    uint32_t caveat; /* number of its name; LIC_NO_CAVEAT_NAME: none */
} lic_filter;

/* Where a filter is used decides two of its rules. */
typedef enum lic_filter_use {
    LIC_FILTER_READ,        /* a permission's name is an error; "*" with a relation matches nothing */
    LIC_FILTER_WATCH,       /* the same, but a permission's name matches nothing */
    LIC_FILTER_EXPORT,      /* the same, but it may be empty, and a permission's name matches nothing */
    LIC_FILTER_DELETE,      /* a permission's name matches nothing; "*" with a relation is an error */
    LIC_FILTER_PRECONDITION /* as that */
} lic_filter_use;

/* The filter as it is meant. SpiceDB's messages can't tell an empty field from one that is not given, and only a strict
 * engine does: there it stays, and is an error. (An empty subject_relation means something everywhere.) */
licet_filter lic_filter_meant(const licet_filter *filter, bool strict);

/* The fields' shapes. `field` says which filter. Of exports and watches also what lic_filter_choice_check() looks at. */
licet_status lic_filter_check(const char *field, const licet_filter *filter, lic_filter_use use, licet_error **error);

/* Is there a field at all, and no two that exclude each other? SpiceDB looks after the names (INVALID_FILTER). */
licet_status lic_filter_choice_check(const char *field, const licet_filter *filter, lic_filter_use use,
                                     licet_error **error);

/* The names. The shape is checked. */
licet_status lic_filter_compile(const lic_program *program, const licet_filter *filter, lic_filter_use use,
                                lic_filter *compiled, licet_error **error);

#endif
