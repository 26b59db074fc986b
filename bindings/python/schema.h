/* licet.Schema: a checked schema. */
#ifndef LICET_PYTHON_SCHEMA_H
#define LICET_PYTHON_SCHEMA_H

#include "module.h"

extern PyType_Spec schema_spec;

/* Takes the handle, also when it fails. */
PyObject *schema_to_py(module_state *state, licet_schema *schema);

#endif
