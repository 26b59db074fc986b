/* Statuses to exceptions.
 *
 * Every class derives from licet.Error and, where Python has an exception of the same meaning, from that one too,
 * so that `except TimeoutError` works for people who never heard of licet. What is in a licet_error becomes
 * attributes: code (the status), kind, message, line, column and reason; None where there is none. */
#include "error.h"

#include "waiting.h"

#include <string.h>

static const char BASE_DOC[] =
    "Anything that licet refuses or can not do.\n\n"
    "code     the status, such as \"invalid_argument\"; one class each\n"
    "kind     what sort of thing is wrong: \"syntax\", \"type\", \"name\", \"value\", \"encoding\", \"limit\", ...\n"
    "message  one line for a person, safe to log\n"
    "line, column  position in the text concerned, from 1, the column in code points; None where there is none\n"
    "reason   SpiceDB's error reason, such as \"UNKNOWN_DEFINITION\"; None where there is none\n"
    "trace    of Engine.explain(): how far the check came, a Trace; None everywhere else";

/* The built-in exception of the same meaning, or NULL. */
static PyObject *builtin_of(licet_status status)
{
    switch (status) {
    case LICET_OUT_OF_MEMORY:
        return PyExc_MemoryError;
    case LICET_INVALID_ARGUMENT:
    case LICET_SCHEMA_ERROR:
    case LICET_INVALID_TOKEN:
        return PyExc_ValueError;
    case LICET_NOT_FOUND:
        return PyExc_LookupError;
    case LICET_DEADLINE_EXCEEDED:
        return PyExc_TimeoutError;
    case LICET_CLOSED:
    case LICET_MISUSE:
        return PyExc_RuntimeError;
    case LICET_UNSUPPORTED:
        return PyExc_NotImplementedError;
    default:
        return NULL;
    }
}

/* "INVALID_ARGUMENT" to "licet.InvalidArgument". `name` holds at least the length of both parts. */
static void class_name(const char *status, char *name)
{
    bool upper = true;

    memcpy(name, "licet.", 6);
    name += 6;
    for (; *status != '\0'; status++) {
        if (*status == '_') {
            upper = true;
            continue;
        }
        *name++ = upper ? *status : (char)Py_TOLOWER(Py_CHARMASK(*status));
        upper   = false;
    }
    *name = '\0';
}

static bool add_class(PyObject *module, const char *qualified, PyObject *class)
{
    if (PyModule_AddObject(module, strchr(qualified, '.') + 1, Py_NewRef(class)) == 0)
        return true;
    Py_DECREF(class);
    return false;
}

static bool init_base(PyObject *module, module_state *state)
{
    PyObject *defaults = Py_BuildValue("{s:s,s:s,s:s,s:O,s:O,s:O,s:O}", "code", "error", "kind", "", "message", "",
                                       "line", Py_None, "column", Py_None, "reason", Py_None, "trace", Py_None);

    if (defaults == NULL)
        return false;
    state->base_error = PyErr_NewExceptionWithDoc("licet.Error", BASE_DOC, NULL, defaults);
    Py_DECREF(defaults);
    return state->base_error != NULL && add_class(module, "licet.Error", state->base_error);
}

static bool init_class(PyObject *module, module_state *state, licet_status status, const char *status_name)
{
    char      name[64];
    PyObject *builtin = builtin_of(status);
    PyObject *bases =
        builtin == NULL ? PyTuple_Pack(1, state->base_error) : PyTuple_Pack(2, state->base_error, builtin);
    PyObject *members = Py_BuildValue("{s:s}", "code", licet_status_name(status));
    PyObject *class   = NULL;

    class_name(status_name, name);
    if (bases != NULL && members != NULL)
        class = PyErr_NewExceptionWithDoc(name, licet_status_text(status), bases, members);
    Py_XDECREF(bases);
    Py_XDECREF(members);
    state->error_types[status] = class;
    return class != NULL && add_class(module, name, class);
}

bool errors_init(PyObject *module, module_state *state)
{
    if (!init_base(module, state))
        return false;
#define INIT_CLASS(name, number, text)                                               \
    if (LICET_##name != LICET_OK && !init_class(module, state, LICET_##name, #name)) \
        return false;
    LICET_STATUS_LIST(INIT_CLASS)
#undef INIT_CLASS
    return true;
}

/* -------------------------------------------------------------- one error to one exception */

/* Sets an attribute to a value that it takes. A NULL value is a failure that was reported already. */
static bool set(PyObject *exception, const char *name, PyObject *value)
{
    bool done = value != NULL && PyObject_SetAttrString(exception, name, value) == 0;

    Py_XDECREF(value);
    return done;
}

static PyObject *position_to_py(uint32_t position)
{
    return position == 0 ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(position);
}

static PyObject *reason_to_py(licet_str reason)
{
    return reason.size == 0 ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(reason.data, (Py_ssize_t)reason.size, NULL);
}

/* What str() shows: the position, where there is one, and the message. */
static PyObject *describe(PyObject *message, uint32_t line, uint32_t column)
{
    if (line == 0)
        return Py_NewRef(message);
    if (column == 0)
        return PyUnicode_FromFormat("line %u: %U", (unsigned)line, message);
    return PyUnicode_FromFormat("line %u, column %u: %U", (unsigned)line, (unsigned)column, message);
}

static PyObject *exception_new(module_state *state, licet_status status, licet_kind kind, PyObject *message,
                               const licet_error *error)
{
    uint32_t  line      = licet_error_line(error);
    uint32_t  column    = licet_error_column(error);
    bool      known     = (unsigned)status < STATUS_COUNT && state->error_types[status] != NULL;
    PyObject *text      = describe(message, line, column);
    PyObject *exception = NULL;

    if (text != NULL)
        exception = PyObject_CallFunctionObjArgs(known ? state->error_types[status] : state->base_error, text, NULL);
    Py_XDECREF(text);
    if (exception == NULL)
        return NULL;
    if (set(exception, "kind", PyUnicode_FromString(licet_kind_name(kind))) &&
        set(exception, "message", Py_NewRef(message)) && set(exception, "line", position_to_py(line)) &&
        set(exception, "column", position_to_py(column)) &&
        set(exception, "reason", reason_to_py(licet_error_reason(error))))
        return exception;
    Py_DECREF(exception);
    return NULL;
}

PyObject *error_view_to_py(module_state *state, licet_status status, const licet_error *error)
{
    licet_str text      = licet_error_message(error);
    PyObject *exception = NULL;
    PyObject *message;

    if (text.size == 0) /* a core that could not even say so; the status still tells what happened */
        message = PyUnicode_FromString(licet_status_text(status));
    else
        message = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "replace");
    if (message != NULL)
        exception = exception_new(state, status, licet_error_kind(error), message, error);
    Py_XDECREF(message);
    return exception;
}

PyObject *error_to_py(module_state *state, licet_status status, licet_error *error)
{
    PyObject *exception = error_view_to_py(state, status, error);

    licet_error_free(error);
    return exception;
}

/* PyErr_SetObject calls the class for a value that is no instance of it; ours is one. */
void raise_exception(PyObject *exception)
{
    if (exception == NULL)
        return; /* MemoryError is set */
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
}

PyObject *raise_error(module_state *state, licet_status status, licet_error *error)
{
    raise_exception(error_to_py(state, status, error));
    return NULL;
}

bool refuse(module_state *state, licet_kind kind, const char *format, ...)
{
    PyObject *message;
    va_list   values;

    va_start(values, format);
    message = PyUnicode_FromFormatV(format, values);
    va_end(values);
    if (message != NULL)
        raise_exception(exception_new(state, LICET_INVALID_ARGUMENT, kind, message, NULL));
    Py_XDECREF(message);
    return false;
}

bool would_block(licet_status status, licet_error **error)
{
    static const licet_str reason = LICET_STR_INIT("WOULD_BLOCK");
    const licet_str        given  = licet_error_reason(*error);

    if (status != LICET_UNAVAILABLE || given.size != reason.size || memcmp(given.data, reason.data, reason.size) != 0)
        return false;
    licet_error_free(*error);
    *error = NULL;
    return true;
}

PyObject *raise_busy(module_state *state)
{
    PyObject *message = PyUnicode_FromString("the stream is in use in another thread");

    if (message != NULL)
        raise_exception(exception_new(state, LICET_MISUSE, LICET_KIND_MISUSE, message, NULL));
    Py_XDECREF(message);
    return NULL;
}
