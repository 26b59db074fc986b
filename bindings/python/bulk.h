/* Engine.check_bulk(), a method of licet.Engine. */
#ifndef LICET_PYTHON_BULK_H
#define LICET_PYTHON_BULK_H

#include "module.h"

/* From so many questions on a call lets other threads run meanwhile: about 40 us of work, against 0.1 us for letting go
 * and up to 5 ms for getting the lock back from a thread that computes. */
#define BULK_UNLOCK_COUNT 256

extern const char engine_check_bulk_doc[];
PyObject         *engine_check_bulk(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames);

#endif
