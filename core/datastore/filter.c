/* Filters. A permission's slot is a slot like any other, under which nothing is ever stored: such filters match nothing
 * without being told apart. */
#include "datastore/filter.h"

#include <stdio.h>

#include "datastore/object.h"
#include "datastore/typing.h"

static licet_status fail_filter(const char *field, licet_error **error, const char *problem)
{
    return lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "INVALID_FILTER", LIC_NOWHERE, "%s: %s",
                           field, problem);
}

static void forget_if_empty(lic_str *field)
{
    if (field->size == 0)
        *field = (lic_str){ NULL, 0 };
}

licet_filter lic_filter_meant(const licet_filter *filter, bool strict)
{
    licet_filter meant = *filter;

    if (strict)
        return meant;
    forget_if_empty(&meant.resource_type);
    forget_if_empty(&meant.resource_id);
    forget_if_empty(&meant.resource_id_prefix);
    forget_if_empty(&meant.relation);
    forget_if_empty(&meant.subject_type);
    forget_if_empty(&meant.subject_id);
    return meant;
}

static bool is_empty(const licet_filter *f)
{
    return !lic_str_given(f->resource_type) && !lic_str_given(f->resource_id) &&
           !lic_str_given(f->resource_id_prefix) && !lic_str_given(f->relation) && !lic_str_given(f->subject_type) &&
           !lic_str_given(f->subject_id) && !lic_str_given(f->subject_relation);
}

/* Checks a field if it is given; its name goes into the message. */
static licet_status field_check(const char *field, const char *name, lic_str text,
                                licet_status (*check)(const char *, lic_str, licet_error **), licet_error **error)
{
    char where[128];

    if (!lic_str_given(text))
        return LICET_OK;
    snprintf(where, sizeof where, "%s: %s", field, name);
    return check(where, text, error);
}

static licet_status id_check(const char *field, lic_str text, licet_error **error)
{
    return lic_id_check(field, text, false, error);
}

static licet_status subject_id_check(const char *field, lic_str text, licet_error **error)
{
    return lic_id_check(field, text, true, error);
}

/* Present and empty: only subjects without a relation. */
static licet_status subject_relation_check(const char *field, lic_str text, licet_error **error)
{
    return text.size == 0 ? LICET_OK : lic_relation_check(field, text, error);
}

static licet_status subject_check(const char *field, const licet_filter *f, lic_filter_use use, licet_error **error)
{
    bool subject_given = lic_str_given(f->subject_id) || lic_str_given(f->subject_relation);
    bool wildcard      = lic_str_given(f->subject_id) && lic_str_equal(f->subject_id, LIC_STR("*"));

    if (subject_given && !lic_str_given(f->subject_type))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: subject_type must be given with subject_id or subject_relation", field);
    if ((use == LIC_FILTER_DELETE || use == LIC_FILTER_PRECONDITION) && wildcard && f->subject_relation.size > 0)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: the wildcard subject can not have a relation", field);
    return LICET_OK;
}

licet_status lic_filter_check(const char *field, const licet_filter *f, lic_filter_use use, licet_error **error)
{
    licet_status status;

    LIC_TRY(field_check(field, "resource_type", f->resource_type, lic_type_check, error));
    LIC_TRY(field_check(field, "resource_id", f->resource_id, id_check, error));
    LIC_TRY(field_check(field, "resource_id_prefix", f->resource_id_prefix, id_check, error));
    LIC_TRY(field_check(field, "relation", f->relation, lic_relation_check, error));
    LIC_TRY(field_check(field, "subject_type", f->subject_type, lic_type_check, error));
    LIC_TRY(field_check(field, "subject_id", f->subject_id, subject_id_check, error));
    LIC_TRY(field_check(field, "subject_relation", f->subject_relation, subject_relation_check, error));
    LIC_TRY(subject_check(field, f, use, error));
    if (use == LIC_FILTER_EXPORT || use == LIC_FILTER_WATCH)
        status = lic_filter_choice_check(field, f, use, error);
done:
    return status;
}

licet_status lic_filter_choice_check(const char *field, const licet_filter *f, lic_filter_use use, licet_error **error)
{
    if (lic_str_given(f->resource_id) && lic_str_given(f->resource_id_prefix))
        return fail_filter(field, error, "resource_id and resource_id_prefix exclude each other");
    if (use != LIC_FILTER_EXPORT && is_empty(f))
        return fail_filter(field, error, "at least one field must be given");
    return LICET_OK;
}

static licet_status compile_resource(const lic_program *program, const licet_filter *f, lic_filter_use use,
                                     lic_filter *out, licet_error **error)
{
    uint32_t     definition;
    lic_rel      relation;
    licet_status status;

    if (!lic_str_given(f->resource_type))
        return LICET_OK;
    LIC_TRY(lic_find_definition(program, f->resource_type, &definition, error));
    out->resource_type = program->definitions[definition].type;
    if (!lic_str_given(f->relation))
        return LICET_OK;
    LIC_TRY(lic_find_relation(program, definition, f->relation, &relation, error));
    if (use == LIC_FILTER_READ && program->relations[relation].is_permission)
        return lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "SCHEMA_TYPE_ERROR", LIC_NOWHERE,
                               "cannot read relationships of permission `%.*s` under definition `%.*s`",
                               LIC_STR_ARG(f->relation), LIC_STR_ARG(f->resource_type));
    out->resource_slot = program->relations[relation].slot;
done:
    return status;
}

static licet_status compile_subject(const lic_program *program, const licet_filter *f, lic_filter *out,
                                    licet_error **error)
{
    uint32_t     definition;
    lic_rel      relation;
    licet_status status;

    if (!lic_str_given(f->subject_type))
        return LICET_OK;
    LIC_TRY(lic_find_definition(program, f->subject_type, &definition, error));
    out->subject_type = program->definitions[definition].type;
    if (!lic_str_given(f->subject_relation))
        return LICET_OK;
    out->subject_slot = program->definitions[definition].ellipsis;
    if (f->subject_relation.size == 0)
        return LICET_OK;
    LIC_TRY(lic_find_relation(program, definition, f->subject_relation, &relation, error));
    out->subject_slot = program->relations[relation].slot;
done:
    return status;
}

licet_status lic_filter_compile(const lic_program *program, const licet_filter *f, lic_filter_use use,
                                lic_filter *compiled, licet_error **error)
{
    licet_status status;

    *compiled = (lic_filter){ .resource_type      = LIC_NO_TYPE,
                              .resource_slot      = LIC_NO_SLOT,
                              .relation           = f->relation,
                              .resource_id        = f->resource_id,
                              .resource_id_prefix = f->resource_id_prefix,
                              .subject_type       = LIC_NO_TYPE,
                              .subject_slot       = LIC_NO_SLOT,
                              .subject_id         = f->subject_id };
    LIC_TRY(compile_resource(program, f, use, compiled, error));
    LIC_TRY(compile_subject(program, f, compiled, error));
done:
    return status;
}
