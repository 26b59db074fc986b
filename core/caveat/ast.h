/* The tree of an expression. The parser makes it, macros already recognised; the checker fills in types and what names
 * mean. Everything lives in the arena of the compilation; names and raw texts are views of the source.
 *
 * Macros stay nodes of their own and are not spelled out as cel-go's comprehensions: code and printing need them
 * whole, and the checker computes what the comprehension's type would have been. */
#ifndef LIC_CAVEAT_AST_H
#define LIC_CAVEAT_AST_H

#include "caveat/bytecode.h"
#include "caveat/types.h"

typedef enum lic_cel_node_kind {
    LIC_CEL_NODE_LITERAL,     /* literal */
    LIC_CEL_NODE_IDENT,       /* name; leading_dot */
    LIC_CEL_NODE_SELECT,      /* operand . name; optional: operand .? name */
    LIC_CEL_NODE_HAS,         /* has(operand . name) */
    LIC_CEL_NODE_CALL,        /* function or name; member: children[0] is the target */
    LIC_CEL_NODE_AND,         /* two children or more, none of them an AND */
    LIC_CEL_NODE_OR,          /* likewise */
    LIC_CEL_NODE_CONDITIONAL, /* condition, then, otherwise */
    LIC_CEL_NODE_LIST,        /* items; optional ones are marked */
    LIC_CEL_NODE_MAP,         /* key, value, key, value, ...; the keys of optional entries are marked */
    LIC_CEL_NODE_FOLD,        /* range, [test of map(),] body; name: the variable; fold */
    LIC_CEL_NODE_OPTIONAL_MAP /* target, body; name: the variable */
} lic_cel_node_kind;

typedef enum lic_cel_meaning {
    LIC_CEL_MEANS_NOTHING, /* not checked yet */
    LIC_CEL_MEANS_PARAMETER,
    LIC_CEL_MEANS_LOCAL, /* the variable of a macro */
    LIC_CEL_MEANS_TYPE   /* a type as a value; literal holds it */
} lic_cel_meaning;

typedef struct lic_cel_node {
    lic_cel_node_kind     kind;
    uint32_t              offset; /* in the source, bytes: where errors about it point, as in cel-go */
    uint16_t              depth;  /* edges of the longest way down, as cel-go counts its expanded tree */
    bool                  member; /* CALL: a.f(b) and not f(a, b) */
    bool                  optional;
    bool                  marked;      /* "?" stands before it in a list or map literal */
    bool                  leading_dot; /* .name, .f() */
    bool                  shadowed;    /* .name, where name is also a macro's variable */
    lic_cel_fold          fold;
    lic_cel_function      function; /* LIC_CEL_FUNCTION_COUNT: not resolved */
    lic_cel_meaning       meaning;
    uint32_t              index; /* PARAMETER, LOCAL: which */
    uint32_t              count; /* of children */
    struct lic_cel_node **children;
    lic_str               name;
    lic_cel_value         literal;
    const lic_cel_type   *type; /* from the checker */
} lic_cel_node;

#endif
