/* Validation files: what licet.validate() and the command line are made of. */
#ifndef LICET_PYTHON_REPORT_H
#define LICET_PYTHON_REPORT_H

#include "module.h"

extern const char report_validate_doc[];
PyObject         *report_validate(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
