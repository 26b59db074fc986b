/* The notations of assertions and expected relations (validation-files.md 4 and 5): texts to records, nothing
 * looked up. All views are of the text given. */
#ifndef LIC_VALIDATION_EXPECTED_H
#define LIC_VALIDATION_EXPECTED_H

#include "base/arena.h"
#include "base/error.h"
#include "datastore/object.h"

typedef struct lic_named_subject {
    lic_object object;   /* id may be "*" */
    bool       caveated; /* followed by [...] */
} lic_named_subject;

/* "[user:* - {user:eve}] is <document:one#viewer>/<...>" */
typedef struct lic_expected_subject {
    bool               has_subject; /* false: no bracket in the text */
    lic_named_subject  subject;
    lic_named_subject *exclusions;
    size_t             exclusion_count;
    lic_object        *resources; /* in the text's order, repeats included */
    size_t             resource_count;
} lic_expected_subject;

/* "document:one#view@user:tom with {...}" */
typedef struct lic_assertion {
    licet_relationship relationship;
    lic_str            context; /* a JSON object; not given: none */
} lic_assertion;

/* "type:id#relation"; the relation is required, `...` is none. INVALID_ARGUMENT says what is wrong. */
licet_status lic_object_and_relation_parse(lic_str text, lic_object *object, licet_error **error);

/* INVALID_ARGUMENT, in SpiceDB's words. Lives in the arena. */
licet_status lic_expected_parse(lic_arena *arena, lic_str text, lic_expected_subject *expected, licet_error **error);

licet_status lic_assertion_parse(lic_str text, lic_assertion *assertion, licet_error **error);

#endif
