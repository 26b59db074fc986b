/* Views of text: comparing, cutting, and a text that grows. */
#ifndef LIC_BASE_STR_H
#define LIC_BASE_STR_H

#include <string.h>

#include "memory.h"

typedef licet_str lic_str;

#define LIC_STR LICET_STR
/* For printf-like functions: "%.*s". Only for texts known to be short and clean (names of ours). */
#define LIC_STR_ARG(str) (int)(str).size, (str).data

static inline bool lic_str_given(lic_str s)
{
    return s.data != NULL;
}

static inline bool lic_str_equal(lic_str a, lic_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline lic_str lic_str_slice(lic_str s, size_t from, size_t to)
{
    return (lic_str){ s.data + from, to - from };
}

/* Bytewise, shorter first among equals: <0, 0, >0. */
int  lic_str_compare(lic_str a, lic_str b);
bool lic_str_starts_with(lic_str s, lic_str prefix);
bool lic_str_ends_with(lic_str s, lic_str suffix);
/* Offset of the first c, or s.size. */
size_t lic_str_find(lic_str s, char c);
/* Without the blanks (space, tab, CR, LF) at both ends. */
lic_str lic_str_trim(lic_str s);

/* A text that grows. A failed append sets `failed` and later ones do nothing, so a writer checks once,
 * at the end. */
typedef struct lic_text {
    lic_memory *memory;
    char       *data;
    size_t      size;
    size_t      capacity;
    bool        failed;
} lic_text;

void lic_text_init(lic_text *text, lic_memory *memory);
void lic_text_free(lic_text *text);
void lic_text_add(lic_text *text, lic_str s);
void lic_text_add_char(lic_text *text, char c);
void lic_text_add_u64(lic_text *text, uint64_t number);
/* A JSON string with its quotes; what is not UTF-8 stays as it is. */
void lic_text_add_json(lic_text *text, lic_str s);
#define lic_text_add_literal(text, literal) lic_text_add((text), LIC_STR(literal))
static inline lic_str lic_text_str(const lic_text *text)
{
    return (lic_str){ text->data, text->size };
}

/* Moves the text into a public buffer (trimmed to its size) and leaves the text empty.
 * false: out of memory, here or in an earlier append; the buffer is empty then. */
bool lic_text_to_buffer(lic_text *text, licet_buffer *buffer);

#endif
