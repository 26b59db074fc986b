/* licet.ChangeStream, and the method of licet.Engine that makes one. */
#ifndef LICET_PYTHON_WATCH_H
#define LICET_PYTHON_WATCH_H

#include "module.h"

extern PyType_Spec watch_spec;

extern const char engine_watch_doc[];
PyObject *engine_watch(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
