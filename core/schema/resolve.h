/* An AST's names as numbers: what the checker, the compiler and the lints look up.
 *
 * Definitions, members (relations and permissions, grouped by definition) and caveats are numbered in
 * written order; the program uses the same numbers. A name that nothing bears is LIC_NO_...: the checker
 * reports those, everybody after it may rely on there being none. */
#ifndef LIC_SCHEMA_RESOLVE_H
#define LIC_SCHEMA_RESOLVE_H

#include "base/arena.h"
#include "base/map.h"
#include "schema/ast.h"
#include "schema/program.h"

typedef struct lic_member {
    const lic_ast_member *ast;
    uint32_t              definition;
    uint32_t              name;       /* the same for members of one name, whatever their definition */
    uint32_t              first_type; /* relation: its ast->types are types[first_type ..] */
} lic_member;

/* What an allowed type names. */
typedef struct lic_type_ref {
    uint32_t definition;
    lic_rel  member; /* LIC_NO_REL: the object itself, a wildcard, or unknown */
    uint32_t caveat; /* LIC_NO_CAVEAT: none, or unknown */
} lic_type_ref;

/* One pair of a tupleset and the name on the right, however often it is written. What the name means on
 * each of the tupleset's types is shared: written out for each arrow it would grow with their product. */
typedef struct lic_arrow {
    lic_rel  tupleset;
    uint32_t name;
    uint32_t first_target; /* targets[first_target .. + target_count), by definition */
    uint32_t target_count;
} lic_arrow;

typedef struct lic_resolved {
    lic_arena                 *arena;
    const lic_ast             *ast;
    const lic_ast_definition **definitions;
    uint32_t                   definition_count;
    uint32_t                  *first_members; /* definition d: members[first_members[d] .. first_members[d + 1]) */
    lic_member                *members;
    uint32_t                   member_count;
    const lic_ast_caveat     **caveats;
    uint32_t                   caveat_count;
    lic_type_ref              *types;
    uint32_t                   type_count;
    uint32_t                   name_count;
    uint32_t  *first_bearers; /* name n: bearers[first_bearers[n] .. first_bearers[n + 1]), by definition */
    lic_rel   *bearers;
    lic_arrow *arrows;
    uint32_t   arrow_count;
    lic_rel   *targets;
    size_t     target_count;
    size_t     expr_count; /* nodes of all expressions */
    lic_map    definition_names;
    lic_map    caveat_names;
    lic_map    names;        /* relation or permission name -> number */
    lic_map    arrow_keys;   /* the bytes of (tupleset, name) -> arrow */
    lic_map   *member_names; /* of one definition: name -> member; of doubles the first */
} lic_resolved;

/* Reads the AST, keeps views into it, and lives in the arena but for its maps. false: out of memory; to be
 * freed all the same. */
bool lic_resolve(lic_arena *arena, const lic_ast *ast, lic_resolved *resolved);
void lic_resolved_free(lic_resolved *resolved);

/* LIC_NO_REL: the definition has no such member. */
lic_rel lic_resolved_member(const lic_resolved *resolved, uint32_t definition, lic_str name);
/* Index of the arrow; UINT32_MAX: its left side is no relation, or nothing anywhere bears its right side. */
uint32_t lic_resolved_arrow(const lic_resolved *resolved, lic_rel tupleset, lic_str target);

typedef struct lic_expr_step {
    const lic_ast_expr *expr;
} lic_expr_step;

/* Visits an expression's nodes from left to right, parents first, on a stack of its own. */
typedef struct lic_expr_walk {
    lic_memory    *memory;
    lic_expr_step *stack;
    size_t         depth;
    size_t         capacity;
    bool           failed; /* out of memory: the walk ended early */
} lic_expr_walk;

void                lic_expr_walk_init(lic_expr_walk *walk, lic_memory *memory);
void                lic_expr_walk_free(lic_expr_walk *walk);
void                lic_expr_walk_start(lic_expr_walk *walk, const lic_ast_expr *root);
const lic_ast_expr *lic_expr_walk_next(lic_expr_walk *walk); /* NULL: no more */

static inline bool lic_is_arrow(const lic_ast_expr *expr)
{
    return expr->kind == LIC_AST_ARROW || expr->kind == LIC_AST_ARROW_ANY || expr->kind == LIC_AST_ARROW_ALL;
}

/* An array of the arena; one item where count is 0, so that NULL always means out of memory. */
#define lic_new_items(arena, count, type) \
    ((type *)lic_arena_alloc_array((arena), (count) == 0 ? 1 : (count), sizeof(type)))

#endif
