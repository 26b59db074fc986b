/* Contexts of caveats: Python values as JSON text.
 *
 * What JSON has is written here; what it has not (moments, spans of time, addresses) becomes text in
 * python/licet/context.py. Nothing is rounded on the way: an int that a double can not hold is written as a string,
 * from which the core reads every 64-bit integer exactly. What a parameter takes is the core's to say.
 *
 * Other code may run meanwhile (a time zone's), so every container is copied before its items are looked at. */
#include "context.h"

#include <math.h>
#include <string.h>

#include "convert.h"
#include "error.h"

#define CONTEXT_DEPTH 64                  /* containers in each other: as many as the core reads */
#define CONTEXT_BYTES ((size_t)512 << 10) /* of text: beyond every limit of the core's for the values in it */
#define EXACT_MAX ((long long)1 << 53)    /* up to here doubles have no gaps */
#define PATH_KEY_MAX 40                   /* characters of a key that an error shows */

void context_text_clear(context_text *text)
{
    if (text->data != text->room)
        PyMem_Free(text->data);
    context_text_init(text);
}

/* ---------------------------------------------------------------------------- writing */

/* A container of which some items are written. */
typedef struct frame {
    PyObject  *container; /* for cycles; what holds it is a copy further out, or our caller */
    PyObject  *items;     /* ours: of a dict a list of pairs, else a tuple */
    Py_ssize_t at;        /* of the next item */
    bool       is_dict;
} frame;

typedef struct writer {
    module_state *state;
    context_text *text;
    bool          sorted; /* keys in order */
    const char   *name;   /* of the whole, in errors */
    size_t        depth;
    frame         frames[CONTEXT_DEPTH];
} writer;

/* ".key", or ["what is no name"] */
static PyObject *path_of_key(PyObject *key)
{
    PyObject *shown;
    PyObject *part;

    if (PyUnicode_GET_LENGTH(key) <= PATH_KEY_MAX && PyUnicode_IS_ASCII(key) && PyUnicode_IsIdentifier(key))
        return PyUnicode_FromFormat(".%U", key);
    shown = PyUnicode_Substring(key, 0, PATH_KEY_MAX);
    part  = shown == NULL ? NULL : PyUnicode_FromFormat("[%A]", shown);
    Py_XDECREF(shown);
    return part;
}

static PyObject *path_of_item(const frame *f)
{
    if (!f->is_dict)
        return PyUnicode_FromFormat("[%zd]", f->at - 1);
    return path_of_key(PyTuple_GET_ITEM(PyList_GET_ITEM(f->items, f->at - 1), 0));
}

/* "context.hours[2]": where the value is that was about to be written. NULL: an exception is set. */
static PyObject *path_of(const writer *w)
{
    PyObject *path = PyUnicode_FromString(w->name);

    for (size_t i = 0; path != NULL && i < w->depth && w->frames[i].at > 0; i++)
        PyUnicode_AppendAndDel(&path, path_of_item(&w->frames[i]));
    return path;
}

/* Says where and why. Returns false. */
static bool writer_refuse(const writer *w, licet_kind kind, const char *why)
{
    PyObject *path = path_of(w);

    if (path != NULL)
        refuse(w->state, kind, "%U: %s", path, why);
    Py_XDECREF(path);
    return false;
}

static bool writer_refuse_type(const writer *w, PyObject *value)
{
    PyObject *path = path_of(w);

    if (path != NULL)
        PyErr_Format(PyExc_TypeError, "%U: a context can not hold %.100s", path, Py_TYPE(value)->tp_name);
    Py_XDECREF(path);
    return false;
}

static bool reserve(writer *w, size_t more)
{
    context_text *text     = w->text;
    size_t        capacity = text->capacity;
    char         *data;

    if (more <= text->capacity - text->size)
        return true;
    if (more > CONTEXT_BYTES || text->size > CONTEXT_BYTES - more)
        return writer_refuse(w, LICET_KIND_LIMIT, "the context is too large");
    while (capacity < text->size + more)
        capacity *= 2;
    data = PyMem_Realloc(text->data == text->room ? NULL : text->data, capacity);
    if (data == NULL) {
        PyErr_NoMemory();
        return false;
    }
    if (text->data == text->room)
        memcpy(data, text->room, text->size);
    text->data     = data;
    text->capacity = capacity;
    return true;
}

static bool put(writer *w, const char *data, size_t size)
{
    if (!reserve(w, size))
        return false;
    memcpy(w->text->data + w->text->size, data, size);
    w->text->size += size;
    return true;
}

static bool put_char(writer *w, char c)
{
    return put(w, &c, 1);
}

static bool put_escape(writer *w, unsigned char c)
{
    static const char digits[]  = "0123456789abcdef";
    char              escape[6] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };

    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        return put(w, escape, 2);
    }
    return put(w, escape, sizeof escape);
}

/* Everything as it is, but for what JSON can not have in a string. */
static bool write_text(writer *w, PyObject *value)
{
    Py_ssize_t  size;
    const char *text  = PyUnicode_AsUTF8AndSize(value, &size);
    Py_ssize_t  start = 0;

    if (text == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return false;
        PyErr_Clear();
        return writer_refuse(w, LICET_KIND_ENCODING, "not text: it holds half of a surrogate pair");
    }
    if (!put_char(w, '"'))
        return false;
    for (Py_ssize_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        if (!put(w, text + start, (size_t)(i - start)) || !put_escape(w, c))
            return false;
        start = i + 1;
    }
    return put(w, text + start, (size_t)(size - start)) && put_char(w, '"');
}

static bool write_int(writer *w, PyObject *value)
{
    int         overflow;
    long long   number  = PyLong_AsLongLongAndOverflow(value, &overflow);
    bool        is_text = overflow != 0 || number > EXACT_MAX || number < -EXACT_MAX;
    PyObject   *digits;
    const char *data;
    Py_ssize_t  size;
    bool        done;

    if (number == -1 && overflow == 0 && PyErr_Occurred())
        return false;
    digits = PyNumber_ToBase(value, 10); /* never a subclass's own idea of its text */
    if (digits == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) /* Python limits how many digits it writes */
            return false;
        PyErr_Clear();
        return writer_refuse(w, LICET_KIND_LIMIT, "an int of too many digits");
    }
    data = PyUnicode_AsUTF8AndSize(digits, &size);
    done =
        data != NULL && (!is_text || put_char(w, '"')) && put(w, data, (size_t)size) && (!is_text || put_char(w, '"'));
    Py_DECREF(digits);
    return done;
}

/* The shortest digits that read back as the same double. */
static bool write_float(writer *w, PyObject *value)
{
    double number = PyFloat_AS_DOUBLE(value);
    char  *digits;
    bool   done;

    if (isnan(number))
        return writer_refuse(w, LICET_KIND_VALUE, "NaN is no number that a context can hold");
    if (isinf(number))
        return writer_refuse(w, LICET_KIND_VALUE, "infinity is no number that a context can hold");
    digits = PyOS_double_to_string(number, 'r', 0, 0, NULL);
    if (digits == NULL)
        return false;
    done = put(w, digits, strlen(digits));
    PyMem_Free(digits);
    return done;
}

/* Base64 with padding, from which the core makes a parameter of type bytes. */
static bool write_bytes(writer *w, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    if (!put_char(w, '"'))
        return false;
    for (size_t i = 0; i < size; i += 3) {
        unsigned second = i + 1 < size ? data[i + 1] : 0;
        unsigned third  = i + 2 < size ? data[i + 2] : 0;
        unsigned group  = (unsigned)data[i] << 16 | second << 8 | third;
        char four[] = { digits[group >> 18], digits[group >> 12 & 63], digits[group >> 6 & 63], digits[group & 63] };

        if (i + 1 >= size)
            four[2] = '=';
        if (i + 2 >= size)
            four[3] = '=';
        if (!put(w, four, sizeof four))
            return false;
    }
    return put_char(w, '"');
}

static bool write_bytearray(writer *w, PyObject *value)
{
    PyObject *bytes = PyBytes_FromObject(value);
    bool      done;

    if (bytes == NULL)
        return false;
    done = write_bytes(w, (const unsigned char *)PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return done;
}

/* What licet.context.text_of() makes text of: it gives the text, or why there is none, or None for types it does not
 * know. */
static bool write_other(writer *w, PyObject *value)
{
    PyObject *text = PyObject_CallFunctionObjArgs(w->state->context_text_of, value, NULL);
    bool      done = false;

    if (text == NULL)
        return false;
    if (PyUnicode_Check(text))
        done = write_text(w, text);
    else if (PyTuple_Check(text) && PyTuple_GET_SIZE(text) == 1 && PyUnicode_Check(PyTuple_GET_ITEM(text, 0)))
        done = writer_refuse(w, LICET_KIND_VALUE, PyUnicode_AsUTF8(PyTuple_GET_ITEM(text, 0)));
    else
        done = writer_refuse_type(w, value);
    Py_DECREF(text);
    return done;
}

/* -------------------------------------------------------------------------- containers */

static PyObject *items_of(const writer *w, PyObject *container)
{
    PyObject *items;

    if (!PyDict_Check(container))
        return PySequence_Tuple(container);
    items = PyDict_Items(container);
    for (Py_ssize_t i = 0; items != NULL && i < PyList_GET_SIZE(items); i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0))) {
            PyObject *path = path_of(w);

            if (path != NULL)
                PyErr_Format(PyExc_TypeError, "%U: keys must be str, not %.100s", path,
                             Py_TYPE(PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0))->tp_name);
            Py_XDECREF(path);
            Py_CLEAR(items);
        }
    }
    if (items != NULL && w->sorted && PyList_Sort(items) < 0)
        Py_CLEAR(items);
    return items;
}

static bool container_begin(writer *w, PyObject *container)
{
    frame *f;

    for (size_t i = 0; i < w->depth; i++)
        if (w->frames[i].container == container)
            return writer_refuse(w, LICET_KIND_VALUE, "it contains itself");
    if (w->depth == CONTEXT_DEPTH)
        return writer_refuse(w, LICET_KIND_LIMIT, "nested too deeply");
    f  = &w->frames[w->depth];
    *f = (frame){ container, items_of(w, container), 0, PyDict_Check(container) };
    if (f->items == NULL)
        return false;
    w->depth++;
    return put_char(w, f->is_dict ? '{' : '[');
}

static bool container_end(writer *w)
{
    frame *f = &w->frames[--w->depth];

    Py_CLEAR(f->items);
    return put_char(w, f->is_dict ? '}' : ']');
}

static bool write_value(writer *w, PyObject *value)
{
    if (PyUnicode_Check(value))
        return write_text(w, value);
    if (value == Py_None)
        return put(w, "null", 4);
    if (PyBool_Check(value))
        return value == Py_True ? put(w, "true", 4) : put(w, "false", 5);
    if (PyLong_Check(value))
        return write_int(w, value);
    if (PyFloat_Check(value))
        return write_float(w, value);
    if (PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value))
        return container_begin(w, value);
    if (PyBytes_Check(value))
        return write_bytes(w, (const unsigned char *)PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value));
    if (PyByteArray_Check(value))
        return write_bytearray(w, value);
    return write_other(w, value);
}

/* The next item of the innermost container, or its end. */
static bool write_next(writer *w)
{
    frame    *f    = &w->frames[w->depth - 1];
    PyObject *item = NULL;

    if (f->at == (f->is_dict ? PyList_GET_SIZE(f->items) : PyTuple_GET_SIZE(f->items)))
        return container_end(w);
    if (f->at++ > 0 && !put_char(w, ','))
        return false;
    if (!f->is_dict)
        return write_value(w, PyTuple_GET_ITEM(f->items, f->at - 1));
    item = PyList_GET_ITEM(f->items, f->at - 1);
    return write_text(w, PyTuple_GET_ITEM(item, 0)) && put_char(w, ':') && write_value(w, PyTuple_GET_ITEM(item, 1));
}

static bool write_dict(module_state *state, PyObject *dict, const char *name, bool sorted, context_text *text)
{
    writer w;
    bool   done;

    w.state  = state;
    w.text   = text;
    w.sorted = sorted;
    w.name   = name;
    w.depth  = 0;
    done     = container_begin(&w, dict);
    while (done && w.depth > 0)
        done = write_next(&w);
    while (w.depth > 0)
        Py_DECREF(w.frames[--w.depth].items);
    return done;
}

/* ----------------------------------------------------------------------------- entries */

static bool refuse_object(PyObject *value, const char *name)
{
    PyErr_Format(PyExc_TypeError, "%s must be a dict, or a JSON object as a str, not %.100s", name,
                 Py_TYPE(value)->tp_name);
    return false;
}

static bool object_from_py(module_state *state, PyObject *value, const char *name, context_text *text, licet_str *view)
{
    *view = (licet_str){ NULL, 0 };
    if (value == NULL || value == Py_None)
        return true;
    if (PyUnicode_Check(value))
        return str_from_py(state, value, name, view);
    if (!PyDict_Check(value))
        return refuse_object(value, name);
    if (!write_dict(state, value, name, false, text))
        return false;
    *view = (licet_str){ text->data, text->size };
    return true;
}

bool context_from_py(module_state *state, PyObject *value, context_text *text, licet_str *view)
{
    return object_from_py(state, value, "context", text, view);
}

bool metadata_from_py(module_state *state, PyObject *value, context_text *text, licet_str *view)
{
    return object_from_py(state, value, "metadata", text, view);
}

bool context_prepare(module_state *state, PyObject *value, bool strict, licet_context **context)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_error  *error   = NULL;
    licet_status  status  = LICET_OK;
    context_text  text;
    licet_str     view;
    bool          done;

    *context = NULL;
    context_text_init(&text);
    options.strict = strict;
    done           = context_from_py(state, value, &text, &view);
    if (done && view.data != NULL)
        status = licet_context_parse(view, &options, context, &error);
    context_text_clear(&text);
    if (status != LICET_OK)
        raise_error(state, status, error);
    return done && status == LICET_OK;
}

const char context_text_doc[] = "context_text($module, context, /)\n--\n\n"
                                "A dict as JSON text, with its keys in order.";

PyObject *context_text_of(PyObject *module, PyObject *value)
{
    PyObject    *result = NULL;
    context_text text;

    if (!PyDict_Check(value)) {
        refuse_object(value, "context");
        return NULL;
    }
    context_text_init(&text);
    if (write_dict(PyModule_GetState(module), value, "context", true, &text))
        result = str_to_py((licet_str){ text.data, text.size });
    context_text_clear(&text);
    return result;
}
