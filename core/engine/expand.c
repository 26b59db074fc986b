/* Expanding a permission: the tree with its texts, which are made at once, so that any number of threads may look. */
#include "datastore/object.h"
#include "datastore/typing.h"
#include "engine/engine.h"
#include "eval/expand.h"

#define TREE_TAG UINT64_C(0x6c69637474726565) /* "licttree" */

#define TIMEOUT_MS 30000u /* as a lookup's */

struct licet_tree {
    uint64_t         tag;
    licet_engine    *engine; /* held: for its memory, and for names and ids */
    uint64_t         revision;
    const lic_graph *graph; /* while the texts are made */
    lic_arena        arena; /* all below */
    lic_tree         tree;
    lic_str         *resources; /* by node: "document:readme" */
    lic_str         *relations;
    lic_str         *subjects; /* by subject: "group:eng#member" */
};

static bool is_tree(const licet_tree *tree)
{
    return tree != NULL && tree->tag == TREE_TAG;
}

/* -------------------------------------------------------------------- texts */

static void append(char **at, lic_str text)
{
    if (text.size > 0)
        memcpy(*at, text.data, text.size);
    *at += text.size;
}

/* "type:id" or "type:id#relation". */
static lic_str join_text(lic_arena *arena, lic_str type, lic_str id, lic_str relation)
{
    const size_t size = type.size + 1 + id.size + (relation.size == 0 ? 0 : 1 + relation.size); /* bounded each */
    char        *text = lic_arena_alloc(arena, size);
    char        *at   = text;

    if (text == NULL)
        return (lic_str){ NULL, 0 };
    append(&at, type);
    *at++ = ':';
    append(&at, id);
    if (relation.size > 0) {
        *at++ = '#';
        append(&at, relation);
    }
    return (lic_str){ text, size };
}

/* The id of LIC_NO_NODE is that of the request's resource: nothing else in a tree can be unknown. */
static lic_str id_of(const licet_tree *tree, lic_type type, uint32_t node, lic_str unknown)
{
    return node == LIC_NO_NODE ? unknown : lic_graph_node_id(tree->graph, type, node);
}

/* Most nodes are about the object of the one above. */
static bool name_node(licet_tree *tree, const lic_program *program, size_t index, lic_str unknown)
{
    const lic_tree_node *node     = &tree->tree.nodes[index];
    const lic_tree_node *parent   = &tree->tree.nodes[node->parent];
    const lic_relation  *relation = &program->relations[node->relation];
    const lic_type       type     = program->definitions[relation->definition].type;

    tree->relations[index] = lic_names_relation_name(tree->engine->names, relation->slot);
    if (index > 0 && node->node == parent->node &&
        relation->definition == program->relations[parent->relation].definition)
        tree->resources[index] = tree->resources[node->parent];
    else
        tree->resources[index] = join_text(&tree->arena, lic_names_type_name(tree->engine->names, type),
                                           id_of(tree, type, node->node, unknown), (lic_str){ NULL, 0 });
    return lic_str_given(tree->resources[index]);
}

static bool name_subject(licet_tree *tree, const lic_program *program, size_t index, lic_str unknown)
{
    const lic_names *names      = tree->engine->names;
    const lic_ref    subject    = tree->tree.subjects[index];
    const lic_type   type       = lic_names_type_of(names, subject.slot);
    const bool       is_userset = lic_program_slot(program, subject.slot).relation != LIC_NO_REL;

    tree->subjects[index] =
        join_text(&tree->arena, lic_names_type_name(names, type), id_of(tree, type, subject.node, unknown),
                  is_userset ? lic_names_relation_name(names, subject.slot) : (lic_str){ NULL, 0 });
    return lic_str_given(tree->subjects[index]);
}

static bool name_all(licet_tree *tree, const lic_program *program, lic_str unknown)
{
    tree->resources = lic_new_array(&tree->arena, tree->tree.count, lic_str);
    tree->relations = lic_new_array(&tree->arena, tree->tree.count, lic_str);
    tree->subjects  = lic_new_array(&tree->arena, tree->tree.subject_count, lic_str);
    if (tree->resources == NULL || tree->relations == NULL || tree->subjects == NULL)
        return false;
    for (size_t i = 0; i < tree->tree.count; i++)
        if (!name_node(tree, program, i, unknown))
            return false;
    for (size_t i = 0; i < tree->tree.subject_count; i++)
        if (!name_subject(tree, program, i, unknown))
            return false;
    return true;
}

/* ------------------------------------------------------------------ expanding */

static licet_status expand_at(licet_tree *tree, const lic_snapshot *snapshot, const licet_expand_request *request,
                              licet_error **error)
{
    const licet_engine *engine   = tree->engine;
    const lic_program  *program  = lic_engine_program(engine, snapshot);
    lic_object          resource = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uint32_t            definition;
    uint32_t            node;
    lic_rel             relation;
    lic_moment          moment;
    lic_eval            eval;
    licet_status        status;

    tree->graph = snapshot->graph;
    lic_object_split(request->resource, &resource);
    LIC_TRY(lic_find_definition(program, resource.type, &definition, error));
    LIC_TRY(lic_find_relation(program, definition, request->permission, &relation, error));
    node = lic_snapshot_find_node(snapshot, program->definitions[definition].type, resource.id);
    lic_eval_init(&eval, program, snapshot, &tree->arena, &engine->limits);
    lic_engine_begin_moment(engine, &moment);
    eval.moment = &moment;
    eval.strict = engine->strict;
    LIC_TRY(lic_expand(&eval, relation, node, TIMEOUT_MS, &tree->arena, &tree->tree, error));
    LIC_TRY(lic_engine_end_moment(&moment, status, error));
    if (!name_all(tree, program, resource.id))
        status = lic_fail_memory(error);
done:
    return status;
}

static licet_status shapes_check(const licet_expand_request *request, licet_error **error)
{
    licet_status status = lic_object_check("resource", request->resource, false, error);

    return status == LICET_OK ? lic_relation_check("permission", request->permission, error) : status;
}

static licet_status tree_new(licet_engine *engine, const licet_expand_request *request, licet_tree **out,
                             licet_error **error)
{
    const lic_need need = { .kind       = LIC_NEED_EXPANSION,
                            .resource   = request->resource,
                            .permission = request->permission };
    licet_tree    *tree = lic_alloc_zero(engine->memory, sizeof *tree);
    lic_snapshot   snapshot;
    licet_status   status;

    if (tree == NULL)
        return lic_fail_memory(error);
    tree->tag    = TREE_TAG;
    tree->engine = engine;
    licet_engine_retain(engine);
    lic_arena_init(&tree->arena, engine->memory);
    status = lic_engine_pin(engine, &request->consistency, &need, &snapshot, error);
    if (status == LICET_OK) {
        tree->revision = snapshot.revision;
        status         = expand_at(tree, &snapshot, request, error);
        lic_engine_unpin(&snapshot);
    }
    if (status == LICET_OK)
        *out = tree;
    else
        licet_tree_release(tree);
    return status;
}

licet_status licet_expand(licet_engine *engine, const licet_expand_request *request, licet_tree **tree,
                          licet_error **error)
{
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (tree == NULL)
        return lic_fail_record(error, "tree");
    *tree = NULL;
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    status = shapes_check(request, error);
    if (status == LICET_OK)
        status = tree_new(engine, request, tree, error);
    lic_engine_leave(&call);
    return status;
}

/* -------------------------------------------------------------------- looking */

size_t licet_tree_node_count(const licet_tree *tree)
{
    return is_tree(tree) ? tree->tree.count : 0;
}

bool licet_tree_node_at(const licet_tree *tree, size_t index, licet_tree_node *node)
{
    const lic_tree_node *found;

    if (!is_tree(tree) || index >= tree->tree.count || !LIC_RECORD_KNOWN(node))
        return false;
    found = &tree->tree.nodes[index];
    *node = (licet_tree_node){ .size          = sizeof *node,
                               .kind          = found->kind,
                               .resource      = tree->resources[index],
                               .relation      = tree->relations[index],
                               .first_child   = found->first_child,
                               .child_count   = found->child_count,
                               .subject_count = found->subject_count };
    return true;
}

licet_str licet_tree_subject(const licet_tree *tree, size_t node, size_t index)
{
    if (!is_tree(tree) || node >= tree->tree.count || index >= tree->tree.nodes[node].subject_count)
        return (licet_str){ NULL, 0 };
    return tree->subjects[tree->tree.nodes[node].first_subject + index];
}

void licet_tree_token(const licet_tree *tree, licet_token *token)
{
    if (token == NULL)
        return;
    token->text[0] = '\0';
    if (is_tree(tree))
        lic_engine_token(tree->engine, tree->revision, token);
}

void licet_tree_release(licet_tree *tree)
{
    licet_engine *engine;

    if (!is_tree(tree))
        return;
    engine    = tree->engine;
    tree->tag = 0;
    lic_arena_free(&tree->arena);
    lic_free(engine->memory, tree, sizeof *tree);
    licet_engine_release(engine);
}

/* ------------------------------------------------------------------- printing */

static lic_str word_of(licet_tree_kind kind)
{
    switch (kind) {
    case LICET_TREE_UNION:
        return LIC_STR("union");
    case LICET_TREE_INTERSECTION:
        return LIC_STR("intersection");
    case LICET_TREE_EXCLUSION:
        return LIC_STR("exclusion");
    case LICET_TREE_LEAF:
        break;
    }
    return LIC_STR("leaf");
}

/* What of a node comes before its children, and what after them. */
typedef void print_part(const licet_tree *tree, size_t index, size_t level, lic_text *out);

static void open_text(const licet_tree *tree, size_t index, size_t level, lic_text *out)
{
    const lic_tree_node *node = &tree->tree.nodes[index];

    for (size_t i = 0; i < level; i++)
        lic_text_add_literal(out, "  ");
    lic_text_add(out, word_of(node->kind));
    lic_text_add_char(out, ' ');
    lic_text_add(out, tree->resources[index]);
    lic_text_add_char(out, '#');
    lic_text_add(out, tree->relations[index]);
    for (size_t i = 0; i < node->subject_count; i++) {
        lic_text_add(out, i == 0 ? LIC_STR(": ") : LIC_STR(", "));
        lic_text_add(out, tree->subjects[node->first_subject + i]);
    }
    lic_text_add_char(out, '\n');
}

static void close_text(const licet_tree *tree, size_t index, size_t level, lic_text *out)
{
    (void)tree;
    (void)index;
    (void)level;
    (void)out;
}

static void open_json(const licet_tree *tree, size_t index, size_t level, lic_text *out)
{
    const lic_tree_node *node = &tree->tree.nodes[index];

    (void)level;
    if (index > 0 && index != tree->tree.nodes[node->parent].first_child)
        lic_text_add_literal(out, ", ");
    lic_text_add_literal(out, "{\"operation\": ");
    lic_text_add_json(out, word_of(node->kind));
    lic_text_add_literal(out, ", \"resource\": ");
    lic_text_add_json(out, tree->resources[index]);
    lic_text_add_literal(out, ", \"relation\": ");
    lic_text_add_json(out, tree->relations[index]);
    lic_text_add(out, node->kind == LICET_TREE_LEAF ? LIC_STR(", \"subjects\": [") : LIC_STR(", \"children\": ["));
    for (size_t i = 0; i < node->subject_count; i++) {
        if (i > 0)
            lic_text_add_literal(out, ", ");
        lic_text_add_json(out, tree->subjects[node->first_subject + i]);
    }
}

static void close_json(const licet_tree *tree, size_t index, size_t level, lic_text *out)
{
    (void)tree;
    (void)index;
    (void)level;
    lic_text_add_literal(out, "]}");
}

/* Depth first: down to the first child, else on to the next one of the nearest node above that has one. */
static void print_tree(const licet_tree *tree, print_part *open, print_part *close, lic_text *out)
{
    const lic_tree_node *nodes = tree->tree.nodes;
    size_t               level = 0;
    size_t               at    = 0;

    for (;;) {
        open(tree, at, level, out);
        if (nodes[at].child_count > 0) {
            at = nodes[at].first_child;
            level++;
            continue;
        }
        close(tree, at, level, out);
        while (at > 0 && at + 1 == nodes[nodes[at].parent].first_child + nodes[nodes[at].parent].child_count) {
            at = nodes[at].parent;
            close(tree, at, --level, out);
        }
        if (at == 0)
            return;
        at++;
    }
}

licet_status licet_tree_format(const licet_tree *tree, licet_format format, licet_buffer *out, licet_error **error)
{
    lic_text text;
    bool     done;

    lic_error_begin(error);
    if (out == NULL || out->size_of_record != sizeof *out)
        return lic_fail_record(error, "out");
    out->data = NULL;
    out->size = 0;
    if (!is_tree(tree))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "tree is NULL or not a tree");
    if (format != LICET_FORMAT_TEXT && format != LICET_FORMAT_JSON)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "format: %d is neither text nor JSON",
                        (int)format);
    lic_text_init(&text, tree->engine->memory);
    if (format == LICET_FORMAT_JSON)
        print_tree(tree, open_json, close_json, &text);
    else
        print_tree(tree, open_text, close_text, &text);
    done = lic_text_to_buffer(&text, out);
    lic_text_free(&text);
    return done ? LICET_OK : lic_fail_memory(error);
}
