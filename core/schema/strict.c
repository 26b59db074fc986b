/* What SpiceDB takes and a strict engine does not: characters that make a schema read otherwise than it is, and escapes
 * that stand for half a character. */
#include "base/utf8.h"
#include "caveat/lexer.h"
#include "schema/parse.h"

static bool is_mark_of_direction(uint32_t c)
{
    return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool lic_parser_check_characters(lic_parser *p, lic_str text)
{
    size_t size;

    for (size_t i = 0; i < text.size; i += size) {
        uint32_t  c     = lic_utf8_decode(text, i, &size);
        lic_place place = { p->source, (uint32_t)i };

        if (c == 0)
            return lic_parser_fail(p, LICET_KIND_ENCODING, place, "a NUL, at byte %zu", i);
        if (is_mark_of_direction(c))
            return lic_parser_fail(p, LICET_KIND_ENCODING, place,
                                   "a mark of direction, at byte %zu: the schema would read otherwise than it is", i);
    }
    return true;
}

static bool is_raw(lic_str literal)
{
    return literal.data[0] == 'r' || literal.data[0] == 'R';
}

/* Whether the digits of \uXXXX and \UXXXXXXXX, which are as many as they should be, say D800 to DFFF. */
static bool is_surrogate(lic_str digits)
{
    size_t zeros = 0;

    while (zeros + 4 < digits.size && digits.data[zeros] == '0')
        zeros++;
    return digits.size == zeros + 4 && (digits.data[zeros] == 'd' || digits.data[zeros] == 'D') &&
           strchr("89abcdefABCDEF", digits.data[zeros + 1]) != NULL;
}

/* Offset of an escaped surrogate in a string of CEL that is sound; its size: there is none. */
static size_t find_surrogate(lic_str literal)
{
    for (size_t i = 0; i + 1 < literal.size && !is_raw(literal); i++) {
        size_t digits;

        if (literal.data[i] != '\\')
            continue;
        i++;
        digits = literal.data[i] == 'u' ? 4 : literal.data[i] == 'U' ? 8 : 0;
        if (digits > 0 && is_surrogate(lic_str_slice(literal, i + 1, i + 1 + digits)))
            return i - 1;
    }
    return literal.size;
}

/* The body compiles, so its strings are sound. Bytes have no such escapes. */
bool lic_parser_check_escapes(lic_parser *p, const lic_ast_caveat *caveat)
{
    lic_cel_token token = lic_cel_lex(caveat->body, 0);

    for (; token.kind != LIC_CEL_TOKEN_END; token = lic_cel_lex(caveat->body, token.offset + token.size)) {
        lic_str  literal = lic_str_slice(caveat->body, token.offset, token.offset + token.size);
        uint32_t at      = token.kind == LIC_CEL_TOKEN_STRING ? (uint32_t)find_surrogate(literal) : token.size;

        if (at < token.size)
            return lic_parser_fail(
                p, LICET_KIND_ENCODING,
                ((lic_place){ caveat->body_place.source, caveat->body_place.offset + token.offset + at }),
                "invalid expression for caveat %Q: an escape for a surrogate, which is half a "
                "character",
                &caveat->name);
    }
    return true;
}
