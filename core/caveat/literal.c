/* What number and string literals are worth. */
#include "base/utf8.h"
#include "caveat/lexer.h"

static uint32_t hex_digit(char c)
{
    if (c <= '9')
        return (uint32_t)(c - '0');
    return (uint32_t)((c | 0x20) - 'a') + 10;
}

/* digits: as the lexer delimited them. false: past 2^64 - 1. */
static bool read_magnitude(lic_str digits, uint64_t *value)
{
    bool     hex  = digits.size > 2 && digits.data[1] == 'x';
    uint64_t base = hex ? 16 : 10;
    uint64_t sum  = 0;

    for (size_t i = hex ? 2 : 0; i < digits.size; i++) {
        if (__builtin_mul_overflow(sum, base, &sum) || __builtin_add_overflow(sum, hex_digit(digits.data[i]), &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool lic_cel_read_int(lic_str digits, bool negative, int64_t *value)
{
    uint64_t magnitude;

    if (!read_magnitude(digits, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    /* The smallest integer has no positive twin. */
    *value = negative ? -(int64_t)(magnitude - (magnitude != 0)) - (magnitude != 0) : (int64_t)magnitude;
    return true;
}

bool lic_cel_read_uint(lic_str digits, uint64_t *value)
{
    return read_magnitude(lic_str_slice(digits, 0, digits.size - 1), value);
}

/* A string literal being unescaped. `out` has room for every byte of the literal: no escape is shorter than what it
 * stands for. */
typedef struct unescape {
    lic_str     body;
    size_t      at;
    bool        bytes;
    char       *out;
    size_t      size;
    const char *why;
} unescape;

static void put_code_point(unescape *u, uint32_t c)
{
    if (c < 0x80) {
        u->out[u->size++] = (char)c;
    } else if (c < 0x800) {
        u->out[u->size++] = (char)(0xc0 | (c >> 6));
        u->out[u->size++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        u->out[u->size++] = (char)(0xe0 | (c >> 12));
        u->out[u->size++] = (char)(0x80 | ((c >> 6) & 0x3f));
        u->out[u->size++] = (char)(0x80 | (c & 0x3f));
    } else {
        u->out[u->size++] = (char)(0xf0 | (c >> 18));
        u->out[u->size++] = (char)(0x80 | ((c >> 12) & 0x3f));
        u->out[u->size++] = (char)(0x80 | ((c >> 6) & 0x3f));
        u->out[u->size++] = (char)(0x80 | (c & 0x3f));
    }
}

/* A number of `digits` digits in base 8 or 16: a code point, or in bytes a byte. */
static bool put_number(unescape *u, size_t digits, uint32_t base)
{
    uint32_t value = 0;

    for (size_t i = 0; i < digits; i++)
        value = value * base + hex_digit(u->body.data[u->at++]);
    if (u->bytes) {
        u->out[u->size++] = (char)value;
        return true;
    }
    if (value > 0x10ffff) {
        u->why = "the escape is not a Unicode code point";
        return false;
    }
    put_code_point(u, value >= 0xd800 && value <= 0xdfff ? 0xfffd : value); /* SpiceDB: half a character is U+FFFD */
    return true;
}

/* Behind the backslash. The lexer has seen to it that the escape is complete. */
static bool put_escape(unescape *u)
{
    static const char letters[] = "abfnrtv";
    static const char values[]  = "\a\b\f\n\r\t\v";
    char              c         = u->body.data[u->at];
    const char       *letter    = c == '\0' ? NULL : strchr(letters, c);

    if (c >= '0' && c <= '3')
        return put_number(u, 3, 8);
    u->at++;
    switch (c) {
    case 'x':
    case 'X':
        return put_number(u, 2, 16);
    case 'u':
    case 'U':
        if (u->bytes) {
            u->why = "bytes have no \\u escapes; use \\x or octal ones";
            return false;
        }
        return put_number(u, c == 'u' ? 4 : 8, 16);
    default:
        u->out[u->size++] = letter == NULL ? c : values[letter - letters];
        return true;
    }
}

/* CR LF and CR are LF, in raw strings too. */
static bool unescape_body(unescape *u, bool raw)
{
    while (u->at < u->body.size) {
        char c = u->body.data[u->at++];

        if (c == '\r') {
            u->at += u->at < u->body.size && u->body.data[u->at] == '\n';
            c = '\n';
        } else if (c == '\\' && !raw) {
            if (!put_escape(u))
                return false;
            continue;
        }
        u->out[u->size++] = c;
    }
    return true;
}

bool lic_cel_read_string(lic_arena *arena, lic_str literal, lic_str *value, const char **why)
{
    unescape u     = { 0 };
    bool     raw   = false;
    size_t   start = 0, quotes;

    *why = NULL;
    for (; literal.data[start] != '"' && literal.data[start] != '\''; start++) {
        u.bytes = u.bytes || literal.data[start] == 'b' || literal.data[start] == 'B';
        raw     = raw || literal.data[start] == 'r' || literal.data[start] == 'R';
    }
    quotes = literal.size - start >= 6 && literal.data[start + 1] == literal.data[start] &&
                     literal.data[start + 2] == literal.data[start]
                 ? 3
                 : 1;
    u.body = lic_str_slice(literal, start + quotes, literal.size - quotes);
    if ((raw || lic_str_find(u.body, '\\') == u.body.size) && lic_str_find(u.body, '\r') == u.body.size) {
        *value = u.body;
        return true;
    }
    u.out = lic_arena_alloc(arena, u.body.size);
    if (u.out == NULL)
        return false;
    if (!unescape_body(&u, raw)) {
        *why = u.why;
        return false;
    }
    *value = (lic_str){ u.out, u.size };
    return true;
}
