/* Bodies of definitions and partials: relations, permissions, references to partials. */
#include "schema/parse.h"

/* "expiration" where the flag makes a keyword of it; else the name of a caveat. */
static bool parse_with(lic_parser *p, lic_ast_type *type)
{
    lic_place last = lic_parser_place(p);

    if (!lic_parser_is_keyword(p, LIC_STR("expiration"))) {
        if (!lic_parser_path(p, "the name of a caveat after \"with\"", &type->caveat))
            return false;
        last = lic_parser_place(p);
        if (!lic_parser_accept_keyword(p, LIC_STR("and")))
            return p->status == LICET_OK;
    }
    if (!lic_parser_accept_keyword(p, LIC_STR("expiration"))) {
        /* SpiceDB: an `and` with anything else behind it is swallowed. */
        if (!p->ast->swallowed_and)
            p->ast->swallowed_and_place = last;
        p->ast->swallowed_and = true;
        return p->status == LICET_OK;
    }
    type->expiration = true;
    if (lic_parser_is_keyword(p, LIC_STR("and")))
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                               "the caveat must stand before expiration: write \"with NAME and expiration\"");
    return true;
}

/* "#" ( identifier | "..." ); "#..." is the object itself, as if nothing were there. */
static bool parse_subject_relation(lic_parser *p, lic_ast_type *type)
{
    if (lic_parser_accept(p, LIC_TOKEN_ELLIPSIS))
        return true;
    return p->status == LICET_OK &&
           lic_parser_identifier(p, "the name of a relation, or \"...\", after \"#\"", &type->relation);
}

/* type := path [ ":" "*" | "#" ( identifier | "..." ) ] [ "with" ... ] */
static bool parse_type(lic_parser *p, lic_ast_type *type)
{
    *type = (lic_ast_type){ .place = lic_parser_place(p) };
    if (!lic_parser_path(p, "the type that the relation allows", &type->type))
        return false;
    if (lic_parser_accept(p, LIC_TOKEN_COLON)) {
        if (!lic_parser_expect(p, LIC_TOKEN_STAR, "; \"user:*\" allows everyone, \"user\" one at a time"))
            return false;
        type->wildcard = true;
    } else if (lic_parser_accept(p, LIC_TOKEN_HASH) && !parse_subject_relation(p, type)) {
        return false;
    }
    if (lic_parser_accept_keyword(p, LIC_STR("with")))
        return parse_with(p, type);
    return p->status == LICET_OK;
}

/* type { "|" type } */
static bool parse_types(lic_parser *p, lic_ast_member *relation)
{
    void *types;

    p->types.count = 0;
    do {
        if (p->types.count == LIC_MAX_ALLOWED_TYPES)
            return lic_parser_limit(p, lic_parser_place(p), LIC_MAX_ALLOWED_TYPES, "types that one relation allows");
        if (!lic_vector_reserve(p, &p->types) || !parse_type(p, &p->types.items[p->types.count]))
            return false;
        p->types.count++;
    } while (lic_parser_accept(p, LIC_TOKEN_PIPE));
    if (p->status != LICET_OK ||
        !lic_parser_copy(p, p->arena, p->types.items, p->types.count, sizeof *p->types.items, &types))
        return false;
    relation->types      = types;
    relation->type_count = p->types.count;
    return true;
}

/* relation := "relation" identifier ":" types */
static bool parse_relation(lic_parser *p, lic_ast_member *relation)
{
    return lic_parser_identifier(p, "the name of the relation", &relation->name) &&
           lic_parser_expect(p, LIC_TOKEN_COLON, NULL) && parse_types(p, relation);
}

/* annotation := ":" identifier { "|" identifier } */
static bool parse_annotations(lic_parser *p, lic_ast_member *permission)
{
    void *annotations;

    p->annotations.count = 0;
    do {
        if (!lic_vector_reserve(p, &p->annotations) ||
            !lic_parser_identifier(p, "the name of a type", &p->annotations.items[p->annotations.count]))
            return false;
        p->annotations.count++;
    } while (lic_parser_accept(p, LIC_TOKEN_PIPE));
    if (p->status != LICET_OK || !lic_parser_copy(p, p->arena, p->annotations.items, p->annotations.count,
                                                  sizeof *p->annotations.items, &annotations))
        return false;
    permission->annotated        = true;
    permission->annotations      = annotations;
    permission->annotation_count = p->annotations.count;
    return true;
}

/* permission := "permission" identifier [ annotation ] "=" expression */
static bool parse_permission(lic_parser *p, lic_raw_entry *entry)
{
    if (!lic_parser_identifier(p, "the name of the permission", &entry->member.name))
        return false;
    if (lic_parser_accept(p, LIC_TOKEN_COLON) && !parse_annotations(p, &entry->member))
        return false;
    return p->status == LICET_OK && lic_parser_expect(p, LIC_TOKEN_EQUALS, NULL) && lic_parse_expression(p, entry);
}

/* One line of a body. *found: false when there is none to be read here. */
static bool parse_entry(lic_parser *p, lic_raw_entry *entry, bool *found)
{
    lic_ast_member *member = &entry->member;

    *entry        = (lic_raw_entry){ 0 };
    *found        = true;
    member->place = lic_parser_place(p);
    if (lic_parser_accept(p, LIC_TOKEN_ELLIPSIS))
        return lic_parser_identifier(p, "the name of a partial", &entry->reference);
    if (p->status != LICET_OK)
        return false;
    if (!lic_parser_is_keyword(p, LIC_STR("relation")) && !lic_parser_is_keyword(p, LIC_STR("permission"))) {
        *found = false;
        return true;
    }
    if (!lic_parser_take_comments(p, &member->comments, &member->comment_count))
        return false;
    if (lic_parser_accept_keyword(p, LIC_STR("relation")))
        return parse_relation(p, member);
    return p->status == LICET_OK && lic_parser_advance(p) && parse_permission(p, entry);
}

static bool is_operator(lic_token_kind kind)
{
    return kind == LIC_TOKEN_PLUS || kind == LIC_TOKEN_MINUS || kind == LIC_TOKEN_AND || kind == LIC_TOKEN_PIPE ||
           kind == LIC_TOKEN_ARROW;
}

/* The token at hand ends no statement. SpiceDB: `Expected end of statement or definition`. */
static bool unexpected_in_body(lic_parser *p, const lic_raw_body *body, bool after_entry)
{
    lic_str text = lic_parser_text(p);

    if (p->token.kind == LIC_TOKEN_ERROR && p->lexer.fault == LIC_LEXER_PAST_END)
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                               "the body of %Q is not closed: \"}\" is missing at the end of the text", &body->name);
    if (!after_entry && p->token.kind == LIC_TOKEN_PERIOD)
        return lic_parser_unexpected(p, "a relation, a permission or \"}\"",
                                     "; the contents of a partial are asked for with \"...NAME\"");
    if (!after_entry && is_operator(p->token.kind))
        return lic_parser_unexpected(p, "a relation, a permission or \"}\"",
                                     " at the start of a line; put it at the end of the line before");
    if (!after_entry)
        return lic_parser_unexpected(p, "a relation, a permission or \"}\"", NULL);
    if (p->token.kind == LIC_TOKEN_RIGHT_BRACE)
        return lic_parser_unexpected(p, "the end of the statement", "; put \";\" or a new line before it");
    if (p->token.kind == LIC_TOKEN_IDENTIFIER && lic_str_equal(text, LIC_STR("and")))
        return lic_parser_unexpected(p, "the end of the statement",
                                     "; say \"use expiration\" at the top of the file to write \"and expiration\"");
    if (lic_str_equal(text, LIC_STR("relation")) || lic_str_equal(text, LIC_STR("permission")))
        return lic_parser_unexpected(p, "the end of the statement",
                                     "; put \";\" before it (a new line is not enough after \"...\")");
    return lic_parser_unexpected(p, "the end of the statement", NULL);
}

/* A statement's end: a newline that counts, ";", or the end of the text (which SpiceDB's parser consumes). */
static bool accept_terminator(lic_parser *p)
{
    return lic_parser_accept(p, LIC_TOKEN_TERMINATOR) || lic_parser_accept(p, LIC_TOKEN_SEMICOLON) ||
           lic_parser_accept(p, LIC_TOKEN_END);
}

/* References to partials count like members, since each takes as much room. */
static bool count_entry(lic_parser *p, lic_place place)
{
    if (p->entries.count++ == LIC_MAX_MEMBERS)
        return lic_parser_limit(p, place, LIC_MAX_MEMBERS, "relations and permissions of one type");
    if (p->entry_count++ == LIC_MAX_MEMBERS_IN_ALL)
        return lic_parser_limit(p, place, LIC_MAX_MEMBERS_IN_ALL, "relations and permissions in all");
    return true;
}

/* { [ relation | permission | reference ] terminator } "}" */
static bool parse_entries(lic_parser *p, const lic_raw_body *body)
{
    p->entries.count = 0;
    while (!lic_parser_accept(p, LIC_TOKEN_RIGHT_BRACE)) {
        lic_raw_entry *entry;
        bool           found;

        if (p->status != LICET_OK || !lic_vector_reserve(p, &p->entries))
            return false;
        entry = &p->entries.items[p->entries.count];
        if (!parse_entry(p, entry, &found))
            return false;
        if (found && !count_entry(p, entry->member.place))
            return false;
        if (!accept_terminator(p))
            return p->status == LICET_OK ? unexpected_in_body(p, body, found) : false;
    }
    return true;
}

/* body := "{" entries "}", with the keyword and the name before it */
bool lic_parse_body(lic_parser *p, lic_raw_body **result)
{
    lic_raw_body *body = lic_new(&p->scratch, lic_raw_body);
    void         *entries;

    if (body == NULL)
        return lic_parser_memory_failed(p);
    body->place = lic_parser_place(p);
    if (!lic_parser_take_comments(p, &body->comments, &body->comment_count) || !lic_parser_advance(p) ||
        !lic_parser_path(p, "a name", &body->name) ||
        !lic_parser_expect(p, LIC_TOKEN_LEFT_BRACE, lic_parser_same_line(p)) || !parse_entries(p, body) ||
        !lic_parser_copy(p, &p->scratch, p->entries.items, p->entries.count, sizeof *p->entries.items, &entries))
        return false;
    body->entries     = entries;
    body->entry_count = p->entries.count;
    *result           = body;
    return true;
}
