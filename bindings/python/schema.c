/* licet.Schema: a checked schema. Immutable, shared with the engine it came from, usable after that is closed. */
#include "schema.h"

#include "convert.h"
#include "error.h"

typedef struct schema_object {
    PyObject_HEAD licet_schema *schema; /* ours; never NULL */
} schema_object;

static licet_schema *schema_handle(PyObject *self)
{
    return ((schema_object *)self)->schema;
}

PyObject *schema_to_py(module_state *state, licet_schema *schema)
{
    schema_object *self = PyObject_GC_New(schema_object, state->schema_type);

    if (self == NULL) {
        licet_schema_release(schema);
        return NULL;
    }
    self->schema = schema;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int schema_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void schema_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    licet_schema_release(schema_handle(self));
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(schema_parse_doc,
             "parse($type, /, text, *, folder=None, strict=False)\n--\n\n"
             "Parses and checks a schema.\n\n"
             "text     the schema, a str; the empty one is a schema without definitions\n"
             "folder   where import \"...\" may read from: files inside it only. Without it imports are refused.\n"
             "strict   refuse NUL, marks of direction and escaped surrogates, which SpiceDB takes\n\n"
             "Raises SchemaError with line and column, LimitExceeded, TypeError.\n"
             "Blocks while it reads imported files, without the interpreter's lock. Any thread.");

static PyObject *schema_parse(PyObject *Py_UNUSED(type), PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const signature sig     = { "parse", 1, 1, { "text", "folder", "strict" } };
    module_state          *state   = state_of(cls);
    licet_schema_request   request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema          *schema  = NULL;
    licet_error           *error   = NULL;
    licet_status           status;
    PyObject              *arg[3] = { NULL };
    PyObject              *text   = NULL;
    PyObject              *folder = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !bool_from_py(arg[2], "strict", &request.strict) ||
        !path_from_py(arg[1], &folder, &request.folder))
        return NULL;
    if (!text_from_py(state, arg[0], "text", &request.text, &text)) {
        Py_XDECREF(folder);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = licet_schema_parse(&request, NULL, &schema, &error);
    Py_END_ALLOW_THREADS
    Py_XDECREF(text);
    Py_XDECREF(folder);
    return status == LICET_OK ? schema_to_py(state, schema) : raise_error(state, status, error);
}

PyDoc_STRVAR(schema_format_doc,
             "format($self, /)\n--\n\n"
             "The canonical text, as SpiceDB prints it. It means the same, and formats to itself.\n\n"
             "Partials and imports are spliced in; of the comments those before definitions, relations and\n"
             "permissions stay. Raises OutOfMemory. Does not block. Any thread.");

static PyObject *schema_format(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    static const signature sig   = { "format", 0, 0, { NULL } };
    licet_buffer           text  = LICET_BUFFER_INIT;
    licet_error           *error = NULL;
    licet_status           status;

    if (!unpack(&sig, args, nargs, kwnames, NULL))
        return NULL;
    status = licet_schema_format(schema_handle(self), &text, &error);
    if (status != LICET_OK)
        return raise_error(state_of(cls), status, error);
    return buffer_to_py(&text);
}

static PyObject *lint_to_py(module_state *state, const licet_lint *lint)
{
    PyObject *name    = str_to_py(lint->name);
    PyObject *message = str_to_py(lint->message);

    if (name != NULL && message != NULL)
        return record_to_py(state, RECORD_lint,
                            Py_BuildValue("(NNII)", name, message, (unsigned)lint->line, (unsigned)lint->column));
    Py_XDECREF(name);
    Py_XDECREF(message);
    return NULL;
}

PyDoc_STRVAR(schema_lint_doc,
             "lint($self, /)\n--\n\n"
             "What SpiceDB's developer tools would warn of: a list of Lint, in the order of the text.\n\n"
             "Lints never change what is accepted. Does not block. Any thread.");

static PyObject *schema_lint(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    static const signature sig = { "lint", 0, 0, { NULL } };
    PyObject              *lints;
    PyObject              *item;
    licet_lint             lint = LICET_LINT_INIT;

    if (!unpack(&sig, args, nargs, kwnames, NULL))
        return NULL;
    lints = PyList_New(0);
    for (size_t i = 0; lints != NULL && licet_schema_lint(schema_handle(self), i, &lint); i++) {
        item = lint_to_py(state_of(cls), &lint);
        if (item == NULL || PyList_Append(lints, item) < 0)
            Py_CLEAR(lints);
        Py_XDECREF(item);
    }
    return lints;
}

static PyObject *schema_get_definitions(PyObject *self, void *Py_UNUSED(closure))
{
    size_t    count = licet_schema_definition_count(schema_handle(self));
    PyObject *names = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; names != NULL && i < count; i++) {
        PyObject *name = str_to_py(licet_schema_definition(schema_handle(self), i));

        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
    }
    return names;
}

static PyObject *schema_get_text(PyObject *self, void *Py_UNUSED(closure))
{
    return str_to_py(licet_schema_text(schema_handle(self)));
}

static PyObject *schema_str(PyObject *self)
{
    return schema_get_text(self, NULL);
}

static PyObject *schema_repr(PyObject *self)
{
    size_t count = licet_schema_definition_count(schema_handle(self));

    return PyUnicode_FromFormat("<licet.Schema with %zu definition%s>", count, count == 1 ? "" : "s");
}

static PyMethodDef schema_methods[] = {
    { "parse", AS_METHOD(schema_parse), METHOD_FLAGS | METH_CLASS, schema_parse_doc },
    { "format", AS_METHOD(schema_format), METHOD_FLAGS, schema_format_doc },
    { "lint", AS_METHOD(schema_lint), METHOD_FLAGS, schema_lint_doc },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef schema_getset[] = {
    { "definitions", schema_get_definitions, NULL, "Names of the definitions, a tuple in the order of the text.",
      NULL },
    { "text", schema_get_text, NULL, "The text as it was given; the same as str(schema).", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(schema_doc, "A checked schema. Immutable; any thread may use it.\n\n"
                         "Made by Schema.parse() and Engine.read_schema().");

static PyType_Slot schema_slots[] = {
    { Py_tp_doc, (void *)schema_doc },         { Py_tp_traverse, (void *)schema_traverse },
    { Py_tp_dealloc, (void *)schema_dealloc }, { Py_tp_repr, (void *)schema_repr },
    { Py_tp_str, (void *)schema_str },         { Py_tp_methods, schema_methods },
    { Py_tp_getset, schema_getset },           { 0, NULL },
};

PyType_Spec schema_spec = {
    .name      = "licet.Schema",
    .basicsize = sizeof(schema_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots     = schema_slots,
};
