/* Python values to the core's, and back.
 *
 * Strings go over as pointer and length, whatever is in them: a NUL or a direction mark is the core's to refuse. Only
 * str is text; bytes, numbers and None are a TypeError, because guessing what somebody meant has no place in a
 * question about permissions. */
#include "convert.h"

#include "error.h"

/* ---------------------------------------------------------------- arguments of a call */

static int parameter_count(const signature *sig)
{
    int count = 0;

    while (sig->parameters[count] != NULL)
        count++;
    return count;
}

static int parameter_index(const signature *sig, PyObject *name)
{
    for (int i = 0; sig->parameters[i] != NULL; i++)
        if (PyUnicode_CompareWithASCIIString(name, sig->parameters[i]) == 0)
            return i;
    return -1;
}

static bool unpack_named(const signature *sig, PyObject *const *args, PyObject *kwnames, PyObject **values)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int       at   = parameter_index(sig, name);

        if (at < 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", sig->name, name);
            return false;
        }
        if (values[at] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", sig->name, name);
            return false;
        }
        values[at] = args[i];
    }
    return true;
}

bool unpack_any(const signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **values)
{
    if (nargs > sig->positional || nargs > parameter_count(sig)) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional argument%s (%zd given)", sig->name,
                     sig->positional, sig->positional == 1 ? "" : "s", nargs);
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    if (kwnames != NULL && !unpack_named(sig, args + nargs, kwnames, values))
        return false;
    for (int i = 0; i < sig->required; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", sig->name, sig->parameters[i]);
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------ from Python */

/* A lone surrogate is no character, so the text has no UTF-8. JSON can bring one in ("\ud800"), hence from an end
 * user: it is a bad argument like any other and not an error of Python's codecs. */
void str_refuse(module_state *state, PyObject *value, const char *what)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %.100s", what, Py_TYPE(value)->tp_name);
    } else if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        refuse(state, LICET_KIND_ENCODING, "%s is not text: it holds half of a surrogate pair", what);
    }
}

/* "surrogatepass" writes a surrogate as three bytes, which are no UTF-8 either. */
bool text_from_py(module_state *state, PyObject *value, const char *what, licet_str *view, PyObject **kept)
{
    *kept = NULL;
    if (PyUnicode_Check(value) && PyUnicode_AsUTF8(value) == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        *kept = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
        if (*kept == NULL)
            return false;
        *view = (licet_str){ PyBytes_AS_STRING(*kept), (size_t)PyBytes_GET_SIZE(*kept) };
        return true;
    }
    return !PyErr_Occurred() && str_from_py(state, value, what, view);
}

bool optional_str_from_py(module_state *state, PyObject *value, const char *what, licet_str *view)
{
    if (value != NULL && value != Py_None)
        return str_from_py(state, value, what, view);
    view->data = NULL;
    view->size = 0;
    return true;
}

bool positive_from_py(module_state *state, PyObject *value, const char *what, licet_kind kind, uint64_t max,
                      uint64_t *number)
{
    unsigned long long given;

    if (value == NULL || value == Py_None)
        return true;
    if (PyBool_Check(value) || !PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s", what, Py_TYPE(value)->tp_name);
        return false;
    }
    given = PyLong_AsUnsignedLongLong(value);
    if (given == (unsigned long long)-1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return false;
        PyErr_Clear();
        given = 0; /* negative, or beyond 64 bits: out of range either way */
    }
    if (given == 0 || given > max)
        return refuse(state, kind, "%s must be between 1 and %llu", what, (unsigned long long)max);
    *number = given;
    return true;
}

bool bool_from_py(PyObject *value, const char *what, bool *flag)
{
    if (value == NULL)
        return true;
    *flag = value == Py_True;
    if (PyBool_Check(value))
        return true;
    PyErr_Format(PyExc_TypeError, "%s must be a bool, not %.100s", what, Py_TYPE(value)->tp_name);
    return false;
}

#define SECONDS_MAX 1e9

bool seconds_from_py(module_state *state, PyObject *value, const char *what, double *seconds)
{
    double given;

    if (value == NULL || value == Py_None)
        return true;
    if (PyBool_Check(value) || (!PyFloat_Check(value) && !PyLong_Check(value))) {
        PyErr_Format(PyExc_TypeError, "%s must be a number of seconds, not %.100s", what, Py_TYPE(value)->tp_name);
        return false;
    }
    given = PyFloat_AsDouble(value);
    if (given == -1.0 && PyErr_Occurred())
        PyErr_Clear(); /* an int that is no double: out of range, as -1 is */
    if (!(given >= 0 && given <= SECONDS_MAX))
        return refuse(state, LICET_KIND_VALUE, "%s must be between 0 and 1,000,000,000 seconds", what);
    *seconds = given;
    return true;
}

bool path_from_py(PyObject *value, PyObject **bytes, licet_str *view)
{
    *bytes = NULL;
    *view  = (licet_str){ NULL, 0 };
    if (value == NULL || value == Py_None)
        return true;
    if (!PyUnicode_FSConverter(value, bytes))
        return false;
    view->data = PyBytes_AS_STRING(*bytes);
    view->size = (size_t)PyBytes_GET_SIZE(*bytes);
    return true;
}

/* The fields of a record, or NULL. Anybody can make a tuple of a named tuple's class with another length, so the
 * length is checked as well. */
PyObject *const *record_fields(module_state *state, record_kind kind, PyObject *value)
{
#define RECORD_FIELDS(name, module, class, fields) fields,
    static const Py_ssize_t field_counts[] = { RECORD_LIST(RECORD_FIELDS) };
#undef RECORD_FIELDS

    if (!PyObject_TypeCheck(value, state->record_types[kind]) || PyTuple_GET_SIZE(value) != field_counts[kind])
        return NULL;
    return ((PyTupleObject *)value)->ob_item;
}

bool consistency_from_py(module_state *state, PyObject *value, PyObject *may_block, licet_consistency *consistency)
{
    PyObject *const *fields;
    long             freshness;

    *consistency = (licet_consistency){ LICET_MINIMIZE_LATENCY, { NULL, 0 }, may_block == Py_False };
    if (may_block != NULL && !PyBool_Check(may_block)) {
        PyErr_Format(PyExc_TypeError, "may_block must be a bool, not %.100s", Py_TYPE(may_block)->tp_name);
        return false;
    }
    if (value == NULL || value == Py_None)
        return true;
    fields = record_fields(state, RECORD_consistency, value);
    if (fields == NULL) {
        PyErr_Format(PyExc_TypeError, "consistency must be a licet.Consistency, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    freshness = PyLong_AsLong(fields[0]);
    if (freshness == -1 && PyErr_Occurred())
        return false;
    if (freshness < LICET_MINIMIZE_LATENCY || freshness > LICET_AT_EXACT_SNAPSHOT)
        return refuse(state, LICET_KIND_VALUE, "consistency has no freshness %ld", freshness);
    consistency->freshness = (licet_freshness)freshness;
    return optional_str_from_py(state, fields[1], "token", &consistency->token);
}

static bool relationship_from_fields(module_state *state, PyObject *const *fields, licet_relationship *relationship)
{
    return str_from_py(state, fields[0], "resource_type", &relationship->resource_type) &&
           str_from_py(state, fields[1], "resource_id", &relationship->resource_id) &&
           str_from_py(state, fields[2], "relation", &relationship->relation) &&
           str_from_py(state, fields[3], "subject_type", &relationship->subject_type) &&
           str_from_py(state, fields[4], "subject_id", &relationship->subject_id) &&
           optional_str_from_py(state, fields[5], "subject_relation", &relationship->subject_relation) &&
           optional_str_from_py(state, fields[6], "caveat_name", &relationship->caveat_name) &&
           optional_str_from_py(state, fields[7], "caveat_context", &relationship->caveat_context) &&
           optional_str_from_py(state, fields[8], "expiration", &relationship->expiration);
}

bool relationship_from_py(module_state *state, PyObject *value, licet_relationship *relationship)
{
    PyObject *const *fields = record_fields(state, RECORD_relationship, value);
    licet_error     *error  = NULL;
    licet_status     status;
    licet_str        text;

    *relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    if (fields != NULL)
        return relationship_from_fields(state, fields, relationship);
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a relationship must be a str or a licet.Relationship, not %.100s",
                     Py_TYPE(value)->tp_name);
        return false;
    }
    if (!str_from_py(state, value, "relationship", &text))
        return false;
    status = licet_relationship_parse(text, relationship, &error);
    if (status == LICET_OK)
        return true;
    raise_error(state, status, error);
    return false;
}

bool filter_from_arguments(module_state *state, PyObject *const *values, licet_filter *filter)
{
    *filter = (licet_filter)LICET_FILTER_INIT;
    return optional_str_from_py(state, values[0], "resource_type", &filter->resource_type) &&
           optional_str_from_py(state, values[1], "resource_id", &filter->resource_id) &&
           optional_str_from_py(state, values[2], "resource_id_prefix", &filter->resource_id_prefix) &&
           optional_str_from_py(state, values[3], "relation", &filter->relation) &&
           optional_str_from_py(state, values[4], "subject_type", &filter->subject_type) &&
           optional_str_from_py(state, values[5], "subject_id", &filter->subject_id) &&
           optional_str_from_py(state, values[6], "subject_relation", &filter->subject_relation);
}

bool filter_from_py(module_state *state, PyObject *value, licet_filter *filter)
{
    PyObject *const *fields = record_fields(state, RECORD_filter, value);

    if (fields != NULL)
        return filter_from_arguments(state, fields, filter);
    PyErr_Format(PyExc_TypeError, "a filter must be a licet.Filter, not %.100s", Py_TYPE(value)->tp_name);
    return false;
}

bool elements_from_py(PyObject *value, const char *what, size_t element_size, PyObject **kept, void **elements)
{
    *elements = NULL;
    *kept     = NULL;
    if (PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an iterable of them, not a str", what);
        return false;
    }
    *kept = PySequence_Tuple(value);
    if (*kept == NULL)
        return false;
    *elements = PyMem_Calloc((size_t)PyTuple_GET_SIZE(*kept) + 1, element_size);
    if (*elements == NULL)
        PyErr_NoMemory();
    return *elements != NULL;
}

bool strs_from_py(module_state *state, PyObject *value, const char *what, licet_str **texts, size_t *count,
                  PyObject **kept)
{
    void *elements = NULL;

    *texts = NULL;
    *count = 0;
    *kept  = NULL;
    if (PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an iterable of str, not a str", what);
        return false;
    }
    if (!elements_from_py(value, what, sizeof **texts, kept, &elements))
        return false;
    *texts = elements;
    *count = (size_t)PyTuple_GET_SIZE(*kept);
    for (size_t i = 0; i < *count; i++)
        if (!str_from_py(state, PyTuple_GET_ITEM(*kept, (Py_ssize_t)i), what, &(*texts)[i]))
            return false;
    return true;
}

bool filters_from_py(module_state *state, PyObject *value, licet_filter **filters, size_t *count, PyObject **kept)
{
    void *elements = NULL;

    *filters = NULL;
    *count   = 0;
    if (!elements_from_py(value, "filters", sizeof **filters, kept, &elements))
        return false;
    *filters = elements;
    *count   = (size_t)PyTuple_GET_SIZE(*kept);
    for (size_t i = 0; i < *count; i++)
        if (!filter_from_py(state, PyTuple_GET_ITEM(*kept, (Py_ssize_t)i), &(*filters)[i]))
            return false;
    return true;
}

/* Both pairs, Update and Precondition, begin with a number of an enumeration that counts from 1. */
static bool choice_from_py(module_state *state, PyObject *value, const char *what, long max, int *choice)
{
    long number = PyLong_AsLong(value);

    if (number == -1 && PyErr_Occurred())
        return false;
    if (number < 1 || number > max)
        return refuse(state, LICET_KIND_VALUE, "%ld is no %s", number, what);
    *choice = (int)number;
    return true;
}

static bool precondition_from_py(module_state *state, PyObject *value, licet_precondition *precondition)
{
    PyObject *const *fields = record_fields(state, RECORD_precondition, value);
    int              expectation;

    if (fields == NULL) {
        PyErr_Format(PyExc_TypeError,
                     "a precondition must come from licet.must_match() or licet.must_not_match(), "
                     "not %.100s",
                     Py_TYPE(value)->tp_name);
        return false;
    }
    if (!choice_from_py(state, fields[0], "expectation", LICET_MUST_MATCH, &expectation))
        return false;
    precondition->expectation = (licet_expectation)expectation;
    return filter_from_py(state, fields[1], &precondition->filter);
}

bool preconditions_from_py(module_state *state, PyObject *value, licet_precondition **preconditions, size_t *count,
                           PyObject **kept)
{
    void *elements = NULL;

    *preconditions = NULL;
    *count         = 0;
    *kept          = NULL;
    if (value == NULL || value == Py_None)
        return true;
    if (!elements_from_py(value, "preconditions", sizeof **preconditions, kept, &elements))
        return false;
    *preconditions = elements;
    *count         = (size_t)PyTuple_GET_SIZE(*kept);
    for (size_t i = 0; i < *count; i++)
        if (!precondition_from_py(state, PyTuple_GET_ITEM(*kept, (Py_ssize_t)i), &(*preconditions)[i]))
            return false;
    return true;
}

static bool update_from_py(module_state *state, PyObject *value, licet_update *update)
{
    PyObject *const *fields = record_fields(state, RECORD_update, value);
    int              operation;

    if (fields == NULL) {
        PyErr_Format(PyExc_TypeError,
                     "an update must come from licet.create(), licet.touch() or licet.delete(), "
                     "not %.100s",
                     Py_TYPE(value)->tp_name);
        return false;
    }
    if (!choice_from_py(state, fields[0], "operation", LICET_DELETE, &operation))
        return false;
    update->operation = (licet_operation)operation;
    return relationship_from_py(state, fields[1], &update->relationship);
}

bool updates_from_py(module_state *state, PyObject *value, licet_update **updates, size_t *count, PyObject **kept)
{
    void *elements = NULL;

    *updates = NULL;
    *count   = 0;
    if (!elements_from_py(value, "updates", sizeof **updates, kept, &elements))
        return false;
    *updates = elements;
    *count   = (size_t)PyTuple_GET_SIZE(*kept);
    for (size_t i = 0; i < *count; i++)
        if (!update_from_py(state, PyTuple_GET_ITEM(*kept, (Py_ssize_t)i), &(*updates)[i]))
            return false;
    return true;
}

/* ------------------------------------------------------------------------- to Python */

PyObject *str_to_py(licet_str text)
{
    return PyUnicode_DecodeUTF8(text.size == 0 ? "" : text.data, (Py_ssize_t)text.size, NULL);
}

PyObject *optional_str_to_py(licet_str text)
{
    return text.data == NULL ? Py_NewRef(Py_None) : str_to_py(text);
}

PyObject *filled_str_to_py(licet_str text)
{
    return text.size == 0 ? Py_NewRef(Py_None) : str_to_py(text);
}

PyObject *strs_to_py(const licet_str *texts, size_t count)
{
    PyObject *list = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *text = str_to_py(texts[i]);

        if (text == NULL)
            Py_CLEAR(list);
        else
            PyTuple_SET_ITEM(list, (Py_ssize_t)i, text);
    }
    return list;
}

PyObject *json_to_py(module_state *state, PyObject *text)
{
    PyObject *value;

    if (text == NULL)
        return NULL;
    value = PyObject_CallFunctionObjArgs(state->json_loads, text, NULL);
    Py_DECREF(text);
    return value;
}

PyObject *permissionship_to_py(module_state *state, licet_permissionship permissionship)
{
    return Py_NewRef(state->permissionships[permissionship]);
}

PyObject *token_to_py(const licet_token *token)
{
    return token->text[0] == '\0' ? Py_NewRef(Py_None) : PyUnicode_FromString(token->text);
}

PyObject *buffer_to_py(licet_buffer *buffer)
{
    PyObject *text = str_to_py((licet_str){ buffer->data, buffer->size });

    licet_buffer_clear(buffer);
    return text;
}

PyObject *lines_to_py(licet_buffer *buffer)
{
    const bool ends  = buffer->size > 0 && buffer->data[buffer->size - 1] == '\n';
    PyObject  *lines = str_to_py((licet_str){ buffer->data, ends ? buffer->size - 1 : buffer->size });

    licet_buffer_clear(buffer);
    return lines;
}

/* Puts the values into a new tuple of so many, NULL when it could not be made; takes them either way. */
static PyObject *filled(PyObject *tuple, PyObject *const *values, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (tuple != NULL)
            PyTuple_SET_ITEM(tuple, i, values[i]);
        else
            Py_XDECREF(values[i]);
    }
    return tuple;
}

static bool is_whole(PyObject *const *values, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (values[i] == NULL)
            return false;
    return true;
}

static PyObject *fields_of(PyObject *const *values, Py_ssize_t count)
{
    return filled(is_whole(values, count) ? PyTuple_New(count) : NULL, values, count);
}

/* What the class's own _make() does, without running Python code. The class is a tuple and nothing more, so its instance is
 * made as tuples make those of their subclasses: room first, then the fields. */
PyObject *record_of(module_state *state, record_kind kind, PyObject *const *values, Py_ssize_t count)
{
    PyTypeObject *type = state->record_types[kind];

    return filled(is_whole(values, count) ? type->tp_alloc(type, count) : NULL, values, count);
}

#define RELATIONSHIP_FIELD_COUNT 9

static void relationship_values(const licet_relationship *relationship, PyObject **values)
{
    values[0] = str_to_py(relationship->resource_type);
    values[1] = str_to_py(relationship->resource_id);
    values[2] = str_to_py(relationship->relation);
    values[3] = str_to_py(relationship->subject_type);
    values[4] = str_to_py(relationship->subject_id);
    values[5] = optional_str_to_py(relationship->subject_relation);
    values[6] = optional_str_to_py(relationship->caveat_name);
    values[7] = optional_str_to_py(relationship->caveat_context);
    values[8] = optional_str_to_py(relationship->expiration);
}

PyObject *relationship_fields(const licet_relationship *relationship)
{
    PyObject *values[RELATIONSHIP_FIELD_COUNT];

    relationship_values(relationship, values);
    return fields_of(values, RELATIONSHIP_FIELD_COUNT);
}

PyObject *relationship_to_py(module_state *state, const licet_relationship *relationship)
{
    PyObject *values[RELATIONSHIP_FIELD_COUNT];

    relationship_values(relationship, values);
    return record_of(state, RECORD_relationship, values, RELATIONSHIP_FIELD_COUNT);
}

PyObject *relationship_text_to_py(module_state *state, licet_str text)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_error       *error        = NULL;
    licet_status       status;

    if (text.size == 0)
        return Py_NewRef(Py_None);
    status = licet_relationship_parse(text, &relationship, &error);
    if (status != LICET_OK)
        return raise_error(state, status, error);
    return relationship_to_py(state, &relationship);
}
