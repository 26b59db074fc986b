/* What a relationship has beside its six names: a caveat with its context, an expiration. From a record into what the
 * graph keeps. */
#ifndef LIC_DATASTORE_ATTRIBUTE_H
#define LIC_DATASTORE_ATTRIBUTE_H

#include "caveat/context.h"
#include "datastore/expiration.h"
#include "graph/graph.h"
#include "schema/program.h"

/* Of an edge's attribute: what is in `payload`. NULL: the relationship has no context. */
static inline const lic_context *lic_attribute_context(const lic_attribute *attribute)
{
    return attribute->payload;
}

/* Does it say anything? */
static inline bool lic_attribute_given(const lic_attribute *attribute)
{
    return attribute->caveat != LIC_NO_CAVEAT_NAME || attribute->expires_at_s != LIC_NEVER_EXPIRES;
}

/* All but the caveat's number: INVALID_ARGUMENT, LIMIT_EXCEEDED. After an error there is nothing to end. The text of
 * the context lives in the arena; the payload is the caller's until a store takes it, and made of the arena's memory.
 * strict: of the engine's options. */
licet_status lic_attribute_read(lic_arena *arena, const char *field, const licet_relationship *relationship,
                                bool strict, lic_attribute *attribute, licet_error **error);

/* The caveat's number; and of a context (schema.md 15a rule 6): it has no key that is no parameter, and every value
 * becomes what its parameter is. INVALID_ARGUMENT, NOT_FOUND for a caveat that is not of the program. */
licet_status lic_attribute_type(const lic_program *program, const licet_relationship *relationship, bool strict,
                                lic_attribute *attribute, licet_error **error);

/* Frees a payload that no store has taken. Twice is fine. */
void lic_attribute_end(lic_attribute *attribute);

/* For lic_graph_options.release_payload. */
void lic_attribute_release_payload(void *context, void *payload);

#endif
