/* How an answer comes about: licet.Tree, what a permission consists of, and licet.Trace, how a check was decided.
 *
 * Each is a userdata that has the fields of its root, whose nodes are plain tables: made from the core's nodes, which
 * are numbered, so that no depth of a schema is a depth of our stack. The texts are the core's, made when somebody asks
 * for them. Immutable, so that only the finalizer empties the box. */
#include "tree.h"

#include <string.h>

#include "buffer.h"
#include "context.h"
#include "convert.h"
#include "engine.h"
#include "error.h"
#include "json.h"
#include "relationship.h"
#include "result.h"

static const type tree_type  = { "licet.Tree" };
static const type trace_type = { "licet.Trace" };

/* One of the two. The root is the table that belongs to the box. */
typedef struct tree_box {
    engine_box   keeper;
    licet_tree  *tree;  /* owned; or NULL */
    licet_trace *trace; /* the same */
    bool         made;  /* the root is */
} tree_box;

static tree_box *tree_from_lua(lua_State *L)
{
    tree_box *box = box_at(L, 1, &trace_type);

    return box != NULL ? box : box_check(L, 1, &tree_type);
}

/* --------------------------------------------------------------------------- nodes */

static void set_text(lua_State *L, const char *name, licet_str text)
{
    if (text.size == 0)
        return;
    lua_pushlstring(L, text.data, text.size);
    lua_setfield(L, -2, name);
}

static void set_boolean(lua_State *L, const char *name, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

/* Pushes {operation, resource, relation, subjects, children}. */
static void push_tree_node(lua_State *L, const licet_tree *tree, size_t index, const licet_tree_node *node)
{
    static const char *const operations[] = { "leaf", "union", "intersection", "exclusion" };
    licet_str                subject;

    lua_createtable(L, 0, 5);
    lua_pushstring(L, operations[node->kind]);
    lua_setfield(L, -2, "operation");
    set_text(L, "resource", node->resource);
    set_text(L, "relation", node->relation);
    lua_createtable(L, (int)node->subject_count, 0);
    for (size_t i = 0; i < node->subject_count; i++) {
        subject = licet_tree_subject(tree, index, i);
        lua_pushlstring(L, subject.data, subject.size);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "subjects");
}

static void set_caveat(lua_State *L, const licet_trace_node *node)
{
    set_text(L, "caveat_name", node->caveat_name);
    set_text(L, "caveat_expression", node->caveat_expression);
    if (node->caveat_context.size > 0) {
        json_push(L, node->caveat_context);
        lua_setfield(L, -2, "caveat_context");
    }
}

/* Pushes a table with the fields of a licet_trace_node; those that are empty are not there. */
static void push_trace_node(lua_State *L, const licet_trace_node *node)
{
    lua_createtable(L, 0, 12);
    set_text(L, "resource", node->resource);
    set_text(L, "permission", node->permission);
    set_boolean(L, "is_permission", node->is_permission);
    set_boolean(L, "allowed", node->status == LICET_OK && node->permissionship == LICET_HAS_PERMISSION);
    permissionship_push(L, node->permissionship);
    lua_setfield(L, -2, "permissionship");
    if (node->status != LICET_OK) {
        lua_pushstring(L, licet_status_name(node->status));
        lua_setfield(L, -2, "error");
    }
    set_text(L, "reason", node->reason);
    set_text(L, "operand", node->operand);
    if (node->relationship.size > 0) {
        relationship_push_text(L, node->relationship);
        lua_setfield(L, -2, "relationship");
    }
    set_caveat(L, node);
    texts_push(L, node->missing, node->missing_count);
    lua_setfield(L, -2, "missing_context");
    set_boolean(L, "is_cut", node->is_cut);
}

/* Where the children of a node are. */
typedef struct span {
    size_t first;
    size_t count;
} span;

/* Pushes node `index`. */
static span push_node(lua_State *L, const tree_box *box, size_t index)
{
    licet_tree_node  tree_node  = LICET_TREE_NODE_INIT;
    licet_trace_node trace_node = LICET_TRACE_NODE_INIT;

    if (box->tree != NULL) {
        (void)licet_tree_node_at(box->tree, index, &tree_node);
        push_tree_node(L, box->tree, index, &tree_node);
        return (span){ tree_node.first_child, tree_node.child_count };
    }
    (void)licet_trace_node_at(box->trace, index, &trace_node);
    push_trace_node(L, &trace_node);
    return (span){ trace_node.first_child, trace_node.child_count };
}

/* Pushes the list of all nodes, in which children stand behind their parents: so it is filled from its end. */
static void push_nodes(lua_State *L, const tree_box *box)
{
    size_t count = box->tree != NULL ? licet_tree_node_count(box->tree) : licet_trace_node_count(box->trace);
    span   children;

    lua_createtable(L, (int)count, 0);
    for (size_t i = count; i-- > 0;) {
        children = push_node(L, box, i);
        lua_createtable(L, (int)children.count, 0);
        for (size_t c = 0; c < children.count; c++) {
            lua_rawgeti(L, -3, (int)(children.first + c) + 1);
            lua_rawseti(L, -2, (int)c + 1);
        }
        lua_setfield(L, -2, "children");
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* Gives the box at `index` its root. */
static void make_root(lua_State *L, int index)
{
    tree_box *box = lua_touserdata(L, index);

    push_nodes(L, box);
    lua_rawgeti(L, -1, 1);
    lua_settable_of(L, index);
    box->made = true;
    lua_pop(L, 1);
}

/* --------------------------------------------------------------------------- fields */

static int push_format(lua_State *L, licet_format format)
{
    const tree_box *box    = tree_from_lua(L);
    licet_buffer   *buffer = buffer_new(L);
    licet_error    *error  = NULL;
    licet_status    status;

    status = box->tree != NULL ? licet_tree_format(box->tree, format, buffer, &error)
                               : licet_trace_format(box->trace, format, buffer, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    buffer_push_text(L, buffer);
    return 1;
}

/* tree:to_json() -> text | nil, err */
static int tree_to_json(lua_State *L)
{
    return push_format(L, LICET_FORMAT_JSON);
}

static int tree_tostring(lua_State *L)
{
    int count = push_format(L, LICET_FORMAT_TEXT);

    return count == 1 ? 1 : lua_error(L); /* tostring() has no other way to say that there is no memory */
}

static int push_token(lua_State *L, const tree_box *box)
{
    licet_token token = { { 0 } };

    if (box->tree != NULL)
        licet_tree_token(box->tree, &token);
    else
        licet_trace_token(box->trace, &token);
    if (token.text[0] == '\0')
        return 0;
    lua_pushstring(L, token.text);
    return 1;
}

/* root, token, to_json, and the root's fields */
static int tree_index(lua_State *L)
{
    const tree_box *box  = tree_from_lua(L);
    const char     *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";

    if (strcmp(name, "to_json") == 0) {
        lua_pushcfunction(L, tree_to_json);
        return 1;
    }
    if (strcmp(name, "token") == 0)
        return push_token(L, box);
    if (!box->made)
        return 0;
    lua_gettable_of(L, 1);
    if (strcmp(name, "root") == 0)
        return 1;
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    return 1;
}

static int tree_gc(lua_State *L)
{
    tree_box    *box   = tree_from_lua(L);
    licet_tree  *tree  = box->tree;
    licet_trace *trace = box->trace;

    box->tree  = NULL;
    box->trace = NULL;
    licet_tree_release(tree);
    licet_trace_release(trace);
    engine_let_go(&box->keeper);
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__index", tree_index },
    { "__tostring", tree_tostring },
    { "__gc", tree_gc },
    { NULL, NULL },
};

void tree_register(lua_State *L)
{
    type_register(L, &tree_type, metamethods, NULL);
    type_register(L, &trace_type, metamethods, NULL);
}

/* -------------------------------------------------------------------------- methods */

/* engine:expand(resource, permission, {consistency}) -> tree | nil, err */
int engine_expand(lua_State *L)
{
    static const field   fields[] = { CONSISTENCY_FIELDS(offsetof(licet_expand_request, consistency)) };
    engine_box          *self     = engine_from_lua(L, 1);
    licet_expand_request request  = LICET_EXPAND_REQUEST_INIT;
    licet_error         *error    = NULL;
    licet_status         status;
    tree_box            *box;

    lua_settop(L, 4);
    request.resource   = str_from_lua(L, 2);
    request.permission = str_from_lua(L, 3);
    box                = box_new(L, sizeof *box, &tree_type); /* 5 */
    options_read(L, 4, fields, COUNT_OF(fields), &request);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_expand(self->engine, &request, &box->tree, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    engine_keep(&box->keeper, self);
    make_root(L, 5);
    return 1;
}

/* engine:explain(resource, permission, subject, {context, consistency}) -> trace | nil, err
 * The error of an evaluation has a trace, which says how far it came. */
int engine_explain(lua_State *L)
{
    engine_box         *self    = engine_from_lua(L, 1);
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_error        *error   = NULL;
    licet_status        status;
    tree_box           *box;

    lua_settop(L, 5);
    request.resource   = str_from_lua(L, 2);
    request.permission = str_from_lua(L, 3);
    request.subject    = str_from_lua(L, 4);
    context_push_option(L, 5, "context"); /* 6 */
    request.context = context_view(L, 6);
    box             = box_new(L, sizeof *box, &trace_type); /* 7 */
    consistency_from_options(L, 5, &request.consistency);
    if (self->engine == NULL)
        return push_closed(L);
    status = licet_explain(self->engine, &request, &box->trace, &error);
    if (box->trace != NULL)
        engine_keep(&box->keeper, self);
    if (status != LICET_OK)
        (void)push_error(L, status, error); /* 8 and 9 */
    if (box->trace != NULL)
        make_root(L, 7);
    if (status == LICET_OK)
        return 1;
    if (box->trace != NULL) {
        lua_pushvalue(L, 7);
        lua_setfield(L, 9, "trace");
    }
    return 2;
}
