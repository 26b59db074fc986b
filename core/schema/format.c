/* Canonical text, after SpiceDB's pkg/schemadsl/generator. Partials, imports, annotations and comments that
 * belong to no item are gone from the AST and don't come back. A caveat's body is printed from its tree, not as it was
 * written, so comments inside it go too. */
#include "schema/format.h"

#include "caveat/unparse.h"
#include "schema/expression.h"
#include "schema/parse.h"

/* SpiceDB: 80 less the delimiters and some padding. */
#define LONGEST_ONE_LINE_COMMENT 70

typedef struct writer {
    lic_text *out;
    bool      indented; /* inside a body */
    bool      first;    /* nothing in this body yet */
    bool      uses_expiration;
    bool      uses_self;
} writer;

/* An expression whose children are being written. */
typedef struct expr_frame {
    const lic_ast_expr *expr;
    size_t              next;
    bool                in_parentheses;
} expr_frame;

static void write_str(writer *w, lic_str s)
{
    lic_text_add(w->out, s);
}

#define write_literal(w, literal) write_str((w), LIC_STR(literal))

static void write_indent(writer *w)
{
    if (w->indented)
        write_literal(w, "\t");
}

/* ---------------------------------------------------------------- comments */

static lic_str without_prefix(lic_str s, lic_str prefix)
{
    return lic_str_starts_with(s, prefix) ? lic_str_slice(s, prefix.size, s.size) : s;
}

static void write_line_comment(writer *w, lic_str comment)
{
    write_indent(w);
    write_literal(w, "// ");
    write_str(w, lic_comment_trim(without_prefix(comment, LIC_STR("//"))));
    write_literal(w, "\n");
}

/* SpiceDB takes one "*" and the blanks around it off each line. */
static lic_str comment_line_text(lic_str line)
{
    return lic_comment_trim(without_prefix(lic_comment_trim(line), LIC_STR("*")));
}

/* SpiceDB looks at the length as it is written. We look also at what it will be the next time, "* " and the text,
 * so that blanks inside don't take a comment from one form to the other. */
static bool needs_lines(lic_str content)
{
    if (lic_str_find(content, '\n') < content.size)
        return true;
    return content.size > LONGEST_ONE_LINE_COMMENT && comment_line_text(content).size + 2 > LONGEST_ONE_LINE_COMMENT;
}

static void write_comment_lines(writer *w, lic_str content)
{
    lic_str line;

    write_literal(w, "\n");
    while (lic_comment_line(&content, &line)) {
        write_indent(w);
        write_literal(w, " * ");
        write_str(w, comment_line_text(line));
        write_literal(w, "\n");
    }
    write_indent(w);
    write_literal(w, " */\n");
}

/* SpiceDB takes one "*" off the front. One that is left would go the next time, so all of them go at once. */
static void write_comment_line(writer *w, lic_str content)
{
    while (lic_str_starts_with(content, LIC_STR("*")))
        content = lic_comment_trim(without_prefix(content, LIC_STR("*")));
    write_literal(w, " ");
    write_str(w, content);
    write_literal(w, " */\n");
}

static void write_block_comment(writer *w, lic_str comment)
{
    lic_str opener  = lic_str_starts_with(comment, LIC_STR("/**")) ? LIC_STR("/**") : LIC_STR("/*");
    lic_str content = without_prefix(comment, opener);

    if (lic_str_ends_with(content, LIC_STR("*/")))
        content.size -= 2;
    content = lic_comment_trim(content);
    write_indent(w);
    write_str(w, opener);
    if (needs_lines(content))
        write_comment_lines(w, content);
    else
        write_comment_line(w, content);
}

/* An empty line goes before the comments of an item that is not the first of its body. */
static void write_comments(writer *w, const lic_str *comments, size_t count)
{
    if (count > 0 && !w->first)
        write_literal(w, "\n");
    for (size_t i = 0; i < count; i++) {
        if (lic_str_starts_with(comments[i], LIC_STR("//")))
            write_line_comment(w, comments[i]);
        else
            write_block_comment(w, comments[i]);
    }
}

/* ------------------------------------------------------------- expressions */

static bool is_operation(const lic_ast_expr *expr)
{
    return expr->child_count > 0;
}

/* A union binds tightest, so it needs no parentheses. SpiceDB: unless something in it has some. */
static bool needs_parentheses(const lic_ast_expr *expr)
{
    if (expr->kind != LIC_AST_UNION)
        return is_operation(expr);
    for (size_t i = 0; i < expr->child_count; i++)
        if (is_operation(expr->children[i]))
            return true;
    return false;
}

static void write_operator(writer *w, lic_ast_kind kind)
{
    write_str(w, kind == LIC_AST_UNION          ? LIC_STR(" + ")
                 : kind == LIC_AST_INTERSECTION ? LIC_STR(" & ")
                                                : LIC_STR(" - "));
}

static void write_arrow(writer *w, const lic_ast_expr *expr, lic_str step, lic_str end)
{
    write_str(w, expr->name);
    write_str(w, step);
    write_str(w, expr->target);
    write_str(w, end);
}

static void write_operand(writer *w, const lic_ast_expr *expr)
{
    switch (expr->kind) {
    case LIC_AST_NAME:
        write_str(w, expr->name);
        break;
    case LIC_AST_ARROW:
        write_arrow(w, expr, LIC_STR("->"), LIC_STR(""));
        break;
    case LIC_AST_ARROW_ANY:
        write_arrow(w, expr, LIC_STR(".any("), LIC_STR(")"));
        break;
    case LIC_AST_ARROW_ALL:
        write_arrow(w, expr, LIC_STR(".all("), LIC_STR(")"));
        break;
    case LIC_AST_SELF:
        w->uses_self = true;
        write_literal(w, "self");
        break;
    case LIC_AST_NIL:
    case LIC_AST_UNION:
    case LIC_AST_INTERSECTION:
    case LIC_AST_EXCLUSION:
        write_literal(w, "nil");
        break;
    }
}

typedef struct expr_stack {
    expr_frame *frames;
    size_t      depth;
    size_t      capacity;
} expr_stack;

/* An operand is written at once, an operation opened. */
static void write_expr_start(writer *w, expr_stack *stack, const lic_ast_expr *expr, bool in_parentheses)
{
    if (!is_operation(expr)) {
        write_operand(w, expr);
        return;
    }
    if (!lic_grow(w->out->memory, (void **)&stack->frames, &stack->capacity, stack->depth + 1, sizeof *stack->frames)) {
        w->out->failed = true;
        return;
    }
    if (in_parentheses)
        write_literal(w, "(");
    stack->frames[stack->depth++] = (expr_frame){ expr, 0, in_parentheses };
}

static void write_expr(writer *w, const lic_ast_expr *root)
{
    expr_stack stack = { 0 };

    write_expr_start(w, &stack, root, false);
    while (stack.depth > 0) {
        expr_frame         *top  = &stack.frames[stack.depth - 1];
        const lic_ast_expr *expr = top->expr;
        size_t              next = top->next++;

        if (next == expr->child_count) {
            if (top->in_parentheses)
                write_literal(w, ")");
            stack.depth--;
            continue;
        }
        if (next > 0)
            write_operator(w, expr->kind);
        write_expr_start(w, &stack, expr->children[next], needs_parentheses(expr->children[next]));
    }
    lic_free(w->out->memory, stack.frames, stack.capacity * sizeof *stack.frames);
}

/* ------------------------------------------------------------- definitions */

static void write_type(writer *w, const lic_ast_type *type)
{
    write_str(w, type->type);
    if (type->wildcard)
        write_literal(w, ":*");
    if (lic_str_given(type->relation)) {
        write_literal(w, "#");
        write_str(w, type->relation);
    }
    if (lic_str_given(type->caveat) || type->expiration)
        write_literal(w, " with ");
    write_str(w, type->caveat);
    if (lic_str_given(type->caveat) && type->expiration)
        write_literal(w, " and ");
    if (type->expiration)
        write_literal(w, "expiration");
    w->uses_expiration = w->uses_expiration || type->expiration;
}

static void write_member(writer *w, const lic_ast_member *member)
{
    write_comments(w, member->comments, member->comment_count);
    write_indent(w);
    write_str(w, member->expr != NULL ? LIC_STR("permission ") : LIC_STR("relation "));
    write_str(w, member->name);
    if (member->expr != NULL) {
        write_literal(w, " = ");
        write_expr(w, member->expr);
    }
    for (size_t i = 0; i < member->type_count; i++) {
        write_str(w, i == 0 ? LIC_STR(": ") : LIC_STR(" | "));
        write_type(w, &member->types[i]);
    }
    write_literal(w, "\n");
    w->first = false;
}

static void write_definition(writer *w, const lic_ast_definition *definition)
{
    write_comments(w, definition->comments, definition->comment_count);
    write_literal(w, "definition ");
    write_str(w, definition->name);
    if (definition->member_count == 0) {
        write_literal(w, " {}");
        return;
    }
    write_literal(w, " {\n");
    w->indented = true;
    for (size_t i = 0; i < definition->member_count; i++)
        write_member(w, &definition->members[i]);
    w->indented = false;
    write_literal(w, "}");
}

/* ----------------------------------------------------------------- caveats */

/* SpiceDB sorts them by name. */
static void write_parameters(writer *w, const lic_ast_caveat *caveat)
{
    const lic_ast_parameter *sorted[LIC_MAX_PARAMETERS];
    size_t                   count = 0;

    for (; count < caveat->parameter_count; count++) {
        size_t at = count;

        for (; at > 0 && lic_str_compare(caveat->parameters[count].name, sorted[at - 1]->name) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &caveat->parameters[count];
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            write_literal(w, ", ");
        write_str(w, sorted[i]->name);
        write_literal(w, " ");
        lic_caveat_type_print(sorted[i]->type, w->out);
    }
}

/* A quote inside a string gets a backslash from CEL, which the schema's lexer does not know, so its number is written
 * instead. (SpiceDB can't read back what it prints there.) A line that CEL has broken goes on one tab in. */
static void write_expression(writer *w, lic_str text)
{
    size_t start = 0;

    for (size_t i = 0; i < text.size; i++) {
        lic_str instead = { NULL, 0 };

        if (text.data[i] == '\n')
            instead = LIC_STR("\n\t");
        else if (text.data[i] == '\\' && text.data[++i] == '"')
            instead = LIC_STR("\\x22");
        if (!lic_str_given(instead))
            continue;
        write_str(w, lic_str_slice(text, start, text.data[i] == '"' ? i - 1 : i));
        write_str(w, instead);
        start = i + 1;
    }
    write_str(w, lic_str_slice(text, start, text.size));
}

void lic_format_expression(const lic_ast_caveat *caveat, lic_text *out)
{
    lic_cel_parameter parameters[LIC_MAX_PARAMETERS];
    lic_cel_source    source = lic_expression_source(caveat, parameters);

    if (lic_cel_format(out->memory, &source, out, NULL) != LICET_OK)
        out->failed = true;
}

static void write_body(writer *w, const lic_ast_caveat *caveat)
{
    lic_text text;

    lic_text_init(&text, w->out->memory);
    lic_format_expression(caveat, &text);
    w->out->failed |= text.failed;
    write_literal(w, "\t");
    write_expression(w, lic_text_str(&text));
    write_literal(w, "\n");
    lic_text_free(&text);
}

static void write_caveat(writer *w, const lic_ast_caveat *caveat)
{
    write_comments(w, caveat->comments, caveat->comment_count);
    write_literal(w, "caveat ");
    write_str(w, caveat->name);
    write_literal(w, "(");
    write_parameters(w, caveat);
    write_literal(w, ") {\n");
    write_body(w, caveat);
    write_literal(w, "}");
}

/* The flags come first, and which ones is known last. SpiceDB: each is put in front of those before it. */
static void write_all(const writer *w, const lic_text *items, lic_text *out)
{
    if (w->uses_self)
        lic_text_add_literal(out, "use self\n\n");
    if (w->uses_expiration)
        lic_text_add_literal(out, "use expiration\n\n");
    lic_text_add(out, lic_text_str(items));
    out->failed = out->failed || items->failed;
}

void lic_format(const lic_ast *ast, lic_text *out)
{
    lic_text items;
    writer   w = { .out = &items };

    lic_text_init(&items, out->memory);
    for (size_t i = 0; i < ast->item_count; i++) {
        if (i > 0)
            write_literal(&w, "\n\n");
        w.first = true;
        if (ast->items[i].definition != NULL)
            write_definition(&w, ast->items[i].definition);
        else
            write_caveat(&w, ast->items[i].caveat);
    }
    write_all(&w, &items, out);
    lic_text_free(&items);
}

void lic_format_type(const lic_ast_type *type, lic_text *out)
{
    writer w = { .out = out };

    write_type(&w, type);
}

void lic_format_expr(const lic_ast_expr *expr, lic_text *out)
{
    writer w = { .out = out };

    write_expr(&w, expr);
}
