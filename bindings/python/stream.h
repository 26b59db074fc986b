/* The iterators over answers of one revision: licet.RelationshipStream, ResourceStream, SubjectStream, ImpactStream,
 * ResourceIdStream, SubjectIdStream. */
#ifndef LICET_PYTHON_STREAM_H
#define LICET_PYTHON_STREAM_H

#include "module.h"

extern PyType_Spec stream_specs[STREAM_KIND_COUNT];

/* A stream of `engine` that is released with the object. Takes the stream, also when it fails. */
PyObject *stream_to_py(module_state *state, stream_kind kind, PyObject *engine, licet_stream *stream);

#endif
