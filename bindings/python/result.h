/* licet.Result: the answer to one check. */
#ifndef LICET_PYTHON_RESULT_H
#define LICET_PYTHON_RESULT_H

#include "module.h"

extern PyType_Spec result_spec;

/* A Result of `engine`, a licet.Engine. Takes what is in *result, also when it fails. */
PyObject *result_to_py(module_state *state, PyObject *engine, licet_result *result);

/* The same for a result that stays somebody else's: what is in it is copied. */
PyObject *result_view_to_py(module_state *state, PyObject *engine, const licet_result *result);

#endif
