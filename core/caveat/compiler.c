/* Code for a checked tree, in the order in which it runs. The tree is walked with a stack; a node that has code between
 * or behind its children is visited once for each gap.
 *
 * Code is collected in the scratch arena and then moved into one block of its exact size: a schema may hold thousands of
 * caveats, most of them small. */
#include "caveat/compiler.h"

#include "caveat/ast.h"
#include "caveat/cel.h"
#include "caveat/regex.h"

typedef struct task {
    const lic_cel_node *node;
    uint32_t            next;    /* step of the node's walk */
    uint32_t            pending; /* a jump whose target is not known yet; those before it are chained through `a` */
    uint32_t            begin;   /* BRANCH, LOOP_BEGIN, OPTIONAL_MAP, OR_ELSE */
} task;

typedef struct emitter {
    lic_arena           *arena;
    task                *tasks;
    size_t               task_count, task_capacity;
    lic_cel_instruction *code;
    size_t               code_count, code_capacity;
    lic_cel_value       *constants;
    size_t               constant_count, constant_capacity;
    size_t               text_size;  /* of the constants' texts, bytes */
    size_t               item_count; /* of the constants' lists */
    uint32_t            *patterns;   /* constants that are the pattern of a matches() */
    size_t               pattern_count, pattern_capacity;
    uint32_t             stack, max_stack;
    uint32_t             loops, max_loops;
    bool                 failed; /* out of memory; everything afterwards does nothing */
} emitter;

#define NO_JUMP UINT32_MAX

static uint32_t here(const emitter *e)
{
    return (uint32_t)e->code_count;
}

/* pops values, then pushes `pushes`. The number of the instruction. */
static uint32_t emit(emitter *e, lic_cel_opcode opcode, uint32_t a, uint32_t b, uint32_t pops, uint32_t pushes)
{
    if (e->failed ||
        !lic_arena_grow(e->arena, (void **)&e->code, &e->code_capacity, e->code_count + 1, sizeof *e->code)) {
        e->failed = true;
        return 0;
    }
    e->code[e->code_count] = (lic_cel_instruction){ opcode, a, b };
    e->stack               = e->stack - pops + pushes;
    if (e->stack > e->max_stack)
        e->max_stack = e->stack;
    return (uint32_t)e->code_count++;
}

static uint32_t add_constant(emitter *e, lic_cel_value value)
{
    if (e->failed || !lic_arena_grow(e->arena, (void **)&e->constants, &e->constant_capacity, e->constant_count + 1,
                                     sizeof *e->constants)) {
        e->failed = true;
        return 0;
    }
    if (value.kind == LIC_CEL_STRING || value.kind == LIC_CEL_BYTES || value.kind == LIC_CEL_TYPE)
        e->text_size += value.text.size;
    if (value.kind == LIC_CEL_LIST)
        e->item_count += value.list->count;
    e->constants[e->constant_count] = value;
    return (uint32_t)e->constant_count++;
}

static uint32_t add_name(emitter *e, lic_str name)
{
    return add_constant(e, (lic_cel_value){ .kind = LIC_CEL_STRING, .text = name });
}

/* A jump to a place that is still to come. */
static void emit_jump(emitter *e, task *t, lic_cel_opcode opcode)
{
    t->pending = emit(e, opcode, t->pending, 0, 0, 0);
}

static void land_jumps(emitter *e, const task *t)
{
    uint32_t jump = t->pending;

    while (!e->failed && jump != NO_JUMP) {
        uint32_t before = e->code[jump].a;

        e->code[jump].a = here(e);
        jump            = before;
    }
}

static void set_a(emitter *e, uint32_t instruction)
{
    if (!e->failed)
        e->code[instruction].a = here(e);
}

static void set_b(emitter *e, uint32_t instruction)
{
    if (!e->failed)
        e->code[instruction].b = here(e);
}

/* ------------------------------------------------------------ kinds of nodes */

static void emit_constant(emitter *e, lic_cel_value value)
{
    emit(e, LIC_CEL_OP_CONSTANT, add_constant(e, value), 0, 0, 1);
}

static void emit_ident(emitter *e, const lic_cel_node *node)
{
    if (node->meaning == LIC_CEL_MEANS_PARAMETER)
        emit(e, LIC_CEL_OP_PARAMETER, node->index, 0, 0, 1);
    else if (node->meaning == LIC_CEL_MEANS_LOCAL)
        emit(e, LIC_CEL_OP_LOCAL, node->index, 0, 0, 1);
    else
        emit_constant(e, node->literal);
}

/* The constant that lists which items (each == 1) or entries (each == 2) are optional. */
static uint32_t marks_of(emitter *e, const lic_cel_node *node, uint32_t each)
{
    size_t         count = 0, at = 0;
    lic_cel_list  *list;
    lic_cel_value *items;

    for (size_t i = 0; i < node->count; i += each)
        count += node->children[i]->marked;
    if (count == 0)
        return UINT32_MAX;
    list  = lic_new(e->arena, lic_cel_list);
    items = lic_new_array(e->arena, count, lic_cel_value);
    if (list == NULL || items == NULL) {
        e->failed = true;
        return 0;
    }
    for (size_t i = 0; i < node->count; i += each) {
        if (node->children[i]->marked)
            items[at++] = (lic_cel_value){ .kind = LIC_CEL_INT, .integer = (int64_t)(i / each) };
    }
    *list = (lic_cel_list){ items, count };
    return add_constant(e, (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list });
}

/* The constant emitted last is the pattern of matches(). */
static void remember_pattern(emitter *e)
{
    if (e->failed || !lic_arena_grow(e->arena, (void **)&e->patterns, &e->pattern_capacity, e->pattern_count + 1,
                                     sizeof *e->patterns))
        e->failed = true;
    else
        e->patterns[e->pattern_count++] = (uint32_t)e->constant_count - 1;
}

static bool has_constant_pattern(const lic_cel_node *call)
{
    const lic_cel_node *pattern = call->children[call->count - 1];

    return call->function == LIC_CEL_FN_MATCHES && pattern->kind == LIC_CEL_NODE_LITERAL &&
           pattern->literal.kind == LIC_CEL_STRING;
}

/* The kind that values of a type have; false: values of any kind may come. */
static bool kind_of(const lic_cel_type *type, lic_cel_kind *kind)
{
    static const struct {
        lic_cel_type_kind type;
        lic_cel_kind      kind;
    } kinds[] = {
        { LIC_CEL_TYPE_BOOL, LIC_CEL_BOOL },         { LIC_CEL_TYPE_INT, LIC_CEL_INT },
        { LIC_CEL_TYPE_UINT, LIC_CEL_UINT },         { LIC_CEL_TYPE_DOUBLE, LIC_CEL_DOUBLE },
        { LIC_CEL_TYPE_STRING, LIC_CEL_STRING },     { LIC_CEL_TYPE_BYTES, LIC_CEL_BYTES },
        { LIC_CEL_TYPE_DURATION, LIC_CEL_DURATION }, { LIC_CEL_TYPE_TIMESTAMP, LIC_CEL_TIMESTAMP },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].type == type->kind) {
            *kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

static bool is_conversion(lic_cel_function function)
{
    switch (function) {
    case LIC_CEL_FN_TO_BOOL:
    case LIC_CEL_FN_TO_BYTES:
    case LIC_CEL_FN_TO_DOUBLE:
    case LIC_CEL_FN_TO_DURATION:
    case LIC_CEL_FN_TO_INT:
    case LIC_CEL_FN_TO_STRING:
    case LIC_CEL_FN_TO_TIMESTAMP:
    case LIC_CEL_FN_TO_UINT:
        return true;
    default:
        return false;
    }
}

/* What the machine has to know of a call: a conversion takes only the kind that the checker saw. */
static uint32_t call_operand(const lic_cel_node *node)
{
    lic_cel_kind kind;

    if (is_conversion(node->function) && node->count == 1 && kind_of(node->children[0]->type, &kind))
        return LIC_CEL_CALL_OF(1, kind);
    return LIC_CEL_CALL(node->count);
}

/* All children are on the stack. */
static void emit_strict(emitter *e, const lic_cel_node *node)
{
    switch (node->kind) {
    case LIC_CEL_NODE_SELECT:
        emit(e, node->optional ? LIC_CEL_OP_OPTIONAL_SELECT : LIC_CEL_OP_SELECT, add_name(e, node->name), 0, 1, 1);
        break;
    case LIC_CEL_NODE_HAS:
        emit(e, LIC_CEL_OP_HAS, add_name(e, node->name), 0, 1, 1);
        break;
    case LIC_CEL_NODE_CALL:
        if (node->count > 0 && has_constant_pattern(node))
            remember_pattern(e);
        emit(e, LIC_CEL_OP_CALL, node->function, call_operand(node), node->count, 1);
        break;
    case LIC_CEL_NODE_LIST:
        emit(e, LIC_CEL_OP_LIST, node->count, marks_of(e, node, 1), node->count, 1);
        break;
    default:
        emit(e, LIC_CEL_OP_MAP, node->count / 2, marks_of(e, node, 2), node->count, 1);
    }
}

/* Before child t->next; after the last one too. */
static void visit_logic(emitter *e, task *t)
{
    bool and = t->node->kind == LIC_CEL_NODE_AND;

    if (t->next > 1)
        emit(e, and? LIC_CEL_OP_AND : LIC_CEL_OP_OR, 0, 0, 2, 1);
    if (t->next == t->node->count)
        land_jumps(e, t);
    else if (t->next > 0)
        emit_jump(e, t, and? LIC_CEL_OP_JUMP_IF_FALSE : LIC_CEL_OP_JUMP_IF_TRUE);
}

static void visit_conditional(emitter *e, task *t)
{
    if (t->next == 1) {
        t->begin = emit(e, LIC_CEL_OP_BRANCH, 0, 0, 1, 0);
    } else if (t->next == 2) {
        emit_jump(e, t, LIC_CEL_OP_JUMP);
        set_a(e, t->begin);
        e->stack--; /* the other branch begins without this one's value */
    } else if (t->next == 3) {
        land_jumps(e, t);
        set_b(e, t->begin);
    }
}

static void enter_loop(emitter *e)
{
    e->loops++;
    if (e->loops > e->max_loops)
        e->max_loops = e->loops;
}

static void visit_fold(emitter *e, task *t)
{
    if (t->next == 1) {
        t->begin = emit(e, LIC_CEL_OP_LOOP_BEGIN, t->node->fold, 0, 1, 0);
        enter_loop(e);
    } else if (t->next == t->node->count) {
        emit(e, LIC_CEL_OP_LOOP_NEXT, t->begin + 1, 0, 1, 1);
        e->loops--;
        set_b(e, t->begin);
        if (t->pending != NO_JUMP)
            set_b(e, t->pending);
    } else if (t->next == 2) {
        t->pending = emit(e, LIC_CEL_OP_LOOP_WHEN, t->begin + 1, 0, 1, 0);
    }
}

static void visit_optional_map(emitter *e, task *t)
{
    if (t->next == 1) {
        t->begin = emit(e, LIC_CEL_OP_OPTIONAL_MAP, 0, 0, 1, 0);
        enter_loop(e);
    } else if (t->next == 2) {
        emit(e, LIC_CEL_OP_OPTIONAL_WRAP, 0, 0, 1, 1);
        e->loops--;
        set_a(e, t->begin);
    }
}

static void visit_or_else(emitter *e, task *t)
{
    if (t->next == 1)
        t->begin = emit(e, LIC_CEL_OP_OR_ELSE, 0, t->node->function == LIC_CEL_FN_OR_VALUE, 1, 0);
    else if (t->next == 2)
        set_a(e, t->begin);
}

static void visit(emitter *e, task *t)
{
    const lic_cel_node *node = t->node;

    switch (node->kind) {
    case LIC_CEL_NODE_LITERAL:
        emit_constant(e, node->literal);
        break;
    case LIC_CEL_NODE_IDENT:
        emit_ident(e, node);
        break;
    case LIC_CEL_NODE_AND:
    case LIC_CEL_NODE_OR:
        visit_logic(e, t);
        break;
    case LIC_CEL_NODE_CONDITIONAL:
        visit_conditional(e, t);
        break;
    case LIC_CEL_NODE_FOLD:
        visit_fold(e, t);
        break;
    case LIC_CEL_NODE_OPTIONAL_MAP:
        visit_optional_map(e, t);
        break;
    default:
        if (node->kind == LIC_CEL_NODE_CALL &&
            (node->function == LIC_CEL_FN_OR_OPTIONAL || node->function == LIC_CEL_FN_OR_VALUE))
            visit_or_else(e, t);
        else if (t->next == node->count)
            emit_strict(e, node);
    }
}

static bool push_task(emitter *e, const lic_cel_node *node)
{
    if (!lic_arena_grow(e->arena, (void **)&e->tasks, &e->task_capacity, e->task_count + 1, sizeof *e->tasks))
        return false;
    e->tasks[e->task_count++] = (task){ node, 0, NO_JUMP, 0 };
    return true;
}

static bool emit_tree(emitter *e, const lic_cel_node *root)
{
    if (!push_task(e, root))
        return false;
    while (e->task_count > 0 && !e->failed) {
        task *top = &e->tasks[e->task_count - 1];

        visit(e, top);
        if (top->next == top->node->count)
            e->task_count--;
        else if (!push_task(e, top->node->children[top->next++]))
            return false;
    }
    return !e->failed;
}

/* ------------------------------------------------------------- the finished */

/* The parts of the block, in order of their alignment. */
typedef struct layout {
    size_t constants, items, lists, patterns, code, texts; /* offsets */
    size_t size;
} layout;

static size_t place(size_t *size, size_t count, size_t each)
{
    size_t offset = *size;

    *size += count * each; /* a program has at most some 100,000 of anything */
    return offset;
}

static layout lay_out(const emitter *e, size_t list_count)
{
    layout l = { .size = (sizeof(lic_cel) + 15) & ~(size_t)15 };

    l.constants = place(&l.size, e->constant_count, sizeof(lic_cel_value));
    l.items     = place(&l.size, e->item_count, sizeof(lic_cel_value));
    l.lists     = place(&l.size, list_count, sizeof(lic_cel_list));
    l.patterns  = place(&l.size, e->constant_count, sizeof(struct lic_regex *));
    l.code      = place(&l.size, e->code_count, sizeof(lic_cel_instruction));
    l.texts     = place(&l.size, e->text_size, 1);
    return l;
}

static size_t count_lists(const emitter *e)
{
    size_t count = 0;

    for (size_t i = 0; i < e->constant_count; i++)
        count += e->constants[i].kind == LIC_CEL_LIST;
    return count;
}

/* Values that point to something get a copy of it inside the block. */
static void copy_constants(const emitter *e, lic_cel *cel, const layout *l)
{
    char          *block = (char *)cel, *texts = block + l->texts;
    lic_cel_value *items = (lic_cel_value *)(block + l->items);
    lic_cel_list  *lists = (lic_cel_list *)(block + l->lists);

    for (size_t i = 0; i < e->constant_count; i++) {
        lic_cel_value value = e->constants[i];

        if (value.kind == LIC_CEL_STRING || value.kind == LIC_CEL_BYTES || value.kind == LIC_CEL_TYPE) {
            if (value.text.size > 0)
                memcpy(texts, value.text.data, value.text.size);
            value.text.data = texts;
            texts += value.text.size;
        } else if (value.kind == LIC_CEL_LIST) {
            memcpy(items, value.list->items, value.list->count * sizeof *items);
            *lists     = (lic_cel_list){ items, value.list->count };
            value.list = lists++;
            items += value.list->count;
        }
        cel->code.constants[i] = value;
    }
}

/* The pattern of matches() is compiled now if it is a constant. One that is no regular expression is left to the
 * evaluator, as SpiceDB does: the schema is accepted and evaluating fails. false: out of memory. */
static bool compile_patterns(const emitter *e, lic_cel *cel)
{
    for (size_t i = 0; i < e->pattern_count; i++) {
        uint32_t    constant = e->patterns[i];
        const char *why      = NULL;

        if (lic_regex_new(cel->memory, cel->code.constants[constant].text, &cel->code.patterns[constant], &why))
            continue;
        cel->code.patterns[constant] = NULL;
        if (why == LIC_REGEX_NO_MEMORY)
            return false;
    }
    return true;
}

void lic_cel_free(lic_cel *cel)
{
    if (cel == NULL)
        return;
    for (size_t i = 0; i < cel->code.constant_count; i++)
        lic_regex_free(cel->code.patterns[i]);
    lic_free(cel->memory, cel, cel->size);
}

bool lic_cel_emit(lic_memory *memory, lic_arena *scratch, const lic_cel_node *root, size_t parameter_count,
                  lic_cel **cel)
{
    emitter e = { .arena = scratch };
    layout  l;
    char   *block;

    *cel = NULL;
    if (!emit_tree(&e, root))
        return false;
    l     = lay_out(&e, count_lists(&e));
    block = lic_alloc_zero(memory, l.size);
    if (block == NULL)
        return false;
    *cel  = (lic_cel *)block;
    **cel = (lic_cel){ .memory          = memory,
                       .size            = l.size,
                       .parameter_count = parameter_count,
                       .code            = { .instructions   = (lic_cel_instruction *)(block + l.code),
                                            .count          = e.code_count,
                                            .constants      = (lic_cel_value *)(block + l.constants),
                                            .constant_count = e.constant_count,
                                            .max_stack      = e.max_stack,
                                            .max_loops      = e.max_loops,
                                            .patterns       = (struct lic_regex **)(block + l.patterns) } };
    memcpy((*cel)->code.instructions, e.code, e.code_count * sizeof *e.code);
    copy_constants(&e, *cel, &l);
    if (compile_patterns(&e, *cel))
        return true;
    lic_cel_free(*cel);
    *cel = NULL;
    return false;
}
