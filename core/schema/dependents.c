/* Who is computed from whom: closures over the members of a schema (schema.md 17).
 *
 *   computable   from a relation to all that has it in its computation: names, targets of arrows, usersets. The left side
 *                of an arrow is not followed: SpiceDB's entry points lie behind it.
 *   dependent    from a permission to all that it may read, the left sides of arrows among it. */
#include "schema/report.h"
#include "schema/schema.h"

typedef struct closure {
    const lic_program *program;
    lic_arena          arena;
    bool              *reached; /* by relation */
    lic_rel           *queue;
    size_t             count;
} closure;

static bool closure_init(closure *c, const licet_schema *schema)
{
    *c = (closure){ .program = schema->program };
    lic_arena_init(&c->arena, schema->memory);
    c->reached = lic_new_array(&c->arena, c->program->relation_count, bool);
    c->queue   = lic_new_array(&c->arena, c->program->relation_count, lic_rel);
    if (c->reached == NULL || c->queue == NULL)
        return false;
    memset(c->reached, 0, c->program->relation_count * sizeof *c->reached);
    return true;
}

static void reach(closure *c, lic_rel relation)
{
    if (c->reached[relation])
        return;
    c->reached[relation] = true;
    c->queue[c->count++] = relation;
}

/* Operators stand in one array, a permission's own behind one another: each is looked at with who it belongs to. */
typedef bool visit(closure *c, const lic_op *op, void *about);

/* Goes through the operators of a permission, whatever their nesting. false: out of memory, or visit says so. */
static bool each_op(closure *c, uint32_t root, visit *visit, void *about)
{
    uint32_t *stack    = NULL;
    size_t    capacity = 0;
    size_t    depth    = 0;

    if (!lic_arena_grow(&c->arena, (void **)&stack, &capacity, 1, sizeof *stack))
        return false;
    stack[depth++] = root;
    while (depth > 0) {
        const lic_op *op = &c->program->ops[stack[--depth]];

        if (op->kind != LIC_OP_UNION && op->kind != LIC_OP_INTERSECTION && op->kind != LIC_OP_EXCLUSION) {
            if (!visit(c, op, about))
                return false;
            continue;
        }
        if (!lic_arena_grow(&c->arena, (void **)&stack, &capacity, depth + op->count, sizeof *stack))
            return false;
        for (uint32_t i = 0; i < op->count; i++)
            stack[depth++] = c->program->children[op->first + i];
    }
    return true;
}

/* ------------------------------------------------------------- dependent */

static bool reach_operand(closure *c, const lic_op *op, void *about)
{
    (void)about;
    if (op->kind == LIC_OP_NAME || op->kind == LIC_OP_ARROW_ANY || op->kind == LIC_OP_ARROW_ALL)
        reach(c, op->relation);
    if (op->kind == LIC_OP_ARROW_ANY || op->kind == LIC_OP_ARROW_ALL)
        for (uint32_t i = 0; i < op->count; i++)
            reach(c, c->program->targets[op->first + i].relation);
    return true;
}

static bool reach_dependencies(closure *c, lic_rel number)
{
    const lic_relation *relation = &c->program->relations[number];

    if (relation->is_permission)
        return each_op(c, relation->op, reach_operand, NULL);
    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        const lic_allowed *allowed = &c->program->allowed[relation->first_allowed + i];
        const lic_rel      target  = lic_program_slot(c->program, allowed->slot).relation;

        if (target != LIC_NO_REL)
            reach(c, target);
    }
    return true;
}

/* ------------------------------------------------------------ computable */

/* What a walk goes on from: a relation, or a type itself. */
typedef struct start {
    uint32_t definition;
    lic_rel  relation; /* LIC_NO_REL: the type itself */
    bool     found;
} start;

static bool asks_for(closure *c, const lic_op *op, void *about)
{
    start *s = about;

    if (op->kind == LIC_OP_NAME)
        s->found |= op->relation == s->relation;
    else if (op->kind == LIC_OP_ARROW_ANY || op->kind == LIC_OP_ARROW_ALL)
        for (uint32_t i = 0; i < op->count; i++)
            s->found |= c->program->targets[op->first + i].relation == s->relation;
    return true;
}

static bool has_self(closure *c, const lic_op *op, void *about)
{
    (void)c;
    ((start *)about)->found |= op->kind == LIC_OP_SELF;
    return true;
}

static bool allows(const closure *c, const lic_relation *relation, const start *s)
{
    for (uint32_t i = 0; i < relation->allowed_count; i++) {
        const lic_allowed *allowed = &c->program->allowed[relation->first_allowed + i];

        if (allowed->definition == s->definition &&
            (allowed->wildcard || lic_program_slot(c->program, allowed->slot).relation == s->relation))
            return true;
    }
    return false;
}

/* Does the member have the start in its own computation? false: out of memory. */
static bool is_computed_from(closure *c, lic_rel number, start *s)
{
    const lic_relation *relation = &c->program->relations[number];

    s->found = false;
    if (!relation->is_permission) {
        s->found = allows(c, relation, s);
        return true;
    }
    if (s->relation != LIC_NO_REL)
        return each_op(c, relation->op, asks_for, s);
    return relation->definition != s->definition || each_op(c, relation->op, has_self, s);
}

static bool reach_computed(closure *c, start from)
{
    for (lic_rel i = 0; i < c->program->relation_count; i++) {
        if (c->reached[i])
            continue;
        if (!is_computed_from(c, i, &from))
            return false;
        if (from.found)
            reach(c, i);
    }
    return true;
}

/* ---------------------------------------------------------------- reports */

static bool report_reached(const closure *c, lic_rel left_out, lic_str prefix, licet_schema_report *report)
{
    for (size_t i = 0; i < c->count; i++) {
        const lic_relation *relation = &c->program->relations[c->queue[i]];
        licet_schema_entry  entry    = LICET_SCHEMA_ENTRY_INIT;

        entry.kind       = relation->is_permission ? LIC_STR("permission") : LIC_STR("relation");
        entry.definition = c->program->definitions[relation->definition].name;
        entry.name       = relation->name;
        if (c->queue[i] != left_out && lic_str_starts_with(entry.definition, prefix) &&
            !lic_schema_report_add(report, &entry))
            return false;
    }
    lic_schema_report_sort(report);
    return true;
}

static licet_status finish(closure *c, const licet_schema *schema, bool reached, lic_rel left_out, lic_str prefix,
                           licet_schema_report **out, licet_error **error)
{
    licet_schema_report *report = reached ? lic_schema_report_new(schema->memory) : NULL;
    const bool           done   = report != NULL && report_reached(c, left_out, prefix, report);

    lic_arena_free(&c->arena);
    if (done)
        *out = report;
    else
        licet_schema_report_release(report);
    return done ? LICET_OK : lic_fail_memory(error);
}

static licet_status find_definition(const lic_program *program, lic_str name, uint32_t *definition, licet_error **error)
{
    *definition = lic_str_given(name) ? lic_program_definition(program, name) : LIC_NO_DEFINITION;
    if (*definition != LIC_NO_DEFINITION)
        return LICET_OK;
    return lic_fail_reason(error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", LIC_NOWHERE,
                           "object definition %Q not found", &name);
}

static licet_status find_member(const lic_program *program, lic_str definition_name, lic_str name, uint32_t *definition,
                                lic_rel *relation, licet_error **error)
{
    licet_status status = find_definition(program, definition_name, definition, error);

    if (status != LICET_OK)
        return status;
    *relation = lic_str_given(name) ? lic_program_relation(program, *definition, name) : LIC_NO_REL;
    if (*relation != LIC_NO_REL)
        return LICET_OK;
    return lic_fail_reason(error, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION", LIC_NOWHERE,
                           "relation/permission %Q not found under definition %Q", &name, &definition_name);
}

static licet_status arguments_check(const licet_schema *schema, licet_schema_report **report, licet_error **error)
{
    if (error != NULL)
        *error = NULL;
    if (report != NULL)
        *report = NULL;
    if (schema != NULL && report != NULL)
        return LICET_OK;
    return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no %s was given",
                    schema == NULL ? "schema" : "place for the report");
}

licet_status licet_schema_computable_permissions(const licet_schema *schema, licet_str definition, licet_str relation,
                                                 licet_str prefix, licet_schema_report **report, licet_error **error)
{
    start        from = { LIC_NO_DEFINITION, LIC_NO_REL, false };
    bool         reached;
    closure      c;
    licet_status status = arguments_check(schema, report, error);

    if (status != LICET_OK)
        return status;
    status = relation.size == 0
                 ? find_definition(schema->program, definition, &from.definition, error)
                 : find_member(schema->program, definition, relation, &from.definition, &from.relation, error);
    if (status != LICET_OK)
        return status;
    reached = closure_init(&c, schema) && reach_computed(&c, from);
    for (size_t i = 0; reached && i < c.count; i++)
        reached = reach_computed(&c, (start){ c.program->relations[c.queue[i]].definition, c.queue[i], false });
    return finish(&c, schema, reached, from.relation, prefix, report, error);
}

licet_status licet_schema_dependent_relations(const licet_schema *schema, licet_str definition, licet_str permission,
                                              licet_schema_report **report, licet_error **error)
{
    uint32_t     number;
    lic_rel      from;
    bool         reached;
    closure      c;
    licet_status status = arguments_check(schema, report, error);

    if (status == LICET_OK)
        status = find_member(schema->program, definition, permission, &number, &from, error);
    if (status != LICET_OK)
        return status;
    if (!schema->program->relations[from].is_permission)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, LIC_NOWHERE,
                        "the relation %Q is not a permission", &permission);
    reached = closure_init(&c, schema) && reach_dependencies(&c, from);
    for (size_t i = 0; reached && i < c.count; i++)
        reached = reach_dependencies(&c, c.queue[i]);
    return finish(&c, schema, reached, from, (lic_str){ NULL, 0 }, report, error);
}
