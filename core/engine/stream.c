#include "engine/stream.h"

#define STREAM_TAG UINT64_C(0x6c69637374726561) /* "licstrea" */

static bool is_stream(const licet_stream *stream)
{
    return stream != NULL && stream->tag == STREAM_TAG;
}

void *lic_stream_new(licet_engine *engine, lic_stream_kind kind, size_t size, void (*end)(licet_stream *stream))
{
    licet_stream *stream = lic_alloc_zero(engine->memory, size);

    if (stream == NULL)
        return NULL;
    licet_engine_retain(engine);
    stream->tag    = STREAM_TAG;
    stream->kind   = kind;
    stream->engine = engine;
    stream->size   = size;
    stream->end    = end;
    return stream;
}

licet_status lic_stream_enter(licet_stream *stream, lic_stream_kind kind, lic_call *call, licet_error **error)
{
    if (!is_stream(stream))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "stream is NULL or not a stream");
    if (stream->kind != kind)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "the stream gives other things than the function asks for");
    return lic_engine_enter(stream->engine, call, error);
}

licet_str licet_stream_cursor(licet_stream *stream)
{
    return is_stream(stream) && stream->cursor != NULL ? stream->cursor(stream) : (licet_str){ NULL, 0 };
}

void licet_stream_token(const licet_stream *stream, licet_token *token)
{
    if (token == NULL)
        return;
    token->text[0] = '\0';
    if (is_stream(stream))
        lic_token_make(&stream->engine->identity, stream->revision, token);
}

void licet_stream_release(licet_stream *stream)
{
    licet_engine *engine;

    if (!is_stream(stream))
        return;
    engine      = stream->engine;
    stream->tag = 0;
    stream->end(stream);
    lic_free(engine->memory, stream, stream->size);
    licet_engine_release(engine);
}
