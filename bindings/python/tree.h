/* licet.Tree, and the two methods of licet.Engine that tell how an answer comes about. */
#ifndef LICET_PYTHON_TREE_H
#define LICET_PYTHON_TREE_H

#include "module.h"

extern PyType_Spec tree_spec;

extern const char engine_expand_doc[];
extern const char engine_explain_doc[];

PyObject *engine_expand(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *engine_explain(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
