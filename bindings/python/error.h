/* Statuses to exceptions. The classes are made from LICET_STATUS_LIST, so a new status brings its class along. */
#ifndef LICET_PYTHON_ERROR_H
#define LICET_PYTHON_ERROR_H

#include "module.h"

/* Makes licet.Error and one class for each status, and puts them into the module. */
bool errors_init(PyObject *module, module_state *state);

/* Sets the exception that `error` describes. Takes error. Returns NULL, so that a method can return it. */
PyObject *raise_error(module_state *state, licet_status status, licet_error *error);

/* The same as a new exception object, not raised. Takes error. */
PyObject *error_to_py(module_state *state, licet_status status, licet_error *error);

/* The same for an error that stays somebody else's. */
PyObject *error_view_to_py(module_state *state, licet_status status, const licet_error *error);

/* Sets this exception. Takes it; NULL, for which another one is set already, passes through. */
void raise_exception(PyObject *exception);

/* An argument that can not be passed on to the core as it is: licet.InvalidArgument of this kind. Returns false. */
bool refuse(module_state *state, licet_kind kind, const char *format, ...);

/* A stream that another thread is inside of: licet.Misuse. Returns NULL. */
PyObject *raise_busy(module_state *state);

#endif
