/* Methods of licet.Engine that give many answers: which resources, which subjects, which of a list, which permissions. */
#ifndef LICET_PYTHON_LOOKUP_H
#define LICET_PYTHON_LOOKUP_H

#include "module.h"

extern const char engine_lookup_resources_doc[];
extern const char engine_lookup_resource_ids_doc[];
extern const char engine_lookup_subjects_doc[];
extern const char engine_lookup_subject_ids_doc[];
extern const char engine_filter_doc[];
extern const char engine_permissions_doc[];

PyObject *engine_lookup_resources(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames);
PyObject *engine_lookup_subjects(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames);
PyObject *engine_lookup_resource_ids(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames);
PyObject *engine_lookup_subject_ids(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames);
PyObject *engine_filter(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *engine_permissions(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames);

#endif
