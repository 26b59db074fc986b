/* From texts to numbers. An id that occurs nowhere is a number too: LIC_NO_NODE, or, where the other id is one as
 * well and could be taken for the same, LIC_OTHER_NODE. */
#include "engine/question.h"

#include <stdio.h>

#include "datastore/object.h"

/* ---------------------------------------------------------------- the fast way */

static bool has_id_bytes(lic_str id)
{
    size_t i = 0;

    while (i < id.size && lic_is_id_byte((unsigned char)id.data[i]))
        i++;
    return i == id.size;
}

/* An id that is found was written once, so it is a good one. One that is not found has to be looked at. */
static bool find_id(const lic_snapshot *snapshot, lic_type type, lic_str id, uint32_t *node)
{
    if (id.size == 0 || id.size > LIC_MAX_ID_BYTES)
        return false;
    *node = lic_snapshot_find_node(snapshot, type, id);
    return *node != LIC_NO_NODE ? *node != LIC_WILDCARD_NODE : has_id_bytes(id);
}

/* For ids of one type. Unknown ones have one number for them all, and a writer may give one a number of its own between
 * our two look-ups: whether the two are the same is then a question to their texts. */
static void tell_apart(lic_question *question, lic_str resource_id, lic_str subject_id)
{
    if (question->node != LIC_NO_NODE && question->subject.node != LIC_NO_NODE)
        return;
    if (lic_str_equal(resource_id, subject_id))
        question->node = question->subject.node;
    else if (question->node == question->subject.node)
        question->node = LIC_OTHER_NODE;
}

static inline bool same_word(const char *a, const char *b)
{
    return memcmp(a, b, 8) == 0; /* of a size that is known: one comparison, not a call */
}

/* The same bytes? Names and ids are short, and a call of memcmp() takes longer than to look at them: by words, which
 * overlap. */
static inline bool same_bytes(const char *a, const char *b, size_t size)
{
    size_t i = 0;

    if (a == b)
        return true;
    if (size < 4) {
        while (i < size && a[i] == b[i])
            i++;
        return i == size;
    }
    if (size < 8)
        return memcmp(a, b, 4) == 0 && memcmp(a + size - 4, b + size - 4, 4) == 0;
    for (; size - i > 8; i += 8)
        if (!same_word(a + i, b + i))
            return false;
    return same_word(a + size - 8, b + size - 8);
}

/* Not given is equal to nothing. */
static inline bool is_known(lic_str known, lic_str text)
{
    return text.size == known.size && text.size > 0 && same_bytes(text.data, known.data, text.size);
}

/* The definition and slot of a subject. */
static bool find_subject_slot(const lic_program *program, const lic_object *subject, lic_question *question)
{
    lic_rel relation;

    question->subject_definition = lic_program_definition(program, subject->type);
    if (question->subject_definition == LIC_NO_DEFINITION)
        return false;
    question->subject.slot = program->definitions[question->subject_definition].ellipsis;
    if (!lic_str_given(subject->relation))
        return true;
    relation = lic_program_relation(program, question->subject_definition, subject->relation);
    if (relation == LIC_NO_REL)
        return false;
    question->subject.slot = program->relations[relation].slot;
    return true;
}

static bool know_subject(const lic_program *program, const lic_snapshot *snapshot, lic_str text, lic_known *known)
{
    lic_question                *q = &known->question;
    LIC_UNINITIALIZED lic_object subject;

    if (is_known(known->subject, text))
        return true;
    known->subject.size = 0;
    if (!lic_subject_split(text, &subject) || !find_subject_slot(program, &subject, q) ||
        !find_id(snapshot, program->definitions[q->subject_definition].type, subject.id, &q->subject.node))
        return false;
    known->subject    = text;
    known->subject_id = subject.id;
    return true;
}

/* The resource's id, if its type and the permission are the known ones. */
static inline bool is_known_relation(const lic_known *known, const licet_check_request *request, lic_str *id)
{
    const lic_str resource = request->resource;
    const size_t  size     = known->resource_type.size;

    if (!is_known(known->permission, request->permission) || resource.size <= size || resource.data[size] != ':' ||
        !same_bytes(resource.data, known->resource_type.data, size))
        return false;
    *id = lic_str_slice(resource, size + 1, resource.size);
    return true;
}

static bool know_relation(const lic_program *program, const licet_check_request *request, lic_known *known, lic_str *id)
{
    const lic_str                permission = request->permission;
    LIC_UNINITIALIZED lic_object resource;

    if (is_known_relation(known, request, id))
        return true;
    known->permission.size = 0;
    if (!lic_object_split(request->resource, &resource) || permission.size > LIC_MAX_RELATION_NAME_BYTES)
        return false;
    known->definition = lic_program_definition(program, resource.type);
    if (known->definition == LIC_NO_DEFINITION)
        return false;
    known->relation = lic_program_relation(program, known->definition, permission);
    if (known->relation == LIC_NO_REL)
        return false;
    known->resource_type = resource.type;
    known->permission    = permission;
    *id                  = resource.id;
    return true;
}

bool lic_question_find(const lic_program *program, const lic_snapshot *snapshot, const licet_check_request *request,
                       lic_known *known, lic_question *question)
{
    lic_str id;

    if (!know_relation(program, request, known, &id) || !know_subject(program, snapshot, request->subject, known))
        return false;
    *question          = known->question;
    question->relation = known->relation;
    if (!find_id(snapshot, program->definitions[known->definition].type, id, &question->node))
        return false;
    if (known->definition == question->subject_definition)
        tell_apart(question, id, known->subject_id);
    return true;
}

/* ---------------------------------------------------------------- the slow way */

static const char *field_name(char *where, size_t size, const char *item, const char *field)
{
    snprintf(where, size, "%s%s", item, field);
    return where;
}

static licet_status subject_check(const char *field, lic_str text, licet_error **error)
{
    lic_object   subject;
    licet_status status = lic_subject_check(field, text, error);

    if (status == LICET_OK && lic_subject_split(text, &subject) && lic_str_given(subject.relation) &&
        lic_str_equal(subject.id, LIC_STR("*")))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: the wildcard subject can not have a relation", field);
    return status;
}

licet_status lic_question_check(const char *item, const licet_check_request *request, bool wildcard_ok,
                                licet_error **error)
{
    char         where[64];
    licet_status status;

    LIC_TRY(lic_object_check(field_name(where, sizeof where, item, "resource"), request->resource, wildcard_ok, error));
    LIC_TRY(lic_relation_check(field_name(where, sizeof where, item, "permission"), request->permission, error));
    LIC_TRY(subject_check(field_name(where, sizeof where, item, "subject"), request->subject, error));
done:
    return status;
}

static licet_status resolve_subject(const lic_program *program, const lic_object *subject, lic_question *question,
                                    licet_error **error)
{
    lic_rel      relation;
    licet_status status;

    LIC_TRY(lic_find_definition(program, subject->type, &question->subject_definition, error));
    question->subject.slot = program->definitions[question->subject_definition].ellipsis;
    if (lic_str_given(subject->relation)) {
        LIC_TRY(lic_find_relation(program, question->subject_definition, subject->relation, &relation, error));
        question->subject.slot = program->relations[relation].slot;
    }
    if (lic_str_equal(subject->id, LIC_STR("*")))
        status = lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "WILDCARD_NOT_ALLOWED", LIC_NOWHERE,
                                 "subject: a check can not be about the wildcard");
done:
    return status;
}

licet_status lic_question_resolve(const lic_program *program, const lic_snapshot *snapshot,
                                  const licet_check_request *request, lic_question *question, licet_error **error)
{
    lic_object   resource = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    lic_object   subject  = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uint32_t     definition;
    licet_status status;

    lic_object_split(request->resource, &resource);
    lic_subject_split(request->subject, &subject);
    LIC_TRY(lic_find_definition(program, resource.type, &definition, error));
    LIC_TRY(lic_find_relation(program, definition, request->permission, &question->relation, error));
    LIC_TRY(resolve_subject(program, &subject, question, error));
    question->node = lic_snapshot_find_node(snapshot, program->definitions[definition].type, resource.id);
    question->subject.node =
        lic_snapshot_find_node(snapshot, program->definitions[question->subject_definition].type, subject.id);
    if (definition == question->subject_definition)
        tell_apart(question, resource.id, subject.id);
    if (question->node == LIC_WILDCARD_NODE) /* of a bulk check: an object like no other */
        question->node = LIC_OTHER_NODE;
done:
    return status;
}
