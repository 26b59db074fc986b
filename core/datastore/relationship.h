/* Relationships as text and as records (validation-files.md 2, schema.md 7). Defines licet_relationship_parse(),
 * licet_relationship_parse_strict() and licet_relationship_format(). */
#ifndef LIC_DATASTORE_RELATIONSHIP_H
#define LIC_DATASTORE_RELATIONSHIP_H

#include "base/error.h"

/* Is the record's size one that we know? */
static inline bool lic_relationship_known(const licet_relationship *relationship)
{
    return relationship->size == sizeof(licet_relationship);
}

/* The subject's relation; not given for "..." too. */
static inline lic_str lic_subject_relation(const licet_relationship *relationship)
{
    bool ellipsis =
        lic_str_given(relationship->subject_relation) && lic_str_equal(relationship->subject_relation, LIC_STR("..."));

    return ellipsis ? (lic_str){ NULL, 0 } : relationship->subject_relation;
}

/* The fields' shapes, as SpiceDB's API has them: stricter than the text about wildcards with a relation, laxer about
 * caveat names. Whether a context is JSON is for lic_attribute_read(). `field` says which relationship: "update 3". */
licet_status lic_relationship_check(const char *field, const licet_relationship *relationship, licet_error **error);

/* Appends it in the notation of the texts. The record has passed lic_relationship_check(). */
licet_status lic_relationship_print(const licet_relationship *relationship, lic_text *out, licet_error **error);

#endif
