/* Runs code: one value stack, one stack of loops, both as high as the compiler said. Small code finds room for them on
 * the C stack, so that comparing two numbers allocates nothing. */
#include "caveat/machine.h"

#include "caveat/compiler.h"
#include "caveat/functions.h"

#define VALUES_AT_HAND 16
#define LOOPS_AT_HAND 2

/* One comprehension that is being folded. */
typedef struct loop {
    const lic_cel_list *list; /* or NULL: the keys of map */
    const lic_cel_map  *map;
    size_t              index; /* of the element at hand */
    lic_cel_fold        fold;
    lic_cel_value  result; /* ALL, EXISTS: the result so far. Others: UNKNOWN, ERROR, or NULL while there is neither */
    lic_cel_value *items;  /* MAP, FILTER */
    size_t         count;  /* of items, or of trues */
    size_t         capacity;
} loop;

typedef struct machine {
    lic_cel_run          run;
    const lic_cel_code  *code;
    const lic_cel_value *parameters;
    size_t               next; /* instruction */
    lic_cel_value       *stack;
    size_t               height;
    loop                *loops;
    size_t               loop_count;
} machine;

static bool is_known(const lic_cel_value *value)
{
    return value->kind != LIC_CEL_UNKNOWN && value->kind != LIC_CEL_ERROR;
}

static bool is_true(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_BOOL && value->boolean;
}

static bool is_false(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_BOOL && !value->boolean;
}

static lic_cel_value *top_of(machine *m)
{
    return &m->stack[m->height - 1];
}

static void push(machine *m, lic_cel_value value)
{
    m->stack[m->height++] = value;
}

/* An unknown that is no longer a part of a chain. */
static lic_cel_value off_chain(lic_cel_value value)
{
    if (value.kind == LIC_CEL_UNKNOWN)
        value.chain = LIC_CEL_CHAIN_NONE;
    return value;
}

/* ---------------------------------------------------------------- && and || */

/* What is no bool is an error here. */
static lic_cel_value as_operand(const lic_cel_value *value)
{
    if (value->kind == LIC_CEL_BOOL || !is_known(value))
        return *value;
    return lic_cel_no_overload();
}

/* `deciding` wins over everything, then the unknowns of both, then the first error. */
static lic_cel_value join(const lic_cel_value *first, const lic_cel_value *second, bool deciding)
{
    lic_cel_value a = as_operand(first);
    lic_cel_value b = as_operand(second);

    if (a.kind == LIC_CEL_BOOL && b.kind == LIC_CEL_BOOL)
        return a.boolean == deciding ? a : b;
    if (a.kind == LIC_CEL_BOOL)
        return a.boolean == deciding ? a : b;
    if (b.kind == LIC_CEL_BOOL)
        return b.boolean == deciding ? b : a;
    if (a.kind == LIC_CEL_UNKNOWN && b.kind == LIC_CEL_UNKNOWN)
        a.unknown |= b.unknown;
    return a.kind == LIC_CEL_UNKNOWN ? a : b.kind == LIC_CEL_UNKNOWN ? b : a;
}

static void do_join(machine *m, bool deciding)
{
    lic_cel_value *a = &m->stack[m->height - 2];

    *a = join(a, a + 1, deciding);
    m->height--;
}

static void do_branch(machine *m, const lic_cel_instruction *i)
{
    lic_cel_value *condition = top_of(m);

    if (condition->kind == LIC_CEL_BOOL) {
        if (!condition->boolean)
            m->next = i->a;
        m->height--;
        return;
    }
    *condition = off_chain(as_operand(condition));
    m->next    = i->b;
}

/* ----------------------------------------------------------- calls, literals */

/* Of strict instructions: the first operand from the left that is unknown or an error; NULL: there is none. */
static const lic_cel_value *first_unusable(const lic_cel_value *operands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_known(&operands[i]))
            return &operands[i];
    }
    return NULL;
}

/* Takes the operands off and puts the first that is unusable in their place, if there is one. */
static bool short_cut(machine *m, size_t count)
{
    lic_cel_value       *operands = &m->stack[m->height - count];
    const lic_cel_value *unusable = first_unusable(operands, count);

    if (unusable == NULL)
        return false;
    operands[0] = off_chain(*unusable);
    m->height -= count - 1;
    return true;
}

/* v[key], v[?key] with one of them unknown or an error: see lic_cel_chain. In none nothing is looked for, so its key may be
 * either. */
static bool short_cut_index(machine *m)
{
    lic_cel_value *container = &m->stack[m->height - 2];
    lic_cel_value *key       = container + 1;
    bool           key_first = is_known(container);

    if (lic_cel_is_none(container) || (is_known(container) && is_known(key)))
        return false;
    if (container->kind == LIC_CEL_UNKNOWN && container->chain != LIC_CEL_CHAIN_NONE && is_known(key) &&
        !lic_cel_is_key(key))
        *key = lic_cel_error(LIC_CEL_NO_KEY);
    if (container->kind == LIC_CEL_UNKNOWN && container->chain == LIC_CEL_CHAIN_ROOT)
        key_first = key->kind == LIC_CEL_ERROR;
    else if (container->kind == LIC_CEL_UNKNOWN && container->chain == LIC_CEL_CHAIN_KEY)
        key_first = !is_known(key);
    if (key_first)
        *container = *key;
    if (key_first && container->kind == LIC_CEL_UNKNOWN)
        container->chain = LIC_CEL_CHAIN_KEY;
    m->height--;
    return true;
}

/* The compiled pattern, if the second operand is the constant that the instruction before has pushed. (It is not when it
 * came out of the other branch of a "? :".) */
static const struct lic_regex *pattern_of(const machine *m, const lic_cel_value *operand)
{
    const lic_cel_instruction *before = &m->code->instructions[m->next - 2];
    const lic_cel_value       *constant;

    if (before->opcode != LIC_CEL_OP_CONSTANT || m->code->patterns == NULL)
        return NULL;
    constant = &m->code->constants[before->a];
    if (constant->kind != LIC_CEL_STRING || operand->kind != LIC_CEL_STRING ||
        constant->text.data != operand->text.data || constant->text.size != operand->text.size)
        return NULL;
    return m->code->patterns[before->a];
}

static bool do_call(machine *m, const lic_cel_instruction *i)
{
    size_t                  count    = LIC_CEL_CALL_COUNT(i->b);
    uint32_t                kind     = LIC_CEL_CALL_KIND(i->b);
    lic_cel_value          *operands = &m->stack[m->height - count];
    const struct lic_regex *pattern  = NULL;
    lic_cel_value           result;

    if (i->a == LIC_CEL_FN_INDEX || i->a == LIC_CEL_FN_OPTIONAL_INDEX) {
        if (short_cut_index(m))
            return true;
    } else if (count > 0 && short_cut(m, count)) {
        return true;
    }
    if (i->a == LIC_CEL_FN_MATCHES)
        pattern = pattern_of(m, &operands[1]);
    if (kind != 0 && operands[0].kind != (lic_cel_kind)(kind - 1))
        result = lic_cel_no_overload();
    else if (!lic_cel_call(&m->run, (lic_cel_function)i->a, operands, count, pattern, &result))
        return false;
    m->height -= count;
    push(m, result);
    if (m->run.panicked) {
        m->stack[0] = result;
        m->next     = m->code->count;
    }
    return true;
}

/* Comparisons of two ints are most of what caveats do. */
static inline bool quick_call(machine *m, const lic_cel_instruction *i)
{
    lic_cel_value *a;
    lic_cel_value *b;
    bool           boolean;

    if (i->b != LIC_CEL_CALL(2))
        return false;
    a = &m->stack[m->height - 2];
    b = a + 1;
    if (a->kind != LIC_CEL_INT || b->kind != LIC_CEL_INT)
        return false;
    switch (i->a) {
    case LIC_CEL_FN_EQUAL:
        boolean = a->integer == b->integer;
        break;
    case LIC_CEL_FN_NOT_EQUAL:
        boolean = a->integer != b->integer;
        break;
    case LIC_CEL_FN_LESS:
        boolean = a->integer < b->integer;
        break;
    case LIC_CEL_FN_LESS_EQUAL:
        boolean = a->integer <= b->integer;
        break;
    case LIC_CEL_FN_GREATER:
        boolean = a->integer > b->integer;
        break;
    case LIC_CEL_FN_GREATER_EQUAL:
        boolean = a->integer >= b->integer;
        break;
    default:
        return false;
    }
    *a = lic_cel_bool(boolean);
    m->height--;
    return true;
}

static bool do_get(machine *m, lic_cel_access access, uint32_t name)
{
    lic_cel_value *container = top_of(m);
    lic_cel_value  result;

    if (!is_known(container))
        return true;
    if (!lic_cel_get(&m->run, access, container, &m->code->constants[name], &result))
        return false;
    *container = result;
    return true;
}

/* Is the index-th item of a literal an optional one? marks: a list of indices, ascending; *next goes along it. */
static bool is_marked(const lic_cel_list *marks, size_t index, size_t *next)
{
    if (marks == NULL || *next >= marks->count || marks->items[*next].integer != (int64_t)index)
        return false;
    ++*next;
    return true;
}

static const lic_cel_list *marks_of(const machine *m, const lic_cel_instruction *i)
{
    return i->b == UINT32_MAX ? NULL : m->code->constants[i->b].list;
}

static bool do_list(machine *m, const lic_cel_instruction *i)
{
    const lic_cel_list *marks  = marks_of(m, i);
    lic_cel_value      *values = &m->stack[m->height - i->a];
    lic_cel_list       *list;
    lic_cel_value      *items;
    size_t              mark = 0;

    if (i->a > 0 && short_cut(m, i->a))
        return true;
    list  = lic_cel_take(&m->run, sizeof *list);
    items = list == NULL ? NULL : lic_cel_take_array(&m->run, i->a, sizeof *items);
    if (items == NULL || !lic_cel_spend_on(&m->run, i->a, 16))
        return false;
    *list = (lic_cel_list){ items, 0 };
    for (size_t n = 0; n < i->a; n++) {
        const lic_cel_value *value = &values[n];

        if (is_marked(marks, n, &mark)) {
            if (value->kind != LIC_CEL_OPTIONAL) {
                m->height -= i->a;
                push(m, lic_cel_error("cannot initialize optional list element from non-optional value"));
                return true;
            }
            if (value->optional == NULL)
                continue;
            value = value->optional;
        }
        items[list->count++] = *value;
    }
    m->height -= i->a;
    push(m, (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list });
    return true;
}

/* Where the key is, or the count. */
static size_t find_entry(const lic_cel_entry *entries, size_t count, const lic_cel_value *key)
{
    size_t i = 0;

    while (i < count && !lic_cel_same_key(&entries[i].key, key))
        i++;
    return i;
}

/* SpiceDB: the later of two identical keys wins; an optional entry without a value takes an earlier one away. */
static bool set_entry(machine *m, lic_cel_entry *entries, size_t *count, const lic_cel_value *key,
                      const lic_cel_value *value)
{
    size_t at = find_entry(entries, *count, key);

    if (!lic_cel_spend_on(&m->run, *count, 64))
        return false;
    if (value != NULL) {
        entries[at] = (lic_cel_entry){ *key, *value };
        if (at == *count)
            ++*count;
    } else if (at < *count) {
        memmove(entries + at, entries + at + 1, (*count - at - 1) * sizeof *entries);
        --*count;
    }
    return true;
}

static bool do_map(machine *m, const lic_cel_instruction *i)
{
    const lic_cel_list *marks  = marks_of(m, i);
    size_t              size   = (size_t)i->a * 2; /* values on the stack */
    lic_cel_value      *values = &m->stack[m->height - size];
    lic_cel_map        *map;
    lic_cel_entry      *entries;
    size_t              count = 0;
    size_t              mark  = 0;

    if (i->a > 0 && short_cut(m, size))
        return true;
    map     = lic_cel_take(&m->run, sizeof *map);
    entries = map == NULL ? NULL : lic_cel_take_array(&m->run, i->a, sizeof *entries);
    if (entries == NULL)
        return false;
    for (size_t n = 0; n < i->a; n++) {
        const lic_cel_value *value = &values[2 * n + 1];

        if (is_marked(marks, n, &mark)) {
            if (value->kind != LIC_CEL_OPTIONAL) {
                m->height -= size;
                push(m, lic_cel_error("cannot initialize optional entry from non-optional value"));
                return true;
            }
            value = value->optional;
        }
        if (!set_entry(m, entries, &count, &values[2 * n], value))
            return false;
    }
    *map = (lic_cel_map){ .entries = entries, .count = count };
    m->height -= size;
    push(m, (lic_cel_value){ .kind = LIC_CEL_MAP, .map = map });
    return true;
}

/* -------------------------------------------------------------- comprehensions */

static size_t loop_size(const loop *l)
{
    if (l->list != NULL)
        return l->list->count;
    return l->map != NULL ? l->map->count : 0;
}

static lic_cel_value loop_element(const loop *l)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a loop with an element is over one of the two */
    return l->list != NULL ? l->list->items[l->index] : l->map->entries[l->index].key;
}

static bool loop_add(machine *m, loop *l, lic_cel_value value)
{
    if (l->count == l->capacity) {
        size_t         capacity = l->capacity == 0 ? 8 : l->capacity * 2;
        size_t         most     = loop_size(l);
        lic_cel_value *items    = lic_cel_take_array(&m->run, capacity < most ? capacity : most, sizeof *items);

        if (items == NULL)
            return false;
        if (l->count > 0)
            memcpy(items, l->items, l->count * sizeof *items);
        l->items    = items;
        l->capacity = capacity < most ? capacity : most;
    }
    l->items[l->count++] = value;
    return true;
}

/* Folds a body's value in; *stop: the rest can't change the result. */
static bool fold(machine *m, loop *l, const lic_cel_value *body, bool *stop)
{
    switch (l->fold) {
    case LIC_CEL_FOLD_ALL:
        l->result = join(&l->result, body, false);
        *stop     = is_false(&l->result);
        return true;
    case LIC_CEL_FOLD_EXISTS:
        l->result = join(&l->result, body, true);
        *stop     = is_true(&l->result);
        return true;
    case LIC_CEL_FOLD_MAP:
        if (is_known(&l->result) && is_known(body))
            return loop_add(m, l, *body);
        if (is_known(&l->result))
            l->result = *body;
        return true;
    case LIC_CEL_FOLD_EXISTS_ONE:
        l->count += is_true(body);
        break;
    case LIC_CEL_FOLD_FILTER:
        if (is_true(body) && is_known(&l->result) && !loop_add(m, l, loop_element(l)))
            return false;
        break;
    }
    if (body->kind != LIC_CEL_BOOL)
        l->result = as_operand(body);
    return true;
}

static bool loop_result(machine *m, const loop *l, lic_cel_value *result)
{
    lic_cel_list *list;

    *result = off_chain(l->result);
    if (l->fold == LIC_CEL_FOLD_ALL || l->fold == LIC_CEL_FOLD_EXISTS || !is_known(&l->result))
        return true;
    if (l->fold == LIC_CEL_FOLD_EXISTS_ONE) {
        *result = lic_cel_bool(l->count == 1);
        return true;
    }
    list = lic_cel_take(&m->run, sizeof *list);
    if (list == NULL)
        return false;
    *list   = (lic_cel_list){ l->items, l->count };
    *result = (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list };
    return true;
}

/* Ends the innermost loop and leaves its result. */
static bool end_loop(machine *m)
{
    lic_cel_value result;

    if (!loop_result(m, &m->loops[m->loop_count - 1], &result))
        return false;
    m->loop_count--;
    push(m, result);
    return true;
}

static bool do_loop_begin(machine *m, const lic_cel_instruction *i)
{
    lic_cel_value range = *top_of(m);
    loop          l     = { .fold = (lic_cel_fold)i->a };

    if (!is_known(&range)) {
        *top_of(m) = off_chain(range);
        m->next    = i->b;
        return true;
    }
    if (range.kind != LIC_CEL_LIST && range.kind != LIC_CEL_MAP) {
        *top_of(m) = lic_cel_error("only lists and maps can be gone through");
        m->next    = i->b;
        return true;
    }
    l.list   = range.kind == LIC_CEL_LIST ? range.list : NULL;
    l.map    = range.kind == LIC_CEL_MAP ? range.map : NULL;
    l.result = (lic_cel_value){ .kind = LIC_CEL_NULL };
    if (l.fold == LIC_CEL_FOLD_ALL || l.fold == LIC_CEL_FOLD_EXISTS)
        l.result = lic_cel_bool(l.fold == LIC_CEL_FOLD_ALL);
    m->height--;
    m->loops[m->loop_count++] = l;
    if (loop_size(&l) > 0)
        return true;
    m->next = i->b;
    return end_loop(m);
}

/* To the body of the next element, or to `end` with the result. */
static bool next_element(machine *m, bool stop, size_t body, size_t end)
{
    loop *l = &m->loops[m->loop_count - 1];

    l->index++;
    if (!stop && l->index < loop_size(l)) {
        m->next = body;
        return true;
    }
    m->next = end;
    return end_loop(m);
}

static bool do_loop_next(machine *m, const lic_cel_instruction *i)
{
    bool stop = false;

    if (!fold(m, &m->loops[m->loop_count - 1], &m->stack[--m->height], &stop))
        return false;
    return next_element(m, stop, i->a, m->next);
}

static bool do_loop_when(machine *m, const lic_cel_instruction *i)
{
    const lic_cel_value *test = &m->stack[--m->height];

    if (is_true(test))
        return true;
    if (!is_false(test))
        m->loops[m->loop_count - 1].result = as_operand(test);
    return next_element(m, false, i->a, i->b);
}

/* -------------------------------------------------------------- optionals */

static bool do_optional_map(machine *m, const lic_cel_instruction *i)
{
    lic_cel_value *optional = top_of(m);
    lic_cel_list  *list;

    if (optional->kind != LIC_CEL_OPTIONAL || optional->optional == NULL) {
        if (is_known(optional) && optional->kind != LIC_CEL_OPTIONAL)
            *optional = lic_cel_no_overload();
        *optional = off_chain(*optional);
        m->next   = i->a;
        return true;
    }
    list = lic_cel_take(&m->run, sizeof *list);
    if (list == NULL)
        return false;
    *list                     = (lic_cel_list){ optional->optional, 1 };
    m->loops[m->loop_count++] = (loop){ .list = list };
    m->height--;
    return true;
}

static bool do_optional_wrap(machine *m)
{
    lic_cel_value value = off_chain(*top_of(m));

    m->loop_count--;
    *top_of(m) = value;
    return !is_known(&value) || lic_cel_optional_of(&m->run, &value, top_of(m));
}

static void do_or_else(machine *m, const lic_cel_instruction *i)
{
    lic_cel_value *optional = top_of(m);

    if (optional->kind == LIC_CEL_OPTIONAL && optional->optional == NULL) {
        m->height--;
        return;
    }
    if (optional->kind == LIC_CEL_OPTIONAL && i->b == 1)
        *optional = *optional->optional;
    else if (optional->kind != LIC_CEL_OPTIONAL && is_known(optional))
        *optional = lic_cel_no_overload();
    *optional = off_chain(*optional);
    m->next   = i->a;
}

/* --------------------------------------------------------------- the machine */

/* The table of instructions as a switch. false: see lic_cel_run. */
static bool step(machine *m, const lic_cel_instruction *i)
{
    switch ((lic_cel_opcode)i->opcode) {
    case LIC_CEL_OP_CONSTANT:
        push(m, m->code->constants[i->a]);
        return true;
    case LIC_CEL_OP_PARAMETER:
        push(m, m->parameters[i->a]);
        if (top_of(m)->kind == LIC_CEL_UNKNOWN) {
            top_of(m)->unknown = UINT64_C(1) << i->a;
            top_of(m)->chain   = LIC_CEL_CHAIN_ROOT;
        }
        return true;
    case LIC_CEL_OP_LOCAL:
        push(m, loop_element(&m->loops[i->a]));
        return true;
    case LIC_CEL_OP_SELECT:
        return do_get(m, LIC_CEL_ACCESS_PLAIN, i->a);
    case LIC_CEL_OP_OPTIONAL_SELECT:
        return do_get(m, LIC_CEL_ACCESS_OPTIONAL, i->a);
    case LIC_CEL_OP_HAS:
        return do_get(m, LIC_CEL_ACCESS_HAS, i->a);
    case LIC_CEL_OP_CALL:
        return quick_call(m, i) || do_call(m, i);
    case LIC_CEL_OP_LIST:
        return do_list(m, i);
    case LIC_CEL_OP_MAP:
        return do_map(m, i);
    case LIC_CEL_OP_JUMP:
        m->next = i->a;
        return true;
    case LIC_CEL_OP_JUMP_IF_FALSE:
        if (is_false(top_of(m)))
            m->next = i->a;
        return true;
    case LIC_CEL_OP_JUMP_IF_TRUE:
        if (is_true(top_of(m)))
            m->next = i->a;
        return true;
    case LIC_CEL_OP_AND:
        do_join(m, false);
        return true;
    case LIC_CEL_OP_OR:
        do_join(m, true);
        return true;
    case LIC_CEL_OP_BRANCH:
        do_branch(m, i);
        return true;
    case LIC_CEL_OP_LOOP_BEGIN:
        return do_loop_begin(m, i);
    case LIC_CEL_OP_LOOP_NEXT:
        return do_loop_next(m, i);
    case LIC_CEL_OP_LOOP_WHEN:
        return do_loop_when(m, i);
    case LIC_CEL_OP_OPTIONAL_MAP:
        return do_optional_map(m, i);
    case LIC_CEL_OP_OPTIONAL_WRAP:
        return do_optional_wrap(m);
    case LIC_CEL_OP_OR_ELSE:
        do_or_else(m, i);
        return true;
    }
    return true;
}

static bool run(machine *m)
{
    while (m->next < m->code->count) {
        if (m->run.budget->steps == 0)
            return lic_cel_spend(&m->run, 1);
        m->run.budget->steps--;
        if (!step(m, &m->code->instructions[m->next++]))
            return false;
    }
    return true;
}

bool lic_cel_run_code(const lic_cel_code *code, const lic_cel_value *values, lic_arena *arena, lic_cel_budget *budget,
                      lic_cel_value *result, const char **limit)
{
    lic_cel_value stack[VALUES_AT_HAND] = { { 0 } };
    loop          loops[LOOPS_AT_HAND]  = { { 0 } };
    machine       m                     = { .code = code, .parameters = values, .stack = stack, .loops = loops };
    bool          ran;

    m.run.arena  = arena;
    m.run.budget = budget;
    if (code->max_stack > VALUES_AT_HAND)
        m.stack = lic_cel_take_array(&m.run, code->max_stack, sizeof *m.stack);
    if (code->max_loops > LOOPS_AT_HAND)
        m.loops = lic_cel_take_array(&m.run, code->max_loops, sizeof *m.loops);
    ran     = m.stack != NULL && m.loops != NULL && run(&m);
    *limit  = m.run.limit;
    *result = ran ? m.stack[0] : lic_cel_error("not evaluated");
    return ran;
}

bool lic_cel_evaluate(const lic_cel *cel, const lic_cel_value *values, lic_arena *arena, lic_cel_budget *budget,
                      lic_cel_value *result, const char **limit)
{
    return lic_cel_run_code(&cel->code, values, arena, budget, result, limit);
}
