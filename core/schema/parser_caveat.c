/* Caveats: parameters, their types, and the body, which is cut out of the text as it stands. */
#include "schema/parse.h"

/* Type arguments that are open: name of the type, number of its arguments so far, the last of them. */
typedef struct type_frame {
    lic_str                name;
    size_t                 found;
    const lic_caveat_type *argument;
} type_frame;

static void note_fault(lic_raw_caveat *caveat, lic_parameter_fault kind, const lic_ast_parameter *parameter,
                       lic_str type_name, size_t found)
{
    if (caveat->fault.kind == LIC_PARAMETER_SOUND)
        caveat->fault = (lic_raw_fault){ kind, parameter->place, parameter->name, type_name, found };
}

/* A type whose arguments are complete. What is wrong with it is noted for the next stage, and the type is then
 * NULL. SpiceDB: types without arguments ignore those that they are given. */
static bool make_type(lic_parser *p, lic_raw_caveat *caveat, lic_ast_parameter *parameter, const type_frame *frame)
{
    lic_caveat_type_kind kind;
    size_t               wanted;
    lic_caveat_type     *type;

    parameter->type = NULL;
    if (!lic_caveat_type_find(frame->name, &kind, &wanted)) {
        note_fault(caveat, LIC_PARAMETER_UNKNOWN_TYPE, parameter, frame->name, 0);
        return true;
    }
    if (wanted > 0 && frame->found != wanted) {
        note_fault(caveat, LIC_PARAMETER_ARGUMENTS, parameter, frame->name, frame->found);
        return true;
    }
    type = lic_new(p->arena, lic_caveat_type);
    if (type == NULL)
        return lic_parser_memory_failed(p);
    type->kind      = kind;
    type->argument  = wanted > 0 ? frame->argument : NULL;
    parameter->type = type;
    return true;
}

/* The type at the top is complete, and with each ">" the one below it. *more: a "," asks for another argument of the
 * one that is then at the top. */
static bool close_types(lic_parser *p, lic_raw_caveat *caveat, lic_ast_parameter *parameter, type_frame *frames,
                        size_t *depth, bool *more)
{
    *more = false;
    while (make_type(p, caveat, parameter, &frames[*depth])) {
        type_frame *below = *depth == 0 ? NULL : &frames[*depth - 1];

        if (below == NULL)
            return true;
        below->argument = parameter->type;
        below->found++;
        if (lic_parser_accept(p, LIC_TOKEN_COMMA)) {
            *more = true;
            return true;
        }
        if (p->status != LICET_OK || !lic_parser_expect(p, LIC_TOKEN_GREATER, NULL))
            return false;
        --*depth;
    }
    return false;
}

/* ctype := identifier [ "<" ctype { "," ctype } ">" ]
 * frames[0 .. depth) are open. */
static bool parse_type(lic_parser *p, lic_raw_caveat *caveat, lic_ast_parameter *parameter)
{
    type_frame frames[LIC_CAVEAT_MAX_TYPE_NESTING];
    size_t     depth = 0;
    bool       more  = true;

    while (more) {
        if (depth == LIC_CAVEAT_MAX_TYPE_NESTING)
            return lic_parser_limit(p, lic_parser_place(p), LIC_CAVEAT_MAX_TYPE_NESTING,
                                    "nested types in a parameter's type");
        frames[depth] = (type_frame){ 0 };
        if (!lic_parser_identifier(p, "a type", &frames[depth].name))
            return false;
        if (lic_parser_accept(p, LIC_TOKEN_LESS))
            depth++;
        else if (p->status != LICET_OK || !close_types(p, caveat, parameter, frames, &depth, &more))
            return false;
    }
    return true;
}

static bool is_repeated(const lic_ast_caveat *caveat, lic_str name)
{
    for (size_t i = 0; i < caveat->parameter_count; i++)
        if (lic_str_equal(caveat->parameters[i].name, name))
            return true;
    return false;
}

/* param := identifier ctype */
static bool parse_parameter(lic_parser *p, lic_raw_caveat *raw)
{
    lic_ast_caveat    *caveat    = &raw->caveat;
    lic_ast_parameter *parameter = &caveat->parameters[caveat->parameter_count];

    if (caveat->parameter_count == LIC_MAX_PARAMETERS)
        return lic_parser_limit(p, lic_parser_place(p), LIC_MAX_PARAMETERS, "parameters of one caveat");
    parameter->place = lic_parser_place(p);
    if (!lic_parser_identifier(p, "the name of a parameter", &parameter->name))
        return false;
    if (is_repeated(caveat, parameter->name))
        note_fault(raw, LIC_PARAMETER_REPEATED, parameter, parameter->name, 0);
    if (!parse_type(p, raw, parameter))
        return false;
    caveat->parameter_count++;
    return true;
}

/* "(" param { "," param } ")"
 * *lost: no parameter where one had to be. SpiceDB drops that error and goes on at the top level. */
static bool parse_parameters(lic_parser *p, lic_raw_caveat *raw, bool *lost)
{
    lic_ast_parameter parameters[LIC_MAX_PARAMETERS + 1];
    void             *copy;

    raw->caveat.parameters = parameters;
    do {
        *lost = p->token.kind != LIC_TOKEN_IDENTIFIER;
        if (*lost)
            break;
        if (!parse_parameter(p, raw))
            return false;
    } while (lic_parser_accept(p, LIC_TOKEN_COMMA));
    if (p->status != LICET_OK ||
        !lic_parser_copy(p, p->arena, parameters, raw->caveat.parameter_count, sizeof *parameters, &copy))
        return false;
    raw->caveat.parameters = copy;
    return *lost || lic_parser_expect(p, LIC_TOKEN_RIGHT_PAREN, lic_parser_same_line(p));
}

/* Every token up to the brace that closes the body. The text is the slice from the first to the last of them,
 * so comments before the first are left out. */
static bool parse_expression(lic_parser *p, lic_ast_caveat *caveat)
{
    size_t depth = 0;

    caveat->body_place = lic_parser_place(p);
    for (;;) {
        lic_str token = lic_parser_text(p);

        if (p->token.kind == LIC_TOKEN_ERROR || p->token.kind == LIC_TOKEN_END ||
            (p->token.kind == LIC_TOKEN_RIGHT_BRACE && depth == 0))
            return true;
        if (p->token.kind == LIC_TOKEN_LEFT_BRACE)
            depth++;
        else if (p->token.kind == LIC_TOKEN_RIGHT_BRACE)
            depth--;
        if (!lic_str_given(caveat->body))
            caveat->body.data = token.data;
        caveat->body.size = (size_t)(token.data + token.size - caveat->body.data);
        if (!lic_parser_advance(p))
            return false;
    }
}

/* The rest of a caveat does not come: the token at hand is read again as the beginning of an item, and if it is one,
 * the caveat is refused later. */
static bool lose(lic_parser *p, const char *words)
{
    p->lost_words = words;
    return true;
}

/* caveat := "caveat" path "(" params ")" "{" body "}" */
bool lic_parse_caveat(lic_parser *p, lic_raw_caveat **result)
{
    lic_raw_caveat *raw    = lic_new(&p->scratch, lic_raw_caveat);
    lic_ast_caveat *caveat = raw == NULL ? NULL : &raw->caveat;
    bool            lost;

    if (raw == NULL)
        return lic_parser_memory_failed(p);
    *result       = raw;
    caveat->place = lic_parser_place(p);
    if (!lic_parser_take_comments(p, &caveat->comments, &caveat->comment_count) || !lic_parser_advance(p) ||
        !lic_parser_path(p, "the name of the caveat", &caveat->name) ||
        !lic_parser_expect(p, LIC_TOKEN_LEFT_PAREN, NULL) || !parse_parameters(p, raw, &lost))
        return false;
    if (lost)
        return lose(p, "the name of a parameter");
    if (!lic_parser_expect(p, LIC_TOKEN_LEFT_BRACE, lic_parser_same_line(p)) || !parse_expression(p, caveat))
        return false;
    if (!lic_str_given(caveat->body))
        return lose(p, "the caveat's expression");
    return lic_parser_expect(p, LIC_TOKEN_RIGHT_BRACE, NULL);
}
