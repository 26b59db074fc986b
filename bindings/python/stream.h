/* licet.RelationshipStream: relationships as they are read, one at a time. */
#ifndef LICET_PYTHON_STREAM_H
#define LICET_PYTHON_STREAM_H

#include "module.h"

extern PyType_Spec stream_spec;

/* A stream of `engine`, a licet.Engine. Takes the handle, also when it fails. */
PyObject *stream_to_py(module_state *state, PyObject *engine, licet_stream *stream);

#endif
