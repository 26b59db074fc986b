/* May this relationship be stored? Decided by the names alone; ids only matter in being the wildcard or not. */
#include "datastore/typing.h"

#include "datastore/relationship.h"

licet_status lic_find_definition(const lic_program *program, lic_str name, uint32_t *definition, licet_error **error)
{
    *definition = lic_program_definition(program, name);
    if (*definition != LIC_NO_DEFINITION)
        return LICET_OK;
    return lic_fail_reason(error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", LIC_NOWHERE,
                           "object definition `%.*s` not found", LIC_STR_ARG(name));
}

licet_status lic_find_relation(const lic_program *program, uint32_t definition, lic_str name, lic_rel *relation,
                               licet_error **error)
{
    lic_str under = program->definitions[definition].name;

    *relation = lic_program_relation(program, definition, name);
    if (*relation != LIC_NO_REL)
        return LICET_OK;
    return lic_fail_reason(error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION", LIC_NOWHERE,
                           "relation/permission `%.*s` not found under definition `%.*s`", LIC_STR_ARG(name),
                           LIC_STR_ARG(under));
}

/* What is asked for, in the terms of an allowed type. */
typedef struct shape {
    lic_str  type;
    lic_str  relation; /* not given: the object itself */
    lic_slot slot;
    bool     wildcard;
    lic_str  caveat; /* not given: none */
    bool     expiration;
} shape;

static void print_form(lic_str type, bool wildcard, lic_str relation, lic_str caveat, bool expiration, lic_text *out)
{
    lic_text_add(out, type);
    if (wildcard) {
        lic_text_add_literal(out, ":*");
    } else if (lic_str_given(relation)) {
        lic_text_add_char(out, '#');
        lic_text_add(out, relation);
    }
    if (lic_str_given(caveat)) {
        lic_text_add_literal(out, " with ");
        lic_text_add(out, caveat);
    }
    if (expiration)
        lic_text_add(out, lic_str_given(caveat) ? LIC_STR(" and expiration") : LIC_STR(" with expiration"));
}

void lic_allowed_print(const lic_program *program, const lic_allowed *allowed, lic_text *out)
{
    lic_rel relation = lic_program_slot(program, allowed->slot).relation;
    lic_str none     = { NULL, 0 };

    print_form(program->definitions[allowed->definition].name, allowed->wildcard,
               relation == LIC_NO_REL ? none : program->relations[relation].name,
               allowed->caveat == LIC_NO_CAVEAT ? none : program->caveats[allowed->caveat].name, allowed->expiration,
               out);
}

static bool same_subjects(const lic_allowed *allowed, const shape *s)
{
    return allowed->slot == s->slot && allowed->wildcard == s->wildcard;
}

static bool same_caveat(const lic_program *program, const lic_allowed *allowed, const shape *s)
{
    if (allowed->caveat == LIC_NO_CAVEAT || !lic_str_given(s->caveat))
        return allowed->caveat == LIC_NO_CAVEAT && !lic_str_given(s->caveat);
    return lic_str_equal(program->caveats[allowed->caveat].name, s->caveat);
}

/* A relationship that is to be deleted and names no caveat may be of any form with these subjects. */
static bool is_allowed(const lic_program *program, const lic_relation *relation, const shape *s, bool deletes)
{
    const lic_allowed *allowed = program->allowed + relation->first_allowed;
    bool               any     = deletes && !lic_str_given(s->caveat);

    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        if (same_subjects(&allowed[i], s) &&
            (any || (same_caveat(program, &allowed[i], s) && allowed[i].expiration == s->expiration)))
            return true;
    }
    return false;
}

/* "c1,c2": caveats under which the shape would be allowed; empty when the caveat is not all that is missing. */
static void print_missing_caveats(const lic_program *program, const lic_relation *relation, const shape *s,
                                  lic_text *out)
{
    const lic_allowed *allowed = program->allowed + relation->first_allowed;

    if (lic_str_given(s->caveat) || s->wildcard)
        return;
    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        if (allowed[i].caveat == LIC_NO_CAVEAT || !same_subjects(&allowed[i], s) ||
            allowed[i].expiration != s->expiration)
            continue;
        if (out->size > 0)
            lic_text_add_char(out, ',');
        lic_text_add(out, program->caveats[allowed[i].caveat].name);
    }
}

/* Do the characters of `part` occur in `whole`, in their order? */
static bool is_subsequence(lic_str part, lic_str whole)
{
    size_t matched = 0;

    for (size_t i = 0; i < whole.size && matched < part.size; i++)
        matched += whole.data[i] == part.data[matched] ? 1 : 0;
    return matched == part.size;
}

/* The nearest allowed type, or empty. SpiceDB ranks those that hold the wrong one's characters in order by edit
 * distance, which for those is the difference in length. */
static void print_nearest(const lic_program *program, const lic_relation *relation, lic_str wrong, lic_text *out)
{
    const lic_allowed *allowed = program->allowed + relation->first_allowed;
    lic_text           form;
    size_t             best    = SIZE_MAX;
    uint32_t           nearest = 0;

    lic_text_init(&form, out->memory);
    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        form.size = 0;
        lic_allowed_print(program, &allowed[i], &form);
        if (!form.failed && form.size < best && is_subsequence(wrong, lic_text_str(&form))) {
            best    = form.size;
            nearest = i;
        }
    }
    out->failed = out->failed || form.failed;
    lic_text_free(&form);
    if (best != SIZE_MAX)
        lic_allowed_print(program, &allowed[nearest], out);
}

static licet_status fail_subject_type(const lic_program *program, const lic_relation *relation, const shape *s,
                                      licet_error **error)
{
    static const char *const reason     = "INVALID_SUBJECT_TYPE";
    lic_str                  definition = program->definitions[relation->definition].name;
    lic_text                 form;
    lic_text                 hint;
    licet_status             status;

    lic_text_init(&form, program->memory);
    lic_text_init(&hint, program->memory);
    print_form(s->type, s->wildcard, s->relation, s->caveat, s->expiration, &form);
    print_missing_caveats(program, relation, s, &hint);
    if (hint.size > 0) {
        status =
            lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, reason, LIC_NOWHERE,
                            "subjects of type `%.*s` are not allowed on relation `%.*s#%.*s` without one of "
                            "the following caveats: %.*s",
                            LIC_STR_ARG(form), LIC_STR_ARG(definition), LIC_STR_ARG(relation->name), LIC_STR_ARG(hint));
        goto done;
    }
    print_nearest(program, relation, lic_text_str(&form), &hint);
    status =
        lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, reason, LIC_NOWHERE,
                        hint.size > 0 ? "subjects of type `%.*s` are not allowed on relation `%.*s#%.*s`; did you "
                                        "mean `%.*s`?"
                                      : "subjects of type `%.*s` are not allowed on relation `%.*s#%.*s`%.*s",
                        LIC_STR_ARG(form), LIC_STR_ARG(definition), LIC_STR_ARG(relation->name), LIC_STR_ARG(hint));
done:
    lic_text_free(&form);
    lic_text_free(&hint);
    return status;
}

licet_status lic_type_relationship(const lic_program *program, const licet_relationship *r, bool deletes,
                                   lic_typed *typed, licet_error **error)
{
    shape               s = { .type = r->subject_type, .relation = lic_subject_relation(r), .caveat = r->caveat_name };
    const lic_relation *relation;
    uint32_t            definition;
    uint32_t            subject;
    lic_rel             rel;
    lic_rel             subject_rel;
    licet_status        status;

    LIC_TRY(lic_find_definition(program, r->resource_type, &definition, error));
    LIC_TRY(lic_find_relation(program, definition, r->relation, &rel, error));
    LIC_TRY(lic_find_definition(program, r->subject_type, &subject, error));
    s.slot = program->definitions[subject].ellipsis;
    if (lic_str_given(s.relation)) {
        LIC_TRY(lic_find_relation(program, subject, s.relation, &subject_rel, error));
        s.slot = program->relations[subject_rel].slot;
    }
    s.wildcard   = lic_str_equal(r->subject_id, LIC_STR("*"));
    s.expiration = lic_str_given(r->expiration);
    relation     = &program->relations[rel];
    if (relation->is_permission)
        return lic_fail_reason(error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, "CANNOT_UPDATE_PERMISSION", LIC_NOWHERE,
                               "cannot write a relationship to permission `%.*s` under definition `%.*s`",
                               LIC_STR_ARG(r->relation), LIC_STR_ARG(r->resource_type));
    if (!is_allowed(program, relation, &s, deletes))
        return fail_subject_type(program, relation, &s, error);
    *typed = (lic_typed){ relation->slot, s.slot, s.wildcard };
done:
    return status;
}
