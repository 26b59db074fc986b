/* The patterns of names, matched by hand: anchored at both true ends, in bytes, without backtracking. */
#include "schema/limits.h"
#include "schema/parser.h"

/* Characters of the longest segment: 1 + 62 + 1 for the last one of a path. SpiceDB: a segment before a slash
 * has one less in a reference (61), and 62 in a definition. */
#define SEGMENT_MIN 3
#define SEGMENT_MAX 64
#define REFERENCE_PREFIX_MAX 63

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [a-z][a-z0-9_]{1,n}[a-z0-9], where n + 2 == longest. */
static bool is_segment(lic_str s, size_t longest)
{
    if (s.size < SEGMENT_MIN || s.size > longest || !is_lower(s.data[0]))
        return false;
    for (size_t i = 1; i < s.size; i++)
        if (!is_lower(s.data[i]) && !is_digit(s.data[i]) && s.data[i] != '_')
            return false;
    return s.data[s.size - 1] != '_';
}

static bool is_path(lic_str name, size_t longest_prefix)
{
    if (name.size > LIC_MAX_TYPE_NAME_BYTES)
        return false;
    for (;;) {
        size_t slash = lic_str_find(name, '/');

        if (slash == name.size)
            return is_segment(name, SEGMENT_MAX);
        if (!is_segment(lic_str_slice(name, 0, slash), longest_prefix))
            return false;
        name = lic_str_slice(name, slash + 1, name.size);
    }
}

bool lic_is_type_name(lic_str name)
{
    return is_path(name, REFERENCE_PREFIX_MAX);
}

bool lic_is_definition_name(lic_str name)
{
    return is_path(name, SEGMENT_MAX);
}

bool lic_is_relation_name(lic_str name)
{
    return name.size <= LIC_MAX_RELATION_NAME_BYTES && is_segment(name, SEGMENT_MAX);
}

static bool is_id_character(char c)
{
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '/' || c == '_' || c == '|' || c == '=' ||
           c == '+' || c == '-';
}

bool lic_is_object_id(lic_str id)
{
    if (id.size == 0 || id.size > LIC_MAX_ID_BYTES)
        return false;
    for (size_t i = 0; i < id.size; i++)
        if (!is_id_character(id.data[i]))
            return false;
    return true;
}
