/* licet._licet.Clock: a time that tests set. licet.testing.ManualClock adds what is pleasant. */
#ifndef LICET_PYTHON_CLOCK_H
#define LICET_PYTHON_CLOCK_H

#include "module.h"

extern PyType_Spec clock_spec;

/* A Clock, which must outlive what reads it; NULL and None leave *clock alone. */
bool clock_from_py(module_state *state, PyObject *value, licet_clock *clock);

#endif
