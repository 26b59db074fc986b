/* Tokens of CEL. No table and no memory: the parser asks for one token after the other, and may ask twice. */
#ifndef LIC_CAVEAT_LEXER_H
#define LIC_CAVEAT_LEXER_H

#include "base/arena.h"
#include "base/str.h"

/* Name, what to call it in messages. */
#define LIC_CEL_TOKEN_LIST(X)  \
    X(END, "the end")          \
    X(BAD, "")                 \
    X(IDENT, "a name")         \
    X(INT, "a number")         \
    X(UINT, "a number")        \
    X(FLOAT, "a number")       \
    X(STRING, "a string")      \
    X(BYTES, "bytes")          \
    X(TRUE, "\"true\"")        \
    X(FALSE, "\"false\"")      \
    X(NULL, "\"null\"")        \
    X(IN, "\"in\"")            \
    X(EQUAL, "\"==\"")         \
    X(NOT_EQUAL, "\"!=\"")     \
    X(LESS, "\"<\"")           \
    X(LESS_EQUAL, "\"<=\"")    \
    X(GREATER, "\">\"")        \
    X(GREATER_EQUAL, "\">=\"") \
    X(AND, "\"&&\"")           \
    X(OR, "\"||\"")            \
    X(LEFT_BRACKET, "\"[\"")   \
    X(RIGHT_BRACKET, "\"]\"")  \
    X(LEFT_BRACE, "\"{\"")     \
    X(RIGHT_BRACE, "\"}\"")    \
    X(LEFT_PAREN, "\"(\"")     \
    X(RIGHT_PAREN, "\")\"")    \
    X(DOT, "\".\"")            \
    X(COMMA, "\",\"")          \
    X(MINUS, "\"-\"")          \
    X(NOT, "\"!\"")            \
    X(QUESTION, "\"?\"")       \
    X(COLON, "\":\"")          \
    X(PLUS, "\"+\"")           \
    X(STAR, "\"*\"")           \
    X(SLASH, "\"/\"")          \
    X(PERCENT, "\"%\"")

typedef enum lic_cel_token_kind {
#define LIC_CEL_TOKEN_ENUM(name, called) LIC_CEL_TOKEN_##name,
    LIC_CEL_TOKEN_LIST(LIC_CEL_TOKEN_ENUM)
#undef LIC_CEL_TOKEN_ENUM
} lic_cel_token_kind;

typedef struct lic_cel_token {
    lic_cel_token_kind kind;
    uint32_t           offset; /* bytes */
    uint32_t           size;
    const char        *why; /* BAD: a message */
} lic_cel_token;

/* The token at or after offset. The text is valid UTF-8 of less than 4 GiB. */
lic_cel_token lic_cel_lex(lic_str text, uint32_t offset);

/* The value of a literal's text. false: it has none (*why says so), or, with *why == NULL, out of memory. Strings
 * without escapes and line ends are views of the text, others live in the arena. */
bool lic_cel_read_int(lic_str digits, bool negative, int64_t *value);
bool lic_cel_read_uint(lic_str digits, uint64_t *value);                                       /* with its "u" */
bool lic_cel_read_string(lic_arena *arena, lic_str literal, lic_str *value, const char **why); /* also bytes */

#endif
