/* Names and relationships against a program (schema.md 15a). */
#ifndef LIC_DATASTORE_TYPING_H
#define LIC_DATASTORE_TYPING_H

#include "base/error.h"
#include "schema/program.h"

/* A relationship's names as numbers. */
typedef struct lic_typed {
    lic_slot resource; /* (resource type, relation) */
    lic_slot subject;  /* (subject type, relation or "...") */
    bool     wildcard;
} lic_typed;

/* NOT_FOUND, kind name, reason UNKNOWN_DEFINITION / UNKNOWN_RELATION_OR_PERMISSION. */
licet_status lic_find_definition(const lic_program *program, lic_str name, uint32_t *definition, licet_error **error);
licet_status lic_find_relation(const lic_program *program, uint32_t definition, lic_str name, lic_rel *relation,
                               licet_error **error);

/* Appends the printed form of an allowed type: "user", "user:*", "group#member with c and expiration". */
void lic_allowed_print(const lic_program *program, const lic_allowed *allowed, lic_text *out);

/* Rules 2 to 5, in order; of an update that deletes, the laxer rule 5. The record's shape is checked. Rule 6 is
 * lic_attribute_type(). */
licet_status lic_type_relationship(const lic_program *program, const licet_relationship *relationship, bool deletes,
                                   lic_typed *typed, licet_error **error);

#endif
