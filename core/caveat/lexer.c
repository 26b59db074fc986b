/* The longest token wins, as in CEL's grammar. Numbers and strings are only delimited here; what they are worth is in
 * literal.c. */
#include "caveat/lexer.h"

#include "base/utf8.h"

typedef struct cursor {
    lic_str text;
    size_t  at;
} cursor;

/* NUL is no character of any token outside strings, so it may stand for the end. */
static char peek(const cursor *c, size_t ahead)
{
    return ahead < c->text.size - c->at ? c->text.data[c->at + ahead] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_name_start(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void skip_blanks(cursor *c)
{
    for (;;) {
        char next = peek(c, 0);

        if (next == '/' && peek(c, 1) == '/') {
            while (c->at < c->text.size && c->text.data[c->at] != '\n')
                c->at++;
        } else if (next == ' ' || next == '\t' || next == '\r' || next == '\n' || next == '\f') {
            c->at++;
        } else {
            return;
        }
    }
}

static lic_cel_token make(const cursor *c, size_t start, lic_cel_token_kind kind)
{
    return (lic_cel_token){ kind, (uint32_t)start, (uint32_t)(c->at - start), NULL };
}

static lic_cel_token bad(const cursor *c, size_t start, const char *why)
{
    lic_cel_token token = make(c, start, LIC_CEL_TOKEN_BAD);

    token.why = why;
    return token;
}

static void skip_digits(cursor *c)
{
    while (is_digit(peek(c, 0)))
        c->at++;
}

/* At "e": takes the exponent if one is there. */
static bool skip_exponent(cursor *c)
{
    size_t sign = peek(c, 1) == '+' || peek(c, 1) == '-';

    if ((peek(c, 0) != 'e' && peek(c, 0) != 'E') || !is_digit(peek(c, 1 + sign)))
        return false;
    c->at += 1 + sign;
    skip_digits(c);
    return true;
}

/* Decimal or hexadecimal, with "u" or without; or with a fraction, an exponent, or both. "1." is 1 and a dot. */
static lic_cel_token lex_number(cursor *c)
{
    size_t             start = c->at;
    lic_cel_token_kind kind  = LIC_CEL_TOKEN_INT;

    if (peek(c, 0) == '0' && peek(c, 1) == 'x' && is_hex(peek(c, 2))) {
        c->at += 2;
        while (is_hex(peek(c, 0)))
            c->at++;
    } else {
        skip_digits(c);
        if (peek(c, 0) == '.' && is_digit(peek(c, 1))) {
            c->at++;
            skip_digits(c);
            kind = LIC_CEL_TOKEN_FLOAT;
        }
        if (skip_exponent(c))
            kind = LIC_CEL_TOKEN_FLOAT;
    }
    if (kind == LIC_CEL_TOKEN_INT && (peek(c, 0) == 'u' || peek(c, 0) == 'U')) {
        c->at++;
        kind = LIC_CEL_TOKEN_UINT;
    }
    return make(c, start, kind);
}

/* At a backslash: the length of an escape that the grammar has; 0: none begins so. Whether its code point exists is
 * asked later. */
static size_t escape_size(const cursor *c)
{
    size_t digits = 0;

    switch (peek(c, 1)) {
    case 'a':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
    case 'v':
    case '"':
    case '\'':
    case '\\':
    case '?':
    case '`':
        return 2;
    case '0':
    case '1':
    case '2':
    case '3':
        return peek(c, 2) >= '0' && peek(c, 2) <= '7' && peek(c, 3) >= '0' && peek(c, 3) <= '7' ? 4 : 0;
    case 'x':
    case 'X':
        digits = 2;
        break;
    case 'u':
        digits = 4;
        break;
    case 'U':
        digits = 8;
        break;
    default:
        return 0;
    }
    for (size_t i = 0; i < digits; i++) {
        if (!is_hex(peek(c, 2 + i)))
            return 0;
    }
    return 2 + digits;
}

/* After any prefix, at the quote. */
static lic_cel_token lex_string(cursor *c, size_t start, lic_cel_token_kind kind, bool raw)
{
    char   quote  = peek(c, 0);
    bool   triple = peek(c, 1) == quote && peek(c, 2) == quote;
    size_t wanted = triple ? 3 : 1;

    c->at += wanted;
    while (c->at < c->text.size) {
        char   next = peek(c, 0);
        size_t size = 1;

        if (next == quote && (!triple || (peek(c, 1) == quote && peek(c, 2) == quote))) {
            c->at += wanted;
            return make(c, start, kind);
        }
        if (!triple && (next == '\n' || next == '\r'))
            break;
        if (!raw && next == '\\') {
            size = escape_size(c);
            if (size == 0)
                return bad(c, c->at, "no such escape in a string");
        }
        c->at += size;
    }
    return bad(c, start, "the string is not closed");
}

/* r"" b"" br"" in either case, or a name. */
static lic_cel_token lex_word(cursor *c)
{
    size_t start  = c->at;
    size_t prefix = 0;
    bool   bytes, raw;

    bytes = peek(c, prefix) == 'b' || peek(c, prefix) == 'B';
    prefix += bytes;
    raw = peek(c, prefix) == 'r' || peek(c, prefix) == 'R';
    prefix += raw;
    if (prefix > 0 && (peek(c, prefix) == '"' || peek(c, prefix) == '\'')) {
        c->at += prefix;
        return lex_string(c, start, bytes ? LIC_CEL_TOKEN_BYTES : LIC_CEL_TOKEN_STRING, raw);
    }
    while (is_name_start(peek(c, 0)) || is_digit(peek(c, 0)))
        c->at++;
    return make(c, start, LIC_CEL_TOKEN_IDENT);
}

static lic_cel_token_kind keyword(lic_str word)
{
    if (lic_str_equal(word, LIC_STR("in")))
        return LIC_CEL_TOKEN_IN;
    if (lic_str_equal(word, LIC_STR("true")))
        return LIC_CEL_TOKEN_TRUE;
    if (lic_str_equal(word, LIC_STR("false")))
        return LIC_CEL_TOKEN_FALSE;
    if (lic_str_equal(word, LIC_STR("null")))
        return LIC_CEL_TOKEN_NULL;
    return LIC_CEL_TOKEN_IDENT;
}

/* "==" if `second` follows, else what the first character is alone (BAD: nothing). */
static lic_cel_token_kind pair(const cursor *c, char second, lic_cel_token_kind both, lic_cel_token_kind alone,
                               size_t *size)
{
    *size = peek(c, 1) == second ? 2 : 1;
    return *size == 2 ? both : alone;
}

static lic_cel_token_kind punctuation(const cursor *c, size_t *size)
{
    *size = 1;
    switch (peek(c, 0)) {
    case '=':
        return pair(c, '=', LIC_CEL_TOKEN_EQUAL, LIC_CEL_TOKEN_BAD, size);
    case '!':
        return pair(c, '=', LIC_CEL_TOKEN_NOT_EQUAL, LIC_CEL_TOKEN_NOT, size);
    case '<':
        return pair(c, '=', LIC_CEL_TOKEN_LESS_EQUAL, LIC_CEL_TOKEN_LESS, size);
    case '>':
        return pair(c, '=', LIC_CEL_TOKEN_GREATER_EQUAL, LIC_CEL_TOKEN_GREATER, size);
    case '&':
        return pair(c, '&', LIC_CEL_TOKEN_AND, LIC_CEL_TOKEN_BAD, size);
    case '|':
        return pair(c, '|', LIC_CEL_TOKEN_OR, LIC_CEL_TOKEN_BAD, size);
    case '[':
        return LIC_CEL_TOKEN_LEFT_BRACKET;
    case ']':
        return LIC_CEL_TOKEN_RIGHT_BRACKET;
    case '{':
        return LIC_CEL_TOKEN_LEFT_BRACE;
    case '}':
        return LIC_CEL_TOKEN_RIGHT_BRACE;
    case '(':
        return LIC_CEL_TOKEN_LEFT_PAREN;
    case ')':
        return LIC_CEL_TOKEN_RIGHT_PAREN;
    case '.':
        return LIC_CEL_TOKEN_DOT;
    case ',':
        return LIC_CEL_TOKEN_COMMA;
    case '-':
        return LIC_CEL_TOKEN_MINUS;
    case '?':
        return LIC_CEL_TOKEN_QUESTION;
    case ':':
        return LIC_CEL_TOKEN_COLON;
    case '+':
        return LIC_CEL_TOKEN_PLUS;
    case '*':
        return LIC_CEL_TOKEN_STAR;
    case '/':
        return LIC_CEL_TOKEN_SLASH;
    case '%':
        return LIC_CEL_TOKEN_PERCENT;
    default:
        return LIC_CEL_TOKEN_BAD;
    }
}

/* One of the characters that CEL has only as a part of a longer token, or nowhere. */
static lic_cel_token lex_stray(cursor *c)
{
    size_t start = c->at;
    char   first = peek(c, 0);

    c->at += lic_utf8_size(c->text, c->at);
    switch (first) {
    case '=':
        return bad(c, start, "one \"=\" means nothing here; \"==\" compares");
    case '&':
        return bad(c, start, "one \"&\" means nothing here; \"&&\" is the logical and");
    case '|':
        return bad(c, start, "one \"|\" means nothing here; \"||\" is the logical or");
    case '`':
        return bad(c, start, "names in backticks are not supported");
    default:
        return bad(c, start, "this character can not stand outside a string");
    }
}

lic_cel_token lic_cel_lex(lic_str text, uint32_t offset)
{
    cursor             c = { text, offset };
    lic_cel_token      token;
    lic_cel_token_kind kind;
    size_t             size, start;
    char               first;

    skip_blanks(&c);
    start = c.at;
    first = peek(&c, 0);
    if (c.at == text.size)
        return make(&c, start, LIC_CEL_TOKEN_END);
    if (is_digit(first) || (first == '.' && is_digit(peek(&c, 1))))
        return lex_number(&c);
    if (first == '"' || first == '\'')
        return lex_string(&c, start, LIC_CEL_TOKEN_STRING, false);
    if (is_name_start(first)) {
        token = lex_word(&c);
        if (token.kind == LIC_CEL_TOKEN_IDENT)
            token.kind = keyword(lic_str_slice(text, token.offset, token.offset + token.size));
        return token;
    }
    kind = punctuation(&c, &size);
    if (kind == LIC_CEL_TOKEN_BAD)
        return lex_stray(&c);
    c.at += size;
    return make(&c, start, kind);
}
