/* A compiled schema: what the evaluator runs and what writes are held against.
 *
 * Immutable and counted. Everything is an index into a flat array, so it is one block of plain data. The
 * graph's numbers (lic_type, lic_slot) are in it: it is compiled against one lic_names and belongs to graphs
 * that use the same one.
 *
 * Law: slots[] covers every slot that the lic_names had when this program was compiled. A slot beyond, or one
 * whose definition is LIC_NO_DEFINITION, is unknown to this schema and contributes nobody. The same holds for
 * caveats_by_number[] and the names of caveats: a number beyond, or LIC_NO_CAVEAT, is no caveat of this schema. */
#ifndef LIC_SCHEMA_PROGRAM_H
#define LIC_SCHEMA_PROGRAM_H

#include "base/arena.h"
#include "base/map.h"
#include "base/names.h"
#include "caveat/cel.h"
#include "schema/ast.h"

typedef uint32_t lic_rel; /* index of a relation or permission in program->relations */

#define LIC_NO_REL UINT32_MAX
#define LIC_NO_DEFINITION UINT32_MAX
#define LIC_NO_CAVEAT UINT32_MAX

/* One allowed type of a relation: a shape that a relationship may have. */
typedef struct lic_allowed {
    uint32_t definition; /* of the subject's type */
    lic_slot slot;       /* the subject's slot; for a wildcard the type's "..." slot */
    uint32_t caveat;     /* index in caveats, or LIC_NO_CAVEAT */
    lic_rel  userset;    /* whose members it brings in. LIC_NO_REL: none, or another shape speaks for the same slot */
    bool     wildcard;
    bool     expiration;
    bool     bare; /* demands neither caveat nor expiration */
} lic_allowed;

typedef enum lic_op_kind {
    LIC_OP_NAME,  /* relation: another relation or permission of the same object */
    LIC_OP_UNION, /* first, count: children, as indices into children[] */
    LIC_OP_INTERSECTION,
    LIC_OP_EXCLUSION, /* count == 2: base, subtrahend */
    LIC_OP_ARROW_ANY, /* relation: the tupleset; first, count: into targets[] */
    LIC_OP_ARROW_ALL,
    LIC_OP_NIL,
    LIC_OP_SELF
} lic_op_kind;

typedef struct lic_op {
    lic_op_kind kind;
    lic_rel     relation;
    uint32_t    first;
    uint32_t    count;
} lic_op;

/* For an arrow: on subjects of this definition, its right side means this relation. Definitions that lack
 * the name have no entry and contribute nobody. Sorted by definition. */
typedef struct lic_target {
    uint32_t definition;
    lic_rel  relation;
} lic_target;

typedef enum lic_part_kind {
    LIC_PART_LEAF,    /* a relation without usersets */
    LIC_PART_MEMBERS, /* one with */
    LIC_PART_NAME,    /* a permission of the same object */
    LIC_PART_ARROW
} lic_part_kind;

/* One operand of a member that is a union: what eval/search.c reads instead of ops. */
typedef struct lic_part {
    lic_part_kind kind;
    lic_rel       relation; /* LIC_PART_ARROW: the tupleset */
    lic_slot      slot;     /* of the relation */
    uint32_t      op;       /* LIC_PART_ARROW: index in ops */
    lic_slot      row_slot; /* if all rows that count are of one slot and bare, that slot; else LIC_NO_SLOT */
    lic_rel       target;   /* LIC_PART_ARROW: what the right side means there */
} lic_part;

typedef struct lic_relation {
    lic_str  name;
    uint32_t definition;
    lic_slot slot; /* (type, name); permissions have one too: they can be subject relations */
    bool     is_permission;
    bool     has_usersets;  /* relation: some allowed type names a relation */
    bool     has_wildcards; /* relation: some allowed type is a wildcard */
    uint32_t op;            /* permission: root in ops[]. Relation: UINT32_MAX */
    uint32_t first_allowed; /* relation: allowed[first_allowed .. + allowed_count) */
    uint32_t allowed_count;
    uint32_t first_userset; /* relation: the first allowed one that brings in a userset; the end: none does */
    bool     is_bare;       /* relation: all its allowed ones are */
    /* A permission that is nothing but another name: what it finally names; any other: itself (api.md 4.9). */
    lic_rel alias_of;
    /* This and all that it may lead to are unions (a relation is one of its rows): parts[first_part .. + part_count).
     * Inside a permission those that are cheapest to look at come first. */
    bool     is_union;
    uint32_t first_part;
    uint32_t part_count;
} lic_relation;

typedef struct lic_definition {
    lic_str  name;
    lic_type type;
    lic_slot ellipsis;       /* (type, "...") */
    lic_rel  first_relation; /* relations[first_relation .. + relation_count), in written order */
    uint32_t relation_count;
    lic_map  relations; /* name -> lic_rel */
} lic_definition;

typedef struct lic_caveat_parameter {
    lic_str                name;
    const lic_caveat_type *type;
} lic_caveat_parameter;

typedef struct lic_caveat {
    lic_str               name;
    lic_caveat_parameter *parameters; /* in written order: parameter i of the expression */
    size_t                parameter_count;
    lic_str               body;
    lic_cel              *cel; /* the compiled body; the program's */
} lic_caveat;

typedef struct lic_slot_meaning {
    uint32_t definition; /* LIC_NO_DEFINITION: unknown to this schema */
    lic_rel  relation;   /* LIC_NO_REL: "...", or unknown */
} lic_slot_meaning;

typedef struct lic_program {
    _Atomic uint32_t  references;
    lic_memory       *memory;      /* must outlive the program */
    lic_arena         arena;       /* everything below but the maps */
    lic_definition   *definitions; /* in file order */
    size_t            definition_count;
    lic_relation     *relations; /* grouped by definition */
    size_t            relation_count;
    lic_allowed      *allowed;
    size_t            allowed_count;
    lic_op           *ops;
    size_t            op_count;
    uint32_t         *children;
    lic_target       *targets;
    lic_part         *parts;
    lic_caveat       *caveats;
    size_t            caveat_count;
    uint32_t         *caveat_numbers;    /* index in caveats -> number of its name in lic_names */
    uint32_t         *caveats_by_number; /* number -> index in caveats, or LIC_NO_CAVEAT */
    size_t            caveat_number_count;
    lic_slot_meaning *slots;
    size_t            slot_count;
    lic_map           definition_names; /* name -> index */
    lic_map           caveat_names;     /* name -> index */
    /* reach[relation * reach_words ..]: bit d set when subjects of definition d can be found from the relation
     * in any way: as an allowed type (with or without a relation, or as wildcard) on the way, as the object
     * that an identity or `self` may name. NULL for schemas where the table would pass 4 MiB: then everything may. */
    uint64_t *reach;
    size_t    reach_words;
} lic_program;

/* Compiles a checked AST. The program copies what it needs: the AST may die. */
licet_status lic_compile(lic_memory *memory, lic_names *names, const lic_ast *ast, lic_program **program,
                         licet_error **error);
void         lic_program_retain(lic_program *program);
void         lic_program_release(lic_program *program); /* NULL is fine */

/* LIC_NO_DEFINITION / LIC_NO_REL / LIC_NO_CAVEAT: no such name. */
uint32_t lic_program_definition(const lic_program *program, lic_str name);
lic_rel  lic_program_relation(const lic_program *program, uint32_t definition, lic_str name);
uint32_t lic_program_caveat(const lic_program *program, lic_str name);

static inline lic_slot_meaning lic_program_slot(const lic_program *program, lic_slot slot)
{
    return slot < program->slot_count ? program->slots[slot] : (lic_slot_meaning){ LIC_NO_DEFINITION, LIC_NO_REL };
}

/* Index of the caveat whose name has this number; LIC_NO_CAVEAT: this schema has none. */
static inline uint32_t lic_program_numbered_caveat(const lic_program *program, uint32_t number)
{
    return number < program->caveat_number_count ? program->caveats_by_number[number] : LIC_NO_CAVEAT;
}

/* May a subject of this definition be found from the relation? false is certain; true is a maybe. */
static inline bool lic_program_reaches(const lic_program *program, lic_rel relation, uint32_t definition)
{
    return program->reach == NULL ||
           (program->reach[(size_t)relation * program->reach_words + definition / 64] >> (definition % 64) & 1) != 0;
}

/* Right side of an arrow on an object of this definition; LIC_NO_REL: nobody. */
lic_rel lic_program_target(const lic_program *program, const lic_op *arrow, uint32_t definition);

#endif
