/* licet.Engine: schema and relationships, and the answers about them. */
#ifndef LICET_PYTHON_ENGINE_H
#define LICET_PYTHON_ENGINE_H

#include "module.h"

extern PyType_Spec engine_spec;

/* The handle of a licet.Engine: never NULL, valid as long as the object, closed or not. */
licet_engine *engine_handle(PyObject *engine);

/* Whether it was opened with strict=True: then contexts are read so. */
bool engine_is_strict(PyObject *engine);

/* licet.open() */
extern const char engine_open_doc[];
PyObject         *engine_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
