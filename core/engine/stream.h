/* What all streams are: a kind, an engine, a revision, and what the operation behind it does. Each operation has a record
 * of its own that begins with one of these. Between two calls a stream holds nothing of the graph, so one that is left
 * alone makes nobody wait: it may find its revision gone. */
#ifndef LIC_ENGINE_STREAM_H
#define LIC_ENGINE_STREAM_H

#include "engine/engine.h"

/* What a stream gives. */
typedef enum lic_stream_kind {
    LIC_STREAM_RELATIONSHIPS, /* licet_relationship */
    LIC_STREAM_RESOURCES,     /* licet_found_resource */
    LIC_STREAM_SUBJECTS,      /* licet_found_subject */
    LIC_STREAM_PERMISSIONS,   /* licet_found_permission */
    LIC_STREAM_CHANGES,       /* licet_change */
    LIC_STREAM_IMPACTS        /* licet_impact */
} lic_stream_kind;

typedef struct lic_stream_methods {
    lic_stream_kind kind;
    /* Inside a call. Fills the record, which is that of the kind and empty, and sets *found; or the end: neither.
     * NULL: the operation has a function of its own for it. */
    licet_status (*next)(licet_stream *stream, void *record, bool *found, licet_error **error);
    licet_str (*cursor)(licet_stream *stream); /* NULL: it has none */
    void (*end)(licet_stream *stream);         /* frees what the record holds, not the record itself */
} lic_stream_methods;

struct licet_stream {
    uint64_t                  tag;
    const lic_stream_methods *methods;
    licet_engine             *engine; /* held */
    uint64_t                  revision;
    lic_fetched              *fetched; /* held: what was fetched for it. NULL: it is of the engine's graph */
    size_t                    size;    /* of the record that this begins, in bytes */
    void (*token)(const licet_stream *stream, licet_token *token); /* NULL: that of its revision */
};

/* Begins a call that gives a stream: there is none yet. MISUSE for a place or a request that is none; else as
 * lic_engine_enter(), and ends with lic_engine_leave(). */
licet_status lic_stream_begin(licet_engine *engine, bool is_request_known, licet_stream **stream, lic_call *call,
                              licet_error **error);

/* A record of `size` bytes, zero but for its beginning; ends with licet_stream_release(). NULL: out of memory. */
void *lic_stream_new(licet_engine *engine, const lic_stream_methods *methods, size_t size);

/* The stream is of this snapshot from here on: the revision, and what was fetched for it. */
void lic_stream_keep(licet_stream *stream, const lic_snapshot *snapshot);
/* Pins that again: REVISION_EXPIRED. */
licet_status lic_stream_pin(const licet_stream *stream, lic_snapshot *snapshot, licet_error **error);
/* Whose nodes its numbers are. */
static inline const lic_graph *lic_stream_graph(const licet_stream *stream)
{
    return stream->fetched != NULL ? stream->fetched->graph : stream->engine->graph;
}

/* Begins a call that asks a stream of this kind for more: MISUSE for NULL and for any other thing, CLOSED. It ends with
 * lic_engine_leave(). */
licet_status lic_stream_enter(licet_stream *stream, lic_stream_kind kind, lic_call *call, licet_error **error);

#endif
