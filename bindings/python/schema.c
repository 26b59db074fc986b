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
    PyObject *values[] = { str_to_py(lint->name), str_to_py(lint->message), PyLong_FromUnsignedLong(lint->line),
                           PyLong_FromUnsignedLong(lint->column) };

    return record_of(state, RECORD_lint, values, 4);
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

/* ---------------------------------------------------------- comparing and describing */

static PyObject *change_to_py(module_state *state, const licet_schema_entry *entry)
{
    PyObject *values[] = {
        str_to_py(entry->kind),          filled_str_to_py(entry->definition), filled_str_to_py(entry->name),
        filled_str_to_py(entry->caveat), filled_str_to_py(entry->parameter),  filled_str_to_py(entry->before),
        filled_str_to_py(entry->after),
    };

    return record_of(state, RECORD_schema_change, values, 7);
}

static PyObject *member_to_py(module_state *state, const licet_schema_entry *entry)
{
    PyObject *values[] = { str_to_py(entry->kind), str_to_py(entry->definition), str_to_py(entry->name) };

    return record_of(state, RECORD_schema_member, values, 3);
}

/* A list of what `make` makes of the entries. Takes the report. */
static PyObject *entries_to_py(module_state *state, licet_schema_report *report,
                               PyObject *(*make)(module_state *, const licet_schema_entry *))
{
    PyObject          *entries = PyList_New(0);
    licet_schema_entry entry   = LICET_SCHEMA_ENTRY_INIT;

    for (size_t i = 0; entries != NULL && licet_schema_report_entry(report, i, &entry); i++) {
        PyObject *item = make(state, &entry);

        if (item == NULL || PyList_Append(entries, item) < 0)
            Py_CLEAR(entries);
        Py_XDECREF(item);
    }
    licet_schema_report_release(report);
    return entries;
}

PyDoc_STRVAR(
    schema_diff_doc,
    "diff($self, /, other)\n--\n\n"
    "What changed from this schema to `other`: a list of SchemaChange, sorted by definition, item and kind.\n\n"
    "A definition that is added or removed is one change; a permission that is only written differently is\n"
    "none. Raises OutOfMemory, TypeError. Does not block. Any thread.");

static PyObject *schema_diff(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    static const signature sig    = { "diff", 1, 1, { "other" } };
    module_state          *state  = state_of(cls);
    licet_schema_report   *report = NULL;
    licet_error           *error  = NULL;
    licet_status           status;
    PyObject              *arg[1] = { NULL };

    if (!unpack(&sig, args, nargs, kwnames, arg))
        return NULL;
    if (!Py_IS_TYPE(arg[0], state->schema_type))
        return PyErr_Format(PyExc_TypeError, "other must be a licet.Schema, not %.100s", Py_TYPE(arg[0])->tp_name);
    status = licet_schema_diff(schema_handle(self), schema_handle(arg[0]), &report, &error);
    return status == LICET_OK ? entries_to_py(state, report, change_to_py) : raise_error(state, status, error);
}

PyDoc_STRVAR(
    schema_computable_permissions_doc,
    "computable_permissions($self, /, definition, relation=None, *, prefix=None)\n--\n\n"
    "Which relations and permissions, of any definition, have this relation somewhere in their computation: a\n"
    "list of SchemaMember, sorted.\n\n"
    "relation  None asks for the type itself: everything that its objects can have\n"
    "prefix    only of definitions whose names begin so\n\n"
    "Raises NotFound, OutOfMemory, TypeError. Does not block. Any thread.");

static PyObject *schema_computable_permissions(PyObject *self, PyTypeObject *cls, PyObject *const *args,
                                               Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig    = { "computable_permissions", 1, 2, { "definition", "relation", "prefix" } };
    module_state          *state  = state_of(cls);
    licet_schema_report   *report = NULL;
    licet_error           *error  = NULL;
    licet_status           status;
    licet_str              definition;
    licet_str              relation;
    licet_str              prefix;
    PyObject              *arg[3] = { NULL };

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "definition", &definition) ||
        !optional_str_from_py(state, arg[1], "relation", &relation) ||
        !optional_str_from_py(state, arg[2], "prefix", &prefix))
        return NULL;
    status = licet_schema_computable_permissions(schema_handle(self), definition, relation, prefix, &report, &error);
    return status == LICET_OK ? entries_to_py(state, report, member_to_py) : raise_error(state, status, error);
}

PyDoc_STRVAR(
    schema_dependent_relations_doc,
    "dependent_relations($self, /, definition, permission)\n--\n\n"
    "The opposite: what computing this permission may read, of any definition: a list of SchemaMember, sorted.\n\n"
    "Raises NotFound, InvalidArgument for a relation, OutOfMemory, TypeError. Does not block. Any thread.");

static PyObject *schema_dependent_relations(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                            PyObject *kwnames)
{
    static const signature sig    = { "dependent_relations", 2, 2, { "definition", "permission" } };
    module_state          *state  = state_of(cls);
    licet_schema_report   *report = NULL;
    licet_error           *error  = NULL;
    licet_status           status;
    licet_str              definition;
    licet_str              permission;
    PyObject              *arg[2] = { NULL };

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "definition", &definition) ||
        !str_from_py(state, arg[1], "permission", &permission))
        return NULL;
    status = licet_schema_dependent_relations(schema_handle(self), definition, permission, &report, &error);
    return status == LICET_OK ? entries_to_py(state, report, member_to_py) : raise_error(state, status, error);
}

static bool reflection_filter_from_py(module_state *state, PyObject *value, licet_reflection_filter *filter)
{
    PyObject *const *fields = record_fields(state, RECORD_reflection, value);

    *filter = (licet_reflection_filter)LICET_REFLECTION_FILTER_INIT;
    if (fields == NULL) {
        PyErr_Format(PyExc_TypeError, "a filter must be a licet.ReflectionFilter, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    return optional_str_from_py(state, fields[0], "definition", &filter->definition) &&
           optional_str_from_py(state, fields[1], "caveat", &filter->caveat) &&
           optional_str_from_py(state, fields[2], "relation", &filter->relation) &&
           optional_str_from_py(state, fields[3], "permission", &filter->permission);
}

static PyObject *reflect(PyObject *self, module_state *state, const licet_reflection_filter *filters, size_t count)
{
    licet_buffer json  = LICET_BUFFER_INIT;
    licet_error *error = NULL;
    licet_status status;

    status = licet_schema_reflect(schema_handle(self), filters, count, &json, &error);
    return status == LICET_OK ? json_to_py(state, buffer_to_py(&json)) : raise_error(state, status, error);
}

PyDoc_STRVAR(schema_reflect_doc,
             "reflect($self, /, filters=())\n--\n\n"
             "Describes the schema: {\"definitions\": [...], \"caveats\": [...]}, with names, comments, relations and\n"
             "their subject types, permissions, parameters and expressions.\n\n"
             "filters  an iterable of ReflectionFilter: only what they name; all by default\n\n"
             "Raises InvalidArgument (reason INVALID_FILTER), OutOfMemory, TypeError. Does not block. Any thread.");

static PyObject *schema_reflect(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    static const signature sig         = { "reflect", 0, 1, { "filters" } };
    module_state          *state       = state_of(cls);
    void                  *filters     = NULL;
    PyObject              *kept        = NULL;
    PyObject              *description = NULL;
    PyObject              *arg[1]      = { NULL };
    bool                   usable;
    size_t                 count;

    if (!unpack(&sig, args, nargs, kwnames, arg))
        return NULL;
    if (arg[0] == NULL)
        return reflect(self, state, NULL, 0);
    usable = elements_from_py(arg[0], "filters", sizeof(licet_reflection_filter), &kept, &filters);
    count  = usable ? (size_t)PyTuple_GET_SIZE(kept) : 0;
    for (size_t i = 0; usable && i < count; i++)
        usable = reflection_filter_from_py(state, PyTuple_GET_ITEM(kept, (Py_ssize_t)i),
                                           &((licet_reflection_filter *)filters)[i]);
    if (usable)
        description = reflect(self, state, filters, count);
    PyMem_Free(filters);
    Py_XDECREF(kept);
    return description;
}

/* ------------------------------------------------------------------------------- type */

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
    { "diff", AS_METHOD(schema_diff), METHOD_FLAGS, schema_diff_doc },
    { "computable_permissions", AS_METHOD(schema_computable_permissions), METHOD_FLAGS,
      schema_computable_permissions_doc },
    { "dependent_relations", AS_METHOD(schema_dependent_relations), METHOD_FLAGS, schema_dependent_relations_doc },
    { "reflect", AS_METHOD(schema_reflect), METHOD_FLAGS, schema_reflect_doc },
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
