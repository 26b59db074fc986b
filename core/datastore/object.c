/* What an object, a subject or a field of a record may look like, and what to tell the person whose does not. */
#include "datastore/object.h"

#include <stdio.h>

#include "base/utf8.h"
#include "schema/parser.h"

/* 1: A-Z a-z 0-9 / _ | - = + */
static const uint8_t id_bytes[256] = {
    ['+'] = 1, ['-'] = 1, ['/'] = 1, ['='] = 1, ['_'] = 1, ['|'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1,
    ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1,
    ['E'] = 1, ['F'] = 1, ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1,
    ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1,
    ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1,
    ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1,
    ['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

bool lic_is_id_byte(unsigned char byte)
{
    return id_bytes[byte] != 0;
}

static size_t first_foreign_byte(lic_str id)
{
    size_t i = 0;

    while (i < id.size && id_bytes[(unsigned char)id.data[i]] != 0)
        i++;
    return i;
}

bool lic_is_id(lic_str text)
{
    return text.size > 0 && text.size <= LIC_MAX_ID_BYTES && first_foreign_byte(text) == text.size;
}

static licet_status refuse(licet_error **error, const char *field, lic_str text, const char *expected)
{
    return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "%s: expected %s, not %Q", field,
                    expected, &text);
}

/* What is the same for every text: it has to be there, be no longer than `limit` and be UTF-8. */
static licet_status text_check(const char *field, lic_str text, size_t limit, licet_error **error)
{
    size_t broken;

    if (!lic_str_given(text))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "%s is not given", field);
    if (text.size == 0)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "%s is empty", field);
    if (text.size > limit)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "%s is longer than %zu bytes: %Q",
                        field, limit, &text);
    broken = lic_utf8_check(text);
    if (broken < text.size)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_ENCODING, LIC_NOWHERE,
                        "%s is not UTF-8 at byte %zu: %Q", field, broken + 1, &text);
    return LICET_OK;
}

licet_status lic_type_check(const char *field, lic_str text, licet_error **error)
{
    licet_status status = text_check(field, text, LIC_MAX_TYPE_NAME_BYTES, error);

    if (status == LICET_OK && !lic_is_type_name(text))
        return refuse(error, field, text, "a type: parts of 3 to 64 of a-z, 0-9 and _, joined by /");
    return status;
}

licet_status lic_relation_check(const char *field, lic_str text, licet_error **error)
{
    licet_status status = text_check(field, text, LIC_MAX_RELATION_NAME_BYTES, error);

    if (status == LICET_OK && !lic_is_relation_name(text))
        return refuse(error, field, text, "a name of 3 to 64 of a-z, 0-9 and _");
    return status;
}

licet_status lic_id_check(const char *field, lic_str text, bool wildcard_ok, licet_error **error)
{
    licet_status status = text_check(field, text, LIC_MAX_ID_BYTES, error);
    size_t       foreign;

    if (status != LICET_OK)
        return status;
    if (lic_str_equal(text, LIC_STR("*"))) {
        if (wildcard_ok)
            return LICET_OK;
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: the wildcard \"*\" can not stand here", field);
    }
    foreign = first_foreign_byte(text);
    if (foreign < text.size)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "%s: expected an id of A-Z a-z 0-9 / _ | - = +, but byte %zu is another: %Q", field,
                        foreign + 1, &text);
    return LICET_OK;
}

/* [a-zA-Z0-9_][a-zA-Z0-9/_|-]{0,127} */
static bool is_caveat_name(lic_str name)
{
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];

        if (!lic_is_id_byte((unsigned char)c) || c == '+' || c == '=')
            return false;
        if (i == 0 && (c == '/' || c == '|' || c == '-'))
            return false;
    }
    return name.size > 0;
}

licet_status lic_caveat_name_check(const char *field, lic_str text, licet_error **error)
{
    licet_status status = text_check(field, text, LIC_MAX_CAVEAT_NAME_BYTES, error);

    if (status == LICET_OK && !is_caveat_name(text))
        return refuse(error, field, text, "a caveat's name of A-Z a-z 0-9 / _ | -");
    return status;
}

/* "resource" and "id": "resource id". */
static const char *part_name(char *name, size_t size, const char *field, const char *part)
{
    snprintf(name, size, "%s %s", field, part);
    return name;
}

licet_status lic_object_check(const char *field, lic_str text, bool wildcard_ok, licet_error **error)
{
    char         name[128];
    lic_object   object;
    licet_status status;

    LIC_TRY(text_check(field, text, LIC_MAX_OBJECT_BYTES, error));
    if (!lic_object_split(text, &object))
        return refuse(error, field, text, "\"type:id\"");
    LIC_TRY(lic_type_check(part_name(name, sizeof name, field, "type"), object.type, error));
    LIC_TRY(lic_id_check(part_name(name, sizeof name, field, "id"), object.id, wildcard_ok, error));
done:
    return status;
}

licet_status lic_subject_check(const char *field, lic_str text, licet_error **error)
{
    char         name[128];
    lic_object   object;
    licet_status status;

    LIC_TRY(text_check(field, text, LIC_MAX_SUBJECT_BYTES, error));
    if (!lic_subject_split(text, &object))
        return refuse(error, field, text, "\"type:id\" or \"type:id#relation\"");
    LIC_TRY(lic_type_check(part_name(name, sizeof name, field, "type"), object.type, error));
    LIC_TRY(lic_id_check(part_name(name, sizeof name, field, "id"), object.id, true, error));
    if (lic_str_given(object.relation))
        LIC_TRY(lic_relation_check(part_name(name, sizeof name, field, "relation"), object.relation, error));
done:
    return status;
}
