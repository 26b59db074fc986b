/* The answers to a list of checks about one subject, kept for a stream to give out one by one. */
#ifndef LIC_ENGINE_ANSWERS_H
#define LIC_ENGINE_ANSWERS_H

#include "engine/stream.h"

typedef struct lic_answers {
    licet_stream         base;
    lic_arena            arena; /* requests and texts */
    licet_check_request *requests;
    licet_result        *results; /* results[i] answers requests[i] */
    size_t               count;
    size_t               next; /* to be given out */
} lic_answers;

/* Every request begins as a copy of `pattern`; the texts that stay in it must outlive lic_answers_ask(). Ends with
 * licet_stream_release(). NULL: out of memory. */
lic_answers *lic_answers_new(licet_engine *engine, const lic_stream_methods *methods,
                             const licet_check_request *pattern, size_t count);
/* For the methods. */
void lic_answers_end(licet_stream *stream);
/* At a pinned snapshot, once all requests are right. */
licet_status lic_answers_ask(lic_answers *answers, const lic_snapshot *snapshot, licet_error **error);

#endif
