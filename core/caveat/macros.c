/* Calls that are no calls: has, all, exists, exists_one, map, filter, optMap. A name with another number of arguments
 * is no macro and left to the checker.
 *
 * The depths are those of the comprehensions that cel-go makes of them. */
#include "caveat/parse.h"

typedef struct macro {
    lic_str      name;
    bool         member;
    uint32_t     arguments;
    lic_cel_fold fold;
} macro;

/* Of a fold: the range lies one edge below. */
typedef struct fold_depth {
    uint32_t least; /* without what was written */
    uint32_t test;
    uint32_t body;
} fold_depth;

static const macro folds[] = {
    { LICET_STR_INIT("all"), true, 2, LIC_CEL_FOLD_ALL },
    { LICET_STR_INIT("exists"), true, 2, LIC_CEL_FOLD_EXISTS },
    { LICET_STR_INIT("exists_one"), true, 2, LIC_CEL_FOLD_EXISTS_ONE },
    { LICET_STR_INIT("map"), true, 2, LIC_CEL_FOLD_MAP },
    { LICET_STR_INIT("map"), true, 3, LIC_CEL_FOLD_MAP },
    { LICET_STR_INIT("filter"), true, 2, LIC_CEL_FOLD_FILTER },
};

static bool is_call_of(const lic_cel_node *call, lic_str name, bool member, uint32_t arguments)
{
    return call->member == member && call->count == arguments + member && !call->leading_dot &&
           lic_str_equal(call->name, name);
}

/* has(a.b), and not has(a) or has(a.?b) */
static bool expand_has(lic_cel_parser *p, lic_cel_node *call)
{
    lic_cel_node *field = call->children[0];

    if (field->kind != LIC_CEL_NODE_SELECT || field->optional)
        return lic_cel_parser_fail(p, LICET_KIND_SYNTAX, field->offset, "has() wants a field, as in has(a.b)");
    call->kind     = LIC_CEL_NODE_HAS;
    call->name     = field->name;
    call->children = field->children;
    call->depth    = field->depth;
    return true;
}

/* ".name": a variable that no expression can mean, since what begins with a dot is never a variable. */
static bool hide_variable(lic_cel_parser *p, lic_cel_node *call, lic_str name)
{
    char *hidden = lic_arena_alloc(p->arena, name.size + 1); /* a text holds no name that were too long */

    if (hidden == NULL)
        return lic_cel_parser_memory_failed(p);
    hidden[0] = '.';
    memcpy(hidden + 1, name.data, name.size);
    call->name = (lic_str){ hidden, name.size + 1 };
    return true;
}

/* The first argument, which names the variable and goes. */
static bool take_variable(lic_cel_parser *p, lic_cel_node *call, bool may_hide)
{
    lic_cel_node *variable = call->children[1];

    if (variable->kind != LIC_CEL_NODE_IDENT || (variable->leading_dot && !may_hide))
        return lic_cel_parser_fail(p, LICET_KIND_SYNTAX, variable->offset,
                                   "the first argument must be a plain name: that of the variable");
    if (!variable->leading_dot && lic_str_equal(variable->name, LIC_STR("__result__")))
        return lic_cel_parser_fail(p, LICET_KIND_SYNTAX, variable->offset,
                                   "a variable can not be called \"__result__\"");
    call->name = variable->name;
    if (variable->leading_dot && !hide_variable(p, call, variable->name))
        return false;
    call->count--;
    memmove(call->children + 1, call->children + 2, (call->count - 1) * sizeof *call->children);
    return true;
}

static bool expand_fold(lic_cel_parser *p, lic_cel_node *call, lic_cel_fold fold)
{
    static const fold_depth depths[] = {
        [LIC_CEL_FOLD_ALL] = { 2, 0, 2 }, [LIC_CEL_FOLD_EXISTS] = { 3, 0, 2 }, [LIC_CEL_FOLD_EXISTS_ONE] = { 3, 0, 2 },
        [LIC_CEL_FOLD_MAP] = { 2, 2, 3 }, [LIC_CEL_FOLD_FILTER] = { 4, 0, 2 },
    };
    lic_cel_node *variable = call->children[1];
    fold_depth    depth;

    if (!take_variable(p, call, true))
        return false;
    if (fold == LIC_CEL_FOLD_FILTER && variable->leading_dot) {
        /* cel-go has e.map(x, p, x) for it, where the last ".x" is not the variable */
        fold                          = LIC_CEL_FOLD_MAP;
        call->children[call->count++] = variable;
    }
    depth       = depths[fold];
    call->kind  = LIC_CEL_NODE_FOLD;
    call->fold  = fold;
    call->depth = 0;
    if (call->count == 3) /* "test ? result + [body] : result" */
        depth.body++;
    return lic_cel_parser_deepen(p, call, NULL, depth.least) && lic_cel_parser_deepen(p, call, call->children[0], 1) &&
           (call->count == 2 || lic_cel_parser_deepen(p, call, call->children[1], depth.test)) &&
           lic_cel_parser_deepen(p, call, call->children[call->count - 1], depth.body);
}

/* target.hasValue() ? optional.of(body, with the variable being target.value()) : optional.none(), where a target that
 * is not a name gets one by one more comprehension. */
static bool expand_optional_map(lic_cel_parser *p, lic_cel_node *call)
{
    uint32_t more = call->children[0]->kind == LIC_CEL_NODE_IDENT ? 0 : 1;

    if (!take_variable(p, call, false))
        return false;
    call->kind  = LIC_CEL_NODE_OPTIONAL_MAP;
    call->depth = 0;
    return lic_cel_parser_deepen(p, call, NULL, 4 + more) && lic_cel_parser_deepen(p, call, call->children[0], 1) &&
           lic_cel_parser_deepen(p, call, call->children[1], 3 + more);
}

bool lic_cel_expand_macro(lic_cel_parser *p, lic_cel_node *call)
{
    if (is_call_of(call, LIC_STR("has"), false, 1))
        return expand_has(p, call);
    if (is_call_of(call, LIC_STR("optMap"), true, 2))
        return expand_optional_map(p, call);
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        if (is_call_of(call, folds[i].name, folds[i].member, folds[i].arguments))
            return expand_fold(p, call, folds[i].fold);
    }
    return true;
}
