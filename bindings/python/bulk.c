/* Engine.check_bulk(): many questions in one call of the core. */
#include "bulk.h"

#include "context.h"
#include "convert.h"
#include "engine.h"
#include "error.h"
#include "result.h"
#include "waiting.h"

/* A bulk in the making: requests, their answers, and what their views point into. */
typedef struct bulk {
    size_t               count;
    licet_check_request *requests;
    licet_result        *results;
    PyObject            *kept;     /* a tuple of what holds the strings */
    licet_context       *context;  /* of all questions that have none of their own, or NULL */
    context_text        *contexts; /* of the questions that have one of their own; NULL when none has */
} bulk;

static void bulk_clear(bulk *b)
{
    for (size_t i = 0; b->results != NULL && i < b->count; i++)
        licet_result_clear(&b->results[i]);
    for (size_t i = 0; b->contexts != NULL && i < b->count; i++)
        context_text_clear(&b->contexts[i]);
    licet_context_release(b->context);
    PyMem_Free(b->requests);
    PyMem_Free(b->results);
    PyMem_Free(b->contexts);
    Py_XDECREF(b->kept);
}

/* Room for `count` questions; the rest of *b is as it was. */
static bool bulk_reserve(bulk *b, size_t count)
{
    b->requests = PyMem_Calloc(count + 1, sizeof *b->requests);
    b->results  = PyMem_Calloc(count + 1, sizeof *b->results);
    if (b->requests == NULL || b->results == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        b->requests[i] = (licet_check_request)LICET_CHECK_REQUEST_INIT;
        b->results[i]  = (licet_result)LICET_RESULT_INIT;
    }
    b->count = count;
    return true;
}

static bool bulk_run(PyObject *self, module_state *state, bulk *b, licet_consistency consistency)
{
    licet_engine *engine = engine_handle(self);
    licet_error  *error  = NULL;
    licet_status  status;

    if (b->count >= BULK_UNLOCK_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        status = licet_check_bulk(engine, b->requests, b->count, consistency, b->results, &error);
        Py_END_ALLOW_THREADS
    } else {
        ASK(consistency, status, error,
            licet_check_bulk(engine, b->requests, b->count, consistency, b->results, &error));
    }
    if (status == LICET_OK)
        return true;
    raise_error(state, status, error);
    return false;
}

/* Room for a text of each question, made when the first one needs it. */
static bool bulk_reserve_contexts(bulk *b)
{
    if (b->contexts != NULL)
        return true;
    b->contexts = PyMem_Calloc(b->count, sizeof *b->contexts);
    if (b->contexts == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < b->count; i++)
        context_text_init(&b->contexts[i]);
    return true;
}

/* The question's own context, or None: then that of all. */
static bool bulk_item_context(module_state *state, PyObject *value, size_t index, bulk *b)
{
    licet_check_request *request = &b->requests[index];

    request->prepared_context = b->context;
    if (value == Py_None)
        return true;
    request->prepared_context = NULL;
    return bulk_reserve_contexts(b) && context_from_py(state, value, &b->contexts[index], &request->context);
}

/* One (resource, permission, subject) or (resource, permission, subject, context). Gives back a tuple that holds the
 * strings, a new reference: the list in which somebody may have put them can change while the core is at work. */
static PyObject *bulk_item(module_state *state, PyObject *value, size_t index, bulk *b)
{
    licet_check_request *request = &b->requests[index];
    PyObject            *item    = PyTuple_Check(value) || PyList_Check(value) ? PySequence_Tuple(value) : NULL;
    Py_ssize_t           size    = item == NULL ? 0 : PyTuple_GET_SIZE(item);

    if (item == NULL && PyErr_Occurred())
        return NULL;
    if (size != 3 && size != 4) {
        PyErr_Format(PyExc_TypeError,
                     "item %zu must be a tuple of resource, permission and subject, and perhaps context", index);
        Py_XDECREF(item);
        return NULL;
    }
    if (str_from_py(state, PyTuple_GET_ITEM(item, 0), "resource", &request->resource) &&
        str_from_py(state, PyTuple_GET_ITEM(item, 1), "permission", &request->permission) &&
        str_from_py(state, PyTuple_GET_ITEM(item, 2), "subject", &request->subject) &&
        bulk_item_context(state, size == 4 ? PyTuple_GET_ITEM(item, 3) : Py_None, index, b))
        return item;
    Py_DECREF(item);
    return NULL;
}

static bool bulk_from_items(module_state *state, PyObject *value, bulk *b)
{
    PyObject *items = PySequence_Tuple(value);
    size_t    count;

    if (items == NULL)
        return false;
    count   = (size_t)PyTuple_GET_SIZE(items);
    b->kept = bulk_reserve(b, count) ? PyTuple_New((Py_ssize_t)count) : NULL;
    for (size_t i = 0; b->kept != NULL && i < count; i++) {
        PyObject *item = bulk_item(state, PyTuple_GET_ITEM(items, (Py_ssize_t)i), i, b);

        if (item == NULL)
            Py_CLEAR(b->kept);
        else
            PyTuple_SET_ITEM(b->kept, (Py_ssize_t)i, item);
    }
    Py_DECREF(items);
    return b->kept != NULL;
}

static PyObject *bulk_results(PyObject *self, module_state *state, bulk *b)
{
    PyObject *list = PyList_New((Py_ssize_t)b->count);

    for (size_t i = 0; list != NULL && i < b->count; i++) {
        PyObject *result = result_to_py(state, self, &b->results[i]);

        if (result == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, result);
    }
    return list;
}

const char engine_check_bulk_doc[] =
    "check_bulk($self, /, items, *, context=None, consistency=None, may_block=True)\n--\n\n"
    "Answers many questions at one revision: a list of Result in the order of the items.\n\n"
    "items    an iterable of (resource, permission, subject) or (resource, permission, subject, context), at most\n"
    "         10,000\n"
    "context  of the items that have none of their own; nothing is merged\n\n"
    "An item that can not be answered (an unknown name, a depth exceeded) has .error, and is not allowed; the\n"
    "others are answered. Raises, for the request as a whole, InvalidArgument (an item of a bad shape),\n"
    "LimitExceeded, InvalidToken, RevisionExpired, OutOfMemory, Closed, TypeError.\n"
    "Blocks as check(); large ones run without the interpreter's lock. Any thread.";

PyObject *engine_check_bulk(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    static const signature sig   = { "check_bulk", 1, 1, { "items", "context", "consistency", "may_block" } };
    module_state          *state = state_of(cls);
    licet_consistency      consistency;
    bulk                   b       = { 0 };
    PyObject              *arg[4]  = { NULL };
    PyObject              *results = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !consistency_from_py(state, arg[2], arg[3], &consistency) ||
        !context_prepare(state, arg[1], engine_is_strict(self), &b.context))
        return NULL;
    if (bulk_from_items(state, arg[0], &b) && bulk_run(self, state, &b, consistency))
        results = bulk_results(self, state, &b);
    bulk_clear(&b);
    return results;
}
