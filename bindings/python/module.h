/* The extension module licet._licet: what its files share.
 *
 * The binding converts values, maps errors and keeps lifetimes right. It decides nothing: no authorization
 * logic, and no message about a schema, a relationship or a question is made here.
 *
 * The rules of lifetime, once:
 *   - A handle of the core is released in the destructor of the one object that owns it, and nowhere else.
 *     close() only stops an engine. So a call needs no count of its own: the interpreter keeps `self`
 *     alive during a method, and a thread that closes the engine meanwhile leaves the pointer valid.
 *   - A result or a stream holds the Engine that made it.
 *   - Views (licet_str) into Python strings live as long as the string; whoever lets go of the
 *     interpreter's lock holds the strings in a tuple of its own first. */
#ifndef LICET_PYTHON_MODULE_H
#define LICET_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#include "licet.h"

/* ------------------------------------------------------- older and newer Pythons */

#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#define Py_TPFLAGS_IMMUTABLETYPE 0
#define Py_TPFLAGS_DISALLOW_INSTANTIATION 0
#endif

/* One stream, one user at a time. With the interpreter's lock that holds by itself, because nothing in the
 * section lets go of the lock; without it the object's own lock sees to it. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* ------------------------------------------------------------------- module state */

/* One more than the greatest status: error classes are found by number. */
#define STATUS_COUNT (LICET_UNSUPPORTED + 1)

/* Records are named tuples written in Python (python/licet/): read and made here field by field.
 * Name in the state, module, class, number of fields. */
#define RECORD_LIST(X)                                       \
    X(relationship, "licet.relationship", "Relationship", 9) \
    X(filter, "licet.relationship", "Filter", 7)             \
    X(update, "licet.relationship", "Update", 2)             \
    X(precondition, "licet.relationship", "Precondition", 2) \
    X(consistency, "licet.consistency", "Consistency", 2)    \
    X(stats, "licet.records", "Stats", 22)                   \
    X(deletion, "licet.records", "Deletion", 3)              \
    X(lint, "licet.records", "Lint", 4)                      \
    X(found_resource, "licet.records", "FoundResource", 3)   \
    X(found_subject, "licet.records", "FoundSubject", 4)     \
    X(excluded, "licet.records", "ExcludedSubject", 3)       \
    X(tree_node, "licet.records", "TreeNode", 5)             \
    X(trace_node, "licet.records", "TraceNode", 14)          \
    X(trace, "licet.records", "Trace", 4)                    \
    X(imported, "licet.records", "Imported", 2)              \
    X(import_status, "licet.records", "ImportStatus", 3)     \
    X(change, "licet.records", "Change", 5)                  \
    X(schema_change, "licet.records", "SchemaChange", 7)     \
    X(schema_member, "licet.records", "SchemaMember", 3)     \
    X(reflection, "licet.records", "ReflectionFilter", 4)    \
    X(impact, "licet.records", "Impact", 8)

typedef enum record_kind {
#define RECORD_ENUM(name, module, class, fields) RECORD_##name,
    RECORD_LIST(RECORD_ENUM)
#undef RECORD_ENUM
        RECORD_COUNT
} record_kind;

/* What the iterators that only hand on give. Each is a type of its own; they differ in what an item is. */
typedef enum stream_kind {
    STREAM_RELATIONSHIPS,
    STREAM_RESOURCES,
    STREAM_SUBJECTS,
    STREAM_IMPACTS,
    STREAM_RESOURCE_IDS,
    STREAM_SUBJECT_IDS,
    STREAM_KIND_COUNT
} stream_kind;

/* Everything the module owns; there is one per interpreter and nothing beside it. */
typedef struct module_state {
    PyTypeObject *engine_type;
    PyTypeObject *result_type;
    PyTypeObject *schema_type;
    PyTypeObject *stream_types[STREAM_KIND_COUNT];
    PyTypeObject *watch_type;
    PyTypeObject *tree_type;
    PyTypeObject *clock_type;
    PyTypeObject *record_types[RECORD_COUNT];
    PyObject     *permissionships[3];        /* licet.Permissionship's members, by licet_permissionship */
    PyObject     *context_text_of;           /* licet.context.text_of() */
    PyObject     *json_loads;                /* json.loads() */
    PyObject     *base_error;                /* licet.Error */
    PyObject     *error_types[STATUS_COUNT]; /* [LICET_OK] is NULL */
} module_state;

/* The state of the module whose type `cls` is. Methods get `cls` as their defining class. */
static inline module_state *state_of(PyTypeObject *cls)
{
    return PyType_GetModuleState(cls);
}

/* Getters and slots are not told their defining class. Our types can not be subclassed, so it is their type. */
static inline module_state *state_of_self(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* A method that is told its defining class, its arguments and their names. */
#define METHOD_FLAGS (METH_METHOD | METH_FASTCALL | METH_KEYWORDS)
#define AS_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* The shape of every such method. */
typedef PyObject *(*method)(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames);

#endif
