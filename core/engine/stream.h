/* What all streams are: a kind, an engine and a revision. Each operation has a record of its own that begins with one
 * of these. Between two calls a stream holds nothing of the graph, so one that is left alone makes nobody wait: it may
 * find its revision gone. */
#ifndef LIC_ENGINE_STREAM_H
#define LIC_ENGINE_STREAM_H

#include "engine/engine.h"

typedef enum lic_stream_kind {
    LIC_STREAM_RELATIONSHIPS,
    LIC_STREAM_RESOURCES,
    LIC_STREAM_SUBJECTS,
    LIC_STREAM_PERMISSIONS,
    LIC_STREAM_CHANGES,
    LIC_STREAM_IMPACTS
} lic_stream_kind;

struct licet_stream {
    uint64_t        tag;
    lic_stream_kind kind;
    licet_engine   *engine; /* held */
    uint64_t        revision;
    size_t          size;                      /* of the record that this begins, in bytes */
    void (*end)(licet_stream *stream);         /* frees what the record holds, not the record itself */
    licet_str (*cursor)(licet_stream *stream); /* NULL: it has none */
};

/* A record of `size` bytes, zero but for its beginning; ends with licet_stream_release(). NULL: out of memory. */
void *lic_stream_new(licet_engine *engine, lic_stream_kind kind, size_t size, void (*end)(licet_stream *stream));

/* Begins a call that asks a stream of this kind for more: MISUSE for NULL and for any other thing, CLOSED. It ends with
 * lic_engine_leave(). */
licet_status lic_stream_enter(licet_stream *stream, lic_stream_kind kind, lic_call *call, licet_error **error);

#endif
