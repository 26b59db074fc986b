/* From the leaves to the root with a stack of nodes being checked. cel-go checks the comprehensions that it makes of
 * macros; here a macro's type is worked out from the same steps without making them.
 *
 * An expression that is wrong has the type "error", which agrees with everything, so that checking goes on: of all
 * errors the leftmost is the one worth telling. */
#include "caveat/checker.h"

#include "caveat/cel.h"
#include "caveat/overloads.h"
#include "caveat/unify.h"

typedef struct task {
    lic_cel_node *node;
    uint32_t      next; /* step of the node's walk */
} task;

/* A macro's variable, in sight of the macro's body. */
typedef struct local {
    lic_str             name;
    const lic_cel_type *type;
} local;

typedef struct checker {
    lic_arena              *arena;
    lic_str                 text;
    const lic_cel_variable *variables;
    size_t                  variable_count;
    lic_cel_unifier         unifier;
    task                   *tasks;
    size_t                  task_count, task_capacity;
    local                  *locals; /* outermost first */
    size_t                  local_count, local_capacity;
    /* cel-go hides comparisons of two kinds of number from the checker, and forgets to once it has entered a
     * comprehension: 1 < 2.0 is refused, [1].all(x, x < 2.0) is not, nor is anything to the right of it. */
    bool          mixed_numbers;
    licet_status  status;
    uint32_t      error_offset; /* of the error told so far */
    licet_error **error;
} checker;

static const lic_cel_type *simple(lic_cel_type_kind kind)
{
    return lic_cel_type_simple(kind);
}

/* ------------------------------------------------------------------- errors */

/* Whether an error at this place is the one to tell: the leftmost is. Forgets the other. */
static bool may_tell(checker *c, uint32_t offset)
{
    if (c->status != LICET_OK && (c->status != LICET_SCHEMA_ERROR || offset >= c->error_offset))
        return false;
    if (c->error != NULL) {
        licet_error_free(*c->error);
        *c->error = NULL;
    }
    c->error_offset = offset;
    return true;
}

static bool memory_failed(checker *c)
{
    if (c->error != NULL) {
        licet_error_free(*c->error);
        *c->error = NULL;
    }
    c->status = lic_fail_memory(c->error);
    return false;
}

/* What went wrong in the unifier ends the check; false otherwise too, so that callers can return it. */
static bool unifier_failed(checker *c, uint32_t offset)
{
    if (c->unifier.failure == LIC_CEL_UNIFY_MEMORY)
        return memory_failed(c);
    if (c->unifier.failure == LIC_CEL_UNIFY_LIMIT && c->status != LICET_LIMIT_EXCEEDED) {
        c->error_offset = UINT32_MAX;
        c->status       = LICET_OK;
        if (may_tell(c, offset))
            c->status = lic_fail(c->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, lic_position_of(c->text, offset),
                                 "the types of the expression are too large to check");
    }
    return false;
}

static void undeclared(checker *c, const lic_cel_node *node, const char *what)
{
    if (may_tell(c, node->offset))
        c->status = lic_fail(c->error, LICET_SCHEMA_ERROR, LICET_KIND_NAME, lic_position_of(c->text, node->offset),
                             "undeclared reference to %Q: there is no %s of this name", &node->name, what);
}

/* Types are made finite for people: what is not known is dyn. */
static void add_type(checker *c, lic_text *text, const lic_cel_type *type)
{
    const lic_cel_type *known = lic_cel_substitute(&c->unifier, type, true);

    if (known != NULL)
        lic_cel_type_print(known, text);
}

static void expected_type(checker *c, uint32_t offset, const lic_cel_type *wanted, const lic_cel_type *found)
{
    lic_text text;
    size_t   middle;

    if (c->status != LICET_OK && (c->status != LICET_SCHEMA_ERROR || offset >= c->error_offset))
        return;
    lic_text_init(&text, c->arena->memory);
    add_type(c, &text, wanted);
    middle = text.size;
    add_type(c, &text, found);
    if (text.failed || c->unifier.failure == LIC_CEL_UNIFY_MEMORY)
        memory_failed(c);
    else if (may_tell(c, offset))
        c->status = lic_fail(c->error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, lic_position_of(c->text, offset),
                             "expected type %.*s but found %.*s", (int)middle, text.data, (int)(text.size - middle),
                             text.data + middle);
    lic_text_free(&text);
}

static void told_type(checker *c, uint32_t offset, const char *format, const lic_cel_type *type)
{
    lic_text text;

    if (c->status != LICET_OK && (c->status != LICET_SCHEMA_ERROR || offset >= c->error_offset))
        return;
    lic_text_init(&text, c->arena->memory);
    add_type(c, &text, type);
    if (text.failed || c->unifier.failure == LIC_CEL_UNIFY_MEMORY)
        memory_failed(c);
    else if (may_tell(c, offset))
        c->status = lic_fail(c->error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, lic_position_of(c->text, offset), format,
                             (int)text.size, text.data);
    lic_text_free(&text);
}

/* "found no matching overload for '_+_' applied to '(int, double)'", or "'string.(int)'" for members. */
static void no_overload(checker *c, uint32_t offset, lic_str name, const lic_cel_type *const *arguments, size_t count,
                        bool member)
{
    size_t   first = member ? 1 : 0; /* of those in parentheses */
    lic_text text;

    if (c->status != LICET_OK && (c->status != LICET_SCHEMA_ERROR || offset >= c->error_offset))
        return;
    lic_text_init(&text, c->arena->memory);
    if (member)
        add_type(c, &text, arguments[0]);
    lic_text_add(&text, member ? LIC_STR(".(") : LIC_STR("("));
    for (size_t i = first; i < count && i < 8; i++) {
        if (i > first)
            lic_text_add_literal(&text, ", ");
        add_type(c, &text, arguments[i]);
    }
    lic_text_add(&text, count > 8 ? LIC_STR(", ...)") : LIC_STR(")"));
    if (text.failed || c->unifier.failure == LIC_CEL_UNIFY_MEMORY)
        memory_failed(c);
    else if (may_tell(c, offset))
        c->status = lic_fail(c->error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, lic_position_of(c->text, offset),
                             "found no matching overload for \"%.*s\" applied to %.*s", LIC_STR_ARG(name),
                             (int)text.size, text.data);
    lic_text_free(&text);
}

/* ---------------------------------------------------------------- overloads */

/* The variables of one use of an overload, made when a pattern first names them. */
typedef struct instance {
    const lic_cel_type *a;
    const lic_cel_type *b;
} instance;

static const lic_cel_type *instance_variable(checker *c, const lic_cel_type **variable)
{
    if (*variable == NULL)
        *variable = lic_cel_fresh_variable(&c->unifier);
    return *variable;
}

static const lic_cel_type *new_type(checker *c, lic_cel_type_kind kind, const lic_cel_type *first,
                                    const lic_cel_type *second)
{
    const lic_cel_type *type      = NULL;
    bool                too_large = false;

    if (first != NULL && (second != NULL || kind != LIC_CEL_TYPE_MAP)) {
        type = lic_cel_type_new(c->arena, kind, first, second, &too_large);
        if (type == NULL && c->unifier.failure == LIC_CEL_UNIFY_FINE)
            c->unifier.failure = too_large ? LIC_CEL_UNIFY_LIMIT : LIC_CEL_UNIFY_MEMORY;
    }
    return type;
}

static const lic_cel_type *map_of_any(void)
{
    static const lic_cel_type string = { .kind = LIC_CEL_TYPE_STRING, .size = 1 };
    static const lic_cel_type any    = { .kind = LIC_CEL_TYPE_DYN, .size = 1 };
    static const lic_cel_type map    = {
           .kind = LIC_CEL_TYPE_MAP, .count = 2, .size = 3, .parameters = { &string, &any }
    };

    return &map;
}

/* NULL: the unifier failed. */
static const lic_cel_type *instantiate(checker *c, lic_cel_pattern pattern, instance *variables)
{
    static const lic_cel_type_kind plain[] = {
        [LIC_CEL_PATTERN_BOOL] = LIC_CEL_TYPE_BOOL,           [LIC_CEL_PATTERN_INT] = LIC_CEL_TYPE_INT,
        [LIC_CEL_PATTERN_UINT] = LIC_CEL_TYPE_UINT,           [LIC_CEL_PATTERN_DOUBLE] = LIC_CEL_TYPE_DOUBLE,
        [LIC_CEL_PATTERN_STRING] = LIC_CEL_TYPE_STRING,       [LIC_CEL_PATTERN_BYTES] = LIC_CEL_TYPE_BYTES,
        [LIC_CEL_PATTERN_DURATION] = LIC_CEL_TYPE_DURATION,   [LIC_CEL_PATTERN_TIMESTAMP] = LIC_CEL_TYPE_TIMESTAMP,
        [LIC_CEL_PATTERN_IPADDRESS] = LIC_CEL_TYPE_IPADDRESS, [LIC_CEL_PATTERN_DYN] = LIC_CEL_TYPE_DYN,
    };
    const lic_cel_type *a, *b;

    if (pattern < LIC_CEL_PATTERN_MAP_OF_ANY)
        return simple(plain[pattern]);
    if (pattern == LIC_CEL_PATTERN_MAP_OF_ANY)
        return map_of_any();
    if (pattern == LIC_CEL_PATTERN_B)
        return instance_variable(c, &variables->b);
    if (pattern == LIC_CEL_PATTERN_OPTIONAL_B)
        return new_type(c, LIC_CEL_TYPE_OPTIONAL, instance_variable(c, &variables->b), NULL);
    a = instance_variable(c, &variables->a);
    switch (pattern) {
    case LIC_CEL_PATTERN_A:
        return a;
    case LIC_CEL_PATTERN_LIST_A:
        return new_type(c, LIC_CEL_TYPE_LIST, a, NULL);
    case LIC_CEL_PATTERN_TYPE_A:
        return new_type(c, LIC_CEL_TYPE_TYPE, a, NULL);
    case LIC_CEL_PATTERN_OPTIONAL_A:
        return new_type(c, LIC_CEL_TYPE_OPTIONAL, a, NULL);
    case LIC_CEL_PATTERN_OPTIONAL_LIST_A:
        return new_type(c, LIC_CEL_TYPE_OPTIONAL, new_type(c, LIC_CEL_TYPE_LIST, a, NULL), NULL);
    default: /* of maps */
        b = instance_variable(c, &variables->b);
        a = new_type(c, LIC_CEL_TYPE_MAP, a, b);
        return pattern == LIC_CEL_PATTERN_MAP_AB ? a : new_type(c, LIC_CEL_TYPE_OPTIONAL, a, NULL);
    }
}

/* The result type if this overload fits; NULL: it does not, or the unifier failed. */
static const lic_cel_type *try_overload(checker *c, const lic_cel_overload *overload,
                                        const lic_cel_type *const *arguments)
{
    const lic_cel_type *wanted[LIC_CEL_MAX_ARGUMENTS];
    instance            variables = { NULL, NULL };
    const lic_cel_type *result;

    for (size_t i = 0; i < overload->count; i++) {
        wanted[i] = instantiate(c, (lic_cel_pattern)overload->arguments[i], &variables);
        if (wanted[i] == NULL)
            return NULL;
    }
    if (!lic_cel_assignable(&c->unifier, arguments, wanted, overload->count))
        return NULL;
    result = instantiate(c, (lic_cel_pattern)overload->result, &variables);
    return result == NULL ? NULL : lic_cel_substitute(&c->unifier, result, false);
}

/* What a function of these arguments gives: dyn where several overloads fit and disagree. The type "error", with an
 * error told: none fits. NULL: the unifier failed. */
static const lic_cel_type *resolve(checker *c, uint32_t offset, lic_cel_function function, bool member,
                                   const lic_cel_type *const *arguments, size_t count)
{
    size_t                  overload_count;
    const lic_cel_overload *overloads = lic_cel_overloads_of(function, &overload_count);
    const lic_cel_type     *result    = NULL;

    for (size_t i = 0; i < overload_count; i++) {
        const lic_cel_type *one;

        if (overloads[i].member != member || overloads[i].count != count || (overloads[i].mixed && !c->mixed_numbers))
            continue;
        one = try_overload(c, &overloads[i], arguments);
        if (one != NULL && result == NULL)
            result = one;
        else if (one != NULL && result->kind != LIC_CEL_TYPE_DYN && !lic_cel_same_type(&c->unifier, one, result))
            result = simple(LIC_CEL_TYPE_DYN);
    }
    if (c->unifier.failure != LIC_CEL_UNIFY_FINE)
        return NULL;
    if (result != NULL)
        return result;
    no_overload(c, offset, lic_cel_function_name(function), arguments, count, member);
    return simple(LIC_CEL_TYPE_ERROR);
}

/* `type` may stand where `wanted` is wanted. */
static bool assert_type(checker *c, uint32_t offset, const lic_cel_type *type, const lic_cel_type *wanted)
{
    if (!lic_cel_assignable(&c->unifier, &type, &wanted, 1) && c->unifier.failure == LIC_CEL_UNIFY_FINE)
        expected_type(c, offset, wanted, type);
    return c->unifier.failure == LIC_CEL_UNIFY_FINE;
}

/* -------------------------------------------------------------------- names */

static bool find_local(const checker *c, lic_str name, uint32_t *index)
{
    for (size_t i = c->local_count; i > 0; i--) {
        if (lic_str_equal(c->locals[i - 1].name, name)) {
            *index = (uint32_t)(i - 1);
            return true;
        }
    }
    return false;
}

static bool find_variable(const checker *c, lic_str name, uint32_t *index)
{
    for (size_t i = 0; i < c->variable_count; i++) {
        if (lic_str_equal(c->variables[i].name, name)) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

/* Types that have a name in expressions. The type of list, map and optional_type as values is only "type": nothing
 * about their parameters ever matters. */
static bool find_type(lic_str name)
{
    static const lic_str types[] = {
        LICET_STR_INIT("bool"),          LICET_STR_INIT("bytes"),
        LICET_STR_INIT("double"),        LICET_STR_INIT("google.protobuf.Duration"),
        LICET_STR_INIT("int"),           LICET_STR_INIT("list"),
        LICET_STR_INIT("map"),           LICET_STR_INIT("null_type"),
        LICET_STR_INIT("string"),        LICET_STR_INIT("google.protobuf.Timestamp"),
        LICET_STR_INIT("type"),          LICET_STR_INIT("uint"),
        LICET_STR_INIT("optional_type"),
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (lic_str_equal(name, types[i]))
            return true;
    }
    return false;
}

static const lic_cel_type *means_type(lic_cel_node *node, lic_str name)
{
    node->kind         = LIC_CEL_NODE_IDENT;
    node->count        = 0; /* of a qualified name: it is one now */
    node->meaning      = LIC_CEL_MEANS_TYPE;
    node->name         = name;
    node->literal.kind = LIC_CEL_TYPE;
    node->literal.text = name;
    return simple(LIC_CEL_TYPE_TYPE);
}

static const lic_cel_type *check_ident(checker *c, lic_cel_node *node)
{
    bool local = find_local(c, node->name, &node->index);

    if (local && !node->leading_dot) {
        node->meaning = LIC_CEL_MEANS_LOCAL;
        return c->locals[node->index].type;
    }
    node->shadowed = local;
    if (find_variable(c, node->name, &node->index)) {
        node->meaning = LIC_CEL_MEANS_PARAMETER;
        return c->variables[node->index].type;
    }
    if (find_type(node->name))
        return means_type(node, node->name);
    undeclared(c, node, "parameter");
    return simple(LIC_CEL_TYPE_ERROR);
}

/* "a.b.c", when the node is a chain of fields of a name that no macro's variable has. The text between may hold blanks,
 * so the names are put together anew. false: no such chain, or out of memory (c->status). */
static bool qualified_name(checker *c, const lic_cel_node *node, lic_str *name)
{
    const lic_cel_node *first = node;
    size_t              size  = 0, at;
    uint32_t            index;
    char               *text;

    for (; first->kind == LIC_CEL_NODE_SELECT && !first->optional; first = first->children[0])
        size += first->name.size + 1;
    if (first->kind != LIC_CEL_NODE_IDENT || (find_local(c, first->name, &index) && !first->leading_dot))
        return false;
    size += first->name.size;
    text = lic_arena_alloc(c->arena, size);
    if (text == NULL)
        return memory_failed(c);
    for (at = size; node != first; node = node->children[0]) {
        at -= node->name.size;
        memcpy(text + at, node->name.data, node->name.size);
        text[--at] = '.';
    }
    memcpy(text, first->name.data, first->name.size);
    *name = (lic_str){ text, size };
    return true;
}

/* ------------------------------------------------------------ kinds of nodes */

static const lic_cel_type *child_type(const lic_cel_node *node, size_t index)
{
    return node->children[index]->type;
}

static const lic_cel_type *optional_of(checker *c, const lic_cel_type *type)
{
    return new_type(c, LIC_CEL_TYPE_OPTIONAL, type, NULL);
}

static const lic_cel_type *unwrap_optional(const lic_cel_type *type)
{
    return type->kind == LIC_CEL_TYPE_OPTIONAL ? type->parameters[0] : type;
}

/* Of the field `name` of the only child, which is checked. NULL: the unifier failed. */
static const lic_cel_type *field_type(checker *c, const lic_cel_node *node, bool optional)
{
    const lic_cel_type *operand = lic_cel_substitute(&c->unifier, child_type(node, 0), false);
    const lic_cel_type *dyn     = simple(LIC_CEL_TYPE_DYN);
    const lic_cel_type *target, *result = dyn;

    if (operand == NULL)
        return NULL;
    target = unwrap_optional(operand);
    switch (target->kind) {
    case LIC_CEL_TYPE_MAP:
        result = target->parameters[1];
        break;
    case LIC_CEL_TYPE_VARIABLE:
        lic_cel_assignable(&c->unifier, &dyn, &target, 1);
        break;
    case LIC_CEL_TYPE_DYN:
    case LIC_CEL_TYPE_ERROR:
        break;
    default:
        told_type(c, node->offset, "type %.*s does not support field selection", target);
    }
    if (optional || target != operand)
        result = optional_of(c, result);
    return result == NULL ? NULL : lic_cel_substitute(&c->unifier, result, false);
}

/* `elements` so far and one more. */
static const lic_cel_type *join(checker *c, const lic_cel_type *elements, const lic_cel_type *more)
{
    if (elements == NULL)
        return more;
    if (lic_cel_assignable(&c->unifier, &elements, &more, 1))
        return lic_cel_most_general(&c->unifier, elements, more);
    return c->unifier.failure == LIC_CEL_UNIFY_FINE ? simple(LIC_CEL_TYPE_DYN) : NULL;
}

/* Of an item or a value; `optional`: a "?" stands before it, and what is in the optional counts. */
static const lic_cel_type *item_type(checker *c, const lic_cel_node *item, bool optional)
{
    const lic_cel_type *inner = unwrap_optional(item->type), *wanted;

    if (!optional)
        return item->type;
    if (inner == item->type && inner->kind != LIC_CEL_TYPE_DYN) {
        wanted = optional_of(c, inner);
        if (wanted != NULL)
            expected_type(c, item->offset, wanted, inner);
    }
    return inner;
}

static const lic_cel_type *check_list(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *elements = NULL;

    for (size_t i = 0; i < node->count; i++) {
        elements = join(c, elements, item_type(c, node->children[i], node->children[i]->marked));
        if (elements == NULL)
            return NULL;
    }
    if (elements == NULL)
        elements = lic_cel_fresh_variable(&c->unifier);
    return new_type(c, LIC_CEL_TYPE_LIST, elements, NULL);
}

static const lic_cel_type *check_map(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *keys = NULL, *values = NULL;

    for (size_t i = 0; i < node->count; i += 2) {
        keys   = join(c, keys, node->children[i]->type);
        values = join(c, values, item_type(c, node->children[i + 1], node->children[i]->marked));
        if (keys == NULL || values == NULL)
            return NULL;
    }
    if (node->count == 0) {
        keys   = lic_cel_fresh_variable(&c->unifier);
        values = lic_cel_fresh_variable(&c->unifier);
    }
    return new_type(c, LIC_CEL_TYPE_MAP, keys, values);
}

static const lic_cel_type *check_logic(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *boolean = simple(LIC_CEL_TYPE_BOOL), *result = boolean;

    for (size_t i = 0; i < node->count; i++) {
        const lic_cel_type *operand = child_type(node, i);

        if (lic_cel_assignable(&c->unifier, &operand, &boolean, 1))
            continue;
        if (c->unifier.failure != LIC_CEL_UNIFY_FINE)
            return NULL;
        expected_type(c, node->children[i]->offset, boolean, operand);
        result = simple(LIC_CEL_TYPE_ERROR);
    }
    return result;
}

/* All children are arguments. */
static const lic_cel_type *check_arguments(checker *c, const lic_cel_node *node)
{
    const lic_cel_type  *few[LIC_CEL_MAX_ARGUMENTS];
    const lic_cel_type **types = few;

    if (node->count > LIC_CEL_MAX_ARGUMENTS) {
        types = lic_new_array(c->arena, node->count, const lic_cel_type *);
        if (types == NULL) {
            memory_failed(c);
            return NULL;
        }
    }
    for (size_t i = 0; i < node->count; i++)
        types[i] = child_type(node, i);
    return resolve(c, node->offset, node->function, node->member, types, node->count);
}

/* Not an operator, its arguments checked, its target not yet: a function of the name "optional.of" takes the target
 * for a part of its name. */
static void resolve_name(checker *c, lic_cel_node *node)
{
    lic_str name;

    if (node->function != LIC_CEL_FUNCTION_COUNT)
        return;
    if (node->member && node->children[0]->kind == LIC_CEL_NODE_IDENT &&
        lic_str_equal(node->children[0]->name, LIC_STR("optional"))) {
        size_t size = sizeof "optional." - 1 + node->name.size;
        char  *text = lic_arena_alloc(c->arena, size);

        if (text == NULL) {
            memory_failed(c);
            return;
        }
        memcpy(text, "optional.", sizeof "optional." - 1);
        memcpy(text + sizeof "optional." - 1, node->name.data, node->name.size);
        name           = (lic_str){ text, size };
        node->function = lic_cel_function_find(name);
        if (node->function != LIC_CEL_FUNCTION_COUNT) {
            node->name   = name;
            node->member = false;
            node->children++;
            node->count--;
            return;
        }
    }
    node->function = lic_cel_function_find(node->name);
}

static const lic_cel_type *check_call(checker *c, const lic_cel_node *node)
{
    if (node->function != LIC_CEL_FUNCTION_COUNT)
        return check_arguments(c, node);
    undeclared(c, node, "function");
    return simple(LIC_CEL_TYPE_ERROR);
}

/* What the variable of a fold over this range is. */
static const lic_cel_type *element_type(checker *c, const lic_cel_node *range)
{
    const lic_cel_type *type = lic_cel_substitute(&c->unifier, range->type, false);
    const lic_cel_type *dyn  = simple(LIC_CEL_TYPE_DYN);

    if (type == NULL)
        return NULL;
    switch (type->kind) {
    case LIC_CEL_TYPE_LIST:
    case LIC_CEL_TYPE_MAP:
        return type->parameters[0];
    case LIC_CEL_TYPE_VARIABLE:
        lic_cel_assignable(&c->unifier, &dyn, &type, 1);
        return dyn;
    case LIC_CEL_TYPE_DYN:
    case LIC_CEL_TYPE_ERROR:
        return dyn;
    default:
        told_type(c, range->offset, "type %.*s can not be gone through: a list or a map can", type);
        return simple(LIC_CEL_TYPE_ERROR);
    }
}

static const lic_cel_type *conditional(checker *c, uint32_t offset, const lic_cel_type *condition,
                                       const lic_cel_type *then, const lic_cel_type *otherwise)
{
    const lic_cel_type *arguments[] = { condition, then, otherwise };

    return resolve(c, offset, LIC_CEL_FUNCTION_COUNT, false, arguments, 3);
}

/* The list that map() and filter() make: it begins as [] and becomes "list + [element]" with each element, under a
 * test or always (test == NULL). */
static const lic_cel_type *collect(checker *c, uint32_t offset, const lic_cel_type *test, const lic_cel_type *element)
{
    const lic_cel_type *list = new_type(c, LIC_CEL_TYPE_LIST, lic_cel_fresh_variable(&c->unifier), NULL);
    const lic_cel_type *more = new_type(c, LIC_CEL_TYPE_LIST, element, NULL);
    const lic_cel_type *sum[2], *step;

    if (list == NULL || more == NULL)
        return NULL;
    sum[0] = list;
    sum[1] = more;
    step   = resolve(c, offset, LIC_CEL_FN_ADD, false, sum, 2);
    if (step != NULL && test != NULL)
        step = conditional(c, offset, test, step, list);
    if (step == NULL || !assert_type(c, offset, list, step))
        return NULL;
    return lic_cel_substitute(&c->unifier, list, false);
}

static const lic_cel_type *check_fold(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *body = child_type(node, node->count - 1), *number = simple(LIC_CEL_TYPE_INT);

    switch (node->fold) {
    case LIC_CEL_FOLD_MAP:
        return collect(c, node->offset, node->count == 3 ? child_type(node, 1) : NULL, body);
    case LIC_CEL_FOLD_FILTER:
        return collect(c, node->offset, body, c->locals[c->local_count - 1].type);
    case LIC_CEL_FOLD_EXISTS_ONE: /* "body ? count + 1 : count" */
        return conditional(c, node->offset, body, number, number) == NULL ? NULL : simple(LIC_CEL_TYPE_BOOL);
    default:
        return assert_type(c, node->children[1]->offset, body, simple(LIC_CEL_TYPE_BOOL)) ? simple(LIC_CEL_TYPE_BOOL)
                                                                                          : NULL;
    }
}

/* What the variable of optMap() is: target.value(), if target.hasValue(). */
static const lic_cel_type *wrapped_type(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *target = child_type(node, 0);

    if (resolve(c, node->offset, LIC_CEL_FN_HAS_VALUE, true, &target, 1) == NULL)
        return NULL;
    return resolve(c, node->offset, LIC_CEL_FN_VALUE, true, &target, 1);
}

/* "hasValue ? optional.of(body) : optional.none()" */
static const lic_cel_type *check_optional_map(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *body = child_type(node, 1), *some, *none;

    some = resolve(c, node->offset, LIC_CEL_FN_OPTIONAL_OF, false, &body, 1);
    none = resolve(c, node->offset, LIC_CEL_FN_OPTIONAL_NONE, false, NULL, 0);
    if (some == NULL || none == NULL)
        return NULL;
    return conditional(c, node->offset, simple(LIC_CEL_TYPE_BOOL), some, none);
}

/* --------------------------------------------------------------------- walk */

static bool push_task(checker *c, lic_cel_node *node)
{
    if (!lic_arena_grow(c->arena, (void **)&c->tasks, &c->task_capacity, c->task_count + 1, sizeof *c->tasks))
        return memory_failed(c);
    c->tasks[c->task_count++] = (task){ node, 0 };
    return true;
}

/* Between the range of a macro and its body. */
static bool enter_scope(checker *c, const lic_cel_node *node)
{
    const lic_cel_type *type =
        node->kind == LIC_CEL_NODE_FOLD ? element_type(c, node->children[0]) : wrapped_type(c, node);

    if (type == NULL)
        return unifier_failed(c, node->offset);
    if (!lic_arena_grow(c->arena, (void **)&c->locals, &c->local_capacity, c->local_count + 1, sizeof *c->locals))
        return memory_failed(c);
    c->locals[c->local_count++] = (local){ node->name, type };
    c->mixed_numbers            = true;
    return true;
}

static const lic_cel_type *literal_type(const lic_cel_node *node)
{
    static const lic_cel_type_kind kinds[] = {
        [LIC_CEL_NULL] = LIC_CEL_TYPE_NULL,     [LIC_CEL_BOOL] = LIC_CEL_TYPE_BOOL,
        [LIC_CEL_INT] = LIC_CEL_TYPE_INT,       [LIC_CEL_UINT] = LIC_CEL_TYPE_UINT,
        [LIC_CEL_DOUBLE] = LIC_CEL_TYPE_DOUBLE, [LIC_CEL_STRING] = LIC_CEL_TYPE_STRING,
        [LIC_CEL_BYTES] = LIC_CEL_TYPE_BYTES,
    };

    return simple(kinds[node->literal.kind]);
}

/* All children are checked. */
static const lic_cel_type *type_of(checker *c, lic_cel_node *node)
{
    switch (node->kind) {
    case LIC_CEL_NODE_LITERAL:
        return literal_type(node);
    case LIC_CEL_NODE_IDENT:
        return check_ident(c, node);
    case LIC_CEL_NODE_SELECT:
        return field_type(c, node, node->optional);
    case LIC_CEL_NODE_HAS:
        return field_type(c, node, false) == NULL ? NULL : simple(LIC_CEL_TYPE_BOOL);
    case LIC_CEL_NODE_CALL:
        return check_call(c, node);
    case LIC_CEL_NODE_AND:
    case LIC_CEL_NODE_OR:
        return check_logic(c, node);
    case LIC_CEL_NODE_CONDITIONAL:
        return conditional(c, node->offset, child_type(node, 0), child_type(node, 1), child_type(node, 2));
    case LIC_CEL_NODE_LIST:
        return check_list(c, node);
    case LIC_CEL_NODE_MAP:
        return check_map(c, node);
    case LIC_CEL_NODE_FOLD:
        return check_fold(c, node);
    case LIC_CEL_NODE_OPTIONAL_MAP:
        break;
    }
    return check_optional_map(c, node);
}

static bool is_macro_with_variable(const lic_cel_node *node)
{
    return node->kind == LIC_CEL_NODE_FOLD || node->kind == LIC_CEL_NODE_OPTIONAL_MAP;
}

static bool finish(checker *c, lic_cel_node *node)
{
    const lic_cel_type *type = type_of(c, node);

    if (is_macro_with_variable(node))
        c->local_count--;
    c->task_count--;
    if (type == NULL)
        return unifier_failed(c, node->offset);
    node->type = type;
    return c->status == LICET_OK || c->status == LICET_SCHEMA_ERROR;
}

static bool is_protobuf(const checker *c, lic_str name)
{
    uint32_t index;

    return lic_str_starts_with(name, LIC_STR("google.protobuf.")) && !find_variable(c, LIC_STR("google"), &index);
}

/* Fields of a name are looked up as one long name first. *found: it is a type. */
static bool try_qualified(checker *c, lic_cel_node *node, bool *found)
{
    lic_str name;

    *found = false;
    if (node->kind != LIC_CEL_NODE_SELECT || node->optional || !qualified_name(c, node, &name))
        return c->status != LICET_OUT_OF_MEMORY;
    if (find_type(name)) {
        node->type = means_type(node, name);
        *found     = true;
    } else if (is_protobuf(c, name)) {
        if (may_tell(c, node->offset))
            c->status = lic_fail(c->error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, lic_position_of(c->text, node->offset),
                                 "licet does not support messages of protobuf: %Q", &name);
        node->type = simple(LIC_CEL_TYPE_ERROR);
        *found     = true;
    }
    c->task_count -= *found;
    return true;
}

/* cel-go checks the arguments of a member function before its target. */
static uint32_t child_at_step(const lic_cel_node *node, uint32_t step)
{
    if (node->kind != LIC_CEL_NODE_CALL || !node->member)
        return step;
    return step + 1 < node->count ? step + 1 : 0;
}

static bool step(checker *c)
{
    task         *top  = &c->tasks[c->task_count - 1];
    lic_cel_node *node = top->node;
    uint32_t      next = top->next;
    bool          found;

    if (next == 0) {
        if (!try_qualified(c, node, &found))
            return false;
        if (found)
            return true;
    }
    if (node->kind == LIC_CEL_NODE_CALL && next + node->member == node->count) {
        bool was_member = node->member;

        resolve_name(c, node);
        if (c->status == LICET_OUT_OF_MEMORY)
            return false;
        if (was_member != node->member)
            return finish(c, node);
    }
    if (next == node->count)
        return finish(c, node);
    if (next == 1 && is_macro_with_variable(node) && !enter_scope(c, node))
        return false;
    top->next++;
    return push_task(c, node->children[child_at_step(node, next)]);
}

licet_status lic_cel_check(lic_arena *arena, lic_str text, lic_cel_node *root, const lic_cel_variable *variables,
                           size_t variable_count, const lic_cel_type **type, licet_error **error)
{
    checker c = { .arena          = arena,
                  .text           = text,
                  .variables      = variables,
                  .variable_count = variable_count,
                  .status         = LICET_OK,
                  .error          = error };

    *type = NULL;
    lic_cel_unifier_init(&c.unifier, arena);
    if (push_task(&c, root)) {
        while (c.task_count > 0 && step(&c)) {
        }
    }
    if (c.status != LICET_OK)
        return c.status;
    *type = lic_cel_substitute(&c.unifier, root->type, true);
    if (*type == NULL)
        unifier_failed(&c, root->offset);
    return c.status;
}

/* --------------------------------------------------------------------- used */

static void use_name(lic_str name, const lic_cel_variable *variables, size_t variable_count, uint64_t *used)
{
    for (size_t i = 0; i < variable_count && i < 64; i++) {
        if (lic_str_equal(name, variables[i].name))
            *used |= UINT64_C(1) << i;
    }
}

/* Macros whose variable cel-go writes into the tree once more. */
static bool repeats_variable(const lic_cel_node *node)
{
    return node->kind == LIC_CEL_NODE_OPTIONAL_MAP ||
           (node->kind == LIC_CEL_NODE_FOLD && node->fold == LIC_CEL_FOLD_FILTER);
}

bool lic_cel_find_used(lic_arena *arena, const lic_cel_node *root, const lic_cel_variable *variables,
                       size_t variable_count, uint64_t *used)
{
    const lic_cel_node **stack = NULL;
    size_t               count = 0, capacity = 0;

    *used = 0;
    if (!lic_arena_grow(arena, (void **)&stack, &capacity, 1, sizeof *stack))
        return false;
    stack[count++] = root;
    while (count > 0) {
        const lic_cel_node *node = stack[--count];
        size_t              each = node->kind == LIC_CEL_NODE_MAP ? 2 : 1;

        if ((node->kind == LIC_CEL_NODE_IDENT && !node->shadowed) || repeats_variable(node))
            use_name(node->name, variables, variable_count, used);
        if (!lic_arena_grow(arena, (void **)&stack, &capacity, count + node->count, sizeof *stack))
            return false;
        for (size_t i = each - 1; i < node->count; i += each)
            stack[count++] = node->children[i];
    }
    return true;
}
