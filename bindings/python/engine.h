/* licet.Engine: schema and relationships, and the answers about them. */
#ifndef LICET_PYTHON_ENGINE_H
#define LICET_PYTHON_ENGINE_H

#include "module.h"

extern PyType_Spec engine_spec;

/* An engine that is released with the object. Takes the handle, also when it fails. */
PyObject *engine_to_py(module_state *state, licet_engine *engine);

/* The handle of a licet.Engine: never NULL, valid as long as the object, closed or not. */
licet_engine *engine_handle(PyObject *engine);

/* licet.open() */
extern const char engine_open_doc[];
PyObject         *engine_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
