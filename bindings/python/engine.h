/* licet.Engine: schema and relationships, and the answers about them. */
#ifndef LICET_PYTHON_ENGINE_H
#define LICET_PYTHON_ENGINE_H

#include "module.h"

extern PyType_Spec engine_spec;

/* The handle of a licet.Engine: never NULL, valid as long as the object, closed or not. */
licet_engine *engine_handle(PyObject *engine);

/* Whether it was opened with strict=True: then contexts are read so. */
bool engine_is_strict(PyObject *engine);

/* Whether its calls may have to wait for a database: it is not in memory. */
bool engine_is_on_database(PyObject *engine);

/* Hands on what the engine has to say: for loops that wait; at the end of its methods it happens by itself. */
void engine_tell_log(PyObject *engine);

/* licet.open() */
extern const char engine_open_doc[];
PyObject         *engine_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
