/* The texts of comments, as SpiceDB keeps them: line by line, each without white space at its ends. */
#include "base/utf8.h"
#include "schema/parse.h"

/* SpiceDB reads lines with bufio.Scanner, which gives up when its buffer of 64 KiB holds no whole one. */
#define LONGEST_LINE 65535

/* Go's unicode.IsSpace. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Offset of the last character. s is not empty. */
static size_t last_character(lic_str s)
{
    size_t offset = s.size - 1;

    while (offset > 0 && ((unsigned char)s.data[offset] & 0xc0) == 0x80)
        offset--;
    return offset;
}

lic_str lic_comment_trim(lic_str s)
{
    size_t size;

    while (s.size > 0 && is_space(lic_utf8_decode(s, last_character(s), &size)))
        s.size = last_character(s);
    while (s.size > 0 && is_space(lic_utf8_decode(s, 0, &size)))
        s = lic_str_slice(s, size, s.size);
    return s;
}

bool lic_comment_line(lic_str *rest, lic_str *line)
{
    size_t end = lic_str_find(*rest, '\n');

    if (rest->size == 0)
        return false;
    *line = lic_str_slice(*rest, 0, end);
    *rest = lic_str_slice(*rest, end == rest->size ? end : end + 1, rest->size);
    return true;
}

bool lic_comment_normalize(lic_arena *arena, lic_str comment, lic_str *normalized)
{
    char   *data = lic_arena_alloc(arena, comment.size);
    size_t  size = 0;
    lic_str line;

    *normalized = (lic_str){ NULL, 0 };
    if (data == NULL)
        return false;
    while (lic_comment_line(&comment, &line) && line.size <= LONGEST_LINE) {
        line = lic_comment_trim(line);
        if (size > 0)
            data[size++] = '\n';
        memcpy(data + size, line.data, line.size);
        size += line.size;
    }
    if (size > 0)
        *normalized = (lic_str){ data, size };
    return true;
}
