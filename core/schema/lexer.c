/* The lexer, after SpiceDB's pkg/schemadsl/lexer. Two things are unlike other lexers: a newline ends a
 * statement when the token before it could end one, and `use x` makes keywords of identifiers from there on. */
#include "schema/lexer.h"

#include "base/utf8.h"

static const char *const token_names[] = {
#define TOKEN_NAME(name, text) text,
    LIC_TOKEN_LIST(TOKEN_NAME)
#undef TOKEN_NAME
};

static const lic_str keywords[] = {
    LICET_STR_INIT("definition"), LICET_STR_INIT("caveat"), LICET_STR_INIT("relation"),
    LICET_STR_INIT("permission"), LICET_STR_INIT("nil"),    LICET_STR_INIT("with"),
};

void lic_lexer_init(lic_lexer *lexer, lic_str text)
{
    *lexer = (lic_lexer){ .text = text, .last = LIC_TOKEN_NEWLINE };
}

const char *lic_token_name(lic_token_kind kind)
{
    return token_names[kind];
}

lic_flag lic_flag_find(lic_str word)
{
#define FLAG_FIND(name, number, text)       \
    if (lic_str_equal(word, LIC_STR(text))) \
        return LIC_FLAG_##name;
    LIC_FLAG_LIST(FLAG_FIND)
#undef FLAG_FIND
    return LIC_FLAG_NONE;
}

static bool is_keyword(lic_str word)
{
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (lic_str_equal(word, keywords[i]))
            return true;
    return false;
}

/* The byte `ahead` bytes further on; NUL past the end, which is no token's beginning either. */
static char lexer_peek(const lic_lexer *lexer, size_t ahead)
{
    return ahead < lexer->text.size - lexer->offset ? lexer->text.data[lexer->offset + ahead] : '\0';
}

static bool lexer_starts(const lic_lexer *lexer, lic_str prefix)
{
    return lic_str_starts_with(lic_str_slice(lexer->text, lexer->offset, lexer->text.size), prefix);
}

/* The token that ends where the lexer now is. */
static lic_token lexer_token(const lic_lexer *lexer, lic_token_kind kind, size_t start)
{
    return (lic_token){ kind, (uint32_t)start, (uint32_t)(lexer->offset - start) };
}

static lic_token lexer_error(lic_lexer *lexer, lic_lexer_fault fault, size_t start)
{
    lexer->fault = fault;
    lexer->ended = true;
    return (lic_token){ LIC_TOKEN_ERROR, (uint32_t)start, 0 };
}

/* A newline ends a statement after these: SpiceDB's syntheticPredecessors. */
static bool ends_statement(lic_token_kind last)
{
    return last == LIC_TOKEN_IDENTIFIER || last == LIC_TOKEN_KEYWORD || last == LIC_TOKEN_RIGHT_BRACE ||
           last == LIC_TOKEN_RIGHT_PAREN || last == LIC_TOKEN_STAR;
}

/* Size of the word character at the lexer's place: "_", a letter, a decimal digit. 0: there is none. */
static size_t word_character(const lic_lexer *lexer)
{
    char     c = lexer_peek(lexer, 0);
    size_t   size;
    uint32_t code_point;

    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')
        return 1;
    if ((unsigned char)c < 0x80)
        return 0;
    code_point = lic_utf8_decode(lexer->text, lexer->offset, &size);
    return lic_unicode_is_letter(code_point) || lic_unicode_is_digit(code_point) ? size : 0;
}

static lic_token lex_word(lic_lexer *lexer)
{
    size_t  start = lexer->offset;
    size_t  size;
    lic_str word;

    while ((size = word_character(lexer)) > 0)
        lexer->offset += size;
    word = lic_str_slice(lexer->text, start, lexer->offset);
    return lexer_token(lexer, is_keyword(word) ? LIC_TOKEN_KEYWORD : LIC_TOKEN_IDENTIFIER, start);
}

static lic_token lex_line_comment(lic_lexer *lexer)
{
    size_t start = lexer->offset;

    while (lexer->offset < lexer->text.size && lexer->text.data[lexer->offset] != '\n' &&
           lexer->text.data[lexer->offset] != '\r')
        lexer->offset++;
    return lexer_token(lexer, LIC_TOKEN_LINE_COMMENT, start);
}

/* Moves past the terminator. false: it never comes (or, where lines matter, not on this line). */
static bool skip_past(lic_lexer *lexer, lic_str terminator, bool one_line)
{
    for (; lexer->offset < lexer->text.size; lexer->offset++) {
        char c = lexer->text.data[lexer->offset];

        if (c == terminator.data[0] && lexer_starts(lexer, terminator)) {
            lexer->offset += terminator.size;
            return true;
        }
        if (one_line && (c == '\n' || c == '\r'))
            return false;
    }
    return false;
}

static lic_token lex_block_comment(lic_lexer *lexer)
{
    size_t start = lexer->offset;

    lexer->offset += 2;
    if (!skip_past(lexer, LIC_STR("*/"), false))
        return lexer_error(lexer, LIC_LEXER_OPEN_COMMENT, start);
    return lexer_token(lexer, LIC_TOKEN_BLOCK_COMMENT, start);
}

/* No escapes. SpiceDB: a string opened by ''' is closed by """. */
static lic_token lex_string(lic_lexer *lexer)
{
    size_t  start      = lexer->offset;
    bool    many_lines = lexer_starts(lexer, LIC_STR("\"\"\"")) || lexer_starts(lexer, LIC_STR("'''"));
    lic_str terminator = many_lines ? LIC_STR("\"\"\"") : lexer_peek(lexer, 0) == '"' ? LIC_STR("\"") : LIC_STR("'");

    lexer->offset += terminator.size;
    if (!skip_past(lexer, terminator, !many_lines))
        return lexer_error(lexer, LIC_LEXER_OPEN_STRING, start);
    return lexer_token(lexer, LIC_TOKEN_STRING, start);
}

/* kind and size of the punctuation at the lexer's place; size 0: it is none. The longest match wins. */
static size_t punctuation(const lic_lexer *lexer, lic_token_kind *kind)
{
    static const struct {
        char           text[4];
        lic_token_kind kind;
    } table[] = {
        { "...", LIC_TOKEN_ELLIPSIS },   { "->", LIC_TOKEN_ARROW },         { "||", LIC_TOKEN_OR_OR },
        { "&&", LIC_TOKEN_AND_AND },     { "==", LIC_TOKEN_EQUAL_EQUAL },   { "!=", LIC_TOKEN_NOT_EQUAL },
        { "<=", LIC_TOKEN_LESS_EQUAL },  { ">=", LIC_TOKEN_GREATER_EQUAL }, { "{", LIC_TOKEN_LEFT_BRACE },
        { "}", LIC_TOKEN_RIGHT_BRACE },  { "(", LIC_TOKEN_LEFT_PAREN },     { ")", LIC_TOKEN_RIGHT_PAREN },
        { "[", LIC_TOKEN_LEFT_BRACKET }, { "]", LIC_TOKEN_RIGHT_BRACKET },  { "|", LIC_TOKEN_PIPE },
        { "+", LIC_TOKEN_PLUS },         { "-", LIC_TOKEN_MINUS },          { "&", LIC_TOKEN_AND },
        { "/", LIC_TOKEN_SLASH },        { "=", LIC_TOKEN_EQUALS },         { ":", LIC_TOKEN_COLON },
        { ";", LIC_TOKEN_SEMICOLON },    { "#", LIC_TOKEN_HASH },           { "*", LIC_TOKEN_STAR },
        { ".", LIC_TOKEN_PERIOD },       { ",", LIC_TOKEN_COMMA },          { "?", LIC_TOKEN_QUESTION },
        { "!", LIC_TOKEN_NOT },          { "%", LIC_TOKEN_PERCENT },        { "<", LIC_TOKEN_LESS },
        { ">", LIC_TOKEN_GREATER },
    };
    char first = lexer_peek(lexer, 0);

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        lic_str text = { table[i].text, 1 };

        if (table[i].text[0] != first) /* nearly all: worth the look before the comparison */
            continue;
        text.size = strlen(text.data);
        if (lexer_starts(lexer, text)) {
            *kind = table[i].kind;
            return text.size;
        }
    }
    return 0;
}

static lic_token lex_punctuation(lic_lexer *lexer)
{
    size_t         start = lexer->offset;
    lic_token_kind kind  = LIC_TOKEN_ERROR;
    size_t         size  = punctuation(lexer, &kind);

    if (size == 0)
        return lexer_error(lexer, LIC_LEXER_CHARACTER, start);
    lexer->offset += size;
    return lexer_token(lexer, kind, start);
}

static lic_token lex_newline(lic_lexer *lexer)
{
    size_t start = lexer->offset++;

    return lexer_token(lexer, ends_statement(lexer->last) ? LIC_TOKEN_TERMINATOR : LIC_TOKEN_NEWLINE, start);
}

static lic_token lex_token(lic_lexer *lexer)
{
    char c;

    while (lexer_peek(lexer, 0) == ' ' || lexer_peek(lexer, 0) == '\t')
        lexer->offset++;
    if (lexer->offset == lexer->text.size) {
        lexer->ended = true;
        return lexer_token(lexer, LIC_TOKEN_END, lexer->offset);
    }
    c = lexer_peek(lexer, 0);
    if (c == '\n' || c == '\r')
        return lex_newline(lexer);
    if (c == '"' || c == '\'')
        return lex_string(lexer);
    if (c == '/' && lexer_peek(lexer, 1) == '/')
        return lex_line_comment(lexer);
    if (c == '/' && lexer_peek(lexer, 1) == '*')
        return lex_block_comment(lexer);
    return word_character(lexer) > 0 ? lex_word(lexer) : lex_punctuation(lexer);
}

/* `use`, and then the next identifier whatever stands between: SpiceDB looks at identifiers only, so a relation
 * called `use` in a partial switches on too what its type is called after. */
static void watch_for_flags(lic_lexer *lexer, lic_token token)
{
    lic_str text = lic_token_text(lexer, token);

    if (token.kind == LIC_TOKEN_KEYWORD) {
        if (lic_str_equal(text, LIC_STR("definition")) || lic_str_equal(text, LIC_STR("caveat")))
            lexer->seen_definition = true;
    } else if (token.kind == LIC_TOKEN_IDENTIFIER && !lexer->seen_definition) {
        if (lexer->after_use)
            lexer->flags |= lic_flag_find(text);
        lexer->after_use = !lexer->after_use && lic_str_equal(text, LIC_STR("use"));
    }
}

/* Is this identifier a keyword because of a flag? `expiration` brings `and` along. */
static bool is_flag_keyword(const lic_lexer *lexer, lic_str word)
{
    lic_flag flag = lic_str_equal(word, LIC_STR("and")) ? LIC_FLAG_EXPIRATION : lic_flag_find(word);

    return (lexer->flags & flag) != 0;
}

lic_token lic_lexer_next(lic_lexer *lexer)
{
    lic_token token;

    if (lexer->ended) {
        if (lexer->fault == LIC_LEXER_SOUND)
            lexer->fault = LIC_LEXER_PAST_END;
        return (lic_token){ LIC_TOKEN_ERROR, 0, 0 };
    }
    token = lex_token(lexer);
    if (token.kind != LIC_TOKEN_LINE_COMMENT && token.kind != LIC_TOKEN_BLOCK_COMMENT)
        lexer->last = token.kind;
    watch_for_flags(lexer, token);
    if (token.kind == LIC_TOKEN_IDENTIFIER && lexer->flags != 0 && is_flag_keyword(lexer, lic_token_text(lexer, token)))
        token.kind = LIC_TOKEN_KEYWORD;
    return token;
}
