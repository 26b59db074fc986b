/* cel-go copies its substitutions before every attempt; here a trail takes back what a failed one did. An attempt is a
 * conjunction: the first disagreement ends it. */
#include "caveat/unify.h"

void lic_cel_unifier_init(lic_cel_unifier *u, lic_arena *arena)
{
    *u = (lic_cel_unifier){ .arena = arena, .steps = LIC_CEL_CHECK_STEPS };
}

static bool failed(lic_cel_unifier *u, lic_cel_unify_failure failure)
{
    if (u->failure == LIC_CEL_UNIFY_FINE)
        u->failure = failure;
    return false;
}

static bool pay(lic_cel_unifier *u)
{
    if (u->failure != LIC_CEL_UNIFY_FINE)
        return false;
    return u->steps-- > 0 || failed(u, LIC_CEL_UNIFY_LIMIT);
}

const lic_cel_type *lic_cel_fresh_variable(lic_cel_unifier *u)
{
    const lic_cel_type *variable = lic_cel_type_variable(u->arena, (uint32_t)u->variable_count);

    if (variable == NULL || !lic_arena_grow(u->arena, (void **)&u->bindings, &u->variable_capacity,
                                            u->variable_count + 1, sizeof *u->bindings)) {
        failed(u, LIC_CEL_UNIFY_MEMORY);
        return NULL;
    }
    u->bindings[u->variable_count++] = NULL;
    return variable;
}

static const lic_cel_type *binding_of(const lic_cel_unifier *u, const lic_cel_type *type)
{
    return type->kind == LIC_CEL_TYPE_VARIABLE ? u->bindings[type->variable] : NULL;
}

static bool bind(lic_cel_unifier *u, const lic_cel_type *variable, const lic_cel_type *type)
{
    if (!lic_arena_grow(u->arena, (void **)&u->trail, &u->trail_capacity, u->trail_count + 1, sizeof *u->trail))
        return failed(u, LIC_CEL_UNIFY_MEMORY);
    u->trail[u->trail_count++]      = (lic_cel_undo){ variable->variable, u->bindings[variable->variable] };
    u->bindings[variable->variable] = type;
    return true;
}

static void undo(lic_cel_unifier *u)
{
    while (u->trail_count > 0) {
        lic_cel_undo last = u->trail[--u->trail_count];

        u->bindings[last.variable] = last.binding;
    }
}

static bool walk_push(lic_cel_unifier *u, const lic_cel_type *first, const lic_cel_type *second)
{
    if (!lic_arena_grow(u->arena, (void **)&u->walk, &u->walk_capacity, u->walk_count + 1, sizeof *u->walk))
        return failed(u, LIC_CEL_UNIFY_MEMORY);
    u->walk[u->walk_count++] = (lic_cel_task){ first, second, NULL };
    return true;
}

static bool is_dyn_or_error(const lic_cel_type *type)
{
    return type->kind == LIC_CEL_TYPE_DYN || type->kind == LIC_CEL_TYPE_ERROR;
}

/* ------------------------------------------------------------------ helpers */

bool lic_cel_same_type(lic_cel_unifier *u, const lic_cel_type *first, const lic_cel_type *second)
{
    bool same = true;

    u->walk_count = 0;
    if (!walk_push(u, first, second))
        return false;
    while (same && u->walk_count > 0) {
        lic_cel_task task = u->walk[--u->walk_count];

        if (!pay(u))
            return false;
        if (task.first == task.second)
            continue;
        same = task.first->kind == task.second->kind && task.first->count == task.second->count &&
               task.first->size == task.second->size && task.first->variable == task.second->variable;
        for (size_t i = 0; same && i < task.first->count; i++)
            same = walk_push(u, task.first->parameters[i], task.second->parameters[i]);
    }
    return same;
}

/* Whether `first` says no more than `second`: where they differ it has dyn or a variable. */
static bool is_less_specific(lic_cel_unifier *u, const lic_cel_type *first, const lic_cel_type *second)
{
    bool less = true;

    u->walk_count = 0;
    if (!walk_push(u, first, second))
        return false;
    while (less && u->walk_count > 0) {
        lic_cel_task task = u->walk[--u->walk_count];

        if (!pay(u))
            return false;
        if (task.first->kind == LIC_CEL_TYPE_DYN || task.first->kind == LIC_CEL_TYPE_VARIABLE)
            continue;
        less = task.first->kind == task.second->kind;
        if (task.first->kind == LIC_CEL_TYPE_TYPE)
            continue;
        for (size_t i = 0; less && i < task.first->count; i++)
            less = walk_push(u, task.first->parameters[i], task.second->parameters[i]);
    }
    return less;
}

const lic_cel_type *lic_cel_most_general(lic_cel_unifier *u, const lic_cel_type *first, const lic_cel_type *second)
{
    return is_less_specific(u, first, second) ? first : second;
}

/* The occurs check: a variable can't stand for a type that it is a part of. */
static bool occurs(lic_cel_unifier *u, const lic_cel_type *variable, const lic_cel_type *within)
{
    u->walk_count = 0;
    if (!walk_push(u, within, NULL))
        return true;
    while (u->walk_count > 0) {
        const lic_cel_type *type  = u->walk[--u->walk_count].first;
        const lic_cel_type *bound = binding_of(u, type);

        if (!pay(u) || (type->kind == LIC_CEL_TYPE_VARIABLE && type->variable == variable->variable))
            return true;
        if (!type->open)
            continue;
        if (bound != NULL && !walk_push(u, bound, NULL))
            return true;
        for (size_t i = 0; i < type->count; i++) {
            if (!walk_push(u, type->parameters[i], NULL))
                return true;
        }
    }
    return false;
}

static bool built_push(lic_cel_unifier *u, const lic_cel_type *type)
{
    if (!lic_arena_grow(u->arena, (void **)&u->built, &u->built_capacity, u->built_count + 1, sizeof *u->built))
        return failed(u, LIC_CEL_UNIFY_MEMORY);
    u->built[u->built_count++] = type;
    return true;
}

/* The parameters of `type` lie on the stack of built types: they become one type. */
static bool rebuild(lic_cel_unifier *u, const lic_cel_type *type)
{
    const lic_cel_type **parameters = u->built + u->built_count - type->count;
    bool                 too_large  = false;
    const lic_cel_type  *made       = type;

    if (parameters[0] != type->parameters[0] || (type->count == 2 && parameters[1] != type->parameters[1]))
        made =
            lic_cel_type_new(u->arena, type->kind, parameters[0], type->count == 2 ? parameters[1] : NULL, &too_large);
    if (made == NULL)
        return failed(u, too_large ? LIC_CEL_UNIFY_LIMIT : LIC_CEL_UNIFY_MEMORY);
    u->built_count -= type->count;
    return built_push(u, made);
}

/* Children before parents: a task with `second` set is a parent whose children are built. */
const lic_cel_type *lic_cel_substitute(lic_cel_unifier *u, const lic_cel_type *type, bool finally)
{
    if (!type->open)
        return u->failure == LIC_CEL_UNIFY_FINE ? type : NULL;
    u->walk_count  = 0;
    u->built_count = 0;
    if (!walk_push(u, type, NULL))
        return NULL;
    while (u->walk_count > 0) {
        lic_cel_task        task  = u->walk[--u->walk_count];
        const lic_cel_type *bound = binding_of(u, task.first);
        bool                fine;

        if (!pay(u))
            return NULL;
        if (task.second != NULL) {
            fine = rebuild(u, task.second);
        } else if (bound != NULL) {
            fine = walk_push(u, bound, NULL);
        } else if (task.first->kind == LIC_CEL_TYPE_VARIABLE) {
            fine = built_push(u, finally ? lic_cel_type_simple(LIC_CEL_TYPE_DYN) : task.first);
        } else if (!task.first->open) {
            fine = built_push(u, task.first);
        } else {
            fine = walk_push(u, task.first, task.first);
            for (size_t i = task.first->count; fine && i > 0; i--)
                fine = walk_push(u, task.first->parameters[i - 1], NULL);
        }
        if (!fine)
            return NULL;
    }
    return u->built[0];
}

/* --------------------------------------------------------------- assignable */

static bool put_off(lic_cel_unifier *u, lic_cel_task task)
{
    if (!lic_arena_grow(u->arena, (void **)&u->tasks, &u->task_capacity, u->task_count + 1, sizeof *u->tasks))
        return failed(u, LIC_CEL_UNIFY_MEMORY);
    u->tasks[u->task_count++] = task;
    return true;
}

/* cel-go's legacy rule: null may stand for anything that was once a message. */
static bool takes_null(const lic_cel_type *type)
{
    return type->kind == LIC_CEL_TYPE_NULL || type->kind == LIC_CEL_TYPE_OPTIONAL ||
           type->kind == LIC_CEL_TYPE_IPADDRESS || type->kind == LIC_CEL_TYPE_DURATION ||
           type->kind == LIC_CEL_TYPE_TIMESTAMP;
}

/* No variable at the top of either. */
static bool agree(lic_cel_unifier *u, const lic_cel_type *from, const lic_cel_type *to)
{
    if (is_dyn_or_error(from) || is_dyn_or_error(to))
        return true;
    if (from->kind == LIC_CEL_TYPE_NULL)
        return takes_null(to);
    if (to->kind == LIC_CEL_TYPE_NULL)
        return takes_null(from);
    if (from->kind != to->kind)
        return false;
    if (from->kind == LIC_CEL_TYPE_TYPE)
        return true;
    for (size_t i = from->count; i > 0; i--) {
        if (!put_off(u, (lic_cel_task){ from->parameters[i - 1], to->parameters[i - 1], NULL }))
            return false;
    }
    return true;
}

typedef enum attempt { DISAGREES, AGREES, SAYS_NOTHING } attempt;

/* Whether `variable` can stand for `type`. What it stands for already decides; else it does from now on, unless it is a
 * part of the type (SAYS_NOTHING). */
static attempt try_variable(lic_cel_unifier *u, const lic_cel_type *type, const lic_cel_type *variable)
{
    const lic_cel_type *bound = binding_of(u, variable);

    if (lic_cel_same_type(u, type, variable))
        return AGREES;
    if (bound != NULL) {
        if (lic_cel_same_type(u, type, bound))
            return AGREES;
        return put_off(u, (lic_cel_task){ type, variable, bound }) && put_off(u, (lic_cel_task){ type, bound, NULL })
                   ? AGREES
                   : DISAGREES;
    }
    if (occurs(u, variable, type))
        return SAYS_NOTHING;
    return bind(u, variable, type) ? AGREES : DISAGREES;
}

/* `first` agreed with what the variable `second` stood for: it now stands for the more general of both. */
static bool widen(lic_cel_unifier *u, lic_cel_task task)
{
    const lic_cel_type *general = lic_cel_most_general(u, task.first, task.substitute);

    return occurs(u, task.second, general) || bind(u, task.second, general);
}

static bool run_task(lic_cel_unifier *u, lic_cel_task task)
{
    attempt result;

    if (task.substitute != NULL)
        return widen(u, task);
    if (task.second->kind == LIC_CEL_TYPE_VARIABLE) {
        result = try_variable(u, task.first, task.second);
        if (result != SAYS_NOTHING)
            return result == AGREES;
    }
    if (task.first->kind == LIC_CEL_TYPE_VARIABLE)
        return try_variable(u, task.second, task.first) == AGREES;
    return agree(u, task.first, task.second);
}

bool lic_cel_assignable(lic_cel_unifier *u, const lic_cel_type *const *from, const lic_cel_type *const *to,
                        size_t count)
{
    bool fine = true;

    u->task_count  = 0;
    u->trail_count = 0;
    for (size_t i = count; fine && i > 0; i--)
        fine = put_off(u, (lic_cel_task){ from[i - 1], to[i - 1], NULL });
    while (fine && u->task_count > 0) {
        u->task_count--;
        fine = pay(u) && run_task(u, u->tasks[u->task_count]) && u->failure == LIC_CEL_UNIFY_FINE;
    }
    if (!fine)
        undo(u);
    u->trail_count = 0;
    return fine;
}
