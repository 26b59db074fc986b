/* Engine.check_bulk() and Engine.filter(): many questions in one call of the core. */
#include "bulk.h"

#include <string.h>

#include "context.h"
#include "convert.h"
#include "engine.h"
#include "error.h"
#include "result.h"

/* From here on a bulk lets other threads run meanwhile: about 40 us of work, against 0.1 us for letting go and up to
 * 5 ms for getting the lock back from a thread that computes. */
#define BULK_UNLOCK_COUNT 256

/* A bulk in the making: requests, their answers, and what their views point into. */
typedef struct bulk {
    size_t               count;
    licet_check_request *requests;
    licet_result        *results;
    PyObject            *kept;     /* a tuple of what holds the strings */
    char                *text;     /* or the text itself, made here */
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
    PyMem_Free(b->text);
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

    if (b->count >= BULK_UNLOCK_COUNT || licet_check_may_block(engine, b->count == 0 ? NULL : b->requests)) {
        Py_BEGIN_ALLOW_THREADS
        status = licet_check_bulk(engine, b->requests, b->count, consistency, b->results, &error);
        Py_END_ALLOW_THREADS
    } else {
        status = licet_check_bulk(engine, b->requests, b->count, consistency, b->results, &error);
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
    "check_bulk($self, /, items, *, context=None, consistency=None)\n--\n\n"
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
    static const signature sig   = { "check_bulk", 1, 1, { "items", "context", "consistency" } };
    module_state          *state = state_of(cls);
    licet_consistency      consistency;
    bulk                   b       = { 0 };
    PyObject              *arg[3]  = { NULL };
    PyObject              *results = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !consistency_from_py(state, arg[2], &consistency) ||
        !context_prepare(state, arg[1], engine_is_strict(self), &b.context))
        return NULL;
    if (bulk_from_items(state, arg[0], &b) && bulk_run(self, state, &b, consistency))
        results = bulk_results(self, state, &b);
    bulk_clear(&b);
    return results;
}

/* Bytes of all "type:id" texts together, or 0 with an exception set. */
static size_t objects_size(module_state *state, licet_str type, PyObject *ids)
{
    size_t total = 1;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ids); i++) {
        licet_str id;

        if (!str_from_py(state, PyTuple_GET_ITEM(ids, i), "id", &id))
            return 0;
        if (__builtin_add_overflow(total, type.size + 1, &total) || __builtin_add_overflow(total, id.size, &total)) {
            PyErr_NoMemory();
            return 0;
        }
    }
    return total;
}

/* Writes "type:id" at `to` and returns where the next one goes. */
static char *object_text(char *to, licet_str type, PyObject *id, licet_str *object)
{
    Py_ssize_t  size;
    const char *data = PyUnicode_AsUTF8AndSize(id, &size); /* objects_size() has seen it succeed; it is kept */

    object->data = to;
    object->size = type.size + 1 + (size_t)size;
    if (type.size > 0)
        memcpy(to, type.data, type.size);
    to[type.size] = ':';
    if (size > 0)
        memcpy(to + type.size + 1, data, (size_t)size);
    return to + object->size;
}

static bool bulk_from_ids(module_state *state, licet_str type, PyObject *ids, licet_str permission, licet_str subject,
                          bulk *b)
{
    size_t total = objects_size(state, type, ids);
    char  *at;

    if (total == 0 || !bulk_reserve(b, (size_t)PyTuple_GET_SIZE(ids)))
        return false;
    at = b->text = PyMem_Malloc(total);
    if (at == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < b->count; i++) {
        at = object_text(at, type, PyTuple_GET_ITEM(ids, (Py_ssize_t)i), &b->requests[i].resource);
        b->requests[i].permission       = permission;
        b->requests[i].subject          = subject;
        b->requests[i].prepared_context = b->context;
    }
    return true;
}

/* The ids whose answer is a definite yes. One that could not be answered fails the whole: leaving it out would make
 * "unknown" look like "no". */
static PyObject *ids_allowed(module_state *state, PyObject *ids, bulk *b)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < b->count; i++) {
        licet_result *result = &b->results[i];
        licet_error  *error  = result->error;

        if (result->status != LICET_OK) {
            result->error = NULL;
            raise_error(state, result->status, error);
            Py_CLEAR(list);
        } else if (licet_result_allowed(result) && PyList_Append(list, PyTuple_GET_ITEM(ids, (Py_ssize_t)i)) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

const char engine_filter_doc[] =
    "filter($self, /, resource_type, ids, permission, subject, *, context=None, consistency=None)\n--\n\n"
    "Those of `ids` on which the subject has the permission, in their order: a list of str.\n\n"
    "resource_type  \"document\"\n"
    "ids            an iterable of str, at most 10,000\n"
    "context        as for allowed()\n\n"
    "Only a definite yes counts. All are asked at one revision; if one can not be answered, its error is\n"
    "raised. Raises and blocks as check_bulk(), and raises NotFound for unknown names. Any thread.";

PyObject *engine_filter(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig = {
        "filter", 4, 4, { "resource_type", "ids", "permission", "subject", "context", "consistency" }
    };
    module_state     *state = state_of(cls);
    licet_consistency consistency;
    licet_str         type;
    licet_str         permission;
    licet_str         subject;
    bulk              b       = { 0 };
    PyObject         *arg[6]  = { NULL };
    PyObject         *allowed = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "resource_type", &type) ||
        !str_from_py(state, arg[2], "permission", &permission) || !str_from_py(state, arg[3], "subject", &subject) ||
        !consistency_from_py(state, arg[5], &consistency))
        return NULL;
    if (PyUnicode_Check(arg[1]))
        return PyErr_Format(PyExc_TypeError, "ids must be an iterable of str, not a str");
    b.kept = PySequence_Tuple(arg[1]);
    if (b.kept != NULL && context_prepare(state, arg[4], engine_is_strict(self), &b.context) &&
        bulk_from_ids(state, type, b.kept, permission, subject, &b) && bulk_run(self, state, &b, consistency))
        allowed = ids_allowed(state, b.kept, &b);
    bulk_clear(&b);
    return allowed;
}
