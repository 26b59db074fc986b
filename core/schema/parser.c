/* Recursive descent over SpiceDB's grammar (schema.md 5), without the recursion. One token is at hand; what
 * SpiceDB's parser takes for the first error is always the token at hand when something else was wanted, so
 * we stop there. The exceptions, where SpiceDB loses an error and goes on, are in lic_parse_caveat. */
#include "base/utf8.h"
#include "schema/parse.h"

/* An error in an imported file says so, for its position is one in that file. */
bool lic_parser_failed(lic_parser *p, lic_place place, licet_status status)
{
    licet_error *told = p->error == NULL ? NULL : *p->error;

    p->status = status;
    if (place.source != 0 && told != NULL && status != LICET_OUT_OF_MEMORY) {
        lic_str message = licet_error_message(told);

        *p->error = NULL;
        p->status = lic_fail_reason(p->error, status, licet_error_kind(told), licet_error_reason(told).data,
                                    lic_ast_position(p->ast, place), "in the imported file %Q: %.*s",
                                    &p->ast->sources[place.source].name, LIC_STR_ARG(message));
        licet_error_free(told);
    }
    return false;
}

bool lic_parser_memory_failed(lic_parser *p)
{
    p->status = lic_fail_memory(p->error);
    return false;
}

lic_place lic_parser_place(const lic_parser *p)
{
    return (lic_place){ p->source, p->token.offset };
}

lic_str lic_parser_text(const lic_parser *p)
{
    return lic_token_text(&p->lexer, p->token);
}

/* "U+200B": some of these characters can't be seen. */
static void print_code_point(uint32_t c, char text[9])
{
    size_t digits = c > 0xfffff ? 6 : c > 0xffff ? 5 : 4;

    memcpy(text, "U+", 2);
    for (size_t i = digits; i > 0; i--, c >>= 4)
        text[1 + i] = "0123456789ABCDEF"[c & 15];
    text[2 + digits] = '\0';
}

/* The character that begins no token: kind encoding for those that a schema must not have anywhere. */
static bool unexpected_character(lic_parser *p, const char *expected)
{
    lic_str  text = p->lexer.text;
    size_t   size;
    uint32_t c    = lic_utf8_decode(text, p->token.offset, &size);
    lic_str  word = lic_str_slice(text, p->token.offset, p->token.offset + size);
    char     code_point[9];

    if (c == 0)
        return lic_parser_fail(p, LICET_KIND_ENCODING, lic_parser_place(p), "expected %s, found a NUL, at byte %zu",
                               expected, (size_t)p->token.offset);
    if (c == 0xfeff)
        return lic_parser_fail(p, LICET_KIND_ENCODING, lic_parser_place(p),
                               "a byte order mark, at byte %zu; save the schema as UTF-8 without one",
                               (size_t)p->token.offset);
    print_code_point(c, code_point);
    return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                           "expected %s, found %Q (%s), which the language does not have", expected, &word, code_point);
}

static bool unexpected_error(lic_parser *p, const char *expected)
{
    switch (p->lexer.fault) {
    case LIC_LEXER_CHARACTER:
        return unexpected_character(p, expected);
    case LIC_LEXER_OPEN_STRING:
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p), "a string that is not closed");
    case LIC_LEXER_OPEN_COMMENT:
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                               "a comment that is not closed: \"*/\" is missing");
    case LIC_LEXER_SOUND:
    case LIC_LEXER_PAST_END:
        break;
    }
    return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p), "expected %s, found the end of the text",
                           expected);
}

bool lic_parser_unexpected(lic_parser *p, const char *expected, const char *remedy)
{
    lic_str     text = lic_parser_text(p);
    const char *tail = remedy == NULL ? "" : remedy;

    if (p->token.kind == LIC_TOKEN_ERROR)
        return unexpected_error(p, expected);
    if (p->token.kind == LIC_TOKEN_IDENTIFIER || p->token.kind == LIC_TOKEN_STRING)
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p), "expected %s, found %Q%s", expected, &text,
                               tail);
    if (p->token.kind == LIC_TOKEN_KEYWORD)
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p), "expected %s, found the keyword %Q%s",
                               expected, &text, tail);
    return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p), "expected %s, found %s%s", expected,
                           lic_token_name(p->token.kind), tail);
}

/* Comments are kept until the next token: they belong to it. */
bool lic_parser_advance(lic_parser *p)
{
    p->comments.count = 0;
    for (;;) {
        p->token = lic_lexer_next(&p->lexer);
        if (p->token.kind == LIC_TOKEN_LINE_COMMENT || p->token.kind == LIC_TOKEN_BLOCK_COMMENT) {
            if (!lic_vector_reserve(p, &p->comments))
                return false;
            p->comments.items[p->comments.count++] = lic_parser_text(p);
        } else if (p->token.kind != LIC_TOKEN_NEWLINE) {
            return true;
        }
    }
}

bool lic_parser_is(const lic_parser *p, lic_token_kind kind)
{
    return p->token.kind == kind;
}

bool lic_parser_is_keyword(const lic_parser *p, lic_str keyword)
{
    return p->token.kind == LIC_TOKEN_KEYWORD && lic_str_equal(lic_parser_text(p), keyword);
}

bool lic_parser_accept(lic_parser *p, lic_token_kind kind)
{
    return p->token.kind == kind && lic_parser_advance(p);
}

bool lic_parser_accept_keyword(lic_parser *p, lic_str keyword)
{
    return lic_parser_is_keyword(p, keyword) && lic_parser_advance(p);
}

const char *lic_parser_same_line(const lic_parser *p)
{
    return p->token.kind == LIC_TOKEN_TERMINATOR ? "; put it on this line" : NULL;
}

bool lic_parser_expect(lic_parser *p, lic_token_kind kind, const char *remedy)
{
    if (p->token.kind != kind)
        return lic_parser_unexpected(p, lic_token_name(kind), remedy);
    return lic_parser_advance(p);
}

bool lic_parser_identifier(lic_parser *p, const char *expected, lic_str *name)
{
    if (p->token.kind != LIC_TOKEN_IDENTIFIER)
        return lic_parser_unexpected(p, expected, lic_parser_same_line(p));
    *name = lic_parser_text(p);
    return lic_parser_advance(p);
}

/* The segments lie side by side in the text: the path is the text. */
static bool is_contiguous(lic_str path, lic_str segment)
{
    return segment.data == path.data + path.size + 1;
}

/* path := identifier { "/" identifier }
 * Almost always one piece of the text; with blanks or comments around a slash it has to be put together. */
bool lic_parser_path(lic_parser *p, const char *expected, lic_str *path)
{
    lic_text joined;
    lic_str  segment = { NULL, 0 };

    if (!lic_parser_identifier(p, expected, path))
        return false;
    lic_text_init(&joined, p->arena->memory);
    while (lic_parser_accept(p, LIC_TOKEN_SLASH)) {
        if (!lic_parser_identifier(p, "the rest of the name after \"/\"", &segment))
            break;
        if (joined.size == 0 && is_contiguous(*path, segment)) {
            path->size += 1 + segment.size;
            continue;
        }
        if (joined.size == 0)
            lic_text_add(&joined, *path);
        lic_text_add_char(&joined, '/');
        lic_text_add(&joined, segment);
    }
    if (p->status == LICET_OK && joined.size > 0)
        *path = lic_arena_str(p->arena, lic_text_str(&joined));
    if (p->status == LICET_OK && (joined.failed || path->data == NULL))
        lic_parser_memory_failed(p);
    lic_text_free(&joined);
    return p->status == LICET_OK;
}

bool lic_parser_take_comments(lic_parser *p, lic_str **comments, size_t *count)
{
    *comments = NULL;
    *count    = 0;
    if (p->comments.count == 0)
        return true;
    *comments = lic_new_array(p->arena, p->comments.count, lic_str);
    if (*comments == NULL)
        return lic_parser_memory_failed(p);
    for (size_t i = 0; i < p->comments.count; i++) {
        lic_str *comment = &(*comments)[*count];

        if (!lic_comment_normalize(p->arena, p->comments.items[i], comment))
            return lic_parser_memory_failed(p);
        *count += lic_str_given(*comment) ? 1 : 0;
    }
    return true;
}

bool lic_parser_count_named(lic_parser *p, lic_place place)
{
    if (++p->named_count > LIC_MAX_DEFINITIONS)
        return lic_parser_limit(p, place, LIC_MAX_DEFINITIONS, "definitions, caveats and partials");
    return true;
}

bool lic_parser_count_members(lic_parser *p, lic_place place, size_t more)
{
    if (more > LIC_MAX_MEMBERS_IN_ALL - p->member_count)
        return lic_parser_limit(p, place, LIC_MAX_MEMBERS_IN_ALL, "relations and permissions in all");
    p->member_count += more;
    return true;
}

bool lic_parser_copy(lic_parser *p, lic_arena *arena, const void *items, size_t count, size_t size, void **copy)
{
    *copy = NULL;
    if (count == 0)
        return true;
    *copy = lic_arena_alloc_array(arena, count, size);
    if (*copy == NULL)
        return lic_parser_memory_failed(p);
    memcpy(*copy, items, count * size);
    return true;
}

/* use := "use" ( identifier | keyword )
 * The lexer has switched the flag on by itself. SpiceDB complains at the token behind the flag. */
static bool parse_use(lic_parser *p, bool after_definition)
{
    lic_str  word;
    lic_flag flag;

    if (!lic_parser_advance(p))
        return false;
    if (p->token.kind != LIC_TOKEN_IDENTIFIER && p->token.kind != LIC_TOKEN_KEYWORD)
        return lic_parser_unexpected(p, "the name of a feature", lic_parser_same_line(p));
    word = lic_parser_text(p);
    flag = lic_flag_find(word);
    if (!lic_parser_advance(p))
        return false;
    if (flag == LIC_FLAG_NONE)
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                               "there is no feature %Q to use; there are: expiration, import, partial, self, "
                               "typechecking",
                               &word);
    if (after_definition)
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                               "\"use\" must stand before the first definition or caveat; move \"use %.*s\" up",
                               LIC_STR_ARG(word));
    p->ast->typechecking = p->ast->typechecking || flag == LIC_FLAG_TYPECHECKING;
    return true;
}

/* SpiceDB: all quotes of the first one's kind go from both ends. */
static lic_str unquote(lic_str string)
{
    char   quote = string.data[0];
    size_t from  = 0;
    size_t to    = string.size;

    while (from < to && string.data[from] == quote)
        from++;
    while (to > from && string.data[to - 1] == quote)
        to--;
    return lic_str_slice(string, from, to);
}

/* import := "import" string */
static bool parse_import(lic_parser *p)
{
    lic_raw_import import = { .place = lic_parser_place(p) };

    if (!lic_parser_advance(p))
        return false;
    if (p->token.kind != LIC_TOKEN_STRING)
        return lic_parser_unexpected(p, "a path in quotes", lic_parser_same_line(p));
    import.path = unquote(lic_parser_text(p));
    if (!lic_parser_advance(p) || !lic_vector_reserve(p, &p->file->imports))
        return false;
    p->file->imports.items[p->file->imports.count++] = import;
    return true;
}

/* definition := "definition" path body, caveat, partial := "partial" path body */
static bool parse_named(lic_parser *p, lic_raw_kind kind)
{
    lic_raw_item item = { .kind = kind };

    if (!lic_parser_count_named(p, lic_parser_place(p)))
        return false;
    if (!(kind == LIC_RAW_CAVEAT ? lic_parse_caveat(p, &item.caveat) : lic_parse_body(p, &item.body)))
        return false;
    if (!lic_vector_reserve(p, &p->file->items))
        return false;
    p->file->items.items[p->file->items.count++] = item;
    return true;
}

/* Words for the commonest things that don't belong at the top level. lost: see lic_parser.lost_words. */
static bool unexpected_at_top(lic_parser *p, const char *lost)
{
    lic_str     text     = lic_parser_text(p);
    const char *expected = lost != NULL ? lost : "a definition or a caveat";
    const char *remedy   = NULL;

    if (lic_str_equal(text, LIC_STR("partial")))
        remedy = "; say \"use partial\" at the top of the file";
    else if (lic_str_equal(text, LIC_STR("import")))
        remedy = "; say \"use import\" at the top of the file";
    else if (p->token.kind == LIC_TOKEN_RIGHT_BRACE && lost == NULL)
        remedy = "; there is one \"}\" more than \"{\"";
    return lic_parser_unexpected(p, expected, remedy);
}

/* item := use | import | partial | caveat | definition */
static bool parse_item(lic_parser *p, bool *seen_definition)
{
    const char *lost = p->lost_words;

    p->lost_words = NULL;
    if (p->token.kind == LIC_TOKEN_IDENTIFIER && lic_str_equal(lic_parser_text(p), LIC_STR("use")))
        return parse_use(p, *seen_definition);
    if (lic_parser_is_keyword(p, LIC_STR("import")))
        return parse_import(p);
    if (lic_parser_is_keyword(p, LIC_STR("partial")))
        return parse_named(p, LIC_RAW_PARTIAL);
    *seen_definition = true;
    if (lic_parser_is_keyword(p, LIC_STR("definition")))
        return parse_named(p, LIC_RAW_DEFINITION);
    if (lic_parser_is_keyword(p, LIC_STR("caveat")))
        return parse_named(p, LIC_RAW_CAVEAT);
    return unexpected_at_top(p, lost);
}

/* file := { [ terminator ] item } [ terminator ] end
 * Only one terminator goes between two items. */
static bool parse_items(lic_parser *p)
{
    bool seen_definition = false;

    while (p->status == LICET_OK && p->token.kind != LIC_TOKEN_END) {
        if (lic_parser_accept(p, LIC_TOKEN_TERMINATOR) || lic_parser_accept(p, LIC_TOKEN_SEMICOLON))
            p->lost_words = NULL;
        if (p->status == LICET_OK && p->token.kind != LIC_TOKEN_END)
            parse_item(p, &seen_definition);
    }
    return p->status == LICET_OK;
}

static bool check_encoding(lic_parser *p, lic_str text)
{
    size_t    wrong = lic_utf8_check(text);
    lic_place place = { p->source, (uint32_t)wrong };

    if (wrong == text.size)
        return true;
    return lic_parser_fail(p, LICET_KIND_ENCODING, place, "the schema is not UTF-8: wrong at byte %zu", wrong);
}

/* Each file of an import tree, and all together. There is no source yet, so the position is nowhere. */
static bool check_size(lic_parser *p, lic_str name, size_t size)
{
    if (size <= LIC_MAX_SCHEMA_BYTES - p->total_bytes) {
        p->total_bytes += size;
        return true;
    }
    p->status = lic_fail(p->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                         p->ast->source_count == 0
                             ? "more than " LIC_LIMIT_TEXT(LIC_MAX_SCHEMA_BYTES) " bytes of schema"
                             : "more than " LIC_LIMIT_TEXT(LIC_MAX_SCHEMA_BYTES) " bytes of schema with the import %Q",
                         &name);
    return false;
}

/* Makes the text a source; name and text must live as long as the AST. */
static bool add_source(lic_parser *p, lic_str name, lic_str text)
{
    if (!lic_arena_grow(p->arena, (void **)&p->ast->sources, &p->source_capacity, p->ast->source_count + 1,
                        sizeof *p->ast->sources))
        return lic_parser_memory_failed(p);
    p->source                  = (uint32_t)p->ast->source_count++;
    p->ast->sources[p->source] = (lic_source){ name, text };
    return true;
}

bool lic_parse_file(lic_parser *p, lic_str name, lic_str text, lic_raw_file *file)
{
    lic_str copy;

    if (!check_size(p, name, text.size))
        return false;
    copy = text.size == 0 ? LIC_STR("") : lic_arena_str(p->arena, text);
    if (copy.data == NULL)
        return lic_parser_memory_failed(p);
    if (!add_source(p, name, copy) || !check_encoding(p, copy) || (p->strict && !lic_parser_check_characters(p, copy)))
        return false;
    p->file       = file;
    p->lost_words = NULL;
    lic_lexer_init(&p->lexer, copy);
    return lic_parser_advance(p) && parse_items(p);
}

static bool parse_all(lic_parser *p, lic_str text, const lic_parse_options *options)
{
    lic_raw_file        first = { 0 };
    const lic_raw_item *items;
    size_t              count;

    return lic_parse_file(p, LIC_STR("schema"), text, &first) &&
           lic_parse_imports(p, options, &first, &items, &count) && lic_splice(p, items, count);
}

licet_status lic_parse(lic_arena *arena, lic_str text, const lic_parse_options *options, lic_ast **ast,
                       licet_error **error)
{
    lic_parser parser = {
        .arena = arena, .error = error, .status = LICET_OK, .strict = options != NULL && options->strict
    };

    *ast       = NULL;
    parser.ast = lic_new(arena, lic_ast);
    if (parser.ast == NULL)
        return lic_fail_memory(error);
    lic_arena_init(&parser.scratch, arena->memory);
    if (parse_all(&parser, text, options))
        *ast = parser.ast;
    lic_arena_free(&parser.scratch);
    return parser.status;
}
