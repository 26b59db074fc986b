/* The extension module licet._licet: multi-phase, so that every interpreter of a process has its own.
 *
 * The module keeps its state in itself; there is nothing static beside constants. It runs without the global
 * interpreter lock: all its types but the streams are immutable, and the core is safe from any thread. */
#include "module.h"

#include "clock.h"
#include "context.h"
#include "convert.h"
#include "database.h"
#include "engine.h"
#include "error.h"
#include "report.h"
#include "result.h"
#include "schema.h"
#include "stream.h"
#include "testing.h"
#include "tree.h"
#include "watch.h"

/* ---------------------------------------------------------------------- relationships */

PyDoc_STRVAR(parse_relationship_doc, "parse_relationship($module, text, *, strict=False)\n--\n\n"
                                     "The nine fields of a relationship's notation, as a tuple.\n\n"
                                     "strict   refuse a key twice in the context; SpiceDB takes the last one");

static PyObject *parse_relationship(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig          = { "parse_relationship", 1, 1, { "text", "strict" } };
    module_state          *state        = PyModule_GetState(module);
    licet_relationship     relationship = LICET_RELATIONSHIP_INIT;
    licet_error           *error        = NULL;
    PyObject              *arg[2]       = { NULL };
    bool                   strict       = false;
    licet_status           status;
    licet_str              view;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !bool_from_py(arg[1], "strict", &strict) ||
        !str_from_py(state, arg[0], "relationship", &view))
        return NULL;
    status = strict ? licet_relationship_parse_strict(view, &relationship, &error)
                    : licet_relationship_parse(view, &relationship, &error);
    return status == LICET_OK ? relationship_fields(&relationship) : raise_error(state, status, error);
}

PyDoc_STRVAR(format_relationship_doc, "format_relationship($module, relationship, /)\n--\n\n"
                                      "The notation of a Relationship.");

static PyObject *format_relationship(PyObject *module, PyObject *value)
{
    module_state      *state        = PyModule_GetState(module);
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_buffer       text         = LICET_BUFFER_INIT;
    licet_error       *error        = NULL;
    licet_status       status;

    if (!relationship_from_py(state, value, &relationship))
        return NULL;
    status = licet_relationship_format(&relationship, &text, &error);
    return status == LICET_OK ? buffer_to_py(&text) : raise_error(state, status, error);
}

/* --------------------------------------------------------------------------- the module */

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
#if PY_VERSION_HEX < 0x030A0000
    if (*type != NULL && spec != &clock_spec)
        (*type)->tp_new = NULL; /* what Py_TPFLAGS_DISALLOW_INSTANTIATION does */
#endif
    return *type != NULL && PyModule_AddType(module, *type) == 0;
}

static bool add_stream_types(PyObject *module, module_state *state)
{
    for (size_t i = 0; i < STREAM_KIND_COUNT; i++)
        if (!add_type(module, &stream_specs[i], &state->stream_types[i]))
            return false;
    return true;
}

static bool add_types(PyObject *module, module_state *state)
{
    return add_type(module, &engine_spec, &state->engine_type) && add_type(module, &result_spec, &state->result_type) &&
           add_type(module, &schema_spec, &state->schema_type) && add_type(module, &clock_spec, &state->clock_type) &&
           add_type(module, &watch_spec, &state->watch_type) && add_type(module, &tree_spec, &state->tree_type) &&
           add_stream_types(module, state);
}

static PyObject *import_name(const char *module_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *value  = module == NULL ? NULL : PyObject_GetAttrString(module, name);

    Py_XDECREF(module);
    return value;
}

/* A class whose instances are tuples, so that record_fields() and record_of() may treat them as such. */
static bool import_record(record_kind kind, const char *module_name, const char *name, module_state *state)
{
    PyObject *class = import_name(module_name, name);

    if (class != NULL && (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, &PyTuple_Type))) {
        PyErr_Format(PyExc_ImportError, "%s.%s is not a named tuple", module_name, name);
        Py_CLEAR(class);
    }
    state->record_types[kind] = (PyTypeObject *)class;
    return class != NULL;
}

static bool import_records(module_state *state)
{
#define IMPORT_RECORD(name, module, class, fields)           \
    if (!import_record(RECORD_##name, module, class, state)) \
        return false;
    RECORD_LIST(IMPORT_RECORD)
#undef IMPORT_RECORD
    return true;
}

static bool import_permissionships(module_state *state)
{
    static const char *const names[] = { "NO_PERMISSION", "HAS_PERMISSION", "CONDITIONAL" };
    PyObject *class                  = import_name("licet.records", "Permissionship");

    for (size_t i = 0; class != NULL && i < 3; i++) {
        state->permissionships[i] = PyObject_GetAttrString(class, names[i]);
        if (state->permissionships[i] == NULL)
            Py_CLEAR(class);
    }
    Py_XDECREF(class);
    return state->permissionships[2] != NULL;
}

static bool import_functions(module_state *state)
{
    state->context_text_of = import_name("licet.context", "text_of");
    if (state->context_text_of == NULL)
        return false;
    state->json_loads = import_name("json", "loads");
    return state->json_loads != NULL;
}

static int module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);

    if (!errors_init(module, state) || !add_types(module, state) || !import_records(state) ||
        !import_permissionships(state) || !import_functions(state) ||
        PyModule_AddStringConstant(module, "__version__", licet_version()) < 0)
        return -1;
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);

    Py_VISIT(state->engine_type);
    Py_VISIT(state->result_type);
    Py_VISIT(state->schema_type);
    Py_VISIT(state->watch_type);
    Py_VISIT(state->tree_type);
    Py_VISIT(state->clock_type);
    Py_VISIT(state->context_text_of);
    Py_VISIT(state->json_loads);
    Py_VISIT(state->base_error);
    for (size_t i = 0; i < STREAM_KIND_COUNT; i++)
        Py_VISIT(state->stream_types[i]);
    for (size_t i = 0; i < RECORD_COUNT; i++)
        Py_VISIT(state->record_types[i]);
    for (size_t i = 0; i < 3; i++)
        Py_VISIT(state->permissionships[i]);
    for (size_t i = 0; i < STATUS_COUNT; i++)
        Py_VISIT(state->error_types[i]);
    return 0;
}

static int module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);

    Py_CLEAR(state->engine_type);
    Py_CLEAR(state->result_type);
    Py_CLEAR(state->schema_type);
    Py_CLEAR(state->watch_type);
    Py_CLEAR(state->tree_type);
    Py_CLEAR(state->clock_type);
    Py_CLEAR(state->context_text_of);
    Py_CLEAR(state->json_loads);
    Py_CLEAR(state->base_error);
    for (size_t i = 0; i < STREAM_KIND_COUNT; i++)
        Py_CLEAR(state->stream_types[i]);
    for (size_t i = 0; i < RECORD_COUNT; i++)
        Py_CLEAR(state->record_types[i]);
    for (size_t i = 0; i < 3; i++)
        Py_CLEAR(state->permissionships[i]);
    for (size_t i = 0; i < STATUS_COUNT; i++)
        Py_CLEAR(state->error_types[i]);
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

static PyMethodDef module_methods[] = {
    { "open", AS_METHOD(engine_open), METH_FASTCALL | METH_KEYWORDS, engine_open_doc },
    { "migrate", AS_METHOD(database_migrate), METH_FASTCALL | METH_KEYWORDS, database_migrate_doc },
    { "doctor", AS_METHOD(database_doctor), METH_FASTCALL | METH_KEYWORDS, database_doctor_doc },
    { "validate", AS_METHOD(report_validate), METH_FASTCALL | METH_KEYWORDS, report_validate_doc },
    { "parse_relationship", AS_METHOD(parse_relationship), METH_FASTCALL | METH_KEYWORDS, parse_relationship_doc },
    { "format_relationship", format_relationship, METH_O, format_relationship_doc },
    { "context_text", context_text_of, METH_O, context_text_doc },
    { "evaluate_cel", AS_METHOD(testing_evaluate_cel), METH_FASTCALL, testing_evaluate_cel_doc },
    { NULL, NULL, 0, NULL },
};

static PyModuleDef_Slot module_slots[] = {
    { Py_mod_exec, (void *)module_exec },
#ifdef Py_mod_multiple_interpreters
    { Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED },
#endif
#ifdef Py_mod_gil
    { Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
    { 0, NULL },
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name     = "licet._licet",
    .m_doc      = "The C core of licet. Use the package licet, which offers all of it.",
    .m_size     = sizeof(module_state),
    .m_methods  = module_methods,
    .m_slots    = module_slots,
    .m_traverse = module_traverse,
    .m_clear    = module_clear,
    .m_free     = module_free,
};

PyMODINIT_FUNC PyInit__licet(void)
{
    return PyModuleDef_Init(&module_definition);
}
