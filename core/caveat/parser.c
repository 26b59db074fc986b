/* Operator precedence with a stack of what has been begun, so the text's nesting never becomes ours. Two states take
 * turns: an operand is wanted, or one is at hand and something may follow it.
 *
 * Binary operators bind to the left; a chain of && or || is one node. Of unary operators only runs of one kind exist,
 * and an even run is nothing at all, as in cel-go. */
#include "caveat/parse.h"

#include <math.h>

#include "base/utf8.h"
#include "caveat/number.h"

enum { PRECEDENCE_OR = 1, PRECEDENCE_AND, PRECEDENCE_RELATION, PRECEDENCE_SUM, PRECEDENCE_PRODUCT, PRECEDENCE_UNARY };

/* ------------------------------------------------------------------- errors */

bool lic_cel_parser_fail(lic_cel_parser *p, licet_kind kind, uint32_t offset, const char *why)
{
    p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, kind, lic_position_of(p->text, offset), "%s", why);
    return false;
}

bool lic_cel_parser_limit(lic_cel_parser *p, uint32_t offset, const char *why)
{
    p->status = lic_fail(p->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, lic_position_of(p->text, offset), "%s", why);
    return false;
}

bool lic_cel_parser_memory_failed(lic_cel_parser *p)
{
    p->status = lic_fail_memory(p->error);
    return false;
}

static lic_str token_text(const lic_cel_parser *p, lic_cel_token token)
{
    return lic_str_slice(p->text, token.offset, token.offset + token.size);
}

/* The token at hand is not what may stand there. */
static bool unexpected(lic_cel_parser *p, const char *wanted)
{
    lic_str text = token_text(p, p->token);

    if (p->token.kind == LIC_CEL_TOKEN_BAD)
        return lic_cel_parser_fail(p, LICET_KIND_SYNTAX, p->token.offset, p->token.why);
    if (p->token.kind == LIC_CEL_TOKEN_END)
        p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, LICET_KIND_SYNTAX, lic_position_of(p->text, p->token.offset),
                             "the expression ends where %s was expected", wanted);
    else
        p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, LICET_KIND_SYNTAX, lic_position_of(p->text, p->token.offset),
                             "found %Q where %s was expected", &text, wanted);
    return false;
}

/* ------------------------------------------------------------------- stacks */

static void advance(lic_cel_parser *p)
{
    p->token = lic_cel_lex(p->text, p->token.offset + p->token.size);
}

static lic_cel_token_kind ahead(const lic_cel_parser *p)
{
    return lic_cel_lex(p->text, p->token.offset + p->token.size).kind;
}

static bool accept(lic_cel_parser *p, lic_cel_token_kind kind)
{
    if (p->token.kind != kind)
        return false;
    advance(p);
    return true;
}

static lic_cel_frame *top_frame(lic_cel_parser *p)
{
    return p->frame_count == 0 ? NULL : &p->frames[p->frame_count - 1];
}

/* base: where its operands begin, counted back from the finished ones. */
static lic_cel_frame *push_frame(lic_cel_parser *p, lic_cel_frame_kind kind, uint32_t offset, size_t operands)
{
    lic_cel_frame *frame;

    if (!lic_arena_grow(p->arena, (void **)&p->frames, &p->frame_capacity, p->frame_count + 1, sizeof *frame)) {
        lic_cel_parser_memory_failed(p);
        return NULL;
    }
    frame  = &p->frames[p->frame_count++];
    *frame = (lic_cel_frame){ .kind = kind, .offset = offset, .base = (uint32_t)(p->node_count - operands) };
    return frame;
}

static void pop_frame(lic_cel_parser *p)
{
    lic_cel_frame *frame = &p->frames[--p->frame_count];

    p->expressions -= frame->expressions;
    p->relations -= frame->relations;
    p->sums -= frame->sums;
}

/* cel-go gives up when one rule of its grammar is open more than 250 times. The frame on top opens rules. */
static bool open_rules(lic_cel_parser *p, uint8_t expressions, uint8_t relations, uint8_t sums)
{
    lic_cel_frame *frame = top_frame(p);

    frame->expressions = (uint8_t)(frame->expressions + expressions);
    frame->relations   = (uint8_t)(frame->relations + relations);
    frame->sums        = (uint8_t)(frame->sums + sums);
    p->expressions += expressions;
    p->relations += relations;
    p->sums += sums;
    if (p->expressions <= LIC_CEL_MAX_NESTING && p->relations <= LIC_CEL_MAX_NESTING && p->sums <= LIC_CEL_MAX_NESTING)
        return true;
    return lic_cel_parser_limit(p, p->token.offset, "the expression is nested deeper than 250 levels");
}

/* Inside of brackets an expression begins. */
static bool open_expression(lic_cel_parser *p)
{
    return top_frame(p)->expressions > 0 || open_rules(p, 1, 1, 1);
}

bool lic_cel_parser_push(lic_cel_parser *p, lic_cel_node *node)
{
    if (!lic_arena_grow(p->arena, (void **)&p->nodes, &p->node_capacity, p->node_count + 1, sizeof(lic_cel_node *)))
        return lic_cel_parser_memory_failed(p);
    p->nodes[p->node_count++] = node;
    return true;
}

static lic_cel_node *top_node(const lic_cel_parser *p)
{
    return p->nodes[p->node_count - 1];
}

static lic_cel_node *make_node(lic_cel_parser *p, lic_cel_node_kind kind, uint32_t offset)
{
    lic_cel_node *node;

    if (p->made == LIC_CEL_MAX_NODES) {
        lic_cel_parser_limit(p, offset, "the expression has more than 100,000 parts");
        return NULL;
    }
    node = lic_new(p->arena, lic_cel_node);
    if (node == NULL) {
        lic_cel_parser_memory_failed(p);
        return NULL;
    }
    p->made++;
    node->kind     = kind;
    node->offset   = offset;
    node->function = LIC_CEL_FUNCTION_COUNT;
    return node;
}

/* cel-go refuses to run a tree of 250 edges or more. */
bool lic_cel_parser_deepen(lic_cel_parser *p, lic_cel_node *node, const lic_cel_node *child, uint32_t edges)
{
    uint32_t depth = (child == NULL ? 0 : child->depth) + edges;

    if (depth >= LIC_CEL_MAX_NESTING)
        return lic_cel_parser_limit(p, node->offset, "the expression is nested deeper than 250 levels");
    if (depth > node->depth)
        node->depth = (uint16_t)depth;
    return true;
}

lic_cel_node *lic_cel_parser_reduce(lic_cel_parser *p, lic_cel_node_kind kind, uint32_t offset, size_t base)
{
    lic_cel_node *node  = make_node(p, kind, offset);
    size_t        count = p->node_count - base;

    if (node == NULL)
        return NULL;
    node->children = lic_new_array(p->arena, count, lic_cel_node *);
    if (node->children == NULL) {
        lic_cel_parser_memory_failed(p);
        return NULL;
    }
    node->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        node->children[i] = p->nodes[base + i];
        if (!lic_cel_parser_deepen(p, node, node->children[i], 1))
            return NULL;
    }
    p->node_count = base;
    return node;
}

/* ------------------------------------------------------ finishing operators */

/* -(5) is -5, which prints like the literal that it is then. */
static bool is_negated_literal(const lic_cel_parser *p, lic_cel_frame frame)
{
    const lic_cel_value *literal = &top_node(p)->literal;

    if (frame.function != LIC_CEL_FN_NEGATE || top_node(p)->kind != LIC_CEL_NODE_LITERAL)
        return false;
    return (literal->kind == LIC_CEL_INT && literal->integer > 0) ||
           (literal->kind == LIC_CEL_DOUBLE && !signbit(literal->number));
}

static bool finish_operator(lic_cel_parser *p, lic_cel_frame frame)
{
    lic_cel_node *node;

    if (is_negated_literal(p, frame)) {
        node         = top_node(p);
        node->offset = frame.offset;
        if (node->literal.kind == LIC_CEL_INT)
            node->literal.integer = -node->literal.integer;
        else
            node->literal.number = -node->literal.number;
        return true;
    }
    node = lic_cel_parser_reduce(p, LIC_CEL_NODE_CALL, frame.offset, frame.base);
    if (node == NULL)
        return false;
    node->function = frame.function;
    return lic_cel_parser_push(p, node);
}

/* cel-go balances a chain, so its depth grows with the logarithm of its length. */
static bool deepen_logic(lic_cel_parser *p, lic_cel_node *node)
{
    uint32_t levels = 1;

    while (((uint64_t)1 << levels) < node->count)
        levels++;
    for (uint32_t i = 0; i < node->count; i++) {
        if (!lic_cel_parser_deepen(p, node, node->children[i], levels))
            return false;
    }
    return true;
}

/* a && (b && c) is a && b && c. */
static bool finish_logic(lic_cel_parser *p, lic_cel_frame frame)
{
    size_t         count = 0, at = 0;
    lic_cel_node **terms;
    lic_cel_node  *node;

    for (size_t i = frame.base; i < p->node_count; i++)
        count += p->nodes[i]->kind == frame.logic ? p->nodes[i]->count : 1;
    node  = make_node(p, frame.logic, frame.offset);
    terms = lic_new_array(p->arena, count, lic_cel_node *);
    if (node == NULL)
        return false;
    if (terms == NULL)
        return lic_cel_parser_memory_failed(p);
    for (size_t i = frame.base; i < p->node_count; i++) {
        lic_cel_node *term = p->nodes[i];

        if (term->kind == frame.logic) {
            memcpy(terms + at, term->children, term->count * sizeof *terms);
            at += term->count;
        } else {
            terms[at++] = term;
        }
    }
    node->children = terms;
    node->count    = (uint32_t)count;
    p->node_count  = frame.base;
    return deepen_logic(p, node) && lic_cel_parser_push(p, node);
}

static bool finish_conditional(lic_cel_parser *p, lic_cel_frame frame)
{
    lic_cel_node *node = lic_cel_parser_reduce(p, LIC_CEL_NODE_CONDITIONAL, frame.offset, frame.base);

    return node != NULL && lic_cel_parser_push(p, node);
}

/* Finishes the operators on top that bind at least as tightly. */
static bool reduce(lic_cel_parser *p, uint8_t precedence)
{
    lic_cel_frame *top;

    while ((top = top_frame(p)) != NULL && top->precedence >= precedence) {
        lic_cel_frame frame = *top;

        pop_frame(p);
        if (!(frame.kind == LIC_CEL_FRAME_LOGIC ? finish_logic(p, frame) : finish_operator(p, frame)))
            return false;
    }
    return true;
}

/* Everything down to the bracket around it: what was read is a complete expression. */
static bool reduce_expression(lic_cel_parser *p)
{
    while (reduce(p, PRECEDENCE_OR)) {
        lic_cel_frame *top = top_frame(p);

        if (top != NULL && top->kind == LIC_CEL_FRAME_THEN)
            return unexpected(p, "\":\"");
        if (top == NULL || top->kind != LIC_CEL_FRAME_OTHERWISE)
            return true;
        pop_frame(p);
        if (!finish_conditional(p, p->frames[p->frame_count]))
            return false;
    }
    return false;
}

/* ----------------------------------------------------------------- operands */

static lic_cel_node *literal_node(lic_cel_parser *p, uint32_t offset, lic_cel_value value)
{
    lic_cel_node *node = make_node(p, LIC_CEL_NODE_LITERAL, offset);

    if (node != NULL)
        node->literal = value;
    return node;
}

static bool number_failed(lic_cel_parser *p, uint32_t offset, const char *what)
{
    lic_str text = token_text(p, p->token);

    p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, LICET_KIND_SYNTAX, lic_position_of(p->text, offset),
                         "%Q does not fit into %s", &text, what);
    return false;
}

/* At a number; its minus sign, if it has one, stood at offset. */
static bool parse_number(lic_cel_parser *p, uint32_t offset, bool negative)
{
    lic_str       text  = token_text(p, p->token);
    lic_cel_value value = { .kind = LIC_CEL_INT };
    lic_cel_node *node;

    if (p->token.kind == LIC_CEL_TOKEN_INT) {
        if (!lic_cel_read_int(text, negative, &value.integer))
            return number_failed(p, offset, "an int (64 bits)");
    } else if (p->token.kind == LIC_CEL_TOKEN_UINT) {
        value.kind = LIC_CEL_UINT;
        if (!lic_cel_read_uint(text, &value.uinteger))
            return number_failed(p, offset, "a uint (64 bits)");
    } else {
        value.kind = LIC_CEL_DOUBLE;
        if (!lic_cel_double_parse(text, &value.number))
            return number_failed(p, offset, "a double");
        if (negative)
            value.number = -value.number;
    }
    advance(p);
    node = literal_node(p, offset, value);
    return node != NULL && lic_cel_parser_push(p, node);
}

static bool parse_string(lic_cel_parser *p, lic_cel_kind kind)
{
    lic_cel_value value = { .kind = kind };
    const char   *why;
    lic_cel_node *node;

    if (!lic_cel_read_string(p->arena, token_text(p, p->token), &value.text, &why)) {
        if (why == NULL)
            return lic_cel_parser_memory_failed(p);
        return lic_cel_parser_fail(p, LICET_KIND_SYNTAX, p->token.offset, why);
    }
    node = literal_node(p, p->token.offset, value);
    advance(p);
    return node != NULL && lic_cel_parser_push(p, node);
}

static bool parse_constant(lic_cel_parser *p, lic_cel_value value)
{
    lic_cel_node *node = literal_node(p, p->token.offset, value);

    advance(p);
    return node != NULL && lic_cel_parser_push(p, node);
}

/* Words that CEL keeps for languages around it: no variable and no function, but a field may be called so. */
static bool is_reserved(lic_str name)
{
    static const lic_str reserved[] = {
        LICET_STR_INIT("as"),        LICET_STR_INIT("break"),  LICET_STR_INIT("const"),    LICET_STR_INIT("continue"),
        LICET_STR_INIT("else"),      LICET_STR_INIT("for"),    LICET_STR_INIT("function"), LICET_STR_INIT("if"),
        LICET_STR_INIT("import"),    LICET_STR_INIT("let"),    LICET_STR_INIT("loop"),     LICET_STR_INIT("package"),
        LICET_STR_INIT("namespace"), LICET_STR_INIT("return"), LICET_STR_INIT("var"),      LICET_STR_INIT("void"),
        LICET_STR_INIT("while"),
    };

    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (lic_str_equal(name, reserved[i]))
            return true;
    }
    return false;
}

static bool finish_call(lic_cel_parser *p)
{
    lic_cel_frame frame = *top_frame(p);
    lic_cel_node *node;

    pop_frame(p);
    node = lic_cel_parser_reduce(p, LIC_CEL_NODE_CALL, frame.offset, frame.base);
    if (node == NULL)
        return false;
    node->name        = frame.name;
    node->member      = frame.member;
    node->leading_dot = frame.leading_dot;
    return lic_cel_expand_macro(p, node) && lic_cel_parser_push(p, node);
}

/* At "(" behind a name. *wanted: an argument follows, and an operand is wanted. */
static bool begin_call(lic_cel_parser *p, lic_str name, bool member, bool leading_dot, bool *wanted)
{
    lic_cel_frame *frame = push_frame(p, LIC_CEL_FRAME_CALL, p->token.offset, member ? 1 : 0);

    if (frame == NULL)
        return false;
    frame->name        = name;
    frame->member      = member;
    frame->leading_dot = leading_dot;
    advance(p);
    *wanted = p->token.kind != LIC_CEL_TOKEN_RIGHT_PAREN;
    if (*wanted)
        return open_expression(p);
    advance(p);
    return finish_call(p);
}

/* [.] name, perhaps "(" */
static bool parse_name(lic_cel_parser *p, bool *wanted)
{
    bool          leading_dot = accept(p, LIC_CEL_TOKEN_DOT);
    uint32_t      offset      = p->token.offset;
    lic_str       name        = token_text(p, p->token);
    lic_cel_node *node;

    *wanted = false;
    if (p->token.kind != LIC_CEL_TOKEN_IDENT)
        return unexpected(p, "a name");
    if (is_reserved(name)) {
        p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, LICET_KIND_SYNTAX, lic_position_of(p->text, offset),
                             "%Q is a reserved word", &name);
        return false;
    }
    advance(p);
    if (p->token.kind == LIC_CEL_TOKEN_LEFT_PAREN)
        return begin_call(p, name, false, leading_dot, wanted);
    node = make_node(p, LIC_CEL_NODE_IDENT, offset);
    if (node == NULL)
        return false;
    node->name        = name;
    node->leading_dot = leading_dot;
    return lic_cel_parser_push(p, node);
}

/* "?" before an item of a list or a key of a map, kept until the item is complete. */
static void mark_next(lic_cel_parser *p)
{
    top_frame(p)->optional = accept(p, LIC_CEL_TOKEN_QUESTION);
}

static bool finish_literal(lic_cel_parser *p, lic_cel_node_kind kind)
{
    lic_cel_frame frame = *top_frame(p);
    lic_cel_node *node;

    pop_frame(p);
    node = lic_cel_parser_reduce(p, kind, frame.offset, frame.base);
    return node != NULL && lic_cel_parser_push(p, node);
}

/* "[" or "{" at hand. A comma alone may stand in an empty literal too. */
static bool begin_literal(lic_cel_parser *p, lic_cel_frame_kind frame, lic_cel_token_kind end, lic_cel_node_kind kind,
                          bool *wanted)
{
    if (push_frame(p, frame, p->token.offset, 0) == NULL)
        return false;
    advance(p);
    if (p->token.kind == LIC_CEL_TOKEN_COMMA && ahead(p) == end)
        advance(p);
    *wanted = p->token.kind != end;
    if (*wanted) {
        mark_next(p);
        return open_expression(p);
    }
    advance(p);
    return finish_literal(p, kind);
}

/* What an operand begins with once signs are gone. */
static bool parse_primary(lic_cel_parser *p, bool *wanted)
{
    *wanted = false;
    switch (p->token.kind) {
    case LIC_CEL_TOKEN_LEFT_PAREN:
        *wanted = true;
        if (push_frame(p, LIC_CEL_FRAME_GROUP, p->token.offset, 0) == NULL)
            return false;
        advance(p);
        return open_expression(p);
    case LIC_CEL_TOKEN_LEFT_BRACKET:
        return begin_literal(p, LIC_CEL_FRAME_LIST, LIC_CEL_TOKEN_RIGHT_BRACKET, LIC_CEL_NODE_LIST, wanted);
    case LIC_CEL_TOKEN_LEFT_BRACE:
        return begin_literal(p, LIC_CEL_FRAME_MAP_KEY, LIC_CEL_TOKEN_RIGHT_BRACE, LIC_CEL_NODE_MAP, wanted);
    case LIC_CEL_TOKEN_INT:
    case LIC_CEL_TOKEN_UINT:
    case LIC_CEL_TOKEN_FLOAT:
        return parse_number(p, p->token.offset, false);
    case LIC_CEL_TOKEN_STRING:
        return parse_string(p, LIC_CEL_STRING);
    case LIC_CEL_TOKEN_BYTES:
        return parse_string(p, LIC_CEL_BYTES);
    case LIC_CEL_TOKEN_TRUE:
    case LIC_CEL_TOKEN_FALSE:
        return parse_constant(p,
                              (lic_cel_value){ .kind = LIC_CEL_BOOL, .boolean = p->token.kind == LIC_CEL_TOKEN_TRUE });
    case LIC_CEL_TOKEN_NULL:
        return parse_constant(p, (lic_cel_value){ .kind = LIC_CEL_NULL });
    case LIC_CEL_TOKEN_IDENT:
    case LIC_CEL_TOKEN_DOT:
        return parse_name(p, wanted);
    default:
        return unexpected(p, "an expression");
    }
}

/* At "!" or "-". */
static bool parse_signs(lic_cel_parser *p)
{
    lic_cel_token_kind sign   = p->token.kind;
    uint32_t           offset = p->token.offset;
    size_t             count  = 0;
    lic_cel_frame     *frame;

    for (; p->token.kind == sign; count++)
        advance(p);
    if (count % 2 == 0)
        return true;
    frame = push_frame(p, LIC_CEL_FRAME_UNARY, offset, 0);
    if (frame == NULL)
        return false;
    frame->precedence = PRECEDENCE_UNARY;
    frame->function   = sign == LIC_CEL_TOKEN_NOT ? LIC_CEL_FN_NOT : LIC_CEL_FN_NEGATE;
    return true;
}

static bool at_negative_number(const lic_cel_parser *p)
{
    lic_cel_token_kind next;

    if (p->token.kind != LIC_CEL_TOKEN_MINUS)
        return false;
    next = ahead(p);
    return next == LIC_CEL_TOKEN_INT || next == LIC_CEL_TOKEN_FLOAT;
}

/* operand := { "!" } member | { "-" } member, and a number may have a minus of its own. */
static bool parse_operand(lic_cel_parser *p, bool *wanted)
{
    *wanted = false;
    if ((p->token.kind == LIC_CEL_TOKEN_NOT || p->token.kind == LIC_CEL_TOKEN_MINUS) && !at_negative_number(p) &&
        !parse_signs(p))
        return false;
    if (at_negative_number(p)) {
        uint32_t offset = p->token.offset;

        advance(p);
        return parse_number(p, offset, true);
    }
    return parse_primary(p, wanted);
}

/* ----------------------------------------------------- what follows an operand */

/* At "." behind an operand. */
static bool parse_select(lic_cel_parser *p, bool *wanted)
{
    uint32_t      offset = p->token.offset;
    bool          optional;
    lic_str       name;
    lic_cel_node *node;

    advance(p);
    optional = accept(p, LIC_CEL_TOKEN_QUESTION);
    name     = token_text(p, p->token);
    if (p->token.kind != LIC_CEL_TOKEN_IDENT)
        return unexpected(p, "the name of a field");
    advance(p);
    if (!optional && p->token.kind == LIC_CEL_TOKEN_LEFT_PAREN)
        return begin_call(p, name, true, false, wanted);
    node = lic_cel_parser_reduce(p, LIC_CEL_NODE_SELECT, offset, p->node_count - 1);
    if (node == NULL)
        return false;
    node->name     = name;
    node->optional = optional;
    return lic_cel_parser_push(p, node);
}

/* At "[" behind an operand. */
static bool begin_index(lic_cel_parser *p)
{
    lic_cel_frame *frame = push_frame(p, LIC_CEL_FRAME_INDEX, p->token.offset, 1);

    if (frame == NULL)
        return false;
    advance(p);
    mark_next(p);
    return open_expression(p);
}

/* At "{" behind an operand: a message, if that is a name with dots. */
static bool refuse_message(lic_cel_parser *p)
{
    const lic_cel_node *node = top_node(p);
    lic_str             name;

    while (node->kind == LIC_CEL_NODE_SELECT && !node->optional)
        node = node->children[0];
    if (node->kind != LIC_CEL_NODE_IDENT)
        return unexpected(p, "an operator");
    name = lic_str_trim(lic_str_slice(p->text, node->offset, p->token.offset));
    if (lic_str_starts_with(name, LIC_STR("google.protobuf.")))
        p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, lic_position_of(p->text, p->token.offset),
                             "licet does not support messages of protobuf: %Q", &name);
    else
        p->status = lic_fail(p->error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, lic_position_of(p->text, p->token.offset),
                             "there is no message type %Q", &name);
    return false;
}

typedef struct binary_operator {
    lic_cel_function function;
    uint8_t          precedence; /* 0: the token is none */
} binary_operator;

static binary_operator find_binary(lic_cel_token_kind kind)
{
    static const binary_operator operators[] = {
        [LIC_CEL_TOKEN_PERCENT]       = { LIC_CEL_FN_MODULO, PRECEDENCE_PRODUCT },
        [LIC_CEL_TOKEN_STAR]          = { LIC_CEL_FN_MULTIPLY, PRECEDENCE_PRODUCT },
        [LIC_CEL_TOKEN_SLASH]         = { LIC_CEL_FN_DIVIDE, PRECEDENCE_PRODUCT },
        [LIC_CEL_TOKEN_PLUS]          = { LIC_CEL_FN_ADD, PRECEDENCE_SUM },
        [LIC_CEL_TOKEN_MINUS]         = { LIC_CEL_FN_SUBTRACT, PRECEDENCE_SUM },
        [LIC_CEL_TOKEN_EQUAL]         = { LIC_CEL_FN_EQUAL, PRECEDENCE_RELATION },
        [LIC_CEL_TOKEN_NOT_EQUAL]     = { LIC_CEL_FN_NOT_EQUAL, PRECEDENCE_RELATION },
        [LIC_CEL_TOKEN_LESS]          = { LIC_CEL_FN_LESS, PRECEDENCE_RELATION },
        [LIC_CEL_TOKEN_LESS_EQUAL]    = { LIC_CEL_FN_LESS_EQUAL, PRECEDENCE_RELATION },
        [LIC_CEL_TOKEN_GREATER]       = { LIC_CEL_FN_GREATER, PRECEDENCE_RELATION },
        [LIC_CEL_TOKEN_GREATER_EQUAL] = { LIC_CEL_FN_GREATER_EQUAL, PRECEDENCE_RELATION },
        [LIC_CEL_TOKEN_IN]            = { LIC_CEL_FN_IN, PRECEDENCE_RELATION },
    };

    return operators[kind];
}

static bool begin_binary(lic_cel_parser *p, binary_operator op)
{
    lic_cel_frame *frame;

    if (!reduce(p, op.precedence) || (frame = push_frame(p, LIC_CEL_FRAME_BINARY, p->token.offset, 1)) == NULL)
        return false;
    frame->precedence = op.precedence;
    frame->function   = op.function;
    advance(p);
    return op.precedence == PRECEDENCE_RELATION ? open_rules(p, 0, 1, 0) : open_rules(p, 0, 0, 1);
}

/* At "&&" or "||". */
static bool begin_logic(lic_cel_parser *p)
{
    lic_cel_node_kind logic      = p->token.kind == LIC_CEL_TOKEN_AND ? LIC_CEL_NODE_AND : LIC_CEL_NODE_OR;
    uint8_t           precedence = logic == LIC_CEL_NODE_AND ? PRECEDENCE_AND : PRECEDENCE_OR;
    lic_cel_frame    *frame;

    if (!reduce(p, (uint8_t)(precedence + 1)))
        return false;
    frame = top_frame(p);
    if (frame == NULL || frame->kind != LIC_CEL_FRAME_LOGIC || frame->logic != logic) {
        frame = push_frame(p, LIC_CEL_FRAME_LOGIC, p->token.offset, 1);
        if (frame == NULL)
            return false;
        frame->precedence = precedence;
        frame->logic      = logic;
    }
    advance(p);
    return true;
}

/* At "?": what stands before it is the condition, unless that is a branch before ":" already, where a conditional needs
 * parentheses. */
static bool begin_conditional(lic_cel_parser *p)
{
    lic_cel_frame *top;

    if (!reduce(p, PRECEDENCE_OR))
        return false;
    top = top_frame(p);
    if (top != NULL && top->kind == LIC_CEL_FRAME_THEN)
        return unexpected(p, "\":\"");
    if (push_frame(p, LIC_CEL_FRAME_THEN, p->token.offset, 1) == NULL)
        return false;
    advance(p);
    return true;
}

static void mark(lic_cel_parser *p)
{
    top_node(p)->marked = top_frame(p)->optional;
}

/* At ":": the other branch, or the value of a map's entry. */
static bool pass_colon(lic_cel_parser *p)
{
    lic_cel_frame *top;

    if (!reduce(p, PRECEDENCE_OR))
        return false;
    top = top_frame(p);
    if (top != NULL && top->kind == LIC_CEL_FRAME_THEN) {
        top->kind = LIC_CEL_FRAME_OTHERWISE;
        advance(p);
        return open_rules(p, 1, 0, 0);
    }
    if (!reduce_expression(p))
        return false;
    top = top_frame(p);
    if (top == NULL || top->kind != LIC_CEL_FRAME_MAP_KEY)
        return unexpected(p, "an operator");
    mark(p);
    top->kind = LIC_CEL_FRAME_MAP_VALUE;
    advance(p);
    return true;
}

/* At ",", the expression before it complete. *wanted: something follows, and not the end of the literal. */
static bool pass_comma(lic_cel_parser *p, bool *wanted)
{
    lic_cel_frame     *top = top_frame(p);
    lic_cel_token_kind end;

    *wanted = true;
    if (top == NULL || top->kind == LIC_CEL_FRAME_GROUP || top->kind == LIC_CEL_FRAME_INDEX ||
        top->kind == LIC_CEL_FRAME_MAP_KEY)
        return unexpected(p, "an operator");
    advance(p);
    if (top->kind == LIC_CEL_FRAME_CALL)
        return true;
    end = top->kind == LIC_CEL_FRAME_LIST ? LIC_CEL_TOKEN_RIGHT_BRACKET : LIC_CEL_TOKEN_RIGHT_BRACE;
    if (top->kind == LIC_CEL_FRAME_LIST)
        mark(p);
    else
        top->kind = LIC_CEL_FRAME_MAP_KEY;
    if (p->token.kind != end) {
        mark_next(p);
        return true;
    }
    *wanted = false;
    advance(p);
    return finish_literal(p, end == LIC_CEL_TOKEN_RIGHT_BRACKET ? LIC_CEL_NODE_LIST : LIC_CEL_NODE_MAP);
}

/* What may follow a complete expression, besides operators. */
static const char *wanted_after(const lic_cel_frame *frame)
{
    if (frame == NULL)
        return "the end of the expression";
    switch (frame->kind) {
    case LIC_CEL_FRAME_INDEX:
    case LIC_CEL_FRAME_LIST:
        return "\"]\"";
    case LIC_CEL_FRAME_MAP_KEY:
        return "\":\"";
    case LIC_CEL_FRAME_MAP_VALUE:
        return "\"}\"";
    default:
        return "\")\"";
    }
}

static bool finish_index(lic_cel_parser *p)
{
    lic_cel_frame frame = *top_frame(p);

    pop_frame(p);
    frame.function = frame.optional ? LIC_CEL_FN_OPTIONAL_INDEX : LIC_CEL_FN_INDEX;
    return finish_operator(p, frame);
}

/* At ")", "]" or "}", the expression before it complete. */
static bool close_bracket(lic_cel_parser *p)
{
    lic_cel_frame     *top  = top_frame(p);
    lic_cel_token_kind kind = p->token.kind;

    if (top != NULL && kind == LIC_CEL_TOKEN_RIGHT_PAREN && top->kind == LIC_CEL_FRAME_GROUP) {
        advance(p);
        pop_frame(p);
        return true;
    }
    if (top != NULL && kind == LIC_CEL_TOKEN_RIGHT_PAREN && top->kind == LIC_CEL_FRAME_CALL) {
        advance(p);
        return finish_call(p);
    }
    if (top != NULL && kind == LIC_CEL_TOKEN_RIGHT_BRACKET && top->kind == LIC_CEL_FRAME_INDEX) {
        advance(p);
        return finish_index(p);
    }
    if (top != NULL && kind == LIC_CEL_TOKEN_RIGHT_BRACKET && top->kind == LIC_CEL_FRAME_LIST) {
        mark(p);
        advance(p);
        return finish_literal(p, LIC_CEL_NODE_LIST);
    }
    if (top != NULL && kind == LIC_CEL_TOKEN_RIGHT_BRACE && top->kind == LIC_CEL_FRAME_MAP_VALUE) {
        advance(p);
        return finish_literal(p, LIC_CEL_NODE_MAP);
    }
    return unexpected(p, wanted_after(top));
}

/* *wanted: an operand comes next. */
static bool parse_rest(lic_cel_parser *p, bool *wanted)
{
    binary_operator op = find_binary(LIC_CEL_TOKEN_END);

    *wanted = false;
    switch (p->token.kind) {
    case LIC_CEL_TOKEN_DOT:
        return parse_select(p, wanted);
    case LIC_CEL_TOKEN_LEFT_BRACKET:
        *wanted = true;
        return begin_index(p);
    case LIC_CEL_TOKEN_LEFT_BRACE:
        return refuse_message(p);
    case LIC_CEL_TOKEN_AND:
    case LIC_CEL_TOKEN_OR:
        *wanted = true;
        return begin_logic(p);
    case LIC_CEL_TOKEN_QUESTION:
        *wanted = true;
        return begin_conditional(p);
    case LIC_CEL_TOKEN_COLON:
        *wanted = true;
        return pass_colon(p);
    case LIC_CEL_TOKEN_COMMA:
        return reduce_expression(p) && pass_comma(p, wanted);
    case LIC_CEL_TOKEN_RIGHT_PAREN:
    case LIC_CEL_TOKEN_RIGHT_BRACKET:
    case LIC_CEL_TOKEN_RIGHT_BRACE:
        return reduce_expression(p) && close_bracket(p);
    default:
        if (p->token.kind <= LIC_CEL_TOKEN_PERCENT)
            op = find_binary(p->token.kind);
        if (op.precedence == 0)
            return unexpected(p, "an operator");
        *wanted = true;
        return begin_binary(p, op);
    }
}

/* ---------------------------------------------------------------- the whole */

static bool parse_all(lic_cel_parser *p)
{
    bool wanted = true; /* an operand */

    p->token       = lic_cel_lex(p->text, 0);
    p->expressions = p->relations = p->sums = 1;
    while (wanted || p->token.kind != LIC_CEL_TOKEN_END) {
        if (!(wanted ? parse_operand(p, &wanted) : parse_rest(p, &wanted)))
            return false;
    }
    if (!reduce_expression(p))
        return false;
    return p->frame_count == 0 || unexpected(p, wanted_after(top_frame(p)));
}

licet_status lic_cel_parse(lic_arena *arena, lic_str text, lic_cel_node **root, licet_error **error)
{
    lic_cel_parser p = { .arena = arena, .text = text, .status = LICET_OK, .error = error };

    *root = NULL;
    if (lic_str_trim(text).size > LIC_CEL_MAX_BYTES || text.size > UINT32_MAX / 2)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "the expression has %zu bytes; at most %d are allowed", text.size, LIC_CEL_MAX_BYTES);
    if (lic_utf8_check(text) != text.size)
        return lic_fail(error, LICET_SCHEMA_ERROR, LICET_KIND_ENCODING, LIC_NOWHERE,
                        "the expression is not valid UTF-8");
    if (parse_all(&p))
        *root = top_node(&p);
    return p.status;
}
