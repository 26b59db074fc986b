/* UTF-8: shortest form, no surrogates, at most U+10FFFF. And the two Unicode classes that the schema
 * lexer needs. */
#ifndef LIC_BASE_UTF8_H
#define LIC_BASE_UTF8_H

#include "str.h"

/* Offset of the first byte that is not valid UTF-8, or s.size. */
size_t lic_utf8_check(lic_str s);

/* Decodes the character at `offset` of a valid text; *length is its size in bytes (1 to 4). */
uint32_t lic_utf8_decode(lic_str s, size_t offset, size_t *length);

/* Size in bytes (1 to 4) of the well-formed character at `offset`, which is inside s; 0: none begins there. */
size_t lic_utf8_size(lic_str s, size_t offset);

/* Number of code points in a text, counting a broken byte as one. */
size_t lic_utf8_count(lic_str s);

/* Unicode general category L*, and Nd. */
bool lic_unicode_is_letter(uint32_t code_point);
bool lic_unicode_is_digit(uint32_t code_point);

#endif
