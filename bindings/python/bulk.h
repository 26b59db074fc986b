/* Engine.check_bulk() and Engine.filter(), methods of licet.Engine. */
#ifndef LICET_PYTHON_BULK_H
#define LICET_PYTHON_BULK_H

#include "module.h"

extern const char engine_check_bulk_doc[];
PyObject         *engine_check_bulk(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames);

extern const char engine_filter_doc[];
PyObject *engine_filter(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
