/* Expressions. From tightest to loosest: arrow, "+", "&", "-"; all to the left. Unions and intersections are
 * flat, also through parentheses.
 *
 * Instead of a function per level and a call per parenthesis there is one stack of operands, and a frame per
 * open parenthesis that says where on it the union and the intersection at hand begin. */
#include "schema/parse.h"

static lic_ast_expr *expr_new(lic_parser *p, lic_ast_kind kind, lic_place place)
{
    lic_ast_expr *expr = lic_new(p->arena, lic_ast_expr);

    if (expr == NULL) {
        lic_parser_memory_failed(p);
        return NULL;
    }
    expr->kind  = kind;
    expr->place = place;
    return expr;
}

static bool set_children(lic_parser *p, lic_ast_expr *node, lic_ast_expr *const *children, size_t count)
{
    node->children = lic_new_array(p->arena, count, lic_ast_expr *);
    if (node->children == NULL)
        return lic_parser_memory_failed(p);
    memcpy(node->children, children, count * sizeof *children);
    node->child_count = count;
    return true;
}

static lic_parse_frame *top_frame(lic_parser *p)
{
    return &p->frames.items[p->frames.count - 1];
}

static bool push_operand(lic_parser *p, lic_ast_expr *expr)
{
    if (expr == NULL || !lic_vector_reserve(p, &p->operands))
        return false;
    p->operands.items[p->operands.count++] = expr;
    return true;
}

static bool push_frame(lic_parser *p)
{
    lic_place place = lic_parser_place(p);

    if (!lic_vector_reserve(p, &p->frames))
        return false;
    p->frames.items[p->frames.count++] = (lic_parse_frame){
        .intersection_base  = p->operands.count,
        .union_base         = p->operands.count,
        .exclusion_place    = place,
        .intersection_place = place,
        .union_place        = place,
    };
    return true;
}

/* The operands from `first` on become the children of one node; a single one stays as it is. */
static lic_ast_expr *gather(lic_parser *p, lic_ast_kind kind, lic_place place, size_t first)
{
    lic_ast_expr **operands = p->operands.items + first;
    size_t         count    = p->operands.count - first;
    lic_ast_expr  *node;

    p->operands.count = first;
    if (count == 1)
        return operands[0];
    node = expr_new(p, kind, place);
    if (node == NULL || !set_children(p, node, operands, count))
        return NULL;
    return node;
}

/* "&", or anything looser: the union at hand is one operand of the intersection at hand. */
static bool close_union(lic_parser *p)
{
    lic_parse_frame *frame = top_frame(p);

    if (!push_operand(p, gather(p, LIC_AST_UNION, frame->union_place, frame->union_base)))
        return false;
    frame->union_base = p->operands.count;
    return true;
}

/* "-", or the end: the intersection at hand is the right side of the exclusion at hand, or the start of one. */
static bool close_intersection(lic_parser *p)
{
    lic_parse_frame *frame    = top_frame(p);
    lic_ast_expr    *sides[2] = { frame->exclusion, NULL };
    lic_ast_expr    *node;

    if (!close_union(p))
        return false;
    sides[1]          = gather(p, LIC_AST_INTERSECTION, frame->intersection_place, frame->intersection_base);
    frame->union_base = frame->intersection_base;
    if (sides[0] == NULL || sides[1] == NULL) {
        frame->exclusion = sides[1];
        return sides[1] != NULL;
    }
    node             = expr_new(p, LIC_AST_EXCLUSION, frame->exclusion_place);
    frame->exclusion = node;
    return node != NULL && set_children(p, node, sides, 2);
}

/* SpiceDB holds names against their pattern when the whole text has been read. */
static void note_name(lic_raw_entry *entry, lic_str name)
{
    if (!lic_str_given(entry->bad_name) && !lic_is_relation_name(name))
        entry->bad_name = name;
}

/* "->" identifier, or "." ( "any" | "all" ) "(" identifier ")" */
static bool parse_arrow_end(lic_parser *p, lic_ast_expr *expr, lic_str *target)
{
    lic_str word;

    if (lic_parser_accept(p, LIC_TOKEN_ARROW)) {
        expr->kind = LIC_AST_ARROW;
        return lic_parser_identifier(p, "the name of a relation or permission after \"->\"", target);
    }
    if (p->status != LICET_OK || !lic_parser_advance(p) ||
        !lic_parser_identifier(p, "\"any\" or \"all\" after \".\"", &word))
        return false;
    if (lic_str_equal(word, LIC_STR("any")))
        expr->kind = LIC_AST_ARROW_ANY;
    else if (lic_str_equal(word, LIC_STR("all")))
        expr->kind = LIC_AST_ARROW_ALL;
    else
        return lic_parser_fail(p, LICET_KIND_SYNTAX, lic_parser_place(p),
                               "expected \"any\" or \"all\" after \".\", found %Q", &word);
    return lic_parser_expect(p, LIC_TOKEN_LEFT_PAREN, NULL) &&
           lic_parser_identifier(p, "the name of a relation or permission", target) &&
           lic_parser_expect(p, LIC_TOKEN_RIGHT_PAREN, lic_parser_same_line(p));
}

/* arrow := identifier { step }. More than one step is an error of the next stage. */
static bool parse_arrow(lic_parser *p, lic_raw_entry *entry, lic_ast_expr *expr)
{
    size_t steps = 0;

    if (!lic_parser_identifier(p, "a name", &expr->name))
        return false;
    note_name(entry, expr->name);
    while (p->token.kind == LIC_TOKEN_ARROW || p->token.kind == LIC_TOKEN_PERIOD) {
        if (!parse_arrow_end(p, expr, &expr->target))
            return false;
        note_name(entry, expr->target);
        if (++steps > 1 && !entry->nested_arrow) {
            entry->nested_arrow = true;
            entry->nested_place = expr->place;
        }
    }
    return true;
}

/* operand := arrow | "nil" | "self" */
static bool parse_operand(lic_parser *p, lic_raw_entry *entry, const char *expected)
{
    lic_ast_expr *expr;

    if (p->operand_count++ == LIC_MAX_OPERANDS)
        return lic_parser_limit(p, lic_parser_place(p), LIC_MAX_OPERANDS, "operands in one permission");
    expr = expr_new(p, LIC_AST_NAME, lic_parser_place(p));
    if (!push_operand(p, expr))
        return false;
    if (p->token.kind == LIC_TOKEN_IDENTIFIER)
        return parse_arrow(p, entry, expr);
    if (lic_parser_is_keyword(p, LIC_STR("nil")))
        expr->kind = LIC_AST_NIL;
    else if (lic_parser_is_keyword(p, LIC_STR("self")))
        expr->kind = LIC_AST_SELF;
    else
        return lic_parser_unexpected(p, expected, NULL);
    return lic_parser_advance(p);
}

/* { "(" } operand */
static bool parse_operand_in_parentheses(lic_parser *p, lic_raw_entry *entry, const char *expected)
{
    while (p->token.kind == LIC_TOKEN_LEFT_PAREN) {
        if (p->frames.count > LIC_MAX_NESTING) /* one frame is the expression itself */
            return lic_parser_limit(p, lic_parser_place(p), LIC_MAX_NESTING, "nested parentheses");
        if (!lic_parser_advance(p) || !push_frame(p))
            return false;
        p->has_parentheses = true;
    }
    return parse_operand(p, entry, expected);
}

/* ")" as often as it comes: each makes one operand of its frame. */
static bool close_parentheses(lic_parser *p)
{
    while (p->frames.count > 1 && lic_parser_accept(p, LIC_TOKEN_RIGHT_PAREN)) {
        if (!close_intersection(p) || !push_operand(p, top_frame(p)->exclusion))
            return false;
        p->frames.count--;
    }
    return p->status == LICET_OK;
}

/* true: an operator was read, and an operand has to follow. */
static bool accept_operator(lic_parser *p)
{
    lic_parse_frame *frame = top_frame(p);

    if (lic_parser_accept(p, LIC_TOKEN_PLUS))
        return true;
    if (lic_parser_accept(p, LIC_TOKEN_AND)) {
        if (!close_union(p))
            return false;
        frame->union_place = lic_parser_place(p);
        return true;
    }
    if (p->status == LICET_OK && lic_parser_accept(p, LIC_TOKEN_MINUS)) {
        if (!close_intersection(p))
            return false;
        frame->intersection_place = lic_parser_place(p);
        frame->union_place        = frame->intersection_place;
        return true;
    }
    return false;
}

/* Children last to first, so that they come off the stack first to last. */
static bool push_children(lic_parser *p, const lic_ast_expr *node)
{
    for (size_t i = node->child_count; i > 0; i--)
        if (!push_operand(p, node->children[i - 1]))
            return false;
    return true;
}

/* Puts in the place of children of the node's own kind what they consist of, however deep. */
static bool flatten_node(lic_parser *p, lic_ast_expr *node)
{
    size_t base = p->operands.count;

    p->flat.count = 0;
    if (!push_children(p, node))
        return false;
    while (p->operands.count > base) {
        lic_ast_expr *child = p->operands.items[--p->operands.count];

        if (child->kind == node->kind) {
            if (!push_children(p, child))
                return false;
            continue;
        }
        if (!lic_vector_reserve(p, &p->flat))
            return false;
        p->flat.items[p->flat.count++] = child;
    }
    return p->flat.count == node->child_count || set_children(p, node, p->flat.items, p->flat.count);
}

/* Makes unions and intersections flat, once for the whole expression: doing it at each closing parenthesis would
 * copy the innermost operands as often as they are enclosed. */
static bool flatten(lic_parser *p, lic_ast_expr *root)
{
    p->operands.count = 0;
    if (!push_operand(p, root))
        return false;
    while (p->operands.count > 0) {
        lic_ast_expr *node = p->operands.items[--p->operands.count];

        if (node->kind != LIC_AST_EXCLUSION && node->child_count > 0 && !flatten_node(p, node))
            return false;
        if (!push_children(p, node))
            return false;
    }
    return true;
}

/* expression := intersection { "-" intersection }
 * intersection := union { "&" union }
 * union := operand { "+" operand }, where an operand may be "(" expression ")" */
bool lic_parse_expression(lic_parser *p, lic_raw_entry *entry)
{
    const char *expected = "the permission's expression";

    p->operands.count  = 0;
    p->frames.count    = 0;
    p->operand_count   = 0;
    p->has_parentheses = false;
    if (!push_frame(p))
        return false;
    do {
        if (!parse_operand_in_parentheses(p, entry, expected) || !close_parentheses(p))
            return false;
        expected = "a name, \"nil\" or \"(\" after the operator";
    } while (accept_operator(p));
    if (p->status != LICET_OK)
        return false;
    if (p->frames.count > 1)
        return lic_parser_expect(
            p, LIC_TOKEN_RIGHT_PAREN,
            p->token.kind == LIC_TOKEN_TERMINATOR ? "; put it on the same line, or end the line in an operator" : NULL);
    if (!close_intersection(p))
        return false;
    entry->member.expr = top_frame(p)->exclusion;
    return !p->has_parentheses || flatten(p, entry->member.expr);
}
