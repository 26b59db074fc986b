/* Checked AST to program: flat arrays of numbers, in the order of the AST. Nothing is refused here but for want of
 * memory. */
#include "schema/program.h"

#include "base/hash.h"
#include "schema/aliases.h"
#include "schema/edges.h"
#include "schema/expression.h"
#include "schema/limits.h"

#define MAX_REACH_BYTES ((size_t)4 << 20)

typedef struct compiler {
    lic_program *program;
    lic_arena   *arena; /* the program's */
    lic_arena    scratch;
    lic_names   *names;
    lic_resolved resolved;
    uint64_t     map_key;
    size_t       child_count; /* used of program->children */
} compiler;

static bool copy_definition(compiler *c, uint32_t d)
{
    const lic_ast_definition *ast        = c->resolved.definitions[d];
    lic_definition           *definition = &c->program->definitions[d];
    uint32_t                  found;

    lic_map_init(&definition->relations, c->program->memory, c->map_key);
    definition->name           = lic_arena_str(c->arena, ast->name);
    definition->type           = lic_names_type(c->names, ast->name);
    definition->first_relation = c->resolved.first_members[d];
    definition->relation_count = c->resolved.first_members[d + 1] - c->resolved.first_members[d];
    if (definition->name.data == NULL || definition->type == LIC_NO_TYPE)
        return false;
    definition->ellipsis = lic_names_ellipsis(c->names, definition->type);
    return lic_map_add(&c->program->definition_names, definition->name, d, &found);
}

static bool copy_definitions(compiler *c)
{
    lic_program *p = c->program;

    p->definitions = lic_new_items(c->arena, c->resolved.definition_count, lic_definition);
    if (p->definitions == NULL)
        return false;
    for (uint32_t d = 0; d < c->resolved.definition_count; d++) {
        p->definition_count = d + 1; /* from here on its map is freed with the program */
        if (!copy_definition(c, d))
            return false;
    }
    return true;
}

static bool copy_relation(compiler *c, lic_rel m)
{
    const lic_member *member     = &c->resolved.members[m];
    lic_relation     *relation   = &c->program->relations[m];
    lic_definition   *definition = &c->program->definitions[member->definition];
    uint32_t          found;

    relation->name          = lic_arena_str(c->arena, member->ast->name);
    relation->definition    = member->definition;
    relation->slot          = lic_names_slot(c->names, definition->type, member->ast->name);
    relation->is_permission = member->ast->expr != NULL;
    relation->op            = UINT32_MAX;
    relation->first_allowed = member->first_type;
    relation->allowed_count = (uint32_t)member->ast->type_count;
    return relation->name.data != NULL && relation->slot != LIC_NO_SLOT &&
           lic_map_add(&definition->relations, relation->name, m, &found);
}

static bool copy_relations(compiler *c)
{
    lic_program *p = c->program;

    p->relations = lic_new_items(c->arena, c->resolved.member_count, lic_relation);
    if (p->relations == NULL)
        return false;
    for (lic_rel m = 0; m < c->resolved.member_count; m++)
        if (!copy_relation(c, m))
            return false;
    p->relation_count = c->resolved.member_count;
    return true;
}

/* After copy_relations: a type may name a relation that comes later. */
static void copy_type(compiler *c, lic_rel relation, size_t index)
{
    lic_program        *p    = c->program;
    const lic_member   *from = &c->resolved.members[relation];
    const lic_ast_type *type = &from->ast->types[index];
    const lic_type_ref *ref  = &c->resolved.types[from->first_type + index];

    p->allowed[from->first_type + index] = (lic_allowed){
        .definition = ref->definition,
        .slot   = ref->member == LIC_NO_REL ? p->definitions[ref->definition].ellipsis : p->relations[ref->member].slot,
        .caveat = ref->caveat,
        .userset    = ref->member,
        .wildcard   = type->wildcard,
        .expiration = type->expiration,
        .bare       = ref->caveat == LIC_NO_CAVEAT && !type->expiration,
    };
    p->relations[relation].has_usersets |= ref->member != LIC_NO_REL;
    p->relations[relation].has_wildcards |= type->wildcard;
}

/* Does another shape speak for the same userset? A bare one speaks first, else the first of them. */
static bool is_repeated(const lic_program *p, const lic_relation *relation, const lic_allowed *allowed)
{
    const lic_allowed *all = p->allowed + relation->first_allowed;

    for (uint32_t i = 0; i < relation->allowed_count && !allowed->bare; i++)
        if (all[i].slot == allowed->slot && !all[i].wildcard && (&all[i] < allowed || all[i].bare))
            return true;
    return false;
}

static void set_usersets(const lic_program *p, lic_relation *relation)
{
    const uint32_t end = relation->first_allowed + relation->allowed_count;

    relation->first_userset = end;
    relation->is_bare       = true;
    for (uint32_t i = relation->first_allowed; i < end; i++) {
        if (is_repeated(p, relation, &p->allowed[i]))
            p->allowed[i].userset = LIC_NO_REL;
        if (relation->first_userset == end && p->allowed[i].userset != LIC_NO_REL)
            relation->first_userset = i;
        relation->is_bare = relation->is_bare && p->allowed[i].bare;
    }
}

static bool copy_types(compiler *c)
{
    lic_program *p = c->program;

    p->allowed = lic_new_items(c->arena, c->resolved.type_count, lic_allowed);
    if (p->allowed == NULL)
        return false;
    p->allowed_count = c->resolved.type_count;
    for (lic_rel m = 0; m < c->resolved.member_count; m++)
        for (size_t i = 0; i < c->resolved.members[m].ast->type_count; i++)
            copy_type(c, m, i);
    for (lic_rel m = 0; m < p->relation_count; m++)
        set_usersets(p, &p->relations[m]);
    return true;
}

static bool copy_targets(compiler *c)
{
    const lic_resolved *r = &c->resolved;
    lic_program        *p = c->program;

    p->targets = lic_new_items(c->arena, r->target_count, lic_target);
    if (p->targets == NULL)
        return false;
    for (size_t i = 0; i < r->target_count; i++)
        p->targets[i] = (lic_target){ r->members[r->targets[i]].definition, r->targets[i] };
    return true;
}

static lic_op_kind op_kind(lic_ast_kind kind)
{
    switch (kind) {
    case LIC_AST_UNION:
        return LIC_OP_UNION;
    case LIC_AST_INTERSECTION:
        return LIC_OP_INTERSECTION;
    case LIC_AST_EXCLUSION:
        return LIC_OP_EXCLUSION;
    case LIC_AST_NAME:
        return LIC_OP_NAME;
    case LIC_AST_ARROW:
    case LIC_AST_ARROW_ANY:
        return LIC_OP_ARROW_ANY;
    case LIC_AST_ARROW_ALL:
        return LIC_OP_ARROW_ALL;
    case LIC_AST_SELF:
        return LIC_OP_SELF;
    case LIC_AST_NIL:
        break;
    }
    return LIC_OP_NIL;
}

static void compile_arrow(const compiler *c, lic_op *op, const lic_ast_expr *expr)
{
    uint32_t arrow = lic_resolved_arrow(&c->resolved, op->relation, expr->target);

    if (arrow == UINT32_MAX)
        return; /* no type has the name: no targets */
    op->first = c->resolved.arrows[arrow].first_target;
    op->count = c->resolved.arrows[arrow].target_count;
}

/* Fills the op of a node and gives its children the next free ops. */
static void compile_node(compiler *c, uint32_t definition, uint32_t op_index, const lic_ast_expr *expr)
{
    lic_program *p  = c->program;
    lic_op      *op = &p->ops[op_index];

    *op = (lic_op){ .kind = op_kind(expr->kind), .relation = LIC_NO_REL };
    if (lic_str_given(expr->name))
        op->relation = lic_resolved_member(&c->resolved, definition, expr->name);
    if (lic_is_arrow(expr))
        compile_arrow(c, op, expr);
    if (expr->child_count == 0)
        return;
    op->first = (uint32_t)c->child_count;
    op->count = (uint32_t)expr->child_count;
    for (size_t i = 0; i < expr->child_count; i++)
        p->children[c->child_count++] = (uint32_t)p->op_count++;
}

/* Breadth first: an expression's nodes wait, in the order of their ops, in a queue that begins at its root. */
static void compile_expression(compiler *c, uint32_t definition, const lic_ast_expr *root, const lic_ast_expr **queue)
{
    lic_program *p     = c->program;
    size_t       first = p->op_count;
    size_t       tail  = 1;

    queue[0] = root;
    p->op_count++;
    for (size_t head = 0; head < tail; head++) {
        const lic_ast_expr *expr = queue[head];

        compile_node(c, definition, (uint32_t)(first + head), expr);
        for (size_t i = 0; i < expr->child_count; i++)
            queue[tail++] = expr->children[i];
    }
}

static bool compile_expressions(compiler *c)
{
    lic_program         *p     = c->program;
    size_t               count = c->resolved.expr_count;
    const lic_ast_expr **queue = lic_new_items(&c->scratch, count, const lic_ast_expr *);

    p->ops      = lic_new_items(c->arena, count, lic_op);
    p->children = lic_new_items(c->arena, count, uint32_t); /* all but the roots are somebody's */
    if (queue == NULL || p->ops == NULL || p->children == NULL)
        return false;
    for (lic_rel m = 0; m < c->resolved.member_count; m++) {
        const lic_member *member = &c->resolved.members[m];

        if (member->ast->expr == NULL)
            continue;
        p->relations[m].op = (uint32_t)p->op_count;
        compile_expression(c, member->definition, member->ast->expr, queue);
    }
    return true;
}

static bool set_aliases(compiler *c)
{
    lic_rel *alias_of = lic_find_aliases(&c->scratch, &c->resolved);

    if (alias_of == NULL)
        return false;
    for (lic_rel m = 0; m < c->resolved.member_count; m++)
        c->program->relations[m].alias_of = alias_of[m];
    return true;
}

/* From the outside in: list<map<int>> is three records. */
static const lic_caveat_type *copy_caveat_type(compiler *c, const lic_caveat_type *type)
{
    const lic_caveat_type  *copy = NULL;
    const lic_caveat_type **link = &copy;

    for (; type != NULL; type = type->argument) {
        lic_caveat_type *one = lic_new(c->arena, lic_caveat_type);

        if (one == NULL)
            return NULL;
        one->kind = type->kind;
        *link     = one;
        link      = &one->argument;
    }
    return copy;
}

static bool copy_parameters(compiler *c, lic_caveat *caveat, const lic_ast_caveat *ast)
{
    caveat->parameters = lic_new_items(c->arena, ast->parameter_count, lic_caveat_parameter);
    if (caveat->parameters == NULL)
        return false;
    caveat->parameter_count = ast->parameter_count;
    for (size_t i = 0; i < ast->parameter_count; i++) {
        caveat->parameters[i].name = lic_arena_str(c->arena, ast->parameters[i].name);
        caveat->parameters[i].type = copy_caveat_type(c, ast->parameters[i].type);
        if (caveat->parameters[i].name.data == NULL || caveat->parameters[i].type == NULL)
            return false;
    }
    return true;
}

/* The parser has checked the body and found nothing wrong with it, but kept nothing: the trees of a schema full of
 * expressions would be a hundred times its size. */
static bool compile_body(const compiler *c, lic_caveat *caveat, const lic_ast_caveat *ast)
{
    lic_cel_parameter parameters[LIC_MAX_PARAMETERS];
    lic_cel_source    source = lic_expression_source(ast, parameters);

    return lic_cel_compile(c->program->memory, &source, &caveat->cel, NULL, NULL) == LICET_OK;
}

static bool copy_caveat(compiler *c, uint32_t index)
{
    const lic_ast_caveat *ast    = c->resolved.caveats[index];
    lic_caveat           *caveat = &c->program->caveats[index];
    uint32_t              found;

    caveat->name                      = lic_arena_str(c->arena, ast->name);
    caveat->body                      = lic_arena_str(c->arena, ast->body);
    c->program->caveat_numbers[index] = lic_names_caveat(c->names, ast->name);
    return caveat->name.data != NULL && caveat->body.data != NULL &&
           c->program->caveat_numbers[index] != LIC_NO_CAVEAT_NAME && copy_parameters(c, caveat, ast) &&
           compile_body(c, caveat, ast) && lic_map_add(&c->program->caveat_names, caveat->name, index, &found);
}

/* lic_names may hold caveats of earlier schemas too. */
static bool number_caveats(compiler *c)
{
    lic_program *p = c->program;

    p->caveat_number_count = lic_names_caveat_count(c->names);
    p->caveats_by_number   = lic_new_items(c->arena, p->caveat_number_count, uint32_t);
    if (p->caveats_by_number == NULL)
        return false;
    for (size_t n = 0; n < p->caveat_number_count; n++)
        p->caveats_by_number[n] = LIC_NO_CAVEAT;
    for (uint32_t i = 0; i < p->caveat_count; i++)
        p->caveats_by_number[p->caveat_numbers[i]] = i;
    return true;
}

static bool copy_caveats(compiler *c)
{
    lic_program *p = c->program;

    p->caveats        = lic_new_items(c->arena, c->resolved.caveat_count, lic_caveat);
    p->caveat_numbers = lic_new_items(c->arena, c->resolved.caveat_count, uint32_t);
    if (p->caveats == NULL || p->caveat_numbers == NULL)
        return false;
    p->caveat_count = c->resolved.caveat_count;
    for (uint32_t i = 0; i < c->resolved.caveat_count; i++)
        if (!copy_caveat(c, i))
            return false;
    return number_caveats(c);
}

/* Last of those that use lic_names, which may hold slots of earlier schemas too. */
static bool map_slots(compiler *c)
{
    lic_program *p = c->program;

    p->slot_count = lic_names_slot_count(c->names);
    p->slots      = lic_new_items(c->arena, p->slot_count, lic_slot_meaning);
    if (p->slots == NULL)
        return false;
    for (size_t s = 0; s < p->slot_count; s++)
        p->slots[s] = (lic_slot_meaning){ LIC_NO_DEFINITION, LIC_NO_REL };
    for (uint32_t d = 0; d < p->definition_count; d++)
        p->slots[p->definitions[d].ellipsis] = (lic_slot_meaning){ d, LIC_NO_REL };
    for (lic_rel m = 0; m < p->relation_count; m++)
        p->slots[p->relations[m].slot] = (lic_slot_meaning){ p->relations[m].definition, m };
    return true;
}

/* ------------------------------------------------------------------ unions */

/* A permission's ops are neighbours: up to those of the next one. */
static uint32_t ops_end(const lic_program *p, lic_rel m)
{
    while (++m < p->relation_count)
        if (p->relations[m].is_permission)
            return p->relations[m].op;
    return (uint32_t)p->op_count;
}

/* Where every inner op is a union, the others together are one. */
static bool has_only_unions(const lic_program *p, lic_rel m, uint32_t end)
{
    for (uint32_t i = p->relations[m].op; p->relations[m].is_permission && i < end; i++)
        if (p->ops[i].kind != LIC_OP_UNION && p->ops[i].kind != LIC_OP_NAME && p->ops[i].kind != LIC_OP_ARROW_ANY &&
            p->ops[i].kind != LIC_OP_NIL)
            return false;
    return true;
}

/* The only allowed type, if its rows are of one slot and bare. */
static const lic_allowed *only_type(const lic_program *p, const lic_relation *relation)
{
    const lic_allowed *only = p->allowed + relation->first_allowed;

    return relation->allowed_count == 1 && !only->wildcard && only->bare ? only : NULL;
}

static lic_part relation_part(const lic_program *p, lic_rel m)
{
    const lic_relation *relation = &p->relations[m];
    const lic_allowed  *only     = only_type(p, relation);
    const lic_part_kind kind     = relation->is_permission  ? LIC_PART_NAME
                                   : relation->has_usersets ? LIC_PART_MEMBERS
                                                            : LIC_PART_LEAF;

    return (lic_part){ kind, m, relation->slot, 0, only == NULL ? LIC_NO_SLOT : only->slot, LIC_NO_REL };
}

static lic_part arrow_part(const lic_program *p, uint32_t op)
{
    const lic_relation *tupleset = &p->relations[p->ops[op].relation];
    const lic_allowed  *only     = only_type(p, tupleset);
    lic_part            part     = { LIC_PART_ARROW, p->ops[op].relation, tupleset->slot, op, LIC_NO_SLOT, LIC_NO_REL };

    if (only != NULL) {
        part.row_slot = only->slot;
        part.target   = lic_program_target(p, &p->ops[op], only->definition);
    }
    return part;
}

/* The parts of one kind among a permission's ops. */
static void add_parts(lic_program *p, lic_rel m, uint32_t end, lic_part_kind kind, uint32_t *count)
{
    for (uint32_t i = p->relations[m].op; i < end; i++) {
        const lic_op_kind op   = p->ops[i].kind;
        const bool        part = op == LIC_OP_NAME || op == LIC_OP_ARROW_ANY;

        if (part)
            p->parts[*count] = op == LIC_OP_NAME ? relation_part(p, p->ops[i].relation) : arrow_part(p, i);
        *count += part && p->parts[*count].kind == kind;
    }
}

/* There is one part more than are used, because add_parts writes before it knows. */
static bool copy_parts(compiler *c)
{
    lic_program *p     = c->program;
    uint32_t     count = 0;

    p->parts = lic_new_items(c->arena, p->op_count + p->relation_count + 1, lic_part);
    if (p->parts == NULL)
        return false;
    for (lic_rel m = 0; m < p->relation_count; m++) {
        lic_relation  *relation = &p->relations[m];
        const uint32_t end      = relation->is_permission ? ops_end(p, m) : 0;

        relation->first_part = count;
        relation->is_union   = has_only_unions(p, m, end);
        if (!relation->is_permission)
            p->parts[count++] = relation_part(p, m);
        for (int kind = LIC_PART_LEAF; relation->is_permission && relation->is_union && kind <= LIC_PART_ARROW; kind++)
            add_parts(p, m, end, (lic_part_kind)kind, &count);
        relation->part_count = count - relation->first_part;
    }
    return true;
}

/* From each member to those that lead to it: components come in the order in which they can be judged. */
static bool set_unions(compiler *c, const lic_edges *edges)
{
    lic_program *p     = c->program;
    bool        *mixed = lic_new_items(&c->scratch, edges->component_count, bool); /* not only unions */

    if (mixed == NULL || !copy_parts(c))
        return false;
    for (uint32_t i = 0; i < edges->node_count; i++) {
        const uint32_t       node       = edges->order[i];
        const lic_successors successors = lic_edges_of(edges, node);
        bool                *own        = &mixed[edges->component[node]];

        *own |= node < p->relation_count && !p->relations[node].is_union;
        for (uint32_t s = 0; s < successors.count; s++)
            *own |= mixed[edges->component[successors.nodes[s]]];
    }
    for (lic_rel m = 0; m < p->relation_count; m++)
        p->relations[m].is_union = !mixed[edges->component[m]];
    return true;
}

static void set_reach_word(lic_program *p, const lic_edges *edges, const uint64_t *columns, uint32_t word)
{
    for (lic_rel m = 0; m < p->relation_count; m++)
        p->reach[(size_t)m * p->reach_words + word] = columns[edges->component[m]];
}

static bool set_reach(compiler *c, const lic_edges *edges)
{
    lic_program *p = c->program;
    uint64_t    *columns;

    p->reach_words = (p->definition_count + 63) / 64;
    if (p->relation_count * p->reach_words > MAX_REACH_BYTES / sizeof *p->reach)
        return true;
    columns  = lic_new_items(&c->scratch, edges->component_count, uint64_t);
    p->reach = lic_new_items(c->arena, p->relation_count * p->reach_words, uint64_t);
    if (columns == NULL || p->reach == NULL)
        return false;
    for (uint32_t word = 0; word < p->reach_words; word++) {
        lic_reach_column(edges, false, word, columns);
        set_reach_word(p, edges, columns, word);
    }
    return true;
}

/* What follows from who leads to whom. */
static bool follow_edges(compiler *c)
{
    lic_edges edges;

    return lic_edges_find(&c->scratch, &c->resolved, LIC_EDGES_ALL, &edges) && set_unions(c, &edges) &&
           set_reach(c, &edges);
}

static lic_program *program_new(lic_memory *memory, uint64_t map_key)
{
    lic_program *program = lic_alloc_zero(memory, sizeof *program);

    if (program == NULL)
        return NULL;
    atomic_init(&program->references, 1);
    program->memory = memory;
    lic_arena_init(&program->arena, memory);
    lic_map_init(&program->definition_names, memory, map_key);
    lic_map_init(&program->caveat_names, memory, map_key);
    return program;
}

licet_status lic_compile(lic_memory *memory, lic_names *names, const lic_ast *ast, lic_program **program,
                         licet_error **error)
{
    compiler c = { .names = names, .map_key = lic_random_key() };
    bool     done;

    *program = NULL;
    lic_arena_init(&c.scratch, memory);
    c.program = program_new(memory, c.map_key);
    c.arena   = c.program == NULL ? NULL : &c.program->arena;
    done      = lic_resolve(&c.scratch, ast, &c.resolved) && c.program != NULL && copy_definitions(&c) &&
           copy_relations(&c) && copy_types(&c) && copy_targets(&c) && compile_expressions(&c) && set_aliases(&c) &&
           copy_caveats(&c) && map_slots(&c) && follow_edges(&c);
    lic_resolved_free(&c.resolved);
    lic_arena_free(&c.scratch);
    if (!done) {
        lic_program_release(c.program);
        return lic_fail_memory(error);
    }
    *program = c.program;
    return LICET_OK;
}

void lic_program_retain(lic_program *program)
{
    if (program != NULL)
        atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
}

void lic_program_release(lic_program *program)
{
    lic_memory *memory;

    if (program == NULL || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t d = 0; d < program->definition_count; d++)
        lic_map_free(&program->definitions[d].relations);
    for (size_t i = 0; i < program->caveat_count; i++)
        lic_cel_free(program->caveats[i].cel);
    lic_map_free(&program->definition_names);
    lic_map_free(&program->caveat_names);
    lic_arena_free(&program->arena);
    memory = program->memory;
    lic_free(memory, program, sizeof *program);
}

/* Up to so many names are looked through, which costs less than hashing one. */
#define FEW_NAMES 8

uint32_t lic_program_definition(const lic_program *program, lic_str name)
{
    if (!lic_str_given(name))
        return LIC_NO_DEFINITION;
    if (program->definition_count > FEW_NAMES)
        return lic_map_find(&program->definition_names, name);
    for (uint32_t i = 0; i < program->definition_count; i++)
        if (lic_str_equal(program->definitions[i].name, name))
            return i;
    return LIC_NO_DEFINITION;
}

lic_rel lic_program_relation(const lic_program *program, uint32_t definition, lic_str name)
{
    const lic_definition *d;

    if (definition >= program->definition_count || !lic_str_given(name))
        return LIC_NO_REL;
    d = &program->definitions[definition];
    if (d->relation_count > FEW_NAMES)
        return lic_map_find(&d->relations, name);
    for (lic_rel i = d->first_relation; i < d->first_relation + d->relation_count; i++)
        if (lic_str_equal(program->relations[i].name, name))
            return i;
    return LIC_NO_REL;
}

uint32_t lic_program_caveat(const lic_program *program, lic_str name)
{
    return lic_str_given(name) ? lic_map_find(&program->caveat_names, name) : LIC_NO_CAVEAT;
}

lic_rel lic_program_target(const lic_program *program, const lic_op *arrow, uint32_t definition)
{
    const lic_target *targets = program->targets + arrow->first;
    size_t            low = 0, high = arrow->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (targets[middle].definition < definition)
            low = middle + 1;
        else
            high = middle;
    }
    return low < arrow->count && targets[low].definition == definition ? targets[low].relation : LIC_NO_REL;
}
