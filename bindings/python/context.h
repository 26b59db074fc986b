/* Contexts of caveats: Python values as JSON text, which is what the core reads. */
#ifndef LICET_PYTHON_CONTEXT_H
#define LICET_PYTHON_CONTEXT_H

#include "module.h"

/* A text that grows. Most contexts fit into the room it begins with. It must not be moved. */
typedef struct context_text {
    char  *data;
    size_t size;
    size_t capacity;
    char   room[256];
} context_text;

static inline void context_text_init(context_text *text)
{
    text->data     = text->room;
    text->size     = 0;
    text->capacity = sizeof text->room;
}

void context_text_clear(context_text *text); /* may run twice */

/* A dict, or a str that is a JSON text already; NULL and None are "not given". The view is of `value` or of the text. */
bool context_from_py(module_state *state, PyObject *value, context_text *text, licet_str *view);

/* The same for what a write has to say about itself; errors name the place in it as they would in a context. */
bool metadata_from_py(module_state *state, PyObject *value, context_text *text, licet_str *view);

/* The same for any number of checks: read once. *context is NULL when none is given. */
bool context_prepare(module_state *state, PyObject *value, bool strict, licet_context **context);

/* context_text(value) -> str: what context_from_py() makes of a dict, with its keys in order */
extern const char context_text_doc[];
PyObject         *context_text_of(PyObject *module, PyObject *value);

#endif
