/* How an answer comes about: licet.Tree, what a permission consists of, and licet.Trace, how a check was decided.
 *
 * Nodes become named tuples that hold their children. In the core children have greater numbers than their parents, so the
 * nodes are made from the last to the first, and no depth of a schema is a depth of our stack. The texts are the core's. */
#include "tree.h"

#include "context.h"
#include "convert.h"
#include "engine.h"
#include "error.h"

/* --------------------------------------------------------------------------- nodes */

/* Makes node `index` whose children are a tuple, which it takes. */
typedef PyObject *node_maker(module_state *state, const void *source, size_t index, PyObject *children);

/* The children that a node of the source has. */
typedef void children_finder(const void *source, size_t index, size_t *first, size_t *count);

/* Moves nodes, which stand side by side, into a tuple. */
static PyObject *children_take(PyObject **nodes, size_t count)
{
    PyObject *children = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; children != NULL && i < count; i++) {
        PyTuple_SET_ITEM(children, (Py_ssize_t)i, nodes[i]);
        nodes[i] = NULL;
    }
    return children;
}

static bool make_nodes(module_state *state, const void *source, size_t count, children_finder *find, node_maker *make,
                       PyObject **nodes)
{
    for (size_t i = count; i-- > 0;) {
        size_t    first          = 0;
        size_t    children_count = 0;
        PyObject *children;

        find(source, i, &first, &children_count);
        children = children_take(nodes + first, children_count);
        nodes[i] = children == NULL ? NULL : make(state, source, i, children);
        if (nodes[i] == NULL)
            return false;
    }
    return true;
}

/* The root, with all that is below it. */
static PyObject *root_to_py(module_state *state, const void *source, size_t count, children_finder *find,
                            node_maker *make)
{
    PyObject **nodes = PyMem_Calloc(count, sizeof *nodes);
    PyObject  *root  = NULL;

    if (nodes == NULL)
        return PyErr_NoMemory();
    if (make_nodes(state, source, count, find, make, nodes)) {
        root     = nodes[0];
        nodes[0] = NULL;
    }
    for (size_t i = 0; i < count; i++)
        Py_XDECREF(nodes[i]);
    PyMem_Free(nodes);
    return root;
}

/* ---------------------------------------------------------------------------- trees */

typedef struct tree_object {
    PyObject_HEAD licet_tree *tree;   /* ours; never NULL */
    PyObject                 *engine; /* a licet.Engine: its last release happens in its own destructor */
    PyObject                 *root;   /* a TreeNode */
} tree_object;

static void tree_children(const void *source, size_t index, size_t *first, size_t *count)
{
    licet_tree_node node = LICET_TREE_NODE_INIT;

    if (licet_tree_node_at(source, index, &node)) {
        *first = node.first_child;
        *count = node.child_count;
    }
}

static PyObject *subjects_to_py(const licet_tree *tree, size_t index, size_t count)
{
    PyObject *subjects = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; subjects != NULL && i < count; i++) {
        PyObject *subject = str_to_py(licet_tree_subject(tree, index, i));

        if (subject == NULL)
            Py_CLEAR(subjects);
        else
            PyTuple_SET_ITEM(subjects, (Py_ssize_t)i, subject);
    }
    return subjects;
}

static PyObject *tree_node_to_py(module_state *state, const void *source, size_t index, PyObject *children)
{
    static const char *const operations[] = { "leaf", "union", "intersection", "exclusion" };
    licet_tree_node          node         = LICET_TREE_NODE_INIT;
    PyObject                *values[5];

    (void)licet_tree_node_at(source, index, &node);
    values[0] = PyUnicode_FromString(operations[node.kind]);
    values[1] = str_to_py(node.resource);
    values[2] = str_to_py(node.relation);
    values[3] = subjects_to_py(source, index, node.subject_count);
    values[4] = children;
    return record_of(state, RECORD_tree_node, values, 5);
}

/* Takes the tree, also when it fails. */
static PyObject *tree_to_py(module_state *state, PyObject *engine, licet_tree *tree)
{
    PyObject    *root = root_to_py(state, tree, licet_tree_node_count(tree), tree_children, tree_node_to_py);
    tree_object *self = root == NULL ? NULL : PyObject_GC_New(tree_object, state->tree_type);

    if (self == NULL) {
        Py_XDECREF(root);
        licet_tree_release(tree);
        return NULL;
    }
    self->tree   = tree;
    self->engine = Py_NewRef(engine);
    self->root   = root;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int tree_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((tree_object *)self)->engine);
    Py_VISIT(((tree_object *)self)->root);
    return 0;
}

/* Not the engine, which stays for as long as the tree: cycles through it are broken at its log. */
static int tree_clear(PyObject *self)
{
    Py_CLEAR(((tree_object *)self)->root);
    return 0;
}

static void tree_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    licet_tree_release(((tree_object *)self)->tree);
    (void)tree_clear(self);
    Py_DECREF(((tree_object *)self)->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *tree_text(PyObject *self, licet_format format)
{
    licet_buffer text  = LICET_BUFFER_INIT;
    licet_error *error = NULL;
    licet_status status;

    status = licet_tree_format(((tree_object *)self)->tree, format, &text, &error);
    if (status != LICET_OK)
        return raise_error(state_of_self(self), status, error);
    return format == LICET_FORMAT_TEXT ? lines_to_py(&text) : buffer_to_py(&text);
}

static PyObject *tree_str(PyObject *self)
{
    return tree_text(self, LICET_FORMAT_TEXT);
}

PyDoc_STRVAR(tree_to_json_doc, "to_json($self, /)\n--\n\n"
                               "The whole tree as one JSON document, a str. Raises OutOfMemory. Does not block.");

static PyObject *tree_to_json(PyObject *self, PyObject *Py_UNUSED(none))
{
    return tree_text(self, LICET_FORMAT_JSON);
}

static PyObject *tree_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<licet.Tree %R>", ((tree_object *)self)->root);
}

static PyObject *tree_get_root(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(((tree_object *)self)->root);
}

static PyObject *tree_get_field(PyObject *self, void *closure)
{
    return PyObject_GetAttrString(((tree_object *)self)->root, closure);
}

static PyObject *tree_get_token(PyObject *self, void *Py_UNUSED(closure))
{
    licet_token token = { { 0 } };

    licet_tree_token(((tree_object *)self)->tree, &token);
    return token_to_py(&token);
}

static PyGetSetDef tree_getset[] = {
    { "root", tree_get_root, NULL, "The TreeNode at the top, with all that is below it.", NULL },
    { "operation", tree_get_field, NULL, "Of the root; see TreeNode.", "operation" },
    { "resource", tree_get_field, NULL, "Of the root; see TreeNode.", "resource" },
    { "relation", tree_get_field, NULL, "Of the root; see TreeNode.", "relation" },
    { "subjects", tree_get_field, NULL, "Of the root; see TreeNode.", "subjects" },
    { "children", tree_get_field, NULL, "Of the root; see TreeNode.", "children" },
    { "token", tree_get_token, NULL, "Token of the revision that was read.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef tree_methods[] = {
    { "to_json", tree_to_json, METH_NOARGS, tree_to_json_doc },
    { NULL, NULL, 0, NULL },
};

PyDoc_STRVAR(tree_doc,
             "Where a permission's subjects come from: operators over relations. str() is a text for a person.\n\n"
             "Immutable. Made by Engine.expand().");

static PyType_Slot tree_slots[] = {
    { Py_tp_doc, (void *)tree_doc },
    { Py_tp_traverse, (void *)tree_traverse },
    { Py_tp_clear, (void *)tree_clear },
    { Py_tp_dealloc, (void *)tree_dealloc },
    { Py_tp_repr, (void *)tree_repr },
    { Py_tp_str, (void *)tree_str },
    { Py_tp_methods, (void *)tree_methods },
    { Py_tp_getset, tree_getset },
    { 0, NULL },
};

PyType_Spec tree_spec = {
    .name      = "licet.Tree",
    .basicsize = sizeof(tree_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots     = tree_slots,
};

const char engine_expand_doc[] =
    "expand($self, /, resource, permission, *, consistency=None, may_block=True)\n--\n\n"
    "What does a permission consist of? A Tree of its operators, with the subjects that are stored under its\n"
    "relations.\n\n"
    "resource    \"document:readme\"\n"
    "permission  \"view\": a permission or a relation\n\n"
    "Usersets are named and not followed; caveats are not shown; what has expired is not there. Raises\n"
    "InvalidArgument, NotFound, LimitExceeded, InvalidToken, RevisionExpired, DeadlineExceeded, OutOfMemory,\n"
    "Closed, TypeError. Works without the interpreter's lock. Any thread.";

PyObject *engine_expand(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig     = { "expand", 2, 2, { "resource", "permission", "consistency", "may_block" } };
    module_state          *state   = state_of(cls);
    licet_expand_request   request = LICET_EXPAND_REQUEST_INIT;
    licet_tree            *tree    = NULL;
    licet_error           *error   = NULL;
    licet_status           status;
    PyObject              *arg[4] = { NULL };

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "resource", &request.resource) ||
        !str_from_py(state, arg[1], "permission", &request.permission) ||
        !consistency_from_py(state, arg[2], arg[3], &request.consistency))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = licet_expand(engine_handle(self), &request, &tree, &error);
    Py_END_ALLOW_THREADS
    return status == LICET_OK ? tree_to_py(state, self, tree) : raise_error(state, status, error);
}

/* --------------------------------------------------------------------------- traces */

static void trace_children(const void *source, size_t index, size_t *first, size_t *count)
{
    licet_trace_node node = LICET_TRACE_NODE_INIT;

    if (licet_trace_node_at(source, index, &node)) {
        *first = node.first_child;
        *count = node.child_count;
    }
}

static PyObject *values_to_py(module_state *state, licet_str json)
{
    return json.size == 0 ? Py_NewRef(Py_None) : json_to_py(state, str_to_py(json));
}

static PyObject *trace_node_to_py(module_state *state, const void *source, size_t index, PyObject *children)
{
    licet_trace_node node = LICET_TRACE_NODE_INIT;
    PyObject        *relationship;
    PyObject        *context;
    PyObject        *values[14];

    (void)licet_trace_node_at(source, index, &node);
    relationship = relationship_text_to_py(state, node.relationship);
    context      = relationship == NULL ? NULL : values_to_py(state, node.caveat_context);
    if (context == NULL) {
        Py_XDECREF(relationship);
        Py_DECREF(children);
        return NULL;
    }
    values[0]  = str_to_py(node.resource);
    values[1]  = str_to_py(node.permission);
    values[2]  = PyBool_FromLong(node.is_permission);
    values[3]  = permissionship_to_py(state, node.permissionship);
    values[4]  = node.status == LICET_OK ? Py_NewRef(Py_None) : PyUnicode_FromString(licet_status_name(node.status));
    values[5]  = str_to_py(node.reason);
    values[6]  = filled_str_to_py(node.operand);
    values[7]  = relationship;
    values[8]  = filled_str_to_py(node.caveat_name);
    values[9]  = filled_str_to_py(node.caveat_expression);
    values[10] = context;
    values[11] = strs_to_py(node.missing, node.missing_count);
    values[12] = PyBool_FromLong(node.is_cut);
    values[13] = children;
    return record_of(state, RECORD_trace_node, values, 14);
}

static PyObject *trace_text(module_state *state, const licet_trace *trace, licet_format format)
{
    licet_buffer text  = LICET_BUFFER_INIT;
    licet_error *error = NULL;
    licet_status status;

    status = licet_trace_format(trace, format, &text, &error);
    if (status != LICET_OK)
        return raise_error(state, status, error);
    return format == LICET_FORMAT_TEXT ? lines_to_py(&text) : buffer_to_py(&text);
}

/* A Trace, which holds nothing of the core: an error that carries one can go wherever errors go. */
static PyObject *trace_view_to_py(module_state *state, const licet_trace *trace)
{
    licet_token token     = { { 0 } };
    PyObject   *values[4] = { NULL };

    licet_trace_token(trace, &token);
    values[0] = root_to_py(state, trace, licet_trace_node_count(trace), trace_children, trace_node_to_py);
    if (values[0] != NULL)
        values[1] = trace_text(state, trace, LICET_FORMAT_TEXT);
    if (values[1] != NULL)
        values[2] = trace_text(state, trace, LICET_FORMAT_JSON);
    if (values[2] != NULL)
        values[3] = token_to_py(&token);
    return record_of(state, RECORD_trace, values, 4);
}

/* Takes the trace. */
static PyObject *trace_to_py(module_state *state, licet_trace *trace)
{
    PyObject *object = trace_view_to_py(state, trace);

    licet_trace_release(trace);
    return object;
}

/* Raises the error with .trace, where there is one. Takes both. */
static PyObject *raise_with_trace(module_state *state, licet_status status, licet_error *error, licet_trace *trace)
{
    PyObject *exception = error_to_py(state, status, error);
    PyObject *told      = Py_None;

    if (exception == NULL || trace == NULL) {
        licet_trace_release(trace);
        raise_exception(exception);
        return NULL;
    }
    told = trace_to_py(state, trace);
    if (told == NULL || PyObject_SetAttrString(exception, "trace", told) < 0)
        Py_DECREF(exception); /* what went wrong now is raised instead */
    else
        raise_exception(exception);
    Py_XDECREF(told);
    return NULL;
}

static PyObject *explain_request(PyObject *self, module_state *state, const licet_check_request *request)
{
    licet_trace *trace = NULL;
    licet_error *error = NULL;
    licet_status status;

    Py_BEGIN_ALLOW_THREADS
    status = licet_explain(engine_handle(self), request, &trace, &error);
    Py_END_ALLOW_THREADS
    return status == LICET_OK ? trace_to_py(state, trace) : raise_with_trace(state, status, error, trace);
}

const char engine_explain_doc[] =
    "explain($self, /, resource, permission, subject, *, context=None, consistency=None, may_block=True)\n--\n\n"
    "Decides as check() does, and tells how: the whole way of a grant, or all that was tried. A Trace;\n"
    "bool(trace) is what allowed() says, str(trace) a text for a person.\n\n"
    "Takes what allowed() takes, and raises it. An error of the evaluation (LimitExceeded, InvalidArgument of\n"
    "kind \"eval\") has a .trace, which says how far it came. Works without the interpreter's lock. Any thread.";

PyObject *engine_explain(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig = {
        "explain", 3, 3, { "resource", "permission", "subject", "context", "consistency", "may_block" }
    };
    module_state       *state   = state_of(cls);
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    context_text        text;
    PyObject           *arg[6] = { NULL };
    PyObject           *trace  = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "resource", &request.resource) ||
        !str_from_py(state, arg[1], "permission", &request.permission) ||
        !str_from_py(state, arg[2], "subject", &request.subject) ||
        !consistency_from_py(state, arg[4], arg[5], &request.consistency))
        return NULL;
    context_text_init(&text);
    if (context_from_py(state, arg[3], &text, &request.context))
        trace = explain_request(self, state, &request);
    context_text_clear(&text);
    return trace;
}
