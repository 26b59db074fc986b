/* Schema text to tokens (schema.md 2 to 4). Gives every token but blanks; the caller skips newlines and
 * comments. Needs no memory. The text must be valid UTF-8. */
#ifndef LIC_SCHEMA_LEXER_H
#define LIC_SCHEMA_LEXER_H

#include "base/str.h"

/* Name, and what a message calls such a token when its own text does not say it better. */
#define LIC_TOKEN_LIST(X)                                                      \
    X(ERROR, "a character that has no place here")                             \
    X(TERMINATOR, "the end of the line") /* a newline that ends a statement */ \
    X(END, "the end of the text")                                              \
    X(NEWLINE, "a newline")                                                    \
    X(LINE_COMMENT, "a comment")                                               \
    X(BLOCK_COMMENT, "a comment")                                              \
    X(KEYWORD, "a keyword")                                                    \
    X(IDENTIFIER, "a name")                                                    \
    X(STRING, "a string")                                                      \
    X(LEFT_BRACE, "\"{\"")                                                     \
    X(RIGHT_BRACE, "\"}\"")                                                    \
    X(LEFT_PAREN, "\"(\"")                                                     \
    X(RIGHT_PAREN, "\")\"")                                                    \
    X(LEFT_BRACKET, "\"[\"")                                                   \
    X(RIGHT_BRACKET, "\"]\"")                                                  \
    X(PIPE, "\"|\"")                                                           \
    X(PLUS, "\"+\"")                                                           \
    X(MINUS, "\"-\"")                                                          \
    X(AND, "\"&\"")                                                            \
    X(SLASH, "\"/\"")                                                          \
    X(EQUALS, "\"=\"")                                                         \
    X(COLON, "\":\"")                                                          \
    X(SEMICOLON, "\";\"")                                                      \
    X(ARROW, "\"->\"")                                                         \
    X(HASH, "\"#\"")                                                           \
    X(ELLIPSIS, "\"...\"")                                                     \
    X(STAR, "\"*\"")                                                           \
    X(QUESTION, "\"?\"")                                                       \
    X(OR_OR, "\"||\"")                                                         \
    X(AND_AND, "\"&&\"")                                                       \
    X(NOT, "\"!\"")                                                            \
    X(PERIOD, "\".\"")                                                         \
    X(COMMA, "\",\"")                                                          \
    X(PERCENT, "\"%\"")                                                        \
    X(LESS, "\"<\"")                                                           \
    X(GREATER, "\">\"")                                                        \
    X(LESS_EQUAL, "\"<=\"")                                                    \
    X(GREATER_EQUAL, "\">=\"")                                                 \
    X(EQUAL_EQUAL, "\"==\"")                                                   \
    X(NOT_EQUAL, "\"!=\"")

typedef enum lic_token_kind {
#define LIC_TOKEN_ENUM(name, text) LIC_TOKEN_##name,
    LIC_TOKEN_LIST(LIC_TOKEN_ENUM)
#undef LIC_TOKEN_ENUM
} lic_token_kind;

/* Why a token is an error. */
typedef enum lic_lexer_fault {
    LIC_LEXER_SOUND,
    LIC_LEXER_CHARACTER, /* no token begins like this */
    LIC_LEXER_OPEN_STRING,
    LIC_LEXER_OPEN_COMMENT,
    LIC_LEXER_PAST_END /* asked for more after END or an error */
} lic_lexer_fault;

typedef struct lic_token {
    lic_token_kind kind;
    uint32_t       offset;
    uint32_t       size; /* bytes */
} lic_token;

/* The words of `use` in the order in which SpiceDB lists them; each is also the first keyword that it makes. */
#define LIC_FLAG_LIST(X)           \
    X(EXPIRATION, 1, "expiration") \
    X(IMPORT, 2, "import")         \
    X(PARTIAL, 4, "partial")       \
    X(SELF, 8, "self")             \
    X(TYPECHECKING, 16, "typechecking")

typedef enum lic_flag {
    LIC_FLAG_NONE = 0,
#define LIC_FLAG_ENUM(name, number, text) LIC_FLAG_##name = number,
    LIC_FLAG_LIST(LIC_FLAG_ENUM)
#undef LIC_FLAG_ENUM
} lic_flag;

typedef struct lic_lexer {
    lic_str         text; /* less than 4 GiB */
    size_t          offset;
    lic_token_kind  last;            /* last token that is no comment: decides what a newline is */
    unsigned        flags;           /* lic_flag: switched on so far */
    bool            after_use;       /* the next identifier may be a flag */
    bool            seen_definition; /* no flag can be switched on any more */
    bool            ended;
    lic_lexer_fault fault;
} lic_lexer;

void lic_lexer_init(lic_lexer *lexer, lic_str text);

/* After END and after an error every token is an ERROR of no size at offset 0, as in SpiceDB, whose
 * positions we keep. */
lic_token lic_lexer_next(lic_lexer *lexer);

static inline lic_str lic_token_text(const lic_lexer *lexer, lic_token token)
{
    return (lic_str){ lexer->text.data + token.offset, token.size };
}

/* "a name", "\"+\"". */
const char *lic_token_name(lic_token_kind kind);
/* LIC_FLAG_NONE: there is no such flag. */
lic_flag lic_flag_find(lic_str word);

#endif
