/* A schema as a tree: what the parser makes of a text once imports and partials are spliced in and every
 * name has been held against its pattern (schema.md stages 1 to 3). Lives in one arena. Texts are views
 * into the sources, which live in the same arena. Nothing here is resolved or type-checked. */
#ifndef LIC_SCHEMA_AST_H
#define LIC_SCHEMA_AST_H

#include "base/error.h"
#include "base/str.h"
#include "caveat/type.h"

/* Byte offset in one of the ast's sources. */
typedef struct lic_place {
    uint32_t source;
    uint32_t offset;
} lic_place;

typedef struct lic_source {
    lic_str name; /* "schema", or the path of an imported file */
    lic_str text;
} lic_source;

/* Children stand left to right. Unions and intersections are flat: a child is never of its parent's kind. */
typedef enum lic_ast_kind {
    LIC_AST_UNION,        /* two or more children */
    LIC_AST_INTERSECTION, /* two or more children */
    LIC_AST_EXCLUSION,    /* exactly two children */
    LIC_AST_NAME,         /* name */
    LIC_AST_ARROW,        /* name->target */
    LIC_AST_ARROW_ANY,    /* name.any(target) */
    LIC_AST_ARROW_ALL,    /* name.all(target) */
    LIC_AST_NIL,
    LIC_AST_SELF
} lic_ast_kind;

typedef struct lic_ast_expr {
    lic_ast_kind          kind;
    lic_place             place; /* of its first token */
    lic_str               name;
    lic_str               target;
    struct lic_ast_expr **children;
    size_t                child_count;
} lic_ast_expr;

typedef struct lic_ast_type {
    lic_place place;
    lic_str   type;
    lic_str   relation; /* not given: the object itself; "#..." is not given either */
    lic_str   caveat;   /* not given: none */
    bool      wildcard;
    bool      expiration;
} lic_ast_type;

/* A relation (types) or a permission (expr). */
typedef struct lic_ast_member {
    lic_place     place; /* of the keyword */
    lic_str       name;
    lic_str      *comments; /* kept ones, each trimmed line by line, delimiters included */
    size_t        comment_count;
    lic_ast_type *types; /* relation: at least one */
    size_t        type_count;
    lic_ast_expr *expr; /* permission; NULL: this is a relation */
    lic_str      *annotations;
    size_t        annotation_count;
    bool          annotated; /* annotations were written */
} lic_ast_member;

typedef struct lic_ast_definition {
    lic_place       place;
    lic_str         name;
    lic_str        *comments;
    size_t          comment_count;
    lic_ast_member *members; /* in written order, partials spliced in */
    size_t          member_count;
} lic_ast_definition;

typedef struct lic_ast_parameter {
    lic_place              place;
    lic_str                name;
    const lic_caveat_type *type;
} lic_ast_parameter;

typedef struct lic_ast_caveat {
    lic_place          place;
    lic_str            name;
    lic_str           *comments;
    size_t             comment_count;
    lic_ast_parameter *parameters; /* in written order, names distinct */
    size_t             parameter_count;
    lic_str            body; /* the CEL text; it compiles */
    lic_place          body_place;
    uint64_t           used; /* bit i: the body uses parameter i */
} lic_ast_caveat;

typedef struct lic_ast_item {
    lic_ast_definition *definition; /* one of the two is set */
    lic_ast_caveat     *caveat;
} lic_ast_item;

typedef struct lic_ast {
    lic_source   *sources; /* [0]: the text that was given */
    size_t        source_count;
    lic_ast_item *items; /* imported first, then file order */
    size_t        item_count;
    size_t        definition_count;
    size_t        caveat_count;
    bool          typechecking;  /* some file says `use typechecking` */
    bool          swallowed_and; /* lints: `with c and` (schema.md 18), and where first */
    lic_place     swallowed_and_place;
    bool          repeated_partial; /* lints: a partial defined twice, and where first */
    lic_place     repeated_partial_place;
} lic_ast;

/* 1-based line and column of a place. */
static inline lic_position lic_ast_position(const lic_ast *ast, lic_place place)
{
    return lic_position_of(ast->sources[place.source].text, place.offset);
}

#endif
