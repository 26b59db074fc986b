/* What licet.testing is made of: one CEL expression on its own. */
#ifndef LICET_PYTHON_TESTING_H
#define LICET_PYTHON_TESTING_H

#include "module.h"

extern const char testing_evaluate_cel_doc[];
PyObject         *testing_evaluate_cel(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
