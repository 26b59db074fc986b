/* A trace: what licet_explain() gives. */
#ifndef LIC_ENGINE_TRACE_H
#define LIC_ENGINE_TRACE_H

#include "engine/engine.h"

#define LIC_TRACE_TAG UINT64_C(0x6c69637472616365) /* "lictrace" */

struct licet_trace {
    uint64_t          tag;
    licet_engine     *engine; /* held, for its memory */
    lic_arena         arena;
    licet_trace_node *nodes; /* children have greater numbers than their parents, and stand side by side */
    size_t            count; /* at least one */
    licet_token       token;
};

#endif
