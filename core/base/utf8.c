/* UTF-8 after table 3-7 of the Unicode standard ("well-formed byte sequences"), and binary search in the
 * tables of letters and digits. */
#include "utf8.h"

#include "unicode_table.h"

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Size of the well-formed character at the start of bytes[0..size), size > 0; 0: there is none. Only the second byte's
 * range depends on the first: it keeps out long forms, surrogates and what is past U+10FFFF. */
static size_t sequence_size(const uint8_t *bytes, size_t size)
{
    uint8_t first  = bytes[0];
    uint8_t low    = 0x80;
    uint8_t high   = 0xbf;
    size_t  length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4 || length > size)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (!is_continuation(bytes[i]))
            return 0;
    return length;
}

/* Number of bytes at the start that are ASCII, a multiple of eight: most of most texts. */
static size_t ascii_words(const uint8_t *bytes, size_t size)
{
    size_t i = 0;

    for (; size - i >= 8; i += 8) {
        uint64_t word;

        memcpy(&word, bytes + i, 8);
        if ((word & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    return i;
}

size_t lic_utf8_check(lic_str s)
{
    const uint8_t *bytes = (const uint8_t *)s.data;
    size_t         i     = 0;

    while (i < s.size) {
        size_t ascii  = ascii_words(bytes + i, s.size - i);
        size_t length = ascii > 0 ? ascii : sequence_size(bytes + i, s.size - i);

        if (length == 0)
            return i;
        i += length;
    }
    return s.size;
}

uint32_t lic_utf8_decode(lic_str s, size_t offset, size_t *length)
{
    const uint8_t *bytes = (const uint8_t *)s.data + offset;
    uint32_t       first = bytes[0];

    if (first < 0x80) {
        *length = 1;
        return first;
    }
    if (first < 0xe0) {
        *length = 2;
        return (first & 0x1f) << 6 | (bytes[1] & 0x3fU);
    }
    if (first < 0xf0) {
        *length = 3;
        return (first & 0x0f) << 12 | (bytes[1] & 0x3fU) << 6 | (bytes[2] & 0x3fU);
    }
    *length = 4;
    return (first & 0x07) << 18 | (bytes[1] & 0x3fU) << 12 | (bytes[2] & 0x3fU) << 6 | (bytes[3] & 0x3fU);
}

size_t lic_utf8_size(lic_str s, size_t offset)
{
    return sequence_size((const uint8_t *)s.data + offset, s.size - offset);
}

size_t lic_utf8_count(lic_str s)
{
    size_t count = 0;

    for (size_t i = 0; i < s.size; count++) {
        size_t length = lic_utf8_size(s, i);

        i += length == 0 ? 1 : length;
    }
    return count;
}

/* count > 0 and ranges sorted. */
static bool in_ranges(const unicode_range *ranges, size_t count, uint32_t code_point)
{
    size_t low  = 0;
    size_t high = count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (ranges[middle].first <= code_point)
            low = middle;
        else
            high = middle;
    }
    return ranges[low].first <= code_point && code_point <= ranges[low].last;
}

bool lic_unicode_is_letter(uint32_t code_point)
{
    return in_ranges(unicode_letters, sizeof unicode_letters / sizeof unicode_letters[0], code_point);
}

bool lic_unicode_is_digit(uint32_t code_point)
{
    return in_ranges(unicode_digits, sizeof unicode_digits / sizeof unicode_digits[0], code_point);
}
