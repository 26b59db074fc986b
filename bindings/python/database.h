/* licet.migrate() and licet.doctor(): what tends a database, without an engine. */
#ifndef LICET_PYTHON_DATABASE_H
#define LICET_PYTHON_DATABASE_H

#include "module.h"

extern const char database_migrate_doc[];
extern const char database_doctor_doc[];
PyObject         *database_migrate(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject         *database_doctor(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

#endif
