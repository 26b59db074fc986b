/* How far an import has come that is committed piece by piece. Whoever goes on with it gives the same relationships in the
 * same order, from the first on: the digest says whether they are, as far as they are committed. */
#ifndef LIC_DATASTORE_PROGRESS_H
#define LIC_DATASTORE_PROGRESS_H

#include "datastore/attribute.h"

#define LIC_PROGRESS_BYTES 16 /* of a digest */
#define LIC_MAX_IMPORT_NAME_BYTES 128

/* Of nothing: all zero. Against mistakes, not against somebody who makes two of the same digest. */
typedef struct lic_progress {
    uint64_t count;
    uint8_t  digest[LIC_PROGRESS_BYTES];
} lic_progress;

typedef struct lic_import_record {
    lic_progress progress;
    bool         is_finished;
} lic_import_record;

/* One relationship further. It has passed lic_relationship_check(), and the attribute was read from it, but not typed:
 * the schema has no part in this. scratch: an empty text, left empty. false: out of memory. */
bool lic_progress_add(lic_progress *progress, const licet_relationship *relationship, const lic_attribute *attribute,
                      lic_text *scratch);
bool lic_progress_equal(const lic_progress *a, const lic_progress *b);

#endif
