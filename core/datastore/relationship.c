/* One relationship, from text to record and back. SpiceDB's notation is one regular expression without white space
 * or escapes; every part of it ends at a byte that the part itself can't hold, so it is read once, left to right. */
#include "datastore/relationship.h"

#include <stdio.h>

#include "base/utf8.h"
#include "datastore/context.h"
#include "datastore/expiration.h"
#include "datastore/object.h"
#include "schema/parser.h"

typedef struct reader {
    lic_str       text;
    size_t        offset;
    bool          strict; /* a key twice in a context is an error */
    licet_error **error;
    licet_status  status; /* of the first failure; nothing is read after it */
} reader;

static lic_str reader_rest(const reader *r)
{
    return lic_str_slice(r->text, r->offset, r->text.size);
}

static bool reader_sees(const reader *r, lic_str literal)
{
    return lic_str_starts_with(reader_rest(r), literal);
}

static bool reader_at_end(const reader *r)
{
    return r->offset == r->text.size;
}

static lic_position reader_position(const reader *r, size_t offset)
{
    return lic_position_of(r->text, offset);
}

static bool reader_fail(reader *r, licet_kind kind, size_t offset, const char *expected)
{
    lic_str rest = lic_str_slice(r->text, offset, r->text.size);

    if (r->status != LICET_OK)
        return false;
    if (offset == r->text.size)
        r->status = lic_fail(r->error, LICET_INVALID_ARGUMENT, kind, reader_position(r, offset),
                             "invalid relationship: expected %s, but the text ends", expected);
    else
        r->status = lic_fail(r->error, LICET_INVALID_ARGUMENT, kind, reader_position(r, offset),
                             "invalid relationship: expected %s, not %Q", expected, &rest);
    return false;
}

static bool reader_expect(reader *r, lic_str literal, const char *expected)
{
    if (r->status != LICET_OK || !reader_sees(r, literal))
        return reader_fail(r, LICET_KIND_SYNTAX, r->offset, expected);
    r->offset += literal.size;
    return true;
}

static bool is_name_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_path_byte(unsigned char c)
{
    return is_name_byte(c) || c == '/';
}

static bool is_time_byte(unsigned char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':' || c == 'T' || c == 'Z';
}

/* The longest run of such bytes; not empty. */
static bool reader_run(reader *r, bool (*belongs)(unsigned char), const char *expected, lic_str *out)
{
    size_t end = r->offset;

    if (r->status != LICET_OK)
        return false;
    while (end < r->text.size && belongs((unsigned char)r->text.data[end]))
        end++;
    if (end == r->offset)
        return reader_fail(r, LICET_KIND_SYNTAX, end, expected);
    *out      = lic_str_slice(r->text, r->offset, end);
    r->offset = end;
    return true;
}

static bool reader_type(reader *r, const char *expected, lic_str *out)
{
    size_t start = r->offset;

    if (!reader_run(r, is_path_byte, expected, out))
        return false;
    return lic_is_type_name(*out) || reader_fail(r, LICET_KIND_VALUE, start, expected);
}

static bool reader_relation(reader *r, const char *expected, lic_str *out)
{
    size_t start = r->offset;

    if (!reader_run(r, is_name_byte, expected, out))
        return false;
    return lic_is_relation_name(*out) || reader_fail(r, LICET_KIND_VALUE, start, expected);
}

static bool reader_id(reader *r, const char *expected, lic_str *out)
{
    size_t start = r->offset;

    if (!reader_run(r, lic_is_id_byte, expected, out))
        return false;
    return out->size <= LIC_MAX_ID_BYTES || reader_fail(r, LICET_KIND_VALUE, start, "an id of at most 1024 bytes");
}

static bool reader_subject_id(reader *r, lic_str *out)
{
    if (r->status == LICET_OK && reader_sees(r, LIC_STR("*"))) {
        *out = lic_str_slice(r->text, r->offset, r->offset + 1);
        r->offset++;
        return true;
    }
    return reader_id(r, "the subject's id, or *", out);
}

/* "#..." is the object itself, like nothing at all. */
static bool reader_subject_relation(reader *r, licet_relationship *relationship)
{
    if (r->status != LICET_OK || !reader_sees(r, LIC_STR("#")))
        return r->status == LICET_OK;
    r->offset++;
    if (reader_sees(r, LICET_STR("..."))) {
        r->offset += 3;
        return true;
    }
    return reader_relation(r, "the subject's relation after #", &relationship->subject_relation);
}

/* "[expiration:" time "]" from the reader's place to the end of the text? */
static bool reader_sees_expiration(const reader *r)
{
    static const lic_str opening = LICET_STR_INIT("[expiration:");
    lic_str              rest    = reader_rest(r);

    if (!lic_str_starts_with(rest, opening) || rest.data[rest.size - 1] != ']' || rest.size < opening.size + 2)
        return false;
    for (size_t i = opening.size; i < rest.size - 1; i++) {
        if (!is_time_byte((unsigned char)rest.data[i]))
            return false;
    }
    return true;
}

/* Size of the context that begins at the reader's "{": up to the last "}" with nothing but "]" and perhaps an
 * expiration behind it. 0: there is none. */
static size_t context_size(const reader *r)
{
    lic_str rest = reader_rest(r);

    if (lic_str_ends_with(rest, LIC_STR("}]")))
        return rest.size - 1;
    for (size_t i = rest.size; i-- > 2;) {
        reader behind = { r->text, r->offset + i, r->strict, NULL, LICET_OK };

        if (rest.data[i] == '[' && rest.data[i - 1] == ']' && rest.data[i - 2] == '}')
            return reader_sees_expiration(&behind) ? i - 1 : 0;
    }
    return 0;
}

static bool reader_context(reader *r, licet_relationship *relationship)
{
    size_t size  = context_size(r);
    size_t start = r->offset;

    if (size < 3) /* "{}" is not a context: leave it out */
        return reader_fail(r, LICET_KIND_SYNTAX, start, "a JSON object with something in it, then ]");
    relationship->caveat_context = lic_str_slice(r->text, start, start + size);
    if (lic_str_find(relationship->caveat_context, '\n') < size)
        return reader_fail(r, LICET_KIND_SYNTAX, start, "a JSON object on one line");
    r->status = lic_context_check(relationship->caveat_context, r->strict, r->error);
    if (r->status != LICET_OK && r->error != NULL)
        lic_error_move(*r->error, 0, reader_position(r, start).column - 1);
    r->offset += size;
    return r->status == LICET_OK;
}

static bool reader_caveat(reader *r, licet_relationship *relationship)
{
    if (!reader_expect(r, LIC_STR("["), "[ or the end") ||
        !reader_type(r, "a caveat's name", &relationship->caveat_name))
        return false;
    if (reader_sees(r, LIC_STR(":"))) {
        r->offset++;
        if (!reader_sees(r, LIC_STR("{")))
            return reader_fail(r, LICET_KIND_SYNTAX, r->offset, "a JSON object, { ... }");
        if (!reader_context(r, relationship))
            return false;
    }
    return reader_expect(r, LIC_STR("]"), "] after the caveat");
}

static bool reader_expiration(reader *r, licet_relationship *relationship)
{
    lic_instant instant;
    size_t      start;

    if (!reader_expect(r, LIC_STR("[expiration:"), "[expiration:time] or the end"))
        return false;
    start = r->offset;
    if (!reader_run(r, is_time_byte, "a time like 2030-01-02T03:04:05Z", &relationship->expiration) ||
        !reader_expect(r, LIC_STR("]"), "] after the time"))
        return false;
    return lic_instant_parse(relationship->expiration, &instant) ||
           reader_fail(r, LICET_KIND_VALUE, start, "a time like 2030-01-02T03:04:05Z");
}

/* A name and ":{" make even `expiration` a caveat. */
static bool reader_decorations(reader *r, licet_relationship *relationship)
{
    bool time_first = reader_sees(r, LIC_STR("[expiration:")) && !reader_sees(r, LIC_STR("[expiration:{"));

    if (r->status == LICET_OK && !reader_at_end(r) && !time_first)
        reader_caveat(r, relationship);
    if (r->status == LICET_OK && !reader_at_end(r))
        reader_expiration(r, relationship);
    return r->status == LICET_OK && (reader_at_end(r) || reader_fail(r, LICET_KIND_SYNTAX, r->offset, "the end"));
}

static licet_status read_relationship(lic_str text, bool strict, licet_relationship *relationship, licet_error **error)
{
    reader r = { text, 0, strict, error, LICET_OK };

    reader_type(&r, "the resource's type", &relationship->resource_type);
    reader_expect(&r, LIC_STR(":"), ": after the resource's type");
    reader_id(&r, "the resource's id", &relationship->resource_id);
    reader_expect(&r, LIC_STR("#"), "# after the resource's id");
    reader_relation(&r, "the relation", &relationship->relation);
    reader_expect(&r, LIC_STR("@"), "@ after the relation");
    reader_type(&r, "the subject's type", &relationship->subject_type);
    reader_expect(&r, LIC_STR(":"), ": after the subject's type");
    reader_subject_id(&r, &relationship->subject_id);
    reader_subject_relation(&r, relationship);
    reader_decorations(&r, relationship);
    return r.status;
}

static licet_status parse(licet_str text, bool strict, licet_relationship *relationship, licet_error **error)
{
    const licet_relationship empty = LICET_RELATIONSHIP_INIT;
    licet_status             status;
    size_t                   broken;

    if (error != NULL)
        *error = NULL;
    if (relationship == NULL || !lic_relationship_known(relationship))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "relationship is NULL or of an unknown size");
    *relationship = empty;
    if (!lic_str_given(text))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "the text is not given");
    if (text.size > PTRDIFF_MAX) /* a negative number somewhere: nothing may be read */
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "the text's length is no length");
    broken = lic_utf8_check(text);
    if (broken < text.size)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_ENCODING,
                        lic_position_of(lic_str_slice(text, 0, broken), broken),
                        "invalid relationship: byte %zu is not UTF-8", broken + 1);
    status = read_relationship(text, strict, relationship, error);
    if (status != LICET_OK)
        *relationship = empty;
    return status;
}

licet_status licet_relationship_parse(licet_str text, licet_relationship *relationship, licet_error **error)
{
    return parse(text, false, relationship, error);
}

licet_status licet_relationship_parse_strict(licet_str text, licet_relationship *relationship, licet_error **error)
{
    return parse(text, true, relationship, error);
}

/* Checks one field; its name goes into the message. */
static licet_status field_check(const char *field, const char *name, lic_str text,
                                licet_status (*check)(const char *, lic_str, licet_error **), licet_error **error)
{
    char where[128];

    if (check("", text, NULL) == LICET_OK) /* as it mostly is */
        return LICET_OK;
    snprintf(where, sizeof where, "%s: %s", field, name);
    return check(where, text, error);
}

static licet_status resource_id_check(const char *field, lic_str text, licet_error **error)
{
    return lic_id_check(field, text, false, error);
}

static licet_status subject_id_check(const char *field, lic_str text, licet_error **error)
{
    return lic_id_check(field, text, true, error);
}

static licet_status expiration_check(const char *field, lic_str text, licet_error **error)
{
    lic_instant instant;

    if (lic_instant_parse(text, &instant))
        return LICET_OK;
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                    "%s: expected a time like 2030-01-02T03:04:05Z, not %Q", field, &text);
}

/* The fields one by one: all that printing rests on but the context, which it reads. */
static licet_status fields_check(const char *field, const licet_relationship *r, licet_error **error)
{
    lic_str      subject_relation = lic_subject_relation(r);
    licet_status status;

    LIC_TRY(field_check(field, "resource_type", r->resource_type, lic_type_check, error));
    LIC_TRY(field_check(field, "resource_id", r->resource_id, resource_id_check, error));
    LIC_TRY(field_check(field, "relation", r->relation, lic_relation_check, error));
    LIC_TRY(field_check(field, "subject_type", r->subject_type, lic_type_check, error));
    LIC_TRY(field_check(field, "subject_id", r->subject_id, subject_id_check, error));
    if (lic_str_given(subject_relation))
        LIC_TRY(field_check(field, "subject_relation", subject_relation, lic_relation_check, error));
    if (lic_str_given(r->caveat_name))
        LIC_TRY(field_check(field, "caveat_name", r->caveat_name, lic_caveat_name_check, error));
    else if (lic_str_given(r->caveat_context))
        LIC_TRY(lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                         "%s: a caveat context is given, but no caveat", field));
    if (lic_str_given(r->expiration))
        LIC_TRY(field_check(field, "expiration", r->expiration, expiration_check, error));
done:
    return status;
}

licet_status lic_relationship_check(const char *field, const licet_relationship *r, licet_error **error)
{
    licet_status status = fields_check(field, r, error);

    if (status == LICET_OK && lic_str_equal(r->subject_id, LIC_STR("*")) && lic_str_given(lic_subject_relation(r)))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: the wildcard subject can not have a relation", field);
    return status;
}

static licet_status print_caveat(const licet_relationship *r, lic_text *out, licet_error **error)
{
    licet_status status = LICET_OK;
    size_t       colon;

    lic_text_add_char(out, '[');
    lic_text_add(out, r->caveat_name);
    if (lic_str_given(r->caveat_context)) {
        colon = out->size;
        lic_text_add_char(out, ':');
        status = lic_context_print(r->caveat_context, out, error);
        if (out->size == colon + 1)
            out->size = colon; /* an empty object is not printed */
    }
    lic_text_add_char(out, ']');
    return status;
}

licet_status lic_relationship_print(const licet_relationship *r, lic_text *out, licet_error **error)
{
    lic_str      subject_relation = lic_subject_relation(r);
    lic_instant  instant;
    licet_status status = LICET_OK;

    lic_text_add(out, r->resource_type);
    lic_text_add_char(out, ':');
    lic_text_add(out, r->resource_id);
    lic_text_add_char(out, '#');
    lic_text_add(out, r->relation);
    lic_text_add_char(out, '@');
    lic_text_add(out, r->subject_type);
    lic_text_add_char(out, ':');
    lic_text_add(out, r->subject_id);
    if (lic_str_given(subject_relation)) {
        lic_text_add_char(out, '#');
        lic_text_add(out, subject_relation);
    }
    if (lic_str_given(r->caveat_name))
        status = print_caveat(r, out, error);
    if (lic_str_given(r->expiration) && lic_instant_parse(r->expiration, &instant)) {
        lic_text_add_literal(out, "[expiration:");
        lic_instant_print(instant, out);
        lic_text_add_char(out, ']');
    }
    return status;
}

licet_status licet_relationship_format(const licet_relationship *relationship, licet_buffer *out, licet_error **error)
{
    lic_memory   memory;
    lic_text     text;
    licet_status status;

    if (error != NULL)
        *error = NULL;
    if (out == NULL || out->size_of_record != sizeof *out)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "out is NULL or of an unknown size");
    out->data = NULL;
    out->size = 0;
    if (relationship == NULL || !lic_relationship_known(relationship))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "relationship is NULL or of an unknown size");
    lic_memory_init(&memory, &out->allocator, SIZE_MAX);
    lic_text_init(&text, &memory);
    LIC_TRY(fields_check("relationship", relationship, error));
    LIC_TRY(lic_relationship_print(relationship, &text, error));
    if (!lic_text_to_buffer(&text, out))
        status = lic_fail_memory(error);
done:
    lic_text_free(&text);
    return status;
}
