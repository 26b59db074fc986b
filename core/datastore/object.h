/* The texts of requests: "type:id" and "type:id#relation", and the fields of records. Cutting them is one
 * thing (fast, of every check), saying what is wrong with them another (slow, of those that failed).
 *
 * `field` names what is judged in messages ("resource", "item 3: subject"). A text that is not given, empty, not
 * UTF-8 or outside its pattern (api.md 1) is INVALID_ARGUMENT, of kind value or encoding. */
#ifndef LIC_DATASTORE_OBJECT_H
#define LIC_DATASTORE_OBJECT_H

#include "base/error.h"
#include "schema/limits.h"

/* The longest objects and subjects that can be right. Nothing longer is looked at. */
#define LIC_MAX_OBJECT_BYTES (LIC_MAX_TYPE_NAME_BYTES + 1 + LIC_MAX_ID_BYTES)
#define LIC_MAX_SUBJECT_BYTES (LIC_MAX_OBJECT_BYTES + 1 + LIC_MAX_RELATION_NAME_BYTES)

typedef struct lic_object {
    lic_str type;
    lic_str id;
    lic_str relation; /* of a subject; not given: none */
} lic_object;

/* Cuts "type:id" at its first colon. false: there is none, or the text is too long. Judges nothing else. */
static inline bool lic_object_split(lic_str text, lic_object *object)
{
    const char *colon;

    if (text.size == 0 || text.size > LIC_MAX_SUBJECT_BYTES)
        return false;
    colon = memchr(text.data, ':', text.size);
    if (colon == NULL)
        return false;
    object->type     = (lic_str){ text.data, (size_t)(colon - text.data) };
    object->id       = (lic_str){ colon + 1, text.size - object->type.size - 1 };
    object->relation = (lic_str){ NULL, 0 };
    return true;
}

/* The same for "type:id#relation". */
static inline bool lic_subject_split(lic_str text, lic_object *object)
{
    const char *hash;

    if (!lic_object_split(text, object))
        return false;
    hash = object->id.size == 0 ? NULL : memchr(object->id.data, '#', object->id.size);
    if (hash != NULL) {
        size_t size = (size_t)(hash - object->id.data);

        object->relation = (lic_str){ hash + 1, object->id.size - size - 1 };
        object->id.size  = size;
    }
    return true;
}

/* Is the byte one that an id may hold? "*" is not one. */
bool lic_is_id_byte(unsigned char byte);
/* An id, and not the wildcard. */
bool lic_is_id(lic_str text);

/* "type:id". wildcard_ok: the id may be "*" (a bulk check's resource, which nobody has). */
licet_status lic_object_check(const char *field, lic_str text, bool wildcard_ok, licet_error **error);
/* "type:id" or "type:id#relation"; the wildcard passes, "..." does not. */
licet_status lic_subject_check(const char *field, lic_str text, licet_error **error);

/* One field. */
licet_status lic_type_check(const char *field, lic_str text, licet_error **error);
licet_status lic_relation_check(const char *field, lic_str text, licet_error **error);
licet_status lic_id_check(const char *field, lic_str text, bool wildcard_ok, licet_error **error);
licet_status lic_caveat_name_check(const char *field, lic_str text, licet_error **error);

#endif
