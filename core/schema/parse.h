/* What the rooms of the parser share; private to core/schema/{parser,parser_*,imports,splice,comments,strict,
 * expression}.c.
 *
 * Three steps, as in SpiceDB: each file becomes raw items (parser*.c), imports put the files' items in order
 * (imports.c), and splicing fills partials in and holds names against their patterns (splice.c). A raw item
 * can hold what an AST can't: references to partials, and faults that SpiceDB reports in the third step only,
 * when the whole text has been read without a syntax error. */
#ifndef LIC_SCHEMA_PARSE_H
#define LIC_SCHEMA_PARSE_H

#include "base/arena.h"
#include "schema/lexer.h"
#include "schema/limits.h"
#include "schema/parser.h"

/* A line of a body. */
typedef struct lic_raw_entry {
    lic_ast_member member;
    lic_str        reference;    /* given: `...name`, and member has a place only */
    lic_str        bad_name;     /* permission: the first operand that breaks the pattern; not given: none */
    bool           nested_arrow; /* permission: a->b->c */
    lic_place      nested_place;
} lic_raw_entry;

/* A definition or a partial. */
typedef struct lic_raw_body {
    lic_place      place;
    lic_str        name;
    lic_str       *comments;
    size_t         comment_count;
    lic_raw_entry *entries;
    size_t         entry_count;
} lic_raw_body;

typedef enum lic_parameter_fault {
    LIC_PARAMETER_SOUND,
    LIC_PARAMETER_REPEATED,
    LIC_PARAMETER_UNKNOWN_TYPE, /* type_name */
    LIC_PARAMETER_ARGUMENTS     /* type_name, found */
} lic_parameter_fault;

/* The first fault of a caveat's parameters. */
typedef struct lic_raw_fault {
    lic_parameter_fault kind;
    lic_place           place;
    lic_str             parameter;
    lic_str             type_name;
    size_t              found;
} lic_raw_fault;

typedef struct lic_raw_caveat {
    lic_ast_caveat caveat; /* body not given: the text goes on elsewhere before it comes */
    lic_raw_fault  fault;
} lic_raw_caveat;

typedef struct lic_raw_import {
    lic_place place;
    lic_str   path;
} lic_raw_import;

typedef enum lic_raw_kind { LIC_RAW_DEFINITION, LIC_RAW_PARTIAL, LIC_RAW_CAVEAT } lic_raw_kind;

typedef struct lic_raw_item {
    lic_raw_kind    kind;
    lic_raw_body   *body; /* definition, partial */
    lic_raw_caveat *caveat;
} lic_raw_item;

/* A growing array in the scratch arena. */
#define LIC_VECTOR(type) \
    struct {             \
        type  *items;    \
        size_t count;    \
        size_t capacity; \
    }

typedef struct lic_raw_file {
    lic_str path; /* inside the folder; not given: the text itself */
    LIC_VECTOR(lic_raw_item) items;
    LIC_VECTOR(lic_raw_import) imports;
} lic_raw_file;

/* One pair of parentheses, or the whole expression. Its finished operands lie on the parser's operand stack:
 * [intersection_base, union_base) are those of the intersection at hand, the rest those of the union. */
typedef struct lic_parse_frame {
    lic_ast_expr *exclusion; /* what stands left of the last "-"; NULL: nothing */
    size_t        intersection_base;
    size_t        union_base;
    lic_place     exclusion_place; /* first tokens */
    lic_place     intersection_place;
    lic_place     union_place;
} lic_parse_frame;

typedef struct lic_parser {
    lic_arena    *arena;   /* the AST's */
    lic_arena     scratch; /* raw items and vectors */
    lic_ast      *ast;
    licet_error **error;
    licet_status  status; /* of the first failure; nothing is reported after it */
    bool          strict;

    lic_lexer     lexer;
    lic_raw_file *file;
    uint32_t      source; /* being read */
    size_t        source_capacity;
    lic_token     token;          /* at hand */
    LIC_VECTOR(lic_str) comments; /* ahead of the token at hand */

    /* Used again for each body, relation, expression. */
    LIC_VECTOR(lic_raw_entry) entries;
    LIC_VECTOR(lic_ast_type) types;
    LIC_VECTOR(lic_str) annotations;
    LIC_VECTOR(lic_ast_expr *) operands;
    LIC_VECTOR(lic_ast_expr *) flat;
    LIC_VECTOR(lic_parse_frame) frames;
    size_t operand_count;   /* of the permission at hand */
    bool   has_parentheses; /* the permission at hand has some */

    /* SpiceDB loses what goes wrong among a caveat's parameters and complains about the token itself, as
     * something at the top level. The place stays, the better words are kept here. NULL: none. */
    const char *lost_words;

    size_t total_bytes;  /* of all files */
    size_t named_count;  /* definitions, caveats, partials */
    size_t entry_count;  /* lines of all bodies */
    size_t member_count; /* with partials filled in */
} lic_parser;

/* Fails at a place, with SpiceDB's reason for all errors of this stage. Gives false. */
#define lic_parser_fail(p, kind, place, ...)                                                        \
    lic_parser_failed((p), (place),                                                                 \
                      lic_fail_reason((p)->error, LICET_SCHEMA_ERROR, (kind), "SCHEMA_PARSE_ERROR", \
                                      lic_ast_position((p)->ast, (place)), __VA_ARGS__))

/* "more than 256 nested parentheses": the limit is a macro that is a plain number. */
#define LIC_LIMIT_TEXT(limit) LIC_LIMIT_DIGITS(limit)
#define LIC_LIMIT_DIGITS(limit) #limit
#define lic_parser_limit(p, place, limit, what)                                    \
    lic_parser_failed((p), (place),                                                \
                      lic_fail((p)->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, \
                               lic_ast_position((p)->ast, (place)), "more than " LIC_LIMIT_TEXT(limit) " " what))

/* parser.c: errors and tokens. What returns bool gives false after a failure, and then p->status says which;
 * accept gives false with p->status OK too: the token is another one. */
bool lic_parser_failed(lic_parser *p, lic_place place, licet_status status);
bool lic_parser_memory_failed(lic_parser *p);
/* At the token at hand. remedy: what to do about it ("; put ..."), or NULL. */
bool      lic_parser_unexpected(lic_parser *p, const char *expected, const char *remedy);
lic_place lic_parser_place(const lic_parser *p);
lic_str   lic_parser_text(const lic_parser *p);
bool      lic_parser_advance(lic_parser *p);
bool      lic_parser_is(const lic_parser *p, lic_token_kind kind);
bool      lic_parser_is_keyword(const lic_parser *p, lic_str keyword);
bool      lic_parser_accept(lic_parser *p, lic_token_kind kind);
bool      lic_parser_accept_keyword(lic_parser *p, lic_str keyword);
/* The remedy where a line has ended too early; NULL where it has not. */
const char *lic_parser_same_line(const lic_parser *p);
bool        lic_parser_expect(lic_parser *p, lic_token_kind kind, const char *remedy);
/* expected: "the name of a relation". */
bool lic_parser_identifier(lic_parser *p, const char *expected, lic_str *name);
bool lic_parser_path(lic_parser *p, const char *expected, lic_str *path);
/* Takes the comments ahead of the token at hand, normalized. */
bool lic_parser_take_comments(lic_parser *p, lic_str **comments, size_t *count);
/* One more definition, caveat or partial. */
bool lic_parser_count_named(lic_parser *p, lic_place place);
bool lic_parser_count_members(lic_parser *p, lic_place place, size_t more);
/* A copy of a vector in an arena; NULL for none of it, and then out of memory is reported. */
bool lic_parser_copy(lic_parser *p, lic_arena *arena, const void *items, size_t count, size_t size, void **copy);
/* Reads one source into its file. */
bool lic_parse_file(lic_parser *p, lic_str name, lic_str text, lic_raw_file *file);

/* Room for one more at the end of a vector. */
#define lic_vector_reserve(p, vector)                                                                   \
    (lic_arena_grow(&(p)->scratch, (void **)&(vector)->items, &(vector)->capacity, (vector)->count + 1, \
                    sizeof *(vector)->items) ||                                                         \
     lic_parser_memory_failed(p))

/* parser_body.c, parser_expr.c, parser_caveat.c */
bool lic_parse_body(lic_parser *p, lic_raw_body **body);
bool lic_parse_expression(lic_parser *p, lic_raw_entry *entry);
bool lic_parse_caveat(lic_parser *p, lic_raw_caveat **caveat);

/* comments.c: one comment's lines, each without blanks at its ends. Not given: nothing is left of it. */
bool lic_comment_normalize(lic_arena *arena, lic_str comment, lic_str *normalized);
/* Go's strings.TrimSpace: without Unicode white space at both ends. */
lic_str lic_comment_trim(lic_str s);
/* Cuts the next line off, without its "\n". false: there is none. */
bool lic_comment_line(lic_str *rest, lic_str *line);

/* imports.c: reads what the first file imports, and what that imports; all items in their order. */
bool lic_parse_imports(lic_parser *p, const lic_parse_options *options, const lic_raw_file *first,
                       const lic_raw_item **items, size_t *count);
/* splice.c: raw items to the AST. */
bool lic_splice(lic_parser *p, const lic_raw_item *items, size_t count);

/* expression.c: sees whether the body of a caveat that is otherwise sound compiles. */
bool lic_parser_check_expression(lic_parser *p, lic_ast_caveat *caveat);

/* strict.c: what an engine that was asked to be strict does not take: in a whole source, in the body of a caveat. */
bool lic_parser_check_characters(lic_parser *p, lic_str text);
bool lic_parser_check_escapes(lic_parser *p, const lic_ast_caveat *caveat);

#endif
