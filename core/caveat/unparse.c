/* A stack of what is still to print: nodes, and the texts between them. */
#include "caveat/unparse.h"

#include "base/utf8.h"
#include "caveat/number.h"
#include "caveat/overloads.h"
#include "caveat/printable_table.h"

#define LINE_WIDTH 80 /* bytes; && and || end a line that reaches it */

typedef enum item_kind { ITEM_NODE, ITEM_TEXT, ITEM_LOGIC } item_kind;

typedef struct item {
    item_kind           kind;
    bool                nested; /* NODE: in parentheses */
    bool                in_macro;
    const lic_cel_node *node;
    lic_str             text;
} item;

typedef struct printer {
    lic_arena *scratch;
    lic_text  *out;
    size_t     start;      /* of this expression in out */
    size_t     line_start; /* where the last line was broken */
    item      *items;
    size_t     count, capacity;
    bool       failed;
} printer;

/* ------------------------------------------------------------------ literals */

static bool is_printable(uint32_t c)
{
    size_t from = 0, to = sizeof printable_runs / sizeof printable_runs[0];

    if (c < 0x80)
        return c >= 0x20 && c < 0x7f;
    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (printable_runs[middle][1] < c)
            from = middle + 1;
        else
            to = middle;
    }
    return from < sizeof printable_runs / sizeof printable_runs[0] && printable_runs[from][0] <= c;
}

/* prefix, then `digits` digits in a base that is a power of two. */
static void add_escape(lic_text *out, const char *prefix, uint32_t value, uint32_t bits, size_t digits)
{
    lic_text_add(out, (lic_str){ prefix, 2 - (prefix[1] == '\0') });
    for (size_t i = digits; i > 0; i--)
        lic_text_add_char(out, "0123456789abcdef"[(value >> ((i - 1) * bits)) & ((1U << bits) - 1)]);
}

/* As Go's strconv.Quote. */
static void print_string(lic_text *out, lic_str s)
{
    static const char letters[] = "abtnvfr"; /* of \a = 7 and those that follow it */
    size_t            size;

    lic_text_add_char(out, '"');
    for (size_t i = 0; i < s.size; i += size) {
        uint32_t c = lic_utf8_decode(s, i, &size);

        if (c == '"' || c == '\\') {
            lic_text_add_char(out, '\\');
            lic_text_add_char(out, (char)c);
        } else if (is_printable(c)) {
            lic_text_add(out, lic_str_slice(s, i, i + size));
        } else if (c >= 7 && c <= 13) {
            lic_text_add_char(out, '\\');
            lic_text_add_char(out, letters[c - 7]);
        } else if (c < 0x80) {
            add_escape(out, "\\x", c, 4, 2);
        } else if (c < 0x10000) {
            add_escape(out, "\\u", c, 4, 4);
        } else {
            add_escape(out, "\\U", c, 4, 8);
        }
    }
    lic_text_add_char(out, '"');
}

static void print_bytes(lic_text *out, lic_str s)
{
    lic_text_add_literal(out, "b\"");
    for (size_t i = 0; i < s.size; i++)
        add_escape(out, "\\", (unsigned char)s.data[i], 3, 3);
    lic_text_add_char(out, '"');
}

static void print_double(lic_text *out, double value)
{
    char   text[LIC_CEL_DOUBLE_SIZE];
    size_t size = lic_cel_double_print(value, text);

    lic_text_add(out, (lic_str){ text, size });
    if (memchr(text, '.', size) == NULL && memchr(text, 'e', size) == NULL)
        lic_text_add_literal(out, ".0");
}

static void print_literal(lic_text *out, lic_cel_value value)
{
    switch (value.kind) {
    case LIC_CEL_BOOL:
        lic_text_add(out, value.boolean ? LIC_STR("true") : LIC_STR("false"));
        break;
    case LIC_CEL_INT:
        if (value.integer < 0)
            lic_text_add_char(out, '-');
        lic_text_add_u64(out, value.integer < 0 ? 0 - (uint64_t)value.integer : (uint64_t)value.integer);
        break;
    case LIC_CEL_UINT:
        lic_text_add_u64(out, value.uinteger);
        lic_text_add_char(out, 'u');
        break;
    case LIC_CEL_DOUBLE:
        print_double(out, value.number);
        break;
    case LIC_CEL_STRING:
        print_string(out, value.text);
        break;
    case LIC_CEL_BYTES:
        print_bytes(out, value.text);
        break;
    default:
        lic_text_add_literal(out, "null");
    }
}

/* ---------------------------------------------------------------- precedence */

enum { LOOSEST = 8 }; /* cel-go counts from the tightest, 1 */

typedef struct symbol {
    const char *text;
    uint8_t     precedence; /* 0: no operator between two operands */
} symbol;

static symbol symbol_of(const lic_cel_node *node)
{
    static const symbol symbols[LIC_CEL_FUNCTION_COUNT] = {
        [LIC_CEL_FN_MULTIPLY] = { " * ", 3 },       [LIC_CEL_FN_DIVIDE] = { " / ", 3 },
        [LIC_CEL_FN_MODULO] = { " % ", 3 },         [LIC_CEL_FN_ADD] = { " + ", 4 },
        [LIC_CEL_FN_SUBTRACT] = { " - ", 4 },       [LIC_CEL_FN_EQUAL] = { " == ", 5 },
        [LIC_CEL_FN_NOT_EQUAL] = { " != ", 5 },     [LIC_CEL_FN_LESS] = { " < ", 5 },
        [LIC_CEL_FN_LESS_EQUAL] = { " <= ", 5 },    [LIC_CEL_FN_GREATER] = { " > ", 5 },
        [LIC_CEL_FN_GREATER_EQUAL] = { " >= ", 5 }, [LIC_CEL_FN_IN] = { " in ", 5 },
    };

    switch (node->kind) {
    case LIC_CEL_NODE_AND:
        return (symbol){ "&&", 6 };
    case LIC_CEL_NODE_OR:
        return (symbol){ "||", 7 };
    case LIC_CEL_NODE_CONDITIONAL:
        return (symbol){ " ? ", LOOSEST };
    case LIC_CEL_NODE_CALL:
        return node->function == LIC_CEL_FUNCTION_COUNT ? (symbol){ NULL, 0 } : symbols[node->function];
    default:
        return (symbol){ NULL, 0 };
    }
}

static bool is_unary(const lic_cel_node *node)
{
    return node->kind == LIC_CEL_NODE_CALL && (node->function == LIC_CEL_FN_NOT || node->function == LIC_CEL_FN_NEGATE);
}

/* optMap() of a name is a conditional to cel-go, except in what it keeps of the arguments of other macros. */
static bool is_hidden_conditional(const lic_cel_node *node, bool in_macro)
{
    return !in_macro && node->kind == LIC_CEL_NODE_OPTIONAL_MAP && node->children[0]->kind == LIC_CEL_NODE_IDENT;
}

/* Two arguments or more, its target not counted: cel-go puts parentheses around such, in conditionals and behind signs,
 * needed or not. */
static bool is_complex(const lic_cel_node *node, bool in_macro)
{
    if (node->kind == LIC_CEL_NODE_CALL)
        return node->count - node->member >= 2;
    return symbol_of(node).precedence > 0 || is_hidden_conditional(node, in_macro) ||
           (node->kind == LIC_CEL_NODE_SELECT && node->optional);
}

/* Something follows behind a dot or in brackets. */
static bool needs_parentheses(const lic_cel_node *target, bool in_macro)
{
    return symbol_of(target).precedence > 0 || is_hidden_conditional(target, in_macro) || is_unary(target);
}

static bool needs_parentheses_behind(const lic_cel_node *sign, const lic_cel_node *operand, bool in_macro)
{
    if (operand->kind == LIC_CEL_NODE_LITERAL)
        return sign->function == LIC_CEL_FN_NEGATE &&
               (operand->literal.kind == LIC_CEL_INT || operand->literal.kind == LIC_CEL_DOUBLE);
    return is_unary(operand) || is_complex(operand, in_macro);
}

/* ------------------------------------------------------------------- pushing */

static void push(printer *p, item next)
{
    if (p->failed || !lic_arena_grow(p->scratch, (void **)&p->items, &p->capacity, p->count + 1, sizeof *p->items))
        p->failed = true;
    else
        p->items[p->count++] = next;
}

static void push_str(printer *p, lic_str text)
{
    push(p, (item){ .kind = ITEM_TEXT, .text = text });
}

static void push_text(printer *p, const char *text)
{
    push_str(p, (lic_str){ text, strlen(text) });
}

static void push_node(printer *p, const lic_cel_node *node, bool nested, bool in_macro)
{
    push(p, (item){ .kind = ITEM_NODE, .node = node, .nested = nested, .in_macro = in_macro });
}

/* In all of these what is printed last is pushed first. */

static void push_arguments(printer *p, const lic_cel_node *node, size_t first, bool in_macro)
{
    push_text(p, ")");
    for (size_t i = node->count; i > first; i--) {
        push_node(p, node->children[i - 1], false, in_macro);
        if (i - 1 > first)
            push_text(p, ", ");
    }
    push_text(p, "(");
}

static void push_call(printer *p, const lic_cel_node *node, bool in_macro)
{
    push_arguments(p, node, node->member, in_macro);
    push_str(p, node->name);
    if (node->member) {
        push_text(p, ".");
        push_node(p, node->children[0], needs_parentheses(node->children[0], in_macro), in_macro);
    } else if (node->leading_dot && node->function == LIC_CEL_FUNCTION_COUNT) {
        push_text(p, ".");
    }
}

static void push_binary(printer *p, const lic_cel_node *node, symbol op, bool in_macro)
{
    uint8_t left = symbol_of(node->children[0]).precedence, right = symbol_of(node->children[1]).precedence;

    if (is_hidden_conditional(node->children[0], in_macro))
        left = LOOSEST;
    if (is_hidden_conditional(node->children[1], in_macro))
        right = LOOSEST;
    push_node(p, node->children[1], op.precedence <= right, in_macro);
    push_text(p, op.text);
    push_node(p, node->children[0], op.precedence < left, in_macro);
}

static void push_logic(printer *p, const lic_cel_node *node, symbol op, bool in_macro)
{
    for (size_t i = node->count; i > 0; i--) {
        const lic_cel_node *child = node->children[i - 1];

        push_node(p, child, op.precedence < symbol_of(child).precedence || is_hidden_conditional(child, in_macro),
                  in_macro);
        if (i > 1)
            push(p, (item){ .kind = ITEM_LOGIC, .text = { op.text, 2 } });
    }
}

static void push_conditional(printer *p, const lic_cel_node *node, bool in_macro)
{
    for (size_t i = 3; i > 0; i--) {
        push_node(p, node->children[i - 1], is_complex(node->children[i - 1], in_macro), in_macro);
        if (i > 1)
            push_text(p, i == 3 ? " : " : " ? ");
    }
}

static void push_index(printer *p, const lic_cel_node *node, bool in_macro)
{
    push_text(p, "]");
    push_node(p, node->children[1], false, in_macro);
    push_text(p, node->function == LIC_CEL_FN_INDEX ? "[" : "[?");
    push_node(p, node->children[0], needs_parentheses(node->children[0], in_macro), in_macro);
}

static void push_operator_or_call(printer *p, const lic_cel_node *node, bool in_macro)
{
    symbol op = symbol_of(node);

    if (op.precedence > 0) {
        push_binary(p, node, op, in_macro);
    } else if (node->function == LIC_CEL_FN_INDEX || node->function == LIC_CEL_FN_OPTIONAL_INDEX) {
        push_index(p, node, in_macro);
    } else if (is_unary(node)) {
        push_node(p, node->children[0], needs_parentheses_behind(node, node->children[0], in_macro), in_macro);
        push_text(p, node->function == LIC_CEL_FN_NOT ? "!" : "-");
    } else {
        push_call(p, node, in_macro);
    }
}

/* Fields are kept as they were, in macros too, and so is what is in maps. */
static void push_select(printer *p, const lic_cel_node *node)
{
    bool has = node->kind == LIC_CEL_NODE_HAS;

    if (has)
        push_text(p, ")");
    push_str(p, node->name);
    push_text(p, node->optional ? ".?" : ".");
    push_node(p, node->children[0], needs_parentheses(node->children[0], false), false);
    if (has)
        push_text(p, "has(");
}

static void push_list(printer *p, const lic_cel_node *node, bool in_macro)
{
    push_text(p, "]");
    for (size_t i = node->count; i > 0; i--) {
        push_node(p, node->children[i - 1], false, in_macro);
        if (node->children[i - 1]->marked)
            push_text(p, "?");
        if (i > 1)
            push_text(p, ", ");
    }
    push_text(p, "[");
}

static void push_map(printer *p, const lic_cel_node *node)
{
    push_text(p, "}");
    for (size_t i = node->count; i > 0; i -= 2) {
        push_node(p, node->children[i - 1], false, false);
        push_text(p, ": ");
        push_node(p, node->children[i - 2], false, false);
        if (node->children[i - 2]->marked)
            push_text(p, "?");
        if (i > 2)
            push_text(p, ", ");
    }
    push_text(p, "{");
}

static const char *fold_name(const lic_cel_node *node)
{
    static const char *const names[] = {
        [LIC_CEL_FOLD_ALL] = "all", [LIC_CEL_FOLD_EXISTS] = "exists", [LIC_CEL_FOLD_EXISTS_ONE] = "exists_one",
        [LIC_CEL_FOLD_MAP] = "map", [LIC_CEL_FOLD_FILTER] = "filter",
    };

    return node->kind == LIC_CEL_NODE_OPTIONAL_MAP ? "optMap" : names[node->fold];
}

static void push_macro(printer *p, const lic_cel_node *node)
{
    push_text(p, ")");
    for (size_t i = node->count; i > 1; i--) {
        push_node(p, node->children[i - 1], false, true);
        push_text(p, ", ");
    }
    push_str(p, node->name);
    push_text(p, "(");
    push_text(p, fold_name(node));
    push_text(p, ".");
    push_node(p, node->children[0], needs_parentheses(node->children[0], true), true);
}

static void push_parts(printer *p, const lic_cel_node *node, bool in_macro)
{
    switch (node->kind) {
    case LIC_CEL_NODE_LITERAL:
        print_literal(p->out, node->literal);
        break;
    case LIC_CEL_NODE_IDENT:
        if (node->meaning == LIC_CEL_MEANS_NOTHING ? node->leading_dot : node->shadowed)
            lic_text_add_char(p->out, '.');
        lic_text_add(p->out, node->name);
        break;
    case LIC_CEL_NODE_SELECT:
    case LIC_CEL_NODE_HAS:
        push_select(p, node);
        break;
    case LIC_CEL_NODE_CALL:
        push_operator_or_call(p, node, in_macro);
        break;
    case LIC_CEL_NODE_AND:
    case LIC_CEL_NODE_OR:
        push_logic(p, node, symbol_of(node), in_macro);
        break;
    case LIC_CEL_NODE_CONDITIONAL:
        push_conditional(p, node, in_macro);
        break;
    case LIC_CEL_NODE_LIST:
        push_list(p, node, in_macro);
        break;
    case LIC_CEL_NODE_MAP:
        push_map(p, node);
        break;
    case LIC_CEL_NODE_FOLD:
    case LIC_CEL_NODE_OPTIONAL_MAP:
        push_macro(p, node);
        break;
    }
}

/* cel-go adds the length of "_&&_", which is what it calls the operator. */
static void print_logic(printer *p, lic_str op)
{
    size_t at = p->out->size - p->start;

    lic_text_add_char(p->out, ' ');
    lic_text_add(p->out, op);
    if (at - p->line_start + 4 >= LINE_WIDTH) {
        p->line_start = at;
        lic_text_add_char(p->out, '\n');
    } else {
        lic_text_add_char(p->out, ' ');
    }
}

bool lic_cel_unparse(lic_arena *scratch, const lic_cel_node *root, lic_text *out)
{
    printer p = { .scratch = scratch, .out = out, .start = out->size };

    push_node(&p, root, false, false);
    while (p.count > 0 && !p.failed && !out->failed) {
        item next = p.items[--p.count];

        if (next.kind == ITEM_TEXT) {
            lic_text_add(out, next.text);
        } else if (next.kind == ITEM_LOGIC) {
            print_logic(&p, next.text);
        } else if (next.nested) {
            push_text(&p, ")");
            push_node(&p, next.node, false, next.in_macro);
            lic_text_add_char(out, '(');
        } else {
            push_parts(&p, next.node, next.in_macro);
        }
    }
    return !p.failed && !out->failed;
}
