/* Methods of licet.Engine that move many relationships at once. */
#ifndef LICET_PYTHON_TRANSFER_H
#define LICET_PYTHON_TRANSFER_H

#include "module.h"

extern const char engine_import_relationships_doc[];
extern const char engine_import_status_doc[];
extern const char engine_forget_import_doc[];
extern const char engine_export_relationships_doc[];

PyObject *engine_import_relationships(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames);
PyObject *engine_import_status(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames);
PyObject *engine_forget_import(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames);
PyObject *engine_export_relationships(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames);

#endif
