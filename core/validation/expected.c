/* SpiceDB reads an expected subject with regular expressions that search, not match (pkg/validationfile/blocks): what
 * stands between the bracket and the angle brackets is decoration. The same searches, by hand. */
#include "validation/expected.h"

#include "datastore/context.h"
#include "schema/parser.h"

static licet_status invalid(licet_error **error, const char *what, lic_str text)
{
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, LIC_NOWHERE, "invalid %s: %Q", what, &text);
}

/* ------------------------------------------------------------- objects, subjects */

static bool object_and_relation(lic_str text, lic_object *object)
{
    return lic_subject_split(text, object) && lic_is_type_name(object->type) && lic_is_object_id(object->id) &&
           lic_str_given(object->relation) && lic_is_relation_name(object->relation);
}

licet_status lic_object_and_relation_parse(lic_str text, lic_object *object, licet_error **error)
{
    if (!object_and_relation(text, object))
        return invalid(error, "resource and relation", text);
    return LICET_OK;
}

static bool subject(lic_str text, lic_object *object)
{
    if (!lic_subject_split(text, object) || !lic_is_type_name(object->type) ||
        !(lic_is_object_id(object->id) || lic_str_equal(object->id, LIC_STR("*"))))
        return false;
    if (lic_str_equal(object->relation, LIC_STR("...")))
        object->relation = (lic_str){ NULL, 0 };
    return !lic_str_given(object->relation) || lic_is_relation_name(object->relation);
}

/* -------------------------------------------------------------- the subject part */

/* From the first bracket to the last one that closes, on one line; false: there is none. */
static bool find_bracketed(lic_str text, lic_str *inside)
{
    size_t open = 0;

    while ((open += lic_str_find(lic_str_slice(text, open, text.size), '[')) < text.size) {
        size_t end = open + lic_str_find(lic_str_slice(text, open, text.size), '\n');

        while (end > open && text.data[end - 1] != ']')
            end--;
        if (end > open) {
            *inside = lic_str_trim(lic_str_slice(text, open + 1, end - 1));
            return true;
        }
        open++;
    }
    return false;
}

static bool take_suffix(lic_str *text, lic_str suffix)
{
    if (!lic_str_ends_with(*text, suffix))
        return false;
    text->size -= suffix.size;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* Cuts " - {a, b}" off the end. false: there is none; the text is as it was. */
static bool take_exclusions(lic_str *text, lic_str *items)
{
    size_t open = lic_str_find(*text, '{');
    size_t at   = open;

    if (open + 2 >= text->size || text->data[text->size - 1] != '}' ||
        lic_str_find(lic_str_slice(*text, open, text->size), '}') != text->size - 1 - open)
        return false;
    *items = lic_str_slice(*text, open + 1, text->size - 1);
    while (at > 0 && is_blank(text->data[at - 1]))
        at--;
    if (at == open || at == 0 || text->data[at - 1] != '-')
        return false;
    open = --at;
    while (at > 0 && is_blank(text->data[at - 1]))
        at--;
    if (at == open)
        return false;
    text->size = at;
    return true;
}

static bool is_one_word(lic_str text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == ']' || is_blank(text.data[i]))
            return false;
    return text.size > 0;
}

static size_t count_char(lic_str text, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++)
        n += text.data[i] == c;
    return n;
}

static licet_status parse_exclusions(lic_arena *arena, lic_str items, lic_expected_subject *expected,
                                     licet_error **error)
{
    size_t count = count_char(items, ',') + 1;

    expected->exclusions = lic_new_array(arena, count, lic_named_subject);
    if (expected->exclusions == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        size_t             comma = lic_str_find(items, ',');
        lic_str            item  = lic_str_slice(items, 0, comma);
        lic_named_subject *one   = &expected->exclusions[i];

        one->caveated = take_suffix(&item, LIC_STR("[...]"));
        if (!subject(lic_str_trim(item), &one->object))
            return invalid(error, "subject", item);
        items = lic_str_slice(items, comma < items.size ? comma + 1 : comma, items.size);
    }
    expected->exclusion_count = count;
    return LICET_OK;
}

static licet_status parse_subject(lic_arena *arena, lic_str inside, lic_expected_subject *expected, licet_error **error)
{
    lic_str rest   = inside;
    lic_str items  = { NULL, 0 };
    bool    except = take_exclusions(&rest, &items);

    expected->has_subject      = true;
    expected->subject.caveated = take_suffix(&rest, LIC_STR("[...]"));
    if (!is_one_word(rest) || !subject(rest, &expected->subject.object))
        return invalid(error, "subject", inside);
    items = lic_str_trim(items);
    if (except && items.size > 0)
        return parse_exclusions(arena, items, expected, error);
    return LICET_OK;
}

/* ------------------------------------------------------------ the resource part */

/* The next <...> with something in it; *rest moves behind it. */
static bool next_resource(lic_str *rest, lic_str *inside)
{
    size_t open = lic_str_find(*rest, '<');

    while (open < rest->size) {
        lic_str from = lic_str_slice(*rest, open + 1, rest->size);
        size_t  end  = lic_str_find(from, '>');

        if (end == from.size)
            return false;
        if (end > 0) {
            *inside = lic_str_slice(from, 0, end);
            *rest   = lic_str_slice(from, end + 1, from.size);
            return true;
        }
        open += 1 + lic_str_find(from, '<');
    }
    return false;
}

static licet_status parse_resources(lic_arena *arena, lic_str text, lic_expected_subject *expected, licet_error **error)
{
    size_t       most = count_char(text, '<');
    lic_str      inside;
    licet_status status;

    if (most == 0)
        return LICET_OK;
    expected->resources = lic_new_array(arena, most, lic_object);
    if (expected->resources == NULL)
        return lic_fail_memory(error);
    while (next_resource(&text, &inside)) {
        status = lic_object_and_relation_parse(inside, &expected->resources[expected->resource_count], error);
        if (status != LICET_OK)
            return status;
        expected->resource_count++;
    }
    return LICET_OK;
}

licet_status lic_expected_parse(lic_arena *arena, lic_str text, lic_expected_subject *expected, licet_error **error)
{
    lic_str      inside;
    licet_status status = LICET_OK;

    *expected = (lic_expected_subject){ 0 };
    if (find_bracketed(text, &inside))
        status = parse_subject(arena, inside, expected, error);
    return status == LICET_OK ? parse_resources(arena, text, expected, error) : status;
}

/* ---------------------------------------------------------------- assertions */

/* Offset of " with ", or the text's size. */
static size_t find_with(lic_str text)
{
    lic_str with = LIC_STR(" with ");

    for (size_t i = 0; i + with.size <= text.size; i++)
        if (lic_str_starts_with(lic_str_slice(text, i, text.size), with))
            return i;
    return text.size;
}

licet_status lic_assertion_parse(lic_str text, lic_assertion *assertion, licet_error **error)
{
    lic_str      trimmed = lic_str_trim(text);
    size_t       with    = find_with(trimmed);
    licet_status status;

    *assertion = (lic_assertion){ .relationship = LICET_RELATIONSHIP_INIT };
    status = licet_relationship_parse(lic_str_trim(lic_str_slice(trimmed, 0, with)), &assertion->relationship, error);
    if (status != LICET_OK || with == trimmed.size)
        return status;
    assertion->context = lic_str_trim(lic_str_slice(trimmed, with + sizeof " with " - 1, trimmed.size));
    if (lic_str_equal(assertion->context, LIC_STR("null"))) {
        assertion->context = (lic_str){ NULL, 0 };
        return LICET_OK;
    }
    return lic_context_check(assertion->context, false, error);
}
